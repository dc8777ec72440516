package loaders_test

import (
	"strings"
	"testing"

	"fusebox/model"
)

// reasonsWithoutScenario are the reason codes that no resolve gives, and why.
var reasonsWithoutScenario = map[model.ReasonCode]string{
	model.ReasonTimeout:           "seen at a launch",
	model.ReasonExited:            "seen at a launch",
	model.ReasonKilled:            "seen at a launch",
	model.ReasonConnectionRefused: "seen at a launch",
	model.ReasonHostNotFound:      "seen at a launch",
	model.ReasonTLS:               "seen at a launch",
	model.ReasonHTTPStatus:        "seen at a launch",
	model.ReasonNotMCP:            "seen at a launch",
	model.ReasonLoginExpired:      "seen at a launch",
	model.ReasonSessionOlder:      "told by open sessions",
	model.ReasonDown:              "told by a running combiner",
	model.ReasonReconnecting:      "told by a running combiner",
	model.ReasonStarting:          "told by a running combiner",
	model.ReasonTokenMissing:      "seen at a launch",
}

// findingsWithoutScenario are the findings that no resolve gives yet, and why.
var findingsWithoutScenario = map[model.FindingCode]string{
	model.FindingCommandNotFound: "no harness gives it: deepagents, which looks commands up itself, cannot load the server then",
}

// TestEveryReasonAndFindingHasAScenario goes through the tables: each code stands in some want.json, as a reason, a finding or
// a note, or in one of the lists above, not in both.
func TestEveryReasonAndFindingHasAScenario(t *testing.T) {
	t.Parallel()
	reasons, findings := map[model.ReasonCode]string{}, map[model.FindingCode]string{}
	for _, name := range scenarioNames(t) {
		_, want := readScenario(t, name)
		for _, h := range want.Harnesses {
			for _, n := range h.Notes {
				code, _, _ := strings.Cut(n, " ")
				findings[model.FindingCode(code)] = name
			}
			for _, c := range h.Servers {
				reasons[model.ReasonCode(c.Reason)] = name
				for _, p := range c.Pending {
					reasons[model.ReasonCode(strings.Fields(p)[2])] = name
				}
				for _, f := range c.Findings {
					code, _, _ := strings.Cut(f, ":")
					findings[model.FindingCode(code)] = name
				}
			}
		}
	}
	for _, r := range model.Reasons() {
		_, excused := reasonsWithoutScenario[r.Code]
		switch seen := reasons[r.Code]; {
		case seen == "" && !excused:
			t.Errorf("no scenario gives the reason %q", r.Code)
		case seen != "" && excused:
			t.Errorf("%s gives the reason %q: take it off the list", seen, r.Code)
		}
	}
	for _, code := range model.Findings() {
		_, excused := findingsWithoutScenario[code]
		switch seen := findings[code]; {
		case seen == "" && !excused:
			t.Errorf("no scenario gives the finding %q", code)
		case seen != "" && excused:
			t.Errorf("%s gives the finding %q: take it off the list", seen, code)
		}
	}
}
