package watch

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/fsnotify/fsnotify"
)

// manyPaths is about what a machine with every harness watches: user folders
// of which some exist, and the same names in each folder of a project.
func manyPaths(b *testing.B) (dir string, paths []string) {
	b.Helper()
	dir = b.TempDir()
	for i := range 200 {
		folder := filepath.Join(dir, "home", fmt.Sprint(".tool", i))
		if i%2 == 0 {
			if err := os.MkdirAll(folder, 0o755); err != nil {
				b.Fatal(err)
			}
		}
		for k := range 10 {
			paths = append(paths, filepath.Join(folder, "deeper", fmt.Sprint("config", k)))
		}
	}
	return dir, paths
}

func BenchmarkSetPathsUnchanged(b *testing.B) {
	_, paths := manyPaths(b)
	w := New(Options{})
	defer func() { _ = w.Close() }()
	for b.Loop() {
		w.SetPaths(paths)
	}
}

func BenchmarkSetPathsOneChanged(b *testing.B) {
	_, paths := manyPaths(b)
	w := New(Options{})
	defer func() { _ = w.Close() }()
	w.SetPaths(paths)
	for i := 0; b.Loop(); i++ {
		w.SetPaths(append(paths[:len(paths):len(paths)], fmt.Sprint(paths[0], i%2)))
	}
}

func BenchmarkSetPathsAllChanged(b *testing.B) {
	_, paths := manyPaths(b)
	w := New(Options{})
	defer func() { _ = w.Close() }()
	for b.Loop() {
		w.SetPaths(paths)
		w.SetPaths(nil)
	}
}

func BenchmarkPollAll(b *testing.B) {
	_, paths := manyPaths(b)
	l := newLoop(Options{ForcePolling: true, Poll: time.Hour})
	l.setPaths(paths)
	for b.Loop() {
		l.poll()
	}
}

// One iteration is 1,000 events of names that no path depends on.
func BenchmarkIrrelevantEvents(b *testing.B) {
	dir, paths := manyPaths(b)
	l := newLoop(Options{ForcePolling: true, Poll: time.Hour})
	l.setPaths(paths)
	names := make([]string, 1000)
	for i := range names {
		names[i] = filepath.Join(dir, "home", fmt.Sprint(".history", i))
	}
	for b.Loop() {
		for _, name := range names {
			if l.markEvent(name, fsnotify.Write) {
				b.Fatal("relevant")
			}
		}
	}
}
