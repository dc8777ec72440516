package cli

import (
	"bytes"
	"testing"
	"time"

	"fusebox/model"
)

func TestLineOfAChange(t *testing.T) {
	t.Parallel()
	stdio := func(command string) *model.Definition {
		return &model.Definition{Transport: model.TransportStdio, Command: command}
	}
	cell := func(name string, d *model.Definition) *model.Cell {
		return &model.Cell{Harness: "one", Entry: model.Entry{Name: name, Scope: model.ScopeUser, Definition: d,
			Source: model.Location{Path: "/f", Key: "mcpServers." + name, Line: 3}}, Decision: model.DecisionLoads}
	}
	snapshot := func(generation int, files []model.File, cells ...*model.Cell) *model.Snapshot {
		return model.NewSnapshot(generation, "/p", "/h", time.Unix(0, 0), []*model.Column{{Harness: model.Harness{ID: "one"}, Files: files, Cells: cells}})
	}
	file := func(path string, status model.FileStatus) model.File {
		return model.File{Path: path, Scope: model.ScopeUser, Status: status}
	}
	before := snapshot(1, []model.File{file("/f", model.FileRead), file("/g", model.FileRead), file("/h", model.FileAbsent), file("/same", model.FileRead)},
		cell("gone", stdio("x")), cell("same", stdio("x")), cell("new definition", stdio("x")))
	after := snapshot(2, []model.File{file("/f", model.FileMalformed), file("/same", model.FileRead)},
		cell("new definition", stdio("y")), cell("same", stdio("x")), cell("twin", stdio("y")))
	var b bytes.Buffer
	if err := writeChange(&b, before, after); err != nil {
		t.Fatal(err)
	}
	const head, tail = `{"harness":"one","name":"`, `"replaces":[],"pending":[],"findings":[],"capabilities":{"toggle":"","approve":"","login":""}}`
	changed := func(name, id string) string {
		return head + name + `","definition":"` + id + `","scope":"user","transport":"stdio","state":"configured","decision":"loads","overlays":[],"reason_code":"","reason":"","decided_by":null,` +
			`"source":{"path":"/f","key":"mcpServers.` + name + `","line":3},` + tail
	}
	gone := head + `gone","definition":"","scope":"","transport":"","state":"none","decision":"none","overlays":[],"reason_code":"","reason":"","decided_by":null,"source":{"path":"","key":"","line":0},` + tail
	want := `{"generation":2,"changed":[` + gone + `,` + changed("new definition", "d1") + `,` + changed("twin", "d1") +
		`],"definitions":[{"id":"d1","transport":"stdio","display":"y","env":[],"headers":[]}],"files":[` +
		`{"harness":"one","path":"/f","scope":"user","status":"malformed","note":""},{"harness":"one","path":"/g","scope":"user","status":"absent","note":"not looked at any more"}]}` + "\n"
	if b.String() != want {
		t.Errorf("line\n%s\nwant\n%s", b.String(), want)
	}
}
