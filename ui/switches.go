package ui

import (
	"fmt"
	"strconv"
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"fusebox/model"
)

// Messages of switching.
type (
	switchPlannedMsg struct {
		plan  SwitchPlan
		asked bool // a key asked for it; false: it was planned anew because a file changed meanwhile
	}
	switchedMsg struct {
		report SwitchReport
		intent Intent
		undo   bool
	}
	undoPeekedMsg struct {
		what  string
		files []FileDiff
		err   error
	}
)

// intend makes the intent of a key for what the cursor is on.
func (m *Model) intend(kind IntentKind) Intent {
	in := Intent{Kind: kind}
	add := func(c *model.Cell) {
		if c != nil && c.Overlays&model.OverlayStale == 0 {
			in.Cells = append(in.Cells, model.CellKey{Harness: c.Harness, Name: c.Name})
		}
	}
	line, col := m.line(), m.column()
	switch {
	case line != nil && col != nil:
		add(m.cell())
	case line != nil:
		in.Row = true
		for _, i := range m.columns {
			add(line.Cells[i])
		}
	case col != nil:
		in.Column = true
		for _, c := range col.Cells {
			add(c)
		}
	}
	return in
}

// againstSwitch says why a switch or a consent cannot be written for what the cursor is on.
func (m *Model) againstSwitch(kind IntentKind) string {
	if m.o.Switcher == nil {
		return "nothing is written here"
	}
	if m.view != viewGrid && m.view != viewDetail {
		return "it acts on the cells of the grid: esc first"
	}
	cell := m.cell()
	if cell != nil {
		switch {
		case cell.Overlays&model.OverlayStale != 0:
			return "the file does not parse, so it is not written: e opens it"
		case kind == IntentToggle:
			return cell.Capabilities.Toggle
		case kind == IntentApprove:
			return cell.Capabilities.Approve
		}
		return ""
	}
	if len(m.intend(kind).Cells) == 0 {
		return "there is nothing to switch here"
	}
	return ""
}

func (m *Model) planSwitch(in Intent, asked bool) tea.Cmd {
	switcher := m.o.Switcher
	return m.guarded(func() tea.Msg { return switchPlannedMsg{switcher.Plan(in), asked} })
}

// switchPlanned asks, says why there is nothing to write, or writes at once where that was allowed for this run.
func (m *Model) switchPlanned(p SwitchPlan, asked bool) tea.Cmd {
	writes, elsewhere := 0, false
	for i := range p.Items {
		it := &p.Items[i]
		if it.Writes() {
			writes++
			elsewhere = elsewhere || it.Options[it.Chosen].InFolder || it.Options[it.Chosen].Repository
		}
		elsewhere = elsewhere || len(it.Options) > 0 && it.Refused == "" && !it.Already && !it.Writes()
	}
	single := p.Intent.Kind == IntentToggle && len(p.Intent.Cells) == 1 && !p.Intent.Row && !p.Intent.Column
	choosable := false
	for i := range p.Items {
		for j := range p.Items[i].Options {
			choosable = choosable || p.Items[i].Options[j].Unavailable == ""
		}
	}
	if writes == 0 && !choosable {
		why := "there is nothing to write"
		for i := range p.Items {
			switch it := &p.Items[i]; {
			case it.Refused != "":
				why = it.Refused
			case it.Already:
				why = m.text(it.Cell.Name) + " is so already in " + it.Harness
			case len(it.Options) > 0:
				why = it.Options[0].Unavailable
			}
		}
		m.say([]run{{"· ", roleDim}, {m.text(why), roleText}}, toastFor)
		return m.wakeAt(m.o.Now().Add(toastFor))
	}
	if single && asked && m.skipSwitches && writes == 1 && !elsewhere && !m.trustsFolder(&p) {
		return m.applySwitch(p, nil)
	}
	m.ask(m.switchDialog(p, single && !elsewhere), asked)
	return nil
}

func (m *Model) trustsFolder(p *SwitchPlan) bool {
	for i := range p.Items {
		if it := &p.Items[i]; it.Writes() && it.Options[it.Chosen].TrustsFolder {
			return true
		}
	}
	return false
}

// applySwitch writes a plan without the items that were left out.
func (m *Model) applySwitch(p SwitchPlan, without map[int]bool) tea.Cmd {
	var kept []SwitchItem
	for i := range p.Items {
		if !without[i] {
			kept = append(kept, p.Items[i])
		}
	}
	p.Items = kept
	switcher := m.o.Switcher
	return m.guarded(func() tea.Msg { return switchedMsg{switcher.Apply(p), p.Intent, false} })
}

// switchDialog shows what would be written where, what it reaches and what it lets in.
func (m *Model) switchDialog(p SwitchPlan, offerSkip bool) *dialog {
	d := &dialog{title: p.Title, no: "no, nothing is written"}
	without := map[int]bool{}
	if offerSkip {
		skip := false
		d.skip = &skip
	}
	if len(p.Items) == 1 {
		it := &p.Items[0]
		d.rows = len(it.Options)
		d.row = it.Chosen + 1
		if d.rows > 1 {
			d.hint = []hint{{"space", "choose reach", actionNone}}
		} else {
			d.rows, d.row = 0, 0
		}
		d.refresh = func(d *dialog) { m.oneSwitch(d, &p) }
	} else {
		d.rows, d.row = len(p.Items), 1
		d.hint = []hint{{"space", "leave one out", actionNone}}
		d.refresh = func(d *dialog) { m.severalSwitches(d, &p, without) }
	}
	d.answer = func(d *dialog) tea.Cmd {
		if d.skip != nil && *d.skip {
			m.skipSwitches = true
		}
		if m.trustsFolder(&p) {
			m.ask(m.trustDialog(p, without), true)
			return nil
		}
		return m.applySwitch(p, without)
	}
	return d
}

// trustDialog is the separate yes for a whole folder.
func (m *Model) trustDialog(p SwitchPlan, without map[int]bool) *dialog {
	d := &dialog{title: "Trust the whole folder " + m.path(m.snap.Project) + "?", warn: true, yes: "Yes, trust the folder", no: "no, nothing is written"}
	if m.path(m.snap.Project) == m.snap.Project {
		d.title = "Trust the whole folder " + model.Clean(model.Tilde(m.snap.Project, m.snap.Home)) + "?"
	}
	for i := range p.Items {
		it := &p.Items[i]
		if without[i] || !it.Writes() || !it.Options[it.Chosen].TrustsFolder {
			continue
		}
		o := &it.Options[it.Chosen]
		d.lines = append(d.lines, dialogLine{runs: []run{{"▴ ", roleWarn}, {it.Harness + " then trusts everything in it, now and later: this is more than one server.", roleWarn}}}, dialogLine{})
		if o.LetsIn != "" {
			d.lines = append(d.lines, dialogLine{label: "lets in  ", runs: []run{{m.text(o.LetsIn), roleText}}})
		}
	}
	d.answer = func(*dialog) tea.Cmd { return m.applySwitch(p, without) }
	return d
}

func (m *Model) oneSwitch(d *dialog, p *SwitchPlan) {
	it := &p.Items[0]
	d.lines = nil
	line := func(label string, rs ...run) { d.lines = append(d.lines, dialogLine{label: label, runs: rs}) }
	cell := cellOf(m.snap, it.Cell)
	if p.Intent.Kind == IntentApprove && cell != nil {
		d.warn = cell.Scope == model.ScopeProject
		if d.warn {
			line("", run{"▴ ", roleWarn}, run{"The definition is a file of the repository: whoever can commit can change it.", roleWarn})
			line("")
		}
		m.definitionFacts(d, cell)
	}
	for i := range it.Options {
		o := &it.Options[i]
		mark, r := "( ) ", roleText
		if i == it.Chosen {
			mark = "(•) "
		}
		if o.Unavailable != "" {
			r = roleDim
		}
		text := padRight(m.text(o.Label), 20) + " "
		where := run{"", roleDim}
		if len(o.Files) > 0 {
			where.text = m.path(o.Files[0].Path)
		}
		if o.Unavailable != "" {
			if where.text != "" {
				where.text += ": "
			}
			where.text += m.text(o.Unavailable)
		} else if o.Repository {
			where.role = roleWarn
		}
		label := "         "
		if i == 0 {
			label = "reach    "
		}
		d.lines = append(d.lines, dialogLine{label: label, row: i + 1, runs: []run{{mark, roleAccent}, {text, r}, where}, flip: func() bool {
			if o.Unavailable == "" {
				it.Chosen = i
			}
			return true
		}})
	}
	line("")
	d.yes = "Yes, write it"
	if it.Chosen >= 0 && it.Chosen < len(it.Options) {
		o := &it.Options[it.Chosen]
		if n := len(o.Files); n > 1 {
			d.yes = "Yes, write " + count(n, "file")
		}
		if p.Intent.Kind == IntentApprove {
			d.yes = "Yes, approve"
		} else if p.Intent.Kind == IntentRevoke {
			d.yes = "Yes, revoke"
		}
		m.diffLines(d, o.Files)
		if o.Repository {
			line("reaches  ", run{"everybody who uses this repository", roleWarn})
		}
		if o.LetsIn != "" {
			line("lets in  ", run{m.text(o.LetsIn), roleText})
		}
		if o.Warning != "" {
			line("note     ", run{m.text(o.Warning), roleWarn})
		}
		if o.Missing != "" {
			line("missing  ", run{m.text(o.Missing), roleWarn})
		}
	}
	m.consequences(d, []SwitchItem{*it}, p)
}

// definitionFacts says what would run, before a consent is given to it.
func (m *Model) definitionFacts(d *dialog, cell *model.Cell) {
	if def := cell.Definition; def != nil {
		label := "would run  "
		if def.Transport.Remote() {
			label = "would reach  "
		}
		d.lines = append(d.lines, dialogLine{label: label, code: true, runs: []run{{m.text(def.Display()), roleText}}})
		if names := def.EnvNames(); len(names) > 0 {
			d.lines = append(d.lines, dialogLine{label: "gets       ", runs: secretRuns(m, "", names)})
		}
		if names := def.HeaderNames(); len(names) > 0 {
			d.lines = append(d.lines, dialogLine{label: "sends      ", runs: secretRuns(m, "", names)})
		}
	}
	d.lines = append(d.lines, dialogLine{label: "from       ", code: true, runs: []run{{m.path(cell.Source.Path) + lineSuffix(cell.Source.Line), roleText}}})
	if cell.Reason.Code == model.ReasonApprovalChanged {
		d.lines = append(d.lines, dialogLine{label: "changed    ", runs: []run{{m.text(cell.Reason.Text), roleWarn}}})
	}
	label := "was        "
	for _, l := range m.oldLines(cell) {
		d.lines = append(d.lines, dialogLine{label: label, runs: l.runs})
		label = "           "
	}
	d.lines = append(d.lines, dialogLine{})
}

// diffLines shows what the files change; nothing is cut.
func (m *Model) diffLines(d *dialog, files []FileDiff) {
	for _, f := range files {
		what := changeText(f)
		d.lines = append(d.lines, dialogLine{label: "writes   ", runs: []run{{m.path(f.Path), roleText}, {"   " + what, roleDim}}})
		for _, l := range f.Lines {
			if l.Number == 0 {
				d.lines = append(d.lines, dialogLine{runs: []run{{"     …", roleDim}}})
				continue
			}
			r := map[byte]role{'+': roleOK, '-': roleBad}[l.Sign]
			if l.Sign == ' ' || l.Sign == 0 {
				r = roleDim
			}
			d.lines = append(d.lines, dialogLine{label: fmt.Sprintf("%4d ", l.Number), code: true, runs: []run{{string(l.Sign) + " ", r}, {model.Clean(strings.ReplaceAll(l.Text, "\t", "    ")), r}}})
		}
		d.lines = append(d.lines, dialogLine{})
	}
}

func changeText(f FileDiff) string {
	var parts []string
	if f.Created {
		parts = append(parts, "a new file")
	}
	if changed := min(f.Added, f.Removed); changed > 0 && !f.Created {
		parts = append(parts, count(changed, "line")+" changed")
		f.Added, f.Removed = f.Added-changed, f.Removed-changed
	}
	if f.Added > 0 {
		parts = append(parts, count(f.Added, "line")+" added")
	}
	if f.Removed > 0 {
		parts = append(parts, count(f.Removed, "line")+" removed")
	}
	return strings.Join(parts, ", ")
}

// consequences says what is freed and which open sessions keep the old state.
func (m *Model) consequences(d *dialog, items []SwitchItem, p *SwitchPlan) {
	tools, tokens, harnesses := 0, 0, 0
	for i := range items {
		it := &items[i]
		if it.Frees != nil && p.Intent.Kind == IntentToggle && !p.On {
			tools += it.Frees.Tools
			tokens += it.Frees.Tokens
			harnesses++
		}
	}
	if tools > 0 {
		text := fmt.Sprintf("%s, about %s tokens", count(tools, "tool"), tokensText(tokens))
		if harnesses > 1 {
			text += " in " + strconv.Itoa(harnesses) + " harnesses"
		}
		d.lines = append(d.lines, dialogLine{label: "frees    ", runs: []run{{text, roleText}}})
	}
	for i := range items {
		it := &items[i]
		col := m.snap.Column(it.Cell.Harness)
		if !it.Writes() || col == nil {
			continue
		}
		for _, s := range col.Sessions {
			d.lines = append(d.lines, dialogLine{label: "then     ", runs: []run{{fmt.Sprintf("%s pid %d in this folder keeps it as it is until it is restarted", col.Title, s.PID), roleText}}})
		}
	}
}

func (m *Model) severalSwitches(d *dialog, p *SwitchPlan, without map[int]bool) {
	d.lines = nil
	files := map[string]bool{}
	var already, refused, writes int
	for i := range p.Items {
		it := &p.Items[i]
		switch {
		case it.Already:
			already++
		case !it.Writes():
			refused++
		case !without[i]:
			writes++
			for _, f := range it.Options[it.Chosen].Files {
				files[f.Path] = true
			}
		}
	}
	parts := []string{count(len(files), "file") + " would change"}
	if already > 0 {
		parts = append(parts, strconv.Itoa(already)+" so already")
	}
	if refused > 0 {
		parts = append(parts, strconv.Itoa(refused)+" cannot")
	}
	d.yes = "Yes, write " + count(len(files), "file")
	d.lines = append(d.lines, dialogLine{runs: []run{{strings.Join(parts, ", ") + "; one undo step", roleDim}}}, dialogLine{})
	var kept []SwitchItem
	for i := range p.Items {
		it := &p.Items[i]
		who := it.Harness
		if p.Intent.Column {
			who = m.name(it.Cell.Name)
		}
		l := dialogLine{row: i + 1}
		switch {
		case it.Already:
			l.runs = []run{{"· ", roleDim}, {padRight(who, 14) + " ", roleDim}, {"so already", roleDim}}
		case !it.Writes():
			why := it.Refused
			if why == "" && len(it.Options) > 0 {
				why = it.Options[0].Unavailable
			}
			l.runs = []run{{"✗ ", roleBad}, {padRight(who, 14) + " ", roleDim}, {m.text(why), roleBad}}
		default:
			o := &it.Options[it.Chosen]
			sign, r := run{"✓ ", roleOK}, roleText
			if without[i] {
				sign, r = run{"  ", roleDim}, roleDim
			} else {
				kept = append(kept, *it)
			}
			label := run{m.text(o.Label), roleDim}
			if o.Repository {
				label.role = roleWarn
			}
			if without[i] {
				label = run{"left out", roleDim}
			}
			path := ""
			if len(o.Files) > 0 {
				path = m.path(o.Files[0].Path)
			}
			l.runs = []run{sign, {padRight(who, 14) + " ", r}, {padRight(path, 28) + " ", r}, label}
			l.flip = func() bool {
				if without[i] {
					delete(without, i)
				} else if len(kept) > 1 {
					without[i] = true
				}
				return true
			}
		}
		d.lines = append(d.lines, l)
	}
	d.lines = append(d.lines, dialogLine{})
	for i := range kept {
		m.diffLines(d, kept[i].Options[kept[i].Chosen].Files)
	}
	m.consequences(d, kept, p)
}

// switched says what was written and what was not. After a conflict it plans anew and asks again.
func (m *Model) switched(r SwitchReport, in Intent, undo bool) tea.Cmd {
	now := m.o.Now()
	for _, d := range r.Done {
		m.addEvent(event{now, "✓", roleOK, m.text(d.What), m.text(d.Where)})
	}
	for _, k := range r.Changed {
		m.changed[k] = now.Add(changedFor)
	}
	if r.Conflict && !undo {
		m.say([]run{{"· ", roleDim}, {"the file changed meanwhile: look at it again", roleText}}, toastFor)
		return m.planSwitch(in, false)
	}
	if len(r.Failed) > 0 {
		m.fail("not written: " + strings.Join(r.Failed, "; "))
		return nil
	}
	written := 0 // the others were so already, such as after a second panel wrote the same
	for _, d := range r.Done {
		if d.Where != "" {
			written++
		}
	}
	var rs []run
	switch {
	case len(r.Done) == 1 && written == 0:
		rs = []run{{"✓ ", roleOK}, {m.text(r.Done[0].What), roleText}, {"   was so already, nothing was written", roleDim}}
	case len(r.Done) == 1:
		rs = []run{{"✓ ", roleOK}, {m.text(r.Done[0].What), roleText}, {"   " + m.text(r.Done[0].Where), roleDim}}
	case written > 0:
		rs = []run{{"✓ ", roleOK}, {count(written, "change") + " written", roleText}}
	default:
		rs = []run{{"· ", roleDim}, {"there was nothing to write", roleText}}
	}
	if len(r.Missing) > 0 {
		missing := run{"   " + m.text(r.Missing[0]), roleWarn}
		if written > 0 && len(rs) > 2 && runsWidth(rs)+textWidth(missing.text) > m.w-4 {
			rs = rs[:2] // what is missing counts for more than where it was written
		}
		rs = append(rs, missing)
	} else if !undo && written > 0 {
		rs = append(rs, run{"   ", roleText}, run{"u", roleAccent}, run{" undo", roleDim})
	}
	m.say(rs, toastFor)
	return m.wakeAt(now.Add(toastFor))
}

// peekUndo asks what undo would take back.
func (m *Model) peekUndo() tea.Cmd {
	switcher := m.o.Switcher
	return m.guarded(func() tea.Msg {
		what, files, err := switcher.PeekUndo()
		return undoPeekedMsg{what, files, err}
	})
}

func (m *Model) undoPeeked(msg undoPeekedMsg) tea.Cmd {
	switch {
	case msg.err != nil:
		m.fail("not taken back: " + msg.err.Error())
		return nil
	case msg.what == "":
		m.say([]run{{"· ", roleDim}, {"there is nothing to take back", roleText}}, toastFor)
		return m.wakeAt(m.o.Now().Add(toastFor))
	}
	d := &dialog{title: "Take back: " + m.text(msg.what) + "?", yes: "Yes, take it back", no: "no, nothing is written"}
	m.diffLines(d, msg.files)
	switcher := m.o.Switcher
	d.answer = func(*dialog) tea.Cmd {
		return m.guarded(func() tea.Msg { return switchedMsg{switcher.Undo(), Intent{}, true} })
	}
	m.ask(d, true)
	return nil
}
