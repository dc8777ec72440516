package mcpclient

import (
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"fusebox/model"
)

// verdict is how a listing ended. The zero value says that it was given up.
type verdict struct {
	outcome   model.Outcome
	code      model.ReasonCode
	text      string // one sentence; may hold foreign text, it is masked at the end
	word      string // where the code's own is too general
	exit      *int
	challenge *Challenge
}

func okVerdict() *verdict { return &verdict{outcome: model.OutcomeOK} }

func failed(code model.ReasonCode, format string, args ...any) *verdict {
	return &verdict{outcome: model.OutcomeError, code: code, text: fmt.Sprintf(format, args...)}
}

func stopped() *verdict { return &verdict{text: "stopped before it was listed"} }

// exitVerdict is that of a process that ended by itself.
func exitVerdict(e exitStatus, stderr string) *verdict {
	tail := ""
	if stderr != "" {
		tail = ": " + stderr
	}
	switch {
	case e.signal != "":
		return failed(model.ReasonKilled, "it was ended by %s before it answered%s", e.signal, tail)
	case e.known:
		code := e.code
		v := failed(model.ReasonExited, "exit %d before it answered%s", code, tail)
		v.exit = &code
		v.word = exitWord(code)
		return v
	default:
		return failed(model.ReasonExited, "it closed its output before it answered%s", tail)
	}
}

// exitWord fits into the 7 cells of a word.
func exitWord(code int) string {
	s := strconv.Itoa(code)
	switch {
	case len(s) <= 2:
		return "exit " + s
	case len(s) == 3:
		return "exit" + s
	default:
		return "exited"
	}
}

// run is one listing from its beginning to its result.
type run struct {
	target Target
	opts   Options
	mask   *masker
	rec    *recorder
	began  time.Time

	mu        sync.Mutex
	notes     []string
	protocol  string
	server    string
	tools     []Tool
	prompts   *int
	resources *int
	pid       int
	took      time.Duration
}

func newRun(t Target, o Options) *run {
	m := newMasker(t)
	return &run{target: t, opts: o, mask: m, rec: newRecorder(m, o.Progress), began: o.Clock()}
}

const maxNotes = 20

func (r *run) note(format string, args ...any) {
	text := r.mask.cut(fmt.Sprintf(format, args...), maxExchangeText)
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, n := range r.notes {
		if n == text {
			return
		}
	}
	if len(r.notes) < maxNotes {
		r.notes = append(r.notes, text)
	}
}

// settle stops the clock: what follows is the clean-up.
func (r *run) settle() {
	r.mu.Lock()
	r.took = r.rec.since()
	r.mu.Unlock()
	r.rec.freeze()
}

func (r *run) finish(v verdict) *Result {
	r.mu.Lock()
	took := r.took
	r.mu.Unlock()
	if took == 0 {
		r.settle()
	}
	r.rec.close(r.opts.Grace)
	noise := r.rec.noiseCount()
	if noise > 0 {
		r.note("%s on stdout %s no MCP %s and %s skipped", count(noise, "line"), choose(noise, "is", "are"),
			choose(noise, "message", "messages"), choose(noise, "was", "were"))
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	word := v.word
	if word == "" && v.outcome != model.OutcomeOK {
		info, _ := v.code.Info()
		word = info.Word
	}
	return &Result{
		Observation: model.Observation{
			At: r.began, Took: r.took, Outcome: v.outcome,
			Reason: model.Reason{Code: v.code, Text: r.mask.cut(v.text, maxExchangeText)},
			Word:   word, Protocol: r.mask.cut(r.protocol, 64), Noise: noise, Exit: v.exit,
		},
		Tools: r.tools, Prompts: r.prompts, Resources: r.resources, Server: r.server, Challenge: r.maskChallenge(v.challenge),
		Notes: r.notes, Output: r.rec.transcript(), Spawned: r.pid != 0, PID: r.pid,
	}
}

func (r *run) maskChallenge(c *Challenge) *Challenge {
	if c == nil {
		return nil
	}
	text := func(s string) string { return r.mask.cut(s, 512) }
	return &Challenge{Scheme: text(c.Scheme), Realm: text(c.Realm), Scope: text(c.Scope),
		ResourceMetadata: text(c.ResourceMetadata), Error: text(c.Error)}
}

func count(n int, word string) string { return strconv.Itoa(n) + " " + choose(n, word, word+"s") }

func choose(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}

// seconds writes a duration for people: "20 s", "0.8 s".
func seconds(d time.Duration) string {
	return strings.TrimSuffix(strconv.FormatFloat(d.Seconds(), 'f', 1, 64), ".0") + " s"
}
