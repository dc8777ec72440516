package loaders

import (
	"path/filepath"
	"slices"
	"strconv"

	"fusebox/loaders/jsonc"
	"fusebox/model"
)

// rooCode is the registry row of Roo Code. Its rules were read in its source at cb83656.
func rooCode() Harness {
	return Harness{
		Harness: model.Harness{
			ID: "roo", Aliases: []string{"roo-code"}, Title: "Roo Code", Heading: "Roo", Verified: model.VerifiedSource, VersionChecked: "cb83656",
			BlindSpots: []model.BlindSpot{
				{Code: "switch-in-database", Text: "the switch for all servers together, which is in the editor's database"},
				{Code: "sign-in", Text: "whether a remote server asks for a sign-in"},
			},
		},
		Resolve: func(env *Env, r *Reader) Result {
			return resolveRoo(env, r, "Roo Code", filepath.Join("rooveterinaryinc.roo-cline", "settings", "mcp_settings.json"), ".roo/mcp.json")
		},
		Launch: LaunchRules{
			Class:    EnvironmentShort,
			Inherit:  func(env *Env, _ *model.Entry) map[string]string { return sdkEnvironment(env) },
			Fill:     rooReferences.launchFill,
			ToolName: joinToolName("mcp--", "--"),
		},
		Sessions: SessionRules{Reload: "Roo Code reads its files again by itself"},
		Toggle:   entriesSwitch(strictJSON, "disabled", true, "mcpServers"),
	}
}

// rooReferences: ${env:NAME}, which becomes nothing where the variable is not set, and ${workspaceFolder}.
var rooReferences referenceRules = func(env *Env, inside string) (string, bool, bool) {
	if inside == "workspaceFolder" {
		return env.Project, true, true
	}
	empty := ""
	return envReferences(&empty)(env, inside)
}

// globalStorage is where VS Code extensions keep files of their own.
func globalStorage(env *Env, path string) string {
	return filepath.Join(env.AppData(), "Code", "User", "globalStorage", path)
}

func resolveRoo(env *Env, r *Reader, title, userFile, projectFile string) Result {
	p := &plainResolve{env: env, r: r, title: title, taken: rooReferences.taken(env)}
	read := func(path string, scope model.Scope) []plainEntry {
		f := r.ReadJSON(path, scope, 0, jsonc.Options{ReplaceInvalidUTF8: true})
		entries := p.servers(f, func(m plainMember) plainEntry { return rooEntry(env, m) }, "mcpServers")
		p.wrongKeys(f, "mcpServers")
		// A mistake in the project's file takes all of it down, in the user's only the entry.
		if i := slices.IndexFunc(entries, func(e plainEntry) bool { return e.fault != nil }); f.OK() && i >= 0 && scope == model.ScopeProject {
			entries = p.refuse(f, entries[i].fault.DecidedBy, "the entry "+quoted(entries[i].Name)+" is invalid, and one invalid entry empties the file: "+entries[i].fault.Text, entries)
		}
		return entries
	}
	user := read(globalStorage(env, userFile), model.ScopeUser)
	project := read(env.InProject(projectFile), model.ScopeProject)
	// Switched off is left out before the project's entries beat the user's.
	on := slices.DeleteFunc(slices.Clone(project), func(e plainEntry) bool { return e.off != nil })
	off := slices.DeleteFunc(slices.Clone(project), func(e plainEntry) bool { return e.off == nil })
	cells := p.cells(on, user, off)
	for _, c := range cells {
		if c.Decision == model.DecisionLoads && len(c.Replaces) > 0 && c.Capabilities.Toggle == "" {
			c.Capabilities.Toggle = "switched off here, the user's entry of this name would load in its place: e opens the file"
		}
	}
	return p.result(cells, r.IsDir(filepath.Dir(filepath.Dir(globalStorage(env, userFile)))))
}

func rooTimeout(v jsonc.Value) bool {
	raw, ok := v.Number()
	n, err := strconv.ParseFloat(raw, 64)
	return ok && err == nil && n >= 1 && n <= 3600
}

// rooShape holds the checks of every entry.
var rooShape = []valueCheck{
	{"disabled", false, "true or false", isFlag}, {"timeout", false, "a number of seconds from 1 to 3600", rooTimeout},
	{"alwaysAllow", false, "a list of texts", isTextList}, {"watchPaths", false, "a list of texts", isTextList}, {"disabledTools", false, "a list of texts", isTextList},
}

// rooEntry reads one entry: a url needs a type, and it must not stand beside a command.
func rooEntry(env *Env, m plainMember) plainEntry {
	var e plainEntry
	v := m.Value
	if v.Kind() != jsonc.Object {
		e.fault = m.invalid(v, "the entry is %s, not an object", typeWord(v))
		return e
	}
	command, url := v.Get("command").Exists(), v.Get("url").Exists()
	typ, _ := v.Get("type").Str()
	bad, why := v.Get("type"), ""
	switch {
	case command && url:
		e.Definition = stdioDefinition(v)
		bad, why = v.Get("url"), "a command and a url must not stand in one entry"
	case !command && !url:
		bad, why = v, "it has neither command nor url"
	case command:
		e.Definition = stdioDefinition(v)
		if typ != "" && typ != "stdio" || typ == "" && v.Get("type").Exists() && v.Get("type").Kind() != jsonc.Null {
			why = "type beside a command must be stdio"
		} else {
			bad, why = misfit(v, append([]valueCheck{{"command", true, "a text that is not empty", isFilledText}, {"headers", false, "left out beside a command", func(jsonc.Value) bool { return false }}}, plainStdioShape[1:]...))
		}
	default:
		e.Definition = remoteDefinition(v, model.TransportHTTP, "url")
		if typ == "sse" {
			e.Definition.Transport = model.TransportSSE
		}
		switch {
		case typ == "":
			why = "a url needs a type: sse or streamable-http"
			bad = v.Get("url")
			m.find(&e, model.FindingURLWithoutType, v.Get("url"), `the url needs "type": "streamable-http"`)
		case !slices.Contains([]string{"sse", "streamable-http"}, typ):
			why = "type beside a url must be sse or streamable-http"
		default:
			no := func(jsonc.Value) bool { return false }
			bad, why = misfit(v, []valueCheck{{"url", true, "a URL", isURL}, plainHeaders, {"args", false, "left out beside a url", no}, {"env", false, "left out beside a url", no}})
		}
	}
	if why == "" {
		bad, why = misfit(v, rooShape)
	}
	if why != "" {
		e.fault = m.invalid(bad, "%s", why)
	}
	if off, ok := v.Get("disabled").Bool(); ok && off {
		e.off = m.switchedOff("disabled")
	}
	m.useless(&e, "is not read by "+m.title+": its switch is disabled", "enabled")
	m.filter(&e, "", "disabledTools")
	m.unset(&e, rooReferences.unset(env), "its place stays empty")
	return e
}
