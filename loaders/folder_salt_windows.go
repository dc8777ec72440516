package loaders

import (
	"io/fs"
	"strconv"
	"syscall"
)

// folderSalt is what VS Code adds to a folder's path in the name of its storage: when it was made, in milliseconds.
func folderSalt(info fs.FileInfo) string {
	if st, ok := info.Sys().(*syscall.Win32FileAttributeData); ok {
		return strconv.FormatInt(st.CreationTime.Nanoseconds()/1_000_000, 10)
	}
	return ""
}
