package editor

import (
	"regexp"
	"strings"
)

// split takes a value of $EDITOR apart the way a shell would: blanks separate, quotes keep together, and a backslash
// takes the next character as it is (not on Windows, where it belongs to paths). Nothing is expanded. A quote that is
// not closed reaches to the end.
func split(value, goos string) []string {
	windows := goos == "windows"
	if windows {
		if program, rest, ok := unquotedProgram(value); ok {
			return append([]string{program}, split(rest, goos)...)
		}
	}
	var words []string
	var word strings.Builder
	inWord := false
	quote := rune(0)
	escaped := false
	for _, r := range value {
		switch {
		case escaped:
			// Inside double quotes a backslash only escapes these.
			if quote == '"' && r != '"' && r != '\\' && r != '$' && r != '`' {
				word.WriteRune('\\')
			}
			word.WriteRune(r)
			escaped = false
		case r == '\\' && !windows && quote != '\'':
			escaped, inWord = true, true
		case quote != 0 && r == quote:
			quote = 0
		case quote != 0:
			word.WriteRune(r)
		case r == '"' || r == '\'' && !windows:
			quote, inWord = r, true
		case r == ' ' || r == '\t' || r == '\n' || r == '\r':
			if inWord {
				words = append(words, word.String())
				word.Reset()
				inWord = false
			}
		default:
			word.WriteRune(r)
			inWord = true
		}
	}
	if escaped {
		word.WriteRune('\\')
	}
	if inWord {
		words = append(words, word.String())
	}
	return words
}

// unquotedProgram finds the program in a Windows value such as C:\Program Files\Vim\gvim.exe --nofork, whose path has
// blanks and no quotes.
func unquotedProgram(value string) (program, rest string, ok bool) {
	pattern := regexp.MustCompile(`(?i)^\s*([^"\s]*[\\/][^"]*?\.(?:exe|cmd|bat|com))(\s.*)?$`)
	found := pattern.FindStringSubmatch(value)
	if found == nil {
		return "", "", false
	}
	return found[1], found[2], true
}
