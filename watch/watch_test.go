package watch

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/fsnotify/fsnotify"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience is how long a test waits for what must come; nothing depends on
// how soon it comes.
const patience = 10 * time.Second

// start makes a Watcher of the paths that ends with the test.
func start(t *testing.T, o Options, paths ...string) *Watcher {
	t.Helper()
	w := New(o)
	t.Cleanup(func() {
		if err := w.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	w.SetPaths(paths)
	return w
}

func receive(t *testing.T, w *Watcher) Batch {
	t.Helper()
	select {
	case b, ok := <-w.Batches():
		if !ok {
			t.Fatal("the channel of batches is closed")
		}
		return b
	case <-time.After(patience):
		t.Fatal("no batch came")
	}
	return Batch{}
}

// expect receives batches until all wanted paths were in one of them, and
// fails when anything else was.
func expect(t *testing.T, w *Watcher, wanted ...string) {
	t.Helper()
	missing := slices.Clone(wanted)
	for len(missing) > 0 {
		b := receive(t, w)
		if !slices.IsSorted(b.Paths) {
			t.Errorf("not sorted: %q", b.Paths)
		}
		for _, p := range b.Paths {
			if !slices.Contains(wanted, p) {
				t.Fatalf("reported %q; wanted only %q", p, wanted)
			}
			missing = slices.DeleteFunc(missing, func(m string) bool { return m == p })
		}
	}
}

// expectSilence proves that what was done before is not reported: a later
// change of the sentinel, which is in the set, is all that arrives.
func expectSilence(t *testing.T, w *Watcher, sentinel string) {
	t.Helper()
	write(t, sentinel, fmt.Sprint("sentinel ", time.Now().UnixNano()))
	expect(t, w, sentinel)
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func write(t *testing.T, path, content string) {
	t.Helper()
	must(t, os.WriteFile(path, []byte(content), 0o644))
}

func mkdir(t *testing.T, path string) {
	t.Helper()
	must(t, os.MkdirAll(path, 0o755))
}

func symlink(t *testing.T, target, link string) {
	t.Helper()
	if err := os.Symlink(target, link); err != nil {
		if runtime.GOOS == "windows" {
			t.Skip("no right to make symlinks")
		}
		t.Fatal(err)
	}
}

// age makes everything below dir old: polling reports a file whose mtime is
// young once more than necessary, since it could have changed unseen.
func age(t *testing.T, dir string) {
	t.Helper()
	old := time.Now().Add(-time.Hour)
	must(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.Type()&fs.ModeSymlink != 0 {
			return err
		}
		return os.Chtimes(path, old, old)
	}))
}

// modes runs a test with events and with polling.
func modes(t *testing.T, f func(t *testing.T, o Options)) {
	t.Run("events", func(t *testing.T) {
		t.Parallel()
		f(t, Options{})
	})
	t.Run("polling", func(t *testing.T) {
		t.Parallel()
		f(t, Options{ForcePolling: true, Poll: 20 * time.Millisecond})
	})
}

func TestChangesAreReported(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		// prepare makes the tree below dir and returns the paths to watch.
		prepare func(t *testing.T, dir string) []string
		change  func(t *testing.T, dir string)
		wanted  []string // relative to dir
	}{
		{
			name: "written in place",
			prepare: func(t *testing.T, dir string) []string {
				write(t, filepath.Join(dir, "f"), "1")
				write(t, filepath.Join(dir, "g"), "1")
				return []string{"f", "g"}
			},
			change: func(t *testing.T, dir string) { write(t, filepath.Join(dir, "f"), "22") },
			wanted: []string{"f"},
		},
		{
			name: "renamed over",
			prepare: func(t *testing.T, dir string) []string {
				write(t, filepath.Join(dir, "f"), "1")
				return []string{"f"}
			},
			change: func(t *testing.T, dir string) {
				write(t, filepath.Join(dir, "f.tmp"), "2")
				must(t, os.Rename(filepath.Join(dir, "f.tmp"), filepath.Join(dir, "f")))
			},
			wanted: []string{"f"},
		},
		{
			name:    "created",
			prepare: func(*testing.T, string) []string { return []string{"f", "g"} },
			change:  func(t *testing.T, dir string) { write(t, filepath.Join(dir, "f"), "1") },
			wanted:  []string{"f"},
		},
		{
			name: "removed",
			prepare: func(t *testing.T, dir string) []string {
				write(t, filepath.Join(dir, "f"), "1")
				return []string{"f"}
			},
			change: func(t *testing.T, dir string) { must(t, os.Remove(filepath.Join(dir, "f"))) },
			wanted: []string{"f"},
		},
		{
			name: "target of a symlink written",
			prepare: func(t *testing.T, dir string) []string {
				mkdir(t, filepath.Join(dir, "dotfiles"))
				mkdir(t, filepath.Join(dir, "home"))
				write(t, filepath.Join(dir, "dotfiles/f"), "1")
				symlink(t, filepath.Join("..", "dotfiles", "f"), filepath.Join(dir, "home/f"))
				return []string{"home/f"}
			},
			change: func(t *testing.T, dir string) { write(t, filepath.Join(dir, "dotfiles/f"), "22") },
			wanted: []string{"home/f"},
		},
		{
			name: "chain of symlinks, written at its end",
			prepare: func(t *testing.T, dir string) []string {
				for _, d := range []string{"1", "2", "3"} {
					mkdir(t, filepath.Join(dir, d))
				}
				write(t, filepath.Join(dir, "3/f"), "1")
				symlink(t, filepath.Join(dir, "3/f"), filepath.Join(dir, "2/f"))
				symlink(t, filepath.Join("..", "2", "f"), filepath.Join(dir, "1/f"))
				return []string{"1/f"}
			},
			change: func(t *testing.T, dir string) { write(t, filepath.Join(dir, "3/f"), "22") },
			wanted: []string{"1/f"},
		},
		{
			name: "chain of symlinks, re-pointed in the middle",
			prepare: func(t *testing.T, dir string) []string {
				for _, d := range []string{"1", "2", "3"} {
					mkdir(t, filepath.Join(dir, d))
				}
				write(t, filepath.Join(dir, "3/f"), "1")
				write(t, filepath.Join(dir, "3/g"), "1")
				symlink(t, filepath.Join("..", "3", "f"), filepath.Join(dir, "2/f"))
				symlink(t, filepath.Join("..", "2", "f"), filepath.Join(dir, "1/f"))
				return []string{"1/f"}
			},
			change: func(t *testing.T, dir string) {
				must(t, os.Remove(filepath.Join(dir, "2/f")))
				symlink(t, filepath.Join("..", "3", "g"), filepath.Join(dir, "2/f"))
			},
			wanted: []string{"1/f"},
		},
		{
			name: "dangling symlink whose target appears",
			prepare: func(t *testing.T, dir string) []string {
				symlink(t, filepath.Join("x", "y", "f"), filepath.Join(dir, "f"))
				return []string{"f"}
			},
			change: func(t *testing.T, dir string) {
				mkdir(t, filepath.Join(dir, "x/y"))
				write(t, filepath.Join(dir, "x/y/f"), "1")
			},
			wanted: []string{"f"},
		},
		{
			name: "loop of symlinks is untied",
			prepare: func(t *testing.T, dir string) []string {
				symlink(t, "b", filepath.Join(dir, "a"))
				symlink(t, "a", filepath.Join(dir, "b"))
				return []string{"a"}
			},
			change: func(t *testing.T, dir string) {
				must(t, os.Remove(filepath.Join(dir, "b")))
				write(t, filepath.Join(dir, "b"), "1")
			},
			wanted: []string{"a"},
		},
		{
			name: "symlinked parent folder, written below",
			prepare: func(t *testing.T, dir string) []string {
				mkdir(t, filepath.Join(dir, "real/sub"))
				write(t, filepath.Join(dir, "real/sub/f"), "1")
				symlink(t, "real", filepath.Join(dir, "link"))
				return []string{"link/sub/f"}
			},
			change: func(t *testing.T, dir string) { write(t, filepath.Join(dir, "real/sub/f"), "22") },
			wanted: []string{"link/sub/f"},
		},
		{
			name: "symlinked parent folder, re-pointed",
			prepare: func(t *testing.T, dir string) []string {
				for _, d := range []string{"real", "other"} {
					mkdir(t, filepath.Join(dir, d))
					write(t, filepath.Join(dir, d, "f"), "1")
				}
				symlink(t, "real", filepath.Join(dir, "link"))
				return []string{"link/f", "real/f"}
			},
			change: func(t *testing.T, dir string) {
				symlink(t, "other", filepath.Join(dir, "link.tmp"))
				must(t, os.Rename(filepath.Join(dir, "link.tmp"), filepath.Join(dir, "link")))
			},
			wanted: []string{"link/f"},
		},
		{
			name: "path with dots after a symlink",
			prepare: func(t *testing.T, dir string) []string {
				mkdir(t, filepath.Join(dir, "far/real"))
				write(t, filepath.Join(dir, "far/f"), "1")
				symlink(t, filepath.Join("far", "real"), filepath.Join(dir, "link"))
				return []string{"link/../f"}
			},
			change: func(t *testing.T, dir string) { write(t, filepath.Join(dir, "far/f"), "22") },
			wanted: []string{"link/../f"},
		},
		{
			name:    "deep missing folders appear at once",
			prepare: func(*testing.T, string) []string { return []string{"a/b/c/d/f", "a/b/g"} },
			change: func(t *testing.T, dir string) {
				mkdir(t, filepath.Join(dir, "a/b/c/d"))
				write(t, filepath.Join(dir, "a/b/c/d/f"), "1")
			},
			wanted: []string{"a/b/c/d/f"},
		},
		{
			name: "whole tree moved into place",
			prepare: func(t *testing.T, dir string) []string {
				mkdir(t, filepath.Join(dir, "new/b/c"))
				write(t, filepath.Join(dir, "new/b/c/f"), "1")
				return []string{"a/b/c/f"}
			},
			change: func(t *testing.T, dir string) {
				must(t, os.Rename(filepath.Join(dir, "new"), filepath.Join(dir, "a")))
			},
			wanted: []string{"a/b/c/f"},
		},
		{
			name: "folder far above renamed away",
			prepare: func(t *testing.T, dir string) []string {
				if runtime.GOOS != "linux" {
					t.Skip("found by the audit only")
				}
				mkdir(t, filepath.Join(dir, "a/b/c"))
				write(t, filepath.Join(dir, "a/b/c/f"), "1")
				return []string{"a/b/c/f"}
			},
			change: func(t *testing.T, dir string) {
				must(t, os.Rename(filepath.Join(dir, "a"), filepath.Join(dir, "z")))
			},
			wanted: []string{"a/b/c/f"},
		},
		{
			name: "file where a folder should be becomes a folder",
			prepare: func(t *testing.T, dir string) []string {
				write(t, filepath.Join(dir, "a"), "1")
				return []string{"a/f"}
			},
			change: func(t *testing.T, dir string) {
				must(t, os.Remove(filepath.Join(dir, "a")))
				mkdir(t, filepath.Join(dir, "a"))
				write(t, filepath.Join(dir, "a/f"), "1")
			},
			wanted: []string{"a/f"},
		},
		{
			name: "entry of a watched folder appears",
			prepare: func(t *testing.T, dir string) []string {
				mkdir(t, filepath.Join(dir, "d"))
				return []string{"d"}
			},
			change: func(t *testing.T, dir string) { write(t, filepath.Join(dir, "d/x"), "1") },
			wanted: []string{"d"},
		},
		{
			name: "entry of a watched folder vanishes",
			prepare: func(t *testing.T, dir string) []string {
				mkdir(t, filepath.Join(dir, "real"))
				write(t, filepath.Join(dir, "real/x"), "1")
				symlink(t, "real", filepath.Join(dir, "d"))
				return []string{"d"}
			},
			change: func(t *testing.T, dir string) { must(t, os.Remove(filepath.Join(dir, "real/x"))) },
			wanted: []string{"d"},
		},
		{
			name: "mode",
			prepare: func(t *testing.T, dir string) []string {
				write(t, filepath.Join(dir, "f"), "1")
				return []string{"f"}
			},
			change: func(t *testing.T, dir string) { must(t, os.Chmod(filepath.Join(dir, "f"), 0o400)) },
			wanted: []string{"f"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			modes(t, func(t *testing.T, o Options) {
				dir := t.TempDir()
				paths := tt.prepare(t, dir)
				age(t, dir)
				w := start(t, o, under(dir, paths)...)
				tt.change(t, dir)
				expect(t, w, under(dir, tt.wanted)...)
			})
		})
	}
}

// under joins without cleaning.
func under(dir string, names []string) []string {
	var paths []string
	for _, n := range names {
		paths = append(paths, dir+string(filepath.Separator)+filepath.FromSlash(n))
	}
	return paths
}

func TestSameSizeSameTimeIsReported(t *testing.T) {
	t.Parallel()
	f := filepath.Join(t.TempDir(), "f")
	write(t, f, "1")
	info, err := os.Stat(f)
	must(t, err)
	w := start(t, Options{}, f)
	for i := range 3 {
		file, err := os.OpenFile(f, os.O_WRONLY, 0)
		must(t, err)
		_, err = fmt.Fprint(file, i)
		must(t, errors.Join(err, file.Close(), os.Chtimes(f, info.ModTime(), info.ModTime())))
		expect(t, w, f)
	}
}

func TestRemovedAndMadeAgain(t *testing.T) {
	t.Parallel()
	modes(t, func(t *testing.T, o Options) {
		dir := t.TempDir()
		f := filepath.Join(dir, "a", "b", "f")
		w := start(t, o, f)
		for range 3 {
			mkdir(t, filepath.Dir(f))
			write(t, f, "1")
			expect(t, w, f)
			write(t, f, "22")
			expect(t, w, f)
			must(t, os.Remove(f))
			expect(t, w, f)
			write(t, f, "333")
			expect(t, w, f)
			must(t, os.RemoveAll(filepath.Join(dir, "a")))
			expect(t, w, f)
		}
	})
}

func TestFolderRenamedAwayAndBack(t *testing.T) {
	t.Parallel()
	modes(t, func(t *testing.T, o Options) {
		if runtime.GOOS == "windows" {
			t.Skip("a watched folder cannot be renamed")
		}
		dir := t.TempDir()
		d, away := filepath.Join(dir, "d"), filepath.Join(dir, "away")
		f := filepath.Join(d, "f")
		mkdir(t, d)
		write(t, f, "1")
		w := start(t, o, f)
		must(t, os.Rename(d, away))
		expect(t, w, f)
		mkdir(t, d)
		write(t, f, "other")
		expect(t, w, f)
		// What happens in the folder that moved is no longer of interest.
		write(t, filepath.Join(away, "f"), "away")
		expectSilence(t, w, f)
		must(t, os.RemoveAll(d))
		must(t, os.Rename(away, d))
		expect(t, w, f)
		write(t, f, "at home")
		expect(t, w, f)
	})
}

func TestBusyNeighboursAreSilent(t *testing.T) {
	t.Parallel()
	modes(t, func(t *testing.T, o Options) {
		dir := t.TempDir()
		f, missing := filepath.Join(dir, "f"), filepath.Join(dir, "no", "such")
		write(t, f, "1")
		w := start(t, o, f, missing)
		for i := range 200 {
			noise := filepath.Join(dir, fmt.Sprint("f.tmp", i))
			write(t, noise, "x")
			if i%2 == 0 {
				must(t, os.Remove(noise))
			}
		}
		must(t, os.Chmod(f, 0o644))
		mkdir(t, filepath.Join(dir, "no"))
		expectSilence(t, w, f)
	})
}

func TestFileBelowWatchedFolderWrittenIsSilent(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	d, f := filepath.Join(dir, "d"), filepath.Join(dir, "f")
	mkdir(t, d)
	write(t, filepath.Join(d, "x"), "1")
	w := start(t, Options{}, d, f)
	write(t, filepath.Join(d, "x"), "22")
	expectSilence(t, w, f)
}

func TestManyWritesMakeFewBatches(t *testing.T) {
	t.Parallel()
	f := filepath.Join(t.TempDir(), "f")
	w := start(t, Options{}, f)
	const last = "write 999"
	begin := time.Now()
	var pauses atomic.Int32 // of the writer, on a loaded machine
	go func() {
		for i := range 1000 {
			before := time.Now()
			_ = os.WriteFile(f, fmt.Appendf(nil, "write %03d", i), 0o644)
			time.Sleep(time.Millisecond)
			if time.Since(before) > defaultQuiet/2 {
				pauses.Add(1)
			}
		}
	}()
	batches := 0
	for {
		batches++
		receive(t, w)
		if content, _ := os.ReadFile(f); string(content) == last {
			break
		}
	}
	// Where the writes take no more than 2 s this is 12.
	limit := max(12, 4+int(time.Since(begin)/defaultLongest)) + int(pauses.Load())
	if batches > limit {
		t.Errorf("%d batches in %v, want at most %d", batches, time.Since(begin), limit)
	}
}

func TestYoungFileIsPolledOnceMore(t *testing.T) {
	t.Parallel()
	f := filepath.Join(t.TempDir(), "f")
	// As on a file system that counts in seconds: the second that runs now.
	second := time.Now().Truncate(time.Second).Add(time.Second)
	write(t, f, "1")
	must(t, os.Chtimes(f, second, second))
	w := start(t, Options{ForcePolling: true, Poll: 20 * time.Millisecond}, f)
	write(t, f, "2")
	must(t, os.Chtimes(f, second, second))
	expect(t, w, f)
}

// The watch of a folder that moved with one above it says nothing of the
// folder that took its place.
func TestFolderAboveIsReplaced(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("found by the audit only")
	}
	dir := t.TempDir()
	f, g := filepath.Join(dir, "a", "b", "c", "f"), filepath.Join(dir, "a", "b", "c", "g")
	mkdir(t, filepath.Dir(f))
	write(t, f, "1")
	w := start(t, Options{}, f, g)
	for i := range 3 {
		must(t, os.Rename(filepath.Join(dir, "a"), filepath.Join(dir, fmt.Sprint("moved", i))))
		mkdir(t, filepath.Dir(f))
		write(t, f, "22")
		expect(t, w, f)
		write(t, g, "1")
		expect(t, w, g)
		must(t, os.Remove(g))
		expect(t, w, g)
	}
}

func TestSlowConsumerGetsOneMergedBatch(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	f, g, h := filepath.Join(dir, "f"), filepath.Join(dir, "g"), filepath.Join(dir, "h")
	w := start(t, Options{Quiet: time.Millisecond}, f, g, h)
	write(t, f, "1")
	other := start(t, Options{Quiet: time.Millisecond}, g, h)
	write(t, g, "1")
	expect(t, other, g)
	write(t, h, "1")
	expect(t, other, h)
	// The first receive may race with the last event, but loses nothing.
	expect(t, w, f, g, h)
}

func TestSetPaths(t *testing.T) {
	t.Parallel()
	modes(t, func(t *testing.T, o Options) {
		dir := t.TempDir()
		f, g := filepath.Join(dir, "f"), filepath.Join(dir, "sub", "g")
		write(t, f, "1")
		w := start(t, o, f)
		w.SetPaths([]string{g})
		write(t, f, "22")
		mkdir(t, filepath.Dir(g))
		write(t, g, "1")
		expect(t, w, g)
		// The same path under two spellings is reported as both.
		twice := filepath.Dir(g) + string(filepath.Separator) + "." + string(filepath.Separator) + "g"
		w.SetPaths([]string{g, twice})
		write(t, g, "22")
		expect(t, w, g, twice)
		w.SetPaths(nil)
		write(t, g, "333")
		w.SetPaths([]string{f})
		expectSilence(t, w, f)
	})
}

func TestSetPathsWhileEventsArrive(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	kept := filepath.Join(dir, "kept")
	var all []string
	for i := range 20 {
		all = append(all, filepath.Join(dir, fmt.Sprint("d", i), "f"))
	}
	w := start(t, Options{Quiet: time.Millisecond, Longest: 5 * time.Millisecond}, kept)
	var busy sync.WaitGroup
	busy.Go(func() {
		for i := range 300 {
			f := all[i%len(all)]
			_ = os.MkdirAll(filepath.Dir(f), 0o755)
			_ = os.WriteFile(f, fmt.Append(nil, i), 0o644)
			_ = os.WriteFile(kept, fmt.Append(nil, i), 0o644)
			if i%7 == 0 {
				_ = os.RemoveAll(filepath.Dir(f))
			}
		}
		_ = os.WriteFile(kept, []byte("end"), 0o644)
	})
	for k := range 2 {
		busy.Go(func() {
			for i := range 200 {
				w.SetPaths(append([]string{kept}, all[(i+k)%len(all):]...))
			}
		})
	}
	for {
		b := receive(t, w)
		if content, _ := os.ReadFile(kept); string(content) == "end" && slices.Contains(b.Paths, kept) {
			break
		}
		w.SetPaths(append([]string{kept}, all[len(b.Paths)%len(all):]...))
	}
	busy.Wait()
}

func TestAgain(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	f, absent := filepath.Join(dir, "f"), filepath.Join(dir, "absent")
	write(t, f, "1")
	w := start(t, Options{}, f, absent)
	w.Again([]string{f, filepath.Join(dir, "not in the set")}, 30*time.Millisecond)
	expect(t, w, f)
	w.Again([]string{f}, time.Hour)
	w.Again([]string{absent, f}, 0)
	expect(t, w, absent, f)
	expectSilence(t, w, f)
}

func TestCloseLeavesNothing(t *testing.T) {
	ignore := goleak.IgnoreCurrent()
	dir := t.TempDir()
	for _, o := range []Options{{}, {ForcePolling: true}} {
		w := New(o)
		w.SetPaths([]string{filepath.Join(dir, "f"), filepath.Join(dir, "a", "b")})
		write(t, filepath.Join(dir, "f"), "not received")
		w.Again([]string{filepath.Join(dir, "f")}, time.Hour)
		var both sync.WaitGroup
		for range 2 {
			both.Go(func() { must(t, w.Close()) })
		}
		both.Wait()
		w.SetPaths([]string{dir})
		w.Again([]string{dir}, 0)
		for range w.Batches() { // ends, because it is closed
		}
	}
	goleak.VerifyNone(t, ignore)
}

// testBackend is fsnotify with faults.
type testBackend struct {
	Backend
	faults *faults
	events chan fsnotify.Event
	errs   chan error
	stop   chan struct{}
	done   sync.WaitGroup
}

type faults struct {
	open, add atomic.Pointer[error]
	deaf      atomic.Bool // no event arrives
	unlisted  atomic.Bool // added folders are not the backend's own
	backend   atomic.Pointer[testBackend]
}

func (f *faults) new() (Backend, error) {
	if err := f.open.Load(); err != nil {
		return nil, *err
	}
	inner, err := newFSNotify()
	if err != nil {
		return nil, err
	}
	b := &testBackend{
		Backend: inner, faults: f,
		events: make(chan fsnotify.Event), errs: make(chan error),
		stop: make(chan struct{}),
	}
	f.backend.Store(b)
	// fsnotify may hold its lock until an error is taken.
	b.done.Go(func() {
		for err := range inner.Errors() {
			b.errs <- err
		}
	})
	b.done.Go(func() {
		defer close(b.events)
		for {
			select {
			case e, ok := <-inner.Events():
				if !ok {
					return
				}
				if !f.deaf.Load() {
					b.events <- e
				}
			case <-b.stop:
				return
			}
		}
	})
	return b, nil
}

func (b *testBackend) Add(folder string) error {
	if err := b.faults.add.Load(); err != nil {
		return *err
	}
	return b.Backend.Add(folder)
}

func (b *testBackend) WatchList() []string {
	if b.faults.unlisted.Load() {
		return nil
	}
	return b.Backend.WatchList()
}

func (b *testBackend) Events() <-chan fsnotify.Event { return b.events }
func (b *testBackend) Errors() <-chan error          { return b.errs }

func (b *testBackend) Close() error {
	err := b.Backend.Close()
	b.done.Wait()
	close(b.errs)
	return err
}

func TestPollingWhenTheSystemGivesNoEvents(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		fault func(*faults) *atomic.Pointer[error]
		err   error
	}{
		{"limit of watches", func(f *faults) *atomic.Pointer[error] { return &f.add }, syscall.ENOSPC},
		{"no support for events", func(f *faults) *atomic.Pointer[error] { return &f.add }, syscall.ENOSYS},
		{"limit of open files", func(f *faults) *atomic.Pointer[error] { return &f.open }, syscall.EMFILE},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var f faults
			fault := tt.fault(&f)
			fault.Store(&tt.err)
			path := filepath.Join(t.TempDir(), "a", "f")
			w := start(t, Options{NewBackend: f.new, Poll: 20 * time.Millisecond}, path)
			if b := receive(t, w); b.Note != NotePolling || !b.NoteChanged || len(b.Paths) != 0 {
				t.Fatalf("first batch %+v, want the note alone", b)
			}
			mkdir(t, filepath.Dir(path))
			write(t, path, "1")
			if b := receive(t, w); b.Note != NotePolling || b.NoteChanged || !slices.Equal(b.Paths, []string{path}) {
				t.Fatalf("batch %+v, want the path, and the note as before", b)
			}
			fault.Store(nil)
			for {
				// The file just written may be reported twice: its mtime is young.
				if b := receive(t, w); b.NoteChanged {
					if b.Note != "" {
						t.Fatalf("batch %+v, want no note", b)
					}
					break
				}
			}
			write(t, path, "22")
			expect(t, w, path)
		})
	}
}

// A folder under two names, as by a bind mount, gives its events to one of them.
func TestFolderWhoseWatchIsNotItsOwnIsPolledQuietly(t *testing.T) {
	t.Parallel()
	f := filepath.Join(t.TempDir(), "f")
	var faults faults
	faults.deaf.Store(true)
	faults.unlisted.Store(true)
	w := start(t, Options{NewBackend: faults.new, Poll: 20 * time.Millisecond}, f)
	write(t, f, "1")
	if b := receive(t, w); b.Note != "" || !slices.Equal(b.Paths, []string{f}) {
		t.Errorf("batch %+v, want the path without a note", b)
	}
}

func TestNoteOfForcedPolling(t *testing.T) {
	t.Parallel()
	w := start(t, Options{ForcePolling: true})
	if b := receive(t, w); b.Note != NotePolling || !b.NoteChanged {
		t.Errorf("batch %+v, want the note", b)
	}
}

func TestOverflowLooksAtEverything(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	f, g, h := filepath.Join(dir, "f"), filepath.Join(dir, "a", "g"), filepath.Join(dir, "h")
	write(t, h, "1")
	var faults faults
	w := start(t, Options{NewBackend: faults.new}, f, g, h)
	faults.deaf.Store(true)
	write(t, f, "1")
	mkdir(t, filepath.Dir(g))
	write(t, g, "1")
	faults.backend.Load().errs <- fsnotify.ErrEventOverflow
	// h may be reported for its young mtime: it could have changed unseen.
	missing := []string{f, g}
	for len(missing) > 0 {
		b := receive(t, w)
		missing = slices.DeleteFunc(missing, func(p string) bool { return slices.Contains(b.Paths, p) })
	}
	faults.deaf.Store(false)
	write(t, g, "22")
	expect(t, w, g) // the watch has moved down
}

func TestBackendThatDiesIsReplaced(t *testing.T) {
	t.Parallel()
	f := filepath.Join(t.TempDir(), "f")
	var faults faults
	w := start(t, Options{NewBackend: faults.new, Poll: 20 * time.Millisecond}, f)
	first := faults.backend.Load()
	close(first.stop)
	for faults.backend.Load() == first {
		time.Sleep(time.Millisecond)
	}
	write(t, f, "1")
	expect(t, w, f)
}

func TestInboxIsBounded(t *testing.T) {
	t.Parallel()
	in := &inbox{wake: make(chan struct{}, 1), events: map[string]fsnotify.Op{}, done: make(chan struct{})}
	events, errs := make(chan fsnotify.Event), make(chan error)
	go in.pump(events, errs)
	for i := range 3 * inboxLimit {
		events <- fsnotify.Event{Name: fmt.Sprint(i), Op: fsnotify.Write}
	}
	close(events)
	close(errs)
	<-in.done
	got, lookAll, dead := in.take()
	if len(got) > inboxLimit || !lookAll || !dead {
		t.Errorf("%d names, look at all %v, dead %v", len(got), lookAll, dead)
	}
}

func TestBurst(t *testing.T) {
	t.Parallel()
	const quiet, longest = 50 * time.Millisecond, 250 * time.Millisecond
	at := func(ms int) time.Time { return time.Unix(100, 0).Add(time.Duration(ms) * time.Millisecond) }
	tests := []struct{ events, due []int }{
		{[]int{0}, []int{50}},
		{[]int{0, 30, 60}, []int{50, 80, 110}},
		{[]int{0, 40, 80, 120, 160, 199, 201, 240}, []int{50, 90, 130, 170, 210, 249, 250, 250}},
	}
	for _, tt := range tests {
		var b burst
		if b.running() {
			t.Error("runs before the first event")
		}
		for i, e := range tt.events {
			b.add(at(e))
			if got := b.due(quiet, longest); !got.Equal(at(tt.due[i])) {
				t.Errorf("events %v: due at %v, want %v", tt.events[:i+1], got.Sub(at(0)), tt.due[i])
			}
		}
	}
}

func TestSplit(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("paths of Unix")
	}
	tests := []struct{ path, root, names string }{
		{"/", "/", ""},
		{"/a/b", "/", "a b"},
		{"//a/./b//c/", "/", "a b c"},
		{"../a", "", ".. a"},
		{"/a/../b", "/", "a .. b"},
		{".", "", ""},
		{"/é/ü", "/", "é ü"},
	}
	for _, tt := range tests {
		if root, names := split(tt.path); root != tt.root || strings.Join(names, " ") != tt.names {
			t.Errorf("split(%q) = %q, %q; want %q, %q", tt.path, root, names, tt.root, tt.names)
		}
	}
}
