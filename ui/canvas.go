package ui

import (
	"strings"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
)

// canvas is a screen of cells. Whatever is drawn outside it is lost, so a view made with it is never wider or taller than
// the window.
type canvas struct {
	w, h  int
	cells []canvasCell
}

// canvasCell is one cell: a grapheme of one or two cells' width; the second cell of a wide one has no text.
type canvasCell struct {
	text string
	role role
}

// run is a piece of text of one role.
type run struct {
	text string
	role role
}

func newCanvas(w, h int) *canvas {
	c := &canvas{}
	c.reset(w, h)
	return c
}

// reset makes the canvas empty and of this size, keeping its memory.
func (c *canvas) reset(w, h int) {
	c.w, c.h = max(w, 0), max(h, 0)
	if n := c.w * c.h; cap(c.cells) < n {
		c.cells = make([]canvasCell, n)
	} else {
		c.cells = c.cells[:n]
	}
	for i := range c.cells {
		c.cells[i] = canvasCell{" ", roleText}
	}
}

func (c *canvas) inside(x, y int) bool { return x >= 0 && y >= 0 && x < c.w && y < c.h }

func (c *canvas) set(x, y int, text string, r role) {
	if c.inside(x, y) {
		c.cells[y*c.w+x] = canvasCell{text, r}
	}
}

// put draws text that fits and cuts what does not: text longer than room cells ends in an ellipsis. It returns the x after
// the text. The text must be clean already; what would take no cell is dropped.
func (c *canvas) put(x, y int, text string, r role, room int) int {
	room = min(room, c.w-x)
	if room <= 0 || text == "" {
		return x
	}
	text = fit(text, room)
	for len(text) > 0 {
		if b := text[0]; b < utf8.RuneSelf {
			c.set(x, y, text[:1], r)
			text = text[1:]
			x++
			continue
		}
		cluster, width := ansi.FirstGraphemeCluster(text, ansi.GraphemeWidth)
		text = text[len(cluster):]
		switch width {
		case 0:
			continue
		case 1:
			c.set(x, y, cluster, r)
			x++
		default:
			c.set(x, y, cluster, r)
			for i := 1; i < width; i++ {
				c.set(x+i, y, "", r)
			}
			x += width
		}
	}
	return x
}

// runs draws pieces of text after another within room cells and returns the x after them.
func (c *canvas) runs(x, y int, rs []run, room int) int {
	end := x + room
	for _, r := range rs {
		x = c.put(x, y, r.text, r.role, end-x)
	}
	return x
}

// right draws pieces of text that end before column end.
func (c *canvas) right(end, y int, rs []run) int {
	x := end - runsWidth(rs)
	c.runs(x, y, rs, end-x)
	return x
}

// fill gives a stretch of one line a role and blanks it.
func (c *canvas) fill(x, y, n int, r role) {
	for i := range n {
		c.set(x+i, y, " ", r)
	}
}

// paint gives a stretch of one line a role and keeps what stands there.
func (c *canvas) paint(x, y, n int, r role) {
	for i := range n {
		if c.inside(x+i, y) {
			c.cells[y*c.w+x+i].role = r
		}
	}
}

// fade dims everything: what lies behind a dialog is dimmed, not hidden.
func (c *canvas) fade() {
	for i := range c.cells {
		c.cells[i].role = roleDim
	}
}

// box blanks whole lines and draws a border on them: no fragments of the grid stand beside it.
func (c *canvas) box(x, y, w, h int, r role) {
	for j := range h {
		c.fill(0, y+j, c.w, roleText)
	}
	c.put(x, y, "╭"+strings.Repeat("─", max(0, w-2))+"╮", r, w)
	for j := 1; j < h-1; j++ {
		c.put(x, y+j, "│", r, 1)
		c.put(x+w-1, y+j, "│", r, 1)
	}
	c.put(x, y+h-1, "╰"+strings.Repeat("─", max(0, w-2))+"╯", r, w)
}

// text returns the canvas as lines without colour.
func (c *canvas) text(ascii bool) string { return c.render(ThemeMono, ascii) }

// render returns the canvas as lines, each exactly as wide as the canvas.
func (c *canvas) render(theme Theme, ascii bool) string {
	var b strings.Builder
	b.Grow(c.w*c.h + c.h*64)
	codes := &sgr[theme]
	for y := range c.h {
		if y > 0 {
			b.WriteByte('\n')
		}
		current := ""
		row := c.cells[y*c.w : (y+1)*c.w]
		for i := range row {
			cell := &row[i]
			if code := codes[cell.role]; code != current {
				if current != "" {
					b.WriteString("\x1b[0m")
				}
				if code != "" {
					b.WriteString("\x1b[")
					b.WriteString(code)
					b.WriteByte('m')
				}
				current = code
			}
			if ascii && cell.text != "" && cell.text[0] >= utf8.RuneSelf {
				b.WriteString(asciiText(cell.text, i+1 < len(row) && row[i+1].text == ""))
				continue
			}
			b.WriteString(cell.text)
		}
		if current != "" {
			b.WriteString("\x1b[0m")
		}
	}
	return b.String()
}

// asciiText replaces a grapheme that is not ASCII by one of the same width.
func asciiText(s string, wide bool) string {
	t, ok := asciiOf[s]
	if !ok {
		t = "?"
	}
	if wide {
		t += "?"
	}
	return t
}

// textWidth is the number of cells that a text takes.
func textWidth(s string) int {
	for i := 0; i < len(s); i++ {
		if s[i] >= utf8.RuneSelf {
			return ansi.StringWidth(s)
		}
	}
	return len(s)
}

func runsWidth(rs []run) int {
	n := 0
	for _, r := range rs {
		n += textWidth(r.text)
	}
	return n
}

// fit cuts a text to room cells, with an ellipsis at its end.
func fit(s string, room int) string {
	if len(s) <= room || textWidth(s) <= room {
		return s
	}
	if room <= 0 {
		return ""
	}
	if len(s) > 16*room+64 { // a name of a megabyte is not measured to its end
		s = cutBytes(s, 16*room+64)
	}
	return ansi.Truncate(s, room, "…")
}

// cutBytes cuts at a rune's start, at most n bytes.
func cutBytes(s string, n int) string {
	for n > 0 && n < len(s) && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

// fitLeft cuts a text at its start, with an ellipsis there.
func fitLeft(s string, room int) string {
	w := textWidth(s)
	if w <= room {
		return s
	}
	if room <= 0 {
		return ""
	}
	return "…" + ansi.TruncateLeft(s, w-room+1, "")
}

// wrap breaks pieces of text at blanks into lines of at most width cells; a longer word is broken at the end of the line,
// never dropped.
func wrap(rs []run, width int) [][]run {
	if width <= 0 {
		return nil
	}
	var lines [][]run
	var line []run
	n := 0
	flush := func() {
		lines = append(lines, line)
		line, n = nil, 0
	}
	for _, r := range rs {
		for i, word := range strings.Split(r.text, " ") {
			gap := 0
			if i > 0 {
				gap = 1
			}
			w := textWidth(word)
			if n > 0 && n+gap+w > width {
				flush()
				gap = 0
			}
			for w > width {
				head := ansi.Truncate(cutBytes(word, min(len(word), 16*width+64)), width, "") // a word may be a megabyte
				if head == "" {
					break
				}
				line = append(line, run{head, r.role})
				flush()
				word = word[len(head):]
				if len(word) <= 16*width {
					w = textWidth(word)
				}
			}
			line = append(line, run{strings.Repeat(" ", gap) + word, r.role})
			n += gap + w
		}
	}
	if len(line) > 0 || len(lines) == 0 {
		flush()
	}
	return lines
}

// fitExact returns the longest head of a text that takes at most room cells, without an ellipsis.
func fitExact(s string, room int) string {
	if len(s) <= room || textWidth(s) <= room {
		return s
	}
	if room <= 0 {
		return ""
	}
	return ansi.Truncate(s, room, "")
}
