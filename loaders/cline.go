package loaders

import (
	"path/filepath"
	"slices"
	"strings"

	"fusebox/loaders/jsonc"
	"fusebox/model"
)

// clineExtension is the registry row of Cline, as its editor extension reads the file that it shares with its command line
// program. The rules were read in its source at 21cb8d2.
func clineExtension() Harness {
	return Harness{
		Harness: model.Harness{
			ID: "cline", Title: "Cline", Heading: "Cline", Verified: model.VerifiedSource, VersionChecked: "21cb8d2",
			BlindSpots: []model.BlindSpot{
				{Code: "remote-policy", Text: "servers that an organisation adds, allows or blocks"},
				{Code: "migration", Text: "servers of older files, which the extension copies once when it starts"},
				{Code: "sign-in", Text: "whether a remote server asks for a sign-in"},
			},
		},
		Resolve: resolveCline,
		Launch: LaunchRules{
			Class:   EnvironmentShort,
			Inherit: func(env *Env, _ *model.Entry) map[string]string { return sdkEnvironment(env) },
			Fill:    clineReferences.launchFill,
		},
		Sessions: SessionRules{Reload: "Cline reads the file again by itself"},
		Toggle:   entrySwitch(strictJSON, "disabled", true, "mcpServers"),
	}
}

// clineReferences: ${env:NAME}, which stays as written where the variable is not set.
var clineReferences = envReferences(nil)

// clineFile is the shared settings file.
func clineFile(env *Env) string {
	get := func(name string) string { return trimJS(env.Var(name)) }
	in := func(dir string) string { return filepath.Join(dir, "settings", "cline_mcp_settings.json") }
	absolute := func(path string) string {
		if filepath.IsAbs(path) {
			return filepath.Clean(path)
		}
		return filepath.Join(env.Project, path)
	}
	switch {
	case get("CLINE_MCP_SETTINGS_PATH") != "":
		return absolute(get("CLINE_MCP_SETTINGS_PATH"))
	case get("CLINE_DATA_DIR") != "":
		return absolute(in(get("CLINE_DATA_DIR")))
	case get("CLINE_DIR") != "":
		return absolute(in(filepath.Join(get("CLINE_DIR"), "data")))
	}
	return in(env.InHome(".cline/data"))
}

func resolveCline(env *Env, r *Reader) Result {
	p := &plainResolve{env: env, r: r, title: "Cline", taken: clineReferences.taken(env)}
	path := clineFile(env)
	f := r.ReadJSON(path, model.ScopeUser, 0, jsonc.Options{ReplaceInvalidUTF8: true})
	var entries []plainEntry
	switch text := trimJS(string(f.Data)); {
	case f.Data != nil && (text == "" || text == "{}"):
		if f.Status == model.FileMalformed {
			r.Mark(f, model.FileRead, "empty")
		}
	default:
		entries = p.servers(f, func(m plainMember) plainEntry { return clineEntry(env, m) }, "mcpServers")
		if f.OK() && !f.Root().Get("mcpServers").Exists() {
			r.Refuse(f, f.At("", f.Root()), "mcpServers is missing")
		}
		if i := slices.IndexFunc(entries, func(e plainEntry) bool { return e.fault != nil }); f.OK() && i >= 0 {
			entries = p.refuse(f, entries[i].fault.DecidedBy, "the entry "+quoted(entries[i].Name)+" is invalid, and one invalid entry empties the file: "+entries[i].fault.Text, entries)
		}
	}
	p.stops(f)
	p.wrongKeys(f, "mcpServers")
	for _, old := range []string{
		filepath.Join(env.AppData(), "Code", "User", "globalStorage", "saoudrizwan.claude-dev", "settings", "cline_mcp_settings.json"),
		env.InHome("Documents/Cline/MCP/cline_mcp_settings.json"),
	} {
		if old != path {
			p.stray(old, model.ScopeUser, "older versions read it; the current one copies its servers once, then only reads "+p.tilde(path))
		}
	}
	p.stray(env.InProject(".cline/mcp.json"), model.ScopeProject, "Cline has no file for the servers of a project")
	return p.result(p.cells(entries), r.IsDir(env.InHome(".cline")))
}

// clineShape holds the checks that every form of an entry shares.
var clineShape = []valueCheck{
	{"autoApprove", false, "a list of texts", isTextList},
	{"disabled", false, "true or false", isFlag},
	{"timeout", false, "a number of seconds from 1 on", clineTimeout},
}

func clineTimeout(v jsonc.Value) bool {
	raw, ok := v.Number()
	return ok && !strings.HasPrefix(raw, "-") && !strings.HasPrefix(raw, "0")
}

// clineForm is one of the forms that an entry may have.
type clineForm struct {
	body      jsonc.Value
	transport model.Transport
	shape     []valueCheck
}

// clineForms lists the forms in the order in which Cline tries them: the nested ones, then stdio, then SSE before HTTP, so
// that a url without a type is SSE.
func clineForms(env *Env, v jsonc.Value) []clineForm {
	url := valueCheck{"url", true, "a URL", func(u jsonc.Value) bool {
		text, ok := u.Str()
		filled, _ := clineReferences.fill(env, text)
		return ok && absoluteURL(filled)
	}}
	command := valueCheck{"command", true, "a text that is not empty", func(c jsonc.Value) bool { s, ok := c.Str(); return ok && s != "" }}
	typed := func(word string, required bool) valueCheck {
		return valueCheck{"type", required, "stdio, sse or streamableHttp, as the entry is", isWord(word)}
	}
	rest := plainStdioShape[1:]
	stdio := append([]valueCheck{plainStdioShape[0], {"url", false, "a text", isText}, plainHeaders}, rest...)
	remote := []valueCheck{url, plainHeaders, {"command", false, "a text", isText}, rest[0], rest[1]}
	nested := v.Get("transport")
	var forms []clineForm
	if nested.Kind() == jsonc.Object {
		forms = []clineForm{
			{nested, model.TransportStdio, append([]valueCheck{command, typed("stdio", true)}, rest...)},
			{nested, model.TransportSSE, []valueCheck{url, plainHeaders, typed("sse", true)}},
			{nested, model.TransportHTTP, []valueCheck{url, plainHeaders, typed("streamableHttp", true)}},
		}
	}
	return append(forms,
		clineForm{v, model.TransportStdio, append(stdio, typed("stdio", false))},
		clineForm{v, model.TransportSSE, append(slices.Clone(remote), typed("sse", false))},
		clineForm{v, model.TransportHTTP, append(slices.Clone(remote), typed("streamableHttp", false))})
}

// closest is the form that an entry looks like that fits none.
func closest(forms []clineForm) int {
	for i, f := range forms {
		t, _ := f.body.Get("type").Str()
		switch has := f.body.Get("url").Exists(); {
		case f.transport == model.TransportStdio && (t == "stdio" || !has || f.body.Get("command").Exists() && t == ""),
			f.transport == model.TransportSSE && has && t != "stdio" && t != "streamableHttp",
			f.transport == model.TransportHTTP && has && t == "streamableHttp":
			return i
		}
	}
	return 0
}

func clineEntry(env *Env, m plainMember) plainEntry {
	var e plainEntry
	v := m.Value
	if v.Kind() != jsonc.Object {
		e.fault = m.invalid(v, "it is %s, not an object", typeWord(v))
		return e
	}
	forms := clineForms(env, v)
	at := slices.IndexFunc(forms, func(f clineForm) bool { _, why := misfit(f.body, f.shape); return why == "" })
	if at < 0 {
		at = closest(forms)
	}
	f := forms[at]
	e.Definition = stdioDefinition(f.body)
	if f.transport.Remote() {
		e.Definition = remoteDefinition(f.body, f.transport, "url")
	}
	bad, why := misfit(f.body, f.shape)
	if why == "" {
		bad, why = misfit(v, clineShape)
	}
	if why != "" {
		e.fault = m.invalid(bad, "%s", why)
		return e
	}
	m.conflict(&e, f.transport.Remote(), "url")
	switch {
	case f.transport == model.TransportSSE && !f.body.Get("type").Exists():
		m.find(&e, model.FindingURLWithoutType, f.body.Get("url"), `a url without type is SSE to Cline; most servers want "streamableHttp"`)
	case f.transport == model.TransportStdio && e.Definition.Command == "":
		m.find(&e, model.FindingPartialEntry, f.body.Get("command"), "the command is empty: there is nothing to start")
	}
	if off, _ := v.Get("disabled").Bool(); off {
		e.off = m.switchedOff("disabled")
	}
	m.useless(&e, "is not read by Cline: its switch is disabled", "enabled")
	m.unset(&e, clineReferences.unset(env), "the text stays as written")
	return e
}
