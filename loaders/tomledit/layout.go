package tomledit

import (
	"slices"
	"strconv"
	"strings"
)

// An editor works out where on the lines of a document things stand and where changes go.
type editor struct {
	*Document
	eol string
}

func firstEOL(text string) string {
	if at := strings.IndexByte(text, '\n'); at > 0 && text[at-1] == '\r' {
		return "\r\n"
	}
	return "\n"
}

func (e *editor) textStart() int {
	if strings.HasPrefix(e.text, byteOrderMark) {
		return len(byteOrderMark)
	}
	return 0
}

func (e *editor) lineStart(at int) int {
	if i := strings.LastIndexByte(e.text[:at], '\n'); i >= 0 {
		return i + 1
	}
	return e.textStart()
}

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

// afterComment gives the end of the comment that follows at on its line, or at itself.
func (e *editor) afterComment(at int) int {
	if next := e.skipBlanks(at); next < len(e.text) && e.text[next] == '#' {
		return commentEnd(e.text, next)
	}
	return at
}

// eolAt gives the line end that follows at after blanks, "" when something else does.
func (e *editor) eolAt(at int) string {
	rest := e.text[e.skipBlanks(at):]
	switch {
	case strings.HasPrefix(rest, "\n"):
		return "\n"
	case strings.HasPrefix(rest, "\r\n"):
		return "\r\n"
	}
	return ""
}

func (e *editor) atLineEnd(at int) bool {
	return e.eolAt(at) != "" || e.skipBlanks(at) == len(e.text)
}

// nextLine gives the start of the line after the one that holds at, of which only blanks are left.
func (e *editor) nextLine(at int) int {
	return e.skipBlanks(at) + len(e.eolAt(at))
}

// lineAfter gives the start of the line after a statement and its comment.
func (e *editor) lineAfter(s statement) int { return e.nextLine(e.afterComment(s.end)) }

// A placed statement knows the full names of the table that it stands in and of what it defines.
type placed struct {
	statement
	table, full []string
}

func (e *editor) placed() []placed {
	all := make([]placed, 0, len(e.statements))
	counts := map[string]int{} // elements so far of each array of tables
	var table []string
	for _, s := range e.statements {
		if s.kind == keyStatement {
			all = append(all, placed{s, table, append(slices.Clip(table), names(s.key)...)})
			continue
		}
		table = nil
		for i, segment := range s.key {
			table = append(table, segment.name)
			array := name(table)
			if s.kind == arrayHeaderStatement && i == len(s.key)-1 {
				counts[array]++
			}
			if n := counts[array]; n > 0 {
				table = append(table, strconv.Itoa(n-1))
			}
		}
		all = append(all, placed{s, table, table})
	}
	return all
}

func names(key []segment) []string {
	names := make([]string, len(key))
	for i := range key {
		names[i] = key[i].name
	}
	return names
}

func hasPrefix(path, prefix []string) bool {
	return len(path) >= len(prefix) && slices.Equal(path[:len(prefix)], prefix)
}

// add puts a value in that is missing from depth on: node is what path[:depth] is.
func (e *editor) add(node *keyNode, path []string, depth int, raw *newValue) string {
	// Inside of an inline table, where dotted keys may have come in between.
	for i := depth; i > 0; i-- {
		if outer, _ := e.locate(path[:i]); outer.value != nil {
			return e.insert(listOf(outer.value), keyText(path[i:])+" = "+raw.text)
		}
	}
	missing := path[depth:]
	all := e.placed()
	if node.origin == fromDottedKey {
		return e.addDotted(all, path[:depth], missing, raw)
	}
	if raw.value.kind == inlineTable && (node == e.root || node.origin == fromHeaderParent || len(missing) > 1 || hasSections(node)) {
		var lines []string
		for _, m := range raw.value.members {
			key := raw.text[m.key[0].start:m.key[len(m.key)-1].end]
			lines = append(lines, key+" = "+raw.text[m.value.start:m.value.end])
		}
		return e.addSection(all, path, depth, lines)
	}
	if len(missing) > 1 {
		last := len(path) - 1
		return e.addSection(all, path[:last], depth, []string{QuoteKey(path[last]) + " = " + raw.text})
	}
	if node.origin == fromHeaderParent {
		return e.addHeader(all, path[:depth], QuoteKey(missing[0])+" = "+raw.text)
	}
	return e.addKey(all, path[:depth], missing[0], raw)
}

func keyText(key []string) string { return name(key) }

func hasSections(n *keyNode) bool {
	for _, child := range n.children {
		if child.origin == fromHeader || child.origin == fromHeaderParent || child.origin == fromArrayHeader {
			return true
		}
	}
	return false
}

// addDotted puts a key behind the last dotted key that goes through table.
func (e *editor) addDotted(all []placed, table, missing []string, raw *newValue) string {
	var last placed
	for _, p := range all {
		if p.kind == keyStatement && len(p.table) < len(table) && hasPrefix(p.full, table) {
			last = p
		}
	}
	prefix := e.text[last.key[0].start:last.key[len(table)-len(last.table)-1].end]
	return e.insertLine(last.statement, prefix+"."+keyText(missing)+e.assign(last.statement)+raw.text)
}

// assign gives the equals sign with the spaces that a key statement has around it.
func (e *editor) assign(s statement) string {
	if s.kind == keyStatement && e.text[s.key[len(s.key)-1].end:s.value.start] == "=" {
		return "="
	}
	return " = "
}

// insertLine puts a line behind the one on which a statement ends, with the indentation of the statement.
func (e *editor) insertLine(s statement, line string) string {
	line = e.lineIndent(s.start) + line
	end := e.afterComment(s.end)
	if e.eolAt(end) == "" { // the last line of the file
		return e.text[:end] + e.eol + line + e.text[end:]
	}
	next := e.nextLine(end)
	return e.text[:next] + line + e.eol + e.text[next:]
}

// addKey puts a key at the end of the section of a table that has a header, or at the end of the root's keys.
func (e *editor) addKey(all []placed, table []string, key string, raw *newValue) string {
	header := -1
	if len(table) > 0 {
		header = slices.IndexFunc(all, func(p placed) bool {
			return p.kind != keyStatement && slices.Equal(p.full, table)
		})
	}
	last := header
	for last+1 < len(all) && all[last+1].kind == keyStatement {
		last++
	}
	if last >= 0 {
		return e.insertLine(all[last].statement, QuoteKey(key)+e.assign(all[last].statement)+raw.text)
	}
	line := QuoteKey(key) + " = " + raw.text
	if len(all) == 0 { // nothing but comments
		before := e.text
		if before != "" && before != byteOrderMark && !strings.HasSuffix(before, "\n") {
			before += e.eol
		}
		return before + line + e.eol
	}
	at := e.aboveComments(all[0].statement, e.textStart())
	return e.text[:at] + line + e.eol + e.eol + e.text[at:]
}

// aboveComments gives the start of the comment lines right above a statement, not before limit.
func (e *editor) aboveComments(s statement, limit int) int {
	at := e.lineStart(s.start)
	for at > limit {
		previous := e.lineStart(at - 1)
		if previous < limit || !strings.HasPrefix(e.text[e.skipBlanks(previous):], "#") {
			break
		}
		at = previous
	}
	return at
}

// addHeader gives a table that is only implied a header of its own, above the first header that implies it.
func (e *editor) addHeader(all []placed, table []string, line string) string {
	first := slices.IndexFunc(all, func(p placed) bool { return hasPrefix(p.full, table) })
	limit := e.textStart()
	if first > 0 {
		limit = e.lineAfter(all[first-1].statement)
	}
	at := e.aboveComments(all[first].statement, limit)
	indent := e.lineIndent(all[first].start)
	section := indent + "[" + e.headerText(table) + "]" + e.eol + indent + line + e.eol + e.eol
	if at == limit && first > 0 {
		section = e.eol + section
	}
	return e.text[:at] + section + e.text[at:]
}

// headerText is the name of a table in a header: without the numbers of elements.
func (e *editor) headerText(table []string) string {
	var key []string
	node := e.root
	for _, part := range table {
		inArray := node != nil && node.isArray
		if node != nil {
			node = node.child(part)
		}
		if !inArray {
			key = append(key, part)
		}
	}
	return keyText(key)
}

// addSection puts a new header with its lines behind all that belongs to path[:depth].
func (e *editor) addSection(all []placed, path []string, depth int, lines []string) string {
	return e.addHeaded(all, path[:depth], "["+e.headerText(path)+"]", lines)
}

// addHeaded puts a header with its lines behind all that belongs to a table, or to an array of tables.
func (e *editor) addHeaded(all []placed, behind []string, header string, lines []string) string {
	at := len(e.text)
	indent := ""
	if len(behind) > 0 {
		for _, p := range all {
			if hasPrefix(p.full, behind) {
				at = e.sectionEnd(p.statement)
				if p.kind != keyStatement {
					indent = e.lineIndent(p.start)
				}
			}
		}
	}
	before, after := e.text[:at], e.text[at:]
	if before != "" && before != byteOrderMark {
		if !strings.HasSuffix(before, "\n") {
			before += e.eol
		}
		if !strings.HasSuffix(before, "\n\n") && !strings.HasSuffix(before, "\n\r\n") {
			before += e.eol
		}
	}
	section := indent + header + e.eol
	for _, line := range lines {
		section += indent + line + e.eol
	}
	if after != "" && e.eolAt(at) == "" {
		section += e.eol
	}
	return before + section + after
}

// sectionEnd gives the start of the line after the last statement of a section. Comment lines right below it belong to
// the section, unless they stand right above the next statement.
func (e *editor) sectionEnd(last statement) int {
	end := e.lineAfter(last)
	at := end
	for strings.HasPrefix(e.text[e.skipBlanks(at):], "#") {
		at = e.nextLine(e.afterComment(at))
	}
	if at == len(e.text) || e.eolAt(at) != "" {
		return at
	}
	return end
}

// delete takes a step towards a document without path: it takes out one member of an inline table, or all statements
// that path names.
func (e *editor) delete(path []string) string {
	for depth := len(path) - 1; depth > 0; depth-- {
		node, _ := e.locate(path[:depth])
		if node.value == nil || node.value.kind != inlineTable {
			continue
		}
		for i, m := range node.value.members {
			if hasPrefix(names(m.key), path[depth:]) {
				return e.remove(listOf(node.value), i)
			}
		}
	}
	all := e.placed()
	var out strings.Builder
	kept := 0
	for i := 0; i < len(all); i++ {
		if !hasPrefix(all[i].full, path) {
			continue
		}
		first := i
		section := all[i].kind != keyStatement
		for i+1 < len(all) && hasPrefix(all[i+1].full, path) {
			i++
			section = section || all[i].kind != keyStatement
		}
		start, end := e.lineStart(all[first].start), e.lineAfter(all[i].statement)
		out.WriteString(e.text[kept:start])
		// A section goes with the blank lines behind it when there are some in front of it.
		if before := out.String(); section && (before == "" || before == byteOrderMark || endsBlank(before)) {
			for end < len(e.text) && e.eolAt(end) != "" {
				end = e.nextLine(end)
			}
			if end == len(e.text) {
				out.Reset()
				for endsBlank(before) {
					before = strings.TrimSuffix(strings.TrimSuffix(before, "\n"), "\r")
				}
				out.WriteString(before)
			}
		}
		kept = end
	}
	out.WriteString(e.text[kept:])
	return out.String()
}

func endsBlank(text string) bool {
	return strings.HasSuffix(text, "\n\n") || strings.HasSuffix(text, "\n\r\n")
}

// A list is an array or an inline table: the place of its brackets and of its elements or members.
type list struct {
	open, closing int // the offset after the opening bracket and that of the closing one
	items         []span
	table         bool
}

type span struct{ start, end int }

func listOf(v *value) list {
	l := list{open: v.start + 1, closing: v.end - 1, table: v.kind == inlineTable}
	for _, element := range v.elements {
		l.items = append(l.items, span{element.start, element.end})
	}
	for _, m := range v.members {
		l.items = append(l.items, span{m.key[0].start, m.value.end})
	}
	return l
}

// space skips white space, line ends and comments.
func (e *editor) space(at int) int {
	s := scanner{text: e.text, at: at}
	s.blank(true)
	return s.at
}

func (e *editor) startsLine(at int) bool { return e.skipBlanks(e.lineStart(at)) == at }

func hasLineEnd(s string) bool { return strings.Contains(s, "\n") }

func isBlank(s string) bool { return strings.Trim(s, " \t\r\n") == "" }

// insert adds an item at the end of a list.
func (e *editor) insert(l list, item string) string {
	if len(l.items) == 0 {
		return e.insertFirst(l, item)
	}
	last := l.items[len(l.items)-1]
	before := l.open
	if len(l.items) > 1 {
		before = l.items[len(l.items)-2].end
	}
	after, comma, ownComma := last.end, ",", ""
	if at := e.space(last.end); e.text[at] == ',' { // a trailing comma
		after, comma, ownComma = at+1, "", ","
	}
	commented := e.afterComment(after)
	if hasLineEnd(e.text[before:last.start]) || commented > after {
		indent := e.lineIndent(last.start)
		if !e.startsLine(last.start) {
			indent += "  "
		}
		return e.text[:last.end] + comma + e.text[last.end:commented] + e.eol + indent + item + ownComma + e.text[commented:]
	}
	gap := " "
	if spaces, ok := strings.CutPrefix(e.text[before:last.start], ","); ok && len(l.items) > 1 && isBlank(spaces) {
		gap = spaces
	}
	return e.text[:last.end] + comma + e.text[last.end:after] + gap + item + ownComma + e.text[after:]
}

func (e *editor) insertFirst(l list, item string) string {
	inner := e.text[l.open:l.closing]
	if !hasLineEnd(inner) {
		pad := ""
		if l.table || inner != "" {
			pad = " "
		}
		return e.text[:l.open] + pad + item + pad + e.text[l.closing:]
	}
	indent := e.lineIndent(l.open) + "  "
	end := l.open // of the last comment
	for at := l.open; ; {
		for at < l.closing && e.text[at] != '#' {
			at++
		}
		if at == l.closing {
			break
		}
		at = commentEnd(e.text, at)
		end = at
	}
	return e.text[:end] + e.eol + indent + item + e.text[end:]
}

// remove takes one item out of a list, with its comma.
func (e *editor) remove(l list, index int) string {
	item := l.items[index]
	isLast := index == len(l.items)-1
	end, ownComma := item.end, false
	if at := e.space(item.end); e.text[at] == ',' {
		ownComma = true
		if between := e.text[end:at]; hasLineEnd(between) && !isBlank(between) {
			// Comments with lines of their own stand in front of the comma. Only the comma goes, they stay.
			return e.text[:item.start] + e.text[end:at] + e.text[at+1:]
		}
		end = at + 1
	}
	if len(l.items) == 1 && isBlank(e.text[l.open:item.start]) && isBlank(e.text[end:l.closing]) {
		return e.text[:l.open] + e.text[l.closing:]
	}

	// The comma in front goes when the last item without a comma goes.
	previous, commaBefore := l.open, -1
	if index > 0 {
		commaBefore = e.space(l.items[index-1].end)
		previous = commaBefore + 1
	}
	dropBefore := !ownComma && index > 0
	leadBlank := isBlank(e.text[previous:item.start])
	ownLine := e.startsLine(item.start) && e.lineStart(item.start) >= l.open

	start := item.start
	commented := e.afterComment(end)
	wholeLine := ownLine && e.atLineEnd(commented)
	switch {
	case wholeLine:
		start, end = e.lineStart(start), e.nextLine(commented)
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
	if !wholeLine && e.startsLine(start) && e.lineStart(start) >= l.open && e.atLineEnd(end) {
		start, end = e.lineStart(start), e.nextLine(end)
	}
	text := e.text[:start] + e.text[end:]
	if dropBefore && commaBefore < start {
		text = text[:commaBefore] + text[commaBefore+1:]
	}
	return text
}
