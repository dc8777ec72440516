package cli

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"fusebox/model"
)

// report writes a snapshot as Markdown. Whatever comes from files stands in inline code, masked and on one line, so that it
// is neither a link, nor HTML, nor the end of a table's cell.
type report struct {
	strings.Builder
	s        *model.Snapshot
	redactor *model.Redactor
}

// newReport returns the Markdown report of a snapshot.
func newReport(s *model.Snapshot, redactor *model.Redactor) string {
	r := &report{s: s, redactor: redactor}
	r.line("# MCP servers in %s", r.path(s.Project))
	r.line("")
	started := "Nothing was started"
	if r.launched() {
		started = "Servers were started to see what they offer"
	}
	r.line("Read by fusebox on %s. %s; `~` is the home folder.", s.At.UTC().Format(time.RFC3339), started)
	shown := r.shown()
	r.overview(shown)
	r.sameAndDifferent()
	for _, col := range shown {
		r.column(col)
	}
	r.absent(shown)
	return r.String()
}

func (r *report) line(format string, args ...any) {
	fmt.Fprintf(r, format+"\n", args...)
}

// launched tells whether some cell was started.
func (r *report) launched() bool {
	return slices.ContainsFunc(r.s.Columns, func(col *model.Column) bool {
		return slices.ContainsFunc(col.Cells, func(c *model.Cell) bool { return c.Observation != nil })
	})
}

// shown are the harnesses that are on this machine; all of them where none is.
func (r *report) shown() []*model.Column {
	var out []*model.Column
	for _, col := range r.s.Columns {
		if col.Present {
			out = append(out, col)
		}
	}
	if len(out) == 0 {
		return r.s.Columns
	}
	return out
}

// overview is the grid: a row per server, a column per harness.
func (r *report) overview(columns []*model.Column) {
	r.line("\n## Overview\n")
	if len(r.s.Servers) == 0 {
		r.line("No MCP server is configured for this folder.")
		return
	}
	head, rule := "| server |", "|---|"
	at := map[model.HarnessID]int{}
	for i, col := range columns {
		head += " " + col.Title + " |"
		rule += "---|"
		at[col.ID] = i
	}
	r.line("%s\n%s", head, rule)
	for _, l := range r.s.Lines {
		name := r.inTable(l.Server.Name)
		if l.Tag != "" {
			name += " " + r.inTable(l.Tag)
		}
		states := make([]string, len(columns))
		for _, c := range l.Cells {
			if c == nil {
				continue
			}
			if i, ok := at[c.Harness]; ok {
				states[i] = stateWords(c, r.s.At)
			}
		}
		for i := range states {
			if states[i] == "" {
				states[i] = "·"
			}
		}
		r.line("| %s | %s |", name, strings.Join(states, " | "))
	}
}

// stateWords is the state with the cell's word, such as "disabled (off)".
func stateWords(c *model.Cell, now time.Time) string {
	words := c.State().String()
	if w := c.Word(now); w != "" {
		words += " (" + w + ")"
	}
	if c.Overlays != 0 {
		words += ", " + strings.Join(c.Overlays.Names(), ", ")
	}
	return words
}

// sameAndDifferent lists names with several definitions, and servers that stand under several names.
func (r *report) sameAndDifferent() {
	said := false
	heading := func() {
		if !said {
			r.line("\n## Drift\n")
			said = true
		}
	}
	for _, srv := range r.s.Servers {
		if !srv.Drift() {
			continue
		}
		heading()
		r.line("- %s is not the same everywhere:", r.code(srv.Name))
		for i, d := range srv.Definitions {
			r.line("  - %s in %s: %s", r.code(srv.Tags[i]), strings.Join(r.holders(srv, d), ", "), r.definition(d))
		}
	}
	for _, srv := range r.s.Servers {
		if len(srv.SameAs) == 0 || model.CompareNames(srv.Name, srv.SameAs[0]) > 0 {
			continue // none, or said at the first of them
		}
		heading()
		names := make([]string, len(srv.SameAs))
		for i, n := range srv.SameAs {
			names[i] = r.code(n)
		}
		r.line("- %s is the same server as %s", r.code(srv.Name), strings.Join(names, ", "))
	}
}

// holders are the titles of the harnesses that have a definition.
func (r *report) holders(srv *model.Server, d *model.Definition) []string {
	var out []string
	for _, c := range srv.Cells {
		if c.Definition != nil && (c.Definition == d || c.Definition.Key() == d.Key()) {
			if col := r.s.Column(c.Harness); col != nil {
				out = append(out, col.Title)
			}
		}
	}
	return out
}

// definition is a definition in words: transport, command or URL, and the names of what it sets.
func (r *report) definition(d *model.Definition) string {
	out := string(d.Transport) + " " + r.code(d.Display())
	for _, list := range []struct {
		what  string
		names []string
	}{{"env", d.EnvNames()}, {"headers", d.HeaderNames()}} {
		if len(list.names) == 0 {
			continue
		}
		for i, n := range list.names {
			list.names[i] = r.code(n)
		}
		out += ", " + list.what + " " + strings.Join(list.names, " ")
	}
	return out
}

// column is the section of a harness.
func (r *report) column(col *model.Column) {
	t := col.Totals()
	r.line("\n## %s\n", col.Title)
	known := verifiedWords(col.Verified)
	if col.VersionChecked != "" {
		known += ", version " + col.VersionChecked
	}
	r.line("%d of %d servers load. Rules known from: %s.", t.Loads, t.Servers, known)
	if col.Broken != nil {
		r.line("\n**Broken:** %s, %s", r.code(col.Broken.Text), r.place(col.Broken.Location))
	}
	if col.Untrusted {
		r.line("\n**This folder is not trusted.**")
	}
	r.files(col)
	if len(col.Cells) > 0 {
		r.line("\n### Servers\n")
		for _, c := range col.Cells {
			r.cell(c)
		}
	}
	if len(col.Notes) > 0 {
		r.line("\n### Notes\n")
		for _, n := range col.Notes {
			r.line("- %s: %s%s", r.code(n.Code), r.code(n.Text), r.at(model.Location{Path: n.Path, Line: n.Line}))
		}
	}
	if len(col.BlindSpots) > 0 {
		r.line("\n### What no file tells\n")
		for _, b := range col.BlindSpots {
			r.line("- %s: %s", r.code(b.Code), r.code(b.Text))
		}
	}
}

func verifiedWords(v model.Verified) string {
	switch v {
	case model.VerifiedRun:
		return "the program itself"
	case model.VerifiedSource:
		return "its source"
	default:
		return "documents only"
	}
}

// files lists the files that exist.
func (r *report) files(col *model.Column) {
	absent := 0
	said := false
	for _, f := range col.Files {
		if f.Status == model.FileAbsent {
			absent++
			continue
		}
		if !said {
			r.line("\n### Files\n")
			said = true
		}
		note := ""
		if f.Note != "" {
			note = ": " + r.code(f.Note)
		}
		status := string(f.Status)
		if f.Status == model.FileMalformed || f.Status == model.FileRefused {
			status = "**" + status + "**"
		}
		r.line("- %s: %s, %s%s", r.path(f.Path), f.Scope, status, note)
	}
	if absent > 0 {
		noun := "files that would count do"
		if absent == 1 {
			noun = "file that would count does"
		}
		r.line("\n%d more %s not exist.", absent, noun)
	}
}

// cell is the list item of one server of a harness.
func (r *report) cell(c *model.Cell) {
	r.line("- %s: **%s**", r.code(c.Name), stateWords(c, r.s.At))
	reason := c.StateReason()
	if reason.Text != "" {
		r.line("  - why: %s%s", r.code(reason.Text), r.at(reason.DecidedBy))
	} else if !reason.DecidedBy.IsZero() {
		r.line("  - decided by %s", r.place(reason.DecidedBy))
	}
	r.line("  - where: %s, %s scope", r.place(c.Source), c.Scope)
	if c.Definition != nil {
		r.line("  - runs: %s", r.definition(c.Definition))
	}
	for _, b := range c.Replaces {
		verb := "beats"
		if b.Merged {
			verb = "takes keys from"
		}
		r.line("  - %s: %s, %s scope", verb, r.place(b.Source), b.Scope)
	}
	for _, p := range c.Pending {
		why := ""
		if p.Reason.Text != "" {
			why = ": " + r.code(p.Reason.Text)
		}
		r.line("  - waits behind it: %s, %s scope, %s%s", r.place(p.Source), p.Scope, p.State, why)
	}
	for _, f := range c.Findings {
		line := ""
		if f.Line > 0 {
			line = fmt.Sprintf(" (line %d)", f.Line)
		}
		r.line("  - %s: %s, %s%s", f.Severity, r.code(string(f.Code)), r.code(f.Text), line)
	}
	if t := c.Tools; t != nil {
		r.line("  - tools: %d of %d offered, about %d tokens", t.Offered, t.Listed, t.Tokens)
	}
}

// absent names the harnesses that have no section.
func (r *report) absent(shown []*model.Column) {
	var titles []string
	for _, col := range r.s.Columns {
		if !col.Present && len(shown) < len(r.s.Columns) {
			titles = append(titles, col.Title)
		}
	}
	if len(titles) > 0 {
		r.line("\nNot on this machine: %s.", strings.Join(titles, ", "))
	}
}

// path shows a path with ~ for home.
func (r *report) path(p string) string { return r.code(model.Tilde(p, r.s.Home)) }

// place is a path with its line.
func (r *report) place(l model.Location) string {
	p := model.Tilde(l.Path, r.s.Home)
	if l.Line > 0 {
		p = fmt.Sprintf("%s:%d", p, l.Line)
	}
	return r.code(p)
}

// at is the place that something is said about, in brackets; "" when there is none.
func (r *report) at(l model.Location) string {
	if l.IsZero() {
		return ""
	}
	return " (" + r.place(l) + ")"
}

// code shows foreign text as inline code.
func (r *report) code(text string) string {
	return inlineCode(r.redactor.Text(model.Clean(text)))
}

// inTable is code for the cell of a table, where a pipe ends the cell in some readers even inside code and behind a
// backslash: it is drawn as a broken bar.
func (r *report) inTable(text string) string {
	return strings.ReplaceAll(r.code(text), "|", "¦")
}

// inlineCode wraps a text of one line in a fence longer than any run of backticks in it. An empty or blank text, which
// cannot be code, is put in quotes.
func inlineCode(text string) string {
	if strings.TrimSpace(text) == "" {
		text = `"` + text + `"`
	}
	longest, run := 0, 0
	for i := range len(text) {
		if text[i] == '`' {
			run++
			longest = max(longest, run)
		} else {
			run = 0
		}
	}
	fence := strings.Repeat("`", longest+1)
	pad := ""
	if text[0] == '`' || text[len(text)-1] == '`' || text[0] == ' ' && text[len(text)-1] == ' ' {
		pad = " " // one blank on both sides is taken away again
	}
	return fence + pad + text + pad + fence
}
