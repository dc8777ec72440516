package loaders

import (
	"slices"
	"testing"

	"fusebox/model"
)

const (
	grokUser  = "~/.grok/config.toml"
	grokTrust = "~/.grok/trusted_folders.toml"
	grokYes   = "[folders.\"@PROJECT@\"]\ntrusted = true\n"
)

func TestGrokResolve(t *testing.T) {
	t.Parallel()
	const a, b = "[mcp_servers.a]\ncommand = \"x\"\n", "[mcp_servers.b]\nurl = \"https://example.com/mcp\"\n"
	claude := mcpServers(`"a": {"command":"x"}`)
	runCases(t, grokBuild(), []resolveCase{
		{name: "nothing"},
		{name: "user", files: map[string]string{grokUser: a + b}, want: map[string]string{"a": "configured | user ~/.grok/config.toml:1", "b": "configured | user ~/.grok/config.toml:3"}},
		{name: "GROK_HOME", vars: map[string]string{"GROK_HOME": "@HOME@/g"}, files: map[string]string{"~/g/config.toml": a}, want: map[string]string{"a": "configured | user ~/g/config.toml:1"}},
		{name: "untrusted: every name of the folder is left out", files: map[string]string{gitHead: "", grokUser: a + b, "./.grok/config.toml": a},
			want: map[string]string{
				"a": "unapproved untrusted-folder ~/.grok/trusted_folders.toml:1 | project ./.grok/config.toml:1 | beats user ~/.grok/config.toml:1 | from-repository",
				"b": "configured | user ~/.grok/config.toml:3"}},
		{name: "your own too, where a lower file of the folder has the name", files: map[string]string{gitHead: "", grokUser: a, "./.mcp.json": claude},
			want: map[string]string{"a": "unapproved untrusted-folder ~/.grok/trusted_folders.toml:1 | user ~/.grok/config.toml:1 | beats project ./.mcp.json:3"}},
		{name: "trusted, the nearest wins whole", start: "s", files: map[string]string{gitHead: "", grokTrust: grokYes, grokUser: a, "./.grok/config.toml": a, "./s/.grok/config.toml": a},
			want: map[string]string{"a": "configured | project ./s/.grok/config.toml:1 | beats project ./.grok/config.toml:1 | beats user ~/.grok/config.toml:1 | from-repository"}},
		{name: "a nearer no beats a parent's yes", files: map[string]string{gitHead: "", grokTrust: "[folders.\"@HOME@\"]\ntrusted = true\n[folders.\"@PROJECT@\"]\ntrusted = false\n", "./.grok/config.toml": a},
			want: map[string]string{"a": "unapproved untrusted-folder ~/.grok/trusted_folders.toml:4 | project ./.grok/config.toml:1 | from-repository"}},
		{name: "the gate is switched off", files: map[string]string{grokUser: "[folder_trust]\nenabled = false\n", "./.grok/config.toml": a}, want: map[string]string{"a": "configured | project ./.grok/config.toml:1 | from-repository"}},
		{name: "a variable beats that", vars: map[string]string{"GROK_FOLDER_TRUST": "1"}, files: map[string]string{grokUser: "[folder_trust]\nenabled = false\n", "./.grok/config.toml": a},
			want: map[string]string{"a": "unapproved untrusted-folder ~/.grok/trusted_folders.toml:1 | project ./.grok/config.toml:1 | from-repository"}},
		{name: "foreign files in their order", files: map[string]string{grokTrust: grokYes, "~/.claude.json": `{"mcpServers":{"a":{"command":"x"}},"projects":{"@PROJECT@":{"mcpServers":{"l":{"command":"x"}}}}}`,
			"~/.cursor/mcp.json": claude, "./.cursor/mcp.json": mcpServers(`"c": {"command":"x"}`), "./.mcp.json": mcpServers(`"d": {"url":"https://example.com/sse"}`)},
			want: map[string]string{
				"a": "configured | user ~/.claude.json:1 | beats user ~/.cursor/mcp.json:3",
				"l": "configured | local ~/.claude.json:1",
				"c": "configured | project ./.cursor/mcp.json:3 | from-repository",
				"d": "configured | project ./.mcp.json:3 | from-repository"}},
		{name: "what is off in another harness's file does not count", files: map[string]string{"~/.claude.json": mcpServers(`"a": {"command":"x","enabled":false}`, `"o": {"command":"x","enabled":false}`), "~/.cursor/mcp.json": claude},
			want: map[string]string{
				"a": "configured | user ~/.cursor/mcp.json:3 | beats user ~/.claude.json:3",
				"o": "disabled switched-off ~/.claude.json:4 | user ~/.claude.json:4"}},
		{name: "foreign files switched off", files: map[string]string{grokUser: "[compat.claude]\nmcps = false\n[compat.cursor]\nmcps = false\n", "~/.claude.json": claude, "~/.cursor/mcp.json": claude}},
		{name: "after an import", files: map[string]string{grokUser: "[claude_compat]\nimported = true\n", "~/.claude.json": claude, "./.mcp.json": claude, "~/.cursor/mcp.json": mcpServers(`"c": {"command":"x"}`)},
			want: map[string]string{"c": "configured | user ~/.cursor/mcp.json:3"}},
		{name: "off by the list and by the entry", files: map[string]string{grokUser: "disabled_mcp_servers = [\"b\", \"c\"]\n" + a + "enabled = false\n" + b, "~/.cursor/mcp.json": mcpServers(`"c": {"command":"x"}`)},
			want: map[string]string{
				"a": "disabled switched-off ~/.grok/config.toml:4 | user ~/.grok/config.toml:2",
				"b": "disabled switched-off ~/.grok/config.toml:1 | user ~/.grok/config.toml:5",
				"c": "disabled switched-off ~/.grok/config.toml:1 | user ~/.cursor/mcp.json:3"}},
		{name: "bad entries leave the others", files: map[string]string{grokUser: a + "[mcp_servers]\nn = 5\n"}, want: map[string]string{"a": "configured | user ~/.grok/config.toml:1", "n": "error entry-invalid ~/.grok/config.toml:4 | user ~/.grok/config.toml:4"}},
		{name: "a broken file of the folder leaves yours", files: map[string]string{grokUser: a, grokTrust: grokYes, "./.grok/config.toml": a + "x ="},
			want: map[string]string{"a": "configured | user ~/.grok/config.toml:1 | pending project error file-refused ./.grok/config.toml:1"}},
		{name: "trust of a folder above does not count", start: "s", files: map[string]string{grokTrust: grokYes, "./s/.grok/config.toml": a},
			want: map[string]string{"a": "unapproved untrusted-folder ~/.grok/trusted_folders.toml:1 | project ./s/.grok/config.toml:1 | from-repository"}},
		{name: "that of the repository counts in all of it", start: "s", files: map[string]string{gitHead: "", grokTrust: grokYes, "./s/.grok/config.toml": a},
			want: map[string]string{"a": "configured | project ./s/.grok/config.toml:1 | from-repository"}},
		{name: "spellings of a trusted folder", files: map[string]string{grokTrust: "[folders.\"@PROJECT@/./\"]\ntrusted = true\ndecided_at = 1\n", "./.grok/config.toml": a},
			want: map[string]string{"a": "configured | project ./.grok/config.toml:1 | from-repository"}},
		{name: "no such spelling", files: map[string]string{grokTrust: "[folders.\"@PROJECT@/x/..\"]\ntrusted = true\n", "./.grok/config.toml": a},
			want: map[string]string{"a": "unapproved untrusted-folder ~/.grok/trusted_folders.toml:1 | project ./.grok/config.toml:1 | from-repository"}},
		{name: "one bad entry drops all trust", notes: []string{"file-dropped"}, files: map[string]string{grokTrust: grokYes + "[folders.\"/x\"]\ntrusted = \"yes\"\n", "./.grok/config.toml": a},
			want: map[string]string{"a": "unapproved untrusted-folder ~/.grok/trusted_folders.toml:1 | project ./.grok/config.toml:1 | from-repository"}},
		{name: "a date that is none, too", notes: []string{"file-dropped"}, files: map[string]string{grokTrust: grokYes + "decided_at = 1.5\n", "./.grok/config.toml": a},
			want: map[string]string{"a": "unapproved untrusted-folder ~/.grok/trusted_folders.toml:1 | project ./.grok/config.toml:1 | from-repository"}},
		{name: "your broken file stops all", ran: "~/.grok/config.toml:3", files: map[string]string{grokUser: a + "x =\n", "~/.cursor/mcp.json": mcpServers(`"c": {"command":"x"}`)},
			want: map[string]string{
				"a": "error file-refused ~/.grok/config.toml:3 | user ~/.grok/config.toml:1",
				"c": "error file-refused ~/.grok/config.toml:3 | user ~/.cursor/mcp.json:3"}},
		{name: "a list that is none stops all", ran: "~/.grok/config.toml:3", files: map[string]string{grokUser: "[disabled_mcp_tools]\na = [\"x\"]\nb = 5\n" + a},
			want: map[string]string{"a": "error file-refused ~/.grok/config.toml:3 | user ~/.grok/config.toml:4"}},
		{name: "another grok's files", files: map[string]string{"~/.grok/user-settings.json": "{}", "./.grok/settings.json": "{}"}, notes: []string{"file-not-read", "file-not-read"}},
		{name: "a wrong table", files: map[string]string{grokUser: "[mcpServers.a]\ncommand = 'x'\n"}, notes: []string{"wrong-key"}},
	})
}

func TestGrokEntries(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`command = "x"`: "stdio", `url = "https://example.com"`: "http", "type = \"SSE\"\nurl = \"https://example.com\"": "sse", `url = "https://example.com/sse"`: "sse",
		`urlTemplate = "https://example.com"`: "http", "command = 5\nurl = \"https://example.com\"": "http", "command = \"x\"\nurl = \"y\"": "stdio",
		`args = ["x"]`: "", `command = " "`: "", `url = ""`: "", "command = \"x\"\nargs = \"y\"": "", "command = \"x\"\nenv = {A = 1}": "", "command = \"x\"\nenabled = \"no\"": "",
		"url = \"https://example.com\"\nheaders = 5": "", "command = \"x\"\ncwd = 1": "", "url = \"https://example.com\"\nbearer_token_env_var = 1": "",
	} {
		tr := layTree(t, map[string]string{grokUser: "[mcp_servers.a]\n" + text + "\n"}, nil)
		c := cellNamed(tr.column(grokBuild()), "a")
		got := ""
		if c.Decision == model.DecisionLoads {
			got = string(c.Definition.Transport)
		} else if c.Reason.Code != model.ReasonEntryInvalid {
			t.Errorf("%s: %s", text, tr.describe(c))
		}
		if got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}

func TestGrokLaunch(t *testing.T) {
	t.Parallel()
	tr := layTree(t, map[string]string{grokUser: "[mcp_servers.a]\ncommand = \"x\"\nargs = [\"${V}\", \"$V\", \"${N:-d}\", \"$$V\", \"$NOPE\"]\nstartup_timeout_sec = 5\n[disabled_mcp_tools]\na = [\"t\"]\n"}, map[string]string{"V": "v"})
	h := grokBuild()
	c := cellNamed(tr.column(h), "a")
	l := h.LaunchFor(tr.env, &c.Entry)
	if !slices.Equal(l.Args, []string{"v", "v", "d", "$V", "$NOPE"}) || !slices.Equal(l.Unset, []string{"NOPE"}) || l.Limit.Seconds() != 5 || c.Filter == nil || h.Launch.ToolName("a", "t") != "a__t" {
		t.Errorf("%q, unset %q, %v, filter %v", l.Args, l.Unset, l.Limit, c.Filter)
	}
}

func FuzzResolveGrok(f *testing.F) {
	f.Add("disabled_mcp_servers = [\"a\"]\n[mcp_servers.a]\ncommand = \"x\"\nenv = {T = \"@CANARY@\"}\n", mcpServers(`"b": {"url":"https://example.com/@CANARY@"}`), grokYes)
	f.Add("[mcp_servers.a]\nurl = 5\n[mcp_servers.'']\nenabled = 7\ncommand = \"@CANARY@\"\n", `{"mcpServers":{"a":7,"":{}},"projects":[]}`, "[folders]\nx = 5\n")
	f.Add("[mcp_servers\nx =", `{`, `]`)
	f.Fuzz(func(t *testing.T, toml, json, trust string) {
		tr := layTree(t, map[string]string{gitHead: "", grokUser: withCanary(toml), "./.grok/config.toml": withCanary(toml), "./.mcp.json": withCanary(json), "~/.claude.json": withCanary(json),
			"./.cursor/mcp.json": withCanary(json), grokTrust: trust}, map[string]string{"CANARY": canary})
		checkColumn(t, tr.column(grokBuild()))
	})
}
