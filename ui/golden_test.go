package ui

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fusebox/model"
)

var updateGolden = flag.Bool("update", false, "write the golden screens")

// everyState is a project in which each state, word and mark of the grid stands once at least.
func everyState() *model.Snapshot {
	rows := []shopRow{
		{"configured", "claude:c, codex:c^, cursor:c", ""},
		{"loaded", "claude:k4, codex:k40^, gemini:?trust, opencode:k120", ""},
		{"waiting", "claude:?approve, cursor:?approve^, gemini:?trust", ""},
		{"sign-in", "claude:!sign in, codex:!sign in", ""},
		{"failed", "claude:xexit 1, codex:xmissing, opencode:xtimeout, cursor:xexit255", ""},
		{"off", "claude:-off, cursor:-off, opencode:-off^", ""},
		{"reload", "claude:rreload, codex:rreload", ""},
		{"two", "codex:k3, opencode:c", "docker"},
		{"two", "claude:c, cursor:k2", "http"},
	}
	return shopSnapshot(shopFive, rows, func(columns []*model.Column) {
		find := func(i int, name string) *model.Cell {
			for _, c := range columns[i].Cells {
				if c.Name == name {
					return c
				}
			}
			panic(name)
		}
		unseen := find(3, "configured")
		unseen.Decision, unseen.Reason = model.DecisionUnknown, model.Reason{Code: model.ReasonSwitchInDatabase, Text: "its switch is in a database"}
		broken := find(4, "two")
		broken.Decision, broken.Reason = model.DecisionCannot, model.Reason{Code: model.ReasonEntryInvalid, Text: "args must be a list of texts",
			DecidedBy: model.Location{Path: "/home/ann/code/shop/opencode.json", Line: 7}}
		find(1, "loaded").Launch = &model.Launch{Since: shopTime.Add(-3e9), Progress: []string{"+0.0  started, pid 48121"}}
		find(0, "off").Reason.Code = model.ReasonRejected
		find(3, "off").Reason.Code = model.ReasonBlockedByPolicy
		stale := find(4, "off")
		stale.Overlays |= model.OverlayStale
		old := find(0, "two")
		old.Replaces = []model.Replaced{{Scope: model.ScopeProject, Source: model.Location{Path: "/home/ann/code/shop/.mcp.json", Line: 9}}}
		old.Pending = []model.Pending{{Entry: model.Entry{Scope: model.ScopeProject, Source: model.Location{Path: "/home/ann/.mcp.json", Line: 4}}, State: model.StateUnapproved,
			Reason: model.Reason{Code: model.ReasonNeedsApproval}}}
		columns[0].Files = []model.File{{Path: "/home/ann/.claude.json", Scope: model.ScopeUser, Status: model.FileRead},
			{Path: "/home/ann/code/shop/.mcp.json", Scope: model.ScopeProject, Status: model.FileMalformed, Note: "3:5: a comma too many", Line: 3, Column: 5,
				Context: &model.Context{Line: 3, Mark: 5, Lines: []model.ContextLine{{Number: 2, Text: `  "mcpServers": {`}, {Number: 3, Text: `    ,`}}}},
			{Path: "/etc/claude-code/managed-mcp.json", Scope: model.ScopeManaged, Status: model.FileAbsent},
			{Path: "/home/ann/code/shop/.claude/mcp.json", Status: model.FileIgnored, Note: "not read by Claude Code"}}
		columns[2].BlindSpots = []model.BlindSpot{{Code: "flags", Text: "flags of one session"}}
	})
}

// The screens of the program as they are, in every size and form: a change of any of them shows in the diff.
func TestGoldenScreens(t *testing.T) {
	t.Parallel()
	forms := map[string]func(*Model){
		"dark": func(m *Model) { m.o.Theme = ThemeDark }, "light": func(m *Model) { m.o.Theme = ThemeLight },
		"nocolor": func(m *Model) { m.o.Theme = ThemeMono }, "ascii": func(m *Model) { m.o.Theme, m.o.ASCII = ThemeDark, true },
	}
	screens := map[string][]string{
		"cell": {"j", "j", "l"}, "row": {"G", "h"}, "heading": {"k"}, "files": {"f"}, "help": {"?"}, "palette": {":"},
		"filter": {"/", "s", "t", "a", "t", "e", ":", "o", "f", "f"}, "columns": {"H"}, "detail": {"j", "enter"},
	}
	for _, size := range [][2]int{{200, 60}, {120, 35}, {100, 30}, {80, 24}, {40, 15}} {
		for form, set := range forms {
			for screen, keys := range screens {
				if form != "dark" && screen != "cell" && screen != "row" && size[0] != 120 {
					continue // the forms differ in the drawing of the grid and of overlays, not in every size anew
				}
				name := fmt.Sprintf("%s-%dx%d-%s", screen, size[0], size[1], form)
				t.Run(name, func(t *testing.T) {
					t.Parallel()
					m := shopModel(t, size[0], size[1], everyState())
					set(m)
					press(m, keys...)
					got := m.View() + "\n"
					checkFits(t, m, name)
					path := filepath.Join("testdata", "golden", name+".txt")
					if *updateGolden {
						if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
							t.Fatal(err)
						}
						if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
							t.Fatal(err)
						}
						return
					}
					want, err := os.ReadFile(path)
					if err != nil {
						t.Fatal(err)
					}
					compareLines(t, strings.Split(got, "\n"), strings.Split(string(want), "\n"))
				})
			}
		}
	}
}
