package loaders

import (
	"fmt"
	"strings"
	"testing"

	"fusebox/model"
)

const (
	desktopFile     = "~/.config/Claude/claude_desktop_config.json"
	windsurfFile    = "~/.codeium/windsurf/mcp_config.json"
	clineUser       = "~/.cline/data/settings/cline_mcp_settings.json"
	antigravityFile = "~/.gemini/config/mcp_config.json"
	droidUser       = "~/.factory/mcp.json"
)

func TestClaudeDesktopResolve(t *testing.T) {
	t.Parallel()
	a := `"a": {"command":"x"}`
	runCases(t, claudeDesktop(), []resolveCase{
		{name: "nothing"},
		{name: "a server", files: map[string]string{desktopFile: mcpServers(a)}, want: map[string]string{"a": "configured | user ~/.config/Claude/claude_desktop_config.json:3"}},
		{name: "settings without servers", files: map[string]string{desktopFile: `{"globalShortcut":""}`}},
		{name: "what does not fit is left out", files: map[string]string{desktopFile: mcpServers(a, `"r": {"url":"https://example.com"}`, `"n": 5`, `"e": {"command":""}`, `"t": {"command":"x","args":"y"}`, `"d": {"command":"x","disabled":true,"url":"x"}`)},
			want: map[string]string{
				"a": "configured | user ~/.config/Claude/claude_desktop_config.json:3",
				"r": "error entry-skipped ~/.config/Claude/claude_desktop_config.json:4 | user ~/.config/Claude/claude_desktop_config.json:4",
				"n": "error entry-skipped ~/.config/Claude/claude_desktop_config.json:5 | user ~/.config/Claude/claude_desktop_config.json:5",
				"e": "error entry-invalid ~/.config/Claude/claude_desktop_config.json:6 | user ~/.config/Claude/claude_desktop_config.json:6",
				"t": "error entry-skipped ~/.config/Claude/claude_desktop_config.json:7 | user ~/.config/Claude/claude_desktop_config.json:7",
				"d": "configured | user ~/.config/Claude/claude_desktop_config.json:8 | conflicting-keys:8 | key-without-effect:8"}},
		{name: "a comment breaks it", files: map[string]string{desktopFile: "{// c\n\"mcpServers\":{" + a + "}}"}, ran: "~/.config/Claude/claude_desktop_config.json:1",
			want: map[string]string{"a": "error file-refused ~/.config/Claude/claude_desktop_config.json:1 | user ~/.config/Claude/claude_desktop_config.json:2"}},
		{name: "the wrong key", files: map[string]string{desktopFile: `{"servers":{"a":{}}}`}, notes: []string{"wrong-key"}},
	})
	tr := layTree(t, map[string]string{"~/Library/Application Support/Claude/claude_desktop_config.json": mcpServers(a)}, nil)
	tr.env.GOOS = "darwin"
	if c := cellNamed(tr.column(claudeDesktop()), "a"); c == nil || c.Capabilities.Toggle == "" || c.Capabilities.Login == "" {
		t.Error("macOS: no cell, or a switch")
	}
}

func TestWindsurfResolve(t *testing.T) {
	t.Parallel()
	runCases(t, windsurf(), []resolveCase{
		{name: "an empty file", files: map[string]string{windsurfFile: " \n"}},
		{name: "entries", files: map[string]string{windsurfFile: mcpServers(`"a": {"command":"x","args":["${env:NOPE}"],"disabledTools":["t"]}`, `"r": {"serverUrl":"https://example.com/mcp"}`, `"u": {"url":"https://example.com/mcp"}`,
			`"off": {"command":"x","disabled":true,"enabled":true}`, `"n": []`, `"e": {}`, `"both": {"command":"x","serverUrl":"https://example.com"}`, `"t": {"command":"x","env":{"A":1}}`)},
			want: map[string]string{
				"a":    "configured | user ~/.codeium/windsurf/mcp_config.json:3 | unset-variable",
				"r":    "configured | user ~/.codeium/windsurf/mcp_config.json:4",
				"u":    "configured | user ~/.codeium/windsurf/mcp_config.json:5",
				"off":  "disabled switched-off ~/.codeium/windsurf/mcp_config.json:6 | user ~/.codeium/windsurf/mcp_config.json:6 | key-without-effect:6",
				"n":    "error entry-invalid ~/.codeium/windsurf/mcp_config.json:7 | user ~/.codeium/windsurf/mcp_config.json:7",
				"e":    "error entry-invalid ~/.codeium/windsurf/mcp_config.json:8 | user ~/.codeium/windsurf/mcp_config.json:8",
				"both": "configured | user ~/.codeium/windsurf/mcp_config.json:9 | conflicting-keys:9",
				"t":    "error entry-invalid ~/.codeium/windsurf/mcp_config.json:10 | user ~/.codeium/windsurf/mcp_config.json:10"}},
		{name: "a broken file", files: map[string]string{windsurfFile: "{\"mcpServers\":{\n\"a\":{\"command\":\"x\"},\n"}, ran: "~/.codeium/windsurf/mcp_config.json:3",
			want: map[string]string{"a": "error file-refused ~/.codeium/windsurf/mcp_config.json:3 | user ~/.codeium/windsurf/mcp_config.json:2"}},
		{name: "stray files", files: map[string]string{"~/.codeium/mcp_config.json": "{}", "./.windsurf/mcp.json": "{}"}, notes: []string{"file-not-read", "file-not-read"}},
	})
}

func TestClineResolve(t *testing.T) {
	t.Parallel()
	const at = "~/.cline/data/settings/cline_mcp_settings.json"
	a := `"a": {"command":"x"}`
	runCases(t, clineExtension(), []resolveCase{
		{name: "empty files are fine", files: map[string]string{clineUser: "\n"}},
		{name: "an empty object too", files: map[string]string{clineUser: " {} "}},
		{name: "another object is not", files: map[string]string{clineUser: `{"servers":{"a":{}}}`}, ran: at + ":1", notes: []string{"wrong-key"}},
		{name: "forms", files: map[string]string{clineUser: mcpServers(a, `"s": {"url":"http://h"}`, `"h": {"type":"streamableHttp","url":"http://h"}`, `"n": {"transport":{"type":"streamableHttp","url":"http://h"},"disabled":true}`,
			`"x": {"command":"x","url":"http://h","type":"sse"}`, `"b": {"command":"x","url":"http://h"}`, `"e": {"url":"${env:BASE}/mcp","type":"streamableHttp"}`, `"k": {"command":""}`, `"v": {"command":"${env:NOPE}","enabled":false}`)},
			vars: map[string]string{"BASE": "https://example.com"},
			want: map[string]string{
				"a": "configured | user " + at + ":3",
				"s": "configured | user " + at + ":4 | url-without-type:4",
				"h": "configured | user " + at + ":5",
				"n": "disabled switched-off " + at + ":6 | user " + at + ":6",
				"x": "configured | user " + at + ":7 | conflicting-keys:7",
				"b": "configured | user " + at + ":8 | conflicting-keys:8",
				"e": "configured | user " + at + ":9",
				"k": "configured | user " + at + ":10 | partial-entry:10",
				"v": "configured | user " + at + ":11 | key-without-effect:11 | unset-variable"}},
		{name: "one bad entry", files: map[string]string{clineUser: mcpServers(a, `"bad": {"type":"http","url":"http://h"}`)}, ran: at + ":4",
			want: map[string]string{"a": "error file-refused " + at + ":4 | user " + at + ":3", "bad": "error file-refused " + at + ":4 | user " + at + ":4"}},
		{name: "a comment", files: map[string]string{clineUser: "{// c\n\"mcpServers\":{" + a + "}}"}, ran: at + ":1",
			want: map[string]string{"a": "error file-refused " + at + ":1 | user " + at + ":2"}},
		{name: "a byte order mark", files: map[string]string{clineUser: "\ufeff" + mcpServers(a)}, ran: at + ":1",
			want: map[string]string{"a": "error file-refused " + at + ":1 | user " + at + ":3"}},
		{name: "variables move it", vars: map[string]string{"CLINE_DIR": "@HOME@/c"}, files: map[string]string{"~/c/data/settings/cline_mcp_settings.json": mcpServers(a)},
			want: map[string]string{"a": "configured | user ~/c/data/settings/cline_mcp_settings.json:3"}},
		{name: "the data folder goes first", vars: map[string]string{"CLINE_DIR": "@HOME@/c", "CLINE_DATA_DIR": " @HOME@/d "}, files: map[string]string{"~/d/settings/cline_mcp_settings.json": mcpServers(a)},
			want: map[string]string{"a": "configured | user ~/d/settings/cline_mcp_settings.json:3"}},
		{name: "the file itself first of all", vars: map[string]string{"CLINE_DATA_DIR": "@HOME@/d", "CLINE_MCP_SETTINGS_PATH": "@HOME@/f.json"}, files: map[string]string{"~/f.json": mcpServers(a)},
			want: map[string]string{"a": "configured | user ~/f.json:3"}},
		{name: "old files", files: map[string]string{"~/.config/Code/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json": mcpServers(a)}, notes: []string{"file-not-read"}},
	})
}

// TestClineEntries: one entry of each of these alone empties the file.
func TestClineEntries(t *testing.T) {
	t.Parallel()
	for text, fits := range map[string]bool{
		`7`: false, `{}`: false, `{"command":5}`: false, `{"command":"x","args":[1]}`: false, `{"command":"x","env":{"A":1}}`: false, `{"url":"nonsense"}`: false,
		`{"type":"stdio","url":"http://h"}`: false, `{"type":"sse","command":"x"}`: false, `{"command":"x","disabled":"yes"}`: false, `{"command":"x","timeout":0}`: false,
		`{"command":"x","timeout":"5"}`: false, `{"command":"x","autoApprove":[1]}`: false, `{"transport":{"type":"http","url":"http://h"}}`: false,
		`{"transport":{"type":"stdio","command":""}}`: false, `{"type":"streamable-http","url":"http://h"}`: false, `{"command":"x","headers":5}`: false,
		`{"command":"x","timeout":60,"autoApprove":["a"],"disabled":false,"foo":1}`: true, `{"transport":"x","command":"y"}`: true, `{"url":"http://h","transportType":"http"}`: true,
		`{"transport":{"type":"stdio"},"command":"y"}`: true, `{"type":"sse","url":"http://h"}`: true,
	} {
		tr := layTree(t, map[string]string{clineUser: mcpServers(`"a": ` + text)}, nil)
		if col := tr.column(clineExtension()); (col.Broken == nil) != fits {
			t.Errorf("%s: %s", text, tr.describe(cellNamed(col, "a")))
		}
	}
}

func TestAntigravityResolve(t *testing.T) {
	t.Parallel()
	a, b := `"a": {"command":"x"}`, `"b": {"serverUrl":"https://example.com/mcp","command":"x"}`
	runCases(t, antigravity(), []resolveCase{
		{name: "shared file", files: map[string]string{antigravityFile: mcpServers(a, b, `"off": {"command":"x","disabled":true}`, `"n": null`, `"e": {"httpUrl":"x"}`), "~/.gemini/settings.json": "{}"},
			want: map[string]string{
				"a":   "configured | user ~/.gemini/config/mcp_config.json:3",
				"b":   "configured | user ~/.gemini/config/mcp_config.json:4 | conflicting-keys:4",
				"off": "disabled switched-off ~/.gemini/config/mcp_config.json:5 | user ~/.gemini/config/mcp_config.json:5",
				"n":   "error entry-invalid ~/.gemini/config/mcp_config.json:6 | user ~/.gemini/config/mcp_config.json:6",
				"e":   "error entry-invalid ~/.gemini/config/mcp_config.json:7 | user ~/.gemini/config/mcp_config.json:7 | key-without-effect:7"}},
		{name: "older files count without it", files: map[string]string{"~/.gemini/antigravity/mcp_config.json": mcpServers(a), "~/.gemini/antigravity-cli/mcp_config.json": mcpServers(a, b)},
			want: map[string]string{
				"a": "configured | user ~/.gemini/antigravity/mcp_config.json:3 | beats user ~/.gemini/antigravity-cli/mcp_config.json:3",
				"b": "configured | user ~/.gemini/antigravity-cli/mcp_config.json:4 | conflicting-keys:4"}},
		{name: "and not beside it", files: map[string]string{antigravityFile: "", "~/.gemini/antigravity/mcp_config.json": mcpServers(a)}, notes: []string{"file-not-read"}},
		{name: "the folder's beats the user's", files: map[string]string{antigravityFile: mcpServers(a), "./.agents/mcp_config.json": mcpServers(a)},
			want: map[string]string{"a": "configured | project ./.agents/mcp_config.json:3 | beats user ~/.gemini/config/mcp_config.json:3 | from-repository"}},
		{name: "a broken file leaves the others", files: map[string]string{antigravityFile: mcpServers(a), "./.agents/mcp_config.json": "{\"mcpServers\":{\n" + a},
			want: map[string]string{"a": "configured | user ~/.gemini/config/mcp_config.json:3 | pending project error file-refused ./.agents/mcp_config.json:2"}},
	})
}

func TestDroidResolve(t *testing.T) {
	t.Parallel()
	a := `"a": {"type":"stdio","command":"x"}`
	runCases(t, factoryDroid(), []resolveCase{
		{name: "the project's replaces the user's, also when it is off", files: map[string]string{droidUser: mcpServers(a), "./.factory/mcp.json": mcpServers(`"a": {"command":"y","disabled":true}`)},
			want: map[string]string{"a": "disabled switched-off ./.factory/mcp.json:3 | project ./.factory/mcp.json:3 | beats user ~/.factory/mcp.json:3 | from-repository"}},
		{name: "from a folder below", start: "s", files: map[string]string{gitHead: "", "./.factory/mcp.json": mcpServers(a)},
			want: map[string]string{"a": "configured | project ./.factory/mcp.json:3 | from-repository"}},
		{name: "a broken file is dropped", files: map[string]string{droidUser: mcpServers(a), "./.factory/mcp.json": "{// c\n\"mcpServers\":{" + a + "}}", "./.mcp.json": "{}"},
			want:  map[string]string{"a": "configured | user ~/.factory/mcp.json:3 | pending project error file-refused ./.factory/mcp.json:2"},
			notes: []string{"file-dropped"}},
		{name: "types", files: map[string]string{droidUser: mcpServers(`"u": {"url":"https://example.com"}`, `"h": {"type":"http","url":"https://example.com"}`, `"s": {"type":"sse","url":"https://example.com"}`, `"x": {"type":"ws","url":"x"}`, `"n": 1`)},
			want: map[string]string{
				"u": "error entry-invalid ~/.factory/mcp.json:3 | user ~/.factory/mcp.json:3 | url-without-type:3",
				"h": "configured | user ~/.factory/mcp.json:4",
				"s": "configured | user ~/.factory/mcp.json:5",
				"x": "error entry-invalid ~/.factory/mcp.json:6 | user ~/.factory/mcp.json:6",
				"n": "error entry-invalid ~/.factory/mcp.json:7 | user ~/.factory/mcp.json:7"}},
	})
}

// plainFuzz gives the same text as every file of a harness whose files are maps of servers.
func plainFuzz(f *testing.F, h Harness, files ...string) {
	f.Add(mcpServers(`"a": {"command":"x","env":{"T":"@CANARY@"},"args":["@CANARY@"]}`, `"b": {"url":"https://example.com/@CANARY@","headers":{"A":"@CANARY@"},"type":"@CANARY@"}`))
	f.Add(`{"mcpServers":{"a":7,"":{},"b":{"command":[]},"c":{"disabled":true,"command":"${env:CANARY}"}},"servers":{"x":{}}}`)
	f.Add(`{"mcpServers":{"a":{"command":"x"},"a":{"url":`)
	f.Add("\ufeff{// c\n\"mcpServers\":[],}")
	f.Fuzz(func(t *testing.T, text string) {
		all := map[string]string{gitHead: ""}
		for _, name := range files {
			all[name] = withCanary(text)
		}
		tr := layTree(t, all, map[string]string{"CANARY": canary})
		checkColumn(t, tr.column(h))
	})
}

func FuzzResolveClaudeDesktop(f *testing.F) { plainFuzz(f, claudeDesktop(), desktopFile) }
func FuzzResolveWindsurf(f *testing.F)      { plainFuzz(f, windsurf(), windsurfFile) }
func FuzzResolveCline(f *testing.F)         { plainFuzz(f, clineExtension(), clineUser) }
func FuzzResolveAntigravity(f *testing.F) {
	plainFuzz(f, antigravity(), antigravityFile, "./.agents/mcp_config.json", "~/.gemini/antigravity/mcp_config.json")
}
func FuzzResolveDroid(f *testing.F) { plainFuzz(f, factoryDroid(), droidUser, "./.factory/mcp.json") }

// TestPlainSwitches: an entry that does not load has no switch, the others have.
func TestPlainSwitches(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		h    Harness
		file string
	}{{windsurf(), windsurfFile}, {antigravity(), antigravityFile}, {factoryDroid(), droidUser}} {
		tr := layTree(t, map[string]string{tc.file: mcpServers(`"a": {"command":"x"}`, `"bad": 7`, `"r": {"type":"http","url":"https://example.com"}`)}, nil)
		col := tr.column(tc.h)
		got := fmt.Sprint(cellNamed(col, "a").Capabilities.Toggle == "", cellNamed(col, "bad").Capabilities.Toggle == "", cellNamed(col, "r").Capabilities.Login == "", strings.Contains(cellNamed(col, "a").Capabilities.Approve, "no approval"))
		if got != "true false true true" {
			t.Errorf("%s: %s, %s", tc.h.ID, got, model.Clean(cellNamed(col, "a").Capabilities.Approve))
		}
	}
}
