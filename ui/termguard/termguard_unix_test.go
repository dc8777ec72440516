//go:build unix

package termguard

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/creack/pty"
)

// firstOutput starts a program of testdata on a terminal that never answers and returns what it wrote first.
func firstOutput(t *testing.T, program string) []byte {
	t.Helper()
	binary := filepath.Join(t.TempDir(), program)
	if out, err := exec.Command("go", "build", "-o", binary, "./testdata/"+program).CombinedOutput(); err != nil {
		t.Fatalf("build %s: %v\n%s", program, err, out)
	}
	cmd := exec.Command(binary)
	cmd.Env = []string{"TERM=xterm-256color", "PATH=" + os.Getenv("PATH")}
	terminal, err := pty.Start(cmd)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		cmd.Process.Kill() //nolint:errcheck // it may have ended
		cmd.Wait()         //nolint:errcheck // a killed program always reports an error
		terminal.Close()
	}()
	guard := time.AfterFunc(time.Minute, func() { cmd.Process.Kill() }) //nolint:errcheck // see above
	defer guard.Stop()
	buffer := make([]byte, 256)
	n, err := terminal.Read(buffer)
	if err != nil {
		t.Fatalf("read the terminal: %v", err)
	}
	return buffer[:n]
}

func TestNothingIsAskedOfTheTerminal(t *testing.T) {
	t.Parallel()
	if got := firstOutput(t, "guarded"); !bytes.HasPrefix(got, []byte("started")) {
		t.Errorf("the guarded program wrote %q first, want \"started\"", got)
	}
}

// TestBubbleTeaStillAsks says when the guard has become needless: a Bubble Tea that does not ask.
func TestBubbleTeaStillAsks(t *testing.T) {
	t.Parallel()
	if got := firstOutput(t, "unguarded"); !bytes.HasPrefix(got, []byte{0x1b}) {
		t.Errorf("the unguarded program wrote %q first, want an escape sequence", got)
	}
}
