package loaders

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"fusebox/loaders/jsonc"
	"fusebox/model"
)

// What the user, the environment and an administrator say about servers: switches, approvals, rejections. A project has
// no say. Observed by running the functions of deepagents-code 0.1.59; the part of an administrator's file was read in its
// source where a comment says so.

// Variables that name project servers, comma by comma.
const (
	deepEnableVariable  = "DEEPAGENTS_CODE_DANGEROUSLY_ENABLE_PROJECT_MCP_SERVERS"
	deepRejectVariable  = "DEEPAGENTS_CODE_DISABLED_PROJECT_MCP_SERVERS"
	deepRemovedVariable = "DEEPAGENTS_CODE_ENABLED_PROJECT_MCP_SERVERS"
	deepDotenvVariable  = "DEEPAGENTS_CODE_READ_PROJECT_DOTENV"
	deepPluginsVariable = "DEEPAGENTS_CODE_PLUGIN_CACHE_DIR"
)

// Keys of config.toml.
const (
	deepOffKey       = "disabled_servers"
	deepRejectedKey  = "disabled_project_servers"
	deepApprovalsKey = "enabled_project_server_approvals"
	deepRemovedKey   = "enabled_project_servers"
)

// deepPolicy is what was said about servers.
type deepPolicy struct {
	off       map[string]deepSaid // switched off, by exact name
	allOff    *model.Location     // an administrator's list cannot be read: every server is off
	rejected  map[string]deepSaid
	enabled   map[string]model.Location // approved by name in the environment
	approvals map[string][]deepApproval // by name
	replaced  *model.Location           // an administrator's list of approvals stands in the place of the user's
	fault     *model.Problem            // the approvals cannot be read: none counts
	faultFile *ConfigFile
}

// deepSaid is where something is said, and by whom.
type deepSaid struct {
	at    model.Location
	scope model.Scope // user, managed, or custom for the environment
}

// deepApproval is one row of enabled_project_server_approvals.
type deepApproval struct {
	root        string // as written
	fingerprint string
	shared      bool // root is the common folder of a git repository
	at          model.Location
	index       int
	scope       model.Scope
}

// readConfig reads config.toml of the user and of an administrator. An administrator's file that cannot be read, or that
// has a value where a table belongs, keeps deepagents from starting (source).
func (d *deepagents) readConfig() {
	system := d.env.SystemDir("/etc/dcode", "/Library/Application Support/dcode", "C:/ProgramData/dcode")
	d.managed = d.readPythonTOML(filepath.Join(system, "managed_config.toml"), model.ScopeManaged)
	switch d.managed.Status {
	case model.FileAbsent:
	case model.FileRead:
		for _, name := range deepSections {
			path := strings.Split(name, ".")
			if v, ok := tomlAt(d.managed.TOML.Tree(), path...); ok && kindOfTOML(v) != tomlTable {
				d.fail(d.managed, d.managed.TOMLAt(path...), "[%s] of %s is %s, not a table", name, d.tilde(d.managed.Path), kindOfTOML(v))
				break
			}
		}
	default:
		d.fail(nil, d.managed.Location(), "%s cannot be read: %s", d.tilde(d.managed.Path), d.managed.Note)
	}
	d.config = d.readPythonTOML(filepath.Join(d.dir, "config.toml"), model.ScopeUser)
}

// deepSections must be tables in an administrator's file.
var deepSections = []string{"agents", "async_subagents", "effort", "effort.by_model", "features", "goals", "interpreter", "mcp", "memory", "models",
	"models.providers", "plugins", "retries", "runtime", "sandboxes", "sandboxes.providers", "shell", "skills", "startup", "themes", "threads",
	"threads.columns", "tracing", "ui", "ui.terminal_themes", "update", "warnings"}

// readPythonTOML reads a file as tomllib does, which refuses a byte order mark.
func (d *deepagents) readPythonTOML(path string, scope model.Scope) *ConfigFile {
	f := d.r.ReadTOML(path, scope)
	if f.OK() && bytes.HasPrefix(f.Data, []byte("\ufeff")) {
		d.r.Refuse(f, model.Location{Path: f.Path, Line: 1}, "it starts with a byte order mark")
	}
	return f
}

// configTree is the content of a config.toml; nil when it cannot be read.
func configTree(f *ConfigFile) map[string]any {
	if !f.OK() || f.TOML == nil {
		return nil
	}
	return f.TOML.Tree()
}

// deepDotenvDenied are names that no .env file may set, deepDotenvDeniedPrefixes how others of them start,
// deepProjectDenied those that a project's may not set.
var (
	deepDotenvDenied = []string{"BASH_ENV", "BASHOPTS", "CDPATH", "COMSPEC", "DYLD_INSERT_LIBRARIES", "DYLD_LIBRARY_PATH", "ENV", "GIT_ASKPASS",
		"GIT_DIR", "GIT_EDITOR", "GIT_EXEC_PATH", "GIT_OBJECT_DIRECTORY", "GIT_PAGER", "GIT_SSH", "GIT_SSH_COMMAND", "GIT_WORK_TREE", "GLOBIGNORE",
		"LD_AUDIT", "LD_LIBRARY_PATH", "LD_PRELOAD", "NODE_OPTIONS", "PATH", "PYTHONEXECUTABLE", "PYTHONHOME", "PYTHONPATH", "PYTHONSTARTUP",
		"SHELLOPTS", "SSH_ASKPASS", "SYSTEMROOT", "WINDIR", deepDotenvVariable, "DEEPAGENTS_INHERITED_PYTHONPATH"}
	deepDotenvDeniedPrefixes = []string{"GIT_CONFIG_COUNT", "GIT_CONFIG_KEY_", "GIT_CONFIG_VALUE_", "GIT_CONFIG_PARAMETERS", "GIT_CONFIG_SYSTEM",
		"GIT_CONFIG_GLOBAL"}
	deepProjectDenied = []string{deepEnableVariable, deepRejectVariable, "DEEPAGENTS_CODE_AUTO_CLASSIFIER_MODEL",
		"DEEPAGENTS_CODE_AUTO_CLASSIFIER_TIMEOUT", "TERM_PROGRAM"}
)

// readDotenvs reads the nearest .env at or above the working folder, and ~/.deepagents/.env. What is set already stays.
func (d *deepagents) readDotenvs() {
	d.dotenv = map[string]deepVariable{}
	own := filepath.Join(d.dir, ".env")
	global := func() []pythonDotenvEntry {
		if !d.r.IsFile(own) {
			return nil
		}
		return d.readDotenv(own, model.ScopeUser)
	}
	if d.readsProjectDotenv(global()) {
		for _, dir := range Ancestors(d.cwd) {
			path := filepath.Join(dir, ".env")
			if d.r.IsFile(path) {
				d.addDotenv(path, d.readDotenv(path, model.ScopeProject), true)
				break
			}
		}
	}
	d.addDotenv(own, global(), false)
}

func (d *deepagents) readDotenv(path string, scope model.Scope) []pythonDotenvEntry {
	f := d.r.Peek(path, scope)
	if !f.OK() {
		return nil
	}
	entries, ok := pythonDotenv(f.Data, d.lookup)
	if !ok {
		d.r.Mark(f, model.FileIgnored, "not UTF-8: deepagents does not read it")
		return nil
	}
	d.r.Mark(f, model.FileRead, "variables only")
	return entries
}

func (d *deepagents) addDotenv(path string, entries []pythonDotenvEntry, project bool) {
	for _, e := range entries {
		upper := strings.ToUpper(e.name)
		_, have := d.lookup(e.name)
		if have || !e.set || slices.Contains(deepDotenvDenied, upper) || project && slices.Contains(deepProjectDenied, e.name) ||
			slices.ContainsFunc(deepDotenvDeniedPrefixes, func(p string) bool { return strings.HasPrefix(upper, p) }) {
			continue
		}
		d.dotenv[e.name] = deepVariable{e.value, model.Location{Path: path, Key: JoinKey(e.name), Line: e.line}}
	}
}

// readsProjectDotenv tells whether the project's .env counts: what an administrator says, else the environment, else
// ~/.deepagents/.env, else config.toml.
func (d *deepagents) readsProjectDotenv(global []pythonDotenvEntry) bool {
	setting := func(f *ConfigFile) (bool, bool) {
		v, _ := tomlAt(configTree(f), "startup", "read_project_dotenv")
		on, ok := v.(bool)
		return on, ok
	}
	if on, ok := setting(d.managed); ok {
		return on
	}
	if text, set := d.env.Lookup(deepDotenvVariable); set && pythonStrip(text) != "" {
		if on, ok := pythonSwitch(text); ok {
			return on
		}
	}
	for _, e := range global {
		if e.name == deepDotenvVariable && e.set {
			if on, ok := pythonSwitch(e.value); ok {
				return on
			}
		}
	}
	if on, ok := setting(d.config); ok {
		return on
	}
	return true
}

// pythonSwitch reads a variable that says yes or no.
func pythonSwitch(text string) (on, ok bool) {
	switch strings.ToLower(pythonStrip(text)) {
	case "1", "true", "yes", "on":
		return true, true
	case "", "0", "false", "no", "off":
		return false, true
	}
	return false, false
}

// readPolicy reads switches, rejections and approvals.
func (d *deepagents) readPolicy() {
	p := &d.policy
	p.off, p.rejected, p.enabled, p.approvals = map[string]deepSaid{}, map[string]deepSaid{}, map[string]model.Location{}, map[string][]deepApproval{}
	d.readSwitches()
	if d.config.Status == model.FileMalformed || d.config.Status == model.FileRefused {
		p.fault = &model.Problem{Location: d.config.Location(), Text: fmt.Sprintf("%s cannot be read: %s", d.tilde(d.config.Path), d.config.Note)}
		p.faultFile = d.config
	}
	own := d.approvalsOf(d.config, model.ScopeUser)
	administered := d.approvalsOf(d.managed, model.ScopeManaged)
	d.readNames(d.managed, model.ScopeManaged)
	d.readVariable(deepRejectVariable, func(name string, at model.Location) { p.reject(name, deepSaid{at, model.ScopeCustom}) })
	d.readNames(d.config, model.ScopeUser)
	d.readVariable(deepEnableVariable, func(name string, at model.Location) { p.enabled[name] = at })
	if p.replaced != nil {
		own, p.enabled = administered, map[string]model.Location{}
	}
	if p.fault != nil {
		own = nil
	}
	for _, a := range own { // of rejected names too: they count again once the rejection is taken back
		p.approvals[a.name] = append(p.approvals[a.name], a.deepApproval)
	}
	d.policyNotes()
}

func (p *deepPolicy) reject(name string, said deepSaid) {
	if _, have := p.rejected[name]; !have {
		p.rejected[name] = said
	}
}

// policyFault records that approvals cannot be read; f is marked, so that it is plain which file has to be mended.
func (d *deepagents) policyFault(f *ConfigFile, at model.Location, format string, args ...any) {
	what := fmt.Sprintf(format, args...)
	if d.policy.fault == nil {
		d.policy.fault = &model.Problem{Location: at, Text: d.tilde(f.Path) + " cannot be followed: " + what}
		d.policy.faultFile = f
	}
	if f.Status == model.FileRead {
		d.r.Refuse(f, at, what)
	}
}

// mcpTable is [mcp] of a config.toml. What stands there and is no table is a fault of the policy.
func (d *deepagents) mcpTable(f *ConfigFile) map[string]any {
	tree := configTree(f)
	v, has := tree["mcp"]
	table, ok := v.(map[string]any)
	if has && !ok {
		d.policyFault(f, f.TOMLAt("mcp"), "[mcp] is %s, not a table", kindOfTOML(v))
	}
	return table
}

// readSwitches reads disabled_servers, else its older place. A list of the user that is none counts as absent, one of an
// administrator that cannot be read switches everything off.
func (d *deepagents) readSwitches() {
	places := [][]string{{"mcp", deepOffKey}, {"mcp_disabled", "servers"}}
	for _, path := range places {
		tree := configTree(d.managed)
		section, has := tree[path[0]]
		if !has {
			continue
		}
		table, ok := section.(map[string]any)
		v, has := table[path[1]]
		kind := kindOfTOML(v)
		if !ok {
			at := d.managed.TOMLAt(path[0])
			d.policy.allOff = &at
			break
		}
		if !has {
			continue
		}
		if kind != tomlText && kind != tomlList {
			at := d.managed.TOMLAt(path...)
			d.policy.allOff = &at
			break
		}
		for _, n := range tomlNames(d.managed, v, path...) {
			d.policy.off[n.name] = deepSaid{n.at, model.ScopeManaged}
		}
		break
	}
	for _, path := range places {
		v, _ := tomlAt(configTree(d.config), path...)
		if kindOfTOML(v) != tomlList {
			continue
		}
		for i, item := range codexList(v) {
			name, _ := item.(string)
			if _, have := d.policy.off[name]; name != "" && !have {
				d.policy.off[name] = deepSaid{itemAt(d.config, i, path...), model.ScopeUser}
			}
		}
		break
	}
}

// namedAt is a name and the line that holds it.
type namedAt struct {
	name string
	at   model.Location
}

func itemAt(f *ConfigFile, i int, path ...string) model.Location {
	return f.TOMLAt(append(slices.Clone(path), fmt.Sprint(i))...)
}

// tomlNames reads a list of names, or one text of names with commas.
func tomlNames(f *ConfigFile, v any, path ...string) (out []namedAt) {
	if text, ok := v.(string); ok {
		for _, name := range commaNames(text) {
			out = append(out, namedAt{name, f.TOMLAt(path...)})
		}
		return out
	}
	for i, item := range codexList(v) {
		if s, ok := item.(string); ok {
			if s = pythonStrip(s); s != "" {
				out = append(out, namedAt{s, itemAt(f, i, path...)})
			}
		}
	}
	return out
}

func commaNames(text string) (out []string) {
	for _, name := range strings.Split(text, ",") {
		if name = pythonStrip(name); name != "" {
			out = append(out, name)
		}
	}
	return out
}

// readNames reads disabled_project_servers.
func (d *deepagents) readNames(f *ConfigFile, scope model.Scope) {
	v, has := d.mcpTable(f)[deepRejectedKey]
	if !has {
		return
	}
	if kind := kindOfTOML(v); kind != tomlText && kind != tomlList {
		d.policyFault(f, f.TOMLAt("mcp", deepRejectedKey), "%s is %s, not a list of names", deepRejectedKey, kind)
		return
	}
	for _, n := range tomlNames(f, v, "mcp", deepRejectedKey) {
		d.policy.reject(n.name, deepSaid{n.at, scope})
	}
}

// readVariable reads a list of names from the environment, or from ~/.deepagents/.env.
func (d *deepagents) readVariable(variable string, each func(string, model.Location)) {
	at := model.Location{Path: "$" + variable, Line: 1}
	text, set := d.env.Lookup(variable)
	if v, has := d.dotenv[variable]; has && !set {
		text, at = v.value, v.at
	}
	for _, name := range commaNames(text) {
		each(name, at)
	}
}

type deepNamedApproval struct {
	name string
	deepApproval
}

// approvalsOf reads the rows of approvals. Malformed ones do not count.
func (d *deepagents) approvalsOf(f *ConfigFile, scope model.Scope) []deepNamedApproval {
	v, has := d.mcpTable(f)[deepApprovalsKey]
	if !has {
		return nil
	}
	path := []string{"mcp", deepApprovalsKey}
	if kindOfTOML(v) != tomlList {
		at := f.TOMLAt(path...)
		if scope == model.ScopeManaged {
			d.policy.replaced = &at
			d.policyFault(f, at, "%s is %s, not a list", deepApprovalsKey, kindOfTOML(v))
		} else {
			d.badApproval(at, 1)
		}
		return nil
	}
	if scope == model.ScopeManaged {
		at := f.TOMLAt(path...)
		d.policy.replaced = &at
	}
	var out []deepNamedApproval
	bad := 0
	var firstBad model.Location
	for i, item := range codexList(v) {
		at := itemAt(f, i, path...)
		a, ok := deepRow(item)
		if !ok {
			if bad++; bad == 1 {
				firstBad = at
			}
			continue
		}
		a.at, a.index, a.scope = at, i, scope
		out = append(out, a)
	}
	if bad > 0 {
		d.badApproval(firstBad, bad)
	}
	return out
}

// deepRow reads one row of approvals.
func deepRow(item any) (a deepNamedApproval, ok bool) {
	row, isTable := item.(map[string]any)
	if !isTable {
		return a, false
	}
	text := func(key string) string {
		s, isText := row[key].(string)
		ok = ok && isText && pythonStrip(s) != ""
		return s
	}
	ok = true
	a.root = text("project_root")
	a.name = pythonStrip(text("name"))
	a.fingerprint = pythonStrip(text("fingerprint"))
	if v, has := row["git_common_dir"]; has {
		shared, isBool := v.(bool)
		ok = ok && isBool
		a.shared = shared
	}
	if a.shared && !filepath.IsAbs(a.root) && !strings.HasPrefix(a.root, "~") {
		ok = false
	}
	return a, ok
}

func (d *deepagents) badApproval(at model.Location, count int) {
	if !d.asksPolicy() {
		return
	}
	d.note("approval-not-read", at, "%s in %s cannot be read and %s nothing", countOf(count, "row of "+deepApprovalsKey), d.tilde(at.Path), map[bool]string{true: "approves", false: "approve"}[count == 1])
}

// policyNotes says what deepagents says itself when there is something that needs an approval.
func (d *deepagents) policyNotes() {
	if !d.asksPolicy() {
		return
	}
	if f := d.policy.fault; f != nil {
		d.note("policy-not-read", f.Location, "%s: no stored approval counts, and no plugin's server loads", f.Text)
	}
	if v, has := d.mcpTable(d.config)[deepRemovedKey]; has && len(tomlNames(d.config, v, "mcp", deepRemovedKey)) > 0 {
		d.note(string(model.FindingDeprecatedKey), d.config.TOMLAt("mcp", deepRemovedKey), "%s of %s approves nothing any more: approve the servers again", deepRemovedKey, d.tilde(d.config.Path))
	}
	if _, set := d.lookup(deepRemovedVariable); set {
		at := model.Location{Path: "$" + deepRemovedVariable, Line: 1}
		if _, own := d.env.Lookup(deepRemovedVariable); !own {
			at = d.dotenv[deepRemovedVariable].at
		}
		d.note(string(model.FindingDeprecatedKey), at, "%s approves nothing any more: it is called %s now", deepRemovedVariable, deepEnableVariable)
	}
}

// asksPolicy tells whether there is anything that approvals are asked about: a plugin's server, or a project's file.
func (d *deepagents) asksPolicy() bool {
	return len(d.plugins) > 0 || slices.ContainsFunc(d.files, func(x *deepFile) bool { return x.project })
}

// deepFingerprint is what an approval keeps of an entry: a hash over all of it, as written.
func deepFingerprint(v jsonc.Value) string {
	text, _ := pythonDump(v, nil)
	sum := sha256.Sum256([]byte(text))
	return "sha256:" + hex.EncodeToString(sum[:])
}

// deepShares tells whether an approval of an entry holds in all worktrees of a repository: only for a remote one whose URL
// holds no reference.
func deepShares(v jsonc.Value) bool {
	url, ok := v.Get("url").Str()
	if !ok || v.Get("command").Exists() || strings.Contains(url, "${") {
		return false
	}
	_, word, hashable := deepTransport(v)
	if !word.Exists() || word.Kind() == jsonc.Null {
		return true
	}
	s, isText := word.Str()
	return hashable && isText && slices.Contains([]string{"http", "sse", "streamable_http", "streamable-http"}, s)
}

// deepIdentity is what an approval is bound to besides name and fingerprint.
type deepIdentity struct {
	root   string
	shared bool
}

// identity is how an approval of a project entry is stored now: by the repository where it is shared, else by the exact
// folder.
func (d *deepagents) identity(e *deepEntry) deepIdentity {
	root := d.r.RealPath(e.root)
	if deepShares(e.value) {
		common, known := d.commons[root]
		if !known {
			common = d.gitCommon(root)
			d.commons[root] = common
		}
		if common != "" {
			return deepIdentity{common, true}
		}
	}
	return deepIdentity{root, false}
}

// identityOf is what a stored row is bound to. A shared one is taken as written, an exact one with links resolved.
func (d *deepagents) identityOf(a deepApproval) deepIdentity {
	root := a.root
	if root == "~" || strings.HasPrefix(root, "~/") {
		root = d.env.Expand(root)
	}
	if !filepath.IsAbs(root) {
		root = filepath.Join(d.cwd, root)
	}
	if a.shared {
		return deepIdentity{filepath.Clean(root), true}
	}
	return deepIdentity{d.r.RealPath(root), false}
}

// approved looks a project entry up: by its name in the environment, then among the stored approvals. changed is a row of
// the same name and place for another definition. Rejections are not looked at: they beat what is found here.
func (d *deepagents) approved(e *deepEntry) (consent model.Location, ok bool, changed *deepApproval) {
	if pythonStrip(e.Name) == "" {
		return consent, false, nil
	}
	if at, yes := d.policy.enabled[e.Name]; yes {
		return at, true, nil
	}
	rows := d.policy.approvals[pythonStrip(e.Name)]
	if len(rows) == 0 {
		return consent, false, nil
	}
	want := d.identity(e)
	fingerprint := deepFingerprint(e.value)
	exact := deepIdentity{d.r.RealPath(e.root), false} // rows of older versions are never shared
	for i := range rows {
		is := d.identityOf(rows[i])
		if is != want && is != exact {
			continue
		}
		if rows[i].fingerprint == fingerprint {
			return rows[i].at, true, nil
		}
		changed = &rows[i]
	}
	return consent, false, changed
}

// gitCommon returns the folder that the worktrees of a repository share, if everything about it is as git makes it; ""
// where it is not. root is looked at alone, not what is above it.
func (d *deepagents) gitCommon(root string) string {
	if !d.r.IsDir(root) {
		return ""
	}
	if d.isGitCommon(root) { // a bare repository
		return root
	}
	dotGit := filepath.Join(root, ".git")
	info, err := d.r.Lstat(dotGit)
	switch {
	case err != nil:
		return ""
	case info.IsDir():
		if d.isGitCommon(dotGit) {
			return dotGit
		}
		return ""
	case !info.Mode().IsRegular():
		return ""
	}
	pointer, ok := strings.CutPrefix(d.gitLine(dotGit), "gitdir: ")
	if pointer = pythonStrip(pointer); !ok || pointer == "" {
		return ""
	}
	private := d.r.RealPath(absoluteFrom(root, pointer))
	commonText := d.gitLine(filepath.Join(private, "commondir"))
	if !d.r.IsDir(private) || commonText == "" {
		return ""
	}
	common := d.r.RealPath(absoluteFrom(private, commonText))
	back := d.gitLine(filepath.Join(private, "gitdir"))
	if filepath.Dir(private) != filepath.Join(common, "worktrees") || !d.isGitCommon(common) || !d.r.IsFile(filepath.Join(private, "HEAD")) ||
		back == "" || filepath.Clean(absoluteFrom(private, back)) != dotGit {
		return ""
	}
	return common
}

func absoluteFrom(dir, path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(dir, path)
}

func (d *deepagents) isGitCommon(dir string) bool {
	return d.r.IsFile(filepath.Join(dir, "HEAD")) && d.r.IsFile(filepath.Join(dir, "config")) &&
		d.r.IsDir(filepath.Join(dir, "objects")) && d.r.IsDir(filepath.Join(dir, "refs"))
}

// gitLine reads a file of git that holds one line; "" for a link, for more lines, and for what is no text.
func (d *deepagents) gitLine(path string) string {
	info, err := d.r.Lstat(path)
	if err != nil || !info.Mode().IsRegular() {
		return ""
	}
	f := d.r.Peek(path, model.ScopeProject)
	d.r.Drop(f)
	if !f.OK() || !validText(f) {
		return ""
	}
	lines := pythonLines(strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(string(f.Data)))
	if len(lines) != 1 || strings.ContainsRune(lines[0], 0) {
		return ""
	}
	return pythonStrip(lines[0])
}
