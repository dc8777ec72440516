package rewrite

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Names that this package makes beside the file.
//
//	.fusebox-tmp-RANDOM            the new text while it is written; never anything else
//	.fusebox-swap-OLD-NEW-RANDOM   changes places with the file; then holds what the file held
//	.fusebox-kept-RANDOM-NAME      what another program wrote and what is no longer in the file; never removed
//
// OLD and NEW are the first digits of the SHA-256 of the text that was planned on and of the new text.
const (
	Prefix     = ".fusebox-" // of every name that this package makes
	tmpPrefix  = Prefix + "tmp-"
	swapPrefix = Prefix + "swap-"
	keptPrefix = Prefix + "kept-"

	sumDigits   = 16
	leftoverAge = time.Minute
)

func randomName() string {
	b := make([]byte, 8)
	_, _ = rand.Read(b) // never fails
	return hex.EncodeToString(b)
}

func swapName(old, new []byte) string {
	return swapPrefix + Sum(old)[:sumDigits] + "-" + Sum(new)[:sumDigits] + "-" + randomName()
}

// cleanLeftovers removes what writes that were killed left in a folder more than a minute ago. A file that changed places
// with one that was not planned on holds what another program wrote: it is kept under a name that says so, and reported.
func (w *writer) cleanLeftovers(dir string) {
	d, err := os.Open(dir)
	if err != nil {
		return
	}
	names, _ := d.Readdirnames(-1)
	d.Close()
	for _, name := range names {
		if !strings.HasPrefix(name, tmpPrefix) && !strings.HasPrefix(name, swapPrefix) {
			continue
		}
		path := filepath.Join(dir, name)
		info, err := os.Lstat(path)
		if err != nil || w.now().Sub(changedAt(info)) < leftoverAge {
			continue
		}
		if strings.HasPrefix(name, tmpPrefix) || knownContent(path, name) {
			_ = os.Remove(path)
			continue
		}
		if kept, err := keepAside(path, ""); err == nil {
			w.notes = append(w.notes, "a write was interrupted earlier; what another program wrote then is kept in "+kept)
		}
	}
}

// knownContent tells whether a swapped file holds one of the two texts that its name tells of.
func knownContent(path, name string) bool {
	parts := strings.Split(strings.TrimPrefix(name, swapPrefix), "-")
	if len(parts) != 3 {
		return false
	}
	f, err := look(path, 0)
	if err != nil || !f.Exists {
		return false
	}
	sum := f.Sum()[:sumDigits]
	return sum == parts[0] || sum == parts[1]
}

// keepAside gives a file a name under which it stays. The other name of the file, if known, ends it.
func keepAside(path, of string) (kept string, err error) {
	name := keptPrefix + randomName()
	if base := filepath.Base(of); of != "" && len(base) <= 200 {
		name += "-" + base
	}
	kept = filepath.Join(filepath.Dir(path), name)
	err = renameNew(path, kept)
	if errors.Is(err, errNoExchange) {
		if _, missing := os.Lstat(kept); errors.Is(missing, fs.ErrNotExist) {
			err = rename(path, kept)
		}
	}
	if err != nil {
		return path, err
	}
	return kept, nil
}

// secondNames are the names that a killed write may have left for a file, where the system has no exchange.
func secondNames(f *File) []string {
	dir := filepath.Dir(f.Real)
	names, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	var second []string
	for _, name := range names {
		path := filepath.Join(dir, name.Name())
		if !strings.HasPrefix(name.Name(), swapPrefix) || path == f.Real {
			continue
		}
		if info, err := os.Lstat(path); err == nil && os.SameFile(info, f.info) {
			second = append(second, path)
		}
	}
	return second
}

// dropSecondName removes them. It tells whether the file has one name by now.
func dropSecondName(f *File) bool {
	for _, path := range secondNames(f) {
		_ = os.Remove(path)
	}
	now, err := look(f.Real, writeWait)
	return err == nil && now.links == 1
}
