package tomledit

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/BurntSushi/toml"
)

// addFiles gives the real-world files below testdata to a fuzz target.
func addFiles(f *testing.F, add func(src []byte)) {
	f.Helper()
	paths, err := filepath.Glob("testdata/files/*")
	if err != nil || len(paths) == 0 {
		f.Fatalf("no seed files: %v", err)
	}
	for _, path := range paths {
		src, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		add(src)
	}
	add([]byte(sample))
}

func FuzzParse(f *testing.F) {
	addFiles(f, func(src []byte) { f.Add(src) })
	for _, src := range []string{
		"a = [ # ]\n1]\n", "a = \"\"\"x\\\n  y\"\"\"\"\"\n", "a = '''''x'''''\n", "'a'.\"\\u00e9\\U0001F600\" = 1979-05-27 07:32:00 # x\n",
		"[a.b]\nc=1\n[a]\nb.d=2\n", "[[a]]\n[[a.b]]\nc=1\n[[a]]\n[[a.b]]\n", "a={x=1,\n# c\ny=2,}\n", "x={a=1}\n[x.b]\n", "a=+nan\nb=-0.0\n\"\"=1",
	} {
		f.Add([]byte(src))
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		d, err := Parse(src)
		if err != nil {
			e := err.(*SyntaxError)
			if e.Line < 1 || e.Column < 1 || e.Message == "" {
				t.Fatalf("%#v", e)
			}
			// We may be stricter only where Parse says so.
			stricter := strings.Contains(e.Message, "extended") || strings.Contains(e.Message, "defined already") ||
				strings.Contains(e.Message, "nested") || !utf8.Valid(src) ||
				bytes.Contains(src, []byte(`\\""""""`)) // the decoder takes the second backslash for an escape of the quote
			if !stricter && decodes(src) {
				t.Fatalf("the decoder accepts it, we say %v", err)
			}
			return
		}
		if !decodes(src) {
			t.Fatal("the decoder refuses it")
		}
		checkKeys(t, d, nil, d.Tree())
	})
}

func decodes(src []byte) (ok bool) {
	defer func() {
		if recover() != nil {
			ok = false
		}
	}()
	var tree map[string]any
	_, err := toml.Decode(string(src), &tree)
	return err == nil
}

// checkKeys compares the scanner's keys with the decoder's tree.
func checkKeys(t *testing.T, d *Document, path []string, tree any) {
	t.Helper()
	if !d.Has(path...) {
		t.Fatalf("no %q", path)
	}
	if line, column := d.Position(path...); len(path) > 0 && (line < 1 || column < 1) {
		t.Fatalf("%q at %d:%d", path, line, column)
	}
	below := func(name string, child any) {
		checkKeys(t, d, append(path[:len(path):len(path)], name), child)
	}
	if _, isTable := tree.(map[string]any); !isTable && len(path) > 0 && path[len(path)-1] == "" {
		return // the decoder loses elements of arrays under an empty key
	}
	count := 0
	switch tree := tree.(type) {
	case map[string]any:
		keys := d.Keys(path...)
		sorted := append([]string(nil), keys...)
		sort.Strings(sorted)
		if len(sorted) != len(tree) {
			t.Fatalf("keys of %q: %q, tree %v", path, keys, tree)
		}
		for _, key := range sorted {
			child, ok := tree[key]
			if !ok {
				t.Fatalf("keys of %q: %q, tree %v", path, keys, tree)
			}
			below(key, child)
		}
		return
	case []map[string]any:
		count = len(tree)
		for i := range tree {
			below(strconv.Itoa(i), tree[i])
		}
	case []any:
		count = len(tree)
		for i := range tree {
			below(strconv.Itoa(i), tree[i])
		}
	}
	if d.Has(append(path[:len(path):len(path)], strconv.Itoa(count))...) || d.Keys(path...) != nil {
		t.Fatalf("%q has more than %d elements", path, count)
	}
}

// choosePath picks keys of the document by the bytes of choice; the last number of a level is a key that is not there,
// 250 and more stop.
func choosePath(d *Document, choice []byte) []string {
	var path []string
	for _, c := range choice {
		if c >= 250 || len(path) == 6 {
			break
		}
		node, depth := d.locate(path)
		if depth == len(path) {
			if i := int(c) % (len(node.names) + 1); i < len(node.names) {
				path = append(path, node.names[i])
				continue
			}
		}
		path = append(path, []string{"new", "new.key \"\u00e9\"", "", "0"}[c%4])
	}
	return path
}

// expected does to a decoded tree what an edit should do. It is written apart from the code that the edits check with.
func expected(tree any, path []string, exists bool, f func(old any, exists bool) (any, bool)) (result any, ok bool) {
	if len(path) == 0 {
		return f(tree, exists)
	}
	if !exists {
		tree = map[string]any{}
	}
	child := func(old any, found bool) (any, bool) { return expected(old, path[1:], found, f) }
	copied := map[string]any{}
	switch tree := tree.(type) {
	case map[string]any:
		for k, v := range tree {
			copied[k] = v
		}
		old, found := tree[path[0]]
		if result, ok = child(old, found); result == gone {
			delete(copied, path[0])
		} else {
			copied[path[0]] = result
		}
		return copied, ok
	case []any:
		i, err := strconv.Atoi(path[0])
		if err != nil || i >= len(tree) || strconv.Itoa(i) != path[0] {
			return nil, false
		}
		list := append([]any(nil), tree...)
		list[i], ok = child(tree[i], true)
		return list, ok && list[i] != gone
	case []map[string]any:
		i, err := strconv.Atoi(path[0])
		if err != nil || i >= len(tree) || strconv.Itoa(i) != path[0] {
			return nil, false
		}
		list := append([]map[string]any(nil), tree...)
		result, ok = child(tree[i], true)
		list[i], _ = result.(map[string]any)
		return list, ok && list[i] != nil
	}
	return nil, false
}

type goneType struct{}

var gone any = goneType{}

// comments lists the comments of a file that parses.
func comments(text string) []string {
	var found []string
	s := &scanner{text: text}
	for s.at < len(text) {
		switch c := text[s.at]; c {
		case '"', '\'':
			if strings.HasPrefix(text[s.at:], strings.Repeat(string(rune(c)), 3)) {
				s.multiline(c)
			} else {
				s.quoted(c)
			}
		case '#':
			end := commentEnd(text, s.at)
			found = append(found, text[s.at:end])
			s.at = end
		default:
			s.at++
		}
	}
	return found
}

func FuzzEdit(f *testing.F) {
	raws := []string{"false", "{command = 'x', args = [\"a\", 'b'], env.A = \"b\"}", "[\n  1, # x\n]", `"x"`, "1\nb = 2", "bad", "{}", "\"\"\"a\nb\"\"\""}
	n := uint8(0)
	addFiles(f, func(src []byte) {
		for range 4 {
			n++
			f.Add(src, n%4, []byte{n % 7, n % 5, n % 3, 255 - n%2}, raws[int(n)%len(raws)])
		}
	})
	for _, src := range []string{
		"", "\ufeff", "# c", "a = [ # x\n 'x', 'y', # y\n]\r\n", "a = {b = 1, c.d = 2, c.e = [\"x\"]}\n", "a = {\n b = 1, # x\n}\n",
		"x.command = 'a'\nx.args = [\n]\n# end\n[y]\n# above\n[y.z.env]\na=1 # behind\n\n[[l]]\n[l.m.n]\n[[l]]\nk = {}\n",
		"[a.b.c]\n[a]\nb.x = 1\n", "[a]\n\n# c\n[b]\n  x = 1\n  # d\n\n\n[c]",
	} {
		for op := range uint8(4) {
			for i := range uint8(5) {
				f.Add([]byte(src), op, []byte{i % 3, op, 250}, raws[i])
				f.Add([]byte(src), op, []byte{i}, raws[i+3])
			}
		}
	}
	f.Fuzz(func(t *testing.T, src []byte, op uint8, choice []byte, raw string) {
		before, parseErr := Parse(src)
		if parseErr != nil {
			for _, err := range []error{
				second(Set(src, []string{"a"}, "1")), second(Append(src, []string{"a"}, "1")),
				second(Delete(src, []string{"a"})), second(Remove(src, []string{"a"}, "x")),
			} {
				if err == nil {
					t.Fatal("a file that does not parse was edited")
				}
			}
			return
		}
		path := choosePath(before, choice)
		newTree, rawErr := decodeValue(raw)
		node, depth := before.locate(path)
		exists := depth == len(path)
		var after []byte
		var err error
		var want any
		ok := true
		switch op % 4 {
		case 0:
			after, err = Set(src, path, raw)
			want, ok = expected(before.Tree(), path, true, func(any, bool) (any, bool) { return newTree, rawErr == nil })
			ok = ok && len(path) > 0 && (!exists || node.value != nil)
		case 1:
			after, err = Append(src, path, raw)
			want, ok = expected(before.Tree(), path, true, func(old any, exists bool) (any, bool) {
				if node.origin == fromArrayHeader {
					return nil, false
				}
				list, isList := elementsOf(old)
				return append(list[:len(list):len(list)], newTree), rawErr == nil && (isList || !exists)
			})
		case 2:
			after, err = Delete(src, path)
			want, ok = expected(before.Tree(), path, true, func(any, bool) (any, bool) { return gone, true })
			ok = ok && len(path) > 0
		case 3:
			after, err = Remove(src, path, "x")
			want, ok = expected(before.Tree(), path, true, func(old any, exists bool) (any, bool) {
				if node.origin == fromArrayHeader {
					return nil, false
				}
				list, isList := elementsOf(old)
				kept := []any{}
				for _, e := range list {
					if e != any("x") {
						kept = append(kept, e)
					}
				}
				return kept, isList || !exists
			})
		}
		if op%4 >= 2 && !exists {
			if err == nil && string(after) != string(src) {
				t.Fatalf("nothing to remove, got %q", after)
			}
			return
		}
		if !ok {
			if err == nil {
				t.Fatalf("should be refused, got %q", after)
			}
			return
		}
		if err != nil {
			// The decoder mixes up types around empty keys; refusing the edit is right then.
			if errors.Is(err, errNotExact) && hasEmptyKey(before.root, path) {
				return
			}
			if !strings.Contains(err.Error(), "nested more than") && !strings.Contains(err.Error(), "is more than one value") {
				t.Fatalf("refused: %v: op %d %q %q in %q", err, op%4, path, raw, src)
			}
			return
		}
		result, err := Parse(after)
		if err != nil {
			t.Fatalf("%v in %q", err, after)
		}
		got := any(result.Tree())
		for op%4 == 2 && !equalTrees(got, want) && len(path) > 1 { // parents that were only implied may be gone too
			path = path[:len(path)-1]
			if rest, _ := get(want, path).(map[string]any); len(rest) > 0 {
				break
			}
			want, _ = expected(want, path, true, func(any, bool) (any, bool) { return gone, true })
		}
		if !equalTrees(got, want) {
			t.Fatalf("%q\n%q\ngot  %#v\nwant %#v", src, after, got, want)
		}
		if strings.HasPrefix(string(src), byteOrderMark) != strings.HasPrefix(string(after), byteOrderMark) {
			t.Fatal("the byte order mark changed")
		}
		if crlf := strings.Count(string(src), "\r\n"); crlf > 0 && crlf == strings.Count(string(src), "\n") && !strings.Contains(raw, "\n") &&
			strings.Count(string(after), "\r\n") != strings.Count(string(after), "\n") {
			t.Fatalf("line ends: %q", after)
		}
		// No comment is lost by an edit that adds, except inside of a value that is replaced.
		if op%4 == 0 && !exists || op%4 == 1 {
			left := comments(string(after))
			for _, c := range comments(string(src)) {
				for len(left) > 0 && left[0] != c {
					left = left[1:]
				}
				if len(left) == 0 {
					t.Fatalf("comment %q is lost: %q", c, after)
				}
				left = left[1:]
			}
		}
	})
}

func hasEmptyKey(n *keyNode, path []string) bool {
	if slices.Contains(path, "") || n.child("") != nil {
		return true
	}
	for _, child := range n.children {
		if hasEmptyKey(child, nil) {
			return true
		}
	}
	return false
}

func second(_ []byte, err error) error { return err }

func decodeValue(raw string) (value any, err error) {
	d, err := Parse([]byte("v = " + raw))
	if err != nil {
		return nil, err
	}
	if len(d.Tree()) != 1 || strings.Contains(raw, "#") && len(comments("v = "+raw)) > 0 && !strings.HasSuffix(strings.TrimRight(raw, " \t\r\n"), "]") {
		return nil, strconv.ErrSyntax
	}
	return d.Tree()["v"], nil
}
