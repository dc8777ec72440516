package loaders

import (
	"path/filepath"
	"strings"

	"fusebox/loaders/jsonc"
	"fusebox/model"
)

// antigravity is the registry row of Antigravity. Nothing of it was observed: files, keys and their order are told by third
// parties, and what they do not tell is a blind spot.
func antigravity() Harness {
	return Harness{
		Harness: model.Harness{
			ID: "antigravity", Title: "Antigravity", Heading: "Antigrav", Verified: model.VerifiedDocs,
			BlindSpots: []model.BlindSpot{
				{Code: "unverified", Text: "files, keys and their order are told by third parties; nothing was observed"},
				{Code: "folder-trust", Text: "whether a folder that is not in trustedWorkspaces loads its servers"},
				{Code: "sign-in", Text: "whether a remote server asks for a sign-in"},
			},
		},
		Resolve:  resolveAntigravity,
		Launch:   LaunchRules{Class: EnvironmentFull},
		Sessions: SessionRules{Reload: "refresh the servers in Antigravity's list of MCP servers"},
		Toggle:   entrySwitch(strictJSON, "disabled", true, "mcpServers"),
	}
}

func resolveAntigravity(env *Env, r *Reader) Result {
	p := &plainResolve{env: env, r: r, title: "Antigravity", taken: noReference}
	read := func(path string, scope model.Scope) []plainEntry {
		f := r.ReadJSON(path, scope, 0, jsonc.Options{ReplaceInvalidUTF8: true})
		if f.Status == model.FileMalformed && strings.TrimSpace(string(f.Data)) == "" {
			r.Mark(f, model.FileRead, "empty")
			return nil
		}
		entries := p.servers(f, antigravityEntry, "mcpServers")
		p.wrongKeys(f, "mcpServers")
		return entries
	}
	var files [][]plainEntry
	for _, dir := range []string{".agents", ".agent", "_agents", "_agent"} {
		files = append(files, read(env.InProject(dir+"/mcp_config.json"), model.ScopeProject))
	}
	shared := env.InHome(".gemini/config/mcp_config.json")
	files = append(files, read(shared, model.ScopeUser))
	for _, dir := range []string{"antigravity", "antigravity-cli"} {
		old := env.InHome(".gemini/" + dir + "/mcp_config.json")
		if r.Exists(shared) {
			p.stray(old, model.ScopeUser, "older versions read it; the current ones read "+p.tilde(shared))
			continue
		}
		files = append(files, read(old, model.ScopeUser))
	}
	r.Ignored(env.InHome(".gemini/settings.json"), model.ScopeUser, "Gemini CLI's file: Antigravity does not read it")
	return p.result(p.cells(files...), r.IsDir(filepath.Dir(shared)) || r.IsDir(env.InHome(".gemini/antigravity")) || r.IsDir(env.InHome(".gemini/antigravity-cli")))
}

// antigravityEntry reads one entry: serverUrl or url beats a command.
func antigravityEntry(m plainMember) plainEntry {
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
	remote := v.Get(urlKey).Exists()
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
	m.useless(&e, "is not read by Antigravity: its key is serverUrl", "httpUrl")
	m.useless(&e, "is not read by Antigravity: its switch is disabled", "enabled")
	m.filter(&e, "", "disabledTools")
	return e
}
