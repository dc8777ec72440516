package model

import (
	"slices"
	"sort"
	"strings"
	"time"
)

// Problem is what stops a harness as a whole: a file that it refuses.
type Problem struct {
	Location
	Text string
}

// Session is a running program of a harness.
type Session struct {
	PID   int
	Since time.Time
	Cwd   string
}

// Column is what one harness makes of this folder: its files, its cells and what holds for all of them. A column of a
// snapshot is never changed.
type Column struct {
	Harness
	Present   bool     // a file or folder of the harness exists on this machine
	Files     []File   // in the order in which the harness reads them, existing or not
	Notes     []Note   // what to know about the harness as a whole
	Cells     []*Cell  // sorted by name
	Broken    *Problem // a file stops the whole harness
	Untrusted bool     // the folder's trust decides for all that waits
	Stale     bool     // cells are the last good ones
	StaleAt   time.Time
	Sessions  []Session
}

// Totals are sums over a column.
type Totals struct {
	Servers    int
	Loads      int // cells whose decision is DecisionLoads
	Tools      int // tools offered, of the servers that were listed
	Tokens     int
	Unclear    int
	Collisions int // tool names that more than one listed server offers
}

// Totals sums the column up.
func (c *Column) Totals() Totals {
	var t Totals
	seen := map[string]int{}
	for _, cell := range c.Cells {
		t.Servers++
		if cell.Decision == DecisionLoads {
			t.Loads++
		}
		if cell.Tools == nil || cell.Decision != DecisionLoads {
			continue
		}
		t.Tools += cell.Tools.Offered
		t.Tokens += cell.Tools.Tokens
		t.Unclear += cell.Tools.Unclear
		for _, n := range cell.Tools.Names {
			seen[n]++
		}
	}
	for _, n := range seen {
		if n > 1 {
			t.Collisions++
		}
	}
	return t
}

// Server is one name over all harnesses.
type Server struct {
	Name        string
	Definitions []*Definition // the different ones, in the order of their tags
	Tags        []string      // beside each definition what tells it apart; empty with fewer than two
	Cells       []*Cell       // in the order of the columns
	SameAs      []string      // other names of the same server
}

// Drift tells whether the harnesses have different definitions under this name.
func (s *Server) Drift() bool { return len(s.Definitions) > 1 }

// Line is one line of the grid: a server with one of its definitions.
type Line struct {
	Server     *Server
	Definition int     // index into Server.Definitions; 0 also when there is none
	Tag        string  // "" where the server has one definition
	Cells      []*Cell // one per column of the snapshot; nil where the harness does not have it
}

// Snapshot is the state of everything at one moment. It is immutable; a change makes a new one with a higher generation.
type Snapshot struct {
	Generation int
	Project    string // absolute path of the folder that the answers are about
	Home       string // for showing paths with ~
	At         time.Time
	Columns    []*Column
	Servers    []*Server // sorted by name
	Lines      []Line    // sorted by name, the lines of one server together
}

// NewSnapshot joins the columns into servers and lines. The columns must not be changed afterwards.
func NewSnapshot(generation int, project, home string, at time.Time, columns []*Column) *Snapshot {
	s := &Snapshot{Generation: generation, Project: project, Home: home, At: at, Columns: columns}
	columnOf := s.makeServers()
	s.linkSameServers()
	s.makeLines(columnOf)
	return s
}

// makeServers merges the columns, each sorted by name, name by name. It returns the index of the column of every cell, in the
// order of the servers and their cells.
func (s *Snapshot) makeServers() (columnOf []int32) {
	type rest struct { // of a column what is not merged yet; never empty
		column int32
		cells  []*Cell
	}
	left := make([]rest, 0, len(s.Columns))
	total := 0
	for i, col := range s.Columns {
		if len(col.Cells) > 0 {
			left = append(left, rest{int32(i), col.Cells})
			total += len(col.Cells)
		}
	}
	servers := make([]Server, 0, total)
	cells := make([]*Cell, 0, total)
	columnOf = make([]int32, 0, total)
	definitions := make([]*Definition, 0, total)
	for len(left) > 0 {
		name := left[0].cells[0].Name
		for i := 1; i < len(left); i++ {
			if n := left[i].cells[0].Name; n != name && CompareNames(n, name) < 0 {
				name = n
			}
		}
		srv := Server{Name: name, Definitions: definitions[len(definitions):]}
		first := len(cells)
		emptied := false
		for i := range left {
			r := &left[i]
			for len(r.cells) > 0 && r.cells[0].Name == name {
				cell := r.cells[0]
				r.cells = r.cells[1:]
				cells = append(cells, cell)
				columnOf = append(columnOf, r.column)
				if cell.Definition != nil && srv.definitionIndex(cell.Definition) < 0 {
					srv.Definitions = append(srv.Definitions, cell.Definition)
				}
			}
			emptied = emptied || len(r.cells) == 0
		}
		if emptied {
			left = slices.DeleteFunc(left, func(r rest) bool { return len(r.cells) == 0 })
		}
		srv.Cells = slices.Clip(cells[first:])
		definitions = definitions[:len(definitions)+len(srv.Definitions)]
		srv.Definitions = slices.Clip(srv.Definitions)
		servers = append(servers, srv)
	}
	s.Servers = make([]*Server, len(servers))
	for i := range servers {
		s.Servers[i] = &servers[i]
	}
	return columnOf
}

// CompareNames orders server names: ASCII letters without regard to case first, then the exact text.
func CompareNames(a, b string) int {
	for i := range min(len(a), len(b)) {
		x, y := foldASCII(a[i]), foldASCII(b[i])
		if x != y {
			return int(x) - int(y)
		}
	}
	if len(a) != len(b) {
		return len(a) - len(b)
	}
	return strings.Compare(a, b)
}

func foldASCII(b byte) byte {
	if b >= 'A' && b <= 'Z' {
		return b + 'a' - 'A'
	}
	return b
}

func (s *Server) definitionIndex(d *Definition) int {
	for i, have := range s.Definitions {
		if have == d || have.identity() == d.identity() {
			return i
		}
	}
	return -1
}

// linkSameServers fills SameAs: servers under other names that run the same command or reach the same URL.
func (s *Snapshot) linkSameServers() {
	first := make(map[string]*Server, len(s.Servers))
	groups := map[string][]*Server{}
	for _, srv := range s.Servers {
		for _, d := range srv.Definitions {
			key := d.sameServer()
			if key == "" {
				continue
			}
			head, ok := first[key]
			if !ok {
				first[key] = srv
				continue
			}
			if head == srv {
				continue
			}
			if len(groups[key]) == 0 {
				groups[key] = []*Server{head}
			}
			if !slices.Contains(groups[key], srv) {
				groups[key] = append(groups[key], srv)
			}
		}
	}
	for _, g := range groups {
		for _, a := range g {
			for _, b := range g {
				if a != b && !slices.Contains(a.SameAs, b.Name) {
					a.SameAs = append(a.SameAs, b.Name)
				}
			}
		}
	}
	for _, g := range groups {
		for _, a := range g {
			sort.Slice(a.SameAs, func(i, j int) bool { return CompareNames(a.SameAs[i], a.SameAs[j]) < 0 })
		}
	}
}

func (s *Snapshot) makeLines(columnOf []int32) {
	n := 0
	for _, srv := range s.Servers {
		n += max(1, len(srv.Definitions))
	}
	s.Lines = make([]Line, 0, n)
	width := len(s.Columns)
	backing := make([]*Cell, n*width)
	for _, srv := range s.Servers {
		start := len(s.Lines)
		var labels []string
		if srv.Drift() {
			srv.Tags = tags(srv.Definitions, s.owners(srv))
			sort.Sort(byTag{srv}) // so that the order does not hang on who has which
			labels = srv.Tags
		}
		for i := range max(1, len(srv.Definitions)) {
			line := Line{Server: srv, Definition: i, Cells: backing[:width:width]}
			backing = backing[width:]
			if labels != nil {
				line.Tag = labels[i]
			}
			s.Lines = append(s.Lines, line)
		}
		for _, cell := range srv.Cells {
			col := columnOf[0]
			columnOf = columnOf[1:]
			i := 0
			if cell.Definition != nil && len(srv.Definitions) > 1 {
				i = max(0, srv.definitionIndex(cell.Definition))
			}
			// Two cells of one harness under one name: the later keeps a free line if there is one.
			for j := i; j < len(s.Lines)-start; j++ {
				if s.Lines[start+j].Cells[col] == nil {
					i = j
					break
				}
			}
			if s.Lines[start+i].Cells[col] == nil {
				s.Lines[start+i].Cells[col] = cell
			}
		}
	}
}

// owners are the headings of the first harness that has each definition of a server.
func (s *Snapshot) owners(srv *Server) []string {
	out := make([]string, len(srv.Definitions))
	for _, c := range srv.Cells {
		if c.Definition == nil {
			continue
		}
		if i := srv.definitionIndex(c.Definition); i >= 0 && out[i] == "" {
			out[i] = s.Column(c.Harness).Heading
		}
	}
	return out
}

// byTag sorts a server's definitions by their tags.
type byTag struct{ *Server }

func (s byTag) Len() int           { return len(s.Definitions) }
func (s byTag) Less(i, j int) bool { return s.Tags[i] < s.Tags[j] }
func (s byTag) Swap(i, j int) {
	s.Definitions[i], s.Definitions[j] = s.Definitions[j], s.Definitions[i]
	s.Tags[i], s.Tags[j] = s.Tags[j], s.Tags[i]
}

// Column returns the column of a harness, or nil.
func (s *Snapshot) Column(id HarnessID) *Column {
	for _, c := range s.Columns {
		if c.ID == id {
			return c
		}
	}
	return nil
}

// HasErrors tells whether some cell is an error, or some file is malformed or refused: the exit status of list.
func (s *Snapshot) HasErrors() bool {
	for _, col := range s.Columns {
		for _, f := range col.Files {
			if f.Status == FileMalformed || f.Status == FileRefused {
				return true
			}
		}
		for _, c := range col.Cells {
			if c.State() == StateError {
				return true
			}
		}
	}
	return false
}

// Secrets returns the secrets of all entries: environment, headers, secret-looking arguments, URLs' hidden parts.
func (s *Snapshot) Secrets() []Variable {
	var out []Variable
	seen := map[*Definition]bool{}
	s.eachDefinition(func(d *Definition) {
		if !seen[d] {
			seen[d] = true
			out = append(out, d.Secrets()...)
		}
	})
	return out
}

// eachDefinition calls f for the definition of every entry, effective or waiting; for a shared one several times.
func (s *Snapshot) eachDefinition(f func(*Definition)) {
	for _, col := range s.Columns {
		for _, c := range col.Cells {
			if c.Definition != nil {
				f(c.Definition)
			}
			for i := range c.Pending {
				if d := c.Pending[i].Definition; d != nil {
					f(d)
				}
			}
		}
	}
}

// Difference is what changed between two snapshots.
type Difference struct {
	Cells []CellKey // added, changed or gone, by column and name
	Moved []CellKey // the same as before but for the lines at which things stand
	Files []string  // paths whose status or note changed
}

// CellKey names a cell.
type CellKey struct {
	Harness HarnessID
	Name    string
}

// Diff tells what differs for somebody who looks at the snapshots: states, reasons, definitions, places, findings.
func Diff(before, after *Snapshot) Difference {
	var d Difference
	for _, col := range after.Columns {
		var old *Column
		if before != nil {
			old = before.Column(col.ID)
		}
		if old == col {
			continue
		}
		var oldCells []*Cell
		var oldFiles []File
		if old != nil {
			oldCells, oldFiles = old.Cells, old.Files
		}
		d.addCells(col.ID, oldCells, col.Cells)
		d.Files = append(d.Files, diffFiles(oldFiles, col.Files)...)
	}
	if before != nil {
		for _, col := range before.Columns {
			if after.Column(col.ID) == nil {
				for _, c := range col.Cells {
					d.Cells = append(d.Cells, CellKey{col.ID, c.Name})
				}
			}
		}
	}
	slices.Sort(d.Files)
	d.Files = slices.Compact(d.Files)
	return d
}

// addCells compares two columns, name by name.
func (d *Difference) addCells(id HarnessID, before, after []*Cell) {
	add := func(list *[]CellKey, name string) {
		if n := len(*list); n == 0 || (*list)[n-1] != (CellKey{id, name}) {
			*list = append(*list, CellKey{id, name})
		}
	}
	pairCells(before, after, func(old, now *Cell) {
		switch {
		case old == now:
		case old == nil:
			add(&d.Cells, now.Name)
		case now == nil || !old.saysTheSame(now):
			add(&d.Cells, old.Name)
		case !old.standsWhere(now):
			add(&d.Moved, now.Name)
		}
	})
}

// pairCells goes through two lists of cells, each sorted by name, and calls f with the two of one name and scope, or with
// one of them and nil. A harness may have two cells of one name, from two layers.
func pairCells(before, after []*Cell, f func(old, now *Cell)) {
	run := func(list []*Cell) int { // how many of one name the list starts with
		n := 1
		for n < len(list) && list[n].Name == list[0].Name {
			n++
		}
		return n
	}
	for len(before) > 0 || len(after) > 0 {
		order := 0
		switch {
		case len(before) == 0:
			order = 1
		case len(after) == 0:
			order = -1
		case before[0] != after[0] && before[0].Name != after[0].Name:
			order = CompareNames(before[0].Name, after[0].Name)
		}
		var old, now []*Cell
		if order <= 0 {
			n := run(before)
			old, before = before[:n], before[n:]
		}
		if order >= 0 {
			n := run(after)
			now, after = after[:n], after[n:]
		}
		if len(old) == 1 && len(now) == 1 && old[0].Scope == now[0].Scope {
			f(old[0], now[0])
			continue
		}
		old = slices.Clone(old)
		for _, c := range now {
			i := slices.IndexFunc(old, func(o *Cell) bool { return o.Scope == c.Scope })
			if i < 0 {
				f(nil, c)
				continue
			}
			f(old[i], c)
			old = slices.Delete(old, i, i+1)
		}
		for _, c := range old {
			f(c, nil)
		}
	}
}

// KeepCells puts cells of an older column in the place of cells that show the same, so that a cell stays the same value as
// long as nothing of it changes. It tells whether all cells are the older column's. The column must be new.
func (c *Column) KeepCells(before *Column) bool {
	all := len(c.Cells) == len(before.Cells)
	i := 0
	pairCells(before.Cells, c.Cells, func(old, now *Cell) {
		if now == nil {
			return
		}
		if old != nil && (old == now || old.LooksLike(now)) {
			c.Cells[i] = old
		} else {
			all = false
		}
		i++
	})
	return all
}

// Cell returns the first cell of a name, or nil.
func (c *Column) Cell(name string) *Cell {
	i, found := slices.BinarySearchFunc(c.Cells, name, func(cell *Cell, name string) int { return CompareNames(cell.Name, name) })
	if !found {
		return nil
	}
	return c.Cells[i]
}

func diffFiles(before, after []File) []string {
	byPath := make(map[string]File, len(before))
	for _, f := range before {
		byPath[f.Path] = f
	}
	var out []string
	for _, f := range after {
		if old, ok := byPath[f.Path]; !ok || old.Status != f.Status || old.Note != f.Note {
			out = append(out, f.Path)
		}
		delete(byPath, f.Path)
	}
	for path := range byPath {
		out = append(out, path)
	}
	return out
}

// LooksLike tells whether two cells show the same to a user, and would do the same: everything but the identity of the
// value.
func (c *Cell) LooksLike(o *Cell) bool { return c.standsWhere(o) && c.saysTheSame(o) }

// standsWhere tells whether two cells that say the same stand at the same lines.
func (c *Cell) standsWhere(o *Cell) bool {
	return c.Source == o.Source && c.Reason.DecidedBy == o.Reason.DecidedBy && c.Consent == o.Consent &&
		(c.Filter == nil || o.Filter == nil || c.Filter.At == o.Filter.At) && slices.Equal(c.Findings, o.Findings) &&
		slices.Equal(c.Replaces, o.Replaces) && slices.EqualFunc(c.Pending, o.Pending, func(a, b Pending) bool {
		return a.Source == b.Source && a.Reason.DecidedBy == b.Reason.DecidedBy
	})
}

// saysTheSame is LooksLike without the lines at which things stand: a harness that rewrites its file moves them.
func (c *Cell) saysTheSame(o *Cell) bool {
	samePlace := func(a, b Location) bool { return a.Path == b.Path && a.Key == b.Key }
	sameReason := func(a, b Reason) bool {
		return a.Code == b.Code && a.Text == b.Text && samePlace(a.DecidedBy, b.DecidedBy)
	}
	sameFinding := func(a, b Finding) bool { return a.Code == b.Code && a.Severity == b.Severity && a.Text == b.Text }
	sameReplaced := func(a, b Replaced) bool {
		return a.Scope == b.Scope && a.Merged == b.Merged && samePlace(a.Source, b.Source)
	}
	samePending := func(a, b Pending) bool {
		return a.State == b.State && samePlace(a.Source, b.Source) && sameReason(a.Reason, b.Reason)
	}
	return c.Name == o.Name && c.Scope == o.Scope && samePlace(c.Source, o.Source) && c.Decision == o.Decision &&
		sameReason(c.Reason, o.Reason) && samePlace(c.Consent, o.Consent) && c.Overlays == o.Overlays && c.State() == o.State() &&
		c.Capabilities == o.Capabilities && c.Definition.equal(o.Definition) && c.Filter.equal(o.Filter) &&
		slices.EqualFunc(c.Findings, o.Findings, sameFinding) && slices.EqualFunc(c.Replaces, o.Replaces, sameReplaced) &&
		slices.EqualFunc(c.Pending, o.Pending, samePending) &&
		c.Observation == o.Observation && c.Tools == o.Tools && (c.Launch == nil) == (o.Launch == nil)
}

// KeepStale returns what to show after a file of a harness just broke: the new column with the last good cells of the
// broken files, marked stale. When a file stops the whole harness all old cells are kept, else those from broken files.
func KeepStale(before, after *Column, at time.Time) *Column {
	broken := map[string]bool{}
	for _, f := range after.Files {
		if f.Status == FileMalformed || f.Status == FileRefused {
			broken[f.Path] = true
		}
	}
	kept := *after
	kept.Stale = true
	kept.StaleAt = at
	if before.Stale {
		kept.StaleAt = before.StaleAt
	}
	stale := func(c *Cell) *Cell {
		if c.Overlays&OverlayStale != 0 {
			return c
		}
		old := *c
		old.Overlays |= OverlayStale
		return &old
	}
	kept.Cells = nil
	if after.Broken != nil {
		for _, c := range before.Cells {
			kept.Cells = append(kept.Cells, stale(c))
		}
		return &kept
	}
	have := map[string]bool{}
	for _, c := range before.Cells {
		if broken[c.Source.Path] || broken[c.Reason.DecidedBy.Path] {
			kept.Cells = append(kept.Cells, stale(c))
			have[c.Name] = true
		}
	}
	for _, c := range after.Cells {
		if !have[c.Name] {
			kept.Cells = append(kept.Cells, c)
		}
	}
	slices.SortStableFunc(kept.Cells, func(a, b *Cell) int { return CompareNames(a.Name, b.Name) })
	return &kept
}
