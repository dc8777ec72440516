package cli

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"fusebox/loaders"
	"fusebox/model"
	"fusebox/watch/sessions"
)

// reloads knows which sessions of the harnesses are open in this folder, and which cells changed after one was started: that
// session still has the old definition. Only changes that were seen here count; a file's modification time proves nothing,
// since some harnesses rewrite their files all the time.
type reloads struct {
	find     func(context.Context, []sessions.Program) ([]sessions.Session, error) // nil: sessions are not looked for
	programs []sessions.Program
	advice   map[model.HarnessID]string
	titles   map[model.HarnessID]string
	live     map[model.HarnessID]func(before, after *model.Cell) bool
	project  string // with links resolved

	mu      sync.Mutex
	open    map[model.HarnessID][]model.Session
	changed map[model.CellKey]time.Time
	latest  time.Time // of the changes
	looked  time.Time
}

// sessionEvery is how often sessions are looked for while a cell waits for one to end.
const sessionEvery = 2 * time.Second

func newReloads(env *loaders.Env, harnesses []loaders.Harness, off bool) *reloads {
	r := &reloads{advice: map[model.HarnessID]string{}, titles: map[model.HarnessID]string{}, project: env.Project,
		live: map[model.HarnessID]func(before, after *model.Cell) bool{},
		open: map[model.HarnessID][]model.Session{}, changed: map[model.CellKey]time.Time{}}
	if real, err := filepath.EvalSymlinks(env.Project); err == nil {
		r.project = real
	}
	for i := range harnesses {
		h := &harnesses[i]
		r.advice[h.ID], r.titles[h.ID], r.live[h.ID] = h.Sessions.Reload, h.Title, h.Sessions.Live
		if len(h.Sessions.Programs)+len(h.Sessions.Packages) > 0 {
			r.programs = append(r.programs, sessions.Program{Harness: h.ID, Names: h.Sessions.Programs, Packages: h.Sessions.Packages, Not: h.Sessions.Not})
		}
	}
	if !off {
		r.find = sessions.Find
	}
	return r
}

// look finds the sessions of this folder and tells whether they are others than before. One whose folder the system does
// not tell is not of this folder.
func (r *reloads) look(ctx context.Context, now time.Time) bool {
	if r.find == nil {
		return false
	}
	found, err := r.find(ctx, r.programs)
	if err != nil {
		return false // no process list on this system: nothing is claimed
	}
	open := map[model.HarnessID][]model.Session{}
	for _, s := range found {
		if s.Cwd == "" || !loaders.Within(s.Cwd, r.project) {
			continue
		}
		open[s.Harness] = append(open[s.Harness], model.Session{PID: s.PID, Since: s.Since, Cwd: s.Cwd})
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.looked = now
	same := len(open) == len(r.open)
	for h, list := range open {
		same = same && slices.Equal(list, r.open[h])
	}
	r.open = open
	return !same
}

// next tells in how long sessions should be looked for again: at once at the start and after a change, every two seconds
// while a cell waits for one to end, else not at all.
func (r *reloads) next(now time.Time) (in time.Duration, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.find == nil:
		return 0, false
	case r.looked.IsZero() || r.looked.Before(r.latest):
		return 0, true
	case len(r.changed) > 0:
		return max(0, sessionEvery-now.Sub(r.looked)), true
	}
	return 0, false
}

// observe notes which cells changed in what a session would load between two snapshots from files.
func (r *reloads) observe(before, after *model.Snapshot, at time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, col := range after.Columns {
		old := before.Column(col.ID)
		if old == col || old == nil {
			continue
		}
		was := make(map[string]*model.Cell, len(old.Cells))
		for _, c := range old.Cells {
			was[c.Name] = c
		}
		for _, c := range col.Cells {
			b := was[c.Name]
			if c.Overlays&model.OverlayStale != 0 || b != nil && loadsTheSame(b, c) {
				continue
			}
			if live := r.live[col.ID]; live != nil && live(b, c) {
				continue
			}
			r.changed[model.CellKey{Harness: c.Harness, Name: c.Name}] = at
			r.latest = at
		}
	}
}

// loadsTheSame tells whether a session would load the same for two cells, one after the other. A sign-in that is there now
// is something that an open session has not picked up; one that is gone is not taken from it.
func loadsTheSame(a, b *model.Cell) bool {
	if needsSignIn(a) && !needsSignIn(b) {
		return false
	}
	if (a.Decision == model.DecisionLoads) != (b.Decision == model.DecisionLoads) {
		return false
	}
	if (a.Definition == nil) != (b.Definition == nil) {
		return false
	}
	return a.Definition == b.Definition || a.Definition == nil || a.Decision != model.DecisionLoads || a.Definition.Key() == b.Definition.Key()
}

func needsSignIn(c *model.Cell) bool {
	return c.Reason.Code == model.ReasonNeedsLogin || c.Reason.Code == model.ReasonLoginExpired
}

// lay puts sessions and advice over the columns of a snapshot; it returns the same snapshot when there are none. A change
// is settled when no session is older.
func (r *reloads) lay(s *model.Snapshot, generation int) *model.Snapshot {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.open) == 0 {
		if r.looked.After(r.latest) {
			clear(r.changed)
		}
		return s
	}
	columns := slices.Clone(s.Columns)
	for i, col := range columns {
		open := r.open[col.ID]
		if len(open) == 0 {
			for _, c := range col.Cells {
				delete(r.changed, model.CellKey{Harness: c.Harness, Name: c.Name})
			}
			continue
		}
		with := *col
		with.Sessions = open
		with.Cells = slices.Clone(col.Cells)
		for j, c := range with.Cells {
			key := model.CellKey{Harness: c.Harness, Name: c.Name}
			at, ok := r.changed[key]
			if !ok {
				continue
			}
			older := slices.IndexFunc(open, func(x model.Session) bool { return x.Since.Before(at) })
			if older < 0 {
				delete(r.changed, key)
				continue
			}
			laid := *c
			laid.Overlays |= model.OverlayReload
			laid.Reload = &model.ReloadAdvice{PID: open[older].PID, Since: open[older].Since, Text: r.text(col.ID, open, at)}
			with.Cells[j] = &laid
		}
		columns[i] = &with
	}
	return model.NewSnapshot(generation, s.Project, s.Home, s.At, columns)
}

// text says which sessions still have the old definition, and what to do there.
func (r *reloads) text(id model.HarnessID, open []model.Session, at time.Time) string {
	var older []string
	for _, s := range open {
		if s.Since.Before(at) {
			older = append(older, fmt.Sprintf("pid %d since %s", s.PID, s.Since.Format("15:04")))
		}
	}
	return fmt.Sprintf("changed at %s; %s in this folder (%s) still has the old one: %s", at.Format("15:04:05"), r.titles[id], strings.Join(older, ", "), r.advice[id])
}
