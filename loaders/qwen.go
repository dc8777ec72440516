package loaders

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"fusebox/loaders/jsonc"
	"fusebox/model"
)

// qwenCode is the registry row of Qwen Code. Its rules were observed on Qwen Code 0.24.4, by its listing and by what its
// sessions really started; where a comment says bundle, they were read in the program of that version.
func qwenCode() Harness {
	return Harness{
		Harness: model.Harness{
			ID: "qwen", Aliases: []string{"qwen-code"}, Title: "Qwen Code", Heading: "Qwen",
			Verified: model.VerifiedRun, VersionChecked: "0.24.4",
			BlindSpots: []model.BlindSpot{
				{Code: "session-flags", Text: "--mcp-config, --allowed-mcp-server-names, --yolo, --approval-mode, --extensions and --safe-mode of one session"},
				{Code: "ide-trust", Text: "an IDE that is connected says itself whether the folder is trusted, and beats trustedFolders.json"},
				{Code: "session-memory", Text: "an open session keeps approvals and trust as they were when it started, and may write its older approvals back"},
			},
		},
		Resolve: func(env *Env, r *Reader) Result { return qwenOf(env, r).result },
		Folders: foldersOfTrustFile("QWEN_CODE_TRUSTED_FOLDERS_PATH", ".qwen/trustedFolders.json"),
		Toggle:  toggleQwen,
		Approve: approveQwen,
		Shares:  []string{".mcp.json"},
		Sessions: SessionRules{Programs: []string{"qwen"}, Packages: []string{"@qwen-code/qwen-code"}, Not: []string{"mcp", "extensions", "auth"},
			Reload: "restart Qwen Code there", Live: liveInQwen},
		Launch: LaunchRules{
			Class:    EnvironmentFull,
			Inherit:  inheritQwen,
			Fill:     fillQwenText,
			ToolName: qwenToolName,
			Drops:    dropsGemini,
		},
	}
}

// liveInQwen: an open session follows the settings.json of the user and of the project, and nothing else: not .mcp.json,
// approvals or trust (SettingsWatcher and hot-reload.ts of 0.24.4; seen in a session).
func liveInQwen(before, after *model.Cell) bool {
	followed := func(c *model.Cell) bool {
		settings := func(l model.Location) bool {
			return filepath.Base(l.Path) == "settings.json" && filepath.Base(filepath.Dir(l.Path)) == ".qwen"
		}
		return c == nil || settings(c.Source) && (c.Reason.DecidedBy.IsZero() || settings(c.Reason.DecidedBy))
	}
	return followed(before) && followed(after)
}

var (
	// qwenSettingsJSON is JSON.parse after a byte order mark and comments were stripped.
	qwenSettingsJSON = jsonc.Options{Comments: true, BOM: true, ReplaceInvalidUTF8: true}
	// qwenJSON is the same for the other files, where a byte order mark is an error.
	qwenJSON = jsonc.Options{Comments: true, ReplaceInvalidUTF8: true}
)

// qwen is one resolve of Qwen Code.
type qwen struct {
	env *Env
	r   *Reader

	dir      string            // the settings folder: $QWEN_HOME or ~/.qwen
	cwd      string            // the folder of the session, links resolved
	boot     map[string]string // the four variables that home .env files may set before anything is read
	fallback map[string]string // what home .env files give for names that the environment lacks
	session  map[string]string // what a session's environment has besides: .env files, env of settings

	layers     []qwenLayer // lowest to highest
	mcpJSON    *ConfigFile
	trust      qwenTrust
	trustFile  *ConfigFile // nil while nobody asks
	badLevel   int         // the line of the first rule whose level is unknown, 0 if all are known
	rules      []qwenTrustRule
	approvals  *ConfigFile
	extensions []qwenExtension
	prefs      *ConfigFile
	allowed    qwenList
	excluded   qwenList
	gate       qwenGate
	allOff     *model.Reason // no server of any file loads
	notes      []model.Note
	broken     *model.Problem

	decided  map[string]*qwenEntry // the entry that each cell is about
	ifAllow  qwenList              // in a folder that is not trusted: the lists that would count if it were
	ifExcept qwenList
	result   Result
}

// qwenLayer is one settings file that was read. A file of an old version has some settings under old keys.
type qwenLayer struct {
	scope  model.Scope
	file   *ConfigFile
	root   jsonc.Value
	legacy bool
}

// qwenTrust says whether the folder is trusted, and what decides. It is always trusted while nobody asks.
type qwenTrust struct {
	asked   bool
	trusted bool
	at      model.Location
	why     string
}

// qwenTrustRule is a rule of trustedFolders.json.
type qwenTrustRule struct {
	trusted bool
	folders []string // as written, and with links resolved
	at      model.Location
	level   string
}

// qwenGate is open in a session that approves everything: pending and rejected servers start.
type qwenGate struct {
	open  bool
	scope model.Scope // of the file that opens it
	at    model.Location
}

// qwenExtension is one installed extension.
type qwenExtension struct {
	name    string
	dir     string
	plugin  bool // of the agent plugins format
	file    *ConfigFile
	active  bool
	offAt   model.Location
	entries []qwenEntry
}

// qwenEntry is one server of one file.
type qwenEntry struct {
	model.Entry
	file      *ConfigFile
	value     jsonc.Value
	mcpJSON   bool // of .mcp.json, where nothing is filled in
	plugin    bool // of an agent plugin, where type decides
	extension *qwenExtension
	plain     bool         // holds no variable
	fixed     *qwenHash    // the hash that approvals are bound to, where no variable changes it
	fault     model.Reason // Code set: a session cannot start it
	lost      bool         // in a file, or of a kind, that Qwen Code does not read: it displaces nothing
}

// gated tells whether a session asks before it first starts the server.
func (e *qwenEntry) gated() bool { return e.Scope == model.ScopeProject }

func newQwen(env *Env, r *Reader) *qwen {
	q := &qwen{env: env, r: r, cwd: r.RealPath(env.Project)}
	q.findHome()
	return q
}

// qwenOf resolves once for each reader.
func qwenOf(env *Env, r *Reader) *qwen {
	return keepResolve(r, "qwen", func() *qwen {
		q := newQwen(env, r)
		q.result = q.resolve()
		return q
	})
}

func (q *qwen) resolve() Result {
	res := Result{Present: q.r.Exists(q.dir)}
	q.readSettings()
	q.decideTrust()
	q.readVariables()
	q.mcpJSON = q.readMCPJSON()
	q.readExtensions()
	q.readSessionSettings()
	q.readApprovals()
	cells := q.cells()
	q.strayFiles()
	q.layerNotes()
	res.Cells, res.Notes, res.Broken = cells, q.notes, q.broken
	res.Untrusted = !q.trust.trusted && slices.ContainsFunc(cells, func(c *model.Cell) bool { return c.Reason.Code == model.ReasonUntrustedFolder })
	return res
}

func (q *qwen) tilde(p string) string { return model.Tilde(p, q.env.Home) }

func (q *qwen) note(code, path string, line int, format string, args ...any) {
	q.notes = append(q.notes, model.Note{Code: code, Path: path, Line: max(1, line), Text: fmt.Sprintf(format, args...)})
}

// fail records what ends every session; the first one counts.
func (q *qwen) fail(at model.Location, format string, args ...any) {
	if q.broken == nil {
		q.broken = &model.Problem{Location: at, Text: fmt.Sprintf(format, args...)}
	}
}

// absolute makes a path absolute: ~/ is the home folder, relative ones count from the folder of the session.
func (q *qwen) absolute(p string) string {
	if p == "~" || strings.HasPrefix(p, "~/") || strings.HasPrefix(p, `~\`) {
		p = filepath.Join(q.env.Home, filepath.FromSlash(strings.ReplaceAll(p[1:], `\`, "/")))
	}
	if filepath.IsAbs(p) {
		return filepath.Clean(p)
	}
	return filepath.Join(q.cwd, p)
}

// readDotenv reads a .env file; nil when there is none that can be read.
func (q *qwen) readDotenv(path string, scope model.Scope) map[string]string {
	if !q.r.Exists(path) {
		return nil
	}
	f := q.r.Peek(path, scope)
	if !f.OK() {
		q.r.Mark(f, model.FileIgnored, "not a readable .env file")
		return nil
	}
	q.r.Mark(f, model.FileRead, "variables only")
	return dotenvOf(f)
}

// qwenBootKeys are what the .env files of the home folder may set before any settings are read.
var qwenBootKeys = []string{"QWEN_HOME", "QWEN_RUNTIME_DIR", "QWEN_CODE_MCP_APPROVALS_PATH", "QWEN_CODE_TRUSTED_FOLDERS_PATH"}

// findHome finds the settings folder, and what home .env files give.
func (q *qwen) findHome() {
	q.boot = map[string]string{}
	home := func() string {
		if v := q.variable("QWEN_HOME"); v != "" {
			return q.absolute(v)
		}
		return q.env.InHome(".qwen")
	}
	initial := q.variable("QWEN_HOME")
	take := func(path string) {
		for name, value := range q.readDotenv(path, model.ScopeUser) {
			if _, set := q.lookup(name); !set && value != "" && slices.Contains(qwenBootKeys, name) {
				q.boot[name] = value
			}
		}
	}
	q.dir = home()
	take(filepath.Join(q.dir, ".env"))
	if initial == "" {
		take(filepath.Join(filepath.Dir(q.dir), ".env"))
	}
	if now := home(); now != q.dir {
		q.dir = now
		take(filepath.Join(q.dir, ".env"))
	}
	q.fallback = map[string]string{}
	candidates := []string{filepath.Join(q.dir, ".env")}
	if q.variable("QWEN_HOME") == "" {
		candidates = append(candidates, filepath.Join(filepath.Dir(q.dir), ".env"))
	}
	for _, path := range candidates {
		for name, value := range q.readDotenv(path, model.ScopeUser) {
			if _, set := q.lookup(name); set {
				continue
			}
			if _, have := q.fallback[name]; !have {
				q.fallback[name] = value
			}
		}
	}
}

// lookup finds a variable of the environment that Qwen Code starts with.
func (q *qwen) lookup(name string) (string, bool) {
	if v, ok := q.env.Lookup(name); ok {
		return v, ok
	}
	v, ok := q.boot[name]
	return v, ok
}

func (q *qwen) variable(name string) string {
	v, _ := q.lookup(name)
	return v
}

// lookupListing finds a variable as the commands of qwen mcp do: environment, then the .env files of the home folder.
func (q *qwen) lookupListing(name string) (string, bool) {
	if v, ok := q.lookup(name); ok {
		return v, ok
	}
	v, ok := q.fallback[name]
	return v, ok
}

// lookupSession finds a variable as a session does: it knows the project's .env and env of the settings as well. An empty
// variable counts as unset for those.
func (q *qwen) lookupSession(name string) (string, bool) {
	v, ok := q.lookup(name)
	if ok && v != "" {
		return v, ok
	}
	if late, has := q.session[name]; has {
		return late, true
	}
	if ok {
		return v, ok
	}
	v, ok = q.fallback[name]
	return v, ok
}

// qwenVariable is a reference as Qwen Code fills it in: $NAME and ${NAME}. There is no default.
var qwenVariable = regexp.MustCompile(`\$(?:(\w+)|\{([^}]+)\})`)

// qwenNeverFilled are names that stay as written whatever the environment says.
var qwenNeverFilled = []string{"SESSION_ID", "QWEN_CODE_SESSION_ID", "QWEN_SERVER_TOKEN", "QWEN_DAEMON_TOKEN",
	"QWEN_CODE_EXTERNAL_TOOL_GUARD_TOKEN", "QWEN_CODE_PRIVATE_ACP_CAPABILITY"}

func fillQwen(text string, lookup func(string) (string, bool)) string {
	if !strings.Contains(text, "$") {
		return text
	}
	return qwenVariable.ReplaceAllStringFunc(text, func(ref string) string {
		name := strings.Trim(ref[1:], "{}")
		if v, ok := lookup(name); ok && !slices.Contains(qwenNeverFilled, strings.ToUpper(name)) {
			return v
		}
		return ref
	})
}

// unsetQwen returns the names in a text that stay as written.
func unsetQwen(text string, lookup func(string) (string, bool)) []string {
	if !strings.Contains(text, "$") {
		return nil
	}
	var names []string
	for _, ref := range qwenVariable.FindAllString(text, -1) {
		name := strings.Trim(ref[1:], "{}")
		if _, set := lookup(name); !set || slices.Contains(qwenNeverFilled, strings.ToUpper(name)) {
			names = append(names, name)
		}
	}
	return names
}

func (q *qwen) fillListing(text string) string { return fillQwen(text, q.lookupListing) }
func (q *qwen) fillSession(text string) string { return fillQwen(text, q.lookupSession) }

// readSettings reads the settings files, lowest to highest: system defaults, user, project, system.
func (q *qwen) readSettings() {
	system := q.env.SystemDir("/etc/qwen-code/settings.json", "/Library/Application Support/QwenCode/settings.json", "C:/ProgramData/qwen-code/settings.json")
	if v := q.variable("QWEN_CODE_SYSTEM_SETTINGS_PATH"); v != "" {
		system = q.absolute(v)
	}
	defaults := filepath.Join(filepath.Dir(system), "system-defaults.json")
	if v := q.variable("QWEN_CODE_SYSTEM_DEFAULTS_PATH"); v != "" {
		defaults = q.absolute(v)
	}
	q.readLayer(model.ScopeSystemDefaults, defaults)
	q.readLayer(model.ScopeUser, filepath.Join(q.dir, "settings.json"))
	if q.cwd != q.r.RealPath(q.env.Home) {
		q.readLayer(model.ScopeProject, q.env.InProject(".qwen/settings.json"))
	}
	q.readLayer(model.ScopeSystem, system)
}

// readLayer reads one settings file. A broken one ends every command, but for that of the project: Qwen Code replaces it
// by {} at its next start and goes on.
func (q *qwen) readLayer(scope model.Scope, path string) {
	f := q.r.Read(path, scope, 0)
	f.Scope = scope
	if f.Status == model.FileAbsent || f.Status == model.FileRefused && !q.r.Exists(path) {
		return
	}
	q.r.ParseJSON(f, qwenSettingsJSON)
	l := qwenLayer{scope: scope, file: f, root: f.Root(), legacy: true}
	switch {
	case f.Status == model.FileMalformed && scope == model.ScopeProject:
		q.note("file-replaced", path, f.Location().Line, "%s is broken: Qwen Code replaces it by {} at its next start, and keeps a copy at settings.json.corrupted: %s", q.tilde(path), f.Note)
	case !f.OK():
		q.fail(f.Location(), "every command of Qwen Code ends while %s is broken: %s", q.tilde(path), f.Note)
	case f.Root().Kind() != jsonc.Object:
		q.r.Refuse(f, f.At("", f.Root()), "the top level is "+typeWord(f.Root())+", not an object")
		q.fail(f.At("", f.Root()), "every command of Qwen Code ends while the top level of %s is %s", q.tilde(path), typeWord(f.Root()))
	}
	if raw, ok := l.root.Get("$version").Number(); ok {
		n, _ := strconv.ParseFloat(raw, 64)
		l.legacy = n < 2
	}
	q.layers = append(q.layers, l)
}

// qwenLegacyKeys are settings of files of version 1, which Qwen Code moves.
var qwenLegacyKeys = map[string]string{
	"mcp.allowed": "allowMCPServers", "mcp.excluded": "excludeMCPServers", "mcp.serverCommand": "mcpServerCommand",
	"security.folderTrust.enabled": "folderTrust", "tools.approvalMode": "approvalMode", "advanced.excludedEnvVars": "excludedProjectEnvVars",
}

// setting follows keys through a settings file; said tells whether the file has a say.
func (l qwenLayer) setting(keys ...string) (value jsonc.Value, said bool) {
	if old := qwenLegacyKeys[strings.Join(keys, ".")]; old != "" && l.legacy {
		if v := l.root.Get(old); v.Exists() && v.Kind() != jsonc.Object {
			return v, true
		}
	}
	return settingOf(l.root, keys...)
}

// counts tells whether a layer counts here: the project file only in a trusted folder.
func (q *qwen) counts(l qwenLayer) bool {
	return l.file.OK() && (l.scope != model.ScopeProject || q.trust.trusted)
}

// decideTrust follows the rules of 0.24.4: nobody asks unless security.folderTrust.enabled is on; then the rule on the deepest
// folder wins, DO_NOT_TRUST on a tie, and without a rule the folder is not trusted. The project file cannot switch that off, but
// on: a session asks once more when all files are read.
func (q *qwen) decideTrust() {
	path := filepath.Join(q.dir, "trustedFolders.json")
	if v := q.variable("QWEN_CODE_TRUSTED_FOLDERS_PATH"); v != "" {
		path = q.absolute(v)
	}
	var enabled, inSession jsonc.Value
	var by qwenLayer
	for _, l := range q.layers {
		if v, said := l.setting("security", "folderTrust", "enabled"); said {
			inSession, by = v, l
			if l.scope != model.ScopeProject {
				enabled = v
			}
		}
	}
	byProject := !truthy(enabled, q.fillListing) && truthy(inSession, q.fillListing)
	if !truthy(enabled, q.fillListing) && !byProject {
		q.trust = qwenTrust{trusted: true}
		q.r.Ignored(path, model.ScopeUser, "not read while folder trust is off")
		return
	}
	q.trust.asked = true
	f := q.r.ReadJSON(path, model.ScopeUser, 0, qwenJSON)
	q.trustFile = f
	q.trust.at = model.Location{Path: f.Path, Line: 1}
	asks, ends := "", "every command of Qwen Code ends while folder trust is on"
	if byProject {
		asks, ends = ", and "+q.tilde(by.file.Path)+" switches folder trust on", "every session of Qwen Code ends while the project's settings switch folder trust on"
	}
	q.trust.why = "no rule of " + q.tilde(f.Path) + " trusts this folder" + asks
	if f.Status == model.FileAbsent || f.Status == model.FileRefused && !q.r.Exists(f.Path) {
		return
	}
	if f.OK() && f.Root().Kind() != jsonc.Object {
		q.r.Refuse(f, f.At("", f.Root()), "the top level is "+typeWord(f.Root())+", not an object")
	}
	if !f.OK() {
		q.fail(f.Location(), "%s and %s is broken: %s", ends, q.tilde(f.Path), f.Note)
		return
	}
	for _, m := range f.Root().Members() {
		level, _ := m.Value.Str()
		if m.Shadowed {
			continue
		}
		folder := m.Key
		switch level {
		case "TRUST_FOLDER", "DO_NOT_TRUST":
		case "TRUST_PARENT":
			folder = filepath.Dir(strings.TrimRight(folder, `/\`))
		default:
			if q.badLevel == 0 {
				q.badLevel = m.Line()
			}
			q.note(string(model.FindingWrongType), f.Path, m.Line(), "Qwen Code skips the rule in %s:%d: its level is none of TRUST_FOLDER, TRUST_PARENT, DO_NOT_TRUST", q.tilde(f.Path), m.Line())
			continue
		}
		q.rules = append(q.rules, qwenTrustRule{trusted: level != "DO_NOT_TRUST", folders: q.variants(folder), at: f.Member(JoinKey(m.Key), m), level: level})
	}
	if rule := q.trustRule(q.cwd); rule != nil {
		q.trust.trusted, q.trust.at = rule.trusted, rule.at
		q.trust.why = fmt.Sprintf("%s:%d says %s%s", q.tilde(f.Path), rule.at.Line, rule.level, asks)
	}
}

// variants are the spellings of a folder that are compared: absolute as written, and with links resolved.
func (q *qwen) variants(folder string) []string {
	if !filepath.IsAbs(folder) {
		folder = filepath.Join(q.cwd, folder)
	}
	folder = filepath.Clean(folder)
	out := []string{folder}
	if q.r.Exists(folder) {
		if real := q.r.RealPath(folder); real != folder {
			out = append(out, real)
		}
	}
	return out
}

// trustRule finds the rule that decides about a folder; nil when none covers it.
func (q *qwen) trustRule(folder string) *qwenTrustRule {
	var winner *qwenTrustRule
	deepest := -1
	for i := range q.rules {
		rule := &q.rules[i]
		depth := -1
		for _, here := range q.variants(folder) {
			for _, there := range rule.folders {
				if Within(here, there) {
					depth = max(depth, len(Ancestors(there)))
				}
			}
		}
		if depth >= 0 && (depth > deepest || depth == deepest && !rule.trusted && winner.trusted) {
			winner, deepest = rule, depth
		}
	}
	return winner
}

// qwenProjectExclusions are variables that a .env file below the home folder's, and env of settings, cannot set (bundle);
// of the long list those that could stand in an entry.
var qwenProjectExclusions = []string{"QWEN_HOME", "QWEN_RUNTIME_DIR", "QWEN_AGENT_EXECUTION_BACKEND", "QWEN_CODE_MCP_APPROVALS_PATH",
	"QWEN_CODE_TRUSTED_FOLDERS_PATH", "QWEN_CODE_SYSTEM_SETTINGS_PATH", "QWEN_CODE_SYSTEM_DEFAULTS_PATH", "QWEN_UPDATE_BASE_URL",
	"QWEN_CODE_WARNINGS_FILE", "QWEN_CODE_SERVE", "QWEN_CODE_DESKTOP", "QWEN_CODE_SETTINGS_CORRUPTED_PATH", "QWEN_CODE_SETTINGS_WAS_RECOVERED",
	"QWEN_CODE_ACP_REPEATED_TOOL_FAILURE_GUARD", "QWEN_CODE_MEMORY_PROJECT_SCOPE", "QWEN_CODE_ENABLE_WORKFLOWS", "QWEN_CODE_DISABLE_WORKFLOWS",
	"QWEN_CODE_WORKFLOW_NAME_ONLY", "QWEN_REVIEW_PREBUILD", "QWEN_REVIEW_AUTOMATIC", "QWEN_TLS_INSECURE", "NODE_TLS_REJECT_UNAUTHORIZED",
	"NODE_EXTRA_CA_CERTS", "SSL_CERT_FILE", "SSL_CERT_DIR", "CURL_CA_BUNDLE", "REQUESTS_CA_BUNDLE", "GIT_SSL_CAINFO", "GIT_SSL_CAPATH",
	"NPM_CONFIG_CAFILE", "NPM_CONFIG_CA", "DEV", "QWEN_SERVE_NEW_FILE_MODE", "QWEN_SERVE_MAX_WORKSPACES", "QWEN_SERVE_SESSION_ATTACHMENTS_ROOT"}

// qwenLoaderVariables are variables that no file can set (bundle), in lower case with - for _.
var qwenLoaderVariables = []string{"node-options", "npm-config-node-options", "npm-config-userconfig", "npm-config-globalconfig",
	"npm-config-script-shell", "npm-config-prefix", "node-path", "openssl-conf", "node-repl-external-module", "npm-config-node-gyp",
	"npm-config-init-module", "ld-preload", "ld-audit", "dyld-insert-libraries", "bash-env", "zdotdir"}

// readVariables reads what a session's environment has besides: the nearest project .env of a trusted folder, the .env
// files of the home folder, then env of the settings. Only unset and empty names are set.
func (q *qwen) readVariables() {
	q.session = map[string]string{}
	set := func(name, value string) {
		loader := strings.ReplaceAll(strings.ToLower(name), "_", "-")
		if slices.Contains(qwenLoaderVariables, loader) || strings.HasPrefix(loader, "bash-func-") {
			return
		}
		if v, _ := q.lookup(name); v == "" && q.session[name] == "" {
			q.session[name] = value
		}
	}
	excluded := q.excludedVariables()
	userFiles := []string{filepath.Join(q.dir, ".env"), q.env.InHome(".qwen/.env"), q.env.InHome(".env")}
	if project := q.findDotenv(userFiles); project != "" {
		for name, value := range q.readDotenv(project, model.ScopeProject) {
			own := filepath.Base(filepath.Dir(project)) == ".qwen"
			if slices.Contains(qwenProjectExclusions, strings.ToUpper(name)) || !own && slices.Contains(excluded, name) {
				continue
			}
			set(name, value)
		}
	}
	for i, path := range userFiles {
		if slices.Index(userFiles, path) < i {
			continue
		}
		for name, value := range q.readDotenv(path, model.ScopeUser) {
			set(name, value)
		}
	}
	for name, value := range q.settingsEnv() {
		if upper := strings.ToUpper(name); slices.Contains(qwenProjectExclusions, upper) ||
			slices.Contains([]string{"QWEN_SERVER_TOKEN", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "ENV", "PATH", "HOME"}, upper) {
			continue
		}
		set(name, value)
	}
}

// excludedVariables are names that a project's plain .env file does not set.
func (q *qwen) excludedVariables() []string {
	out, given := []string{"DEBUG", "DEBUG_MODE"}, false
	for _, l := range q.layers {
		if v, said := l.setting("advanced", "excludedEnvVars"); said && q.counts(l) && v.Kind() == jsonc.Array {
			if !given {
				out, given = nil, true
			}
			for _, item := range v.Elements() {
				if s, ok := item.Str(); ok {
					out = append(out, q.fillListing(s))
				}
			}
		}
	}
	return out
}

// settingsEnv joins env of all settings files that count.
func (q *qwen) settingsEnv() map[string]string {
	out := map[string]string{}
	for _, l := range q.layers {
		if !q.counts(l) {
			continue
		}
		for _, m := range l.root.Get("env").Members() {
			if s, ok := m.Value.Str(); ok && !m.Shadowed {
				out[m.Key] = q.fillListing(s)
			}
		}
	}
	return out
}

// findDotenv finds the .env file of the project: going up, .qwen/.env or .env, not further than the home folder; only in
// trusted folders.
func (q *qwen) findDotenv(userFiles []string) string {
	if q.cwd == q.env.Home {
		return ""
	}
	usable := func(path, folder string) bool {
		if !q.r.Exists(path) {
			return false
		}
		if slices.Contains(userFiles, path) || folder == q.cwd {
			return q.trust.trusted
		}
		if !q.trust.asked {
			return true
		}
		rule := q.trustRule(folder)
		return q.trust.trusted && (rule == nil || rule.trusted)
	}
	for _, folder := range Ancestors(q.cwd) {
		if folder == q.env.Home {
			return ""
		}
		for _, path := range []string{filepath.Join(folder, ".qwen", ".env"), filepath.Join(folder, ".env")} {
			if usable(path, folder) {
				return path
			}
		}
	}
	return ""
}

// readMCPJSON reads .mcp.json of the folder itself. A file that does not parse, or has no mcpServers object, is dropped
// with a warning.
func (q *qwen) readMCPJSON() *ConfigFile {
	path := q.env.InProject(".mcp.json")
	f := q.r.Read(path, model.ScopeProject, 0)
	if f.Status == model.FileRefused {
		q.r.Mark(f, model.FileIgnored, f.Note+": Qwen Code goes on without it")
		return f
	}
	q.r.ParseJSON(f, qwenJSON)
	if f.OK() && f.Root().Get("mcpServers").Kind() != jsonc.Object {
		servers := f.Root().Get("mcpServers")
		why := "it has no mcpServers object"
		if servers.Exists() {
			why = "mcpServers is " + typeWord(servers)
		} else if f.Root().Get("servers").Exists() {
			why, servers = `it has "servers"; Qwen Code reads "mcpServers"`, f.Root().Get("servers")
		}
		q.r.Refuse(f, f.At("mcpServers", servers), why)
		q.note(string(model.FindingWrongKey), path, servers.Line(), "%s is dropped as a whole: %s", q.tilde(path), why)
	} else if f.Status == model.FileMalformed {
		q.note("file-dropped", path, f.Location().Line, "%s is dropped as a whole: %s", q.tilde(path), f.Note)
	}
	return f
}

// qwenList is a list of name patterns that all files give together.
type qwenList struct {
	given bool // there is a list; an empty one counts
	items []qwenPattern
	exact map[string]int // index of the first item that is the very name
	globs []int          // indexes of the items with wildcards
	bad   model.Location // a value that is no list, or holds something else than names: every session ends
	why   string
}

type qwenPattern struct {
	text  string
	scope model.Scope
	at    model.Location
}

func (l *qwenList) add(p qwenPattern) {
	if strings.ContainsAny(p.text, "*?") {
		l.globs = append(l.globs, len(l.items))
	} else if _, have := l.exact[p.text]; !have {
		if l.exact == nil {
			l.exact = map[string]int{}
		}
		l.exact[p.text] = len(l.items)
	}
	l.items = append(l.items, p)
}

// readList joins mcp.allowed or mcp.excluded of all files. Where a lower file gives something else than a list, a higher
// one replaces it.
func (q *qwen) readList(key string) qwenList {
	var out qwenList
	isList := false
	for _, l := range q.layers {
		v, said := l.setting("mcp", key)
		if !said || !q.counts(l) {
			continue
		}
		at := l.file.At("mcp."+key, v)
		items := v.Elements()
		switch {
		case v.Kind() == jsonc.Array && !isList:
			out, isList = qwenList{given: true}, true
		case isList && v.Kind() != jsonc.Array:
			items = []jsonc.Value{v}
		case v.Kind() != jsonc.Array:
			out = qwenList{}
			if truthy(v, q.fillSession) {
				out.bad, out.why = at, fmt.Sprintf("mcp.%s is %s, not a list", key, typeWord(v))
			}
			continue
		}
		for _, item := range items {
			s, ok := item.Str()
			switch {
			case ok && q.fillSession(s) != "":
				out.add(qwenPattern{q.fillSession(s), l.scope, l.file.At("mcp."+key, item)})
			case !ok && truthy(item, q.fillSession) && out.bad.IsZero():
				out.bad, out.why = l.file.At("mcp."+key, item), fmt.Sprintf("mcp.%s holds %s", key, typeWord(item))
			}
		}
	}
	return out
}

// match finds the pattern that names a server: * is any run of characters, ? one; letter case counts.
func (l qwenList) match(name string) *qwenPattern {
	if i, named := l.exact[name]; named {
		return &l.items[i]
	}
	for _, i := range l.globs {
		if matchWildcards(l.items[i].text, name) {
			return &l.items[i]
		}
	}
	return nil
}

// matchWildcards compares UTF-16 units, as the harness does.
func matchWildcards(pattern, name string) bool {
	p, n := jsUnits(pattern), jsUnits(name)
	pi, ni, star, mark := 0, 0, -1, 0
	for ni < len(n) {
		switch {
		case pi < len(p) && (p[pi] == '?' || p[pi] == n[ni]):
			pi++
			ni++
		case pi < len(p) && p[pi] == '*':
			star, mark = pi, ni
			pi++
		case star >= 0:
			mark++
			pi, ni = star+1, mark
		default:
			return false
		}
	}
	for pi < len(p) && p[pi] == '*' {
		pi++
	}
	return pi == len(p)
}

var qwenApprovalModes = []string{"plan", "default", "auto-edit", "auto", "yolo"}

// readSessionSettings reads what decides about all servers of a session: the lists, the approval mode, and what keeps every
// server out.
func (q *qwen) readSessionSettings() {
	q.allowed, q.excluded = q.readList("allowed"), q.readList("excluded")
	if !q.trust.trusted {
		trusted := q.ifTrusted()
		q.ifAllow, q.ifExcept = trusted.readList("allowed"), trusted.readList("excluded")
	}
	for _, l := range []qwenList{q.allowed, q.excluded} {
		if !l.bad.IsZero() {
			q.note(string(model.FindingWrongType), l.bad.Path, l.bad.Line, "%s in %s:%d: every session ends at its start, while qwen mcp list works", l.why, q.tilde(l.bad.Path), l.bad.Line)
		}
	}
	for _, name := range []string{"QWEN_CODE_SAFE_MODE", "QWEN_CODE_SIMPLE"} {
		if v, _ := q.lookupSession(name); slices.Contains([]string{"1", "true", "yes", "on"}, trimJS(strings.ToLower(v))) {
			q.allOff = &model.Reason{Code: model.ReasonSwitchedOff, DecidedBy: model.Location{Path: "$" + name, Line: 1},
				Text: name + " is set: a session starts no server of any file"}
			return
		}
	}
	for _, l := range q.layers {
		if v, said := l.setting("tools", "executionSandbox"); said && v.Exists() && l.scope != model.ScopeProject && l.file.OK() {
			q.allOff = &model.Reason{Code: model.ReasonBlockedByPolicy, DecidedBy: l.file.At("tools.executionSandbox", v),
				Text: "tools.executionSandbox of " + q.tilde(l.file.Path) + " is set: a session has no MCP server at all"}
		}
	}
	var mode jsonc.Value
	var by qwenLayer
	for _, l := range q.layers {
		if v, said := l.setting("tools", "approvalMode"); said && q.counts(l) {
			mode, by = v, l
		}
	}
	if !truthy(mode, q.fillSession) {
		return
	}
	text, isText := mode.Str()
	text = trimJS(strings.ToLower(q.fillSession(text)))
	if text == "auto_edit" || text == "autoedit" {
		text = "auto-edit"
	}
	at := by.file.At("tools.approvalMode", mode)
	if !isText || !slices.Contains(qwenApprovalModes, text) {
		q.r.Refuse(by.file, at, "tools.approvalMode is none of "+strings.Join(qwenApprovalModes, ", "))
		q.fail(at, "tools.approvalMode in %s:%d is none of %s: every session ends at its start", q.tilde(at.Path), at.Line, strings.Join(qwenApprovalModes, ", "))
		return
	}
	if text == "yolo" && q.trust.trusted {
		q.gate = qwenGate{open: true, scope: by.scope, at: at}
	}
}

// readApprovals reads the decisions about gated servers. A broken file makes all of them pending.
func (q *qwen) readApprovals() {
	path := filepath.Join(q.dir, "mcpApprovals.json")
	if v := q.variable("QWEN_CODE_MCP_APPROVALS_PATH"); v != "" {
		path = q.absolute(v)
	}
	q.approvals = q.r.ReadJSON(path, model.ScopeUser, 0, qwenJSON)
	f := q.approvals
	if f.OK() && f.Root().Kind() != jsonc.Object {
		q.r.Refuse(f, f.At("", f.Root()), "the top level is "+typeWord(f.Root())+", not an object")
	}
	if f.Status == model.FileMalformed || f.Status == model.FileRefused {
		q.note("approvals-not-read", f.Path, f.Location().Line, "%s does not parse: every server that needs an approval is pending, and the next decision overwrites the file", q.tilde(f.Path))
	}
}

// folderKey is how the approvals file names this folder.
func (q *qwen) folderKey() string {
	if q.env.GOOS == "windows" {
		return strings.ToLower(q.cwd)
	}
	return q.cwd
}

// record finds the stored decision about a server, if there is one.
func (q *qwen) record(name string) (status, hash string, at model.Location, ok bool) {
	v := q.approvals.Root().Get(q.folderKey()).Get(name)
	if v.Kind() != jsonc.Object {
		return "", "", model.Location{}, false
	}
	status, _ = v.Get("status").Str()
	hash, _ = v.Get("hash").Str()
	return status, hash, q.approvals.At(JoinKey(q.folderKey(), name), v), true
}

// qwenHash is computed once for the content of a file.
type qwenHash struct {
	once sync.Once
	text string
}

// hashes are what an approval must be stored with for a session and for the commands of qwen mcp.
func (q *qwen) hashes(e *qwenEntry) (session, listing string) {
	if e.fixed != nil && (e.plain || e.mcpJSON) {
		e.fixed.once.Do(func() { e.fixed.text = qwenApprovalHash(e.value, e.mcpJSON, same) })
		return e.fixed.text, e.fixed.text
	}
	return qwenApprovalHash(e.value, e.mcpJSON, q.fillSession), qwenApprovalHash(e.value, e.mcpJSON, q.fillListing)
}

// approval decides about a gated server: its record counts only for the very same entry, as a session reads it.
func (q *qwen) approval(e *qwenEntry) (model.Decision, model.Reason, []model.Finding) {
	ask := "Qwen Code asks before it first starts a server of " + q.tilde(e.Source.Path)
	if !q.approvals.OK() && q.approvals.Status != model.FileAbsent {
		return model.DecisionWaits, model.Reason{Code: model.ReasonNeedsApproval, DecidedBy: q.approvals.Location(),
			Text: ask + ", and " + q.tilde(q.approvals.Path) + " cannot be read"}, nil
	}
	status, stored, at, ok := q.record(e.Name)
	if !ok {
		return model.DecisionWaits, model.Reason{Code: model.ReasonNeedsApproval,
			DecidedBy: model.Location{Path: q.approvals.Path, Key: JoinKey(q.folderKey(), e.Name), Line: 1},
			Text:      ask + "; no decision about it is stored for this folder"}, nil
	}
	session, listing := q.hashes(e)
	var findings []model.Finding
	if session != listing && (stored == session || stored == listing) {
		text := "qwen mcp list does not know the project's .env and env of the settings: it shows this server as pending, a session takes the approval"
		if stored == listing {
			text = "the decision was stored by a qwen mcp command, which does not know the project's .env and env of the settings: the listing shows it, no session takes it"
		}
		findings = append(findings, model.Finding{Code: model.FindingListingDiffers, Severity: model.Warning, Text: text})
	}
	switch {
	case stored != session:
		return model.DecisionWaits, model.Reason{Code: model.ReasonApprovalChanged, DecidedBy: at,
			Text: "the entry, or a variable in it, is not what was decided about: Qwen Code asks again"}, findings
	case status == "approved":
		return model.DecisionLoads, model.Reason{}, findings
	case status == "rejected":
		return model.DecisionOff, model.Reason{Code: model.ReasonRejected, DecidedBy: at,
			Text: "rejected for this folder in " + q.tilde(at.Path)}, findings
	}
	return model.DecisionWaits, model.Reason{Code: model.ReasonNeedsApproval, DecidedBy: at,
		Text: ask + "; the stored status is neither approved nor rejected"}, findings
}
