package cli

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"fusebox/loaders"
	"fusebox/model"
	"fusebox/ui"
	"fusebox/watch"
)

// live joins loader, watcher and launcher: changed paths and results in, snapshots out.
type live struct {
	loader     *loaders.Loader
	log        *logger
	watcher    *watch.Watcher
	launcher   *launcher
	reloads    *reloads
	files      *model.Snapshot                // the newest from files alone
	last       *model.Snapshot                // the newest that was given out
	shown      atomic.Pointer[model.Snapshot] // the same, for others
	generation int
	note       string
	watched    map[string]bool
	drawn      time.Time // when a launch was last shown: its progress is shown ten times a second at most
}

const progressEvery = 100 * time.Millisecond

// newLive reads everything once and starts to watch.
func newLive(s *session, launcher *launcher, reloads *reloads) *live {
	l := &live{loader: s.loader, log: s.log, watcher: watch.New(watch.Options{}), launcher: launcher, reloads: reloads, watched: map[string]bool{}}
	l.files = s.load()
	l.last, l.generation = l.files, l.files.Generation
	l.shown.Store(l.last)
	launcher.lay(l.files, l.generation)
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

// show lays what launches showed over the newest files.
func (l *live) show() *model.Snapshot {
	l.generation++
	s := l.reloads.lay(l.launcher.lay(l.files, l.generation), l.generation)
	if s.Generation != l.generation { // from files alone: numbered by the loader
		renumbered := *s
		renumbered.Generation = l.generation
		s = &renumbered
	}
	l.last = s
	l.shown.Store(s)
	return s
}

// Wait returns the next change of what is shown.
func (l *live) Wait(ctx context.Context) (ui.Change, bool) {
	for {
		var sessions <-chan time.Time
		if in, ok := l.reloads.next(time.Now()); ok {
			sessions = time.After(in)
		}
		select {
		case <-ctx.Done():
			return ui.Change{}, false
		case now := <-sessions:
			if l.reloads.look(ctx, now) {
				return ui.Change{Snapshot: l.show(), Note: l.note}, true
			}
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
			if snapshot == l.files && batch.Note == l.note {
				continue
			}
			l.reloads.observe(l.files, snapshot, time.Now())
			l.files, l.note = snapshot, batch.Note
			return ui.Change{Snapshot: l.show(), Note: batch.Note}, true
		case <-l.launcher.changed:
			if wait := progressEvery - time.Since(l.drawn); wait > 0 {
				select {
				case <-ctx.Done():
					return ui.Change{}, false
				case <-time.After(wait):
				}
			}
			l.drawn = time.Now()
			if snapshot := l.loader.Snapshot(); snapshot != l.files {
				l.reloads.observe(l.files, snapshot, time.Now())
				l.files = snapshot
			}
			return ui.Change{Snapshot: l.show(), Note: l.note}, true
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
	if snapshot != l.files {
		l.log.mask(snapshot)
	}
	if len(batch.Paths) > 0 {
		what := "nothing that is shown changed"
		if snapshot != l.files {
			d := model.Diff(l.files, snapshot)
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

// Reread reads files again now. What it finds is given out by Wait.
func (l *live) Reread(ids ...model.HarnessID) {
	l.loader.Reread(ids...)
	l.launcher.signal()
}

// Close ends what was launched and stops watching.
func (l *live) Close() error {
	l.launcher.Close()
	return l.watcher.Close()
}
