package watch

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// state is what a consumer knows of a path: where it leads and what is there.
func state(path string) string {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return "absent"
	}
	info, err := os.Stat(real)
	switch {
	case err != nil:
		return "absent"
	case info.IsDir():
		entries, _ := os.ReadDir(real)
		var names []string
		for _, e := range entries {
			names = append(names, e.Name())
		}
		return fmt.Sprintf("%s: folder %q", real, names)
	default:
		content, _ := os.ReadFile(real)
		return fmt.Sprintf("%s: file %q", real, content)
	}
}

// reader is a consumer that reads again what a batch names, and nothing else.
type reader struct {
	mu     sync.Mutex
	states map[string]string
}

func (r *reader) read(paths ...string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, p := range paths {
		r.states[p] = state(p)
	}
}

// randomTree does random things below dir.
type randomTree struct {
	dir     string
	rand    *rand.Rand
	counter int
}

var treeNames = []string{"a", "b", "c"}

func (r *randomTree) path() string {
	p := r.dir
	for range 1 + r.rand.IntN(3) {
		p = filepath.Join(p, treeNames[r.rand.IntN(len(treeNames))])
	}
	return p
}

// step does one operation; many fail, as they should.
func (r *randomTree) step() string {
	p, q := r.path(), r.path()
	r.counter++
	// All contents have one size, so that mtime alone has to tell.
	content := fmt.Appendf(nil, "%06d", r.counter)
	var op string
	var err error
	switch r.rand.IntN(10) {
	case 0, 1, 2:
		op, err = "write", os.WriteFile(p, content, 0o644)
	case 3:
		op = "write beside, rename over"
		if err = os.WriteFile(p+".tmp", content, 0o644); err == nil {
			err = os.Rename(p+".tmp", p)
		}
	case 4:
		op, err = "mkdir -p", os.MkdirAll(p, 0o755)
	case 5:
		op, err = "rename to "+q, os.Rename(p, q)
	case 6:
		op, err = "remove", os.Remove(p)
	case 7:
		op, err = "remove all", os.RemoveAll(p)
	case 8:
		op, err = "symlink to "+q, os.Symlink(q, p)
	case 9:
		target := filepath.Join("..", treeNames[r.rand.IntN(len(treeNames))])
		op, err = "symlink to "+target, os.Symlink(target, p)
	}
	return fmt.Sprintf("%s: %s (%v)", p, op, err)
}

// After any sequence of operations a consumer that reads again what is
// reported, and nothing else, knows the final state of every path: so every
// path that differs from the start was reported.
func TestNothingIsLost(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("symlinks and open folders behave otherwise")
	}
	seeds := 60
	if testing.Short() {
		seeds = 10
	}
	for _, mode := range []string{"events", "polling", "limit comes and goes"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			for seed := range seeds {
				var faults faults
				o := Options{
					Quiet: 2 * time.Millisecond, Longest: 10 * time.Millisecond, Poll: 15 * time.Millisecond,
					NewBackend: faults.new,
				}
				var limit func(on bool)
				switch mode {
				case "polling":
					o.ForcePolling = true
				case "limit comes and goes":
					limit = func(on bool) {
						var full error = syscall.ENOSPC
						if on {
							faults.add.Store(&full)
						} else {
							faults.add.Store(nil)
						}
					}
				}
				nothingIsLost(t, o, uint64(seed), seed%2 == 1, limit)
				if t.Failed() {
					return
				}
			}
		})
	}
}

// nothingIsLost plays one sequence. changeSet also changes the set of paths on
// the way; limit, unless nil, makes the backend refuse new folders.
func nothingIsLost(t *testing.T, o Options, seed uint64, changeSet bool, limit func(on bool)) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	tree := &randomTree{dir: dir, rand: rand.New(rand.NewPCG(seed, 1))}
	for range 10 {
		tree.step()
	}
	set := map[string]bool{}
	for range 12 {
		set[tree.path()] = true
	}
	var paths []string
	for p := range set {
		paths = append(paths, p)
	}
	slices.Sort(paths)

	w := New(o)
	w.SetPaths(paths)
	r := &reader{states: map[string]string{}}
	r.read(paths...)
	var consumer sync.WaitGroup
	consumer.Go(func() {
		for b := range w.Batches() {
			r.read(b.Paths...)
		}
	})

	var log []string
	for range 40 {
		if limit != nil && tree.rand.IntN(5) == 0 {
			limit(tree.rand.IntN(2) == 0)
		}
		log = append(log, tree.step())
		switch tree.rand.IntN(8) {
		case 0:
			// Some operations meet the watcher at work, others a burst.
			time.Sleep(time.Duration(tree.rand.IntN(int(3 * o.Quiet))))
		case 1:
			// Another set, and back; what is new in it the reader has to read.
			if some := paths[:tree.rand.IntN(len(paths))]; changeSet {
				w.SetPaths(some)
				w.SetPaths(paths)
				r.read(paths[len(some):]...)
			}
		}
	}

	wrong := func() (problems []string) {
		r.mu.Lock()
		defer r.mu.Unlock()
		for _, p := range paths {
			if now := state(p); r.states[p] != now {
				problems = append(problems, fmt.Sprintf("%s: is %s, the reader has %s", p, now, r.states[p]))
			}
		}
		return problems
	}
	for deadline := time.Now().Add(patience); len(wrong()) > 0 && time.Now().Before(deadline); {
		time.Sleep(time.Millisecond)
	}
	if problems := wrong(); len(problems) > 0 {
		t.Errorf("seed %d:\n%s\nafter\n%s", seed, strings.Join(problems, "\n"), strings.Join(log, "\n"))
	}
	must(t, w.Close())
	consumer.Wait()
}
