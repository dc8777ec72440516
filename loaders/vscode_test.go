package loaders

import (
	"database/sql"
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"fusebox/model"
)

const (
	vscodeUser     = "~/.config/Code/User/mcp.json"
	vscodeFolder   = "./.vscode/mcp.json"
	vscodeSettings = "~/.config/Code/User/settings.json"
)

// vscodeServers writes servers with an entry a line, from line 3 on.
func vscodeServers(entries ...string) string {
	return "{\n\"servers\": {\n" + strings.Join(entries, ",\n") + "\n}}\n"
}

// makeDatabase makes an SQLite file with some statements.
func makeDatabase(t testing.TB, path string, statements ...string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, s := range statements {
		if _, err := db.Exec(s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
}

// makeItemTable makes a state.vscdb with some values.
func makeItemTable(t testing.TB, path string, values map[string]any) {
	t.Helper()
	makeDatabase(t, path, "CREATE TABLE ItemTable (key TEXT UNIQUE ON CONFLICT REPLACE, value BLOB)")
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for k, v := range values {
		text, isText := v.(string)
		if !isText {
			out, err := json.Marshal(v)
			if err != nil {
				t.Fatal(err)
			}
			text = string(out)
		}
		if _, err := db.Exec("INSERT INTO ItemTable VALUES (?, ?)", k, text); err != nil {
			t.Fatal(err)
		}
	}
}

// trustOf is the value of content.trust.model.key.
func trustOf(folders map[string]bool) any {
	var list []any
	for path, trusted := range folders {
		list = append(list, map[string]any{"uri": map[string]any{"$mid": 1, "path": path, "scheme": "file"}, "trusted": trusted})
	}
	return map[string]any{"uriTrustInfo": list}
}

func TestVSCodeResolve(t *testing.T) {
	t.Parallel()
	a := `"a": {"command":"x"}`
	unseen := "unknown trust-in-database ./.vscode/mcp.json:3 | project ./.vscode/mcp.json:3"
	runCases(t, vsCode(), []resolveCase{
		{name: "nothing"},
		{name: "a user's server", files: map[string]string{vscodeUser: vscodeServers(a)},
			want: map[string]string{"a": "configured | user ~/.config/Code/User/mcp.json:3"}},
		{name: "a folder's server, and no database", files: map[string]string{vscodeFolder: vscodeServers(a)}, want: map[string]string{"a": unseen}},
		{name: "the folder's replaces the user's", files: map[string]string{vscodeFolder: vscodeServers(a), vscodeUser: vscodeServers(a, `"A": {"command":"y"}`)},
			want: map[string]string{"a": unseen + " | beats user ~/.config/Code/User/mcp.json:3", "A": "disabled switched-off ./.vscode/mcp.json:3 | user ~/.config/Code/User/mcp.json:4"}},
		{name: "names that differ in case keep their suffix", files: map[string]string{vscodeFolder: vscodeServers(a), vscodeUser: vscodeServers(`"A": {"command":"y"}`), vscodeSettings: `{"chat.mcp.collisionBehavior":"suffix"}`},
			want: map[string]string{"a": unseen, "A": "configured | user ~/.config/Code/User/mcp.json:3"}},
		{name: ".mcp.json comes after the folder's file", files: map[string]string{vscodeFolder: vscodeServers(a), "./.mcp.json": mcpServers(`"A": {"command":"y"}`, a)},
			want: map[string]string{"a": unseen + " | pending project disabled switched-off ./.mcp.json:4", "A": "disabled switched-off ./.vscode/mcp.json:3 | project ./.mcp.json:3"}},
		{name: "an entry of .mcp.json that is skipped keeps no name", files: map[string]string{"./.mcp.json": mcpServers(`"A": {}`), vscodeUser: vscodeServers(a)},
			want: map[string]string{"a": "configured | user ~/.config/Code/User/mcp.json:3", "A": "error entry-skipped ./.mcp.json:3 | project ./.mcp.json:3"}},
		{name: "trust is switched off", files: map[string]string{vscodeFolder: vscodeServers(a), vscodeSettings: `{"security.workspace.trust.enabled": false}`},
			want: map[string]string{"a": "configured | project ./.vscode/mcp.json:3 | from-repository"}},
		{name: "comments, trailing commas, a mark, nothing at all", files: map[string]string{vscodeUser: "\ufeff{ // c\n\"servers\": {\n" + a + ",},}", vscodeFolder: " \n"},
			want: map[string]string{"a": "configured | user ~/.config/Code/User/mcp.json:3"}},
		{name: "a mistake rejects the file", files: map[string]string{vscodeUser: "{\"servers\": {\n" + a + "\n\"b\": {}}}", vscodeFolder: vscodeServers(a)},
			want: map[string]string{"a": unseen + " | beats user ~/.config/Code/User/mcp.json:2", "b": "error file-refused ~/.config/Code/User/mcp.json:3 | user ~/.config/Code/User/mcp.json:3"}, notes: []string{"file-dropped"}},
		{name: "and displaces nothing", files: map[string]string{vscodeFolder: "{\"servers\": {\n" + a, vscodeUser: vscodeServers(a)},
			want:  map[string]string{"a": "configured | user ~/.config/Code/User/mcp.json:3 | pending project error file-refused ./.vscode/mcp.json:2"},
			notes: []string{"file-dropped"}},
		{name: "so does an entry that is none", files: map[string]string{vscodeUser: vscodeServers(a, `"b": 5`)},
			want: map[string]string{
				"a": "error file-refused ~/.config/Code/User/mcp.json:4 | user ~/.config/Code/User/mcp.json:3",
				"b": "error file-refused ~/.config/Code/User/mcp.json:4 | user ~/.config/Code/User/mcp.json:4"}, notes: []string{"file-dropped"}},
		{name: "the other key", files: map[string]string{vscodeFolder: mcpServers(a)}, notes: []string{"wrong-key"}},
		{name: "servers is a list", files: map[string]string{vscodeFolder: `{"servers":[{}]}`}, notes: []string{"wrong-type"}},
		{name: "the places before mcp.json", files: map[string]string{vscodeSettings: `{"mcp":{"servers":{"old":{}}},"github.copilot.chat.mcp.servers":{"older":{}}}`, "./.vscode/settings.json": `{"mcp.servers":{"b":{}}}`},
			notes: []string{"deprecated-key", "deprecated-key", "deprecated-key"}},
		{name: "types", files: map[string]string{vscodeUser: vscodeServers(`"a": {"type":"sse","url":"https://example.com"}`, `"b": {"type":"local","command":"x"}`, `"c": {"type":"http","command":"x"}`, `"d": {"type":"stdio","url":"x"}`, `"e": {}`, `"f": {"config":{"command":"x"},"id":"y"}`)},
			want: map[string]string{
				"a": "configured | user ~/.config/Code/User/mcp.json:3",
				"b": "configured | user ~/.config/Code/User/mcp.json:4",
				"c": "error entry-invalid ~/.config/Code/User/mcp.json:5 | user ~/.config/Code/User/mcp.json:5",
				"d": "error entry-invalid ~/.config/Code/User/mcp.json:6 | user ~/.config/Code/User/mcp.json:6 | conflicting-keys:6",
				"e": "error entry-invalid ~/.config/Code/User/mcp.json:7 | user ~/.config/Code/User/mcp.json:7",
				"f": "configured | user ~/.config/Code/User/mcp.json:8"}},
		{name: "keys and variables", vars: map[string]string{"SET": "1"}, files: map[string]string{vscodeUser: "{\"inputs\":[{\"id\":\"tok\"}],\n\"servers\":{" + `"a": {"command":"x","url":"u","disabled":true,"envFile":".env","env":{"A":"${env:SET}${env:NOPE}","B":"${input:tok}","C":"${input:other}","D":5,"E":null}}` + "}}"},
			want: map[string]string{"a": "configured | user ~/.config/Code/User/mcp.json:2 | conflicting-keys:2 | key-without-effect:2 | referenced-file:2 | unset-variable | unset-variable | unset-variable"}},

		{name: ".mcp.json", files: map[string]string{"./.mcp.json": mcpServers(a, `"b": 5`, `"c": {"type":"ws","url":"x"}`, `"d": {"type":"local","command":"x"}`, `"e": {}`)},
			want: map[string]string{
				"a": "unknown trust-in-database ./.mcp.json:3 | project ./.mcp.json:3",
				"b": "error entry-skipped ./.mcp.json:4 | project ./.mcp.json:4",
				"c": "error entry-skipped ./.mcp.json:5 | project ./.mcp.json:5",
				"d": "unknown trust-in-database ./.mcp.json:6 | project ./.mcp.json:6",
				"e": "error entry-skipped ./.mcp.json:7 | project ./.mcp.json:7"}},
		{name: "a bare .mcp.json, and trust switched off", files: map[string]string{"./.mcp.json": "{\n" + a + "}", vscodeSettings: `{"security.workspace.trust.enabled": false}`},
			want: map[string]string{"a": "unknown trust-in-database ./.mcp.json:2 | project ./.mcp.json:2"}},
		{name: "names that only differ in case", files: map[string]string{"./.mcp.json": mcpServers(a), vscodeUser: vscodeServers(`"A": {"command":"y"}`)},
			want: map[string]string{
				"a": "unknown trust-in-database ./.mcp.json:3 | project ./.mcp.json:3",
				"A": "disabled switched-off ./.mcp.json:3 | user ~/.config/Code/User/mcp.json:3"}},
		{name: "the same name", files: map[string]string{"./.mcp.json": mcpServers(a), vscodeUser: vscodeServers(a)},
			want: map[string]string{"a": "unknown trust-in-database ./.mcp.json:3 | project ./.mcp.json:3 | beats user ~/.config/Code/User/mcp.json:3"}},
		{name: "the same name, both on", files: map[string]string{"./.mcp.json": mcpServers(a), vscodeUser: vscodeServers(a), vscodeSettings: `{"chat.mcp.collisionBehavior":"suffix"}`},
			want: map[string]string{"a": "configured | user ~/.config/Code/User/mcp.json:3 | pending project unknown trust-in-database ./.mcp.json:3"}},
		{name: "what VS Code fills in", files: map[string]string{vscodeUser: vscodeServers(`"a": {"command":"x","args":["${userHome}${workspaceFolder:a}${config:b}","${TOKEN}","{env:T}","${A:-b}"]}`), "./.mcp.json": mcpServers(`"r": {"command":"x","args":["${workspaceFolder}"]}`)},
			want: map[string]string{"a": "configured | user ~/.config/Code/User/mcp.json:3 | unset-variable | unset-variable | unset-variable", "r": "unknown trust-in-database ./.mcp.json:3 | project ./.mcp.json:3 | unset-variable"}},
		{name: "a broken .mcp.json", files: map[string]string{"./.mcp.json": "{\"mcpServers\": {\n" + a},
			want: map[string]string{"a": "error file-refused ./.mcp.json:2 | project ./.mcp.json:2"}, notes: []string{"file-dropped"}},

		{name: "all switched off", files: map[string]string{vscodeUser: vscodeServers(a), vscodeSettings: "{\n\"chat.mcp.access\": \"none\"}"},
			want: map[string]string{"a": "disabled blocked-by-list ~/.config/Code/User/settings.json:2 | user ~/.config/Code/User/mcp.json:3"}},
		{name: "only those of the registry", files: map[string]string{vscodeUser: vscodeServers(a), vscodeSettings: "{\n\"chat\": {\"mcp.access\": \"registry\"}, // c\n}"},
			want: map[string]string{"a": "disabled blocked-by-list ~/.config/Code/User/settings.json:2 | user ~/.config/Code/User/mcp.json:3"}},
		{name: "the older setting, and notes", files: map[string]string{vscodeUser: vscodeServers(a), vscodeSettings: `{"chat.mcp.enabled": false, "chat.mcp.autostart": "never", "chat.mcp.discovery.enabled": true`},
			want: map[string]string{"a": "disabled blocked-by-list ~/.config/Code/User/settings.json:1 | user ~/.config/Code/User/mcp.json:3"}, notes: []string{"autostart-off", "discovery-on"}},

		{name: "another profile", files: map[string]string{vscodeUser: vscodeServers(a), "~/.config/Code/User/profiles/p1/mcp.json": vscodeServers(`"b": {"command":"x"}`),
			"~/.config/Code/User/globalStorage/storage.json": `{"userDataProfiles":[{"location":"p1","name":"One"}],"profileAssociations":{"workspaces":{"file://@PROJECT@":"p1"}}}`},
			want: map[string]string{"b": "configured | user ~/.config/Code/User/profiles/p1/mcp.json:3"}},
		{name: "another build", files: map[string]string{"~/.config/Code - Insiders/User/mcp.json": vscodeServers(a), "~/.config/VSCodium/User/mcp.json": vscodeServers(a), "~/.vscode/mcp.json": "{}"},
			want:  map[string]string{"a": "configured | user ~/.config/Code - Insiders/User/mcp.json:3"},
			notes: []string{"file-not-read"}},
		{name: "portable", vars: map[string]string{"VSCODE_PORTABLE": "@HOME@/port"}, files: map[string]string{"~/port/user-data/User/mcp.json": vscodeServers(a)},
			want: map[string]string{"a": "configured | user ~/port/user-data/User/mcp.json:3"}},
	})
}

// TestVSCodeDatabases: trust and switches as the databases have them.
func TestVSCodeDatabases(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("the expectations are written with the paths of a Unix system")
	}
	const global, shared = ".config/Code/User/globalStorage/state.vscdb", ".vscode-shared/sharedStorage/state.vscdb"
	for _, tc := range []struct {
		name   string
		lay    func(t *testing.T, tr *tree, workspace string)
		folder string
		user   string
		root   string
	}{
		{name: "trusted, with a parent that is not", lay: func(t *testing.T, tr *tree, _ string) {
			makeItemTable(t, filepath.Join(tr.home, shared), map[string]any{codeTrustKey: trustOf(map[string]bool{tr.home: false, tr.project + "/": true})})
			makeItemTable(t, filepath.Join(tr.home, global), map[string]any{codeTrustKey: trustOf(map[string]bool{tr.project: false})})
		}, folder: "configured", user: "configured", root: "unknown trust-in-database"},
		{name: "not trusted, below a trusted one", lay: func(t *testing.T, tr *tree, _ string) {
			makeItemTable(t, filepath.Join(tr.home, global), map[string]any{codeTrustKey: trustOf(map[string]bool{tr.home: true, tr.project: false})})
		}, folder: "unapproved untrusted-folder", user: "configured", root: "unapproved untrusted-folder"},
		{name: "a part of a name is no parent", lay: func(t *testing.T, tr *tree, _ string) {
			makeItemTable(t, filepath.Join(tr.home, global), map[string]any{codeTrustKey: trustOf(map[string]bool{tr.project[:len(tr.project)-1]: true})})
		}, folder: "unapproved untrusted-folder", user: "configured", root: "unapproved untrusted-folder"},
		{name: "nothing is trusted yet", lay: func(t *testing.T, tr *tree, _ string) {
			makeItemTable(t, filepath.Join(tr.home, global), map[string]any{codeTrustKey: "not json"})
		}, folder: "unapproved untrusted-folder", user: "configured", root: "unapproved untrusted-folder"},
		{name: "a damaged shared one may say more", lay: func(t *testing.T, tr *tree, _ string) {
			writeFile(t, filepath.Join(tr.home, shared), strings.Repeat("x", 200))
			makeItemTable(t, filepath.Join(tr.home, global), map[string]any{codeTrustKey: trustOf(map[string]bool{tr.project: true})})
		}, folder: "unknown trust-in-database", user: "configured", root: "unknown trust-in-database"},
		{name: "other tables", lay: func(t *testing.T, tr *tree, _ string) {
			makeDatabase(t, filepath.Join(tr.home, global), "CREATE TABLE other (x)")
		}, folder: "unknown trust-in-database", user: "configured", root: "unknown trust-in-database"},
		{name: "switched off for the user, on for the folder", lay: func(t *testing.T, tr *tree, workspace string) {
			makeItemTable(t, filepath.Join(tr.home, global), map[string]any{codeTrustKey: trustOf(map[string]bool{tr.project: true}),
				"mcp.enablement": []any{[]any{"mcp.config.usrlocal.u", false}, []any{"mcp.config.ws0.f", false}, []any{"workspace-dot-mcp.0.r", false}, []any{1}, 7}})
			makeItemTable(t, workspace, map[string]any{"mcp.enablement": []any{[]any{"mcp.config.ws0.f", true}}})
		}, folder: "configured", user: "disabled switched-off", root: "disabled switched-off"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			tr := layTree(t, map[string]string{vscodeUser: vscodeServers(`"u": {"command":"x"}`), vscodeFolder: vscodeServers(`"f": {"command":"x"}`), "./.mcp.json": mcpServers(`"r": {"command":"x"}`)}, nil)
			s := codeStorage{env: tr.env, r: NewReader(tr.env, NewCache()), user: filepath.Join(tr.home, ".config/Code/User")}
			tc.lay(t, tr, s.workspace())
			col := tr.column(vsCode())
			checkColumn(t, col)
			for name, want := range map[string]string{"f": tc.folder, "u": tc.user, "r": tc.root} {
				c := cellNamed(col, name)
				if got := strings.TrimSpace(c.State().String() + " " + string(c.Reason.Code)); got != want {
					t.Errorf("%s is %s, want %s: %s", name, got, want, c.Reason.Text)
				}
			}
			if waits := strings.HasPrefix(tc.folder, "unapproved"); col.Untrusted != waits {
				t.Errorf("untrusted: %t", col.Untrusted)
			}
			for _, f := range col.Files {
				if f.Status == model.FileMalformed || f.Status == model.FileRefused {
					t.Errorf("%s is %s: only fusebox cannot read it", f.Path, f.Status)
				}
			}
		})
	}
}

// TestDatabaseIsWatchedAndNotTouched: a change of a database is seen, what is unreadable is said, nothing is left behind.
func TestDatabaseIsWatchedAndNotTouched(t *testing.T) {
	t.Parallel()
	tr := layTree(t, map[string]string{vscodeFolder: vscodeServers(`"f": {"command":"x"}`), vscodeUser: "{}"}, nil)
	path := filepath.Join(tr.home, ".config/Code/User/globalStorage/state.vscdb")
	makeItemTable(t, path, map[string]any{codeTrustKey: trustOf(nil)})
	l := NewLoader(tr.env, []Harness{vsCode()})
	state := func(s *model.Snapshot) model.State { return cellNamed(s.Columns[0], "f").State() }
	if got := state(l.Load()); got != model.StateUnapproved {
		t.Errorf("at first %v", got)
	}
	for _, p := range []string{path, path + "-wal", path + "-journal"} {
		if !slices.Contains(l.Paths(), p) {
			t.Errorf("%s is not watched", p)
		}
	}
	makeDatabase(t, path, "UPDATE ItemTable SET value = '{\"uriTrustInfo\":[{\"uri\":{\"scheme\":\"file\",\"path\":\""+filepath.ToSlash(tr.project)+"\"},\"trusted\":true}]}'")
	if s, _ := l.Reload([]string{path}); state(s) != model.StateConfigured {
		t.Errorf("trusted: %v", state(s))
	}
	before, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(before) != 1 {
		t.Errorf("beside the database there are %v, %v", before, err)
	}
	writeFile(t, path+"-journal", "a transaction is open")
	s, _ := l.Reload([]string{path + "-journal"})
	if state(s) != model.StateUnknown {
		t.Errorf("in a transaction: %v", state(s))
	}
	for _, f := range s.Columns[0].Files {
		if f.Path == path && (f.Status != model.FileIgnored || f.Note == "") {
			t.Errorf("%s, %q", f.Status, f.Note)
		}
	}
	if err := os.Remove(path + "-journal"); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, MaxDatabaseSize+1); err != nil {
		t.Fatal(err)
	}
	if s, _ := l.Reload([]string{path}); state(s) != model.StateUnknown {
		t.Errorf("too large: %v", state(s))
	}
}

func TestVSCodeLaunch(t *testing.T) {
	t.Parallel()
	tr := layTree(t, map[string]string{vscodeUser: vscodeServers(`"Some Long/Server": {"command":"x","args":["${workspaceFolder}","${env:V}","${env:NOPE}","${input:t}","${other}"],"env":{"N":5}}`),
		"./.mcp.json": mcpServers(`"r": {"command":"${env:V}"}`)}, map[string]string{"V": "v"})
	col := tr.column(vsCode())
	h := vsCode()
	l := h.LaunchFor(tr.env, &cellNamed(col, "Some Long/Server").Entry)
	if want := []string{tr.project, "v", "", "${input:t}", "${other}"}; !slices.Equal(l.Args, want) || !slices.Equal(l.Unset, []string{"NOPE", "input:t"}) || !slices.Contains(l.Env, "N=5") {
		t.Errorf("arguments %q, unset %q", l.Args, l.Unset)
	}
	if r := h.LaunchFor(tr.env, &cellNamed(col, "r").Entry); r.Command != "${env:V}" {
		t.Errorf("command %q: .mcp.json has no variables", r.Command)
	}
	if got := h.Launch.ToolName("makenotion/notion-mcp-server", "notion-search"); got != "mcp_makenotion_no_notion-search" {
		t.Errorf("tool name %s", got)
	}
}

func FuzzResolveVSCode(f *testing.F) {
	f.Add(vscodeServers(`"a": {"command":"x","env":{"T":"@CANARY@"}}`), vscodeServers(`"a": {"url":"https://example.com/@CANARY@","headers":{"A":5}}`), mcpServers(`"A": {"type":"@CANARY@"}`), `{"chat.mcp.access":"@CANARY@"}`, `{"uriTrustInfo":[{"uri":{"scheme":"file","path":"/"},"trusted":true}]}`)
	f.Add(`{"servers":{"a":7,"":{},"b":{"config":{"type":"@CANARY@"}}},"inputs":[{"id":"x"}]}`, `{"mcpServers":{"c":{}}}`, `{"a":{"command":"${env:X}${input:y:@CANARY@}"}}`, `{"mcp":{"servers":{"x":1}}}`, `[]`)
	f.Add("\ufeff{// c\n\"servers\":{},}", ``, `{"mcpServers":`, `[`, ``)
	f.Fuzz(func(t *testing.T, user, folder, root, settings, trust string) {
		tr := layTree(t, map[string]string{vscodeUser: withCanary(user), vscodeFolder: withCanary(folder), "./.mcp.json": withCanary(root), vscodeSettings: withCanary(settings)}, map[string]string{"CANARY": canary})
		makeItemTable(t, filepath.Join(tr.home, ".config/Code/User/globalStorage/state.vscdb"), map[string]any{codeTrustKey: trust, "mcp.enablement": trust})
		checkColumn(t, tr.column(vsCode()))
	})
}
