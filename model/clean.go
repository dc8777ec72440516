package model

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Clean makes foreign text harmless for one line of a screen: control characters, line ends, escape sequences,
// bidirectional and zero-width characters and blank-looking ones become a visible or plain replacement. It adds nothing
// to text that is harmless already.
func Clean(s string) string {
	for i, r := range s {
		if r == utf8.RuneError || r < 0x20 || r == 0x7f || r > 0x7e && !plainRune(r) {
			return cleanFrom(s, i)
		}
	}
	return s
}

func cleanFrom(s string, start int) string {
	var b strings.Builder
	b.WriteString(s[:start])
	for _, r := range s[start:] {
		switch {
		case r == '\n' || r == '\r' || r == '\t' || r == '\u2028' || r == '\u2029' || r == '\u0085':
			b.WriteByte(' ')
		case r < 0x20 || r == 0x7f || r == utf8.RuneError || r > 0x7e && !plainRune(r):
			b.WriteRune('\ufffd')
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// plainRune tells whether a rune outside ASCII is drawn as itself, moves nothing and joins with nothing.
func plainRune(r rune) bool {
	switch {
	case r >= 0x80 && r < 0xa0: // C1 controls
		return false
	case r == 0xa0, r == 0xad, r == 0x34f, r == 0x61c, r == 0x115f, r == 0x1160, r == 0x17b4, r == 0x17b5, r == 0x180e,
		r == 0x2800, r == 0x3000, r == 0x3164, r == 0xffa0, r == 0xfffc:
		return false
	case r >= 0x2000 && r <= 0x200f, r >= 0x2028 && r <= 0x202f, r >= 0x205f && r <= 0x206f:
		return false
	case r >= 0xfe00 && r <= 0xfe0f, r == 0xfeff, r >= 0xfff0 && r <= 0xfffb, r >= 0x1d173 && r <= 0x1d17a:
		return false
	case r >= 0xe0000 && r <= 0xe0fff:
		return false
	}
	return unicode.IsGraphic(r) && !unicode.In(r, unicode.Cf, unicode.Me, unicode.Co, unicode.Cs)
}

// Tilde shows a path with ~ for the home folder. It compares by path components: /home/ann does not match /home/anna.
func Tilde(path, home string) string {
	if home == "" || home == "/" {
		return path
	}
	if path == home {
		return "~"
	}
	if rest, ok := strings.CutPrefix(path, home); ok && (rest[0] == '/' || rest[0] == '\\') {
		return "~" + rest
	}
	return path
}
