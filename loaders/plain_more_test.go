package loaders

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"fusebox/model"
)

const (
	rooUser  = "~/.config/Code/User/globalStorage/rooveterinaryinc.roo-cline/settings/mcp_settings.json"
	kiroUser = "~/.kiro/settings/mcp.json"
	ampUser  = "~/.config/amp/settings.json"
	kimiUser = "~/.kimi-code/mcp.json"
)

func TestRooResolve(t *testing.T) {
	t.Parallel()
	a := `"a": {"command":"x"}`
	runCases(t, rooCode(), []resolveCase{
		{name: "the user's entries one by one", files: map[string]string{rooUser: mcpServers(a, `"u": {"url":"https://example.com"}`, `"h": {"type":"streamable-http","url":"https://example.com"}`, `"s": {"type":"sse","url":"https://example.com","headers":{"A":"${env:NOPE}"}}`,
			`"m": {"command":"x","url":"https://example.com"}`, `"t": {"type":"http","url":"https://example.com"}`, `"off": {"command":"x","disabled":true}`, `"n": 7`, `"e": {"type":"stdio"}`, `"l": {"command":"x","timeout":0}`, `"w": {"type":"sse","command":"x"}`)},
			want: map[string]string{
				"a":   "configured | user " + rooUser + ":3",
				"u":   "error entry-invalid " + rooUser + ":4 | user " + rooUser + ":4 | url-without-type:4",
				"h":   "configured | user " + rooUser + ":5",
				"s":   "configured | user " + rooUser + ":6 | unset-variable",
				"m":   "error entry-invalid " + rooUser + ":7 | user " + rooUser + ":7",
				"t":   "error entry-invalid " + rooUser + ":8 | user " + rooUser + ":8",
				"off": "disabled switched-off " + rooUser + ":9 | user " + rooUser + ":9",
				"n":   "error entry-invalid " + rooUser + ":10 | user " + rooUser + ":10",
				"e":   "error entry-invalid " + rooUser + ":11 | user " + rooUser + ":11",
				"l":   "error entry-invalid " + rooUser + ":12 | user " + rooUser + ":12",
				"w":   "error entry-invalid " + rooUser + ":13 | user " + rooUser + ":13"}},
		{name: "the project's beats the user's", files: map[string]string{rooUser: mcpServers(a), "./.roo/mcp.json": mcpServers(a)},
			want: map[string]string{"a": "configured | project ./.roo/mcp.json:3 | beats user " + rooUser + ":3 | from-repository"}},
		{name: "but not when it is off", files: map[string]string{rooUser: mcpServers(a), "./.roo/mcp.json": mcpServers(`"a": {"command":"y","disabled":true}`)},
			want: map[string]string{"a": "configured | user " + rooUser + ":3 | beats project ./.roo/mcp.json:3"}},
		{name: "a mistake empties the project's file", files: map[string]string{rooUser: mcpServers(a), "./.roo/mcp.json": mcpServers(a, `"b": {"url":"x"}`)},
			want: map[string]string{
				"a": "configured | user " + rooUser + ":3 | pending project error file-refused ./.roo/mcp.json:3",
				"b": "error file-refused ./.roo/mcp.json:4 | project ./.roo/mcp.json:4 | url-without-type:4 | from-repository"}},
	})
}

func TestKiroResolve(t *testing.T) {
	t.Parallel()
	a := `"a": {"command":"x"}`
	agent := `{"name":"dev","mcpServers":{"g":{"command":"x"}}}`
	runCases(t, kiro(), []resolveCase{
		{name: "the folder's beats the user's", files: map[string]string{kiroUser: mcpServers(a, `"off": {"url":"https://example.com","disabled":true}`, `"n": []`, `"e": {}`), "./.kiro/settings/mcp.json": mcpServers(`"a": {"command":"${NOPE}","enabled":true}`)},
			want: map[string]string{
				"a":   "configured | project ./.kiro/settings/mcp.json:3 | beats user ~/.kiro/settings/mcp.json:3 | key-without-effect:3 | unset-variable | from-repository",
				"off": "disabled switched-off ~/.kiro/settings/mcp.json:4 | user ~/.kiro/settings/mcp.json:4",
				"n":   "error entry-invalid ~/.kiro/settings/mcp.json:5 | user ~/.kiro/settings/mcp.json:5",
				"e":   "error entry-invalid ~/.kiro/settings/mcp.json:6 | user ~/.kiro/settings/mcp.json:6"}},
		{name: "agents", files: map[string]string{"~/.kiro/agents/dev.json": agent, "./.kiro/agents/x.json": `{"mcpServers":{}}`}, notes: []string{"servers-of-an-agent"}},
		{name: "the default agent", files: map[string]string{"~/.kiro/agents/a.json": agent, "~/.kiro/settings/cli.json": `{"chat.defaultAgent":"dev"}`}, want: map[string]string{"g": "configured | user ~/.kiro/agents/a.json:1"}},
		{name: "an empty file", files: map[string]string{kiroUser: ""}},
		{name: "a broken one leaves the other", files: map[string]string{kiroUser: mcpServers(a), "./.kiro/settings/mcp.json": `{"mcpServers":{"a":{}`}, want: map[string]string{"a": "configured | user ~/.kiro/settings/mcp.json:3 | pending project error file-refused ./.kiro/settings/mcp.json:1"}},
	})
}

func TestAmpResolve(t *testing.T) {
	t.Parallel()
	amp := func(entries string) string { return "{ // c\n\"amp.mcpServers\": {\n" + entries + "\n},}" }
	runCases(t, ampCode(), []resolveCase{
		{name: "user", files: map[string]string{ampUser: amp(`"a": {"command":"x","args":["${NOPE}"],"disabled":true}, "u": {"url":"https://example.com"}, "n": 5, "e": {}`)},
			want: map[string]string{
				"a": "configured | user ~/.config/amp/settings.json:3 | key-without-effect:3 | unset-variable",
				"u": "configured | user ~/.config/amp/settings.json:3",
				"n": "error entry-invalid ~/.config/amp/settings.json:3 | user ~/.config/amp/settings.json:3",
				"e": "error entry-invalid ~/.config/amp/settings.json:3 | user ~/.config/amp/settings.json:3"}},
		{name: "nobody can tell whether a project's is approved", files: map[string]string{ampUser: amp(`"a": {"command":"x"}`), "./.amp/settings.json": amp(`"a": {"command":"y"}, "b": {"command":"y"}, "n": 5`)},
			want: map[string]string{
				"a": "configured | user ~/.config/amp/settings.json:3 | pending project unknown approval-not-computable ./.amp/settings.json:3",
				"b": "unknown approval-not-computable ./.amp/settings.json:3 | project ./.amp/settings.json:3 | from-repository",
				"n": "error entry-invalid ./.amp/settings.json:3 | project ./.amp/settings.json:3 | from-repository"}},
		{name: "wrong keys", files: map[string]string{ampUser: `{"mcpServers":{"a":{}},"amp":{"mcpServers":{}},"amp.mcpPermissions":[{}]}`}, notes: []string{"not-evaluated", "wrong-key", "wrong-key"}},
	})
}

func TestKimiResolve(t *testing.T) {
	t.Parallel()
	a := `"a": {"command":"x"}`
	trusted := func(tr *tree) {
		writeFile(t, tr.home+"/.kimi-code/workspace-trust/"+kimiFolderKey(tr.env.Project), "{}")
	}
	place := func(files map[string]string, trust bool) (*tree, *model.Column) {
		tr := layTree(t, files, nil)
		if trust {
			trusted(tr)
		}
		return tr, tr.column(kimiCode())
	}
	for name, tc := range map[string]struct {
		files map[string]string
		trust bool
		want  map[string]string
	}{
		"user": {map[string]string{kimiUser: mcpServers(a, `"s": {"transport":"sse","url":"https://example.com"}`, `"h": {"url":"https://example.com"}`, `"off": {"command":"x","enabled":false,"disabled":false}`)}, false,
			map[string]string{"a": "configured | user ~/.kimi-code/mcp.json:3", "s": "configured | user ~/.kimi-code/mcp.json:4", "h": "configured | user ~/.kimi-code/mcp.json:5",
				"off": "disabled switched-off ~/.kimi-code/mcp.json:6 | user ~/.kimi-code/mcp.json:6 | key-without-effect:6"}},
		"a token that is not set": {map[string]string{kimiUser: mcpServers(`"a": {"url":"https://example.com","bearerTokenEnvVar":"NOPE"}`)}, false,
			map[string]string{"a": "configured | user ~/.kimi-code/mcp.json:3 | unset-variable:3"}},
		"not trusted": {map[string]string{gitHead: "", kimiUser: mcpServers(a), "./.mcp.json": mcpServers(a, `"b": {"command":"x"}`)}, false,
			map[string]string{"a": "configured | user ~/.kimi-code/mcp.json:3 | pending project unapproved untrusted-folder ./.mcp.json:3",
				"b": "unapproved untrusted-folder @TRUST@ | project ./.mcp.json:4 | from-repository"}},
		"trusted": {map[string]string{gitHead: "", kimiUser: mcpServers(a), "./.mcp.json": mcpServers(a), "./.kimi-code/mcp.json": mcpServers(a)}, true,
			map[string]string{"a": "configured | project ./.kimi-code/mcp.json:3 | beats project ./.mcp.json:3 | beats user ~/.kimi-code/mcp.json:3 | from-repository"}},
		"one mistake": {map[string]string{gitHead: "", kimiUser: mcpServers(a), "./.mcp.json": mcpServers(`"b": {"type":"http"}`)}, true,
			map[string]string{"a": "error file-refused ./.mcp.json:3 | user ~/.kimi-code/mcp.json:3", "b": "error file-refused ./.mcp.json:3 | project ./.mcp.json:3 | from-repository"}},
	} {
		tr, col := place(tc.files, tc.trust)
		for n, want := range tc.want {
			if at := "~/.kimi-code/workspace-trust/" + kimiFolderKey(tr.env.Project) + ":1"; want == "unapproved untrusted-folder @TRUST@ | project ./.mcp.json:4 | from-repository" {
				want = "unapproved untrusted-folder " + at + " | project ./.mcp.json:4 | from-repository"
			}
			if got := tr.describe(cellNamed(col, n)); got != want {
				t.Errorf("%s: %s:\n got %s\nwant %s", name, n, got, want)
			}
		}
	}
	if got := kimiFolderKey("/home/u/My Proj!"); got[:11] != "wd_my-proj_" || len(got) != 23 {
		t.Errorf("key %s", got)
	}
}

func FuzzResolveRoo(f *testing.F) { plainFuzz(f, rooCode(), rooUser, "./.roo/mcp.json") }
func FuzzResolveKiro(f *testing.F) {
	plainFuzz(f, kiro(), kiroUser, "./.kiro/settings/mcp.json", "~/.kiro/agents/a.json")
}
func FuzzResolveAmp(f *testing.F) {
	f.Add(`{"amp.mcpServers":{"a":{"command":"@CANARY@"},"b":7}}`)
	plainFuzz(f, ampCode(), ampUser, "./.amp/settings.json")
}
func FuzzResolveKimi(f *testing.F) {
	plainFuzz(f, kimiCode(), kimiUser, "./.mcp.json", "./.kimi-code/mcp.json")
}

// TestStrangeReferences: what is written as another harness writes a variable stays text, and the entry says so.
func TestStrangeReferences(t *testing.T) {
	t.Parallel()
	taken := func(inside string) bool { return strings.HasPrefix(inside, "env:") || inside == "HOME" }
	d := &model.Definition{Command: "x", Args: model.Secrets([]string{"${HOME}/${env:A}", "${TOKEN:-s3cret}", "{env:B} {file:/x}", "${TOKEN}", "${}", "${!x}", "$NAME", "{}", "${{ secrets.T }}"}),
		Headers: []model.Variable{{Name: "Authorization", Value: model.NewSecret("Bearer ${input:t} ${TOKEN}")}}}
	var got []string
	for _, f := range strangeReferences("Prog", d, taken) {
		got = append(got, string(f.Severity)+" "+strings.TrimSuffix(f.Text, " is not known to be filled in by Prog: the text stays as written"))
	}
	want := []string{"info ${TOKEN…}", "warning {env:B}", "warning {file…}", "info ${TOKEN}", "warning ${input…}"}
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	const stays = "configured | user %s:3 | unset-variable"
	reference := mcpServers(`"a": {"command":"x","env":{"T":"${TOKEN}"}}`)
	for _, tc := range []struct {
		h    Harness
		file string
	}{{claudeDesktop(), desktopFile}, {antigravity(), antigravityFile}, {windsurf(), windsurfFile}, {clineExtension(), clineUser}, {rooCode(), rooUser}, {kimiCode(), kimiUser}} {
		tr := layTree(t, map[string]string{tc.file: reference}, map[string]string{"TOKEN": "t"})
		if got := tr.describe(cellNamed(tr.column(tc.h), "a")); got != fmt.Sprintf(stays, tc.file) {
			t.Errorf("%s: %s", tc.h.ID, got)
		}
	}
	for _, tc := range []struct {
		h    Harness
		file string
	}{{kiro(), kiroUser}, {openClaw(), clawFile}} { // these fill it in
		text := reference
		if tc.file == clawFile {
			text = `{"mcp":{"servers":{"a":{"command":"x","env":{"T":"${TOKEN}"}}}}}`
		}
		tr := layTree(t, map[string]string{tc.file: text}, map[string]string{"TOKEN": "t"})
		if c := cellNamed(tr.column(tc.h), "a"); len(c.Findings) != 0 {
			t.Errorf("%s: %s", tc.h.ID, tr.describe(c))
		}
	}
}
