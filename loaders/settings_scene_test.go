package loaders

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"sort"
	"strings"
	"testing"
	"time"

	"fusebox/model"
)

// settingsScene is a home folder and a project on disk, for harnesses that keep servers in settings files.
type settingsScene struct {
	t             *testing.T
	base          string
	home, project string
	env           *Env
}

// newSettingsScene lays files out: paths start with home/, project/ or etc/ (the machine-wide root). @HOME@ and @PROJECT@
// are filled in in contents. A content that starts with "-> " makes a symbolic link.
func newSettingsScene(t *testing.T, files, vars map[string]string) *settingsScene {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("the rules are tested with the paths of Linux")
	}
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	s := &settingsScene{t: t, base: base, home: filepath.Join(base, "home"), project: filepath.Join(base, "home", "project")}
	s.env = &Env{Root: filepath.Join(base, "root"), Home: s.home, Project: s.project, GOOS: "linux", Vars: map[string]string{},
		UID: os.Getuid(), Now: func() time.Time { return time.Unix(1_700_000_000, 0) }}
	for _, dir := range []string{s.home, s.project} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for path, content := range files {
		s.write(path, content)
	}
	for name, value := range vars {
		s.env.Vars[name] = s.fill(value)
	}
	return s
}

func (s *settingsScene) fill(text string) string {
	return strings.NewReplacer("@HOME@", s.home, "@PROJECT@", s.project, "@BASE@", s.base).Replace(text)
}

func (s *settingsScene) path(name string) string {
	switch first, rest, _ := strings.Cut(name, "/"); first {
	case "home":
		return filepath.Join(s.home, rest)
	case "project":
		return filepath.Join(s.project, rest)
	case "etc":
		return filepath.Join(s.env.Root, "etc", rest)
	default:
		return filepath.Join(s.base, name)
	}
}

func (s *settingsScene) write(name, content string) {
	s.t.Helper()
	path := s.path(name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		s.t.Fatal(err)
	}
	content = s.fill(content)
	var err error
	if target, link := strings.CutPrefix(content, "-> "); link {
		err = os.Symlink(target, path)
	} else {
		err = os.WriteFile(path, []byte(content), 0o644)
	}
	if err != nil {
		s.t.Fatal(err)
	}
}

// column resolves a harness.
func (s *settingsScene) column(h Harness) *model.Column {
	s.t.Helper()
	r := NewReader(s.env, NewCache())
	return Column(h, h.Resolve(s.env, r), r)
}

func (s *settingsScene) short(at model.Location) string {
	if at.IsZero() {
		return "-"
	}
	path := strings.NewReplacer(s.project, "project", s.home, "home", s.env.Root, "").Replace(at.Path)
	return fmt.Sprintf("%s:%d", path, at.Line)
}

// told writes down what a column says, one line for each server, and one for what holds for all.
func (s *settingsScene) told(c *model.Column) string {
	var lines []string
	for _, cell := range c.Cells {
		line := fmt.Sprintf("%s: %s", cell.Name, cell.State())
		if cell.Reason.Code != "" {
			line += fmt.Sprintf(" %s(%s)", cell.Reason.Code, s.short(cell.Reason.DecidedBy))
		}
		line += fmt.Sprintf(" %s %s", cell.Scope, s.short(cell.Source))
		if cell.Definition != nil {
			line += " " + string(cell.Definition.Transport)
		}
		for _, r := range cell.Replaces {
			line += fmt.Sprintf(" >%s %s", r.Scope, s.short(r.Source))
			if r.Merged {
				line += " merged"
			}
		}
		for _, p := range cell.Pending {
			line += fmt.Sprintf(" |%s %s %s", p.Scope, p.Reason.Code, s.short(p.Source))
		}
		var found []string
		for _, f := range cell.Findings {
			found = append(found, string(f.Code))
		}
		sort.Strings(found)
		if len(found) > 0 {
			line += " {" + strings.Join(found, " ") + "}"
		}
		lines = append(lines, line)
	}
	for _, f := range c.Files {
		if f.Status == model.FileMalformed || f.Status == model.FileRefused || f.Status == model.FileIgnored {
			lines = append(lines, fmt.Sprintf("file %s %s", s.short(model.Location{Path: f.Path, Line: f.Line}), f.Status))
		}
	}
	for _, n := range c.Notes {
		lines = append(lines, fmt.Sprintf("note %s %s", n.Code, s.short(model.Location{Path: n.Path, Line: n.Line})))
	}
	if c.Broken != nil {
		lines = append(lines, "broken "+s.short(c.Broken.Location))
	}
	if c.Untrusted {
		lines = append(lines, "untrusted")
	}
	return strings.Join(lines, "\n")
}

// check compares what a column says with the lines wanted.
func (s *settingsScene) check(h Harness, want string) *model.Column {
	s.t.Helper()
	c := s.column(h)
	got, want := s.told(c), strings.TrimSpace(strings.ReplaceAll(want, "\t", ""))
	if got != want {
		s.t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
	for _, cell := range c.Cells {
		if info, known := cell.Reason.Code.Info(); !known || cell.Reason.Code != "" && info.State != cell.State() {
			s.t.Errorf("%s: the reason %q does not go with %s", cell.Name, cell.Reason.Code, cell.State())
		}
		if cell.Source.Line < 1 || cell.Reason.Code != "" && (len(cell.Reason.Text) < 10 || strings.HasSuffix(cell.Reason.Text, ".")) {
			s.t.Errorf("%s: line %d, reason %q", cell.Name, cell.Source.Line, cell.Reason.Text)
		}
	}
	return c
}

const plantedValue = "c4n4ry-5ecret-value"

// fuzzSettings resolves a harness over any bytes: it must not fail, every cell must have a place and a known reason, and
// the value of a variable must not show anywhere.
func fuzzSettings(t *testing.T, h Harness, files map[string]string) {
	for _, content := range files {
		if strings.Contains(content, plantedValue) || strings.HasPrefix(content, "-> ") {
			t.Skip()
		}
	}
	files["project/.env"] = "LATE=" + plantedValue + "\n"
	s := newSettingsScene(t, files, map[string]string{"CANARY": plantedValue})
	c := s.column(h)
	var texts []string
	for _, cell := range c.Cells {
		if _, known := cell.Reason.Code.Info(); !known || cell.Source.Line < 1 || cell.Source.Path == "" || cell.Decision == model.DecisionUnknown {
			t.Errorf("%q: reason %q, decision %d, line %d", cell.Name, cell.Reason.Code, cell.Decision, cell.Source.Line)
		}
		texts = append(texts, cell.Reason.Text, cell.Reason.DecidedBy.Key, cell.Source.Key, cell.Capabilities.Approve, cell.Capabilities.Toggle)
		for _, f := range cell.Findings {
			texts = append(texts, f.Text)
		}
		for _, p := range cell.Pending {
			texts = append(texts, p.Reason.Text)
		}
		if cell.Definition != nil {
			texts = append(texts, cell.Definition.Display())
		}
	}
	for _, f := range c.Files {
		texts = append(texts, f.Note)
	}
	for _, n := range c.Notes {
		texts = append(texts, n.Text)
	}
	if all := strings.Join(texts, "\n"); strings.Contains(all, plantedValue) {
		t.Errorf("the value of a variable shows:\n%s", all)
	}
}
