package ui

import (
	"context"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"fusebox/model"
)

// History knows what entries said when a consent was given that does not fit any more. It reads files: it is called from
// commands.
type History interface {
	// Earlier returns what is known of these cells; what is not known is left out.
	Earlier(ctx context.Context, cells []model.CellKey) map[model.CellKey]Earlier
}

// Earlier is what an entry was, as a commit of the repository around its file has it.
type Earlier struct {
	Definition *model.Definition
	Commit     string // its id, short
	At         time.Time
}

// Words say where the definition is from: "as committed in 1a2b3c4, 2026-11-02".
func (e *Earlier) Words() string {
	words := "as committed in " + e.Commit
	if !e.At.IsZero() {
		words += ", " + e.At.Format(time.DateOnly)
	}
	return words
}

// pastQuestion is what was asked of the History about a cell. The answer holds for as long as the question would be the same.
type pastQuestion struct {
	definition string // its key: it holds secrets, and is for comparing only
	reason     model.Reason
}

func questionOf(cell *model.Cell) pastQuestion {
	q := pastQuestion{reason: cell.Reason}
	if cell.Definition != nil {
		q.definition = cell.Definition.Key()
	}
	return q
}

// past is a question and what came of it.
type past struct {
	asked  pastQuestion
	answer *Earlier // nil: nothing is known, or not yet
}

// earlierMsg brings answers.
type earlierMsg struct {
	project string
	asked   map[model.CellKey]pastQuestion
	found   map[model.CellKey]Earlier
}

// pastOf returns the answer about a cell, if it is about the cell as it is.
func (m *Model) pastOf(cell *model.Cell) *Earlier {
	p, ok := m.past[model.CellKey{Harness: cell.Harness, Name: cell.Name}]
	if !ok || p.answer == nil || p.asked != questionOf(cell) {
		return nil
	}
	return p.answer
}

// askHistory asks about the cells whose consent is for another definition that this run has not seen, each once for as long
// as it stays the same.
func (m *Model) askHistory() tea.Cmd {
	if m.o.History == nil || m.snap == nil {
		return nil
	}
	msg := earlierMsg{project: m.snap.Project, asked: map[model.CellKey]pastQuestion{}}
	var cells []model.CellKey
	known := m.past
	m.past = map[model.CellKey]past{}
	for _, col := range m.snap.Columns {
		for _, cell := range col.Cells {
			key := model.CellKey{Harness: cell.Harness, Name: cell.Name}
			if cell.Reason.Code != model.ReasonApprovalChanged || m.was[key] != nil || col.Stale {
				continue
			}
			question := questionOf(cell)
			if p, ok := known[key]; ok && p.asked == question {
				m.past[key] = p
				continue
			}
			m.past[key] = past{asked: question}
			msg.asked[key] = question
			cells = append(cells, key)
		}
	}
	if len(cells) == 0 {
		return nil
	}
	history, ctx := m.o.History, m.ctx
	return m.guarded(func() tea.Msg {
		msg.found = history.Earlier(ctx, cells)
		return msg
	})
}

// earlierFound takes answers in. What was asked about a folder that was left, or about what changed since, is dropped here.
func (m *Model) earlierFound(msg earlierMsg) {
	if m.snap == nil || msg.project != m.snap.Project {
		return
	}
	for key, e := range msg.found {
		if p, ok := m.past[key]; !ok || p.asked != msg.asked[key] || e.Definition == nil {
			continue
		}
		m.redactor.LearnDefinition(e.Definition)
		m.past[key] = past{msg.asked[key], &e}
	}
}
