package tomledit

import "testing"

func TestTables(t *testing.T) {
	t.Parallel()
	const row = `{ root = "/r", name = "n" }`
	path := []string{"mcp", "rows"}
	for name, c := range map[string]struct{ before, with string }{
		"nothing":       {"", "[[mcp.rows]]\nroot = \"/r\"\nname = \"n\"\n"},
		"a comment":     {"# mine\n", "# mine\n\n[[mcp.rows]]\nroot = \"/r\"\nname = \"n\"\n"},
		"the parent":    {"[mcp]\noff = [] # x\n\n[ui]\na = 1\n", "[mcp]\noff = [] # x\n\n[[mcp.rows]]\nroot = \"/r\"\nname = \"n\"\n\n[ui]\na = 1\n"},
		"others":        {"[[mcp.rows]] # one\nname = \"a\"\n[mcp.rows.sub]\nx = 1\n\n# ui\n[ui]\n", "[[mcp.rows]] # one\nname = \"a\"\n[mcp.rows.sub]\nx = 1\n\n[[mcp.rows]]\nroot = \"/r\"\nname = \"n\"\n\n# ui\n[ui]\n"},
		"no line end":   {"[mcp]\na = 1", "[mcp]\na = 1\n\n[[mcp.rows]]\nroot = \"/r\"\nname = \"n\"\n"},
		"CRLF":          {"[mcp]\r\na = 1\r\n", "[mcp]\r\na = 1\r\n\r\n[[mcp.rows]]\r\nroot = \"/r\"\r\nname = \"n\"\r\n"},
		"an inline one": {"mcp = { a = 1 }\n", "mcp = { a = 1, rows = [{ root = \"/r\", name = \"n\" }] }\n"},
		"a value":       {"[mcp]\nrows = [\n  { name = \"a\" }, # x\n]\n", "[mcp]\nrows = [\n  { name = \"a\" }, # x\n  { root = \"/r\", name = \"n\" },\n]\n"},
		"dotted":        {"mcp.a = 1\n", "mcp.a = 1\n\n[[mcp.rows]]\nroot = \"/r\"\nname = \"n\"\n"},
	} {
		got, err := AppendTable([]byte(c.before), path, row)
		if err != nil || string(got) != c.with {
			t.Errorf("%s: %v\ngot  %q\nwant %q", name, err, got, c.with)
			continue
		}
		again, err := AppendTable(got, path, row)
		if err != nil || string(again) != c.with {
			t.Errorf("%s, twice: %v\n%q", name, err, again)
		}
		back, err := RemoveTable(got, path, row)
		if err != nil {
			t.Errorf("%s, back: %v", name, err)
			continue
		}
		was, err1 := Parse([]byte(c.before))
		is, err2 := Parse(back)
		if err1 != nil || err2 != nil {
			t.Fatalf("%s: %v %v", name, err1, err2)
		}
		if name == "an inline one" { // the empty list stays
			continue
		}
		if !equalTrees(was.Tree(), is.Tree()) {
			t.Errorf("%s, back: %q", name, back)
		}
	}
}

func TestRemoveTable(t *testing.T) {
	t.Parallel()
	const file = "a = 1\n\n# first\n[[mcp.rows]]\nname = \"x\" # keep me\n\n# second\n[[mcp.rows]]\nname = \"y\"\n\n[[mcp.rows]]\nname = \"x\"\n\n[ui]\nb = 2\n"
	const want = "a = 1\n\n# first\n\n# second\n[[mcp.rows]]\nname = \"y\"\n\n[ui]\nb = 2\n"
	got, err := RemoveTable([]byte(file), []string{"mcp", "rows"}, `{name = "x"}`)
	if err != nil || string(got) != want {
		t.Errorf("%v\ngot  %q\nwant %q", err, got, want)
	}
	for _, c := range [][2]string{{file, `{name = "z"}`}, {"mcp = 1\n", `{a = 1}`}, {"", `{a = 1}`}} {
		if got, err := RemoveTable([]byte(c[0]), []string{"mcp", "rows"}, c[1]); err != nil || string(got) != c[0] {
			t.Errorf("%q: %v %q", c[0], err, got)
		}
	}
	for _, src := range []string{"mcp = 1\n", "[mcp]\nrows = 5\n", "[mcp.rows]\n", "x ="} {
		if got, err := AppendTable([]byte(src), []string{"mcp", "rows"}, `{a = 1}`); err == nil {
			t.Errorf("%q: no error, %q", src, got)
		}
	}
}
