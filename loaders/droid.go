package loaders

import (
	"slices"

	"fusebox/loaders/jsonc"
	"fusebox/model"
)

// factoryDroid is the registry row of Factory Droid. Its rules were observed on 0.215.0 with `droid mcp list`.
func factoryDroid() Harness {
	return Harness{
		Harness: model.Harness{
			ID: "droid", Aliases: []string{"factory-droid"}, Title: "Factory Droid", Heading: "Droid", Verified: model.VerifiedRun, VersionChecked: "0.215.0",
			BlindSpots: []model.BlindSpot{
				{Code: "remote-policy", Text: "servers and policies that an organisation sends to signed-in users"},
				{Code: "expansion", Text: "whether variables are filled in: none was seen to be"},
				{Code: "sign-in", Text: "whether a remote server asks for a sign-in"},
			},
		},
		Resolve:  resolveDroid,
		Launch:   LaunchRules{Class: EnvironmentFull, ToolName: joinToolName("", "___")},
		Sessions: SessionRules{Programs: []string{"droid"}, Packages: []string{"node_modules/droid/"}, Not: []string{"mcp", "exec", "daemon"}, Reload: "type /mcp there, or restart Droid"},
		Toggle:   entrySwitch(strictJSON, "disabled", true, "mcpServers"),
	}
}

func resolveDroid(env *Env, r *Reader) Result {
	p := &plainResolve{env: env, r: r, title: "Droid"}
	start := r.RealPath(env.Project)
	dir := droidProject(env, r, start)
	userPath := env.InHome(".factory/mcp.json")
	user := droidFile(p, userPath, model.ScopeUser)
	var project []plainEntry
	if projectPath := joinPath(dir, ".factory/mcp.json"); projectPath != userPath && projectPath != r.RealPath(userPath) {
		project = droidFile(p, projectPath, model.ScopeProject)
	}
	r.Ignored(joinPath(start, ".mcp.json"), model.ScopeProject, "Droid does not read it: a project's servers stand in .factory/mcp.json")
	return p.result(p.cells(project, user), r.IsDir(env.InHome(".factory")))
}

// droidProject is the folder whose .factory counts: the nearest one from the session's folder up to the root of its
// repository, else that folder itself.
func droidProject(env *Env, r *Reader, start string) string {
	root := gitRoot(r, start)
	above := Ancestors(start)
	i := slices.Index(above, root)
	if root == "" || i < 0 {
		return start
	}
	for _, dir := range above[:i+1] {
		if dir != env.Home && r.Exists(joinPath(dir, ".factory/mcp.json")) {
			return dir
		}
	}
	return root
}

// droidFile reads one file. One that is no strict JSON is dropped, and the other file's entries come back.
func droidFile(p *plainResolve, path string, scope model.Scope) []plainEntry {
	f := p.r.ReadJSON(path, scope, 0, jsonc.Options{ReplaceInvalidUTF8: true})
	entries := p.servers(f, droidEntry, "mcpServers")
	if f.Status == model.FileMalformed || f.Status == model.FileRefused {
		p.note("file-dropped", f.Path, f.Location().Line, p.tilde(f.Path)+" is dropped as a whole: "+model.Clean(f.Note))
	}
	p.wrongKeys(f, "mcpServers")
	return entries
}

// droidEntry reads one entry. Without a type it is stdio, also where it has nothing but a url.
func droidEntry(m plainMember) plainEntry {
	var e plainEntry
	v := m.Value
	if v.Kind() != jsonc.Object {
		e.fault = m.invalid(v, "the entry is %s, not an object", typeWord(v))
		return e
	}
	typ, _ := v.Get("type").Str()
	var bad jsonc.Value
	var why string
	switch typ {
	case "http", "sse":
		e.Definition = remoteDefinition(v, model.TransportHTTP, "url")
		if typ == "sse" {
			e.Definition.Transport = model.TransportSSE
		}
		bad, why = misfit(v, []valueCheck{{"url", true, "a text", isText}, plainHeaders})
	case "stdio", "":
		e.Definition = stdioDefinition(v)
		bad, why = misfit(v, plainStdioShape)
		if !v.Get("command").Exists() && v.Get("url").Exists() {
			bad, why = v.Get("url"), `a url without "type": "http" is read as a program to start, and there is no command`
			m.find(&e, model.FindingURLWithoutType, v.Get("url"), `the url needs "type": "http"`)
		}
	default:
		bad, why = v.Get("type"), "its type is none that Droid knows: stdio, http or sse"
	}
	if why != "" {
		e.fault = m.invalid(bad, "%s", why)
	}
	if e.Definition != nil {
		m.conflict(&e, e.Definition.Transport.Remote(), "url")
	}
	if off, ok := v.Get("disabled").Bool(); ok && off {
		e.off = m.switchedOff("disabled")
	}
	m.useless(&e, "is not read by Droid: its switch is disabled", "enabled")
	m.filter(&e, "", "disabledTools")
	return e
}
