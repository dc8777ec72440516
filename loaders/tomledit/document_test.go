package tomledit

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
)

func TestParseErrors(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, src, want string }{
		{"word", "a = tru\n", "1:5: the value is not valid"},
		{"missing equals sign", "a = 1\n\n\nb 2\n", "4:3: expected '.' or '=', but got '2' instead"},
		{"missing value", "a =\nb = 1", "1:4: the value is not valid"},
		{"text after a value", "é = 1", "1:1: expected '.' or '=', but got 'é' instead"},
		{"two values on a line", "a = 1 b = 2", "1:6: expected a top-level item to end with a newline, comment, or EOF, but got 'b' instead"},
		{"duplicate key", "[x]\na = 1\na = 2\n", "3:1: Key 'x.a' has already been defined."},
		{"duplicate table", "[x]\n[y]\n[x]\n", "3:2: Key 'x' has already been defined."},
		{"header after an inline table", "x = {a = 1}\n[x]\n", "2:2: Key 'x' has already been defined."},
		{"sub-table of an inline table", "x = {a = 1}\n[x.b]\n", "2:2: an inline table or value cannot be extended"},
		{"dotted key into an inline table", "x = {a = 1}\nx.b = 2\n", "2:1: an inline table or value cannot be extended"},
		{"dotted key into an inner inline table", "x = {b = {c = 1}, b.d = 2}\n", "1:19: an inline table or value cannot be extended"},
		{"header for a dotted table", "[a]\nb.c = 1\n[a.b]\n", "3:4: this table is defined already"},
		{"dotted key into a table with a header", "[a.b]\nc = 1\n[a]\nb.d = 2\n", "4:1: a table with a header cannot be extended by a dotted key"},
		{"dotted key into an array of tables", "[[a.b]]\n[a]\nb.d = 2\n", "3:1: a table with a header cannot be extended by a dotted key"},
		{"open string", "[x]\n  a = \"b\nc\"", "2:9: strings cannot contain newlines"},
		{"open multi-line string", "a = \"\"\"b\nc", "2:1: unexpected EOF; expected '\"\"\"'"},
		{"lone CR", "a = 1\rb = 2", "1:6: TOML files cannot contain control characters: '0x0d'"},
		{"control character in a comment", "a = 1 # \x01", "1:9: TOML files cannot contain control characters: '0x01'"},
		{"invalid UTF-8", "é = 1\na = \"\xff\"", "2:6: invalid UTF-8"},
		{"UTF-16", "\xff\xfea\x00", "1:1: invalid UTF-8"},
		{"after a byte order mark", "\ufeffa = x", "1:5: the value is not valid"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			d, err := Parse([]byte(c.src))
			var syntax *SyntaxError
			if d != nil || !errors.As(err, &syntax) || err.Error() != c.want {
				t.Fatalf("got  %v\nwant %s", err, c.want)
			}
		})
	}
}

func TestErrorsDoNotQuoteValues(t *testing.T) {
	t.Parallel()
	for _, src := range []string{
		"a = hunter2secret", "a = \"hunter2secret\\u12\"", "a = 1hunter2secret", "a = 0xhunter2", "a = \"\"\"hunter2\\q\"\"\"",
		"a = 1979-hunter2", "a = \"hunter2", "a = \"hunter2\" \"hunter2\"", "a = ['hunter2' 'hunter2']", "a = \"\"\"\nhunter2\"\"\"\"\"\"",
	} {
		if _, err := Parse([]byte(src)); err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%q: %v", src, err)
		}
	}
	d, err := Parse([]byte("token = 'hunter2'"))
	if err != nil {
		t.Fatal(err)
	}
	for _, format := range []string{"%v", "%+v", "%#v", "%s"} {
		if text := fmt.Sprintf(format, d); strings.Contains(text, "hunter2") {
			t.Errorf("%s: %s", format, text)
		}
	}
}

func TestDepth(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		src  func(n int) string
	}{
		{"arrays", func(n int) string { return "a = " + strings.Repeat("[", n-1) + strings.Repeat("]", n-1) }},
		{"open arrays", func(n int) string { return "a = " + strings.Repeat("[", n-1) }},
		{"inline tables", func(n int) string { return strings.Repeat("a = {", n-1) + "a = 1" + strings.Repeat("}", n-1) }},
		{"dotted key", func(n int) string { return strings.Repeat("a.", n-1) + "a = 1" }},
		{"header", func(n int) string { return "[" + strings.Repeat("a.", n-1) + "a]" }},
		{"header and key", func(n int) string { return "[" + strings.Repeat("a.", n-3) + "a]\nb.c = 1" }},
		{"mixed", func(n int) string {
			return strings.Repeat("a.b = [{", (n-2)/3) + strings.Repeat("c.", (n-2)%3+1) + "d = 1" + strings.Repeat("}]", (n-2)/3)
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if _, err := Parse([]byte(c.src(MaxDepth))); (err != nil) != (c.name == "open arrays") || err != nil && strings.Contains(err.Error(), "nested") {
				t.Errorf("at the limit: %v", err)
			}
			for _, n := range []int{MaxDepth + 1, 20_000} {
				if _, err := Parse([]byte(c.src(n))); err == nil || !strings.Contains(err.Error(), "nested more than 500") {
					t.Errorf("%d levels: %v", n, err)
				}
			}
		})
	}
}

const sample = "\ufeff# top\r\n" +
	"model = \"x\" # a comment with [mcp_servers.fake]\r\n" +
	"top.dotted.'key' = [1, {in = 2}]\r\n" +
	"\r\n" +
	"[mcp_servers.with_env.env]\r\n" +
	"TOKEN = \"\"\"\r\n[mcp_servers.fake]\r\nx = 1\"\"\"\r\n" +
	"[ mcp_servers . \"é.x\" ]\r\n" +
	"command = 'run'\r\n" +
	"\targs = [ # ]\r\n  'a',\r\n  \"]\", ]\r\n" +
	"[mcp_servers.with_env]\r\n" +
	"env2 = { A = 1, b.c = { d = 2 },\r\n  e = 3 }\r\n" +
	"[[hooks]]\r\n" +
	"name = 'first'\r\n" +
	"[[hooks]]\r\n" +
	"[hooks.sub]\r\n" +
	"x = 1"

func TestPositions(t *testing.T) {
	t.Parallel()
	d, err := Parse([]byte(sample))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		path, want string
	}{
		{"", "0 0"},
		{"model", "2 1"},
		{"top", "3 1"},
		{"top|dotted", "3 5"},
		{"top|dotted|key", "3 12"},
		{"top|dotted|key|0", "3 21"},
		{"top|dotted|key|1|in", "3 25"},
		{"mcp_servers", "5 2"},
		{"mcp_servers|with_env", "14 14"},
		{"mcp_servers|with_env|env", "5 23"},
		{"mcp_servers|with_env|env|TOKEN", "6 1"},
		{"mcp_servers|fake", "0 0"},
		{"mcp_servers|é.x", "9 17"},
		{"mcp_servers|é.x|command", "10 1"},
		{"mcp_servers|é.x|args", "11 2"},
		{"mcp_servers|é.x|args|1", "13 3"},
		{"mcp_servers|with_env|env2|A", "15 10"},
		{"mcp_servers|with_env|env2|b", "15 17"},
		{"mcp_servers|with_env|env2|b|c|d", "15 25"},
		{"mcp_servers|with_env|env2|e", "16 3"},
		{"hooks", "17 3"},
		{"hooks|0", "17 3"},
		{"hooks|0|name", "18 1"},
		{"hooks|1", "19 3"},
		{"hooks|1|sub", "20 8"},
		{"hooks|1|sub|x", "21 1"},
		{"hooks|2", "0 0"},
		{"model|x", "0 0"},
	} {
		var path []string
		if c.path != "" {
			path = strings.Split(c.path, "|")
		}
		line, column := d.Position(path...)
		if got := fmt.Sprint(line, column); got != c.want {
			t.Errorf("%s: got %s, want %s", c.path, got, c.want)
		}
		if d.Line(path...) != line || d.Has(path...) != (line > 0 || len(path) == 0) {
			t.Errorf("%s: Line %d, Has %v", c.path, d.Line(path...), d.Has(path...))
		}
	}
	for path, want := range map[string][]string{
		"mcp_servers":                 {"with_env", "é.x"},
		"mcp_servers|with_env":        {"env", "env2"},
		"mcp_servers|with_env|env2":   {"A", "b", "e"},
		"mcp_servers|with_env|env2|b": {"c"},
		"hooks":                       nil,
		"hooks|1":                     {"sub"},
		"model":                       nil,
		"missing":                     nil,
		"top|dotted|key":              nil,
		"top|dotted|key|1":            {"in"},
	} {
		if got := d.Keys(strings.Split(path, "|")...); !reflect.DeepEqual(got, want) {
			t.Errorf("keys of %s: %q", path, got)
		}
	}
	if got := d.Keys(); !reflect.DeepEqual(got, []string{"model", "top", "mcp_servers", "hooks"}) {
		t.Errorf("keys of the root: %q", got)
	}
}

// Line names the header even when a sub-table stands above it, and the sub-table when there is no header.
func TestLineOfImpliedTables(t *testing.T) {
	t.Parallel()
	d, err := Parse([]byte("[s.a.env]\nx = 1\n[s.b]\n[s.b.env]\n"))
	if err != nil {
		t.Fatal(err)
	}
	if a, b, s := d.Line("s", "a"), d.Line("s", "b"), d.Line("s"); a != 1 || b != 3 || s != 1 {
		t.Errorf("lines %d, %d, %d", a, b, s)
	}
}

func TestEmptyFile(t *testing.T) {
	t.Parallel()
	for _, src := range []string{"", "\ufeff", "\r\n# only a comment"} {
		d, err := Parse([]byte(src))
		if err != nil || d.Tree() == nil || len(d.Tree()) != 0 || d.Keys() != nil {
			t.Errorf("%q: %v", src, err)
		}
	}
}
