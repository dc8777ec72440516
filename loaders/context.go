package loaders

import (
	"bytes"
	"regexp"
	"strings"

	"fusebox/model"
)

// contextAround returns the lines round a syntax error with their values hidden: names of keys and brackets stay. column
// counts characters from 1.
func contextAround(data []byte, line, column int) *model.Context {
	if line <= 0 {
		return nil
	}
	text := strings.ReplaceAll(strings.ReplaceAll(string(bytes.ToValidUTF8(data, []byte("\ufffd"))), "\r\n", "\n"), "\r", "\n")
	all := strings.Split(text, "\n")
	if line > len(all) {
		return nil
	}
	c := &model.Context{Line: line}
	for n := max(1, line-2); n <= min(len(all), line+1); n++ {
		shown := hideValues(all[n-1])
		c.Lines = append(c.Lines, model.ContextLine{Number: n, Text: shown})
		if n == line {
			c.Mark = markIn(all[n-1], shown, column)
		}
	}
	return c
}

// markIn moves a column of the real line to the line as shown: inside a hidden value it is the value's start.
func markIn(raw, shown string, column int) int {
	r := []rune(raw)
	at := 0
	for at < len(r) && at < column-1 && at < len([]rune(shown)) && r[at] == []rune(shown)[at] {
		at++
	}
	return at + 1
}

// plainOfLine finds a value that is no secret, and a comment behind it.
var plainOfLine = regexp.MustCompile(`^(|[{\[]|\{\}|\[\]|(?i:true|false|null|yes|no|on|off)|[01])[, ]*((?:#|//|/\*).*)?$`)

// hideValues replaces what stands behind a key, and every string in a list, by dots. Long lines are cut.
func hideValues(line string) string {
	line = model.Clean(strings.ReplaceAll(line, "\t", "    "))
	if r := []rune(line); len(r) > 200 {
		line = string(r[:200]) + "…"
	}
	trimmed := strings.TrimSpace(line)
	indent := line[:len(line)-len(strings.TrimLeft(line, " "))]
	switch {
	case trimmed == "" || strings.Trim(trimmed, "{}[], ") == "":
		return line
	case strings.HasPrefix(trimmed, "//"), strings.HasPrefix(trimmed, "#"), strings.HasPrefix(trimmed, "/*"), strings.HasPrefix(trimmed, "*"):
		return indent + "(a comment)"
	case strings.HasPrefix(trimmed, "[") && strings.HasSuffix(trimmed, "]") && !strings.ContainsAny(trimmed, `"',`):
		return line // a TOML header
	}
	if at := keyEnd(trimmed); at > 0 {
		value := strings.TrimSpace(trimmed[at:])
		if m := plainOfLine.FindStringSubmatch(value); m != nil {
			if m[2] == "" {
				return line
			}
			return indent + trimmed[:at] + " " + strings.TrimLeft(m[1]+" ", " ") + "(a comment)"
		}
		return indent + trimmed[:at] + " " + model.Dots + openingOf(value)
	}
	return indent + model.Dots + openingOf(trimmed)
}

// keyEnd returns the offset behind the ":" or "=" that follows a key at the start of a line, or 0.
func keyEnd(s string) int {
	i := 0
	if s[0] == '"' || s[0] == '\'' {
		quote := s[0]
		for i = 1; i < len(s) && s[i] != quote; i++ {
			if s[i] == '\\' {
				i++
			}
		}
		if i >= len(s) {
			return 0
		}
		i++
	} else {
		for i < len(s) && (s[i] == '_' || s[i] == '-' || s[i] == '.' || s[i] >= '0' && s[i] <= '9' || s[i]|0x20 >= 'a' && s[i]|0x20 <= 'z') {
			i++
		}
	}
	if i == 0 || i > 80 {
		return 0
	}
	for i < len(s) && s[i] == ' ' {
		i++
	}
	if i < len(s) && (s[i] == ':' || s[i] == '=') {
		return i + 1
	}
	return 0
}

// openingOf keeps a trailing comma or opening bracket visible: it is often what is wrong.
func openingOf(s string) string {
	switch s[len(s)-1] {
	case ',', '{', '[', '}', ']':
		return string(s[len(s)-1])
	}
	return ""
}
