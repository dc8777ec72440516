// Package rewrite replaces the bytes of a file atomically: a reader sees the old text or the new one, also after a crash,
// and what another program wrote in between is never lost silently. Symbolic links, permissions and owner stay.
//
// It knows no harness and no format, never writes into a file in place, does not watch, does not merge texts (Replan is
// the caller's), and keeps no old bytes beyond the call: package state does.
package rewrite

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"
)

// Options are how one write is done. The zero value takes no lock, makes new files with mode 0600, and treats a file that
// changed as a conflict.
type Options struct {
	// Lock is a lock folder that the harness itself uses for the file (as the npm package proper-lockfile makes it), or "".
	// It is waited for, 3 seconds at most, and taken over when nobody refreshed it for 10 seconds.
	Lock string
	// NewMode is the mode of a file that did not exist, whatever the umask; 0 is 0600. Missing parent folders are made with
	// the same mode plus search permission for those who may read, less the umask: 0700 for 0600, 0755 for 0644.
	NewMode fs.FileMode
	// Replan makes the new bytes again, on what was found instead of the planned file. It is called once at most; nil, or
	// an error that it returns, makes the write a conflict (ErrChanged). The bytes of now, unchanged (nil for no file), mean
	// that nothing is left to do.
	Replan func(now *File) ([]byte, error)

	hooks *hooks
}

// hooks let tests stand in for the clock, for the system, and for programs that come in between.
type hooks struct {
	at         func(step) error // an error fails the step as the system would
	clock      func() time.Time
	noExchange bool
	noLink     bool
	wait       time.Duration // for writers and locks; 0 is as always
}

// Result is a write that was done.
type Result struct {
	Path      string      // as planned on
	Real      string      // the file that was replaced
	Existed   bool        // whether there was a file
	Before    []byte      `json:"-"` // its bytes
	After     []byte      `json:"-"` // the bytes now
	Mode      fs.FileMode // its mode
	Replanned bool        // the file had changed, and the bytes are those that Replan made
	Lock      string      // the lock folder that was taken, or ""
	Kept      []string    // files that hold what another program wrote and what is no longer in the file
	Notes     []string    // other things that a user should know
}

// String keeps the content, which may hold secrets, out of formatted output.
func (r Result) String() string { return "rewrite.Result " + r.Path }

// GoString does the same for the verb %#v.
func (r Result) GoString() string { return r.String() }

// step is a moment in a write; what can go wrong is different at each.
type step string

const (
	stepLocked  step = "locked"        // all locks are held
	stepTemp    step = "temp"          // an empty temporary file exists
	stepHalf    step = "half written"  // it holds half of the text
	stepWritten step = "written"       // it holds the text, perhaps in memory only
	stepSynced  step = "synced"        // it is durable
	stepReady   step = "ready"         // about to take the place of the file
	stepPlaced  step = "placed"        // the file holds the new text
	stepLooked  step = "looked"        // what came out was what was planned on
	stepDurable step = "durable"       // the folder is durable, too
	stepRemoved step = "removed"       // the old text is gone
	stepPutBack step = "put back"      // what came out goes back into the file
	stepPutAway step = "put back done" // and something was got in return
)

// steps are those of a write that succeeds.
var steps = [...]step{stepLocked, stepTemp, stepHalf, stepWritten, stepSynced, stepReady, stepPlaced, stepLooked, stepDurable, stepRemoved}

const (
	folderWait = 5 * time.Second
	newMode    = 0o600
)

// writer is one write under way.
type writer struct {
	Options
	path, real string
	temp       string // a file of ours that nothing else needs; removed at the end
	parents    []string
	lock       *harnessLock
	kept       []string
	notes      []string
}

func (w *writer) at(s step) error {
	if w.hooks == nil || w.hooks.at == nil {
		return nil
	}
	return w.hooks.at(s)
}

func (w *writer) now() time.Time {
	if w.hooks == nil || w.hooks.clock == nil {
		return time.Now()
	}
	return w.hooks.clock()
}

func (w *writer) wait(usual time.Duration) time.Duration {
	if w.hooks == nil || w.hooks.wait == 0 {
		return usual
	}
	return w.hooks.wait
}

// Replace makes data the content of the planned file, if it still is what it was: same bytes, mode and owner, and the same
// way there. A file that did not exist must still not exist; its missing parents are made. Equal bytes are not written.
// When it returns an error the file is as it was, or as another program left it; see Error. When it returns none the new
// text is durable.
//
// On Linux and macOS the two files change places in one step, so what is replaced is looked at before it is let go. Where
// the file system cannot do that, and on Windows, a program that renames a file of its own over this one in the moment
// between the last look and the replacement goes unseen. A program that writes in place is waited for on Linux; on other
// systems it is seen when it has written by the second look.
//
// Replace serialises the writes to one file in this process and, but for Windows and network file systems that have no
// locks, those of all fusebox processes in one folder.
func Replace(planned *File, data []byte, o Options) (*Result, error) {
	w := newWriter(planned, o)
	if len(data) > MaxSize {
		return nil, w.refusal(ErrTooLarge, nil, "the new text is larger than 16 MiB")
	}
	unlock := writing.lock(planned.Real)
	defer func() { unlock() }()
	defer w.end()

	replanned := false
	err := w.attempt(planned, func() error { return w.place(planned, data) })
	if errors.Is(err, ErrChanged) && o.Replan != nil {
		old := planned
		planned, data, err = w.replan(err)
		if err == nil {
			replanned = true
			if planned.Real != old.Real {
				unlock()
				unlock = writing.lock(planned.Real)
			}
			err = w.attempt(planned, func() error { return w.place(planned, data) })
		}
	}
	if err != nil {
		return nil, w.failed(err)
	}
	mode := planned.Mode
	if !planned.Exists {
		mode = w.NewMode
	}
	if data != nil {
		w.parents = nil
	}
	return &Result{Path: planned.Path, Real: planned.Real, Existed: planned.Exists, Before: planned.Data, After: data, Mode: mode,
		Replanned: replanned, Lock: o.Lock, Kept: w.kept, Notes: w.notes}, nil
}

// Remove removes the planned file, if it still is what it was. A symbolic link to it stays. Of the options, only Lock
// counts. Errors are those of Replace.
func Remove(planned *File, o Options) error {
	o.Replan = nil
	w := newWriter(planned, o)
	defer writing.lock(planned.Real)()
	defer w.end()
	err := w.attempt(planned, func() error {
		if !planned.Exists {
			return nil
		}
		return w.takeAway(planned, w.confirm)
	})
	if err != nil {
		return w.failed(err)
	}
	return nil
}

func newWriter(planned *File, o Options) *writer {
	if o.NewMode == 0 {
		o.NewMode = newMode
	}
	return &writer{Options: o, path: planned.Path, real: planned.Real}
}

// end gives locks back and removes what a failed write made.
func (w *writer) end() {
	w.dropTemp()
	if w.lock != nil {
		w.lock.release()
	}
	for _, dir := range slices.Backward(w.parents) {
		_ = os.Remove(dir) // stays when somebody uses it by now
	}
}

func (w *writer) dropTemp() {
	if w.temp != "" {
		_ = os.Remove(w.temp)
		w.temp = ""
	}
}

// failed completes the error of a write.
func (w *writer) failed(err error) error {
	var e *Error
	if !errors.As(err, &e) {
		if len(w.kept) == 0 {
			return err
		}
		e = w.refusal(ErrChanged, err, "it changed while the write was taken back")
	}
	e.Kept = w.kept
	if e.Kind == ErrChanged && e.Now == nil {
		e.Now, _ = Read(w.path) // the message says enough when it cannot be read
	}
	return e
}

// replan reads the file again and makes new bytes for it.
func (w *writer) replan(conflict error) (*File, []byte, error) {
	now, err := Read(w.path)
	if err != nil {
		return nil, nil, err
	}
	data, err := w.Replan(now)
	if err == nil && len(data) > MaxSize {
		err = ErrTooLarge
	}
	if err != nil {
		var e *Error
		if errors.As(conflict, &e) {
			e.Now, e.cause = now, err
			e.text = "it changed meanwhile, and the change cannot be made on what is there now; it was left so: look at it and try again"
		}
		return nil, nil, conflict
	}
	return now, data, nil
}

// attempt takes the locks, compares the file with the planned one, and does the write.
func (w *writer) attempt(planned *File, write func() error) error {
	w.real = planned.Real
	dir := filepath.Dir(planned.Real)
	if !planned.Exists {
		if err := w.makeParents(dir); err != nil {
			return err
		}
	}
	if w.Lock != "" && w.lock == nil {
		lock, err := takeHarnessLock(w.Lock, w.wait(lockWait), lockRefresh)
		if errors.Is(err, ErrLocked) {
			return w.refusal(ErrLocked, err, "the harness is changing it just now (lock folder %s): try again; "+
				"if no harness runs, remove the lock", w.Lock)
		}
		if err != nil {
			return w.folderFailed(filepath.Dir(w.Lock), err)
		}
		w.lock = lock
	}
	unlock, err := lockFolder(dir, w.wait(folderWait))
	if err != nil {
		return w.refusal(ErrLocked, nil, "another fusebox is writing in the folder %s: try again when it is done", dir)
	}
	defer unlock()
	if err := w.at(stepLocked); err != nil {
		return w.folderFailed(dir, err)
	}
	now, err := Read(planned.Path)
	if err != nil {
		return err
	}
	if err := w.compare(planned, now); err != nil {
		return err
	}
	if now.links > 1 && !dropSecondName(now) {
		return w.hardLinked(now.links)
	}
	return write()
}

// compare finds a reason why what was read is not what was planned on.
func (w *writer) compare(planned, now *File) error {
	switch {
	case now.Real != planned.Real:
		return w.changed("the path leads to another file by now")
	case !now.Exists && planned.Exists:
		return w.changed("it was removed meanwhile")
	case now.Exists && !planned.Exists:
		return w.changed("it was made by another program meanwhile")
	case !bytes.Equal(now.Data, planned.Data):
		return w.changed("another program changed it meanwhile")
	case !now.same(planned):
		return w.changed("its permissions or its owner changed meanwhile")
	}
	return nil
}

// place writes the new text beside the file and puts it in its place.
func (w *writer) place(planned *File, data []byte) error {
	if bytes.Equal(planned.Data, data) && (planned.Exists || data == nil) {
		return nil
	}
	w.cleanLeftovers(filepath.Dir(planned.Real))
	defer w.dropTemp()
	made, err := w.writeTemp(planned, data)
	if err != nil {
		return err
	}
	if err := w.at(stepReady); err != nil {
		return w.placeFailed(err)
	}
	if w.lock != nil && !w.lock.held() {
		return w.refusal(ErrLocked, nil, "its lock folder %s was taken by another program: try again", w.Lock)
	}
	if planned.Exists {
		err = w.swap(planned, made)
	} else {
		err = w.create(planned, made)
	}
	if err != nil {
		return err
	}
	_ = w.at(stepRemoved) // nothing can fail any more
	return nil
}

// writeTemp makes a durable file with the new text in the folder of the file, with its permissions and owner. Its name
// tells by then that it may hold something else one day.
func (w *writer) writeTemp(planned *File, data []byte) (*File, error) {
	dir := filepath.Dir(planned.Real)
	path := filepath.Join(dir, tmpPrefix+randomName())
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, newMode)
	if err != nil {
		return nil, w.folderFailed(dir, err)
	}
	w.temp = path
	defer f.Close() // closed below where that matters
	if err := w.at(stepTemp); err != nil {
		return nil, w.contentFailed(err)
	}
	for _, part := range []struct {
		data []byte
		then step
	}{{data[:len(data)/2], stepHalf}, {data[len(data)/2:], stepWritten}} {
		if _, err := f.Write(part.data); err != nil {
			return nil, w.contentFailed(err)
		}
		if err := w.at(part.then); err != nil {
			return nil, w.contentFailed(err)
		}
	}
	if err := w.dress(f, planned); err != nil {
		return nil, err
	}
	if err := f.Sync(); err != nil {
		return nil, w.contentFailed(err)
	}
	info, err := f.Stat()
	if err != nil {
		return nil, w.contentFailed(err)
	}
	if err := f.Close(); err != nil {
		return nil, w.contentFailed(err)
	}
	if err := w.at(stepSynced); err != nil {
		return nil, w.contentFailed(err)
	}
	named := filepath.Join(dir, swapName(planned.Data, data))
	if err := rename(path, named); err != nil {
		return nil, w.folderFailed(dir, err)
	}
	w.temp = named
	return &File{Path: named, Real: named, Exists: true, Data: data, Mode: keptBits(info.Mode()), info: info, owner: ownerOf(info)}, nil
}

// dress gives the new file the owner, the attributes and the permissions of the old one.
func (w *writer) dress(f *os.File, planned *File) error {
	if !planned.Exists {
		if err := f.Chmod(w.NewMode); err != nil {
			return w.contentFailed(err)
		}
		return nil
	}
	info, err := f.Stat()
	if err != nil {
		return w.contentFailed(err)
	}
	if has, want := ownerOf(info), planned.owner; want.known && has != want {
		if err := f.Chown(want.uid, want.gid); err != nil {
			return w.refusal(ErrOwner, err, "it belongs to user %d and group %d, which a replacement that you make cannot have: "+
				"change it as its owner, or make it yours first (chown)", want.uid, want.gid)
		}
	}
	if err := copyAttributes(planned.Real, f); err != nil {
		return w.refusal(ErrOwner, err, "its access list cannot be kept: change the file by hand")
	}
	// After chown, which clears setuid, and after an access list, whose mask is the group's bits.
	if err := f.Chmod(planned.Mode); err != nil {
		return w.contentFailed(err)
	}
	return nil
}

// makeParents makes the missing folders above a new file.
func (w *writer) makeParents(dir string) error {
	var missing []string
	for d := dir; ; d = filepath.Dir(d) {
		info, err := os.Stat(d)
		if err == nil && !info.IsDir() {
			return w.refusal(ErrNotRegular, nil, "%s is not a folder", d)
		}
		if err == nil {
			break
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return w.folderFailed(d, err)
		}
		if missing = append(missing, d); d == filepath.Dir(d) {
			return fmt.Errorf("write %s: %w", w.path, err)
		}
	}
	mode := w.NewMode&fs.ModePerm | w.NewMode&0o444>>2 | 0o700
	for _, d := range slices.Backward(missing) {
		err := os.Mkdir(d, mode)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return w.folderFailed(filepath.Dir(d), err)
		}
		w.parents = append(w.parents, d)
		if err := SyncFolder(filepath.Dir(d)); err != nil {
			return w.folderFailed(filepath.Dir(d), err)
		}
	}
	return nil
}

// writing is the one thing that is shared in the process: which files are being written. Two writes of one file that know
// nothing of each other must not overlap, so it cannot belong to a caller.
var writing fileLocks

// fileLocks is a set of locks by path.
type fileLocks struct {
	mu   sync.Mutex
	held map[string]*fileLock
}

type fileLock struct {
	mu    sync.Mutex
	users int
}

func (l *fileLocks) lock(path string) (unlock func()) {
	l.mu.Lock()
	if l.held == nil {
		l.held = map[string]*fileLock{}
	}
	one := l.held[path]
	if one == nil {
		one = &fileLock{}
		l.held[path] = one
	}
	one.users++
	l.mu.Unlock()
	one.mu.Lock()
	return func() {
		one.mu.Unlock()
		l.mu.Lock()
		defer l.mu.Unlock()
		if one.users--; one.users == 0 {
			delete(l.held, path)
		}
	}
}
