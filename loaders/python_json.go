package loaders

import (
	"math"
	"strconv"
	"strings"

	"fusebox/loaders/jsonc"
)

// JSON as Python's json module reads it, and its values as Python prints and judges them.

// pythonJSON is how json.load parses: strict UTF-8, no byte order mark, no comments, NaN and infinities allowed.
var pythonJSON = jsonc.Options{NonFinite: true}

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
