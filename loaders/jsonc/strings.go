package jsonc

import (
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// decoded gives the text of a string node. Most strings hold no escape and are a part of the source, not a copy.
func (d *Document) decoded(n *node) string {
	switch {
	case n.flags&flagBare != 0:
		return decodeString(d.text[n.start:n.end], d.options)
	case n.flags&flagDecode != 0:
		body := d.text[n.start+1 : n.end]
		// A string that Lenient closed at the end of a line has no closing quote.
		if closed := closingQuote(body, d.text[n.start]); closed >= 0 {
			body = body[:closed]
		}
		return decodeString(body, d.options)
	}
	return d.text[n.start+1 : n.end-1]
}

func closingQuote(body string, quote byte) int {
	for i := 0; i < len(body); i++ {
		switch body[i] {
		case '\\':
			i++
		case quote:
			return i
		}
	}
	return -1
}

// decodeString resolves the escapes of a string without its quotes. The parser has seen it already, so what is wrong
// here was tolerated there: it is dropped, as jsonc-parser does.
func decodeString(body string, o Options) string {
	var out strings.Builder
	out.Grow(len(body))
	for i := 0; i < len(body); {
		c := body[i]
		switch {
		case c == '\\':
			i += decodeEscape(&out, body[i:], o)
		case c < utf8.RuneSelf:
			out.WriteByte(c)
			i++
		default:
			r, size := utf8.DecodeRuneInString(body[i:])
			if r == utf8.RuneError && size == 1 {
				size = brokenSequence(body[i:])
			}
			out.WriteRune(r)
			i += size
		}
	}
	return out.String()
}

// decodeEscape writes what the escape at the start of s stands for and gives its length.
func decodeEscape(out *strings.Builder, s string, o Options) int {
	if len(s) < 2 {
		return len(s)
	}
	switch s[1] {
	case '"', '\\', '/':
		out.WriteByte(s[1])
		return 2
	case 'b':
		out.WriteByte('\b')
		return 2
	case 'f':
		out.WriteByte('\f')
		return 2
	case 'n':
		out.WriteByte('\n')
		return 2
	case 'r':
		out.WriteByte('\r')
		return 2
	case 't':
		out.WriteByte('\t')
		return 2
	case 'u':
		return decodeUnicodeEscape(out, s)
	}
	if o.JSON5 && !o.Lenient {
		return decodeJSON5Escape(out, s)
	}
	_, size := utf8.DecodeRuneInString(s[1:])
	return 1 + size
}

func decodeUnicodeEscape(out *strings.Builder, s string) int {
	r, digits := hexDigits(s[2:], 4)
	if digits < 4 {
		return 2 + digits
	}
	if utf16.IsSurrogate(r) {
		if len(s) >= 12 && s[6] == '\\' && s[7] == 'u' {
			low, lowDigits := hexDigits(s[8:], 4)
			if pair := utf16.DecodeRune(r, low); lowDigits == 4 && pair != utf8.RuneError {
				out.WriteRune(pair)
				return 12
			}
		}
		r = utf8.RuneError
	}
	out.WriteRune(r)
	return 6
}

func decodeJSON5Escape(out *strings.Builder, s string) int {
	switch s[1] {
	case 'v':
		out.WriteByte('\v')
		return 2
	case '0':
		out.WriteByte(0)
		return 2
	case 'x':
		r, _ := hexDigits(s[2:], 2)
		out.WriteRune(r)
		return 4
	case '\n':
		return 2
	case '\r':
		if len(s) > 2 && s[2] == '\n' {
			return 3
		}
		return 2
	}
	r, size := utf8.DecodeRuneInString(s[1:])
	if r == utf8.RuneError && size == 1 {
		size = brokenSequence(s[1:])
	}
	if r != '\u2028' && r != '\u2029' { // those two continue the line
		out.WriteRune(r)
	}
	return 1 + size
}

// hexDigits reads up to limit hexadecimal digits and tells how many there were.
func hexDigits(s string, limit int) (value rune, digits int) {
	for digits < limit && digits < len(s) {
		c := s[digits]
		switch {
		case c >= '0' && c <= '9':
			value = value<<4 | rune(c-'0')
		case c|0x20 >= 'a' && c|0x20 <= 'f':
			value = value<<4 | rune(c|0x20-'a'+10)
		default:
			return value, digits
		}
		digits++
	}
	return value, digits
}

// brokenSequence gives the length of the maximal broken UTF-8 sequence at the start of s, which WHATWG decoders replace
// by one U+FFFD. (Go's own loops replace each byte.)
func brokenSequence(s string) int {
	low, high := byte(0x80), byte(0xBF)
	var follow int
	switch c := s[0]; {
	case c >= 0xC2 && c <= 0xDF:
		follow = 1
	case c >= 0xE0 && c <= 0xEF:
		follow = 2
		if c == 0xE0 {
			low = 0xA0
		} else if c == 0xED {
			high = 0x9F
		}
	case c >= 0xF0 && c <= 0xF4:
		follow = 3
		if c == 0xF0 {
			low = 0x90
		} else if c == 0xF4 {
			high = 0x8F
		}
	}
	size := 1
	for size <= follow && size < len(s) && s[size] >= low && s[size] <= high {
		low, high = 0x80, 0xBF
		size++
	}
	return size
}

// Quote gives s as a JSON string the way JavaScript writes it: only the quote, the backslash and control characters
// are escaped. HTML characters, U+2028 and U+2029 stay raw; invalid UTF-8 becomes U+FFFD.
func Quote(s string) string {
	const hex = "0123456789abcdef"
	var out strings.Builder
	out.Grow(len(s) + 2)
	out.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			out.WriteByte('\\')
			out.WriteRune(r)
		case r == '\b':
			out.WriteString(`\b`)
		case r == '\f':
			out.WriteString(`\f`)
		case r == '\n':
			out.WriteString(`\n`)
		case r == '\r':
			out.WriteString(`\r`)
		case r == '\t':
			out.WriteString(`\t`)
		case r < 0x20:
			out.WriteString(`\u00`)
			out.WriteByte(hex[r>>4])
			out.WriteByte(hex[r&15])
		default:
			out.WriteRune(r)
		}
	}
	out.WriteByte('"')
	return out.String()
}
