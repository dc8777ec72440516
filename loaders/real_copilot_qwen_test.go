package loaders_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"fusebox/loaders"
	"fusebox/model"
)

// askedStory is a throwaway home in which one step after the other is done, and the real program is asked after each.
type askedStory struct {
	name, harness string
	files         map[string]string // ~/ home, ./ project
	git           bool
	steps         [][]askedStep
}

type askedStep struct {
	server string
	wish   loaders.Wish
	reach  loaders.Reach
	trusts bool
}

func (s askedStep) String() string {
	word := map[loaders.Wish]string{loaders.WishOff: "off", loaders.WishOn: "on", loaders.WishApprove: "approve", loaders.WishRevoke: "revoke"}[s.wish]
	if s.trusts {
		word += " (trusting)"
	}
	return fmt.Sprintf("%s %s %s", s.server, word, s.reach)
}

func askedStories() []askedStory {
	const (
		off, on, approve, revoke     = loaders.WishOff, loaders.WishOn, loaders.WishApprove, loaders.WishRevoke
		here, everywhere, repository = loaders.ReachHere, loaders.ReachEverywhere, loaders.ReachRepository
	)
	touch := func(names ...string) string { // a server that notes its start and ends
		var out []string
		for _, n := range names {
			out = append(out, fmt.Sprintf(`%q: {"command": "touch", "args": ["@STARTED@/%[1]s"]}`, n))
		}
		return `"mcpServers": {` + strings.Join(out, ", ") + "}"
	}
	return []askedStory{
		{name: "copilot", harness: "copilot", git: true, files: map[string]string{
			"~/.copilot/mcp-config.json": "{" + touch("user", "both") + "}", "./.mcp.json": "{" + touch("shared", "both") + "}",
			"~/.copilot/config.json":   "// managed\n{\"trustedFolders\": [\"/nowhere\"], \"trusted_folders\": [\"/n\"]}",
			"~/.copilot/settings.json": "{\n  // mine\n  \"theme\": \"dark\"\n}\n"}, steps: [][]askedStep{
			{}, {{"user", off, everywhere, false}}, {{"shared", off, everywhere, false}}, {{"shared", approve, here, true}}, {{"shared", on, everywhere, false}},
			{{"both", off, everywhere, false}}, {{"user", on, everywhere, false}, {"both", on, everywhere, false}}, {{"shared", revoke, here, false}}}},
		{name: "copilot, the repository switches off", harness: "copilot", git: true, files: map[string]string{
			"~/.copilot/mcp-config.json": "{" + touch("user", "other") + "}", "./.github/mcp.json": "{" + touch("shared") + "}",
			"./.github/copilot/settings.json": `{"disabledMcpServers": ["user"]}`}, steps: [][]askedStep{
			{}, {{"shared", approve, here, true}}, {{"other", off, everywhere, false}}, {{"shared", revoke, here, false}}}},

		{name: "qwen switches", harness: "qwen", git: true, files: map[string]string{
			"~/.qwen/settings.json": "{\n  // mine\n  \"$version\": 4,\n  " + touch("user") + "\n}\n", "./.mcp.json": "{" + touch("shared") + "}",
			"./.qwen/settings.json":                      "{\n  // ours\n  \"tools\": {\"approvalMode\": \"yolo\"},\n  " + touch("proj") + "\n}\n",
			"~/.qwen/extensions/ext/qwen-extension.json": `{"name": "ext", "version": "1.0.0", ` + touch("extra") + `}`}, steps: [][]askedStep{
			{}, {{"shared", off, repository, false}, {"proj", off, everywhere, false}}, {{"extra", off, everywhere, false}, {"user", off, repository, false}},
			{{"shared", on, repository, false}, {"extra", on, everywhere, false}}, {{"proj", on, everywhere, false}, {"user", on, repository, false}}, {{"user", off, everywhere, false}}}},
		{name: "qwen approvals", harness: "qwen", files: map[string]string{
			"./.mcp.json": "{" + touch("shared", "second") + "}", "./.env": "PLACE=@STARTED@\n",
			"./.qwen/settings.json": `{"mcpServers": {"proj": {"type": "stdio", "command": "touch", "args": ["$PLACE/proj"]}}}`}, steps: [][]askedStep{
			{}, {{"shared", approve, here, false}, {"proj", approve, here, false}, {"second", revoke, here, false}}, {{"second", approve, here, false}, {"shared", revoke, here, false}},
			{{"shared", approve, here, false}, {"shared", off, here, false}}, {{"shared", on, here, false}, {"proj", revoke, here, false}}}},
		{name: "qwen trust", harness: "qwen", files: map[string]string{
			"~/.qwen/settings.json": `{"security": {"folderTrust": {"enabled": true}}, ` + touch("user") + "}", "./.mcp.json": "{" + touch("shared") + "}",
			"~/.qwen/trustedFolders.json": "{\n  // no\n  \"@PROJECT@\": \"DO_NOT_TRUST\"\n}"}, steps: [][]askedStep{
			{}, {{"shared", approve, here, false}}, {{"user", approve, here, true}}, {{"user", revoke, here, false}}}},
	}
}

// TestCopilotAndQwenSwitchesAgainstRealPrograms does what options say in a throwaway home, and asks the real program after
// each step about all servers. FUSEBOX_ORACLE_BIN names a folder with copilot 1.0.102, qwen 0.24.4 and, for the latter, node 22.
func TestCopilotAndQwenSwitchesAgainstRealPrograms(t *testing.T) {
	bin := os.Getenv("FUSEBOX_ORACLE_BIN")
	if bin == "" || runtime.GOOS == "windows" {
		t.Skip("FUSEBOX_ORACLE_BIN names no folder with the real programs")
	}
	for _, story := range askedStories() {
		t.Run(story.name, func(t *testing.T) {
			if _, err := os.Stat(filepath.Join(bin, story.harness)); err != nil {
				t.Skip("no " + story.harness)
			}
			s := layAsked(t, bin, story)
			for _, steps := range story.steps {
				var done []string
				for _, step := range steps {
					s.do(t, step)
					done = append(done, step.String())
				}
				s.compare(t, strings.Join(done, ", "))
			}
		})
	}
}

// askedScene is the home and the project of a story.
type askedScene struct {
	home, project, started, bin string
	harness                     loaders.Harness
	env                         *loaders.Env
}

func layAsked(t *testing.T, bin string, story askedStory) *askedScene {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	s := &askedScene{home: filepath.Join(base, "home"), project: filepath.Join(base, "project"), started: filepath.Join(base, "started"), bin: bin}
	fill := strings.NewReplacer("@PROJECT@", s.project, "@STARTED@", s.started)
	write := func(path, text string) {
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(fill.Replace(text)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(filepath.Join(s.home, ".profile"), "")
	for name, text := range story.files {
		if rest, ok := strings.CutPrefix(name, "~/"); ok {
			write(filepath.Join(s.home, rest), text)
		} else {
			write(filepath.Join(s.project, strings.TrimPrefix(name, "./")), text)
		}
	}
	if story.git {
		if out, err := exec.Command("git", "init", "-q", s.project).CombinedOutput(); err != nil {
			t.Fatalf("git init: %v: %s", err, out)
		}
	}
	picked, _ := loaders.Select(loaders.All(), []string{story.harness})
	s.harness = picked[0]
	s.env = &loaders.Env{Home: s.home, Project: s.project, GOOS: runtime.GOOS, Vars: map[string]string{"HOME": s.home}, UID: os.Getuid(), Now: time.Now}
	return s
}

func (s *askedScene) do(t *testing.T, step askedStep) {
	t.Helper()
	b := loaders.NewSwitchboard(s.env, s.harness)
	cell := b.Cell(step.server)
	if cell == nil {
		t.Fatalf("%s: no such server", step)
	}
	answer := b.Ask(cell, step.wish)
	i := slices.IndexFunc(answer.Options, func(o loaders.Option) bool {
		return o.Unavailable == "" && o.Reach == step.reach && o.TrustsFolder == step.trusts
	})
	if i < 0 {
		t.Fatalf("%s: %+v", step, answer)
	}
	if applied := answer.Options[i].Plan().Apply(nil, ""); applied.Err != nil {
		t.Fatalf("%s: %v", step, applied.Err)
	}
}

// compare asks the real program about all servers, and holds the cells to its answer.
func (s *askedScene) compare(t *testing.T, done string) {
	t.Helper()
	says := s.askCopilot
	if s.harness.ID == "qwen" {
		says = s.askQwen
	}
	answer := says(t)
	row := fmt.Sprintf("%-70s", done)
	for _, c := range loaders.NewSwitchboard(s.env, s.harness).Column().Cells {
		got := answer[c.Name]
		if got == "" {
			got = "not there"
		}
		row += fmt.Sprintf("  %s: %s", c.Name, got)
		if (got == "loads") != (c.Decision == model.DecisionLoads) || got == "off" && c.Decision != model.DecisionOff {
			t.Errorf("after %s: %s: the program says %s, the cell %s (%s)", done, c.Name, got, c.Decision, c.Reason.Text)
		}
	}
	t.Log(row)
}

func (s *askedScene) command(ctx context.Context, args []string, extra ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, filepath.Join(s.bin, args[0]), args[1:]...)
	cmd.Dir = s.project
	cmd.Env = append([]string{"HOME=" + s.home, "PATH=" + s.bin + string(os.PathListSeparator) + os.Getenv("PATH"), "TERM=dumb", "NO_COLOR=1",
		"LANG=C.UTF-8", "COPILOT_AUTO_UPDATE=false"}, extra...)
	cmd.WaitDelay = time.Second
	return cmd
}

// askCopilot reads the listing, which starts nothing. What waits for trust is not in it.
func (s *askedScene) askCopilot(t *testing.T) map[string]string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	out, err := s.command(ctx, []string{"copilot", "mcp", "list", "--json"}).Output()
	if err != nil {
		t.Fatalf("copilot mcp list: %v", err)
	}
	var listed struct {
		Servers map[string]struct{ Enabled bool } `json:"mcpServers"`
	}
	if err := json.Unmarshal(out, &listed); err != nil {
		t.Fatal(err)
	}
	answer := map[string]string{}
	for name, x := range listed.Servers {
		answer[name] = "off"
		if x.Enabled {
			answer[name] = "loads"
		}
	}
	return answer
}

// heard keeps what a program prints, and calls when once a text is in it.
type heard struct {
	sync.Mutex
	text bytes.Buffer
	want string
	when func()
}

func (h *heard) Write(p []byte) (int, error) {
	h.Lock()
	defer h.Unlock()
	h.text.Write(p)
	if h.when != nil && strings.Contains(h.text.String(), h.want) {
		h.when()
		h.when = nil
	}
	return len(p), nil
}

// askQwen looks which servers a session starts before it fails to reach its model. A session in a folder that is not trusted
// starts none.
func (s *askedScene) askQwen(t *testing.T) map[string]string {
	t.Helper()
	if err := os.RemoveAll(s.started); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(s.started, 0o700); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cmd := s.command(ctx, []string{"qwen", "--auth-type", "openai", "-p", "hi"}, "OPENAI_API_KEY=not-a-key", "OPENAI_BASE_URL=http://127.0.0.1:9", "OPENAI_MODEL=m")
	out := &heard{want: "Attempt 1 failed", when: func() { time.AfterFunc(time.Second, cancel) }}
	cmd.Stdout, cmd.Stderr = out, out
	_ = cmd.Run() // it never ends well: there is no model
	if text := out.text.String(); out.when != nil && !strings.Contains(text, "Connection error") {
		t.Fatalf("qwen did not come to its model: %s", text)
	}
	answer := map[string]string{}
	entries, err := os.ReadDir(s.started)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		answer[e.Name()] = "loads"
	}
	return answer
}
