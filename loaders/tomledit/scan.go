package tomledit

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// The scanner finds where keys and values begin and end. It accepts all that TOML is and some that it is not: whether
// a file is right is the decoder's business.

type statementKind uint8

const (
	keyStatement statementKind = iota
	headerStatement
	arrayHeaderStatement
)

// A statement is one header or one key-value pair, without the comment and line end that follow it.
type statement struct {
	kind       statementKind
	start, end int // of the header with its brackets, or from the key to the end of the value
	key        []segment
	value      *value // of a keyStatement
}

// A segment is one part of a dotted key. Its bytes include the quotes, its name does not.
type segment struct {
	name       string
	start, end int
}

func (s segment) error(message string) *scanError {
	return &scanError{offset: s.start, message: message}
}

type valueKind uint8

const (
	scalarValue valueKind = iota
	arrayValue
	inlineTable
)

type value struct {
	kind       valueKind
	start, end int
	elements   []*value // of an array
	members    []member // of an inline table
}

type member struct {
	key   []segment
	value *value
}

type scanError struct {
	offset  int
	message string
	tooDeep bool
}

type scanner struct {
	text string
	at   int
	err  *scanError
}

// scan reads all statements. After an error it gives those before it.
func scan(text string) ([]statement, *scanError) {
	s := &scanner{text: text}
	if strings.HasPrefix(text, byteOrderMark) {
		s.at = len(byteOrderMark)
	}
	var statements []statement
	tableDepth := 0
	for {
		s.blank(true)
		if s.at >= len(text) {
			return statements, nil
		}
		next, ok := s.statement(tableDepth)
		if !ok {
			return statements, s.err
		}
		if next.kind != keyStatement {
			tableDepth = len(next.key)
		}
		statements = append(statements, next)
		s.blank(false)
		if s.at < len(text) && s.text[s.at] != '\n' && !strings.HasPrefix(s.text[s.at:], "\r\n") && s.text[s.at] != '#' {
			s.fail("expected the end of the line")
			return statements, s.err
		}
	}
}

func (s *scanner) fail(message string) bool {
	if s.err == nil {
		s.err = &scanError{offset: s.at, message: message}
	}
	return false
}

// blank skips spaces and tabs; with lines also line ends and comments.
func (s *scanner) blank(lines bool) {
	for s.at < len(s.text) {
		switch c := s.text[s.at]; {
		case c == ' ' || c == '\t':
			s.at++
		case lines && (c == '\n' || c == '\r'):
			s.at++
		case lines && c == '#':
			s.at = commentEnd(s.text, s.at)
		default:
			return
		}
	}
}

// commentEnd gives the end of the comment at offset at, without the line end.
func commentEnd(text string, at int) int {
	end := strings.IndexByte(text[at:], '\n')
	if end < 0 {
		return len(text)
	}
	end += at
	if end > at && text[end-1] == '\r' {
		end--
	}
	return end
}

func (s *scanner) peek() byte {
	if s.at < len(s.text) {
		return s.text[s.at]
	}
	return 0
}

func (s *scanner) statement(tableDepth int) (statement, bool) {
	st := statement{start: s.at}
	closing := ""
	switch {
	case strings.HasPrefix(s.text[s.at:], "[["):
		st.kind, closing = arrayHeaderStatement, "]]"
	case s.peek() == '[':
		st.kind, closing = headerStatement, "]"
	}
	s.at += len(closing)
	if st.kind != keyStatement {
		tableDepth = 0
	}
	var ok bool
	if st.key, ok = s.key(tableDepth); !ok {
		return st, false
	}
	if st.kind != keyStatement {
		if !strings.HasPrefix(s.text[s.at:], closing) {
			return st, s.fail("expected '" + closing + "'")
		}
		s.at += len(closing)
		st.end = s.at
		return st, true
	}
	st.value, ok = s.assigned(tableDepth + len(st.key))
	if ok {
		st.end = st.value.end
	}
	return st, ok
}

// key reads a dotted key and the blanks around it.
func (s *scanner) key(depth int) ([]segment, bool) {
	var key []segment
	for {
		s.blank(false)
		if depth++; depth > MaxDepth {
			return nil, s.deep()
		}
		part := segment{start: s.at}
		switch c := s.peek(); {
		case c == '"' || c == '\'':
			if !s.quoted(c) {
				return nil, false
			}
			part.name = s.text[part.start+1 : s.at-1]
			if c == '"' {
				part.name = unescape(part.name)
			}
		default:
			for isBare(s.peek()) {
				s.at++
			}
			if part.name = s.text[part.start:s.at]; part.name == "" {
				return nil, s.fail("expected a key")
			}
		}
		part.end = s.at
		key = append(key, part)
		s.blank(false)
		if s.peek() != '.' {
			return key, true
		}
		s.at++
	}
}

func (s *scanner) deep() bool {
	s.err = &scanError{offset: s.at, message: "nested more than " + strconv.Itoa(MaxDepth) + " levels deep", tooDeep: true}
	return false
}

func isBare(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-'
}

// quoted reads a string of one line.
func (s *scanner) quoted(quote byte) bool {
	for s.at++; s.at < len(s.text); s.at++ {
		switch c := s.text[s.at]; {
		case c == quote:
			s.at++
			return true
		case c == '\\' && quote == '"':
			s.at++
		case c == '\n':
			return s.fail("the string is not closed")
		}
	}
	s.at = len(s.text)
	return s.fail("the string is not closed")
}

// multiline reads a string in triple quotes. One or two more quotes before the closing three belong to it.
func (s *scanner) multiline(quote byte) bool {
	for s.at += 3; s.at < len(s.text); {
		switch c := s.text[s.at]; {
		case c == '\\' && quote == '"':
			s.at += 2
		case c == quote:
			run := 1
			for run < 5 && s.at+run < len(s.text) && s.text[s.at+run] == quote {
				run++
			}
			s.at += run
			if run >= 3 {
				return true
			}
		default:
			s.at++
		}
	}
	s.at = len(s.text)
	return s.fail("the string is not closed")
}

// assigned reads "= value".
func (s *scanner) assigned(depth int) (*value, bool) {
	if s.peek() != '=' {
		return nil, s.fail("expected '='")
	}
	s.at++
	s.blank(false)
	return s.value(depth)
}

func (s *scanner) value(depth int) (*value, bool) {
	v := &value{start: s.at}
	ok := true
	switch c := s.peek(); c {
	case '[':
		v.kind = arrayValue
		ok = s.array(v, depth+1)
	case '{':
		v.kind = inlineTable
		ok = s.inline(v, depth)
	case '"', '\'':
		if strings.HasPrefix(s.text[s.at:], strings.Repeat(string(rune(c)), 3)) {
			ok = s.multiline(c)
		} else {
			ok = s.quoted(c)
		}
	default:
		for s.at < len(s.text) && strings.IndexByte(",]}#\r\n", s.text[s.at]) < 0 {
			s.at++
		}
		s.at = v.start + len(strings.TrimRight(s.text[v.start:s.at], " \t"))
		if s.at == v.start {
			ok = s.fail("expected a value")
		}
	}
	v.end = s.at
	return v, ok
}

func (s *scanner) array(v *value, depth int) bool {
	if depth > MaxDepth {
		return s.deep()
	}
	for s.at++; ; {
		s.blank(true)
		if s.peek() == ']' {
			s.at++
			return true
		}
		element, ok := s.value(depth)
		if !ok {
			return false
		}
		v.elements = append(v.elements, element)
		if !s.comma(']') {
			return s.err == nil
		}
	}
}

func (s *scanner) inline(v *value, depth int) bool {
	for s.at++; ; {
		s.blank(true)
		if s.peek() == '}' {
			s.at++
			return true
		}
		key, ok := s.key(depth)
		if !ok {
			return false
		}
		inner, ok := s.assigned(depth + len(key))
		if !ok {
			return false
		}
		v.members = append(v.members, member{key: key, value: inner})
		if !s.comma('}') {
			return s.err == nil
		}
	}
}

// comma reads the comma after an element, or the closing bracket, and tells whether it was a comma.
func (s *scanner) comma(bracket byte) bool {
	s.blank(true)
	switch s.peek() {
	case ',':
		s.at++
		return true
	case bracket:
		s.at++
		return false
	}
	return s.fail("expected ',' or '" + string(rune(bracket)) + "'")
}

// unescape resolves the escapes of a basic string of one line.
func unescape(body string) string {
	if strings.IndexByte(body, '\\') < 0 {
		return body
	}
	var out strings.Builder
	for i := 0; i < len(body); i++ {
		if body[i] != '\\' || i+1 == len(body) {
			out.WriteByte(body[i])
			continue
		}
		i++
		digits := 0
		switch c := body[i]; c {
		case 'b':
			out.WriteByte('\b')
		case 't':
			out.WriteByte('\t')
		case 'n':
			out.WriteByte('\n')
		case 'f':
			out.WriteByte('\f')
		case 'r':
			out.WriteByte('\r')
		case 'e':
			out.WriteByte(0x1b)
		case 'x':
			digits = 2
		case 'u':
			digits = 4
		case 'U':
			digits = 8
		default:
			out.WriteByte(c)
		}
		if digits > 0 && i+digits < len(body) {
			code, err := strconv.ParseUint(body[i+1:i+1+digits], 16, 32)
			if err != nil || code > utf8.MaxRune {
				code = utf8.RuneError
			}
			out.WriteRune(rune(code))
			i += digits
		}
	}
	return out.String()
}
