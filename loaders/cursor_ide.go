package loaders

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"fusebox/loaders/jsonc"
	"fusebox/model"
)

// cursorIDE is the registry row of Cursor, the editor. It reads the same files as its command line program by other rules. They
// are known from its documentation and from third parties: notes on the code of 2.3.41, and reports on 3.20, since when servers
// that are new in a folder start switched off. It was not run.
func cursorIDE() Harness {
	return Harness{
		Harness: model.Harness{
			ID: "cursor", Aliases: []string{"cursor-ide"}, Title: "Cursor", Heading: "CursorIDE",
			Verified: model.VerifiedDocs, VersionChecked: "3.20",
			BlindSpots: []model.BlindSpot{
				{Code: "new-servers-start-off", Text: "whether a server of a folder was switched on under Customize > MCPs: since 3.20 it starts switched off, and the database tells only some of it"},
				{Code: "switch-in-database", Text: "switches and approvals in state.vscdb, which is read where it can be and never written; its form is known from third parties only"},
				{Code: "plugins", Text: "servers of plugins and of extensions"},
				{Code: "team-policy", Text: "servers that a team adds or blocks"},
				{Code: "sign-in", Text: "whether a remote server asks for a sign-in"},
			},
		},
		Resolve: resolveCursorIDE,
		Launch:  LaunchRules{Class: EnvironmentFull, Fill: fillCursorIDE},
	}
}

// Keys of Cursor's databases (third parties; 2.3.41).
const (
	cursorDisabledKey = "cursor/disabledMcpServers"
	cursorApprovedKey = "cursor/approvedProjectMcpServers"
)

// cursorIDEResolve is one resolve of Cursor.
type cursorIDEResolve struct {
	codeStorage
	disabled map[string]model.Location // by identifier
	approved map[string]model.Location
	notes    []model.Note
}

func resolveCursorIDE(env *Env, r *Reader) Result {
	data := filepath.Join(env.AppData(), "Cursor")
	c := &cursorIDEResolve{codeStorage: codeStorage{env: env, r: r, user: filepath.Join(data, "User")},
		disabled: map[string]model.Location{}, approved: map[string]model.Location{}}
	present := r.IsDir(data)
	userPath, projectPath := env.InHome(".cursor/mcp.json"), env.InProject(".cursor/mcp.json")
	var project *cursorFile
	if projectPath != userPath {
		project = c.file(projectPath, model.ScopeProject)
	}
	user := c.file(userPath, model.ScopeUser)
	if present {
		c.readDatabases()
	}
	return Result{Cells: slices.Concat(c.cells(project), c.cells(user)), Notes: c.notes, Present: present}
}

func (c *cursorIDEResolve) tilde(path string) string { return model.Tilde(path, c.env.Home) }

func (c *cursorIDEResolve) file(path string, scope model.Scope) *cursorFile {
	f := readCursorFile(c.r, path, scope)
	if !f.file.OK() || f.listed {
		return f
	}
	root := f.file.Root()
	errs, servers := f.file.JSON.Errors(), root.Get("mcpServers")
	switch {
	case len(errs) > 0 && trimJS(string(f.file.Data)) != "":
		c.r.Refuse(f.file, model.Location{Line: errs[0].Line, Column: errs[0].Column}, errs[0].Message+"; no servers could be recovered")
	case servers.Exists():
		c.r.Refuse(f.file, f.file.At("mcpServers", servers), "mcpServers is "+typeWord(servers)+", not an object")
	case root.Get("servers").Kind() == jsonc.Object:
		c.notes = append(c.notes, model.Note{Code: string(model.FindingWrongKey), Path: path, Line: root.Get("servers").Line(),
			Text: c.tilde(path) + ` has "servers"; Cursor reads "mcpServers", so it gives no server`})
	}
	return f
}

// readDatabases reads the lists of the user's and of the folder's database.
func (c *cursorIDEResolve) readDatabases() {
	for _, path := range []string{c.global(), c.workspace()} {
		if path == "" {
			continue
		}
		values, _ := c.r.itemTable(path, model.ScopeUser, cursorDisabledKey, cursorApprovedKey)
		for key, into := range map[string]map[string]model.Location{cursorDisabledKey: c.disabled, cursorApprovedKey: c.approved} {
			for _, id := range itemTexts(values[key]) {
				into[id] = inDatabase(path, key)
			}
		}
	}
}

// cells decides about the entries of one file. Both files stand side by side: neither displaces the other.
func (c *cursorIDEResolve) cells(f *cursorFile) []*model.Cell {
	if f == nil {
		return nil
	}
	var out []*model.Cell
	for i := range f.servers {
		s := &f.servers[i]
		s.Findings = append(slices.Clip(s.Findings), c.findings(s)...)
		decision, reason := c.decide(s)
		x := cell(s.Entry, decision, reason)
		if decision == model.DecisionLoads && s.Scope == model.ScopeProject {
			if id, ok := c.listed(c.approved, s); ok {
				x.Consent = c.approved[id]
			}
		}
		x.Capabilities = model.Capabilities{Toggle: "the switch is in a database that is never written: use Customize > MCPs in Cursor",
			Approve: "not needed, user scope", Login: "not needed"}
		if s.remote {
			x.Capabilities.Login = ""
		}
		switch {
		case decision == model.DecisionCannot:
			x.Capabilities.Toggle, x.Capabilities.Approve = "the entry does not load: mend it first", "the entry does not load: mend it first"
		case s.Scope == model.ScopeProject:
			x.Capabilities.Approve = "the approval is in a database that is never written: use Customize > MCPs in Cursor"
		}
		out = append(out, x)
	}
	return out
}

// identifiers are what Cursor calls an entry: user-NAME, or project-FOLDER-NAME with a number before the folder in newer ones.
func (c *cursorIDEResolve) identifiers(s *cursorServer) *regexp.Regexp {
	if s.Scope == model.ScopeUser {
		return regexp.MustCompile(`^user-` + regexp.QuoteMeta(s.Name) + `$`)
	}
	return regexp.MustCompile(`^project-([0-9]+-)?` + regexp.QuoteMeta(filepath.Base(c.env.Project)) + `-` + regexp.QuoteMeta(s.Name) + `$`)
}

// listed finds an entry in a list, without the fingerprint that may follow its identifier.
func (c *cursorIDEResolve) listed(list map[string]model.Location, s *cursorServer) (id string, ok bool) {
	if len(list) == 0 {
		return "", false
	}
	match := c.identifiers(s)
	found := ""
	for id := range list {
		plain, _, hashed := strings.Cut(id, ":")
		if match.MatchString(id) {
			return id, true
		}
		if hashed && match.MatchString(plain) && (found == "" || id < found) {
			found = id
		}
	}
	return found, found != ""
}

func (c *cursorIDEResolve) decide(s *cursorServer) (model.Decision, model.Reason) {
	if s.fault != nil {
		return model.DecisionCannot, model.Reason{Code: model.ReasonEntryInvalid, DecidedBy: s.fault.at, Text: s.fault.text}
	}
	if d := s.Definition; d.Transport == model.TransportStdio && d.Command == "" {
		return model.DecisionCannot, model.Reason{Code: model.ReasonEntryInvalid, DecidedBy: s.Source, Text: "the command is empty: there is nothing to start"}
	}
	if id, ok := c.listed(c.disabled, s); ok {
		return model.DecisionOff, model.Reason{Code: model.ReasonSwitchedOff, DecidedBy: c.disabled[id],
			Text: "it is switched off in Cursor's database: switch it on there, under Customize > MCPs"}
	}
	if s.Scope == model.ScopeUser {
		return model.DecisionLoads, model.Reason{}
	}
	id, ok := c.listed(c.approved, s)
	switch {
	case ok && strings.Contains(id, ":") && !strings.Contains(s.Name, ":"):
		return model.DecisionUnknown, model.Reason{Code: model.ReasonApprovalUnseen, DecidedBy: c.approved[id],
			Text: "Cursor's database has an approval of this name with a fingerprint, and whether that still fits cannot be computed"}
	case ok:
		return model.DecisionLoads, model.Reason{}
	}
	return model.DecisionUnknown, model.Reason{Code: model.ReasonNewServersOff, DecidedBy: s.Source,
		Text: "a server that is new in a folder starts switched off in Cursor, and no file tells whether it was switched on: look under Customize > MCPs"}
}

// findings names variables without a value.
func (c *cursorIDEResolve) findings(s *cursorServer) []model.Finding {
	if s.Definition == nil {
		return nil
	}
	out := strangeReferences("Cursor", s.Definition, vscodeTakes)
	var seen []string
	for _, text := range definitionTexts(s.Definition) {
		for _, m := range vscodeVariable.FindAllStringSubmatch(text, -1) {
			if _, set := c.env.Lookup(m[2]); m[1] == "env" && !set && !slices.Contains(seen, m[2]) {
				seen = append(seen, m[2])
				out = append(out, unsetFinding("env:"+m[2], "Cursor puts an empty text in its place", 0))
			}
		}
	}
	return out
}

// fillCursorIDE fills in what the documentation names, as VS Code's resolver does, and ~ and ./ at the start of a path.
func fillCursorIDE(env *Env, e *model.Entry, part TextPart, text string) (string, []string) {
	filled, unset := fillVSCode(env, e, part, text)
	switch part {
	case PartCommand, PartArgument, PartCwd:
		filled = cursorPath(env, filled, env.Project)
	}
	return filled, unset
}
