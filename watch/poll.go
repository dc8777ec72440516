package watch

import (
	"errors"
	"io/fs"
	"os"
	"slices"
	"strings"
	"syscall"

	"github.com/fsnotify/fsnotify"
)

// pollReason says why a folder is polled.
type pollReason uint8

const (
	notPolled pollReason = iota
	// polledQuietly: this one folder cannot be watched, as when it may be
	// entered but not listed, or has two names. Nothing to do about it.
	polledQuietly
	// polledNoted: the system gives no events; the user should know.
	polledNoted
)

// On systems where a watched folder costs one open file per entry, more than
// this is polled rather than starving the process of files.
const (
	maxFolderCost = 500
	maxTotalCost  = 4000
)

// watchFolders makes the backend watch what the tree needs, and decides what
// has to be polled. It returns the folders that have to be looked at again:
// those newly watched, where something may have happened before, and those
// that were not there any more.
func (l *loop) watchFolders() []*folder {
	if !l.tree.rewatch {
		return nil
	}
	l.tree.rewatch = false
	listed := l.dropWatches()
	var fresh []*folder
	cost := 0
	for path, f := range l.tree.folders {
		if _, ok := listed[path]; !ok || f.stale {
			f.watched = false
		}
		switch {
		case !f.worthWatching():
			f.watched, f.polled = false, notPolled
		case !f.watched:
			fresh = append(fresh, f)
		default:
			f.polled = notPolled
			cost += f.cost
		}
	}
	// What is needed comes first, in case the system's limit is near.
	slices.SortFunc(fresh, func(a, b *folder) int {
		if (a.needed > 0) != (b.needed > 0) {
			if a.needed > 0 {
				return -1
			}
			return 1
		}
		return strings.Compare(a.path, b.path)
	})
	var again []*folder
	limit := false
	for _, f := range fresh {
		f.stale, f.polled = false, polledNoted
		if l.backend == nil || limit || noEvents(f.path) {
			continue
		}
		f.cost = eventCost(f.path)
		if f.cost > maxFolderCost || cost+f.cost > maxTotalCost {
			continue
		}
		switch err := l.backend.Add(f.path); {
		case err == nil:
			f.watched, f.polled = true, notPolled
			cost += f.cost
			again = append(again, f)
			if info, err := os.Lstat(f.path); err == nil {
				f.id = identify(info)
			}
		case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
			// Gone since it was looked at. If a look finds it again then
			// polling bridges the time until the next try.
			f.polled = polledQuietly
			again = append(again, f)
		case errors.Is(err, fs.ErrPermission):
			f.polled = polledQuietly
		default:
			limit = atLimit(err)
		}
	}
	l.confirm(fresh)
	return again
}

// dropWatches removes the watches that are no longer of use, before new ones
// are added: a folder that was renamed keeps its watch under its old name and
// would hide the new one. It returns what stays watched.
func (l *loop) dropWatches() map[string]struct{} {
	listed := l.watchList()
	for path := range listed {
		f := l.tree.folders[path]
		if f == nil || f.stale || !f.worthWatching() {
			// An error means that the watch is gone already.
			_ = l.backend.Remove(path)
			delete(listed, path)
		}
	}
	return listed
}

// confirm polls the folders whose watch the backend did not take as its own,
// because the same folder is watched under another name.
func (l *loop) confirm(fresh []*folder) {
	if len(fresh) == 0 || l.backend == nil {
		return
	}
	listed := l.watchList()
	for _, f := range fresh {
		if _, ok := listed[f.path]; f.watched && !ok {
			f.watched, f.polled = false, polledQuietly
		}
	}
}

func (l *loop) watchList() map[string]struct{} {
	listed := map[string]struct{}{}
	if l.backend != nil {
		for _, path := range l.backend.WatchList() {
			listed[path] = struct{}{}
		}
	}
	return listed
}

// atLimit says that further folders would fail the same way.
func atLimit(err error) bool {
	for _, errno := range []error{syscall.ENOSPC, syscall.EMFILE, syscall.ENFILE, syscall.ENOMEM, syscall.ENOSYS, fsnotify.ErrClosed} {
		if errors.Is(err, errno) {
			return true
		}
	}
	return false
}

// polling says whether anything is polled, and the note about it.
func (l *loop) polling() (bool, string) {
	some, note := l.backend == nil, ""
	if l.backend == nil {
		note = NotePolling
	}
	for _, f := range l.tree.folders {
		if f.needed == 0 {
			continue
		}
		switch f.polled {
		case polledNoted:
			return true, NotePolling
		case polledQuietly:
			some = true
		}
	}
	return some, note
}
