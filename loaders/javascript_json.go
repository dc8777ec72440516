package loaders

import (
	"math"
	"sort"
	"strconv"
	"strings"
	"unicode/utf8"

	"fusebox/loaders/jsonc"
)

// JSON as JavaScript reads and writes it, for fingerprints that programs make of JSON.stringify. The values are nil, bool,
// float64, string, []any and *jsObject. A string may hold lone surrogates, each in the three bytes that UTF-8 would give
// it were it a character.

// jsObject is an object with the order of keys that JavaScript gives it.
type jsObject struct {
	keys   []string
	values map[string]any
}

func newJSObject() *jsObject { return &jsObject{values: map[string]any{}} }

// set adds a member, or replaces its value and keeps its place.
func (o *jsObject) set(key string, value any) {
	if _, have := o.values[key]; !have {
		o.keys = append(o.keys, key)
	}
	o.values[key] = value
}

// get returns a member's value; nil when there is none.
func (o *jsObject) get(key string) any { return o.values[key] }

// has tells whether there is such a member.
func (o *jsObject) has(key string) bool {
	_, ok := o.values[key]
	return ok
}

// order returns the keys as JavaScript goes through them: array indexes ascending, then the others as they were added.
func (o *jsObject) order() []string {
	var indexes, names []string
	for _, k := range o.keys {
		if jsArrayIndex(k) {
			indexes = append(indexes, k)
		} else {
			names = append(names, k)
		}
	}
	if len(indexes) == 0 {
		return o.keys
	}
	sort.Slice(indexes, func(i, j int) bool {
		return len(indexes[i]) < len(indexes[j]) || len(indexes[i]) == len(indexes[j]) && indexes[i] < indexes[j]
	})
	return append(indexes, names...)
}

// jsArrayIndex tells whether a key is the plain decimal form of an integer from 0 to 4294967294.
func jsArrayIndex(key string) bool {
	if key == "" || len(key) > 10 || key[0] == '0' && len(key) > 1 {
		return false
	}
	n, err := strconv.ParseUint(key, 10, 64)
	return err == nil && n < math.MaxUint32 && key[0] != '+'
}

// jsValue reads a JSON value as JavaScript does: of duplicate keys the last value counts, at the place of the first. A
// value that does not exist is nil.
func jsValue(v jsonc.Value) any {
	switch v.Kind() {
	case jsonc.Bool:
		b, _ := v.Bool()
		return b
	case jsonc.Number:
		raw, _ := v.Number()
		n, _ := strconv.ParseFloat(raw, 64) // out of range gives an infinity, as in JavaScript
		return n
	case jsonc.String:
		return jsString(v)
	case jsonc.Array:
		out := make([]any, 0, v.Len())
		for _, x := range v.Elements() {
			out = append(out, jsValue(x))
		}
		return out
	case jsonc.Object:
		out := newJSObject()
		for _, m := range v.Members() {
			out.set(jsKey(m), jsValue(m.Value))
		}
		return out
	}
	return nil
}

// jsKey returns the key of a member. Keys with lone surrogates do not keep them.
func jsKey(m jsonc.Member) string { return m.Key }

// jsString returns the text of a JSON string with its lone surrogates, which Go's own strings do not know.
func jsString(v jsonc.Value) string {
	plain, ok := v.Str()
	if !ok || !strings.ContainsRune(plain, utf8.RuneError) {
		return plain
	}
	source := string(v.Raw())
	if !strings.Contains(source, `\u`) {
		return plain
	}
	var out strings.Builder
	part := func(text string) {
		doc, _ := jsonc.Parse([]byte(`"`+text+`"`), jsonc.Options{Lenient: true, ReplaceInvalidUTF8: true})
		s, _ := doc.Root().Str()
		out.WriteString(s)
	}
	body := strings.TrimSuffix(strings.TrimPrefix(source, `"`), `"`)
	last := 0
	for i := 0; i < len(body); {
		if body[i] != '\\' {
			i++
			continue
		}
		unit, size := jsSurrogate(body[i:])
		switch {
		case size == 0:
			i += 2
		case unit < 0xDC00 && jsIsLow(body[i+size:]):
			i += 2 * size // a pair, which is a character
		default:
			part(body[last:i])
			out.WriteString(jsLoneSurrogate(unit))
			i += size
			last = i
		}
	}
	part(body[min(last, len(body)):])
	return out.String()
}

// jsSurrogate reads an escaped surrogate at the start of s; size is 0 when there is none.
func jsSurrogate(s string) (unit uint16, size int) {
	if len(s) < 6 || s[1] != 'u' {
		return 0, 0
	}
	n, err := strconv.ParseUint(s[2:6], 16, 16)
	if err != nil || n < 0xD800 || n > 0xDFFF {
		return 0, 0
	}
	return uint16(n), 6
}

func jsIsLow(s string) bool {
	if len(s) == 0 || s[0] != '\\' {
		return false
	}
	unit, size := jsSurrogate(s)
	return size > 0 && unit >= 0xDC00
}

// jsLoneSurrogate writes a surrogate in three bytes.
func jsLoneSurrogate(unit uint16) string {
	return string([]byte{0xE0 | byte(unit>>12), 0x80 | byte(unit>>6)&0x3F, 0x80 | byte(unit)&0x3F})
}

// jsSurrogateAt reads a surrogate in three bytes at the start of s.
func jsSurrogateAt(s string) (unit uint16, ok bool) {
	if len(s) < 3 || s[0] != 0xED || s[1] < 0xA0 || s[1] > 0xBF || s[2] < 0x80 || s[2] > 0xBF {
		return 0, false
	}
	return 0xD000 | uint16(s[1]&0x3F)<<6 | uint16(s[2]&0x3F), true
}

// jsStringify writes a value as JSON.stringify does, without white space: keys in JavaScript's order, numbers as
// JavaScript prints them, only quotes, backslashes, control characters and lone surrogates escaped.
func jsStringify(v any) string {
	var b strings.Builder
	jsWrite(&b, v)
	return b.String()
}

func jsWrite(b *strings.Builder, v any) {
	switch v := v.(type) {
	case bool:
		b.WriteString(strconv.FormatBool(v))
	case float64:
		b.WriteString(jsNumber(v))
	case string:
		jsQuote(b, v)
	case []any:
		b.WriteByte('[')
		for i, x := range v {
			if i > 0 {
				b.WriteByte(',')
			}
			jsWrite(b, x)
		}
		b.WriteByte(']')
	case *jsObject:
		b.WriteByte('{')
		for i, k := range v.order() {
			if i > 0 {
				b.WriteByte(',')
			}
			jsQuote(b, k)
			b.WriteByte(':')
			jsWrite(b, v.values[k])
		}
		b.WriteByte('}')
	default:
		b.WriteString("null")
	}
}

// jsNumber writes a number as JavaScript prints it: the shortest digits that read back as the same number, with an
// exponent below 1e-6 and from 1e21 on. JSON has no infinities: they become null.
func jsNumber(n float64) string {
	switch {
	case math.IsNaN(n) || math.IsInf(n, 0):
		return "null"
	case n == 0: // also -0
		return "0"
	}
	if size := math.Abs(n); size >= 1e-6 && size < 1e21 {
		return strconv.FormatFloat(n, 'f', -1, 64)
	}
	text := strconv.FormatFloat(n, 'e', -1, 64)
	mantissa, exponent, _ := strings.Cut(text, "e")
	sign := exponent[:1]
	return mantissa + "e" + sign + strings.TrimLeft(exponent[1:], "0")
}

// jsQuote writes a string. Two surrogates that stand side by side are a character.
func jsQuote(b *strings.Builder, s string) {
	if utf8.ValidString(s) {
		b.WriteString(jsonc.Quote(s))
		return
	}
	b.WriteByte('"')
	plain := func(text string) {
		quoted := jsonc.Quote(text)
		b.WriteString(quoted[1 : len(quoted)-1])
	}
	last := 0
	for i := 0; i < len(s); {
		unit, ok := jsSurrogateAt(s[i:])
		if !ok {
			i++
			continue
		}
		plain(s[last:i])
		i += 3
		if low, pair := jsSurrogateAt(s[i:]); pair && unit < 0xDC00 && low >= 0xDC00 {
			b.WriteRune(0x10000 + rune(unit-0xD800)<<10 + rune(low-0xDC00))
			i += 3
		} else {
			b.WriteString(`\u` + strconv.FormatUint(uint64(unit), 16))
		}
		last = i
	}
	plain(s[last:])
	b.WriteByte('"')
}

// only returns an object with nothing but these members, in this order.
func (o *jsObject) only(keys ...string) *jsObject {
	out := newJSObject()
	for _, k := range keys {
		if o.has(k) {
			out.set(k, o.get(k))
		}
	}
	return out
}
