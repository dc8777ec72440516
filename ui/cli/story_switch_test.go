package cli

import (
	"strings"
	"testing"
)

// The stories of switches and consents, from keys to screen and files.

// TestStory1ApproveIt: a, the diff, y: in a trusted folder it loads then.
func TestStory1ApproveIt(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.write("~/.claude.json", `{"projects": {`+jsonText(s.project)+`: {"hasTrustDialogAccepted": true}}}`)
	s.write(".mcp.json", `{"mcpServers": {
  "docs": {"command": "docs-server", "env": {"DOCS_TOKEN": "a-secret-of-mine"}}
}}`)
	p := s.open("claude-code")
	p.shows("▌ docs [? approve]")
	p.keys("a")
	p.waitFor("Let Claude Code start docs from this repository?", "whoever can commit can change it", "docs-server", "DOCS_TOKEN",
		"settings.local.json", `"docs"`, "later changes of it", "[ No ]")
	p.lacks("a-secret-of-mine")
	p.keys("n")
	p.lacks("Let Claude Code start")
	if got := s.read(".claude/settings.local.json"); got != "-" {
		t.Fatalf("it was written: %s", got)
	}
	p.keys("a")
	p.waitFor("Let Claude Code start docs")
	p.keys("y")
	p.waitFor("docs is approved in Claude Code", "1 of 1")
	if got := s.read(".claude/settings.local.json"); got != "{\n  \"enabledMcpjsonServers\": [\n    \"docs\"\n  ]\n}\n" {
		t.Errorf("%s", got)
	}
	p.keys("u")
	p.waitFor("settings.local.json")
	p.keys("y")
	p.waitFor("▌ docs [? approve]")
	if got := s.read(".claude/settings.local.json"); got != "-" {
		t.Errorf("it is still there: %s", got)
	}
}

// TestStory1ApproveItInAFolderThatIsNotTrusted: the approval is written, and what is missing is said.
func TestStory1ApproveItInAFolderThatIsNotTrusted(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.write(".mcp.json", `{"mcpServers": {"docs": {"command": "docs-server"}}}`)
	p := s.open("claude-code")
	p.shows("▌ docs [? approve]")
	p.keys("a")
	p.waitFor("Let Claude Code start docs", "waiting for trust")
	p.keys("y")
	p.waitFor("docs is approved in Claude Code", "docs [? trust", "not trusted in Claude Code")
	if got := s.read("~/.claude.json"); strings.Contains(got, "hasTrustDialogAccepted") {
		t.Errorf("the folder was trusted: %s", got)
	}
}

// TestStory2OffEverywhere: cursor on the name, space: one plan over the harnesses, one yes; u brings it all back.
func TestStory2OffEverywhere(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.write("~/.claude.json", `{"mcpServers": {"playwright": {"command": "x"}}}`)
	s.write("~/.codex/config.toml", "[mcp_servers.playwright]\ncommand = \"x\"\n")
	s.write("~/.config/opencode/opencode.json", `{"mcp": {"playwright": {"type": "local", "command": ["x"], "enabled": false}}}`)
	s.write("opencode.json", `{"mcp": {}}`)
	before := map[string]string{}
	for _, f := range []string{"~/.claude.json", "~/.codex/config.toml", "~/.config/opencode/opencode.json", "opencode.json"} {
		before[f] = s.read(f)
	}
	p := s.open("claude-code", "codex", "opencode")
	p.keys("left")
	p.keys(" ")
	p.waitFor("Switch playwright off in every harness?", "Claude Code", "Codex", "so already", "one undo step", "Yes, write 2 files")
	p.keys("y")
	p.waitFor("– off – off – off")
	if !strings.Contains(s.read("~/.codex/config.toml"), "enabled = false") || !strings.Contains(s.read("~/.claude.json"), "disabledMcpServers") {
		t.Errorf("%s\n%s", s.read("~/.codex/config.toml"), s.read("~/.claude.json"))
	}
	p.keys("u")
	p.waitFor("2 harnesses")
	p.keys("y")
	p.waitFor("○ ○ – off")
	for f, want := range before {
		if got := s.read(f); got != want {
			t.Errorf("%s: %s", f, got)
		}
	}
}
