package watch

import (
	"io/fs"
	"syscall"
)

// The file index needs an open handle; the creation time tells a file that was
// made again nearly as well.
func fillIdentity(id *identity, info fs.FileInfo) {
	if data, ok := info.Sys().(*syscall.Win32FileAttributeData); ok {
		id.ino = uint64(data.CreationTime.Nanoseconds())
	}
}
