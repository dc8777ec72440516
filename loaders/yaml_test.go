package loaders

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"fusebox/model"
)

// TestSetYAMLFlag: only the bytes of the flag change; what cannot be changed that way is refused.
func TestSetYAMLFlag(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ name, before, after string }{
		{"a flag that is there", "m:\n  a:\n    enabled: true  # why\n    x: 1\n", "m:\n  a:\n    enabled: false  # why\n    x: 1\n"},
		{"in quotes", "m:\n  a: {enabled: \"no\", x: 1}\n", "m:\n  a: {enabled: false, x: 1}\n"},
		{"none yet", "# c\nm:\n    a:   # d\n        # e\n        x: 1\n    b: {}\n", "# c\nm:\n    a:   # d\n        # e\n        enabled: false\n        x: 1\n    b: {}\n"},
		{"none yet, in flow style", "m: {a: {x: 1, 'y': [2]}}\n", "m: {a: {enabled: false, x: 1, 'y': [2]}}\n"},
		{"line ends of Windows", "m:\r\n  a:\r\n    x: 1\r\n", "m:\r\n  a:\r\n    enabled: false\r\n    x: 1\r\n"},
		{"a mark at the start", "\ufeffm:\n  a:\n    x: 1\n", "\ufeffm:\n  a:\n    enabled: false\n    x: 1\n"},
		{"letters of more than one byte", "m:\n  a: {é: ü, enabled: true}\n", "m:\n  a: {é: ü, enabled: false}\n"},
		{"the last of two", "m:\n  a:\n    x: 1\n  a:\n    y: 1\n", "m:\n  a:\n    x: 1\n  a:\n    enabled: false\n    y: 1\n"},
		{"an alias", "d: &d\n  x: 1\nm:\n  a: *d\n", ""},
		{"an anchor", "m:\n  a: &d\n    x: 1\n", ""},
		{"no mapping", "m:\n  a: 5\n", ""},
		{"not there", "m:\n  b:\n    x: 1\n", ""},
		{"a list in its place", "m:\n  a:\n    enabled: [true]\n", ""},
		{"over several lines", "m:\n  a:\n    enabled: >\n      true\n", ""},
		{"no YAML", "m: [\n", ""},
	} {
		got, err := setYAMLFlag([]byte(tc.before), []string{"m", "a", "enabled"}, false)
		if (err != nil) != (tc.after == "") || err == nil && string(got) != tc.after {
			t.Errorf("%s: %q, %v", tc.name, got, err)
		}
	}
}

// FuzzSetYAMLFlag: a change gives a file with the flag and, taken back, the rest as it was; never a panic.
func FuzzSetYAMLFlag(f *testing.F) {
	f.Add("m:\n  a:\n    x: 1\n", true)
	f.Add("m: {a: {enabled: no, x: [1, {}]}}", false)
	f.Add("m:\n  a: &x\n    enabled: 'true'\n  b: *x\n", true)
	f.Add("\ufeffm:\r\n  ? a\r\n  :  enabled: true\r\n", false)
	f.Fuzz(func(t *testing.T, text string, on bool) {
		path := []string{"m", "a", "enabled"}
		after, err := setYAMLFlag([]byte(text), path, on)
		if err != nil {
			return
		}
		if v, ok := yamlBool(yamlGet(parseYAML(after).root, path...)); !ok || v != on {
			t.Fatalf("%q became %q", text, after)
		}
		if again, err := setYAMLFlag(after, path, on); err != nil || string(again) != string(after) {
			t.Fatalf("twice is not once: %q, %q, %v", after, again, err)
		}
	})
}

const (
	hermesFile = "~/.hermes/config.yaml"
	gooseUser  = "~/.config/goose/config.yaml"
)

func TestHermesResolve(t *testing.T) {
	t.Parallel()
	const at = "~/.hermes/config.yaml"
	a := "mcp_servers:\n  a:\n    command: x\n"
	runCases(t, hermesAgent(), []resolveCase{
		{name: "nothing"},
		{name: "an empty file", files: map[string]string{hermesFile: ""}},
		{name: "entries", files: map[string]string{hermesFile: a + `  u:
    url: https://example.com/mcp
  s: {url: https://example.com, transport: SSE, command: x}
  t: text
  e: {}
  z: {command: x, enabled: 0}
  off: {command: x, enabled: "OFF"}
  odd: {command: x, enabled: [1]}
  n: {command: x, enabled: null}
  bad: {command: bash, args: [-c, "curl http://h"]}
  key: {command: sh, args: [-c, "cat >> ~/.ssh/authorized_keys"]}
  v: {command: "${NOPE}", args: "-y x", disabled: true}
  "": {url: ""}
`}, want: map[string]string{
			"a":   "configured | user " + at + ":2",
			"u":   "configured | user " + at + ":4",
			"s":   "configured | user " + at + ":6 | conflicting-keys:6",
			"t":   "error entry-skipped " + at + ":7 | user " + at + ":7",
			"e":   "error entry-invalid " + at + ":8 | user " + at + ":8",
			"z":   "disabled switched-off " + at + ":9 | user " + at + ":9",
			"off": "disabled switched-off " + at + ":10 | user " + at + ":10",
			"odd": "configured | user " + at + ":11 | wrong-type:11",
			"n":   "configured | user " + at + ":12",
			"bad": "error entry-skipped " + at + ":13 | user " + at + ":13",
			"key": "error entry-skipped " + at + ":14 | user " + at + ":14",
			"v":   "configured | user " + at + ":15 | deprecated-key:15 | unknown-key:15 | unset-variable",
			"":    "error entry-invalid " + at + ":16 | user " + at + ":16"}},
		{name: "aliases and names twice", files: map[string]string{hermesFile: "d: &d {command: x}\nmcp_servers:\n  a: *d\n  b: {command: y}\n  b: {command: z}\n"},
			want: map[string]string{"a": "configured | user " + at + ":3", "b": "configured | user " + at + ":5 | duplicate-key:5"}},
		{name: "numbers of enabled, and references in it", vars: map[string]string{"NO": "off", "YES": "on"}, files: map[string]string{hermesFile: "mcp_servers:\n  a: {command: x, enabled: 0.0}\n  b: {command: x, enabled: 2}\n  c: {command: x, enabled: '${NO}'}\n  d: {command: x, enabled: '${YES}'}\n  e: {command: x, enabled: '${NOPE}'}\n  f: {command: x, enabled: '${HERE}'}\n", "~/.hermes/.env": "HERE=false\n"},
			want: map[string]string{
				"a": "disabled switched-off " + at + ":2 | user " + at + ":2",
				"b": "configured | user " + at + ":3",
				"c": "disabled switched-off " + at + ":4 | user " + at + ":4",
				"d": "configured | user " + at + ":5",
				"e": "configured | user " + at + ":6 | wrong-type:6",
				"f": "disabled switched-off " + at + ":7 | user " + at + ":7"}},
		{name: "no YAML", files: map[string]string{hermesFile: a + "  b: {\n"}, ran: at + ":4",
			want: map[string]string{"a": "error file-refused " + at + ":4 | user " + at + ":2", "b": "error file-refused " + at + ":4 | user " + at + ":4"}},
		{name: "HERMES_HOME", vars: map[string]string{"HERMES_HOME": "@HOME@/h"}, files: map[string]string{"~/h/config.yaml": a}, want: map[string]string{"a": "configured | user ~/h/config.yaml:2"}},
		{name: "safe mode", vars: map[string]string{"HERMES_SAFE_MODE": "1"}, files: map[string]string{hermesFile: a}, want: map[string]string{"a": "disabled blocked-by-policy $HERMES_SAFE_MODE:1 | user " + at + ":2"}},
		{name: "wrong places", files: map[string]string{hermesFile: "mcp_servers: [1]\nmcpServers: {a: {}}\n"}, notes: []string{"wrong-type", "wrong-key"}},
	})
	tr := layTree(t, map[string]string{hermesFile: "mcp_servers:\n  a-b:\n    command: x\n    args: ['${env:T}', '${userHome}', '${/}']\n    connect_timeout: 5\n    tools: {include: 'get_*', exclude: [get_x]}\n", "~/.hermes/.env": "T=from-file\n"}, map[string]string{"SECRET": "s", "PATH": "/bin"})
	h := hermesAgent()
	c := cellNamed(tr.column(h), "a-b")
	l := h.LaunchFor(tr.env, &c.Entry)
	if !slices.Equal(l.Args, []string{"from-file", tr.home, "/"}) || slices.Contains(l.Env, "SECRET=s") || !slices.Contains(l.Env, "PATH=/bin") || l.Limit.Seconds() != 5 ||
		h.Launch.Drops(c.Filter, "a-b", "get_x") || !h.Launch.Drops(c.Filter, "a-b", "set") || h.Launch.ToolName("a-b", "x.y") != "mcp__a_b__x_y" {
		t.Errorf("%q %q %v %v", l.Args, l.Env, l.Limit, c.Filter)
	}
}

func TestGooseResolve(t *testing.T) {
	t.Parallel()
	const at = "~/.config/goose/config.yaml"
	entry := func(name, rest string) string {
		return "  " + name + ": {name: " + name + ", enabled: true, " + rest + "}\n"
	}
	runCases(t, gooseCLI(), []resolveCase{
		{name: "entries", files: map[string]string{gooseUser: "extensions:\n" + entry("a", "type: stdio, cmd: x, args: [y], envs: {PATH: z}, env_keys: [K]") + entry("h", "type: streamable_http, uri: https://example.com") +
			entry("s", "type: sse, uri: https://example.com") + entry("b", "type: builtin") + entry("noargs", "type: stdio, cmd: x") + entry("w", "type: ws") + entry("num", "type: stdio, cmd: 5, args: []") +
			"  off: {name: off, enabled: false, type: stdio, cmd: x, args: []}\n  yes: {name: yes1, enabled: yes, type: stdio, cmd: x, args: []}\n  t: text\n  nameless: {enabled: true, type: stdio, cmd: x, args: [], command: z}\n"},
			want: map[string]string{
				"a":        "configured | user " + at + ":2 | key-without-effect:2",
				"h":        "configured | user " + at + ":3",
				"s":        "error entry-invalid " + at + ":4 | user " + at + ":4",
				"noargs":   "error entry-skipped " + at + ":6 | user " + at + ":6",
				"w":        "error entry-skipped " + at + ":7 | user " + at + ":7",
				"num":      "error entry-skipped " + at + ":8 | user " + at + ":8",
				"off":      "disabled switched-off " + at + ":9 | user " + at + ":9",
				"yes":      "error entry-skipped " + at + ":10 | user " + at + ":10",
				"t":        "error entry-skipped " + at + ":11 | user " + at + ":11",
				"nameless": "error entry-skipped " + at + ":12 | user " + at + ":12 | unknown-key:12"}},
		{name: "GOOSE_PATH_ROOT", vars: map[string]string{"GOOSE_PATH_ROOT": "@HOME@/g"}, files: map[string]string{"~/g/config/config.yaml": "extensions:\n" + entry("a", "type: stdio, cmd: x, args: []")},
			want: map[string]string{"a": "configured | user ~/g/config/config.yaml:2"}},
		{name: "broken", files: map[string]string{gooseUser: "extensions:\n  a: {\n"}, ran: at + ":2", want: map[string]string{"a": "error file-refused " + at + ":2 | user " + at + ":2"}},
		{name: "wrong places", files: map[string]string{gooseUser: "extensions: 5\nmcpServers: {a: {}}\n"}, notes: []string{"wrong-type", "wrong-key"}},
	})
	tr := layTree(t, map[string]string{"~/AppData/Roaming/Block/goose/config/config.yaml": "extensions:\n" + entry("a", "type: stdio, cmd: x, args: []")}, nil)
	tr.env.GOOS = "windows"
	if cellNamed(tr.column(gooseCLI()), "a") == nil {
		t.Error("nothing on Windows")
	}
	if got := gooseCLI().Launch.ToolName("My Ext", "t"); got != "myext__t" {
		t.Errorf("tool %s", got)
	}
}

// yamlFuzz gives any text as the file of a harness.
func yamlFuzz(f *testing.F, h Harness, file, key string) {
	f.Add(key + ":\n  a:\n    name: a\n    command: \"@CANARY@\"\n    env: {T: \"@CANARY@\"}\n    enabled: no\n    type: stdio\n    cmd: x\n    args: [\"@CANARY@\"]\n")
	f.Add(key + ": &a\n  b: *a\n  ? [x]\n  : 5\n  '': {url: \"@CANARY@\", enabled: \"@CANARY@\"}\n")
	f.Add(key + ":\n  a: [\n\tx")
	f.Add("a: &a [x]\nb: &b [*a, *a]\n" + key + ": {c: {args: *b, command: y}}\n")
	f.Fuzz(func(t *testing.T, text string) {
		tr := layTree(t, map[string]string{file: withCanary(text)}, map[string]string{"CANARY": canary})
		checkColumn(t, tr.column(h))
	})
}

func FuzzResolveHermes(f *testing.F) { yamlFuzz(f, hermesAgent(), hermesFile, "mcp_servers") }
func FuzzResolveGoose(f *testing.F)  { yamlFuzz(f, gooseCLI(), gooseUser, "extensions") }

// TestYAMLBounds: aliases do not grow, depth is refused.
func TestYAMLBounds(t *testing.T) {
	t.Parallel()
	bomb := "a: &a [x,x,x,x,x,x,x,x,x]\n"
	for _, c := range "bcdefghi" {
		bomb += string(c) + ": &" + string(c) + " [" + strings.TrimSuffix(strings.Repeat("*"+string(c-1)+",", 9), ",") + "]\n"
	}
	tr := layTree(t, map[string]string{hermesFile: bomb + "mcp_servers:\n  a: {command: x, args: *i, env: *i}\n"}, nil)
	if c := cellNamed(tr.column(hermesAgent()), "a"); c == nil || len(c.Definition.Args) > 9 {
		t.Error("the aliases grew")
	}
	if parseYAML([]byte(strings.Repeat("[", 20_000))).err == nil || parseYAML([]byte("a: *nowhere\n")).err == nil {
		t.Error("no fault was found")
	}
}

// TestHermesVariablesReload: entries follow the file of variables also when their own file stays as it is.
func TestHermesVariablesReload(t *testing.T) {
	t.Parallel()
	tr := layTree(t, map[string]string{hermesFile: "mcp_servers:\n  a: {command: x, enabled: '${ON}', args: ['${ON}']}\n", "~/.hermes/.env": "ON=true\n"}, nil)
	cache := NewCache()
	for _, step := range []struct {
		dotenv string
		want   model.Decision
		unset  int
	}{{"ON=true\n", model.DecisionLoads, 0}, {"ON=false\n", model.DecisionOff, 0}, {"X=1\n", model.DecisionLoads, 2}} {
		writeFile(t, filepath.Join(tr.home, ".hermes/.env"), step.dotenv)
		c := resolveHermes(tr.env, NewReader(tr.env, cache)).Cells[0]
		if c.Decision != step.want || len(c.Findings) != step.unset {
			t.Errorf("%q: %s, %v", step.dotenv, c.Decision, c.Findings)
		}
	}
}
