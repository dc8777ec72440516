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

// shelf is a folder and a cache to read it through.
type shelf struct {
	t     *testing.T
	dir   string
	cache *loaders.Cache
}

func newShelf(t *testing.T) *shelf {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return &shelf{t, dir, loaders.NewCache()}
}

func (s *shelf) reader() *loaders.Reader {
	return loaders.NewReader(&loaders.Env{Home: s.dir, Project: s.dir, GOOS: "linux"}, s.cache)
}

func (s *shelf) path(name string) string { return filepath.Join(s.dir, filepath.FromSlash(name)) }

func (s *shelf) write(name, text string) string {
	s.t.Helper()
	if err := os.MkdirAll(filepath.Dir(s.path(name)), 0o700); err != nil {
		s.t.Fatal(err)
	}
	if err := os.WriteFile(s.path(name), []byte(text), 0o600); err != nil {
		s.t.Fatal(err)
	}
	return s.path(name)
}

func TestRead(t *testing.T) {
	t.Parallel()
	s := newShelf(t)
	s.write("file", "text")
	s.write("full", strings.Repeat("x", 100))
	s.write("folder/x", "")
	r := s.reader()
	for _, test := range []struct {
		name   string
		limit  int64
		status model.FileStatus
		note   string
	}{
		{"file", 0, model.FileRead, ""},
		{"full", 100, model.FileRead, ""},
		{"none", 0, model.FileAbsent, ""},
		{"none/below", 0, model.FileAbsent, ""},
		{"file/below", 0, model.FileAbsent, ""},
		{"folder", 0, model.FileRefused, "a folder, not a file"},
	} {
		f := r.Read(s.path(test.name), model.ScopeUser, test.limit)
		if f.Status != test.status || f.Note != test.note || f.OK() != (test.status == model.FileRead) || f.Exists() == (test.status == model.FileAbsent) {
			t.Errorf("%s: %s, %q", test.name, f.Status, f.Note)
		}
	}
	small := s.reader().Read(s.path("full"), model.ScopeUser, 99)
	if small.Status != model.FileRefused || small.Data != nil || !strings.HasPrefix(small.Note, "larger than ") {
		t.Errorf("over the harness's own limit: %s, %q", small.Status, small.Note)
	}
	if got := len(r.Files()); got != 6 {
		t.Errorf("%d files are reported", got)
	}
	for _, f := range r.Files() {
		if !slices.Contains(r.Touched(), f.Path) {
			t.Errorf("%s is reported and not watched", f.Path)
		}
	}
}

func TestAFileIsReportedOnce(t *testing.T) {
	t.Parallel()
	s := newShelf(t)
	path := s.write("a.json", `{"x": 1}`)
	r := s.reader()
	first := r.ReadJSON(path, model.ScopeUser, 0, jsonc.Options{})
	again := r.ReadJSON(s.dir+"/./a.json", model.ScopeProject, 0, jsonc.Options{})
	if !again.OK() || again.Scope != model.ScopeUser || !again.Root().Get("x").Exists() || first.JSON != again.JSON {
		t.Errorf("read again: %+v", again)
	}
	r.Ignored(path, model.ScopeProject, "why")
	if got := r.Files(); len(got) != 1 || got[0].Status != model.FileRead {
		t.Errorf("reported %+v", got)
	}
	r.Mark(again, model.FileMalformed, "because")
	if got := r.Files()[0]; got.Status != model.FileMalformed || got.Note != "because" || got.Line != 1 {
		t.Errorf("marked %+v", got)
	}
	r.Drop(first)
	if len(r.Files()) != 0 || !slices.Contains(r.Touched(), path) {
		t.Error("a dropped file is reported, or not watched any more")
	}
}

func TestPeekAndIgnored(t *testing.T) {
	t.Parallel()
	s := newShelf(t)
	there := s.write("there", "x")
	r := s.reader()
	if f := r.Peek(s.path("none"), model.ScopeUser); f.Exists() || len(r.Files()) != 0 {
		t.Error("a missing file is reported by Peek")
	}
	if r.Ignored(s.path("none2"), model.ScopeUser, "why") || !r.Ignored(there, model.ScopeUser, "why") {
		t.Error("Ignored does not tell whether the file is there")
	}
	if got := r.Files(); len(got) != 1 || got[0].Status != model.FileIgnored || got[0].Note != "why" {
		t.Errorf("reported %+v", got)
	}
	for _, p := range []string{"none", "none2", "there"} {
		if !slices.Contains(r.Touched(), s.path(p)) {
			t.Errorf("%s is not watched", p)
		}
	}
}

func TestMalformedFile(t *testing.T) {
	t.Parallel()
	s := newShelf(t)
	path := s.write("a.json", "{\n  \"mcpServers\": {\n    \"one\": {\"command\": \"x\"},\n    \"two\": {\"command\": }\n  }\n}\n")
	r := s.reader()
	f := r.ReadJSON(path, model.ScopeUser, 0, jsonc.Options{})
	report := r.Files()[0]
	if f.Status != model.FileMalformed || f.OK() || report.Line != 4 || report.Column != 24 || f.Location().Line != 4 || !strings.HasPrefix(report.Note, "4:24: ") {
		t.Errorf("reported %+v at %+v", report, f.Location())
	}
	lost := r.Recover(f)
	if !lost.Root().Lookup("mcpServers", "one").Exists() {
		t.Error("the name before the fault is not recovered")
	}
	if f.OK() {
		t.Error("recovering made the file good")
	}
}

func TestText(t *testing.T) {
	t.Parallel()
	r := newShelf(t).reader()
	f := r.Text("SOME_VARIABLE", model.ScopeCustom, `{"a": 1}`)
	r.ParseJSON(f, jsonc.Options{})
	if got := r.Files(); len(got) != 1 || got[0].Path != "$SOME_VARIABLE" || !f.Root().Get("a").Exists() || len(r.Touched()) != 0 {
		t.Errorf("reported %+v, watched %q", got, r.Touched())
	}
}

// TestCacheByIdentity: bytes and parsed forms are kept as long as the file is the same one.
func TestCacheByIdentity(t *testing.T) {
	t.Parallel()
	s := newShelf(t)
	path := s.write("a.json", `{"x": 1}`)
	read := func() *loaders.ConfigFile { return s.reader().ReadJSON(path, model.ScopeUser, 0, jsonc.Options{}) }
	calls := 0
	memo := func(f *loaders.ConfigFile) int { return loaders.Memo(f, "k", func() int { calls++; return calls }) }
	first := read()
	if memo(first) != 1 || memo(read()) != 1 || first.JSON != read().JSON {
		t.Error("an unchanged file is read or parsed again")
	}
	past := time.Now().Add(-time.Hour)
	if err := os.Chtimes(path, past, past); err != nil {
		t.Fatal(err)
	}
	if touched := read(); touched.JSON != first.JSON || memo(touched) != 1 {
		t.Error("the same bytes under another date are parsed again")
	}
	s.cache.Forget([]string{path})
	if forgotten := read(); forgotten.JSON == first.JSON || memo(forgotten) != 2 {
		t.Error("a forgotten file is not read again")
	}
	s.write("a.json", `{"x": 22}`)
	if v, _ := read().Root().Get("x").Number(); v != "22" {
		t.Errorf("a changed file gives %s", v)
	}
	s.write("new.json", `{"x": 33}`)
	if err := os.Rename(s.path("new.json"), path); err != nil {
		t.Fatal(err)
	}
	if v, _ := read().Root().Get("x").Number(); v != "33" {
		t.Errorf("a replaced file gives %s", v)
	}
}

func TestFoldersAndLinks(t *testing.T) {
	skipOnWindows(t)
	t.Parallel()
	s := newShelf(t)
	s.write("real/b", "1")
	s.write("real/a", "2")
	for link, to := range map[string]string{"link": "real", "loop": "loop", "dangling": "nowhere", "file": "real/a"} {
		if err := os.Symlink(to, s.path(link)); err != nil {
			t.Fatal(err)
		}
	}
	r := s.reader()
	if got := r.ReadDir(s.path("link")); !slices.Equal(got, []string{"a", "b"}) {
		t.Errorf("names %q", got)
	}
	for _, p := range []string{"real/a", "none", "loop"} {
		if got := r.ReadDir(s.path(p)); got != nil {
			t.Errorf("%s: names %q", p, got)
		}
	}
	for path, want := range map[string]string{"link/a": "real/a", "real/a": "real/a", "link/none/deep": "real/none/deep", "none": "none"} {
		if got := r.RealPath(s.path(path)); got != s.path(want) {
			t.Errorf("%s is really %s", path, got)
		}
	}
	if !slices.Contains(r.Touched(), s.path("link/a")) {
		t.Error("a link that was followed is not watched")
	}
	if f := r.Read(s.path("file"), model.ScopeUser, 0); string(f.Data) != "2" {
		t.Errorf("through a link: %+v", f)
	}
	if f := r.Read(s.path("dangling"), model.ScopeUser, 0); f.Status != model.FileAbsent {
		t.Errorf("a dangling link is %s", f.Status)
	}
	if f := r.Read(s.path("loop"), model.ScopeUser, 0); f.Status != model.FileRefused || f.Note != "a loop of symbolic links" {
		t.Errorf("a loop is %s, %q", f.Status, f.Note)
	}
	for path, want := range map[string][3]bool{"real": {true, false, true}, "link": {true, false, true}, "real/a": {true, true, false}, "file": {true, true, false}, "none": {}, "loop": {}} {
		if got := [3]bool{r.Exists(s.path(path)), r.IsFile(s.path(path)), r.IsDir(s.path(path))}; got != want {
			t.Errorf("%s: exists, file, folder are %v", path, got)
		}
	}
}
