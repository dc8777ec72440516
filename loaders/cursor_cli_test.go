package loaders

import (
	"encoding/json"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"fusebox/model"
)

const (
	cursorUser    = "~/.cursor/mcp.json"
	cursorProject = "./.cursor/mcp.json"
)

// servers writes mcpServers with an entry a line, from line 3 on.
func mcpServers(entries ...string) string {
	return "{\n\"mcpServers\": {\n" + strings.Join(entries, ",\n") + "\n}}\n"
}

// cursorCase is a situation of the Cursor CLI. approve names entries of the project whose key is put into the approvals,
// raw keys stand in approved, names in disabled; approvals and switches are the files' texts where they are not lists.
type cursorCase struct {
	resolveCase
	approve             []string
	approved            []string
	disabled            []string
	approvals, switches string
	dataDir             string
}

func TestCursorCLIResolve(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("the expectations are written with the paths of a Unix system")
	}
	a := `"a": {"command":"x"}`
	for _, tc := range []cursorCase{
		{resolveCase: resolveCase{name: "nothing"}},
		{resolveCase: resolveCase{name: "a user's server needs no approval", files: map[string]string{cursorUser: mcpServers(a)},
			want: map[string]string{"a": "configured | user ~/.cursor/mcp.json:3 | approval-hint"}}},
		{approve: []string{"a"}, resolveCase: resolveCase{name: "with an approval there is no hint", files: map[string]string{cursorUser: mcpServers(a), cursorProject: mcpServers(a)},
			want: map[string]string{"a": "configured | project ./.cursor/mcp.json:3 | beats user ~/.cursor/mcp.json:3"}}},
		{resolveCase: resolveCase{name: "a project's server waits", files: map[string]string{cursorProject: mcpServers(a)},
			want: map[string]string{"a": "unapproved needs-approval ./.cursor/mcp.json:3 | project ./.cursor/mcp.json:3"}}},
		{resolveCase: resolveCase{name: "while it waits the user's runs", files: map[string]string{cursorProject: mcpServers(a), cursorUser: mcpServers(`"a": {"command":"y"}`)},
			want: map[string]string{"a": "configured | user ~/.cursor/mcp.json:3 | pending project unapproved needs-approval ./.cursor/mcp.json:3 | approval-hint"}}},
		{approve: []string{"a"}, resolveCase: resolveCase{name: "approved", files: map[string]string{cursorProject: mcpServers(a)},
			want: map[string]string{"a": "configured | project ./.cursor/mcp.json:3"}}},
		{approved: []string{"other-0123456789abcdef", "a-0123456789abcdef"}, resolveCase: resolveCase{name: "approved as something else", files: map[string]string{cursorProject: mcpServers(a)},
			want: map[string]string{"a": "unapproved approval-changed @approvals:3 | project ./.cursor/mcp.json:3"}}},
		{approved: []string{"a-b-0123456789abcdef", "a-x"}, resolveCase: resolveCase{name: "an approval of a longer name", files: map[string]string{cursorProject: mcpServers(a)},
			want: map[string]string{"a": "unapproved needs-approval ./.cursor/mcp.json:3 | project ./.cursor/mcp.json:3"}}},
		{approve: []string{"a"}, dataDir: "@HOME@/data", resolveCase: resolveCase{name: "CURSOR_DATA_DIR moves the approvals, not mcp.json", vars: map[string]string{"CURSOR_DATA_DIR": "@HOME@/data"}, files: map[string]string{cursorProject: mcpServers(a), cursorUser: mcpServers(`"u": {"command":"y"}`)},
			want: map[string]string{"a": "configured | project ./.cursor/mcp.json:3", "u": "configured | user ~/.cursor/mcp.json:3 | approval-hint"}}},
		{approve: []string{"a"}, resolveCase: resolveCase{name: "a blank CURSOR_DATA_DIR is none", vars: map[string]string{"CURSOR_DATA_DIR": " "}, files: map[string]string{cursorProject: mcpServers(a)},
			want: map[string]string{"a": "configured | project ./.cursor/mcp.json:3"}}},
		{approve: []string{"a"}, resolveCase: resolveCase{name: "the root of the repository counts", start: "sub", files: map[string]string{"./.git/HEAD": "", cursorProject: mcpServers(a), "./sub/.cursor/mcp.json": mcpServers(a)},
			want: map[string]string{"a": "configured | project ./.cursor/mcp.json:3"}, notes: []string{"file-not-read"}}},

		{approve: []string{"a"}, disabled: []string{"a"}, resolveCase: resolveCase{name: "switched off by name", files: map[string]string{cursorProject: mcpServers(a)},
			want: map[string]string{"a": "disabled switched-off @disabled:2 | project ./.cursor/mcp.json:3"}}},
		{disabled: []string{"a"}, resolveCase: resolveCase{name: "switched off while it waits", files: map[string]string{cursorProject: mcpServers(a)},
			want: map[string]string{"a": "disabled switched-off @disabled:2 | project ./.cursor/mcp.json:3"}}},
		{switches: "{}", resolveCase: resolveCase{name: "switches that are no list", files: map[string]string{cursorUser: mcpServers(a)},
			want: map[string]string{"a": "configured | user ~/.cursor/mcp.json:3 | approval-hint"}}},
		{approvals: "{}", resolveCase: resolveCase{name: "approvals that are no list", files: map[string]string{cursorProject: mcpServers(a)},
			want: map[string]string{"a": "unapproved needs-approval ./.cursor/mcp.json:3 | project ./.cursor/mcp.json:3"}}},
		{approvals: "[", resolveCase: resolveCase{name: "broken approvals stop everything", files: map[string]string{cursorProject: mcpServers(a), cursorUser: mcpServers(`"u": {"command":"y"}`)}, ran: "@approvals:1",
			want: map[string]string{"a": "error file-refused @approvals:1 | project ./.cursor/mcp.json:3", "u": "error file-refused @approvals:1 | user ~/.cursor/mcp.json:3 | approval-hint"}}},
		{switches: "[\"a\",\n]", resolveCase: resolveCase{name: "broken switches too", files: map[string]string{cursorUser: mcpServers(a)}, ran: "@disabled:1",
			want: map[string]string{"a": "error file-refused @disabled:1 | user ~/.cursor/mcp.json:3 | approval-hint"}}},

		{resolveCase: resolveCase{name: "one bad entry empties its file alone", files: map[string]string{cursorUser: mcpServers(a, `"b": {"type":"streamableHttp","url":"https://example.com"}`), cursorProject: mcpServers(a)},
			want: map[string]string{
				"a": "unapproved needs-approval ./.cursor/mcp.json:3 | project ./.cursor/mcp.json:3 | pending user error file-refused ~/.cursor/mcp.json:3",
				"b": "error file-refused ~/.cursor/mcp.json:4 | user ~/.cursor/mcp.json:4"}}},
		{resolveCase: resolveCase{name: "a bad project file leaves the user's", files: map[string]string{cursorUser: mcpServers(a), cursorProject: mcpServers(`"a": {"command":"x","env":{"A":1}}`)},
			want: map[string]string{"a": "configured | user ~/.cursor/mcp.json:3 | pending project error file-refused ./.cursor/mcp.json:3 | approval-hint"}}},
		{resolveCase: resolveCase{name: "both files bad", files: map[string]string{cursorUser: mcpServers(`"a": 7`), cursorProject: mcpServers(`"a": {}`)},
			want: map[string]string{"a": "error file-refused ./.cursor/mcp.json:3 | project ./.cursor/mcp.json:3 | pending user error file-refused ~/.cursor/mcp.json:3"}}},
		{resolveCase: resolveCase{name: "the other key", files: map[string]string{cursorUser: `{"servers":{"a":{"command":"x"}}}`}, notes: []string{"wrong-key"}}},
		{resolveCase: resolveCase{name: "no servers at all", files: map[string]string{cursorUser: "{}", cursorProject: ""}}},
		{resolveCase: resolveCase{name: "mcpServers is a list", files: map[string]string{cursorUser: `{"mcpServers":[]}`}}},
		{resolveCase: resolveCase{name: "a cut off file", files: map[string]string{cursorUser: "{\"mcpServers\":{\"a\":{\"command\":\"x\"},\n\"b\":{\"command\":\"y\""},
			want: map[string]string{"a": "configured | user ~/.cursor/mcp.json:1 | approval-hint", "b": "configured | user ~/.cursor/mcp.json:2 | approval-hint"}}},
		{resolveCase: resolveCase{name: "keys that do nothing", files: map[string]string{cursorUser: mcpServers(`"a": {"command":"x","url":"https://example.com","disabled":true,"envFile":".env"}`, a, `"c": {"command":7,"url":"https://example.com"}`)},
			want: map[string]string{
				"a": "configured | user ~/.cursor/mcp.json:4 | duplicate-key:4 | approval-hint",
				"c": "configured | user ~/.cursor/mcp.json:5 | conflicting-keys:5 | approval-hint"}}},
		{resolveCase: resolveCase{name: "command and url, and the editor's keys", files: map[string]string{cursorUser: mcpServers(`"a": {"command":"x","url":"https://example.com","disabled":true,"envFile":".env","serverUrl":"x"}`)},
			want: map[string]string{"a": "configured | user ~/.cursor/mcp.json:3 | conflicting-keys:3 | unknown-key:3 | key-without-effect:3 | key-without-effect:3 | approval-hint"}}},
		{resolveCase: resolveCase{name: "a blank command", files: map[string]string{cursorUser: mcpServers(`"a": {"command":" "}`)},
			want: map[string]string{"a": "error entry-invalid ~/.cursor/mcp.json:3 | user ~/.cursor/mcp.json:3 | approval-hint"}}},

		{approve: []string{"a", "b"}, resolveCase: resolveCase{name: "variables that are set, have a default, or are the editor's", vars: map[string]string{"V": "v", "EMPTY": ""},
			files: map[string]string{cursorProject: mcpServers(`"a": {"command":"${env:V}${V}${EMPTY}${NOPE:-d}"}`, `"b": {"command":"${workspaceFolder}/x"}`, `"c": {"command":"${userHome}/x"}`)},
			want: map[string]string{
				"a": "configured | project ./.cursor/mcp.json:3",
				"b": "configured | project ./.cursor/mcp.json:4 | unset-variable",
				"c": "unapproved needs-approval ./.cursor/mcp.json:5 | project ./.cursor/mcp.json:5 | unset-variable"}}},
		{approve: []string{"a"}, resolveCase: resolveCase{name: "approved as it stands", files: map[string]string{cursorProject: mcpServers(`"a": {"command":"${NOPE}"}`)},
			want: map[string]string{"a": "configured | project ./.cursor/mcp.json:3 | unset-variable"}}},
		{approved: []string{"a-0123456789abcdef"}, resolveCase: resolveCase{name: "with an unset variable nobody can tell", files: map[string]string{cursorProject: mcpServers(`"a": {"command":"x","env":{"T":"${env:NOPE}"}}`, `"b": {"command":"${NOPE}"}`), cursorUser: mcpServers(`"b": {"command":"y"}`)},
			want: map[string]string{
				"a": "unknown approval-not-computable ./.cursor/mcp.json:3 | project ./.cursor/mcp.json:3 | unset-variable",
				"b": "configured | user ~/.cursor/mcp.json:3 | pending project unapproved needs-approval ./.cursor/mcp.json:4 | approval-hint"}}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			tr := layTree(t, tc.files, tc.vars)
			tr.env.Project = filepath.Join(tr.project, tc.start)
			data := tr.fill(tc.dataDir)
			if data == "" {
				data = filepath.Join(tr.home, ".cursor")
			}
			state := filepath.Join(data, "projects", cursorSlug(tr.project))
			c := &cursorResolve{env: tr.env, r: NewReader(tr.env, NewCache()), root: tr.project}
			project := readCursorFile(c.r, filepath.Join(tr.project, ".cursor", "mcp.json"), model.ScopeProject)
			keys := tc.approved
			for i := range project.servers {
				if slices.Contains(tc.approve, project.servers[i].Name) {
					keys = append(keys, c.approvalKey(&project.servers[i]))
				}
			}
			write := func(name, text string, list []string) string {
				path := filepath.Join(state, name)
				if text == "" && list != nil {
					out, _ := json.MarshalIndent(list, "", "  ")
					text = string(out)
				}
				if text != "" {
					writeFile(t, path, text)
				}
				return tr.short(path)
			}
			places := strings.NewReplacer("@approvals", write("mcp-approvals.json", tc.approvals, keys), "@disabled", write("mcp-disabled.json", tc.switches, tc.disabled))
			checkCase(t, tr, tr.column(cursorCLI()), tc.resolveCase, places.Replace)
		})
	}
}

func TestCursorCLIHome(t *testing.T) {
	t.Parallel()
	tr := layTree(t, map[string]string{cursorUser: mcpServers(`"a": {"command":"x"}`)}, nil)
	tr.env.Project = tr.home
	if got, want := tr.describe(cellNamed(tr.column(cursorCLI()), "a")), "configured | user ~/.cursor/mcp.json:3 | approval-hint"; got != want {
		t.Errorf("in the home folder\n got %s\nwant %s", got, want)
	}
}

// TestCursorCLIOffInBoth: a name that is switched off is gone in both files, and neither entry displaces the other.
func TestCursorCLIOffInBoth(t *testing.T) {
	t.Parallel()
	tr := layTree(t, map[string]string{cursorUser: mcpServers(`"a": {"command":"x"}`), cursorProject: mcpServers(`"a": {"command":"y"}`)}, nil)
	writeFile(t, filepath.Join(tr.home, ".cursor", "projects", cursorSlug(tr.project), "mcp-disabled.json"), `["a"]`)
	col := tr.column(cursorCLI())
	var scopes []model.Scope
	for _, c := range col.Cells {
		if c.State() == model.StateDisabled && c.Name == "a" {
			scopes = append(scopes, c.Scope)
		}
	}
	if !slices.Equal(scopes, []model.Scope{model.ScopeProject, model.ScopeUser}) {
		t.Errorf("switched off: %v of %d cells", scopes, len(col.Cells))
	}
}

func TestCursorSlug(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]string{"/home/u/My Proj_x.y": "home-u-My-Proj-x-y", "/": "", "/a--b/": "a-b", "/é/x": "x"} {
		if got := cursorSlug(path); got != want {
			t.Errorf("%s: %s", path, got)
		}
	}
}

// The right hand sides are what string-argv 0.3.2 gives in Node.js, but for those with a variable.
func TestSplitCommandLine(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]string{
		"foo --bar baz":          {"foo", "--bar", "baz"},
		"  a\t b\n":              {"a", "b"},
		"":                       {},
		"   ":                    {},
		"a \"b c\" 'd e'":        {"a", "b c", "d e"},
		"a=\"b c\" d":            {"a=\"b c\"", "d"},
		"a='x y'\"z w\"q r":      {"a='x y'\"z w\"q", "r"},
		"it's":                   {"it", "s"},
		"'":                      {},
		"a\"b":                   {"a", "b"},
		"\"\" ''":                {"", ""},
		"x\"y'z\"w'":             {"x\"y'z\"w"},
		"\"a\"b":                 {"a", "b"},
		"a\u00a0b\ufeffc":        {"a", "b", "c"},
		"é\"ü ö\"ß":              {"é\"ü ö\"ß"},
		"--x='a\"b' \"c'd\"":     {"--x='a\"b'", "c'd"},
		"a'b' 'c":                {"a'b'", "c"},
		"\"un closed":            {"un", "closed"},
		"😀 \"😀 x\"":              {"😀", "😀 x"},
		"a\\ b":                  {"a\\", "b"},
		"${A:-b c}/d ${E}":       {"${A:-b c}/d", "${E}"},
		"${open a":               {"${open", "a"},
		"x\xff\xfe \xf0\x9f\x98": {"x\xff\xfe", "\xf0\x9f\x98"},
	} {
		if got := splitCommandLine(text); !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func TestCursorCLILaunch(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("the expectations are written with the paths of a Unix system")
	}
	tr := layTree(t, map[string]string{cursorUser: mcpServers(
		`"a": {"command":"./run","args":["~/x","./y","${env:V}","${NOPE}","."],"cwd":"~/w","env":{"T":"${V}"}}`,
		`"b": {"command":"~/bin/run --flag"}`, `"c": {"url":"https://example.com/${V}","type":"sse"}`)},
		map[string]string{"V": "v", "PATH": "/bin", "SECRET": "s", "SHELL": "() { x; }"})
	col := tr.column(cursorCLI())
	h := cursorCLI()
	a := h.LaunchFor(tr.env, &cellNamed(col, "a").Entry)
	if want := []string{tr.home + "/x", tr.home + "/w/y", "v", "${NOPE}", tr.home + "/w"}; a.Command != tr.home+"/w/run" || !slices.Equal(a.Args, want) {
		t.Errorf("command %q, arguments %q", a.Command, a.Args)
	}
	if want := []string{"HOME=" + tr.home, "PATH=/bin", "T=v"}; a.Dir != tr.home+"/w" || !slices.Equal(a.Env, want) || !slices.Equal(a.Unset, []string{"NOPE"}) {
		t.Errorf("folder %s, environment %q, unset %q", a.Dir, a.Env, a.Unset)
	}
	b := h.LaunchFor(tr.env, &cellNamed(col, "b").Entry)
	if b.Command != tr.home+"/bin/run" || !slices.Equal(b.Args, []string{"--flag"}) || b.Dir != tr.project {
		t.Errorf("command %q, arguments %q, folder %s", b.Command, b.Args, b.Dir)
	}
	if c := h.LaunchFor(tr.env, &cellNamed(col, "c").Entry); c.Transport != model.TransportSSE || c.URL != "https://example.com/v" {
		t.Errorf("%s %s", c.Transport, c.URL)
	}
}

func FuzzResolveCursorCLI(f *testing.F) {
	f.Add(mcpServers(`"a": {"command":"x","env":{"T":"@CANARY@"}}`), mcpServers(`"a": {"url":"https://example.com/@CANARY@","auth":{"CLIENT_ID":"@CANARY@"},"tls":{"caBundle":" x "}}`), `["a-0123456789abcdef"]`, `["a"]`)
	f.Add(`{"mcpServers":{"first":{"command":"a ${CANARY}"},"next":{"command":"n"`, `{"servers":{}}`, `{}`, `[`)
	f.Add("{ // c\n\"mcpServers\": {\"\\ud800\": {\"command\": \"\\udc00 ${X:-y} '\"},},}", `{"mcpServers":{"n":null}}`, "", "")
	f.Fuzz(func(t *testing.T, user, project, approvals, disabled string) {
		tr := layTree(t, map[string]string{gitHead: "", cursorUser: withCanary(user), cursorProject: withCanary(project)}, map[string]string{"CANARY": canary})
		state := filepath.Join(tr.home, ".cursor", "projects", cursorSlug(tr.project))
		writeFile(t, filepath.Join(state, "mcp-approvals.json"), approvals)
		writeFile(t, filepath.Join(state, "mcp-disabled.json"), disabled)
		checkColumn(t, tr.column(cursorCLI()))
	})
}
