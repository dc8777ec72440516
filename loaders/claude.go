package loaders

import (
	"cmp"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"fusebox/loaders/jsonc"
	"fusebox/model"
)

// claudeFileLimit is Claude Code's own limit for .mcp.json (observed on 2.1.332).
const claudeFileLimit = 2 << 20

// claudeCode is the registry row of Claude Code. Its rules were observed on Claude Code 2.1.332; where only a string in
// the program tells, the comment says so.
func claudeCode() Harness {
	return Harness{
		Harness: model.Harness{
			ID: "claude-code", Aliases: []string{"claude"}, Title: "Claude Code", Heading: "Claude",
			Verified: model.VerifiedRun, VersionChecked: "2.1.332", SignIn: "claude mcp login NAME",
			BlindSpots: []model.BlindSpot{
				{Code: "session-flags", Text: "--mcp-config, --strict-mcp-config, --settings and --plugin-dir of one session"},
				{Code: "account-connectors", Text: "connectors of a claude.ai account, fetched after sign-in"},
				{Code: "headless-runs", Text: "claude -p starts servers that wait for approval without asking"},
				{Code: "remote-policy", Text: "settings that an organisation sends to signed-in users"},
			},
		},
		Resolve: resolveClaude,
		Folders: foldersOfClaude,
		Sessions: SessionRules{Programs: []string{"claude"}, Packages: []string{"@anthropic-ai/claude-code"}, Not: []string{"mcp", "doctor", "update", "install", "config", "plugin", "setup-token"},
			Reload: "type /mcp there and reconnect, or restart it"},
		Toggle:  toggleClaude,
		Approve: approveClaude,
		Launch: LaunchRules{
			Class: EnvironmentFull,
			Fill:  fillClaude,
			Cwd:   func(env *Env, _ *model.Entry) string { return env.Project }, // cwd of an entry is ignored
			// ws entries are known to Claude Code too, but not tried here.
			ToolName:  joinToolName("mcp__", "__"),
			NameLimit: 64,
		},
	}
}

// fillClaude fills in ${NAME} and ${NAME:-default} in command, args, env, url and headers of every scope. An unset name
// without a default stays as written. In url and headers some credential variables read as empty, default or not.
func fillClaude(env *Env, _ *model.Entry, part TextPart, text string) (string, []string) {
	blanked := part == PartURL || part == PartHeader
	filled := bracedVariable.ReplaceAllStringFunc(text, func(ref string) string {
		name := bracedVariable.FindStringSubmatch(ref)[1]
		if blanked && slices.Contains(claudeBlanked, name) {
			return ""
		}
		return expandBraced(env, ref)
	})
	return filled, unsetBraced(env, text)
}

// claude is one resolve of Claude Code.
type claude struct {
	env *Env
	r   *Reader

	configDir string // $CLAUDE_CONFIG_DIR or ~/.claude
	key       string // of this folder in projects
	gitRoot   string // root of the main checkout, or ""; also "" in a worktree of a bare repository

	main     *ConfigFile
	project  jsonc.Value            // projects[KEY]
	off      map[string]jsonc.Value // its disabledMcpServers, once they were asked for
	trusted  bool
	settings []claudeSettings // lowest to highest
	notes    []model.Note
	result   Result
}

// claudeSettings is one settings file that counts.
type claudeSettings struct {
	scope model.Scope
	file  *ConfigFile
	root  jsonc.Value
}

// claudeEntry is one server of one file, with what is known before the scopes are compared.
type claudeEntry struct {
	model.Entry
	fault  model.Reason // Code set: the harness skips it
	plugin bool
	beaten []model.Replaced // entries of that name in .mcp.json files further up
	bad    []claudeEntry    // skipped ones of that name in nearer .mcp.json files: those hide nothing
	empty  model.Reason     // Code set: it takes part like any other, and then cannot be started
	alone  *model.Cell      // what it comes to when nothing else is about its name; nil where something else decides
}

func resolveClaude(env *Env, r *Reader) Result { return claudeOf(env, r).result }

// claudeOf resolves once per reader.
func claudeOf(env *Env, r *Reader) *claude {
	return keepResolve(r, "claude-code", func() *claude {
		c := &claude{env: env, r: r, configDir: env.InHome(".claude")}
		c.result = c.resolve()
		return c
	})
}

func (c *claude) resolve() Result {
	env, r := c.env, c.r
	if dir := env.Var("CLAUDE_CONFIG_DIR"); dir != "" {
		c.configDir = filepath.Clean(dir) // ~ means nothing in it
		if !filepath.IsAbs(dir) {
			c.configDir = filepath.Join(env.Project, dir)
		}
	}
	c.key, c.gitRoot = claudeCheckout(r, env.Project)
	if c.key == "" {
		c.key = r.RealPath(env.Project)
	}
	if env.GOOS == "windows" {
		c.key = filepath.ToSlash(c.key)
	}
	res := Result{Present: r.Exists(c.configDir)}
	managed := c.managed()
	res.Broken = c.readMain()
	c.readSettings()
	project := c.projectEntries()
	var cells []*model.Cell
	switch {
	case res.Broken != nil:
		cells = c.allBroken(managed, project, res.Broken)
	case managed != nil:
		cells = c.underManagement(managed, project)
		if managed.Status != model.FileRead {
			res.Broken = &model.Problem{Location: managed.Location(), Text: "managed-mcp.json is not readable: Claude Code loads no server at all"}
		}
	default:
		cells = c.decide(project)
	}
	c.strayFiles()
	res.Cells, res.Notes = cells, c.notes
	return res
}

// claudeCheckout returns the key of a folder in projects, links resolved: the folder of the nearest .git at or above it; in a
// linked worktree the root of the main checkout, provided that both sides name each other; in one of a bare repository that
// repository; "" outside git. The second is the checkout whose local settings count too; a bare repository has none (observed
// on 2.1.332).
func claudeCheckout(r *Reader, dir string) (key, checkout string) {
	root := gitRoot(r, r.RealPath(dir))
	dotGit := filepath.Join(root, ".git")
	if root == "" || !r.IsFile(dotGit) {
		return root, root
	}
	private, ok := gitPointer(r, dotGit, "gitdir:", root)
	if !ok {
		return root, root
	}
	private = r.RealPath(private)
	common, ok := gitPointer(r, filepath.Join(private, "commondir"), "", private)
	if !ok {
		return root, root
	}
	common = r.RealPath(common)
	back, ok := gitPointer(r, filepath.Join(private, "gitdir"), "", private)
	if !ok || filepath.Dir(private) != filepath.Join(common, "worktrees") || r.RealPath(back) != r.RealPath(dotGit) {
		return root, root // anybody can write a .git file that names another repository
	}
	if filepath.Base(common) != ".git" {
		return common, ""
	}
	return filepath.Dir(common), filepath.Dir(common)
}

// gitRoot returns the nearest folder at or above dir that holds .git (a folder or a file), or "".
func gitRoot(r *Reader, dir string) string {
	for _, a := range Ancestors(dir) {
		if r.Exists(filepath.Join(a, ".git")) {
			return a
		}
	}
	return ""
}

// worktreeMain follows the .git file of a linked worktree to the root of its main checkout; another root is returned as
// it is.
func worktreeMain(r *Reader, root string) string {
	dotGit := filepath.Join(root, ".git")
	if !r.IsFile(dotGit) {
		return root
	}
	f := r.Peek(dotGit, model.ScopeProject)
	r.Drop(f)
	target, ok := strings.CutPrefix(strings.TrimSpace(string(f.Data)), "gitdir:")
	if !ok {
		return root
	}
	target = strings.TrimSpace(target)
	if !filepath.IsAbs(target) {
		target = filepath.Join(root, target)
	}
	common := r.Peek(filepath.Join(target, "commondir"), model.ScopeProject)
	r.Drop(common)
	text := strings.TrimSpace(string(common.Data))
	if text == "" {
		return root
	}
	if !filepath.IsAbs(text) {
		text = filepath.Join(target, text)
	}
	if filepath.Base(filepath.Clean(text)) != ".git" {
		return root
	}
	return r.RealPath(filepath.Dir(filepath.Clean(text)))
}

// systemDir is the folder of an administrator's files.
func (c *claude) systemDir() string {
	return c.env.SystemDir("/etc/claude-code", "/Library/Application Support/ClaudeCode", "C:/Program Files/ClaudeCode")
}

// managed returns managed-mcp.json if it exists: then only its servers load, also when it holds none.
func (c *claude) managed() *ConfigFile {
	f := c.r.ReadJSON(filepath.Join(c.systemDir(), "managed-mcp.json"), model.ScopeManaged, claudeFileLimit, claudeJSON)
	if f.Status == model.FileAbsent {
		return nil
	}
	return f
}

// claudeJSON is how Claude Code parses its files: JSON.parse, after a byte order mark was dropped.
var claudeJSON = jsonc.Options{BOM: true, ReplaceInvalidUTF8: true}

// readMain reads the main file: .config.json of the configuration folder if it exists, else .claude.json of
// $CLAUDE_CONFIG_DIR or of the home folder. There is no fallback from one place to another.
func (c *claude) readMain() *model.Problem {
	legacy := filepath.Join(c.configDir, ".config.json")
	path := c.env.InHome(".claude.json")
	if c.env.Var("CLAUDE_CONFIG_DIR") != "" {
		path = filepath.Join(c.configDir, ".claude.json")
		for _, usual := range []string{".claude.json", ".claude/settings.json"} {
			if usual = c.env.InHome(usual); filepath.Dir(usual) != c.configDir {
				c.r.Ignored(usual, model.ScopeUser, "not read: CLAUDE_CONFIG_DIR names "+c.tilde(c.configDir))
			}
		}
	}
	if f := c.r.Peek(legacy, model.ScopeUser); f.Status != model.FileAbsent && !(f.OK() && len(f.Data) == 0) {
		c.r.Ignored(path, model.ScopeUser, "not read while "+c.tilde(legacy)+" exists")
		path = legacy
	}
	c.main = c.r.Read(path, model.ScopeUser, 0)
	if c.r.IsDir(path) { // it starts with defaults, as if there was none
		return nil
	}
	if c.main.OK() && trimJS(string(c.main.Data)) == "" {
		c.r.Mark(c.main, model.FileRead, "empty: Claude Code starts with defaults")
		return nil
	}
	c.r.ParseJSON(c.main, claudeJSON)
	if c.main.Status == model.FileMalformed || c.main.Status == model.FileRefused {
		return &model.Problem{Location: c.main.Location(), Text: "Claude Code does not start with a main file that it cannot read: " + c.main.Note}
	}
	c.project = c.main.Root().Lookup("projects", c.key)
	c.trusted = c.trustedIn(c.key) || slices.ContainsFunc(c.trustFolders(), c.trustedIn)
	return nil
}

func (c *claude) trustedIn(key string) bool {
	accepted, _ := c.main.Root().Lookup("projects", key, "hasTrustDialogAccepted").Bool()
	return accepted
}

// trustFolders are the folders whose trust holds here beside that of the key: from the start folder up to the root of its own
// checkout; outside git the start folder alone (observed on 2.1.332).
func (c *claude) trustFolders() []string {
	start := c.r.RealPath(c.env.Project)
	root := gitRoot(c.r, start)
	var out []string
	for _, dir := range Ancestors(start) {
		out = append(out, filepath.ToSlash(dir))
		if root == "" || dir == root {
			break
		}
	}
	return out
}

// ownFolder tells whether the folder's .claude is the user's: in the home folder, or where $CLAUDE_CONFIG_DIR names it. Local
// settings count there without trust (observed on 2.1.332).
func (c *claude) ownFolder() bool {
	return c.r.RealPath(c.env.Project) == c.r.RealPath(c.env.Home) || c.env.InProject(".claude") == c.configDir
}

// sharedLocal tells whether the local settings of the checkout's root count beside those of the start folder. Those of the home
// folder do not (observed on 2.1.332).
func (c *claude) sharedLocal() bool {
	return c.gitRoot != "" && c.gitRoot != c.r.RealPath(c.env.Project) && c.gitRoot != c.r.RealPath(c.env.Home)
}

// readSettings reads the settings files, lowest to highest.
func (c *claude) readSettings() {
	add := func(scope model.Scope, path string) {
		if slices.ContainsFunc(c.settings, func(s claudeSettings) bool { return s.file.Path == filepath.Clean(path) }) {
			return // the folder is the home folder: one file, and it is the user's
		}
		f := readClaudeSettings(c.r, path, scope)
		line := f.Location().Line
		if f.OK() && (scope != model.ScopeManaged || f.Root().Kind() != jsonc.Object) { // of a managed file only the bad values are ignored
			var bad string
			if bad, line = claudeSettingsFault(f.Root()); bad != "" {
				c.r.Mark(f, model.FileMalformed, bad)
			}
		}
		if f.Status == model.FileMalformed {
			c.notes = append(c.notes, model.Note{Code: "file-dropped", Path: f.Path, Line: line,
				Text: fmt.Sprintf("Claude Code ignores the whole of %s, approvals and rejections included: %s", c.tilde(f.Path), f.Note)})
		}
		if !f.OK() {
			return
		}
		c.settings = append(c.settings, claudeSettings{scope, f, f.Root()})
	}
	add(model.ScopeUser, filepath.Join(c.configDir, "settings.json"))
	add(model.ScopeProject, c.env.InProject(".claude/settings.json"))
	if c.sharedLocal() {
		add(model.ScopeLocal, filepath.Join(c.gitRoot, ".claude", "settings.local.json"))
	}
	add(model.ScopeLocal, c.env.InProject(".claude/settings.local.json"))
	add(model.ScopeManaged, filepath.Join(c.systemDir(), "managed-settings.json"))
	dropIn := filepath.Join(c.systemDir(), "managed-settings.d")
	for _, name := range c.r.ReadDir(dropIn) {
		if strings.HasSuffix(name, ".json") && !strings.HasPrefix(name, ".") {
			add(model.ScopeManaged, filepath.Join(dropIn, name))
		}
	}
}

// claudeList reads a list of names; a plain text counts as a list of one (2.1.332). at is the value that names it.
func claudeList(v jsonc.Value) []jsonc.Value {
	switch v.Kind() {
	case jsonc.String:
		return []jsonc.Value{v}
	case jsonc.Array:
		return v.Elements()
	}
	return nil
}

// foldName replaces every character outside A-Z a-z 0-9 _ - by an underscore.
func foldName(name string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '-' {
			return r
		}
		return '_'
	}, name)
}

// foldLike tells whether two names are the same once folded as JavaScript does: a character beyond U+FFFF is two.
func foldLike(a, b string) bool {
	fold := func(name string) string {
		var out strings.Builder
		for _, r := range name {
			out.WriteString(foldName(string(r)))
			if r > 0xffff {
				out.WriteByte('_')
			}
		}
		return out.String()
	}
	return fold(a) == fold(b)
}

// listed looks for a name in a list of names of a settings file. fold compares folded names.
func (c *claude) listed(f *ConfigFile, root jsonc.Value, key, name string, fold bool) (model.Location, bool) {
	list := root.Get(key)
	if f == c.main && list.Kind() != jsonc.Array { // a plain text is a list of one in settings only
		return model.Location{}, false
	}
	for _, item := range claudeList(list) {
		s, ok := item.Str()
		if ok && (s == name || fold && foldLike(s, name)) {
			return f.At(key, item), true
		}
	}
	return model.Location{}, false
}

// approvalSources are the places whose lists are joined: all settings files, and the legacy lists of projects[KEY], which
// every start moves into the local settings. Where those cannot be read, they do not count (observed on 2.1.332).
func (c *claude) approvalSources() []claudeSettings {
	out := c.settings
	if c.project.Kind() == jsonc.Object && c.dropped(c.localSettings()[0]) == "" {
		out = append(slices.Clone(c.settings), claudeSettings{model.ScopeLocal, c.main, c.project})
	}
	return out
}

// approval decides about one name of .mcp.json: 1 rejected by any file; 2 in an untrusted folder approved by a single
// user or policy file; 3 in a trusted one approved by the joined files; else it waits.
func (c *claude) approval(name string, entry model.Location) (d model.Decision, why model.Reason, consent model.Location, finding *model.Finding) {
	sources := c.approvalSources()
	for _, s := range sources {
		if at, ok := c.listed(s.file, s.root, "disabledMcpjsonServers", name, true); ok {
			return model.DecisionOff, model.Reason{Code: model.ReasonRejected, DecidedBy: at,
				Text: fmt.Sprintf("%s is in disabledMcpjsonServers of %s, and a rejection beats every approval", quoted(name), c.tilde(s.file.Path))}, consent, nil
		}
	}
	for i, s := range sources {
		if s.scope != model.ScopeUser && s.scope != model.ScopeManaged && !(s.scope == model.ScopeLocal && c.ownFolder()) {
			continue
		}
		if v := s.root.Get("enableAllProjectMcpServers"); !c.trusted && !c.overruledByManaged(sources[i:]) {
			if all, _ := v.Bool(); all {
				return model.DecisionLoads, why, s.file.At("enableAllProjectMcpServers", v), nil
			}
		}
		if at, ok := c.listed(s.file, s.root, "enabledMcpjsonServers", name, false); ok {
			return model.DecisionLoads, why, at, nil
		}
	}
	var by *claudeSettings
	var at, overruled model.Location
	for i := range sources {
		if found, ok := c.listed(sources[i].file, sources[i].root, "enabledMcpjsonServers", name, false); ok {
			by, at = &sources[i], found
		}
	}
	if by == nil {
		for i := len(sources) - 1; i >= 0; i-- {
			v := sources[i].root.Get("enableAllProjectMcpServers")
			if v.Kind() != jsonc.Bool {
				continue
			}
			// The highest file that says something decides; a false that overrules a true below it is worth showing.
			if all, _ := v.Bool(); all && overruled.IsZero() {
				by, at = &sources[i], sources[i].file.At("enableAllProjectMcpServers", v)
				break
			} else if all {
				return model.DecisionWaits, model.Reason{Code: model.ReasonNeedsApproval, DecidedBy: overruled,
					Text: fmt.Sprintf("Claude Code asks before it first starts it: false in %s:%d overrules the true of %s", c.tilde(overruled.Path), overruled.Line, c.tilde(sources[i].file.Path))}, consent, nil
			}
			if overruled.IsZero() {
				overruled = sources[i].file.At("enableAllProjectMcpServers", v)
			}
		}
	}
	if by == nil {
		return model.DecisionWaits, model.Reason{Code: model.ReasonNeedsApproval, DecidedBy: entry,
			Text: "Claude Code asks before it first starts a server of " + c.tilde(entry.Path) + "; nothing in the repository can approve it"}, consent, nil
	}
	if !c.trusted {
		return model.DecisionWaits, model.Reason{Code: model.ReasonUntrustedFolder, DecidedBy: c.trustLocation(),
			Text: fmt.Sprintf("approved in %s:%d, but this folder is not trusted in Claude Code, so that does not count", c.tilde(at.Path), at.Line)}, consent, nil
	}
	if by.scope == model.ScopeProject {
		return model.DecisionLoads, why, at, &model.Finding{Code: model.FindingApprovedByProject, Severity: model.Warning,
			Text: fmt.Sprintf("approved by a file of the repository itself: %s:%d", c.tilde(at.Path), at.Line)}
	}
	return model.DecisionLoads, why, at, nil
}

// overruledByManaged tells whether a later one of an administrator's files, which are one source, says something else about
// all servers than the first of these.
func (c *claude) overruledByManaged(sources []claudeSettings) bool {
	return sources[0].scope == model.ScopeManaged && slices.ContainsFunc(sources[1:], func(s claudeSettings) bool {
		return s.scope == model.ScopeManaged && s.root.Get("enableAllProjectMcpServers").Kind() == jsonc.Bool
	})
}

// trustLocation is the line that says, or would say, whether the folder is trusted.
func (c *claude) trustLocation() model.Location {
	key := JoinKey("projects", c.key, "hasTrustDialogAccepted")
	if v := c.project.Get("hasTrustDialogAccepted"); v.Exists() {
		return c.main.At(key, v)
	}
	if c.project.Exists() {
		return c.main.At(key, c.project)
	}
	return model.Location{Path: c.main.Path, Key: key, Line: 1}
}

// projectEntries reads .mcp.json of the start folder and of every parent but the file system root, nearest first. It does
// not stop at the git root or at home.
func (c *claude) projectEntries() []claudeEntry {
	var out []claudeEntry
	seen := map[string]int{}
	dirs := Ancestors(c.r.RealPath(c.env.Project))
	for _, dir := range dirs[:len(dirs)-1] {
		path := filepath.Join(dir, ".mcp.json")
		f := c.r.Read(path, model.ScopeProject, claudeFileLimit)
		if f.OK() && len(f.Data) == 0 {
			c.r.Mark(f, model.FileRead, "empty")
			continue
		}
		c.r.ParseJSON(f, claudeJSON)
		if f.Status == model.FileMalformed || f.Status == model.FileRefused {
			c.notes = append(c.notes, model.Note{Code: "file-dropped", Path: path, Line: f.Location().Line,
				Text: fmt.Sprintf("%s is dropped as a whole: %s", c.tilde(path), f.Note)})
			lost := model.Reason{Code: model.ReasonFileRefused, DecidedBy: f.Location(),
				Text: fmt.Sprintf("%s is dropped as a whole: %s", c.tilde(path), f.Note)}
			out = append(out, c.lostEntries(f, "mcpServers", lost, func(name string) bool { _, nearer := seen[name]; return nearer })...)
		}
		if !f.OK() {
			continue
		}
		servers := f.Root().Get("mcpServers")
		if servers.Kind() != jsonc.Object {
			why := "it has no mcpServers object"
			if f.Root().Get("servers").Exists() {
				why = `it has "servers"; Claude Code reads "mcpServers"`
				servers = f.Root().Get("servers")
			} else if servers.Exists() {
				why = "mcpServers is " + typeWord(servers)
			}
			c.r.Mark(f, model.FileMalformed, why)
			c.notes = append(c.notes, model.Note{Code: string(model.FindingWrongKey), Path: path, Line: max(1, servers.Line()),
				Text: c.tilde(path) + " is dropped as a whole: " + why})
			continue
		}
		for _, e := range c.entries(f, servers, model.ScopeProject, "mcpServers") {
			if dir == c.env.Home {
				e.Findings = append(e.Findings, model.Finding{Code: model.FindingFileNotRead, Severity: model.Info,
					Text: "~/.mcp.json is no user file: Claude Code finds it only below the home folder, as a project file"})
			}
			if nearer, ok := seen[e.Name]; ok && out[nearer].fault.Code != "" && e.fault.Code == "" {
				e.bad = append(out[nearer].bad, out[nearer])
				out[nearer] = e
				continue
			} else if ok {
				out[nearer].beaten = append(out[nearer].beaten, model.Replaced{Scope: e.Scope, Source: e.Source})
				continue
			}
			seen[e.Name] = len(out)
			out = append(out, e)
		}
	}
	return out
}

// lostEntries names the servers of a file that Claude Code drops as a whole.
func (c *claude) lostEntries(f *ConfigFile, key string, why model.Reason, skip func(name string) bool) []claudeEntry {
	var out []claudeEntry
	if f.Status != model.FileMalformed {
		return nil
	}
	lost := c.r.Recover(f)
	servers := lost.Root()
	if key != "" {
		servers = servers.Get(key)
	}
	for _, e := range c.entries(lost, servers, f.Scope, key) {
		if !skip(e.Name) {
			e.fault = why
			out = append(out, e)
		}
	}
	return out
}

// entries reads a map of servers. What is made of the file alone is kept with the file: the result must not be changed.
func (c *claude) entries(f *ConfigFile, servers jsonc.Value, scope model.Scope, key string) []claudeEntry {
	return Memo(f, fmt.Sprintf("claude/%s/%s/%t", scope, key, f.OK()), func() []claudeEntry {
		members := servers.Members()
		twice := duplicates(members)
		out := make([]claudeEntry, 0, len(members))
		for _, m := range members {
			if m.Shadowed {
				continue
			}
			e := c.entry(m, f.Member(key+"."+JoinKey(m.Key), m), scope)
			if _, ok := twice[m.Key]; ok {
				e.Findings = append(e.Findings, duplicateFinding(m.Key, m.Line()))
			}
			if e.fault.Code == "" && e.empty.Code == "" && (scope == model.ScopeUser || scope == model.ScopeLocal) {
				e.alone = cell(e.Entry, model.DecisionLoads, model.Reason{})
				e.alone.Capabilities = c.capabilities(e.alone)
			}
			out = append(out, e)
		}
		return out
	})
}

var claudeReserved = map[string]bool{"workspace": true, "computer-use": true, "claude-in-chrome": true, "__proto__": true, "Claude Preview": true, "Claude Browser": true}

// claudePlainName tells whether claude mcp add allows a name; files may hold any.
func claudePlainName(name string) bool { return name != "" && foldName(name) == name }

// claudeBlanked are variables that read as empty in url and headers, default or not. ANTHROPIC_API_KEY and NPM_TOKEN were
// observed on 2.1.332, the others are documented.
var claudeBlanked = []string{"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "AWS_BEARER_TOKEN_BEDROCK", "HTTPS_PROXY", "NPM_TOKEN"}

// entry reads one server. A bad one is skipped by Claude Code with a warning; the rest of the file loads.
func (c *claude) entry(m jsonc.Member, at model.Location, scope model.Scope) claudeEntry {
	e := claudeEntry{Entry: model.Entry{Name: m.Key, Scope: scope, Source: at}}
	skip := func(code model.ReasonCode, format string, args ...any) claudeEntry {
		e.fault = model.Reason{Code: code, DecidedBy: at, Text: fmt.Sprintf(format, args...) + ": Claude Code skips this entry"}
		return e
	}
	v := m.Value
	if v.Kind() != jsonc.Object {
		return skip(model.ReasonEntryInvalid, "the entry is %s, not an object", typeWord(v))
	}
	d := &model.Definition{}
	transport, fault := claudeTransport(v)
	if transport == model.TransportUnknown {
		if typ := v.Get("type"); typ.Exists() && typ.Kind() != jsonc.String {
			return skip(model.ReasonEntryInvalid, "%s", fault)
		}
		return skip(model.ReasonEntryInvalid, "%s", fault)
	}
	d.Transport = transport
	d.StartTimeout = 0
	if transport.Remote() {
		u, ok := v.Get("url").Str()
		if !ok {
			return skip(model.ReasonEntryInvalid, "a %s entry needs a url", transport)
		}
		d.URL = model.NewSecret(u)
		if h := v.Get("headers"); h.Exists() {
			if d.Headers, ok = stringMap(h); !ok {
				return skip(model.ReasonEntryInvalid, "headers must be an object of texts")
			}
		}
		if helper := v.Get("headersHelper"); helper.Exists() {
			text, ok := helper.Str()
			if !ok {
				return skip(model.ReasonEntryInvalid, "headersHelper must be a text")
			}
			d.HeadersHelper = model.NewSecret(text)
		}
		if bad := claudeRemoteFault(v, transport); bad != "" {
			return skip(model.ReasonEntryInvalid, "%s", bad)
		}
		e.Definition = d
		if trimJS(u) == "" {
			e.empty = model.Reason{Code: model.ReasonEntrySkipped, DecidedBy: at, Text: "the url is empty: Claude Code lists the server as not configured"}
		}
	} else {
		command, ok := v.Get("command").Str()
		if !ok || command == "" {
			if url, has := v.Get("url").Str(); has && !v.Get("type").Exists() && !v.Get("command").Exists() {
				e.Definition = &model.Definition{Transport: model.TransportHTTP, URL: model.NewSecret(url)}
				e.Findings = append(e.Findings, model.Finding{Code: model.FindingURLWithoutType, Severity: model.Warning, Line: v.Get("url").Line(),
					Text: `a url without a type is read as a stdio entry: add "type": "http"`})
				return skip(model.ReasonEntrySkipped, `there is a url but no type, so it counts as stdio without a command`)
			}
			if !v.Get("command").Exists() {
				return skip(model.ReasonEntryInvalid, "there is no command")
			}
			return skip(model.ReasonEntryInvalid, "command must be a text that is not empty")
		}
		d.Command = command
		if a := v.Get("args"); a.Exists() {
			args, ok := a.Strings()
			if !ok {
				return skip(model.ReasonEntryInvalid, "args must be a list of texts")
			}
			d.Args = model.Secrets(args)
		}
		if x := v.Get("env"); x.Exists() {
			if d.Env, ok = stringMap(x); !ok {
				return skip(model.ReasonEntryInvalid, "env must be an object of texts")
			}
		}
		if v.Get("url").Exists() {
			e.Findings = append(e.Findings, model.Finding{Code: model.FindingConflictingKeys, Severity: model.Warning, Line: v.Get("url").Line(),
				Text: "the url beside a command is ignored"})
		}
	}
	if t := v.Get("timeout"); t.Exists() {
		ms, ok := positiveInteger(t)
		if !ok {
			return skip(model.ReasonEntryInvalid, "timeout must be a positive whole number of milliseconds")
		}
		d.StartTimeout = time.Duration(ms) * time.Millisecond
	}
	for _, key := range []string{"alwaysLoad", "bareElicitationCapability"} {
		if a := v.Get(key); a.Exists() && a.Kind() != jsonc.Bool {
			return skip(model.ReasonEntryInvalid, "%s must be true or false", key)
		}
	}
	e.Definition = d
	if claudeReserved[m.Key] && scope != model.ScopePlugin { // a plugin's server has another name in the end
		e.Findings = append(e.Findings, model.Finding{Code: model.FindingReservedName, Severity: model.Warning, Text: "the name is one of Claude Code's own"})
		return skip(model.ReasonEntrySkipped, "the name %s is reserved", quoted(m.Key))
	}
	c.entryFindings(&e, v)
	return e
}

// claudeTransport reads type: missing or stdio; http with its alias streamable-http; sse; ws.
func claudeTransport(v jsonc.Value) (model.Transport, string) {
	typ := v.Get("type")
	if !typ.Exists() {
		return model.TransportStdio, ""
	}
	s, ok := typ.Str()
	if !ok {
		return model.TransportUnknown, "type is " + typeWord(typ)
	}
	switch s {
	case "stdio":
		return model.TransportStdio, ""
	case "http", "streamable-http":
		return model.TransportHTTP, ""
	case "sse":
		return model.TransportSSE, ""
	case "ws":
		return model.TransportWS, ""
	}
	return model.TransportUnknown, "unknown type " + quoted(s)
}

// claudeRemoteFault checks the keys that only a remote entry has; an entry of type ws has fewer (2.1.332).
func claudeRemoteFault(v jsonc.Value, transport model.Transport) string {
	if transport == model.TransportWS {
		return ""
	}
	if o := v.Get("oauth"); o.Exists() {
		if o.Kind() != jsonc.Object {
			return "oauth must be an object"
		}
		if bad := claudeOAuthFault(o); bad != "" {
			return "oauth." + bad
		}
	}
	if d := v.Get("discoveryCache"); d.Exists() && d.Kind() != jsonc.Bool {
		return "discoveryCache must be true or false"
	}
	if t := v.Get("tools"); t.Exists() {
		if t.Kind() != jsonc.Array {
			return "tools must be a list"
		}
		for _, tool := range t.Elements() {
			if tool.Get("name").Kind() != jsonc.String {
				return "tools must hold objects with a name"
			}
			if p := tool.Get("permission_policy"); p.Exists() && !isWord("always_allow", "always_ask", "always_deny")(p) {
				return "permission_policy of a tool must be one of always_allow, always_ask, always_deny"
			}
		}
	}
	if p := v.Get("toolPermissions"); p.Exists() {
		if p.Kind() != jsonc.Object {
			return "toolPermissions must be an object"
		}
		for _, m := range p.Members() {
			if !m.Shadowed && !isWord("allow", "ask", "blocked")(m.Value) {
				return "toolPermissions must hold allow, ask or blocked"
			}
		}
	}
	return ""
}

func claudeOAuthFault(o jsonc.Value) string {
	if id := o.Get("clientId"); id.Exists() && id.Kind() != jsonc.String {
		return "clientId must be a text"
	}
	if port := o.Get("callbackPort"); port.Exists() {
		if _, ok := positiveInteger(port); !ok {
			return "callbackPort must be a positive whole number"
		}
	}
	if meta := o.Get("authServerMetadataUrl"); meta.Exists() {
		text, ok := meta.Str()
		if _, valid := parseWebURL(text); !ok || !valid || !strings.HasPrefix(text, "https://") || len(text) > 4096 {
			return "authServerMetadataUrl must be a URL with https"
		}
	}
	if scopes := o.Get("scopes"); scopes.Exists() {
		if text, ok := scopes.Str(); !ok || text == "" {
			return "scopes must be a text that is not empty"
		}
	}
	if xaa := o.Get("xaa"); xaa.Exists() && xaa.Kind() != jsonc.Bool {
		return "xaa must be true or false"
	}
	return ""
}

// positiveInteger reads a whole number above 0 as JavaScript does: 5, 5.0 and 5e0 are one, up to 2^53-1.
func positiveInteger(v jsonc.Value) (int64, bool) {
	raw, ok := v.Number()
	if !ok {
		return 0, false
	}
	n, err := strconv.ParseFloat(raw, 64)
	if err != nil || n <= 0 || n != math.Trunc(n) || n > 1<<53-1 {
		return 0, false
	}
	return int64(n), true
}

// entryFindings adds what a user should know of an entry that loads.
func (c *claude) entryFindings(e *claudeEntry, v jsonc.Value) {
	d := e.Definition
	if !claudePlainName(e.Name) {
		e.Findings = append(e.Findings, model.Finding{Code: model.FindingInvalidName, Severity: model.Info,
			Text: "claude mcp add allows only letters, digits, - and _ in names; from a file it loads"})
	}
	for _, key := range []string{"disabled", "enabled"} {
		if k := v.Get(key); k.Exists() {
			e.Findings = append(e.Findings, model.Finding{Code: model.FindingUselessKey, Severity: model.Warning, Line: k.Line(),
				Text: fmt.Sprintf("%q in an entry means nothing to Claude Code: the switch (disabled or enabled) is not kept there", key)})
		}
	}
	if k := v.Get("cwd"); k.Exists() {
		e.Findings = append(e.Findings, model.Finding{Code: model.FindingUnknownKey, Severity: model.Info, Line: k.Line(),
			Text: "cwd is ignored by Claude Code: the server starts in the folder of the session"})
	}
	if !strings.Contains(string(v.Raw()), "${") {
		return
	}
	for _, name := range unsetBraced(c.env, definitionTexts(d)...) {
		e.Findings = append(e.Findings, unsetFinding(name, "the text ${"+name+"} is passed on as it stands", 0))
	}
	for _, text := range definitionTexts(d) {
		for _, ref := range foreignReference.FindAllString(text, -1) {
			f := model.Finding{Code: model.FindingUnsetVariable, Severity: model.Warning,
				Text: quoted(ref) + " is not Claude Code's way to write a variable: the text is passed on as it stands"}
			if strings.HasPrefix(ref, "$") && !slices.Contains(e.Findings, f) {
				e.Findings = append(e.Findings, f)
			}
		}
	}
	if d.Transport.Remote() {
		texts := []string{d.URL.Reveal()}
		for _, h := range d.Headers {
			texts = append(texts, h.Value.Reveal())
		}
		for _, m := range bracedVariable.FindAllStringSubmatch(strings.Join(texts, "\n"), -1) {
			f := model.Finding{Code: model.FindingBlankedVariable, Severity: model.Warning,
				Text: m[1] + " reads as empty in url and headers of Claude Code"}
			if slices.Contains(claudeBlanked, m[1]) && !slices.Contains(e.Findings, f) {
				e.Findings = append(e.Findings, f)
			}
		}
	}
}

// mainEntries reads a map of servers of the main file.
func (c *claude) mainEntries(v jsonc.Value, scope model.Scope, key string) []claudeEntry {
	switch v.Kind() {
	case jsonc.Object:
		return c.entries(c.main, v, scope, key)
	case jsonc.Array, jsonc.String, jsonc.Number, jsonc.Bool:
		c.notes = append(c.notes, model.Note{Code: string(model.FindingWrongType), Path: c.main.Path, Line: v.Line(),
			Text: fmt.Sprintf("%s of %s is %s, not an object: no server from it", key, c.tilde(c.main.Path), typeWord(v))})
	}
	return nil
}

// decide compares the scopes, name by name: local, approved project, user, plugin.
func (c *claude) decide(project []claudeEntry) []*model.Cell {
	local := c.mainEntries(c.project.Get("mcpServers"), model.ScopeLocal, JoinKey("projects", c.key, "mcpServers"))
	user := c.mainEntries(c.main.Root().Get("mcpServers"), model.ScopeUser, "mcpServers")
	plugins := c.pluginEntries(local, slices.DeleteFunc(slices.Clone(project), func(e claudeEntry) bool {
		approved, _, _, _ := c.approval(e.Name, e.Source)
		return approved != model.DecisionLoads
	}), user)
	c.otherFolders()

	type named struct{ local, project, user, plugin *claudeEntry }
	names := map[string]*named{}
	var order []string
	put := func(list []claudeEntry, slot func(*named) **claudeEntry) {
		for i := range list {
			n := names[list[i].Name]
			if n == nil {
				n = &named{}
				names[list[i].Name] = n
				order = append(order, list[i].Name)
			}
			*slot(n) = &list[i]
		}
	}
	put(local, func(n *named) **claudeEntry { return &n.local })
	put(project, func(n *named) **claudeEntry { return &n.project })
	put(plugins, func(n *named) **claudeEntry { return &n.plugin })

	policy := c.readPolicy()
	cells := make([]*model.Cell, 0, len(order)+len(user))
	for i := range user {
		e := &user[i]
		if n := names[e.Name]; n != nil {
			n.user = e
		} else if e.alone != nil && !policy.any() && !c.switchedOff(e.Name) {
			cells = append(cells, e.alone)
		} else {
			cells = append(cells, c.decideName(policy, nil, nil, e, nil))
		}
	}
	for _, name := range order {
		n := names[name]
		cells = append(cells, c.decideName(policy, n.local, n.project, n.user, n.plugin))
	}
	return cells
}

func (c *claude) decideName(policy claudePolicy, local, project, user, plugin *claudeEntry) *model.Cell {
	var approved model.Decision
	var why model.Reason
	var consent model.Location
	if project != nil && project.fault.Code == "" {
		var finding *model.Finding
		approved, why, consent, finding = c.approval(project.Name, project.Source)
		if finding != nil {
			project.Findings = append(project.Findings, *finding)
		}
	}
	var winner *claudeEntry
	var replaces []model.Replaced
	var pending []model.Pending
	for _, e := range []*claudeEntry{local, project, user, plugin} {
		if e != nil {
			for _, nearer := range e.bad {
				pending = append(pending, model.Pending{Entry: nearer.Entry, State: model.StateError, Reason: nearer.fault})
			}
		}
		switch {
		case e == nil:
		case e.fault.Code != "":
			pending = append(pending, model.Pending{Entry: e.Entry, State: model.StateError, Reason: e.fault})
		case e == project && approved != model.DecisionLoads:
			state := model.StateUnapproved
			if approved == model.DecisionOff {
				state = model.StateDisabled
			}
			pending = append(pending, model.Pending{Entry: e.Entry, State: state, Reason: why})
		case winner == nil:
			winner = e
			replaces = append(replaces, e.beaten...)
		default:
			replaces = append(replaces, model.Replaced{Scope: e.Scope, Source: e.Source})
			replaces = append(replaces, e.beaten...)
		}
	}
	var out *model.Cell
	switch {
	case winner != nil:
		out = cell(winner.Entry, model.DecisionLoads, model.Reason{})
		if winner == project {
			out.Consent = consent
		}
		c.applySwitches(out, policy)
		if out.Decision == model.DecisionLoads && winner.empty.Code != "" {
			out.Decision, out.Reason = model.DecisionCannot, winner.empty
		}
	case project != nil && project.fault.Code == "":
		out = cell(project.Entry, approved, why)
		if approved == model.DecisionWaits {
			c.applySwitches(out, policy)
		}
		replaces = project.beaten
		pending = slices.DeleteFunc(pending, func(p model.Pending) bool { return p.Source == project.Source })
	default: // only faulty entries: the highest is the cell
		first := pending[0]
		out = cell(first.Entry, model.DecisionCannot, first.Reason)
		pending = pending[1:]
	}
	out.Replaces, out.Pending = replaces, pending
	if winner != nil && len(replaces) > 0 {
		c.conflictFinding(out, local, project, user)
	}
	out.Capabilities = c.capabilities(out)
	return out
}

// conflictFinding says that the same name has another definition in a lower scope, as claude mcp list does.
func (c *claude) conflictFinding(out *model.Cell, entries ...*claudeEntry) {
	for _, e := range entries {
		if e != nil && e.Definition != nil && e.Source != out.Source && out.Definition != nil &&
			e.Definition.SameServerKey() != out.Definition.SameServerKey() {
			out.Findings = append(out.Findings, model.Finding{Code: model.FindingConflictingScopes, Severity: model.Warning,
				Text: fmt.Sprintf("the %s entry of this name is another server", e.Scope)})
			return
		}
	}
}

// applySwitches lays the policy lists and the switch of this folder over a cell that loads or waits.
func (c *claude) applySwitches(out *model.Cell, policy claudePolicy) {
	if reason, blocked := policy.blocks(c, out); blocked {
		out.Decision, out.Reason = model.DecisionOff, reason
		return
	}
	if c.switchedOff(out.Name) {
		out.Decision = model.DecisionOff
		out.Reason = model.Reason{Code: model.ReasonSwitchedOff, Text: "switched off for this folder in disabledMcpServers",
			DecidedBy: c.main.At(JoinKey("projects", c.key, "disabledMcpServers"), c.off[out.Name])}
	}
}

// switchedOff tells whether a name is in disabledMcpServers of this folder.
func (c *claude) switchedOff(name string) bool {
	if c.off == nil {
		c.off = map[string]jsonc.Value{}
		for _, item := range c.project.Get("disabledMcpServers").Elements() {
			if s, ok := item.Str(); ok {
				if _, twice := c.off[s]; !twice {
					c.off[s] = item
				}
			}
		}
	}
	_, off := c.off[name]
	return off
}

// underManagement shows the managed servers, and all others as blocked by them.
func (c *claude) underManagement(managed *ConfigFile, project []claudeEntry) []*model.Cell {
	decision := model.DecisionOff
	blocked := model.Reason{Code: model.ReasonBlockedByPolicy, DecidedBy: managed.At("mcpServers", managed.Root().Get("mcpServers")),
		Text: "only the servers of " + c.tilde(managed.Path) + " load while that file exists"}
	var others []claudeEntry
	if !managed.OK() {
		decision = model.DecisionCannot
		blocked = model.Reason{Code: model.ReasonFileRefused, DecidedBy: managed.Location(),
			Text: fmt.Sprintf("Claude Code loads no server at all while %s cannot be read: %s", c.tilde(managed.Path), managed.Note)}
		others = c.lostEntries(managed, "mcpServers", blocked, func(string) bool { return false })
	}
	local := c.mainEntries(c.project.Get("mcpServers"), model.ScopeLocal, JoinKey("projects", c.key, "mcpServers"))
	user := c.mainEntries(c.main.Root().Get("mcpServers"), model.ScopeUser, "mcpServers")
	others = slices.Concat(others, local, project, user)

	var cells []*model.Cell
	have := map[string]*model.Cell{}
	add := func(out *model.Cell) {
		out.Capabilities = c.capabilities(out)
		have[out.Name] = out
		cells = append(cells, out)
	}
	if managed.OK() {
		policy := c.readPolicy()
		for _, e := range c.entries(managed, managed.Root().Get("mcpServers"), model.ScopeManaged, "mcpServers") {
			out := cell(e.Entry, model.DecisionLoads, model.Reason{})
			if e.fault.Code != "" {
				out = cell(e.Entry, model.DecisionCannot, e.fault)
			} else {
				c.applySwitches(out, policy)
				if out.Decision == model.DecisionLoads && e.empty.Code != "" {
					out.Decision, out.Reason = model.DecisionCannot, e.empty
				}
			}
			add(out)
		}
	}
	for _, e := range others {
		if winner := have[e.Name]; winner != nil {
			winner.Replaces = append(winner.Replaces, model.Replaced{Scope: e.Scope, Source: e.Source})
			continue
		}
		add(cell(e.Entry, decision, blocked))
	}
	return cells
}

// allBroken shows what is still readable while the main file stops Claude Code.
func (c *claude) allBroken(managed *ConfigFile, project []claudeEntry, why *model.Problem) []*model.Cell {
	var cells []*model.Cell
	var lost []claudeEntry
	if managed.OK() {
		lost = c.entries(managed, managed.Root().Get("mcpServers"), model.ScopeManaged, "mcpServers")
	}
	if c.main.Status == model.FileMalformed {
		main := c.r.Recover(c.main)
		lost = append(lost, c.entries(main, main.Root().Lookup("projects", c.key, "mcpServers"), model.ScopeLocal, "projects")...)
		lost = append(lost, c.entries(main, main.Root().Get("mcpServers"), model.ScopeUser, "mcpServers")...)
	}
	have := map[string]bool{}
	for _, e := range slices.Concat(lost, project) {
		if have[e.Name] {
			continue
		}
		have[e.Name] = true
		out := cell(e.Entry, model.DecisionCannot, model.Reason{Code: model.ReasonFileRefused, DecidedBy: why.Location, Text: why.Text})
		out.Capabilities = c.capabilities(out)
		cells = append(cells, out)
	}
	return cells
}

// otherFolders notes servers that the main file keeps for other folders: local scope is bound to the exact folder.
func (c *claude) otherFolders() {
	count, folders := 0, 0
	first := 0
	for _, m := range c.main.Root().Get("projects").Members() {
		if m.Shadowed || m.Key == c.key {
			continue
		}
		if n := m.Value.Get("mcpServers").Len(); n > 0 && m.Value.Get("mcpServers").Kind() == jsonc.Object {
			count += n
			folders++
			if first == 0 {
				first = m.Line()
			}
		}
	}
	if count > 0 {
		c.notes = append(c.notes, model.Note{Code: "other-folders", Path: c.main.Path, Line: first,
			Text: fmt.Sprintf("%s of %s in %s: local scope holds for the exact folder only", countOf(count, "more server"), countOf(folders, "other folder"), c.tilde(c.main.Path)) + " (other folders)"})
	}
}

func countOf(n int, word string) string {
	if n == 1 {
		return "1 " + word
	}
	return fmt.Sprintf("%d %ss", n, word)
}

// strayFiles notes files that look right and are not read.
func (c *claude) strayFiles() {
	stray := func(path string, scope model.Scope) {
		if c.r.Ignored(path, scope, "not read by Claude Code") {
			c.notes = append(c.notes, model.Note{Code: string(model.FindingFileNotRead), Path: path, Line: 1,
				Text: c.tilde(path) + " is not read by Claude Code: servers belong into .mcp.json or " + c.tilde(c.main.Path)})
		}
	}
	stray(c.env.InProject(".claude/.mcp.json"), model.ScopeProject)
	stray(c.env.InProject(".claude/mcp.json"), model.ScopeProject)
	stray(filepath.Join(c.configDir, "mcp.json"), model.ScopeUser)
	stray(filepath.Join(c.configDir, ".mcp.json"), model.ScopeUser)
	for _, s := range c.settings {
		if v := s.root.Get("mcpServers"); v.Len() > 0 {
			c.notes = append(c.notes, model.Note{Code: string(model.FindingWrongKey), Path: s.file.Path, Line: v.Line(),
				Text: "mcpServers in " + c.tilde(s.file.Path) + " is not read by Claude Code"})
		}
		c.strayOffList(s.file, s.root)
	}
	c.strayOffList(c.main, c.main.Root())
}

// strayOffList notes a list of switched off servers in a place where it does nothing.
func (c *claude) strayOffList(f *ConfigFile, root jsonc.Value) {
	if v := root.Get("disabledMcpServers"); v.Len() > 0 {
		c.notes = append(c.notes, model.Note{Code: string(model.FindingWrongKey), Path: f.Path, Line: v.Line(),
			Text: fmt.Sprintf("disabledMcpServers in %s does nothing there: it belongs into this folder's entry under projects of %s",
				c.tilde(f.Path), c.tilde(c.main.Path))})
	}
}

// pluginTwin is what two servers must share for one of a plugin to be dropped: the command line or the URL, as written.
func pluginTwin(d *model.Definition) string {
	if d.Transport.Remote() {
		return d.URL.Reveal()
	}
	return strings.Join(append([]string{"", d.Command}, d.ArgTexts()...), "\x00")
}

// pluginEntries reads the servers of enabled plugins. A plugin's server is dropped when a manual entry that loads, or one of
// an earlier plugin, has the same command line or URL (observed on 2.1.332).
func (c *claude) pluginEntries(manual ...[]claudeEntry) []claudeEntry {
	enabled := map[string]bool{}
	for _, s := range c.settings {
		for _, m := range s.root.Get("enabledPlugins").Members() {
			if on, ok := m.Value.Bool(); ok && !m.Shadowed {
				enabled[m.Key] = on
			}
		}
	}
	if len(enabled) == 0 {
		return nil
	}
	index := c.r.ReadJSON(filepath.Join(c.configDir, "plugins", "installed_plugins.json"), model.ScopePlugin, 0, claudeJSON)
	have := map[string]bool{}
	for _, list := range manual {
		for _, e := range list {
			if e.Definition != nil && e.fault.Code == "" {
				if !c.switchedOff(e.Name) {
					have[pluginTwin(e.Definition)] = true
				}
			}
		}
	}
	var out []claudeEntry
	for _, m := range index.Root().Get("plugins").Members() {
		if m.Shadowed || !enabled[m.Key] {
			continue
		}
		name, _, _ := strings.Cut(m.Key, "@")
		dir := c.pluginFolder(m.Value)
		if dir == "" {
			continue
		}
		for _, e := range c.pluginServers(name, dir) {
			if e.Definition != nil && e.fault.Code == "" {
				twin := pluginTwin(e.Definition)
				if have[twin] {
					continue
				}
				have[twin] = true
			}
			out = append(out, e)
		}
	}
	return out
}

// pluginFolder finds the installed copy that counts here: one of this folder before one of the user, and that before one of
// another folder (observed on 2.1.332).
func (c *claude) pluginFolder(v jsonc.Value) string {
	installs := v.Elements()
	if v.Kind() == jsonc.Object {
		installs = []jsonc.Value{v}
	}
	found, elsewhere := "", ""
	for _, in := range installs {
		path, _ := in.Get("installPath").Str()
		project, bound := in.Get("projectPath").Str()
		switch {
		case path == "":
		case bound && filepath.Clean(project) != c.env.Project && filepath.Clean(project) != c.key:
			elsewhere = cmp.Or(elsewhere, path)
		case bound:
			return path
		default:
			found = cmp.Or(found, path)
		}
	}
	return cmp.Or(found, elsewhere)
}

// pluginServers reads .mcp.json of a plugin, and mcpServers of its manifest: an object, the path of a file, or a list of
// such. The manifest's name counts before that of the market place (observed on 2.1.332).
func (c *claude) pluginServers(plugin, dir string) []claudeEntry {
	manifest := c.r.ReadJSON(filepath.Join(dir, ".claude-plugin", "plugin.json"), model.ScopePlugin, 0, claudeJSON)
	if name, _ := manifest.Root().Get("name").Str(); name != "" {
		plugin = name
	}
	var out []claudeEntry
	add := func(f *ConfigFile, servers jsonc.Value, key string) {
		for _, e := range c.entries(f, servers, model.ScopePlugin, key) {
			e.Name = "plugin:" + plugin + ":" + e.Name
			e.plugin = true
			out = append(out, e)
		}
	}
	fromFile := func(path string) {
		f := c.r.ReadJSON(path, model.ScopePlugin, claudeFileLimit, claudeJSON)
		if !f.OK() {
			return
		}
		if wrapped := f.Root().Get("mcpServers"); wrapped.Kind() == jsonc.Object {
			add(f, wrapped, "mcpServers")
		} else if f.Root().Kind() == jsonc.Object {
			add(f, f.Root(), "")
		}
	}
	if path := filepath.Join(dir, ".mcp.json"); c.r.Exists(path) {
		fromFile(path)
	}
	named := func(servers jsonc.Value, key string) {
		switch servers.Kind() {
		case jsonc.Object:
			add(manifest, servers, key)
		case jsonc.String:
			if rel, _ := servers.Str(); Within(filepath.Join(dir, rel), dir) && filepath.Join(dir, rel) != filepath.Join(dir, ".mcp.json") {
				fromFile(filepath.Join(dir, rel))
			}
		}
	}
	servers := manifest.Root().Get("mcpServers")
	named(servers, "mcpServers")
	for i, item := range servers.Elements() {
		named(item, fmt.Sprintf("mcpServers.%d", i))
	}
	return out
}

// capabilities says what can be done with a cell, or why not.
func (c *claude) capabilities(out *model.Cell) model.Capabilities {
	caps := model.Capabilities{Approve: "not needed", Login: "not needed"}
	if out.Definition != nil && out.Definition.Transport.Remote() {
		caps.Login = ""
	}
	switch {
	case out.Decision == model.DecisionCannot:
		caps.Toggle, caps.Approve = "the entry does not load: mend it first", "the entry does not load: mend it first"
	case out.Reason.Code == model.ReasonBlockedByList || out.Reason.Code == model.ReasonBlockedByPolicy:
		caps.Toggle = "a list blocks it; taking it off that list is no switch"
		caps.Approve = caps.Toggle
	case out.Reason.Code == model.ReasonRejected:
		caps.Toggle, caps.Approve = "it is rejected, not switched off: approve it", ""
	case out.Decision == model.DecisionWaits:
		caps.Approve = ""
	case slices.ContainsFunc(out.Pending, func(p model.Pending) bool {
		return p.Scope == model.ScopeProject && (p.State == model.StateUnapproved || p.Reason.Code == model.ReasonRejected)
	}):
		caps.Approve = ""
	case out.Decision == model.DecisionOff:
		caps.Approve = "not needed, it is switched off"
	case out.Scope != model.ScopeProject:
		caps.Approve = "not needed, " + string(out.Scope) + " scope"
	default:
		caps.Approve = "approved already"
	}
	if caps.Approve == "" {
		caps.Approve = c.approvalRefused(out.Name)
	}
	return caps
}

// tilde shows a path with ~ for the home folder, by path components.
func (c *claude) tilde(path string) string { return model.Tilde(path, c.env.Home) }
