package ui

import (
	"context"
	"slices"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"fusebox/model"
)

// Source gives snapshots. Its methods are called from commands, never from Update.
type Source interface {
	// Wait returns the next change; ok is false when there will be no more, or ctx ended.
	Wait(ctx context.Context) (change Change, ok bool)
	// Reread reads the files of these harnesses again, of all if none is named; Wait gives what it found.
	Reread(ids ...model.HarnessID)
}

// Change is what a source reports.
type Change struct {
	Snapshot *model.Snapshot
	Note     string   // why files are polled, or ""
	Columns  *Columns // other columns were chosen elsewhere; nil: as they were
}

// Options are what the program is started with.
type Options struct {
	Snapshot *model.Snapshot // the first one
	Source   Source          // nil: nothing ever changes
	Theme    Theme
	ASCII    bool
	ReadOnly bool
	Now      func() time.Time
	// Launcher starts servers; nil: none can be started.
	Launcher Launcher
	// Switcher flips switches and gives consent; nil: nothing can be written.
	Switcher Switcher
	// Columns are the columns that were chosen the last time; SaveColumns remembers others, nil: nothing does.
	Columns     Columns
	SaveColumns func(Columns) error
	// History knows what entries were before they changed; nil: nothing does.
	History History
	// Folders knows other folders; nil: there are none.
	Folders Folders
	// Editor makes the command that opens a file at a line; nil: there is none.
	Editor func(path string, line, column int) tea.ExecCommand
	// Copy puts a text on the clipboard and says how.
	Copy func(text string) (how string, err error)
	Log  func(format string, args ...any)
}

// position is where the cursor is: row -1 is the headings, column -1 the names.
type position struct{ row, col int }

type viewKind uint8

const (
	viewGrid viewKind = iota
	viewDetail
	viewFiles
	viewTools
	viewOutput
)

type overlayKind uint8

const (
	overlayNone overlayKind = iota
	overlayHelp
	overlayPalette
	overlayFilter
	overlayColumns
	overlayFolders
)

type zoomKind uint8

const (
	zoomNone zoomKind = iota
	zoomGrid
	zoomPane
)

const (
	changedFor    = 4 * time.Second
	toastFor      = 4 * time.Second
	copiedFor     = 2 * time.Second
	latelyEntries = 4
)

// event is a line of what happened lately.
type event struct {
	at    time.Time
	sign  string
	role  role
	what  string
	where string
}

// toast takes the footer's line for a moment.
type toast struct {
	runs  []run
	until time.Time // zero: until the next key
}

// Model is the program's one Bubble Tea model.
type Model struct {
	o        Options
	keys     keyTable
	ctx      context.Context
	stop     context.CancelFunc
	snap     *model.Snapshot
	redactor model.Redactor
	learnt   *model.Snapshot // whose secrets the redactor knows
	note     string

	w, h    int
	columns []int // shown columns, as indices into the snapshot's
	lines   []int // shown lines, as indices into the snapshot's
	cursor  position
	top     int // first visible row
	first   int // first visible column

	view       viewKind
	overlay    overlayKind
	zoom       zoomKind
	paneFocus  bool
	paneOffset int
	fileRow    int
	fileTop    int
	helpOffset int
	tools      toolsView
	output     outputView
	dialog     *dialog
	spinning   bool
	prefs      Columns
	columnRow  int
	picker     folderPicker

	skipSwitches bool // single switches in one's own files are not asked for any more in this run
	palette      palette

	filterText string // what is in force
	typed      textLine
	anchor     cursorKey // where the cursor was before a filter was typed
	sort       sortMode

	tallies []tally // by column of the snapshot
	waiting bool    // a shown cell waits for somebody
	longest int     // width of the widest shown name with its tag, as far as the layout cares

	changed map[model.CellKey]time.Time         // until when a cell is marked
	was     map[model.CellKey]*model.Definition // what a cell of the folder's files was before it was changed by somebody
	past    map[model.CellKey]past              // what the history was asked about cells, and what it answered
	lately  []event
	toast   *toast

	canvas *canvas
	zones  []clickZone // what the last view drew where, for the mouse
}

// New makes the model. The first snapshot is there already, so the first frame is complete.
func New(o Options) *Model {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = func(string, ...any) {}
	}
	ctx, stop := context.WithCancel(context.Background())
	m := &Model{o: o, keys: newKeyTable(o.ReadOnly), ctx: ctx, stop: stop, changed: map[model.CellKey]time.Time{}, was: map[model.CellKey]*model.Definition{}, past: map[model.CellKey]past{}, canvas: newCanvas(0, 0), prefs: o.Columns}
	m.show(o.Snapshot)
	return m
}

// Init starts listening to the source.
func (m *Model) Init() tea.Cmd { return tea.Batch(m.waitForChange(), m.askHistory()) }

// Messages.
type (
	changeMsg struct {
		change Change
		ok     bool
	}
	rereadMsg struct{}
	wakeMsg   struct{}
	editorMsg struct{ err error }
	copiedMsg struct {
		what, how string
		err       error
	}
	commandPanic struct {
		text    string
		waiting bool // it was waiting for the next change
	}
)

// guarded runs a command's work so that a panic in it becomes a message instead of the end of the program.
func (m *Model) guarded(work func() tea.Msg) tea.Cmd {
	log := m.o.Log
	return func() (msg tea.Msg) {
		defer func() {
			if fault := recover(); fault != nil {
				log("panic in a command: %v\n%s", fault, stack())
				msg = commandPanic{text: "something went wrong inside fusebox; --log FILE keeps the trace"}
			}
		}()
		return work()
	}
}

func (m *Model) waitForChange() tea.Cmd {
	if m.o.Source == nil {
		return nil
	}
	source, ctx := m.o.Source, m.ctx
	wait := m.guarded(func() tea.Msg {
		change, ok := source.Wait(ctx)
		return changeMsg{change, ok}
	})
	return func() tea.Msg {
		msg := wait()
		if fault, ok := msg.(commandPanic); ok {
			fault.waiting = true
			return fault
		}
		return msg
	}
}

// Update handles one message. It does no I/O.
func (m *Model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.w, m.h = msg.Width, msg.Height
		return m, nil
	case changeMsg:
		if !msg.ok {
			return m, nil
		}
		m.note = msg.change.Note
		if msg.change.Columns != nil {
			m.setColumns(*msg.change.Columns)
		}
		return m, tea.Batch(m.replace(msg.change.Snapshot), m.waitForChange(), m.spin(), m.askHistory())
	case earlierMsg:
		m.earlierFound(msg)
		return m, nil
	case rereadMsg:
		m.say([]run{{"✓ ", roleOK}, {"files read again", roleText}}, copiedFor)
		return m, m.wakeAt(m.o.Now().Add(copiedFor))
	case switchPlannedMsg:
		return m, m.switchPlanned(msg.plan, msg.asked)
	case switchedMsg:
		return m, m.switched(msg.report, msg.intent, msg.undo)
	case undoPeekedMsg:
		return m, m.undoPeeked(msg)
	case plannedMsg:
		return m, m.planned(msg)
	case startedMsg:
		return m, m.started(msg)
	case spinMsg:
		m.spinning = false
		return m, m.spin()
	case columnsSavedMsg:
		if msg.err != nil {
			m.fail("the columns are not remembered: " + msg.err.Error())
		}
		return m, nil
	case foldersMsg:
		m.picker.folders = msg.folders
		return m, m.countNext()
	case folderCountedMsg:
		return m, m.folderCounted(msg.folder)
	case completedMsg:
		m.picker.typed.text = msg.text
		return m, nil
	case folderOpenedMsg:
		if msg.err != nil {
			m.fail(msg.err.Error())
		}
		return m, nil
	case wakeMsg:
		return m, m.expire()
	case editorMsg:
		if msg.err != nil {
			m.fail("the editor did not start: " + model.Clean(msg.err.Error()))
		}
		return m, nil
	case copiedMsg:
		if msg.err != nil {
			m.fail("not copied: " + model.Clean(msg.err.Error()))
			return m, nil
		}
		m.say([]run{{"✓ ", roleOK}, {msg.how + "  ", roleText}, {m.text(msg.what), roleDim}}, copiedFor)
		return m, m.wakeAt(m.o.Now().Add(copiedFor))
	case commandPanic:
		m.fail(msg.text)
		if msg.waiting { // a panel that follows no file any more would lie
			again := m.waitForChange()
			return m, tea.Tick(time.Second, func(time.Time) tea.Msg { return again() })
		}
		return m, nil
	case tea.KeyMsg:
		return m, m.key(msg)
	case tea.MouseMsg:
		return m, m.mouse(msg)
	}
	return m, nil
}

// replace takes a newer snapshot in; an older one is dropped here and nowhere else.
func (m *Model) replace(s *model.Snapshot) tea.Cmd {
	if s == nil || s == m.snap || m.snap != nil && s.Generation <= m.snap.Generation {
		return nil
	}
	before := m.snap
	if before != nil && before.Project != s.Project { // another folder: nothing of it changed
		m.cursor, m.top, m.first, m.view, m.zoom, m.paneFocus = position{}, 0, 0, viewGrid, zoomNone, false
		clear(m.changed)
		clear(m.was)
		clear(m.past)
		m.show(s)
		m.addEvent(event{m.o.Now(), "·", roleDim, "looking at " + model.Clean(model.Tilde(s.Project, s.Home)), ""})
		return nil
	}
	diff := model.Diff(before, s)
	now := m.o.Now()
	m.show(s)
	for _, k := range diff.Cells {
		was, is := cellOf(before, k), cellOf(s, k)
		if m.showsOtherwise(was, is) {
			m.changed[k] = now.Add(changedFor)
		}
		m.keepOld(k, was, is)
	}
	m.remember(before, s, diff, now)
	if len(diff.Cells) == 0 {
		return nil
	}
	return m.wakeAt(now.Add(changedFor))
}

// keepOld remembers what an entry of the folder's files said before somebody changed it: a consent was given to that.
func (m *Model) keepOld(k model.CellKey, was, is *model.Cell) {
	if is == nil || is.Definition == nil || is.Scope != model.ScopeProject {
		delete(m.was, k)
		return
	}
	old := m.was[k]
	if old == nil && was != nil && was.Scope == model.ScopeProject && was.Reason.Code != model.ReasonApprovalChanged {
		old = was.Definition
	}
	if old == nil || old.Key() == is.Definition.Key() {
		delete(m.was, k)
		return
	}
	m.was[k] = old
}

// show puts a snapshot on the screen and keeps the cursor on the very cell that it was on.
func (m *Model) show(s *model.Snapshot) {
	at := m.cursorKey()
	before, rows := m.snap, m.lines
	m.snap = s
	m.columns = m.prefs.pick(s)
	m.tallies = make([]tally, len(s.Columns))
	for i, col := range s.Columns {
		m.tallies[i] = newTally(col)
	}
	m.lines = order(s, parseFilter(m.filterText), m.sort, m.columns)
	if m.sort != sortName && before != nil && sameFiles(before, s) {
		keepOrder(before, rows, s, m.lines)
	}
	m.longest, m.waiting = m.longestName(), m.anyWaits()
	m.seek(at)
}

// sameFiles tells whether two snapshots say the same of the files: what differs was launched, or is the state of a session.
func sameFiles(a, b *model.Snapshot) bool {
	return a.Project == b.Project && slices.EqualFunc(a.Columns, b.Columns, func(x, y *model.Column) bool {
		return x == y || x.ID == y.ID && slices.EqualFunc(x.Cells, y.Cells, func(c, d *model.Cell) bool {
			return c == d || c.Name == d.Name && c.Definition == d.Definition && c.Decision == d.Decision && c.Reason == d.Reason
		})
	})
}

// cursorKey names what the cursor is on: the harness ("" on a name) and the server (named false on a heading).
type cursorKey struct {
	harness    model.HarnessID
	name       string
	definition int
	named      bool
}

func (m *Model) cursorKey() cursorKey {
	var k cursorKey
	if m.snap == nil {
		return k
	}
	if col := m.column(); col != nil {
		k.harness = col.ID
	}
	if line := m.line(); line != nil {
		k.name, k.definition, k.named = line.Server.Name, line.Definition, true
	}
	return k
}

// seek puts the cursor on the named cell, or as near as possible.
func (m *Model) seek(k cursorKey) {
	for i, c := range m.columns {
		if m.snap.Columns[c].ID == k.harness {
			m.cursor.col = i
		}
	}
	if k.named {
		found := false
		for i, l := range m.lines {
			line := &m.snap.Lines[l]
			if line.Server.Name != k.name {
				continue
			}
			if line.Definition == k.definition {
				m.cursor.row = i
				break
			}
			if !found || line.Definition < k.definition {
				m.cursor.row, found = i, true
			}
		}
	}
	m.clamp()
}

func (m *Model) clamp() {
	m.cursor.row = max(-1, min(m.cursor.row, len(m.lines)-1))
	m.cursor.col = max(-1, min(m.cursor.col, len(m.columns)-1))
	if m.cursor.row < 0 {
		m.cursor.col = max(m.cursor.col, 0)
	}
}

// line is the line that the cursor is on, or nil.
func (m *Model) line() *model.Line {
	if m.cursor.row < 0 || m.cursor.row >= len(m.lines) {
		return nil
	}
	return &m.snap.Lines[m.lines[m.cursor.row]]
}

// column is the column that the cursor is on, or nil on a name.
func (m *Model) column() *model.Column {
	if m.cursor.col < 0 || m.cursor.col >= len(m.columns) {
		return nil
	}
	return m.snap.Columns[m.columns[m.cursor.col]]
}

// cell is the cell that the cursor is on; nil on names, headings and where the harness does not have the server.
func (m *Model) cell() *model.Cell {
	line := m.line()
	if line == nil || m.cursor.col < 0 || m.cursor.col >= len(m.columns) {
		return nil
	}
	return line.Cells[m.columns[m.cursor.col]]
}

// text makes foreign text fit for the screen: one clean line without known secrets.
func (m *Model) text(s string) string {
	if m.learnt != m.snap {
		m.redactor.Learn(m.snap)
		m.learnt = m.snap
	}
	return m.redactor.Text(model.Clean(s))
}

// path shows a path: relative inside the folder, with ~ below home.
func (m *Model) path(p string) string { return shortPath(p, m.snap.Project, m.snap.Home) }

func (m *Model) say(rs []run, d time.Duration) { m.toast = &toast{rs, m.o.Now().Add(d)} }

func (m *Model) fail(text string) {
	m.toast = &toast{[]run{{"✗ ", roleBad}, {m.text(text), roleText}, {"   any key", roleAccent}, {" goes on", roleDim}}, time.Time{}}
	m.addEvent(event{m.o.Now(), "✗", roleBad, m.text(text), ""})
}

func (m *Model) addEvent(e event) {
	m.lately = append([]event{e}, m.lately...)
	if len(m.lately) > latelyEntries {
		m.lately = m.lately[:latelyEntries]
	}
}

// wakeAt asks for a wakeMsg at a time: marks and toasts end by themselves.
func (m *Model) wakeAt(at time.Time) tea.Cmd {
	return tea.Tick(max(at.Sub(m.o.Now()), 0)+time.Millisecond, func(time.Time) tea.Msg { return wakeMsg{} })
}

func (m *Model) expire() tea.Cmd {
	now := m.o.Now()
	if m.toast != nil && !m.toast.until.IsZero() && !now.Before(m.toast.until) {
		m.toast = nil
	}
	for k, until := range m.changed {
		if !now.Before(until) {
			delete(m.changed, k)
		}
	}
	return nil
}

// remember adds what changed to the latest events.
func (m *Model) remember(before, after *model.Snapshot, diff model.Difference, now time.Time) {
	for _, col := range after.Columns {
		old := before.Column(col.ID)
		wasBroken, isBroken := brokenFile(old), brokenFile(col)
		switch {
		case isBroken != nil && (wasBroken == nil || wasBroken.Path != isBroken.Path):
			m.addEvent(event{now, "✗", roleBad, m.path(isBroken.Path) + " is " + string(isBroken.Status), m.text(isBroken.Note)})
		case isBroken == nil && wasBroken != nil:
			m.addEvent(event{now, "✓", roleOK, m.path(wasBroken.Path) + " is good again", ""})
		}
	}
	const shown = 3
	told := slices.DeleteFunc(slices.Clone(diff.Cells), func(k model.CellKey) bool {
		was, is := cellOf(before, k), cellOf(after, k)
		if is != nil && is.Launch != nil { // the spinner says it
			return true
		}
		return was != nil && is != nil && was.Launch != nil && was.Observation == is.Observation && was.Definition == is.Definition // stopped: it is as it was
	})
	for i, k := range told {
		if i == shown {
			m.addEvent(event{now, "*", roleAccent, "and " + count(len(told)-shown, "more cell"), ""})
			break
		}
		col := after.Column(k.Harness)
		if col == nil {
			continue
		}
		c := cellOf(after, k)
		switch {
		case c == nil:
			m.addEvent(event{now, "*", roleAccent, m.text(k.Name) + " is gone from " + col.Title, ""})
		case launched(cellOf(before, k), c):
			style := styleOf(c.State())
			m.addEvent(event{now, style.symbol, style.symbolRole, m.text(k.Name) + " in " + col.Title + ": " + c.StateWords(now), m.text(c.StateReason().Text)})
		default:
			m.addEvent(event{now, "*", roleAccent, m.text(k.Name) + " changed in " + col.Title,
				m.path(c.Source.Path) + lineSuffix(c.Source.Line) + "   " + c.StateWords(now)})
		}
	}
}

// showsOtherwise tells whether a change is worth a mark: the cell says something else, or its definition is another. What is
// being started has its spinner.
func (m *Model) showsOtherwise(before, after *model.Cell) bool {
	if before == nil || after == nil {
		return true
	}
	if after.Launch != nil {
		return false
	}
	now := m.o.Now()
	if before.State() != after.State() || before.Word(now) != after.Word(now) || before.Reason != after.Reason || before.Scope != after.Scope {
		return true
	}
	if (before.Definition == nil) != (after.Definition == nil) {
		return true
	}
	return before.Definition != nil && before.Definition.Key() != after.Definition.Key()
}

// launched tells whether a launch ended between two states of a cell.
func launched(before, after *model.Cell) bool {
	return before != nil && before.Launch != nil && after.Launch == nil && after.Observation != nil
}

func cellOf(s *model.Snapshot, k model.CellKey) *model.Cell {
	if col := s.Column(k.Harness); col != nil {
		return col.Cell(k.Name)
	}
	return nil
}

func brokenFile(c *model.Column) *model.File {
	if c == nil {
		return nil
	}
	for i := range c.Files {
		if c.Files[i].Status == model.FileMalformed || c.Files[i].Status == model.FileRefused {
			return &c.Files[i]
		}
	}
	return nil
}
