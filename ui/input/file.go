// Package input gives Bubble Tea a terminal to read whose escape sequences are whole. Bubble Tea v1.3.10 takes the end
// of a read for the end of an event: a mouse report that arrives in two reads becomes stray key presses. It does not
// interpret keys, and it sets no terminal mode.
package input

import (
	"fmt"
	"os"
	"time"

	"github.com/charmbracelet/x/term"
)

// joinWait is how long a read waits for the rest of a sequence that it holds the beginning of. A lone Esc key is such a
// beginning, and is late by as much.
const joinWait = 30 * time.Millisecond

// File is a terminal whose Read never ends inside an escape sequence or a UTF-8 character, unless the rest does not
// come in time; of a very long paste only the beginning is read. It has the methods that Bubble Tea and its cancel reader look for (Fd and Name among them), so that raw
// mode and cancelling work as on the file itself.
type File struct {
	file  *os.File
	wait  time.Duration
	paste pasteLimit
}

// Open returns the terminal that keys are read from: stdin, or the controlling terminal when stdin is something else
// (Bubble Tea's own fallback is off once it is given an input). The function closes what was opened here, and never
// stdin.
func Open(stdin *os.File) (*File, func() error, error) {
	if term.IsTerminal(stdin.Fd()) {
		return &File{file: stdin, wait: joinWait}, func() error { return nil }, nil
	}
	tty, err := openTerminal()
	if err != nil {
		return nil, nil, fmt.Errorf("open the terminal (standard input is none): %w", err)
	}
	return &File{file: tty, wait: joinWait}, tty.Close, nil
}

// Terminal returns the file behind. A child that takes over the screen, such as an editor, must get it as its Stdin: a
// reader that is no *os.File would be fed to it through a pipe, and it would not find a terminal.
func (f *File) Terminal() *os.File { return f.file }

// Fd returns the descriptor of the terminal.
func (f *File) Fd() uintptr { return f.file.Fd() }

// Name returns the name of the file: Bubble Tea's cancel reader treats "/dev/tty" in its own way on BSD and macOS.
func (f *File) Name() string { return f.file.Name() }

// Write writes to the terminal.
func (f *File) Write(p []byte) (int, error) { return f.file.Write(p) }

// Close closes the terminal.
func (f *File) Close() error { return f.file.Close() }
