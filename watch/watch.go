// Package watch turns a set of paths into batches of changed paths: files and
// folders, existing or not, through symlinks, from file events where the
// system has them and by polling where it has not.
//
// It does not read any file's content, does not know what a path is for, and
// does not decide whether a file makes sense: a batch only says "look again".
package watch

import (
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/fsnotify/fsnotify"
)

// NotePolling is the text of Batch.Note while some path is polled.
const NotePolling = "polling, no file events"

const (
	defaultQuiet   = 50 * time.Millisecond
	defaultLongest = 250 * time.Millisecond
	defaultPoll    = time.Second
	// auditEvery bounds how long a change stays unseen that no event tells,
	// such as a file system mounted over a watched folder.
	auditEvery = 30 * time.Second
)

// Backend is the source of file events. Folders are added by their real path
// and are not recursive. An event's name is the added path, a separator and
// the entry's base name, or the added path itself.
type Backend interface {
	Add(folder string) error
	Remove(folder string) error
	// WatchList returns the folders that are really watched at the moment.
	WatchList() []string
	// Events and Errors are closed by Close.
	Events() <-chan fsnotify.Event
	Errors() <-chan error
	Close() error
}

// Options of a Watcher. The zero value is good for a program.
type Options struct {
	// Quiet is the time without a further relevant event after which a batch
	// is made (default 50 ms); Longest is the time after the first event at
	// which it is made anyway (default 250 ms).
	Quiet, Longest time.Duration
	// Poll is the interval of the polling fall-back (default 1 s).
	Poll time.Duration
	// NewBackend makes the source of events; nil stands for fsnotify. It is
	// called again every Poll while it returns an error.
	NewBackend func() (Backend, error)
	// ForcePolling never uses events.
	ForcePolling bool
}

// Batch is what changed since the batch before.
type Batch struct {
	// Paths are sorted members of the set, spelled as they were given to
	// SetPaths: those that changed, appeared or vanished, or whose symlinks
	// changed. A watched folder is among them when an entry of it appears or
	// vanishes. Paths is empty when only the note changed.
	Paths []string
	// Note is "" or NotePolling.
	Note string
	// NoteChanged says that Note differs from the batch before.
	NoteChanged bool
}

// Watcher watches one set of paths. All methods may be called from any
// goroutine at any time.
type Watcher struct {
	options Options
	batches chan Batch

	setMu sync.Mutex // serialises SetPaths; guards given
	given []string

	set      chan setRequest
	again    chan againRequest
	closing  chan struct{}
	closed   chan struct{}
	once     sync.Once
	closeErr error
}

type setRequest struct {
	paths []string
	done  chan struct{}
}

type againRequest struct {
	paths []string
	due   time.Time
}

// New starts a Watcher with an empty set. It never fails: without events it
// polls, and says so in Batch.Note.
func New(o Options) *Watcher {
	if o.Quiet <= 0 {
		o.Quiet = defaultQuiet
	}
	if o.Longest <= 0 {
		o.Longest = defaultLongest
	}
	if o.Poll <= 0 {
		o.Poll = defaultPoll
	}
	if o.NewBackend == nil {
		o.NewBackend = newFSNotify
	}
	w := &Watcher{
		options: o,
		batches: make(chan Batch),
		set:     make(chan setRequest),
		again:   make(chan againRequest),
		closing: make(chan struct{}),
		closed:  make(chan struct{}),
	}
	go w.run(newLoop(o))
	return w
}

// Batches returns the channel of batches. It has no buffer: what changes while
// nobody receives is merged into the next batch. It is closed by Close.
func (w *Watcher) Batches() <-chan Batch { return w.batches }

// SetPaths replaces the set of watched paths: files and folders, existing or
// not. A relative path is taken from the working directory. When it returns
// the set is watched: every later change is reported. What changed before is
// not, so read files after SetPaths, or ask for them with Again.
func (w *Watcher) SetPaths(paths []string) {
	w.setMu.Lock()
	defer w.setMu.Unlock()
	if slices.Equal(paths, w.given) {
		return
	}
	given := slices.Clone(paths)
	request := setRequest{paths: given, done: make(chan struct{})}
	select {
	case w.set <- request:
		select {
		case <-request.done:
			w.given = given
		case <-w.closed:
		}
	case <-w.closed:
	}
}

// Again reports these paths once more after the delay, changed or not,
// together with what else changed by then. It is for a reader that found a
// file empty or broken right after an event. Paths outside the set are
// dropped; a path that already waits keeps the earlier of the two times.
func (w *Watcher) Again(paths []string, after time.Duration) {
	request := againRequest{paths: slices.Clone(paths), due: time.Now().Add(after)}
	select {
	case w.again <- request:
	case <-w.closed:
	}
}

// Close stops watching, closes the channel of batches and waits until nothing
// of the Watcher runs any more.
func (w *Watcher) Close() error {
	w.once.Do(func() { close(w.closing) })
	<-w.closed
	return w.closeErr
}

// fsnotifyBackend adapts fsnotify to Backend.
type fsnotifyBackend struct{ *fsnotify.Watcher }

func newFSNotify() (Backend, error) {
	w, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, err
	}
	return fsnotifyBackend{w}, nil
}

func (b fsnotifyBackend) Events() <-chan fsnotify.Event { return b.Watcher.Events }
func (b fsnotifyBackend) Errors() <-chan error          { return b.Watcher.Errors }

// inbox gathers what a backend sends. Its pump never waits for the loop: some
// backends hold a lock, or stop answering Add, until their event is taken.
type inbox struct {
	wake chan struct{}

	mu      sync.Mutex
	events  map[string]fsnotify.Op
	lookAll bool
	dead    bool
	done    chan struct{} // closed when the pump has ended
}

// inboxLimit bounds the names held between two visits of the loop; beyond it
// looking at everything costs less.
const inboxLimit = 4096

func newInbox(b Backend) *inbox {
	in := &inbox{wake: make(chan struct{}, 1), events: map[string]fsnotify.Op{}, done: make(chan struct{})}
	go in.pump(b.Events(), b.Errors())
	return in
}

func (in *inbox) pump(events <-chan fsnotify.Event, errs <-chan error) {
	defer close(in.done)
	for events != nil || errs != nil {
		select {
		case e, ok := <-events:
			if !ok {
				events = nil
				in.update(func() { in.dead = true })
				continue
			}
			in.update(func() {
				in.events[e.Name] |= e.Op
				if len(in.events) > inboxLimit {
					in.lookAll = true
					clear(in.events)
				}
			})
		case err, ok := <-errs:
			if !ok {
				errs = nil
				continue
			}
			// A lost event and an error of unknown meaning ask for the same.
			if !errors.Is(err, fsnotify.ErrClosed) {
				in.update(func() { in.lookAll = true })
			}
		}
	}
}

func (in *inbox) update(f func()) {
	in.mu.Lock()
	f()
	in.mu.Unlock()
	select {
	case in.wake <- struct{}{}:
	default:
	}
}

// take empties the inbox.
func (in *inbox) take() (events map[string]fsnotify.Op, lookAll, dead bool) {
	in.mu.Lock()
	defer in.mu.Unlock()
	events, lookAll, dead = in.events, in.lookAll, in.dead
	in.events, in.lookAll = map[string]fsnotify.Op{}, false
	return events, lookAll, dead
}
