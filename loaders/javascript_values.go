package loaders

import (
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"fusebox/loaders/jsonc"
	"fusebox/model"
)

// What harnesses written in JavaScript make of values that their schema does not foresee.

// trimJS is String.trim of JavaScript.
func trimJS(s string) string {
	return strings.TrimFunc(s, func(r rune) bool {
		return unicode.IsSpace(r) && r != '\u0085' || r == '\ufeff'
	})
}

// truthy tells whether `if (value)` of JavaScript is taken, after fill was applied to a text. What is not there is not.
func truthy(v jsonc.Value, fill func(string) string) bool {
	switch v.Kind() {
	case jsonc.Bool:
		b, _ := v.Bool()
		return b
	case jsonc.Number:
		raw, _ := v.Number()
		mantissa, _, _ := strings.Cut(strings.ToLower(raw), "e")
		return strings.Trim(mantissa, "-0.") != ""
	case jsonc.String:
		s, _ := v.Str()
		return fill(s) != ""
	case jsonc.Array, jsonc.Object:
		return true
	default:
		return false
	}
}

// jsUnits are the UTF-16 units of a text, lone surrogates included.
func jsUnits(s string) []uint16 {
	units := make([]uint16, 0, len(s))
	for i := 0; i < len(s); {
		if unit, ok := jsSurrogateAt(s[i:]); ok {
			units = append(units, unit)
			i += 3
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		i += n
		units = utf16.AppendRune(units, r)
	}
	return units
}

// textLength is the length of a JavaScript string: UTF-16 units.
func textLength(s string) int { return len(jsUnits(s)) }

// jsUnit is the text of one UTF-16 unit.
func jsUnit(unit uint16) string {
	if utf16.IsSurrogate(rune(unit)) {
		return jsLoneSurrogate(unit)
	}
	return string(rune(unit))
}

// argumentText is what a program receives for one element of args that is no text: the texts that JavaScript prints.
func argumentText(v jsonc.Value) string {
	switch v.Kind() {
	case jsonc.String:
		s, _ := v.Str()
		return s
	case jsonc.Object:
		return "[object Object]"
	case jsonc.Array:
		parts := make([]string, 0, v.Len())
		for _, e := range v.Elements() {
			if e.Kind() == jsonc.Null {
				parts = append(parts, "")
				continue
			}
			parts = append(parts, argumentText(e))
		}
		return strings.Join(parts, ",")
	default:
		return string(v.Raw())
	}
}

// shellWords splits a command line as the shell-quote package does, leaving variables as written. A shell operator, a
// comment or a file name pattern outside quotes is no word: ok is false.
func shellWords(line string) (words []string, ok bool) {
	var word strings.Builder
	started := false
	quote := rune(0)
	runes := []rune(line)
	for i := 0; i < len(runes); i++ {
		c := runes[i]
		switch {
		case quote == '\'':
			if c == '\'' {
				quote = 0
			} else {
				word.WriteRune(c)
			}
		case quote == '"':
			switch {
			case c == '"':
				quote = 0
			case c == '\\' && i+1 < len(runes) && strings.ContainsRune("\"\\$", runes[i+1]):
				i++
				word.WriteRune(runes[i])
			default:
				word.WriteRune(c)
			}
		case c == '\'' || c == '"':
			quote, started = c, true
		case c == '\\' && i+1 < len(runes):
			i++
			started = true
			word.WriteRune(runes[i])
		case unicode.IsSpace(c):
			if started {
				words = append(words, word.String())
			}
			word.Reset()
			started = false
		case strings.ContainsRune("|&;<>()*?", c), c == '#' && !started:
			return nil, false
		default:
			started = true
			word.WriteRune(c)
		}
	}
	if started {
		words = append(words, word.String())
	}
	return words, true
}

// listedAt is the place of an entry that stands in a list where an object is expected, so that its position is its name:
// the first line of it that holds the name, else its first line.
func listedAt(f *ConfigFile, key, name string, v jsonc.Value) model.Location {
	at := f.At(key, v)
	if i := strings.Index(string(v.Raw()), name); i >= 0 && f.JSON != nil {
		at.Line, at.Column = f.JSON.Position(v.Offset() + i)
	}
	return at
}
