package rewrite

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
)

// What an *Error is about, for errors.Is. Whatever it is, the file is as it was.
var (
	ErrChanged          = errors.New("the file changed meanwhile")
	ErrHardLink         = errors.New("the file has more than one name")
	ErrNotRegular       = errors.New("not a regular file")
	ErrTooLarge         = errors.New("larger than 16 MiB")
	ErrUnwritableFolder = errors.New("the folder cannot be written")
	ErrReadOnly         = errors.New("read-only")
	ErrNoSpace          = errors.New("no space left")
	ErrLocked           = errors.New("in use")
	ErrOwner            = errors.New("the owner cannot be kept")
)

// Error says what was refused or failed, where, and what a user can do. Its text never holds content of a file.
type Error struct {
	Kind error    // one of the errors above
	Path string   // the path that was asked for
	Real string   // the file that it leads to; equal to Path without links
	Now  *File    // of ErrChanged: what is there now; nil when that cannot be read
	Kept []string // files that hold what another program wrote and what is no longer in the file

	verb  string // "read" or "write"
	text  string
	cause error
}

// Error gives "VERB PATH: what happened: what to do (cause)".
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.verb + " " + e.Path)
	if e.Real != "" && e.Real != e.Path {
		b.WriteString(" (a link to " + e.Real + ")")
	}
	b.WriteString(": " + e.text)
	if len(e.Kept) > 0 {
		b.WriteString("; what another program wrote in between is kept in " + strings.Join(e.Kept, ", "))
	}
	if e.cause != nil {
		b.WriteString(" (" + bare(e.cause).Error() + ")")
	}
	return b.String()
}

// Unwrap gives the kind and the cause.
func (e *Error) Unwrap() []error {
	if e.cause == nil {
		return []error{e.Kind}
	}
	return []error{e.Kind, e.cause}
}

// bare takes paths off an error of the system: the message names the file already, and a temporary one says nothing.
func bare(err error) error {
	var pathErr *fs.PathError
	var linkErr *os.LinkError
	var callErr *os.SyscallError
	switch {
	case errors.As(err, &pathErr):
		return pathErr.Err
	case errors.As(err, &linkErr):
		return linkErr.Err
	case errors.As(err, &callErr):
		return callErr.Err
	}
	return err
}

// refusal makes an Error about the file of this write.
func (w *writer) refusal(kind error, cause error, format string, args ...any) *Error {
	return &Error{Kind: kind, Path: w.path, Real: w.real, verb: "write", text: fmt.Sprintf(format, args...), cause: cause}
}

func (w *writer) changed(what string) *Error {
	return w.refusal(ErrChanged, nil, "%s; it was left as it is now: look at it and try again", what)
}

func (w *writer) hardLinked(links uint64) *Error {
	return w.refusal(ErrHardLink, nil, "the file has %d names (hard links), and replacing it would leave the others with the old text: "+
		"make it a file of its own or a symbolic link first (cp -p FILE NEW && mv NEW FILE)", links)
}

// folderFailed explains why something could not be made in the folder of the file.
func (w *writer) folderFailed(dir string, err error) error {
	switch {
	case isNoSpace(err):
		return w.noSpace(err)
	case isReadOnlySystem(err):
		return w.readOnlySystem(err)
	case errors.Is(err, fs.ErrPermission):
		return w.refusal(ErrUnwritableFolder, err, "nothing can be made in the folder %s, and a file is never rewritten in place: "+
			"make the folder writable for you (also look for an immutable flag), or change the file by hand", dir)
	}
	return fmt.Errorf("write %s: %w", w.path, err)
}

// contentFailed explains why the new bytes could not be stored.
func (w *writer) contentFailed(err error) error {
	switch {
	case isNoSpace(err):
		return w.noSpace(err)
	case isReadOnlySystem(err):
		return w.readOnlySystem(err)
	}
	return fmt.Errorf("write %s: %w", w.path, err)
}

// placeFailed explains why a finished file could not take the place of the old one.
func (w *writer) placeFailed(err error) error {
	switch {
	case isNoSpace(err):
		return w.noSpace(err)
	case isReadOnlySystem(err):
		return w.readOnlySystem(err)
	case isInUse(err):
		return w.refusal(ErrLocked, err, "another program has the file open: close it there and try again")
	case isMountPoint(err):
		return w.refusal(ErrReadOnly, err, "the file cannot be replaced because it is mounted by itself (as containers do): change it where it comes from")
	case errors.Is(err, fs.ErrPermission):
		return w.refusal(ErrReadOnly, err, "the system does not let the file be replaced: look for an immutable flag (lsattr), "+
			"a read-only attribute, or another owner in a shared folder")
	}
	return fmt.Errorf("write %s: %w", w.path, err)
}

func (w *writer) noSpace(err error) error {
	return w.refusal(ErrNoSpace, err, "no space left for the new text; the file is as it was: free some space and try again")
}

func (w *writer) readOnlySystem(err error) error {
	return w.refusal(ErrReadOnly, err, "the file system is read-only: change the file where it comes from, or mount it writable")
}
