package mcpclient

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"sync"
	"time"

	"fusebox/model"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// maxRequests is how many requests a server may make of a client that only lists.
const maxRequests = 100

// carrier moves messages to and from one server.
type carrier interface {
	// read returns the next message. An error ends the link; a *faultError says why.
	read(ctx context.Context) (frame, error)
	// write sends one message. A *jsonrpc.Error is the server's own answer to it, a *faultError ends the link.
	write(ctx context.Context, m outgoing) error
	// negotiated tells the carrier which version was agreed on.
	negotiated(version string)
}

// faultError carries the verdict that a carrier has come to.
type faultError struct{ verdict *verdict }

func (e *faultError) Error() string { return e.verdict.text }

// answer is what came back for one request.
type answer struct {
	result json.RawMessage
	err    *jsonrpc.Error
}

// link sits between the bytes and whoever asks: it numbers the requests of the SDK's client and our own, hands each
// answer to the one who asked, and deals with the requests of the server itself.
type link struct {
	run     *run
	carrier carrier
	ctx     context.Context

	replies chan outgoing
	done    chan struct{} // closed with the verdict
	wait    sync.WaitGroup

	mu       sync.Mutex
	lastID   int64
	asked    map[int64]pending
	waiting  string // the method that was asked last
	heard    bool   // the server has answered something
	requests int
	verdict  *verdict
}

type pending struct {
	method  string
	deliver func(answer)
}

func newLink(ctx context.Context, r *run, c carrier) *link {
	l := &link{run: r, carrier: c, ctx: ctx, replies: make(chan outgoing, maxRequests+1), done: make(chan struct{}), asked: map[int64]pending{}}
	l.wait.Add(2)
	go func() {
		defer l.wait.Done()
		defer r.opts.Registry.killOnPanic()
		l.readAll()
	}()
	go func() {
		defer l.wait.Done()
		defer r.opts.Registry.killOnPanic()
		l.replyAll()
	}()
	return l
}

// fail ends the link; only the first verdict counts.
func (l *link) fail(v *verdict) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.verdict != nil {
		return
	}
	l.verdict = v
	close(l.done)
}

// ended returns the verdict that ended the link, or nil.
func (l *link) ended() *verdict {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.verdict
}

func (l *link) everHeard() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.heard
}

// send asks for something. deliver is called once with the answer, from the reader's goroutine or this one, and must not
// wait; it is not called when the link ends before.
func (l *link) send(ctx context.Context, method string, params json.RawMessage, deliver func(answer)) (int64, error) {
	l.mu.Lock()
	if v := l.verdict; v != nil {
		l.mu.Unlock()
		return 0, &faultError{v}
	}
	l.lastID++
	id := l.lastID
	l.asked[id] = pending{method, deliver}
	l.waiting = method
	l.mu.Unlock()

	l.run.rec.add(Sent, method, string(params))
	l.run.rec.event(Event{Kind: EventAsked, Text: method})
	err := l.carrier.write(ctx, outgoing{Version: "2.0", ID: json.RawMessage(strconv.FormatInt(id, 10)), Method: method, Params: params})
	if err == nil {
		return id, nil
	}
	var refusal *jsonrpc.Error
	var fault *faultError
	switch {
	case errors.As(err, &fault):
		l.fail(fault.verdict)
	case errors.As(err, &refusal):
		l.answered(id, answer{err: refusal})
		return id, nil
	}
	l.forget(id)
	return 0, err
}

func (l *link) notify(ctx context.Context, method string, params json.RawMessage) error {
	if v := l.ended(); v != nil {
		return &faultError{v}
	}
	l.run.rec.add(Sent, method, string(params))
	err := l.carrier.write(ctx, outgoing{Version: "2.0", Method: method, Params: params})
	var fault *faultError
	if errors.As(err, &fault) {
		l.fail(fault.verdict)
	}
	return err
}

// call asks and waits. A nil verdict comes with an answer, which may be a refusal.
func (l *link) call(ctx context.Context, method string, params any) (answer, *verdict) {
	raw, err := json.Marshal(params)
	if err != nil {
		return answer{}, failed(model.ReasonNotMCP, "%s cannot be asked: %v", method, err)
	}
	got := make(chan answer, 1)
	id, err := l.send(l.ctx, method, raw, func(a answer) { got <- a })
	if err != nil {
		return answer{}, l.why(ctx, err)
	}
	defer l.forget(id)
	select {
	case a := <-got:
		return a, nil
	case <-l.done:
	case <-ctx.Done():
	}
	select { // an answer that came together with the end counts
	case a := <-got:
		return a, nil
	default:
		return answer{}, l.why(ctx, nil)
	}
}

// why says what stopped a request.
func (l *link) why(ctx context.Context, err error) *verdict {
	if v := l.ended(); v != nil {
		return v
	}
	if errors.Is(ctx.Err(), context.Canceled) {
		return stopped()
	}
	if ctx.Err() != nil || errors.Is(err, context.DeadlineExceeded) {
		return l.timedOut()
	}
	// The write failed before the reader has seen the end of the output: the end says more.
	select {
	case <-l.done:
		return l.ended()
	case <-time.After(l.run.opts.Grace):
	}
	return failed(model.ReasonDown, "the request could not be sent: %v", err)
}

func (l *link) timedOut() *verdict {
	l.mu.Lock()
	method := l.waiting
	l.mu.Unlock()
	text := "no answer"
	if method != "" {
		text += " to " + method
	}
	text += " within " + seconds(l.run.opts.Timeout)
	if l.run.rec.noiseCount() > 0 {
		text += "; it printed " + l.run.rec.printed()
	} else if last := l.run.rec.lastStderr(); last != "" {
		text += `; the last line of stderr: ` + l.run.mask.cut(last, 200)
	}
	return failed(model.ReasonTimeout, "%s", text)
}

func (l *link) forget(id int64) {
	l.mu.Lock()
	delete(l.asked, id)
	l.mu.Unlock()
}

// answered hands an answer over. An answer that nobody waits for is passed by.
func (l *link) answered(id int64, a answer) {
	l.mu.Lock()
	p, ok := l.asked[id]
	ok = ok && l.verdict == nil // too late when the link has ended
	delete(l.asked, id)
	if ok {
		l.heard = true
	}
	l.mu.Unlock()
	kind := p.method
	if !ok {
		kind = "unexpected answer"
	}
	if a.err != nil {
		l.run.rec.add(Received, kind, "error "+strconv.FormatInt(a.err.Code, 10)+": "+a.err.Message)
	} else {
		l.run.rec.add(Received, kind, string(a.result[:min(len(a.result), 1<<20)]))
	}
	if ok {
		l.run.rec.event(Event{Kind: EventAnswered, Text: p.method})
		p.deliver(a)
	}
}

func (l *link) readAll() {
	for {
		f, err := l.carrier.read(l.ctx)
		if err != nil {
			var fault *faultError
			switch {
			case errors.As(err, &fault):
				l.fail(fault.verdict)
			case errors.Is(l.ctx.Err(), context.DeadlineExceeded):
				l.fail(l.timedOut())
			case l.ctx.Err() != nil:
				l.fail(stopped())
			default:
				l.fail(failed(model.ReasonDown, "the connection ended before the answer: %v", err))
			}
			return
		}
		switch {
		case f.isAnswer():
			if id := f.number(); id > 0 {
				l.answered(id, answer{f.result, f.err})
			} else {
				l.run.rec.add(Received, "unexpected answer", string(f.id))
			}
		case f.id != nil:
			l.requested(f)
		default:
			l.run.rec.add(Received, f.method, string(f.params))
		}
	}
}

// requested answers a ping and refuses the rest, so that the server does not wait for us.
func (l *link) requested(f frame) {
	l.run.rec.add(Received, f.method, string(f.params))
	l.mu.Lock()
	l.requests++
	n := l.requests
	l.mu.Unlock()
	if n > maxRequests {
		l.fail(failed(model.ReasonNotMCP, "the server sent too many requests"))
		return
	}
	m := outgoing{Version: "2.0", ID: f.id}
	if f.method == "ping" {
		m.Result = json.RawMessage("{}")
	} else {
		m.Error = &jsonrpc.Error{Code: codeMethodNotFound, Message: "this client only lists tools"}
	}
	l.replies <- m // has room for all that are allowed
}

// replyAll writes the replies; the reader must not wait for a server that does not read.
func (l *link) replyAll() {
	for {
		select {
		case m := <-l.replies:
			kind, text := "reply", string(m.Result)
			if m.Error != nil {
				text = "error " + strconv.FormatInt(m.Error.Code, 10) + ": " + m.Error.Message
			}
			l.run.rec.add(Sent, kind, text)
			if err := l.carrier.write(l.ctx, m); err != nil && l.ctx.Err() != nil {
				return
			}
		case <-l.done:
			return
		case <-l.ctx.Done():
			return
		}
	}
}
