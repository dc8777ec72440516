package loaders

import (
	"os"
	"path/filepath"
	"testing"
)

// Whatever stands in Claude Code's files: no panic, every cell with its line and a known reason, no secret in any text.
func FuzzResolveClaude(f *testing.F) {
	f.Add(`{"mcpServers":{"a":{"command":"x","env":{"T":"@CANARY@"}}},"projects":{"@PROJECT@":{"hasTrustDialogAccepted":true,"disabledMcpServers":["b"],"mcpServers":{"l":{"type":"http","url":"https://h/@CANARY@"}}}}}`,
		`{"mcpServers":{"b":{"command":"y","args":["@CANARY@"]},"c":{"url":"https://u:@CANARY@@h/"}}}`, `{"enabledMcpjsonServers":["b"],"disabledMcpjsonServers":"c"}`, `{"enabledPlugins":{"p@m":true},"deniedMcpServers":[{"serverUrl":"*@CANARY@*"}]}`)
	f.Add(`{"mcpServers":{"a":{"type":"ws","url":"${X:-@CANARY@}","headers":{"A":"@CANARY@"},"headersHelper":"@CANARY@"}}}`, `{"servers":{}}`, `{"model":7}`, `{"allowedMcpServers":[{"serverCommand":["@CANARY@"]},{"serverName":"a"}]}`)
	f.Add("", "{,", "[]", "\ufeff{}")
	f.Add(`{"mcpServers":[],"projects":{"":{"mcpServers":5}}}`, `{"mcpServers":{"":{},"workspace":{"command":"x"},"\u202e":{"command":"${env:@CANARY@}","timeout":1.5}}}`, `{"enableAllProjectMcpServers":true}`, `{"enableAllProjectMcpServers":false}`)
	f.Fuzz(func(t *testing.T, main, project, local, user string) {
		tr := layTree(t, map[string]string{"~/.claude.json": withCanary(main), "./.mcp.json": withCanary(project), "./.claude/settings.local.json": withCanary(local),
			"~/.claude/settings.json": withCanary(user)}, nil)
		checkColumn(t, tr.column(claudeCode()))
		if err := os.WriteFile(filepath.Join(tr.project, ".mcp.json"), []byte(withCanary(main)), 0o600); err != nil {
			t.Fatal(err)
		}
		checkColumn(t, tr.column(claudeCode()))
	})
}
