package loaders

import (
	"bytes"
	"path/filepath"
	"slices"

	"fusebox/loaders/jsonc"
	"fusebox/model"
)

// What copilot mcp disable and enable write, and the trust that its question about a folder stores (observed on Copilot CLI
// 1.0.102). Its commands drop comments; here they stay.

// copilotFormat is how its files are edited. It takes no lock folder: its settings.json.lock is a file that it leaves behind.
var copilotFormat = Format{JSON: jsonc.JSONC}

const copilotOffKey = "disabledMcpServers"

// copilotUnwritable says why a settings file is not written; "" when it can be. Copilot CLI refuses the same ones.
func copilotUnwritable(f *ConfigFile) string {
	name := filepath.Base(f.Path)
	switch {
	case f.Status == model.FileRefused, f.Status == model.FileMalformed && len(bytes.TrimSpace(f.Data)) > 0:
		return name + " is broken: mend it first"
	case f.OK() && f.Root().Kind() != jsonc.Object:
		return name + " is " + typeWord(f.Root()) + ", not an object: mend it first"
	}
	return ""
}

// toggleCopilot puts the exact name into disabledMcpServers of the user's settings.json, or takes it out: one list for the
// servers of every file and folder. A key whose list becomes empty goes; what is no list of names is replaced by one.
func toggleCopilot(env *Env, r *Reader, cell *model.Cell, on bool) []Option {
	c := copilotOf(env, r)
	list := []string{copilotOffKey}
	steps := []Step{{StepAppend, list, cell.Name}}
	if v := c.settings.Root().Get(copilotOffKey); v.Exists() {
		if _, ok := v.Strings(); !ok {
			steps = []Step{{StepSet, list, "[" + jsonc.Quote(cell.Name) + "]"}}
		}
	}
	if on {
		steps = []Step{{StepRemove, list, cell.Name}, {Kind: StepPrune, Path: list}}
	}
	return []Option{{Reach: ReachEverywhere, Label: labelEverywhere,
		Edits: []Edit{{Path: c.settings.Path, Format: copilotFormat, Steps: steps, NewMode: 0o600}}}}
}

// trustRefused says why no folder can be trusted for a server, or what would keep it off even then; "" when trust helps.
func (c *copilot) trustRefused(name string) string {
	for _, off := range c.wouldOff {
		if _, ok := off.names[name]; ok {
			return "the repository's settings switch it off as soon as the folder is trusted"
		}
	}
	if refused := copilotUnwritable(c.config); refused != "" {
		return refused
	}
	if v := c.config.Root().Get(c.trustKey); v.Exists() && v.Kind() != jsonc.Null {
		if _, ok := v.Strings(); !ok {
			return c.trustKey + " in config.json is no list of folders: mend it first"
		}
	}
	return ""
}

func (c *copilot) trustEdit(steps ...Step) []Edit {
	return []Edit{{Path: c.config.Path, Format: copilotFormat, Steps: steps, NewMode: 0o600}}
}

// folders are the folders whose trust the entries of a cell need, the nearest first.
func (c *copilot) folders(cell *model.Cell) []string {
	var out []string
	add := func(e model.Entry) {
		if e.Scope != model.ScopeProject {
			return
		}
		dir := filepath.Dir(e.Source.Path)
		if filepath.Base(e.Source.Path) != ".mcp.json" {
			dir = filepath.Dir(dir) // .github/mcp.json
		}
		if !slices.Contains(out, dir) {
			out = append(out, dir)
		}
	}
	add(cell.Entry)
	for _, p := range cell.Pending {
		if p.State == model.StateUnapproved {
			add(p.Entry)
		}
	}
	slices.SortFunc(out, func(a, b string) int { return len(b) - len(a) })
	return out
}

// approveCopilot trusts the outermost folder that holds a waiting entry of the server, which is all the consent that Copilot
// CLI has, or takes that back.
func approveCopilot(env *Env, r *Reader, cell *model.Cell, revoke bool) []Option {
	c := copilotOf(env, r)
	folders := c.folders(cell)
	if revoke {
		return c.distrust(folders)
	}
	folders = slices.DeleteFunc(folders, c.trusted)
	if len(folders) == 0 {
		return nil
	}
	dir := folders[len(folders)-1]
	label := labelHere
	if dir != c.start {
		label = c.tilde(dir)
	}
	return []Option{{Reach: ReachHere, Label: label + ", and trust all of it", TrustsFolder: true, Unavailable: c.trustRefused(cell.Name),
		Edits:  c.trustEdit(Step{StepAppend, []string{c.trustKey}, dir}),
		LetsIn: "everything in this folder and below, now and later: the servers and the settings of its files"}}
}

// distrust takes the folders out of the list, and, as another way, the ones above them that are trusted. There is no list of
// folders that are not.
func (c *copilot) distrust(folders []string) []Option {
	if c.env.Var("COPILOT_ALLOW_ALL") == "true" {
		return nil
	}
	top := c.start
	if c.gitRoot != "" {
		top = c.gitRoot
	}
	list, _ := c.config.Root().Get(c.trustKey).Strings()
	var own, all []Step
	var above string
	for _, folder := range list {
		real := c.r.RealPath(folder)
		if !filepath.IsAbs(folder) || !slices.ContainsFunc(folders, func(dir string) bool { return Within(dir, real) }) {
			continue
		}
		step := Step{StepRemove, []string{c.trustKey}, folder}
		all = append(all, step)
		if Within(real, top) {
			own = append(own, step)
		} else {
			above = real
		}
	}
	const stops = "Copilot CLI looks at no file of this folder then"
	var out []Option
	if len(own) > 0 {
		out = append(out, Option{Reach: ReachHere, Label: labelHere, Warning: stops, Edits: c.trustEdit(own...)})
	}
	if above != "" {
		out = append(out, Option{Reach: ReachEverywhere, Label: "every folder below " + c.tilde(above), Edits: c.trustEdit(all...),
			Warning: "Copilot CLI looks at no file of any folder below " + c.tilde(above) + " then"})
	}
	return out
}
