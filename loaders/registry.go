package loaders

import (
	"slices"
	"strings"

	"fusebox/model"
)

// Harness is a row of the registry: what a harness is called and how its files become a column. Columns, the watch list,
// --harness values and the table of the README all come from the registry.
type Harness struct {
	model.Harness

	// Resolve reads the harness's files through r and says what a session that starts in env.Project would do with each
	// server. It must look at nothing but env and r.
	Resolve func(env *Env, r *Reader) Result

	// Folders returns the folders that the harness's own files name, as projects or as trusted; nil: none do.
	Folders func(env *Env, r *Reader) []string

	// Shares are files of other harnesses that this one reads as well, as ends of slash paths (".mcp.json"): that they
	// exist does not show that this harness is on the machine.
	Shares []string

	// Sessions is how the harness's open sessions are found, and what to do in one that is older than a change.
	Sessions SessionRules

	// Launch is how the harness starts or reaches a server.
	Launch LaunchRules

	// Toggle says how the harness's own switch of a server is set, one option per place that could hold it. c is a cell of a
	// resolve with r. Whether an option has the effect is found out by resolving what it would write. nil: fusebox does not
	// write this harness's switch.
	Toggle func(env *Env, r *Reader, c *model.Cell, on bool) []Option

	// Approve says how the harness's own consent to a server is given or, with revoke, taken back. nil: fusebox does not write
	// this harness's consent.
	Approve func(env *Env, r *Reader, c *model.Cell, revoke bool) []Option
}

// SessionRules say how a harness's program looks in the process list.
type SessionRules struct {
	Programs []string // base names of the program or of the script that an interpreter runs, lower case
	Packages []string // path parts of the script, such as "@openai/codex"
	Not      []string // first arguments with which it is no session
	Reload   string   // what to do in a session so that it reads its configuration again

	// Live tells whether an open session takes a change of a cell up by itself; before is nil where there was none. nil: no
	// change.
	Live func(before, after *model.Cell) bool
}

// Result is what a resolve says. Files come from the reader.
type Result struct {
	Cells     []*model.Cell // in any order; Harness may be left out
	Notes     []model.Note
	Present   bool           // a file or folder of the harness exists, besides the files that were read
	Broken    *model.Problem // a file stops the whole harness
	Untrusted bool           // the folder's trust decides for what waits
}

// All is the registry: every harness that fusebox knows, in the order of the columns. Adding a harness is one file and one
// line here.
func All() []Harness {
	return []Harness{
		claudeCode(),
		codexCLI(),
		geminiCLI(),
		cursorCLI(),
		cursorIDE(),
		openCode(),
		deepAgents(),
		vsCode(),
		claudeDesktop(),
		copilotCLI(),
		qwenCode(),
		windsurf(),
		clineExtension(),
		zedEditor(),
		antigravity(),
		openClaw(),
		hermesAgent(),
		grokBuild(),
		factoryDroid(),
		gooseCLI(),
		crushCLI(),
		rooCode(),
		kiloCode(),
		kiro(),
		ampCode(),
		continueExtension(),
		kimiCode(),
		combiner(),
	}
}

// Select picks harnesses by id or alias, in the order of the registry; all if no name is given. Blanks do not count. An
// unknown name is returned as such.
func Select(all []Harness, names []string) (picked []Harness, unknown string) {
	want := map[model.HarnessID]bool{}
	for _, n := range names {
		if n = strings.TrimSpace(n); n == "" {
			continue
		}
		i := slices.IndexFunc(all, func(h Harness) bool {
			return strings.EqualFold(string(h.ID), n) || slices.ContainsFunc(h.Aliases, func(a string) bool { return strings.EqualFold(a, n) })
		})
		if i < 0 {
			return nil, n
		}
		want[all[i].ID] = true
	}
	if len(want) == 0 {
		return all, ""
	}
	for _, h := range all {
		if want[h.ID] {
			picked = append(picked, h)
		}
	}
	return picked, ""
}
