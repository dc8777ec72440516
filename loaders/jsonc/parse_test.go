package jsonc

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	t.Parallel()
	comments := Options{Comments: true}
	commas := Options{TrailingCommas: true}
	json5 := Options{JSON5: true}
	python := Options{NonFinite: true}
	replace := Options{ReplaceInvalidUTF8: true}
	for _, c := range []struct {
		name, src string
		o         Options
		want      string // the tree as JSON, or "LINE:COLUMN: message"
	}{
		{"object", `{"a": [1, true, null, "x"], "b": {}}`, Strict, `{"a":[1,true,null,"x"],"b":{}}`},
		{"scalar root", " 12 ", Strict, `12`},
		{"last of duplicate keys wins", `{"a":1,"b":2,"a":3}`, Strict, `{"a":3,"b":2}`},
		{"duplicate objects are not merged", `{"a":{"x":1},"a":{"y":2}}`, Strict, `{"a":{"y":2}}`},
		{"long number", `[12345678901234567890, 1.50, -0, 1E5]`, Strict, `[12345678901234567890,1.50,-0,1E5]`},
		{"escapes", `["\"\\\/\b\f\n\r\t\u00e9\ud83d\ude00"]`, Strict, `["\"\\/\b\f\n\r\té😀"]`},
		{"lone surrogates", `["\ud800", "\udc00x", "\ud800\ud800", "\ud800\u0041", "\ud800\n"]`, Strict,
			`["�","�x","��","�A","�\n"]`},
		{"escaped key", `{"\u0061":1}`, Strict, `{"a":1}`},
		{"CR line ends", "{\r\"a\":\r1\r}", Strict, `{"a":1}`},
		{"empty", "", Strict, "1:1: the file holds no value"},
		{"white space only", " \r\n\t", Strict, "2:2: the file holds no value"},
		{"truncated", `{"a": 1`, Strict, `1:8: expected ',' or '}', found the end of the file`},
		{"truncated key", `{"a": 1,`, Strict, "1:9: expected a key in double quotes, found the end of the file"},
		{"truncated value", `{"a":`, Strict, "1:6: expected a value, found the end of the file"},
		{"open string", "[\n  \"a\n]", Strict, `2:5: a string holds the raw control character '\n'`},
		{"open string at the end", `["a`, Strict, "1:2: the string is not closed"},
		{"text after the end", "{}\n{}", Strict, "2:1: expected the end of the file, found '{'"},
		{"trailing comma", "{\n  \"a\": 1,\n}", Strict, "2:9: a trailing comma is not allowed here"},
		{"trailing comma in an array", `[1, ]`, Strict, "1:3: a trailing comma is not allowed here"},
		{"lone comma", `[,]`, JSONC, "1:2: expected a value, found ','"},
		{"two commas", `[1,,]`, JSONC, "1:4: expected a value, found ','"},
		{"comment", "{} // x", Strict, "1:4: comments are not allowed here"},
		{"slash", "{} /", JSONC, "1:4: unexpected '/'"},
		{"open comment", "{} /* x", JSONC, "1:4: the comment is not closed"},
		{"single quotes", `{'a': 1}`, JSONC, `1:2: expected a key in double quotes, found '\''`},
		{"bare key", `{a: 1}`, JSONC, "1:2: expected a key in double quotes, found 'a'"},
		{"missing colon", `{"a" 1}`, Strict, "1:6: expected ':' after a key, found '1'"},
		{"missing comma", `[1 2]`, Strict, `1:4: expected ',' or ']', found '2'`},
		{"wrong bracket", `[1}`, Strict, `1:3: expected ',' or ']', found '}'`},
		{"word", `[nul]`, Strict, "1:2: expected a value, found a word that is none"},
		{"leading zero", `[01]`, Strict, "1:2: a number must not start with 0"},
		{"plus", `[+1]`, Strict, "1:2: expected a value, found '+'"},
		{"dot", `[.5]`, Strict, "1:2: expected a value, found '.'"},
		{"minus dot", `[-.5]`, Strict, "1:2: the number is not complete"},
		{"trailing dot", `[5.]`, Strict, "1:2: the number is not complete"},
		{"exponent", `[5e+]`, Strict, "1:2: the number is not complete"},
		{"minus", `[-]`, Strict, "1:2: expected a value, found '-'"},
		{"NaN", `[NaN]`, Strict, "1:2: expected a value, found 'N'"},
		{"escape", `["\x41"]`, Strict, `1:3: the escape "\\x" is not known`},
		{"short escape", `["\u12"]`, Strict, `1:3: \u needs four hexadecimal digits`},
		{"tab in a string", "[\"a\tb\"]", Strict, `1:4: a string holds the raw control character '\t'`},
		{"invalid UTF-8", "{\"é\": \"\xff\"}", Strict, "1:8: invalid UTF-8"},
		{"invalid UTF-8 in a comment", "// \xff\n{}", JSONC, "1:4: invalid UTF-8"},
		{"replaced", "[\"\xffa\xe2\x82b\xf0\x9f\x98c\xc0\xafd\xed\xa0\x80\"]", replace, `["�a�b�c��d���"]`},
		{"replaced key", "{\"a\xff\": 1}", replace, `{"a�":1}`},
		{"UTF-16", "\xff\xfe{\x00}\x00", replace, "1:1: expected a value, found an invalid UTF-8 byte"},
		{"byte order mark", "\ufeff{}", Strict, "1:1: a byte order mark is not allowed here"},
		{"byte order mark allowed", "\ufeff{}", Options{BOM: true}, `{}`},
		{"two byte order marks", "\ufeff\ufeff{}", Options{BOM: true}, "1:1: expected a value, found '\\ufeff'"},
		{"column after a byte order mark", "\ufeff{x}", Options{BOM: true}, "1:2: expected a key in double quotes, found 'x'"},
		{"comments", "// a\n{ /* b */ \"a\" /**/ : /* { */ 1 // c\r, \"b\": 2 }\n// end", comments, `{"a":1,"b":2}`},
		{"comments without trailing commas", "[1, // x\n]", comments, "1:3: a trailing comma is not allowed here"},
		{"trailing commas without comments", "[1, // x\n]", commas, "1:5: comments are not allowed here"},
		{"trailing commas", `{"a":[1,],}`, commas, `{"a":[1]}`},
		{"comment marks in strings", `{"a//": "/* x */"}`, JSONC, `{"a//":"/* x */"}`},
		{"Python numbers", `[NaN, Infinity, -Infinity]`, python, `["NaN","Infinity","-Infinity"]`},
		{"Python knows no -NaN", `[-NaN]`, python, "1:2: expected a value, found '-'"},
		{"Python knows no plus", `[+Infinity]`, python, "1:2: expected a value, found '+'"},
		{"JSON5", "\ufeff// c\n{unquoted: 'single \"quoted\"', $_é1: [.5, 5., +1, -.5e3, 0x1Fa, -0XB, Infinity, -Infinity, +NaN,], /* d */}", json5,
			`{"unquoted":"single \"quoted\"","$_é1":[".5","5.","+1","-.5e3","0x1Fa","-0XB","Infinity","-Infinity","+NaN"]}`},
		{"JSON5 strings", "['it\\'s', 'a\\\nb\\\r\nc\\\u2028d', '\\x41\\v\\0\\q\\é', \"tab\tand\u2028\"]", json5,
			`["it's","abcd","A\u000b\u0000qé","tab` + "\\tand\u2028\"]"},
		{"JSON5 escaped key", `{\u0061b: 1}`, json5, `{"ab":1}`},
		{"JSON5 reserved words as keys", `{null: 1, Infinity: 2}`, json5, `{"null":1,"Infinity":2}`},
		{"JSON5 white space", "\v\f\u00a0\u2003[1]\u2029", json5, `[1]`},
		{"JSON5 line end in a string", "['a\n']", json5, `1:4: a string holds the raw control character '\n'`},
		{"JSON5 octal escape", `['\1']`, json5, "1:3: octal escapes are not allowed"},
		{"JSON5 octal escape after 0", `['\01']`, json5, "1:3: octal escapes are not allowed"},
		{"JSON5 key starting with a digit", `{1a: 1}`, json5, "1:2: expected a key, found '1'"},
		{"JSON5 hex without digits", `[0x]`, json5, "1:2: the number has no digits"},
		{"JSON5 dot", `[.]`, json5, "1:2: the number is not complete"},
		{"JSON5 comment ends at U+2028", "[1, // x\u20282]", json5, `[1,2]`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			d, err := Parse([]byte(c.src), c.o)
			if err != nil {
				var syntax *SyntaxError
				if d != nil || !errors.As(err, &syntax) {
					t.Fatalf("document %v, error %T", d, err)
				}
				if err.Error() != c.want {
					t.Fatalf("got  %s\nwant %s", err, c.want)
				}
				return
			}
			if got := treeText(d.Root().Interface()); got != c.want && got != treeText(mustTree(t, c.want)) {
				t.Fatalf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

// treeText is a tree as JSON with sorted keys; numbers that are none in JSON come as strings.
func treeText(tree any) string {
	switch tree := tree.(type) {
	case map[string]any:
		copied := map[string]any{}
		for k, v := range tree {
			copied[k] = json.RawMessage(treeText(v))
		}
		return encode(copied)
	case []any:
		copied := []any{}
		for _, v := range tree {
			copied = append(copied, json.RawMessage(treeText(v)))
		}
		return encode(copied)
	case json.Number:
		if !json.Valid([]byte(tree)) {
			return encode(string(tree))
		}
		return string(tree)
	}
	return encode(tree)
}

func encode(v any) string {
	var out strings.Builder
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		panic(err)
	}
	return strings.TrimSpace(out.String())
}

func mustTree(t *testing.T, text string) any {
	t.Helper()
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	var tree any
	if err := decoder.Decode(&tree); err != nil {
		return text
	}
	return tree
}

func TestDepth(t *testing.T) {
	t.Parallel()
	for _, o := range []Options{Strict, JSONC, {JSON5: true}, {Lenient: true}} {
		for _, pair := range [][2]string{{"[", "]"}, {`{"a":`, "}"}, {`[{"a":`, "}]"}} {
			levels := strings.Count(pair[0], "[") + strings.Count(pair[0], "{")
			middle := "1"
			deepest := strings.Repeat(pair[0], MaxDepth/levels) + middle + strings.Repeat(pair[1], MaxDepth/levels)
			if _, err := Parse([]byte(deepest), o); err != nil {
				t.Errorf("%+v: %d levels: %v", o, MaxDepth, err)
			}
			for _, src := range []string{
				strings.Repeat(pair[0], MaxDepth/levels) + "[1]" + strings.Repeat(pair[1], MaxDepth/levels),
				strings.Repeat(pair[0], 20_000) + middle + strings.Repeat(pair[1], 20_000),
				strings.Repeat(pair[0], 20_000),
			} {
				d, err := Parse([]byte(src), o)
				var syntax *SyntaxError
				if !errors.As(err, &syntax) || !strings.Contains(syntax.Message, "nested more than 500") {
					t.Errorf("%+v: got %v", o, err)
				}
				if o.Lenient != (d != nil) || d.Root().Exists() {
					t.Errorf("%+v: document %v", o, d)
				}
			}
		}
	}
}

func TestPositions(t *testing.T) {
	t.Parallel()
	src := "\ufeff{\r\n\t\"é\": {\r  \"😀\":\n 1 },\n\"é\": [\"\\u0041\", 2]}"
	d, err := Parse([]byte(src), JSONC)
	if err != nil {
		t.Fatal(err)
	}
	members := d.Root().Members()
	if len(members) != 2 || !members[0].Shadowed || members[1].Shadowed {
		t.Fatalf("members %v", members)
	}
	check := func(what string, v Value, line, column int, raw string) {
		t.Helper()
		if v.Line() != line || v.Column() != column || string(v.Raw()) != raw || src[v.Offset():v.End()] != raw {
			t.Errorf("%s: %d:%d %q", what, v.Line(), v.Column(), v.Raw())
		}
	}
	check("root", d.Root(), 1, 1, src[3:])
	check("inner", members[0].Value.Get("😀"), 4, 2, "1")
	check("array", d.Root().Get("é"), 5, 6, `["\u0041", 2]`)
	check("element", d.Root().Get("é").Elements()[1], 5, 17, "2")
	for i, line := range []int{2, 5} {
		if got := members[i].Line(); got != line || src[members[i].KeyOffset] != '"' {
			t.Errorf("member %d on line %d", i, got)
		}
	}
	if line := members[0].Value.Members()[0].Line(); line != 3 {
		t.Errorf("inner member on line %d", line)
	}
	for offset, want := range map[int]string{-5: "1 1", 0: "1 1", 3: "1 1", 4: "1 2", 5: "1 3", 6: "2 1", 7: "2 2", 8: "2 3", 10: "2 4", 1000: "5 20"} {
		if line, column := d.Position(offset); fmt.Sprint(line, column) != want {
			t.Errorf("offset %d: %d %d, want %s", offset, line, column, want)
		}
	}
}

func TestValues(t *testing.T) {
	t.Parallel()
	d, err := Parse([]byte(`{"s": "t\u0065xt", "n": 1.50, "t": true, "f": false, "z": null, "l": ["a", "b"], "m": ["a", 1], "e": [], "o": {"p": {"q": "deep"}}}`), Strict)
	if err != nil {
		t.Fatal(err)
	}
	root := d.Root()
	kinds := map[string]Kind{"s": String, "n": Number, "t": Bool, "f": Bool, "z": Null, "l": Array, "o": Object, "missing": Invalid}
	for key, kind := range kinds {
		if got := root.Get(key); got.Kind() != kind || got.Exists() != (kind != Invalid) || got.String() != kind.String() {
			t.Errorf("%s is %s", key, got)
		}
	}
	if text, ok := root.Get("s").Str(); text != "text" || !ok {
		t.Errorf("Str: %q %v", text, ok)
	}
	if raw, ok := root.Get("n").Number(); raw != "1.50" || !ok {
		t.Errorf("Number: %q %v", raw, ok)
	}
	for key, want := range map[string]bool{"t": true, "f": false} {
		if value, ok := root.Get(key).Bool(); value != want || !ok {
			t.Errorf("Bool of %s: %v %v", key, value, ok)
		}
	}
	if texts, ok := root.Get("l").Strings(); !reflect.DeepEqual(texts, []string{"a", "b"}) || !ok {
		t.Errorf("Strings: %q %v", texts, ok)
	}
	if texts, ok := root.Get("e").Strings(); texts == nil || len(texts) != 0 || !ok {
		t.Errorf("Strings of an empty array: %q %v", texts, ok)
	}
	for _, key := range []string{"m", "o", "s", "missing"} {
		if _, ok := root.Get(key).Strings(); ok {
			t.Errorf("Strings of %s", key)
		}
	}
	if text, _ := root.Lookup("o", "p", "q").Str(); text != "deep" {
		t.Errorf("Lookup: %q", text)
	}
	if root.Lookup("o", "x", "q").Exists() || root.Lookup("s", "x").Exists() || root.Lookup() != root {
		t.Error("Lookup finds what is not there")
	}
	if root.Len() != 9 || root.Get("l").Len() != 2 || root.Get("s").Len() != 0 {
		t.Error("Len")
	}

	var none Value
	_, isText := none.Str()
	_, isBool := none.Bool()
	_, isNumber := none.Number()
	_, isStrings := none.Strings()
	if isText || isBool || isNumber || isStrings || none.Exists() || none.Get("a").Exists() || none.Lookup("a", "b").Exists() ||
		none.Members() != nil || none.Elements() != nil || none.Len() != 0 || none.Raw() != nil || none.Line() != 0 ||
		none.Column() != 0 || none.Offset() != 0 || none.End() != 0 || none.Interface() != nil || none.Kind() != Invalid {
		t.Error("the zero Value is not safe")
	}
	var noDocument *Document
	if noDocument.Root().Exists() || noDocument.Errors() != nil || (Member{}).Line() != 0 {
		t.Error("a nil document is not safe")
	}
}

// A large object builds its index only after some look-ups; all of them must agree.
func TestGetInLargeObjects(t *testing.T) {
	t.Parallel()
	var src strings.Builder
	src.WriteString("{")
	for i := range 200 {
		fmt.Fprintf(&src, `"k%d": %d, "\u006b%d": %d,`, i, i, i, i+1000)
	}
	src.WriteString(`"end": true}`)
	d, err := Parse([]byte(src.String()), Strict)
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		for i := range 200 {
			if raw, _ := d.Root().Get(fmt.Sprintf("k%d", i)).Number(); raw != fmt.Sprint(i+1000) {
				t.Fatalf("k%d is %q", i, raw)
			}
		}
		if d.Root().Get("missing").Exists() {
			t.Fatal("found what is not there")
		}
	}
	members := d.Root().Members()
	for i, m := range members[:400] {
		if m.Shadowed != (i%2 == 0) {
			t.Fatalf("member %d, %s: shadowed is %v", i, m.Key, m.Shadowed)
		}
	}
}

func TestNothingPrintsTheText(t *testing.T) {
	t.Parallel()
	d, err := Parse([]byte(`{"token": "hunter2secret"}`), Strict)
	if err != nil {
		t.Fatal(err)
	}
	value := d.Root().Get("token")
	for _, format := range []string{"%v", "%+v", "%#v", "%s", "%q"} {
		for _, v := range []any{d, value, d.Root(), d.Root().Members(), d.Root().Members()[0]} {
			if text := fmt.Sprintf(format, v); strings.Contains(text, "hunter2") {
				t.Errorf("%s of %T: %s", format, v, text)
			}
		}
	}
	for _, src := range []string{`{"hunter2secret": tokenhunter2}`, `{"a": "hunter2secret`, `{hunter2secret: 1}`, `[1hunter2secret]`} {
		if _, err := Parse([]byte(src), Strict); err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("error %v", err)
		}
	}
}
