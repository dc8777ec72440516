package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
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

// BenchmarkListProcess is a whole process of list over all harnesses, with 30 servers: wall time, and the computing time of
// the process.
func BenchmarkListProcess(b *testing.B) {
	binary := filepath.Join(b.TempDir(), "fusebox")
	if out, err := exec.Command("go", "build", "-o", binary, ".").CombinedOutput(); err != nil {
		b.Fatalf("build: %v\n%s", err, out)
	}
	home, project := thirtyServers(b)
	for _, args := range [][]string{{"--version"}, {"list"}, {"list", "--json"}} {
		b.Run(strings.Join(args, "_"), func(b *testing.B) {
			var computed float64
			for b.Loop() {
				cmd := exec.Command(binary, args...)
				cmd.Dir = project
				cmd.Env = []string{"HOME=" + home, "USERPROFILE=" + home, "PATH=" + os.Getenv("PATH")}
				if out, err := cmd.CombinedOutput(); err != nil {
					b.Fatalf("%v\n%s", err, out)
				}
				computed += float64(cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime())
			}
			b.ReportMetric(computed/float64(b.N), "cpu-ns/op")
		})
	}
}
