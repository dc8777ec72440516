package loaders

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"fusebox/model"
)

const (
	zedUser   = "~/.config/zed/settings.json"
	zedFolder = "./.zed/settings.json"
)

func zedServers(entries ...string) string {
	return "{ // Zed\n\"context_servers\": {\n" + strings.Join(entries, ",\n") + "\n}, \"theme\": \"One\",}\n"
}

func TestZedResolve(t *testing.T) {
	t.Parallel()
	a := `"a": {"command":"x"}`
	unseen := "unknown trust-in-database ./.zed/settings.json:3 | project ./.zed/settings.json:3"
	runCases(t, zedEditor(), []resolveCase{
		{name: "nothing"},
		{name: "on and off", files: map[string]string{zedUser: zedServers(a, `"b": {"source":"custom","enabled":false,"command":"x","args":[]}`, `"c": {"enabled":true,"url":"https://example.com","headers":{}}`)},
			want: map[string]string{
				"a": "configured | user ~/.config/zed/settings.json:3",
				"b": "disabled switched-off ~/.config/zed/settings.json:4 | user ~/.config/zed/settings.json:4",
				"c": "configured | user ~/.config/zed/settings.json:5"}},
		{name: "XDG_CONFIG_HOME", vars: map[string]string{"XDG_CONFIG_HOME": "@HOME@/x"}, files: map[string]string{"~/x/zed/settings.json": zedServers(a)},
			want: map[string]string{"a": "configured | user ~/x/zed/settings.json:3"}},
		{name: "a folder's server, and no database", files: map[string]string{zedFolder: zedServers(a), zedUser: zedServers(a)},
			want: map[string]string{"a": unseen + " | beats user ~/.config/zed/settings.json:3"}},
		{name: "all folders are trusted", files: map[string]string{zedFolder: zedServers(a), zedUser: `{"session":{"trust_all_worktrees":true}}`},
			want: map[string]string{"a": "configured | project ./.zed/settings.json:3 | from-repository"}},
		{name: "a folder cannot trust itself", files: map[string]string{zedFolder: "{\"context_servers\":\n{\n" + a + `},"session":{"trust_all_worktrees":true}}`}, want: map[string]string{"a": unseen}},
		{name: "switched off in the folder", files: map[string]string{zedFolder: zedServers(`"a": {"command":"x","enabled":false}`), zedUser: zedServers(a)},
			want: map[string]string{"a": "disabled switched-off ./.zed/settings.json:3 | project ./.zed/settings.json:3 | beats user ~/.config/zed/settings.json:3"}},
		{name: "bad entries", files: map[string]string{zedUser: zedServers(`"a": 7`, `"b": {}`, `"c": {"command":{"path":"x","args":["y"]}}`, `"d": {"command":"x","args":"y"}`, `"e": {"command":"x","env":{"A":1}}`, `"f": {"url":"u","headers":[]}`, `"g": {"command":" "}`, `"h": {"url":""}`, `"i": {"command":"x","enabled":"no"}`)},
			want: map[string]string{
				"a": "error entry-invalid ~/.config/zed/settings.json:3 | user ~/.config/zed/settings.json:3",
				"b": "error entry-invalid ~/.config/zed/settings.json:4 | user ~/.config/zed/settings.json:4",
				"c": "error entry-invalid ~/.config/zed/settings.json:5 | user ~/.config/zed/settings.json:5",
				"d": "error entry-invalid ~/.config/zed/settings.json:6 | user ~/.config/zed/settings.json:6",
				"e": "error entry-invalid ~/.config/zed/settings.json:7 | user ~/.config/zed/settings.json:7",
				"f": "error entry-invalid ~/.config/zed/settings.json:8 | user ~/.config/zed/settings.json:8",
				"g": "error entry-invalid ~/.config/zed/settings.json:9 | user ~/.config/zed/settings.json:9",
				"h": "error entry-invalid ~/.config/zed/settings.json:10 | user ~/.config/zed/settings.json:10",
				"i": "error entry-invalid ~/.config/zed/settings.json:11 | user ~/.config/zed/settings.json:11"}},
		{name: "a bad entry of the folder leaves the user's", files: map[string]string{zedFolder: zedServers(`"a": {}`), zedUser: zedServers(a)},
			want: map[string]string{"a": "configured | user ~/.config/zed/settings.json:3 | pending project error entry-invalid ./.zed/settings.json:3"}},
		{name: "findings", files: map[string]string{zedUser: zedServers(`"a": {"command":"x","url":"u","disabled":true,"env":{"A":"${env:B}"}}`, `"a": {"command":"x","url":"u","disabled":true,"env":{"A":"${env:B}"}}`)},
			want: map[string]string{"a": "configured | user ~/.config/zed/settings.json:4 | conflicting-keys:4 | key-without-effect:4 | unset-variable | duplicate-key:4"}},
		{name: "an extension's settings, other keys, other files", files: map[string]string{zedUser: zedServers(`"e": {"settings":{"token":"x"}}`), zedFolder: `{"context_servers":[],"mcpServers":{"a":{}}}`, "./.zed/mcp.json": "{}"},
			notes: []string{"extension-server", "wrong-type", "wrong-key", "file-not-read"}},
		{name: "a broken file", files: map[string]string{zedUser: "{\"context_servers\": {\n" + a + "\n\"b\": {\"command\":\"x\"}}}"},
			want: map[string]string{
				"a": "error file-refused ~/.config/zed/settings.json:3 | user ~/.config/zed/settings.json:2",
				"b": "error file-refused ~/.config/zed/settings.json:3 | user ~/.config/zed/settings.json:3"}},
	})
}

// TestZedTrust: the folder or one above it is among the trusted ones of this machine.
func TestZedTrust(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("the expectations are written with the paths of a Unix system")
	}
	const table = "CREATE TABLE trusted_worktrees (trust_id INTEGER PRIMARY KEY AUTOINCREMENT, absolute_path TEXT, user_name TEXT, host_name TEXT) STRICT"
	for _, tc := range []struct {
		name       string
		statements []string
		want       string
	}{
		{"nothing is trusted", []string{table}, "unapproved untrusted-folder"},
		{"the folder", []string{table, "INSERT INTO trusted_worktrees (absolute_path) VALUES ('/other'), ('@PROJECT@')"}, "configured"},
		{"one above it", []string{"PRAGMA journal_mode=wal", table, "INSERT INTO trusted_worktrees (absolute_path) VALUES ('@HOME@')"}, "configured"},
		{"on another machine, or a part of a name", []string{table, "INSERT INTO trusted_worktrees (absolute_path, host_name) VALUES ('@PROJECT@', 'h'), ('@HOME@/proj', NULL), (NULL, NULL)"}, "unapproved untrusted-folder"},
		{"an older version", []string{"CREATE TABLE workspaces (x)"}, "unknown trust-in-database"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			tr := layTree(t, map[string]string{zedFolder: zedServers(`"a": {"command":"x"}`, `"b": {"command":"x"}`), zedUser: zedServers(`"b": {"command":"y"}`)}, nil)
			for i := range tc.statements {
				tc.statements[i] = tr.fill(tc.statements[i])
			}
			makeDatabase(t, filepath.Join(tr.home, ".local/share/zed/db/0-stable/db.sqlite"), tc.statements...)
			col := tr.column(zedEditor())
			checkColumn(t, col)
			c := cellNamed(col, "a")
			if got := strings.TrimSpace(c.State().String() + " " + string(c.Reason.Code)); got != tc.want {
				t.Errorf("%s, want %s", got, tc.want)
			}
			waits := strings.HasPrefix(tc.want, "unapproved")
			if b := cellNamed(col, "b"); (b.Scope == model.ScopeUser) != waits || col.Untrusted != waits {
				t.Errorf("untrusted: %t; the cell of both is %s", col.Untrusted, tr.describe(b))
			}
		})
	}
}

func TestZedPlaces(t *testing.T) {
	t.Parallel()
	for goos, want := range map[string]string{"linux": "/h/.config/zed /h/.local/share/zed", "darwin": "/h/.config/zed /h/Library/Application Support/Zed",
		"windows": "/h/AppData/Roaming/Zed /h/AppData/Local/Zed"} {
		env := &Env{Home: "/h", GOOS: goos}
		if got := filepath.ToSlash(zedConfigDir(env) + " " + zedDataDir(env)); got != want {
			t.Errorf("%s: %s", goos, got)
		}
	}
}

// TestZedToggle: one key comes and goes, comments and everything else stay.
func TestZedToggle(t *testing.T) {
	t.Parallel()
	tr := layTree(t, map[string]string{zedUser: zedServers(`"a": {"command":"x"}`)}, nil)
	path := filepath.Join(tr.home, ".config/zed/settings.json")
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		wish Wish
		want string
	}{{WishOff, strings.Replace(string(before), `"x"}`, `"x","enabled":false}`, 1)}, {WishOn, string(before)}} {
		b := NewSwitchboard(tr.env, zedEditor())
		a := b.Ask(b.Cell("a"), step.wish)
		if a.Refused != "" || len(a.Options) != 1 {
			t.Fatalf("%+v", a)
		}
		writeFile(t, path, string(a.Options[0].Plan().files[0].after))
		after, _ := os.ReadFile(path)
		if got := strings.NewReplacer(" ", "", "\n", "").Replace(string(after)); got != strings.NewReplacer(" ", "", "\n", "").Replace(step.want) {
			t.Errorf("it is now\n%s", after)
		}
	}
}

func FuzzResolveZed(f *testing.F) {
	f.Add(zedServers(`"a": {"command":"x","env":{"T":"@CANARY@"}}`), zedServers(`"a": {"url":"https://example.com/@CANARY@"}`))
	f.Add(`{"context_servers":{"a":7,"":{},"b":{"command":{"path":"@CANARY@"}}}}`, `{"context_servers":{"a":{"settings":1}},"mcpServers":{}}`)
	f.Add("\ufeff{// c\n\"context_servers\":{},}", `{"context_servers":`)
	f.Fuzz(func(t *testing.T, user, folder string) {
		tr := layTree(t, map[string]string{zedUser: withCanary(user), zedFolder: withCanary(folder)}, nil)
		checkColumn(t, tr.column(zedEditor()))
	})
}
