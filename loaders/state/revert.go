package state

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"fusebox/loaders/rewrite"
)

// ErrConflict means that a file is not any more what the write made. Nothing was changed.
var ErrConflict = errors.New("the file changed since")

// ErrUndone means that a step was taken back already.
var ErrUndone = errors.New("taken back already")

// Conflict is one file that undo does not touch.
type Conflict struct {
	Path   string // the file
	Saved  string // where its old bytes are; "" when there was no file before
	Reason string // for people
}

// ConflictError names every file of a step that is in the way; errors.Is finds ErrConflict.
type ConflictError struct{ Conflicts []Conflict }

// Error gives one sentence per file.
func (e *ConflictError) Error() string {
	var parts []string
	for _, c := range e.Conflicts {
		text := fmt.Sprintf("undo %s: %s", c.Path, c.Reason)
		if c.Saved != "" {
			text += "; the old text is in " + c.Saved
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, "; ") + "; nothing was changed"
}

// Unwrap gives ErrConflict.
func (e *ConflictError) Unwrap() error { return ErrConflict }

// Reverted is what undo did to one file.
type Reverted struct {
	Path    string
	Real    string
	Removed bool     // it did not exist before the write
	Already bool     // it was as before the write, nothing was done
	Notes   []string // other things that a user should know
}

// reversal is a file on its way back.
type reversal struct {
	file   StepFile
	now    *rewrite.File
	before []byte
	done   Reverted
}

// Revert takes a step back: every file gets its old bytes again, a file that was new is removed, folders stay. Each file
// must hold exactly what the write made; one that does not is a *ConflictError, and then no file is changed. When a file
// cannot be written midway, those before it get the bytes of the step again.
func (u *Undo) Revert(step *Step) ([]Reverted, error) {
	if step == nil {
		return nil, errors.New("nothing to undo")
	}
	current, err := u.load(step.ID)
	if err != nil {
		return nil, fmt.Errorf("undo %q: %w", step.What, err)
	}
	if current.Undone {
		return nil, fmt.Errorf("undo %q: %w", step.What, ErrUndone)
	}
	back, err := plan(current)
	if err != nil {
		return nil, err
	}
	var done []Reverted
	for i := range back {
		if err := back[i].revert(); err != nil {
			return nil, errors.Join(err, putForward(back[:i]))
		}
		done = append(done, back[i].done)
	}
	if err := u.markUndone(step.ID); err != nil {
		return done, fmt.Errorf("the files are as before, but the step could not be marked as taken back: %w", err)
	}
	step.Undone = true
	return done, nil
}

// plan compares every file with the step, last written first.
func plan(step Step) ([]reversal, error) {
	var back []reversal
	var conflicts []Conflict
	for _, f := range slices.Backward(step.Files) {
		r := reversal{file: f, done: Reverted{Path: f.Path, Real: f.Real}}
		reason := r.check()
		if reason != "" {
			conflicts = append(conflicts, Conflict{Path: f.Path, Saved: f.Saved, Reason: reason})
		}
		back = append(back, r)
	}
	if conflicts != nil {
		return nil, &ConflictError{Conflicts: conflicts}
	}
	return back, nil
}

// check reads what is needed and tells why the file cannot go back.
func (r *reversal) check() (reason string) {
	now, err := rewrite.Read(r.file.Path)
	if err != nil {
		return err.Error()
	}
	r.now = now
	if now.Real != r.file.Real {
		return "the path leads to another file by now (" + now.Real + ")"
	}
	if r.file.Existed {
		saved, err := rewrite.Read(r.file.Saved)
		if err != nil || !saved.Exists || saved.Sum() != r.file.Before {
			r.file.Saved = ""
			return "the old text that was kept is damaged or gone"
		}
		r.before = saved.Data
	}
	switch {
	case now.Exists == r.file.Existed && (!now.Exists || now.Sum() == r.file.Before):
		r.done.Already = true
	case !now.Exists:
		return "it was removed since"
	case now.Sum() != r.file.After:
		return "it was changed since by another program or by hand"
	}
	return ""
}

func (r *reversal) revert() error {
	switch {
	case r.done.Already:
		return nil
	case !r.file.Existed:
		r.done.Removed = true
		return conflictOf(rewrite.Remove(r.now, rewrite.Options{Lock: r.file.Lock}), r.file)
	}
	result, err := rewrite.Replace(r.now, r.before, rewrite.Options{Lock: r.file.Lock})
	if err != nil {
		return conflictOf(err, r.file)
	}
	r.done.Notes = result.Notes
	return nil
}

// conflictOf makes a conflict of a file that changed since it was checked, a moment ago.
func conflictOf(err error, f StepFile) error {
	if errors.Is(err, rewrite.ErrChanged) {
		return errors.Join(&ConflictError{Conflicts: []Conflict{{Path: f.Path, Saved: f.Saved, Reason: "it was changed just now by another program"}}}, err)
	}
	return err
}

// putForward makes good what was taken back before another file failed.
func putForward(back []reversal) error {
	var failed []error
	for _, r := range slices.Backward(back) {
		if r.done.Already {
			continue
		}
		now, err := rewrite.Read(r.file.Path)
		if err == nil && (now.Real != r.file.Real || now.Exists != r.file.Existed || now.Sum() != rewrite.Sum(r.before)) {
			err = ErrConflict
		}
		if err == nil {
			_, err = rewrite.Replace(now, r.now.Data, rewrite.Options{Lock: r.file.Lock, NewMode: r.file.Mode})
		}
		if err != nil {
			failed = append(failed, fmt.Errorf("%s was taken back and could not be restored: %w", r.file.Path, err))
		}
	}
	return errors.Join(failed...)
}

func (u *Undo) markUndone(id string) error {
	dir := filepath.Join(u.dir, id)
	err := writeDurably(filepath.Join(dir, undoneFile), nil)
	if err != nil && !errors.Is(err, os.ErrExist) {
		return err
	}
	return rewrite.SyncFolder(dir)
}
