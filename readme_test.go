package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

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
	for name, table := range map[string]string{"keys": keyTable(), "harnesses": harnessTable(t), "blind spots": blindSpots()} {
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

// harnessTable says per harness which scopes are read, what is written, and how well that is known.
func harnessTable(t *testing.T) string {
	var b strings.Builder
	b.WriteString("| harness | id | reads | toggles | approves | signs in | verified | version |\n|---|---|---|---|---|---|---|---|\n")
	base := t.TempDir()
	home := filepath.Join(base, "home")
	env := &loaders.Env{Root: filepath.Join(base, "root"), Home: home, Project: filepath.Join(home, "project"), GOOS: "linux", UID: -1, Now: time.Now}
	if err := os.MkdirAll(env.Project, 0o700); err != nil {
		t.Fatal(err)
	}
	snapshot := loaders.NewLoader(env, loaders.All()).Load()
	for _, h := range loaders.All() {
		var scopes []string
		for _, f := range snapshot.Column(h.ID).Files {
			if scope := string(f.Scope); !slices.Contains(scopes, scope) {
				scopes = append(scopes, scope)
			}
		}
		slices.Sort(scopes)
		signIn := "–"
		if h.SignIn != "" {
			signIn = "`" + h.SignIn + "`"
		}
		fmt.Fprintf(&b, "| %s | `%s` | %s | %s | %s | %s | %s | %s |\n", h.Title, h.ID, strings.Join(scopes, ", "),
			yes(h.Toggle != nil), yes(h.Approve != nil), signIn, h.Verified, orNone(h.VersionChecked))
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
