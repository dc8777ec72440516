package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"fusebox/loaders"
	"fusebox/model"
	"fusebox/ui"
	"fusebox/watch"
)

// workspace is everything that is about one folder.
type workspace struct {
	env      *loaders.Env
	loader   *loaders.Loader
	launcher *launcher
	reloads  *reloads
	switcher *switcher
}

// live joins loader, watcher and launcher: changed paths and results in, snapshots out. The folder that it is about may
// change.
type live struct {
	current    atomic.Pointer[workspace]
	opened     chan *workspace // another folder, read already
	log        *logger
	watcher    *watch.Watcher
	prefs      *columnPrefs                   // nil: the columns are not remembered
	files      *model.Snapshot                // the newest from files alone
	last       *model.Snapshot                // the newest that was given out
	shown      atomic.Pointer[model.Snapshot] // the same, for others
	generation int
	note       string // of the watcher
	lost       bool   // the folder that the panel is about is gone
	watched    map[string]bool
	drawn      time.Time // when a launch was last shown: its progress is shown ten times a second at most
}

const progressEvery = 100 * time.Millisecond

// While the folder is gone nothing may be left to be watched, so its coming back is looked for.
const lookForFolderEvery = 2 * time.Second

const noteFolderGone = "the folder is gone"

// newLive reads everything once and starts to watch.
func newLive(s *session, launcher *launcher, reloads *reloads) *live {
	l := &live{opened: make(chan *workspace, 1), log: s.log, watcher: watch.New(watch.Options{}), watched: map[string]bool{}}
	l.current.Store(&workspace{env: s.env, loader: s.loader, launcher: launcher, reloads: reloads})
	l.files = s.load()
	l.last, l.generation = l.files, l.files.Generation
	l.shown.Store(l.last)
	launcher.lay(l.files, l.generation)
	l.follow()
	l.log.printf("watching")
	return l
}

// open makes the panel be about another workspace, which was read already. What runs in the old one is ended.
func (l *live) open(w *workspace) {
	old := l.current.Swap(w)
	l.log.printf("folder %s", w.env.Project)
	go old.launcher.Close()
	l.opened <- w
}

// follow watches what the last look read. A path that is new to the watcher is looked at once more: it may have changed in
// between.
func (l *live) follow() {
	paths := l.current.Load().loader.Paths()
	if l.prefs != nil {
		paths = append(paths, l.prefs.path)
	}
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
	w := l.current.Load()
	s := w.reloads.lay(w.launcher.lay(l.files, l.generation), l.generation)
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
		w := l.current.Load()
		var sessions <-chan time.Time
		if in, ok := w.reloads.next(time.Now()); ok {
			sessions = time.After(in)
		}
		var back <-chan time.Time
		if l.lost {
			back = time.After(lookForFolderEvery)
		}
		select {
		case <-ctx.Done():
			return ui.Change{}, false
		case now := <-sessions:
			if w.reloads.look(ctx, now) {
				return l.change(nil), true
			}
		case <-back:
			if l.folderChanged(w) {
				return l.change(nil), true
			}
		case batch, ok := <-l.watcher.Batches():
			if !ok {
				return ui.Change{}, false
			}
			start := time.Now()
			snapshot, again := w.loader.Reload(batch.Paths)
			took := time.Since(start)
			l.follow()
			if len(again) > 0 {
				l.watcher.Again(again, loaders.SettleTime)
			}
			l.logReload(snapshot, batch, again, took)
			// The watcher looked before the file was read: one that came in between may be gone before it looks again.
			if came := appeared(l.files, snapshot); len(came) > 0 {
				l.watcher.Again(came, loaders.SettleTime)
			}
			columns := l.changedColumns(batch.Paths)
			if !l.folderChanged(w) && snapshot == l.files && batch.Note == l.note && columns == nil {
				continue
			}
			w.reloads.observe(l.files, snapshot, time.Now())
			l.files, l.note = snapshot, batch.Note
			return l.change(columns), true
		case w := <-l.opened:
			l.files = w.loader.Snapshot()
			l.follow()
			l.folderChanged(w)
			return l.change(nil), true
		case <-w.launcher.changed:
			if wait := progressEvery - time.Since(l.drawn); wait > 0 {
				select {
				case <-ctx.Done():
					return ui.Change{}, false
				case <-time.After(wait):
				}
			}
			l.drawn = time.Now()
			if w != l.current.Load() {
				continue // a result for the folder before
			}
			if snapshot := w.loader.Snapshot(); snapshot != l.files {
				w.reloads.observe(l.files, snapshot, time.Now())
				l.files = snapshot
			}
			return l.change(nil), true
		}
	}
}

// change is what is shown now, with what has to be said about how it is known.
func (l *live) change(columns *ui.Columns) ui.Change {
	note := l.note
	if l.lost {
		note = noteFolderGone
	}
	return ui.Change{Snapshot: l.show(), Note: note, Columns: columns}
}

// folderChanged looks whether the folder that the panel is about has gone or come back.
func (l *live) folderChanged(w *workspace) bool {
	info, err := os.Stat(w.env.Project)
	lost := errors.Is(err, fs.ErrNotExist) || err == nil && !info.IsDir()
	changed := lost != l.lost
	l.lost = lost
	if changed {
		l.log.printf("the folder %s: gone %t", w.env.Project, lost)
	}
	return changed
}

// appeared returns the files that are there in one snapshot and were not in the one before.
func appeared(before, after *model.Snapshot) []string {
	var out []string
	for _, col := range after.Columns {
		old := before.Column(col.ID)
		if old == nil || old == col {
			continue
		}
		there := map[string]bool{}
		for _, f := range old.Files {
			there[f.Path] = f.Status != model.FileAbsent
		}
		for _, f := range col.Files {
			if f.Status != model.FileAbsent && !there[f.Path] {
				out = append(out, f.Path)
			}
		}
	}
	return out
}

// changedColumns reads the chosen columns again when their file is among the paths; nil when it is not, or says the same.
func (l *live) changedColumns(paths []string) *ui.Columns {
	if l.prefs == nil || !slices.Contains(paths, l.prefs.path) {
		return nil
	}
	return l.prefs.reload(l.log)
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
	w := l.current.Load()
	w.loader.Reread(ids...)
	w.launcher.signal()
}

// Close ends what was launched and stops watching.
func (l *live) Close() error {
	l.current.Load().launcher.Close()
	return l.watcher.Close()
}
