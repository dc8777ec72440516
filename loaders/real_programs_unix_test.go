//go:build !windows

package loaders_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"fusebox/loaders"
	"fusebox/model"
)

// TestMain lets the test program itself be the MCP server of the throwaway homes: TEST-BINARY fake-mcp-server FILE notes in
// FILE that it was started.
func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == fakeServer {
		serveFake(os.Args[2])
		return
	}
	os.Exit(m.Run())
}

const fakeServer = "fake-mcp-server"

func serveFake(touch string) {
	if err := os.WriteFile(touch, []byte("started\n"), 0o600); err != nil {
		os.Exit(1)
	}
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(nil, 1<<20)
	for in.Scan() {
		var msg struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
			Params struct {
				ProtocolVersion string `json:"protocolVersion"`
			} `json:"params"`
		}
		if json.Unmarshal(in.Bytes(), &msg) != nil || len(msg.ID) == 0 || msg.Method == "" {
			continue
		}
		result := `{}`
		switch msg.Method {
		case "initialize":
			result = fmt.Sprintf(`{"protocolVersion":%q,"capabilities":{"tools":{}},"serverInfo":{"name":"fake","version":"1"}}`, msg.Params.ProtocolVersion)
		case "tools/list":
			result = `{"tools":[{"name":"echo","description":"says it again","inputSchema":{"type":"object"}}]}`
		}
		fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", msg.ID, result)
	}
}

// realCase is a throwaway home and project, and the servers whose switches are tried.
type realCase struct {
	name    string
	harness model.HarnessID
	files   map[string]string // ~/ home, ./ project; @SERVER:name@ is filled in, see server
	git     bool
	start   string // the folder below ./ that the session starts in
	servers []string
	consent bool // try consents, not switches
}

// server is a stdio entry: command and arguments of a server that notes its start.
const (
	jsonEntry     = `{"command": "@BINARY@", "args": ["fake-mcp-server", "@STARTED@/%s"]}`
	tomlEntry     = "[mcp_servers.%s]\ncommand = \"@BINARY@\" # keep\nargs = [\"fake-mcp-server\", \"@STARTED@/%[1]s\"]\n"
	openCodeEntry = `{"type": "local", "command": ["@BINARY@", "fake-mcp-server", "@STARTED@/%s"]}`
)

func servers(entry string, names ...string) string {
	var out []string
	for _, n := range names {
		out = append(out, fmt.Sprintf("%q: "+entry, n, n))
	}
	return strings.Join(out, ",\n    ")
}

func tomlServers(names ...string) string {
	var b strings.Builder
	for _, n := range names {
		fmt.Fprintf(&b, tomlEntry, n)
	}
	return b.String()
}

func realCases() []realCase {
	const trustedInClaude = `"projects": {"@PROJECT@": {"hasTrustDialogAccepted": true, "mcpServers": {%s}}}`
	claudeServers := `{"mcpServers": {` + servers(jsonEntry, "user", "other") + `}, ` + fmt.Sprintf(trustedInClaude, servers(jsonEntry, "local")) + "}"
	mcpJSON := `{"mcpServers": {` + servers(jsonEntry, "shared", "second") + "}}"
	const trustedInCodex = "[projects.\"@PROJECT@\"]\ntrust_level = \"trusted\"\n"
	const trustedInGemini = `{"@PROJECT@": "TRUST_FOLDER"}`
	gemini := func(names ...string) string { return `{"mcpServers": {` + servers(jsonEntry, names...) + "}}" }
	opencode := func(names ...string) string {
		return "{\n  // kept\n  \"mcp\": {" + servers(openCodeEntry, names...) + "}\n}\n"
	}
	return []realCase{
		{name: "claude switches", harness: "claude-code", servers: []string{"user", "local", "shared"}, files: map[string]string{
			"~/.claude.json": claudeServers, "./.mcp.json": mcpJSON, "./.claude/settings.local.json": `{"enabledMcpjsonServers": ["shared"]}`}},
		{name: "claude switches in git", harness: "claude-code", git: true, servers: []string{"user"}, files: map[string]string{
			"~/.claude.json": `{"mcpServers": {` + servers(jsonEntry, "user") + `}}`}},
		{name: "claude trusted", harness: "claude-code", consent: true, servers: []string{"shared"}, files: map[string]string{
			"~/.claude.json": claudeServers, "./.mcp.json": mcpJSON}},
		{name: "claude untrusted", harness: "claude-code", consent: true, git: true, servers: []string{"shared"}, files: map[string]string{
			"./.mcp.json": mcpJSON}},
		{name: "claude rejected", harness: "claude-code", consent: true, servers: []string{"shared"}, files: map[string]string{
			"~/.claude.json": claudeServers, "./.mcp.json": mcpJSON, "./.claude/settings.local.json": `{"disabledMcpjsonServers": ["shared"]}`}},
		{name: "claude approved", harness: "claude-code", consent: true, servers: []string{"shared"}, files: map[string]string{
			"~/.claude.json": claudeServers, "./.mcp.json": mcpJSON, "./.claude/settings.local.json": `{"enabledMcpjsonServers": ["second", "shared"]}`}},
		{name: "claude approved by user and repository", harness: "claude-code", consent: true, servers: []string{"shared", "second"}, files: map[string]string{
			"~/.claude.json": claudeServers, "./.mcp.json": mcpJSON, "~/.claude/settings.json": `{"enabledMcpjsonServers": ["shared"]}`,
			"./.claude/settings.json": `{"enabledMcpjsonServers": ["second"]}`}},

		{name: "codex switches", harness: "codex", servers: []string{"user", "shared", "both"}, files: map[string]string{
			"~/.codex/config.toml": trustedInCodex + "\n" + tomlServers("user", "both"), "./.codex/config.toml": tomlServers("shared") + "[mcp_servers.both]\nstartup_timeout_sec = 5\n"}},
		{name: "codex switches in git", harness: "codex", git: true, servers: []string{"user", "shared", "off"}, files: map[string]string{
			"~/.codex/config.toml": trustedInCodex + "\n" + tomlServers("user", "off") + "enabled = false\n",
			"./.codex/config.toml": tomlServers("shared")}},
		{name: "codex untrusted", harness: "codex", consent: true, git: true, servers: []string{"shared"}, files: map[string]string{
			"~/.codex/config.toml": tomlServers("user"), "./.codex/config.toml": tomlServers("shared")}},
		{name: "codex trusted", harness: "codex", consent: true, servers: []string{"shared"}, files: map[string]string{
			"~/.codex/config.toml": trustedInCodex + tomlServers("user"), "./.codex/config.toml": tomlServers("shared")}},
		{name: "codex untrusted switch", harness: "codex", servers: []string{"user"}, files: map[string]string{
			"~/.codex/config.toml": tomlServers("user")}},

		{name: "gemini switches", harness: "gemini", servers: []string{"User", "shared"}, files: map[string]string{
			"~/.gemini/trustedFolders.json": trustedInGemini, "~/.gemini/settings.json": gemini("User"), "./.gemini/settings.json": gemini("shared")}},
		{name: "gemini untrusted", harness: "gemini", consent: true, servers: []string{"shared"}, files: map[string]string{
			"~/.gemini/settings.json": gemini("user"), "./.gemini/settings.json": gemini("shared")}},
		{name: "gemini trusted", harness: "gemini", consent: true, servers: []string{"shared"}, files: map[string]string{
			"~/.gemini/trustedFolders.json": trustedInGemini, "./.gemini/settings.json": gemini("shared")}},

		{name: "opencode switches", harness: "opencode", servers: []string{"global", "shared"}, files: map[string]string{
			"~/.config/opencode/opencode.json": opencode("global"), "./opencode.json": opencode("shared")}},
		{name: "opencode switches in git", harness: "opencode", git: true, servers: []string{"global", "shared", "insists"}, files: map[string]string{
			"~/.config/opencode/opencode.jsonc": opencode("global"), "~/.opencode/": "",
			"./opencode.jsonc": opencode("shared"), "./.opencode/opencode.json": `{"mcp": {"insists": {"type": "local", "enabled": true, "command": ["@BINARY@", "fake-mcp-server", "@STARTED@/insists"]}}}`}},
		{name: "opencode newer shape", harness: "opencode", servers: []string{"nested"}, files: map[string]string{
			"~/.config/opencode/opencode.json": `{"mcp": {"servers": {"nested": {"type": "local", "command": ["@BINARY@", "fake-mcp-server", "@STARTED@/nested"], "disabled": true}}}}`}},
	}
}

// TestSwitchesAgainstRealPrograms does what each option says in a throwaway home and asks the real program before and after.
// FUSEBOX_ORACLE_BIN names a folder with claude 2.1.332, codex 0.171.0, gemini 0.61.0 and opencode 1.18.33.
func TestSwitchesAgainstRealPrograms(t *testing.T) {
	bin := os.Getenv("FUSEBOX_ORACLE_BIN")
	if bin == "" {
		t.Skip("FUSEBOX_ORACLE_BIN names no folder with the real programs")
	}
	var mu sync.Mutex
	var rows []string
	t.Run("cases", func(t *testing.T) {
		for _, c := range realCases() {
			program := map[model.HarnessID]string{"claude-code": "claude", "codex": "codex", "gemini": "gemini", "opencode": "opencode"}[c.harness]
			t.Run(c.name, func(t *testing.T) {
				if _, err := os.Stat(filepath.Join(bin, program)); err != nil {
					t.Skip("no " + program)
				}
				for _, row := range runRealCase(t, bin, c) {
					mu.Lock()
					rows = append(rows, row)
					mu.Unlock()
				}
			})
		}
	})
	t.Logf("what was done, and what the real program said before and after:\n%s", strings.Join(rows, "\n"))
}

// realScene is the home and project of a case.
type realScene struct {
	home, project, started, bin string
	harness                     loaders.Harness
	env                         *loaders.Env
}

func layReal(t *testing.T, bin string, c realCase) *realScene {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	s := &realScene{home: filepath.Join(base, "home"), project: filepath.Join(base, "project"), started: filepath.Join(base, "started"), bin: bin}
	for _, dir := range []string{s.home, filepath.Join(s.project, c.start), s.started, filepath.Join(s.home, ".codex")} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if rest, ok := strings.CutPrefix(c.start, "home"); ok { // the home is in the project
		s.home, c.start = filepath.Join(s.project, "home"), filepath.Join("home", rest)
		if err := os.MkdirAll(s.home, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	fill := strings.NewReplacer("@HOME@", s.home, "@PARENT@", base, "@PROJECT@", s.project, "@BINARY@", self, "@STARTED@", s.started)
	for name, text := range c.files {
		path := filepath.Join(s.project, strings.TrimPrefix(name, "./"))
		if rest, ok := strings.CutPrefix(name, "~/"); ok {
			path = filepath.Join(s.home, rest)
		}
		if strings.HasSuffix(name, "/") {
			err = os.MkdirAll(path, 0o700)
		} else if err = os.MkdirAll(filepath.Dir(path), 0o700); err == nil {
			err = os.WriteFile(path, []byte(fill.Replace(text)), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if c.git {
		if out, err := exec.Command("git", "init", "-q", s.project).CombinedOutput(); err != nil {
			t.Fatalf("git init: %v: %s", err, out)
		}
	}
	s.project = filepath.Join(s.project, c.start)
	picked, _ := loaders.Select(loaders.All(), []string{string(c.harness)})
	s.harness = picked[0]
	s.env = &loaders.Env{Home: s.home, Project: s.project, GOOS: runtime.GOOS, Vars: map[string]string{"HOME": s.home}, UID: os.Getuid(), Now: time.Now}
	return s
}

// runRealCase tries every option of every server of a case, there and back, each in a home of its own.
func runRealCase(t *testing.T, bin string, c realCase) (rows []string) {
	wishes := []loaders.Wish{loaders.WishOff, loaders.WishOn}
	if c.consent {
		wishes = []loaders.Wish{loaders.WishApprove, loaders.WishRevoke}
	}
	words := map[loaders.Wish]string{loaders.WishOff: "off", loaders.WishOn: "on", loaders.WishApprove: "approve", loaders.WishRevoke: "revoke"}
	for _, name := range c.servers {
		for i, wish := range wishes {
			probe := layReal(t, bin, c)
			b := loaders.NewSwitchboard(probe.env, probe.harness)
			cell := b.Cell(name)
			if cell == nil {
				t.Fatalf("no server %s", name)
			}
			for _, o := range available(b.Ask(cell, wish)) {
				s := layReal(t, bin, c)
				row := fmt.Sprintf("%-40s %-8s %-10s", c.name, name, o.Reach)
				if o.TrustsFolder {
					row += " (trusting)"
				}
				row += "  " + s.check(t, c, name, "before")
				for step, w := range []loaders.Wish{wish, wishes[1-i]} {
					options := s.options(t, name, w)
					at := slices.IndexFunc(options, func(x loaders.Option) bool {
						return x.Reach == o.Reach && (step == 1 || x.TrustsFolder == o.TrustsFolder)
					})
					if at < 0 && step == 1 && len(options) > 0 {
						at = 0
					}
					if at < 0 {
						row += fmt.Sprintf("  %s: no way", words[w])
						break
					}
					applied := options[at].Plan().Apply(nil, "")
					if applied.Err != nil {
						t.Fatal(applied.Err)
					}
					row += fmt.Sprintf("  %s: %s", words[w], s.check(t, c, name, words[w]))
				}
				rows = append(rows, row)
			}
		}
	}
	return rows
}

func (s *realScene) options(t *testing.T, name string, w loaders.Wish) []loaders.Option {
	t.Helper()
	b := loaders.NewSwitchboard(s.env, s.harness)
	cell := b.Cell(name)
	if cell == nil {
		t.Fatalf("%s is gone", name)
	}
	return available(b.Ask(cell, w))
}

// check asks the real program about a server and compares with the cell.
func (s *realScene) check(t *testing.T, c realCase, name, when string) string {
	t.Helper()
	says := s.ask(t, name)
	cell := loaders.NewSwitchboard(s.env, s.harness).Cell(name)
	want := map[model.Decision]string{model.DecisionLoads: "loads", model.DecisionOff: "off", model.DecisionWaits: "waits"}[cell.Decision]
	switch {
	case says == want:
	case says == "absent" && want == "waits" && c.harness == "codex": // it drops the file without a word
	case says == "not started" && want != "loads":
	default:
		t.Errorf("%s: %s, %s: the program says %s, the cell %s (%s)", c.name, name, when, says, cell.Decision, cell.Reason.Text)
	}
	return says
}

var terminalColours = regexp.MustCompile(`\x1b\[[0-9;?]*[A-Za-z]`)

// run starts the program in the project with nothing of the real environment.
func (s *realScene) run(args []string, extra ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 90*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, filepath.Join(s.bin, args[0]), args[1:]...)
	cmd.Dir, cmd.Env = s.project, s.environment(extra)
	cmd.WaitDelay = time.Second
	out, err := cmd.CombinedOutput()
	return strings.ReplaceAll(terminalColours.ReplaceAllString(string(out), ""), "\r", ""), err
}

func (s *realScene) environment(extra []string) []string {
	return append([]string{"HOME=" + s.home, "PATH=" + s.bin + string(os.PathListSeparator) + os.Getenv("PATH"), "TERM=dumb", "NO_COLOR=1", "LANG=C.UTF-8",
		"DISABLE_AUTOUPDATER=1", "DISABLE_TELEMETRY=1", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1",
		"OPENCODE_DISABLE_AUTOUPDATE=1", "OPENCODE_DISABLE_MODELS_FETCH=1"}, extra...)
}

// ask says what the real program would do with a server: loads, off, waits, absent, or not started.
func (s *realScene) ask(t *testing.T, name string) string {
	t.Helper()
	switch s.harness.ID {
	case "claude-code":
		return s.askClaude(t, name)
	case "codex":
		return s.askCodex(t, name)
	case "gemini":
		return s.askGemini(t, name)
	case "grok", "openclaw", "droid":
		return s.askAll(t)[name]
	default:
		return s.askOpenCode(t, name)
	}
}

func (s *realScene) askClaude(t *testing.T, name string) string {
	t.Helper()
	out, err := s.run([]string{"claude", "mcp", "list"})
	if err != nil {
		t.Fatalf("claude mcp list: %v\n%s", err, out)
	}
	said := ""
	for line := range strings.SplitSeq(out, "\n") {
		if rest, ok := strings.CutPrefix(line, name+": "); ok {
			said = rest
		}
	}
	if said == "" { // a rejected one is not listed
		said, _ = s.run([]string{"claude", "mcp", "get", name})
	}
	for _, w := range []struct{ text, means string }{{"Disabled for this project", "off"}, {"Pending approval", "waits"}, {"Rejected (see", "off"},
		{"Connected", "loads"}} {
		if strings.Contains(said, w.text) {
			return w.means
		}
	}
	return "absent: " + said
}

func (s *realScene) askCodex(t *testing.T, name string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, filepath.Join(s.bin, "codex"), "mcp", "list", "--json")
	cmd.Dir, cmd.Env = s.project, s.environment(nil)
	out, err := cmd.Output()
	if err != nil {
		var exit *exec.ExitError
		errors.As(err, &exit)
		t.Fatalf("codex mcp list: %v\n%s", err, exit.Stderr)
	}
	var listed []struct {
		Name    string
		Enabled bool
	}
	if err := json.Unmarshal(out, &listed); err != nil {
		t.Fatal(err)
	}
	for _, x := range listed {
		switch {
		case x.Name == name && x.Enabled:
			return "loads"
		case x.Name == name:
			return "off"
		}
	}
	return "absent"
}

// askGemini looks which servers a session starts before it fails to reach its model.
func (s *realScene) askGemini(t *testing.T, name string) string {
	t.Helper()
	for range 2 { // it has a race of its own at the start, on projects.json.lock
		if err := os.RemoveAll(s.started); err != nil {
			t.Fatal(err)
		}
		if err := os.Mkdir(s.started, 0o700); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(filepath.Join(s.bin, "gemini"), "-p", "hi")
		cmd.Dir = s.project
		cmd.Env = s.environment([]string{"GEMINI_API_KEY=not-a-key", "HTTPS_PROXY=http://127.0.0.1:9", "https_proxy=http://127.0.0.1:9"})
		r, w := io.Pipe()
		cmd.Stdout, cmd.Stderr = w, w
		cmd.WaitDelay = time.Second
		cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // it starts itself once more, and servers
		kill := func() { syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		go func() { ended <- cmd.Wait(); w.Close() }()
		reached, untrusted, lock := false, false, false
		lines := bufio.NewScanner(r)
		timer := time.AfterFunc(90*time.Second, kill)
		for lines.Scan() {
			text := lines.Text()
			lock = lock || strings.Contains(text, "projects.json.lock")
			untrusted = untrusted || strings.Contains(text, "not running in a trusted directory") || strings.Contains(text, "trusted")
			if strings.Contains(text, "Attempt 1 failed") && !reached {
				reached = true
				time.AfterFunc(500*time.Millisecond, kill)
			}
		}
		timer.Stop()
		<-ended
		if lock && !reached {
			continue
		}
		if !reached && !untrusted {
			t.Fatalf("gemini did not come to its model")
		}
		if _, err := os.Stat(filepath.Join(s.started, name)); err == nil {
			return "loads"
		}
		return "not started"
	}
	t.Fatal("gemini did not start")
	return ""
}

func (s *realScene) askOpenCode(t *testing.T, name string) string {
	t.Helper()
	out, err := s.run([]string{"opencode", "mcp", "list"})
	if err != nil {
		t.Fatalf("opencode mcp list: %v\n%s", err, out)
	}
	for line := range strings.SplitSeq(out, "\n") {
		switch {
		case strings.Contains(line, " "+name+" connected"):
			return "loads"
		case strings.Contains(line, " "+name+" disabled"):
			return "off"
		}
	}
	return "absent: " + out
}
