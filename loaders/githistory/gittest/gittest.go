// Package gittest writes small git repositories for tests, object by object and without git. It is no way to commit anything
// of a user: it knows neither an index nor locks, and no program but a test uses it.
package gittest

import (
	"bytes"
	"compress/zlib"
	"crypto/sha1" //nolint:gosec // the ids of git are made with it
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// T is a test, of whatever kind.
type T interface {
	Fatalf(format string, args ...any)
}

// Commit writes a commit of these files (slash paths and their texts) into the repository at top, which it makes where there
// is none, on top of what HEAD's branch was. It returns the id of the commit. The files themselves are not written.
func Commit(t T, top string, at time.Time, files map[string]string) string {
	r := repository{t, filepath.Join(top, ".git")}
	r.write("HEAD", []byte("ref: refs/heads/main\n"))
	tree := r.tree(files)
	text := fmt.Sprintf("tree %x\n", tree)
	branch := filepath.Join(r.dir, "refs", "heads", "main")
	if parent, err := os.ReadFile(branch); err == nil {
		text += "parent " + string(parent)
	}
	text += fmt.Sprintf("author A <a@example.com> %d +0000\ncommitter A <a@example.com> %d +0000\n\nsubject\n", at.Unix(), at.Unix())
	id := fmt.Sprintf("%x", r.object("commit", []byte(text)))
	r.write("refs/heads/main", []byte(id+"\n"))
	return id
}

type repository struct {
	t   T
	dir string
}

func (r repository) write(name string, data []byte) {
	path := filepath.Join(r.dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		r.t.Fatalf("%v", err)
	}
	if err := os.WriteFile(path, data, 0o600); err != nil {
		r.t.Fatalf("%v", err)
	}
}

func (r repository) object(kind string, data []byte) [sha1.Size]byte {
	whole := append(fmt.Appendf(nil, "%s %d\x00", kind, len(data)), data...)
	id := sha1.Sum(whole) //nolint:gosec // as above
	var packed bytes.Buffer
	z := zlib.NewWriter(&packed)
	z.Write(whole) //nolint:errcheck // into memory
	z.Close()      //nolint:errcheck // into memory
	name := fmt.Sprintf("%x", id)
	r.write("objects/"+name[:2]+"/"+name[2:], packed.Bytes())
	return id
}

func (r repository) tree(files map[string]string) [sha1.Size]byte {
	folders := map[string]map[string]string{}
	entries := map[string][]byte{} // by the name that they are sorted by
	for path, text := range files {
		if folder, rest, below := strings.Cut(path, "/"); below {
			if folders[folder] == nil {
				folders[folder] = map[string]string{}
			}
			folders[folder][rest] = text
			continue
		}
		id := r.object("blob", []byte(text))
		entries[path] = append([]byte("100644 "+path+"\x00"), id[:]...)
	}
	for folder, below := range folders {
		id := r.tree(below)
		entries[folder+"/"] = append([]byte("40000 "+folder+"\x00"), id[:]...)
	}
	var data []byte
	for _, name := range slices.Sorted(maps.Keys(entries)) {
		data = append(data, entries[name]...)
	}
	return r.object("tree", data)
}
