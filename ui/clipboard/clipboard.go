// Package clipboard copies one line of text to wherever the user can paste it from: through the terminal (OSC 52, which
// also works over SSH) and through the system's own clipboard. It never reads a clipboard, and it masks no secrets: its
// callers pass text that may be shown.
package clipboard

import (
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"time"
	"unicode/utf8"

	system "github.com/atotto/clipboard"
	"github.com/aymanbagabas/go-osc52/v2"

	"fusebox/model"
)

// MaxBytes is the most that is copied, in bytes: terminals drop an OSC 52 whose base64 form is longer than about 100 kB.
const MaxBytes = 64 << 10

// patience bounds the wait for the system's clipboard: its programs hang when the display they talk to does.
const patience = 2 * time.Second

// errNone is the answer where there is neither a terminal that could know OSC 52 nor a clipboard.
var errNone = errors.New("copy: this terminal has no clipboard, and no clipboard program was found")

// Copy copies the text, made harmless by model.Clean and cut to MaxBytes, and returns how, for a toast: "copied
// (terminal)", "copied (xclip)", "copied (terminal, xclip)". Whether a terminal took what it was sent cannot be known.
// out is the program's output, the very file that the screen is drawn to, so that this one write and a frame do not
// mix. env looks a variable up and returns "" for an unset one. Copy starts a program and waits for it: call it from a
// command, not from Update.
func Copy(text string, out io.Writer, goos string, env func(string) string) (string, error) {
	c := copier{out: out, env: env, patience: patience}
	if !system.Unsupported {
		c.system, c.systemName = system.WriteAll, systemName(goos, env, onPath)
	}
	return c.copy(text)
}

// copier holds what Copy reaches, so that tests need neither a terminal nor a clipboard.
type copier struct {
	out        io.Writer
	env        func(string) string
	system     func(string) error // nil: there is none
	systemName string
	patience   time.Duration
}

func (c copier) copy(text string) (string, error) {
	text, cut := bound(model.Clean(text))
	var ways []string
	var failed error
	if sequence := terminalSequence(text, c.env); sequence != "" {
		if _, err := io.WriteString(c.out, sequence); err != nil {
			failed = fmt.Errorf("copy to the terminal: %w", err)
		} else {
			ways = append(ways, "terminal")
		}
	}
	if c.system != nil {
		if err := c.copyToSystem(text); err != nil {
			failed = fmt.Errorf("copy with %s: %w", c.systemName, err)
		} else {
			ways = append(ways, c.systemName)
		}
	}
	switch {
	case len(ways) == 0 && failed != nil:
		return "", failed
	case len(ways) == 0:
		return "", errNone
	}
	how := "copied (" + strings.Join(ways, ", ") + ")"
	if cut {
		how += fmt.Sprintf(", only the first %d kB", MaxBytes>>10)
	}
	return how, nil
}

// copyToSystem gives up after a while. The goroutine that it leaves then ends with the program it waits for.
func (c copier) copyToSystem(text string) error {
	done := make(chan error, 1)
	go func() { done <- c.system(text) }()
	timer := time.NewTimer(c.patience)
	defer timer.Stop()
	select {
	case err := <-done:
		return err
	case <-timer.C:
		return fmt.Errorf("no answer after %v", c.patience)
	}
}

// bound cuts text to MaxBytes without splitting a character.
func bound(text string) (string, bool) {
	if len(text) <= MaxBytes {
		return text, false
	}
	end := MaxBytes
	for !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end], true
}

// terminalSequence returns the OSC 52 sequence in the wrapping that the terminal needs, or "" for a terminal that would
// print it.
func terminalSequence(text string, env func(string) string) string {
	sequence := osc52.New(text)
	name := env("TERM")
	switch {
	case name == "" || name == "dumb" || name == "linux":
		return ""
	case env("TMUX") != "":
		// tmux takes the plain form with "set-clipboard on", and hands the wrapped one through with "allow-passthrough
		// on". It drops the one that it does not take.
		return sequence.String() + sequence.Tmux().String()
	case name == "screen" || strings.HasPrefix(name, "screen.") || strings.HasPrefix(name, "screen-"):
		return sequence.Screen().String()
	}
	return sequence.String()
}

// systemName returns the program that the clipboard library uses, by its own order, or "system".
func systemName(goos string, env func(string) string, onPath func(string) bool) string {
	switch goos {
	case "darwin":
		return "pbcopy"
	case "windows", "plan9":
		return "system"
	}
	switch {
	case env("WAYLAND_DISPLAY") != "" && onPath("wl-copy") && onPath("wl-paste"):
		return "wl-copy"
	case onPath("xclip"):
		return "xclip"
	case onPath("xsel"):
		return "xsel"
	case onPath("termux-clipboard-set") && onPath("termux-clipboard-get"):
		return "termux"
	case onPath("clip.exe") && onPath("powershell.exe"):
		return "clip.exe"
	}
	return "system"
}

func onPath(program string) bool {
	_, err := exec.LookPath(program)
	return err == nil
}
