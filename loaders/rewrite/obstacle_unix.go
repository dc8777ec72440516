//go:build !windows

package rewrite

import (
	"io/fs"
	"syscall"
)

// mayWrite asks the system whether something can be made in a folder.
func mayWrite(dir string) error {
	const write, search = 2, 1
	if err := syscall.Access(dir, write|search); err != nil {
		return &fs.PathError{Op: "write", Path: dir, Err: err}
	}
	return nil
}
