package loaders

import (
	"fmt"
	"slices"
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
		{name: "a file in a value is named and not read", files: map[string]string{windsurfFile: mcpServers(`"a": {"command":"x","env":{"T":"${file:/etc/token}"}}`)},
			want: map[string]string{"a": "configured | user ~/.codeium/windsurf/mcp_config.json:3 | referenced-file"}},
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
		{name: "every folder up to the root of the repository, the nearest first", start: "s/t", files: map[string]string{gitHead: "", "./.factory/mcp.json": mcpServers(a, `"r": {"command":"x"}`),
			"./s/.factory/mcp.json": mcpServers(`"s": {"command":"x"}`, a), "./s/t/.factory/mcp.json": mcpServers(a)},
			want: map[string]string{
				"a": "configured | project ./s/t/.factory/mcp.json:3 | beats project ./s/.factory/mcp.json:4 | beats project ./.factory/mcp.json:3 | from-repository",
				"r": "configured | project ./.factory/mcp.json:4 | from-repository",
				"s": "configured | project ./s/.factory/mcp.json:3 | from-repository"}},
		{name: "no repository: that folder alone", start: "s", files: map[string]string{"./.factory/mcp.json": mcpServers(a)}},
		{name: "comments", files: map[string]string{droidUser: "// c\n" + mcpServers(a)}, want: map[string]string{"a": "configured | user ~/.factory/mcp.json:4"}},
		{name: "a broken file is dropped", files: map[string]string{droidUser: mcpServers(a), "./.factory/mcp.json": "{\n\"mcpServers\":{" + a + "},}", "./.mcp.json": "{}"},
			want:  map[string]string{"a": "configured | user ~/.factory/mcp.json:3 | pending project error file-refused ./.factory/mcp.json:2"},
			notes: []string{"file-dropped"}},
		{name: "an entry that does not fit replaces all the same", files: map[string]string{droidUser: mcpServers(a), "./.factory/mcp.json": mcpServers(`"a": {"command":5}`)},
			want: map[string]string{"a": "error entry-invalid ./.factory/mcp.json:3 | project ./.factory/mcp.json:3 | beats user ~/.factory/mcp.json:3 | from-repository"}},
		{name: "null stops all", ran: "./.factory/mcp.json:3", files: map[string]string{droidUser: mcpServers(`"u": {"command":"x"}`), "./.factory/mcp.json": mcpServers(`"a": null`)},
			want: map[string]string{
				"a": "error entry-invalid ./.factory/mcp.json:3 | project ./.factory/mcp.json:3 | from-repository",
				"u": "error entry-invalid ./.factory/mcp.json:3 | user ~/.factory/mcp.json:3"}},
		{name: "a name that is written the same way is the same", files: map[string]string{droidUser: mcpServers(`"my server": {"command":"x"}`, `"my.server": {"command":"y"}`, `"x y": {"command":"x"}`), "./.factory/mcp.json": mcpServers(`"x-y": {"command":"x","disabled":true}`)},
			want: map[string]string{
				"my.server": "configured | user ~/.factory/mcp.json:4 | beats user ~/.factory/mcp.json:3",
				"x-y":       "disabled switched-off ./.factory/mcp.json:3 | project ./.factory/mcp.json:3 | beats user ~/.factory/mcp.json:5 | from-repository"}},
		{name: "what counts as disabled", files: map[string]string{droidUser: mcpServers(`"t": {"command":"x","disabled":"no"}`, `"one": {"command":"x","disabled":1}`, `"zero": {"command":"x","disabled":0}`, `"null": {"command":"x","disabled":null}`)},
			want: map[string]string{
				"t":    "disabled switched-off ~/.factory/mcp.json:3 | user ~/.factory/mcp.json:3",
				"one":  "disabled switched-off ~/.factory/mcp.json:4 | user ~/.factory/mcp.json:4",
				"zero": "configured | user ~/.factory/mcp.json:5",
				"null": "configured | user ~/.factory/mcp.json:6"}},
		{name: "a policy", files: map[string]string{droidUser: mcpServers(a, `"b": {"command":"y","args":["run","The-Tool"]}`, `"r": {"type":"http","url":"https://mcp.example.com/x"}`, `"q": {"type":"http","url":"https://example.com.evil"}`),
			"./.factory/settings.json": `{"mcpPolicy":{"enabled":false,"allowlist":["x"]}}`, "~/.factory/settings.json": "// c\n{\"mcpPolicy\":{\"enabled\":true,\n\"allowlist\":[\"thetool\",\"https://example.com/any\"]}}"},
			want: map[string]string{
				"a": "disabled blocked-by-policy ~/.factory/settings.json:2 | user ~/.factory/mcp.json:3",
				"b": "configured | user ~/.factory/mcp.json:4",
				"r": "configured | user ~/.factory/mcp.json:5",
				"q": "disabled blocked-by-policy ~/.factory/settings.json:2 | user ~/.factory/mcp.json:6"}},
		{name: "the nearest policy that is on", files: map[string]string{droidUser: mcpServers(a), "./.factory/settings.json": `{"mcpPolicy":{"enabled":true,"allowlist":["x"]}}`, "~/.factory/settings.local.json": `{"mcpPolicy":{"enabled":true}}`},
			want: map[string]string{"a": "configured | user ~/.factory/mcp.json:3"}},
		{name: "variables", vars: map[string]string{"SET": "v", "EMPTY": ""}, files: map[string]string{droidUser: mcpServers(`"a": {"command":"${NOPE}","env":{"A":"${SET}${EMPTY}${NOPE:-d}${NOPE}$NOPE"}}`)},
			want: map[string]string{"a": "configured | user ~/.factory/mcp.json:3 | unset-variable"}},
		{name: "types", files: map[string]string{droidUser: mcpServers(`"u": {"url":"https://example.com"}`, `"h": {"type":"http","url":"https://example.com"}`, `"s": {"type":"sse","url":"https://example.com"}`, `"x": {"type":"ws","url":"x"}`, `"n": 1`)},
			want: map[string]string{
				"u": "error entry-invalid ~/.factory/mcp.json:3 | user ~/.factory/mcp.json:3 | url-without-type:3",
				"h": "configured | user ~/.factory/mcp.json:4",
				"s": "configured | user ~/.factory/mcp.json:5",
				"x": "error entry-invalid ~/.factory/mcp.json:6 | user ~/.factory/mcp.json:6",
				"n": "error entry-invalid ~/.factory/mcp.json:7 | user ~/.factory/mcp.json:7"}},
	})
}

func TestDroidLaunch(t *testing.T) {
	t.Parallel()
	tr := layTree(t, map[string]string{droidUser: mcpServers(`"a": {"command":"x","args":["${SET}"],"env":{"A":"${SET} ${EMPTY:-d} ${EMPTY} ${NOPE:-d} ${NOPE} $SET"}}`)}, map[string]string{"SET": "v", "EMPTY": ""})
	h := factoryDroid()
	l := h.LaunchFor(tr.env, &cellNamed(tr.column(h), "a").Entry)
	if !slices.Equal(l.Args, []string{"${SET}"}) || !slices.Contains(l.Env, "A=v d  d ${NOPE} $SET") || !slices.Equal(l.Unset, []string{"NOPE"}) {
		t.Errorf("%q, %q, unset %q", l.Args, l.Env, l.Unset)
	}
	for name, want := range map[string]string{"my server": "my-server", " a.b ": "a-b", "a--_b-": "a-_b", "é": "invalid-server-name", "aé/b": "a-b",
		"a\u00a0b\u3000c": "a-b-c", strings.Repeat("a", 31) + "-b": strings.Repeat("a", 31), "": "invalid-server-name"} {
		if got := h.Launch.ToolName(name, "t"); got != want+"___t" {
			t.Errorf("%q: %q", name, got)
		}
	}
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
func FuzzResolveDroid(f *testing.F) {
	plainFuzz(f, factoryDroid(), droidUser, "./.factory/mcp.json", "./.factory/settings.json")
}

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
