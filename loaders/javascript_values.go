package loaders

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"fusebox/loaders/jsonc"
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

// textLength is the length of a JavaScript string: UTF-16 units.
func textLength(s string) int {
	n := 0
	for _, r := range s {
		n++
		if r > 0xffff && r != utf8.RuneError {
			n++
		}
	}
	return n
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
