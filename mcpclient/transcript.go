package mcpclient

import (
	"strings"
	"sync"
	"time"
)

const (
	maxExchangeText = 1 << 10 // bytes shown of one message
	exchangeHead    = 64      // first lines kept of an exchange
	exchangeTail    = 64      // last lines kept
	maxStderrLine   = 4 << 10 // bytes shown of one line of stderr
)

// Direction tells who sent a line of the exchange.
type Direction uint8

// The directions.
const (
	Neither Direction = iota // noise, or something that happened
	Sent
	Received
)

// String is the sign that panes show.
func (d Direction) String() string {
	switch d {
	case Sent:
		return ">"
	case Received:
		return "<"
	default:
		return " "
	}
}

// Line is one line of the exchange.
type Line struct {
	At        time.Duration // since the launch began
	Direction Direction
	Kind      string // the method, or "noise", "end of output", "started", ...
	Text      string // parameters, result or error; one line, cut to about 1 KB
}

// Transcript is what went to and fro. It is masked, cleaned and bounded: 64 KB of stderr, 128 lines of exchange.
type Transcript struct {
	Stderr      []string // the last lines
	StderrLines int      // all that there were
	Exchange    []Line   // the first and the last lines
	LeftOut     int      // lines of the exchange between them
}

// EventKind is what an event is about.
type EventKind uint8

// The events of a launch.
const (
	EventStarted  EventKind = iota + 1 // a process runs; PID is set
	EventAsked                         // Text is the method
	EventAnswered                      // Text is the method
	EventStderr                        // Text is one line; under a flood most are left out
	EventNoise                         // Text is one line of stdout that is no message; the same
	EventStopping                      // the listing is over, the server is being ended
)

// String names the kind.
func (k EventKind) String() string {
	switch k {
	case EventStarted:
		return "started"
	case EventAsked:
		return "asked"
	case EventAnswered:
		return "answered"
	case EventStderr:
		return "stderr"
	case EventNoise:
		return "noise"
	case EventStopping:
		return "stopping"
	default:
		return "unknown"
	}
}

// Event tells what a launch is doing right now. Its text is masked and cleaned.
type Event struct {
	At   time.Duration // since the launch began
	Kind EventKind
	Text string
	PID  int
}

// rawLine is a line of the exchange that is masked only if it is still there at the end: a flood costs no masking.
type rawLine struct {
	Line
	raw string
}

// recorder keeps the transcript and passes events on.
type recorder struct {
	mask  *masker
	start time.Time

	mu     sync.Mutex
	head   []rawLine
	ring   []rawLine // the last lines, oldest at next
	next   int
	total  int
	noise  int
	first  string // line of noise
	last   string // line of noise
	frozen bool   // the listing is over: what a server sends while it ends is not counted
	deaf   bool   // it is being ended by force: what it says of that is not kept
	stderr *tail

	events  chan Event
	flushed chan struct{}
	window  time.Time // rate of live lines
	lively  int
}

func newRecorder(mask *masker, progress func(Event)) *recorder {
	r := &recorder{mask: mask, start: time.Now(), stderr: newTail(stderrTail)}
	if progress != nil {
		events, flushed := make(chan Event, 256), make(chan struct{})
		r.events, r.flushed = events, flushed
		go func() {
			defer close(flushed)
			for e := range events {
				progress(e)
			}
		}()
	}
	return r
}

func (r *recorder) since() time.Duration { return time.Since(r.start) }

// add appends a line. raw is cut with room for a secret that the cut would split.
func (r *recorder) add(d Direction, kind, raw string) {
	if limit := maxExchangeText + r.mask.longest; len(raw) > limit {
		raw = strings.Clone(raw[:limit+1])
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.frozen {
		return
	}
	r.total++
	line := rawLine{Line{At: r.since(), Direction: d, Kind: kind}, raw}
	switch {
	case len(r.head) < exchangeHead:
		r.head = append(r.head, line)
	case len(r.ring) < exchangeTail:
		r.ring = append(r.ring, line)
	default:
		r.ring[r.next] = line
		r.next = (r.next + 1) % exchangeTail
	}
}

// addNoise counts a line of stdout that is no message.
func (r *recorder) addNoise(line []byte, over bool) {
	raw := string(line[:min(len(line), maxExchangeText+r.mask.longest+1)])
	if over {
		raw = "a line of more than 4 MB, dropped"
	}
	r.mu.Lock()
	if r.frozen {
		r.mu.Unlock()
		return
	}
	if r.noise++; r.noise == 1 {
		r.first = raw
	}
	r.last = raw
	r.mu.Unlock()
	r.add(Neither, "noise", raw)
	r.live(EventNoise, raw)
}

// addStderr keeps the tail; lines are for the live pane only.
func (r *recorder) addStderr(p []byte) {
	r.mu.Lock()
	if !r.deaf {
		r.stderr.Write(p)
	}
	r.mu.Unlock()
}

// live passes a line of output on, at most 20 in a tenth of a second.
func (r *recorder) live(kind EventKind, raw string) {
	r.mu.Lock()
	if now := time.Now(); now.Sub(r.window) > 100*time.Millisecond {
		r.window, r.lively = now, 0
	}
	r.lively++
	drop := r.events == nil || r.lively > 20 || len(r.events) > cap(r.events)/2
	r.mu.Unlock()
	if !drop {
		r.event(Event{Kind: kind, Text: r.mask.cut(raw, maxExchangeText)})
	}
}

// event never waits: the reader of a server's output must not depend on who is watching.
func (r *recorder) event(e Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.events == nil {
		return
	}
	e.At = r.since()
	select {
	case r.events <- e:
	default:
	}
}

// freeze ends the exchange: what comes later belongs to the clean-up. Stderr goes on, since nothing says how much of it is
// still in the pipe.
func (r *recorder) freeze() {
	r.mu.Lock()
	r.frozen = true
	r.mu.Unlock()
}

// deafen ends stderr as well: from now on the server complains about being ended.
func (r *recorder) deafen() {
	r.mu.Lock()
	r.deaf = true
	r.mu.Unlock()
}

// again goes on for a second start, with an empty tail.
func (r *recorder) again() {
	r.mu.Lock()
	r.frozen, r.deaf = false, false
	r.stderr = newTail(stderrTail)
	r.mu.Unlock()
}

// close ends the events and waits for those that are under way, but not for a receiver that is stuck.
func (r *recorder) close(patience time.Duration) {
	r.mu.Lock()
	events := r.events
	r.events = nil
	r.mu.Unlock()
	if events == nil {
		return
	}
	close(events)
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-r.flushed:
	case <-timer.C:
	}
}

func (r *recorder) noiseCount() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.noise
}

// printed quotes the first and the last line of noise: often they say what the program is instead.
func (r *recorder) printed() string {
	r.mu.Lock()
	n, first, last := r.noise, r.first, r.last
	r.mu.Unlock()
	text := `"` + r.mask.cut(first, 200) + `"`
	if n > 1 {
		text += ` and "` + r.mask.cut(last, 200) + `"`
	}
	return text
}

// stderrLines returns the masked tail, without blank lines at its end.
func (r *recorder) stderrLines() (lines []string, total int) {
	r.mu.Lock()
	text, torn := r.stderr.text()
	raw := string(text)
	total = r.stderr.lines
	r.mu.Unlock()
	if raw != "" && !strings.HasSuffix(raw, "\n") {
		total++
	}
	raw = strings.TrimRight(strings.ReplaceAll(raw, "\r\n", "\n"), "\n")
	if raw == "" {
		return nil, total
	}
	masked := r.mask.redactor.Text(stripEscapes(raw))
	if torn {
		// It may begin with the end of a secret, which nothing recognises.
		masked = strings.ToValidUTF8(masked[min(len(masked), r.mask.longest):], "")
	}
	for _, line := range strings.Split(masked, "\n") {
		lines = append(lines, r.mask.cut(line, maxStderrLine))
	}
	return lines, total
}

// lastStderr is the last line that says something.
func (r *recorder) lastStderr() string {
	lines, _ := r.stderrLines()
	for i := len(lines) - 1; i >= 0; i-- {
		if s := strings.TrimSpace(lines[i]); s != "" {
			return s
		}
	}
	return ""
}

func (r *recorder) transcript() Transcript {
	var t Transcript
	t.Stderr, t.StderrLines = r.stderrLines()
	r.mu.Lock()
	raws := append(append([]rawLine{}, r.head...), r.ring[r.next:]...)
	raws = append(raws, r.ring[:r.next]...)
	t.LeftOut = r.total - len(raws)
	r.mu.Unlock()
	for _, l := range raws {
		l.Line.Kind = r.mask.cut(l.Kind, 128)
		l.Line.Text = r.mask.cut(l.raw, maxExchangeText)
		t.Exchange = append(t.Exchange, l.Line)
	}
	return t
}
