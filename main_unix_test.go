//go:build unix

package main

import (
	"bytes"
	"errors"
	"go/parser"
	"go/token"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"
)

// build makes the program once for all subtests and returns its path.
func build(t *testing.T) string {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "fusebox")
	if out, err := exec.Command("go", "build", "-o", binary, ".").CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	return binary
}

// runMute runs the program on a terminal that never answers and returns all that it wrote. home and project are empty
// folders of the test.
func runMute(t *testing.T, binary string, args ...string) []byte {
	t.Helper()
	home, project := t.TempDir(), t.TempDir()
	cmd := exec.Command(binary, args...)
	cmd.Dir = project
	cmd.Env = []string{"TERM=xterm-256color", "HOME=" + home, "PATH=" + os.Getenv("PATH")}
	terminal, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: 35, Cols: 120})
	if err != nil {
		t.Fatal(err)
	}
	defer terminal.Close()
	stop := time.AfterFunc(time.Minute, func() { cmd.Process.Kill() }) //nolint:errcheck // it may have ended
	defer stop.Stop()
	output, err := io.ReadAll(terminal)
	if err != nil && !errors.Is(err, syscall.EIO) { // Linux reports the end of a terminal as EIO
		t.Fatalf("read the terminal: %v", err)
	}
	if err := cmd.Wait(); err != nil {
		t.Fatalf("fusebox %q: %v\n%s", args, err, output)
	}
	return output
}

func TestMuteTerminal(t *testing.T) {
	t.Parallel()
	binary := build(t)
	for _, args := range [][]string{{"--version"}, {"list"}, {"list", "--json"}} {
		t.Run(args[len(args)-1], func(t *testing.T) {
			t.Parallel()
			output := runMute(t, binary, args...)
			if len(output) == 0 {
				t.Error("nothing was written")
			}
			if bytes.IndexByte(output, 0x1b) >= 0 {
				t.Errorf("wrote an escape sequence: %q", output)
			}
		})
	}
}

// TestMainKeepsTheGuard holds also while nothing that main imports links Bubble Tea.
func TestMainKeepsTheGuard(t *testing.T) {
	t.Parallel()
	file, err := parser.ParseFile(token.NewFileSet(), "main.go", nil, parser.ImportsOnly)
	if err != nil {
		t.Fatal(err)
	}
	for _, spec := range file.Imports {
		if path, err := strconv.Unquote(spec.Path.Value); err == nil && path == "fusebox/ui/termguard" {
			return
		}
	}
	t.Error("main.go does not import fusebox/ui/termguard: Bubble Tea asks the terminal before main, and may wait 5 s")
}
