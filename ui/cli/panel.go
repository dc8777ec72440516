package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync/atomic"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/x/term"

	"fusebox/loaders"
	"fusebox/ui"
	"fusebox/ui/clipboard"
	"fusebox/ui/editor"
	"fusebox/ui/input"
)

// panelOptions are the flags of the screen.
type panelOptions struct {
	theme      string
	ascii      bool
	noMouse    bool
	readOnly   bool
	noSessions bool
}

var errNoTerminal = errors.New("the panel needs a terminal: fusebox list prints the same without one")

// runPanel shows the screen until it is left.
func runPanel(s Streams, o options, p panelOptions) error {
	theme, err := themeOf(p.theme, os.Getenv)
	if err != nil {
		return &exitError{exitUsage, err}
	}
	out, ok := s.Out.(*os.File)
	if !ok || !term.IsTerminal(out.Fd()) {
		return &exitError{exitUsage, errNoTerminal}
	}
	stdin, ok := s.In.(*os.File)
	if !ok {
		return &exitError{exitUsage, errNoTerminal}
	}
	keys, closeKeys, err := input.Open(stdin)
	if err != nil {
		return &exitError{exitUsage, errNoTerminal}
	}
	defer closeKeys()
	session, err := begin("panel", o, true)
	if err != nil {
		return err
	}
	defer session.end()
	defer session.logPanic()
	lookForSessions := !p.noSessions && !o.demo
	source := newLive(session, newLauncher(session.env, loaders.All(), o.timeout), newReloads(session.env, loaders.All(), !lookForSessions))
	source.current.Load().switcher = newSwitcher(session.env, loaders.All(), session.log, source.shown.Load)
	defer source.Close()
	prefs, columns := newColumnPrefs(session.env, session.log)
	source.prefs = prefs
	source.follow()
	screen := ui.New(ui.Options{
		Snapshot: source.last, Source: source, Launcher: currentLauncher{source}, Switcher: currentSwitcher{source}, History: currentHistory{source},
		Columns: columns, SaveColumns: prefs.save,
		Folders: &folders{live: source, harnesses: loaders.All(), timeout: o.timeout, sessions: lookForSessions, log: session.log},
		Theme:   theme, ASCII: p.ascii || asciiLocale(os.Getenv, runtime.GOOS), ReadOnly: p.readOnly, Log: session.log.printf,
		Editor: func(path string, line, column int) tea.ExecCommand {
			name, args := editor.Command(os.Getenv, runtime.GOOS, path, line, column)
			return &guestCommand{Cmd: exec.Command(name, args...), terminal: keys.Terminal(), lent: &session.lent}
		},
		Copy: func(text string) (string, error) { return clipboard.Copy(text, out, runtime.GOOS, os.Getenv) },
	})
	// Bubble Tea's own handler knows no HUP, and waits for ever when a signal comes while the program ends.
	options := []tea.ProgramOption{tea.WithInput(keys), tea.WithOutput(out), tea.WithAltScreen(), tea.WithoutSignalHandler()}
	if !p.noMouse {
		options = append(options, tea.WithMouseCellMotion())
	}
	guard := &panicGuard{Model: screen, log: session.log}
	program := tea.NewProgram(guard, options...)
	guard.quit = program.Quit
	ended := make(chan struct{})
	defer close(ended)
	go func() {
		select {
		case <-session.ctx.Done():
			program.Quit()
		case <-ended:
		}
	}()
	_, err = program.Run()
	switch {
	case guard.fault.Load() != nil:
		return &exitError{exitErrors, fmt.Errorf("something went wrong inside: %v; --log FILE keeps the trace", *guard.fault.Load())}
	case session.ctx.Err() != nil, err == nil:
		return nil
	}
	return &exitError{exitErrors, fmt.Errorf("show the panel: %w", err)}
}

// guestCommand is a program that gets the terminal for a while.
type guestCommand struct {
	*exec.Cmd
	terminal *os.File
	lent     *atomic.Bool
}

// Run runs the program until it ends.
func (c *guestCommand) Run() error {
	c.lent.Store(true)
	defer c.lent.Store(false)
	return c.Cmd.Run()
}

// SetStdin gives it the terminal itself: through a reader that is no file it would not find one.
func (c *guestCommand) SetStdin(io.Reader) { c.Stdin = c.terminal }

// SetStdout sets where it writes.
func (c *guestCommand) SetStdout(w io.Writer) { c.Stdout = w }

// SetStderr sets where it writes errors.
func (c *guestCommand) SetStderr(w io.Writer) { c.Stderr = w }

// panicGuard ends the program in order when its model panics: Bubble Tea's own handler prints the trace to the terminal,
// with whatever the panic holds.
type panicGuard struct {
	tea.Model
	log   *logger
	quit  func()
	fault atomic.Pointer[any]
}

// caught notes a panic of the model and asks the program to end. It must be deferred.
func (g *panicGuard) caught() {
	if fault := recover(); fault != nil {
		g.log.printf("panic: %v\n%s", fault, trace())
		if g.fault.CompareAndSwap(nil, &fault) {
			go g.quit() // from inside the program's own loop it would wait for itself
		}
	}
}

// Init starts the model.
func (g *panicGuard) Init() (cmd tea.Cmd) {
	defer g.caught()
	return g.Model.Init()
}

// Update hands a message to the model; the program keeps talking to the guard.
func (g *panicGuard) Update(msg tea.Msg) (_ tea.Model, cmd tea.Cmd) {
	defer g.caught()
	if g.fault.Load() != nil {
		return g, nil
	}
	_, cmd = g.Model.Update(msg)
	return g, cmd
}

// View draws the model.
func (g *panicGuard) View() (view string) {
	defer g.caught()
	if g.fault.Load() != nil {
		return ""
	}
	return g.Model.View()
}

// themeOf picks the theme: NO_COLOR and a dumb terminal are mono, --theme decides, else COLORFGBG tells a light
// background. Nothing is asked of the terminal.
func themeOf(flag string, env func(string) string) (ui.Theme, error) {
	switch flag {
	case "dark":
		return ui.ThemeDark, nil
	case "light":
		return ui.ThemeLight, nil
	case "mono":
		return ui.ThemeMono, nil
	case "", "auto":
	default:
		return 0, fmt.Errorf("unknown theme %q: auto, dark, light or mono", flag)
	}
	if env("NO_COLOR") != "" || env("TERM") == "dumb" {
		return ui.ThemeMono, nil
	}
	fields := strings.Split(env("COLORFGBG"), ";")
	switch fields[len(fields)-1] {
	case "7", "15":
		return ui.ThemeLight, nil
	}
	return ui.ThemeDark, nil
}

// asciiLocale tells whether the locale says that the terminal cannot show more than ASCII. No locale at all says nothing.
func asciiLocale(env func(string) string, goos string) bool {
	if goos == "windows" {
		return false
	}
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if v := env(name); v != "" {
			v = strings.ToLower(v)
			return !strings.Contains(v, "utf-8") && !strings.Contains(v, "utf8")
		}
	}
	return false
}
