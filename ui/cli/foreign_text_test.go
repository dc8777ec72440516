package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"fusebox/model"
)

// foreignTexts are texts from files that would move the cursor, colour the screen, break a line or turn text round.
var foreignTexts = []string{
	"a\x1b[31mb", "\x1b]0;title\x07", "\x1b]52;c;QUJD\x1b\\", "a\nb", "a\r\nb\tc", "a\u202eb\u2066c", "a\u200bb\ufeff", "\x9b31m", "a\u009bb", "\xff\xfe", "", "  ",
	"a\u2028b\u2029c", "\x00\x07\x08\x7f", "\U000e0041", "|a|b|", "`a`", "<b>&amp;</b>", "[x](javascript:1)", strings.Repeat("n", 1<<16),
}

// foreignSnapshot has one text at every place that comes from files.
func foreignSnapshot(text string) *model.Snapshot {
	at := model.Location{Path: "/p/" + text, Key: "k." + text, Line: 3}
	reason := model.Reason{Code: model.ReasonEntryInvalid, Text: "because of " + text, DecidedBy: at}
	entry := model.Entry{Name: text, Scope: model.ScopeUser, Source: at, Findings: []model.Finding{{Code: model.FindingUnknownKey, Severity: model.Warning, Text: text, Line: 1}},
		Definition: &model.Definition{Transport: model.TransportStdio, Command: text, Args: model.Secrets([]string{text}), Env: []model.Variable{{Name: text, Value: model.NewSecret("v")}}, Cwd: text}}
	bad := &model.Cell{Harness: "one", Entry: entry, Decision: model.DecisionCannot, Reason: reason, Replaces: []model.Replaced{{Scope: model.ScopeUser, Source: at}},
		Pending: []model.Pending{{Entry: entry, State: model.StateUnapproved, Reason: reason}}, Tools: &model.ToolList{Names: []string{text}, ShownAs: []string{text}},
		Observation: &model.Observation{Protocol: text, Reason: reason}}
	good := &model.Cell{Harness: "two", Entry: entry, Decision: model.DecisionLoads}
	column := func(id model.HarnessID, c *model.Cell) *model.Column {
		return &model.Column{Harness: model.Harness{ID: id, Title: "One"}, Cells: []*model.Cell{c}, Present: true,
			Files: []model.File{{Path: "/p/" + text, Scope: model.ScopeUser, Status: model.FileMalformed, Note: "1:2: " + text}}, Notes: []model.Note{{Code: "a-note", Text: text, Path: "/p/" + text}},
			Broken: &model.Problem{Location: at, Text: text}, Sessions: []model.Session{{PID: 1, Cwd: "/p/" + text}}}
	}
	return model.NewSnapshot(1, "/p/"+text, "/h", time.Unix(1e9, 0), []*model.Column{column("one", bad), column("two", good)})
}

// TestForeignTextIsHarmless looks for what a terminal would obey.
func TestForeignTextIsHarmless(t *testing.T) {
	t.Parallel()
	for _, text := range foreignTexts {
		s := foreignSnapshot(text)
		for _, indent := range []string{"", "  "} {
			var b bytes.Buffer
			if err := writeJSON(&b, newDocument(s, nil), indent); err != nil {
				t.Fatal(err)
			}
			checkHarmless(t, fmt.Sprintf("JSON with %.20q", text), b.String())
			if lines := strings.Count(b.String(), "\n"); indent == "" && lines != 1 {
				t.Errorf("JSON with %.20q has %d lines", text, lines)
			}
			var back document
			if err := json.Unmarshal(b.Bytes(), &back); err != nil {
				t.Fatalf("JSON with %.20q: %v", text, err)
			}
			if want := strings.ToValidUTF8(text, "\ufffd"); utf8.ValidString(text) && back.Servers[0].Name != want {
				t.Errorf("the name %.40q comes back as %.40q", text, back.Servers[0].Name)
			}
		}
		var b bytes.Buffer
		if err := writeTable(&b, s, nil); err != nil {
			t.Fatal(err)
		}
		checkHarmless(t, fmt.Sprintf("the table with %.20q", text), b.String())
		if lines := strings.Count(b.String(), "\n"); lines != 5 {
			t.Errorf("the table with %.20q has %d lines:\n%.2000s", text, lines, b.String())
		}
	}
}

func checkHarmless(t *testing.T, what, text string) {
	t.Helper()
	for _, line := range strings.Split(text, "\n") {
		if clean := model.Clean(line); clean != line {
			for i, r := range line {
				if !strings.HasPrefix(clean[min(i, len(clean)):], string(r)) {
					t.Errorf("%s holds %U: %.80q", what, r, line[max(0, i-20):])
					return
				}
			}
			t.Errorf("%s is not clean", what)
			return
		}
	}
}

// TestNamesInTheTable: a name of any length leaves the other columns where they are.
func TestNamesInTheTable(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{"github": "github", "": `""`, "  ": `"  "`, "a\nb": "a b", strings.Repeat("n", 60): strings.Repeat("n", 60),
		strings.Repeat("é", 1<<20): strings.Repeat("é", 59) + "…"} {
		if got := tableName(name); got != want {
			t.Errorf("%.80q is shown as %.80q, want %.80q", name, got, want)
		}
	}
	var b bytes.Buffer
	if err := writeTable(&b, foreignSnapshot(strings.Repeat("n", 60)), nil); err != nil {
		t.Fatal(err)
	}
	if longest := len(strings.Repeat("n", 60)); !strings.HasPrefix(strings.Split(b.String(), "\n")[1][longest:], "  one") {
		t.Errorf("the second column does not follow the first:\n%s", b.String())
	}
}
