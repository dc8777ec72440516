package watch

import (
	"path/filepath"
	"time"

	"github.com/fsnotify/fsnotify"
)

// maxRounds bounds how often one look follows folders that come and go under
// its eyes; what is left then waits for the next burst.
const maxRounds = 10

// loop is the state of the one goroutine that does all the work.
type loop struct {
	options Options
	tree    *tree
	backend Backend // nil: everything is polled
	inbox   *inbox  // of the backend

	dirty dirtySet
	burst burst
	lost  bool // events were lost since the last flush
	out   outgoing
	again map[string]time.Time // by spelling

	burstTimer, pollTimer, auditTimer, againTimer *time.Timer
	pollRuns                                      bool
}

// dirtySet holds the nodes to look at and what their events said.
type dirtySet map[*node]dirt

type dirt struct {
	below   bool // look at everything below as well
	written bool // the content of this very path was written
	remade  bool // this entry, or one of this folder, came, went or was replaced
	asked   bool // report it in any case
}

func (d dirtySet) mark(n *node, add dirt) {
	old := d[n]
	d[n] = dirt{old.below || add.below, old.written || add.written, old.remade || add.remade, old.asked || add.asked}
}

func newLoop(o Options) *loop {
	l := &loop{
		options:    o,
		tree:       newTree(),
		dirty:      dirtySet{},
		out:        outgoing{paths: map[string]struct{}{}},
		again:      map[string]time.Time{},
		burstTimer: idleTimer(),
		pollTimer:  idleTimer(),
		againTimer: idleTimer(),
		auditTimer: time.NewTimer(auditEvery),
	}
	l.openBackend()
	l.updatePolling()
	return l
}

func idleTimer() *time.Timer {
	t := time.NewTimer(time.Hour)
	t.Stop()
	return t
}

func (l *loop) openBackend() {
	if l.options.ForcePolling || l.backend != nil {
		return
	}
	b, err := l.options.NewBackend()
	if err != nil {
		return
	}
	l.backend, l.inbox = b, newInbox(b)
	l.tree.rewatch = true
}

func (l *loop) closeBackend() error {
	if l.backend == nil {
		return nil
	}
	err := l.backend.Close()
	<-l.inbox.done
	l.backend, l.inbox = nil, nil
	return err
}

// run works until Close. It never waits for the consumer alone.
func (w *Watcher) run(l *loop) {
	defer close(w.closed)
	defer close(w.batches)
	defer func() { w.closeErr = l.closeBackend() }()
	for {
		var (
			batches chan Batch
			batch   Batch
			wake    chan struct{}
		)
		if l.out.ready() {
			batches, batch = w.batches, l.out.batch()
		}
		if l.inbox != nil {
			wake = l.inbox.wake
		}
		select {
		case <-w.closing:
			return
		case batches <- batch:
			l.out.taken()
		case request := <-w.set:
			l.setPaths(request.paths)
			close(request.done)
		case request := <-w.again:
			l.askAgain(request)
		case <-wake:
			l.takeEvents()
		case <-l.burstTimer.C:
			l.endBurst()
		case <-l.pollTimer.C:
			l.poll()
		case <-l.againTimer.C:
			l.remind()
		case <-l.auditTimer.C:
			l.auditTimer.Reset(auditEvery)
			l.lookAtAll()
		}
	}
}

func (l *loop) setPaths(paths []string) {
	look, removed := l.tree.replace(paths)
	for _, path := range removed {
		l.out.drop(path)
		delete(l.again, path)
	}
	set := dirtySet{}
	for _, n := range look {
		set.mark(n, dirt{})
	}
	l.settle(set, false)
}

// takeEvents marks what the events since the last visit are about. Names that
// no path depends on cost two map look-ups.
func (l *loop) takeEvents() {
	events, lookAll, dead := l.inbox.take()
	if dead {
		// Nothing more comes from it; the next poll tries to open another.
		_ = l.closeBackend()
		l.tree.rewatch = true
		l.lookAtAll()
		return
	}
	marked := false
	if lookAll {
		l.tree.rewatch, l.lost = true, true
		for _, root := range l.tree.roots {
			l.dirty.mark(root, dirt{below: true})
			marked = true
		}
	}
	for name, op := range events {
		marked = l.markEvent(name, op) || marked
	}
	if marked {
		l.burst.add(time.Now())
		l.armBurst()
	}
}

func (l *loop) markEvent(name string, op fsnotify.Op) bool {
	const entryOps = fsnotify.Create | fsnotify.Remove | fsnotify.Rename
	marked := false
	mark := func(n *node, d dirt) {
		l.dirty.mark(n, d)
		marked = true
	}
	name = filepath.Clean(name) // an entry of the root comes as "//entry"
	if f := l.tree.folders[filepath.Dir(name)]; f != nil && !isRoot(name) {
		for _, h := range f.hits[fold(filepath.Base(name))] {
			if op&^fsnotify.Write != 0 {
				mark(h.node, dirt{below: true, remade: op.Has(fsnotify.Create)})
				l.tree.rewatch = true
			}
			if op.Has(fsnotify.Write) && h.last {
				mark(h.node, dirt{written: true})
			}
		}
		if op&entryOps != 0 {
			for _, h := range f.hits[""] {
				mark(h.node, dirt{remade: true})
			}
		}
	}
	if f := l.tree.folders[name]; f != nil {
		if op&^fsnotify.Write != 0 {
			// The watched folder itself went, or may be read by others now.
			l.tree.rewatch = true
			for _, hits := range f.hits {
				for _, h := range hits {
					mark(h.node, dirt{below: true})
				}
			}
		} else {
			for _, h := range f.hits[""] {
				mark(h.node, dirt{})
			}
		}
	}
	return marked
}

func (l *loop) armBurst() {
	l.burstTimer.Reset(time.Until(l.burst.due(l.options.Quiet, l.options.Longest)))
}

// endBurst flushes, unless events came that nobody has taken yet, because the
// loop was busy or the machine is.
func (l *loop) endBurst() {
	if l.inbox != nil {
		l.takeEvents()
	}
	if l.burst.running() && time.Now().Before(l.burst.due(l.options.Quiet, l.options.Longest)) {
		return // the timer is set for it
	}
	l.flush()
}

// flush looks at what the events were about.
func (l *loop) flush() {
	set, lossy := l.dirty, l.lost
	l.dirty, l.burst, l.lost = dirtySet{}, burst{}, false
	l.settle(set, lossy)
}

// poll looks at what gives no events, and tries to get events for it.
func (l *loop) poll() {
	l.pollRuns = false
	l.openBackend()
	l.tree.rewatch = true
	set := dirtySet{}
	for _, f := range l.tree.folders {
		if f.polled == notPolled || f.needed == 0 {
			continue
		}
		for _, hits := range f.hits {
			for _, h := range hits {
				set.mark(h.node, dirt{})
			}
		}
	}
	l.settle(set, true)
}

func (l *loop) lookAtAll() {
	l.tree.rewatch = true
	set := dirtySet{}
	for _, root := range l.tree.roots {
		set.mark(root, dirt{below: true})
	}
	l.settle(set, false)
}

func (l *loop) askAgain(request againRequest) {
	for _, path := range request.paths {
		if _, ok := l.tree.members[path]; !ok {
			continue
		}
		if due, ok := l.again[path]; !ok || request.due.Before(due) {
			l.again[path] = request.due
		}
	}
	l.armAgain()
}

func (l *loop) armAgain() {
	var next time.Time
	for _, due := range l.again {
		if next.IsZero() || due.Before(next) {
			next = due
		}
	}
	if next.IsZero() {
		l.againTimer.Stop()
		return
	}
	l.againTimer.Reset(time.Until(next))
}

// remind reports the paths whose time has come: at the end of the burst that
// runs, or at once.
func (l *loop) remind() {
	now := time.Now()
	for path, due := range l.again {
		if due.After(now) {
			continue
		}
		delete(l.again, path)
		if n := l.tree.members[path]; n != nil {
			l.dirty.mark(n, dirt{asked: true})
		}
	}
	l.armAgain()
	if !l.burst.running() {
		l.flush()
	}
}

// settle looks at the nodes, brings the watches in line, looks again where
// that took time, and puts what differs out. lossy says that events may have
// been missed, so that equal identities prove less.
func (l *loop) settle(set dirtySet, lossy bool) {
	t := l.tree
	for round := 0; ; round++ {
		t.round++
		for n, d := range set {
			if !t.attached(n) {
				continue
			}
			if d.remade && d.below {
				n.below(func(m *member) { m.remade = true })
			}
			if m := n.member; m != nil {
				m.written = m.written || d.written
				m.remade = m.remade || d.remade
				m.asked = m.asked || d.asked
			}
			if d.below {
				t.lookBelow(n)
			} else {
				t.look(n)
			}
		}
		again := l.watchFolders()
		if len(again) == 0 {
			break
		}
		set = dirtySet{}
		for _, f := range again {
			for _, hits := range f.hits {
				for _, h := range hits {
					set.mark(h.node, dirt{})
				}
			}
		}
		if round == maxRounds {
			for n, d := range set {
				l.dirty.mark(n, d)
			}
			l.burst.add(time.Now())
			l.armBurst()
			break
		}
	}
	l.compare(lossy)
	l.updatePolling()
}

// compare puts out the members that are not what they were.
func (l *loop) compare(lossy bool) {
	now := time.Now()
	for n := range l.tree.touched {
		m := n.member
		if m == nil {
			continue
		}
		id := n.at.id
		changed := m.asked || m.known && m.id != id
		if m.known && id.presence == present {
			regular := id.mode.IsRegular()
			changed = changed || regular && m.written ||
				(regular || id.mode.IsDir()) && (m.remade || lossy && m.racy)
		}
		if changed {
			l.out.add(m.spellings...)
		}
		m.racy = id.racy(now)
		m.id, m.known = id, true
		m.written, m.remade, m.asked = false, false, false
	}
	clear(l.tree.touched)
}

func (l *loop) updatePolling() {
	some, note := l.polling()
	l.out.note = note
	if some && !l.pollRuns {
		l.pollRuns = true
		l.pollTimer.Reset(l.options.Poll)
	}
}
