package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"syscall"

	"fusebox/loaders"
	"fusebox/model"
)

// The line that list --watch prints for a change. Definition ids hold within one line.
type (
	changeDocument struct {
		Generation  int                   `json:"generation"`
		Changed     []cellDocument        `json:"changed"`
		Definitions []definitionDocument  `json:"definitions"`
		Files       []changedFileDocument `json:"files"`
	}
	changedFileDocument struct {
		Harness model.HarnessID `json:"harness"`
		fileDocument
	}
)

// runListWatch prints changes until it is told to end, or nobody reads any more.
func runListWatch(s Streams, o options) error {
	session, err := begin("list --watch", o, true)
	if err != nil {
		return err
	}
	defer session.end()
	defer session.logPanic()
	source := newLive(session, newLauncher(session.env, loaders.All(), o.timeout), newReloads(session.env, loaders.All(), false))
	defer source.Close()
	ctx, stop := context.WithCancel(session.ctx)
	defer stop()
	restore := writeErrorInsteadOfPipeSignal()
	defer restore()
	if out, ok := s.Out.(*os.File); ok {
		go func() {
			waitForClosedPipe(ctx, out)
			stop()
		}()
	}
	before, note := source.last, source.note
	for {
		change, ok := source.Wait(ctx)
		if !ok {
			return nil
		}
		if change.Note != note {
			note = change.Note
			fmt.Fprintln(s.Err, "fusebox:", noteOfWatcher(note))
		}
		if change.Snapshot == before {
			continue
		}
		err := writeChange(s.Out, before, change.Snapshot)
		before = change.Snapshot
		switch {
		case errors.Is(err, syscall.EPIPE):
			return nil
		case err != nil:
			return &exitError{exitErrors, fmt.Errorf("write the change: %w", err)}
		}
	}
}

// writeChange writes one line with one call, so that a reader of a pipe gets it at once and whole.
func writeChange(w io.Writer, before, after *model.Snapshot) error {
	return writeJSON(w, newChangeDocument(before, after, model.NewRedactor(append(before.Secrets(), after.Secrets()...))), "")
}

// newChangeDocument makes the line of a change. A cell that is gone has the state and decision "none"; a file that a
// harness does not look at any more is absent.
func newChangeDocument(before, after *model.Snapshot, redactor *model.Redactor) changeDocument {
	doc := changeDocument{Generation: after.Generation, Changed: []cellDocument{}, Definitions: []definitionDocument{},
		Files: []changedFileDocument{}}
	text := func(t string) string { return redactor.Text(model.Clean(t)) }
	ids := map[string]string{}
	diff := model.Diff(before, after)
	for _, key := range slices.Concat(diff.Cells, diff.Moved) {
		cells := cellsNamed(after.Column(key.Harness), key.Name)
		for _, c := range cells {
			id := ""
			if d := c.Definition; d != nil {
				if id = ids[d.Key()]; id == "" {
					id = fmt.Sprintf("d%d", len(ids)+1)
					ids[d.Key()] = id
					doc.Definitions = append(doc.Definitions, newDefinitionDocument(d, id, text))
				}
			}
			doc.Changed = append(doc.Changed, newCellDocument(c, id, text))
		}
		if len(cells) == 0 {
			doc.Changed = append(doc.Changed, goneCellDocument(key))
		}
	}
	for _, col := range after.Columns {
		doc.Files = append(doc.Files, changedFiles(before.Column(col.ID), col, text)...)
	}
	return doc
}

func cellsNamed(col *model.Column, name string) []*model.Cell {
	var out []*model.Cell
	if col != nil {
		for _, c := range col.Cells {
			if c.Name == name {
				out = append(out, c)
			}
		}
	}
	return out
}

func goneCellDocument(key model.CellKey) cellDocument {
	gone := newCellDocument(&model.Cell{Harness: key.Harness, Entry: model.Entry{Name: key.Name}}, "", func(t string) string { return t })
	gone.State, gone.Decision = model.StateNone.String(), "none"
	return gone
}

// changedFiles are the files of a harness whose status or note changed.
func changedFiles(before, after *model.Column, text func(string) string) []changedFileDocument {
	old := map[string]model.File{}
	if before != nil {
		for _, f := range before.Files {
			old[f.Path] = f
		}
	}
	var out []changedFileDocument
	for _, f := range after.Files {
		if was, ok := old[f.Path]; !ok || was.Status != f.Status || was.Note != f.Note {
			out = append(out, changedFileDocument{after.ID, fileDocument{f.Path, f.Scope, f.Status, text(f.Note)}})
		}
		delete(old, f.Path)
	}
	if before != nil {
		for _, f := range before.Files {
			if _, left := old[f.Path]; left && f.Status != model.FileAbsent {
				out = append(out, changedFileDocument{after.ID, fileDocument{f.Path, f.Scope, model.FileAbsent, "not looked at any more"}})
			}
		}
	}
	return out
}
