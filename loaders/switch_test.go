package loaders

import (
	"flag"
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"
)

// switchCase is a tree and a wish. What the answer is stands in testdata/switch_options.txt.
type switchCase struct {
	name    string
	harness Harness
	server  string
	wish    Wish
	files   map[string]string // as layTree takes them
	vars    map[string]string // START is the folder of the session
	shows   []string          // files to show after the first option that can be taken
}

// answerText writes an answer: a line per option.
func (tr *tree) answerText(a Answer) string {
	text := tr.plain
	switch {
	case a.Already:
		return "already"
	case len(a.Options) == 0:
		return "refused: " + text(a.Refused)
	}
	var out []string
	for _, o := range a.Options {
		line := string(o.Reach)
		if o.TrustsFolder {
			line += " trusting"
		}
		if o.Done {
			line += " done"
		}
		if o.Plan() != nil {
			for _, p := range o.Plan().Paths() {
				line += " " + tr.plain(tr.short(p))
			}
		}
		for _, part := range []struct{ label, text string }{{"unavailable", o.Unavailable}, {"missing", o.Missing}, {"lets in", o.LetsIn}, {"warning", o.Warning}} {
			if part.text != "" {
				line += " | " + part.label + ": " + text(part.text)
			}
		}
		out = append(out, line)
	}
	return strings.Join(out, "\n")
}

const switchOptions = "testdata/switch_options.txt"

// TestSwitchOptions asks what can be done in small trees, one rule each, and compares with what was written down:
// go test -run TestSwitchOptions -update writes it anew, for reading.
func TestSwitchOptions(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("files hold paths of a Unix system")
	}
	var got strings.Builder
	for _, test := range switchCases() {
		tr := layTree(t, test.files, test.vars)
		if start := tr.env.Var("START"); start != "" {
			tr.env.Project = start
			if err := os.MkdirAll(start, 0o700); err != nil {
				t.Fatal(err)
			}
		}
		b := NewSwitchboard(tr.env, test.harness)
		cell := b.Cell(test.server)
		if cell == nil {
			t.Fatalf("%s: no cell %s", test.name, test.server)
		}
		answer := b.Ask(cell, test.wish)
		fmt.Fprintf(&got, "== %s\n%s\n", test.name, tr.answerText(answer))
		if len(test.shows) > 0 {
			for _, o := range answer.Options {
				if o.Plan() == nil {
					continue
				}
				if a := o.Plan().Apply(nil, ""); a.Err != nil {
					t.Fatalf("%s: %v", test.name, a.Err)
				}
				break
			}
		}
		for _, name := range test.shows {
			data, err := os.ReadFile(tr.path(name))
			if err != nil {
				t.Fatalf("%s: %v", test.name, err)
			}
			fmt.Fprintf(&got, "-- %s\n%s\n", name, tr.plain(string(data)))
		}
	}
	if f := flag.Lookup("update"); f != nil && f.Value.String() == "true" {
		if err := os.WriteFile(switchOptions, []byte(got.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(switchOptions)
	if err != nil {
		t.Fatal(err)
	}
	sections := func(text string) []string { return strings.Split(text, "\n== ") }
	w, g := sections(string(want)), sections(got.String())
	for i := range max(len(w), len(g)) {
		var x, y string
		if i < len(w) {
			x = w[i]
		}
		if i < len(g) {
			y = g[i]
		}
		if x != y {
			t.Errorf("got\n%s\nwant\n%s", y, x)
		}
	}
}

// plain writes a text without the folders of this run.
func (tr *tree) plain(text string) string {
	slug := strings.Trim(notLetterOrDigit.ReplaceAllString(tr.project, "-"), "-")
	return strings.NewReplacer(tr.project, "@PROJECT@", tr.home, "@HOME@", tr.env.Root, "", slug, "@SLUG@").Replace(text)
}

func switchCases() []switchCase {
	const docs = `{"mcpServers": {"docs": {"command": "x"}, "other": {"command": "y"}}}`
	const trusted = `{"projects": {"@PROJECT@": {"hasTrustDialogAccepted": true}}}`
	const git = "./.git/HEAD"
	var cases []switchCase
	add := func(h Harness, name, server string, wish Wish, files, vars map[string]string, shows ...string) {
		cases = append(cases, switchCase{fmt.Sprintf("%s/%s", h.ID, name), h, server, wish, files, vars, shows})
	}
	claude := claudeCode()
	add(claude, "off", "a", WishOff, map[string]string{"~/.claude.json": `{"mcpServers": {"a": {"command": "x"}}}`}, nil)
	add(claude, "off already", "a", WishOff, map[string]string{"~/.claude.json": `{"mcpServers": {"a": {"command": "x"}}, "projects": {"@PROJECT@": {"disabledMcpServers": ["a"]}}}`}, nil)
	add(claude, "on already", "a", WishOn, map[string]string{"~/.claude.json": `{"mcpServers": {"a": {"command": "x"}}}`}, nil)
	add(claude, "on, still waits", "docs", WishOn, map[string]string{"~/.claude.json": `{"projects": {"@PROJECT@": {"hasTrustDialogAccepted": true, "disabledMcpServers": ["docs"]}}}`, "./.mcp.json": docs}, nil)
	add(claude, "blocked", "a", WishOff, map[string]string{"~/.claude.json": `{"mcpServers": {"a": {"command": "x"}}}`, "~/.claude/settings.json": `{"deniedMcpServers": [{"serverName": "a"}]}`}, nil)
	add(claude, "blocked, on", "a", WishOn, map[string]string{"~/.claude.json": `{"mcpServers": {"a": {"command": "x"}}}`, "~/.claude/settings.json": `{"deniedMcpServers": [{"serverName": "a"}]}`}, nil)
	add(claude, "wrong list", "a", WishOff, map[string]string{"~/.claude.json": `{"mcpServers": {"a": {"command": "x"}}, "projects": {"@PROJECT@": {"disabledMcpServers": {}}}}`}, nil)
	add(claude, "other main file", "a", WishOff, map[string]string{"~/.claude.json": `{}`, "~/.claude/.config.json": `{"mcpServers": {"a": {"command": "x"}}}`}, nil)
	add(claude, "config dir", "a", WishOff, map[string]string{"~/c/.claude.json": `{"mcpServers": {"a": {"command": "x"}}}`}, map[string]string{"CLAUDE_CONFIG_DIR": "@HOME@/c"})
	add(claude, "broken main file", "docs", WishOff, map[string]string{"~/.claude.json": `{"mcpServers": `, "./.mcp.json": docs}, nil)
	add(claude, "approve", "docs", WishApprove, map[string]string{"~/.claude.json": trusted, "./.mcp.json": docs}, nil)
	add(claude, "approve untrusted", "docs", WishApprove, map[string]string{"./.mcp.json": docs, "./.claude/settings.json": `{"enabledMcpjsonServers": ["other"]}`}, nil)
	add(claude, "approve rejected spellings", "do cs", WishApprove, map[string]string{"~/.claude.json": trusted,
		"./.mcp.json": `{"mcpServers": {"do cs": {"command": "x"}}}`, "./.claude/settings.local.json": `{"disabledMcpjsonServers": ["do_cs", "z", "do cs"]}`}, nil, "./.claude/settings.local.json")
	add(claude, "approve, one name as a text", "docs", WishApprove, map[string]string{"~/.claude.json": trusted, "./.mcp.json": docs,
		"./.claude/settings.local.json": `{"enabledMcpjsonServers": "other"}`}, nil, "./.claude/settings.local.json")
	add(claude, "approve, legacy rejection", "docs", WishApprove, map[string]string{"~/.claude.json": `{"projects": {"@PROJECT@": {"hasTrustDialogAccepted": true, "disabledMcpjsonServers": ["docs"]}}}`,
		"./.mcp.json": docs}, nil)
	add(claude, "approve, rejected by the repository", "docs", WishApprove, map[string]string{"~/.claude.json": trusted, "./.mcp.json": docs, "./.claude/settings.json": `{"disabledMcpjsonServers": ["docs"]}`}, nil)
	add(claude, "approve, rejected by the user", "docs", WishApprove, map[string]string{"~/.claude.json": trusted, "./.mcp.json": docs, "~/.claude/settings.json": `{"disabledMcpjsonServers": ["docs"]}`}, nil)
	add(claude, "approve, ignored local settings", "docs", WishApprove, map[string]string{"~/.claude.json": trusted, "./.mcp.json": docs, "./.claude/settings.local.json": `{"model": 7}`}, nil)
	add(claude, "approve, broken local settings", "docs", WishApprove, map[string]string{"~/.claude.json": trusted, "./.mcp.json": docs, "./.claude/settings.local.json": `{`}, nil)
	add(claude, "approve, blank local settings", "docs", WishApprove, map[string]string{"~/.claude.json": trusted, "./.mcp.json": docs, "./.claude/settings.local.json": "\n"}, nil)
	add(claude, "approve, approved but untrusted", "docs", WishApprove, map[string]string{"./.mcp.json": docs, "./.claude/settings.local.json": `{"enabledMcpjsonServers": ["docs"]}`}, nil)
	add(claude, "approve behind the user's own", "docs", WishApprove, map[string]string{"~/.claude.json": `{"mcpServers": {"docs": {"command": "mine"}}, "projects": {"@PROJECT@": {"hasTrustDialogAccepted": true}}}`, "./.mcp.json": docs}, nil)
	add(claude, "approve, needless", "a", WishApprove, map[string]string{"~/.claude.json": `{"mcpServers": {"a": {"command": "x"}}}`}, nil)
	add(claude, "approve below the root", "docs", WishApprove, map[string]string{"~/repo/.git/HEAD": "x", "~/repo/.mcp.json": docs, "~/repo/sub/x": ""}, map[string]string{"START": "@HOME@/repo/sub"})
	add(claude, "revoke", "docs", WishRevoke, map[string]string{"~/.claude.json": trusted, "./.mcp.json": docs, "./.claude/settings.local.json": `{"enabledMcpjsonServers": ["docs"]}`}, nil)
	add(claude, "revoke what the repository approved", "docs", WishRevoke, map[string]string{"~/.claude.json": trusted, "./.mcp.json": docs, "./.claude/settings.json": `{"enableAllProjectMcpServers": true}`}, nil)
	add(claude, "revoke what the user approved", "docs", WishRevoke, map[string]string{"~/.claude.json": trusted, "./.mcp.json": docs, "~/.claude/settings.json": `{"enabledMcpjsonServers": ["docs"]}`}, nil)
	add(claude, "revoke nothing", "docs", WishRevoke, map[string]string{"~/.claude.json": trusted, "./.mcp.json": docs}, nil)
	add(claude, "revoke an own server", "a", WishRevoke, map[string]string{"~/.claude.json": `{"mcpServers": {"a": {"command": "x"}}}`}, nil)

	codex := codexCLI()
	const trustedCodex = "[projects.\"@PROJECT@\"]\ntrust_level = \"trusted\"\n"
	add(codex, "user", "a", WishOff, map[string]string{userCodex: stdioTOML("a")}, nil)
	add(codex, "user, trusted", "a", WishOff, map[string]string{userCodex: trustedCodex + stdioTOML("a")}, nil)
	add(codex, "user, trusted, git", "a", WishOff, map[string]string{userCodex: trustedCodex + stdioTOML("a"), git: "x"}, nil)
	add(codex, "project", "p", WishOff, map[string]string{userCodex: trustedCodex, projectCodex: stdioTOML("p"), git: "x"}, nil, projectCodex)
	add(codex, "project switch of a user's server", "a", WishOn, map[string]string{userCodex: trustedCodex + stdioTOML("a"), projectCodex: "# mine\n[mcp_servers.a]\nenabled = false\n"}, nil, projectCodex)
	add(codex, "off in both", "a", WishOn, map[string]string{userCodex: trustedCodex + stdioTOML("a") + "enabled = false\n", projectCodex: "[mcp_servers.a]\nenabled = false\n"}, nil)
	add(codex, "home is the project", "a", WishOff, map[string]string{projectCodex: trustedCodex + stdioTOML("a")}, map[string]string{"CODEX_HOME": "@PROJECT@/.codex"})
	add(codex, "managed", "a", WishOn, map[string]string{userCodex: stdioTOML("a"), managedCodex: "[mcp_servers.a]\nenabled = false\n"}, nil)
	add(codex, "inline", "a", WishOff, map[string]string{userCodex: "mcp_servers = { a = { command = \"x\" } } # one line\n"}, nil, userCodex)
	add(codex, "untrusted", "p", WishOff, map[string]string{projectCodex: stdioTOML("p")}, nil)
	add(codex, "trust", "p", WishApprove, map[string]string{projectCodex: stdioTOML("p") + stdioTOML("q")}, nil, userCodex)
	add(codex, "trust what would break it", "p", WishApprove, map[string]string{projectCodex: stdioTOML("p") + "[mcp_servers.q]\n"}, nil)
	add(codex, "trust what is marked untrusted", "p", WishApprove, map[string]string{userCodex: "[projects.\"@PROJECT@\"]\ntrust_level = \"untrusted\"\nnote = 1\n", projectCodex: stdioTOML("p")}, nil, userCodex)
	add(codex, "trust behind the user's own", "a", WishApprove, map[string]string{userCodex: stdioTOML("a"), projectCodex: stdioTOML("a")}, nil)
	add(codex, "revoke trust", "p", WishRevoke, map[string]string{userCodex: "model = \"x\"\n\n" + trustedCodex, projectCodex: stdioTOML("p") + stdioTOML("q")}, nil, userCodex)
	add(codex, "approve nothing", "a", WishApprove, map[string]string{userCodex: stdioTOML("a")}, nil)

	gem := geminiCLI()
	const geminiUser, geminiTrusted, enablement = "~/.gemini/settings.json", "~/.gemini/trustedFolders.json", "~/.gemini/mcp-server-enablement.json"
	const geminiA = `{"mcpServers": {"A b": {"command": "x"}, "a B": {"command": "x"}, "c": {"command": "x"}}}`
	const trustRule = `{"@PROJECT@": "TRUST_FOLDER"}`
	add(gem, "off", "A b", WishOff, map[string]string{geminiUser: geminiA, geminiTrusted: trustRule}, nil, enablement)
	add(gem, "off with a record", "c", WishOff, map[string]string{geminiUser: geminiA, geminiTrusted: trustRule, enablement: `{"c": {"enabled": true, "note": 1}}`}, nil, enablement)
	add(gem, "on", "c", WishOn, map[string]string{geminiUser: geminiA, geminiTrusted: trustRule, enablement: `{"c": {"enabled": false}, "x": {"enabled": false}}`}, nil, enablement)
	add(gem, "on, untrusted", "c", WishOn, map[string]string{geminiUser: geminiA, enablement: `{"c": {"enabled": false}}`}, nil)
	add(gem, "broken switches", "c", WishOff, map[string]string{geminiUser: geminiA, geminiTrusted: trustRule, enablement: `{"c": `}, nil)
	add(gem, "excluded", "c", WishOn, map[string]string{geminiUser: `{"mcpServers": {"c": {"command": "x"}}, "mcp": {"excluded": ["c"]}}`, geminiTrusted: trustRule}, nil)
	add(gem, "trust", "c", WishApprove, map[string]string{geminiUser: geminiA}, nil, geminiTrusted)
	add(gem, "trust, spelled otherwise", "c", WishApprove, map[string]string{geminiUser: geminiA, geminiTrusted: "{\n  // no\n  \"@PROJECT@/\": \"DO_NOT_TRUST\"\n}\n"}, nil, geminiTrusted)
	add(gem, "trust, a longer rule wins", "c", WishApprove, map[string]string{geminiUser: geminiA, geminiTrusted: `{"@PROJECT@/sub": "DO_NOT_TRUST"}`}, map[string]string{"START": "@PROJECT@/sub/deeper"})
	add(gem, "trust by variable", "c", WishApprove, map[string]string{geminiUser: geminiA}, map[string]string{"GEMINI_CLI_TRUST_WORKSPACE": "false"})
	add(gem, "trust with a broken rule", "c", WishApprove, map[string]string{geminiUser: geminiA, geminiTrusted: `{"/x": "MAYBE"}`}, nil)
	add(gem, "trusted already", "c", WishApprove, map[string]string{geminiUser: geminiA, geminiTrusted: trustRule}, nil)
	add(gem, "revoke", "c", WishRevoke, map[string]string{geminiUser: geminiA, geminiTrusted: trustRule}, nil, geminiTrusted)
	add(gem, "revoke below a rule", "c", WishRevoke, map[string]string{geminiUser: geminiA, geminiTrusted: `{"@HOME@": "TRUST_FOLDER"}`}, nil, geminiTrusted)
	add(gem, "revoke nothing", "c", WishRevoke, map[string]string{geminiUser: geminiA}, nil)

	oc := openCode()
	const local = `{"type": "local", "command": ["x"]}`
	const ocUser, ocProject = "~/.config/opencode/opencode.json", "./opencode.json"
	add(oc, "user", "a", WishOff, map[string]string{ocUser: `{"mcp": {"a": ` + local + `}}`}, nil, ocProject)
	add(oc, "user, git", "a", WishOff, map[string]string{ocUser: `{"mcp": {"a": ` + local + `}}`, git: "x"}, nil, ocUser)
	add(oc, "project", "p", WishOff, map[string]string{ocProject: `{"mcp": {"p": ` + local + `}}`, git: "x"}, nil, ocProject)
	add(oc, "project that insists", "p", WishOff, map[string]string{ocProject: `{"mcp": {"p": {"type": "local", "command": ["x"], "enabled": true}}}`, git: "x"}, nil)
	add(oc, "project that insists, with a folder", "p", WishOff, map[string]string{ocProject: `{"mcp": {"p": {"type": "local", "command": ["x"], "enabled": true}}}`, git: "x", "~/.opencode/": ""}, nil)
	add(oc, "switch of this folder", "a", WishOn, map[string]string{ocUser: `{"mcp": {"a": ` + local + `}}`, ocProject: `{"mcp": {"a": {"enabled": false}}}`}, nil, ocProject)
	add(oc, "switch of the user", "p", WishOn, map[string]string{ocUser: `{"mcp": {"p": {"enabled": false}}}`, ocProject: `{"mcp": {"p": ` + local + `}}`}, nil)
	add(oc, "disabled", "a", WishOn, map[string]string{ocUser: `{"mcp": {"a": {"type": "local", "command": ["x"], "disabled": true}}}`}, nil)
	add(oc, "nested", "a", WishOff, map[string]string{ocUser: `{"mcp": {"servers": {"a": ` + local + `}}}`, git: "x"}, nil, ocUser)
	add(oc, "project files off", "a", WishOff, map[string]string{ocUser: `{"mcp": {"a": ` + local + `}}`}, map[string]string{"OPENCODE_DISABLE_PROJECT_CONFIG": "1"})
	add(oc, "text in a variable", "a", WishOff, nil, map[string]string{"OPENCODE_CONFIG_CONTENT": `{"mcp": {"a": ` + local + `}}`})
	add(oc, "variable decides", "a", WishOn, map[string]string{ocUser: `{"mcp": {"a": ` + local + `}}`}, map[string]string{"OPENCODE_CONFIG_CONTENT": `{"mcp": {"a": {"enabled": false}}}`})
	add(oc, "managed", "a", WishOff, map[string]string{ocUser: `{"mcp": {"a": ` + local + `}}`, "etc/opencode/opencode.json": `{"mcp": {"a": {"enabled": true}}}`}, nil)
	add(oc, "variable in the text", "a", WishOff, map[string]string{ocUser: `{"mcp": {"a": {"type": "local", "command": ["x"], "timeout": {env:MS}}}}`, git: "x"}, map[string]string{"MS": "5000"})
	add(oc, "approve", "a", WishApprove, map[string]string{ocUser: `{"mcp": {"a": ` + local + `}}`}, nil)
	add(oc, "revoke", "a", WishRevoke, map[string]string{ocUser: `{"mcp": {"a": ` + local + `}}`}, nil)

	cur := cursorCLI()
	const curProject, curUser = "./.cursor/mcp.json", "~/.cursor/mcp.json"
	const entry = `{"mcpServers": {"a": {"command": "x"}}}`
	add(cur, "off", "a", WishOff, map[string]string{curUser: entry}, nil)
	add(cur, "off, waiting", "a", WishOff, map[string]string{curProject: entry}, nil)
	add(cur, "approve", "a", WishApprove, map[string]string{curProject: entry}, nil)
	add(cur, "approve behind the user's own", "a", WishApprove, map[string]string{curProject: entry, curUser: `{"mcpServers": {"a": {"command": "mine"}}}`}, nil)
	add(cur, "approve, unset variable", "a", WishApprove, map[string]string{curProject: `{"mcpServers": {"a": {"command": "x", "env": {"T": "${TOKEN}"}}}}`}, nil)
	add(cur, "approve, user", "a", WishApprove, map[string]string{curUser: entry}, nil)
	add(cur, "revoke", "a", WishRevoke, map[string]string{curProject: entry}, nil)
	return cases
}
