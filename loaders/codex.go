package loaders

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"fusebox/loaders/jsonc"
	"fusebox/loaders/tomledit"
	"fusebox/model"
)

// codexCLI is the registry row of Codex. Its rules were observed on Codex CLI 0.171.0; where only the source near that
// version tells, the comment says so.
func codexCLI() Harness {
	return Harness{
		Harness: model.Harness{
			ID: "codex", Title: "Codex", Heading: "Codex",
			Verified: model.VerifiedRun, VersionChecked: "0.171.0", SignIn: "codex mcp login NAME",
			BlindSpots: []model.BlindSpot{
				{Code: "session-flags", Text: "-c, --profile and other flags of one session"},
				{Code: "account-connectors", Text: "apps and plugins of a ChatGPT account bring servers of their own"},
				{Code: "remote-policy", Text: "configuration and requirements that an organisation sends to signed-in users or to managed Macs"},
				{Code: "keyring", Text: "OAuth tokens in the keyring of the system"},
			},
		},
		Resolve: resolveCodex,
		Folders: foldersOfCodex,
		Launch: LaunchRules{
			Class:    EnvironmentShort,
			Inherit:  inheritCodex,
			Speaks:   speaksCodex,
			ToolName: codexToolName,
		},
		Sessions: SessionRules{Programs: []string{"codex"}, Packages: []string{"@openai/codex"}, Not: []string{"mcp", "login", "logout", "completion"}, Reload: "restart Codex there"},
		Toggle:   toggleCodex,
		Approve:  approveCodex,
	}
}

// codex is one resolve of Codex.
type codex struct {
	env *Env
	r   *Reader

	home string // $CODEX_HOME or ~/.codex
	cwd  string // the folder of the session, links resolved: Codex asks the system for it

	user         *ConfigFile
	layers       []*codexLayer // lowest to highest, untrusted ones included
	requirements *ConfigFile
	allowed      []codexIdentity // of requirements.toml
	restricted   *model.Location // requirements.toml has an mcp_servers table: only what it names may load

	projectRoot string
	repository  []string // root of the git repository: the real path, and as a worktree names it

	lost   []model.Entry // named in files that do not parse
	broken *model.Problem
	notes  []model.Note
	result Result
}

// codexLayer is one config.toml that takes part in the merge, or would in a trusted folder.
type codexLayer struct {
	file    *ConfigFile
	scope   model.Scope
	tree    map[string]any
	project bool
	trust   codexTrust // of a project layer
}

func (l *codexLayer) used() bool { return !l.project || l.trust.trusted }

func (l *codexLayer) hasServers() bool {
	table, _ := l.tree["mcp_servers"].(map[string]any)
	return len(table) > 0
}

// usedLayers are the layers that Codex merges, or those that it drops because their folder is not trusted.
func (c *codex) usedLayers(used bool) []*codexLayer {
	return slices.DeleteFunc(slices.Clone(c.layers), func(l *codexLayer) bool { return l.used() != used })
}

// codexTrust is what [projects] says about the folder of a layer.
type codexTrust struct {
	trusted bool
	at      model.Location // the line that says so, or where it would stand
	said    bool           // such a line exists
	name    string         // the folder's key in [projects]
	layer   *codexLayer    // that says so; nil where none does
}

// codexIdentity is one [mcp_servers.NAME.identity] of requirements.toml.
type codexIdentity struct {
	name    string
	command *string
	url     *string
	at      model.Location
}

// codexFault is a value that makes Codex refuse its whole configuration.
type codexFault struct {
	layer *codexLayer
	at    model.Location
	text  string
}

func resolveCodex(env *Env, r *Reader) Result { return codexOf(env, r).result }

// codexOf resolves once per reader.
func codexOf(env *Env, r *Reader) *codex {
	return keepResolve(r, "codex", func() *codex {
		c := &codex{env: env, r: r, cwd: r.RealPath(env.Project), home: env.InHome(".codex")}
		c.result = c.resolve()
		return c
	})
}

func (c *codex) resolve() Result {
	r := c.r
	homeFault := c.findHome()
	res := Result{Present: r.Exists(c.home)}
	c.readRequirements()
	c.readUnconditional(homeFault)
	managed := c.read(c.managedPath(), model.ScopeManaged)
	if managed != nil {
		c.layers = append(c.layers, managed)
	}
	c.findRoots()
	c.readProject()
	c.decideTrust()
	c.checkTopLevel()
	res.Cells = c.cells()
	if i := slices.IndexFunc(c.layers, func(l *codexLayer) bool { return l.project && l.trust.trusted }); i >= 0 {
		consentOfFolder(res.Cells, c.layers[i].trust.at)
	}
	c.wrongTables()
	c.strayFiles()
	res.Broken, res.Notes = c.broken, c.notes
	res.Untrusted = c.broken == nil && slices.ContainsFunc(c.layers, func(l *codexLayer) bool { return !l.used() && l.hasServers() })
	return res
}

func (c *codex) tilde(path string) string { return model.Tilde(path, c.env.Home) }

// systemDir is the folder of an administrator's files.
func (c *codex) systemDir() string {
	return c.env.SystemDir("/etc/codex", "/etc/codex", "C:/ProgramData/OpenAI/Codex")
}

// managedPath is the place of managed_config.toml: in the system folder, on Windows in $CODEX_HOME (source).
func (c *codex) managedPath() string {
	if c.env.GOOS == "windows" {
		return filepath.Join(c.home, "managed_config.toml")
	}
	return filepath.Join(c.systemDir(), "managed_config.toml")
}

// findHome sets the configuration folder. A folder that $CODEX_HOME names must exist; there is no fallback. An empty
// variable counts as unset, and ~ in it means nothing.
func (c *codex) findHome() string {
	dir := c.env.Var("CODEX_HOME")
	if dir == "" {
		if c.r.Exists(c.home) && !c.r.IsDir(c.home) {
			return c.tilde(c.home) + " is not a folder: Codex does not start"
		}
		return ""
	}
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(c.cwd, dir)
	}
	c.home = c.r.RealPath(dir)
	switch {
	case !c.r.Exists(c.home):
		return "$CODEX_HOME names a folder that does not exist: Codex does not start, and does not fall back to ~/.codex"
	case !c.r.IsDir(c.home):
		return "$CODEX_HOME names a file, not a folder: Codex does not start"
	}
	return ""
}

// stop records the first thing that stops Codex as a whole, and marks the file at fault.
func (c *codex) stop(f *ConfigFile, at model.Location, text string) {
	if c.broken == nil {
		c.broken = &model.Problem{Location: at, Text: text + ": Codex refuses its whole configuration"}
	}
	if f != nil && f.Status == model.FileRead {
		fault := &tomledit.SyntaxError{Line: at.Line, Column: max(1, at.Column), Message: text}
		f.Err = fault
		c.r.Mark(f, model.FileMalformed, model.Clean(fault.Error()))
	}
}

// stopUnreadable records a file that Codex cannot read or parse.
func (c *codex) stopUnreadable(f *ConfigFile) {
	at := f.Location()
	var syntax *tomledit.SyntaxError
	if errors.As(f.Err, &syntax) {
		hint := codexHint(f, at.Line)
		c.r.Mark(f, f.Status, f.Note+hint)
		c.stop(f, at, fmt.Sprintf("%s:%d:%d does not parse: %s%s", c.tilde(f.Path), at.Line, at.Column, model.Clean(syntax.Message), hint))
		c.lost = append(c.lost, codexLostNames(f)...)
		return
	}
	c.stop(f, at, fmt.Sprintf("%s cannot be read: %s", c.tilde(f.Path), f.Note))
}

var codexWindowsPath = regexp.MustCompile(`"[A-Za-z]:\\[^\\]`)

// codexHint is the cure for the two mistakes that installers make most.
func codexHint(f *ConfigFile, line int) string {
	lines := strings.SplitAfter(string(f.Data), "\n")
	if line < 1 || line > len(lines) {
		return ""
	}
	text := lines[line-1]
	switch {
	case codexWindowsPath.MatchString(text):
		return " (a path with backslashes belongs into single quotes, or the backslashes are doubled)"
	case strings.Contains(strings.TrimSuffix(text, "\r\n"), "\r"):
		return " (a carriage return without a line feed)"
	}
	return ""
}

// read reads a config.toml that every session reads.
func (c *codex) read(path string, scope model.Scope) *codexLayer {
	f := c.r.ReadTOML(path, scope)
	switch f.Status {
	case model.FileAbsent:
		return nil
	case model.FileRead:
		return &codexLayer{file: f, scope: scope, tree: f.TOML.Tree()}
	}
	c.stopUnreadable(f)
	return nil
}

// readUnconditional reads the layers that need no trust: of the system, and of the user.
func (c *codex) readUnconditional(homeFault string) {
	if l := c.read(filepath.Join(c.systemDir(), "config.toml"), model.ScopeSystem); l != nil {
		c.layers = append(c.layers, l)
	}
	path := filepath.Join(c.home, "config.toml")
	if homeFault != "" {
		c.user = c.r.Read(path, model.ScopeUser, 0)
		c.r.Mark(c.user, model.FileRefused, homeFault)
		at := model.Location{Path: "$CODEX_HOME", Line: 1}
		if c.env.Var("CODEX_HOME") == "" {
			at = model.Location{Path: c.home, Line: 1}
		}
		if c.broken == nil {
			c.broken = &model.Problem{Location: at, Text: homeFault}
		}
		return
	}
	if l := c.read(path, model.ScopeUser); l != nil {
		c.user = l.file
		c.layers = append(c.layers, l)
		return
	}
	c.user = c.r.Read(path, model.ScopeUser, 0)
}

// tomlAt looks a value up by its keys.
func tomlAt(tree map[string]any, path ...string) (any, bool) {
	var v any = tree
	for _, key := range path {
		table, ok := v.(map[string]any)
		if !ok {
			return nil, false
		}
		if v, ok = table[key]; !ok {
			return nil, false
		}
	}
	return v, true
}

// highest returns the highest of the layers that sets a key.
func highestLayer(layers []*codexLayer, path ...string) (*codexLayer, any) {
	for _, l := range slices.Backward(layers) {
		if v, ok := tomlAt(l.tree, path...); ok {
			return l, v
		}
	}
	return nil, nil
}

// withoutProject are the layers that need no trust; markers and trust are taken from them alone.
func (c *codex) withoutProject() []*codexLayer {
	return slices.DeleteFunc(slices.Clone(c.layers), func(l *codexLayer) bool { return l.project })
}

// findRoots finds the project root and the root of the git repository.
func (c *codex) findRoots() {
	c.projectRoot = c.cwd
	markers := []string{".git"}
	if l, v := highestLayer(c.layers, "project_root_markers"); l != nil {
		if list, ok := codexTexts(v); ok {
			markers = list
		}
	}
search:
	for _, dir := range Ancestors(c.cwd) {
		for _, m := range markers {
			if m == ".git" && codexHasGit(c.r, dir) || m != ".git" && c.r.Exists(filepath.Join(dir, m)) {
				c.projectRoot = dir
				break search
			}
		}
	}
	c.repository = codexRepository(c.r, c.cwd)
}

// codexHasGit tells whether Codex takes a folder for the root of a checkout: .git is a file, or a folder that holds HEAD
// (observed on 0.171.0).
func codexHasGit(r *Reader, dir string) bool {
	dotGit := filepath.Join(dir, ".git")
	if r.IsDir(dotGit) {
		return r.Exists(filepath.Join(dotGit, "HEAD"))
	}
	return r.Exists(dotGit)
}

// codexRepository returns the root of the git repository of a folder, as trust looks it up: for a linked worktree that
// of its main checkout, provided that both sides name each other (observed on 0.171.0); none for a submodule, or for a
// worktree of a bare repository. A second path is the root as the worktree writes it.
func codexRepository(r *Reader, dir string) []string {
	above := Ancestors(dir)
	i := slices.IndexFunc(above, func(dir string) bool { return codexHasGit(r, dir) })
	if i < 0 {
		return nil
	}
	root := above[i]
	dotGit := filepath.Join(root, ".git")
	if r.IsDir(dotGit) {
		return []string{root}
	}
	written, ok := gitPointer(r, dotGit, "gitdir:", root)
	if !ok {
		return nil
	}
	private := r.RealPath(written)
	common := filepath.Dir(filepath.Dir(private))
	if filepath.Base(filepath.Dir(private)) != "worktrees" {
		return nil
	}
	if named, ok := gitPointer(r, filepath.Join(private, "commondir"), "", private); !ok || r.RealPath(named) != common {
		return nil
	}
	if back, ok := gitPointer(r, filepath.Join(private, "gitdir"), "", private); !ok || r.RealPath(back) != r.RealPath(dotGit) {
		return nil
	}
	main := filepath.Dir(common)
	if own := filepath.Join(main, ".git"); r.RealPath(own) != common {
		if named, ok := gitPointer(r, own, "gitdir:", main); !ok || r.RealPath(named) != common {
			return nil
		}
	}
	return []string{main, filepath.Dir(filepath.Dir(filepath.Dir(written)))}
}

// gitPointer reads a file of git that names a path, relative to base.
func gitPointer(r *Reader, path, prefix, base string) (string, bool) {
	if !r.IsFile(path) {
		return "", false
	}
	f := r.Peek(path, model.ScopeProject)
	r.Drop(f)
	text, ok := strings.CutPrefix(strings.TrimSpace(string(f.Data)), prefix)
	if text = strings.TrimSpace(text); !ok || text == "" {
		return "", false
	}
	if !filepath.IsAbs(text) {
		text = filepath.Join(base, text)
	}
	return filepath.Clean(text), true
}

// readProject reads .codex/config.toml of every folder from the project root down to the current one. The configuration
// folder itself is no project layer. What a file says is put off until trust is known; only a file that cannot be read at
// all (no regular file, not UTF-8) stops Codex in any folder.
func (c *codex) readProject() {
	dirs := []string{}
	for _, dir := range Ancestors(c.cwd) {
		dirs = append(dirs, dir)
		if dir == c.projectRoot {
			break
		}
	}
	home := c.r.RealPath(c.home)
	var managed []*codexLayer // stays on top
	if n := len(c.layers); n > 0 && c.layers[n-1].scope == model.ScopeManaged {
		managed = []*codexLayer{c.layers[n-1]}
		c.layers = c.layers[:n-1]
	}
	for _, dir := range slices.Backward(dirs) {
		dotCodex := filepath.Join(dir, ".codex")
		if dotCodex == c.home || c.r.RealPath(dotCodex) == home {
			continue
		}
		f := c.r.ReadTOML(filepath.Join(dotCodex, "config.toml"), model.ScopeProject)
		l := &codexLayer{file: f, scope: model.ScopeProject, project: true}
		switch f.Status {
		case model.FileAbsent:
			continue
		case model.FileRead:
			l.tree = f.TOML.Tree()
		case model.FileMalformed:
			if !utf8.Valid(f.Data) {
				c.stopUnreadable(f)
				continue
			}
		default:
			c.stopUnreadable(f)
			continue
		}
		l.trust.at.Path = dir
		c.layers = append(c.layers, l)
	}
	c.layers = append(c.layers, managed...)
}

// decideTrust looks every project layer's folder up in [projects]: that folder, else the project root, else the root of
// the git repository; of each the real path first, then the path as it was come by. No other parent counts, and a key
// with a trailing slash names nothing.
func (c *codex) decideTrust() {
	deciding := c.withoutProject()
	var kept []*codexLayer
	for _, l := range c.layers {
		if !l.project {
			kept = append(kept, l)
			continue
		}
		l.trust = c.trustOf(deciding, l.trust.at.Path)
		if l.file.Status != model.FileMalformed {
			if !l.trust.trusted {
				c.r.Mark(l.file, model.FileRead, "not used: the folder is not trusted in Codex")
			}
			kept = append(kept, l)
			continue
		}
		if l.trust.trusted {
			c.stopUnreadable(l.file)
			continue
		}
		c.r.Mark(l.file, model.FileIgnored, "not used: the folder is not trusted in Codex; it does not parse either, "+l.file.Note)
	}
	c.layers = kept
}

func (c *codex) trustOf(layers []*codexLayer, dir string) codexTrust {
	keys := []string{}
	for _, path := range append([]string{dir, c.projectRoot}, c.repository...) {
		for _, key := range []string{c.r.RealPath(path), path} {
			if !slices.Contains(keys, key) {
				keys = append(keys, key)
			}
		}
	}
	for _, key := range keys {
		for _, name := range c.projectNames(layers, key) {
			l, v := highestLayer(layers, "projects", name, "trust_level")
			if l == nil {
				continue
			}
			level, _ := v.(string)
			return codexTrust{trusted: level == "trusted", said: true, at: l.file.TOMLAt("projects", name, "trust_level"), name: name, layer: l}
		}
	}
	name := c.r.RealPath(c.projectRoot)
	if len(c.repository) > 0 {
		name = c.r.RealPath(c.repository[0])
	}
	return codexTrust{at: model.Location{Path: c.user.Path, Key: JoinKey("projects", name, "trust_level"), Line: 1}, name: name}
}

// projectNames returns the keys of [projects] that mean a path; on Windows letter case does not count (source).
func (c *codex) projectNames(layers []*codexLayer, path string) []string {
	names := []string{path}
	if c.env.GOOS != "windows" {
		return names
	}
	var folded []string
	for _, l := range layers {
		v, _ := tomlAt(l.tree, "projects")
		table, _ := v.(map[string]any)
		for name := range table {
			if strings.EqualFold(name, path) && name != path {
				folded = append(folded, name)
			}
		}
	}
	slices.Sort(folded)
	return append(names, folded...)
}

// readRequirements reads requirements.toml of the system folder: an allow list of servers, by name and command or URL.
func (c *codex) readRequirements() {
	f := c.r.ReadTOML(filepath.Join(c.systemDir(), "requirements.toml"), model.ScopeManaged)
	c.requirements = f
	if f.Status == model.FileAbsent {
		return
	}
	if !f.OK() {
		c.stopUnreadable(f)
		return
	}
	v, ok := f.TOML.Tree()["mcp_servers"]
	if !ok {
		return
	}
	at := f.TOMLAt("mcp_servers")
	c.restricted = &at
	table, ok := v.(map[string]any)
	if !ok {
		c.stop(f, at, "mcp_servers of the requirements must be a table")
		return
	}
	for _, name := range slices.Sorted(maps.Keys(table)) {
		id := codexIdentity{name: name, at: f.TOMLAt("mcp_servers", name)}
		identity, _ := tomlAt(table, name, "identity")
		fields, ok := identity.(map[string]any)
		if command, is := codexText(fields["command"]); ok && is {
			id.command = &command
		} else if url, is := codexText(fields["url"]); ok && is {
			id.url = &url
		} else {
			c.stop(f, id.at, fmt.Sprintf("the requirement for %s names no command and no url", quoted(name)))
		}
		c.allowed = append(c.allowed, id)
	}
}

// blockedBy tells whether requirements.toml keeps a server off, and which line says so.
func (c *codex) blockedBy(name string, d *model.Definition) (model.Location, bool) {
	if c.restricted == nil || d == nil {
		return model.Location{}, false
	}
	for _, id := range c.allowed {
		if id.name != name {
			continue
		}
		match := id.command != nil && !d.Transport.Remote() && d.Command == *id.command ||
			id.url != nil && d.Transport.Remote() && d.URL.Reveal() == *id.url
		return id.at, !match
	}
	return *c.restricted, true
}

// codexTopLevel are the kinds of well-known keys beside mcp_servers. One of another kind stops Codex as a whole, whatever
// it is about (observed on 0.171.0).
var codexTopLevel = map[string]tomlKind{
	"agents": tomlTable, "allow_login_shell": tomlBool, "analytics": tomlTable, "apps": tomlTable, "audio": tomlTable,
	"auto_review": tomlTable, "chatgpt_base_url": tomlText, "check_for_update_on_startup": tomlBool, "desktop": tomlTable,
	"developer_instructions": tomlText, "features": tomlTable, "feedback": tomlTable, "hide_agent_reasoning": tomlBool,
	"history": tomlTable, "hooks": tomlTable, "instructions": tomlText, "marketplaces": tomlTable,
	"mcp_oauth_callback_port": tomlInteger, "memories": tomlTable, "model": tomlText, "model_context_window": tomlInteger,
	"model_provider": tomlText, "model_providers": tomlTable, "model_reasoning_effort": tomlText, "notice": tomlTable,
	"notify": tomlList, "openai_base_url": tomlText, "otel": tomlTable, "permissions": tomlTable, "plugins": tomlTable,
	"profiles": tomlTable, "project_doc_fallback_filenames": tomlList, "project_doc_max_bytes": tomlInteger,
	"review_model": tomlText, "sandbox_mode": tomlText, "sandbox_workspace_write": tomlTable, "service_tier": tomlText,
	"shell_environment_policy": tomlTable, "show_raw_agent_reasoning": tomlBool, "skills": tomlTable, "tools": tomlTable,
	"tui": tomlTable, "windows": tomlTable,
	"background_terminal_max_timeout": tomlInteger, "compact_prompt": tomlText, "default_permissions": tomlText, "disable_paste_burst": tomlBool,
	"experimental_use_unified_exec_tool": tomlBool, "ghost_snapshot": tomlTable, "js_repl_node_path": tomlText, "log_dir": tomlText,
	"mcp_oauth_callback_url": tomlText, "model_auto_compact_token_limit": tomlInteger, "model_catalog_json": tomlText, "oss_provider": tomlText,
	"sqlite_home": tomlText, "suppress_unstable_features_warning": tomlBool, "tool_output_token_limit": tomlInteger,
}

// codexChoices are the values that a few of them may have.
var codexChoices = map[string][]string{
	"approvals_reviewer":          {"user", "auto_review", "guardian_subagent"},
	"cli_auth_credentials_store":  {"file", "keyring", "auto", "ephemeral"},
	"file_opener":                 {"vscode", "vscode-insiders", "windsurf", "cursor", "none"},
	"forced_login_method":         {"chatgpt", "api"},
	"mcp_oauth_credentials_store": {"auto", "file", "keyring"},
	"model_reasoning_summary":     {"auto", "concise", "detailed", "none"},
	"model_verbosity":             {"low", "medium", "high"},
	"personality":                 {"none", "friendly", "pragmatic"},
	"sandbox_mode":                {"read-only", "workspace-write", "danger-full-access"},
	"web_search":                  {"disabled", "cached", "indexed", "live"},
}

// codexNotInProject are keys that Codex takes out of project files before it looks at them (source; observed for
// profile).
var codexNotInProject = []string{"openai_base_url", "chatgpt_base_url", "apps_mcp_product_sku", "model_provider",
	"model_providers", "notify", "profile", "profiles", "experimental_realtime_webrtc_call_base_url",
	"experimental_realtime_ws_base_url", "otel"}

// checkTopLevel looks for what stops Codex beside the servers: trust levels that do not exist, markers that are no list,
// the legacy profile, well-known keys of the wrong kind.
func (c *codex) checkTopLevel() {
	used := c.usedLayers(true)
	fault := func(l *codexLayer, text string, path ...string) {
		at := l.file.TOMLAt(path...)
		if l.file.TOML != nil {
			_, at.Column = l.file.TOML.Position(path...)
		}
		c.stop(l.file, at, text)
	}
	keys := map[string]bool{}
	for _, l := range used {
		for key := range l.tree {
			if !l.project || !slices.Contains(codexNotInProject, key) {
				keys[key] = true
			}
		}
	}
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		l, v := highestLayer(slices.DeleteFunc(slices.Clone(used), func(l *codexLayer) bool {
			return l.project && slices.Contains(codexNotInProject, key)
		}), key)
		kind, known := codexTopLevel[key]
		choices := codexChoices[key]
		switch {
		case key == "profile":
			fault(l, "the legacy key profile is no longer supported", key)
		case key == "project_root_markers":
			if _, ok := codexTexts(v); !ok {
				fault(l, key+" must be a list of texts", key)
			}
		case key == "projects":
			c.checkTrustLevels(used, fault)
		case known && kindOfTOML(v) != kind && !(kind == tomlText && kindOfTOML(v) == tomlDate):
			fault(l, fmt.Sprintf("%s must be %s, not %s", key, kind, kindOfTOML(v)), key)
		case choices != nil:
			if text, _ := v.(string); !slices.Contains(choices, text) {
				fault(l, fmt.Sprintf("%s must be one of %s", key, strings.Join(choices, ", ")), key)
			}
		case key == "approval_policy" && kindOfTOML(v) != tomlTable:
			if text, _ := v.(string); !slices.Contains([]string{"untrusted", "on-failure", "on-request", "never"}, text) {
				fault(l, "approval_policy must be one of untrusted, on-failure, on-request, never, or a table", key)
			}
		case key == "forced_chatgpt_workspace_id" && kindOfTOML(v) != tomlText && kindOfTOML(v) != tomlList:
			fault(l, key+" must be a text or a list of texts", key)
		case key == "features":
			for name, on := range v.(map[string]any) {
				if k := kindOfTOML(on); k != tomlBool && k != tomlTable {
					fault(l, fmt.Sprintf("features.%s must be a boolean, not %s", quoted(name), k), key, name)
				}
			}
		}
	}
}

func (c *codex) checkTrustLevels(used []*codexLayer, fault func(*codexLayer, string, ...string)) {
	names := map[string]bool{}
	for _, l := range used {
		v, ok := l.tree["projects"]
		if !ok {
			continue
		}
		table, ok := v.(map[string]any)
		if !ok {
			fault(l, "projects must be a table", "projects")
			return
		}
		for name := range table {
			names[name] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		l, v := highestLayer(used, "projects", name)
		if kindOfTOML(v) != tomlTable {
			fault(l, "a folder in projects must be a table", "projects", name)
			continue
		}
		if l, v := highestLayer(used, "projects", name, "trust_level"); l != nil && v != "trusted" && v != "untrusted" {
			fault(l, "trust_level must be trusted or untrusted", "projects", name, "trust_level")
		}
	}
}

// codexPart is what one layer says about a server.
type codexPart struct {
	layer *codexLayer
	value any
}

// codexEntry is a server, merged from the layers that give keys to it.
type codexEntry struct {
	model.Entry
	replaces []model.Replaced
	fault    *codexFault     // Codex refuses its whole configuration
	off      *model.Location // the line that switches it off
	switched model.Scope     // the layer that the switch belongs into: the highest that sets enabled, else that of the source
}

// parts collects, name by name, what the layers say about servers; names come in the order of the files.
func codexParts(layers []*codexLayer) (names []string, parts map[string][]codexPart, fault *codexFault) {
	parts = map[string][]codexPart{}
	for _, l := range layers {
		v, ok := l.tree["mcp_servers"]
		if !ok {
			continue
		}
		table, ok := v.(map[string]any)
		if !ok { // it replaces the tables below it
			fault = &codexFault{l, l.file.TOMLAt("mcp_servers"), "mcp_servers must be a table, not " + kindOfTOML(v).String()}
			names, parts = nil, map[string][]codexPart{}
			continue
		}
		fault = nil
		for _, name := range l.file.TOML.Keys("mcp_servers") {
			if _, have := parts[name]; !have {
				names = append(names, name)
			}
			parts[name] = append(parts[name], codexPart{l, table[name]})
		}
	}
	return names, parts, fault
}

// entry merges the parts of one server and checks the result. What a single file says alone is kept with that file.
func (c *codex) entry(name string, parts []codexPart) codexEntry {
	if len(parts) == 1 {
		l := parts[0].layer
		kept := Memo(l.file, fmt.Sprintf("codex/%s", l.scope), func() map[string]codexEntry {
			table, _ := l.tree["mcp_servers"].(map[string]any)
			out := make(map[string]codexEntry, len(table))
			for name, v := range table {
				out[name] = c.build(name, []codexPart{{l, v}})
			}
			return out
		})
		e := kept[name]
		if e.fault != nil {
			e.fault = &codexFault{l, e.fault.at, e.fault.text}
		}
		e.Findings = slices.Clone(e.Findings)
		return e
	}
	return c.build(name, parts)
}

// mergeTOML lays a value over another: tables key by key, all else replaced.
func mergeTOML(base, over any) any {
	b, ok1 := base.(map[string]any)
	o, ok2 := over.(map[string]any)
	if !ok1 || !ok2 {
		return over
	}
	out := maps.Clone(b)
	for k, v := range o {
		if have, ok := out[k]; ok {
			v = mergeTOML(have, v)
		}
		out[k] = v
	}
	return out
}

// hasTransport tells whether a part of an entry sets command or url.
func hasTransport(part any) bool {
	table, _ := part.(map[string]any)
	_, command := table["command"]
	_, url := table["url"]
	return command || url
}

// build merges and checks one server.
func (c *codex) build(name string, parts []codexPart) codexEntry {
	var merged any
	source := len(parts) - 1
	for i, p := range parts {
		merged = mergeTOML(merged, p.value)
		if hasTransport(p.value) {
			source = i
		}
	}
	own := parts[source].layer
	e := codexEntry{Entry: model.Entry{Name: name, Scope: own.scope, Source: own.file.TOMLAt("mcp_servers", name)}, switched: own.scope}
	for i, p := range slices.Backward(parts) {
		if i != source {
			e.replaces = append(e.replaces, model.Replaced{Scope: p.layer.scope, Source: p.layer.file.TOMLAt("mcp_servers", name), Merged: true})
		}
	}
	x := &codexCheck{c: c, name: name, parts: parts, entry: &e}
	table, ok := merged.(map[string]any)
	if !ok {
		x.fail("the entry is %s, not a table", kindOfTOML(merged))
		return e
	}
	x.table = table
	x.check()
	return e
}

// codexCheck is the check of one merged entry. The first fault counts.
type codexCheck struct {
	c     *codex
	name  string
	parts []codexPart
	table map[string]any
	entry *codexEntry
}

// where returns the highest layer that holds a key of the entry; without a key, or where none does, that of the source.
func (x *codexCheck) where(path ...string) (*codexLayer, model.Location) {
	full := append([]string{"mcp_servers", x.name}, path...)
	for _, p := range slices.Backward(x.parts) {
		if doc := p.layer.file.TOML; len(path) > 0 && doc != nil && doc.Has(full...) {
			at := p.layer.file.TOMLAt(full...)
			_, at.Column = doc.Position(full...)
			return p.layer, at
		}
	}
	for _, p := range x.parts {
		if p.layer.file.Path == x.entry.Source.Path {
			return p.layer, x.entry.Source
		}
	}
	return x.parts[0].layer, x.entry.Source
}

func (x *codexCheck) failAt(path []string, format string, args ...any) {
	if x.entry.fault == nil {
		l, at := x.where(path...)
		x.entry.fault = &codexFault{l, at, fmt.Sprintf("mcp_servers.%s: ", quoted(x.name)) + fmt.Sprintf(format, args...)}
	}
}

func (x *codexCheck) fail(format string, args ...any) { x.failAt(nil, format, args...) }

// line returns the line of a key when it stands in the file of the entry, else 0.
func (x *codexCheck) line(path ...string) int {
	if _, at := x.where(path...); at.Path == x.entry.Source.Path {
		return at.Line
	}
	return 0
}

func (x *codexCheck) find(code model.FindingCode, severity model.Severity, line int, format string, args ...any) {
	f := model.Finding{Code: code, Severity: severity, Line: line, Text: fmt.Sprintf(format, args...)}
	if !slices.Contains(x.entry.Findings, f) {
		x.entry.Findings = append(x.entry.Findings, f)
	}
}

// codexKeys are the keys of an entry and their kinds (0.171.0). bearer_token is known only to be refused.
var codexKeys = map[string]tomlKind{
	"command": tomlText, "cwd": tomlText, "url": tomlText, "bearer_token": tomlText, "bearer_token_env_var": tomlText,
	"http_headers_helper": tomlText, "environment_id": tomlText, "oauth_resource": tomlText, "name": tomlText,
	"auth": tomlText, "startup_readiness": tomlText, "default_tools_approval_mode": tomlText,
	"args": tomlList, "enabled_tools": tomlList, "disabled_tools": tomlList, "scopes": tomlList, "omit_tools_from": tomlList,
	"env_vars": tomlList,
	"env":      tomlTable, "http_headers": tomlTable, "env_http_headers": tomlTable, "oauth": tomlTable, "tools": tomlTable,
	"enabled": tomlBool, "required": tomlBool, "supports_parallel_tool_calls": tomlBool,
	"startup_timeout_sec": tomlNumber, "tool_timeout_sec": tomlNumber, "startup_timeout_ms": tomlInteger,
}

var codexEntryChoices = map[string][]string{
	"auth":                        {"oauth", "chatgpt", "ema_auth"},
	"startup_readiness":           {"connection", "catalog"},
	"default_tools_approval_mode": codexApprovalModes,
}

var codexApprovalModes = []string{"auto", "prompt", "writes", "approve"}

// codexHTTPOnly are keys that a stdio server must not have, codexStdioOnly those that an HTTP one must not.
var (
	codexHTTPOnly = []string{"url", "bearer_token_env_var", "bearer_token", "http_headers_helper", "http_headers",
		"env_http_headers", "oauth", "oauth_resource", "auth"}
	codexStdioOnly = []string{"args", "env", "env_vars", "cwd", "bearer_token"}
)

// check validates the entry as Codex does and fills in the definition, the switch and the findings.
func (x *codexCheck) check() {
	for _, key := range slices.Sorted(maps.Keys(x.table)) {
		if kind, known := codexKeys[key]; known {
			x.value(key, kind)
		}
	}
	_, isStdio := x.table["command"]
	_, isHTTP := x.table["url"]
	switch {
	case isStdio:
		for _, key := range codexHTTPOnly {
			if _, set := x.table[key]; set {
				x.conflict("command", key)
			}
		}
	case isHTTP:
		for _, key := range codexStdioOnly {
			if _, set := x.table[key]; !set {
				continue
			}
			if key == "bearer_token" {
				x.failAt([]string{key}, "bearer_token is not supported: the name of a variable belongs into bearer_token_env_var")
			}
			x.conflict("url", key)
		}
	default:
		x.fail("there is neither command nor url")
	}
	if helper, set := x.table["http_headers_helper"]; set && x.entry.fault == nil {
		text, _ := codexText(helper)
		id, named := codexText(x.table["environment_id"])
		if strings.TrimSpace(text) == "" {
			x.failAt([]string{"http_headers_helper"}, "http_headers_helper must not be empty")
		} else if named && id != "local" {
			x.failAt([]string{"http_headers_helper"}, "http_headers_helper works for local servers only")
		}
	}
	if x.entry.fault != nil {
		return
	}
	x.define(isStdio)
	if on, set := x.table["enabled"].(bool); set {
		l, at := x.where("enabled")
		x.entry.switched = l.scope
		if !on {
			x.entry.off = &at
		}
	}
	x.findings()
}

// conflict says that two keys exclude each other. Of two files the higher one is at fault.
func (x *codexCheck) conflict(transport, key string) {
	path := []string{key}
	if index(x.parts, transport) > index(x.parts, key) {
		path = []string{transport}
	}
	x.failAt(path, "%s does not go together with %s", key, transport)
}

// index returns the position of the highest part that sets a key.
func index(parts []codexPart, key string) int {
	for i, p := range slices.Backward(parts) {
		if table, ok := p.value.(map[string]any); ok {
			if _, set := table[key]; set {
				return i
			}
		}
	}
	return -1
}

// value checks the kind of one key.
func (x *codexCheck) value(key string, kind tomlKind) {
	v := x.table[key]
	at := []string{key}
	have := kindOfTOML(v)
	switch {
	case have == kind, kind == tomlNumber && have == tomlInteger, kind == tomlText && have == tomlDate:
	default:
		x.failAt(at, "%s must be %s, not %s", key, kind, have)
		return
	}
	if choices := codexEntryChoices[key]; choices != nil && !slices.Contains(choices, fmt.Sprint(v)) {
		x.failAt(at, "%s must be one of %s", key, strings.Join(choices, ", "))
	}
	switch key {
	case "args", "enabled_tools", "disabled_tools", "scopes", "omit_tools_from":
		list, ok := codexTexts(v)
		if !ok {
			x.failAt(at, "%s must be a list of texts", key)
		}
		for _, surface := range list {
			if key == "omit_tools_from" && !slices.Contains([]string{"code_mode", "deferred", "direct"}, surface) {
				x.failAt(at, "omit_tools_from must hold only code_mode, deferred, direct")
			}
		}
	case "env", "http_headers", "env_http_headers":
		for name, value := range v.(map[string]any) {
			if _, ok := codexText(value); !ok {
				x.failAt([]string{key, name}, "%s.%s must be a text, not %s", key, quoted(name), kindOfTOML(value))
			}
		}
	case "env_vars":
		x.inherited(v)
	case "startup_timeout_sec", "tool_timeout_sec":
		if sec := codexNumber(v); math.IsNaN(sec) || sec < 0 || sec >= 1<<64 {
			x.failAt(at, "%s must not be negative, and must be a number of seconds", key)
		}
	case "startup_timeout_ms":
		if v.(int64) < 0 {
			x.failAt(at, "startup_timeout_ms must not be negative")
		}
	case "oauth":
		x.oauth(v.(map[string]any))
	case "tools":
		for tool, settings := range v.(map[string]any) {
			table, ok := settings.(map[string]any)
			if !ok {
				x.failAt([]string{key, tool}, "tools.%s must be a table", quoted(tool))
				continue
			}
			if mode, set := table["approval_mode"]; set && !slices.Contains(codexApprovalModes, fmt.Sprint(mode)) {
				x.failAt([]string{key, tool, "approval_mode"}, "approval_mode of a tool must be one of %s", strings.Join(codexApprovalModes, ", "))
			}
		}
	}
}

func (x *codexCheck) oauth(table map[string]any) {
	for _, key := range []string{"client_id", "client_secret", "callback_url", "authorization_server_issuer"} {
		if v, set := table[key]; set {
			if _, ok := codexText(v); !ok {
				x.failAt([]string{"oauth", key}, "oauth.%s must be a text, not %s", key, kindOfTOML(v))
			}
		}
	}
	if v, set := table["callback_port"]; set {
		if port, ok := v.(int64); !ok || port < 0 || port > math.MaxUint16 {
			x.failAt([]string{"oauth", "callback_port"}, "oauth.callback_port must be a port number")
		}
	}
}

// inherited reads env_vars: names, or tables of a name and a source. It returns the names, and those that only a remote
// server could get.
func (x *codexCheck) inherited(v any) (names, remote []string) {
	for i, item := range codexList(v) {
		at := []string{"env_vars", fmt.Sprint(i)}
		if name, ok := codexText(item); ok {
			names = append(names, name)
			continue
		}
		table, _ := item.(map[string]any)
		name, ok := codexText(table["name"])
		source, hasSource := table["source"]
		known := 1
		if hasSource {
			known = 2
		}
		if text, isText := codexText(source); !ok || len(table) != known || hasSource && !isText {
			x.failAt(at, "env_vars must hold names, or tables of name and source")
			continue
		} else if hasSource && text != "local" && text != "remote" {
			x.failAt(at, "the source of env_vars must be local or remote")
		} else if text == "remote" {
			remote = append(remote, name)
			continue
		}
		names = append(names, name)
	}
	return names, remote
}

// define makes the definition of an entry that passed the check.
func (x *codexCheck) define(stdio bool) {
	d := &model.Definition{Transport: model.TransportHTTP}
	if stdio {
		d.Transport = model.TransportStdio
		d.Command, _ = codexText(x.table["command"])
		args, _ := codexTexts(x.table["args"])
		d.Args = model.Secrets(args)
		d.Env = codexVariables(x.table["env"])
		d.Cwd, _ = codexText(x.table["cwd"])
		d.Inherit, _ = x.inherited(x.table["env_vars"])
	} else {
		url, _ := codexText(x.table["url"])
		d.URL = model.NewSecret(url)
		d.Headers = codexVariables(x.table["http_headers"])
		d.HeaderVariables = codexVariables(x.table["env_http_headers"])
		d.BearerVariable, _ = codexText(x.table["bearer_token_env_var"])
		helper, _ := codexText(x.table["http_headers_helper"])
		d.HeadersHelper = model.NewSecret(helper)
	}
	if v, set := x.table["startup_timeout_sec"]; set {
		d.StartTimeout = codexDuration(codexNumber(v), time.Second)
	} else if v, set := x.table["startup_timeout_ms"]; set {
		d.StartTimeout = codexDuration(codexNumber(v), time.Millisecond)
	}
	x.entry.Definition = d
	x.entry.Filter = x.toolFilter()
}

// codexDuration keeps a time that is longer than a Duration can hold at the longest one.
func codexDuration(n float64, unit time.Duration) time.Duration {
	if n >= float64(math.MaxInt64)/float64(unit) {
		return math.MaxInt64
	}
	return time.Duration(n * float64(unit))
}

// codexName is what the start of a server wants its name to be; the listing takes any.
var codexName = regexp.MustCompile(`^[a-zA-Z0-9_:@/.-]+$`)

// codexForeign are keys of other harnesses, and what Codex has in their place.
var codexForeign = map[string]string{
	"type": "command or url decides about the transport", "transport": "command or url decides about the transport",
	"headers": "Codex reads http_headers", "timeout": "Codex reads startup_timeout_sec and tool_timeout_sec",
	"httpUrl": "Codex reads url", "serverUrl": "Codex reads url", "endpoint": "Codex reads url",
	"environment": "Codex reads env", "includeTools": "Codex reads enabled_tools", "excludeTools": "Codex reads disabled_tools",
	"autoApprove": "Codex reads default_tools_approval_mode", "alwaysAllow": "Codex reads default_tools_approval_mode",
	"trust": "Codex reads default_tools_approval_mode",
}

var wordBreak = regexp.MustCompile(`([a-z0-9])([A-Z])`)

// findings adds what a user should know of an entry that Codex takes.
func (x *codexCheck) findings() {
	d := x.entry.Definition
	for _, key := range slices.Sorted(maps.Keys(x.table)) {
		if _, known := codexKeys[key]; known {
			continue
		}
		line := x.line(key)
		snake := strings.ToLower(wordBreak.ReplaceAllString(strings.ReplaceAll(key, "-", "_"), "${1}_$2"))
		instead, foreign := codexForeign[key]
		_, misspelt := codexKeys[snake]
		switch {
		case key == "disabled":
			x.find(model.FindingUselessKey, model.Warning, line, "disabled means nothing to Codex: the switch is enabled = false")
		case key == "type" || key == "transport":
			x.find(model.FindingUnknownKey, model.Info, line, "Codex does not know the key %s and ignores it: %s", key, instead)
		case foreign:
			x.find(model.FindingUnknownKey, model.Warning, line, "Codex does not know the key %s and ignores it: %s", key, instead)
		case misspelt:
			x.find(model.FindingUnknownKey, model.Warning, line, "Codex does not know the key %s and ignores it: it reads %s", quotedKey(key), snake)
		default:
			x.find(model.FindingUnknownKey, model.Info, line, "Codex does not know the key %s and ignores it", quotedKey(key))
		}
	}
	if _, set := x.table["startup_timeout_ms"]; set {
		if _, both := x.table["startup_timeout_sec"]; both {
			x.find(model.FindingUselessKey, model.Warning, x.line("startup_timeout_ms"), "startup_timeout_ms is not used beside startup_timeout_sec")
		} else {
			x.find(model.FindingDeprecatedKey, model.Info, x.line("startup_timeout_ms"), "startup_timeout_ms is an older form of startup_timeout_sec")
		}
	}
	if _, set := x.table["name"]; set {
		x.find(model.FindingUselessKey, model.Info, x.line("name"), "name has no effect: the server is called by the name of its table")
	}
	if v, set := x.table["startup_timeout_sec"]; set && codexNumber(v) == 0 {
		x.find(model.FindingUselessKey, model.Warning, x.line("startup_timeout_sec"), "with a startup_timeout_sec of 0 the server never starts in time")
	}
	if id, set := codexText(x.table["environment_id"]); set && id != "local" {
		x.find(model.FindingReferencedFile, model.Info, x.line("environment_id"), "the server belongs to another environment than this machine")
	}
	_, remote := x.inherited(x.table["env_vars"])
	for _, name := range remote {
		x.find(model.FindingUnsetVariable, model.Warning, x.line("env_vars"), "%s comes from a remote environment: a server on this machine cannot start with it", quoted(name))
	}
	transports := 0
	for _, p := range x.parts {
		if hasTransport(p.value) {
			transports++
		}
	}
	if transports > 1 {
		x.find(model.FindingConflictingScopes, model.Info, 0, "%d files give this name a command or url: they are merged key by key, the highest decides", transports)
	}
	x.variableFindings(d)
	x.partialFinding()
}

var dollarName = regexp.MustCompile(`^\$[A-Za-z_][A-Za-z0-9_]*$`)

// variableFindings names variables without a value, and texts that another harness would fill in: Codex fills in nothing.
func (x *codexCheck) variableFindings(d *model.Definition) {
	for _, name := range d.Inherit {
		if _, set := x.c.env.Lookup(name); !set {
			x.entry.Findings = append(x.entry.Findings, unsetFinding(name, "the server starts without it", x.line("env_vars")))
		}
	}
	if d.BearerVariable != "" && x.c.env.Var(d.BearerVariable) == "" {
		x.entry.Findings = append(x.entry.Findings, unsetFinding(d.BearerVariable, "the token is missing, and Codex cannot start the server without it", x.line("bearer_token_env_var")))
	}
	for _, h := range d.HeaderVariables {
		if name := h.Value.Reveal(); strings.TrimSpace(x.c.env.Var(name)) == "" {
			x.entry.Findings = append(x.entry.Findings, unsetFinding(name, "the header "+quoted(h.Name)+" is left out", x.line("env_http_headers")))
		}
	}
	const asItStands = "%s is not filled in by Codex: the text is passed on as it stands"
	for _, text := range definitionTexts(d) {
		for _, m := range bracedVariable.FindAllStringSubmatch(text, -1) {
			x.find(model.FindingUnsetVariable, model.Warning, 0, asItStands, "${"+m[1]+"}")
		}
		for _, m := range foreignReference.FindAllStringSubmatch(text, -1) {
			x.find(model.FindingUnsetVariable, model.Warning, 0, asItStands, "{"+m[1]+"}")
		}
		if dollarName.MatchString(text) {
			x.find(model.FindingUnsetVariable, model.Warning, 0, asItStands, quoted(text))
		}
	}
	for _, text := range append([]string{d.Command, d.Cwd}, d.ArgTexts()...) {
		if strings.HasPrefix(text, "~/") {
			x.find(model.FindingUnsetVariable, model.Warning, 0, asItStands, "~")
		}
	}
}

// partialFinding names a file that holds only some keys of a server whose transport stands in a project file: in every
// other folder Codex refuses its whole configuration because of it.
func (x *codexCheck) partialFinding() {
	var partial *codexPart
	for i, p := range x.parts {
		if p.layer.project {
			continue
		}
		if hasTransport(p.value) {
			return
		}
		partial = &x.parts[i]
	}
	if partial == nil {
		return
	}
	at := partial.layer.file.TOMLAt("mcp_servers", x.name)
	x.find(model.FindingPartialEntry, model.Warning, 0,
		"%s:%d holds an entry of this name without command or url: in a folder without this project file Codex refuses its whole configuration",
		x.c.tilde(at.Path), at.Line)
}

// cells decides about every server.
func (c *codex) cells() []*model.Cell {
	names, parts, fault := codexParts(c.usedLayers(true))
	if fault != nil {
		c.stop(fault.layer.file, fault.at, fault.text)
	}
	entries := make([]codexEntry, 0, len(names))
	for _, name := range names {
		e := c.entry(name, parts[name])
		if e.fault != nil {
			c.stop(e.fault.layer.file, e.fault.at, e.fault.text+c.untrustedTransport(e.fault, name))
		}
		entries = append(entries, e)
	}
	waiting := c.usedLayers(false)
	if c.broken != nil {
		return c.allBroken(entries, waiting)
	}
	cells := make([]*model.Cell, 0, len(entries))
	byName := make(map[string]*model.Cell, len(entries))
	switched := make(map[string]model.Scope, len(entries))
	logins := c.logins(entries)
	for _, e := range entries {
		out := c.decide(e, logins)
		byName[e.Name], switched[e.Name] = out, e.switched
		cells = append(cells, out)
	}
	names, parts, _ = codexParts(waiting)
	for _, name := range names {
		if out := byName[name]; out != nil {
			for _, p := range slices.Backward(parts[name]) {
				e := c.entry(name, []codexPart{p})
				out.Pending = append(out.Pending, model.Pending{Entry: e.Entry, State: model.StateUnapproved, Reason: c.untrusted(p.layer, nil)})
			}
			out.Capabilities = c.capabilities(out, switched[name])
			continue
		}
		e := c.entry(name, parts[name])
		out := cell(e.Entry, model.DecisionWaits, c.untrusted(parts[name][len(parts[name])-1].layer, e.fault))
		out.Replaces = e.replaces
		out.Capabilities = c.capabilities(out, e.switched)
		cells = append(cells, out)
	}
	return cells
}

// untrustedTransport is the second half of a fault: the command or url stands in a project file that is not trusted.
func (c *codex) untrustedTransport(fault *codexFault, name string) string {
	for _, l := range c.layers {
		part, _ := tomlAt(l.tree, "mcp_servers", name)
		if !l.used() && hasTransport(part) && strings.HasSuffix(fault.text, "neither command nor url") {
			return " (" + c.tilde(l.file.Path) + " has it, but the folder is not trusted)"
		}
	}
	return ""
}

// untrusted is the reason of an entry of a folder that is not trusted: Codex drops the file without a word.
func (c *codex) untrusted(l *codexLayer, fault *codexFault) model.Reason {
	text := "Codex drops " + c.tilde(l.file.Path) + " silently: the folder is not trusted"
	if l.trust.said {
		text = fmt.Sprintf("Codex drops %s silently: the folder is marked as untrusted in %s:%d", c.tilde(l.file.Path), c.tilde(l.trust.at.Path), l.trust.at.Line)
	}
	if fault != nil {
		text += "; once it is trusted, Codex refuses its whole configuration, because of " + fault.text
	}
	return model.Reason{Code: model.ReasonUntrustedFolder, DecidedBy: l.trust.at, Text: text}
}

// decide says what a session does with a server that passed the check.
func (c *codex) decide(e codexEntry, logins map[string]codexLogin) *model.Cell {
	out := cell(e.Entry, model.DecisionLoads, model.Reason{})
	out.Replaces = e.replaces
	// Codex lists and tries it, and then it fails at the start, like a command that is not there: a finding, not a state.
	if !codexName.MatchString(e.Name) {
		out.Findings = append(out.Findings, model.Finding{Code: model.FindingInvalidName, Severity: model.Warning,
			Text: "Codex lists the server, but its start fails: the name may hold only letters, digits, _ : @ / . and -"})
	}
	if c.ungated(e.Source.Path) {
		out.Findings = append(out.Findings, repositoryFinding())
	}
	at, blocked := c.blockedBy(e.Name, e.Definition)
	switch {
	case blocked:
		out.Decision = model.DecisionOff
		out.Reason = model.Reason{Code: model.ReasonBlockedByPolicy, DecidedBy: at,
			Text: "the requirements of an administrator, " + c.tilde(at.Path) + ", do not let it in"}
	case e.off != nil:
		out.Decision = model.DecisionOff
		out.Reason = model.Reason{Code: model.ReasonSwitchedOff, DecidedBy: *e.off,
			Text: fmt.Sprintf("enabled = false in %s:%d", c.tilde(e.off.Path), e.off.Line)}
	default:
		if login, ok := logins[e.Name]; ok && login.expired {
			out.Reason = model.Reason{Code: model.ReasonLoginExpired, DecidedBy: login.at,
				Text: "its stored sign-in has expired and cannot be renewed: codex mcp login " + quoted(e.Name)}
		}
	}
	out.Capabilities = c.capabilities(out, e.switched)
	return out
}

// ungated tells whether a file that needs no trust lies inside the folder: $CODEX_HOME can point there.
func (c *codex) ungated(path string) bool {
	return c.user != nil && path == c.user.Path && c.env.Var("CODEX_HOME") != "" && Within(path, c.cwd) && c.cwd != c.r.RealPath(c.env.Home)
}

// codexLogin is a token in .credentials.json.
type codexLogin struct {
	expired bool
	at      model.Location
}

// logins reads the stored tokens of the servers, by name. A token is found by name and URL. One that has run out and
// cannot be renewed needs a new sign-in. With mcp_oauth_credentials_store = "keyring" the file is not used.
func (c *codex) logins(entries []codexEntry) map[string]codexLogin {
	remote := map[string]string{}
	for _, e := range entries {
		d := e.Definition
		if d != nil && d.Transport.Remote() && d.BearerVariable == "" && !slices.ContainsFunc(d.Headers, func(v model.Variable) bool {
			return strings.EqualFold(v.Name, "Authorization")
		}) {
			remote[e.Name] = d.URL.Reveal()
		}
	}
	if _, store := highestLayer(c.layers, "mcp_oauth_credentials_store"); len(remote) == 0 || store == "keyring" {
		return nil
	}
	f := c.r.Peek(filepath.Join(c.home, ".credentials.json"), model.ScopeUser)
	c.r.Drop(f)
	if !f.OK() {
		return nil
	}
	doc, err := jsonc.Parse(f.Data, jsonc.Options{})
	if err != nil {
		return nil
	}
	out := map[string]codexLogin{}
	for _, m := range doc.Root().Members() {
		name, _ := m.Value.Get("server_name").Str()
		url, _ := m.Value.Get("server_url").Str()
		if want, ok := remote[name]; !ok || m.Shadowed || url != want {
			continue
		}
		token, _ := m.Value.Get("access_token").Str()
		refresh, _ := m.Value.Get("refresh_token").Str()
		expires, hasExpiry := positiveInteger(m.Value.Get("expires_at"))
		expired := token == "" || hasExpiry && expires <= c.env.Now().UnixMilli()
		out[name] = codexLogin{expired: expired && refresh == "", at: f.Member(JoinKey(m.Key), m)}
	}
	return out
}

// allBroken shows every server while something stops Codex.
func (c *codex) allBroken(entries []codexEntry, waiting []*codexLayer) []*model.Cell {
	why := model.Reason{Code: model.ReasonFileRefused, DecidedBy: c.broken.Location, Text: c.broken.Text}
	var cells []*model.Cell
	have := map[string]bool{}
	add := func(e codexEntry) {
		if have[e.Name] {
			return
		}
		have[e.Name] = true
		out := cell(e.Entry, model.DecisionCannot, why)
		out.Replaces = e.replaces
		out.Capabilities = c.capabilities(out, e.switched)
		cells = append(cells, out)
	}
	for _, e := range entries {
		add(e)
	}
	for _, e := range c.lost {
		add(codexEntry{Entry: e})
	}
	names, parts, _ := codexParts(waiting)
	for _, name := range names {
		add(c.entry(name, parts[name]))
	}
	return cells
}

// capabilities says what can be done with a cell, or why not.
func (c *codex) capabilities(out *model.Cell, switched model.Scope) model.Capabilities {
	caps := model.Capabilities{Approve: "Codex has no approval of single servers, it trusts folders", Login: "not needed"}
	if d := out.Definition; d != nil && d.Transport.Remote() && d.BearerVariable == "" {
		caps.Login = ""
	}
	if waitsBeside(out) {
		caps.Approve = ""
	}
	switch {
	case out.Decision == model.DecisionCannot:
		caps.Toggle, caps.Approve = "the entry does not load: mend it first", "the entry does not load: mend it first"
	case out.Reason.Code == model.ReasonBlockedByPolicy:
		caps.Toggle = "an administrator's requirements keep it off"
	case switched == model.ScopeManaged || switched == model.ScopeSystem:
		caps.Toggle = "an administrator's file holds the switch"
	case out.Decision == model.DecisionWaits:
		caps.Toggle, caps.Approve = codexNotTrusted, ""
	}
	return caps
}

var (
	codexHeader   = regexp.MustCompile(`^\s*\[+\s*mcp_servers\s*\.\s*` + codexKeyPattern)
	codexDotted   = regexp.MustCompile(`^\s*mcp_servers\s*\.\s*` + codexKeyPattern)
	codexInTable  = regexp.MustCompile(`^\s*` + codexKeyPattern + `\s*(\.|=\s*\{)`)
	codexTheTable = regexp.MustCompile(`^\s*\[\s*mcp_servers\s*\]`)
	anyTOMLHeader = regexp.MustCompile(`^\s*\[`)
)

const codexKeyPattern = `(?:"((?:[^"\\]|\\.)*)"|'([^']*)'|([A-Za-z0-9_-]+))`

// codexLostNames names the servers of a file that does not parse, line by line: headers, dotted keys, and keys below
// [mcp_servers].
func codexLostNames(f *ConfigFile) []model.Entry {
	var out []model.Entry
	have := map[string]bool{}
	in := false
	for i, line := range strings.Split(strings.TrimPrefix(string(f.Data), "\ufeff"), "\n") {
		m := codexHeader.FindStringSubmatch(line)
		switch {
		case m != nil:
			in = false
		case anyTOMLHeader.MatchString(line):
			in = codexTheTable.MatchString(line)
			continue
		case in:
			m = codexInTable.FindStringSubmatch(line)
		default:
			m = codexDotted.FindStringSubmatch(line)
		}
		if m == nil {
			continue
		}
		name := strings.ToValidUTF8(m[1]+m[2]+m[3], "\ufffd")
		if have[name] {
			continue
		}
		have[name] = true
		out = append(out, model.Entry{Name: name, Scope: f.Scope,
			Source: model.Location{Path: f.Path, Key: JoinKey("mcp_servers", name), Line: i + 1}})
	}
	return out
}

// wrongTables notes servers under tables that Codex does not read.
func (c *codex) wrongTables() {
	for _, l := range c.layers {
		profiles, _ := l.tree["profiles"].(map[string]any)
		for _, name := range slices.Sorted(maps.Keys(profiles)) {
			if _, ok := tomlAt(profiles, name, "mcp_servers"); ok {
				c.notes = append(c.notes, model.Note{Code: string(model.FindingWrongKey), Path: l.file.Path, Line: l.file.TOMLAt("profiles", name, "mcp_servers").Line,
					Text: "Codex does not read servers of a profile in " + c.tilde(l.file.Path) + ": a profile is a file of its own, and used with --profile only"})
			}
		}
		for _, path := range [][]string{{"mcp", "servers"}, {"mcpServers"}, {"mcp-servers"}, {"mcpservers"}, {"mcp_server"}, {"servers"}} {
			v, _ := tomlAt(l.tree, path...)
			if kindOfTOML(v) != tomlTable {
				continue
			}
			c.notes = append(c.notes, model.Note{Code: string(model.FindingWrongKey), Path: l.file.Path, Line: l.file.TOMLAt(path...).Line,
				Text: fmt.Sprintf("Codex does not read [%s.NAME] of %s: it reads [mcp_servers.NAME]", strings.Join(path, "."), c.tilde(l.file.Path))})
		}
	}
}

// strayFiles notes files that look right and are not read.
func (c *codex) strayFiles() {
	note := func(path, why string) {
		c.notes = append(c.notes, model.Note{Code: string(model.FindingFileNotRead), Path: path, Line: 1, Text: c.tilde(path) + " is not read by Codex: " + why})
	}
	stray := func(path string, scope model.Scope, why string) {
		if c.r.Ignored(path, scope, "not read by Codex: "+why) {
			note(path, why)
		}
	}
	main := c.tilde(c.user.Path)
	for _, name := range []string{"mcp.json", ".mcp.json", "mcp_servers.json", "mcp_settings.json", "config.json", "config.yaml"} {
		stray(filepath.Join(c.home, name), model.ScopeUser, "servers belong into [mcp_servers.NAME] of "+main+", not under mcpServers")
		stray(filepath.Join(c.cwd, ".codex", name), model.ScopeProject, "servers belong into [mcp_servers.NAME] of .codex/config.toml, not under mcpServers")
	}
	for _, name := range []string{"config.override.toml", "config.local.toml"} {
		stray(filepath.Join(c.home, name), model.ScopeUser, "there is no override file")
		stray(filepath.Join(c.cwd, ".codex", name), model.ScopeProject, "there is no override file")
	}
	for _, name := range c.r.ReadDir(c.home) {
		if profile, ok := strings.CutSuffix(name, ".config.toml"); ok && profile != "" {
			c.r.Ignored(filepath.Join(c.home, name), model.ScopeUser, "read only with --profile "+quoted(profile))
		}
	}
	if path := filepath.Join(c.home, "managed_config.toml"); path != c.managedPath() {
		stray(path, model.ScopeManaged, "it belongs into "+c.systemDir())
	}
	if c.home != c.r.RealPath(c.env.InHome(".codex")) {
		c.r.Ignored(c.env.InHome(".codex/config.toml"), model.ScopeUser, "not read while $CODEX_HOME names another folder")
	}
	// Many a project has a config.toml of its own: only one that names servers is worth a word.
	if f := c.r.Peek(filepath.Join(c.cwd, "config.toml"), model.ScopeProject); f.Path != c.user.Path {
		if f.OK() && strings.Contains(string(f.Data), "mcp_servers") {
			c.r.Mark(f, model.FileIgnored, "not read by Codex: the project's file is .codex/config.toml")
			note(f.Path, "the project's file is .codex/config.toml")
		} else {
			c.r.Drop(f)
		}
	}
}

// tomlKind is the kind of a TOML value.
type tomlKind uint8

const (
	tomlNothing tomlKind = iota
	tomlText
	tomlInteger
	tomlNumber // a float; where it is asked for, an integer will do
	tomlBool
	tomlDate
	tomlList
	tomlTable
)

// String names the kind for a message.
func (k tomlKind) String() string {
	return [...]string{"nothing", "a text", "a whole number", "a number", "a boolean", "a date", "a list", "a table"}[k]
}

func kindOfTOML(v any) tomlKind {
	switch v.(type) {
	case string:
		return tomlText
	case int64:
		return tomlInteger
	case float64:
		return tomlNumber
	case bool:
		return tomlBool
	case time.Time:
		return tomlDate
	case []any, []map[string]any:
		return tomlList
	case map[string]any:
		return tomlTable
	}
	return tomlNothing
}

// codexText reads a text; Codex takes a date as one too.
func codexText(v any) (string, bool) {
	switch v := v.(type) {
	case string:
		return v, true
	case time.Time:
		return v.Format(time.RFC3339Nano), true
	}
	return "", false
}

// codexList reads a list; the decoder keeps a list of tables as a type of its own.
func codexList(v any) []any {
	switch v := v.(type) {
	case []any:
		return v
	case []map[string]any:
		out := make([]any, len(v))
		for i, t := range v {
			out[i] = t
		}
		return out
	}
	return nil
}

func codexTexts(v any) ([]string, bool) {
	if kindOfTOML(v) != tomlList {
		return nil, false
	}
	list := codexList(v)
	out := make([]string, len(list))
	for i, item := range list {
		text, ok := codexText(item)
		if !ok {
			return nil, false
		}
		out[i] = text
	}
	return out, true
}

func codexVariables(v any) []model.Variable {
	table, _ := v.(map[string]any)
	texts := make(map[string]string, len(table))
	for name, value := range table {
		texts[name], _ = codexText(value)
	}
	return model.Variables(texts)
}

func codexNumber(v any) float64 {
	switch v := v.(type) {
	case int64:
		return float64(v)
	case float64:
		return v
	}
	return 0
}
