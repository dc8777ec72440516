package loaders

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"fusebox/loaders/jsonc"
	"fusebox/model"
)

// qwenKeys are the keys of an entry that Qwen Code 0.24.4 knows.
var qwenKeys = []string{"command", "args", "env", "cwd", "url", "httpUrl", "headers", "tcp", "type", "timeout", "discoveryTimeoutMs", "trust",
	"description", "includeTools", "excludeTools", "alwaysLoadTools", "oauth", "authProviderType", "targetAudience", "targetServiceAccount",
	"versionNegotiation", "scope", "extensionName"}

// build makes definition, fault and findings of an entry. httpUrl is streamable HTTP, url is SSE, command is stdio; type
// decides in .mcp.json only.
func (q *qwen) build(e *qwenEntry, x *qwenExtension) {
	fill := q.fillSession
	if e.mcpJSON {
		fill = same
	}
	if x != nil {
		fill = func(s string) string { return q.fillSession(q.hydrate(s, x)) }
	}
	text := func(v jsonc.Value) string {
		s, _ := v.Str()
		if x != nil {
			s = q.hydrate(s, x)
		}
		return s
	}
	fault := func(code model.ReasonCode, format string, args ...any) {
		if e.fault.Code == "" {
			e.fault = model.Reason{Code: code, DecidedBy: e.Source, Text: fmt.Sprintf(format, args...)}
		}
	}
	warn := func(code model.FindingCode, severity model.Severity, v jsonc.Value, format string, args ...any) {
		e.Findings = append(e.Findings, model.Finding{Code: code, Severity: severity, Line: v.Line(), Text: fmt.Sprintf(format, args...)})
	}
	v := e.value
	if v.Kind() != jsonc.Object {
		if e.mcpJSON {
			e.lost = true
			fault(model.ReasonEntrySkipped, "the entry is %s, not an object: Qwen Code skips it", typeWord(v))
			return
		}
		fault(model.ReasonEntryInvalid, "the entry is %s, not an object: it cannot be started", typeWord(v))
		warn(model.FindingPartialEntry, model.Warning, v, "the entry is %s, not an object: it cannot be started", typeWord(v))
		return
	}
	httpURL, url, command, typ := v.Get("httpUrl"), v.Get("url"), v.Get("command"), v.Get("type")
	kind, _ := typ.Str()
	if e.mcpJSON && kind == "http" && url.Kind() == jsonc.String && !truthy(command, same) && !truthy(httpURL, same) && !truthy(v.Get("tcp"), same) {
		httpURL, url = url, jsonc.Value{}
	}
	if e.plugin {
		switch kind {
		case "stdio":
		case "streamable-http":
			httpURL, url = url, jsonc.Value{}
		default:
			e.lost = true
			fault(model.ReasonEntrySkipped, "its type is neither stdio nor streamable-http: Qwen Code skips the entry of an agent plugin")
			return
		}
	}
	q.keyFindings(e, warn)
	d := &model.Definition{}
	var target jsonc.Value
	switch {
	case kind == "sdk":
		fault(model.ReasonEntryInvalid, "type sdk is for programs that embed Qwen Code: a session cannot start it")
		return
	case truthy(httpURL, fill):
		d.Transport, target = model.TransportHTTP, httpURL
		if truthy(url, fill) {
			warn(model.FindingConflictingKeys, model.Warning, url, "the url beside httpUrl is ignored")
		}
	case truthy(url, fill):
		d.Transport, target = model.TransportSSE, url
		if kind != "" && kind != "sse" {
			warn(model.FindingWrongType, model.Warning, typ, "a url is read as SSE whatever its type %s says: write httpUrl for streamable HTTP", quoted(kind))
		}
	case truthy(command, fill):
		d.Transport = model.TransportStdio
	default:
		why := "there is no command and no url"
		if truthy(v.Get("tcp"), fill) {
			why = "tcp has no transport in Qwen Code, and there is no command and no url"
		}
		fault(model.ReasonEntryInvalid, "%s: it cannot be started", why)
		warn(model.FindingPartialEntry, model.Warning, v, "%s: it cannot be started", why)
		return
	}
	e.Definition = d
	e.Filter = toolFilter(e.file, v, jsonc.Value{}, fill)
	if n, ok := positiveInteger(v.Get("discoveryTimeoutMs")); ok && n < int64(time.Duration(1<<62)/time.Millisecond) {
		d.StartTimeout = time.Duration(n) * time.Millisecond
	}
	if d.Transport.Remote() {
		if truthy(command, fill) {
			warn(model.FindingConflictingKeys, model.Warning, command, "the command beside a url is ignored")
		}
		if target.Kind() != jsonc.String {
			e.Definition = nil
			fault(model.ReasonEntryInvalid, "the url is %s, not a text: it cannot be reached", typeWord(target))
			return
		}
		d.URL = model.NewSecret(text(target))
		if s, _ := target.Str(); !hasScheme.MatchString(fill(s)) && !qwenVariable.MatchString(fill(s)) {
			fault(model.ReasonEntryInvalid, "the url is no URL: it has no scheme such as https")
		}
		d.Headers = q.pairs(v.Get("headers"), text)
	} else {
		if command.Kind() != jsonc.String {
			e.Definition = nil
			fault(model.ReasonEntryInvalid, "the command is %s, not a text: it cannot be started", typeWord(command))
			return
		}
		d.Command = text(command)
		switch args := v.Get("args"); {
		case args.Kind() == jsonc.Array:
			for _, a := range args.Elements() {
				arg := argumentText(a)
				if a.Kind() == jsonc.String {
					arg = text(a)
				}
				d.Args = append(d.Args, model.NewSecret(arg))
			}
		case truthy(args, fill):
			warn(model.FindingWrongType, model.Warning, args, "args is %s, not a list: qwen mcp list ends there", typeWord(args))
			fault(model.ReasonEntryInvalid, "args is %s, not a list: the command would start without arguments, env and folder", typeWord(args))
		}
		d.Env = q.pairs(v.Get("env"), text)
		q.folder(e, v.Get("cwd"), fill, text, fault)
	}
	q.variableFindings(e, x)
}

// folder reads cwd, which must exist.
func (q *qwen) folder(e *qwenEntry, cwd jsonc.Value, fill func(string) string, text func(jsonc.Value) string, fault func(model.ReasonCode, string, ...any)) {
	if !truthy(cwd, fill) {
		return
	}
	if cwd.Kind() != jsonc.String {
		fault(model.ReasonEntryInvalid, "cwd is %s, not a text: the server cannot be started", typeWord(cwd))
		return
	}
	e.Definition.Cwd = text(cwd)
	path, _ := cwd.Str()
	path = fill(path)
	if len(unsetQwen(path, func(string) (string, bool) { return "", false })) > 0 || strings.ContainsRune(path, 0) {
		return
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(q.cwd, path)
	}
	if !q.r.Exists(path) {
		fault(model.ReasonEntryInvalid, "its cwd does not exist: Qwen Code does not start it")
	}
}

// pairs reads env or headers; a value that is no text goes on as the text that JavaScript prints.
func (q *qwen) pairs(v jsonc.Value, text func(jsonc.Value) string) []model.Variable {
	var out []model.Variable
	for _, m := range v.Members() {
		if m.Shadowed {
			continue
		}
		value := argumentText(m.Value)
		if m.Value.Kind() == jsonc.String {
			value = text(m.Value)
		}
		out = append(out, model.Variable{Name: m.Key, Value: model.NewSecret(value)})
	}
	return out
}

// keyFindings names keys that mean nothing.
func (q *qwen) keyFindings(e *qwenEntry, warn func(model.FindingCode, model.Severity, jsonc.Value, string, ...any)) {
	for _, m := range e.value.Members() {
		switch {
		case m.Shadowed:
		case m.Key == "disabled" || m.Key == "enabled":
			warn(model.FindingUselessKey, model.Warning, m.Value, "%q in an entry means nothing to Qwen Code: its switch is mcp.excluded in a settings file", m.Key)
		case m.Key == "tcp":
			warn(model.FindingUselessKey, model.Warning, m.Value, "tcp has no transport in Qwen Code")
		case (m.Key == "scope" || m.Key == "extensionName") && e.gated():
			warn(model.FindingUselessKey, model.Info, m.Value, "%s in an entry is overwritten: it cannot talk the approval away", m.Key)
		case !slices.Contains(qwenKeys, m.Key) && !e.mcpJSON:
			warn(model.FindingUnknownKey, model.Info, m.Value, "Qwen Code does not know the key %s", quotedKey(m.Key))
		}
	}
}

// variableFindings names the references that stay as written.
func (q *qwen) variableFindings(e *qwenEntry, x *qwenExtension) {
	if e.plain || e.Definition == nil {
		return
	}
	var names []string
	for _, text := range definitionTexts(e.Definition) {
		lookup := q.lookupSession
		if e.mcpJSON {
			lookup = func(string) (string, bool) { return "", false }
		}
		for _, name := range unsetQwen(text, lookup) {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	for _, name := range names {
		if e.mcpJSON {
			e.Findings = append(e.Findings, model.Finding{Code: model.FindingUnsetVariable, Severity: model.Warning,
				Text: "Qwen Code fills nothing in in .mcp.json: the reference to " + quotedVariable(name) + " is passed on as it stands"})
			continue
		}
		name, _, hasDefault := strings.Cut(name, ":-")
		if hasDefault {
			e.Findings = append(e.Findings, model.Finding{Code: model.FindingUnsetVariable, Severity: model.Warning,
				Text: "Qwen Code knows no default for a variable: the reference to " + quotedVariable(name) + " is passed on as it stands"})
			continue
		}
		e.Findings = append(e.Findings, unsetFinding(name, "the text stays as written", 0))
	}
}

// qwenServer is one name over all layers.
type qwenServer struct {
	entry   *qwenEntry
	below   []model.Replaced
	pending []model.Pending
}

// assemble joins all files: one name, one whole entry, lowest to highest system defaults, user, .mcp.json, project, system,
// and extensions where nobody else has the name. project tells whether the project's settings count.
func (q *qwen) assemble(project bool) (map[string]*qwenServer, []string) {
	servers := map[string]*qwenServer{}
	var order []string
	var lost []qwenEntry
	put := func(e qwenEntry) {
		if e.lost {
			lost = append(lost, e)
			return
		}
		s := servers[e.Name]
		if s == nil {
			s = &qwenServer{}
			servers[e.Name] = s
			order = append(order, e.Name)
		} else {
			s.below = append([]model.Replaced{{Scope: s.entry.Scope, Source: s.entry.Source}}, s.below...)
		}
		s.entry = &e
	}
	layer := func(l qwenLayer) {
		f := l.file
		if f.Status == model.FileMalformed && f.JSON == nil {
			f = q.r.Recover(f)
		}
		v := f.Root().Get("mcpServers")
		if f.OK() && v.Exists() && !truthy(v, q.fillSession) {
			for name, s := range servers { // null and the like hide the settings files below, not .mcp.json
				if s.entry.mcpJSON {
					continue
				}
				delete(servers, name)
				order = slices.DeleteFunc(order, func(n string) bool { return n == name })
			}
		}
		for _, e := range q.entries(f, v, l.scope, nil) {
			if !f.OK() && l.scope == model.ScopeProject && q.broken == nil {
				e.lost = true
				e.fault = model.Reason{Code: model.ReasonFileRefused, DecidedBy: l.file.Location(),
					Text: q.tilde(l.file.Path) + " is broken: Qwen Code replaces it by {} at its next start"}
			}
			put(e)
		}
	}
	mcpJSON := func() {
		f := q.mcpJSON
		if f.Status == model.FileMalformed {
			from := f
			if f.JSON == nil {
				from = q.r.Recover(f)
			}
			for _, e := range q.entries(from, from.Root().Get("mcpServers"), model.ScopeProject, nil) {
				e.lost = true
				e.fault = model.Reason{Code: model.ReasonFileRefused, DecidedBy: f.Location(), Text: q.tilde(f.Path) + " is dropped as a whole: " + f.Note}
				put(e)
			}
			return
		}
		for _, e := range q.entries(f, f.Root().Get("mcpServers"), model.ScopeProject, nil) {
			put(e)
		}
	}
	read := false
	for _, l := range q.layers {
		if !read && (l.scope == model.ScopeProject || l.scope == model.ScopeSystem) {
			mcpJSON()
			read = true
		}
		if l.scope != model.ScopeProject || project {
			layer(l)
		}
	}
	if !read {
		mcpJSON()
	}
	order = q.addCommand(servers, order, project)
	for pass := range 2 { // extensions that are off come last
		for i := range q.extensions {
			if x := &q.extensions[i]; x.active == (pass == 0) {
				for _, e := range x.entries {
					e.extension = x
					if s := servers[e.Name]; s != nil && !e.lost {
						s.below = append(s.below, model.Replaced{Scope: e.Scope, Source: e.Source})
						continue
					}
					put(e)
				}
			}
		}
	}
	for i := range lost {
		e := &lost[i]
		if s := servers[e.Name]; s != nil {
			s.pending = append(s.pending, model.Pending{Entry: e.Entry, State: model.StateError, Reason: e.fault})
			continue
		}
		servers[e.Name] = &qwenServer{entry: e}
		order = append(order, e.Name)
	}
	return servers, order
}

// addCommand adds the server of mcp.serverCommand: it is called mcp, replaces one of that name, and needs no approval.
func (q *qwen) addCommand(servers map[string]*qwenServer, order []string, project bool) []string {
	var value jsonc.Value
	var layer qwenLayer
	for _, l := range q.layers {
		if v, said := l.setting("mcp", "serverCommand"); said && l.file.OK() && (l.scope != model.ScopeProject || project) {
			value, layer = v, l
		}
	}
	line, ok := value.Str()
	if !ok || q.fillSession(line) == "" {
		return order
	}
	at := layer.file.At("mcp.serverCommand", value)
	e := &qwenEntry{Entry: model.Entry{Name: "mcp", Scope: layer.scope, Source: at}, file: layer.file}
	words, ok := shellWords(line)
	switch {
	case !ok:
		e.fault = model.Reason{Code: model.ReasonEntryInvalid, DecidedBy: at, Text: "mcp.serverCommand holds shell syntax: a session cannot read it and starts no server at all"}
		q.allOff = &model.Reason{Code: model.ReasonFileRefused, DecidedBy: at, Text: "mcp.serverCommand cannot be read: a session starts no server at all"}
	case len(words) == 0:
		e.fault = model.Reason{Code: model.ReasonEntryInvalid, DecidedBy: at, Text: "mcp.serverCommand names no command"}
	default:
		e.Definition = &model.Definition{Transport: model.TransportStdio, Command: words[0], Args: model.Secrets(words[1:])}
		for _, name := range unsetQwen(line, q.lookupSession) {
			e.Findings = append(e.Findings, unsetFinding(name, "an empty text takes its place", at.Line))
		}
	}
	e.Findings = append(e.Findings, model.Finding{Code: model.FindingListingDiffers, Severity: model.Info,
		Text: "mcp.serverCommand gives a session this server; qwen mcp list does not show it"})
	if layer.scope == model.ScopeProject {
		e.Findings = append(e.Findings, model.Finding{Code: model.FindingGateOpenedByProject, Severity: model.Warning,
			Text: fmt.Sprintf("a file of the repository itself starts this server without an approval: %s:%d", q.tilde(at.Path), at.Line)})
	}
	s := servers["mcp"]
	if s == nil {
		s = &qwenServer{}
		servers["mcp"] = s
		order = append(order, "mcp")
	} else {
		s.below = append([]model.Replaced{{Scope: s.entry.Scope, Source: s.entry.Source}}, s.below...)
	}
	s.entry = e
	return order
}

// cells decides about every server.
func (q *qwen) cells() []*model.Cell {
	servers, order := q.assemble(q.trust.trusted)
	q.nullEntries()
	if !q.trust.trusted { // what the folder would give once it is trusted
		all, names := q.assemble(true)
		for _, name := range order {
			if all[name] == nil {
				all[name] = servers[name]
				names = append(names, name)
			}
		}
		servers, order = all, names
	}
	cells := make([]*model.Cell, 0, len(order))
	q.decided = make(map[string]*qwenEntry, len(order))
	for _, name := range order {
		q.decided[name] = servers[name].entry
		cells = append(cells, q.decide(servers[name]))
	}
	return cells
}

// nullEntries finds an entry of the settings that ends every command that loads servers: null, unless a higher settings
// file gives another; project and system files turn theirs into an empty entry.
func (q *qwen) nullEntries() {
	last := map[string]qwenLayer{}
	for _, l := range q.layers {
		v := l.root.Get("mcpServers")
		if !q.counts(l) || !v.Exists() {
			continue
		}
		if !truthy(v, q.fillSession) {
			clear(last)
		}
		for _, m := range v.Members() {
			last[m.Key] = l
		}
	}
	for _, l := range q.layers {
		if l.scope != model.ScopeUser && l.scope != model.ScopeSystemDefaults {
			continue
		}
		for _, m := range l.root.Get("mcpServers").Members() {
			if !m.Shadowed && m.Value.Kind() == jsonc.Null && last[m.Key].file == l.file && l.file.OK() {
				at := l.file.Member("mcpServers."+JoinKey(m.Key), m)
				q.r.Refuse(l.file, at, "the entry "+quoted(m.Key)+" is null")
				q.fail(at, "the entry %s in %s:%d is null: every command of Qwen Code that loads servers ends", quoted(m.Key), q.tilde(at.Path), at.Line)
			}
		}
	}
}

// decide makes the cell of a server. Order of a session: trust of the folder, allowed, excluded, extension switch,
// approval. What is off stays off in an untrusted folder, and an entry that cannot be started matters once it may start.
func (q *qwen) decide(s *qwenServer) *model.Cell {
	e := s.entry
	out := cell(e.Entry, model.DecisionLoads, model.Reason{})
	out.Findings = slices.Clip(out.Findings)
	out.Replaces, out.Pending = s.below, s.pending
	switch off, reason, listing := q.switchedOff(e); {
	case q.broken != nil:
		out.Decision = model.DecisionCannot
		out.Reason = model.Reason{Code: model.ReasonFileRefused, DecidedBy: q.broken.Location, Text: q.broken.Text}
	case e.lost:
		out.Decision, out.Reason = model.DecisionCannot, e.fault
	case q.allOff != nil && q.allOff.Code == model.ReasonFileRefused:
		out.Decision, out.Reason = model.DecisionCannot, *q.allOff
	case q.allOff != nil:
		out.Decision, out.Reason = model.DecisionOff, *q.allOff
	case off:
		out.Decision, out.Reason = model.DecisionOff, reason
		if listing != "" {
			out.Findings = append(out.Findings, model.Finding{Code: model.FindingListingDiffers, Severity: model.Info, Text: listing})
		}
	default:
		q.consent(e, out)
	}
	for _, l := range []qwenList{q.allowed, q.excluded} {
		if !l.bad.IsZero() && out.Decision == model.DecisionLoads {
			out.Findings = append(out.Findings, model.Finding{Code: model.FindingListingDiffers, Severity: model.Warning,
				Text: fmt.Sprintf("%s in %s:%d: qwen mcp list works, but every session ends at its start", l.why, q.tilde(l.bad.Path), l.bad.Line)})
		}
	}
	out.Capabilities = q.capabilities(out, e)
	return out
}

// consent lays trust, approval and the gate over a server that nothing switches off.
func (q *qwen) consent(e *qwenEntry, out *model.Cell) {
	asks := e.gated() && e.value.Exists() // the server of mcp.serverCommand is never asked about
	decision, reason, findings := model.DecisionLoads, model.Reason{}, []model.Finding(nil)
	if asks {
		decision, reason, findings = q.approval(e)
	}
	if asks && decision == model.DecisionLoads {
		_, _, out.Consent, _ = q.record(e.Name)
	}
	opened := q.gate.open && decision != model.DecisionLoads
	if opened {
		decision, reason = model.DecisionLoads, model.Reason{}
		findings = append(findings, q.gateFindings()...)
	}
	out.Findings = append(out.Findings, findings...)
	switch {
	case decision == model.DecisionOff:
		out.Decision, out.Reason = decision, reason
	case !q.trust.trusted:
		out.Decision = model.DecisionWaits
		text := "in a folder that is not trusted Qwen Code starts no server"
		if !e.gated() {
			text += ", this user's own included"
		} else if decision == model.DecisionWaits {
			text += ", and this one needs an approval besides"
		}
		out.Reason = model.Reason{Code: model.ReasonUntrustedFolder, DecidedBy: q.trust.at, Text: text + "; " + q.trust.why}
		if e.mcpJSON && decision == model.DecisionLoads || !e.gated() && e.value.Exists() {
			out.Findings = append(out.Findings, model.Finding{Code: model.FindingListingDiffers, Severity: model.Info,
				Text: "qwen mcp list starts it in an untrusted folder, too; a session does not"})
		}
	case decision == model.DecisionWaits:
		out.Decision, out.Reason = decision, reason
	case e.fault.Code != "":
		out.Decision, out.Reason = model.DecisionCannot, e.fault
	}
}

// gateFindings say who opened the gate.
func (q *qwen) gateFindings() []model.Finding {
	at := q.gate.at
	if q.gate.scope == model.ScopeProject {
		return []model.Finding{{Code: model.FindingGateOpenedByProject, Severity: model.Warning,
			Text: fmt.Sprintf("tools.approvalMode yolo in a file of the repository itself starts this server without an approval: %s:%d", q.tilde(at.Path), at.Line)}}
	}
	return []model.Finding{repositoryFinding(), {Code: model.FindingListingDiffers, Severity: model.Warning,
		Text: fmt.Sprintf("tools.approvalMode yolo in %s:%d starts this server without an approval; qwen mcp list shows the stored state", q.tilde(at.Path), at.Line)}}
}

// switchedOff applies the lists and the switches of extensions. listing is what qwen mcp list does instead.
func (q *qwen) switchedOff(e *qwenEntry) (off bool, reason model.Reason, listing string) {
	ignores := "qwen mcp list knows no lists: it starts this server; a session does not"
	command := !e.value.Exists() // the server of mcp.serverCommand is added after mcp.allowed, and never listed
	if command {
		ignores = ""
	}
	if q.allowed.given && !command && q.allowed.match(e.Name) == nil {
		at, scope := q.allowedAt()
		return true, model.Reason{Code: geminiBlockCode(scope), DecidedBy: at,
			Text: "mcp.allowed does not name " + quoted(e.Name)}, ignores
	}
	if p := q.excluded.match(e.Name); p != nil {
		reason := model.Reason{Code: geminiBlockCode(p.scope), DecidedBy: p.at,
			Text: fmt.Sprintf("mcp.excluded of %s names it", q.tilde(p.at.Path))}
		switch {
		case p.text != e.Name:
			reason.Text = fmt.Sprintf("a pattern of mcp.excluded in %s names it", q.tilde(p.at.Path))
		case p.scope == model.ScopeUser || p.scope == model.ScopeProject:
			reason.Code = model.ReasonSwitchedOff
		}
		return true, reason, ignores
	}
	if x := e.extension; x != nil {
		if !x.active {
			return true, model.Reason{Code: model.ReasonSwitchedOff, DecidedBy: x.offAt,
				Text: fmt.Sprintf("its extension %s is switched off for this folder", quoted(x.name))}, ""
		}
		if at, off := q.serverOff(x.name, e.Name); off {
			return true, model.Reason{Code: model.ReasonSwitchedOff, DecidedBy: at,
				Text: "switched off in " + q.tilde(at.Path)}, "qwen mcp list knows no switch of extension servers: it starts this one; a session does not"
		}
	}
	return false, model.Reason{}, ""
}

// allowedAt is the list that an allowed name would have to be in: that of the highest file.
func (q *qwen) allowedAt() (model.Location, model.Scope) {
	var at model.Location
	scope := model.ScopeUser
	for _, l := range q.layers {
		if v, said := l.setting("mcp", "allowed"); said && q.counts(l) && v.Kind() == jsonc.Array {
			at, scope = l.file.At("mcp.allowed", v), l.scope
		}
	}
	return at, scope
}

// capabilities says what can be done with a cell, or why not.
func (q *qwen) capabilities(out *model.Cell, e *qwenEntry) model.Capabilities {
	caps := model.Capabilities{Login: "not needed"}
	if out.Definition != nil && out.Definition.Transport.Remote() {
		caps.Login = ""
	}
	if out.Decision == model.DecisionCannot {
		caps.Toggle, caps.Approve = "the entry does not load: mend it first", "the entry does not load: mend it first"
		return caps
	}
	if q.allOff != nil {
		caps.Toggle = "a setting keeps every server out: e opens it"
		caps.Approve = caps.Toggle
		return caps
	}
	caps.Toggle, caps.Approve = q.switchRefused(out, e), q.consentRefused(out, e)
	return caps
}

// strayFiles notes files that look right and are not read.
func (q *qwen) strayFiles() {
	stray := func(path string, scope model.Scope, instead string) {
		if q.r.Ignored(path, scope, "not read by Qwen Code") {
			q.note(string(model.FindingFileNotRead), path, 1, "%s is not read by Qwen Code: %s", q.tilde(path), instead)
		}
	}
	settings := q.tilde(filepath.Join(q.dir, "settings.json"))
	stray(q.env.InProject(".qwen/mcp.json"), model.ScopeProject, "servers belong into .mcp.json or .qwen/settings.json")
	stray(q.env.InProject(".qwen/.mcp.json"), model.ScopeProject, "servers belong into .mcp.json or .qwen/settings.json")
	stray(q.env.InProject(".qwen/settings.local.json"), model.ScopeProject, "there is no local settings file")
	stray(filepath.Join(q.dir, "mcp.json"), model.ScopeUser, "servers belong into "+settings)
	if user := q.env.InHome(".qwen"); user != q.dir {
		stray(filepath.Join(user, "settings.json"), model.ScopeUser, "QWEN_HOME names another settings folder")
	}
	home := q.r.RealPath(q.env.Home)
	if q.cwd == home {
		return
	}
	for _, dir := range Ancestors(q.cwd)[1:] {
		if dir == home || dir == q.env.Home || filepath.Dir(dir) == dir {
			return
		}
		stray(filepath.Join(dir, ".mcp.json"), model.ScopeProject, "only the folder that a session starts in counts")
		stray(filepath.Join(dir, ".qwen", "settings.json"), model.ScopeProject, "only the folder that a session starts in counts")
	}
}

// layerNotes notes keys of settings files that look right and mean nothing.
func (q *qwen) layerNotes() {
	for _, l := range q.layers {
		if !l.file.OK() {
			continue
		}
		path := l.file.Path
		for right, old := range qwenLegacyKeys {
			if v := l.root.Get(old); v.Exists() && !l.legacy {
				q.note(string(model.FindingWrongKey), path, v.Line(), "%q in %s is ignored in a file of this $version: write %q", old, q.tilde(path), right)
			}
		}
		for _, wrong := range []string{"servers", "mcp_servers"} {
			if v := l.root.Get(wrong); v.Exists() {
				q.note(string(model.FindingWrongKey), path, v.Line(), `%q in %s is not read by Qwen Code: it reads "mcpServers"`, wrong, q.tilde(path))
			}
		}
		if v := l.root.Lookup("mcp", "servers"); v.Exists() {
			q.note(string(model.FindingWrongKey), path, v.Line(), `"mcp.servers" in %s is not read by Qwen Code: it reads "mcpServers"`, q.tilde(path))
		}
		switch v := l.root.Get("mcpServers"); v.Kind() {
		case jsonc.Invalid, jsonc.Object:
		case jsonc.Array:
			q.note(string(model.FindingWrongType), path, v.Line(), "mcpServers of %s is a list: Qwen Code takes the positions as names", q.tilde(path))
		default:
			q.note(string(model.FindingWrongType), path, v.Line(), "mcpServers of %s is %s, not an object", q.tilde(path), typeWord(v))
		}
		if l.scope == model.ScopeProject {
			if v, said := l.setting("security", "folderTrust", "enabled"); said && v.Exists() && !truthy(v, q.fillListing) {
				q.note(string(model.FindingUselessKey), path, v.Line(), "a project file cannot switch folder trust off: the line is ignored")
			}
		}
	}
	// Old keys come in no order.
	slices.SortStableFunc(q.notes, func(a, b model.Note) int {
		return cmp.Or(strings.Compare(a.Path, b.Path), cmp.Compare(a.Line, b.Line), strings.Compare(a.Text, b.Text))
	})
}

// inheritQwen is the environment of a session without the harness's own secrets.
func inheritQwen(env *Env, _ *model.Entry) map[string]string {
	q := launchedQwen(env)
	out := map[string]string{}
	for name := range env.Vars {
		out[name], _ = q.lookupSession(name)
	}
	for name := range q.session {
		out[name], _ = q.lookupSession(name)
	}
	for _, secret := range qwenNeverFilled[2:] {
		delete(out, secret)
	}
	return out
}

// launchedQwen reads what a launch needs besides the definition: trust, and what a session's environment has.
func launchedQwen(env *Env) *qwen {
	q := newQwen(env, NewReader(env, NewCache()))
	q.readSettings()
	q.decideTrust()
	q.readVariables()
	return q
}

// fillQwenText fills a text of a definition in; nothing is filled in in .mcp.json.
func fillQwenText(env *Env, e *model.Entry, _ TextPart, text string) (string, []string) {
	if !strings.Contains(text, "$") || e.Scope == model.ScopeProject && filepath.Base(e.Source.Path) == ".mcp.json" {
		return text, nil
	}
	q := launchedQwen(env)
	return q.fillSession(text), unsetQwen(text, q.lookupSession)
}

// qwenToolName is mcp__SERVER__TOOL; a name that is too long or holds other characters ends in a hash of itself.
func qwenToolName(server, tool string) string {
	name := "mcp__" + server + "__" + tool
	units := jsUnits(name)
	clean := foldName(name)
	if len(units) <= 63 && clean == name {
		return name
	}
	hash := uint32(2166136261)
	var normal strings.Builder
	for _, u := range units {
		hash = (hash ^ uint32(u)) * 16777619
		if u < 0x80 && foldName(string(rune(u))) == string(rune(u)) {
			normal.WriteByte(byte(u))
		} else {
			normal.WriteByte('_')
		}
	}
	suffix := "_" + padLeft(base36(hash), 7)
	kept := normal.String()
	return kept[:min(len(kept), 63-len(suffix))] + suffix
}

func base36(n uint32) string {
	const digits = "0123456789abcdefghijklmnopqrstuvwxyz"
	if n == 0 {
		return "0"
	}
	var out []byte
	for ; n > 0; n /= 36 {
		out = append([]byte{digits[n%36]}, out...)
	}
	return string(out)
}

func padLeft(s string, width int) string { return strings.Repeat("0", max(0, width-len(s))) + s }
