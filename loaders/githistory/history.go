package githistory

import (
	"bytes"
	"container/heap"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Bounds of the history that is looked at.
const (
	MaxCommits  = 1000 // commits, the newest first
	MaxVersions = 50   // different versions of the file
	maxParents  = 64   // of one commit
	maxParts    = 64   // of the path of the file
)

// Version is the file as a commit has it.
type Version struct {
	Data   []byte
	Commit string    // id of the commit that brought it, or of the oldest that was looked at and has it; hexadecimal digits
	At     time.Time // when that was committed, in the committer's zone; zero where that is no sensible date
}

// Versions returns the different versions of the file in the history of HEAD, the newest first; what the file is now may be
// one of them. Of a history that is not wholly there, damaged or too large it returns what can be read. An error tells why
// there are none, or that the time was over before the end.
func (r *Repository) Versions(ctx context.Context) ([]Version, error) {
	if len(r.inside) > maxParts {
		return nil, ErrNotUnderstood
	}
	head, err := r.head()
	if err != nil {
		return nil, err
	}
	w := &walk{r: r, ctx: ctx, commits: map[id]*commit{}, files: map[treeAt]id{}, at: map[id]int{}}
	first := w.commit(head)
	if first == nil {
		return nil, errors.Join(w.over, fmt.Errorf("read HEAD's commit: %w", w.why))
	}
	w.push(first)
	for range MaxCommits {
		if w.queue.Len() == 0 || w.over != nil {
			break
		}
		w.visit(heap.Pop(&w.queue).(*commit))
	}
	return w.versions(), w.over
}

// commit is a commit as far as it is needed here.
type commit struct {
	id      id
	tree    id
	parents []id
	when    int64 // seconds since 1970
	zone    int   // seconds east of Greenwich
	queued  bool
	order   int
}

func (c *commit) time() time.Time {
	const year9999 = 253402300799
	if c.when <= 0 || c.when > year9999 {
		return time.Time{}
	}
	return time.Unix(c.when, 0).In(time.FixedZone("", c.zone))
}

type treeAt struct {
	tree  id
	depth int
}

// seen is a version that the walk has met.
type seen struct {
	data  []byte // nil: it is not read, as what is too large or no file
	by    *commit
	found bool // by is the commit that brought it
}

// walk goes through the history, all parents, by the time of the commits.
type walk struct {
	r       *Repository
	ctx     context.Context
	queue   queue
	commits map[id]*commit // nil: it cannot be read
	files   map[treeAt]id  // what a path leads to from a tree on; the zero id: nothing
	seen    []seen
	at      map[id]int // index in seen
	why     error      // why the last object could not be read
	over    error      // why the walk cannot go on
}

// object reads an object; nil when it cannot be read.
func (w *walk) object(want id, k kind) []byte {
	data, err := w.r.store.object(w.ctx, want, k)
	if err != nil {
		w.why = err
		if ended := w.ctx.Err(); ended != nil || errors.Is(err, errExhausted) {
			w.over = err
		}
		return nil
	}
	if data == nil {
		data = []byte{}
	}
	return data
}

func (w *walk) commit(want id) *commit {
	if c, known := w.commits[want]; known {
		return c
	}
	var c *commit
	if data := w.object(want, kindCommit); data != nil {
		if c = parseCommit(data); c != nil {
			c.id = want
		} else {
			w.why = errCorrupt
		}
	}
	w.commits[want] = c
	return c
}

func (w *walk) push(c *commit) {
	if c.queued {
		return
	}
	c.queued, c.order = true, len(w.commits)
	heap.Push(&w.queue, c)
}

func (w *walk) visit(c *commit) {
	file := w.file(c.tree)
	brought := file != id{}
	for _, p := range c.parents {
		parent := w.commit(p)
		if parent == nil {
			continue // a shallow or damaged history ends here
		}
		w.push(parent)
		if brought && w.file(parent.tree) == file {
			brought = false
		}
	}
	if (file == id{}) || w.over != nil {
		return
	}
	i, known := w.at[file]
	if !known {
		if len(w.seen) == MaxVersions {
			return
		}
		i = len(w.seen)
		w.at[file] = i
		w.seen = append(w.seen, seen{data: w.object(file, kindBlob)})
	}
	if s := &w.seen[i]; !s.found {
		s.by, s.found = c, brought
	}
}

func (w *walk) versions() []Version {
	var out []Version
	for _, s := range w.seen {
		if s.data != nil {
			out = append(out, Version{Data: s.data, Commit: s.by.id.String(), At: s.by.time()})
		}
	}
	return out
}

// file returns the id of the file in the tree of a commit; the zero id where it is none, or cannot be found.
func (w *walk) file(root id) id {
	var above []treeAt
	at := root
	for depth := range w.r.inside {
		key := treeAt{at, depth}
		if known, ok := w.files[key]; ok {
			at = known
			break
		}
		above = append(above, key)
		at = entryOf(w.object(at, kindTree), w.r.inside[depth], depth == len(w.r.inside)-1)
		if (at == id{}) {
			break
		}
	}
	if w.over == nil {
		for _, key := range above {
			w.files[key] = at
		}
	}
	return at
}

// entryOf finds a name in a tree: a file where it is the last of a path, else a folder. A link or a submodule is neither.
func entryOf(tree []byte, name string, last bool) id {
	for len(tree) > 0 {
		mode, rest, ok := bytes.Cut(tree, []byte{' '})
		if !ok {
			return id{}
		}
		entry, rest, ok := bytes.Cut(rest, []byte{0})
		if !ok || len(rest) < len(id{}) {
			return id{}
		}
		if string(entry) == name {
			is := string(mode)
			if last && (is == "100644" || is == "100755" || is == "100664") || !last && (is == "40000" || is == "040000") {
				return id(rest[:len(id{})])
			}
			return id{}
		}
		tree = rest[len(id{}):]
	}
	return id{}
}

// parseCommit reads the head of a commit; nil when it is none.
func parseCommit(data []byte) *commit {
	c := &commit{}
	line := func() (word, rest string) {
		l, after, ok := bytes.Cut(data, []byte{'\n'})
		if !ok {
			return "", ""
		}
		data = after
		word, rest, _ = strings.Cut(string(l), " ")
		return word, rest
	}
	word, rest := line()
	var ok bool
	if c.tree, ok = parseID(rest); word != "tree" || !ok {
		return nil
	}
	for word, rest = line(); word == "parent"; word, rest = line() {
		p, ok := parseID(rest)
		if !ok {
			return nil
		}
		if len(c.parents) < maxParents && !slices.Contains(c.parents, p) {
			c.parents = append(c.parents, p)
		}
	}
	if word != "author" {
		return nil
	}
	if word, rest = line(); word != "committer" {
		return nil
	}
	// "Name <address> 1700000000 +0100"
	if _, after, ok := strings.Cut(rest[strings.LastIndexByte(rest, '>')+1:], " "); ok {
		digits, zone, _ := strings.Cut(after, " ")
		if when, err := strconv.ParseInt(digits, 10, 64); err == nil {
			c.when, c.zone = when, zoneOf(zone)
		}
	}
	return c
}

// zoneOf reads "+0100"; 0 for anything else.
func zoneOf(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil || len(s) != 5 || n < -1400 || n > 1400 {
		return 0
	}
	return n/100*3600 + n%100*60
}

// queue gives the newest commit first; of the same time, the one that was met first.
type queue []*commit

func (q queue) Len() int { return len(q) }
func (q queue) Less(a, b int) bool {
	if q[a].when != q[b].when {
		return q[a].when > q[b].when
	}
	return q[a].order < q[b].order
}
func (q queue) Swap(a, b int) { q[a], q[b] = q[b], q[a] }

// Push adds a commit.
func (q *queue) Push(c any) { *q = append(*q, c.(*commit)) }

// Pop takes the last one.
func (q *queue) Pop() any {
	last := (*q)[len(*q)-1]
	*q = (*q)[:len(*q)-1]
	return last
}
