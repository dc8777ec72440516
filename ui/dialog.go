package ui

import (
	"strings"
	"time"

	tea "github.com/charmbracelet/bubbletea"
)

// dialog asks before something is written or started. It starts on No; nothing in it is ever shortened: what is too long
// wraps, what is too tall scrolls, and yes counts only after the last line was on the screen.
type dialog struct {
	title   string
	warn    bool // something of the repository's would run: the border says so
	lines   []dialogLine
	yes     string // what the other button does: "Yes, start 6"
	no      string // what No means, for the footer
	hint    []hint // further keys, for the footer
	skip    *bool  // "do not ask for switches again" is offered; its value is the mark
	rows    int    // lines that can be chosen with the cursor (choices and items)
	row     int    // the chosen one
	answer  func(d *dialog) tea.Cmd
	refresh func(d *dialog) // makes the lines again after a choice

	noAt, yesAt clickZone // where the buttons were drawn

	onYes   bool
	offset  int
	follows bool // the chosen row is kept on the screen; scrolling ends that
	rowAt   int  // the line of the chosen row, as it was drawn last
	seenEnd bool
	quiet   time.Time // keys before this moment are dropped: the dialog was not asked for
	latest  time.Time // but none after this
}

// dialogLine is a line of a dialog: a label and text that hangs behind it.
type dialogLine struct {
	label string
	runs  []run
	row   int         // 1-based: this line is the choice or item of that number; 0: neither
	flip  func() bool // what space does on it; nil: nothing. It tells whether the lines must be made again
	code  bool        // breaks at the end of the line, not at blanks
	hang  int         // cells by which what is broken off stands further right
}

const (
	dialogWidth = 92
	quietFor    = 425 * time.Millisecond
	quietLimit  = 1500 * time.Millisecond
)

// ask opens a dialog. One that was not asked for takes no key until the keyboard was quiet for a moment.
func (m *Model) ask(d *dialog, asked bool) {
	if d.refresh != nil {
		d.refresh(d)
	}
	m.dialog = d
	if !asked {
		now := m.o.Now()
		d.quiet, d.latest = now.Add(quietFor), now.Add(quietLimit)
	}
}

// dialogKey handles a key while a dialog is open: every key that it does not know does nothing.
func (m *Model) dialogKey(k tea.KeyMsg) tea.Cmd {
	d := m.dialog
	if now := m.o.Now(); now.Before(d.quiet) && now.Before(d.latest) {
		d.quiet = now.Add(quietFor)
		return nil
	}
	switch k.String() {
	case "enter":
		if d.onYes {
			return m.agree()
		}
		m.dialog = nil
	case "n", "esc", "q":
		m.dialog = nil
	case "y":
		return m.agree()
	case "tab", "shift+tab", "left", "right", "h", "l":
		d.onYes = !d.onYes
	case "j", "down":
		if d.row < d.rows {
			d.row, d.follows = d.row+1, true
		} else {
			d.scrollBy(1)
		}
	case "k", "up":
		if d.row > 1 && d.offset <= d.rowAt {
			d.row, d.follows = d.row-1, true
		} else {
			d.scrollBy(-1)
		}
	case "pgdown", "ctrl+d":
		d.scrollBy(max(1, m.h/2))
	case "pgup", "ctrl+u":
		d.scrollBy(-max(1, m.h/2))
	case "g", "home":
		d.scrollBy(-d.offset)
	case "G", "end":
		d.scrollBy(1 << 20)
	case " ":
		d.follows = true
		for _, l := range d.lines {
			if l.row == d.row && l.flip != nil {
				if l.flip() && d.refresh != nil {
					d.refresh(d)
				}
				break
			}
		}
	case "d":
		if d.skip != nil {
			*d.skip = !*d.skip
		}
	}
	return nil
}

// scrollBy scrolls; the chosen row may leave the screen.
func (d *dialog) scrollBy(lines int) { d.offset, d.follows = d.offset+lines, false }

// agree does what was asked, if all of it was on the screen.
func (m *Model) agree() tea.Cmd {
	d := m.dialog
	if !d.seenEnd {
		d.scrollBy(1 << 20) // show the rest first
		return nil
	}
	m.dialog = nil
	if d.answer == nil {
		return nil
	}
	return d.answer(d)
}

// layoutDialog breaks the lines of a dialog for a width. rowAt is the first broken line of the chosen row.
func layoutDialog(d *dialog, width int) (lines [][]run, rowAt int) {
	rowAt = -1
	for _, l := range d.lines {
		mark := run{"", roleText}
		if d.rows > 0 && l.row > 0 {
			mark = run{"  ", roleText}
			if l.row == d.row {
				mark = run{"› ", roleAccent}
				rowAt = len(lines)
			}
		}
		label := l.label
		if textWidth(label)+12 > width { // too narrow for text beside it: the label gets a line of its own
			if strings.TrimSpace(label) != "" {
				lines = append(lines, []run{{strings.TrimSpace(label), roleDim}})
			}
			label = ""
		}
		indent := textWidth(label) + textWidth(mark.text)
		room := max(1, width-indent)
		hang := l.hang
		if hang > room/2 || runsWidth(l.runs) <= room {
			hang = 0
		}
		broken := wrap(l.runs, room-hang)
		if l.code {
			broken = chop(l.runs, room-hang)
		}
		for i, b := range broken {
			head := []run{{padRight("", indent+hang), roleText}}
			if i == 0 {
				head = []run{{label, roleDim}, mark}
			} else if hang > 0 && len(b) > 0 {
				b[0].text = strings.TrimLeft(b[0].text, " ")
			}
			lines = append(lines, append(head, b...))
		}
	}
	return lines, rowAt
}

// chop breaks text at the end of the line only: code keeps its blanks.
func chop(rs []run, width int) [][]run {
	var out [][]run
	var line []run
	n := 0
	for _, r := range rs {
		text := r.text
		for text != "" {
			if n == width {
				out = append(out, line)
				line, n = nil, 0
			}
			head := fitExact(text, width-n)
			if head == "" { // a wide character does not fit into the last cell
				out = append(out, line)
				line, n = nil, 0
				continue
			}
			line = append(line, run{head, r.role})
			n += textWidth(head)
			text = text[len(head):]
		}
	}
	return append(out, line)
}

// drawDialog draws the open dialog over a faded screen.
func (m *Model) drawDialog(c *canvas) {
	d := m.dialog
	c.fade()
	width := min(dialogWidth, m.w-2)
	if m.w >= paneFrom {
		width = min(dialogWidth, m.w-12)
	}
	inner := width - 6
	title := wrap([]run{{d.title, roleTitle}}, inner)
	lines, rowAt := layoutDialog(d, inner)
	frame, foot := len(title)+5, 2
	if m.h >= airFrom {
		frame, foot = frame+1, 3 // an empty line below the buttons
	}
	room := m.h - 1 - frame
	if room < 4 { // no room for a box: the whole window, the question scrolls along
		m.drawLowDialog(c, d)
		return
	}
	height := min(len(lines), room) + frame
	border := roleDim
	if d.warn {
		border = roleWarn
	}
	x, y := (m.w-width)/2, max(0, (m.h-2-height)/2)
	c.box(x, y, width, height, border)
	at := y + 1
	for _, l := range title {
		c.runs(x+3, at, l, inner)
		at++
	}
	at++
	d.scroll(c, lines, rowAt, clickZone{x: x + 3, y: at, width: inner}, room, x+width-1)
	m.drawButtons(c, d, x+3, y+height-foot, x+width-3)
	m.drawDialogFooter(c, d)
}

// drawLowDialog draws a dialog without a box: lines, buttons, keys.
func (m *Model) drawLowDialog(c *canvas, d *dialog) {
	for y := range c.h {
		c.fill(0, y, c.w, roleText)
	}
	inner := m.w - 3
	lines := append(wrap([]run{{d.title, roleTitle}}, inner), nil)
	title := len(lines)
	body, rowAt := layoutDialog(d, inner)
	lines = append(lines, body...)
	if rowAt >= 0 {
		rowAt += title
	}
	d.scroll(c, lines, rowAt, clickZone{x: 1, y: 0, width: inner}, max(1, m.h-2), m.w-1)
	m.drawButtons(c, d, 1, m.h-2, m.w-1)
	m.drawDialogFooter(c, d)
}

// scroll draws as many lines as there is room for, with the chosen row among them, and remembers whether the end was seen.
func (d *dialog) scroll(c *canvas, lines [][]run, rowAt int, at clickZone, room, bar int) {
	d.rowAt = rowAt
	if d.follows && rowAt >= 0 {
		d.offset = max(min(d.offset, rowAt), rowAt-room+1)
	}
	d.offset = max(0, min(d.offset, len(lines)-room))
	for i := 0; i < room && d.offset+i < len(lines); i++ {
		c.runs(at.x, at.y+i, lines[d.offset+i], at.width)
	}
	if d.offset+room >= len(lines) {
		d.seenEnd = true
	}
	if len(lines) > room {
		drawRule(c, bar, at.y, at.y+room, at.y, len(lines), d.offset, room)
	}
}

func (m *Model) drawDialogFooter(c *canvas, d *dialog) {
	hints := append([]hint{{"enter n esc", d.no, actionNone}, {"y", "yes", actionNone}, {"tab", "move", actionNone}, {"j k", "scroll", actionNone}}, d.hint...)
	if d.onYes {
		hints[0] = hint{"n esc", d.no, actionNone}
		hints[1] = hint{"enter y", "yes", actionNone}
	}
	m.drawOverlayFooter(c, hints)
}

func (m *Model) drawButtons(c *canvas, d *dialog, x, y, end int) {
	no, yes := "  No  ", "  "+d.yes+"  "
	if d.onYes {
		yes = "[ " + d.yes + " ]"
	} else {
		no = "[ No ]"
	}
	noRole, yesRole := roleButton, roleText
	if d.onYes {
		noRole, yesRole = roleText, roleButton
	}
	at := c.put(x, y, no, noRole, end-x) + 2
	if textWidth(yes) > end-at {
		yes = strings.TrimRight(yes, " ") // no dots for a blank
	}
	c.put(at, y, yes, yesRole, end-at)
	d.noAt = clickZone{x: x, y: y, width: textWidth(no)}
	d.yesAt = clickZone{x: at, y: y, width: textWidth(yes)}
	if d.skip != nil {
		box := "[ ] "
		if *d.skip {
			box = "[x] "
		}
		rs := []run{{box, roleDim}, {"d", roleAccent}, {" do not ask for switches again", roleDim}}
		if at+textWidth(yes)+2+runsWidth(rs) <= end {
			c.right(end, y, rs)
		}
	}
}

// dialogMouse presses a button that is clicked on; nothing else in a dialog takes a click.
func (m *Model) dialogMouse(e tea.MouseMsg) tea.Cmd {
	d := m.dialog
	if e.Action != tea.MouseActionPress {
		return nil
	}
	switch e.Button {
	case tea.MouseButtonWheelDown:
		d.scrollBy(1)
	case tea.MouseButtonWheelUp:
		d.scrollBy(-1)
	case tea.MouseButtonLeft:
		if now := m.o.Now(); now.Before(d.quiet) && now.Before(d.latest) {
			return nil
		}
		if e.Y == d.noAt.y && e.X >= d.noAt.x && e.X < d.noAt.x+d.noAt.width {
			m.dialog = nil
		} else if e.Y == d.yesAt.y && e.X >= d.yesAt.x && e.X < d.yesAt.x+d.yesAt.width {
			return m.agree()
		}
	}
	return nil
}
