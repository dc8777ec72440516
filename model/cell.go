package model

import (
	"strconv"
	"time"
)

// Entry is one server as one file declares it for one harness.
type Entry struct {
	Name       string // as this harness names it
	Scope      Scope
	Source     Location    // the line that holds the name
	Definition *Definition // nil when the entry could not be understood
	Findings   []Finding
	Filter     *ToolFilter // which tools it takes; nil takes all
}

// Replaced is an entry that the effective one beat.
type Replaced struct {
	Scope  Scope
	Source Location
	Merged bool // it gave keys to the effective entry
}

// Pending is an entry of the same name that waits and does not displace the effective one.
type Pending struct {
	Entry
	State  State
	Reason Reason
}

// Capabilities say what can be done with a cell: empty means that it can be done, else the reason why not.
type Capabilities struct {
	Toggle  string
	Approve string
	Login   string
}

// Cell is one server in one harness: what the harness would do with it, and what a launch showed. A cell of a snapshot is
// never changed; a changed one is a new value.
type Cell struct {
	Harness HarnessID
	Entry
	Decision     Decision
	Reason       Reason
	Consent      Location // where the consent is recorded that lets it load; zero where none is needed or given
	Replaces     []Replaced
	Pending      []Pending
	Capabilities Capabilities
	Overlays     Overlays
	Reload       *ReloadAdvice // with OverlayReload
	Launch       *Launch       // being started or reached right now
	Observation  *Observation
	Tools        *ToolList
}

// ReloadAdvice says which open session still has an older definition.
type ReloadAdvice struct {
	PID   int
	Since time.Time
	Text  string // what to do in that harness
}

// Launch is a start that is going on.
type Launch struct {
	Since    time.Time
	Progress []string // what happened so far, oldest first; bounded
}

// Outcome is how a launch ended.
type Outcome uint8

// The outcomes of a launch.
const (
	OutcomeUnknown Outcome = iota
	OutcomeOK
	OutcomeUnauthenticated
	OutcomeError
)

// Observation is what one launch of one definition in one environment showed. It proves the server, not what an open
// session holds.
type Observation struct {
	At        time.Time
	Took      time.Duration
	Outcome   Outcome
	Reason    Reason // why it is not OutcomeOK
	Word      string // the cell's word where the reason's own is too general: "exit 1", "500"
	Protocol  string // protocol version that was agreed on
	Noise     int    // lines on stdout that are no message
	Exit      *int   // exit status, if it ended by itself
	Notes     []string
	Output    *Transcript
	Server    string // the name and version that the server gives itself
	Prompts   *int   // counts where the server announces them
	Resources *int
	Unset     []string    // variables that had no value
	For       []HarnessID // the harnesses that this one launch answers for
}

// ToolList is what a server offers, after the filters of the cell's harness.
type ToolList struct {
	Listed  int
	Offered int
	Tokens  int // JSON characters / 4 of the offered tools
	Unclear int
	Names   []string // bare names, after the filters
	ShownAs []string // as the harness's model sees them
	TooLong []string // shown names over the harness's length limit
	All     []Tool   // everything that the server lists
	Dropped []bool   // beside All: the harness's filter drops it
}

// State returns what the cell shows: the first that fits of launching, error, disabled, unapproved, unknown,
// awaiting_reconnect, unauthenticated, ok, configured.
func (c *Cell) State() State {
	if c == nil {
		return StateNone
	}
	if c.Launch != nil {
		return StateLaunching
	}
	switch c.Decision {
	case DecisionCannot:
		return StateError
	case DecisionOff:
		return StateDisabled
	case DecisionWaits:
		return StateUnapproved
	case DecisionLoads:
	default:
		return StateUnknown
	}
	if c.Observation != nil && c.Observation.Outcome == OutcomeError {
		return StateError
	}
	if c.Overlays&OverlayReload != 0 {
		return StateAwaitingReconnect
	}
	said := StateConfigured
	if c.Reason.Code != ReasonNone {
		info, _ := c.Reason.Code.Info()
		said = info.State
	}
	if said == StateAwaitingReconnect {
		return said
	}
	if c.Observation != nil {
		switch c.Observation.Outcome {
		case OutcomeUnauthenticated:
			return StateUnauthenticated
		case OutcomeOK:
			return StateOK
		}
	}
	if said == StateUnauthenticated {
		return said
	}
	return StateConfigured
}

// StateReason returns the reason that goes with State: the decision's own, or that of the observation or of the open
// session which the state is drawn from.
func (c *Cell) StateReason() Reason {
	switch c.State() {
	case StateError, StateUnauthenticated:
		if c.Decision == DecisionLoads && c.Observation != nil && c.Observation.Outcome != OutcomeOK {
			return c.Observation.Reason
		}
	case StateOK:
		return Reason{}
	case StateAwaitingReconnect:
		if c.Overlays&OverlayReload != 0 {
			r := Reason{Code: ReasonSessionOlder, Text: "an open session is older than the change"}
			if c.Reload != nil && c.Reload.Text != "" {
				r.Text = c.Reload.Text
			}
			return r
		}
	}
	return c.Reason
}

// Word is what the cell says beside its symbol, at most 7 cells. now is used for the seconds of a launch.
func (c *Cell) Word(now time.Time) string {
	switch s := c.State(); s {
	case StateNone:
		return ""
	case StateLaunching:
		if n := int(now.Sub(c.Launch.Since) / time.Second); n >= 1 {
			return strconv.Itoa(min(n, 99999)) + "s"
		}
		return ""
	case StateOK:
		if c.Tools != nil {
			return strconv.Itoa(c.Tools.Offered)
		}
		return ""
	case StateConfigured:
		if c.Definition != nil && (c.Definition.Transport == TransportSSE || c.Definition.Transport == TransportWS) {
			return string(c.Definition.Transport)
		}
		return ""
	case StateError, StateUnauthenticated:
		if c.Decision == DecisionLoads && c.Observation != nil && c.Observation.Outcome != OutcomeOK && c.Observation.Word != "" {
			return c.Observation.Word
		}
	}
	info, _ := c.StateReason().Code.Info()
	return info.Word
}

// StateWords is the state in a few words, for panes and narrow screens.
func (c *Cell) StateWords(now time.Time) string {
	switch c.State() {
	case StateNone:
		return "not configured"
	case StateLaunching:
		if w := c.Word(now); w != "" {
			return "starting, " + w
		}
		return "starting"
	case StateOK:
		if c.Tools != nil {
			return "loaded, " + plural(c.Tools.Offered, "tool")
		}
		return "loaded"
	case StateConfigured:
		return "would load, not tried yet"
	}
	r := c.StateReason()
	info, _ := r.Code.Info()
	if r.Code == ReasonExited && c.Observation != nil && c.Observation.Exit != nil {
		return info.Words + ", exit " + strconv.Itoa(*c.Observation.Exit)
	}
	return info.Words
}

func plural(n int, word string) string {
	if n == 1 {
		return "1 " + word
	}
	return strconv.Itoa(n) + " " + word + "s"
}

// Marked tells whether a finding of the cell is worth a mark in the grid.
func (c *Cell) Marked() bool {
	if c == nil {
		return false
	}
	for _, f := range c.Findings {
		if f.Severity == Warning {
			return true
		}
	}
	return false
}

// OpenAt is the line that an editor should open: the one that decides the state, else the entry itself.
func (c *Cell) OpenAt() Location {
	if r := c.StateReason(); !r.DecidedBy.IsZero() && r.DecidedBy.Path[0] != '$' {
		return r.DecidedBy
	}
	return c.Source
}
