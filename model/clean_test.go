package model_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"

	"fusebox/model"
)

func TestClean(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"":                                  "",
		"plain text, ~ and all":             "plain text, ~ and all",
		"Grüße, 日本, café":                   "Grüße, 日本, café",
		"one\ntwo\r\nthree\tfour":           "one two  three four",
		"line\u2028sep\u2029par\u0085nel":   "line sep par nel",
		"\x1b[31mred\x1b[0m":                "\ufffd[31mred\ufffd[0m",
		"\x1b]52;c;AAAA\x07":                "\ufffd]52;c;AAAA\ufffd",
		"bell\a back\b del\x7f nul\x00":     "bell\ufffd back\ufffd del\ufffd nul\ufffd",
		"c1 \u009b31m":                      "c1 \ufffd31m",
		"rtl \u202eexe.txt\u202c":           "rtl \ufffdexe.txt\ufffd",
		"isolate \u2066x\u2069 \u061c":      "isolate \ufffdx\ufffd \ufffd",
		"zero\u200bwidth\u200d\ufeff\u2060": "zero\ufffdwidth\ufffd\ufffd\ufffd",
		"soft\u00adhyphen":                  "soft\ufffdhyphen",
		"blank \u00a0\u2003\u3000\u2800\u3164\u115f\uffa0": "blank " + strings.Repeat("\ufffd", 7),
		"tag \U000e0041\U000e007f":                         "tag \ufffd\ufffd",
		"variation \ufe0f":                                 "variation \ufffd",
		"private \ue000":                                   "private \ufffd",
		"bad \xff\xfe utf-8":                               "bad \ufffd\ufffd utf-8",
		"cut \xe2\x82":                                     "cut \ufffd\ufffd",
		"enclosing \u20dd":                                 "enclosing \ufffd",
	} {
		got := model.Clean(in)
		if got != want {
			t.Errorf("Clean(%q) = %q, want %q", in, got, want)
		}
		if again := model.Clean(got); again != got {
			t.Errorf("Clean(%q) = %q: cleaning twice is not the same", got, again)
		}
	}
}

// TestCleanLeavesNothingThatMoves goes through all runes of the planes in use, and some of the others: what is left is one line of valid text that a terminal does not
// take for a command.
func TestCleanLeavesNothingThatMoves(t *testing.T) {
	t.Parallel()
	for r := rune(0); r <= 0x10ffff; r++ {
		if r > 0x1ffff && r < 0xe0000 || r > 0xe1000 {
			r += 0xfd // nothing is assigned here but Han and private characters
		}
		s := model.Clean("a" + string(r) + "b")
		if !utf8.ValidString(s) || strings.ContainsAny(s, "\n\r\t\x1b\x00\x7f") || ansi.Strip(s) != s {
			t.Fatalf("%U is left as %q", r, s)
		}
		if width := ansi.StringWidth(s); width < 2 {
			t.Fatalf("%U is left as %q, %d cells wide", r, s, width)
		}
	}
}

func FuzzClean(f *testing.F) {
	for _, s := range []string{"", "plain", "\x1b[2J", "\u202e", "\xff", "a\nb"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got := model.Clean(s)
		if !utf8.ValidString(got) || strings.ContainsAny(got, "\n\r\t\x1b\x00\x7f") {
			t.Errorf("Clean(%q) = %q", s, got)
		}
		if model.Clean(got) != got {
			t.Errorf("cleaning %q twice is not the same", s)
		}
	})
}

func TestTilde(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ path, home, want string }{
		{"/home/ann/x", "/home/ann", "~/x"},
		{"/home/ann", "/home/ann", "~"},
		{"/home/anna/x", "/home/ann", "/home/anna/x"},
		{"/etc/x", "/home/ann", "/etc/x"},
		{"/x", "", "/x"},
		{"/x", "/", "/x"},
		{`C:\Users\ann\x`, `C:\Users\ann`, `~\x`},
		{"$NAME", "/home/ann", "$NAME"},
		{"", "/home/ann", ""},
	} {
		if got := model.Tilde(test.path, test.home); got != test.want {
			t.Errorf("Tilde(%q, %q) = %q, want %q", test.path, test.home, got, test.want)
		}
	}
}
