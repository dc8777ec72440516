package jsonc

import "strings"

// An editor works out where on the lines of a document things stand and where changes go.
type editor struct {
	*Document
}

// walk follows path as far as it exists. It gives the values on the way, the root first, and the keys that are missing.
func (e *editor) walk(path []string) (values []Value, missing []string, err error) {
	values = []Value{e.Root()}
	for i, key := range path {
		v := values[len(values)-1]
		if v.Kind() != Object {
			return nil, nil, notA(path[:i], v, Object)
		}
		next := v.Get(key)
		if !next.Exists() {
			return values, path[i:], nil
		}
		values = append(values, next)
	}
	return values, nil, nil
}

// A layout is how new text is written.
type layout struct {
	lines bool   // one member or element on each line
	eol   string // line end
	unit  string // one level of indentation
	colon string // between a key and its value, spaces included
	pad   string // inside of the brackets of containers on one line
}

// render writes raw below new objects for keys and, with inArray, a new array. indent is that of the line on which the
// text begins.
func (l layout) render(keys []string, raw Value, inArray bool, indent string) string {
	if len(keys) == 0 && !inArray {
		return l.fit(raw.source(), indent)
	}
	inner := indent
	if l.lines {
		inner += l.unit
	}
	if len(keys) == 0 {
		return "[" + l.wrap(l.render(nil, raw, false, inner), indent) + "]"
	}
	return "{" + l.wrap(Quote(keys[0])+l.colon+l.render(keys[1:], raw, inArray, inner), indent) + "}"
}

func (l layout) wrap(item, indent string) string {
	if l.lines {
		return l.eol + indent + l.unit + item + l.eol + indent
	}
	return l.pad + item + l.pad
}

// fit gives the lines of raw, which is strict JSON, the layout's line ends and indentation. Such text has line ends only
// between its tokens.
func (l layout) fit(raw, indent string) string {
	if !hasLineEnd(raw) {
		return raw
	}
	lines := strings.FieldsFunc(raw, func(r rune) bool { return r == '\n' || r == '\r' })
	width := func(line string) int { return len(line) - len(strings.TrimLeft(line, " \t")) }
	base := width(lines[len(lines)-1]) // of the closing bracket
	step := 0                          // the smallest indentation beyond it is one level
	for _, line := range lines[1:] {
		if more := width(line) - base; more > 0 && (step == 0 || more < step) {
			step = more
		}
	}
	for i, line := range lines[1:] {
		levels := 0
		if more := width(line) - base; more > 0 {
			levels = more / step
		}
		lines[i+1] = indent + strings.Repeat(l.unit, levels) + strings.TrimLeft(line, " \t")
	}
	return strings.Join(lines, l.eol)
}

func hasLineEnd(s string) bool { return strings.ContainsAny(s, "\r\n") }

func firstEOL(s, otherwise string) string {
	at := strings.IndexAny(s, "\r\n")
	switch {
	case at < 0:
		return otherwise
	case strings.HasPrefix(s[at:], "\r\n"):
		return "\r\n"
	}
	return s[at : at+1]
}

// eol gives the line end used in v, else in the file.
func (e *editor) eol(v Value) string {
	return firstEOL(v.source(), firstEOL(e.text, "\n"))
}

func (e *editor) lineStart(at int) int {
	if i := strings.LastIndexAny(e.text[:at], "\r\n"); i >= 0 {
		return i + 1
	}
	return e.bom
}

// skipBlanks gives the offset of the first byte from at on that is neither space nor tab.
func (e *editor) skipBlanks(at int) int {
	for at < len(e.text) && (e.text[at] == ' ' || e.text[at] == '\t') {
		at++
	}
	return at
}

// lineIndent gives the white space at the start of the line that holds at.
func (e *editor) lineIndent(at int) string {
	start := e.lineStart(at)
	return e.text[start:e.skipBlanks(start)]
}

// startsLine tells whether only white space stands before at on its line.
func (e *editor) startsLine(at int) bool {
	return e.skipBlanks(e.lineStart(at)) == at
}

// atLineEnd tells whether only white space stands between at and the end of its line.
func (e *editor) atLineEnd(at int) bool {
	at = e.skipBlanks(at)
	return at == len(e.text) || e.text[at] == '\n' || e.text[at] == '\r'
}

// afterLine gives the offset of the line after the one that holds at, whose rest is blank.
func (e *editor) afterLine(at int) int {
	at = e.skipBlanks(at)
	return at + len(firstEOL(e.text[at:min(at+2, len(e.text))], ""))
}

// space skips white space and comments, line ends included.
func (e *editor) space(at int) int {
	p := parser{doc: e.Document, text: e.text, o: e.options}
	return p.space(at)
}

// afterComments gives the end of the comments that follow at on its line, or at itself. A comment that goes on on the
// next line does not count.
func (e *editor) afterComments(at int) int {
	for {
		next := e.skipBlanks(at)
		switch rest := e.text[next:]; {
		case strings.HasPrefix(rest, "//"):
			return next + lineCommentLength(rest, e.options)
		case strings.HasPrefix(rest, "/*"):
			length := len("/*") + strings.Index(rest[2:], "*/") + len("*/")
			if hasLineEnd(rest[:length]) {
				return at
			}
			at = next + length
		default:
			return at
		}
	}
}

// lastComment gives the end of the last comment in white space and comments from at to end, and whether it is one that
// goes on to the end of its line.
func (e *editor) lastComment(at, end int) (last int, toLineEnd bool) {
	last = at
	for at < end {
		switch rest := e.text[at:end]; {
		case strings.HasPrefix(rest, "//"):
			at += lineCommentLength(rest, e.options)
			last, toLineEnd = at, true
		case strings.HasPrefix(rest, "/*"):
			at += len("/*") + strings.Index(rest[2:], "*/") + len("*/")
			last, toLineEnd = at, false
		default:
			at++
		}
	}
	return last, toLineEnd
}

// A span is the place of one element, or of one member from its key to the end of its value.
type span struct{ start, end int }

func items(v Value) []span {
	spans := make([]span, 0, v.Len())
	if v.Kind() == Array {
		for _, element := range v.Elements() {
			spans = append(spans, span{element.Offset(), element.End()})
		}
		return spans
	}
	v.eachMember(func(keyAt, valueAt uint32) {
		spans = append(spans, span{int(v.doc.nodes[keyAt].start), int(v.doc.nodes[valueAt].end)})
	})
	return spans
}

// firstItem gives the start of the first element or key of a container that is not empty.
func firstItem(v Value) int { return int(v.doc.nodes[v.index+1].start) }

// unit gives one level of indentation: as in the innermost of the containers that shows it, else as anywhere in the
// file, else two spaces.
func (e *editor) unit(containers []Value) string {
	for i := len(containers) - 1; i >= 0; i-- {
		if unit := e.unitIn(containers[i]); unit != "" {
			return unit
		}
	}
	for i := range e.nodes {
		if unit := e.unitIn(Value{e.Document, uint32(i)}); unit != "" {
			return unit
		}
	}
	return "  "
}

func (e *editor) unitIn(v Value) string {
	if v.Len() == 0 {
		return ""
	}
	first := firstItem(v)
	if !e.startsLine(first) || e.lineStart(first) <= v.Offset() {
		return ""
	}
	unit, _ := strings.CutPrefix(e.lineIndent(first), e.lineIndent(v.Offset()))
	return unit
}

// colon gives what stands between the keys and values of v, else of the file's first member: a colon and its spaces.
func (e *editor) colon(v Value) string {
	if v.Kind() == Object && v.Len() > 0 {
		found := ""
		v.eachMember(func(keyAt, valueAt uint32) { found = e.between(keyAt, valueAt) })
		if strings.Trim(found, " \t") == ":" {
			return found
		}
	}
	for i := range e.nodes {
		if e.nodes[i].kind == Object && e.nodes[i].size > 0 {
			if found := e.between(uint32(i+1), uint32(i+2)); strings.Trim(found, " \t") == ":" {
				return found
			}
		}
	}
	return ": "
}

func (e *editor) between(a, b uint32) string { return e.text[e.nodes[a].end:e.nodes[b].start] }

// gap gives the space after a comma for containers on one line: none in a file that is written without spaces.
func (e *editor) gap(v Value, spans []span) string {
	if n := len(spans); n > 1 {
		if spaces, ok := strings.CutPrefix(e.text[spans[n-2].end:spans[n-1].start], ","); ok && strings.Trim(spaces, " \t") == "" {
			return spaces
		}
	}
	if e.colon(v) == ":" {
		return ""
	}
	return " "
}

// insert adds raw at the end of the last of the containers: below new objects for keys, if there are any.
func (e *editor) insert(containers []Value, keys []string, raw Value, appending bool) string {
	target := containers[len(containers)-1]
	l := layout{eol: e.eol(target), unit: e.unit(containers), colon: e.colon(target)}
	item := func(indent string) string {
		if len(keys) == 0 {
			return l.render(nil, raw, false, indent)
		}
		return Quote(keys[0]) + l.colon + l.render(keys[1:], raw, appending, indent)
	}
	if target.Len() == 0 {
		return e.insertFirst(containers, &l, item)
	}
	return e.insertLast(target, &l, item)
}

func (e *editor) insertFirst(containers []Value, l *layout, item func(indent string) string) string {
	target := containers[len(containers)-1]
	start, end := target.Offset()+1, target.End()-1
	inner := e.text[start:end]
	indent := e.lineIndent(target.Offset())
	l.lines = len(containers) == 1 || hasLineEnd(inner) ||
		hasLineEnd(e.text[containers[len(containers)-2].Offset():target.Offset()])
	if strings.Trim(inner, " \t\r\n") == "" {
		l.pad = strings.Repeat(" ", min(len(inner), 1))
	} else { // comments, which stay in front of the new item
		var toLineEnd bool
		start, toLineEnd = e.lastComment(start, end)
		l.pad = " "
		l.lines = toLineEnd || hasLineEnd(inner)
	}
	inside := indent
	if l.lines {
		inside += l.unit
	}
	return e.text[:start] + l.wrap(item(inside), indent) + e.text[end:]
}

func (e *editor) insertLast(target Value, l *layout, item func(indent string) string) string {
	spans := items(target)
	last := spans[len(spans)-1]
	before := target.Offset() + 1
	if len(spans) > 1 {
		before = spans[len(spans)-2].end
	}
	after, comma, ownComma := last.end, ",", ""
	if at := e.space(last.end); e.text[at] == ',' { // a trailing comma
		after, comma, ownComma = at+1, "", ","
	}
	// Where members share a line the new one goes there too, unless a comment takes the rest of that line.
	commented := e.afterComments(after)
	l.lines = hasLineEnd(e.text[before:last.start]) || commented > after && e.atLineEnd(commented)
	if !l.lines {
		if first := firstItem(target); first > target.Offset()+1 && e.skipBlanks(target.Offset()+1) == first {
			l.pad = " "
		}
		return e.text[:last.end] + comma + e.text[last.end:after] + e.gap(target, spans) +
			item(e.lineIndent(last.start)) + ownComma + e.text[after:]
	}
	indent := e.lineIndent(last.start)
	if !hasLineEnd(e.text[target.Offset():last.start]) {
		indent += l.unit
	}
	return e.text[:last.end] + comma + e.text[last.end:commented] + l.eol + indent + item(indent) + ownComma + e.text[commented:]
}

// remove takes one item out of a container, with its comma.
func (e *editor) remove(target Value, index int) string {
	spans := items(target)
	item := spans[index]
	open, closing := target.Offset()+1, target.End()-1
	isLast := index == len(spans)-1

	end := item.end
	ownComma := false
	if at := e.space(item.end); e.text[at] == ',' {
		ownComma = true
		if between := e.text[end:at]; hasLineEnd(between) && strings.Trim(between, " \t\r\n") != "" {
			// Comments with lines of their own stand in front of the comma. Only the comma goes, they stay.
			return e.text[:item.start] + e.text[end:at] + e.text[at+1:]
		}
		end = at + 1
	}
	if len(spans) == 1 && strings.Trim(e.text[open:item.start]+e.text[end:closing], " \t\r\n") == "" {
		return e.text[:open] + e.text[closing:]
	}

	// The comma in front goes when the last item without a comma goes.
	previous, commaBefore := open, -1
	if index > 0 {
		commaBefore = e.space(spans[index-1].end)
		previous = commaBefore + 1
	}
	dropBefore := !ownComma && index > 0
	leadBlank := strings.Trim(e.text[previous:item.start], " \t\r\n") == ""
	ownLine := e.startsLine(item.start) && e.lineStart(item.start) >= open

	start := item.start
	commented := e.afterComments(end)
	wholeLine := ownLine && e.atLineEnd(commented)
	switch {
	case wholeLine:
		start, end = e.lineStart(start), e.afterLine(commented)
	case isLast && index > 0 && leadBlank:
		start = previous
		if dropBefore {
			start = commaBefore
		}
	case !isLast && !e.atLineEnd(end):
		end = e.skipBlanks(end)
	case !isLast && leadBlank && !ownLine:
		start = previous
	}
	// A line on which nothing is left goes as a whole.
	if !wholeLine && e.startsLine(start) && e.lineStart(start) >= open && e.atLineEnd(end) {
		start, end = e.lineStart(start), e.afterLine(end)
	}
	text := e.text[:start] + e.text[end:]
	if dropBefore && commaBefore < start {
		text = text[:commaBefore] + text[commaBefore+1:]
	}
	return text
}
