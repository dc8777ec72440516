package ui

import "strings"

// HelpTable returns the help's keys as rows of group, keys, meaning, and whether the key writes or launches: for the
// README, which a test compares.
func HelpTable() [][4]string {
	keys := newKeyTable(false)
	var out [][4]string
	for _, row := range helpRows() {
		danger := ""
		for _, a := range row.actions {
			if keys.byAction[a].danger {
				danger = "asks first"
			}
			if a == actionLaunch {
				danger = "asks first, except `x` on one server of yours"
				break
			}
		}
		shown := make([]string, 0, 4)
		for _, k := range strings.Fields(row.show) {
			shown = append(shown, "`"+k+"`")
		}
		out = append(out, [4]string{string(row.group), strings.Join(shown, " "), row.text, danger})
	}
	return out
}
