package loaders

import (
	"path/filepath"
	"slices"
	"strings"

	"fusebox/loaders/jsonc"
	"fusebox/model"
)

// openClaw is the registry row of OpenClaw. Its rules were observed on 2026.9.6 with `openclaw mcp list`, `openclaw mcp status`
// and `openclaw mcp doctor`.
func openClaw() Harness {
	return Harness{
		Harness: model.Harness{
			ID: "openclaw", Title: "OpenClaw", Heading: "OpenClaw", Verified: model.VerifiedRun, VersionChecked: "2026.9.6", SignIn: "openclaw mcp login NAME",
			BlindSpots: []model.BlindSpot{
				{Code: "includes", Text: "servers in files that $include names"},
				{Code: "mcporter", Text: "servers of config/mcporter.json, which are separate"},
				{Code: "refused-variables", Text: "names of variables that it does not pass on to a server"},
				{Code: "sign-in", Text: "tokens, which are in a database of the program"},
			},
		},
		Resolve: resolveOpenClaw,
		Launch: LaunchRules{
			Class:    EnvironmentFull,
			Fill:     openClawReferences.launchFill,
			ToolName: joinToolName("", "__"),
		},
		Sessions: SessionRules{Programs: []string{"openclaw"}, Packages: []string{"node_modules/openclaw/"}, Not: []string{"mcp", "config", "doctor", "status"}, Reload: "restart OpenClaw's gateway"},
		Toggle:   entrySwitch(Format{JSON: openClawJSON}, "enabled", false, "mcp", "servers"),
	}
}

var (
	openClawJSON       = jsonc.Options{JSON5: true, ReplaceInvalidUTF8: true}
	openClawReferences = plainReferences(false)
)

func resolveOpenClaw(env *Env, r *Reader) Result {
	p := &plainResolve{env: env, r: r, title: "OpenClaw"}
	dir := env.InHome(".openclaw")
	if state := env.Var("OPENCLAW_STATE_DIR"); state != "" {
		dir = filepath.Clean(env.Expand(state))
	}
	path := filepath.Join(dir, "openclaw.json")
	if own := env.Var("OPENCLAW_CONFIG_PATH"); own != "" {
		path = filepath.Clean(env.Expand(own))
	}
	f := r.ReadJSON(path, model.ScopeUser, 0, openClawJSON)
	entries := p.servers(f, func(m plainMember) plainEntry { return openClawEntry(env, m) }, "mcp", "servers")
	if f.OK() {
		for _, m := range f.Root().Lookup("mcp", "servers").Members() {
			if v := m.Value.Get("disabled"); v.Exists() && !m.Shadowed {
				entries = p.refuse(f, f.At(JoinKey("mcp", "servers", m.Key, "disabled"), v), "the key disabled of "+quoted(m.Key)+` is not supported and makes the whole file invalid: its switch is "enabled": false`, entries)
				break
			}
		}
		for _, at := range []jsonc.Value{f.Root(), f.Root().Get("mcp"), f.Root().Lookup("mcp", "servers")} {
			if v := at.Get("$include"); v.Exists() {
				p.notes = append(p.notes, model.Note{Code: "not-evaluated", Path: f.Path, Line: v.Line(), Text: "$include names other files, which are not read here"})
			}
		}
	}
	p.stops(f)
	for _, key := range []string{"mcpServers", "mcp_servers", "servers"} {
		if v := f.Root().Get(key); v.Kind() == jsonc.Object {
			p.note(model.FindingWrongKey, f.Path, v.Line(), p.tilde(f.Path)+" has "+key+"; OpenClaw reads mcp.servers")
		}
	}
	return p.result(p.cells(entries), r.IsDir(dir))
}

// openClawEntry reads one entry. A url without transport is SSE; type is an older spelling of transport.
func openClawEntry(env *Env, m plainMember) plainEntry {
	var e plainEntry
	v := m.Value
	if v.Kind() != jsonc.Object {
		e.fault = m.invalid(v, "the entry is %s, not an object", typeWord(v))
		return e
	}
	remote := !v.Get("command").Exists() && v.Get("url").Exists()
	kind := v.Get("transport")
	if !kind.Exists() {
		kind = v.Get("type")
	}
	word, _ := kind.Str()
	var bad jsonc.Value
	var why string
	switch {
	case remote:
		t := model.TransportSSE
		if slices.Contains([]string{"streamable-http", "http"}, strings.ToLower(word)) {
			t = model.TransportHTTP
		}
		e.Definition = remoteDefinition(v, t, "url")
		bad, why = misfit(v, []valueCheck{{"url", true, "a text", isText}, plainHeaders})
		switch {
		case why != "":
		case !kind.Exists():
			m.find(&e, model.FindingURLWithoutType, v.Get("url"), `a url without transport is SSE to OpenClaw; most servers want "streamable-http"`)
		case !slices.Contains([]string{"streamable-http", "http", "sse"}, word):
			bad, why = kind, "its transport is none that OpenClaw knows: streamable-http or sse"
		}
	case !v.Get("command").Exists():
		bad, why = v, "it has neither command nor url"
	default:
		e.Definition = stdioDefinition(v)
		bad, why = misfit(v, plainStdioShape)
		if why == "" && strings.TrimSpace(e.Definition.Command) == "" {
			bad, why = v.Get("command"), "the command is empty"
		}
	}
	if why != "" {
		e.fault = m.invalid(bad, "%s", why)
	}
	m.conflict(&e, remote, "url")
	if on, ok := v.Get("enabled").Bool(); ok && !on {
		e.off = m.switchedOff("enabled")
	}
	m.unset(&e, openClawReferences.unset(env), "OpenClaw warns, and the text stays as written")
	return e
}
