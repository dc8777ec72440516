package loaders

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"fusebox/loaders/jsonc"
	"fusebox/model"
)

// servers.json of the MCP combiner: what its loader takes, what it refuses, and which entries it cannot build. Observed on
// the loading code of 0.13.3; how a connection is built was read in its source.

// combinerServers is what one servers.json holds.
type combinerServers struct {
	key     string // "servers" or "mcpServers"
	entries []combinerEntry
	fault   *combinerFault // nothing of the file counts
	notes   []model.Note
}

// combinerFault is what the whole file, or the start, fails on.
type combinerFault struct {
	at  model.Location
	why string
}

// combinerEntry is one server of the file.
type combinerEntry struct {
	model.Entry
	off     *model.Reason  // its own disabled is on
	fault   *model.Reason  // it loads, but nothing can be mounted
	process *combinerShare // the shared process that it names
}

// combinerShare is an entry's reference to a process of sharedServers.
type combinerShare struct {
	name    string
	line    int
	defined bool
}

// orphan tells whether the entry names a process that is not defined.
func (e *combinerEntry) orphan() bool { return e.process != nil && !e.process.defined }

// combinerFile reads a parsed file. One that is no object still gives no names.
func combinerFile(env *Env, f *ConfigFile) *combinerServers {
	return Memo(f, fmt.Sprintf("combiner/%s/%t", f.Scope, f.OK()), func() *combinerServers {
		s := &combinerServers{key: "mcpServers"}
		root := f.Root()
		if root.Kind() != jsonc.Object {
			s.refuse(f.At("", root), "the top level is %s, not an object", typeWord(root))
			return s
		}
		if root.Get("servers").Exists() {
			s.key = "servers"
		}
		x := &combinerReader{env: env, file: f, out: s, shared: root.Get("sharedServers"), policy: root.Get("permissions"), defined: map[string]bool{}}
		for _, m := range x.shared.Members() {
			x.defined[m.Key] = true
		}
		for i, key := range combinerPatterns {
			x.patterns[i] = len(pythonTexts(x.policy.Get(key)))
		}
		x.read(root)
		return s
	})
}

// refuse keeps the first fault.
func (s *combinerServers) refuse(at model.Location, format string, args ...any) {
	if s.fault == nil {
		s.fault = &combinerFault{at, fmt.Sprintf(format, args...)}
	}
}

// combinerReader reads the content of one file.
type combinerReader struct {
	env    *Env
	file   *ConfigFile
	out    *combinerServers
	shared jsonc.Value
	policy jsonc.Value // the permissions of all servers

	defined  map[string]bool // the processes of shared
	patterns [3]int          // how many patterns policy has, in the order of combinerPatterns
}

func (x *combinerReader) note(code string, line int, format string, args ...any) {
	x.out.notes = append(x.out.notes, model.Note{Code: code, Path: x.file.Path, Line: line, Text: fmt.Sprintf(format, args...)})
}

func (x *combinerReader) read(root jsonc.Value) {
	servers := root.Get(x.out.key)
	switch {
	case servers.Kind() == jsonc.Object:
		x.entries(servers)
	case servers.Exists():
		x.out.refuse(x.file.At(x.out.key, servers), "%s is %s, not an object", x.out.key, typeWord(servers))
	}
	x.topLevel(root)
	if x.out.fault == nil {
		x.sharedProcesses()
	}
	here := model.Tilde(x.file.Path, x.env.Home)
	if v := root.Get("mcpServers"); x.out.key == "servers" && v.Len() > 0 {
		x.note(string(model.FindingWrongKey), v.Line(), `%s has "mcpServers" beside "servers": the combiner reads "servers" alone`, here)
	}
	for _, key := range []string{"mcp", "mcp_servers", "context_servers", "mcp.servers"} {
		if v := root.Get(key); v.Kind() == jsonc.Object && v.Len() > 0 {
			x.note(string(model.FindingWrongKey), v.Line(), `%s has %q; the combiner reads "mcpServers"`, here, key)
		}
	}
}

func (x *combinerReader) entries(servers jsonc.Value) {
	members := servers.Members()
	twice := duplicates(members)
	x.out.entries = make([]combinerEntry, 0, len(members))
	for _, m := range members {
		if m.Shadowed {
			continue
		}
		e := x.entry(m)
		if _, ok := twice[m.Key]; ok {
			e.Findings = append(e.Findings, duplicateFinding(m.Key, m.Line()))
		}
		x.out.entries = append(x.out.entries, e)
	}
}

// topLevel checks the other keys that the loader reads; keys that it does not know say nothing.
func (x *combinerReader) topLevel(root jsonc.Value) {
	fault := func(key string, bad jsonc.Value, why string) {
		x.out.refuse(x.file.At(key, bad), "%s: %s", key, why)
	}
	if x.shared.Exists() && x.shared.Kind() != jsonc.Object {
		fault("sharedServers", x.shared, "it is "+typeWord(x.shared)+", not an object")
	}
	for _, m := range x.shared.Members() {
		if m.Shadowed {
			continue
		}
		bad, why := jsonc.Value{}, ""
		if m.Value.Kind() != jsonc.Object {
			bad, why = m.Value, "it is "+typeWord(m.Value)+", not an object"
		} else if bad, why = misfit(m.Value, combinerProcessShape); why == "" {
			if v := eitherTruthy(m.Value, "grace_period", "gracePeriod"); !isTextOrNull(v) {
				bad, why = v, "its grace period must be a text"
			}
			if v := m.Value.Get("health_timeout"); v.Exists() && !isPythonInt(v) {
				bad, why = v, "health_timeout must be a number"
			} else if v := m.Value.Get("healthTimeout"); !m.Value.Get("health_timeout").Exists() && v.Exists() && !isPythonInt(v) {
				bad, why = v, "healthTimeout must be a number"
			}
		}
		if why != "" {
			fault("sharedServers", bad, "process "+quoted(m.Key)+": "+why)
		}
	}
	if v := root.Get("oauth"); pythonTruthy(v) {
		if v.Kind() != jsonc.Object {
			fault("oauth", v, "it is "+typeWord(v)+", not an object")
		} else if dir := eitherTruthy(v, "token_dir", "tokenDir"); !isTextOrNull(dir) {
			fault("oauth", dir, "its token folder must be a text")
		}
	}
	if v := root.Get("isolation"); pythonTruthy(v) {
		if v.Kind() != jsonc.Object {
			fault("isolation", v, "it is "+typeWord(v)+", not an object")
		} else if bad, why := misfit(v, combinerIsolationShape); why != "" {
			fault("isolation", bad, why)
		}
	}
	if bad, why := policyMisfit(x.policy); why != "" {
		fault("permissions", bad, why)
	}
}

// sharedProcesses stops the start where an enabled entry names a process that is not defined, and notes who shares one.
func (x *combinerReader) sharedProcesses() {
	users := map[string][]string{}
	for i := range x.out.entries {
		e := &x.out.entries[i]
		if e.process == nil || e.off != nil {
			continue
		}
		name := e.process.name
		users[name] = append(users[name], quoted(e.Name))
		if e.orphan() {
			at := e.Source
			at.Line = max(at.Line, e.process.line)
			const why = "names the process %s, which sharedServers does not define: the combiner does not start"
			e.fault = &model.Reason{Code: model.ReasonEntryInvalid, DecidedBy: at, Text: fmt.Sprintf("it "+why, quoted(name))}
			x.out.refuse(at, "server %s "+why, quoted(e.Name), quoted(name))
		}
	}
	for _, m := range x.shared.Members() {
		if m.Shadowed {
			continue
		}
		text := "no server that is on uses it"
		if names := users[m.Key]; len(names) > 0 {
			text = "the combiner starts it for " + someNames(names)
		}
		x.note("shared-process", m.Line(), "process %s of sharedServers: %s", quoted(m.Key), text)
		x.processNotes(m)
		if len(x.out.notes) > 50 {
			break
		}
	}
}

// processNotes name keys of a process that the loader does not know, and variables without a value.
func (x *combinerReader) processNotes(m jsonc.Member) {
	var unknown []string
	for _, k := range m.Value.Members() {
		if !k.Shadowed && !slices.Contains(combinerProcessKeys, k.Key) {
			unknown = append(unknown, quotedKey(k.Key))
		}
	}
	if len(unknown) > 0 {
		x.note(string(model.FindingUnknownKey), m.Line(), "process %s of sharedServers: not known to the combiner: %s", quoted(m.Key), someNames(unknown))
	}
	command, _ := m.Value.Get("command").Str()
	texts, _ := m.Value.Get("args").Strings()
	texts = append([]string{command}, texts...)
	for _, k := range m.Value.Get("env").Members() {
		if !k.Shadowed {
			texts = append(texts, pythonStr(k.Value))
		}
	}
	if names := x.unset(texts); len(names) > 0 {
		for i, name := range names {
			names[i] = quotedVariable(name)
		}
		x.note(string(model.FindingUnsetVariable), m.Line(), "process %s of sharedServers: %s is not set here: the combiner leaves nothing in its place", quoted(m.Key), someNames(names))
	}
}

// process is the shared process that an entry names. An empty shared_server names one, an empty sharedServer does not.
func (x *combinerReader) process(v jsonc.Value) *combinerShare {
	ref := eitherTruthy(v, "sharedServer", "shared_server")
	name, ok := ref.Str()
	if !ok {
		return nil
	}
	return &combinerShare{name, ref.Line(), x.defined[name]}
}

// combinerEntryShape are the keys whose wrong value takes the whole file down.
var combinerEntryShape = []valueCheck{
	{"command", false, "a text", isTextOrNull},
	{"args", false, "a list of texts", isTextList},
	{"env", false, "an object", isObjectOrFalsy},
	{"transport", false, "stdio, http or sse", func(v jsonc.Value) bool {
		return v.Kind() == jsonc.Null || isWord("stdio", "http", "sse")(v)
	}},
	{"url", false, "a text", isTextOrNull},
	{"headers", false, "an object of texts", isTextMap},
	{"disabled", false, "true or false", isPydanticBool},
	{"autoApprove", false, "true, false or a list of texts", func(v jsonc.Value) bool {
		return v.Kind() == jsonc.Bool || v.Kind() == jsonc.Null || isPythonTexts(v)
	}},
	{"auth", false, "a text or an object", func(v jsonc.Value) bool { return isTextOrNull(v) || v.Kind() == jsonc.Object }},
}

// combinerProcessKeys are the keys of a process that the loader knows.
var combinerProcessKeys = []string{"command", "args", "env", "grace_period", "gracePeriod", "health_timeout", "healthTimeout"}

// combinerProcessShape are the keys of a process of sharedServers.
var combinerProcessShape = []valueCheck{
	{"command", true, "a text", isText},
	{"args", false, "a list of texts", isTextList},
	{"env", false, "an object", isObjectOrFalsy},
}

var combinerIsolationShape = []valueCheck{
	{"grace_seconds", false, "a number", isPythonFloat},
	{"park_ttl_seconds", false, "a number", isPythonFloat},
}

func isTextOrNull(v jsonc.Value) bool { return !v.Exists() || v.Kind() == jsonc.Null || isText(v) }

func isObjectOrFalsy(v jsonc.Value) bool { return !pythonTruthy(v) || v.Kind() == jsonc.Object }

// isPythonTexts tells whether list(v) holds nothing but texts: a text gives its characters, an object its keys.
func isPythonTexts(v jsonc.Value) bool {
	return isText(v) || v.Kind() == jsonc.Object || isTextList(v)
}

func isPythonFloat(v jsonc.Value) bool {
	if s, ok := v.Str(); ok {
		_, err := strconv.ParseFloat(strings.TrimSpace(s), 64)
		return err == nil
	}
	return v.Kind() == jsonc.Number || v.Kind() == jsonc.Bool
}

func isPythonInt(v jsonc.Value) bool {
	if s, ok := v.Str(); ok {
		_, err := strconv.ParseInt(strings.TrimSpace(s), 10, 64)
		return err == nil
	}
	if raw, ok := v.Number(); ok {
		n, err := strconv.ParseFloat(raw, 64)
		return err == nil && !math.IsNaN(n) && !math.IsInf(n, 0)
	}
	return v.Kind() == jsonc.Bool
}

// pydanticBool reads a boolean as the loader does: 0, 1 and some words count too.
func pydanticBool(v jsonc.Value) (value, ok bool) {
	if b, ok := v.Bool(); ok {
		return b, true
	}
	if s, ok := v.Str(); ok {
		switch strings.ToLower(s) {
		case "1", "on", "t", "true", "y", "yes":
			return true, true
		case "0", "off", "f", "false", "n", "no":
			return false, true
		}
		return false, false
	}
	if raw, isNumber := v.Number(); isNumber {
		n, err := strconv.ParseFloat(raw, 64)
		return n == 1, err == nil && (n == 0 || n == 1)
	}
	return false, false
}

func isPydanticBool(v jsonc.Value) bool {
	_, ok := pydanticBool(v)
	return ok
}

// eitherTruthy is `v.get(a) or v.get(b)`.
func eitherTruthy(v jsonc.Value, a, b string) jsonc.Value {
	if x := v.Get(a); pythonTruthy(x) {
		return x
	}
	return v.Get(b)
}

// entryMisfit names the first value of an entry that takes the file down.
func entryMisfit(v jsonc.Value) (bad jsonc.Value, why string) {
	if v.Kind() != jsonc.Object {
		return v, "the entry is " + typeWord(v) + ", not an object"
	}
	if bad, why = misfit(v, combinerEntryShape); why != "" {
		return bad, why
	}
	if x := eitherTruthy(v, "sharedServer", "shared_server"); !isTextOrNull(x) {
		return x, "sharedServer must be a text"
	}
	if x := eitherTruthy(v, "toolFilter", "tool_filter"); pythonTruthy(x) && !isTextList(x) {
		return x, "toolFilter must be a list of texts"
	}
	if bad, why = policyMisfit(v.Get("permissions")); why != "" {
		return bad, "permissions: " + why
	}
	return jsonc.Value{}, ""
}

// combinerPatterns are the pattern lists of permissions.
var combinerPatterns = [...]string{"deny", "elicit", "allow"}

// policyMisfit checks a block of permissions.
func policyMisfit(v jsonc.Value) (bad jsonc.Value, why string) {
	if !pythonTruthy(v) {
		return jsonc.Value{}, ""
	}
	if v.Kind() != jsonc.Object {
		return v, "it is " + typeWord(v) + ", not an object"
	}
	actions := []string{"default", "elicitUnavailable"}
	if k := v.Get("elicitUnavailable").Kind(); k == jsonc.Invalid || k == jsonc.Null {
		actions[1] = "elicit_unavailable"
	}
	for _, key := range actions {
		if x := v.Get(key); x.Exists() && x.Kind() != jsonc.Null && !isWord("allow", "deny", "elicit")(x) {
			return x, key + " must be allow, deny or elicit"
		}
	}
	for _, key := range combinerPatterns {
		if x := v.Get(key); pythonTruthy(x) && !isPythonTexts(x) {
			return x, key + " must be a list of texts"
		}
	}
	return jsonc.Value{}, ""
}

// entry reads one server. What does not fit takes the file down; the rest is read all the same, to be shown.
func (x *combinerReader) entry(m jsonc.Member) combinerEntry {
	path := x.out.key + "." + JoinKey(m.Key)
	at := x.file.Member(path, m)
	e := combinerEntry{Entry: model.Entry{Name: m.Key, Scope: x.file.Scope, Source: at}}
	v := m.Value
	where := func(bad jsonc.Value) model.Location {
		if bad.Exists() {
			return model.Location{Path: at.Path, Key: at.Key, Line: bad.Line(), Column: bad.Column()}
		}
		return at
	}
	if bad, why := entryMisfit(v); why != "" {
		x.out.refuse(where(bad), "server %s: %s", quoted(m.Key), why)
	}
	if v.Kind() != jsonc.Object {
		return e
	}
	e.Definition = combinerDefinition(v)
	if list, ok := eitherTruthy(v, "toolFilter", "tool_filter").Strings(); ok && len(list) > 0 {
		filter := eitherTruthy(v, "toolFilter", "tool_filter")
		e.Filter = &model.ToolFilter{Limited: true, Allow: list, At: model.Location{Path: at.Path, Key: path + ".toolFilter", Line: filter.Line()}}
	}
	if off, _ := pydanticBool(v.Get("disabled")); off {
		by := where(v.Get("disabled"))
		by.Key += ".disabled"
		e.off = &model.Reason{Code: model.ReasonSwitchedOff, DecidedBy: by, Text: "disabled is on in its entry"}
	}
	if bad, why := unbuildable(v, e.Definition); why != "" {
		e.fault = &model.Reason{Code: model.ReasonEntryInvalid, DecidedBy: where(bad), Text: why}
	}
	e.process = x.process(v)
	x.findings(&e, v)
	return e
}

// combinerDefinition reads the transport part. The mere key url makes an entry http that says no transport.
func combinerDefinition(v jsonc.Value) *model.Definition {
	d := &model.Definition{Transport: model.TransportStdio}
	word, said := v.Get("transport").Str()
	switch {
	case word == "sse":
		d.Transport = model.TransportSSE
	case word == "stdio":
	case said || v.Get("url").Exists():
		d.Transport = model.TransportHTTP
	}
	if d.Transport.Remote() {
		u, _ := v.Get("url").Str()
		d.URL = model.NewSecret(u)
		d.Headers, _ = stringMap(v.Get("headers"))
		if token, ok := v.Get("auth").Get("bearer").Str(); ok {
			d.Headers = slices.DeleteFunc(d.Headers, func(h model.Variable) bool { return strings.EqualFold(h.Name, "Authorization") })
			d.Headers = append(d.Headers, model.Variable{Name: "Authorization", Value: model.NewSecret("Bearer " + combinerLiteral(token))})
		}
		return d
	}
	d.Command, _ = v.Get("command").Str()
	args, _ := v.Get("args").Strings()
	d.Args = model.Secrets(args)
	for _, m := range v.Get("env").Members() {
		if !m.Shadowed {
			d.Env = append(d.Env, model.Variable{Name: m.Key, Value: model.NewSecret(pythonStr(m.Value))})
		}
	}
	return d
}

// combinerLiteral spells a text that the combiner does not fill in so that filling in gives it back.
func combinerLiteral(text string) string { return strings.ReplaceAll(text, "${", "${:-$}{") }

// unbuildable says why an entry that the loader takes cannot be mounted or reached; "" when it can.
func unbuildable(v jsonc.Value, d *model.Definition) (bad jsonc.Value, why string) {
	u := v.Get("url")
	hasURL := pythonTruthy(u)
	switch {
	case d.Transport.Remote() && !hasURL:
		return u, "its transport is " + string(d.Transport) + ", and it has no url: the combiner cannot reach it"
	case !d.Transport.Remote() && !pythonTruthy(v.Get("command")) && u.Exists():
		return v.Get("transport"), "its transport is stdio, so the url is ignored, and it has no command: the combiner cannot mount it"
	case !d.Transport.Remote() && !pythonTruthy(v.Get("command")):
		return v.Get("command"), "it has neither command nor url: the combiner cannot mount it"
	}
	auth := v.Get("auth")
	const fails = ": opening the connection fails"
	switch text, isText := auth.Str(); {
	case !auth.Exists() || auth.Kind() == jsonc.Null:
		return jsonc.Value{}, ""
	case isText && text != "oauth":
		return auth, `auth must be "oauth", {"bearer": ...} or {"oauth": {...}}` + fails
	case isText && !hasURL:
		return auth, "auth is oauth, which needs a url" + fails
	case isText:
		return jsonc.Value{}, ""
	}
	bearer, oauth := auth.Get("bearer"), auth.Get("oauth")
	switch {
	case bearer.Exists() && bearer.Kind() != jsonc.String:
		return bearer, "auth.bearer must be a text" + fails
	case bearer.Exists():
		return jsonc.Value{}, ""
	case !oauth.Exists():
		return auth, "auth has neither bearer nor oauth" + fails
	case !hasURL:
		return oauth, "auth is oauth, which needs a url" + fails
	case oauth.Kind() != jsonc.Object:
		return oauth, "auth.oauth must be an object" + fails
	}
	return jsonc.Value{}, ""
}

// combinerKeys are the keys of an entry that the loader knows.
var combinerKeys = []string{"command", "args", "env", "transport", "url", "headers", "disabled", "autoApprove", "auth", "sharedServer",
	"shared_server", "toolFilter", "tool_filter", "permissions", "isolate"}

// combinerForeignKeys are keys of other harnesses that look as if they did something here.
var combinerForeignKeys = map[string]string{
	"type":          "the combiner reads transport: without it a url is reached as streamable HTTP",
	"enabled":       "the combiner's switch is disabled",
	"cwd":           "the combiner starts every server in its own folder",
	"alwaysAllow":   "the combiner reads autoApprove",
	"auto_approve":  "the combiner reads autoApprove",
	"timeout":       "the combiner has no such limit",
	"trust":         "the combiner has no trust",
	"disabledTools": "the combiner reads toolFilter, a list of what is let through",
}

func (x *combinerReader) findings(e *combinerEntry, v jsonc.Value) {
	add := func(code model.FindingCode, severity model.Severity, at jsonc.Value, format string, args ...any) {
		e.Findings = append(e.Findings, model.Finding{Code: code, Severity: severity, Line: at.Line(), Text: fmt.Sprintf(format, args...)})
	}
	warn := func(code model.FindingCode, at jsonc.Value, format string, args ...any) {
		add(code, model.Warning, at, format, args...)
	}
	var unknown []string
	var first jsonc.Value
	for _, m := range v.Members() {
		switch why, foreign := combinerForeignKeys[m.Key]; {
		case m.Shadowed || slices.Contains(combinerKeys, m.Key):
		case foreign:
			warn(model.FindingUselessKey, m.Value, "%s is not read: %s", m.Key, why)
		default:
			if len(unknown) == 0 {
				first = m.Value
			}
			unknown = append(unknown, quotedKey(m.Key))
		}
	}
	if len(unknown) > 0 {
		warn(model.FindingUnknownKey, first, "not known to the combiner: %s", someNames(unknown))
	}
	remote := e.Definition.Transport.Remote()
	switch {
	case remote && v.Get("command").Exists():
		warn(model.FindingConflictingKeys, v.Get("command"), "the command of a remote entry is ignored")
	case !remote && v.Get("url").Exists():
		warn(model.FindingConflictingKeys, v.Get("url"), "the url is ignored: the transport is stdio")
	}
	if iso := v.Get("isolate"); !remote && pythonTruthy(iso) {
		warn(model.FindingUselessKey, iso, "isolate does nothing here: a stdio server has one session for all chats")
	}
	if list := v.Get("autoApprove"); isText(list) {
		warn(model.FindingWrongType, list, "autoApprove is a text: the combiner takes each of its characters as a pattern")
	}
	x.policyFindings(e, v.Get("permissions"), warn)
	x.gateFinding(e, v)
	if p := e.process; p != nil {
		at := eitherTruthy(v, "sharedServer", "shared_server")
		if p.defined {
			add(model.FindingSharedProcess, model.Info, at, "the combiner starts the process %s of sharedServers before it reaches the server", quoted(p.name))
		} else {
			warn(model.FindingPartialEntry, at, "sharedServers defines no process %s: the combiner does not start while this server is on", quoted(p.name))
		}
	}
	x.authFindings(v.Get("auth"), remote, warn)
	for _, name := range x.unset(definitionTexts(e.Definition)) {
		e.Findings = append(e.Findings, unsetFinding(name, "the combiner leaves nothing in its place", 0))
	}
}

// authFindings name references that stay text: nothing in auth is filled in.
func (x *combinerReader) authFindings(auth jsonc.Value, remote bool, warn func(model.FindingCode, jsonc.Value, string, ...any)) {
	bearer, oauth := auth.Get("bearer"), auth.Get("oauth")
	for _, c := range []struct {
		name string
		v    jsonc.Value
	}{{"auth.bearer", bearer}, {"auth.oauth.client_id", oauth.Get("client_id")}, {"auth.oauth.client_secret", oauth.Get("client_secret")}} {
		if s, ok := c.v.Str(); ok && braced.MatchString(s) {
			warn(model.FindingUselessKey, c.v, "%s is sent as it is written: the combiner fills in no variable there", c.name)
		}
	}
	if bearer.Exists() && oauth.Exists() {
		warn(model.FindingConflictingKeys, oauth, "auth.oauth beside auth.bearer is ignored")
	}
	if bearer.Exists() && !remote {
		warn(model.FindingUselessKey, auth, "a stdio server gets no bearer token")
	}
}

// policyFindings name the traps of a block of permissions.
func (x *combinerReader) policyFindings(e *combinerEntry, v jsonc.Value, warn func(model.FindingCode, jsonc.Value, string, ...any)) {
	for _, key := range combinerPatterns {
		if s, ok := v.Get(key).Str(); ok && s != "" {
			text := key + " of permissions is a text: the combiner takes each of its characters as a pattern"
			if strings.Contains(s, "*") {
				text += ", and * alone matches every tool"
			}
			warn(model.FindingWrongType, v.Get(key), "%s", text)
		}
	}
	known := append([]string{"default", "elicitUnavailable", "elicit_unavailable"}, combinerPatterns[:]...)
	for _, m := range v.Members() {
		if !m.Shadowed && !slices.Contains(known, m.Key) {
			warn(model.FindingUnknownKey, m.Value, "permissions has the key %s, which the combiner does not know", quotedKey(m.Key))
			return
		}
	}
}

// pythonTexts is list(v), for what isPythonTexts takes.
func pythonTexts(v jsonc.Value) []string {
	if s, ok := v.Str(); ok {
		return strings.Split(s, "")
	}
	if list, ok := v.Strings(); ok {
		return list
	}
	var out []string
	for _, m := range v.Members() {
		if !m.Shadowed {
			out = append(out, m.Key)
		}
	}
	return out
}

// gateFinding says how calls of the entry's tools are gated: the permissions of the file and of the entry together.
func (x *combinerReader) gateFinding(e *combinerEntry, v jsonc.Value) {
	own := v.Get("permissions")
	patterns := x.patterns
	for i, key := range combinerPatterns {
		patterns[i] += len(pythonTexts(own.Get(key)))
	}
	deny, ask, allow := patterns[0], patterns[1], patterns[2]
	fallback, ok := own.Get("default").Str()
	if !ok {
		fallback, ok = x.policy.Get("default").Str()
	}
	if !ok {
		fallback = "allow"
	}
	if !slices.Contains([]string{"allow", "deny", "elicit"}, fallback) || fallback == "allow" && deny+ask == 0 {
		return
	}
	switch auto := v.Get("autoApprove"); auto.Kind() {
	case jsonc.Bool:
		if on, _ := auto.Bool(); on {
			allow++
		}
	default:
		allow += len(pythonTexts(auto))
	}
	line := own.Line()
	if line == 0 {
		line = x.policy.Line()
	}
	otherwise := map[string]string{"allow": "allows them", "deny": "denies them", "elicit": "asks"}[fallback]
	e.Findings = append(e.Findings, model.Finding{Code: model.FindingCallsGated, Severity: model.Info, Line: line,
		Text: fmt.Sprintf("permissions gate calls of its tools: %s deny, %s ask, %s allow, and otherwise the combiner %s; all tools are listed",
			countWord(deny, "pattern"), countWord(ask, "pattern"), countWord(allow, "pattern"), otherwise)})
}

func countWord(n int, word string) string {
	if n == 1 {
		return "1 " + word
	}
	return strconv.Itoa(n) + " " + word + "s"
}

func (x *combinerReader) unset(texts []string) []string {
	return combinerReferences.unset(x.env)(texts...)
}

// combinerReferences fill in ${NAME}, ${env:NAME} and both with a default. What is unset becomes its default or nothing, what
// is empty stays empty.
var combinerReferences referenceRules = func(env *Env, inside string) (string, bool, bool) {
	if inside == "" {
		return "", false, false
	}
	name, fallback, hasDefault := strings.Cut(strings.TrimPrefix(inside, "env:"), ":-")
	v, set := env.Lookup(name)
	if !set {
		v = fallback
	}
	return v, set || hasDefault, true
}

// pythonStr is str(v) of a value of a JSON file.
func pythonStr(v jsonc.Value) string {
	if s, ok := v.Str(); ok {
		return s
	}
	return pythonRepr(v)
}

func pythonRepr(v jsonc.Value) string {
	switch v.Kind() {
	case jsonc.Bool:
		if b, _ := v.Bool(); b {
			return "True"
		}
		return "False"
	case jsonc.Number:
		raw, _ := v.Number()
		return strings.NewReplacer("NaN", "nan", "Infinity", "inf").Replace(pythonNumber(raw))
	case jsonc.String:
		s, _ := v.Str()
		return pythonReprText(s)
	case jsonc.Array:
		var parts []string
		for _, item := range v.Elements() {
			parts = append(parts, pythonRepr(item))
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case jsonc.Object:
		var parts []string
		for _, m := range v.Members() {
			if !m.Shadowed {
				parts = append(parts, pythonReprText(m.Key)+": "+pythonRepr(m.Value))
			}
		}
		return "{" + strings.Join(parts, ", ") + "}"
	}
	return "None"
}

func pythonReprText(s string) string {
	quote := `'`
	if strings.Contains(s, `'`) && !strings.Contains(s, `"`) {
		quote = `"`
	}
	return quote + strings.NewReplacer(`\`, `\\`, "\n", `\n`, "\r", `\r`, "\t", `\t`, quote, `\`+quote).Replace(s) + quote
}
