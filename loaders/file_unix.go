//go:build !windows

package loaders

import (
	"io/fs"
	"os"
	"syscall"
	"time"
)

var (
	errNotDir error = syscall.ENOTDIR
	errLoop   error = syscall.ELOOP
)

// fileIdentity changes whenever the content of a path may have changed.
type fileIdentity struct {
	dev, ino uint64
	size     int64
	mode     fs.FileMode
	modified time.Time
}

func identityOf(info fs.FileInfo) fileIdentity {
	id := fileIdentity{size: info.Size(), mode: info.Mode(), modified: info.ModTime()}
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		id.dev, id.ino = uint64(st.Dev), uint64(st.Ino)
	}
	return id
}

// openForReading never waits for a writer, should the file have become a FIFO.
func openForReading(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
}

// ownerOf returns the user id that owns a file.
func ownerOf(info fs.FileInfo) (uid int, ok bool) {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, false
	}
	return int(st.Uid), true
}

// executableFor tells whether a user may execute a file, as far as its mode tells: groups are not looked up.
func executableFor(info fs.FileInfo, uid int) bool {
	bits := fs.FileMode(0o111)
	if owner, ok := ownerOf(info); ok && uid > 0 {
		bits = 0o011
		if owner == uid {
			bits = 0o100
		}
	}
	return info.Mode()&bits != 0
}
