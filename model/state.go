package model

// Decision is what a harness does with a server in this folder, told from files alone.
type Decision uint8

// The decisions. The zero value is unknown, so that nothing is called loaded by omission.
const (
	DecisionUnknown Decision = iota // a blind spot decides
	DecisionLoads                   // a session started here, now, with no flags, loads it
	DecisionWaits                   // it waits for the user's consent
	DecisionOff                     // switched off, rejected, blocked by a list or a policy
	DecisionCannot                  // a broken file or entry
)

// String returns the word of the JSON document.
func (d Decision) String() string {
	switch d {
	case DecisionLoads:
		return "loads"
	case DecisionWaits:
		return "waits"
	case DecisionOff:
		return "off"
	case DecisionCannot:
		return "cannot"
	default:
		return "unknown"
	}
}

// State is what a cell shows.
type State uint8

// The states, the ones that need a person last to first being StateError. StateNone is an empty cell.
const (
	StateNone State = iota
	StateConfigured
	StateOK
	StateUnapproved
	StateUnauthenticated
	StateError
	StateDisabled
	StateAwaitingReconnect
	StateUnknown
	StateLaunching
)

// States lists every state of a cell that holds something.
func States() []State {
	return []State{StateConfigured, StateOK, StateUnapproved, StateUnauthenticated, StateError, StateDisabled,
		StateAwaitingReconnect, StateUnknown, StateLaunching}
}

// String returns the word of the JSON document.
func (s State) String() string {
	switch s {
	case StateConfigured:
		return "configured"
	case StateOK:
		return "ok"
	case StateUnapproved:
		return "unapproved"
	case StateUnauthenticated:
		return "unauthenticated"
	case StateError:
		return "error"
	case StateDisabled:
		return "disabled"
	case StateAwaitingReconnect:
		return "awaiting_reconnect"
	case StateUnknown:
		return "unknown"
	case StateLaunching:
		return "launching"
	default:
		return "none"
	}
}

// Urgency orders states for sorting: what needs a person first.
func (s State) Urgency() int {
	switch s {
	case StateError:
		return 0
	case StateUnapproved:
		return 1
	case StateUnauthenticated:
		return 2
	case StateAwaitingReconnect:
		return 3
	case StateUnknown:
		return 4
	case StateLaunching:
		return 5
	case StateConfigured:
		return 6
	case StateOK:
		return 7
	case StateDisabled:
		return 8
	default:
		return 9
	}
}

// NeedsPerson tells whether the state waits for somebody to do something.
func (s State) NeedsPerson() bool {
	return s == StateError || s == StateUnapproved || s == StateUnauthenticated || s == StateAwaitingReconnect
}

// Overlays are facts that lie over a decision.
type Overlays uint8

// The overlays.
const (
	OverlayStale   Overlays = 1 << iota // the file just broke; this is the last good answer
	OverlayChanged                      // changed while it was being looked at
	OverlayReload                       // an open session is older than a change
)

// Names returns the overlays' words, in a fixed order; never nil.
func (o Overlays) Names() []string {
	names := []string{}
	for _, x := range []struct {
		bit  Overlays
		name string
	}{{OverlayStale, "stale"}, {OverlayChanged, "changed"}, {OverlayReload, "reload"}} {
		if o&x.bit != 0 {
			names = append(names, x.name)
		}
	}
	return names
}
