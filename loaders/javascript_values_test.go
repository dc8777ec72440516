package loaders

import (
	"slices"
	"testing"

	"fusebox/loaders/jsonc"
)

func TestShellWords(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		line string
		want []string
		bad  bool
	}{
		{line: "run  a\tb", want: []string{"run", "a", "b"}},
		{line: `'a b' "c \"d\" $X" e\ f ""`, want: []string{"a b", `c "d" $X`, "e f", ""}},
		{line: `"a\b" x#y`, want: []string{`a\b`, "x#y"}},
		{line: "  "},
		{line: "a | b", bad: true}, {line: "a > b", bad: true}, {line: "a *", bad: true}, {line: "a # b", bad: true}, {line: "a; b", bad: true},
		{line: `a '|' "*"`, want: []string{"a", "|", "*"}},
	} {
		got, ok := shellWords(c.line)
		if ok == c.bad || !c.bad && !slices.Equal(got, c.want) {
			t.Errorf("%q gives %q, %t", c.line, got, ok)
		}
	}
}

func TestTruthy(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{`true`: true, `false`: false, `null`: false, `0`: false, `-0.0e7`: false, `1e-9`: true, `""`: false, `"x"`: true, `[]`: true, `{}`: true, `"$E"`: false} {
		doc, err := jsonc.Parse([]byte(text), jsonc.Strict)
		if err != nil {
			t.Fatal(err)
		}
		fill := func(s string) string {
			if s == "$E" {
				return ""
			}
			return s
		}
		if got := truthy(doc.Root(), fill); got != want {
			t.Errorf("%s is %t", text, got)
		}
	}
	if truthy(jsonc.Value{}, same) {
		t.Error("what is not there is true")
	}
}

func TestArgumentText(t *testing.T) {
	t.Parallel()
	doc, err := jsonc.Parse([]byte(`["a", 5, null, true, {"a": 1}, [1, null, ["b"]]]`), jsonc.Strict)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range doc.Root().Elements() {
		got = append(got, argumentText(e))
	}
	if want := []string{"a", "5", "null", "true", "[object Object]", "1,,b"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestParseDotenv(t *testing.T) {
	t.Parallel()
	got := parseDotenv([]byte("\ufeffA=1\r\nexport B = two words # c\nC='x # y'\nD=\"l1\\nl2\"\n#E=1\nF:\nG: yes\nA=2\nH=`a'b\"c`\nI=\"a\nb\"\nJ=a=b\nK=\n L=x\nbad line\nM='it\\'s'"))
	want := map[string]string{"A": "2", "B": "two words", "C": "x # y", "D": "l1\nl2", "F": "G: yes", "H": `a'b"c`, "I": "a\nb", "J": "a=b", "K": "", "L": "x", "M": `it\'s`}
	for k, v := range want {
		if got[k] != v {
			t.Errorf("%s is %q, want %q", k, got[k], v)
		}
	}
	for k := range got {
		if _, ok := want[k]; !ok {
			t.Errorf("%s should not be set", k)
		}
	}
}

func TestExtensionRuleMatches(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		rule, folder string
		want         bool
	}{
		{"/a/", "/a", true}, {"/a/", "/a/b", false}, {"/a/*", "/a", true}, {"/a/*", "/a/b/c", true}, {"/a/*", "/ab", false},
		{"/*", "/x/y", true}, {"/a*/", "/abc", true}, {"/a.b/*", "/axb", false}, {"/a", "/a", false},
	} {
		if got := extensionRuleMatches(c.rule, slashedPath(c.folder)); got != c.want {
			t.Errorf("%s on %s gives %t", c.rule, c.folder, got)
		}
	}
}
