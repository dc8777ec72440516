package loaders

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"fusebox/loaders/jsonc"
	"fusebox/model"
)

// kiloCode is the registry row of Kilo Code, whose current form descends from OpenCode. Its older files were read about in its
// source at 1e49e85, the rest is known from its documentation.
func kiloCode() Harness {
	return Harness{
		Harness: model.Harness{
			ID: "kilo", Aliases: []string{"kilocode"}, Title: "Kilo Code", Heading: "Kilo", Verified: model.VerifiedDocs,
			BlindSpots: []model.BlindSpot{
				{Code: "editor-or-terminal", Text: "the servers in the editor's own storage load in the editor, not in a terminal"},
				{Code: "environment-config", Text: "configuration that variables of the environment hold"},
				{Code: "remote-policy", Text: "configuration that an organisation sends"},
				{Code: "sign-in", Text: "whether a remote server asks for a sign-in"},
			},
		},
		Resolve: resolveKilo,
		Launch: LaunchRules{
			Class:    EnvironmentFull,
			ToolName: joinToolName("", "_"),
		},
		Sessions: SessionRules{Programs: []string{"kilo", "kilocode"}, Packages: []string{"@kilocode/cli"}, Not: []string{"mcp", "auth", "upgrade"}, Reload: "restart Kilo Code there"},
		Toggle:   toggleKilo,
	}
}

// kiloPart is what one file says of a server.
type kiloPart struct {
	entry  model.Entry
	file   *ConfigFile
	value  jsonc.Value
	legacy bool
	on     *bool
	onAt   model.Location
}

// kilo is one resolve of Kilo Code.
type kilo struct {
	plainResolve
	switches map[string]kiloPart // the part that a server's switch belongs into
	result   Result
}

func resolveKilo(env *Env, r *Reader) Result { return kiloOf(env, r).result }

func kiloOf(env *Env, r *Reader) *kilo {
	return keepResolve(r, "kilo", func() *kilo {
		p := &kilo{plainResolve: plainResolve{env: env, r: r, title: "Kilo Code"}, switches: map[string]kiloPart{}}
		p.resolve()
		return p
	})
}

func (p *kilo) resolve() {
	env, r := p.env, p.r
	parts := map[string][]kiloPart{}
	var order []string
	lost := map[string]plainEntry{}
	add := func(f *ConfigFile, key, flag string, onWhen bool) {
		legacy := key == "mcpServers"
		servers := f.Root().Get(key)
		if f.Status == model.FileMalformed {
			for _, e := range p.servers(f, func(m plainMember) plainEntry { return plainEntry{} }, key) {
				if _, have := lost[e.Name]; !have {
					lost[e.Name] = e
				}
			}
			return
		}
		if servers.Exists() && servers.Kind() != jsonc.Object {
			p.note(model.FindingWrongType, f.Path, servers.Line(), fmt.Sprintf("%s of %s is %s, not an object: it gives no server", key, p.tilde(f.Path), typeWord(servers)))
		}
		for _, m := range servers.Members() {
			if m.Shadowed {
				continue
			}
			path := JoinKey(key, m.Key)
			part := kiloPart{entry: model.Entry{Name: m.Key, Scope: f.Scope, Source: f.Member(path, m)}, file: f, value: m.Value, legacy: legacy}
			if v, ok := m.Value.Get(flag).Bool(); ok {
				on := v == onWhen
				part.on, part.onAt = &on, f.At(path+"."+flag, m.Value.Get(flag))
			}
			if parts[m.Key] == nil {
				order = append(order, m.Key)
			}
			parts[m.Key] = append(parts[m.Key], part)
		}
	}
	legacy := func(path string, scope model.Scope) {
		add(r.ReadJSON(path, scope, 0, jsonc.Options{ReplaceInvalidUTF8: true}), "mcpServers", "disabled", false)
	}
	current := func(dir string, scope model.Scope) {
		for _, name := range []string{"kilo.json", "kilo.jsonc"} {
			f := r.ReadJSON(filepath.Join(dir, name), scope, 0, jsonc.JSONC)
			add(f, "mcp", "enabled", true)
			p.wrongKeys(f, "mcp")
		}
	}
	// The older files are the lowest layer.
	legacy(globalStorage(env, filepath.Join("kilocode.kilo-code", "settings", "mcp_settings.json")), model.ScopeUser)
	legacy(env.InHome(".kilocode/cli/global/settings/mcp_settings.json"), model.ScopeUser)
	for _, dir := range []string{".kilocode", ".kilo"} {
		legacy(env.InHome(dir+"/mcp.json"), model.ScopeUser)
	}
	if env.Project != env.Home {
		for _, dir := range []string{".kilocode", ".kilo"} {
			legacy(env.InProject(dir+"/mcp.json"), model.ScopeProject)
		}
	}
	config := filepath.Join(env.ConfigHome(), "kilo")
	current(config, model.ScopeUser)
	start := r.RealPath(env.Project)
	dirs := []string{start}
	above := Ancestors(start)
	if i := slices.Index(above, gitRoot(r, start)); i >= 0 {
		dirs = above[:i+1]
	}
	for _, dir := range slices.Backward(dirs) {
		current(dir, model.ScopeProject)
	}
	for _, dir := range slices.Backward(dirs) {
		for _, name := range []string{".kilocode", ".kilo"} {
			if path := filepath.Join(dir, name); path != env.InHome(name) {
				current(path, model.ScopeProject)
			}
		}
	}
	var cells []*model.Cell
	for _, name := range order {
		cells = append(cells, p.kiloCell(parts[name]))
	}
	for name, e := range lost {
		if parts[name] == nil {
			c := cell(e.Entry, model.DecisionCannot, *e.fault)
			c.Capabilities = p.capabilities(c)
			cells = append(cells, c)
		}
	}
	slices.SortFunc(cells, func(a, b *model.Cell) int { return strings.Compare(a.Name, b.Name) })
	p.result = p.plainResolve.result(cells, r.IsDir(config) || r.IsDir(env.InHome(".kilocode")) || r.IsDir(env.InHome(".kilo")))
}

// kiloMerged is what all files together say of a server.
type kiloMerged struct {
	typ, url, cwd     string
	words             []string // the command, the program first
	env, headers      []model.Variable
	has               map[string]bool // keys that are there
	bad               map[string]kiloFault
	owner             map[string]int // who says what holds in the end, by key; members of maps by "key.name"
	unread, useless   *model.Finding
	notObject, noType *kiloFault
}

// kiloFault is a value that does not fit, and the part that has it.
type kiloFault struct {
	part kiloPart
	at   jsonc.Value
	why  string
}

// set takes a value over from a part; fits tells whether it has the right type.
func (m *kiloMerged) set(key string, i int, part kiloPart, v jsonc.Value, fits bool, why string) {
	m.has[key], m.owner[key] = true, i
	delete(m.bad, key)
	if !fits {
		m.bad[key] = kiloFault{part, v, why}
	}
}

// table joins a map of texts with what stands below it.
func (m *kiloMerged) table(key string, into *[]model.Variable, i int, part kiloPart, v jsonc.Value) {
	vars, ok := stringMap(v)
	m.has[key] = true
	if !ok {
		m.bad[key] = kiloFault{part, v, key + " must be an object of texts"}
		return
	}
	for _, x := range vars {
		m.owner[key+"."+x.Name] = i
		if at := slices.IndexFunc(*into, func(y model.Variable) bool { return y.Name == x.Name }); at >= 0 {
			(*into)[at] = x
		} else {
			*into = append(*into, x)
		}
	}
}

// kiloMerge lays the parts over each other, the lowest first: the last of each key holds, maps are joined, lists are replaced.
func kiloMerge(parts []kiloPart) *kiloMerged {
	blank := func() *kiloMerged {
		return &kiloMerged{has: map[string]bool{}, bad: map[string]kiloFault{}, owner: map[string]int{}}
	}
	m := blank()
	for i, part := range parts {
		v := part.value
		if v.Kind() != jsonc.Object {
			m = blank()
			m.notObject, m.owner[""] = &kiloFault{part, v, "the entry is " + typeWord(v) + ", not an object"}, i
			continue
		}
		if m.notObject != nil {
			m = blank()
		}
		if part.legacy {
			m.legacy(i, part)
			continue
		}
		if x := v.Get("type"); x.Exists() {
			m.typ, _ = x.Str()
			m.set("type", i, part, x, isWord("local", "remote")(x), "its type is none that Kilo Code knows: local or remote")
		}
		if x := v.Get("command"); x.Exists() {
			words, ok := x.Strings()
			m.words = words
			m.set("command", i, part, x, ok && x.Kind() == jsonc.Array && len(words) > 0 && words[0] != "", "command must be a list that begins with the program")
		}
		if x := v.Get("url"); x.Exists() {
			m.url, _ = x.Str()
			m.set("url", i, part, x, isFilledText(x), "url must be a text")
		}
		if x := v.Get("cwd"); x.Exists() {
			m.cwd, _ = x.Str()
			m.set("cwd", i, part, x, true, "")
		}
		if x := v.Get("environment"); x.Exists() {
			m.table("environment", &m.env, i, part, x)
		}
		if x := v.Get("headers"); x.Exists() {
			m.table("headers", &m.headers, i, part, x)
		}
		if part.on != nil {
			m.owner["enabled"] = i
		}
		if k := v.Get("env"); k.Exists() {
			m.unread = &model.Finding{Code: model.FindingUnknownKey, Severity: model.Warning, Line: k.Line(), Text: "env is not read by Kilo Code: its key is environment"}
		}
		if k := v.Get("disabled"); k.Exists() {
			m.useless = &model.Finding{Code: model.FindingUselessKey, Severity: model.Warning, Line: k.Line(), Text: "disabled is not read by Kilo Code here: its switch is enabled"}
		}
	}
	if !m.has["type"] && m.typ == "" {
		m.noType = &kiloFault{parts[len(parts)-1], jsonc.Value{}, "type is missing: local or remote"}
	}
	return m
}

// legacy takes an entry of an older file over, in the current form.
func (m *kiloMerged) legacy(i int, part kiloPart) {
	v := part.value
	for _, key := range []string{"type", "command", "url"} { // one older entry replaces another
		delete(m.bad, key)
		delete(m.has, key)
		delete(m.owner, key)
	}
	m.env, m.headers = nil, nil
	if part.on != nil {
		m.owner["enabled"] = i
	}
	if typ, _ := v.Get("type").Str(); typ == "streamable-http" || typ == "sse" {
		m.typ = "remote"
		m.url, _ = v.Get("url").Str()
		m.set("url", i, part, v.Get("url"), isFilledText(v.Get("url")), "url must be a text")
		if x := v.Get("headers"); x.Exists() {
			m.table("headers", &m.headers, i, part, x)
		}
		return
	}
	m.typ = "local"
	d := stdioDefinition(v)
	m.words, m.cwd = append([]string{d.Command}, d.ArgTexts()...), d.Cwd
	bad, why := misfit(v, append([]valueCheck{{"command", true, "a text that is not empty, or the type streamable-http or sse", isFilledText}}, plainStdioShape[1:]...))
	m.set("command", i, part, bad, why == "", why)
	m.env = d.Env
	for _, x := range d.Env {
		m.owner["environment."+x.Name] = i
	}
}

// definition is the transport part, and what is wrong with it.
func (m *kiloMerged) definition(last kiloPart) (*model.Definition, *kiloFault) {
	check := func(keys ...string) *kiloFault {
		for _, key := range keys {
			if f, bad := m.bad[key]; bad {
				return &f
			}
		}
		if !m.has[keys[0]] {
			return &kiloFault{last, jsonc.Value{}, keys[0] + " is missing"}
		}
		return nil
	}
	switch {
	case m.notObject != nil:
		return nil, m.notObject
	case m.noType != nil:
		return nil, m.noType
	case m.typ == "remote":
		return &model.Definition{Transport: model.TransportHTTP, URL: model.NewSecret(m.url), Headers: m.headers}, check("url", "headers")
	case m.typ == "local":
		d := &model.Definition{Transport: model.TransportStdio, Env: m.env, Cwd: m.cwd}
		if len(m.words) > 0 {
			d.Command, d.Args = m.words[0], model.Secrets(m.words[1:])
		}
		return d, check("command", "environment")
	}
	f := m.bad["type"]
	return nil, &f
}

// kiloCell makes the cell of a server. The source is the highest file that says what to start or where to connect.
func (p *kilo) kiloCell(parts []kiloPart) *model.Cell {
	source := len(parts) - 1
	for i, part := range slices.Backward(parts) {
		if part.value.Get("command").Exists() || part.value.Get("url").Exists() {
			source = i
			break
		}
	}
	main := parts[source]
	e := main.entry
	m := kiloMerge(parts)
	d, bad := m.definition(parts[len(parts)-1])
	e.Definition = d
	var fault *model.Reason
	if bad != nil {
		at := bad.part.entry.Source
		if bad.at.Exists() {
			at.Line = bad.at.Line()
		}
		fault = &model.Reason{Code: model.ReasonEntryInvalid, DecidedBy: at, Text: bad.why}
	}
	for _, f := range []*model.Finding{m.unread, m.useless} {
		if f != nil {
			e.Findings = append(e.Findings, *f)
		}
	}
	if slices.ContainsFunc(parts, func(x kiloPart) bool { return x.entry.Scope == model.ScopeProject }) {
		e.Findings = append(e.Findings, repositoryFinding())
	}
	out := cell(e, model.DecisionLoads, model.Reason{})
	gives := map[int]bool{}
	for _, i := range m.owner {
		gives[i] = true
	}
	for i, part := range slices.Backward(parts) {
		if i != source {
			out.Replaces = append(out.Replaces, model.Replaced{Scope: part.entry.Scope, Source: part.entry.Source, Merged: gives[i]})
		}
	}
	p.switches[e.Name] = main
	for _, part := range slices.Backward(parts) {
		if part.on != nil {
			p.switches[e.Name] = part
			if !*part.on {
				out.Decision = model.DecisionOff
				out.Reason = model.Reason{Code: model.ReasonSwitchedOff, DecidedBy: part.onAt, Text: "its switch is off in " + p.tilde(part.file.Path)}
			}
			break
		}
	}
	if fault != nil {
		out.Decision, out.Reason = model.DecisionCannot, *fault
	}
	out.Capabilities = p.capabilities(out)
	return out
}

// toggleKilo sets the switch in the file that decides it, else in the one that declares the server.
func toggleKilo(env *Env, r *Reader, cell *model.Cell, on bool) []Option {
	part, ok := kiloOf(env, r).switches[cell.Name]
	if !ok {
		return nil
	}
	where := *cell
	where.Scope = part.entry.Scope
	format, path, value := Format{JSON: jsonc.JSONC}, []string{"mcp", cell.Name, "enabled"}, on
	if part.legacy {
		format, path, value = strictJSON, []string{"mcpServers", cell.Name, "disabled"}, !on
	}
	return []Option{entryOption(env, r, &where, Edit{Path: part.file.Path, Format: format, Steps: []Step{{StepSet, path, strconv.FormatBool(value)}}})}
}
