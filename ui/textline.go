package ui

import (
	tea "github.com/charmbracelet/bubbletea"

	"fusebox/model"
)

// longestText is how long a line may become, in bytes: as long as a path. What does not fit is not taken at all.
const longestText = 4096

// textLine is a line that is being typed. The caret is always at its end: filters and names of actions are short.
type textLine struct {
	text string
}

// key edits the line and tells whether the key was for it.
func (t *textLine) key(k tea.KeyMsg) bool {
	switch k.Type {
	case tea.KeyRunes, tea.KeySpace:
		if k.Alt {
			return true
		}
		s := model.Clean(string(k.Runes))
		if k.Type == tea.KeySpace {
			s = " "
		}
		if len(t.text)+len(s) <= longestText {
			t.text += s
		}
		return true
	case tea.KeyBackspace, tea.KeyCtrlH:
		if r := []rune(t.text); len(r) > 0 {
			t.text = string(r[:len(r)-1])
		}
		return true
	case tea.KeyCtrlU:
		t.text = ""
		return true
	case tea.KeyCtrlW:
		r := []rune(t.text)
		for len(r) > 0 && r[len(r)-1] == ' ' {
			r = r[:len(r)-1]
		}
		for len(r) > 0 && r[len(r)-1] != ' ' {
			r = r[:len(r)-1]
		}
		t.text = string(r)
		return true
	}
	return false
}
