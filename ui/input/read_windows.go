package input

import "os"

// openTerminal opens the console's input. Writing rights are needed to set its mode.
func openTerminal() (*os.File, error) { return os.OpenFile("CONIN$", os.O_RDWR, 0) }

// Read is the file's own: Bubble Tea reads a console as events, not as bytes.
func (f *File) Read(p []byte) (int, error) { return f.file.Read(p) }
