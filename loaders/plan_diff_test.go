package loaders

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"fusebox/loaders/jsonc"
	"fusebox/model"
)

var (
	jsonFormat = Format{JSON: jsonc.Options{Comments: true, TrailingCommas: true, BOM: true, ReplaceInvalidUTF8: true}}
	tomlFormat = Format{TOML: true}
)

// TestLineChanges applies what was found to the old lines and looks whether the new ones come out.
func TestLineChanges(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	text := func(letters int) []string {
		out := make([]string, random.IntN(14))
		for i := range out {
			out[i] = string(rune('a' + random.IntN(letters)))
		}
		return out
	}
	for range 20_000 {
		letters := 1 + random.IntN(4)
		a, b := text(letters), text(letters)
		var got []string
		at := 0
		last := change{-1, -1, -1, -1}
		for _, c := range lineChanges(a, b) {
			if c.oldFrom < at || c.oldFrom == c.oldTo && c.newFrom == c.newTo || c.oldFrom == last.oldTo && c.newFrom == last.newTo {
				t.Fatalf("%v to %v: change %+v behind %+v", a, b, c, last)
			}
			got = append(append(got, a[at:c.oldFrom]...), b[c.newFrom:c.newTo]...)
			at, last = c.oldTo, c
		}
		if got = append(got, a[at:]...); !slices.Equal(got, b) {
			t.Fatalf("%v to %v gives %v", a, b, got)
		}
	}
}

func TestDiff(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		before, after string
		format        Format
		want, count   string
	}{
		"inserted": {"a = 1\nb = 2\nc = 3\nd = 4\n", "a = 1\nb = 2\nnew = true\nc = 3\nd = 4\n", tomlFormat,
			"1   a = 1|2   b = 2|3 + new = true|4   c = 3|5   d = 4", "1 line added"},
		"changed": {"a = 1\nb = false\nc = 3\n", "a = 1\nb = true\nc = 3\n", tomlFormat,
			"1   a = 1|2 - b = false|2 + b = true|3   c = 3", "1 line changed"},
		"removed":   {"a = 1\nb = 2\n", "a = 1\n", tomlFormat, "1   a = 1|2 - b = 2", "1 line removed"},
		"made":      {"", "{\n  \"x\": true\n}\n", jsonFormat, "1 + {|2 +   \"x\": true|3 + }", "3 lines added"},
		"line ends": {"{\r\n  \"x\": true\r\n}\r\n", "{\r\n  \"x\": false\r\n}\r\n", jsonFormat, "1   {|2 -   \"x\": true|2 +   \"x\": false|3   }", "1 line changed"},
		"no end":    {"{\"x\": true}", "{\"x\": false}", jsonFormat, "1 - {\"x\": true}|1 + {\"x\": false}", "1 line changed"},
		"mark":      {"\ufeff{\"x\": true}\n", "\ufeff{\"x\": false}\n", jsonFormat, "1 - {\"x\": true}|1 + {\"x\": false}", "1 line changed"},
		"tabs":      {"{\n\t\"x\": 1\n}\n", "{\n\t\"x\": 2\n}\n", jsonFormat, "1   {|2 -     \"x\": 1|2 +     \"x\": 2|3   }", "1 line changed"},
		"two parts": {"a = 1\nb = 1\nc = 1\nd = 1\ne = 1\nf = 1\ng = 1\n", "a = 2\nb = 1\nc = 1\nd = 1\ne = 1\nf = 1\ng = 2\n", tomlFormat,
			"1 - a = 1|1 + a = 2|2   b = 1|3   c = 1|0   …|5   e = 1|6   f = 1|7 - g = 1|7 + g = 2", "2 lines changed"},
		"near": {"a = 1\nb = 1\nc = 1\nd = 1\n", "a = 2\nb = 1\nc = 1\nd = 2\n", tomlFormat,
			"1 - a = 1|1 + a = 2|2   b = 1|3   c = 1|4 - d = 1|4 + d = 2", "2 lines changed"},
		"both": {"[\n  \"a\"\n]\n", "[\n  \"a\",\n  \"b\"\n]\n", jsonFormat, "1   [|2 -   \"a\"|2 +   \"a\",|3 +   \"b\"|4   ]", "1 line added, 1 changed"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := Diff("/f", []byte(test.before), []byte(test.after), test.format)
			var got []string
			for _, l := range d.Lines {
				got = append(got, fmt.Sprintf("%d %c %s", l.Number, l.Sign, l.Text))
			}
			if strings.Join(got, "|") != test.want {
				t.Errorf("got  %s\nwant %s", strings.Join(got, "|"), test.want)
			}
			if d.CountLines() != test.count {
				t.Errorf("counted %q, want %q", d.CountLines(), test.count)
			}
			if strings.Count(d.Unified(), "\n+")-1 != d.Added || strings.Count(d.Unified(), "\n-") != d.Removed {
				t.Errorf("unified: %s", d.Unified())
			}
		})
	}
}

func TestUnified(t *testing.T) {
	t.Parallel()
	d := Diff("/home/u/f.toml", []byte("a = 1\nb = 1\nc = 1\nd = 1\ne = 1\nf = 1\n"), []byte("a = 1\nb = 1\nc = 1\nd = 1\ne = 1\nf = 1\nx = true\n"), tomlFormat)
	const want = "--- /home/u/f.toml\n+++ /home/u/f.toml\n@@ -5,2 +5,3 @@\n e = 1\n f = 1\n+x = true\n"
	if got := d.Unified(); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	d = Diff("/f", nil, []byte("{}\n"), jsonFormat)
	d.Created = true
	if got := d.Unified(); got != "--- /dev/null\n+++ /f\n@@ -0,0 +1,1 @@\n+{}\n" {
		t.Errorf("of a new file: %q", got)
	}
}

// TestDiffOfOneLongLine shows of a file on one line only what changes, and does not hang on many changes.
func TestDiffOfOneLongLine(t *testing.T) {
	t.Parallel()
	line := func(on string) []byte {
		return []byte(`{"a": "` + strings.Repeat("x ", 50_000) + `", "enabled": ` + on + `, "b": "` + strings.Repeat("y ", 50_000) + `"}`)
	}
	d := Diff("/f", line("true"), line("false"), jsonFormat)
	if len(d.Lines) != 2 {
		t.Fatalf("%d lines", len(d.Lines))
	}
	for i, want := range []string{`"enabled": true`, `"enabled": false`} {
		if got := d.Lines[i].Text; !strings.Contains(got, want) || len(got) > 400 {
			t.Errorf("%q", got)
		}
	}
	var many, other strings.Builder
	for i := range 5000 {
		fmt.Fprintf(&many, "k%d = %d\n", i, i)
		fmt.Fprintf(&other, "k%d = %d\n", i, i+1)
	}
	if d := Diff("/f", []byte(many.String()), []byte(other.String()), tomlFormat); d.Added != 5000 || d.Removed != 5000 {
		t.Errorf("+%d -%d", d.Added, d.Removed)
	}
}

const jsonWithSecrets = `// GITHUB_TOKEN=CANARY-01-comment
{
  /* "api_key": "CANARY-02-comment" */
  "mcpServers": {
    "a": {
      "command": "npx", "args": ["-y", "--access-token=CANARY-03-arg", "--api-key", "CANARY-04-arg", "plain-argument"],
      "env": {"PORT": "CANARY-05", "X": "CAN06", "DB": "postgres://u:CANARY-07@host/db"},
      "headers": {"X-Anything": "CANARY-08-header"},
      "url": "https://user:CANARY-09@host.example/v1/CANARY-10/mcp?key=CANARY-11#CANARY-12",
      "password": "CANARY-13",
      "pin_token": 1234567890123,
      "nested": {"Authorization": "Bearer CANARY-14", "note": "again CANARY-08-header here"}
    }
  },
  "oauth": {"client": "CANARY-15"},
  "tokens": ["CANARY-16", {"deep": "visible-value"}],
  "enabledMcpjsonServers": ["docs"],
  "hasTrustDialogAccepted": true,
  "/home/u/my-secret-project": "TRUST_FOLDER"
}
`

const tomlWithSecrets = `# api_key = "CANARY-01-comment"
[mcp_servers.a]
command = "npx" # token: CANARY-02-comment
args = [
  "-y", "--token", # which
  "CANARY-03-arg",
]
url = "https://u:CANARY-04@host/x?k=CANARY-05"
bearer_token = 'CANARY-06'
env = { PORT = "CANARY-07", "A B" = """
CANARY-08-first
CANARY-09-second""" }
pin_token = 1234567890123
[mcp_servers.a.http_headers]
"X-Any" = "CANARY-10"
x.y = ["CANARY-11"]
[mcp_servers.b]
command = "npx server --password CANARY-12"
# args = ["-y", "--token", "CANARY-13-list"]
# npx server --api-key CANARY-14-words --verbose, or --client-secret=CANARY-15
# env = { FOO = "CANARY-16 a", 'BAR' = 'CANARY-17', N = CANARY-18 }, headers = {"X-Any": "CANARY-19
[projects."/home/u/secret"]
trust_level = "trusted"
[profiles.x]
prompt = """
plain CANARY-10 again
"""
`

// TestDiffsShowNoSecrets shows whole files as new ones: no secret value is on a line, and what is no secret is.
func TestDiffsShowNoSecrets(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		text   string
		format Format
		shown  []string
	}{
		"json": {jsonWithSecrets, jsonFormat, []string{`"command": "npx"`, `"plain-argument"`, `"--access-token=••••••"`, "https://••••••@host.example/v1/••••••/mcp?••••••",
			`"PORT": "••••••"`, `"visible-value"`, `"docs"`, `"hasTrustDialogAccepted": true`, `"/home/u/my-secret-project": "TRUST_FOLDER"`}},
		"toml":        {tomlWithSecrets, tomlFormat, []string{`command = "npx"`, `"--token"`, `PORT = "••••••"`, "# which", "--verbose", "# env = { FOO = ", "https://••••••@host", `trust_level = "trusted"`, "plain"}},
		"broken json": {strings.Replace(jsonWithSecrets, "{", "[", 1), jsonFormat, nil},
		"broken toml": {tomlWithSecrets + "[[[", tomlFormat, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := Diff("/f", nil, []byte(test.text), test.format)
			all := d.Unified()
			for _, secret := range []string{"CANARY", "CAN06", "1234567890123"} {
				if i := strings.Index(all, secret); i >= 0 {
					t.Errorf("it shows %q:\n%s", secret, all)
				}
			}
			for _, want := range test.shown {
				if !strings.Contains(all, want) {
					t.Errorf("it does not show %q:\n%s", want, all)
				}
			}
			if n := strings.Count(test.text, "\n"); d.Added < n || d.Added > n+1 {
				t.Errorf("%d lines of %d", d.Added, n)
			}
		})
	}
}

// TestHideValues: flags stay, what stands behind them in a comment does not.
func TestHideValues(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"    enabled: true  # since token=abc": "    enabled: true (a comment)",
		"enabled: OFF":                         "enabled: OFF",
		"enabled: 0":                           "enabled: 0",
		"enabled: 01":                          "enabled: " + model.Dots,
		`"disabled": false, // why`:            `"disabled": false (a comment)`,
		"x: # ext":                             "x: (a comment)",
		"x: y # on":                            "x: " + model.Dots,
		"a: true b":                            "a: " + model.Dots,
		`"env": {`:                             `"env": {`,
	} {
		if got := hideValues(line); got != want {
			t.Errorf("%q: %q, want %q", line, got, want)
		}
	}
}
