package cli

import (
	"testing"
)

// The stories of the panel, from keys to screen, as far as reading goes.

// TestStory1WhyDoesMyServerNotLoad: the cell says that it waits, the pane says where it stands and that nothing in the
// repository can approve it.
func TestStory1WhyDoesMyServerNotLoad(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.write(".mcp.json", `{"mcpServers": {
  "docs": {"command": "docs-server", "args": ["--root", "docs"]}
}}`)
	p := s.open("claude-code", "gemini")
	t.Log(p.frame)
}
