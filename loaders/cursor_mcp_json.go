package loaders

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"fusebox/loaders/jsonc"
	"fusebox/model"
)

// The mcp.json of Cursor, which its command line program and its editor both read. What each of them makes of it stands in
// a file of its own.

// cursorJSON is how Cursor parses mcp.json: jsonc-parser, which reads what it can of a broken file (@cursor/sdk 1.0.32).
var cursorJSON = jsonc.Options{Lenient: true, Comments: true, TrailingCommas: true, BOM: true, ReplaceInvalidUTF8: true}

// cursorFile is one mcp.json.
type cursorFile struct {
	file    *ConfigFile
	servers []cursorServer // in file order, without those that a later one of the same name replaces
	listed  bool           // mcpServers is an object
}

// cursorServer is one entry. It is one of the two shapes, or has a fault.
type cursorServer struct {
	model.Entry
	value  jsonc.Value
	remote bool
	fault  *cursorFault
}

// cursorFault is what does not fit the schema.
type cursorFault struct {
	at   model.Location
	text string
}

// readCursorFile reads one mcp.json. A file that is cut off or has mistakes gives what could be recovered.
func readCursorFile(r *Reader, path string, scope model.Scope) *cursorFile {
	f := r.ReadJSON(path, scope, 0, cursorJSON)
	if !f.OK() {
		return &cursorFile{file: f}
	}
	if errs := f.JSON.Errors(); len(errs) > 0 && len(f.Data) > 0 {
		r.Mark(f, model.FileRead, model.Clean(errs[0].Error())+": Cursor reads what it can of the rest")
	}
	parsed := Memo(f, "cursor/"+string(scope), func() *cursorFile {
		out := &cursorFile{}
		servers := f.Root().Get("mcpServers")
		out.listed = servers.Kind() == jsonc.Object
		members := servers.Members()
		twice := duplicates(members)
		for _, m := range members {
			if m.Shadowed {
				continue
			}
			s := readCursorServer(f, m, scope)
			if _, ok := twice[m.Key]; ok {
				s.Findings = append(s.Findings, duplicateFinding(m.Key, m.Line()))
			}
			out.servers = append(out.servers, s)
		}
		return out
	})
	return &cursorFile{file: f, servers: slices.Clone(parsed.servers), listed: parsed.listed}
}

// readCursorServer reads one entry: a command makes it stdio, else a url makes it remote.
func readCursorServer(f *ConfigFile, m jsonc.Member, scope model.Scope) cursorServer {
	key := "mcpServers." + JoinKey(m.Key)
	s := cursorServer{Entry: model.Entry{Name: m.Key, Scope: scope, Source: f.Member(key, m)}, value: m.Value}
	v := m.Value
	if v.Kind() != jsonc.Object {
		s.fault = &cursorFault{s.Source, fmt.Sprintf("the entry %s is %s, not an object", quoted(m.Key), typeWord(v))}
		return s
	}
	bad, why := misfit(v, cursorStdioShape)
	if why != "" {
		badRemote, whyRemote := misfit(v, cursorRemoteShape)
		s.remote = whyRemote == ""
		if !s.remote {
			switch {
			case v.Get("command").Exists():
			case v.Get("url").Exists():
				bad, why = badRemote, whyRemote
			default:
				bad, why = v, "it has neither command nor url"
			}
			at := f.At(key, bad)
			s.fault = &cursorFault{at, fmt.Sprintf("the entry %s is invalid: %s", quoted(m.Key), why)}
			s.remote = !v.Get("command").Exists()
		}
	}
	s.Definition = cursorDefinition(v, s.remote)
	s.findings()
	return s
}

func cursorAuth(v jsonc.Value) bool {
	secret, scopes := v.Get("CLIENT_SECRET"), v.Get("scopes")
	return v.Get("CLIENT_ID").Kind() == jsonc.String && (!secret.Exists() || isText(secret)) && (!scopes.Exists() || isTextList(scopes))
}

func cursorTLS(v jsonc.Value) bool {
	bundle, ok := v.Get("caBundle").Str()
	n := textLength(trimJS(bundle))
	return ok && n >= 1 && n <= 131072 && !slices.ContainsFunc(v.Members(), func(m jsonc.Member) bool { return m.Key != "caBundle" })
}

// The two shapes, their keys in the order in which Cursor writes them for fingerprints (@cursor/sdk 1.0.32).
var (
	cursorStdioShape = []valueCheck{
		{"type", false, "stdio, where there is a command", isWord("stdio")},
		{"command", true, "a text", isText},
		{"args", false, "a list of texts", isTextList},
		{"env", false, "an object of texts", isTextMap},
		{"cwd", false, "a text", isText},
	}
	cursorRemoteShape = []valueCheck{
		{"type", false, "http or sse, where there is a url", isWord("http", "sse")},
		{"url", true, "a text", isText},
		{"headers", false, "an object of texts", isTextMap},
		{"auth", false, "an object with CLIENT_ID", cursorAuth},
		{"tls", false, "an object with nothing but caBundle", cursorTLS},
		{"placement", false, "server or client", isWord("server", "client")},
	}
)

// cursorDefinition reads the transport part as written; a command line without args is split.
func cursorDefinition(v jsonc.Value, remote bool) *model.Definition {
	d := &model.Definition{}
	if remote {
		d.Transport = model.TransportHTTP
		if t, _ := v.Get("type").Str(); t == "sse" {
			d.Transport = model.TransportSSE
		}
		u, _ := v.Get("url").Str()
		d.URL = model.NewSecret(u)
		d.Headers, _ = stringMap(v.Get("headers"))
		return d
	}
	d.Transport = model.TransportStdio
	d.Command, _ = v.Get("command").Str()
	if args, _ := v.Get("args").Strings(); len(args) > 0 {
		d.Args = model.Secrets(args)
	} else if words := splitCommandLine(d.Command); len(words) > 0 {
		d.Command, d.Args = words[0], model.Secrets(words[1:])
	} else {
		d.Command = ""
	}
	d.Env, _ = stringMap(v.Get("env"))
	d.Cwd, _ = v.Get("cwd").Str()
	return d
}

// findings notes keys that do nothing, or not what they look like.
func (s *cursorServer) findings() {
	v := s.value
	add := func(code model.FindingCode, severity model.Severity, at jsonc.Value, text string) {
		s.Findings = append(s.Findings, model.Finding{Code: code, Severity: severity, Line: at.Line(), Text: text})
	}
	if u := v.Get("url"); u.Exists() && !s.remote && s.fault == nil {
		add(model.FindingConflictingKeys, model.Warning, u, "the url beside a command is ignored")
	}
	if c := v.Get("command"); c.Exists() && s.remote && s.fault == nil {
		add(model.FindingConflictingKeys, model.Warning, c, "the command beside a url is ignored: the entry fits only as a remote one")
	}
	for _, key := range []string{"serverUrl", "httpUrl"} {
		if k := v.Get(key); k.Exists() {
			add(model.FindingUnknownKey, model.Warning, k, key+" is not read by Cursor: its key is url")
		}
	}
}

// splitCommandLine splits a text like string-argv 0.3.2: blanks separate words, quotes keep a word together and are
// dropped only where they stand round a whole word. A reference to a variable is never split.
func splitCommandLine(text string) []string {
	var out []string
	isSpace := func(r rune) bool { return trimJS(string(r)) == "" }
	quote := func(s string) (body string, size int) { // a quoted part at the start of s
		if s == "" || s[0] != '\'' && s[0] != '"' {
			return "", 0
		}
		end := strings.IndexByte(s[1:], s[0])
		if end < 0 {
			return "", 0
		}
		return s[1 : 1+end], end + 2
	}
	plain := func(s string) int { // length of the run without blanks and quotes
		n := 0
		for n < len(s) {
			if strings.HasPrefix(s[n:], "${") {
				if end := strings.IndexByte(s[n:], '}'); end > 0 {
					n += end + 1
					continue
				}
			}
			r, size := utf8.DecodeRuneInString(s[n:])
			if r == '\'' || r == '"' || isSpace(r) {
				break
			}
			n += size
		}
		return n
	}
	for len(text) > 0 {
		run := plain(text)
		if run == 0 {
			if body, size := quote(text); size > 0 {
				out = append(out, body)
				text = text[size:]
			} else {
				_, size := utf8.DecodeRuneInString(text)
				text = text[size:]
			}
			continue
		}
		for { // name="quoted part"more is one word, quotes included
			_, size := quote(text[run:])
			if size == 0 {
				break
			}
			run += size
			run += plain(text[run:])
		}
		out = append(out, text[:run])
		text = text[run:]
	}
	return out
}

// cursorPath resolves what Cursor resolves in command, args and cwd: a leading ~ and a leading ./ (from base).
func cursorPath(env *Env, path, base string) string {
	switch {
	case path == "~", strings.HasPrefix(path, "~/"):
		return env.Expand(path)
	case path == ".", strings.HasPrefix(path, "./"):
		return filepath.Join(base, path)
	}
	return path
}
