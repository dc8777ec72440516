package cli

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// scriptVariable names the script file of a server that the test binary plays instead of running tests.
const scriptVariable = "FUSEBOX_TEST_SERVER"

// serverScript is how a server of the tests behaves.
type serverScript struct {
	Log        string   // a line is added at every start: its name, pid, and those of Report that are set
	Name       string   // in the log
	Report     []string // names of variables
	Needs      string   // a variable without which it ends with status 3 when it is initialized
	Exit       int      // it ends with this status instead of answering
	Stderr     string
	Wait       string // it answers nothing until this file exists
	Grandchild bool   // it starts a child that stays in its group and ignores its input
	Stubborn   bool   // its input and TERM do not end it
	Flood      bool   // it never stops writing to stdout and stderr
	Tools      []toolScript
	Echo       []string // its arguments and the values of these variables are shown wherever a server can put text
}

type toolScript struct{ Name, Description string }

// playScript is the main function of the server.
func playScript(path string) {
	data, err := os.ReadFile(path)
	var s serverScript
	if err == nil {
		err = json.Unmarshal(data, &s)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(70)
	}
	if s.Log != "" {
		line := fmt.Sprintf("%s %d", s.Name, os.Getpid())
		for _, name := range s.Report {
			if _, set := os.LookupEnv(name); set {
				line += " " + name
			}
		}
		f, err := os.OpenFile(s.Log, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			os.Exit(71)
		}
		f.WriteString(line + "\n")
		f.Close()
	}
	if s.Grandchild {
		child := exec.Command(os.Args[0])
		child.Env = append(os.Environ(), scriptVariable+"=sleep")
		if child.Start() != nil {
			os.Exit(72)
		}
	}
	if s.Stderr != "" {
		fmt.Fprintln(os.Stderr, strings.Join(append([]string{s.Stderr}, knownTo(os.Args[2:], s.Echo)...), " "))
	}
	if s.Exit != 0 {
		os.Exit(s.Exit)
	}
	if s.Stubborn {
		ignoreTerm()
	}
	if s.Flood {
		line := strings.Repeat("flood ", 160) + "\n"
		go func() {
			for {
				os.Stderr.WriteString(line)
			}
		}()
	}
	for s.Wait != "" {
		if _, err := os.Stat(s.Wait); err == nil {
			break
		}
		time.Sleep(5 * time.Millisecond)
	}
	s.serve()
	for s.Stubborn {
		time.Sleep(time.Minute)
	}
}

// knownTo is what a server can say of what it was given: whole, and taken apart as programs do. Nothing is known to one that
// is to echo no variable.
func knownTo(args, names []string) (out []string) {
	if len(names) == 0 {
		return nil
	}
	for _, arg := range args {
		out = append(append(out, arg), strings.Fields(arg)...)
		if _, value, ok := strings.Cut(arg, "="); ok {
			out = append(out, value)
		}
		if u, err := url.Parse(arg); err == nil && u.Host != "" {
			password, _ := u.User.Password()
			out = append(append(out, password, u.RawQuery, u.Query().Get("k")), strings.Split(u.Path, "/")...)
		}
	}
	for _, name := range names {
		if value, set := os.LookupEnv(name); set {
			out = append(append(out, name+"="+strings.ReplaceAll(value, "\n", " ")), strings.Split(value, "\n")...)
		}
	}
	return out
}

func (s *serverScript) serve() {
	echo := ""
	if len(s.Echo) > 0 {
		echo = strings.Join(knownTo(os.Args[2:], s.Echo), "\n")
		for _, line := range strings.Split(echo, "\n") {
			fmt.Fprintln(os.Stderr, "stderr", line)
			fmt.Println("noise", line)
		}
	}
	text := jsonText
	out := bufio.NewWriter(os.Stdout)
	answer := func(id json.RawMessage, result string) {
		if s.Flood {
			for range 200 {
				out.WriteString(strings.Repeat("noise ", 160) + "\n")
			}
		}
		fmt.Fprintf(out, `{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", id, result)
		out.Flush()
	}
	in := bufio.NewReaderSize(os.Stdin, 1<<20)
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return
		}
		var m struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
		}
		if json.Unmarshal(line, &m) != nil {
			os.Exit(74)
		}
		switch m.Method {
		case "server/discover":
			fmt.Fprintf(out, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":%s}}`+"\n", m.ID, text("no such method "+strings.ReplaceAll(echo, "\n", " ")))
			out.Flush()
		case "initialize":
			if _, set := os.LookupEnv(s.Needs); s.Needs != "" && !set {
				fmt.Fprintln(os.Stderr, s.Needs+" is not set")
				os.Exit(3)
			}
			capabilities := `{"tools":{}}`
			if echo != "" {
				capabilities = `{"tools":{},"prompts":{}}`
			}
			answer(m.ID, `{"protocolVersion":"2025-06-18","capabilities":`+capabilities+`,"serverInfo":{"name":`+text("scripted "+strings.ReplaceAll(echo, "\n", " "))+`,"version":"1"}}`)
		case "tools/list":
			var tools []string
			for _, t := range s.Tools {
				tools = append(tools, `{"name":`+text(t.Name)+`,"description":`+text(t.Description)+`,"inputSchema":{"type":"object"}}`)
			}
			for i, secret := range strings.Split(echo, "\n") {
				if secret != "" {
					tools = append(tools, fmt.Sprintf(`{"name":%s,"title":%s,"description":%s,"inputSchema":{"type":"object","properties":{%s:{"type":"string","description":%s}}}}`,
						text(fmt.Sprintf("t%d %s", i, secret)), text(secret), text("says "+secret), text(secret), text(secret)))
				}
			}
			answer(m.ID, `{"tools":[`+strings.Join(tools, ",")+`]}`)
		case "prompts/list":
			fmt.Fprintf(out, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32603,"message":%s}}`+"\n", m.ID, text("refused: "+strings.ReplaceAll(echo, "\n", " ")))
			out.Flush()
		}
	}
}

// playing replaces the tests by a server when the environment says so.
func playing() bool {
	switch path := os.Getenv(scriptVariable); path {
	case "":
		return false
	case "sleep":
		ignoreTerm()
		time.Sleep(time.Minute)
	default:
		playScript(path)
	}
	return true
}

// server writes a script into the scene and returns the definition that plays it.
func (s *scene) server(name string, script serverScript) serverOfTest {
	s.t.Helper()
	self, err := os.Executable()
	if err != nil {
		s.t.Fatal(err)
	}
	dir := filepath.Join(filepath.Dir(s.home), "servers")
	script.Name, script.Log = name, filepath.Join(dir, "log")
	if script.Tools == nil {
		script.Tools = []toolScript{{"search", "Search all notes for a text."}, {"sync", "sync"}}
	}
	data, err := json.Marshal(script)
	if err == nil {
		err = os.MkdirAll(dir, 0o700)
	}
	path := filepath.Join(dir, name+".json")
	if err == nil {
		err = os.WriteFile(path, data, 0o600)
	}
	if err != nil {
		s.t.Fatal(err)
	}
	return serverOfTest{command: self, args: []string{name}, env: map[string]string{scriptVariable: path}}
}

// gate is a file that servers wait for.
func (s *scene) gate(name string) (path string, open func()) {
	path = filepath.Join(filepath.Dir(s.home), "servers", name+".gate")
	return path, func() {
		s.t.Helper()
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			s.t.Fatal(err)
		}
	}
}

// starts are the lines of the log: one per start, without the pid.
func (s *scene) starts() (lines []string, pids []int) {
	s.t.Helper()
	data, err := os.ReadFile(filepath.Join(filepath.Dir(s.home), "servers", "log"))
	if err != nil && !os.IsNotExist(err) {
		s.t.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		fields := strings.Fields(line)
		var pid int
		if _, err := fmt.Sscan(fields[1], &pid); err != nil {
			s.t.Fatal(err)
		}
		lines, pids = append(lines, strings.Join(slices.Delete(fields, 1, 2), " ")), append(pids, pid)
	}
	return lines, pids
}

// waitForStarts waits until the log has that many lines.
func (s *scene) waitForStarts(n int) (pids []int) {
	s.t.Helper()
	eventually(s.t, fmt.Sprintf("%d starts", n), func() bool {
		_, pids = s.starts()
		return len(pids) >= n
	})
	return pids
}

// eventually waits for something, far longer than it should take.
func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !ok(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("there are never %s", what)
		}
	}
}

// serverOfTest is a stdio definition, to be written as each harness does.
type serverOfTest struct {
	command string
	args    []string
	env     map[string]string
}

// with adds a variable.
func (d serverOfTest) with(name, value string) serverOfTest {
	env := map[string]string{name: value}
	for k, v := range d.env {
		env[k] = v
	}
	d.env = env
	return d
}

// json is the entry of harnesses that have mcpServers; more are further keys, each with a comma before it.
func (d serverOfTest) json(more ...string) string {
	a, _ := json.Marshal(d.args)
	e, _ := json.Marshal(d.env)
	return `{"command": ` + jsonText(d.command) + `, "args": ` + string(a) + `, "env": ` + string(e) + strings.Join(more, "") + `}`
}

// openCode is OpenCode's entry.
func (d serverOfTest) openCode() string {
	c, _ := json.Marshal(append([]string{d.command}, d.args...))
	e, _ := json.Marshal(d.env)
	return `{"type": "local", "command": ` + string(c) + `, "environment": ` + string(e) + `}`
}

// toml is Codex's entry; more are further lines.
func (d serverOfTest) toml(name string, more ...string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "[mcp_servers.%s]\ncommand = %s\n", name, jsonText(d.command))
	a, _ := json.Marshal(d.args)
	fmt.Fprintf(&b, "args = %s\n", a)
	for _, line := range more {
		b.WriteString(line + "\n")
	}
	fmt.Fprintf(&b, "[mcp_servers.%s.env]\n", name)
	for k, v := range d.env {
		fmt.Fprintf(&b, "%s = %s\n", k, jsonText(v))
	}
	return b.String()
}

// four writes one server into the files of four harnesses.
func (s *scene) four(name string, d serverOfTest) {
	s.write("~/.claude.json", `{"mcpServers": {`+jsonText(name)+`: `+d.json()+`}}`)
	s.write("~/.codex/config.toml", d.toml(name))
	s.write("~/.gemini/settings.json", `{"security": {"folderTrust": {"enabled": false}}, "mcpServers": {`+jsonText(name)+`: `+d.json()+`}}`)
	s.write("~/.config/opencode/opencode.json", `{"mcp": {`+jsonText(name)+`: `+d.openCode()+`}}`)
}
