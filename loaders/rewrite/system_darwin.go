package rewrite

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// exchange swaps what two names in one folder stand for, in one step (APFS).
func exchange(a, b string) error { return renameFlags(a, b, unix.RENAME_SWAP) }

// renameNew gives a file a name that is not taken; fs.ErrExist when it is.
func renameNew(from, to string) error { return renameFlags(from, to, unix.RENAME_EXCL) }

func renameFlags(from, to string, flags uint32) error {
	for {
		err := unix.RenamexNp(from, to, flags)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case err == nil:
			return nil
		case isUnsupported(err):
			return errNoExchange
		}
		return &os.LinkError{Op: "renamex_np", Old: from, New: to, Err: err}
	}
}

// openForWriting cannot be asked for here.
func openForWriting(*os.File) bool { return false }

// changedAt is when the file last changed, its name included. Its modification time may be years old although it was put
// aside just now.
func changedAt(info fs.FileInfo) time.Time {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return time.Unix(st.Ctimespec.Sec, st.Ctimespec.Nsec)
	}
	return info.ModTime()
}

// copyAttributes copies nothing here: permissions and owner are all that is kept.
func copyAttributes(string, *os.File) error { return nil }
