package loaders_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"fusebox/loaders"
	"fusebox/loaders/jsonc"
	"fusebox/model"
)

// bench is a folder with made-up harnesses that read NAME.json, and a clock that is turned by hand.
type bench struct {
	t        *testing.T
	dir      string
	now      time.Time
	resolves map[model.HarnessID]int
	loader   *loaders.Loader
}

// newBench makes harnesses, each of which reads the files of these names in the folder: an object of names and commands.
func newBench(t *testing.T, harnesses map[model.HarnessID][]string) *bench {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{t: t, dir: dir, now: time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC), resolves: map[model.HarnessID]int{}}
	var all []loaders.Harness
	for id, files := range harnesses {
		all = append(all, loaders.Harness{Harness: model.Harness{ID: id, Title: string(id)}, Resolve: func(_ *loaders.Env, r *loaders.Reader) loaders.Result {
			b.resolves[id]++
			var res loaders.Result
			for _, name := range files {
				f := r.ReadJSON(b.path(name), model.ScopeUser, 0, jsonc.Options{})
				for _, m := range f.Root().Members() {
					if m.Key == "panic" {
						panic("a fault in the rules")
					}
					command, _ := m.Value.Str()
					res.Cells = append(res.Cells, &model.Cell{Decision: model.DecisionLoads, Entry: model.Entry{Name: m.Key, Source: f.Member(m.Key, m),
						Definition: &model.Definition{Transport: model.TransportStdio, Command: command}}})
				}
			}
			return res
		}})
	}
	slices.SortFunc(all, func(a, b loaders.Harness) int { return strings.Compare(string(a.ID), string(b.ID)) })
	b.loader = loaders.NewLoader(&loaders.Env{Home: dir, Project: dir, GOOS: "linux", Now: func() time.Time { return b.now }}, all)
	return b
}

func (b *bench) path(name string) string { return filepath.Join(b.dir, name+".json") }

func (b *bench) write(name, text string) {
	b.t.Helper()
	if err := os.WriteFile(b.path(name), []byte(text), 0o600); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) remove(name string) {
	b.t.Helper()
	if err := os.Remove(b.path(name)); err != nil {
		b.t.Fatal(err)
	}
}

// reload tells the loader that a file changed, some time after the last step.
func (b *bench) reload(later time.Duration, names ...string) (*model.Snapshot, []string) {
	b.now = b.now.Add(later)
	paths := make([]string, len(names))
	for i, n := range names {
		paths[i] = b.path(n)
	}
	return b.loader.Reload(paths)
}

// shown writes a column: its servers with commands, and what is wrong.
func shown(s *model.Snapshot, id model.HarnessID) string {
	col := s.Column(id)
	var out []string
	for _, c := range col.Cells {
		text := c.Name
		if c.Definition != nil {
			text += "=" + c.Definition.Command
		}
		if c.Overlays&model.OverlayStale != 0 {
			text += "~"
		}
		out = append(out, text)
	}
	for _, f := range col.Files {
		if f.Status != model.FileRead {
			out = append(out, filepath.Base(f.Path)+" "+string(f.Status))
		}
	}
	if col.Stale {
		out = append(out, "stale")
	}
	if col.Broken != nil {
		out = append(out, "broken")
	}
	return strings.Join(out, " ")
}

func (b *bench) expect(s *model.Snapshot, id model.HarnessID, want string) {
	b.t.Helper()
	if got := shown(s, id); got != want {
		b.t.Errorf("%s shows %q, want %q", id, got, want)
	}
}

func TestReloadFollowsAFile(t *testing.T) {
	t.Parallel()
	b := newBench(t, map[model.HarnessID][]string{"one": {"a"}, "two": {"b"}})
	b.write("a", `{"x": "1"}`)
	first := b.loader.Load()
	b.expect(first, "one", "x=1")
	b.expect(first, "two", "b.json absent")
	if first.Generation != 1 {
		t.Errorf("the first generation is %d", first.Generation)
	}

	b.write("a", `{"x": "2", "y": "3"}`)
	second, again := b.reload(time.Second, "a")
	b.expect(second, "one", "x=2 y=3")
	if second.Generation != 2 || len(again) != 0 {
		t.Errorf("generation %d, look again at %q", second.Generation, again)
	}
	if b.resolves["one"] != 2 || b.resolves["two"] != 1 {
		t.Errorf("resolved %v: only the harness that reads the file is", b.resolves)
	}
	if second.Column("two") != first.Column("two") {
		t.Error("a column that nothing changed in was made anew")
	}
	if shown(first, "one") != "x=1" {
		t.Error("the old snapshot was changed")
	}

	b.write("b", `{"z": "9"}`) // appears
	third, again := b.reload(time.Second, "b")
	b.expect(third, "two", "z=9")
	if len(again) != 0 {
		t.Errorf("look again at %q", again)
	}
}

func TestReloadWithoutAChangeKeepsTheSnapshot(t *testing.T) {
	t.Parallel()
	b := newBench(t, map[model.HarnessID][]string{"one": {"a"}})
	b.write("a", `{"x": "1"}`)
	first := b.loader.Load()
	for name, change := range map[string]func(){
		"nothing":           func() {},
		"the same bytes":    func() { b.write("a", `{"x": "1"}`) },
		"other white space": func() { b.write("a", `{ "x":"1" }`) },
		"another inode": func() {
			if err := os.WriteFile(b.path("new"), []byte(`{"x": "1"}`), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := os.Rename(b.path("new"), b.path("a")); err != nil {
				t.Fatal(err)
			}
		},
	} {
		change()
		if got, again := b.reload(time.Second, "a"); got != first || len(again) != 0 {
			t.Errorf("%s: another snapshot, generation %d, look again at %q", name, got.Generation, again)
		}
	}
	if got, again := b.reload(time.Second, "nobody-reads-this"); got != first || len(again) != 0 {
		t.Error("a path that nobody reads made another snapshot")
	}
}

// TestReloadGivesAnEditorTimeToFinish breaks a good file: for SettleTime the old answer stands, then it is marked stale, and
// the mended file counts at once.
func TestReloadGivesAnEditorTimeToFinish(t *testing.T) {
	t.Parallel()
	for name, broken := range map[string]string{"half": `{"x": `, "empty": ``} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, map[model.HarnessID][]string{"one": {"a"}, "two": {"b"}})
			b.write("a", `{"x": "1"}`)
			b.write("b", `{"z": "9"}`)
			first := b.loader.Load()

			b.write("a", broken)
			for _, later := range []time.Duration{time.Minute, loaders.SettleTime / 2, loaders.SettleTime/2 - 1} {
				got, again := b.reload(later, "a")
				if got != first || !slices.Equal(again, []string{b.path("a")}) {
					t.Fatalf("while it settles: generation %d, look again at %q", got.Generation, again)
				}
			}
			got, again := b.reload(1, "a")
			b.expect(got, "one", "x=1~ a.json malformed stale")
			b.expect(got, "two", "z=9")
			if len(again) != 0 || !got.Column("one").StaleAt.Equal(b.now) {
				t.Errorf("look again at %q, stale since %s", again, got.Column("one").StaleAt)
			}
			since := b.now
			b.write("a", broken+" ")
			got, _ = b.reload(time.Hour, "a")
			b.expect(got, "one", "x=1~ a.json malformed stale")
			if !got.Column("one").StaleAt.Equal(since) {
				t.Error("it is stale since the second fault, not since the first")
			}

			b.write("a", `{"x": "1", "y": "2"}`)
			got, again = b.reload(time.Second, "a")
			b.expect(got, "one", "x=1 y=2")
			if len(again) != 0 {
				t.Errorf("mended, but look again at %q", again)
			}
		})
	}
}

func TestReloadForgetsAFaultThatWasMendedInTime(t *testing.T) {
	t.Parallel()
	b := newBench(t, map[model.HarnessID][]string{"one": {"a"}})
	b.write("a", `{"x": "1"}`)
	first := b.loader.Load()
	for range 3 { // each time the clock of the fault starts anew
		b.write("a", `{`)
		if got, again := b.reload(time.Hour, "a"); got != first || len(again) != 1 {
			t.Fatalf("half written: generation %d, look again at %q", got.Generation, again)
		}
		b.write("a", `{"x": "1"}`)
		if got, again := b.reload(loaders.SettleTime/2, "a"); got != first || len(again) != 0 {
			t.Fatalf("written: generation %d, look again at %q", got.Generation, again)
		}
	}
}

// TestReloadOfADeletedFile waits likewise, because many programs replace a file in two steps, and then has nothing.
func TestReloadOfADeletedFile(t *testing.T) {
	t.Parallel()
	b := newBench(t, map[model.HarnessID][]string{"one": {"a"}})
	b.write("a", `{"x": "1"}`)
	first := b.loader.Load()
	b.remove("a")
	if got, again := b.reload(time.Second, "a"); got != first || !slices.Equal(again, []string{b.path("a")}) {
		t.Fatalf("just deleted: generation %d, look again at %q", got.Generation, again)
	}
	got, again := b.reload(loaders.SettleTime, "a")
	b.expect(got, "one", "a.json absent")
	if len(again) != 0 {
		t.Errorf("look again at %q", again)
	}
	b.write("a", `{"x": "2"}`)
	got, _ = b.reload(time.Second, "a")
	b.expect(got, "one", "x=2")
}

// TestReloadOfANewFile: whoever makes a file opens it before the first byte is in it, and writes it in several steps.
func TestReloadOfANewFile(t *testing.T) {
	t.Parallel()
	b := newBench(t, map[model.HarnessID][]string{"one": {"a"}})
	first := b.loader.Load()
	for _, half := range []string{``, `{"x": `} {
		b.write("a", half)
		if got, again := b.reload(loaders.SettleTime/3, "a"); got != first || !slices.Equal(again, []string{b.path("a")}) {
			t.Fatalf("with %q in it: generation %d, look again at %q", half, got.Generation, again)
		}
	}
	b.write("a", `{"x": "1"}`)
	got, again := b.reload(loaders.SettleTime/3, "a")
	b.expect(got, "one", "x=1")
	if got.Generation != first.Generation+1 || len(again) != 0 {
		t.Errorf("written: generation %d, look again at %q", got.Generation, again)
	}

	b.remove("a")
	b.reload(time.Second, "a")
	b.reload(loaders.SettleTime, "a")
	b.write("a", ``)
	b.reload(time.Second, "a")
	got, again = b.reload(loaders.SettleTime, "a")
	b.expect(got, "one", "a.json malformed")
	if len(again) != 0 {
		t.Errorf("it stays empty, but look again at %q", again)
	}
}

func TestReloadKeepsTheOtherFilesOfAHarness(t *testing.T) {
	t.Parallel()
	b := newBench(t, map[model.HarnessID][]string{"one": {"a", "b"}})
	b.write("a", `{"x": "1"}`)
	b.write("b", `{"y": "1"}`)
	b.loader.Load()
	b.write("a", `{`)
	b.reload(0, "a")
	got, _ := b.reload(loaders.SettleTime, "a")
	b.expect(got, "one", "x=1~ y=1 a.json malformed stale")
	b.write("b", `{"y": "2"}`)
	got, _ = b.reload(time.Second, "b")
	b.expect(got, "one", "x=1~ y=2 a.json malformed stale")
}

// TestAFileThatNeverWasGoodIsBrokenAtOnce: there is no answer to keep.
func TestAFileThatNeverWasGoodIsBrokenAtOnce(t *testing.T) {
	t.Parallel()
	b := newBench(t, map[model.HarnessID][]string{"one": {"a"}})
	b.write("a", `{`)
	b.expect(b.loader.Load(), "one", "a.json malformed")
	b.write("a", `{"x"`)
	got, again := b.reload(time.Second, "a")
	b.expect(got, "one", "a.json malformed")
	if len(again) != 0 {
		t.Errorf("look again at %q", again)
	}
	b.write("a", `{"x": "1"}`)
	got, _ = b.reload(time.Second, "a")
	b.expect(got, "one", "x=1")
}

func TestRereadBelievesAtOnce(t *testing.T) {
	t.Parallel()
	b := newBench(t, map[model.HarnessID][]string{"one": {"a"}, "two": {"b"}})
	b.write("a", `{"x": "1"}`)
	b.write("b", `{"y": "1"}`)
	b.loader.Load()
	b.write("a", `{`)
	b.write("b", `{"y": "2"}`)
	got := b.loader.Reread("one")
	b.expect(got, "one", "x=1~ a.json malformed stale")
	b.expect(got, "two", "y=1")
	got = b.loader.Reread()
	b.expect(got, "two", "y=2")
	b.expect(b.loader.Load(), "one", "a.json malformed")
}

// TestAFaultInOneHarnessHidesNoOther lets a resolve panic.
func TestAFaultInOneHarnessHidesNoOther(t *testing.T) {
	t.Parallel()
	b := newBench(t, map[model.HarnessID][]string{"one": {"a"}, "two": {"b"}})
	b.write("a", `{"panic": "1"}`)
	b.write("b", `{"y": "1"}`)
	s := b.loader.Load()
	b.expect(s, "one", "broken")
	b.expect(s, "two", "y=1")
	b.write("a", `{"x": "1"}`)
	s, _ = b.reload(time.Second, "a")
	b.expect(s, "one", "x=1")
}

func TestPathsToWatch(t *testing.T) {
	t.Parallel()
	b := newBench(t, map[model.HarnessID][]string{"one": {"a", "b"}, "two": {"b", "c"}})
	if got, again := b.loader.Reload(nil); got != nil || again != nil {
		t.Error("a reload before the first load gives something")
	}
	b.loader.Load()
	if got, want := b.loader.Paths(), []string{b.path("a"), b.path("b"), b.path("c")}; !slices.Equal(got, want) {
		t.Errorf("watch %q, want %q", got, want)
	}
}
