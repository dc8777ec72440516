package ui

import (
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"fusebox/model"
)

// key handles one key. What is typed into a text goes to the text, before any action.
func (m *Model) key(k tea.KeyMsg) tea.Cmd {
	if m.showsToast() {
		m.toast = nil // any key ends a toast, and acts as usual
	}
	if k.Type == tea.KeyRunes && len(k.Runes) > 1 && !k.Paste {
		return m.letters(k)
	}
	a := m.keys.byKey[k.String()]
	if a == actionQuitNow {
		return m.quit()
	}
	if a == actionSuspend {
		return tea.Suspend
	}
	if m.dialog != nil {
		return m.dialogKey(k)
	}
	switch m.overlay {
	case overlayFilter:
		return m.filterKey(k)
	case overlayPalette:
		return m.paletteKey(k)
	case overlayHelp:
		return m.helpKey(a)
	case overlayColumns:
		if a == actionNone {
			a = m.keys.gone[k.String()] // showing and hiding a column is no write to a harness
		}
		return m.columnsKey(a, k)
	case overlayFolders:
		return m.foldersKey(k)
	}
	if a == actionNone {
		if m.keys.gone[k.String()] == actionNone {
			return nil
		}
		m.say([]run{{"· ", roleDim}, {"read-only: start fusebox without --read-only to write or launch", roleText}}, toastFor)
		return m.wakeAt(m.o.Now().Add(toastFor))
	}
	return m.act(a)
}

// letters handles letters that came in one read, from a fast hand or over a slow line, one by one. A dialog ends them: what
// was typed ahead is no answer to it. The rest of a torn mouse report is dropped.
func (m *Model) letters(k tea.KeyMsg) tea.Cmd {
	if text := string(k.Runes); k.Alt || strings.ContainsAny(text, "<;") && strings.Trim(text, "[<;0123456789mM") == "" {
		return nil
	}
	var cmds []tea.Cmd
	for _, r := range k.Runes {
		cmds = append(cmds, m.key(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune{r}}))
		if m.dialog != nil {
			break
		}
	}
	return tea.Batch(cmds...)
}

func (m *Model) quit() tea.Cmd {
	m.stop()
	return tea.Quit
}

// act does an action, or says why it cannot.
func (m *Model) act(a action) tea.Cmd {
	if why := m.against(a); why != "" {
		m.say([]run{{"· ", roleDim}, {why, roleText}}, toastFor)
		return m.wakeAt(m.o.Now().Add(toastFor))
	}
	switch a {
	case actionLeft, actionRight, actionUp, actionDown, actionFirst, actionLast, actionHalfDown, actionHalfUp, actionPageDown, actionPageUp:
		m.move(a)
	case actionNextWaiting:
		m.nextWaiting(1)
	case actionPreviousWaiting:
		m.nextWaiting(-1)
	case actionFocus:
		m.paneFocus = !m.paneFocus && m.hasPane()
		m.paneOffset = 0
	case actionEnter:
		m.enter()
	case actionBack:
		m.back()
	case actionZoom:
		switch {
		case m.zoom != zoomNone:
			m.zoom = zoomNone
		case m.paneFocus:
			m.zoom = zoomPane
		default:
			m.zoom = zoomGrid
		}
	case actionColumns:
		m.overlay, m.columnRow = overlayColumns, 0
	case actionFolder:
		return m.openFolders()
	case actionTools:
		if m.view == viewTools {
			m.view = viewGrid
		} else {
			m.view, m.tools = viewTools, toolsView{}
		}
	case actionOutput:
		if m.view == viewOutput {
			m.view = viewGrid
		} else {
			m.view, m.output = viewOutput, outputView{follows: m.running()}
		}
	case actionToggle:
		return m.planSwitch(m.intend(IntentToggle), true)
	case actionApprove:
		return m.planSwitch(m.intend(IntentApprove), true)
	case actionRevoke:
		return m.planSwitch(m.intend(IntentRevoke), true)
	case actionUndo:
		return m.peekUndo()
	case actionLaunch:
		return m.launch()
	case actionLaunchAll:
		return m.launchAll()
	case actionFiles:
		if m.view == viewFiles {
			m.view = viewGrid
		} else {
			m.openFiles()
		}
	case actionFilter:
		m.overlay = overlayFilter
		m.typed = textLine{m.filterText}
		if m.view == viewTools {
			m.typed = textLine{m.tools.filter}
		}
		m.anchor = m.cursorKey()
	case actionSort:
		if m.view == viewTools {
			m.tools.byTokens = !m.tools.byTokens
			return nil
		}
		m.sort = (m.sort + 1) % sortModes
		m.reorder()
	case actionReread:
		return m.reread(m.column().ID)
	case actionRereadAll:
		return m.reread()
	case actionEdit:
		return m.edit()
	case actionCopy:
		what, _ := m.copyable()
		return m.copy(what)
	case actionCopyPlace:
		_, place := m.copyable()
		return m.copy(place)
	case actionPalette:
		m.overlay = overlayPalette
		m.palette = palette{}
	case actionHelp:
		m.overlay = overlayHelp
		m.helpOffset = 0
	case actionQuit:
		if m.view != viewGrid {
			m.view = viewGrid
			return nil
		}
		return m.quit()
	}
	return nil
}

// against says why an action cannot be done now; "" when it can.
func (m *Model) against(a action) string {
	switch a {
	case actionReread:
		switch {
		case m.o.Source == nil:
			return "nothing is read again here"
		case m.column() == nil:
			return "r reads one harness: put the cursor on a cell or a heading; R reads all"
		}
	case actionRereadAll:
		if m.o.Source == nil {
			return "nothing is read again here"
		}
	case actionFiles:
		if m.column() == nil {
			return "f shows the files of one harness: put the cursor on a cell or a heading"
		}
	case actionEdit:
		if m.o.Editor == nil {
			return "there is no editor here"
		}
		if at := m.place(); at.IsZero() || at.Path[0] == '$' {
			return "there is no line to open here"
		}
	case actionCopy, actionCopyPlace:
		what, place := m.copyable()
		if m.o.Copy == nil {
			return "there is no clipboard here"
		}
		if a == actionCopy && what == "" || a == actionCopyPlace && place == "" {
			return "there is nothing to copy here"
		}
	case actionNextWaiting, actionPreviousWaiting:
		if m.view != viewGrid && m.view != viewDetail {
			return "n goes through the cells of the grid: esc first"
		}
		if !m.waiting {
			return "nothing waits for you"
		}
	case actionFocus:
		if !m.hasPane() {
			return "the pane opens with enter in a window this narrow"
		}
	case actionZoom:
		if m.view != viewGrid || m.w < paneFrom {
			return "there is nothing to zoom: the window shows one thing already"
		}
	case actionToggle:
		return m.againstSwitch(IntentToggle)
	case actionApprove:
		return m.againstSwitch(IntentApprove)
	case actionRevoke:
		return m.againstSwitch(IntentRevoke)
	case actionUndo:
		if m.o.Switcher == nil {
			return "nothing is written here"
		}
	case actionLaunch, actionLaunchAll:
		if m.o.Launcher == nil {
			return "nothing is launched here"
		}
		if a == actionLaunch {
			return m.againstLaunch()
		}
	case actionFolder:
		if m.o.Folders == nil {
			return "there is no other folder here"
		}
	case actionTools:
		if len(m.toolCells()) == 0 {
			if len(m.launchKeys()) == 0 {
				return "there is no server here, and so no tool"
			}
			return "nobody has listed its tools yet: x launches it"
		}
	case actionOutput:
		if c := m.cell(); c == nil || c.Observation == nil && c.Launch == nil {
			return "there is no output: it was not launched"
		}
	case actionFilter, actionSort:
		if m.view != viewGrid && m.view != viewTools {
			return "this view has no filter and no order of its own: esc first"
		}
	}
	return ""
}

// hasPane tells whether grid and pane are both on the screen, or the pane could be.
func (m *Model) hasPane() bool { return m.w >= paneFrom && m.view == viewGrid && len(m.snap.Lines) > 0 }

func (m *Model) move(a action) {
	step := layoutLines(m.h).count
	switch m.view {
	case viewFiles:
		m.moveFiles(a, step)
		return
	case viewDetail:
		m.moveDetail(a, step)
		return
	case viewTools:
		m.moveTools(a, step)
		return
	case viewOutput:
		m.moveOutput(a, step)
		return
	}
	if m.paneFocus || m.zoom == zoomPane {
		m.moveDetail(a, step)
		return
	}
	m.paneOffset = 0
	if m.w < narrowBelow && a != actionLeft && a != actionRight {
		m.moveNarrow(a)
		return
	}
	switch a {
	case actionLeft:
		m.cursor.col--
	case actionRight:
		m.cursor.col++
	case actionUp:
		if m.cursor.row > 0 || m.cursor.col >= 0 { // above the names there is nothing
			m.cursor.row--
		}
	case actionHalfUp, actionPageUp:
		m.cursor.row = max(0, moved(a, m.cursor.row, step, 0))
	default:
		m.cursor.row = moved(a, m.cursor.row, step, len(m.lines)-1)
	}
	if m.w < narrowBelow && m.cursor.col < 0 {
		m.cursor.col = 0
	}
	m.clamp()
}

// moveDetail scrolls the pane; left and right go to the next harness.
func (m *Model) moveDetail(a action, step int) {
	if a == actionLeft || a == actionRight {
		m.nextHarness(a)
		m.paneOffset = 0
	}
	m.paneOffset = max(0, moved(a, m.paneOffset, step, farDown)) // the drawing bounds it from above
	m.clamp()
}

// nextHarness goes to the harness on the left or on the right.
func (m *Model) nextHarness(a action) {
	switch a {
	case actionLeft:
		m.cursor.col = max(0, m.cursor.col-1)
	case actionRight:
		m.cursor.col = min(m.cursor.col+1, len(m.columns)-1)
	}
}

// waits tells whether a cell waits for somebody. An untrusted folder is said by the heading: its cells are passed over.
func (m *Model) waits(line *model.Line, column int) bool {
	cell := line.Cells[column]
	return cell != nil && cell.State().NeedsPerson() && !blanket(m.snap.Columns[column], cell)
}

// anyWaits tells whether a shown cell waits for somebody.
func (m *Model) anyWaits() bool {
	for _, l := range m.lines {
		for _, c := range m.columns {
			if m.waits(&m.snap.Lines[l], c) {
				return true
			}
		}
	}
	return false
}

// nextWaiting moves to the next (1) or previous (-1) cell that waits, in reading order, round the end.
func (m *Model) nextWaiting(step int) {
	total := len(m.lines) * len(m.columns)
	if total == 0 {
		return
	}
	at := max(m.cursor.row, 0)*len(m.columns) + max(m.cursor.col, 0)
	if m.cursor.row < 0 || m.cursor.col < 0 {
		if step > 0 {
			at--
		}
	}
	for range total {
		at = (at + step + total) % total
		row, col := at/len(m.columns), at%len(m.columns)
		if m.waits(&m.snap.Lines[m.lines[row]], m.columns[col]) {
			m.cursor = position{row, col}
			m.paneOffset = 0
			return
		}
	}
}

// enter goes in: to the pane, to the files of a heading.
func (m *Model) enter() {
	switch {
	case m.view == viewTools:
		m.tools.schema, m.tools.offset = m.selectedTool() != nil, 0
	case m.view != viewGrid || len(m.snap.Lines) == 0:
	case m.cursor.row < 0:
		m.openFiles()
	case m.w < paneFrom || m.zoom == zoomGrid:
		m.view = viewDetail
		m.paneOffset = 0
	default:
		m.paneFocus = true
		m.paneOffset = 0
	}
}

// back goes one step: zoom, view, focus, filter. It never quits.
func (m *Model) back() {
	switch {
	case m.view == viewTools && m.tools.schema:
		m.tools.schema = false
	case m.view == viewTools && m.tools.filter != "":
		m.tools.filter = ""
	case m.view != viewGrid:
		m.view = viewGrid
		m.paneOffset = 0
	case m.zoom != zoomNone:
		m.zoom = zoomNone
	case m.paneFocus:
		m.paneFocus = false
		m.paneOffset = 0
	case m.filterText != "":
		m.filterText = ""
		m.reorder()
	}
}

func (m *Model) reorder() { m.reorderAround(m.cursorKey()) }

// reorderAround filters and sorts anew with the cursor on the given cell, or as near as possible.
func (m *Model) reorderAround(at cursorKey) {
	m.lines = order(m.snap, parseFilter(m.filterText), m.sort, m.columns)
	m.longest, m.waiting = m.longestName(), m.anyWaits()
	m.top = 0
	m.seek(at)
}

// filterKey types the filter; it acts while it is typed.
func (m *Model) filterKey(k tea.KeyMsg) tea.Cmd {
	switch k.Type {
	case tea.KeyEnter:
		m.overlay = overlayNone
		return nil
	case tea.KeyEsc:
		m.overlay = overlayNone
		m.typed.text = ""
	case tea.KeyTab:
		m.typed.text = complete(m.typed.text, facets(m.snap))
	case tea.KeyUp:
		m.move(actionUp)
		m.anchor = m.cursorKey()
		return nil
	case tea.KeyDown:
		m.move(actionDown)
		m.anchor = m.cursorKey()
		return nil
	default:
		if !m.typed.key(k) {
			return nil
		}
	}
	if m.view == viewTools {
		m.tools.filter, m.tools.row = m.typed.text, 0
		return nil
	}
	m.filterText = m.typed.text
	m.reorderAround(m.anchor) // a row that a half-typed word hid comes back with the cursor on it
	return nil
}

func (m *Model) helpKey(a action) tea.Cmd {
	switch a {
	case actionBack, actionQuit, actionHelp, actionEnter:
		m.overlay = overlayNone
	case actionFilter, actionPalette:
		m.overlay = overlayPalette
		m.palette = palette{}
	}
	m.helpOffset = moved(a, m.helpOffset, m.h/2, farDown)
	m.helpOffset = max(0, m.helpOffset)
	return nil
}

func (m *Model) reread(ids ...model.HarnessID) tea.Cmd {
	source := m.o.Source
	return m.guarded(func() tea.Msg {
		source.Reread(ids...)
		return rereadMsg{}
	})
}

// place is the line that e opens: in files the selected file, else what decides the cell, else the file of the row or column.
func (m *Model) place() model.Location {
	if m.view == viewFiles {
		if f := m.selectedFile(); f != nil && f.Status != model.FileAbsent {
			return model.Location{Path: f.Path, Line: max(f.Line, 1), Column: f.Column}
		}
		return model.Location{}
	}
	if c := m.cell(); c != nil {
		return c.OpenAt()
	}
	if line := m.line(); line != nil {
		for _, c := range line.Cells {
			if c != nil && (m.cursor.col < 0 || c.Definition == nil) {
				return c.OpenAt()
			}
		}
		return model.Location{}
	}
	if col := m.column(); col != nil {
		if col.Broken != nil && col.Broken.Path != "" {
			return col.Broken.Location
		}
		if f := brokenFile(col); f != nil {
			return model.Location{Path: f.Path, Line: max(f.Line, 1), Column: f.Column}
		}
		for _, f := range col.Files {
			if f.Status == model.FileRead && f.Path != "" && f.Path[0] != '$' {
				return model.Location{Path: f.Path, Line: 1}
			}
		}
	}
	return model.Location{}
}

func (m *Model) edit() tea.Cmd {
	at := m.place()
	cmd := m.o.Editor(at.Path, max(at.Line, 1), at.Column)
	if cmd == nil {
		m.fail("there is no editor: set EDITOR")
		return nil
	}
	return tea.Exec(cmd, func(err error) tea.Msg { return editorMsg{err} })
}

// copyable returns the thing under the cursor and its path:line.
func (m *Model) copyable() (what, place string) {
	at := m.place()
	if !at.IsZero() {
		place = at.Path + lineSuffix(at.Line)
	}
	switch {
	case m.view == viewFiles:
		if f := m.selectedFile(); f != nil {
			return f.Path, f.Path
		}
	case m.view == viewTools && m.selectedTool() != nil:
		what = m.selectedTool().shown
	case m.line() != nil:
		what = m.line().Server.Name
	case m.column() != nil:
		what = m.column().Title
	}
	return m.text(what), model.Clean(place)
}

func (m *Model) copy(text string) tea.Cmd {
	put := m.o.Copy
	return m.guarded(func() tea.Msg {
		how, err := put(text)
		return copiedMsg{text, how, err}
	})
}

// clickZone is a place on the screen that a click acts on.
type clickZone struct {
	x, y, width int
	filter      string // a click filters by this
}

func (m *Model) mouse(e tea.MouseMsg) tea.Cmd {
	if m.dialog != nil {
		return m.dialogMouse(e)
	}
	if e.Action != tea.MouseActionPress || m.overlay == overlayPalette || m.overlay == overlayFilter || m.overlay == overlayColumns || m.overlay == overlayFolders {
		return nil
	}
	switch e.Button {
	case tea.MouseButtonWheelDown:
		return m.wheel(1)
	case tea.MouseButtonWheelUp:
		return m.wheel(-1)
	case tea.MouseButtonLeft:
		if m.showsToast() {
			m.toast = nil
		}
		return m.click(e.X, e.Y)
	}
	return nil
}

func (m *Model) wheel(step int) tea.Cmd {
	a := actionDown
	if step < 0 {
		a = actionUp
	}
	switch {
	case m.overlay == overlayHelp:
		m.helpOffset = max(0, m.helpOffset+3*step)
	case m.view == viewTools:
		m.moveTools(a, 1)
	case m.view == viewOutput:
		m.moveOutput(a, 1)
	case m.view == viewFiles:
		m.moveFiles(a, 1)
	case m.view == viewDetail || m.paneFocus || m.zoom == zoomPane:
		m.paneOffset = max(0, m.paneOffset+3*step)
	default:
		m.cursor.row = max(0, min(m.cursor.row+step, len(m.lines)-1))
		m.clamp()
	}
	return nil
}

// click moves the cursor; on the cursor's own cell it is enter. It never writes or launches.
func (m *Model) click(x, y int) tea.Cmd {
	if m.overlay == overlayHelp {
		m.overlay = overlayNone
		return nil
	}
	for _, z := range m.zones {
		if y == z.y && x >= z.x && x < z.x+z.width {
			m.view = viewGrid
			m.filterText = z.filter
			m.reorder()
			return nil
		}
	}
	if m.view == viewFiles {
		m.clickFile(y)
		return nil
	}
	if m.view != viewGrid || len(m.snap.Lines) == 0 {
		return nil
	}
	lines := layoutLines(m.h)
	if m.w < narrowBelow {
		if row := m.narrowRowAt(y); row >= 0 {
			m.goTo(position{row, m.cursor.col})
		}
		return nil
	}
	l := m.gridLayout()
	if l.pane > 0 && x >= l.grid {
		m.paneFocus = true
		return nil
	}
	col := -1
	if x >= l.zone() {
		col = m.first + (x-l.zone())/l.pitch
		if (x-l.zone())/l.pitch >= l.visible || col >= len(m.columns) {
			return nil
		}
	}
	switch {
	case y == lines.headings || y == lines.headings+1:
		if col >= 0 {
			m.goTo(position{-1, col})
		}
	case y >= lines.rows && y < lines.rows+lines.count:
		if row := m.top + y - lines.rows; row < len(m.lines) {
			m.goTo(position{row, col})
		}
	}
	return nil
}

func (m *Model) goTo(p position) {
	m.paneFocus = false
	if m.cursor == p {
		m.enter()
		return
	}
	m.cursor = p
	m.paneOffset = 0
	m.clamp()
}
