package ui

import (
	"slices"

	"fusebox/model"
)

// paneView is the text of a pane: it speaks about what the cursor is on.
type paneView struct {
	title []run
	state model.State // StateNone: no state line
	words string      // the state in words
	sign  string      // instead of the state's symbol; "" keeps it
	parts []panePart
}

// panePart is a label with lines of text. An empty part is a blank line.
type panePart struct {
	label string
	lines []paneLine
}

// paneLine is a line of a pane: prose wraps; code, diffs and table rows are cut; a key line hangs behind its key.
type paneLine struct {
	runs []run
	cut  bool
	// place is a path that fills a cut line: where it is too long, its end stays, which tells more.
	place string
	key   string // not empty: the line of the key list for this key
	why   bool   // the key cannot act: the line gives the reason, dimmed
}

func prose(rs ...run) paneLine { return paneLine{runs: rs} }

func plain(text string) paneLine { return paneLine{runs: []run{{text, roleText}}} }

func dimmed(text string) paneLine { return paneLine{runs: []run{{text, roleDim}}} }

func cutLine(rs ...run) paneLine { return paneLine{runs: rs, cut: true} }

func part(label string, lines ...paneLine) panePart { return panePart{label, lines} }

func blank() panePart { return panePart{} }

const keyColumn = 7

// layoutPane breaks the pane's text into lines of width cells, the label included.
func layoutPane(p *paneView, width int) [][]run {
	lines := [][]run{p.title}
	if p.state != model.StateNone {
		s := styleOf(p.state)
		wordRole := s.wordRole
		if wordRole == roleDim {
			wordRole = roleText
		}
		sign := s.symbol
		if p.sign != "" {
			sign = p.sign
		}
		lines = append(lines, []run{{sign + " ", s.symbolRole}, {p.words, wordRole}})
	}
	indent := 7
	if width < 36 {
		indent = 6
	}
	for _, part := range p.parts {
		if len(part.lines) == 0 {
			lines = append(lines, nil)
			continue
		}
		label := part.label
		for _, l := range part.lines {
			for _, broken := range breakPaneLine(l, width-indent) {
				head := []run{{label, roleDim}, {padRight("", indent-textWidth(label)), roleText}}
				lines = append(lines, append(head, broken...))
				label = ""
			}
		}
	}
	return lines
}

func breakPaneLine(l paneLine, width int) [][]run {
	switch {
	case l.key != "":
		keyRole := roleAccent
		if l.why {
			keyRole = roleDim
		}
		var out [][]run
		for i, b := range wrap(l.runs, width-keyColumn) {
			key := ""
			if i == 0 {
				key = l.key
			}
			out = append(out, append([]run{{padRight(key, keyColumn), keyRole}}, b...))
		}
		return out
	case l.cut && l.place != "":
		room := width - runsWidth(l.runs)
		if room < shortestPlace {
			return [][]run{l.runs}
		}
		return [][]run{append(slices.Clone(l.runs), run{fitLeft(l.place, room), roleDim})}
	case l.cut:
		return [][]run{l.runs}
	case len(l.runs) > 1 && l.runs[0].text == bullet: // what is broken off stands behind it
		out := wrap(l.runs[1:], width-2)
		for i := range out {
			lead := run{"  ", roleText}
			if i == 0 {
				lead = l.runs[0]
			}
			out[i] = append([]run{lead}, out[i]...)
		}
		return out
	default:
		return wrap(l.runs, width)
	}
}

// shortestPlace is what a path needs to say anything.
const shortestPlace = 8

// bullet begins a line of a list that has nothing to say by a sign.
const bullet = "· "

func padRight(s string, width int) string {
	for n := textWidth(s); n < width; n++ {
		s += " "
	}
	return s
}

// drawPane draws the pane's lines from offset on, and returns how many lines there are in all.
func drawPane(c *canvas, p *paneView, x, y, width, height, offset int) int {
	lines := layoutPane(p, width)
	for i := 0; i < height && offset+i < len(lines); i++ {
		c.runs(x, y+i, lines[offset+i], width)
	}
	return len(lines)
}
