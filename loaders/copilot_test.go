package loaders

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"fusebox/model"
)

const (
	copilotUser     = "~/.copilot/mcp-config.json"
	copilotConfig   = "~/.copilot/config.json"
	copilotSettings = "~/.copilot/settings.json"
	copilotTrust    = `{"trustedFolders":["@PROJECT@"]}`
)

func TestCopilotResolve(t *testing.T) {
	t.Parallel()
	a, b := `"a": {"command":"x"}`, `"b": {"command":"y"}`
	runCases(t, copilotCLI(), []resolveCase{
		{name: "nothing"},
		{name: "a user's server", files: map[string]string{copilotUser: mcpServers(a)},
			want: map[string]string{"a": "configured | user ~/.copilot/mcp-config.json:3"}},
		{name: "COPILOT_HOME", vars: map[string]string{"COPILOT_HOME": "@HOME@/alt"}, files: map[string]string{"~/alt/mcp-config.json": mcpServers(a, b), "~/alt/settings.json": `{"disabledMcpServers":["a"]}`, copilotUser: mcpServers(a)},
			want:  map[string]string{"a": "disabled switched-off ~/alt/settings.json:1 | user ~/alt/mcp-config.json:3", "b": "configured | user ~/alt/mcp-config.json:4"},
			notes: []string{"file-not-read"}},
		{name: "COPILOT_HOME is relative to the folder, and an empty one is none", vars: map[string]string{"COPILOT_HOME": "alt"}, files: map[string]string{"./alt/mcp-config.json": mcpServers(a)},
			want: map[string]string{"a": "configured | user ./alt/mcp-config.json:3"}},
		{name: "XDG_CONFIG_HOME does nothing", vars: map[string]string{"XDG_CONFIG_HOME": "@HOME@/x"}, files: map[string]string{"~/x/.copilot/mcp-config.json": mcpServers(a)}, notes: []string{"file-not-read"}},

		{name: "an untrusted folder", files: map[string]string{"./.mcp.json": mcpServers(a)},
			want: map[string]string{"a": "unapproved untrusted-folder ~/.copilot/config.json:1 | project ./.mcp.json:3"}},
		{name: "the user's server runs meanwhile", files: map[string]string{"./.mcp.json": mcpServers(a), copilotUser: mcpServers(a), copilotConfig: "{\n\"trustedFolders\":[]}"},
			want: map[string]string{"a": "configured | user ~/.copilot/mcp-config.json:3 | pending project unapproved untrusted-folder ./.mcp.json:3"}},
		{name: "in a trusted one the folder's beats it", files: map[string]string{"./.mcp.json": mcpServers(a), copilotUser: mcpServers(a), copilotConfig: copilotTrust},
			want: map[string]string{"a": "configured | project ./.mcp.json:3 | beats user ~/.copilot/mcp-config.json:3"}},
		{name: "the older key, a parent, comments, a trailing slash", files: map[string]string{"./.mcp.json": mcpServers(a), copilotConfig: "\ufeff{// c\n\"trusted_folders\":[\"@HOME@/\",],}"},
			want: map[string]string{"a": "configured | project ./.mcp.json:3"}},
		{name: "of two keys the last counts", files: map[string]string{"./.mcp.json": mcpServers(a), copilotConfig: `{"trustedFolders":["@PROJECT@"],"trusted_folders":["/n"]}`},
			want: map[string]string{"a": "unapproved untrusted-folder ~/.copilot/config.json:1 | project ./.mcp.json:3"}},
		{name: "a key that stands twice is where it stands first", files: map[string]string{"./.mcp.json": mcpServers(a), copilotConfig: `{"trusted_folders":["/n"],"trustedFolders":["/n"],"trusted_folders":["/m"],"trustedFolders":["@PROJECT@"]}`},
			want: map[string]string{"a": "configured | project ./.mcp.json:3"}},
		{name: "a part of a name is no parent", files: map[string]string{"./.mcp.json": mcpServers(a), copilotConfig: `{"trustedFolders":["@HOME@/proj","~/project"]}`},
			want: map[string]string{"a": "unapproved untrusted-folder ~/.copilot/config.json:1 | project ./.mcp.json:3"}},
		{name: "a list with a number is no list", files: map[string]string{"./.mcp.json": mcpServers(a), copilotConfig: `{"trustedFolders":[5,"@PROJECT@"]}`},
			want: map[string]string{"a": "unapproved untrusted-folder ~/.copilot/config.json:1 | project ./.mcp.json:3"}},
		{name: "a broken list trusts nothing", files: map[string]string{"./.mcp.json": mcpServers(a), copilotConfig: `{"trustedFolders":["@PROJECT@"]`},
			want: map[string]string{"a": "unapproved untrusted-folder ~/.copilot/config.json:1 | project ./.mcp.json:3"}},
		{name: "all is trusted", vars: map[string]string{"COPILOT_ALLOW_ALL": "true"}, files: map[string]string{"./.mcp.json": mcpServers(a)},
			want: map[string]string{"a": "configured | project ./.mcp.json:3"}},
		{name: "1 is not true", vars: map[string]string{"COPILOT_ALLOW_ALL": "1"}, files: map[string]string{"./.mcp.json": mcpServers(a)},
			want: map[string]string{"a": "unapproved untrusted-folder ~/.copilot/config.json:1 | project ./.mcp.json:3"}},
		{name: "the lists in each other's file", files: map[string]string{copilotUser: mcpServers(a), copilotConfig: `{"disabledMcpServers":["a"]}`, copilotSettings: copilotTrust, "./.mcp.json": mcpServers(b)},
			want:  map[string]string{"a": "configured | user ~/.copilot/mcp-config.json:3", "b": "unapproved untrusted-folder ~/.copilot/config.json:1 | project ./.mcp.json:3"},
			notes: []string{"wrong-key", "wrong-key"}},

		{name: "in git up to the root, nearest first", start: "s", files: map[string]string{gitHead: "", copilotConfig: copilotTrust, "~/.mcp.json": mcpServers(`"above": {"command":"x"}`),
			"./.mcp.json": mcpServers(a, b), "./s/.github/mcp.json": mcpServers(a)},
			want: map[string]string{"a": "configured | project ./s/.github/mcp.json:3 | beats project ./.mcp.json:3", "b": "configured | project ./.mcp.json:4"}},
		{name: "each folder needs trust of its own", start: "s", files: map[string]string{gitHead: "", copilotConfig: `{"trustedFolders":["@PROJECT@/s"]}`, "./.mcp.json": mcpServers(a, b), "./s/.mcp.json": mcpServers(a)},
			want: map[string]string{
				"a": "configured | project ./s/.mcp.json:3 | pending project unapproved untrusted-folder ./.mcp.json:3",
				"b": "unapproved untrusted-folder ~/.copilot/config.json:1 | project ./.mcp.json:4"}},
		{name: "outside git only the folder itself", start: "s", files: map[string]string{copilotConfig: copilotTrust, "./.mcp.json": mcpServers(a), "./s/.mcp.json": mcpServers(b)},
			want: map[string]string{"b": "configured | project ./s/.mcp.json:3"}},
		{name: "the fallback counts only without .mcp.json", files: map[string]string{copilotConfig: copilotTrust, "./.mcp.json": "", "./.github/mcp.json": mcpServers(a)}, notes: []string{"file-dropped"}},
		{name: "no wrapper", files: map[string]string{copilotConfig: copilotTrust, "./.mcp.json": "{\n" + a + ",\n\"n\": 5, \"servers\": {\"c\":{}}}"},
			want: map[string]string{"a": "configured | project ./.mcp.json:2"}, notes: []string{"wrong-key"}},
		{name: "the wrapper hides its neighbours", files: map[string]string{copilotConfig: copilotTrust, "./.mcp.json": `{"a":{"command":"x"},"mcpServers":{` + b + `}}`},
			want: map[string]string{"b": "configured | project ./.mcp.json:1"}},
		{name: "a broken file of a folder is dropped", files: map[string]string{copilotConfig: copilotTrust, copilotUser: mcpServers(a), "./.mcp.json": "{\"mcpServers\":{" + a + ",\n" + b},
			want: map[string]string{
				"a": "configured | user ~/.copilot/mcp-config.json:3 | pending project error file-refused ./.mcp.json:1",
				"b": "error file-refused ./.mcp.json:2 | project ./.mcp.json:2"},
			notes: []string{"file-dropped"}},
		{name: "a wrapper that is a list", files: map[string]string{copilotConfig: copilotTrust, "./.mcp.json": "{\n\"mcpServers\":[]}"}, notes: []string{"file-dropped"}},
		{name: "a list", files: map[string]string{copilotConfig: copilotTrust, "./.mcp.json": "[]"}, notes: []string{"file-dropped"}},

		{name: "a broken user file stops everything", files: map[string]string{copilotConfig: copilotTrust, copilotUser: "{\"mcpServers\":{\n" + a + ",", "./.mcp.json": mcpServers(b)}, ran: "~/.copilot/mcp-config.json:2",
			want: map[string]string{"a": "error file-refused ~/.copilot/mcp-config.json:2 | user ~/.copilot/mcp-config.json:2", "b": "error file-refused ~/.copilot/mcp-config.json:2 | project ./.mcp.json:3"}},
		{name: "an empty one too", files: map[string]string{copilotUser: ""}, ran: "~/.copilot/mcp-config.json:1"},
		{name: "and one without mcpServers", files: map[string]string{copilotUser: "{}"}, ran: "~/.copilot/mcp-config.json:1"},
		{name: "and one where that is a list", files: map[string]string{copilotUser: "{\n\"mcpServers\":[]}"}, ran: "~/.copilot/mcp-config.json:2"},
		{name: "and a folder in its place", files: map[string]string{copilotUser + "/": ""}, ran: "~/.copilot/mcp-config.json:1"},
		{name: "lenient text", files: map[string]string{copilotUser: "\ufeff{// c\n\"mcpServers\":{\"a\":{\"command\":7},\n" + a + ",},}"},
			want: map[string]string{"a": "configured | user ~/.copilot/mcp-config.json:3 | duplicate-key:3"}},

		{name: "switched off for user and folder", files: map[string]string{copilotConfig: copilotTrust, copilotUser: mcpServers(a, `"A": {"command":"x"}`), "./.mcp.json": mcpServers(b), copilotSettings: "{\"disabledMcpServers\":[\n\"a\",\n\"b\",\"ghost\"]}"},
			want: map[string]string{
				"a": "disabled switched-off ~/.copilot/settings.json:2 | user ~/.copilot/mcp-config.json:3",
				"A": "configured | user ~/.copilot/mcp-config.json:4",
				"b": "disabled switched-off ~/.copilot/settings.json:3 | project ./.mcp.json:3"}},
		{name: "a text or a number is no list", files: map[string]string{copilotUser: mcpServers(a), copilotSettings: `{"disabledMcpServers":"a"}`},
			want: map[string]string{"a": "configured | user ~/.copilot/mcp-config.json:3"}, notes: []string{"wrong-type"}},
		{name: "the repository switches off", files: map[string]string{gitHead: "", copilotConfig: copilotTrust, copilotUser: mcpServers(a, b), "./.github/copilot/settings.json": `{"disabledMcpServers":["a"]}`, "./.github/copilot/settings.local.json": `{"disabledMcpServers":["b"]}`, copilotSettings: `{"disabledMcpServers":["a"]}`},
			want: map[string]string{
				"a": "disabled blocked-by-list ./.github/copilot/settings.json:1 | user ~/.copilot/mcp-config.json:3",
				"b": "disabled blocked-by-list ./.github/copilot/settings.local.json:1 | user ~/.copilot/mcp-config.json:4"}},
		{name: "the repository's settings are strict JSON", files: map[string]string{gitHead: "", copilotConfig: copilotTrust, copilotUser: mcpServers(a, b), "./.github/copilot/settings.json": "{\n// c\n\"disabledMcpServers\":[\"a\"]}", "./.github/copilot/settings.local.json": `{"disabledMcpServers":["b"],}`},
			want: map[string]string{"a": "configured | user ~/.copilot/mcp-config.json:3", "b": "configured | user ~/.copilot/mcp-config.json:4"}, notes: []string{"switches-not-read", "switches-not-read"}},
		{name: "one value of a wrong type takes a settings file out", files: map[string]string{gitHead: "", copilotConfig: copilotTrust, copilotUser: mcpServers(a, b), "./.github/copilot/settings.json": `{"disabledMcpServers":["a"],"disableAllHooks":"no"}`, copilotSettings: "{\"disabledMcpServers\":[\"b\"], \"own\": 5,\n\"model\":7}"},
			want: map[string]string{"a": "configured | user ~/.copilot/mcp-config.json:3", "b": "configured | user ~/.copilot/mcp-config.json:4"}, notes: []string{"switches-not-read", "switches-not-read"}},
		{name: "a server called servers", files: map[string]string{copilotConfig: copilotTrust, "./.mcp.json": "{\n\"servers\": {\"command\":\"x\"}}"},
			want: map[string]string{"servers": "configured | project ./.mcp.json:2"}},
		{name: "not without trust", files: map[string]string{gitHead: "", copilotUser: mcpServers(a), "./.github/copilot/settings.json": `{"disabledMcpServers":["a"]}`},
			want: map[string]string{"a": "configured | user ~/.copilot/mcp-config.json:3"}},
		{name: "not without git", files: map[string]string{copilotConfig: copilotTrust, copilotUser: mcpServers(a), "./.github/copilot/settings.json": `{"disabledMcpServers":["a"]}`},
			want: map[string]string{"a": "configured | user ~/.copilot/mcp-config.json:3"}},
		{name: "only at the root", start: "s", files: map[string]string{gitHead: "", copilotConfig: `{"trustedFolders":["@PROJECT@/s"]}`, copilotUser: mcpServers(a, b), "./.github/copilot/settings.json": `{"disabledMcpServers":["a"]}`, "./s/.github/copilot/settings.json": `{"disabledMcpServers":["b"]}`},
			want: map[string]string{
				"a": "disabled blocked-by-list ./.github/copilot/settings.json:1 | user ~/.copilot/mcp-config.json:3",
				"b": "configured | user ~/.copilot/mcp-config.json:4"}},

		{name: "a dropped entry leaves the lower one", files: map[string]string{copilotConfig: copilotTrust, copilotUser: mcpServers(a), "./.mcp.json": mcpServers(`"a": {"command":5}`)},
			want: map[string]string{"a": "configured | user ~/.copilot/mcp-config.json:3 | pending project error entry-invalid ./.mcp.json:3"}},
		{name: "findings", files: map[string]string{copilotUser: mcpServers(`"a": {"command":"${NOPE}","url":"x","disabled":true,"enabled":1,"envFile":"x"}`, `"b": {"type":"http","command":"x","url":"https://example.com"}`)},
			want: map[string]string{
				"a": "configured | user ~/.copilot/mcp-config.json:3 | key-without-effect:3 | key-without-effect:3 | conflicting-keys:3 | unknown-key:3 | unset-variable",
				"b": "configured | user ~/.copilot/mcp-config.json:4 | conflicting-keys:4"}},
		{name: "stray files", files: map[string]string{"./.vscode/mcp.json": "{}", "./.copilot/mcp-config.json": "{}"}, notes: []string{"file-not-read", "file-not-read"}},
	})
}

// TestCopilotEntries gives entries and whether copilot 1.0.102 lists them.
func TestCopilotEntries(t *testing.T) {
	t.Parallel()
	const c, u = `"command":"x"`, `"url":"http://h"`
	listed := map[string]string{
		`{` + c + `,"url":"http://h"}`: "stdio", `{` + u + `}`: "http", `{"type":"sse",` + u + `}`: "sse", `{"type":"local",` + c + `}`: "stdio",
		`{"type":"stdio",` + c + `}`: "stdio", `{"type":"http",` + c + `,` + u + `}`: "http", `{` + c + `,"tools":[]}`: "stdio",
		`{"command":""}`: "stdio", `{"type":"streamable-http",` + u + `}`: "http", `{` + c + `,"foo":1}`: "stdio", `{` + c + `,"timeout":5}`: "stdio",
		`{` + c + `,"timeout":1e12}`: "stdio", `{"url":"ftp://h"}`: "http", `{"url":"https://${HOST}/x"}`: "http", `{"url":"mailto:x"}`: "http",
		`{` + c + `,"url":5}`: "stdio", `{` + c + `,"headers":5}`: "stdio", `{` + u + `,"args":5}`: "http", `{"type":"http",` + u + `,"env":5}`: "http",
		`{` + c + `,"enabled":5}`: "stdio", `{` + u + `,"auth":true}`: "http", `{` + u + `,"auth":{}}`: "http", `{` + u + `,"oidc":{}}`: "http",
		`{` + c + `,"deferTools":"never"}`: "stdio", `{` + c + `,"filterMapping":{"t":"markdown"}}`: "stdio", `{"url":" http://h"}`: "http",
		`{"url":"HTTP://h "}`: "http", `{"url":"a:b"}`: "http", `{"url":"http:h"}`: "http", `{` + u + `,"oauthClientSecret":5}`: "http",
		`{"url":"http://[::1]:80/x"}`: "http",
	}
	dropped := []string{
		`7`, `null`, `{}`, `[]`, `{"command":7}`, `{"command":null}`, `{` + c + `,"args":"y"}`, `{` + c + `,"args":[1]}`, `{` + c + `,"args":null}`, `{` + c + `,"env":{"A":1}}`,
		`{` + c + `,"env":null}`, `{` + c + `,"env":[]}`, `{` + c + `,"cwd":5}`, `{"type":"foo",` + c + `}`, `{"type":"STDIO",` + c + `}`, `{"type":null,` + c + `}`,
		`{"type":"ws","url":"ws://h"}`, `{"type":"http"}`, `{"type":"http",` + c + `}`, `{"type":"local",` + u + `}`, `{"url":"nonsense"}`, `{"url":""}`, `{"url":"/x"}`,
		`{"url":"${URL}"}`, `{"url":5}`, `{"url":"http://"}`, `{"url":"https://h:99999"}`, `{"url":"1a:b"}`, `{"url":"http://[x"}`, `{` + u + `,"headers":{"A":1}}`,
		`{` + u + `,"headers":null}`, `{"command":5,` + u + `}`, `{` + c + `,"tools":"*"}`, `{` + c + `,"tools":[1]}`, `{` + c + `,"timeout":"5"}`, `{` + c + `,"timeout":-5}`,
		`{` + c + `,"timeout":0}`, `{` + c + `,"timeout":1.5}`, `{` + u + `,"oauthClientId":5}`, `{` + u + `,"oauthPublicClient":5}`, `{` + u + `,"oauthGrantType":5}`,
		`{` + c + `,"filterMapping":5}`, `{` + c + `,"filterMapping":"all"}`, `{` + c + `,"deferTools":"x"}`, `{` + u + `,"auth":5}`, `{` + c + `,"oidc":5}`, `{` + c + `,"disabled":"x"}`,
	}
	var entries []string
	want := map[string]string{}
	for text, transport := range listed {
		name := fmt.Sprint("n", len(entries))
		entries, want[name] = append(entries, fmt.Sprintf("%q: %s", name, text)), transport
	}
	for _, text := range dropped {
		name := fmt.Sprint("n", len(entries))
		entries, want[name] = append(entries, fmt.Sprintf("%q: %s", name, text)), ""
	}
	entries, want[""] = append(entries, `"": {`+c+`}`), ""
	tr := layTree(t, map[string]string{copilotUser: mcpServers(entries...)}, nil)
	for _, cell := range tr.column(copilotCLI()).Cells {
		got := ""
		if cell.Decision == model.DecisionLoads {
			got = string(cell.Definition.Transport)
		} else if cell.Reason.Code != model.ReasonEntryInvalid {
			t.Errorf("%q is %s", cell.Name, tr.describe(cell))
		}
		if got != want[cell.Name] {
			i := slices.IndexFunc(entries, func(e string) bool { return strings.HasPrefix(e, fmt.Sprintf("%q:", cell.Name)) })
			t.Errorf("%s: %q, want %q", entries[i], got, want[cell.Name])
		}
	}
}

func TestCopilotLaunch(t *testing.T) {
	t.Parallel()
	tr := layTree(t, map[string]string{copilotUser: mcpServers(`"a b": {"command":"x","args":["${V}"],"env":{"A":"$V","B":"${NOPE}","C":"pay $5"},"tools":["one"],"timeout":1500}`, `"c": {"command":"x","tools":["*"]}`)},
		map[string]string{"V": "v"})
	col := tr.column(copilotCLI())
	h := copilotCLI()
	a := cellNamed(col, "a b")
	l := h.LaunchFor(tr.env, &a.Entry)
	if !slices.Equal(l.Args, []string{"v"}) || !slices.Contains(l.Env, "A=v") || !slices.Contains(l.Env, "C=pay $5") || !slices.Equal(l.Unset, []string{"NOPE"}) || l.Limit != 1500*time.Millisecond {
		t.Errorf("arguments %q, environment %q, unset %q, %v", l.Args, l.Env, l.Unset, l.Limit)
	}
	if h.Launch.Drops(a.Filter, "a b", "one") || !h.Launch.Drops(a.Filter, "a b", "two") || cellNamed(col, "c").Filter != nil {
		t.Error("the list of tools is not kept to")
	}
	if got := h.Launch.ToolName("a b", "one"); got != "a_b-one" {
		t.Errorf("tool name %s", got)
	}
}

// TestCopilotCapabilities: what can be done, or why not.
func TestCopilotCapabilities(t *testing.T) {
	t.Parallel()
	tr := layTree(t, map[string]string{gitHead: "", copilotConfig: copilotTrust, copilotUser: mcpServers(`"a": {"command":"x"}`, `"off": {"url":"https://example.com"}`, `"bad": 7`),
		"./.github/copilot/settings.json": `{"disabledMcpServers":["off"]}`, copilotSettings: `{`}, nil)
	col := tr.column(copilotCLI())
	for name, want := range map[string]model.Capabilities{
		"a":   {Toggle: "settings.json is broken: mend it first", Approve: "not needed, user scope", Login: "not needed"},
		"off": {Toggle: "the repository's settings switch it off: only they can switch it on", Approve: "not needed, user scope"},
		"bad": {Toggle: "the entry does not load: mend it first", Approve: "the entry does not load: mend it first", Login: "not needed"},
	} {
		if got := cellNamed(col, name).Capabilities; got != want {
			t.Errorf("%s: %+v", name, got)
		}
	}
	if col.Untrusted {
		t.Error("the folder is trusted")
	}
	tr = layTree(t, map[string]string{"./.mcp.json": mcpServers(`"a": {"command":"x"}`)}, nil)
	if col := tr.column(copilotCLI()); !col.Untrusted || cellNamed(col, "a").Capabilities.Approve != "" {
		t.Error("trusting the folder is what the column waits for")
	}
}

func FuzzResolveCopilot(f *testing.F) {
	f.Add(mcpServers(`"a": {"command":"x","env":{"T":"@CANARY@"}}`), mcpServers(`"a": {"url":"https://example.com/@CANARY@"}`), copilotTrust, `{"disabledMcpServers":["a"]}`)
	f.Add(`{"mcpServers":{"a":7,"":{},"b":{"type":"@CANARY@"}}}`, `{"a":{"command":"${X}","tools":[]},"servers":{}}`, `{"trusted_folders":["/"]}`, `{"disabledMcpServers":"a"}`)
	f.Add("\ufeff{// c\n\"mcpServers\":{},}", `{"mcpServers":`, ``, `[`)
	f.Fuzz(func(t *testing.T, user, workspace, config, settings string) {
		tr := layTree(t, map[string]string{gitHead: "", copilotUser: withCanary(user), "./.mcp.json": withCanary(workspace), copilotConfig: config,
			copilotSettings: settings, "./.github/copilot/settings.json": settings}, map[string]string{"CANARY": canary})
		checkColumn(t, tr.column(copilotCLI()))
	})
}
