package loaders

import (
	"math"
	"sort"
	"strconv"
	"strings"
	"unicode/utf8"

	"fusebox/loaders/jsonc"
)

// JSON as Python's json module reads and writes it, for fingerprints that programs make of json.dumps.

// pythonJSON is how json.load parses: strict UTF-8, no byte order mark, no comments, NaN and infinities allowed.
var pythonJSON = jsonc.Options{NonFinite: true}

// pythonDump writes a value as json.dumps(value, ensure_ascii=False, separators=(",", ":"), sort_keys=True) does. edit may
// change each string that is no key; nil leaves them. ok is false when the text holds a lone surrogate, which Python
// cannot encode.
func pythonDump(v jsonc.Value, edit func(string) string) (text string, ok bool) {
	var b strings.Builder
	w := pythonWriter{&b, edit, true}
	w.value(v)
	return b.String(), w.ok
}

type pythonWriter struct {
	b    *strings.Builder
	edit func(string) string
	ok   bool
}

func (w *pythonWriter) value(v jsonc.Value) {
	switch v.Kind() {
	case jsonc.Bool:
		t, _ := v.Bool()
		w.b.WriteString(strconv.FormatBool(t))
	case jsonc.Number:
		raw, _ := v.Number()
		w.b.WriteString(pythonNumber(raw))
	case jsonc.String:
		s := jsString(v)
		if w.edit != nil {
			s = w.edit(s)
		}
		w.text(s)
	case jsonc.Array:
		w.b.WriteByte('[')
		for i, e := range v.Elements() {
			if i > 0 {
				w.b.WriteByte(',')
			}
			w.value(e)
		}
		w.b.WriteByte(']')
	case jsonc.Object:
		w.b.WriteByte('{')
		for i, m := range sortedMembers(v) {
			if i > 0 {
				w.b.WriteByte(',')
			}
			w.text(m.Key)
			if strings.ContainsRune(m.Key, utf8.RuneError) && hasSurrogateEscape(v.Raw()) {
				w.ok = false
			}
			w.b.WriteByte(':')
			w.value(m.Value)
		}
		w.b.WriteByte('}')
	default:
		w.b.WriteString("null")
	}
}

// sortedMembers returns the members that count, by code point of their keys.
func sortedMembers(v jsonc.Value) []jsonc.Member {
	members := v.Members()
	out := make([]jsonc.Member, 0, len(members))
	for _, m := range members {
		if !m.Shadowed {
			out = append(out, m)
		}
	}
	sort.Slice(out, func(i, j int) bool { return out[i].Key < out[j].Key })
	return out
}

// hasSurrogateEscape tells whether a JSON text has a \u escape of half a character without its other half.
func hasSurrogateEscape(raw []byte) bool {
	body := string(raw)
	for i := 0; i < len(body); {
		if body[i] != '\\' {
			i++
			continue
		}
		unit, size := jsSurrogate(body[i:])
		switch {
		case size == 0:
			i += 2
		case unit < 0xDC00 && jsIsLow(body[min(len(body), i+size):]):
			i += 2 * size
		default:
			return true
		}
	}
	return false
}

// text writes a string: only the quote, the backslash and control characters below 0x20 are escaped.
func (w *pythonWriter) text(s string) {
	if !utf8.ValidString(s) {
		w.ok = false
	}
	const hex = "0123456789abcdef"
	w.b.WriteByte('"')
	for i := 0; i < len(s); i++ {
		switch c := s[i]; c {
		case '"', '\\':
			w.b.WriteByte('\\')
			w.b.WriteByte(c)
		case '\b':
			w.b.WriteString(`\b`)
		case '\t':
			w.b.WriteString(`\t`)
		case '\n':
			w.b.WriteString(`\n`)
		case '\f':
			w.b.WriteString(`\f`)
		case '\r':
			w.b.WriteString(`\r`)
		default:
			if c < 0x20 {
				w.b.WriteString(`\u00`)
				w.b.WriteByte(hex[c>>4])
				w.b.WriteByte(hex[c&15])
				continue
			}
			w.b.WriteByte(c)
		}
	}
	w.b.WriteByte('"')
}

// pythonNumber writes a number of a JSON text as Python prints it: an integer in plain digits, a float with the shortest
// digits that read back, with an exponent below 1e-4 and from 1e16 on.
func pythonNumber(raw string) string {
	if strings.Trim(raw, "-0123456789") == "" {
		if strings.Trim(raw, "-0") == "" {
			return "0"
		}
		return raw
	}
	if raw == "NaN" {
		return raw
	}
	f, _ := strconv.ParseFloat(raw, 64) // out of range gives an infinity, as in Python
	switch size := math.Abs(f); {
	case math.IsInf(f, 1):
		return "Infinity"
	case math.IsInf(f, -1):
		return "-Infinity"
	case size != 0 && (size < 1e-4 || size >= 1e16):
		return strconv.FormatFloat(f, 'e', -1, 64)
	}
	text := strconv.FormatFloat(f, 'f', -1, 64)
	if !strings.Contains(text, ".") {
		text += ".0"
	}
	return text
}

// pythonTruthy tells whether `if value` of Python is taken; a value that does not exist is None.
func pythonTruthy(v jsonc.Value) bool {
	switch v.Kind() {
	case jsonc.Bool:
		t, _ := v.Bool()
		return t
	case jsonc.Number:
		raw, _ := v.Number()
		n, err := strconv.ParseFloat(raw, 64)
		return err != nil || n != 0
	case jsonc.String:
		s, _ := v.Str()
		return s != ""
	case jsonc.Array, jsonc.Object:
		return v.Len() > 0
	}
	return false
}
