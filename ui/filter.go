package ui

import (
	"slices"
	"strings"

	"fusebox/model"
)

// filter is a parsed filter text: every part must hold for a line to be shown.
type filter struct {
	parts []filterPart
}

type filterPart struct {
	kind string // "", "state", "harness", "scope"
	text string // lower case
	not  bool
}

// parseFilter reads words, !words, and state:, harness: and scope: facets. An unknown facet is a word.
func parseFilter(text string) filter {
	var f filter
	for _, word := range strings.Fields(strings.ToLower(text)) {
		p := filterPart{text: word}
		if rest, ok := strings.CutPrefix(word, "!"); ok {
			p.not, p.text = true, rest
		}
		for _, kind := range []string{"state", "harness", "scope"} {
			if rest, ok := strings.CutPrefix(p.text, kind+":"); ok {
				p.kind, p.text = kind, rest
			}
		}
		if p.text != "" {
			f.parts = append(f.parts, p)
		}
	}
	return f
}

func (f filter) empty() bool { return len(f.parts) == 0 }

// match is the first plain word, for underlining.
func (f filter) match() string {
	for _, p := range f.parts {
		if p.kind == "" && !p.not {
			return p.text
		}
	}
	return ""
}

// keeps tells whether a line is shown. columns are the shown columns, as indices into the snapshot's.
func (f filter) keeps(s *model.Snapshot, line *model.Line, columns []int) bool {
	for _, p := range f.parts {
		if p.keeps(s, line, columns) == p.not {
			return false
		}
	}
	return true
}

func (p filterPart) keeps(s *model.Snapshot, line *model.Line, columns []int) bool {
	if p.kind == "" {
		return strings.Contains(strings.ToLower(line.Server.Name), p.text) || strings.Contains(strings.ToLower(line.Tag), p.text)
	}
	return slices.ContainsFunc(columns, func(i int) bool {
		cell := line.Cells[i]
		if cell == nil {
			return false
		}
		col := s.Columns[i]
		switch p.kind {
		case "harness":
			return strings.HasPrefix(string(col.ID), p.text) || strings.HasPrefix(strings.ToLower(col.Heading), p.text) ||
				slices.ContainsFunc(col.Aliases, func(a string) bool { return strings.HasPrefix(a, p.text) })
		case "scope":
			return strings.HasPrefix(string(cell.Scope), p.text)
		default:
			return matchState(p.text, cell, col)
		}
	})
}

// matchState compares a state: facet with a cell. An untrusted folder is one thing to do for a whole column: its cells do
// not count as waiting.
func matchState(want string, cell *model.Cell, col *model.Column) bool {
	s := cell.State()
	if want == "waits" || want == "waiting" {
		return (s == model.StateUnapproved || s == model.StateUnauthenticated || s == model.StateError) && !blanket(col, cell)
	}
	return strings.HasPrefix(s.String(), want) || strings.HasPrefix(styleOf(s).filterAlias, want) ||
		strings.HasPrefix(strings.ReplaceAll(styleOf(s).countWord, " ", "-"), want)
}

// blanket tells whether the column's heading already says why the cell waits.
func blanket(col *model.Column, cell *model.Cell) bool {
	return col.Untrusted && cell.State() == model.StateUnapproved && cell.Reason.Code == model.ReasonUntrustedFolder
}

// facets are what tab completes while a filter is typed.
func facets(s *model.Snapshot) []string {
	out := []string{"state:waits"}
	for _, st := range model.States() {
		out = append(out, "state:"+st.String())
	}
	for _, c := range s.Columns {
		out = append(out, "harness:"+string(c.ID))
	}
	for _, sc := range []model.Scope{model.ScopeUser, model.ScopeLocal, model.ScopeProject, model.ScopeManaged, model.ScopeExtension, model.ScopePlugin} {
		out = append(out, "scope:"+string(sc))
	}
	return out
}

// complete finishes the last word of a filter text as far as the facets agree; with several it goes as far as they share.
func complete(text string, words []string) string {
	i := strings.LastIndexByte(text, ' ') + 1
	head, last := text[:i], text[i:]
	not := ""
	if rest, ok := strings.CutPrefix(last, "!"); ok {
		not, last = "!", rest
	}
	var found []string
	for _, w := range words {
		if strings.HasPrefix(w, last) {
			found = append(found, w)
		}
	}
	if last == "" || len(found) == 0 {
		return text
	}
	common := found[0]
	for _, w := range found[1:] {
		for !strings.HasPrefix(w, common) {
			common = common[:len(common)-1]
		}
	}
	if len(found) == 1 {
		common += " "
	}
	return head + not + common
}

// sortMode is the order of the lines.
type sortMode uint8

const (
	sortName sortMode = iota
	sortSeverity
	sortTokens
	sortModes
)

func (s sortMode) String() string {
	switch s {
	case sortSeverity:
		return "severity"
	case sortTokens:
		return "tokens"
	}
	return "name"
}

// order returns the indices of the lines that the filter keeps, sorted. The lines of one server stay together by name; by
// severity the line with the most urgent cell comes first, by tokens the one whose tools take most of a model's context.
func order(s *model.Snapshot, f filter, by sortMode, columns []int) []int {
	out := make([]int, 0, len(s.Lines))
	for i := range s.Lines {
		if f.empty() || f.keeps(s, &s.Lines[i], columns) {
			out = append(out, i)
		}
	}
	weigh := lineUrgency
	switch by {
	case sortName:
		return out
	case sortTokens:
		weigh = lineTokens
	}
	weight := make(map[int]int, len(out))
	for _, i := range out {
		weight[i] = weigh(s, &s.Lines[i], columns)
	}
	slices.SortStableFunc(out, func(a, b int) int { return weight[a] - weight[b] })
	return out
}

func lineUrgency(s *model.Snapshot, line *model.Line, columns []int) int {
	best := model.StateNone.Urgency()
	for _, i := range columns {
		cell := line.Cells[i]
		if cell == nil {
			continue
		}
		u := cell.State().Urgency()
		if blanket(s.Columns[i], cell) {
			u = model.StateUnknown.Urgency()
		}
		best = min(best, u)
	}
	return best
}

// lineTokens is what the server's tools take in the harness where they take most, below zero so that it comes first. What
// a harness does not load takes nothing; what nobody listed comes last.
func lineTokens(_ *model.Snapshot, line *model.Line, columns []int) int {
	most := 1
	for _, i := range columns {
		cell := line.Cells[i]
		switch {
		case cell == nil || cell.Tools == nil:
		case cell.Decision != model.DecisionLoads:
			most = min(most, 0)
		default:
			most = min(most, -cell.Tools.Tokens)
		}
	}
	return most
}

// keepOrder brings lines into the order that the rows of an older snapshot had: nothing jumps while servers are launched.
// Lines that were not there before come last.
func keepOrder(old *model.Snapshot, rows []int, s *model.Snapshot, lines []int) {
	type row struct {
		name       string
		definition int
	}
	at := make(map[row]int, len(rows))
	for i, l := range rows {
		line := &old.Lines[l]
		at[row{line.Server.Name, line.Definition}] = i
	}
	place := func(l int) int {
		line := &s.Lines[l]
		if i, ok := at[row{line.Server.Name, line.Definition}]; ok {
			return i
		}
		return len(rows)
	}
	slices.SortStableFunc(lines, func(a, b int) int { return place(a) - place(b) })
}
