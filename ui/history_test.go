package ui

import (
	"context"
	"strings"
	"testing"
	"time"

	"fusebox/model"
)

// fakeHistory answers with one definition, and remembers what it was asked.
type fakeHistory struct {
	definition *model.Definition
	asked      []model.CellKey
}

func (f *fakeHistory) Earlier(_ context.Context, cells []model.CellKey) map[model.CellKey]Earlier {
	f.asked = append(f.asked, cells...)
	out := map[model.CellKey]Earlier{}
	for _, k := range cells {
		out[k] = Earlier{f.definition, "1a2b3c4", time.Date(2026, 11, 2, 0, 0, 0, 0, time.UTC)}
	}
	return out
}

// changedSnapshot has one cell whose consent is for another definition, or is as good as any.
func changedSnapshot(generation int, command string, changed bool) *model.Snapshot {
	s := shopSnapshot([]string{"cursor"}, []shopRow{{"docs", "cursor:?approve", ""}}, func(cols []*model.Column) {
		c := cols[0].Cells[0]
		c.Scope = model.ScopeProject
		c.Definition = &model.Definition{Transport: model.TransportStdio, Command: command}
		if changed {
			c.Reason = model.Reason{Code: model.ReasonApprovalChanged, Text: "the approval is for another definition"}
		}
	})
	s.Generation = generation
	return s
}

func TestHistoryIsAskedOnce(t *testing.T) {
	t.Parallel()
	h := &fakeHistory{definition: &model.Definition{Transport: model.TransportStdio, Command: "old", Args: model.Secrets([]string{"plain-old-value"}),
		Env: []model.Variable{{Name: "TOKEN", Value: model.NewSecret("plain-old-value")}}}}
	m := New(Options{Snapshot: changedSnapshot(1, "new", true), Theme: ThemeMono, Now: func() time.Time { return shopTime }, History: h})
	m.w, m.h = 120, 35
	m.cursor = position{0, 0}
	if view := m.View(); !strings.Contains(view, "old text unknown") {
		t.Fatalf("before it is asked:\n%s", view)
	}
	runCmd(m, m.Init())
	shown := func(when string) {
		t.Helper()
		view := m.View()
		for _, want := range []string{"old ••••••", "TOKEN ••••••", "as committed in 1a2b3c4, 2026-11-02"} {
			if !strings.Contains(view, want) {
				t.Errorf("%s: no %q:\n%s", when, want, view)
			}
		}
		if strings.Contains(view, "plain-old-value") || strings.Contains(view, "old text unknown") {
			t.Errorf("%s:\n%s", when, view)
		}
	}
	shown("first")
	update := func(s *model.Snapshot) {
		m.replace(s)
		runCmd(m, m.askHistory())
	}
	update(changedSnapshot(2, "new", true))
	shown("the same again")
	if len(h.asked) != 1 {
		t.Errorf("asked %d times", len(h.asked))
	}
	update(changedSnapshot(3, "newer", true))
	shown("another definition")
	if len(h.asked) != 2 {
		t.Errorf("asked %d times", len(h.asked))
	}
	update(changedSnapshot(4, "newer", false))
	if view := m.View(); strings.Contains(view, "as committed in") || len(m.past) > 0 {
		t.Errorf("there is nothing to compare with any more:\n%s", view)
	}
}

// TestLateHistoryIsDropped: an answer about what the cell was, or about another folder, is not shown.
func TestLateHistoryIsDropped(t *testing.T) {
	t.Parallel()
	h := &fakeHistory{definition: &model.Definition{Transport: model.TransportStdio, Command: "old"}}
	for _, change := range []func(s *model.Snapshot){
		func(s *model.Snapshot) { s.Columns[0].Cells[0].Definition = &model.Definition{Command: "other"} },
		func(s *model.Snapshot) { s.Columns[0].Cells[0].Reason.Text = "another record" },
		func(s *model.Snapshot) { s.Project = "/elsewhere" },
	} {
		m := New(Options{Snapshot: changedSnapshot(1, "new", true), Theme: ThemeMono, Now: func() time.Time { return shopTime }, History: h})
		m.w, m.h = 120, 35
		late := m.askHistory()()
		next := changedSnapshot(2, "new", true)
		change(next)
		m.replace(next)
		m.askHistory()
		m.Update(late)
		if view := m.View(); strings.Contains(view, "as committed in") || !strings.Contains(view, "old text unknown") {
			t.Errorf("a late answer is shown:\n%s", view)
		}
	}
}
