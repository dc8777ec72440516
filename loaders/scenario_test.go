package loaders_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"sort"
	"strconv"
	"strings"
	"testing"
	"time"

	"fusebox/loaders"
	"fusebox/model"
)

var update = flag.Bool("update", false, "rewrite the expectations of the scenarios from what the loaders say")

// A scenario is a folder below testdata/scenarios: home/, project/ inside it or beside it, and root/ for machine-wide files.
// @HOME@, @PROJECT@, @ROOT@, @PROJECT_SLUG@ and @CURSOR_KEY:name@ are filled in in contents and names.

// scenarioSetup is setup.json: what cannot lie in a repository as a file.
type scenarioSetup struct {
	Env        map[string]string `json:"env"`         // environment variables, placeholders filled in
	Start      string            `json:"start"`       // folder of the session; default: the project
	Git        []string          `json:"git"`         // folders that get a .git folder
	Worktrees  map[string]string `json:"worktrees"`   // linked worktree -> its main checkout, as git lays them out
	Links      map[string]string `json:"links"`       // symbolic link -> target
	Modes      map[string]string `json:"modes"`       // permissions, octal
	CursorKeys map[string]string `json:"cursor_keys"` // server -> its definition as the Cursor CLI writes it for hashing
	UID        *int              `json:"uid"`         // user id of the session; default: the real one
	AsRoot     bool              `json:"as_root"`     // files must belong to root: skipped for others
	Owners     map[string]int    `json:"owners"`      // user ids; needs root, others own nothing of root's anyway
	GOOS       string            `json:"goos"`        // default linux
}

// scenarioWant is want.json.
type scenarioWant struct {
	Description string                      `json:"description"`
	Real        map[string]realOutcome      `json:"real,omitempty"`    // what the real program made of it, by harness
	Mention     []string                    `json:"mention,omitempty"` // words that a reason, finding or note must hold
	Drift       []string                    `json:"drift,omitempty"`   // names with more than one definition
	SameAs      map[string][]string         `json:"same_as,omitempty"`
	Harnesses   map[string]*harnessExpected `json:"harnesses"`
}

// realOutcome is what was recorded of the real program. It is data of its own: it does not change with the loaders.
type realOutcome struct {
	Version string                `json:"version,omitempty"`
	Partial bool                  `json:"partial,omitempty"`  // not every server was recorded
	Fatal   bool                  `json:"fatal,omitempty"`    // it refused its configuration
	Unclear []string              `json:"unclear,omitempty"`  // servers that the record tells nothing about
	AlsoRan []string              `json:"also_ran,omitempty"` // servers that a session started without listing them
	Servers map[string]realServer `json:"servers,omitempty"`
}

type realServer struct {
	State     string `json:"state"`
	Scope     string `json:"scope,omitempty"`
	Transport string `json:"transport,omitempty"`
}

// harnessExpected is a column. Places are "PATH:LINE" with $HOME and $PROJECT. A second cell of one name is "NAME #2".
type harnessExpected struct {
	Broken    string                   `json:"broken,omitempty"`
	Untrusted bool                     `json:"untrusted,omitempty"`
	Files     map[string]string        `json:"files,omitempty"` // status of every file that is not absent
	Notes     []string                 `json:"notes,omitempty"` // CODE PATH:LINE
	Servers   map[string]*cellExpected `json:"servers"`
}

type cellExpected struct {
	State     string   `json:"state"`
	Reason    string   `json:"reason_code,omitempty"`
	DecidedBy string   `json:"decided_by,omitempty"`
	Scope     string   `json:"scope"`
	Transport string   `json:"transport,omitempty"`
	Source    string   `json:"source"`
	Replaces  []string `json:"replaces,omitempty"` // SCOPE PATH:LINE [merged]
	Pending   []string `json:"pending,omitempty"`  // SCOPE STATE REASON PATH:LINE
	Findings  []string `json:"findings,omitempty"` // CODE or CODE:LINE
}

const scenarioFolder = "testdata/scenarios"

func scenarioNames(t *testing.T) []string {
	t.Helper()
	entries, err := os.ReadDir(scenarioFolder)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		if e.IsDir() {
			names = append(names, e.Name())
		}
	}
	return names
}

func readScenario(t *testing.T, name string) (scenarioSetup, scenarioWant) {
	t.Helper()
	var setup scenarioSetup
	var want scenarioWant
	decode := func(file string, into any, needed bool) {
		data, err := os.ReadFile(filepath.Join(scenarioFolder, name, file))
		if os.IsNotExist(err) && !needed {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		dec := json.NewDecoder(bytes.NewReader(data))
		dec.DisallowUnknownFields()
		if err := dec.Decode(into); err != nil {
			t.Fatalf("%s/%s: %v", name, file, err)
		}
	}
	decode("setup.json", &setup, false)
	decode("want.json", &want, true)
	return setup, want
}

// scene is a scenario on disk.
type scene struct {
	base, home, project string
	slug                string // the project's path as Cursor names a folder for it
	env                 *loaders.Env
}

func skipOnWindows(t *testing.T) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("the trees have links, and paths of a Unix system in their files")
	}
}

// materialise lays a scenario out in a folder of its own.
func materialise(t *testing.T, name string, setup scenarioSetup) *scene {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	s := &scene{base: base, home: filepath.Join(base, "home")}
	source := filepath.Join(scenarioFolder, name)
	s.project = filepath.Join(base, "project")
	if _, err := os.Stat(filepath.Join(source, "project")); err != nil {
		s.project = filepath.Join(s.home, "project")
	}
	s.slug = strings.Trim(notAlphanumeric.ReplaceAllString(s.project, "-"), "-")
	fill := s.filler(setup)
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	check(filepath.WalkDir(source, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(source, path)
		if err != nil || rel == "setup.json" || rel == "want.json" || d.Name() == ".keep" {
			return err
		}
		target := filepath.Join(base, fill(rel))
		switch {
		case d.IsDir():
			return os.MkdirAll(target, 0o700)
		case d.Type()&fs.ModeSymlink != 0:
			to, err := os.Readlink(path)
			if err != nil {
				return err
			}
			return os.Symlink(fill(to), target)
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(target, []byte(fill(string(data))), 0o600)
	}))
	for _, p := range []string{s.home, s.project} {
		check(os.MkdirAll(p, 0o700))
	}
	at := func(rel string) string { return filepath.Join(base, fill(rel)) }
	for _, rel := range setup.Git {
		check(os.MkdirAll(filepath.Join(at(rel), ".git"), 0o700))
		check(os.WriteFile(filepath.Join(at(rel), ".git", "HEAD"), []byte("ref: refs/heads/main\n"), 0o600))
		check(os.WriteFile(filepath.Join(at(rel), ".git", "config"), []byte("[core]\n\tbare = false\n"), 0o600))
		for _, folder := range []string{"objects", "refs"} {
			check(os.MkdirAll(filepath.Join(at(rel), ".git", folder), 0o700))
		}
	}
	for rel, main := range setup.Worktrees {
		private := filepath.Join(at(main), ".git", "worktrees", filepath.Base(at(rel)))
		check(os.MkdirAll(private, 0o700))
		check(os.MkdirAll(at(rel), 0o700))
		check(os.WriteFile(filepath.Join(private, "HEAD"), []byte("ref: refs/heads/side\n"), 0o600))
		check(os.WriteFile(filepath.Join(private, "commondir"), []byte("../..\n"), 0o600))
		check(os.WriteFile(filepath.Join(private, "gitdir"), []byte(filepath.Join(at(rel), ".git")+"\n"), 0o600))
		check(os.WriteFile(filepath.Join(at(rel), ".git"), []byte("gitdir: "+private+"\n"), 0o600))
	}
	for rel, to := range setup.Links {
		check(os.Symlink(fill(to), at(rel)))
	}
	for rel, uid := range setup.Owners {
		if os.Geteuid() == 0 {
			check(os.Lchown(at(rel), uid, -1))
		}
	}
	for rel, mode := range setup.Modes {
		bits, err := strconv.ParseUint(mode, 8, 32)
		check(err)
		check(os.Chmod(at(rel), fs.FileMode(bits)))
	}
	start := s.project
	if setup.Start != "" {
		start = at(setup.Start)
	}
	vars := map[string]string{"HOME": s.home, "USER": "someone", "SHELL": "/bin/sh", "LANG": "C.UTF-8", "TERM": "xterm-256color",
		"PATH": filepath.Join(s.home, "bin")}
	for k, v := range setup.Env {
		vars[k] = fill(v)
	}
	s.env = &loaders.Env{Root: filepath.Join(base, "root"), Home: s.home, Project: start, GOOS: "linux", Vars: vars, UID: os.Getuid(),
		Now: func() time.Time { return time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC) }}
	if setup.UID != nil {
		s.env.UID = *setup.UID
	}
	if setup.GOOS != "" {
		s.env.GOOS = setup.GOOS
	}
	return s
}

var (
	notAlphanumeric = regexp.MustCompile(`[^A-Za-z0-9]+`)
	kimiFolder      = regexp.MustCompile(`/wd_[^/_]+_[0-9a-f]{12}`) // Kimi Code's name for the folder, a digest of its path
	cursorKey       = regexp.MustCompile(`@CURSOR_KEY:([^@]+)@`)
)

// filler fills the placeholders in.
func (s *scene) filler(setup scenarioSetup) func(string) string {
	plain := strings.NewReplacer("@ROOT@", filepath.Join(s.base, "root"), "@HOME@", s.home, "@PROJECT@", s.project, "@PROJECT_SLUG@", s.slug)
	return func(text string) string {
		text = plain.Replace(text)
		return cursorKey.ReplaceAllStringFunc(text, func(ref string) string {
			name := cursorKey.FindStringSubmatch(ref)[1]
			sum := sha256.Sum256([]byte(fmt.Sprintf(`{"path":%q,"server":%s}`, s.project, plain.Replace(setup.CursorKeys[name]))))
			return name + "-" + hex.EncodeToString(sum[:])[:16]
		})
	}
}

// short writes a path with $PROJECT, $HOME, $ROOT and $SLUG; a line that is known is added.
func (s *scene) short(path string, line int) string {
	if path == "" {
		return ""
	}
	for _, p := range []struct{ dir, name string }{{s.project, "$PROJECT"}, {s.home, "$HOME"}, {filepath.Join(s.base, "root"), "$ROOT"}, {s.base, "$BASE"}} {
		if rest, ok := strings.CutPrefix(path, p.dir); ok && (rest == "" || rest[0] == '/') {
			path = p.name + rest
			break
		}
	}
	if s.slug != "" {
		path = strings.Replace(path, "/"+s.slug+"/", "/$SLUG/", 1)
	}
	path = kimiFolder.ReplaceAllString(path, "/$$KIMI_FOLDER")
	if line > 0 {
		return fmt.Sprintf("%s:%d", path, line)
	}
	return path
}

func (s *scene) at(l model.Location) string { return s.short(l.Path, l.Line) }

// observed turns a snapshot into the shape of want.json.
func (s *scene) observed(snapshot *model.Snapshot) scenarioWant {
	got := scenarioWant{Harnesses: map[string]*harnessExpected{}}
	for _, col := range snapshot.Columns {
		h := &harnessExpected{Untrusted: col.Untrusted, Servers: map[string]*cellExpected{}}
		if col.Broken != nil {
			h.Broken = s.at(col.Broken.Location)
		}
		for _, f := range col.Files {
			if f.Status != model.FileAbsent {
				if h.Files == nil {
					h.Files = map[string]string{}
				}
				h.Files[s.short(f.Path, 0)] = string(f.Status)
			}
		}
		for _, n := range col.Notes {
			h.Notes = append(h.Notes, strings.TrimSpace(n.Code+" "+s.short(n.Path, n.Line)))
		}
		for _, c := range col.Cells {
			key := c.Name
			for n := 2; h.Servers[key] != nil; n++ {
				key = fmt.Sprintf("%s #%d", c.Name, n)
			}
			h.Servers[key] = s.cell(c)
		}
		got.Harnesses[string(col.ID)] = h
	}
	for _, srv := range snapshot.Servers {
		if srv.Drift() {
			got.Drift = append(got.Drift, srv.Name)
		}
		if len(srv.SameAs) > 0 {
			if got.SameAs == nil {
				got.SameAs = map[string][]string{}
			}
			got.SameAs[srv.Name] = srv.SameAs
		}
	}
	return got
}

func (s *scene) cell(c *model.Cell) *cellExpected {
	reason := c.StateReason()
	e := &cellExpected{State: c.State().String(), Reason: string(reason.Code), DecidedBy: s.at(reason.DecidedBy), Scope: string(c.Scope), Source: s.at(c.Source)}
	if c.Definition != nil {
		e.Transport = string(c.Definition.Transport)
	}
	for _, r := range c.Replaces {
		text := string(r.Scope) + " " + s.at(r.Source)
		if r.Merged {
			text += " merged"
		}
		e.Replaces = append(e.Replaces, text)
	}
	for _, p := range c.Pending {
		e.Pending = append(e.Pending, fmt.Sprintf("%s %s %s %s", p.Scope, p.State, p.Reason.Code, s.at(p.Source)))
	}
	for _, f := range c.Findings {
		text := string(f.Code)
		if f.Line > 0 {
			text += ":" + strconv.Itoa(f.Line)
		}
		e.Findings = append(e.Findings, text)
	}
	sort.Strings(e.Findings)
	return e
}

func indented(v any) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "\t")
	if err := enc.Encode(v); err != nil {
		panic(err)
	}
	return b.String()
}

// TestScenarios resolves the recorded situations and compares everything that a user is told.
func TestScenarios(t *testing.T) {
	skipOnWindows(t)
	t.Parallel()
	for _, name := range scenarioNames(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			setup, want := readScenario(t, name)
			var ids []string
			for id := range want.Harnesses {
				ids = append(ids, id)
			}
			if *update && len(ids) == 0 {
				ids = slices.Collect(maps.Keys(want.Real))
			}
			if len(ids) == 0 || want.Description == "" && !*update {
				t.Fatal("want.json names no harness, or does not say what the scenario is about")
			}
			harnesses, unknown := loaders.Select(loaders.All(), ids)
			if unknown != "" {
				t.Fatalf("want.json names the unknown harness %s", unknown)
			}
			if setup.AsRoot && os.Geteuid() != 0 {
				t.Skip("the harness wants these files to be root's")
			}
			s := materialise(t, name, setup)
			snapshot := loaders.NewLoader(s.env, harnesses).Load()
			if d := model.Diff(snapshot, loaders.NewLoader(s.env, harnesses).Load()); len(d.Cells)+len(d.Files) > 0 {
				t.Errorf("resolved twice, different answers: %v", d)
			}
			got := s.observed(snapshot)
			got.Description, got.Real, got.Mention = want.Description, want.Real, want.Mention
			if *update {
				if err := os.WriteFile(filepath.Join(scenarioFolder, name, "want.json"), []byte(indented(got)), 0o644); err != nil {
					t.Fatal(err)
				}
			} else if g, w := indented(got), indented(want); g != w {
				t.Errorf("%s\n%s", want.Description, lineDiff(w, g))
			}
			for _, col := range snapshot.Columns {
				s.checkColumn(t, col)
				if real, ok := want.Real[string(col.ID)]; ok {
					checkAgainstReal(t, col, real)
				}
			}
			checkMentions(t, snapshot, want.Mention)
		})
	}
}

// lineDiff shows the lines that differ, with what surrounds them.
func lineDiff(want, got string) string {
	w, g := strings.Split(want, "\n"), strings.Split(got, "\n")
	// longest common subsequence, the texts are short
	table := make([][]int, len(w)+1)
	for i := range table {
		table[i] = make([]int, len(g)+1)
	}
	for i := len(w) - 1; i >= 0; i-- {
		for j := len(g) - 1; j >= 0; j-- {
			if w[i] == g[j] {
				table[i][j] = table[i+1][j+1] + 1
			} else {
				table[i][j] = max(table[i+1][j], table[i][j+1])
			}
		}
	}
	var out []string
	for i, j := 0, 0; i < len(w) || j < len(g); {
		switch {
		case i < len(w) && j < len(g) && w[i] == g[j]:
			out = append(out, "  "+w[i])
			i, j = i+1, j+1
		case i < len(w) && (j == len(g) || table[i+1][j] >= table[i][j+1]):
			out = append(out, "- "+w[i])
			i++
		default:
			out = append(out, "+ "+g[j])
			j++
		}
	}
	var shown []string
	for i, line := range out {
		for j := max(0, i-3); j <= min(len(out)-1, i+3); j++ {
			if out[j][0] != ' ' {
				shown = append(shown, line)
				break
			}
		}
	}
	return "(- wanted, + got)\n" + strings.Join(shown, "\n")
}

var (
	plainServerName = regexp.MustCompile(`^[A-Za-z0-9_-]+$`)
	lineEnd         = regexp.MustCompile(`\r\n|\r|\n`)
	codeShape       = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)
)

// checkColumn holds a column to what every answer owes: a place that holds the name, a reason with its code, a file that
// was looked at.
func (s *scene) checkColumn(t *testing.T, col *model.Column) {
	t.Helper()
	for _, c := range col.Cells {
		if c.Source.Path == "" || c.Source.Line < 1 {
			t.Errorf("%s/%s: no source path and line", col.ID, c.Name)
		}
		places := []model.Location{c.Source}
		for _, r := range c.Replaces {
			places = append(places, r.Source)
		}
		for _, p := range c.Pending {
			places = append(places, p.Source)
		}
		for _, at := range places {
			s.checkLine(t, col.ID, c.Name, at)
		}
		reason := c.StateReason()
		if _, known := reason.Code.Info(); !known {
			t.Errorf("%s/%s: unknown reason code %q", col.ID, c.Name, reason.Code)
		}
		if c.State() != model.StateConfigured && (reason.Code == "" || len(reason.Text) < 10) {
			t.Errorf("%s/%s: %s without a reason and its code", col.ID, c.Name, c.State())
		}
		if at := reason.DecidedBy; (c.State() != model.StateConfigured || !at.IsZero()) && (at.Path == "" || at.Line < 1) {
			t.Errorf("%s/%s: %s decided by %q at line %d", col.ID, c.Name, c.State(), at.Path, at.Line)
		}
		for _, f := range c.Findings {
			if !slices.Contains(model.Findings(), f.Code) || f.Text == "" {
				t.Errorf("%s/%s: finding %q with text %q", col.ID, c.Name, f.Code, f.Text)
			}
		}
	}
	for _, n := range col.Notes {
		if !codeShape.MatchString(n.Code) || n.Text == "" {
			t.Errorf("%s: note %q with text %q", col.ID, n.Code, n.Text)
		}
	}
}

// checkLine reads the line that an entry is said to stand on.
func (s *scene) checkLine(t *testing.T, id model.HarnessID, name string, at model.Location) {
	t.Helper()
	if strings.HasPrefix(at.Path, "$") || !plainServerName.MatchString(name) || (id == "gemini" || id == "qwen") && name == "mcp" {
		return
	}
	data, err := os.ReadFile(at.Path)
	if err != nil {
		t.Errorf("%s/%s: source %s: %v", id, name, s.at(at), err)
		return
	}
	lines := lineEnd.Split(string(data), -1)
	bare := name // without the plugin that it comes from
	if i := strings.LastIndex(name, "__"); i >= 0 {
		bare = name[i+2:]
	}
	if at.Line > len(lines) || !strings.Contains(lines[at.Line-1], bare) {
		t.Errorf("%s/%s: %s does not hold the name", id, name, s.at(at))
	}
}

// agreeing are the states that agree with what a real program said.
var agreeing = map[string][]model.State{
	"loads":            {model.StateConfigured},
	"enabled":          {model.StateConfigured},
	"pending_approval": {model.StateUnapproved},
	"not-approved":     {model.StateUnapproved},
	"not_approved":     {model.StateUnapproved},
	"untrusted":        {model.StateUnapproved, model.StateDisabled},
	"disabled":         {model.StateDisabled},
	"blocked":          {model.StateDisabled},
	"rejected":         {model.StateDisabled},
	"error":            {model.StateError},
	"not_loaded":       {model.StateError},
	"unauthenticated":  {model.StateUnauthenticated, model.StateConfigured},
}

// checkAgainstReal compares with the recorded outcome: the states agree, and nothing loads that the program did not load.
func checkAgainstReal(t *testing.T, col *model.Column, real realOutcome) {
	t.Helper()
	cells := map[string][]*model.Cell{}
	for _, c := range col.Cells {
		cells[c.Name] = append(cells[c.Name], c)
	}
	for key, said := range real.Servers {
		name, _, _ := strings.Cut(key, " #")
		mine := cells[name]
		where := fmt.Sprintf("%s/%s: the real program says %s %s %s", col.ID, name, said.State, said.Scope, said.Transport)
		if said.State == "absent" { // nothing, or a cell that says why it does not load
			for _, c := range mine {
				if c.State() != model.StateError && c.State() != model.StateUnknown {
					t.Errorf("%s, got %s", where, c.State())
				}
			}
			continue
		}
		states := agreeing[said.State]
		if states == nil {
			t.Errorf("%s, which is no known word", where)
			continue
		}
		if said.State == "disabled" && (col.ID == "gemini" || col.ID == "qwen") { // how they list an untrusted folder
			states = append(slices.Clone(states), model.StateUnapproved)
		}
		if (col.ID == "vscode" || col.ID == "zed") && said.Scope == "project" && (said.State == "enabled" || strings.HasPrefix(said.State, "not")) {
			states = []model.State{model.StateUnapproved, model.StateUnknown} // their trust is in a database
		}
		agrees := func(c *model.Cell) bool {
			if !slices.Contains(states, c.State()) {
				return len(c.Pending) > 0 && states[0] == model.StateUnapproved
			}
			beaten := slices.ContainsFunc(c.Replaces, func(r model.Replaced) bool { return string(r.Scope) == said.Scope }) && key != name
			return (said.Scope == "" || said.Scope == string(c.Scope) || beaten) &&
				(said.Transport == "" || c.Definition != nil && said.Transport == string(c.Definition.Transport))
		}
		if !slices.ContainsFunc(mine, agrees) {
			var got []string
			for _, c := range mine {
				got = append(got, fmt.Sprintf("%s %s", c.State(), c.Scope))
			}
			t.Errorf("%s, got %q", where, got)
		}
	}
	broken := col.Broken != nil
	for _, f := range col.Files {
		broken = broken || f.Status == model.FileMalformed || f.Status == model.FileRefused
	}
	for _, c := range col.Cells {
		broken = broken || c.State() == model.StateError
		if c.State() != model.StateConfigured {
			continue
		}
		_, known := real.Servers[c.Name]
		switch {
		case real.Fatal:
			t.Errorf("%s/%s loads, but the real program refuses its configuration", col.ID, c.Name)
		case !known && !real.Partial && !slices.Contains(real.Unclear, c.Name) && !slices.Contains(real.AlsoRan, c.Name):
			t.Errorf("%s/%s loads, the real program has nothing of it", col.ID, c.Name)
		}
	}
	if real.Fatal && !broken {
		t.Errorf("%s: the real program refuses its configuration, and nothing says so", col.ID)
	}
}

var mentionedLine = regexp.MustCompile(`^line (\d+)$`)

// checkMentions looks for words in all that the answer explains; letter case and hyphens do not matter.
func checkMentions(t *testing.T, snapshot *model.Snapshot, words []string) {
	t.Helper()
	var b strings.Builder
	at := func(l model.Location) { fmt.Fprintf(&b, "%s %s line %d\n", l.Path, l.Key, l.Line) }
	reason := func(r model.Reason) { fmt.Fprintln(&b, r.Code, r.Text); at(r.DecidedBy) }
	for _, col := range snapshot.Columns {
		for _, f := range col.Files {
			fmt.Fprintln(&b, f.Note)
		}
		for _, n := range col.Notes {
			fmt.Fprintf(&b, "%s %s line %d\n", n.Code, n.Text, n.Line)
		}
		for _, s := range col.BlindSpots {
			fmt.Fprintln(&b, s.Code, s.Text)
		}
		for _, c := range col.Cells {
			reason(c.StateReason())
			at(c.Source)
			for _, p := range c.Pending {
				reason(p.Reason)
				at(p.Source)
			}
			for _, f := range c.Findings {
				fmt.Fprintf(&b, "%s %s line %d\n", f.Code, f.Text, f.Line)
			}
		}
	}
	plain := func(s string) string { return strings.ReplaceAll(strings.ToLower(s), "-", " ") }
	text := b.String()
	for _, word := range words {
		found := strings.Contains(plain(text), plain(word))
		if m := mentionedLine.FindStringSubmatch(word); m != nil {
			found = regexp.MustCompile(`(:|line |lines )` + m[1] + `\b`).MatchString(text)
		}
		if !found {
			t.Errorf("no reason, finding or note mentions %q", word)
		}
	}
}
