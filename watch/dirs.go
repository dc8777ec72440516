package watch

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// maxLinks is the number of symlinks followed on the way to one path, as in
// Linux.
const maxLinks = 40

// spot is one name that is looked up in one real folder on the way to a path.
// The name "" stands for any entry of the folder.
type spot struct {
	folder, name string
	// last: what is found here is the path itself, not a folder or a link on
	// the way to it.
	last bool
	// needed: without a watch on the folder a change would be missed. The
	// others are plain folders on the way, seen by a look at what is below.
	needed bool
}

// place is where a walk stands.
type place struct {
	real   string // without symlinks; only for folders
	folder bool
	links  int
	id     identity
}

// same ignores what does not matter to the paths below.
func (p place) same(q place) bool {
	return p.real == q.real && p.folder == q.folder && p.links == q.links && p.id.sameFolder(q.id)
}

// walk goes from folder to folder as the kernel does and notes every spot.
type walk struct {
	at     place
	spots  []spot
	passed func(real string, id identity) // called for each folder met
}

// rootPlace is the start of all absolute paths of a volume.
func rootPlace(root string) place {
	info, err := os.Lstat(root)
	if err != nil {
		return place{id: identity{presence: presenceOf(err)}}
	}
	return place{real: root, folder: true, id: identify(info)}
}

// step goes on to name. last says that the path ends here; wanted says that
// what is here matters by itself, even when it is a plain folder.
func (w *walk) step(name string, last, wanted bool) {
	if !w.at.folder {
		w.at.id = identity{presence: w.at.id.presence, chain: w.at.id.chain}
		if w.at.id.presence == present {
			w.at.id.presence = absent // a file where a folder should be
		}
		return
	}
	chain, links, folder := w.at.id.chain, w.at.links, w.at.real
	if name == ".." {
		w.at = rootPlace(filepath.Dir(folder))
		w.at.links, w.at.id.chain = links, chain
		return
	}
	path := join(folder, name)
	info, err := os.Lstat(path)
	var target string
	isLink := err == nil && info.Mode()&(fs.ModeSymlink|fs.ModeIrregular) != 0
	if isLink {
		target, err = os.Readlink(path)
		if err != nil && info.Mode()&fs.ModeIrregular != 0 {
			// Not a Windows junction, but some other special thing.
			isLink = false
			info, err = os.Stat(path)
		}
	}
	switch {
	case err != nil:
		w.note(spot{folder, name, last, true})
		w.at = place{links: links, id: identity{presence: presenceOf(err), chain: chain}}
	case isLink:
		w.note(spot{folder, name, false, true})
		w.follow(path, target, last)
	case info.IsDir():
		w.note(spot{folder, name, last, wanted})
		w.at = place{real: path, folder: true, links: links, id: identify(info)}
		if w.passed != nil {
			w.passed(path, w.at.id)
		}
		w.at.id.chain = chain
	default:
		w.note(spot{folder, name, last, true})
		w.at = place{links: links, id: identify(info)}
		w.at.id.chain = chain
	}
}

func (w *walk) follow(link, target string, last bool) {
	w.at.links++
	chain := w.at.id.chain + link + "\x00" + target + "\x00"
	w.at.id.chain = chain
	if w.at.links > maxLinks {
		w.at = place{links: w.at.links, id: identity{presence: broken, chain: chain}}
		return
	}
	root, names := split(target)
	switch {
	case root == "":
	case filepath.VolumeName(root) == "" && filepath.VolumeName(link) != "":
		// Windows: from the root of the volume that the link lies on.
		root = filepath.VolumeName(link) + root
		fallthrough
	default:
		links := w.at.links
		w.at = rootPlace(root)
		w.at.links, w.at.id.chain = links, chain
	}
	for i, name := range names {
		end := i == len(names)-1
		w.step(name, last && end, end)
	}
}

func (w *walk) note(s spot) {
	// A loop of links passes the same spots again and again.
	if !slices.Contains(w.spots, s) {
		w.spots = append(w.spots, s)
	}
}

// split cuts a path into its root ("" for a relative path) and its names.
// ".." stays: after a symlink it is not the folder that the text suggests.
func split(path string) (root string, names []string) {
	volume := filepath.VolumeName(path)
	rest := path[len(volume):]
	root = volume
	if rest != "" && os.IsPathSeparator(rest[0]) {
		root += string(filepath.Separator)
	}
	for name := range strings.FieldsFuncSeq(rest, func(r rune) bool { return r < 0x80 && os.IsPathSeparator(uint8(r)) }) {
		if name != "." {
			names = append(names, name)
		}
	}
	return root, names
}

func join(folder, name string) string {
	if os.IsPathSeparator(folder[len(folder)-1]) {
		return folder + name
	}
	return folder + string(filepath.Separator) + name
}

func isRoot(folder string) bool { return filepath.Dir(folder) == folder }
