package state

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"time"

	"fusebox/loaders/rewrite"
)

// MaxSteps is how many steps the undo store keeps; older ones go.
const MaxSteps = 50

const (
	stepFile    = "step.json"
	undoneFile  = "undone"
	partPrefix  = "part-" // a step that is being written or removed
	partAge     = time.Hour
	timeLayout  = "20060102T150405.000000000Z"
	stepVersion = 1
)

var stepName = regexp.MustCompile(`^\d{8}T\d{6}\.\d{9}Z-[0-9a-f]{8}$`)

// Undo is the store of the old bytes of every write. One folder per step, named by time, which holds step.json, the old
// bytes of each file, and later an empty file "undone": several fusebox processes can add and take without a lock.
type Undo struct {
	dir   string
	clock func() time.Time
}

// OpenUndo names the store; the folder is made with the first step, mode 0700, its files 0600.
func OpenUndo(dir string) *Undo { return &Undo{dir: dir, clock: time.Now} }

// Step is one thing that a user did and can take back as one.
type Step struct {
	ID     string     // sorts by time
	At     time.Time  // when it was recorded, UTC
	What   string     // for people: "playwright switched off in Codex"
	Files  []StepFile // what was written, in that order
	Undone bool       // it was taken back
}

// StepFile is one file of a step.
type StepFile struct {
	Path    string      `json:"path"`              // as planned on
	Real    string      `json:"real"`              // the file that Path led to
	Existed bool        `json:"existed"`           // false: undo removes it
	Mode    fs.FileMode `json:"mode"`              // of the file after the write
	Before  string      `json:"before,omitempty"`  // SHA-256 of the old bytes in hex; "" when there was no file
	After   string      `json:"after"`             // SHA-256 of what the write made
	Saved   string      `json:"saved,omitempty"`   // absolute path of the old bytes
	Lock    string      `json:"lock,omitempty"`    // lock folder of the harness, taken again for undo
	Foreign []string    `json:"foreign,omitempty"` // files with what another program wrote and what is no longer in the file
}

// recordedStep is step.json. Saved is a bare name there.
type recordedStep struct {
	Version int        `json:"version"`
	At      time.Time  `json:"at"`
	What    string     `json:"what"`
	Files   []StepFile `json:"files"`
}

// Record keeps the old bytes of writes as one step. When it returns without an error the step is durable: only then is a
// write to be reported as done. Writes that changed nothing are left out; nil when none is left. Older steps than the last
// MaxSteps are removed.
func (u *Undo) Record(what string, results []*rewrite.Result) (*Step, error) {
	recorded := recordedStep{Version: stepVersion, What: what}
	var saved [][]byte
	for _, r := range joined(results) {
		if r.Existed && bytes.Equal(r.Before, r.After) || !r.Existed && r.After == nil {
			continue
		}
		f := StepFile{Path: r.Path, Real: r.Real, Existed: r.Existed, Mode: r.Mode, After: rewrite.Sum(r.After), Lock: r.Lock, Foreign: r.Kept}
		if r.Existed {
			f.Before = rewrite.Sum(r.Before)
			f.Saved = savedName(len(saved), r.Real)
		}
		saved = append(saved, r.Before)
		recorded.Files = append(recorded.Files, f)
	}
	if len(recorded.Files) == 0 {
		return nil, nil
	}
	if err := u.prepare(); err != nil {
		return nil, fmt.Errorf("keep the old text for undo: %w", err)
	}
	names, err := u.names()
	if err != nil {
		return nil, fmt.Errorf("keep the old text for undo: %w", err)
	}
	id, at := u.nextID(names)
	recorded.At = at
	if err := u.store(id, recorded, saved); err != nil {
		return nil, fmt.Errorf("keep the old text for undo: %w", err)
	}
	u.prune()
	step := recorded.step(u.dir, id)
	return &step, nil
}

// joined makes one of several writes to one file that follow each other.
func joined(results []*rewrite.Result) []rewrite.Result {
	var out []rewrite.Result
	for _, r := range results {
		if r == nil {
			continue
		}
		i := slices.IndexFunc(out, func(have rewrite.Result) bool {
			return have.Real == r.Real && r.Existed && bytes.Equal(have.After, r.Before)
		})
		if i < 0 {
			out = append(out, *r)
			continue
		}
		out[i].After, out[i].Mode, out[i].Kept = r.After, r.Mode, slices.Concat(out[i].Kept, r.Kept)
	}
	return out
}

// savedName names the old bytes of the n-th file such that people find it.
func savedName(n int, path string) string {
	base := filepath.Base(path)
	if len(base) > 100 {
		base = "file"
	}
	return fmt.Sprintf("%d-%s", n, base)
}

// prepare makes the folder, durable and private.
func (u *Undo) prepare() error {
	var missing []string
	for dir := u.dir; !exists(dir) && dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		missing = append(missing, dir)
	}
	if err := os.MkdirAll(u.dir, 0o700); err != nil {
		return err
	}
	for _, dir := range slices.Backward(missing) {
		if err := rewrite.SyncFolder(filepath.Dir(dir)); err != nil {
			return err
		}
	}
	info, err := os.Stat(u.dir)
	if err == nil && info.Mode().Perm()&0o077 != 0 && runtime.GOOS != "windows" {
		err = os.Chmod(u.dir, 0o700)
	}
	return err
}

// nextID names a step by the time now, or just after the newest step where the clock went back.
func (u *Undo) nextID(names []string) (string, time.Time) {
	at := u.clock().UTC()
	if len(names) > 0 {
		newest, err := time.Parse(timeLayout, names[0][:len(timeLayout)])
		if err == nil && !at.After(newest) {
			at = newest.Add(time.Nanosecond)
		}
	}
	return at.Format(timeLayout) + "-" + random(), at
}

func random() string {
	b := make([]byte, 4)
	_, _ = rand.Read(b) // never fails
	return hex.EncodeToString(b)
}

// store writes a step into a folder that gets its name only when everything in it is durable.
func (u *Undo) store(id string, recorded recordedStep, saved [][]byte) (err error) {
	part := filepath.Join(u.dir, partPrefix+id)
	if err := os.Mkdir(part, 0o700); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.RemoveAll(part)
		}
	}()
	for i, f := range recorded.Files {
		if f.Saved == "" {
			continue
		}
		if err := writeDurably(filepath.Join(part, f.Saved), saved[i]); err != nil {
			return err
		}
	}
	text, err := json.MarshalIndent(recorded, "", "  ")
	if err != nil {
		return err
	}
	if err := writeDurably(filepath.Join(part, stepFile), text); err != nil {
		return err
	}
	if err := rewrite.SyncFolder(part); err != nil {
		return err
	}
	if err := os.Rename(part, filepath.Join(u.dir, id)); err != nil {
		return err
	}
	return rewrite.SyncFolder(u.dir)
}

func writeDurably(path string, data []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// names returns the names of the steps, newest first.
func (u *Undo) names() ([]string, error) {
	entries, err := os.ReadDir(u.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		if e.IsDir() && stepName.MatchString(e.Name()) {
			names = append(names, e.Name())
		}
	}
	slices.Sort(names)
	slices.Reverse(names)
	return names, nil
}

// prune removes what is older than the last MaxSteps. What cannot be removed stays until the next time.
func (u *Undo) prune() {
	names, _ := u.names()
	for i, name := range names {
		if i < MaxSteps {
			continue
		}
		// Renamed first, so that nobody sees half a step.
		part := filepath.Join(u.dir, partPrefix+name)
		if os.Rename(filepath.Join(u.dir, name), part) == nil {
			_ = os.RemoveAll(part)
		}
	}
	entries, _ := os.ReadDir(u.dir)
	for _, e := range entries {
		if !e.IsDir() || !strings.HasPrefix(e.Name(), partPrefix) {
			continue
		}
		if info, err := e.Info(); err == nil && u.clock().Sub(info.ModTime()) > partAge {
			_ = os.RemoveAll(filepath.Join(u.dir, e.Name()))
		}
	}
}

// List returns the steps, newest first. What is no step, or a damaged one, is left out; Notes tells.
func (u *Undo) List() ([]Step, error) {
	steps, _, err := u.scan()
	return steps, err
}

// Notes names what lies in the store and is left out, with the reason.
func (u *Undo) Notes() ([]string, error) {
	_, notes, err := u.scan()
	return notes, err
}

// Last returns the newest step that was not taken back; nil when there is none.
func (u *Undo) Last() (*Step, error) {
	names, err := u.names()
	if err != nil {
		return nil, fmt.Errorf("read the undo store: %w", err)
	}
	for _, name := range names {
		if step, err := u.load(name); err == nil && !step.Undone {
			return &step, nil
		}
	}
	return nil, nil
}

func (u *Undo) scan() (steps []Step, notes []string, err error) {
	entries, err := os.ReadDir(u.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, fmt.Errorf("read the undo store: %w", err)
	}
	for _, e := range slices.Backward(entries) {
		path := filepath.Join(u.dir, e.Name())
		switch {
		case e.IsDir() && strings.HasPrefix(e.Name(), partPrefix):
		case !e.IsDir() || !stepName.MatchString(e.Name()):
			notes = append(notes, path+": not made by fusebox, left alone")
		default:
			step, err := u.load(e.Name())
			if errors.Is(err, fs.ErrNotExist) && !exists(path) {
				continue // pruned by another process just now
			}
			if err != nil {
				notes = append(notes, fmt.Sprintf("%s: cannot be used for undo: %v", path, err))
				continue
			}
			steps = append(steps, step)
		}
	}
	return steps, notes, nil
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

var errDamaged = errors.New("damaged")

// load reads one step. Errors hold no content.
func (u *Undo) load(id string) (Step, error) {
	dir := filepath.Join(u.dir, id)
	f, err := rewrite.Read(filepath.Join(dir, stepFile))
	if err != nil {
		return Step{}, err
	}
	if !f.Exists {
		return Step{}, fmt.Errorf("%w: %s is missing: %w", errDamaged, stepFile, fs.ErrNotExist)
	}
	var recorded recordedStep
	if json.Unmarshal(f.Data, &recorded) != nil || recorded.Version == 0 {
		return Step{}, fmt.Errorf("%w: %s does not parse", errDamaged, stepFile)
	}
	if recorded.Version > stepVersion {
		return Step{}, fmt.Errorf("made by a newer fusebox (version %d)", recorded.Version)
	}
	if len(recorded.Files) == 0 {
		return Step{}, fmt.Errorf("%w: no files", errDamaged)
	}
	for _, f := range recorded.Files {
		bareName := f.Saved == filepath.Base(f.Saved) && f.Saved != "." && f.Saved != ".." && f.Saved != stepFile && f.Saved != undoneFile
		if !filepath.IsAbs(f.Real) || f.Path == "" || f.After == "" || f.Existed && (!bareName || f.Saved == "" || f.Before == "") || !f.Existed && f.Saved != "" {
			return Step{}, fmt.Errorf("%w: a file of it is not described", errDamaged)
		}
	}
	step := recorded.step(u.dir, id)
	step.Undone = exists(filepath.Join(dir, undoneFile))
	return step, nil
}

func (r recordedStep) step(store, id string) Step {
	s := Step{ID: id, At: r.At, What: r.What, Files: slices.Clone(r.Files)}
	for i := range s.Files {
		if s.Files[i].Saved != "" {
			s.Files[i].Saved = filepath.Join(store, id, s.Files[i].Saved)
		}
	}
	return s
}
