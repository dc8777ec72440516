package loaders

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"fusebox/loaders/tomledit"
	"fusebox/model"
)

// What deepagents-code itself writes into config.toml, for F2 in /mcp and for the answer to its question about a project's
// servers (observed on 0.1.59). It writes the whole file anew, without comments; here the rest of it stays.

// deepFormat is how config.toml is edited.
var deepFormat = Format{TOML: true}

// resolvedDeepagents knows what toggles and approvals are decided from.
func resolvedDeepagents(env *Env, r *Reader) (*deepagents, map[string]*deepNamed) {
	d := newDeepagents(env, r)
	d.readFiles()
	d.plugins = d.readPlugins()
	d.readPolicy()
	names, order := d.gather()
	for _, name := range order {
		d.trust(names[name])
	}
	return d, names
}

func (d *deepagents) edit(steps ...Step) []Edit {
	return []Edit{{Path: d.config.Path, Format: deepFormat, Steps: steps, NewMode: 0o600}}
}

// toggleDeepagents puts the name into disabled_servers, or takes it out. It holds for every folder and every file that
// declares a server of the name. The older place of the list is written as long as it is the one that counts.
func toggleDeepagents(env *Env, r *Reader, cell *model.Cell, on bool) []Option {
	d := newDeepagents(env, r)
	path, older := []string{"mcp", deepOffKey}, []string{"mcp_disabled", "servers"}
	now, has := tomlAt(configTree(d.config), path...)
	old, hasOld := tomlAt(configTree(d.config), older...)
	oldIsList := kindOfTOML(old) == tomlList
	step := Step{StepAppend, path, cell.Name}
	switch {
	case kindOfTOML(now) == tomlList || !has && !oldIsList:
	case oldIsList || !hasOld:
		step.Path = older
	default: // neither is a list, so neither counts
		step = Step{StepSet, path, "[" + tomledit.Quote(cell.Name) + "]"}
	}
	if on {
		step.Kind = StepRemove
	}
	return []Option{{Reach: ReachEverywhere, Label: labelEverywhere, Edits: d.edit(step)}}
}

// approveDeepagents writes the row that deepagents itself would write for the definition as it is now, or takes the rows
// out that approve it. A rejection by name in config.toml beats every row, so approving takes it out too.
func approveDeepagents(env *Env, r *Reader, cell *model.Cell, revoke bool) []Option {
	d, names := resolvedDeepagents(env, r)
	n := names[cell.Name]
	if n == nil {
		return nil
	}
	if revoke {
		return d.revoke(n)
	}
	o := Option{Reach: ReachHere, Label: labelHere, LetsIn: "this definition only: deepagents asks again when it changes"}
	steps := d.takeBackRejection(n.name)
	if len(steps) > 0 {
		o.Warning = "it was rejected for every folder: in another one deepagents asks again"
	}
	e := n.project
	var approved, byName bool // it was, before it was rejected
	if e != nil {
		_, approved, _ = d.approved(e)
		_, byName = d.policy.enabled[n.name]
	}
	if e != nil && !approved {
		id := d.identity(e)
		if id.shared {
			o.Label = "this repository, with all its worktrees"
		}
		steps = append(steps, Step{StepAddTable, []string{"mcp", deepApprovalsKey}, deepRowText(id, e)})
		steps = append(steps, d.forgetOldApproval(n.name)...)
	} else if len(steps) > 0 && (e == nil || byName) {
		o.Reach, o.Label, o.LetsIn, o.Warning = ReachEverywhere, labelEverywhere, "", ""
	}
	if len(steps) == 0 {
		return nil
	}
	o.Edits = d.edit(steps...)
	return []Option{o}
}

// deepRowText is a row of approvals as an inline table.
func deepRowText(id deepIdentity, e *deepEntry) string {
	text := fmt.Sprintf("{ project_root = %s, name = %s, fingerprint = %s", tomledit.Quote(id.root), tomledit.Quote(pythonStrip(e.Name)), tomledit.Quote(deepFingerprint(e.value)))
	if id.shared {
		text += ", git_common_dir = true"
	}
	return text + " }"
}

// takeBackRejection makes the steps that take a name out of the user's list of rejections.
func (d *deepagents) takeBackRejection(name string) []Step {
	path := []string{"mcp", deepRejectedKey}
	v, _ := tomlAt(configTree(d.config), path...)
	return withoutName(v, path, name)
}

// forgetOldApproval takes a name out of the list of approvals that does not count any more, as deepagents does.
func (d *deepagents) forgetOldApproval(name string) []Step {
	path := []string{"mcp", deepRemovedKey}
	v, _ := tomlAt(configTree(d.config), path...)
	steps := withoutName(v, path, pythonStrip(name))
	if list := codexList(v); len(steps) > 0 && len(list) == len(steps) {
		return []Step{{Kind: StepDelete, Path: path}}
	}
	return steps
}

// withoutName takes every spelling of a name out of a list, or out of a text of names with commas.
func withoutName(v any, path []string, name string) []Step {
	if text, ok := v.(string); ok {
		names := commaNames(text)
		rest := slices.DeleteFunc(slices.Clone(names), func(n string) bool { return n == name })
		switch {
		case len(rest) == len(names):
			return nil
		case len(rest) == 0:
			return []Step{{Kind: StepDelete, Path: path}}
		}
		return []Step{{StepSet, path, tomledit.Quote(strings.Join(rest, ", "))}}
	}
	var steps []Step
	for _, item := range codexList(v) {
		if s, ok := item.(string); ok && pythonStrip(s) == name && !slices.ContainsFunc(steps, func(x Step) bool { return x.Value == s }) {
			steps = append(steps, Step{StepRemove, path, s})
		}
	}
	return steps
}

// revoke takes the rows out that approve a server, so that deepagents asks again; or rejects the name, which deepagents has
// for every folder only.
func (d *deepagents) revoke(n *deepNamed) []Option {
	e := n.project
	if e == nil || !n.kept {
		return nil
	}
	var steps []Step
	var unwritten string
	want, exact, fingerprint := d.identity(e), deepIdentity{d.r.RealPath(e.root), false}, deepFingerprint(e.value)
	rows, _ := tomlAt(configTree(d.config), "mcp", deepApprovalsKey)
	list := codexList(rows)
	for _, a := range d.policy.approvals[pythonStrip(e.Name)] {
		if is := d.identityOf(a); a.scope != model.ScopeUser || is != want && is != exact || a.fingerprint != fingerprint || a.index >= len(list) {
			continue
		}
		text, ok := tomlLiteral(list[a.index])
		if !ok {
			unwritten = fmt.Sprintf("the row that approves it (%s:%d) holds a date or a fraction, and such a row is not edited", d.tilde(a.at.Path), a.at.Line)
			continue
		}
		steps = append(steps, Step{StepRemoveTable, []string{"mcp", deepApprovalsKey}, text})
	}
	label := labelHere
	if want.shared {
		label = "this repository, with all its worktrees"
	}
	here := Option{Reach: ReachHere, Label: label, Edits: d.edit(steps...), Unavailable: unwritten}
	path := []string{"mcp", deepRejectedKey}
	reject := Step{StepAppend, path, n.name}
	if text, ok := textAt(d.config, path); ok {
		reject = Step{StepSet, path, tomledit.Quote(strings.Join(append(commaNames(text), n.name), ", "))}
	}
	rejected := Option{Reach: ReachEverywhere, Label: labelEverywhere + ": reject it", Edits: d.edit(append(slices.Clone(steps), reject)...),
		Warning: "deepagents drops every project server and plugin server of this name, whatever it is, without a row of its own"}
	return []Option{here, rejected}
}

func textAt(f *ConfigFile, path []string) (string, bool) {
	v, _ := tomlAt(configTree(f), path...)
	s, ok := v.(string)
	return s, ok
}

// tomlLiteral writes a decoded value as a literal that decodes to an equal one; false for what has no such form here.
func tomlLiteral(v any) (string, bool) {
	switch v := v.(type) {
	case string:
		return tomledit.Quote(v), true
	case bool, int64:
		return fmt.Sprint(v), true
	case time.Time, float64, nil:
		return "", false
	case map[string]any:
		var parts []string
		for _, key := range slices.Sorted(maps.Keys(v)) {
			text, ok := tomlLiteral(v[key])
			if !ok {
				return "", false
			}
			parts = append(parts, tomledit.QuoteKey(key)+" = "+text)
		}
		return "{ " + strings.Join(parts, ", ") + " }", true
	}
	var parts []string
	for _, item := range codexList(v) {
		text, ok := tomlLiteral(item)
		if !ok {
			return "", false
		}
		parts = append(parts, text)
	}
	return "[" + strings.Join(parts, ", ") + "]", true
}
