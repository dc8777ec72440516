package main

import (
	"flag"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"fusebox/loaders"
	"fusebox/model"
	"fusebox/ui"
)

var update = flag.Bool("update", false, "write the tables of the README")

// The README's tables come from the key table and from the registry of harnesses.
func TestReadmeTables(t *testing.T) {
	data, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	text := string(data)
	for name, table := range map[string]string{"keys": keyTable(), "harnesses": harnessTable(), "blind spots": blindSpots()} {
		section := regexp.MustCompile(`(?s)(<!-- ` + name + `: [^\n]*-->\n).*?(<!-- end -->)`)
		if !section.MatchString(text) {
			t.Fatalf("the README has no section %q", name)
		}
		text = section.ReplaceAllStringFunc(text, func(old string) string {
			m := section.FindStringSubmatch(old)
			return m[1] + "\n" + table + "\n" + m[2]
		})
	}
	if text == string(data) {
		return
	}
	if *update {
		if err := os.WriteFile("README.md", []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	t.Error("the README's tables are not those of the program: go test -run TestReadme -update .")
}

func keyTable() string {
	var b strings.Builder
	b.WriteString("| | key | does | |\n|---|---|---|---|\n")
	group := ""
	for _, row := range ui.HelpTable() {
		shown := row[0]
		if shown == group {
			shown = ""
		}
		group = row[0]
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", shown, row[1], row[2], row[3])
	}
	return b.String()
}

func harnessTable() string {
	var b strings.Builder
	b.WriteString("| harness | id | verified | version | switch | consent |\n|---|---|---|---|---|---|\n")
	for _, h := range loaders.All() {
		fmt.Fprintf(&b, "| %s | `%s` | %s | %s | %s | %s |\n", h.Title, h.ID, h.Verified, orNone(h.VersionChecked), yes(h.Toggle != nil), yes(h.Approve != nil))
	}
	return b.String()
}

func yes(b bool) string {
	if b {
		return "yes"
	}
	return "–"
}

func orNone(s string) string {
	if s == "" {
		return "–"
	}
	return s
}

func blindSpots() string {
	var b strings.Builder
	for _, h := range loaders.All() {
		var texts []string
		for _, s := range h.BlindSpots {
			texts = append(texts, model.Clean(s.Text))
		}
		if len(texts) > 0 {
			fmt.Fprintf(&b, "- **%s**: %s\n", h.Title, strings.Join(texts, "; "))
		}
	}
	return b.String()
}
