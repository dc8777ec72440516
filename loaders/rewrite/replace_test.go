package rewrite

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

const (
	oldText = "old text\r\nwith two lines\n"
	newText = "\xef\xbb\xbfnew text, somewhat longer than the old one\r\n"
)

func put(t *testing.T, path, text string, mode os.FileMode) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
	return path
}

// folder gives a folder whose path has no symbolic links in it.
func folder(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func plan(t *testing.T, path string) *File {
	t.Helper()
	f, err := Read(path)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func holds(t *testing.T, path, want string) {
	t.Helper()
	got, err := os.ReadFile(path)
	if err != nil {
		t.Error(err)
	} else if string(got) != want {
		t.Errorf("%s holds %q, want %q", filepath.Base(path), got, want)
	}
}

// ours lists what this package left in a folder.
func ours(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), Prefix) {
			names = append(names, e.Name())
		}
	}
	return names
}

func tidy(t *testing.T, dir string) {
	t.Helper()
	if left := ours(t, dir); left != nil {
		t.Errorf("left behind: %v", left)
	}
}

// ways are the three kinds of file systems: with exchange, with hard links only, with neither.
var ways = map[string]hooks{"exchange": {}, "compare": {noExchange: true}, "compare without links": {noExchange: true, noLink: true}}

func everyWay(t *testing.T, test func(t *testing.T, way hooks)) {
	for name, way := range ways {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, way)
		})
	}
}

func TestReplace(t *testing.T) {
	t.Parallel()
	everyWay(t, func(t *testing.T, way hooks) {
		for _, text := range []string{newText, "", "x"} {
			dir := folder(t)
			path := put(t, filepath.Join(dir, "settings.json"), oldText, 0o600)
			r, err := Replace(plan(t, path), []byte(text), Options{hooks: &way})
			if err != nil {
				t.Fatal(err)
			}
			if !r.Existed || string(r.Before) != oldText || string(r.After) != text || r.Replanned || r.Real != path || r.Path != path || r.Mode.Perm() != 0o600 || r.Notes != nil || r.Kept != nil {
				t.Errorf("result %#v", *r)
			}
			holds(t, path, text)
			tidy(t, dir)
		}
	})
}

func TestReplaceWithTheSameBytesWritesNothing(t *testing.T) {
	t.Parallel()
	dir := folder(t)
	path := put(t, filepath.Join(dir, "settings.json"), oldText, 0o600)
	before, _ := os.Stat(path)
	r, err := Replace(plan(t, path), []byte(oldText), Options{})
	if err != nil || string(r.After) != oldText {
		t.Fatal(r, err)
	}
	if after, _ := os.Stat(path); !os.SameFile(before, after) {
		t.Error("the file was replaced")
	}
}

func TestNewFile(t *testing.T) {
	t.Parallel()
	everyWay(t, func(t *testing.T, way hooks) {
		for _, mode := range []os.FileMode{0, 0o600, 0o644, 0o640} {
			dir := folder(t)
			path := filepath.Join(dir, "a", "b", "new.json")
			planned := plan(t, path)
			if planned.Exists || planned.Real != path {
				t.Fatalf("planned %#v", *planned)
			}
			r, err := Replace(planned, []byte(newText), Options{NewMode: mode, hooks: &way})
			if err != nil {
				t.Fatal(err)
			}
			if r.Existed || r.Before != nil || string(r.After) != newText {
				t.Errorf("result %#v", *r)
			}
			holds(t, path, newText)
			tidy(t, filepath.Dir(path))
		}
	})
}

func TestNewFileThatFailsLeavesNoFolders(t *testing.T) {
	t.Parallel()
	everyWay(t, func(t *testing.T, way hooks) {
		dir := folder(t)
		way.at = func(s step) error {
			if s == stepDurable {
				return errors.New("injected")
			}
			return nil
		}
		_, err := Replace(plan(t, filepath.Join(dir, "a", "b", "new.json")), []byte(newText), Options{hooks: &way})
		if err == nil {
			t.Fatal("no error")
		}
		if entries, _ := os.ReadDir(dir); len(entries) != 0 {
			t.Errorf("left behind: %v", entries)
		}
	})
}

func TestNewFileThatAnotherProgramMadeMeanwhile(t *testing.T) {
	t.Parallel()
	everyWay(t, func(t *testing.T, way hooks) {
		dir := folder(t)
		path := filepath.Join(dir, "new.json")
		for _, at := range []step{stepLocked, stepReady} {
			_ = os.Remove(path)
			way.at = func(s step) error {
				if s == at {
					put(t, path, "foreign", 0o600)
				}
				return nil
			}
			_, err := Replace(plan(t, path), []byte(newText), Options{hooks: &way})
			var e *Error
			if !errors.Is(err, ErrChanged) || !errors.As(err, &e) || e.Now == nil || string(e.Now.Data) != "foreign" {
				t.Errorf("%s: %v", at, err)
			}
			holds(t, path, "foreign")
			tidy(t, dir)
		}
	})
}

func TestReplanIsAskedOnce(t *testing.T) {
	t.Parallel()
	everyWay(t, func(t *testing.T, way hooks) {
		dir := folder(t)
		path := put(t, filepath.Join(dir, "settings.json"), oldText, 0o600)
		asked := 0
		count := 0
		way.at = func(s step) error {
			if s == stepReady { // changed before every attempt
				count++
				put(t, path+".new", fmt.Sprint("foreign ", count), 0o600)
				return os.Rename(path+".new", path)
			}
			return nil
		}
		_, err := Replace(plan(t, path), []byte(newText), Options{hooks: &way, Replan: func(now *File) ([]byte, error) {
			asked++
			return append(now.Data, newText...), nil
		}})
		if !errors.Is(err, ErrChanged) || asked != 1 {
			t.Errorf("asked %d times: %v", asked, err)
		}
		holds(t, path, "foreign 2")
		tidy(t, dir)
	})
}

func TestReplanOutcomes(t *testing.T) {
	t.Parallel()
	refused := errors.New("it does not parse")
	for name, test := range map[string]struct {
		replan func(now *File) ([]byte, error)
		want   string
		kind   error
	}{
		"new bytes":  {func(now *File) ([]byte, error) { return append(now.Data, '!'), nil }, "foreign!", nil},
		"already so": {func(now *File) ([]byte, error) { return now.Data, nil }, "foreign", nil},
		"refused":    {func(*File) ([]byte, error) { return nil, refused }, "foreign", refused},
		"too large":  {func(*File) ([]byte, error) { return make([]byte, MaxSize+1), nil }, "foreign", ErrTooLarge},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := folder(t)
			path := put(t, filepath.Join(dir, "settings.json"), oldText, 0o600)
			planned := plan(t, path)
			put(t, path, "foreign", 0o600)
			r, err := Replace(planned, []byte(newText), Options{Replan: test.replan})
			if test.kind != nil {
				var e *Error
				if !errors.Is(err, ErrChanged) || !errors.Is(err, test.kind) || !errors.As(err, &e) || string(e.Now.Data) != "foreign" {
					t.Errorf("error %v", err)
				}
			} else if err != nil || !r.Replanned || string(r.Before) != "foreign" {
				t.Errorf("result %v, error %v", r, err)
			}
			holds(t, path, test.want)
			tidy(t, dir)
		})
	}
}

func TestRemove(t *testing.T) {
	t.Parallel()
	everyWay(t, func(t *testing.T, way hooks) {
		dir := folder(t)
		path := put(t, filepath.Join(dir, "settings.json"), oldText, 0o600)
		planned := plan(t, path)
		put(t, path, "foreign", 0o600)
		if err := Remove(planned, Options{hooks: &way}); !errors.Is(err, ErrChanged) {
			t.Errorf("a changed file: %v", err)
		}
		holds(t, path, "foreign")

		// Changed in the last moment, and changed with a new file made in its place while it was looked at.
		planned = plan(t, path)
		way.at = func(s step) error {
			if s == stepPlaced {
				left := ours(t, dir)
				put(t, filepath.Join(dir, left[0]), "foreign 2", 0o600)
			}
			return nil
		}
		if err := Remove(planned, Options{hooks: &way}); !errors.Is(err, ErrChanged) {
			t.Errorf("changed in the last moment: %v", err)
		}
		holds(t, path, "foreign 2")
		tidy(t, dir)

		planned = plan(t, path)
		way.at = func(s step) error {
			if s == stepPlaced {
				left := ours(t, dir)
				put(t, filepath.Join(dir, left[0]), "foreign 3", 0o600)
				put(t, path, "foreign 4", 0o600)
			}
			return nil
		}
		err := Remove(planned, Options{hooks: &way})
		var e *Error
		if !errors.As(err, &e) || e.Kind != ErrChanged || len(e.Kept) != 1 || !strings.Contains(err.Error(), e.Kept[0]) {
			t.Fatalf("made again meanwhile: %v", err)
		}
		holds(t, path, "foreign 4")
		holds(t, e.Kept[0], "foreign 3")
		_ = os.Remove(e.Kept[0])

		way.at = nil
		if err := Remove(plan(t, path), Options{hooks: &way}); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Lstat(path); !os.IsNotExist(err) {
			t.Errorf("still there: %v", err)
		}
		tidy(t, dir)
		if err := Remove(plan(t, path), Options{hooks: &way}); err != nil {
			t.Errorf("a missing file: %v", err)
		}
	})
}

// TestWritesToOneFileAreSerialised counts up in one file from many goroutines, each of which plans on what it read before.
func TestWritesToOneFileAreSerialised(t *testing.T) {
	t.Parallel()
	everyWay(t, func(t *testing.T, way hooks) {
		dir := folder(t)
		path := put(t, filepath.Join(dir, "settings.json"), "0", 0o600)
		next := func(now *File) ([]byte, error) {
			n, err := strconv.Atoi(string(now.Data))
			return strconv.AppendInt(nil, int64(n+1), 10), err
		}
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() {
				for range 10 {
					planned, err := Read(path)
					if err != nil {
						t.Error(err)
						return
					}
					data, err := next(planned)
					if err == nil {
						_, err = Replace(planned, data, Options{Replan: next, hooks: &way})
					}
					if err != nil {
						t.Error(err)
					}
				}
			})
		}
		all.Wait()
		holds(t, path, "80")
		tidy(t, dir)
		writing.mu.Lock()
		defer writing.mu.Unlock()
		if writing.held[path] != nil {
			t.Error("the lock is still known")
		}
	})
}

func TestTooLarge(t *testing.T) {
	t.Parallel()
	dir := folder(t)
	path := put(t, filepath.Join(dir, "settings.json"), oldText, 0o600)
	if _, err := Replace(plan(t, path), make([]byte, MaxSize+1), Options{}); !errors.Is(err, ErrTooLarge) {
		t.Errorf("new text: %v", err)
	}
	holds(t, path, oldText)
	if err := os.Truncate(path, MaxSize+1); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(path); !errors.Is(err, ErrTooLarge) {
		t.Errorf("file: %v", err)
	}
	if err := os.Truncate(path, MaxSize); err != nil {
		t.Fatal(err)
	}
	if f, err := Read(path); err != nil || len(f.Data) != MaxSize {
		t.Errorf("largest file: %v", err)
	}
	tidy(t, dir)
}

func TestHarnessLock(t *testing.T) {
	t.Parallel()
	setup := func(t *testing.T) (path, lock string) {
		dir := folder(t)
		return put(t, filepath.Join(dir, "trustedFolders.json"), oldText, 0o600), filepath.Join(dir, "trustedFolders.json.lock")
	}
	gone := func(t *testing.T, lock string) {
		t.Helper()
		if _, err := os.Lstat(lock); !os.IsNotExist(err) {
			t.Errorf("the lock is still there: %v", err)
		}
	}
	t.Run("held while the file is written", func(t *testing.T) {
		t.Parallel()
		path, lock := setup(t)
		seen := 0
		h := hooks{at: func(step) error {
			if info, err := os.Lstat(lock); err == nil && info.IsDir() {
				seen++
			}
			return nil
		}}
		r, err := Replace(plan(t, path), []byte(newText), Options{Lock: lock, hooks: &h})
		if err != nil || r.Lock != lock {
			t.Fatal(r, err)
		}
		if seen != len(steps) {
			t.Errorf("held at %d of %d steps", seen, len(steps))
		}
		gone(t, lock)
	})
	t.Run("of a new file in a new folder", func(t *testing.T) {
		t.Parallel()
		dir := folder(t)
		path := filepath.Join(dir, "new", "file.json")
		if _, err := Replace(plan(t, path), []byte(newText), Options{Lock: path + ".lock"}); err != nil {
			t.Fatal(err)
		}
		holds(t, path, newText)
		gone(t, path+".lock")
	})
	t.Run("waited for, and the file then planned on anew", func(t *testing.T) {
		t.Parallel()
		path, lock := setup(t)
		planned := plan(t, path)
		if err := os.Mkdir(lock, 0o700); err != nil {
			t.Fatal(err)
		}
		time.AfterFunc(100*time.Millisecond, func() {
			_ = os.WriteFile(path, []byte("by the harness"), 0o600)
			_ = os.Remove(lock)
		})
		r, err := Replace(planned, []byte(newText), Options{Lock: lock, Replan: func(now *File) ([]byte, error) { return append(now.Data, '!'), nil }})
		if err != nil || !r.Replanned {
			t.Fatal(r, err)
		}
		holds(t, path, "by the harness!")
		gone(t, lock)
	})
	t.Run("never given back", func(t *testing.T) {
		t.Parallel()
		path, lock := setup(t)
		if err := os.Mkdir(lock, 0o700); err != nil {
			t.Fatal(err)
		}
		_, err := Replace(plan(t, path), []byte(newText), Options{Lock: lock, hooks: &hooks{wait: 50 * time.Millisecond}})
		if !errors.Is(err, ErrLocked) || !strings.Contains(err.Error(), lock) {
			t.Errorf("error %v", err)
		}
		holds(t, path, oldText)
		if _, err := os.Lstat(lock); err != nil {
			t.Errorf("the lock of another was removed: %v", err)
		}
	})
	t.Run("stale", func(t *testing.T) {
		t.Parallel()
		path, lock := setup(t)
		if err := os.Mkdir(lock, 0o700); err != nil {
			t.Fatal(err)
		}
		long := time.Now().Add(-lockStale - time.Second)
		if err := os.Chtimes(lock, long, long); err != nil {
			t.Fatal(err)
		}
		if _, err := Replace(plan(t, path), []byte(newText), Options{Lock: lock}); err != nil {
			t.Fatal(err)
		}
		holds(t, path, newText)
		gone(t, lock)
	})
	t.Run("a file in its place", func(t *testing.T) {
		t.Parallel()
		path, lock := setup(t)
		put(t, lock, "mine", 0o600)
		_, err := Replace(plan(t, path), []byte(newText), Options{Lock: lock, hooks: &hooks{wait: time.Millisecond}})
		if !errors.Is(err, ErrLocked) {
			t.Errorf("error %v", err)
		}
		holds(t, path, oldText)
		holds(t, lock, "mine")
	})
	t.Run("taken by another", func(t *testing.T) {
		t.Parallel()
		path, lock := setup(t)
		h := hooks{at: func(s step) error {
			if s == stepSynced {
				if err := os.Rename(lock, lock+".old"); err != nil { // keeps the inode in use
					t.Error(err)
				}
				return os.Mkdir(lock, 0o700)
			}
			return nil
		}}
		_, err := Replace(plan(t, path), []byte(newText), Options{Lock: lock, hooks: &h})
		if !errors.Is(err, ErrLocked) {
			t.Errorf("error %v", err)
		}
		holds(t, path, oldText)
		if _, err := os.Lstat(lock); err != nil {
			t.Errorf("the lock of another was removed: %v", err)
		}
		tidy(t, filepath.Dir(path))
	})
	t.Run("refreshed", func(t *testing.T) {
		t.Parallel()
		_, lock := setup(t)
		l, err := takeHarnessLock(lock, 0, time.Millisecond)
		if err != nil {
			t.Fatal(err)
		}
		defer l.release()
		long := time.Now().Add(-time.Hour)
		if err := os.Chtimes(lock, long, long); err != nil {
			t.Fatal(err)
		}
		for end := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) {
			if info, err := os.Stat(lock); err == nil && time.Since(info.ModTime()) < time.Minute {
				break
			}
			if time.Now().After(end) {
				t.Fatal("never refreshed")
			}
		}
	})
}

func TestLeftovers(t *testing.T) {
	t.Parallel()
	dir := folder(t)
	path := put(t, filepath.Join(dir, "settings.json"), oldText, 0o600)
	partial := put(t, filepath.Join(dir, tmpPrefix+"1"), "half of it", 0o600)
	before := put(t, filepath.Join(dir, swapName([]byte("a"), []byte("b"))), "a", 0o600)
	after := put(t, filepath.Join(dir, swapName([]byte("a"), []byte("b"))), "b", 0o600)
	foreign := put(t, filepath.Join(dir, swapName([]byte("a"), []byte("b"))), "c", 0o600)
	odd := put(t, filepath.Join(dir, swapPrefix+"x"), "d", 0o600)
	kept := put(t, filepath.Join(dir, keptPrefix+"1"), "e", 0o600)
	other := put(t, filepath.Join(dir, ".fusebox.toml"), "f", 0o600)
	write := func(text string, in time.Duration) *Result {
		t.Helper()
		r, err := Replace(plan(t, path), []byte(text), Options{hooks: &hooks{clock: func() time.Time { return time.Now().Add(in) }}})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	if r := write("1", 30*time.Second); r.Notes != nil {
		t.Error(r.Notes)
	}
	for _, p := range []string{partial, before, after, foreign, odd, kept, other} {
		if _, err := os.Lstat(p); err != nil {
			t.Errorf("younger than a minute, and gone: %v", err)
		}
	}
	r := write("2", 2*time.Minute)
	for _, p := range []string{partial, before, after, foreign, odd} {
		if _, err := os.Lstat(p); !os.IsNotExist(err) {
			t.Errorf("still there: %v", p)
		}
	}
	holds(t, kept, "e")
	holds(t, other, "f")
	if len(r.Notes) != 2 {
		t.Fatalf("notes %q", r.Notes)
	}
	found := ""
	for _, note := range r.Notes {
		_, name, _ := strings.Cut(note, "is kept in ")
		data, err := os.ReadFile(name)
		if err != nil {
			t.Error(err)
		}
		found += string(data)
	}
	if found != "cd" && found != "dc" {
		t.Errorf("the notes name files with %q", found)
	}
	if r := write("3", 4*time.Minute); r.Notes != nil || len(ours(t, dir)) != 3 {
		t.Errorf("notes %q, files %v", r.Notes, ours(t, dir))
	}
}

func TestNothingPrintsContent(t *testing.T) {
	t.Parallel()
	dir := folder(t)
	path := put(t, filepath.Join(dir, "settings.json"), "token=hunter2-hunter2", 0o600)
	planned := plan(t, path)
	r, err := Replace(planned, []byte("token=hunter2-hunter2!"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	_, conflict := Replace(planned, []byte("token=hunter2-hunter2?"), Options{})
	if conflict == nil {
		t.Fatal("no conflict")
	}
	inJSON, err := json.Marshal([]any{planned, r})
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{
		fmt.Sprintf("%v %+v %#v %s", planned, planned, planned, planned),
		fmt.Sprintf("%v %+v %#v", *planned, *planned, *planned),
		fmt.Sprintf("%v %+v %#v %s", r, r, r, r),
		fmt.Sprintf("%v %+v %#v", *r, *r, *r),
		fmt.Sprintf("%v %+v %#v", conflict, conflict, conflict), string(inJSON),
	} {
		if strings.Contains(text, "hunter2") || strings.Contains(text, "68756e74657232") {
			t.Errorf("content is printed: %s", text)
		}
	}
}
