package loaders_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"fusebox/loaders"
	"fusebox/model"
)

// generator writes configuration files in the many ways in which people and programs lay them out.
type generator struct{ *rand.Rand }

func (g generator) pick(of ...string) string { return of[g.IntN(len(of))] }

func (g generator) chance(percent int) bool { return g.IntN(100) < percent }

// layout is how one file is written.
type fileLayout struct {
	unit, eol, colon string
	oneLine          bool
	comments         bool
	trailing         bool
	mark             bool
	noEnd            bool
}

func (g generator) layout(comments bool) fileLayout {
	return fileLayout{unit: g.pick("  ", "    ", "\t", " "), eol: g.pick("\n", "\n", "\r\n"), colon: g.pick(": ", ":", " : "), oneLine: g.chance(20),
		comments: comments && g.chance(60), trailing: comments && g.chance(40), mark: g.chance(15), noEnd: g.chance(30)}
}

func (l fileLayout) finish(text string) string {
	text = strings.ReplaceAll(text, "\n", l.eol)
	if !l.noEnd {
		text += l.eol
	}
	if l.mark {
		text = "\ufeff" + text
	}
	return text
}

// member is a key of an object, its value written already or an object itself.
type member struct {
	key   string
	value any // string: raw; []member: an object
}

func (g generator) object(l fileLayout, members []member, depth int) string {
	if len(members) == 0 {
		return g.pick("{}", "{ }")
	}
	var b strings.Builder
	gap, end := "\n"+strings.Repeat(l.unit, depth+1), "\n"+strings.Repeat(l.unit, depth)
	if l.oneLine || depth > 1 && g.chance(25) {
		gap, end = g.pick("", " "), g.pick("", " ")
		l.comments = false
		l.oneLine = true
	}
	b.WriteString("{")
	for i, m := range members {
		if l.comments && g.chance(20) {
			b.WriteString(gap + g.pick("// a comment with \"quotes\" and {", "/* a block, with ] */"))
		}
		b.WriteString(gap + `"` + m.key + `"` + l.colon)
		switch v := m.value.(type) {
		case string:
			b.WriteString(v)
		case []member:
			b.WriteString(g.object(l, v, depth+1))
		}
		if i < len(members)-1 || l.trailing {
			b.WriteString(",")
		}
		if l.comments && g.chance(20) {
			b.WriteString(" // behind " + m.key)
		}
	}
	b.WriteString(end + "}")
	return b.String()
}

func (g generator) shuffle(members []member) []member {
	g.Shuffle(len(members), func(i, j int) { members[i], members[j] = members[j], members[i] })
	return members
}

func (g generator) noise() []member {
	all := []member{{"n", g.pick("1.50e+3", "0", "-12")}, {"text", `"\u00e9 \/ caf\u00e9 \ud83d\ude00"`}, {"list", g.pick("[]", "[1,2 , 3]", `["a"]`)}, {"deep", []member{{"x", "null"}}}}
	return all[:g.IntN(len(all)+1)]
}

// opencode writes an opencode.json with servers a and b.
func (g generator) opencode() string {
	l := g.layout(true)
	entry := func() []member {
		m := []member{{"type", `"local"`}, {"command", g.pick(`["x"]`, `["x", "-y"]`)}}
		if g.chance(40) {
			m = append(m, member{"enabled", g.pick("true", "false")})
		}
		if g.chance(30) {
			m = append(m, member{"environment", []member{{"K", `"v"`}}})
		}
		return g.shuffle(m)
	}
	servers := g.shuffle([]member{{"a", entry()}, {"b", entry()}})
	return l.finish(g.object(l, g.shuffle(append(g.noise(), member{"mcp", servers})), 0))
}

// claude writes a main file for a project with servers a and b.
func (g generator) claude(project string) string {
	l := g.layout(false)
	here := []member{{"hasTrustDialogAccepted", "true"}}
	if g.chance(50) {
		here = append(here, member{"disabledMcpServers", g.pick("[]", `["a"]`, `["z","a"]`, `[ "b" ]`)})
	}
	folders := g.shuffle([]member{{project, g.shuffle(append(here, g.noise()...))}, {"/other", []member{{"disabledMcpServers", `["a"]`}}}})
	top := append(g.noise(), member{"mcpServers", g.shuffle([]member{{"a", []member{{"command", `"x"`}}}, {"b", []member{{"command", `"y"`}}}})})
	if g.chance(70) {
		top = append(top, member{"projects", folders})
	}
	return l.finish(g.object(l, g.shuffle(top), 0))
}

// codex writes a config.toml with servers a and b.
func (g generator) codex() string {
	l := g.layout(true)
	var b strings.Builder
	line := func(format string, args ...any) {
		fmt.Fprintf(&b, format, args...)
		if l.comments && g.chance(30) {
			b.WriteString(" # behind, with \"quotes\" and [x]")
		}
		b.WriteString("\n")
		if g.chance(15) {
			b.WriteString("\n")
		}
		if l.comments && g.chance(15) {
			b.WriteString("# enabled = false\n")
		}
	}
	equals := g.pick(" = ", "=", "  =  ")
	line("model%s%s", equals, g.pick(`"gpt"`, `'gpt'`))
	switch g.IntN(4) {
	case 0: // one inline table
		line("mcp_servers%s{ a%s{ command%s\"x\" }, b%s{ command%s'y'%s } }", equals, equals, equals, equals, equals, g.pick("", ", enabled = false", ", enabled = true"))
	case 1: // dotted keys
		line("mcp_servers.a.command%s\"x\"", equals)
		if g.chance(50) {
			line("mcp_servers.a.enabled%s%s", equals, g.pick("true", "false"))
		}
		line("mcp_servers.\"b\".command%s\"y\"", equals)
	case 2: // inline tables under a header
		line("[mcp_servers]")
		line("a%s{ command%s\"x\", args%s[] }", equals, equals, equals)
		line("b%s{ command%s\"y\" }", equals, equals)
	default:
		for _, name := range []string{g.pick("a", `"a"`, "'a'"), "b"} {
			line("[%s.%s]", g.pick("mcp_servers", `"mcp_servers"`), name)
			line("%scommand%s\"x\"", g.pick("", "  "), equals)
			if g.chance(40) {
				line("args%s[%s\"-y\",%s\"[mcp_servers.b]\"%s]", equals, g.pick("", "\n  "), g.pick(" ", "\n  "), g.pick("", "\n", ",\n"))
			}
			if g.chance(40) {
				line("enabled%s%s", equals, g.pick("true", "false"))
			}
			if g.chance(30) {
				line("[mcp_servers.%s.env]", name)
				line("K%s%s", equals, g.pick(`"v"`, "'''\nmany\n[mcp_servers.b]\nlines'''"))
			}
		}
	}
	return l.finish(strings.TrimSuffix(b.String(), "\n"))
}

// TestSwitchesOnGeneratedFiles switches servers of files in many layouts there and back: each write changes what it must and
// nothing else, and what is left after both has a reason.
func TestSwitchesOnGeneratedFiles(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("files hold paths of a Unix system")
	}
	rounds := 40
	if testing.Short() {
		rounds = 10
	}
	seen := &tally{count: map[string]int{}}
	for _, test := range []struct {
		id, file string
		make     func(g generator, project string) string
	}{
		{"opencode", ".config/opencode/opencode.json", func(g generator, _ string) string { return g.opencode() }},
		{"claude-code", ".claude.json", generator.claude},
		{"codex", ".codex/config.toml", func(g generator, _ string) string { return g.codex() }},
	} {
		picked, _ := loaders.Select(loaders.All(), []string{test.id})
		base, err := filepath.EvalSymlinks(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		s := &scene{base: base, home: filepath.Join(base, "home"), project: filepath.Join(base, "project")}
		s.env = &loaders.Env{Root: filepath.Join(base, "root"), Home: s.home, Project: s.project, GOOS: "linux", Vars: map[string]string{}, UID: os.Getuid(), Now: time.Now}
		path := filepath.Join(s.home, filepath.FromSlash(test.file))
		for _, dir := range []string{filepath.Dir(path), filepath.Join(s.project, ".git"), filepath.Join(s.home, ".codex")} {
			if err := os.MkdirAll(dir, 0o700); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.WriteFile(filepath.Join(s.project, ".git", "HEAD"), []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
		for round := range rounds {
			g := generator{rand.New(rand.NewPCG(uint64(round), 7))}
			text := test.make(g, s.project)
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			b := loaders.NewSwitchboard(s.env, picked[0])
			if b.Column().Broken != nil {
				t.Fatalf("%s, round %d: the file is broken: %s\n%s", test.id, round, b.Column().Broken.Text, text)
			}
			for _, name := range []string{"a", "b"} {
				cell := b.Cell(name)
				if cell == nil || cell.Decision != model.DecisionLoads && cell.Decision != model.DecisionOff {
					t.Fatalf("%s, round %d: no usable %s\n%s", test.id, round, name, text)
				}
				s.trySwitch(t, picked[0], b, cell, seen)
			}
			if now, err := os.ReadFile(path); err != nil || !bytes.Equal(now, []byte(text)) {
				t.Fatalf("%s, round %d: the test did not put the file back", test.id, round)
			}
			if t.Failed() {
				t.Fatalf("%s, round %d:\n%s", test.id, round, text)
			}
		}
	}
	seen.log(t)
}
