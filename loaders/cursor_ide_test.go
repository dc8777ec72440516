package loaders

import (
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"fusebox/model"
)

func TestCursorIDEResolve(t *testing.T) {
	t.Parallel()
	a := `"a": {"command":"x"}`
	unseen := "unknown new-servers-start-off ./.cursor/mcp.json:3 | project ./.cursor/mcp.json:3"
	runCases(t, cursorIDE(), []resolveCase{
		{name: "nothing"},
		{name: "a user's server", files: map[string]string{cursorUser: mcpServers(a)},
			want: map[string]string{"a": "configured | user ~/.cursor/mcp.json:3"}},
		{name: "a folder's server starts switched off", files: map[string]string{cursorProject: mcpServers(a)}, want: map[string]string{"a": unseen}},
		{name: "the folder that is open counts, not the root of the repository", start: "s", files: map[string]string{gitHead: "", cursorProject: mcpServers(a), "./s/.cursor/mcp.json": mcpServers(`"b": {"command":"x"}`)},
			want: map[string]string{"b": "unknown new-servers-start-off ./s/.cursor/mcp.json:3 | project ./s/.cursor/mcp.json:3"}},
		{name: "a bad entry, an empty command, the other key", files: map[string]string{cursorUser: mcpServers(a, `"b": {"type":"streamableHttp","url":"x"}`, `"c": {"command":" "}`), cursorProject: `{"servers":{"d":{"command":"x"}}}`},
			want: map[string]string{
				"a": "configured | user ~/.cursor/mcp.json:3",
				"b": "error entry-invalid ~/.cursor/mcp.json:4 | user ~/.cursor/mcp.json:4",
				"c": "error entry-invalid ~/.cursor/mcp.json:5 | user ~/.cursor/mcp.json:5"}, notes: []string{"wrong-key"}},
		{name: "variables", vars: map[string]string{"SET": "1"}, files: map[string]string{cursorUser: mcpServers(`"a": {"command":"${env:SET}","args":["${env:NOPE}","${workspaceFolder}","${env:NOPE}"]}`)},
			want: map[string]string{"a": "configured | user ~/.cursor/mcp.json:3 | unset-variable"}},
		{name: "another program's way to write a variable", vars: map[string]string{"TOKEN": "t"}, files: map[string]string{cursorUser: mcpServers(`"a": {"command":"x","env":{"T":"${TOKEN}","H":"${userHome}"}}`)},
			want: map[string]string{"a": "configured | user ~/.cursor/mcp.json:3 | unset-variable"}},
	})
}

// TestCursorIDESideBySide: one name in both files is two cells.
func TestCursorIDESideBySide(t *testing.T) {
	t.Parallel()
	tr := layTree(t, map[string]string{cursorUser: mcpServers(`"a": {"command":"x"}`), cursorProject: mcpServers(`"a": {"command":"y"}`)}, nil)
	if col := tr.column(cursorIDE()); len(col.Cells) != 2 || col.Cells[0].Scope != model.ScopeProject || col.Cells[1].Scope != model.ScopeUser {
		t.Errorf("%d cells", len(col.Cells))
	}
	tr.env.Project = tr.home
	if col := tr.column(cursorIDE()); len(col.Cells) != 1 || col.Cells[0].Decision != model.DecisionLoads {
		t.Errorf("in the home folder %d cells", len(col.Cells))
	}
}

// TestCursorIDEDatabases: switches and approvals as third parties describe them.
func TestCursorIDEDatabases(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("the expectations are written with the paths of a Unix system")
	}
	for _, tc := range []struct {
		name              string
		global, workspace map[string]any // nil: no database; a value without a key in it is "not a database"
		user, project     string
	}{
		{name: "empty", global: map[string]any{}, workspace: map[string]any{}, user: "configured", project: "unknown new-servers-start-off"},
		{name: "off in the folder", workspace: map[string]any{cursorDisabledKey: []string{"user-s", "project-project-s"}}, user: "disabled switched-off", project: "disabled switched-off"},
		{name: "approved", global: map[string]any{cursorApprovedKey: []string{"project-project-s"}}, user: "configured", project: "configured"},
		{name: "approved, newer form", workspace: map[string]any{cursorApprovedKey: []string{"project-0-project-s"}}, user: "configured", project: "configured"},
		{name: "approved with a fingerprint", global: map[string]any{cursorApprovedKey: []string{"project-project-s:0a1b"}}, user: "configured", project: "unknown approval-not-computable"},
		{name: "off beats approved, others do not count", global: map[string]any{cursorApprovedKey: []string{"project-project-s"}, cursorDisabledKey: []string{"project-project-s", "user-other", "s"}}, user: "configured", project: "disabled switched-off"},
		{name: "another form", global: map[string]any{cursorApprovedKey: map[string]any{"s": true}, cursorDisabledKey: "["}, user: "configured", project: "unknown new-servers-start-off"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			tr := layTree(t, map[string]string{cursorUser: mcpServers(`"s": {"command":"x"}`), cursorProject: mcpServers(`"s": {"command":"y"}`)}, nil)
			s := codeStorage{env: tr.env, r: NewReader(tr.env, NewCache()), user: filepath.Join(tr.home, ".config/Cursor/User")}
			for path, values := range map[string]map[string]any{s.global(): tc.global, s.workspace(): tc.workspace} {
				if values != nil {
					makeItemTable(t, path, values)
				}
			}
			col := tr.column(cursorIDE())
			checkColumn(t, col)
			for i, want := range []string{tc.project, tc.user} {
				c := col.Cells[i]
				if got := strings.TrimSpace(c.State().String() + " " + string(c.Reason.Code)); got != want {
					t.Errorf("%s: %s, want %s", c.Scope, got, want)
				}
			}
		})
	}
}

func FuzzResolveCursorIDE(f *testing.F) {
	f.Add(mcpServers(`"a": {"command":"x","env":{"T":"@CANARY@"}}`), mcpServers(`"a": {"url":"https://example.com/@CANARY@"}`), `["user-a","project-project-a"]`)
	f.Add(`{"mcpServers":{"(":{"command":"${env:CANARY}"},"n":{"command":"n"`, `{"servers":{}}`, `{}`)
	f.Fuzz(func(t *testing.T, user, project, lists string) {
		tr := layTree(t, map[string]string{cursorUser: withCanary(user), cursorProject: withCanary(project)}, map[string]string{"CANARY": canary})
		makeItemTable(t, filepath.Join(tr.home, ".config/Cursor/User/globalStorage/state.vscdb"), map[string]any{cursorDisabledKey: lists, cursorApprovedKey: lists})
		checkColumn(t, tr.column(cursorIDE()))
	})
}
