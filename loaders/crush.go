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

// crushCLI is the registry row of Crush. Its own load functions were run at 0.90.0; what happens when it connects was read in
// its source.
func crushCLI() Harness {
	return Harness{
		Harness: model.Harness{
			ID: "crush", Title: "Crush", Heading: "Crush", Verified: model.VerifiedRun, VersionChecked: "0.90.0",
			BlindSpots: []model.BlindSpot{
				{Code: "shell-config", Text: "what a crushrc or .crushrc sets: they are programs, which fusebox never runs"},
				{Code: "shell-values", Text: "what $(command) in a value gives: it is never run"},
				{Code: "session-flags", Text: "--data-dir of one session"},
				{Code: "sign-in", Text: "whether a remote server asks for a sign-in"},
			},
		},
		Resolve: resolveCrush,
		Launch: LaunchRules{
			Class: EnvironmentFull,
			Fill: func(env *Env, _ *model.Entry, _ TextPart, text string) (string, []string) {
				return crushFill(env, text)
			},
			ToolName: joinToolName("mcp_", "_"),
		},
		Sessions: SessionRules{Programs: []string{"crush"}, Packages: []string{"@charmland/crush"}, Not: []string{"login", "logs", "models", "schema", "dirs", "update-providers"}, Reload: "restart Crush there"},
		Toggle:   toggleCrush,
	}
}

// crushFormat is how its files are edited.
var crushFormat = Format{JSON: jsonc.Strict}

// crush is one resolve of Crush.
type crush struct {
	plainResolve
	start  string
	layers []crushLayer // the lowest first
	result Result
	by     map[string]*ConfigFile // the file that a server's switch belongs into
}

// crushLayer is one file that takes part in the merge.
type crushLayer struct {
	file *ConfigFile
	mcp  jsonc.Value
}

// crushPart is what one file says of a server.
type crushPart struct {
	crushLayer
	member jsonc.Member
	value  jsonc.Value
}

func resolveCrush(env *Env, r *Reader) Result { return crushOf(env, r).result }

func crushOf(env *Env, r *Reader) *crush {
	return keepResolve(r, "crush", func() *crush {
		c := &crush{plainResolve: plainResolve{env: env, r: r, title: "Crush"}, start: r.RealPath(env.Project), by: map[string]*ConfigFile{}}
		c.resolve()
		return c
	})
}

// crushGlobal are the folders of the user's file and of the program's own, in which it stores tokens and switches.
func crushGlobal(env *Env) (config, data string) {
	config = filepath.Join(env.ConfigHome(), "crush")
	if dir := env.Var("CRUSH_GLOBAL_CONFIG"); dir != "" {
		config = filepath.Clean(dir)
	}
	switch dir := env.Var("CRUSH_GLOBAL_DATA"); {
	case dir != "":
		return config, filepath.Clean(dir)
	case env.GOOS != "windows" || env.Var("XDG_DATA_HOME") != "":
		return config, filepath.Join(env.DataHome(), "crush")
	case env.Var("LOCALAPPDATA") != "":
		return config, filepath.Join(env.Var("LOCALAPPDATA"), "crush")
	}
	return config, env.InHome("AppData/Local/crush")
}

func (c *crush) resolve() {
	config, data := crushGlobal(c.env)
	if c.env.GOOS != "windows" {
		c.read(c.env.System("/etc/crush/crush.json"), model.ScopeSystem)
	}
	c.read(filepath.Join(config, "crush.json"), model.ScopeUser)
	c.shell(filepath.Join(config, "crushrc"), model.ScopeUser)
	c.read(filepath.Join(data, "crush.json"), model.ScopeUser)
	dirs := []string{c.start}
	above := Ancestors(c.start)
	if root := gitRoot(c.r, c.start); root != "" {
		if i := slices.Index(above, root); i >= 0 {
			dirs = above[:i+1]
		}
	}
	for _, dir := range slices.Backward(dirs) {
		c.read(filepath.Join(dir, "crush.json"), model.ScopeProject)
		c.read(filepath.Join(dir, ".crush.json"), model.ScopeProject)
		c.shell(filepath.Join(dir, "crushrc"), model.ScopeProject)
		c.shell(filepath.Join(dir, ".crushrc"), model.ScopeProject)
	}
	workspace := c.start
	for _, dir := range dirs {
		if c.r.IsDir(filepath.Join(dir, ".crush")) {
			workspace = dir
			break
		}
	}
	c.read(joinPath(workspace, ".crush/crush.json"), model.ScopeLocal)
	c.result = c.plainResolve.result(c.merged(), c.r.IsDir(config) || c.r.IsDir(data))
}

// read adds a file to the merge. A file that is no JSON, or whose servers do not fit, breaks the whole load; an empty one is
// none.
func (c *crush) read(path string, scope model.Scope) {
	for _, l := range c.layers {
		if l.file.Path == filepath.Clean(path) {
			return
		}
	}
	f := c.r.ReadJSON(path, scope, 0, jsonc.Strict)
	switch {
	case f.Status == model.FileAbsent:
		return
	case f.Data != nil && len(f.Data) == 0:
		c.r.Mark(f, model.FileRead, "empty")
		return
	case f.Status != model.FileRead:
		c.fatal(f, f.Location(), model.Clean(f.Note))
		lost := f
		if f.Status == model.FileMalformed {
			lost = c.r.Recover(f)
		}
		c.layers = append(c.layers, crushLayer{lost, lost.Root().Get("mcp")})
		return
	}
	root := f.Root()
	mcp := root.Get("mcp")
	c.layers = append(c.layers, crushLayer{f, mcp})
	switch {
	case root.Kind() != jsonc.Object:
		c.refuse(f, f.At("", root), "the top level is "+typeWord(root)+", not an object")
	case mcp.Exists() && mcp.Kind() != jsonc.Object && mcp.Kind() != jsonc.Null:
		c.refuse(f, f.At("mcp", mcp), "mcp is "+typeWord(mcp)+", not an object")
	default:
		for _, m := range mcp.Members() {
			if bad, why := misfit(m.Value, crushShape); why != "" && !m.Shadowed {
				c.refuse(f, f.At(JoinKey("mcp", m.Key), bad), quoted(m.Key)+": "+why)
				return
			}
			if k := m.Value.Kind(); k != jsonc.Object && k != jsonc.Null && !m.Shadowed {
				c.refuse(f, f.At(JoinKey("mcp", m.Key), m.Value), quoted(m.Key)+" is "+typeWord(m.Value)+", not an object")
				return
			}
		}
		c.wrongKeys(f, "mcp")
	}
}

func (c *crush) refuse(f *ConfigFile, at model.Location, why string) {
	c.r.Refuse(f, at, why)
	c.fatal(f, at, why)
}

func (c *crush) fatal(f *ConfigFile, at model.Location, why string) {
	if c.broken == nil {
		c.broken = &model.Problem{Location: at, Text: fmt.Sprintf("Crush does not start because of %s: %s", c.tilde(f.Path), why)}
	}
}

// shell reports a configuration that is a program.
func (c *crush) shell(path string, scope model.Scope) {
	if c.r.Ignored(path, scope, "a shell script, which fusebox never runs") {
		c.notes = append(c.notes, model.Note{Code: "not-evaluated", Path: path, Line: 1,
			Text: c.tilde(path) + " is a program that Crush runs to get settings, servers among them: it is not evaluated here"})
	}
}

func orNull(check func(jsonc.Value) bool) func(jsonc.Value) bool {
	return func(v jsonc.Value) bool { return v.Kind() == jsonc.Null || check(v) }
}

// crushShape are the types of the keys of a server: one that does not fit stops the whole load.
var crushShape = []valueCheck{
	{"command", false, "a text", orNull(isText)}, {"args", false, "a list of texts", orNull(isTextList)}, {"env", false, "an object of texts", orNull(isTextMap)},
	{"type", false, "a text", orNull(isText)}, {"url", false, "a text", orNull(isText)}, {"headers", false, "an object of texts", orNull(isTextMap)},
	{"disabled", false, "true or false", orNull(isFlag)}, {"disabled_tools", false, "a list of texts", orNull(isTextList)},
	{"enabled_tools", false, "a list of texts", orNull(isTextList)}, {"timeout", false, "a whole number of seconds", orNull(isWholeNumber)},
	{"oauth", false, "true or false", orNull(isFlag)},
}

func isWholeNumber(v jsonc.Value) bool {
	raw, ok := v.Number()
	_, err := strconv.Atoi(raw)
	return ok && err == nil
}

// merged makes the cells: maps of all files are merged key by key, lists are joined, the last single value counts.
func (c *crush) merged() []*model.Cell {
	parts := map[string][]crushPart{}
	var order []string
	for _, l := range c.layers {
		for _, m := range l.mcp.Members() {
			if m.Shadowed {
				continue
			}
			if parts[m.Key] == nil {
				order = append(order, m.Key)
			}
			parts[m.Key] = append(parts[m.Key], crushPart{l, m, m.Value})
		}
	}
	var cells []*model.Cell
	for _, name := range order {
		if cell := c.mergedCell(name, parts[name]); cell != nil {
			cells = append(cells, cell)
		}
	}
	return cells
}

func (c *crush) mergedCell(name string, parts []crushPart) *model.Cell {
	last := func(key string) (jsonc.Value, int) {
		for i, p := range slices.Backward(parts) {
			if v := p.value.Get(key); v.Exists() && v.Kind() != jsonc.Null {
				return v, i
			}
		}
		return jsonc.Value{}, -1
	}
	list := func(key string) (out []string) {
		for _, p := range parts {
			items, _ := p.value.Get(key).Strings()
			out = append(out, items...)
		}
		return out
	}
	table := func(key string) []model.Variable {
		all := map[string]string{}
		for _, p := range parts {
			vars, _ := stringMap(p.value.Get(key))
			for _, v := range vars {
				all[v.Name] = v.Value.Reveal()
			}
		}
		return model.Variables(all)
	}
	command, commandAt := last("command")
	url, urlAt := last("url")
	typ, typeAt := last("type")
	source := max(commandAt, urlAt)
	if source < 0 && typeAt < 0 && slices.ContainsFunc(parts, func(p crushPart) bool { return p.value.Get("oauth_token").Exists() }) {
		return nil // a token that was left behind
	}
	if source < 0 {
		source = len(parts) - 1
	}
	main := parts[source]
	key := JoinKey("mcp", name)
	e := model.Entry{Name: name, Scope: main.file.Scope, Source: main.file.Member(key, main.member)}
	d := &model.Definition{}
	d.Command, _ = command.Str()
	d.Args = model.Secrets(list("args"))
	d.Env = table("env")
	u, _ := url.Str()
	timeout, _ := last("timeout")
	d.StartTimeout = limit(timeout, time.Second)
	word, _ := typ.Str()
	fault := ""
	switch word {
	case "stdio":
		d.Transport = model.TransportStdio
		if d.Command == "" {
			fault = "the command of a stdio server is missing or empty"
		}
	case "http", "sse":
		d.Transport = model.Transport(word)
		d.URL, d.Headers = model.NewSecret(u), table("headers")
		if u == "" {
			fault = "the url of a remote server is missing or empty"
		}
	case "":
		fault = "type is missing: stdio, http or sse"
		d.Transport = model.TransportStdio
		if d.Command == "" && u != "" {
			d.Transport, d.URL, d.Headers = model.TransportHTTP, model.NewSecret(u), table("headers")
		}
	default:
		fault = "its type is none that Crush knows: stdio, http or sse"
	}
	e.Definition = d
	if d.Transport == model.TransportUnknown {
		e.Definition = nil
	}
	if deny, allow := list("disabled_tools"), list("enabled_tools"); len(deny)+len(allow) > 0 {
		e.Filter = &model.ToolFilter{Limited: len(allow) > 0, Allow: allow, Deny: deny, At: e.Source}
	}
	c.findings(&e, parts)
	out := cell(e, model.DecisionLoads, model.Reason{})
	for i, p := range parts {
		if i != source {
			out.Replaces = append([]model.Replaced{{Scope: p.file.Scope, Source: p.file.Member(key, p.member), Merged: true}}, out.Replaces...)
		}
	}
	disabled, at := last("disabled")
	c.by[name] = main.file
	if at >= 0 {
		c.by[name] = parts[at].file
	}
	off, _ := disabled.Bool()
	switch {
	case c.broken != nil:
		out.Decision = model.DecisionCannot
		out.Reason = model.Reason{Code: model.ReasonFileRefused, DecidedBy: c.broken.Location, Text: c.broken.Text}
	case off:
		out.Decision = model.DecisionOff
		out.Reason = model.Reason{Code: model.ReasonSwitchedOff, DecidedBy: parts[at].file.At(key+".disabled", disabled), Text: "disabled is true in " + c.tilde(parts[at].file.Path)}
	case fault != "":
		out.Decision = model.DecisionCannot
		by := e.Source
		if typeAt >= 0 {
			by = parts[typeAt].file.At(key+".type", typ)
		}
		out.Reason = model.Reason{Code: model.ReasonEntryInvalid, DecidedBy: by, Text: fault}
	}
	out.Capabilities = c.capabilities(out)
	if f := c.by[name]; out.Decision != model.DecisionCannot && f.Scope == model.ScopeSystem {
		out.Capabilities.Toggle = "an administrator's file holds the switch"
	}
	return out
}

func (c *crush) findings(e *model.Entry, parts []crushPart) {
	add := func(code model.FindingCode, severity model.Severity, line int, text string) {
		e.Findings = append(e.Findings, model.Finding{Code: code, Severity: severity, Line: line, Text: text})
	}
	withArgs, inRepository := 0, false
	for _, p := range parts {
		if p.value.Get("args").Len() > 0 {
			withArgs++
		}
		inRepository = inRepository || p.file.Scope == model.ScopeProject
		for _, key := range []string{"enabled", "serverUrl", "httpUrl", "environment"} {
			if v := p.value.Get(key); v.Exists() {
				line := 0
				if p.file.Path == e.Source.Path {
					line = v.Line()
				}
				add(model.FindingUnknownKey, model.Warning, line, key+" is not read by Crush")
			}
		}
	}
	if withArgs > 1 {
		add(model.FindingConflictingScopes, model.Warning, 0, fmt.Sprintf("%d files give args: Crush joins them one after the other", withArgs))
	}
	if inRepository {
		e.Findings = append(e.Findings, repositoryFinding())
	}
	if e.Definition == nil {
		return
	}
	var unset []string
	runs := false
	for _, t := range definitionTexts(e.Definition) {
		_, names := crushFill(c.env, t)
		for _, n := range names {
			if n == crushCommand {
				runs = true
			} else if !slices.Contains(unset, n) {
				unset = append(unset, n)
			}
		}
	}
	if runs {
		add(model.FindingReferencedFile, model.Warning, 0, "a value runs a command when Crush starts the server: it is not run here")
	}
	for _, n := range unset {
		e.Findings = append(e.Findings, unsetFinding(n, "its place stays empty", 0))
	}
}

// crushCommand stands for a command in a value, which is never run.
const crushCommand = "$(command)"

var crushVariable = regexp.MustCompile(`\$\{([A-Za-z_][A-Za-z0-9_]*)(:-([^}]*))?\}|\$([A-Za-z_][A-Za-z0-9_]*)`)

// crushFill fills in $NAME, ${NAME} and ${NAME:-default} as a shell does. A text with a command stays as written.
func crushFill(env *Env, text string) (string, []string) {
	if strings.Contains(text, "$(") || strings.Contains(text, "`") {
		return text, []string{crushCommand}
	}
	if !strings.Contains(text, "$") {
		return text, nil
	}
	var unset []string
	filled := crushVariable.ReplaceAllStringFunc(text, func(ref string) string {
		m := crushVariable.FindStringSubmatch(ref)
		if v := env.Var(m[1] + m[4]); v != "" {
			return v
		}
		if m[2] != "" {
			return m[3]
		}
		if _, set := env.Lookup(m[1] + m[4]); !set {
			unset = append(unset, m[1]+m[4])
		}
		return ""
	})
	return filled, unset
}

// toggleCrush sets disabled in the file that has it already, else in the one that declares the server.
func toggleCrush(env *Env, r *Reader, cell *model.Cell, on bool) []Option {
	c := crushOf(env, r)
	f := c.by[cell.Name]
	if f == nil {
		return nil
	}
	at := *cell
	at.Scope = f.Scope
	o := entryOption(env, r, &at, Edit{Path: f.Path, Format: crushFormat, Steps: []Step{{StepSet, []string{"mcp", cell.Name, "disabled"}, strconv.FormatBool(!on)}}})
	if f.Scope == model.ScopeLocal {
		o.Reach, o.Label = ReachHere, labelHere
	}
	return []Option{o}
}
