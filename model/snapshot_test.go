package model_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"fusebox/model"
)

var noon = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

func column(id model.HarnessID, cells ...*model.Cell) *model.Column {
	for _, c := range cells {
		c.Harness = id
	}
	slices.SortStableFunc(cells, func(a, b *model.Cell) int { return model.CompareNames(a.Name, b.Name) })
	return &model.Column{Harness: model.Harness{ID: id}, Cells: cells}
}

func loads(name string, d *model.Definition) *model.Cell {
	return &model.Cell{Entry: model.Entry{Name: name, Definition: d, Source: model.Location{Path: "/" + name, Line: 1}}, Decision: model.DecisionLoads}
}

func snapshot(columns ...*model.Column) *model.Snapshot {
	return model.NewSnapshot(1, "/p", "/h", noon, columns)
}

// drawn writes the lines of the grid: name, tag, and per column the command or URL of the cell.
func drawn(s *model.Snapshot) []string {
	var out []string
	for _, l := range s.Lines {
		text := l.Server.Name
		if l.Tag != "" {
			text += " (" + l.Tag + ")"
		}
		for _, c := range l.Cells {
			switch {
			case c == nil:
				text += " ."
			case c.Definition == nil:
				text += " x"
			default:
				text += " " + c.Definition.Display()
			}
		}
		out = append(out, text)
	}
	return out
}

func TestLinesOfASnapshot(t *testing.T) {
	t.Parallel()
	broken := &model.Cell{Entry: model.Entry{Name: "beta"}, Decision: model.DecisionCannot}
	s := snapshot(
		column("one", loads("beta", stdio("npx", "a")), loads("Alpha", stdio("uvx"))),
		column("two", loads("beta", stdio("docker", "a")), loads("alpha", stdio("uvx"))),
		column("three", broken),
		column("four", loads("beta", stdio("docker", "a"))),
		column("five"),
	)
	want := []string{
		"Alpha uvx . . . .",
		"alpha . uvx . . .",
		"beta (docker) . docker a x docker a .",
		"beta (npx) npx a . . . .",
	}
	if got := drawn(s); !slices.Equal(got, want) {
		t.Errorf("lines\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	for _, srv := range s.Servers {
		if srv.Drift() != (srv.Name == "beta") {
			t.Errorf("%s: drift is %t", srv.Name, srv.Drift())
		}
	}
	if s.Column("two") == nil || s.Column("six") != nil {
		t.Error("columns are not found by id")
	}
}

func TestTwoCellsOfOneHarnessUnderOneName(t *testing.T) {
	t.Parallel()
	s := snapshot(column("one", loads("a", stdio("x")), loads("a", stdio("y"))), column("two", loads("a", stdio("x"))))
	if got, want := drawn(s), []string{"a (x) x x", "a (y) y ."}; !slices.Equal(got, want) {
		t.Errorf("lines %q, want %q", got, want)
	}
}

func TestNoLines(t *testing.T) {
	t.Parallel()
	for _, s := range []*model.Snapshot{snapshot(), snapshot(column("one"))} {
		if len(s.Lines) != 0 || len(s.Servers) != 0 || s.HasErrors() {
			t.Errorf("%+v is not empty", s)
		}
	}
}

func TestTags(t *testing.T) {
	t.Parallel()
	withEnv := stdio("npx", "a")
	withEnv.Env = model.Variables(map[string]string{"A": "1"})
	for name, test := range map[string]struct {
		definitions []*model.Definition
		want        []string
	}{
		"one":               {[]*model.Definition{stdio("npx", "a")}, nil},
		"commands":          {[]*model.Definition{stdio("/usr/bin/npx", "a"), stdio(`C:\x\docker.exe`, "run", "a")}, []string{"docker", "npx"}},
		"transports":        {[]*model.Definition{stdio("npx", "a"), remote(model.TransportHTTP, "https://h/mcp")}, []string{"http", "npx"}},
		"packages":          {[]*model.Definition{stdio("npx", "-y", "@acme/github@1.2"), stdio("npx", "-y", "@other/gitlab")}, []string{"github", "gitlab"}},
		"hosts":             {[]*model.Definition{remote(model.TransportHTTP, "https://a.test/mcp"), remote(model.TransportHTTP, "https://b.test/mcp")}, []string{"a.test", "b.test"}},
		"only environment":  {[]*model.Definition{stdio("npx", "a"), withEnv}, []string{"#1", "#2"}},
		"no command":        {[]*model.Definition{stdio(""), stdio("", "x")}, []string{"#1", "#2"}},
		"secret argument":   {[]*model.Definition{stdio("npx", "ghp_0123456789abcdef"), stdio("npx", "ghp_0123456789abcdeg")}, []string{"#1", "#2"}},
		"escape in command": {[]*model.Definition{stdio("a\x1b[31m"), stdio("b")}, []string{"a\ufffd[31m", "b"}},
	} {
		columns := make([]*model.Column, len(test.definitions))
		for i, d := range test.definitions {
			columns[i] = column(model.HarnessID(string(rune('a'+i))), loads("s", d))
		}
		if got := snapshot(columns...).Servers[0].Tags; !slices.Equal(got, test.want) {
			t.Errorf("%s: tags %q, want %q", name, got, test.want)
		}
	}
}

func TestSameServersUnderOtherNames(t *testing.T) {
	t.Parallel()
	s := snapshot(
		column("one", loads("github", stdio("npx", "gh")), loads("docs", remote(model.TransportHTTP, "https://h/mcp")), loads("alone", stdio("x"))),
		column("two", loads("gh", stdio("/bin/npx", "gh")), loads("Docs2", remote(model.TransportSSE, "https://H/mcp/")), loads("GH", stdio("npx", "gh")), loads("github", stdio("npx", "gh"))),
		column("three", loads("empty", stdio("")), loads("empty2", stdio(""))),
	)
	want := map[string][]string{"github": {"GH", "gh"}, "gh": {"GH", "github"}, "GH": {"gh", "github"}, "docs": {"Docs2"}, "Docs2": {"docs"}}
	got := map[string][]string{}
	for _, srv := range s.Servers {
		if len(srv.SameAs) > 0 {
			got[srv.Name] = srv.SameAs
		}
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("same servers %v, want %v", got, want)
	}
}

func TestTotals(t *testing.T) {
	t.Parallel()
	with := func(c *model.Cell, tools *model.ToolList) *model.Cell { c.Tools = tools; return c }
	off := with(loads("off", nil), &model.ToolList{Offered: 9, Tokens: 9, Names: []string{"a__search"}})
	off.Decision = model.DecisionOff
	c := column("one",
		with(loads("a", nil), &model.ToolList{Listed: 3, Offered: 2, Tokens: 100, Unclear: 1, Names: []string{"search", "read"}}),
		with(loads("b", nil), &model.ToolList{Listed: 1, Offered: 1, Tokens: 50, Names: []string{"search"}}),
		loads("c", nil), off)
	if got, want := c.Totals(), (model.Totals{Servers: 4, Loads: 3, Tools: 3, Tokens: 150, Unclear: 1, Collisions: 1}); got != want {
		t.Errorf("totals %+v, want %+v", got, want)
	}
}

func TestHasErrors(t *testing.T) {
	t.Parallel()
	file := func(s model.FileStatus) *model.Column {
		return &model.Column{Files: []model.File{{Path: "/f", Status: s}}}
	}
	cannot := loads("a", nil)
	cannot.Decision = model.DecisionCannot
	for name, test := range map[string]struct {
		column *model.Column
		want   bool
	}{
		"read": {file(model.FileRead), false}, "absent": {file(model.FileAbsent), false}, "ignored": {file(model.FileIgnored), false},
		"malformed": {file(model.FileMalformed), true}, "refused": {file(model.FileRefused), true},
		"loads": {column("one", loads("a", nil)), false}, "cannot": {column("one", cannot), true},
	} {
		if got := snapshot(test.column).HasErrors(); got != test.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

func TestSecretsOfASnapshot(t *testing.T) {
	t.Parallel()
	d, waiting := stdio("x"), stdio("y")
	d.Env, waiting.Env = model.Variables(map[string]string{"A": "in-the-cell"}), model.Variables(map[string]string{"A": "in-what-waits"})
	c := loads("a", d)
	c.Pending = []model.Pending{{Entry: model.Entry{Definition: waiting}}, {}}
	s := snapshot(column("one", c, loads("b", d), loads("c", nil)))
	var got []string
	for _, v := range s.Secrets() {
		got = append(got, v.Value.Reveal())
	}
	if !slices.Equal(got, []string{"in-the-cell", "in-what-waits"}) {
		t.Errorf("secrets %q", got)
	}
}

// TestLooksLike changes one thing at a time that a user sees.
func TestLooksLike(t *testing.T) {
	t.Parallel()
	full := func() *model.Cell {
		c := loads("a", stdio("x"))
		c.Reason = model.Reason{Code: model.ReasonNone}
		c.Findings = []model.Finding{{Code: model.FindingUnknownKey, Text: "t"}}
		c.Replaces = []model.Replaced{{Scope: model.ScopeUser, Source: model.Location{Path: "/r", Line: 1}}}
		c.Pending = []model.Pending{{Entry: model.Entry{Source: model.Location{Path: "/p", Line: 1}}, State: model.StateUnapproved}}
		return c
	}
	if !full().LooksLike(full()) {
		t.Fatal("equal cells differ")
	}
	for name, change := range map[string]func(*model.Cell){
		"name":         func(c *model.Cell) { c.Name = "b" },
		"scope":        func(c *model.Cell) { c.Scope = model.ScopeUser },
		"line":         func(c *model.Cell) { c.Source.Line = 2 },
		"decision":     func(c *model.Cell) { c.Decision = model.DecisionOff },
		"reason":       func(c *model.Cell) { c.Reason.Text = "x" },
		"decided by":   func(c *model.Cell) { c.Reason.DecidedBy.Line = 3 },
		"overlay":      func(c *model.Cell) { c.Overlays = model.OverlayStale },
		"definition":   func(c *model.Cell) { c.Definition = stdio("y") },
		"none":         func(c *model.Cell) { c.Definition = nil },
		"finding":      func(c *model.Cell) { c.Findings = nil },
		"finding text": func(c *model.Cell) { c.Findings[0].Text = "u" },
		"replaces":     func(c *model.Cell) { c.Replaces[0].Merged = true },
		"pending":      func(c *model.Cell) { c.Pending[0].State = model.StateDisabled },
		"no pending":   func(c *model.Cell) { c.Pending = nil },
		"launch":       func(c *model.Cell) { c.Launch = &model.Launch{} },
		"observation":  func(c *model.Cell) { c.Observation = &model.Observation{} },
		"consent":      func(c *model.Cell) { c.Consent = model.Location{Path: "/c", Line: 1} },
		"filter":       func(c *model.Cell) { c.Filter = &model.ToolFilter{Limited: true} },
		"timeout": func(c *model.Cell) {
			c.Definition = stdio("x")
			c.Definition.StartTimeout = time.Second
		},
		"capability": func(c *model.Cell) { c.Capabilities.Toggle = "no" },
		"tools":      func(c *model.Cell) { c.Tools = &model.ToolList{} },
	} {
		c := full()
		change(c)
		if full().LooksLike(c) || c.LooksLike(full()) {
			t.Errorf("another %s looks the same", name)
		}
	}
}

func TestDiff(t *testing.T) {
	t.Parallel()
	withFiles := func(c *model.Column, files ...model.File) *model.Column { c.Files = files; return c }
	read := model.File{Path: "/f", Status: model.FileRead}
	gone := model.File{Path: "/f", Status: model.FileAbsent}
	unchanged := column("same", loads("s", stdio("x")))
	before := snapshot(unchanged, withFiles(column("one", loads("a", stdio("x")), loads("b", stdio("x")), loads("z", stdio("x"))), read), column("leaves", loads("l", nil)))
	after := snapshot(unchanged, withFiles(column("one", loads("a", stdio("x")), loads("b", stdio("y")), loads("c", stdio("x"))), gone, model.File{Path: "/e"}), column("comes", loads("n", nil)))
	got := model.Diff(before, after)
	want := model.Difference{
		Cells: []model.CellKey{{Harness: "one", Name: "b"}, {Harness: "one", Name: "c"}, {Harness: "one", Name: "z"}, {Harness: "comes", Name: "n"}, {Harness: "leaves", Name: "l"}},
		Files: []string{"/e", "/f"},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("difference %+v, want %+v", got, want)
	}
	if d := model.Diff(before, before); len(d.Cells)+len(d.Files) != 0 {
		t.Errorf("a snapshot differs from itself: %+v", d)
	}
	if d := model.Diff(nil, before); len(d.Cells) != 5 || len(d.Files) != 1 {
		t.Errorf("from nothing: %+v", d)
	}
}

// TestDiffOfMovedLines: a rewrite that moves entries to other lines changes nothing that they say.
func TestDiffOfMovedLines(t *testing.T) {
	t.Parallel()
	at := func(line int, path string) model.Location { return model.Location{Path: path, Key: "k", Line: line} }
	cell := func(name string, line int) *model.Cell {
		c := loads(name, stdio("x"))
		c.Source = at(line, "/f")
		c.Reason = model.Reason{Code: model.ReasonSwitchedOff, Text: "t", DecidedBy: at(line, "/g")}
		c.Findings = []model.Finding{{Code: model.FindingUnknownKey, Text: "t", Line: line}}
		c.Replaces = []model.Replaced{{Source: at(line, "/r")}}
		c.Pending = []model.Pending{{Entry: model.Entry{Source: at(line, "/p")}, Reason: model.Reason{DecidedBy: at(line, "/p")}}}
		return c
	}
	other := cell("elsewhere", 1)
	other.Source.Path = "/h"
	before := snapshot(column("one", cell("elsewhere", 1), cell("moved", 1), cell("stays", 1)))
	after := snapshot(column("one", other, cell("moved", 2), cell("stays", 1)))
	got := model.Diff(before, after)
	want := model.Difference{Cells: []model.CellKey{{Harness: "one", Name: "elsewhere"}}, Moved: []model.CellKey{{Harness: "one", Name: "moved"}}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("difference %+v, want %+v", got, want)
	}
	if cell("a", 1).LooksLike(cell("a", 2)) {
		t.Error("a moved cell looks the same")
	}
}

// TestKeepCells: a cell that shows the same stays the same value; so a difference is quickly told.
func TestKeepCells(t *testing.T) {
	t.Parallel()
	twice := func(d *model.Definition) *model.Cell {
		c := loads("twice", d)
		c.Scope = model.ScopeProject
		return c
	}
	before := column("one", loads("a", stdio("x")), loads("b", stdio("x")), loads("gone", stdio("x")), loads("twice", stdio("x")), twice(stdio("y")))
	after := column("one", loads("a", stdio("x")), loads("b", stdio("y")), loads("c", stdio("x")), twice(stdio("y")), loads("twice", stdio("x")))
	if after.KeepCells(before) {
		t.Error("all cells are kept")
	}
	for i, kept := range []*model.Cell{before.Cells[0], nil, nil, before.Cells[4], before.Cells[3]} {
		if got := after.Cells[i]; kept != nil && got != kept || kept == nil && slices.Contains(before.Cells, got) {
			t.Errorf("cell %d is %p %s", i, got, got.Name)
		}
	}
	same := column("one", loads("a", stdio("x")), loads("b", stdio("x")), loads("gone", stdio("x")), loads("twice", stdio("x")), twice(stdio("y")))
	if !same.KeepCells(before) || !slices.Equal(same.Cells, before.Cells) {
		t.Error("equal columns do not keep all cells")
	}
	if less := column("one", loads("a", stdio("x"))); less.KeepCells(before) || less.Cells[0] != before.Cells[0] {
		t.Error("a column that lost cells is not the same, but keeps what it has")
	}
	for name, want := range map[string]*model.Cell{"b": before.Cells[1], "twice": before.Cells[3], "x": nil} {
		if got := before.Cell(name); got != want {
			t.Errorf("the cell %s is %p, want %p", name, got, want)
		}
	}
}

// TestDiffWhenAFileLeavesTheReport: a file that is not looked at any more counts as changed.
func TestDiffWhenAFileLeavesTheReport(t *testing.T) {
	t.Parallel()
	one := column("one")
	one.Files = []model.File{{Path: "/f", Status: model.FileRead}}
	if d := model.Diff(snapshot(one), snapshot(column("one"))); !slices.Equal(d.Files, []string{"/f"}) {
		t.Errorf("files %q", d.Files)
	}
}

func cellsOf(c *model.Column) (out []string) {
	for _, cell := range c.Cells {
		text := cell.Name + " " + cell.State().String()
		if cell.Overlays&model.OverlayStale != 0 {
			text += " stale"
		}
		out = append(out, text)
	}
	return out
}

func TestKeepStale(t *testing.T) {
	t.Parallel()
	in := func(c *model.Cell, path string) *model.Cell { c.Source.Path = path; return c }
	decided := in(loads("switch", stdio("x")), "/good")
	decided.Reason.DecidedBy.Path = "/bad"
	before := column("one", in(loads("a", stdio("x")), "/good"), in(loads("b", stdio("x")), "/bad"), decided)
	lost := in(loads("b", nil), "/bad")
	lost.Decision = model.DecisionCannot
	after := column("one", in(loads("a", stdio("y")), "/good"), lost, in(loads("new", stdio("x")), "/good"))
	after.Files = []model.File{{Path: "/bad", Status: model.FileMalformed, Note: "3:4: what"}, {Path: "/good", Status: model.FileRead}}
	kept := model.KeepStale(before, after, noon)
	if got, want := cellsOf(kept), []string{"a configured", "b configured stale", "new configured", "switch configured stale"}; !slices.Equal(got, want) {
		t.Errorf("cells %q, want %q", got, want)
	}
	if !kept.Stale || !kept.StaleAt.Equal(noon) || kept.Files[0].Status != model.FileMalformed {
		t.Errorf("the column does not say that it is stale since noon, and which file is broken: %+v", kept)
	}
	if kept.Cells[0].Definition.Command != "y" {
		t.Error("a cell of a good file is not the new one")
	}
	for _, c := range before.Cells {
		if c.Overlays != 0 {
			t.Error("the old snapshot was changed")
		}
	}
	again := model.KeepStale(kept, after, noon.Add(time.Hour))
	if !again.StaleAt.Equal(noon) || !slices.Equal(cellsOf(again), cellsOf(kept)) {
		t.Errorf("still broken: %q since %s", cellsOf(again), again.StaleAt)
	}
	after.Broken = &model.Problem{Text: "stops"}
	if got, want := cellsOf(model.KeepStale(before, after, noon)), []string{"a configured stale", "b configured stale", "switch configured stale"}; !slices.Equal(got, want) {
		t.Errorf("everything broken: %q, want %q", got, want)
	}
}

func TestCompareNames(t *testing.T) {
	t.Parallel()
	names := []string{"b", "A", "a", "B", "", "é", "a-1", "aa", "AA"}
	slices.SortFunc(names, model.CompareNames)
	if want := []string{"", "A", "a", "a-1", "AA", "aa", "B", "b", "é"}; !slices.Equal(names, want) {
		t.Errorf("sorted %q, want %q", names, want)
	}
}

// The same variable in the spelling of five harnesses is no drift; another variable, or a text that only looks similar, is.
func TestVariablesInEverySpellingAreTheSame(t *testing.T) {
	t.Parallel()
	env := func(value string) *model.Definition {
		d := stdio("npx", "x")
		d.Env = model.Variables(map[string]string{"TOKEN": value})
		return d
	}
	inherits := stdio("npx", "x")
	inherits.Inherit = []string{"TOKEN"}
	same := []*model.Definition{env("${TOKEN}"), env("$TOKEN"), env("${env:TOKEN}"), env("{env:TOKEN}"), inherits}
	for i, d := range same {
		if d.Key() != same[0].Key() {
			t.Errorf("spelling %d has another key", i)
		}
	}
	for _, other := range []*model.Definition{env("${OTHER}"), env("x${TOKEN}"), env("TOKEN"), env("${TOKEN:-d}")} {
		if other.Key() == same[0].Key() {
			t.Errorf("%q has the same key", other.Env[0].Value.Reveal())
		}
	}
	header := func(value string) *model.Definition {
		d := remote(model.TransportHTTP, "https://h/mcp")
		d.Headers = []model.Variable{{Name: "Authorization", Value: model.NewSecret(value)}}
		return d
	}
	bearer := remote(model.TransportHTTP, "https://h/mcp")
	bearer.BearerVariable = "TOKEN"
	if header("Bearer ${TOKEN}").Key() != bearer.Key() || header("Bearer {env:TOKEN}").Key() != bearer.Key() {
		t.Error("a bearer token from a variable has another key")
	}
}
