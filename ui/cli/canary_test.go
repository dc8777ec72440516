package cli

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/x/ansi"

	"fusebox/loaders"
	"fusebox/model"
	"fusebox/ui"
)

// canaries hands out secrets that look like secrets and are found again wherever they turn up.
type canaries struct {
	secrets []string
	plain   []string // values of variables: they look like words

	made    int // how many canaries the probes were made of
	byProbe map[string]string
}

// next returns a new long random text without characters that a file format or a URL would escape.
func (c *canaries) next() string {
	sum := sha256.Sum256([]byte(fmt.Sprint("canary", len(c.secrets))))
	text := "Cn7" + strings.NewReplacer("+", "x", "/", "y", "=", "").Replace(base64.StdEncoding.EncodeToString(sum[:]))[:33]
	c.secrets = append(c.secrets, text)
	return text
}

// odd returns one with characters that are escaped in URLs.
func (c *canaries) odd() string {
	text := c.next() + "/+ =é&"
	c.secrets[len(c.secrets)-1] = text
	return text
}

// fill replaces every CANARY, ODD and VALUE in a text by a new secret.
func (c *canaries) fill(template string) string {
	var b strings.Builder
	for {
		i := strings.IndexByte(template, '~')
		if i < 0 {
			b.WriteString(template)
			return b.String()
		}
		b.WriteString(template[:i])
		template = template[i+1:]
		if strings.HasPrefix(template, "odd~") {
			b.WriteString(c.odd())
			template = template[len("odd~"):]
			continue
		}
		b.WriteString(c.next())
	}
}

// probeLength is how much of a canary gives it away, in bytes.
const probeLength = 10

// probes are the beginnings and ends of all forms of the canaries, with what they belong to.
func (c *canaries) probes() map[string]string {
	if known := len(c.secrets) + len(c.plain); c.made != known {
		c.made, c.byProbe = known, map[string]string{}
		for _, s := range slices.Concat(c.secrets, c.plain) {
			forms := []string{s, url.QueryEscape(s), url.PathEscape(s)}
			for _, e := range []*base64.Encoding{base64.StdEncoding, base64.RawStdEncoding, base64.URLEncoding, base64.RawURLEncoding} {
				forms = append(forms, e.EncodeToString([]byte(s)))
			}
			for _, form := range forms {
				c.byProbe[form[:probeLength]] = s + " as " + form
				c.byProbe[form[len(form)-probeLength:]] = s + " as " + form
			}
		}
	}
	return c.byProbe
}

// found returns the canaries that a text holds, in clear or encoded, whole or in part.
func (c *canaries) found(text string) []string {
	probes := c.probes()
	var out []string
	for i := 0; i+probeLength <= len(text); i++ {
		if what, ok := probes[text[i:i+probeLength]]; ok && !slices.Contains(out, what) {
			out = append(out, what)
		}
	}
	return out
}

// The documents declare servers in the ways of all known harnesses, with a secret (~) at every place where one can stand.
const (
	canaryStdio = `"command":"run-it","args":["-y","@acme/thing","--api-key","~","--token=~","--header","Authorization: Bearer ~","GITHUB_TOKEN=~","https://~:~@host.example.test/~/mcp?key=~&plain=~#~","postgres://me:~@db/x","~","$PLAIN_VALUE","${PLAIN_VALUE}","${env:PLAIN_VALUE}","{env:PLAIN_VALUE}","${PLAIN_VALUE:-~}"],` +
		`"env":{"GITHUB_TOKEN":"~","PLAIN":"~odd~","FROM":"${PLAIN_VALUE}","OTHER":"{env:PLAIN_VALUE}"},"environment":{"GITHUB_TOKEN":"~"},"envs":{"GITHUB_TOKEN":"~"}`
	canaryRemote = `"url":"https://~:~@host.example.test/v1/~/mcp?key=~&plain=~#~","headers":{"Authorization":"Bearer ~","X-Plain":"~odd~","X-From":"${PLAIN_VALUE}"},"http_headers":{"X-Key":"~"},"requestInit":{"headers":{"X-Key":"~"}},"bearerToken":"~","oauth":{"clientId":"id","clientSecret":"~","client_secret":"~"},"auth":{"CLIENT_SECRET":"~"}`
	canaryBad    = `"bad1":{"command":["~"],"env":["~"]},"bad2":{"command":"x","args":"~","env":"~"},"bad3":{"command":"x","env":{"A":["~"]},"headers":"~"},"bad4":{"type":"http","url":["https://h/~"]},"bad5":"~","bad6":["~"],"bad7":{"url":"~","headers":{"A":7}},"bad8":{"type":"sse","url":"http://[~"}`
)

func canaryServers(bad bool) string {
	servers := `"local":{` + canaryStdio + `},"far":{"type":"http",` + canaryRemote + `},"sse":{"type":"sse",` + canaryRemote + `},"untyped":{` + canaryRemote + `},` +
		`"uri":{"uri":"https://~:~@h/~?k=~"},"serverurl":{"serverUrl":"https://h/~?k=~","headers":{"A":"~"}},"httpurl":{"httpUrl":"https://h/~?k=~","headers":{"A":"~"}},"both":{` + canaryStdio + `,` + canaryRemote + `}`
	if bad {
		servers += "," + canaryBad
	}
	return servers
}

// canaryJSON is a JSON file for every harness that reads JSON; a few want the key at which they look for servers to
// themselves.
func canaryJSON(path string, bad bool) string {
	servers := canaryServers(bad)
	switch slashed := filepath.ToSlash(path); {
	case strings.Contains(slashed, "crush"):
		crush := `"local":{"type":"stdio",` + canaryStdio + `},"far":{"type":"http","url":"https://u:~@h/~?k=~","headers":{"Authorization":"Bearer ~"}}`
		if bad {
			crush += "," + canaryBad
		}
		return `{"mcp":{` + crush + `},"env":{"SETTING":"~"}}`
	case strings.Contains(slashed, "openclaw"):
		return `{"mcp":{"servers":{"local":{` + `"command":"run-it","args":["--api-key","~"],"env":{"GITHUB_TOKEN":"~"}` + `},"far":{"url":"https://u:~@h/~?k=~","headers":{"A":"~"}}}},"env":{"SETTING":"~"}}`
	case strings.Contains(slashed, "amp/"):
		return `{"amp.mcpServers":{` + servers + `},"amp.env":{"SETTING":"~"}}`
	}
	opencode := `"oc":{"type":"local","command":["run-it","--api-key","~","--token=~","https://u:~@h/~?k=~","{env:PLAIN_VALUE}"],"environment":{"A":"~","B":"{env:PLAIN_VALUE}"}},"ocfar":{"type":"remote","url":"https://u:~@h/~?k=~","headers":{"Authorization":"Bearer ~"}}`
	if bad {
		opencode += `,"ocbad":{"type":"local","command":"~","environment":{"A":["~"]}}`
	}
	projects := `"projects":{"PROJECT":{"mcpServers":{` + servers + `}}}`
	return `{"mcpServers":{` + servers + `},"mcp":{` + opencode + `},"context_servers":{` + servers + `},"servers":{` + servers + `},` + projects + `,"env":{"SETTING":"~"}}`
}

const canaryTOML = `
[mcp_servers.local]
command = "run-it"
args = ["--api-key", "~", "--token=~", "https://u:~@h/~?k=~", "~"]
[mcp_servers.local.env]
GITHUB_TOKEN = "~"
PLAIN = "~odd~"
[mcp_servers.far]
url = "https://u:~@host.example.test/~/mcp?key=~#~"
bearer_token_env_var = "PLAIN_VALUE"
[mcp_servers.far.http_headers]
Authorization = "Bearer ~"
`

const canaryYAML = `
mcp_servers:
  local: {command: run-it, args: ["--api-key", "~", "--token=~", "https://u:~@h/~?k=~"], env: {GITHUB_TOKEN: "~", PLAIN: "~"}}
  far: {url: "https://u:~@host.example.test/~/mcp?key=~", headers: {Authorization: "Bearer ~"}}
extensions:
  goose: {type: stdio, enabled: true, name: goose, cmd: run-it, args: ["--api-key", "~"], envs: {GITHUB_TOKEN: "~"}}
  goosefar: {type: streamable_http, enabled: true, name: goosefar, uri: "https://u:~@h/~?k=~", headers: {Authorization: "Bearer ~"}}
mcpServers:
  - {name: listed, command: run-it, args: ["--token=~"], env: {GITHUB_TOKEN: "~"}}
`

// canaryVariants are the texts that are put into one file, one after the other.
func canaryVariants(path, project string) map[string]string {
	switch filepath.Ext(path) {
	case ".toml":
		return map[string]string{"whole": canaryTOML, "broken off": canaryTOML + "[mcp_servers.x]\ncommand = \"~", "of wrong types": canaryTOML + "[mcp_servers.x]\ncommand = [\"~\"]\nenv = \"~\"\n"}
	case ".yaml", ".yml":
		return map[string]string{"whole": canaryYAML, "broken off": canaryYAML + "  x: {command: \"~", "of wrong types": canaryYAML + "  - {name: x, command: [\"~\"], env: \"~\"}\n"}
	case ".env":
		return map[string]string{"whole": "GITHUB_TOKEN=~\nexport OTHER='~'\n"}
	}
	name := strings.ReplaceAll(project, `\`, `\\`)
	whole, bad := strings.ReplaceAll(canaryJSON(path, false), "PROJECT", name), strings.ReplaceAll(canaryJSON(path, true), "PROJECT", name)
	return map[string]string{"whole": whole, "of wrong types": bad, "broken off": whole[:len(whole)-3] + `,"x":"~`, "with a comment": "{ // ~\n" + whole[1:]}
}

// TestCanaries plants secrets into every file that a harness reads: none of them is in the document, the table or an error.
func TestCanaries(t *testing.T) {
	t.Parallel()
	for _, h := range loaders.All() {
		t.Run(string(h.ID), func(t *testing.T) {
			t.Parallel()
			base, err := filepath.EvalSymlinks(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			home := filepath.Join(base, "home")
			project := filepath.Join(home, "project")
			if err := os.MkdirAll(filepath.Join(project, ".git"), 0o700); err != nil {
				t.Fatal(err)
			}
			value := "correct-horse-battery-staple"
			env := &loaders.Env{Root: filepath.Join(base, "root"), Home: home, Project: project, GOOS: "linux", UID: os.Getuid(),
				Vars: map[string]string{"HOME": home, "PLAIN_VALUE": value}, Now: func() time.Time { return time.Unix(1e9, 0) }}
			reader := loaders.NewReader(env, loaders.NewCache())
			h.Resolve(env, reader)
			cells := 0
			for _, f := range reader.Files() {
				if !loaders.Within(f.Path, base) {
					continue
				}
				for variant, template := range canaryVariants(f.Path, project) {
					planted := &canaries{plain: []string{value}}
					if err := os.MkdirAll(filepath.Dir(f.Path), 0o700); err != nil {
						t.Fatal(err)
					}
					if err := os.WriteFile(f.Path, []byte(planted.fill(template)), 0o600); err != nil {
						t.Fatal(err)
					}
					snapshot := loaders.NewLoader(env, []loaders.Harness{h}).Load()
					for _, c := range snapshot.Columns[0].Cells {
						if c.Definition != nil {
							cells++
						}
					}
					texts := shownAnywhere(t, snapshot)
					if variant == "whole" {
						texts["the screen"] = screens(snapshot)
						if lines := snapshot.Lines; len(lines) > 0 && !strings.Contains(texts["the screen"], lines[0].Server.Name) {
							t.Errorf("the screen does not show %s", lines[0].Server.Name)
						}
					}
					for what, text := range texts {
						for _, leak := range planted.found(text) {
							t.Errorf("%s %s: %s shows %s", strings.TrimPrefix(f.Path, base), variant, what, leak)
						}
					}
					if err := os.Remove(f.Path); err != nil {
						t.Fatal(err)
					}
				}
			}
			if cells == 0 {
				t.Error("no server was understood: the test looks at nothing")
			}
		})
	}
}

// shownAnywhere is every text that can be made of a snapshot. The document is also made without the redactor, which must
// have nothing left to do but in texts that quote a file.
func shownAnywhere(t *testing.T, s *model.Snapshot) map[string]string {
	t.Helper()
	redactor := model.NewRedactor(s.Secrets())
	out := map[string]string{}
	for name, r := range map[string]*model.Redactor{"the document": redactor, "the document before the last filter": nil} {
		var b bytes.Buffer
		if err := writeJSON(&b, newDocument(s, r), " "); err != nil {
			t.Fatal(err)
		}
		out[name] = b.String()
	}
	var b bytes.Buffer
	if err := writeTable(&b, s, redactor); err != nil {
		t.Fatal(err)
	}
	out["the table"] = b.String()
	out["the report"] = newReport(s, redactor)
	out["the report before the last filter"] = newReport(s, nil)
	b.Reset()
	if err := writeChange(&b, model.NewSnapshot(0, s.Project, s.Home, s.At, nil), s); err != nil {
		t.Fatal(err)
	}
	out["the line of a change"] = b.String()
	b.Reset()
	log := newLogger(&b, func() time.Time { return s.At })
	log.mask(s)
	for _, v := range s.Secrets() {
		log.printf("panic: %s\n\tat %s", v.Value.Reveal(), v.Value.Reveal())
	}
	out["the log"] = b.String()
	var dump strings.Builder
	for _, col := range s.Columns {
		for _, c := range col.Cells {
			fmt.Fprintf(&dump, "%+v %#v\n", *c, *c)
			if c.Definition != nil {
				c.Definition.Key()
				fmt.Fprintf(&dump, "%+v\n%#v\n%s\n", c.Definition, c.Definition, c.Definition.Display())
			}
		}
		for _, f := range col.Files {
			fmt.Fprintf(&dump, "%+v\n", f)
		}
	}
	out["a printed cell"] = dump.String()
	return out
}

// screens goes over some rows with pane, detail and files open, and returns all that was drawn or copied.
func screens(s *model.Snapshot) string {
	var b strings.Builder
	m := tea.Model(ui.New(ui.Options{Snapshot: s, Now: func() time.Time { return s.At }, Copy: func(text string) (string, error) {
		b.WriteString(text)
		return "the clipboard", nil
	}}))
	m, _ = m.Update(tea.WindowSizeMsg{Width: 160, Height: 50})
	press := func(key tea.KeyMsg) {
		var cmd tea.Cmd
		if m, cmd = m.Update(key); cmd != nil && (key.String() == "y" || key.String() == "Y") {
			cmd()
		}
		b.WriteString(ansi.Strip(m.View()))
	}
	for range min(8, len(s.Lines)) {
		press(tea.KeyMsg{Type: tea.KeyEnter})
		press(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune("y")})
		press(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune("Y")})
		press(tea.KeyMsg{Type: tea.KeyEsc})
		press(tea.KeyMsg{Type: tea.KeyDown})
	}
	press(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune("f")})
	return b.String()
}
