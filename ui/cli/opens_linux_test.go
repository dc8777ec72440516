package cli

import (
	"errors"
	"testing"

	"golang.org/x/sys/unix"
)

// watchOpens returns a function that tells how often a file was opened since.
func watchOpens(t *testing.T, path string) func() int {
	t.Helper()
	fd, err := unix.InotifyInit1(unix.IN_NONBLOCK | unix.IN_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Close(fd) }) //nolint:errcheck // the test is over
	if _, err := unix.InotifyAddWatch(fd, path, unix.IN_OPEN); err != nil {
		t.Fatal(err)
	}
	return func() int {
		buffer := make([]byte, 64*unix.SizeofInotifyEvent)
		n, err := unix.Read(fd, buffer)
		if errors.Is(err, unix.EAGAIN) {
			return 0
		}
		if err != nil {
			t.Fatal(err)
		}
		return n / unix.SizeofInotifyEvent
	}
}
