package ui

import (
	"slices"
	"strconv"
	"strings"

	"fusebox/model"
)

// View draws the whole screen. It only reads the model, but for the scroll positions, which follow the cursor here.
func (m *Model) View() string {
	if m.w <= 0 || m.h <= 0 {
		return ""
	}
	c := m.canvas
	c.reset(m.w, m.h)
	m.zones = m.zones[:0]
	switch {
	case m.w < minWidth || m.h < minHeight:
		drawTooSmall(c)
	case m.view == viewFiles:
		m.drawFiles(c)
	case m.view == viewTools:
		m.drawTools(c)
	case m.view == viewOutput:
		m.drawOutput(c)
	case len(m.snap.Lines) == 0:
		m.drawEmpty(c)
	case m.view == viewDetail || m.zoom == zoomPane && m.w >= paneFrom:
		m.drawDetail(c)
	case m.w < narrowBelow:
		m.drawNarrow(c)
	default:
		m.drawPanel(c)
	}
	if m.fits() {
		switch m.overlay {
		case overlayHelp:
			m.drawHelp(c)
		case overlayPalette:
			m.drawPalette(c)
		case overlayFilter:
			m.drawFilter(c)
		case overlayColumns:
			m.drawColumns(c)
		case overlayFolders:
			m.drawFolders(c)
		}
		if m.dialog != nil {
			m.drawDialog(c)
		}
		if m.showsToast() {
			c.fill(0, c.h-1, c.w, roleText)
			c.runs(2, c.h-1, fitToast(m.toast.runs, c.w-4), c.w-4)
		}
	}
	return c.render(m.o.Theme, m.o.ASCII)
}

// fitToast cuts what a toast says where that would push the key at its end off the line.
func fitToast(rs []run, room int) []run {
	const tail = 3 // gap, key, label
	over := runsWidth(rs) - room
	if over <= 0 || len(rs) <= tail+1 || rs[len(rs)-2].role != roleAccent {
		return rs
	}
	out := slices.Clone(rs)
	for i := len(rs) - tail - 1; i > 0 && over > 0; i-- { // the place first, then what was done
		had := textWidth(rs[i].text)
		out[i].text = fit(rs[i].text, max(0, had-over))
		over -= had - textWidth(out[i].text)
	}
	return out
}

// fits tells whether the window is large enough to show anything.
func (m *Model) fits() bool { return m.w >= minWidth && m.h >= minHeight }

// showsToast tells whether there is a toast, and it is on the screen: overlays and dialogs need the line for their keys. What
// came meanwhile waits.
func (m *Model) showsToast() bool {
	return m.toast != nil && m.dialog == nil && m.overlay == overlayNone && m.fits()
}

func drawTooSmall(c *canvas) {
	c.put(1, 1, "fusebox", roleTitle, c.w-1)
	c.put(1, 2, "needs 20 x 6 cells", roleText, c.w-1)
	c.put(1, 3, "q quits", roleDim, c.w-1)
	if c.h <= 3 {
		c.put(0, 0, "too small", roleText, c.w)
	}
}

// brackets tells whether the cursor is drawn with characters.
func (m *Model) brackets() bool { return m.o.Theme == ThemeMono || m.o.ASCII }

// longestName is the widest name of the shown lines with its tag, as far as the layout cares.
func (m *Model) longestName() int {
	longest := 0
	for _, l := range m.lines {
		line := &m.snap.Lines[l]
		n := nameWidth(line.Server.Name)
		if line.Tag != "" {
			n += 1 + nameWidth(line.Tag)
		}
		longest = max(longest, n)
		if longest >= maxNameWidth {
			return maxNameWidth
		}
	}
	return longest
}

// nameWidth measures a foreign name without going through a megabyte of it.
func nameWidth(name string) int {
	if len(name) > 4*maxNameWidth {
		return maxNameWidth
	}
	return textWidth(model.Clean(name))
}

func (m *Model) gridLayout() gridLayout {
	return layoutGrid(m.w, len(m.columns), m.longest, m.w >= paneFrom && m.zoom != zoomGrid)
}

// drawPanel draws grid and pane.
func (m *Model) drawPanel(c *canvas) {
	m.drawPanelWith(c, m.describe(), m.whyLine(), m.hints())
}

// drawPanelWith draws grid and pane with what is said about the cursor: the pane's text, or the line over the footer, and
// the footer's keys.
func (m *Model) drawPanelWith(c *canvas, p paneView, why []run, hints []hint) {
	l := m.gridLayout()
	lines := layoutLines(m.h)
	m.top = scrollTo(m.top, m.cursor.row, lines.count, len(m.lines))
	m.first = scrollTo(m.first, m.cursor.col, l.visible, len(m.columns))
	g := m.gridView(l, lines)
	m.drawHeader(c, "", m.headerRight())
	drawGrid(c, &g)
	if l.pane > 0 {
		drawRule(c, l.grid, lines.headings, lines.why, lines.rows, len(m.lines), m.top, seen(lines.count, len(m.lines)))
		width := l.pane - 4
		if m.w <= 110 {
			width = l.pane - 2
		}
		height := lines.why - lines.headings
		total := drawPane(c, &p, l.grid+2, lines.headings, width, height, m.paneOffset)
		if over := max(0, total-height); m.paneOffset > over { // scrolled too far: once more, at the end
			m.paneOffset = over
			m.drawPanelWith(resetCanvas(c), p, why, hints)
			return
		}
	} else {
		if len(m.lines) > lines.count {
			drawRule(c, m.w-1, lines.rows, lines.why, lines.rows, len(m.lines), m.top, lines.count)
		}
		c.runs(2, lines.why, why, m.w-4)
	}
	m.drawLately(c, l, lines)
	m.drawFooter(c, hints, m.position())
}

func resetCanvas(c *canvas) *canvas {
	c.reset(c.w, c.h)
	return c
}

// seen is the number of rows on the screen, for the scroll bar; 0 where all of them are.
func seen(visible, total int) int {
	if total > visible {
		return visible
	}
	return 0
}

func (m *Model) gridView(l gridLayout, lines frameLines) gridView {
	g := gridView{layout: l, lines: lines, head: "server", first: m.first, top: m.top, total: len(m.lines), cursorRow: m.cursor.row,
		cursorCol: m.cursor.col, focused: !m.paneFocus, brackets: m.brackets(), match: parseFilter(m.filterText).match()}
	for _, i := range m.columns {
		g.columns = append(g.columns, m.headingView(i))
	}
	for j := 0; j < lines.count && m.top+j < len(m.lines); j++ {
		g.rows = append(g.rows, m.rowView(&m.snap.Lines[m.lines[m.top+j]]))
	}
	return g
}

// headingView says the one thing that holds for a column: broken, untrusted, stale, unverified, or how many load.
func (m *Model) headingView(i int) headingView {
	col := m.snap.Columns[i]
	h := headingView{text: col.Heading, role: roleDim, stale: col.Stale}
	switch {
	case col.Broken != nil || col.Stale && brokenFile(col) != nil:
		h.second, h.role = "✗ broken", roleBad
	case col.Untrusted:
		h.second, h.role = "untrusted", roleWarn
	case col.Stale:
		h.second = "stale"
	case col.Verified == model.VerifiedDocs:
		h.second, h.short = "unverified", "docs only"
	default:
		t := m.tallies[i]
		h.second = strconv.Itoa(t.loads) + " of " + strconv.Itoa(t.servers)
		if t.servers == 0 {
			h.second = "none"
		}
	}
	return h
}

func (m *Model) rowView(line *model.Line) rowView {
	r := rowView{name: m.name(line.Server.Name), tag: line.Tag, drift: line.Server.Drift(), cells: make([]cellView, len(m.columns))}
	for k, i := range m.columns {
		r.cells[k] = m.cellView(line.Cells[i], m.snap.Columns[i])
	}
	return r
}

// name shows a server's name. An empty one, or one without anything to see, is shown as such.
func (m *Model) name(name string) string {
	if len(name) > 400 {
		name = cutBytes(name, 400)
	}
	shown := model.Clean(name)
	if strings.TrimSpace(shown) == "" {
		return `"` + shown + `"`
	}
	return shown
}

func (m *Model) cellView(cell *model.Cell, col *model.Column) cellView {
	if cell == nil {
		s := styleOf(model.StateNone)
		return cellView{symbol: s.symbol, symbolRole: s.symbolRole, empty: true}
	}
	now := m.o.Now()
	s := styleOf(cell.State())
	v := cellView{symbol: s.symbol, symbolRole: s.symbolRole, word: fit(cell.Word(now), 7), wordRole: s.wordRole, finding: cell.Marked(),
		stale: cell.Overlays&model.OverlayStale != 0}
	switch {
	case cell.State() == model.StateLaunching:
		v.symbol = m.spinner()
	case cell.State() == model.StateOK && m.sort == sortTokens && cell.Tools != nil:
		v.word = tokensText(cell.Tools.Tokens)
	}
	if blanket(col, cell) {
		v.symbolRole, v.wordRole = roleDim, roleDim
	}
	if until, ok := m.changed[model.CellKey{Harness: cell.Harness, Name: cell.Name}]; ok && now.Before(until) {
		v.changed = true
	}
	return v
}

// spinner is the frame that all spinners show now.
func (m *Model) spinner() string {
	return spinnerFrames[m.o.Now().UnixMilli()/100%int64(len(spinnerFrames))]
}

// drawHeader draws name, folder and where you are on the left, and what needs a person on the right.
func (m *Model) drawHeader(c *canvas, crumb string, right []run) {
	x := c.put(2, 0, "fusebox", roleTitle, c.w-4)
	start := c.w - 2 - runsWidth(right)
	c.runs(max(start, x+2), 0, right, c.w-2-max(start, x+2))
	m.headerZones(right, start)
	room := start - 2 - (x + 2)
	folder := model.Clean(model.Tilde(m.snap.Project, m.snap.Home))
	tail := 0
	if crumb != "" {
		tail = 3 + textWidth(crumb)
	}
	if textWidth(folder)+tail > room {
		folder = fitLeft(folder, room-tail)
		if room-tail < 4 {
			folder = ""
		}
	}
	r := roleText
	if crumb != "" {
		r = roleDim
	}
	x = c.put(x+2, 0, folder, r, max(0, room))
	if crumb != "" {
		if folder != "" {
			x++
		}
		c.runs(x, 0, []run{{"› ", roleDim}, {crumb, roleText}}, max(0, start-2-x))
	}
}

// headerZones remembers where the counts stand: a click on one filters by it.
func (m *Model) headerZones(right []run, x int) {
	for _, r := range right {
		w := textWidth(r.text)
		for _, s := range countOrder {
			if st := styleOf(s); r.text == st.symbol && r.role == st.symbolRole {
				m.zones = append(m.zones, clickZone{x, 0, w + 3, "state:" + s.String()})
			}
		}
		x += w
	}
}

// headerRight is the right side of the header: short-lived notes, then the counts.
func (m *Model) headerRight() []run {
	words := m.w >= paneFrom
	var out []run
	if m.filterText != "" {
		out = append(out, run{strconv.Itoa(len(m.lines)), roleText}, run{" of " + strconv.Itoa(len(m.snap.Lines)) + " shown", roleDim}, run{"   ", roleText})
		words = false
	}
	if n := m.brokenFiles(); n > 0 && m.w >= narrowBelow {
		out = append(out, run{"✗", roleBad}, run{" " + count(n, "file") + " broken", roleText}, run{"   ", roleText})
		words = false
	}
	if m.note != "" && m.w >= narrowBelow {
		out = append(out, run{m.note, roleDim}, run{"   ", roleText})
		words = false
	}
	if n := m.launching(); n > 0 && m.w >= narrowBelow {
		out = append(out, run{m.spinner(), roleAccent}, run{" " + strconv.Itoa(n) + " starting", roleText}, run{"   ", roleText})
		words = false
	}
	if m.o.ReadOnly && m.w >= narrowBelow {
		out = append(out, run{"read-only", roleDim}, run{"   ", roleText})
	}
	counts := m.counts(m.countColumns(), m.w >= allCountsFrom, words)
	if len(counts) > 0 {
		return append(out, counts...)
	}
	if m.brokenFiles() > 0 {
		return out[:max(0, len(out)-1)] // nothing stands behind the last gap
	}
	return append(out, run{"all well", roleDim})
}

// countColumns are the columns whose cells the header counts: all shown ones, in a narrow window the one that is shown.
func (m *Model) countColumns() []int {
	if m.w < narrowBelow && len(m.columns) > 0 {
		i := max(0, min(m.cursor.col, len(m.columns)-1))
		return m.columns[i : i+1]
	}
	return m.columns
}

func (m *Model) brokenFiles() int {
	seen := map[string]bool{}
	for _, i := range m.columns {
		for _, f := range m.snap.Columns[i].Files {
			if f.Status == model.FileMalformed || f.Status == model.FileRefused {
				seen[f.Path] = true
			}
		}
	}
	return len(seen)
}

// tally is what the headings and the header need of a column, counted once per snapshot.
type tally struct {
	states  [model.StateLaunching + 1]int // cells; an untrusted folder counts once
	servers int
	loads   int
}

func newTally(col *model.Column) tally {
	t := tally{servers: len(col.Cells)}
	untrusted := false
	for _, cell := range col.Cells {
		if cell.Decision == model.DecisionLoads {
			t.loads++
		}
		if blanket(col, cell) {
			untrusted = true
			continue
		}
		t.states[cell.State()]++
	}
	if untrusted {
		t.states[model.StateUnapproved]++
	}
	return t
}

// counts writes the number of cells per state. An untrusted folder is one thing to do, not one per server.
func (m *Model) counts(columns []int, all, words bool) []run {
	var n [model.StateLaunching + 1]int
	for _, i := range columns {
		for state, k := range m.tallies[i].states {
			n[state] += k
		}
	}
	var out []run
	for _, s := range countOrder {
		style := styleOf(s)
		if n[s] == 0 || style.inAllCounts && !all || s == model.StateLaunching {
			continue
		}
		if len(out) > 0 {
			gap := "  "
			if words {
				gap = "   "
			}
			out = append(out, run{gap, roleText})
		}
		out = append(out, run{style.symbol, style.symbolRole}, run{" " + strconv.Itoa(n[s]), roleText})
		if words {
			out = append(out, run{" " + style.countWord, roleDim})
		}
	}
	return out
}

// drawLately lists the last events at the lower left of a tall window.
func (m *Model) drawLately(c *canvas, l gridLayout, lines frameLines) {
	if m.h < tallFrom || len(m.lately) == 0 || len(m.lines) >= lines.count-12 {
		return
	}
	y := lines.why - len(m.lately)
	c.put(2, y-1, "lately", roleDim, 10)
	width := l.grid
	for _, e := range m.lately {
		x := c.runs(2, y, []run{{e.at.Format("15:04:05") + "  ", roleDim}, {e.sign + " ", e.role}, {e.what + "  ", roleText}}, width-4)
		c.put(x, y, e.where, roleDim, width-x-2)
		y++
	}
}

// position is what stands at the right of the footer.
func (m *Model) position() string {
	if m.cursor.row < 0 {
		if col := m.column(); col != nil {
			return col.Heading
		}
	}
	if len(m.lines) == 0 {
		return "0 of 0"
	}
	return strconv.Itoa(m.cursor.row+1) + " of " + strconv.Itoa(len(m.lines))
}

// drawFooter draws keys in the order of their worth, as many as fit whole; "? help" is always there, last; the position is
// always at the right.
func (m *Model) drawFooter(c *canvas, hints []hint, right string) {
	y := c.h - 1
	c.fill(0, y, c.w, roleText)
	help, _ := m.keys.hint(actionHelp, "")
	tail := textWidth(help.key) + textWidth(help.label) + 3
	end := c.w - 2 - tail
	if right != "" {
		end -= textWidth(right) + 2
	}
	x := 2
	for _, h := range hints {
		if h.action == actionHelp {
			continue
		}
		if x+textWidth(h.key)+1+textWidth(h.label) > end {
			break
		}
		x = c.runs(x, y, []run{{h.key, roleAccent}, {" " + h.label, roleDim}}, c.w-x) + 2
	}
	c.runs(x, y, []run{{help.key, roleAccent}, {" " + help.label, roleDim}}, c.w-x-1)
	if right != "" {
		c.right(c.w-2, y, []run{{right, roleDim}})
	}
}
