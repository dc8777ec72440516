package ui

import (
	"slices"

	"fusebox/model"
)

// helpBlock is a titled paragraph of the help.
type helpBlock struct {
	title string
	rows  []helpLine
	keyW  int
}

type helpLine struct {
	key     run
	text    run
	danger  bool
	actions []action
}

// helpBlocks makes the help from the key table and the symbols.
func (m *Model) helpBlocks() []helpBlock {
	var out []helpBlock
	for _, g := range []keyGroup{groupMove, groupMore, groupLook, groupAct} {
		b := helpBlock{title: string(g)}
		for _, row := range helpRows() {
			known := slices.ContainsFunc(row.actions, func(a action) bool { _, ok := m.keys.byAction[a]; return ok })
			if row.group != g || !known {
				continue
			}
			line := helpLine{key: run{row.show, roleAccent}, text: run{row.text, roleText}, actions: row.actions}
			line.danger = slices.ContainsFunc(row.actions, func(a action) bool { return m.keys.byAction[a].danger })
			if m.against(row.actions[0]) != "" {
				line.key.role, line.text.role = roleDim, roleDim
			}
			b.rows = append(b.rows, line)
			b.keyW = max(b.keyW, textWidth(row.show)+2)
		}
		if len(b.rows) > 0 {
			out = append(out, b)
		}
	}
	if last := len(out) - 1; last >= 0 && slices.ContainsFunc(out[last].rows, func(l helpLine) bool { return l.danger }) {
		out[last].rows = append(out[last].rows, helpLine{text: run{"asks first, preset No;", roleDim}, danger: true},
			helpLine{text: run{"x not for one of yours", roleDim}})
	}
	says := helpBlock{title: "a cell says", keyW: 3}
	for _, x := range []struct {
		s    model.State
		text string
	}{{model.StateOK, "loaded, tools"}, {model.StateConfigured, "not tried yet"}, {model.StateUnapproved, "your consent"},
		{model.StateUnauthenticated, "your sign-in"}, {model.StateError, "cannot load"}, {model.StateAwaitingReconnect, "reload a session"},
		{model.StateDisabled, "off"}, {model.StateUnknown, "no file tells"}, {model.StateNone, "not there"}} {
		st := styleOf(x.s)
		says.rows = append(says.rows, helpLine{key: run{st.symbol, st.symbolRole}, text: run{x.text, roleText}})
	}
	beside := helpBlock{title: "beside it", keyW: 3, rows: []helpLine{
		{key: run{"*", roleAccent}, text: run{"just changed", roleText}},
		{key: run{"~", roleDim}, text: run{"stale", roleText}},
		{key: run{"▴", roleWarn}, text: run{"a finding", roleText}},
		{key: run{"≠", roleWarn}, text: run{"row differs", roleText}},
	}}
	return append(out, says, beside)
}

// helpColumns shares the blocks among columns: three in a wide window, else one.
func helpColumns(blocks []helpBlock, wide bool) [][]helpBlock {
	if !wide {
		return [][]helpBlock{blocks}
	}
	var cols [3][]helpBlock
	for _, b := range blocks {
		switch b.title {
		case string(groupMove), string(groupMore):
			cols[0] = append(cols[0], b)
		case string(groupLook), string(groupAct):
			cols[1] = append(cols[1], b)
		default:
			cols[2] = append(cols[2], b)
		}
	}
	return cols[:]
}

func blockLines(blocks []helpBlock, width int) [][]run {
	var out [][]run
	keyW := 0 // the blocks of a column share their key column
	for _, b := range blocks {
		keyW = max(keyW, b.keyW)
	}
	for i, b := range blocks {
		if i > 0 {
			out = append(out, nil)
		}
		out = append(out, []run{{"  " + b.title, roleTitle}})
		for _, r := range b.rows {
			mark := run{"  ", roleDim}
			if r.danger {
				mark.text = "* "
			}
			for j, l := range wrap([]run{r.text}, max(8, width-2-keyW)) {
				if j == 0 {
					out = append(out, append([]run{mark, {padRight(r.key.text, keyW), r.key.role}}, l...))
				} else {
					out = append(out, append([]run{{padRight("", 2+keyW), roleDim}}, l...))
				}
			}
		}
	}
	return out
}

func (m *Model) drawHelp(c *canvas) {
	c.fade()
	wide := m.w >= paneFrom+8
	width := min(108, m.w-2)
	x := (m.w - width) / 2
	var columns [][][]run
	tallest := 0
	widths := []int{49, 33, 24}
	for i, blocks := range helpColumns(m.helpBlocks(), wide) {
		w := width - 6
		if wide {
			w = widths[i]
		}
		lines := blockLines(blocks, w)
		columns = append(columns, lines)
		tallest = max(tallest, len(lines))
	}
	box := min(tallest+5, m.h-2)
	y := max(0, min(2, (m.h-1-box)/2))
	c.box(x, y, width, box, roleDim)
	about := "act on what the cursor is on: a cell, its whole row (name), its whole column (heading)"
	if textWidth(about) > width-6-7 {
		about = "act on the cell, row (name) or column (heading) of the cursor"
	}
	if textWidth(about) > width-6-7 {
		about = "act where the cursor is"
	}
	c.runs(x+3, y+1, []run{{"Keys", roleTitle}, {"   " + about, roleDim}}, width-6)
	room := max(0, box-4)
	m.helpOffset = max(0, min(m.helpOffset, tallest-room))
	cx := x + 1
	for i, lines := range columns {
		for j := 0; j < room && m.helpOffset+j < len(lines); j++ {
			c.runs(cx, y+3+j, lines[m.helpOffset+j], min(widths[min(i, 2)]+20, x+width-2-cx))
		}
		cx += widths[min(i, 2)]
	}
	if tallest > room {
		drawRule(c, x+width-1, y+3, y+3+room, y+3, tallest, m.helpOffset, room)
	}
	hints := []hint{{"esc", "close", actionNone}}
	if tallest > room {
		hints = append(hints, hint{"j k", "scroll", actionNone})
	}
	m.drawOverlayFooter(c, append(hints, hint{"/", "find a key", actionNone}))
}

// drawOverlayFooter draws the keys of an overlay in the order of their worth, as many as fit whole.
func (m *Model) drawOverlayFooter(c *canvas, hints []hint) {
	c.fill(0, c.h-1, c.w, roleText)
	x := 2
	for _, h := range hints {
		if x > 2 && x+textWidth(h.key)+1+textWidth(h.label) > c.w-2 {
			return
		}
		x = c.runs(x, c.h-1, []run{{h.key, roleAccent}, {" " + h.label, roleDim}}, c.w-2-x) + 2
	}
}
