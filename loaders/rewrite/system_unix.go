//go:build !windows

package rewrite

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// openToRead follows no link and never waits for a writer, should the file have become a FIFO.
func openToRead(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK|unix.O_NOFOLLOW, 0)
	if errors.Is(err, unix.ELOOP) {
		return nil, ErrNotRegular
	}
	return f, err
}

func ownerOf(info fs.FileInfo) owner {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return owner{known: true, uid: int(st.Uid), gid: int(st.Gid)}
	}
	return owner{}
}

func linksOf(_ *os.File, info fs.FileInfo) uint64 {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return uint64(st.Nlink)
	}
	return 0
}

// secondName makes a hard link.
func secondName(path, name string) error { return os.Link(path, name) }

func rename(from, to string) error { return os.Rename(from, to) }

// SyncFolder makes the names in a folder durable. Where the system cannot do that there is nothing to report.
func SyncFolder(dir string) error {
	d, err := os.Open(dir)
	if errors.Is(err, fs.ErrPermission) {
		return nil // a folder may be writable without being readable
	}
	if err != nil {
		return err
	}
	defer d.Close()
	err = d.Sync()
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOTSUP) || errors.Is(err, unix.ENOSYS) {
		return nil
	}
	return err
}

// lockFolder keeps other fusebox processes from writing in a folder. The lock is on the folder itself, so it leaves no
// file and goes away with the process. Where folders cannot be locked, it does nothing.
func lockFolder(dir string, wait time.Duration) (unlock func(), err error) {
	d, err := os.Open(dir)
	if err != nil {
		return func() {}, nil // making a file there will tell why
	}
	for deadline := time.Now().Add(wait); ; time.Sleep(5 * time.Millisecond) {
		err := unix.Flock(int(d.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case !errors.Is(err, unix.EWOULDBLOCK):
			return func() { d.Close() }, nil
		case time.Now().After(deadline):
			d.Close()
			return nil, ErrLocked
		}
	}
}

func isNoSpace(err error) bool {
	return errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT)
}

func isReadOnlySystem(err error) bool { return errors.Is(err, unix.EROFS) }

func isInUse(error) bool { return false }

func isMountPoint(err error) bool { return errors.Is(err, unix.EBUSY) }

func isUnsupported(err error) bool {
	return errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.ENOTSUP) || errors.Is(err, unix.EOPNOTSUPP)
}
