//go:build unix

package cli

import (
	"bufio"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// A pipe that nobody reads from is refused at once, one that somebody reads from is written to.
func TestLogToAPipe(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "pipe")
	if err := unix.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	refused := make(chan error, 1)
	go func() {
		_, _, err := openLog(path)
		refused <- err
	}()
	select {
	case err := <-refused:
		if err == nil {
			t.Error("a pipe without a reader was opened")
		}
	case <-time.After(patience):
		t.Fatal("opening a pipe without a reader does not end")
	}
	reader, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	log, closeLog, err := openLog(path)
	if err != nil {
		t.Fatal(err)
	}
	log.printf("an event")
	if err := closeLog(); err != nil {
		t.Error(err)
	}
	if line, err := bufio.NewReader(reader).ReadString('\n'); err != nil || len(line) < len("an event") {
		t.Errorf("read %q, %v", line, err)
	}
}
