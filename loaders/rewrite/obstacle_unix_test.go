//go:build !windows

package rewrite

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

func TestObstacle(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	for _, name := range []string{"plain", "named"} {
		if err := os.WriteFile(at(name), []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Link(at("named"), at("also")); err != nil {
		t.Skip("no hard links here")
	}
	if err := os.Mkdir(at("shut"), 0o500); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]error{
		at("plain"): nil, at("new"): nil, at("sub/sub/new"): nil, at("named"): ErrHardLink, at("shut/new"): ErrUnwritableFolder,
	} {
		f, err := Read(path)
		if err != nil {
			t.Fatal(err)
		}
		if want == ErrUnwritableFolder && os.Geteuid() == 0 {
			want = nil // root may
		}
		if got := Obstacle(f); want == nil && got != nil || want != nil && !errors.Is(got, want) {
			t.Errorf("%s: %v, want %v", path, got, want)
		}
	}
}
