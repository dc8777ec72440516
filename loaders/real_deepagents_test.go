package loaders_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"fusebox/loaders"
	"fusebox/model"
)

// deepHome is a home in which every way that is offered for every server is tried.
type deepHome struct {
	name   string
	files  map[string]string // ~/ home, ./ project, / machine-wide; @HOME@ and @PROJECT@ are filled in; "-> " starts a link
	vars   map[string]string
	git    bool     // the project is a repository, ~/tree a worktree of it, ~/clone a clone
	from   string   // the session's folder, "." where it is not set
	also   []string // other folders in which the real code is asked
	broken bool     // the real code loads nothing at all
	none   bool     // nothing is offered
	quiet  bool     // the real code may neither load nor ask: it asks about another folder than the one that it looks up
}

const deepConfigText = `# mine
model = "x" # the one I use

[mcp]
# off for now
disabled_servers = [
  "gone", # it was slow
]

[ui]
theme = "dark"   # at night

# approvals stand below
[[mcp.enabled_project_server_approvals]]
project_root = "@HOME@/other" # another one
name = "loc"
fingerprint = "sha256:0000"
`

func deepHomes() []deepHome {
	const (
		user     = "~/.deepagents/.mcp.json"
		config   = "~/.deepagents/config.toml"
		below    = "./.deepagents/.mcp.json"
		project  = "./.mcp.json"
		managed  = "/etc/dcode/managed_config.toml"
		x        = `{"command": "x"}`
		remote   = `{"type": "http", "url": "https://docs.example.test/mcp"}`
		own      = `{"mcpServers": {"mine": ` + x + `, "both": {"command": "x", "args": ["user"]}, "web": ` + remote + `}}`
		ours     = `{"mcpServers": {"loc": ` + x + `, "both": {"command": "x", "args": ["project"]}, "rem": ` + remote + `, "key": {"url": "https://docs.example.test/mcp", "headers": {"X": "${SET}"}}, "host": {"url": "https://${SET}/mcp"}}}`
		allow    = "DEEPAGENTS_CODE_DANGEROUSLY_ENABLE_PROJECT_MCP_SERVERS"
		deny     = "DEEPAGENTS_CODE_DISABLED_PROJECT_MCP_SERVERS"
		plugins  = "~/.deepagents/.state/plugin_state.json"
		unpacked = "~/.deepagents/.state/installed_plugins.json"
	)
	set := map[string]string{"SET": "v"}
	row := func(root, name, print, more string) string {
		return fmt.Sprintf("[[mcp.enabled_project_server_approvals]]\nproject_root = %q # of %s\nname = %q\nfingerprint = %q\n%s\n", root, name, name, print, more)
	}
	const ( // of x and of remote
		printX      = "sha256:cf35b664f0e85cbf24dfda38ea6991fa01d9d315e402baacd2c02f2e92d0947a"
		printRemote = "sha256:9ad399d4c7784c963dc975a536f19e5ce6ed45b8a88b9772a7756f943bf606a3"
	)
	return []deepHome{
		{name: "the user's file", files: map[string]string{user: own}},
		{name: "the project's file", files: map[string]string{project: ours}, vars: set},
		{name: "both files of a project", files: map[string]string{project: ours, below: `{"mcpServers": {"loc": {"command": "x", "args": ["below"]}, "low": ` + x + `}}`, config: deepConfigText}, vars: set},
		{name: "user and project", files: map[string]string{user: own, project: ours, config: deepConfigText}, vars: set},
		{name: "user and project, off", files: map[string]string{user: own, project: ours, config: "[mcp]\ndisabled_servers = ['both', 'loc']\n"}, vars: set},
		{name: "a repository", git: true, files: map[string]string{user: own, project: ours, config: deepConfigText}, vars: set, also: []string{"~/tree", "~/clone"}},
		{name: "a worktree", git: true, from: "~/tree", files: map[string]string{project: ours}, vars: set, also: []string{".", "~/clone"}},
		{name: "below a repository", git: true, from: "sub", files: map[string]string{project: ours, "./sub/.mcp.json": own, "./sub/x": ""}, vars: set, also: []string{".", "~/tree"}},
		{name: "by way of a link", git: true, from: "~/way", files: map[string]string{project: ours, "~/way": "-> @PROJECT@"}, vars: set, also: []string{"."}},
		{name: "rejected", files: map[string]string{user: own, project: ours, config: "[mcp]\n# no\ndisabled_project_servers = [\"loc\", 'both', \"mine\"] # never\n"}, vars: set},
		{name: "rejected in a text", files: map[string]string{project: ours, config: "mcp.disabled_project_servers = \"loc, rem\" # never\n"}, vars: set},
		{name: "the older list", files: map[string]string{user: own, project: ours, config: "# old\n[mcp_disabled]\nservers = [\"mine\", \"web\"] # two\n"}, vars: set},
		{name: "both lists", files: map[string]string{user: own, config: "[mcp]\ndisabled_servers = []\n[mcp_disabled]\nservers = ['mine']\n"}},
		{name: "lists that are none", files: map[string]string{user: own, config: "[mcp]\ndisabled_servers = 'mine'\n[mcp_disabled]\nservers = ['web']\n"}},
		{name: "dotted keys", files: map[string]string{user: own, project: ours, config: "mcp.disabled_servers = ['mine']\nui.theme = 'dark' # d\n"}, vars: set},
		{name: "inline tables", files: map[string]string{user: own, project: ours, config: "mcp = { disabled_servers = ['mine'], x = 1 } # short\n[ui]\n"}, vars: set},
		{name: "rows in one line", git: true, files: map[string]string{project: ours, config: "[mcp] # one\nenabled_project_server_approvals = [ # rows\n  {project_root = '@HOME@/other', name = 'loc', fingerprint = 'f'}, # other\n]\n"}, vars: set},
		{name: "lines of Windows", files: map[string]string{user: own, project: ours, config: "# mine\r\n[mcp]\r\ndisabled_servers = [\r\n  'mine', # a\r\n]\r\n[ui]\r\n"}, vars: set},
		{name: "without a last line end", files: map[string]string{user: own, project: ours, config: "[mcp]\ndisabled_servers = ['mine'] # a"}, vars: set},
		{name: "an empty config.toml", files: map[string]string{user: own, project: ours, config: ""}, vars: set},
		{name: "tables below mcp", files: map[string]string{user: own, project: ours, config: "[mcp.other] # o\na = 1\n\n[mcp_x]\nb = 2 # b\n"}, vars: set},
		{name: "names twice", files: map[string]string{user: own, project: ours, config: "[mcp]\ndisabled_servers = ['mine', 'mine', '', 5, ' web']\ndisabled_project_servers = [' loc ', 'loc', 'rem']\nenabled_project_servers = ['loc', 'rem'] # old\n"}, vars: set},
		{name: "broken rows", files: map[string]string{project: ours, config: "[[mcp.enabled_project_server_approvals]]\nname = 'loc' # no root\n[[mcp.enabled_project_server_approvals]]\nproject_root = '@PROJECT@'\nname = 'loc'\nfingerprint = 'sha256:changed' # was\n"}, vars: set},
		{name: "an entry of every kind", git: true, files: map[string]string{project: `{"mcpServers": {
			"u": {"command": "x", "args": ["é", "\u00e9\ud83d\ude00", "a\tb\\\"\u007f\u0001\u2028<&>"], "env": {"Z": "1", "é": "", "A": "2"}},
			"n": {"command": "x", "n": [1, 1.0, 1.50, 1e21, 1E5, -0, -0.0, 1e16, 1e-5, 0.0001, 12345678901234567890123, true, null, {}], "o": {"b": {"d": 1, "c": 2}, "a": []}},
			"t": {"command": "y", "args": ["first"], "args": ["last"], "command": "x"},
			"h": {"transport": "streamable-http", "url": "https://h.example.test/", "allowedTools": ["a*"]},
			"s": {"type": "sse", "url": "https://h.example.test/sse", "disabledTools": ["b"]},
			"-1_": {"type": "", "url": "https://h.example.test/", "timeout": 5}}}`}},
		{name: "entries that cannot load", files: map[string]string{project: `{"mcpServers": {"bad": {"url": "https://h.example.test/", "command": "x"}, "no-program": {"command": "nowhere-to-be-found"}, "unset": {"command": "x", "args": ["${NOT_SET_AT_ALL}"]}, "loc": ` + x + `}}`, user: `{"mcpServers": {"loc": ` + x + `, "no-program": ` + x + `}}`}},
		{name: "sign-ins", files: map[string]string{user: `{"mcpServers": {"web": {"url": "https://docs.example.test/mcp", "auth": "oauth"}}}`, project: `{"mcpServers": {"rem": {"url": "https://docs.example.test/mcp", "auth": "oauth"}}}`}},
		{name: "a broken user's file", files: map[string]string{user: `{"mcpServers": {"mine": ` + x + `, "a b": ` + x + `}}`, project: ours}, vars: set},
		{name: "a user's file elsewhere", quiet: true, files: map[string]string{user: "-> @HOME@/dotfiles/mcp.json", "~/dotfiles/mcp.json": own, project: ours}, vars: set},
		{name: "config.toml elsewhere", files: map[string]string{user: own, project: ours, config: "-> @HOME@/dotfiles/config.toml", "~/dotfiles/config.toml": deepConfigText}, vars: set},
		{name: "a project's file at home", files: map[string]string{user: own, project: "-> @HOME@/.deepagents/.mcp.json"}},
		{name: "the home is a repository", from: "~", files: map[string]string{user: own, "~/.git/HEAD": "x", "~/.mcp.json": ours}, vars: set, also: []string{"."}},
		{name: "named in the environment", files: map[string]string{user: own, project: ours}, vars: map[string]string{"SET": "v", allow: "loc, both", deny: "rem"}},
		{name: "named in the user's .env", files: map[string]string{project: ours, "~/.deepagents/.env": allow + "=loc\n" + deny + "=rem\n"}, vars: set},
		{name: "named in the project's .env", files: map[string]string{project: ours, "./.env": allow + "=loc\nSET=v\n"}},
		{name: "an administrator's switches", files: map[string]string{user: own, project: ours, managed: "[mcp]\ndisabled_servers = ['mine']\ndisabled_project_servers = ['loc']\n"}, vars: set},
		{name: "an administrator's approvals", files: map[string]string{user: own, project: ours, managed: "[mcp]\nenabled_project_server_approvals = []\n"}, vars: map[string]string{"SET": "v", allow: "loc"}},
		{name: "plugins", files: map[string]string{user: own, project: ours,
			plugins: `{"version": 1, "enabledPlugins": {"p@m": true}}`, unpacked: `{"version": 2, "plugins": {"p@m": [{"installPath": "@HOME@/.deepagents/plugins/cache/m/p/1", "version": "1"}]}}`,
			"~/.deepagents/plugins/cache/m/p/1/plugin.json": `{"name": "p"}`, "~/.deepagents/plugins/cache/m/p/1/.mcp.json": `{"mcpServers": {"a": ` + x + `, "b": ` + remote + `}}`}, vars: set},
		{name: "approved", files: map[string]string{user: own, project: ours, config: deepConfigText + row("@PROJECT@", "loc", printX, "") + row("@PROJECT@", "rem", printRemote, "git_common_dir = false\n") + row("@HOME@/tree", "loc", printX, "")}, vars: set},
		{name: "approved in a repository", git: true, files: map[string]string{project: ours, config: row("@PROJECT@", "rem", printRemote, "") + row("@PROJECT@/.git", "rem", printRemote, "git_common_dir = true # of all\n") + row("@PROJECT@", "loc", printX, "") + row("@PROJECT@/.git", "loc", printX, "git_common_dir = true\n") + row("@HOME@/tree", "loc", printX, "")}, vars: set, also: []string{"~/tree", "~/clone"}},
		{name: "approved for one worktree", git: true, from: "~/tree", files: map[string]string{project: ours, config: row("@PROJECT@", "loc", printX, "") + row("@HOME@/tree/", "rem", printRemote, "")}, vars: set, also: []string{".", "~/clone"}},
		{name: "approved in other words", files: map[string]string{user: own, project: ours, config: row("~/project/", " loc", " "+printX+" ", "why = 'mine'\n") + row("~/project/../project", "loc", printX, "") + row(".", "rem", printRemote, "")}, vars: set},
		{name: "approved and dated", files: map[string]string{project: ours, config: row("@PROJECT@", "loc", printX, "when = 2026-01-02T03:04:05Z\nhow = 1.5\n") + row("~", "rem", printRemote, "") + row("@PROJECT@", "rem", printRemote, "a = [1, {b = true}]\n")}, vars: set},
		{name: "approved and off", files: map[string]string{user: own, project: ours, config: "[mcp]\ndisabled_servers = ['loc', 'rem']\n" + row("@PROJECT@", "loc", printX, "") + "[ui]\n" + row("@PROJECT@", "rem", printRemote, "")}, vars: set},
		{name: "approved by an administrator", files: map[string]string{project: ours, config: row("@PROJECT@", "rem", printRemote, ""), managed: row("@PROJECT@", "loc", printX, "")}, vars: set},
		{name: "the table behind its rows", files: map[string]string{user: own, project: ours, config: row("@PROJECT@", "loc", printX, "") + "[mcp] # t\ndisabled_servers = ['mine']\n"}, vars: set},
		{name: "keys in quotes", files: map[string]string{user: own, project: ours, config: "'mcp'.\"disabled_servers\" = [\n  'mine' # m\n  , 'web']\n[[ \"mcp\" . enabled_project_server_approvals ]]\nproject_root = '@PROJECT@'\nname = 'loc'\nfingerprint = '" + printX + "' # of loc\n"}, vars: set},
		{name: "texts like tables", files: map[string]string{user: own, project: ours, config: "a = '''\n[mcp]\ndisabled_servers = ['web']\n'''\n[[mcp.enabled_project_server_approvals]]\nname = \"\"\"\n[mcp]\"\"\" # t\n"}, vars: set},
		{name: "an odd folder", from: "~/o'dd \"ü\\\x7f\t x", files: map[string]string{user: own, "~/o'dd \"ü\\\x7f\t x/.mcp.json": ours, config: deepConfigText}, vars: set},
		{name: "a broken config.toml", none: true, files: map[string]string{user: own, project: ours, config: "[mcp\n"}, vars: set},
		{name: "mcp is no table", none: true, files: map[string]string{user: own, project: ours, config: "mcp = 5\n"}, vars: set},
		{name: "a wrong list of rejections", none: true, files: map[string]string{user: own, project: ours, config: "[mcp]\ndisabled_project_servers = 5\n"}, vars: set},
		{name: "a number among the arguments", broken: true, none: true, files: map[string]string{user: own, project: `{"mcpServers": {"loc": {"command": "x", "args": [1]}}}`}},
	}
}

// TestDeepagentsAgainstRealCode does in throwaway homes what options say, and the way back, and asks the real code about all
// servers before, after each step and at last. FUSEBOX_ORACLE_DEEPAGENTS names a program that runs the loading code of
// deepagents-code 0.1.59: PROGRAM PROJECT [off|on|approve SERVER], with HOME, and with ROOT for the folder that stands for /.
// It does what it is told as deepagents does, and prints {"fatal": ..., "servers": [{"name", "scope", "state"}]}.
func TestDeepagentsAgainstRealCode(t *testing.T) {
	program := os.Getenv("FUSEBOX_ORACLE_DEEPAGENTS")
	if program == "" || runtime.GOOS == "windows" {
		t.Skip("FUSEBOX_ORACLE_DEEPAGENTS names no program that runs the real code")
	}
	for _, home := range deepHomes() {
		t.Run(home.name, func(t *testing.T) {
			s := layDeep(t, program, home)
			start := s.compare(t, "at first")
			if s.broken != home.broken {
				t.Errorf("loads nothing: %t", s.broken)
			}
			var tried int
			for _, step := range s.offered() {
				tried++
				s = layDeep(t, program, home)
				s.do(t, step)
				after := s.compare(t, step.String())
				s.keeps(t, home, step)
				back := step
				back.wish = map[loaders.Wish]loaders.Wish{loaders.WishOff: loaders.WishOn, loaders.WishOn: loaders.WishOff, loaders.WishApprove: loaders.WishRevoke, loaders.WishRevoke: loaders.WishApprove}[step.wish]
				end := "no way back"
				if s.can(back) {
					s.do(t, back)
					end = s.compare(t, step.String()+" and back")
					s.keeps(t, home, back)
				}
				hand := s.byHand(t, home, step, back)
				t.Logf("%-34s %s\n  before %s\n  after  %s\n  back   %s\n  hand   %s", step, home.name, start, after, end, hand)
			}
			if (tried == 0) != home.none {
				t.Errorf("%d ways are offered", tried)
			}
		})
	}
}

// deepScene is a home and a project.
type deepScene struct {
	program, home, project, root string
	places                       []string // the session's folder first
	vars                         map[string]string
	harness                      loaders.Harness
	broken, quiet                bool
}

func layDeep(t *testing.T, program string, home deepHome) *deepScene {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	picked, _ := loaders.Select(loaders.All(), []string{"deepagents"})
	s := &deepScene{program: program, home: filepath.Join(base, "home"), project: filepath.Join(base, "home", "project"), root: filepath.Join(base, "root"), harness: picked[0], quiet: home.quiet}
	for _, dir := range []string{s.project, s.root} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	names := slices.Sorted(maps.Keys(home.files))
	for _, name := range names {
		s.write(t, s.path(name), home.files[name], 0o600)
	}
	bin := filepath.Join(s.home, "bin")
	s.write(t, filepath.Join(bin, "x"), "#!/bin/sh\n", 0o700)
	s.vars = map[string]string{"HOME": s.home, "PATH": bin + ":/usr/bin:/bin", "LANG": "C.UTF-8"}
	maps.Copy(s.vars, home.vars)
	if home.git {
		for _, args := range [][]string{{"init", "-q"}, {"add", "-A"}, {"-c", "user.name=n", "-c", "user.email=e", "commit", "-q", "--allow-empty", "-m", "m"},
			{"worktree", "add", "-q", filepath.Join(s.home, "tree")}, {"clone", "-q", s.project, filepath.Join(s.home, "clone")}} {
			cmd := exec.Command("git", args...)
			cmd.Dir, cmd.Env = s.project, append(os.Environ(), "HOME="+s.home, "GIT_CONFIG_NOSYSTEM=1")
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("git %q: %v: %s", args, err, out)
			}
		}
	}
	for _, place := range append([]string{cmp.Or(home.from, ".")}, home.also...) {
		s.places = append(s.places, s.path(place))
	}
	return s
}

func (s *deepScene) path(name string) string {
	switch {
	case strings.HasPrefix(name, "/"):
		return filepath.Join(s.root, name)
	case name == "~" || strings.HasPrefix(name, "~/"):
		return filepath.Join(s.home, name[1:])
	}
	return filepath.Join(s.project, name)
}

func (s *deepScene) fill(text string) string {
	return strings.NewReplacer("@HOME@", s.home, "@PROJECT@", s.project).Replace(text)
}

func (s *deepScene) write(t *testing.T, path, text string, mode os.FileMode) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	var err error
	if target, link := strings.CutPrefix(s.fill(text), "-> "); link {
		err = os.Symlink(target, path)
	} else {
		err = os.WriteFile(path, []byte(s.fill(text)), mode)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func (s *deepScene) board(place string) *loaders.Switchboard {
	return loaders.NewSwitchboard(&loaders.Env{Root: s.root, Home: s.home, Project: place, GOOS: runtime.GOOS, Vars: s.vars, UID: os.Getuid(), Now: time.Now}, s.harness)
}

// offered lists every way that can be taken in the session's folder and writes something.
func (s *deepScene) offered() []askedStep {
	var out []askedStep
	b := s.board(s.places[0])
	for _, c := range b.Column().Cells {
		for _, wish := range []loaders.Wish{loaders.WishOff, loaders.WishOn, loaders.WishApprove, loaders.WishRevoke} {
			for _, o := range b.Ask(c, wish).Options {
				if o.Unavailable == "" && o.Plan() != nil {
					out = append(out, askedStep{c.Name, wish, o.Reach, o.TrustsFolder})
				}
			}
		}
	}
	return out
}

func (s *deepScene) option(step askedStep) *loaders.Option {
	b := s.board(s.places[0])
	cell := b.Cell(step.server)
	if cell == nil {
		return nil
	}
	options := b.Ask(cell, step.wish).Options
	var found *loaders.Option
	for i, o := range options {
		if o.Unavailable == "" && o.Plan() != nil && (o.Reach == step.reach || found == nil) {
			found = &options[i]
		}
	}
	return found
}

func (s *deepScene) can(step askedStep) bool { return s.option(step) != nil }

func (s *deepScene) do(t *testing.T, step askedStep) {
	t.Helper()
	o := s.option(step)
	if o == nil {
		t.Fatalf("%s: not offered", step)
	}
	if applied := o.Plan().Apply(nil, ""); applied.Err != nil {
		t.Fatalf("%s: %v", step, applied.Err)
	}
}

// byHand does a step and its way back, one of them by the real code and the other by an option, both ways around.
func (s *deepScene) byHand(t *testing.T, home deepHome, step, back askedStep) string {
	t.Helper()
	verb := map[loaders.Wish]string{loaders.WishOff: "off", loaders.WishOn: "on", loaders.WishApprove: "approve"}
	var told []string
	if first := verb[step.wish]; first != "" {
		s := layDeep(t, s.program, home)
		s.ask(t, s.places[0], first, step.server)
		what := "dcode " + first
		told = append(told, what+": "+s.compare(t, what+" "+step.server))
		if s.can(back) {
			s.do(t, back)
			what += ", back"
			told = append(told, what+": "+s.compare(t, what+" "+step.server))
		}
	}
	if second := verb[back.wish]; second != "" {
		s := layDeep(t, s.program, home)
		s.do(t, step)
		s.ask(t, s.places[0], second, step.server)
		what := step.String() + ", dcode " + second
		told = append(told, what+": "+s.compare(t, what))
	}
	return strings.Join(told, "\n         ")
}

// keeps looks whether every comment of config.toml is still there. What starts with "of" stands in a row, and goes with it.
func (s *deepScene) keeps(t *testing.T, home deepHome, step askedStep) {
	t.Helper()
	for name, text := range home.files {
		if filepath.Ext(name) != ".toml" {
			continue
		}
		now, err := os.ReadFile(s.path(name))
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(s.fill(text)) {
			if _, comment, has := strings.Cut(line, "#"); has && !strings.HasPrefix(comment, " of ") && !strings.Contains(string(now), strings.TrimSpace(comment)) {
				t.Errorf("%s: the comment %q is gone:\n%s", step, strings.TrimSpace(comment), now)
			}
		}
	}
}

type deepAnswer struct {
	Fatal   any
	Servers []struct{ Name, Scope, State string }
}

func (s *deepScene) ask(t *testing.T, args ...string) (answer deepAnswer) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, s.program, args...)
	cmd.Dir = args[0]
	cmd.Env = []string{"ROOT=" + s.root}
	for name, value := range s.vars {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	out, err := cmd.Output()
	if err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			t.Fatalf("%q: %v: %s", args, err, exit.Stderr)
		}
		t.Fatal(err)
	}
	if err := json.Unmarshal(out, &answer); err != nil {
		t.Fatal(err)
	}
	return answer
}

// compare asks the real code in every folder about all servers, holds the cells to its answer, and tells the answer.
func (s *deepScene) compare(t *testing.T, done string) string {
	t.Helper()
	states := map[string]model.State{"loads": model.StateConfigured, "pending_approval": model.StateUnapproved, "disabled": model.StateDisabled,
		"error": model.StateError, "unauthenticated": model.StateUnauthenticated}
	var told []string
	for i, place := range s.places {
		answer := s.ask(t, place)
		col := s.board(place).Column()
		if broken := answer.Fatal != nil; broken != (col.Broken != nil) {
			t.Errorf("%s, in %s: the real code loads nothing: %t (%v), here %+v", done, place, broken, answer.Fatal, col.Broken)
		} else if i == 0 {
			s.broken = broken
		}
		real := map[string][]string{}
		for _, x := range answer.Servers {
			if !strings.HasPrefix(x.Name, "<config:") {
				real[x.Name] = append(real[x.Name], fmt.Sprint(x.Scope, " ", states[x.State]))
			}
		}
		var said []string
		for _, c := range col.Cells {
			ours := []string{fmt.Sprint(c.Scope, " ", c.State())}
			for _, p := range c.Pending {
				ours = append(ours, fmt.Sprint(p.Scope, " ", p.State))
			}
			theirs := real[c.Name]
			delete(real, c.Name)
			said = append(said, c.Name+": "+cmp.Or(strings.Join(theirs, ", "), "no row"))
			for _, x := range theirs {
				if !slices.Contains(ours, x) {
					t.Errorf("%s, in %s: %s: the real code says %q, here %q (%s)", done, place, c.Name, theirs, ours, c.Reason.Text)
				}
			}
			for _, x := range ours { // what has no row there cannot load, or was dropped
				quiet := s.quiet && len(theirs) == 0 && strings.HasSuffix(x, model.StateUnapproved.String())
				if !slices.Contains(theirs, x) && !strings.HasSuffix(x, model.StateError.String()) && !quiet {
					t.Errorf("%s, in %s: %s: here %q (%s), the real code says %q", done, place, c.Name, ours, c.Reason.Text, theirs)
				}
			}
			if len(theirs) > 0 && answer.Fatal == nil && theirs[0] != ours[0] {
				t.Errorf("%s, in %s: %s: the real code says first %q, here %q", done, place, c.Name, theirs, ours)
			}
		}
		for name, theirs := range real {
			t.Errorf("%s, in %s: %s is not here, the real code says %q", done, place, name, theirs)
		}
		told = append(told, strings.Join(said, "; "))
	}
	return strings.Join(told, " || ")
}
