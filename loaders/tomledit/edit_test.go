package tomledit

import (
	"strings"
	"testing"
)

func crlf(s string) string { return strings.ReplaceAll(s, "\n", "\r\n") }

func keys(path string) []string {
	if path == "" {
		return nil
	}
	return strings.Split(path, "|")
}

func TestSet(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, src, path, raw, want string }{
		{"replace, comment kept", "[mcp_servers.x]\nenabled = true  # why\n", "mcp_servers|x|enabled", "false", "[mcp_servers.x]\nenabled = false  # why\n"},
		{"absent, a sub-table with such a key follows", "[mcp_servers.x]\n[mcp_servers.x.env]\nenabled = \"e\"\n", "mcp_servers|x|enabled", "false",
			"[mcp_servers.x]\nenabled = false\n[mcp_servers.x.env]\nenabled = \"e\"\n"},
		{"behind the last key", "[mcp_servers.x]\ncommand = \"c\" # c\n\n# about y\n[mcp_servers.y]\n", "mcp_servers|x|enabled", "false",
			"[mcp_servers.x]\ncommand = \"c\" # c\nenabled = false\n\n# about y\n[mcp_servers.y]\n"},
		{"CRLF", crlf("[mcp_servers.x]\ncommand = \"c\"\n[y]\n"), "mcp_servers|x|enabled", "false", crlf("[mcp_servers.x]\ncommand = \"c\"\nenabled = false\n[y]\n")},
		{"blanks and quotes in the header", "[ mcp_servers . 'x' ]\na = 1\n", "mcp_servers|x|enabled", "false", "[ mcp_servers . 'x' ]\na = 1\nenabled = false\n"},
		{"a dot in the name", "[mcp_servers.\"x.y\"]\na = 1\n[mcp_servers.x]\nb = 1\n", "mcp_servers|x.y|enabled", "false",
			"[mcp_servers.\"x.y\"]\na = 1\nenabled = false\n[mcp_servers.x]\nb = 1\n"},
		{"array of tables behind", "[mcp_servers.x]\na = 1\n[[hooks]]\nb = 1\n", "mcp_servers|x|enabled", "false",
			"[mcp_servers.x]\na = 1\nenabled = false\n[[hooks]]\nb = 1\n"},
		{"header on the last line", "[mcp_servers.x]", "mcp_servers|x|enabled", "false", "[mcp_servers.x]\nenabled = false"},
		{"key on the last line", "[mcp_servers.x]\na = 1 # c", "mcp_servers|x|enabled", "false", "[mcp_servers.x]\na = 1 # c\nenabled = false"},
		{"fake header in a string", "[a]\ns = \"\"\"\n[mcp_servers.x]\nenabled = true\n\"\"\"\n[mcp_servers.x]\nenabled = true\n", "mcp_servers|x|enabled", "false",
			"[a]\ns = \"\"\"\n[mcp_servers.x]\nenabled = true\n\"\"\"\n[mcp_servers.x]\nenabled = false\n"},
		{"inline in inline", "mcp_servers = { x = { enabled = true } } # c", "mcp_servers|x|enabled", "false", "mcp_servers = { x = { enabled = false } } # c"},
		{"inline without the key", "[mcp_servers]\nx = { command = \"c\" }\n", "mcp_servers|x|enabled", "false", "[mcp_servers]\nx = { command = \"c\", enabled = false }\n"},
		{"inline, tight", "[mcp_servers]\nx = {a=1,b=2}\n", "mcp_servers|x|enabled", "false", "[mcp_servers]\nx = {a=1,b=2,enabled = false}\n"},
		{"inline, empty", "[mcp_servers]\nx = {}\n", "mcp_servers|x|enabled", "false", "[mcp_servers]\nx = { enabled = false }\n"},
		{"inline, deeper", "[mcp_servers]\nx = { a = 1 }\n", "mcp_servers|x|env|A", `"b"`, "[mcp_servers]\nx = { a = 1, env.A = \"b\" }\n"},
		{"inline, dotted inside", "[mcp_servers]\nx = { env.A = 1 }\n", "mcp_servers|x|env|B", "2", "[mcp_servers]\nx = { env.A = 1, env.B = 2 }\n"},
		{"inline over lines with a trailing comma", "x = {\n    a = 1, # c\n}\n", "x|b", "2", "x = {\n    a = 1, # c\n    b = 2,\n}\n"},
		{"dotted under a header", "[mcp_servers]\nx.command = \"c\"\nx.args = [\n  \"a\", # ]\n]\ny.command = \"d\"\n", "mcp_servers|x|enabled", "false",
			"[mcp_servers]\nx.command = \"c\"\nx.args = [\n  \"a\", # ]\n]\nx.enabled = false\ny.command = \"d\"\n"},
		{"dotted from the root", "mcp_servers . 'x'.command=\"c\"\n\n[other]\n", "mcp_servers|x|enabled", "false",
			"mcp_servers . 'x'.command=\"c\"\nmcp_servers . 'x'.enabled=false\n\n[other]\n"},
		{"dotted from the root, another server", "mcp_servers.x.command = \"c\"\n", "mcp_servers|y|enabled", "false", "mcp_servers.x.command = \"c\"\nmcp_servers.y.enabled = false\n"},
		{"only a sub-table", "a = 1\n\n# env of x\n[mcp_servers.x.env]\nA = \"b\"\n", "mcp_servers|x|enabled", "false",
			"a = 1\n\n[mcp_servers.x]\nenabled = false\n\n# env of x\n[mcp_servers.x.env]\nA = \"b\"\n"},
		{"only a sub-table, right behind a key", "a = 1\n  [mcp_servers.x.env]\n", "mcp_servers|x|enabled", "false",
			"a = 1\n\n  [mcp_servers.x]\n  enabled = false\n\n  [mcp_servers.x.env]\n"},
		{"only a sub-table, first", "\ufeff[mcp_servers.x.env]\r\nA = 1\r\n", "mcp_servers|x|enabled", "false",
			"\ufeff[mcp_servers.x]\r\nenabled = false\r\n\r\n[mcp_servers.x.env]\r\nA = 1\r\n"},
		{"a new server", "[mcp_servers.a]\nx = 1\n\n[mcp_servers.b]\ny = 1 # y\n# rest of b\n\n[other]\n", "mcp_servers|c d|enabled", "false",
			"[mcp_servers.a]\nx = 1\n\n[mcp_servers.b]\ny = 1 # y\n# rest of b\n\n[mcp_servers.\"c d\"]\nenabled = false\n\n[other]\n"},
		{"a new server, comment of the next table", "[mcp_servers.a]\nx = 1\n# other\n[other]\n", "mcp_servers|b|enabled", "false",
			"[mcp_servers.a]\nx = 1\n\n[mcp_servers.b]\nenabled = false\n\n# other\n[other]\n"},
		{"a new server with its definition", "[mcp_servers.a]\nx = 1", "mcp_servers|b", `{command = "c", args = ["x"], env = { A = "1" }}`,
			"[mcp_servers.a]\nx = 1\n\n[mcp_servers.b]\ncommand = \"c\"\nargs = [\"x\"]\nenv = { A = \"1\" }\n"},
		{"a definition among inline ones", "[mcp_servers]\na = { x = 1 }\n", "mcp_servers|b", `{ command = "c" }`, "[mcp_servers]\na = { x = 1 }\nb = { command = \"c\" }\n"},
		{"a table inside a section", "[mcp_servers.a]\nx = 1\n", "mcp_servers|a|env", `{ A = "c" }`, "[mcp_servers.a]\nx = 1\nenv = { A = \"c\" }\n"},
		{"a table inside a section with sections", "[mcp_servers.a]\nx = 1\n[mcp_servers.a.tools]\n", "mcp_servers|a|env", `{ A = "c" }`,
			"[mcp_servers.a]\nx = 1\n[mcp_servers.a.tools]\n\n[mcp_servers.a.env]\nA = \"c\"\n"},
		{"root key behind the others", "a = 1\n# b\n\n[t]\nc = 1\n", "z", "2", "a = 1\nz = 2\n# b\n\n[t]\nc = 1\n"},
		{"root key, only tables", "# file\n\n# t\n[t]\nc = 1\n", "z", "2", "# file\n\nz = 2\n\n# t\n[t]\nc = 1\n"},
		{"root key, only comments", "# file", "z", "2", "# file\nz = 2\n"},
		{"root key that needs quotes", "", "a b\"é", "2", "\"a b\\\"é\" = 2\n"},
		{"missing file", "", "mcp_servers|x|enabled", "false", "[mcp_servers.x]\nenabled = false\n"},
		{"missing file, definition", "", "mcp_servers|x", `{ url = "u" }`, "[mcp_servers.x]\nurl = \"u\"\n"},
		{"byte order mark only", "\ufeff", "a|b", "1", "\ufeff[a]\nb = 1\n"},
		{"white space only", "\r\n", "a|b", "1", "[a]\r\nb = 1\r\n"},
		{"the same value", "a = 0x10 # hex\n", "a", "16", "a = 0x10 # hex\n"},
		{"the same string", "a = '''x'''\n", "a", `"x"`, "a = '''x'''\n"},
		{"over a multi-line string", "a = \"\"\"\nx # no comment\n\"\"\" # c\nb = 1\n", "a", "'y'", "a = 'y' # c\nb = 1\n"},
		{"over an inline table", "a = { x = 1 }\n", "a", "{ y = 2 }", "a = { y = 2 }\n"},
		{"in an element of an array of tables", "[[l]]\nn = 1\n[l.m.o]\n[[l]]\nn = 2\n[l.m.o]\n", "l|0|m|x", "1", "[[l]]\nn = 1\n\n[l.m]\nx = 1\n\n[l.m.o]\n[[l]]\nn = 2\n[l.m.o]\n"},
		{"a section in an element of an array of tables", "[[l]]\nn = 1\n\n[[l]]\nn = 2\n", "l|0|m|x", "1", "[[l]]\nn = 1\n\n[l.m]\nx = 1\n\n[[l]]\nn = 2\n"},
		{"in an element of an array", "a = [{ x = 1 }, { x = 2 }]\n", "a|1|x", "3", "a = [{ x = 1 }, { x = 3 }]\n"},
		{"multi-line value into CRLF", crlf("[a]\nx = 1\n"), "a|y", "[\n  1,\n]", crlf("[a]\nx = 1\ny = [\n  1,\n]\n")},
		{"multi-line string into CRLF", crlf("[a]\nx = 1\n"), "a|y", "'''\na\nb'''", crlf("[a]\nx = 1\n") + "y = '''\na\nb'''\r\n"},
		{"dotted table below a header, deeper", "[a]\nb.c = 1\n", "a|b|d|e", "2", "[a]\nb.c = 1\nb.d.e = 2\n"},
		{"dotted into an implied table", "[a.b.c]\n[a]\nb.x = 1\n", "a|b|y", "2", "[a.b.c]\n[a]\nb.x = 1\nb.y = 2\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got, err := Set([]byte(c.src), keys(c.path), c.raw)
			if err != nil || string(got) != c.want {
				t.Fatalf("%v\ngot:\n%q\nwant:\n%q", err, got, c.want)
			}
		})
	}
}

func TestDelete(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, src, path, want string }{
		{"a key", "[x]\n# above\na = 1 # behind\nb = 2\n", "x|a", "[x]\n# above\nb = 2\n"},
		{"the last key without a line end", "[x]\na = 1\nb = 2", "x|b", "[x]\na = 1\n"},
		{"the only key of a header", "[x]\na = 1\n[y]\n", "x|a", "[x]\n[y]\n"},
		{"the only dotted key", "x.a = 1\ny = 2\n", "x|a", "y = 2\n"},
		{"a multi-line value", "a = [\n 1, # ]\n]\nb = \"\"\"\na = 1\n\"\"\"\n", "a", "b = \"\"\"\na = 1\n\"\"\"\n"},
		{"CRLF", crlf("[x]\na = 1\nb = 2\n"), "x|a", crlf("[x]\nb = 2\n")},
		{"inline, first", "x = { a = 1, b = 2 }\n", "x|a", "x = { b = 2 }\n"},
		{"inline, middle", "x = {a=1,b=2,c=3}\n", "x|b", "x = {a=1,c=3}\n"},
		{"inline, last", "x = { a = 1, b = 2 } # c\n", "x|b", "x = { a = 1 } # c\n"},
		{"inline, only", "x = { a = 1 }\n", "x|a", "x = {}\n"},
		{"inline, dotted", "x = { a.b = 1, c = 2, a.d = 3 }\n", "x|a", "x = { c = 2 }\n"},
		{"inline over lines", "x = {\n  a = 1, # a\n  b = 2 # b\n}\n", "x|b", "x = {\n  a = 1 # a\n}\n"},
		{"a table with sub-tables and dotted keys", "top = 1\n\n[s.a]\nx = 1\n# inside\n[s.a.env]\ny = 1\n\n# about b\n[s.b]\nz = 1\n", "s|a", "top = 1\n\n# about b\n[s.b]\nz = 1\n"},
		{"a table in two places", "[s.a.env]\ny = 1\n[t]\n[s.a]\nx = 1\n", "s|a", "[t]\n"},
		{"the last table", "[s.a]\nx = 1\n\n[s.b]\nz = 1\n", "s|b", "[s.a]\nx = 1\n"},
		{"dotted table under a header", "[s]\na.x = 1\nb.x = 1\na.y = 1\n", "s|a", "[s]\nb.x = 1\n"},
		{"an array of tables", "[[l]]\nx = 1\n[[l]]\n[m]\n", "l", "[m]\n"},
		{"in an element of an array of tables", "[[l]]\nx = 1\n[[l]]\nx = 2\ny = 3\n", "l|1|x", "[[l]]\nx = 1\n[[l]]\ny = 3\n"},
		{"missing", "[x]\na = 1\n", "x|b|c", "[x]\na = 1\n"},
		{"missing file", "", "x", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got, err := Delete([]byte(c.src), keys(c.path))
			if err != nil || string(got) != c.want {
				t.Fatalf("%v\ngot:\n%q\nwant:\n%q", err, got, c.want)
			}
		})
	}
}

func TestAppendAndRemove(t *testing.T) {
	t.Parallel()
	type edit func(src []byte, path []string, value string) ([]byte, error)
	for _, c := range []struct {
		name                   string
		edit                   edit
		src, path, value, want string
	}{
		{"append on one line", Append, "a = ['x'] # c\n", "a", `"y"`, "a = ['x', \"y\"] # c\n"},
		{"append, tight", Append, "a = ['x','z']\n", "a", `"y"`, "a = ['x','z',\"y\"]\n"},
		{"append on lines", Append, crlf("a = [\n\t'x' # ]\n]\n"), "a", `"y"`, crlf("a = [\n\t'x', # ]\n\t\"y\"\n]\n")},
		{"append behind a trailing comma", Append, "a = [\n  'x',\n]\n", "a", `"y"`, "a = [\n  'x',\n  \"y\",\n]\n"},
		{"append to an empty array", Append, "a = []\n", "a", `"y"`, "a = [\"y\"]\n"},
		{"append to an empty array with a comment", Append, "a = [ # none\n]\n", "a", `"y"`, "a = [ # none\n  \"y\"\n]\n"},
		{"append in an inline table", Append, "x = { a = [1] }\n", "x|a", "2", "x = { a = [1, 2] }\n"},
		{"append creates", Append, "[t]\nb = 1\n", "t|a", `"y"`, "[t]\nb = 1\na = [\"y\"]\n"},
		{"append creates the file", Append, "", "t|a", `"y"`, "[t]\na = [\"y\"]\n"},
		{"remove on one line", Remove, "a = ['x', \"y\", '''x''', 1]\n", "a", "x", "a = [\"y\", 1]\n"},
		{"remove on lines", Remove, "a = [\n  'x', # x\n  # about y\n  'y' # y\n]\n", "a", "y", "a = [\n  'x' # x\n  # about y\n]\n"},
		{"remove the only one", Remove, "a = [\n  'x', # x\n]\n", "a", "x", "a = [\n]\n"},
		{"remove the only one without comments", Remove, "a = [\n  'x',\n]\n", "a", "x", "a = []\n"},
		{"remove nothing", Remove, "a = [ 'x' ]\n", "a", "y", "a = [ 'x' ]\n"},
		{"remove from a missing array", Remove, "a = [ 'x' ]\n", "b|c", "y", "a = [ 'x' ]\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got, err := c.edit([]byte(c.src), keys(c.path), c.value)
			if err != nil || string(got) != c.want {
				t.Fatalf("%v\ngot:\n%q\nwant:\n%q", err, got, c.want)
			}
		})
	}
}

func TestRefusedEdits(t *testing.T) {
	t.Parallel()
	src := "s = 'secret-text'\nl = [1]\n[t]\nx = 1\n[[aot]]\nx = 1\n"
	set := func(path, raw string) error { return second(Set([]byte(src), keys(path), raw)) }
	for _, c := range []struct {
		want string
		err  error
	}{
		{"s is not a table", set("s|x", "1")},
		{"l is not a table", set("l|x", "1")},
		{"aot is not a table", set("aot|x", "1")},
		{"t is a table", set("t", "1")},
		{"aot is a table", set("aot", "1")},
		{"the root cannot be replaced", set("", "1")},
		{"is more than one value", set("t|y", "1\nz = 2")},
		{"is more than one value", set("t|y", "1 # c")},
		{"is more than one value", set("t|y", "1\n[u]")},
		{"the new value is not TOML", set("t|y", "word")},
		{"the new value is not TOML", set("t|y", "")},
		{"nested more than 500", set(strings.Repeat("a|", 600)+"a", "1")},
		{"1:5: the value is not valid", second(Set([]byte("a = x"), keys("b"), "1"))},
		{"s is not an array", second(Append([]byte(src), keys("s"), "1"))},
		{"t is not an array", second(Append([]byte(src), keys("t"), "1"))},
		{"aot is an array of tables", second(Append([]byte(src), keys("aot"), "{}"))},
		{"the root is not an array", second(Append([]byte(src), nil, "1"))},
		{"s is not an array", second(Remove([]byte(src), keys("s"), "x"))},
		{"aot is an array of tables", second(Remove([]byte(src), keys("aot"), "x"))},
		{"s is not a table", second(Remove([]byte(src), keys("s|x"), "x"))},
		{"s is not a table", second(Delete([]byte(src), keys("s|x")))},
		{"l.0 is an element of an array", second(Delete([]byte(src), keys("l|0")))},
		{"aot.0 is an element of an array", second(Delete([]byte(src), keys("aot|0")))},
		{"the root cannot be deleted", second(Delete([]byte(src), nil))},
		{"more than 200", second(Remove([]byte("a = ["+strings.Repeat("'x',", 201)+"]"), keys("a"), "x"))},
	} {
		if c.err == nil || !strings.Contains(c.err.Error(), c.want) || strings.Contains(c.err.Error(), "secret-text") {
			t.Errorf("%s: %v", c.want, c.err)
		}
	}
}

func TestQuote(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "a\"b\\c", "\b\t\n\f\r\x00\x1b\x7f", "é😀\u2028", "'''"} {
		for _, src := range []string{"v = " + Quote(text), QuoteKey(text) + " = 1"} {
			d, err := Parse([]byte(src))
			if err != nil {
				t.Fatalf("%q: %v", src, err)
			}
			if _, found := d.Tree()[text]; d.Tree()["v"] != any(text) && !found {
				t.Errorf("%q became %v", text, d.Tree())
			}
		}
	}
	for text, want := range map[string]string{"a-B_1": "a-B_1", "a.b": `"a.b"`, "": `""`, "é": `"é"`} {
		if got := QuoteKey(text); got != want {
			t.Errorf("%q: %s", text, got)
		}
	}
}
