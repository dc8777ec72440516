//go:build !windows

package rewrite

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func must(t *testing.T, errs ...error) {
	t.Helper()
	for _, err := range errs {
		if err != nil {
			t.Fatal(err)
		}
	}
}

// tree lays out what TestReadFollowsLinks and its neighbours look at.
func tree(t *testing.T) string {
	dir := folder(t)
	put(t, filepath.Join(dir, "real/dot/settings.json"), oldText, 0o600)
	must(t,
		os.MkdirAll(filepath.Join(dir, "home/deep"), 0o755),
		os.Symlink(filepath.Join(dir, "real/dot/settings.json"), filepath.Join(dir, "home/absolute")),
		os.Symlink("../real/dot/settings.json", filepath.Join(dir, "home/relative")),
		os.Symlink("relative", filepath.Join(dir, "home/chain")),
		os.Symlink("./chain", filepath.Join(dir, "home/longer")),
		os.Symlink("../real/dot", filepath.Join(dir, "home/folder")),
		os.Symlink("folder/../dot/settings.json", filepath.Join(dir, "home/up")),
		os.Symlink("../real/dot/none.json", filepath.Join(dir, "home/dangling")),
		os.Symlink("dangling", filepath.Join(dir, "home/danglingchain")),
		os.Symlink("../nowhere/at/all.json", filepath.Join(dir, "home/farther")),
		os.Symlink("loop2", filepath.Join(dir, "home/loop1")),
		os.Symlink("loop1", filepath.Join(dir, "home/loop2")),
		os.Symlink("self/x", filepath.Join(dir, "home/self")),
		os.Symlink("/dev/null", filepath.Join(dir, "home/device")),
		unix.Mkfifo(filepath.Join(dir, "home/fifo"), 0o600),
		os.Symlink("fifo", filepath.Join(dir, "home/tofifo")),
	)
	l, err := net.Listen("unix", filepath.Join(dir, "home/s"))
	if err == nil {
		t.Cleanup(func() { l.Close() })
	}
	return dir
}

func TestReadFollowsLinks(t *testing.T) {
	t.Parallel()
	dir := tree(t)
	for name, test := range map[string]struct {
		real   string
		exists bool
	}{
		"real/dot/settings.json":     {"real/dot/settings.json", true},
		"home/absolute":              {"real/dot/settings.json", true},
		"home/relative":              {"real/dot/settings.json", true},
		"home/chain":                 {"real/dot/settings.json", true},
		"home/longer":                {"real/dot/settings.json", true},
		"home/folder/settings.json":  {"real/dot/settings.json", true},
		"home/up":                    {"real/dot/settings.json", true},
		"home/dangling":              {"real/dot/none.json", false},
		"home/danglingchain":         {"real/dot/none.json", false},
		"home/farther":               {"nowhere/at/all.json", false},
		"home/folder/new/deeper.txt": {"real/dot/new/deeper.txt", false},
		"home/none":                  {"home/none", false},
	} {
		f, err := Read(filepath.Join(dir, name))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if f.Real != filepath.Join(dir, test.real) || f.Exists != test.exists || f.Path != filepath.Join(dir, name) {
			t.Errorf("%s leads to %s, exists %v", name, f.Real, f.Exists)
		}
		if test.exists && string(f.Data) != oldText {
			t.Errorf("%s holds %q", name, f.Data)
		}
	}
	// Not cleaned before it is resolved.
	if f, err := Read(dir + "/home/folder/../dot/settings.json"); err != nil || f.Real != filepath.Join(dir, "real/dot/settings.json") {
		t.Errorf("a link and its parent: %v, %v", f, err)
	}
}

func TestReadOfRelativePaths(t *testing.T) {
	dir := folder(t)
	put(t, filepath.Join(dir, "a/b"), oldText, 0o600)
	t.Chdir(filepath.Join(dir, "a"))
	for _, name := range []string{"b", "./b", "../a/b"} {
		if f, err := Read(name); err != nil || !f.Exists || f.Real != filepath.Join(dir, "a/b") {
			t.Errorf("%s: %v, %v", name, f, err)
		}
	}
}

func TestReadRefusesWhatIsNoRegularFile(t *testing.T) {
	t.Parallel()
	dir := tree(t)
	for _, name := range []string{"home/fifo", "home/tofifo", "home/device", "home/deep", "home/folder", "home/loop1", "home/self", "home/self/y", "home/s"} {
		_, err := Read(filepath.Join(dir, name))
		if !errors.Is(err, ErrNotRegular) || !strings.Contains(err.Error(), filepath.Join(dir, name)) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := Read(filepath.Join(dir, "real/dot/settings.json/x")); !errors.Is(err, syscall.ENOTDIR) {
		t.Errorf("below a file: %v", err)
	}
}

func TestLinksAreFollowedAndKept(t *testing.T) {
	t.Parallel()
	everyWay(t, func(t *testing.T, way hooks) {
		dir := tree(t)
		for _, name := range []string{"home/absolute", "home/relative", "home/chain", "home/folder/settings.json", "home/up"} {
			path := filepath.Join(dir, name)
			text := "written through " + name
			r, err := Replace(plan(t, path), []byte(text), Options{hooks: &way})
			if err != nil {
				t.Error(err)
				continue
			}
			if r.Real != filepath.Join(dir, "real/dot/settings.json") {
				t.Errorf("%s: wrote %s", name, r.Real)
			}
			holds(t, filepath.Join(dir, "real/dot/settings.json"), text)
			holds(t, path, text)
		}
		for _, name := range []string{"home/danglingchain", "home/farther"} {
			if _, err := Replace(plan(t, filepath.Join(dir, name)), []byte(newText), Options{hooks: &way}); err != nil {
				t.Error(err)
			}
		}
		holds(t, filepath.Join(dir, "real/dot/none.json"), newText)
		holds(t, filepath.Join(dir, "nowhere/at/all.json"), newText)
		for _, link := range []string{"absolute", "relative", "chain", "up", "dangling", "danglingchain", "farther"} {
			if info, err := os.Lstat(filepath.Join(dir, "home", link)); err != nil || info.Mode()&fs.ModeSymlink == 0 {
				t.Errorf("%s is no link any more: %v", link, err)
			}
		}
		path := filepath.Join(dir, "home/farther")
		if err := Remove(plan(t, path), Options{hooks: &way}); err != nil {
			t.Error(err)
		}
		if f := plan(t, path); f.Exists {
			t.Error("not removed through its link")
		}
		if _, err := os.Lstat(path); err != nil {
			t.Error("the link was removed")
		}
		tidy(t, filepath.Join(dir, "home"))
		tidy(t, filepath.Join(dir, "real/dot"))
	})
}

func TestModesAreKept(t *testing.T) {
	t.Parallel()
	everyWay(t, func(t *testing.T, way hooks) {
		for _, mode := range []fs.FileMode{0o600, 0o644, 0o444, 0o400, 0o664, 0o755, 0o750 | fs.ModeSetgid, 0o700 | fs.ModeSetuid} {
			dir := folder(t)
			path := put(t, filepath.Join(dir, "settings.json"), oldText, 0o600)
			must(t, os.Chmod(path, mode))
			r, err := Replace(plan(t, path), []byte(newText), Options{NewMode: 0o666, hooks: &way})
			if err != nil {
				t.Fatal(err)
			}
			if info, err := os.Stat(path); err != nil || info.Mode() != mode || r.Mode != mode {
				t.Errorf("mode %v became %v, %v", mode, info.Mode(), err)
			}
		}
	})
}

func TestModesOfNewFilesAndFolders(t *testing.T) {
	t.Parallel()
	for want, folders := range map[fs.FileMode]fs.FileMode{0o600: 0o700, 0o644: 0o755, 0o640: 0o750, 0o664: 0o775} {
		dir := folder(t)
		old := syscall.Umask(0)
		syscall.Umask(old)
		path := filepath.Join(dir, "a/b/new.json")
		if _, err := Replace(plan(t, path), []byte(newText), Options{NewMode: want}); err != nil {
			t.Fatal(err)
		}
		if info, _ := os.Stat(path); info.Mode() != want {
			t.Errorf("file of mode %v has %v", want, info.Mode())
		}
		for _, d := range []string{"a", "a/b"} {
			if info, _ := os.Stat(filepath.Join(dir, d)); info.Mode().Perm() != folders&^fs.FileMode(old) {
				t.Errorf("folder of a file of mode %v has %v", want, info.Mode())
			}
		}
	}
}

func TestTheTemporaryFileIsPrivate(t *testing.T) {
	t.Parallel()
	dir := folder(t)
	path := put(t, filepath.Join(dir, "settings.json"), oldText, 0o644)
	h := hooks{at: func(s step) error {
		if s != stepTemp && s != stepHalf && s != stepWritten {
			return nil
		}
		left := ours(t, dir)
		if len(left) != 1 {
			t.Fatalf("%s: %v", s, left)
		}
		if info, _ := os.Stat(filepath.Join(dir, left[0])); info.Mode() != 0o600 {
			t.Errorf("%s: mode %v", s, info.Mode())
		}
		return nil
	}}
	if _, err := Replace(plan(t, path), []byte(newText), Options{hooks: &h}); err != nil {
		t.Fatal(err)
	}
}

func TestHardLinksAreRefused(t *testing.T) {
	t.Parallel()
	everyWay(t, func(t *testing.T, way hooks) {
		dir := folder(t)
		path := put(t, filepath.Join(dir, "settings.json"), oldText, 0o600)
		other := filepath.Join(dir, "other")
		must(t, os.Link(path, other))
		_, err := Replace(plan(t, path), []byte(newText), Options{hooks: &way})
		if !errors.Is(err, ErrHardLink) || !strings.Contains(err.Error(), "2 names") {
			t.Errorf("error %v", err)
		}
		holds(t, path, oldText)
		holds(t, other, oldText)
		if a, b := plan(t, path), plan(t, other); !os.SameFile(a.info, b.info) {
			t.Error("the link was broken")
		}
		if err := Remove(plan(t, path), Options{hooks: &way}); !errors.Is(err, ErrHardLink) {
			t.Errorf("remove: %v", err)
		}
		tidy(t, dir)

		// A second name that is made in the last moment.
		must(t, os.Remove(other))
		way.at = func(s step) error {
			if s == stepReady {
				return os.Link(path, other)
			}
			return nil
		}
		_, err = Replace(plan(t, path), []byte(newText), Options{hooks: &way})
		if !errors.Is(err, ErrHardLink) {
			t.Errorf("in the last moment: %v", err)
		}
		if a, b := plan(t, path), plan(t, other); !os.SameFile(a.info, b.info) {
			t.Error("the link was broken")
		}
		holds(t, path, oldText)
		tidy(t, dir)
	})
}

// TestFilesThatChangeMeanwhile lets another program do something at every moment before the replacement, on every kind of
// file system, with and without a way to plan anew.
func TestFilesThatChangeMeanwhile(t *testing.T) {
	t.Parallel()
	for name, foreign := range map[string]struct {
		do   func(path string) error
		want string // what the file holds then; "" when it holds nothing any more
		kind error
	}{
		"renamed over": {func(path string) error {
			return errors.Join(os.WriteFile(path+".new", []byte("foreign"), 0o600), os.Rename(path+".new", path))
		}, "foreign", ErrChanged},
		"written in place": {func(path string) error { return os.WriteFile(path, []byte("foreign"), 0o600) }, "foreign", ErrChanged},
		"emptied":          {func(path string) error { return os.Truncate(path, 0) }, "", ErrChanged},
		"made public":      {func(path string) error { return os.Chmod(path, 0o644) }, oldText, ErrChanged},
		"removed":          {os.Remove, "", ErrChanged},
		"moved to another folder": {func(path string) error {
			real, err := filepath.EvalSymlinks(path)
			link := filepath.Join(filepath.Dir(filepath.Dir(real)), "link")
			return errors.Join(err, os.WriteFile(filepath.Join(filepath.Dir(real), "second"), []byte("foreign"), 0o600),
				os.Remove(link), os.Symlink("dir/second", link))
		}, "foreign", ErrChanged},
		"a FIFO":   {func(path string) error { return errors.Join(os.Remove(path), unix.Mkfifo(path, 0o600)) }, "", ErrNotRegular},
		"a folder": {func(path string) error { return errors.Join(os.Remove(path), os.Mkdir(path, 0o700)) }, "", ErrNotRegular},
		"grown":    {func(path string) error { return os.Truncate(path, MaxSize+1) }, "", ErrTooLarge},
		"a link": {func(path string) error {
			return errors.Join(os.Rename(path, path+".moved"), os.Symlink(filepath.Base(path)+".moved", path))
		}, oldText, ErrChanged},
	} {
		for _, at := range []step{stepLocked, stepTemp, stepSynced, stepReady} {
			t.Run(name+" when "+string(at), func(t *testing.T) {
				t.Parallel()
				everyWay(t, func(t *testing.T, way hooks) {
					for _, again := range []bool{false, true} {
						base := folder(t)
						dir := filepath.Join(base, "dir")
						real := put(t, filepath.Join(dir, "settings.json"), oldText, 0o600)
						path := filepath.Join(base, "link")
						must(t, os.Symlink("dir/settings.json", path))
						done := false
						way.at = func(s step) error {
							if s == at && !done {
								done = true
								return foreign.do(real)
							}
							return nil
						}
						o := Options{hooks: &way}
						var seen *File
						if again {
							o.Replan = func(now *File) ([]byte, error) {
								seen = now
								return append(bytes.Clone(now.Data), " and ours"...), nil
							}
						}
						planned := plan(t, path)
						r, err := Replace(planned, []byte(newText), o)
						switch {
						case foreign.kind != ErrChanged:
							if !errors.Is(err, foreign.kind) && !(again && errors.Is(err, ErrNotRegular)) {
								t.Errorf("error %v", err)
							}
						case again:
							if err != nil || !r.Replanned || string(r.Before) != foreign.want || string(seen.Data) != foreign.want {
								t.Fatalf("error %v", err)
							}
							holds(t, path, foreign.want+" and ours")
						default:
							var e *Error
							if !errors.Is(err, ErrChanged) || !errors.As(err, &e) || e.Now == nil || string(e.Now.Data) != foreign.want || e.Kept != nil {
								t.Fatalf("error %v", err)
							}
							if name != "removed" {
								holds(t, path, foreign.want)
							}
						}
						info, statErr := os.Lstat(real)
						switch {
						case name == "a FIFO" && (statErr != nil || info.Mode().Type() != fs.ModeNamedPipe),
							name == "a folder" && (statErr != nil || !info.IsDir()),
							name == "grown" && (statErr != nil || info.Size() != MaxSize+1),
							name == "removed" && !again && statErr == nil:
							t.Errorf("was not left so: %v, %v", info, statErr)
						case name == "made public" && (statErr != nil || info.Mode() != 0o644):
							t.Errorf("mode %v, %v", info.Mode(), statErr)
						}
						tidy(t, dir)
					}
				})
			})
		}
	}
}

// TestPutBackAgainstWriters has other programs write while something that was not planned on goes back into the file.
func TestPutBackAgainstWriters(t *testing.T) {
	t.Parallel()
	if err := exchangeWorks(t); err != nil {
		t.Skip(err)
	}
	over := func(path, text string) error {
		return errors.Join(os.WriteFile(path+".new", []byte(text), 0o600), os.Rename(path+".new", path))
	}
	in := func(path, text string) error { return os.WriteFile(path, []byte(text), 0o600) }
	for name, test := range map[string]struct {
		meanwhile []func(path string) error // one for each exchange that puts something back
		want      string
		kept      string
	}{
		"nobody":       {nil, "foreign 1", ""},
		"renamed over": {[]func(string) error{func(p string) error { return over(p, "foreign 2") }}, "foreign 2", "foreign 1"},
		"in place":     {[]func(string) error{func(p string) error { return in(p, "foreign 2") }}, "foreign 2", "foreign 1"},
		"twice": {[]func(string) error{
			func(p string) error { return over(p, "foreign 2") }, func(p string) error { return over(p, "foreign 3") }}, "foreign 3", "foreign 2"},
		"removed": {[]func(string) error{os.Remove}, "", "foreign 1"},
		"a FIFO":  {[]func(string) error{func(p string) error { return errors.Join(os.Remove(p), unix.Mkfifo(p, 0o600)) }}, "", "foreign 1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := folder(t)
			path := put(t, filepath.Join(dir, "settings.json"), oldText, 0o600)
			backs := 0
			h := hooks{at: func(s step) error {
				switch s {
				case stepReady:
					return over(path, "foreign 1")
				case stepPutBack:
					if backs++; backs <= len(test.meanwhile) {
						return test.meanwhile[backs-1](path)
					}
				}
				return nil
			}}
			_, err := Replace(plan(t, path), []byte(newText), Options{hooks: &h})
			var e *Error
			if !errors.Is(err, ErrChanged) || !errors.As(err, &e) {
				t.Fatalf("error %v", err)
			}
			if test.want != "" {
				holds(t, path, test.want)
			}
			if test.kept == "" {
				tidy(t, dir)
				return
			}
			if len(e.Kept) != 1 || !strings.Contains(err.Error(), e.Kept[0]) || len(ours(t, dir)) != 1 {
				t.Fatalf("kept %v, left %v: %v", e.Kept, ours(t, dir), err)
			}
			holds(t, e.Kept[0], test.kept)
		})
	}
	t.Run("without end", func(t *testing.T) {
		t.Parallel()
		dir := folder(t)
		path := put(t, filepath.Join(dir, "settings.json"), oldText, 0o600)
		n := 0
		h := hooks{at: func(s step) error {
			if s == stepReady || s == stepPutBack {
				n++
				return over(path, fmt.Sprint("foreign ", n))
			}
			return nil
		}}
		_, err := Replace(plan(t, path), []byte(newText), Options{hooks: &h})
		var e *Error
		if !errors.As(err, &e) || len(e.Kept) != 1 {
			t.Fatalf("error %v", err)
		}
		last, _ := os.ReadFile(path)
		kept, _ := os.ReadFile(e.Kept[0])
		if !bytes.HasPrefix(last, []byte("foreign ")) || !bytes.HasPrefix(kept, []byte("foreign ")) || bytes.Equal(last, kept) {
			t.Errorf("the file holds %q, kept is %q", last, kept)
		}
	})
}

func exchangeWorks(t *testing.T) error {
	dir := t.TempDir()
	return exchange(put(t, filepath.Join(dir, "a"), "a", 0o600), put(t, filepath.Join(dir, "b"), "b", 0o600))
}

// TestWritersIntoTheFileAreWaitedFor has programs that opened the file for writing before it was replaced.
func TestWritersIntoTheFileAreWaitedFor(t *testing.T) {
	t.Parallel()
	probe, err := os.OpenFile(filepath.Join(folder(t), "probe"), os.O_RDWR|os.O_CREATE, 0o600)
	must(t, err)
	defer probe.Close()
	if reader, err := openToRead(probe.Name()); err != nil || !openForWriting(reader) {
		t.Skip("the system does not tell who writes into a file")
	} else {
		reader.Close()
	}
	everyWay(t, func(t *testing.T, way hooks) {
		for _, test := range []struct {
			at   step
			late bool // writes through a name that it had looked up before the replacement
			in   time.Duration
		}{
			{stepLocked, false, 30 * time.Millisecond},
			{stepReady, false, 30 * time.Millisecond},
			{stepReady, false, 0},
			{stepPlaced, true, 0},
			{stepPlaced, true, 30 * time.Millisecond},
			{stepLooked, true, 0},
			{stepLooked, true, 30 * time.Millisecond},
		} {
			if test.late && way.noLink {
				continue // nobody looks again by then
			}
			dir := folder(t)
			path := put(t, filepath.Join(dir, "settings.json"), oldText, 0o600)
			done := false
			way.at = func(s step) error {
				if s != test.at || done {
					return nil
				}
				done = true
				name := path
				if test.late {
					name = filepath.Join(dir, ours(t, dir)[0])
				}
				f, err := os.OpenFile(name, os.O_WRONLY, 0)
				if err != nil {
					t.Error(err)
					return err
				}
				write := func() {
					_ = f.Truncate(0)
					_, _ = f.WriteString("foreign")
					f.Close()
				}
				if test.in > 0 {
					time.AfterFunc(test.in, write)
				} else {
					write()
				}
				return nil
			}
			r, err := Replace(plan(t, path), []byte(newText), Options{hooks: &way, Replan: func(now *File) ([]byte, error) {
				return append(bytes.Clone(now.Data), " and ours"...), nil
			}})
			if err != nil || !r.Replanned || string(r.Before) != "foreign" {
				t.Errorf("%+v: %v", test, err)
			}
			holds(t, path, "foreign and ours")
			tidy(t, dir)
		}
	})
	t.Run("but not for ever", func(t *testing.T) {
		t.Parallel()
		everyWay(t, func(t *testing.T, way hooks) {
			if way.noLink {
				t.Skip("looks only before the replacement")
			}
			dir := folder(t)
			path := put(t, filepath.Join(dir, "settings.json"), oldText, 0o600)
			way.wait = 30 * time.Millisecond
			var writer *os.File
			way.at = func(s step) (err error) {
				if s == stepReady {
					writer, err = os.OpenFile(path, os.O_WRONLY, 0)
				}
				return err
			}
			planned := plan(t, path)
			_, err := Replace(planned, []byte(newText), Options{hooks: &way})
			if !errors.Is(err, ErrLocked) {
				t.Errorf("error %v", err)
			}
			tidy(t, dir)
			holds(t, path, oldText)
			if now, err := os.Stat(path); err != nil || !os.SameFile(now, planned.info) {
				t.Error("the file is not the one that is open")
			}
			if _, err := Read(path); !errors.Is(err, ErrLocked) {
				t.Errorf("read: %v", err)
			}
			must(t, writer.Close())
			plan(t, path)
		})
	})
}

// TestFailures injects what a system may answer at every step; the file stays as it was.
func TestFailures(t *testing.T) {
	t.Parallel()
	everyWay(t, func(t *testing.T, way hooks) {
		for _, failure := range []struct {
			err  error
			kind error
		}{{unix.ENOSPC, ErrNoSpace}, {unix.EDQUOT, ErrNoSpace}, {unix.EROFS, ErrReadOnly}, {unix.EIO, unix.EIO}} {
			for _, s := range steps[:len(steps)-1] {
				if way.noLink && (s == stepPlaced || s == stepLooked || s == stepDurable) {
					continue // there is no way back then; nothing that can fail is left to do
				}
				for _, exists := range []bool{true, false} {
					dir := folder(t)
					path := filepath.Join(dir, "settings.json")
					if exists {
						put(t, path, oldText, 0o640)
					}
					way.at = func(now step) error {
						if now == s {
							return failure.err
						}
						return nil
					}
					_, err := Replace(plan(t, path), []byte(newText), Options{hooks: &way})
					if !errors.Is(err, failure.kind) || !strings.Contains(err.Error(), path) {
						t.Errorf("%v at %s: %v", failure.err, s, err)
					}
					if exists {
						holds(t, path, oldText)
						if info, _ := os.Stat(path); info.Mode() != 0o640 {
							t.Errorf("mode %v", info.Mode())
						}
					} else if _, err := os.Lstat(path); !os.IsNotExist(err) {
						t.Errorf("%v at %s: the new file is there", failure.err, s)
					}
					tidy(t, dir)
				}
			}
		}
	})
}

const childVariable = "FUSEBOX_REWRITE_CHILD"

// TestMain is also the child that is killed in the middle of a write.
func TestMain(m *testing.M) {
	if spec := os.Getenv(childVariable); spec != "" {
		part := strings.SplitN(spec, "|", 3)
		writeAndDie(part[0], step(part[1]), part[2])
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func writeAndDie(way string, at step, path string) {
	h := ways[way]
	h.at = func(s step) error {
		if s == at {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {}
		}
		return nil
	}
	planned, err := Read(path)
	if err == nil {
		_, err = Replace(planned, []byte(newText), Options{hooks: &h})
	}
	fmt.Println("not killed:", err)
}

// TestKilledAtEveryStep kills a process at every step of a write. The file holds the old or the new text, and the next
// write cleans up.
func TestKilledAtEveryStep(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	must(t, err)
	for way := range ways {
		for _, exists := range []bool{true, false} {
			for i, s := range steps {
				dir := folder(t)
				path := filepath.Join(dir, "settings.json")
				if exists {
					put(t, path, oldText, 0o640)
				}
				child := exec.Command(self)
				child.Env = append(os.Environ(), childVariable+"="+way+"|"+string(s)+"|"+path)
				out, err := child.CombinedOutput()
				if way == "compare without links" && exists && err == nil && (s == stepLooked || s == stepDurable) {
					continue // there are no such steps
				}
				var exit *exec.ExitError
				if !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
					t.Fatalf("%s, %s: the child was not killed: %v %s", way, s, err, out)
				}
				got, err := os.ReadFile(path)
				placed := i >= 6 // stepPlaced
				switch {
				case placed && (err != nil || string(got) != newText),
					!placed && exists && (err != nil || string(got) != oldText),
					!placed && !exists && !errors.Is(err, fs.ErrNotExist):
					t.Errorf("%s, killed when %s: the file holds %q, %v", way, s, got, err)
				}
				left := ours(t, dir)
				if want := i >= 1 && i < len(steps)-1 && (exists || !placed) && !(way == "compare without links" && placed); (len(left) > 0) != want {
					t.Errorf("%s, killed when %s: left %v", way, s, left)
				}
				h := ways[way]
				h.clock = func() time.Time { return time.Now().Add(2 * leftoverAge) }
				r, err := Replace(plan(t, path), []byte("the next text"), Options{hooks: &h})
				if err != nil || r.Notes != nil || r.Kept != nil {
					t.Errorf("%s, killed when %s: the next write: %v", way, s, err)
				}
				holds(t, path, "the next text")
				tidy(t, dir)
			}
		}
	}
}

// TestKilledBetweenLinkAndRename is the moment in which, without exchange, the file has two names.
func TestKilledBetweenLinkAndRename(t *testing.T) {
	t.Parallel()
	everyWay(t, func(t *testing.T, way hooks) {
		dir := folder(t)
		path := put(t, filepath.Join(dir, "settings.json"), oldText, 0o600)
		must(t, os.Link(path, filepath.Join(dir, swapName([]byte(oldText), []byte(newText)))))
		if _, err := Replace(plan(t, path), []byte(newText), Options{hooks: &way}); err != nil {
			t.Error(err)
		}
		holds(t, path, newText)
		tidy(t, dir)
	})
}

func TestFoldersAreLockedAmongProcesses(t *testing.T) {
	t.Parallel()
	dir := folder(t)
	path := put(t, filepath.Join(dir, "settings.json"), oldText, 0o600)
	unlock, err := lockFolder(dir, 0)
	must(t, err)
	_, err = Replace(plan(t, path), []byte(newText), Options{hooks: &hooks{wait: 20 * time.Millisecond}})
	if !errors.Is(err, ErrLocked) || !strings.Contains(err.Error(), dir) {
		t.Errorf("error %v", err)
	}
	holds(t, path, oldText)
	time.AfterFunc(30*time.Millisecond, unlock)
	if _, err := Replace(plan(t, path), []byte(newText), Options{}); err != nil {
		t.Error(err)
	}
	holds(t, path, newText)
}
