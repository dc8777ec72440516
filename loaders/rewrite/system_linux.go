package rewrite

import (
	"errors"
	"io/fs"
	"os"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// exchange swaps what two names in one folder stand for, in one step.
func exchange(a, b string) error { return rename2(a, b, unix.RENAME_EXCHANGE) }

// renameNew gives a file a name that is not taken; fs.ErrExist when it is.
func renameNew(from, to string) error { return rename2(from, to, unix.RENAME_NOREPLACE) }

func rename2(from, to string, flags uint) error {
	for {
		err := unix.Renameat2(unix.AT_FDCWD, from, unix.AT_FDCWD, to, flags)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case err == nil:
			return nil
		case isUnsupported(err):
			return errNoExchange
		}
		return &os.LinkError{Op: "renameat2", Old: from, New: to, Err: err}
	}
}

// openForWriting tells whether some process has the file open for writing: a read lease is granted only when none has. It
// is false where leases are not supported or not allowed.
func openForWriting(f *os.File) bool {
	_, err := unix.FcntlInt(f.Fd(), unix.F_SETLEASE, unix.F_RDLCK)
	if err != nil {
		return errors.Is(err, unix.EAGAIN)
	}
	// Given back at once: a lease makes others wait.
	_, _ = unix.FcntlInt(f.Fd(), unix.F_SETLEASE, unix.F_UNLCK)
	return false
}

// changedAt is when the file last changed, its name included. Its modification time may be years old although it was put
// aside just now.
func changedAt(info fs.FileInfo) time.Time {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return time.Unix(int64(st.Ctim.Sec), int64(st.Ctim.Nsec))
	}
	return info.ModTime()
}

const accessList = "system.posix_acl_access"

// copyAttributes copies extended attributes. An access list that cannot be copied is an error, since its mask looks like
// permissions of the group; the others are kept where the system lets us.
func copyAttributes(from string, to *os.File) error {
	names, err := attributes(from)
	if err != nil {
		return nil
	}
	for _, name := range names {
		if !strings.HasPrefix(name, "user.") && name != accessList && name != "security.selinux" {
			continue
		}
		value := make([]byte, 64<<10) // the most that Linux allows
		n, err := unix.Lgetxattr(from, name, value)
		if err == nil {
			err = unix.Fsetxattr(int(to.Fd()), name, value[:n], 0)
		}
		if err != nil && name == accessList {
			return err
		}
	}
	return nil
}

func attributes(path string) ([]string, error) {
	list := make([]byte, 64<<10)
	n, err := unix.Llistxattr(path, list)
	if err != nil {
		return nil, err
	}
	return strings.FieldsFunc(string(list[:n]), func(r rune) bool { return r == 0 }), nil
}
