package loaders

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"fusebox/model"
)

const (
	userCodex    = "~/.codex/config.toml"
	projectCodex = "./.codex/config.toml"
	systemCodex  = "/etc/codex/config.toml"
	managedCodex = "/etc/codex/managed_config.toml"
	requireCodex = "/etc/codex/requirements.toml"
)

// stdioTOML is a table of three lines, with the header first.
func stdioTOML(name string) string {
	return fmt.Sprintf("[mcp_servers.%s]\ncommand = \"true\"\n\n", name)
}

const trustProject = "[projects.\"@PROJECT@\"]\ntrust_level = \"trusted\"\n\n" // three lines

func trusting(level, path string) string {
	return fmt.Sprintf("[projects.%q]\ntrust_level = %q\n\n", path, level)
}

func TestCodexResolve(t *testing.T) {
	t.Parallel()
	g, p := stdioTOML("g"), stdioTOML("p")
	loads := func(place string) string { return "configured | user " + place }
	broken := func(at, place string) string { return "error file-refused " + at + " | " + place }
	runCases(t, codexCLI(), []resolveCase{
		{name: "nothing"},
		{name: "one user server", files: map[string]string{userCodex: g}, want: map[string]string{"g": loads(userCodex + ":1")}},
		{name: "forms of tables", files: map[string]string{userCodex: "mcp_servers.a.command = \"x\"\n[mcp_servers]\nb = {\n url = \"http://h/\",\n}\n[mcp_servers.c.env]\nA = \"1\"\n[mcp_servers.c]\ncommand = \"x\"\n"},
			ran: userCodex + ":2", want: map[string]string{"a": broken(userCodex+":2", "user "+userCodex+":1"), "b": broken(userCodex+":2", "user "+userCodex+":3"), "c": broken(userCodex+":2", "user "+userCodex+":6")}},
		{name: "inline, dotted and split tables", files: map[string]string{userCodex: "[mcp_servers]\na.command = \"x\"\nb = {\n url = \"http://h/\",\n}\n[mcp_servers.c.env]\nA = \"1\"\n[mcp_servers.c]\ncommand = \"x\"\n"},
			want: map[string]string{"a": loads(userCodex + ":2"), "b": loads(userCodex + ":3"), "c": loads(userCodex + ":8")}},
		{name: "empty file, byte order mark, CRLF", files: map[string]string{systemCodex: "", userCodex: "\ufeff" + strings.ReplaceAll(g, "\n", "\r\n")},
			want: map[string]string{"g": loads(userCodex + ":1")}},

		{name: "CODEX_HOME", vars: map[string]string{"CODEX_HOME": "@HOME@/ch"}, files: map[string]string{userCodex: g, "~/ch/config.toml": p},
			want: map[string]string{"p": loads("~/ch/config.toml:1")}},
		{name: "empty CODEX_HOME", vars: map[string]string{"CODEX_HOME": ""}, files: map[string]string{userCodex: g}, want: map[string]string{"g": loads(userCodex + ":1")}},
		{name: "relative CODEX_HOME, in the folder", vars: map[string]string{"CODEX_HOME": "ch"}, files: map[string]string{"./ch/config.toml": g},
			want: map[string]string{"g": loads("./ch/config.toml:1") + " | from-repository"}},
		{name: "missing CODEX_HOME is fatal", vars: map[string]string{"CODEX_HOME": "@HOME@/no"}, files: map[string]string{userCodex: g, projectCodex: p, systemCodex: stdioTOML("s")},
			ran: "$CODEX_HOME:1", want: map[string]string{"s": broken("$CODEX_HOME:1", "system "+systemCodex+":1"), "p": broken("$CODEX_HOME:1", "project "+projectCodex+":1")}},
		{name: "tilde in CODEX_HOME means nothing", vars: map[string]string{"CODEX_HOME": "~/.codex"}, files: map[string]string{userCodex: g}, ran: "$CODEX_HOME:1"},
		{name: "CODEX_HOME is a file", vars: map[string]string{"CODEX_HOME": "@HOME@/f"}, files: map[string]string{"~/f": ""}, ran: "$CODEX_HOME:1"},
		{name: "the folder is a file", files: map[string]string{"~/.codex": "x"}, ran: "~/.codex:1"},

		{name: "system below user", files: map[string]string{systemCodex: g + stdioTOML("s"), userCodex: "[mcp_servers.g]\nenabled = false\n"},
			want: map[string]string{"g": "disabled switched-off " + userCodex + ":2 | system " + systemCodex + ":1 | joins user " + userCodex + ":1", "s": "configured | system " + systemCodex + ":4"}},
		{name: "managed above all", files: map[string]string{managedCodex: "[mcp_servers.g]\nenabled = false\n" + stdioTOML("m"), userCodex: g},
			want: map[string]string{"g": "disabled switched-off " + managedCodex + ":2 | user " + userCodex + ":1 | joins managed " + managedCodex + ":1", "m": "configured | managed " + managedCodex + ":3"}},
		{name: "managed file in the user's folder is not read", files: map[string]string{"~/.codex/managed_config.toml": g}, notes: []string{"file-not-read"}},
		{name: "system file does not parse", files: map[string]string{systemCodex: "\n[bad\n", userCodex: g}, ran: systemCodex + ":2", want: map[string]string{"g": broken(systemCodex+":2", "user "+userCodex+":1")}},
		{name: "managed file does not parse", files: map[string]string{managedCodex: "[bad\n", userCodex: g}, ran: managedCodex + ":1", want: map[string]string{"g": broken(managedCodex+":1", "user "+userCodex+":1")}},

		{name: "requirements let only matching servers in", files: map[string]string{
			requireCodex: "[mcp_servers.g.identity]\ncommand = \"true\"\n[mcp_servers.x.identity]\ncommand = \"other\"\n[mcp_servers.u.identity]\nurl = \"http://h\"\n",
			userCodex:    g + stdioTOML("x") + "[mcp_servers.u]\nurl = \"http://h/\"\n" + stdioTOML("z") + "enabled = false\n"},
			want: map[string]string{"g": loads(userCodex + ":1"),
				"x": "disabled blocked-by-policy " + requireCodex + ":3 | user " + userCodex + ":4",
				"u": "disabled blocked-by-policy " + requireCodex + ":5 | user " + userCodex + ":7",
				"z": "disabled blocked-by-policy " + requireCodex + ":1 | user " + userCodex + ":9"}},
		{name: "an empty table of requirements blocks all", files: map[string]string{requireCodex: "\n[mcp_servers]\n", userCodex: g},
			want: map[string]string{"g": "disabled blocked-by-policy " + requireCodex + ":2 | user " + userCodex + ":1"}},
		{name: "requirements about something else", files: map[string]string{requireCodex: "allowed_sandbox_modes = [\"read-only\"]\n", userCodex: g}, want: map[string]string{"g": loads(userCodex + ":1")}},
		{name: "a requirement without identity", files: map[string]string{requireCodex: "[mcp_servers.g]\n", userCodex: g}, ran: requireCodex + ":1", want: map[string]string{"g": broken(requireCodex+":1", "user "+userCodex+":1")}},
		{name: "requirements of a wrong kind", files: map[string]string{requireCodex: "mcp_servers = 5\n", userCodex: g}, ran: requireCodex + ":1", want: map[string]string{"g": broken(requireCodex+":1", "user "+userCodex+":1")}},
		{name: "requirements that do not parse", files: map[string]string{requireCodex: "[bad\n", userCodex: g}, ran: requireCodex + ":1", want: map[string]string{"g": broken(requireCodex+":1", "user "+userCodex+":1")}},
		{name: "identities in the managed file are no requirements", files: map[string]string{managedCodex: "[mcp_servers.g.identity]\ncommand = \"other\"\n", userCodex: g},
			want: map[string]string{"g": loads(userCodex+":1") + " | joins managed " + managedCodex + ":1 | unknown-key"}},

		{name: "trusted project", files: map[string]string{userCodex: trustProject + g, projectCodex: p}, want: map[string]string{"g": loads(userCodex + ":4"), "p": "configured | project " + projectCodex + ":1"}},
		{name: "untrusted project", files: map[string]string{userCodex: g, projectCodex: p + stdioTOML("g")},
			want: map[string]string{"g": loads(userCodex+":1") + " | pending project unapproved untrusted-folder " + projectCodex + ":4",
				"p": "unapproved untrusted-folder " + userCodex + ":1 | project " + projectCodex + ":1"}},
		{name: "marked as untrusted", files: map[string]string{userCodex: g + trusting("untrusted", "@PROJECT@"), projectCodex: p},
			want: map[string]string{"g": loads(userCodex + ":1"), "p": "unapproved untrusted-folder " + userCodex + ":5 | project " + projectCodex + ":1"}},
		{name: "trust of a parent does not count", files: map[string]string{userCodex: trusting("trusted", "@HOME@"), projectCodex: p},
			want: map[string]string{"p": "unapproved untrusted-folder " + userCodex + ":1 | project " + projectCodex + ":1"}},
		{name: "nor does a trailing slash", files: map[string]string{userCodex: trusting("trusted", "@PROJECT@/"), projectCodex: p},
			want: map[string]string{"p": "unapproved untrusted-folder " + userCodex + ":1 | project " + projectCodex + ":1"}},
		{name: "trust in the system file", files: map[string]string{systemCodex: trustProject, projectCodex: p}, want: map[string]string{"p": "configured | project " + projectCodex + ":1"}},
		{name: "the user's word on trust is above the system's", files: map[string]string{systemCodex: trustProject, userCodex: trusting("untrusted", "@PROJECT@"), projectCodex: p},
			want: map[string]string{"p": "unapproved untrusted-folder " + userCodex + ":2 | project " + projectCodex + ":1"}},
		{name: "the managed file's above the user's", files: map[string]string{managedCodex: trustProject, userCodex: trusting("untrusted", "@PROJECT@"), projectCodex: p},
			want: map[string]string{"p": "configured | project " + projectCodex + ":1"}},
		{name: "a project cannot trust a folder below it", start: "sub", files: map[string]string{"./.git/HEAD": "", userCodex: trustProject + trusting("untrusted", "@PROJECT@/sub"), projectCodex: trusting("trusted", "@PROJECT@/sub") + p, "./sub/.codex/config.toml": g},
			want: map[string]string{"p": "configured | project " + projectCodex + ":4", "g": "unapproved untrusted-folder " + userCodex + ":5 | project ./sub/.codex/config.toml:1"}},
		{name: "a folder of its own is looked up first", start: "sub", files: map[string]string{"./.git/HEAD": "", userCodex: trusting("trusted", "@PROJECT@/sub"), projectCodex: p, "./sub/.codex/config.toml": g},
			want: map[string]string{"p": "unapproved untrusted-folder " + userCodex + ":1 | project " + projectCodex + ":1", "g": "configured | project ./sub/.codex/config.toml:1"}},
		{name: "the git repository counts when the project root lies below it", start: "a/b", files: map[string]string{"./.git/HEAD": "", "./a/MARK": "", userCodex: "project_root_markers = [\"MARK\"]\n" + trustProject, "./a/b/.codex/config.toml": p},
			want: map[string]string{"p": "configured | project ./a/b/.codex/config.toml:1"}},

		{name: "layers from the root down", start: "sub/deep", files: map[string]string{"./.git/HEAD": "", userCodex: trustProject,
			projectCodex: stdioTOML("root") + stdioTOML("x"), "./sub/.codex/config.toml": stdioTOML("sub") + "[mcp_servers.x]\nargs = [\"sub\"]\nenabled = false\n"},
			want: map[string]string{"root": "configured | project " + projectCodex + ":1", "sub": "configured | project ./sub/.codex/config.toml:1",
				"x": "disabled switched-off ./sub/.codex/config.toml:6 | project " + projectCodex + ":4 | joins project ./sub/.codex/config.toml:4"}},
		{name: "without a marker only the folder itself", start: "sub", files: map[string]string{userCodex: trustProject, projectCodex: p, "./sub/.codex/config.toml": g},
			want: map[string]string{"g": "unapproved untrusted-folder " + userCodex + ":1 | project ./sub/.codex/config.toml:1"}},
		{name: "nor does a .git folder without HEAD count", start: "sub", files: map[string]string{"./.git/": "", userCodex: trustProject, projectCodex: p, "./sub/": ""}},
		{name: "a .git file does", start: "sub", files: map[string]string{"./.git": "x", userCodex: trustProject, projectCodex: p, "./sub/": ""},
			want: map[string]string{"p": "configured | project " + projectCodex + ":1"}},
		{name: "an empty .git folder hides no repository", start: "sub", files: map[string]string{"./.git/HEAD": "", "./sub/.git/": "", userCodex: "project_root_markers = []\n" + trustProject, "./sub/.codex/config.toml": g},
			want: map[string]string{"g": "configured | project ./sub/.codex/config.toml:1"}},
		{name: "another marker may be an empty folder", start: "sub", files: map[string]string{"./.hg/": "", userCodex: "project_root_markers = [\".hg\"]\n" + trustProject, projectCodex: p, "./sub/": ""},
			want: map[string]string{"p": "configured | project " + projectCodex + ":1"}},
		{name: "no markers", start: "sub", files: map[string]string{"./.git/HEAD": "", userCodex: "project_root_markers = []\n" + trustProject, projectCodex: p, "./sub/.codex/config.toml": g},
			want: map[string]string{"g": "configured | project ./sub/.codex/config.toml:1"}},
		{name: "a marker of the system file", start: "s", files: map[string]string{systemCodex: "project_root_markers = [\"M\"]\n", "./M": "", userCodex: trustProject, projectCodex: p, "./s/": ""},
			want: map[string]string{"p": "configured | project " + projectCodex + ":1"}},
		{name: "a marker of a project file does not count", start: "sub", files: map[string]string{"./.git/HEAD": "", userCodex: trustProject, projectCodex: "project_root_markers = []\n" + p, "./sub/": ""},
			want: map[string]string{"p": "configured | project " + projectCodex + ":2"}},
		{name: "the home folder's .codex is no project layer", start: "..", files: map[string]string{userCodex: trusting("trusted", "@HOME@") + g}, want: map[string]string{"g": loads(userCodex + ":4")}},
		{name: "unless CODEX_HOME is another", start: "..", vars: map[string]string{"CODEX_HOME": "@HOME@/ch"}, files: map[string]string{"~/ch/config.toml": trusting("trusted", "@HOME@"), userCodex: g},
			want: map[string]string{"g": "configured | project " + userCodex + ":1"}},

		{name: "tables merge key by key", files: map[string]string{userCodex: trustProject + "[mcp_servers.u]\ncommand = \"true\"\nargs = [\"user\"]\nenv = { A = \"1\", B = \"2\" }\n", projectCodex: "[mcp_servers.u]\nargs = [\"project\"]\nenv = { B = \"3\" }\n"},
			want: map[string]string{"u": loads(userCodex+":4") + " | joins project " + projectCodex + ":1"}},
		{name: "the higher transport is the source", files: map[string]string{userCodex: trustProject + g, projectCodex: stdioTOML("g")},
			want: map[string]string{"g": "configured | project " + projectCodex + ":1 | joins user " + userCodex + ":4 | conflicting-scopes"}},
		{name: "a project switches a user's server on", files: map[string]string{userCodex: trustProject + g + "enabled = false\n", projectCodex: "[mcp_servers.g]\nenabled = true\n"},
			want: map[string]string{"g": loads(userCodex+":4") + " | joins project " + projectCodex + ":1"}},
		{name: "command and url from two files", files: map[string]string{userCodex: trustProject + g + stdioTOML("u"), projectCodex: "\n[mcp_servers.u]\nurl = \"http://h/\"\n"}, ran: projectCodex + ":3",
			want: map[string]string{"g": broken(projectCodex+":3", "user "+userCodex+":4"), "u": broken(projectCodex+":3", "project "+projectCodex+":2 | joins user "+userCodex+":7")}},
		{name: "a bad value below a good one does no harm", files: map[string]string{userCodex: trustProject + g + "args = 5\n", projectCodex: "[mcp_servers.g]\nargs = []\n"},
			want: map[string]string{"g": loads(userCodex+":4") + " | joins project " + projectCodex + ":1"}},
		{name: "only enabled in the user file, with the project", files: map[string]string{userCodex: trustProject + "[mcp_servers.p]\nenabled = false\n", projectCodex: p},
			want: map[string]string{"p": "disabled switched-off " + userCodex + ":5 | project " + projectCodex + ":1 | joins user " + userCodex + ":4 | partial-entry"}},
		{name: "only enabled in the user file, elsewhere", files: map[string]string{userCodex: g + "[mcp_servers.p]\nenabled = false\n"}, ran: userCodex + ":4",
			want: map[string]string{"g": broken(userCodex+":4", "user "+userCodex+":1"), "p": broken(userCodex+":4", "user "+userCodex+":4")}},
		{name: "only enabled in the user file, project not trusted", files: map[string]string{userCodex: "[mcp_servers.p]\nenabled = false\n", projectCodex: p}, ran: userCodex + ":1",
			want: map[string]string{"p": broken(userCodex+":1", "user "+userCodex+":1")}},

		{name: "a trusted project file that does not parse", files: map[string]string{userCodex: trustProject + g, projectCodex: "[bad\n"}, ran: projectCodex + ":1",
			want: map[string]string{"g": broken(projectCodex+":1", "user "+userCodex+":4")}},
		{name: "an untrusted one is ignored", files: map[string]string{userCodex: g, projectCodex: "[mcp_servers.x\ncommand =\n"}, want: map[string]string{"g": loads(userCodex + ":1")}},
		{name: "unless it is not UTF-8", files: map[string]string{userCodex: g, projectCodex: "x = \"\xff\"\n"}, ran: projectCodex + ":1", want: map[string]string{"g": broken(projectCodex+":1", "user "+userCodex+":1")}},
		{name: "or no file", files: map[string]string{userCodex: g, projectCodex + "/": ""}, ran: projectCodex + ":1", want: map[string]string{"g": broken(projectCodex+":1", "user "+userCodex+":1")}},
		{name: "an untrusted bad entry waits", files: map[string]string{userCodex: g, projectCodex: "[mcp_servers.p]\nargs = 5\n"},
			want: map[string]string{"g": loads(userCodex + ":1"), "p": "unapproved untrusted-folder " + userCodex + ":1 | project " + projectCodex + ":1"}},
		{name: "a .codex that is a file", files: map[string]string{userCodex: trustProject + g, "./.codex": "x"}, want: map[string]string{"g": loads(userCodex + ":4")}},

		{name: "one bad entry refuses all", files: map[string]string{userCodex: g + "[mcp_servers.bad]\nargs = [\"x\"]\nenabled = false\n"}, ran: userCodex + ":4",
			want: map[string]string{"g": broken(userCodex+":4", "user "+userCodex+":1"), "bad": broken(userCodex+":4", "user "+userCodex+":4")}},
		{name: "names of a file that does not parse", files: map[string]string{userCodex: g + "[mcp_servers.\"a b\".env]\nX = \"1\"\n[mcp_servers]\n'c d' = {command = \"x\"}\n[other]\nx = {}\n[mcp_servers.h]\ncommand = \"C:\\Users\\x\"\n"}, ran: userCodex + ":11",
			want: map[string]string{"g": broken(userCodex+":11", "user "+userCodex+":1"), "a b": broken(userCodex+":11", "user "+userCodex+":4"), "c d": broken(userCodex+":11", "user "+userCodex+":7"), "h": broken(userCodex+":11", "user "+userCodex+":10")}},
		{name: "a lone carriage return", files: map[string]string{userCodex: "model = \"m\"\r\n[mcp_servers.a]\rcommand = \"true\"\r\n"}, ran: userCodex + ":2",
			want: map[string]string{"a": broken(userCodex+":2", "user "+userCodex+":2")}},
		{name: "mcp_servers is no table", files: map[string]string{userCodex: "mcp_servers = []\n"}, ran: userCodex + ":1"},
		{name: "and hides what lies below it", files: map[string]string{systemCodex: stdioTOML("s"), userCodex: "mcp_servers = 5\n"}, ran: userCodex + ":1"},
		{name: "an unknown trust level", files: map[string]string{userCodex: trusting("full", "/x") + g}, ran: userCodex + ":2", want: map[string]string{"g": broken(userCodex+":2", "user "+userCodex+":4")}},
		{name: "a folder in projects without a level", files: map[string]string{userCodex: "[projects.\"/x\"]\nfoo = 1\n" + g}, want: map[string]string{"g": loads(userCodex + ":3")}},
		{name: "projects is no table", files: map[string]string{userCodex: "projects = 5\n" + g}, ran: userCodex + ":1", want: map[string]string{"g": broken(userCodex+":1", "user "+userCodex+":2")}},
		{name: "a folder in projects is a text", files: map[string]string{userCodex: g + "[projects]\n\"/x\" = \"trusted\"\n"}, ran: userCodex + ":5", want: map[string]string{"g": broken(userCodex+":5", "user "+userCodex+":1")}},
		{name: "markers of a wrong kind", files: map[string]string{userCodex: "project_root_markers = [5]\n" + g}, ran: userCodex + ":1", want: map[string]string{"g": broken(userCodex+":1", "user "+userCodex+":2")}},
		{name: "the legacy profile", files: map[string]string{userCodex: "profile = \"x\"\n" + g + "[profiles.x]\nmodel = \"m\"\n"}, ran: userCodex + ":1", want: map[string]string{"g": broken(userCodex+":1", "user "+userCodex+":2")}},
		{name: "profiles alone are harmless", files: map[string]string{userCodex: g + "[profiles.x.mcp_servers.y]\ncommand = \"x\"\n"}, want: map[string]string{"g": loads(userCodex + ":1")}, notes: []string{"wrong-key"}},
		{name: "a profile in a project file is dropped", files: map[string]string{userCodex: trustProject, projectCodex: "profile = \"x\"\n" + p}, want: map[string]string{"p": "configured | project " + projectCodex + ":2"}},
		{name: "a well-known key of a wrong kind", files: map[string]string{userCodex: "model = 5\n" + g}, ran: userCodex + ":1", want: map[string]string{"g": broken(userCodex+":1", "user "+userCodex+":2")}},
		{name: "a word that it does not know", files: map[string]string{userCodex: "approval_policy = \"x\"\n" + g}, ran: userCodex + ":1", want: map[string]string{"g": broken(userCodex+":1", "user "+userCodex+":2")}},
		{name: "a word that another key does not know", files: map[string]string{userCodex: "model_verbosity = \"x\"\n" + g}, ran: userCodex + ":1", want: map[string]string{"g": broken(userCodex+":1", "user "+userCodex+":2")}},
		{name: "a table of approvals", files: map[string]string{userCodex: g + "[approval_policy.granular]\nsandbox_approval = true\nrules = true\nmcp_elicitations = true\n"}, want: map[string]string{"g": loads(userCodex + ":1")}},
		{name: "a limit that is a text", files: map[string]string{userCodex: "tool_output_token_limit = \"x\"\n" + g}, ran: userCodex + ":1", want: map[string]string{"g": broken(userCodex+":1", "user "+userCodex+":2")}},
		{name: "below a good one", files: map[string]string{userCodex: "model = 5\n" + trustProject + g, projectCodex: "model = \"m\"\n"}, want: map[string]string{"g": loads(userCodex + ":5")}},
		{name: "a feature that is a number", files: map[string]string{userCodex: "features.x = 5\n" + g}, ran: userCodex + ":1", want: map[string]string{"g": broken(userCodex+":1", "user "+userCodex+":2")}},

		{name: "names", files: map[string]string{userCodex: stdioTOML(`"a b"`) + stdioTOML(`""`) + stdioTOML(`"é"`) + stdioTOML(`"x:@/.-_9"`) + stdioTOML(`"c d"`) + "enabled = false\n"},
			want: map[string]string{
				"a b":      loads(userCodex+":1") + " | invalid-server-name",
				"":         loads(userCodex+":4") + " | invalid-server-name",
				"é":        loads(userCodex+":7") + " | invalid-server-name",
				"x:@/.-_9": loads(userCodex + ":10"),
				"c d":      "disabled switched-off " + userCodex + ":16 | user " + userCodex + ":13 | invalid-server-name"}},

		{name: "keys that Codex does not know", files: map[string]string{userCodex: g + "type = \"stdio\"\ndisabled = true\nheaders = {}\nstartupTimeoutSec = 5\nfoo = 1\nname = \"n\"\n"},
			want: map[string]string{"g": loads(userCodex+":1") + " | key-without-effect:5 | unknown-key:8 | unknown-key:6 | unknown-key:7 | unknown-key:4 | key-without-effect:9"}},
		{name: "timeouts", files: map[string]string{userCodex: stdioTOML("a") + "startup_timeout_ms = 5\n" + stdioTOML("b") + "startup_timeout_ms = 5\nstartup_timeout_sec = 0\n"},
			want: map[string]string{"a": loads(userCodex+":1") + " | deprecated-key:4", "b": loads(userCodex+":5") + " | key-without-effect:8 | key-without-effect:9"}},
		{name: "nothing is filled in", vars: map[string]string{"SET": "x"}, files: map[string]string{userCodex: "[mcp_servers.a]\ncommand = \"~/x\"\nargs = [\"${SET}\", \"${SET:-secret}\", \"$SET\", \"a$SET\", \"{env:SET}\"]\n"},
			want: map[string]string{"a": loads(userCodex+":1") + strings.Repeat(" | unset-variable", 4)}},
		{name: "variables that are not set", vars: map[string]string{"SET": "x", "BLANK": " "}, files: map[string]string{userCodex: stdioTOML("a") + "env_vars = [\"SET\", \"NO\", { name = \"NO2\", source = \"local\" }, { name = \"R\", source = \"remote\" }]\n" +
			"[mcp_servers.u]\nurl = \"http://h/\"\nbearer_token_env_var = \"NO\"\nenv_http_headers = { A = \"SET\", B = \"BLANK\" }\n"},
			want: map[string]string{"a": loads(userCodex+":1") + " | unset-variable:4 | unset-variable:4 | unset-variable:4", "u": loads(userCodex+":5") + " | unset-variable:7 | unset-variable:8"}},

		{name: "tables of other programs", files: map[string]string{userCodex: "[mcp.servers.a]\ncommand = \"x\"\n[mcpServers.b]\ncommand = \"x\"\n[mcp-servers.c]\ncommand = \"x\"\n"}, notes: []string{"wrong-key", "wrong-key", "wrong-key"}},
		{name: "files that are not read", vars: map[string]string{"CODEX_HOME": "@HOME@/ch"}, files: map[string]string{"~/ch/work.config.toml": g, "~/ch/mcp.json": "{}", userCodex: g, "./config.toml": g, "./.codex/config.override.toml": g, "./.codex/mcp.json": "{}"},
			notes: []string{"file-not-read", "file-not-read", "file-not-read", "file-not-read"}},
		{name: "another program's config.toml", files: map[string]string{"./config.toml": "title = \"x\"\n", userCodex: g}, want: map[string]string{"g": loads(userCodex + ":1")}},

		{name: "stored sign-ins", files: map[string]string{userCodex: "[mcp_servers.old]\nurl = \"http://h/\"\n[mcp_servers.renew]\nurl = \"http://h/\"\n[mcp_servers.good]\nurl = \"http://h/\"\n[mcp_servers.other]\nurl = \"http://h/x\"\n[mcp_servers.header]\nurl = \"http://h/\"\nhttp_headers = { authorization = \"x\" }\n",
			"~/.codex/.credentials.json": `{"1":{"server_name":"old","server_url":"http://h/","access_token":"t","expires_at":1000},` + "\n" +
				`"2":{"server_name":"renew","server_url":"http://h/","access_token":"t","expires_at":1000,"refresh_token":"r"},` +
				`"3":{"server_name":"good","server_url":"http://h/","access_token":"t","expires_at":4000000000000},` +
				`"4":{"server_name":"other","server_url":"http://h/","access_token":"t","expires_at":1000},"5":{"server_name":"header","server_url":"http://h/","access_token":"t","expires_at":1000}}`},
			want: map[string]string{"old": "unauthenticated login-expired ~/.codex/.credentials.json:1 | user " + userCodex + ":1",
				"renew": loads(userCodex + ":3"), "good": loads(userCodex + ":5"), "other": loads(userCodex + ":7"), "header": loads(userCodex + ":9")}},
		{name: "sign-ins in the keyring", files: map[string]string{userCodex: "mcp_oauth_credentials_store = \"keyring\"\n[mcp_servers.old]\nurl = \"http://h/\"\n",
			"~/.codex/.credentials.json": `{"1":{"server_name":"old","server_url":"http://h/","access_token":"t","expires_at":1000}}`},
			want: map[string]string{"old": loads(userCodex + ":2")}},
		{name: "a store of tokens that does not exist", files: map[string]string{userCodex: "mcp_oauth_credentials_store = \"vault\"\n" + g}, ran: userCodex + ":1", want: map[string]string{"g": broken(userCodex+":1", "user "+userCodex+":2")}},
	})
}

// TestCodexValidation holds what the program said of single entries: each line is an entry of its own, and refused or not
// (observed on 0.171.0).
func TestCodexValidation(t *testing.T) {
	t.Parallel()
	const stdio, http = "command = \"true\"\n", "url = \"http://127.0.0.1:9/\"\n"
	for _, tc := range []struct {
		entry   string
		refused bool
	}{
		{stdio, false}, {http, false}, {"args = []\n", true}, {stdio + http, true}, {"enabled = false\n", true},
		{"command = \"\"\n", false}, {"url = \"\"\n", false}, {"url = \"no url\"\n", false}, {"command = [\"x\"]\n", true}, {"command = 1979-05-27\n", false},
		{stdio + "args = [1]\n", true}, {stdio + "args = \"x\"\n", true}, {stdio + "args = [1979-05-27]\n", false},
		{stdio + "env = { A = 1 }\n", true}, {stdio + "env = { A = 1979-05-27 }\n", false}, {stdio + "env = []\n", true},
		{stdio + "cwd = 5\n", true}, {stdio + "cwd = \"x\"\n", false},
		{stdio + "env_vars = [{ name = \"A\", source = \"x\" }]\n", true}, {stdio + "env_vars = [{ name = \"A\", foo = \"x\" }]\n", true},
		{stdio + "env_vars = [1]\n", true}, {stdio + "env_vars = { A = \"x\" }\n", true}, {stdio + "env_vars = [\"A\", { name = \"B\", source = \"remote\" }]\n", false},
		{stdio + "bearer_token = \"x\"\n", true}, {stdio + "bearer_token_env_var = \"x\"\n", true}, {stdio + "http_headers = {}\n", true},
		{stdio + "env_http_headers = { A = \"B\" }\n", true}, {stdio + "http_headers_helper = \"x\"\n", true},
		{stdio + "oauth = { client_id = \"x\" }\n", true}, {stdio + "oauth_resource = \"x\"\n", true}, {stdio + "auth = \"oauth\"\n", true},
		{stdio + "scopes = [\"x\"]\n", false}, {http + "scopes = \"x\"\n", true},
		{http + "args = []\n", true}, {http + "env = {}\n", true}, {http + "env_vars = []\n", true}, {http + "cwd = \"x\"\n", true}, {http + "bearer_token = \"x\"\n", true},
		{http + "http_headers_helper = [\"x\"]\n", true}, {http + "http_headers_helper = \" \"\n", true},
		{http + "http_headers_helper = \"x\"\nenvironment_id = \"y\"\n", true}, {http + "environment_id = 5\n", true}, {http + "environment_id = \"remote\"\n", false},
		{http + "oauth = { client_id = \"x\", foo = 1 }\n", false}, {http + "oauth = { client_id = 1 }\n", true}, {http + "oauth = \"x\"\n", true},
		{http + "oauth = { callback_port = true }\n", true}, {http + "oauth = { callback_url = true }\n", true}, {http + "oauth = { client_secret = true }\n", true},
		{http + "auth = \"chatgpt\"\n", false}, {http + "auth = \"none\"\n", true}, {http + "startup_readiness = \"x\"\n", true}, {http + "startup_readiness = \"catalog\"\n", false},
		{stdio + "startup_timeout_sec = 5\n", false}, {stdio + "startup_timeout_sec = \"5\"\n", true}, {stdio + "startup_timeout_sec = -1\n", true},
		{stdio + "startup_timeout_sec = inf\n", true}, {stdio + "startup_timeout_sec = nan\n", true}, {stdio + "startup_timeout_sec = 1e18\n", false},
		{stdio + "startup_timeout_sec = 2e19\n", true}, {stdio + "startup_timeout_sec = -0.0\n", false}, {stdio + "startup_timeout_sec = -1e-12\n", true},
		{stdio + "startup_timeout_sec = -1\nstartup_timeout_ms = 5\n", true}, {stdio + "startup_timeout_ms = -1\n", true}, {stdio + "startup_timeout_ms = 1.5\n", true},
		{stdio + "tool_timeout_sec = -0.5\n", true}, {stdio + "tool_timeout_sec = 2.5\n", false},
		{stdio + "enabled = \"false\"\n", true}, {stdio + "enabled = 1979-05-27\n", true}, {stdio + "required = \"x\"\n", true}, {stdio + "supports_parallel_tool_calls = \"x\"\n", true},
		{stdio + "default_tools_approval_mode = \"writes\"\n", false}, {stdio + "default_tools_approval_mode = \"x\"\n", true},
		{stdio + "omit_tools_from = [\"x\"]\n", true}, {stdio + "omit_tools_from = 5\n", true}, {stdio + "omit_tools_from = [\"direct\"]\n", false},
		{stdio + "tools = \"x\"\n", true}, {stdio + "[mcp_servers.x.tools.a]\napproval_mode = \"x\"\n", true}, {stdio + "[mcp_servers.x.tools.a]\nfoo = \"x\"\n", false},
		{stdio + "name = 5\n", true}, {stdio + "name = \"x\"\n", false}, {stdio + "type = 5\ndisabled = 7\nexperimental_environment = 1\nmodel = 5\n", false},
	} {
		t.Run(tc.entry, func(t *testing.T) {
			t.Parallel()
			tr := layTree(t, map[string]string{userCodex: stdioTOML("g") + "[mcp_servers.x]\n" + tc.entry}, nil)
			col := tr.column(codexCLI())
			if refused := col.Broken != nil; refused != tc.refused {
				t.Fatalf("refused is %t: %+v", refused, col.Broken)
			}
			for _, c := range col.Cells {
				if (c.Decision == model.DecisionCannot) != tc.refused {
					t.Errorf("%s: %s", c.Name, tr.describe(c))
				}
			}
			i := slices.IndexFunc(col.Files, func(f model.File) bool { return f.Path == filepath.Join(tr.home, ".codex", "config.toml") })
			if f := col.Files[i]; (f.Status == model.FileMalformed) != tc.refused || tc.refused && (f.Line < 4 || !strings.Contains(f.Note, "mcp_servers.x")) {
				t.Errorf("the file is %+v", f)
			}
		})
	}
}

// TestCodexArrayOfTables keeps a table in double brackets from being taken for an entry.
func TestCodexArrayOfTables(t *testing.T) {
	t.Parallel()
	col := layTree(t, map[string]string{userCodex: "[[mcp_servers.g]]\ncommand = \"true\"\n"}, nil).column(codexCLI())
	if col.Broken == nil || len(col.Cells) != 1 || col.Cells[0].Source.Line != 1 {
		t.Errorf("%+v, %d cells", col.Broken, len(col.Cells))
	}
}

func TestCodexDefinitions(t *testing.T) {
	t.Parallel()
	tr := layTree(t, map[string]string{userCodex: `[mcp_servers.s]
command = "npx"
args = ["-y", "x"]
env = { B = "2", A = "1" }
env_vars = ["N", { name = "L", source = "local" }]
cwd = "sub"
startup_timeout_ms = 1500
[mcp_servers.h]
url = "http://127.0.0.1:9/mcp"
http_headers = { A = "b" }
env_http_headers = { C = "D" }
bearer_token_env_var = "TOK"
http_headers_helper = "get-headers"
startup_timeout_sec = 2.5
[mcp_servers.long]
command = "x"
startup_timeout_sec = 1e18
`, projectCodex: "[mcp_servers.s]\nargs = [\"z\"]\nenv = { B = \"3\" }\n", "/etc/codex/config.toml": trustProject}, map[string]string{"TOK": "x", "D": "x", "N": "x", "L": "x"})
	col := tr.column(codexCLI())
	s, h := cellNamed(col, "s").Definition, cellNamed(col, "h").Definition
	if got := fmt.Sprintln(s.Transport, s.Command, s.ArgTexts(), reveal(s.Env), s.Inherit, s.Cwd, s.StartTimeout); got != "stdio npx [z] [A=1 B=3] [N L] sub 1.5s\n" {
		t.Errorf("s is %s", got)
	}
	if got := fmt.Sprintln(h.Transport, h.URL.Reveal(), reveal(h.Headers), reveal(h.HeaderVariables), h.BearerVariable, h.HeadersHelper.Reveal(), h.StartTimeout); got != "http http://127.0.0.1:9/mcp [A=b] [C=D] TOK get-headers 2.5s\n" {
		t.Errorf("h is %s", got)
	}
	if got := cellNamed(col, "long").Definition.StartTimeout; got <= 0 {
		t.Errorf("a time of a thousand million years is %s", got)
	}
	if got := cellNamed(col, "h").Capabilities; got.Toggle != "" || got.Approve == "" || got.Login == "" {
		t.Errorf("h with a token: %+v", got)
	}
}

func reveal(vs []model.Variable) []string {
	out := []string{}
	for _, v := range vs {
		out = append(out, v.Name+"="+v.Value.Reveal())
	}
	return out
}

func TestCodexCapabilities(t *testing.T) {
	t.Parallel()
	col := layTree(t, map[string]string{
		systemCodex:  stdioTOML("sys"),
		userCodex:    "[mcp_servers.u]\nurl = \"http://h/\"\n" + stdioTOML("m") + stdioTOML(`"a b"`),
		managedCodex: "[mcp_servers.m]\nenabled = false\n",
		projectCodex: stdioTOML("p"),
	}, nil).column(codexCLI())
	for name, want := range map[string][3]bool{ // whether toggle, approve, login can be done
		"sys": {false, false, false}, "u": {true, false, true}, "m": {false, false, false}, "a b": {true, false, false}, "p": {false, true, false},
	} {
		c := cellNamed(col, name).Capabilities
		if got := [3]bool{c.Toggle == "", c.Approve == "", c.Login == ""}; got != want {
			t.Errorf("%s: %v, want %v: %+v", name, got, want, c)
		}
	}
	if !col.Untrusted {
		t.Error("the column does not say that trust decides")
	}
}

func TestCodexLaunch(t *testing.T) {
	t.Parallel()
	tr := layTree(t, map[string]string{userCodex: `[mcp_servers.s]
command = "${X}"
cwd = "sub"
env = { A = "1" }
env_vars = ["EXTRA", "NO"]
enabled_tools = ["read", "write"]
disabled_tools = ["write"]
[mcp_servers.h]
url = "http://h/"
http_headers = { A = "$X" }
env_http_headers = { C = "EXTRA", D = "NO" }
bearer_token_env_var = "TOK"
disabled_tools = []
`}, map[string]string{"X": "x", "EXTRA": "e", "TOK": "t", "LANG": "C", "SSL_CERT_FILE": "/c", "GITHUB_TOKEN": "secret"})
	h := codexCLI()
	col := tr.column(h)
	s, remote := cellNamed(col, "s"), cellNamed(col, "h")
	l := h.LaunchFor(tr.env, &s.Entry)
	if got, want := strings.Join(l.Env, " "), "A=1 EXTRA=e HOME="+tr.home+" LANG=C SSL_CERT_FILE=/c"; got != want || l.Command != "${X}" || l.Dir != filepath.Join(tr.project, "sub") {
		t.Errorf("%q in %s with %q, want %q", l.Command, l.Dir, got, want)
	}
	l = h.LaunchFor(tr.env, &remote.Entry)
	if got := strings.Join(reveal(l.Headers), " "); got != "A=$X C=e Authorization=Bearer t" || !slices.Equal(l.Unset, []string{"NO"}) {
		t.Errorf("headers %q, unset %q", got, l.Unset)
	}
	tools := h.ToolsFor(&s.Entry, []model.Tool{{Name: "read"}, {Name: "write"}, {Name: "other"}})
	if tools.Offered != 1 || tools.ShownAs[0] != "mcp__s__read" || s.Filter.At.Line != 6 {
		t.Errorf("%+v, filter %+v", tools, s.Filter)
	}
	if got := h.ToolsFor(&remote.Entry, []model.Tool{{Name: "read"}}); got.Offered != 1 {
		t.Error("an empty deny list drops tools")
	}
	if got := codexToolName("my-srv.x", "a-b.c"); got != "mcp__my_srv_x__a-b_c" {
		t.Errorf("the model sees %s", got)
	}
	if h.Speaks(model.TransportSSE) || !h.Speaks(model.TransportHTTP) {
		t.Error("Codex speaks streamable HTTP and no SSE")
	}
	tr.env.GOOS = "windows"
	tr.env.Vars = map[string]string{"Path": "p", "HOME": "h", "AppData": "a"}
	if got := inheritCodex(tr.env, nil); len(got) != 2 || got["PATH"] != "p" {
		t.Errorf("on Windows a server gets %v", got)
	}
}

// TestCodexWorktrees follows linked worktrees to the main checkout, but only where both sides name each other.
func TestCodexWorktrees(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the tree has links")
	}
	t.Parallel()
	const private = "./.git/worktrees/wt/"
	base := map[string]string{
		"~/wt/.git": "gitdir: @PROJECT@/.git/worktrees/wt\n", private + "commondir": "../..\n", private + "gitdir": "@HOME@/wt/.git\n",
		"~/wt/.codex/config.toml": stdioTOML("p"), userCodex: trustProject,
	}
	for _, tc := range []struct {
		name    string
		change  map[string]string
		remove  string
		trusted bool
	}{
		{name: "as git makes it", trusted: true},
		{name: "relative", change: map[string]string{"~/wt/.git": "gitdir: ../project/.git/worktrees/wt", private + "gitdir": "../../../../wt/.git"}, trusted: true},
		{name: "absolute commondir", change: map[string]string{private + "commondir": "@PROJECT@/.git"}, trusted: true},
		{name: "through a link", change: map[string]string{"~/wt/.git": "gitdir: @HOME@/link/.git/worktrees/wt"}, trusted: true},
		{name: "the link itself is trusted", change: map[string]string{"~/wt/.git": "gitdir: @HOME@/link/.git/worktrees/wt", userCodex: trusting("trusted", "@HOME@/link")}, trusted: true},
		{name: "the worktree itself is not trusted", change: map[string]string{userCodex: trustProject + trusting("untrusted", "@HOME@/wt")}},
		{name: "no commondir", remove: private + "commondir"},
		{name: "no way back", remove: private + "gitdir"},
		{name: "the way back leads elsewhere", change: map[string]string{private + "gitdir": "@HOME@/other/.git"}},
		{name: "another commondir", change: map[string]string{private + "commondir": ".."}},
		{name: "no git file", change: map[string]string{"~/wt/.git": "hello"}},
		{name: "a submodule", change: map[string]string{"~/wt/.git": "gitdir: @PROJECT@/.git/modules/wt"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			files := map[string]string{}
			for _, from := range []map[string]string{base, tc.change} {
				for name, text := range from {
					files[name] = text
				}
			}
			delete(files, tc.remove)
			tr := layTree(t, files, nil)
			if err := os.Symlink("project", filepath.Join(tr.home, "link")); err != nil {
				t.Fatal(err)
			}
			tr.env.Project = filepath.Join(tr.home, "wt")
			if got := cellNamed(tr.column(codexCLI()), "p").Decision == model.DecisionLoads; got != tc.trusted {
				t.Errorf("trusted is %t", got)
			}
		})
	}
	t.Run("a bare repository", func(t *testing.T) {
		t.Parallel()
		tr := layTree(t, map[string]string{"~/wt/.git": "gitdir: @HOME@/repo.git/worktrees/wt\n", "~/repo.git/worktrees/wt/commondir": "../..\n",
			"~/repo.git/worktrees/wt/gitdir": "@HOME@/wt/.git\n", "~/wt/.codex/config.toml": stdioTOML("p"), userCodex: trusting("trusted", "@HOME@")}, nil)
		tr.env.Project = filepath.Join(tr.home, "wt")
		if c := cellNamed(tr.column(codexCLI()), "p"); c.Decision != model.DecisionWaits {
			t.Error(tr.describe(c))
		}
	})
}

// TestCodexThroughLinks starts in a folder by way of a link: only the real path is looked up.
func TestCodexThroughLinks(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the tree has links")
	}
	t.Parallel()
	for key, want := range map[string]model.Decision{"@PROJECT@": model.DecisionLoads, "@HOME@/link": model.DecisionWaits} {
		tr := layTree(t, map[string]string{userCodex: trusting("trusted", key), projectCodex: stdioTOML("p")}, nil)
		if err := os.Symlink("project", filepath.Join(tr.home, "link")); err != nil {
			t.Fatal(err)
		}
		tr.env.Project = filepath.Join(tr.home, "link")
		if c := cellNamed(tr.column(codexCLI()), "p"); c.Decision != want {
			t.Errorf("%s trusted: %s", key, tr.describe(c))
		}
	}
}

// TestCodexOnWindows looks at the places that differ there.
func TestCodexOnWindows(t *testing.T) {
	t.Parallel()
	tr := layTree(t, map[string]string{"/C/ProgramData/OpenAI/Codex/config.toml": stdioTOML("s"), "~/.codex/managed_config.toml": stdioTOML("m"),
		userCodex: "[projects.'@UPPER@']\ntrust_level = \"trusted\"\n", projectCodex: stdioTOML("p")}, nil)
	tr.env.GOOS = "windows"
	upper := strings.ToUpper(tr.project)
	if err := os.WriteFile(filepath.Join(tr.home, ".codex", "config.toml"), []byte("[projects.'"+upper+"']\ntrust_level = \"trusted\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	col := tr.column(codexCLI())
	names := []string{"m", "p"}
	if runtime.GOOS != "windows" {
		names = append(names, "s")
	}
	for _, name := range names {
		if c := cellNamed(col, name); c == nil || c.Decision != model.DecisionLoads {
			t.Errorf("%s: %s", name, tr.describe(c))
		}
	}
}

// TestCodexSays looks at sentences that must name the cure.
func TestCodexSays(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name  string
		files map[string]string
		want  string
	}{
		{"a Windows path", map[string]string{userCodex: "[mcp_servers.a]\ncommand = \"C:\\Users\\me\"\n"}, "single quotes"},
		{"a carriage return", map[string]string{userCodex: "[mcp_servers.a]\rcommand = \"x\"\n"}, "carriage return"},
		{"a partial entry", map[string]string{userCodex: "[mcp_servers.p]\nenabled = false\n", projectCodex: stdioTOML("p")}, "project/.codex/config.toml has it, but the folder is not trusted"},
		{"an inline token", map[string]string{userCodex: "[mcp_servers.a]\nurl = \"http://h/\"\nbearer_token = \"x\"\n"}, "bearer_token_env_var"},
	} {
		col := layTree(t, tc.files, nil).column(codexCLI())
		if col.Broken == nil || !strings.Contains(col.Broken.Text, tc.want) {
			t.Errorf("%s: %+v", tc.name, col.Broken)
		}
	}
	tr := layTree(t, map[string]string{projectCodex: "[mcp_servers.p]\nargs = 5\n"}, nil)
	if c := cellNamed(tr.column(codexCLI()), "p"); !strings.Contains(c.Reason.Text, "once it is trusted, Codex refuses its whole configuration") {
		t.Errorf("a bad entry that waits: %s", c.Reason.Text)
	}
}

// TestCodexLooksWhereFilesMayCome checks that what does not exist yet is watched.
func TestCodexLooksWhereFilesMayCome(t *testing.T) {
	t.Parallel()
	tr := layTree(t, map[string]string{"./.git/HEAD": "", "./sub/": ""}, nil)
	tr.env.Project = filepath.Join(tr.project, "sub")
	r := NewReader(tr.env, NewCache())
	codexCLI().Resolve(tr.env, r)
	for _, want := range []string{".codex", ".codex/config.toml", "project/.codex/config.toml", "project/sub/.codex/config.toml", "project/sub/.git"} {
		if !slices.Contains(r.Touched(), filepath.Join(tr.home, filepath.FromSlash(want))) {
			t.Errorf("%s is not looked at", want)
		}
	}
	for _, want := range []string{systemCodex, managedCodex, requireCodex} {
		if !slices.Contains(r.Touched(), filepath.Join(tr.env.Root, filepath.FromSlash(want))) {
			t.Errorf("%s is not looked at", want)
		}
	}
}

// TestCodexReload changes a second file only: what the first says alone is kept, what both say is not.
func TestCodexReload(t *testing.T) {
	t.Parallel()
	tr := layTree(t, map[string]string{userCodex: trustProject + stdioTOML("a") + stdioTOML("b"), projectCodex: "[mcp_servers.a]\nargs = [\"1\"]\n"}, nil)
	l := NewLoader(tr.env, []Harness{codexCLI()})
	before := l.Load().Columns[0]
	path := filepath.Join(tr.project, ".codex", "config.toml")
	if err := os.WriteFile(path, []byte("[mcp_servers.a]\nargs = [\"2\"]\nenabled = false\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	later := tr.env.Now().Add(time.Hour)
	if err := os.Chtimes(path, later, later); err != nil {
		t.Fatal(err)
	}
	snapshot, _ := l.Reload([]string{path})
	after := snapshot.Columns[0]
	if a := cellNamed(after, "a"); a.Decision != model.DecisionOff || a.Definition.ArgTexts()[0] != "2" {
		t.Errorf("a is %s", tr.describe(a))
	}
	if cellNamed(before, "b").Definition != cellNamed(after, "b").Definition {
		t.Error("an entry of a file that did not change was made again")
	}
}

func FuzzResolveCodex(f *testing.F) {
	f.Add(trustProject+stdioTOML("a")+"env = { T = \"@CANARY@\" }\n", "[mcp_servers.a]\nargs = [\"@CANARY@\"]\n[mcp_servers.b]\nurl = \"http://h/@CANARY@\"\nhttp_headers = { A = \"@CANARY@\" }\n", "")
	f.Add("[mcp_servers.bad]\nargs = [\"@CANARY@\"]\nenabled = false\n", "[bad", "[mcp_servers.a.identity]\ncommand = \"@CANARY@\"\n")
	f.Add("[mcp_servers.\"a b\"]\ncommand = \"C:\\Users\\@CANARY@\"\n", "x = \"\xff\"\n", "mcp_servers = 5\n")
	f.Add("[[mcp_servers.g]]\ncommand = [{ a = \"@CANARY@\" }]\n", "\ufeff[mcp_servers.a]\rcommand = \"x\"\r\n", "profile = \"x\"\n[projects.x]\ntrust_level = \"@CANARY@\"\n")
	f.Add("project_root_markers = [\"\"]\nfeatures.x = \"@CANARY@\"\nmodel = []\n[mcp.servers.a]\ncommand = \"x\"\n", "[mcp_servers]\na = { url = \"u\", env_http_headers = { A = \"@CANARY@\" }, oauth = { client_id = 5 } }\n", "[mcp_servers.a]\n")
	f.Add("[mcp_servers.a]\ncommand = \"${X:-@CANARY@}\"\nenv_vars = [{ name = \"A\", source = \"@CANARY@\" }]\ntools.x.approval_mode = \"@CANARY@\"\nauth = \"@CANARY@\"\n", "", "")
	f.Fuzz(func(t *testing.T, user, project, system string) {
		tr := layTree(t, map[string]string{userCodex: withCanary(user), projectCodex: withCanary(project), requireCodex: withCanary(system),
			systemCodex: "[mcp_servers.a]\nenv = { SECRET = \"" + canary + "\" }\n"}, nil)
		checkColumn(t, tr.column(codexCLI()))
	})
}
