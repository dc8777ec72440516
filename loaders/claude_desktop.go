package loaders

import (
	"path/filepath"

	"fusebox/loaders/jsonc"
	"fusebox/model"
)

// claudeDesktop is the registry row of Claude Desktop. Its rules are known from its documentation only.
func claudeDesktop() Harness {
	return Harness{
		Harness: model.Harness{
			ID: "claude-desktop", Title: "Claude Desktop", Heading: "Desktop", Verified: model.VerifiedDocs,
			BlindSpots: []model.BlindSpot{
				{Code: "connectors", Text: "remote servers: they are connectors of the account"},
				{Code: "extensions", Text: "desktop extensions, which the program installs and switches by itself"},
				{Code: "remote-policy", Text: "policies that an organisation sends to its members"},
			},
		},
		Resolve: resolveClaudeDesktop,
		Launch: LaunchRules{
			Class:   EnvironmentShort,
			Inherit: func(env *Env, _ *model.Entry) map[string]string { return sdkEnvironment(env) },
			Speaks:  func(t model.Transport) bool { return t == model.TransportStdio },
		},
		Sessions: SessionRules{Reload: "quit Claude Desktop and start it again"},
	}
}

func resolveClaudeDesktop(env *Env, r *Reader) Result {
	p := &plainResolve{env: env, r: r, title: "Claude Desktop", taken: noReference}
	dir := filepath.Join(env.AppData(), "Claude")
	f := r.ReadJSON(filepath.Join(dir, "claude_desktop_config.json"), model.ScopeUser, 0, jsonc.Options{ReplaceInvalidUTF8: true})
	entries := p.servers(f, claudeDesktopEntry, "mcpServers")
	p.stops(f)
	p.wrongKeys(f, "mcpServers")
	cells := p.cells(entries)
	for _, c := range cells {
		c.Capabilities.Toggle = "Claude Desktop's file has no switch: an entry that is there loads"
		c.Capabilities.Login = "not needed"
	}
	return p.result(cells, r.IsDir(dir))
}

// claudeDesktopEntry reads one entry: only programs can be started from this file.
func claudeDesktopEntry(m plainMember) plainEntry {
	var e plainEntry
	v := m.Value
	switch {
	case v.Kind() != jsonc.Object:
		e.fault = m.skipped(v, "the entry is %s, not an object: Claude Desktop leaves it out", typeWord(v))
		return e
	case !v.Get("command").Exists() && v.Get("url").Exists():
		e.Definition = remoteDefinition(v, model.TransportHTTP, "url")
		e.fault = m.skipped(v.Get("url"), "Claude Desktop starts only programs from this file: a remote server is a connector of the account")
		return e
	}
	e.Definition = stdioDefinition(v)
	if bad, why := misfit(v, plainStdioShape); why != "" {
		e.fault = m.skipped(bad, "%s: Claude Desktop leaves the entry out", why)
	} else if e.Definition.Command == "" {
		e.fault = m.invalid(v.Get("command"), "the command is empty: there is nothing to start")
	}
	m.conflict(&e, false, "url")
	m.useless(&e, "means nothing to Claude Desktop: an entry that is there loads", "disabled", "enabled")
	m.useless(&e, "means nothing to Claude Desktop", "envFile")
	return e
}
