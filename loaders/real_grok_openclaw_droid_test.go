//go:build !windows

package loaders_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"fusebox/loaders"
	"fusebox/model"
)

func grokOpenClawDroidCases() []realCase {
	jsonFile := func(entry string, names ...string) string {
		return `{"mcpServers": {` + servers(entry, names...) + "}}"
	}
	const (
		offInEntry   = "enabled = false\n"
		onInEntry    = "enabled = true # mine\n"
		trusted      = "[folders.\"@PROJECT@\"]\ntrusted = true\n"
		distrusted   = "[folders.\"@PROJECT@\"]\ntrusted = false\n"
		droidOff     = `{"command": "@BINARY@", "args": ["fake-mcp-server", "@STARTED@/%s"], "disabled": true}`
		openClawOff  = `{"command": "@BINARY@", "args": ["fake-mcp-server", "@STARTED@/%s"], "enabled": false}`
		openClawFile = "{\n  // kept\n  mcp: { servers: {\n    %s,\n    %s,\n  } },\n}\n"
	)
	grokFiles := func(more map[string]string) map[string]string {
		files := map[string]string{
			"~/.grok/config.toml":     "# mine\n" + tomlServers("user", "both", "either") + tomlServers("uoff") + offInEntry,
			"./.grok/config.toml":     tomlServers("proj", "either") + tomlServers("both") + onInEntry + tomlServers("poff") + offInEntry,
			"./sub/.grok/config.toml": tomlServers("near"),
			"~/.cursor/mcp.json":      jsonFile(jsonEntry, "cursor"),
			"./sub/.cursor/mcp.json":  jsonFile(jsonEntry, "cursorproj"),
			"./.mcp.json":             jsonFile(jsonEntry, "shared"),
			"~/.claude.json":          `{"mcpServers": {` + servers(jsonEntry, "claude") + `}, "projects": {"@PROJECT@/sub": {"mcpServers": {` + servers(jsonEntry, "claudelocal") + "}}}}",
		}
		maps.Copy(files, more)
		return files
	}
	all := []string{"user", "both", "either", "uoff", "proj", "poff", "near", "cursor", "cursorproj", "shared", "claude", "claudelocal"}
	return []realCase{
		{name: "grok switches", harness: "grok", git: true, start: "sub", servers: all, files: grokFiles(map[string]string{"~/.grok/trusted_folders.toml": trusted})},
		{name: "grok switches with a list", harness: "grok", git: true, start: "sub", servers: []string{"user", "poff", "both", "shared", "uoff"}, files: grokFiles(map[string]string{"~/.grok/trusted_folders.toml": trusted,
			"~/.grok/config.toml": "disabled_mcp_servers = [\"poff\", \"shared\", \"uoff\"] # mine\n" + tomlServers("user", "both", "either") + tomlServers("uoff") + offInEntry})},
		{name: "grok switches, no git", harness: "grok", servers: []string{"proj", "shared"}, files: grokFiles(map[string]string{"~/.grok/trusted_folders.toml": trusted})},
		{name: "grok untrusted", harness: "grok", git: true, start: "sub", consent: true, servers: []string{"proj", "both", "near", "cursorproj", "shared", "claudelocal"}, files: grokFiles(nil)},
		{name: "grok untrusted, no git", harness: "grok", consent: true, servers: []string{"proj"}, files: grokFiles(nil)},
		{name: "grok trusted", harness: "grok", git: true, consent: true, servers: []string{"proj", "shared"}, files: grokFiles(map[string]string{"~/.grok/trusted_folders.toml": "# mine\n" + trusted + "decided_at = 1780000000\n"})},
		{name: "grok distrusted", harness: "grok", git: true, consent: true, servers: []string{"proj"}, files: grokFiles(map[string]string{"~/.grok/trusted_folders.toml": distrusted})},

		{name: "openclaw switches", harness: "openclaw", servers: []string{"on", "off"}, files: map[string]string{
			"~/.openclaw/openclaw.json": fmt.Sprintf(openClawFile, servers(jsonEntry, "on", "other"), servers(openClawOff, "off"))}},

		{name: "droid switches", harness: "droid", servers: []string{"user", "uoff", "proj", "poff", "both"}, files: map[string]string{
			"~/.factory/mcp.json": "// mine\n{\"mcpServers\": {" + servers(jsonEntry, "user", "both") + ", " + servers(droidOff, "uoff") + "}}",
			"./.factory/mcp.json": `{"mcpServers": {` + servers(jsonEntry, "proj", "both") + ", " + servers(droidOff, "poff") + "}}"}},
		{name: "droid switches in git", harness: "droid", git: true, start: "a/b", servers: []string{"root", "rb", "a", "b", "all", "ub"}, files: map[string]string{
			"~/.factory/mcp.json":     jsonFile(jsonEntry, "all", "ub"),
			"./.factory/mcp.json":     jsonFile(jsonEntry, "root", "rb", "all"),
			"./a/.factory/mcp.json":   jsonFile(jsonEntry, "a", "all"),
			"./a/b/.factory/mcp.json": jsonFile(jsonEntry, "b", "rb", "all", "ub")}},
		{name: "droid switches below no git", harness: "droid", start: "a", servers: []string{"a", "user"}, files: map[string]string{
			"~/.factory/mcp.json": jsonFile(jsonEntry, "user"), "./.factory/mcp.json": jsonFile(jsonEntry, "root"), "./a/.factory/mcp.json": jsonFile(jsonEntry, "a")}},
	}
}

// TestGrokOpenClawAndDroidAgainstRealPrograms does what each option says in a throwaway home and asks the real program about
// all servers before and after. FUSEBOX_ORACLE_BIN names a folder with grok 1.0.41, openclaw 2026.9.6, droid 0.215.0 and, for
// openclaw, node 26.
//
// Grok is asked with `grok mcp doctor`, and a session is started that cannot reach its model. OpenClaw and Droid start no
// session without a sign-in: there `openclaw mcp probe` and `droid mcp list` are asked, which start the servers. Whether an
// interactive session of Droid, which asks about a folder first, starts servers before the answer is not seen here.
func TestGrokOpenClawAndDroidAgainstRealPrograms(t *testing.T) {
	bin := os.Getenv("FUSEBOX_ORACLE_BIN")
	if bin == "" {
		t.Skip("FUSEBOX_ORACLE_BIN names no folder with the real programs")
	}
	var mu sync.Mutex
	var rows []string
	t.Run("cases", func(t *testing.T) {
		for _, c := range grokOpenClawDroidCases() {
			t.Run(c.name, func(t *testing.T) {
				if _, err := os.Stat(filepath.Join(bin, string(c.harness))); err != nil {
					t.Skip("no " + string(c.harness))
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

// holdAll holds all cells to what the program said about all servers: a switch must not reach another server.
func (s *realScene) holdAll(t *testing.T, answer map[string]string) {
	t.Helper()
	want := map[string]string{}
	for _, c := range loaders.NewSwitchboard(s.env, s.harness).Column().Cells {
		switch c.Decision {
		case model.DecisionLoads:
			want[c.Name] = "loads"
		case model.DecisionWaits:
			want[c.Name] = "waits"
		}
	}
	said := maps.Clone(answer)
	maps.DeleteFunc(said, func(_, state string) bool { return state == "off" })
	if !maps.Equal(said, want) {
		t.Errorf("the program says %v, the cells %v", said, want)
	}
}

// clearStarted forgets which servers were started.
func (s *realScene) clearStarted(t *testing.T) {
	t.Helper()
	if err := os.RemoveAll(s.started); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(s.started, 0o700); err != nil {
		t.Fatal(err)
	}
}

// holdStarted holds what the program said to which servers it started.
func (s *realScene) holdStarted(t *testing.T, by string, answer map[string]string) {
	t.Helper()
	entries, err := os.ReadDir(s.started)
	if err != nil {
		t.Fatal(err)
	}
	var started, loads []string
	for _, e := range entries {
		started = append(started, e.Name())
	}
	for name, state := range answer {
		if state == "loads" {
			loads = append(loads, name)
		}
	}
	slices.Sort(loads)
	if !slices.Equal(started, loads) {
		t.Errorf("%s started %q, and it says that these load: %q", by, started, loads)
	}
}

// json runs the program and decodes what it prints.
func (s *realScene) json(t *testing.T, into any, args ...string) {
	t.Helper()
	cmd := exec.Command(filepath.Join(s.bin, args[0]), args[1:]...)
	cmd.Dir, cmd.Env, cmd.WaitDelay = s.project, s.environment(nil), time.Second
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output() // a server that does not answer makes it exit with 1
	if len(out) == 0 {
		t.Fatalf("%q: %v\n%s", args, err, stderr.String())
	}
	if err := json.Unmarshal(out, into); err != nil {
		t.Fatalf("%q: %v\n%s", args, err, out)
	}
}

// askGrok asks the doctor, which leaves out some of what is off, and holds a session to the answer.
func (s *realScene) askGrok(t *testing.T, name string) string {
	t.Helper()
	var doctor struct {
		Servers []struct {
			Name    string
			Healthy bool
			Checks  []struct{ Label, Detail string }
		}
	}
	s.clearStarted(t)
	s.json(t, &doctor, "grok", "mcp", "doctor", "--json")
	answer := map[string]string{}
	for _, x := range doctor.Servers {
		switch {
		case x.Healthy:
			answer[x.Name] = "loads"
		case len(x.Checks) == 1 && x.Checks[0].Label == "folder untrusted":
			answer[x.Name] = "waits"
		case len(x.Checks) == 1 && x.Checks[0].Label == "disabled in config":
			answer[x.Name] = "off"
		default:
			t.Fatalf("grok mcp doctor: %+v", x)
		}
	}
	s.holdStarted(t, "the doctor", answer)
	s.clearStarted(t)
	s.startGrok(t)
	s.holdStarted(t, "a session", answer)
	s.holdAll(t, answer)
	if state := answer[name]; state != "" {
		return state
	}
	return "off"
}

// startGrok starts a session and ends it when it has failed to reach its model.
func (s *realScene) startGrok(t *testing.T) {
	t.Helper()
	log := filepath.Join(s.home, ".grok/logs/unified.jsonl")
	if err := os.Remove(log); err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	cmd := exec.Command(filepath.Join(s.bin, "grok"), "-p", "hi")
	cmd.Dir, cmd.Env = s.project, s.environment([]string{"XAI_API_KEY=not-a-key", "HTTPS_PROXY=http://127.0.0.1:9"})
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		_ = cmd.Wait()
	}()
	for end := time.Now().Add(90 * time.Second); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		if text, _ := os.ReadFile(log); bytes.Contains(text, []byte("shell.turn.inference_retry")) {
			time.Sleep(time.Second)
			return
		}
	}
	t.Fatal("grok did not come to its model")
}

func (s *realScene) askOpenClaw(t *testing.T, name string) string {
	t.Helper()
	var status struct {
		Servers []struct {
			Name    string
			Enabled bool
		}
	}
	s.json(t, &status, "openclaw", "mcp", "status", "--json")
	answer := map[string]string{}
	for _, x := range status.Servers {
		answer[x.Name] = "off"
		if x.Enabled {
			answer[x.Name] = "loads"
		}
	}
	var probe struct{ Servers map[string]any }
	s.clearStarted(t)
	s.json(t, &probe, "openclaw", "mcp", "probe", "--json")
	s.holdStarted(t, "the probe", answer)
	s.holdAll(t, answer)
	if _, connected := probe.Servers[name]; connected != (answer[name] == "loads") {
		t.Errorf("openclaw mcp probe: %s connected: %t, but %s", name, connected, answer[name])
	}
	return answer[name]
}

func (s *realScene) askDroid(t *testing.T, name string) string {
	t.Helper()
	s.clearStarted(t)
	out, err := s.run([]string{"droid", "mcp", "list"})
	if err != nil {
		t.Fatalf("droid mcp list: %v\n%s", err, out)
	}
	answer := map[string]string{}
	for line := range strings.SplitSeq(out, "\n") {
		fields := strings.Fields(line)
		if !strings.HasPrefix(line, "  ") || len(fields) < 4 {
			continue
		}
		switch fields[2] {
		case "connected":
			answer[fields[0]] = "loads"
		case "disabled", "blocked":
			answer[fields[0]] = "off"
		default:
			t.Fatalf("droid mcp list: %s", line)
		}
	}
	s.holdStarted(t, "the listing", answer)
	s.holdAll(t, answer)
	if answer[name] == "" {
		return "absent: " + out
	}
	return answer[name]
}
