package watch

import (
	"errors"
	"io/fs"
	"syscall"
	"time"
)

// presence says what the system answers about a path.
type presence uint8

const (
	absent  presence = iota
	present          // it exists
	denied           // a folder on the way may not be searched
	broken           // a symlink loop, or any other error
)

// identity is what is compared to tell whether a path changed. Two equal
// identities mean "nothing to read again", but for a rewrite within the
// granularity of mtime, which an event has to tell.
type identity struct {
	presence presence
	dev, ino uint64
	size     int64
	mtime    int64 // Unix nanoseconds
	mode     fs.FileMode
	uid, gid uint32
	chain    string // the symlinks that were followed and their targets
}

// identify describes what a walk ended at. Only files and folders have a
// meaningful size and mtime: those of a FIFO or a device change when used.
func identify(info fs.FileInfo) identity {
	id := identity{presence: present, mode: info.Mode()}
	fillIdentity(&id, info)
	if info.Mode().IsRegular() || info.IsDir() {
		id.size, id.mtime = info.Size(), info.ModTime().UnixNano()
	}
	return id
}

// sameFolder ignores what changes when a folder is merely used.
func (id identity) sameFolder(other identity) bool {
	id.size, id.mtime = other.size, other.mtime
	return id == other
}

// racy says that a file or folder could change again without its identity changing,
// because its mtime is as young as the clock of the file system is coarse.
func (id identity) racy(now time.Time) bool {
	if id.presence != present || !id.mode.IsRegular() && !id.mode.IsDir() {
		return false
	}
	granularity := 20 * time.Millisecond
	if id.mtime%int64(time.Second) == 0 {
		granularity = 2 * time.Second
	}
	age := now.Sub(time.Unix(0, id.mtime))
	return age < granularity && age > -granularity
}

func presenceOf(err error) presence {
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		return absent
	case errors.Is(err, fs.ErrPermission):
		return denied
	default:
		return broken
	}
}
