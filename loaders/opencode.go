package loaders

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"

	"fusebox/loaders/jsonc"
	"fusebox/model"
)

// openCode is the registry row of OpenCode. Its rules were observed on OpenCode 1.18.33; where only the JavaScript inside
// that program tells, the comment says so.
func openCode() Harness {
	return Harness{
		Harness: model.Harness{
			ID: "opencode", Title: "OpenCode", Heading: "OpenCode",
			Verified: model.VerifiedRun, VersionChecked: "1.18.33", SignIn: "opencode mcp auth NAME",
			BlindSpots: []model.BlindSpot{
				{Code: "remote-config", Text: "configuration that a signed-in provider or an organisation's console account sends"},
				{Code: "managed-preferences", Text: "managed preferences of macOS, above all files"},
				{Code: "session-switch", Text: "servers that were connected or disconnected in a running session; nothing stores it"},
				{Code: "referenced-files", Text: "what {file:path} brings in: a listing only looks whether the file exists"},
				{Code: "sign-in", Text: "whether a remote server asks for a sign-in; stored tokens are not read"},
			},
		},
		Resolve:  resolveOpenCode,
		Sessions: SessionRules{Programs: []string{"opencode"}, Packages: []string{"opencode-ai"}, Not: []string{"mcp", "auth", "debug", "models", "upgrade", "stats"}, Reload: "restart OpenCode there"},
		Toggle:   toggleOpenCode,
		Launch: LaunchRules{
			Class:     EnvironmentFull,
			Fill:      fillOpenCode,
			FillFiles: fillOpenCodeFiles,
			ToolName:  joinToolName("", "_"),
			Drops:     openCodeDrops,
		},
	}
}

// openCodeJSON is how OpenCode parses: jsonc-parser, and any mistake refuses the file.
var openCodeJSON = jsonc.Options{Lenient: true, Comments: true, TrailingCommas: true, BOM: true, ReplaceInvalidUTF8: true}

// openCodeResolve is one resolve of OpenCode.
type openCodeResolve struct {
	env *Env
	r   *Reader

	start  string // the session's folder, links resolved
	tree   string // root of the git work tree, or the session's folder outside git
	layers []openCodeLayer
	broken *model.Problem
	notes  []model.Note

	servers []openCodeServer
	result  Result
}

// openCodeLayer is one file that counts, lowest first.
type openCodeLayer struct {
	scope  model.Scope
	file   *ConfigFile
	parsed *openCodeFile
}

func resolveOpenCode(env *Env, r *Reader) Result { return openCodeOf(env, r).result }

// openCodeOf resolves once per reader.
func openCodeOf(env *Env, r *Reader) *openCodeResolve {
	return keepResolve(r, "opencode", func() *openCodeResolve {
		o := &openCodeResolve{env: env, r: r, start: r.RealPath(env.Project)}
		o.result = o.resolve()
		return o
	})
}

func (o *openCodeResolve) resolve() Result {
	r := o.r
	stop := gitWorktree(r, o.start)
	o.tree = stop
	if stop == "" {
		o.tree = o.start
	}
	o.readLayers(stop)
	res := Result{Present: r.Exists(o.globalDir()), Broken: o.broken}
	res.Cells = o.cells()
	o.strayFiles()
	res.Notes = o.notes
	return res
}

// globalDir is the folder of the user's own files.
func (o *openCodeResolve) globalDir() string { return filepath.Join(o.env.ConfigHome(), "opencode") }

// managedDir is the folder of an administrator's files. The variable is the program's own way to test that layer.
func (o *openCodeResolve) managedDir() string {
	if dir := o.env.Var("OPENCODE_TEST_MANAGED_CONFIG_DIR"); dir != "" {
		return o.path(dir)
	}
	if dir := o.env.Var("ProgramData"); dir != "" && o.env.GOOS == "windows" {
		return filepath.Join(dir, "opencode")
	}
	return o.env.SystemDir("/etc/opencode", "/Library/Application Support/opencode", "C:/ProgramData/opencode")
}

// path makes a path of a variable absolute. OpenCode takes it as it is: no ~, relative to the session's folder.
func (o *openCodeResolve) path(p string) string {
	if !filepath.IsAbs(p) {
		p = filepath.Join(o.start, p)
	}
	return filepath.Clean(p)
}

// gitWorktree returns the root of the git work tree that dir lies in, "" outside git: the nearest .git decides, and
// one that git itself does not accept counts as none (a folder without HEAD lets git look further up).
func gitWorktree(r *Reader, dir string) string {
	for _, a := range Ancestors(dir) {
		dotGit := filepath.Join(a, ".git")
		switch {
		case r.IsDir(dotGit):
			if r.Exists(filepath.Join(dotGit, "HEAD")) {
				return a
			}
		case r.IsFile(dotGit):
			f := r.Peek(dotGit, model.ScopeProject)
			r.Drop(f)
			target, ok := strings.CutPrefix(strings.TrimSpace(string(f.Data)), "gitdir:")
			target = strings.TrimSpace(target)
			if !filepath.IsAbs(target) {
				target = filepath.Join(a, target)
			}
			if !ok || !r.IsDir(target) {
				return ""
			}
			return a
		}
	}
	return ""
}

// projectDirs are the folders whose files count as the project's, nearest first: up to the root of the work tree, outside
// git up to the root of the file system.
func (o *openCodeResolve) projectDirs(stop string) []string {
	dirs := Ancestors(o.start)
	if i := slices.Index(dirs, stop); i >= 0 {
		dirs = dirs[:i+1]
	}
	return dirs
}

// readLayers reads every file, lowest first: global, OPENCODE_CONFIG, project files (outermost first), .opencode folders
// (outermost last), ~/.opencode, OPENCODE_CONFIG_DIR, OPENCODE_CONFIG_CONTENT, managed.
func (o *openCodeResolve) readLayers(stop string) {
	global := o.globalDir()
	for _, name := range []string{"config.json", "opencode.json", "opencode.jsonc"} {
		o.read(filepath.Join(global, name), model.ScopeUser)
	}
	o.readOldFile(filepath.Join(global, "config"))
	if p := o.env.Var("OPENCODE_CONFIG"); p != "" {
		o.read(o.path(p), model.ScopeCustom)
	}

	project := o.projectDirs(stop)
	off := strings.ToLower(o.env.Var("OPENCODE_DISABLE_PROJECT_CONFIG"))
	projectOff := off == "true" || off == "1"
	for _, dir := range slices.Backward(project) {
		for _, name := range []string{"opencode.json", "opencode.jsonc"} {
			if path := filepath.Join(dir, name); projectOff {
				o.r.Ignored(path, model.ScopeProject, "OPENCODE_DISABLE_PROJECT_CONFIG is set")
			} else {
				o.read(path, model.ScopeProject)
			}
		}
	}

	type folder struct {
		dir   string
		scope model.Scope
	}
	custom := o.env.Var("OPENCODE_CONFIG_DIR")
	if custom != "" {
		custom = o.path(custom)
	}
	homeDot := o.env.InHome(".opencode")
	var folders []folder
	add := func(dir string, scope model.Scope) {
		if dir == homeDot {
			scope = model.ScopeUser
		}
		if !slices.ContainsFunc(folders, func(f folder) bool { return f.dir == dir }) {
			folders = append(folders, folder{dir, scope})
		}
	}
	add(global, model.ScopeUser) // only its place counts, and only when OPENCODE_CONFIG_DIR names it too
	for _, dir := range project {
		dot := filepath.Join(dir, ".opencode")
		if !projectOff {
			add(dot, model.ScopeProject)
		} else if dot != homeDot {
			for _, name := range []string{"opencode.json", "opencode.jsonc"} {
				o.r.Ignored(filepath.Join(dot, name), model.ScopeProject, "OPENCODE_DISABLE_PROJECT_CONFIG is set")
			}
		}
	}
	add(homeDot, model.ScopeUser)
	if custom != "" {
		add(custom, model.ScopeCustom)
	}
	for _, f := range folders {
		if f.dir == global && f.dir != custom {
			continue
		}
		if o.r.IsFile(f.dir) { // looking for a file below it is an error that OpenCode does not catch
			wrong := o.r.Read(f.dir, f.scope, 0)
			o.r.Mark(wrong, model.FileRefused, "a file where OpenCode wants a folder")
			o.refuse(wrong, model.Location{Path: f.dir, Line: 1}, wrong.Note)
			continue
		}
		for _, name := range []string{"opencode.json", "opencode.jsonc"} {
			o.read(filepath.Join(f.dir, name), f.scope)
		}
	}

	if text := o.env.Var("OPENCODE_CONFIG_CONTENT"); text != "" {
		o.parse(o.r.Text("OPENCODE_CONFIG_CONTENT", model.ScopeCustom, text), model.ScopeCustom, o.start)
	}
	managed := o.managedDir()
	for _, name := range []string{"opencode.json", "opencode.jsonc"} {
		o.read(filepath.Join(managed, name), model.ScopeManaged)
	}
}

func (o *openCodeResolve) read(path string, scope model.Scope) {
	f := o.r.Read(path, scope, 0)
	switch f.Status {
	case model.FileRead:
		if len(f.Data) > 0 {
			o.parse(f, scope, filepath.Dir(path))
		}
	case model.FileRefused:
		o.refuse(f, model.Location{Path: path, Line: 1}, f.Note)
	}
}

// readOldFile reads the TOML file of old versions, which OpenCode merges over the other global files, writes into config.json
// and deletes at its next start. Nothing in it is validated, and one that does not parse is passed over.
func (o *openCodeResolve) readOldFile(path string) {
	if !o.r.IsFile(path) {
		return
	}
	f := o.r.ReadTOML(path, model.ScopeUser)
	if !f.OK() {
		o.r.Mark(f, model.FileIgnored, "does not parse: OpenCode passes over it")
		return
	}
	o.notes = append(o.notes, model.Note{Code: "old-config-file", Path: path, Line: 1,
		Text: o.tilde(path) + " is an old TOML file: OpenCode moves it into config.json at its next start"})
	parsed := &openCodeFile{}
	servers, _ := f.TOML.Tree()["mcp"].(map[string]any)
	for _, name := range f.TOML.Keys("mcp") {
		table, ok := servers[name].(map[string]any)
		if !ok {
			continue
		}
		e := openCodeEntry{name: name, at: f.TOMLAt("mcp", name)}
		e.typ, _ = table["type"].(string)
		e.url, _ = table["url"].(string)
		e.command = tomlTexts(table["command"])
		e.environment, e.headers = tomlVariables(table["environment"]), tomlVariables(table["headers"])
		if dir, ok := table["cwd"].(string); ok {
			e.cwd = &dir
		}
		if on, ok := table["enabled"].(bool); ok {
			e.enabled, e.enabledAt = &on, f.TOMLAt("mcp", name, "enabled")
		}
		if e.typ != "local" && e.typ != "remote" {
			e.typ = ""
		}
		parsed.entries = append(parsed.entries, e)
	}
	o.layers = append(o.layers, openCodeLayer{scope: model.ScopeUser, file: f, parsed: parsed})
}

func tomlTexts(v any) []string {
	list, _ := v.([]any)
	out := make([]string, 0, len(list))
	for _, x := range list {
		if s, ok := x.(string); ok {
			out = append(out, s)
		}
	}
	return out
}

func tomlVariables(v any) []model.Variable {
	table, _ := v.(map[string]any)
	texts := make(map[string]string, len(table))
	for k, x := range table {
		if s, ok := x.(string); ok {
			texts[k] = s
		}
	}
	return model.Variables(texts)
}

// parse reads one layer. A file that OpenCode refuses stops every command, so the first of them breaks the column; its
// entries are kept for their names.
func (o *openCodeResolve) parse(f *ConfigFile, scope model.Scope, dir string) {
	parsed := Memo(f, "opencode/"+dir, func() *openCodeFile { return parseOpenCode(o.env, o.r, f, dir) })
	layer := openCodeLayer{scope: scope, file: f, parsed: parsed}
	fault := parsed.fault
	for _, ref := range parsed.files {
		// Substitution comes before parsing, so a missing file is the first mistake that OpenCode sees.
		if info, err := o.r.Stat(ref.path); err != nil || info.IsDir() {
			what := "does not exist"
			if err == nil {
				what = "is a folder"
			}
			fault = &openCodeFault{ref.at, fmt.Sprintf("{file:} names %s, which %s", o.tilde(ref.shown), what)}
			break
		}
	}
	if fault != nil {
		o.r.Refuse(f, fault.at, fault.text)
		o.refuse(f, fault.at, fault.text)
	} else if parsed.wrongKey != nil {
		o.notes = append(o.notes, *parsed.wrongKey)
	}
	o.layers = append(o.layers, layer)
}

func (o *openCodeResolve) refuse(f *ConfigFile, at model.Location, why string) {
	if o.broken == nil {
		o.broken = &model.Problem{Location: at, Text: fmt.Sprintf("OpenCode refuses %s, and with it every command: %s", o.tilde(f.Path), model.Clean(why))}
	}
}

// openCodeFile is what is made of one file alone.
type openCodeFile struct {
	entries  []openCodeEntry // in file order
	fault    *openCodeFault
	files    []openCodeReference
	wrongKey *model.Note
	tools    []openCodeToolRule // of "tools", in file order
	allows   []openCodeToolRule // of "permission"
}

// openCodeToolRule hides tools or shows them: the last rule that fits a tool decides.
type openCodeToolRule struct {
	pattern string
	hides   bool
	at      model.Location
}

type openCodeFault struct {
	at   model.Location
	text string
}

// openCodeReference is a {file:path} that OpenCode reads.
type openCodeReference struct {
	path   string
	shown  string // as written, where a variable is a part of it
	at     model.Location
	offset int // in the filled in text
}

// openCodeEntry is one server of one file, after the newer shape was turned into the older one.
type openCodeEntry struct {
	name     string
	at       model.Location
	findings []model.Finding
	skipped  string // why OpenCode leaves it out

	typ         string // local, remote; "" when only enabled counts
	command     []string
	cwd         *string
	environment []model.Variable
	url         string
	headers     []model.Variable
	oauth       jsonc.Kind // Bool: switched off; Object: settings; Invalid: nothing said
	timeout     *time.Duration
	enabled     *bool
	enabledAt   model.Location
}

// openCodeText is the text of a file after {env:NAME} was filled in, with the way back to the file.
type openCodeText struct {
	file     *ConfigFile
	dir      string // where relative references start
	original string
	text     string
	spans    []openCodeSpan
	lines    *jsonc.Document // of the file, for positions
	doc      *jsonc.Document // of the text
}

// openCodeSpan is one variable that was filled in.
type openCodeSpan struct {
	start, end         int // in the text
	fromStart, fromEnd int // in the file
	name               string
	unset              bool
}

var openCodeVariable = regexp.MustCompile(`\{env:([^}]+)\}`)

// plainVariable is a name that a shell would accept too.
var plainVariable = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

var openCodeFileReference = regexp.MustCompile(`\{file:[^}]+\}`)

// fillInOpenCode replaces {env:NAME} anywhere in the text, comments included; an unset variable is empty, nothing is
// escaped.
func fillInOpenCode(env *Env, r *Reader, f *ConfigFile, dir string) *openCodeText {
	t := &openCodeText{file: f, dir: dir, original: string(f.Data)}
	t.text = t.original
	if strings.Contains(t.original, "{env:") {
		var b strings.Builder
		last := 0
		for _, m := range openCodeVariable.FindAllStringSubmatchIndex(t.original, -1) {
			name := t.original[m[2]:m[3]]
			value := env.Var(name)
			b.WriteString(t.original[last:m[0]])
			start := b.Len()
			b.WriteString(value)
			t.spans = append(t.spans, openCodeSpan{start, b.Len(), m[0], m[1], name, value == ""})
			last = m[1]
		}
		b.WriteString(t.original[last:])
		t.text = b.String()
	}
	t.doc, _ = jsonc.Parse([]byte(t.text), openCodeJSON)
	t.lines = t.doc
	if len(t.spans) > 0 {
		t.lines = r.Recover(f).JSON
	}
	return t
}

// from gives the offset in the file of an offset in the text.
func (t *openCodeText) from(offset int) int {
	after := sort.Search(len(t.spans), func(i int) bool { return t.spans[i].end > offset })
	if after < len(t.spans) && t.spans[after].start <= offset {
		return t.spans[after].fromStart
	}
	if after == 0 {
		return offset
	}
	s := t.spans[after-1]
	return offset - s.end + s.fromEnd
}

// within gives the variables that stand in a part of the text.
func (t *openCodeText) within(start, end int) []openCodeSpan {
	first := sort.Search(len(t.spans), func(i int) bool { return t.spans[i].end > start })
	last := sort.Search(len(t.spans), func(i int) bool { return t.spans[i].start >= end })
	return t.spans[first:max(first, last)]
}

// at gives the place in the file of an offset in the text. A variable's text has no lines.
func (t *openCodeText) at(key string, offset int) model.Location {
	loc := model.Location{Path: t.file.Path, Key: key}
	loc.Line, loc.Column = t.lines.Position(t.from(offset))
	if strings.HasPrefix(t.file.Path, "$") {
		loc.Line = 1
	}
	return loc
}

func (t *openCodeText) line(offset int) int { return t.at("", offset).Line }

// written gives a text value as it stands in the file, references to variables included. Relative references to files are
// made absolute: after merging nobody knows which file they stood in.
func (t *openCodeText) written(v jsonc.Value) string {
	s := t.unfilled(v)
	if !strings.Contains(s, "{file:") {
		return s
	}
	return openCodeFileReference.ReplaceAllStringFunc(s, func(ref string) string {
		path := ref[len("{file:") : len(ref)-1]
		if filepath.IsAbs(path) || strings.HasPrefix(path, "~/") || strings.Contains(path, "{env:") {
			return ref
		}
		return "{file:" + filepath.Join(t.dir, path) + "}"
	})
}

func (t *openCodeText) unfilled(v jsonc.Value) string {
	filled, _ := v.Str()
	var refs []string
	for _, s := range t.within(v.Offset(), v.End()) {
		refs = append(refs, t.original[s.fromStart:s.fromEnd])
	}
	if len(refs) == 0 {
		return filled
	}
	start, end := t.from(v.Offset()), t.from(v.End())
	if start < end && end <= len(t.original) {
		if doc, err := jsonc.Parse([]byte(t.original[start:end]), jsonc.Options{ReplaceInvalidUTF8: true}); err == nil {
			if s, ok := doc.Root().Str(); ok {
				return s
			}
		}
	}
	return strings.Join(refs, "")
}

// references finds the {file:path} that are read: all but those on lines that start with //.
func (t *openCodeText) references(home string) []openCodeReference {
	if !strings.Contains(t.text, "{file:") {
		return nil
	}
	var out []openCodeReference
	for _, m := range openCodeFileReference.FindAllStringIndex(t.text, -1) {
		lineStart := strings.LastIndexByte(t.text[:m[0]], '\n') + 1
		if strings.HasPrefix(strings.TrimSpace(t.text[lineStart:m[0]]), "//") {
			continue
		}
		path := t.text[m[0]+len("{file:") : m[1]-1]
		shown := ""
		if len(t.within(m[0], m[1])) > 0 {
			shown = t.original[t.from(m[0]):t.from(m[1])]
		}
		if rest, ok := strings.CutPrefix(path, "~/"); ok {
			path = filepath.Join(home, rest)
		}
		if !filepath.IsAbs(path) {
			path = filepath.Join(t.dir, path)
		}
		path = filepath.Clean(path)
		if shown == "" {
			shown = path
		}
		out = append(out, openCodeReference{path, model.Clean(shown), t.at("", m[0]), m[0]})
	}
	return out
}

// parseOpenCode reads one file: fill in, parse, translate the newer shape, validate.
func parseOpenCode(env *Env, r *Reader, f *ConfigFile, dir string) *openCodeFile {
	t := fillInOpenCode(env, r, f, dir)
	out := &openCodeFile{files: t.references(env.Home)}
	root := t.doc.Root()
	p := &openCodeParser{text: t, out: out, home: env.Home}
	if errs := t.doc.Errors(); len(errs) > 0 {
		p.failAt(errs[0].Offset, "", "%s", errs[0].Message)
	}
	p.file(root)
	return out
}

// openCodeParser reads the servers of one file and keeps the first fault.
type openCodeParser struct {
	text *openCodeText
	out  *openCodeFile
	home string
}

func (p *openCodeParser) failAt(offset int, key, format string, args ...any) {
	if p.out.fault == nil {
		p.out.fault = &openCodeFault{p.text.at(key, offset), fmt.Sprintf(format, args...)}
	}
}

func (p *openCodeParser) fail(v jsonc.Value, key, format string, args ...any) {
	p.failAt(v.Offset(), key, format, args...)
}

func (p *openCodeParser) file(root jsonc.Value) {
	if root.Kind() != jsonc.Object {
		p.fail(root, "", "the top level is %s, not an object", typeWord(root))
		return
	}
	p.permissions(root)
	p.servers(root.Get("mcp"))
	p.settings(root)
	path := p.text.file.Path
	for _, key := range []string{"mcpServers", "servers", "mcp_servers"} {
		if v := root.Get(key); v.Kind() == jsonc.Object && v.Len() > 0 && p.out.wrongKey == nil {
			p.out.wrongKey = &model.Note{Code: string(model.FindingWrongKey), Path: path, Line: p.text.line(v.Offset()),
				Text: fmt.Sprintf("OpenCode does not read %q: its servers stand under \"mcp\"", key)}
		}
	}
	for _, m := range root.Get("tools").Members() {
		if on, ok := m.Value.Bool(); ok && !m.Shadowed {
			p.out.tools = append(p.out.tools, openCodeToolRule{m.Key, !on, p.text.at(JoinKey("tools", m.Key), m.KeyOffset)})
		}
	}
	permission := root.Get("permission")
	if action, ok := permission.Str(); ok {
		p.out.allows = append(p.out.allows, openCodeToolRule{"*", action == "deny", p.text.at("permission", permission.Offset())})
	}
	for _, m := range permission.Members() {
		if action, ok := openCodeLastAction(m.Value); ok && !m.Shadowed {
			p.out.allows = append(p.out.allows, openCodeToolRule{m.Key, action == "deny", p.text.at(JoinKey("permission", m.Key), m.KeyOffset)})
		}
	}
}

// openCodeLastAction reads the action of a permission that decides whether a tool is shown at all: that of its last pattern,
// which must be *.
func openCodeLastAction(v jsonc.Value) (string, bool) {
	if s, ok := v.Str(); ok {
		return s, true
	}
	action, any := "", false
	for _, m := range v.Members() {
		if s, ok := m.Value.Str(); ok && !m.Shadowed {
			any = true
			action = "ask"
			if m.Key == "*" {
				action = s
			}
		}
	}
	return action, any
}

// permissions refuses what only OpenCode 2 understands.
func (p *openCodeParser) permissions(root jsonc.Value) {
	const why = `"permissions" is a setting of OpenCode 2; this version wants "permission"`
	if v := root.Get("permissions"); v.Exists() {
		p.fail(v, "permissions", "%s", why)
	}
	for _, group := range []string{"agents", "agent", "mode"} {
		for _, m := range root.Get(group).Members() {
			if v := m.Value.Get("permissions"); v.Exists() {
				p.fail(v, JoinKey(group, m.Key, "permissions"), "%s", why)
			}
		}
	}
}

// servers reads the mcp object: plain entries, and the newer mcp.servers, of which an older entry of the same name wins.
func (p *openCodeParser) servers(mcp jsonc.Value) {
	if !mcp.Exists() {
		return
	}
	if mcp.Kind() != jsonc.Object {
		p.fail(mcp, "mcp", "mcp is %s, not an object", typeWord(mcp))
		return
	}
	newer := mcp.Get("servers")
	nested := newer.Kind() == jsonc.Object && !openCodeLooksLikeEntry(newer)
	timeouts := mcp.Get("timeout")
	settings := timeouts.Kind() == jsonc.Object && !openCodeLooksLikeEntry(timeouts) && openCodeTimeouts(timeouts) &&
		(timeouts.Len() == 0 || timeouts.Get("startup").Exists() || timeouts.Get("catalog").Exists() || timeouts.Get("execution").Exists())

	members := mcp.Members()
	twice := duplicates(members)
	have := make(map[string]bool, len(members))
	for _, m := range members {
		if m.Shadowed || m.Key == "servers" && nested || m.Key == "timeout" && settings {
			continue
		}
		have[m.Key] = true
		e := p.entry(m, "mcp."+JoinKey(m.Key))
		p.finish(&e, m, twice)
	}
	if !nested {
		return
	}
	members = newer.Members()
	twice = duplicates(members)
	for _, m := range members {
		if m.Shadowed || have[m.Key] {
			continue
		}
		e := p.nestedEntry(m, "mcp.servers."+JoinKey(m.Key))
		p.finish(&e, m, twice)
	}
}

// openCodeLooksLikeEntry tells whether an object under a reserved name is a server of that name after all.
func openCodeLooksLikeEntry(v jsonc.Value) bool {
	for _, key := range []string{"type", "enabled"} {
		if x := v.Get(key); x.Exists() && x.Kind() != jsonc.Object {
			return true
		}
	}
	return false
}

// finish adds what a user should know of an entry, and keeps it.
func (p *openCodeParser) finish(e *openCodeEntry, m jsonc.Member, twice map[string]int) {
	if _, ok := twice[m.Key]; ok {
		e.findings = append(e.findings, duplicateFinding(m.Key, e.at.Line))
	}
	var seen []string
	for _, s := range p.text.within(m.KeyOffset, m.Value.End()) {
		if s.unset && !slices.Contains(seen, s.name) {
			seen = append(seen, s.name)
			shown := s.name
			if !plainVariable.MatchString(shown) { // it may have run on over anything up to a brace
				shown = "{env:…}"
			}
			e.findings = append(e.findings, unsetFinding(shown, "it reads as empty text", p.text.line(s.start)))
		}
	}
	files := p.out.files
	first := sort.Search(len(files), func(i int) bool { return files[i].offset >= m.KeyOffset })
	for _, ref := range files[first:] {
		if ref.offset >= m.Value.End() {
			break
		}
		e.findings = append(e.findings, model.Finding{Code: model.FindingReferencedFile, Severity: model.Info, Line: ref.at.Line,
			Text: "{file:} brings in a file, which is read at a launch only: " + model.Tilde(ref.shown, p.home)})
	}
	p.out.entries = append(p.out.entries, *e)
}

// entry reads one plain entry. One that has a mark of the newer shape is translated first, if it fits that shape.
func (p *openCodeParser) entry(m jsonc.Member, key string) openCodeEntry {
	e := p.newEntry(m, key)
	v := m.Value
	if v.Kind() == jsonc.Object && openCodeNewer(v) && p.translate(&e, v, key) {
		return e
	}
	return p.plain(e, v, key)
}

func (p *openCodeParser) newEntry(m jsonc.Member, key string) openCodeEntry {
	at := p.text.at(key, m.KeyOffset)
	at.Column = 0
	return openCodeEntry{name: m.Key, at: at}
}

// openCodeNewer tells whether an entry has a key of the newer shape.
func openCodeNewer(v jsonc.Value) bool {
	if v.Get("disabled").Exists() || v.Get("codemode").Exists() {
		return true
	}
	if k := v.Get("timeout").Kind(); k == jsonc.Object || k == jsonc.Array || k == jsonc.Null {
		return true
	}
	for _, key := range []string{"client_id", "client_secret", "callback_port", "redirect_uri"} {
		if v.Get("oauth").Get(key).Exists() {
			return true
		}
	}
	return false
}

// nestedEntry reads an entry of mcp.servers. One that fits neither shape is left out without a word.
func (p *openCodeParser) nestedEntry(m jsonc.Member, key string) openCodeEntry {
	e := p.newEntry(m, key)
	v := m.Value
	if _, ok := v.Get("enabled").Bool(); ok && !v.Get("disabled").Exists() {
		return p.plain(e, v, key)
	}
	if !p.translate(&e, v, key) {
		e.skipped = "it does not fit the shape of mcp.servers"
		if v.Kind() == jsonc.Object {
			if bad, why := p.misfit(v, openCodeNewShape(v)); why != "" {
				e.skipped += fmt.Sprintf(" (line %d: %s)", p.text.line(bad.Offset()), why)
			}
		}
	}
	return e
}

// plain reads an entry of the older shape: local or remote in full, or else enabled alone. What fits none of these refuses
// the file.
func (p *openCodeParser) plain(e openCodeEntry, v jsonc.Value, key string) openCodeEntry {
	if v.Kind() != jsonc.Object {
		p.fail(v, key, "the entry %s is %s, not an object", quoted(e.name), typeWord(v))
		return e
	}
	bad, why := p.misfit(v, openCodeOldShape(v))
	if enabled := v.Get("enabled"); enabled.Kind() == jsonc.Bool {
		on, _ := enabled.Bool()
		e.enabled, e.enabledAt = &on, p.text.at(key+".enabled", enabled.Offset())
	} else if why != "" {
		p.fail(bad, key, "the entry %s is invalid: %s", quoted(e.name), why)
		p.bestEffort(&e, v)
		return e
	}
	if why != "" {
		if v.Len() > 1 {
			e.findings = append(e.findings, model.Finding{Code: model.FindingPartialEntry, Severity: model.Warning, Line: p.text.line(bad.Offset()),
				Text: fmt.Sprintf("only enabled counts here, all other keys are dropped: %s", why)})
		}
		return e
	}
	p.fields(&e, v)
	p.unknownKeys(&e, v)
	return e
}

// translate reads an entry of the newer shape; false when it does not fit.
func (p *openCodeParser) translate(e *openCodeEntry, v jsonc.Value, key string) bool {
	if v.Kind() != jsonc.Object {
		return false
	}
	if _, why := p.misfit(v, openCodeNewShape(v)); why != "" {
		return false
	}
	disabled, _ := v.Get("disabled").Bool()
	on := !disabled
	e.enabledAt = p.text.at(key, v.Offset())
	if d := v.Get("disabled"); d.Exists() {
		e.enabledAt = p.text.at(key+".disabled", d.Offset())
	}
	if old := v.Get("enabled"); old.Exists() {
		// The older key wins over the newer one; the result must still be valid.
		b, ok := old.Bool()
		if !ok {
			p.fail(old, key+".enabled", "the entry %s is invalid: enabled is %s", quoted(e.name), typeWord(old))
		}
		on, e.enabledAt = b, p.text.at(key+".enabled", old.Offset())
	}
	e.enabled = &on
	p.fields(e, v)
	p.unknownKeys(e, v)
	return true
}

// fields fills in a valid entry of either shape.
func (p *openCodeParser) fields(e *openCodeEntry, v jsonc.Value) {
	e.typ, _ = v.Get("type").Str()
	if ms := v.Get("timeout"); ms.Kind() == jsonc.Number {
		d := time.Duration(openCodeNumber(ms)) * time.Millisecond
		e.timeout = &d
	}
	if e.typ == "local" {
		e.command = p.texts(v.Get("command"))
		if dir := v.Get("cwd"); dir.Exists() {
			text := p.text.written(dir)
			e.cwd = &text
		}
		e.environment = p.variables(v.Get("environment"))
		return
	}
	e.url = p.text.written(v.Get("url"))
	e.headers = p.variables(v.Get("headers"))
	if o := v.Get("oauth"); o.Exists() {
		e.oauth = o.Kind()
	}
}

// bestEffort keeps what can be understood of an entry that refuses the file.
func (p *openCodeParser) bestEffort(e *openCodeEntry, v jsonc.Value) {
	switch typ, _ := v.Get("type").Str(); typ {
	case "local":
		if _, ok := v.Get("command").Strings(); ok {
			e.typ, e.command = typ, p.texts(v.Get("command"))
		}
	case "remote":
		if _, ok := v.Get("url").Str(); ok {
			e.typ, e.url = typ, p.text.written(v.Get("url"))
		}
	}
}

func (p *openCodeParser) texts(v jsonc.Value) []string {
	elements := v.Elements()
	out := make([]string, len(elements))
	for i, x := range elements {
		out[i] = p.text.written(x)
	}
	return out
}

func (p *openCodeParser) variables(v jsonc.Value) []model.Variable {
	var out []model.Variable
	for _, m := range v.Members() {
		if !m.Shadowed {
			out = append(out, model.Variable{Name: m.Key, Value: model.NewSecret(p.text.written(m.Value))})
		}
	}
	return out
}

// openCodeKeys are the keys of a plain entry by type.
var openCodeKeys = map[string][]string{
	"local":  {"type", "command", "cwd", "environment", "enabled", "timeout", "disabled", "codemode"},
	"remote": {"type", "url", "headers", "oauth", "enabled", "timeout", "disabled", "codemode"},
}

// openCodeOtherNames are keys of other harnesses for what OpenCode calls differently.
var openCodeOtherNames = map[string]string{
	"env": "environment", "args": "command, a list with the arguments", "serverUrl": "url", "httpUrl": "url",
}

func (p *openCodeParser) unknownKeys(e *openCodeEntry, v jsonc.Value) {
	for _, m := range v.Members() {
		if m.Shadowed || slices.Contains(openCodeKeys[e.typ], m.Key) {
			continue
		}
		f := model.Finding{Code: model.FindingUnknownKey, Severity: model.Info, Line: p.text.line(m.KeyOffset),
			Text: quotedKey(m.Key) + " is not read by OpenCode in a " + e.typ + " entry"}
		if name, ok := openCodeOtherNames[m.Key]; ok {
			f.Severity = model.Warning
			f.Text = fmt.Sprintf("%s is not read by OpenCode: its key is %s", m.Key, name)
		}
		e.findings = append(e.findings, f)
	}
	if e.typ == "local" && len(e.command) == 0 {
		e.findings = append(e.findings, model.Finding{Code: model.FindingWrongType, Severity: model.Warning, Line: p.text.line(v.Get("command").Offset()),
			Text: "command is an empty list: there is nothing to start"})
	}
}

// openCodeNumber reads a JSON number as JavaScript does.
func openCodeNumber(v jsonc.Value) float64 {
	raw, _ := v.Number()
	n, _ := strconv.ParseFloat(raw, 64)
	return n
}

func openCodeInteger(low, high float64) func(jsonc.Value) bool {
	return func(v jsonc.Value) bool {
		n := openCodeNumber(v)
		return v.Kind() == jsonc.Number && n == math.Trunc(n) && n >= low && n <= high
	}
}

const maxSafeInteger = 1<<53 - 1

// openCodeTimeouts tells whether a value is the newer shape's object of limits.
func openCodeTimeouts(v jsonc.Value) bool {
	if v.Kind() != jsonc.Object {
		return false
	}
	for _, key := range []string{"startup", "catalog", "execution"} {
		if x := v.Get(key); x.Exists() && !openCodeInteger(1, maxSafeInteger)(x) {
			return false
		}
	}
	return true
}

// openCodeOAuth checks the oauth settings of a remote entry; false switches OAuth off.
func openCodeOAuth(port string, texts ...string) func(jsonc.Value) bool {
	return func(v jsonc.Value) bool {
		if b, ok := v.Bool(); ok {
			return !b
		}
		if v.Kind() != jsonc.Object {
			return false
		}
		for _, key := range texts {
			if x := v.Get(key); x.Exists() && x.Kind() != jsonc.String {
				return false
			}
		}
		x := v.Get(port)
		return !x.Exists() || openCodeInteger(1, 65535)(x)
	}
}

// openCodeOldShape returns the checks of a complete older entry; nil when its type is neither local nor remote.
func openCodeOldShape(v jsonc.Value) []valueCheck {
	ms := valueCheck{"timeout", false, "a whole number of milliseconds above 0", openCodeInteger(1, maxSafeInteger)}
	on := valueCheck{"enabled", false, "true or false", isKind(jsonc.Bool)}
	oauth := openCodeOAuth("callbackPort", "clientId", "clientSecret", "scope", "redirectUri")
	return openCodeShape(v, oauth, on, ms)
}

// openCodeNewShape is the same for the shape of OpenCode 2.
func openCodeNewShape(v jsonc.Value) []valueCheck {
	oauth := openCodeOAuth("callback_port", "client_id", "client_secret", "scope", "redirect_uri")
	return openCodeShape(v, oauth,
		valueCheck{"disabled", false, "true or false", isKind(jsonc.Bool)},
		valueCheck{"codemode", false, "true or false", isKind(jsonc.Bool)},
		valueCheck{"timeout", false, "an object of limits", openCodeTimeouts})
}

func openCodeShape(v jsonc.Value, oauth func(jsonc.Value) bool, rest ...valueCheck) []valueCheck {
	switch typ, _ := v.Get("type").Str(); typ {
	case "local":
		return append([]valueCheck{
			{"command", true, "a list of texts", isTextList},
			{"cwd", false, "a text", isKind(jsonc.String)},
			{"environment", false, "an object of texts", isTextMap},
		}, rest...)
	case "remote":
		return append([]valueCheck{
			{"url", true, "a text", isKind(jsonc.String)},
			{"headers", false, "an object of texts", isTextMap},
			{"oauth", false, "false or an object of settings", oauth},
		}, rest...)
	}
	return nil
}

// misfit names the first value that does not fit a shape; why is empty when all do.
func (p *openCodeParser) misfit(v jsonc.Value, shape []valueCheck) (bad jsonc.Value, why string) {
	if shape == nil {
		typ := v.Get("type")
		if typ.Kind() == jsonc.String {
			return typ, "unknown type " + quoted(p.text.written(typ)) + ", it must be local or remote"
		}
		if typ.Exists() {
			return typ, "type is " + typeWord(typ)
		}
		return v, "it has no type (local or remote)"
	}
	return misfit(v, shape)
}

// settings checks what else stands at the top level: one value of a wrong kind refuses the file as well. Only the outer
// shape of large settings is looked at.
func (p *openCodeParser) settings(root jsonc.Value) {
	for _, m := range root.Members() {
		check, known := openCodeSettings[m.Key]
		if m.Shadowed || !known || check.fits(m.Value) {
			continue
		}
		p.fail(m.Value, m.Key, "%s must be %s", m.Key, check.what)
	}
}

func openCodeAny(fits ...func(jsonc.Value) bool) func(jsonc.Value) bool {
	return func(v jsonc.Value) bool {
		return slices.ContainsFunc(fits, func(f func(jsonc.Value) bool) bool { return f(v) })
	}
}

func openCodeModel(v jsonc.Value) bool {
	_, provider := v.Get("providerID").Str()
	_, name := v.Get("model").Str()
	return v.Kind() == jsonc.String || provider && name
}

func openCodeSwitches(v jsonc.Value) bool {
	for _, m := range v.Members() {
		if !m.Shadowed && m.Value.Kind() != jsonc.Bool {
			return false
		}
	}
	return v.Kind() == jsonc.Object
}

var openCodeSettings = func() map[string]valueCheck {
	text := valueCheck{what: "a text", fits: isKind(jsonc.String)}
	texts := valueCheck{what: "a list of texts", fits: isTextList}
	flag := valueCheck{what: "true or false", fits: isKind(jsonc.Bool)}
	list := valueCheck{what: "a list", fits: isKind(jsonc.Array)}
	object := valueCheck{what: "an object", fits: isKind(jsonc.Object)}
	flagOrObject := valueCheck{what: "true, false or an object", fits: openCodeAny(isKind(jsonc.Bool), isKind(jsonc.Object))}
	return map[string]valueCheck{
		"$schema": text, "shell": text, "small_model": text, "default_agent": text, "username": text,
		"snapshot": flag, "autoshare": flag,
		"disabled_providers": texts, "enabled_providers": texts, "instructions": texts,
		"plugin": list,
		"server": object, "command": object, "references": object, "reference": object, "watcher": object, "mode": object,
		"agent": object, "provider": object, "attachment": object, "enterprise": object, "tool_output": object,
		"compaction": object, "experimental": object,
		"formatter": flagOrObject, "lsp": flagOrObject,
		"skills":         {what: "an object or a list of texts", fits: openCodeAny(isKind(jsonc.Object), isTextList)},
		"tools":          {what: "an object of true and false", fits: openCodeSwitches},
		"model":          {what: "a text", fits: openCodeModel},
		"share":          {what: "manual, auto or disabled", fits: isWord("manual", "auto", "disabled")},
		"layout":         {what: "auto or stretch", fits: isWord("auto", "stretch")},
		"logLevel":       {what: "DEBUG, INFO, WARN or ERROR", fits: isWord("DEBUG", "INFO", "WARN", "ERROR")},
		"autoupdate":     {what: "true, false or notify", fits: openCodeAny(isKind(jsonc.Bool), isWord("notify"))},
		"permission":     {what: "ask, allow, deny or an object", fits: openCodeAny(isWord("ask", "allow", "deny"), isKind(jsonc.Object))},
		"subagent_depth": {what: "a whole number from 0", fits: openCodeInteger(0, maxSafeInteger)},
	}
}()

// openCodeServer is one name over all layers.
type openCodeServer struct {
	name   string
	layers []int // that give an entry, lowest first
	entry  []*openCodeEntry
}

// cells merges the layers name by name.
func (o *openCodeResolve) cells() []*model.Cell {
	index := map[string]int{}
	var servers []openCodeServer
	for i := range o.layers {
		entries := o.layers[i].parsed.entries
		for j := range entries {
			e := &entries[j]
			at, ok := index[e.name]
			if !ok {
				at = len(servers)
				index[e.name] = at
				servers = append(servers, openCodeServer{name: e.name})
			}
			servers[at].layers = append(servers[at].layers, i)
			servers[at].entry = append(servers[at].entry, e)
		}
	}
	o.servers = servers
	filter := o.toolFilter()
	out := make([]*model.Cell, 0, len(servers))
	for i := range servers {
		c := o.cell(&servers[i])
		c.Filter = filter
		out = append(out, c)
	}
	return out
}

// toolFilter joins the rules of all layers that hide tools: "tools" first, then "permission", which wins where both name
// the same pattern. A pattern keeps the place where it first stood. nil when nothing is hidden.
func (o *openCodeResolve) toolFilter() *model.ToolFilter {
	var rules []openCodeToolRule
	add := func(list []openCodeToolRule) {
		for _, r := range list {
			if i := slices.IndexFunc(rules, func(have openCodeToolRule) bool { return have.pattern == r.pattern }); i >= 0 {
				rules[i] = r
			} else {
				rules = append(rules, r)
			}
		}
	}
	for i := range o.layers {
		add(o.layers[i].parsed.tools)
	}
	for i := range o.layers {
		add(o.layers[i].parsed.allows)
	}
	f := &model.ToolFilter{}
	for _, r := range rules {
		if r.hides {
			f.Deny = append(f.Deny, r.pattern)
			if strings.Contains(r.pattern, "_") || strings.Contains(r.pattern, "*") {
				o.notes = append(o.notes, model.Note{Code: "tools-hidden", Path: r.at.Path, Line: r.at.Line,
					Text: fmt.Sprintf("tools whose shown name fits %s are hidden; servers are not switched off by that", quoted(r.pattern))})
			}
			f.At = r.at
		} else {
			f.Deny = append(f.Deny, "!"+r.pattern)
		}
	}
	if f.At.IsZero() {
		return nil
	}
	return f
}

// openCodeDrops tells whether the last rule that fits a tool's shown name hides it; "!" marks a rule that shows.
func openCodeDrops(f *model.ToolFilter, server, tool string) bool {
	name := joinToolName("", "_")(server, tool)
	for _, rule := range slices.Backward(f.Deny) {
		pattern, shows := strings.CutPrefix(rule, "!")
		if matchStars(pattern, name) {
			return !shows
		}
	}
	return false
}

// fillOpenCode fills in {env:NAME} and {file:path} in one text of an entry. A variable's text goes in as it is, before the
// JSON around it is read, so a backslash in it is an escape; a file's is trimmed and cannot be one.
func fillOpenCode(env *Env, e *model.Entry, _ TextPart, text string) (string, []string) {
	if !strings.Contains(text, "{env:") {
		return text, nil
	}
	var unset []string
	inner := func(s string) string { q := jsonc.Quote(s); return q[1 : len(q)-1] }
	var b strings.Builder
	last := 0
	for _, m := range openCodeVariable.FindAllStringSubmatchIndex(text, -1) {
		b.WriteString(inner(text[last:m[0]]))
		value := env.Var(text[m[2]:m[3]])
		if value == "" {
			unset = append(unset, text[m[2]:m[3]])
		}
		b.WriteString(value)
		last = m[1]
	}
	b.WriteString(inner(text[last:]))
	filled := b.String()
	doc, err := jsonc.Parse([]byte(`"`+filled+`"`), jsonc.Options{ReplaceInvalidUTF8: true})
	if err != nil {
		return filled, unset
	}
	s, _ := doc.Root().Str()
	return s, unset
}

// fillOpenCodeFiles replaces {file:PATH} by what the file holds, without blanks round it. A path is relative to the file
// that the entry stands in.
func fillOpenCodeFiles(env *Env, e *model.Entry, text string) (string, []string) {
	var unset []string
	filled := openCodeFileReference.ReplaceAllStringFunc(text, func(ref string) string {
		path := ref[len("{file:") : len(ref)-1]
		if rest, ok := strings.CutPrefix(path, "~/"); ok {
			path = env.InHome(rest)
		}
		if !filepath.IsAbs(path) {
			path = filepath.Join(filepath.Dir(e.Source.Path), path)
		}
		info, err := os.Stat(path)
		if err != nil {
			unset = append(unset, ref)
			return ""
		}
		data, err := readRegular(path, info)
		if err != nil {
			unset = append(unset, ref)
			return ""
		}
		return trimJS(strings.ToValidUTF8(string(data), "\ufffd"))
	})
	return filled, unset
}

// openCodeMerged is an entry after merging: for each value the layer that gave it, -1 for none.
type openCodeMerged struct {
	typ         string
	typBy       int
	cwd         *string
	cwdBy       int
	environment []model.Variable
	envBy       []int
	headers     []model.Variable
	headersBy   []int
	command     []string
	url         string
	oauth       jsonc.Kind
	oauthBy     int
	timeout     *time.Duration
	timeoutBy   int
	enabled     *bool
	enabledBy   int
}

// merge lays the entries of one name over each other, key by key: objects are joined, lists are replaced, keys of the
// other type stay and do nothing.
func (s *openCodeServer) merge() openCodeMerged {
	m := openCodeMerged{typBy: -1, cwdBy: -1, oauthBy: -1, timeoutBy: -1, enabledBy: -1}
	join := func(vars []model.Variable, by []int, more []model.Variable, layer int) ([]model.Variable, []int) {
		for _, v := range more {
			if i := slices.IndexFunc(vars, func(have model.Variable) bool { return have.Name == v.Name }); i >= 0 {
				vars[i], by[i] = v, layer
			} else {
				vars, by = append(vars, v), append(by, layer)
			}
		}
		return vars, by
	}
	for i, e := range s.entry {
		if e.skipped != "" {
			continue
		}
		if e.enabled != nil {
			m.enabled, m.enabledBy = e.enabled, i
		}
		if e.typ == "" {
			continue
		}
		m.typ, m.typBy = e.typ, i
		if e.timeout != nil {
			m.timeout, m.timeoutBy = e.timeout, i
		}
		if e.typ == "local" {
			m.command = e.command
			if e.cwd != nil {
				m.cwd, m.cwdBy = e.cwd, i
			}
			m.environment, m.envBy = join(m.environment, m.envBy, e.environment, i)
		} else {
			m.url = e.url
			m.headers, m.headersBy = join(m.headers, m.headersBy, e.headers, i)
			if e.oauth != jsonc.Invalid {
				m.oauth, m.oauthBy = e.oauth, i
			}
		}
	}
	return m
}

// gives tells which entries of the name give something that counts.
func (m *openCodeMerged) gives(n int) []bool {
	out := make([]bool, n)
	mark := func(by ...int) {
		for _, i := range by {
			if i >= 0 {
				out[i] = true
			}
		}
	}
	mark(m.typBy, m.timeoutBy, m.enabledBy)
	if m.typ == "local" {
		mark(m.cwdBy)
		mark(m.envBy...)
	} else {
		mark(m.oauthBy)
		mark(m.headersBy...)
	}
	return out
}

func (m *openCodeMerged) definition() *model.Definition {
	d := &model.Definition{}
	if m.timeout != nil {
		d.StartTimeout = *m.timeout
	}
	switch m.typ {
	case "local":
		d.Transport = model.TransportStdio
		if len(m.command) > 0 {
			d.Command, d.Args = m.command[0], model.Secrets(m.command[1:])
		}
		if m.cwd != nil {
			d.Cwd = *m.cwd
		}
		d.Env = m.environment
	case "remote":
		d.Transport = model.TransportHTTP // streamable first, then SSE
		d.URL, d.Headers = model.NewSecret(m.url), m.headers
	default:
		return nil
	}
	return d
}

func (o *openCodeResolve) cell(s *openCodeServer) *model.Cell {
	m := s.merge()
	gives := m.gives(len(s.entry))
	source := m.typBy
	if source < 0 { // no definition: the highest entry that counts, else the highest
		source = len(s.entry) - 1
		if m.enabledBy >= 0 {
			source = m.enabledBy
		}
	}
	layer := func(i int) *openCodeLayer { return &o.layers[s.layers[i]] }
	e := s.entry[source]
	out := cell(model.Entry{Name: s.name, Scope: layer(source).scope, Source: e.at, Definition: m.definition()}, model.DecisionLoads, model.Reason{})
	out.Findings = append(out.Findings, e.findings...)
	for i, other := range slices.Backward(s.entry) { // the highest that it beat first
		if i == source {
			continue
		}
		if other.skipped != "" {
			out.Pending = append(out.Pending, model.Pending{State: model.StateError, Reason: o.skipped(other),
				Entry: model.Entry{Name: s.name, Scope: layer(i).scope, Source: other.at, Findings: other.findings}})
			continue
		}
		out.Replaces = append(out.Replaces, model.Replaced{Scope: layer(i).scope, Source: other.at, Merged: gives[i]})
		if gives[i] || other.typ == "" {
			for _, f := range other.findings {
				f.Line = 0 // of another file than the entry's
				f.Text += " (" + o.tilde(other.at.Path) + ")"
				out.Findings = append(out.Findings, f)
			}
		}
	}
	o.decide(out, s, &m, source)
	for i := range s.entry {
		if f, ok := o.repository(s, &m, i, i == source, gives[i]); ok && !slices.Contains(out.Findings, f) {
			out.Findings = append(out.Findings, f)
		}
	}
	out.Capabilities = o.capabilities(out, s, &m)
	return out
}

func (o *openCodeResolve) skipped(e *openCodeEntry) model.Reason {
	return model.Reason{Code: model.ReasonEntrySkipped, DecidedBy: e.at, Text: "OpenCode leaves this entry out: " + e.skipped}
}

// decide sets decision and reason of a merged entry.
func (o *openCodeResolve) decide(out *model.Cell, s *openCodeServer, m *openCodeMerged, source int) {
	e := s.entry[source]
	switch {
	case o.broken != nil:
		out.Decision = model.DecisionCannot
		out.Reason = model.Reason{Code: model.ReasonFileRefused, Text: o.broken.Text, DecidedBy: o.broken.Location}
	case e.skipped != "":
		out.Decision, out.Reason = model.DecisionCannot, o.skipped(e)
	case m.enabled != nil && !*m.enabled:
		by := s.entry[m.enabledBy]
		out.Decision = model.DecisionOff
		out.Reason = model.Reason{Code: model.ReasonSwitchedOff, DecidedBy: by.enabledAt,
			Text: "switched off by enabled or disabled in " + o.tilde(by.at.Path)}
		if o.layers[s.layers[m.enabledBy]].scope == model.ScopeManaged {
			out.Reason.Code, out.Reason.Text = model.ReasonBlockedByPolicy, "an administrator's file switches it off: "+o.tilde(by.at.Path)
		}
	case m.typBy < 0:
		out.Decision = model.DecisionCannot
		out.Reason = model.Reason{Code: model.ReasonEntrySkipped, DecidedBy: e.at,
			Text: "no file says what to start: only enabled is set, so OpenCode leaves it out; add type and command or url"}
	}
	if m.typBy < 0 && e.skipped == "" && o.broken == nil {
		out.Findings = append(out.Findings, model.Finding{Code: model.FindingPartialEntry, Severity: model.Info, Line: e.at.Line,
			Text: "only enabled is set; the definition, if there is one, comes from an organisation's configuration, which no file shows"})
	}
}

// repository says what a file that others can change has to do with a cell: it gives the definition or a part of it, or
// switches it on.
func (o *openCodeResolve) repository(s *openCodeServer, m *openCodeMerged, i int, source, gives bool) (model.Finding, bool) {
	l := &o.layers[s.layers[i]]
	path := l.file.Path
	if l.scope == model.ScopeUser || l.scope == model.ScopeManaged || strings.HasPrefix(path, "$") || !source && !gives {
		return model.Finding{}, false
	}
	above := l.scope == model.ScopeProject && !Within(path, o.tree)
	if !above && !Within(path, o.tree) || above && filepath.Dir(path) == o.env.Home {
		return model.Finding{}, false
	}
	f := repositoryFinding()
	switch {
	case source && above:
		f.Text = "a file above this folder declares it (" + o.tilde(path) + "): outside git OpenCode reads every folder up to the root"
	case source:
	case m.enabledBy == i && *m.enabled:
		f.Text = "a file of this folder switches it on: " + o.tilde(path)
	case s.entry[i].typ == "":
		return model.Finding{}, false // it only switches off
	default:
		f.Text = "a file of this folder gives a part of it: " + o.tilde(path)
	}
	return f, true
}

func (o *openCodeResolve) capabilities(out *model.Cell, s *openCodeServer, m *openCodeMerged) model.Capabilities {
	caps := model.Capabilities{Approve: "OpenCode has no approval", Login: "not needed"}
	switch {
	case m.typ == "remote" && m.oauth == jsonc.Bool:
		caps.Login = "oauth is false in the entry"
	case m.typ == "remote":
		caps.Login = ""
	}
	switch {
	case o.broken != nil:
		caps.Toggle = "a file is refused: mend it first"
	case out.Decision == model.DecisionCannot:
		caps.Toggle = "the entry does not load: mend it first"
	case m.enabledBy >= 0 && o.layers[s.layers[m.enabledBy]].scope == model.ScopeManaged:
		caps.Toggle = "an administrator's file decides"
	case m.enabledBy >= 0 && strings.HasPrefix(s.entry[m.enabledBy].at.Path, "$"):
		caps.Toggle = s.entry[m.enabledBy].at.Path + " decides, and no file beats it"
	}
	return caps
}

// strayFiles notes files that look right and are not read.
func (o *openCodeResolve) strayFiles() {
	stray := func(path string, scope model.Scope) {
		if o.r.Ignored(path, scope, "not read by OpenCode") {
			o.notes = append(o.notes, model.Note{Code: string(model.FindingFileNotRead), Path: path, Line: 1,
				Text: o.tilde(path) + " is not read by OpenCode: its files are opencode.json and opencode.jsonc"})
		}
	}
	stray(filepath.Join(o.start, ".opencode.json"), model.ScopeProject)
	for _, name := range []string{"config.json", "mcp.json"} {
		stray(filepath.Join(o.start, ".opencode", name), model.ScopeProject)
	}
	stray(filepath.Join(o.globalDir(), "mcp.json"), model.ScopeUser)
	stray(o.env.InHome(".opencode.json"), model.ScopeUser)
	for _, name := range []string{"opencode.json", "opencode.jsonc"} {
		// Outside git, and with home on the way up, it is read as a project file.
		stray(o.env.InHome(name), model.ScopeUser)
	}
}

func (o *openCodeResolve) tilde(path string) string { return model.Tilde(path, o.env.Home) }
