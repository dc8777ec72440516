package cli

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"fusebox/loaders"
	"fusebox/model"
	"fusebox/ui"
)

// benchServers is the inside of a mcpServers object with this many servers; changed is in the arguments of one of them.
func benchServers(n int, changed int) string {
	var b strings.Builder
	for i := range n {
		if i > 0 {
			b.WriteString(",\n")
		}
		extra := ""
		if i == n/2 {
			extra = fmt.Sprintf(", \"--changed=%d\"", changed)
		}
		fmt.Fprintf(&b, `    "server-%05d": {"command": "npx", "args": ["-y", "@acme/server-%d"%s], "env": {"TOKEN": "secret-of-%d"}}`, i, i, extra, i)
	}
	return b.String()
}

// benchScene is a home with n servers in Claude Code's main file and few in the files of other harnesses.
type benchScene struct {
	b             *testing.B
	home, project string
	env           *loaders.Env
}

func newBenchScene(b *testing.B, n int) *benchScene {
	b.Helper()
	base, err := filepath.EvalSymlinks(b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	s := &benchScene{b: b, home: filepath.Join(base, "home"), project: filepath.Join(base, "home", "shop")}
	for _, dir := range []string{".codex", ".gemini", ".cursor", ".config/opencode", "shop/.git"} {
		if err := os.MkdirAll(filepath.Join(s.home, filepath.FromSlash(dir)), 0o700); err != nil {
			b.Fatal(err)
		}
	}
	s.env = &loaders.Env{Root: filepath.Join(base, "root"), Home: s.home, Project: s.project, GOOS: runtime.GOOS,
		Vars: map[string]string{"HOME": s.home}, UID: os.Getuid(), Now: time.Now}
	s.big(n, 0)
	s.small(0)
	s.write(".codex/config.toml", "[mcp_servers.docs]\ncommand = \"docs\"\n")
	s.write(".gemini/settings.json", `{"mcpServers": {"docs": {"command": "docs"}}}`)
	s.write(".cursor/mcp.json", `{"mcpServers": {"docs": {"command": "docs"}}}`)
	s.other(0)
	return s
}

func (s *benchScene) write(name, text string) string {
	s.b.Helper()
	path := filepath.Join(s.home, filepath.FromSlash(name))
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		s.b.Fatal(err)
	}
	return path
}

// big writes the file with many servers, one of them changed.
func (s *benchScene) big(n, changed int) string {
	return s.write(".claude.json", "{\n  \"mcpServers\": {\n"+benchServers(n, changed)+"\n  }\n}\n")
}

// small writes a small file of the harness that has the many servers.
func (s *benchScene) small(changed int) string {
	return s.write("shop/.mcp.json", fmt.Sprintf(`{"mcpServers": {"docs": {"command": "docs", "args": ["%d"]}}}`, changed))
}

// other writes a small file of another harness.
func (s *benchScene) other(changed int) string {
	return s.write(".config/opencode/opencode.json", fmt.Sprintf(`{"mcp": {"docs": {"type": "local", "command": ["docs", "%d"]}}}`, changed))
}

// cpuMeter sums the computing time of the measured part of each round: on a busy machine the wall time says little.
type cpuMeter struct {
	b      *testing.B
	start  time.Duration
	total  time.Duration
	rounds int
}

func (m *cpuMeter) on() {
	m.b.StartTimer()
	m.start = cpuTime()
}

func (m *cpuMeter) off() {
	m.total += cpuTime() - m.start
	m.rounds++
	m.b.StopTimer()
}

func (m *cpuMeter) report() { m.b.ReportMetric(float64(m.total)/float64(m.rounds), "cpu-ns/op") }

// BenchmarkReload is what a changed file costs, from its path to the new snapshot and what differs in it: with five harnesses
// and with all, of which some read the big file as well.
func BenchmarkReload(b *testing.B) {
	five, _ := loaders.Select(loaders.All(), []string{"claude-code", "codex", "gemini", "cursor-cli", "opencode"})
	for _, harnesses := range [][]loaders.Harness{five, loaders.All()} {
		for _, n := range []int{10, 10_000} {
			for _, change := range []string{"small", "other", "big"} {
				b.Run(fmt.Sprintf("harnesses=%d/servers=%d/file=%s", len(harnesses), n, change), func(b *testing.B) {
					benchmarkReload(b, harnesses, n, change)
				})
			}
		}
	}
}

func benchmarkReload(b *testing.B, harnesses []loaders.Harness, n int, change string) {
	s := newBenchScene(b, n)
	loader := loaders.NewLoader(s.env, harnesses)
	last := loader.Load()
	b.ReportAllocs()
	meter := cpuMeter{b: b}
	for i := 1; b.Loop(); i++ {
		b.StopTimer()
		var path string
		switch change {
		case "small":
			path = s.small(i)
		case "other":
			path = s.other(i)
		default:
			path = s.big(n, i)
		}
		meter.on()
		snapshot, _ := loader.Reload([]string{path})
		if d := model.Diff(last, snapshot); len(d.Cells) == 0 {
			b.Fatal("no cell changed")
		}
		last = snapshot
		meter.off()
		b.StartTimer()
	}
	meter.report()
}

// BenchmarkRewriteThatChangesNothing is what a rewrite of a main file of 5 MB costs when nothing of it is about servers:
// Claude Code does so all the time.
func BenchmarkRewriteThatChangesNothing(b *testing.B) {
	s := newBenchScene(b, 10)
	path := s.write(".claude.json", bigClaudeJSON(s.project, 100))
	loader := loaders.NewLoader(s.env, loaders.All())
	last := loader.Load()
	b.ReportAllocs()
	meter := cpuMeter{b: b}
	for i := 0; b.Loop(); i++ {
		b.StopTimer()
		s.write(".claude.json", bigClaudeJSON(s.project, 101+i%100))
		meter.on()
		if snapshot, _ := loader.Reload([]string{path}); snapshot != last {
			b.Fatal("a new snapshot")
		}
		meter.off()
		b.StartTimer()
	}
	meter.report()
}

// BenchmarkKeyToFrame is one key press to a whole frame of 200 by 60 cells.
func BenchmarkKeyToFrame(b *testing.B) {
	for _, n := range []int{10, 10_000} {
		for name, keys := range map[string]string{"down and up": "jk", "end and start": "Gg", "right and left": "lh"} {
			b.Run(fmt.Sprintf("rows=%d/%s", n, strings.ReplaceAll(name, " ", "-")), func(b *testing.B) {
				s := newBenchScene(b, n)
				var screen tea.Model = ui.New(ui.Options{Snapshot: loaders.NewLoader(s.env, loaders.All()).Load()})
				screen, _ = screen.Update(tea.WindowSizeMsg{Width: 200, Height: 60})
				screen.View()
				b.ReportAllocs()
				start := cpuTime()
				for i := 0; b.Loop(); i++ {
					screen, _ = screen.Update(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune{rune(keys[i%len(keys)])}})
					screen.View()
				}
				b.ReportMetric(float64(cpuTime()-start)/float64(b.N), "cpu-ns/op")
			})
		}
	}
}

// BenchmarkFilterLetter is one letter typed into the filter to a whole frame of 200 by 60 cells.
func BenchmarkFilterLetter(b *testing.B) {
	s := newBenchScene(b, 10_000)
	var screen tea.Model = ui.New(ui.Options{Snapshot: loaders.NewLoader(s.env, loaders.All()).Load()})
	screen, _ = screen.Update(tea.WindowSizeMsg{Width: 200, Height: 60})
	press := func(k tea.KeyMsg) {
		screen, _ = screen.Update(k)
		screen.View()
	}
	press(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune("/")})
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		if i%2 == 0 {
			press(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune("7")})
		} else {
			press(tea.KeyMsg{Type: tea.KeyBackspace})
		}
	}
}

// BenchmarkChangeToFrame is a new snapshot with one changed cell of 10,000 to a whole frame.
func BenchmarkChangeToFrame(b *testing.B) {
	s := newBenchScene(b, 10_000)
	loader := loaders.NewLoader(s.env, loaders.All())
	source := &benchSource{changes: make(chan ui.Change, 1)}
	m := ui.New(ui.Options{Snapshot: loader.Load(), Source: source})
	m.Update(tea.WindowSizeMsg{Width: 200, Height: 60})
	wait := m.Init()
	b.ReportAllocs()
	meter := cpuMeter{b: b}
	for i := 1; b.Loop(); i++ {
		b.StopTimer()
		snapshot, _ := loader.Reload([]string{s.small(i)})
		source.changes <- ui.Change{Snapshot: snapshot}
		msg := wait()
		meter.on()
		m.Update(msg)
		m.View()
		meter.off()
		b.StartTimer()
	}
	meter.report()
}

type benchSource struct{ changes chan ui.Change }

// Wait returns the next change.
func (s *benchSource) Wait(context.Context) (ui.Change, bool) {
	c := <-s.changes
	return c, true
}

// Reread does nothing.
func (*benchSource) Reread(...model.HarnessID) {}
