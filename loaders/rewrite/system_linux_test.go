package rewrite

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// These tests ask the real system. Most need root.

func needRoot(t *testing.T) {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("needs root")
	}
}

// onThread runs a function on a thread of its own, which is thrown away afterwards.
func onThread(t *testing.T, do func()) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // never unlocked
		do()
	}()
	<-done
}

// withMounts runs a function where it may mount without anybody else seeing it.
func withMounts(t *testing.T, do func(mount func(source, target, kind string, flags uintptr, data string))) {
	t.Helper()
	needRoot(t)
	onThread(t, func() {
		err := unix.Unshare(unix.CLONE_FS | unix.CLONE_NEWNS)
		if err == nil {
			err = unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, "")
		}
		if err != nil {
			t.Logf("no mounts here: %v", err)
			return
		}
		do(func(source, target, kind string, flags uintptr, data string) {
			if err := unix.Mount(source, target, kind, flags, data); err != nil {
				t.Errorf("mount %s: %v", kind, err)
				runtime.Goexit()
			}
		})
	})
}

// asNobody runs a function with the rights of a user who owns nothing.
func asNobody(t *testing.T, do func()) {
	t.Helper()
	needRoot(t)
	onThread(t, func() {
		if _, err := unix.SetfsgidRetGid(65534); err != nil {
			t.Error(err)
		}
		if _, err := unix.SetfsuidRetUid(65534); err != nil {
			t.Error(err)
		}
		do()
	})
}

func setImmutable(t *testing.T, path string) {
	t.Helper()
	needRoot(t)
	f, err := os.Open(path)
	must(t, err)
	flags, err := unix.IoctlGetInt(int(f.Fd()), unix.FS_IOC_GETFLAGS)
	if err == nil {
		err = unix.IoctlSetPointerInt(int(f.Fd()), unix.FS_IOC_SETFLAGS, flags|0x10) // FS_IMMUTABLE_FL
	}
	if err != nil {
		f.Close()
		t.Skipf("no immutable flag here: %v", err)
	}
	t.Cleanup(func() {
		_ = unix.IoctlSetPointerInt(int(f.Fd()), unix.FS_IOC_SETFLAGS, flags)
		f.Close()
	})
}

// refused checks that a write fails in the way that is wanted, and that the file stays as it was.
func refused(t *testing.T, path string, kind error, words ...string) {
	t.Helper()
	planned := plan(t, path)
	_, err := Replace(planned, []byte(newText), Options{})
	if !errors.Is(err, kind) {
		t.Errorf("error %v, want %v", err, kind)
		return
	}
	t.Log(err)
	for _, word := range append(words, path) {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("%q is not in: %v", word, err)
		}
	}
	if now := plan(t, path); !now.same(planned) || planned.Exists && !os.SameFile(now.info, planned.info) {
		t.Error("the file changed")
	}
	if _, err := os.Lstat(filepath.Dir(planned.Real)); err == nil {
		tidy(t, filepath.Dir(planned.Real))
	}
}

func TestDiskFull(t *testing.T) {
	t.Parallel()
	dir := folder(t)
	withMounts(t, func(mount func(string, string, string, uintptr, string)) {
		mount("tmpfs", dir, "tmpfs", 0, "size=64k")
		path := put(t, filepath.Join(dir, "settings.json"), oldText, 0o600)
		planned := plan(t, path)
		for _, size := range []int{1 << 20, 64 << 10, 60 << 10} { // the last just does not fit beside the old one
			put(t, filepath.Join(dir, "filler"), strings.Repeat("x", 4<<10), 0o600)
			_, err := Replace(planned, bytes.Repeat([]byte("y"), size), Options{})
			if !errors.Is(err, ErrNoSpace) || !strings.Contains(err.Error(), path) {
				t.Errorf("%d bytes: %v", size, err)
			} else {
				t.Log(err)
			}
			holds(t, path, oldText)
			tidy(t, dir)
		}
		if _, err := Replace(planned, []byte(newText), Options{}); err != nil {
			t.Errorf("a text that fits: %v", err)
		}
		if _, err := Replace(plan(t, filepath.Join(dir, "a/new.json")), make([]byte, 64<<10), Options{}); !errors.Is(err, ErrNoSpace) {
			t.Errorf("a new file: %v", err)
		}
		if _, err := os.Lstat(filepath.Join(dir, "a")); !os.IsNotExist(err) {
			t.Errorf("the folder of the new file stays: %v", err)
		}
	})
}

func TestNoInodesLeft(t *testing.T) {
	t.Parallel()
	dir := folder(t)
	withMounts(t, func(mount func(string, string, string, uintptr, string)) {
		mount("tmpfs", dir, "tmpfs", 0, "size=64k,nr_inodes=2")
		refused(t, put(t, filepath.Join(dir, "settings.json"), oldText, 0o600), ErrNoSpace, "free some space")
	})
}

func TestReadOnlyFileSystem(t *testing.T) {
	t.Parallel()
	dir := folder(t)
	withMounts(t, func(mount func(string, string, string, uintptr, string)) {
		mount("tmpfs", dir, "tmpfs", 0, "size=64k")
		path := put(t, filepath.Join(dir, "settings.json"), oldText, 0o600)
		mount("", dir, "", unix.MS_REMOUNT|unix.MS_RDONLY, "")
		refused(t, path, ErrReadOnly, "read-only", "mount it writable")
		refused(t, filepath.Join(dir, "new.json"), ErrReadOnly)
		refused(t, filepath.Join(dir, "a/b/new.json"), ErrReadOnly)
		if err := Remove(plan(t, path), Options{}); !errors.Is(err, ErrReadOnly) {
			t.Errorf("remove: %v", err)
		}
		holds(t, path, oldText)
	})
}

func TestFileThatIsMountedByItself(t *testing.T) {
	t.Parallel()
	dir := folder(t)
	withMounts(t, func(mount func(string, string, string, uintptr, string)) {
		source := put(t, filepath.Join(dir, "source"), oldText, 0o600)
		path := put(t, filepath.Join(dir, "settings.json"), "hidden", 0o600)
		mount(source, path, "", unix.MS_BIND, "")
		refused(t, path, ErrReadOnly, "mounted by itself")
	})
}

func TestImmutable(t *testing.T) {
	t.Parallel()
	t.Run("folder", func(t *testing.T) {
		t.Parallel()
		dir := folder(t)
		path := put(t, filepath.Join(dir, "settings.json"), oldText, 0o600)
		setImmutable(t, dir)
		refused(t, path, ErrUnwritableFolder, dir, "immutable", "never rewritten in place")
		refused(t, filepath.Join(dir, "a/new.json"), ErrUnwritableFolder, dir)
	})
	t.Run("file", func(t *testing.T) {
		t.Parallel()
		path := put(t, filepath.Join(folder(t), "settings.json"), oldText, 0o600)
		setImmutable(t, path)
		refused(t, path, ErrReadOnly, "immutable")
	})
}

func TestUnwritableFolder(t *testing.T) {
	t.Parallel()
	needRoot(t)
	dir := folder(t)
	must(t, os.Chmod(filepath.Dir(dir), 0o755), os.Chmod(dir, 0o755))
	path := put(t, filepath.Join(dir, "settings.json"), oldText, 0o666) // in place would work
	asNobody(t, func() {
		refused(t, path, ErrUnwritableFolder, dir, "never rewritten in place", "permission denied")
		refused(t, filepath.Join(dir, "new.json"), ErrUnwritableFolder, dir)
		refused(t, filepath.Join(dir, "a/b/new.json"), ErrUnwritableFolder, dir)
	})
	must(t, os.Chmod(path, 0o600))
	asNobody(t, func() {
		if _, err := Read(path); !errors.Is(err, os.ErrPermission) {
			t.Errorf("an unreadable file: %v", err)
		}
	})
}

func TestOwnersAreKept(t *testing.T) {
	t.Parallel()
	needRoot(t)
	everyWay(t, func(t *testing.T, way hooks) {
		dir := folder(t)
		path := put(t, filepath.Join(dir, "settings.json"), oldText, 0o600)
		must(t, os.Chown(path, 1234, 1235), os.Chmod(path, 0o750|os.ModeSetgid))
		planned := plan(t, path)
		if _, err := Replace(planned, []byte(newText), Options{hooks: &way}); err != nil {
			t.Fatal(err)
		}
		now := plan(t, path)
		if now.owner != (owner{true, 1234, 1235}) || now.Mode != planned.Mode {
			t.Errorf("owner %v, mode %v", now.owner, now.Mode)
		}
	})
}

func TestOwnersThatCannotBeKept(t *testing.T) {
	t.Parallel()
	needRoot(t)
	dir := folder(t)
	must(t, os.Chmod(filepath.Dir(dir), 0o755), os.Chmod(dir, 0o777))
	path := put(t, filepath.Join(dir, "settings.json"), oldText, 0o644)
	asNobody(t, func() { refused(t, path, ErrOwner, "belongs to user 0 and group 0") })
	must(t, os.Chown(path, 65534, 0))
	asNobody(t, func() { refused(t, path, ErrOwner, "belongs to user 65534 and group 0") })
	must(t, os.Chmod(dir, 0o777|os.ModeSticky), os.Chown(path, 0, 65534))
	asNobody(t, func() { refused(t, path, ErrOwner) })
}

func TestAttributesAreKept(t *testing.T) {
	t.Parallel()
	everyWay(t, func(t *testing.T, way hooks) {
		path := put(t, filepath.Join(folder(t), "settings.json"), oldText, 0o600)
		if err := unix.Setxattr(path, "user.note", []byte("mine"), 0); err != nil {
			t.Skipf("no attributes here: %v", err)
		}
		// u::rw-, u:1234:rw-, g::---, m::rw-, o::---
		list := []byte("\x02\x00\x00\x00" + "\x01\x00\x06\x00\xff\xff\xff\xff" + "\x02\x00\x06\x00\xd2\x04\x00\x00" +
			"\x04\x00\x00\x00\xff\xff\xff\xff" + "\x10\x00\x06\x00\xff\xff\xff\xff" + "\x20\x00\x00\x00\xff\xff\xff\xff")
		withList := unix.Setxattr(path, accessList, list, 0) == nil
		planned := plan(t, path)
		if _, err := Replace(planned, []byte(newText), Options{hooks: &way}); err != nil {
			t.Fatal(err)
		}
		value := make([]byte, 100)
		if n, err := unix.Getxattr(path, "user.note", value); err != nil || string(value[:n]) != "mine" {
			t.Errorf("attribute %q, %v", value[:max(n, 0)], err)
		}
		if n, err := unix.Getxattr(path, accessList, value); withList && (err != nil || !bytes.Equal(value[:n], list)) {
			t.Errorf("access list %q, %v", value[:max(n, 0)], err)
		}
		if now := plan(t, path); now.Mode != planned.Mode {
			t.Errorf("mode %v became %v", planned.Mode, now.Mode)
		}
	})
}
