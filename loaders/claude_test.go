package loaders

import (
	"testing"

	"fusebox/loaders/jsonc"
	"fusebox/model"
)

const (
	mainClaude    = "~/.claude.json"
	projectClaude = "./.mcp.json"
	localClaude   = "./.claude/settings.local.json"
	userClaude    = "~/.claude/settings.json"
	managedClaude = "/etc/claude-code/managed-settings.json"
	dropInClaude  = "/etc/claude-code/managed-settings.d/"

	trustClaude  = `{"projects":{"@PROJECT@":{"hasTrustDialogAccepted":true}}}`
	allOfProject = `{"enableAllProjectMcpServers":true}`
	twoServers   = `{"mcpServers":{"a":{"command":"x"},"b":{"command":"y"}}}`
)

// inClaudeProject is a main file with one more key of the project.
func inClaudeProject(members string) string {
	return `{"projects":{"@PROJECT@":{"hasTrustDialogAccepted":true,` + members + `}}}`
}

// Every case was tried on Claude Code 2.1.332.
func TestClaudeResolve(t *testing.T) {
	t.Parallel()
	p := func(name string) string { return "configured | project " + name + ":1" }
	waits := "unapproved needs-approval " + projectClaude + ":1 | project " + projectClaude + ":1"
	user := "configured | user " + mainClaude + ":1"
	runCases(t, claudeCode(), []resolveCase{
		{name: "a bad entry nearer by hides nothing", files: map[string]string{mainClaude: trustClaude, projectClaude: `{"mcpServers":{"a":{"command":""}}}`,
			"~/.mcp.json": `{"mcpServers":{"a":{"command":"x"}}}`, userClaude: allOfProject},
			want: map[string]string{"a": p("~/.mcp.json") + " | pending project error entry-invalid " + projectClaude + ":1 | file-not-read"}},
		{name: "an empty url takes part", files: map[string]string{mainClaude: `{"mcpServers":{"a":{"command":"x"},"b":{"type":"sse","url":" "}},"projects":{"@PROJECT@":{"disabledMcpServers":["b"]}}}`,
			projectClaude: `{"mcpServers":{"a":{"type":"http","url":""}}}`, userClaude: allOfProject},
			want: map[string]string{"a": "error entry-skipped " + projectClaude + ":1 | project " + projectClaude + ":1 | beats user " + mainClaude + ":1 | conflicting-scopes",
				"b": "disabled switched-off " + mainClaude + ":1 | user " + mainClaude + ":1"}},
		{name: "an empty url waits like others", files: map[string]string{mainClaude: trustClaude, projectClaude: `{"mcpServers":{"a":{"type":"http","url":""}}}`}, want: map[string]string{"a": waits}},

		{name: "a main file of blanks", files: map[string]string{mainClaude: " \n", projectClaude: twoServers, userClaude: allOfProject}, want: map[string]string{"a": p(projectClaude), "b": p(projectClaude)}},
		{name: "a main file of a byte order mark", files: map[string]string{mainClaude: "\ufeff", projectClaude: twoServers, userClaude: allOfProject}, want: map[string]string{"a": p(projectClaude), "b": p(projectClaude)}},
		{name: "a main file that is a folder", files: map[string]string{mainClaude + "/": "", projectClaude: twoServers, userClaude: allOfProject}, want: map[string]string{"a": p(projectClaude), "b": p(projectClaude)}},
		{name: "an empty legacy main file", files: map[string]string{"~/.claude/.config.json": "", mainClaude: `{"mcpServers":{"u":{"command":"x"}}}`}, want: map[string]string{"u": user}},
		{name: "a legacy main file of blanks", files: map[string]string{"~/.claude/.config.json": " ", mainClaude: `{"mcpServers":{"u":{"command":"x"}}}`}},
		{name: "a broken main file under management", files: map[string]string{mainClaude: "{", "/etc/claude-code/managed-mcp.json": `{"mcpServers":{"m":{"command":"x"}}}`}, ran: mainClaude + ":1",
			want: map[string]string{"m": "error file-refused " + mainClaude + ":1 | managed /etc/claude-code/managed-mcp.json:1"}},
		{name: "tilde in CLAUDE_CONFIG_DIR means nothing", vars: map[string]string{"CLAUDE_CONFIG_DIR": "~/cc"}, files: map[string]string{"~/cc/.claude.json": `{"mcpServers":{"u":{"command":"x"}}}`}},

		{name: "trust of the start folder, in git", start: "sub", files: map[string]string{mainClaude: `{"projects":{"@PROJECT@/sub":{"hasTrustDialogAccepted":true}}}`, "./.git/HEAD": "", "./sub/x": "",
			projectClaude: twoServers, localClaude: `{"enabledMcpjsonServers":["a"]}`}, want: map[string]string{"a": p(projectClaude), "b": waits}},
		{name: "trust of a worktree", start: "wt", files: map[string]string{mainClaude: `{"projects":{"@PROJECT@/wt":{"hasTrustDialogAccepted":true}}}`, "./.git/worktrees/wt/commondir": "../..", "./.git/worktrees/wt/gitdir": "@PROJECT@/wt/.git",
			"./wt/.git": "gitdir: @PROJECT@/.git/worktrees/wt", "./wt/.mcp.json": twoServers, localClaude: `{"enabledMcpjsonServers":["a"]}`},
			want: map[string]string{"a": p("./wt/.mcp.json"), "b": "unapproved needs-approval ./wt/.mcp.json:1 | project ./wt/.mcp.json:1"}},
		{name: "a worktree that the other side does not name", start: "wt", files: map[string]string{mainClaude: inClaudeProject(`"mcpServers":{"l":{"command":"x"}}`), "./.git/HEAD": "", "./wt/fake/commondir": "@PROJECT@/.git",
			"./wt/.git": "gitdir: @PROJECT@/wt/fake", "./wt/.mcp.json": twoServers, localClaude: `{"enabledMcpjsonServers":["a"]}`}, notes: []string{"other-folders"},
			want: map[string]string{"a": "unapproved needs-approval ./wt/.mcp.json:1 | project ./wt/.mcp.json:1", "b": "unapproved needs-approval ./wt/.mcp.json:1 | project ./wt/.mcp.json:1"}},
		{name: "the key in a worktree of a bare repository", start: "wt", files: map[string]string{mainClaude: `{"projects":{"@HOME@/bare.git":{"hasTrustDialogAccepted":true,"mcpServers":{"l":{"command":"x"}}}}}`,
			"~/bare.git/worktrees/wt/commondir": "../..", "~/bare.git/worktrees/wt/gitdir": "@PROJECT@/wt/.git", "./wt/.git": "gitdir: @HOME@/bare.git/worktrees/wt"},
			want: map[string]string{"l": "configured | local " + mainClaude + ":1"}},

		{name: "local settings of the home folder, in it", start: "..", files: map[string]string{"~/.mcp.json": twoServers, "~/.claude/settings.local.json": `{"enabledMcpjsonServers":["b"]}`},
			want: map[string]string{"a": "unapproved needs-approval ~/.mcp.json:1 | project ~/.mcp.json:1 | file-not-read", "b": p("~/.mcp.json") + " | file-not-read"}},
		{name: "and below it, with git", files: map[string]string{mainClaude: `{"projects":{"@HOME@":{"hasTrustDialogAccepted":true}}}`, "~/.git/HEAD": "", projectClaude: twoServers,
			"~/.claude/settings.local.json": `{"enabledMcpjsonServers":["a"],"disabledMcpjsonServers":["b"]}`}, want: map[string]string{"a": waits, "b": waits}},
		{name: "local settings in the configuration folder", vars: map[string]string{"CLAUDE_CONFIG_DIR": "@PROJECT@/.claude"}, files: map[string]string{"./.claude/.claude.json": "{}", projectClaude: twoServers, localClaude: `{"enabledMcpjsonServers":["b"]}`},
			want: map[string]string{"a": waits, "b": p(projectClaude)}},

		{name: "a name beyond U+FFFF folds to two", files: map[string]string{mainClaude: trustClaude, projectClaude: `{"mcpServers":{"😀":{"command":"x"}}}`, localClaude: `{"disabledMcpjsonServers":["__"]}`},
			want: map[string]string{"😀": "disabled rejected " + localClaude + ":1 | project " + projectClaude + ":1 | invalid-server-name"}},
		{name: "legacy lists beside broken local settings", files: map[string]string{mainClaude: inClaudeProject(`"enabledMcpjsonServers":["a"],"disabledMcpjsonServers":["b"]`), projectClaude: twoServers, localClaude: `{"model":7}`},
			want: map[string]string{"a": waits, "b": waits}, notes: []string{"file-dropped"}},
		{name: "a legacy list that is a text", files: map[string]string{mainClaude: inClaudeProject(`"enabledMcpjsonServers":"a"`), projectClaude: twoServers}, want: map[string]string{"a": waits, "b": waits}},
		{name: "settings in UTF-16", files: map[string]string{mainClaude: trustClaude, projectClaude: twoServers, localClaude: utf16Text(`{"enabledMcpjsonServers":["a"]}`)}, want: map[string]string{"a": p(projectClaude), "b": waits}},

		{name: "one of an administrator's files overrules another", files: map[string]string{managedClaude: allOfProject, dropInClaude + "a.json": `{"enableAllProjectMcpServers":false}`, projectClaude: twoServers}, want: map[string]string{
			"a": "unapproved needs-approval " + dropInClaude + "a.json:1 | project " + projectClaude + ":1", "b": "unapproved needs-approval " + dropInClaude + "a.json:1 | project " + projectClaude + ":1"}},
		{name: "a hidden file of an administrator", files: map[string]string{dropInClaude + ".a.json": allOfProject, projectClaude: twoServers}, want: map[string]string{"a": waits, "b": waits}},
		{name: "a bad value in an administrator's file", files: map[string]string{mainClaude: `{"mcpServers":{"u":{"command":"x"}}}`, managedClaude: `{"model":7,"disabledMcpjsonServers":["a"],"deniedMcpServers":[{"serverName":"u"}]}`, projectClaude: twoServers},
			want: map[string]string{"a": "disabled rejected " + managedClaude + ":1 | project " + projectClaude + ":1", "b": waits, "u": "disabled blocked-by-policy " + managedClaude + ":1 | user " + mainClaude + ":1"}},
		{name: "plugins only", files: map[string]string{mainClaude: `{"mcpServers":{"u":{"command":"x"}}}`, managedClaude: `{"strictPluginOnlyCustomization":true}`},
			want: map[string]string{"u": "disabled blocked-by-policy " + managedClaude + ":1 | user " + mainClaude + ":1"}},
		{name: "an allow list is not about managed servers", files: map[string]string{"/etc/claude-code/managed-mcp.json": twoServers, managedClaude: `{"allowedMcpServers":[{"serverName":"a"}],"deniedMcpServers":[{"serverName":"b"}]}`},
			want: map[string]string{"a": "configured | managed /etc/claude-code/managed-mcp.json:1", "b": "disabled blocked-by-policy " + managedClaude + ":1 | managed /etc/claude-code/managed-mcp.json:1"}},
		{name: "items of lists that do not count", files: map[string]string{mainClaude: `{"mcpServers":{"a":{"command":"x"},"b":{"command":"y"},"p.q":{"command":"z"}}}`,
			userClaude: `{"allowedMcpServers":[{"serverName":"a"},{"serverName":"b","serverCommand":["y"]},{"serverName":"p.q"},{"serverCommand":[]}],"deniedMcpServers":[{"serverName":"a","serverUrl":"*"},{"serverName":" a"},"a"]}`},
			want: map[string]string{"a": user, "b": "disabled blocked-by-list " + userClaude + ":1 | user " + mainClaude + ":1", "p.q": "disabled blocked-by-list " + userClaude + ":1 | user " + mainClaude + ":1 | invalid-server-name"}},
		{name: "lists of another kind", files: map[string]string{mainClaude: `{"mcpServers":{"u":{"command":"x"}}}`, projectClaude: twoServers, userClaude: `{"allowedMcpServers":{},"deniedMcpServers":"u","hooks":[],"enableAllProjectMcpServers":true}`},
			want: map[string]string{"u": user, "a": p(projectClaude), "b": p(projectClaude)}},
		{name: "variables in a deny list", vars: map[string]string{"X": "x"}, files: map[string]string{mainClaude: `{"mcpServers":{"u":{"command":"x"},"v":{"command":"${X}"}}}`, userClaude: `{"deniedMcpServers":[{"serverCommand":["${X}"]}]}`},
			want: map[string]string{"u": "disabled blocked-by-list " + userClaude + ":1 | user " + mainClaude + ":1", "v": "disabled blocked-by-list " + userClaude + ":1 | user " + mainClaude + ":1"}},
		{name: "a plugin's manifest", files: map[string]string{userClaude: `{"enabledPlugins":{"t@m":true}}`, "~/.claude/plugins/installed_plugins.json": `{"plugins":{"t@m":[{"installPath":"@HOME@/t","projectPath":"/elsewhere"}]}}`,
			"~/t/.claude-plugin/plugin.json": `{"name":"other","mcpServers":["./m.json",{"workspace":{"command":"z"}}]}`, "~/t/m.json": twoServers},
			want: map[string]string{"plugin:other:a": "configured | plugin ~/t/m.json:1", "plugin:other:b": "configured | plugin ~/t/m.json:1", "plugin:other:workspace": "configured | plugin ~/t/.claude-plugin/plugin.json:1"}},
		{name: "twins of a plugin's servers", files: map[string]string{userClaude: `{"enabledPlugins":{"t@m":true,"v@m":true}}`, mainClaude: `{"mcpServers":{"off":{"command":"x"},"c":{"command":"/bin/z"}},"projects":{"@PROJECT@":{"disabledMcpServers":["off"]}}}`, projectClaude: `{"mcpServers":{"w":{"command":"y"}}}`,
			"~/.claude/plugins/installed_plugins.json": `{"plugins":{"t@m":[{"installPath":"@HOME@/t"}],"v@m":[{"installPath":"@HOME@/v"}]}}`, "~/t/.mcp.json": twoServers, "~/v/.mcp.json": `{"mcpServers":{"a":{"command":"x"},"c":{"command":"/bin/z"},"d":{"command":"z"}}}`},
			want: map[string]string{"off": "disabled switched-off " + mainClaude + ":1 | user " + mainClaude + ":1", "c": user, "w": waits, "plugin:t:a": "configured | plugin ~/t/.mcp.json:1", "plugin:t:b": "configured | plugin ~/t/.mcp.json:1",
				"plugin:v:d": "configured | plugin ~/v/.mcp.json:1"}},
		{name: "a reserved name of JavaScript", files: map[string]string{mainClaude: `{"mcpServers":{"__proto__":{"command":"x"}}}`},
			want: map[string]string{"__proto__": "error entry-skipped " + mainClaude + ":1 | user " + mainClaude + ":1 | reserved-server-name"}},
	})
}

func utf16Text(ascii string) string {
	out := "\xff\xfe"
	for _, r := range ascii {
		out += string(r) + "\x00"
	}
	return out
}

// Values that make Claude Code 2.1.332 drop a settings file, and values that do not.
func TestClaudeSettingsFault(t *testing.T) {
	t.Parallel()
	for text, dropped := range map[string]bool{
		`[]`: true, `null`: true, `{}`: false, `{"unknown":5}`: false, `{"theme":5}`: false, `{"hooks":[]}`: false, `{"deniedMcpServers":{}}`: false,
		`{"effortLevel":"wat"}`: false, `{"teammateMode":5}`: false, `{"strictPluginOnlyCustomization":5}`: false, `{"forceLoginMethod":"x"}`: false,
		`{"model":7}`: true, `{"model":"x"}`: false, `{"language":5}`: true, `{"$schema":5}`: true, `{"statusLine":{"type":"x"}}`: true,
		`{"statusLine":{"type":"command","command":"x"}}`: false, `{"sandbox":5}`: true, `{"attribution":5}`: true, `{"attribution":true}`: false,
		`{"spinnerTipsEnabled":"x"}`: true, `{"availableModels":5}`: true, `{"availableModels":[5]}`: true, `{"availableModels":["x"]}`: false,
		`{"plansDirectory":5}`: true, `{"fileSuggestion":5}`: true, `{"companyAnnouncements":5}`: true, `{"otelHeadersHelper":5}`: true,
		`{"agent":5}`: true, `{"worktree":5}`: true, `{"defaultShell":5}`: true, `{"autoUpdatesChannel":"weird"}`: true, `{"autoUpdatesChannel":"rc"}`: false,
		`{"pluginConfigs":5}`: true, `{"modelOverrides":5}`: true, `{"spinnerVerbs":5}`: true, `{"feedbackSurveyRate":5}`: true, `{"autoMode":5}`: true,
		`{"disableAutoMode":5}`: true, `{"sshConfigs":5}`: true, `{"remote":5}`: true, `{"allowManagedHooksOnly":5}`: true, `{"enabledMcpjsonServers":["a",5]}`: true,
		`{"disabledMcpjsonServers":null}`: true, `{"permissions":[]}`: true, `{"cleanupPeriodDays":"x"}`: true, `{"cleanupPeriodDays":30}`: false, `{"voiceEnabled":5}`: true, `{"feedbackSurveyRate":0.5}`: false,
	} {
		doc, err := jsonc.Parse([]byte(text), claudeJSON)
		if err != nil {
			t.Fatal(err)
		}
		if fault, _ := claudeSettingsFault(doc.Root()); (fault != "") != dropped {
			t.Errorf("%s: %q", text, fault)
		}
	}
}

// Entries that Claude Code 2.1.332 skips, and entries that it takes.
func TestClaudeEntryFaults(t *testing.T) {
	t.Parallel()
	for text, skipped := range map[string]bool{
		`"command":"x","timeout":1e3`: false, `"command":"x","timeout":1.0`: false, `"command":"x","timeout":1.5`: true, `"command":"x","timeout":99999999999999999999`: true,
		`"command":"x","oauth":5,"tools":5`: false, `"type":"ws","url":"ws://h","oauth":5`: false,
		`"type":"http","url":"u","oauth":{"clientId":5}`: true, `"type":"http","url":"u","oauth":{"callbackPort":0}`: true, `"type":"http","url":"u","oauth":{"callbackPort":1.5}`: true,
		`"type":"http","url":"u","oauth":{"authServerMetadataUrl":"http://x/"}`: true, `"type":"http","url":"u","oauth":{"authServerMetadataUrl":"https://x/"}`: false,
		`"type":"http","url":"u","oauth":{"scopes":["a"]}`: true, `"type":"http","url":"u","oauth":{"scopes":""}`: true, `"type":"http","url":"u","oauth":{"scopes":"a b","foo":5}`: false,
		`"type":"http","url":"u","oauth":{"xaa":5}`: true, `"type":"sse","url":"u","oauth":"x"`: true, `"type":"http","url":"u","tools":5`: true, `"type":"http","url":"u","tools":[{"name":5}]`: true,
		`"type":"http","url":"u","tools":[{"name":"a","permission_policy":"x"}]`: true, `"type":"http","url":"u","tools":[{"name":"a","permission_policy":"always_allow"}]`: false,
		`"type":"http","url":"u","toolPermissions":5`: true, `"type":"http","url":"u","toolPermissions":{"a":5}`: true, `"type":"http","url":"u","toolPermissions":{"a":"ask"}`: false,
	} {
		tr := layTree(t, map[string]string{mainClaude: `{"mcpServers":{"a":{` + text + `}}}`}, nil)
		if c := cellNamed(tr.column(claudeCode()), "a"); (c.State() == model.StateError) != skipped {
			t.Errorf("%s: %s", text, tr.describe(c))
		}
	}
}

// What a deny list with one pattern blocks on Claude Code 2.1.332.
func TestClaudeURLDenied(t *testing.T) {
	t.Parallel()
	const h = "http://localhost:9"
	for _, c := range []struct {
		pattern   string
		yes, nope []string
	}{
		{h + "/x", []string{h + "/x", h + "/x/", h + "/x?q=1", h + "/x#f", "HTTP://localhost:9/x", h + "/a/../x"}, []string{h + "/x/y", h + "/xy", h + "/X", h}},
		{h + "/x/", []string{h + "/x", h + "/x/"}, []string{h + "/x/y"}},
		{h + "/", []string{h, h + "/", h + "?q=1"}, []string{h + "/x"}},
		{h, []string{h, h + "/x"}, nil},
		{h + "/?", []string{h + "/x"}, nil},
		{h + "/.", []string{h + "/x", h + "/."}, nil},
		{"*", []string{h, "ws://localhost:9", "no url"}, nil},
		{h + "/*", []string{h, h + "/", h + "/x/y", "http://u:p@localhost:9/x", "http://localhost.:9/x", "http://LOCALHOST:9/x"}, []string{"http://localhost:9@evil/x"}},
		{h + "/a/*/c", []string{h + "/a/b/c", h + "/a/b/b/c", h + "/a//c"}, []string{h + "/a/c"}},
		{h + "/a*", []string{h + "/a", h + "/ab", h + "/a/b"}, []string{h + "/b"}},
		{"http://*.localhost:9/*", []string{"http://a.localhost:9/x", "http://a.b.localhost:9/x"}, []string{h + "/x", "http://evil/.localhost:9/x", "http://evil:9/?.localhost:9/x"}},
		{"http://*localhost:9/*", []string{"http://alocalhost:9/x", h + "/x"}, nil},
		{"http://*/x", []string{h + "/x", "http://localhost/x"}, []string{"https://localhost/x"}},
		{"*://localhost:9/x", []string{h + "/x", "https://localhost:9/x"}, []string{h + "/y"}},
		{"http://localhost:*/x", []string{h + "/x", "http://localhost:80/x", "http://localhost/x"}, nil},
		{"http://localhost/*", []string{"http://localhost/x", "http://localhost:80/x"}, []string{h + "/x"}},
		{"https://localhost:443/*", []string{"https://localhost/x", "https://localhost:443/x"}, nil},
		{h + "/x?a=1", []string{h + "/x?a=1"}, []string{h + "/x?a=2", h + "/x"}},
		{h + "/x?a=*", []string{h + "/x?a=1"}, []string{h + "/x?b=2", h + "/x"}},
		{"localhost:9/*", nil, []string{h + "/x"}},
		{"localhost", nil, []string{h + "/x", "http://localhost/x"}},
		{h + "/a b", []string{h + "/a%20b", h + "/a b"}, nil},
		{h + "/%41", []string{h + "/%41"}, []string{h + "/A"}},
		{"http://[bad", nil, []string{h + "/x"}},
	} {
		for _, u := range c.yes {
			if !claudeURLDenied(u, c.pattern) {
				t.Errorf("%s does not deny %s", c.pattern, u)
			}
		}
		for _, u := range c.nope {
			if claudeURLDenied(u, c.pattern) {
				t.Errorf("%s denies %s", c.pattern, u)
			}
		}
	}
}
