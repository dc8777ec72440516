package model

import "strings"

// HarnessID names a harness in the JSON document and on the command line, e.g. "claude-code".
type HarnessID string

// Verified says how well the rules of a harness are known.
type Verified string

// How the rules of a harness were learnt.
const (
	VerifiedRun    Verified = "run"    // observed on the real program
	VerifiedSource Verified = "source" // read in its source
	VerifiedDocs   Verified = "docs"   // documentation or third parties only
)

// Harness is a program that loads MCP servers, as a column of the grid.
type Harness struct {
	ID             HarnessID
	Aliases        []string // other values that --harness takes
	Title          string   // full name: "Claude Code"
	Heading        string   // column heading, at most 9 cells
	Verified       Verified
	VersionChecked string // version of the program that the rules were seen on
	SignIn         string // what a user types to sign in to the server NAME, in a terminal or, with a slash, in a session; "": not known
	BlindSpots     []BlindSpot
}

// SignInTo is what a user types to sign in to a server; "" if that is not known, or the name cannot be typed as it is.
func (h Harness) SignInTo(server string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("._-", r)
	}
	if server == "" || server[0] == '-' || strings.ContainsFunc(server, func(r rune) bool { return !plain(r) }) {
		return ""
	}
	return strings.Replace(h.SignIn, "NAME", server, 1)
}

// BlindSpot is something about a harness that no file tells: a session flag, an account's connectors, remote policy.
type BlindSpot struct {
	Code string
	Text string
}

// Scope is the layer that an entry comes from.
type Scope string

// The layers. Not every harness has all of them.
const (
	ScopeManaged        Scope = "managed"         // an administrator's file that overrides everybody
	ScopeSystem         Scope = "system"          // a machine-wide file
	ScopeSystemDefaults Scope = "system-defaults" // a machine-wide file below all others
	ScopeUser           Scope = "user"            // this user, every folder
	ScopeLocal          Scope = "local"           // this user, this folder
	ScopeProject        Scope = "project"         // files of the folder, shared with everybody who uses it
	ScopeCustom         Scope = "custom"          // a file or text that an environment variable names
	ScopeExtension      Scope = "extension"       // an installed extension
	ScopePlugin         Scope = "plugin"          // an installed plugin
)

// Location is a place in a file: where an entry stands, or the line that decides a state. Lines and columns start at 1;
// 0 means unknown. An entry that comes from an environment variable has the path "$NAME" and line 1.
type Location struct {
	Path   string
	Key    string
	Line   int
	Column int
}

// IsZero tells whether the location names nothing.
func (l Location) IsZero() bool { return l.Path == "" }

// Severity orders findings. From Warning on a finding is marked in the cell.
type Severity string

// Severities of findings.
const (
	Info    Severity = "info"
	Warning Severity = "warning"
)

// Finding is something that a user should know about an entry, with a stable code.
type Finding struct {
	Code     FindingCode
	Severity Severity
	Text     string
	Line     int // in the file of the entry; 0 if it is about the whole entry
}

// FindingCode is the stable name of a kind of finding.
type FindingCode string

// The kinds of findings.
const (
	FindingUnsetVariable        FindingCode = "unset-variable"
	FindingURLWithoutType       FindingCode = "url-without-type"
	FindingInvalidName          FindingCode = "invalid-server-name"
	FindingUnderscoreInName     FindingCode = "underscore-in-server-name"
	FindingReservedName         FindingCode = "reserved-server-name"
	FindingDuplicateKey         FindingCode = "duplicate-key"
	FindingUnknownKey           FindingCode = "unknown-key"
	FindingUselessKey           FindingCode = "key-without-effect"
	FindingWrongKey             FindingCode = "wrong-key"
	FindingFileNotRead          FindingCode = "file-not-read"
	FindingFromRepository       FindingCode = "from-repository"
	FindingApprovedByProject    FindingCode = "approved-by-project-file"
	FindingGateOpenedByProject  FindingCode = "gate-opened-by-project-file"
	FindingCommandNotFound      FindingCode = "command-not-found"
	FindingDeprecatedKey        FindingCode = "deprecated-key"
	FindingListingDiffers       FindingCode = "listing-differs"
	FindingBlankedVariable      FindingCode = "blanked-variable"
	FindingUserApprovalUnneeded FindingCode = "approval-hint"
	FindingPartialEntry         FindingCode = "partial-entry"
	FindingWrongType            FindingCode = "wrong-type"
	FindingConflictingKeys      FindingCode = "conflicting-keys"
	FindingReferencedFile       FindingCode = "referenced-file"
	FindingConflictingScopes    FindingCode = "conflicting-scopes"
	FindingSharedProcess        FindingCode = "shared-process"
	FindingCallsGated           FindingCode = "calls-gated"
)

// Findings lists every finding code, for tests and documentation.
func Findings() []FindingCode {
	return []FindingCode{
		FindingUnsetVariable, FindingURLWithoutType, FindingInvalidName, FindingUnderscoreInName, FindingReservedName,
		FindingDuplicateKey, FindingUnknownKey, FindingUselessKey, FindingWrongKey, FindingFileNotRead,
		FindingFromRepository, FindingApprovedByProject, FindingGateOpenedByProject, FindingCommandNotFound,
		FindingDeprecatedKey, FindingListingDiffers, FindingBlankedVariable, FindingUserApprovalUnneeded,
		FindingPartialEntry, FindingWrongType, FindingConflictingKeys, FindingReferencedFile, FindingConflictingScopes,
		FindingSharedProcess, FindingCallsGated,
	}
}

// FileStatus says what became of a file that a harness may read.
type FileStatus string

// What can become of a file.
const (
	FileRead      FileStatus = "read"
	FileAbsent    FileStatus = "absent"
	FileRefused   FileStatus = "refused"   // not a regular file, too large, unreadable, wrong owner
	FileMalformed FileStatus = "malformed" // does not parse
	FileIgnored   FileStatus = "ignored"   // exists, but the harness does not read it here, or not for servers
)

// File is one file that a harness may read, existing or not.
type File struct {
	Path    string
	Scope   Scope
	Status  FileStatus
	Note    string // for a malformed file "LINE:COLUMN: what"; else why, or ""
	Line    int    // of the syntax error; 0 if none
	Column  int
	Context *Context // the lines round the syntax error; nil if none
}

// Note is something to know about a harness as a whole.
type Note struct {
	Code string
	Text string
	Path string
	Line int
}

// Context is the text round a syntax error, for people. Values are hidden.
type Context struct {
	Lines []ContextLine
	Line  int // number of the line with the error
	Mark  int // column of the error in that line as shown; starts at 1
}

// ContextLine is one line of a file, its values hidden.
type ContextLine struct {
	Number int
	Text   string
}
