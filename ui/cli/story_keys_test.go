package cli

import (
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"fusebox/loaders/githistory/gittest"
	"fusebox/watch/sessions"
)

// The stories in which keys write and launch: keys in, screen and files out.

// agreeing waits for a question with these texts in it, reads it to its end and says yes.
func (p *screen) agreeing(texts ...string) {
	p.t.Helper()
	p.waitFor(append([]string{"[ No ]"}, texts...)...)
	p.keys("G", "y")
}

// refusing waits for a question with these texts in it and says no with the focused button.
func (p *screen) refusing(texts ...string) {
	p.t.Helper()
	p.waitFor(append([]string{"[ No ]"}, texts...)...)
	p.keys("enter")
	p.lacks("[ No ]")
}

// TestStory1ApproveAndTry: a approves and shows the diff; the server loads, x shows what it offers. Nothing is written or
// started without a yes.
func TestStory1ApproveAndTry(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	trust := `{"projects": {` + jsonText(s.project) + `: {"hasTrustDialogAccepted": true}}}`
	s.write("~/.claude.json", trust)
	s.write(".mcp.json", "{\"mcpServers\": {\n  \"docs\": "+s.server("docs", serverScript{}).json()+"\n}}")
	p := s.open("claude-code")
	p.shows("▌ docs [? approve]", "nothing in the repository can approve it", "where .mcp.json:2")

	p.keys("a")
	p.refusing("Let Claude Code start docs from this repository?", ".mcp.json:2", "writes .claude/settings.local.json a new file", `+ "docs"`, "lets in docs, and later changes of it")
	if _, err := os.Stat(s.path(".claude")); err == nil {
		t.Fatal("No wrote something")
	}
	p.keys("a")
	p.agreeing("Let Claude Code start docs from this repository?")
	p.waitFor("docs in Claude Code ○ would load", "✓ docs is approved in Claude Code wrote .claude/settings.local.json", "u undo", "1 of 1")
	if got := s.read(".claude/settings.local.json"); got != "{\n  \"enabledMcpjsonServers\": [\n    \"docs\"\n  ]\n}\n" {
		t.Errorf("written: %q", got)
	}
	if got := s.read("~/.claude.json"); got != trust {
		t.Errorf("Claude Code's own file is %q", got)
	}

	p.keys("x")
	p.refusing("Start docs as Claude Code would?", "a file of the repository", "would run", "in ~/shop", "gets your whole environment, and FUSEBOX_TEST_SERVER", "from .mcp.json:2")
	p.settle(sometime)
	if got, _ := s.starts(); len(got) > 0 {
		t.Fatal("No started it")
	}
	p.keys("x")
	p.agreeing("Start docs as Claude Code would?")
	p.waitFor("docs [● 2 ]", "loaded, 2 tools")

	// u takes it back: it waits again, and the file that was made is gone.
	p.keys("u")
	p.agreeing("Take back: docs approved in Claude Code?", "writes .claude/settings.local.json")
	p.waitFor("docs [? approve]", "taken back")
	if _, err := os.Stat(s.path(".claude/settings.local.json")); err == nil {
		t.Error("the file is still there")
	}
}

// TestStory1WithoutTrust: the approval is written, and both the question and the message say what is missing; trusting says
// what it lets in and asks a second time.
func TestStory1WithoutTrust(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.write("~/.claude.json", `{}`)
	s.write(".mcp.json", "{\"mcpServers\": {\n  \"docs\": "+s.server("docs", serverScript{}).json()+"\n}}")
	p := s.open("claude-code")
	p.keys("a")
	p.agreeing("missing approved, waiting for trust: start claude once in this folder")
	p.waitFor("docs is approved in Claude Code", "approved, waiting for trust: start claude once in this folder", "docs [? trust ]", "folder not trusted", "0 of 1")
	if got := s.read(".claude/settings.local.json"); !strings.Contains(got, `"docs"`) {
		t.Errorf("written: %q", got)
	}
	p.keys("a")
	p.agreeing("this folder, and trust all of it") // the choice is on what is so already
	p.waitFor("was so already, nothing was written")
	p.keys("a")
	p.waitFor("this folder, and trust all of it")
	p.keys("j", "j", " ")
	p.waitFor("lets in", "trust")
	p.keys("G", "y")
	p.refusing("Trust the whole folder ~/shop?", "then trusts everything in it")
	if got := s.read("~/.claude.json"); got != `{}` {
		t.Fatalf("No trusted the folder: %s", got)
	}
	p.keys("a")
	p.waitFor("this folder, and trust all of it")
	p.keys("j", "j", " ", "G", "y")
	p.agreeing("Trust the whole folder ~/shop?")
	p.waitFor("docs in Claude Code ○ would load", "1 of 1")
	if got := s.read("~/.claude.json"); !strings.Contains(got, "hasTrustDialogAccepted") {
		t.Errorf("written: %s", got)
	}
}

// TestStory1WithASessionOpen: a Claude Code that was open before still has the old state; the pane names it and says what to
// do. When it is gone the cell is as the files say.
func TestStory1WithASessionOpen(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	var gone atomic.Bool
	since := time.Now().Add(-time.Hour)
	s.sessions = func() []sessions.Session {
		if gone.Load() {
			return nil
		}
		return []sessions.Session{{Harness: "claude-code", PID: 4711, Since: since, Cwd: s.project}}
	}
	s.write("~/.claude.json", `{"projects": {`+jsonText(s.project)+`: {"hasTrustDialogAccepted": true}}}`)
	s.write(".mcp.json", `{"mcpServers": {"docs": `+s.server("docs", serverScript{}).json()+`}}`)
	p := s.open("claude-code")
	p.settle(sometime) // the sessions are found
	p.keys("a")
	p.agreeing("then Claude Code pid 4711 in this folder keeps it as it is")
	p.waitFor("docs [↻ reload ]", "pid 4711 since "+since.Format("15:04"), "/mcp")
	gone.Store(true)
	p.waitFor("docs [○ ]", "would load")
	p.lacks("4711", "reload")
}

// TestStory2OffEverywhere: launched, sorted by tokens, the whole row switched off in one step, and all of it brought back.
func TestStory2OffEverywhere(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	var tools []toolScript
	for _, name := range []string{"navigate", "click", "type", "screenshot"} {
		tools = append(tools, toolScript{name, "Do this in the browser, and wait until the page has settled. " + strings.Repeat("It can be told how, in many ways. ", 200)})
	}
	docs, playwright := s.server("docs", serverScript{}), s.server("playwright", serverScript{Tools: tools})
	s.write("~/.claude.json", "{\n  \"mcpServers\": {\n    \"docs\": "+docs.json()+",\n    \"playwright\": "+playwright.json()+"\n  }\n}\n")
	s.write("~/.codex/config.toml", docs.toml("docs")+"# the browser\n"+playwright.toml("playwright"))
	s.write("~/.gemini/settings.json", `{"security": {"folderTrust": {"enabled": false}}, "mcpServers": {"docs": `+docs.json()+`, "playwright": `+playwright.json()+`}}`)
	s.write("~/.config/opencode/opencode.json", `{"mcp": {"docs": `+docs.openCode()+`, "playwright": `+playwright.openCode()+`}}`)
	files := []string{"~/.claude.json", "~/.codex/config.toml", "~/.gemini/settings.json", "~/.config/opencode/opencode.json"}
	before := map[string]string{}
	for _, f := range files {
		before[f] = s.read(f)
	}
	p := s.open("claude-code", "codex", "gemini", "opencode")
	p.shows("▌ docs [○ ] ○ ○ ○", "playwright ○ ○ ○ ○")

	p.keys("X")
	p.agreeing("Start or reach 2 servers?", "smallest environment", "docs", "playwright")
	p.waitFor("● 2 ] ", "● 4 *● 4 *● 4 *● 4")
	started, _ := s.starts()
	slices.Sort(started)
	if !slices.Equal(started, []string{"docs", "playwright"}) {
		t.Errorf("started %q", started)
	}

	p.keys("s")
	for !strings.Contains(p.frame, "sort: tokens") {
		p.keys("s")
	}
	p.keys("g", "h")
	p.waitFor("server 2 of 2 2 of 2 2 of 2 2 of 2\n\n▌[playwright]")
	p.shows("● 6.", "playwright row")
	p.keys(" ")
	p.agreeing("Switch playwright off in every harness?", "4 files would change; one undo step", "✓ Claude Code ~/.claude.json this folder", "✓ Codex ~/.codex/config.toml every folder",
		"✓ Gemini CLI", "✓ OpenCode")
	// The files are seen to change one by one while the step is still being written.
	p.waitFor("[playwright] *– off *– off *– off *– off", "1 of 2 1 of 2 1 of 2 1 of 2", "4 changes written", "u undo")
	if got := s.read("~/.codex/config.toml"); got != strings.Replace(before["~/.codex/config.toml"], "args = [\"playwright\"]\n", "args = [\"playwright\"]\nenabled = false\n", 1) {
		t.Errorf("Codex's file: %s", got)
	}
	for f, want := range map[string]string{"~/.claude.json": `"disabledMcpServers"`, "~/.gemini/mcp-server-enablement.json": `"playwright"`, "~/.config/opencode/opencode.json": `"enabled": false`} {
		if got := s.read(f); !strings.Contains(got, want) {
			t.Errorf("%s: %s", f, got)
		}
	}

	p.keys("u")
	p.agreeing("Take back: playwright off in 4 harnesses?", "writes ~/.claude.json", "writes ~/.codex/config.toml")
	p.waitFor("2 of 2 2 of 2 2 of 2 2 of 2", "[playwright] *● 6.")
	for _, f := range files {
		if got := s.read(f); got != before[f] {
			t.Errorf("%s is not as before: %s", f, got)
		}
	}
	if _, err := os.Stat(s.path("~/.gemini/mcp-server-enablement.json")); err == nil {
		t.Error("Gemini's list, which was made, is still there")
	}
	p.keys("u")
	p.waitFor("there is nothing to take back")
}

// TestStory3AFingerprintThatFitsNoMore: approved, then changed by somebody: it waits again, the pane shows what it was and
// what it is; approving again asks with both. Where the old text was not seen the pane says so.
func TestStory3AFingerprintThatFitsNoMore(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.write("~/.cursor/mcp.json", `{"mcpServers": {}}`)
	s.write(".cursor/mcp.json", `{"mcpServers": {"docs": {"command": "docs-server", "args": ["--root", "docs"]}}}`)
	p := s.open("cursor-cli")
	p.shows("docs [? approve]")
	p.keys("a")
	p.agreeing("Let Cursor CLI start docs from this repository?", "would run docs-server --root docs")
	p.waitFor("docs [○ ]", "would load")
	p.lacks("was docs-server")

	s.write(".cursor/mcp.json", `{"mcpServers": {"docs": {"command": "evil-server", "args": ["--root", "/"]}}}`)
	p.waitFor("docs [? changed]", "runs evil-server --root /", "was docs-server --root docs")
	p.shows("? 1 waiting", "the approval is for another definition")
	p.keys("a")
	p.refusing("would run evil-server --root /", "was docs-server --root docs")
	p.shows("docs [? changed]")

	// Somebody who looks only now does not know what it was.
	later := s.open("cursor-cli")
	later.shows("docs [? changed]", "runs evil-server --root /", "old text unknown, fingerprint differs")

	// Taken back by a further commit it loads again.
	s.write(".cursor/mcp.json", `{"mcpServers": {"docs": {"command": "docs-server", "args": ["--root", "docs"]}}}`)
	p.waitFor("docs [○ ]", "would load")
	p.lacks("was docs-server", "evil-server")
}

// TestStory3GitHasTheOldText: a colleague's commit changed what was approved, and fusebox was not there: the pane and the
// question show what the approval was given to, out of the repository, and from which commit. No secret of it is shown.
func TestStory3GitHasTheOldText(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	old := `{"mcpServers": {"docs": {"command": "docs-server", "args": ["--root", "docs", "--api-key", "` + oldArgument + `", "see-` + oldValue + `"], "env": {"DOCS_TOKEN": "` + oldValue + `"}}}}`
	s.write(".cursor/mcp.json", old)
	p := s.open("cursor-cli")
	p.keys("a")
	p.agreeing("Let Cursor CLI start docs from this repository?")
	p.waitFor("docs [○ ]", "would load")
	at := time.Date(2026, 11, 2, 12, 0, 0, 0, time.UTC)
	id := gittest.Commit(t, s.project, at, map[string]string{".cursor/mcp.json": old})
	evil := `{"mcpServers": {"docs": {"command": "evil-server", "args": ["--root", "/"]}}}`
	gittest.Commit(t, s.project, at.AddDate(0, 0, 7), map[string]string{".cursor/mcp.json": evil})
	s.write(".cursor/mcp.json", evil)

	later := s.open("cursor-cli")
	was := "was docs-server --root docs --api-key •••••• see-••••••"
	from := "as committed in " + id[:7] + ", 2026-11-02"
	later.waitFor("docs [? changed]", "runs evil-server --root /", was, "env DOCS_TOKEN ••••••", from)
	later.lacks("old text unknown", oldValue, oldArgument)
	later.keys("a")
	later.refusing("would run evil-server --root /", was, from)
	later.keys("enter")
	later.waitFor(was, from)
	later.keys("y", "Y")
	later.settle(sometime)
	if text := later.frame + later.copied + later.log.String(); strings.Contains(text, oldValue) || strings.Contains(text, oldArgument) {
		t.Errorf("a secret of the old definition was shown:\n%s", text)
	}
	later.keys("esc")

	// What is not committed yet is compared with the approval, too; what loads again has no past.
	s.write(".cursor/mcp.json", `{"mcpServers": {"docs": {"command": "worse-server"}}}`)
	later.waitFor("runs worse-server", was, from)
	s.write(".cursor/mcp.json", old)
	later.waitFor("docs [○ ]", "would load")
	later.lacks("as committed in")
	s.write(".cursor/mcp.json", evil)
	later.waitFor("docs [? changed]", was) // this run saw it now
	later.lacks("as committed in")
}

const (
	oldValue    = "quartz-mulberry-77"
	oldArgument = "lantern-osprey-31"
)

// TestStory6ConnectionClosed: x says exit 1, o shows the last lines of stderr, e opens the entry; mended, x again.
func TestStory6ConnectionClosed(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	broken := s.server("broken", serverScript{Exit: 1, Stderr: "loading\nfatal: DOCS_ROOT is not set"})
	s.write("~/.claude.json", "{\"mcpServers\": {\n\n  \"docs\": "+broken.json()+"\n}}")
	p := s.open("claude-code")
	p.keys("x") // one's own: nothing is asked
	p.waitFor("docs [✗ exit 1 ]", "✗ 1 error")
	p.shows("exit 1", "o output")
	p.keys("o")
	p.waitFor("docs in Claude Code › output", "fatal: DOCS_ROOT is not set", "loading")
	p.shows("exit 1", "stderr last 2 of 2 lines", "server/discover", "initialize", "The entry is ~/.claude.json:3")
	p.keys("e")
	if want := s.path("~/.claude.json") + ":3"; p.edited != want {
		t.Errorf("e opened %q, want %s", p.edited, want)
	}

	s.write("~/.claude.json", "{\"mcpServers\": {\n\n  \"docs\": "+s.server("docs", serverScript{Stderr: "ready"}).json()+"\n}}")
	p.waitFor("it was not launched yet")
	p.keys("esc")
	p.waitFor("docs [○ ]", "all well")
	p.keys("x")
	p.waitFor("docs [● 2 ]", "loaded, 2 tools")
	p.keys("o")
	p.waitFor("● ok after", "ready")
	p.lacks("DOCS_ROOT")
}

// TestStory8LaunchingAStranger: everything that is looked at leaves the repository alone: no process, no connection, no file
// opened that it names. Launching shows exactly what would run and where it comes from, and No runs nothing.
func TestStory8LaunchingAStranger(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() }) //nolint:errcheck // the test is over
	var connections atomic.Int32
	go func() {
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			connections.Add(1)
			c.Close() //nolint:errcheck // it was counted
		}
	}()
	url := "http://" + listener.Addr().String() + "/mcp"
	lure := s.server("lure", serverScript{})
	s.write("notes.txt", "held-by-a-file")
	s.write(".env.mcp", "A=b")
	s.write("helper", "#!/bin/sh\necho\n")
	// The lure runs a program of the test, so that a start would be seen in its log.
	json := strings.TrimSuffix(lure.json(), "}") + `, "envFile": "./.env.mcp"}`
	open := strings.Replace(lure.openCode(), `"lure"`, `"lure", "{file:./notes.txt}"`, 1)
	s.write(".mcp.json", `{"mcpServers": {"lure": `+json+`, "far": {"type": "http", "url": "`+url+`", "headersHelper": "./helper"}}}`)
	s.write(".claude/settings.json", `{"enabledMcpjsonServers": ["lure", "far"], "enableAllProjectMcpServers": true}`)
	s.write("opencode.json", "{\"mcp\": {\n  \"lure\": "+open+",\n  \"far\": {\"type\": \"remote\", \"url\": \""+url+"\", \"headers\": {\"X-Key\": \"{file:./notes.txt}\"}}}}")
	s.write(".gemini/settings.json", `{"security": {"folderTrust": {"enabled": false}}, "mcpServers": {"lure": `+json+`}}`)
	s.write(".cursor/mcp.json", `{"mcpServers": {"lure": `+json+`}}`)
	s.write(".codex/config.toml", lure.toml("lure"))
	var opened []func() int
	for _, f := range []string{"notes.txt", ".env.mcp", "helper"} {
		opened = append(opened, watchOpens(t, s.path(f)))
	}
	untouched := func(when string) {
		t.Helper()
		p, _ := s.starts()
		n := 0
		for _, o := range opened {
			n += o()
		}
		if len(p) > 0 || connections.Load() > 0 || n > 0 {
			t.Errorf("%s: %d processes, %d connections, %d files opened that the repository names", when, len(p), connections.Load(), n)
		}
	}

	p := s.open("claude-code", "gemini", "cursor-cli", "opencode", "codex")
	p.shows("far Claude ≠ [? trust ] ·", "lure Claude ≠ ? trust ? trust ? trust ▴ ? approve ·", "lure OpenCode ≠ · · · · ○")
	untouched("opened")
	for _, key := range []string{"j", "l", "l", "l", "enter", "esc", "f", "q", "?", "q", "R", "r", "s", "s", "s", "z", "z", "n", "g", "G", "tab", "tab", "y", "Y", "t", "o", "D", "H", "q", "u", "down"} {
		p.keys(key)
	}
	p.settle(sometime)
	untouched("looked at")

	// X is about what loads: OpenCode's two, since OpenCode asks nobody.
	p.keys("esc", "g", "X")
	p.refusing("Start or reach 2 servers?", "▴ lure", "this repository", "{file:", "http://"+listener.Addr().String(), "X-Key is sent", "that wait for consent")
	p.settle(sometime)
	untouched("X and No")
	p.keys("g", "j", "j")
	p.shows("lure in Claude Code")
	p.keys("x")
	p.refusing("Start lure as Claude Code would?", "whoever can commit can change it", "You have not approved it", "would run "+lure.command[:min(20, len(lure.command))], "in ~/shop", "from .mcp.json:1")
	p.settle(sometime)
	untouched("x and No")
	p.keys("a")
	p.refusing("[ No ]")
	p.keys(" ")
	p.settle(sometime)
	p.keys("esc")
	untouched("a and No")

	// Yes runs it, and only it; the file that it names is read now.
	p.keys("j", "l", "l", "l", "l")
	p.shows("lure in OpenCode")
	p.keys("x")
	p.agreeing("Start lure as OpenCode would?", "from opencode.json:2")
	p.waitFor("loaded, 2 tools")
	if got, _ := s.starts(); !slices.Equal(got, []string{"lure"}) || connections.Load() > 0 {
		t.Errorf("started %q, %d connections", got, connections.Load())
	}
	if n := opened[1]() + opened[2](); n > 0 {
		t.Errorf("%d files of other entries were opened", n)
	}
	if _, err := os.Stat(filepath.Join(s.project, ".claude", "settings.local.json")); err == nil {
		t.Error("something was written")
	}
}
