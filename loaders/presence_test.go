package loaders

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

// A harness is on the machine when a file or folder of its own exists; a file that it shares with another shows nothing.
func TestSharedFilesDoNotShowThatAHarnessIsThere(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	project := filepath.Join(home, "p")
	if err := os.Mkdir(project, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(project, ".mcp.json"), []byte(`{"mcpServers":{"x":{"command":"npx"}}}`), 0o644); err != nil {
		t.Fatal(err)
	}
	env := &Env{Root: filepath.Join(home, "root"), Home: home, Project: project, GOOS: "linux", UID: os.Getuid(), Now: time.Now}
	present := func() map[string]bool {
		out := map[string]bool{}
		for _, c := range NewLoader(env, All()).Load().Columns {
			if c.Present {
				out[string(c.ID)] = true
			}
		}
		return out
	}
	if got := present(); len(got) != 1 || !got["claude-code"] {
		t.Errorf("with .mcp.json alone there are %v", got)
	}
	if err := os.Mkdir(filepath.Join(home, ".copilot"), 0o755); err != nil {
		t.Fatal(err)
	}
	if got := present(); !got["copilot"] || len(got) != 2 {
		t.Errorf("with ~/.copilot there are %v", got)
	}
}
