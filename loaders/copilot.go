package loaders

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"fusebox/loaders/jsonc"
	"fusebox/model"
)

// copilotCLI is the registry row of GitHub Copilot CLI. Its rules were observed on 1.0.102 with `copilot mcp list`; sessions
// need a sign-in and were not run.
func copilotCLI() Harness {
	return Harness{
		Harness: model.Harness{
			ID: "copilot", Title: "GitHub Copilot CLI", Heading: "Copilot",
			Verified: model.VerifiedRun, VersionChecked: "1.0.102",
			BlindSpots: []model.BlindSpot{
				{Code: "session-flags", Text: "--additional-mcp-config, --enable-mcp-server and --disable-mcp-server of one session"},
				{Code: "built-in-servers", Text: "github-mcp-server and githubiq, which come with the program"},
				{Code: "plugins", Text: "servers of installed plugins"},
				{Code: "remote-policy", Text: "policies that an organisation sends to signed-in users"},
				{Code: "sign-in", Text: "whether a remote server asks for a sign-in"},
			},
		},
		Resolve: func(env *Env, r *Reader) Result { return copilotOf(env, r).result },
		Folders: foldersOfCopilot,
		Toggle:  toggleCopilot,
		Approve: approveCopilot,
		Shares:  []string{".mcp.json"},
		Sessions: SessionRules{Programs: []string{"copilot"}, Packages: []string{"@github/copilot"},
			Not: []string{"app", "config", "help", "init", "instruction", "login", "mcp", "memories", "plugin", "sessions", "skill", "update", "version"}, Reload: "restart Copilot CLI there"},
		Launch: LaunchRules{
			Class:    EnvironmentFull,
			Fill:     fillCopilot,
			ToolName: joinToolName("", "-"),
			Drops:    copilotDrops,
		},
	}
}

// copilot is one resolve of Copilot CLI.
type copilot struct {
	env *Env
	r   *Reader

	dir     string // $COPILOT_HOME or ~/.copilot
	start   string // the session's folder, links resolved
	gitRoot string // "" outside git

	config   *ConfigFile
	trustKey string   // of the list that counts
	trust    []string // folders, links resolved
	settings *ConfigFile
	off      []copilotOff
	wouldOff []copilotOff // what the repository switches off once the folder is trusted
	broken   *model.Problem
	notes    []model.Note
	result   Result
}

// copilotOff is a list of names that are switched off.
type copilotOff struct {
	file       *ConfigFile
	names      map[string]model.Location
	repository bool
}

// copilotEntry is one server of one file.
type copilotEntry struct {
	model.Entry
	fault   *model.Reason // Copilot CLI drops it
	trusted bool          // it lies in a trusted folder, or in no folder that needs trust
}

// copilotOf resolves once for each reader.
func copilotOf(env *Env, r *Reader) *copilot {
	return keepResolve(r, "copilot", func() *copilot {
		c := newCopilot(env, r)
		c.result = c.resolve()
		return c
	})
}

func newCopilot(env *Env, r *Reader) *copilot {
	c := &copilot{env: env, r: r, start: r.RealPath(env.Project), dir: env.InHome(".copilot")}
	if dir := env.Var("COPILOT_HOME"); dir != "" {
		c.dir = filepath.Clean(dir)
		if !filepath.IsAbs(dir) {
			c.dir = filepath.Join(c.start, dir)
		}
	}
	c.gitRoot = gitWorktree(r, c.start)
	return c
}

func (c *copilot) resolve() Result {
	c.readConfig()
	user := c.userEntries()
	workspace := c.workspaceEntries()
	c.readSettings()
	cells := c.cells(workspace, user)
	if c.env.Var("COPILOT_ALLOW_ALL") == "true" {
		consentOfFolder(cells, model.Location{Path: "$COPILOT_ALLOW_ALL", Line: 1})
	} else {
		consentOfFolder(cells, c.trustLocation())
	}
	c.strayFiles()
	waits := slices.ContainsFunc(cells, func(x *model.Cell) bool { return x.Decision == model.DecisionWaits })
	return Result{Cells: cells, Notes: c.notes, Broken: c.broken, Present: c.r.Exists(c.dir), Untrusted: waits && !c.trusted(c.start)}
}

// readConfig reads the trusted folders of config.json. Of its two keys the one that stands last counts, whatever it holds, and
// a list with anything but texts counts for nothing. A file that does not parse trusts nothing.
func (c *copilot) readConfig() {
	c.config = c.r.Peek(filepath.Join(c.dir, "config.json"), model.ScopeUser)
	c.r.ParseJSON(c.config, jsonc.JSONC)
	c.trustKey = "trustedFolders"
	var seen []string
	for _, m := range c.config.Root().Members() { // a key that stands twice is where it stands first
		if (m.Key == "trustedFolders" || m.Key == "trusted_folders") && !slices.Contains(seen, m.Key) {
			seen = append(seen, m.Key)
			c.trustKey = m.Key
		}
	}
	list, _ := c.config.Root().Get(c.trustKey).Strings()
	for _, folder := range list {
		if filepath.IsAbs(folder) {
			c.trust = append(c.trust, c.r.RealPath(folder))
		}
	}
	if v := c.config.Root().Get("disabledMcpServers"); v.Len() > 0 {
		c.wrongPlace(c.config, "disabledMcpServers", v, "settings.json")
	}
}

func (c *copilot) wrongPlace(f *ConfigFile, key string, v jsonc.Value, right string) {
	c.notes = append(c.notes, model.Note{Code: string(model.FindingWrongKey), Path: f.Path, Line: v.Line(),
		Text: fmt.Sprintf("%s in %s does nothing: Copilot CLI reads it in %s", key, c.tilde(f.Path), c.tilde(filepath.Join(c.dir, right)))})
}

// trusted tells whether a folder is trusted: it or one above it is in the list, or a variable trusts all.
func (c *copilot) trusted(dir string) bool {
	if c.env.Var("COPILOT_ALLOW_ALL") == "true" {
		return true
	}
	return slices.ContainsFunc(c.trust, func(folder string) bool { return Within(dir, folder) })
}

// trustLocation is the line that says, or would say, whether the folder is trusted.
func (c *copilot) trustLocation() model.Location {
	if v := c.config.Root().Get(c.trustKey); v.Exists() {
		return c.config.At(c.trustKey, v)
	}
	return model.Location{Path: c.config.Path, Key: "trustedFolders", Line: 1}
}

// readSettings reads what is switched off: the user's list, and in a trusted git repository two files at its root, which are
// strict JSON. A list with anything but texts counts for nothing.
func (c *copilot) readSettings() {
	add := func(f *ConfigFile, repository, counts bool) {
		v := f.Root().Get(copilotOffKey)
		if f.Status == model.FileMalformed && counts {
			c.notes = append(c.notes, model.Note{Code: "switches-not-read", Path: f.Path, Line: f.Location().Line,
				Text: c.tilde(f.Path) + " does not count, so it switches nothing off: " + f.Note})
		}
		if !f.OK() {
			return
		}
		if _, ok := v.Strings(); !ok {
			if v.Exists() && counts {
				c.notes = append(c.notes, model.Note{Code: string(model.FindingWrongType), Path: f.Path, Line: v.Line(),
					Text: "disabledMcpServers of " + c.tilde(f.Path) + " is no list of names: it switches nothing off"})
			}
			return
		}
		off := copilotOff{f, map[string]model.Location{}, repository}
		for _, item := range v.Elements() {
			s, _ := item.Str()
			off.names[s] = f.At("disabledMcpServers", item)
		}
		if counts {
			c.off = append(c.off, off)
		} else {
			c.wouldOff = append(c.wouldOff, off)
		}
	}
	if c.gitRoot != "" {
		for _, name := range []string{"settings.json", "settings.local.json"} {
			path := filepath.Join(c.gitRoot, ".github", "copilot", name)
			f := c.readSettingsFile(path, model.ScopeProject, jsonc.Strict)
			add(f, true, c.trusted(c.start))
			if f.Exists() && !c.trusted(c.start) {
				c.r.Mark(f, model.FileIgnored, "not read in a folder that is not trusted")
			}
		}
	}
	c.settings = c.readSettingsFile(filepath.Join(c.dir, "settings.json"), model.ScopeUser, jsonc.JSONC)
	add(c.settings, false, true)
	for _, key := range []string{"trustedFolders", "trusted_folders"} {
		if v := c.settings.Root().Get(key); v.Len() > 0 {
			c.wrongPlace(c.settings, key, v, "config.json")
		}
	}
}

// userEntries reads the user's file. One that is broken, empty or without mcpServers makes the program refuse everything.
func (c *copilot) userEntries() []copilotEntry {
	f := c.r.ReadJSON(filepath.Join(c.dir, "mcp-config.json"), model.ScopeUser, 0, jsonc.JSONC)
	switch f.Status {
	case model.FileAbsent:
		return nil
	case model.FileRefused:
		c.refuse(f, model.Location{Path: f.Path, Line: 1}, f.Note)
		return nil
	case model.FileMalformed:
		c.refuse(f, f.Location(), f.Note)
		lost := c.r.Recover(f)
		return c.entries(lost, lost.Root().Get("mcpServers"), "mcpServers")
	}
	servers := f.Root().Get("mcpServers")
	if servers.Kind() != jsonc.Object {
		at, why := model.Location{Path: f.Path, Line: 1, Column: 1}, "it has no mcpServers"
		if servers.Exists() {
			at, why = f.At("mcpServers", servers), "mcpServers is "+typeWord(servers)+", not an object"
		}
		c.r.Refuse(f, at, why)
		c.refuse(f, at, why)
		return nil
	}
	return c.entries(f, servers, "mcpServers")
}

func (c *copilot) refuse(f *ConfigFile, at model.Location, why string) {
	c.broken = &model.Problem{Location: at, Text: fmt.Sprintf("Copilot CLI refuses %s, and lists no server at all: %s", c.tilde(f.Path), model.Clean(why))}
}

// workspaceEntries reads the folders' files, nearest first: .mcp.json, or .github/mcp.json where the folder has no
// .mcp.json. In git all folders up to the root count, else only the session's own.
func (c *copilot) workspaceEntries() [][]copilotEntry {
	dirs := []string{c.start}
	above := Ancestors(c.start)
	if i := slices.Index(above, c.gitRoot); i >= 0 {
		dirs = above[:i+1]
	}
	var out [][]copilotEntry
	for _, dir := range dirs {
		plain, fallback := filepath.Join(dir, ".mcp.json"), filepath.Join(dir, ".github", "mcp.json")
		f := c.r.ReadJSON(plain, model.ScopeProject, 0, jsonc.JSONC)
		if f.Exists() {
			c.r.Ignored(fallback, model.ScopeProject, "not read beside a .mcp.json")
		} else {
			f = c.r.ReadJSON(fallback, model.ScopeProject, 0, jsonc.JSONC)
		}
		entries := c.workspaceFile(f)
		trusted := c.trusted(dir)
		for i := range entries {
			entries[i].trusted = trusted
		}
		out = append(out, entries)
	}
	return out
}

// workspaceFile reads one file of a folder. It may leave out the wrapper mcpServers. A broken one is dropped with a warning.
func (c *copilot) workspaceFile(f *ConfigFile) []copilotEntry {
	drop := func(f *ConfigFile, servers jsonc.Value, key string) []copilotEntry {
		text := fmt.Sprintf("%s is dropped as a whole: %s", c.tilde(f.Path), f.Note)
		c.notes = append(c.notes, model.Note{Code: "file-dropped", Path: f.Path, Line: f.Location().Line, Text: text})
		entries := c.entries(f, servers, key)
		for i := range entries {
			entries[i].fault = &model.Reason{Code: model.ReasonFileRefused, DecidedBy: f.Location(), Text: text}
		}
		return entries
	}
	switch f.Status {
	case model.FileRead:
	case model.FileMalformed:
		lost := c.r.Recover(f)
		return drop(lost, lost.Root().Get("mcpServers"), "mcpServers")
	case model.FileRefused:
		return drop(f, jsonc.Value{}, "")
	default:
		return nil
	}
	root := f.Root()
	servers := root.Get("mcpServers")
	switch {
	case root.Kind() != jsonc.Object:
		c.r.Refuse(f, f.At("", root), "the top level is "+typeWord(root)+", not an object")
		return drop(f, jsonc.Value{}, "")
	case servers.Kind() == jsonc.Object:
		return c.entries(f, servers, "mcpServers")
	case servers.Exists():
		c.r.Refuse(f, f.At("mcpServers", servers), "mcpServers is "+typeWord(servers)+", not an object")
		return drop(f, jsonc.Value{}, "")
	}
	if v := root.Get("servers"); v.Kind() == jsonc.Object && !isText(v.Get("command")) && !isText(v.Get("url")) {
		c.notes = append(c.notes, model.Note{Code: string(model.FindingWrongKey), Path: f.Path, Line: v.Line(),
			Text: c.tilde(f.Path) + ` has "servers"; Copilot CLI reads "mcpServers"`})
	}
	return c.entries(f, root, "")
}

// entries reads a map of servers. A name in an unwrapped file whose value is no object is another setting, not a server; so are
// servers and inputs of other harnesses' files, unless they give a command or a URL.
func (c *copilot) entries(f *ConfigFile, servers jsonc.Value, key string) []copilotEntry {
	parsed := Memo(f, fmt.Sprintf("copilot/%s/%s/%t", f.Scope, key, f.OK()), func() []copilotEntry {
		foreign := func(m jsonc.Member) bool {
			return (m.Key == "servers" || m.Key == "inputs") && !isText(m.Value.Get("command")) && !isText(m.Value.Get("url"))
		}
		members := servers.Members()
		twice := duplicates(members)
		out := make([]copilotEntry, 0, len(members))
		for _, m := range members {
			bare := key == ""
			if m.Shadowed || bare && (m.Value.Kind() != jsonc.Object || foreign(m)) {
				continue
			}
			path := JoinKey(m.Key)
			if !bare {
				path = key + "." + path
			}
			e := c.entry(m, f.Member(path, m), f.Scope)
			if _, ok := twice[m.Key]; ok {
				e.Findings = append(e.Findings, duplicateFinding(m.Key, m.Line()))
			}
			out = append(out, e)
		}
		return out
	})
	out := slices.Clone(parsed)
	for i := range out {
		out[i].trusted = true
	}
	return out
}

// entry reads one server. One that does not fit is dropped: silently in the user's file, with a warning elsewhere.
func (c *copilot) entry(m jsonc.Member, at model.Location, scope model.Scope) copilotEntry {
	e := copilotEntry{Entry: model.Entry{Name: m.Key, Scope: scope, Source: at}}
	drop := func(bad jsonc.Value, format string, args ...any) {
		by := at
		if bad.Exists() {
			by.Line = bad.Line()
		}
		e.fault = &model.Reason{Code: model.ReasonEntryInvalid, DecidedBy: by, Text: fmt.Sprintf(format, args...) + ": Copilot CLI drops this entry"}
	}
	v := m.Value
	if v.Kind() != jsonc.Object {
		drop(v, "the entry is %s, not an object", typeWord(v))
		return e
	}
	transport, bad, why := copilotTransport(v)
	if why == "" {
		bad, why = copilotMisfit(v, transport.Remote())
	}
	d := &model.Definition{Transport: transport}
	if transport.Remote() {
		u, _ := v.Get("url").Str()
		d.URL = model.NewSecret(u)
		d.Headers, _ = stringMap(v.Get("headers"))
	} else {
		d.Command, _ = v.Get("command").Str()
		args, _ := v.Get("args").Strings()
		d.Args = model.Secrets(args)
		d.Env, _ = stringMap(v.Get("env"))
		d.Cwd, _ = v.Get("cwd").Str()
	}
	if ms := v.Get("timeout"); ms.Kind() == jsonc.Number && why == "" {
		raw, _ := ms.Number()
		n, _ := strconv.ParseFloat(raw, 64)
		if n < float64(24*time.Hour/time.Millisecond) { // beyond a day there is no limit worth the name
			d.StartTimeout = time.Duration(n) * time.Millisecond
		}
	}
	if transport != model.TransportUnknown {
		e.Definition = d
	}
	if list, ok := v.Get("tools").Strings(); ok && v.Get("tools").Kind() == jsonc.Array && !slices.Contains(list, "*") {
		e.Filter = &model.ToolFilter{Limited: true, Allow: list, At: model.Location{Path: at.Path, Key: at.Key + ".tools", Line: v.Get("tools").Line()}}
	}
	switch {
	case m.Key == "":
		drop(jsonc.Value{}, "the name is empty")
	case why != "":
		drop(bad, "%s", why)
	}
	c.entryFindings(&e, v)
	return e
}

// copilotTransport reads type; without one a command makes the entry stdio, else a url makes it http.
func copilotTransport(v jsonc.Value) (t model.Transport, bad jsonc.Value, why string) {
	typ := v.Get("type")
	switch {
	case !typ.Exists() && v.Get("command").Exists():
		return model.TransportStdio, bad, ""
	case !typ.Exists() && v.Get("url").Exists():
		return model.TransportHTTP, bad, ""
	case !typ.Exists():
		return model.TransportUnknown, v, "it has neither command nor url"
	}
	switch s, _ := typ.Str(); s {
	case "local", "stdio":
		return model.TransportStdio, bad, ""
	case "http", "streamable-http":
		return model.TransportHTTP, bad, ""
	case "sse":
		return model.TransportSSE, bad, ""
	}
	return model.TransportUnknown, typ, "type must be local, stdio, http or sse"
}

// copilotMisfit names the first value that does not fit; why is empty when all do.
func copilotMisfit(v jsonc.Value, remote bool) (bad jsonc.Value, why string) {
	for _, c := range copilotShape {
		if c.of == copilotLocal && remote || c.of == copilotRemote && !remote {
			continue
		}
		if bad, why := misfit(v, []valueCheck{c.valueCheck}); why != "" {
			return bad, why
		}
	}
	return jsonc.Value{}, ""
}

// copilotKind is which entries have a key.
type copilotKind uint8

const (
	copilotAny copilotKind = iota
	copilotLocal
	copilotRemote
)

// copilotCheck is one key of an entry and what its value must be.
type copilotCheck struct {
	of copilotKind
	valueCheck
}

// copilotShape holds the checks whose failure was seen to drop an entry.
var copilotShape = [...]copilotCheck{
	{copilotLocal, valueCheck{"command", true, "a text", isText}},
	{copilotLocal, valueCheck{"args", false, "a list of texts", isTextList}},
	{copilotLocal, valueCheck{"env", false, "an object of texts", isTextMap}},
	{copilotLocal, valueCheck{"cwd", false, "a text", isText}},
	{copilotRemote, valueCheck{"url", true, "a URL with a scheme", copilotURL}},
	{copilotRemote, valueCheck{"headers", false, "an object of texts", isTextMap}},
	{copilotRemote, valueCheck{"oauthClientId", false, "a text", isText}},
	{copilotRemote, valueCheck{"oauthGrantType", false, "a text", isText}},
	{copilotRemote, valueCheck{"oauthPublicClient", false, "true or false", isFlag}},
	{copilotRemote, valueCheck{"auth", false, "true, false or an object", copilotFlagOrObject}},
	{copilotAny, valueCheck{"tools", false, "a list of texts", isTextList}},
	{copilotAny, valueCheck{"timeout", false, "a whole number of milliseconds above 0", copilotPositive}},
	{copilotAny, valueCheck{"disabled", false, "true or false", isFlag}},
	{copilotAny, valueCheck{"oidc", false, "true, false or an object", copilotFlagOrObject}},
	{copilotAny, valueCheck{"deferTools", false, "auto or never", isWord("auto", "never")}},
	{copilotAny, valueCheck{"filterMapping", false, "none, markdown or hidden_characters", copilotMapping}},
}

func copilotFlagOrObject(v jsonc.Value) bool {
	return v.Kind() == jsonc.Bool || v.Kind() == jsonc.Object
}

func copilotPositive(v jsonc.Value) bool {
	raw, ok := v.Number()
	n, err := strconv.ParseFloat(raw, 64)
	return ok && err == nil && n > 0 && n == float64(int64(n))
}

func copilotMapping(v jsonc.Value) bool {
	known := isWord("none", "markdown", "hidden_characters")
	for _, m := range v.Members() {
		if !m.Shadowed && !known(m.Value) {
			return false
		}
	}
	return v.Kind() == jsonc.Object || known(v)
}

// copilotURL tells whether a text is a URL by itself: it has a scheme, and the schemes of the web need a host.
func copilotURL(v jsonc.Value) bool {
	text, ok := v.Str()
	return ok && absoluteURL(text)
}

// absoluteURL tells whether the URL class of browsers and Node takes a text without a base.
func absoluteURL(text string) bool {
	text = strings.TrimFunc(text, func(r rune) bool { return r <= ' ' })
	scheme, rest, found := strings.Cut(text, ":")
	if !found || !urlScheme.MatchString(scheme) {
		return false
	}
	if !slices.Contains([]string{"http", "https", "ws", "wss", "ftp"}, strings.ToLower(scheme)) {
		return true
	}
	rest = strings.TrimLeft(rest, `/\`)
	if end := strings.IndexAny(rest, `/\?#`); end >= 0 {
		rest = rest[:end]
	}
	host := rest[strings.LastIndexByte(rest, '@')+1:]
	if strings.HasPrefix(host, "[") {
		end := strings.IndexByte(host, ']')
		return end > 1
	}
	host, port, _ := strings.Cut(host, ":")
	n, err := strconv.ParseUint(port, 10, 16)
	return host != "" && !strings.ContainsAny(host, " <>^|%") && (port == "" || err == nil && n <= 65535)
}

var urlScheme = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9+.-]*$`)

func (c *copilot) entryFindings(e *copilotEntry, v jsonc.Value) {
	add := func(code model.FindingCode, severity model.Severity, at jsonc.Value, text string) {
		e.Findings = append(e.Findings, model.Finding{Code: code, Severity: severity, Line: at.Line(), Text: text})
	}
	for _, key := range []string{"disabled", "enabled"} {
		if k := v.Get(key); k.Exists() {
			add(model.FindingUselessKey, model.Warning, k, fmt.Sprintf("%s in an entry means nothing to Copilot CLI: its switch is disabledMcpServers in %s",
				key, c.tilde(filepath.Join(c.dir, "settings.json"))))
		}
	}
	if e.Definition == nil {
		return
	}
	remote := e.Definition.Transport.Remote()
	if u := v.Get("url"); u.Exists() && !remote {
		add(model.FindingConflictingKeys, model.Warning, u, "the url beside a command is ignored")
	}
	if k := v.Get("command"); k.Exists() && remote {
		add(model.FindingConflictingKeys, model.Warning, k, "the command of a remote entry is ignored")
	}
	for _, key := range []string{"httpUrl", "serverUrl", "envFile"} {
		if k := v.Get(key); k.Exists() {
			add(model.FindingUnknownKey, model.Warning, k, key+" is not read by Copilot CLI")
		}
	}
	for _, name := range unsetBraced(c.env, definitionTexts(e.Definition)...) {
		e.Findings = append(e.Findings, unsetFinding(name, "the server may get the text ${"+name+"} instead of a value", 0))
	}
}

// fillCopilot fills in ${NAME}, ${NAME:-default} and a text that is nothing but $NAME. When it does that was not observed;
// its change log tells of env values.
func fillCopilot(env *Env, _ *model.Entry, _ TextPart, text string) (string, []string) {
	if name, ok := strings.CutPrefix(text, "$"); ok && plainVariable.MatchString(name) {
		if v, set := env.Lookup(name); set {
			return v, nil
		}
		return text, []string{name}
	}
	return expandBraced(env, text), unsetBraced(env, text)
}

func copilotDrops(f *model.ToolFilter, _, tool string) bool {
	return f.Limited && !slices.Contains(f.Allow, tool) && !slices.Contains(f.Allow, "*")
}

// cells compares the files name by name: the nearest trusted folder's, then the user's. An entry that is dropped or that
// waits leaves the next one running.
func (c *copilot) cells(workspace [][]copilotEntry, user []copilotEntry) []*model.Cell {
	byName := map[string][]*copilotEntry{} // highest first
	var order []string
	for _, list := range append(slices.Clone(workspace), user) {
		for i := range list {
			name := list[i].Name
			if byName[name] == nil {
				order = append(order, name)
			}
			byName[name] = append(byName[name], &list[i])
		}
	}
	out := make([]*model.Cell, 0, len(order))
	for _, name := range order {
		out = append(out, c.cell(byName[name]))
	}
	return out
}

func (c *copilot) cell(entries []*copilotEntry) *model.Cell {
	untrusted := func(e *copilotEntry) model.Reason {
		return model.Reason{Code: model.ReasonUntrustedFolder, DecidedBy: c.trustLocation(),
			Text: "Copilot CLI does not look at " + c.tilde(e.Source.Path) + " before its folder is trusted"}
	}
	var winner, waiting *copilotEntry
	var replaces []model.Replaced
	var pending []model.Pending
	for _, e := range entries {
		switch {
		case e.fault != nil:
			pending = append(pending, model.Pending{Entry: e.Entry, State: model.StateError, Reason: *e.fault})
		case !e.trusted:
			if waiting == nil {
				waiting = e
			}
			pending = append(pending, model.Pending{Entry: e.Entry, State: model.StateUnapproved, Reason: untrusted(e)})
		case winner == nil:
			winner = e
		default:
			replaces = append(replaces, model.Replaced{Scope: e.Scope, Source: e.Source})
		}
	}
	var out *model.Cell
	without := func(e model.Entry) {
		pending = slices.DeleteFunc(pending, func(p model.Pending) bool { return p.Source == e.Source })
	}
	switch {
	case winner != nil:
		out = cell(winner.Entry, model.DecisionLoads, model.Reason{})
	case waiting != nil:
		out = cell(waiting.Entry, model.DecisionWaits, untrusted(waiting))
		without(out.Entry)
	default:
		out = cell(pending[0].Entry, model.DecisionCannot, pending[0].Reason)
		without(out.Entry)
	}
	out.Replaces, out.Pending = replaces, pending
	byRepository := c.applySwitches(out)
	out.Capabilities = c.capabilities(out, waiting != nil, byRepository)
	return out
}

// applySwitches lays the lists of what is off over a cell, and tells whether the repository's own did it.
func (c *copilot) applySwitches(out *model.Cell) (byRepository bool) {
	if c.broken != nil {
		out.Decision = model.DecisionCannot
		out.Reason = model.Reason{Code: model.ReasonFileRefused, Text: c.broken.Text, DecidedBy: c.broken.Location}
		return false
	}
	if out.Decision == model.DecisionCannot {
		return false
	}
	for _, off := range c.off {
		at, ok := off.names[out.Name]
		if !ok {
			continue
		}
		out.Decision = model.DecisionOff
		if off.repository {
			out.Reason = model.Reason{Code: model.ReasonBlockedByList, DecidedBy: at,
				Text: "the repository's own settings switch it off, and nothing outside of them switches it on: " + c.tilde(off.file.Path)}
			return true
		}
		out.Reason = model.Reason{Code: model.ReasonSwitchedOff, DecidedBy: at, Text: "its name is in disabledMcpServers of " + c.tilde(off.file.Path)}
		return false
	}
	return false
}

// capabilities says what can be done with a cell. waits tells whether an entry of the name lies in a folder that is not
// trusted.
func (c *copilot) capabilities(out *model.Cell, waits, byRepository bool) model.Capabilities {
	caps := model.Capabilities{Approve: "the folder is trusted", Login: "not needed"}
	if out.Definition != nil && out.Definition.Transport.Remote() {
		caps.Login = ""
	}
	switch {
	case c.broken != nil:
		caps.Toggle, caps.Approve = "a file is refused: mend it first", "a file is refused: mend it first"
		return caps
	case out.Decision == model.DecisionCannot:
		caps.Toggle, caps.Approve = "the entry does not load: mend it first", "the entry does not load: mend it first"
		return caps
	case waits:
		caps.Approve = c.trustRefused(out.Name)
	case out.Scope == model.ScopeUser:
		caps.Approve = "not needed, user scope"
	}
	if byRepository {
		caps.Toggle = "the repository's settings switch it off: only they can switch it on"
	} else {
		caps.Toggle = copilotUnwritable(c.settings)
	}
	return caps
}

// strayFiles notes files that look right and are not read.
func (c *copilot) strayFiles() {
	stray := func(path string, scope model.Scope, why string) {
		if c.r.Ignored(path, scope, why) {
			c.notes = append(c.notes, model.Note{Code: string(model.FindingFileNotRead), Path: path, Line: 1, Text: c.tilde(path) + ": " + why})
		}
	}
	stray(filepath.Join(c.start, ".vscode", "mcp.json"), model.ScopeProject, "not read by Copilot CLI any more")
	stray(filepath.Join(c.start, ".copilot", "mcp-config.json"), model.ScopeProject, "not read by Copilot CLI: a project's servers belong into .mcp.json")
	if xdg := c.env.Var("XDG_CONFIG_HOME"); xdg != "" {
		for _, name := range []string{".copilot", "copilot"} {
			stray(filepath.Join(xdg, name, "mcp-config.json"), model.ScopeUser, "not read by Copilot CLI: it does not look at XDG_CONFIG_HOME")
		}
	}
	if c.dir != c.env.InHome(".copilot") {
		stray(c.env.InHome(".copilot/mcp-config.json"), model.ScopeUser, "not read by Copilot CLI while COPILOT_HOME is set")
	}
	if c.gitRoot == "" {
		for _, dir := range Ancestors(c.start)[1:] {
			if dir == c.env.Home || !Within(dir, c.env.Home) {
				break
			}
			c.r.Ignored(filepath.Join(dir, ".mcp.json"), model.ScopeProject, "outside git only the session's own folder counts")
		}
	}
}

func (c *copilot) tilde(path string) string { return model.Tilde(path, c.env.Home) }
