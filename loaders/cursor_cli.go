package loaders

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"fusebox/loaders/jsonc"
	"fusebox/model"
)

// cursorCLI is the registry row of Cursor's command line program. Its rules were observed on the loader that ships in
// @cursor/sdk 1.0.32 and that the program shares.
func cursorCLI() Harness {
	return Harness{
		Harness: model.Harness{
			ID: "cursor-cli", Aliases: []string{"cursor-agent"}, Title: "Cursor CLI", Heading: "Cursor",
			Verified: model.VerifiedRun, VersionChecked: "1.0.32", SignIn: "cursor-agent mcp login NAME",
			BlindSpots: []model.BlindSpot{
				{Code: "session-flags", Text: "--approve-mcps of one session, which loads servers without approval"},
				{Code: "team-policy", Text: "servers and network rules that a team's settings block"},
				{Code: "plugins", Text: "servers of plugins, which come before those of files"},
				{Code: "workspace-trust", Text: "whether the program trusts the folder at all"},
				{Code: "sign-in", Text: "whether a remote server asks for a sign-in; stored tokens are not read"},
			},
		},
		Resolve:  resolveCursorCLI,
		Sessions: SessionRules{Programs: []string{"cursor-agent"}, Not: []string{"mcp", "login", "logout", "status", "update"}, Reload: "restart cursor-agent there"},
		Toggle:   toggleCursorCLI,
		Approve:  approveCursorCLI,
		Launch: LaunchRules{
			Class:    EnvironmentShort,
			Inherit:  func(env *Env, _ *model.Entry) map[string]string { return sdkEnvironment(env) },
			Fill:     fillCursor,
			ToolName: func(server, tool string) string { return server + "-" + tool },
		},
	}
}

// cursorResolve is one resolve of the Cursor CLI.
type cursorResolve struct {
	env *Env
	r   *Reader

	root     string // nearest folder with .git, links resolved, else the session's folder
	stateDir string // where approvals and switches of this project are kept

	approvals cursorList
	former    map[string]model.Location // of each name the last approval, whatever its definition was
	disabled  cursorList
	broken    *model.Problem
	notes     []model.Note
	project   *cursorFile // nil in the home folder
	result    Result
}

// cursorList is a file that holds a list of texts.
type cursorList struct {
	file  *ConfigFile
	lines map[string]model.Location // of each text
}

func resolveCursorCLI(env *Env, r *Reader) Result { return cursorCLIOf(env, r).result }

// cursorCLIOf resolves once per reader.
func cursorCLIOf(env *Env, r *Reader) *cursorResolve {
	return keepResolve(r, "cursor-cli", func() *cursorResolve {
		c := &cursorResolve{env: env, r: r}
		c.result = c.resolve()
		return c
	})
}

func (c *cursorResolve) resolve() Result {
	env, r := c.env, c.r
	start := r.RealPath(env.Project)
	c.root = gitRoot(r, start)
	if c.root == "" {
		c.root = start
	}
	data := env.InHome(".cursor")
	if dir := env.Var("CURSOR_DATA_DIR"); trimJS(dir) != "" {
		data = dir
		if !filepath.IsAbs(data) {
			data = filepath.Join(start, data)
		}
	}
	c.stateDir = filepath.Join(data, "projects", cursorSlug(c.root))

	userPath := env.InHome(".cursor/mcp.json")
	projectPath := filepath.Join(c.root, ".cursor", "mcp.json")
	var project *cursorFile
	if projectPath != userPath { // in the home folder the file is the user's, and needs no approval
		project = c.file(projectPath, model.ScopeProject)
		c.project = project
	}
	user := c.file(userPath, model.ScopeUser)
	c.approvals = c.list("mcp-approvals.json", "approvals")
	c.former = map[string]model.Location{}
	for key, at := range c.approvals.lines {
		if m := cursorApproval.FindStringSubmatch(key); m != nil {
			if old := c.former[m[1]]; at.Line > old.Line || at.Line == old.Line && at.Column > old.Column {
				c.former[m[1]] = at
			}
		}
	}
	c.disabled = c.list("mcp-disabled.json", "switches")
	if start != c.root {
		stray := filepath.Join(start, ".cursor", "mcp.json")
		if stray != userPath && r.Ignored(stray, model.ScopeProject, "not read by Cursor CLI: only that of the repository's root") {
			c.notes = append(c.notes, model.Note{Code: string(model.FindingFileNotRead), Path: stray, Line: 1,
				Text: c.tilde(stray) + " is not read by Cursor CLI: in a repository only the file at its root counts"})
		}
	}
	return Result{Cells: c.cells(project, user), Notes: c.notes, Present: r.Exists(env.InHome(".cursor")), Broken: c.broken}
}

// cursorSlug names a folder's place among the projects.
func cursorSlug(path string) string {
	return strings.Trim(notLetterOrDigit.ReplaceAllString(path, "-"), "-")
}

var notLetterOrDigit = regexp.MustCompile(`[^A-Za-z0-9]+`)

// file reads a mcp.json and refuses it as a whole where the program does: one entry that does not fit, or no mcpServers,
// and the file gives no server, without a message.
func (c *cursorResolve) file(path string, scope model.Scope) *cursorFile {
	f := readCursorFile(c.r, path, scope)
	if !f.file.OK() {
		return f
	}
	for i := range f.servers {
		if fault := f.servers[i].fault; fault != nil {
			c.refuse(f, fault)
			return f
		}
	}
	if f.listed {
		return f
	}
	root := f.file.Root()
	servers := root.Get("mcpServers")
	errs := f.file.JSON.Errors()
	switch {
	case len(errs) > 0 && trimJS(string(f.file.Data)) != "":
		c.refuse(f, &cursorFault{model.Location{Path: path, Line: errs[0].Line, Column: errs[0].Column}, model.Clean(errs[0].Message) + "; no servers could be recovered"})
	case servers.Exists():
		c.refuse(f, &cursorFault{f.file.At("mcpServers", servers), "mcpServers is " + typeWord(servers) + ", not an object"})
	case root.Exists() && root.Kind() != jsonc.Object:
		c.refuse(f, &cursorFault{f.file.At("", root), "the top level is " + typeWord(root) + ", not an object"})
	case root.Get("servers").Exists():
		at := f.file.At("servers", root.Get("servers"))
		c.refuse(f, &cursorFault{at, `it has "servers"; Cursor reads "mcpServers"`})
		c.notes = append(c.notes, model.Note{Code: string(model.FindingWrongKey), Path: path, Line: at.Line,
			Text: c.tilde(path) + ` has "servers"; Cursor reads "mcpServers", so it gives no server`})
	default:
		c.r.Mark(f.file, model.FileRead, "it has no mcpServers: no server from it")
	}
	return f
}

func (c *cursorResolve) refuse(f *cursorFile, fault *cursorFault) {
	for i := range f.servers {
		f.servers[i].fault = fault
	}
	c.r.Refuse(f.file, fault.at, fault.text)
}

// list reads a list of texts of this project's state. A file that is no list counts as an empty one; one that does not
// parse makes the program load no server at all.
func (c *cursorResolve) list(name, what string) cursorList {
	f := c.r.Peek(filepath.Join(c.stateDir, name), model.ScopeLocal)
	c.r.ParseJSON(f, jsonc.Options{ReplaceInvalidUTF8: true})
	l := cursorList{file: f, lines: map[string]model.Location{}}
	if f.Status == model.FileMalformed || f.Status == model.FileRefused {
		if c.broken == nil {
			c.broken = &model.Problem{Location: f.Location(),
				Text: fmt.Sprintf("Cursor CLI cannot read the %s in %s and loads no server: %s", what, c.tilde(f.Path), f.Note)}
		}
		return l
	}
	if !f.OK() {
		return l
	}
	if f.Root().Kind() != jsonc.Array {
		c.r.Mark(f, model.FileRead, "no list: Cursor CLI takes it for an empty one and overwrites it")
		return l
	}
	for _, item := range f.Root().Elements() {
		if s, ok := item.Str(); ok {
			if _, have := l.lines[s]; !have {
				l.lines[s] = f.At("", item)
			}
		}
	}
	return l
}

// cursorVariable is ${env:NAME}, ${NAME} or ${NAME:-default}.
var cursorVariable = regexp.MustCompile(`\$\{(?:env:([A-Za-z_][A-Za-z0-9_]*)|([^:}]+)(?::-([^}]*))?)\}`)

// expandCursor fills in variables; one without a value and a default stays as written and is named.
func expandCursor(env *Env, text string) (filled string, unset []string) {
	if !strings.Contains(text, "${") {
		return text, nil
	}
	filled = cursorVariable.ReplaceAllStringFunc(text, func(ref string) string {
		m := cursorVariable.FindStringSubmatchIndex(ref)
		name := ref[max(m[2], m[4]):max(m[3], m[5])]
		if v, ok := env.Lookup(name); ok {
			return v
		}
		if m[6] >= 0 {
			return ref[m[6]:m[7]]
		}
		unset = append(unset, name)
		return ref
	})
	return filled, unset
}

// cursorEditorVariables are names that the documentation gives and only the editor knows.
var cursorEditorVariables = []string{"userHome", "workspaceFolder", "workspaceFolderBasename", "pathSeparator"}

// fillCursor fills in one text of an entry, and resolves ~ and ./ in command, arguments and folder.
func fillCursor(env *Env, e *model.Entry, part TextPart, text string) (string, []string) {
	filled, unset := expandCursor(env, text)
	switch part {
	case PartCommand, PartArgument:
		base := env.Project
		if cwd, _ := expandCursor(env, e.Definition.Cwd); cwd != "" {
			base = cursorPath(env, cwd, env.Project)
			if !filepath.IsAbs(base) {
				base = filepath.Join(env.Project, base)
			}
		}
		filled = cursorPath(env, filled, base)
	case PartCwd:
		filled = cursorPath(env, filled, env.Project)
	}
	return filled, unset
}

// fingerprint is what the program hashes of an entry: its schema's keys in the schema's order, variables filled in.
func (c *cursorResolve) fingerprint(s *cursorServer) *jsObject {
	shape := cursorStdioShape
	if s.remote {
		shape = cursorRemoteShape
	}
	server := newJSObject()
	for _, check := range shape {
		v := s.value.Get(check.key)
		if !v.Exists() {
			continue
		}
		value := c.expanded(jsValue(v))
		if o, ok := value.(*jsObject); ok {
			switch check.key {
			case "auth":
				value = o.only("CLIENT_ID", "CLIENT_SECRET", "scopes")
			case "tls":
				o.set("caBundle", trimJS(o.get("caBundle").(string)))
			}
		}
		server.set(check.key, value)
	}
	out := newJSObject()
	out.set("path", c.root)
	out.set("server", server)
	return out
}

// expanded fills in the variables of all texts in a value; keys stay.
func (c *cursorResolve) expanded(v any) any {
	switch v := v.(type) {
	case string:
		s, _ := expandCursor(c.env, v)
		return s
	case []any:
		for i := range v {
			v[i] = c.expanded(v[i])
		}
	case *jsObject:
		for _, k := range v.keys {
			v.set(k, c.expanded(v.get(k)))
		}
	}
	return v
}

// approvalKey is NAME-HASH, as mcp-approvals.json lists it.
func (c *cursorResolve) approvalKey(s *cursorServer) string {
	sum := sha256.Sum256([]byte(jsStringify(c.fingerprint(s))))
	return s.Name + "-" + hex.EncodeToString(sum[:])[:16]
}

var cursorApproval = regexp.MustCompile(`(?s)^(.*)-[0-9a-f]{16}$`)

// cursorCandidate is an entry with what the program makes of it.
type cursorCandidate struct {
	*cursorServer
	made cursorMade
}

// cursorMade is what is made of an entry, its project and the environment alone.
type cursorMade struct {
	approvalKey string
	unset       []string
	findings    []model.Finding
}

// candidates makes the entries of a file ready for comparing. What does not change with approvals and switches is kept with
// the file.
func (c *cursorResolve) candidates(f *cursorFile) []cursorCandidate {
	if f == nil {
		return nil
	}
	made := Memo(f.file, "cursor-cli/"+string(f.file.Scope)+"/"+c.root, func() []cursorMade {
		out := make([]cursorMade, len(f.servers))
		for i := range f.servers {
			out[i] = c.make(&f.servers[i])
		}
		return out
	})
	out := make([]cursorCandidate, len(f.servers))
	for i := range f.servers {
		s := &f.servers[i]
		out[i] = cursorCandidate{s, made[i]}
		s.Findings = append(slices.Clip(s.Findings), made[i].findings...)
		if s.Scope == model.ScopeUser && s.fault == nil {
			if _, ok := c.approvals.lines[made[i].approvalKey]; !ok {
				s.Findings = append(s.Findings, model.Finding{Code: model.FindingUserApprovalUnneeded, Severity: model.Info,
					Text: "it has no approval and needs none; a program of June 2026 was seen to ask for one"})
			}
		}
	}
	return out
}

// unsettledVariable finds a variable that may have a value elsewhere; -1 when there is none.
func unsettledVariable(unset []string) int {
	return slices.IndexFunc(unset, func(name string) bool {
		return !slices.Contains(cursorEditorVariables, name) && plainVariable.MatchString(name)
	})
}

// approval decides about an entry of the project.
func (c *cursorResolve) approval(s *cursorCandidate) (model.Decision, model.Reason) {
	if _, ok := c.approvals.lines[s.made.approvalKey]; ok {
		return model.DecisionLoads, model.Reason{}
	}
	old, known := c.former[s.Name]
	unsettled := unsettledVariable(s.made.unset)
	switch {
	case !known:
		return model.DecisionWaits, model.Reason{Code: model.ReasonNeedsApproval, DecidedBy: s.Source,
			Text: "Cursor CLI starts a server of a project only after an approval, which is kept outside of the repository"}
	case unsettled >= 0:
		return model.DecisionUnknown, model.Reason{Code: model.ReasonApprovalUnseen, DecidedBy: s.Source,
			Text: fmt.Sprintf("approvals are made of the filled in entry, and %s is not set here: where it is, the approval in %s:%d may match",
				quoted(s.made.unset[unsettled]), c.tilde(old.Path), old.Line)}
	default:
		return model.DecisionWaits, model.Reason{Code: model.ReasonApprovalChanged, DecidedBy: old,
			Text: "the approval is for another definition of this name, or for other values of its variables"}
	}
}

func (c *cursorResolve) unset(s *cursorServer) []string {
	if s.Definition == nil {
		return nil
	}
	var names []string
	for _, text := range definitionTexts(s.Definition) {
		_, unset := expandCursor(c.env, text)
		for _, n := range unset {
			if !slices.Contains(names, n) {
				names = append(names, n)
			}
		}
	}
	return names
}

// cells compares the two files name by name.
func (c *cursorResolve) cells(project, user *cursorFile) []*model.Cell {
	type named struct{ project, user *cursorCandidate }
	names := map[string]*named{}
	var order []*named
	put := func(list []cursorCandidate, slot func(*named) **cursorCandidate) {
		for i := range list {
			n := names[list[i].Name]
			if n == nil {
				n = &named{}
				names[list[i].Name] = n
				order = append(order, n)
			}
			*slot(n) = &list[i]
		}
	}
	put(c.candidates(project), func(n *named) **cursorCandidate { return &n.project })
	put(c.candidates(user), func(n *named) **cursorCandidate { return &n.user })
	out := make([]*model.Cell, 0, len(order))
	for _, n := range order {
		if c.offInBoth(n.project, n.user) {
			// Neither displaces the other: both are there to be switched on again.
			out = append(out, c.cell(n.project, nil), c.cell(nil, n.user))
			continue
		}
		out = append(out, c.cell(n.project, n.user))
	}
	return out
}

func (c *cursorResolve) offInBoth(project, user *cursorCandidate) bool {
	if project == nil || user == nil || project.fault != nil || user.fault != nil || c.broken != nil {
		return false
	}
	_, off := c.disabled.lines[project.Name]
	return off
}

// make computes the approval key of an entry and the findings that are the program's own.
func (c *cursorResolve) make(s *cursorServer) cursorMade {
	m := cursorMade{unset: c.unset(s)}
	if s.fault == nil {
		m.approvalKey = c.approvalKey(s)
	}
	for _, key := range []string{"disabled", "envFile", "enabledTools"} {
		if k := s.value.Get(key); k.Exists() {
			text := key + " is not read by Cursor CLI: its switch is a list outside of this file"
			if key != "disabled" {
				text = key + " is not read by Cursor CLI, only by the editor"
			}
			m.findings = append(m.findings, model.Finding{Code: model.FindingUselessKey, Severity: model.Warning, Line: k.Line(), Text: text})
		}
	}
	for _, name := range m.unset {
		text := "the text stays as written"
		switch {
		case slices.Contains(cursorEditorVariables, name):
			text = "only the editor knows that name, here the text stays as written"
		case !plainVariable.MatchString(name):
			name = "${…}"
		}
		m.findings = append(m.findings, unsetFinding(name, text, 0))
	}
	return m
}

// cell decides about one name. Filters come first, then merging: an entry of the project that is not approved leaves the
// user's running, a name that is switched off is gone in both files.
func (c *cursorResolve) cell(project, user *cursorCandidate) *model.Cell {
	var winner *cursorCandidate
	var decision model.Decision
	var reason model.Reason
	var replaces []model.Replaced
	var pending []model.Pending
	if project != nil && project.fault == nil {
		decision, reason = c.approval(project)
		if decision == model.DecisionLoads {
			winner = project
		}
	}
	switch {
	case user == nil:
	case user.fault != nil:
		pending = append(pending, c.pendingFault(user))
	case winner != nil:
		replaces = append(replaces, model.Replaced{Scope: user.Scope, Source: user.Source})
	default:
		winner = user
	}
	switch {
	case project == nil || project == winner:
	case project.fault != nil:
		pending = append(pending, c.pendingFault(project))
	case winner != nil:
		state := model.StateUnapproved
		if decision == model.DecisionUnknown {
			state = model.StateUnknown
		}
		pending = append(pending, model.Pending{Entry: project.Entry, State: state, Reason: reason})
	default:
		winner = project
	}
	var out *model.Cell
	switch {
	case winner == nil:
		last := pending[len(pending)-1] // the project's, if both are lost
		out = cell(last.Entry, model.DecisionCannot, last.Reason)
		pending = pending[:len(pending)-1]
	case winner == project:
		out = cell(winner.Entry, decision, reason)
	default:
		out = cell(winner.Entry, model.DecisionLoads, model.Reason{})
	}
	out.Replaces, out.Pending = replaces, pending
	c.applySwitches(out)
	out.Capabilities = c.capabilities(out)
	if winner == project && decision == model.DecisionLoads {
		consentOfFolder([]*model.Cell{out}, c.approvals.lines[project.made.approvalKey])
	}
	return out
}

func (c *cursorResolve) pendingFault(s *cursorCandidate) model.Pending {
	return model.Pending{Entry: s.Entry, State: model.StateError, Reason: model.Reason{Code: model.ReasonFileRefused, DecidedBy: s.fault.at,
		Text: fmt.Sprintf("Cursor CLI drops all servers of %s without a message: %s", c.tilde(s.Source.Path), s.fault.text)}}
}

func (c *cursorResolve) applySwitches(out *model.Cell) {
	if c.broken != nil {
		out.Decision = model.DecisionCannot
		out.Reason = model.Reason{Code: model.ReasonFileRefused, Text: c.broken.Text, DecidedBy: c.broken.Location}
		return
	}
	if out.Decision == model.DecisionCannot {
		return
	}
	if at, off := c.disabled.lines[out.Name]; off {
		out.Decision = model.DecisionOff
		out.Reason = model.Reason{Code: model.ReasonSwitchedOff, DecidedBy: at,
			Text: "its name is in mcp-disabled.json, which switches it off in this project, whichever file declares it"}
		return
	}
	if d := out.Definition; out.Decision == model.DecisionLoads && d.Transport == model.TransportStdio && d.Command == "" {
		out.Decision = model.DecisionCannot
		out.Reason = model.Reason{Code: model.ReasonEntryInvalid, DecidedBy: out.Source, Text: "the command is empty: there is nothing to start"}
	}
}

func (c *cursorResolve) capabilities(out *model.Cell) model.Capabilities {
	caps := model.Capabilities{Approve: "approved already", Login: "not needed"}
	if out.Definition != nil && out.Definition.Transport.Remote() {
		caps.Login = ""
	}
	switch {
	case c.broken != nil:
		caps.Toggle = "a file of the program is broken: mend it first"
		caps.Approve = caps.Toggle
	case out.Decision == model.DecisionCannot:
		caps.Toggle, caps.Approve = "the entry does not load: mend it first", "the entry does not load: mend it first"
	case out.Decision == model.DecisionUnknown:
		caps.Approve = "a variable of the entry is not set here, so its approval cannot be computed"
	case out.Decision == model.DecisionWaits || waitsBeside(out):
		caps.Approve = c.approvalRefused(out.Name)
	case out.Scope == model.ScopeUser:
		caps.Approve = "not needed, user scope"
	case out.Decision == model.DecisionOff:
		caps.Approve = "not needed, it is switched off"
	}
	return caps
}

func (c *cursorResolve) tilde(path string) string { return model.Tilde(path, c.env.Home) }
