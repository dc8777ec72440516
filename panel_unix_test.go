//go:build unix

package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/charmbracelet/x/term"
	"github.com/creack/pty"
)

// patience is how long a test waits: far longer than it should take, since no test measures time.
const patience = time.Minute

// terminal is a program on a terminal of its own.
type terminal struct {
	t      *testing.T
	cmd    *exec.Cmd
	master *os.File // what a terminal program holds
	slave  *os.File // what the program under test holds; open here too, so that its settings can be asked for at the end
	before *term.State
	temp   string // its TMPDIR

	mu     sync.Mutex
	output []byte
	more   chan struct{}
}

// startOnTerminal runs the program on a terminal of 120 by 35, with an empty home and an empty TMPDIR.
func startOnTerminal(t *testing.T, binary string, variables []string, args ...string) *terminal {
	t.Helper()
	master, slave, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	if err := pty.Setsize(master, &pty.Winsize{Rows: 35, Cols: 120}); err != nil {
		t.Fatal(err)
	}
	master = closable(t, master)
	x := &terminal{t: t, master: master, slave: slave, temp: t.TempDir(), more: make(chan struct{}, 1)}
	t.Cleanup(func() {
		master.Close() //nolint:errcheck // a test may have closed it
		slave.Close()  //nolint:errcheck // the test is over
	})
	if x.before, err = term.GetState(slave.Fd()); err != nil {
		t.Fatal(err)
	}
	x.cmd = exec.Command(binary, args...)
	x.cmd.Dir = t.TempDir()
	x.cmd.Env = []string{"TERM=xterm-256color", "LANG=C.UTF-8", "HOME=" + t.TempDir(), "PATH=" + os.Getenv("PATH"), "TMPDIR=" + x.temp, "CODEX_HOME=/nowhere"}
	x.cmd.Env = append(x.cmd.Env, variables...)
	x.cmd.Stdin, x.cmd.Stdout, x.cmd.Stderr = slave, slave, slave
	x.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := x.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		buffer := make([]byte, 1<<16)
		for {
			n, err := master.Read(buffer)
			x.mu.Lock()
			x.output = append(x.output, buffer[:n]...)
			x.mu.Unlock()
			select {
			case x.more <- struct{}{}:
			default:
			}
			if err != nil {
				return
			}
		}
	}()
	return x
}

// closable returns the file as one that Close really closes, also while somebody reads from it.
func closable(t *testing.T, f *os.File) *os.File {
	t.Helper()
	defer f.Close()
	fd, err := syscall.Dup(int(f.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	syscall.CloseOnExec(fd)
	if err := syscall.SetNonblock(fd, true); err != nil {
		t.Fatal(err)
	}
	return os.NewFile(uintptr(fd), f.Name())
}

var escapeSequence = regexp.MustCompile("\x1b(\\[[0-?]*[ -/]*[@-~]|[@-Z\\\\-_])")

// written is all that was written, without escape sequences.
func (x *terminal) written() string {
	x.mu.Lock()
	defer x.mu.Unlock()
	return escapeSequence.ReplaceAllString(string(x.output), "")
}

// waitFor waits until a text was written after what was there at mark, and returns where the output ends now.
func (x *terminal) waitFor(mark int, text string) int {
	x.t.Helper()
	limit := time.After(patience)
	for {
		written := x.written()
		if strings.Contains(written[min(mark, len(written)):], text) {
			return len(written)
		}
		select {
		case <-x.more:
		case <-limit:
			x.cmd.Process.Kill() //nolint:errcheck // the test fails anyway
			x.t.Fatalf("%q is never written; written is\n%s", text, written)
		}
	}
}

func (x *terminal) keys(keys string) {
	x.t.Helper()
	if _, err := x.master.WriteString(keys); err != nil {
		x.t.Fatal(err)
	}
}

// ended waits for the end of the program and asks that it left nothing: status 0, no file, the terminal as it was.
func (x *terminal) ended(hungUp bool) {
	x.t.Helper()
	kill := time.AfterFunc(patience, func() { x.cmd.Process.Kill() }) //nolint:errcheck // it may have ended
	defer kill.Stop()
	if err := x.cmd.Wait(); err != nil {
		x.t.Errorf("it ended with %v; written is\n%s", err, x.written())
	}
	entries, err := os.ReadDir(x.temp)
	if err != nil || len(entries) > 0 {
		x.t.Errorf("left in TMPDIR: %v, %v", entries, err)
	}
	if hungUp {
		return
	}
	after, err := term.GetState(x.slave.Fd())
	if err != nil || !reflect.DeepEqual(x.before, after) {
		x.t.Errorf("the terminal's settings are not as before: %v", err)
	}
	x.waitRaw("\x1b[?1049l") // the screen that was there before
	for name, sequence := range map[string]string{"the cursor": "\x1b[?25h", "the mouse": "\x1b[?1002l", "pasting": "\x1b[?2004l"} {
		x.mu.Lock()
		on, off := bytes.LastIndex(x.output, []byte(sequence[:len(sequence)-1]+otherOf(sequence))), bytes.LastIndex(x.output, []byte(sequence))
		x.mu.Unlock()
		if off < on {
			x.t.Errorf("%s is not given back", name)
		}
	}
}

// otherOf is the final byte that undoes the one of a mode sequence.
func otherOf(sequence string) string {
	if strings.HasSuffix(sequence, "h") {
		return "l"
	}
	return "h"
}

// waitRaw waits until the output holds these bytes.
func (x *terminal) waitRaw(text string) {
	x.t.Helper()
	limit := time.After(patience)
	for {
		x.mu.Lock()
		found := bytes.Contains(x.output, []byte(text))
		x.mu.Unlock()
		if found {
			return
		}
		select {
		case <-x.more:
		case <-limit:
			x.t.Fatalf("%q is never written", text)
		}
	}
}

// TestDemoOnATerminal drives the real program: keys in, screen out; whatever ends it, nothing is left behind.
func TestDemoOnATerminal(t *testing.T) {
	t.Parallel()
	binary := build(t)
	for name, end := range map[string]struct {
		act    func(x *terminal)
		hungUp bool
	}{
		"q":      {func(x *terminal) { x.keys("q") }, false},
		"ctrl+c": {func(x *terminal) { x.keys("\x03") }, false},
		"INT":    {func(x *terminal) { x.signal(syscall.SIGINT) }, false},
		"TERM":   {func(x *terminal) { x.signal(syscall.SIGTERM) }, false},
		"HUP":    {func(x *terminal) { x.signal(syscall.SIGHUP) }, false},
		"twice":  {func(x *terminal) { x.signal(syscall.SIGTERM); x.signal(syscall.SIGTERM); x.signal(syscall.SIGINT) }, false},
		"the terminal is closed": {func(x *terminal) {
			if err := x.master.Close(); err != nil {
				x.t.Fatal(err)
			}
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			x := startOnTerminal(t, binary, nil, "--demo")
			mark := x.waitFor(0, "? help")
			first := x.written()
			for _, want := range []string{"~/demo-shop", "Claude", "brave-search", "playwright", "– off"} {
				if !strings.Contains(first, want) {
					t.Errorf("%q is not on the first screen:\n%s", want, first)
				}
			}
			x.keys("j")
			mark = x.waitFor(mark, "2 of ")
			x.keys("\x1b[B") // an arrow, in one piece
			mark = x.waitFor(mark, "3 of ")
			x.keys("\x1b") // and in two
			x.keys("[A")
			mark = x.waitFor(mark, "2 of ")
			x.keys("/play")
			mark = x.waitFor(mark, "shown")
			x.keys("\x1b")
			x.waitFor(mark, "2 of ")
			end.act(x)
			x.ended(end.hungUp)
		})
	}
}

// TestEditorGetsTheTerminal: e gives the terminal to the editor, an interrupt there is not ours, and the screen comes back.
func TestEditorGetsTheTerminal(t *testing.T) {
	t.Parallel()
	editor := filepath.Join(t.TempDir(), "ed")
	if err := os.WriteFile(editor, []byte("#!/bin/sh\n[ -t 0 ] && [ -t 1 ] && echo edits \"$@\"\nkill -INT $PPID\nsleep 0.3\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	x := startOnTerminal(t, build(t), []string{"EDITOR=" + editor}, "--demo")
	mark := x.waitFor(0, "? help")
	x.keys("e")
	mark = x.waitFor(mark, "home/.claude.json") // the pane has ~/
	x.keys("j")
	x.waitFor(mark, "2 of ")
	x.keys("q")
	x.ended(false)
}

// signal sends a signal, unless the program has ended.
func (x *terminal) signal(s os.Signal) {
	x.cmd.Process.Signal(s) //nolint:errcheck // it may have ended at the one before
}

// TestSignalDuringTheListOfTheDemo: a signal at any moment leaves nothing behind.
func TestSignalDuringTheListOfTheDemo(t *testing.T) {
	t.Parallel()
	binary := build(t)
	for i := range 10 {
		temp := t.TempDir()
		cmd := exec.Command(binary, "list", "--demo")
		cmd.Env = []string{"HOME=" + t.TempDir(), "TMPDIR=" + temp, "PATH=" + os.Getenv("PATH")}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Duration(2*i) * time.Millisecond)
		cmd.Process.Signal(syscall.SIGTERM) //nolint:errcheck // it may have ended
		cmd.Wait()                          //nolint:errcheck // ended by the signal, or with its own status
		if entries, err := os.ReadDir(temp); err != nil || len(entries) > 0 {
			t.Errorf("after %d ms left in TMPDIR: %v, %v", 2*i, entries, err)
		}
	}
}
