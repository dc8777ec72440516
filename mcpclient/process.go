package mcpclient

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"time"

	"fusebox/model"
)

// exitStatus is how the first process of a group ended by itself.
type exitStatus struct {
	known  bool
	code   int
	signal string // its name, when one ended it
}

// process is a server that was started: its group, and our ends of its three pipes.
type process struct {
	run    *run
	group  *group
	stdin  *os.File
	stdout *os.File
	stderr *os.File

	lines   *lineReader
	frames  []frame // of a batch, not handed out yet
	writing sync.Mutex
	exited  chan struct{} // closed when the first process has been waited for
	status  exitStatus    // valid after exited
	readers sync.WaitGroup
	errDone chan struct{} // closed at the end of stderr
}

// startProcess runs the target in its own process group.
func startProcess(r *run) (*process, *verdict) {
	t := r.target
	if t.Command == "" {
		return nil, failed(model.ReasonEntryInvalid, "the entry has no command")
	}
	if t.Dir != "" {
		if info, err := os.Stat(t.Dir); err != nil || !info.IsDir() {
			return nil, failed(model.ReasonCommandNotFound, "the folder to start it in does not exist: %s", model.MaskText(t.Dir))
		}
	}
	path, v := lookCommand(t.Command, t.Dir, t.Env)
	if v != nil {
		return nil, v
	}
	theirIn, stdin, err := os.Pipe()
	if err != nil {
		return nil, failed(model.ReasonDown, "no pipe for its input: %v", err)
	}
	defer theirIn.Close()
	stdout, theirOut, err := os.Pipe()
	if err != nil {
		stdin.Close()
		return nil, failed(model.ReasonDown, "no pipe for its output: %v", err)
	}
	defer theirOut.Close()
	stderr, theirErr, err := os.Pipe()
	if err != nil {
		stdin.Close()
		stdout.Close()
		return nil, failed(model.ReasonDown, "no pipe for its errors: %v", err)
	}
	defer theirErr.Close()

	cmd := &exec.Cmd{Path: path, Args: append([]string{t.Command}, t.Args...), Dir: t.Dir, Stdin: theirIn, Stdout: theirOut, Stderr: theirErr}
	cmd.Env = append([]string{}, t.Env...) // never nil: that would be our own environment
	g, err := r.opts.Registry.start(func() (*group, error) { return startGroup(cmd) })
	if err != nil {
		stdin.Close()
		stdout.Close()
		stderr.Close()
		if errors.Is(err, errShuttingDown) {
			return nil, stopped()
		}
		return nil, startVerdict(t.Command, err)
	}
	p := &process{run: r, group: g, stdin: stdin, stdout: stdout, stderr: stderr,
		exited: make(chan struct{}), errDone: make(chan struct{})}
	p.lines = newLineReader(output{p, stdout}, maxLine)
	r.mu.Lock()
	r.pid = cmd.Process.Pid
	r.mu.Unlock()
	r.rec.add(Neither, "started", "pid "+strconv.Itoa(cmd.Process.Pid))
	r.rec.event(Event{Kind: EventStarted, PID: cmd.Process.Pid})
	p.readers.Add(2)
	go func() {
		defer p.readers.Done()
		defer r.opts.Registry.killOnPanic()
		p.wait(cmd)
	}()
	go func() {
		defer p.readers.Done()
		defer r.opts.Registry.killOnPanic()
		defer close(p.errDone)
		p.drainErrors()
	}()
	return p, nil
}

// wait takes the exit status. Whoever else holds the pipes has one grace to say something more.
func (p *process) wait(cmd *exec.Cmd) {
	_ = cmd.Wait() // the state says all
	p.status = statusOf(cmd.ProcessState)
	close(p.exited)
	p.quietLimit()
}

// quietLimit makes a read give up when nothing comes for one grace.
func (p *process) quietLimit() {
	limit := time.Now().Add(p.run.opts.Grace)
	for _, f := range []*os.File{p.stdout, p.stderr} {
		if f.SetReadDeadline(limit) != nil {
			// No deadlines on this system's pipes: close it when the time has come.
			time.AfterFunc(p.run.opts.Grace, func() { f.Close() })
		}
	}
}

func (p *process) hasExited() bool {
	select {
	case <-p.exited:
		return true
	default:
		return false
	}
}

// output is a pipe whose read limit moves on while data comes.
type output struct {
	p *process
	f *os.File
}

// Read ends with io.EOF also when the process is gone and its pipe is only held open by somebody else.
func (o output) Read(b []byte) (int, error) {
	n, err := o.f.Read(b)
	if n > 0 && o.p.hasExited() && !o.p.group.isGone() {
		_ = o.f.SetReadDeadline(time.Now().Add(o.p.run.opts.Grace))
	}
	if err != nil {
		err = io.EOF
	}
	return n, err
}

// drainErrors reads stderr to its end, whatever the server writes there.
func (p *process) drainErrors() {
	in := output{p, p.stderr}
	live := newLineReader(io.TeeReader(in, writerFunc(p.run.rec.addStderr)), 2*maxStderrLine)
	for {
		line, over, err := live.next()
		if err != nil {
			return
		}
		if over {
			line = []byte("(a very long line)")
		}
		p.run.rec.live(EventStderr, string(line[:min(len(line), maxExchangeText+p.run.mask.longest+1)]))
	}
}

type writerFunc func([]byte)

func (f writerFunc) Write(p []byte) (int, error) { f(p); return len(p), nil }

// read returns the next message on stdout; everything else there is noise.
func (p *process) read(context.Context) (frame, error) {
	for len(p.frames) == 0 {
		line, over, err := p.lines.next()
		if err != nil {
			return frame{}, &faultError{p.ended()}
		}
		if over {
			p.run.rec.addNoise(nil, true)
			continue
		}
		if len(trimLine(line)) == 0 {
			continue
		}
		frames, kind := decodeLine(line)
		switch kind {
		case lineNoise:
			p.run.rec.addNoise(line, false)
		case lineIgnored:
			p.run.rec.add(Received, "ignored", string(line[:min(len(line), maxExchangeText)]))
		default:
			p.frames = frames
		}
	}
	f := p.frames[0]
	p.frames = p.frames[1:]
	return f, nil
}

// ended is the verdict at the end of stdout. The exit status and the last words on stderr may come a moment later.
func (p *process) ended() *verdict {
	timer := time.NewTimer(p.run.opts.Grace)
	defer timer.Stop()
	status := exitStatus{}
	select {
	case <-p.exited:
		status = p.status
	case <-timer.C:
	}
	if status.known || status.signal != "" {
		select {
		case <-p.errDone:
		case <-timer.C:
		}
	}
	p.run.rec.add(Received, "end of output", "the process closed stdout before it answered")
	return exitVerdict(status, p.run.rec.lastStderr())
}

func (p *process) write(ctx context.Context, m outgoing) error {
	line, err := json.Marshal(m)
	if err != nil {
		return err
	}
	p.writing.Lock()
	defer p.writing.Unlock()
	if limit, ok := ctx.Deadline(); ok {
		_ = p.stdin.SetWriteDeadline(limit)
	}
	_, err = p.stdin.Write(append(line, '\n'))
	return err
}

func (p *process) negotiated(string) {}

// stop ends the group: input closed, TERM, KILL, one grace between. It returns when the group is gone, or was killed and
// does not go.
func (p *process) stop() {
	r := p.run
	r.rec.event(Event{Kind: EventStopping})
	p.stdin.Close()
	gone := p.awaitGone(r.opts.Grace)
	if !gone {
		r.rec.deafen()
		p.group.terminate()
		gone = p.awaitGone(r.opts.Grace)
	}
	if !gone {
		p.group.kill()
		gone = p.awaitGone(max(r.opts.Grace, time.Second))
	}
	if !gone {
		r.note("the process group %s does not end, even after it was killed", strconv.Itoa(p.group.id))
	}
	p.group.markGone()
	r.opts.Registry.gone(p.group)

	// Whatever is still in the pipes has been written; a pipe that stays open is held by a process that left the group.
	soon := time.Now().Add(min(r.opts.Grace, 100*time.Millisecond))
	if p.stdout.SetReadDeadline(soon) != nil || p.stderr.SetReadDeadline(soon) != nil {
		time.Sleep(time.Until(soon))
		p.stdout.Close()
		p.stderr.Close()
	}
}

// close is called when every reader has ended.
func (p *process) close() {
	held := heldOpen(p.stdout)
	if heldOpen(p.stderr) || held {
		p.run.note("a process that left the group holds its output open and may still run")
	}
	p.stdout.Close()
	p.stderr.Close()
}

// heldOpen tells whether somebody can still write to a pipe.
func heldOpen(f *os.File) bool {
	if f.SetReadDeadline(time.Now().Add(50*time.Millisecond)) != nil {
		return false
	}
	b := make([]byte, readChunk)
	for {
		if _, err := f.Read(b); err != nil {
			return errors.Is(err, os.ErrDeadlineExceeded)
		}
	}
}

// awaitGone waits until the first process and everything in its group is gone.
func (p *process) awaitGone(patience time.Duration) bool {
	limit := time.NewTimer(patience)
	defer limit.Stop()
	select {
	case <-p.exited:
	case <-limit.C:
		return false
	}
	pause := 2 * time.Millisecond
	for p.group.alive() {
		select {
		case <-time.After(pause):
			pause = min(2*pause, 50*time.Millisecond)
		case <-limit.C:
			return false
		}
	}
	return true
}
