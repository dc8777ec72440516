package rewrite

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// MaxSize is the most that is read or written, in bytes.
const MaxSize = 16 << 20

const (
	maxLinks  = 40 // symbolic links on the way to one file, as Linux counts
	writeWait = time.Second
)

// File is a file as it was read: what a plan is made on. It must not be changed.
type File struct {
	Path   string      // as given
	Real   string      // absolute, without symbolic links; of a dangling link: the file that would be created
	Exists bool        // whether there was a file
	Data   []byte      `json:"-"` // its bytes
	Mode   fs.FileMode // permission bits with setuid, setgid and sticky

	info  fs.FileInfo
	owner owner
	links uint64 // names of the file; 0 where that is not known
}

// owner is a user and a group; not known on Windows.
type owner struct {
	known    bool
	uid, gid int
}

// String keeps the content, which may hold secrets, out of formatted output.
func (f File) String() string { return "rewrite.File " + f.Path }

// GoString does the same for the verb %#v.
func (f File) GoString() string { return f.String() }

// Sum is the SHA-256 of the bytes, in hex.
func (f *File) Sum() string { return Sum(f.Data) }

// Sum is the SHA-256 of bytes, in hex.
func Sum(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// same tells whether two readings found the same bytes under the same permissions. The inode does not matter: a program
// that rewrote the file with the same bytes lost nothing.
func (f *File) same(other *File) bool {
	return f.Exists == other.Exists && f.Mode == other.Mode && f.owner == other.owner && bytes.Equal(f.Data, other.Data)
}

// Read reads a regular file of at most MaxSize bytes, through symbolic links; a missing one is no error. A file that
// another program has open for writing is waited for, a second at most, where the system tells (Linux). Nothing but a
// regular file is ever opened. Errors: ErrNotRegular (also a loop of links), ErrTooLarge, ErrLocked, and the system's.
func Read(path string) (*File, error) {
	real, err := resolve(path)
	if err != nil {
		return nil, readError(err, path, path)
	}
	f, err := look(real, writeWait)
	if err != nil {
		return nil, readError(err, path, real)
	}
	f.Path = path
	return f, nil
}

func readError(err error, path, real string) error {
	for _, known := range []struct {
		kind error
		text string
	}{
		{ErrNotRegular, "it is not a regular file"},
		{ErrTooLarge, "it is larger than 16 MiB"},
		{ErrLocked, "another program has it open for writing: wait until it is done, or close it there"},
		{errLinkLoop, "its symbolic links lead in a circle: remove one of them"},
	} {
		if !errors.Is(err, known.kind) {
			continue
		}
		kind := known.kind
		if kind == errLinkLoop {
			kind = ErrNotRegular
		}
		return &Error{Kind: kind, Path: path, Real: real, verb: "read", text: known.text}
	}
	return fmt.Errorf("read %s: %w", path, bare(err))
}

var errLinkLoop = errors.New("a loop of symbolic links")

// resolve follows symbolic links, also those in the middle and those that lead to nothing, to the file that an open with
// O_CREATE would open.
func resolve(path string) (string, error) {
	if !filepath.IsAbs(path) {
		wd, err := os.Getwd()
		if err != nil {
			return "", err
		}
		path = wd + string(filepath.Separator) + path // not Join: "link/.." is the parent of the link's target
	}
	volume := filepath.VolumeName(path)
	root := volume + string(filepath.Separator)
	current, pending := root, components(path[len(volume):])
	for links := 0; len(pending) > 0; {
		name := pending[0]
		pending = pending[1:]
		if name == "." {
			continue
		}
		if name == ".." {
			current = filepath.Dir(current)
			continue
		}
		next := filepath.Join(current, name)
		info, err := os.Lstat(next)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
		if err != nil || info.Mode()&fs.ModeSymlink == 0 {
			current = next
			continue
		}
		if links++; links > maxLinks {
			return "", errLinkLoop
		}
		target, err := os.Readlink(next)
		if err != nil {
			return "", err
		}
		if v := filepath.VolumeName(target); v != "" {
			root, target = v+string(filepath.Separator), target[len(v):]
			current = root
		} else if target != "" && os.IsPathSeparator(target[0]) {
			current = root
		}
		pending = append(components(target), pending...)
	}
	return current, nil
}

func components(path string) []string {
	return strings.FieldsFunc(path, func(r rune) bool { return r < 0x80 && os.IsPathSeparator(uint8(r)) })
}

// look reads what is at a path that is no link. It waits as long as given for programs that are writing into it.
func look(path string, wait time.Duration) (*File, error) {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return &File{Path: path, Real: path}, nil
	}
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, ErrNotRegular
	}
	if info.Size() > MaxSize {
		return nil, ErrTooLarge
	}
	handle, err := openToRead(path)
	if errors.Is(err, fs.ErrNotExist) {
		return &File{Path: path, Real: path}, nil
	}
	if err != nil {
		return nil, err
	}
	defer handle.Close()
	for deadline, pause := time.Now().Add(wait), time.Millisecond; ; pause = min(2*pause, 20*time.Millisecond) {
		f, err := readOpen(handle, path)
		if err != nil || f != nil {
			return f, err
		}
		if time.Now().After(deadline) {
			return nil, ErrLocked
		}
		time.Sleep(pause)
	}
}

// readOpen reads an open file; nil when somebody is writing into it.
func readOpen(handle *os.File, path string) (*File, error) {
	before, err := handle.Stat()
	if err != nil {
		return nil, err
	}
	if !before.Mode().IsRegular() { // what was a file a moment ago may be a FIFO now
		return nil, ErrNotRegular
	}
	if openForWriting(handle) {
		return nil, nil
	}
	if _, err := handle.Seek(0, io.SeekStart); err != nil {
		return nil, err
	}
	data, err := io.ReadAll(io.LimitReader(handle, MaxSize+1))
	if err != nil {
		return nil, err
	}
	if len(data) > MaxSize {
		return nil, ErrTooLarge
	}
	after, err := handle.Stat()
	if err != nil {
		return nil, err
	}
	if after.Size() != int64(len(data)) || !after.ModTime().Equal(before.ModTime()) || openForWriting(handle) {
		return nil, nil
	}
	return &File{Path: path, Real: path, Exists: true, Data: data, Mode: keptBits(after.Mode()),
		info: after, owner: ownerOf(after), links: linksOf(handle, after)}, nil
}

func keptBits(mode fs.FileMode) fs.FileMode {
	return mode & (fs.ModePerm | fs.ModeSetuid | fs.ModeSetgid | fs.ModeSticky)
}
