// Package mcpclient starts or reaches one MCP server, lists its tools and reports what was seen. It speaks both eras of
// the protocol: server/discover (2026-07-28), then initialize (2025-11-25 and earlier).
//
// It does not read configuration files, expand variables, decide whether a server may be started, call a tool, or sign
// in. Nothing that it returns holds a value of the target's secrets.
package mcpclient

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"time"

	"fusebox/model"
)

// Target is one server with every variable filled in.
type Target struct {
	Transport model.Transport

	// stdio
	Command string // a bare name is looked up on the PATH of Env, a relative path starts at Dir
	Args    []string
	Env     []string // the complete environment, KEY=VALUE; nothing of our own is added
	Dir     string

	// http, sse
	URL     string
	Headers []Header

	// Secrets must not appear in anything that comes back. The values of secret-looking variables of Env, secret-looking
	// arguments, the secret parts of URL and the header values count without being listed.
	Secrets []model.Variable
}

// Header is one request header. It goes to the configured host only.
type Header struct{ Name, Value string }

// Options bound a listing. Zero values mean the defaults.
type Options struct {
	Timeout   time.Duration // for all answers together, start and restart included; 20 s
	ProbeWait time.Duration // how long server/discover may stay unanswered on stdio; 3 s
	Grace     time.Duration // between closing the input, TERM and KILL, and for the last DELETE; 1 s

	// Clock dates the observation; time.Now.
	Clock func() time.Time
	// Progress is told what happens, one event at a time. Events are dropped when it is slow; it never holds the client up.
	Progress func(Event)
	// Registry ends the launch when the program ends; nil when nobody else must be able to.
	Registry *Registry
	// Proxy picks the proxy of a request, such as http.ProxyFromEnvironment; nil for none.
	Proxy func(*http.Request) (*url.URL, error)
	// Version of this program, as servers are told.
	Version string
}

const (
	defaultTimeout   = 20 * time.Second
	defaultProbeWait = 3 * time.Second
	defaultGrace     = time.Second
)

func (o Options) withDefaults() Options {
	if o.Timeout <= 0 {
		o.Timeout = defaultTimeout
	}
	if o.ProbeWait <= 0 {
		o.ProbeWait = defaultProbeWait
	}
	if o.Grace <= 0 {
		o.Grace = defaultGrace
	}
	if o.Clock == nil {
		o.Clock = time.Now
	}
	if o.Registry == nil {
		o.Registry = NewRegistry()
	}
	if o.Version == "" {
		o.Version = "0"
	}
	return o
}

// Result is what one launch showed. Every text in it is masked and cleaned.
type Result struct {
	Observation model.Observation
	Tools       []Tool // those that have a name, in the server's order; what was listed before a failure stays

	// Prompts and Resources are counts where the server announces them; nil otherwise. A failure there is a note.
	Prompts, Resources *int

	// Server is the name and version that the server gives itself.
	Server string
	// Challenge is what a server that wants a sign-in says about it; nil otherwise.
	Challenge *Challenge

	Notes   []string
	Output  Transcript
	Spawned bool // a process was started
	PID     int  // the last one's
}

// Tool is one tool as the server describes it.
type Tool struct {
	Name        string
	Title       string
	Description string          // may hold line breaks
	Schema      json.RawMessage // the input schema as sent; nil when there is none
	Annotations Annotations
	Size        int    // characters of the tool's JSON without blanks between tokens
	Malformed   string // what is wrong with it; empty when nothing is
}

// Annotations are the server's own hints about a tool; nil where it gives none.
type Annotations struct {
	ReadOnly, Destructive, Idempotent, OpenWorld *bool
}

// Challenge is the first challenge of a WWW-Authenticate header.
type Challenge struct {
	Scheme           string
	Realm            string
	Scope            string
	ResourceMetadata string // URL without user, query and fragment
	Error            string
}

// List starts or reaches the server, lists its tools and ends it again. It never returns nil, and returns only when the
// server's process group is gone or was killed. Cancelling ctx stops the listing; the clean-up still runs.
func List(ctx context.Context, t Target, o Options) *Result {
	o = o.withDefaults()
	r := newRun(t, o)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	leave, err := o.Registry.enter(cancel)
	if err != nil {
		return r.finish(verdict{text: "not started: the program is ending"})
	}
	defer leave()

	var v verdict
	switch t.Transport {
	case model.TransportStdio:
		v = r.listStdio(ctx)
	case model.TransportHTTP, model.TransportSSE:
		v = r.listHTTP(ctx)
	case model.TransportWS:
		r.note("WebSocket servers are not tried")
		v = verdict{text: "not tried: this client does not speak WebSocket"}
	default:
		v = verdict{outcome: model.OutcomeError, code: model.ReasonEntryInvalid, text: "the entry has no transport that can be tried"}
	}
	return r.finish(v)
}

// Concurrency is how many launches may run side by side on a machine with that many cores.
func Concurrency(cores int) int { return max(8, 4*cores) }
