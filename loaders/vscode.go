package loaders

import (
	"fmt"
	"net/url"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"fusebox/loaders/jsonc"
	"fusebox/model"
)

// vsCode is the registry row of VS Code. Its rules were read in its source of November 2026 (mcpResourceScannerService 20ba3e6,
// mcpWorkspaceConfiguration 4931075, mcpRegistry 06cd090, installedMcpServersDiscovery 048e1e9, workspaceDotMcpDiscovery 02d77ce,
// chat/common/enablement 0e22bfd); it was not run.
func vsCode() Harness {
	return Harness{
		Harness: model.Harness{
			ID: "vscode", Aliases: []string{"vs-code", "code"}, Title: "VS Code", Heading: "VS Code",
			Verified: model.VerifiedSource, VersionChecked: "20ba3e6",
			BlindSpots: []model.BlindSpot{
				{Code: "trust-in-database", Text: "whether a folder is trusted, which servers are switched off, and what of .mcp.json was confirmed: they are in state.vscdb, which is read where it can be and never written"},
				{Code: "inputs", Text: "values of ${input:...}, which are in the system's secret storage"},
				{Code: "workspace-files", Text: "servers of a .code-workspace file, and windows with several folders"},
				{Code: "remote", Text: "servers of the user on a remote machine, a container or WSL"},
				{Code: "extensions", Text: "servers that extensions and plugins bring along"},
				{Code: "discovery", Text: "files of Claude Desktop, Windsurf and Cursor, which it reads too where chat.mcp.discovery.enabled is set"},
				{Code: "policy", Text: "policies of an organisation, such as which servers are allowed"},
				{Code: "sign-in", Text: "whether a remote server asks for a sign-in"},
			},
		},
		Resolve: resolveVSCode,
		Shares:  []string{".mcp.json"},
		Launch: LaunchRules{
			Class:     EnvironmentFull,
			Fill:      fillVSCode,
			ToolName:  vscodeToolName,
			NameLimit: 64,
		},
	}
}

// vscodeJSON is how VS Code parses its files: its own jsonc parser, any mistake rejects the file.
var vscodeJSON = jsonc.Options{Comments: true, TrailingCommas: true, BOM: true, ReplaceInvalidUTF8: true}

// vscodeProducts are the builds of VS Code, the first that is there counts. Each keeps everything to itself.
var vscodeProducts = [...]struct{ dir, title, shared string }{
	{"Code", "VS Code", ".vscode-shared"},
	{"Code - Insiders", "VS Code Insiders", ".vscode-insiders-shared"},
	{"VSCodium", "VSCodium", ".vscodium-shared"},
}

// vscode is one resolve of VS Code.
type vscode struct {
	codeStorage

	profile  string // the folder of the user's settings that hold here
	settings []*ConfigFile
	notes    []model.Note

	access    string // chat.mcp.access
	accessAt  model.Location
	unread    bool // a database with switches is there and cannot be read
	suffix    bool // chat.mcp.collisionBehavior is suffix: equal names of different files all stay on
	trustOff  bool // security.workspace.trust.enabled is false
	trusted   codeTrust
	enabled   map[string]bool // by definition id, of the user's and the folder's database
	enabledAt map[string]model.Location
}

// vscodeEntry is one server of one file.
type vscodeEntry struct {
	model.Entry
	id    string // as the switches name it
	root  bool   // of .mcp.json
	fault *model.Reason
}

func resolveVSCode(env *Env, r *Reader) Result {
	v := &vscode{codeStorage: codeStorage{env: env, r: r}}
	present := v.places()
	user := v.serversFile(filepath.Join(v.profile, "mcp.json"), model.ScopeUser, "mcp.config.usrlocal")
	folder := v.serversFile(env.InProject(".vscode/mcp.json"), model.ScopeProject, "mcp.config.ws0")
	root := v.rootFile(env.InProject(".mcp.json"))
	v.readSettings()
	v.readDatabases(present, len(folder)+len(root) > 0)
	v.otherFiles()
	cells := v.cells(user, folder, root)
	waits := slices.ContainsFunc(cells, func(c *model.Cell) bool { return c.Decision == model.DecisionWaits })
	return Result{Cells: cells, Notes: v.notes, Present: present, Untrusted: waits}
}

func (v *vscode) tilde(path string) string { return model.Tilde(path, v.env.Home) }

// places finds the data of the first product that is there, and the profile that the folder uses.
func (v *vscode) places() (present bool) {
	at := 0
	for i, p := range vscodeProducts {
		if v.r.IsDir(codeDataDir(v.env, p.dir)) {
			at, present = i, true
			break
		}
	}
	product := vscodeProducts[at]
	v.user = filepath.Join(codeDataDir(v.env, product.dir), "User")
	v.shared = v.env.InHome(product.shared + "/sharedStorage/state.vscdb")
	v.profile = v.user
	if id := v.profileID(); id != "" {
		v.profile = filepath.Join(v.user, "profiles", id)
	}
	for i, p := range vscodeProducts {
		if i != at && codeDataDir(v.env, p.dir) != codeDataDir(v.env, product.dir) {
			other := filepath.Join(codeDataDir(v.env, p.dir), "User", "mcp.json")
			v.r.Ignored(other, model.ScopeUser, "of "+p.title+"; this column is about "+product.title)
		}
	}
	return present
}

// profileID is the folder name of the profile that storage.json assigns to the folder; "" is the default profile.
func (v *vscode) profileID() string {
	f := v.r.Peek(filepath.Join(v.user, "globalStorage", "storage.json"), model.ScopeUser)
	v.r.ParseJSON(f, vscodeJSON)
	v.r.Drop(f)
	var wanted string
	for _, m := range f.Root().Lookup("profileAssociations", "workspaces").Members() {
		if folder, ok := strings.CutPrefix(m.Key, "file://"); ok && v.isProject(folder) {
			wanted, _ = m.Value.Str()
		}
	}
	for _, p := range f.Root().Get("userDataProfiles").Elements() {
		location, ok := p.Get("location").Str()
		if !ok {
			location, _ = p.Lookup("location", "path").Str()
		}
		id := path.Base(location)
		if wanted != "" && id == wanted && filepath.IsLocal(id) {
			if shared, _ := p.Lookup("useDefaultFlags", "mcp").Bool(); shared {
				return ""
			}
			return id
		}
	}
	return ""
}

// isProject tells whether the path of a file URI, percent signs and all, is the session's folder.
func (v *vscode) isProject(folder string) bool {
	plain, err := url.PathUnescape(folder)
	return err == nil && v.holds(plain) && len(strings.TrimSuffix(plain, "/")) >= len(filepath.ToSlash(filepath.Clean(v.env.Project)))
}

// otherFiles names files that VS Code does not read here.
func (v *vscode) otherFiles() {
	for _, id := range v.r.ReadDir(filepath.Join(v.user, "profiles")) {
		v.r.Ignored(filepath.Join(v.user, "profiles", id, "mcp.json"), model.ScopeUser, "of another profile than the folder's")
	}
	if v.profile != v.user {
		v.r.Ignored(filepath.Join(v.user, "mcp.json"), model.ScopeUser, "of another profile than the folder's")
	}
	if r := v.env.InHome(".vscode/mcp.json"); r != v.env.InProject(".vscode/mcp.json") && v.r.Ignored(r, model.ScopeUser, "not the user's file: that is "+v.tilde(filepath.Join(v.profile, "mcp.json"))) {
		v.notes = append(v.notes, model.Note{Code: string(model.FindingFileNotRead), Path: r, Line: 1,
			Text: v.tilde(r) + " is not read here: the user's servers are in " + v.tilde(filepath.Join(v.profile, "mcp.json"))})
	}
}

// setting looks a key up in a settings file, where it may stand as one key with dots or nested.
func setting(f *ConfigFile, key string) jsonc.Value {
	root := f.Root()
	if v := root.Get(key); v.Exists() {
		return v
	}
	parts := strings.Split(key, ".")
	for i := len(parts) - 1; i > 0; i-- {
		outer := root.Get(strings.Join(parts[:i], "."))
		if v := outer.Get(strings.Join(parts[i:], ".")); v.Exists() {
			return v
		}
	}
	return root.Lookup(parts...)
}

// vscodeOldKeys are the places of settings.json where servers were before mcp.json.
var vscodeOldKeys = []string{"mcp.servers", "github.copilot.chat.mcp.servers"}

// readSettings reads the user's settings and the folder's. Of the folder's only those count that a folder may set.
func (v *vscode) readSettings() {
	for _, place := range []struct {
		path  string
		scope model.Scope
	}{{filepath.Join(v.profile, "settings.json"), model.ScopeUser}, {v.env.InProject(".vscode/settings.json"), model.ScopeProject}} {
		f := v.r.Peek(place.path, place.scope)
		if f.OK() && trimJS(string(f.Data)) != "" {
			// VS Code takes what it can of broken settings.
			o := vscodeJSON
			o.Lenient = true
			v.r.ParseJSON(f, o)
			if f.JSON != nil && len(f.JSON.Errors()) > 0 {
				v.r.Mark(f, model.FileRead, model.Clean(f.JSON.Errors()[0].Error())+": VS Code reads what it can of the rest")
			}
		}
		v.settings = append(v.settings, f)
		for _, key := range vscodeOldKeys {
			if old := setting(f, key); old.Len() > 0 {
				names := make([]string, 0, old.Len())
				for _, m := range old.Members() {
					names = append(names, quoted(m.Key))
				}
				v.notes = append(v.notes, model.Note{Code: string(model.FindingDeprecatedKey), Path: f.Path, Line: old.Line(),
					Text: fmt.Sprintf("%s in %s gives no server any more (%s): VS Code moves them to mcp.json once, and then reads only that", key, v.tilde(f.Path), someNames(names))})
			}
		}
		if x := setting(f, "chat.mcp.access"); x.Kind() == jsonc.String {
			v.access, _ = x.Str()
			v.accessAt = f.At("chat.mcp.access", x)
		} else if x := setting(f, "chat.mcp.enabled"); x.Kind() == jsonc.Bool {
			v.access = "all"
			if on, _ := x.Bool(); !on {
				v.access = "none"
			}
			v.accessAt = f.At("chat.mcp.enabled", x)
		}
		if word, ok := setting(f, "chat.mcp.collisionBehavior").Str(); ok {
			v.suffix = word == "suffix"
		}
		if place.scope != model.ScopeUser {
			continue
		}
		if on, ok := setting(f, "security.workspace.trust.enabled").Bool(); ok && !on {
			v.trustOff = true
		}
		if x := setting(f, "chat.mcp.autostart"); x.Kind() == jsonc.String || x.Kind() == jsonc.Bool {
			if word, _ := x.Str(); word == "never" {
				v.notes = append(v.notes, model.Note{Code: "autostart-off", Path: f.Path, Line: x.Line(),
					Text: "chat.mcp.autostart is never: servers load when they are started by hand, or have been before"})
			}
		}
		if on, _ := setting(f, "chat.mcp.discovery.enabled").Bool(); on {
			v.notes = append(v.notes, model.Note{Code: "discovery-on", Path: f.Path, Line: setting(f, "chat.mcp.discovery.enabled").Line(),
				Text: "chat.mcp.discovery.enabled is set: VS Code also offers the servers of Claude Desktop, Windsurf and Cursor, which this column does not list"})
		}
	}
}

// readDatabases reads trust and switches.
func (v *vscode) readDatabases(present, folderMatters bool) {
	v.enabled, v.enabledAt = map[string]bool{}, map[string]model.Location{}
	if folderMatters {
		v.trusted = v.trust()
	}
	if !present {
		return
	}
	profile := v.global()
	if v.profile != v.user {
		profile = filepath.Join(v.profile, "globalStorage", "state.vscdb")
	}
	for _, path := range []string{profile, v.workspace()} { // the folder's beats the user's
		if path == "" {
			continue
		}
		const key = "mcp.enablement"
		values, ok := v.r.itemTable(path, model.ScopeUser, key)
		v.unread = v.unread || !ok && v.r.Exists(path)
		for _, pair := range values[key].Elements() {
			if p := pair.Elements(); len(p) == 2 {
				id, isText := p[0].Str()
				if on, ok := p[1].Bool(); ok && isText {
					v.enabled[id], v.enabledAt[id] = on, inDatabase(path, key)
				}
			}
		}
	}
}

// serversFile reads a mcp.json of VS Code. One mistake in its text, or an entry that is no object, and none of it counts.
func (v *vscode) serversFile(path string, scope model.Scope, prefix string) []vscodeEntry {
	f := v.r.Read(path, scope, 0)
	if !f.OK() || trimJS(string(f.Data)) == "" {
		return nil
	}
	v.r.ParseJSON(f, vscodeJSON)
	if f.Status == model.FileMalformed {
		lost := v.r.Recover(f)
		return v.refused(f, v.entries(lost, prefix, scope))
	}
	root := f.Root()
	servers := root.Get("servers")
	if wrong := root.Get("mcpServers"); wrong.Exists() && wrong.Kind() == jsonc.Object {
		v.notes = append(v.notes, model.Note{Code: string(model.FindingWrongKey), Path: path, Line: wrong.Line(),
			Text: v.tilde(path) + ` has "mcpServers"; VS Code reads "servers" here, so these give no server`})
	}
	if servers.Exists() && servers.Kind() != jsonc.Object && servers.Kind() != jsonc.Null {
		v.notes = append(v.notes, model.Note{Code: string(model.FindingWrongType), Path: path, Line: servers.Line(),
			Text: "servers of " + v.tilde(path) + " is " + typeWord(servers) + ", not an object: it gives no server"})
	}
	for _, m := range servers.Members() {
		if kind := m.Value.Kind(); !m.Shadowed && kind != jsonc.Object && kind != jsonc.Array {
			v.r.Refuse(f, f.Member("servers."+JoinKey(m.Key), m), fmt.Sprintf("the entry %s is %s, not an object", quoted(m.Key), typeWord(m.Value)))
			return v.refused(f, v.entries(f, prefix, scope))
		}
	}
	return v.entries(f, prefix, scope)
}

// refused makes all entries of a file errors.
func (v *vscode) refused(f *ConfigFile, entries []vscodeEntry) []vscodeEntry {
	reason := &model.Reason{Code: model.ReasonFileRefused, DecidedBy: f.Location(), Text: fmt.Sprintf("VS Code rejects %s as a whole: %s", v.tilde(f.Path), f.Note)}
	v.notes = append(v.notes, model.Note{Code: "file-dropped", Path: f.Path, Line: reason.DecidedBy.Line, Text: reason.Text})
	for i := range entries {
		entries[i].fault = reason
	}
	return entries
}

func (v *vscode) entries(f *ConfigFile, prefix string, scope model.Scope) []vscodeEntry {
	// The folder stands in no text of an entry, only in what a launch fills in.
	parsed := Memo(f, fmt.Sprintf("vscode/%s/%t", scope, f.OK()), func() []vscodeEntry {
		inputs := map[string]bool{}
		for _, input := range f.Root().Get("inputs").Elements() {
			if id, ok := input.Get("id").Str(); ok {
				inputs[id] = true
			}
		}
		members := f.Root().Get("servers").Members()
		twice := duplicates(members)
		out := make([]vscodeEntry, 0, len(members))
		for _, m := range members {
			if m.Shadowed {
				continue
			}
			e := vscodeEntry{Entry: model.Entry{Name: m.Key, Scope: scope, Source: f.Member("servers."+JoinKey(m.Key), m)}, id: prefix + "." + m.Key}
			config := m.Value
			if old := config.Get("config"); old.Kind() == jsonc.Object {
				config = old
			}
			e.read(v.env, config, inputs)
			if _, ok := twice[m.Key]; ok {
				e.Findings = append(e.Findings, duplicateFinding(m.Key, m.Line()))
			}
			out = append(out, e)
		}
		return out
	})
	return slices.Clone(parsed)
}

// read reads the transport part. A type that is neither stdio nor http counts for nothing: a command makes it stdio, else it is
// http, which falls back to the older SSE by itself.
func (e *vscodeEntry) read(env *Env, c jsonc.Value, inputs map[string]bool) {
	command, _ := c.Get("command").Str()
	address, _ := c.Get("url").Str()
	typ, _ := c.Get("type").Str()
	remote := command == ""
	if typ == "stdio" || typ == "http" {
		remote = typ == "http"
	}
	d := &model.Definition{Transport: model.TransportStdio}
	if remote {
		d.Transport, d.URL = model.TransportHTTP, model.NewSecret(address)
		d.Headers = looseMap(c.Get("headers"))
	} else {
		d.Command = command
		for _, a := range c.Get("args").Elements() {
			if s, ok := a.Str(); ok {
				d.Args = append(d.Args, model.NewSecret(s))
			}
		}
		d.Env = looseMap(c.Get("env"))
		d.Cwd, _ = c.Get("cwd").Str()
	}
	e.Definition = d
	e.invalid(remote, command, address)
	add := func(code model.FindingCode, severity model.Severity, at jsonc.Value, text string) {
		e.Findings = append(e.Findings, model.Finding{Code: code, Severity: severity, Line: at.Line(), Text: text})
	}
	if x := c.Get("url"); x.Exists() && !remote {
		add(model.FindingConflictingKeys, model.Warning, x, "the url beside a command is ignored")
	}
	if x := c.Get("command"); x.Exists() && remote && address != "" {
		add(model.FindingConflictingKeys, model.Warning, x, "the command is ignored: the type is http")
	}
	for _, key := range []string{"serverUrl", "httpUrl"} {
		if x := c.Get(key); x.Exists() {
			add(model.FindingUnknownKey, model.Warning, x, key+" is not read by VS Code: its key is url")
		}
	}
	for _, key := range []string{"disabled", "enabled"} {
		if x := c.Get(key); x.Exists() {
			add(model.FindingUselessKey, model.Warning, x, key+" does nothing in VS Code: its switch is in a database")
		}
	}
	if x := c.Get("envFile"); x.Exists() && !remote {
		add(model.FindingReferencedFile, model.Info, x, "it names an envFile, which is read at a start only")
	}
	if e.root {
		e.Findings = append(e.Findings, strangeReferences("VS Code in .mcp.json", d, noReference)...)
	} else {
		e.Findings = append(e.Findings, strangeReferences("VS Code", d, vscodeTakes)...)
	}
	var seen []string
	for _, text := range definitionTexts(d) {
		for _, m := range vscodeVariable.FindAllStringSubmatch(text, -1) {
			ref := m[1] + ":" + m[2]
			if slices.Contains(seen, ref) {
				continue
			}
			seen = append(seen, ref)
			_, set := env.Lookup(m[2])
			switch {
			case e.root:
			case m[1] == "env" && !set:
				e.Findings = append(e.Findings, unsetFinding(ref, "VS Code puts an empty text in its place", 0))
			case m[1] == "input" && inputs[m[2]]:
				e.Findings = append(e.Findings, model.Finding{Code: model.FindingUnsetVariable, Severity: model.Info,
					Text: fmt.Sprintf("it needs the input %s, which VS Code asks for at the first start and keeps in the system's secret storage", quotedInput(m[2]))})
			case m[1] == "input":
				e.Findings = append(e.Findings, model.Finding{Code: model.FindingUnsetVariable, Severity: model.Warning,
					Text: fmt.Sprintf("it needs the input %s, and inputs does not declare that one", quotedInput(m[2]))})
			}
		}
	}
}

func (e *vscodeEntry) invalid(remote bool, command, address string) {
	why := ""
	switch {
	case remote && trimJS(address) == "" && command == "":
		why = "it has neither command nor url"
	case remote && trimJS(address) == "":
		why = "its type is http, and url is missing"
	case !remote && trimJS(command) == "":
		why = "its type is stdio, and command is missing"
	default:
		return
	}
	e.fault = &model.Reason{Code: model.ReasonEntryInvalid, DecidedBy: e.Source, Text: why + ": VS Code lists it and cannot start it"}
}

// looseMap reads texts and numbers of an object; null takes a variable away and is left out.
func looseMap(v jsonc.Value) []model.Variable {
	var out []model.Variable
	for _, m := range v.Members() {
		if m.Shadowed {
			continue
		}
		text, ok := m.Value.Str()
		if !ok {
			if text, ok = m.Value.Number(); !ok {
				continue
			}
		}
		out = append(out, model.Variable{Name: m.Key, Value: model.NewSecret(text)})
	}
	return out
}

// rootFile reads .mcp.json in the folder: the form of Claude Code, or a bare map. A broken file is dropped; an entry that is
// none is skipped, the others stay.
func (v *vscode) rootFile(path string) []vscodeEntry {
	f := v.r.ReadJSON(path, model.ScopeProject, 0, vscodeJSON)
	key := "mcpServers."
	read := func(f *ConfigFile) []vscodeEntry {
		servers := f.Root().Get("mcpServers")
		if !servers.Exists() {
			servers, key = f.Root(), ""
		}
		parsed := Memo(f, fmt.Sprintf("vscode/root/%t", f.OK()), func() []vscodeEntry {
			members := servers.Members()
			twice := duplicates(members)
			out := make([]vscodeEntry, 0, len(members))
			for _, m := range members {
				if m.Shadowed {
					continue
				}
				e := vscodeEntry{Entry: model.Entry{Name: m.Key, Scope: model.ScopeProject, Source: f.Member(key+JoinKey(m.Key), m)}, id: "workspace-dot-mcp.0." + m.Key, root: true}
				e.readRoot(v.env, m.Value)
				if _, ok := twice[m.Key]; ok {
					e.Findings = append(e.Findings, duplicateFinding(m.Key, m.Line()))
				}
				out = append(out, e)
			}
			return out
		})
		return slices.Clone(parsed)
	}
	switch f.Status {
	case model.FileRead:
	case model.FileMalformed:
		if lost := v.r.Recover(f); lost.Root().Get("mcpServers").Exists() {
			return v.refused(f, read(lost))
		}
		return v.refused(f, nil)
	default:
		return nil
	}
	root := f.Root()
	servers := root.Get("mcpServers")
	switch {
	case root.Kind() != jsonc.Object:
		v.r.Refuse(f, f.At("", root), "the top level is "+typeWord(root)+", not an object")
		return v.refused(f, nil)
	case servers.Exists() && servers.Kind() != jsonc.Object:
		v.r.Refuse(f, f.At("mcpServers", servers), "mcpServers is "+typeWord(servers)+", not an object")
		return v.refused(f, nil)
	}
	return read(f)
}

// readRoot reads an entry of .mcp.json.
func (e *vscodeEntry) readRoot(env *Env, c jsonc.Value) {
	skip := func(format string, args ...any) {
		e.fault = &model.Reason{Code: model.ReasonEntrySkipped, DecidedBy: e.Source, Text: fmt.Sprintf(format, args...) + ": VS Code skips it"}
	}
	if c.Kind() != jsonc.Object {
		skip("the entry is %s, not an object", typeWord(c))
		return
	}
	e.read(env, c, nil)
	typ, hasType := c.Get("type").Str()
	if !hasType {
		typ = "stdio"
		if c.Get("command").Kind() != jsonc.String {
			typ = "http"
		}
	}
	e.fault = nil
	switch typ {
	case "stdio", "local":
		e.Definition.Transport = model.TransportStdio
		if command, _ := c.Get("command").Str(); trimJS(command) == "" {
			skip("it has no command")
		}
	case "http", "sse", "streamable-http":
		e.Definition.Transport = model.TransportHTTP
		if address, _ := c.Get("url").Str(); trimJS(address) == "" {
			skip("it has neither command nor url")
		}
	default:
		skip("its type is none that VS Code knows")
	}
}

// cells compares the files name by name. The folder's mcp.json replaces the user's entry of the same name. Of what is left
// with one name, letter case aside, VS Code keeps one on: the folder's, then that of .mcp.json, then the user's, trusted or not
// (mcpService.ts, enablement.ts).
func (v *vscode) cells(user, folder, root []vscodeEntry) []*model.Cell {
	var order []string
	mine := map[string]*model.Cell{}
	for _, list := range [][]vscodeEntry{folder, user} {
		for i := range list {
			e := &list[i]
			if c := mine[e.Name]; c == nil {
				mine[e.Name] = v.decide(e)
				order = append(order, e.Name)
			} else if c.Decision == model.DecisionCannot && e.fault == nil && c.Reason.Code == model.ReasonFileRefused {
				// a rejected file displaces nothing
				c2 := v.decide(e)
				c2.Pending = append(c2.Pending, model.Pending{Entry: c.Entry, State: model.StateError, Reason: c.Reason})
				mine[e.Name] = c2
			} else {
				c.Replaces = append(c.Replaces, model.Replaced{Scope: e.Scope, Source: e.Source})
			}
		}
	}
	first := map[string]*vscodeEntry{} // who keeps a name
	for _, list := range [][]vscodeEntry{folder, root} {
		for i := range list {
			e := &list[i]
			on, known := v.enabled[e.id]
			if label := strings.ToLower(e.Name); first[label] == nil && e.fault == nil && (on || !known) {
				first[label] = e
			}
		}
	}
	for _, name := range order {
		c := mine[name]
		if other := first[strings.ToLower(name)]; c.Scope == model.ScopeUser && c.Decision == model.DecisionLoads && other != nil {
			v.collides(c, other)
		}
	}
	out := make([]*model.Cell, 0, len(order)+len(root))
	for i := range root {
		e := &root[i]
		c := v.decide(e)
		if other := first[strings.ToLower(e.Name)]; other != nil && other != e && e.fault == nil && c.Decision != model.DecisionOff {
			v.collides(c, other)
		}
		beside := mine[e.Name] // one cell for one name
		switch {
		case beside == nil:
			out = append(out, c)
		case first[strings.ToLower(e.Name)] == e && beside.Scope == model.ScopeUser && !v.suffix:
			c.Replaces = append(c.Replaces, model.Replaced{Scope: beside.Scope, Source: beside.Source})
			c.Pending = append(c.Pending, beside.Pending...)
			mine[e.Name] = c
		default:
			beside.Pending = append(beside.Pending, model.Pending{Entry: c.Entry, State: c.State(), Reason: pendingReason(c)})
		}
	}
	for _, name := range order {
		out = append(out, mine[name])
	}
	for _, c := range out {
		c.Capabilities = v.capabilities(c)
	}
	return out
}

// collides switches a server off whose name another one keeps.
func (v *vscode) collides(c *model.Cell, other *vscodeEntry) {
	if v.suffix {
		return
	}
	if c.Decision == model.DecisionLoads && v.unread {
		c.Decision = model.DecisionUnknown
		c.Reason = model.Reason{Code: model.ReasonSwitchInDatabase, DecidedBy: c.Source,
			Text: fmt.Sprintf("it has the name of %s in %s, letter case aside: VS Code keeps one of them on, and its database, which says which, cannot be read here", quoted(other.Name), v.tilde(other.Source.Path))}
		return
	}
	c.Decision, c.Consent = model.DecisionOff, model.Location{}
	c.Reason = model.Reason{Code: model.ReasonSwitchedOff, DecidedBy: other.Source,
		Text: fmt.Sprintf("VS Code keeps one of the servers of one name on, letter case aside, and %s of %s comes first: chat.mcp.collisionBehavior can be suffix", quoted(other.Name), v.tilde(other.Source.Path))}
}

// pendingReason is the reason of a cell that stands behind another; a plain one needs words.
func pendingReason(c *model.Cell) model.Reason {
	if c.Reason.Code == model.ReasonNone {
		return model.Reason{Code: model.ReasonSwitchInDatabase, DecidedBy: c.Source, Text: "another entry of this name loads"}
	}
	return c.Reason
}

// decide says what becomes of one entry.
func (v *vscode) decide(e *vscodeEntry) *model.Cell {
	if e.fault != nil {
		return cell(e.Entry, model.DecisionCannot, *e.fault)
	}
	switch v.access {
	case "none":
		return cell(e.Entry, model.DecisionOff, model.Reason{Code: model.ReasonBlockedByList, DecidedBy: v.accessAt,
			Text: v.accessAt.Key + " switches all MCP servers of VS Code off: change that setting"})
	case "registry":
		return cell(e.Entry, model.DecisionOff, model.Reason{Code: model.ReasonBlockedByList, DecidedBy: v.accessAt,
			Text: "chat.mcp.access lets in only servers of the registry: change that setting"})
	}
	if on, known := v.enabled[e.id]; known && !on {
		return cell(e.Entry, model.DecisionOff, model.Reason{Code: model.ReasonSwitchedOff, DecidedBy: v.enabledAt[e.id],
			Text: "it is switched off in VS Code's database: switch it on there, under MCP Servers of the extensions view"})
	}
	if e.Scope != model.ScopeProject {
		return cell(e.Entry, model.DecisionLoads, model.Reason{})
	}
	trust := v.trusted
	if v.trustOff {
		trust.decision = model.DecisionLoads
	}
	switch {
	case trust.decision == model.DecisionWaits:
		return cell(e.Entry, model.DecisionWaits, model.Reason{Code: model.ReasonUntrustedFolder, DecidedBy: trust.at,
			Text: "VS Code starts servers of a folder only where the folder is trusted: open it there and trust it"})
	case trust.decision == model.DecisionUnknown:
		at := trust.at
		if at.IsZero() {
			at = e.Source
		}
		return cell(e.Entry, model.DecisionUnknown, model.Reason{Code: model.ReasonTrustInDatabase, DecidedBy: at,
			Text: "it loads where the folder is trusted in VS Code, which is in a database that cannot be read here"})
	case e.root:
		return cell(e.Entry, model.DecisionUnknown, model.Reason{Code: model.ReasonTrustInDatabase, DecidedBy: e.Source,
			Text: "VS Code asks about every definition of .mcp.json, again after each change, and keeps the answer in its database"})
	}
	c := cell(e.Entry, model.DecisionLoads, model.Reason{})
	if v.trustOff {
		c.Findings = append(slices.Clip(c.Findings), repositoryFinding())
	} else {
		c.Consent = trust.at
	}
	return c
}

func (v *vscode) capabilities(c *model.Cell) model.Capabilities {
	caps := model.Capabilities{Toggle: "the switch is in a database that is never written: use VS Code's own", Approve: "not needed, user scope", Login: "not needed"}
	if c.Definition != nil && c.Definition.Transport.Remote() {
		caps.Login = ""
	}
	switch {
	case c.Decision == model.DecisionCannot:
		caps.Toggle, caps.Approve = "the entry does not load: mend it first", "the entry does not load: mend it first"
	case c.Scope == model.ScopeProject:
		caps.Approve = "the trust is in a database that is never written: open the folder in VS Code"
	}
	return caps
}

// vscodeVariable is ${env:NAME} and ${input:id}.
var vscodeVariable = regexp.MustCompile(`\$\{(env|input):([^}]*)\}`)

// vscodeNames are the variables without a prefix that VS Code's resolver knows.
var vscodeNames = []string{"workspaceFolder", "workspaceRoot", "workspaceFolderBasename", "cwd", "userHome", "pathSeparator", "/", "execPath", "extensionInstallFolder",
	"file", "fileWorkspaceFolder", "fileWorkspaceFolderBasename", "relativeFile", "relativeFileDirname", "fileBasename", "fileBasenameNoExtension", "fileDirname",
	"fileDirnameBasename", "fileExtname", "lineNumber", "columnNumber", "selectedText", "defaultBuildTask"}

// vscodeTakes tells what of ${...} VS Code's resolver may fill in: its names, and everything with a prefix.
func vscodeTakes(inside string) bool {
	name, _, prefixed := strings.Cut(inside, ":")
	return prefixed && !strings.HasPrefix(inside[len(name):], ":-") || slices.Contains(vscodeNames, inside)
}

var anyVSCodeVariable = regexp.MustCompile(`\$\{[^}]*\}`)

// fillVSCode fills in the variables that VS Code's resolver knows. Entries of .mcp.json have none.
func fillVSCode(env *Env, e *model.Entry, _ TextPart, text string) (string, []string) {
	if filepath.Base(e.Source.Path) == ".mcp.json" {
		return text, nil
	}
	var unset []string
	filled := anyVSCodeVariable.ReplaceAllStringFunc(text, func(ref string) string {
		name := ref[2 : len(ref)-1]
		switch {
		case strings.HasPrefix(name, "env:"):
			v, ok := env.Lookup(name[4:])
			if !ok {
				unset = append(unset, name[4:])
			}
			return v
		case strings.HasPrefix(name, "input:"):
			unset = append(unset, name)
		case name == "workspaceFolder", name == "workspaceRoot", name == "cwd":
			return env.Project
		case name == "workspaceFolderBasename":
			return filepath.Base(env.Project)
		case name == "userHome":
			return env.Home
		case name == "pathSeparator", name == "/":
			return string(filepath.Separator)
		}
		return ref
	})
	return filled, unset
}

var notVSCodeLabel = regexp.MustCompile(`[^a-z0-9_.-]+`)

// vscodeToolName is mcp_LABEL_TOOL: the label in lower case and cut to 13 characters.
func vscodeToolName(server, tool string) string {
	label := notVSCodeLabel.ReplaceAllString(strings.ToLower(server), "_")
	return "mcp_" + label[:min(len(label), 13)] + "_" + notVSCodeTool.ReplaceAllString(tool, "_")
}

var notVSCodeTool = regexp.MustCompile(`[^A-Za-z0-9_.-]`)
