package model

import (
	"fmt"
	"net/url"
	"path"
	"regexp"
	"sort"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Transport is how a harness talks to a server.
type Transport string

// The transports. TransportUnknown is that of an entry that could not be understood.
const (
	TransportUnknown Transport = ""
	TransportStdio   Transport = "stdio"
	TransportHTTP    Transport = "http"
	TransportSSE     Transport = "sse"
	TransportWS      Transport = "ws"
)

// Remote tells whether the transport goes over the network.
func (t Transport) Remote() bool {
	return t == TransportHTTP || t == TransportSSE || t == TransportWS
}

// Definition is the transport part of an entry, as written (variables are not filled in). A definition is never changed
// after it was made; several cells may share it.
type Definition struct {
	Transport Transport

	// stdio
	Command string
	Args    []Secret
	Env     []Variable
	Cwd     string
	Inherit []string // names that the harness passes on from its own environment beside Env (Codex env_vars)

	// http, sse, ws
	URL             Secret
	Headers         []Variable
	HeaderVariables []Variable // header name -> name of the variable that holds its value (Codex env_http_headers)
	BearerVariable  string     // name of the variable that holds a bearer token (Codex bearer_token_env_var)
	HeadersHelper   Secret     // a command whose output is more headers; never run by a listing

	StartTimeout time.Duration // the harness's own limit for the start; 0 = its default

	// Definitions outlive many snapshots: both keys are computed once.
	keyOnce  sync.Once
	key      string
	sameOnce sync.Once
	same     string
}

func (d *Definition) identity() string {
	d.keyOnce.Do(func() { d.key = d.Key() })
	return d.key
}

// equal tells whether two definitions start the same in the same way.
func (d *Definition) equal(o *Definition) bool {
	if d == nil || o == nil {
		return d == o
	}
	return d == o || d.identity() == o.identity() && d.StartTimeout == o.StartTimeout
}

func (d *Definition) sameServer() string {
	d.sameOnce.Do(func() { d.same = d.SameServerKey() })
	return d.same
}

// Secrets returns what must never be shown of the definition, each under the name that it goes by.
func (d *Definition) Secrets() []Variable {
	out := make([]Variable, 0, len(d.Env)+len(d.Headers)+1)
	out = append(out, d.Env...)
	out = append(out, d.Headers...)
	if d.Transport.Remote() {
		out = append(out, urlSecrets(d.URL.text)...)
	} else {
		_, ofCommand := maskCommand(d.Command)
		_, ofArguments := maskArguments(d.ArgTexts())
		out = append(append(out, ofCommand...), ofArguments...)
	}
	return out
}

// plainWord tells whether a path segment is a short lower-case word: hidden in a URL, but no text to hunt for elsewhere.
func plainWord(s string) bool {
	for _, r := range s {
		if (r < 'a' || r > 'z') && r != '-' && r != '_' {
			return false
		}
	}
	return len(s) < 16
}

// urlSecrets returns password, path segments that are no plain words, query values and fragment of a URL.
func urlSecrets(raw string) []Variable {
	var out []Variable
	add := func(s string) {
		if s != "" {
			out = append(out, Variable{"url", Secret{s}})
		}
	}
	u, err := url.Parse(raw)
	if err != nil {
		return []Variable{{"url", Secret{raw}}}
	}
	if u.User != nil {
		add(u.User.Username())
		password, _ := u.User.Password()
		add(password)
	}
	for _, seg := range strings.Split(u.Path, "/") {
		if !plainPathWords[strings.ToLower(seg)] && !plainWord(seg) {
			add(seg)
		}
	}
	for _, values := range u.Query() {
		for _, v := range values {
			add(v)
		}
	}
	add(u.Fragment)
	return out
}

// ArgTexts returns the arguments in clear text, for launching and comparing.
func (d *Definition) ArgTexts() []string {
	out := make([]string, len(d.Args))
	for i, a := range d.Args {
		out[i] = a.Reveal()
	}
	return out
}

// Secrets wraps every text.
func Secrets(texts []string) []Secret {
	out := make([]Secret, len(texts))
	for i, t := range texts {
		out[i] = Secret{t}
	}
	return out
}

// Variables makes a list of variables from a map, sorted by name.
func Variables(m map[string]string) []Variable {
	out := make([]Variable, 0, len(m))
	for k, v := range m {
		out = append(out, Variable{k, Secret{v}})
	}
	sort.Slice(out, func(i, j int) bool { return out[i].Name < out[j].Name })
	return out
}

// Key is equal for two definitions exactly when they are the same transport part. A value that is nothing but a reference
// to a variable counts by the variable's name, however the harness spells it: ${NAME}, $NAME, ${env:NAME}, {env:NAME}, or
// a list of names to pass on. The key holds secrets: it is for comparing only and must not be shown.
func (d *Definition) Key() string {
	var b strings.Builder
	part := func(s string) { b.WriteString(strconv.Itoa(len(s))); b.WriteByte(':'); b.WriteString(s) }
	list := func(lines []string) {
		sort.Strings(lines)
		b.WriteByte('[')
		for _, l := range lines {
			part(l)
		}
		b.WriteByte(']')
	}
	part(string(d.Transport))
	if d.Transport.Remote() {
		part(normalURL(d.URL.text))
		headers := make([]string, 0, len(d.Headers)+len(d.HeaderVariables)+1)
		for _, v := range d.Headers {
			headers = append(headers, strings.ToLower(v.Name)+"\x00"+normalValue(v.Value.text))
		}
		for _, v := range d.HeaderVariables {
			headers = append(headers, strings.ToLower(v.Name)+"\x00"+variableMark+v.Value.text)
		}
		if d.BearerVariable != "" {
			headers = append(headers, "authorization\x00Bearer "+variableMark+d.BearerVariable)
		}
		list(headers)
		part(d.HeadersHelper.text)
		return b.String()
	}
	part(d.Command)
	for _, a := range d.Args {
		part(a.text)
	}
	b.WriteByte('|')
	vars := make([]string, 0, len(d.Env)+len(d.Inherit))
	for _, v := range d.Env {
		vars = append(vars, v.Name+"\x00"+normalValue(v.Value.text))
	}
	for _, n := range d.Inherit {
		vars = append(vars, n+"\x00"+variableMark+n)
	}
	list(vars)
	part(d.Cwd)
	return b.String()
}

// variableMark stands before the name of a variable in a key.
const variableMark = "\x01"

var variableReference = regexp.MustCompile(`^(Bearer )?(?:\$([A-Za-z_][A-Za-z0-9_]*)|\$\{(?:env:)?([A-Za-z_][A-Za-z0-9_]*)\}|\{env:([A-Za-z_][A-Za-z0-9_]*)\})$`)

// normalValue writes a mere reference to a variable in one way.
func normalValue(v string) string {
	if !strings.ContainsAny(v, "${") {
		return v
	}
	m := variableReference.FindStringSubmatch(v)
	if m == nil {
		return v
	}
	return m[1] + variableMark + m[2] + m[3] + m[4]
}

// SameServerKey is equal for definitions that reach the same server: the same command (by file name) with the same
// arguments, or the same URL with scheme and host lower-cased, default port and trailing slash dropped. Environment,
// headers and folder do not count. Empty when there is nothing to compare. It may hold secrets and must not be shown.
func (d *Definition) SameServerKey() string {
	if d.Transport.Remote() {
		if d.URL.text == "" {
			return ""
		}
		return "url\x00" + normalURL(d.URL.text)
	}
	if d.Command == "" {
		return ""
	}
	name := d.Command
	if i := strings.LastIndexAny(name, `/\`); i >= 0 {
		name = name[i+1:]
	}
	name = strings.ToLower(name)
	for _, ext := range []string{".exe", ".cmd", ".bat"} {
		name = strings.TrimSuffix(name, ext)
	}
	var b strings.Builder
	b.WriteString("run\x00" + name)
	for _, a := range d.Args {
		b.WriteByte(0)
		b.WriteString(a.text)
	}
	return b.String()
}

// normalURL lower-cases scheme and host and drops the default port and a trailing slash. A text that is no URL stays.
func normalURL(raw string) string {
	u, err := url.Parse(raw)
	if err != nil || u.Host == "" {
		return strings.TrimRight(raw, "/")
	}
	u.Scheme = strings.ToLower(u.Scheme)
	host := strings.ToLower(u.Host)
	switch u.Scheme {
	case "http", "ws":
		host = strings.TrimSuffix(host, ":80")
	case "https", "wss":
		host = strings.TrimSuffix(host, ":443")
	}
	u.Host = host
	u.Path = strings.TrimRight(u.Path, "/")
	u.RawPath = strings.TrimRight(u.RawPath, "/")
	return u.String()
}

// Display is the definition in one line for people: command and arguments, or the URL. Secret-looking arguments and all
// of a URL but scheme, host and well-known path words are dots.
func (d *Definition) Display() string {
	if d.Transport.Remote() {
		return MaskURL(d.URL.text)
	}
	words := make([]string, 0, len(d.Args)+1)
	words = append(words, quoteWord(MaskCommand(d.Command)))
	for _, a := range MaskArguments(d.ArgTexts()) {
		words = append(words, quoteWord(a))
	}
	return strings.Join(words, " ")
}

// Format prints the definition as Display does, for every verb: fmt would reach the fields, the keys among them.
func (d *Definition) Format(f fmt.State, _ rune) {
	if d == nil {
		fmt.Fprint(f, "<nil>")
		return
	}
	fmt.Fprint(f, d.Display())
}

// quoteWord puts a word into quotes where a reader could not see where it ends.
func quoteWord(w string) string {
	if w == "" || strings.ContainsAny(w, " \t\n\"'") {
		return strconv.Quote(w)
	}
	return w
}

// EnvNames returns the names of the variables that the entry sets or passes on, sorted.
func (d *Definition) EnvNames() []string {
	names := variableNames(d.Env)
	names = append(names, d.Inherit...)
	sort.Strings(names)
	return names
}

// HeaderNames returns the names of the headers that the entry sends, sorted.
func (d *Definition) HeaderNames() []string {
	names := append(variableNames(d.Headers), variableNames(d.HeaderVariables)...)
	if d.BearerVariable != "" {
		names = append(names, "Authorization")
	}
	sort.Strings(names)
	return names
}

func variableNames(vs []Variable) []string {
	names := make([]string, len(vs))
	for i, v := range vs {
		names[i] = v.Name
	}
	return names
}

// tags returns the shortest texts, one for each definition of one name, that tell the definitions apart: transport,
// command name, package or host, else the first harness that has it.
func tags(ds []*Definition, owners []string) []string {
	candidates := []func(*Definition) string{
		func(d *Definition) string {
			if d.Transport.Remote() {
				return string(d.Transport)
			}
			return commandName(d.Command)
		},
		func(d *Definition) string {
			if d.Transport.Remote() {
				return hostOf(d.URL.text)
			}
			return packageOf(d.ArgTexts())
		},
		func(d *Definition) string { return string(d.Transport) },
	}
	for _, f := range candidates {
		seen := map[string]bool{}
		out := make([]string, len(ds))
		for i, d := range ds {
			out[i] = f(d)
			if out[i] == "" || seen[out[i]] {
				out = nil
				break
			}
			seen[out[i]] = true
		}
		if out != nil {
			return out
		}
	}
	out := make([]string, len(ds))
	seen := map[string]bool{}
	for i := range ds {
		out[i] = owners[i]
		if owners[i] == "" || seen[owners[i]] {
			for j := range ds {
				out[j] = "#" + strconv.Itoa(j+1)
			}
			return out
		}
		seen[owners[i]] = true
	}
	return out
}

func commandName(command string) string {
	name := strings.TrimSuffix(path.Base(strings.ReplaceAll(command, `\`, "/")), ".exe")
	if name == "." || name == "/" {
		return ""
	}
	return Clean(name)
}

func hostOf(raw string) string {
	u, err := url.Parse(raw)
	if err != nil {
		return ""
	}
	return Clean(u.Hostname())
}

// packageOf returns the first argument that is no flag and no sub-command word, without scope and version: what npx, uvx
// and docker run are asked for.
func packageOf(args []string) string {
	for _, a := range args {
		if a == "" || strings.HasPrefix(a, "-") || a == "run" || a == "exec" || a == "dlx" || looksSecret(a) {
			continue
		}
		a = a[strings.LastIndexAny(a, `/\`)+1:]
		if i := strings.IndexAny(a, "@:"); i > 0 {
			a = a[:i]
		}
		return Clean(a)
	}
	return ""
}
