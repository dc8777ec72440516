package mcpclient

import (
	"context"
	"errors"
	"sync"
)

// errShuttingDown is returned to a launch that comes after the end has begun.
var errShuttingDown = errors.New("the program is ending")

// Registry knows every launch that is going on and every process group that may be alive, so that none outlives the
// program. It is safe for concurrent use.
type Registry struct {
	mu       sync.Mutex
	closed   bool
	launches map[*launch]struct{}
	groups   map[*group]struct{}
}

// launch is one call of List.
type launch struct {
	cancel context.CancelFunc
	done   chan struct{}
}

// NewRegistry returns an empty registry.
func NewRegistry() *Registry {
	return &Registry{launches: map[*launch]struct{}{}, groups: map[*group]struct{}{}}
}

// enter registers a launch; the function that it returns ends the registration.
func (r *Registry) enter(cancel context.CancelFunc) (leave func(), err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return nil, errShuttingDown
	}
	l := &launch{cancel: cancel, done: make(chan struct{})}
	r.launches[l] = struct{}{}
	return func() {
		r.mu.Lock()
		delete(r.launches, l)
		r.mu.Unlock()
		close(l.done)
	}, nil
}

// Live returns how many launches are going on.
func (r *Registry) Live() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.launches)
}

// Shutdown stops every launch and returns when each has ended its process group: input closed, TERM, KILL, with the grace
// of its options between. No launch starts afterwards. Every further call waits for the same end, so a second signal
// must only call it again.
func (r *Registry) Shutdown() {
	r.mu.Lock()
	r.closed = true
	waits := make([]chan struct{}, 0, len(r.launches))
	for l := range r.launches {
		l.cancel()
		waits = append(waits, l.done)
	}
	r.mu.Unlock()
	for _, done := range waits {
		<-done
	}
}

// KillAll kills every process group at once and waits for nothing: for a panic, or when Shutdown took too long. No launch
// starts afterwards.
func (r *Registry) KillAll() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	for g := range r.groups {
		g.kill()
	}
}

// killOnPanic is deferred by every goroutine of a launch: the panic goes on, the servers do not.
func (r *Registry) killOnPanic() {
	if p := recover(); p != nil {
		r.KillAll()
		panic(p)
	}
}

// start runs f, which makes a process group, unless the end has begun: KillAll must not miss a process that is just being
// made.
func (r *Registry) start(f func() (*group, error)) (*group, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return nil, errShuttingDown
	}
	g, err := f()
	if err == nil {
		r.groups[g] = struct{}{}
	}
	return g, err
}

func (r *Registry) gone(g *group) {
	r.mu.Lock()
	delete(r.groups, g)
	r.mu.Unlock()
}
