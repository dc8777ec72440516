package ui

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/x/ansi"

	"fusebox/model"
)

// hostileSnapshot holds names, reasons and paths that try to break the screen.
func hostileSnapshot() *model.Snapshot {
	return shopSnapshot(shopFive, append(slices.Clone(shopRows),
		shopRow{"", "claude:c", ""}, shopRow{"  ", "codex:c", ""}, shopRow{"\x1b[31mred\x1b]0;title\x07", "claude:xexit255, codex:c^", ""},
		shopRow{"line\nbreak\r\ttab", "cursor:?approve", ""}, shopRow{"\u202eright to left\u2066", "opencode:-off", ""},
		shopRow{strings.Repeat("long", 300_000), "claude:k999999", ""}, shopRow{"日本語の名前はとても長いです", "gemini:?trust, claude:k3^", ""},
		shopRow{"e\u0301e\u0301\u200d\u200bzero", "claude:c", ""}, shopRow{"👩‍👩‍👧‍👦 family", "codex:xtimeout", ""}),
		func(columns []*model.Column) {
			columns[2].Cells[0].Reason.Text = "\x1b[2J" + strings.Repeat("wörd ", 400)
			columns[1].Cells[0].Source.Path = "/home/ann/\x1b[0m/" + strings.Repeat("deep/", 100) + "config.toml"
			columns[0].Files = []model.File{{Path: "/home/ann/.claude.json", Scope: model.ScopeUser, Status: model.FileRead},
				{Path: "/home/ann/\x1b[31m.json", Status: model.FileMalformed, Note: "1:2: \x1b[31mbad", Line: 1, Column: 2}}
			columns[3].Notes = []model.Note{{Code: "x", Text: strings.Repeat("note ", 200), Path: "/x"}}
		})
}

func checkFits(t *testing.T, m *Model, what string) {
	t.Helper()
	view := m.View()
	lines := strings.Split(view, "\n")
	if len(lines) != m.h {
		t.Fatalf("%s: %d lines in a window of %d", what, len(lines), m.h)
	}
	for i, l := range lines {
		if w := ansi.StringWidth(l); w != m.w {
			t.Fatalf("%s: line %d is %d cells wide in a window of %d: %q", what, i+1, w, m.w, l)
		}
		plain := ansi.Strip(l)
		if m.o.Theme == ThemeMono && plain != l {
			t.Fatalf("%s: an escape sequence without colour: %q", what, l)
		}
		for _, r := range plain {
			if r < 0x20 || r == 0x7f || m.o.ASCII && r > 0x7e || r == '\u202e' || r == '\u200b' {
				t.Fatalf("%s: %U reached the screen: %q", what, r, l)
			}
		}
	}
}

// The view is exactly as large as the window in every form, and foreign text cannot leave its cells.
func TestViewFitsEveryWindow(t *testing.T) {
	t.Parallel()
	s := hostileSnapshot()
	keys := []string{"j", "k", "h", "l", "G", "g", "f", "enter", "esc", "?", ":", "/", "s", "z", "tab", "n", "N", "x", "down", "right", " ", "a", "e", "y"}
	rng := rand.New(rand.NewPCG(1, 2))
	for _, theme := range []Theme{ThemeDark, ThemeLight, ThemeMono} {
		for _, ascii := range []bool{false, true} {
			m := shopModel(t, 80, 24, s)
			m.o.Theme, m.o.ASCII = theme, ascii
			for i := range 600 {
				if i%5 == 0 {
					m.Update(tea.WindowSizeMsg{Width: 1 + rng.IntN(210), Height: 1 + rng.IntN(64)})
				}
				k := keys[rng.IntN(len(keys))]
				press(m, k)
				checkFits(t, m, fmt.Sprintf("theme %d ascii %t, %dx%d, step %d key %q", theme, ascii, m.w, m.h, i, k))
			}
		}
	}
}

// The cursor is on the screen in every form, after every key that moves it.
func TestCursorStaysVisible(t *testing.T) {
	t.Parallel()
	s := shopSnapshot(shopFifteen, rows40(), nil)
	for _, size := range [][2]int{{200, 60}, {120, 35}, {100, 30}, {80, 24}, {40, 15}, {20, 6}} {
		for _, theme := range []Theme{ThemeDark, ThemeMono} {
			m := shopModel(t, size[0], size[1], s)
			m.o.Theme = theme
			for _, k := range strings.Fields("j j j G g pgdown pgdown ctrl+d ctrl+u l l l l l l l l l l l l l l l h h n n n N G") {
				press(m, k)
				if !strings.Contains(m.View(), "▌") && !strings.Contains(m.View(), "no server here") {
					t.Errorf("%dx%d: no cursor bar after %q", size[0], size[1], k)
				}
			}
		}
	}
}

// In the narrow form j and k go through the rows that the harness has, and through no others.
func TestNarrowMovesAmongItsRows(t *testing.T) {
	t.Parallel()
	m := shopModel(t, 40, 15, shopSnapshot(shopFive, shopRows, nil))
	m.View()
	press(m, "l") // Codex
	var seen []string
	for range 8 {
		m.View()
		seen = append(seen, m.line().Server.Name)
		press(m, "j")
	}
	want := "brave-search filesystem github linear playwright postgres postgres postgres"
	if got := strings.Join(seen, " "); got != want {
		t.Errorf("went through %q, want %q", got, want)
	}
}

func TestCellOfAnyStateIsAtMostNineCells(t *testing.T) {
	t.Parallel()
	for _, info := range model.Reasons() {
		if w := ansi.StringWidth(info.Word); w > 7 {
			t.Errorf("the word of %s is %d cells: %q", info.Code, w, info.Word)
		}
	}
	for _, s := range append(model.States(), model.StateNone) {
		if st := styleOf(s); ansi.StringWidth(st.symbol) != 1 {
			t.Errorf("the symbol of %s is not one cell: %q", s, st.symbol)
		}
	}
	for sign, plain := range asciiOf {
		if ansi.StringWidth(sign) != 1 || len(plain) != 1 {
			t.Errorf("%q and its ASCII form %q must be one cell", sign, plain)
		}
	}
}

// Every action of the key table stands in the help, and no dangerous act hangs on a key that a torn mouse report leaves.
func TestKeyTable(t *testing.T) {
	t.Parallel()
	inHelp := map[action]bool{}
	for _, row := range helpRows() {
		for _, a := range row.actions {
			inHelp[a] = true
		}
	}
	seen := map[string]action{}
	for _, b := range bindings() {
		if !inHelp[b.action] {
			t.Errorf("%q is not in the help", b.show)
		}
		for _, k := range b.keys.Keys() {
			if _, twice := seen[k]; twice {
				t.Errorf("%q is bound twice", k)
			}
			seen[k] = b.action
			if b.danger && strings.Contains("Mm[]<;0123456789", k) {
				t.Errorf("%q is left behind by torn mouse reports and must do nothing that matters", k)
			}
		}
	}
	for _, free := range []string{"L", "d", "m", "M", "[", "<", ";", "1"} {
		if _, bound := seen[free]; bound {
			t.Errorf("%q must stay unbound", free)
		}
	}
}

func TestFilter(t *testing.T) {
	t.Parallel()
	s := shopSnapshot(shopFive, shopRows, nil)
	columns := []int{0, 1, 2, 3, 4}
	for text, want := range map[string]string{
		"":                       "brave-search context7 docs filesystem github/docker github/http linear playwright postgres sentry",
		"git":                    "github/docker github/http",
		"HTTP":                   "github/http",
		"!git state:waits":       "docs linear postgres",
		"state:off":              "playwright",
		"state:reload":           "sentry",
		"state:error":            "github/docker postgres",
		"state:unauthenticated":  "linear",
		"state:":                 "brave-search context7 docs filesystem github/docker github/http linear playwright postgres sentry",
		"harness:codex !state:k": "brave-search filesystem github/docker linear playwright postgres",
		"scope:project":          "",
		"nothing":                "",
	} {
		var got []string
		for _, i := range order(s, parseFilter(text), sortName, columns) {
			name := s.Lines[i].Server.Name
			if s.Lines[i].Tag != "" {
				name += "/" + s.Lines[i].Tag
			}
			got = append(got, name)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%q keeps %q, want %q", text, strings.Join(got, " "), want)
		}
	}
}

func TestSortBySeverity(t *testing.T) {
	t.Parallel()
	s := shopSnapshot(shopFive, shopRows, nil)
	var got []string
	for _, i := range order(s, filter{}, sortSeverity, []int{0, 1, 2, 3, 4}) {
		got = append(got, s.Lines[i].Server.Name)
	}
	want := "github postgres docs linear sentry brave-search context7 filesystem playwright github"
	if strings.Join(got, " ") != want {
		t.Errorf("got %q, want %q", strings.Join(got, " "), want)
	}
}

func TestComplete(t *testing.T) {
	t.Parallel()
	words := []string{"state:waits", "state:ok", "harness:codex"}
	for text, want := range map[string]string{"": "", "s": "state:", "state:o": "state:ok ", "x har": "x harness:codex ", "!state:w": "!state:waits ", "zzz": "zzz"} {
		if got := complete(text, words); got != want {
			t.Errorf("complete(%q) = %q, want %q", text, got, want)
		}
	}
}

// A newer snapshot keeps the cursor on its cell, marks what changed for four seconds, and an older one is dropped.
func TestSnapshotsReplaceEachOther(t *testing.T) {
	t.Parallel()
	now := shopTime
	s := shopSnapshot(shopFive, shopRows, nil)
	m := New(Options{Snapshot: s, Theme: ThemeMono, Now: func() time.Time { return now }})
	m.Update(tea.WindowSizeMsg{Width: 120, Height: 35})
	m.cursor = position{6, 1} // linear in Codex
	rows := append([]shopRow{{"aaa", "claude:c", ""}}, shopRows...)
	newer := shopSnapshot(shopFive, rows, nil)
	newer.Generation = 2
	m.Update(changeMsg{Change{Snapshot: newer}, true})
	if m.cursor != (position{7, 1}) {
		t.Errorf("the cursor is at %v", m.cursor)
	}
	if view := m.View(); !strings.Contains(view, "*○") {
		t.Errorf("the new cell is not marked:\n%s", view)
	}
	now = now.Add(changedFor)
	m.Update(wakeMsg{})
	if view := m.View(); strings.Contains(view, "*○") {
		t.Error("the mark stays")
	}
	m.Update(changeMsg{Change{Snapshot: s}, true})
	if m.snap != newer {
		t.Error("an older snapshot replaced a newer one")
	}
}

// A key that cannot act says why, and does nothing.
func TestKeysThatCannotActSayWhy(t *testing.T) {
	t.Parallel()
	m := shopModel(t, 120, 35, shopSnapshot(shopFive, []shopRow{{"a", "codex:c", ""}}, nil))
	for _, k := range []string{"e", "y", "r", "R", "n"} {
		m.toast = nil
		press(m, k)
		if m.toast == nil {
			t.Errorf("%q said nothing", k)
		}
	}
}

func BenchmarkKeyToFrame(b *testing.B) {
	rows := make([]shopRow, 0, 10_000)
	for i := range 10_000 {
		rows = append(rows, shopRow{fmt.Sprintf("server-%05d", i), "claude:c, codex:k3, gemini:?trust, cursor:c^, opencode:-off", ""})
	}
	m := New(Options{Snapshot: shopSnapshot(shopFive, rows, nil), Theme: ThemeDark, Now: func() time.Time { return shopTime }})
	m.Update(tea.WindowSizeMsg{Width: 200, Height: 60})
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		if i%2 == 0 {
			press(m, "j")
		} else {
			press(m, "l")
		}
		_ = m.View()
	}
}

// Letters that came in one read are keys one after the other; the rest of a torn mouse report is none, and what was typed
// ahead answers no dialog.
func TestLettersOfOneRead(t *testing.T) {
	t.Parallel()
	m := shopModel(t, 120, 35, shopSnapshot(shopFive, shopRows, nil))
	all := func(text string) { m.Update(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune(text)}) }
	m.cursor = position{0, 0}
	all("jjjl")
	if m.cursor != (position{3, 1}) {
		t.Errorf("the cursor is at %+v", m.cursor)
	}
	for _, rest := range []string{"<35;10;20M", "[<0;1;2m", ";20M"} {
		all(rest)
	}
	m.Update(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune("jj"), Alt: true})
	if m.cursor != (position{3, 1}) || m.overlay != overlayNone {
		t.Errorf("the rest of a sequence did something: %+v", m.cursor)
	}
	all("/play")
	if m.filterText != "play" || len(m.lines) != 1 {
		t.Errorf("the filter is %q, %d lines", m.filterText, len(m.lines))
	}
}

// By tokens the row whose tools take most comes first, what is not loaded after what is, what nobody listed last; cells say
// tokens instead of a number of tools.
func TestSortByTokens(t *testing.T) {
	t.Parallel()
	tokens := func(columns []*model.Column) {
		for _, col := range columns {
			for _, c := range col.Cells {
				if c.Tools != nil {
					c.Tools.Tokens = 1000*c.Tools.Offered + 230
				}
			}
		}
	}
	rows := []shopRow{{"a", "claude:c", ""}, {"b", "claude:k5, codex:k1", ""}, {"c", "claude:k7", ""}, {"d", "claude:-off", ""}, {"e", "codex:k2000", ""}}
	s := shopSnapshot(shopFive, rows, func(columns []*model.Column) {
		tokens(columns)
		columns[0].Cells[3].Tools = &model.ToolList{Offered: 90, Tokens: 90_000} // d is off, and was launched all the same
	})
	m := New(Options{Snapshot: s, Theme: ThemeMono, Now: func() time.Time { return shopTime }})
	m.Update(tea.WindowSizeMsg{Width: 120, Height: 35})
	names := func() string {
		var got []string
		for _, l := range m.lines {
			got = append(got, m.snap.Lines[l].Server.Name)
		}
		return strings.Join(got, " ")
	}
	m.Update(keyMsg("s"))
	m.Update(keyMsg("s"))
	if got := names(); got != "e c b d a" {
		t.Errorf("by tokens: %s", got)
	}
	for _, want := range []string{"● 2.0M", "● 7.2k", "● 5.2k", "● 1.2k", "– off"} {
		if !strings.Contains(m.View(), want) {
			t.Errorf("no %q in\n%s", want, m.View())
		}
	}

	// A launch that ends moves no row; a changed file sorts anew.
	newer := shopSnapshot(shopFive, rows, tokens)
	newer.Generation = 2
	for i, col := range newer.Columns {
		for j, c := range col.Cells {
			c.Definition, c.Reason = s.Columns[i].Cells[j].Definition, s.Columns[i].Cells[j].Reason
		}
	}
	newer.Columns[0].Cells[0].Tools = &model.ToolList{Offered: 1, Tokens: 9_999}
	m.Update(changeMsg{Change{Snapshot: newer}, true})
	if got := names(); got != "e c b d a" {
		t.Errorf("after a launch: %s", got)
	}
	changed := shopSnapshot(shopFive, rows[:4], tokens)
	changed.Generation = 3
	m.Update(changeMsg{Change{Snapshot: changed}, true})
	if got := names(); got != "c b a d" {
		t.Errorf("after a change: %s", got)
	}
	m.Update(keyMsg("s"))
	if got := names(); got != "a b c d" || !strings.Contains(m.View(), "● 7 ") {
		t.Errorf("by name: %s\n%s", got, m.View())
	}
}

// The pane names the line that decides once: a reason that ends with it needs no second line with the same.
func TestNamesPlace(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		text string
		line int
		want bool
	}{
		{"enabled = false in ~/.codex/config.toml:3", 3, true},
		{"enabled = false in /home/ann/.codex/config.toml:3", 3, true},
		{"~/.codex/config.toml:3 has enabled = false", 3, true},
		{"enabled = false in ~/.codex/config.toml:31", 3, false},
		{"enabled = false in ~/.codex/config.toml", 3, false},
		{"enabled = false in ~/.codex/config.toml", 0, true},
		{"switched off", 3, false},
	} {
		place := model.Location{Path: "/home/ann/.codex/config.toml", Line: test.line}
		if got := namesPlace(test.text, place, "/home/ann"); got != test.want {
			t.Errorf("%q, line %d: %v", test.text, test.line, got)
		}
	}
}

// TestSignInIsNamed: a cell that needs a sign-in says what to type in which harness, where that is known.
func TestSignInIsNamed(t *testing.T) {
	t.Parallel()
	for how, want := range map[string]bool{"codex mcp login NAME": true, "": false} {
		m := shopModel(t, 200, 60, shopSnapshot(shopFive, []shopRow{{"linear", "codex:!sign in", ""}}, func(columns []*model.Column) {
			columns[1].SignIn = how
		}))
		m.cursor = position{0, 1}
		if got := strings.Contains(m.View(), "sign in with codex mcp login linear"); got != want {
			t.Errorf("%q:\n%s", how, m.View())
		}
	}
}

// faultySource fails once and then has a change.
type faultySource struct {
	waits int
	next  *model.Snapshot
}

func (f *faultySource) Wait(context.Context) (Change, bool) {
	if f.waits++; f.waits == 1 {
		panic("a fault in the rules")
	}
	return Change{Snapshot: f.next}, true
}

func (*faultySource) Reread(...model.HarnessID) {}

// TestAFaultWhileWaiting: the panel says so and goes on following the files.
func TestAFaultWhileWaiting(t *testing.T) {
	t.Parallel()
	next := shopSnapshot(shopFive, shopRows, nil)
	next.Generation = 2
	m := New(Options{Snapshot: shopSnapshot(shopFive, shopRows, nil), Source: &faultySource{next: next}, Theme: ThemeMono,
		Now: func() time.Time { return shopTime }, Log: func(string, ...any) {}})
	m.Update(tea.WindowSizeMsg{Width: 120, Height: 35})
	_, again := m.Update(m.waitForChange()())
	if !strings.Contains(m.View(), "something went wrong inside fusebox") || again == nil {
		t.Fatalf("after a fault:\n%s", m.View())
	}
	m.Update(again())
	if m.snap != next {
		t.Error("the change after the fault is not shown")
	}
}
