package loaders

import (
	"path/filepath"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"fusebox/loaders/jsonc"
	"fusebox/model"
)

// continueExtension is the registry row of Continue. Its rules were read in its source at d0a3c0b.
func continueExtension() Harness {
	return Harness{
		Harness: model.Harness{
			ID: "continue", Title: "Continue", Heading: "Continue", Verified: model.VerifiedSource, VersionChecked: "d0a3c0b",
			BlindSpots: []model.BlindSpot{
				{Code: "hub", Text: "assistants and blocks of the hub, and what ${{ secrets.NAME }} stands for"},
				{Code: "sign-in", Text: "whether a remote server asks for a sign-in"},
			},
		},
		Resolve:  resolveContinue,
		Launch:   LaunchRules{Class: EnvironmentFull},
		Sessions: SessionRules{Programs: []string{"cn"}, Packages: []string{"@continuedev/cli"}, Reload: "restart cn there; in an editor, Continue reads its files again by itself"},
	}
}

func resolveContinue(env *Env, r *Reader) Result {
	p := &plainResolve{env: env, r: r, title: "Continue", taken: noReference}
	dir := env.InHome(".continue")
	if own := env.Var("CONTINUE_GLOBAL_DIR"); own != "" {
		dir = filepath.Clean(own)
	}
	var all []plainEntry
	all = append(all, p.continueList(filepath.Join(dir, "config.yaml"), model.ScopeUser)...)
	if r.Exists(filepath.Join(dir, "config.yaml")) {
		r.Ignored(filepath.Join(dir, "config.json"), model.ScopeUser, "not read beside a config.yaml")
	}
	here := env.InProject(".continue")
	folders := []struct {
		dir   string
		scope model.Scope
	}{{filepath.Join(here, "mcpServers"), model.ScopeProject}, {filepath.Join(dir, "mcpServers"), model.ScopeUser}}
	json := map[string]bool{} // of equal names in JSON files only the first counts
	for _, folder := range folders {
		if folder.scope == model.ScopeProject && here == dir {
			continue
		}
		for _, name := range r.ReadDir(folder.dir) {
			path := filepath.Join(folder.dir, name)
			switch filepath.Ext(name) {
			case ".yaml", ".yml":
				all = append(all, p.continueList(path, folder.scope)...)
			case ".json":
				for _, e := range p.continueJSON(path, folder.scope) {
					if !json[e.Name] {
						all = append(all, e)
					}
					json[e.Name] = true
				}
			}
		}
	}
	// Lists are joined: two servers of one name are two servers.
	count := map[string]int{}
	for _, e := range all {
		count[e.Name]++
	}
	var cells []*model.Cell
	for i := range all {
		c := p.cell([]*plainEntry{&all[i]})
		if count[c.Name] > 1 {
			c.Findings = append(c.Findings[:len(c.Findings):len(c.Findings)], model.Finding{Code: model.FindingConflictingScopes, Severity: model.Warning, Text: "another entry has the same name: Continue loads both"})
		}
		c.Capabilities.Toggle = "Continue's files have no switch: an entry that is there loads"
		cells = append(cells, c)
	}
	return p.result(cells, r.IsDir(dir))
}

// continueList reads the list mcpServers of a YAML file.
func (p *plainResolve) continueList(path string, scope model.Scope) []plainEntry {
	f, root := readYAML(p.r, path, scope)
	if !f.OK() {
		if f.Status == model.FileMalformed {
			p.note("file-dropped", f.Path, f.Location().Line, p.tilde(f.Path)+" is not read: "+model.Clean(f.Note))
		}
		return nil
	}
	list := yamlGet(root, "mcpServers")
	if list == nil || list.Kind != yaml.SequenceNode {
		if list != nil && !yamlNull(list) {
			p.note(model.FindingWrongType, f.Path, list.Line, "mcpServers of "+p.tilde(f.Path)+" is "+yamlWord(list)+", not a list")
		}
		return nil
	}
	var out []plainEntry
	for _, item := range list.Content {
		item = followAlias(item)
		name := yamlGet(item, "name")
		text, ok := yamlText(name)
		if !ok {
			if uses := yamlGet(item, "uses"); uses == nil && item != nil {
				p.note("entry-without-name", f.Path, item.Line, "an entry of mcpServers has no name: Continue does not read it")
			}
			continue
		}
		y := yamlEntry{yamlMember: yamlMember{key: name, value: item, name: text}, file: f, key: JoinKey("mcpServers", text), title: p.title}
		e := continueEntry(y)
		p.references(&e)
		e.Name, e.Scope, e.Source = strings.ToValidUTF8(text, "\ufffd"), scope, y.at()
		if scope == model.ScopeProject {
			e.Findings = append(e.Findings, repositoryFinding())
		}
		out = append(out, e)
	}
	return out
}

func continueEntry(y yamlEntry) plainEntry {
	var e plainEntry
	bad := func(n *yaml.Node, why string) {
		if e.fault == nil {
			e.fault = y.fault(model.ReasonEntryInvalid, n, "%s", why)
		}
	}
	d := &model.Definition{}
	e.Definition = d
	typ, _ := yamlText(y.get("type"))
	command, isCommand := yamlText(y.get("command"))
	url, isURL := yamlText(y.get("url"))
	switch {
	case isCommand:
		d.Transport, d.Command = model.TransportStdio, command
		if n := y.get("args"); n != nil {
			args, ok := yamlTexts(n)
			if !ok {
				bad(n, "args must be a list of texts")
			}
			d.Args = model.Secrets(args)
		}
		if n := y.get("env"); n != nil {
			var ok bool
			if d.Env, ok = yamlTextMap(n, false); !ok {
				bad(n, "env must be a mapping of texts")
			}
		}
		d.Cwd, _ = yamlText(y.get("cwd"))
		if typ != "" && typ != "stdio" {
			bad(y.get("type"), "type beside a command must be stdio")
		}
		if isURL {
			y.find(&e, model.FindingConflictingKeys, y.get("url"), "the url beside a command is ignored")
		}
	case isURL:
		d.Transport, d.URL = model.TransportHTTP, model.NewSecret(url)
		switch typ {
		case "sse":
			d.Transport = model.TransportSSE
		case "streamable-http":
		case "":
			y.find(&e, model.FindingURLWithoutType, y.get("url"), "a url without type: Continue tries streamable-http, then sse")
		default:
			bad(y.get("type"), "type beside a url must be sse or streamable-http")
		}
		if n := y.get("requestOptions", "headers"); n != nil {
			d.Headers, _ = yamlTextMap(n, true)
		}
		if key, ok := yamlText(y.get("apiKey")); ok {
			d.Headers = append(d.Headers, model.Variable{Name: "Authorization", Value: model.NewSecret("Bearer " + key)})
		}
	default:
		e.Definition = nil
		bad(nil, "it has neither command nor url")
	}
	if n := y.get("connectionTimeout"); n != nil && n.Kind == yaml.ScalarNode {
		if ms, err := time.ParseDuration(n.Value + "ms"); err == nil && ms > 0 && ms < 24*time.Hour {
			d.StartTimeout = ms
		}
	}
	for _, key := range []string{"disabled", "enabled", "serverUrl", "headers"} {
		if n := y.get(key); n != nil {
			y.find(&e, model.FindingUselessKey, n, "%s is not read by Continue", key)
		}
	}
	return e
}

// continueJSON reads a JSON file: servers as other harnesses write them, or one server that is named by its file.
func (p *plainResolve) continueJSON(path string, scope model.Scope) []plainEntry {
	f := p.r.ReadJSON(path, scope, 0, jsonc.JSONC)
	read := func(m plainMember) plainEntry {
		var e plainEntry
		v := m.Value
		var bad jsonc.Value
		var why string
		switch {
		case v.Kind() != jsonc.Object:
			bad, why = v, "the entry is "+typeWord(v)+", not an object"
		case v.Get("command").Exists():
			e.Definition = stdioDefinition(v)
			bad, why = misfit(v, plainStdioShape)
		case v.Get("url").Exists():
			e.Definition = remoteDefinition(v, plainTransport(v), "url")
			bad, why = misfit(v, []valueCheck{{"url", true, "a text", isText}, plainHeaders})
		default:
			bad, why = v, "it has neither command nor url"
		}
		if why != "" {
			e.fault = m.invalid(bad, "%s", why)
		}
		m.useless(&e, "is not read by Continue", "disabled", "enabled")
		return e
	}
	root := f.Root()
	if !f.OK() || root.Get("mcpServers").Exists() || root.Kind() != jsonc.Object {
		entries := p.servers(f, read, "mcpServers")
		if f.Status == model.FileMalformed {
			p.note("file-dropped", f.Path, f.Location().Line, p.tilde(f.Path)+" is not read: "+model.Clean(f.Note))
		}
		return entries
	}
	if !root.Get("command").Exists() && !root.Get("url").Exists() {
		p.note("file-dropped", f.Path, 1, p.tilde(f.Path)+" is no configuration of a server that Continue knows")
		return nil
	}
	name := strings.TrimSuffix(filepath.Base(path), ".json")
	m := plainMember{Member: jsonc.Member{Key: name, Value: root}, file: f, key: "", title: p.title}
	e := read(m)
	p.references(&e)
	e.Name, e.Scope, e.Source = name, scope, f.At("", root)
	if e.fault != nil && e.fault.DecidedBy.Line < 1 {
		e.fault.DecidedBy.Line = max(1, root.Line())
	}
	if scope == model.ScopeProject {
		e.Findings = append(e.Findings, repositoryFinding())
	}
	return []plainEntry{e}
}
