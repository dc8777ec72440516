package ui

import (
	"errors"
	"slices"
	"strings"
	"testing"

	tea "github.com/charmbracelet/bubbletea"

	"fusebox/model"
)

func columnModel(t *testing.T) *Model {
	t.Helper()
	m := shopModel(t, 120, 35, shopSnapshot(shopFive, shopRows, func(columns []*model.Column) { columns[3].Present = false }))
	return m
}

func titles(m *Model) string {
	var out []string
	for _, i := range m.columns {
		out = append(out, string(m.snap.Columns[i].ID))
	}
	return strings.Join(out, " ")
}

// What is on the machine has a column; H shows, hides and orders them, and remembers each change.
func TestHarnessColumns(t *testing.T) {
	t.Parallel()
	m := columnModel(t)
	var saved Columns
	m.o.SaveColumns = func(c Columns) error { saved = c; return nil }
	if got := titles(m); got != "claude codex gemini opencode" {
		t.Fatalf("at first: %s", got)
	}
	runKeys(m, "H", " ") // hides Claude
	if got := titles(m); got != "codex gemini opencode" || !slices.Equal(saved.Hidden, []model.HarnessID{"claude"}) {
		t.Errorf("hidden: %s, saved %+v", got, saved)
	}
	runKeys(m, "j", "j", "j", " ") // shows Cursor, which is not there
	if got := titles(m); got != "codex gemini cursor opencode" || !slices.Equal(saved.Shown, []model.HarnessID{"cursor"}) {
		t.Errorf("shown: %s, saved %+v", got, saved)
	}
	runKeys(m, "K", "K") // two up
	if got := titles(m); got != "cursor codex gemini opencode" {
		t.Errorf("moved: %s", got)
	}
	if view := m.View(); !strings.Contains(view, "Harness columns") || !strings.Contains(view, "not on this machine") {
		t.Errorf("the list:\n%s", view)
	}
	runKeys(m, "esc")
	if m.overlay != overlayNone {
		t.Error("esc did not close the list")
	}
	for range 4 { // the last one cannot be lost: without a column there is nothing to see
		for _, i := range m.columns {
			m.setColumns(m.prefs.flip(m.snap.Columns[i]))
		}
	}
	if len(m.columns) == 0 {
		t.Error("no column is left")
	}
}

// A path of any length that a system takes can be typed; a paste that is no path is not taken.
func TestLongTextIsTyped(t *testing.T) {
	t.Parallel()
	var line textLine
	path := "/" + strings.Repeat("a folder/", 400)
	line.key(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune(path), Paste: true})
	line.key(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune(strings.Repeat("x", 5000)), Paste: true})
	if line.text != path {
		t.Errorf("%d bytes were taken of %d", len(line.text), len(path))
	}
	m := shopModel(t, 80, 24, shopSnapshot(shopFive, shopRows, nil))
	for _, overlay := range []string{"/", ":", "P"} {
		runKeys(m, overlay)
		m.Update(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune(path), Paste: true})
		checkFits(t, m, "a long text in "+overlay)
		runKeys(m, "esc")
	}
}

// What went wrong while the list was open is said when it is closed: under it there is no room.
func TestColumnsThatAreNotRemembered(t *testing.T) {
	t.Parallel()
	m := columnModel(t)
	m.o.SaveColumns = func(Columns) error { return errors.New("columns is no table") }
	runKeys(m, "H", " ", "j", "k", "esc")
	if view := m.View(); !strings.Contains(view, "the columns are not remembered: columns is no table") {
		t.Errorf("nothing is said:\n%s", view)
	}
	runKeys(m, "j")
	if view := m.View(); strings.Contains(view, "not remembered") {
		t.Error("it stays after the next key")
	}
}

// The cursor stays on its cell when the columns change.
func TestColumnsKeepTheCursor(t *testing.T) {
	t.Parallel()
	m := columnModel(t)
	m.cursor = position{6, 3} // linear in OpenCode
	m.setColumns(Columns{Order: []model.HarnessID{"opencode"}})
	if m.cursor != (position{6, 0}) {
		t.Errorf("the cursor is at %v", m.cursor)
	}
}

type fakeFolders struct {
	opened string
}

func (f *fakeFolders) Known() []Folder {
	return []Folder{{Path: "/home/ann/code/shop"}, {Path: "/home/ann/code/atlas", KnownBy: []string{"Claude Code"}}, {Path: "/gone", Gone: true, KnownBy: []string{"Codex"}}}
}
func (f *fakeFolders) Count(path string) Folder {
	out := Folder{Path: path, Counted: true, Servers: 8}
	out.States[model.StateUnapproved] = 2
	return out
}
func (f *fakeFolders) Complete(text string) []string { return []string{text + "las"} }
func (f *fakeFolders) Open(path string) error        { f.opened = path; return nil }

// P offers the folders that the harnesses' files know, with what waits in each, and free text with completion.
func TestFolderPicker(t *testing.T) {
	t.Parallel()
	m := shopModel(t, 120, 35, shopSnapshot(shopFive, shopRows, nil))
	f := &fakeFolders{}
	m.o.Folders = f
	runKeys(m, "P")
	view := m.View()
	for _, want := range []string{"~/code/atlas", "8 servers", "? 2", "Claude Code", "folder is gone", "here"} {
		if !strings.Contains(view, want) {
			t.Errorf("the picker lacks %q:\n%s", want, view)
		}
	}
	runKeys(m, "down", "enter")
	if f.opened != "/home/ann/code/atlas" {
		t.Errorf("went to %q", f.opened)
	}
	runKeys(m, "P")
	for _, r := range "~/code/at" {
		runKeys(m, string(r))
	}
	runKeys(m, "tab")
	if m.picker.typed.text != "/home/ann/code/atlas/" {
		t.Errorf("completed to %q", m.picker.typed.text)
	}
	runKeys(m, "esc")
	if m.overlay != overlayNone {
		t.Error("esc did not close the picker")
	}
}

// Another folder is another panel: nothing in it counts as changed.
func TestAnotherFolderMarksNothing(t *testing.T) {
	t.Parallel()
	m := shopModel(t, 120, 35, shopSnapshot(shopFive, shopRows, nil))
	m.cursor = position{6, 2}
	s := shopSnapshot(shopFive, shopRows[:3], nil)
	s.Generation, s.Project = 2, "/home/ann/code/atlas"
	m.Update(changeMsg{Change{Snapshot: s}, true})
	if len(m.changed) > 0 || m.cursor != (position{}) || !strings.Contains(m.View(), "~/code/atlas") {
		t.Errorf("changed %v, cursor %v:\n%s", m.changed, m.cursor, m.View())
	}
}
