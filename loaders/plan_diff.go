package loaders

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"fusebox/loaders/rewrite"
	"fusebox/model"
)

// FileDiff is what changes in one file, for people: values that may be secrets are dots.
type FileDiff struct {
	Path           string
	Created        bool // the file does not exist yet
	Added, Removed int  // lines
	Lines          []DiffLine

	hunks []hunk
}

// DiffLine is one line of a diff. Number is the line in the old file for Sign '-', in the new one else; 0 stands between two
// parts that are not neighbours.
type DiffLine struct {
	Number int
	Sign   byte // ' ', '+' or '-'
	Text   string
}

// hunk is a part of a diff: lines of Lines, and where they stand.
type hunk struct {
	from, to                        int // in Lines
	oldStart, oldLen, start, length int
}

// diffContext is how many unchanged lines stand round a change.
const diffContext = 2

// Diffs shows what the plan changes, file by file.
func (p *Plan) Diffs() []FileDiff {
	if p == nil {
		return nil
	}
	var out []FileDiff
	for _, f := range p.files {
		d := Diff(f.before.Path, f.before.Data, f.after, f.edits[0].Format)
		d.Created = !f.before.Exists
		out = append(out, d)
	}
	return out
}

// ResultDiff shows what a write changed.
func ResultDiff(r *rewrite.Result, format Format) FileDiff {
	d := Diff(r.Path, r.Before, r.After, format)
	d.Created = !r.Existed
	return d
}

// Diff compares two texts of a file line by line.
func Diff(path string, before, after []byte, format Format) FileDiff {
	d := FileDiff{Path: path}
	oldLines, newLines := splitLines(before), splitLines(after)
	oldShown, newShown := maskedLines(before, format), maskedLines(after, format)
	changes := lineChanges(oldLines, newLines)
	for i := 0; i < len(changes); {
		// Changes that are near one another share a part.
		j := i
		for j+1 < len(changes) && changes[j+1].oldFrom-changes[j].oldTo <= 2*diffContext {
			j++
		}
		d.addHunk(changes[i:j+1], oldLines, newLines, oldShown, newShown)
		i = j + 1
	}
	return d
}

// splitLines splits at line feeds; the last line may lack one.
func splitLines(text []byte) []string {
	if len(text) == 0 {
		return nil
	}
	lines := strings.SplitAfter(string(text), "\n")
	if lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	return lines
}

// change says that the old lines oldFrom to oldTo became the new lines newFrom to newTo; ends are excluded.
type change struct{ oldFrom, oldTo, newFrom, newTo int }

// lineChanges finds the changes from a to b: Myers' algorithm on what is between the equal starts and ends.
func lineChanges(a, b []string) []change {
	head := 0
	for head < len(a) && head < len(b) && a[head] == b[head] {
		head++
	}
	tail := 0
	for tail < len(a)-head && tail < len(b)-head && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	a, b = a[head:len(a)-tail], b[head:len(b)-tail]
	out := myers(a, b)
	for i := range out {
		out[i].oldFrom += head
		out[i].oldTo += head
		out[i].newFrom += head
		out[i].newTo += head
	}
	return out
}

// maxDistance bounds the work of a comparison. Beyond it all that lies between is one change.
const maxDistance = 1000

func myers(a, b []string) []change {
	n, m := len(a), len(b)
	switch {
	case n == 0 && m == 0:
		return nil
	case n == 0 || m == 0:
		return []change{{0, n, 0, m}}
	}
	limit := min(n+m, maxDistance)
	at := map[int]int{1: 0}
	var trace []map[int]int
	for d := 0; d <= limit; d++ {
		step := make(map[int]int, len(at))
		for k, x := range at {
			step[k] = x
		}
		trace = append(trace, step)
		for k := -d; k <= d; k += 2 {
			var x int
			if k == -d || k != d && at[k-1] < at[k+1] {
				x = at[k+1]
			} else {
				x = at[k-1] + 1
			}
			y := x - k
			for x < n && y < m && a[x] == b[y] {
				x, y = x+1, y+1
			}
			at[k] = x
			if x >= n && y >= m {
				return backtrack(trace, n, m)
			}
		}
	}
	return []change{{0, n, 0, m}}
}

// backtrack walks the trace back from the end and joins neighbouring insertions and deletions.
func backtrack(trace []map[int]int, n, m int) []change {
	var out []change
	x, y := n, m
	add := func(c change) {
		if len(out) > 0 {
			last := &out[len(out)-1] // the one behind it
			if c.oldTo == last.oldFrom && c.newTo == last.newFrom {
				last.oldFrom, last.newFrom = c.oldFrom, c.newFrom
				return
			}
		}
		out = append(out, c)
	}
	for d := len(trace) - 1; d > 0; d-- {
		at := trace[d]
		k := x - y
		previous := k - 1
		if k == -d || k != d && at[k-1] < at[k+1] {
			previous = k + 1
		}
		px := at[previous]
		py := px - previous
		for x > px && y > py {
			if previous == k-1 && x == px+1 || previous == k+1 && y == py+1 {
				break
			}
			x, y = x-1, y-1
		}
		if previous == k-1 {
			add(change{px, px + 1, py, py})
		} else {
			add(change{px, px, py, py + 1})
		}
		x, y = px, py
	}
	slices.Reverse(out)
	return out
}

func (d *FileDiff) addHunk(changes []change, oldLines, newLines, oldShown, newShown []string) {
	if len(d.Lines) > 0 {
		d.Lines = append(d.Lines, DiffLine{Sign: ' ', Text: "…"})
	}
	first, last := changes[0], changes[len(changes)-1]
	lead := min(diffContext, first.newFrom)
	trail := min(diffContext, len(newLines)-last.newTo)
	h := hunk{from: len(d.Lines), oldStart: first.oldFrom - lead + 1, start: first.newFrom - lead + 1}
	same := func(from, to int) {
		for i := from; i < to; i++ {
			d.Lines = append(d.Lines, DiffLine{i + 1, ' ', shortLine(newShown[i])})
			h.oldLen++
			h.length++
		}
	}
	same(first.newFrom-lead, first.newFrom)
	for i, c := range changes {
		if i > 0 {
			same(changes[i-1].newTo, c.newFrom)
		}
		for j := range c.oldTo - c.oldFrom {
			var other string
			if c.newFrom+j < c.newTo {
				other = newShown[c.newFrom+j]
			}
			d.Lines = append(d.Lines, DiffLine{c.oldFrom + j + 1, '-', shortPair(oldShown[c.oldFrom+j], other)})
		}
		for j := range c.newTo - c.newFrom {
			var other string
			if c.oldFrom+j < c.oldTo {
				other = oldShown[c.oldFrom+j]
			}
			d.Lines = append(d.Lines, DiffLine{c.newFrom + j + 1, '+', shortPair(newShown[c.newFrom+j], other)})
		}
		h.oldLen += c.oldTo - c.oldFrom
		h.length += c.newTo - c.newFrom
		d.Removed += c.oldTo - c.oldFrom
		d.Added += c.newTo - c.newFrom
	}
	same(last.newTo, last.newTo+trail)
	h.to = len(d.Lines)
	if h.oldLen == 0 {
		h.oldStart--
	}
	if h.length == 0 {
		h.start--
	}
	d.hunks = append(d.hunks, h)
}

// longLine is from how many characters on a line is shown in part: a file on one line would fill the screen.
const longLine = 300

func shortLine(s string) string {
	if r := []rune(s); len(r) > longLine {
		return string(r[:longLine]) + "…"
	}
	return s
}

// shortPair shows of a long line what differs from the other one, with what surrounds it.
func shortPair(s, other string) string {
	if utf8.RuneCountInString(s) <= longLine {
		return s
	}
	r, o := []rune(s), []rune(other)
	head := 0
	for head < len(r) && head < len(o) && r[head] == o[head] {
		head++
	}
	tail := 0
	for tail < len(r)-head && tail < len(o)-head && r[len(r)-1-tail] == o[len(o)-1-tail] {
		tail++
	}
	const around = 60
	from, to := max(0, head-around), min(len(r), len(r)-tail+around)
	out := string(r[from:to])
	if from > 0 {
		out = "…" + out
	}
	if to < len(r) {
		out += "…"
	}
	return out
}

// Unified is the diff as text, in the form of diff -u.
func (d *FileDiff) Unified() string {
	var b strings.Builder
	old := d.Path
	if d.Created {
		old = "/dev/null"
	}
	fmt.Fprintf(&b, "--- %s\n+++ %s\n", model.Clean(old), model.Clean(d.Path))
	for _, h := range d.hunks {
		fmt.Fprintf(&b, "@@ -%d,%d +%d,%d @@\n", h.oldStart, h.oldLen, h.start, h.length)
		for _, l := range d.Lines[h.from:h.to] {
			b.WriteByte(l.Sign)
			b.WriteString(l.Text)
			b.WriteByte('\n')
		}
	}
	return b.String()
}

// CountLines says in words how many lines change: "1 line added", "1 line changed", "2 lines removed".
func (d *FileDiff) CountLines() string {
	changed := min(d.Added, d.Removed)
	var parts []string
	for _, p := range []struct {
		n    int
		word string
	}{{d.Added - changed, "added"}, {changed, "changed"}, {d.Removed - changed, "removed"}} {
		switch {
		case p.n == 0:
		case len(parts) == 0:
			parts = append(parts, countOf(p.n, "line")+" "+p.word)
		default:
			parts = append(parts, fmt.Sprintf("%d %s", p.n, p.word))
		}
	}
	return strings.Join(parts, ", ")
}

var lineFeed = []byte("\n")

// maskedLines returns the lines of a file as they may be shown, one for each line that splitLines gives.
func maskedLines(data []byte, format Format) []string {
	masked, secrets := maskFile(data, format)
	redactor := model.NewRedactor(secrets)
	lines := strings.Split(string(masked), "\n")
	if n := bytes.Count(data, lineFeed); len(lines) > n && (len(data) == 0 || data[len(data)-1] == '\n') {
		lines = lines[:n]
	}
	if len(lines) > 0 {
		lines[0] = strings.TrimPrefix(lines[0], "\ufeff")
	}
	for i, line := range lines {
		lines[i] = redactor.Text(maskLine(strings.TrimSuffix(line, "\r")))
	}
	return lines
}
