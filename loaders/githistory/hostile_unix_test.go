//go:build !windows

package githistory

import (
	"os"
	"syscall"
	"testing"
)

func openForTest(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
}

// TestFIFOsAndDevices: nothing but a regular file is opened, wherever it stands.
func TestFIFOsAndDevices(t *testing.T) {
	t.Parallel()
	for _, name := range []string{".git/HEAD", ".git/refs/heads/main", ".git/packed-refs", ".git/commondir", "object", ".git/objects/pack/pack-1.idx", ".git/objects/pack/pack-1.pack", ".git/objects/pack", "w/.git"} {
		for _, kind := range []string{"FIFO", "device"} {
			s := newShop(t)
			old := s.commit("f", "old")
			last := s.commit("f", "new", old)
			s.head(last)
			p := newPacker()
			p.whole(kindBlob, []byte("x"))
			p.write(s, "1", false)
			path := s.path(name)
			if name == "object" {
				path = s.path(loosePath(idOf(kindBlob, []byte("new"))))
			}
			if err := os.RemoveAll(path); err != nil {
				t.Fatal(err)
			}
			s.write("w/f", "")
			make := func() error { return syscall.Mkfifo(path, 0o600) }
			if kind == "device" {
				make = func() error { return os.Symlink("/dev/zero", path) }
			}
			if err := make(); err != nil {
				t.Fatal(err)
			}
			access := testAccess()
			access.Open = func(p string) (*os.File, error) {
				if info, err := os.Stat(p); err != nil || !info.Mode().IsRegular() && !info.IsDir() {
					t.Errorf("%s, a %s, was opened", p, kind)
				}
				return openForTest(p)
			}
			file := "f"
			if name == "w/.git" {
				file = "w/f"
			}
			r, err := Find(access, s.path(file))
			if err != nil {
				continue
			}
			vs, err := r.Versions(t.Context())
			r.Close()
			switch name {
			case ".git/packed-refs", ".git/objects/pack/pack-1.idx", ".git/objects/pack/pack-1.pack", ".git/objects/pack":
				says(t, vs, line("new", last), line("old", old))
			case "object":
				says(t, vs, line("old", old))
			default:
				if len(vs) > 0 || err == nil {
					t.Errorf("%s, a %s: %d versions, %v", name, kind, len(vs), err)
				}
			}
		}
	}
}
