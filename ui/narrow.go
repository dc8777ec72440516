package ui

import (
	"strconv"

	"fusebox/model"
)

// Narrow windows show one harness at a time: a line per definition that it has, the cell written out.

// narrowLines are the shown lines that the cursor's harness has.
func (m *Model) narrowLines() []int {
	col := m.columns[max(0, min(m.cursor.col, len(m.columns)-1))]
	var out []int
	for i, l := range m.lines {
		if m.snap.Lines[l].Cells[col] != nil {
			out = append(out, i)
		}
	}
	return out
}

const narrowTop = 3

func (m *Model) narrowRoom() int { return max(1, m.h-narrowTop-3) }

// moveNarrow moves among the rows that the harness has.
func (m *Model) moveNarrow(a action) {
	rows := m.narrowLines()
	at := 0
	for i, r := range rows {
		if r <= m.cursor.row {
			at = i
		}
	}
	at = moved(a, at, m.narrowRoom(), len(rows)-1)
	if len(rows) > 0 {
		m.cursor.row = rows[max(0, min(at, len(rows)-1))]
	}
}

// narrowRowAt returns the row (index into the shown lines) on a line of the screen, or -1.
func (m *Model) narrowRowAt(y int) int {
	rows := m.narrowLines()
	at := 0
	for i, r := range rows {
		if r == m.cursor.row {
			at = i
		}
	}
	top := scrollTo(min(m.top, max(0, len(rows)-1)), at, m.narrowRoom(), len(rows))
	if i := top + y - narrowTop; y >= narrowTop && i < len(rows) && y < narrowTop+m.narrowRoom() {
		return rows[i]
	}
	return -1
}

func (m *Model) drawNarrow(c *canvas) {
	m.cursor.col = max(0, m.cursor.col)
	rows := m.narrowLines()
	at := -1
	for i, r := range rows {
		if r == m.cursor.row {
			at = i
		}
	}
	if at < 0 && len(rows) > 0 { // the cursor's row is not in this harness: the nearest that is
		at = 0
		for i, r := range rows {
			if r <= m.cursor.row {
				at = i
			}
		}
		m.cursor.row = rows[at]
	}
	col := m.column()
	m.drawHeader(c, "", m.headerRight())
	h := m.headingView(m.columns[m.cursor.col])
	second := h.second
	r := h.role
	position := strconv.Itoa(m.cursor.col+1) + " of " + strconv.Itoa(len(m.columns))
	c.runs(2, 1, []run{{"‹ ", roleAccent}, {fit(col.Title, m.w-12-textWidth(position)), roleTitle}, {" ›", roleAccent}, {"  " + second, r}}, m.w-5-textWidth(position))
	c.right(m.w-2, 1, []run{{position, roleDim}})
	m.top = scrollTo(min(m.top, max(0, len(rows)-1)), at, m.narrowRoom(), len(rows))
	for i := 0; i < m.narrowRoom() && m.top+i < len(rows); i++ {
		m.drawNarrowRow(c, &m.snap.Lines[m.lines[rows[m.top+i]]], m.top+i == at, narrowTop+i)
	}
	if len(rows) == 0 {
		c.put(2, narrowTop, "no server here", roleDim, m.w-4)
	}
	if len(rows) > m.narrowRoom() {
		drawRule(c, m.w-1, narrowTop, narrowTop+m.narrowRoom(), narrowTop, len(rows), m.top, m.narrowRoom())
	}
	if len(rows) > 0 {
		c.runs(2, m.h-2, m.narrowWhy(), m.w-4)
	}
	m.drawFooter(c, m.hints(), "")
}

func (m *Model) drawNarrowRow(c *canvas, line *model.Line, here bool, y int) {
	i := m.columns[m.cursor.col]
	cell, col := line.Cells[i], m.snap.Columns[i]
	v := m.cellView(cell, col)
	nameWidth, words := 15, m.narrowWords(cell)
	if m.w < 40 { // no room to write the cell out: its word is never cut, the name is
		nameWidth, words = min(15, m.w-14), v.word
	}
	nameRole := roleText
	symbolRole, wordRole := v.symbolRole, v.wordRole
	if v.stale {
		symbolRole, wordRole = roleDim, roleDim
	}
	if here {
		nameRole = roleStrong
		c.put(0, y, "▌", roleAccent, 1)
	}
	name := m.name(line.Server.Name)
	drift := line.Server.Drift()
	if drift {
		name = fit(name, nameWidth-2)
	}
	x := c.put(2, y, name, nameRole, nameWidth)
	if drift {
		c.put(x+1, y, "≠", nameRole, 1)
	}
	at := 2 + nameWidth + 1
	if here {
		if m.brackets() {
			c.put(at, y, "[", roleAccent, 1)
		} else {
			c.fill(at, y, m.w-at, roleCursor)
			symbolRole, wordRole = roleCursor, roleCursor
		}
	}
	c.put(at+1, y, v.symbol, symbolRole, 1)
	end := c.put(at+3, y, words, wordRole, m.w-at-4)
	switch {
	case here && m.brackets():
		c.put(end, y, "]", roleAccent, 1)
	case v.changed:
		c.put(at, y, "*", roleAccent, 1)
	case v.stale:
		c.put(at, y, "~", roleDim, 1)
	}
}

// narrowWords writes a cell out.
func (m *Model) narrowWords(cell *model.Cell) string {
	switch cell.State() {
	case model.StateOK:
		if cell.Tools != nil {
			return count(cell.Tools.Offered, "tool")
		}
	case model.StateConfigured:
		return "not tried yet"
	}
	return cell.StateWords(m.o.Now())
}

func (m *Model) narrowWhy() []run {
	cell := m.cell()
	if cell == nil {
		return nil
	}
	at := cell.OpenAt()
	place := "line " + strconv.Itoa(at.Line)
	why := m.text(cell.StateReason().Text)
	if why == "" {
		why = m.path(at.Path)
	}
	return []run{{fit(why, max(8, m.w-6-textWidth(place))) + "  ", roleText}, {place, roleDim}}
}

// drawDetail draws the pane over the full width.
func (m *Model) drawDetail(c *canvas) {
	hints := m.hints()
	if h, ok := m.keys.hint(actionBack, "back"); ok {
		hints = append([]hint{h}, hints...)
	}
	m.drawDetailWith(c, m.describe(), hints)
}

func (m *Model) drawDetailWith(c *canvas, p paneView, hints []hint) {
	crumb := ""
	for _, r := range p.title {
		crumb += r.text
	}
	m.drawHeader(c, crumb, []run{{m.position(), roleDim}})
	top := 1
	if m.h >= topLineFrom {
		top = 2
	}
	height := m.h - 1 - top - 1
	total := drawPane(c, &p, 2, top, m.w-4, height, m.paneOffset)
	if over := max(0, total-height); m.paneOffset > over {
		m.paneOffset = over
		m.drawDetailWith(resetCanvas(c), p, hints)
		return
	}
	if total > height {
		drawRule(c, m.w-1, top, top+height, top, total, m.paneOffset, height)
	}
	right := "← → other harness"
	if m.w < narrowBelow {
		right = ""
	}
	m.drawFooter(c, hints, right)
}
