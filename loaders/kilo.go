package loaders

import (
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

func resolveKilo(env *Env, r *Reader) Result {
	p := &plainResolve{env: env, r: r, title: "Kilo Code"}
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
	return p.result(cells, r.IsDir(config) || r.IsDir(env.InHome(".kilocode")) || r.IsDir(env.InHome(".kilo")))
}

// kiloCell merges what the files say, the last for each key, maps joined.
func (p *plainResolve) kiloCell(parts []kiloPart) *model.Cell {
	source := len(parts) - 1
	for i, part := range slices.Backward(parts) {
		if part.value.Get("command").Exists() || part.value.Get("url").Exists() {
			source = i
			break
		}
	}
	main := parts[source]
	e := main.entry
	var fault *model.Reason
	invalid := func(v jsonc.Value, why string) {
		at := main.entry.Source
		if v.Exists() {
			at.Line = v.Line()
		}
		fault = &model.Reason{Code: model.ReasonEntryInvalid, DecidedBy: at, Text: why}
	}
	v := main.value
	typ, _ := v.Get("type").Str()
	switch {
	case v.Kind() != jsonc.Object:
		invalid(v, "the entry is "+typeWord(v)+", not an object")
	case main.legacy && (typ == "streamable-http" || typ == "sse"):
		e.Definition = remoteDefinition(v, model.TransportHTTP, "url")
		if bad, why := misfit(v, []valueCheck{{"url", true, "a text", isFilledText}, plainHeaders}); why != "" {
			invalid(bad, why)
		}
	case main.legacy:
		e.Definition = stdioDefinition(v)
		if bad, why := misfit(v, append([]valueCheck{{"command", true, "a text that is not empty, or the type streamable-http or sse", isFilledText}}, plainStdioShape[1:]...)); why != "" {
			invalid(bad, why)
		}
	case typ == "remote":
		e.Definition = remoteDefinition(v, model.TransportHTTP, "url")
		if bad, why := misfit(v, []valueCheck{{"url", true, "a text", isFilledText}, plainHeaders}); why != "" {
			invalid(bad, why)
		}
	case typ == "local":
		words, ok := v.Get("command").Strings()
		d := &model.Definition{Transport: model.TransportStdio}
		if len(words) > 0 {
			d.Command, d.Args = words[0], model.Secrets(words[1:])
		}
		d.Env, _ = stringMap(v.Get("environment"))
		d.Cwd, _ = v.Get("cwd").Str()
		e.Definition = d
		bad, why := misfit(v, []valueCheck{{"environment", false, "an object of texts", isTextMap}})
		switch {
		case !ok || len(words) == 0 || words[0] == "" || v.Get("command").Kind() != jsonc.Array:
			invalid(v.Get("command"), "command must be a list that begins with the program")
		case why != "":
			invalid(bad, why)
		}
		if k := v.Get("env"); k.Exists() {
			e.Findings = append(e.Findings, model.Finding{Code: model.FindingUnknownKey, Severity: model.Warning, Line: k.Line(), Text: "env is not read by Kilo Code: its key is environment"})
		}
	case typ == "":
		invalid(v, "type is missing: local or remote")
	default:
		invalid(v.Get("type"), "its type is none that Kilo Code knows: local or remote")
	}
	if k := v.Get("disabled"); k.Exists() && !main.legacy {
		e.Findings = append(e.Findings, model.Finding{Code: model.FindingUselessKey, Severity: model.Warning, Line: k.Line(), Text: "disabled is not read by Kilo Code here: its switch is enabled"})
	}
	if slices.ContainsFunc(parts, func(x kiloPart) bool { return x.entry.Scope == model.ScopeProject }) {
		e.Findings = append(e.Findings, repositoryFinding())
	}
	out := cell(e, model.DecisionLoads, model.Reason{})
	for i, part := range slices.Backward(parts) {
		if i != source {
			out.Replaces = append(out.Replaces, model.Replaced{Scope: part.entry.Scope, Source: part.entry.Source, Merged: part.on != nil})
		}
	}
	for _, part := range slices.Backward(parts) {
		if part.on != nil {
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
	at, scope := cell.Source, cell.Scope
	if cell.Decision == model.DecisionOff {
		at = cell.Reason.DecidedBy
		for _, x := range cell.Replaces {
			if x.Source.Path == at.Path {
				scope = x.Scope
			}
		}
	} else if len(cell.Replaces) > 0 && cell.Replaces[0].Merged {
		at, scope = cell.Replaces[0].Source, cell.Replaces[0].Scope
	}
	where := *cell
	where.Scope = scope
	format, path, value := Format{JSON: jsonc.JSONC}, []string{"mcp", cell.Name, "enabled"}, on
	if strings.HasPrefix(at.Key, "mcpServers.") {
		format, path, value = strictJSON, []string{"mcpServers", cell.Name, "disabled"}, !on
	}
	return []Option{entryOption(env, r, &where, Edit{Path: at.Path, Format: format, Steps: []Step{{StepSet, path, strconv.FormatBool(value)}}})}
}
