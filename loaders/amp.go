package loaders

import (
	"path"
	"path/filepath"
	"slices"

	"fusebox/loaders/jsonc"
	"fusebox/model"
)

// ampCode is the registry row of Amp. `amp mcp list` was run on 0.0.1790142911; where approvals of a project's servers are kept
// is not known.
func ampCode() Harness {
	return Harness{
		Harness: model.Harness{
			ID: "amp", Title: "Amp", Heading: "Amp", Verified: model.VerifiedRun, VersionChecked: "0.0.1790142911",
			BlindSpots: []model.BlindSpot{
				{Code: "approvals", Text: "which servers of a project were approved: where that is kept is not known"},
				{Code: "permissions", Text: "rules of amp.mcpPermissions and of an organisation, which may block a server"},
				{Code: "session-flags", Text: "--mcp-config and --settings-file of one session"},
				{Code: "sign-in", Text: "whether a remote server asks for a sign-in"},
			},
		},
		Resolve: resolveAmp,
		Launch: LaunchRules{
			Class: EnvironmentFull,
			Fill:  ampReferences.launchFill,
			Drops: ampDrops,
		},
		Sessions: SessionRules{Programs: []string{"amp"}, Packages: []string{"@sourcegraph/amp"}, Not: []string{"mcp", "login", "logout", "update"}, Reload: "restart Amp there"},
	}
}

var ampReferences = plainReferences(false)

func ampDrops(f *model.ToolFilter, _, tool string) bool {
	return f.Limited && !slices.ContainsFunc(f.Allow, func(pattern string) bool { ok, err := path.Match(pattern, tool); return ok && err == nil })
}

func resolveAmp(env *Env, r *Reader) Result {
	p := &plainResolve{env: env, r: r, title: "Amp", taken: ampReferences.taken(env)}
	read := func(path string, scope model.Scope) []plainEntry {
		f := r.ReadJSON(path, scope, 0, jsonc.JSONC)
		entries := p.servers(f, func(m plainMember) plainEntry { return ampEntry(env, m) }, "amp.mcpServers")
		if f.Root().Kind() == jsonc.Object {
			if v := f.Root().Get("amp.mcpPermissions"); v.Len() > 0 {
				p.notes = append(p.notes, model.Note{Code: "not-evaluated", Path: f.Path, Line: v.Line(), Text: "amp.mcpPermissions may block servers: its rules are not evaluated here"})
			}
			p.wrongKeys(f, "amp.mcpServers")
			if v := f.Root().Lookup("amp", "mcpServers"); v.Kind() == jsonc.Object {
				p.note(model.FindingWrongKey, f.Path, v.Line(), p.tilde(f.Path)+` nests mcpServers in amp; Amp reads the one key "amp.mcpServers"`)
			}
		}
		return entries
	}
	dir := env.InHome(".config/amp")
	user := read(filepath.Join(dir, "settings.json"), model.ScopeUser)
	project := read(env.InProject(".amp/settings.json"), model.ScopeProject)
	cells := p.cells(user)
	for _, c := range cells {
		c.Capabilities.Approve = "not needed, user scope"
	}
	for _, c := range p.cells(project) {
		reason := model.Reason{Code: model.ReasonApprovalUnseen, DecidedBy: c.Source,
			Text: "Amp starts a server of a project only after `amp mcp approve`, and no known file tells whether that was done"}
		i := slices.IndexFunc(cells, func(u *model.Cell) bool { return u.Name == c.Name })
		switch {
		case i >= 0 && c.Decision == model.DecisionCannot:
			cells[i].Pending = append(cells[i].Pending, model.Pending{Entry: c.Entry, State: model.StateError, Reason: c.Reason})
		case i >= 0:
			cells[i].Pending = append(cells[i].Pending, model.Pending{Entry: c.Entry, State: model.StateUnknown, Reason: reason})
		default:
			if c.Decision == model.DecisionLoads {
				c.Decision, c.Reason = model.DecisionUnknown, reason
			}
			c.Capabilities.Approve = "run `amp mcp approve` with its name: where Amp keeps that is not known"
			cells = append(cells, c)
		}
	}
	for _, c := range cells {
		c.Capabilities.Toggle = "Amp has no switch for a server: an entry that is there loads"
	}
	return p.result(cells, r.IsDir(dir))
}

func ampEntry(env *Env, m plainMember) plainEntry {
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
	m.useless(&e, "showed no effect in Amp", "disabled", "enabled")
	m.filter(&e, "includeTools", "")
	m.unset(&e, ampReferences.unset(env), "the text stays as written")
	return e
}
