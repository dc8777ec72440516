package loaders

import (
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"sync"
	"time"

	"fusebox/model"
)

// Loader keeps the snapshot of all harnesses for one folder and renews it when files change. Its methods may be called
// from several goroutines; they are done one after the other.
type Loader struct {
	mu        sync.Mutex
	env       *Env
	harnesses []Harness
	cache     *Cache
	looks     []look               // by harness
	settling  map[string]time.Time // files that broke after they were good, by when that was first seen
	last      *model.Snapshot
	earlier   earlierMemo // has a lock of its own: it is no part of what is kept in step
}

// look is what the last accepted resolve of a harness gave and saw.
type look struct {
	column  *model.Column
	touched map[string]struct{}
	files   map[string]fileSeen
}

// fileSeen is in which of the ways that matter here a file was.
type fileSeen int

const (
	fileMissing fileSeen = iota // also: not looked at
	fileGood
	fileEmpty
	fileBroken
)

// SettleTime is how long a file must have been broken, empty or missing before a reload believes it: editors write in two steps.
const SettleTime = 250 * time.Millisecond

// NewLoader makes a loader; nothing is read before Load.
func NewLoader(env *Env, harnesses []Harness) *Loader {
	return &Loader{env: env, harnesses: harnesses}
}

// Load reads everything, each file as it is now, and returns the first or a fresh snapshot. What was known of a file that
// is broken now is forgotten.
func (l *Loader) Load() *model.Snapshot {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cache = NewCache()
	l.settling = map[string]time.Time{}
	l.looks = make([]look, len(l.harnesses))
	for i := range l.harnesses {
		l.looks[i] = l.resolve(i)
	}
	return l.snapshot()
}

// Reload resolves the harnesses that looked at one of the changed paths. It returns the snapshot, the same one when nothing
// that is shown changed, and the paths to look at again after SettleTime: those that have just become broken, empty or missing.
// Until then the old answer stands.
func (l *Loader) Reload(changed []string) (snapshot *model.Snapshot, again []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.reload(changed, func(i int) bool {
		return slices.ContainsFunc(changed, func(p string) bool { _, ok := l.looks[i].touched[p]; return ok })
	}, false)
}

// Reread reads the files of these harnesses (of all, if none is named) again and believes what it finds at once.
func (l *Loader) Reread(ids ...model.HarnessID) *model.Snapshot {
	l.mu.Lock()
	defer l.mu.Unlock()
	wanted := func(i int) bool { return len(ids) == 0 || slices.Contains(ids, l.harnesses[i].ID) }
	var paths []string
	for i := range l.looks {
		if wanted(i) {
			for p := range l.looks[i].touched {
				paths = append(paths, p)
			}
		}
	}
	s, _ := l.reload(paths, wanted, true)
	return s
}

func (l *Loader) reload(changed []string, affected func(int) bool, believe bool) (*model.Snapshot, []string) {
	if l.last == nil {
		return nil, nil
	}
	l.cache.Forget(changed)
	now := l.env.Now()
	var again []string
	done := map[string]bool{} // files whose settling is over: good again, or believed
	replaced := false
	for i := range l.looks {
		if !affected(i) {
			continue
		}
		before, after := l.looks[i], l.resolve(i)
		if wait := l.unsettled(before, after, now, done); len(wait) > 0 && !believe {
			again = append(again, wait...)
			for p := range after.touched { // what it led to is watched already
				before.touched[p] = struct{}{}
			}
			continue
		}
		if broke := brokenFiles(after.column); len(broke) > 0 && (before.column.Stale || len(brokenFiles(before.column)) == 0) {
			if len(before.column.Cells) > 0 {
				after.column = model.KeepStale(before.column, after.column, now)
			}
			for p := range before.touched {
				after.touched[p] = struct{}{}
			}
		}
		if after.column.KeepCells(before.column) && sameBesideCells(before.column, after.column) {
			after.column = before.column
		} else {
			replaced = true
		}
		l.looks[i] = after
	}
	for p := range done {
		if !slices.Contains(again, p) {
			delete(l.settling, p)
		}
	}
	if replaced {
		l.snapshot()
	}
	sort.Strings(again)
	return l.last, slices.Compact(again)
}

// unsettled returns the files that became broken, empty or missing since the last look, but not for SettleTime yet. One
// that was missing and is empty counts: whoever makes a file opens it before the first byte is in it.
func (l *Loader) unsettled(before, after look, now time.Time, done map[string]bool) []string {
	var wait []string
	for path, seen := range after.files {
		if seen == fileGood || seen == before.files[path] {
			done[path] = true
			continue
		}
		first, known := l.settling[path]
		if !known {
			first = now
			l.settling[path] = now
		}
		if now.Sub(first) < SettleTime {
			wait = append(wait, path)
		} else {
			done[path] = true
		}
	}
	return wait
}

func seenAs(f *ConfigFile) fileSeen {
	switch {
	case f.Status == model.FileAbsent:
		return fileMissing
	case f.Status == model.FileMalformed || f.Status == model.FileRefused:
		return fileBroken
	case f.Status == model.FileRead && len(f.Data) == 0:
		return fileEmpty
	}
	return fileGood
}

// Paths returns every path that decides something, existing or not, sorted: what has to be watched.
func (l *Loader) Paths() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := map[string]struct{}{}
	for i := range l.looks {
		for p := range l.looks[i].touched {
			all[p] = struct{}{}
		}
	}
	out := make([]string, 0, len(all))
	for p := range all {
		out = append(out, p)
	}
	sort.Strings(out)
	return out
}

// Snapshot returns the newest snapshot without reading anything; nil before Load.
func (l *Loader) Snapshot() *model.Snapshot {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.last
}

// Env returns what the loader knows of the machine.
func (l *Loader) Env() *Env { return l.env }

func (l *Loader) snapshot() *model.Snapshot {
	generation := 1
	if l.last != nil {
		generation = l.last.Generation + 1
	}
	columns := make([]*model.Column, len(l.looks))
	for i := range l.looks {
		columns[i] = l.looks[i].column
	}
	l.last = model.NewSnapshot(generation, l.env.Project, l.env.Home, l.env.Now(), columns)
	return l.last
}

// resolve makes the column of one harness. A fault in the rules of one harness must not hide the others: a panic becomes a
// broken column.
func (l *Loader) resolve(i int) (out look) {
	h := l.harnesses[i]
	r := NewReader(l.env, l.cache)
	defer func() {
		if fault := recover(); fault != nil {
			out.column = faultyColumn(h, r)
		}
		out.touched = r.touched
		out.files = make(map[string]fileSeen, len(r.files))
		for _, f := range r.files {
			out.files[f.Path] = seenAs(f)
		}
	}()
	out.column = Column(h, h.Resolve(l.env, r), r)
	for _, c := range out.column.Cells { // what fusebox does not write is not offered
		if h.Toggle == nil && c.Capabilities.Toggle == "" {
			c.Capabilities.Toggle = noSwitchWriter(h)
		}
		if h.Approve == nil && c.Capabilities.Approve == "" {
			c.Capabilities.Approve = noConsentWriter(h)
		}
	}
	return out
}

// faultyColumn stands for a harness whose rules failed.
func faultyColumn(h Harness, r *Reader) *model.Column {
	const text = "fusebox could not work out this harness; please report it"
	return &model.Column{Harness: h.Harness, Present: true, Files: r.Files(),
		Broken: &model.Problem{Text: text}, Notes: []model.Note{{Code: "internal-error", Text: text}}}
}

// Column makes the column of a result: cells sorted, files added, harness set.
func Column(h Harness, res Result, r *Reader) *model.Column {
	c := &model.Column{Harness: h.Harness, Files: r.Files(), Notes: res.Notes, Cells: res.Cells, Broken: res.Broken,
		Untrusted: res.Untrusted, Present: res.Present}
	for _, f := range c.Files {
		if f.Status != model.FileAbsent && f.Status != model.FileIgnored && !shared(h, f.Path) {
			c.Present = true
		}
	}
	for _, cell := range c.Cells {
		if cell.Harness != h.ID { // one that was kept from before is being read by others
			cell.Harness = h.ID
		}
	}
	slices.SortStableFunc(c.Cells, func(a, b *model.Cell) int { return model.CompareNames(a.Name, b.Name) })
	return c
}

// shared tells whether a file is another harness's own.
func shared(h Harness, path string) bool {
	path = filepath.ToSlash(path)
	return slices.ContainsFunc(h.Shares, func(end string) bool { return strings.HasSuffix(path, "/"+end) })
}

func brokenFiles(c *model.Column) []string {
	var out []string
	for _, f := range c.Files {
		if f.Status == model.FileMalformed || f.Status == model.FileRefused {
			out = append(out, f.Path)
		}
	}
	return out
}

// sameBesideCells tells whether two columns show the same in everything but their cells.
func sameBesideCells(a, b *model.Column) bool {
	return a.Present == b.Present && a.Untrusted == b.Untrusted && a.Stale == b.Stale && (a.Broken == nil) == (b.Broken == nil) &&
		(a.Broken == nil || *a.Broken == *b.Broken) && slices.Equal(a.Files, b.Files) && slices.Equal(a.Notes, b.Notes)
}
