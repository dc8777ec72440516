package loaders

import (
	"path/filepath"
	"regexp"
	"slices"
	"sort"
	"strings"
	"time"

	"fusebox/model"
)

// EnvironmentClass orders what harnesses give a server of their own environment, smallest first.
type EnvironmentClass uint8

// The classes.
const (
	EnvironmentShort    EnvironmentClass = iota // a fixed short list
	EnvironmentFiltered                         // all but secret-looking variables
	EnvironmentFull                             // all
)

// String is the class in words, for a confirmation.
func (c EnvironmentClass) String() string {
	switch c {
	case EnvironmentShort:
		return "a short list of your environment"
	case EnvironmentFiltered:
		return "your environment without secret-looking variables"
	default:
		return "your whole environment"
	}
}

// LaunchRules say how a harness starts or reaches a server, and how it names its tools. The zero value is: the whole
// environment, the session's folder, values as written, tools under their own names, no filter.
type LaunchRules struct {
	Class EnvironmentClass
	// Inherit returns what a server gets of the environment besides its entry's own variables; nil: all of it.
	Inherit func(env *Env, e *model.Entry) map[string]string
	// Fill fills in variables in one text of the definition, and names those without a value; nil: as written. It opens no
	// file that the text points at.
	Fill func(env *Env, e *model.Entry, part TextPart, text string) (filled string, unset []string)
	// FillFiles replaces references to files in a filled text by what the files hold, and names those that cannot be read;
	// nil: the harness knows none. That is part of a launch.
	FillFiles func(env *Env, e *model.Entry, text string) (filled string, unset []string)
	// Cwd returns the folder that a server starts in; nil: the entry's cwd (relative to the session's folder), else that
	// folder.
	Cwd func(env *Env, e *model.Entry) string
	// Speaks tells whether the harness has the transport; nil: stdio, http and sse.
	Speaks func(t model.Transport) bool
	// ToolName is the name under which the harness's model sees a tool; nil: the bare name.
	ToolName func(server, tool string) string
	// NameLimit is the longest tool name that the harness passes on; 0: none known.
	NameLimit int
	// Drops tells whether the harness's filter takes a tool away; nil: exact names, the deny list after the allow list.
	Drops func(f *model.ToolFilter, server, tool string) bool
}

// TextPart is which text of a definition is filled in.
type TextPart uint8

// The parts.
const (
	PartCommand TextPart = iota
	PartArgument
	PartEnv
	PartCwd
	PartURL
	PartHeader
)

// Launch is what a harness would start or reach for one cell, everything filled in. It holds secrets and must not be shown;
// its Shown method is for that.
type Launch struct {
	Transport model.Transport
	Command   string
	Args      []string
	Env       []string // complete, KEY=VALUE, sorted
	OwnEnv    []string // names of the variables that the entry sets
	Dir       string
	URL       string
	Headers   []model.Variable
	Class     EnvironmentClass
	Unset     []string // names without a value
	Secrets   []model.Variable
	Limit     time.Duration // the harness's own limit for the start; 0: its default
	Helper    bool          // a headersHelper command exists; it is not run
}

// LaunchFor fills in what this harness would start or reach for an entry. It opens the files that the entry points at.
func (h *Harness) LaunchFor(env *Env, e *model.Entry) Launch { return h.launch(env, e, true) }

// PlannedLaunch is what can be told of a launch before anybody wants it: it opens no file that the entry points at, so
// references to files stay as written, and Env holds the entry's own variables only.
func (h *Harness) PlannedLaunch(env *Env, e *model.Entry) Launch { return h.launch(env, e, false) }

func (h *Harness) launch(env *Env, e *model.Entry, now bool) Launch {
	d, rules := e.Definition, h.Launch
	l := Launch{Transport: d.Transport, Class: rules.Class, Limit: d.StartTimeout, Secrets: d.Secrets(), Helper: d.HeadersHelper.Reveal() != ""}
	fill := func(part TextPart, text string) string {
		filled, unset := text, []string(nil)
		if rules.Fill != nil && text != "" {
			filled, unset = rules.Fill(env, e, part, text)
		}
		if rules.FillFiles != nil && now {
			whole, missing := rules.FillFiles(env, e, filled)
			filled, unset = whole, append(unset, missing...)
		}
		for _, n := range unset {
			if !slices.Contains(l.Unset, n) {
				l.Unset = append(l.Unset, n)
			}
		}
		for _, part := range filledIn(env, text, filled) {
			l.Secrets = append(l.Secrets, model.Variable{Name: "token", Value: model.NewSecret(part)})
		}
		return filled
	}
	if d.Transport.Remote() {
		l.URL = fill(PartURL, d.URL.Reveal())
		for _, v := range d.Headers {
			l.Headers = append(l.Headers, model.Variable{Name: v.Name, Value: model.NewSecret(fill(PartHeader, v.Value.Reveal()))})
		}
		for _, v := range d.HeaderVariables {
			value, set := env.Lookup(v.Value.Reveal())
			if !set {
				l.Unset = append(l.Unset, v.Value.Reveal())
				continue
			}
			l.Headers = append(l.Headers, model.Variable{Name: v.Name, Value: model.NewSecret(value)})
		}
		if d.BearerVariable != "" {
			if token, set := env.Lookup(d.BearerVariable); set {
				l.Headers = append(l.Headers, model.Variable{Name: "Authorization", Value: model.NewSecret("Bearer " + token)})
			} else {
				l.Unset = append(l.Unset, d.BearerVariable)
			}
		}
		l.Secrets = append(l.Secrets, l.Headers...)
		return l
	}
	l.Command = fill(PartCommand, d.Command)
	for _, a := range d.ArgTexts() {
		l.Args = append(l.Args, fill(PartArgument, a))
	}
	var inherited map[string]string
	switch {
	case !now:
	case rules.Inherit != nil:
		inherited = rules.Inherit(env, e)
	default:
		inherited = env.Vars
	}
	vars := make(map[string]string, len(inherited)+len(d.Env))
	for k, v := range inherited {
		vars[k] = v
	}
	for _, name := range d.Inherit {
		if v, set := env.Lookup(name); set {
			vars[name] = v
		} else {
			l.Unset = append(l.Unset, name)
		}
		l.OwnEnv = append(l.OwnEnv, name)
	}
	for _, v := range d.Env {
		filled := fill(PartEnv, v.Value.Reveal())
		vars[v.Name] = filled
		l.OwnEnv = append(l.OwnEnv, v.Name)
		l.Secrets = append(l.Secrets, model.Variable{Name: v.Name, Value: model.NewSecret(filled)})
	}
	for k, v := range vars {
		l.Env = append(l.Env, k+"="+v)
	}
	sort.Strings(l.Env)
	sort.Strings(l.OwnEnv)
	switch cwd := fill(PartCwd, d.Cwd); {
	case rules.Cwd != nil:
		l.Dir = rules.Cwd(env, e)
	case cwd == "":
		l.Dir = env.Project
	case filepath.IsAbs(cwd):
		l.Dir = filepath.Clean(cwd)
	default:
		l.Dir = filepath.Join(env.Project, cwd)
	}
	return l
}

// plainVariables hold nothing that a server must not say again: where they are filled in, paths stay readable.
var plainVariables = []string{"HOME", "USERPROFILE", "PWD", "USER", "USERNAME", "LOGNAME", "SHELL", "PATH", "TMPDIR", "TEMP", "TMP", "LANG", "TERM"}

// textReference is a place in a definition that something is filled in at, in the forms of all harnesses.
var textReference = regexp.MustCompile(`\$\{[^}]*\}|\$[A-Za-z_][A-Za-z0-9_]*|%[A-Za-z_][A-Za-z0-9_]*%|\{(?:env|file):[^}]*\}`)

// filledIn returns what was put into a text: the whole text, and each value in it, since a server may say that alone.
func filledIn(env *Env, text, filled string) []string {
	if filled == text {
		return nil
	}
	out := []string{filled}
	plain := func(value string) bool {
		return slices.ContainsFunc(plainVariables, func(n string) bool { return env.Var(n) == value })
	}
	add := func(value string) {
		if value != "" && value != filled && !plain(value) && !slices.Contains(out, value) {
			out = append(out, value)
		}
	}
	// The values stand between the parts that are as written.
	rest, last := filled, 0
	for i, m := range textReference.FindAllStringIndex(text, -1) {
		at := strings.Index(rest, text[last:m[0]])
		if at < 0 || i == 0 && at > 0 {
			rest = "" // it was changed otherwise as well, e.g. made absolute
			break
		}
		if i > 0 {
			add(rest[:at])
		}
		rest, last = rest[at+m[0]-last:], m[1]
	}
	if value, ok := strings.CutSuffix(rest, text[last:]); ok {
		add(value)
	}
	for _, value := range env.Vars {
		if len(value) >= 6 && strings.Contains(filled, value) && !strings.Contains(text, value) {
			add(value)
		}
	}
	return out
}

// Speaks tells whether the harness has the transport of an entry.
func (h *Harness) Speaks(t model.Transport) bool {
	if h.Launch.Speaks != nil {
		return h.Launch.Speaks(t)
	}
	return t == model.TransportStdio || t == model.TransportHTTP || t == model.TransportSSE
}

// Same is equal for launches that start or reach the same with the same own variables and headers: one start answers for
// both, if the environment that they inherit is the same. It holds secrets and must not be shown.
func (l *Launch) Same() string {
	d := model.Definition{Transport: l.Transport, Command: l.Command, Args: model.Secrets(l.Args), Cwd: l.Dir,
		URL: model.NewSecret(l.URL), Headers: l.Headers}
	own := map[string]bool{}
	for _, n := range l.OwnEnv {
		own[n] = true
	}
	for _, kv := range l.Env {
		if k, v, _ := strings.Cut(kv, "="); own[k] {
			d.Env = append(d.Env, model.Variable{Name: k, Value: model.NewSecret(v)})
		}
	}
	return d.Key()
}

// ToolsFor makes a harness's view of what a server lists: filters, shown names, sums.
func (h *Harness) ToolsFor(e *model.Entry, tools []model.Tool) *model.ToolList {
	rules := h.Launch
	out := &model.ToolList{Listed: len(tools), All: tools, Dropped: make([]bool, len(tools)), Names: []string{}, ShownAs: []string{}}
	for i := range tools {
		t := &tools[i]
		if e.Filter != nil && h.drops(e.Filter, e.Name, t.Name) {
			out.Dropped[i] = true
			continue
		}
		out.Offered++
		out.Tokens += t.Tokens()
		if t.Unclear() {
			out.Unclear++
		}
		shown := t.Name
		if rules.ToolName != nil {
			shown = rules.ToolName(e.Name, t.Name)
		}
		out.Names = append(out.Names, t.Name)
		out.ShownAs = append(out.ShownAs, shown)
		if rules.NameLimit > 0 && len(shown) > rules.NameLimit {
			out.TooLong = append(out.TooLong, shown)
		}
	}
	return out
}

func (h *Harness) drops(f *model.ToolFilter, server, tool string) bool {
	if h.Launch.Drops != nil {
		return h.Launch.Drops(f, server, tool)
	}
	return f.Limited && !slices.Contains(f.Allow, tool) || slices.Contains(f.Deny, tool)
}

// joinToolName is the form "PREFIX server SEPARATOR tool", every character outside A-Z a-z 0-9 _ - an underscore.
func joinToolName(prefix, separator string) func(server, tool string) string {
	return func(server, tool string) string { return prefix + foldName(server) + separator + foldName(tool) }
}

// sdkEnvironment is what the official TypeScript SDK gives a stdio server of its own environment: a short list, and no
// values that are shell functions.
func sdkEnvironment(env *Env) map[string]string {
	names := []string{"HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER"}
	if env.GOOS == "windows" {
		names = []string{"APPDATA", "HOMEDRIVE", "HOMEPATH", "LOCALAPPDATA", "PATH", "PROCESSOR_ARCHITECTURE", "SYSTEMDRIVE",
			"SYSTEMROOT", "TEMP", "USERNAME", "USERPROFILE", "PROGRAMFILES"}
	}
	out := map[string]string{}
	for _, n := range names {
		if v, ok := env.Lookup(n); ok && !strings.HasPrefix(v, "()") {
			out[n] = v
		}
	}
	return out
}
