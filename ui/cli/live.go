package cli

import (
	"context"

	"fusebox/loaders"
	"fusebox/model"
	"fusebox/ui"
	"fusebox/watch"
)

// live joins loader and watcher: changed paths in, snapshots out.
type live struct {
	loader  *loaders.Loader
	watcher *watch.Watcher
	last    *model.Snapshot
	note    string
	watched map[string]bool
}

// newLive reads everything once and starts to watch.
func newLive(loader *loaders.Loader) *live {
	l := &live{loader: loader, watcher: watch.New(watch.Options{}), watched: map[string]bool{}}
	l.last = loader.Load()
	l.follow()
	return l
}

// follow watches what the last look read. A path that is new to the watcher is looked at once more: it may have changed in
// between.
func (l *live) follow() {
	paths := l.loader.Paths()
	var added []string
	now := make(map[string]bool, len(paths))
	for _, p := range paths {
		now[p] = true
		if !l.watched[p] {
			added = append(added, p)
		}
	}
	l.watched = now
	l.watcher.SetPaths(paths)
	if len(added) > 0 {
		l.watcher.Again(added, 0)
	}
}

// Wait returns the next change of what is shown.
func (l *live) Wait(ctx context.Context) (ui.Change, bool) {
	for {
		select {
		case <-ctx.Done():
			return ui.Change{}, false
		case batch, ok := <-l.watcher.Batches():
			if !ok {
				return ui.Change{}, false
			}
			snapshot, again := l.loader.Reload(batch.Paths)
			l.follow()
			if len(again) > 0 {
				l.watcher.Again(again, loaders.SettleTime)
			}
			if snapshot == l.last && batch.Note == l.note {
				continue
			}
			l.last, l.note = snapshot, batch.Note
			return ui.Change{Snapshot: snapshot, Note: batch.Note}, true
		}
	}
}

// Reread reads files again now.
func (l *live) Reread(ids ...model.HarnessID) *model.Snapshot { return l.loader.Reread(ids...) }

// Close stops watching.
func (l *live) Close() error { return l.watcher.Close() }
