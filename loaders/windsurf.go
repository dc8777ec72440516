package loaders

import (
	"path/filepath"
	"slices"
	"strings"

	"fusebox/loaders/jsonc"
	"fusebox/model"
)

// windsurf is the registry row of Windsurf. Its rules are known from its documentation and its users' files only.
func windsurf() Harness {
	return Harness{
		Harness: model.Harness{
			ID: "windsurf", Title: "Windsurf", Heading: "Windsurf", Verified: model.VerifiedDocs,
			BlindSpots: []model.BlindSpot{
				{Code: "remote-policy", Text: "lists of allowed servers that a team's administrators set"},
				{Code: "tool-limit", Text: "Cascade offers at most 100 tools of all servers together"},
				{Code: "sign-in", Text: "whether a remote server asks for a sign-in"},
			},
		},
		Resolve: resolveWindsurf,
		Launch: LaunchRules{
			Class: EnvironmentFull,
			Fill: func(env *Env, _ *model.Entry, _ TextPart, text string) (string, []string) {
				return windsurfReferences.fill(env, text)
			},
		},
		Sessions: SessionRules{Reload: "refresh the servers in Windsurf's list of plugins"},
		Toggle:   entrySwitch(strictJSON, "disabled", true, "mcpServers"),
	}
}

// windsurfReferences: ${env:NAME}. ${file:PATH} is filled in by the program too; fusebox does not open what it names.
var windsurfReferences = envReferences(nil)

func resolveWindsurf(env *Env, r *Reader) Result {
	filled := windsurfReferences.taken(env)
	p := &plainResolve{env: env, r: r, title: "Windsurf", taken: func(inside string) bool { return filled(inside) || strings.HasPrefix(inside, "file:") }}
	dir := env.InHome(".codeium/windsurf")
	f := r.ReadJSON(filepath.Join(dir, "mcp_config.json"), model.ScopeUser, 0, jsonc.Options{ReplaceInvalidUTF8: true})
	blank := f.Status == model.FileMalformed && strings.TrimSpace(string(f.Data)) == ""
	if blank {
		r.Mark(f, model.FileRead, "empty")
	}
	var entries []plainEntry
	if !blank {
		entries = p.servers(f, func(m plainMember) plainEntry { return windsurfEntry(env, m) }, "mcpServers")
	}
	p.stops(f)
	p.wrongKeys(f, "mcpServers")
	p.stray(env.InHome(".codeium/mcp_config.json"), model.ScopeUser, "read by the plugins for other editors, not by the Windsurf editor")
	p.stray(env.InProject(".windsurf/mcp_config.json"), model.ScopeProject, "Windsurf has no file for the servers of a project")
	p.stray(env.InProject(".windsurf/mcp.json"), model.ScopeProject, "Windsurf has no file for the servers of a project")
	return p.result(p.cells(entries), r.IsDir(dir))
}

func windsurfEntry(env *Env, m plainMember) plainEntry {
	var e plainEntry
	v := m.Value
	if v.Kind() != jsonc.Object {
		e.fault = m.invalid(v, "the entry is %s, not an object", typeWord(v))
		return e
	}
	urlKey := "serverUrl"
	if !v.Get(urlKey).Exists() {
		urlKey = "url"
	}
	remote := v.Get(urlKey).Exists() && !v.Get("command").Exists()
	var bad jsonc.Value
	var why string
	switch {
	case remote:
		e.Definition = remoteDefinition(v, plainTransport(v), urlKey)
		bad, why = misfit(v, []valueCheck{{urlKey, true, "a text", isText}, plainHeaders})
	case !v.Get("command").Exists():
		bad, why = v, "it has neither command nor serverUrl"
	default:
		e.Definition = stdioDefinition(v)
		bad, why = misfit(v, plainStdioShape)
	}
	if why != "" {
		e.fault = m.invalid(bad, "%s", why)
	}
	m.conflict(&e, remote, urlKey)
	if off, ok := v.Get("disabled").Bool(); ok && off {
		e.off = m.switchedOff("disabled")
	}
	m.useless(&e, "is not read by Windsurf: its switch is disabled", "enabled")
	m.filter(&e, "", "disabledTools")
	if e.Definition != nil && slices.ContainsFunc(definitionTexts(e.Definition), func(text string) bool { return strings.Contains(text, "${file:") }) {
		m.find(&e, model.FindingReferencedFile, jsonc.Value{}, "it names a file in ${file:...}, which Windsurf reads when it starts the server: it is not read here")
	}
	m.unset(&e, windsurfReferences.unset(env), "what the server gets then is not documented")
	return e
}

// plainTransport is what a remote entry's type or transport says; http where it says nothing.
func plainTransport(v jsonc.Value) model.Transport {
	for _, key := range []string{"type", "transport"} {
		if t, _ := v.Get(key).Str(); strings.EqualFold(t, "sse") {
			return model.TransportSSE
		}
	}
	return model.TransportHTTP
}
