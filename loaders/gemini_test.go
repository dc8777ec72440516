package loaders

import (
	"os"
	"slices"
	"strings"
	"testing"

	"fusebox/model"
)

const geminiTrusting = `{"@PROJECT@": "TRUST_FOLDER"}`

// geminiCase is a situation and what the column says about it.
type geminiCase struct {
	name  string
	files map[string]string
	vars  map[string]string
	start string // folder of the session, "" for the project
	goos  string
	root  bool // system files count only when they are root's
	want  string
}

func runSettingsCases(t *testing.T, h Harness, cases []geminiCase) {
	t.Helper()
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if c.root && os.Getuid() != 0 {
				t.Skip("only root can lay such a file out")
			}
			s := newSettingsScene(t, c.files, c.vars)
			if c.start != "" {
				s.env.Project = s.path(c.start)
			}
			if c.goos != "" {
				s.env.GOOS = c.goos
			}
			s.check(h, c.want)
		})
	}
}

func TestGemini(t *testing.T) {
	t.Parallel()
	const (
		user     = "home/.gemini/settings.json"
		project  = "project/.gemini/settings.json"
		trust    = "home/.gemini/trustedFolders.json"
		switches = "home/.gemini/mcp-server-enablement.json"
		two      = `{"mcpServers": {` + "\n" + `"a": {"command": "x"},` + "\n" + `"b": {"command": "y"}}}`
	)
	runSettingsCases(t, geminiCLI(), []geminiCase{
		{name: "layers", files: map[string]string{trust: geminiTrusting,
			user:    "{\"mcpServers\": {\n\"a\": {\"command\": \"x\", \"cwd\": \"/\"},\n\"u\": {\"url\": \"https://h/mcp\"}}}",
			project: "{\"mcpServers\": {\n\"a\": {\"url\": \"https://h/sse\", \"type\": \"sse\"}}}"},
			want: `
				a: configured project project/.gemini/settings.json:2 sse >user home/.gemini/settings.json:2
				u: configured user home/.gemini/settings.json:3 http`},
		{name: "untrusted by default", files: map[string]string{user: two, project: "{\"mcpServers\": {\n\"p\": {\"command\": \"x\"}, \"a\": {\"command\": \"z\"}}, \"mcp\": {\"excluded\": [\"a\", \"b\"]}}",
			switches: `{"b": {"enabled": false}}`},
			want: `
				a: unapproved untrusted-folder(home/.gemini/trustedFolders.json:1) project project/.gemini/settings.json:2 stdio >user home/.gemini/settings.json:2
				b: disabled switched-off(home/.gemini/mcp-server-enablement.json:1) user home/.gemini/settings.json:3 stdio
				p: unapproved untrusted-folder(home/.gemini/trustedFolders.json:1) project project/.gemini/settings.json:2 stdio
				untrusted`},
		{name: "restricted by variable", files: map[string]string{user: two, trust: geminiTrusting}, vars: map[string]string{"GEMINI_RESTRICTED_MODE": "true", "GEMINI_CLI_TRUST_WORKSPACE": "true"},
			want: `
				a: unapproved untrusted-folder($GEMINI_RESTRICTED_MODE:1) user home/.gemini/settings.json:2 stdio
				b: unapproved untrusted-folder($GEMINI_RESTRICTED_MODE:1) user home/.gemini/settings.json:3 stdio
				file home/.gemini/trustedFolders.json:0 ignored
				untrusted`},
		{name: "untrusted by variable", files: map[string]string{user: two, trust: geminiTrusting}, vars: map[string]string{"GEMINI_CLI_TRUST_WORKSPACE": "false"},
			want: `
				a: unapproved untrusted-folder($GEMINI_CLI_TRUST_WORKSPACE:1) user home/.gemini/settings.json:2 stdio
				b: unapproved untrusted-folder($GEMINI_CLI_TRUST_WORKSPACE:1) user home/.gemini/settings.json:3 stdio
				file home/.gemini/trustedFolders.json:0 ignored
				untrusted`},
		{name: "trusted by variable, rules not read", files: map[string]string{user: two, trust: `{"/x": "BAD"}`}, vars: map[string]string{"GEMINI_CLI_TRUST_WORKSPACE": "true"},
			want: `
				a: configured user home/.gemini/settings.json:2 stdio
				b: configured user home/.gemini/settings.json:3 stdio
				file home/.gemini/trustedFolders.json:0 ignored`},
		{name: "trust switched off by the user", files: map[string]string{user: `{"security": {"folderTrust": {"enabled": false}}}`, trust: "{broken", project: two},
			want: `
				a: configured project project/.gemini/settings.json:2 stdio {from-repository}
				b: configured project project/.gemini/settings.json:3 stdio {from-repository}
				file home/.gemini/trustedFolders.json:0 ignored`},
		{name: "trust switched off by a text", files: map[string]string{user: `{"security": {"folderTrust": {"enabled": "${ASK:-False}"}}, "mcpServers": {"a": {"command": "x", "timeout": "5"}}}`},
			want: `
				a: configured user home/.gemini/settings.json:1 stdio {wrong-type}`},
		{name: "a text is no switch in a file with a value that does not fit", files: map[string]string{user: `{"security": {"folderTrust": {"enabled": "false"}}, "mcpServers": {"a": {"command": "x", "disabled": true}}}`},
			want: `
				a: unapproved untrusted-folder(home/.gemini/trustedFolders.json:1) user home/.gemini/settings.json:1 stdio {key-without-effect}
				untrusted`},
		{name: "trust not switched off by the project", files: map[string]string{project: "{\"security\": {\"folderTrust\": {\"enabled\": false}},\n\"mcpServers\": {\"a\": {\"command\": \"x\"}}}"},
			want: `
				a: unapproved untrusted-folder(home/.gemini/trustedFolders.json:1) project project/.gemini/settings.json:2 stdio
				note key-without-effect project/.gemini/settings.json:1
				untrusted`},
		{name: "trust switch hidden by null", files: map[string]string{user: `{"security": null, "mcpServers": {"a": {"command": "x"}}}`},
			want: `
				a: unapproved untrusted-folder(home/.gemini/trustedFolders.json:1) user home/.gemini/settings.json:1 stdio
				untrusted`},
		{name: "longest written rule", files: map[string]string{user: two, trust: "{\"@HOME@\": \"TRUST_FOLDER\",\n\"@PROJECT@\": \"DO_NOT_TRUST\"}"},
			want: `
				a: unapproved untrusted-folder(home/.gemini/trustedFolders.json:2) user home/.gemini/settings.json:2 stdio
				b: unapproved untrusted-folder(home/.gemini/trustedFolders.json:2) user home/.gemini/settings.json:3 stdio
				untrusted`},
		{name: "TRUST_PARENT is measured as written", files: map[string]string{user: two, trust: "{\"@PROJECT@\": \"DO_NOT_TRUST\",\n\"@PROJECT@/sub\": \"TRUST_PARENT\"}"},
			want: `
				a: configured user home/.gemini/settings.json:2 stdio
				b: configured user home/.gemini/settings.json:3 stdio`},
		{name: "a sibling of the same prefix", files: map[string]string{user: two, trust: `{"@HOME@/proj": "TRUST_FOLDER"}`},
			want: `
				a: unapproved untrusted-folder(home/.gemini/trustedFolders.json:1) user home/.gemini/settings.json:2 stdio
				b: unapproved untrusted-folder(home/.gemini/trustedFolders.json:1) user home/.gemini/settings.json:3 stdio
				untrusted`},
		{name: "a rule through a link", files: map[string]string{user: two, "home/link": "-> @PROJECT@", trust: `{"@HOME@/link/": "TRUST_FOLDER"}`},
			want: `
				a: configured user home/.gemini/settings.json:2 stdio
				b: configured user home/.gemini/settings.json:3 stdio`},
		{name: "rules elsewhere", files: map[string]string{user: two, "home/rules.json": geminiTrusting}, vars: map[string]string{"GEMINI_CLI_TRUSTED_FOLDERS_PATH": "@HOME@/rules.json"},
			want: `
				a: configured user home/.gemini/settings.json:2 stdio
				b: configured user home/.gemini/settings.json:3 stdio`},
		{name: "rules in a sandbox", files: map[string]string{user: two, "home/.cache/.gemini/trustedFolders.json": geminiTrusting}, vars: map[string]string{"SANDBOX": "sandbox-exec"},
			want: `
				a: configured user home/.gemini/settings.json:2 stdio
				b: configured user home/.gemini/settings.json:3 stdio`},
		{name: "letters of paths on macOS", files: map[string]string{user: two, trust: `{"@HOME@/PROJECT": "TRUST_FOLDER"}`}, goos: "darwin",
			want: `
				a: configured user home/.gemini/settings.json:2 stdio
				b: configured user home/.gemini/settings.json:3 stdio`},
		{name: "invalid level", files: map[string]string{user: two, project: `{"mcpServers": {"p": {"command": "x"}}}`, trust: "{\"@PROJECT@\": \"TRUST_FOLDER\",\n\"/x\": \"TRUSTED\"}"},
			want: `
				a: error file-refused(home/.gemini/trustedFolders.json:2) user home/.gemini/settings.json:2 stdio
				b: error file-refused(home/.gemini/trustedFolders.json:2) user home/.gemini/settings.json:3 stdio
				p: error file-refused(home/.gemini/trustedFolders.json:2) project project/.gemini/settings.json:1 stdio
				file home/.gemini/trustedFolders.json:2 malformed
				broken home/.gemini/trustedFolders.json:2`},
		{name: "broken rules", files: map[string]string{user: two, trust: "{\n\"a\": ,}"},
			want: `
				a: error file-refused(home/.gemini/trustedFolders.json:2) user home/.gemini/settings.json:2 stdio
				b: error file-refused(home/.gemini/trustedFolders.json:2) user home/.gemini/settings.json:3 stdio
				file home/.gemini/trustedFolders.json:2 malformed
				broken home/.gemini/trustedFolders.json:2`},
		{name: "rules are a list", files: map[string]string{user: two, trust: "[]"},
			want: `
				a: error file-refused(home/.gemini/trustedFolders.json:1) user home/.gemini/settings.json:2 stdio
				b: error file-refused(home/.gemini/trustedFolders.json:1) user home/.gemini/settings.json:3 stdio
				file home/.gemini/trustedFolders.json:1 malformed
				broken home/.gemini/trustedFolders.json:1`},
		{name: "broken user file", files: map[string]string{user: "{\"mcpServers\": {\n\"a\": {\"command\": \"x\"},\n}}", project: two, trust: geminiTrusting},
			want: `
				a: error file-refused(home/.gemini/settings.json:2) project project/.gemini/settings.json:2 stdio >user home/.gemini/settings.json:2
				b: error file-refused(home/.gemini/settings.json:2) project project/.gemini/settings.json:3 stdio
				file home/.gemini/settings.json:2 malformed
				broken home/.gemini/settings.json:2`},
		{name: "broken project file, untrusted", files: map[string]string{user: two, project: "{\"mcpServers\":\n {\"p\": {\"command\": \"x\"}"},
			want: `
				a: error file-refused(project/.gemini/settings.json:2) user home/.gemini/settings.json:2 stdio
				b: error file-refused(project/.gemini/settings.json:2) user home/.gemini/settings.json:3 stdio
				p: error file-refused(project/.gemini/settings.json:2) project project/.gemini/settings.json:2 stdio
				file project/.gemini/settings.json:2 malformed
				broken project/.gemini/settings.json:2`},
		{name: "byte order mark", files: map[string]string{user: "\ufeff" + two, trust: geminiTrusting},
			want: `
				a: error file-refused(home/.gemini/settings.json:1) user home/.gemini/settings.json:2 stdio
				b: error file-refused(home/.gemini/settings.json:1) user home/.gemini/settings.json:3 stdio
				file home/.gemini/settings.json:1 malformed
				broken home/.gemini/settings.json:1`},
		{name: "empty file", files: map[string]string{user: "", project: two, trust: geminiTrusting},
			want: `
				a: error file-refused(home/.gemini/settings.json:1) project project/.gemini/settings.json:2 stdio
				b: error file-refused(home/.gemini/settings.json:1) project project/.gemini/settings.json:3 stdio
				file home/.gemini/settings.json:1 malformed
				broken home/.gemini/settings.json:1`},
		{name: "top level is a list", files: map[string]string{user: "[]", project: two, trust: geminiTrusting},
			want: `
				a: error file-refused(home/.gemini/settings.json:1) project project/.gemini/settings.json:2 stdio
				b: error file-refused(home/.gemini/settings.json:1) project project/.gemini/settings.json:3 stdio
				file home/.gemini/settings.json:1 malformed
				broken home/.gemini/settings.json:1`},
		{name: "null entry", files: map[string]string{user: "{\"mcpServers\": {\"a\": {\"command\": \"x\"},\n\"n\": null}}", trust: geminiTrusting},
			want: `
				a: error file-refused(home/.gemini/settings.json:2) user home/.gemini/settings.json:1 stdio
				n: error file-refused(home/.gemini/settings.json:2) user home/.gemini/settings.json:2
				file home/.gemini/settings.json:2 malformed
				broken home/.gemini/settings.json:2`},
		{name: "null entry beaten", files: map[string]string{user: `{"mcpServers": {"a": null}}`, project: `{"mcpServers": {"a": {"command": "x"}}}`, trust: geminiTrusting},
			want: `
				a: configured project project/.gemini/settings.json:1 stdio >user home/.gemini/settings.json:1`},
		{name: "null entry of an untrusted project", files: map[string]string{user: two, project: `{"mcpServers": {"a": null}}`},
			want: `
				a: error entry-invalid(project/.gemini/settings.json:1) project project/.gemini/settings.json:1 >user home/.gemini/settings.json:2
				b: unapproved untrusted-folder(home/.gemini/trustedFolders.json:1) user home/.gemini/settings.json:3 stdio
				untrusted`},
		{name: "null servers hide those below", files: map[string]string{user: two, project: `{"mcpServers": null}`, trust: geminiTrusting},
			want: `
				note wrong-type project/.gemini/settings.json:1`},
		{name: "a list of servers", files: map[string]string{user: "{\"mcpServers\": [{\"command\": \"x\"},\n{\"command\": \"y\"}]}", trust: geminiTrusting},
			want: `
				0: configured user home/.gemini/settings.json:1 stdio
				1: configured user home/.gemini/settings.json:2 stdio
				note wrong-type home/.gemini/settings.json:1`},
		{name: "bad entries", files: map[string]string{trust: geminiTrusting, user: `{"mcpServers": {
			"args": {"command": "x", "args": "y"},
			"badurl": {"url": "nowhere"},
			"both": {"httpUrl": "https://h/a", "url": "https://h/b", "command": "x"},
			"cmd": {"command": 5},
			"cwd": {"command": "x", "cwd": 5},
			"empty": {"command": "", "url": ""},
			"env": {"command": "x", "env": {"A": 5}},
			"http": {"httpUrl": "https://h/a"},
			"keys": {"command": "x", "disabled": true, "foo": 1, "timeout": "x", "includeTools": "x", "tcp": "h:1", "env": {"LD_PRELOAD": "x"}},
			"none": {"args": ["x"]},
			"num": 5,
			"numarg": {"command": "x", "args": ["a", 5, null]},
			"ssh_type": {"url": "https://h", "type": "stdio"},
			"tcp": {"tcp": "h:1"},
			"twice": {"command": "x"}, "twice": {"command": "y"},
			"urlnum": {"url": 5},
			"wrongs": {"command": "x", "args": [], "env": "x"}
			}}`},
			want: `
				args: error entry-invalid(home/.gemini/settings.json:2) user home/.gemini/settings.json:2 stdio {wrong-type}
				badurl: error entry-invalid(home/.gemini/settings.json:3) user home/.gemini/settings.json:3 http
				both: configured user home/.gemini/settings.json:4 http {conflicting-keys deprecated-key}
				cmd: error entry-invalid(home/.gemini/settings.json:5) user home/.gemini/settings.json:5
				cwd: error entry-invalid(home/.gemini/settings.json:6) user home/.gemini/settings.json:6 stdio {wrong-type}
				empty: error entry-skipped(home/.gemini/settings.json:7) user home/.gemini/settings.json:7
				env: error entry-invalid(home/.gemini/settings.json:8) user home/.gemini/settings.json:8 stdio
				http: configured user home/.gemini/settings.json:9 http {deprecated-key}
				keys: configured user home/.gemini/settings.json:10 stdio {key-without-effect key-without-effect key-without-effect unknown-key wrong-type wrong-type}
				none: error entry-skipped(home/.gemini/settings.json:11) user home/.gemini/settings.json:11
				num: error entry-skipped(home/.gemini/settings.json:12) user home/.gemini/settings.json:12
				numarg: configured user home/.gemini/settings.json:13 stdio {wrong-type wrong-type}
				ssh_type: configured user home/.gemini/settings.json:14 http {underscore-in-server-name wrong-type}
				tcp: error entry-skipped(home/.gemini/settings.json:15) user home/.gemini/settings.json:15
				twice: configured user home/.gemini/settings.json:16 stdio {duplicate-key}
				urlnum: error entry-invalid(home/.gemini/settings.json:17) user home/.gemini/settings.json:17
				wrongs: configured user home/.gemini/settings.json:18 stdio {wrong-type}`},
		{name: "lists: intersection and union", files: map[string]string{trust: geminiTrusting,
			user:    "{\"mcp\": {\"allowed\": [\"a\", \"b\", \"d\"],\n\"excluded\": [\"d\"]}, \"mcpServers\": {\"a\": {\"command\": \"x\"}, \"b\": {\"command\": \"x\"}, \"c\": {\"command\": \"x\"}, \"d\": {\"command\": \"x\"}}}",
			project: "{\"mcp\": {\n\"allowed\": [\"B\", \"c\", \"d\"]}}"},
			want: `
				a: disabled blocked-by-list(project/.gemini/settings.json:2) user home/.gemini/settings.json:2 stdio
				b: configured user home/.gemini/settings.json:2 stdio
				c: disabled blocked-by-list(home/.gemini/settings.json:1) user home/.gemini/settings.json:2 stdio
				d: disabled blocked-by-list(home/.gemini/settings.json:2) user home/.gemini/settings.json:2 stdio`},
		{name: "lists: nothing in common", files: map[string]string{trust: geminiTrusting, user: `{"mcp": {"allowed": ["a"]}, "mcpServers": {"a": {"command": "x"}, "b": {"command": "x"}}}`,
			project: `{"mcp": {"allowed": ["b"]}}`},
			want: `
				a: configured user home/.gemini/settings.json:1 stdio {listing-differs}
				b: configured user home/.gemini/settings.json:1 stdio {listing-differs}`},
		{name: "lists: empty", files: map[string]string{trust: geminiTrusting, user: `{"mcp": {"allowed": []}, "mcpServers": {"a": {"command": "x"}}}`},
			want: `
				a: configured user home/.gemini/settings.json:1 stdio {listing-differs}`},
		{name: "lists: letter case", files: map[string]string{trust: geminiTrusting, user: `{"mcp": {"allowed": ["foo", "Gamma", "$NAME"], "excluded": ["gamma"]}, "mcpServers": {"Foo": {"command": "x"}, "Gamma": {"command": "x"}, "v": {"command": "x"}}}`},
			vars: map[string]string{"NAME": "v"},
			want: `
				Foo: disabled blocked-by-list(home/.gemini/settings.json:1) user home/.gemini/settings.json:1 stdio {listing-differs}
				Gamma: configured user home/.gemini/settings.json:1 stdio {listing-differs}
				v: configured user home/.gemini/settings.json:1 stdio`},
		{name: "lists: system files are a policy", root: true, files: map[string]string{trust: geminiTrusting, user: two, "etc/gemini-cli/settings.json": `{"mcp": {"excluded": ["a"]}}`, "etc/gemini-cli/system-defaults.json": `{"mcpServers": {"d": {"command": "x"}}}`},
			want: `
				a: disabled blocked-by-policy(/etc/gemini-cli/settings.json:1) user home/.gemini/settings.json:2 stdio
				b: configured user home/.gemini/settings.json:3 stdio
				d: configured system-defaults /etc/gemini-cli/system-defaults.json:1 stdio`},
		{name: "lists: a text", files: map[string]string{trust: geminiTrusting, user: "{\"mcp\": {\"excluded\": \"a\",\n\"allowed\": \"a\"}, \"mcpServers\": {\"a\": {\"command\": \"x\"}}}"},
			want: `
				a: configured user home/.gemini/settings.json:2 stdio
				note wrong-type home/.gemini/settings.json:2
				note wrong-type home/.gemini/settings.json:1`},
		{name: "lists: an object ends every session", files: map[string]string{trust: geminiTrusting, user: "{\"mcp\": {\n\"allowed\": {}}, \"mcpServers\": {\"a\": {\"command\": \"x\"}}}"},
			want: `
				a: error file-refused(home/.gemini/settings.json:2) user home/.gemini/settings.json:2 stdio
				file home/.gemini/settings.json:2 malformed
				note wrong-type home/.gemini/settings.json:2
				broken home/.gemini/settings.json:2`},
		{name: "lists: numbers in two files", files: map[string]string{trust: geminiTrusting, user: "{\"mcp\": {\"allowed\": [\"a\",\n5]}, \"mcpServers\": {\"a\": {\"command\": \"x\"}}}", project: `{"mcp": {"allowed": ["a"]}}`},
			want: `
				a: error file-refused(home/.gemini/settings.json:2) user home/.gemini/settings.json:2 stdio
				file home/.gemini/settings.json:2 malformed
				broken home/.gemini/settings.json:2`},
		{name: "switch", files: map[string]string{trust: geminiTrusting, user: `{"mcpServers": {"Foo ": {"command": "x"}, "Bar": {"command": "x"}, "baz": {"command": "x"}, "z": {"command": "x"}}}`,
			switches: "{\"foo\": {\"enabled\": false},\n\"Bar\": {\"enabled\": false}, \"baz\": false,\n\"z\": {\"enabled\": 0}}"},
			want: `
				Bar: configured user home/.gemini/settings.json:1 stdio {key-without-effect}
				baz: configured user home/.gemini/settings.json:1 stdio
				Foo : disabled switched-off(home/.gemini/mcp-server-enablement.json:1) user home/.gemini/settings.json:1 stdio
				z: disabled switched-off(home/.gemini/mcp-server-enablement.json:3) user home/.gemini/settings.json:1 stdio`},
		{name: "switch: a comment", files: map[string]string{trust: geminiTrusting, user: two, switches: "{\n// off\n\"a\": {\"enabled\": false}}"},
			want: `
				a: configured user home/.gemini/settings.json:2 stdio
				b: configured user home/.gemini/settings.json:3 stdio
				file home/.gemini/mcp-server-enablement.json:2 malformed
				note switches-not-read home/.gemini/mcp-server-enablement.json:2`},
		{name: "server command", files: map[string]string{trust: geminiTrusting, user: "{\"mcp\": {\n\"serverCommand\": \"run 'a b' $X\"}, \"mcpServers\": {\"mcp\": {\"command\": \"x\"}}}", switches: "{}"},
			want: `
				mcp: configured user home/.gemini/settings.json:2 stdio >user home/.gemini/settings.json:2 {listing-differs unset-variable}`},
		{name: "server command of an untrusted project", files: map[string]string{project: `{"mcp": {"serverCommand": "run"}}`},
			want: `
				mcp: unapproved untrusted-folder(home/.gemini/trustedFolders.json:1) project project/.gemini/settings.json:1 stdio {listing-differs}
				untrusted`},
		{name: "server command that cannot be read", files: map[string]string{trust: geminiTrusting, user: "{\"mcp\": {\n\"serverCommand\": \"run | x\"}, \"mcpServers\": {\"a\": {\"command\": \"x\"}}}",
			"home/.gemini/extensions/e/gemini-extension.json": `{"name": "e", "version": "1", "mcpServers": {"x": {"command": "x"}}}`},
			want: `
				a: error file-refused(home/.gemini/settings.json:2) user home/.gemini/settings.json:2 stdio
				mcp: error entry-invalid(home/.gemini/settings.json:2) user home/.gemini/settings.json:2 {listing-differs}
				x: configured extension home/.gemini/extensions/e/gemini-extension.json:1 stdio`},
		{name: "server command of blanks", files: map[string]string{trust: geminiTrusting, user: `{"mcp": {"serverCommand": "  "}}`},
			want: `
				mcp: error entry-skipped(home/.gemini/settings.json:1) user home/.gemini/settings.json:1 {listing-differs}`},
		{name: "extensions", files: map[string]string{trust: geminiTrusting, user: "{\"mcpServers\": {\n\"merged\": {\"excludeTools\": [\"t\"]},\n\"over\": {\"command\": \"x\", \"env\": {\"A\": \"1\"}},\n\"off\": {\"args\": []}}}",
			"home/.gemini/extensions/a/gemini-extension.json":          "{\"name\": \"a\", \"version\": \"1\", \"mcpServers\": {\n\"merged\": {\"command\": \"m\"},\n\"over\": {\"command\": \"o\", \"env\": {\"B\": \"2\"}},\n\"same\": {\"command\": \"s\", \"trust\": true}}}",
			"home/.gemini/extensions/b/gemini-extension.json":          "{\"name\": \"b\", \"version\": \"1\", \"mcpServers\": {\n\"same\": {\"command\": \"s\"}}}",
			"home/.gemini/extensions/c/gemini-extension.json":          "{\"name\": \"c\", \"version\": \"1\", \"mcpServers\": {\n\"off\": {\"command\": \"s\"},\n\"alone\": {\"command\": \"s\"}}}",
			"home/.gemini/extensions/l/.gemini-extension-install.json": `{"type": "link", "source": "@HOME@/elsewhere"}`,
			"home/elsewhere/gemini-extension.json":                     "{\"name\": \"l\", \"version\": \"1\", \"mcpServers\": {\n\"linked\": {\"command\": \"${extensionPath}${/}run\"}}}",
			"home/.gemini/extensions/extension-enablement.json":        "{\"c\": {\"overrides\": [\"@PROJECT@/\",\n\"!@HOME@/*\"]},\n\"a\": {\"overrides\": [\"!@HOME@/\", \"!/other/*\"]}}"},
			want: `
				alone: disabled switched-off(home/.gemini/extensions/extension-enablement.json:2) extension home/.gemini/extensions/c/gemini-extension.json:3 stdio {listing-differs}
				linked: configured extension home/elsewhere/gemini-extension.json:2 stdio
				merged: configured extension home/.gemini/extensions/a/gemini-extension.json:2 stdio >user home/.gemini/settings.json:2 merged {listing-differs}
				off: error entry-skipped(home/.gemini/settings.json:4) user home/.gemini/settings.json:4 >extension home/.gemini/extensions/c/gemini-extension.json:2
				over: configured user home/.gemini/settings.json:3 stdio >extension home/.gemini/extensions/a/gemini-extension.json:3 merged
				same: configured extension home/.gemini/extensions/a/gemini-extension.json:4 stdio >extension home/.gemini/extensions/b/gemini-extension.json:2 {key-without-effect}`},
		{name: "extensions that are skipped", files: map[string]string{trust: geminiTrusting,
			"home/.gemini/extensions/a/gemini-extension.json":   "{\"name\": \"a\", \"version\": \"1\", \"mcpServers\": {\n\"x\": {\"command\": \"m\"},}}",
			"home/.gemini/extensions/b/gemini-extension.json":   "{\"name\": \"b\", \"mcpServers\": {\n\"y\": {\"command\": \"s\"}}}",
			"home/.gemini/extensions/c/gemini-extension.json":   "{\"name\": \"c\", \"version\": \"1\", \"mcpServers\": {\n\"n\": null, \"z\": {\"command\": \"s\"}}}",
			"home/.gemini/extensions/d/gemini-extension.json":   "{\"name\": \"d_d\", \"version\": \"1\", \"mcpServers\": {\n\"w\": {\"command\": \"s\"}}}",
			"home/.gemini/extensions/extension-enablement.json": `{"a": {"overrides": "x"}}`},
			want: `
				n: error file-refused(home/.gemini/extensions/c/gemini-extension.json:2) extension home/.gemini/extensions/c/gemini-extension.json:2
				w: error file-refused(home/.gemini/extensions/d/gemini-extension.json:1) extension home/.gemini/extensions/d/gemini-extension.json:2 stdio
				x: error file-refused(home/.gemini/extensions/a/gemini-extension.json:2) extension home/.gemini/extensions/a/gemini-extension.json:2 stdio
				y: error file-refused(home/.gemini/extensions/b/gemini-extension.json:1) extension home/.gemini/extensions/b/gemini-extension.json:2 stdio
				z: error file-refused(home/.gemini/extensions/c/gemini-extension.json:2) extension home/.gemini/extensions/c/gemini-extension.json:2 stdio
				file home/.gemini/extensions/extension-enablement.json:1 malformed
				file home/.gemini/extensions/a/gemini-extension.json:2 malformed
				file home/.gemini/extensions/b/gemini-extension.json:1 malformed
				file home/.gemini/extensions/c/gemini-extension.json:2 malformed
				file home/.gemini/extensions/d/gemini-extension.json:1 malformed
				note switches-not-read home/.gemini/extensions/extension-enablement.json:1
				note extension-skipped home/.gemini/extensions/a/gemini-extension.json:2
				note extension-skipped home/.gemini/extensions/b/gemini-extension.json:1
				note extension-skipped home/.gemini/extensions/c/gemini-extension.json:2
				note extension-skipped home/.gemini/extensions/d/gemini-extension.json:1`},
		{name: "two extensions of one name", files: map[string]string{trust: geminiTrusting, user: two,
			"home/.gemini/extensions/a/gemini-extension.json": `{"name": "e", "version": "1"}`,
			"home/.gemini/extensions/b/gemini-extension.json": "{\n\"name\": \"e\", \"version\": \"1\", \"mcpServers\": {\"x\": {\"command\": \"x\"}}}"},
			want: `
				a: error file-refused(home/.gemini/extensions/b/gemini-extension.json:2) user home/.gemini/settings.json:2 stdio
				b: error file-refused(home/.gemini/extensions/b/gemini-extension.json:2) user home/.gemini/settings.json:3 stdio
				x: error file-refused(home/.gemini/extensions/b/gemini-extension.json:2) extension home/.gemini/extensions/b/gemini-extension.json:2 stdio
				file home/.gemini/extensions/b/gemini-extension.json:2 malformed
				broken home/.gemini/extensions/b/gemini-extension.json:2`},
		{name: "extensions that a policy keeps out", files: map[string]string{trust: geminiTrusting, user: `{"security": {"allowedExtensions": ["^https://good/"]}}`,
			"home/.gemini/extensions/a/gemini-extension.json":          `{"name": "a", "version": "1", "mcpServers": {"x": {"command": "x"}}}`,
			"home/.gemini/extensions/b/gemini-extension.json":          `{"name": "b", "version": "1", "mcpServers": {"y": {"command": "x"}}}`,
			"home/.gemini/extensions/b/.gemini-extension-install.json": `{"type": "git", "source": "https://bad/"}`},
			want: `
				file home/.gemini/extensions/a/gemini-extension.json:0 ignored
				file home/.gemini/extensions/b/gemini-extension.json:0 ignored`},
		{name: "extensions from git are kept out", files: map[string]string{trust: geminiTrusting, user: `{"security": {"blockGitExtensions": true}}`,
			"home/.gemini/extensions/a/gemini-extension.json":          `{"name": "a", "version": "1", "mcpServers": {"x": {"command": "x"}}}`,
			"home/.gemini/extensions/b/gemini-extension.json":          `{"name": "b", "version": "1", "mcpServers": {"y": {"command": "x"}}}`,
			"home/.gemini/extensions/b/.gemini-extension-install.json": `{"type": "git", "source": "https://bad/"}`},
			want: `
				x: configured extension home/.gemini/extensions/a/gemini-extension.json:1 stdio
				file home/.gemini/extensions/b/gemini-extension.json:0 ignored`},
		{name: "variables", files: map[string]string{trust: geminiTrusting, "project/.env": "LATE=1\nLATE_TOKEN=2\n", user: `{"mcpServers": {
			"args": {"command": "x", "args": ["$SET", "${NOPE:-d}", "$NOPE", "${LATE}"]},
			"cmd": {"command": "$EMPTY"},
			"env": {"command": "x", "env": {"A": "$NOPE", "B": "$LATE", "C": "$LATE_TOKEN", "D": "$SET"}},
			"url": {"url": "${NOPE}/x", "headers": {"A": "Bearer $NOPE2"}}}}`},
			vars: map[string]string{"SET": "1", "EMPTY": ""},
			want: `
				args: configured user home/.gemini/settings.json:2 stdio {unset-variable unset-variable}
				cmd: error entry-skipped(home/.gemini/settings.json:3) user home/.gemini/settings.json:3
				env: configured user home/.gemini/settings.json:4 stdio {blanked-variable unset-variable}
				url: configured user home/.gemini/settings.json:5 http {unset-variable unset-variable}`},
		{name: "a .env file takes trust away", files: map[string]string{trust: geminiTrusting, user: two, "project/.env": "GEMINI_CLI_TRUST_WORKSPACE=false"},
			want: `
				a: unapproved untrusted-folder(project/.env:1) user home/.gemini/settings.json:2 stdio
				b: unapproved untrusted-folder(project/.env:1) user home/.gemini/settings.json:3 stdio
				untrusted`},
		{name: "a .env file cannot give trust", files: map[string]string{user: two, "project/.env": "GEMINI_CLI_TRUST_WORKSPACE=true"},
			want: `
				a: unapproved untrusted-folder(home/.gemini/trustedFolders.json:1) user home/.gemini/settings.json:2 stdio
				b: unapproved untrusted-folder(home/.gemini/trustedFolders.json:1) user home/.gemini/settings.json:3 stdio
				untrusted`},
		{name: "variables of an extension", files: map[string]string{trust: geminiTrusting, "project/.env": "LATE=1\n", "home/.gemini/extensions/e/.env": "OWN=1\n",
			"home/.gemini/extensions/e/gemini-extension.json": `{"name": "e", "version": "1", "mcpServers": {"x": {"command": "x", "args": ["$LATE", "$OWN", "$NOPE", "${workspacePath}"]}}}`},
			want: `
				x: configured extension home/.gemini/extensions/e/gemini-extension.json:1 stdio {unset-variable}`},
		{name: "home of its own", files: map[string]string{user: two, "home/alt/.gemini/settings.json": `{"mcpServers": {"m": {"command": "x"}}}`, "home/alt/.gemini/trustedFolders.json": geminiTrusting},
			vars: map[string]string{"GEMINI_CLI_HOME": "@HOME@/alt"},
			want: `
				m: configured user home/alt/.gemini/settings.json:1 stdio
				file home/.gemini/settings.json:0 ignored
				note file-not-read home/.gemini/settings.json:1`},
		{name: "the project is the home folder", files: map[string]string{user: two, trust: `{"@HOME@": "TRUST_FOLDER"}`}, start: "home",
			want: `
				a: configured user home/.gemini/settings.json:2 stdio
				b: configured user home/.gemini/settings.json:3 stdio`},
		{name: "a subfolder", files: map[string]string{user: two, trust: geminiTrusting, project: two, "project/sub/keep": "", "project/sub/.gemini/mcp.json": "{}"}, start: "project/sub",
			want: `
				a: configured user home/.gemini/settings.json:2 stdio
				b: configured user home/.gemini/settings.json:3 stdio
				file project/sub/.gemini/mcp.json:0 ignored
				file project/.gemini/settings.json:0 ignored
				note file-not-read project/sub/.gemini/mcp.json:1
				note file-not-read project/.gemini/settings.json:1`},
		{name: "keys that mean nothing", files: map[string]string{trust: geminiTrusting, user: "{\"admin\": {\"mcp\": {\"enabled\": false}},\n\"servers\": {}, \"excludeMCPServers\": [\"a\"], \"mcp\": {\"servers\": {}},\n\"mcpServers\": {\"a_b\": {\"command\": \"x\"}}}",
			project: `{"mcpServers": "x"}`, "project/.gemini/settings.local.json": "{}", "home/.gemini/mcp.json": "{}"},
			want: `
				a_b: configured user home/.gemini/settings.json:3 stdio {underscore-in-server-name}
				file project/.gemini/settings.local.json:0 ignored
				file home/.gemini/mcp.json:0 ignored
				note file-not-read project/.gemini/settings.local.json:1
				note file-not-read home/.gemini/mcp.json:1
				note key-without-effect home/.gemini/settings.json:1
				note wrong-key home/.gemini/settings.json:2
				note wrong-key home/.gemini/settings.json:2
				note wrong-key home/.gemini/settings.json:2
				note wrong-type project/.gemini/settings.json:1`},
		{name: "settings file is a folder", files: map[string]string{"home/.gemini/settings.json/x": "", project: two, trust: geminiTrusting},
			want: `
				a: error file-refused(home/.gemini/settings.json:1) project project/.gemini/settings.json:2 stdio
				b: error file-refused(home/.gemini/settings.json:1) project project/.gemini/settings.json:3 stdio
				file home/.gemini/settings.json:0 refused
				broken home/.gemini/settings.json:1`},
		{name: "nothing", want: ""},
	})
}

// System settings files are used only when they belong to root.
func TestGeminiSystemFiles(t *testing.T) {
	t.Parallel()
	files := map[string]string{
		"etc/gemini-cli/settings.json":     `{"mcpServers": {"x": {"command": "system"}}, "security": {"folderTrust": {"enabled": false}}}`,
		"home/.gemini/settings.json":       `{"mcpServers": {"x": {"command": "user"}}}`,
		"home/.gemini/trustedFolders.json": geminiTrusting,
	}
	t.Run("of somebody else", func(t *testing.T) {
		t.Parallel()
		s := newSettingsScene(t, files, nil)
		if os.Getuid() == 0 {
			if err := os.Chown(s.path("etc/gemini-cli/settings.json"), 1000, 1000); err != nil {
				t.Skip(err)
			}
		}
		s.check(geminiCLI(), `
			x: configured user home/.gemini/settings.json:1 stdio
			file /etc/gemini-cli/settings.json:0 refused
			note system-file-skipped /etc/gemini-cli/settings.json:1`)
	})
	t.Run("writable by others", func(t *testing.T) {
		t.Parallel()
		s := newSettingsScene(t, files, map[string]string{"GEMINI_CLI_SYSTEM_SETTINGS_PATH": "@BASE@/root/etc/gemini-cli/settings.json"})
		if err := os.Chmod(s.path("etc/gemini-cli"), 0o777); err != nil {
			t.Fatal(err)
		}
		c := s.check(geminiCLI(), `
			x: configured user home/.gemini/settings.json:1 stdio
			file /etc/gemini-cli/settings.json:0 refused
			note system-file-skipped /etc/gemini-cli/settings.json:1`)
		if text := c.Notes[0].Text; !strings.Contains(text, "$GEMINI_CLI_SYSTEM_SETTINGS_PATH") {
			t.Errorf("the note does not name the variable: %s", text)
		}
		for _, f := range c.Files {
			if f.Status == model.FileRefused && !strings.HasPrefix(f.Note, "wrong owner") {
				t.Errorf("refused with the note %q", f.Note)
			}
		}
	})
	t.Run("of root", func(t *testing.T) {
		t.Parallel()
		if os.Getuid() != 0 {
			t.Skip("only root can lay such a file out")
		}
		newSettingsScene(t, files, nil).check(geminiCLI(), `
			x: configured system /etc/gemini-cli/settings.json:1 stdio >user home/.gemini/settings.json:1
			file home/.gemini/trustedFolders.json:0 ignored`)
	})
}

// A merged entry has the keys of the settings over those of the extension, env joined, and the extension's places.
func TestGeminiMergedDefinition(t *testing.T) {
	t.Parallel()
	s := newSettingsScene(t, map[string]string{
		"home/.gemini/trustedFolders.json": geminiTrusting,
		"home/.gemini/settings.json":       `{"mcpServers": {"x": {"args": ["${extensionPath}/a", "$NAME"], "env": {"B": "2", "C": "3"}}}}`,
		"home/.gemini/extensions/e/gemini-extension.json": `{"name": "e", "version": "1", "mcpServers": {
			"x": {"command": "${extensionPath}${/}run", "args": ["z"], "cwd": "${workspacePath}", "env": {"A": "1", "B": "1"}, "timeout": 1500}}}`,
	}, nil)
	d := s.column(geminiCLI()).Cells[0].Definition
	dir := s.path("home/.gemini/extensions/e")
	if d.Command != dir+"/run" || d.Cwd != s.project || d.StartTimeout.Milliseconds() != 1500 {
		t.Errorf("command %s, folder %s, timeout %s", d.Command, d.Cwd, d.StartTimeout)
	}
	if args := d.ArgTexts(); !slices.Equal(args, []string{dir + "/a", "$NAME"}) {
		t.Errorf("arguments %v", args)
	}
	env := ""
	for _, v := range d.Env {
		env += v.Name + "=" + v.Value.Reveal() + " "
	}
	if env != "A=1 B=2 C=3 " {
		t.Errorf("env %s", env)
	}
}

func TestGeminiCapabilities(t *testing.T) {
	t.Parallel()
	user := `{"mcpServers": {"loads": {"command": "x"}, "off": {"command": "x"}, "blocked": {"command": "x"}, "bad": {}, "web": {"url": "https://h"}}, "mcp": {"excluded": ["blocked"]}}`
	files := map[string]string{"home/.gemini/settings.json": user, "home/.gemini/mcp-server-enablement.json": `{"off": {"enabled": false}}`,
		"home/.gemini/extensions/e/gemini-extension.json":   `{"name": "e", "version": "1", "mcpServers": {"ext": {"command": "x"}}}`,
		"home/.gemini/extensions/extension-enablement.json": `{"e": {"overrides": ["!/*"]}}`}
	s := newSettingsScene(t, files, nil)
	for _, c := range s.column(geminiCLI()).Cells {
		caps := c.Capabilities
		toggle, approve := c.Name == "loads" || c.Name == "off" || c.Name == "web", c.Decision != model.DecisionCannot
		if (caps.Toggle == "") != toggle || (caps.Approve == "") != approve || (caps.Login == "") != (c.Name == "web") {
			t.Errorf("%s in an untrusted folder: %+v", c.Name, caps)
		}
	}
	s.write("home/.gemini/trustedFolders.json", geminiTrusting)
	s.write("home/.gemini/mcp-server-enablement.json", "broken")
	for _, c := range s.column(geminiCLI()).Cells {
		if c.Capabilities.Toggle == "" || c.Capabilities.Approve == "" {
			t.Errorf("%s in a trusted folder, switches broken: %+v", c.Name, c.Capabilities)
		}
	}
}

// The column is fed by nothing but what it is said to look at: changed files must be among the watched paths.
func TestGeminiWatchesWhatCouldAppear(t *testing.T) {
	t.Parallel()
	s := newSettingsScene(t, nil, nil)
	r := NewReader(s.env, NewCache())
	resolveGemini(s.env, r)
	touched := r.Touched()
	for _, p := range []string{"home/.gemini/settings.json", "home/.gemini/trustedFolders.json", "home/.gemini/mcp-server-enablement.json",
		"home/.gemini/extensions", "home/.gemini/extensions/extension-enablement.json", "project/.gemini/settings.json", "project/.env",
		"etc/gemini-cli/settings.json", "etc/gemini-cli/system-defaults.json"} {
		if !slices.Contains(touched, s.path(p)) {
			t.Errorf("%s is not watched", p)
		}
	}
}

func FuzzResolveGemini(f *testing.F) {
	f.Add([]byte(`{"mcpServers": {"a": {"command": "$CANARY", "args": ["$CANARY"], "env": {"A": "${CANARY}"}}}, "mcp": {"allowed": ["a"]}}`),
		[]byte(`{"mcpServers": {"b": {"url": "https://h/$CANARY", "headers": {"A": "$CANARY"}}}}`), []byte(geminiTrusting),
		[]byte(`{"a": {"enabled": false}}`), []byte(`{"name": "e", "version": "1", "mcpServers": {"a": {"args": ["$CANARY"]}, "c": {"command": "${extensionPath}"}}}`))
	f.Add([]byte(`{"mcpServers": null}`), []byte(`{"mcpServers": [{"command": "x"}, 5, null]}`), []byte(`{"@PROJECT@/x": "TRUST_PARENT"}`), []byte(`[]`), []byte(`{"mcpServers": {"n": null}}`))
	f.Add([]byte(`{"mcp": {"serverCommand": "a 'b $CANARY' | c", "allowed": {}, "excluded": [5]}}`), []byte("{"), []byte(`{"/": "BAD"}`), []byte(``), []byte(`{"name": "e"`))
	f.Fuzz(func(t *testing.T, user, project, trust, switches, extension []byte) {
		fuzzSettings(t, geminiCLI(), map[string]string{
			"home/.gemini/settings.json": string(user), "project/.gemini/settings.json": string(project), "home/.gemini/trustedFolders.json": string(trust),
			"home/.gemini/mcp-server-enablement.json": string(switches), "home/.gemini/extensions/e/gemini-extension.json": string(extension)})
	})
}

func TestGeminiLaunch(t *testing.T) {
	t.Parallel()
	s := newSettingsScene(t, map[string]string{
		"home/.gemini/trustedFolders.json": geminiTrusting,
		"project/.env":                     "LATE=late\nLATE_TOKEN=t\n",
		"home/.gemini/settings.json": `{"mcpServers": {"a": {"command": "$CMD", "args": ["$LATE", "${NOPE:-d}"], "cwd": "sub", "timeout": 50,
			"env": {"A": "$LATE", "B": "x$LATE_TOKEN", "C": "$MY_TOKEN"}, "includeTools": ["one", "two(x)"], "excludeTools": ["one"]}}}`,
		"home/.gemini/extensions/e/.env":                  "OWN=own\n",
		"home/.gemini/extensions/e/gemini-extension.json": `{"name": "e", "version": "1", "mcpServers": {"x": {"command": "x", "args": ["$LATE$OWN"]}}}`,
	}, map[string]string{"CMD": "run", "MY_TOKEN": "secret", "PATH": "/bin", "DATABASE_URL": "x"})
	h := geminiCLI()
	c := s.column(h)
	l := h.LaunchFor(s.env, &c.Cells[0].Entry)
	if l.Command != "run" || !slices.Equal(l.Args, []string{"$LATE", "d"}) || l.Dir != s.path("project/sub") {
		t.Errorf("%s %q in %s", l.Command, l.Args, l.Dir)
	}
	if want := []string{"A=late", "B=x", "C=secret", "CMD=run", "GEMINI_CLI=1", "LATE=late", "PATH=/bin"}; !slices.Equal(l.Env, want) {
		t.Errorf("environment %q, want %q", l.Env, want)
	}
	if want := []string{"LATE", "LATE_TOKEN"}; !slices.Equal(l.Unset, want) {
		t.Errorf("unset %q, want %q", l.Unset, want)
	}
	if x := h.LaunchFor(s.env, &c.Cells[1].Entry); !slices.Equal(x.Args, []string{"lateown"}) {
		t.Errorf("extension: %q", x.Args)
	}
	tools := h.ToolsFor(&c.Cells[0].Entry, []model.Tool{{Name: "one"}, {Name: "two"}, {Name: "three"}})
	if !slices.Equal(tools.ShownAs, []string{"mcp_a_two"}) {
		t.Errorf("tools %q", tools.ShownAs)
	}
	if name := geminiToolName("my server", strings.Repeat("x", 80)); name != "mcp_my_server_"+strings.Repeat("x", 16)+"..."+strings.Repeat("x", 30) {
		t.Errorf("long name %s", name)
	}
}
