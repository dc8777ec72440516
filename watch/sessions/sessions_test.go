package sessions

import (
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"fusebox/model"
)

var programs = []Program{
	{Harness: "claude-code", Names: []string{"claude"}, Packages: []string{"@anthropic-ai/claude-code"}, Not: []string{"mcp"}},
	{Harness: "codex", Names: []string{"codex"}},
}

func TestMatch(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		args []string
		want model.HarnessID
	}{
		{[]string{"claude"}, "claude-code"},
		{[]string{"/usr/local/bin/claude", "--continue"}, "claude-code"},
		{[]string{`C:\Tools\claude.exe`}, "claude-code"},
		{[]string{"node", "--max-old-space-size=4096", "/usr/lib/node_modules/@anthropic-ai/claude-code/cli.js"}, "claude-code"},
		{[]string{"/usr/bin/node", "/home/ann/.npm/bin/codex", "exec"}, "codex"},
		{[]string{"claude", "mcp", "list"}, ""},
		{[]string{"node", "server.js"}, ""},
		{[]string{"node"}, ""},
		{[]string{"vim", "/home/ann/claude"}, ""},
		{[]string{"claudette"}, ""},
		{[]string{""}, ""},
	} {
		got, ok := Match(programs, c.args)
		if got != c.want || ok != (c.want != "") {
			t.Errorf("%q is %q", c.args, got)
		}
	}
}

// A real child under the name of a harness is found with its folder and start, and is gone when it has ended.
func TestFindsARealProcess(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("a copy of a program cannot be run under another name here")
	}
	sleep, err := exec.LookPath("cat")
	if err != nil {
		t.Skip("no cat on this machine")
	}
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	named := filepath.Join(dir, "claude")
	copyProgram(t, sleep, named)
	cmd := exec.Command(named)
	cmd.Dir = dir
	stdin, err := cmd.StdinPipe() // it ends when its input does
	if err != nil {
		t.Fatal(err)
	}
	before := time.Now()
	if err := cmd.Start(); err != nil {
		t.Skip("a copy of a program cannot be run here: " + err.Error())
	}
	found := func() *Session {
		all, err := Find(context.Background(), programs)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range all {
			if s.PID == cmd.Process.Pid {
				return &s
			}
		}
		return nil
	}
	s := found()
	if s == nil || s.Harness != "claude-code" || s.Cwd != dir && runtime.GOOS == "linux" {
		t.Fatalf("found %+v", s)
	}
	if d := s.Since.Sub(before); d < -2*time.Second || d > 2*time.Second {
		t.Errorf("it was started at %s, want about %s", s.Since, before)
	}
	stdin.Close()
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	if s := found(); s != nil {
		t.Errorf("it is still found: %+v", s)
	}
}

func copyProgram(t *testing.T, from, to string) {
	t.Helper()
	in, err := os.Open(from)
	if err != nil {
		t.Skip(err)
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY, 0o755)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(out, in); err != nil {
		t.Fatal(err)
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
}

func BenchmarkFind(b *testing.B) {
	for b.Loop() {
		if _, err := Find(context.Background(), programs); err != nil {
			b.Fatal(err)
		}
	}
}
