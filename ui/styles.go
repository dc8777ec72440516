package ui

// role is what a piece of text means. Roles are the only colours of the program.
type role uint8

const (
	roleText   role = iota // what you read; numbers
	roleDim                // what needs nothing: empty cells, labels, second heading lines, what lies behind a dialog
	roleTitle              // headings, the thing that a pane is about, a dialog's question
	roleAccent             // the cursor's row and column, keys, focus, running work, the changed mark
	roleStrong             // accent and bold: the name under the cursor, the heading of the cursor's column
	roleCursor             // the cell, name or heading under the cursor
	roleOK                 // the dot of a server that loaded; added lines
	roleWarn               // waits for you: symbol and word
	roleBad                // cannot load: symbol and word; removed lines
	roleMatch              // what the filter matched
	roleButton             // the focused button of a dialog
	roleCount
)

// Theme picks the colours of the roles. All of them are of the 16 ANSI colours, so that the user's palette decides, and no
// background is ever set, only reverse.
type Theme uint8

// The themes.
const (
	ThemeDark  Theme = iota
	ThemeLight       // yellow and cyan cannot be read on white
	ThemeMono        // no escape sequence at all; the cursor is drawn with characters
)

var sgr = [...][roleCount]string{
	ThemeDark: {roleText: "", roleDim: "2", roleTitle: "1", roleAccent: "36", roleStrong: "1;36", roleCursor: "7;36", roleOK: "32",
		roleWarn: "33", roleBad: "91", roleMatch: "4", roleButton: "7"},
	ThemeLight: {roleText: "", roleDim: "2", roleTitle: "1", roleAccent: "34", roleStrong: "1;34", roleCursor: "7;34", roleOK: "32",
		roleWarn: "35", roleBad: "31", roleMatch: "4", roleButton: "7"},
	ThemeMono: {},
}

// asciiOf replaces the symbols of the screens for terminals and locales that cannot show them.
var asciiOf = map[string]string{
	"●": "o", "○": "c", "·": ".", "✗": "x", "–": "-", "↻": "r", "◌": "u", "≠": "#", "▌": ">", "│": "|", "┃": "#", "─": "-",
	"╭": "+", "╮": "+", "╰": "+", "╯": "+", "…": "~", "✓": "=", "▴": "^", "‹": "<", "›": ">", "•": "*", "→": ">", "←": "<",
	"↓": "v", "↑": "^", "⠋": "|", "⠙": "/", "⠹": "/", "⠸": "-", "⠼": "-", "⠴": "\\", "⠦": "\\", "⠧": "|", "⠇": "|", "⠏": "/",
}

// spinnerFrames turn ten times a second, all spinners in step.
var spinnerFrames = [...]string{"⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"}
