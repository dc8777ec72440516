package ui

import "fusebox/model"

// stateStyle is how a state is drawn: one symbol and the roles of symbol and word.
type stateStyle struct {
	symbol      string
	symbolRole  role
	wordRole    role
	countWord   string // in the header
	inAllCounts bool   // counted only where the header is the legend as well
	filterAlias string // what state: takes besides the state's own name
}

// styleOf returns how a state is drawn.
func styleOf(s model.State) stateStyle {
	switch s {
	case model.StateConfigured:
		return stateStyle{"○", roleText, roleText, "not tried", true, "configured"}
	case model.StateOK:
		return stateStyle{"●", roleOK, roleText, "ok", true, "ok"}
	case model.StateUnapproved:
		return stateStyle{"?", roleWarn, roleWarn, "waiting", false, "approve"}
	case model.StateUnauthenticated:
		return stateStyle{"!", roleWarn, roleWarn, "sign in", false, "signin"}
	case model.StateError:
		return stateStyle{"✗", roleBad, roleBad, "error", false, "error"}
	case model.StateDisabled:
		return stateStyle{"–", roleDim, roleDim, "off", true, "off"}
	case model.StateAwaitingReconnect:
		return stateStyle{"↻", roleWarn, roleText, "reload", false, "reload"}
	case model.StateUnknown:
		return stateStyle{"◌", roleText, roleDim, "unseen", true, "unknown"}
	case model.StateLaunching:
		return stateStyle{"⠋", roleAccent, roleDim, "starting", false, "starting"}
	default:
		return stateStyle{"·", roleDim, roleDim, "", true, ""}
	}
}

// countOrder is the order of the header's counts.
var countOrder = [...]model.State{model.StateUnapproved, model.StateUnauthenticated, model.StateError, model.StateAwaitingReconnect,
	model.StateLaunching, model.StateUnknown, model.StateConfigured, model.StateOK, model.StateDisabled}
