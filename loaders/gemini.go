package loaders

import (
	"fmt"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"fusebox/loaders/jsonc"
	"fusebox/model"
)

// geminiCLI is the registry row of Gemini CLI. Its rules were observed on Gemini CLI 0.61.0, by its listing and by what its
// sessions really started; where a comment says bundle, they were read in the program of that version.
func geminiCLI() Harness {
	return Harness{
		Harness: model.Harness{
			ID: "gemini", Aliases: []string{"gemini-cli"}, Title: "Gemini CLI", Heading: "Gemini",
			Verified: model.VerifiedRun, VersionChecked: "0.61.0", SignIn: "/mcp auth NAME",
			BlindSpots: []model.BlindSpot{
				{Code: "session-flags", Text: "--allowed-mcp-server-names, --extensions and --skip-trust of one session"},
				{Code: "account-policy", Text: "admin settings that come with the signed-in account: MCP off, an allow list, required servers"},
				{Code: "ide-trust", Text: "an IDE that is connected says itself whether the folder is trusted, and beats trustedFolders.json"},
				{Code: "session-switch", Text: "servers that /mcp disable --session switched off in an open session"},
				{Code: "keychain-settings", Text: "settings of extensions that are kept in the system's keychain"},
				{Code: "windows-permissions", Text: "on Windows: who may write the system settings files"},
			},
		},
		Resolve:  resolveGemini,
		Folders:  foldersOfTrustFile("GEMINI_CLI_TRUSTED_FOLDERS_PATH", ".gemini/trustedFolders.json"),
		Sessions: SessionRules{Programs: []string{"gemini"}, Packages: []string{"@google/gemini-cli"}, Not: []string{"mcp", "extensions"}, Reload: "restart Gemini CLI there"},
		Toggle:   toggleGemini,
		Approve:  approveGemini,
		Launch: LaunchRules{
			Class:    EnvironmentFiltered,
			Inherit:  inheritGemini,
			Fill:     fillGeminiText,
			ToolName: geminiToolName,
			Drops:    dropsGemini,
		},
	}
}

// geminiJSON is JSON.parse after comments were stripped: a byte order mark and a trailing comma are errors.
var geminiJSON = jsonc.Options{Comments: true, ReplaceInvalidUTF8: true}

// gemini is one resolve of Gemini CLI.
type gemini struct {
	env *Env
	r   *Reader

	home string // $GEMINI_CLI_HOME or the home folder
	dir  string // its .gemini folder
	cwd  string // the folder of the session, links resolved

	layers     []geminiLayer // lowest to highest
	trust      geminiTrust
	dotenv     map[string]string // what .env files add to the environment after the settings were read
	dotenvFile *ConfigFile
	rules      extensionRules
	extensions []geminiExtension
	enablement *ConfigFile
	lists      geminiLists
	notes      []model.Note
	broken     *model.Problem
	brokenAt   *model.Location // a bad mcp.serverCommand: nothing from settings files starts
	trustFile  string          // trustedFolders.json, or where it is in its place
	result     Result
}

// geminiLayer is one settings file that was read.
type geminiLayer struct {
	scope model.Scope
	file  *ConfigFile
	root  jsonc.Value
}

// geminiTrust says whether the folder is trusted, and what decides.
type geminiTrust struct {
	trusted  bool
	off      bool   // nobody asks: folder trust is switched off
	variable string // an environment variable decides
	at       model.Location
	why      string
}

// geminiExtension is one installed extension.
type geminiExtension struct {
	name    string
	dir     string // where its files are; a linked one is elsewhere
	file    *ConfigFile
	active  bool
	offAt   model.Location
	dotenv  map[string]string
	entries []geminiEntry
}

// geminiEntry is one server of one file.
type geminiEntry struct {
	model.Entry
	file      *ConfigFile
	value     jsonc.Value
	extension *geminiExtension // of an extension's entry
	plain     bool             // holds no variable: what was made of it does not depend on the environment
	fault     model.Reason     // Code set: a session does not start it
	command   bool             // gives a command or a URL
}

func newGemini(env *Env, r *Reader) *gemini {
	g := &gemini{env: env, r: r, home: env.Home, cwd: r.RealPath(env.Project)}
	if v := env.Var("GEMINI_CLI_HOME"); v != "" {
		g.home = g.absolute(v)
	}
	g.dir = filepath.Join(g.home, ".gemini")
	return g
}

func resolveGemini(env *Env, r *Reader) Result { return geminiOf(env, r).result }

// geminiOf resolves once per reader.
func geminiOf(env *Env, r *Reader) *gemini {
	return keepResolve(r, "gemini", func() *gemini {
		g := newGemini(env, r)
		g.result = g.resolve()
		return g
	})
}

func (g *gemini) resolve() Result {
	r := g.r
	res := Result{Present: r.Exists(g.dir)}
	g.readSettings()
	g.decideTrust()
	g.readDotenv()
	g.readExtensions()
	g.readEnablement()
	g.readLists()
	cells := g.cells()
	if g.trust.trusted && !g.trust.off { // where nobody asks, nobody consented
		consentOfFolder(cells, g.trust.at)
	}
	g.strayFiles()
	g.layerNotes()
	res.Cells, res.Notes, res.Broken = cells, g.notes, g.broken
	res.Untrusted = slices.ContainsFunc(cells, func(c *model.Cell) bool { return c.Reason.Code == model.ReasonUntrustedFolder })
	return res
}

// absolute makes a path of a variable absolute: relative ones count from the folder of the session.
func (g *gemini) absolute(p string) string {
	if filepath.IsAbs(p) {
		return filepath.Clean(p)
	}
	return filepath.Join(g.cwd, p)
}

func (g *gemini) tilde(p string) string { return model.Tilde(p, g.env.Home) }

func (g *gemini) note(code, path string, line int, format string, args ...any) {
	g.notes = append(g.notes, model.Note{Code: code, Path: path, Line: max(1, line), Text: fmt.Sprintf(format, args...)})
}

// fail records what ends every command; the first one counts.
func (g *gemini) fail(at model.Location, format string, args ...any) {
	if g.broken == nil {
		g.broken = &model.Problem{Location: at, Text: fmt.Sprintf(format, args...)}
	}
}

// readSettings reads the settings files, lowest to highest: system defaults, user, project, system.
func (g *gemini) readSettings() {
	system := g.env.SystemDir("/etc/gemini-cli/settings.json", "/Library/Application Support/GeminiCli/settings.json", "C:/ProgramData/gemini-cli/settings.json")
	systemVar, defaultsVar := "", ""
	if v := g.env.Var("GEMINI_CLI_SYSTEM_SETTINGS_PATH"); v != "" {
		system, systemVar = g.absolute(v), "GEMINI_CLI_SYSTEM_SETTINGS_PATH"
	}
	defaults := filepath.Join(filepath.Dir(system), "system-defaults.json")
	if v := g.env.Var("GEMINI_CLI_SYSTEM_DEFAULTS_PATH"); v != "" {
		defaults, defaultsVar = g.absolute(v), "GEMINI_CLI_SYSTEM_DEFAULTS_PATH"
	}
	g.readLayer(model.ScopeSystemDefaults, defaults, defaultsVar)
	g.readLayer(model.ScopeUser, filepath.Join(g.dir, "settings.json"), "")
	if g.cwd != g.r.RealPath(g.home) {
		g.readLayer(model.ScopeProject, g.env.InProject(".gemini/settings.json"), "")
	}
	g.readLayer(model.ScopeSystem, system, systemVar)
}

// readLayer reads one settings file. A broken one ends every command, a project file in an untrusted folder included.
func (g *gemini) readLayer(scope model.Scope, path, variable string) {
	f := g.r.Read(path, scope, 0)
	if f.Status == model.FileAbsent || f.Status == model.FileRefused && !g.r.Exists(path) {
		return
	}
	if scope == model.ScopeSystem || scope == model.ScopeSystemDefaults {
		if fault := g.systemFault(path); fault != "" {
			g.r.Mark(f, model.FileRefused, "wrong owner: "+fault)
			named := ""
			if variable != "" {
				named = " ($" + variable + " names it)"
			}
			g.note("system-file-skipped", path, 1, "Gemini CLI skips %s%s: %s", g.tilde(path), named, fault)
			return
		}
	}
	g.r.ParseJSON(f, geminiJSON)
	if f.OK() && f.Root().Kind() != jsonc.Object {
		g.r.Refuse(f, f.At("", f.Root()), "the top level is "+typeWord(f.Root())+", not an object")
	}
	g.layers = append(g.layers, geminiLayer{scope, f, f.Root()})
	if !f.OK() {
		g.fail(f.Location(), "every command of Gemini CLI ends while %s is broken: %s", g.tilde(path), f.Note)
	}
}

// systemFault says why a system settings file is not used: it, every folder above it and every link among them must
// belong to root, and nobody else may write there. "" if it is used.
func (g *gemini) systemFault(file string) string {
	if g.env.GOOS == "windows" {
		return ""
	}
	top := filepath.Clean(g.env.Root + string(filepath.Separator))
	check := func(p string) string {
		if info, err := g.r.Lstat(p); err == nil {
			if uid, known := ownerOf(info); known && uid != 0 {
				return g.tilde(p) + " does not belong to root"
			}
		}
		info, err := g.r.Stat(p)
		if err != nil {
			return ""
		}
		if uid, known := ownerOf(info); known && uid != 0 {
			return g.tilde(p) + " does not belong to root"
		}
		if info.Mode().Perm()&0o022 != 0 {
			return g.tilde(p) + " can be written by others than root"
		}
		return ""
	}
	paths := []string{file}
	if real := g.r.RealPath(file); real != file {
		paths = append(paths, real)
	}
	for _, p := range paths {
		for _, a := range Ancestors(p) {
			if fault := check(a); fault != "" {
				return fault
			}
			if a == top {
				break
			}
		}
	}
	return ""
}

// normalPath is how Gemini CLI writes a folder for comparing: absolute, slashes only, lower case where letters do not
// count.
func (g *gemini) normalPath(p string) string {
	p = strings.ReplaceAll(p, `\`, "/")
	drive := len(p) > 2 && p[1] == ':' && p[2] == '/'
	if !strings.HasPrefix(p, "/") && !(drive && g.env.GOOS == "windows") {
		p = filepath.ToSlash(g.cwd) + "/" + p
	}
	p = path.Clean(p)
	if g.env.GOOS == "windows" || g.env.GOOS == "darwin" {
		p = strings.ToLower(p)
	}
	return p
}

// covers tells whether a rule's folder is the other one or lies above it; both normal.
func covers(folder, other string) bool {
	return folder == other || strings.HasPrefix(other, strings.TrimSuffix(folder, "/")+"/")
}

// decideTrust follows checkPathTrust of the bundle: environment, the switch of folder trust, then the rules.
func (g *gemini) decideTrust() {
	file := filepath.Join(g.dir, "trustedFolders.json")
	if g.env.Var("SANDBOX") == "sandbox-exec" {
		file = filepath.Join(g.home, ".cache", ".gemini", "trustedFolders.json")
	}
	if v := g.env.Var("GEMINI_CLI_TRUSTED_FOLDERS_PATH"); v != "" {
		file = g.absolute(v)
	}
	g.trustFile = file
	if t, ok := g.trustByVariable(g.env.Lookup, func(name string) model.Location { return model.Location{Path: "$" + name, Line: 1} }); ok {
		g.trust = t
		g.r.Ignored(file, model.ScopeUser, "not read: $"+t.variable+" decides about trust")
		return
	}
	if at, off := g.trustSwitchedOff(); off {
		g.trust = geminiTrust{trusted: true, off: true, at: at}
		g.r.Ignored(file, model.ScopeUser, "not read: folder trust is switched off")
		return
	}
	g.trustByRules(file)
}

// trustByVariable reads the variables that decide about trust before everything else.
func (g *gemini) trustByVariable(lookup func(string) (string, bool), at func(name string) model.Location) (geminiTrust, bool) {
	no := func(name, value string) (geminiTrust, bool) {
		return geminiTrust{variable: name, at: at(name), why: name + "=" + value + " makes every folder untrusted"}, true
	}
	if v, _ := lookup("GEMINI_RESTRICTED_MODE"); v == "true" {
		return no("GEMINI_RESTRICTED_MODE", "true")
	}
	switch v, _ := lookup("GEMINI_CLI_TRUST_WORKSPACE"); v {
	case "false":
		return no("GEMINI_CLI_TRUST_WORKSPACE", "false")
	case "true":
		return geminiTrust{trusted: true, variable: "GEMINI_CLI_TRUST_WORKSPACE", at: at("GEMINI_CLI_TRUST_WORKSPACE")}, true
	}
	return geminiTrust{}, false
}

// trustSwitchedOff reads security.folderTrust.enabled, on by default. The project file has no say.
func (g *gemini) trustSwitchedOff() (model.Location, bool) {
	var value jsonc.Value
	var layer geminiLayer
	for _, l := range g.layers {
		if l.scope == model.ScopeProject {
			continue
		}
		if v, said := settingOf(l.root, "security", "folderTrust", "enabled"); said {
			value, layer = v, l
		}
	}
	switch value.Kind() {
	case jsonc.Bool, jsonc.Number, jsonc.String:
		if !g.flag(layer, value) {
			return layer.file.At("security.folderTrust.enabled", value), true
		}
	}
	return model.Location{}, false
}

// flag is the truth of a setting. In a file whose values all fit, the texts true and false, variables filled in, are booleans.
func (g *gemini) flag(l geminiLayer, v jsonc.Value) bool {
	if s, ok := v.Str(); ok && strings.EqualFold(g.fill(s), "false") && g.fits(l.root) {
		return false
	}
	return truthy(v, g.fill)
}

// fits tells whether the values of a settings file that have to do with servers and trust are of the types in the schema of
// settings. One that does not fit, an unknown key of an entry too, makes Gemini CLI take the whole file as it is written.
func (g *gemini) fits(root jsonc.Value) bool {
	flag := func(v jsonc.Value) bool {
		s, isText := v.Str()
		s = strings.ToLower(g.fill(s))
		return v.Kind() == jsonc.Bool || isText && (s == "true" || s == "false")
	}
	number := func(v jsonc.Value) bool {
		s, _ := v.Str()
		_, err := strconv.ParseFloat(strings.TrimSpace(g.fill(s)), 64)
		return v.Kind() == jsonc.Number || err == nil
	}
	object := func(v jsonc.Value) bool { return v.Kind() == jsonc.Object }
	word := func(words ...string) func(jsonc.Value) bool {
		return func(v jsonc.Value) bool {
			s, ok := v.Str()
			return ok && slices.Contains(words, g.fill(s))
		}
	}
	all := func(v jsonc.Value, checks map[string]func(jsonc.Value) bool) bool {
		if !v.Exists() {
			return true
		}
		for key, check := range checks {
			if x := v.Get(key); x.Exists() && !check(x) {
				return false
			}
		}
		return object(v)
	}
	servers, mcp, security := root.Get("mcpServers"), root.Get("mcp"), root.Get("security")
	entry := map[string]func(jsonc.Value) bool{"command": isText, "args": isTextList, "env": isTextMap, "cwd": isText, "url": isText, "httpUrl": isText,
		"headers": isTextMap, "tcp": isText, "type": word("stdio", "sse", "http"), "timeout": number, "trust": flag, "description": isText,
		"includeTools": isTextList, "excludeTools": isTextList, "extension": object, "oauth": object,
		"authProviderType": word("dynamic_discovery", "google_credentials", "service_account_impersonation"), "targetAudience": isText, "targetServiceAccount": isText}
	for _, m := range servers.Members() {
		if !m.Shadowed && (!all(m.Value, entry) || slices.ContainsFunc(m.Value.Members(), func(k jsonc.Member) bool { return entry[k.Key] == nil })) {
			return false
		}
	}
	return (!servers.Exists() || object(servers)) &&
		all(mcp, map[string]func(jsonc.Value) bool{"serverCommand": isText, "allowed": isTextList, "excluded": isTextList}) &&
		all(security, map[string]func(jsonc.Value) bool{"blockGitExtensions": flag, "allowedExtensions": isTextList}) &&
		all(security.Get("folderTrust"), map[string]func(jsonc.Value) bool{"enabled": flag}) &&
		all(root.Get("advanced"), map[string]func(jsonc.Value) bool{"ignoreLocalEnv": flag, "excludedEnvVars": isTextList})
}

// settingOf follows keys through a settings file. said tells whether the file has a say: it gives a value, or it has
// something else than an object on the way, which hides what lower files give; then the value is invalid.
func settingOf(v jsonc.Value, keys ...string) (value jsonc.Value, said bool) {
	for _, key := range keys {
		if v.Kind() != jsonc.Object {
			return jsonc.Value{}, v.Exists()
		}
		v = v.Get(key)
	}
	return v, v.Exists()
}

var geminiTrustLevels = []string{"TRUST_FOLDER", "TRUST_PARENT", "DO_NOT_TRUST"}

// trustByRules reads trustedFolders.json. Among the rules that cover the folder the one with the longest written path
// wins, measured before TRUST_PARENT is applied. One invalid level, or a broken file, ends every command.
func (g *gemini) trustByRules(file string) {
	f := g.r.ReadJSON(file, model.ScopeUser, 0, geminiJSON)
	nobody := geminiTrust{at: model.Location{Path: f.Path, Line: 1}, why: "no rule of " + g.tilde(f.Path) + " trusts this folder"}
	if f.Status == model.FileAbsent || f.Status == model.FileRefused && !g.r.Exists(f.Path) {
		g.trust = nobody
		return
	}
	if f.OK() && f.Root().Kind() != jsonc.Object {
		g.r.Refuse(f, f.At("", f.Root()), "the top level is "+typeWord(f.Root())+", not an object")
	}
	if f.OK() {
		for _, m := range f.Root().Members() {
			level, isText := m.Value.Str()
			if m.Shadowed || isText && slices.Contains(geminiTrustLevels, level) {
				continue
			}
			g.r.Refuse(f, f.Member("", m), "the trust level of a folder must be one of "+strings.Join(geminiTrustLevels, ", "))
			g.trust = nobody
			g.fail(f.Member(JoinKey(m.Key), m), "an invalid trust level in %s:%d ends every command of Gemini CLI", g.tilde(f.Path), m.Line())
			return
		}
	}
	if !f.OK() {
		g.trust = nobody
		g.fail(f.Location(), "every command of Gemini CLI ends while %s is broken: %s", g.tilde(f.Path), f.Note)
		return
	}
	here := g.normalPath(g.cwd)
	longest := -1
	g.trust = nobody
	order, levels := geminiRules(g, f)
	for _, key := range order {
		rule := levels[key]
		folder := key
		if rule.level == "TRUST_PARENT" {
			folder = path.Dir(key)
		}
		if g.r.Exists(filepath.FromSlash(folder)) {
			folder = g.r.RealPath(filepath.FromSlash(folder))
		}
		if n := textLength(key); n > longest && covers(g.normalPath(folder), here) {
			longest = n
			at := f.Member(JoinKey(rule.member.Key), rule.member)
			g.trust = geminiTrust{trusted: rule.level != "DO_NOT_TRUST", at: at}
			if !g.trust.trusted {
				g.trust.why = fmt.Sprintf("%s:%d says DO_NOT_TRUST", g.tilde(f.Path), at.Line)
			}
		}
	}
}

type geminiRule struct {
	level  string
	member jsonc.Member
}

// geminiRules returns the rules by normal path, in the order of first appearance; a later spelling of a path replaces the
// level.
func geminiRules(g *gemini, f *ConfigFile) ([]string, map[string]geminiRule) {
	var order []string
	rules := map[string]geminiRule{}
	for _, m := range f.Root().Members() {
		if m.Shadowed {
			continue
		}
		key := g.normalPath(m.Key)
		if _, have := rules[key]; !have {
			order = append(order, key)
		}
		level, _ := m.Value.Str()
		rules[key] = geminiRule{level, m}
	}
	return order, rules
}

// counts tells whether a layer counts in a session here: the project file only in a trusted folder.
func (g *gemini) counts(l geminiLayer) bool { return l.scope != model.ScopeProject || g.trust.trusted }

// geminiAuthVariables are all that .env files of an untrusted folder may set.
var geminiAuthVariables = []string{"GEMINI_API_KEY", "GOOGLE_API_KEY", "GOOGLE_CLOUD_PROJECT", "GOOGLE_CLOUD_LOCATION"}

// readDotenv reads the one .env file that counts: going up, .gemini/.env (trusted folders only) or .env, then those of
// the home folder. It is read after the settings: it does not fill in their texts, but the env of entries and extension
// files.
func (g *gemini) readDotenv() {
	path := g.findDotenv()
	if path == "" {
		return
	}
	f := g.r.Peek(path, model.ScopeUser)
	if !f.OK() {
		g.r.Mark(f, model.FileIgnored, "not a readable .env file")
		return
	}
	g.r.Mark(f, model.FileRead, "variables only")
	g.dotenvFile = f
	excluded := []string{"DEBUG", "DEBUG_MODE"}
	for _, l := range g.layers {
		if g.counts(l) {
			for _, item := range l.root.Lookup("advanced", "excludedEnvVars").Elements() {
				if s, ok := item.Str(); ok {
					excluded = append(excluded, g.fill(s))
				}
			}
		}
	}
	project := !strings.Contains(path, ".gemini")
	g.dotenv = map[string]string{}
	for name, value := range dotenvOf(f) {
		if !g.trust.trusted && !slices.Contains(geminiAuthVariables, name) || project && slices.Contains(excluded, name) {
			continue
		}
		g.dotenv[name] = value
	}
	// The file is read after the first look at trust, and trust is asked for again: it can take trust away.
	lookup := func(name string) (string, bool) {
		if v, ok := g.env.Lookup(name); ok {
			return v, ok
		}
		v, ok := g.dotenv[name]
		return v, ok
	}
	if t, ok := g.trustByVariable(lookup, func(string) model.Location { return model.Location{Path: path, Line: 1} }); ok && !t.trusted && g.trust.variable == "" {
		t.why = g.tilde(path) + " sets " + t.why
		g.trust = t
	}
}

func (g *gemini) findDotenv() string {
	ignoreLocal := false
	for _, l := range g.layers {
		if v := l.root.Lookup("advanced", "ignoreLocalEnv"); g.counts(l) && v.Exists() {
			ignoreLocal = g.flag(l, v)
		}
	}
	for _, dir := range Ancestors(g.cwd) {
		if p := filepath.Join(dir, ".gemini", ".env"); g.trust.trusted && g.r.Exists(p) {
			return p
		}
		if p := filepath.Join(dir, ".env"); g.r.Exists(p) && (!ignoreLocal || dir == g.home) {
			return p
		}
	}
	if p := filepath.Join(g.dir, ".env"); g.trust.trusted && g.r.Exists(p) {
		return p
	}
	if p := filepath.Join(g.home, ".env"); g.r.Exists(p) {
		return p
	}
	return ""
}

// geminiVariable is a reference as Gemini CLI fills it in: $NAME, ${NAME} and ${NAME:-default}.
var geminiVariable = regexp.MustCompile(`\$(?:(\w+)|\{([^}]+?)(?::-([^}]*))?\})`)

// fill fills a text of a settings file in. An unset name without a default stays as written.
func (g *gemini) fill(text string) string { return fillGemini(text, g.env.Lookup) }

func fillGemini(text string, lookup func(string) (string, bool)) string {
	if !strings.Contains(text, "$") {
		return text
	}
	return geminiVariable.ReplaceAllStringFunc(text, func(ref string) string {
		name, fallback, hasDefault := geminiReference(ref)
		if v, ok := lookup(name); ok {
			return v
		}
		if hasDefault {
			return fallback
		}
		return ref
	})
}

func geminiReference(ref string) (name, fallback string, hasDefault bool) {
	m := geminiVariable.FindStringSubmatchIndex(ref)
	part := func(i int) string {
		if m[2*i] < 0 {
			return ""
		}
		return ref[m[2*i]:m[2*i+1]]
	}
	return part(1) + part(2), part(3), m[6] >= 0
}

// unsetIn returns the names without a value and without a default in a text.
func unsetIn(text string, lookup func(string) (string, bool)) []string {
	if !strings.Contains(text, "$") {
		return nil
	}
	var names []string
	for _, ref := range geminiVariable.FindAllString(text, -1) {
		name, _, hasDefault := geminiReference(ref)
		if _, set := lookup(name); !set && !hasDefault {
			names = append(names, name)
		}
	}
	return names
}

// readExtensions reads the installed extensions, in the order of their folders.
func (g *gemini) readExtensions() {
	dir := filepath.Join(g.dir, "extensions")
	g.rules = readExtensionRules(g.r, filepath.Join(dir, "extension-enablement.json"))
	if g.rules.file.Status == model.FileMalformed {
		g.note("switches-not-read", g.rules.file.Path, g.rules.file.Location().Line, "%s does not parse: Gemini CLI takes every extension as on", g.tilde(g.rules.file.Path))
	}
	if g.rules.file.Status == model.FileAbsent && !g.r.IsDir(dir) {
		return
	}
	allowed, blockGit := g.extensionPolicy()
	seen := map[string]bool{}
	for _, sub := range g.r.ReadDir(dir) {
		folder := filepath.Join(dir, sub)
		if !g.r.IsDir(folder) {
			continue
		}
		e := geminiExtension{dir: folder}
		install := g.r.Peek(filepath.Join(folder, ".gemini-extension-install.json"), model.ScopeExtension)
		g.r.Drop(install)
		kind, source := installRecord(install)
		switch {
		case allowed != nil:
			if !matchesAny(allowed, g.r.RealPath(g.absolute(source))) || source == "" {
				g.r.Ignored(filepath.Join(folder, "gemini-extension.json"), model.ScopeExtension, "not in security.allowedExtensions")
				continue
			}
		case blockGit && (kind == "git" || kind == "github-release"):
			g.r.Ignored(filepath.Join(folder, "gemini-extension.json"), model.ScopeExtension, "security.blockGitExtensions keeps it out")
			continue
		}
		if kind == "link" && source != "" {
			e.dir = g.absolute(source)
		}
		if !g.readExtension(&e) {
			continue
		}
		if seen[e.name] {
			at := e.file.At("name", e.file.Root().Get("name"))
			g.r.Refuse(e.file, at, "a second extension of the name "+quoted(e.name))
			g.fail(at, "two extensions have the name %s: every command that loads extensions ends", quoted(e.name))
		}
		seen[e.name] = true
		g.extensions = append(g.extensions, e)
	}
	for i := range g.extensions {
		for j := range g.extensions[i].entries {
			g.extensions[i].entries[j].extension = &g.extensions[i]
		}
	}
}

// extensionPolicy reads which extensions may be loaded at all.
func (g *gemini) extensionPolicy() (allowed []*regexp.Regexp, blockGit bool) {
	for _, l := range g.layers {
		if !g.counts(l) {
			continue
		}
		if v := l.root.Lookup("security", "blockGitExtensions"); v.Exists() {
			blockGit = g.flag(l, v)
		}
		if v := l.root.Lookup("security", "allowedExtensions"); v.Kind() == jsonc.Array {
			allowed = nil
			for _, item := range v.Elements() {
				s, _ := item.Str()
				if re, err := regexp.Compile(g.fill(s)); err == nil {
					allowed = append(allowed, re)
				}
			}
			if v.Len() > 0 && allowed == nil {
				allowed = []*regexp.Regexp{}
			}
		}
	}
	return allowed, blockGit
}

func matchesAny(patterns []*regexp.Regexp, text string) bool {
	return slices.ContainsFunc(patterns, func(re *regexp.Regexp) bool { return re.MatchString(text) })
}

// installRecord reads how an extension was installed; a record that does not parse is none.
func installRecord(f *ConfigFile) (kind, source string) {
	if !f.OK() {
		return "", ""
	}
	doc, err := jsonc.Parse(f.Data, jsonc.Options{ReplaceInvalidUTF8: true})
	if err != nil {
		return "", ""
	}
	kind, _ = doc.Root().Get("type").Str()
	source, _ = doc.Root().Get("source").Str()
	return kind, source
}

var geminiExtensionName = regexp.MustCompile(`^[a-zA-Z0-9-]+$`)

// readExtension reads the manifest of an extension; false if Gemini CLI skips the extension.
func (g *gemini) readExtension(e *geminiExtension) bool {
	f := g.r.ReadJSON(filepath.Join(e.dir, "gemini-extension.json"), model.ScopeExtension, 0, jsonc.Options{ReplaceInvalidUTF8: true})
	e.file = f
	if f.Status == model.FileAbsent {
		return false
	}
	root := f.Root()
	e.name, _ = root.Get("name").Str()
	skip, skipAt := "", f.At("name", root.Get("name"))
	switch {
	case !f.OK():
		skip = f.Note
	case root.Kind() != jsonc.Object:
		skip = "the top level is " + typeWord(root)
	case !truthy(root.Get("name"), same) || !truthy(root.Get("version"), same):
		skip = "it has no name or no version"
	case !geminiExtensionName.MatchString(e.name):
		skip = "its name may hold only letters, digits and -"
	}
	for _, m := range root.Get("mcpServers").Members() {
		if skip == "" && !m.Shadowed && m.Value.Kind() == jsonc.Null {
			skip, skipAt = "the entry "+quoted(m.Key)+" is null", f.Member("mcpServers."+JoinKey(m.Key), m)
		}
	}
	if skip != "" {
		if f.OK() {
			g.r.Refuse(f, skipAt, skip)
		}
		g.note("extension-skipped", f.Path, f.Location().Line, "Gemini CLI skips the extension of %s: %s", g.tilde(f.Path), skip)
		if f.Status == model.FileMalformed && f.JSON == nil {
			f = g.r.Recover(f)
		}
		lost := g.entries(f, model.ScopeExtension, nil)
		for i := range lost {
			lost[i].fault = model.Reason{Code: model.ReasonFileRefused, DecidedBy: e.file.Location(), Text: g.tilde(f.Path) + " is skipped as a whole: " + skip}
		}
		e.entries, e.active = lost, true
		g.extensions = append(g.extensions, *e)
		return false
	}
	e.active, e.offAt = g.rules.enabled(e.name, g.cwd)
	e.dotenv = map[string]string{}
	own := g.r.Peek(filepath.Join(g.dir, "extensions", e.name, ".env"), model.ScopeExtension)
	g.r.Drop(own)
	for name, value := range dotenvOf(own) {
		e.dotenv[name] = value
	}
	if g.trust.trusted {
		here := g.r.Peek(filepath.Join(g.cwd, ".env"), model.ScopeProject)
		if g.dotenvFile == nil || g.dotenvFile.Path != here.Path {
			g.r.Drop(here)
		}
		for name, value := range dotenvOf(here) {
			e.dotenv[name] = value
		}
	}
	e.entries = g.entries(f, model.ScopeExtension, e)
	return true
}

func same(s string) string { return s }

// entries reads the servers of a file. What does not depend on variables is kept with the file.
func (g *gemini) entries(f *ConfigFile, scope model.Scope, extension *geminiExtension) []geminiEntry {
	servers := f.Root().Get("mcpServers")
	dir := ""
	if extension != nil {
		dir = extension.dir
	}
	parsed := Memo(f, fmt.Sprintf("gemini/%s/%t/%s", scope, f.OK(), dir), func() []geminiEntry {
		var out []geminiEntry
		add := func(name string, at model.Location, v jsonc.Value) {
			e := geminiEntry{Entry: model.Entry{Name: name, Scope: scope, Source: at}, file: f, value: v}
			e.plain = !strings.Contains(string(v.Raw()), "$")
			if e.plain {
				g.build(&e, jsonc.Value{}, nil)
			}
			e.Findings = slices.Clip(e.Findings)
			out = append(out, e)
		}
		members := servers.Members()
		twice := duplicates(members)
		for _, m := range members {
			if m.Shadowed {
				continue
			}
			add(m.Key, f.Member("mcpServers."+JoinKey(m.Key), m), m.Value)
			if _, ok := twice[m.Key]; ok {
				last := &out[len(out)-1]
				last.Findings = append(last.Findings, duplicateFinding(m.Key, m.Line()))
			}
		}
		for i, v := range servers.Elements() { // a list is an object with the positions as names
			name := fmt.Sprint(i)
			add(name, listedAt(f, "mcpServers."+name, name, v), v)
		}
		return out
	})
	out := slices.Clone(parsed)
	for i := range out {
		out[i].file = f
		if !out[i].plain {
			g.build(&out[i], jsonc.Value{}, extension)
		}
	}
	return out
}

// geminiKeys are the keys of an entry in the schema of settings.
var geminiKeys = []string{"command", "args", "env", "cwd", "url", "httpUrl", "headers", "tcp", "type", "timeout", "trust", "description",
	"includeTools", "excludeTools", "extension", "oauth", "authProviderType", "targetAudience", "targetServiceAccount"}

// geminiDropped are variables that Gemini CLI does not let an entry set (bundle).
var geminiDropped = []string{"NODE_OPTIONS", "NODE_CLI_FLAGS", "_FORCE_NODE_OPTIONS", "NODE_PATH", "ELECTRON_RUN_AS_NODE", "PYTHONPATH",
	"PYTHONSTARTUP", "RUBYOPT", "RUBYLIB", "PERL5OPT", "PERL5LIB", "LD_PRELOAD", "LD_AUDIT", "LD_DEBUG", "LD_PROFILE", "LD_LIBRARY_PATH",
	"DYLD_INSERT_LIBRARIES", "DYLD_FORCE_FLAT_NAMESPACE", "DYLD_LIBRARY_PATH", "DYLD_FRAMEWORK_PATH", "DYLD_FALLBACK_LIBRARY_PATH",
	"DYLD_FALLBACK_FRAMEWORK_PATH", "BASH_ENV", "ENV", "PERL5DB", "JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS", "CLASSPATH", "DOTNET_STARTUP_HOOKS",
	"CORECLR_PROFILER_PATH", "CORECLR_ENABLE_PROFILING"}

// geminiSecretName and geminiSecretNames are variables that a server does not inherit, and that do not fill in env values
// when only a .env file sets them (bundle; observed with a name that holds TOKEN).
var (
	geminiSecretName  = regexp.MustCompile(`(?i)TOKEN|SECRET|PASSWORD|PASSWD|KEY|AUTH|CREDENTIAL|CREDS|PRIVATE|CERT`)
	geminiSecretNames = []string{"CLIENT_ID", "DB_URI", "CONNECTION_STRING", "AWS_DEFAULT_REGION", "AZURE_CLIENT_ID", "AZURE_TENANT_ID",
		"SLACK_WEBHOOK_URL", "TWILIO_ACCOUNT_SID", "DATABASE_URL", "GOOGLE_CLOUD_PROJECT", "GOOGLE_CLOUD_ACCOUNT", "FIREBASE_PROJECT_ID"}
	geminiSecretValue = sync.OnceValue(func() *regexp.Regexp { // large; only a launch needs it
		return regexp.MustCompile(`(?i)-----BEGIN (RSA|OPENSSH|EC|PGP) PRIVATE KEY-----|-----BEGIN CERTIFICATE-----|` +
			`(https?|ftp|smtp)://[^:\s]{1,1000}:[^@\s]{1,1000}@|(ghp|gho|ghu|ghs|ghr|github_pat)_[a-z0-9_]{36,}|AIzaSy[a-z0-9_\\-]{33}|` +
			`AKIA[A-Z0-9]{16}|eyJ[a-z0-9_-]*\.[a-z0-9_-]*\.[a-z0-9_-]*|(s|r)k_(live|test)_[0-9a-z]{24}|xox[abpr]-[a-z0-9-]+`)
	})
)

// geminiRedacts tells whether Gemini CLI keeps a variable of its environment from servers.
func geminiRedacts(name, value string) bool {
	name = strings.ToUpper(name)
	if strings.HasPrefix(name, "GEMINI_CLI_") {
		return false
	}
	return geminiSecretValue().MatchString(value) || !strings.HasPrefix(name, "GIT_CONFIG_") &&
		(slices.Contains(geminiSecretNames, name) || geminiSecretName.MatchString(name))
}

// hasScheme tells a URL from other texts as far as the constructor URL of JavaScript insists on.
var hasScheme = regexp.MustCompile(`^\s*[A-Za-z][A-Za-z0-9+.-]*:`)

// build makes definition, fault and findings of an entry. base is the extension's entry of the same name, which gives what
// the entry itself does not.
func (g *gemini) build(e *geminiEntry, base jsonc.Value, extension *geminiExtension) {
	fill := g.fill
	if extension != nil {
		fill = func(s string) string { return fillGemini(g.hydrate(s, extension), g.extensionLookup(extension)) }
	}
	get := func(key string) jsonc.Value {
		if v := e.value.Get(key); v.Exists() || base.Kind() == jsonc.Invalid {
			return v
		}
		return base.Get(key)
	}
	text := func(v jsonc.Value) string {
		s, _ := v.Str()
		if extension != nil {
			s = g.hydrate(s, extension)
		}
		return s
	}
	skip := func(code model.ReasonCode, format string, args ...any) {
		e.fault = model.Reason{Code: code, DecidedBy: e.Source, Text: fmt.Sprintf(format, args...)}
	}
	warn := func(code model.FindingCode, severity model.Severity, v jsonc.Value, format string, args ...any) {
		e.Findings = append(e.Findings, model.Finding{Code: code, Severity: severity, Line: v.Line(), Text: fmt.Sprintf(format, args...)})
	}
	e.fault, e.Definition, e.Filter = model.Reason{}, nil, nil
	g.nameFindings(e)
	if e.value.Kind() == jsonc.Null {
		skip(model.ReasonEntryInvalid, "the entry is null: Gemini CLI ends when it comes to it")
		return
	}
	if e.value.Kind() != jsonc.Object {
		skip(model.ReasonEntrySkipped, "the entry is %s, not an object: a session skips it", typeWord(e.value))
		return
	}
	for _, m := range e.value.Members() {
		switch {
		case m.Shadowed || slices.Contains(geminiKeys, m.Key) && m.Key != "extension":
		case m.Key == "disabled" || m.Key == "enabled":
			warn(model.FindingUselessKey, model.Warning, m.Value, "%q in an entry means nothing to Gemini CLI: its switch is mcp-server-enablement.json", m.Key)
		default:
			warn(model.FindingUnknownKey, model.Warning, m.Value, "Gemini CLI does not know the key %s and warns about it", quotedKey(m.Key))
		}
	}
	if e.Scope == model.ScopeExtension {
		if t := e.value.Get("trust"); truthy(t, same) {
			warn(model.FindingUselessKey, model.Info, t, "an extension cannot set trust: Gemini CLI drops it")
		}
	}
	httpURL, url, command := get("httpUrl"), get("url"), get("command")
	d := &model.Definition{}
	var target jsonc.Value
	switch {
	case truthy(httpURL, fill):
		d.Transport, target = model.TransportHTTP, httpURL
		if truthy(url, fill) {
			warn(model.FindingDeprecatedKey, model.Warning, httpURL, "httpUrl is deprecated, and the url beside it is ignored: write url with \"type\": \"http\"")
		} else {
			warn(model.FindingDeprecatedKey, model.Info, httpURL, "httpUrl is deprecated: write url with \"type\": \"http\"")
		}
	case truthy(url, fill):
		d.Transport, target = model.TransportHTTP, url
		if t, _ := get("type").Str(); fill(t) == "sse" {
			d.Transport = model.TransportSSE
		} else if truthy(get("type"), fill) && fill(t) != "http" {
			warn(model.FindingWrongType, model.Warning, get("type"), "this type does not go with a url: it is read as http")
		}
	case truthy(command, fill):
		d.Transport = model.TransportStdio
	default:
		switch tcp := get("tcp"); {
		case truthy(tcp, fill):
			skip(model.ReasonEntrySkipped, "tcp has no transport in Gemini CLI: without command or url a session skips the entry")
		case command.Exists() || url.Exists() || httpURL.Exists():
			skip(model.ReasonEntrySkipped, "command and url are empty: a session skips the entry")
		default:
			skip(model.ReasonEntrySkipped, "there is no command and no url: a session skips the entry")
		}
		return
	}
	e.command = true
	e.Filter = toolFilter(e.file, e.value, base, fill)
	for _, key := range []string{"includeTools", "excludeTools"} {
		if v := get(key); v.Exists() && v.Kind() != jsonc.Array {
			warn(model.FindingWrongType, model.Warning, v, "%s is %s, not a list", key, typeWord(v))
		}
	}
	if tcp := get("tcp"); truthy(tcp, fill) {
		warn(model.FindingUselessKey, model.Warning, tcp, "tcp has no transport in Gemini CLI")
	}
	if n, ok := positiveInteger(get("timeout")); ok && n < int64(time.Duration(1<<62)/time.Millisecond) {
		d.StartTimeout = time.Duration(n) * time.Millisecond
	} else if t := get("timeout"); t.Exists() && t.Kind() != jsonc.Number {
		warn(model.FindingWrongType, model.Warning, t, "timeout is %s, not a number of milliseconds", typeWord(t))
	}
	e.Definition = d
	if d.Transport.Remote() {
		if truthy(command, fill) {
			warn(model.FindingConflictingKeys, model.Warning, command, "the command beside a url is ignored")
		}
		if target.Kind() != jsonc.String {
			e.Definition = nil
			skip(model.ReasonEntryInvalid, "the url is %s, not a text: it cannot be reached", typeWord(target))
			return
		}
		d.URL = model.NewSecret(text(target))
		if s, _ := target.Str(); !hasScheme.MatchString(fill(s)) && !geminiVariable.MatchString(fill(s)) {
			skip(model.ReasonEntryInvalid, "the url is no URL: it has no scheme such as https")
		}
		d.Headers = g.pairs(e, get("headers"), jsonc.Value{}, "headers", text)
		g.variableFindings(e, get, base, extension)
		return
	}
	if command.Kind() != jsonc.String {
		e.Definition = nil
		skip(model.ReasonEntryInvalid, "the command is %s, not a text: it cannot be started", typeWord(command))
		return
	}
	d.Command = text(command)
	switch args := get("args"); args.Kind() {
	case jsonc.Array:
		for _, a := range args.Elements() {
			arg := argumentText(a)
			if a.Kind() == jsonc.String {
				arg = text(a)
			} else {
				warn(model.FindingWrongType, model.Warning, a, "an argument is %s, not a text", typeWord(a))
			}
			d.Args = append(d.Args, model.NewSecret(arg))
		}
	case jsonc.Invalid, jsonc.Null:
	default:
		if truthy(args, fill) {
			warn(model.FindingWrongType, model.Warning, args, "args is %s, not a list: Gemini CLI warns, and its listing ends there", typeWord(args))
			skip(model.ReasonEntryInvalid, "args is %s, not a list: the command would start without arguments, env and folder", typeWord(args))
		}
	}
	switch cwd := get("cwd"); cwd.Kind() {
	case jsonc.String:
		d.Cwd = text(cwd)
	case jsonc.Invalid, jsonc.Null:
	default:
		warn(model.FindingWrongType, model.Warning, cwd, "cwd is %s, not a text", typeWord(cwd))
		skip(model.ReasonEntryInvalid, "cwd is %s, not a text: the server cannot be started", typeWord(cwd))
	}
	under := jsonc.Value{}
	if e.value.Get("env").Exists() && base.Exists() {
		under = base.Get("env")
	}
	d.Env = g.pairs(e, get("env"), under, "env", text)
	for _, v := range d.Env {
		if slices.Contains(geminiDropped, strings.ToUpper(v.Name)) {
			e.Findings = append(e.Findings, model.Finding{Code: model.FindingUselessKey, Severity: model.Warning,
				Text: "Gemini CLI does not let an entry set " + quoted(v.Name)})
		}
	}
	g.variableFindings(e, get, base, extension)
}

// pairs reads env or headers; under gives the names that v does not. A value that is no text makes the entry fail.
func (g *gemini) pairs(e *geminiEntry, v, under jsonc.Value, what string, text func(jsonc.Value) string) []model.Variable {
	if v.Exists() && v.Kind() != jsonc.Object && v.Kind() != jsonc.Null {
		e.Findings = append(e.Findings, model.Finding{Code: model.FindingWrongType, Severity: model.Warning, Line: v.Line(),
			Text: fmt.Sprintf("%s is %s, not an object", what, typeWord(v))})
	}
	var out []model.Variable
	for _, object := range []jsonc.Value{under, v} {
		for _, m := range object.Members() {
			if m.Shadowed {
				continue
			}
			value := argumentText(m.Value)
			if m.Value.Kind() == jsonc.String {
				value = text(m.Value)
			} else if what == "env" && truthy(m.Value, same) {
				e.fault = model.Reason{Code: model.ReasonEntryInvalid, DecidedBy: e.Source,
					Text: fmt.Sprintf("env %s is %s, not a text: the server cannot be started", quoted(m.Key), typeWord(m.Value))}
			}
			out = slices.DeleteFunc(out, func(have model.Variable) bool { return have.Name == m.Key })
			out = append(out, model.Variable{Name: m.Key, Value: model.NewSecret(value)})
		}
	}
	return out
}

// nameFindings says that a name cannot be matched by rules for its tools.
func (g *gemini) nameFindings(e *geminiEntry) {
	if strings.Contains(e.Name, "_") {
		e.Findings = append(e.Findings, model.Finding{Code: model.FindingUnderscoreInName, Severity: model.Warning,
			Text: "an underscore in the name: tools are called mcp_SERVER_TOOL and split at the first underscore, so policy rules can miss this server"})
	}
}

// variableFindings names the variables that have no value when a session reads the entry.
func (g *gemini) variableFindings(e *geminiEntry, get func(string) jsonc.Value, base jsonc.Value, extension *geminiExtension) {
	if e.plain && !base.Exists() {
		return
	}
	lookup := g.env.Lookup
	if extension != nil {
		lookup = g.extensionLookup(extension)
	}
	seen := map[string]bool{}
	report := func(v jsonc.Value, inEnv bool) {
		s, ok := v.Str()
		if !ok {
			return
		}
		if extension != nil {
			s = g.hydrate(s, extension)
		}
		for _, name := range unsetIn(s, lookup) {
			late, fromFile := g.dotenv[name]
			switch {
			case seen[name] || inEnv && fromFile && !geminiRedacts(name, late):
			case inEnv && fromFile && g.dotenvFile != nil:
				e.Findings = append(e.Findings, model.Finding{Code: model.FindingBlankedVariable, Severity: model.Warning, Line: v.Line(),
					Text: fmt.Sprintf("%s is set in %s, but Gemini CLI keeps variables with secret-looking names or values from servers: the server gets an empty text", quoted(name), g.tilde(g.dotenvFile.Path))})
			case inEnv:
				e.Findings = append(e.Findings, unsetFinding(name, "the server gets an empty text in its place", v.Line()))
			case fromFile && g.dotenvFile != nil:
				e.Findings = append(e.Findings, model.Finding{Code: model.FindingUnsetVariable, Severity: model.Warning, Line: v.Line(),
					Text: fmt.Sprintf("%s is set in %s only, which Gemini CLI reads after its settings: the text stays as written", quoted(name), g.tilde(g.dotenvFile.Path))})
			default:
				e.Findings = append(e.Findings, unsetFinding(name, "the text stays as written", v.Line()))
			}
			seen[name] = true
		}
	}
	all := func(v jsonc.Value, inEnv bool) {
		report(v, inEnv)
		for _, x := range v.Elements() {
			report(x, inEnv)
		}
		for _, m := range v.Members() {
			if !m.Shadowed {
				report(m.Value, inEnv)
			}
		}
	}
	if e.Definition == nil {
		return
	}
	keys := []string{"command", "args", "cwd"}
	if e.Definition.Transport.Remote() {
		keys = []string{"httpUrl", "url", "headers"}
	}
	for _, key := range keys {
		all(get(key), false)
	}
	if !e.Definition.Transport.Remote() {
		all(get("env"), true)
	}
}

var geminiHydration = regexp.MustCompile(`\$\{(.*?)\}`)

// hydrate fills in ${extensionPath}, ${workspacePath}, ${/} and ${pathSeparator} of an extension file.
func (g *gemini) hydrate(text string, e *geminiExtension) string {
	if !strings.Contains(text, "${") {
		return text
	}
	return geminiHydration.ReplaceAllStringFunc(text, func(ref string) string {
		switch ref[2 : len(ref)-1] {
		case "extensionPath":
			return e.dir
		case "workspacePath":
			return g.cwd
		case "/", "pathSeparator":
			if g.env.GOOS == "windows" {
				return `\`
			}
			return "/"
		}
		return ref
	})
}

// extensionLookup finds the value of a variable in an extension file: the extension's own settings, then the environment
// with what .env files add.
func (g *gemini) extensionLookup(e *geminiExtension) func(string) (string, bool) {
	return func(name string) (string, bool) {
		if v, ok := e.dotenv[name]; ok {
			return v, true
		}
		if v, ok := g.env.Lookup(name); ok {
			return v, true
		}
		v, ok := g.dotenv[name]
		return v, ok
	}
}

// readEnablement reads the switch of each server. It is strict JSON; a broken file switches nothing off.
func (g *gemini) readEnablement() {
	f := g.r.ReadJSON(filepath.Join(g.dir, "mcp-server-enablement.json"), model.ScopeUser, 0, jsonc.Options{ReplaceInvalidUTF8: true})
	g.enablement = f
	if f.OK() && f.Root().Kind() != jsonc.Object {
		g.r.Refuse(f, f.At("", f.Root()), "the top level is "+typeWord(f.Root())+", not an object")
	}
	if f.Status == model.FileMalformed || f.Status == model.FileRefused {
		g.note("switches-not-read", f.Path, f.Location().Line, "%s does not parse: Gemini CLI takes every server as on", g.tilde(f.Path))
	}
}

// switchedOff looks a server up in the enablement file: by its name in lower case, without blanks at the ends.
func (g *gemini) switchedOff(name string) (model.Location, bool) {
	if !g.enablement.OK() {
		return model.Location{}, false
	}
	key := trimJS(strings.ToLower(name))
	v := g.enablement.Root().Get(key).Get("enabled")
	if !v.Exists() || v.Kind() == jsonc.Null || truthy(v, same) {
		return model.Location{}, false
	}
	return g.enablement.At(JoinKey(key, "enabled"), v), true
}

// uselessSwitch finds a switch that is spelled with capitals and therefore never looked up.
func (g *gemini) uselessSwitch(name string) *model.Finding {
	if !g.enablement.OK() || name == trimJS(strings.ToLower(name)) {
		return nil
	}
	v := g.enablement.Root().Get(name)
	if !v.Exists() {
		return nil
	}
	return &model.Finding{Code: model.FindingUselessKey, Severity: model.Warning,
		Text: fmt.Sprintf("%s:%d is never looked up: the switch must be spelled in lower case", g.tilde(g.enablement.Path), v.Line())}
}

// geminiLists are mcp.allowed and mcp.excluded of all files that count.
type geminiLists struct {
	allowed  []geminiList // in the order in which they are intersected
	excluded []geminiList
	session  map[string]bool // what all allow lists have in common, as the first one spells it
	listing  map[string]bool // the same, folded
}

// geminiList is a list of names of one file.
type geminiList struct {
	scope  model.Scope
	file   *ConfigFile
	value  jsonc.Value
	names  map[string]jsonc.Value // the first item of each name
	folded map[string]bool        // names without letter case and blanks at the ends
}

// readLists reads the allow lists, which are intersected, and the deny lists, which are added up.
func (g *gemini) readLists() {
	layers := map[model.Scope]geminiLayer{}
	for _, l := range g.layers {
		if g.counts(l) && l.file.OK() {
			layers[l.scope] = l
		}
	}
	var bad model.Location
	var badFile *ConfigFile
	for _, scope := range []model.Scope{model.ScopeSystem, model.ScopeSystemDefaults, model.ScopeUser, model.ScopeProject} {
		l := layers[scope]
		for _, key := range []string{"allowed", "excluded"} {
			v := l.root.Lookup("mcp", key)
			if v.Kind() != jsonc.Array {
				if v.Exists() && v.Kind() != jsonc.Null {
					g.note(string(model.FindingWrongType), l.file.Path, v.Line(), "mcp.%s of %s is %s, not a list", key, g.tilde(l.file.Path), typeWord(v))
				}
				continue
			}
			list := geminiList{scope: scope, file: l.file, value: v, names: map[string]jsonc.Value{}, folded: map[string]bool{}}
			for _, item := range v.Elements() {
				s, ok := item.Str()
				if !ok {
					if key == "allowed" && bad.IsZero() {
						bad, badFile = l.file.At("mcp."+key, item), l.file
					}
					continue
				}
				s = g.fill(s)
				if _, have := list.names[s]; !have {
					list.names[s] = item
				}
				list.folded[foldedName(s)] = true
			}
			if key == "allowed" {
				g.lists.allowed = append(g.lists.allowed, list)
			} else {
				g.lists.excluded = append(g.lists.excluded, list)
			}
		}
	}
	if len(g.lists.allowed) > 1 && !bad.IsZero() {
		g.r.Refuse(badFile, bad, "mcp.allowed holds something else than names")
		g.fail(bad, "mcp.allowed holds something else than names, and several files have such a list: every session ends")
	}
	g.brokenAllowed()
	if len(g.lists.allowed) == 0 {
		return
	}
	g.lists.session, g.lists.listing = map[string]bool{}, map[string]bool{}
	for name := range g.lists.allowed[0].names {
		if common := !slices.ContainsFunc(g.lists.allowed[1:], func(l geminiList) bool { return !l.folded[foldedName(name)] }); common {
			g.lists.session[name], g.lists.listing[foldedName(name)] = true, true
		}
	}
}

// brokenAllowed finds a value of mcp.allowed that no session survives: the highest file that has one decides.
func (g *gemini) brokenAllowed() {
	var value jsonc.Value
	var file *ConfigFile
	for _, l := range g.layers {
		if v, said := settingOf(l.root, "mcp", "allowed"); said && g.counts(l) {
			value, file = v, l.file
		}
	}
	if k := value.Kind(); (k == jsonc.Object || k == jsonc.Number || k == jsonc.Bool) && truthy(value, same) {
		at := file.At("mcp.allowed", value)
		g.r.Refuse(file, at, "mcp.allowed is "+typeWord(value)+", not a list")
		g.fail(at, "mcp.allowed in %s:%d is %s, not a list: every session ends", g.tilde(file.Path), at.Line, typeWord(value))
	}
}

func foldedName(name string) string { return trimJS(strings.ToLower(name)) }

// blocked decides by the lists as a session does: letters exactly, and an allow list that is empty, or has nothing in
// common with another, is no list. listing is what gemini mcp list says instead, "" if the same.
func (g *gemini) blocked(name string) (reason model.Reason, off bool, listing string) {
	folded := foldedName(name)
	listed := len(g.lists.allowed) == 0 || g.lists.listing[folded]
	for _, l := range g.lists.excluded {
		listed = listed && !l.folded[folded]
	}
	if len(g.lists.session) > 0 && !g.lists.session[name] {
		by := g.lists.allowed[0]
		for _, l := range g.lists.allowed {
			if !l.folded[folded] {
				by = l
			}
		}
		reason = model.Reason{Code: geminiBlockCode(by.scope), DecidedBy: by.file.At("mcp.allowed", by.value),
			Text: fmt.Sprintf("mcp.allowed of %s does not name %s", g.tilde(by.file.Path), quoted(name))}
		if listed {
			reason.Text += " in this spelling; a session compares letters exactly"
			listing = "gemini mcp list compares without letter case and starts it; a session does not"
		}
		return reason, true, listing
	}
	for _, l := range g.lists.excluded {
		if item, named := l.names[name]; named {
			return model.Reason{Code: geminiBlockCode(l.scope), DecidedBy: l.file.At("mcp.excluded", item),
				Text: fmt.Sprintf("mcp.excluded of %s names %s", g.tilde(l.file.Path), quoted(name))}, true, ""
		}
	}
	switch {
	case listed:
	case len(g.lists.allowed) > 0 && len(g.lists.session) == 0:
		listing = "mcp.allowed is empty, or the lists of several files have no name in common: gemini mcp list calls every server blocked, a session starts them all"
	default:
		listing = "a list names it in another spelling: gemini mcp list calls it blocked, a session compares letters exactly and starts it"
	}
	return model.Reason{}, false, listing
}

func geminiBlockCode(scope model.Scope) model.ReasonCode {
	if scope == model.ScopeSystem || scope == model.ScopeSystemDefaults {
		return model.ReasonBlockedByPolicy
	}
	return model.ReasonBlockedByList
}

// geminiServer is one name over all layers.
type geminiServer struct {
	entry geminiEntry
	below []model.Replaced
}

// merge joins the settings files: one name, one whole entry of the highest file. A file whose mcpServers is null (or
// false, 0, "") drops those of the files below.
func (g *gemini) merge(project bool) (map[string]*geminiServer, []string) {
	servers := map[string]*geminiServer{}
	var order []string
	for _, l := range g.layers {
		if l.scope == model.ScopeProject && !project {
			continue
		}
		f := l.file
		if f.Status == model.FileMalformed && f.JSON == nil {
			f = g.r.Recover(f)
		}
		v := f.Root().Get("mcpServers")
		if f.OK() && v.Exists() && !truthy(v, g.fill) {
			clear(servers)
			order = nil
		}
		for _, e := range g.entries(f, l.scope, nil) {
			s := servers[e.Name]
			if s == nil {
				s = &geminiServer{}
				servers[e.Name] = s
				order = append(order, e.Name)
			} else {
				s.below = append([]model.Replaced{{Scope: s.entry.Scope, Source: s.entry.Source}}, s.below...)
			}
			s.entry = e
		}
	}
	return servers, order
}

// serverCommand reads mcp.serverCommand of the highest file that has one: one more server, called mcp.
func (g *gemini) serverCommand(project bool) *geminiEntry {
	var value jsonc.Value
	var layer geminiLayer
	for _, l := range g.layers {
		if l.scope == model.ScopeProject && !project {
			continue
		}
		if v, said := settingOf(l.root, "mcp", "serverCommand"); said {
			value, layer = v, l
		}
	}
	line, ok := value.Str()
	if !ok || g.fill(line) == "" {
		return nil
	}
	at := layer.file.At("mcp.serverCommand", value)
	e := &geminiEntry{Entry: model.Entry{Name: "mcp", Scope: layer.scope, Source: at}, file: layer.file, value: value, command: true}
	words, ok := shellWords(line)
	switch {
	case !ok:
		e.fault = model.Reason{Code: model.ReasonEntryInvalid, DecidedBy: at,
			Text: "mcp.serverCommand holds shell syntax: a session cannot read it and starts no server of any settings file"}
		g.brokenAt = &at
	case len(words) == 0:
		e.fault = model.Reason{Code: model.ReasonEntrySkipped, DecidedBy: at, Text: "mcp.serverCommand names no command"}
	default:
		e.Definition = &model.Definition{Transport: model.TransportStdio, Command: words[0], Args: model.Secrets(words[1:])}
		for _, name := range unsetIn(line, g.env.Lookup) {
			e.Findings = append(e.Findings, unsetFinding(name, "an empty text takes its place", at.Line))
		}
	}
	e.Findings = append(e.Findings, model.Finding{Code: model.FindingListingDiffers, Severity: model.Info,
		Text: "mcp.serverCommand gives a session this server; gemini mcp list does not show it"})
	return e
}

// cells decides about every server.
func (g *gemini) cells() []*model.Cell {
	servers, order := g.merge(g.trust.trusted)
	for _, name := range order {
		if s := servers[name]; s.entry.value.Kind() == jsonc.Null && s.entry.file.OK() {
			g.r.Refuse(s.entry.file, s.entry.Source, "the entry "+quoted(name)+" is null")
			g.fail(s.entry.Source, "the entry %s in %s:%d is null: every command of Gemini CLI that loads servers ends",
				quoted(name), g.tilde(s.entry.file.Path), s.entry.Source.Line)
		}
	}
	if !g.trust.trusted {
		servers, order = g.withUntrusted(servers, order)
	}
	if e := g.serverCommand(true); e != nil {
		s := servers[e.Name]
		if s == nil {
			s = &geminiServer{}
			servers[e.Name] = s
			order = append(order, e.Name)
		} else {
			s.below = append([]model.Replaced{{Scope: s.entry.Scope, Source: s.entry.Source}}, s.below...)
		}
		s.entry = *e
	}
	order = g.addExtensions(servers, order)
	cells := make([]*model.Cell, 0, len(order))
	for _, name := range order {
		cells = append(cells, g.decide(servers[name]))
	}
	return cells
}

// withUntrusted shows what an untrusted folder would give once it is trusted.
func (g *gemini) withUntrusted(servers map[string]*geminiServer, order []string) (map[string]*geminiServer, []string) {
	all, names := g.merge(true)
	for _, name := range order {
		if all[name] == nil {
			all[name] = servers[name]
			names = append(names, name)
		}
	}
	return all, names
}

// addExtensions adds the servers of extensions. A settings entry of the same name is laid over that of the extension; of
// several active extensions the first has the name.
func (g *gemini) addExtensions(servers map[string]*geminiServer, order []string) []string {
	owner := map[string]bool{} // names that an active extension has
	for pass := range 2 {      // those that are off come last: they have a name only when nobody else does
		for i := range g.extensions {
			x := &g.extensions[i]
			if x.active != (pass == 0) {
				continue
			}
			for _, e := range x.entries {
				e.extension = x
				s := servers[e.Name]
				replaced := model.Replaced{Scope: e.Scope, Source: e.Source}
				switch {
				case s == nil:
					servers[e.Name] = &geminiServer{entry: e}
					order = append(order, e.Name)
				case !x.active || owner[e.Name] || e.fault.Code == model.ReasonFileRefused || s.entry.value.Kind() != jsonc.Object:
					s.below = append(s.below, replaced)
					continue
				default:
					g.layOver(s, e)
				}
				owner[e.Name] = x.active
			}
		}
	}
	return order
}

// givesKeys tells whether an extension's entry gives something that the settings entry over it does not.
func givesKeys(extension, settings jsonc.Value) bool {
	for _, m := range extension.Members() {
		over := settings.Get(m.Key)
		switch {
		case m.Shadowed || m.Key == "trust":
		case !over.Exists() || m.Key == "includeTools" || m.Key == "excludeTools":
			return true
		case m.Key == "env" && givesKeys(m.Value, over):
			return true
		}
	}
	return false
}

// layOver lays a settings entry over the extension's entry of the same name, as a session does: keys of the settings win,
// env is joined.
func (g *gemini) layOver(s *geminiServer, extension geminiEntry) {
	x := extension.extension
	top := s.entry
	if top.extension != nil { // an extension that is off had the name
		s.below = append(s.below, model.Replaced{Scope: top.Scope, Source: top.Source})
		s.entry = extension
		return
	}
	merged := top
	merged.Findings = nil
	g.build(&merged, extension.value, nil)
	switch {
	case top.command:
		s.below = append(s.below, model.Replaced{Scope: extension.Scope, Source: extension.Source, Merged: givesKeys(extension.value, top.value)})
	default:
		s.below = append([]model.Replaced{{Scope: top.Scope, Source: top.Source, Merged: true}}, s.below...)
		merged.Scope, merged.Source = extension.Scope, extension.Source
		merged.Findings = append(merged.Findings, model.Finding{Code: model.FindingListingDiffers, Severity: model.Info,
			Text: "a session lays the settings entry over the extension's; gemini mcp list shows the settings entry alone and calls it disconnected"})
	}
	if merged.fault.Code != "" {
		merged.fault.DecidedBy = merged.Source
	}
	if merged.Definition != nil {
		merged.Definition = g.hydrated(merged.Definition, x)
	}
	merged.extension = x
	s.entry = merged
}

// hydrated fills in the places of an extension in a definition.
func (g *gemini) hydrated(d *model.Definition, x *geminiExtension) *model.Definition {
	out := &model.Definition{Transport: d.Transport, Command: g.hydrate(d.Command, x), Cwd: g.hydrate(d.Cwd, x), StartTimeout: d.StartTimeout}
	out.URL = model.NewSecret(g.hydrate(d.URL.Reveal(), x))
	for _, a := range d.Args {
		out.Args = append(out.Args, model.NewSecret(g.hydrate(a.Reveal(), x)))
	}
	for _, v := range d.Env {
		out.Env = append(out.Env, model.Variable{Name: v.Name, Value: model.NewSecret(g.hydrate(v.Value.Reveal(), x))})
	}
	for _, v := range d.Headers {
		out.Headers = append(out.Headers, model.Variable{Name: v.Name, Value: model.NewSecret(g.hydrate(v.Value.Reveal(), x))})
	}
	return out
}

// decide makes the cell of a server. Order of a session: what stops everything, a bad entry, the lists, the switch, an
// extension that is off, trust.
func (g *gemini) decide(s *geminiServer) *model.Cell {
	e := s.entry
	out := cell(e.Entry, model.DecisionLoads, model.Reason{})
	out.Findings = slices.Clip(out.Findings)
	out.Replaces = s.below
	blocked, isBlocked, listing := g.blocked(e.Name)
	offAt, isOff := g.switchedOff(e.Name)
	extensionOff := e.extension != nil && !e.extension.active
	switch {
	case g.broken != nil:
		out.Decision = model.DecisionCannot
		out.Reason = model.Reason{Code: model.ReasonFileRefused, DecidedBy: g.broken.Location, Text: g.broken.Text}
	case e.fault.Code != "":
		out.Decision, out.Reason = model.DecisionCannot, e.fault
	case g.brokenAt != nil && e.extension == nil:
		out.Decision = model.DecisionCannot
		out.Reason = model.Reason{Code: model.ReasonFileRefused, DecidedBy: *g.brokenAt,
			Text: "mcp.serverCommand cannot be read: a session starts no server of any settings file"}
	case isBlocked:
		out.Decision, out.Reason = model.DecisionOff, blocked
	case isOff:
		out.Decision = model.DecisionOff
		out.Reason = model.Reason{Code: model.ReasonSwitchedOff, DecidedBy: offAt,
			Text: "switched off in " + g.tilde(offAt.Path) + ", for every folder and scope"}
	case extensionOff:
		out.Decision = model.DecisionOff
		out.Reason = model.Reason{Code: model.ReasonSwitchedOff, DecidedBy: e.extension.offAt,
			Text: fmt.Sprintf("its extension %s is switched off for this folder", quoted(e.extension.name))}
		out.Findings = append(out.Findings, model.Finding{Code: model.FindingListingDiffers, Severity: model.Info,
			Text: "gemini mcp list still connects to the server of an extension that is off; a session does not start it"})
	case !g.trust.trusted:
		out.Decision = model.DecisionWaits
		out.Reason = model.Reason{Code: model.ReasonUntrustedFolder, DecidedBy: g.trust.at, Text: g.untrustedText(e.Scope)}
	}
	if listing != "" && (out.Decision == model.DecisionLoads || out.Decision == model.DecisionOff) {
		out.Findings = append(out.Findings, model.Finding{Code: model.FindingListingDiffers, Severity: model.Warning, Text: listing})
	}
	if f := g.uselessSwitch(e.Name); f != nil {
		out.Findings = append(out.Findings, *f)
	}
	if e.Scope == model.ScopeProject && g.trust.off && out.Decision == model.DecisionLoads {
		out.Findings = append(out.Findings, repositoryFinding())
	}
	out.Capabilities = g.capabilities(out, extensionOff)
	return out
}

func (g *gemini) untrustedText(scope model.Scope) string {
	what := "in a folder that is not trusted Gemini CLI starts no server"
	if scope != model.ScopeProject {
		what += ", this user's own included"
	}
	return what + "; " + g.trust.why
}

// capabilities says what can be done with a cell, or why not.
func (g *gemini) capabilities(out *model.Cell, extensionOff bool) model.Capabilities {
	caps := model.Capabilities{Login: "not needed"}
	if out.Definition != nil && out.Definition.Transport.Remote() {
		caps.Login = ""
	}
	switch {
	case g.trust.off:
		caps.Approve = "not needed, folder trust is switched off"
	case g.trust.variable != "" && g.trust.trusted:
		caps.Approve = "not needed, " + g.trust.variable + " trusts every folder"
	case g.trust.variable != "" && g.trust.at.Path[0] != '$':
		caps.Approve = g.tilde(g.trust.at.Path) + " sets " + g.trust.variable + ", which beats every rule"
	case g.trust.variable != "":
		caps.Approve = g.trust.variable + " makes every folder untrusted; no file can change that"
	case g.trust.trusted:
		caps.Approve = "the folder is trusted already"
	}
	switch {
	case out.Decision == model.DecisionCannot:
		caps.Toggle, caps.Approve = "the entry does not load: mend it first", "the entry does not load: mend it first"
	case out.Reason.Code == model.ReasonBlockedByList || out.Reason.Code == model.ReasonBlockedByPolicy:
		caps.Toggle = "a list blocks it; taking it off that list is no switch"
	case extensionOff && out.Reason.DecidedBy.Path != g.enablement.Path:
		caps.Toggle = "its whole extension is switched off: gemini extensions enable switches that on"
	case g.enablement.Status == model.FileMalformed || g.enablement.Status == model.FileRefused:
		caps.Toggle = "mcp-server-enablement.json does not parse: mend it first"
	}
	return caps
}

// strayFiles notes files that look right and are not read.
func (g *gemini) strayFiles() {
	stray := func(path string, scope model.Scope, instead string) {
		if g.r.Ignored(path, scope, "not read by Gemini CLI") {
			g.note(string(model.FindingFileNotRead), path, 1, "%s is not read by Gemini CLI: %s", g.tilde(path), instead)
		}
	}
	settings := g.tilde(filepath.Join(g.dir, "settings.json"))
	stray(g.env.InProject(".gemini/mcp.json"), model.ScopeProject, "servers belong into .gemini/settings.json")
	stray(g.env.InProject(".gemini/settings.local.json"), model.ScopeProject, "there is no local settings file")
	stray(filepath.Join(g.dir, "mcp.json"), model.ScopeUser, "servers belong into "+settings)
	if g.home != g.env.Home {
		stray(g.env.InHome(".gemini/settings.json"), model.ScopeUser, "GEMINI_CLI_HOME names another home folder")
	}
	if g.cwd == g.r.RealPath(g.home) {
		return
	}
	homes := []string{g.home, g.env.Home, g.r.RealPath(g.home), g.r.RealPath(g.env.Home)}
	for _, dir := range Ancestors(g.cwd)[1:] {
		if slices.Contains(homes, dir) || filepath.Dir(dir) == dir {
			return
		}
		stray(filepath.Join(dir, ".gemini", "settings.json"), model.ScopeProject, "only the folder that a session starts in counts")
	}
}

// layerNotes notes keys of settings files that look right and mean nothing.
func (g *gemini) layerNotes() {
	for _, l := range g.layers {
		if !l.file.OK() {
			continue
		}
		path := l.file.Path
		if v := l.root.Get("admin"); v.Exists() {
			g.note(string(model.FindingUselessKey), path, v.Line(), "admin in %s is ignored: admin settings come with the signed-in account only", g.tilde(path))
		}
		for _, wrong := range []struct{ key, right string }{
			{"servers", "mcpServers"}, {"mcp_servers", "mcpServers"}, {"allowMCPServers", "mcp.allowed"},
			{"excludeMCPServers", "mcp.excluded"}, {"mcpServerCommand", "mcp.serverCommand"},
		} {
			if v := l.root.Get(wrong.key); v.Exists() {
				g.note(string(model.FindingWrongKey), path, v.Line(), "%q in %s is not read by Gemini CLI: it reads %q", wrong.key, g.tilde(path), wrong.right)
			}
		}
		if v := l.root.Lookup("mcp", "servers"); v.Exists() {
			g.note(string(model.FindingWrongKey), path, v.Line(), `"mcp.servers" in %s is not read by Gemini CLI: it reads "mcpServers"`, g.tilde(path))
		}
		switch v := l.root.Get("mcpServers"); v.Kind() {
		case jsonc.Invalid, jsonc.Object:
		case jsonc.Array:
			g.note(string(model.FindingWrongType), path, v.Line(), "mcpServers of %s is a list: Gemini CLI takes the positions as names", g.tilde(path))
		default:
			what := "no server from it"
			if !truthy(v, g.fill) {
				what = "it hides the servers of the files below it"
			}
			g.note(string(model.FindingWrongType), path, v.Line(), "mcpServers of %s is %s: %s", g.tilde(path), typeWord(v), what)
		}
		if v := l.root.Lookup("security", "folderTrust", "enabled"); l.scope == model.ScopeProject && v.Exists() && !g.flag(l, v) {
			g.note(string(model.FindingUselessKey), path, v.Line(), "a project file cannot switch folder trust off: the line is ignored")
		}
	}
}
