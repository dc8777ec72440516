package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fusebox/loaders"
	"fusebox/model"
	"fusebox/ui"
)

// switcher is that of a scene, with an undo store of its own.
func (s *scene) switcher() *switcher { return newSwitcher(s.env, loaders.All(), nil, nil) }

func key(harness, name string) model.CellKey {
	return model.CellKey{Harness: model.HarnessID(harness), Name: name}
}

func (s *scene) read(name string) string {
	s.t.Helper()
	data, err := os.ReadFile(s.path(name))
	if os.IsNotExist(err) {
		return "-"
	}
	if err != nil {
		s.t.Fatal(err)
	}
	return string(data)
}

// layRow puts one server into four harnesses; in one it is off already, and one file cannot be written.
func (s *scene) layRow() {
	s.write("~/.claude.json", `{"mcpServers": {"playwright": {"command": "x"}, "docs": {"command": "y"}}, "projects": {`+jsonText(s.project)+`: {"disabledMcpServers": ["playwright"]}}}`)
	s.write("~/.codex/config.toml", "[mcp_servers.playwright]\ncommand = \"x\" # keep\n\n[mcp_servers.docs]\ncommand = \"y\"\n")
	s.write("~/.config/opencode/opencode.json", `{"mcp": {"playwright": {"type": "local", "command": ["x"]}}}`)
	s.write("~/.gemini/settings.json", `{"mcpServers": {"playwright": {"command": "x"}}}`)
	s.write("~/.gemini/mcp-server-enablement.json", `{"x": `)
}

// TestSwitchARow: one plan over all harnesses, one undo step, and what could not be done with its reason.
func TestSwitchARow(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.layRow()
	codex, opencode := s.read("~/.codex/config.toml"), s.read("~/.config/opencode/opencode.json")
	sw := s.switcher()
	p := sw.Plan(ui.Intent{Row: true, Cells: []model.CellKey{key("claude-code", "playwright"), key("codex", "playwright"), key("gemini", "playwright"), key("opencode", "playwright")}})
	if p.On || p.Title != "Switch playwright off in every harness?" || len(p.Items) != 4 {
		t.Fatalf("%+v", p)
	}
	var lines []string
	for _, it := range p.Items {
		line := it.Harness + ":"
		switch {
		case it.Already:
			line += " already"
		case it.Refused != "":
			line += " " + it.Refused
		case it.Writes():
			o := it.Options[it.Chosen]
			line += fmt.Sprintf(" %s, %s +%d -%d", o.Reach, s.place(o.Files[0].Path), o.Files[0].Added, o.Files[0].Removed)
		}
		lines = append(lines, line)
	}
	const want = "Claude Code: already\nCodex: everywhere, ~/.codex/config.toml +1 -0\nGemini CLI: mcp-server-enablement.json does not parse: mend it first\n" +
		"OpenCode: everywhere, ~/.config/opencode/opencode.json +1 -1"
	if got := strings.Join(lines, "\n"); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	report := sw.Apply(p)
	if len(report.Done) != 2 || len(report.Failed) > 0 || report.Conflict || len(report.Changed) != 2 {
		t.Fatalf("%+v", report)
	}
	if d := report.Done[0]; d.What != "playwright is off in Codex" || d.Where != "wrote ~/.codex/config.toml, 1 line added" {
		t.Errorf("%+v", d)
	}
	if got := s.read("~/.codex/config.toml"); got != "[mcp_servers.playwright]\ncommand = \"x\" # keep\nenabled = false\n\n[mcp_servers.docs]\ncommand = \"y\"\n" {
		t.Errorf("codex: %q", got)
	}
	what, files, err := sw.PeekUndo()
	if err != nil || what != "playwright off in 2 harnesses" || len(files) != 2 || files[0].Removed != 1 {
		t.Errorf("%q, %+v, %v", what, files, err)
	}
	if report := sw.Undo(); len(report.Done) != 1 || len(report.Failed) > 0 {
		t.Errorf("%+v", report)
	}
	if s.read("~/.codex/config.toml") != codex || s.read("~/.config/opencode/opencode.json") != opencode {
		t.Error("not as before")
	}
	if what, _, err := sw.PeekUndo(); what != "" || err != nil {
		t.Errorf("still something to take back: %q, %v", what, err)
	}
	if report := sw.Undo(); len(report.Failed) != 1 {
		t.Errorf("%+v", report)
	}
}

func (s *scene) place(path string) string { return model.Tilde(path, s.home) }

// TestSwitchAColumn: all servers of a harness in one write of one file.
func TestSwitchAColumn(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.layRow()
	sw := s.switcher()
	p := sw.Plan(ui.Intent{Column: true, Cells: []model.CellKey{key("codex", "docs"), key("codex", "playwright")}})
	if p.Title != "Switch every server off in Codex?" {
		t.Errorf("%q", p.Title)
	}
	if report := sw.Apply(p); len(report.Done) != 2 || len(report.Failed) > 0 {
		t.Fatalf("%+v", report)
	}
	if n := strings.Count(s.read("~/.codex/config.toml"), "enabled = false"); n != 2 {
		t.Errorf("%d are off", n)
	}
	if what, files, err := sw.PeekUndo(); what != "2 servers off in Codex" || len(files) != 1 || err != nil {
		t.Errorf("%q, %d files, %v", what, len(files), err)
	}
	// All are off now: the flip is on. One is left out.
	p = sw.Plan(ui.Intent{Column: true, Cells: []model.CellKey{key("codex", "docs"), key("codex", "playwright")}})
	if !p.On {
		t.Error("it does not switch on")
	}
	p.Items = p.Items[:1]
	if report := sw.Apply(p); len(report.Done) != 1 {
		t.Errorf("%+v", report)
	}
	if n := strings.Count(s.read("~/.codex/config.toml"), "enabled = false"); n != 1 {
		t.Errorf("%d are off", n)
	}
}

// TestSwitchConflicts: a change that can be made on what is there now is made; one that cannot is told, and nothing is lost.
func TestSwitchConflicts(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.layRow()
	sw := s.switcher()
	plan := func() ui.SwitchPlan { return sw.Plan(ui.Intent{Cells: []model.CellKey{key("codex", "playwright")}}) }
	p := plan()
	s.write("~/.codex/config.toml", "# new\n"+s.read("~/.codex/config.toml"))
	if report := sw.Apply(p); len(report.Done) != 1 || report.Conflict {
		t.Errorf("%+v", report)
	}
	if got := s.read("~/.codex/config.toml"); !strings.HasPrefix(got, "# new\n") || !strings.Contains(got, "enabled = false") {
		t.Errorf("%q", got)
	}
	p = plan()
	s.write("~/.codex/config.toml", "[mcp_servers.playwright]\ncommand = \n")
	report := sw.Apply(p)
	if len(report.Done) != 0 || len(report.Failed) != 1 || !report.Conflict || !strings.Contains(report.Failed[0], "not written: ~/.codex/config.toml:2:") {
		t.Errorf("%+v", report)
	}
	if got := s.read("~/.codex/config.toml"); got != "[mcp_servers.playwright]\ncommand = \n" {
		t.Errorf("%q", got)
	}
	// Taking back what is not there any more.
	what, _, err := sw.PeekUndo()
	if what == "" || err == nil {
		t.Errorf("%q, %v", what, err)
	}
	if report := sw.Undo(); !report.Conflict || len(report.Failed) != 1 || len(report.Done) != 0 {
		t.Errorf("%+v", report)
	}
	if report := sw.Apply(ui.SwitchPlan{}); len(report.Failed) != 1 {
		t.Errorf("a plan of nobody: %+v", report)
	}
}

// TestApprovalIsForWhatWasShown: a definition that changes while the dialog is open is not approved.
func TestApprovalIsForWhatWasShown(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.write("~/.claude.json", `{"projects": {`+jsonText(s.project)+`: {"hasTrustDialogAccepted": true}}}`)
	s.write(".mcp.json", `{"mcpServers": {"docs": {"command": "docs-server"}}}`)
	sw := s.switcher()
	intent := ui.Intent{Kind: ui.IntentApprove, Cells: []model.CellKey{key("claude-code", "docs")}}
	p := sw.Plan(intent)
	if p.Title != "Let Claude Code start docs from this repository?" || !p.Items[0].Writes() || p.Items[0].Now == nil {
		t.Fatalf("%+v", p)
	}
	s.write(".mcp.json", `{"mcpServers": {"docs": {"command": "evil-server"}}}`)
	report := sw.Apply(p)
	if !report.Conflict || len(report.Failed) != 1 || s.read(".claude/settings.local.json") != "-" {
		t.Errorf("%+v; %s", report, s.read(".claude/settings.local.json"))
	}
	// A comment or another server does not matter.
	p = sw.Plan(intent)
	s.write(".mcp.json", "\n\n"+`{"mcpServers": {"other": {"command": "x"}, "docs": {"command": "evil-server"}}}`)
	if report := sw.Apply(p); len(report.Done) != 1 || report.Done[0].What != "docs is approved in Claude Code" {
		t.Errorf("%+v", report)
	}
	p = sw.Plan(ui.Intent{Kind: ui.IntentRevoke, Cells: intent.Cells})
	if report := sw.Apply(p); len(report.Done) != 1 || report.Done[0].What != "docs waits for approval in Claude Code" {
		t.Errorf("%+v", report)
	}
}

// TestTrustIsNeverChosenByItself: where only trusting the folder helps, nothing is chosen.
func TestTrustIsNeverChosenByItself(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.write(".gemini/settings.json", `{"mcpServers": {"docs": {"command": "x"}, "more": {"command": "y"}}}`)
	s.write(".mcp.json", `{"mcpServers": {"docs": {"command": "docs-server"}}}`)
	sw := s.switcher()
	p := sw.Plan(ui.Intent{Kind: ui.IntentApprove, Cells: []model.CellKey{key("gemini", "docs")}})
	it := p.Items[0]
	if it.Chosen != -1 || it.Writes() || len(it.Options) != 1 || !it.Options[0].TrustsFolder || !strings.Contains(it.Options[0].LetsIn, "also more") {
		t.Fatalf("%+v", it)
	}
	if report := sw.Apply(p); len(report.Done)+len(report.Failed) > 0 || s.read("~/.gemini/trustedFolders.json") != "-" {
		t.Errorf("%+v", report)
	}
	p.Items[0].Chosen = 0
	if report := sw.Apply(p); len(report.Done) != 1 {
		t.Errorf("%+v", report)
	}
	p = sw.Plan(ui.Intent{Kind: ui.IntentApprove, Cells: []model.CellKey{key("claude-code", "docs")}})
	if it := p.Items[0]; it.Chosen != 0 || it.Options[0].TrustsFolder || it.Options[0].Missing == "" {
		t.Errorf("%+v", it)
	}
	report := sw.Apply(p)
	if len(report.Done) != 1 || len(report.Missing) != 1 || !strings.Contains(report.Missing[0], "waiting for trust") {
		t.Errorf("%+v", report)
	}
}

// TestSwitchFrees: what a launch showed says how much context is freed.
func TestSwitchFrees(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.layRow()
	sw := s.switcher()
	snapshot := loaders.NewLoader(s.env, loaders.All()).Load()
	for _, c := range snapshot.Column("codex").Cells {
		c.Tools = &model.ToolList{Offered: 3, Tokens: 700}
	}
	sw.shown = func() *model.Snapshot { return snapshot }
	p := sw.Plan(ui.Intent{Cells: []model.CellKey{key("codex", "playwright")}})
	if f := p.Items[0].Frees; f == nil || f.Tools != 3 || f.Tokens != 700 {
		t.Errorf("%+v", f)
	}
}

// TestSwitchesShowNoSecrets plants secrets into every file of the harnesses whose switches are written, and reads all that is
// said about switching.
func TestSwitchesShowNoSecrets(t *testing.T) {
	t.Parallel()
	for _, h := range loaders.All() {
		if h.Toggle == nil {
			continue
		}
		t.Run(string(h.ID), func(t *testing.T) {
			t.Parallel()
			s := newScene(t)
			s.env.Vars["PLAIN_VALUE"] = "correct-horse-battery-staple"
			reader := loaders.NewReader(s.env, loaders.NewCache())
			h.Resolve(s.env, reader)
			shown := 0
			for _, f := range reader.Files() {
				if !loaders.Within(f.Path, filepath.Dir(s.home)) || f.Scope == model.ScopeManaged || f.Scope == model.ScopeSystem || f.Scope == model.ScopeSystemDefaults {
					continue
				}
				for variant, template := range canaryVariants(f.Path, s.project) {
					planted := &canaries{plain: []string{s.env.Vars["PLAIN_VALUE"]}}
					if err := os.MkdirAll(filepath.Dir(f.Path), 0o700); err != nil {
						t.Fatal(err)
					}
					if err := os.WriteFile(f.Path, []byte(planted.fill(template)), 0o600); err != nil {
						t.Fatal(err)
					}
					sw := s.switcher()
					for _, said := range allThatIsSaid(sw, h) {
						shown++
						for _, leak := range planted.found(said) {
							t.Errorf("%s %s: %s\n%s", s.place(f.Path), variant, leak, said)
						}
					}
					if err := os.Remove(f.Path); err != nil {
						t.Fatal(err)
					}
				}
			}
			if shown == 0 {
				t.Error("nothing was said: the test looks at nothing")
			}
		})
	}
}

// allThatIsSaid plans every wish for every server, does one of them and takes it back.
func allThatIsSaid(sw *switcher, h loaders.Harness) []string {
	var out []string
	on, off := true, false
	for i, c := range loaders.NewSwitchboard(sw.env, h).Column().Cells {
		if i > 3 && c.Name != "far" && c.Name != "local" { // the others are alike
			continue
		}
		for _, in := range []ui.Intent{{On: &on}, {On: &off}, {Kind: ui.IntentApprove}, {Kind: ui.IntentRevoke}} {
			in.Cells = []model.CellKey{{Harness: h.ID, Name: c.Name}}
			p := sw.Plan(in)
			for i := range p.Items {
				p.Items[i].Now = nil
			}
			out = append(out, fmt.Sprintf("%s %+v", p.Title, p.Items))
			if (c.Name == "far" || c.Name == "local") && in.On == &off {
				out = append(out, fmt.Sprintf("%+v", sw.Apply(p)))
				what, files, err := sw.PeekUndo()
				out = append(out, fmt.Sprintf("%s %+v %v", what, files, err))
				if what != "" {
					out = append(out, fmt.Sprintf("%+v", sw.Undo()))
				}
			}
		}
	}
	return out
}
