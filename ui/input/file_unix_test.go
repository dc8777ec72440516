//go:build unix

package input

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/x/term"
	"github.com/creack/pty"
	"github.com/muesli/cancelreader"
)

var (
	_ term.File         = (*File)(nil)
	_ cancelreader.File = (*File)(nil)
)

// patience ends a test that hangs.
const patience = time.Minute

// counter is a program that counts what reaches it. It quits at q.
type counter struct {
	ready chan struct{}
	seen  chan<- string // gets each key too, when it is there
	mouse int
	keys  []string
}

func (c counter) Init() tea.Cmd {
	return func() tea.Msg { close(c.ready); return nil }
}

func (c counter) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.MouseMsg:
		c.mouse++
	case tea.KeyMsg:
		if msg.String() == "q" {
			return c, tea.Quit
		}
		c.keys = append(c.keys, msg.String())
		if c.seen != nil {
			c.seen <- msg.String()
		}
	}
	return c, nil
}

func (c counter) View() string { return "" }

// runProgram runs a real program on a terminal, types into it and returns what reached it. What is typed must end with q.
func runProgram(t *testing.T, wait time.Duration, seen chan<- string, typeInto func(io.Writer) error) counter {
	t.Helper()
	master, tty, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { master.Close(); tty.Close() })
	go io.Copy(io.Discard, master) //nolint:errcheck // the screen is of no interest
	before, err := term.GetState(tty.Fd())
	if err != nil {
		t.Fatal(err)
	}

	model := counter{ready: make(chan struct{}), seen: seen}
	file := &File{file: tty, wait: wait}
	program := tea.NewProgram(model, tea.WithInput(file), tea.WithOutput(tty), tea.WithMouseCellMotion(), tea.WithoutSignalHandler())
	stop := time.AfterFunc(patience, program.Kill)
	defer stop.Stop()
	typed := make(chan error, 1)
	go func() {
		<-model.ready
		typed <- typeInto(master)
	}()
	final, err := program.Run()
	if err != nil {
		t.Fatalf("run: %v", err)
	}
	if err := <-typed; err != nil {
		t.Fatalf("type: %v", err)
	}
	after, err := term.GetState(tty.Fd())
	if err != nil {
		t.Fatal(err)
	}
	if *before != *after {
		t.Error("the terminal's mode was not restored")
	}
	return final.(counter)
}

// wheel returns so many reports of the mouse wheel, at places of different length.
func wheel(reports int) []byte {
	var b bytes.Buffer
	for i := range reports {
		fmt.Fprintf(&b, "\x1b[<%d;%d;%dM", 64+i%2, 1+i%200, 1+i%60)
	}
	return b.Bytes()
}

// The wait in these two is long, so that a busy machine cannot fail them.
func TestWheelReportsAtOnce(t *testing.T) {
	t.Parallel()
	const reports = 1000
	got := runProgram(t, patience/4, nil, func(w io.Writer) error {
		_, err := w.Write(append(wheel(reports), 'q'))
		return err
	})
	if got.mouse != reports || len(got.keys) > 0 {
		t.Errorf("%d mouse events and the keys %q, want %d and none", got.mouse, got.keys, reports)
	}
}

func TestWheelReportsInPieces(t *testing.T) {
	t.Parallel()
	const reports, piece = 1000, 7
	got := runProgram(t, patience/4, nil, func(w io.Writer) error {
		bytes := append(wheel(reports), 'q')
		for len(bytes) > 0 {
			n := min(piece, len(bytes))
			if _, err := w.Write(bytes[:n]); err != nil {
				return err
			}
			bytes = bytes[n:]
			time.Sleep(100 * time.Microsecond) // so that the reader sees single pieces
		}
		return nil
	})
	if got.mouse != reports || len(got.keys) > 0 {
		t.Errorf("%d mouse events and the keys %q, want %d and none", got.mouse, got.keys, reports)
	}
}

// TestKeys types each key when the one before has arrived. Esc and others that look like a beginning are among them.
func TestKeys(t *testing.T) {
	t.Parallel()
	keys := []struct{ typed, want string }{
		{"\x1b", "esc"}, {"\x1b[A", "up"}, {"\x1bx", "alt+x"}, {"\x1b[", "alt+["}, {"\x1bO", "alt+O"}, {"\x1b", "esc"}, {"é", "é"},
		{"●", "●"}, {"\x1bOP", "f1"}, {"\x1b[[A", "f1"}, {"\x1b[Z", "shift+tab"}, {"\x1b[1;5C", "ctrl+right"}, {"\x1b", "esc"}, {"j", "j"},
	}
	seen := make(chan string, 1)
	got := runProgram(t, joinWait, seen, func(w io.Writer) error {
		for _, key := range keys {
			if _, err := io.WriteString(w, key.typed); err != nil {
				return err
			}
			select {
			case got := <-seen:
				if got != key.want {
					t.Errorf("%q arrived as %q, want %q", key.typed, got, key.want)
				}
			case <-time.After(patience / 2):
				return fmt.Errorf("%q did not arrive", key.typed)
			}
		}
		_, err := io.WriteString(w, "q")
		return err
	})
	if got.mouse != 0 {
		t.Errorf("%d mouse events, want none", got.mouse)
	}
}

func TestReadNeverFillsTheBuffer(t *testing.T) {
	t.Parallel()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	text := strings.Repeat("\x1b[<65;81;11M", 50) + "\x1b[" + strings.Repeat("1", 500) + strings.Repeat("●", 90)
	go func() {
		io.WriteString(w, text) //nolint:errcheck // the reader notices
		w.Close()
	}()
	file := &File{file: r, wait: patience}
	var got []byte
	for size := 2; ; size = 2 + (size+17)%300 {
		buffer := make([]byte, size)
		n, err := file.Read(buffer)
		got = append(got, buffer[:n]...)
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if n == 0 || n == size {
			t.Fatalf("read %d bytes of a buffer of %d", n, size)
		}
	}
	if string(got) != text {
		t.Error("bytes were lost or changed their order")
	}
}

func TestOpenTakesATerminalAsItIs(t *testing.T) {
	t.Parallel()
	master, tty, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer master.Close()
	defer tty.Close()
	file, closer, err := Open(tty)
	if err != nil {
		t.Fatal(err)
	}
	if file.Terminal() != tty || file.Fd() != tty.Fd() || file.Name() != tty.Name() {
		t.Error("it is another file")
	}
	if err := closer(); err != nil {
		t.Fatal(err)
	}
	if _, err := tty.Stat(); err != nil {
		t.Errorf("standard input was closed: %v", err)
	}
}

// openInChild runs TestOpenChild in a session of its own with a pipe as standard input.
func openInChild(t *testing.T) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^TestOpenChild$", "-test.count=1")
	cmd.Env = append(os.Environ(), "FUSEBOX_TEST_OPEN_CHILD=1")
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stdin.Close() })
	return cmd
}

func TestOpenChild(t *testing.T) {
	if os.Getenv("FUSEBOX_TEST_OPEN_CHILD") == "" {
		t.Skip("this is the child of other tests")
	}
	file, closer, err := Open(os.Stdin)
	if err != nil {
		fmt.Printf("error: %v\n", err)
		return
	}
	line, err := bufio.NewReader(file).ReadString('\n')
	fmt.Printf("%s: %q, %v, close: %v\n", file.Name(), line, err, closer())
}

func TestOpenFindsTheControllingTerminal(t *testing.T) {
	t.Parallel()
	master, tty, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer master.Close()
	cmd := openInChild(t)
	var out bytes.Buffer
	cmd.Stdout = &out
	cmd.ExtraFiles = []*os.File{tty}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true, Ctty: 3}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	tty.Close()
	if _, err := io.WriteString(master, "hello\n"); err != nil {
		t.Fatal(err)
	}
	stop := time.AfterFunc(patience, func() { cmd.Process.Kill() }) //nolint:errcheck // it may have ended
	defer stop.Stop()
	if err := cmd.Wait(); err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	if want := `/dev/tty: "hello\n", <nil>, close: <nil>`; !strings.Contains(out.String(), want) {
		t.Errorf("the child wrote %q, want %q", out.String(), want)
	}
}

func TestOpenWithoutATerminal(t *testing.T) {
	t.Parallel()
	cmd := openInChild(t)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	if want := "error: open the terminal (standard input is none): "; !strings.Contains(string(out), want) {
		t.Errorf("the child wrote %q, want %q", out, want)
	}
}

func TestAChildGetsTheTerminalItself(t *testing.T) {
	t.Parallel()
	master, tty, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer master.Close()
	defer tty.Close()
	cmd := exec.Command("test", "-t", "0")
	cmd.Stdin = (&File{file: tty}).Terminal()
	if err := cmd.Run(); err != nil {
		t.Errorf("the child found no terminal: %v", err)
	}
}
