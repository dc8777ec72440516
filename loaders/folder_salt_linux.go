package loaders

import (
	"io/fs"
	"strconv"
	"syscall"
)

// folderSalt is what VS Code adds to a folder's path in the name of its storage: the inode.
func folderSalt(info fs.FileInfo) string {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return strconv.FormatUint(st.Ino, 10)
	}
	return ""
}
