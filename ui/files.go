package ui

import (
	"strconv"

	"fusebox/model"
)

const (
	filesTop    = 4  // line of the first row
	filesDetail = 10 // lines kept for the detail below the list
)

func (m *Model) openFiles() {
	m.view = viewFiles
	m.fileRow, m.fileTop = 0, 0
	col := m.filesColumn()
	for i, f := range col.Files { // what is wrong first
		if f.Status == model.FileMalformed || f.Status == model.FileRefused {
			m.fileRow = i
			return
		}
	}
	for i, f := range col.Files {
		if f.Status == model.FileRead {
			m.fileRow = i
			return
		}
	}
}

// filesColumn is the harness whose files are shown: the one of the cursor.
func (m *Model) filesColumn() *model.Column {
	if col := m.column(); col != nil {
		return col
	}
	return m.snap.Columns[m.columns[0]]
}

func (m *Model) selectedFile() *model.File {
	files := m.filesColumn().Files
	if m.fileRow < 0 || m.fileRow >= len(files) {
		return nil
	}
	return &files[m.fileRow]
}

func (m *Model) moveFiles(a action, step int) {
	n := len(m.filesColumn().Files)
	if a == actionLeft || a == actionRight {
		m.nextHarness(a)
		m.fileRow, m.fileTop = 0, 0
		return
	}
	m.fileRow = moved(a, m.fileRow, step, n-1)
	m.fileRow = max(0, min(m.fileRow, n-1))
}

func (m *Model) clickFile(y int) {
	row := m.fileTop + y - m.filesStart()
	if row >= 0 && row < len(m.filesColumn().Files) && y >= m.filesStart() && y < m.filesStart()+m.fileRows() {
		m.fileRow = row
	}
}

// filesStart is the line of the first file; low windows have no empty lines to spare.
func (m *Model) filesStart() int {
	if m.h >= topLineFrom {
		return filesTop
	}
	return 2
}

// fileRows is how many files are on the screen at once.
func (m *Model) fileRows() int {
	room := m.h - m.filesStart() - 1
	if m.h >= topLineFrom {
		room -= filesDetail
	}
	return max(1, min(room, len(m.filesColumn().Files)))
}

// fileColumns are where the columns of the list stand; a narrow window has fewer.
type fileColumns struct{ path, pathWidth, scope, status, gives int }

func layoutFiles(width int) fileColumns {
	switch {
	case width >= 110:
		return fileColumns{4, 38, 44, 54, 65}
	case width >= 80:
		return fileColumns{4, 34, 40, 50, 61}
	case width >= narrowBelow:
		return fileColumns{4, width - 4 - 12 - 2, 0, width - 12, 0}
	default:
		return fileColumns{4, width - 6, 0, 0, 0}
	}
}

func (m *Model) drawFiles(c *canvas) {
	col := m.filesColumn()
	m.fileRow = max(0, min(m.fileRow, len(col.Files)-1))
	m.drawHeader(c, col.Title+" › files", m.fileCounts(col))
	at := layoutFiles(m.w)
	y := m.filesStart()
	if m.h >= topLineFrom {
		c.put(at.path, 2, "file", roleDim, at.pathWidth)
		if at.scope > 0 {
			c.put(at.scope, 2, "scope", roleDim, 9)
		}
		if at.status > 0 {
			c.put(at.status, 2, "status", roleDim, 10)
		}
		if at.gives > 0 {
			c.put(at.gives, 2, "what it gives", roleDim, m.w-at.gives-2)
		}
	}
	visible := m.fileRows()
	m.fileTop = scrollTo(m.fileTop, m.fileRow, visible, len(col.Files))
	for i := 0; i < visible && m.fileTop+i < len(col.Files); i++ {
		m.drawFile(c, col, m.fileTop+i, y+i, at)
	}
	if len(col.Files) > visible {
		drawRule(c, m.w-1, y, y+visible, y, len(col.Files), m.fileTop, visible)
	}
	if f := m.selectedFile(); f != nil && m.h >= topLineFrom {
		m.drawFileDetail(c, col, f, y+visible+1)
	}
	var hints []hint
	for _, x := range []struct {
		a     action
		label string
	}{{actionEdit, "open"}, {actionCopyPlace, "copy path"}, {actionReread, "read again"}} {
		if h, ok := m.keys.hint(x.a, x.label); ok && m.against(x.a) == "" {
			hints = append(hints, h)
		}
	}
	hints = append(hints, hint{"← →", "other harness", actionRight})
	if h, ok := m.keys.hint(actionBack, "back"); ok {
		hints = append(hints, h)
	}
	m.drawFooter(c, hints, strconv.Itoa(min(m.fileRow+1, len(col.Files)))+" of "+strconv.Itoa(len(col.Files)))
}

func (m *Model) fileCounts(col *model.Column) []run {
	n := map[model.FileStatus]int{}
	for _, f := range col.Files {
		n[f.Status]++
	}
	out := []run{{count(len(col.Files), "place"), roleText}}
	for _, x := range []struct {
		s model.FileStatus
		r role
	}{{model.FileRead, roleDim}, {model.FileMalformed, roleBad}, {model.FileRefused, roleBad}, {model.FileIgnored, roleWarn}} {
		if n[x.s] > 0 {
			out = append(out, run{"   ", roleText}, run{strconv.Itoa(n[x.s]) + " " + string(x.s), x.r})
		}
	}
	return out
}

func fileSign(s model.FileStatus) run {
	switch s {
	case model.FileRead:
		return run{"✓", roleOK}
	case model.FileMalformed, model.FileRefused:
		return run{"✗", roleBad}
	case model.FileIgnored:
		return run{"–", roleWarn}
	default:
		return run{"·", roleDim}
	}
}

func (m *Model) drawFile(c *canvas, col *model.Column, index, y int, at fileColumns) {
	f := &col.Files[index]
	sign := fileSign(f.Status)
	nameRole, statusRole := roleText, roleDim
	switch f.Status {
	case model.FileAbsent:
		nameRole = roleDim
	case model.FileMalformed, model.FileRefused:
		statusRole = roleBad
	case model.FileIgnored:
		statusRole = roleWarn
	}
	if index == m.fileRow {
		c.put(0, y, "▌", roleAccent, 1)
		nameRole = roleStrong
	}
	c.put(2, y, sign.text, sign.role, 1)
	c.put(at.path, y, fitLeft(m.path(f.Path), at.pathWidth), nameRole, at.pathWidth)
	if at.scope > 0 {
		c.put(at.scope, y, string(f.Scope), roleDim, 9)
	}
	if at.status > 0 {
		c.put(at.status, y, string(f.Status), statusRole, 10)
	}
	if at.gives > 0 {
		r := roleDim
		if f.Status != model.FileRead && f.Status != model.FileAbsent {
			r = roleText
		}
		c.put(at.gives, y, m.gives(col, f), r, m.w-at.gives-2)
	}
}

// gives says what a file contributes: its servers, or why it gives none.
func (m *Model) gives(col *model.Column, f *model.File) string {
	if f.Note != "" {
		return m.text(f.Note)
	}
	servers, waiting, beaten := 0, 0, 0
	for _, c := range col.Cells {
		if c.Source.Path == f.Path {
			servers++
			if c.Decision == model.DecisionWaits {
				waiting++
			}
		}
		for _, r := range c.Replaces {
			if r.Source.Path == f.Path {
				beaten++
			}
		}
		for _, p := range c.Pending {
			if p.Source.Path == f.Path {
				waiting++
				servers++
			}
		}
	}
	if f.Status == model.FileAbsent {
		return ""
	}
	if servers+beaten == 0 {
		return "no server"
	}
	text := count(servers, "server")
	if waiting > 0 {
		text += ", " + strconv.Itoa(waiting) + " waiting"
	}
	if beaten > 0 {
		text += ", " + strconv.Itoa(beaten) + " beaten or merged"
	}
	return text
}

func (m *Model) drawFileDetail(c *canvas, col *model.Column, f *model.File, y int) {
	x := c.put(2, y, m.path(f.Path), roleTitle, m.w-4)
	if note := m.gives(col, f); note != "" {
		c.put(x+2, y, note, roleDim, m.w-x-4)
	}
	y += 2
	for _, l := range contextLines(f.Context) {
		if y >= c.h-3 {
			return
		}
		c.runs(2, y, l.runs, m.w-4)
		y++
	}
	for _, n := range col.Notes {
		if n.Path != f.Path || y >= c.h-3 {
			continue
		}
		for _, l := range wrap([]run{{"▴ ", roleWarn}, {m.text(n.Text), roleText}}, m.w-4) {
			if y >= c.h-3 {
				break
			}
			c.runs(2, y, l, m.w-4)
			y++
		}
	}
	t := col.Totals()
	c.runs(2, c.h-2, []run{{col.Title + " loads " + strconv.Itoa(t.Loads) + " of " + count(t.Servers, "server") + " here", roleDim}}, m.w-4)
}
