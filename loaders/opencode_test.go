package loaders

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"fusebox/model"
)

const (
	globalOpenCode = "~/.config/opencode/opencode.json"
	gitHead        = "./.git/HEAD"
)

func local(command string) string { return fmt.Sprintf(`{"type":"local","command":[%q]}`, command) }

func mcp(entries ...string) string {
	return "{\n\"mcp\": {\n" + strings.Join(entries, ",\n") + "\n}}\n"
}

func TestOpenCodeResolve(t *testing.T) {
	t.Parallel()
	a := `"a": ` + local("x")
	runCases(t, openCode(), []resolveCase{
		{name: "nothing"},
		{name: "one global server", files: map[string]string{globalOpenCode: mcp(a)},
			want: map[string]string{"a": "configured | user ~/.config/opencode/opencode.json:3"}},
		{name: "the three global files join in order", files: map[string]string{
			"~/.config/opencode/config.json": mcp(a), globalOpenCode: mcp(`"a": {"enabled": false}`), "~/.config/opencode/opencode.jsonc": mcp(a, `"b": `+local("y"))},
			want: map[string]string{
				"a": "disabled switched-off ~/.config/opencode/opencode.json:3 | user ~/.config/opencode/opencode.jsonc:3 | joins user ~/.config/opencode/opencode.json:3 | beats user ~/.config/opencode/config.json:3",
				"b": "configured | user ~/.config/opencode/opencode.jsonc:4"}},
		{name: "XDG_CONFIG_HOME", vars: map[string]string{"XDG_CONFIG_HOME": "@HOME@/x"}, files: map[string]string{"~/x/opencode/opencode.json": mcp(a)},
			want: map[string]string{"a": "configured | user ~/x/opencode/opencode.json:3"}},
		{name: "project over global, jsonc over json", files: map[string]string{gitHead: "", globalOpenCode: mcp(a), "./opencode.json": mcp(a), "./opencode.jsonc": "// x\n" + mcp(a)},
			want: map[string]string{"a": "configured | project ./opencode.jsonc:4 | beats project ./opencode.json:3 | beats user ~/.config/opencode/opencode.json:3 | from-repository"}},
		{name: "environment joins, command is replaced", files: map[string]string{
			globalOpenCode:    mcp(`"a": {"type":"local","command":["old"],"environment":{"A":"1","B":"1"}}`),
			"./opencode.json": mcp(`"a": {"type":"local","command":["new"],"environment":{"B":"2"}}`)},
			want: map[string]string{"a": "configured | project ./opencode.json:3 | joins user ~/.config/opencode/opencode.json:3 | from-repository"}},
		{name: "the other type's keys stay and do nothing", files: map[string]string{
			globalOpenCode: mcp(`"a": {"type":"remote","url":"http://127.0.0.1:9/x","headers":{"X":"1"}}`), "./opencode.json": mcp(a)},
			want: map[string]string{"a": "configured | project ./opencode.json:3 | beats user ~/.config/opencode/opencode.json:3 | from-repository"}},
		{name: "in git no further than the root", start: "s", files: map[string]string{gitHead: "", "~/opencode.json": mcp(a), "./s/opencode.json": mcp(`"b": ` + local("b")), "./opencode.json": mcp(`"b": `+local("c"), `"c": `+local("c"))},
			want: map[string]string{
				"b": "configured | project ./s/opencode.json:3 | beats project ./opencode.json:3 | from-repository",
				"c": "configured | project ./opencode.json:4 | from-repository"},
			notes: []string{"file-not-read"}},
		{name: "outside git up to the root", start: "s", files: map[string]string{"~/opencode.json": mcp(a), "./opencode.json": mcp(`"b": ` + local("b"))},
			want: map[string]string{"a": "configured | project ~/opencode.json:3", "b": "configured | project ./opencode.json:3 | from-repository"}},
		{name: "a .git that git does not accept", files: map[string]string{"./.git": "gitdir: /nowhere\n", "~/opencode.json": mcp(a)},
			want: map[string]string{"a": "configured | project ~/opencode.json:3"}},
		{name: "dot folders: outermost last, then home", start: "s", files: map[string]string{gitHead: "",
			"./s/.opencode/opencode.json": mcp(a, `"b": `+local("b")), "./.opencode/opencode.json": mcp(a, `"b": `+local("b")), "~/.opencode/opencode.json": mcp(a)},
			want: map[string]string{
				"a": "configured | user ~/.opencode/opencode.json:3 | beats project ./.opencode/opencode.json:3 | beats project ./s/.opencode/opencode.json:3",
				"b": "configured | project ./.opencode/opencode.json:4 | beats project ./s/.opencode/opencode.json:4 | from-repository"}},
		{name: "a dot folder that is a file", files: map[string]string{"./.opencode": "", globalOpenCode: mcp(a)}, ran: "./.opencode:1",
			want: map[string]string{"a": "error file-refused ./.opencode:1 | user ~/.config/opencode/opencode.json:3"}},
		{name: "a configuration file that is a folder", files: map[string]string{"./opencode.json/": "", globalOpenCode: mcp(a)}, ran: "./opencode.json:1",
			want: map[string]string{"a": "error file-refused ./opencode.json:1 | user ~/.config/opencode/opencode.json:3"}},
		{name: "OPENCODE_CONFIG between global and project", vars: map[string]string{"OPENCODE_CONFIG": "@HOME@/c.json"},
			files: map[string]string{globalOpenCode: mcp(a), "~/c.json": mcp(a, `"c": `+local("c")), "./opencode.json": mcp(`"c": {"enabled":false}`)},
			want: map[string]string{
				"a": "configured | custom ~/c.json:3 | beats user ~/.config/opencode/opencode.json:3",
				"c": "disabled switched-off ./opencode.json:3 | custom ~/c.json:4 | joins project ./opencode.json:3"}},
		{name: "OPENCODE_CONFIG is relative to the folder", vars: map[string]string{"OPENCODE_CONFIG": "c.json"}, files: map[string]string{"./c.json": mcp(a)},
			want: map[string]string{"a": "configured | custom ./c.json:3 | from-repository"}},
		{name: "OPENCODE_CONFIG that is missing or has a tilde is nothing", vars: map[string]string{"OPENCODE_CONFIG": "~/c.json"}, files: map[string]string{"~/c.json": mcp(a)}},
		{name: "OPENCODE_CONFIG_DIR over ~/.opencode", vars: map[string]string{"OPENCODE_CONFIG_DIR": "@HOME@/d"}, files: map[string]string{"~/.opencode/opencode.json": mcp(a), "~/d/opencode.jsonc": mcp(a)},
			want: map[string]string{"a": "configured | custom ~/d/opencode.jsonc:3 | beats user ~/.opencode/opencode.json:3"}},
		{name: "OPENCODE_CONFIG_DIR that is the global folder is read again, over the project", vars: map[string]string{"OPENCODE_CONFIG_DIR": "@HOME@/.config/opencode"},
			files: map[string]string{globalOpenCode: mcp(a), "./opencode.json": mcp(a)},
			want:  map[string]string{"a": "configured | user ~/.config/opencode/opencode.json:3 | beats project ./opencode.json:3 | beats user ~/.config/opencode/opencode.json:3"}},
		{name: "content beats files", vars: map[string]string{"OPENCODE_CONFIG_CONTENT": "{\n\n\"mcp\":{\"a\":{\"enabled\":false},\"b\":" + local("b") + "}}"}, files: map[string]string{"./opencode.json": mcp(a)},
			want: map[string]string{
				"a": "disabled switched-off $OPENCODE_CONFIG_CONTENT:1 | project ./opencode.json:3 | joins custom $OPENCODE_CONFIG_CONTENT:1 | from-repository",
				"b": "configured | custom $OPENCODE_CONFIG_CONTENT:1"}},
		{name: "content that does not parse", vars: map[string]string{"OPENCODE_CONFIG_CONTENT": `{"mcp":`}, files: map[string]string{"./opencode.json": mcp(a)}, ran: "$OPENCODE_CONFIG_CONTENT:1",
			want: map[string]string{"a": "error file-refused $OPENCODE_CONFIG_CONTENT:1 | project ./opencode.json:3 | from-repository"}},
		{name: "managed files beat all", files: map[string]string{"./opencode.json": mcp(a), "/etc/opencode/opencode.json": mcp(`"a": {"enabled":false}`)},
			vars: map[string]string{"OPENCODE_CONFIG_CONTENT": `{"mcp":{"a":{"enabled":true}}}`},
			want: map[string]string{"a": "disabled blocked-by-policy /etc/opencode/opencode.json:3 | project ./opencode.json:3 | joins managed /etc/opencode/opencode.json:3 | beats custom $OPENCODE_CONFIG_CONTENT:1 | from-repository"}},
		{name: "project files switched off", vars: map[string]string{"OPENCODE_DISABLE_PROJECT_CONFIG": "TRUE"},
			files: map[string]string{"./opencode.json": mcp(a), "./.opencode/opencode.json": mcp(a), "~/.opencode/opencode.json": mcp(`"h": ` + local("h"))},
			want:  map[string]string{"h": "configured | user ~/.opencode/opencode.json:3"}},
		{name: "yes does not switch them off", vars: map[string]string{"OPENCODE_DISABLE_PROJECT_CONFIG": "yes"}, files: map[string]string{"./opencode.json": mcp(a)},
			want: map[string]string{"a": "configured | project ./opencode.json:3 | from-repository"}},

		{name: "only enabled", files: map[string]string{globalOpenCode: mcp(`"on": {"enabled":true}`, `"off": {"enabled":false}`)},
			want: map[string]string{
				"on":  "error entry-skipped ~/.config/opencode/opencode.json:3 | user ~/.config/opencode/opencode.json:3 | partial-entry:3",
				"off": "disabled switched-off ~/.config/opencode/opencode.json:4 | user ~/.config/opencode/opencode.json:4 | partial-entry:4"}},
		{name: "a project switches a user's server on", files: map[string]string{globalOpenCode: mcp(`"a": {"type":"local","command":["x"],"enabled":false}`), "./opencode.json": mcp(`"a": {"enabled":true}`)},
			want: map[string]string{"a": "configured | user ~/.config/opencode/opencode.json:3 | joins project ./opencode.json:3 | from-repository"}},
		{name: "a bad entry with enabled keeps only that", files: map[string]string{globalOpenCode: mcp(a), "./opencode.json": mcp(`"a": {"type":"local","command":"x","enabled":true}`)},
			want: map[string]string{"a": "configured | user ~/.config/opencode/opencode.json:3 | joins project ./opencode.json:3 | partial-entry | from-repository"}},
		{name: "a bad entry refuses everything", files: map[string]string{globalOpenCode: mcp(a), "./opencode.json": mcp(a, "\"b\": {\"type\":\"local\",\n\"command\":\"x\"}")}, ran: "./opencode.json:5",
			want: map[string]string{
				"a": "error file-refused ./opencode.json:5 | project ./opencode.json:3 | beats user ~/.config/opencode/opencode.json:3 | from-repository",
				"b": "error file-refused ./opencode.json:5 | project ./opencode.json:4 | from-repository"}},
		{name: "an entry without type and enabled", files: map[string]string{"./opencode.json": mcp(`"a": {"environment":{"A":"1"}}`)}, ran: "./opencode.json:3",
			want: map[string]string{"a": "error file-refused ./opencode.json:3 | project ./opencode.json:3 | from-repository"}},
		{name: "an entry that is a number", files: map[string]string{"./opencode.json": mcp(`"a": 7`)}, ran: "./opencode.json:3",
			want: map[string]string{"a": "error file-refused ./opencode.json:3 | project ./opencode.json:3 | from-repository"}},
		{name: "a broken file names its servers", files: map[string]string{globalOpenCode: "{\"mcp\":\n{\"a\":" + local("x") + ","}, ran: "~/.config/opencode/opencode.json:2",
			want: map[string]string{"a": "error file-refused ~/.config/opencode/opencode.json:2 | user ~/.config/opencode/opencode.json:2"}},
		{name: "blanks are no configuration", files: map[string]string{globalOpenCode: " \n"}, ran: "~/.config/opencode/opencode.json:2"},
		{name: "an empty file is nothing", files: map[string]string{globalOpenCode: "", "./opencode.json": mcp(a)},
			want: map[string]string{"a": "configured | project ./opencode.json:3 | from-repository"}},
		{name: "top level list", files: map[string]string{globalOpenCode: "[]"}, ran: "~/.config/opencode/opencode.json:1"},
		{name: "mcp is a list", files: map[string]string{globalOpenCode: `{"mcp":[]}`}, ran: "~/.config/opencode/opencode.json:1"},
		{name: "another setting of a wrong kind", files: map[string]string{globalOpenCode: "{\"mcp\":{\"a\":" + local("x") + "},\n\"model\": 7}"}, ran: "~/.config/opencode/opencode.json:2",
			want: map[string]string{"a": "error file-refused ~/.config/opencode/opencode.json:2 | user ~/.config/opencode/opencode.json:1"}},
		{name: "permissions of the next version", files: map[string]string{globalOpenCode: "{\"agent\":{\"x\":{\n\"permissions\":[]}}}"}, ran: "~/.config/opencode/opencode.json:2"},
		{name: "bom, comments, trailing comma, CRLF", files: map[string]string{globalOpenCode: "\ufeff{// c\r\n\"mcp\":{\r\n\"a\":" + local("x") + ",\r\n},\r\n}"},
			want: map[string]string{"a": "configured | user ~/.config/opencode/opencode.json:3"}},

		{name: "the newer shape", files: map[string]string{globalOpenCode: `{"mcp":{
"timeout": {"startup": 5},
"old": {"type":"local","command":["x"],"disabled":true},
"both": {"type":"local","command":["x"],"disabled":true,"enabled":true},
"two": {"type":"local","command":["old"]},
"servers": {
"two": {"type":"local","command":["new"]},
"off": {"type":"remote","url":"http://127.0.0.1:9","disabled":true},
"on": {"type":"remote","url":"http://127.0.0.1:9","oauth":{"client_id":"c"}},
"bad": {"type":"local","command":"x"},
"part": {"type":"local","command":"y","enabled":false}
}}}`},
			want: map[string]string{
				"old":  "disabled switched-off ~/.config/opencode/opencode.json:3 | user ~/.config/opencode/opencode.json:3",
				"both": "configured | user ~/.config/opencode/opencode.json:4",
				"two":  "configured | user ~/.config/opencode/opencode.json:5",
				"off":  "disabled switched-off ~/.config/opencode/opencode.json:8 | user ~/.config/opencode/opencode.json:8",
				"on":   "configured | user ~/.config/opencode/opencode.json:9",
				"bad":  "error entry-skipped ~/.config/opencode/opencode.json:10 | user ~/.config/opencode/opencode.json:10",
				"part": "disabled switched-off ~/.config/opencode/opencode.json:11 | user ~/.config/opencode/opencode.json:11 | partial-entry:11 | partial-entry:11"}},
		{name: "a bad entry of the newer shape leaves the lower one", files: map[string]string{globalOpenCode: mcp(a), "./opencode.json": `{"mcp":{"servers":{"a":{"type":"local"}}}}`},
			want: map[string]string{"a": "configured | user ~/.config/opencode/opencode.json:3 | pending project error entry-skipped ./opencode.json:1"}},
		{name: "a server called servers, and one called timeout", files: map[string]string{globalOpenCode: mcp(`"servers": `+local("s"), `"timeout": `+local("t"))},
			want: map[string]string{"servers": "configured | user ~/.config/opencode/opencode.json:3", "timeout": "configured | user ~/.config/opencode/opencode.json:4"}},
		{name: "disabled of a wrong kind is no key", files: map[string]string{globalOpenCode: mcp(`"a": {"type":"local","command":["x"],"disabled":"x"}`)},
			want: map[string]string{"a": "configured | user ~/.config/opencode/opencode.json:3"}},

		{name: "findings of an entry", files: map[string]string{globalOpenCode: mcp(`"a": `+local("x"), "\"a\": {\"type\":\"local\",\"command\":[],\n\"env\":{},\n\"foo\":1}")},
			want: map[string]string{"a": "configured | user ~/.config/opencode/opencode.json:4 | unknown-key:5 | unknown-key:6 | wrong-type:4 | duplicate-key:4"}},
		{name: "keys that are not read", files: map[string]string{globalOpenCode: `{"mcpServers":{"a":{"command":"x"}},"tools":{"a_*":false}}`}, notes: []string{"wrong-key", "tools-hidden"}},
		{name: "stray files", files: map[string]string{"./.opencode/config.json": "{}", "~/.config/opencode/mcp.json": "{}"},
			notes: []string{"file-not-read", "file-not-read"}},
		{name: "a broken TOML file of old versions", files: map[string]string{globalOpenCode: mcp(a), "~/.config/opencode/config": "[mcp.a\n"},
			want: map[string]string{"a": "configured | user ~/.config/opencode/opencode.json:3"}},
		{name: "the TOML file of old versions, read", files: map[string]string{globalOpenCode: mcp(a), "~/.config/opencode/config": "[mcp.a]\nenabled = false\n[mcp.t]\ntype = 'local'\ncommand = ['t']\n"},
			want: map[string]string{
				"a": "disabled switched-off ~/.config/opencode/config:2 | user ~/.config/opencode/opencode.json:3 | joins user ~/.config/opencode/config:1",
				"t": "configured | user ~/.config/opencode/config:3"},
			notes: []string{"old-config-file"}},

		{name: "variables keep the lines", vars: map[string]string{"CMD": "a\\nb\\nc"}, files: map[string]string{globalOpenCode: mcp("\"a\": {\"type\":\"local\",\n\"command\":[\"{env:CMD}\",\"{env:NOPE}\"]}", `"b": `+local("{env:NOPE}"))},
			want: map[string]string{
				"a": "configured | user ~/.config/opencode/opencode.json:3 | unset-variable:4",
				"b": "configured | user ~/.config/opencode/opencode.json:5 | unset-variable:5"}},
		{name: "a variable with line ends breaks the text where it stands", vars: map[string]string{"V": "x\ny\nz"}, files: map[string]string{globalOpenCode: mcp(a, `"b": `+local("{env:V}"))}, ran: "~/.config/opencode/opencode.json:4",
			want: map[string]string{
				"a": "error file-refused ~/.config/opencode/opencode.json:4 | user ~/.config/opencode/opencode.json:3",
				"b": "error file-refused ~/.config/opencode/opencode.json:4 | user ~/.config/opencode/opencode.json:4"}},
		{name: "a variable may be structure", vars: map[string]string{"V": `{"a":{"type":"local","command":["q"]}}`}, files: map[string]string{globalOpenCode: "{\n\"mcp\": {env:V}}"},
			want: map[string]string{"a": "configured | user ~/.config/opencode/opencode.json:2"}},
		{name: "referenced files", files: map[string]string{"./t.txt": "", "~/h.txt": "", "./opencode.json": "{\"mcp\":{\n// {file:./none}\n\"a\": {\"type\":\"local\",\n\"command\":[\"{file:./t.txt}\", \"{file:~/h.txt}\"]}}}"},
			want: map[string]string{"a": "configured | project ./opencode.json:3 | referenced-file:4 | referenced-file:4 | from-repository"}},
		{name: "a missing file refuses everything", files: map[string]string{globalOpenCode: mcp(a), "./opencode.json": "{\"mcp\":{}} /*\n{file:./none} */"}, ran: "./opencode.json:2",
			want: map[string]string{"a": "error file-refused ./opencode.json:2 | user ~/.config/opencode/opencode.json:3"}},
		{name: "odd names", files: map[string]string{globalOpenCode: mcp(`"": `+local("x"), `"sp ace": `+local("x"), `"d.o/t@x": `+local("x"), `"\u001b[1m": `+local("x"))},
			want: map[string]string{
				"":        "configured | user ~/.config/opencode/opencode.json:3",
				"sp ace":  "configured | user ~/.config/opencode/opencode.json:4",
				"d.o/t@x": "configured | user ~/.config/opencode/opencode.json:5",
				"\x1b[1m": "configured | user ~/.config/opencode/opencode.json:6"}},
	})
}

func TestOpenCodeDefinition(t *testing.T) {
	t.Parallel()
	tr := layTree(t, map[string]string{
		globalOpenCode: `{"mcp":{
"l": {"type":"local","command":["run","{env:TOKEN}","a\\b{env:TOKEN}"],"cwd":"sub","environment":{"A":"1","B":"{env:TOKEN}"},"timeout":1500},
"r": {"type":"remote","url":"https://example.com/mcp","headers":{"X":"{env:TOKEN}"},"oauth":false},
"whole": {"type":"local","command":{env:LIST}}}}`,
		"./opencode.json": `{"mcp":{"l": {"type":"local","command":["other"],"environment":{"C":"3"}}}}`,
	}, map[string]string{"TOKEN": "canary-0123456789", "LIST": `["canary-0123456789"]`})
	col := tr.column(openCode())
	l, r, whole := cellNamed(col, "l"), cellNamed(col, "r"), cellNamed(col, "whole")
	if l == nil || r == nil || whole == nil {
		t.Fatalf("cells are missing: %v", col.Cells)
	}
	d := l.Definition
	if d.Command != "other" || len(d.Args) != 0 || d.Cwd != "sub" || d.StartTimeout != 1500*time.Millisecond {
		t.Errorf("command %q, %d arguments, cwd %q, %v", d.Command, len(d.Args), d.Cwd, d.StartTimeout)
	}
	var env []string
	for _, v := range d.Env {
		env = append(env, v.Name+"="+v.Value.Reveal())
	}
	if want := []string{"A=1", "B={env:TOKEN}", "C=3"}; !slices.Equal(env, want) {
		t.Errorf("environment %q, want %q", env, want)
	}
	if r.Definition.Transport != model.TransportHTTP || r.Definition.Headers[0].Value.Reveal() != "{env:TOKEN}" {
		t.Errorf("remote %v %q", r.Definition.Transport, r.Definition.Headers[0].Value.Reveal())
	}
	if got := whole.Definition.Command; got != "{env:LIST}" {
		t.Errorf("a command out of a variable is %q", got)
	}
	if got := r.Capabilities; got.Login == "" || got.Approve == "" || got.Toggle != "" {
		t.Errorf("capabilities %+v", got)
	}
}

// TestOpenCodeReadsNoReferencedFile makes the file that an entry refers to unreadable: a listing only looks whether it is
// there.
func TestOpenCodeReadsNoReferencedFile(t *testing.T) {
	t.Parallel()
	tr := layTree(t, map[string]string{"./secret.txt": "canary", "./opencode.json": `{"mcp":{"a":{"type":"local","command":["{file:./secret.txt}"]}}}`}, nil)
	if err := os.Chmod(filepath.Join(tr.project, "secret.txt"), 0); err != nil {
		t.Fatal(err)
	}
	col := tr.column(openCode())
	a := cellNamed(col, "a")
	if a == nil || a.Decision != model.DecisionLoads || a.Definition.Command != "{file:"+filepath.Join(tr.project, "secret.txt")+"}" {
		t.Fatalf("a is %s", tr.describe(a))
	}
	r := NewReader(tr.env, NewCache())
	openCode().Resolve(tr.env, r)
	if !slices.Contains(r.Touched(), filepath.Join(tr.project, "secret.txt")) {
		t.Error("the referenced file is not watched")
	}
}

// TestOpenCodeLooksWhereFilesMayCome checks that what does not exist yet is watched.
func TestOpenCodeLooksWhereFilesMayCome(t *testing.T) {
	t.Parallel()
	tr := layTree(t, map[string]string{gitHead: ""}, nil)
	r := NewReader(tr.env, NewCache())
	openCode().Resolve(tr.env, r)
	for _, want := range []string{".config/opencode/config.json", ".config/opencode/opencode.jsonc", ".opencode/opencode.json",
		"project/opencode.json", "project/.opencode/opencode.jsonc"} {
		if !slices.Contains(r.Touched(), filepath.Join(tr.home, filepath.FromSlash(want))) {
			t.Errorf("%s is not looked at", want)
		}
	}
	if slices.Contains(r.Touched(), filepath.Join(filepath.Dir(tr.home), "opencode.json")) {
		t.Error("the search went above the work tree")
	}
}

func TestOpenCodeLaunch(t *testing.T) {
	t.Parallel()
	tr := layTree(t, map[string]string{
		"./t.txt":         " line \"one\"\n",
		globalOpenCode:    `{"tools":{"a_*":false,"a_keep":true,"b_*":true,"c_*":false},"mcp":{}}`,
		"./opencode.json": `{"permission":{"c_*":"allow","a_x":{"rm":"allow","*":"deny"}},"mcp":{"a.b":{"type":"local","command":["{env:CMD}","{env:NOPE}","x{file:./t.txt}y"],"cwd":"sub"}}}`,
	}, map[string]string{"CMD": `run\tit`, "PATH": "/bin"})
	h := openCode()
	c := cellNamed(tr.column(h), "a.b")
	l := h.LaunchFor(tr.env, &c.Entry)
	if l.Command != "run\tit" || !slices.Equal(l.Args, []string{"", `xline "one"y`}) || !slices.Equal(l.Unset, []string{"NOPE"}) {
		t.Errorf("command %q, arguments %q, unset %q", l.Command, l.Args, l.Unset)
	}
	if l.Dir != filepath.Join(tr.project, "sub") || !slices.Contains(l.Env, "PATH=/bin") {
		t.Errorf("folder %s, environment %q", l.Dir, l.Env)
	}
	if got := h.Launch.ToolName("a.b", "do it"); got != "a_b_do_it" {
		t.Errorf("tool name %s", got)
	}
	for name, want := range map[string]bool{"a/hidden": true, "a/keep": false, "a/x": true, "b/y": false, "c/z": false, "d/a_q": false} {
		server, tool, _ := strings.Cut(name, "/")
		if got := h.Launch.Drops(c.Filter, server, tool); got != want {
			t.Errorf("%s dropped: %t", name, got)
		}
	}
}

func FuzzResolveOpenCode(f *testing.F) {
	f.Add(mcp(`"a": `+local("x"), `"b": {"type":"remote","url":"https://example.com/@CANARY@","headers":{"X":"@CANARY@"}}`), mcp(`"a": {"enabled":false}`), "")
	f.Add(`{"mcp":{"servers":{"a":{"type":"local","command":["{env:CANARY}","@CANARY@"],"disabled":true}},"timeout":{"startup":1}}}`, `{"mcp":{"a":{"type":"local"}}}`, `{"mcp":{"a":{env:CANARY}}}`)
	f.Add("\ufeff{ // {file:./no}\n\"mcp\": {\"a\": {\"type\":\"local\",\"command\":[\"{file:~/x}\",\"{env:UNSET}\"],},},}", `{"mcp":{"a":`, `[]`)
	f.Add(`{"mcp":{"{env:STRUCTURE}":1,"a":{env:STRUCTURE}}}`, `{"permissions":1,"model":{}}`, "{env:STRUCTURE}")
	f.Fuzz(func(t *testing.T, global, project, content string) {
		tr := layTree(t, map[string]string{gitHead: "", globalOpenCode: withCanary(global), "./.opencode/opencode.jsonc": withCanary(project)},
			map[string]string{"CANARY": canary, "STRUCTURE": `{"type":"local","command":["` + canary + `\n"]}`})
		if text := withCanary(content); !strings.ContainsRune(text, 0) {
			tr.env.Vars["OPENCODE_CONFIG_CONTENT"] = text
		}
		checkColumn(t, tr.column(openCode()))
	})
}
