package loaders

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"fusebox/loaders/jsonc"
	"fusebox/model"
)

// deepAgents is the registry row of deepagents-code, whose command is dcode. Its rules were observed by running its own
// loading functions of version 0.1.59; where a comment says source, they were read in that version.
func deepAgents() Harness {
	return Harness{
		Harness: model.Harness{
			ID: "deepagents", Aliases: []string{"dcode", "deepagents-code"}, Title: "deepagents", Heading: "deepagent",
			Verified: model.VerifiedRun, VersionChecked: "0.1.59", SignIn: "dcode mcp login NAME",
			BlindSpots: []model.BlindSpot{
				{Code: "session-flags", Text: "--mcp-config, --no-mcp and --trust-project-mcp of one session, and what was allowed once when it asked"},
				{Code: "reachability", Text: "a session asks each URL with HEAD first, and drops a server that does not answer within 2 seconds or answers with 5xx"},
				{Code: "token-revoked", Text: "a stored sign-in may have been revoked, or may not be renewable any more"},
				{Code: "managed-policy", Text: "a value of another setting in an administrator's file can keep it from starting; on Windows the registry says where that file is"},
			},
		},
		Resolve: resolveDeepagents,
		Shares:  []string{".mcp.json"}, // the project's; the user's is in a folder of its own
		Sessions: SessionRules{Programs: []string{"dcode", "deepagents-code"}, Packages: []string{"deepagents_code"},
			Not:    []string{"agents", "auth", "config", "doctor", "help", "install", "mcp", "plugin", "plugins", "skills", "threads", "tools", "update"},
			Reload: "type /mcp reconnect force there, or restart it"},
		Launch: LaunchRules{
			Class:    EnvironmentShort,
			Inherit:  inheritDeepagents,
			Fill:     fillDeepagents,
			Cwd:      deepagentsCwd,
			ToolName: func(server, tool string) string { return server + "_" + tool },
			Drops:    dropsDeepagents,
		},
		Toggle:  toggleDeepagents,
		Approve: approveDeepagents,
	}
}

// deepagents is one resolve of deepagents-code.
type deepagents struct {
	env *Env
	r   *Reader

	dir  string // ~/.deepagents; nothing moves it
	cwd  string // the folder of the session, links resolved
	base string // the project root, or cwd: where project files lie

	config  *ConfigFile // ~/.deepagents/config.toml
	managed *ConfigFile // an administrator's config.toml
	dotenv  map[string]deepVariable
	policy  deepPolicy

	files    []*deepFile // .mcp.json files, lowest to highest
	plugins  []*deepEntry
	searched map[string]bool   // commands that were looked up
	commons  map[string]string // by root of a checkout: the folder that its worktrees share
	broken   *model.Problem    // nothing loads
	notes    []model.Note
}

// deepVariable is a variable of a .env file.
type deepVariable struct {
	value string
	at    model.Location
}

// deepFile is one .mcp.json that counts.
type deepFile struct {
	file    *ConfigFile
	project bool // its servers need an approval
	root    string
	entries []*deepEntry
	lost    *model.Reason // the file is dropped as a whole, for this
}

// deepEntry is one server of one file.
type deepEntry struct {
	model.Entry
	file       *ConfigFile
	value      jsonc.Value // as parsed; of a plugin with its variables filled in
	fault      string      // why deepagents does not accept it
	faultAt    model.Location
	deadly     string // why it ends the load before anything else, where it stands in a project file
	surrogate  bool   // half a character, which has no fingerprint
	unhashable bool   // its type is a list or an object
	plain      bool   // no reference to a variable
	root       string // of a project entry: the folder that an approval is bound to
	beaten     []*deepEntry
}

func newDeepagents(env *Env, r *Reader) *deepagents {
	d := &deepagents{env: env, r: r, dir: env.InHome(".deepagents"), cwd: r.RealPath(env.Project), searched: map[string]bool{}, commons: map[string]string{}}
	d.base = d.cwd
	if root := d.gitRoot(); root != "" {
		d.base = root
	}
	d.readConfig()
	d.readDotenvs()
	return d
}

func resolveDeepagents(env *Env, r *Reader) Result {
	d := newDeepagents(env, r)
	res := Result{Present: r.Exists(d.dir)}
	d.readFiles()
	d.plugins = d.readPlugins()
	d.readPolicy()
	res.Cells = d.cells()
	d.strayFiles()
	res.Notes, res.Broken = d.notes, d.broken
	return res
}

func (d *deepagents) tilde(path string) string { return model.Tilde(path, d.env.Home) }

func (d *deepagents) note(code string, at model.Location, format string, args ...any) {
	d.notes = append(d.notes, model.Note{Code: code, Path: at.Path, Line: max(1, at.Line), Text: fmt.Sprintf(format, args...)})
}

// fail records what keeps every server from loading; the first counts.
func (d *deepagents) fail(f *ConfigFile, at model.Location, format string, args ...any) {
	if d.broken != nil {
		return
	}
	what := fmt.Sprintf(format, args...)
	d.broken = &model.Problem{Location: at, Text: what + ": deepagents loads no server at all"}
	if f != nil && f.Status == model.FileRead {
		d.r.Refuse(f, at, what)
	}
}

// gitRoot returns the nearest folder at or above the working folder with a .git folder, or with a .git file that points
// to an existing folder; "" when there is none. Any other .git file ends the search.
func (d *deepagents) gitRoot() string {
	for _, dir := range Ancestors(d.cwd) {
		dotGit := filepath.Join(dir, ".git")
		if d.r.IsDir(dotGit) {
			return dir
		}
		if !d.r.IsFile(dotGit) {
			continue
		}
		f := d.r.Peek(dotGit, model.ScopeProject)
		d.r.Drop(f)
		pointer, ok := strings.CutPrefix(pythonStrip(string(f.Data)), "gitdir: ")
		pointer = pythonStrip(pointer)
		if !ok || pointer == "" {
			return ""
		}
		if !filepath.IsAbs(pointer) {
			pointer = filepath.Join(dir, pointer)
		}
		if d.r.IsDir(d.r.RealPath(pointer)) {
			return dir
		}
		return ""
	}
	return ""
}

// readFiles reads the three places of .mcp.json, lowest to highest. Whether a file is the user's or the project's is told
// by where it really lies: below ~/.deepagents, links resolved, or not.
func (d *deepagents) readFiles() {
	own := d.r.RealPath(d.dir)
	seen := map[string]bool{}
	user := filepath.Join(d.dir, ".mcp.json")
	for _, path := range []string{user, filepath.Join(d.base, ".deepagents", ".mcp.json"), filepath.Join(d.base, ".mcp.json")} {
		real := d.r.RealPath(path)
		x := &deepFile{project: !Within(real, own)}
		if seen[real] && (!x.project || path == user) {
			continue // found twice: with .git in the home folder the user's file is the project's too
		}
		seen[real] = true
		scope := model.ScopeUser
		if x.project {
			scope = model.ScopeProject
			if path == user && !d.r.Exists(path) {
				scope = model.ScopeUser
			}
		}
		x.file = d.r.Read(path, scope, 0)
		if !d.isFile(x.file) {
			continue
		}
		x.root = filepath.Dir(path)
		if filepath.Base(x.root) == ".deepagents" {
			x.root = filepath.Dir(x.root)
		}
		d.readServers(x)
		if x.project && path == user {
			d.note("file-is-a-link", x.file.Location(), "%s is a link to a file outside of ~/.deepagents: deepagents treats its servers like those of a project, they wait for an approval", d.tilde(path))
		}
		d.files = append(d.files, x)
	}
}

// isFile tells whether deepagents looks into a place. What is no regular file it passes over silently.
func (d *deepagents) isFile(f *ConfigFile) bool {
	if f.Status == model.FileAbsent {
		return false
	}
	if f.Status != model.FileRefused {
		return true
	}
	info, err := d.r.Stat(f.Path)
	switch {
	case err == nil && info.Mode().IsRegular():
		return true
	case err == nil || !errors.Is(err, fs.ErrPermission):
		d.r.Mark(f, model.FileIgnored, f.Note+": deepagents passes over it silently")
	}
	return false
}

// readServers reads the map of servers of a .mcp.json.
func (d *deepagents) readServers(x *deepFile) {
	f := x.file
	d.r.ParseJSON(f, pythonJSON)
	servers := f.Root().Get("mcpServers")
	if f.OK() {
		switch root := f.Root(); {
		case root.Kind() != jsonc.Object:
			d.r.Refuse(f, f.At("", root), "the top level is "+typeWord(root)+", not an object")
		case !servers.Exists():
			what, at := "it has no mcpServers", root
			for _, other := range []string{"servers", "mcp_servers", "mcp"} {
				if v := root.Get(other); v.Exists() {
					what, at = fmt.Sprintf("it has %q; deepagents reads mcpServers", other), v
					break
				}
			}
			d.r.Refuse(f, f.At("", at), what)
		case servers.Kind() != jsonc.Object:
			d.r.Refuse(f, f.At("mcpServers", servers), "mcpServers is "+typeWord(servers)+", not an object")
		case servers.Len() == 0:
			d.r.Refuse(f, f.At("mcpServers", servers), "mcpServers is empty, which deepagents takes for a mistake")
		}
	}
	scope := f.Scope
	if f.OK() {
		x.entries = d.entries(f, servers, scope, "mcpServers")
		if !x.project {
			for _, e := range x.entries {
				if e.fault != "" {
					d.r.Refuse(f, e.faultAt, fmt.Sprintf("the entry %s: %s", quoted(e.Name), e.fault))
					break
				}
			}
		}
	} else if f.Status == model.FileMalformed {
		lost := d.r.Recover(f)
		x.entries = d.entries(lost, lost.Root().Get("mcpServers"), scope, "mcpServers")
	}
	if !f.OK() {
		why := fmt.Sprintf("deepagents drops %s as a whole: %s", d.tilde(f.Path), f.Note)
		x.lost = &model.Reason{Code: model.ReasonFileRefused, DecidedBy: f.Location(), Text: why}
		d.note("file-dropped", f.Location(), "%s", why)
	}
}

// entries reads a map of servers. What is made of the file alone is kept with the file.
func (d *deepagents) entries(f *ConfigFile, servers jsonc.Value, scope model.Scope, key string) []*deepEntry {
	read := Memo(f, fmt.Sprintf("deepagents/%s/%s/%t", scope, key, f.OK()), func() []deepEntry {
		members := servers.Members()
		twice := duplicates(members)
		out := make([]deepEntry, 0, len(members))
		for _, m := range members {
			if m.Shadowed {
				continue
			}
			e := deepEntry{file: f, Entry: model.Entry{Name: m.Key, Scope: scope, Source: f.Member(joinedKey(key, m.Key), m)}}
			e.read(m.Value, f)
			if _, ok := twice[m.Key]; ok {
				e.Findings = append(e.Findings, duplicateFinding(m.Key, m.Line()))
			}
			e.Findings = slices.Clip(e.Findings)
			out = append(out, e)
		}
		return out
	})
	out := make([]*deepEntry, len(read))
	for i := range read {
		e := read[i]
		e.file = f
		out[i] = &e
	}
	return out
}

func joinedKey(key, name string) string {
	if key == "" {
		return JoinKey(name)
	}
	return key + "." + JoinKey(name)
}

// read makes an entry of its value. f places the findings; nil where the value is not as the file has it.
func (e *deepEntry) read(v jsonc.Value, f *ConfigFile) {
	e.value = v
	at := func(x jsonc.Value) model.Location {
		loc := e.Source
		if f != nil && x.Exists() {
			loc.Line, loc.Column = x.Line(), x.Column()
		}
		return loc
	}
	raw := string(v.Raw())
	e.plain = !strings.Contains(raw, "${")
	if strings.Contains(raw, `\u`) {
		_, whole := pythonDump(v, nil)
		e.surrogate = !whole
	}
	fault, place := deepFault(e.Name, v)
	e.fault, e.faultAt = fault, at(place)
	if v.Kind() != jsonc.Object {
		return
	}
	transport, word, hashable := deepTransport(v)
	e.unhashable = !hashable
	e.deadly = deepDeadly(v)
	switch s, _ := word.Str(); {
	case transport != model.TransportUnknown:
		e.Definition = deepDefinition(v, transport)
	case s == string(model.TransportWS): // not a transport of deepagents, but what is meant is plain
		e.Definition = deepDefinition(v, model.TransportWS)
	}
	e.Filter = deepFilter(v, at)
	if e.fault == "" {
		e.findings(v, transport, f != nil)
	}
}

var deepName = regexp.MustCompile(`^[A-Za-z0-9_-]+$`)

// deepTransport reads type, else transport: the first that is not empty. Without both, a url means http. word is what
// stands there; hashable is false for a list or an object, on which the program itself stumbles.
func deepTransport(v jsonc.Value) (t model.Transport, word jsonc.Value, hashable bool) {
	if word = v.Get("type"); !pythonTruthy(word) {
		word = v.Get("transport")
	}
	if !word.Exists() || word.Kind() == jsonc.Null {
		if v.Get("url").Exists() {
			return model.TransportHTTP, jsonc.Value{}, true
		}
		return model.TransportStdio, jsonc.Value{}, true
	}
	switch word.Kind() {
	case jsonc.Array, jsonc.Object:
		return model.TransportUnknown, word, false
	case jsonc.String:
	default:
		return model.TransportUnknown, word, true
	}
	switch s, _ := word.Str(); s {
	case "stdio":
		return model.TransportStdio, word, true
	case "http", "streamable_http", "streamable-http":
		return model.TransportHTTP, word, true
	case "sse":
		return model.TransportSSE, word, true
	}
	return model.TransportUnknown, word, true
}

// deepFault is the check that deepagents makes of an entry before it loads anything: the first thing that is wrong with
// it, and where; "" when it passes.
func deepFault(name string, v jsonc.Value) (string, jsonc.Value) {
	if !deepName.MatchString(name) {
		return "a name may hold only letters, digits, - and _", jsonc.Value{}
	}
	if v.Kind() != jsonc.Object {
		return "it is " + typeWord(v) + ", not an object", v
	}
	transport, word, hashable := deepTransport(v)
	switch {
	case !hashable:
		return "the type is " + typeWord(word), word
	case transport == model.TransportUnknown:
		s, isText := word.Str()
		if !isText {
			return "the type is " + typeWord(word), word
		}
		return "the type " + quoted(s) + " is none of stdio, http and sse", word
	case transport.Remote():
		headers := v.Get("headers")
		switch command := v.Get("command"); {
		case !v.Get("url").Exists():
			return fmt.Sprintf("a %s entry needs a url", transport), word
		case command.Exists():
			return fmt.Sprintf(`it is a %s entry and has a command too: drop one of them, or add "type": "stdio"`, transport), command
		case headers.Exists() && headers.Kind() != jsonc.Null && headers.Kind() != jsonc.Object:
			return "headers is " + typeWord(headers) + ", not an object", headers
		}
		for _, m := range headers.Members() {
			if !m.Shadowed && m.Value.Kind() != jsonc.String {
				return "the header " + quoted(m.Key) + " is " + typeWord(m.Value) + ", not a text", m.Value
			}
		}
	default:
		args, env, url := v.Get("args"), v.Get("env"), v.Get("url")
		switch {
		case !v.Get("command").Exists():
			return "there is no command", word
		case url.Exists():
			return `it is a stdio entry and has a url too: drop one of them, or set "type": "http"`, url
		case args.Exists() && args.Kind() != jsonc.Array:
			return "args is " + typeWord(args) + ", not a list", args
		case env.Exists() && env.Kind() != jsonc.Object:
			return "env is " + typeWord(env) + ", not an object", env
		}
	}
	if auth := v.Get("auth"); auth.Exists() && auth.Kind() != jsonc.Null {
		s, _ := auth.Str()
		switch {
		case s != "oauth":
			return "auth can only be oauth", auth
		case transport == model.TransportStdio:
			return "auth is oauth, which a stdio entry cannot have", auth
		}
		if header, ok := deepAuthorization(v); ok {
			return "auth is oauth, and there is an Authorization header too", header
		}
	}
	return deepFilterFault(v)
}

// deepAuthorization finds a header that signs in by itself.
func deepAuthorization(v jsonc.Value) (jsonc.Value, bool) {
	for _, m := range v.Get("headers").Members() {
		if !m.Shadowed && strings.EqualFold(m.Key, "authorization") {
			return m.Value, true
		}
	}
	return jsonc.Value{}, false
}

func deepFilterFault(v jsonc.Value) (string, jsonc.Value) {
	if allowed, disabled := v.Get("allowedTools"), v.Get("disabledTools"); allowed.Exists() && disabled.Exists() {
		return "allowedTools and disabledTools exclude each other", disabled
	}
	for _, key := range []string{"allowedTools", "disabledTools"} {
		list := v.Get(key)
		if !list.Exists() {
			continue
		}
		if _, ok := list.Strings(); !ok {
			return key + " must be a list of texts", list
		}
		if list.Len() == 0 {
			return key + " is empty: deepagents wants no such key then", list
		}
	}
	return "", jsonc.Value{}
}

// deepDeadly says what makes the line that deepagents prints of every project server fail, for which it has no guard:
// then it loads nothing at all, whether the server is approved or not.
func deepDeadly(v jsonc.Value) string {
	transport, word, hashable := deepTransport(v)
	if !hashable {
		return "the type is " + typeWord(word)
	}
	if transport != model.TransportStdio {
		return ""
	}
	args := v.Get("args")
	switch args.Kind() {
	case jsonc.Array:
		for i, a := range args.Elements() {
			if a.Kind() != jsonc.String {
				return fmt.Sprintf("args[%d] is %s, not a text", i, typeWord(a))
			}
		}
	case jsonc.Number, jsonc.Bool:
		if pythonTruthy(args) {
			return "args is " + typeWord(args) + ", not a list"
		}
	}
	return ""
}

// deepDefinition is the transport part of an entry, as far as it can be read.
func deepDefinition(v jsonc.Value, transport model.Transport) *model.Definition {
	texts := func(object jsonc.Value) (out []model.Variable) {
		for _, m := range object.Members() {
			if s, ok := m.Value.Str(); ok && !m.Shadowed {
				out = append(out, model.Variable{Name: m.Key, Value: model.NewSecret(s)})
			}
		}
		return out
	}
	def := &model.Definition{Transport: transport}
	if transport.Remote() {
		url, _ := v.Get("url").Str()
		def.URL, def.Headers = model.NewSecret(url), texts(v.Get("headers"))
		return def
	}
	def.Command, _ = v.Get("command").Str()
	def.Env = texts(v.Get("env"))
	for _, a := range v.Get("args").Elements() {
		s, _ := a.Str()
		def.Args = append(def.Args, model.NewSecret(s))
	}
	return def
}

func deepFilter(v jsonc.Value, at func(jsonc.Value) model.Location) *model.ToolFilter {
	if allow, ok := v.Get("allowedTools").Strings(); ok {
		return &model.ToolFilter{Limited: true, Allow: allow, At: at(v.Get("allowedTools"))}
	}
	if deny, ok := v.Get("disabledTools").Strings(); ok {
		return &model.ToolFilter{Deny: deny, At: at(v.Get("disabledTools"))}
	}
	return nil
}

var deepKeys = []string{"type", "transport", "command", "args", "env", "url", "headers", "auth", "allowedTools", "disabledTools"}

// findings adds what a user should know of an entry that passes the check.
func (e *deepEntry) findings(v jsonc.Value, transport model.Transport, placed bool) {
	line := func(n int) int {
		if placed {
			return n
		}
		return 0
	}
	unknown, first := []string{}, 0
	for _, m := range v.Members() {
		switch {
		case m.Shadowed:
		case m.Key == "disabled" || m.Key == "enabled":
			e.Findings = append(e.Findings, model.Finding{Code: model.FindingUselessKey, Severity: model.Warning, Line: line(m.Line()),
				Text: fmt.Sprintf("%q in an entry means nothing to deepagents: the switch is disabled_servers in its config.toml", m.Key)})
		case m.Key == "cwd":
			e.Findings = append(e.Findings, model.Finding{Code: model.FindingUselessKey, Severity: model.Warning, Line: line(m.Line()),
				Text: "cwd is not passed on: deepagents starts servers in a temporary folder of its own"})
		case transport.Remote() && placed && (m.Key == "args" || m.Key == "env") || transport == model.TransportStdio && m.Key == "headers":
			e.Findings = append(e.Findings, model.Finding{Code: model.FindingUselessKey, Severity: model.Info, Line: line(m.Line()),
				Text: fmt.Sprintf("%s has no effect in a %s entry", m.Key, transport)})
		case !slices.Contains(deepKeys, m.Key):
			if len(unknown) == 0 {
				first = m.Line()
			}
			unknown = append(unknown, quotedKey(m.Key))
		}
	}
	if len(unknown) > 0 {
		e.Findings = append(e.Findings, model.Finding{Code: model.FindingUnknownKey, Severity: model.Info, Line: line(first),
			Text: "deepagents does not know " + someNames(unknown) + "; such a key has no effect, but changing it takes an approval back"})
	}
	if e.plain {
		return
	}
	for _, text := range definitionTexts(e.Definition) {
		for _, ref := range foreignReference.FindAllString(text, -1) {
			f := model.Finding{Code: model.FindingUnsetVariable, Severity: model.Warning,
				Text: quotedVariable(strings.Trim(ref, "${}")) + " is written in another program's way: deepagents knows ${NAME} and ${NAME:-default}"}
			if strings.HasPrefix(ref, "$") && !slices.Contains(e.Findings, f) {
				e.Findings = append(e.Findings, f)
			}
		}
	}
}

// lookup finds a variable as a session does: the environment, then the project's .env, then ~/.deepagents/.env.
func (d *deepagents) lookup(name string) (string, bool) {
	if v, ok := d.env.Lookup(name); ok {
		return v, ok
	}
	v, ok := d.dotenv[name]
	return v.value, ok
}

var deepReference = regexp.MustCompile(`\$\{([A-Za-z_][A-Za-z0-9_]*)(:-([^{}]*))?\}`)

// fillDeep fills in ${NAME} and ${NAME:-default}. A default counts for an empty variable too. unset is the first name
// without a value and a default; malformed tells that some other ${ stands in the text. Both keep the server from loading.
func fillDeep(text string, lookup func(string) (string, bool)) (filled, unset string, malformed bool) {
	if !strings.Contains(text, "${") {
		return text, "", false
	}
	spans := deepReference.FindAllStringIndex(text, -1)
	for at := 0; ; {
		i := strings.Index(text[at:], "${")
		if i < 0 {
			break
		}
		at += i
		if !slices.ContainsFunc(spans, func(s []int) bool { return s[0] <= at && at < s[1] }) {
			return text, "", true
		}
		at += 2
	}
	filled = deepReference.ReplaceAllStringFunc(text, func(ref string) string {
		m := deepReference.FindStringSubmatch(ref)
		value, set := lookup(m[1])
		switch {
		case value != "":
			return value
		case m[2] != "":
			return m[3]
		case !set && unset == "":
			unset = m[1]
		}
		return value
	})
	return filled, unset, false
}

// loadFault is what deepagents finds wrong with a server when it is about to load it: texts that are none, references that
// it cannot fill in. finding names a variable without a value.
func (d *deepagents) loadFault(e *deepEntry) (fault string, at jsonc.Value, finding *model.Finding) {
	check := func(field string, v jsonc.Value) bool {
		if fault != "" || !v.Exists() {
			return fault == ""
		}
		text, ok := v.Str()
		if !ok {
			fault, at = field+" is "+typeWord(v)+", not a text", v
			return false
		}
		_, unset, malformed := fillDeep(text, d.lookup)
		switch {
		case malformed:
			fault, at = field+" holds a ${ that deepagents does not understand: it knows ${NAME} and ${NAME:-default}", v
		case unset != "":
			fault, at = field+" needs the variable "+quotedVariable(unset)+", which is not set", v
			f := unsetFinding(unset, "deepagents does not load the server", 0)
			if e.Scope != model.ScopePlugin {
				f.Line = v.Line()
			}
			finding = &f
		}
		return fault == ""
	}
	v := e.value
	check("command", v.Get("command"))
	check("url", v.Get("url"))
	if args := v.Get("args"); args.Exists() && fault == "" {
		if args.Kind() != jsonc.Array {
			fault, at = "args is "+typeWord(args)+", not a list", args
		}
		for i, a := range args.Elements() {
			check(fmt.Sprintf("args[%d]", i), a)
		}
	}
	for _, key := range []string{"env", "headers"} {
		object := v.Get(key)
		if !object.Exists() || fault != "" {
			continue
		}
		if object.Kind() != jsonc.Object {
			fault, at = key+" is "+typeWord(object)+", not an object", object
		}
		for _, m := range object.Members() {
			if !m.Shadowed {
				check(key+"."+quoted(m.Key), m.Value)
			}
		}
	}
	return fault, at, finding
}

// text returns a filled in text of an entry that passed loadFault.
func (d *deepagents) text(e *deepEntry, key string) string {
	s, _ := e.value.Get(key).Str()
	filled, _, _ := fillDeep(s, d.lookup)
	return filled
}

// finds tells whether a command is there. The server process looks it up, whose folder is a temporary one: a relative
// path finds nothing (source).
func (d *deepagents) finds(command string) bool {
	found, known := d.searched[command]
	if !known {
		found = pythonWhich(d.env, d.r, "", command)
		d.searched[command] = found
	}
	return found
}

// strayFiles notes files that look right and are not read.
func (d *deepagents) strayFiles() {
	stray := func(path string, scope model.Scope, format string, args ...any) {
		why := fmt.Sprintf(format, args...)
		if d.r.Ignored(path, scope, "not read by deepagents: "+why) {
			d.note(string(model.FindingFileNotRead), model.Location{Path: path}, "%s is not read by deepagents: %s", d.tilde(path), why)
		}
	}
	const dot = "its files are called .mcp.json, with a dot"
	stray(filepath.Join(d.dir, "mcp.json"), model.ScopeUser, dot)
	stray(filepath.Join(d.base, ".deepagents", "mcp.json"), model.ScopeProject, dot)
	stray(filepath.Join(d.base, "mcp.json"), model.ScopeProject, dot)
	stray(filepath.Join(d.base, ".deepagents", "config.toml"), model.ScopeProject, "switches and approvals count in %s only", d.tilde(d.config.Path))
	stray(filepath.Join(d.dir, ".state", "mcp_trust.json"), model.ScopeUser, "approvals of older versions do not count any more")
	if d.base != d.r.RealPath(d.env.Home) {
		stray(d.env.InHome(".mcp.json"), model.ScopeUser, "the user's file is ~/.deepagents/.mcp.json")
	}
	for _, dir := range Ancestors(d.cwd) {
		if dir == d.base {
			break
		}
		stray(filepath.Join(dir, ".mcp.json"), model.ScopeProject, "the project's root is %s", d.tilde(d.base))
		stray(filepath.Join(dir, ".deepagents", ".mcp.json"), model.ScopeProject, "the project's root is %s", d.tilde(d.base))
	}
}

// validText tells whether a file can be decoded at all; Python ends with an error of its own where it cannot.
func validText(f *ConfigFile) bool { return utf8.Valid(f.Data) }
