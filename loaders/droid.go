package loaders

import (
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"fusebox/loaders/jsonc"
	"fusebox/model"
)

// factoryDroid is the registry row of Factory Droid. Its rules were observed on 0.215.0 with `droid mcp list`, which starts the
// servers.
func factoryDroid() Harness {
	return Harness{
		Harness: model.Harness{
			ID: "droid", Aliases: []string{"factory-droid"}, Title: "Factory Droid", Heading: "Droid", Verified: model.VerifiedRun, VersionChecked: "0.215.0",
			BlindSpots: []model.BlindSpot{
				{Code: "remote-policy", Text: "servers and policies that an organisation sends to signed-in users"},
				{Code: "plugins", Text: "servers of plugins"},
				{Code: "session-flags", Text: "--settings of one session"},
				{Code: "folder-question", Text: "the question about a folder that a session in a terminal asks first"},
				{Code: "sign-in", Text: "whether a remote server asks for a sign-in"},
			},
		},
		Resolve: resolveDroid,
		Launch: LaunchRules{Class: EnvironmentFull, Fill: fillDroid,
			ToolName: func(server, tool string) string { return droidName(server) + "___" + foldName(tool) }},
		Sessions: SessionRules{Programs: []string{"droid"}, Packages: []string{"node_modules/droid/"}, Not: []string{"mcp", "exec", "daemon"}, Reload: "type /mcp there, or restart Droid"},
		Toggle:   entrySwitch(Format{JSON: droidJSON}, "disabled", true, "mcpServers"),
	}
}

// droidJSON is JSON with comments. A trailing comma or a byte order mark makes a file invalid.
var droidJSON = jsonc.Options{Comments: true, ReplaceInvalidUTF8: true}

// droid is one resolve of Factory Droid.
type droid struct {
	plainResolve
	policy *droidPolicy
}

// droidPolicy is the mcpPolicy that counts: one that is on lets in only what is in its list.
type droidPolicy struct {
	at    model.Location
	allow []string
}

func resolveDroid(env *Env, r *Reader) Result {
	d := &droid{plainResolve: plainResolve{env: env, r: r, title: "Droid"}}
	start := r.RealPath(env.Project)
	user := env.InHome(".factory")
	var files [][]plainEntry
	for _, dir := range droidFolders(r, start) {
		if factory := filepath.Join(dir, ".factory"); factory != user && factory != r.RealPath(user) {
			files = append(files, d.folder(factory, model.ScopeProject))
		}
	}
	files = append(files, d.folder(user, model.ScopeUser))
	r.Ignored(joinPath(start, ".mcp.json"), model.ScopeProject, "Droid does not read it: a project's servers stand in .factory/mcp.json")
	return d.result(d.cells(files), r.IsDir(user))
}

// droidFolders are the folders whose .factory counts, the highest first: from the session's folder up to the root of its
// repository, or that folder alone.
func droidFolders(r *Reader, start string) []string {
	above := Ancestors(start)
	if i := slices.Index(above, gitRoot(r, start)); i >= 0 {
		return above[:i+1]
	}
	return []string{start}
}

// folder reads the servers and the policy of one .factory. A file of servers that does not parse is dropped, and the entries
// below come back.
func (d *droid) folder(factory string, scope model.Scope) []plainEntry {
	f := d.r.ReadJSON(filepath.Join(factory, "mcp.json"), scope, 0, droidJSON)
	entries := d.servers(f, func(m plainMember) plainEntry { return droidEntry(d.env, m) }, "mcpServers")
	if f.Status == model.FileMalformed || f.Status == model.FileRefused {
		d.note("file-dropped", f.Path, f.Location().Line, d.tilde(f.Path)+" is dropped as a whole: "+model.Clean(f.Note))
	}
	d.wrongKeys(f, "mcpServers")
	for _, name := range []string{"settings.local.json", "settings.json"} {
		f := d.r.Peek(filepath.Join(factory, name), scope)
		d.r.ParseJSON(f, droidJSON)
		policy := f.Root().Get("mcpPolicy")
		if on, _ := policy.Get("enabled").Bool(); !on {
			d.r.Drop(f)
			continue
		}
		if d.policy == nil {
			allow, _ := policy.Get("allowlist").Strings()
			d.policy = &droidPolicy{at: f.At(JoinKey("mcpPolicy", "allowlist"), policy), allow: allow}
		}
	}
	return entries
}

// cells lays the files over each other, the highest first: the first entry of a name wins whole, also when it is switched off
// or does not fit. Names that Droid writes the same way are one name, and the last one of a file wins.
func (d *droid) cells(files [][]plainEntry) []*model.Cell {
	byName := map[string][]*plainEntry{}
	var order []string
	for _, entries := range files {
		mine := map[string]int{} // where this file's entries of a name stand
		for i := range entries {
			name := droidName(entries[i].Name)
			at, again := mine[name]
			if !again {
				at = len(byName[name])
			}
			if at == 0 && !again {
				order = append(order, name)
			}
			mine[name] = at
			byName[name] = slices.Insert(byName[name], at, &entries[i])
		}
	}
	out := make([]*model.Cell, 0, len(order))
	var null *model.Location
	for _, name := range order {
		c := d.cell(byName[name])
		if c.Reason.Text == droidNull && null == nil {
			null = &c.Reason.DecidedBy
		}
		out = append(out, c)
	}
	if null != nil {
		d.broken = &model.Problem{Location: *null, Text: "Droid starts no server at all: an entry is null"}
		for _, c := range out {
			c.Decision, c.Reason = model.DecisionCannot, model.Reason{Code: model.ReasonEntryInvalid, DecidedBy: *null, Text: d.broken.Text}
			c.Capabilities = d.capabilities(c)
		}
	}
	return out
}

// cell makes a cell of the entries of a name, the highest first. Only what a dropped file has does not count.
func (d *droid) cell(entries []*plainEntry) *model.Cell {
	var fault *model.Reason
	found := false
	counted := make([]*plainEntry, len(entries))
	for i, e := range entries {
		if e.fault != nil && e.fault.Code == model.ReasonFileRefused {
			counted[i] = e
			continue
		}
		if !found && e.off == nil {
			fault = e.fault
		}
		found = true
		fits := *e
		fits.fault = nil
		counted[i] = &fits
	}
	c := d.plainResolve.cell(counted)
	if fault != nil {
		c.Decision, c.Reason = model.DecisionCannot, *fault
		c.Capabilities = d.capabilities(c)
	}
	return d.decide(c)
}

// decide holds a cell to the policy.
func (d *droid) decide(c *model.Cell) *model.Cell {
	if d.policy == nil || c.Definition == nil || c.Decision == model.DecisionCannot || d.policy.lets(c.Definition) {
		return c
	}
	where := d.tilde(d.policy.at.Path)
	if c.Decision == model.DecisionLoads {
		c.Decision = model.DecisionOff
		c.Reason = model.Reason{Code: model.ReasonBlockedByPolicy, DecidedBy: d.policy.at, Text: "the mcpPolicy of " + where + " does not let it in"}
	}
	c.Capabilities.Toggle = "the mcpPolicy of " + where + " keeps it off"
	return c
}

// lets tells whether the list has the host of a URL, or a part of the command or of an argument.
func (p *droidPolicy) lets(def *model.Definition) bool {
	if def.Transport.Remote() {
		u, err := url.Parse(def.URL.Reveal())
		if err != nil {
			return false
		}
		host := droidHost(u.Hostname())
		return slices.ContainsFunc(p.allow, func(item string) bool {
			allowed := droidHost(strings.TrimSpace(item))
			if u, err := url.Parse(item); err == nil && u.Scheme != "" && strings.Contains(item, "://") {
				if u.Scheme != "http" && u.Scheme != "https" {
					return false
				}
				allowed = droidHost(u.Hostname())
			}
			return allowed != "" && (host == allowed || strings.HasSuffix(host, "."+allowed))
		})
	}
	return slices.ContainsFunc(p.allow, func(item string) bool {
		item = droidLetters(item)
		return item != "" && (strings.Contains(droidLetters(def.Command), item) ||
			slices.ContainsFunc(def.Args, func(arg model.Secret) bool { return strings.Contains(droidLetters(arg.Reveal()), item) }))
	})
}

func droidHost(host string) string { return strings.TrimSuffix(strings.ToLower(host), ".") }

// droidLetters keeps what is compared of a command: small letters and digits.
func droidLetters(text string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return -1
	}, strings.ToLower(text))
}

var (
	droidDashes  = regexp.MustCompile(`[\s/\\@#$%^&*()+=\[\]{}|;:'"<>,.?\x{a0}\x{feff}\x{2028}\x{2029}\x0b\p{Zs}]+`)
	droidNothing = regexp.MustCompile(`[^a-zA-Z0-9_-]`)
	droidRuns    = regexp.MustCompile(`-+`)
)

// droidName is how Droid writes a name: letters, digits, _ and -, at most 32.
func droidName(name string) string {
	name = droidNothing.ReplaceAllString(droidDashes.ReplaceAllString(name, "-"), "")
	name = strings.Trim(droidRuns.ReplaceAllString(name, "-"), "-")
	if len(name) > 32 {
		name = strings.TrimRight(name[:32], "-")
	}
	if name == "" {
		return "invalid-server-name"
	}
	return name
}

var droidVariable = regexp.MustCompile(`\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}`)

// fillDroid fills in ${NAME} and ${NAME:-default} in values of variables and headers. A server with a name that is not set does
// not start.
func fillDroid(env *Env, _ *model.Entry, part TextPart, text string) (string, []string) {
	if part != PartEnv && part != PartHeader {
		return text, nil
	}
	var unset []string
	filled := droidVariable.ReplaceAllStringFunc(text, func(ref string) string {
		m := droidVariable.FindStringSubmatch(ref)
		v, set := env.Lookup(m[1])
		if hasDefault := strings.Contains(ref, ":-"); hasDefault && v == "" {
			return m[2]
		}
		if set {
			return v
		}
		if !slices.Contains(unset, m[1]) {
			unset = append(unset, m[1])
		}
		return ref
	})
	return filled, unset
}

const droidNull = "the entry is null: Droid starts no server at all"

// droidEntry reads one entry. Without a type it is stdio, also where it has nothing but a url.
func droidEntry(env *Env, m plainMember) plainEntry {
	var e plainEntry
	v := m.Value
	if v.Kind() == jsonc.Null {
		e.fault = m.invalid(v, droidNull)
		return e
	}
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
	if off := v.Get("disabled"); truthy(off, func(text string) string { return text }) {
		e.off = m.switchedOff("disabled")
		if off.Kind() != jsonc.Bool {
			e.off.Text = "disabled counts as true in its entry"
		}
	}
	if e.Definition != nil {
		var unset []string
		for _, v := range append(slices.Clone(e.Definition.Env), e.Definition.Headers...) {
			_, names := fillDroid(env, nil, PartEnv, v.Value.Reveal())
			unset = append(unset, names...)
		}
		slices.Sort(unset)
		for _, name := range slices.Compact(unset) {
			e.Findings = append(e.Findings, unsetFinding(name, "Droid does not start it", 0))
		}
	}
	m.useless(&e, "is not read by Droid: its switch is disabled", "enabled")
	m.filter(&e, "", "disabledTools")
	return e
}
