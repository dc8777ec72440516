package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"fusebox/model"
)

// echoingServer speaks MCP over HTTP and says in every answer what it was sent: headers, path and query.
func echoingServer(t *testing.T) (base string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		said := r.URL.String()
		for name, values := range r.Header {
			said += " " + name + "=" + strings.Join(values, " ")
			for _, v := range values { // as programs print it that take it apart
				said += " [" + strings.TrimPrefix(v, "Bearer ") + "]"
			}
		}
		var m struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
		}
		data, _ := io.ReadAll(r.Body)
		switch {
		case strings.Contains(r.URL.Path, "/fails"):
			http.Error(w, "internal error: "+said, http.StatusInternalServerError)
			return
		case strings.Contains(r.URL.Path, "/signin"):
			w.Header().Set("WWW-Authenticate", `Bearer realm=`+jsonText(said)+`, error="invalid_token", error_description=`+jsonText(said)+`, resource_metadata=`+jsonText("http://"+r.Host+"/"+r.URL.RawQuery))
			http.Error(w, "who are you? "+said, http.StatusUnauthorized)
			return
		case json.Unmarshal(data, &m) != nil || r.Method != http.MethodPost:
			w.WriteHeader(http.StatusAccepted)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Mcp-Session-Id", "echo")
		switch m.Method {
		case "initialize":
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{},"prompts":{}},"serverInfo":{"name":%s,"version":"1"}}}`, m.ID, jsonText("echo "+said))
		case "tools/list":
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"tools":[{"name":%s,"description":%s,"inputSchema":{"type":"object"}}]}}`, m.ID, jsonText("tool "+said), jsonText("says "+said))
		case "notifications/initialized":
			w.WriteHeader(http.StatusAccepted)
		default:
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":%s}}`, m.ID, jsonText("no: "+said))
		}
	})}
	go server.Serve(listener) //nolint:errcheck // ends with the test
	t.Cleanup(func() { server.Close() })
	return "http://" + listener.Addr().String()
}

// TestCanariesOfLaunches starts and reaches servers that say every secret again that they were given, wherever a server can
// put text: none of them is on the screen, in JSON, Markdown, table, log or clipboard.
func TestCanariesOfLaunches(t *testing.T) {
	t.Parallel()
	s := newLaunchScene(t).scene
	planted := &canaries{plain: []string{"correct-horse-battery-staple", "held by a file, in words", "plain-value-of-a-header"}}
	s.env.Vars["PLAIN_VALUE"], s.env.Vars["HEADER_VALUE"] = planted.plain[0], planted.plain[2]
	s.env.Vars["MY_TOKEN"], s.env.Vars["BEARER"] = planted.next(), planted.next()
	given := func() map[string]string {
		return map[string]string{"GITHUB_TOKEN": planted.next(), "PLAIN": planted.odd(), "MANY": planted.next() + "\n" + planted.next()}
	}
	define := func(name string, script serverScript, env map[string]string, args ...string) serverOfTest {
		script.Echo = []string{"GITHUB_TOKEN", "PLAIN", "MANY", "FROM", "MY_TOKEN"}
		d := s.server(name, script)
		for k, v := range env {
			d = d.with(k, v)
		}
		d.args = append(d.args, args...)
		return d
	}
	secretArgs := []string{"--api-key", planted.next(), "--token=" + planted.next(), "https://u:" + planted.next() + "@host.example.test/" + planted.next() + "?k=" + planted.next(), planted.next()}
	base := echoingServer(t)
	remote := func(path string) string {
		return base + path + "/mcp?key=" + planted.next()
	}
	claude := define("claude", serverScript{}, given(), append([]string{"--with=${PLAIN_VALUE}", "${MY_TOKEN} ${PLAIN_VALUE}", "${NOT_SET}"}, secretArgs...)...)
	claude.env["FROM"] = "${PLAIN_VALUE}"
	crash := define("crash", serverScript{Exit: 1, Stderr: "fatal: bad token"}, given(), secretArgs...)
	s.write("~/.claude.json", `{"mcpServers": {"stdio": `+claude.json()+`, "crash": `+crash.json()+`,
		"far": {"type": "http", "url": "`+remote("/far")+`", "headers": {"Authorization": "Bearer ${BEARER}", "X-Plain": "${HEADER_VALUE}", "X-Odd": "`+planted.next()+`"}},
		"fails": {"type": "http", "url": "`+remote("/fails")+`", "headers": {"Authorization": "Bearer `+planted.next()+`"}},
		"signin": {"type": "http", "url": "`+remote("/signin")+`", "headers": {"Authorization": "Basic `+planted.next()+`"}}}}`)
	codex := define("codex", serverScript{}, given(), secretArgs...)
	s.write("~/.codex/config.toml", codex.toml("stdio", `env_vars = ["MY_TOKEN", "PLAIN_VALUE"]`)+
		"[mcp_servers.far]\nurl = \""+remote("/far")+"\"\nbearer_token_env_var = \"BEARER\"\n[mcp_servers.far.env_http_headers]\nX-Plain = \"HEADER_VALUE\"\n[mcp_servers.far.http_headers]\nX-Key = \""+planted.next()+"\"\n")
	gemini := define("gemini", serverScript{}, given(), append([]string{"$PLAIN_VALUE", "x${PLAIN_VALUE}y"}, secretArgs...)...)
	s.write("~/.gemini/settings.json", `{"security": {"folderTrust": {"enabled": false}}, "mcpServers": {"stdio": `+gemini.json()+`, "far": {"httpUrl": "`+remote("/far")+`", "headers": {"X-Plain": "$HEADER_VALUE"}}}}`)
	opencode := define("opencode", serverScript{}, given(), append([]string{"{env:PLAIN_VALUE}", "--from={file:./secret.txt}", "{file:~/.secret}"}, secretArgs...)...)
	s.write("opencode.json", `{"mcp": {"stdio": `+opencode.openCode()+`, "far": {"type": "remote", "url": "`+remote("/far")+`", "headers": {"Authorization": "Bearer {file:~/.secret}", "X-Plain": "{env:HEADER_VALUE}"}}}}`)
	s.write("secret.txt", "  "+planted.plain[1]+"\n")
	s.write("~/.secret", planted.next()+"\n")

	p := s.open("claude-code", "codex", "gemini", "opencode")
	var seen strings.Builder
	look := func() { seen.WriteString(p.frame + "\n") }
	p.keys("X")
	p.waitFor("[ No ]")
	look()
	p.keys("G")
	look()
	p.keys("y")
	p.waitUntil("the end of all launches", func(frame string) bool {
		look()
		shown := p.source.shown.Load()
		running, observed := 0, 0
		for _, col := range shown.Columns {
			for _, c := range col.Cells {
				if c.Launch != nil {
					running++
				}
				if c.Observation != nil {
					observed++
				}
			}
		}
		return running == 0 && observed == 11
	})
	p.settle(sometime)
	snapshot := p.source.shown.Load()
	// Widths at which text is cut elsewhere.
	for _, w := range []int{200, 120, 80, 50} {
		p.take(tea.WindowSizeMsg{Width: w, Height: 45})
		p.keys("esc", "esc", "g")
		for range 6 {
			p.keys("h")
		}
		for range len(snapshot.Lines) + 1 {
			for range 5 {
				for _, k := range []string{"enter", "G", "g", "esc", "y", "Y", "o", "G", "y", "Y", "esc", "t", "y", "Y", "G", "y", "enter", "G", "g", "y", "esc", "esc", "right"} {
					p.keys(k)
					look()
				}
			}
			p.keys("left", "left", "left", "left", "left", "left", "down")
		}
	}
	p.settle(sometime)

	p.mu.Lock()
	copied := p.copied
	p.mu.Unlock()
	texts := map[string]string{"the screen": strings.Join(strings.Fields(seen.String()), " "), "the screen, line by line": seen.String(), "the clipboard": copied}
	for name, r := range map[string]*model.Redactor{"JSON": model.NewRedactor(snapshot.Secrets()), "JSON before the last filter": nil} {
		var b bytes.Buffer
		if err := writeJSON(&b, newDocument(snapshot, r), " "); err != nil {
			t.Fatal(err)
		}
		texts[name] = b.String()
		texts["Markdown, as "+name] = newReport(snapshot, r)
	}
	var b bytes.Buffer
	if err := writeTable(&b, snapshot, nil); err != nil {
		t.Fatal(err)
	}
	texts["the table"] = b.String()
	b.Reset()
	if err := writeChange(&b, model.NewSnapshot(0, snapshot.Project, snapshot.Home, snapshot.At, nil), snapshot); err != nil {
		t.Fatal(err)
	}
	texts["the line of a change"] = b.String()
	var dump strings.Builder
	for _, col := range snapshot.Columns {
		for _, c := range col.Cells {
			fmt.Fprintf(&dump, "%+v %+v %+v\n", c.Observation, c.Observation.Output, c.Tools)
		}
	}
	texts["what is kept of a launch"] = dump.String()
	if err := p.source.Close(); err != nil {
		t.Fatal(err)
	}
	texts["the log"] = p.log.String()
	for what, text := range texts {
		for _, leak := range planted.found(text) {
			t.Errorf("%s shows %s", what, leak)
		}
	}

	// The servers did say it.
	for what, want := range map[string]string{"the screen": "says " + model.Dots, "JSON": "t0 " + model.Dots, "what is kept of a launch": "stderr " + model.Dots, "the clipboard": "stdio_t"} {
		if !strings.Contains(texts[what], want) {
			t.Errorf("%s does not show %q: the test looks at nothing", what, want)
		}
	}
	for _, want := range []string{"exit 1", "500", "sign in"} {
		if !strings.Contains(texts["the screen"], want) {
			t.Errorf("no cell shows %q", want)
		}
	}
}
