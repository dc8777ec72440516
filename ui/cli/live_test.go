package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"fusebox/loaders"
	"fusebox/model"
)

// replaceByRename puts a text in the place of a file as careful programs do.
func replaceByRename(t *testing.T, path, text string) {
	t.Helper()
	temp := filepath.Join(filepath.Dir(path), ".new-"+filepath.Base(path))
	if err := os.WriteFile(temp, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(temp, path); err != nil {
		t.Fatal(err)
	}
}

// TestEveryFileOfEveryHarnessIsFollowed creates, edits, replaces, deletes and makes again each file that a harness looks at,
// its folders included: each time the screen follows.
func TestEveryFileOfEveryHarnessIsFollowed(t *testing.T) {
	t.Parallel()
	for _, h := range loaders.All() {
		t.Run(string(h.ID), func(t *testing.T) {
			t.Parallel()
			s := newScene(t)
			base := filepath.Dir(s.home)
			p := s.open(string(h.ID))
			p.take(tea.WindowSizeMsg{Width: 200, Height: 60})
			p.keys("f")
			var took []time.Duration
			status := func(path string) model.FileStatus {
				for _, f := range p.source.snapshot.Load().Columns[0].Files {
					if f.Path == path {
						return f.Status
					}
				}
				return model.FileAbsent
			}
			names := func(path string) (out []string) {
				for _, c := range p.source.snapshot.Load().Columns[0].Cells {
					if c.Source.Path == path {
						out = append(out, c.Name)
					}
				}
				return out
			}
			edited := 0
			for _, f := range p.source.snapshot.Load().Columns[0].Files {
				if !loaders.Within(f.Path, base) || f.Status != model.FileAbsent {
					continue
				}
				text := (&canaries{}).fill(canaryVariants(f.Path, s.project)["whole"])
				if err := os.MkdirAll(filepath.Dir(f.Path), 0o700); err != nil {
					t.Fatal(err)
				}
				step := func(what string, act func(), done func() bool) {
					t.Helper()
					before := p.frame
					act()
					took = append(took, p.waitUntil(what+" "+f.Path, func(frame string) bool { return frame != before && done() }))
				}
				there := func() bool { return status(f.Path) != model.FileAbsent }
				gone := func() bool { return status(f.Path) == model.FileAbsent }
				write := func(text string) func() {
					return func() {
						if err := os.WriteFile(f.Path, []byte(text), 0o600); err != nil {
							t.Fatal(err)
						}
					}
				}
				remove := func() {
					if err := os.Remove(f.Path); err != nil {
						t.Fatal(err)
					}
				}
				step("create", write(text), there)
				for _, name := range names(f.Path) {
					other := renamed(text, name)
					if other == text {
						continue
					}
					edited++
					p.keys("q") // what is in a file shows in the grid
					has := func(name string) func() bool {
						return func() bool { return slices.Contains(names(f.Path), name) }
					}
					step("edit", write(other), has(name+"-2"))
					step("replace by rename", func() { replaceByRename(t, f.Path, text) }, has(name))
					p.keys("kf")
					break
				}
				step("delete", remove, gone)
				step("make again", write(text), there)
				step("delete with its folder", func() {
					if dir := filepath.Dir(f.Path); dir != base && dir != s.home && dir != s.project {
						if err := os.RemoveAll(dir); err != nil {
							t.Fatal(err)
						}
						return
					}
					remove()
				}, gone)
			}
			if edited == 0 {
				t.Error("no file gave a server: nothing was edited")
			}
			slices.Sort(took)
			t.Logf("%d changes shown: median %s, slowest %s", len(took), took[len(took)/2].Round(time.Millisecond), took[len(took)-1].Round(time.Millisecond))
		})
	}
}

// renamed gives one server of a file another name.
func renamed(text, name string) string {
	for _, form := range []string{`"%s":{`, `"%s":{"`, "[mcp_servers.%s]", "  %s: {", "{name: %s,"} {
		if old := fmt.Sprintf(form, name); strings.Contains(text, old) {
			return strings.ReplaceAll(strings.ReplaceAll(text, old, fmt.Sprintf(form, name+"-2")), "[mcp_servers."+name+".", "[mcp_servers."+name+"-2.")
		}
	}
	return text
}

// TestAThousandWrites: a file that is written all the time makes few frames, and its last state is shown.
func TestAThousandWrites(t *testing.T) {
	t.Parallel()
	for _, way := range []string{"in place", "by rename"} {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			s := newScene(t)
			s.write(".mcp.json", "{}")
			p := s.open("claude-code")
			before := p.frames
			start := time.Now()
			written := make(chan time.Time, 1)
			go func() {
				for i := range 1000 {
					text := fmt.Sprintf(`{"mcpServers": {"number-%d": {"command": "x"}}}`, i)
					if way == "in place" {
						s.write(".mcp.json", text)
					} else {
						replaceByRename(t, s.path(".mcp.json"), text)
					}
					time.Sleep(time.Until(start.Add(time.Duration(i) * 2 * time.Millisecond)))
				}
				written <- time.Now()
			}()
			p.waitFor("number-999")
			last := time.Now()
			end := <-written
			p.settle(sometime)
			p.shows("number-999")
			lasted := end.Sub(start)
			// A slow machine writes for longer: four changes a second, and four seconds after each its mark ends.
			limit := max(12, int(8*lasted/time.Second))
			if n := p.frames - before; n > limit {
				t.Errorf("%d frames in %s, at most %d", n, lasted, limit)
			} else {
				t.Logf("%d frames in %s, the last one %s after the last write", n, lasted.Round(time.Millisecond), last.Sub(end).Round(time.Millisecond))
			}
		})
	}
}

// bigClaudeJSON is a main file of Claude Code of about 5 MB, as long use makes it, with two servers.
func bigClaudeJSON(project string, starts int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "{\n  \"numStartups\": %d,\n  \"projects\": {\n", starts)
	line := strings.Repeat("words of a prompt ", 20)
	for i := range 200 {
		fmt.Fprintf(&b, "    \"/home/ann/work/project-%d\": {\"hasTrustDialogAccepted\": true, \"lastCost\": %d, \"history\": [", i, starts)
		for j := range 70 {
			if j > 0 {
				b.WriteString(", ")
			}
			fmt.Fprintf(&b, "{\"display\": \"%s %d\"}", line, j)
		}
		b.WriteString("]},\n")
	}
	fmt.Fprintf(&b, "    %s: {\"hasTrustDialogAccepted\": true, \"mcpServers\": {\"local\": {\"command\": \"x\"}}}\n  },\n", jsonText(project))
	b.WriteString("  \"mcpServers\": {\n    \"docs\": {\"command\": \"docs-server\"}\n  }\n}\n")
	return b.String()
}

// TestABigFileThatChangesNothing: Claude Code rewrites its main file all the time; what is not about servers draws nothing.
func TestABigFileThatChangesNothing(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.write("~/.claude.json", bigClaudeJSON(s.project, 100))
	p := s.open("claude-code")
	p.shows("docs", "local", "2 of 2")
	p.settle(sometime)
	frame, frames := p.frame, p.frames
	for starts := range 4 {
		text := bigClaudeJSON(s.project, 101+starts)
		if starts%2 == 0 {
			replaceByRename(t, s.path("~/.claude.json"), text)
		} else {
			s.write("~/.claude.json", text)
		}
		p.settle(sometime)
	}
	if p.frames != frames {
		t.Errorf("%d frames were drawn, the last one\n%s\nafter\n%s", p.frames-frames, p.frame, frame)
	}
	// Lines that move are shown where they are now, and nothing is marked as changed.
	p.shows("~/.claude.json:207")
	s.write("~/.claude.json", strings.Replace(bigClaudeJSON(s.project, 105), "{", "{\n  \"tips\": {},", 1))
	p.waitFor("~/.claude.json:208")
	p.lacks("*○")

	s.write("~/.claude.json", strings.Replace(bigClaudeJSON(s.project, 105), "docs-server", "better-server", 1))
	p.waitFor("runs better-server")
}

// TestTheFolderGoesAndComesBack: the header says that the folder of the panel is gone, for as long as it is.
func TestTheFolderGoesAndComesBack(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.write(".mcp.json", `{"mcpServers": {"docs": {"command": "x"}}}`)
	s.write("~/.claude.json", `{"mcpServers": {"mail": {"command": "x"}}}`)
	p := s.open("claude-code")
	p.shows("docs", "mail")
	p.lacks(noteFolderGone)
	elsewhere := s.project + "-elsewhere"
	if err := os.Rename(s.project, elsewhere); err != nil {
		t.Fatal(err)
	}
	p.waitFor(noteFolderGone)
	p.waitUntil("docs is gone, mail is not", func(frame string) bool { return !strings.Contains(frame, "docs") && strings.Contains(frame, "mail") })
	if err := os.Rename(elsewhere, s.project); err != nil {
		t.Fatal(err)
	}
	p.waitUntil("it is back", func(frame string) bool {
		return !strings.Contains(frame, noteFolderGone) && strings.Contains(frame, "docs")
	})
}

// TestAFileThatIsThereForAMoment: a file comes after the watcher looked and before the loader reads, and is gone before the
// watcher looks again. What is shown follows.
func TestAFileThatIsThereForAMoment(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.write("~/.claude.json", `{"mcpServers": {"mail": {"command": "x"}}}`)
	var armed atomic.Bool
	s.env.Now = func() time.Time { // a reload asks for the time before it reads
		if armed.CompareAndSwap(true, false) {
			s.write(".mcp.json", `{"mcpServers": {"docs": {"command": "x"}}}`)
		}
		return time.Now()
	}
	p := s.open("claude-code")
	p.shows("mail")
	p.settle(sometime)
	armed.Store(true)
	p.source.watcher.Again([]string{s.path("~/.claude.json")}, 0)
	p.waitFor("docs")
	if err := os.Remove(s.path(".mcp.json")); err != nil {
		t.Fatal(err)
	}
	p.waitUntil("docs is gone", func(frame string) bool { return !strings.Contains(frame, "docs") })
}
