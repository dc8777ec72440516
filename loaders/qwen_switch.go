package loaders

import (
	"bytes"
	"cmp"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"fusebox/loaders/jsonc"
	"fusebox/model"
)

// What Qwen Code's /mcp dialog, its approvals and its question about a folder write (observed on Qwen Code 0.24.4).

// qwenPlace is a settings file that may switch a server off.
type qwenPlace struct {
	path    string
	project bool
	keys    []string    // mcp.excluded, or what a file of an old version has in its place
	list    jsonc.Value // what is there
	refused string      // why it is not written; "" when it can be
}

// places are the user's and the project's settings file. In the home folder there is no project's.
func (q *qwen) places() (user qwenPlace, project *qwenPlace) {
	user = q.place(model.ScopeUser, filepath.Join(q.dir, "settings.json"))
	if q.cwd == q.r.RealPath(q.env.Home) {
		return user, nil
	}
	p := q.place(model.ScopeProject, q.env.InProject(".qwen/settings.json"))
	p.project = true
	return user, &p
}

func (q *qwen) place(scope model.Scope, path string) qwenPlace {
	p := qwenPlace{path: filepath.Clean(path), keys: []string{"mcp", "excluded"}}
	i := slices.IndexFunc(q.layers, func(l qwenLayer) bool { return l.scope == scope })
	if scope == model.ScopeProject && !q.trust.trusted {
		p.refused = "the folder is not trusted, so its settings do not count"
	}
	if i < 0 {
		return p
	}
	l := q.layers[i]
	if !l.file.OK() {
		if len(bytes.TrimSpace(l.file.Data)) > 0 || l.file.Status == model.FileRefused {
			p.refused = q.tilde(p.path) + " is broken: mend it first"
		}
		return p
	}
	if old := l.root.Get("excludeMCPServers"); l.legacy && old.Exists() && old.Kind() != jsonc.Object {
		p.keys = []string{"excludeMCPServers"}
	}
	mcp := l.root.Get("mcp")
	p.list = l.root.Lookup(p.keys...)
	_, isText := p.list.Str()
	switch {
	case p.refused != "":
	case len(p.keys) == 2 && mcp.Exists() && mcp.Kind() != jsonc.Object:
		p.refused = fmt.Sprintf("mcp in %s:%d is %s, not an object: mend it first", q.tilde(p.path), mcp.Line(), typeWord(mcp))
	case p.list.Exists() && p.list.Kind() != jsonc.Array && !isText && truthy(p.list, q.fillSession):
		p.refused = fmt.Sprintf("%s in %s:%d is %s, not a list: mend it first", strings.Join(p.keys, "."), q.tilde(p.path), p.list.Line(), typeWord(p.list))
	}
	return p
}

func (p *qwenPlace) edit(steps ...Step) Edit {
	e := Edit{Path: p.path, Format: Format{JSON: qwenSettingsJSON}, Steps: steps, NewMode: 0o600}
	if p.project {
		e.NewMode = 0o644
	}
	return e
}

// add makes the steps that put a name into the list.
func (p *qwenPlace) add(name string) []Step {
	if _, isText := p.list.Str(); p.list.Exists() && p.list.Kind() != jsonc.Array && !isText { // null, false, 0
		return []Step{{StepSet, p.keys, "[" + jsonc.Quote(name) + "]"}}
	}
	return []Step{{StepAppend, p.keys, name}}
}

// takeOut makes the steps that take a name out of the list, as it is spelled there. Like the dialog, they leave an empty list.
func (q *qwen) takeOut(p *qwenPlace, name string) []Step {
	if p == nil || p.refused != "" {
		return nil
	}
	items := p.list.Elements()
	if p.list.Kind() == jsonc.String {
		items = []jsonc.Value{p.list}
	}
	var steps []Step
	for _, item := range items {
		if s, ok := item.Str(); ok && q.fillSession(s) == name {
			steps = append(steps, Step{StepRemove, p.keys, s})
		}
	}
	return steps
}

// qwenPreferences is what extension-preferences.json is made of.
const qwenPreferences = `{
  "favorites": [],
  "scopes": {},
  "disabledMcpServers": {}
}`

// preferencesRefused says why the switches of extension servers are not written; "" when they can be.
func (q *qwen) preferencesRefused() string {
	f := q.prefs
	disabled := f.Root().Get("disabledMcpServers")
	switch {
	case f.Status == model.FileMalformed || f.Status == model.FileRefused:
		return "extension-preferences.json does not parse: mend it first"
	case f.OK() && f.Root().Kind() != jsonc.Object:
		return "extension-preferences.json is " + typeWord(f.Root()) + ", not an object: mend it first"
	case disabled.Exists() && disabled.Kind() != jsonc.Object:
		return "disabledMcpServers in extension-preferences.json is " + typeWord(disabled) + ", not an object: mend it first"
	}
	return ""
}

func (q *qwen) preferencesEdit(x *qwenExtension, name string, on bool) Edit {
	list := []string{"disabledMcpServers", x.name}
	steps := []Step{{StepAppend, list, name}}
	if v := q.prefs.Root().Lookup(list...); v.Exists() && v.Kind() != jsonc.Array {
		steps = []Step{{StepSet, list, "[" + jsonc.Quote(name) + "]"}}
	}
	if on {
		steps = []Step{{StepRemove, list, name}, {Kind: StepPrune, Path: list}}
	}
	return Edit{Path: q.prefs.Path, Format: strictJSON, Steps: steps, NewMode: 0o600, Initial: qwenPreferences}
}

// unlistable says why mcp.excluded cannot name a server; "" when it can.
func (q *qwen) unlistable(name string) string {
	switch {
	case name == "":
		return "its name is empty, and mcp.excluded cannot name it"
	case q.fillSession(name) != name:
		return "its name holds a variable, which is filled in in mcp.excluded"
	}
	return ""
}

// switchRefused says why the switch of a cell is not written; "" when it can be.
func (q *qwen) switchRefused(out *model.Cell, e *qwenEntry) string {
	for _, l := range []qwenList{q.allowed, q.excluded} {
		if !l.bad.IsZero() {
			return fmt.Sprintf("every session ends at its start: mend %s:%d first", q.tilde(l.bad.Path), l.bad.Line)
		}
	}
	switch code := out.Reason.Code; {
	case code == model.ReasonBlockedByList || code == model.ReasonBlockedByPolicy:
		return "a list blocks it; taking it off that list is no switch: " + out.Reason.Text
	case code == model.ReasonRejected:
		return "it is rejected, not switched off: approve it"
	case code == model.ReasonSwitchedOff && e.extension != nil && !e.extension.active:
		return "its whole extension is switched off: qwen extensions enable switches that on"
	case out.Decision == model.DecisionOff:
		if p := q.alsoExcluded(e.Name); p != nil {
			return fmt.Sprintf("to take its name out of mcp.excluded is not enough: %s:%d names it as well", q.tilde(p.at.Path), p.at.Line)
		}
		return ""
	}
	user, project := q.places()
	refused := cmp.Or(user.refused, q.unlistable(e.Name))
	if refused != "" && project != nil && project.refused == "" {
		refused = q.unlistable(e.Name)
	}
	if e.extension != nil && q.preferencesRefused() == "" {
		return ""
	}
	return refused
}

// alsoExcluded finds what excludes a name besides the name itself in a file that is written.
func (q *qwen) alsoExcluded(name string) *qwenPattern {
	for i := range q.excluded.items {
		p := &q.excluded.items[i]
		own := p.text == name && (p.scope == model.ScopeUser || p.scope == model.ScopeProject)
		if !own && (p.text == name || matchWildcards(p.text, name)) {
			return p
		}
	}
	return nil
}

// toggleQwen puts the exact name into mcp.excluded, or takes it out of every file of the user's and the project's that has it.
// The dialog switches a server of .mcp.json off in the project's file, all others in the user's; for a server of the project's
// settings, too, the project's file comes first here, because a name in the user's is off in every folder. A server of an
// extension has a switch of its own.
func toggleQwen(env *Env, r *Reader, cell *model.Cell, on bool) []Option {
	q := qwenOf(env, r)
	e := q.decided[cell.Name]
	if e == nil {
		return nil
	}
	user, project := q.places()
	inRepository := gitRoot(r, q.cwd) != ""
	if on {
		return q.switchOn(e, user, project, inRepository)
	}
	unlistable := q.unlistable(e.Name)
	everywhere := Option{Reach: ReachEverywhere, Label: labelEverywhere, Unavailable: cmp.Or(unlistable, user.refused), Edits: []Edit{user.edit(user.add(e.Name)...)}}
	if e.Scope == model.ScopeProject {
		everywhere.Warning = "a server of this name in any other folder is off as well"
	}
	if e.extension != nil && q.preferencesRefused() == "" {
		everywhere.Unavailable, everywhere.Edits = "", []Edit{q.preferencesEdit(e.extension, e.Name, false)}
	}
	out := []Option{everywhere}
	if project != nil {
		o := Option{Shared: true, Unavailable: cmp.Or(unlistable, project.refused), Edits: []Edit{project.edit(project.add(e.Name)...)}}
		o.Reach, o.Label = projectReach(inRepository, false)
		if out = append(out, o); e.Scope == model.ScopeProject {
			slices.Reverse(out)
		}
	}
	return hereFirst(out)
}

// switchOn takes the name out of whatever holds it: less would leave the server off.
func (q *qwen) switchOn(e *qwenEntry, user qwenPlace, project *qwenPlace, inRepository bool) []Option {
	o := Option{Reach: ReachEverywhere, Label: labelEverywhere}
	if steps := q.takeOut(&user, e.Name); len(steps) > 0 {
		o.Edits = append(o.Edits, user.edit(steps...))
	}
	if e.extension != nil {
		if _, off := q.serverOff(e.extension.name, e.Name); off {
			o.Edits = append(o.Edits, q.preferencesEdit(e.extension, e.Name, true))
		}
	}
	if steps := q.takeOut(project, e.Name); len(steps) > 0 {
		o.Shared = true
		if len(o.Edits) == 0 {
			o.Reach, o.Label = projectReach(inRepository, false)
		}
		o.Edits = append(o.Edits, project.edit(steps...))
	}
	return []Option{o}
}

// ifTrusted is the same resolve as if the folder were trusted.
func (q *qwen) ifTrusted() *qwen {
	x := *q
	x.trust.trusted = true
	return &x
}

// asks tells whether a session asks before it first starts the server. It never does for that of mcp.serverCommand.
func (q *qwen) asks(e *qwenEntry) bool { return e.gated() && e.value.Exists() }

// approvalsRefused says why no decision is written; "" when one can be.
func (q *qwen) approvalsRefused() string {
	f := q.approvals
	folder := f.Root().Get(q.folderKey())
	switch {
	case f.Status == model.FileRefused, f.Status == model.FileMalformed && len(bytes.TrimSpace(f.Data)) > 0:
		return filepath.Base(f.Path) + " does not parse: mend it first"
	case folder.Exists() && folder.Kind() != jsonc.Object:
		return fmt.Sprintf("what %s:%d has for this folder is %s, not an object: mend it first", q.tilde(f.Path), folder.Line(), typeWord(folder))
	}
	return ""
}

// trustRefused says why trustedFolders.json is not written; "" when it can be. Qwen Code refuses the same files.
func (q *qwen) trustRefused() string {
	if q.badLevel > 0 {
		return fmt.Sprintf("the level of the rule in %s:%d is none of TRUST_FOLDER, TRUST_PARENT, DO_NOT_TRUST: mend it first", q.tilde(q.trustFile.Path), q.badLevel)
	}
	if info, err := q.r.Lstat(q.trustFile.Path); err == nil && info.Mode()&fs.ModeSymlink != 0 {
		return q.tilde(q.trustFile.Path) + " is a symbolic link, and Qwen Code writes only a regular file"
	}
	return ""
}

// consentRefused says why no consent is given to a cell; "" when it can be.
func (q *qwen) consentRefused(out *model.Cell, e *qwenEntry) string {
	asks := q.asks(e)
	untrusted := out.Reason.Code == model.ReasonUntrustedFolder
	approved := false
	if asks && out.Decision == model.DecisionLoads {
		approved = true
	} else if asks {
		decision, _, _ := q.approval(e)
		approved = decision == model.DecisionLoads
	}
	switch code := out.Reason.Code; {
	case !asks && !untrusted:
		return fmt.Sprintf("not needed, %s scope", e.Scope)
	case out.Decision == model.DecisionLoads && q.gate.open:
		return "not needed, the approval mode is yolo"
	case approved && !untrusted:
		return "approved already"
	case code == model.ReasonBlockedByList || code == model.ReasonBlockedByPolicy:
		return "a list blocks it, so that an approval would not start it"
	case e.fault.Code != "" && out.Decision != model.DecisionOff || e.fault.Code != "" && code == model.ReasonRejected:
		return "the entry does not load: mend it first"
	case asks && !approved:
		return q.approvalsRefused()
	case q.blockedOnceTrusted(e):
		return "a list of the folder's own settings blocks it as soon as the folder is trusted"
	}
	return q.trustRefused()
}

// blockedOnceTrusted tells whether the lists that count in the trusted folder keep a server out for good.
func (q *qwen) blockedOnceTrusted(e *qwenEntry) bool {
	if q.ifAllow.given && e.value.Exists() && q.ifAllow.match(e.Name) == nil {
		return true
	}
	p := q.ifExcept.match(e.Name)
	return p != nil && (p.text != e.Name || p.scope != model.ScopeUser && p.scope != model.ScopeProject)
}

// decisionEdit stores a decision about an entry for this folder. Keys of the record that are not known stay.
func (q *qwen) decisionEdit(e *qwenEntry, hash, status string) Edit {
	at := []string{q.folderKey(), e.Name}
	steps := []Step{
		{StepSet, append(slices.Clip(at), "hash"), jsonc.Quote(hash)},
		{StepSet, append(slices.Clip(at), "status"), jsonc.Quote(status)},
	}
	if v := q.approvals.Root().Lookup(at...); v.Kind() != jsonc.Object {
		steps = []Step{{StepSet, at, fmt.Sprintf("{\n  \"hash\": %s,\n  \"status\": %s\n}", jsonc.Quote(hash), jsonc.Quote(status))}}
	}
	return q.approvalsEdit(steps...)
}

func (q *qwen) approvalsEdit(steps ...Step) Edit {
	return Edit{Path: q.approvals.Path, Format: Format{JSON: qwenJSON}, Steps: steps, NewMode: 0o600}
}

// qwenMemory is what an open session does with decisions.
const qwenMemory = "sessions that are open now do not notice, and the next decision in one of them may write the older state back"

// approveQwen stores the decision about a gated server that Qwen Code itself would store, with the hash of the entry as a
// session reads it; in a folder that is not trusted it offers trust besides. To trust the folder approves no server.
func approveQwen(env *Env, r *Reader, cell *model.Cell, revoke bool) []Option {
	q := qwenOf(env, r)
	e := q.decided[cell.Name]
	switch {
	case e == nil:
		return nil
	case revoke && q.asks(e):
		return q.withdraw(e)
	case revoke:
		return q.distrust()
	}
	session := q // that starts the server
	if !q.trust.trusted {
		session = q.ifTrusted()
		session.readVariables()
	}
	var out []Option
	var edits []Edit
	if q.asks(e) {
		hash, _ := session.hashes(e)
		status, stored, _, ok := q.record(e.Name)
		if !ok || status != "approved" || stored != hash {
			edits = []Edit{q.decisionEdit(e, hash, "approved")}
			o := Option{Reach: ReachHere, Label: labelHere, Edits: edits, Warning: qwenMemory,
				LetsIn: "nothing else: a later change of the entry, or of a variable in it, waits again"}
			if now, _ := q.hashes(e); now != hash {
				o.Unavailable = "its variables have other values once the folder is trusted: approve it together with the folder"
			}
			out = append(out, o)
		}
	}
	if !q.trust.trusted {
		out = append(out, Option{Reach: ReachHere, Label: labelHere + ", and trust all of it", TrustsFolder: true, Unavailable: q.trustRefused(),
			Edits:  append(slices.Clone(edits), q.trustEdit(q.trustSteps()...)),
			LetsIn: "everything in this folder and below, now and later: its settings, which may open the gate for its servers, its .env files, its extensions and hooks"})
	}
	return out
}

// withdraw takes an approval back, so that Qwen Code asks again; what waits for an answer already is rejected.
func (q *qwen) withdraw(e *qwenEntry) []Option {
	switch decision, _, _ := q.approval(e); decision {
	case model.DecisionLoads:
		folder := []string{q.folderKey()}
		return []Option{{Reach: ReachHere, Label: labelHere, Warning: qwenMemory, Edits: []Edit{q.approvalsEdit(
			Step{Kind: StepDelete, Path: append(folder, e.Name)}, Step{Kind: StepPrune, Path: folder})}}}
	case model.DecisionWaits:
		hash, _ := q.hashes(e)
		return []Option{{Reach: ReachHere, Label: labelHere + ": reject it", Warning: qwenMemory, Unavailable: q.approvalsRefused(),
			Edits: []Edit{q.decisionEdit(e, hash, "rejected")}}}
	}
	return nil
}

func (q *qwen) trustEdit(steps ...Step) Edit {
	return Edit{Path: q.trustFile.Path, Format: Format{JSON: qwenJSON}, Steps: steps, Lock: q.trustFile.Path + ".lock", NewMode: 0o600, Initial: "{}"}
}

// ownRules are the keys of the rules that are written for this very folder, with their levels.
func (q *qwen) ownRules() (keys, levels []string) {
	for _, m := range q.trustFile.Root().Members() {
		if level, _ := m.Value.Str(); !m.Shadowed && slices.Contains(q.variants(m.Key), q.cwd) {
			keys, levels = append(keys, m.Key), append(levels, level)
		}
	}
	return keys, levels
}

// trustSteps trust the folder. A rule against it under another spelling would win, so those are turned round.
func (q *qwen) trustSteps() []Step {
	var steps []Step
	trust := jsonc.Quote("TRUST_FOLDER")
	keys, levels := q.ownRules()
	for i, key := range keys {
		if levels[i] == "DO_NOT_TRUST" || key == q.cwd {
			steps = append(steps, Step{StepSet, []string{key}, trust})
		}
	}
	if len(steps) == 0 {
		steps = []Step{{StepSet, []string{q.cwd}, trust}}
	}
	return steps
}

// distrust takes the folder's own rules out, or sets one against it where another rule would still trust it.
func (q *qwen) distrust() []Option {
	if !q.trust.asked || !q.trust.trusted || q.trustFile == nil {
		return nil
	}
	const stops = "Qwen Code starts no server here then"
	refused := q.trustRefused()
	var out []Option
	var steps []Step
	keys, levels := q.ownRules()
	for i, key := range keys {
		if levels[i] == "TRUST_FOLDER" {
			steps = append(steps, Step{Kind: StepDelete, Path: []string{key}})
		}
	}
	if len(steps) > 0 {
		out = append(out, Option{Reach: ReachHere, Label: labelHere, Warning: stops, Unavailable: refused, Edits: []Edit{q.trustEdit(steps...)}})
	}
	return append(out, Option{Reach: ReachHere, Label: labelHere, Warning: stops, Unavailable: refused,
		Edits: []Edit{q.trustEdit(Step{StepSet, []string{q.cwd}, jsonc.Quote("DO_NOT_TRUST")})}})
}
