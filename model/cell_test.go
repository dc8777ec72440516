package model_test

import (
	"fmt"
	"testing"
	"time"

	"fusebox/model"
)

var decisions = []model.Decision{model.DecisionUnknown, model.DecisionLoads, model.DecisionWaits, model.DecisionOff, model.DecisionCannot}

// TestStateOfEveryCombination goes through decisions, observations, overlays, reasons and launches, and compares with the
// list of states, of which the first that fits is drawn.
func TestStateOfEveryCombination(t *testing.T) {
	t.Parallel()
	observations := map[string]*model.Observation{"none": nil}
	for name, outcome := range map[string]model.Outcome{"unknown": model.OutcomeUnknown, "ok": model.OutcomeOK,
		"unauthenticated": model.OutcomeUnauthenticated, "error": model.OutcomeError} {
		observations[name] = &model.Observation{Outcome: outcome}
	}
	type situation struct {
		launching bool
		decision  model.Decision
		seen      string
		reload    bool
		reason    model.ReasonCode
	}
	loads := func(s situation) bool { return s.decision == model.DecisionLoads }
	inOrder := []struct {
		state model.State
		when  func(situation) bool
	}{
		{model.StateLaunching, func(s situation) bool { return s.launching }},
		{model.StateError, func(s situation) bool { return s.decision == model.DecisionCannot || loads(s) && s.seen == "error" }},
		{model.StateDisabled, func(s situation) bool { return s.decision == model.DecisionOff }},
		{model.StateUnapproved, func(s situation) bool { return s.decision == model.DecisionWaits }},
		{model.StateUnknown, func(s situation) bool { return s.decision == model.DecisionUnknown }},
		{model.StateAwaitingReconnect, func(s situation) bool { return s.reload || s.reason == model.ReasonReconnecting }},
		{model.StateUnauthenticated, func(s situation) bool {
			return s.seen == "unauthenticated" || s.reason == model.ReasonNeedsLogin && s.seen != "ok"
		}},
		{model.StateOK, func(s situation) bool { return s.seen == "ok" }},
		{model.StateConfigured, func(situation) bool { return true }},
	}
	count := 0
	for _, decision := range decisions {
		for seen, observation := range observations {
			for overlays := model.Overlays(0); overlays < 8; overlays++ {
				for _, reason := range []model.ReasonCode{model.ReasonNone, model.ReasonNeedsLogin, model.ReasonReconnecting, model.ReasonSwitchedOff} {
					for _, launching := range []bool{false, true} {
						count++
						c := &model.Cell{Decision: decision, Observation: observation, Overlays: overlays, Reason: model.Reason{Code: reason}}
						if launching {
							c.Launch = &model.Launch{}
						}
						s := situation{launching, decision, seen, overlays&model.OverlayReload != 0, reason}
						for _, rule := range inOrder {
							if rule.when(s) {
								if got := c.State(); got != rule.state {
									t.Errorf("%+v with overlays %v: %s, want %s", s, overlays.Names(), got, rule.state)
								}
								break
							}
						}
					}
				}
			}
		}
	}
	if count != 5*5*8*4*2 {
		t.Fatalf("looked at %d combinations", count)
	}
	if got := (*model.Cell)(nil).State(); got != model.StateNone {
		t.Errorf("no cell: %s", got)
	}
}

func TestReasonThatIsShown(t *testing.T) {
	t.Parallel()
	exit := 3
	file := model.Location{Path: "/a.json", Line: 4}
	for name, test := range map[string]struct {
		cell        *model.Cell
		code        model.ReasonCode
		word, words string
	}{
		"nothing":   {nil, "", "", "not configured"},
		"plain":     {&model.Cell{Decision: model.DecisionLoads}, "", "", "would load, not tried yet"},
		"sse":       {&model.Cell{Decision: model.DecisionLoads, Entry: model.Entry{Definition: &model.Definition{Transport: model.TransportSSE}}}, "", "sse", "would load, not tried yet"},
		"ws":        {&model.Cell{Decision: model.DecisionLoads, Entry: model.Entry{Definition: &model.Definition{Transport: model.TransportWS}}}, "", "ws", "would load, not tried yet"},
		"http":      {&model.Cell{Decision: model.DecisionLoads, Entry: model.Entry{Definition: &model.Definition{Transport: model.TransportHTTP}}}, "", "", "would load, not tried yet"},
		"waits":     {&model.Cell{Decision: model.DecisionWaits, Reason: model.Reason{Code: model.ReasonUntrustedFolder, DecidedBy: file}}, model.ReasonUntrustedFolder, "trust", "folder not trusted"},
		"off":       {&model.Cell{Decision: model.DecisionOff, Reason: model.Reason{Code: model.ReasonSwitchedOff}}, model.ReasonSwitchedOff, "off", "switched off"},
		"cannot":    {&model.Cell{Decision: model.DecisionCannot, Reason: model.Reason{Code: model.ReasonFileRefused}}, model.ReasonFileRefused, "broken", "broken file"},
		"unseen":    {&model.Cell{Reason: model.Reason{Code: model.ReasonSwitchInDatabase}}, model.ReasonSwitchInDatabase, "unseen", "its switch is in a database"},
		"listed":    {&model.Cell{Decision: model.DecisionLoads, Observation: &model.Observation{Outcome: model.OutcomeOK}, Tools: &model.ToolList{Offered: 1}}, "", "1", "loaded, 1 tool"},
		"listed 14": {&model.Cell{Decision: model.DecisionLoads, Observation: &model.Observation{Outcome: model.OutcomeOK}, Tools: &model.ToolList{Offered: 14}}, "", "14", "loaded, 14 tools"},
		"exited": {&model.Cell{Decision: model.DecisionLoads, Observation: &model.Observation{Outcome: model.OutcomeError, Word: "exit 3", Exit: &exit,
			Reason: model.Reason{Code: model.ReasonExited}}}, model.ReasonExited, "exit 3", "ended, exit 3"},
		"off after a crash": {&model.Cell{Decision: model.DecisionOff, Reason: model.Reason{Code: model.ReasonSwitchedOff},
			Observation: &model.Observation{Outcome: model.OutcomeError, Word: "exit 3", Reason: model.Reason{Code: model.ReasonExited}}}, model.ReasonSwitchedOff, "off", "switched off"},
		"sign in": {&model.Cell{Decision: model.DecisionLoads, Observation: &model.Observation{Outcome: model.OutcomeUnauthenticated,
			Reason: model.Reason{Code: model.ReasonNeedsLogin}}}, model.ReasonNeedsLogin, "sign in", "needs a sign-in"},
		"token by file": {&model.Cell{Decision: model.DecisionLoads, Reason: model.Reason{Code: model.ReasonTokenMissing}}, model.ReasonTokenMissing, "token", "token missing or refused"},
		"older session": {&model.Cell{Decision: model.DecisionLoads, Overlays: model.OverlayReload}, model.ReasonSessionOlder, "reload", "reload a session"},
		"older session, off": {&model.Cell{Decision: model.DecisionOff, Reason: model.Reason{Code: model.ReasonSwitchedOff}, Overlays: model.OverlayReload},
			model.ReasonSwitchedOff, "off", "switched off"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
			if test.cell != nil {
				if got := test.cell.StateReason().Code; got != test.code {
					t.Errorf("reason %q, want %q", got, test.code)
				}
			}
			if got := test.cell.Word(now); got != test.word {
				t.Errorf("word %q, want %q", got, test.word)
			}
			if got := test.cell.StateWords(now); got != test.words {
				t.Errorf("words %q, want %q", got, test.words)
			}
		})
	}
}

func TestSecondsOfALaunch(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	c := &model.Cell{Decision: model.DecisionLoads, Launch: &model.Launch{Since: start}}
	for after, want := range map[time.Duration]string{0: "", 999 * time.Millisecond: "", time.Second: "1s", 12*time.Second + 500*time.Millisecond: "12s",
		1e6 * time.Second: "99999s", -time.Hour: ""} {
		if got := c.Word(start.Add(after)); got != want {
			t.Errorf("after %s: %q, want %q", after, got, want)
		}
	}
}

func TestOpenAt(t *testing.T) {
	t.Parallel()
	entry, decides := model.Location{Path: "/a.json", Line: 2}, model.Location{Path: "/b.json", Line: 7}
	for _, test := range []struct {
		reason model.Reason
		want   model.Location
	}{
		{model.Reason{}, entry},
		{model.Reason{Code: model.ReasonSwitchedOff, DecidedBy: decides}, decides},
		{model.Reason{Code: model.ReasonSwitchedOff, DecidedBy: model.Location{Path: "$SWITCH", Line: 1}}, entry},
	} {
		c := &model.Cell{Entry: model.Entry{Source: entry}, Decision: model.DecisionOff, Reason: test.reason}
		if got := c.OpenAt(); got != test.want {
			t.Errorf("%+v opens %+v, want %+v", test.reason, got, test.want)
		}
	}
}

func TestMarked(t *testing.T) {
	t.Parallel()
	for severity, want := range map[model.Severity]bool{model.Info: false, model.Warning: true} {
		c := &model.Cell{Entry: model.Entry{Findings: []model.Finding{{Code: model.FindingUnknownKey, Severity: severity}}}}
		if c.Marked() != want {
			t.Errorf("a finding of severity %s: marked is %t", severity, c.Marked())
		}
	}
	if (*model.Cell)(nil).Marked() {
		t.Error("an empty cell is marked")
	}
}

// TestNamesOfStates keeps the words that scripts see: all different, none empty.
func TestNamesOfStates(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	urgency := map[int]bool{}
	for _, s := range model.States() {
		if s.String() == "none" || seen[s.String()] {
			t.Errorf("state %d is called %q", s, s)
		}
		seen[s.String()] = true
		urgency[s.Urgency()] = true
	}
	if len(urgency) != len(model.States()) {
		t.Error("two states are equally urgent")
	}
	for _, d := range decisions {
		if want := (d == model.DecisionUnknown); (d.String() == "unknown") != want {
			t.Errorf("decision %d is called %q", d, d)
		}
	}
	if got := fmt.Sprint(model.Overlays(0).Names(), (model.OverlayStale | model.OverlayChanged | model.OverlayReload).Names()); got != "[] [stale changed reload]" {
		t.Errorf("overlays are called %s", got)
	}
}
