package jsonc

import (
	"fmt"
	"math"
	"strings"
	"unicode"
	"unicode/utf8"
)

const byteOrderMark = "\xef\xbb\xbf"

// Parse reads a whole file. The error is a *SyntaxError and names the first mistake. With Lenient the document is never
// nil, mistakes are in Document.Errors, and only a file that is nested too deeply or is larger than 4 GB gives an error.
func Parse(src []byte, o Options) (*Document, error) {
	d := &Document{text: string(src), options: o}
	if uint64(len(src)) > math.MaxUint32 {
		err := &SyntaxError{Line: 1, Column: 1, Message: "the file is larger than 4 GB"}
		if o.Lenient {
			return &Document{options: o, errors: []*SyntaxError{err}}, err
		}
		return nil, err
	}
	if strings.HasPrefix(d.text, byteOrderMark) {
		d.bom = len(byteOrderMark)
	}
	p := &parser{doc: d, text: d.text, o: o, nodes: make([]node, 0, len(src)/12+8)}
	if !utf8.ValidString(d.text) {
		p.invalidUTF8 = true
	}
	if o.Lenient {
		return p.lenient()
	}
	if p.document(); p.err != nil {
		return nil, p.err
	}
	d.nodes = p.nodes
	return d, nil
}

type parser struct {
	doc         *Document
	text        string
	o           Options
	nodes       []node
	depth       int
	invalidUTF8 bool
	err         *SyntaxError
}

// fail records the first error. The -1 that it gives is the "position" of everything that follows an error.
func (p *parser) fail(offset int, format string, args ...any) int {
	if p.err == nil {
		p.err = p.errorAt(offset, format, args...)
	}
	return -1
}

func (p *parser) errorAt(offset int, format string, args ...any) *SyntaxError {
	line, column := p.doc.Position(offset)
	return &SyntaxError{Line: line, Column: column, Offset: offset, Message: fmt.Sprintf(format, args...)}
}

// found describes what stands at offset, for messages.
func (p *parser) found(offset int) string {
	if offset >= len(p.text) {
		return "the end of the file"
	}
	r, size := utf8.DecodeRuneInString(p.text[offset:])
	if r == utf8.RuneError && size == 1 {
		return "an invalid UTF-8 byte"
	}
	return fmt.Sprintf("%q", r)
}

func (p *parser) document() {
	at := 0
	if p.doc.bom > 0 {
		if !p.o.BOM && !p.o.JSON5 {
			p.fail(0, "a byte order mark is not allowed here")
			return
		}
		at = p.doc.bom
	}
	if p.invalidUTF8 && !p.o.ReplaceInvalidUTF8 {
		p.fail(invalidUTF8At(p.text), "invalid UTF-8")
		return
	}
	if at = p.space(at); at < 0 {
		return
	}
	if at == len(p.text) {
		p.fail(at, "the file holds no value")
		return
	}
	if at = p.value(at); at < 0 {
		return
	}
	if at = p.space(at); at >= 0 && at < len(p.text) {
		p.fail(at, "expected the end of the file, found %s", p.found(at))
	}
}

func invalidUTF8At(text string) int {
	for i, r := range text {
		if r == utf8.RuneError {
			if _, size := utf8.DecodeRuneInString(text[i:]); size == 1 {
				return i
			}
		}
	}
	return len(text)
}

// space skips white space and comments and gives the offset of what follows, -1 after an error.
func (p *parser) space(at int) int {
	for at < len(p.text) {
		switch c := p.text[at]; {
		case c == ' ' || c == '\n' || c == '\t' || c == '\r':
			at++
		case c == '/':
			if at = p.comment(at); at < 0 {
				return -1
			}
		case p.o.JSON5 && (c == '\v' || c == '\f'):
			at++
		case p.o.JSON5 && c >= utf8.RuneSelf:
			r, size := utf8.DecodeRuneInString(p.text[at:])
			if !isJSON5Space(r) {
				return at
			}
			at += size
		default:
			return at
		}
	}
	return at
}

func isJSON5Space(r rune) bool {
	return r == '\u2028' || r == '\u2029' || r == '\ufeff' || unicode.Is(unicode.Zs, r)
}

func (p *parser) comment(at int) int {
	rest := p.text[at+1:]
	if rest == "" || rest[0] != '/' && rest[0] != '*' {
		return p.fail(at, "unexpected %s", p.found(at))
	}
	if !p.o.Comments && !p.o.JSON5 {
		return p.fail(at, "comments are not allowed here")
	}
	if rest[0] == '*' {
		closing := strings.Index(rest[1:], "*/")
		if closing < 0 {
			return p.fail(at, "the comment is not closed")
		}
		return at + len("/*") + closing + len("*/")
	}
	return at + lineCommentLength(p.text[at:], p.o)
}

// lineCommentLength gives the length of the comment at the start of s, without the line end.
func lineCommentLength(s string, o Options) int {
	ends := "\r\n"
	if o.JSON5 && !o.Lenient {
		ends = "\r\n\u2028\u2029"
	}
	if end := strings.IndexAny(s, ends); end >= 0 {
		return end
	}
	return len(s)
}

func (p *parser) leaf(kind Kind, flags uint8, start, end int) int {
	p.nodes = append(p.nodes, node{
		start: uint32(start), end: uint32(end), next: uint32(len(p.nodes) + 1), kind: kind, flags: flags,
	})
	return end
}

// value parses the value that starts at offset at and gives the offset after it, -1 after an error.
func (p *parser) value(at int) int {
	if at >= len(p.text) {
		return p.fail(at, "expected a value, found the end of the file")
	}
	switch c := p.text[at]; c {
	case '{':
		return p.object(at)
	case '[':
		return p.array(at)
	case '"':
		return p.string(at)
	case 't':
		return p.literal(at, "true", Bool)
	case 'f':
		return p.literal(at, "false", Bool)
	case 'n':
		return p.literal(at, "null", Null)
	case '-', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9':
		return p.number(at)
	case '\'':
		if p.o.JSON5 {
			return p.string(at)
		}
	case '+', '.':
		if p.o.JSON5 {
			return p.number(at)
		}
	case 'I', 'N':
		if p.o.JSON5 || p.o.NonFinite {
			return p.number(at)
		}
	}
	return p.fail(at, "expected a value, found %s", p.found(at))
}

func (p *parser) literal(at int, word string, kind Kind) int {
	if !strings.HasPrefix(p.text[at:], word) {
		return p.fail(at, "expected a value, found a word that is none")
	}
	return p.leaf(kind, 0, at, at+len(word))
}

func (p *parser) open(kind Kind, at int) (index int, ok bool) {
	if p.depth == MaxDepth {
		p.fail(at, "nested more than %d levels deep", MaxDepth)
		return 0, false
	}
	p.depth++
	p.nodes = append(p.nodes, node{start: uint32(at), kind: kind})
	return len(p.nodes) - 1, true
}

func (p *parser) close(index, size, end int) int {
	p.depth--
	n := &p.nodes[index]
	n.end, n.next, n.size = uint32(end), uint32(len(p.nodes)), uint32(size)
	return end
}

func (p *parser) array(at int) int {
	index, ok := p.open(Array, at)
	if !ok {
		return -1
	}
	if at = p.space(at + 1); at < 0 {
		return -1
	}
	if at < len(p.text) && p.text[at] == ']' {
		return p.close(index, 0, at+1)
	}
	for size := 1; ; size++ {
		if at = p.value(at); at < 0 {
			return -1
		}
		var closed bool
		if at, closed = p.separator(at, ']'); at < 0 {
			return -1
		} else if closed {
			return p.close(index, size, at)
		}
	}
}

func (p *parser) object(at int) int {
	index, ok := p.open(Object, at)
	if !ok {
		return -1
	}
	if at = p.space(at + 1); at < 0 {
		return -1
	}
	if at < len(p.text) && p.text[at] == '}' {
		return p.close(index, 0, at+1)
	}
	for size := 1; ; size++ {
		if at = p.key(at); at < 0 {
			return -1
		}
		if at = p.space(at); at < 0 {
			return -1
		}
		if at >= len(p.text) || p.text[at] != ':' {
			return p.fail(at, "expected ':' after a key, found %s", p.found(at))
		}
		if at = p.space(at + 1); at < 0 {
			return -1
		}
		if at = p.value(at); at < 0 {
			return -1
		}
		var closed bool
		if at, closed = p.separator(at, '}'); at < 0 {
			return -1
		} else if closed {
			return p.close(index, size, at)
		}
	}
}

// separator reads what follows an element or a member: a comma, with the closing bracket perhaps, or that bracket. It
// gives the offset of the next element, or the one after the bracket.
func (p *parser) separator(at int, bracket byte) (next int, closed bool) {
	if at = p.space(at); at < 0 {
		return -1, false
	}
	if at < len(p.text) && p.text[at] == bracket {
		return at + 1, true
	}
	if at >= len(p.text) || p.text[at] != ',' {
		return p.fail(at, "expected ',' or '%c', found %s", bracket, p.found(at)), false
	}
	comma := at
	if at = p.space(at + 1); at < 0 {
		return -1, false
	}
	if at < len(p.text) && p.text[at] == bracket {
		if !p.o.TrailingCommas && !p.o.JSON5 {
			return p.fail(comma, "a trailing comma is not allowed here"), false
		}
		return at + 1, true
	}
	return at, false
}

func (p *parser) key(at int) int {
	if at < len(p.text) {
		if c := p.text[at]; c == '"' || c == '\'' && p.o.JSON5 {
			return p.string(at)
		}
		if p.o.JSON5 {
			if end := identifierEnd(p.text, at); end > at {
				return p.leaf(String, flagBare, at, end)
			}
		}
	}
	if p.o.JSON5 {
		return p.fail(at, "expected a key, found %s", p.found(at))
	}
	return p.fail(at, "expected a key in double quotes, found %s", p.found(at))
}

// identifierEnd gives the end of the ECMAScript 5.1 identifier name at offset at, or at itself when there is none.
func identifierEnd(text string, at int) int {
	start := at
	for at < len(text) {
		r, size := utf8.DecodeRuneInString(text[at:])
		if r == '\\' && strings.HasPrefix(text[at:], `\u`) {
			escaped, digits := hexDigits(text[at+2:], 4)
			if digits < 4 {
				return start
			}
			r, size = escaped, 6
		}
		first := r == '$' || r == '_' || unicode.IsLetter(r) || unicode.Is(unicode.Nl, r)
		later := unicode.In(r, unicode.Mn, unicode.Mc, unicode.Nd, unicode.Pc) || r == '\u200c' || r == '\u200d'
		if !first && (!later || at == start) {
			return at
		}
		at += size
	}
	return at
}

func (p *parser) string(start int) int {
	text, quote := p.text, p.text[start]
	var flags uint8
	for at := start + 1; at < len(text); {
		c := text[at]
		switch {
		case c == quote:
			return p.leaf(String, flags, start, at+1)
		case c == '\\':
			flags = flagDecode
			if at = p.escape(at); at < 0 {
				return -1
			}
		case c < 0x20:
			if !p.o.JSON5 || c == '\n' || c == '\r' {
				return p.fail(at, "a string holds the raw control character %q", c)
			}
			at++
		case c >= utf8.RuneSelf && p.invalidUTF8:
			flags = flagDecode
			at++
		default:
			at++
		}
	}
	return p.fail(start, "the string is not closed")
}

// escape checks the escape at offset at and gives the offset after it.
func (p *parser) escape(at int) int {
	if at+1 >= len(p.text) {
		return p.fail(at, "the string is not closed")
	}
	switch c := p.text[at+1]; c {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return at + 2
	case 'u':
		if _, digits := hexDigits(p.text[at+2:], 4); digits < 4 {
			return p.fail(at, `\u needs four hexadecimal digits`)
		}
		return at + 6
	default:
		if p.o.JSON5 {
			return p.json5Escape(at)
		}
		return p.fail(at, "the escape %q is not known", `\`+printable(c))
	}
}

// printable gives an ASCII character as text, and nothing for the byte of a longer one.
func printable(c byte) string {
	if c >= utf8.RuneSelf {
		return ""
	}
	return string(rune(c))
}

func (p *parser) json5Escape(at int) int {
	switch c := p.text[at+1]; {
	case c == 'x':
		if _, digits := hexDigits(p.text[at+2:], 2); digits < 2 {
			return p.fail(at, `\x needs two hexadecimal digits`)
		}
		return at + 4
	case c == '0':
		if at+2 < len(p.text) && isDigit(p.text[at+2]) {
			return p.fail(at, "octal escapes are not allowed")
		}
		return at + 2
	case isDigit(c):
		return p.fail(at, "octal escapes are not allowed")
	case c == '\r' && at+2 < len(p.text) && p.text[at+2] == '\n':
		return at + 3
	}
	_, size := utf8.DecodeRuneInString(p.text[at+1:])
	return at + 1 + size
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

func digitsEnd(text string, at int) int {
	for at < len(text) && isDigit(text[at]) {
		at++
	}
	return at
}

func (p *parser) number(start int) int {
	text, at := p.text, start
	if text[at] == '-' || text[at] == '+' { // value let a + through for JSON5 only
		at++
	}
	if p.o.JSON5 || p.o.NonFinite && text[start] != '+' {
		for _, word := range []string{"Infinity", "NaN"} {
			if strings.HasPrefix(text[at:], word) && (p.o.JSON5 || word == "Infinity" || at == start) {
				return p.leaf(Number, 0, start, at+len(word))
			}
		}
	}
	if p.o.JSON5 && at+1 < len(text) && text[at] == '0' && text[at+1]|0x20 == 'x' {
		end := at + 2
		for end < len(text) {
			if _, digits := hexDigits(text[end:], 1); digits == 0 {
				break
			}
			end++
		}
		if end == at+2 {
			return p.fail(start, "the number has no digits")
		}
		return p.leaf(Number, 0, start, end)
	}
	whole := digitsEnd(text, at)
	if whole > at+1 && text[at] == '0' {
		return p.fail(start, "a number must not start with 0")
	}
	hasWhole := whole > at
	at = whole
	if at < len(text) && text[at] == '.' {
		fraction := digitsEnd(text, at+1)
		if fraction == at+1 && !(p.o.JSON5 && hasWhole) || !hasWhole && !p.o.JSON5 {
			return p.fail(start, "the number is not complete")
		}
		at = fraction
	} else if !hasWhole {
		return p.fail(start, "expected a value, found %s", p.found(start))
	}
	if at < len(text) && text[at]|0x20 == 'e' {
		exponent := at + 1
		if exponent < len(text) && (text[exponent] == '+' || text[exponent] == '-') {
			exponent++
		}
		if at = digitsEnd(text, exponent); at == exponent {
			return p.fail(start, "the number is not complete")
		}
	}
	return p.leaf(Number, 0, start, at)
}
