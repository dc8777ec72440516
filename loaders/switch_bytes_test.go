package loaders

import (
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"fusebox/model"
)

// bytesCase does an option in a throwaway home, compares the bytes of a file, and goes back.
type bytesCase struct {
	name    string
	harness Harness
	files   map[string]string
	vars    map[string]string
	server  string
	wish    Wish
	reach   Reach // "" is the first that can be taken
	file    string
	want    string // the file afterwards
	back    string // the file after the way back, when it is not what it was
	backTo  Wish
	missing string // a part of what is said to be missing
	letsIn  string
	warning string
	trusts  bool
}

func (tr *tree) path(name string) string {
	if rest, ok := strings.CutPrefix(name, "~/"); ok {
		return filepath.Join(tr.home, filepath.FromSlash(rest))
	}
	return filepath.Join(tr.project, filepath.FromSlash(strings.TrimPrefix(name, "./")))
}

func takeable(a Answer, reach Reach, trusts bool) *Option {
	for i := range a.Options {
		if o := &a.Options[i]; o.Unavailable == "" && (reach == "" || o.Reach == reach) && o.TrustsFolder == trusts {
			return o
		}
	}
	return nil
}

func runBytesCases(t *testing.T, cases []bytesCase) {
	if runtime.GOOS == "windows" {
		t.Skip("the rules are tested with the paths of Linux")
	}
	for _, c := range cases {
		t.Run(c.harness.Heading+" "+c.name, func(t *testing.T) {
			t.Parallel()
			tr := layTree(t, c.files, c.vars)
			read := func() string {
				data, err := os.ReadFile(tr.path(c.file))
				if err != nil && !os.IsNotExist(err) {
					t.Fatal(err)
				}
				return string(data)
			}
			do := func(wish Wish, reach Reach, trusts bool) *Option {
				t.Helper()
				b := NewSwitchboard(tr.env, c.harness)
				cell := b.Cell(c.server)
				if cell == nil {
					t.Fatalf("no server %q", c.server)
				}
				answer := b.Ask(cell, wish)
				o := takeable(answer, reach, trusts)
				if o == nil {
					t.Fatalf("wish %d with reach %q: %+v", wish, reach, answer)
				}
				if applied := o.Plan().Apply(nil, ""); applied.Err != nil {
					t.Fatal(applied.Err)
				}
				if now := NewSwitchboard(tr.env, c.harness).Cell(c.server); now.Decision != o.Then().Decision || now.Reason.Text != o.Then().Reason.Text {
					t.Errorf("it is %s (%s), foretold was %s (%s)", now.Decision, now.Reason.Text, o.Then().Decision, o.Then().Reason.Text)
				}
				return o
			}
			before := read()
			o := do(c.wish, c.reach, c.trusts)
			if got, want := read(), tr.fill(c.want); got != want {
				t.Errorf("got\n%q\nwant\n%q", got, want)
			}
			for _, part := range []struct{ what, text, want string }{{"missing", o.Missing, c.missing}, {"lets in", o.LetsIn, c.letsIn}, {"warning", o.Warning, c.warning}} {
				if !strings.Contains(part.text, part.want) || part.want == "" && part.what == "missing" && part.text != "" {
					t.Errorf("%s: %q, want %q", part.what, part.text, part.want)
				}
			}
			do(c.backTo, "", false)
			want := before
			if c.back != "" {
				want = tr.fill(c.back)
			}
			if got := read(); got != want {
				t.Errorf("and back: got\n%q\nwant\n%q", got, want)
			}
		})
	}
}

// refusalCase is a wish that is not fulfilled, and a part of the reason.
type refusalCase struct {
	name    string
	harness Harness
	files   map[string]string
	vars    map[string]string
	links   map[string]string // name: target
	server  string
	wish    Wish
	want    string
	already bool
}

func runRefusalCases(t *testing.T, cases []refusalCase) {
	if runtime.GOOS == "windows" {
		t.Skip("the rules are tested with the paths of Linux")
	}
	for _, c := range cases {
		t.Run(c.harness.Heading+" "+c.name, func(t *testing.T) {
			t.Parallel()
			tr := layTree(t, c.files, c.vars)
			for name, target := range c.links {
				if err := os.Symlink(tr.path(target), tr.path(name)); err != nil {
					t.Fatal(err)
				}
			}
			b := NewSwitchboard(tr.env, c.harness)
			cell := b.Cell(c.server)
			if cell == nil {
				t.Fatalf("no server %q", c.server)
			}
			answer := b.Ask(cell, c.wish)
			if answer.Already != c.already || !c.already && (answer.Refused == "" || !strings.Contains(answer.Refused, c.want)) {
				t.Errorf("answer %+v, want %q", answer, c.want)
			}
			// What a cell promises and what is answered agree.
			for _, w := range []Wish{WishOff, WishOn, WishApprove} {
				promise := cell.Capabilities.Toggle
				if w == WishApprove {
					promise = cell.Capabilities.Approve
				}
				a := b.Ask(cell, w)
				can := a.Refused == "" && (a.Already || slices.ContainsFunc(a.Options, func(o Option) bool { return o.Unavailable == "" }))
				if promise == "" && !can {
					t.Errorf("wish %d is promised and then refused: %+v", w, a)
				}
			}
		})
	}
}

const a1, b1 = `"a": {"command":"x"}`, `"b": {"command":"y"}`

func TestCopilotSwitchBytes(t *testing.T) {
	t.Parallel()
	h := copilotCLI()
	user, folder := map[string]string{copilotUser: mcpServers(a1, b1)}, map[string]string{"./.mcp.json": mcpServers(a1)}
	off := func(name, before, after, back string) bytesCase {
		files := user
		if before != "-" {
			files = with(user, copilotSettings, before)
		}
		return bytesCase{name: name, harness: h, files: files, server: "a", wish: WishOff, backTo: WishOn, file: copilotSettings, want: after, back: back}
	}
	trust := func(name string, files map[string]string, want, back string) bytesCase {
		return bytesCase{name: name, harness: h, files: files, server: "a", wish: WishApprove, trusts: true, backTo: WishRevoke, file: copilotConfig, want: want, back: back}
	}
	runBytesCases(t, []bytesCase{
		off("no file", "-", "{\n  \"disabledMcpServers\": [\n    \"a\"\n  ]\n}\n", "{}\n"),
		off("blank file", "\n", "{\n  \"disabledMcpServers\": [\n    \"a\"\n  ]\n}\n", "{}\n"),
		off("comments, order and CRLF stay", "{\r\n  // mine\r\n  \"z\": 1, /* here */\r\n  \"disabledMcpServers\": [\r\n    \"q\" // why\r\n  ],\r\n  \"b\": [1,2]\r\n}\r\n",
			"{\r\n  // mine\r\n  \"z\": 1, /* here */\r\n  \"disabledMcpServers\": [\r\n    \"q\", // why\r\n    \"a\"\r\n  ],\r\n  \"b\": [1,2]\r\n}\r\n", ""),
		off("the key goes with its last name", "\ufeff{\n\t\"x\": true,\n}\n", "\ufeff{\n\t\"x\": true,\n\t\"disabledMcpServers\": [\n\t\t\"a\"\n\t],\n}\n", ""),
		off("an empty list goes as well", `{"disabledMcpServers": []}`, `{"disabledMcpServers": ["a"]}`, `{}`),
		off("what is no list is replaced", `{"disabledMcpServers": "b", "x": 1}`, `{"disabledMcpServers": ["a"], "x": 1}`, `{"x": 1}`),
		off("a list that counts for nothing, too", `{"disabledMcpServers": ["b", 5]}`, `{"disabledMcpServers": ["a"]}`, `{}`),
		off("null", `{"disabledMcpServers": null}`, `{"disabledMcpServers": ["a"]}`, `{}`),
		{name: "on, where it stands twice", harness: h, files: with(user, copilotSettings, `{"disabledMcpServers": ["a", "A", "a"]}`), server: "a", wish: WishOn, backTo: WishOff,
			file: copilotSettings, want: `{"disabledMcpServers": ["A"]}`, back: `{"disabledMcpServers": ["A", "a"]}`},
		{name: "on in a folder that is not trusted", harness: h, files: with(folder, copilotSettings, `{"disabledMcpServers": ["a", "z"]}`), server: "a", wish: WishOn, backTo: WishOff,
			file: copilotSettings, want: `{"disabledMcpServers": ["z"]}`, back: `{"disabledMcpServers": ["z", "a"]}`, missing: "before its folder is trusted"},
		{name: "COPILOT_HOME", harness: h, vars: map[string]string{"COPILOT_HOME": "@HOME@/c"}, files: map[string]string{"~/c/mcp-config.json": mcpServers(a1), "~/c/settings.json": "{ }"},
			server: "a", wish: WishOff, backTo: WishOn, file: "~/c/settings.json", want: "{\n  \"disabledMcpServers\": [\n    \"a\"\n  ]\n}", back: "{}"},

		trust("no file", folder, "{\n  \"trustedFolders\": [\n    \"@PROJECT@\"\n  ]\n}\n", "{\n  \"trustedFolders\": []\n}\n"),
		trust("comments and order stay", with(folder, copilotConfig, "// managed\n{\n  \"z\": 1,\n  \"trustedFolders\": [\n    \"/n\" // other\n  ]\n}"),
			"// managed\n{\n  \"z\": 1,\n  \"trustedFolders\": [\n    \"/n\", // other\n    \"@PROJECT@\"\n  ]\n}", ""),
		trust("the old key counts when it stands last", with(folder, copilotConfig, `{"trustedFolders": ["/n"], "trusted_folders": ["/m"]}`),
			`{"trustedFolders": ["/n"], "trusted_folders": ["/m", "@PROJECT@"]}`, ""),
		{name: "trust is taken from the folder above", harness: h, files: with(folder, copilotConfig, `{"trustedFolders": ["/n", "@PROJECT@/", "@HOME@"]}`), server: "a", wish: WishRevoke, backTo: WishOff,
			file: copilotConfig, want: `{"trustedFolders": ["/n"]}`, back: `{"trustedFolders": ["/n"]}`, reach: ReachEverywhere, warning: "any folder below"},
		{name: "trust lets others in", harness: h, files: with(folder, "./.mcp.json", mcpServers(a1, b1)), server: "a", wish: WishApprove, trusts: true, backTo: WishRevoke,
			file: copilotConfig, want: "{\n  \"trustedFolders\": [\n    \"@PROJECT@\"\n  ]\n}\n", back: "{\n  \"trustedFolders\": []\n}\n", letsIn: "also b"},
	})
}

// with returns a map with more pairs of a key and a value.
func with(base map[string]string, more ...string) map[string]string {
	out := maps.Clone(base)
	for i := 0; i < len(more); i += 2 {
		out[more[i]] = more[i+1]
	}
	return out
}

func TestCopilotSwitchRefusals(t *testing.T) {
	t.Parallel()
	h := copilotCLI()
	git := map[string]string{gitHead: "", "./.mcp.json": mcpServers(a1), "./.github/copilot/settings.json": `{"disabledMcpServers": ["a"]}`}
	user, folder := map[string]string{copilotUser: mcpServers(a1)}, map[string]string{"./.mcp.json": mcpServers(a1)}
	runRefusalCases(t, []refusalCase{
		{name: "broken settings", harness: h, files: with(user, copilotSettings, `{"x":`), server: "a", wish: WishOff, want: "settings.json is broken"},
		{name: "settings that are a list", harness: h, files: with(user, copilotSettings, `[]`), server: "a", wish: WishOff, want: "not an object"},
		{name: "off by the repository", harness: h, files: with(git, copilotConfig, copilotTrust), server: "a", wish: WishOn, want: "only they can switch it on"},
		{name: "off by the repository already", harness: h, files: with(git, copilotConfig, copilotTrust), server: "a", wish: WishOff, already: true},
		{name: "off by the repository once trusted", harness: h, files: git, server: "a", wish: WishApprove, want: "as soon as the folder is trusted"},
		{name: "broken config", harness: h, files: with(folder, copilotConfig, `{"x":`), server: "a", wish: WishApprove, want: "config.json is broken"},
		{name: "no list of folders", harness: h, files: with(folder, copilotConfig, `{"trustedFolders": ["@PROJECT@", 5]}`), server: "a", wish: WishApprove, want: "no list of folders"},
		{name: "a blank config is no obstacle", harness: h, files: with(folder, copilotConfig, "\n", copilotSettings, `{"disabledMcpServers":["a"]}`), server: "a", wish: WishOff, already: true},
		{name: "a user's server", harness: h, files: user, server: "a", wish: WishApprove, already: true},
		{name: "no trust to take back", harness: h, files: folder, server: "a", wish: WishRevoke, want: "no approval"},
		{name: "a variable trusts all", harness: h, files: folder, vars: map[string]string{"COPILOT_ALLOW_ALL": "true"}, server: "a", wish: WishRevoke, want: "no approval"},
		{name: "a broken user file", harness: h, files: with(folder, copilotUser, "{"), server: "a", wish: WishOff, want: "mend it first"},
	})
}

// An outer folder of a repository needs trust of its own, which covers the inner ones.
func TestCopilotTrustsTheOuterFolder(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("the rules are tested with the paths of Linux")
	}
	tr := layTree(t, map[string]string{gitHead: "", "./.mcp.json": mcpServers(a1), "./s/.github/mcp.json": mcpServers(b1)}, nil)
	tr.env.Project = filepath.Join(tr.project, "s")
	b := NewSwitchboard(tr.env, copilotCLI())
	for name, want := range map[string]string{"a": tr.project, "b": filepath.Join(tr.project, "s")} {
		o := takeable(b.Ask(b.Cell(name), WishApprove), ReachHere, true)
		if o == nil || o.Edits[0].Steps[0].Value != want {
			t.Errorf("%s: %+v, want %s", name, o, want)
		}
		if o != nil && o.Then().Decision != model.DecisionLoads {
			t.Errorf("%s: %s", name, o.Then().Decision)
		}
	}
}

const (
	qwenUserFile    = "~/.qwen/settings.json"
	qwenProjectFile = "./.qwen/settings.json"
	qwenDecisions   = "~/.qwen/mcpApprovals.json"
	qwenTrustRules  = "~/.qwen/trustedFolders.json"
	qwenPrefs       = "~/.qwen/extensions/extension-preferences.json"
)

func TestQwenSwitchBytes(t *testing.T) {
	t.Parallel()
	h := qwenCode()
	decision := qwenDecision(t, "a", `{"command":"x"}`, "approved", true)
	hash := strings.Split(decision, `"`)[5]
	record := func(status string) string {
		return "{\n  \"@PROJECT@\": {\n    \"a\": {\n      \"hash\": \"" + hash + "\",\n      \"status\": \"" + status + "\"\n    }\n  }\n}\n"
	}
	approved := `{"@PROJECT@": {` + decision + `}}`
	mcp := map[string]string{"./.mcp.json": mcpServers(a1), qwenDecisions: approved}
	pending := map[string]string{"./.mcp.json": mcpServers(a1)}
	settings := map[string]string{qwenProjectFile: "{\n  // ours\n  \"mcpServers\": {" + a1 + "},\n  \"$version\": 4\n}\n", qwenDecisions: approved}
	user := map[string]string{qwenUserFile: "{\r\n  \"mcpServers\": {" + a1 + "}, // mine\r\n  \"$version\": 4\r\n}\r\n"}
	extension := map[string]string{"~/.qwen/extensions/ext/qwen-extension.json": `{"name": "ext", "mcpServers": {` + a1 + `}}`}
	untrusted := map[string]string{"./.mcp.json": mcpServers(a1), qwenUserFile: `{` + qwenTrustOn + `, "mcpServers": {` + b1 + `}}`}
	const excluded = "{\n  \"mcp\": {\n    \"excluded\": [\n      \"a\"\n    ]\n  }\n}\n"
	const empty = "{\n  \"mcp\": {\n    \"excluded\": []\n  }\n}\n"
	const preferences = "{\n  \"favorites\": [],\n  \"scopes\": {},\n  \"disabledMcpServers\": {"
	runBytesCases(t, []bytesCase{
		{name: "a server of .mcp.json in the project's file", harness: h, files: mcp, server: "a", wish: WishOff, backTo: WishOn, reach: ReachHere, file: qwenProjectFile, want: excluded, back: empty},
		{name: "which comes first, and is shared in a repository", harness: h, files: with(mcp, gitHead, ""), server: "a", wish: WishOff, backTo: WishOn, file: qwenProjectFile, want: excluded, back: empty},
		{name: "or in every folder", harness: h, files: mcp, server: "a", wish: WishOff, backTo: WishOn, reach: ReachEverywhere, file: qwenUserFile, want: excluded, back: empty, warning: "any other folder"},
		{name: "a server of the project's settings", harness: h, files: with(settings, gitHead, ""), server: "a", wish: WishOff, backTo: WishOn, file: qwenProjectFile,
			want: "{\n  // ours\n  \"mcpServers\": {" + a1 + "},\n  \"$version\": 4,\n  \"mcp\": {\n    \"excluded\": [\n      \"a\"\n    ]\n  }\n}\n",
			back: "{\n  // ours\n  \"mcpServers\": {" + a1 + "},\n  \"$version\": 4,\n  \"mcp\": {\n    \"excluded\": []\n  }\n}\n"},
		{name: "a user's server in a repository", harness: h, files: with(user, gitHead, ""), server: "a", wish: WishOff, backTo: WishOn, file: qwenUserFile,
			want: "{\r\n  \"mcpServers\": {" + a1 + "}, // mine\r\n  \"$version\": 4,\r\n  \"mcp\": {\r\n    \"excluded\": [\r\n      \"a\"\r\n    ]\r\n  }\r\n}\r\n",
			back: "{\r\n  \"mcpServers\": {" + a1 + "}, // mine\r\n  \"$version\": 4,\r\n  \"mcp\": {\r\n    \"excluded\": []\r\n  }\r\n}\r\n"},
		{name: "a list that is there", harness: h, files: with(user, qwenProjectFile, "{\"mcp\": {/* old */ \"excluded\": [\"z\"]}, \"q\": 1}"), server: "a", wish: WishOff, backTo: WishOn, reach: ReachHere, file: qwenProjectFile,
			want: "{\"mcp\": {/* old */ \"excluded\": [\"z\", \"a\"]}, \"q\": 1}"},
		{name: "the key of an old version", harness: h, files: with(pending, qwenUserFile, `{"excludeMCPServers": ["z"], "mcp": {"excluded": ["y"]}}`), server: "a", wish: WishOff, backTo: WishOn, reach: ReachEverywhere, file: qwenUserFile,
			want: `{"excludeMCPServers": ["z", "a"], "mcp": {"excluded": ["y"]}}`},
		{name: "null is no list", harness: h, files: with(pending, qwenUserFile, `{"mcp": {"excluded": null}}`), server: "a", wish: WishOff, backTo: WishOn, reach: ReachEverywhere, file: qwenUserFile,
			want: `{"mcp": {"excluded": ["a"]}}`, back: `{"mcp": {"excluded": []}}`},
		{name: "on in both files", harness: h, files: with(pending, qwenUserFile, `{"mcp": {"excluded": ["$N", "a"]}}`, qwenProjectFile, `{"mcp": {"excluded": ["a", "z"]}}`), vars: map[string]string{"N": "a"},
			server: "a", wish: WishOn, backTo: WishOff, reach: ReachEverywhere, file: qwenUserFile, want: `{"mcp": {"excluded": []}}`, back: `{"mcp": {"excluded": []}}`, missing: "Qwen Code asks"},
		{name: "on in the project's file", harness: h, files: with(mcp, qwenProjectFile, `{"mcp": {"excluded": ["a", "z"]}}`), server: "a", wish: WishOn, backTo: WishOff, file: qwenProjectFile,
			want: `{"mcp": {"excluded": ["z"]}}`, back: `{"mcp": {"excluded": ["z", "a"]}}`},
		{name: "in a folder that is not trusted only the user's counts", harness: h, files: untrusted, server: "a", wish: WishOff, backTo: WishOn, file: qwenUserFile,
			want: `{` + qwenTrustOn + `, "mcpServers": {` + b1 + `}, "mcp": {"excluded": ["a"]}}`, back: `{` + qwenTrustOn + `, "mcpServers": {` + b1 + `}, "mcp": {"excluded": []}}`},
		{name: "a server of an extension", harness: h, files: extension, server: "a", wish: WishOff, backTo: WishOn, reach: ReachEverywhere, file: qwenPrefs,
			want: preferences + "\n    \"ext\": [\n      \"a\"\n    ]\n  }\n}", back: preferences + "}\n}"},
		{name: "a server of an extension, keys kept", harness: h, files: with(extension, qwenPrefs, `{"disabledMcpServers": {"ext": ["z"], "y": ["a"]}, "favorites": ["f"]}`), server: "a", wish: WishOff, backTo: WishOn, reach: ReachEverywhere, file: qwenPrefs,
			want: `{"disabledMcpServers": {"ext": ["z", "a"], "y": ["a"]}, "favorites": ["f"]}`},
		{name: "a server of an extension, off in two ways", harness: h, files: with(extension, qwenPrefs, `{"disabledMcpServers": {"ext": ["a"]}}`, qwenUserFile, `{"mcp": {"excluded": ["a"]}}`), server: "a", wish: WishOn, backTo: WishOff, file: qwenPrefs,
			want: `{"disabledMcpServers": {}}`, back: `{"disabledMcpServers": {}}`},

		{name: "approve", harness: h, files: pending, server: "a", wish: WishApprove, backTo: WishRevoke, file: qwenDecisions, want: record("approved"), back: "{}\n", warning: "sessions that are open now", letsIn: "nothing else"},
		{name: "approve, with others in the file", harness: h, files: with(pending, qwenDecisions, "{\r\n\t// all\r\n\t\"/n\": {\"a\": {\"hash\": \"h\", \"status\": \"rejected\"}},\r\n\t\"@PROJECT@\": {\r\n\t\t\"z\": 1\r\n\t}\r\n}\r\n"), server: "a", wish: WishApprove, backTo: WishRevoke, file: qwenDecisions,
			want: "{\r\n\t// all\r\n\t\"/n\": {\"a\": {\"hash\": \"h\", \"status\": \"rejected\"}},\r\n\t\"@PROJECT@\": {\r\n\t\t\"z\": 1,\r\n\t\t\"a\": {\r\n\t\t\t\"hash\": \"" + hash + "\",\r\n\t\t\t\"status\": \"approved\"\r\n\t\t}\r\n\t}\r\n}\r\n"},
		{name: "approve again after a change, keys kept", harness: h, files: with(pending, qwenDecisions, `{"@PROJECT@": {"a": {"x": 1, "status": "rejected", "hash": "old"}}}`), server: "a", wish: WishApprove, backTo: WishRevoke, file: qwenDecisions,
			want: `{"@PROJECT@": {"a": {"x": 1, "status": "approved", "hash": "` + hash + `"}}}`, back: `{}`},
		{name: "approve what was rejected", harness: h, files: with(pending, qwenDecisions, strings.Replace(approved, "approved", "rejected", 1)), server: "a", wish: WishApprove, backTo: WishRevoke, file: qwenDecisions,
			want: approved, back: "{}"},
		{name: "a record that is none", harness: h, files: with(pending, qwenDecisions, `{"@PROJECT@": {"a": "approved"}}`), server: "a", wish: WishApprove, backTo: WishRevoke, file: qwenDecisions,
			want: `{"@PROJECT@": {"a": {` + "\n  \"hash\": \"" + hash + "\",\n  \"status\": \"approved\"\n" + `}}}`, back: "{}"},
		{name: "a blank file", harness: h, files: with(pending, qwenDecisions, "\n"), server: "a", wish: WishApprove, backTo: WishRevoke, file: qwenDecisions, want: record("approved"), back: "{}\n"},
		{name: "another file", harness: h, files: with(pending, "~/x.json", "{}"), vars: map[string]string{"QWEN_CODE_MCP_APPROVALS_PATH": "@HOME@/x.json"}, server: "a", wish: WishApprove, backTo: WishRevoke, file: "~/x.json",
			want: strings.TrimSuffix(record("approved"), "\n"), back: "{}"},
		{name: "the hash of a session", harness: h, files: map[string]string{qwenProjectFile: `{"mcpServers": {"a": {"command": "$V"}}}`, "./.env": "V=x\n"}, server: "a", wish: WishApprove, backTo: WishRevoke, file: qwenDecisions, want: record("approved"), back: "{}\n"},
		{name: "back to pending", harness: h, files: with(mcp, qwenDecisions, `{"@PROJECT@": {`+decision+`, "z": 1}}`), server: "a", wish: WishRevoke, backTo: WishApprove, file: qwenDecisions,
			want: `{"@PROJECT@": {"z": 1}}`, back: `{"@PROJECT@": {"z": 1, "a": {` + "\n  \"hash\": \"" + hash + "\",\n  \"status\": \"approved\"\n" + `}}}`},
		{name: "reject", harness: h, files: pending, server: "a", wish: WishRevoke, backTo: WishApprove, file: qwenDecisions, want: record("rejected"), back: record("approved")},
		{name: "approve while switched off", harness: h, files: with(pending, qwenUserFile, `{"mcp": {"excluded": ["a"]}}`), server: "a", wish: WishApprove, backTo: WishRevoke, file: qwenDecisions, want: record("approved"), back: "{}\n", missing: "mcp.excluded"},

		{name: "approve without trust", harness: h, files: untrusted, server: "a", wish: WishApprove, backTo: WishRevoke, file: qwenDecisions, want: record("approved"), back: "{}\n", missing: "not trusted"},
		{name: "approve and trust", harness: h, files: with(untrusted, qwenTrustRules, "{\n  \"@HOME@\": \"DO_NOT_TRUST\" // no\n}"), server: "a", wish: WishApprove, trusts: true, backTo: WishRevoke, file: qwenTrustRules,
			want: "{\n  \"@HOME@\": \"DO_NOT_TRUST\", // no\n  \"@PROJECT@\": \"TRUST_FOLDER\"\n}", back: "{\n  \"@HOME@\": \"DO_NOT_TRUST\", // no\n  \"@PROJECT@\": \"TRUST_FOLDER\"\n}", letsIn: "also b"},
		{name: "trust for a user's server", harness: h, files: untrusted, server: "b", wish: WishApprove, trusts: true, backTo: WishRevoke, file: qwenTrustRules, want: "{\n  \"@PROJECT@\": \"TRUST_FOLDER\"\n}", back: "{}"},
		{name: "a rule against the folder is turned round", harness: h, files: with(untrusted, qwenTrustRules, `{"@PROJECT@/": "DO_NOT_TRUST"}`), server: "b", wish: WishApprove, trusts: true, backTo: WishRevoke, file: qwenTrustRules,
			want: `{"@PROJECT@/": "TRUST_FOLDER"}`, back: "{}"},
		{name: "trust from above", harness: h, files: with(untrusted, qwenTrustRules, `{"@HOME@": "TRUST_FOLDER"}`), server: "b", wish: WishRevoke, backTo: WishOff, file: qwenTrustRules,
			want: `{"@HOME@": "TRUST_FOLDER", "@PROJECT@": "DO_NOT_TRUST"}`, back: `{"@HOME@": "TRUST_FOLDER", "@PROJECT@": "DO_NOT_TRUST"}`, warning: "no server here"},
		{name: "trust in another file", harness: h, files: untrusted, vars: map[string]string{"QWEN_CODE_TRUSTED_FOLDERS_PATH": "@HOME@/t.json"}, server: "b", wish: WishApprove, trusts: true, backTo: WishRevoke, file: "~/t.json", want: "{\n  \"@PROJECT@\": \"TRUST_FOLDER\"\n}", back: "{}"},
	})
}

func TestQwenSwitchRefusals(t *testing.T) {
	t.Parallel()
	h := qwenCode()
	pending := map[string]string{"./.mcp.json": mcpServers(a1, `"": {"command": "x"}`, `"$HOME": {"command": "x"}`)}
	untrusted := map[string]string{qwenUserFile: `{` + qwenTrustOn + `, "mcpServers": {` + b1 + `}}`, "./.mcp.json": mcpServers(a1)}
	extension := map[string]string{"~/.qwen/extensions/ext/qwen-extension.json": `{"name": "ext", "mcpServers": {` + a1 + `}}`}
	runRefusalCases(t, []refusalCase{
		{name: "a wildcard beside the name", harness: h, files: with(pending, qwenUserFile, "{\"mcp\": {\"excluded\": [\"a\",\n\"?\"]}}"), server: "a", wish: WishOn, want: "~/.qwen/settings.json:2 names it as well"},
		{name: "a wildcard alone", harness: h, files: with(pending, qwenProjectFile, `{"mcp": {"excluded": ["*"]}}`), server: "a", wish: WishOn, want: "a pattern of mcp.excluded"},
		{name: "mcp.allowed without the name", harness: h, files: with(pending, qwenUserFile, `{"mcp": {"allowed": ["z"], "excluded": ["a"]}}`), server: "a", wish: WishOn, want: "mcp.allowed does not name"},
		{name: "a list of an administrator besides", harness: h, files: with(pending, qwenUserFile, `{"mcp": {"excluded": ["a"]}}`, "/etc/qwen-code/settings.json", `{"mcp": {"excluded": ["a"]}}`), server: "a", wish: WishOn, want: "/etc/qwen-code/settings.json:1 names it as well"},
		{name: "a list that ends every session", harness: h, files: with(pending, qwenUserFile, `{"mcp": {"excluded": "z"}}`), server: "a", wish: WishOff, want: "every session ends at its start"},
		{name: "an empty name", harness: h, files: pending, server: "", wish: WishOff, want: "its name is empty"},
		{name: "a variable in the name", harness: h, files: pending, server: "$HOME", wish: WishOff, want: "holds a variable"},
		{name: "rejected", harness: h, files: with(pending, qwenDecisions, `{"@PROJECT@": {`+qwenDecision(t, "a", `{"command":"x"}`, "rejected", true)+`}}`), server: "a", wish: WishOn, want: "approve it"},
		{name: "rejected, taken back", harness: h, files: with(pending, qwenDecisions, `{"@PROJECT@": {`+qwenDecision(t, "a", `{"command":"x"}`, "rejected", true)+`}}`), server: "a", wish: WishRevoke, want: "no approval"},
		{name: "a whole extension", harness: h, files: with(extension, "~/.qwen/extensions/extension-enablement.json", `{"ext": {"overrides": ["!/*"]}}`), server: "a", wish: WishOn, want: "qwen extensions enable"},
		{name: "an extension needs no approval", harness: h, files: extension, server: "a", wish: WishApprove, already: true},

		{name: "broken approvals", harness: h, files: with(pending, qwenDecisions, "{"), server: "a", wish: WishApprove, want: "mcpApprovals.json does not parse"},
		{name: "approvals with a byte order mark", harness: h, files: with(pending, qwenDecisions, "\ufeff{}"), server: "a", wish: WishApprove, want: "mcpApprovals.json does not parse"},
		{name: "a list for this folder", harness: h, files: with(pending, qwenDecisions, `{"@PROJECT@": []}`), server: "a", wish: WishApprove, want: "a list, not an object"},
		{name: "a blocked one", harness: h, files: with(pending, qwenUserFile, `{"mcp": {"excluded": ["*"]}}`), server: "a", wish: WishApprove, want: "a list blocks it"},
		{name: "no command", harness: h, files: map[string]string{"./.mcp.json": mcpServers(`"a": {}`)}, server: "a", wish: WishApprove, want: "mend it first"},
		{name: "yolo", harness: h, files: with(pending, qwenProjectFile, `{"tools": {"approvalMode": "yolo"}}`), server: "a", wish: WishRevoke, want: "still be approved"},
		{name: "an unknown level", harness: h, files: with(untrusted, qwenTrustRules, "{\n\"/n\": \"MAYBE\"}"), server: "b", wish: WishApprove, want: "trustedFolders.json:2"},
		{name: "a link", harness: h, files: with(untrusted, "~/t.json", "{}"), links: map[string]string{qwenTrustRules: "~/t.json"}, server: "b", wish: WishApprove, want: "symbolic link"},
		{name: "a list of the folder itself", harness: h, files: with(untrusted, qwenProjectFile, `{"mcp": {"allowed": ["a"]}}`), server: "b", wish: WishApprove, want: "as soon as the folder is trusted"},
	})
}

// A hash that holds only once the folder is trusted is not stored without the trust.
func TestQwenApprovesWithTheTrustedFolder(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("the rules are tested with the paths of Linux")
	}
	tr := layTree(t, map[string]string{qwenUserFile: `{` + qwenTrustOn + `}`, qwenProjectFile: `{"mcpServers": {"a": {"command": "$V"}}}`, "./.env": "V=x\n"}, nil)
	b := NewSwitchboard(tr.env, qwenCode())
	answer := b.Ask(b.Cell("a"), WishApprove)
	if o := takeable(answer, ReachHere, false); o != nil {
		t.Errorf("the approval alone is offered: %+v", o)
	}
	o := takeable(answer, ReachHere, true)
	if o == nil || o.Then().Decision != model.DecisionLoads || o.Edits[1].Lock != tr.path(qwenTrustRules)+".lock" {
		t.Errorf("answer: %+v", answer)
	}
}
