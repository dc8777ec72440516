package model

import (
	"slices"
	"strings"
	"time"
	"unicode"
)

// Tool is one tool as a server describes it. Its texts are masked.
type Tool struct {
	Name        string
	Title       string
	Description string // may hold line breaks
	Schema      string // the input schema as JSON text; "" when there is none
	Size        int    // characters of its JSON
	ReadOnly    *bool  // the server's hints; nil where it gives none
	Destructive *bool
	Idempotent  *bool
	OpenWorld   *bool
	Malformed   string // what is wrong with it; "" when nothing is
}

// Tokens estimates what the tool costs a model: JSON characters / 4.
func (t *Tool) Tokens() int { return (t.Size + 3) / 4 }

// Unclear tells whether the description says nothing: none, fewer than 15 characters, or only the words of the name.
func (t *Tool) Unclear() bool {
	d := strings.TrimSpace(t.Description)
	if len([]rune(d)) < 15 {
		return true
	}
	name := map[string]bool{}
	for _, w := range words(t.Name) {
		name[w] = true
	}
	for _, w := range words(d) {
		if !name[w] {
			return false
		}
	}
	return true
}

// words splits at everything that is no letter or digit, and where a lower-case letter meets an upper-case one.
func words(s string) []string {
	var out []string
	var b strings.Builder
	flush := func() {
		if b.Len() > 0 {
			out = append(out, strings.ToLower(b.String()))
			b.Reset()
		}
	}
	lower := false
	for _, r := range s {
		switch {
		case !unicode.IsLetter(r) && !unicode.IsDigit(r):
			flush()
			lower = false
			continue
		case unicode.IsUpper(r) && lower:
			flush()
		}
		lower = unicode.IsLower(r)
		b.WriteRune(r)
	}
	flush()
	return out
}

// ToolFilter is what an entry says about which of the server's tools the harness takes. How an item is compared is the
// harness's own rule.
type ToolFilter struct {
	Limited bool // there is an allow list, even an empty one
	Allow   []string
	Deny    []string
	At      Location // the line of the list, for showing which line drops a tool
}

// equal compares what two filters do, not where they stand.
func (f *ToolFilter) equal(o *ToolFilter) bool {
	if f == nil || o == nil {
		return f == o
	}
	return f.Limited == o.Limited && slices.Equal(f.Allow, o.Allow) && slices.Equal(f.Deny, o.Deny)
}

// Transcript is what was said during a launch, for people: masked, one line each, bounded.
type Transcript struct {
	Stderr   []string // the last lines
	Dropped  int      // lines of stderr before them
	Exchange []Exchange
}

// Exchange is one message, or one line of noise.
type Exchange struct {
	At     time.Duration // since the start
	Sent   bool
	Method string // "server/discover", "noise", "end of output", ...
	Text   string
}
