package ui

import (
	"strconv"
	"strings"
)

// gridView is everything that the grid's drawing needs, ready to be drawn: it decides nothing.
type gridView struct {
	layout    gridLayout
	lines     frameLines
	head      string // what stands over the names
	columns   []headingView
	first     int       // first visible column
	rows      []rowView // the visible ones
	top       int       // index of the first visible row
	total     int       // rows in all
	cursorRow int       // index over all rows; -1 on a heading
	cursorCol int       // index over all columns; -1 on a name
	focused   bool      // the grid has the focus
	brackets  bool      // draw the cursor with characters
	match     string    // lower-case text that the filter matched
}

type headingView struct {
	text   string
	second string
	short  string // instead of second where that does not fit; "" cuts it
	role   role   // of the second line
	stale  bool
}

type rowView struct {
	name  string
	tag   string
	drift bool
	cells []cellView // of all columns
}

type cellView struct {
	symbol     string
	word       string
	symbolRole role
	wordRole   role
	finding    bool
	changed    bool
	stale      bool
	empty      bool
	marked     bool
}

// drawGrid draws headings and rows.
func drawGrid(c *canvas, g *gridView) {
	l := g.layout
	zone := l.zone()
	shown := g.columns[min(g.first, len(g.columns)):min(g.first+l.visible, len(g.columns))]
	y := g.lines.headings
	more := ""
	if rest := len(g.columns) - g.first - len(shown); rest > 0 {
		more = strconv.Itoa(rest) + " ›"
	}
	counts := y // the line that says how many columns are hidden
	if more != "" && len(shown) > 0 {
		left := l.grid - textWidth(more) - 1 - (zone + (len(shown)-1)*l.pitch + 1)
		if left < min(cellWidth, textWidth(shown[len(shown)-1].text)) && y >= 2 {
			counts, more = y-1, strconv.Itoa(len(g.columns)-g.first-len(shown))+" more ›" // beside the last heading it would cut that
		}
	}
	for i, h := range shown {
		x := zone + i*l.pitch + 1
		room := cellWidth
		if i == len(shown)-1 && more != "" && counts == y {
			room = min(room, l.grid-textWidth(more)-1-x)
		}
		r := roleTitle
		switch {
		case g.first+i == g.cursorCol:
			r = roleStrong
		case h.stale:
			r = roleDim
		}
		c.put(x, y, h.text, r, room)
		second := h.second
		if textWidth(second) > l.pitch-1 && h.short != "" {
			second = h.short
		}
		c.put(x, y+1, second, h.role, l.pitch-1)
		if g.cursorRow < 0 && g.first+i == g.cursorCol {
			drawCursor(c, x-1, y, min(cellWidth+2, l.pitch), g.brackets || !g.focused)
		}
	}
	c.put(2, y+1, g.head, roleDim, l.name)
	if g.first > 0 {
		c.put(zone-4, counts, "‹ "+strconv.Itoa(g.first), roleAccent, 4)
	}
	c.right(l.grid, counts, []run{{more, roleAccent}})
	for j, row := range g.rows {
		drawRow(c, g, row, g.top+j, g.lines.rows+j)
	}
}

func drawRow(c *canvas, g *gridView, row rowView, index, y int) {
	l := g.layout
	zone := l.zone()
	here := index == g.cursorRow
	onName := here && g.cursorCol < 0
	brackets := g.brackets || !g.focused
	r := roleText
	if here {
		c.put(0, y, "▌", roleAccent, 1)
		r = roleStrong
		if onName && !brackets {
			r = roleCursor
		}
	}
	name := fit(row.name, l.name)
	x := c.put(2, y, name, r, l.name)
	if g.match != "" && r == roleText {
		if i := strings.Index(strings.ToLower(name), g.match); i >= 0 && len(strings.ToLower(name)) == len(name) {
			c.paint(2+textWidth(name[:i]), y, textWidth(name[i:i+len(g.match)]), roleMatch)
		}
	}
	if onName && brackets {
		c.put(1, y, "[", roleAccent, 1)
		c.put(x, y, "]", roleAccent, 1)
		x++
	}
	if row.tag != "" {
		c.put(x+1, y, row.tag, roleDim, max(0, 2+l.name-x-1))
	}
	if row.drift {
		c.put(zone-2, y, "≠", roleWarn, 1)
	}
	for k := 0; k < l.visible && g.first+k < len(row.cells); k++ {
		drawCell(c, g, row.cells[g.first+k], here && g.first+k == g.cursorCol, zone+k*l.pitch, y)
	}
}

func drawCell(c *canvas, g *gridView, v cellView, on bool, x, y int) {
	brackets := g.brackets || !g.focused
	symbolRole, wordRole := v.symbolRole, v.wordRole
	if v.stale {
		symbolRole, wordRole = roleDim, roleDim
	}
	filled := on && !brackets
	if filled {
		c.fill(x, y, min(cellWidth+2, g.layout.pitch), roleCursor)
		symbolRole, wordRole = roleCursor, roleCursor
	}
	c.put(x+1, y, v.symbol, symbolRole, 1)
	end := c.put(x+3, y, v.word, wordRole, 7)
	if v.finding {
		at := x + 3
		if v.word != "" {
			at = end + 1
		}
		if at < x+1+cellWidth {
			r := roleWarn
			if filled {
				r = roleCursor
			}
			c.put(at, y, "▴", r, 1)
		}
	}
	slot := roleAccent
	if filled {
		slot = roleCursor
	}
	switch {
	case on && brackets:
		c.put(x, y, "[", roleAccent, 1)
		c.put(x+10, y, "]", roleAccent, 1)
	case v.changed:
		c.put(x, y, "*", slot, 1)
	case v.stale && !v.empty && !on:
		c.put(x, y, "~", roleDim, 1)
	case v.marked && !v.empty:
		c.put(x, y, "›", slot, 1)
	}
}

// drawCursor lays the cursor over what stands at a heading.
func drawCursor(c *canvas, x, y, width int, brackets bool) {
	if brackets {
		c.put(x, y, "[", roleAccent, 1)
		c.put(x+10, y, "]", roleAccent, 1)
		return
	}
	c.paint(x, y, width, roleCursor)
}

// drawRule draws the line between grid and pane; beside the rows it is the grid's scroll bar as well.
func drawRule(c *canvas, x, from, to, rowsAt, total, top, seen int) {
	for y := from; y < to; y++ {
		c.put(x, y, "│", roleDim, 1)
	}
	n := to - rowsAt
	if total > seen && seen > 0 && n > 0 {
		a := rowsAt + top*n/total
		b := max(a+1, rowsAt+(top+seen)*n/total)
		for y := a; y < min(b, to); y++ {
			c.put(x, y, "┃", roleText, 1)
		}
	}
}
