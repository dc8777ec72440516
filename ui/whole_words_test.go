package ui

import (
	"fmt"
	"strings"
	"testing"

	"fusebox/model"
)

// What is said about hidden columns does not cut the heading beside it: where there is an empty line above, it stands there.
func TestHiddenColumnsCutNoHeading(t *testing.T) {
	t.Parallel()
	s := shopSnapshot(shopFifteen, shopRows, nil)
	for _, size := range [][2]int{{200, 60}, {120, 35}, {100, 30}, {80, 24}} {
		m := shopModel(t, size[0], size[1], s)
		for range shopFifteen {
			lines := strings.Split(m.View(), "\n")
			if grid, _, _ := strings.Cut(lines[2], "│"); strings.Contains(grid, "…") {
				t.Errorf("%dx%d: a heading is cut: %q", size[0], size[1], lines[2])
			}
			if strings.Contains(lines[1], "more ›") == strings.Contains(lines[2], " ›") && m.first+m.gridLayout().visible < len(m.columns) {
				t.Errorf("%dx%d: how many are hidden stands nowhere, or twice:\n%s\n%s", size[0], size[1], lines[1], lines[2])
			}
			press(m, "l")
		}
	}
}

// The footer of an overlay drops whole keys, from the right.
func TestOverlayFootersHoldWholeKeys(t *testing.T) {
	t.Parallel()
	for _, open := range []string{"?", ":", "H"} {
		for w := 20; w <= 120; w++ {
			m := shopModel(t, w, 24, shopSnapshot(shopFive, shopRows, nil))
			press(m, open)
			lines := strings.Split(m.View(), "\n")
			if last := lines[len(lines)-1]; w >= 30 && strings.Contains(last, "…") {
				t.Errorf("%s at %d: %q", open, w, last)
			}
		}
	}
}

// The picker shows every count of a folder, however many there are, and first of all that a folder is gone.
func TestFolderCountsAreWhole(t *testing.T) {
	t.Parallel()
	m := shopModel(t, 120, 35, shopSnapshot(shopFive, shopRows, nil))
	full := Folder{Path: m.snap.Project, Counted: true, Servers: 112}
	full.States[model.StateUnapproved], full.States[model.StateUnauthenticated], full.States[model.StateError] = 110, 21, 32
	gone := Folder{Path: "/home/ann/gone", Gone: true, KnownBy: []string{"Claude Code", "Gemini CLI", "Codex", "Cursor CLI", "deepagents"}}
	m.overlay, m.picker.folders = overlayFolders, []Folder{full, gone}
	view := m.View()
	for _, want := range []string{"112 servers ? 110  ! 21  ✗ 32  here", "the folder is gone; known by Claude Code"} {
		if !strings.Contains(view, want) {
			t.Errorf("the picker lacks %q:\n%s", want, view)
		}
	}
}

// A list of harnesses keeps the end of a path, which names the file and the line; where that says nothing it is left out.
func TestListOfHarnessesKeepsTheLine(t *testing.T) {
	t.Parallel()
	line := cutLine(run{"○ ", roleText}, run{"Codex  ", roleText})
	line.place = "~/a-folder/with-a-long-name/config.toml:212"
	for width, want := range map[int]string{80: "○ Codex  ~/a-folder/with-a-long-name/config.toml:212", 26: "○ Codex  …/config.toml:212", 12: "○ Codex  "} {
		got := ""
		for _, r := range breakPaneLine(line, width)[0] {
			got += r.text
		}
		if got != want {
			t.Errorf("in %d cells: %q, want %q", width, got, want)
		}
	}
}

// A button is not cut where only blanks would be.
func TestButtonEndsWithoutDots(t *testing.T) {
	t.Parallel()
	m, l, _ := dialogModel(t, 40, 15)
	l.plan = LaunchPlan{}
	for i := range 15 {
		l.plan.Items = append(l.plan.Items, LaunchItem{Name: fmt.Sprintf("server%d", i), Command: "a-long-command with-an-argument", Harnesses: []string{"Codex"}})
	}
	runKeys(m, "X")
	if view := m.View(); !strings.Contains(view, "Yes, start 15 servers ") || !strings.Contains(view, "│        with-an-argument") {
		t.Errorf("the button, or what is broken off:\n%s", view)
	}
}

// A footer offers no key that does nothing: in the pane there is nothing further to enter.
func TestPaneOffersNoEnter(t *testing.T) {
	t.Parallel()
	for _, w := range []int{120, 80, 40} {
		m := shopModel(t, w, 24, shopSnapshot(shopFive, shopRows, nil))
		press(m, "enter")
		lines := strings.Split(m.View(), "\n")
		if last := lines[len(lines)-1]; !strings.Contains(last, "esc back") || strings.Contains(last, "enter") {
			t.Errorf("at %d: %q", w, last)
		}
	}
}

// The help says what its star means; where nothing writes there is no star.
func TestHelpExplainsItsStar(t *testing.T) {
	t.Parallel()
	m := shopModel(t, 120, 35, shopSnapshot(shopFive, shopRows, nil))
	press(m, "?")
	if !strings.Contains(m.View(), "asks first, preset No") {
		t.Errorf("the star is not explained:\n%s", m.View())
	}
	read := New(Options{Snapshot: m.snap, Theme: ThemeMono, Now: m.o.Now, ReadOnly: true})
	read.w, read.h = 120, 35
	press(read, "?")
	if strings.Contains(read.View(), "asks first") {
		t.Errorf("a star is explained that is not there:\n%s", read.View())
	}
}

// The list of columns says why all are shown although none is chosen; an empty home says what can be looked at.
func TestEmptyHomeSaysWhatNext(t *testing.T) {
	t.Parallel()
	s := shopSnapshot(shopFive, nil, func(columns []*model.Column) {
		for _, c := range columns {
			c.Present = false
		}
	})
	for _, size := range [][2]int{{120, 35}, {40, 15}} {
		m := shopModel(t, size[0], size[1], s)
		if view := m.View(); !strings.Contains(view, "--demo") || strings.Contains(view, "…") {
			t.Errorf("%v:\n%s", size, view)
		}
	}
	m := shopModel(t, 120, 35, s)
	if why := m.against(actionTools); why != "there is no server here, and so no tool" {
		t.Errorf("t says %q", why)
	}
	press(m, "H")
	if view := m.View(); !strings.Contains(view, "none is chosen: all are shown") {
		t.Errorf("the columns:\n%s", view)
	}
}

// A rule that was seen on no version names none; what no file tells is a list.
func TestColumnWithoutAVersion(t *testing.T) {
	t.Parallel()
	m := shopModel(t, 120, 35, shopSnapshot(shopFive, shopRows, func(columns []*model.Column) {
		columns[0].Verified, columns[0].VersionChecked = model.VerifiedDocs, ""
		columns[0].BlindSpots = []model.BlindSpot{{Code: "flags", Text: "flags of one session, which nobody but the session itself can know"}}
	}))
	m.cursor = position{-1, 0}
	view := m.View()
	if strings.Contains(view, "version") || !strings.Contains(view, "unseen · flags of one session") || !strings.Contains(view, "│          ") {
		t.Errorf("the column:\n%s", view)
	}
}

// The line over the footer names the harness once.
func TestWhyLineNamesTheHarnessOnce(t *testing.T) {
	t.Parallel()
	m := shopModel(t, 80, 24, shopSnapshot(shopFive, shopRows, func(columns []*model.Column) {
		for _, c := range columns[0].Cells {
			c.Reason.Text = "Claude Code asks before it starts it"
		}
	}))
	m.cursor = position{2, 0}
	if view := m.View(); strings.Count(view, "Claude Code") != 1 || !strings.Contains(view, "docs  Claude Code asks") {
		t.Errorf("the line:\n%s", view)
	}
}

// The key at the end of a toast is not pushed off the line: what was written is cut before what was done.
func TestToastKeepsItsKey(t *testing.T) {
	t.Parallel()
	rs := []run{{"✓ ", roleOK}, {"context7 is off in Codex", roleText}, {"   wrote ~/.codex/config.toml, 1 line added", roleDim}, {"   ", roleText}, {"u", roleAccent}, {" undo", roleDim}}
	for width, want := range map[int]string{100: "✓ context7 is off in Codex   wrote ~/.codex/config.toml, 1 line added   u undo",
		60: "✓ context7 is off in Codex   wrote ~/.codex/config…   u undo", 36: "✓ context7 is off in Codex   u undo", 30: "✓ context7 is off in…   u undo"} {
		got := ""
		for _, r := range fitToast(rs, width) {
			got += r.text
		}
		if textWidth(got) > width || !strings.HasSuffix(got, "   u undo") || width != 36 && got != want {
			t.Errorf("in %d cells: %q, want %q", width, got, want)
		}
	}
	plain := []run{{"· ", roleDim}, {"there is nothing to launch here", roleText}}
	if got := fitToast(plain, 10); len(got) != 2 || got[1].text != plain[1].text {
		t.Errorf("a toast without a key: %v", got)
	}
}
