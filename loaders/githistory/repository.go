// Package githistory reads the earlier versions of one file out of the git repository around it: loose objects and packs
// (index version 2), linked worktrees and submodules, loose and packed branches. It trusts nothing in them: every size is
// bounded before memory is taken for it, every object must be what its id says, and only regular files are opened.
//
// It runs no program, writes nothing and reads no configuration, so nothing that a repository sets up can act. It knows no
// index, no alternates, no replaced objects, no reference tables and no SHA-256 repositories: of those it has no versions and
// says so.
package githistory

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Access is how the files of a repository are looked at.
type Access struct {
	// Open opens an existing file or folder for reading. It must not wait, should the path have become a FIFO.
	Open func(path string) (*os.File, error)
	// Owner returns the user that a file belongs to, and whether that is known.
	Owner func(info fs.FileInfo) (uid int, known bool)
	// UID is the user who looks. What belongs to somebody else is left alone, as git does; -1: owners do not count.
	UID int
}

var (
	// ErrNoRepository means that the file lies in no repository.
	ErrNoRepository = errors.New("no git repository around it")
	// ErrNotUnderstood means that the repository is kept in a way that is not read here.
	ErrNotUnderstood = errors.New("the git repository is kept in a way that is not read here")
	// ErrForeign means that the repository belongs to another user.
	ErrForeign = errors.New("the git repository belongs to another user")

	errNotRegular = errors.New("not a regular file")
	errTooLarge   = errors.New("too large")
)

const (
	maxPointer    = 4 << 10  // bytes of .git, commondir, HEAD and a loose reference
	maxPackedRefs = 16 << 20 // bytes of packed-refs
	maxLinks      = 5        // symbolic references in a row
)

// Repository is the repository around one file. It holds files open until Close, and must not be used by several goroutines
// at once.
type Repository struct {
	access Access
	inside []string // the file in the repository, part by part
	gitDir string   // of this worktree: its HEAD
	common string   // of all worktrees: references and objects
	store  *store
}

// Find looks for the repository around a file: an absolute path without symbolic links, which need not exist.
func Find(access Access, file string) (*Repository, error) {
	for dir := filepath.Dir(file); ; dir = filepath.Dir(dir) {
		gitDir, err := access.gitDirOf(dir)
		if err != nil {
			return nil, err
		}
		if gitDir != "" {
			rel, err := filepath.Rel(dir, file)
			if err != nil {
				return nil, ErrNoRepository
			}
			return access.repository(gitDir, strings.Split(filepath.ToSlash(rel), "/"))
		}
		if dir == filepath.Dir(dir) {
			return nil, ErrNoRepository
		}
	}
}

// gitDirOf returns the git directory of a worktree's top folder; "" where it is none.
func (a Access) gitDirOf(top string) (string, error) {
	dotGit := filepath.Join(top, ".git")
	info, err := os.Stat(dotGit)
	switch {
	case err != nil:
		return "", nil
	case info.IsDir():
		if head, err := os.Stat(filepath.Join(dotGit, "HEAD")); err != nil || !head.Mode().IsRegular() {
			return "", nil // git goes on above it, too
		}
		return dotGit, a.mine(top, dotGit)
	}
	data, err := a.read(dotGit, maxPointer)
	if err != nil {
		return "", fmt.Errorf("read %s: %w", dotGit, err)
	}
	pointer, ok := bytes.CutPrefix(data, []byte("gitdir:"))
	if !ok {
		return "", ErrNotUnderstood
	}
	gitDir, err := follow(top, pointer)
	if err != nil {
		return "", err
	}
	return gitDir, a.mine(top, dotGit, gitDir)
}

func (a Access) repository(gitDir string, inside []string) (*Repository, error) {
	r := &Repository{access: a, inside: inside, gitDir: gitDir, common: gitDir}
	pointer, err := a.read(filepath.Join(gitDir, "commondir"), maxPointer)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return nil, fmt.Errorf("read the worktree of %s: %w", gitDir, err)
	default:
		if r.common, err = follow(gitDir, pointer); err != nil {
			return nil, err
		}
		if err := a.mine(r.common); err != nil {
			return nil, err
		}
	}
	r.store = &store{access: a, dir: filepath.Join(r.common, "objects"), left: maxInflated}
	return r, nil
}

// follow resolves a path that a file of a repository names. A path of another machine would be asked for over the network.
func follow(from string, pointer []byte) (string, error) {
	path := strings.TrimRight(strings.TrimLeft(string(pointer), " "), "\r\n")
	slashed := filepath.ToSlash(path)
	if path == "" || strings.ContainsAny(path, "\x00\n") || strings.HasPrefix(slashed, "//") || strings.HasPrefix(path, `\\`) {
		return "", ErrNotUnderstood
	}
	path = filepath.FromSlash(path)
	if !filepath.IsAbs(path) {
		path = filepath.Join(from, path)
	}
	return filepath.Clean(path), nil
}

// mine makes sure that all of these belong to the user.
func (a Access) mine(paths ...string) error {
	if a.UID < 0 {
		return nil
	}
	for _, p := range paths {
		info, err := os.Stat(p)
		if err != nil {
			return fmt.Errorf("look at the git repository: %w", err)
		}
		if uid, known := a.Owner(info); known && uid != a.UID {
			return ErrForeign
		}
	}
	return nil
}

// open opens a regular file.
func (a Access) open(path string) (f *os.File, size int64, err error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, 0, err
	}
	if !info.Mode().IsRegular() {
		return nil, 0, errNotRegular
	}
	if f, err = a.Open(path); err != nil {
		return nil, 0, err
	}
	// What was a file a moment ago may be a FIFO now.
	if info, err = f.Stat(); err != nil || !info.Mode().IsRegular() {
		f.Close() //nolint:errcheck // nothing was written
		return nil, 0, errNotRegular
	}
	return f, info.Size(), nil
}

// read reads a whole regular file of at most limit bytes.
func (a Access) read(path string, limit int64) ([]byte, error) {
	f, _, err := a.open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // nothing was written
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err != nil {
		return nil, err
	}
	if int64(len(data)) > limit {
		return nil, errTooLarge
	}
	return data, nil
}

// Close closes what is open.
func (r *Repository) Close() { r.store.close() }

// Head returns the id of the commit that is checked out, in hexadecimal digits.
func (r *Repository) Head() (string, error) {
	head, err := r.head()
	if err != nil {
		return "", err
	}
	return head.String(), nil
}

func (r *Repository) head() (id, error) {
	text, err := r.access.read(filepath.Join(r.gitDir, "HEAD"), maxPointer)
	if err != nil {
		return id{}, fmt.Errorf("read HEAD: %w", err)
	}
	for range maxLinks {
		name, symbolic := strings.CutPrefix(strings.TrimSpace(string(text)), "ref:")
		if !symbolic {
			if found, ok := parseID(name); ok {
				return found, nil
			}
			return id{}, ErrNotUnderstood
		}
		name = strings.TrimSpace(name)
		if !plainReference(name) {
			return id{}, ErrNotUnderstood
		}
		text, err = r.access.read(filepath.Join(r.common, filepath.FromSlash(name)), maxPointer)
		switch {
		case errors.Is(err, fs.ErrNotExist) || errors.Is(err, errNotRegular):
			return r.packedReference(name)
		case err != nil:
			return id{}, fmt.Errorf("read %s: %w", name, err)
		}
	}
	return id{}, ErrNotUnderstood
}

// plainReference tells whether a name is one of a reference, and leads nowhere else when it is taken for a path.
func plainReference(name string) bool {
	if !strings.HasPrefix(name, "refs/") || strings.ContainsAny(name, "\\:*?[~^") {
		return false
	}
	for _, part := range strings.Split(name, "/") {
		if part == "" || part[0] == '.' || strings.HasSuffix(part, ".") || strings.HasSuffix(part, ".lock") {
			return false
		}
	}
	return !strings.ContainsFunc(name, func(r rune) bool { return r <= ' ' || r == 0x7f })
}

func (r *Repository) packedReference(name string) (id, error) {
	data, err := r.access.read(filepath.Join(r.common, "packed-refs"), maxPackedRefs)
	if errors.Is(err, fs.ErrNotExist) {
		return id{}, errors.New("nothing is committed yet")
	}
	if err != nil {
		return id{}, fmt.Errorf("read packed-refs: %w", err)
	}
	for line := range bytes.Lines(data) {
		hash, ref, ok := strings.Cut(strings.TrimRight(string(line), "\r\n"), " ")
		if !ok || ref != name {
			continue
		}
		if found, ok := parseID(hash); ok {
			return found, nil
		}
		return id{}, ErrNotUnderstood
	}
	return id{}, errors.New("nothing is committed yet")
}
