package rewrite

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// errNoExchange means that the system or the file system cannot swap two names, or not rename without replacing.
var errNoExchange = errors.New("exchange is not supported")

// maxPutBacks bounds how often what came out is put back, while others write at the same time.
const maxPutBacks = 8

func (w *writer) exchange(a, b string) error {
	if w.hooks != nil && w.hooks.noExchange {
		return errNoExchange
	}
	return exchange(a, b)
}

func (w *writer) renameNew(from, to string) error {
	var err error = errNoExchange
	if w.hooks == nil || !w.hooks.noExchange {
		err = renameNew(from, to)
	}
	if !errors.Is(err, errNoExchange) {
		return err
	}
	// A link is not made over something either.
	if w.hooks == nil || !w.hooks.noLink {
		err := os.Link(from, to)
		if err == nil {
			return os.Remove(from)
		}
		if errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	if _, err := os.Lstat(to); err == nil {
		return fs.ErrExist
	} else if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return rename(from, to)
}

// swap lets the file and the new one change places, and looks at what came out. When that is not what was planned on, it
// goes back.
func (w *writer) swap(planned, made *File) error {
	err := w.exchange(made.Path, planned.Real)
	switch {
	case errors.Is(err, errNoExchange):
		return w.compareAndRename(planned, made)
	case errors.Is(err, fs.ErrNotExist):
		return w.changed("it was removed meanwhile")
	case err != nil:
		return w.placeFailed(err)
	}
	w.temp = "" // it holds what came out
	if err := w.confirm(planned, made.Path); err != nil {
		w.putBack(planned.Real, made)
		return err
	}
	_ = os.Remove(made.Path) // if it stays, its name tells that it can go
	return nil
}

// confirm makes the replacement durable and finds a reason to take it back. What came out is looked at twice: to make a
// folder durable takes a while, in which a program that had opened the old file shows.
func (w *writer) confirm(planned *File, out string) error {
	if err := w.at(stepPlaced); err != nil {
		return w.placeFailed(err)
	}
	if err := w.cameOut(planned, out); err != nil {
		return err
	}
	if err := w.at(stepLooked); err != nil {
		return w.placeFailed(err)
	}
	if err := SyncFolder(filepath.Dir(out)); err != nil {
		return w.placeFailed(err)
	}
	if err := w.at(stepDurable); err != nil {
		return w.placeFailed(err)
	}
	return w.cameOut(planned, out)
}

// cameOut finds a reason why the file at out is not the planned one.
func (w *writer) cameOut(planned *File, out string) error {
	f, err := w.look(out)
	if err != nil {
		return err
	}
	if real, err := resolve(planned.Path); err == nil {
		f.Real = real
	}
	if err := w.compare(planned, f); err != nil {
		return err
	}
	if f.links > 1 {
		return w.hardLinked(f.links)
	}
	return nil
}

func (w *writer) look(path string) (*File, error) {
	f, err := look(path, w.wait(writeWait))
	switch {
	case errors.Is(err, ErrNotRegular):
		if info, err := os.Lstat(path); err == nil && info.Mode()&fs.ModeSymlink != 0 {
			return nil, w.changed("the path leads to another file by now")
		}
		return nil, w.refusal(ErrNotRegular, nil, "something that is no regular file took its place meanwhile")
	case errors.Is(err, ErrTooLarge):
		return nil, w.refusal(ErrTooLarge, nil, "it grew larger than 16 MiB meanwhile")
	case errors.Is(err, ErrLocked):
		return nil, w.refusal(ErrLocked, nil, "another program has it open for writing: wait until it is done, or close it there")
	case err != nil:
		return nil, w.placeFailed(err)
	}
	return f, nil
}

// putBack undoes an exchange. Whatever comes out of the file then should be the text that was put there; when it is not,
// somebody wrote over that, and it is what belongs into the file. What no longer gets into the file is kept aside.
func (w *writer) putBack(real string, made *File) {
	aside, put, ours := made.Path, made, true
	for range maxPutBacks {
		next := identify(aside)
		if w.at(stepPutBack) != nil {
			break
		}
		if w.exchange(aside, real) != nil {
			break // removed by somebody, who did not know what lies aside
		}
		_ = w.at(stepPutAway)
		if w.is(aside, put) {
			if !ours {
				break
			}
			_ = os.Remove(aside)
			return
		}
		put, ours = next, false
	}
	w.keep(aside, real)
}

// keep leaves a file aside under a name that says so, and reports it.
func (w *writer) keep(path, of string) {
	kept, err := keepAside(path, of)
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	w.kept = append(w.kept, kept)
}

// identify tells what is at a path, as far as that can be told.
func identify(path string) *File {
	if f, err := look(path, 0); err == nil && f.Exists {
		return f
	}
	f := &File{Path: path, Real: path}
	f.info, _ = os.Lstat(path)
	return f
}

// is tells whether a path holds a file that was seen before, unchanged and in nobody's hands.
func (w *writer) is(path string, seen *File) bool {
	info, err := os.Lstat(path)
	// The type counts, too: the inode of a file that is gone is soon used again.
	if err != nil || seen.info == nil || !os.SameFile(info, seen.info) || info.Mode().Type() != seen.info.Mode().Type() {
		return false
	}
	if !seen.Exists { // its content was not known then
		return true
	}
	f, err := look(path, w.wait(writeWait))
	return err == nil && bytes.Equal(f.Data, seen.Data)
}

// compareAndRename replaces the file where it cannot be swapped. A second name for the old file keeps it at hand, where
// the file system has such.
func (w *writer) compareAndRename(planned, made *File) error {
	old := filepath.Join(filepath.Dir(planned.Real), swapName(planned.Data, made.Data))
	linked := (w.hooks == nil || !w.hooks.noLink) && secondName(planned.Real, old) == nil
	if linked {
		defer func() {
			if old != "" {
				_ = os.Remove(old)
			}
		}()
	}
	now, err := w.look(planned.Real)
	if err != nil {
		return err
	}
	if real, err := resolve(planned.Path); err == nil {
		now.Real = real
	}
	if err := w.compare(planned, now); err != nil {
		return err
	}
	if names := now.links; linked && names > 2 || !linked && names > 1 {
		return w.hardLinked(names)
	}
	if linked && !w.is(old, now) {
		return w.changed("another program replaced it meanwhile")
	}
	if err := rename(made.Path, planned.Real); err != nil {
		return w.placeFailed(err)
	}
	w.temp = ""
	if !linked {
		if err := w.at(stepPlaced); err != nil {
			return w.placeFailed(err)
		}
		if err := SyncFolder(filepath.Dir(planned.Real)); err != nil {
			w.notes = append(w.notes, "the new text may be lost if the machine stops now: "+bare(err).Error())
		}
		if !w.is(planned.Real, made) {
			w.notes = append(w.notes, "another program changed the file right after the write")
		}
		return nil
	}
	err = w.confirm(planned, old)
	if err == nil {
		return nil
	}
	if w.is(planned.Real, made) && rename(old, planned.Real) == nil {
		old = ""
		return err
	}
	w.keep(old, planned.Real)
	old = ""
	return err
}

// create gives the new file its name, if that is still free.
func (w *writer) create(planned, made *File) error {
	err := w.renameNew(made.Path, planned.Real)
	if errors.Is(err, fs.ErrExist) {
		return w.changed("it was made by another program meanwhile")
	}
	if err != nil {
		return w.placeFailed(err)
	}
	w.temp = ""
	err = w.at(stepPlaced)
	if err == nil {
		err = w.at(stepLooked)
	}
	if err == nil {
		err = SyncFolder(filepath.Dir(planned.Real))
	}
	if err == nil {
		err = w.at(stepDurable)
	}
	if err != nil {
		err = w.placeFailed(err)
	} else if real, broken := resolve(planned.Path); broken != nil || real != planned.Real {
		err = w.changed("the path leads to another file by now")
	}
	if err == nil {
		return nil
	}
	back := &File{Path: planned.Real, Real: planned.Real, Exists: true, Data: made.Data, Mode: made.Mode, owner: made.owner}
	if w.takeAway(back, w.cameOut) != nil {
		err = fmt.Errorf("%w; the new file could not be removed again", err)
	}
	return err
}

// takeAway removes the planned file: it moves it aside, looks at it, and moves it back unless sure finds nothing wrong.
func (w *writer) takeAway(planned *File, sure func(planned *File, out string) error) error {
	aside := filepath.Join(filepath.Dir(planned.Real), swapName(planned.Data, planned.Data))
	err := rename(planned.Real, aside)
	if errors.Is(err, fs.ErrNotExist) {
		return w.changed("it was removed meanwhile")
	}
	if err != nil {
		return w.placeFailed(err)
	}
	err = sure(planned, aside)
	if err == nil {
		_ = os.Remove(aside)
		return nil
	}
	if w.renameNew(aside, planned.Real) != nil {
		w.keep(aside, planned.Real)
	}
	return err
}
