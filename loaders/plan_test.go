package loaders

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"fusebox/loaders/state"
)

func TestSteps(t *testing.T) {
	t.Parallel()
	list := []string{"list"}
	for name, test := range map[string]struct {
		format Format
		before string
		step   Step
		want   string // "error" when it is refused
	}{
		"json append":            {jsonFormat, `{"list": ["a"]}`, Step{StepAppend, list, "b"}, `{"list": ["a", "b"]}`},
		"json append again":      {jsonFormat, `{"list": ["a"]}`, Step{StepAppend, list, "a"}, `{"list": ["a"]}`},
		"json append to text":    {jsonFormat, `{"list": "a"}`, Step{StepAppend, list, "b"}, `{"list": ["a", "b"]}`},
		"json append equal text": {jsonFormat, `{"list": "a"}`, Step{StepAppend, list, "a"}, `{"list": "a"}`},
		"json append to null":    {jsonFormat, `{"list": null}`, Step{StepAppend, list, "a"}, `{"list": ["a"]}`},
		"json append to number":  {jsonFormat, `{"list": 1}`, Step{StepAppend, list, "a"}, "error"},
		"json append to nothing": {jsonFormat, "", Step{StepAppend, list, "a"}, "{\n  \"list\": [\n    \"a\"\n  ]\n}\n"},
		"json append to root":    {jsonFormat, "", Step{StepAppend, nil, "a"}, "[\n  \"a\"\n]\n"},
		"json append quotes":     {jsonFormat, `{"list": []}`, Step{StepAppend, list, `a"b`}, `{"list": ["a\"b"]}`},
		"json remove":            {jsonFormat, `{"list": ["a", "b"]}`, Step{StepRemove, list, "a"}, `{"list": ["b"]}`},
		"json remove text":       {jsonFormat, `{"x": 1, "list": "a"}`, Step{StepRemove, list, "a"}, `{"x": 1}`},
		"json remove other text": {jsonFormat, `{"list": "b"}`, Step{StepRemove, list, "a"}, `{"list": "b"}`},
		"json remove nothing":    {jsonFormat, `{}`, Step{StepRemove, list, "a"}, `{}`},
		"json set":               {jsonFormat, `{"a": {"on": true} /* kept */}`, Step{StepSet, []string{"a", "on"}, "false"}, `{"a": {"on": false} /* kept */}`},
		"json delete":            {jsonFormat, `{"a": {"on": true}}`, Step{StepDelete, []string{"a", "on"}, ""}, `{"a": {}}`},
		"json broken":            {jsonFormat, `{"a": `, Step{StepAppend, list, "a"}, "error"},
		"toml set":               {tomlFormat, "[a]\nx = 1 # kept\n", Step{StepSet, []string{"a", "on"}, "false"}, "[a]\nx = 1 # kept\non = false\n"},
		"toml append":            {tomlFormat, "list = [\"a\"]\n", Step{StepAppend, list, "b"}, "list = [\"a\", \"b\"]\n"},
		"toml append again":      {tomlFormat, "list = [\"a\"]\n", Step{StepAppend, list, "a"}, "list = [\"a\"]\n"},
		"toml append to text":    {tomlFormat, "list = \"a\"\n", Step{StepAppend, list, "b"}, "list = [\"a\", \"b\"]\n"},
		"toml remove":            {tomlFormat, "list = [\"a\", \"b\"]\n", Step{StepRemove, list, "a"}, "list = [\"b\"]\n"},
		"toml broken":            {tomlFormat, "list = \n", Step{StepAppend, list, "a"}, "error"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := Edit{Path: "/f", Format: test.format, Steps: []Step{test.step}}
			got, err := applySteps([]byte(test.before), e)
			switch {
			case test.want == "error":
				if err == nil {
					t.Errorf("got %q", got)
				}
			case err != nil:
				t.Error(err)
			case string(got) != test.want:
				t.Errorf("got  %q\nwant %q", got, test.want)
			default: // a plan that is made again on its own result changes nothing
				again, err := applySteps(got, e)
				if err != nil || string(again) != string(got) {
					t.Errorf("again: %q, %v", again, err)
				}
			}
		})
	}
}

// planScene is a folder with files and an undo store.
type planScene struct {
	t    *testing.T
	dir  string
	undo *state.Undo
}

func newPlanScene(t *testing.T, files map[string]string) *planScene {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	s := &planScene{t, dir, state.OpenUndo(filepath.Join(dir, "undo"))}
	for name, text := range files {
		s.write(name, text)
	}
	return s
}

func (s *planScene) path(name string) string { return filepath.Join(s.dir, name) }

func (s *planScene) write(name, text string) {
	s.t.Helper()
	if err := os.WriteFile(s.path(name), []byte(text), 0o600); err != nil {
		s.t.Fatal(err)
	}
}

// is compares a file; "-" means that there is none.
func (s *planScene) is(name, want string) {
	s.t.Helper()
	data, err := os.ReadFile(s.path(name))
	got := string(data)
	if errors.Is(err, os.ErrNotExist) {
		got = "-"
	}
	if got != want {
		s.t.Errorf("%s holds %q, want %q", name, got, want)
	}
}

func (s *planScene) append(name, key, value string) Edit {
	return Edit{Path: s.path(name), Format: jsonFormat, Steps: []Step{{StepAppend, []string{key}, value}}}
}

func (s *planScene) plan(edits ...Edit) *Plan {
	s.t.Helper()
	p, err := MakePlan(edits)
	if err != nil {
		s.t.Fatal(err)
	}
	return p
}

func TestPlanMergesEditsOfOneFile(t *testing.T) {
	t.Parallel()
	s := newPlanScene(t, map[string]string{"a": `{"x": []}`, "same": `{"x": ["1"]}`})
	edits := []Edit{s.append("a", "x", "1"), s.append("same", "x", "1"), s.append("new", "y", "2"), s.append("a", "x", "2")}
	if runtime.GOOS != "windows" {
		if err := os.Symlink("a", s.path("link")); err != nil {
			t.Fatal(err)
		}
		edits = append(edits, s.append("link", "x", "3"))
	} else {
		edits = append(edits, s.append("a", "x", "3"))
	}
	p := s.plan(edits...)
	if got := p.Paths(); len(got) != 2 || got[0] != s.path("a") || got[1] != s.path("new") {
		t.Fatalf("it writes %v", got)
	}
	diffs := p.Diffs()
	if len(diffs) != 2 || diffs[0].Created || !diffs[1].Created {
		t.Errorf("diffs %+v", diffs)
	}
	s.is("a", `{"x": []}`)
	s.is("new", "-")
	applied := p.Apply(s.undo, "three things")
	if applied.Err != nil || applied.NoUndo != nil || len(applied.Written) != 2 {
		t.Fatalf("%+v", applied)
	}
	s.is("a", `{"x": ["1", "2", "3"]}`)
	s.is("new", "{\n  \"y\": [\n    \"2\"\n  ]\n}\n")

	steps, err := s.undo.List()
	if err != nil || len(steps) != 1 || steps[0].What != "three things" || len(steps[0].Files) != 2 {
		t.Fatalf("%+v, %v", steps, err)
	}
	if _, err := s.undo.Revert(&steps[0]); err != nil {
		t.Fatal(err)
	}
	s.is("a", `{"x": []}`)
	s.is("new", "-")
}

func TestEmptyPlan(t *testing.T) {
	t.Parallel()
	s := newPlanScene(t, map[string]string{"a": `{"x": ["1"]}`})
	remove := Edit{Path: s.path("none"), Format: jsonFormat, Initial: "{}", Steps: []Step{{StepRemove, []string{"x"}, "1"}, {StepDelete, []string{"y"}, ""}}}
	p := s.plan(s.append("a", "x", "1"), remove)
	if !p.Empty() || len(p.Diffs()) != 0 {
		t.Errorf("it writes %v", p.Paths())
	}
	if applied := p.Apply(s.undo, "nothing"); applied.Err != nil || len(applied.Written) != 0 {
		t.Errorf("%+v", applied)
	}
	s.is("none", "-")
	if last, err := s.undo.Last(); last != nil || err != nil {
		t.Errorf("a step of nothing: %+v, %v", last, err)
	}
	if (*Plan)(nil).Diffs() != nil || !(*Plan)(nil).Empty() {
		t.Error("no plan is not empty")
	}
}

func TestInitialText(t *testing.T) {
	t.Parallel()
	s := newPlanScene(t, nil)
	p := s.plan(Edit{Path: s.path("a"), Format: jsonFormat, Initial: "{}", Steps: []Step{{StepSet, []string{"x"}, "1"}}})
	p.Apply(nil, "")
	s.is("a", "{\n  \"x\": 1\n}")
}

// TestPlanOnAFileThatChanged: the steps are made again on what is there now; where that cannot be, nothing is written, what
// was written before it stays and can be taken back.
func TestPlanOnAFileThatChanged(t *testing.T) {
	t.Parallel()
	s := newPlanScene(t, map[string]string{"a": `{"x": ["1"]}`, "b": `{"x": ["1"]}`, "c": `{"x": ["1"]}`})
	p := s.plan(s.append("a", "x", "2"), s.append("b", "x", "2"), s.append("c", "x", "2"))
	s.write("a", `{"foreign": true, "x": ["1", "9"]}`)
	s.write("b", `{"x": ["1", `)
	applied := p.Apply(s.undo, "a step")
	s.is("a", `{"foreign": true, "x": ["1", "9", "2"]}`)
	s.is("b", `{"x": ["1", `)
	s.is("c", `{"x": ["1"]}`)
	if applied.Failed != s.path("b") || !applied.Conflict() || len(applied.Written) != 1 || !applied.Written[0].Replanned {
		t.Fatalf("%+v", applied)
	}
	if strings.Contains(applied.Err.Error(), `["1"`) {
		t.Errorf("the error holds content: %v", applied.Err)
	}
	last, err := s.undo.Last()
	if err != nil || last == nil || len(last.Files) != 1 {
		t.Fatalf("%+v, %v", last, err)
	}
	if _, err := s.undo.Revert(last); err != nil {
		t.Fatal(err)
	}
	s.is("a", `{"foreign": true, "x": ["1", "9"]}`)
}

// TestForeignWriterDidTheSame: when another program made the same change meanwhile, nothing is left to do.
func TestForeignWriterDidTheSame(t *testing.T) {
	t.Parallel()
	s := newPlanScene(t, map[string]string{"a": `{"x": ["1"]}`})
	p := s.plan(s.append("a", "x", "2"))
	s.write("a", `{"x": ["2", "1"]}`)
	if applied := p.Apply(s.undo, "a step"); applied.Err != nil || len(applied.Written) != 0 {
		t.Errorf("%+v", applied)
	}
	s.is("a", `{"x": ["2", "1"]}`)
}
