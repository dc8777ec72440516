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

		// Without servers to switch: the program and the cells must say the same.
		{name: "grok, who wins", harness: "grok", git: true, start: "sub", files: map[string]string{
			"~/.grok/trusted_folders.toml": trusted,
			"~/.grok/config.toml":          "disabled_mcp_servers = [\"unknown\"]\n" + tomlServers("useroff") + offInEntry + tomlServers("projoff", "badproj", "nearoff", "listed", "foreignoff") + tomlServers("owncursor") + offInEntry,
			"./.grok/config.toml":          "disabled_mcp_servers = [\"listed\"]\n" + tomlServers("useroff", "badnear", "nearoff") + tomlServers("projoff") + offInEntry + tomlServers("badproj") + "enabled = \"no\"\n",
			"./sub/.grok/config.toml":      tomlServers("badnear") + "cwd = 5\n" + tomlServers("nearoff") + offInEntry,
			"~/.cursor/mcp.json":           `{"mcpServers": {` + servers(jsonEntry, "owncursor", "claudeoff", "mine") + ", " + servers(openClawOff, "cursoroff") + "}}",
			"./.mcp.json":                  `{"mcpServers": {` + servers(jsonEntry, "cursoroff", "mine") + ", " + servers(openClawOff, "foreignoff") + "}}",
			"~/.claude.json":               `{"mcpServers": {` + servers(openClawOff, "claudeoff") + "}}"}},
		{name: "grok, your own name in an untrusted folder", harness: "grok", git: true, files: map[string]string{
			"~/.grok/config.toml": tomlServers("own", "ownoff", "alone", "dotoff", "cursoroff", "dotbad", "tomlbad") + "[mcp_servers.bad]\ncommand = 5\n",
			"./.mcp.json":         `{"mcpServers": {` + servers(jsonEntry, "own") + ", " + servers(openClawOff, "dotoff") + `, "dotbad": {"command": 5}}}`, "./.cursor/mcp.json": `{"mcpServers": {` + servers(openClawOff, "cursoroff") + "}}",
			"./.grok/config.toml": tomlServers("ownoff") + offInEntry + "[mcp_servers.tomlbad]\ncommand = 5\n"}},
		{name: "grok, no trust asked for", harness: "grok", git: true, files: grokFiles(map[string]string{"~/.grok/config.toml": "[folder_trust]\nenabled = false\n" + tomlServers("user")})},
		{name: "grok, a parent is trusted", harness: "grok", git: true, start: "sub", files: grokFiles(map[string]string{"~/.grok/trusted_folders.toml": "[folders.\"@PARENT@\"]\ntrusted = true\n"})},
		{name: "grok, a parent is trusted and the folder is not", harness: "grok", git: true, start: "sub", files: grokFiles(map[string]string{"~/.grok/trusted_folders.toml": "[folders.\"@PARENT@\"]\ntrusted = true\n" + distrusted})},
		{name: "grok, only a folder below is trusted", harness: "grok", git: true, start: "sub", files: grokFiles(map[string]string{"~/.grok/trusted_folders.toml": "[folders.\"@PROJECT@/sub\"]\ntrusted = true\n"})},
		{name: "grok, a bad line of trust", harness: "grok", git: true, files: grokFiles(map[string]string{"~/.grok/trusted_folders.toml": trusted + "[folders.\"/nowhere\"]\ntrusted = \"yes\"\n"})},
		{name: "grok, the trusted folder is spelt with dots", harness: "grok", files: grokFiles(map[string]string{"~/.grok/trusted_folders.toml": "[folders.\"@PROJECT@/./\"]\ntrusted = true\n"})},
		{name: "grok, a list that is none", harness: "grok", git: true, files: grokFiles(map[string]string{"~/.grok/config.toml": "disabled_mcp_servers = [\"user\", 5]\n" + tomlServers("user", "other")})},
		{name: "grok, a broken file of the folder", harness: "grok", git: true, files: map[string]string{"~/.grok/trusted_folders.toml": trusted,
			"~/.grok/config.toml": tomlServers("user", "both"), "./.grok/config.toml": tomlServers("proj", "both") + "x =\n"}},
		{name: "grok, a broken file of yours", harness: "grok", git: true, files: map[string]string{"~/.grok/trusted_folders.toml": trusted,
			"~/.grok/config.toml": "disabled_mcp_servers = [\"proj\"]\n" + tomlServers("user") + "x =\n", "./.grok/config.toml": tomlServers("proj"), "~/.cursor/mcp.json": jsonFile(jsonEntry, "cursor")}},
		{name: "grok, foreign files are off", harness: "grok", git: true, files: grokFiles(map[string]string{"~/.grok/trusted_folders.toml": trusted,
			"~/.grok/config.toml": "[compat.claude]\nmcps = false\n[compat.cursor]\nmcps = false\n" + tomlServers("user")})},
		{name: "grok, after an import", harness: "grok", git: true, start: "sub", files: grokFiles(map[string]string{"~/.grok/trusted_folders.toml": trusted,
			"~/.grok/config.toml": "[claude_compat]\nimported = true\n" + tomlServers("user")})},

		{name: "openclaw, spellings", harness: "openclaw", files: map[string]string{
			"~/.openclaw/openclaw.json": fmt.Sprintf(openClawFile, servers(jsonEntry, "on", "1 odd.näme"), `'bad': {args: ['x']}`)}},

		{name: "droid, an entry that does not fit", harness: "droid", git: true, files: map[string]string{
			"~/.factory/mcp.json": jsonFile(jsonEntry, "user", "both"), "./.factory/mcp.json": `{"mcpServers": {"both": {"command": "true", "args": [5]}, ` + servers(jsonEntry, "proj") + "}}"}},
		{name: "droid, null", harness: "droid", git: true, files: map[string]string{
			"~/.factory/mcp.json": jsonFile(jsonEntry, "user", "both"), "./.factory/mcp.json": `{"mcpServers": {"both": null}}`}},
		{name: "droid, a broken file", harness: "droid", git: true, files: map[string]string{
			"~/.factory/mcp.json": jsonFile(jsonEntry, "user", "both"), "./.factory/mcp.json": `{"mcpServers": {` + servers(jsonEntry, "both", "proj") + ",}}"}},
		{name: "droid, policies", harness: "droid", git: true, start: "a", files: map[string]string{
			"~/.factory/mcp.json": jsonFile(jsonEntry, "user", "other"), "./.factory/mcp.json": jsonFile(jsonEntry, "proj"), "./a/.factory/settings.json": `{"mcpPolicy": {"enabled": false}}`,
			"./.factory/settings.json": "// ours\n" + `{"mcpPolicy": {"enabled": true, "allowlist": ["started/User"]}}`, "~/.factory/settings.json": `{"mcpPolicy": {"enabled": true, "allowlist": ["other"]}}`}},
		{name: "droid, the repository begins above the home", harness: "droid", git: true, start: "home/p", files: map[string]string{
			"./.factory/mcp.json": jsonFile(jsonEntry, "above", "user"), "~/.factory/mcp.json": jsonFile(jsonEntry, "user", "proj"), "./home/p/.factory/mcp.json": jsonFile(jsonEntry, "proj")}},
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
				if len(c.servers) == 0 {
					layReal(t, bin, c).askAll(t)
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

// askAll asks about all servers, and holds the cells to the answer.
func (s *realScene) askAll(t *testing.T) map[string]string {
	t.Helper()
	var answer map[string]string
	switch s.harness.ID {
	case "grok":
		answer = s.askGrok(t)
	case "openclaw":
		answer = s.askOpenClaw(t)
	default:
		answer = s.askDroid(t)
	}
	s.holdAll(t, answer)
	return answer
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
func (s *realScene) askGrok(t *testing.T) map[string]string {
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
	if !s.startGrok(t) {
		clear(answer)
	}
	maps.DeleteFunc(answer, func(name, state string) bool { // it starts what a session does not: where they disagree, the session is right
		_, err := os.Stat(filepath.Join(s.started, name))
		return state == "loads" && err != nil
	})
	s.holdStarted(t, "a session", answer)
	for _, c := range loaders.NewSwitchboard(s.env, s.harness).Column().Cells {
		if answer[c.Name] == "" && c.Decision == model.DecisionOff {
			answer[c.Name] = "off"
		}
	}
	return answer
}

// startGrok starts a session and ends it when it has failed to reach its model. One that does not start at all ends by itself.
func (s *realScene) startGrok(t *testing.T) (started bool) {
	t.Helper()
	log := filepath.Join(s.home, ".grok/logs/unified.jsonl")
	if err := os.Remove(log); err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	cmd := exec.Command(filepath.Join(s.bin, "grok"), "-p", "hi")
	cmd.Dir, cmd.Env = s.project, s.environment([]string{"XAI_API_KEY=not-a-key", "HTTPS_PROXY=http://127.0.0.1:9"})
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr, cmd.WaitDelay = &out, &out, time.Second
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	kill := func() { syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	timeout, tick := time.NewTimer(90*time.Second), time.NewTicker(50*time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-ended:
			if !bytes.Contains(out.Bytes(), []byte("Error: Failed to")) {
				t.Fatalf("grok ended: %s", out.Bytes())
			}
			return false
		case <-timeout.C:
			kill()
			<-ended
			t.Fatal("grok did not come to its model")
		case <-tick.C:
			if text, _ := os.ReadFile(log); bytes.Contains(text, []byte("shell.turn.inference_retry")) {
				time.Sleep(time.Second)
				kill()
				<-ended
				return true
			}
		}
	}
}

func (s *realScene) askOpenClaw(t *testing.T) map[string]string {
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
	maps.DeleteFunc(answer, func(name, state string) bool { // it calls enabled what cannot start
		return state == "loads" && probe.Servers[name] == nil
	})
	s.holdStarted(t, "the probe", answer)
	return answer
}

func (s *realScene) askDroid(t *testing.T) map[string]string {
	t.Helper()
	s.clearStarted(t)
	out, err := s.run([]string{"droid", "mcp", "list"})
	answer := map[string]string{}
	if err != nil {
		if !strings.Contains(out, "null is not an object") {
			t.Fatalf("droid mcp list: %v\n%s", err, out)
		}
		s.holdStarted(t, "the listing", answer)
		return answer
	}
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
		case "failed:":
		default:
			t.Fatalf("droid mcp list: %s", line)
		}
	}
	s.holdStarted(t, "the listing", answer)
	return answer
}
