package model_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"

	"fusebox/model"
)

// TestReasonTable keeps the table of reasons closed and drawable.
func TestReasonTable(t *testing.T) {
	t.Parallel()
	shape := regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)
	seen := map[model.ReasonCode]bool{}
	for _, r := range model.Reasons() {
		if seen[r.Code] {
			t.Errorf("%q stands twice in the table", r.Code)
		}
		seen[r.Code] = true
		if r.Code != model.ReasonNone && !shape.MatchString(string(r.Code)) {
			t.Errorf("%q is no code", r.Code)
		}
		if width := ansi.StringWidth(r.Word); width > 7 || width != len(r.Word) {
			t.Errorf("%q: the word %q is %d cells wide and %d bytes long", r.Code, r.Word, width, len(r.Word))
		}
		if r.Code != model.ReasonNone && r.Word == "" {
			t.Errorf("%q has no word", r.Code)
		}
		for _, text := range []string{r.Word, r.Words, r.Switch, r.Approve} {
			if text != model.Clean(text) || strings.HasSuffix(text, ".") {
				t.Errorf("%q: %q is not fit to be shown", r.Code, text)
			}
		}
		if r.Words == "" || r.Switch == "" || r.Approve == "" {
			t.Errorf("%q: words, switch or approve is empty", r.Code)
		}
		switch r.State {
		case model.StateNone, model.StateLaunching, model.StateOK:
			t.Errorf("%q goes with %s, which has no reason", r.Code, r.State)
		}
		if got, ok := r.Code.Info(); !ok || got != r {
			t.Errorf("%q is not found in its own table", r.Code)
		}
	}
	if _, ok := model.ReasonCode("no-such-code").Info(); ok {
		t.Error("an unknown code is found")
	}
}

// TestReasonsAgreeWithTheState draws every reason with the decision that it goes with: the cell must show the state and the
// word of the table.
func TestReasonsAgreeWithTheState(t *testing.T) {
	t.Parallel()
	for _, r := range model.Reasons() {
		c := &model.Cell{Reason: model.Reason{Code: r.Code, Text: "because"}}
		switch r.State {
		case model.StateError:
			c.Decision = model.DecisionCannot
		case model.StateDisabled:
			c.Decision = model.DecisionOff
		case model.StateUnapproved:
			c.Decision = model.DecisionWaits
		case model.StateUnknown:
			c.Decision = model.DecisionUnknown
		default:
			c.Decision = model.DecisionLoads
		}
		if got := c.State(); got != r.State {
			t.Errorf("%q with decision %s: state %s, the table says %s", r.Code, c.Decision, got, r.State)
		}
		if got := c.StateReason().Code; got != r.Code {
			t.Errorf("%q: the cell gives the reason %q", r.Code, got)
		}
	}
}

func TestFindingCodes(t *testing.T) {
	t.Parallel()
	shape := regexp.MustCompile(`^[a-z]+(-[a-z]+)*$`)
	seen := map[model.FindingCode]bool{}
	for _, code := range model.Findings() {
		if seen[code] || !shape.MatchString(string(code)) {
			t.Errorf("%q is no code, or stands twice", code)
		}
		seen[code] = true
	}
}
