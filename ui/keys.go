package ui

import "github.com/charmbracelet/bubbles/key"

// action is something that a key does.
type action uint8

const (
	actionNone action = iota
	actionLeft
	actionRight
	actionUp
	actionDown
	actionFirst
	actionLast
	actionHalfDown
	actionHalfUp
	actionPageDown
	actionPageUp
	actionNextWaiting
	actionPreviousWaiting
	actionFocus
	actionEnter
	actionBack
	actionZoom
	actionColumns
	actionFolder
	actionTools
	actionOutput
	actionToggle
	actionApprove
	actionRevoke
	actionUndo
	actionLaunch
	actionLaunchAll
	actionFilter
	actionSort
	actionFiles
	actionReread
	actionRereadAll
	actionEdit
	actionCopy
	actionCopyPlace
	actionPalette
	actionHelp
	actionQuit
	actionQuitNow
	actionSuspend
)

// keyGroup is a paragraph of the help.
type keyGroup string

const (
	groupMove keyGroup = "move"
	groupMore keyGroup = "more"
	groupLook keyGroup = "look"
	groupAct  keyGroup = "act"
)

// binding is a row of the key table: which keys do what, and how footer, help and palette call it.
type binding struct {
	action action
	keys   key.Binding // as Bubble Tea names them
	show   string      // as people read them; the first word stands in the footer
	label  string      // in the footer
	title  string      // in the palette; "" keeps it out
	danger bool        // writes or launches: asks first, is gone with --read-only
}

// helpRow is a line of the help: it may speak for several bindings.
type helpRow struct {
	group   keyGroup
	show    string
	text    string
	actions []action
}

// on binds keys by the names that Bubble Tea gives them.
func on(keys ...string) key.Binding { return key.NewBinding(key.WithKeys(keys...)) }

// bindings is the key table. Footer, help, palette and the README's table come from it.
func bindings() []binding {
	return []binding{
		{actionLeft, on("h", "left"), "h", "left", "", false},
		{actionDown, on("j", "down"), "j", "down", "", false},
		{actionUp, on("k", "up"), "k", "up", "", false},
		{actionRight, on("l", "right"), "l", "right", "", false},
		{actionFirst, on("g", "home"), "g", "first", "Go to the first row", false},
		{actionLast, on("G", "end"), "G", "last", "Go to the last row", false},
		{actionHalfDown, on("ctrl+d"), "ctrl+d", "half a page", "", false},
		{actionHalfUp, on("ctrl+u"), "ctrl+u", "half a page", "", false},
		{actionPageDown, on("pgdown"), "pgdn", "page", "", false},
		{actionPageUp, on("pgup"), "pgup", "page", "", false},
		{actionNextWaiting, on("n"), "n", "next waiting", "Go to the next cell that waits for you", false},
		{actionPreviousWaiting, on("N"), "N", "previous waiting", "Go to the previous cell that waits for you", false},
		{actionFocus, on("tab"), "tab", "to the pane and back", "Move the focus between grid and pane", false},
		{actionEnter, on("enter"), "enter", "detail", "Show the detail", false},
		{actionBack, on("esc"), "esc", "back", "Go one step back", false},
		{actionZoom, on("z"), "z", "zoom", "Zoom what has the focus", false},
		{actionToggle, on(" "), "space", "switch", "Flip the switch of what is under the cursor", true},
		{actionApprove, on("a"), "a", "approve", "Give the harness's consent", true},
		{actionRevoke, on("A"), "A", "revoke", "Take the harness's consent back", true},
		{actionUndo, on("u"), "u", "undo", "Take the last write back", true},
		{actionLaunch, on("x"), "x", "launch", "Launch what is under the cursor, or stop it", true},
		{actionLaunchAll, on("X"), "X", "launch all", "Launch all that is shown, or stop all", true},
		{actionTools, on("t"), "t", "tools", "Show the tools", false},
		{actionOutput, on("o"), "o", "output", "Show output and protocol of the launch", false},
		{actionFiles, on("f"), "f", "files", "Show the files of the harness", false},
		{actionColumns, on("H"), "H", "harnesses", "Show, hide and order the harness columns", false},
		{actionFolder, on("P"), "P", "folder", "Look at another folder", false},
		{actionFilter, on("/"), "/", "filter", "Filter the servers", false},
		{actionSort, on("s"), "s", "sort", "Sort by name, severity or tokens", false},
		{actionReread, on("r"), "r", "read again", "Read the files of this harness again", false},
		{actionRereadAll, on("R"), "R", "read all again", "Read all files again", false},
		{actionEdit, on("e"), "e", "edit", "Open the deciding line in $EDITOR", false},
		{actionCopy, on("y"), "y", "copy name", "Copy the name", false},
		{actionCopyPlace, on("Y"), "Y", "copy path", "Copy path:line", false},
		{actionPalette, on(":"), ":", "all", "", false},
		{actionHelp, on("?"), "?", "help", "Show the keys", false},
		{actionQuit, on("q"), "q", "quit", "Quit", false},
		{actionQuitNow, on("ctrl+c"), "ctrl+c", "quit", "", false},
		{actionSuspend, on("ctrl+z"), "ctrl+z", "suspend", "Suspend", false},
	}
}

// helpRows is what the help says, in the order of its groups. Every action of the key table stands in one row.
func helpRows() []helpRow {
	return []helpRow{
		{groupMove, "h j k l", "cell; up: headings, left: names", []action{actionLeft, actionDown, actionUp, actionRight}},
		{groupMove, "g G ctrl+d/u", "first, last; half a page", []action{actionFirst, actionLast, actionHalfDown, actionHalfUp, actionPageDown, actionPageUp}},
		{groupMove, "n N", "next, previous that waits for you", []action{actionNextWaiting, actionPreviousWaiting}},
		{groupMove, "tab", "grid or pane", []action{actionFocus}},
		{groupMove, "z", "zoom grid or pane", []action{actionZoom}},
		{groupMove, "enter esc", "look into it; back", []action{actionEnter, actionBack}},
		{groupMove, "q ctrl+c", "quit", []action{actionQuit, actionQuitNow}},
		{groupMore, "e", "open the line in $EDITOR", []action{actionEdit}},
		{groupMore, "y Y", "copy name, path:line", []action{actionCopy, actionCopyPlace}},
		{groupMore, ":", "every action by name", []action{actionPalette}},
		{groupMore, "?", "this help", []action{actionHelp}},
		{groupMore, "ctrl+z", "suspend", []action{actionSuspend}},
		{groupLook, "t", "tools", []action{actionTools}},
		{groupLook, "o", "output, protocol", []action{actionOutput}},
		{groupLook, "f", "files of the harness", []action{actionFiles}},
		{groupLook, "/", "filter", []action{actionFilter}},
		{groupLook, "s", "sort", []action{actionSort}},
		{groupLook, "H", "harness columns", []action{actionColumns}},
		{groupLook, "P", "another folder", []action{actionFolder}},
		{groupLook, "r R", "read again: column, all", []action{actionReread, actionRereadAll}},
		{groupAct, "space", "flip the switch", []action{actionToggle}},
		{groupAct, "a A", "approve, revoke", []action{actionApprove, actionRevoke}},
		{groupAct, "u", "undo last write", []action{actionUndo}},
		{groupAct, "x X", "launch or stop; all", []action{actionLaunch, actionLaunchAll}},
	}
}

// keyTable finds bindings by key and by action.
type keyTable struct {
	rows     []binding
	byKey    map[string]action
	byAction map[action]binding
	gone     map[string]action // what --read-only takes away
}

// newKeyTable makes the table; with readOnly what writes or launches is left out.
func newKeyTable(readOnly bool) keyTable {
	t := keyTable{byKey: map[string]action{}, byAction: map[action]binding{}, gone: map[string]action{}}
	for _, b := range bindings() {
		if b.danger && readOnly {
			for _, k := range b.keys.Keys() {
				t.gone[k] = b.action
			}
			continue
		}
		t.rows = append(t.rows, b)
		t.byAction[b.action] = b
		for _, k := range b.keys.Keys() {
			t.byKey[k] = b.action
		}
	}
	return t
}

// hint is a key with its label in the footer.
type hint struct {
	key, label string
	action     action
}

// hint returns the footer's form of an action; label "" takes the table's own.
func (t keyTable) hint(a action, label string) (hint, bool) {
	b, ok := t.byAction[a]
	if !ok {
		return hint{}, false
	}
	if label == "" {
		label = b.label
	}
	return hint{b.show, label, a}, true
}

// hintSpec is an action with the label that a view's footer gives it; actionNone stands for left and right.
type hintSpec struct {
	action action
	label  string
}

// viewHints are the footer's keys of a full view: those that can act now.
func (m *Model) viewHints(specs ...hintSpec) []hint {
	var out []hint
	for _, s := range specs {
		if s.action == actionNone {
			out = append(out, hint{"← →", s.label, actionNone})
			continue
		}
		if h, ok := m.keys.hint(s.action, s.label); ok && m.against(s.action) == "" {
			out = append(out, h)
		}
	}
	return out
}
