package rewrite

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// Obstacle says what would keep Replace from writing a file that was read, as far as that can be told without trying: more
// than one name, a folder in which nothing can be made. nil when nothing is known. Replace looks again.
func Obstacle(f *File) error {
	w := newWriter(f, Options{})
	if f.Exists && f.links > 1 && f.links > uint64(1+len(secondNames(f))) {
		return w.hardLinked(f.links)
	}
	for dir := filepath.Dir(f.Real); ; dir = filepath.Dir(dir) {
		info, err := os.Stat(dir)
		switch {
		case errors.Is(err, fs.ErrNotExist) && dir != filepath.Dir(dir):
			continue
		case err != nil:
			return nil
		case !info.IsDir():
			return w.refusal(ErrNotRegular, nil, "%s is not a folder", dir)
		}
		if err := mayWrite(dir); err != nil {
			return w.folderFailed(dir, err)
		}
		return nil
	}
}
