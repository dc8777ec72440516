package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"strings"
	"syscall"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/x/term"

	"fusebox/model"
	"fusebox/ui"
	"fusebox/ui/clipboard"
	"fusebox/ui/editor"
	"fusebox/ui/input"
)

// panelOptions are the flags of the screen.
type panelOptions struct {
	theme    string
	ascii    bool
	noMouse  bool
	readOnly bool
}

var errNoTerminal = errors.New("the panel needs a terminal: fusebox list prints the same without one")

// runPanel shows the screen until it is left.
func runPanel(s Streams, o options, p panelOptions) error {
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
	theme, err := themeOf(p.theme, os.Getenv)
	if err != nil {
		return &exitError{exitUsage, err}
	}
	loader, err := newLoader(o)
	if err != nil {
		return err
	}
	source := newLive(loader)
	defer source.Close()
	log, closeLog, err := openLog(o.log, source.last)
	if err != nil {
		return err
	}
	defer closeLog()
	screen := ui.New(ui.Options{
		Snapshot: source.last, Source: source, Theme: theme, ASCII: p.ascii || asciiLocale(os.Getenv, runtime.GOOS), ReadOnly: p.readOnly, Log: log,
		Editor: func(path string, line, column int) *exec.Cmd {
			name, args := editor.Command(os.Getenv, runtime.GOOS, path, line, column)
			cmd := exec.Command(name, args...)
			cmd.Stdin = keys.Terminal()
			return cmd
		},
		Copy: func(text string) (string, error) { return clipboard.Copy(text, out, runtime.GOOS, os.Getenv) },
	})
	options := []tea.ProgramOption{tea.WithInput(keys), tea.WithOutput(out), tea.WithAltScreen()}
	if !p.noMouse {
		options = append(options, tea.WithMouseCellMotion())
	}
	program := tea.NewProgram(screen, options...)
	stop := quitOnHangUp(program)
	defer stop()
	_, err = program.Run()
	if err != nil && !errors.Is(err, tea.ErrInterrupted) && !errors.Is(err, tea.ErrProgramKilled) {
		return &exitError{exitErrors, fmt.Errorf("show the panel: %w", err)}
	}
	return nil
}

// quitOnHangUp quits on SIGHUP: Bubble Tea v1 itself handles INT and TERM only.
func quitOnHangUp(program *tea.Program) (stop func()) {
	signals := make(chan os.Signal, 1)
	done := make(chan struct{})
	signal.Notify(signals, syscall.SIGHUP)
	go func() {
		select {
		case <-signals:
			program.Quit()
		case <-done:
		}
	}()
	return func() {
		signal.Stop(signals)
		close(done)
	}
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

// openLog opens the log file, if one is asked for, and returns what writes to it: masked, one entry a line.
func openLog(path string, snapshot *model.Snapshot) (log func(format string, args ...any), closeLog func() error, err error) {
	if path == "" {
		return func(string, ...any) {}, func() error { return nil }, nil
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, nil, &exitError{exitUsage, fmt.Errorf("open the log: %w", err)}
	}
	return maskedLog(f, snapshot), f.Close, nil
}

func maskedLog(w io.Writer, snapshot *model.Snapshot) func(format string, args ...any) {
	redactor := model.NewRedactor(append(snapshot.Secrets(), environmentSecrets(os.Environ())...))
	return func(format string, args ...any) {
		for _, line := range strings.Split(strings.TrimRight(fmt.Sprintf(format, args...), "\n"), "\n") {
			fmt.Fprintln(w, redactor.Text(model.Clean(line)))
		}
	}
}

// environmentSecrets are the values of secret-looking variables of this process.
func environmentSecrets(environ []string) []model.Variable {
	var out []model.Variable
	for _, kv := range environ {
		if name, value, ok := strings.Cut(kv, "="); ok && model.IsSecretName(name) {
			out = append(out, model.Variable{Name: name, Value: model.NewSecret(value)})
		}
	}
	return out
}
