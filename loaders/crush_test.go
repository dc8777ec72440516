package loaders

import (
	"slices"
	"testing"
)

const crushUser = "~/.config/crush/crush.json"

func crushMCP(entries string) string { return "{\"mcp\":{\n" + entries + "\n}}" }

func TestCrushResolve(t *testing.T) {
	t.Parallel()
	const at = "~/.config/crush/crush.json"
	a := `"a": {"type":"stdio","command":"x","args":["1"]}`
	runCases(t, crushCLI(), []resolveCase{
		{name: "nothing"},
		{name: "entries", files: map[string]string{crushUser: crushMCP(a + `,
"h": {"type":"http","url":"https://example.com"},
"s": {"type":"sse","url":"https://example.com"},
"n": {"command":"x"},
"w": {"type":"ws","url":"x"},
"e": {"type":"stdio"},
"u": {"type":"http"},
"off": {"disabled":true},
"z": null,
"left": {"oauth_token":{}}`)},
			want: map[string]string{
				"a":   "configured | user " + at + ":2",
				"h":   "configured | user " + at + ":3",
				"s":   "configured | user " + at + ":4",
				"n":   "error entry-invalid " + at + ":5 | user " + at + ":5",
				"w":   "error entry-invalid " + at + ":6 | user " + at + ":6",
				"e":   "error entry-invalid " + at + ":7 | user " + at + ":7",
				"u":   "error entry-invalid " + at + ":8 | user " + at + ":8",
				"off": "disabled switched-off " + at + ":9 | user " + at + ":9",
				"z":   "error entry-invalid " + at + ":10 | user " + at + ":10"}},
		{name: "all layers", start: "s", files: map[string]string{gitHead: "", "/etc/crush/crush.json": crushMCP(a), crushUser: crushMCP(a), "~/.local/share/crush/crush.json": crushMCP(`"a": {"disabled":true}`), "./crush.json": crushMCP(a),
			"./.crush.json": crushMCP(`"a": {"disabled":false}`), "./s/.crush/crush.json": crushMCP(`"b": {"type":"stdio","command":"y"}`)},
			want: map[string]string{
				"a": "configured | project ./crush.json:2 | joins project ./.crush.json:2 | joins user ~/.local/share/crush/crush.json:2 | joins user " + at + ":2 | joins system /etc/crush/crush.json:2 | conflicting-scopes | from-repository",
				"b": "configured | local ./s/.crush/crush.json:2"}},
		{name: "outside git only the folder itself", start: "s", files: map[string]string{"./crush.json": crushMCP(a)}},
		{name: "variables", vars: map[string]string{"CRUSH_GLOBAL_CONFIG": "@HOME@/c", "CRUSH_GLOBAL_DATA": "@HOME@/d"}, files: map[string]string{"~/c/crush.json": crushMCP(a), "~/d/crush.json": crushMCP(`"b": {"type":"stdio","command":"$NOPE","args":["$(id)"]}`)},
			want: map[string]string{"a": "configured | user ~/c/crush.json:2", "b": "configured | user ~/d/crush.json:2 | referenced-file | unset-variable"}},
		{name: "scripts are not run", files: map[string]string{"~/.config/crush/crushrc": "touch x", "./.crushrc": "x"}, notes: []string{"not-evaluated", "not-evaluated"}},
		{name: "any broken file breaks everything", files: map[string]string{crushUser: crushMCP(a), "./crush.json": "{// c\n\"mcp\":{\"b\":{}}}"}, ran: "./crush.json:1",
			want: map[string]string{"a": "error file-refused ./crush.json:1 | user " + at + ":2", "b": "error file-refused ./crush.json:1 | project ./crush.json:2 | from-repository"}},
		{name: "a wrong type too", files: map[string]string{crushUser: crushMCP(a), "./.crush.json": crushMCP("\"b\": {\"type\":\"stdio\",\n\"args\":\"x\"}")}, ran: "./.crush.json:3",
			want: map[string]string{"a": "error file-refused ./.crush.json:3 | user " + at + ":2", "b": "error file-refused ./.crush.json:3 | project ./.crush.json:2 | from-repository"}},
		{name: "an empty file is none", files: map[string]string{crushUser: ""}},
		{name: "the wrong key", files: map[string]string{crushUser: `{"mcpServers":{"a":{}}}`}, notes: []string{"wrong-key"}},
	})
}

func TestCrushLaunch(t *testing.T) {
	t.Parallel()
	tr := layTree(t, map[string]string{crushUser: crushMCP(`"a": {"type":"stdio","command":"x","args":["$V","${N:-d}","$(id)","$NOPE"],"env":{"A":"1"},"timeout":7,"disabled_tools":["t"]}`),
		"./crush.json": crushMCP(`"a": {"args":["p"],"env":{"B":"2"},"enabled_tools":["u"]}`)}, map[string]string{"V": "v"})
	h := crushCLI()
	c := cellNamed(tr.column(h), "a")
	l := h.LaunchFor(tr.env, &c.Entry)
	if !slices.Equal(l.Args, []string{"v", "d", "$(id)", "", "p"}) || !slices.Equal(l.Unset, []string{crushCommand, "NOPE"}) || l.Limit.Seconds() != 7 || !slices.Equal(l.OwnEnv, []string{"A", "B"}) {
		t.Errorf("%q, unset %q, %v, %q", l.Args, l.Unset, l.Limit, l.OwnEnv)
	}
	if f := c.Filter; f == nil || !f.Limited || f.Deny[0] != "t" || f.Allow[0] != "u" || h.Launch.ToolName("a", "t") != "mcp_a_t" {
		t.Errorf("filter %v", f)
	}
}

func FuzzResolveCrush(f *testing.F) {
	f.Add(crushMCP(`"a": {"type":"stdio","command":"x","env":{"T":"@CANARY@"}}`), crushMCP(`"a": {"disabled":true,"args":["@CANARY@"]}, "": {"type":"http","url":"@CANARY@"}`))
	f.Add(crushMCP(`"a": 5`), `{"mcp":[]}`)
	f.Add(`{`, `{"mcp":{"a":{"type":"@CANARY@","command":"$(x)"},"a":null}}`)
	f.Fuzz(func(t *testing.T, user, project string) {
		tr := layTree(t, map[string]string{gitHead: "", crushUser: withCanary(user), "./crush.json": withCanary(project), "./.crush/crush.json": withCanary(user)}, map[string]string{"CANARY": canary})
		checkColumn(t, tr.column(crushCLI()))
	})
}

const clawFile = "~/.openclaw/openclaw.json"

func TestOpenClawResolve(t *testing.T) {
	t.Parallel()
	claw := func(entries string) string { return "{ // c\n mcp: { servers: {\n" + entries + "\n}}}" }
	runCases(t, openClaw(), []resolveCase{
		{name: "nothing"},
		{name: "entries", files: map[string]string{clawFile: claw(`a: {command: 'x', args: ['${NOPE}']},
off: {command: 'x', enabled: false},
r: {url: 'https://example.com', transport: 'streamable-http'},
s: {url: 'https://example.com'},
h: {url: 'https://example.com', type: 'http'},
n: 5, e: {}, w: {url: 'x', transport: 'ws'},
t: {command: 'x', args: 'y'}, b: {command: ' '}, both: {command: 'x', url: 'y'},`)},
			want: map[string]string{
				"a":    "configured | user ~/.openclaw/openclaw.json:3 | unset-variable",
				"off":  "disabled switched-off ~/.openclaw/openclaw.json:4 | user ~/.openclaw/openclaw.json:4",
				"r":    "configured | user ~/.openclaw/openclaw.json:5",
				"s":    "configured | user ~/.openclaw/openclaw.json:6 | url-without-type:6",
				"h":    "configured | user ~/.openclaw/openclaw.json:7",
				"n":    "error entry-invalid ~/.openclaw/openclaw.json:8 | user ~/.openclaw/openclaw.json:8",
				"e":    "error entry-invalid ~/.openclaw/openclaw.json:8 | user ~/.openclaw/openclaw.json:8",
				"w":    "error entry-invalid ~/.openclaw/openclaw.json:8 | user ~/.openclaw/openclaw.json:8",
				"t":    "error entry-invalid ~/.openclaw/openclaw.json:9 | user ~/.openclaw/openclaw.json:9",
				"b":    "error entry-invalid ~/.openclaw/openclaw.json:9 | user ~/.openclaw/openclaw.json:9",
				"both": "configured | user ~/.openclaw/openclaw.json:9 | conflicting-keys:9"}},
		{name: "disabled makes the file invalid", files: map[string]string{clawFile: claw("a: {command: 'x'},\nb: {command: 'x',\ndisabled: false}")}, ran: "~/.openclaw/openclaw.json:5",
			want: map[string]string{"a": "error file-refused ~/.openclaw/openclaw.json:5 | user ~/.openclaw/openclaw.json:3", "b": "error file-refused ~/.openclaw/openclaw.json:5 | user ~/.openclaw/openclaw.json:4"}},
		{name: "no JSON5", files: map[string]string{clawFile: "{mcp: {servers: {\na: {command: 'x'},\nb = 5"}, ran: "~/.openclaw/openclaw.json:3"},
		{name: "moved, and an include", vars: map[string]string{"OPENCLAW_STATE_DIR": "@HOME@/s"}, files: map[string]string{"~/s/openclaw.json": `{$include: 'x', mcp: {servers: {a: {command: 'x'}}}, mcpServers: {}}`}, notes: []string{"not-evaluated", "wrong-key"},
			want: map[string]string{"a": "configured | user ~/s/openclaw.json:1"}},
	})
}

func FuzzResolveOpenClaw(f *testing.F) { plainFuzz(f, openClaw(), clawFile) }
