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

// grokBuild is the registry row of Grok Build. Its rules were observed on 1.0.41 with `grok mcp doctor` and with sessions that
// could not reach their model; what these do not show was read in its source at 19d42e3.
func grokBuild() Harness {
	return Harness{
		Harness: model.Harness{
			ID: "grok", Aliases: []string{"grok-build"}, Title: "Grok Build", Heading: "Grok", Verified: model.VerifiedRun, VersionChecked: "1.0.41",
			BlindSpots: []model.BlindSpot{
				{Code: "managed-config", Text: "servers, requirements and switches that an organisation or the account sends"},
				{Code: "plugins", Text: "servers of plugins"},
				{Code: "session-flags", Text: "--trust and other flags of one session"},
				{Code: "sign-in", Text: "whether a remote server asks for a sign-in"},
			},
		},
		Resolve: resolveGrok,
		Shares:  []string{".mcp.json", ".claude.json", ".cursor/mcp.json"},
		Launch: LaunchRules{
			Class: EnvironmentFull,
			Fill: func(env *Env, _ *model.Entry, _ TextPart, text string) (string, []string) {
				return grokFill(env, text)
			},
			Cwd:      func(env *Env, _ *model.Entry) string { return env.Project },
			ToolName: joinToolName("", "__"),
		},
		Sessions: SessionRules{Programs: []string{"grok"}, Packages: []string{"@xai-official/grok"}, Not: []string{"mcp", "inspect", "plugin", "login", "logout", "update"}, Reload: "press r in /mcps there"},
		Toggle:   toggleGrok,
		Approve:  approveGrok,
	}
}

// grok is one resolve of Grok Build.
type grok struct {
	plainResolve
	home    string // $GROK_HOME or ~/.grok
	start   string // links resolved
	dirs    []string
	user    *ConfigFile
	project []*ConfigFile // nearest first

	off    map[string]model.Location // disabled_mcp_servers
	gated  map[string]bool           // names that a source of the folder defines
	trust  *ConfigFile
	key    string // the folder that is trusted, or would be
	by     model.Location
	waits  bool
	result Result
}

func resolveGrok(env *Env, r *Reader) Result { return grokOf(env, r).result }

func grokOf(env *Env, r *Reader) *grok {
	return keepResolve(r, "grok", func() *grok {
		g := &grok{plainResolve: plainResolve{env: env, r: r, title: "Grok"}, home: env.InHome(".grok"), start: r.RealPath(env.Project),
			off: map[string]model.Location{}, gated: map[string]bool{}}
		if dir := env.Var("GROK_HOME"); dir != "" {
			g.home = filepath.Clean(dir)
		}
		g.resolve()
		return g
	})
}

func (g *grok) resolve() {
	g.dirs = []string{g.start}
	above := Ancestors(g.start)
	if root := gitRoot(g.r, g.start); root != "" {
		if i := slices.Index(above, root); i >= 0 {
			g.dirs = above[:i+1]
		}
	}
	g.user = g.r.ReadTOML(filepath.Join(g.home, "config.toml"), model.ScopeUser)
	user := g.tomlEntries(g.user)
	for _, item := range g.list("disabled_mcp_servers") {
		g.off[item] = g.user.TOMLAt("disabled_mcp_servers")
	}
	var layers [][]plainEntry
	for _, dir := range g.dirs {
		path := joinPath(dir, ".grok/config.toml")
		if path == g.user.Path || g.r.RealPath(path) == g.r.RealPath(g.user.Path) {
			continue
		}
		f := g.r.ReadTOML(path, model.ScopeProject)
		g.project = append(g.project, f)
		entries := g.tomlEntries(f)
		g.gate(entries)
		layers = append(layers, entries)
	}
	layers = append(layers, user)
	layers = append(layers, g.foreign()...)
	cells := g.cells(layers...)
	g.readTrust()
	g.checkUser()
	for _, c := range cells {
		g.decide(c)
	}
	g.result = g.plainResolve.result(cells, g.r.IsDir(g.home))
	g.result.Untrusted = g.waits
	g.strayFiles()
	g.result.Notes = g.notes
}

// checkUser finds what in the user's file keeps a session from starting. The program's own listings start all the same.
func (g *grok) checkUser() {
	if g.user.Status == model.FileMalformed {
		g.broken = &model.Problem{Location: g.user.Location(), Text: "Grok does not start because of " + g.tilde(g.user.Path) + ": " + model.Clean(g.user.Note)}
	}
	if !g.user.OK() {
		return
	}
	tree := g.user.TOML.Tree()
	bad := func(why string, path ...string) {
		if g.broken == nil {
			at := g.user.TOMLAt(path...)
			g.broken = &model.Problem{Location: at, Text: "Grok does not start because of " + g.tilde(g.user.Path) + ": " + JoinKey(path...) + " is no " + why}
		}
	}
	texts := func(v any) bool { _, fits := grokTexts(v); return fits }
	if v, set := tomlAt(tree, "disabled_mcp_servers"); set && !texts(v) {
		bad("list of texts", "disabled_mcp_servers")
	}
	if v, set := tomlAt(tree, "disabled_mcp_tools"); set {
		tools, fits := v.(map[string]any)
		if !fits {
			bad("table", "disabled_mcp_tools")
		}
		for _, name := range g.user.TOML.Keys("disabled_mcp_tools") {
			if fits && !texts(tools[name]) {
				bad("list of texts", "disabled_mcp_tools", name)
			}
		}
	}
	for _, path := range [][]string{{"compat"}, {"compat", "claude"}, {"compat", "cursor"}} {
		if v, set := tomlAt(tree, path...); set {
			if _, fits := v.(map[string]any); !fits {
				bad("table", path...)
			}
		}
		mcps := append(slices.Clone(path), "mcps")
		if v, set := tomlAt(tree, mcps...); set && len(path) == 2 {
			if _, fits := v.(bool); !fits {
				bad("true or false", mcps...)
			}
		}
	}
}

// list reads a list of texts of the user's file.
func (g *grok) list(key string) []string {
	if !g.user.OK() {
		return nil
	}
	v, _ := tomlAt(g.user.TOML.Tree(), key)
	var out []string
	for _, item := range codexList(v) {
		if s, ok := item.(string); ok {
			out = append(out, s)
		}
	}
	return out
}

// setting reads a flag of the user's file.
func (g *grok) setting(path ...string) (value, set bool) {
	if !g.user.OK() {
		return false, false
	}
	v, _ := tomlAt(g.user.TOML.Tree(), path...)
	value, set = v.(bool)
	return value, set
}

// enabled reads a feature: a variable beats the user's file, and it is on without either.
func (g *grok) enabled(variable string, path ...string) bool {
	switch strings.ToLower(strings.TrimSpace(g.env.Var(variable))) {
	case "1", "true", "yes", "on":
		return true
	case "0", "false", "no", "off":
		return false
	}
	if v, set := g.setting(path...); set {
		return v
	}
	return true
}

// gate remembers the names that the folder's own sources define; what is off there does not count.
func (g *grok) gate(entries []plainEntry) {
	for _, e := range entries {
		if e.fault == nil && (e.off == nil || filepath.Ext(e.Source.Path) == ".toml") {
			g.gated[e.Name] = true
		}
	}
}

// foreign reads the files of Claude Code and Cursor, and .mcp.json, the highest first. An entry that is off there does not
// count, so it comes after all others.
func (g *grok) foreign() [][]plainEntry {
	var out [][]plainEntry
	imported, _ := g.setting("claude_compat", "imported")
	strict := jsonc.Options{}
	read := func(f *ConfigFile, keys ...string) []plainEntry {
		if f.OK() && f.Root().Lookup(keys...).Kind() != jsonc.Object { // nothing for Grok in another program's file
			return nil
		}
		return g.servers(f, func(m plainMember) plainEntry { return g.jsonEntry(m) }, keys...)
	}
	claude := g.env.InHome(".claude.json")
	switch {
	case !g.enabled("GROK_CLAUDE_MCPS_ENABLED", "compat", "claude", "mcps"):
		g.r.Ignored(claude, model.ScopeUser, "[compat.claude] switches it off for Grok")
	case imported:
		g.r.Ignored(claude, model.ScopeUser, "its servers were imported into Grok's own file")
	default:
		f := g.r.ReadJSON(claude, model.ScopeUser, 0, strict)
		local := read(f, "projects", g.env.Project, "mcpServers")
		for i := range local {
			local[i].Scope = model.ScopeLocal
			if local[i].off == nil {
				g.gated[local[i].Name] = true
			}
		}
		out = append(out, local, read(f, "mcpServers"))
	}
	cursorProject, cursorUser := joinPath(g.start, ".cursor/mcp.json"), g.env.InHome(".cursor/mcp.json")
	if g.enabled("GROK_CURSOR_MCPS_ENABLED", "compat", "cursor", "mcps") {
		if cursorProject != cursorUser {
			entries := read(g.r.ReadJSON(cursorProject, model.ScopeProject, 0, strict), "mcpServers")
			g.gate(entries)
			out = append(out, entries)
		}
		out = append(out, read(g.r.ReadJSON(cursorUser, model.ScopeUser, 0, strict), "mcpServers"))
	} else {
		g.r.Ignored(cursorProject, model.ScopeProject, "[compat.cursor] switches it off for Grok")
		g.r.Ignored(cursorUser, model.ScopeUser, "[compat.cursor] switches it off for Grok")
	}
	for _, dir := range g.dirs {
		path := filepath.Join(dir, ".mcp.json")
		if imported {
			g.r.Ignored(path, model.ScopeProject, "not read after the servers of Claude Code were imported")
			continue
		}
		entries := read(g.r.ReadJSON(path, model.ScopeProject, 0, strict), "mcpServers")
		g.gate(entries)
		out = append(out, entries)
	}
	var off []plainEntry
	for i, entries := range out {
		on := entries[:0:0]
		for _, e := range entries {
			if e.off != nil && e.fault == nil {
				off = append(off, e)
			} else {
				on = append(on, e)
			}
		}
		out[i] = on
	}
	return append(out, off)
}

// tomlEntries reads the servers of a config.toml. A bad entry is reported and left out, a file that does not parse is lost.
func (g *grok) tomlEntries(f *ConfigFile) []plainEntry {
	if f.Status == model.FileMalformed {
		var entries []plainEntry
		for _, e := range codexLostNames(f) {
			entries = append(entries, plainEntry{Entry: e})
		}
		return g.lost(f, entries)
	}
	if !f.OK() {
		return nil
	}
	parsed := Memo(f, "grok/"+string(f.Scope), func() []plainEntry {
		tree := f.TOML.Tree()
		servers, ok := tree["mcp_servers"].(map[string]any)
		if !ok {
			return nil
		}
		dropped, _ := tomlAt(tree, "disabled_mcp_tools")
		var out []plainEntry
		for _, name := range f.TOML.Keys("mcp_servers") {
			e := plainEntry{Entry: model.Entry{Name: name, Scope: f.Scope, Source: f.TOMLAt("mcp_servers", name)}}
			at := func(key string) model.Location {
				if line := f.TOML.Line("mcp_servers", name, key); line > 0 {
					return f.TOMLAt("mcp_servers", name, key)
				}
				return e.Source
			}
			g.read(&e, servers[name], at)
			if f.Scope == model.ScopeProject {
				e.Findings = append(e.Findings, repositoryFinding())
			} else if list, ok := tomlAt(map[string]any{"x": dropped}, "x", name); ok {
				if tools, ok := codexTexts(list); ok && len(tools) > 0 {
					e.Filter = &model.ToolFilter{Deny: tools, At: f.TOMLAt("disabled_mcp_tools", name)}
				}
			}
			out = append(out, e)
		}
		return out
	})
	return slices.Clone(parsed)
}

func (g *grok) jsonEntry(m plainMember) plainEntry {
	var e plainEntry
	g.read(&e, m.Value.Interface(), func(key string) model.Location { return m.where(m.Value.Get(key)) })
	return e
}

// read reads one entry: a fitting command makes it stdio, else a fitting url makes it remote.
func (g *grok) read(e *plainEntry, value any, at func(key string) model.Location) {
	invalid := func(key, format string, args ...any) {
		e.fault = &model.Reason{Code: model.ReasonEntryInvalid, DecidedBy: at(key), Text: fmt.Sprintf(format, args...) + ": Grok leaves the entry out"}
	}
	table, ok := value.(map[string]any)
	if !ok {
		invalid("", "the entry is no table")
		return
	}
	on := true
	if v, set := table["enabled"]; set {
		if on, ok = v.(bool); !ok {
			invalid("enabled", "enabled must be true or false")
		}
	}
	text := func(key string) (string, bool) {
		v, set := table[key]
		s, ok := v.(string)
		return s, !set || ok
	}
	variables := func(key string) ([]model.Variable, bool) {
		v, set := table[key]
		if !set || v == nil {
			return nil, true
		}
		m, ok := v.(map[string]any)
		values := make(map[string]string, len(m))
		for k, x := range m {
			s, isText := x.(string)
			if !isText {
				return nil, false
			}
			values[k] = s
		}
		return model.Variables(values), ok
	}
	url, urlKey := "", ""
	for _, key := range []string{"url", "urlTemplate", "url_template"} {
		if s, isText := table[key].(string); isText {
			url, urlKey = s, key
			break
		}
	}
	command, isCommand := table["command"].(string)
	args, argsFit := []string(nil), true
	if v, set := table["args"]; set {
		args, argsFit = grokTexts(v)
	}
	env, envFits := variables("env")
	cwd, cwdFits := text("cwd")
	headers, headersFit := variables("headers")
	typ, typeFits := text("type")
	bearer, bearerFits := text("bearer_token_env_var")
	d := &model.Definition{}
	switch {
	case isCommand && argsFit && envFits && cwdFits:
		d.Transport, d.Command, d.Args, d.Env, d.Cwd = model.TransportStdio, command, model.Secrets(args), env, cwd
		e.Definition = d
		if e.fault == nil && on && strings.TrimSpace(command) == "" {
			invalid("command", "the command is blank")
		}
		if urlKey != "" {
			e.Findings = append(e.Findings, model.Finding{Code: model.FindingConflictingKeys, Severity: model.Warning, Line: at(urlKey).Line, Text: "the url beside a command is ignored"})
		}
	case urlKey != "":
		d.Transport = model.TransportHTTP
		if strings.EqualFold(typ, "sse") || strings.HasSuffix(url, "/sse") {
			d.Transport = model.TransportSSE
		}
		d.URL, d.Headers, d.BearerVariable = model.NewSecret(url), headers, bearer
		e.Definition = d
		switch {
		case e.fault != nil:
		case !headersFit:
			invalid("headers", "headers must be a table of texts")
		case !typeFits:
			invalid("type", "type must be a text")
		case !bearerFits:
			invalid("bearer_token_env_var", "bearer_token_env_var must be a text")
		case on && strings.TrimSpace(url) == "":
			invalid(urlKey, "the url is blank")
		}
	default:
		_, hasCommand := table["command"]
		_, hasURL := table["url"]
		switch {
		case e.fault != nil:
		case !hasCommand && !hasURL:
			invalid("", "it has neither command nor url")
		case hasCommand && !isCommand:
			invalid("command", "command must be a text")
		case hasCommand && !argsFit:
			invalid("args", "args must be a list of texts")
		case hasCommand && !envFits:
			invalid("env", "env must be a table of texts")
		case hasCommand:
			invalid("cwd", "cwd must be a text")
		default:
			invalid("url", "url must be a text")
		}
	}
	if v, set := table["setup"]; set && v != nil && e.fault == nil {
		e.Findings = append(e.Findings, model.Finding{Code: model.FindingPartialEntry, Severity: model.Warning, Line: at("setup").Line, Text: "it has a setup: Grok starts it only after a choice that is kept in mcp_preferences.json"})
	}
	d.StartTimeout = grokSeconds(table["startup_timeout_sec"])
	if !on && e.fault == nil {
		e.off = &model.Reason{Code: model.ReasonSwitchedOff, DecidedBy: at("enabled"), Text: "enabled is false in its entry"}
	}
	for _, key := range []string{"disabled", "serverUrl", "httpUrl", "http_headers", "envFile", "env_vars"} {
		if _, set := table[key]; set {
			e.Findings = append(e.Findings, model.Finding{Code: model.FindingUnknownKey, Severity: model.Warning, Line: at(key).Line, Text: key + " is not read by Grok"})
		}
	}
	if e.Definition != nil {
		var unset []string
		for _, t := range definitionTexts(d) {
			_, names := grokFill(g.env, t)
			unset = append(unset, names...)
		}
		if d.BearerVariable != "" {
			if _, set := g.env.Lookup(d.BearerVariable); !set {
				unset = append(unset, d.BearerVariable)
			}
		}
		slices.Sort(unset)
		for _, name := range slices.Compact(unset) {
			e.Findings = append(e.Findings, unsetFinding(name, "the text stays as written", 0))
		}
	}
}

func grokTexts(v any) ([]string, bool) {
	if list, ok := v.([]any); ok {
		out := make([]string, 0, len(list))
		for _, x := range list {
			s, ok := x.(string)
			if !ok {
				return nil, false
			}
			out = append(out, s)
		}
		return out, true
	}
	return nil, false
}

func grokSeconds(v any) time.Duration {
	if n, ok := v.(int64); ok && n > 0 && n < 24*60*60 {
		return time.Duration(n) * time.Second
	}
	return 0
}

var grokVariable = regexp.MustCompile(`\$\$|\$\{([A-Za-z_][A-Za-z0-9_]*)(:-([^}]*))?\}|\$([A-Za-z_][A-Za-z0-9_]*)`)

// grokFill fills in $NAME, ${NAME} and ${NAME:-default}; an unset name stays as written.
func grokFill(env *Env, text string) (string, []string) {
	if !strings.Contains(text, "$") {
		return text, nil
	}
	var unset []string
	filled := grokVariable.ReplaceAllStringFunc(text, func(ref string) string {
		if ref == "$$" {
			return "$"
		}
		m := grokVariable.FindStringSubmatch(ref)
		if v, set := env.Lookup(m[1] + m[4]); set {
			return v
		}
		if m[2] != "" {
			return m[3]
		}
		unset = append(unset, m[1]+m[4])
		return ref
	})
	return filled, unset
}

// readTrust finds whether the folder is trusted, and the line that says so, or would. Trust is the repository's, or without
// one the session's folder's: that of a folder above does not count.
func (g *grok) readTrust() {
	g.trust = g.r.ReadTOML(filepath.Join(g.home, "trusted_folders.toml"), model.ScopeUser)
	g.key = g.start
	if root := gitRoot(g.r, g.start); root != "" {
		if main := g.r.RealPath(worktreeMain(g.r, root)); !g.unsafe(main) {
			g.key = main
		}
	}
	g.by = model.Location{Path: g.trust.Path, Key: JoinKey("folders", g.key, "trusted"), Line: 1}
	if !g.enabled("GROK_FOLDER_TRUST", "folder_trust", "enabled") || g.unsafe(g.key) {
		return
	}
	g.waits = true
	if !g.trustReads() {
		return
	}
	found := false
	for _, folder := range g.trust.TOML.Keys("folders") {
		if slices.Contains(strings.Split(filepath.ToSlash(folder), "/"), "..") || filepath.Clean(folder) != g.key {
			continue
		}
		v, _ := tomlAt(g.trust.TOML.Tree(), "folders", folder, "trusted")
		trusted, _ := v.(bool)
		if !found || !trusted {
			found, g.waits = true, !trusted
			g.by = g.trust.TOMLAt("folders", folder, "trusted")
		}
	}
}

// trustReads tells whether the file of trusted folders counts: one entry that does not fit makes Grok drop all of it.
func (g *grok) trustReads() bool {
	if !g.trust.OK() {
		return false
	}
	v, set := tomlAt(g.trust.TOML.Tree(), "folders")
	folders, ok := v.(map[string]any)
	if !ok {
		if set {
			g.note("file-dropped", g.trust.Path, g.trust.TOML.Line("folders"), g.tilde(g.trust.Path)+" is dropped as a whole: folders is no table")
		}
		return false
	}
	for _, folder := range g.trust.TOML.Keys("folders") {
		entry, _ := folders[folder].(map[string]any)
		_, fits := entry["trusted"].(bool)
		if at, set := entry["decided_at"]; set && fits {
			_, fits = at.(int64)
		}
		if !fits {
			g.note("file-dropped", g.trust.Path, g.trust.TOML.Line("folders", folder), g.tilde(g.trust.Path)+" is dropped as a whole: an entry needs trusted = true or false, and a whole number as decided_at")
			return false
		}
	}
	return true
}

// unsafe tells whether a folder is none that can be trusted: the root, the home folder, a relative path.
func (g *grok) unsafe(folder string) bool {
	return !filepath.IsAbs(folder) || filepath.Dir(folder) == filepath.Clean(folder) || g.r.RealPath(folder) == g.r.RealPath(g.env.Home)
}

func (g *grok) decide(c *model.Cell) {
	if g.broken != nil {
		c.Decision, c.Reason = model.DecisionCannot, model.Reason{Code: model.ReasonFileRefused, DecidedBy: g.broken.Location, Text: g.broken.Text}
		const mend = "a file is refused: mend it first"
		c.Capabilities.Toggle, c.Capabilities.Approve = mend, mend
		return
	}
	if c.Decision == model.DecisionCannot {
		return
	}
	if c.Decision == model.DecisionOff && filepath.Ext(c.Source.Path) == ".json" {
		c.Capabilities.Toggle = "enabled is false in another harness's file: " + g.tilde(c.Source.Path)
	}
	if at, off := g.off[c.Name]; off {
		c.Decision = model.DecisionOff
		c.Reason = model.Reason{Code: model.ReasonSwitchedOff, DecidedBy: at, Text: "its name is in disabled_mcp_servers of " + g.tilde(g.user.Path)}
	}
	own := slices.ContainsFunc(append(slices.Clone(g.project), g.user), func(f *ConfigFile) bool { return f.Path == c.Source.Path })
	if _, listed := g.off[c.Name]; c.Decision == model.DecisionOff && !listed && !own {
		c.Capabilities.Toggle = grokOffElsewhere + g.tilde(c.Source.Path)
	}
	switch {
	case !g.gated[c.Name]:
		c.Capabilities.Approve = "not needed, no file of the folder names it"
	case g.waits:
		c.Capabilities.Approve = ""
		if c.Decision == model.DecisionLoads {
			c.Decision = model.DecisionWaits
			c.Reason = model.Reason{Code: model.ReasonUntrustedFolder, DecidedBy: g.by, Text: "Grok leaves out every name that a file of this folder declares, because the folder is not trusted"}
			if c.Scope == model.ScopeUser {
				c.Reason.Text += ", also where the entry is your own"
			}
		}
	default:
		c.Capabilities.Approve = "the folder is trusted"
		c.Consent = g.by
	}
}

// strayFiles notes files of another program of that name.
func (g *grok) strayFiles() {
	g.stray(filepath.Join(g.home, "user-settings.json"), model.ScopeUser, "of another program called grok, which Grok Build does not read")
	g.stray(joinPath(g.start, ".grok/settings.json"), model.ScopeProject, "of another program called grok, which Grok Build does not read")
	for _, key := range []string{"mcp", "mcpServers", "mcp-servers"} {
		for _, f := range append([]*ConfigFile{g.user}, g.project...) {
			if f.OK() && f.TOML.Has(key) && key != "mcp" {
				g.note(model.FindingWrongKey, f.Path, f.TOML.Line(key), fmt.Sprintf("%s has %q; Grok reads %q", g.tilde(f.Path), key, "mcp_servers"))
			}
		}
	}
}

const grokOffElsewhere = "enabled is false in another harness's file: "

// grokFormat is how its files are edited.
var grokFormat = Format{TOML: true}

// toggleGrok puts the name into disabled_mcp_servers of the user's file, as the program does, which leaves files of the folder
// alone. Where the entry has a switch of its own that one is set.
func toggleGrok(env *Env, r *Reader, cell *model.Cell, on bool) []Option {
	g := grokOf(env, r)
	var own *ConfigFile // the file whose entry has the switch
	for _, f := range append(slices.Clone(g.project), g.user) {
		if f.OK() && f.Path == cell.Source.Path && f.TOML.Has("mcp_servers", cell.Name, "enabled") {
			own = f
		}
	}
	setOwn := func() Edit {
		return Edit{Path: own.Path, Format: grokFormat, Steps: []Step{{StepSet, []string{"mcp_servers", cell.Name, "enabled"}, strconv.FormatBool(on)}}}
	}
	list := func(kind StepKind) Edit {
		return Edit{Path: g.user.Path, Format: grokFormat, Steps: []Step{{kind, []string{"disabled_mcp_servers"}, cell.Name}}}
	}
	inFolder := func(edits ...Edit) Option {
		o := Option{Shared: true, Edits: edits}
		o.Reach, o.Label = projectReach(gitRoot(r, g.start) != "", true)
		return o
	}
	everywhere := func(edits ...Edit) Option {
		return Option{Reach: ReachEverywhere, Label: labelEverywhere, Edits: edits}
	}
	_, listed := g.off[cell.Name]
	switch {
	case !on && own == g.user && own != nil:
		return []Option{everywhere(setOwn())}
	case !on && own != nil:
		return []Option{everywhere(list(StepAppend)), inFolder(setOwn())}
	case !on:
		return []Option{everywhere(list(StepAppend))}
	case own != nil && own != g.user && listed:
		return []Option{inFolder(list(StepRemove), setOwn())}
	case own != nil && own != g.user:
		return []Option{inFolder(setOwn())}
	case own != nil && listed:
		return []Option{everywhere(list(StepRemove), setOwn())}
	case own != nil:
		return []Option{everywhere(setOwn())}
	case listed:
		return []Option{everywhere(list(StepRemove))}
	}
	return []Option{{Reach: ReachEverywhere, Label: labelEverywhere, Unavailable: grokOffElsewhere + g.tilde(cell.Source.Path)}}
}

// approveGrok trusts the folder, or takes that back.
func approveGrok(env *Env, r *Reader, cell *model.Cell, revoke bool) []Option {
	g := grokOf(env, r)
	if !g.gated[cell.Name] || g.unsafe(g.key) {
		return nil
	}
	folder := []string{"folders", g.key}
	edit := func(steps ...Step) []Edit {
		return []Edit{{Path: g.trust.Path, Format: grokFormat, Steps: steps, NewMode: 0o600}}
	}
	if !revoke {
		return []Option{{Reach: ReachHere, Label: labelHere + ", and trust all of it", TrustsFolder: true,
			Edits:  edit(Step{StepSet, append(folder, "trusted"), "true"}),
			LetsIn: "everything else of this folder, now and later: servers, hooks, plugins, agents"}}
	}
	const stops = "Grok drops everything that this folder brings then"
	return []Option{
		{Reach: ReachHere, Label: labelHere, Edits: edit(Step{Kind: StepDelete, Path: folder}), Warning: stops},
		{Reach: ReachHere, Label: labelHere, Edits: edit(Step{StepSet, append(slices.Clone(folder), "trusted"), "false"}), Warning: stops},
	}
}
