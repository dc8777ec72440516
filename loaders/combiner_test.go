package loaders

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"fusebox/model"
)

const (
	combinerUser = "~/.config/mcp-combiner/servers.json"
	combinerFull = "./.mcp-companion.json"
)

func TestCombinerResolve(t *testing.T) {
	t.Parallel()
	a, b := `"a": {"command":"x"}`, `"b": {"url":"https://example.com/mcp"}`
	both := mcpServers(a, b)
	at := func(line int) string { return fmt.Sprintf("%s:%d", combinerUser, line) }
	loads := func(line int, more ...string) string {
		return strings.Join(append([]string{"configured | user " + at(line)}, more...), " | ")
	}
	all := map[string]string{"a": loads(3), "b": loads(4)}
	runCases(t, combiner(), []resolveCase{
		{name: "nothing"},
		{name: "a file", files: map[string]string{combinerUser: both}, want: all},
		{name: "no servers at all is fine", files: map[string]string{combinerUser: "{}"}},
		{name: "not a number of JSON", files: map[string]string{combinerUser: "{\"oauth\":{\"x\":NaN},\n\"mcpServers\":{\n" + a + "}}"}, want: map[string]string{"a": loads(3)}},

		{name: "the secrets folder comes first", vars: map[string]string{"USER": "ann"}, files: map[string]string{"~/.cache/secrets/ann.mcpservers.json": mcpServers(a), combinerUser: mcpServers(b)},
			want: map[string]string{"a": "configured | user ~/.cache/secrets/ann.mcpservers.json:3"}},
		{name: "without a user name too", files: map[string]string{"~/.cache/secrets/.mcpservers.json": mcpServers(a), combinerUser: mcpServers(b)},
			want: map[string]string{"a": "configured | user ~/.cache/secrets/.mcpservers.json:3"}},
		{name: "the last of the usual files", files: map[string]string{combinerUser + "/": "", "~/.config/mcp/servers.json": mcpServers(a)},
			want: map[string]string{"a": "configured | user ~/.config/mcp/servers.json:3"}},
		{name: "a variable", vars: map[string]string{"MCP_COMBINER_CONFIG": "@HOME@/c.json", "CLAUDE_MCP_COMBINER_CONFIG": "@HOME@/d.json"}, files: map[string]string{"~/c.json": mcpServers(a), "~/d.json": mcpServers(b), combinerUser: mcpServers(b)},
			want: map[string]string{"a": "configured | custom ~/c.json:3"}},
		{name: "the second variable, an empty one is none", vars: map[string]string{"MCP_COMBINER_CONFIG": "", "CLAUDE_MCP_COMBINER_CONFIG": "@HOME@/d.json"}, files: map[string]string{"~/d.json": mcpServers(a)},
			want: map[string]string{"a": "configured | custom ~/d.json:3"}},
		{name: "a variable that names a file of the folder", vars: map[string]string{"MCP_COMBINER_CONFIG": "c.json"}, files: map[string]string{"./c.json": mcpServers(a)},
			want: map[string]string{"a": "configured | custom ./c.json:3 | from-repository"}},
		{name: "a variable never falls through", vars: map[string]string{"MCP_COMBINER_CONFIG": "@HOME@/gone.json"}, files: map[string]string{combinerUser: mcpServers(a)}, ran: "$MCP_COMBINER_CONFIG:1"},
		{name: "and knows no ~", vars: map[string]string{"MCP_COMBINER_CONFIG": "~/c.json"}, files: map[string]string{"~/c.json": mcpServers(a)}, ran: "$MCP_COMBINER_CONFIG:1"},
		{name: "XDG_CONFIG_HOME does not count", vars: map[string]string{"XDG_CONFIG_HOME": "@HOME@/xdg"}, files: map[string]string{"~/xdg/mcp-combiner/servers.json": mcpServers(a)}, notes: []string{"file-not-read"}},
		{name: "what Neovim looks for does not count", files: map[string]string{combinerUser: mcpServers(a), "./.mcphub/servers.json": "{}", "~/.config/nvim/mcphub/servers.json": "{}", "~/.local/share/nvim/mcp-companion/servers.json": "{}"},
			want: map[string]string{"a": loads(3)}, notes: []string{"file-not-read", "file-not-read", "file-not-read"}},

		{name: "servers beats mcpServers", files: map[string]string{combinerUser: `{"mcpServers":{` + a + `},"servers":{` + b + `}}`},
			want: map[string]string{"b": loads(1)}, notes: []string{"wrong-key"}},
		{name: "other wrappers", files: map[string]string{combinerUser: `{"mcp_servers":{` + a + `}}`}, notes: []string{"wrong-key"}},
		{name: "of equal names the last counts", files: map[string]string{combinerUser: mcpServers(`"a": {"command":7}`, a)}, want: map[string]string{"a": loads(4, "duplicate-key:4")}},

		{name: "a comment", files: map[string]string{combinerUser: "{\n// c\n\"mcpServers\":{" + a + "}}"}, ran: at(2),
			want: map[string]string{"a": "error file-refused " + at(2) + " | user " + at(3)}},
		{name: "a byte order mark", files: map[string]string{combinerUser: "\ufeff" + mcpServers(a)}, ran: at(1),
			want: map[string]string{"a": "error file-refused " + at(1) + " | user " + at(3)}},
		{name: "bytes that are no UTF-8", files: map[string]string{combinerUser: "{\"x\":\"\xff\"}"}, ran: at(1)},
		{name: "a list", files: map[string]string{combinerUser: "[]"}, ran: at(1)},
		{name: "servers is null", files: map[string]string{combinerUser: "{\n\"servers\":null}"}, ran: at(2)},
		{name: "keys and variables of a process", files: map[string]string{combinerUser: `{"sharedServers":{"p":{"command":"${NOPE}","args":["${SET}","${D:-d}"],"isolate":true,"url":"u","grace_period":"1m"}}}`}, vars: map[string]string{"SET": "s"},
			notes: []string{"shared-process", "unknown-key", "unset-variable"}},
		{name: "a process that is not defined", files: map[string]string{combinerUser: mcpServers(a, `"s": {"url":"http://h","sharedServer":"nope"}`)}, ran: at(4),
			want: map[string]string{
				"a": "error file-refused " + at(4) + " | user " + at(3),
				"s": "error entry-invalid " + at(4) + " | user " + at(4) + " | partial-entry:4"}},
		{name: "while its server is off", files: map[string]string{combinerUser: mcpServers(a, `"s": {"url":"http://h","sharedServer":"nope","disabled":1}`)},
			want: map[string]string{"a": loads(3), "s": "disabled switched-off " + at(4) + " | user " + at(4) + " | partial-entry:4"}},

		{name: "an allow list", files: map[string]string{combinerUser: both, combinerFull: "{\n\"allowed_servers\":[\"b\"]}"}, notes: []string{"neovim-only"},
			want: map[string]string{"a": "disabled blocked-by-list ./.mcp-companion.json:2 | user " + at(3), "b": loads(4)}},
		{name: "a deny list, from above, with a stranger", start: "s", files: map[string]string{combinerUser: both, "./s/x": "", combinerFull: "{\"disabled_servers\":[\n\"zzz\",\n\"a\"]}"}, notes: []string{"neovim-only", "unknown-name"},
			want: map[string]string{"a": "disabled blocked-by-list ./.mcp-companion.json:3 | user " + at(3), "b": loads(4)}},
		{name: "switched off beats the list", files: map[string]string{combinerUser: mcpServers(`"a": {"command":"x","disabled":"Yes"}`), combinerFull: `{"disabled_servers":["a"]}`}, notes: []string{"neovim-only"},
			want: map[string]string{"a": "disabled switched-off " + at(3) + " | user " + at(3)}},
		{name: "the list beats what cannot be built", files: map[string]string{combinerUser: mcpServers(`"a": {}`), combinerFull: `{"allowed_servers":[]}`}, notes: []string{"neovim-only"},
			want: map[string]string{"a": "disabled blocked-by-list ./.mcp-companion.json:1 | user " + at(3)}},
		{name: "a list that is an object is empty", files: map[string]string{combinerUser: both, combinerFull: `{"allowed_servers":{"a":1}}`}, notes: []string{"neovim-only", "wrong-type"},
			want: map[string]string{"a": "disabled blocked-by-list ./.mcp-companion.json:1 | user " + at(3), "b": "disabled blocked-by-list ./.mcp-companion.json:1 | user " + at(4)}},
		{name: "a list at the top is a file without lists", files: map[string]string{combinerUser: both, combinerFull: `[]`}, want: all},
		{name: "adapters", files: map[string]string{combinerUser: both, combinerFull: `{"adapters":{"one":{"allowed_servers":["a"]},"two":{"disabled_servers":["a"]},"three":{},"four":{"allowed_servers":[]},"five":[]}}`},
			want: all, notes: []string{"adapter-list", "adapter-list", "adapter-list", "adapter-list", "adapter-list"}},
		{name: "the nearest file hides the outer one, broken or not", start: "s", files: map[string]string{combinerUser: both, combinerFull: `{"allowed_servers":[]}`, "./s/.mcp-companion.json": "oops"}, want: all, notes: []string{"lists-not-read"}},
		{name: "but a folder of its name does not", start: "s", files: map[string]string{combinerUser: mcpServers(a), combinerFull: `{"allowed_servers":[]}`, "./s/.mcp-companion.json/": ""}, notes: []string{"neovim-only"},
			want: map[string]string{"a": "disabled blocked-by-list ./.mcp-companion.json:1 | user " + at(3)}},
	})
}

// TestCombinerRefusals: one bad value anywhere takes the whole file down, and these do not.
func TestCombinerRefusals(t *testing.T) {
	t.Parallel()
	refused := func(text string) string {
		t.Helper()
		tr := layTree(t, map[string]string{combinerUser: text}, nil)
		col := tr.column(combiner())
		if col.Broken == nil {
			return ""
		}
		if len(col.Cells) != 0 && cellNamed(col, "good") != nil && cellNamed(col, "good").Reason.Code != model.ReasonFileRefused {
			t.Errorf("%s: the good entry is %s", text, tr.describe(cellNamed(col, "good")))
		}
		return col.Broken.Text
	}
	entry := func(body string) string {
		return `{"mcpServers":{"good":{"command":"x"},"e":` + body + `},"sharedServers":{"p":{"command":"x"},"":{"command":"x"}}}`
	}
	for _, body := range []string{`[]`, `null`, `"x"`, `{"command":5}`, `{"args":null}`, `{"args":"x"}`, `{"args":[1]}`, `{"env":["A"]}`, `{"env":"x"}`, `{"url":5}`,
		`{"transport":"HTTP"}`, `{"transport":"ws"}`, `{"transport":5}`, `{"transport":""}`, `{"headers":null}`, `{"headers":{"A":1}}`, `{"disabled":null}`, `{"disabled":"maybe"}`, `{"disabled":2}`,
		`{"autoApprove":5}`, `{"autoApprove":[1]}`, `{"auth":[]}`, `{"auth":true}`, `{"sharedServer":{"a":1}}`, `{"shared_server":0}`, `{"toolFilter":"x"}`, `{"toolFilter":{"a":1}}`, `{"tool_filter":[1]}`,
		`{"permissions":["x"]}`, `{"permissions":{"default":"ask"}}`, `{"permissions":{"elicit_unavailable":"no"}}`, `{"permissions":{"deny":5}}`, `{"permissions":{"allow":[1]}}`} {
		if refused(entry(body)) == "" {
			t.Errorf("%s is taken", body)
		}
	}
	for _, body := range []string{`{}`, `{"command":null}`, `{"env":null}`, `{"env":[]}`, `{"env":{"A":null,"B":[1]}}`, `{"transport":null}`, `{"disabled":"Off"}`, `{"disabled":1.0}`, `{"disabled":false}`,
		`{"autoApprove":null}`, `{"autoApprove":"echo"}`, `{"autoApprove":{"a":1}}`, `{"auth":"bearer"}`, `{"auth":{}}`, `{"sharedServer":""}`, `{"sharedServer":"p"}`, `{"shared_server":""}`, `{"sharedServer":{},"shared_server":"p"}`,
		`{"toolFilter":[]}`, `{"toolFilter":"","tool_filter":["x"]}`, `{"permissions":null}`, `{"permissions":[]}`, `{"permissions":{"deny":"x_*","allow":{"a":1},"elicit":0,"other":1}}`, `{"isolate":"yes"}`,
		`{"permissions":{"elicitUnavailable":"allow","elicit_unavailable":"no"}}`, `{"type":"sse","url":"x"}`} {
		if why := refused(entry(body)); why != "" {
			t.Errorf("%s: %s", body, why)
		}
	}
	for _, text := range []string{`{"sharedServers":null}`, `{"sharedServers":{"p":5}}`, `{"sharedServers":{"p":{}}}`, `{"sharedServers":{"p":{"command":"x","args":null}}}`, `{"sharedServers":{"p":{"command":"x","grace_period":5}}}`,
		`{"sharedServers":{"p":{"command":"x","health_timeout":"soon"}}}`, `{"sharedServers":{"p":{"command":"x","healthTimeout":null}}}`, `{"oauth":"x"}`, `{"oauth":{"token_dir":5}}`, `{"isolation":5}`,
		`{"isolation":{"grace_seconds":null}}`, `{"permissions":"x"}`, `{"permissions":{"default":1}}`, `{"mcpServers":[]}`, `7`, ``} {
		if refused(text) == "" {
			t.Errorf("%s is taken", text)
		}
	}
	for _, text := range []string{`{"sharedServers":{"p":{"command":"x","env":null,"gracePeriod":"1m","healthTimeout":"7"}}}`, `{"oauth":null}`, `{"oauth":{"tokenDir":"~/x","cache_tokens":5}}`, `{"isolation":{"grace_seconds":"5"}}`,
		`{"isolation":[]}`, `{"permissions":null}`, `{"unknown":[]}`} {
		if why := refused(text); why != "" {
			t.Errorf("%s: %s", text, why)
		}
	}
}

// TestCombinerEntries: entries that load and cannot be built, and what is said of those that can.
func TestCombinerEntries(t *testing.T) {
	t.Parallel()
	const c, u = `"command":"x"`, `"url":"https://h/mcp"`
	bad := []string{`{}`, `{"command":""}`, `{"url":null}`, `{"url":""}`, `{"transport":"http",` + c + `}`, `{"transport":"stdio",` + u + `}`, `{"url":null,` + c + `}`,
		`{` + u + `,"auth":"bearer"}`, `{` + u + `,"auth":""}`, `{` + u + `,"auth":{}}`, `{` + u + `,"auth":{"bearer":5}}`, `{` + u + `,"auth":{"oauth":"x"}}`, `{` + c + `,"auth":"oauth"}`, `{` + c + `,"auth":{"oauth":{}}}`}
	good := map[string]string{
		`{` + c + `}`: "stdio", `{` + u + `}`: "http", `{"transport":"sse",` + u + `}`: "sse", `{` + u + `,` + c + `}`: "http conflicting-keys", `{"type":"sse",` + u + `}`: "http key-without-effect",
		`{` + u + `,"auth":"oauth"}`: "http", `{` + u + `,"auth":null}`: "http", `{` + u + `,"auth":{"oauth":{"client_id":"${A}"}}}`: "http key-without-effect", `{` + u + `,"auth":{"bearer":"t","oauth":5}}`: "http conflicting-keys",
		`{` + u + `,"auth":{"bearer":"${T}"}}`: "http key-without-effect", `{` + c + `,"auth":{"bearer":"t"}}`: "stdio key-without-effect", `{` + c + `,"isolate":"yes"}`: "stdio key-without-effect", `{` + c + `,"cwd":"/","enabled":false}`: "stdio key-without-effect key-without-effect",
		`{` + c + `,"x":1,"y":2}`: "stdio unknown-key", `{` + c + `,"args":["${NOPE}","${env:NOPE2}","${NOPE3:-d}","${}","$NOPE4"]}`: "stdio unset-variable unset-variable",
		`{` + c + `,"autoApprove":"echo"}`: "stdio wrong-type", `{` + c + `,"permissions":{"deny":"*","odd":1}}`: "stdio wrong-type unknown-key calls-gated", `{` + c + `,"permissions":{"default":"elicit","allow":["a"]},"autoApprove":true}`: "stdio calls-gated",
		`{` + c + `,"permissions":{"allow":["a"]}}`: "stdio", `{` + u + `,"sharedServer":"p"}`: "http shared-process",
	}
	var entries, texts []string
	for text := range good {
		texts = append(texts, text)
	}
	texts = append(texts, bad...)
	for i, text := range texts {
		entries = append(entries, fmt.Sprintf("\"n%d\": %s", i, text))
	}
	tr := layTree(t, map[string]string{combinerUser: `{"sharedServers":{"p":{"command":"x"},"q":{"command":"x"}},"mcpServers":{` + strings.Join(entries, ",\n") + `}}`}, nil)
	col := tr.column(combiner())
	if col.Broken != nil {
		t.Fatal(col.Broken.Text)
	}
	for i, text := range texts {
		cell := cellNamed(col, fmt.Sprint("n", i))
		want, loads := good[text]
		if !loads {
			if cell.Decision != model.DecisionCannot || cell.Reason.Code != model.ReasonEntryInvalid {
				t.Errorf("%s is %s", text, tr.describe(cell))
			}
			continue
		}
		got := string(cell.Definition.Transport)
		for _, f := range cell.Findings {
			got += " " + string(f.Code)
		}
		if got != want || cell.Decision != model.DecisionLoads {
			t.Errorf("%s: %s %q, want %q", text, cell.Decision, got, want)
		}
	}
}

func TestCombinerAdapterNotes(t *testing.T) {
	t.Parallel()
	tr := layTree(t, map[string]string{combinerUser: mcpServers(`"a": {"command":"x"}`), combinerFull: `{"adapters":{"one":{"allowed_servers":["a","b c"]},"two":{"disabled_servers":["a"]},"three":{},"four":{"allowed_servers":[]},"five":{"disabled_servers":[]}}}`}, nil)
	var got []string
	for _, n := range tr.column(combiner()).Notes {
		got = append(got, n.Text)
	}
	want := []string{`sessions of one see only a, "b c"`, "sessions of two see every server but a", "sessions of three see every server, whatever the lists at the top say",
		"sessions of four see no server", "sessions of five see every server, whatever the lists at the top say"}
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

// TestCombinerProjectRefusals: what makes the plugin take a .mcp-companion.json for none, and what does not.
func TestCombinerProjectRefusals(t *testing.T) {
	t.Parallel()
	usable := func(text string) bool {
		tr := layTree(t, map[string]string{combinerUser: mcpServers(`"a": {"command":"x"}`), combinerFull: text}, nil)
		col := tr.column(combiner())
		if cellNamed(col, "a").Decision == model.DecisionCannot || col.Broken != nil {
			t.Errorf("%s: it breaks the column", text)
		}
		i := slices.IndexFunc(col.Files, func(f model.File) bool { return strings.HasSuffix(f.Path, combinerFileName) })
		return col.Files[i].Status == model.FileRead
	}
	for _, text := range []string{``, ` `, `oops`, `{"a":1,}`, "{}// c", `7`, `"x"`, `null`, `{"allowed_servers":[],"disabled_servers":[]}`, `{"allowed_servers":null}`, `{"allowed_servers":null,"disabled_servers":[]}`, `{"allowed_servers":"a"}`,
		`{"disabled_servers":[1]}`, `{"disabled_servers":[""]}`, `{"disabled_servers":[null]}`, `{"tool_system_prompts":null}`, `{"tool_system_prompts":1}`, `{"auto_approve":[]}`, `{"auto_approve":null}`, `{"auto_approve":{"a":"yes"}}`, `{"auto_approve":{"a":[1]}}`,
		`{"auto_approve":{"":true}}`, `{"adapters":null}`, `{"adapters":[{}]}`, `{"adapters":{"":{}}}`, `{"adapters":{"x":null}}`, `{"adapters":{"x":{"allowed_servers":[],"disabled_servers":[]}}}`, `{"adapters":{"x":{"disabled_servers":5}}}`} {
		if usable(text) {
			t.Errorf("%q counts", text)
		}
	}
	for _, text := range []string{`{}`, `[]`, `[1]`, `{"allowed_servers":[]}`, `{"disabled_servers":{"a":1}}`, `{"tool_system_prompts":false,"auto_approve":{"a":true,"b":["x"],"c":{}},"odd":null}`, `{"adapters":{}}`, `{"adapters":[]}`, `{"adapters":{"x":["y"]}}`, "{\"odd\":\"\xff\"}"} {
		if !usable(text) {
			t.Errorf("%q does not count", text)
		}
	}
}

func TestCombinerLaunch(t *testing.T) {
	t.Parallel()
	tr := layTree(t, map[string]string{combinerUser: mcpServers(
		`"a": {"command":"${BIN:-npx}","args":["${A}","${env:A}","${U:-x:-y}","[${E:-d}]","[${U}]","$A","${U:-${A}}","${}","${input:tok}","${A"],"env":{"K":"${A}","${A}":"v","T":true,"N":null,"F":1e3,"L":["it's",1,{"k":false}]},"toolFilter":["get_*","[!x]y"]}`,
		`"r": {"url":"https://${H:-h}/mcp","headers":{"authorization":"no","X":"${env:A}"},"auth":{"bearer":"${A} ${B"}}`)},
		map[string]string{"A": "av", "E": "", "SECRET": "s", "PATH": "/bin"})
	h := combiner()
	col := tr.column(h)
	a := cellNamed(col, "a")
	l := h.LaunchFor(tr.env, &a.Entry)
	if want := []string{"av", "av", "x:-y", "[]", "[]", "$A", "${A}", "${}", "", "${A"}; l.Command != "npx" || !slices.Equal(l.Args, want) {
		t.Errorf("%s %q", l.Command, l.Args)
	}
	for _, kv := range []string{"K=av", "${A}=v", "T=True", "N=None", "F=1000.0", `L=["it's", 1, {'k': False}]`, "PATH=/bin"} {
		if !slices.Contains(l.Env, kv) {
			t.Errorf("no %s in %q", kv, l.Env)
		}
	}
	if slices.Contains(l.Env, "SECRET=s") || !slices.Equal(l.Unset, []string{"U", "input:tok"}) {
		t.Errorf("environment %q, unset %q", l.Env, l.Unset)
	}
	r := cellNamed(col, "r")
	l = h.LaunchFor(tr.env, &r.Entry)
	got := map[string]string{}
	for _, v := range l.Headers {
		got[v.Name] = v.Value.Reveal()
	}
	if l.URL != "https://h/mcp" || len(got) != 2 || got["X"] != "av" || got["Authorization"] != "Bearer ${A} ${B" {
		t.Errorf("%s %q", l.URL, got)
	}
	for tool, dropped := range map[string]bool{"get_a/b": false, "GET_a": true, "ay": false, "xy": true, "set": true} {
		if h.Launch.Drops(a.Filter, "a", tool) != dropped {
			t.Errorf("%s: dropped is not %t", tool, dropped)
		}
	}
	if got := h.Launch.ToolName("svg-mcp", "add"); got != "svg-mcp_add" {
		t.Error(got)
	}
}

// TestCombinerSwitch follows what the plugin's window was seen to write, but keeps other keys and names, and refuses what the
// plugin overwrites.
func TestCombinerSwitch(t *testing.T) {
	t.Parallel()
	four := mcpServers(`"github": {"url":"https://h"}`, `"gws": {"url":"https://h"}`, `"clickup": {"url":"https://h"}`, `"todoist": {"command":"x","disabled":true}`)
	for _, tc := range []struct {
		name, before, server string
		on                   bool
		servers              string
		want, refused        string
	}{
		{name: "a new file", server: "clickup", want: "{\n    \"$schema\": \"https://geohar.github.io/mcp-companion/project.schema.json\",\n    \"disabled_servers\": [\n        \"clickup\"\n    ]\n}\n"},
		{name: "lists of one length: the allow list", server: "b", servers: mcpServers(`"a": {"command":"x"}`, `"b": {"command":"x"}`), want: "{\n    \"$schema\": \"https://geohar.github.io/mcp-companion/project.schema.json\",\n    \"allowed_servers\": [\n        \"a\"\n    ]\n}\n"},
		{name: "the only server", server: "a", servers: mcpServers(`"a": {"command":"x"}`), want: "{\n    \"$schema\": \"https://geohar.github.io/mcp-companion/project.schema.json\",\n    \"allowed_servers\": []\n}\n"},
		{name: "other keys and strangers stay", server: "gws", on: true, before: "{\n  \"allowed_servers\": [\n    \"github\",\n    \"ghost\"\n  ],\n  \"adapters\": {\n    \"x\": {}\n  }\n}\n",
			want: "{\n  \"allowed_servers\": [\n    \"github\",\n    \"ghost\",\n    \"gws\"\n  ],\n  \"adapters\": {\n    \"x\": {}\n  }\n}\n"},
		{name: "out of the allow list", server: "github", before: `{"allowed_servers": ["github", "gws"]}`, want: `{"allowed_servers": ["gws"]}`},
		{name: "into the deny list", server: "github", before: `{"disabled_servers": ["gws"]}`, want: `{"disabled_servers": ["gws", "github"]}`},
		{name: "the last of the deny list", server: "gws", on: true, before: `{"disabled_servers": ["gws"]}`, want: `{"disabled_servers": []}`},
		{name: "a file without lists", server: "gws", before: `{"tool_system_prompts": false}`, want: `{"tool_system_prompts": false, "disabled_servers": ["gws"]}`},
		{name: "one that does not parse", server: "gws", before: `{oops`, refused: "does not count as it is"},
		{name: "one that counts for nothing", server: "gws", before: `{"allowed_servers":"gws"}`, refused: "does not count as it is"},
		{name: "a list that is an object", server: "gws", on: true, before: `{"allowed_servers":{}}`, refused: "make it a list first"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			servers := four
			if tc.servers != "" {
				servers = tc.servers
			}
			files := map[string]string{combinerUser: servers}
			if tc.before != "" {
				files[combinerFull] = tc.before
			}
			tr := layTree(t, files, nil)
			b := NewSwitchboard(tr.env, combiner())
			wish := WishOff
			if tc.on {
				wish = WishOn
			}
			answer := b.Ask(b.Cell(tc.server), wish)
			i := slices.IndexFunc(answer.Options, func(o Option) bool { return o.Reach == ReachHere })
			if i < 0 {
				t.Fatalf("no option for the folder: %+v", answer)
			}
			o := answer.Options[i]
			if tc.refused != "" {
				if !strings.Contains(o.Unavailable, tc.refused) {
					t.Errorf("it is refused because of %q", o.Unavailable)
				}
				return
			}
			if o.Unavailable != "" {
				t.Fatal(o.Unavailable)
			}
			if applied := o.Plan().Apply(nil, ""); applied.Err != nil {
				t.Fatal(applied.Err)
			}
			got, err := os.ReadFile(filepath.Join(tr.project, combinerFileName))
			if err != nil || strings.Join(strings.Fields(string(got)), "") != strings.Join(strings.Fields(tc.want), "") || strings.HasPrefix(tc.want, "{\n") && string(got) != tc.want {
				t.Errorf("%s\n%v", got, err)
			}
			var lists map[string]any
			if err := json.Unmarshal(got, &lists); err != nil {
				t.Error(err)
			}
		})
	}

	tr := layTree(t, map[string]string{combinerUser: four, combinerFull: `{"allowed_servers":["github"]}`}, nil)
	b := NewSwitchboard(tr.env, combiner())
	answer := b.Ask(b.Cell("todoist"), WishOn) // off in both files
	if answer.Refused != "" || len(answer.Options) != 1 || len(answer.Options[0].Plan().Paths()) != 2 || answer.Options[0].Reach != ReachEverywhere {
		t.Errorf("%+v", answer)
	}
	answer = b.Ask(b.Cell("github"), WishOff)
	if len(answer.Options) != 2 || answer.Options[1].Reach != ReachEverywhere || answer.Options[1].Then().Reason.Code != model.ReasonSwitchedOff {
		t.Errorf("%+v", answer)
	}
}

func TestCombinerCapabilities(t *testing.T) {
	t.Parallel()
	tr := layTree(t, map[string]string{combinerUser: mcpServers(`"a": {"command":"x"}`, `"r": {"url":"https://h"}`, `"b": {"url":"https://h","auth":{"bearer":"t"}}`, `"o": {"url":"https://h","sharedServer":"nope","disabled":true}`)}, nil)
	col := tr.column(combiner())
	for name, want := range map[string]model.Capabilities{
		"a": {Approve: "not needed", Login: "not needed"},
		"r": {Approve: "not needed"},
		"b": {Approve: "not needed", Login: "not needed"},
		"o": {Approve: "not needed", Toggle: "the combiner would not start with it on: its sharedServer is not defined"},
	} {
		if got := cellNamed(col, name).Capabilities; got != want {
			t.Errorf("%s: %+v", name, got)
		}
	}
	tr = layTree(t, map[string]string{combinerUser: `{"mcpServers":{"a":7}}`}, nil)
	if got := cellNamed(tr.column(combiner()), "a").Capabilities.Toggle; got != "the combiner refuses its file: mend it first" {
		t.Error(got)
	}
}

func FuzzResolveCombiner(f *testing.F) {
	f.Add(`{"sharedServers":{"p":{"command":"@CANARY@","env":{"A":"@CANARY@"}}},"permissions":{"default":"elicit","deny":["@CANARY@"]},"mcpServers":{"a":{"command":"x","args":["@CANARY@"],"env":{"T":"@CANARY@","N":1e400},"sharedServer":"p"},"b":{"url":"https://h/@CANARY@","auth":{"bearer":"${@CANARY@}"},"toolFilter":["*"]}}}`, `{"allowed_servers":["a","zzz"],"adapters":{"x":{"disabled_servers":["a"]}}}`)
	f.Add(`{"servers":{"a":7,"":{},"b":{"transport":"@CANARY@"},"c":{"disabled":"@CANARY@","permissions":{"default":"@CANARY@"}}}}`, `{"disabled_servers":["b",""],"auto_approve":{"a":"@CANARY@"}}`)
	f.Add("\ufeff{// c\n\"mcpServers\":{\"a\":{}},}", `[`)
	f.Add(`{"mcpServers":{"a":{"url":null,"autoApprove":"@CANARY@","sharedServer":"nope","headers":{"A":"${U:-@CANARY@}"}}}}`, `{"allowed_servers":{"a":1},"disabled_servers":null}`)
	f.Fuzz(func(t *testing.T, servers, project string) {
		tr := layTree(t, map[string]string{combinerUser: withCanary(servers), combinerFull: withCanary(project)}, map[string]string{"CANARY": canary})
		checkColumn(t, tr.column(combiner()))
	})
}
