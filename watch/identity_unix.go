//go:build unix

package watch

import (
	"io/fs"
	"syscall"
)

func fillIdentity(id *identity, info fs.FileInfo) {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		id.dev, id.ino = uint64(st.Dev), uint64(st.Ino)
		id.uid, id.gid = st.Uid, st.Gid
	}
}
