//go:build unix

package input

import (
	"errors"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// reserve is the room that a read keeps for the rest of a sequence, in bytes: more than any key or mouse report has.
const reserve = 64

// openTerminal opens the controlling terminal.
func openTerminal() (*os.File, error) { return os.Open("/dev/tty") }

// Read reads at least one byte, like the file itself. When the bytes end inside a sequence, the rest is added one byte
// at a time: nothing may be held back, since the cancel reader only calls Read when the terminal has something new. It
// never fills p either, because Bubble Tea takes a full buffer for a reason to keep the last keys to itself.
func (f *File) Read(p []byte) (int, error) {
	first := len(p) - reserve
	if first < 1 {
		first = (len(p) + 1) / 2
	}
	n, err := f.file.Read(p[:first])
	if err != nil || n == 0 {
		return n, err
	}
	for n < len(p)-1 && unfinished(p[:n]) && f.readable() {
		m, err := f.file.Read(p[n : n+1])
		n += m
		if err != nil || m == 0 { // the next Read meets it again
			break
		}
	}
	return f.paste.cut(p[:n]), nil
}

// readable waits until there is something to read, or the time is over. It uses select because poll does not know
// terminals on macOS.
func (f *File) readable() bool {
	fd := int(f.file.Fd())
	if fd >= unix.FD_SETSIZE {
		return false
	}
	end := time.Now().Add(f.wait)
	for {
		left := max(time.Until(end), 0)
		timeout := unix.NsecToTimeval(left.Nanoseconds())
		var set unix.FdSet
		set.Set(fd)
		n, err := unix.Select(fd+1, &set, nil, nil, &timeout)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		return err == nil && n > 0
	}
}
