package cli

import (
	"context"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fusebox/loaders"
	"fusebox/model"
	"fusebox/watch/sessions"
)

// A change is laid over the cell while a session of this folder is older than it, and over nothing else.
func TestReloadsFollowSessions(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	env := &loaders.Env{Home: dir, Project: dir, GOOS: "linux", Now: time.Now}
	r := newReloads(env, loaders.All(), false)
	start := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	open := []sessions.Session{{Harness: "codex", PID: 41822, Since: start, Cwd: r.project}, {Harness: "codex", PID: 1, Since: start, Cwd: "/elsewhere"},
		{Harness: "claude-code", PID: 2, Since: start, Cwd: ""}}
	r.find = func(context.Context, []sessions.Program) ([]sessions.Session, error) { return open, nil }
	snapshot := func(generation int, url string, decision model.Decision) *model.Snapshot {
		cell := &model.Cell{Harness: "codex", Decision: decision, Entry: model.Entry{Name: "linear", Definition: &model.Definition{Transport: model.TransportHTTP, URL: model.NewSecret(url)}}}
		return model.NewSnapshot(generation, dir, dir, start, []*model.Column{{Harness: model.Harness{ID: "codex", Title: "Codex"}, Cells: []*model.Cell{cell}}})
	}
	one := snapshot(1, "https://a.test/mcp", model.DecisionLoads)
	if !r.look(context.Background(), start.Add(time.Second)) {
		t.Fatal("the session was not noticed")
	}
	state := func(s *model.Snapshot) *model.Cell { return r.lay(s, 9).Columns[0].Cells[0] }
	if c := state(one); c.State() != model.StateConfigured {
		t.Errorf("a cold look claims %s", c.State())
	}
	if n := r.lay(one, 9).Columns[0].Sessions; len(n) != 1 || n[0].PID != 41822 {
		t.Errorf("sessions %+v", n)
	}
	two := snapshot(2, "https://b.test/mcp", model.DecisionLoads)
	r.observe(one, two, start.Add(2*time.Second))
	c := state(two)
	if c.State() != model.StateAwaitingReconnect || c.Reload == nil || c.Reload.PID != 41822 || !strings.Contains(c.StateReason().Text, "restart Codex") {
		t.Errorf("after a change: %s %+v", c.State(), c.StateReason())
	}
	off := snapshot(3, "https://b.test/mcp", model.DecisionOff)
	r.observe(two, off, start.Add(3*time.Second))
	if c := state(off); c.State() != model.StateDisabled || c.Overlays&model.OverlayReload == 0 {
		t.Errorf("switched off with a session open: %s %v", c.State(), c.Overlays.Names())
	}
	open = nil
	r.look(context.Background(), start.Add(10*time.Second))
	if c := state(off); c.Overlays != 0 {
		t.Error("it did not settle when the session ended")
	}
	open = []sessions.Session{{Harness: "codex", PID: 5, Since: start.Add(20 * time.Second), Cwd: r.project}}
	r.look(context.Background(), start.Add(21*time.Second))
	if c := state(two); c.Overlays != 0 {
		t.Error("a session that is newer than the change was blamed")
	}
}

// Only what a session would load counts: another line, a finding or a comment is no change.
func TestReloadsIgnoreWhatASessionDoesNotSee(t *testing.T) {
	t.Parallel()
	env := &loaders.Env{Home: "/h", Project: "/h/p", GOOS: "linux", Now: time.Now}
	r := newReloads(env, loaders.All(), true)
	cell := func(line int, decision model.Decision) *model.Snapshot {
		c := &model.Cell{Harness: "codex", Decision: decision, Entry: model.Entry{Name: "x", Source: model.Location{Path: "/f", Line: line},
			Definition: &model.Definition{Transport: model.TransportStdio, Command: "npx"}}}
		return model.NewSnapshot(1, "/h/p", "/h", time.Time{}, []*model.Column{{Harness: model.Harness{ID: "codex"}, Cells: []*model.Cell{c}}})
	}
	r.observe(cell(1, model.DecisionLoads), cell(2, model.DecisionLoads), time.Now())
	r.observe(cell(1, model.DecisionWaits), cell(1, model.DecisionOff), time.Now())
	if len(r.changed) > 0 {
		t.Errorf("counted as changed: %v", r.changed)
	}
	r.observe(cell(1, model.DecisionWaits), cell(1, model.DecisionLoads), time.Now())
	if len(r.changed) != 1 {
		t.Error("a consent that was given is a change")
	}
}

// TestReloadsNoticeASignIn: a token that appears while a session is open is not in that session yet; one that disappears
// leaves the cell as the files say.
func TestReloadsNoticeASignIn(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.write("~/.deepagents/.mcp.json", `{"mcpServers": {"linear": {"url": "https://mcp.linear.test/mcp", "auth": "oauth"}}}`)
	var harnesses []loaders.Harness
	for _, h := range loaders.All() {
		if h.ID == "deepagents" {
			harnesses = append(harnesses, h)
		}
	}
	loader := loaders.NewLoader(s.env, harnesses)
	before := loader.Load()
	var token string
	for _, path := range loader.Paths() {
		if strings.Contains(path, "linear-") {
			token = path
		}
	}
	cell := func(s *model.Snapshot) *model.Cell { return s.Columns[0].Cells[0] }
	if got := cell(before).State(); got != model.StateUnauthenticated || token == "" {
		t.Fatalf("without a sign-in: %s; its file %q", got, token)
	}
	r := newReloads(s.env, harnesses, false)
	since := time.Now().Add(-time.Hour)
	r.find = func(context.Context, []sessions.Program) ([]sessions.Session, error) {
		return []sessions.Session{{Harness: "deepagents", PID: 77, Since: since, Cwd: r.project}}, nil
	}
	r.look(t.Context(), time.Now())

	s.write("~/"+strings.TrimPrefix(filepath.ToSlash(token), filepath.ToSlash(s.home)+"/"), `{"version": 1, "tokens": {"access_token": "Cn-access", "token_type": "Bearer"}}`)
	after, _ := loader.Reload([]string{token})
	r.observe(before, after, time.Now())
	if c := cell(r.lay(after, 9)); c.State() != model.StateAwaitingReconnect || c.Reload == nil || c.Reload.PID != 77 {
		t.Errorf("signed in with a session open: %s %+v", c.State(), c.Reload)
	}
	r.changed = map[model.CellKey]time.Time{}
	r.observe(after, before, time.Now())
	if c := cell(r.lay(before, 9)); c.State() != model.StateUnauthenticated || c.Overlays != 0 {
		t.Errorf("signed out: %s %v", c.State(), c.Overlays.Names())
	}
}

// TestReloadsOfLiveSessions: what an open session takes up by itself is no change that it lacks.
func TestReloadsOfLiveSessions(t *testing.T) {
	t.Parallel()
	env := &loaders.Env{Home: "/h", Project: "/h/p", GOOS: "linux", Now: time.Now}
	const settings, shared, approvals = "/h/p/.qwen/settings.json", "/h/p/.mcp.json", "/h/.qwen/mcpApprovals.json"
	for _, c := range []struct {
		harness       model.HarnessID
		file, decider string // of the cell, which is off and then loads
		counts        bool
	}{
		{"qwen", settings, settings, false},
		{"qwen", "/h/.qwen/settings.json", settings, false},
		{"qwen", shared, settings, true},
		{"qwen", settings, approvals, true},
		{"qwen", "/h/p/settings.json", "", true},
		{"gemini", "/h/p/.gemini/settings.json", "", true},
		{"kimi", shared, "", false},
	} {
		r := newReloads(env, loaders.All(), true)
		snapshot := func(decision model.Decision, reason model.Reason) *model.Snapshot {
			cell := &model.Cell{Harness: c.harness, Decision: decision, Reason: reason,
				Entry: model.Entry{Name: "x", Source: model.Location{Path: c.file, Line: 1}, Definition: &model.Definition{Transport: model.TransportStdio, Command: "npx"}}}
			return model.NewSnapshot(1, "/h/p", "/h", time.Time{}, []*model.Column{{Harness: model.Harness{ID: c.harness}, Cells: []*model.Cell{cell}}})
		}
		off := model.Reason{Code: model.ReasonSwitchedOff}
		if c.decider != "" {
			off.DecidedBy = model.Location{Path: c.decider, Line: 1}
		}
		r.observe(snapshot(model.DecisionOff, off), snapshot(model.DecisionLoads, model.Reason{}), time.Now())
		if got := len(r.changed) > 0; got != c.counts {
			t.Errorf("%s, %s, decided by %s: counts %t", c.harness, c.file, c.decider, got)
		}
	}
}
