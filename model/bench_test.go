package model_test

import (
	"fmt"
	"testing"

	"fusebox/model"
)

// benchColumns are columns of which the first has many servers.
func benchColumns(n int) []*model.Column {
	many := make([]*model.Cell, n)
	for i := range many {
		many[i] = loads(fmt.Sprintf("server-%05d", i), stdio("npx", "-y", fmt.Sprintf("@acme/server-%d", i)))
	}
	columns := []*model.Column{column("one", many...)}
	for _, id := range []model.HarnessID{"two", "three", "four", "five"} {
		columns = append(columns, column(id, loads("docs", stdio("docs")), loads("server-00001", stdio("other"))))
	}
	return columns
}

func BenchmarkNewSnapshot(b *testing.B) {
	columns := benchColumns(10_000)
	model.NewSnapshot(1, "/p", "/h", noon, columns)
	b.ReportAllocs()
	for b.Loop() {
		model.NewSnapshot(1, "/p", "/h", noon, columns)
	}
}

// BenchmarkDiff compares two snapshots of which a column was made anew and looks the same but for one cell.
func BenchmarkDiff(b *testing.B) {
	before := model.NewSnapshot(1, "/p", "/h", noon, benchColumns(10_000))
	columns := benchColumns(10_000)
	columns[0].Cells[5000] = loads(columns[0].Cells[5000].Name, stdio("changed"))
	columns[0].Cells[5000].Harness = "one"
	after := model.NewSnapshot(2, "/p", "/h", noon, columns)
	b.ReportAllocs()
	for b.Loop() {
		if d := model.Diff(before, after); len(d.Cells) != 1 {
			b.Fatal(d)
		}
	}
}

func BenchmarkRedactorOfManySecrets(b *testing.B) {
	cells := make([]*model.Cell, 10_000)
	for i := range cells {
		d := stdio("npx")
		d.Env = model.Variables(map[string]string{"TOKEN": fmt.Sprintf("secret-of-%d", i)})
		cells[i] = loads(fmt.Sprint(i), d)
	}
	s := snapshot(column("one", cells...))
	b.ReportAllocs()
	for b.Loop() {
		model.NewRedactor(s.Secrets()).Text("a sentence that holds secret-of-77 and more")
	}
}
