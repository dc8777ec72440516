package ui

import "fusebox/model"

// Switcher plans, writes and takes back the harnesses' own switches and consents. All its methods read or write files: they
// are called from commands. What they write shows up as a new snapshot of the Source.
type Switcher interface {
	// Plan says what an intent would write; it writes nothing.
	Plan(intent Intent) SwitchPlan
	// Apply writes a plan, of each item the option that it has Chosen, and records all of it as one undo step. Items are left
	// out by taking them out of plan.Items. Where a file is not any more what was planned on and the change cannot be made on
	// what is there now, the report has Conflict set.
	Apply(plan SwitchPlan) SwitchReport
	// PeekUndo says what Undo would take back: the newest step, in words, and what the files would change. An empty what
	// means that there is none. err tells why the step cannot be taken back: a file is not any more what the write made.
	PeekUndo() (what string, files []FileDiff, err error)
	// Undo takes the newest step back.
	Undo() SwitchReport
}

// IntentKind is what a user wants done.
type IntentKind uint8

// The kinds of intents.
const (
	IntentToggle  IntentKind = iota // flip the harness's own switch
	IntentApprove                   // give the harness's own consent
	IntentRevoke                    // take it back
)

// Intent is what a user wants done to which cells.
type Intent struct {
	Kind   IntentKind
	Cells  []model.CellKey
	On     *bool // of a toggle; nil: flip, and of several cells: off if one of them is on
	Row    bool  // the cells are a whole row
	Column bool  // the cells are a whole column
}

// SwitchPlan is what an intent would write.
type SwitchPlan struct {
	Intent Intent
	On     bool   // of a toggle: what it was decided to be
	Title  string // the question: "Switch playwright off in Codex?"
	Items  []SwitchItem
	Token  any // the Switcher's own; handed back as it is
}

// SwitchItem is what the plan does to one cell. An item that is Already so or Refused writes nothing.
type SwitchItem struct {
	Cell    model.CellKey
	Now     *model.Cell    // as the files are now: a consent is about this definition; nil when it is gone
	Harness string         // its title
	Options []SwitchOption // the narrowest first; none when Already or Refused
	Chosen  int            // index of the option that Apply takes; -1 when each trusts a whole folder: the user has to choose
	Already bool           // it is so already
	Refused string         // why it cannot be done, and what to do about it
	Frees   *SwitchFrees   // what switching off takes out of the model's context; nil where that is not known
}

// Writes tells whether Apply writes something for the item.
func (i *SwitchItem) Writes() bool {
	return !i.Already && i.Refused == "" && i.Chosen >= 0 && i.Chosen < len(i.Options) && i.Options[i.Chosen].Unavailable == "" && len(i.Options[i.Chosen].Files) > 0
}

// SwitchFrees counts what a server's tools take of a model's context.
type SwitchFrees struct {
	Tools  int
	Tokens int
}

// SwitchOption is one way to do it.
type SwitchOption struct {
	Reach       string // "here", "everywhere" or "repository"
	Label       string // whom it reaches: "this folder", "every folder", "everybody who uses this repository"
	Unavailable string // why it cannot be taken; "" when it can
	LetsIn      string // what else the same consent lets in; "" when nothing
	Missing     string // what is still missing afterwards for the server to load; "" when nothing
	Warning     string // what else happens, or may happen to others; "" when nothing
	// TrustsFolder: a whole folder becomes trusted. Such an option is never Chosen by Plan, and needs a yes of its own.
	TrustsFolder bool
	Repository   bool // it reaches everybody who uses the repository
	InFolder     bool // it writes a file of the folder, which others may use too
	Files        []FileDiff
}

// FileDiff is what one file changes. Values that look like secrets are dots.
type FileDiff struct {
	Path           string // absolute
	Added, Removed int    // lines
	Created        bool
	Lines          []DiffLine
}

// DiffLine is a line of a diff. Number is the line in the old file for Sign '-', in the new one else; 0 stands between two
// parts of a file that are not neighbours.
type DiffLine struct {
	Number int
	Sign   byte // ' ', '+' or '-'
	Text   string
}

// SwitchReport is what became of a plan or of an undo.
type SwitchReport struct {
	Done     []SwitchDone
	Failed   []string // why something was not written, one sentence each
	Changed  []model.CellKey
	Missing  []string // what is still missing for a server to load, one sentence each
	Conflict bool     // a file is not any more what was planned on: plan anew
}

// SwitchDone is something that was done.
type SwitchDone struct {
	What  string // "playwright is off in Codex"
	Where string // "wrote ~/.codex/config.toml, 1 line"; "" when nothing had to be written
}
