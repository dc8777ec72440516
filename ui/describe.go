package ui

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"fusebox/model"
)

// describe says what the pane says about what the cursor is on: a cell, a row or a column.
func (m *Model) describe() paneView {
	line, col := m.line(), m.column()
	switch {
	case line == nil && col != nil:
		return m.describeColumn(col)
	case line == nil:
		return paneView{title: []run{{"nothing is shown", roleTitle}}, parts: []panePart{blank(),
			part("why", plain("no server matches the filter "+m.text(m.filterText))), blank(), part("keys", keyLine("esc", "clear the filter"))}}
	case col == nil:
		return m.describeRow(line)
	default:
		if cell := m.cell(); cell != nil {
			return m.describeCell(line, cell, col)
		}
		return m.describeNothing(line, col)
	}
}

func keyLine(key, text string) paneLine {
	return paneLine{key: key, runs: []run{{text, roleText}}}
}

func (m *Model) describeCell(line *model.Line, cell *model.Cell, col *model.Column) paneView {
	tall := m.h >= tallFrom
	p := paneView{title: []run{{m.name(cell.Name), roleTitle}, {" in " + col.Title, roleDim}}, state: cell.State(), words: cell.StateWords(m.o.Now())}
	add := func(ps ...panePart) { p.parts = append(p.parts, ps...) }
	if cell.Launch != nil {
		p.sign = m.spinner()
		if cell.Definition != nil {
			add(blank(), part("runs", m.definitionLines(cell.Definition)...))
		}
		add(blank(), part("so far", append(m.progressLines(cell.Launch), dimmed("x stops it"))...))
		add(blank(), part("keys", m.actKeys()...))
		return p
	}
	reason := cell.StateReason()
	if cell.Overlays&model.OverlayStale != 0 {
		add(blank(), part("stale", plain("its file is broken; this is the last good answer, from "+col.StaleAt.Format("15:04:05"))))
	}
	if reason.Text != "" {
		why := []paneLine{plain(m.text(reason.Text))}
		decider := reason.DecidedBy
		if !decider.IsZero() && (decider.Path != cell.Source.Path || decider.Line != cell.Source.Line) && !namesPlace(reason.Text, decider, m.snap.Home) {
			why = append(why, prose(run{m.path(reason.DecidedBy.Path) + lineSuffix(reason.DecidedBy.Line), roleText}))
		}
		add(blank(), part("why", why...))
	}
	if cell.Reload != nil && cell.State() != model.StateAwaitingReconnect {
		add(part("then", plain(m.text(cell.Reload.Text))))
	}
	if code := reason.Code; code == model.ReasonNeedsLogin || code == model.ReasonLoginExpired {
		if how := col.SignInTo(cell.Name); how != "" {
			add(part("then", plain("sign in with "+m.text(how))))
		}
	}
	where := []paneLine{plain(m.path(cell.Source.Path) + lineSuffix(cell.Source.Line))}
	if tall && cell.Source.Key != "" {
		where[0].runs = append(where[0].runs, run{"   " + m.text(cell.Source.Key), roleDim})
	}
	where = append(where, dimmed(reachOf(cell.Scope)))
	add(blank(), part("where", where...))
	if lines := m.beats(cell); len(lines) > 0 {
		add(part("beats", lines...))
	}
	if lines := m.pendingLines(cell); len(lines) > 0 {
		add(part("waits", lines...))
	}
	if cell.Definition != nil {
		add(part("runs", m.definitionLines(cell.Definition)...))
	}
	if lines := m.oldLines(cell); len(lines) > 0 {
		add(part("was", lines...))
	}
	if lines := m.noteLines(cell); len(lines) > 0 {
		add(part("note", lines...))
	}
	if cell.Tools != nil {
		add(blank(), part("tools", m.toolSummary(cell, tall)...))
	}
	add(blank(), part("keys", m.cellKeys(cell)...))
	if tall {
		if lines := m.alsoLines(line, cell); len(lines) > 0 {
			add(blank(), part("also", lines...))
		}
	}
	return p
}

func (m *Model) beats(cell *model.Cell) []paneLine {
	var out []paneLine
	for _, r := range cell.Replaces {
		verb := string(r.Scope)
		if r.Merged {
			verb += ", merged into it"
		}
		out = append(out, prose(run{m.path(r.Source.Path) + lineSuffix(r.Source.Line) + " ", roleText}, run{verb, roleDim}))
	}
	return out
}

func (m *Model) pendingLines(cell *model.Cell) []paneLine {
	var out []paneLine
	for _, w := range cell.Pending {
		s := styleOf(w.State)
		info, _ := w.Reason.Code.Info()
		out = append(out, prose(run{s.symbol + " ", s.symbolRole}, run{m.path(w.Source.Path) + lineSuffix(w.Source.Line) + " ", roleText},
			run{string(w.Scope) + ", " + info.Words, roleDim}))
	}
	return out
}

// definitionLines says what would run: the command or the URL, then transport, folder, and the names of what it is given.
func (m *Model) definitionLines(d *model.Definition) []paneLine {
	out := []paneLine{plain(m.text(d.Display()))}
	transport := string(d.Transport)
	if d.Cwd != "" {
		transport += "  in " + m.text(model.MaskText(d.Cwd))
	}
	out = append(out, prose(append([]run{{transport, roleDim}}, secretRuns(m, "  ", d.HeaderNames())...)...))
	if names := d.EnvNames(); len(names) > 0 {
		out = append(out, prose(secretRuns(m, "env  ", names)...))
	}
	return out
}

// oldLines say what an entry of the folder was before it changed, where this run saw that, or git has what the consent was
// given to; else, of a consent that does not fit any more, that it is not known.
func (m *Model) oldLines(cell *model.Cell) []paneLine {
	old := m.was[model.CellKey{Harness: cell.Harness, Name: cell.Name}]
	from := ""
	if old == nil {
		if e := m.pastOf(cell); e != nil {
			old, from = e.Definition, e.Words()
		}
	}
	switch {
	case old != nil:
		lines := m.definitionLines(old)
		if cell.Definition != nil && old.Display() == cell.Definition.Display() {
			lines = append(lines, dimmed("what differs is not shown: a value, or the order of something"))
		}
		if from != "" {
			lines = append(lines, dimmed(from))
		}
		return lines
	case cell.Reason.Code == model.ReasonApprovalChanged:
		return []paneLine{dimmed("old text unknown, fingerprint differs")}
	}
	return nil
}

func secretRuns(m *Model, lead string, names []string) []run {
	var out []run
	for _, n := range names {
		out = append(out, run{lead + m.text(n) + " " + model.Dots, roleDim})
		lead = "  "
	}
	return out
}

// noteLines are the findings of the entry and the notes of its launch.
func (m *Model) noteLines(cell *model.Cell) []paneLine {
	out := m.findingLines(cell.Findings)
	if o := cell.Observation; o != nil {
		for _, n := range o.Notes {
			out = append(out, prose(run{"▴ ", roleWarn}, run{m.text(n), roleText}))
		}
		if cell.Decision != model.DecisionLoads && o.Outcome == model.OutcomeError {
			out = append(out, prose(run{"✗ ", roleBad}, run{"the last launch failed: " + m.text(o.Reason.Text), roleText}))
		}
	}
	return out
}

// toolSummary says how many tools there are and what they cost; a tall pane lists the first.
func (m *Model) toolSummary(cell *model.Cell, tall bool) []paneLine {
	t := cell.Tools
	text := fmt.Sprintf("%d here, %s tokens", t.Offered, tokensText(t.Tokens))
	if t.Offered < t.Listed {
		text = fmt.Sprintf("%d of %d here, %s tokens", t.Offered, t.Listed, tokensText(t.Tokens))
	}
	if t.Unclear > 0 {
		text += fmt.Sprintf(", %d unclear", t.Unclear)
	}
	out := []paneLine{plain(text)}
	if n := len(t.TooLong); n > 0 {
		out = append(out, prose(run{"▴ ", roleWarn}, run{count(n, "name") + " too long for this harness", roleText}))
	}
	if !tall {
		return out
	}
	const first = 3
	shown := 0
	for i := range t.All {
		if t.Dropped[i] || shown == first {
			continue
		}
		shown++
		out = append(out, cutLine(run{padRight(fit(m.text(t.All[i].Name), 22), 22), roleText}, run{fmt.Sprintf("%5d  ", t.All[i].Tokens()), roleDim},
			run{m.text(firstLine(t.All[i].Description)), roleDim}))
	}
	if t.Offered > shown {
		out = append(out, dimmed(fmt.Sprintf("%d more: t", t.Offered-shown)))
	}
	return out
}

// switchKeys are the keys that write, with what they would do here or why they cannot.
func (m *Model) switchKeys() []paneLine {
	if m.o.Switcher == nil {
		return nil
	}
	var out []paneLine
	add := func(a action, key, text, lead string) {
		if _, ok := m.keys.byAction[a]; !ok {
			return
		}
		if why := m.against(a); why != "" {
			out = append(out, paneLine{key: key, why: true, runs: []run{{lead + ": " + m.text(why), roleDim}}})
			return
		}
		out = append(out, keyLine(key, text))
	}
	cell := m.cell()
	if cell == nil {
		return nil
	}
	if cell.State() == model.StateUnapproved {
		add(actionApprove, "a", approveText(cell), "approve")
	}
	text := "switch off here"
	if cell.Decision == model.DecisionOff {
		text = "switch on"
	}
	add(actionToggle, "space", text, "switch")
	if cell.State() != model.StateUnapproved {
		add(actionApprove, "a", approveText(cell), "approve")
	}
	return out
}

func approveText(cell *model.Cell) string {
	info, _ := cell.Reason.Code.Info()
	if cell.Decision == model.DecisionWaits || cell.Reason.Code == model.ReasonRejected {
		return info.Approve
	}
	return "approve it"
}

// actKeys are the keys that write or launch, with what they would do here or why they cannot.
func (m *Model) actKeys() []paneLine {
	out := m.switchKeys()
	if _, ok := m.keys.byAction[actionLaunch]; ok && m.o.Launcher != nil {
		text := "launch and list it"
		switch c := m.cell(); {
		case m.running():
			text = "stop it"
		case c != nil && c.Definition != nil && c.Definition.Transport.Remote():
			text = "reach it and list its tools"
		case c != nil && c.Observation != nil:
			text = "launch it again"
		}
		if why := m.against(actionLaunch); why != "" {
			out = append(out, paneLine{key: "x", why: true, runs: []run{{"launch: " + why, roleDim}}})
		} else {
			out = append(out, keyLine("x", text))
		}
	}
	if c := m.cell(); c != nil && c.Tools != nil {
		out = append(out, keyLine("t", "tools"))
	}
	if c := m.cell(); c != nil && (c.Observation != nil || c.Launch != nil) {
		out = append(out, keyLine("o", "output and protocol"))
	}
	return out
}

func (m *Model) findingLines(findings []model.Finding) []paneLine {
	var out []paneLine
	for _, f := range findings {
		sign := run{bullet, roleDim}
		if f.Severity == model.Warning {
			sign = run{"▴ ", roleWarn}
		}
		text := m.text(f.Text)
		if f.Line > 0 {
			text += " (line " + strconv.Itoa(f.Line) + ")"
		}
		out = append(out, prose(sign, run{text, roleText}))
	}
	return out
}

// cellKeys says what can be done here, and why not.
func (m *Model) cellKeys(cell *model.Cell) []paneLine {
	out := m.actKeys()
	if at := cell.OpenAt(); !at.IsZero() && at.Path[0] != '$' {
		out = append(out, keyLine("e", "open line "+strconv.Itoa(at.Line)))
	}
	out = append(out, keyLine("f", "files of the harness"), keyLine("Y", "copy path:line"))
	return out
}

// alsoLines lists the same row in the other harnesses: symbol, harness, word, place. Words and places stand in columns.
func (m *Model) alsoLines(line *model.Line, except *model.Cell) []paneLine {
	type answer struct {
		cell        *model.Cell
		title, word string
	}
	var answers []answer
	titles, words := 0, 0
	for _, i := range m.columns {
		cell := line.Cells[i]
		if cell == nil || cell == except {
			continue
		}
		a := answer{cell, fit(m.snap.Columns[i].Title, 18), cell.Word(m.o.Now())}
		if cell.State() == model.StateOK && cell.Tools != nil {
			a.word = count(cell.Tools.Offered, "tool")
		}
		titles, words = max(titles, textWidth(a.title)), max(words, textWidth(a.word))
		answers = append(answers, a)
	}
	if words > 0 {
		words += 2
	}
	var out []paneLine
	for _, a := range answers {
		s := styleOf(a.cell.State())
		l := cutLine(run{s.symbol + " ", s.symbolRole}, run{padRight(a.title, titles+2), roleText}, run{padRight(a.word, words), s.wordRole})
		l.place = m.path(a.cell.Source.Path) + lineSuffix(a.cell.Source.Line)
		out = append(out, l)
	}
	return out
}

func (m *Model) describeNothing(line *model.Line, col *model.Column) paneView {
	p := paneView{title: []run{{m.name(line.Server.Name), roleTitle}, {" in " + col.Title, roleDim}}, state: model.StateNone}
	why := col.Title + " has no server of this name here"
	if line.Tag != "" {
		for _, c := range line.Server.Cells {
			if c.Harness == col.ID {
				why = col.Title + " has another definition of this name: see its other row"
			}
		}
	}
	p.parts = []panePart{blank(), part("why", plain(why)), blank()}
	if lines := m.alsoLines(line, nil); len(lines) > 0 {
		p.parts = append(p.parts, part("also", lines...), blank())
	}
	p.parts = append(p.parts, part("keys", keyLine("f", "files of "+col.Title)))
	return p
}

func (m *Model) describeRow(line *model.Line) paneView {
	srv := line.Server
	p := paneView{title: []run{{m.name(srv.Name), roleTitle}, {"  row", roleDim}}}
	add := func(ps ...panePart) { p.parts = append(p.parts, ps...) }
	if len(srv.Definitions) > line.Definition {
		lines := m.definitionLines(srv.Definitions[line.Definition])[:1]
		same := "the same in all"
		if srv.Drift() {
			same = count(len(srv.Definitions), "definition") + " under this name"
		}
		add(blank(), part("runs", append(lines, dimmed(same))...))
	}
	if len(srv.SameAs) > 0 {
		names := make([]string, len(srv.SameAs))
		for i, n := range srv.SameAs {
			names[i] = m.name(n)
		}
		add(part("same", prose(run{"also called ", roleDim}, run{strings.Join(names, ", "), roleText})))
	}
	add(blank(), part("in", m.alsoLines(line, nil)...))
	keys := []paneLine{keyLine("→", "to the cells")}
	if at := m.place(); !at.IsZero() && at.Path[0] != '$' {
		keys = append(keys, keyLine("e", "open "+m.path(at.Path)+lineSuffix(at.Line)))
	}
	add(blank(), part("keys", keys...))
	return p
}

func (m *Model) describeColumn(col *model.Column) paneView {
	p := paneView{title: []run{{col.Title, roleTitle}, {"  column", roleDim}}}
	add := func(ps ...panePart) { p.parts = append(p.parts, ps...) }
	if f := brokenFile(col); f != nil {
		p.state, p.words = model.StateError, "broken file"
		at := f.Path
		why := []paneLine{prose(run{m.path(at) + position3(f.Line, f.Column), roleBad}), plain(m.text(trimPosition(f.Note)))}
		why = append(why, contextLines(f.Context)...)
		add(blank(), part("why", why...))
		if col.Broken != nil {
			add(blank(), part("so", plain(m.text(col.Broken.Text))))
		}
		if col.Stale {
			add(blank(), part("shown", dimmed("the last good cells, from "+col.StaleAt.Format("15:04:05")+"; they are marked ~ and no key acts on them")))
		}
	} else {
		t := col.Totals()
		add(blank(), part("loads", plain(fmt.Sprintf("%d of %s", t.Loads, count(t.Servers, "server")))))
		if col.Untrusted {
			add(part("trust", prose(run{"? ", roleWarn}, run{"this folder is not trusted, so none of what waits is loaded", roleText})))
		}
	}
	var notes []paneLine
	for _, n := range col.Notes {
		line := prose(run{"▴ ", roleWarn}, run{m.text(n.Text), roleText})
		notes = append(notes, line)
	}
	if len(notes) > 0 {
		add(blank(), part("note", notes...))
	}
	known := map[model.Verified]string{model.VerifiedRun: "observed on the real program", model.VerifiedSource: "read in its source",
		model.VerifiedDocs: "from documentation only, not verified"}[col.Verified]
	if col.VersionChecked != "" {
		known += ", version " + col.VersionChecked
	}
	add(blank(), part("rules", plain(known)))
	var blind []paneLine
	for _, b := range col.BlindSpots {
		blind = append(blind, prose(run{bullet, roleDim}, run{m.text(b.Text), roleDim}))
	}
	if len(blind) > 0 {
		add(part("unseen", blind...))
	}
	keys := []paneLine{}
	if at := m.place(); !at.IsZero() && at.Path[0] != '$' {
		keys = append(keys, keyLine("e", "open "+m.path(at.Path)+lineSuffix(at.Line)))
	}
	keys = append(keys, keyLine("f", "files of "+col.Title), keyLine("r", "read its files again"))
	add(blank(), part("keys", keys...))
	return p
}

func position3(line, column int) string {
	s := lineSuffix(line)
	if s != "" && column > 0 {
		s += ":" + strconv.Itoa(column)
	}
	return s
}

// trimPosition drops a leading "LINE:COLUMN: ", which is shown beside the path.
func trimPosition(note string) string {
	parts := strings.SplitN(note, ": ", 2)
	if len(parts) == 2 && strings.Trim(parts[0], "0123456789:") == "" {
		return parts[1]
	}
	return note
}

// contextLines shows the lines round a syntax error, values hidden, and a mark under the place.
func contextLines(c *model.Context) []paneLine {
	if c == nil {
		return nil
	}
	var out []paneLine
	for _, l := range c.Lines {
		r := roleDim
		if l.Number == c.Line {
			r = roleText
		}
		out = append(out, cutLine(run{fmt.Sprintf("%-4d", l.Number), roleDim}, run{model.Clean(l.Text), r}))
		if l.Number == c.Line {
			out = append(out, cutLine(run{strings.Repeat(" ", 4+min(max(c.Mark-1, 0), 60)) + "^ here", roleBad}))
		}
	}
	return out
}

// whyLine is the one line about the cursor over the footer of a window without a pane.
func (m *Model) whyLine() []run {
	line, col, cell := m.line(), m.column(), m.cell()
	switch {
	case line == nil && col != nil:
		if f := brokenFile(col); f != nil {
			return []run{{"✗ ", roleBad}, {m.path(f.Path) + position3(f.Line, f.Column) + "  ", roleText}, {m.text(trimPosition(f.Note)), roleDim}}
		}
		t := col.Totals()
		return []run{{col.Title + "  ", roleText}, {fmt.Sprintf("loads %d of %s", t.Loads, count(t.Servers, "server")), roleDim}}
	case line == nil:
		return []run{{"no server matches the filter", roleDim}}
	case col == nil:
		return []run{{m.name(line.Server.Name) + "  ", roleText}, {m.rowSummary(line), roleDim}}
	case cell == nil:
		return []run{{"· ", roleDim}, {m.name(line.Server.Name) + " is not in " + col.Title, roleDim}}
	}
	s := styleOf(cell.State())
	why := m.text(cell.StateReason().Text)
	if why == "" {
		why = cell.StateWords(m.o.Now())
	}
	at := cell.OpenAt()
	place := "   " + m.path(at.Path) + lineSuffix(at.Line)
	who := m.name(cell.Name)
	if !strings.HasPrefix(why, col.Title+" ") { // else the reason names the harness
		who += " in " + col.Title
	}
	head := []run{{s.symbol + " ", s.symbolRole}, {who + "  ", roleText}}
	room := m.w - 4 - runsWidth(head) - textWidth(place)
	if textWidth(why) > room && room >= 12 {
		why = fit(why, room)
	}
	return append(head, run{why + place, roleDim})
}

func (m *Model) rowSummary(line *model.Line) string {
	n := map[model.State]int{}
	for _, i := range m.columns {
		if c := line.Cells[i]; c != nil {
			n[c.State()]++
		}
	}
	on := n[model.StateConfigured] + n[model.StateOK]
	parts := []string{"on in " + strconv.Itoa(on)}
	for _, x := range []struct {
		s    model.State
		word string
	}{{model.StateDisabled, "off in "}, {model.StateUnapproved, "waits in "}, {model.StateUnauthenticated, "needs a sign-in in "},
		{model.StateError, "cannot load in "}, {model.StateAwaitingReconnect, "to reload in "}, {model.StateUnknown, "unseen in "}} {
		if n[x.s] > 0 {
			parts = append(parts, x.word+strconv.Itoa(n[x.s]))
		}
	}
	return strings.Join(parts, ", ")
}

// hints are the footer's keys for what the cursor is on, in the order of their worth.
func (m *Model) hints() []hint {
	var out []hint
	add := func(a action, label string) {
		if m.against(a) != "" && a != actionHelp || a == actionEnter && (m.paneFocus || m.view == viewDetail) {
			return
		}
		if slices.ContainsFunc(out, func(h hint) bool { return h.action == a }) {
			return
		}
		if h, ok := m.keys.hint(a, label); ok {
			out = append(out, h)
		}
	}
	cell, col, line := m.cell(), m.column(), m.line()
	if m.paneFocus {
		add(actionBack, "back")
	}
	switch {
	case line == nil && col != nil:
		if f := brokenFile(col); f != nil {
			add(actionEdit, editLabel(m.place()))
		}
		add(actionFiles, "files")
		add(actionToggle, "switch the column")
		out = append(out, hint{"↓", "to the rows", actionDown})
		add(actionReread, "read again")
	case col == nil && line != nil:
		add(actionToggle, "switch the row")
		add(actionLaunch, "launch the row")
		out = append(out, hint{"→", "to the cells", actionRight})
		add(actionEdit, "edit")
	default:
		switch cell.State() {
		case model.StateLaunching:
			add(actionLaunch, "stop it")
			add(actionLaunchAll, "stop all")
			add(actionOutput, "output")
			add(actionEnter, "detail")
		case model.StateConfigured:
			add(actionLaunch, "launch")
			add(actionToggle, "switch off")
			add(actionEnter, "detail")
			add(actionEdit, "edit")
		case model.StateOK:
			add(actionToggle, "switch off")
			add(actionTools, "tools")
			add(actionEnter, "detail")
			add(actionLaunch, "launch again")
			add(actionEdit, "edit")
		case model.StateError:
			add(actionOutput, "output")
			add(actionEdit, "open the line")
			if cell.Decision == model.DecisionLoads {
				add(actionLaunch, "launch again")
			}
			add(actionEnter, "why")
		case model.StateNone:
			add(actionFiles, "files")
		case model.StateDisabled:
			add(actionToggle, "switch on")
			add(actionEnter, "why")
			add(actionEdit, "edit")
		case model.StateUnapproved:
			if cell.Reason.Code == model.ReasonUntrustedFolder {
				add(actionApprove, "trust")
			} else {
				add(actionApprove, "approve")
			}
			add(actionEnter, "why")
			add(actionEdit, "edit")
		case model.StateAwaitingReconnect:
			add(actionEnter, "how to reload")
		default:
			add(actionEnter, "detail")
			add(actionEdit, "edit")
		}
	}
	add(actionNextWaiting, "")
	add(actionFilter, "")
	add(actionSort, "sort: "+m.sort.String())
	if cell != nil {
		add(actionFiles, "files")
	}
	if cell != nil && cell.State() != model.StateOK {
		add(actionTools, "")
		add(actionOutput, "")
	}
	if m.launching() == 0 {
		add(actionLaunchAll, "")
	}
	add(actionUndo, "")
	add(actionZoom, "")
	add(actionCopy, "")
	add(actionPalette, "")
	add(actionQuit, "")
	return out
}

func editLabel(at model.Location) string {
	if at.Line > 0 {
		return "open line " + strconv.Itoa(at.Line)
	}
	return "open it"
}
