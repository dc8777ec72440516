package ui

import (
	"strconv"
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"fusebox/model"
)

// Folders knows the folders that the panel may be about. Its methods are called from commands.
type Folders interface {
	// Known returns the folders that the harnesses' own files name, and the home folder, without what is in them.
	Known() []Folder
	// Count looks at one folder; it starts nothing there.
	Count(path string) Folder
	// Complete returns the folders whose paths begin with the text, at most a handful.
	Complete(text string) []string
	// Open makes the panel be about a folder; what is there comes from the Source.
	Open(path string) error
}

// Folder is a folder with what waits in it.
type Folder struct {
	Path    string
	KnownBy []string // titles of the harnesses whose files name it
	Gone    bool     // it does not exist any more
	Counted bool
	Servers int
	States  [model.StateLaunching + 1]int
}

// folderPicker is the state of the picker.
type folderPicker struct {
	typed   textLine
	row     int
	folders []Folder
}

type (
	foldersMsg       struct{ folders []Folder }
	folderCountedMsg struct{ folder Folder }
	completedMsg     struct{ text string }
	folderOpenedMsg  struct{ err error }
)

func (m *Model) openFolders() tea.Cmd {
	m.overlay = overlayFolders
	m.picker = folderPicker{}
	folders := m.o.Folders
	return m.guarded(func() tea.Msg { return foldersMsg{folders.Known()} })
}

// countNext counts one folder after another: the panel stays quick however many there are.
func (m *Model) countNext() tea.Cmd {
	if m.overlay != overlayFolders {
		return nil
	}
	folders := m.o.Folders
	for _, f := range m.picker.folders {
		if !f.Counted && !f.Gone {
			path := f.Path
			return m.guarded(func() tea.Msg { return folderCountedMsg{folders.Count(path)} })
		}
	}
	return nil
}

func (m *Model) folderCounted(f Folder) tea.Cmd {
	for i := range m.picker.folders {
		if m.picker.folders[i].Path == f.Path {
			f.KnownBy, f.Counted = m.picker.folders[i].KnownBy, true
			m.picker.folders[i] = f
		}
	}
	return m.countNext()
}

// pickable are the folders whose path holds the typed text.
func (m *Model) pickable() []Folder {
	var out []Folder
	text := strings.ToLower(m.picker.typed.text)
	for _, f := range m.picker.folders {
		if text == "" || strings.Contains(strings.ToLower(f.Path), text) || strings.Contains(strings.ToLower(model.Tilde(f.Path, m.snap.Home)), text) {
			out = append(out, f)
		}
	}
	return out
}

func (m *Model) foldersKey(k tea.KeyMsg) tea.Cmd {
	rows := m.pickable()
	switch k.Type {
	case tea.KeyEsc:
		m.overlay = overlayNone
	case tea.KeyUp, tea.KeyCtrlP:
		m.picker.row--
	case tea.KeyDown, tea.KeyCtrlN:
		m.picker.row++
	case tea.KeyTab:
		folders, text := m.o.Folders, m.expandHome(m.picker.typed.text)
		return m.guarded(func() tea.Msg { return completedMsg{common(text, folders.Complete(text))} })
	case tea.KeyEnter:
		path := m.expandHome(m.picker.typed.text)
		if m.picker.row < len(rows) {
			path = rows[m.picker.row].Path
		}
		if path == "" {
			return nil
		}
		m.overlay = overlayNone
		folders := m.o.Folders
		return m.guarded(func() tea.Msg { return folderOpenedMsg{folders.Open(path)} })
	default:
		if m.picker.typed.key(k) {
			m.picker.row = 0
		}
	}
	m.picker.row = max(0, min(m.picker.row, len(m.pickable())-1))
	return nil
}

func (m *Model) expandHome(text string) string {
	if text == "~" {
		return m.snap.Home
	}
	if rest, ok := strings.CutPrefix(text, "~/"); ok {
		return m.snap.Home + "/" + rest
	}
	return text
}

// common is what all of the folders begin with, the text itself where there is none; a single one gets a slash.
func common(text string, folders []string) string {
	if len(folders) == 0 {
		return text
	}
	head := folders[0]
	for _, f := range folders[1:] {
		for !strings.HasPrefix(f, head) {
			head = head[:len(head)-1]
		}
	}
	if len(folders) == 1 {
		head += "/"
	}
	return head
}

func (m *Model) drawFolders(c *canvas) {
	c.fade()
	rows := m.pickable()
	width := min(88, m.w-2)
	height := min(15, m.h-2)
	x, y := (m.w-width)/2, min(3, max(0, m.h-1-height))
	c.box(x, y, width, height, roleDim)
	typed := model.Tilde(m.picker.typed.text, m.snap.Home)
	c.runs(x+3, y+1, []run{{"folder ", roleDim}, {fitLeft(typed, width-16), roleText}, {"▌", roleAccent}}, width-6)
	room := max(1, height-6)
	top := scrollTo(0, m.picker.row, room, len(rows))
	who := x + 60 // behind the widest counts
	for i := 0; i < room && top+i < len(rows); i++ {
		who = max(who, x+folderCounts+runsWidth(countsOf(&rows[top+i])))
	}
	for i := 0; i < room && top+i < len(rows); i++ {
		m.drawFolder(c, &rows[top+i], top+i == m.picker.row, x, y+3+i, width, who)
	}
	if len(rows) == 0 {
		text := "no known folder matches; enter goes to what is typed"
		if m.picker.folders == nil {
			text = "reading the harnesses' files"
		}
		c.put(x+3, y+3, text, roleDim, width-6)
	}
	if height >= 12 {
		c.put(x+3, y+height-2, "From the harnesses' own files. Looking starts nothing there.", roleDim, width-6)
	}
	m.drawOverlayFooter(c, []hint{{"enter", "go", actionNone}, {"tab", "complete", actionNone}, {"↑ ↓", "choose", actionNone}, {"esc", "stay", actionNone}})
}

const (
	folderName   = 30                 // cells of a path where its counts stand beside it
	folderCounts = 3 + folderName + 2 // from the box's edge to the counts
)

// countsOf is how many servers a folder has, and what of them needs a person.
func countsOf(f *Folder) []run {
	if f.Gone || !f.Counted {
		return nil
	}
	out := []run{{padRight(count(f.Servers, "server"), 12), roleDim}}
	for _, s := range []model.State{model.StateUnapproved, model.StateUnauthenticated, model.StateError} {
		if n := f.States[s]; n > 0 {
			st := styleOf(s)
			out = append(out, run{st.symbol, st.symbolRole}, run{" " + strconv.Itoa(n) + "  ", roleText})
		}
	}
	return out
}

func (m *Model) drawFolder(c *canvas, f *Folder, here bool, x, y, width, whoAt int) {
	r := roleText
	if f.Gone {
		r = roleDim
	}
	if here {
		c.put(x+1, y, "▌", roleAccent, 1)
		r = roleStrong
	}
	nameWidth := folderName
	if width < 80 {
		nameWidth = width - 8
	}
	c.put(x+3, y, fitLeft(model.Clean(model.Tilde(f.Path, m.snap.Home)), nameWidth), r, nameWidth)
	if width < 80 {
		return
	}
	at := x + folderCounts
	switch {
	case f.Gone:
		whoAt = at
	case !f.Counted:
		c.put(at, y, "…", roleDim, 1)
	default:
		c.runs(at, y, countsOf(f), whoAt-at)
	}
	who := strings.Join(f.KnownBy, ", ")
	switch {
	case f.Path == m.snap.Project:
		who = "here"
	case f.Gone:
		who = "the folder is gone; known by " + who
	}
	c.put(whoAt, y, who, roleDim, x+width-3-whoAt)
}
