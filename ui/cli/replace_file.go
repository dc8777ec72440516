package cli

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// replaceFile writes a file that fusebox was asked for: as a whole or not at all. What is there and is no regular file is
// left alone, links included. The mode is 0644 without the bits of the umask.
func replaceFile(path, text string) error {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return &exitError{exitUsage, fmt.Errorf("look at the file for the report: %w", err)}
	case !info.Mode().IsRegular():
		return usageError("%s is not a regular file: it is left as it is", path)
	}
	temp := filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+"."+rand.Text()[:8]+".tmp")
	f, err := os.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return fmt.Errorf("write %s: %w", path, bareCause(err))
	}
	_, err = f.WriteString(text)
	if err == nil {
		err = f.Sync()
	}
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	if err == nil {
		err = os.Rename(temp, path)
	}
	if err != nil {
		os.Remove(temp) //nolint:errcheck // the first error is the one to tell
		return fmt.Errorf("write %s: %w", path, bareCause(err))
	}
	return nil
}

// bareCause leaves out what an error of the file system says about the temporary file: nobody asked for that one.
func bareCause(err error) error {
	var onPath *fs.PathError
	var onLink *os.LinkError
	switch {
	case errors.As(err, &onPath):
		return onPath.Err
	case errors.As(err, &onLink):
		return onLink.Err
	}
	return err
}
