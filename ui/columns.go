package ui

import (
	"slices"
	"strconv"

	tea "github.com/charmbracelet/bubbletea"

	"fusebox/model"
)

// Columns says which harnesses have a column, by id. Those on this machine have one unless it is hidden; others have none
// unless it is shown.
type Columns struct {
	Hidden []model.HarnessID
	Shown  []model.HarnessID
	Order  []model.HarnessID // first these, then the others in the order of the registry
}

// pick returns the shown columns of a snapshot in their order, as indices; all that are not hidden where none is left.
func (p Columns) pick(s *model.Snapshot) []int {
	var out []int
	for _, i := range p.all(s) {
		if p.visible(s.Columns[i]) {
			out = append(out, i)
		}
	}
	if len(out) == 0 {
		for i := range s.Columns {
			out = append(out, i)
		}
	}
	return out
}

func (p Columns) visible(c *model.Column) bool {
	if slices.Contains(p.Hidden, c.ID) {
		return false
	}
	return c.Present || slices.Contains(p.Shown, c.ID)
}

// all returns every column in the chosen order.
func (p Columns) all(s *model.Snapshot) []int {
	out := make([]int, 0, len(s.Columns))
	for _, id := range p.Order {
		for i, c := range s.Columns {
			if c.ID == id && !slices.Contains(out, i) {
				out = append(out, i)
			}
		}
	}
	for i := range s.Columns {
		if !slices.Contains(out, i) {
			out = append(out, i)
		}
	}
	return out
}

// flip hides a harness that is shown and shows one that is not.
func (p Columns) flip(c *model.Column) Columns {
	show := !p.visible(c)
	p.Hidden, p.Shown = without(p.Hidden, c.ID), without(p.Shown, c.ID)
	switch {
	case show && !c.Present:
		p.Shown = append(p.Shown, c.ID)
	case !show && c.Present:
		p.Hidden = append(p.Hidden, c.ID)
	}
	return p
}

// move puts a harness one place up or down in the order of all.
func (p Columns) move(s *model.Snapshot, at, delta int) (Columns, int) {
	order := p.all(s)
	to := at + delta
	if at < 0 || at >= len(order) || to < 0 || to >= len(order) {
		return p, at
	}
	order[at], order[to] = order[to], order[at]
	p.Order = nil
	for _, i := range order {
		p.Order = append(p.Order, s.Columns[i].ID)
	}
	return p, to
}

func without(list []model.HarnessID, id model.HarnessID) []model.HarnessID {
	return slices.DeleteFunc(slices.Clone(list), func(x model.HarnessID) bool { return x == id })
}

type columnsSavedMsg struct{ err error }

// setColumns takes other columns in and keeps the cursor on its cell.
func (m *Model) setColumns(p Columns) {
	m.prefs = p
	at := m.cursorKey()
	m.columns = p.pick(m.snap)
	m.first = 0
	m.reorderAround(at)
}

// columnsKey handles a key in the list of harnesses.
func (m *Model) columnsKey(a action, k tea.KeyMsg) tea.Cmd {
	order := m.prefs.all(m.snap)
	switch k.String() {
	case "K", "shift+up":
		p, to := m.prefs.move(m.snap, m.columnRow, -1)
		m.columnRow = to
		m.setColumns(p)
		return m.saveColumns()
	case "J", "shift+down":
		p, to := m.prefs.move(m.snap, m.columnRow, 1)
		m.columnRow = to
		m.setColumns(p)
		return m.saveColumns()
	}
	switch a {
	case actionToggle, actionEnter:
		p := m.prefs.flip(m.snap.Columns[order[m.columnRow]])
		m.setColumns(p)
		return m.saveColumns()
	case actionUp:
		m.columnRow--
	case actionDown:
		m.columnRow++
	case actionFirst:
		m.columnRow = 0
	case actionLast:
		m.columnRow = len(order) - 1
	case actionBack, actionQuit, actionColumns:
		m.overlay = overlayNone
	}
	m.columnRow = max(0, min(m.columnRow, len(order)-1))
	return nil
}

// saveColumns remembers the columns for the next time.
func (m *Model) saveColumns() tea.Cmd {
	if m.o.SaveColumns == nil {
		return nil
	}
	save, p := m.o.SaveColumns, m.prefs
	return m.guarded(func() tea.Msg { return columnsSavedMsg{save(p)} })
}

func (m *Model) drawColumns(c *canvas) {
	c.fade()
	order := m.prefs.all(m.snap)
	width := min(64, m.w-2)
	room := max(1, min(len(order), m.h-7))
	height := room + 5
	x, y := (m.w-width)/2, max(0, min(3, m.h-1-height))
	c.box(x, y, width, height, roleDim)
	shown := strconv.Itoa(len(m.columns)) + " shown"
	if !slices.ContainsFunc(m.snap.Columns, m.prefs.visible) {
		shown = "none is chosen: all are shown"
	}
	c.runs(x+3, y+1, []run{{"Harness columns", roleTitle}, {"   " + shown, roleDim}}, width-6)
	top := scrollTo(0, m.columnRow, room, len(order))
	for i := 0; i < room && top+i < len(order); i++ {
		col := m.snap.Columns[order[top+i]]
		ry := y + 3 + i
		mark, r := "[ ] ", roleDim
		if m.prefs.visible(col) {
			mark, r = "[x] ", roleText
		}
		if top+i == m.columnRow {
			c.put(x+1, ry, "▌", roleAccent, 1)
			r = roleStrong
		}
		at := c.runs(x+3, ry, []run{{mark, roleAccent}, {col.Title, r}}, width-6)
		note := "not on this machine"
		if col.Present {
			note = count(m.tallies[order[top+i]].servers, "server") + " here"
		}
		if at+2+textWidth(note) <= x+width-3 {
			c.right(x+width-3, ry, []run{{note, roleDim}})
		}
	}
	if len(order) > room {
		drawRule(c, x+width-1, y+3, y+3+room, y+3, len(order), top, room)
	}
	m.drawOverlayFooter(c, []hint{{"space", "show or hide", actionNone}, {"esc", "close", actionNone}, {"J K", "move it down, up", actionNone}})
}
