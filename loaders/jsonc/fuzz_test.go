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
