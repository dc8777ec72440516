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
	size     int64
	mode     fs.FileMode
	modified time.Time
}

func identityOf(info fs.FileInfo) fileIdentity {
	return fileIdentity{size: info.Size(), mode: info.Mode(), modified: info.ModTime()}
}

func openForReading(path string) (*os.File, error) { return os.Open(path) }

// ownerOf is not known here: owners are no numbers on Windows.
func ownerOf(fs.FileInfo) (uid int, ok bool) { return 0, false }

// executableFor is told by the name of a file on Windows, not by its mode.
func executableFor(fs.FileInfo, int) bool { return true }
