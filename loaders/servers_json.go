package loaders

import (
	"fmt"
	"math"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"fusebox/loaders/jsonc"
	"fusebox/model"
)

// What the harnesses share whose files are a plain map of servers: reading the map, laying files over each other, and what
// can be done with a cell. Which keys count and what they mean is each harness's own.

// plainResolve is one resolve of such a harness.
type plainResolve struct {
	env    *Env
	r      *Reader
	title  string
	notes  []model.Note
	broken *model.Problem

	taken func(inside string) bool // what of ${...} the harness fills in; nil: each entry says itself what it does with references
	salt  string                   // of what entries depend on besides their file
}

// plainEntry is one server of one file.
type plainEntry struct {
	model.Entry
	fault *model.Reason // the harness does not take it
	off   *model.Reason // its own switch is off
}

// plainMember is an entry as it stands in its file.
type plainMember struct {
	jsonc.Member
	file  *ConfigFile
	key   string // the whole key path
	title string // of the harness
}

// servers reads the map of servers at a key path of a file. A file that does not parse, or whose map is no object, gives the
// names that it has, each with a fault. read makes an entry of a member; it is called once for each content of the file.
func (p *plainResolve) servers(f *ConfigFile, read func(plainMember) plainEntry, keys ...string) []plainEntry {
	switch f.Status {
	case model.FileMalformed:
		lost := p.r.Recover(f)
		return p.lost(f, p.entries(lost, lost.Root().Lookup(keys...), read, keys))
	case model.FileRead:
	default:
		return nil
	}
	root := f.Root()
	if root.Kind() != jsonc.Object {
		p.r.Refuse(f, f.At("", root), "the top level is "+typeWord(root)+", not an object")
		return nil
	}
	at := root
	for i, key := range keys {
		at = at.Get(key)
		if !at.Exists() {
			return nil
		}
		if at.Kind() != jsonc.Object {
			p.r.Refuse(f, f.At(JoinKey(keys[:i+1]...), at), fmt.Sprintf("%s is %s, not an object", JoinKey(keys[:i+1]...), typeWord(at)))
			return nil
		}
	}
	return p.entries(f, at, read, keys)
}

func (p *plainResolve) entries(f *ConfigFile, servers jsonc.Value, read func(plainMember) plainEntry, keys []string) []plainEntry {
	parsed := Memo(f, fmt.Sprintf("%s/%s/%s/%t", p.title, f.Scope, JoinKey(keys...), f.OK()), func() []plainEntry {
		members := servers.Members()
		twice := duplicates(members)
		out := make([]plainEntry, 0, len(members))
		for _, m := range members {
			if m.Shadowed {
				continue
			}
			pm := plainMember{Member: m, file: f, title: p.title, key: JoinKey(append(slices.Clone(keys), m.Key)...)}
			e := read(pm)
			e.Name, e.Scope, e.Source = m.Key, f.Scope, pm.at()
			if _, ok := twice[m.Key]; ok {
				e.Findings = append(e.Findings, duplicateFinding(m.Key, m.Line()))
			}
			p.references(&e)
			if f.Scope == model.ScopeProject {
				e.Findings = append(e.Findings, repositoryFinding())
			}
			out = append(out, e)
		}
		return out
	})
	return slices.Clone(parsed)
}

// references notes what is written like a variable and is none to the harness.
func (p *plainResolve) references(e *plainEntry) {
	if p.taken != nil && e.Definition != nil {
		e.Findings = append(e.Findings, strangeReferences(p.title, e.Definition, p.taken)...)
	}
}

// lost gives all entries of a file that the harness does not read the same fault.
func (p *plainResolve) lost(f *ConfigFile, entries []plainEntry) []plainEntry {
	reason := &model.Reason{Code: model.ReasonFileRefused, DecidedBy: f.Location(),
		Text: fmt.Sprintf("%s does not read %s: %s", p.title, p.tilde(f.Path), model.Clean(f.Note))}
	for i := range entries {
		entries[i].fault, entries[i].off = reason, nil
	}
	return entries
}

// refuse says that one fault takes all servers of a file down, and returns them with that fault.
func (p *plainResolve) refuse(f *ConfigFile, at model.Location, why string, entries []plainEntry) []plainEntry {
	p.r.Refuse(f, at, why)
	return p.lost(f, entries)
}

// stops makes a file that is malformed or refused the fault of the whole harness.
func (p *plainResolve) stops(f *ConfigFile) {
	if p.broken == nil && (f.Status == model.FileMalformed || f.Status == model.FileRefused) {
		p.broken = &model.Problem{Location: f.Location(), Text: fmt.Sprintf("%s does not read %s, and has no server of it: %s", p.title, p.tilde(f.Path), model.Clean(f.Note))}
	}
}

// cells lays the files over each other, the highest first: the first entry of a name that the harness takes wins whole, also
// when it is switched off.
func (p *plainResolve) cells(files ...[]plainEntry) []*model.Cell {
	byName := map[string][]*plainEntry{}
	var order []string
	for _, entries := range files {
		for i := range entries {
			name := entries[i].Name
			if byName[name] == nil {
				order = append(order, name)
			}
			byName[name] = append(byName[name], &entries[i])
		}
	}
	out := make([]*model.Cell, 0, len(order))
	for _, name := range order {
		out = append(out, p.cell(byName[name]))
	}
	return out
}

func (p *plainResolve) cell(entries []*plainEntry) *model.Cell {
	var winner *plainEntry
	var replaces []model.Replaced
	var pending []model.Pending
	for _, e := range entries {
		switch {
		case e.fault != nil:
			pending = append(pending, model.Pending{Entry: e.Entry, State: model.StateError, Reason: *e.fault})
		case winner == nil:
			winner = e
		default:
			replaces = append(replaces, model.Replaced{Scope: e.Scope, Source: e.Source})
		}
	}
	var out *model.Cell
	switch {
	case winner == nil:
		out = cell(pending[0].Entry, model.DecisionCannot, pending[0].Reason)
		pending = pending[1:]
	case winner.off != nil:
		out = cell(winner.Entry, model.DecisionOff, *winner.off)
	default:
		out = cell(winner.Entry, model.DecisionLoads, model.Reason{})
	}
	out.Replaces, out.Pending = replaces, pending
	out.Capabilities = p.capabilities(out)
	return out
}

// capabilities are those of a harness without approvals whose switch is in the entry.
func (p *plainResolve) capabilities(out *model.Cell) model.Capabilities {
	caps := model.Capabilities{Approve: p.title + " has no approval of servers", Login: "not needed"}
	if d := out.Definition; d != nil && d.Transport.Remote() && d.BearerVariable == "" {
		caps.Login = ""
	}
	if out.Decision == model.DecisionCannot {
		caps.Toggle = "the entry does not load: mend it first"
	}
	return caps
}

func (p *plainResolve) tilde(path string) string { return model.Tilde(path, p.env.Home) }

func (p *plainResolve) note(code model.FindingCode, path string, line int, text string) {
	p.notes = append(p.notes, model.Note{Code: string(code), Path: path, Line: line, Text: text})
}

// stray reports a file that looks right and that the harness does not read.
func (p *plainResolve) stray(path string, scope model.Scope, why string) {
	if p.r.Ignored(path, scope, why) {
		p.note(model.FindingFileNotRead, path, 1, p.tilde(path)+": "+why)
	}
}

// wrongKeys notes keys of the top level that hold servers for other harnesses.
func (p *plainResolve) wrongKeys(f *ConfigFile, right string) {
	for _, key := range []string{"servers", "mcpServers", "mcp_servers", "mcp", "context_servers", "mcp.servers"} {
		if v := f.Root().Get(key); key != right && v.Kind() == jsonc.Object && v.Len() > 0 {
			p.note(model.FindingWrongKey, f.Path, v.Line(), fmt.Sprintf("%s has %q; %s reads %q", p.tilde(f.Path), key, p.title, right))
		}
	}
}

func (p *plainResolve) result(cells []*model.Cell, present bool) Result {
	return Result{Cells: cells, Notes: p.notes, Broken: p.broken, Present: present}
}

// at is the line that holds the name.
func (m plainMember) at() model.Location { return m.file.Member(m.key, m.Member) }

// where is the place of a value of the entry, or the entry's own.
func (m plainMember) where(v jsonc.Value) model.Location {
	at := m.at()
	if v.Exists() {
		at.Line = v.Line()
	}
	return at
}

// invalid is the fault of an entry that the harness refuses because of one value.
func (m plainMember) invalid(v jsonc.Value, format string, args ...any) *model.Reason {
	return &model.Reason{Code: model.ReasonEntryInvalid, DecidedBy: m.where(v), Text: fmt.Sprintf(format, args...)}
}

// skipped is the fault of an entry that the harness leaves out.
func (m plainMember) skipped(v jsonc.Value, format string, args ...any) *model.Reason {
	return &model.Reason{Code: model.ReasonEntrySkipped, DecidedBy: m.where(v), Text: fmt.Sprintf(format, args...)}
}

// switchedOff is the reason of an entry whose switch is off.
func (m plainMember) switchedOff(key string) *model.Reason {
	v := m.Value.Get(key)
	word := "false"
	if on, ok := v.Bool(); ok && on {
		word = "true"
	}
	at := m.where(v)
	at.Key += "." + key
	return &model.Reason{Code: model.ReasonSwitchedOff, DecidedBy: at, Text: fmt.Sprintf("%s is %s in its entry", key, word)}
}

// find adds a finding at a value.
func (m plainMember) find(e *plainEntry, code model.FindingCode, v jsonc.Value, format string, args ...any) {
	e.Findings = append(e.Findings, model.Finding{Code: code, Severity: model.Warning, Line: v.Line(), Text: fmt.Sprintf(format, args...)})
}

// useless notes keys of an entry that the harness does not read.
func (m plainMember) useless(e *plainEntry, why string, keys ...string) {
	for _, key := range keys {
		if v := m.Value.Get(key); v.Exists() {
			m.find(e, model.FindingUselessKey, v, "%s %s", key, why)
		}
	}
}

// conflict notes the transport keys that lose in an entry with both.
func (m plainMember) conflict(e *plainEntry, remote bool, urlKey string) {
	u, c := m.Value.Get(urlKey), m.Value.Get("command")
	switch {
	case !u.Exists() || !c.Exists():
	case remote:
		m.find(e, model.FindingConflictingKeys, c, "the command beside a %s is ignored", urlKey)
	default:
		m.find(e, model.FindingConflictingKeys, u, "the %s beside a command is ignored", urlKey)
	}
}

// unset names the variables without a value, found by names.
func (m plainMember) unset(e *plainEntry, names func(...string) []string, consequence string) {
	if e.Definition == nil {
		return
	}
	for _, name := range names(definitionTexts(e.Definition)...) {
		e.Findings = append(e.Findings, unsetFinding(name, consequence, 0))
	}
}

// filter reads a list of tool names into the entry's filter.
func (m plainMember) filter(e *plainEntry, allowKey, denyKey string) {
	read := func(key string) ([]string, jsonc.Value, bool) {
		v := m.Value.Get(key)
		list, ok := v.Strings()
		return list, v, ok && v.Kind() == jsonc.Array
	}
	var f model.ToolFilter
	found := false
	if list, v, ok := read(denyKey); ok && len(list) > 0 {
		f.Deny, f.At, found = list, m.where(v), true
		f.At.Key += "." + denyKey
	}
	if list, v, ok := read(allowKey); ok {
		f.Limited, f.Allow, f.At, found = true, list, m.where(v), true
		f.At.Key += "." + allowKey
	}
	if found {
		e.Filter = &f
	}
}

// stdioDefinition reads command, args, env and cwd; what has a wrong type is left out.
func stdioDefinition(v jsonc.Value) *model.Definition {
	d := &model.Definition{Transport: model.TransportStdio}
	d.Command, _ = v.Get("command").Str()
	args, _ := v.Get("args").Strings()
	d.Args = model.Secrets(args)
	d.Env, _ = stringMap(v.Get("env"))
	d.Cwd, _ = v.Get("cwd").Str()
	return d
}

// remoteDefinition reads a URL and headers.
func remoteDefinition(v jsonc.Value, t model.Transport, urlKey string) *model.Definition {
	d := &model.Definition{Transport: t}
	u, _ := v.Get(urlKey).Str()
	d.URL = model.NewSecret(u)
	d.Headers, _ = stringMap(v.Get("headers"))
	return d
}

// plainShapes are the checks of most harnesses.
var (
	plainStdioShape = []valueCheck{
		{"command", true, "a text", isText},
		{"args", false, "a list of texts", isTextList},
		{"env", false, "an object of texts", isTextMap},
		{"cwd", false, "a text", isText},
	}
	plainHeaders = valueCheck{"headers", false, "an object of texts", isTextMap}
)

// limit reads a number of units as the limit of a start; what is no number, or longer than a day, is none.
func limit(v jsonc.Value, unit time.Duration) time.Duration {
	raw, ok := v.Number()
	n, err := strconv.ParseFloat(raw, 64)
	if !ok || err != nil || math.IsNaN(n) || n <= 0 || n > float64(24*time.Hour/unit) {
		return 0
	}
	return time.Duration(n * float64(unit))
}

// braced finds ${...} of any content.
var braced = regexp.MustCompile(`\$\{([^}]*)\}`)

// referenceRules say which ${...} a harness fills in: a lookup gives the value and whether there is one; ok false leaves
// the reference as it is without calling it unset.
type referenceRules func(env *Env, inside string) (value string, set, ok bool)

// fill fills in a text.
func (rules referenceRules) fill(env *Env, text string) (string, []string) {
	if !strings.Contains(text, "${") {
		return text, nil
	}
	var unset []string
	filled := braced.ReplaceAllStringFunc(text, func(ref string) string {
		value, set, ok := rules(env, ref[2:len(ref)-1])
		switch {
		case !ok:
			return ref
		case !set:
			if name := ref[2 : len(ref)-1]; !slices.Contains(unset, name) {
				unset = append(unset, name)
			}
		}
		return value
	})
	return filled, unset
}

// unset names what has no value in some texts, each once.
func (rules referenceRules) unset(env *Env) func(...string) []string {
	return func(texts ...string) []string {
		var out []string
		for _, t := range texts {
			_, names := rules.fill(env, t)
			for _, n := range names {
				if !slices.Contains(out, n) {
					out = append(out, n)
				}
			}
		}
		return out
	}
}

// taken tells which ${...} are filled in, with a value or without.
func (rules referenceRules) taken(env *Env) func(inside string) bool {
	return func(inside string) bool {
		_, _, ok := rules(env, inside)
		return ok
	}
}

// launchFill is fill for LaunchRules.
func (rules referenceRules) launchFill(env *Env, _ *model.Entry, _ TextPart, text string) (string, []string) {
	return rules.fill(env, text)
}

// envReferences fills in ${env:NAME}; a name without a value becomes missing, or stays when missing is nil.
func envReferences(missing *string) referenceRules {
	return func(env *Env, inside string) (string, bool, bool) {
		name, ok := strings.CutPrefix(inside, "env:")
		if !ok {
			return "", false, false
		}
		if v, set := env.Lookup(name); set {
			return v, true, true
		}
		if missing != nil {
			return *missing, false, true
		}
		return "${" + inside + "}", false, true
	}
}

// plainReferences fills in ${NAME} and, with defaults, ${NAME:-default}; a name without a value stays as written.
func plainReferences(defaults bool) referenceRules {
	return func(env *Env, inside string) (string, bool, bool) {
		name, fallback, hasDefault := strings.Cut(inside, ":-")
		if hasDefault && !defaults || !plainVariable.MatchString(name) {
			return "", false, false
		}
		if v, set := env.Lookup(name); set {
			return v, true, true
		}
		if hasDefault {
			return fallback, true, true
		}
		return "${" + inside + "}", false, true
	}
}

// joinPath joins a slash path below a folder.
func joinPath(dir, path string) string { return filepath.Join(dir, filepath.FromSlash(path)) }
