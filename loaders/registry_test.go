package loaders_test

import (
	"slices"
	"testing"

	"github.com/charmbracelet/x/ansi"

	"fusebox/loaders"
	"fusebox/model"
)

// columnOrder is the order of the columns; harnesses that are not there yet are left out.
var columnOrder = []model.HarnessID{"claude-code", "codex", "gemini", "cursor-cli", "cursor", "opencode", "deepagents", "vscode", "claude-desktop",
	"copilot", "qwen", "windsurf", "cline", "zed", "antigravity", "openclaw", "hermes", "grok", "droid", "goose", "crush", "roo", "kilo", "kiro",
	"amp", "continue", "kimi", "combiner"}

// TestRegistry keeps the table fit for columns, --harness values and documentation.
func TestRegistry(t *testing.T) {
	t.Parallel()
	names := map[string]bool{}
	headings := map[string]bool{}
	last := -1
	for _, h := range loaders.All() {
		place := slices.Index(columnOrder, h.ID)
		if place <= last {
			t.Errorf("%s is out of order, or not a known id", h.ID)
		}
		last = max(last, place)
		for _, name := range append([]string{string(h.ID)}, h.Aliases...) {
			if names[name] || !codeShape.MatchString(name) {
				t.Errorf("%s: %q is taken, or no name for a flag", h.ID, name)
			}
			names[name] = true
		}
		if width := ansi.StringWidth(h.Heading); width == 0 || width > 9 || width != len(h.Heading) || headings[h.Heading] {
			t.Errorf("%s: the heading %q is %d cells wide and %d bytes long, or taken", h.ID, h.Heading, width, len(h.Heading))
		}
		headings[h.Heading] = true
		if h.Title == "" || h.Title != model.Clean(h.Title) {
			t.Errorf("%s: title %q", h.ID, h.Title)
		}
		switch h.Verified {
		case model.VerifiedRun, model.VerifiedSource:
			if h.VersionChecked == "" {
				t.Errorf("%s: %s, but on which version", h.ID, h.Verified)
			}
		case model.VerifiedDocs:
		default:
			t.Errorf("%s: verified is %q", h.ID, h.Verified)
		}
		spots := map[string]bool{}
		for _, b := range h.BlindSpots {
			if spots[b.Code] || !codeShape.MatchString(b.Code) || b.Text == "" || b.Text != model.Clean(b.Text) {
				t.Errorf("%s: blind spot %q with text %q", h.ID, b.Code, b.Text)
			}
			spots[b.Code] = true
		}
		if h.Resolve == nil {
			t.Errorf("%s has no resolve", h.ID)
		}
	}
}

func TestSelect(t *testing.T) {
	t.Parallel()
	all := []loaders.Harness{{Harness: model.Harness{ID: "one", Aliases: []string{"uno"}}}, {Harness: model.Harness{ID: "two"}}, {Harness: model.Harness{ID: "three"}}}
	for _, test := range []struct {
		names   []string
		want    []model.HarnessID
		unknown string
	}{
		{nil, []model.HarnessID{"one", "two", "three"}, ""},
		{[]string{"three", "one"}, []model.HarnessID{"one", "three"}, ""},
		{[]string{"UNO", "one", "Two"}, []model.HarnessID{"one", "two"}, ""},
		{[]string{"one", "four"}, nil, "four"},
		{[]string{"", " "}, []model.HarnessID{"one", "two", "three"}, ""},
		{[]string{"one ", "", " two"}, []model.HarnessID{"one", "two"}, ""},
	} {
		picked, unknown := loaders.Select(all, test.names)
		var ids []model.HarnessID
		for _, h := range picked {
			ids = append(ids, h.ID)
		}
		if !slices.Equal(ids, test.want) || unknown != test.unknown {
			t.Errorf("%q picks %q, unknown %q", test.names, ids, unknown)
		}
	}
}

// TestSessionsAreLookedFor: an open session of every harness that runs in a terminal can be found, and what to do there is
// said. Editors and desktop programs do not tell the folder of a window.
func TestSessionsAreLookedFor(t *testing.T) {
	t.Parallel()
	windows := []model.HarnessID{"cursor", "vscode", "claude-desktop", "windsurf", "cline", "zed", "antigravity", "roo"}
	for _, h := range loaders.All() {
		s := h.Sessions
		if inWindow := slices.Contains(windows, h.ID); inWindow == (len(s.Programs)+len(s.Packages) > 0) {
			t.Errorf("%s: programs %q, packages %q", h.ID, s.Programs, s.Packages)
		}
		if len(s.Programs) > 0 && s.Reload == "" {
			t.Errorf("%s: nothing says how a session reads its configuration again", h.ID)
		}
	}
}
