package state

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"fusebox/loaders/rewrite"
)

func put(t *testing.T, path, text string) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func holds(t *testing.T, path, want string) {
	t.Helper()
	if got, err := os.ReadFile(path); err != nil || string(got) != want {
		t.Errorf("%s holds %q, %v, want %q", filepath.Base(path), got, err, want)
	}
}

func gone(t *testing.T, path string) {
	t.Helper()
	if _, err := os.Lstat(path); !os.IsNotExist(err) {
		t.Errorf("%s is still there: %v", path, err)
	}
}

func write(t *testing.T, path, text string) *rewrite.Result {
	t.Helper()
	planned, err := rewrite.Read(path)
	if err != nil {
		t.Fatal(err)
	}
	r, err := rewrite.Replace(planned, []byte(text), rewrite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func record(t *testing.T, u *Undo, what string, results ...*rewrite.Result) *Step {
	t.Helper()
	step, err := u.Record(what, results)
	if err != nil || step == nil {
		t.Fatal(step, err)
	}
	return step
}

// scene is a store and a folder with files, without symbolic links in their paths.
func scene(t *testing.T) (u *Undo, dir string) {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return OpenUndo(filepath.Join(dir, "state", "fusebox", "undo")), dir
}

func TestUndo(t *testing.T) {
	t.Parallel()
	u, dir := scene(t)
	if last, err := u.Last(); last != nil || err != nil {
		t.Error(last, err)
	}
	if steps, err := u.List(); steps != nil || err != nil {
		t.Error(steps, err)
	}
	gone(t, u.dir) // made when it is needed

	a, b, c := put(t, filepath.Join(dir, "a"), "old a"), put(t, filepath.Join(dir, "b"), ""), filepath.Join(dir, "new", "c")
	first := record(t, u, "playwright switched off in Codex", write(t, a, "new a"), write(t, b, "new b"), write(t, c, "new c"))
	second := record(t, u, "github approved in Claude Code", write(t, a, "newer a"))
	steps, err := u.List()
	if err != nil || len(steps) != 2 || steps[0].ID != second.ID || steps[1].ID != first.ID {
		t.Fatal(steps, err)
	}
	if s := steps[1]; s.What != "playwright switched off in Codex" || len(s.Files) != 3 || s.Undone || s.At.IsZero() || s.At.Location() != time.UTC ||
		s.Files[0].Path != a || !s.Files[0].Existed || s.Files[2].Existed || s.Files[0].Before != rewrite.Sum([]byte("old a")) || s.Files[0].After != rewrite.Sum([]byte("new a")) {
		t.Errorf("step %+v", s)
	}
	holds(t, steps[1].Files[0].Saved, "old a")

	if _, err := u.Revert(first); !errors.Is(err, ErrConflict) {
		t.Errorf("an older step first: %v", err)
	}
	last, err := u.Last()
	if err != nil || last.ID != second.ID {
		t.Fatal(last, err)
	}
	if _, err := u.Revert(last); err != nil || !last.Undone {
		t.Fatal(err)
	}
	holds(t, a, "new a")
	if _, err := u.Revert(last); !errors.Is(err, ErrUndone) {
		t.Errorf("twice: %v", err)
	}
	if last, err = u.Last(); err != nil || last.ID != first.ID {
		t.Fatal(last, err)
	}
	done, err := u.Revert(last)
	if err != nil || len(done) != 3 || !done[0].Removed || done[0].Path != c || done[2].Removed || done[2].Already {
		t.Fatalf("%+v, %v", done, err)
	}
	holds(t, a, "old a")
	holds(t, b, "")
	gone(t, c)
	if last, err = u.Last(); last != nil || err != nil {
		t.Error(last, err)
	}
	if steps, err = u.List(); err != nil || len(steps) != 2 || !steps[0].Undone || !steps[1].Undone {
		t.Error(steps, err)
	}
	if notes, err := u.Notes(); notes != nil || err != nil {
		t.Error(notes, err)
	}
}

func TestUndoIsPrivate(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("no permission bits")
	}
	u, dir := scene(t)
	if err := os.MkdirAll(u.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	a := put(t, filepath.Join(dir, "a"), "token hunter2-hunter2")
	step := record(t, u, "what", write(t, a, "token hunter3-hunter3"))
	if _, err := u.Revert(step); err != nil {
		t.Fatal(err)
	}
	seen := 0
	err := filepath.WalkDir(u.dir, func(path string, e os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := e.Info()
		want := os.FileMode(0o600)
		if e.IsDir() {
			want = 0o700
		}
		if seen++; info.Mode().Perm() != want {
			t.Errorf("%s has mode %v", path, info.Mode())
		}
		return err
	})
	if err != nil || seen != 5 {
		t.Error(seen, err)
	}
	text, _ := json.Marshal(step)
	if all := fmt.Sprintf("%+v %#v %s", step, step, text); strings.Contains(all, "hunter") {
		t.Errorf("content is printed: %s", all)
	}
}

func TestConflicts(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		change func(t *testing.T, a, c string)
		reason string
	}{
		"changed":         {func(t *testing.T, a, _ string) { put(t, a, "foreign") }, "changed since"},
		"removed":         {func(t *testing.T, a, _ string) { _ = os.Remove(a) }, "removed since"},
		"new one changed": {func(t *testing.T, _, c string) { put(t, c, "foreign") }, "changed since"},
		"a folder":        {func(t *testing.T, a, _ string) { _ = os.Remove(a); _ = os.Mkdir(a, 0o700) }, "not a regular file"},
		"a link elsewhere": {func(t *testing.T, a, _ string) {
			if os.Rename(a, a+".moved") != nil || os.Symlink("a.moved", a) != nil {
				t.Skip("no symbolic links")
			}
		}, "leads to another file"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			u, dir := scene(t)
			a, b, c := put(t, filepath.Join(dir, "a"), "old a"), put(t, filepath.Join(dir, "b"), "old b"), filepath.Join(dir, "c")
			step := record(t, u, "what", write(t, b, "new b"), write(t, a, "new a"), write(t, c, "new c"))
			test.change(t, a, c)
			before, _ := os.ReadFile(c)
			_, err := u.Revert(step)
			var conflict *ConflictError
			if !errors.Is(err, ErrConflict) || !errors.As(err, &conflict) || len(conflict.Conflicts) != 1 || !strings.Contains(err.Error(), test.reason) {
				t.Fatalf("error %v", err)
			}
			file := a
			if name == "new one changed" {
				file = c
			} else if saved := step.Files[1].Saved; !strings.Contains(err.Error(), saved) {
				t.Errorf("%s is not named: %v", saved, err)
			}
			if conflict.Conflicts[0].Path != file || !strings.Contains(err.Error(), file) {
				t.Errorf("%s is not named: %v", file, err)
			}
			holds(t, b, "new b")
			holds(t, c, string(before))
			if last, err := u.Last(); err != nil || last == nil || last.ID != step.ID {
				t.Error("the step counts as taken back")
			}
		})
	}
}

func TestUndoOfWhatIsAsBeforeAlready(t *testing.T) {
	t.Parallel()
	u, dir := scene(t)
	a, c := put(t, filepath.Join(dir, "a"), "old a"), filepath.Join(dir, "c")
	step := record(t, u, "what", write(t, a, "new a"), write(t, c, "new c"))
	put(t, a, "old a")
	_ = os.Remove(c)
	done, err := u.Revert(step)
	if err != nil || len(done) != 2 || !done[0].Already || !done[1].Already {
		t.Errorf("%+v, %v", done, err)
	}
	holds(t, a, "old a")
}

// TestUndoThatFailsMidway makes the second file impossible to write after all files were found right.
func TestUndoThatFailsMidway(t *testing.T) {
	t.Parallel()
	u, dir := scene(t)
	a := put(t, filepath.Join(dir, "sub", "a"), "old a")
	b, c := put(t, filepath.Join(dir, "b"), "old b"), filepath.Join(dir, "c")
	step := record(t, u, "what", write(t, a, "new a"), write(t, b, "new b"), write(t, c, "new c"))
	if err := os.Link(a, a+".link"); err != nil {
		t.Skip("no hard links")
	}
	if _, err := u.Revert(step); !errors.Is(err, rewrite.ErrHardLink) {
		t.Fatalf("error %v", err)
	}
	holds(t, a, "new a")
	holds(t, b, "new b")
	holds(t, c, "new c")
	if info, _ := os.Stat(c); runtime.GOOS != "windows" && info.Mode() != 0o600 {
		t.Errorf("mode %v", info.Mode())
	}
	if last, err := u.Last(); err != nil || last == nil {
		t.Error("the step counts as taken back")
	}
	_ = os.Remove(a + ".link")
	if _, err := u.Revert(step); err != nil {
		t.Fatal(err)
	}
	holds(t, a, "old a")
	holds(t, b, "old b")
	gone(t, c)
}

func TestSeveralWritesToOneFileAreOne(t *testing.T) {
	t.Parallel()
	u, dir := scene(t)
	a, c := put(t, filepath.Join(dir, "a"), "1"), filepath.Join(dir, "c")
	step := record(t, u, "what", write(t, a, "2"), write(t, c, "x"), nil, write(t, a, "3"), write(t, c, "y"))
	if len(step.Files) != 2 {
		t.Fatalf("%+v", step.Files)
	}
	if _, err := u.Revert(step); err != nil {
		t.Fatal(err)
	}
	holds(t, a, "1")
	gone(t, c)
}

func TestNothingToRecord(t *testing.T) {
	t.Parallel()
	u, dir := scene(t)
	a := put(t, filepath.Join(dir, "a"), "1")
	step, err := u.Record("what", []*rewrite.Result{nil, write(t, a, "1")})
	if step != nil || err != nil {
		t.Error(step, err)
	}
	gone(t, u.dir)
}

func TestOnlyTheLastStepsAreKept(t *testing.T) {
	t.Parallel()
	u, dir := scene(t)
	a := put(t, filepath.Join(dir, "a"), "0")
	foreign := put(t, filepath.Join(u.dir, "20200101T000000.000000000Z-note.txt"), "mine")
	for i := range MaxSteps + 3 {
		record(t, u, fmt.Sprint("step ", i), write(t, a, fmt.Sprint(i+1)))
	}
	steps, err := u.List()
	if err != nil || len(steps) != MaxSteps || steps[0].What != fmt.Sprint("step ", MaxSteps+2) || steps[MaxSteps-1].What != "step 3" {
		t.Fatal(len(steps), err)
	}
	entries, _ := os.ReadDir(u.dir)
	if len(entries) != MaxSteps+1 {
		t.Errorf("%d entries", len(entries))
	}
	holds(t, foreign, "mine")
	for range 3 {
		last, err := u.Last()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := u.Revert(last); err != nil {
			t.Fatal(err)
		}
	}
	holds(t, a, fmt.Sprint(MaxSteps))
}

func TestStepsKeepTheirOrderWhenTheClockGoesBack(t *testing.T) {
	t.Parallel()
	u, dir := scene(t)
	a := put(t, filepath.Join(dir, "a"), "0")
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.FixedZone("", 3600))
	for i, back := range []time.Duration{0, time.Hour, time.Hour, 0} {
		u.clock = func() time.Time { return now.Add(-back) }
		record(t, u, fmt.Sprint(i), write(t, a, fmt.Sprint(i+1)))
	}
	steps, err := u.List()
	if err != nil || len(steps) != 4 {
		t.Fatal(steps, err)
	}
	for i, s := range steps {
		if s.What != fmt.Sprint(3-i) {
			t.Errorf("%d is step %s", i, s.What)
		}
	}
}

func TestForeignAndDamagedEntries(t *testing.T) {
	t.Parallel()
	u, dir := scene(t)
	a := put(t, filepath.Join(dir, "a"), "old")
	good := record(t, u, "good", write(t, a, "new"))
	in := func(parts ...string) string { return filepath.Join(append([]string{u.dir}, parts...)...) }
	const at = "20991231T235959.00000000%dZ-0123abcd"
	name := func(n int) string { return fmt.Sprintf(at, n) }
	put(t, in("notes.txt"), "mine")
	put(t, in(name(0)), "a file with the name of a step")
	put(t, in("folder", "x"), "mine")
	_ = os.MkdirAll(in(name(1)), 0o700)
	put(t, in(name(2), stepFile), "{")
	put(t, in(name(3), stepFile), `[1, "token hunter2"]`)
	put(t, in(name(4), stepFile), `{"version": 2, "files": []}`)
	put(t, in(name(5), stepFile), `{"version": 1, "what": "x", "files": []}`)
	put(t, in(name(6), stepFile), `{"version": 1, "files": [{"path": "/x", "real": "/x", "existed": true, "before": "1", "after": "2", "saved": "../../a"}]}`)
	put(t, in(name(7), stepFile), `{"version": 1, "files": [{"path": "/x", "real": "x", "existed": false, "after": "2"}]}`)
	_ = os.MkdirAll(in(name(8), stepFile), 0o700)
	put(t, in(partPrefix+name(9), stepFile), "{")
	if os.Symlink(dir, in(name(9))) != nil {
		put(t, in(name(9)), "")
	}
	steps, err := u.List()
	if err != nil || len(steps) != 1 || steps[0].ID != good.ID {
		t.Errorf("%+v, %v", steps, err)
	}
	notes, err := u.Notes()
	if err != nil || len(notes) != 12 {
		t.Errorf("%d notes: %q, %v", len(notes), notes, err)
	}
	if all := strings.Join(notes, "\n"); strings.Contains(all, "hunter2") || !strings.Contains(all, "newer fusebox") {
		t.Error(all)
	}
	last, err := u.Last()
	if err != nil || last == nil || last.ID != good.ID {
		t.Fatal(last, err)
	}
	if _, err := u.Revert(&Step{ID: name(6)}); err == nil {
		t.Error("a damaged step was taken back")
	}
	if _, err := u.Revert(last); err != nil {
		t.Error(err)
	}
	holds(t, a, "old")
}

func TestDamagedOldText(t *testing.T) {
	t.Parallel()
	for _, damage := range []func(saved string) error{os.Remove, func(saved string) error { return os.WriteFile(saved, []byte("x"), 0o600) }} {
		u, dir := scene(t)
		a := put(t, filepath.Join(dir, "a"), "old")
		step := record(t, u, "what", write(t, a, "new"))
		if err := damage(step.Files[0].Saved); err != nil {
			t.Fatal(err)
		}
		if _, err := u.Revert(step); !errors.Is(err, ErrConflict) || !strings.Contains(err.Error(), "damaged") {
			t.Errorf("error %v", err)
		}
		holds(t, a, "new")
	}
}

func TestOldPartsGo(t *testing.T) {
	t.Parallel()
	u, dir := scene(t)
	part := put(t, filepath.Join(u.dir, partPrefix+"x", stepFile), "{")
	a := put(t, filepath.Join(dir, "a"), "old")
	record(t, u, "what", write(t, a, "new"))
	if _, err := os.Stat(part); err != nil {
		t.Errorf("a young part is gone: %v", err)
	}
	u.clock = func() time.Time { return time.Now().Add(2 * partAge) }
	record(t, u, "what", write(t, a, "newer"))
	gone(t, filepath.Dir(part))
}

func TestStoreThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	_, dir := scene(t)
	a := put(t, filepath.Join(dir, "a"), "old")
	u := OpenUndo(filepath.Join(put(t, filepath.Join(dir, "file"), ""), "undo"))
	if step, err := u.Record("what", []*rewrite.Result{write(t, a, "new")}); err == nil || step != nil {
		t.Error("no error")
	}
	u = OpenUndo(put(t, filepath.Join(dir, "file"), ""))
	if _, err := u.List(); err == nil {
		t.Error("no error")
	}
}

func TestStoresAreShared(t *testing.T) {
	t.Parallel()
	u, dir := scene(t)
	var all sync.WaitGroup
	for i := range 6 {
		all.Go(func() {
			mine := OpenUndo(u.dir)
			a := put(t, filepath.Join(dir, fmt.Sprint(i)), "old")
			for n := range 12 {
				if step := record(t, mine, fmt.Sprint(i), write(t, a, fmt.Sprint(n))); len(step.Files) != 1 {
					t.Error(step)
				}
				if _, err := mine.List(); err != nil {
					t.Error(err)
				}
				if notes, err := mine.Notes(); err != nil || notes != nil {
					t.Error(notes, err)
				}
			}
		})
	}
	all.Wait()
	if steps, err := u.List(); err != nil || len(steps) != MaxSteps {
		t.Error(len(steps), err)
	}
}

func TestUndoTakesTheLockOfTheHarness(t *testing.T) {
	t.Parallel()
	u, dir := scene(t)
	a := put(t, filepath.Join(dir, "a"), "old")
	planned, err := rewrite.Read(a)
	if err != nil {
		t.Fatal(err)
	}
	r, err := rewrite.Replace(planned, []byte("new"), rewrite.Options{Lock: a + ".lock"})
	if err != nil {
		t.Fatal(err)
	}
	step := record(t, u, "what", r)
	_ = os.Mkdir(a+".lock", 0o700)
	meanwhile := make(chan string, 1)
	time.AfterFunc(150*time.Millisecond, func() {
		text, _ := os.ReadFile(a)
		meanwhile <- string(text)
		_ = os.Remove(a + ".lock")
	})
	if _, err := u.Revert(step); err != nil {
		t.Fatal(err)
	}
	if text := <-meanwhile; text != "new" {
		t.Errorf("did not wait for the lock: %q", text)
	}
	holds(t, a, "old")
	gone(t, a+".lock")
}
