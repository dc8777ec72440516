package loaders

import (
	"path/filepath"
	"slices"
	"testing"
)

const kiloUser = "~/.config/kilo/kilo.json"

func TestKiloResolve(t *testing.T) {
	t.Parallel()
	mcp := func(entries string) string { return "{ // c\n\"mcp\": {\n" + entries + "\n},}" }
	a := `"a": {"type":"local","command":["x","y"]}`
	runCases(t, kiloCode(), []resolveCase{
		{name: "nothing"},
		{name: "entries", files: map[string]string{kiloUser: mcp(a + `,
"r": {"type":"remote","url":"https://example.com"},
"off": {"type":"remote","url":"https://example.com","enabled":false},
"t": {"command":["x"]},
"c": {"type":"local","command":"x"},
"w": {"type":"ws","url":"x"},
"n": 5,
"e": {"type":"local","command":["x"],"env":{},"disabled":true}`)},
			want: map[string]string{
				"a":   "configured | user ~/.config/kilo/kilo.json:3",
				"r":   "configured | user ~/.config/kilo/kilo.json:4",
				"off": "disabled switched-off ~/.config/kilo/kilo.json:5 | user ~/.config/kilo/kilo.json:5",
				"t":   "error entry-invalid ~/.config/kilo/kilo.json:6 | user ~/.config/kilo/kilo.json:6",
				"c":   "error entry-invalid ~/.config/kilo/kilo.json:7 | user ~/.config/kilo/kilo.json:7",
				"w":   "error entry-invalid ~/.config/kilo/kilo.json:8 | user ~/.config/kilo/kilo.json:8",
				"n":   "error entry-invalid ~/.config/kilo/kilo.json:9 | user ~/.config/kilo/kilo.json:9",
				"e":   "configured | user ~/.config/kilo/kilo.json:10 | unknown-key:10 | key-without-effect:10"}},
		{name: "a folder switches a user's server off", files: map[string]string{kiloUser: mcp(a), "./kilo.jsonc": mcp(`"a": {"enabled":false}`)},
			want: map[string]string{"a": "disabled switched-off ./kilo.jsonc:3 | user ~/.config/kilo/kilo.json:3 | joins project ./kilo.jsonc:3 | from-repository"}},
		{name: "files are merged key by key", files: map[string]string{kiloUser: mcp(`"a": {"type":"local","command":["x"],"environment":{"A":"1"}},
"r": {"type":"remote","url":"https://example.com","headers":{"A":"1"}}`), "./kilo.json": mcp(`"a": {"environment":{"B":"2"}},
"r": {"url":"https://example.org"}`)},
			want: map[string]string{
				"a": "configured | user ~/.config/kilo/kilo.json:3 | joins project ./kilo.json:3 | from-repository",
				"r": "configured | project ./kilo.json:4 | joins user ~/.config/kilo/kilo.json:4 | from-repository"}},
		{name: "a mistake of one layer that another one mends", files: map[string]string{kiloUser: mcp(`"a": {"type":"local","command":"x"}, "b": 5`), "./kilo.json": mcp(`"a": {"command":["x"]}, "b": {"type":"remote","url":"https://example.com"}`)},
			want: map[string]string{
				"a": "configured | project ./kilo.json:3 | joins user ~/.config/kilo/kilo.json:3 | from-repository",
				"b": "configured | project ./kilo.json:3 | beats user ~/.config/kilo/kilo.json:3 | from-repository"}},
		{name: "a mistake of a higher layer", files: map[string]string{kiloUser: mcp(a), "./kilo.json": mcp(`"a": {"environment":{"A":1}}`)},
			want: map[string]string{"a": "error entry-invalid ./kilo.json:3 | user ~/.config/kilo/kilo.json:3 | beats project ./kilo.json:3 | from-repository"}},
		{name: "no object of servers", files: map[string]string{kiloUser: `{"mcp":[]}`}, notes: []string{"wrong-type"}},
		{name: "older files are the lowest", files: map[string]string{"~/.kilocode/mcp.json": mcpServers(`"a": {"command":"x"}`, `"s": {"type":"sse","url":"https://example.com"}`, `"off": {"command":"x","disabled":true}`, `"u": {"url":"https://example.com"}`), "./.kilo/kilo.json": mcp(a)},
			want: map[string]string{
				"a":   "configured | project ./.kilo/kilo.json:3 | beats user ~/.kilocode/mcp.json:3 | from-repository",
				"s":   "configured | user ~/.kilocode/mcp.json:4",
				"off": "disabled switched-off ~/.kilocode/mcp.json:5 | user ~/.kilocode/mcp.json:5",
				"u":   "error entry-invalid ~/.kilocode/mcp.json:6 | user ~/.kilocode/mcp.json:6"}},
		{name: "a broken file", files: map[string]string{kiloUser: mcp(a), "./kilo.json": "{\"mcp\":{\n\"b\":{\"type\":\"local\"},"},
			want: map[string]string{"a": "configured | user ~/.config/kilo/kilo.json:3", "b": "error file-refused ./kilo.json:2 | project ./kilo.json:2 | from-repository"}},
	})
}

// TestKiloLaunch: what a server is started with stands in several files.
func TestKiloLaunch(t *testing.T) {
	t.Parallel()
	tr := layTree(t, map[string]string{kiloUser: `{"mcp":{"a":{"type":"local","command":["x","1"],"environment":{"A":"1","C":"1"}}}}`, "./kilo.json": `{"mcp":{"a":{"environment":{"B":"2","A":"3"},"enabled":true}}}`,
		"~/.kilocode/mcp.json": mcpServers(`"a": {"command":"old","args":["o"],"env":{"D":"4"}}`)}, nil)
	h := kiloCode()
	c := cellNamed(tr.column(h), "a")
	l := h.LaunchFor(tr.env, &c.Entry)
	if l.Command != "x" || !slices.Equal(l.Args, []string{"1"}) || !slices.Equal(slices.Sorted(slices.Values(l.OwnEnv)), []string{"A", "B", "C", "D"}) || !slices.Contains(l.Env, "A=3") {
		t.Errorf("%s %q %q %q", l.Command, l.Args, l.OwnEnv, l.Env)
	}
	b := NewSwitchboard(tr.env, h)
	a := b.Ask(b.Cell("a"), WishOff)
	if a.Refused != "" || len(a.Options) != 1 || a.Options[0].Plan().Paths()[0] != filepath.Join(tr.project, "kilo.json") {
		t.Errorf("%+v", a)
	}
}

func FuzzResolveKilo(f *testing.F) {
	f.Add(`{"mcp":{"a":{"type":"local","command":["@CANARY@"]},"b":7,"c":{"enabled":false}}}`)
	plainFuzz(f, kiloCode(), kiloUser, "./kilo.json", "./.kilocode/mcp.json")
}

const continueFile = "~/.continue/config.yaml"

func TestContinueResolve(t *testing.T) {
	t.Parallel()
	list := "name: x\nmcpServers:\n  - name: a\n    command: x\n    args: [y]\n"
	runCases(t, continueExtension(), []resolveCase{
		{name: "a list", files: map[string]string{continueFile: list + `  - {name: u, url: "https://example.com", requestOptions: {headers: {A: b}}}
  - {name: s, type: sse, url: "https://example.com", disabled: true}
  - {name: w, type: ws, url: x}
  - {name: t, command: x, args: y}
  - {name: e}
  - {command: x}
  - uses: some/block
`}, want: map[string]string{
			"a": "configured | user ~/.continue/config.yaml:3",
			"u": "configured | user ~/.continue/config.yaml:6 | url-without-type:6",
			"s": "configured | user ~/.continue/config.yaml:7 | key-without-effect:7",
			"w": "error entry-invalid ~/.continue/config.yaml:8 | user ~/.continue/config.yaml:8",
			"t": "error entry-invalid ~/.continue/config.yaml:9 | user ~/.continue/config.yaml:9",
			"e": "error entry-invalid ~/.continue/config.yaml:10 | user ~/.continue/config.yaml:10"}, notes: []string{"entry-without-name"}},
		{name: "files of the folder", files: map[string]string{"./.continue/mcpServers/m.yaml": "mcpServers:\n  - name: m\n    command: x\n", "./.continue/mcpServers/one.json": `{"command":"x"}`, "./.continue/mcpServers/c.json": mcpServers(`"c": {"command":"x"}`, `"n": 5`), "~/.continue/mcpServers/c.json": mcpServers(`"c": {"command":"y"}`)},
			want: map[string]string{
				"m":   "configured | project ./.continue/mcpServers/m.yaml:2 | from-repository",
				"one": "configured | project ./.continue/mcpServers/one.json:1 | from-repository",
				"c":   "configured | project ./.continue/mcpServers/c.json:3 | from-repository",
				"n":   "error entry-invalid ./.continue/mcpServers/c.json:4 | project ./.continue/mcpServers/c.json:4 | from-repository"}},
		{name: "what is not read", files: map[string]string{continueFile: "mcpServers: {a: {}}\n", "~/.continue/config.json": "{}", "~/.continue/mcpServers/x.json": `{}`, "~/.continue/mcpServers/y.json": `{`, "~/.continue/mcpServers/z.yaml": "["},
			notes: []string{"wrong-type", "file-dropped", "file-dropped", "file-dropped"}},
		{name: "CONTINUE_GLOBAL_DIR", vars: map[string]string{"CONTINUE_GLOBAL_DIR": "@HOME@/c"}, files: map[string]string{"~/c/config.yaml": list}, want: map[string]string{"a": "configured | user ~/c/config.yaml:3"}},
	})
	tr := layTree(t, map[string]string{continueFile: list, "~/.continue/mcpServers/a.json": `{"mcpServers":{"a":{"command":"z"}}}`}, nil)
	if col := tr.column(continueExtension()); len(col.Cells) != 2 || len(col.Cells[0].Findings) != 1 || len(col.Cells[1].Findings) != 1 {
		t.Errorf("%d cells of one name", len(col.Cells))
	}
}

func FuzzResolveContinue(f *testing.F) {
	f.Add("mcpServers:\n  - name: a\n    command: x\n    env: {A: \"@CANARY@\"}\n  - {name: b, url: \"@CANARY@\", type: \"@CANARY@\"}\n", `{"command":"@CANARY@","args":5}`)
	f.Add("mcpServers: [*a, 5, {name: [x]}]", `{"mcpServers":{"a":[]}}`)
	f.Fuzz(func(t *testing.T, yaml, json string) {
		tr := layTree(t, map[string]string{continueFile: withCanary(yaml), "./.continue/mcpServers/m.yaml": withCanary(yaml), "./.continue/mcpServers/one.json": withCanary(json)}, map[string]string{"CANARY": canary})
		checkColumn(t, tr.column(continueExtension()))
	})
}
