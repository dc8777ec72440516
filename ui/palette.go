package ui

import (
	"strconv"
	"strings"

	tea "github.com/charmbracelet/bubbletea"
)

// palette lists every action by name, with its key or the reason why it cannot run now.
type palette struct {
	typed textLine
	row   int
}

type paletteRow struct {
	title  string
	key    string
	why    string
	action action
}

// paletteRows returns the actions whose names hold every typed word, those that can run first.
func (m *Model) paletteRows() (rows []paletteRow, total int) {
	var blocked []paletteRow
	words := strings.Fields(strings.ToLower(m.palette.typed.text))
	for _, b := range m.keys.rows {
		if b.title == "" {
			continue
		}
		total++
		title := strings.ToLower(b.title + " " + b.show)
		fits := true
		for _, w := range words {
			fits = fits && strings.Contains(title, w)
		}
		if !fits {
			continue
		}
		row := paletteRow{b.title, b.show, m.against(b.action), b.action}
		if row.why != "" {
			blocked = append(blocked, row)
			continue
		}
		rows = append(rows, row)
	}
	return append(rows, blocked...), total
}

func (m *Model) paletteKey(k tea.KeyMsg) tea.Cmd {
	rows, _ := m.paletteRows()
	switch k.Type {
	case tea.KeyEsc:
		m.overlay = overlayNone
		return nil
	case tea.KeyUp, tea.KeyCtrlP:
		m.palette.row = max(0, m.palette.row-1)
	case tea.KeyDown, tea.KeyCtrlN, tea.KeyTab:
		m.palette.row = max(0, min(m.palette.row+1, len(rows)-1))
	case tea.KeyEnter:
		m.overlay = overlayNone
		if m.palette.row < len(rows) {
			return m.act(rows[m.palette.row].action)
		}
	default:
		if m.palette.typed.key(k) {
			m.palette.row = 0
		}
	}
	return nil
}

func (m *Model) drawPalette(c *canvas) {
	c.fade()
	rows, total := m.paletteRows()
	width := min(76, m.w-2)
	height := min(15, m.h-2)
	x, y := (m.w-width)/2, min(3, max(0, m.h-1-height))
	c.box(x, y, width, height, roleDim)
	c.runs(x+3, y+1, []run{{": ", roleAccent}, {fitLeft(m.palette.typed.text, width-10), roleText}, {"▌", roleAccent}}, width-6)
	room := max(1, height-7)
	top := scrollTo(0, m.palette.row, room, len(rows))
	words := strings.Fields(strings.ToLower(m.palette.typed.text))
	for i := 0; i < room && top+i < len(rows); i++ {
		row := rows[top+i]
		ry := y + 3 + i
		right, r := row.key, roleAccent
		if row.why != "" {
			right, r = row.why, roleDim
		}
		right = fit(right, width-10-min(textWidth(row.title), 36))
		titleRole := roleText
		switch {
		case top+i == m.palette.row:
			c.put(x+1, ry, "▌", roleAccent, 1)
			titleRole = roleStrong
		case row.why != "":
			titleRole = roleDim
		}
		c.put(x+3, ry, row.title, titleRole, width-8-textWidth(right))
		if len(words) > 0 && titleRole == roleText {
			if at := strings.Index(strings.ToLower(row.title), words[0]); at >= 0 {
				c.paint(x+3+at, ry, len(words[0]), roleMatch)
			}
		}
		c.right(x+width-3, ry, []run{{right, r}})
	}
	if height >= 12 {
		text := strconv.Itoa(len(rows)) + " of " + count(total, "action")
		if more := "; dim ones cannot run now and say why"; textWidth(text+more) <= width-6 {
			text += more
		}
		c.put(x+3, y+height-3, text, roleDim, width-6)
	}
	m.drawOverlayFooter(c, []hint{{"enter", "do it", actionNone}, {"↑ ↓", "choose", actionNone}, {"esc", "close", actionNone}})
}

// drawFilter draws the line that is typed in the footer's place, and what can be typed over it.
func (m *Model) drawFilter(c *canvas) {
	c.fill(0, c.h-2, c.w, roleText)
	c.fill(0, c.h-1, c.w, roleText)
	c.put(2, c.h-2, "state:waits  harness:codex  scope:project  !word", roleDim, c.w-4)
	right := []run{{strconv.Itoa(len(m.lines)) + " of " + strconv.Itoa(len(m.snap.Lines)), roleDim}}
	long := append([]run{{"enter", roleAccent}, {" keep  ", roleDim}, {"esc", roleAccent}, {" clear  ", roleDim}, {"tab", roleAccent},
		{" complete   ", roleDim}}, right...)
	if c.w >= narrowBelow+20 {
		right = long
	}
	start := c.right(c.w-2, c.h-1, right)
	c.runs(2, c.h-1, []run{{"/ ", roleAccent}, {fitLeft(m.typed.text, start-7), roleText}, {"▌", roleAccent}}, start-3)
}
