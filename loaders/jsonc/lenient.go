package jsonc

import (
	"strings"
	"unicode/utf8"
)

// The fault tolerant reader follows scanner.ts and parser.ts of jsonc-parser 3.3.1 token by token, so that what it
// makes of a broken file is what that library makes of it.

type token uint8

const (
	tokenUnknown token = iota
	tokenOpenBrace
	tokenCloseBrace
	tokenOpenBracket
	tokenCloseBracket
	tokenComma
	tokenColon
	tokenString
	tokenNumber
	tokenTrue
	tokenFalse
	tokenNull
	tokenEOF
)

const maxLenientErrors = 100

type lenientParser struct {
	*parser
	at         int // offset after the current token
	token      token
	tokenStart int
	valueEnd   int   // end of a number without the exponent that it lacks digits for
	flags      uint8 // of a string token
	tooDeep    *SyntaxError
}

func (p *parser) lenient() (*Document, error) {
	l := &lenientParser{parser: p}
	if p.doc.bom > 0 {
		if !p.o.BOM {
			l.report(0, "a byte order mark is not allowed here")
		}
		l.at = p.doc.bom
	}
	if p.invalidUTF8 && !p.o.ReplaceInvalidUTF8 {
		l.report(invalidUTF8At(p.text), "invalid UTF-8")
	}
	l.scan()
	if !l.value() {
		l.reportToken("expected a value")
	} else if l.token != tokenEOF {
		l.reportToken("expected the end of the file")
	}
	if l.tooDeep != nil {
		p.doc.errors = []*SyntaxError{l.tooDeep}
		return p.doc, l.tooDeep
	}
	p.doc.nodes = p.nodes
	return p.doc, nil
}

func (l *lenientParser) report(offset int, message string) {
	if len(l.doc.errors) < maxLenientErrors {
		l.doc.errors = append(l.doc.errors, l.errorAt(offset, "%s", message))
	}
}

func (l *lenientParser) reportToken(message string) {
	if len(l.doc.errors) < maxLenientErrors {
		l.report(l.tokenStart, message+", found "+l.found(l.tokenStart))
	}
}

// skipTo reports and moves on to one of the two tokens or to the end.
func (l *lenientParser) skipTo(message string, a, b token) {
	l.reportToken(message)
	for l.token != tokenEOF && l.token != a && l.token != b {
		l.scan()
	}
}

// scan reads the next token that is neither white space nor comment nor an unknown word.
func (l *lenientParser) scan() {
	for {
		l.token = l.next()
		if l.token != tokenUnknown {
			return
		}
	}
}

// next reads one token. It gives tokenUnknown for all that the grammar has no use for.
func (l *lenientParser) next() token {
	text := l.text
	for l.at < len(text) && strings.IndexByte(" \t\r\n", text[l.at]) >= 0 {
		l.at++
	}
	l.tokenStart = l.at
	if l.at >= len(text) {
		return tokenEOF
	}
	c := text[l.at]
	l.at++
	switch c {
	case '{':
		return tokenOpenBrace
	case '}':
		return tokenCloseBrace
	case '[':
		return tokenOpenBracket
	case ']':
		return tokenCloseBracket
	case ':':
		return tokenColon
	case ',':
		return tokenComma
	case '"':
		l.scanString()
		return tokenString
	case '/':
		l.scanComment()
		return tokenUnknown
	case '-':
		if l.at == len(text) || !isDigit(text[l.at]) {
			l.reportToken("invalid symbol")
			return tokenUnknown
		}
		l.scanNumber()
		return tokenNumber
	case '0', '1', '2', '3', '4', '5', '6', '7', '8', '9':
		l.at--
		l.scanNumber()
		return tokenNumber
	}
	for l.at < len(text) && strings.IndexByte(" \t\r\n}]{[\":,/", text[l.at]) < 0 {
		l.at++
	}
	switch text[l.tokenStart:l.at] {
	case "true":
		return tokenTrue
	case "false":
		return tokenFalse
	case "null":
		return tokenNull
	}
	l.reportToken("invalid symbol")
	return tokenUnknown
}

func (l *lenientParser) scanComment() {
	rest := l.text[l.tokenStart:]
	switch {
	case strings.HasPrefix(rest, "//"):
		l.at = l.tokenStart + lineCommentLength(rest, l.o)
	case strings.HasPrefix(rest, "/*"):
		closing := strings.Index(rest[2:], "*/")
		if closing >= 0 {
			l.at = l.tokenStart + 2 + closing + 2
		} else {
			l.at = len(l.text)
			if l.o.Comments {
				l.report(l.tokenStart, "the comment is not closed")
			}
		}
	default:
		l.reportToken("invalid symbol")
		return
	}
	if !l.o.Comments {
		l.report(l.tokenStart, "comments are not allowed here")
	}
}

// scanString reads to the closing quote; a line end or the end of the file closes the string too.
func (l *lenientParser) scanString() {
	text := l.text
	l.flags = 0
	for l.at < len(text) {
		c := text[l.at]
		switch {
		case c == '"':
			l.at++
			return
		case c == '\\':
			l.flags = flagDecode
			l.scanEscape()
			continue
		case c == '\n' || c == '\r':
			l.flags = flagDecode
			l.report(l.tokenStart, "the string is not closed")
			return
		case c < 0x20:
			l.report(l.at, "a string holds a raw control character")
		case c >= utf8.RuneSelf && l.invalidUTF8:
			l.flags = flagDecode
		}
		l.at++
	}
	l.flags = flagDecode
	l.report(l.tokenStart, "the string is not closed")
}

func (l *lenientParser) scanEscape() {
	escape := l.at
	l.at++
	if l.at >= len(l.text) {
		return
	}
	c := l.text[l.at]
	switch c {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		l.at++
	case 'u':
		_, digits := hexDigits(l.text[l.at+1:], 4)
		l.at += 1 + digits
		if digits < 4 {
			l.report(escape, `\u needs four hexadecimal digits`)
		}
	default:
		_, size := utf8.DecodeRuneInString(l.text[l.at:])
		l.at += size
		l.report(escape, "the escape is not known")
	}
}

func (l *lenientParser) scanNumber() {
	text := l.text
	if text[l.at] == '0' {
		l.at++
	} else {
		l.at = digitsEnd(text, l.at)
	}
	if l.at < len(text) && text[l.at] == '.' {
		fraction := digitsEnd(text, l.at+1)
		incomplete := fraction == l.at+1
		l.at = fraction
		if incomplete {
			l.valueEnd = l.at
			l.report(l.tokenStart, "the number is not complete")
			return
		}
	}
	l.valueEnd = l.at
	if l.at < len(text) && text[l.at]|0x20 == 'e' {
		l.at++
		if l.at < len(text) && (text[l.at] == '+' || text[l.at] == '-') {
			l.at++
		}
		end := digitsEnd(text, l.at)
		if end == l.at {
			l.report(l.tokenStart, "the number is not complete")
			return
		}
		l.at, l.valueEnd = end, end
	}
}

// value reads a value and tells whether there was one.
func (l *lenientParser) value() bool {
	switch l.token {
	case tokenOpenBracket:
		l.container(Array)
		return true
	case tokenOpenBrace:
		l.container(Object)
		return true
	case tokenString:
		l.leaf(String, l.flags, l.tokenStart, l.at)
	case tokenNumber:
		l.leaf(Number, 0, l.tokenStart, l.valueEnd)
	case tokenTrue, tokenFalse:
		l.leaf(Bool, 0, l.tokenStart, l.at)
	case tokenNull:
		l.leaf(Null, 0, l.tokenStart, l.at)
	default:
		return false
	}
	l.scan()
	return true
}

func (l *lenientParser) container(kind Kind) {
	closing, item := tokenCloseBracket, l.element
	missing := "expected ',' or ']'"
	if kind == Object {
		closing, item = tokenCloseBrace, l.property
		missing = "expected ',' or '}'"
	}
	if l.depth == MaxDepth {
		l.tooDeep = l.errorAt(l.tokenStart, "nested more than %d levels deep", MaxDepth)
		// The end of the file is what makes every open loop return.
		l.at, l.token = len(l.text), tokenEOF
		return
	}
	index, _ := l.open(kind, l.tokenStart)
	l.scan()
	size, needsComma := 0, false
	for l.token != closing && l.token != tokenEOF {
		if l.token == tokenComma {
			if !needsComma {
				l.reportToken("expected a value")
			}
			comma := l.tokenStart
			l.scan()
			if l.token == closing {
				if !l.o.TrailingCommas {
					l.report(comma, "a trailing comma is not allowed here")
				}
				break
			}
		} else if needsComma {
			l.reportToken(missing)
		}
		if item() {
			size++
		}
		needsComma = true
	}
	end := l.at
	if l.token == closing {
		l.close(index, size, end)
		l.scan()
		return
	}
	l.close(index, size, len(l.text))
	l.reportToken(missing)
}

func (l *lenientParser) element() bool {
	if l.value() {
		return true
	}
	l.skipTo("expected a value", tokenCloseBracket, tokenComma)
	return false
}

// property reads a key and its value. A key without a value leaves no trace.
func (l *lenientParser) property() bool {
	if l.token != tokenString {
		l.skipTo("expected a key in double quotes", tokenCloseBrace, tokenComma)
		return false
	}
	key := len(l.nodes)
	l.leaf(String, l.flags, l.tokenStart, l.at)
	l.scan()
	if l.token != tokenColon {
		l.nodes = l.nodes[:key]
		l.skipTo("expected ':' after a key", tokenCloseBrace, tokenComma)
		return false
	}
	l.scan()
	if !l.value() {
		l.nodes = l.nodes[:key]
		l.skipTo("expected a value", tokenCloseBrace, tokenComma)
		return false
	}
	return true
}
