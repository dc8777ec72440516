package jsonc

import (
	"errors"
	"strings"
	"testing"
)

// jx is the file with which other JSON editors were tried: tabs, comments, trailing commas, one-line and empty objects,
// a key with a dot and a slash, a 20 digit number and escapes.
const jx = "// top\n{\n\t\"mcp\": {\n\t\t// about a\n\t\t\"a\": { \"enabled\": true, \"n\": 12345678901234567890 }, // behind a\n" +
	"\t\t\"b.c/d\": {\n\t\t\t\"command\": \"x\\/y\\u00e9\", /* why */\n\t\t\t\"enabled\": true,\n\t\t},\n\t\t\"empty\": {},\n\t}\n} // end"

func crlf(s string) string { return strings.ReplaceAll(s, "\n", "\r\n") }

func TestSet(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, src string
		o         Options
		path      string // keys with | between
		raw, want string
	}{
		{"replace a token", jx, JSONC, "mcp|a|enabled", "false", strings.Replace(jx, "true", "false", 1)},
		{"replace behind a dotted key", jx, JSONC, "mcp|b.c/d|enabled", "false", strings.Replace(jx, "\"enabled\": true,\n", "\"enabled\": false,\n", 1)},
		{"add to a one-line object", jx, JSONC, "mcp|a|x", "1", strings.Replace(jx, "890 }", `890, "x": 1 }`, 1)},
		{"add behind a trailing comma", jx, JSONC, "mcp|b.c/d|x", "1", strings.Replace(jx, "true,\n\t\t}", "true,\n\t\t\t\"x\": 1,\n\t\t}", 1)},
		{"add to an empty object", jx, JSONC, "mcp|empty|x", "1", strings.Replace(jx, "{},", "{\n\t\t\t\"x\": 1\n\t\t},", 1)},
		{"add to the root behind a first comment", jx, JSONC, "x", "1", strings.Replace(jx, "\t}\n}", "\t},\n\t\"x\": 1\n}", 1)},
		{"add parents", jx, JSONC, "p|q|r", "[]",
			strings.Replace(jx, "\t}\n}", "\t},\n\t\"p\": {\n\t\t\"q\": {\n\t\t\t\"r\": []\n\t\t}\n\t}\n}", 1)},
		{"CRLF", crlf(jx), JSONC, "mcp|b.c/d|x", "{\n  \"y\": 1\n}",
			crlf(strings.Replace(jx, "true,\n\t\t}", "true,\n\t\t\t\"x\": {\n\t\t\t\t\"y\": 1\n\t\t\t},\n\t\t}", 1))},
		{"the same value", jx, JSONC, "mcp|b.c/d|command", `"x/yé"`, jx},
		{"the same object", `{"a":{"x":1, "y":2}}`, Strict, "a", `{"y": 2, "x": 1}`, `{"a":{"x":1, "y":2}}`},
		{"another spelling is another number", `{"a":1.0}`, Strict, "a", "1", `{"a":1}`},
		{"minified", `{"a":{"b":1},"c":{}}`, Strict, "a|x|y", "true", `{"a":{"b":1,"x":{"y":true}},"c":{}}`},
		{"minified and empty", `{"a":{"b":1},"c":{}}`, Strict, "c|x", "true", `{"a":{"b":1},"c":{"x":true}}`},
		{"one line with spaces", `{ "a": { "b": 1 }, "c": { } }`, Strict, "c|x", "true", `{ "a": { "b": 1 }, "c": { "x": true } }`},
		{"one line, one member", `{ "a": 1 }`, Strict, "b", "2", `{ "a": 1, "b": 2 }`},
		{"one line, trailing comma", `{ "a": 1, }`, JSONC, "b", "2", `{ "a": 1, "b": 2, }`},
		{"one line, block comment", `{ "a": 1 /* about a */ }`, JSONC, "b", "2", `{ "a": 1, "b": 2 /* about a */ }`},
		{"comment behind the only member", "{ \"a\": 1 // about a\n}", JSONC, "b", "2", "{ \"a\": 1, // about a\n  \"b\": 2\n}"},
		{"comment behind the last member", "{\n    \"a\": 1 // about a, }\n}", JSONC, "b", "2", "{\n    \"a\": 1, // about a, }\n    \"b\": 2\n}"},
		{"block comment behind the last member", "{\n  \"a\": 1 /* x */\n}", JSONC, "b", "2", "{\n  \"a\": 1, /* x */\n  \"b\": 2\n}"},
		{"commented member at the end", "{\n  \"a\": 1\n  // \"b\": 3\n}", JSONC, "b", "2", "{\n  \"a\": 1,\n  \"b\": 2\n  // \"b\": 3\n}"},
		{"comment before the trailing comma", "{\n  \"a\": 1 // x\n  ,\n}", JSONC, "b", "2", "{\n  \"a\": 1 // x\n  ,\n  \"b\": 2,\n}"},
		{"closing brace on the last line", "{\n  \"a\": 1}", Strict, "b", "2", "{\n  \"a\": 1,\n  \"b\": 2}"},
		{"only a comment inside", "{\n  // nothing yet\n}\n", JSONC, "a|b", "1", "{\n  // nothing yet\n  \"a\": {\n    \"b\": 1\n  }\n}\n"},
		{"only a block comment inside", "{\"x\": {/* nothing yet */}}", JSONC, "x|b", "1", "{\"x\": {/* nothing yet */ \"b\": 1 }}"},
		{"empty object over lines", "{\n    \"x\": {\n    }\n}", Strict, "x|b", "1", "{\n    \"x\": {\n        \"b\": 1\n    }\n}"},
		{"empty root", "{}", Strict, "a|b", "1", "{\n  \"a\": {\n    \"b\": 1\n  }\n}"},
		{"empty root with a line end", "{}\r\n", Strict, "a", "1", "{\r\n  \"a\": 1\r\n}\r\n"},
		{"four spaces", "{\n    \"a\": {\n        \"b\": {}\n    }\n}", Strict, "a|b|c|d", "1",
			"{\n    \"a\": {\n        \"b\": {\n            \"c\": {\n                \"d\": 1\n            }\n        }\n    }\n}"},
		{"indentation from elsewhere", "{\"x\": {\n\t\"y\": 1\n}, \"z\": {\n}}", Strict, "z|a", "1", "{\"x\": {\n\t\"y\": 1\n}, \"z\": {\n\t\"a\": 1\n}}"},
		{"CR only", "{\r  \"a\": 1\r}\r", Strict, "b|c", "2", "{\r  \"a\": 1,\r  \"b\": {\r    \"c\": 2\r  }\r}\r"},
		{"colon style", "{\n  \"a\" : 1\n}", Strict, "b|c", "2", "{\n  \"a\" : 1,\n  \"b\" : {\n    \"c\" : 2\n  }\n}"},
		{"blank lines", "{\n\n  \"a\": 1\n\n}\n\n", Strict, "b", "2", "{\n\n  \"a\": 1,\n  \"b\": 2\n\n}\n\n"},
		{"duplicate keys", `{"a": {"x": 1}, "a": {"x": 2}}`, Strict, "a|x", "3", `{"a": {"x": 1}, "a": {"x": 3}}`},
		{"add below the last duplicate", `{"a": {"x": 1}, "a": {"y": 2}}`, Strict, "a|x", "3", `{"a": {"x": 1}, "a": {"y": 2, "x": 3}}`},
		{"missing file", "", JSONC, "a|b", "true", "{\n  \"a\": {\n    \"b\": true\n  }\n}\n"},
		{"missing file, root", "", Strict, "", "{}", "{}\n"},
		{"white space only", " \r\n\t", Strict, "a", "1", "{\r\n  \"a\": 1\r\n}\r\n"},
		{"byte order mark only", "\ufeff", JSONC, "a", "1", "\ufeff{\n  \"a\": 1\n}\n"},
		{"byte order mark", "\ufeff{\n  \"a\": 1\n}", JSONC, "b", "2", "\ufeff{\n  \"a\": 1,\n  \"b\": 2\n}"},
		{"end-of-file comment", "{\n  \"a\": 1\n}\n// end", JSONC, "b", "2", "{\n  \"a\": 1,\n  \"b\": 2\n}\n// end"},
		{"replace the root", "// x\n[1]\n", JSONC, "", `{"a": 1}`, "// x\n{\"a\": 1}\n"},
		{"replace an object by lines", "{\n\t\"a\": {\"x\": 1},\n\t\"b\": 2\n}", Strict, "a", "{\n    \"y\": [\n        1\n    ]\n}",
			"{\n\t\"a\": {\n\t\t\"y\": [\n\t\t\t1\n\t\t]\n\t},\n\t\"b\": 2\n}"},
		{"a value cut out of another file", "{\n  \"a\": 1\n}", Strict, "b", "{\n\t\t\t\"y\": 1\n\t\t}", "{\n  \"a\": 1,\n  \"b\": {\n    \"y\": 1\n  }\n}"},
		{"key that needs escapes", "{}", Strict, "a\"\\\u2028<", "1", "{\n  \"a\\\"\\\\\u2028<\": 1\n}"},
		{"escaped key in the file", `{"\u0061": 1}`, Strict, "a", "2", `{"\u0061": 2}`},
		{"JSON5", "{\n  // c\n  a: 'x',\n  b: +.5,\n}", Options{JSON5: true}, "c", `"y"`, "{\n  // c\n  a: 'x',\n  b: +.5,\n  \"c\": \"y\",\n}"},
		{"JSON5 comment that ends at U+2028", "{ // c\u2028}", Options{JSON5: true}, "c", `1`, "{ // c\n  \"c\": 1\n}"},
		{"invalid bytes elsewhere", "{\"a\xff\": \"\xfe\", \"b\": 1}", Options{ReplaceInvalidUTF8: true}, "b", "2", "{\"a\xff\": \"\xfe\", \"b\": 2}"},
		{"lenient without mistakes", "{\"a\": 1, /* x */}", Options{Lenient: true, Comments: true, TrailingCommas: true}, "a", "2", "{\"a\": 2, /* x */}"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got, err := Set([]byte(c.src), c.o, keys(c.path), c.raw)
			if err != nil || string(got) != c.want {
				t.Fatalf("%v\ngot:\n%q\nwant:\n%q", err, got, c.want)
			}
		})
	}
}

func keys(path string) []string {
	if path == "" {
		return nil
	}
	return strings.Split(path, "|")
}

func TestDelete(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, src, path, want string
	}{
		{"first line", "{\n  \"a\": 1,\n  \"b\": 2\n}", "a", "{\n  \"b\": 2\n}"},
		{"last line", "{\n  \"a\": 1,\n  \"b\": 2\n}", "b", "{\n  \"a\": 1\n}"},
		{"last line with a trailing comma", "{\n  \"a\": 1,\n  \"b\": 2,\n}", "b", "{\n  \"a\": 1,\n}"},
		{"a value of several lines", "{\n  \"a\": {\n    \"x\": 1\n  },\n  \"b\": 2\n}", "a", "{\n  \"b\": 2\n}"},
		{"the neighbour's comment behind", "{\n  \"a\": 1, // about a\n  \"b\": 2 // about b\n}", "b", "{\n  \"a\": 1 // about a\n}"},
		{"the neighbour's block comment behind", "{\n  \"a\": 1 /* about a */,\n  \"b\": 2\n}", "b", "{\n  \"a\": 1 /* about a */\n}"},
		{"its own comment behind", "{\n  \"a\": 1, // about a\n  \"b\": 2 // about b\n}", "a", "{\n  \"b\": 2 // about b\n}"},
		{"the comment above stays", "{\n  // about a\n  \"a\": 1,\n  // about b\n  \"b\": 2\n}", "b", "{\n  // about a\n  \"a\": 1\n  // about b\n}"},
		{"the comment above the next stays", "{\n  // about a\n  \"a\": 1,\n  // about b\n  \"b\": 2\n}", "a", "{\n  // about a\n  // about b\n  \"b\": 2\n}"},
		{"CRLF", "{\r\n\t\"a\": 1,\r\n\t\"b\": 2\r\n}\r\n", "a", "{\r\n\t\"b\": 2\r\n}\r\n"},
		{"CR", "{\r\t\"a\": 1,\r\t\"b\": 2\r}\r", "b", "{\r\t\"a\": 1\r}\r"},
		{"one line, first", `{ "a": 1, "b": 2 }`, "a", `{ "b": 2 }`},
		{"one line, middle", `{"a":1,"b":2,"c":3}`, "b", `{"a":1,"c":3}`},
		{"one line, last", `{ "a": 1, "b": 2 }`, "b", `{ "a": 1 }`},
		{"one line, last with a trailing comma", `{ "a": 1, "b": 2, }`, "b", `{ "a": 1, }`},
		{"one line, comments", `{ "a": 1 /* a */, /* b */ "b": 2 /* b */, /* c */ "c": 3 }`, "b", `{ "a": 1 /* a */, /* b */ /* c */ "c": 3 }`},
		{"the only one", `{"x": { "a": 1 }}`, "x|a", `{"x": {}}`},
		{"the only one on lines", "{\n  \"x\": {\n    \"a\": 1,\n  }\n}", "x|a", "{\n  \"x\": {}\n}"},
		{"the only one with a comment", "{\n  // about a\n  \"a\": 1\n}", "a", "{\n  // about a\n}"},
		{"the only one with a comment behind the brace", "{ // all\n  \"a\": 1 // about a\n}", "a", "{ // all\n}"},
		{"commas in front", "{ \"a\": 1\n, \"b\": 2\n, \"c\": 3\n}", "b", "{ \"a\": 1\n, \"c\": 3\n}"},
		{"commas in front, last", "{ \"a\": 1\n, \"b\": 2\n, \"c\": 3\n}", "c", "{ \"a\": 1\n, \"b\": 2\n}"},
		{"commas in front, first", "{ \"a\": 1\n, \"b\": 2\n}", "a", "{ \"b\": 2\n}"},
		{"comment before its comma", "{\n  \"a\": 1\n  // x\n  , \"b\": 2\n}", "a", "{\n  \n  // x\n   \"b\": 2\n}"},
		{"two on a line, last", "{\n  \"a\": 1, \"b\": 2, // both\n  \"c\": 3\n}", "b", "{\n  \"a\": 1, // both\n  \"c\": 3\n}"},
		{"two on a line, last, no comment", "{\n  \"a\": 1, \"b\": 2,\n  \"c\": 3\n}", "b", "{\n  \"a\": 1,\n  \"c\": 3\n}"},
		{"two on a line, first", "{\n  \"a\": 1, \"b\": 2\n}", "a", "{\n  \"b\": 2\n}"},
		{"brace on its line", "{ \"a\": 1,\n  \"b\": 2 }", "b", "{ \"a\": 1 }"},
		{"duplicates all go", "{\n  \"a\": 1,\n  \"b\": 2,\n  \"\\u0061\": 3\n}", "a", "{\n  \"b\": 2\n}"},
		{"below the last duplicate", `{"p": {"a": 1}, "p": {"a": 2}}`, "p|a", `{"p": {"a": 1}, "p": {}}`},
		{"missing", `{"a": {"b": 1}}`, "a|c", `{"a": {"b": 1}}`},
		{"missing parent", `{"a": {"b": 1}}`, "x|y|z", `{"a": {"b": 1}}`},
		{"empty file", " \n", "a", " \n"},
		{"byte order mark and end comment", "\ufeff{\"a\": 1, \"b\": 2} // end", "b", "\ufeff{\"a\": 1} // end"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got, err := Delete([]byte(c.src), JSONC, keys(c.path))
			if err != nil || string(got) != c.want {
				t.Fatalf("%v\ngot:\n%q\nwant:\n%q", err, got, c.want)
			}
		})
	}
}

func TestAppendAndRemove(t *testing.T) {
	t.Parallel()
	type edit func(src []byte, o Options, path []string, value string) ([]byte, error)
	for _, c := range []struct {
		name             string
		edit             edit
		src, path, value string
		want             string
	}{
		{"append on lines", Append, "{\n  \"l\": [\n    \"a\"\n  ]\n}", "l", `"b"`, "{\n  \"l\": [\n    \"a\",\n    \"b\"\n  ]\n}"},
		{"append on one line", Append, `{"l": ["a"]}`, "l", `"b"`, `{"l": ["a", "b"]}`},
		{"append minified", Append, `{"l":["a"]}`, "l", `"b"`, `{"l":["a","b"]}`},
		{"append in the style of the array", Append, `{"l": ["a","b"]}`, "l", `"c"`, `{"l": ["a","b","c"]}`},
		{"append to an empty array", Append, "{\n  \"l\": []\n}", "l", `"b"`, "{\n  \"l\": [\n    \"b\"\n  ]\n}"},
		{"append to an empty array on one line", Append, `{"l": []}`, "l", `"b"`, `{"l": ["b"]}`},
		{"append to wrapped lines", Append, "[\n  \"a\", \"b\",\n  \"c\", \"d\"\n]", "", `"e"`, "[\n  \"a\", \"b\",\n  \"c\", \"d\", \"e\"\n]"},
		{"append behind a trailing comma and a comment", Append, "[\r\n\t\"a\", // why\r\n]", "", `"b"`, "[\r\n\t\"a\", // why\r\n\t\"b\",\r\n]"},
		{"append an object", Append, "{\n  \"l\": [\n    {\n      \"x\": 1\n    }\n  ]\n}", "l", "{\n  \"y\": 2\n}",
			"{\n  \"l\": [\n    {\n      \"x\": 1\n    },\n    {\n      \"y\": 2\n    }\n  ]\n}"},
		{"append creates the array", Append, "{\n  \"a\": 1\n}", "p|l", `"b"`, "{\n  \"a\": 1,\n  \"p\": {\n    \"l\": [\n      \"b\"\n    ]\n  }\n}"},
		{"append creates the array on one line", Append, `{"a":1}`, "p|l", `"b"`, `{"a":1,"p":{"l":["b"]}}`},
		{"append creates the file", Append, "", "l", `"b"`, "{\n  \"l\": [\n    \"b\"\n  ]\n}\n"},
		{"append creates an array as the file", Append, "", "", `"b"`, "[\n  \"b\"\n]\n"},
		{"append to an empty root", Append, "[]", "", `"b"`, "[\n  \"b\"\n]"},
		{"remove from lines", Remove, "{\n  \"l\": [\n    \"a\", // x\n    \"b\" // y\n  ]\n}", "l", "b", "{\n  \"l\": [\n    \"a\" // x\n  ]\n}"},
		{"remove all equal ones", Remove, `["b", "a", "\u0062", 1, "b"]`, "", "b", `["a", 1]`},
		{"remove the last one", Remove, "{\n  \"l\": [\n    \"b\"\n  ]\n}", "l", "b", "{\n  \"l\": []\n}"},
		{"remove only strings", Remove, `[true, "true"]`, "", "true", `[true]`},
		{"remove nothing", Remove, `{"l": [ "a" ]}`, "l", "b", `{"l": [ "a" ]}`},
		{"remove from a missing array", Remove, `{"l": []}`, "m|n", "b", `{"l": []}`},
		{"remove from an empty file", Remove, "", "m|n", "b", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got, err := c.edit([]byte(c.src), JSONC, keys(c.path), c.value)
			if err != nil || string(got) != c.want {
				t.Fatalf("%v\ngot:\n%q\nwant:\n%q", err, got, c.want)
			}
		})
	}
}

func TestRefusedEdits(t *testing.T) {
	t.Parallel()
	set := func(src string, o Options, path, raw string) error {
		_, err := Set([]byte(src), o, keys(path), raw)
		return err
	}
	src := `{"s": "secret-text", "l": [1], "n": null, "o": {}}`
	for name, err := range map[string]error{
		"is of type string, not object":  set(src, Strict, "s|x", "1"),
		"is of type array, not object":   set(src, Strict, "l|x", "1"),
		"is of type null, not object":    set(src, Strict, "n|x|y", "1"),
		"the new value is not strict":    set(src, JSONC, "o|x", "[1,]"),
		"the new value is not strict ":   set(src, JSONC, "o|x", "1 // x"),
		"the new value is not strict  ":  set(src, JSONC, "o|x", ""),
		"a trailing comma is not":        set(`{"a": 1,}`, Strict, "a", "2"),
		"a trailing comma is not ":       set(`{"a": 1,}`, Options{Lenient: true}, "a", "2"),
		"found the end of the file":      set(`{"a": 1`, Options{Lenient: true}, "a", "2"),
		"comments are not allowed":       set("// only a comment", Strict, "a", "2"),
		"the file holds no value":        set("// only a comment", JSONC, "a", "2"),
		"a byte order mark is not":       set("\ufeff", Strict, "a", "2"),
		"invalid UTF-8":                  set("{\"a\": \"\xff\"}", Strict, "a", "2"),
		"nested more than 500":           set("", Strict, strings.Repeat("a|", 600)+"a", "2"),
		"is of type object, not array":   second(Append([]byte(src), Strict, []string{"o"}, "1")),
		"is of type null, not array":     second(Append([]byte(src), Strict, []string{"n"}, "1")),
		"is of type string, not array":   second(Remove([]byte(src), Strict, []string{"s"}, "1")),
		"is of type string, not object ": second(Delete([]byte(src), Strict, []string{"s", "x"})),
		"is of type array, not object ":  second(Delete([]byte(`[1]`), Strict, []string{"x"})),
		"the root is of type array":      second(Delete([]byte(`[1]`), Strict, []string{"x", "y"})),
		"the root cannot be deleted":     second(Delete([]byte(src), Strict, nil)),
		"more than 200":                  second(Remove([]byte("["+strings.Repeat(`"x",`, 201)+"1]"), Strict, nil, "x")),
	} {
		if err == nil || !strings.Contains(err.Error(), strings.TrimSpace(name)) || strings.Contains(err.Error(), "secret-text") {
			t.Errorf("%s: %v", name, err)
		}
	}
	var syntax *SyntaxError
	if err := set(`{"a": 1,}`, Strict, "a", "2"); !errors.As(err, &syntax) || syntax.Line != 1 || syntax.Column != 8 {
		t.Errorf("no place in %v", err)
	}
}

func second(_ []byte, err error) error { return err }

func TestQuote(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                             `""`,
		"a\"b\\c/":                     `"a\"b\\c/"`,
		"\b\f\n\r\t\x00\x1b\x7f":       "\"\\b\\f\\n\\r\\t\\u0000\\u001b\x7f\"",
		"<b> & 'é' 😀 \u2028\u2029\xff": "\"<b> & 'é' 😀 \u2028\u2029\ufffd\"",
	} {
		if got := Quote(text); got != want {
			t.Errorf("%q: %s", text, got)
		}
	}
}
