package model

// ReasonCode is the stable name of why a cell is in its state. The table below is closed: a code that is not in it is a
// fault of the program.
type ReasonCode string

// The reason codes.
const (
	ReasonNone ReasonCode = "" // plain: it loads

	// waits
	ReasonNeedsApproval   ReasonCode = "needs-approval"
	ReasonApprovalChanged ReasonCode = "approval-changed"
	ReasonUntrustedFolder ReasonCode = "untrusted-folder"

	// off
	ReasonSwitchedOff     ReasonCode = "switched-off"
	ReasonRejected        ReasonCode = "rejected"
	ReasonBlockedByList   ReasonCode = "blocked-by-list"
	ReasonBlockedByPolicy ReasonCode = "blocked-by-policy"

	// cannot
	ReasonFileRefused  ReasonCode = "file-refused"
	ReasonEntryInvalid ReasonCode = "entry-invalid"
	ReasonEntrySkipped ReasonCode = "entry-skipped"

	// cannot, or seen at a launch
	ReasonCommandNotFound   ReasonCode = "command-not-found"
	ReasonTimeout           ReasonCode = "timeout"
	ReasonExited            ReasonCode = "exited"
	ReasonKilled            ReasonCode = "killed"
	ReasonConnectionRefused ReasonCode = "connection-refused"
	ReasonHostNotFound      ReasonCode = "host-not-found"
	ReasonTLS               ReasonCode = "tls-failed"
	ReasonHTTPStatus        ReasonCode = "http-status"
	ReasonNotMCP            ReasonCode = "not-mcp"
	ReasonDown              ReasonCode = "down"

	// a sign-in
	ReasonNeedsLogin   ReasonCode = "needs-login"
	ReasonLoginExpired ReasonCode = "login-expired"
	ReasonTokenMissing ReasonCode = "token-missing"

	// a blind spot decides
	ReasonSwitchInDatabase ReasonCode = "switch-in-database"
	ReasonTrustInDatabase  ReasonCode = "trust-in-database"
	ReasonApprovalUnseen   ReasonCode = "approval-not-computable"
	ReasonNewServersOff    ReasonCode = "new-servers-start-off"

	// open sessions
	ReasonSessionOlder ReasonCode = "session-older"
	ReasonReconnecting ReasonCode = "reconnecting"
	ReasonStarting     ReasonCode = "starting"
)

// ReasonInfo is a row of the table of reasons.
type ReasonInfo struct {
	Code    ReasonCode
	Word    string // what the cell says, at most 7 cells; "exit 1" and HTTP codes come from the observation
	State   State  // the state that it goes with
	Words   string // the state in words, for panes and narrow screens
	Switch  string // what space does, or why it cannot
	Approve string // what a does, or why it cannot
}

// Reasons returns the closed table of reasons. Words are lower case and name the key where there is one.
func Reasons() []ReasonInfo { return reasonTable[:] }

var reasonTable = [...]ReasonInfo{
	{ReasonNone, "", StateConfigured, "would load", "switches it off", "not needed"},

	{ReasonNeedsApproval, "approve", StateUnapproved, "needs approval", "switches it off", "approves this server"},
	{ReasonApprovalChanged, "changed", StateUnapproved, "changed since approval", "switches it off", "approves the new definition"},
	{ReasonUntrustedFolder, "trust", StateUnapproved, "folder not trusted", "switches it off", "trusts the whole folder, after a question of its own"},

	{ReasonSwitchedOff, "off", StateDisabled, "switched off", "switches it on", "not needed, it is switched off"},
	{ReasonRejected, "denied", StateDisabled, "rejected by you", "it is rejected, not switched off: a approves it", "takes the rejection back"},
	{ReasonBlockedByList, "blocked", StateDisabled, "blocked by a list", "a list blocks it: e opens the list", "an approval does not unblock it"},
	{ReasonBlockedByPolicy, "policy", StateDisabled, "blocked by policy", "an administrator's policy decides", "an administrator's policy decides"},

	{ReasonFileRefused, "broken", StateError, "broken file", "a file that is refused is not written: e opens it", "a file that is refused is not written: e opens it"},
	{ReasonEntryInvalid, "invalid", StateError, "invalid entry", "the entry is invalid: e opens it", "the entry is invalid: e opens it"},
	{ReasonEntrySkipped, "skipped", StateError, "entry is skipped", "the harness skips the entry: e opens it", "the harness skips the entry: e opens it"},

	{ReasonCommandNotFound, "missing", StateError, "command not found", "switches it off", "not needed"},
	{ReasonTimeout, "timeout", StateError, "no answer in time", "switches it off", "not needed"},
	{ReasonExited, "exited", StateError, "ended", "switches it off", "not needed"},
	{ReasonKilled, "killed", StateError, "was killed", "switches it off", "not needed"},
	{ReasonConnectionRefused, "refused", StateError, "connection refused", "switches it off", "not needed"},
	{ReasonHostNotFound, "no host", StateError, "host not found", "switches it off", "not needed"},
	{ReasonTLS, "tls", StateError, "certificate refused", "switches it off", "not needed"},
	{ReasonHTTPStatus, "http", StateError, "HTTP error", "switches it off", "not needed"},
	{ReasonNotMCP, "not mcp", StateError, "does not speak MCP", "switches it off", "not needed"},
	{ReasonDown, "down", StateError, "down", "switches it off", "not needed"},

	{ReasonNeedsLogin, "sign in", StateUnauthenticated, "needs a sign-in", "switches it off", "not needed, it waits for a sign-in"},
	{ReasonLoginExpired, "expired", StateUnauthenticated, "sign-in expired", "switches it off", "not needed, it waits for a sign-in"},
	{ReasonTokenMissing, "token", StateUnauthenticated, "token missing or refused", "switches it off", "not needed, it waits for a token"},

	{ReasonSwitchInDatabase, "unseen", StateUnknown, "its switch is in a database", "the switch is in a database that is never written", "the switch is in a database that is never written"},
	{ReasonTrustInDatabase, "unseen", StateUnknown, "its trust is in a database", "the trust is in a database that is never written", "the trust is in a database that is never written"},
	{ReasonApprovalUnseen, "unseen", StateUnknown, "approval cannot be computed", "the approval cannot be computed here", "the approval cannot be computed here"},
	{ReasonNewServersOff, "unseen", StateUnknown, "new servers start off", "the switch is not in a file", "the switch is not in a file"},

	{ReasonSessionOlder, "reload", StateAwaitingReconnect, "reload a session", "switches it off", "not needed"},
	{ReasonReconnecting, "retry", StateAwaitingReconnect, "reconnecting", "switches it off", "not needed"},
	{ReasonStarting, "start", StateAwaitingReconnect, "starting", "switches it off", "not needed"},
}

// reasonIndex finds a row of the table; it is never changed.
var reasonIndex = func() map[ReasonCode]int {
	index := make(map[ReasonCode]int, len(reasonTable))
	for i := range reasonTable {
		index[reasonTable[i].Code] = i
	}
	return index
}()

// Info returns the row of a code; an unknown code gives the zero row with ok false.
func (c ReasonCode) Info() (info ReasonInfo, ok bool) {
	if i, ok := reasonIndex[c]; ok {
		return reasonTable[i], true
	}
	return ReasonInfo{}, false
}

// Reason is why a cell is in its state.
type Reason struct {
	Code      ReasonCode
	Text      string   // one sentence
	DecidedBy Location // the file and line that decides; zero when only the entry itself does
}
