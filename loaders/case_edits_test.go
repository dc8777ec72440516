package loaders_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fusebox/loaders"
	"fusebox/model"
)

// flip flips the switch of a server and returns the files that were written, by path.
func (s *scene) flip(t *testing.T, id, name string) map[string]string {
	t.Helper()
	picked, _ := loaders.Select(loaders.All(), []string{id})
	b := loaders.NewSwitchboard(s.env, picked[0])
	cell := b.Cell(name)
	if cell == nil {
		t.Fatalf("%s has no server %s", id, name)
	}
	wish := loaders.WishOff
	if cell.Decision == model.DecisionOff {
		wish = loaders.WishOn
	}
	options := available(b.Ask(cell, wish))
	if len(options) == 0 {
		t.Fatalf("%s in %s cannot be switched", name, id)
	}
	applied := options[0].Plan().Apply(nil, "")
	if applied.Err != nil {
		t.Fatal(applied.Err)
	}
	out := map[string]string{}
	for _, r := range applied.Written {
		out[s.short(r.Path, 0)] = string(r.After)
	}
	return out
}

func (s *scene) text(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(s.base, path))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func layCase(t *testing.T, name string) *scene {
	t.Helper()
	skipOnWindows(t)
	setup, _ := readScenario(t, name)
	return materialise(t, name, setup)
}

// TestEditOfADisabledProjectServer: enabled = true; comments and order stay.
func TestEditOfADisabledProjectServer(t *testing.T) {
	t.Parallel()
	s := layCase(t, "case-codex-disabled-in-project")
	before := s.text(t, "project/.codex/config.toml")
	written := s.flip(t, "codex", "playwright")
	if want := strings.Replace(before, "enabled = false", "enabled = true", 1); len(written) != 1 || written["$PROJECT/.codex/config.toml"] != want {
		t.Errorf("wrote %q, want %q", written, want)
	}
}

// TestEditKeepsComments: of a server that is off only "false" becomes "true"; one that is on gets one line, inside its own
// table.
func TestEditKeepsComments(t *testing.T) {
	t.Parallel()
	s := layCase(t, "case-codex-comments-survive-toggle")
	const file = "home/.codex/config.toml"
	before := s.text(t, file)
	s.flip(t, "codex", "alpha")
	if want := strings.Replace(before, "enabled = false", "enabled = true", 1); s.text(t, file) != want {
		t.Errorf("alpha on: %s", s.text(t, file))
	}
	before = s.text(t, file)
	s.flip(t, "codex", "beta")
	lines := strings.SplitAfter(before, "\n")
	at := -1
	for i, l := range lines {
		if strings.HasPrefix(l, "bearer_token_env_var") {
			at = i + 1
		}
	}
	want := strings.Join(lines[:at], "") + "enabled = false\n" + strings.Join(lines[at:], "")
	if got := s.text(t, file); got != want {
		t.Errorf("beta off: got %q, want %q", got, want)
	}
}

// TestEditOfGeminiLeavesSettingsAlone: comments and the reference to a variable stay, its value comes into no file.
func TestEditOfGeminiLeavesSettingsAlone(t *testing.T) {
	t.Parallel()
	s := layCase(t, "case-gemini-comments-and-variables")
	before := s.text(t, "home/.gemini/settings.json")
	s.env.Vars["CONTEXT_KEY"] = "sk-case-secret-123"
	written := s.flip(t, "gemini", "time")
	if got := s.text(t, "home/.gemini/settings.json"); got != before || !strings.Contains(got, "$CONTEXT_KEY") || !strings.Contains(got, `// "github"`) {
		t.Errorf("the settings: %s", got)
	}
	for path, text := range written {
		if strings.Contains(text, "sk-case-secret") {
			t.Errorf("%s holds the value: %s", path, text)
		}
	}
	if len(written) != 1 {
		t.Errorf("wrote %v", written)
	}
}
