package ui

import (
	"encoding/json"
	"fmt"
	"sort"
	"strconv"
	"strings"

	"fusebox/model"
)

// toolLine is one tool in the tools view.
type toolLine struct {
	cell    *model.Cell
	column  *model.Column
	tool    *model.Tool
	shown   string
	dropped bool
}

// toolsView is the state of the tools view.
type toolsView struct {
	row, top int
	schema   bool // the full description and schema of the selected tool
	offset   int  // in the schema
	filter   string
	byTokens bool
}

// toolCells are the cells whose tools are shown: the cell, those of the row, those of the column.
func (m *Model) toolCells() []*model.Cell {
	var out []*model.Cell
	line, col := m.line(), m.column()
	switch {
	case line != nil && col != nil:
		if c := m.cell(); c != nil && c.Tools != nil {
			out = append(out, c)
		}
	case line != nil:
		for _, i := range m.columns {
			if c := line.Cells[i]; c != nil && c.Tools != nil {
				return []*model.Cell{c} // the same server: one list is enough
			}
		}
	case col != nil:
		for _, c := range col.Cells {
			if c.Tools != nil {
				out = append(out, c)
			}
		}
	}
	return out
}

func (m *Model) toolLines() []toolLine {
	var out []toolLine
	for _, c := range m.toolCells() {
		shown := 0
		for i := range c.Tools.All {
			l := toolLine{cell: c, column: m.snap.Column(c.Harness), tool: &c.Tools.All[i], dropped: c.Tools.Dropped[i]}
			l.shown = l.tool.Name
			if !l.dropped {
				l.shown = c.Tools.ShownAs[shown]
				shown++
			}
			if m.tools.filter == "" || strings.Contains(strings.ToLower(l.tool.Name+" "+l.tool.Description), strings.ToLower(m.tools.filter)) {
				out = append(out, l)
			}
		}
	}
	if m.tools.byTokens {
		sort.SliceStable(out, func(i, j int) bool { return out[i].tool.Size > out[j].tool.Size })
	}
	return out
}

func (m *Model) toolsStart() int {
	if m.h >= topLineFrom {
		return 4
	}
	return 2
}

// toolRows is how many tools are on the screen; a tall window keeps a third for the selected tool.
func (m *Model) toolRows(total int) int {
	room := m.h - m.toolsStart() - 1
	if m.h >= topLineFrom {
		room -= max(8, room/3)
	}
	return max(1, min(room, total))
}

func (m *Model) moveTools(a action, step int) {
	n := len(m.toolLines())
	switch {
	case m.tools.schema:
		m.tools.offset = max(0, moved(a, m.tools.offset, step, farDown))
		return
	case a == actionLeft || a == actionRight:
		m.nextHarness(a)
		m.tools.row, m.tools.top = 0, 0
		return
	}
	m.tools.row = moved(a, m.tools.row, step, n-1)
	m.tools.row = max(0, min(m.tools.row, n-1))
}

func (m *Model) selectedTool() *toolLine {
	lines := m.toolLines()
	if m.tools.row < 0 || m.tools.row >= len(lines) {
		return nil
	}
	return &lines[m.tools.row]
}

func (m *Model) toolsCrumb() string {
	line, col := m.line(), m.column()
	switch {
	case line != nil && col != nil:
		return m.name(line.Server.Name) + " in " + col.Title + " › tools"
	case line != nil:
		return m.name(line.Server.Name) + " › tools"
	case col != nil:
		return col.Title + " › tools"
	}
	return "tools"
}

func (m *Model) drawTools(c *canvas) {
	lines := m.toolLines()
	m.tools.row = max(0, min(m.tools.row, len(lines)-1))
	var offered, listed, tokens, unclear int
	for _, cell := range m.toolCells() {
		offered += cell.Tools.Offered
		listed += cell.Tools.Listed
		tokens += cell.Tools.Tokens
		unclear += cell.Tools.Unclear
	}
	right := []run{{strconv.Itoa(offered) + " offered", roleText}, {" of " + strconv.Itoa(listed), roleDim}, {"   " + tokensText(tokens) + " tokens", roleText}}
	if unclear > 0 {
		right = append(right, run{"   " + strconv.Itoa(unclear) + " unclear", roleWarn})
	}
	if m.w < 80 {
		right = right[:2]
	}
	m.drawHeader(c, m.toolsCrumb(), right)
	if m.tools.schema {
		m.drawSchema(c)
		return
	}
	at := layoutTools(m.w)
	y := m.toolsStart()
	if m.h >= topLineFrom {
		head := "tool"
		if col := m.column(); col != nil {
			head = "tool as " + col.Title + " names it"
		}
		c.put(2, 2, head, roleDim, at.name)
		c.put(at.tokens-6, 2, "tokens", roleDim, 6)
		if at.hint > 0 {
			c.put(at.hint, 2, "hint", roleDim, 8)
		}
		if at.says > 0 {
			c.put(at.says, 2, "what it says", roleDim, m.w-at.says-2)
		}
	}
	visible := m.toolRows(len(lines))
	m.tools.top = scrollTo(m.tools.top, m.tools.row, visible, len(lines))
	for i := 0; i < visible && m.tools.top+i < len(lines); i++ {
		m.drawTool(c, &lines[m.tools.top+i], m.tools.top+i == m.tools.row, y+i, at)
	}
	if len(lines) == 0 {
		why := "nobody has listed its tools yet: x launches it"
		if m.tools.filter != "" {
			why = "no tool matches " + m.tools.filter
		}
		c.put(2, y, why, roleDim, m.w-4)
	}
	if len(lines) > visible {
		drawRule(c, m.w-1, y, y+visible, y, len(lines), m.tools.top, visible)
	}
	if t := m.selectedTool(); t != nil && m.h >= topLineFrom {
		m.drawToolDetail(c, t, y+visible+1)
	}
	m.drawFooter(c, m.viewHints(hintSpec{actionEnter, "schema"}, hintSpec{actionFilter, ""}, hintSpec{actionSort, "sort"}, hintSpec{actionCopy, "copy name"},
		hintSpec{actionNone, "other harness"}, hintSpec{actionBack, "back"}), strconv.Itoa(min(m.tools.row+1, len(lines)))+" of "+strconv.Itoa(len(lines)))
}

// toolColumns are where the columns of the list stand.
type toolColumns struct{ name, tokens, hint, says int }

func layoutTools(width int) toolColumns {
	switch {
	case width >= 100:
		return toolColumns{42, 52, 54, 63}
	case width >= narrowBelow:
		return toolColumns{28, 38, 40, 50}
	default:
		return toolColumns{max(4, width-12), width - 2, 0, 0}
	}
}

func (m *Model) drawTool(c *canvas, t *toolLine, here bool, y int, at toolColumns) {
	nameRole, saysRole := roleText, roleDim
	if t.dropped {
		nameRole = roleDim
	}
	if here {
		c.put(0, y, "▌", roleAccent, 1)
		nameRole, saysRole = roleStrong, roleText
	}
	shown := m.text(t.shown)
	if lead, ok := strings.CutSuffix(shown, m.text(t.tool.Name)); ok && lead != "" {
		if textWidth(shown) > at.name-2 {
			lead = fitLeft(lead, max(0, at.name-2-textWidth(t.tool.Name)))
		}
		c.runs(2, y, []run{{lead, roleDim}, {m.text(t.tool.Name), nameRole}}, at.name-2)
	} else {
		c.put(2, y, shown, nameRole, at.name-2)
	}
	tokens := strconv.Itoa(t.tool.Tokens())
	c.right(at.tokens, y, []run{{tokens, map[bool]role{true: roleDim, false: roleText}[t.dropped]}})
	word, r := toolHint(t)
	if at.hint > 0 {
		c.put(at.hint, y, word, r, 8)
	}
	if at.says > 0 {
		says := m.text(firstLine(t.tool.Description))
		switch {
		case t.tool.Malformed != "":
			says, saysRole = "malformed: "+m.text(t.tool.Malformed), roleBad
		case t.dropped:
			says = "dropped by a filter"
			if t.cell.Filter != nil && !t.cell.Filter.At.IsZero() {
				says += ": " + m.path(t.cell.Filter.At.Path) + lineSuffix(t.cell.Filter.At.Line)
			}
		case says == "":
			says, saysRole = "(no description)", roleWarn
		case t.tool.Unclear():
			saysRole = roleWarn
		}
		c.put(at.says, y, says, saysRole, m.w-at.says-2)
	}
}

// toolHint is the server's own hint in one word.
func toolHint(t *toolLine) (string, role) {
	yes := func(b *bool) bool { return b != nil && *b }
	switch {
	case t.dropped:
		return "off", roleDim
	case yes(t.tool.ReadOnly):
		return "reads", roleDim
	case yes(t.tool.Destructive):
		return "destroys", roleWarn
	case t.tool.ReadOnly != nil || t.tool.Destructive != nil:
		return "writes", roleText
	}
	return "", roleDim
}

func firstLine(s string) string {
	s = strings.TrimSpace(s)
	if i := strings.IndexByte(s, '\n'); i >= 0 {
		s = s[:i]
	}
	return s
}

func (m *Model) drawToolDetail(c *canvas, t *toolLine, y int) {
	last := c.h - 2
	lines := m.toolText(t, m.w-4, false)
	for _, l := range lines {
		if y >= last {
			return
		}
		c.runs(2, y, l, m.w-4)
		y++
	}
}

// toolText is everything about a tool as lines; whole adds the schema as it was sent.
func (m *Model) toolText(t *toolLine, width int, whole bool) [][]run {
	var words []string
	for _, x := range []struct {
		b       *bool
		yes, no string
	}{{t.tool.ReadOnly, "read-only", "writes"}, {t.tool.Destructive, "destructive", "not destructive"}, {t.tool.Idempotent, "idempotent", "not idempotent"},
		{t.tool.OpenWorld, "open world", "closed world"}} {
		if x.b != nil && *x.b {
			words = append(words, x.yes)
		} else if x.b != nil {
			words = append(words, x.no)
		}
	}
	out := [][]run{{{m.text(t.tool.Name) + "  ", roleTitle}, {strings.Join(words, ", "), roleDim}}, nil}
	limit := 6
	if whole {
		limit = 400
	}
	paragraphs := strings.Split(strings.TrimSpace(t.tool.Description), "\n")
	for _, p := range paragraphs {
		for _, l := range wrap([]run{{m.text(p), roleText}}, min(width, 100)) {
			if limit == 0 {
				break
			}
			limit--
			out = append(out, l)
		}
	}
	out = append(out, nil)
	for _, p := range schemaParameters(t.tool.Schema) {
		out = append(out, []run{{padRight(m.text(p.name), 18) + " ", roleText}, {padRight(m.text(p.kind), 10) + " ", roleDim}, {padRight(p.required, 10), roleDim}, {m.text(p.what), roleDim}})
	}
	others, collides := m.toolElsewhere(t)
	if others != "" || collides > 0 {
		out = append(out, nil)
	}
	if others != "" {
		out = append(out, wrap([]run{{"also as  ", roleDim}, {others, roleText}}, width)...)
	}
	if collides > 0 {
		out = append(out, []run{{count(collides, "tool") + " of other servers here", roleText}, {" has this plain name, too", roleDim}})
		if collides > 1 {
			out[len(out)-1][1].text = " have this plain name, too"
		}
	}
	if whole && t.tool.Schema != "" {
		out = append(out, nil, []run{{"schema", roleTitle}})
		var indented strings.Builder
		enc := json.NewEncoder(&indented)
		enc.SetIndent("", "  ")
		enc.SetEscapeHTML(false)
		var v any
		text := t.tool.Schema
		if json.Unmarshal([]byte(t.tool.Schema), &v) == nil && enc.Encode(v) == nil {
			text = strings.TrimRight(indented.String(), "\n")
		}
		for i, l := range strings.Split(text, "\n") {
			if i == 500 {
				out = append(out, []run{{"…", roleDim}})
				break
			}
			out = append(out, chop([]run{{m.text(l), roleDim}}, width)...)
		}
	}
	return out
}

// toolElsewhere names the tool as the other harnesses see it, and counts the tools of the same plain name that other servers
// of this harness have.
func (m *Model) toolElsewhere(t *toolLine) (others string, collides int) {
	var parts []string
	for _, i := range m.columns {
		col := m.snap.Columns[i]
		for _, c := range col.Cells {
			if c.Tools == nil || c == t.cell {
				continue
			}
			for j, n := range c.Tools.Names {
				if n != t.tool.Name {
					continue
				}
				if c.Name == t.cell.Name && len(parts) < 6 {
					parts = append(parts, m.text(c.Tools.ShownAs[j])+" ("+col.Title+")")
				} else if col == t.column {
					collides++
				}
			}
		}
	}
	return strings.Join(parts, ", "), collides
}

func (m *Model) drawSchema(c *canvas) {
	t := m.selectedTool()
	if t == nil {
		m.tools.schema = false
		m.drawTools(c)
		return
	}
	top := 1
	if m.h >= topLineFrom {
		top = 2
	}
	lines := m.toolText(t, m.w-4, true)
	room := m.h - top - 2
	m.tools.offset = max(0, min(m.tools.offset, len(lines)-room))
	for i := 0; i < room && m.tools.offset+i < len(lines); i++ {
		c.runs(2, top+i, lines[m.tools.offset+i], m.w-4)
	}
	if len(lines) > room {
		drawRule(c, m.w-1, top, top+room, top, len(lines), m.tools.offset, room)
	}
	m.drawFooter(c, m.viewHints(hintSpec{actionBack, "back"}, hintSpec{actionCopy, "copy name"}), "")
}

// parameter is one property of a tool's input.
type parameter struct{ name, kind, required, what string }

// schemaParameters reads the properties of an input schema, in alphabetical order, the required ones first. A schema that
// is no object has none.
func schemaParameters(schema string) []parameter {
	var s struct {
		Properties map[string]json.RawMessage `json:"properties"`
		Required   []string                   `json:"required"`
	}
	if json.Unmarshal([]byte(schema), &s) != nil {
		return nil
	}
	required := map[string]bool{}
	for _, r := range s.Required {
		required[r] = true
	}
	var out []parameter
	for name, raw := range s.Properties {
		var p struct {
			Type        any    `json:"type"`
			Description string `json:"description"`
		}
		_ = json.Unmarshal(raw, &p) // a property of another shape still has a name
		x := parameter{name: name, what: firstLine(p.Description)}
		if p.Type != nil {
			x.kind = fmt.Sprint(p.Type)
		}
		if required[name] {
			x.required = "required"
		}
		out = append(out, x)
	}
	sort.Slice(out, func(i, j int) bool {
		if (out[i].required != "") != (out[j].required != "") {
			return out[i].required != ""
		}
		return out[i].name < out[j].name
	})
	if len(out) > 40 {
		out = out[:40]
	}
	return out
}

// tokensText writes an estimate in at most 7 cells: 823, 1.9k, 2.0M.
func tokensText(n int) string {
	switch {
	case n < 1000:
		return strconv.Itoa(n)
	case n < 1_000_000:
		return strconv.FormatFloat(float64(n)/1000, 'f', 1, 64) + "k"
	}
	return strconv.FormatFloat(float64(n)/1_000_000, 'f', 1, 64) + "M"
}
