package loaders

import (
	"fmt"
	"path/filepath"
	"slices"

	"fusebox/loaders/jsonc"
	"fusebox/model"
)

// combiner is the registry row of the MCP combiner of mcp-companion: its servers.json, as `mcp-combiner start` finds it, under
// the lists that .mcp-companion.json lays over it for a folder. Both were observed on the loading code of 0.13.3; what a
// running combiner does with a server was read in its source.
func combiner() Harness {
	return Harness{
		Harness: model.Harness{
			ID: "combiner", Aliases: []string{"mcp-combiner", "mcp-companion"}, Title: "MCP combiner", Heading: "Combiner",
			Verified: model.VerifiedRun, VersionChecked: "0.13.3",
			BlindSpots: []model.BlindSpot{
				{Code: "session-flags", Text: "--config of one start, and the file that a running combiner was started with"},
				{Code: "neovim-search", Text: "the Neovim plugin's own search for the file: its setting, then .mcphub/servers.json, servers.json, .mcp/servers.json and .mcp.json of the folder, then Neovim's own folders"},
				{Code: "other-plugins", Text: "variables and settings of the plugins for OpenCode and Pi that name another file"},
				{Code: "running-combiner", Text: "servers switched on or off in a running combiner, which nothing stores; it reads its file again only when told to"},
				{Code: "default-visibility", Text: "what sessions see where no .mcp-companion.json counts: the plugin's auto_http_tools, auto_acp_tools and auto_cli_tools, and filters of one session"},
				{Code: "sharedserver", Text: "whether the program sharedserver is there, which starts the combiner and the processes of sharedServers"},
				{Code: "working-folder", Text: "the folder and the environment that the combiner was started in, which its servers get"},
				{Code: "sign-in", Text: "whether a remote server asks for a sign-in; stored tokens are not read"},
			},
		},
		Resolve: func(env *Env, r *Reader) Result { return combinerOf(env, r).result },
		Sessions: SessionRules{Programs: []string{"mcp-combiner"}, Packages: []string{"mcp_combiner"},
			Not:    []string{"start", "stop", "restart", "status", "health", "enable", "disable", "restart-server", "reload", "call", "tools", "session"},
			Reload: "run mcp-combiner reload; lists of .mcp-companion.json count for new chats"},
		Launch: LaunchRules{
			Class:    EnvironmentShort, // as the Python SDK has it (source)
			Inherit:  func(env *Env, _ *model.Entry) map[string]string { return sdkEnvironment(env) },
			Fill:     combinerReferences.launchFill,
			ToolName: func(server, tool string) string { return server + "_" + tool },
			Drops:    combinerDrops,
		},
		Toggle: toggleCombiner,
	}
}

// combinerDrops: toolFilter lets through what one of its patterns matches. Permissions gate calls and hide nothing.
func combinerDrops(f *model.ToolFilter, _, tool string) bool {
	return f.Limited && !slices.ContainsFunc(f.Allow, func(pattern string) bool { return pythonFnmatch(tool, pattern) })
}

// combinerResolve is one resolve of the combiner.
type combinerResolve struct {
	env   *Env
	r     *Reader
	start string // the session's folder, links resolved

	config  *ConfigFile // the file that counts; nil when none is found
	servers *combinerServers
	project *ConfigFile // the nearest .mcp-companion.json; absent, in the session's folder, where there is none
	lists   *combinerLists
	result  Result
}

func combinerOf(env *Env, r *Reader) *combinerResolve {
	return keepResolve(r, "combiner", func() *combinerResolve {
		c := &combinerResolve{env: env, r: r, start: r.RealPath(env.Project), servers: &combinerServers{key: "mcpServers"}, lists: &combinerLists{}}
		c.findConfig()
		c.readConfig()
		c.readProject()
		c.result.Cells = c.cells()
		c.result.Present = r.IsDir(env.InHome(".config/mcp-combiner"))
		c.strayFiles()
		return c
	})
}

func (c *combinerResolve) tilde(path string) string { return model.Tilde(path, c.env.Home) }

func (c *combinerResolve) note(code, path string, line int, format string, args ...any) {
	c.result.Notes = append(c.result.Notes, model.Note{Code: code, Path: path, Line: line, Text: fmt.Sprintf(format, args...)})
}

// findConfig looks in the order of mcp-combiner start. What a variable names is taken as it is, without ~, and nothing else
// is looked for; of the usual files the first that is a file counts.
func (c *combinerResolve) findConfig() {
	usual := []string{
		c.env.InHome(".cache/secrets/" + c.env.Var("USER") + ".mcpservers.json"),
		c.env.InHome(".config/mcp-combiner/servers.json"),
		c.env.InHome(".config/mcp/servers.json"),
	}
	for _, name := range []string{"MCP_COMBINER_CONFIG", "CLAUDE_MCP_COMBINER_CONFIG"} {
		path := c.env.Var(name)
		if path == "" {
			continue
		}
		if !filepath.IsAbs(path) {
			path = filepath.Join(c.start, path)
		}
		c.config = c.r.ReadJSON(path, model.ScopeCustom, 0, pythonJSON)
		if !c.r.IsFile(path) {
			c.result.Broken = &model.Problem{Location: model.Location{Path: "$" + name, Line: 1},
				Text: fmt.Sprintf("%s names %s, which is no file: the combiner does not start, and looks nowhere else", name, c.tilde(c.config.Path))}
		}
		for _, other := range usual {
			if filepath.Clean(other) != c.config.Path {
				c.r.Ignored(other, model.ScopeUser, "not read while "+name+" names a file")
			}
		}
		return
	}
	for _, path := range usual {
		if c.config != nil {
			c.r.Ignored(path, model.ScopeUser, "not read beside "+c.tilde(c.config.Path))
			continue
		}
		f := c.r.ReadJSON(path, model.ScopeUser, 0, pythonJSON)
		switch {
		case c.r.IsFile(path):
			c.config = f
		case f.Exists():
			c.r.Mark(f, model.FileIgnored, "passed over: "+f.Note)
		}
	}
}

// readConfig reads the file that counts. One fault takes all of it down.
func (c *combinerResolve) readConfig() {
	f := c.config
	if f == nil || c.result.Broken != nil {
		return
	}
	refuse := func(at model.Location, why string) {
		c.result.Broken = &model.Problem{Location: at, Text: fmt.Sprintf("the combiner refuses %s as a whole: %s", c.tilde(f.Path), model.Clean(why))}
	}
	switch f.Status {
	case model.FileMalformed:
		refuse(f.Location(), f.Note)
		c.servers = combinerFile(c.env, c.r.Recover(f))
	case model.FileRefused:
		refuse(model.Location{Path: f.Path, Line: 1}, f.Note)
	case model.FileRead:
		c.servers = combinerFile(c.env, f)
		if fault := c.servers.fault; fault != nil {
			c.r.Refuse(f, fault.at, fault.why)
			refuse(fault.at, fault.why)
		}
		c.result.Notes = append(c.result.Notes, c.servers.notes...)
	}
}

// inProject tells whether a variable points at a file inside the folder.
func (c *combinerResolve) inProject() bool {
	return c.config != nil && c.config.Scope == model.ScopeCustom && Within(c.config.Path, c.start) && c.start != c.r.RealPath(c.env.Home)
}

// cells says of each server whether a combiner that is started now would have it, and shows it here.
func (c *combinerResolve) cells() []*model.Cell {
	inProject := c.inProject()
	out := make([]*model.Cell, 0, len(c.servers.entries))
	for i := range c.servers.entries {
		e := &c.servers.entries[i]
		x := cell(e.Entry, model.DecisionLoads, model.Reason{})
		if inProject {
			x.Findings = append(slices.Clone(x.Findings), repositoryFinding())
		}
		listed, hidden := c.hides(e.Name)
		switch {
		case c.result.Broken != nil:
			x.Decision = model.DecisionCannot
			x.Reason = model.Reason{Code: model.ReasonFileRefused, Text: c.result.Broken.Text, DecidedBy: c.result.Broken.Location}
			if e.orphan() && e.fault != nil {
				x.Reason = *e.fault
			}
		case e.off != nil:
			x.Decision, x.Reason = model.DecisionOff, *e.off
		case hidden:
			x.Decision, x.Reason = model.DecisionOff, listed
		case e.fault != nil:
			x.Decision, x.Reason = model.DecisionCannot, *e.fault
		}
		x.Capabilities = c.capabilities(e, x)
		out = append(out, x)
	}
	return out
}

func (c *combinerResolve) capabilities(e *combinerEntry, x *model.Cell) model.Capabilities {
	caps := model.Capabilities{Approve: "not needed", Login: "not needed"}
	if d := e.Definition; d != nil && d.Transport.Remote() && !slices.ContainsFunc(d.Headers, func(h model.Variable) bool { return h.Name == "Authorization" }) {
		caps.Login = ""
	}
	switch {
	case c.result.Broken != nil:
		caps.Toggle = "the combiner refuses its file: mend it first"
	case x.Decision == model.DecisionOff && e.orphan():
		caps.Toggle = "the combiner would not start with it on: its sharedServer is not defined"
	}
	return caps
}

// strayFiles reports files that look right and that mcp-combiner start does not read.
func (c *combinerResolve) strayFiles() {
	stray := func(path string, scope model.Scope, why string) {
		if (c.config == nil || c.config.Path != path) && c.r.Ignored(path, scope, why) {
			c.note(string(model.FindingFileNotRead), path, 1, "%s: %s", c.tilde(path), why)
		}
	}
	if home := c.env.ConfigHome(); home != c.env.InHome(".config") {
		for _, name := range []string{"mcp-combiner", "mcp"} {
			stray(filepath.Join(home, name, "servers.json"), model.ScopeUser, "not read: the combiner does not look at XDG_CONFIG_HOME")
		}
	}
	config, data := filepath.Join(c.env.ConfigHome(), "nvim"), filepath.Join(c.env.DataHome(), "nvim")
	if local := c.env.Var("LOCALAPPDATA"); c.env.GOOS == "windows" && local != "" {
		config, data = filepath.Join(local, "nvim"), filepath.Join(local, "nvim-data")
	}
	const neovim = "the Neovim plugin looks for it, mcp-combiner start does not"
	stray(filepath.Join(data, "mcp-companion", "servers.json"), model.ScopeUser, neovim)
	if c.config == nil && !c.project.Exists() {
		return // another plugin's files do not show that the combiner is here
	}
	stray(filepath.Join(c.start, ".mcphub", "servers.json"), model.ScopeProject, neovim)
	stray(filepath.Join(config, "mcphub", "servers.json"), model.ScopeUser, neovim)
}

// combinerFileName is the file of a folder that limits what sessions see there.
const combinerFileName = ".mcp-companion.json"

// combinerProjectJSON is how Neovim parses: no comments, any bytes.
var combinerProjectJSON = jsonc.Options{NonFinite: true, ReplaceInvalidUTF8: true}

// combinerLists are the lists of a .mcp-companion.json that counts.
type combinerLists struct {
	usable bool
	combinerPair
	adapters []combinerAdapter
}

// combinerPair is an allow list or a deny list, or neither.
type combinerPair struct{ allow, deny *combinerList }

// combinerList is one list. One that is written as an object counts as empty.
type combinerList struct {
	key    string
	at     model.Location
	names  map[string]model.Location
	order  []string
	object bool
}

// combinerAdapter is what the file says for the sessions of one adapter or agent: its own lists stand in for those at the top.
type combinerAdapter struct {
	combinerPair
	name string
	at   model.Location
}

// readProject reads the nearest .mcp-companion.json at or above the session's folder. One that Neovim refuses counts as none,
// and no outer one is looked for.
func (c *combinerResolve) readProject() {
	for _, dir := range Ancestors(c.start) {
		path := filepath.Join(dir, combinerFileName)
		if c.r.IsFile(path) {
			c.project = c.r.ReadJSON(path, model.ScopeProject, 0, combinerProjectJSON)
			break
		}
		if _, err := c.r.Lstat(path); err == nil {
			if f := c.r.Read(path, model.ScopeProject, 0); f.Exists() {
				c.r.Mark(f, model.FileIgnored, "passed over: "+f.Note)
			}
		}
	}
	if c.project == nil {
		c.project = c.r.Read(filepath.Join(c.start, combinerFileName), model.ScopeProject, 0)
		return
	}
	f := c.project
	if f.Status == model.FileRead {
		var fault *combinerFault
		if c.lists, fault = parseCombinerLists(f); fault != nil {
			c.r.Refuse(f, fault.at, fault.why)
			c.lists = &combinerLists{}
		}
	}
	if !c.lists.usable {
		c.note("lists-not-read", f.Path, f.Location().Line, "%s counts for nothing: %s; what sessions see is left to the settings of the Neovim plugin", c.tilde(f.Path), model.Clean(f.Note))
		return
	}
	c.listNotes()
}

// listNotes tell what the file means for whom, one line for each adapter.
func (c *combinerResolve) listNotes() {
	f, l := c.project, c.lists
	known := map[string]bool{}
	for i := range c.servers.entries {
		known[c.servers.entries[i].Name] = true
	}
	for _, list := range []*combinerList{l.allow, l.deny} {
		if list == nil {
			continue
		}
		c.note("neovim-only", f.Path, list.at.Line, "%s of %s counts for sessions that the Neovim plugin starts: other clients of the combiner see every server", list.key, c.tilde(f.Path))
		if list.object {
			c.note(string(model.FindingWrongType), f.Path, list.at.Line, "%s is an object: it counts as an empty list", list.key)
		}
		var strangers []string
		for _, name := range list.order {
			if !known[name] {
				strangers = append(strangers, quoted(name))
			}
		}
		if len(strangers) > 0 && len(known) > 0 {
			c.note("unknown-name", f.Path, list.at.Line, "%s names no server of the combiner: %s", list.key, someNames(strangers))
		}
	}
	const most = 50
	for i, a := range l.adapters {
		if i == most {
			c.note("adapter-list", f.Path, a.at.Line, "and %d more adapters with an entry of their own", len(l.adapters)-most)
			break
		}
		text := "see every server, whatever the lists at the top say"
		if list := a.list(); list != nil {
			names := make([]string, len(list.order))
			for i, name := range list.order {
				names[i] = quoted(name)
			}
			switch {
			case list == a.allow && len(names) == 0:
				text = "see no server"
			case list == a.allow:
				text = "see only " + someNames(names)
			case len(names) > 0:
				text = "see every server but " + someNames(names)
			}
		}
		c.note("adapter-list", f.Path, a.at.Line, "sessions of %s %s", quoted(a.name), text)
	}
}

// list is the one list of a pair, or nil.
func (p combinerPair) list() *combinerList {
	if p.allow != nil {
		return p.allow
	}
	return p.deny
}

// hides tells whether the lists at the top of the project's file leave a server out, and why.
func (c *combinerResolve) hides(name string) (model.Reason, bool) {
	if l := c.lists.allow; l != nil {
		_, allowed := l.names[name]
		return model.Reason{Code: model.ReasonBlockedByList, DecidedBy: l.at,
			Text: fmt.Sprintf("%s of %s leaves it out", l.key, c.tilde(c.project.Path))}, !allowed
	}
	if l := c.lists.deny; l != nil {
		if at, denied := l.names[name]; denied {
			return model.Reason{Code: model.ReasonBlockedByList, DecidedBy: at,
				Text: fmt.Sprintf("%s of %s names it", l.key, c.tilde(c.project.Path))}, true
		}
	}
	return model.Reason{}, false
}

// parseCombinerLists reads a file as the Neovim plugin does: one fault anywhere refuses all of it.
func parseCombinerLists(f *ConfigFile) (*combinerLists, *combinerFault) {
	type parsed struct {
		lists *combinerLists
		fault *combinerFault
	}
	p := Memo(f, "combiner/lists", func() parsed {
		x := &combinerListReader{file: f}
		lists := x.read(f.Root())
		return parsed{lists, x.fault}
	})
	return p.lists, p.fault
}

type combinerListReader struct {
	file  *ConfigFile
	fault *combinerFault
}

func (x *combinerListReader) refuse(v jsonc.Value, format string, args ...any) {
	if x.fault == nil {
		x.fault = &combinerFault{x.file.At("", v), fmt.Sprintf(format, args...)}
	}
}

// isTable tells whether a value is a table in Lua.
func isTable(v jsonc.Value) bool { return v.Kind() == jsonc.Object || v.Kind() == jsonc.Array }

func (x *combinerListReader) read(root jsonc.Value) *combinerLists {
	l := &combinerLists{usable: true}
	if !isTable(root) {
		x.refuse(root, "the top level is %s, not an object", typeWord(root))
		return l
	}
	l.combinerPair = x.pair(root, "", "")
	if v := root.Get("tool_system_prompts"); v.Exists() && v.Kind() != jsonc.Bool {
		x.refuse(v, "tool_system_prompts must be true or false")
	}
	approve := root.Get("auto_approve")
	if approve.Exists() && approve.Kind() != jsonc.Object {
		x.refuse(approve, "auto_approve must be an object of servers")
	}
	for _, m := range approve.Members() {
		switch {
		case m.Shadowed:
		case m.Key == "":
			x.refuse(m.Value, "auto_approve has an empty name")
		case m.Value.Kind() != jsonc.Bool:
			x.list(m, "auto_approve."+quoted(m.Key), "")
		}
	}
	adapters := root.Get("adapters")
	switch {
	case !adapters.Exists():
	case !isTable(adapters) || adapters.Kind() == jsonc.Array && adapters.Len() > 0:
		x.refuse(adapters, "adapters must be an object of adapters")
	}
	for _, m := range adapters.Members() {
		switch {
		case m.Shadowed:
		case m.Key == "":
			x.refuse(m.Value, "adapters has an empty name")
		case !isTable(m.Value):
			x.refuse(m.Value, "adapters.%s must be an object", quoted(m.Key))
		default:
			a := combinerAdapter{name: m.Key, at: model.Location{Path: x.file.Path, Key: "adapters." + JoinKey(m.Key), Line: m.Line()}}
			a.combinerPair = x.pair(m.Value, "adapters."+quoted(m.Key)+".", a.at.Key+".")
			l.adapters = append(l.adapters, a)
		}
	}
	return l
}

// pair reads the two lists of an object, of which one may be there. shown and key are what stands before their names.
func (x *combinerListReader) pair(v jsonc.Value, shown, key string) combinerPair {
	var p combinerPair
	if second := v.Get("disabled_servers"); second.Exists() && v.Get("allowed_servers").Exists() {
		x.refuse(second, "%sallowed_servers and disabled_servers exclude each other", shown)
		return p
	}
	for _, m := range v.Members() {
		switch {
		case m.Shadowed:
		case m.Key == "allowed_servers":
			p.allow = x.list(m, shown+m.Key, key+m.Key)
		case m.Key == "disabled_servers":
			p.deny = x.list(m, shown+m.Key, key+m.Key)
		}
	}
	return p
}

func (x *combinerListReader) list(m jsonc.Member, shown, key string) *combinerList {
	l := &combinerList{key: m.Key, at: model.Location{Path: x.file.Path, Key: key, Line: m.Line()}, names: map[string]model.Location{}, object: m.Value.Kind() == jsonc.Object}
	if !isTable(m.Value) {
		x.refuse(m.Value, "%s must be a list of names", shown)
	}
	for _, item := range m.Value.Elements() {
		name, ok := item.Str()
		if !ok || name == "" {
			x.refuse(item, "%s holds something that is no name", shown)
			continue
		}
		if _, twice := l.names[name]; !twice {
			l.order = append(l.order, name)
			l.names[name] = x.file.At(key, item)
		}
	}
	return l
}
