package ui

import (
	"fmt"
	"slices"
	"strings"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"fusebox/model"
)

// Launcher starts and reaches servers. Plan and Start are called from commands; results come as new snapshots from the
// Source.
type Launcher interface {
	// Plan says what starting these cells would run or reach. Servers that are off or wait for consent are left out unless
	// single is set: then the one cell was asked for by itself.
	Plan(cells []model.CellKey, single bool) LaunchPlan
	// Start starts what a plan says, without the items whose index is in without, and returns at once. Cells that would start
	// something else by now than the plan says are not started but returned.
	Start(plan LaunchPlan, without map[int]bool) (changed []model.CellKey)
	// Stop ends running launches of these cells, of all if none is named, and returns at once.
	Stop(cells []model.CellKey)
}

// LaunchPlan is what would be started or reached.
type LaunchPlan struct {
	Items   []LaunchItem
	LeftOut []string // "2 that wait for approval"
	Refused []string // why nothing of the asked can be launched: one sentence each
	Limit   time.Duration
	AtOnce  int
	Ask     bool // something of it comes from the folder or is not approved
}

// LaunchItem is one start or one reach; it may answer for several cells.
type LaunchItem struct {
	Name       string
	Harnesses  []string // titles
	Command    string   // masked; "" for a remote server
	Folder     string   // where it starts
	Gets       string   // in words what of the environment it gets
	Variables  []string // names that the entry sets
	Host       string   // remote: where the headers go
	Headers    []string // names
	From       model.Location
	Repository bool // the entry is a file of the folder
	Unapproved bool
	Unset      []string
	Limit      time.Duration // the harness's own limit for the start, if it is shorter than ours
	Cells      []model.CellKey
	Token      any // the Launcher's own; handed back as it is
}

// Messages of launching.
type (
	plannedMsg struct {
		plan   LaunchPlan
		single bool
		asked  bool // a key asked for it; false: it was planned anew because a definition changed meanwhile
	}
	startedMsg struct {
		changed []model.CellKey
		single  bool
	}
)

// launchKeys are the cells that x is about: the cell, those of the row, those of the column.
func (m *Model) launchKeys() []model.CellKey {
	var out []model.CellKey
	add := func(c *model.Cell) {
		if c != nil && c.Definition != nil && c.Overlays&model.OverlayStale == 0 {
			out = append(out, model.CellKey{Harness: c.Harness, Name: c.Name})
		}
	}
	line, col := m.line(), m.column()
	switch {
	case line != nil && col != nil:
		add(m.cell())
	case line != nil:
		for _, i := range m.columns {
			add(line.Cells[i])
		}
	case col != nil:
		for _, c := range col.Cells {
			add(c)
		}
	}
	return out
}

// shownKeys are all cells on the shown lines.
func (m *Model) shownKeys() []model.CellKey {
	var out []model.CellKey
	for _, l := range m.lines {
		for _, i := range m.columns {
			if c := m.snap.Lines[l].Cells[i]; c != nil && c.Definition != nil && c.Overlays&model.OverlayStale == 0 {
				out = append(out, model.CellKey{Harness: c.Harness, Name: c.Name})
			}
		}
	}
	return out
}

// running tells whether the cursor is on something that is being started: a cell, or a row or column with such a cell.
func (m *Model) running() bool {
	return slices.ContainsFunc(m.launchKeys(), func(k model.CellKey) bool {
		c := cellOf(m.snap, k)
		return c != nil && c.Launch != nil
	})
}

// launch starts what the cursor is on, or stops it when it runs.
func (m *Model) launch() tea.Cmd {
	keys := m.launchKeys()
	if m.running() {
		m.o.Launcher.Stop(keys)
		return nil
	}
	return m.plan(keys, m.cell() != nil, true)
}

// launchAll starts all that is shown, or stops all while something runs.
func (m *Model) launchAll() tea.Cmd {
	if m.launching() > 0 {
		m.o.Launcher.Stop(nil)
		return nil
	}
	return m.plan(m.shownKeys(), false, true)
}

func (m *Model) plan(keys []model.CellKey, single, asked bool) tea.Cmd {
	launcher := m.o.Launcher
	return m.guarded(func() tea.Msg { return plannedMsg{launcher.Plan(keys, single), single, asked} })
}

// launching counts the cells that are being started.
func (m *Model) launching() int {
	n := 0
	for _, i := range m.columns {
		n += m.tallies[i].states[model.StateLaunching]
	}
	return n
}

// planned asks, or starts at once what is one's own.
func (m *Model) planned(msg plannedMsg) tea.Cmd {
	p := msg.plan
	switch {
	case len(p.Items) == 0:
		why := "there is nothing to start"
		if len(p.Refused) > 0 {
			why = p.Refused[0]
		} else if len(p.LeftOut) > 0 {
			why = "nothing to start: " + strings.Join(p.LeftOut, ", ")
		}
		m.say([]run{{"· ", roleDim}, {m.text(why), roleText}}, toastFor)
		return m.wakeAt(m.o.Now().Add(toastFor))
	case !p.Ask && len(p.Items) == 1 && msg.asked:
		return m.start(p, nil, msg.single)
	}
	m.ask(m.launchDialog(p, msg.single), msg.asked)
	return nil
}

func (m *Model) start(p LaunchPlan, without map[int]bool, single bool) tea.Cmd {
	launcher := m.o.Launcher
	return m.guarded(func() tea.Msg { return startedMsg{launcher.Start(p, without), single} })
}

// started plans anew what changed between the question and the start.
func (m *Model) started(msg startedMsg) tea.Cmd {
	if len(msg.changed) == 0 {
		return nil
	}
	m.say([]run{{"· ", roleDim}, {"the definition changed meanwhile: look at it again", roleText}}, toastFor)
	return tea.Batch(m.plan(msg.changed, msg.single, false), m.wakeAt(m.o.Now().Add(toastFor)))
}

// launchDialog shows exactly what would run, where it comes from, and where headers go.
func (m *Model) launchDialog(p LaunchPlan, single bool) *dialog {
	without := map[int]bool{}
	d := &dialog{no: "no, nothing is started"}
	if len(p.Items) == 1 {
		d.refresh = func(d *dialog) { m.singleLaunch(d, &p.Items[0], p.Limit) }
	} else {
		d.rows, d.row = len(p.Items), 1
		d.hint = []hint{{"space", "leave one out", actionNone}}
		d.refresh = func(d *dialog) { m.severalLaunches(d, &p, without) }
	}
	d.answer = func(*dialog) tea.Cmd { return m.start(p, without, single) }
	return d
}

func (m *Model) singleLaunch(d *dialog, it *LaunchItem, limit time.Duration) {
	verb, button := "Start", "Yes, start it"
	if it.Host != "" {
		verb, button = "Reach", "Yes, reach it"
	}
	d.title = verb + " " + m.name(it.Name) + " as " + strings.Join(it.Harnesses, ", ") + " would?"
	d.yes = button
	d.warn = it.Repository || it.Unapproved
	d.lines = nil
	add := func(label string, code bool, rs ...run) {
		d.lines = append(d.lines, dialogLine{label: label, runs: rs, code: code})
	}
	if it.Repository {
		add("", false, run{"▴ ", roleWarn}, run{"The definition is a file of the repository: whoever can commit can change it.", roleWarn})
		add("", false)
	}
	if it.Unapproved {
		add("", false, run{"▴ ", roleWarn}, run{"You have not approved it. Starting it approves nothing.", roleWarn})
		add("", false)
	}
	if it.Host != "" {
		add("would reach  ", true, run{m.text(it.Host), roleText})
		if len(it.Headers) > 0 {
			add("sends        ", false, run{m.text(strings.Join(it.Headers, ", ")) + " " + model.Dots, roleText}, run{"  to that host only", roleDim})
		} else {
			add("sends        ", false, run{"no header", roleDim})
		}
	} else {
		add("would run    ", true, run{m.text(it.Command), roleText})
		add("in           ", true, run{m.path(it.Folder), roleText})
		gets := it.Gets
		if len(it.Variables) > 0 {
			gets += ", and " + strings.Join(it.Variables, ", ")
		}
		add("gets         ", false, run{m.text(gets), roleText})
	}
	if len(it.Unset) > 0 {
		add("not set      ", false, run{m.text(strings.Join(it.Unset, ", ")), roleWarn})
	}
	add("from         ", true, run{m.path(it.From.Path) + lineSuffix(it.From.Line), roleText})
	add("at most      ", false, run{limit.String() + ", then it is ended", roleDim})
}

func (m *Model) severalLaunches(d *dialog, p *LaunchPlan, without map[int]bool) {
	n := len(p.Items) - len(without)
	d.title = "Start or reach " + count(n, "server") + "?"
	d.yes = "Yes, start " + count(n, "server")
	d.warn = false
	d.lines = []dialogLine{{runs: []run{{"Each starts once, with the smallest environment of its harnesses, then ends.", roleDim}}}, {}}
	for i := range p.Items {
		it := &p.Items[i]
		d.warn = d.warn || (it.Repository || it.Unapproved) && !without[i]
		what := it.Command
		tail := run{"   yours", roleDim}
		if it.Host != "" {
			what = it.Host
			tail = run{"   no header is sent", roleDim}
			if len(it.Headers) > 0 {
				tail = run{"   " + strings.Join(it.Headers, ", ") + " is sent", roleText}
			}
		}
		if it.Repository {
			tail.text, tail.role = tail.text+"   this repository", roleWarn
			tail.text = strings.Replace(tail.text, "   yours", "", 1)
		}
		if hasTwin(p.Items, i) {
			tail.text += "   " + startedFor(it.Harnesses)
		}
		sign := run{"  ", roleText}
		if it.Repository || it.Unapproved {
			sign = run{"▴ ", roleWarn}
		}
		r := roleText
		if without[i] {
			sign, r, tail = run{"  ", roleDim}, roleDim, run{"   left out", roleDim}
		}
		d.lines = append(d.lines, dialogLine{row: i + 1, runs: []run{sign, {padRight(m.name(it.Name), 14) + " ", r}, {m.text(what), r}, {m.text(tail.text), tail.role}}, hang: 4,
			flip: func() bool {
				if without[i] {
					delete(without, i)
				} else if len(without) < len(p.Items)-1 {
					without[i] = true
				}
				return true
			}})
	}
	d.lines = append(d.lines, dialogLine{})
	if len(p.LeftOut) > 0 {
		d.lines = append(d.lines, dialogLine{label: "left out  ", runs: []run{{strings.Join(p.LeftOut, ", "), roleText}}})
	}
	d.lines = append(d.lines, dialogLine{label: "at most   ", runs: []run{{count(p.AtOnce, "server") + " at a time, " + p.Limit.String() + " each; x stops one, X stops all", roleText}}})
}

// spin keeps the spinners turning, ten times a second, while something is being started.
func (m *Model) spin() tea.Cmd {
	if m.spinning || m.launching() == 0 {
		return nil
	}
	m.spinning = true
	return tea.Tick(100*time.Millisecond, func(time.Time) tea.Msg { return spinMsg{} })
}

type spinMsg struct{}

// againstLaunch says why x cannot act on what the cursor is on.
func (m *Model) againstLaunch() string {
	if cell := m.cell(); cell != nil {
		switch {
		case cell.Overlays&model.OverlayStale != 0:
			return "its file is broken: mend it first"
		case cell.Definition == nil:
			return "the entry does not say what to start"
		}
	}
	if len(m.launchKeys()) == 0 {
		return "there is nothing to launch here"
	}
	return ""
}

// progressLines are what happened so far in a launch.
func (m *Model) progressLines(l *model.Launch) []paneLine {
	var out []paneLine
	for _, p := range l.Progress {
		out = append(out, cutLine(run{m.text(p), roleText}))
	}
	return out
}

// hasTwin tells whether another item of the list reads the same although its environment differs: only whom each is started
// for tells the two apart.
func hasTwin(items []LaunchItem, i int) bool {
	for j := range items {
		if j != i && items[j].Name == items[i].Name && items[j].Command == items[i].Command && items[j].Host == items[i].Host {
			return true
		}
	}
	return false
}

// startedFor names the first harness, and how many more there are.
func startedFor(harnesses []string) string {
	switch len(harnesses) {
	case 0:
		return ""
	case 1:
		return "for " + harnesses[0]
	}
	return fmt.Sprintf("for %s and %d more", harnesses[0], len(harnesses)-1)
}
