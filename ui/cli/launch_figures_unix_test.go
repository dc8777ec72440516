//go:build unix

package cli

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"

	"fusebox/mcpclient"
)

// manyServers is how many servers the figures are about.
const manyServers = 50

// BenchmarkManyServers starts 50 servers from the panel on a terminal of its own, types while they start, and tells how long a
// key takes to its frame, how long all of it takes against a bare loop that starts, shakes hands and lists, and how much
// memory the panel took at most. Run it with -benchtime 1x.
func BenchmarkManyServers(b *testing.B) {
	for _, kind := range []string{"demo", "flood"} {
		b.Run(kind, func(b *testing.B) {
			for b.Loop() {
				s := newManyServers(b, kind == "flood")
				bare := s.bareLoop()
				p := s.openPanel()
				idle := p.typeUntil(func() bool { return len(p.times) == 40 })
				p.send("X", "Start or reach")
				p.send("G", "")
				p.quiet()
				start := time.Now()
				p.send("y", "starting")
				busy := p.typeUntil(p.allEnded)
				wall := time.Since(start)
				peak := p.peakMemory()
				p.quiet()
				if !p.wrote(p.mark, "all well") || !p.wrote(p.mark, "50 of 50") {
					b.Error("not all of them were listed")
				}
				p.quit()
				b.ReportMetric(milliseconds(idle[len(idle)/2]), "idle-key-ms")
				b.ReportMetric(milliseconds(busy[len(busy)/2]), "key-ms")
				b.ReportMetric(milliseconds(busy[len(busy)-1]), "worst-key-ms")
				b.ReportMetric(float64(len(busy)), "keys")
				b.ReportMetric(milliseconds(wall), "wall-ms")
				b.ReportMetric(milliseconds(bare), "bare-ms")
				b.ReportMetric(float64(peak)/1024, "peak-MB")
			}
		})
	}
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// manyServersScene is a home whose Claude Code has 50 servers.
type manyServersScene struct {
	b       *testing.B
	scene   *scene
	fusebox string
	servers []serverOfTest
}

func newManyServers(b *testing.B, flood bool) *manyServersScene {
	b.Helper()
	s := &manyServersScene{b: b, scene: newScene(b)}
	self, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	s.fusebox = filepath.Join(filepath.Dir(s.scene.home), "fusebox")
	if err := os.Symlink(self, s.fusebox); err != nil {
		b.Fatal(err)
	}
	var entries []string
	for i := range manyServers {
		name := fmt.Sprintf("server-%02d", i)
		d := serverOfTest{command: s.fusebox, args: []string{"demo-server", "notes", name}, env: map[string]string{}}
		if flood {
			d = s.scene.server(name, serverScript{Flood: true})
		}
		s.servers = append(s.servers, d)
		entries = append(entries, jsonText(name)+": "+d.json())
	}
	s.scene.write("~/.claude.json", `{"mcpServers": {`+strings.Join(entries, ", ")+`}}`)
	return s
}

func (s *manyServersScene) environment() []string {
	return []string{"TERM=xterm-256color", "LANG=C.UTF-8", "HOME=" + s.scene.home, "PATH=/usr/bin:/bin", "TMPDIR=" + s.b.TempDir()}
}

// bareLoop starts every server, as many at once as the panel does, shakes hands, lists, and ends it.
func (s *manyServersScene) bareLoop() time.Duration {
	s.b.Helper()
	start := time.Now()
	slots := make(chan struct{}, mcpclient.Concurrency(runtime.NumCPU()))
	var all sync.WaitGroup
	for _, d := range s.servers {
		slots <- struct{}{}
		all.Go(func() {
			defer func() { <-slots }()
			if err := bareListing(d, s.environment()); err != nil {
				s.b.Error(err)
			}
		})
	}
	all.Wait()
	return time.Since(start)
}

func bareListing(d serverOfTest, env []string) error {
	cmd := exec.Command(d.command, d.args...)
	cmd.Env = env
	for k, v := range d.env {
		cmd.Env = append(cmd.Env, k+"="+v)
	}
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	lines := bufio.NewReader(out)
	answer := func(id string) error {
		for {
			line, err := lines.ReadBytes('\n')
			if err != nil || bytes.Contains(line, []byte(`"id":`+id)) {
				return err
			}
		}
	}
	fmt.Fprintln(in, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"bare","version":"1"}}}`)
	if err := answer("1"); err != nil {
		return err
	}
	fmt.Fprintln(in, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	fmt.Fprintln(in, `{"jsonrpc":"2.0","id":2,"method":"tools/list","params":{}}`)
	if err := answer("2"); err != nil {
		return err
	}
	if err := in.Close(); err != nil {
		return err
	}
	for err == nil {
		_, err = lines.ReadBytes('\n')
	}
	return cmd.Wait()
}

// panelOnTerminal is the program itself on a terminal of 120 by 35.
type panelOnTerminal struct {
	b      *testing.B
	cmd    *exec.Cmd
	master *os.File
	mark   int // what was written before the launch
	times  []time.Duration

	mu     sync.Mutex
	output []byte
}

func (s *manyServersScene) openPanel() *panelOnTerminal {
	s.b.Helper()
	cmd := exec.Command(s.fusebox, "--project", s.scene.project)
	cmd.Env = s.environment()
	master, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: 35, Cols: 120})
	if err != nil {
		s.b.Fatal(err)
	}
	p := &panelOnTerminal{b: s.b, cmd: cmd, master: master}
	s.b.Cleanup(func() {
		p.cmd.Process.Kill() //nolint:errcheck // it has ended when all went well
		master.Close()       //nolint:errcheck // the test is over
	})
	go func() {
		buffer := make([]byte, 1<<16)
		for {
			n, err := master.Read(buffer)
			p.mu.Lock()
			p.output = append(p.output, buffer[:n]...)
			p.mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	p.waitFor(0, "1 of 50")
	p.quiet()
	return p
}

var terminalSequence = regexp.MustCompile("\x1b(\\[[0-?]*[ -/]*[@-~]|[@-Z\\\\-_])")

func (p *panelOnTerminal) written() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.output)
}

func (p *panelOnTerminal) wrote(mark int, text string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return bytes.Contains(terminalSequence.ReplaceAll(p.output[mark:], nil), []byte(text))
}

// allEnded tells whether the header, as it was written last, speaks of no server that starts.
func (p *panelOnTerminal) allEnded() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	since := p.output[p.mark:]
	at := bytes.LastIndex(since, []byte("\x1b[1mfusebox")) // the panes do not say it in bold
	if at < 0 {
		return false
	}
	line, _, whole := bytes.Cut(since[at:], []byte("\r\n"))
	return whole && !bytes.Contains(line, []byte("starting"))
}

func (p *panelOnTerminal) waitFor(mark int, text string) {
	p.b.Helper()
	for end := time.Now().Add(3 * patience); !p.wrote(mark, text); time.Sleep(200 * time.Microsecond) {
		if time.Now().After(end) {
			p.mu.Lock()
			defer p.mu.Unlock()
			p.b.Fatalf("%q is never written, only %q", text, p.output[mark:])
		}
	}
}

// quiet waits until nothing is written any more.
func (p *panelOnTerminal) quiet() {
	for last := -1; last != p.written(); time.Sleep(100 * time.Millisecond) {
		last = p.written()
	}
}

// send types a key and waits for a text that it brings.
func (p *panelOnTerminal) send(key, text string) {
	p.b.Helper()
	p.mark = p.written()
	if _, err := p.master.WriteString(key); err != nil {
		p.b.Fatal(err)
	}
	p.waitFor(p.mark, text)
}

// typeUntil moves the cursor down and up and measures how long each key takes until its frame was written, in order of
// length.
func (p *panelOnTerminal) typeUntil(done func() bool) []time.Duration {
	p.b.Helper()
	p.times = nil
	for i := 0; !done(); i++ {
		key, text := "j", "2 of 50"
		if i%2 == 1 {
			key, text = "k", "1 of 50"
		}
		mark, start := p.written(), time.Now()
		if _, err := p.master.WriteString(key); err != nil {
			p.b.Fatal(err)
		}
		p.waitFor(mark, text)
		p.times = append(p.times, time.Since(start))
		time.Sleep(20 * time.Millisecond)
	}
	slices.Sort(p.times)
	return p.times
}

// peakMemory is the most that the panel had in memory, in KB; 0 where the system does not tell.
func (p *panelOnTerminal) peakMemory() (kilobytes int) {
	status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	for line := range strings.Lines(string(status)) {
		if rest, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			fmt.Sscan(rest, &kilobytes)
		}
	}
	return kilobytes
}

func (p *panelOnTerminal) quit() {
	p.b.Helper()
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		p.b.Fatal(err)
	}
	if err := p.cmd.Wait(); err != nil {
		p.b.Fatal(err)
	}
}
