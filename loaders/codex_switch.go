package loaders

import (
	"path/filepath"
	"slices"
	"strconv"

	"fusebox/loaders/tomledit"
	"fusebox/model"
)

// codexFormat is how its files are edited.
var codexFormat = Format{TOML: true}

// toggleCodex sets enabled in the highest file that sets it, else in the highest one that defines the transport. An entry
// that holds nothing but enabled must not come into the user's file: in every folder without the rest of it Codex would not
// start (observed on Codex CLI 0.171.0). In the project's own file it works here, for those who have the rest.
func toggleCodex(env *Env, r *Reader, cell *model.Cell, on bool) []Option {
	c := codexOf(env, r)
	if cell.Decision == model.DecisionWaits {
		return []Option{{Reach: ReachHere, Label: labelHere, Unavailable: codexNotTrusted}}
	}
	_, all, _ := codexParts(c.usedLayers(true))
	parts := all[cell.Name]
	if len(parts) == 0 {
		return nil
	}
	i := index(parts, "enabled")
	for at, p := range parts {
		if i < 0 || index(parts, "enabled") < 0 && hasTransport(p.value) {
			i = at
		}
	}
	out := []Option{c.setEnabled(cell.Name, parts, i, on)}
	if !parts[i].layer.project {
		if o, ok := c.projectSwitch(cell.Name, on); ok {
			out = append(out, o)
		}
	}
	return hereFirst(out)
}

const codexNotTrusted = "Codex does not trust the folder, so nothing of its files counts"

// hereFirst puts what reaches this folder and this user alone first; else the order stays: the file that declares the server
// before others.
func hereFirst(options []Option) []Option {
	slices.SortStableFunc(options, func(a, b Option) int {
		switch {
		case (a.Reach == ReachHere) == (b.Reach == ReachHere):
			return 0
		case a.Reach == ReachHere:
			return -1
		}
		return 1
	})
	return options
}

// inRepository tells whether the folder's files are shared with those who use its repository.
func (c *codex) inRepository() bool { return gitRoot(c.r, c.cwd) != "" }

// setEnabled sets the switch in one part of an entry. A part of the project that holds nothing but the switch goes as a whole
// when what it lies over is on by itself.
func (c *codex) setEnabled(name string, parts []codexPart, i int, on bool) Option {
	l := parts[i].layer
	o := Option{Reach: ReachEverywhere, Label: labelEverywhere}
	if l.project {
		o.Reach, o.Label = projectReach(c.inRepository(), hasTransport(parts[i].value))
		o.Shared = true
	}
	step := Step{StepSet, []string{"mcp_servers", name, "enabled"}, strconv.FormatBool(on)}
	table, _ := parts[i].value.(map[string]any)
	if _, set := table["enabled"]; on && set && len(table) == 1 && (index(parts[:i], "enabled") < 0 || switchedOn(parts[:i])) {
		step = Step{Kind: StepDelete, Path: []string{"mcp_servers", name}}
	}
	o.Edits = []Edit{{Path: l.file.Path, Format: codexFormat, Steps: []Step{step}}}
	return o
}

// switchedOn tells whether the highest part that sets enabled sets it to true.
func switchedOn(parts []codexPart) bool {
	i := index(parts, "enabled")
	if i < 0 {
		return true
	}
	table, _ := parts[i].value.(map[string]any)
	on, _ := table["enabled"].(bool)
	return on
}

// projectSwitch sets the switch of a server that is declared elsewhere in the project's own file.
func (c *codex) projectSwitch(name string, on bool) (Option, bool) {
	dir := c.projectRoot
	for _, l := range c.layers {
		if l.project {
			dir = filepath.Dir(filepath.Dir(l.file.Path))
		}
	}
	dotCodex := filepath.Join(dir, ".codex")
	if dotCodex == c.home || c.r.RealPath(dotCodex) == c.r.RealPath(c.home) {
		return Option{}, false
	}
	o := Option{Shared: true, Warning: "it holds nothing but the switch: where somebody uses this folder and has no server of this name, Codex does not start"}
	o.Reach, o.Label = projectReach(c.inRepository(), false)
	if !c.trustOf(c.withoutProject(), dir).trusted {
		o.Unavailable = codexNotTrusted
	}
	o.Edits = []Edit{{Path: filepath.Join(dotCodex, "config.toml"), Format: codexFormat, NewMode: 0o644,
		Steps: []Step{{StepSet, []string{"mcp_servers", name, "enabled"}, strconv.FormatBool(on)}}}}
	return o, true
}

// approveCodex trusts the folder, which is all the consent that Codex has, or takes that back.
func approveCodex(env *Env, r *Reader, cell *model.Cell, revoke bool) []Option {
	c := codexOf(env, r)
	_, all, _ := codexParts(c.usedLayers(revoke))
	var trust codexTrust
	found := false
	for _, p := range all[cell.Name] {
		if p.layer.project {
			trust, found = p.layer.trust, true
		}
	}
	if !found {
		return nil
	}
	user := func(steps ...Step) []Edit {
		return []Edit{{Path: c.user.Path, Format: codexFormat, Steps: steps, NewMode: 0o600}}
	}
	level := []string{"projects", trust.name, "trust_level"}
	if !revoke {
		return []Option{{Reach: ReachHere, Label: labelHere + ", and trust all of it", TrustsFolder: true,
			Edits:  user(Step{StepSet, level, tomledit.Quote("trusted")}),
			LetsIn: "everything else in the .codex folders of this project, now and later: servers, settings, hooks"}}
	}
	forget := Step{Kind: StepDelete, Path: level}
	if table, ok := tomlAt(trust.layer.tree, "projects", trust.name); ok {
		if t, ok := table.(map[string]any); ok && len(t) == 1 {
			forget.Path = level[:2]
		}
	}
	const stops = "Codex drops all files of this project then"
	return []Option{
		{Reach: ReachHere, Label: labelHere, Edits: user(forget), Warning: stops},
		{Reach: ReachHere, Label: labelHere, Edits: user(Step{StepSet, level, tomledit.Quote("untrusted")}), Warning: stops},
	}
}
