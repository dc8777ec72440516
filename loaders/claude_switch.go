package loaders

import (
	"bytes"
	"cmp"
	"fmt"
	"path/filepath"
	"slices"

	"fusebox/loaders/jsonc"
	"fusebox/model"
)

// What Claude Code's own /mcp and its question about .mcp.json write (observed on Claude Code 2.1.332).

// claudeFormat is how its files are edited: strict JSON, a byte order mark is kept.
var claudeFormat = Format{JSON: claudeJSON}

// mainEdit changes the main file, under the lock that Claude Code itself takes for it (strings of 2.1.332).
func (c *claude) mainEdit(steps ...Step) Edit {
	return Edit{Path: c.main.Path, Format: claudeFormat, Steps: steps, Lock: c.main.Path + ".lock", NewMode: 0o600}
}

// toggleClaude puts the exact name into projects[KEY].disabledMcpServers of the main file, or takes it out: the only place
// that counts, for servers of every scope.
func toggleClaude(env *Env, r *Reader, cell *model.Cell, on bool) []Option {
	c := claudeOf(env, r)
	list := []string{"projects", c.key, "disabledMcpServers"}
	step := Step{StepAppend, list, cell.Name}
	if on {
		step.Kind = StepRemove
	}
	return []Option{{Reach: ReachHere, Label: labelHere, Edits: []Edit{c.mainEdit(step)}}}
}

// localSettings are the settings.local.json that count, the one that is written first: that of the main checkout, and that of
// the start folder.
func (c *claude) localSettings() []string {
	own := c.env.InProject(".claude/settings.local.json")
	if !c.sharedLocal() {
		return []string{own}
	}
	return []string{filepath.Join(c.gitRoot, ".claude", "settings.local.json"), own}
}

// namesLike returns the spellings in a list that mean a name: it itself, or with fold what a rejection compares.
func namesLike(list jsonc.Value, name string, fold bool) []string {
	var out []string
	for _, item := range claudeList(list) {
		if s, ok := item.Str(); ok && (s == name || fold && foldLike(s, name)) && !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}

// takeOut makes the steps that take all spellings of a name out of a list.
func takeOut(list jsonc.Value, path []string, name string, fold bool) []Step {
	var steps []Step
	for _, s := range namesLike(list, name, fold) {
		steps = append(steps, Step{StepRemove, path, s})
	}
	return steps
}

// settingsAt returns the content of a settings file that counts.
func (c *claude) settingsAt(path string) jsonc.Value {
	for _, s := range c.settings {
		if s.file.Path == filepath.Clean(path) {
			return s.root
		}
	}
	return jsonc.Value{}
}

const (
	claudeApproved = "enabledMcpjsonServers"
	claudeRejected = "disabledMcpjsonServers"
)

// withdraw makes the edits that take a name out of a list of the local settings, and of the legacy place in the main file,
// which every start moves into the local settings.
func (c *claude) withdraw(key, name string, fold bool) []Edit {
	var edits []Edit
	for _, path := range c.localSettings() {
		if steps := takeOut(c.settingsAt(path).Get(key), []string{key}, name, fold); len(steps) > 0 {
			edits = append(edits, Edit{Path: path, Format: claudeFormat, Steps: steps, NewMode: 0o644})
		}
	}
	if steps := takeOut(c.project.Get(key), []string{"projects", c.key, key}, name, fold); len(steps) > 0 {
		edits = append(edits, c.mainEdit(steps...))
	}
	return edits
}

func (c *claude) localEdit(steps ...Step) Edit {
	return Edit{Path: c.localSettings()[0], Format: claudeFormat, Steps: steps, NewMode: 0o644}
}

func (c *claude) userSettings() string { return filepath.Join(c.configDir, "settings.json") }

// rejectedElsewhere finds a rejection in a file that an approval for this folder does not write.
func (c *claude) rejectedElsewhere(name string, but ...string) string {
	for _, s := range c.settings {
		if s.scope == model.ScopeLocal || slices.Contains(but, s.file.Path) {
			continue
		}
		if at, ok := c.listed(s.file, s.root, claudeRejected, name, true); ok {
			return fmt.Sprintf("it is rejected in %s:%d, and a rejection beats every approval", c.tilde(at.Path), at.Line)
		}
	}
	return ""
}

// dropped says why Claude Code ignores a settings file as a whole: nothing that is written into it would count.
func (c *claude) dropped(path string) string {
	for _, f := range c.r.files {
		if f.Path == filepath.Clean(path) && (f.Status == model.FileMalformed || f.Status == model.FileRefused) && len(bytes.TrimSpace(f.Data)) > 0 {
			return fmt.Sprintf("Claude Code ignores the whole of %s: %s", c.tilde(f.Path), f.Note)
		}
	}
	return ""
}

// refusedHere says why this folder's files cannot approve a name, refusedEverywhere why the user's cannot.
func (c *claude) refusedHere(name string) string {
	return cmp.Or(c.rejectedElsewhere(name), c.dropped(c.localSettings()[0]))
}

func (c *claude) refusedEverywhere(name string) string {
	return cmp.Or(c.rejectedElsewhere(name, c.userSettings()), c.dropped(c.userSettings()))
}

// approvalRefused says why nothing can approve a name; "" when something can.
func (c *claude) approvalRefused(name string) string {
	if c.refusedEverywhere(name) == "" {
		return ""
	}
	return c.refusedHere(name)
}

// approveClaude approves a server of .mcp.json, or takes that back. A rejection beats every approval, so approving takes it
// out too.
func approveClaude(env *Env, r *Reader, cell *model.Cell, revoke bool) []Option {
	c := claudeOf(env, r)
	if cell.Scope == model.ScopePlugin || cell.Scope == model.ScopeManaged {
		return nil
	}
	if revoke {
		return c.revoke(cell.Name)
	}
	name := cell.Name
	approved := Step{StepAppend, []string{claudeApproved}, name}
	edits := append(c.withdraw(claudeRejected, name, true), c.localEdit(approved))
	keepsName := quoted(name) + ", and later changes of it: Claude Code keeps the name, not a fingerprint"
	here := Option{Reach: ReachHere, Label: labelHere, Edits: edits, LetsIn: keepsName, Unavailable: c.refusedHere(name)}
	counts := c.trusted || c.ownFolder()
	if !counts {
		here.Missing = "approved, waiting for trust: start claude once in this folder"
	}
	out := []Option{here}
	if !counts {
		trusting := here
		trusting.TrustsFolder, trusting.Missing = true, ""
		trusting.Label = labelHere + ", and trust all of it"
		trusting.Edits = append(slices.Clone(edits), c.mainEdit(Step{StepSet, []string{"projects", c.key, "hasTrustDialogAccepted"}, "true"}))
		trusting.LetsIn = "everything that Claude Code asks the folder's trust for: its hooks, its settings, what its files approve; " + keepsName
		out = append(out, trusting)
	}
	user := c.userSettings()
	steps := append(takeOut(c.settingsAt(user).Get(claudeRejected), []string{claudeRejected}, name, true), approved)
	everywhere := Option{Reach: ReachEverywhere, Label: labelEverywhere,
		Edits:       append(c.withdraw(claudeRejected, name, true), Edit{Path: user, Format: claudeFormat, Steps: steps, NewMode: 0o600}),
		LetsIn:      fmt.Sprintf("any server that is called %s in a .mcp.json of any folder, trusted or not", quoted(name)),
		Unavailable: c.refusedEverywhere(name)}
	return append(out, everywhere)
}

// revoke takes approvals out, so that Claude Code asks again. Where another file still approves, a rejection here beats it.
func (c *claude) revoke(name string) []Option {
	withdrawn := c.withdraw(claudeApproved, name, false)
	here := Option{Reach: ReachHere, Label: labelHere, Edits: withdrawn}
	rejected := Option{Reach: ReachHere, Label: labelHere + ": reject it", Edits: append(slices.Clone(withdrawn), c.localEdit(Step{StepAppend, []string{claudeRejected}, name})),
		Warning: "another file approves it, so that it is rejected here"}
	out := []Option{here}
	if approved, _, _, _ := c.approval(name, model.Location{}); approved == model.DecisionLoads {
		out = append(out, rejected)
	}
	user := c.userSettings()
	if steps := takeOut(c.settingsAt(user).Get(claudeApproved), []string{claudeApproved}, name, false); len(steps) > 0 {
		out = append(out, Option{Reach: ReachEverywhere, Label: labelEverywhere,
			Edits: append(slices.Clone(withdrawn), Edit{Path: user, Format: claudeFormat, Steps: steps, NewMode: 0o600})})
	}
	return out
}
