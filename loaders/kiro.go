package loaders

import (
	"fmt"
	"path/filepath"
	"strings"

	"fusebox/loaders/jsonc"
	"fusebox/model"
)

// kiro is the registry row of Kiro, its editor and its command line program. Its rules are known from its documentation only.
func kiro() Harness {
	return Harness{
		Harness: model.Harness{
			ID: "kiro", Title: "Kiro", Heading: "Kiro", Verified: model.VerifiedDocs,
			BlindSpots: []model.BlindSpot{
				{Code: "agent-flag", Text: "--agent of one session: the servers of an agent load with that agent"},
				{Code: "approved-variables", Text: "which variables the editor may fill in: a list in its own settings"},
				{Code: "remote-policy", Text: "a registry of allowed servers that an organisation sets"},
				{Code: "powers", Text: "servers that powers bring"},
				{Code: "sign-in", Text: "whether a remote server asks for a sign-in"},
			},
		},
		Resolve: resolveKiro,
		Launch: LaunchRules{
			Class: EnvironmentFull,
			Fill:  kiroReferences.launchFill,
		},
		Sessions: SessionRules{Programs: []string{"kiro-cli"}, Not: []string{"mcp", "agent", "settings", "login", "logout"}, Reload: "restart Kiro CLI there; the editor reads its files again by itself"},
		Toggle:   entrySwitch(strictJSON, "disabled", true, "mcpServers"),
	}
}

var kiroReferences = plainReferences(false)

func resolveKiro(env *Env, r *Reader) Result {
	p := &plainResolve{env: env, r: r, title: "Kiro", taken: kiroReferences.taken(env)}
	entry := func(m plainMember) plainEntry { return kiroEntry(env, m) }
	read := func(path string, scope model.Scope) []plainEntry {
		f := r.ReadJSON(path, scope, 0, jsonc.Options{ReplaceInvalidUTF8: true})
		if f.Data != nil && strings.TrimSpace(string(f.Data)) == "" {
			r.Mark(f, model.FileRead, "empty")
			return nil
		}
		entries := p.servers(f, entry, "mcpServers")
		p.wrongKeys(f, "mcpServers")
		return entries
	}
	home, here := env.InHome(".kiro"), env.InProject(".kiro")
	user := read(joinPath(home, "settings/mcp.json"), model.ScopeUser)
	var project []plainEntry
	if home != here {
		project = read(joinPath(here, "settings/mcp.json"), model.ScopeProject)
	}
	// The default agent's own servers beat those files.
	settings := r.Peek(joinPath(home, "settings/cli.json"), model.ScopeUser)
	r.ParseJSON(settings, jsonc.Options{ReplaceInvalidUTF8: true})
	standard, _ := settings.Root().Get("chat.defaultAgent").Str()
	var agent []plainEntry
	for _, place := range []struct {
		dir   string
		scope model.Scope
	}{{here, model.ScopeProject}, {home, model.ScopeUser}} {
		if place.scope == model.ScopeProject && here == home {
			continue
		}
		dir := filepath.Join(place.dir, "agents")
		for _, file := range r.ReadDir(dir) {
			if filepath.Ext(file) != ".json" {
				continue
			}
			f := r.ReadJSON(filepath.Join(dir, file), place.scope, 0, jsonc.Options{ReplaceInvalidUTF8: true})
			name, ok := f.Root().Get("name").Str()
			if !ok {
				name = strings.TrimSuffix(file, ".json")
			}
			servers := f.Root().Get("mcpServers")
			switch {
			case name == standard && agent == nil && standard != "":
				agent = p.servers(f, entry, "mcpServers")
			case servers.Len() > 0:
				p.notes = append(p.notes, model.Note{Code: "servers-of-an-agent", Path: f.Path, Line: servers.Line(),
					Text: fmt.Sprintf("the agent %s brings servers of its own (%d), which load only in a session of that agent", quoted(name), servers.Len())})
			}
		}
	}
	cells := p.cells(agent, project, user)
	return p.result(cells, r.IsDir(home))
}

func kiroEntry(env *Env, m plainMember) plainEntry {
	var e plainEntry
	v := m.Value
	if v.Kind() != jsonc.Object {
		e.fault = m.invalid(v, "the entry is %s, not an object", typeWord(v))
		return e
	}
	remote := v.Get("url").Exists() && !v.Get("command").Exists()
	var bad jsonc.Value
	var why string
	switch {
	case remote:
		e.Definition = remoteDefinition(v, plainTransport(v), "url")
		bad, why = misfit(v, []valueCheck{{"url", true, "a text", isText}, plainHeaders})
	case !v.Get("command").Exists():
		bad, why = v, "it has neither command nor url"
	default:
		e.Definition = stdioDefinition(v)
		bad, why = misfit(v, plainStdioShape)
	}
	if why != "" {
		e.fault = m.invalid(bad, "%s", why)
	}
	m.conflict(&e, remote, "url")
	if off, ok := v.Get("disabled").Bool(); ok && off {
		e.off = m.switchedOff("disabled")
	}
	m.useless(&e, "is not read by Kiro: its switch is disabled", "enabled")
	m.filter(&e, "", "disabledTools")
	m.unset(&e, kiroReferences.unset(env), "the text stays as written")
	return e
}
