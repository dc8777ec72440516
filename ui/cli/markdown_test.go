package cli

import (
	"strings"
	"testing"
	"time"

	"fusebox/model"
)

func TestInlineCode(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"plain":    "`plain`",
		"a`b":      "``a`b``",
		"`a`":      "`` `a` ``",
		"a``b`c":   "```a``b`c```",
		"```":      "```` ``` ````",
		"":         "`\"\"`",
		"  ":       "`\"  \"`",
		" a ":      "`  a  `",
		" a":       "` a`",
		"a\\":      "`a\\`",
		"[x](y)":   "`[x](y)`",
		"<b>|</b>": "`<b>|</b>`",
	} {
		if got := inlineCode(text); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}

// withoutCode takes inline code out of a line, by the rule of CommonMark: a run of backticks is closed by the next run of
// the same length; a run that is not closed is text.
func withoutCode(line string) string {
	var b strings.Builder
	for {
		i := strings.IndexByte(line, '`')
		if i < 0 {
			b.WriteString(line)
			return b.String()
		}
		b.WriteString(line[:i])
		fence := len(line[i:]) - len(strings.TrimLeft(line[i:], "`"))
		rest := line[i+fence:]
		end := -1
		for at := 0; at < len(rest); {
			j := strings.IndexByte(rest[at:], '`')
			if j < 0 {
				break
			}
			run := len(rest[at+j:]) - len(strings.TrimLeft(rest[at+j:], "`"))
			if run == fence {
				end = at + j + run
				break
			}
			at += j + run
		}
		if end < 0 {
			b.WriteString(line[i : i+fence])
			line = rest
			continue
		}
		b.WriteString("CODE")
		line = rest[end:]
	}
}

// evil are foreign texts that would do something in Markdown outside of code.
var evil = []string{
	"evil", "`evil`", "``evil", "evil```", "a|evil|b", `\|evil\`, `evil\`, "<b>evil</b>", "[evil](http://evil.example)", "![evil](x)", "# evil",
	"evil\n\n# evil\n", "\n```\nevil\n```\n", "http://evil.example", "evil@evil.example", "@evil #1", "\x1b[31mevil", "evil\u202e", "| --- | evil", "$`evil`$",
	"- evil", "&lt;evil&gt;", "   ", "",
}

// TestReportKeepsForeignTextInCode puts each evil text wherever foreign text can stand: outside of code nothing of it is
// left, and no table is broken.
func TestReportKeepsForeignTextInCode(t *testing.T) {
	t.Parallel()
	for _, text := range evil {
		at := model.Location{Path: "/home/ann/" + text, Key: text, Line: 3}
		make := func(command string) *model.Definition {
			return &model.Definition{Transport: model.TransportStdio, Command: command, Args: model.Secrets([]string{text}),
				Env: []model.Variable{{Name: text}}, Inherit: []string{text}}
		}
		cell := func(id model.HarnessID, d *model.Definition) *model.Cell {
			return &model.Cell{Harness: id, Entry: model.Entry{Name: text, Scope: model.ScopeUser, Source: at, Definition: d,
				Findings: []model.Finding{{Code: model.FindingUnknownKey, Severity: model.Warning, Text: text, Line: 4}}},
				Decision: model.DecisionOff, Reason: model.Reason{Code: model.ReasonSwitchedOff, Text: text, DecidedBy: at},
				Replaces: []model.Replaced{{Scope: model.ScopeUser, Source: at}},
				Pending:  []model.Pending{{Entry: model.Entry{Source: at, Scope: model.ScopeProject}, State: model.StateUnapproved, Reason: model.Reason{Text: text}}}}
		}
		column := func(id model.HarnessID, command string) *model.Column {
			return &model.Column{Harness: model.Harness{ID: id, Title: "Harness", VersionChecked: "1"}, Present: true,
				Files:  []model.File{{Path: at.Path, Scope: model.ScopeUser, Status: model.FileMalformed, Note: text}},
				Notes:  []model.Note{{Code: "note", Text: text, Path: at.Path, Line: 1}},
				Broken: &model.Problem{Location: at, Text: text}, Cells: []*model.Cell{cell(id, make(command))}}
		}
		s := model.NewSnapshot(1, "/home/ann/"+text, "/home/ann", time.Unix(1e9, 0), []*model.Column{column("one", text+"a"), column("two", text+"b")})
		report := newReport(s, nil)
		for _, line := range strings.Split(report, "\n") {
			if rest := withoutCode(line); strings.ContainsAny(rest, "`<>[]\x1b\u202e@$&") || strings.Contains(rest, "evil") {
				t.Errorf("%q stands outside of code: %s", text, line)
			}
			if strings.HasPrefix(line, "|") && strings.Count(line, "|") != 4 {
				t.Errorf("%q breaks the table: %s", text, line)
			}
		}
		if !strings.Contains(report, "evil") && strings.Contains(text, "evil") {
			t.Errorf("%q is not in the report", text)
		}
	}
}

func TestReportOfNothing(t *testing.T) {
	t.Parallel()
	absent := &model.Column{Harness: model.Harness{ID: "one", Title: "One", Verified: model.VerifiedDocs, VersionChecked: "1"},
		Files: []model.File{{Path: "/f", Status: model.FileAbsent}}}
	s := model.NewSnapshot(1, "/p", "/home/ann", time.Unix(1e9, 0), []*model.Column{absent})
	report := newReport(s, nil)
	for _, want := range []string{"Nothing was started", "No MCP server is configured", "0 of 0 servers load", "1 more file that would count does not exist."} {
		if !strings.Contains(report, want) {
			t.Errorf("%q is not in\n%s", want, report)
		}
	}
}

func TestReportAfterALaunch(t *testing.T) {
	t.Parallel()
	seen := &model.Cell{Harness: "one", Entry: model.Entry{Name: "a"}, Decision: model.DecisionLoads, Observation: &model.Observation{Outcome: model.OutcomeOK},
		Tools: &model.ToolList{Listed: 3, Offered: 2, Tokens: 70}}
	s := model.NewSnapshot(1, "/p", "/home/ann", time.Unix(1e9, 0), []*model.Column{{Harness: model.Harness{ID: "one", Title: "One"}, Present: true, Cells: []*model.Cell{seen}}})
	report := newReport(s, nil)
	if !strings.Contains(report, "Servers were started") || strings.Contains(report, "Nothing was started") || !strings.Contains(report, "tools: 2 of 3 offered, about 70 tokens") {
		t.Error(report)
	}
}
