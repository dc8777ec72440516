package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"fusebox/loaders"
	"fusebox/model"
	"fusebox/ui"
)

// launchScene is a scene with a launcher, and no screen.
type launchScene struct {
	*scene
	loader   *loaders.Loader
	launcher *launcher
	shown    *model.Snapshot
}

func newLaunchScene(t *testing.T) *launchScene {
	t.Helper()
	s := &launchScene{scene: newScene(t)}
	s.env.Vars["PATH"] = "/usr/bin:/bin"
	s.env.Vars["PLAIN"] = "plain"
	s.env.Vars["MY_TOKEN"] = "token-of-the-tests"
	return s
}

// start reads the files and makes the launcher.
func (s *launchScene) start(harnesses ...string) {
	s.t.Helper()
	picked, unknown := loaders.Select(loaders.All(), harnesses)
	if unknown != "" {
		s.t.Fatalf("no harness %s", unknown)
	}
	s.loader = loaders.NewLoader(s.env, picked)
	s.launcher = newLauncher(s.env, picked, patience)
	s.t.Cleanup(s.launcher.Close)
	s.loader.Load()
	s.show()
}

func (s *launchScene) show() *model.Snapshot {
	s.shown = s.launcher.lay(s.loader.Snapshot(), 2)
	return s.shown
}

func (s *launchScene) reread() {
	s.loader.Reread()
	s.show()
}

// keys are cells as "harness/name".
func cellKeys(cells ...string) (out []model.CellKey) {
	for _, c := range cells {
		harness, name, _ := strings.Cut(c, "/")
		out = append(out, model.CellKey{Harness: model.HarnessID(harness), Name: name})
	}
	return out
}

// all are the cells that X would be about.
func (s *launchScene) all() (out []model.CellKey) {
	for _, col := range s.loader.Snapshot().Columns {
		for _, c := range col.Cells {
			out = append(out, model.CellKey{Harness: c.Harness, Name: c.Name})
		}
	}
	return out
}

// begin starts cells, single as x on a cell does.
func (s *launchScene) begin(single bool, keys ...model.CellKey) ui.LaunchPlan {
	s.t.Helper()
	p := s.launcher.Plan(keys, single)
	if changed := s.launcher.Start(p, nil); len(changed) > 0 {
		s.t.Fatalf("%v changed", changed)
	}
	return p
}

// wait waits until nothing runs any more.
func (s *launchScene) wait() {
	s.t.Helper()
	eventually(s.t, "no launches", func() bool {
		s.launcher.mu.Lock()
		defer s.launcher.mu.Unlock()
		return len(s.launcher.running) == 0 && s.launcher.active == 0
	})
	s.show()
}

func (s *launchScene) cell(at string) *model.Cell {
	s.t.Helper()
	k := cellKeys(at)[0]
	for _, c := range s.shown.Column(k.Harness).Cells {
		if c.Name == k.Name {
			return c
		}
	}
	s.t.Fatalf("there is no cell %s", at)
	return nil
}

// states are the states of cells in words.
func (s *launchScene) states(cells ...string) string {
	var out []string
	for _, c := range cells {
		out = append(out, s.cell(c).State().String())
	}
	return strings.Join(out, " ")
}

func wantText(t *testing.T, what, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("%s: %s, want %s", what, got, want)
	}
}

func (s *launchScene) wantStarts(want ...string) {
	s.t.Helper()
	got, _ := s.starts()
	if !slices.Equal(got, want) {
		s.t.Errorf("started %q, want %q", got, want)
	}
}

// x on a cell uses that harness's own environment and answers for every cell that would start the same in the same class of
// environment and the same folder, under whatever name.
func TestOneStartAnswersForTheSame(t *testing.T) {
	t.Parallel()
	s := newLaunchScene(t)
	d := s.server("docs", serverScript{Report: []string{"PLAIN", "MY_TOKEN"}})
	elsewhere := filepath.Join(s.home, "elsewhere")
	if err := os.MkdirAll(elsewhere, 0o700); err != nil {
		t.Fatal(err)
	}
	s.four("docs", d)
	s.write("~/.config/opencode/opencode.json", `{"mcp": {"docs": `+d.openCode()+`, "same": `+d.openCode()+`, "other": `+d.with("MORE", "x").openCode()+`,
		"there": `+strings.TrimSuffix(d.openCode(), "}")+`, "cwd": `+jsonText(elsewhere)+`}}}`)
	s.start("claude-code", "codex", "gemini", "opencode")

	s.begin(true, cellKeys("claude-code/docs")...)
	s.wait()
	s.wantStarts("docs PLAIN MY_TOKEN")
	wantText(t, "Claude's", s.states("claude-code/docs", "opencode/docs", "opencode/same"), "ok ok ok")
	wantText(t, "others", s.states("codex/docs", "gemini/docs", "opencode/other", "opencode/there"), "configured configured configured configured")
	if o := s.cell("opencode/same").Observation; fmt.Sprint(o.For) != "[claude-code opencode]" {
		t.Errorf("it answers for %v", o.For)
	}
	if c := s.cell("opencode/same"); c.Tools.Offered != 2 || c.Tools.ShownAs[0] != "same_search" {
		t.Errorf("tools as %v", c.Tools.ShownAs)
	}

	s.begin(true, cellKeys("gemini/docs")...)
	s.begin(true, cellKeys("codex/docs")...)
	s.wait()
	got, _ := s.starts()
	slices.Sort(got)
	wantText(t, "starts", strings.Join(got, ", "), "docs, docs PLAIN, docs PLAIN MY_TOKEN")
	wantText(t, "all", s.states("codex/docs", "gemini/docs", "opencode/other", "opencode/there"), "ok ok configured configured")
}

// X starts each definition once, with the smallest environment of its harnesses, and once more with a larger one only where
// that fails.
func TestSmallestEnvironmentFirst(t *testing.T) {
	t.Parallel()
	four := []string{"codex/docs", "gemini/docs", "claude-code/docs", "opencode/docs"}
	for _, test := range []struct {
		name, needs string
		harnesses   []string
		starts      []string
		states      string // of Codex, Gemini, Claude Code, OpenCode
	}{
		{"short", "", four, []string{"docs"}, "ok ok ok ok"},
		{"filtered", "PLAIN", four, []string{"docs", "docs PLAIN"}, "error ok ok ok"},
		{"full", "MY_TOKEN", four, []string{"docs", "docs PLAIN", "docs PLAIN MY_TOKEN"}, "error error ok ok"},
		{"never", "NOT_SET", four, []string{"docs", "docs PLAIN", "docs PLAIN MY_TOKEN"}, "error error error error"},
		{"no larger one wanted", "MY_TOKEN", four[:2], []string{"docs", "docs PLAIN"}, "error error configured configured"},
		{"full at once", "", four[2:], []string{"docs PLAIN MY_TOKEN"}, "configured configured ok ok"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s := newLaunchScene(t)
			s.four("docs", s.server("docs", serverScript{Report: []string{"PLAIN", "MY_TOKEN"}, Needs: test.needs}))
			s.start("claude-code", "codex", "gemini", "opencode")
			p := s.begin(false, cellKeys(test.harnesses...)...)
			if len(p.Items) != 1 || len(p.Items[0].Harnesses) != len(test.harnesses) {
				t.Errorf("the plan has %d items, the first for %v", len(p.Items), p.Items[0].Harnesses)
			}
			s.wait()
			s.wantStarts(test.starts...)
			wantText(t, "states", s.states(four...), test.states)
		})
	}
}

// A launch of a server that is off or waits shows tools and output, and leaves its decision.
func TestLaunchLeavesTheDecision(t *testing.T) {
	t.Parallel()
	s := newLaunchScene(t)
	d := s.server("docs", serverScript{Stderr: "hello from docs"})
	s.write("~/.codex/config.toml", d.toml("off", "enabled = false"))
	s.write(".mcp.json", `{"mcpServers": {"waits": `+d.json()+`}}`)
	s.write("~/.claude.json", `{"projects": {`+jsonText(s.project)+`: {"hasTrustDialogAccepted": true}}}`)
	s.start("claude-code", "codex")
	wantText(t, "before", s.states("codex/off", "claude-code/waits"), "disabled unapproved")
	if p := s.launcher.Plan(s.all(), false); len(p.Items) > 0 || fmt.Sprint(p.LeftOut) != "[1 that wait for consent 1 that are off]" {
		t.Errorf("X would start %d, and leaves out %v", len(p.Items), p.LeftOut)
	}
	p := s.launcher.Plan(cellKeys("claude-code/waits"), true)
	if it := p.Items[0]; !p.Ask || !it.Repository || !it.Unapproved || it.From.Path != s.path(".mcp.json") || it.From.Line != 1 {
		t.Errorf("it does not ask: %+v", it)
	}
	s.begin(true, cellKeys("codex/off")...)
	s.begin(true, cellKeys("claude-code/waits")...)
	s.show()
	wantText(t, "meanwhile", s.states("codex/off", "claude-code/waits"), "launching launching")
	s.wait()
	wantText(t, "after", s.states("codex/off", "claude-code/waits"), "disabled unapproved")
	for _, at := range []string{"codex/off", "claude-code/waits"} {
		c := s.cell(at)
		if c.Tools == nil || c.Tools.Offered != 2 || c.Observation == nil || !slices.Contains(c.Observation.Output.Stderr, "hello from docs") {
			t.Errorf("%s has no tools or output: %+v", at, c.Observation)
		}
		if t2 := s.shown.Column(c.Harness).Totals(); t2.Tools != 0 {
			t.Errorf("%d tools of a server that is not loaded count", t2.Tools)
		}
	}
}

// A result for a definition that changed meanwhile is dropped; what changed since the plan is not started.
func TestChangedDefinition(t *testing.T) {
	t.Parallel()
	s := newLaunchScene(t)
	gate, open := s.gate("docs")
	d := s.server("docs", serverScript{Wait: gate})
	s.four("docs", d)
	s.start("claude-code", "codex", "gemini", "opencode")
	s.begin(true, cellKeys("claude-code/docs")...)
	s.waitForStarts(1)
	s.four("docs", d.with("MORE", "x"))
	s.reread()
	wantText(t, "another definition", s.states("claude-code/docs"), "configured")
	open()
	s.wait()
	wantText(t, "the result", s.states("claude-code/docs", "opencode/docs"), "configured configured")
	if n := len(s.launcher.answers); n > 0 {
		t.Errorf("%d answers are kept for nobody", n)
	}

	// What stayed the same keeps its result while another definition changes.
	s.begin(true, cellKeys("claude-code/docs")...)
	s.wait()
	s.write("~/.codex/config.toml", d.toml("docs"))
	s.reread()
	wantText(t, "the same", s.states("claude-code/docs", "opencode/docs", "codex/docs"), "ok ok configured")

	// The plan showed d with MORE=x.
	p := s.launcher.Plan(cellKeys("claude-code/docs", "opencode/docs"), false)
	s.write("~/.claude.json", `{"mcpServers": {"docs": `+s.server("evil", serverScript{}).json()+`}}`)
	s.reread()
	before, _ := s.starts()
	if changed := s.launcher.Start(p, nil); fmt.Sprint(changed) != "[{claude-code docs}]" {
		t.Errorf("changed: %v", changed)
	}
	s.wait()
	s.wantStarts(append(before, "docs")...)
	wantText(t, "not started", s.states("claude-code/docs", "opencode/docs"), "configured ok")
}

// Stop ends what it names, or all; what waits for its turn is gone at once. A stopped launch leaves what was known.
func TestStop(t *testing.T) {
	t.Parallel()
	s := newLaunchScene(t)
	gate, _ := s.gate("never")
	var entries []string
	for _, name := range []string{"a", "b", "c"} {
		entries = append(entries, jsonText(name)+": "+s.server(name, serverScript{Wait: gate, Grandchild: true}).json())
	}
	s.write("~/.claude.json", `{"mcpServers": {`+strings.Join(entries, ", ")+`}}`)
	s.start("claude-code")
	s.launcher.atOnce = 2
	s.begin(false, s.all()...)
	pids := s.waitForStarts(2)
	s.show()
	wantText(t, "all", s.states("claude-code/a", "claude-code/b", "claude-code/c"), "launching launching launching")
	if p := s.cell("claude-code/c").Launch.Progress; len(p) != 1 || !strings.HasPrefix(p[0], "waits") {
		t.Errorf("what waits says %q", p)
	}

	s.launcher.Stop(cellKeys("claude-code/c"))
	s.show()
	wantText(t, "without c", s.states("claude-code/a", "claude-code/b", "claude-code/c"), "launching launching configured")
	s.launcher.Stop(cellKeys("claude-code/a"))
	eventually(t, "no launch of a", func() bool { s.show(); return s.cell("claude-code/a").Launch == nil })
	wantText(t, "without a", s.states("claude-code/a", "claude-code/b"), "configured launching")
	s.launcher.Stop(nil)
	s.wait()
	wantText(t, "none", s.states("claude-code/a", "claude-code/b", "claude-code/c"), "configured configured configured")
	for _, pid := range pids {
		if groupAlive(pid) {
			t.Errorf("the group of %d is alive", pid)
		}
	}
	if got, _ := s.starts(); len(got) != 2 {
		t.Errorf("started %q", got)
	}
}

// A stopped second launch leaves the result of the first.
func TestStopKeepsTheEarlierResult(t *testing.T) {
	t.Parallel()
	s := newLaunchScene(t)
	gate, open := s.gate("docs")
	s.four("docs", s.server("docs", serverScript{Wait: gate}))
	s.start("claude-code")
	open()
	s.begin(true, s.all()...)
	s.wait()
	first := s.cell("claude-code/docs").Observation
	if err := os.Remove(gate); err != nil {
		t.Fatal(err)
	}
	s.begin(true, s.all()...)
	s.waitForStarts(2)
	s.launcher.Stop(nil)
	s.wait()
	if c := s.cell("claude-code/docs"); c.State() != model.StateOK || c.Observation.At != first.At {
		t.Errorf("after the stop it is %s", c.State())
	}
}

// Close ends everything that runs, its children included, and what waits never starts.
func TestCloseEndsEverything(t *testing.T) {
	t.Parallel()
	s := newLaunchScene(t)
	gate, _ := s.gate("never")
	var entries []string
	for i := range 4 {
		name := fmt.Sprintf("s%d", i)
		entries = append(entries, jsonText(name)+": "+s.server(name, serverScript{Wait: gate, Grandchild: true, Stubborn: i == 1}).json())
	}
	s.write("~/.claude.json", `{"mcpServers": {`+strings.Join(entries, ", ")+`}}`)
	s.start("claude-code")
	s.launcher.atOnce = 3
	s.begin(false, s.all()...)
	pids := s.waitForStarts(3)
	s.launcher.Close()
	for _, pid := range pids {
		if groupAlive(pid) {
			t.Errorf("the group of %d is alive", pid)
		}
	}
	s.begin(false, s.all()...)
	s.wait()
	if got, _ := s.starts(); len(got) != 3 {
		t.Errorf("started %q", got)
	}
}

// No more than so many run at once, and what is not approved starts last, whenever it was asked for.
func TestQueue(t *testing.T) {
	t.Parallel()
	s := newLaunchScene(t)
	gate, open := s.gate("first")
	list := func(names ...string) string {
		var entries []string
		for _, name := range names {
			entries = append(entries, jsonText(name)+": "+s.server(name, serverScript{Wait: gate}).json())
		}
		return strings.Join(entries, ", ")
	}
	s.write("~/.claude.json", `{"mcpServers": {`+list("a", "c", "e", "g")+`}, "projects": {`+jsonText(s.project)+`: {"hasTrustDialogAccepted": true}}}`)
	s.write(".mcp.json", `{"mcpServers": {`+list("b", "d")+`}}`)
	s.start("claude-code")
	s.launcher.atOnce = 1
	s.begin(true, cellKeys("claude-code/e", "claude-code/d", "claude-code/b")...)
	s.begin(true, cellKeys("claude-code/a", "claude-code/c", "claude-code/b")...)
	s.begin(true, cellKeys("claude-code/g")...)
	s.waitForStarts(1)
	open()
	s.wait()
	s.wantStarts("e", "a", "c", "g", "b", "d")
}

func TestAtMostSoManyAtOnce(t *testing.T) {
	t.Parallel()
	s := newLaunchScene(t)
	gate, open := s.gate("all")
	var entries []string
	for i := range 7 {
		name := fmt.Sprintf("s%d", i)
		entries = append(entries, jsonText(name)+": "+s.server(name, serverScript{Wait: gate}).json())
	}
	s.write("~/.claude.json", `{"mcpServers": {`+strings.Join(entries, ", ")+`}}`)
	s.start("claude-code")
	s.launcher.atOnce = 3
	s.begin(false, s.all()...)
	s.waitForStarts(3)
	most := 0
	eventually(t, "three active ones", func() bool {
		s.launcher.mu.Lock()
		defer s.launcher.mu.Unlock()
		most = max(most, s.launcher.active)
		return s.launcher.registry.Live() == 3
	})
	if got, _ := s.starts(); len(got) != 3 || most > 3 {
		t.Errorf("%d started at once", len(got))
	}
	open()
	s.wait()
	if got, _ := s.starts(); len(got) != 7 {
		t.Errorf("%d started in all", len(got))
	}
}

// One launch, and each harness's own filter and names.
func TestFiltersOfHarnesses(t *testing.T) {
	t.Parallel()
	s := newLaunchScene(t)
	d := s.server("docs", serverScript{Tools: []toolScript{{"search_notes", "Search all notes for a text."}, {"read_note", "Read one note as Markdown."},
		{"write_note", "Create a note, or append to one."}, {"delete_note", "Delete a note for good."}}})
	s.write("~/.claude.json", `{"mcpServers": {"docs": `+d.json()+`}}`)
	s.write("~/.codex/config.toml", d.toml("docs", `enabled_tools = ["search_notes", "read_note", "write_note"]`, `disabled_tools = ["write_note"]`))
	s.write("~/.gemini/settings.json", `{"security": {"folderTrust": {"enabled": false}}, "mcpServers": {"docs": `+d.json(`, "includeTools": ["search_notes(", "read_note"], "excludeTools": ["read_note"]`)+`}}`)
	s.write("~/.config/opencode/opencode.json", `{"tools": {"docs_*": false, "docs_*_note": true}, "mcp": {"docs": `+d.openCode()+`}}`)
	s.start("claude-code", "codex", "gemini", "opencode")
	s.begin(false, s.all()...)
	s.wait()
	s.wantStarts("docs")
	for harness, want := range map[string]string{
		"claude-code": "mcp__docs__search_notes mcp__docs__read_note mcp__docs__write_note mcp__docs__delete_note",
		"codex":       "mcp__docs__search_notes mcp__docs__read_note",
		"gemini":      "mcp_docs_search_notes",
		"opencode":    "docs_read_note docs_write_note docs_delete_note",
	} {
		tools := s.cell(harness + "/docs").Tools
		if got := strings.Join(tools.ShownAs, " "); got != want || tools.Offered != len(strings.Fields(want)) || tools.Listed != 4 || s.cell(harness+"/docs").Word(s.env.Now()) != fmt.Sprint(tools.Offered) {
			t.Errorf("%s offers %d of %d: %s, want %s", harness, tools.Offered, tools.Listed, got, want)
		}
	}
}

// Names that collide, are too long or say nothing are counted, and JSON has the sums.
func TestToolTotals(t *testing.T) {
	t.Parallel()
	s := newLaunchScene(t)
	long := strings.Repeat("long_name_", 6)
	docs := s.server("docs", serverScript{Tools: []toolScript{{"search", "Search all notes for a text."}, {"sync", "sync"}, {"read", "Read one note as Markdown."}}})
	mail := s.server("mail", serverScript{Tools: []toolScript{{"search", "Search all messages."}, {"sync", ""}, {long, "A tool with a very long name."}}})
	s.write("~/.claude.json", `{"mcpServers": {"docs": `+docs.json()+`, "mail": `+mail.json()+`, "off": {"command": "x"}}}`)
	s.write("~/.codex/config.toml", docs.toml("docs")+mail.toml("mail", `disabled_tools = ["search"]`))
	s.start("claude-code", "codex")
	s.begin(false, cellKeys("claude-code/docs", "claude-code/mail", "codex/docs", "codex/mail")...)
	s.wait()
	if got := s.cell("claude-code/mail").Tools.TooLong; len(got) != 1 || got[0] != "mcp__mail__"+long {
		t.Errorf("too long: %q", got)
	}
	var b bytes.Buffer
	if err := writeJSON(&b, newDocument(s.shown, model.NewRedactor(s.shown.Secrets())), ""); err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Harnesses []struct {
			ID     string
			Totals struct{ Servers, Loads, Tools, Tokens, Unclear, Collisions int }
		}
		Servers []struct {
			Name  string
			Cells []struct {
				Harness string
				Tools   *struct {
					Listed, Offered, Tokens, Unclear int
					Names                            []string
				}
			}
		}
	}
	if err := json.Unmarshal(b.Bytes(), &doc); err != nil {
		t.Fatal(err)
	}
	for _, h := range doc.Harnesses {
		tokens := 0
		for _, srv := range doc.Servers {
			for _, c := range srv.Cells {
				if c.Harness == h.ID && c.Tools != nil {
					tokens += c.Tools.Tokens
				}
			}
		}
		got := fmt.Sprintf("servers %d, loads %d, tools %d, unclear %d, collisions %d", h.Totals.Servers, h.Totals.Loads, h.Totals.Tools, h.Totals.Unclear, h.Totals.Collisions)
		want := map[string]string{"claude-code": "servers 3, loads 3, tools 6, unclear 2, collisions 2", "codex": "servers 2, loads 2, tools 5, unclear 2, collisions 1"}[h.ID]
		wantText(t, h.ID, got, want)
		if h.Totals.Tokens != tokens || tokens == 0 {
			t.Errorf("%s: %d tokens in all, %d in its cells", h.ID, h.Totals.Tokens, tokens)
		}
	}
}

// A plan shows definitions as they are written: what variables hold is not in it, nor is a file opened that they name.
func TestPlanShowsNoValue(t *testing.T) {
	t.Parallel()
	s := newLaunchScene(t)
	s.write("key.txt", "Cn7-held-by-a-file")
	s.write("~/.claude.json", `{"mcpServers": {"a": {"command": "run", "args": ["--with=${MY_TOKEN}", "${NOPE}"]}, "far": {"type": "http", "url": "https://host.example.test/mcp?k=${MY_TOKEN}", "headers": {"X-Key": "${MY_TOKEN}"}}}}`)
	s.write("opencode.json", `{"mcp": {"b": {"type": "local", "command": ["run", "{file:./key.txt}", "{env:MY_TOKEN}"], "environment": {"K": "{file:./key.txt}"}}}}`)
	opened := watchOpens(t, s.path("key.txt"))
	s.start("claude-code", "opencode")
	p := s.launcher.Plan(s.all(), false)
	text := ""
	for _, it := range p.Items {
		it.Token = nil
		text += fmt.Sprintf("%+v\n", it)
	}
	for _, secret := range []string{"token-of-the-tests", "Cn7-held-by-a-file"} {
		if strings.Contains(text, secret) {
			t.Errorf("%s is in the plan:\n%s", secret, text)
		}
	}
	for _, want := range []string{"--with=${MY_TOKEN}", "Unset:[NOPE]", "host.example.test", "X-Key", "{env:MY_TOKEN}"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %s in the plan:\n%s", want, text)
		}
	}
	// Another launch opens the file neither.
	s.write("~/.claude.json", `{"mcpServers": {"docs": `+s.server("docs", serverScript{}).json()+`}}`)
	s.reread()
	s.begin(true, cellKeys("claude-code/docs")...)
	s.wait()
	if n := opened(); n > 0 {
		t.Errorf("a file that an entry names was opened %d times", n)
	}
}

// An entry of one's own that a file of the folder changes is the folder's too: it is asked for, and list --launch starts it
// only where the trust is recorded elsewhere.
func TestMergedEntryIsOfTheRepository(t *testing.T) {
	t.Parallel()
	s := newLaunchScene(t)
	s.write("~/.codex/config.toml", "[projects."+jsonText(s.project)+"]\ntrust_level = \"trusted\"\n[mcp_servers.docs]\ncommand = \"node\"\n[mcp_servers.own]\ncommand = \"node\"\n")
	s.write(".codex/config.toml", "[mcp_servers.docs]\nargs = [\"./evil.js\"]\n")
	s.start("codex")
	p := s.launcher.Plan(cellKeys("codex/docs"), true)
	if len(p.Items) != 1 || !p.Ask || !p.Items[0].Repository || p.Items[0].From.Path != s.path(".codex/config.toml") {
		t.Errorf("the plan: %+v", p.Items)
	}
	if p := s.launcher.Plan(cellKeys("codex/own"), true); p.Ask {
		t.Error("one's own is asked for")
	}
	if keys, _ := launchable(s.shown, s.env, launchOptions{launch: true}); fmt.Sprint(keys) != "[{codex docs} {codex own}]" {
		t.Errorf("list --launch starts %v", keys)
	}
	col := *s.shown.Column("codex")
	col.Cells = slices.Clone(col.Cells)
	for i, c := range col.Cells {
		without := *c
		without.Consent = model.Location{Path: s.path(".codex/config.toml"), Line: 1}
		col.Cells[i] = &without
	}
	other := model.NewSnapshot(3, s.project, s.home, s.env.Now(), []*model.Column{&col})
	if keys, _ := launchable(other, s.env, launchOptions{launch: true}); fmt.Sprint(keys) != "[{codex own}]" {
		t.Errorf("with a consent in the folder list --launch starts %v", keys)
	}
}

// list --launch starts what a file of the folder declares only where the user's consent is recorded outside of the folder;
// what loads since nobody asks is left out.
func TestConsentOutsideTheFolder(t *testing.T) {
	t.Parallel()
	entry := `{"mcpServers": {"docs": {"command": "docs-server"}}}`
	for _, test := range []struct {
		harness, file, text string
		consent             string // a file that gives it, and its text; "" when it is given as the panel does
		trust               string
	}{
		{"claude-code", ".mcp.json", entry, "", ""},
		{"codex", ".codex/config.toml", "[mcp_servers.docs]\ncommand = \"docs-server\"\n", "~/.codex/config.toml", "[projects.@]\ntrust_level = \"trusted\"\n"},
		{"gemini", ".gemini/settings.json", entry, "~/.gemini/trustedFolders.json", `{@: "TRUST_FOLDER"}`},
		{"copilot", ".mcp.json", entry, "~/.copilot/config.json", `{"trustedFolders": [@]}`},
		{"cursor-cli", ".cursor/mcp.json", entry, "", ""},
		{"qwen", ".mcp.json", entry, "", ""},
		{"opencode", "opencode.json", `{"mcp": {"docs": {"type": "local", "command": ["docs-server"]}}}`, "~/.unused", ""}, // asks nobody
	} {
		t.Run(test.harness, func(t *testing.T) {
			t.Parallel()
			s := newLaunchScene(t)
			s.write("~/.claude.json", `{"projects": {`+jsonText(s.project)+`: {"hasTrustDialogAccepted": true}}}`)
			s.write(test.file, test.text)
			s.start(test.harness)
			if keys, _ := launchable(s.shown, s.env, launchOptions{launch: true}); len(keys) > 0 {
				t.Fatal("it is started without a consent")
			}
			if test.consent != "" {
				s.write(test.consent, strings.ReplaceAll(test.trust, "@", jsonText(s.project)))
			} else {
				w := s.switcher()
				if r := w.Apply(w.Plan(ui.Intent{Kind: ui.IntentApprove, Cells: cellKeys(test.harness + "/docs")})); len(r.Done) != 1 {
					t.Fatalf("not approved: %+v", r)
				}
			}
			s.reread()
			keys, _ := launchable(s.shown, s.env, launchOptions{launch: true})
			c := s.cell(test.harness + "/docs")
			inside := loaders.Within(c.Consent.Path, s.project)
			if started := len(keys) == 1; started != (!c.Consent.IsZero() && !inside) || started != (test.harness != "opencode" && test.harness != "claude-code") || c.Decision != model.DecisionLoads {
				t.Errorf("it is %s, its consent is at %+v, started: %t", c.State(), c.Consent, started)
			}
		})
	}
}
