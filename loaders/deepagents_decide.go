package loaders

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"fusebox/loaders/jsonc"
	"fusebox/model"
)

// What deepagents-code 0.1.59 does with each name. The two files of a project are laid over each other first; then every
// winner is approved, waits or is rejected; those that are approved are laid over the user's and the plugins' servers.

// deepNamed is all that stands under one name.
type deepNamed struct {
	name    string
	loaded  []*deepEntry // user and plugins, lowest to highest
	project *deepEntry   // the winner of the project's files
	barred  []deepBarred // what does not take part, highest first, the project's winner included
	kept    bool         // the project's winner is approved and valid
	consent model.Location
}

// deepBarred is an entry that does not load, and why.
type deepBarred struct {
	entry    *deepEntry
	decision model.Decision
	reason   model.Reason
}

func (d *deepagents) cells() []*model.Cell {
	names, order := d.gather()
	d.projectFaults(names, order)
	for _, name := range order {
		d.trust(names[name])
	}
	d.finalCheck(names, order)
	cells := make([]*model.Cell, 0, len(order))
	for _, name := range order {
		cells = append(cells, d.cell(names[name]))
	}
	for _, out := range cells {
		if d.broken != nil {
			out.Decision = model.DecisionCannot
			out.Reason = model.Reason{Code: model.ReasonFileRefused, DecidedBy: d.broken.Location, Text: d.broken.Text}
		}
		out.Capabilities = d.capabilities(out, names[out.Name])
	}
	return cells
}

// gather collects the entries by name, in the order in which a session lists them.
func (d *deepagents) gather() (map[string]*deepNamed, []string) {
	names := map[string]*deepNamed{}
	var order []string
	at := func(name string) *deepNamed {
		n := names[name]
		if n == nil {
			n = &deepNamed{name: name}
			names[name] = n
			order = append(order, name)
		}
		return n
	}
	var lost []*deepFile
	for _, x := range d.files {
		switch {
		case x.lost != nil:
			lost = append(lost, x)
		case !x.project:
			for _, e := range x.entries {
				n := at(e.Name)
				n.loaded = append(n.loaded, e)
			}
		}
	}
	for _, e := range d.plugins {
		n := at(e.Name)
		if said, no := d.policy.rejected[e.Name]; no {
			n.barred = append(n.barred, deepBarred{e, model.DecisionOff, d.rejection(e, said)})
			continue
		}
		if _, named := d.policy.enabled[e.Name]; d.policy.fault != nil && !named {
			n.barred = append(n.barred, deepBarred{e, model.DecisionCannot, model.Reason{Code: model.ReasonFileRefused, DecidedBy: d.policy.fault.Location,
				Text: "deepagents drops every plugin's server: " + d.policy.fault.Text}})
			continue
		}
		n.loaded = append(n.loaded, e)
	}
	for _, x := range d.files {
		if !x.project || x.lost != nil {
			continue
		}
		for _, e := range x.entries {
			n := at(e.Name)
			e.root = x.root
			if n.project != nil {
				e.beaten = append(slices.Clone(n.project.beaten), n.project)
			}
			n.project = e
		}
	}
	for _, x := range slices.Backward(lost) {
		for _, e := range x.entries {
			n := at(e.Name)
			n.barred = append(n.barred, deepBarred{e, model.DecisionCannot, *x.lost})
		}
	}
	return names, order
}

// projectFaults looks for what ends the load while the project's servers are listed, before any of them is judged.
func (d *deepagents) projectFaults(names map[string]*deepNamed, order []string) {
	for _, name := range order {
		if e := names[name].project; e != nil && e.deadly != "" {
			d.fail(e.file, e.Source, "the entry %s: %s", quoted(name), e.deadly)
			return
		}
	}
}

// rejection is the reason of a server that is rejected by name.
func (d *deepagents) rejection(e *deepEntry, said deepSaid) model.Reason {
	r := model.Reason{Code: model.ReasonRejected, DecidedBy: said.at,
		Text: fmt.Sprintf("%s is in %s of %s, which beats every approval", quoted(e.Name), deepRejectedKey, d.tilde(said.at.Path))}
	switch said.scope {
	case model.ScopeManaged:
		r.Code = model.ReasonBlockedByPolicy
	case model.ScopeCustom:
		r.Text = fmt.Sprintf("%s names it, which beats every approval", deepRejectVariable)
	}
	return r
}

// trust decides whether the project's winner takes part.
func (d *deepagents) trust(n *deepNamed) {
	e := n.project
	if e == nil {
		return
	}
	bar := func(decision model.Decision, reason model.Reason) {
		n.barred = slices.Insert(n.barred, 0, deepBarred{e, decision, reason})
	}
	if said, no := d.policy.rejected[e.Name]; no {
		bar(model.DecisionOff, d.rejection(e, said))
		return
	}
	if _, named := d.policy.enabled[e.Name]; e.surrogate && !named && pythonStrip(e.Name) != "" {
		d.fail(e.file, e.Source, `the entry %s has an escape \u of half a character`, quoted(e.Name))
	}
	consent, ok, changed := d.approved(e)
	switch {
	case e.fault != "":
		text := "deepagents drops the entry without a word: "
		if ok {
			text = "deepagents drops the entry: "
		}
		bar(model.DecisionCannot, model.Reason{Code: model.ReasonEntryInvalid, DecidedBy: e.faultAt, Text: text + e.fault})
	case ok:
		n.kept, n.consent = true, consent
	case changed != nil:
		bar(model.DecisionWaits, model.Reason{Code: model.ReasonApprovalChanged, DecidedBy: changed.at,
			Text: fmt.Sprintf("it was changed since it was approved (%s:%d): deepagents asks again", d.tilde(changed.at.Path), changed.at.Line) + d.hides(e)})
	default:
		r := model.Reason{Code: model.ReasonNeedsApproval, DecidedBy: e.Source,
			Text: fmt.Sprintf("deepagents asks before it first loads a server of %s; nothing in the repository can approve it", d.tilde(e.Source.Path)) + d.hides(e)}
		switch p := &d.policy; {
		case p.fault != nil:
			r.DecidedBy = p.fault.Location
			r.Text = "deepagents neither loads it nor asks, because it cannot see what you approved: " + p.fault.Text
		case p.replaced != nil:
			r.DecidedBy = *p.replaced
			r.Text = fmt.Sprintf("only what an administrator approves in %s counts here", d.tilde(p.replaced.Path))
		}
		bar(model.DecisionWaits, r)
	}
}

// hides tells of a definition in a lower file of the project that cannot load while the winner waits.
func (d *deepagents) hides(e *deepEntry) string {
	for _, b := range e.beaten {
		b.root = e.root
		if _, ok, _ := d.approved(b); ok {
			return fmt.Sprintf("; it hides the one in %s, which is approved", d.tilde(b.Source.Path))
		}
	}
	return ""
}

// winner is the entry that a session takes, and what it beats, highest first; nil when there is none.
func (n *deepNamed) winner() (e *deepEntry, beaten []*deepEntry) {
	all := slices.Clone(n.loaded)
	if n.kept {
		all = append(all, n.project)
	}
	if len(all) == 0 {
		return nil, nil
	}
	e = all[len(all)-1]
	beaten = e.lower()
	for _, x := range slices.Backward(all[:len(all)-1]) {
		beaten = append(append(beaten, x), x.lower()...)
	}
	return e, beaten
}

// lower are the entries of the same layer that an entry beats, highest first.
func (e *deepEntry) lower() []*deepEntry {
	out := slices.Clone(e.beaten)
	slices.Reverse(out)
	return out
}

// switched tells whether a name is switched off.
func (d *deepagents) switched(name string) (model.Reason, bool) {
	if at := d.policy.allOff; at != nil {
		return model.Reason{Code: model.ReasonBlockedByPolicy, DecidedBy: *at,
			Text: fmt.Sprintf("the list of servers to switch off in %s cannot be read, so deepagents switches all of them off", d.tilde(at.Path))}, true
	}
	said, off := d.policy.off[name]
	if !off {
		return model.Reason{}, false
	}
	if said.scope == model.ScopeManaged {
		return model.Reason{Code: model.ReasonBlockedByPolicy, DecidedBy: said.at, Text: "an administrator switches it off in " + d.tilde(said.at.Path)}, true
	}
	return model.Reason{Code: model.ReasonSwitchedOff, DecidedBy: said.at,
		Text: fmt.Sprintf("switched off for every folder in %s of %s", deepOffKey, d.tilde(said.at.Path))}, true
}

// finalCheck looks for what ends the load at last: an invalid entry of a plugin, unless it is switched off.
func (d *deepagents) finalCheck(names map[string]*deepNamed, order []string) {
	for _, name := range order {
		e, _ := names[name].winner()
		if e == nil || d.broken != nil {
			continue
		}
		_, off := d.switched(name)
		if off && e.unhashable || !off && e.fault != "" {
			fault := e.fault
			d.fail(nil, e.Source, "the entry %s of a plugin: %s", quoted(name), fault)
			d.r.Refuse(e.file, e.Source, fmt.Sprintf("the entry %s: %s", quoted(name), fault))
		}
	}
}

// cell decides about one name.
func (d *deepagents) cell(n *deepNamed) *model.Cell {
	e, beaten := n.winner()
	barred := n.barred
	var out *model.Cell
	if e != nil {
		if out = cell(e.Entry, model.DecisionLoads, model.Reason{}); d.broken == nil {
			d.decide(e, out)
		}
		if n.kept && e == n.project {
			out.Consent = n.consent
		} else if d.ungated(e) {
			out.Findings = append(slices.Clip(out.Findings), repositoryFinding())
		}
	} else {
		first := barred[0]
		out = cell(first.entry.Entry, first.decision, first.reason)
		barred, beaten = barred[1:], first.entry.lower()
	}
	for _, b := range beaten {
		out.Replaces = append(out.Replaces, model.Replaced{Scope: b.Scope, Source: b.Source})
	}
	for _, b := range barred {
		state := map[model.Decision]model.State{model.DecisionOff: model.StateDisabled, model.DecisionWaits: model.StateUnapproved}[b.decision]
		if b.decision == model.DecisionCannot {
			state = model.StateError
		}
		out.Pending = append(out.Pending, model.Pending{Entry: b.entry.Entry, State: state, Reason: b.reason})
	}
	return out
}

// ungated tells whether an entry that needs no approval lies in the folder of the session: a checkout below ~/.deepagents.
func (d *deepagents) ungated(e *deepEntry) bool {
	return Within(d.r.RealPath(e.Source.Path), d.base) && !Within(d.r.RealPath(d.env.Home), d.base)
}

// decide says what a session does with an entry that takes part.
func (d *deepagents) decide(e *deepEntry, out *model.Cell) {
	if reason, off := d.switched(e.Name); off {
		out.Decision, out.Reason = model.DecisionOff, reason
		return
	}
	if reason, finding, ok := d.unloadable(e); !ok {
		out.Decision, out.Reason = model.DecisionCannot, reason
		if finding != nil {
			out.Findings = append(slices.Clip(out.Findings), *finding)
		}
		return
	}
	if e.Definition.Transport.Remote() {
		d.signIn(e, out)
	}
}

// unloadable says why deepagents cannot load an entry that takes part, apart from its sign-in: a text that is none, a variable
// without a value, a command that is not there.
func (d *deepagents) unloadable(e *deepEntry) (reason model.Reason, finding *model.Finding, ok bool) {
	if fault, v, finding := d.loadFault(e); fault != "" {
		return model.Reason{Code: model.ReasonEntryInvalid, DecidedBy: e.place(v), Text: "deepagents does not load the server: " + fault}, finding, false
	}
	if e.Definition.Transport.Remote() {
		return reason, nil, true
	}
	command := d.text(e, "command")
	if d.finds(command) {
		return reason, nil, true
	}
	why := "it is not on PATH, where deepagents looks it up before it loads the server"
	switch {
	case command == "":
		why = "the command is empty"
	case filepath.IsAbs(command):
		why = "there is no such program, or it may not be run"
	case strings.Contains(command, "/"):
		why = "deepagents looks for a relative path in a temporary folder of its own, not in this one"
	}
	return model.Reason{Code: model.ReasonCommandNotFound, DecidedBy: e.place(e.value.Get("command")), Text: "command not found: " + why}, nil, false
}

// place is the line of a value of an entry; of a plugin that of the entry.
func (e *deepEntry) place(v jsonc.Value) model.Location {
	at := e.Source
	if e.Scope != model.ScopePlugin && v.Exists() {
		at.Line, at.Column = v.Line(), v.Column()
	}
	return at
}

// deepTokenFile is the name of the file with a server's tokens: name and URL, byte for byte.
func deepTokenFile(name, url string) string {
	sum := sha256.Sum256([]byte(url))
	return name + "-" + hex.EncodeToString(sum[:])[:16] + ".json"
}

// signIn looks at the stored tokens of a remote server. They are used without auth: oauth too, unless the entry has an
// Authorization header. Whether one has run out is not asked: a session renews it, or is told by the server.
func (d *deepagents) signIn(e *deepEntry, out *model.Cell) {
	path := filepath.Join(d.dir, ".state", "mcp-tokens", deepTokenFile(e.Name, d.text(e, "url")))
	auth, _ := e.value.Get("auth").Str()
	tokens, fault, deadly := d.tokens(path)
	at := model.Location{Path: path, Line: 1}
	switch {
	case deadly:
		d.fail(nil, at, "the stored sign-in of %s, %s, is no object", quoted(e.Name), d.tilde(path))
	case fault != "":
		out.Decision = model.DecisionCannot
		out.Reason = model.Reason{Code: model.ReasonFileRefused, DecidedBy: at,
			Text: fmt.Sprintf("its stored sign-in cannot be read (%s): delete %s and run dcode mcp login %s", fault, d.tilde(path), quoted(e.Name))}
	case auth == "oauth" && !tokens:
		out.Reason = model.Reason{Code: model.ReasonNeedsLogin, DecidedBy: e.place(e.value.Get("auth")),
			Text: "auth is oauth, and no sign-in is stored for this name and URL: dcode mcp login " + quoted(e.Name)}
	}
}

// tokens reads a file of tokens. deadly tells that it is JSON and no object, for which deepagents has no guard. Nothing of
// the file is kept or shown.
func (d *deepagents) tokens(path string) (found bool, fault string, deadly bool) {
	f := d.r.Peek(path, model.ScopeUser)
	d.r.Drop(f)
	broken := func(what string) (bool, string, bool) {
		d.r.files = append(d.r.files, &ConfigFile{Path: f.Path, Scope: f.Scope, Status: model.FileMalformed, Note: "1:1: " + what})
		return false, what, false
	}
	switch f.Status {
	case model.FileAbsent:
		return false, "", false
	case model.FileRead:
	default:
		return false, f.Note, false
	}
	doc, err := jsonc.Parse(f.Data, pythonJSON)
	if err != nil {
		var syntax *jsonc.SyntaxError
		if errors.As(err, &syntax) {
			return broken(model.Clean(syntax.Message))
		}
		return broken("it does not parse")
	}
	root := doc.Root()
	if root.Kind() != jsonc.Object {
		_, fault, _ := broken("it is " + typeWord(root) + ", not an object")
		return false, fault, true
	}
	version := root.Get("version")
	raw, _ := version.Number()
	if yes, _ := version.Bool(); !yes && pythonNumber(raw) != "1" && pythonNumber(raw) != "1.0" || raw == "" && !yes {
		return broken("its version is not 1")
	}
	tokens := root.Get("tokens")
	switch {
	case !tokens.Exists() || tokens.Kind() == jsonc.Null:
		return false, "", false
	case !deepTokens(tokens):
		return broken("it holds no valid token")
	}
	return true, "", false
}

// deepTokens tells whether tokens have the shape that the MCP SDK of Python accepts.
func deepTokens(v jsonc.Value) bool {
	if _, ok := v.Get("access_token").Str(); !ok {
		return false
	}
	if kind := v.Get("token_type"); kind.Exists() {
		if s, ok := kind.Str(); !ok || !strings.EqualFold(s, "bearer") {
			return false
		}
	}
	for _, key := range []string{"scope", "refresh_token"} {
		if x := v.Get(key); x.Exists() && x.Kind() != jsonc.Null && x.Kind() != jsonc.String {
			return false
		}
	}
	switch x := v.Get("expires_in"); x.Kind() {
	case jsonc.Array, jsonc.Object:
		return false
	case jsonc.Number, jsonc.String:
		text, isText := x.Str()
		if !isText {
			text, _ = x.Number()
		}
		n, err := strconv.ParseFloat(pythonStrip(text), 64)
		return err == nil && n == math.Trunc(n)
	}
	return true
}

// capabilities says what can be done with a cell, or why not.
func (d *deepagents) capabilities(out *model.Cell, n *deepNamed) model.Capabilities {
	caps := model.Capabilities{Toggle: d.switchRefused(out, n), Approve: d.approvalRefused(out, n), Login: "not needed"}
	if out.Definition != nil && out.Definition.Transport.Remote() {
		e, _ := n.winner()
		_, own := deepAuthorization(jsonc.Value{})
		if e != nil {
			_, own = deepAuthorization(e.value)
		}
		switch {
		case own:
			caps.Login = "not needed, it has an Authorization header"
		case out.Scope == model.ScopePlugin:
			caps.Login = "dcode does not sign in to servers of plugins"
		default:
			caps.Login = ""
		}
	}
	return caps
}

// switchRefused says why disabled_servers of config.toml is not written; "" when it is.
func (d *deepagents) switchRefused(out *model.Cell, n *deepNamed) string {
	e, _ := n.winner()
	switch {
	case !d.config.OK() && d.config.Status != model.FileAbsent:
		return d.tilde(d.config.Path) + " cannot be read: mend it first"
	case d.broken != nil:
		return "nothing loads: mend what breaks it first"
	case out.Reason.Code == model.ReasonRejected:
		return "it is rejected, not switched off: approve it"
	case out.Reason.Code == model.ReasonBlockedByPolicy:
		return "an administrator's file keeps it off"
	case out.Decision == model.DecisionWaits:
		return "it waits for an approval, and the switch counts only after that"
	case e == nil:
		return "the entry does not load: mend it first"
	case e.fault != "":
		return "the entry is invalid, and with it on nothing would load: mend it first"
	case out.Name == "":
		return "a server without a name cannot be switched off"
	}
	return ""
}

// approvalRefused says why no approval is written; "" when one is.
func (d *deepagents) approvalRefused(out *model.Cell, n *deepNamed) string {
	reason, scope := out.Reason, out.Scope
	project := n.project != nil && scope == model.ScopeProject
	if n.project != nil && !n.kept {
		for _, b := range n.barred {
			if b.entry == n.project {
				reason, project = b.reason, true
			}
		}
	}
	switch {
	case d.broken != nil:
		return "nothing loads: mend what breaks it first"
	case scope == model.ScopePlugin && !project:
		if out.Reason.Code == model.ReasonRejected {
			return d.unrejectable(n.name)
		}
		return "not needed, enabling a plugin approves its servers"
	case !project:
		return fmt.Sprintf("not needed, %s scope", scope)
	case n.kept:
		return "approved already"
	case reason.Code == model.ReasonEntryInvalid || reason.Code == model.ReasonFileRefused:
		return "the entry is invalid: mend it first"
	case d.policy.fault != nil:
		return d.tilde(d.policy.faultFile.Path) + " cannot be followed: mend it first"
	case d.policy.replaced != nil:
		if _, approved, _ := d.approved(n.project); approved && d.unrejectable(n.name) == "" {
			break // only the user's own rejection stands before an administrator's approval
		}
		return "an administrator's list of approvals stands in the place of yours"
	case reason.Code == model.ReasonRejected || reason.Code == model.ReasonBlockedByPolicy:
		if why := d.unrejectable(n.name); why != "" {
			return why
		}
	}
	if e, _ := n.winner(); e != nil {
		if why, _, ok := d.unloadable(n.project); !ok {
			return "it would take the place of the one that loads, and not load itself: " + why.Text
		}
	}
	return ""
}

// unrejectable says why a rejection cannot be taken back in config.toml; "" when it can.
func (d *deepagents) unrejectable(name string) string {
	switch said := d.policy.rejected[name]; said.scope {
	case model.ScopeManaged:
		return "an administrator's file rejects it"
	case model.ScopeCustom:
		return "the variable " + deepRejectVariable + " rejects it"
	}
	return ""
}
