package tomledit

import (
	"os"
	"path/filepath"
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
				strings.Contains(e.Message, "nested") || !utf8.Valid(src)
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
