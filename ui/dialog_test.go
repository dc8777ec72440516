package ui

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"fusebox/model"
)

// fakeLauncher plans what it is given and remembers what it was told.
type fakeLauncher struct {
	plan    LaunchPlan
	started []string
	changed []model.CellKey // what the next Start does not start, since it changed
	stopped int
}

func (f *fakeLauncher) Plan([]model.CellKey, bool) LaunchPlan { return f.plan }
func (f *fakeLauncher) Start(p LaunchPlan, without map[int]bool) []model.CellKey {
	if changed := f.changed; changed != nil {
		f.changed = nil
		return changed
	}
	for i, it := range p.Items {
		if !without[i] {
			f.started = append(f.started, it.Name)
		}
	}
	return nil
}
func (f *fakeLauncher) Stop([]model.CellKey) { f.stopped++ }

// fakeSwitcher plans what it is given and remembers what was applied.
type fakeSwitcher struct {
	plan    SwitchPlan
	applied []SwitchPlan
	report  SwitchReport
	undone  int
}

func (f *fakeSwitcher) Plan(in Intent) SwitchPlan { p := f.plan; p.Intent = in; return p }
func (f *fakeSwitcher) Apply(p SwitchPlan) SwitchReport {
	f.applied = append(f.applied, p)
	return f.report
}
func (f *fakeSwitcher) PeekUndo() (string, []FileDiff, error) {
	return "playwright is off in Codex", []FileDiff{{Path: "/home/ann/.codex/config.toml", Removed: 1, Lines: []DiffLine{{41, '-', "enabled = false"}}}}, nil
}
func (f *fakeSwitcher) Undo() SwitchReport { f.undone++; return SwitchReport{} }

// run presses keys and carries out the commands that they give, as the program would.
func runKeys(m *Model, keys ...string) {
	for _, k := range keys {
		_, cmd := m.Update(keyMsg(k))
		runCmd(m, cmd)
	}
}

func runCmd(m *Model, cmd tea.Cmd) {
	if cmd == nil {
		return
	}
	done := make(chan tea.Msg, 1)
	go func() { done <- cmd() }()
	select {
	case msg := <-done:
		if batch, ok := msg.(tea.BatchMsg); ok {
			for _, c := range batch {
				runCmd(m, c)
			}
			return
		}
		if msg != nil {
			_, next := m.Update(msg)
			runCmd(m, next)
		}
	case <-time.After(300 * time.Millisecond): // a timer of a toast
	}
}

func onOff(on bool) SwitchPlan {
	return SwitchPlan{On: on, Title: "Switch playwright off in Codex?", Items: []SwitchItem{{Cell: model.CellKey{Harness: "codex", Name: "playwright"}, Harness: "Codex",
		Options: []SwitchOption{
			{Reach: "everywhere", Label: "every folder", Files: []FileDiff{{Path: "/home/ann/.codex/config.toml", Added: 1, Lines: []DiffLine{{40, ' ', "args"}, {41, '+', "enabled = false"}}}}},
			{Reach: "here", Label: "this folder only", Unavailable: "folder not trusted"},
			{Reach: "repository", Label: "everybody who uses this repository", Repository: true, Files: []FileDiff{{Path: "/home/ann/code/shop/.codex/config.toml", Added: 1}}},
		}}}}
}

func dialogModel(t *testing.T, w, h int) (*Model, *fakeLauncher, *fakeSwitcher) {
	t.Helper()
	m := shopModel(t, w, h, shopSnapshot(shopFive, shopRows, nil))
	l, s := &fakeLauncher{}, &fakeSwitcher{plan: onOff(false), report: SwitchReport{Done: []SwitchDone{{"playwright is off in Codex", "wrote ~/.codex/config.toml, 1 line"}}}}
	m.o.Launcher, m.o.Switcher = l, s
	m.cursor = position{7, 1} // playwright in Codex
	m.View()
	return m, l, s
}

// A write is asked for, No is the focused button, and only yes writes.
func TestSwitchAsksAndDefaultsToNo(t *testing.T) {
	t.Parallel()
	m, _, s := dialogModel(t, 120, 35)
	runKeys(m, " ")
	if m.dialog == nil {
		t.Fatal("no dialog")
	}
	view := m.View()
	for _, want := range []string{"Switch playwright off in Codex?", "(•) every folder", "folder not trusted", "41 + enabled = false", "[ No ]", "Yes, write it", "~/.codex/config.toml"} {
		if !strings.Contains(view, want) {
			t.Errorf("the dialog lacks %q:\n%s", want, view)
		}
	}
	for _, k := range []string{"x", "a", "?", ":", "/", "e", "r", "z", "1", "M", "<"} {
		runKeys(m, k)
		if m.dialog == nil || len(s.applied) > 0 {
			t.Fatalf("%q did something in a dialog", k)
		}
	}
	runKeys(m, "enter")
	if m.dialog != nil || len(s.applied) != 0 {
		t.Fatal("enter on No did not mean no")
	}
	runKeys(m, " ")
	m.View()
	runKeys(m, "y")
	if len(s.applied) != 1 {
		t.Fatal("y did not write")
	}
	if view := m.View(); !strings.Contains(view, "✓ playwright is off in Codex   wrote ~/.codex/config.toml, 1 line   u undo") {
		t.Errorf("the toast is missing:\n%s", view)
	}
}

// Where another panel wrote the same first, nothing is said to be written, and u is not offered: it would take back what
// this panel did not do.
func TestNothingWrittenOffersNoUndo(t *testing.T) {
	t.Parallel()
	for _, done := range [][]SwitchDone{
		{{"playwright is off in Codex", ""}},
		{{"playwright is off in Codex", ""}, {"playwright is off in Gemini CLI", ""}},
	} {
		m, _, s := dialogModel(t, 120, 35)
		s.report = SwitchReport{Done: done}
		runKeys(m, " ")
		m.View()
		runKeys(m, "y")
		view := m.View()
		if len(s.applied) != 1 || !strings.Contains(view, "nothing was written") && !strings.Contains(view, "nothing to write") {
			t.Errorf("%d: nothing says that nothing was written:\n%s", len(done), view)
		}
		if strings.Contains(view, "u undo") {
			t.Errorf("%d: undo is offered:\n%s", len(done), view)
		}
	}
}

// Two starts of one name and command, which differ in what they get, say whom each is for.
func TestTwinsOfALaunchListAreToldApart(t *testing.T) {
	t.Parallel()
	m, l, _ := dialogModel(t, 120, 35)
	l.plan = LaunchPlan{Ask: true, Items: []LaunchItem{
		{Name: "docs", Harnesses: []string{"Claude Code", "Cursor", "Zed"}, Command: "node docs.js"},
		{Name: "docs", Harnesses: []string{"Codex"}, Command: "node docs.js"},
		{Name: "shop", Harnesses: []string{"Gemini CLI"}, Command: "node shop.js"},
	}}
	runKeys(m, "X")
	view := m.View()
	for _, want := range []string{"node docs.js   yours   for Claude Code and 2 more", "node docs.js   yours   for Codex"} {
		if !strings.Contains(view, want) {
			t.Errorf("the dialog lacks %q:\n%s", want, view)
		}
	}
	if strings.Contains(view, "for Gemini CLI") {
		t.Errorf("a start without a twin names its harness:\n%s", view)
	}
}

// Yes counts only after the last line was on the screen: a confirmation is never agreed to unseen.
func TestYesNeedsTheLastLine(t *testing.T) {
	t.Parallel()
	m, l, _ := dialogModel(t, 60, 12)
	l.plan = LaunchPlan{Ask: true, Items: []LaunchItem{{Name: "docs", Harnesses: []string{"Claude Code"}, Command: strings.Repeat("node a-long-argument ", 60), Repository: true}}}
	runKeys(m, "x")
	m.View()
	runKeys(m, "y")
	if len(l.started) != 0 {
		t.Fatal("it was started before all of the command was on the screen")
	}
	m.View()
	runKeys(m, "y")
	if len(l.started) != 1 {
		t.Fatal("it was not started after all of it was seen")
	}
}

// The whole command is in the dialog, however long and however narrow the window is.
func TestNothingInAConfirmationIsShortened(t *testing.T) {
	t.Parallel()
	for _, size := range [][2]int{{200, 60}, {120, 35}, {80, 24}, {40, 15}, {20, 6}} {
		m, l, _ := dialogModel(t, size[0], size[1])
		command := "run"
		for i := range 120 {
			command += fmt.Sprintf(" arg%03d", i)
		}
		l.plan = LaunchPlan{Ask: true, Items: []LaunchItem{{Name: "docs", Harnesses: []string{"Claude Code"}, Command: command, Repository: true}}}
		runKeys(m, "x")
		var seen strings.Builder
		for range 400 {
			for _, line := range strings.Split(m.View(), "\n") {
				seen.WriteString(strings.Trim(line, " │┃|#"))
			}
			seen.WriteByte('\n')
			runKeys(m, "j")
		}
		all := seen.String()
		for i := range 120 {
			if !strings.Contains(all, fmt.Sprintf("g%03d", i)) { // an argument that breaks at the line's end stands together here
				t.Errorf("%dx%d: argument %d was never on the screen", size[0], size[1], i)
				break
			}
		}
	}
}

// "Do not ask again" holds for single switches in one's own files only.
func TestDoNotAskAgainIsNarrow(t *testing.T) {
	t.Parallel()
	m, _, s := dialogModel(t, 120, 35)
	runKeys(m, " ", "d")
	m.View()
	runKeys(m, "y")
	if !m.skipSwitches || len(s.applied) != 1 {
		t.Fatal("the mark was not taken")
	}
	runKeys(m, " ")
	if m.dialog != nil || len(s.applied) != 2 {
		t.Fatal("it asked again")
	}
	s.plan.Items[0].Options[0].Repository = true
	runKeys(m, " ")
	if m.dialog == nil {
		t.Error("a file of the repository was written without asking")
	}
	m.dialog = nil
	s.plan.Items[0].Options[0].Repository = false
	runKeys(m, "a")
	s.plan.Title = "Approve?"
	if m.dialog == nil && len(s.applied) > 2 {
		t.Error("an approval was written without asking")
	}
	m.dialog = nil
	m.cursor.col = -1
	runKeys(m, " ")
	if m.dialog == nil {
		t.Error("a row was written without asking")
	}
}

// A whole folder is trusted only after a second yes of its own.
func TestTrustingAFolderAsksTwice(t *testing.T) {
	t.Parallel()
	m, _, s := dialogModel(t, 120, 35)
	s.plan = SwitchPlan{Title: "Let Gemini CLI load what is here?", Items: []SwitchItem{{Cell: model.CellKey{Harness: "gemini", Name: "playwright"}, Harness: "Gemini CLI",
		Options: []SwitchOption{{Reach: "here", Label: "this folder", TrustsFolder: true, LetsIn: "every server of the folder, its hooks and settings", Files: []FileDiff{{Path: "/home/ann/.gemini/trustedFolders.json", Created: true}}}}}}}
	runKeys(m, "l", "a")
	m.View()
	runKeys(m, "y")
	if len(s.applied) != 0 || m.dialog == nil || !strings.Contains(m.View(), "Trust the whole folder") {
		t.Fatalf("no second question:\n%s", m.View())
	}
	runKeys(m, "enter")
	if len(s.applied) != 0 {
		t.Fatal("No trusted the folder")
	}
	runKeys(m, "a")
	m.View()
	runKeys(m, "y")
	m.View()
	runKeys(m, "y")
	if len(s.applied) != 1 {
		t.Fatal("two times yes did not write")
	}
}

// A dialog that nobody asked for takes no key until the keyboard was quiet, at most for a moment.
func TestUnaskedDialogWaitsForQuiet(t *testing.T) {
	t.Parallel()
	now := shopTime
	m, _, s := dialogModel(t, 120, 35)
	m.o.Now = func() time.Time { return now }
	s.report = SwitchReport{Conflict: true}
	runKeys(m, " ")
	m.View()
	runKeys(m, "y") // the file changed: it is planned and asked anew
	if m.dialog == nil {
		t.Fatal("it was not asked anew")
	}
	applied := len(s.applied)
	m.View()
	runKeys(m, "y")
	if len(s.applied) != applied || m.dialog == nil {
		t.Fatal("a key that was meant for something else agreed")
	}
	now = now.Add(2 * time.Second)
	s.report = SwitchReport{Done: []SwitchDone{{"done", ""}}}
	runKeys(m, "y")
	if len(s.applied) != applied+1 {
		t.Fatal("it never takes a key")
	}
}

// --read-only takes away every key that writes or launches.
func TestReadOnlyTakesAwayWhatActs(t *testing.T) {
	t.Parallel()
	l, s := &fakeLauncher{plan: LaunchPlan{Items: []LaunchItem{{Name: "x"}}}}, &fakeSwitcher{plan: onOff(false)}
	m := New(Options{Snapshot: shopSnapshot(shopFive, shopRows, nil), Theme: ThemeMono, ReadOnly: true, Launcher: l, Switcher: s, Now: func() time.Time { return shopTime }})
	m.Update(tea.WindowSizeMsg{Width: 120, Height: 35})
	for _, b := range bindings() {
		if b.danger {
			m.toast = nil
			press(m, b.keys.Keys()...)
			if !strings.Contains(m.View(), "read-only: start fusebox without") {
				t.Errorf("%s does not say why it does nothing", b.show)
			}
		}
	}
	shown := len(m.columns)
	press(m, "H", " ")
	if len(m.columns) != shown-1 {
		t.Error("space does not hide a column")
	}
	press(m, "esc")
	if len(l.started)+len(s.applied)+s.undone > 0 || m.dialog != nil {
		t.Error("something acted")
	}
	press(m, "?")
	if view := m.View(); strings.Contains(view, "flip the switch") || strings.Contains(view, "launch or stop") {
		t.Error("the help offers what is gone")
	}
}

// x on one's own server starts at once; one of the repository's asks; on a running one x stops.
func TestLaunchAsksForTheRepository(t *testing.T) {
	t.Parallel()
	m, l, _ := dialogModel(t, 120, 35)
	l.plan = LaunchPlan{Items: []LaunchItem{{Name: "mine", Command: "npx x"}}}
	runKeys(m, "x")
	if len(l.started) != 1 || m.dialog != nil {
		t.Error("one's own server was asked about, or not started")
	}
	l.plan = LaunchPlan{Ask: true, Limit: 20 * time.Second, Items: []LaunchItem{{Name: "docs", Harnesses: []string{"Claude Code"}, Command: "node tools/docs.js", Folder: "/home/ann/code/shop",
		Gets: "your whole environment", Variables: []string{"DOCS_TOKEN"}, From: model.Location{Path: "/home/ann/code/shop/.mcp.json", Line: 12}, Repository: true, Unapproved: true}}}
	runKeys(m, "x")
	view := m.View()
	for _, want := range []string{"node tools/docs.js", "~/code/shop", "your whole environment, and DOCS_TOKEN", ".mcp.json:12", "whoever can commit", "You have not approved it", "[ No ]"} {
		if !strings.Contains(view, want) {
			t.Errorf("the question lacks %q:\n%s", want, view)
		}
	}
	runKeys(m, "esc")
	if len(l.started) != 1 {
		t.Error("esc started it")
	}
}

func TestUndoShowsWhatItTakesBack(t *testing.T) {
	t.Parallel()
	m, _, s := dialogModel(t, 120, 35)
	runKeys(m, "u")
	if view := m.View(); !strings.Contains(view, "Take back: playwright is off in Codex?") || !strings.Contains(view, "- enabled = false") {
		t.Fatalf("undo does not say what it takes back:\n%s", view)
	}
	runKeys(m, "y")
	if s.undone != 1 {
		t.Error("it was not taken back")
	}
}

// What changed between the question and the start is not started: it is asked for anew, also where one's own file needs no
// question, and no key that was meant for something else agrees.
func TestLaunchThatChangedIsAskedAnew(t *testing.T) {
	t.Parallel()
	now := shopTime
	m, l, _ := dialogModel(t, 120, 35)
	m.o.Now = func() time.Time { return now }
	l.plan = LaunchPlan{Items: []LaunchItem{{Name: "playwright", Harnesses: []string{"Codex"}, Command: "npx new"}}}
	l.changed = []model.CellKey{{Harness: "codex", Name: "playwright"}}
	runKeys(m, "x")
	if m.dialog == nil || len(l.started) > 0 || !strings.Contains(m.View(), "npx new") {
		t.Fatalf("it was not asked: started %v\n%s", l.started, m.View())
	}
	runKeys(m, "y")
	if m.dialog == nil || len(l.started) > 0 {
		t.Fatal("a key that was meant for something else agreed")
	}
	now = now.Add(2 * time.Second)
	runKeys(m, "y")
	if len(l.started) != 1 {
		t.Fatal("it was not started")
	}
}

// A plan that is taller than the window can be read to its end, and only then agreed to, also while one of its rows is
// chosen.
func TestTallPlanCanBeAgreedTo(t *testing.T) {
	t.Parallel()
	for _, keys := range [][]string{{"y", "y"}, {"G", "y"}, append(slices.Repeat([]string{"pgdown"}, 20), "y"), {"end", "k", "y"}} {
		m, _, s := dialogModel(t, 100, 24)
		item := s.plan.Items[0]
		s.plan.Items = nil
		var lines []DiffLine
		for i := range 60 {
			lines = append(lines, DiffLine{i + 1, '+', "line"})
		}
		for _, h := range []string{"claude", "codex", "gemini"} {
			item.Cell.Harness = model.HarnessID(h)
			item.Options = []SwitchOption{{Label: "every folder", Files: []FileDiff{{Path: "/home/ann/" + h, Added: 60, Lines: lines}}}}
			s.plan.Items = append(s.plan.Items, item)
		}
		m.cursor = position{0, -1}
		runKeys(m, " ")
		m.View()
		for _, k := range keys {
			if len(s.applied) > 0 {
				t.Fatalf("%q: it was agreed to before the end was seen", keys)
			}
			runKeys(m, k)
			m.View()
		}
		if len(s.applied) != 1 {
			t.Errorf("%q: it cannot be agreed to:\n%s", keys, m.View())
		}
	}

	// The rows stay reachable: down to the last, on to the end, and back up again.
	m, l, _ := dialogModel(t, 100, 24)
	l.plan = LaunchPlan{}
	for i := range 40 {
		l.plan.Items = append(l.plan.Items, LaunchItem{Name: fmt.Sprintf("server%d", i), Command: "npx"})
	}
	runKeys(m, "X")
	for range 45 {
		runKeys(m, "j")
		m.View()
	}
	if view := m.View(); !strings.Contains(view, "› ") || !strings.Contains(view, "server39") || m.dialog.row != 40 {
		t.Errorf("row %d:\n%s", m.dialog.row, view)
	}
	for range 80 {
		runKeys(m, "k")
		m.View()
	}
	if view := m.View(); m.dialog.row != 1 || !strings.Contains(view, "server0 ") {
		t.Errorf("row %d:\n%s", m.dialog.row, view)
	}
}
