package watch

import "syscall"

// noEvents says that the folder is not on a local file system: kqueue tells
// nothing of changes made elsewhere.
func noEvents(folder string) bool {
	const local = 0x1000 // MNT_LOCAL
	var st syscall.Statfs_t
	if err := syscall.Statfs(folder, &st); err != nil {
		return false
	}
	return st.Flags&local == 0
}
