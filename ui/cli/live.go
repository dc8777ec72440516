package cli

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"fusebox/loaders"
	"fusebox/model"
	"fusebox/ui"
	"fusebox/watch"
)

// live joins loader and watcher: changed paths in, snapshots out.
type live struct {
	loader  *loaders.Loader
	log     *logger
	watcher *watch.Watcher
	last    *model.Snapshot
	note    string
	watched map[string]bool
}

// newLive reads everything once and starts to watch.
func newLive(s *session) *live {
	l := &live{loader: s.loader, log: s.log, watcher: watch.New(watch.Options{}), watched: map[string]bool{}}
	l.last = s.load()
	l.follow()
	l.log.printf("watching")
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
			start := time.Now()
			snapshot, again := l.loader.Reload(batch.Paths)
			took := time.Since(start)
			l.follow()
			if len(again) > 0 {
				l.watcher.Again(again, loaders.SettleTime)
			}
			l.logReload(snapshot, batch, again, took)
			if snapshot == l.last && batch.Note == l.note {
				continue
			}
			l.last, l.note = snapshot, batch.Note
			return ui.Change{Snapshot: snapshot, Note: batch.Note}, true
		}
	}
}

// logReload notes which paths changed, what came of it, and what the watcher says.
func (l *live) logReload(snapshot *model.Snapshot, batch watch.Batch, again []string, took time.Duration) {
	if l.log == nil {
		return
	}
	if batch.Note != l.note {
		l.log.printf("watcher: %s", noteOfWatcher(batch.Note))
	}
	if snapshot != l.last {
		l.log.mask(snapshot)
	}
	if len(batch.Paths) > 0 {
		what := "nothing that is shown changed"
		if snapshot != l.last {
			d := model.Diff(l.last, snapshot)
			what = fmt.Sprintf("generation %d, %d cells and %d files changed", snapshot.Generation, len(d.Cells), len(d.Files))
		}
		l.log.printf("reloaded in %s: %s: %s", took.Round(10*time.Microsecond), strings.Join(batch.Paths, ", "), what)
	}
	if len(again) > 0 {
		l.log.printf("broken or empty, looked at again in %s: %s", loaders.SettleTime, strings.Join(again, ", "))
	}
}

// noteOfWatcher says how changes are seen now.
func noteOfWatcher(note string) string { return cmp.Or(note, "file events are back") }

// Reread reads files again now.
func (l *live) Reread(ids ...model.HarnessID) *model.Snapshot { return l.loader.Reread(ids...) }

// Close stops watching.
func (l *live) Close() error { return l.watcher.Close() }
