package ui

// The layout of the grid: who gets how many cells. All functions are pure.

const (
	minNameWidth  = 12
	maxNameWidth  = 24
	narrowName    = 18 // the most that a name gets in a window without a pane
	minPitch      = 10
	maxPitch      = 12
	cellWidth     = 9 // symbol, blank, word of at most 7
	paneFrom      = 100
	narrowBelow   = 60
	minWidth      = 20
	minHeight     = 6
	tallFrom      = 45
	airFrom       = 24 // an empty line between headings and rows
	topLineFrom   = 20 // an empty line below the header
	allCountsFrom = 160
)

// gridLayout is where the parts of the grid stand.
type gridLayout struct {
	name    int // cells of a name
	pitch   int // cells from one column to the next
	visible int // columns that fit
	grid    int // cells of the whole grid; the pane begins after them
	pane    int // cells of the pane with its line; 0 without one
}

// zone is the width of everything left of the first column.
func (l gridLayout) zone() int { return 2 + l.name + 3 }

// layoutGrid shares a window's width: all columns at the smallest pitch with the smallest name; then the name up to the
// longest one, then the pitch, the rest to the pane. What is missing is taken back in the reverse order; only then columns
// are left out.
func layoutGrid(width, columns, longestName int, pane bool) gridLayout {
	zone := func(name int) int { return 2 + name + 3 }
	if !pane {
		limit := maxNameWidth
		if width < paneFrom {
			limit = narrowName
		}
		l := gridLayout{name: max(min(longestName, limit), minNameWidth), grid: width}
		l.pitch = max(minPitch, min(maxPitch, (width-zone(l.name)-1)/max(columns, 1)))
		l.visible = max(1, min(columns, (width-zone(l.name)-1)/l.pitch))
		return l
	}
	floor := 56
	switch {
	case width < 110:
		floor = 32
	case width < 140:
		floor = 40
	}
	l := gridLayout{name: minNameWidth, pitch: minPitch, visible: max(columns, 1)}
	for l.visible > 1 && zone(l.name)+l.visible*l.pitch+1+floor > width {
		l.visible--
	}
	spare := width - floor - (zone(l.name) + l.visible*l.pitch + 1)
	grow := max(0, min(spare, min(longestName, maxNameWidth)-l.name))
	l.name += grow
	spare -= grow
	for l.pitch < maxPitch && spare >= l.visible {
		l.pitch++
		spare -= l.visible
	}
	l.grid = zone(l.name) + l.visible*l.pitch + 1
	l.pane = width - l.grid
	return l
}

// frameLines says which line of a window holds what.
type frameLines struct {
	headings int // first of the two heading lines
	rows     int // first row
	count    int // rows that fit
	why      int // the line over the footer
	footer   int
}

func layoutLines(height int) frameLines {
	l := frameLines{headings: 1, footer: height - 1, why: height - 2}
	if height >= topLineFrom {
		l.headings = 2
	}
	l.rows = l.headings + 2
	if height >= airFrom {
		l.rows++
	}
	l.count = max(0, l.why-l.rows)
	return l
}

// scrollTo returns the first visible index so that the cursor is visible, moving as little as possible.
func scrollTo(top, cursor, visible, total int) int {
	if visible <= 0 {
		return max(cursor, 0)
	}
	if cursor >= 0 {
		if cursor < top {
			top = cursor
		}
		if cursor >= top+visible {
			top = cursor - visible + 1
		}
	}
	return max(0, min(top, total-visible))
}

// moved is where an index goes by a moving action; page is how many are on the screen. The result is not bounded.
func moved(a action, at, page, last int) int {
	switch a {
	case actionUp:
		return at - 1
	case actionDown:
		return at + 1
	case actionFirst:
		return 0
	case actionLast:
		return last
	case actionHalfDown:
		return at + max(1, page/2)
	case actionHalfUp:
		return at - max(1, page/2)
	case actionPageDown:
		return at + max(1, page)
	case actionPageUp:
		return at - max(1, page)
	}
	return at
}

// farDown is behind the end of every text: the drawing bounds it.
const farDown = 1 << 20
