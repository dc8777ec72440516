package watch

import (
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// node is one name of a path as it was given; paths share the nodes of the
// folders above them, so a folder is looked at once for all of them.
type node struct {
	parent   *node
	name     string // for a root: the root, such as "/"
	children map[string]*node
	member   *member // nil: only on the way to members

	at    place
	spots []spot

	looked, lookedBelow uint64 // the round of the last look
}

// member is a path of the set.
type member struct {
	spellings []string // as given
	known     bool     // id holds something
	id        identity // as last reported
	racy      bool     // see identity.racy, at the time of id

	written, remade, asked bool // what the events of this look said
}

// hit is a node that an entry's name leads to.
type hit struct {
	node *node
	last bool
}

// folder is a real folder in which names are looked up.
type folder struct {
	path   string
	hits   map[string][]hit // by folded name; "" holds watched folders
	total  int
	needed int // of total; 0: only watched to see renames at once

	watched bool
	id      identity // of the watched folder
	stale   bool     // the watch is on a folder that is no longer at path
	cost    int      // open files that the watch takes
	polled  pollReason
}

// worthWatching says whether the folder should be watched at all.
func (f *folder) worthWatching() bool {
	return f.needed > 0 || watchAncestors && f.total > 0 && !isRoot(f.path)
}

// tree holds the set of paths, where each of them leads, and the folders that
// this depends on.
type tree struct {
	roots   map[string]*node
	members map[string]*node // by spelling
	folders map[string]*folder

	round   uint64
	touched map[*node]struct{} // members looked at since the last comparison
	// rewatch is set when the folders to watch may have changed.
	rewatch bool
}

func newTree() *tree {
	return &tree{
		roots:   map[string]*node{},
		members: map[string]*node{},
		folders: map[string]*folder{},
		touched: map[*node]struct{}{},
	}
}

// replace makes the given paths the set and returns the nodes to look at.
func (t *tree) replace(paths []string) (look []*node, removed []string) {
	keep := make(map[string]struct{}, len(paths))
	for _, path := range paths {
		keep[path] = struct{}{}
	}
	for spelling, n := range t.members {
		if _, ok := keep[spelling]; ok {
			continue
		}
		delete(t.members, spelling)
		removed = append(removed, spelling)
		n.member.spellings = slices.DeleteFunc(n.member.spellings, func(s string) bool { return s == spelling })
		if len(n.member.spellings) == 0 {
			n.member = nil
			look = append(look, n)
		}
	}
	for path := range keep {
		if _, ok := t.members[path]; ok {
			continue
		}
		n := t.insert(path)
		if n == nil {
			continue
		}
		t.members[path] = n
		if n.member == nil {
			n.member = &member{}
			look = append(look, n)
		}
		n.member.spellings = append(n.member.spellings, path)
	}
	// Pruned last: a path that goes may share its folders with one that comes.
	look = slices.DeleteFunc(look, func(n *node) bool { return t.prune(n) })
	return look, removed
}

func (t *tree) insert(path string) *node {
	if path == "" {
		return nil
	}
	if !filepath.IsAbs(path) {
		abs, err := filepath.Abs(path)
		if err != nil {
			return nil
		}
		path = abs
	}
	root, names := split(path)
	n := t.roots[root]
	if n == nil {
		n = &node{name: root}
		t.roots[root] = n
	}
	for _, name := range names {
		child := n.children[name]
		if child == nil {
			child = &node{parent: n, name: name}
			if n.children == nil {
				n.children = map[string]*node{}
			}
			n.children[name] = child
		}
		n = child
	}
	return n
}

// prune removes a node that leads to no member, and those above it that were
// there for it alone. It returns whether the node itself went.
func (t *tree) prune(n *node) bool {
	gone := false
	for first := n; n != nil && n.member == nil && len(n.children) == 0; n = n.parent {
		t.setSpots(n, nil)
		delete(t.touched, n)
		if n.parent == nil {
			delete(t.roots, n.name)
		} else {
			delete(n.parent.children, n.name)
		}
		gone = gone || n == first
	}
	return gone
}

// attached says whether the node is still part of the tree.
func (t *tree) attached(n *node) bool {
	if n.parent == nil {
		return t.roots[n.name] == n
	}
	return n.parent.children[n.name] == n
}

// look finds out where the node leads now, after those above it, at most once
// a round. Where it leads elsewhere everything below is looked at as well.
func (t *tree) look(n *node) {
	if n.looked == t.round {
		return
	}
	if n.parent != nil {
		t.look(n.parent)
		if n.looked == t.round {
			return // the parent had changed
		}
	}
	before := n.at
	t.resolve(n)
	if !before.same(n.at) {
		t.lookBelow(n)
	}
}

// lookBelow looks at the node and everything below it.
func (t *tree) lookBelow(n *node) {
	if n.lookedBelow == t.round {
		return
	}
	t.look(n)
	n.lookedBelow = t.round
	for _, child := range n.children {
		t.lookBelow(child)
	}
}

func (t *tree) resolve(n *node) {
	n.looked = t.round
	w := walk{passed: t.passed}
	if n.parent == nil {
		w.at = rootPlace(n.name)
	} else {
		w.at = n.parent.at
		w.step(n.name, true, n.member != nil)
	}
	if n.member != nil {
		t.touched[n] = struct{}{}
		if w.at.folder {
			w.spots = append(w.spots, spot{folder: w.at.real, needed: true})
		}
	}
	n.at = w.at
	t.setSpots(n, w.spots)
}

// passed notices that another folder is now where a watched one was.
func (t *tree) passed(real string, id identity) {
	if f := t.folders[real]; f != nil && f.watched && (f.id.dev != id.dev || f.id.ino != id.ino) {
		f.watched, f.stale = false, true
		t.rewatch = true
	}
}

func (t *tree) setSpots(n *node, spots []spot) {
	if slices.Equal(n.spots, spots) {
		return
	}
	for _, s := range spots {
		f := t.folders[s.folder]
		if f == nil {
			f = &folder{path: s.folder, hits: map[string][]hit{}}
			t.folders[s.folder] = f
		}
		name := fold(s.name)
		f.hits[name] = append(f.hits[name], hit{n, s.last})
		f.total++
		if s.needed {
			f.needed++
		}
	}
	for _, s := range n.spots {
		f := t.folders[s.folder]
		name := fold(s.name)
		i := slices.Index(f.hits[name], hit{n, s.last})
		f.hits[name] = slices.Delete(f.hits[name], i, i+1)
		if len(f.hits[name]) == 0 {
			delete(f.hits, name)
		}
		f.total--
		if s.needed {
			f.needed--
		}
		if f.total == 0 {
			delete(t.folders, s.folder)
		}
	}
	n.spots = spots
	t.rewatch = true
}

// fold makes names equal that may be the same file: a look too many is cheap.
func fold(name string) string {
	if runtime.GOOS == "windows" || runtime.GOOS == "darwin" {
		return strings.ToLower(name)
	}
	return name
}

// below calls f for every member at or under the node.
func (n *node) below(f func(*member)) {
	if n.member != nil {
		f(n.member)
	}
	for _, child := range n.children {
		child.below(f)
	}
}
