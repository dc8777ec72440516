package watch

import (
	"maps"
	"slices"
	"time"
)

// burst times a run of events: it is due after some quiet, or when it has
// lasted long enough.
type burst struct {
	first, last time.Time
}

func (b *burst) add(now time.Time) {
	if b.first.IsZero() {
		b.first = now
	}
	b.last = now
}

func (b *burst) running() bool { return !b.first.IsZero() }

func (b *burst) due(quiet, longest time.Duration) time.Time {
	due, limit := b.last.Add(quiet), b.first.Add(longest)
	if limit.Before(due) {
		return limit
	}
	return due
}

// outgoing holds what the consumer has not yet taken. It is as large as the
// set at most, because equal paths merge.
type outgoing struct {
	paths  map[string]struct{}
	sorted []string // of paths; nil when they changed
	note   string
	told   string // the note of the last batch that was taken
}

func (o *outgoing) add(paths ...string) {
	for _, p := range paths {
		o.paths[p] = struct{}{}
	}
	o.sorted = nil
}

func (o *outgoing) drop(path string) {
	delete(o.paths, path)
	o.sorted = nil
}

func (o *outgoing) ready() bool { return len(o.paths) > 0 || o.note != o.told }

func (o *outgoing) batch() Batch {
	if o.sorted == nil {
		o.sorted = slices.Sorted(maps.Keys(o.paths))
	}
	return Batch{Paths: o.sorted, Note: o.note, NoteChanged: o.note != o.told}
}

func (o *outgoing) taken() {
	clear(o.paths)
	o.sorted, o.told = nil, o.note
}
