package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// thirtyServers writes a home in which five harnesses have 30 servers together, and returns home and project.
func thirtyServers(b *testing.B) (home, project string) {
	b.Helper()
	base := b.TempDir()
	home = filepath.Join(base, "home")
	project = filepath.Join(home, "shop")
	servers := func(names []int, one func(n int) string) string {
		var out []string
		for _, n := range names {
			out = append(out, one(n))
		}
		return strings.Join(out, ",\n  ")
	}
	stdio := func(n int) string {
		return fmt.Sprintf(`"server-%d": {"command": "npx", "args": ["-y", "@acme/server-%d"], "env": {"TOKEN": "secret-of-%d"}}`, n, n, n)
	}
	numbers := func(from, to int) (out []int) {
		for n := from; n < to; n++ {
			out = append(out, n)
		}
		return out
	}
	var toml strings.Builder
	for _, n := range numbers(0, 6) {
		fmt.Fprintf(&toml, "[mcp_servers.server-%d]\ncommand = \"npx\"\nargs = [\"-y\", \"@acme/server-%d\"]\nenv = { TOKEN = \"secret-of-%d\" }\n\n", n, n, n)
	}
	for name, text := range map[string]string{
		".claude.json":          "{\n \"mcpServers\": {\n  " + servers(numbers(0, 6), stdio) + "\n }\n}\n",
		"shop/.mcp.json":        "{\n \"mcpServers\": {\n  " + servers(numbers(6, 9), stdio) + "\n }\n}\n",
		".codex/config.toml":    toml.String(),
		".gemini/settings.json": "{\n \"security\": {\"folderTrust\": {\"enabled\": false}},\n \"mcpServers\": {\n  " + servers(numbers(0, 5), stdio) + "\n }\n}\n",
		".cursor/mcp.json":      "{\n \"mcpServers\": {\n  " + servers(numbers(0, 5), stdio) + "\n }\n}\n",
		".config/opencode/opencode.json": "{\n \"mcp\": {\n  " + servers(numbers(0, 5), func(n int) string {
			return fmt.Sprintf(`"server-%d": {"type": "local", "command": ["npx", "-y", "@acme/server-%d"]}`, n, n)
		}) + "\n }\n}\n",
	} {
		path := filepath.Join(home, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			b.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			b.Fatal(err)
		}
	}
	return home, project
}

// hundredServers writes a home in which every harness is present and has servers of its own, 100 together.
func hundredServers(b *testing.B) (home, project string) {
	b.Helper()
	home = b.TempDir()
	project = filepath.Join(home, "shop")
	stdio := `"server-%[1]d": {"command": "npx", "args": ["-y", "@acme/server-%[1]d"], "env": {"TOKEN": "secret-of-%[1]d"}}`
	toml := "[mcp_servers.server-%[1]d]\ncommand = \"npx\"\nargs = [\"-y\", \"@acme/server-%[1]d\"]\nenv = { TOKEN = \"secret-of-%[1]d\" }\n\n"
	files := []struct{ name, around, entry string }{
		{".claude.json", `{"mcpServers": {%s}}`, stdio},
		{".codex/config.toml", "%s", toml},
		{".gemini/settings.json", `{"security": {"folderTrust": {"enabled": false}}, "mcpServers": {%s}}`, stdio},
		{".cursor/mcp.json", `{"mcpServers": {%s}}`, stdio},
		{".config/opencode/opencode.json", `{"mcp": {%s}}`, `"server-%[1]d": {"type": "local", "command": ["npx", "-y", "@acme/server-%[1]d"]}`},
		{".deepagents/.mcp.json", `{"mcpServers": {%s}}`, strings.Replace(stdio, "npx", "go", 1)},
		{".config/Code/User/mcp.json", `{"servers": {%s}}`, stdio},
		{".config/Claude/claude_desktop_config.json", `{"mcpServers": {%s}}`, stdio},
		{".copilot/mcp-config.json", `{"mcpServers": {%s}}`, stdio},
		{".qwen/settings.json", `{"mcpServers": {%s}}`, stdio},
		{".codeium/windsurf/mcp_config.json", `{"mcpServers": {%s}}`, stdio},
		{".cline/data/settings/cline_mcp_settings.json", `{"mcpServers": {%s}}`, stdio},
		{".config/zed/settings.json", `{"context_servers": {%s}}`, stdio},
		{".gemini/config/mcp_config.json", `{"mcpServers": {%s}}`, stdio},
		{".openclaw/openclaw.json", `{"mcp": {"servers": {%s}}}`, stdio},
		{".hermes/config.yaml", "mcp_servers:\n%s", "  server-%[1]d:\n    command: npx\n    args: [\"-y\", \"@acme/server-%[1]d\"]\n"},
		{".grok/config.toml", "%s", toml},
		{".factory/mcp.json", `{"mcpServers": {%s}}`, stdio},
		{".config/goose/config.yaml", "extensions:\n%s", "  server-%[1]d:\n    enabled: true\n    type: stdio\n    name: server-%[1]d\n    cmd: npx\n    args: [\"-y\", \"@acme/server-%[1]d\"]\n"},
		{".config/crush/crush.json", `{"mcp": {%s}}`, strings.Replace(stdio, `"command"`, `"type": "stdio", "command"`, 1)},
		{".config/Code/User/globalStorage/rooveterinaryinc.roo-cline/settings/mcp_settings.json", `{"mcpServers": {%s}}`, stdio},
		{".config/kilo/kilo.jsonc", `{"mcp": {%s}}`, `"server-%[1]d": {"type": "local", "command": ["npx", "-y", "@acme/server-%[1]d"]}`},
		{".kiro/settings/mcp.json", `{"mcpServers": {%s}}`, stdio},
		{".config/amp/settings.json", `{"amp.mcpServers": {%s}}`, stdio},
		{".continue/config.yaml", "name: me\nversion: 1.0.0\nschema: v1\nmcpServers:\n%s", "  - name: server-%[1]d\n    command: npx\n    args: [\"-y\", \"@acme/server-%[1]d\"]\n"},
		{".kimi-code/mcp.json", `{"mcpServers": {%s}}`, stdio},
		{".config/mcp-combiner/servers.json", `{"mcpServers": {%s}}`, stdio},
	}
	for i, f := range files {
		var entries []string
		for n := i; n < 100; n += len(files) {
			entries = append(entries, fmt.Sprintf(f.entry, n))
		}
		between := ",\n "
		if !strings.HasPrefix(f.around, "{") {
			between = ""
		}
		path := filepath.Join(home, filepath.FromSlash(f.name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			b.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(fmt.Sprintf(f.around, strings.Join(entries, between))+"\n"), 0o600); err != nil {
			b.Fatal(err)
		}
	}
	if err := os.MkdirAll(project, 0o700); err != nil {
		b.Fatal(err)
	}
	return home, project
}

// BenchmarkListProcess is a whole process of list over all harnesses, with 30 servers of five harnesses and with 100 of all:
// wall time, and the computing time of the process.
func BenchmarkListProcess(b *testing.B) {
	binary := buildProgram(b)
	for _, c := range []struct {
		name string
		make func(b *testing.B) (home, project string)
	}{{"30_servers", thirtyServers}, {"100_servers", hundredServers}} {
		home, project := c.make(b)
		for _, args := range [][]string{{"--version"}, {"list"}, {"list", "--json"}} {
			b.Run(c.name+"/"+strings.Join(args, "_"), func(b *testing.B) {
				var computed time.Duration
				for b.Loop() {
					_, cpu := runProgram(b, home, project, binary, args...)
					computed += cpu
				}
				b.ReportMetric(float64(computed)/float64(b.N), "cpu-ns/op")
			})
		}
	}
}

// BenchmarkListBesideCodex runs list over all harnesses and `codex mcp list` in the same home in turn. FUSEBOX_ORACLE_BIN is
// a folder with the real program.
func BenchmarkListBesideCodex(b *testing.B) {
	codex := filepath.Join(os.Getenv("FUSEBOX_ORACLE_BIN"), "codex")
	if _, err := os.Stat(codex); err != nil || !filepath.IsAbs(codex) {
		b.Skip("FUSEBOX_ORACLE_BIN names no folder with codex")
	}
	binary := buildProgram(b)
	for _, c := range []struct {
		name string
		make func(b *testing.B) (home, project string)
	}{{"30_servers", thirtyServers}, {"100_servers", hundredServers}} {
		b.Run(c.name, func(b *testing.B) {
			home, project := c.make(b)
			var ours, theirs []float64
			for b.Loop() {
				wall, _ := runProgram(b, home, project, binary, "list")
				ours = append(ours, float64(wall))
				wall, _ = runProgram(b, home, project, codex, "mcp", "list")
				theirs = append(theirs, float64(wall))
			}
			slices.Sort(ours)
			slices.Sort(theirs)
			b.ReportMetric(ours[len(ours)/2], "fusebox-median-ns")
			b.ReportMetric(theirs[len(theirs)/2], "codex-median-ns")
		})
	}
}

func buildProgram(b *testing.B) string {
	b.Helper()
	binary := filepath.Join(b.TempDir(), "fusebox")
	if out, err := exec.Command("go", "build", "-o", binary, ".").CombinedOutput(); err != nil {
		b.Fatalf("build: %v\n%s", err, out)
	}
	return binary
}

func runProgram(b *testing.B, home, project, program string, args ...string) (wall, cpu time.Duration) {
	b.Helper()
	cmd := exec.Command(program, args...)
	cmd.Dir = project
	cmd.Env = []string{"HOME=" + home, "USERPROFILE=" + home, "PATH=" + os.Getenv("PATH")}
	began := time.Now()
	out, err := cmd.CombinedOutput()
	wall = time.Since(began)
	if err != nil {
		b.Fatalf("%v\n%s", err, out)
	}
	return wall, cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
}
