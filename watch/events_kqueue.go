//go:build darwin || dragonfly || freebsd || netbsd || openbsd

package watch

import (
	"os"
	"syscall"
)

// watchAncestors: kqueue opens every entry of a watched folder, so only the
// folders that are needed are watched; renames further up are found later.
const watchAncestors = false

// eventCost is the number of open files that watching the folder takes.
func eventCost(folder string) int {
	// Not to wait, should a FIFO have taken the folder's place.
	f, err := os.OpenFile(folder, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return 0
	}
	defer func() { _ = f.Close() }()
	names, _ := f.Readdirnames(maxFolderCost + 1)
	return len(names) + 1
}
