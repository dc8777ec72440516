package loaders

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"fusebox/model"
)

// tree is a throwaway home with a project below it, and the environment of a session that starts there.
type tree struct {
	home, project string
	env           *Env
}

// layTree writes files; names start with ~/ (home), ./ (project) or / (machine-wide).
func layTree(t testing.TB, files map[string]string, vars map[string]string) *tree {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	tr := &tree{home: filepath.Join(base, "home")}
	tr.project = filepath.Join(tr.home, "project")
	if err := os.MkdirAll(tr.project, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		path := filepath.Join(base, "root", filepath.FromSlash(name))
		if rest, ok := strings.CutPrefix(name, "~/"); ok {
			path = filepath.Join(tr.home, filepath.FromSlash(rest))
		} else if rest, ok := strings.CutPrefix(name, "./"); ok {
			path = filepath.Join(tr.project, filepath.FromSlash(rest))
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(name, "/") {
			err = os.MkdirAll(path, 0o700)
		} else {
			err = os.WriteFile(path, []byte(tr.fill(text)), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	all := map[string]string{"HOME": tr.home}
	for k, v := range vars {
		all[k] = tr.fill(v)
	}
	tr.env = &Env{Root: filepath.Join(base, "root"), Home: tr.home, Project: tr.project, GOOS: "linux", Vars: all, UID: os.Getuid(),
		Now: func() time.Time { return time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC) }}
	return tr
}

func (tr *tree) fill(text string) string {
	return strings.NewReplacer("@HOME@", filepath.ToSlash(tr.home), "@PROJECT@", filepath.ToSlash(tr.project)).Replace(text)
}

// short writes a path as the files of layTree are named.
func (tr *tree) short(path string) string {
	for _, p := range []struct{ dir, name string }{{tr.project, "."}, {tr.home, "~"}, {tr.env.Root, ""}} {
		if rest, ok := strings.CutPrefix(path, p.dir); ok && (rest == "" || os.IsPathSeparator(rest[0])) {
			return p.name + filepath.ToSlash(rest)
		}
	}
	return path
}

func (tr *tree) place(l model.Location) string {
	if l.IsZero() {
		return "-"
	}
	return fmt.Sprintf("%s:%d", tr.short(l.Path), l.Line)
}

// column resolves one harness.
func (tr *tree) column(h Harness) *model.Column {
	r := NewReader(tr.env, NewCache())
	return Column(h, h.Resolve(tr.env, r), r)
}

// describe writes a cell in one line: STATE REASON DECIDED-BY | SCOPE PLACE | what it beat | what waits | findings.
func (tr *tree) describe(c *model.Cell) string {
	if c == nil {
		return "none"
	}
	var b strings.Builder
	b.WriteString(c.State().String())
	if c.Reason.Code != "" {
		fmt.Fprintf(&b, " %s %s", c.Reason.Code, tr.place(c.Reason.DecidedBy))
	}
	fmt.Fprintf(&b, " | %s %s", c.Scope, tr.place(c.Source))
	for _, x := range c.Replaces {
		word := "beats"
		if x.Merged {
			word = "joins"
		}
		fmt.Fprintf(&b, " | %s %s %s", word, x.Scope, tr.place(x.Source))
	}
	for _, p := range c.Pending {
		fmt.Fprintf(&b, " | pending %s %s %s %s", p.Scope, p.State, p.Reason.Code, tr.place(p.Source))
	}
	for _, f := range c.Findings {
		fmt.Fprintf(&b, " | %s", f.Code)
		if f.Line > 0 {
			fmt.Fprintf(&b, ":%d", f.Line)
		}
	}
	return b.String()
}

func cellNamed(col *model.Column, name string) *model.Cell {
	for _, c := range col.Cells {
		if c.Name == name {
			return c
		}
	}
	return nil
}

// resolveCase is a situation and the cells that it must give. A name that is not in want must not be there.
type resolveCase struct {
	name  string
	files map[string]string
	vars  map[string]string
	start string // folder of the session below the project
	want  map[string]string
	notes []string // codes
	ran   string   // the place that breaks the whole column
}

func runCases(t *testing.T, h Harness, cases []resolveCase) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("the expectations are written with the paths of a Unix system")
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			tr := layTree(t, tc.files, tc.vars)
			tr.env.Project = filepath.Join(tr.project, tc.start)
			checkCase(t, tr, tr.column(h), tc, func(s string) string { return s })
		})
	}
}

// checkCase compares a column with what a case wants, after fill was applied to that.
func checkCase(t *testing.T, tr *tree, col *model.Column, tc resolveCase, fill func(string) string) {
	t.Helper()
	for name, want := range tc.want {
		if got := tr.describe(cellNamed(col, name)); got != fill(want) {
			t.Errorf("%q:\n got %s\nwant %s", name, got, fill(want))
		}
	}
	for _, c := range col.Cells {
		if _, ok := tc.want[c.Name]; !ok {
			t.Errorf("not expected: %q: %s", c.Name, tr.describe(c))
		}
	}
	broken := ""
	if col.Broken != nil {
		broken = tr.place(col.Broken.Location)
	}
	if broken != fill(tc.ran) {
		t.Errorf("broken %q, want %q", broken, fill(tc.ran))
	}
	var notes []string
	for _, n := range col.Notes {
		notes = append(notes, n.Code)
	}
	if !slices.Equal(notes, tc.notes) {
		t.Errorf("notes %q, want %q", notes, tc.notes)
	}
}

func writeFile(t testing.TB, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// canary stands for a secret in fuzzed files.
const canary = "canary-Zq7Lw9Xk2Vb4"

func withCanary(text string) string { return strings.ReplaceAll(text, "@CANARY@", canary) }

// checkColumn asks of any column what must hold for all of them: every cell has a place, a known reason, and no text with
// a secret.
func checkColumn(t *testing.T, col *model.Column) {
	t.Helper()
	text := func(what, s string) {
		t.Helper()
		if strings.Contains(s, canary) {
			t.Errorf("%s shows a secret: %q", what, s)
		}
		if s != model.Clean(s) {
			t.Errorf("%s is not clean: %q", what, s)
		}
	}
	reason := func(c *model.Cell, r model.Reason, state model.State) {
		t.Helper()
		if _, ok := r.Code.Info(); !ok {
			t.Errorf("%q: unknown reason %q", c.Name, r.Code)
		}
		if state != model.StateConfigured && (r.Code == "" || r.Text == "") {
			t.Errorf("%q: %v without a reason", c.Name, state)
		}
		text("a reason", r.Text)
	}
	for _, c := range col.Cells {
		if c.Source.Path == "" || c.Source.Line < 1 {
			t.Errorf("%q: source %+v", c.Name, c.Source)
		}
		reason(c, c.Reason, c.State())
		for _, p := range c.Pending {
			reason(c, p.Reason, p.State)
			if p.Source.Line < 1 {
				t.Errorf("%q: pending source %+v", c.Name, p.Source)
			}
		}
		for _, f := range c.Findings {
			if !slices.Contains(model.Findings(), f.Code) {
				t.Errorf("%q: unknown finding %q", c.Name, f.Code)
			}
			text("a finding", f.Text)
		}
		for _, s := range []string{c.Capabilities.Toggle, c.Capabilities.Approve, c.Capabilities.Login} {
			text("a capability", s)
		}
	}
	for _, n := range col.Notes {
		text("a note", n.Text)
	}
	for _, f := range col.Files {
		text("the note of a file", f.Note)
	}
	if col.Broken != nil {
		text("the column's fault", col.Broken.Text)
	}
}
