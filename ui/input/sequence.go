package input

import (
	"bytes"
	"unicode/utf8"
)

// unfinished tells whether the bytes end inside an escape sequence or a UTF-8 character.
func unfinished(b []byte) bool {
	if i := bytes.LastIndexByte(b, 0x1b); i >= 0 && unfinishedSequence(b[i+1:]) {
		return true
	}
	for i := len(b) - 1; i >= 0 && i > len(b)-utf8.UTFMax; i-- {
		if utf8.RuneStart(b[i]) {
			return !utf8.FullRune(b[i:])
		}
	}
	return false
}

// unfinishedSequence judges what follows an ESC, which holds no other ESC.
func unfinishedSequence(b []byte) bool {
	switch {
	case len(b) == 0: // Esc, or Alt and a key, or any of the following
		return true
	case b[0] == 'O': // a function key: one byte more
		return len(b) == 1
	case b[0] != '[':
		return false
	}
	b = b[1:]
	switch {
	case len(b) == 0:
		return true
	case b[0] == '[': // a function key of the Linux console: one byte more
		return len(b) == 1
	case b[0] == 'M': // an X10 mouse report: button, column, row
		return len(b) < 4
	}
	for _, c := range b {
		if c < 0x20 || c > 0x3f { // the final byte, or nothing that belongs here
			return false
		}
	}
	return true
}
