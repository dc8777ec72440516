package ui

import "fusebox/model"

// drawEmpty says that no harness names a server, and which places count.
func (m *Model) drawEmpty(c *canvas) {
	right := []run{{"all files read", roleDim}}
	if n := m.brokenFiles(); n > 0 {
		right = []run{{"✗", roleBad}, {" " + count(n, "file") + " broken", roleText}}
	}
	m.drawHeader(c, "", right)
	top := layoutLines(m.h).headings
	c.put(2, top, "No MCP server here yet.", roleTitle, m.w-4)
	low := m.h < topLineFrom
	says := "These are the places that count for this folder; none of them names a server."
	if low {
		says = "None of these places names one."
	}
	lead := wrap([]run{{says, roleDim}}, m.w-4)
	for i, l := range lead {
		c.runs(2, top+1+i, l, m.w-4)
	}
	tail := [][]run{
		{{"f  ", roleAccent}, {"all places of the first harness", roleText}},
		{{"?  ", roleAccent}, {"help", roleText}},
		nil,
		{{"Files are watched: a server that you add anywhere shows up by itself.", roleDim}},
		{{"Started with --demo, fusebox shows a made-up home with servers.", roleDim}},
	}
	if low {
		tail = [][]run{{{"A new one shows up by itself. --demo shows a made-up home with servers.", roleDim}}}
	}
	absent := 0
	for _, col := range m.snap.Columns {
		if !col.Present {
			absent++
		}
	}
	if absent > 0 && absent < len(m.snap.Columns) {
		tail = append([][]run{{{count(absent, "more harness") + "es are known and not on this machine", roleDim}}, nil}, tail...)
		if absent == 1 {
			tail[0] = []run{{"1 more harness is known and not on this machine", roleDim}}
		}
	}
	var broken [][]run
	for _, l := range tail {
		broken = append(broken, wrap(l, m.w-4)...)
	}
	y := top + 2 + len(lead)
	last := m.h - 2 - len(broken) - 1
	for _, i := range m.columns {
		y = m.drawPlaces(c, m.snap.Columns[i], y, last)
	}
	y++
	for _, l := range broken {
		if y < m.h-2 {
			c.runs(2, y, l, m.w-4)
		}
		y++
	}
	var hints []hint
	for _, a := range []action{actionFiles, actionRereadAll, actionPalette, actionQuit} {
		if h, ok := m.keys.hint(a, ""); ok {
			hints = append(hints, h)
		}
	}
	m.drawFooter(c, hints, "")
}

// drawPlaces lists the places of one harness that matter to a newcomer: what exists, and where a user or a project may
// put servers.
func (m *Model) drawPlaces(c *canvas, col *model.Column, y, last int) int {
	path, scope, note := 16, 54, 68
	if m.w < paneFrom {
		path, scope, note = 16, 0, m.w-20
	}
	if m.w < narrowBelow {
		path, note = 2, 0
	}
	first := true
	for i := range col.Files {
		f := &col.Files[i]
		if f.Status == model.FileAbsent && f.Scope != model.ScopeUser && f.Scope != model.ScopeProject {
			continue
		}
		if y >= last {
			return y
		}
		if first && path > 2 {
			c.put(2, y, col.Title, roleText, path-3)
		}
		first = false
		sign, r := fileSign(f.Status), roleDim
		if f.Status == model.FileIgnored || f.Status == model.FileMalformed || f.Status == model.FileRefused {
			r = roleText
		} else {
			sign = run{"·", roleDim}
		}
		c.put(path, y, sign.text, sign.role, 1)
		end := m.w - 2
		if scope > 0 {
			end = scope - 1
		} else if note > 0 {
			end = note - 1
		}
		c.put(path+2, y, fitLeft(m.path(f.Path), end-path-2), r, end-path-2)
		if scope > 0 {
			c.put(scope, y, string(f.Scope), roleDim, note-scope-1)
		}
		if note > 0 {
			text := "absent"
			switch f.Status {
			case model.FileRead:
				text = "there, no server"
			case model.FileAbsent:
			default:
				text = m.gives(col, f)
			}
			c.put(note, y, text, r, m.w-note-2)
		}
		y++
	}
	return y
}
