package jsonc

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"
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
}

// standardTree decodes with encoding/json.
func standardTree(src []byte) (tree any, err error) {
	decoder := json.NewDecoder(bytes.NewReader(src))
	decoder.UseNumber()
	if err := decoder.Decode(&tree); err != nil {
		return nil, err
	}
	if _, err := decoder.Token(); err != io.EOF {
		return nil, err
	}
	return tree, nil
}

func nesting(src []byte) int {
	return bytes.Count(src, []byte("[")) + bytes.Count(src, []byte("{"))
}

func FuzzParse(f *testing.F) {
	addFiles(f, func(src []byte) { f.Add(src) })
	for _, src := range []string{"", "\ufeff{}", `{"a":1,"a":{"b":[1,2,]}} // x`, `["\ud800\u0041\udc00"]`, "{a:'b',c:+.5e3,/**/}", "[\"\xff\xe2\x82\"]", "[1,\r\"\t\"]"} {
		f.Add([]byte(src))
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		strict, err := Parse(src, Strict)
		if nesting(src) <= MaxDepth && utf8.Valid(src) {
			valid := json.Valid(src)
			if valid != (err == nil) {
				t.Fatalf("encoding/json says %v, we say %v", valid, err)
			}
			if valid {
				want, err := standardTree(src)
				if err != nil {
					t.Fatal(err)
				}
				if got := strict.Root().Interface(); !reflect.DeepEqual(got, want) {
					t.Fatalf("got  %#v\nwant %#v", got, want)
				}
			}
		}
		for _, o := range []Options{
			Strict, JSONC, {JSON5: true, ReplaceInvalidUTF8: true}, {NonFinite: true, BOM: true}, {Lenient: true},
			{Lenient: true, Comments: true, TrailingCommas: true, BOM: true, ReplaceInvalidUTF8: true},
		} {
			d, err := Parse(src, o)
			if err != nil {
				if e := err.(*SyntaxError); e.Line < 1 || e.Column < 1 || e.Offset < 0 || e.Offset > len(src) || e.Message == "" {
					t.Fatalf("%+v: %#v", o, e)
				}
				if d != nil && !o.Lenient || d == nil && o.Lenient {
					t.Fatalf("%+v: document %v with error %v", o, d, err)
				}
				continue
			}
			walk(t, src, d.Root())
			// A dialect only adds to strict JSON, and what has no errors means the same with and without Lenient.
			if strict != nil {
				if got, want := d.Root().Interface(), strict.Root().Interface(); !reflect.DeepEqual(got, want) {
					t.Fatalf("%+v reads strict JSON differently: %#v, %#v", o, got, want)
				}
			}
			if o.Lenient {
				o.Lenient = false
				plain, err := Parse(src, o)
				if (err == nil) != (len(d.Errors()) == 0) {
					t.Fatalf("%+v: with Lenient %v, without %v", o, d.Errors(), err)
				}
				if err == nil && !reflect.DeepEqual(plain.Root().Interface(), d.Root().Interface()) {
					t.Fatalf("%+v: trees differ", o)
				}
			}
		}
	})
}

// walk checks that all values of a document lie in the source and inside of their parents.
func walk(t *testing.T, src []byte, v Value) {
	if !v.Exists() {
		return
	}
	if v.Offset() >= v.End() || v.End() > len(src) || string(v.Raw()) != string(src[v.Offset():v.End()]) || v.Line() < 1 || v.Column() < 1 {
		t.Fatalf("%s at %d to %d", v, v.Offset(), v.End())
	}
	at := v.Offset() + 1
	inside := func(start, end int) {
		if start < at || end > v.End() {
			t.Fatalf("child at %d to %d, after %d", start, end, at)
		}
		at = end
	}
	for _, element := range v.Elements() {
		inside(element.Offset(), element.End())
		walk(t, src, element)
	}
	members := v.Members()
	for i, m := range members {
		inside(m.KeyOffset, m.Value.End())
		walk(t, src, m.Value)
		if !m.Shadowed && v.Get(m.Key) != m.Value {
			t.Fatalf("Get(%q) is not member %d", m.Key, i)
		}
		if !utf8.ValidString(m.Key) {
			t.Fatalf("key %q is not UTF-8", m.Key)
		}
	}
	if len(v.Elements())+len(members) != v.Len() {
		t.Fatalf("Len %d", v.Len())
	}
	if text, ok := v.Str(); ok && !utf8.ValidString(text) {
		t.Fatalf("text %q is not UTF-8", text)
	}
}

func FuzzQuote(f *testing.F) {
	f.Add("a\"\\\b\f\n\r\t\x00\x1f\x7f<&>\u2028\u2029é😀\xff")
	f.Fuzz(func(t *testing.T, s string) {
		d, err := Parse([]byte(Quote(s)), Strict)
		if err != nil {
			t.Fatal(err)
		}
		if got, _ := d.Root().Str(); got != strings.ToValidUTF8(s, "\ufffd") && utf8.ValidString(s) {
			t.Fatalf("got %q", got)
		}
	})
}

var dialects = []Options{Strict, JSONC, {JSON5: true, ReplaceInvalidUTF8: true}, {Comments: true, BOM: true}, {Lenient: true, TrailingCommas: true, NonFinite: true}}

// choosePath picks members of the document by the bytes of choice; the last number of a level is a key that is not
// there, 250 and more stop.
func choosePath(root Value, choice []byte) []string {
	var path []string
	for _, c := range choice {
		if c >= 250 || len(path) == 6 {
			break
		}
		members := root.Members()
		if i := int(c) % (len(members) + 1); i < len(members) {
			path, root = append(path, members[i].Key), root.Get(members[i].Key)
			continue
		}
		path, root = append(path, "new \u2028key\""+string(rune('a'+c%4))), Value{}
	}
	return path
}

// change does to a decoded tree what an edit should do; ok is false where the edit must be refused.
func change(tree any, path []string, exists bool, f func(old any, exists bool) (new any, keep, ok bool)) (any, bool) {
	if len(path) == 0 {
		changed, _, ok := f(tree, exists)
		return changed, ok
	}
	members, isObject := tree.(map[string]any)
	if !isObject {
		if exists {
			return nil, false
		}
		members = map[string]any{}
	}
	child, found := members[path[0]]
	if len(path) == 1 {
		changed, keep, ok := f(child, found)
		if !ok {
			return nil, false
		}
		if keep {
			members[path[0]] = changed
		} else {
			delete(members, path[0])
		}
		return members, true
	}
	changed, ok := change(child, path[1:], found, f)
	if ok {
		members[path[0]] = changed
	}
	return members, ok
}

type comment struct {
	text    string
	at      int
	ownLine bool
}

// comments lists the comments of a file that parses.
func comments(text string, o Options) []comment {
	var found []comment
	for at := 0; at < len(text); {
		switch c := text[at]; {
		case c == '"' || c == '\'':
			at += 1 + closingQuote(text[at+1:], c) + 1
		case strings.HasPrefix(text[at:], "//") || strings.HasPrefix(text[at:], "/*"):
			length := lineCommentLength(text[at:], o)
			if text[at+1] == '*' {
				length = 4 + strings.Index(text[at+2:], "*/")
			}
			line := text[strings.LastIndexAny(text[:at], "\r\n")+1 : at]
			found = append(found, comment{text[at : at+length], at, strings.Trim(line, " \t") == ""})
			at += length
		default:
			at++
		}
	}
	return found
}

func onlyCRLF(text string) bool {
	n := strings.Count(text, "\r\n")
	return n > 0 && n == strings.Count(text, "\n") && n == strings.Count(text, "\r")
}

func FuzzEdit(f *testing.F) {
	raws := []string{`false`, `{"a": [1, "x"]}`, "{\n  \"command\": \"x\",\n  \"env\": {\n    \"A\": \"b\"\n  }\n}", `"x"`, "bad"}
	n := uint8(0)
	addFiles(f, func(src []byte) {
		for range 3 {
			n++
			f.Add(src, n%5, n%4, []byte{n % 7, n % 5, n % 3, 255 - n%2}, raws[n%5])
		}
	})
	for _, src := range []string{
		"", " \r\n", "\ufeff", "{}", "[]", "// c\n{\n  // d\n}\n", "{\r\n\t\"a\": 1, // about a\r\n\t// above b\r\n\t\"b\": [\r\n\t\t\"x\", \"x\", // x\r\n\t],\r\n} // end",
		`{ "a": { "x": 1 }, "a": {}, "b": [ "x" ], }`, "{\"a\":{},\"b\":[]}", "{ \"a\": 1\n, \"b\": 2 // b\n, /* c */ \"c\": { \"d\": null } }", "{a: 'x', 'b': [+1,], /**/ c: {} /* z */ }",
	} {
		for op := range uint8(4) {
			for d := range uint8(5) {
				f.Add([]byte(src), d, op, []byte{op, 250}, raws[d])
				f.Add([]byte(src), d, op, []byte{2, d}, raws[op])
			}
		}
	}
	f.Fuzz(func(t *testing.T, src []byte, dialect, op uint8, choice []byte, raw string) {
		o := dialects[int(dialect)%len(dialects)]
		plain := o
		plain.Lenient = false
		before, parseErr := Parse(src, plain)
		_, _, empty := blank(src, o)
		var root Value
		if parseErr == nil {
			root = before.Root()
		}
		path := choosePath(root, choice)
		newTree, rawErr := standardTree([]byte(raw))
		if rawErr == nil {
			_, rawErr = Parse([]byte(raw), Strict)
		}
		var after []byte
		var err error
		var expect func(old any, exists bool) (any, bool, bool)
		element := "x"
		switch op % 4 {
		case 0:
			after, err = Set(src, o, path, raw)
			expect = func(any, bool) (any, bool, bool) { return newTree, true, rawErr == nil }
		case 1:
			after, err = Append(src, o, path, raw)
			expect = func(old any, exists bool) (any, bool, bool) {
				list, isList := old.([]any)
				return append(list, newTree), true, rawErr == nil && (isList || !exists)
			}
		case 2:
			after, err = Delete(src, o, path)
			expect = func(any, bool) (any, bool, bool) { return nil, false, len(path) > 0 }
		case 3:
			after, err = Remove(src, o, path, element)
			expect = func(old any, exists bool) (any, bool, bool) {
				list, isList := old.([]any)
				kept := []any{}
				for _, e := range list {
					if e != element {
						kept = append(kept, e)
					}
				}
				return kept, exists, isList || !exists
			}
		}
		if parseErr != nil && !empty {
			if err == nil {
				t.Fatalf("a file that does not parse was edited to %q", after)
			}
			return
		}
		removing := op%4 >= 2
		if empty && removing || removing && len(path) > 0 && !parentsExist(root, path) {
			if err == nil && !bytes.Equal(src, after) {
				t.Fatalf("nothing to remove, got %q", after)
			}
			return
		}
		want, ok := change(root.Interface(), path, root.Exists(), expect)
		if !ok {
			if err == nil {
				t.Fatalf("should be refused, got %q", after)
			}
			return
		}
		if err != nil {
			if rawErr == nil && strings.Contains(err.Error(), "nested more than") {
				return
			}
			t.Fatalf("refused: %v", err)
		}
		result, err := Parse(after, plain)
		if err != nil {
			t.Fatalf("%v in %q", err, after)
		}
		if got := result.Root().Interface(); !reflect.DeepEqual(got, want) {
			t.Fatalf("%q\n%q\ngot  %#v\nwant %#v", src, after, got, want)
		}
		if bytes.HasPrefix(src, []byte(byteOrderMark)) != bytes.HasPrefix(after, []byte(byteOrderMark)) {
			t.Fatal("the byte order mark changed")
		}
		if onlyCRLF(string(src)) && !empty && !onlyCRLF(string(after)) && strings.ContainsAny(string(after), "\r\n") {
			t.Fatalf("line ends: %q", after)
		}
		checkComments(t, string(src), string(after), plain, root, path, op%4)
	})
}

func parentsExist(root Value, path []string) bool {
	for _, key := range path[:len(path)-1] {
		if root.Exists() && root.Kind() != Object {
			return true // which is refused
		}
		root = root.Get(key)
	}
	return root.Exists()
}

// checkComments: an edit brings no comment in, and loses none but those inside of what went, and those behind it on its
// line.
func checkComments(t *testing.T, src, after string, o Options, root Value, path []string, op uint8) {
	t.Helper()
	removing := op >= 2
	before, left := comments(src, o), comments(after, o)
	inside := func(c comment) bool { return false }
	if target := root.Lookup(path...); target.Exists() && op == 0 {
		inside = func(c comment) bool { return c.at >= target.Offset() && c.at < target.End() }
	}
	must := map[string]int{}
	i := 0
	for _, c := range before {
		if i < len(left) && left[i].text == c.text {
			i++
		}
		if !removing && !inside(c) || removing && c.ownLine && !insideRemoved(root, path, c.at) {
			must[c.text]++
		}
	}
	if i < len(left) {
		t.Fatalf("comment %q is new: %q", left[i].text, after)
	}
	for _, c := range left {
		must[c.text]--
	}
	for text, lost := range must {
		if lost > 0 {
			t.Fatalf("comment %q is lost: %q", text, after)
		}
	}
}

func insideRemoved(root Value, path []string, at int) bool {
	if len(path) == 0 {
		return false
	}
	for _, m := range root.Lookup(path[:len(path)-1]...).Members() {
		if m.Key == path[len(path)-1] && at >= m.KeyOffset && at < m.Value.End() {
			return true
		}
	}
	return false
}
