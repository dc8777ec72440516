package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"fusebox/loaders"
	"fusebox/model"
	"fusebox/ui"
	"fusebox/watch/sessions"
)

// patience is how long a test waits for the screen: far longer than it should take, since no test measures time.
const patience = time.Minute

// sometime is how long a test waits for what must not come.
const sometime = 600 * time.Millisecond

// jsonText writes a text as JSON.
func jsonText(s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	return string(b)
}

// scene is a home with a project in it, in folders of its own.
type scene struct {
	t             testing.TB
	home, project string
	env           *loaders.Env
	sessions      func() []sessions.Session // open sessions of harnesses; nil: they are not looked for
}

func newScene(t testing.TB) *scene {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	s := &scene{t: t, home: filepath.Join(base, "home"), project: filepath.Join(base, "home", "shop")}
	if err := os.MkdirAll(filepath.Join(s.project, ".git"), 0o700); err != nil {
		t.Fatal(err)
	}
	s.env = &loaders.Env{Root: filepath.Join(base, "root"), Home: s.home, Project: s.project, GOOS: runtime.GOOS,
		Vars: map[string]string{"HOME": s.home}, UID: os.Getuid(), Now: time.Now}
	return s
}

// path is a file of the scene: "~/..." of the home, else of the project.
func (s *scene) path(name string) string {
	if rest, ok := strings.CutPrefix(name, "~/"); ok {
		return filepath.Join(s.home, filepath.FromSlash(rest))
	}
	return filepath.Join(s.project, filepath.FromSlash(name))
}

// write puts a file in place, in one step of its own folder.
func (s *scene) write(name, text string) {
	s.t.Helper()
	path := s.path(name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		s.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		s.t.Fatal(err)
	}
}

// recorded is a source that keeps what the screen took last.
type recorded struct {
	*live
	given    *model.Snapshot
	snapshot atomic.Pointer[model.Snapshot]
}

// Wait returns the next change. It is asked for when the one before was taken.
func (r *recorded) Wait(ctx context.Context) (ui.Change, bool) {
	if r.given != nil {
		r.snapshot.Store(r.given)
	}
	change, ok := r.live.Wait(ctx)
	if ok {
		r.given = change.Snapshot
	}
	return change, ok
}

// screen is the panel without a terminal: messages in, frames out. Commands run as Bubble Tea runs them.
type screen struct {
	t      testing.TB
	model  tea.Model
	source *recorded
	msgs   chan tea.Msg
	done   chan struct{}
	frame  string
	frames int // frames that differ from the one before

	edited string // what e opened last, as path:line
	mu     sync.Mutex
	copied string // what was copied, all of it
	log    strings.Builder
}

// countedSwitcher knows whether a step is still being written: the screen may show what it changed before it is recorded.
type countedSwitcher struct {
	currentSwitcher
	writing *sync.RWMutex
}

// Apply writes a step.
func (c countedSwitcher) Apply(p ui.SwitchPlan) ui.SwitchReport {
	c.writing.RLock()
	defer c.writing.RUnlock()
	return c.currentSwitcher.Apply(p)
}

// Undo takes one back.
func (c countedSwitcher) Undo() ui.SwitchReport {
	c.writing.RLock()
	defer c.writing.RUnlock()
	return c.currentSwitcher.Undo()
}

// noEditor is an editor that nobody runs.
type noEditor struct{}

func (noEditor) Run() error          { return nil }
func (noEditor) SetStdin(io.Reader)  {}
func (noEditor) SetStdout(io.Writer) {}
func (noEditor) SetStderr(io.Writer) {}

// open starts the panel on a scene, in a window of 120 by 35, without colour.
func (s *scene) open(harnesses ...string) *screen {
	s.t.Helper()
	picked, unknown := loaders.Select(loaders.All(), harnesses)
	if unknown != "" {
		s.t.Fatalf("no harness %s", unknown)
	}
	p := &screen{t: s.t, msgs: make(chan tea.Msg), done: make(chan struct{})}
	log := newLogger(&p.log, s.env.Now)
	reloads := newReloads(s.env, picked, true)
	if s.sessions != nil {
		reloads.find = func(context.Context, []sessions.Program) ([]sessions.Session, error) { return s.sessions(), nil }
	}
	source := &recorded{live: newLive(&session{env: s.env, loader: loaders.NewLoader(s.env, picked), log: log}, newLauncher(s.env, picked, patience), reloads)}
	source.current.Load().switcher = newSwitcher(s.env, picked, log, source.shown.Load)
	source.snapshot.Store(source.last)
	p.source = source
	var writing sync.RWMutex
	s.t.Cleanup(func() {
		close(p.done)
		writing.Lock()
		if err := source.Close(); err != nil {
			s.t.Error(err)
		}
	})
	p.model = ui.New(ui.Options{Snapshot: source.last, Source: source, Theme: ui.ThemeMono, Launcher: currentLauncher{source.live}, Switcher: countedSwitcher{currentSwitcher{source.live}, &writing}, History: currentHistory{source.live},
		Log: log.printf,
		Editor: func(path string, line, _ int) tea.ExecCommand {
			p.edited = fmt.Sprintf("%s:%d", path, line)
			return noEditor{}
		},
		Copy: func(text string) (string, error) {
			p.mu.Lock()
			defer p.mu.Unlock()
			p.copied += text + "\n"
			return "copied", nil
		}})
	p.start(p.model.Init())
	p.take(tea.WindowSizeMsg{Width: 120, Height: 35})
	return p
}

// start runs a command; its message waits until it is taken.
func (p *screen) start(cmd tea.Cmd) {
	if cmd == nil {
		return
	}
	go func() {
		msg := cmd()
		if batch, ok := msg.(tea.BatchMsg); ok {
			for _, c := range batch {
				p.start(c)
			}
			return
		}
		select {
		case p.msgs <- msg:
		case <-p.done:
		}
	}()
}

// take gives a message to the model and draws.
func (p *screen) take(msg tea.Msg) {
	var cmd tea.Cmd
	p.model, cmd = p.model.Update(msg)
	p.start(cmd)
	if frame := p.model.View(); frame != p.frame {
		p.frame = frame
		p.frames++
	}
}

// keys types keys: letters one by one, and the names of special ones.
func (p *screen) keys(keys ...string) {
	special := map[string]tea.KeyType{"enter": tea.KeyEnter, "esc": tea.KeyEsc, "up": tea.KeyUp, "down": tea.KeyDown,
		"left": tea.KeyLeft, "right": tea.KeyRight, "tab": tea.KeyTab}
	for _, k := range keys {
		if kind, ok := special[k]; ok {
			p.take(tea.KeyMsg{Type: kind})
			continue
		}
		for _, r := range k {
			p.take(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune{r}})
		}
	}
}

// waitFor takes messages until the frame holds all of the texts, and returns how long that took.
func (p *screen) waitFor(texts ...string) time.Duration {
	p.t.Helper()
	return p.waitUntil(strings.Join(texts, `" and "`), func(frame string) bool { return holdsAll(frame, texts) })
}

func holdsAll(frame string, texts []string) bool {
	flat := flatten(frame)
	for _, text := range texts {
		if !strings.Contains(flat, text) {
			return false
		}
	}
	return true
}

// flatten joins the lines, and the words in them by single blanks, the pane's apart from the grid's: what is wrapped is found
// again.
func flatten(frame string) string {
	var left, right strings.Builder
	for _, line := range strings.Split(frame, "\n") {
		grid, pane, _ := strings.Cut(line, "│")
		left.WriteString(grid + "\n")
		right.WriteString(pane + " ")
	}
	fields := func(s string) string { return strings.Join(strings.Fields(s), " ") }
	var lines []string
	for _, line := range strings.Split(left.String(), "\n") {
		lines = append(lines, fields(line))
	}
	return strings.Join(lines, "\n") + "\n" + fields(right.String())
}

func (p *screen) waitUntil(what string, ok func(frame string) bool) time.Duration {
	p.t.Helper()
	start := time.Now()
	limit := time.NewTimer(patience)
	defer limit.Stop()
	look := time.NewTicker(20 * time.Millisecond) // what is asked may be about more than the frame
	defer look.Stop()
	for !ok(p.frame) {
		select {
		case msg := <-p.msgs:
			p.take(msg)
		case <-look.C:
		case <-limit.C:
			p.t.Fatalf("the screen never shows %q; it shows\n%s\nlog:\n%s", what, p.frame, p.log.String())
		}
	}
	return time.Since(start)
}

// settle takes messages for a while: what is still on its way arrives.
func (p *screen) settle(d time.Duration) {
	limit := time.NewTimer(d)
	defer limit.Stop()
	for {
		select {
		case msg := <-p.msgs:
			p.take(msg)
		case <-limit.C:
			return
		}
	}
}

// shows asks for texts in the frame as it is.
func (p *screen) shows(texts ...string) {
	p.t.Helper()
	for _, text := range texts {
		if !strings.Contains(flatten(p.frame), text) {
			p.t.Errorf("the screen does not show %q:\n%s", text, p.frame)
		}
	}
}

// lacks asks that texts are not in the frame as it is.
func (p *screen) lacks(texts ...string) {
	p.t.Helper()
	for _, text := range texts {
		if strings.Contains(flatten(p.frame), text) {
			p.t.Errorf("the screen shows %q:\n%s", text, p.frame)
		}
	}
}
