//go:build unix

package watch

import (
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
)

func TestFIFONeverBlocks(t *testing.T) {
	t.Parallel()
	modes(t, func(t *testing.T, o Options) {
		dir := t.TempDir()
		f, fifo := filepath.Join(dir, "f"), filepath.Join(dir, "fifo")
		w := start(t, o, f, fifo, filepath.Join(fifo, "below"))
		must(t, syscall.Mkfifo(fifo, 0o600))
		expect(t, w, fifo)
		// Using it is no change.
		both, err := os.OpenFile(fifo, os.O_RDWR, 0)
		must(t, err)
		defer func() { _ = both.Close() }()
		_, err = both.WriteString("x")
		must(t, err)
		expectSilence(t, w, f)
		must(t, os.Remove(fifo))
		expect(t, w, fifo)
	})
}

func TestFolderThatMayNotBeSearched(t *testing.T) {
	t.Parallel()
	if os.Geteuid() == 0 {
		t.Skip("root may search everything")
	}
	modes(t, func(t *testing.T, o Options) {
		dir := t.TempDir()
		d := filepath.Join(dir, "d")
		f := filepath.Join(d, "f")
		mkdir(t, d)
		write(t, f, "1")
		w := start(t, o, f)
		must(t, os.Chmod(d, 0))
		expect(t, w, f)
		must(t, os.Chmod(d, 0o755))
		expect(t, w, f)
		write(t, f, "22")
		expect(t, w, f)
	})
}

// What a walk looks up decides what is watched.
func TestSpots(t *testing.T) {
	t.Parallel()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	mkdir(t, filepath.Join(dir, "real", "sub"))
	mkdir(t, filepath.Join(dir, "store"))
	write(t, filepath.Join(dir, "store", "f"), "1")
	symlink(t, "real", filepath.Join(dir, "link"))
	symlink(t, filepath.Join(dir, "store", "f"), filepath.Join(dir, "real", "sub", "f"))
	symlink(t, "loop", filepath.Join(dir, "loop"))
	tests := []struct {
		path   string
		needed []string // folder and name of each spot below dir that is needed
		id     presence
	}{
		{"store/f", []string{"store f"}, present},
		{"store", []string{" store", "store "}, present},
		{"store/f/g", []string{"store f"}, absent},
		{"store/a/b/c", []string{"store a"}, absent},
		{"link/sub/f", []string{" link", " real", "real/sub f", "store f"}, present},
		{"link/../store/f", []string{" link", " real", "store f"}, present},
		{"loop", []string{" loop"}, broken},
		{"loop/x", []string{" loop"}, broken},
	}
	for _, tt := range tests {
		tree := newTree()
		look, _ := tree.replace([]string{dir + "/" + tt.path})
		tree.round++
		tree.look(look[0])
		var got []string
		for n := look[0]; n != nil; n = n.parent {
			for _, s := range n.spots {
				if rel, err := filepath.Rel(dir, s.folder); err == nil && s.needed && filepath.IsLocal(rel) {
					if rel == "." {
						rel = ""
					}
					got = append(got, rel+" "+s.name)
				}
			}
		}
		slices.Sort(got)
		if !slices.Equal(got, tt.needed) {
			t.Errorf("%s: needs %q, want %q", tt.path, got, tt.needed)
		}
		if id := look[0].at.id.presence; id != tt.id {
			t.Errorf("%s: presence %v, want %v", tt.path, id, tt.id)
		}
	}
}
