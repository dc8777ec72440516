package loaders

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"fusebox/loaders/jsonc"
	"fusebox/model"
)

const (
	deepUser       = "home/.deepagents/.mcp.json"
	deepConfig     = "home/.deepagents/config.toml"
	deepSubfolder  = "project/.deepagents/.mcp.json"
	deepProject    = "project/.mcp.json"
	deepManaged    = "etc/dcode/managed_config.toml"
	deepState      = "home/.deepagents/.state/plugin_state.json"
	deepInstalled  = "home/.deepagents/.state/installed_plugins.json"
	deepPluginRoot = "home/.deepagents/plugins/cache/m/p/1/"
)

// deepScene is a scene in which a program called x is on PATH.
func deepScene(t *testing.T, files, vars map[string]string) *settingsScene {
	t.Helper()
	s := newSettingsScene(t, files, vars)
	s.write("home/bin/x", "#!/bin/sh\n")
	if err := os.Chmod(s.path("home/bin/x"), 0o755); err != nil {
		t.Fatal(err)
	}
	if _, set := s.env.Vars["PATH"]; !set {
		s.env.Vars["PATH"] = s.path("home/bin")
	}
	return s
}

// deepRow is an approval of an entry as deepagents writes it.
func deepRowFor(t *testing.T, root, name, entry string, shared bool) string {
	t.Helper()
	row := fmt.Sprintf("[[mcp.enabled_project_server_approvals]]\nproject_root = %q\nname = %q\nfingerprint = %q\n", root, name, deepFingerprint(deepJSON(t, entry)))
	if shared {
		row += "git_common_dir = true\n"
	}
	return row + "\n"
}

func deepJSON(t *testing.T, text string) jsonc.Value {
	t.Helper()
	doc, err := jsonc.Parse([]byte(text), pythonJSON)
	if err != nil {
		t.Fatal(err)
	}
	return doc.Root()
}

// TestDeepagentsVectors compares with what the functions of deepagents-code 0.1.59 gave.
func TestDeepagentsVectors(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("testdata/deepagents/vectors.json")
	if err != nil {
		t.Fatal(err)
	}
	root := deepJSON(t, string(data))
	text := func(v jsonc.Value, key string) string { s, _ := v.Get(key).Str(); return s }
	flag := func(v jsonc.Value, key string) bool { b, _ := v.Get(key).Bool(); return b }
	each := func(key string, check func(v jsonc.Value)) {
		t.Helper()
		list := root.Get(key).Elements()
		if len(list) == 0 {
			t.Errorf("no vectors of %s", key)
		}
		for _, v := range list {
			check(v)
		}
	}
	lookup := func(name string) (string, bool) { return root.Lookup("env", name).Str() }
	each("interpolation", func(v jsonc.Value) {
		got, unset, malformed := fillDeep(text(v, "in"), lookup)
		fault := map[bool]string{true: "malformed"}[malformed]
		if unset != "" {
			fault = "unset"
		}
		if want := text(v, "error"); fault != want || want == "" && got != text(v, "out") {
			t.Errorf("interpolation of %q: %q %q, want %q %q", text(v, "in"), got, fault, text(v, "out"), want)
		}
	})
	each("transport", func(v jsonc.Value) {
		got, word, _ := deepTransport(v.Get("in"))
		shown := string(got)
		if got == model.TransportUnknown {
			shown, _ = word.Str()
		}
		if shown != text(v, "out") {
			t.Errorf("transport of %s: %s, want %s", v.Raw(), shown, text(v, "out"))
		}
	})
	each("validation", func(v jsonc.Value) {
		if fault, _ := deepFault(text(v, "name"), v.Get("config")); (fault == "") != flag(v, "ok") {
			t.Errorf("%s: fault %q, want ok %t", text(v, "code"), fault, flag(v, "ok"))
		}
	})
	each("tool_match", func(v jsonc.Value) {
		f := &model.ToolFilter{Deny: []string{text(v, "entry")}}
		if got := dropsDeepagents(f, text(v, "server"), text(v, "tool")); got != flag(v, "match") {
			t.Errorf("%s: %t", v.Raw(), got)
		}
	})
	each("fingerprint", func(v jsonc.Value) {
		entry := deepJSON(t, text(v, "json"))
		if canonical, _ := pythonDump(entry, nil); canonical != text(v, "canonical") {
			t.Errorf("%s:\ngot  %s\nwant %s", text(v, "json"), canonical, text(v, "canonical"))
		}
		if got := deepFingerprint(entry); got != text(v, "out") {
			t.Errorf("%s: %s, want %s", text(v, "json"), got, text(v, "out"))
		}
	})
	each("shares_worktrees", func(v jsonc.Value) {
		if got := deepShares(v.Get("in")); got != flag(v, "out") {
			t.Errorf("%s: %t", v.Raw(), got)
		}
	})
	each("token_file", func(v jsonc.Value) {
		if url, ok := v.Get("url").Str(); ok && deepTokenFile(text(v, "name"), url) != text(v, "out") {
			t.Errorf("%s: %s", v.Raw(), deepTokenFile(text(v, "name"), url))
		}
	})
	each("plugin_server_name", func(v jsonc.Value) {
		if got := deepPluginServer(text(v, "plugin"), text(v, "server")); got != text(v, "out") {
			t.Errorf("%s: %s", v.Raw(), got)
		}
	})
	each("plugin_dir_key", func(v jsonc.Value) {
		if got := deepPluginKey(text(v, "in")); got != text(v, "out") {
			t.Errorf("%s: %s", v.Raw(), got)
		}
	})
}

func TestDeepagents(t *testing.T) {
	t.Parallel()
	const (
		x   = `{"command": "x"}`
		two = "{\"mcpServers\": {\n\"a\": {\"command\": \"x\"},\n\"b\": {\"command\": \"x\"}}}"
	)
	plugin := map[string]string{
		deepState:                    `{"version": 1, "enabledPlugins": {"p@m": true, "off@m": false, "p@": true, "gone@m": true}}`,
		deepInstalled:                `{"version": 2, "plugins": {"p@m": [5, {"installPath": "@HOME@/.deepagents/plugins/cache/m/p/1", "version": ""}, {"install_path": "@HOME@/.deepagents/plugins/cache/m/p/1"}], "off@m": [{"installPath": "@HOME@"}]}}`,
		deepPluginRoot + ".mcp.json": "{\n\"a\": {\"command\": \"x\", \"cwd\": \"sub\"},\n\"b\": {\"url\": \"https://h\", \"auth\": \"oauth\"}}",
	}
	for _, c := range []struct {
		name        string
		files, vars map[string]string
		start       string
		want        string
	}{
		{name: "findings", files: map[string]string{deepUser: "{\"mcpServers\": {\n\"a\": {\"command\": \"x\",\n\"disabled\": true,\n\"cwd\": \"/\",\n\"headers\": {},\n\"why\": 1, \"timeout\": 5},\n\"b\": {\"url\": \"https://h\", \"args\": [], \"env\": {}},\n\"a\": {\"command\": \"x\",\n\"enabled\": 1,\n\"cwd\": \"/\",\n\"headers\": {},\n\"why\": 1, \"timeout\": 5},\n\"c\": {\"command\": \"x\", \"args\": [\"${env:X}\"]}}}"},
			want: `
				a: configured user home/.deepagents/.mcp.json:8 stdio {duplicate-key key-without-effect key-without-effect key-without-effect unknown-key}
				b: configured user home/.deepagents/.mcp.json:7 http {key-without-effect key-without-effect}
				c: error entry-invalid(home/.deepagents/.mcp.json:13) user home/.deepagents/.mcp.json:13 stdio {unset-variable}`},
		{name: "other keys for servers", files: map[string]string{deepUser: "{\n\"servers\": {\"a\": {\"command\": \"x\"}}}", deepSubfolder: "[\n]", deepProject: "{\"mcpServers\": []}"},
			want: `
				file home/.deepagents/.mcp.json:2 malformed
				file project/.deepagents/.mcp.json:1 malformed
				file project/.mcp.json:1 malformed
				note file-dropped home/.deepagents/.mcp.json:2
				note file-dropped project/.deepagents/.mcp.json:1
				note file-dropped project/.mcp.json:1`},
		{name: "a broken user file", files: map[string]string{deepUser: "{\"mcpServers\": {\n\"a\": {\"command\": \"x\"},\n\"p\": {\"command\": \"x\"},\n}}", deepProject: `{"mcpServers": {"p": ` + x + `}}`}, vars: map[string]string{deepEnableVariable: "p"},
			want: `
				a: error file-refused(home/.deepagents/.mcp.json:3) user home/.deepagents/.mcp.json:2 stdio
				p: configured project project/.mcp.json:1 stdio |user file-refused home/.deepagents/.mcp.json:3
				file home/.deepagents/.mcp.json:3 malformed
				note file-dropped home/.deepagents/.mcp.json:3`},
		{name: "not a regular file", files: map[string]string{deepUser + "/x": "", deepProject: two},
			want: `
				a: unapproved needs-approval(project/.mcp.json:2) project project/.mcp.json:2 stdio
				b: unapproved needs-approval(project/.mcp.json:3) project project/.mcp.json:3 stdio
				file home/.deepagents/.mcp.json:0 ignored`},
		{name: "stray files", files: map[string]string{deepUser: two, "home/.deepagents/mcp.json": two, "project/mcp.json": two, "project/.deepagents/mcp.json": two, "project/.deepagents/config.toml": "", "home/.deepagents/.state/mcp_trust.json": "{}",
			"home/.mcp.json": two, "project/sub/.mcp.json": two, "project/sub/.deepagents/.mcp.json": two, "project/.git/HEAD": "x"}, start: "project/sub",
			want: `
				a: configured user home/.deepagents/.mcp.json:2 stdio
				b: configured user home/.deepagents/.mcp.json:3 stdio
				file home/.deepagents/mcp.json:0 ignored
				file project/.deepagents/mcp.json:0 ignored
				file project/mcp.json:0 ignored
				file project/.deepagents/config.toml:0 ignored
				file home/.deepagents/.state/mcp_trust.json:0 ignored
				file home/.mcp.json:0 ignored
				file project/sub/.mcp.json:0 ignored
				file project/sub/.deepagents/.mcp.json:0 ignored
				note file-not-read home/.deepagents/mcp.json:1
				note file-not-read project/.deepagents/mcp.json:1
				note file-not-read project/mcp.json:1
				note file-not-read project/.deepagents/config.toml:1
				note file-not-read home/.deepagents/.state/mcp_trust.json:1
				note file-not-read home/.mcp.json:1
				note file-not-read project/sub/.mcp.json:1
				note file-not-read project/sub/.deepagents/.mcp.json:1`},
		{name: "changed since it was approved", files: map[string]string{deepProject: two, deepConfig: deepRowFor(t, "@PROJECT@", "a", x, false) + deepRowFor(t, "@PROJECT@", "b", `{"command": "y"}`, false)},
			want: `
				a: configured project project/.mcp.json:2 stdio
				b: unapproved approval-changed(home/.deepagents/config.toml:6) project project/.mcp.json:3 stdio`},
		{name: "the winner hides an approved one", files: map[string]string{deepSubfolder: two, deepProject: "{\"mcpServers\": {\n\"a\": {\"command\": \"y\"}}}", deepConfig: deepRowFor(t, "@PROJECT@", "a", x, false)},
			want: `
				a: unapproved approval-changed(home/.deepagents/config.toml:1) project project/.mcp.json:2 stdio >project project/.deepagents/.mcp.json:2
				b: unapproved needs-approval(project/.deepagents/.mcp.json:3) project project/.deepagents/.mcp.json:3 stdio`},
		{name: "a row without what it needs", files: map[string]string{deepProject: `{"mcpServers": {"a": ` + x + `}}`, deepConfig: "[[mcp.enabled_project_server_approvals]]\nname = 'a'\n[[mcp.enabled_project_server_approvals]]\nproject_root = 'x'\nname = 'a'\nfingerprint = 'f'\ngit_common_dir = true\n"},
			want: `
				a: unapproved needs-approval(project/.mcp.json:1) project project/.mcp.json:1 stdio
				note approval-not-read home/.deepagents/config.toml:1`},
		{name: "approvals that are no list", files: map[string]string{deepProject: `{"mcpServers": {"a": ` + x + `}}`, deepConfig: "[mcp]\nenabled_project_server_approvals = 5\n"},
			want: `
				a: unapproved needs-approval(project/.mcp.json:1) project project/.mcp.json:1 stdio
				note approval-not-read home/.deepagents/config.toml:2`},
		{name: "allowed by the user's .env", files: map[string]string{deepProject: two, "home/.deepagents/.env": "\n" + deepEnableVariable + "='a,b'\n" + deepRejectVariable + "=b\n"},
			want: `
				a: configured project project/.mcp.json:2 stdio
				b: disabled rejected(home/.deepagents/.env:3) project project/.mcp.json:3 stdio`},
		{name: "a repository below ~/.deepagents", files: map[string]string{"home/.deepagents/repo/.git/HEAD": "x", "home/.deepagents/repo/.mcp.json": two}, start: "home/.deepagents/repo",
			want: `
				a: configured user home/.deepagents/repo/.mcp.json:2 stdio {from-repository}
				b: configured user home/.deepagents/repo/.mcp.json:3 stdio {from-repository}`},
		{name: "plugins", files: plugin,
			want: `
				plugin__p_m_93a3d9d0__a: configured plugin home/.deepagents/plugins/cache/m/p/1/.mcp.json:2 stdio {key-without-effect}
				plugin__p_m_93a3d9d0__b: configured unauthenticated plugin`},
		{name: "commands", files: map[string]string{deepUser: `{"mcpServers": {"a": {"command": "./x"}, "b": {"command": "y"}, "c": {"command": "@HOME@/bin/x"}, "d": {"command": "@HOME@/bin"}, "e": {"command": ""}, "f": {"command": "${NOWHERE:-x}"}}}`, "project/x": "#!"},
			want: `
				a: error command-not-found(home/.deepagents/.mcp.json:1) user home/.deepagents/.mcp.json:1 stdio
				b: error command-not-found(home/.deepagents/.mcp.json:1) user home/.deepagents/.mcp.json:1 stdio
				c: configured user home/.deepagents/.mcp.json:1 stdio
				d: error command-not-found(home/.deepagents/.mcp.json:1) user home/.deepagents/.mcp.json:1 stdio
				e: error command-not-found(home/.deepagents/.mcp.json:1) user home/.deepagents/.mcp.json:1 stdio
				f: configured user home/.deepagents/.mcp.json:1 stdio`},
		{name: "an administrator's broken file", files: map[string]string{deepUser: two, deepProject: `{"mcpServers": {"p": ` + x + `}}`, deepManaged: "mcp = 5\n"},
			want: `
				a: error file-refused(/etc/dcode/managed_config.toml:1) user home/.deepagents/.mcp.json:2 stdio
				b: error file-refused(/etc/dcode/managed_config.toml:1) user home/.deepagents/.mcp.json:3 stdio
				p: error file-refused(/etc/dcode/managed_config.toml:1) project project/.mcp.json:1 stdio
				file /etc/dcode/managed_config.toml:1 malformed
				broken /etc/dcode/managed_config.toml:1`},
		{name: "an administrator rejects", files: map[string]string{deepProject: two, deepManaged: "[mcp]\ndisabled_project_servers = ['a']\n[mcp_disabled]\nservers = 'b'\n"}, vars: map[string]string{deepEnableVariable: "a,b"},
			want: `
				a: disabled blocked-by-policy(/etc/dcode/managed_config.toml:2) project project/.mcp.json:2 stdio
				b: disabled blocked-by-policy(/etc/dcode/managed_config.toml:4) project project/.mcp.json:3 stdio`},
		{name: "an administrator approves", files: map[string]string{deepProject: two, deepConfig: deepRowFor(t, "@PROJECT@", "b", x, false), deepManaged: deepRowFor(t, "@PROJECT@", "a", x, false)}, vars: map[string]string{deepEnableVariable: "b"},
			want: `
				a: configured project project/.mcp.json:2 stdio
				b: unapproved needs-approval(/etc/dcode/managed_config.toml:1) project project/.mcp.json:3 stdio`},
		{name: "an administrator's approvals that are no list", files: map[string]string{deepProject: two, deepConfig: deepRowFor(t, "@PROJECT@", "b", x, false), deepManaged: "[mcp]\nenabled_project_server_approvals = 5\n"}, vars: map[string]string{deepEnableVariable: "a"},
			want: `
				a: unapproved needs-approval(/etc/dcode/managed_config.toml:2) project project/.mcp.json:2 stdio
				b: unapproved needs-approval(/etc/dcode/managed_config.toml:2) project project/.mcp.json:3 stdio
				file /etc/dcode/managed_config.toml:2 malformed
				note policy-not-read /etc/dcode/managed_config.toml:2`},
		{name: "an administrator's .env switch", files: map[string]string{deepUser: `{"mcpServers": {"a": {"command": "${CMD}"}}}`, "project/.env": "CMD=x\n", deepManaged: "[startup]\nread_project_dotenv = false\n"}, vars: map[string]string{deepDotenvVariable: "1"},
			want: `
				a: error entry-invalid(home/.deepagents/.mcp.json:1) user home/.deepagents/.mcp.json:1 stdio {unset-variable}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := deepScene(t, c.files, c.vars)
			if c.start != "" {
				s.env.Project = s.path(c.start)
			}
			if c.name == "plugins" {
				name := deepPluginServer("p@m", "a")
				c.want = fmt.Sprintf(`
					%s: configured plugin home/.deepagents/plugins/cache/m/p/1/.mcp.json:2 stdio {key-without-effect}
					%s: unauthenticated needs-login(home/.deepagents/plugins/cache/m/p/1/.mcp.json:3) plugin home/.deepagents/plugins/cache/m/p/1/.mcp.json:3 http
					note plugin-skipped home/.deepagents/.state/plugin_state.json:1`, name, strings.TrimSuffix(name, "a")+"b")
			}
			s.check(deepAgents(), c.want)
		})
	}
}

// TestDeepagentsGitIdentity: the folder that worktrees share counts only when everything is as git makes it.
func TestDeepagentsGitIdentity(t *testing.T) {
	t.Parallel()
	checkout := func(at string) map[string]string {
		return map[string]string{at + "/HEAD": "ref: x\n", at + "/config": "", at + "/objects/x": "", at + "/refs/x": ""}
	}
	with := func(base map[string]string, more map[string]string) map[string]string {
		out := map[string]string{}
		for _, m := range []map[string]string{base, more} {
			for k, v := range m {
				out[k] = v
			}
		}
		return out
	}
	worktree := with(checkout("home/main/.git"), map[string]string{"project/.git": "gitdir: @HOME@/main/.git/worktrees/w\n", "home/main/.git/worktrees/w/HEAD": "x",
		"home/main/.git/worktrees/w/commondir": "../..\n", "home/main/.git/worktrees/w/gitdir": "@PROJECT@/.git\n"})
	for name, c := range map[string]struct {
		files map[string]string
		want  string
	}{
		"no repository":        {nil, ""},
		"a checkout":           {checkout("project/.git"), "project/.git"},
		"a checkout in part":   {map[string]string{"project/.git/HEAD": "x"}, ""},
		"a bare repository":    {checkout("project"), "project"},
		"a link":               {with(checkout("home/elsewhere"), map[string]string{"project/.git": "-> @HOME@/elsewhere"}), ""},
		"a worktree":           {worktree, "home/main/.git"},
		"a relative worktree":  {with(worktree, map[string]string{"project/.git": "gitdir: ../main/.git/worktrees/w\n"}), "home/main/.git"},
		"two lines":            {with(worktree, map[string]string{"project/.git": "gitdir: @HOME@/main/.git/worktrees/w\nx\n"}), ""},
		"not pointed back to":  {with(worktree, map[string]string{"home/main/.git/worktrees/w/gitdir": "@HOME@/other/.git\n"}), ""},
		"without HEAD":         {with(worktree, map[string]string{"home/main/.git/worktrees/w/HEAD/x": "", "home/main/.git/worktrees/w/HEAD": ""}), ""},
		"another common":       {with(worktree, map[string]string{"home/main/.git/worktrees/w/commondir": "..\n"}), ""},
		"an empty common":      {with(worktree, map[string]string{"home/main/.git/worktrees/w/commondir": "\n"}), ""},
		"a common with a zero": {with(worktree, map[string]string{"home/main/.git/worktrees/w/commondir": "../..\x00\n"}), ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if name == "without HEAD" {
				delete(c.files, "home/main/.git/worktrees/w/HEAD")
			}
			s := newSettingsScene(t, c.files, nil)
			d := newDeepagents(s.env, NewReader(s.env, NewCache()))
			want := ""
			if c.want != "" {
				want = s.path(c.want)
			}
			if got := d.gitCommon(s.project); got != want {
				t.Errorf("got %q, want %q", got, want)
			}
		})
	}
}

func TestPythonDotenv(t *testing.T) {
	t.Parallel()
	lookup := func(name string) (string, bool) { return map[string]string{"OUT": "out"}[name], name == "OUT" }
	for text, want := range map[string]string{ // as python-dotenv 1.2.2 reads them
		"A=1\nB = 2 \nexport C=3\n":              "A=1 B=2 C=3",
		"A='x y' # note\nB=\"a\\nb\\\"c\" #n":    "A=x y B=a\nb\"c",
		"A=x # note\nB=x#y\nC=#z\n":              "A=x B=x#y C=#z",
		"A\nB=\nC=${A}|${B}|${OUT}|${NO:-d}\n":   "A- B= C=||out|d",
		"A=1\nA=2\n":                             "A=2",
		"A='line\nend'\nB=2\n":                   "A=line\nend B=2",
		"A='open\nB=2\n":                         "B=2",
		"'q k'=1\n# A=2\n  B=3\n":                "q k=1 B=3",
		"A=\"x\"y\nB=1\n":                        "B=1",
		"A='a\\'b\\n'\r\nB='c'\rC=\"\\q\\\\\"\n": "A=a'b\\n B=c C=\\q\\",
		"OUT=in\nA=${OUT}\n":                     "OUT=in A=in",
		"=x\nA=1":                                "A=1",
	} {
		entries, ok := pythonDotenv([]byte(text), lookup)
		var got []string
		for _, e := range entries {
			if e.set {
				got = append(got, e.name+"="+e.value)
			} else {
				got = append(got, e.name+"-")
			}
		}
		if strings.Join(got, " ") != want || !ok {
			t.Errorf("%q: %q, want %q", text, strings.Join(got, " "), want)
		}
	}
	if _, ok := pythonDotenv([]byte("A=\xff"), lookup); ok {
		t.Error("what is not UTF-8 is read")
	}
	if e, _ := pythonDotenv([]byte("\n# x\nA='1\n2'\nB=3\n"), lookup); len(e) != 2 || e[0].line != 3 || e[1].line != 5 {
		t.Errorf("lines %+v", e)
	}
}

func TestPythonFnmatch(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text, pattern string
		want          bool
	}{
		{"abc", "a*c", true}, {"abc", "a?c", true}, {"a/b.c", "*", true}, {"", "*", true}, {"", "?", false}, {"é", "?", true},
		{"b", "[a-c]", true}, {"d", "[a-c]", false}, {"-", "[a-]", true}, {"-", "[-a]", true}, {"]", "[]]", true}, {"x", "[!]]", true},
		{"^", "[^a]", true}, {"b", "[^a]", false}, {"[", "[", true}, {"[a", "[a", true}, {"b", "[c-a]", false}, {"b", "[!c-a]", true},
		{"5", "[a-z0-9]", true}, {"-", "[a-c-e]", true}, {"e", "[a-c-e]", true}, {"d", "[a-c-e]", false}, {`\`, `[\]`, true}, {"aXbXc", "a*X*c", true},
	} {
		if got := pythonFnmatch(c.text, c.pattern); got != c.want {
			t.Errorf("%q on %q: %t", c.pattern, c.text, got)
		}
	}
}

func TestDeepagentsSwitches(t *testing.T) {
	t.Parallel()
	const x = `{"command": "x"}`
	const remote = `{"type": "http", "url": "https://docs.example.test/mcp"}`
	servers := `{"mcpServers": {"loc": ` + x + `, "rem": ` + remote + `}}`
	row := deepRowFor(t, "@PROJECT@", "loc", x, false)
	other := deepRowFor(t, "@HOME@/other", "loc", x, false)
	for name, c := range map[string]struct {
		config string
		vars   map[string]string
		server string
		wish   Wish
		reach  Reach
		want   string
	}{
		"approve": {"# mine\n[ui]\na = 1 # keep\n", nil, "loc", WishApprove, ReachHere, "# mine\n[ui]\na = 1 # keep\n\n" + strings.TrimSuffix(row, "\n")},
		"approve for the repository": {"", nil, "rem", WishApprove, ReachHere,
			"[[mcp.enabled_project_server_approvals]]\nproject_root = \"@PROJECT@/.git\"\nname = \"rem\"\nfingerprint = \"" + deepFingerprint(deepJSON(t, remote)) + "\"\ngit_common_dir = true\n"},
		"approve behind others": {"[mcp]\nenabled_project_servers = [\"loc\"]\n\n" + other + "[ui]\n", nil, "loc", WishApprove, ReachHere,
			"[mcp]\n\n" + other + row + "[ui]\n"},
		"approve what is rejected":         {"[mcp]\ndisabled_project_servers = \"loc, b\" # no\n", nil, "loc", WishApprove, ReachHere, "[mcp]\ndisabled_project_servers = \"b\" # no\n\n" + strings.TrimSuffix(row, "\n")},
		"approve what is rejected, a list": {"[mcp]\ndisabled_project_servers = [\" loc\", \"b\"]\n", nil, "loc", WishApprove, ReachHere, "[mcp]\ndisabled_project_servers = [\"b\"]\n\n" + strings.TrimSuffix(row, "\n")},
		"revoke":                           {other + row, nil, "loc", WishRevoke, ReachHere, strings.TrimSuffix(other, "\n")},
		"revoke an inline row":             {"[mcp]\nenabled_project_server_approvals = [{project_root = \"@PROJECT@\", name = \"loc\", x = 1, fingerprint = \"" + deepFingerprint(deepJSON(t, x)) + "\"}]\n", nil, "loc", WishRevoke, ReachHere, "[mcp]\nenabled_project_server_approvals = []\n"},
		"take back a rejection of what the environment names": {"[mcp]\ndisabled_project_servers = [\"loc\", \"b\"]\n", map[string]string{deepEnableVariable: "loc"}, "loc", WishApprove, ReachEverywhere, "[mcp]\ndisabled_project_servers = [\"b\"]\n"},
		"take back a rejection of what is approved":           {"[mcp]\ndisabled_project_servers = [\"loc\"]\n" + row, nil, "loc", WishApprove, ReachHere, "[mcp]\ndisabled_project_servers = []\n" + row},
		"reject":                   {"", map[string]string{deepEnableVariable: "loc"}, "loc", WishRevoke, ReachEverywhere, "[mcp]\ndisabled_project_servers = [\"loc\"]\n"},
		"reject beside a text":     {"[mcp]\ndisabled_project_servers = \"a\"\n", map[string]string{deepEnableVariable: "loc"}, "loc", WishRevoke, ReachEverywhere, "[mcp]\ndisabled_project_servers = \"a, loc\"\n"},
		"off":                      {"", nil, "mine", WishOff, ReachEverywhere, "[mcp]\ndisabled_servers = [\"mine\"]\n"},
		"off beside others":        {"[mcp]\n# these\ndisabled_servers = [\n  \"a\", # a\n]\n", nil, "mine", WishOff, ReachEverywhere, "[mcp]\n# these\ndisabled_servers = [\n  \"a\", # a\n  \"mine\",\n]\n"},
		"off at the old place":     {"[mcp_disabled]\nservers = [\"a\"]\n", nil, "mine", WishOff, ReachEverywhere, "[mcp_disabled]\nservers = [\"a\", \"mine\"]\n"},
		"off where nothing counts": {"[mcp]\ndisabled_servers = 5\n[mcp_disabled]\nservers = 5\n", nil, "mine", WishOff, ReachEverywhere, "[mcp]\ndisabled_servers = [\"mine\"]\n[mcp_disabled]\nservers = 5\n"},
		"on":                       {"[mcp]\ndisabled_servers = [\"a\", \"mine\"]\n", nil, "mine", WishOn, ReachEverywhere, "[mcp]\ndisabled_servers = [\"a\"]\n"},
		"on at the old place":      {"[mcp_disabled]\nservers = [\"mine\"]\n", nil, "mine", WishOn, ReachEverywhere, "[mcp_disabled]\nservers = []\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := deepScene(t, map[string]string{deepProject: servers, deepUser: `{"mcpServers": {"mine": ` + x + `}}`, "project/.git/HEAD": "x", "project/.git/config": "", "project/.git/objects/x": "", "project/.git/refs/x": ""}, c.vars)
			if c.config != "" {
				s.write(deepConfig, c.config)
			}
			b := NewSwitchboard(s.env, deepAgents())
			answer := b.Ask(b.Cell(c.server), c.wish)
			i := slices.IndexFunc(answer.Options, func(o Option) bool { return o.Reach == c.reach && o.Unavailable == "" })
			if i < 0 {
				t.Fatalf("no such option: %+v", answer)
			}
			if applied := answer.Options[i].Plan().Apply(nil, ""); applied.Err != nil {
				t.Fatal(applied.Err)
			}
			got, err := os.ReadFile(s.path(deepConfig))
			if err != nil || string(got) != s.fill(c.want) {
				t.Errorf("%v\ngot:\n%s\nwant:\n%s", err, got, s.fill(c.want))
			}
			if info, err := os.Stat(s.path(deepConfig)); c.config == "" && (err != nil || info.Mode().Perm() != 0o600) {
				t.Errorf("a new file has the mode %v", info.Mode())
			}
		})
	}
}

// TestDeepagentsRejectionBeforeAdministrator: what an administrator approves can be rejected, and the rejection taken back.
func TestDeepagentsRejectionBeforeAdministrator(t *testing.T) {
	t.Parallel()
	const x = `{"command": "x"}`
	const rejected = "[mcp]\ndisabled_project_servers = ['a', 'b']\n"
	s := deepScene(t, map[string]string{deepProject: `{"mcpServers": {"a": ` + x + `, "b": ` + x + `}}`, deepConfig: rejected, deepManaged: deepRowFor(t, "@PROJECT@", "a", x, false)}, nil)
	b := NewSwitchboard(s.env, deepAgents())
	if answer := b.Ask(b.Cell("b"), WishApprove); !strings.Contains(answer.Refused, "administrator") {
		t.Errorf("what no administrator approves: %+v", answer)
	}
	answer := b.Ask(b.Cell("a"), WishApprove)
	if len(answer.Options) != 1 || answer.Options[0].Plan() == nil {
		t.Fatalf("%+v", answer)
	}
	if applied := answer.Options[0].Plan().Apply(nil, ""); applied.Err != nil {
		t.Fatal(applied.Err)
	}
	if got, err := os.ReadFile(s.path(deepConfig)); err != nil || string(got) != "[mcp]\ndisabled_project_servers = ['b']\n" {
		t.Errorf("%v\n%s", err, got)
	}
	b = NewSwitchboard(s.env, deepAgents())
	if c := b.Cell("a"); c.Decision != model.DecisionLoads {
		t.Errorf("%+v", c.Reason)
	}
}

// TestDeepagentsRowWithDate: a row that holds what is not written here is not taken out, and the reason says which.
func TestDeepagentsRowWithDate(t *testing.T) {
	t.Parallel()
	const x = `{"command": "x"}`
	s := deepScene(t, map[string]string{deepProject: `{"mcpServers": {"a": ` + x + `}}`, deepConfig: deepRowFor(t, "@PROJECT@", "a", x, false) + "when = 2026-01-02\n"}, nil)
	b := NewSwitchboard(s.env, deepAgents())
	options := b.Ask(b.Cell("a"), WishRevoke).Options
	if len(options) != 2 || !strings.Contains(options[0].Unavailable, "config.toml:1") || options[1].Unavailable != "" {
		t.Errorf("%+v", options)
	}
}

func TestDeepagentsCapabilities(t *testing.T) {
	t.Parallel()
	const x = `{"command": "x"}`
	s := deepScene(t, map[string]string{
		deepUser:    `{"mcpServers": {"mine": ` + x + `, "web": {"url": "https://h"}, "signed": {"url": "https://h", "headers": {"authorization": "t"}}, "off": ` + x + `, "both": ` + x + `, "worse": ` + x + `, "lost": {"command": "nope"}, "policy": ` + x + `}}`,
		deepProject: `{"mcpServers": {"waits": ` + x + `, "allowed": ` + x + `, "rejected": ` + x + `, "barred": ` + x + `, "both": {"command": "x", "args": []}, "worse": {"command": "y"}, "bad": {}}}`,
		deepConfig:  "[mcp]\ndisabled_servers = ['off']\ndisabled_project_servers = ['rejected']\n",
		deepManaged: "[mcp]\ndisabled_servers = ['policy']\n",
	}, map[string]string{deepEnableVariable: "allowed", deepRejectVariable: "barred"})
	can := map[string]struct{ toggle, approve, login bool }{
		"mine": {true, false, false}, "web": {true, false, true}, "signed": {true, false, false}, "off": {true, false, false}, "both": {true, true, false}, "worse": {true, false, false}, "lost": {true, false, false},
		"policy": {false, false, false}, "waits": {false, true, false}, "allowed": {true, false, false}, "rejected": {false, true, false}, "barred": {false, false, false}, "bad": {false, false, false},
	}
	check := func(when string, want func(name string) (toggle, approve bool)) {
		for _, c := range s.column(deepAgents()).Cells {
			toggle, approve := want(c.Name)
			if caps := c.Capabilities; (caps.Toggle == "") != toggle || (caps.Approve == "") != approve || (caps.Login == "") != can[c.Name].login {
				t.Errorf("%s%s: %+v", c.Name, when, caps)
			}
		}
	}
	check("", func(name string) (bool, bool) { return can[name].toggle, can[name].approve })
	s.write(deepConfig, "broken")
	check(" with a broken config.toml", func(string) (bool, bool) { return false, false })
}

func TestDeepagentsLaunch(t *testing.T) {
	t.Parallel()
	s := deepScene(t, map[string]string{
		deepUser:                `{"mcpServers": {"a": {"command": "x", "args": ["${LATE}", "$HOMEV", "${EMPTY:-d}", "${GLOBAL}"], "env": {"K": "${LATE}"}, "cwd": "/nowhere", "allowedTools": ["a_r*", "exact"]}, "b": {"url": "https://${LATE}/x"}}}`,
		"project/.env":          "LATE=late\nPATH=/evil\n",
		"home/.deepagents/.env": "GLOBAL=g\nLATE=no\n",
	}, map[string]string{"HOME": "@HOME@", "EMPTY": "", "SECRET": "s", "TMPDIR": "@HOME@/tmp", "PATH": "@HOME@/bin"})
	h := deepAgents()
	c := s.column(h)
	l := h.LaunchFor(s.env, &c.Cells[0].Entry)
	if want := []string{"late", "$HOMEV", "d", "g"}; l.Command != "x" || !slices.Equal(l.Args, want) {
		t.Errorf("%s %q, want %q", l.Command, l.Args, want)
	}
	if want := []string{"HOME=" + s.home, "K=late", "PATH=" + s.path("home/bin")}; !slices.Equal(l.Env, want) {
		t.Errorf("environment %q, want %q", l.Env, want)
	}
	if l.Dir != s.path("home/tmp") || l.Class != EnvironmentShort {
		t.Errorf("starts in %s with %s", l.Dir, l.Class)
	}
	if b := h.LaunchFor(s.env, &c.Cells[1].Entry); b.URL != "https://late/x" {
		t.Errorf("reaches %s", b.URL)
	}
	tools := h.ToolsFor(&c.Cells[0].Entry, []model.Tool{{Name: "read"}, {Name: "write"}, {Name: "exact"}, {Name: "exactly"}})
	if want := []string{"a_read", "a_exact"}; !slices.Equal(tools.ShownAs, want) {
		t.Errorf("tools %q, want %q", tools.ShownAs, want)
	}
	if _, unset := fillDeepagents(s.env, nil, PartArgument, "${NOPE}"); !slices.Equal(unset, []string{"NOPE"}) {
		t.Errorf("unset %q", unset)
	}
}

func TestDeepagentsWatchesWhatCouldAppear(t *testing.T) {
	t.Parallel()
	s := deepScene(t, map[string]string{deepUser: `{"mcpServers": {"a": {"url": "https://h", "auth": "oauth"}, "b": {"command": "later"}}}`}, nil)
	r := NewReader(s.env, NewCache())
	resolveDeepagents(s.env, r)
	touched := r.Touched()
	for _, p := range []string{deepUser, deepConfig, deepSubfolder, deepProject, deepManaged, deepState, "home/.deepagents/.env", "project/.env", "home/.env", "project/.git",
		"home/bin/later", "home/.deepagents/.state/mcp-tokens/" + deepTokenFile("a", "https://h")} {
		if !slices.Contains(touched, s.path(p)) {
			t.Errorf("%s is not watched", p)
		}
	}
}

// TestDeepagentsTokensStayHidden: nothing of a token file is told, whatever is wrong with it.
func TestDeepagentsTokensStayHidden(t *testing.T) {
	t.Parallel()
	for _, content := range []string{`{"version":1,"tokens":{"access_token":"` + plantedValue + `"}}`, `{"version":2,"x":"` + plantedValue + `"}`, `{"version":1,"tokens":"` + plantedValue + `"}`,
		`{"version":1,"tokens":{"access_token":"` + plantedValue, `"` + plantedValue + `"`, `{"version":"` + plantedValue + `"}`} {
		s := deepScene(t, map[string]string{deepUser: `{"mcpServers": {"a": {"url": "https://h", "auth": "oauth"}}}`, "home/.deepagents/.state/mcp-tokens/" + deepTokenFile("a", "https://h"): content}, nil)
		c := s.column(deepAgents())
		all := fmt.Sprintf("%+v %+v %+v", c.Files, c.Notes, c.Broken)
		for _, f := range c.Files {
			all += fmt.Sprintf("%+v", f.Context)
		}
		for _, cell := range c.Cells {
			all += fmt.Sprintf("%+v", cell.Reason)
		}
		if strings.Contains(all, plantedValue) {
			t.Errorf("%s shows in %s", content, all)
		}
	}
}

func TestDeepagentsOnWindows(t *testing.T) {
	t.Parallel()
	s := newSettingsScene(t, map[string]string{deepUser: `{"mcpServers": {"a": {"command": "x"}, "b": {"command": "y.cmd"}, "c": {"command": "z"}}}`, "home/bin/x.EXE": "", "home/bin/y.cmd": "", "home/bin/z": ""}, map[string]string{"PATHEXT": ".EXE;.CMD", "PATH": "@HOME@/bin"})
	for _, name := range []string{"x.EXE", "y.cmd", "z"} {
		if err := os.Chmod(filepath.Join(s.home, "bin", name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	s.env.GOOS = "windows"
	s.check(deepAgents(), `
		a: configured user home/.deepagents/.mcp.json:1 stdio
		b: configured user home/.deepagents/.mcp.json:1 stdio
		c: error command-not-found(home/.deepagents/.mcp.json:1) user home/.deepagents/.mcp.json:1 stdio`)
}

func FuzzResolveDeepagents(f *testing.F) {
	f.Add([]byte(`{"mcpServers": {"a": {"command": "${CANARY}", "args": ["${CANARY}", "${LATE}", "$CANARY"], "env": {"A": "${CANARY:-x}"}}, "b": {"url": "https://${CANARY}/${NOPE}", "auth": "oauth"}}}`),
		[]byte(`{"mcpServers": {"p": {"type": "http", "url": "https://h/${CANARY}", "headers": {"Authorization": "${CANARY}"}, "allowedTools": ["*"]}, "q": {"command": "x", "cwd": 5}}}`),
		[]byte("[mcp]\ndisabled_servers = ['a']\ndisabled_project_servers = 'q'\n[[mcp.enabled_project_server_approvals]]\nproject_root = '~/project'\nname = 'p'\nfingerprint = 'sha256:x'\n"),
		[]byte(`{"name": "p", "mcpServers": {"in": {"command": "${PLUGIN_ROOT}/${CANARY}"}}}`), []byte(`{"version":1,"tokens":{"access_token":"x"}}`), []byte("[mcp]\ndisabled_servers = 5\n"))
	f.Add([]byte("\ufeff{}"), []byte(`{"mcpServers": {"p": {"args": [1]}, "\ud800": {"type": []}}}`), []byte("mcp = 1"), []byte(`[]`), []byte(`[]`), []byte(""))
	f.Add([]byte(`{"mcpServers": {"a": 5}}`), []byte(`{"mcpServers": {"p": {"command": "x", "args": ["\udc00"]}}}`), []byte("[mcp_disabled]\nservers = ['p']"), []byte(`{"name": "q"}`), []byte(`{`), []byte("mcp = 5"))
	f.Fuzz(func(t *testing.T, user, project, config, manifest, token, managed []byte) {
		fuzzSettings(t, deepAgents(), map[string]string{deepUser: string(user), deepProject: string(project), deepConfig: string(config), deepManaged: string(managed),
			deepPluginRoot + "plugin.json": string(manifest), deepState: `{"enabledPlugins": {"p@m": true}}`, deepInstalled: `{"plugins": {"p@m": [{"installPath": "@HOME@/.deepagents/plugins/cache/m/p/1"}]}}`,
			"home/.deepagents/.state/mcp-tokens/" + deepTokenFile("b", "https://h"): string(token)})
	})
}
