package ui

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"fusebox/model"
)

// The project of the mock-ups: ten servers in up to fifteen harnesses.

type shopRow struct {
	name, cells, tag string
}

var shopRows = []shopRow{
	{"brave-search", "claude:k6, codex:k6, gemini:?trust, cursor:c, opencode:k6, vscode:c, qwen:k6, zed:c, goose:k6", ""},
	{"context7", "claude:k2, gemini:?trust, cursor:k2^, deep:c, vscode:k2, copilot:k2, windsurf:k2, desktop:k2, cline:k2", ""},
	{"docs", "claude:?approve, cursor:?approve, opencode:c, deep:?approve, vscode:c, copilot:?trust, crush:c", ""},
	{"filesystem", "claude:k14, codex:k14, gemini:?trust, cursor:k14, opencode:k14, deep:k14, desktop:k14, qwen:k14, goose:k14", ""},
	{"github", "codex:k40, opencode:xmissing, deep:k40, desktop:xmissing, windsurf:-off", "docker"},
	{"github", "claude:k31, cursor:c, vscode:k31, copilot:k31, zed:c", "http"},
	{"linear", "claude:!sign in, codex:!sign in, cursor:k23, deep:!sign in, windsurf:!sign in", ""},
	{"playwright", "claude:-off, codex:k21, gemini:?trust, cursor:-off, opencode:-off, vscode:k21, copilot:k21, cline:-off, crush:k21", ""},
	{"postgres", "claude:xexit 1, codex:xexit 1, opencode:xexit 1, goose:xexit 1, zed:c", ""},
	{"sentry", "claude:rreload, cursor:c, vscode:k18, qwen:k18, crush:k18", ""},
}

var shopHarnesses = map[string][2]string{ // id -> heading, title
	"claude": {"Claude", "Claude Code"}, "codex": {"Codex", "Codex"}, "gemini": {"Gemini", "Gemini CLI"}, "cursor": {"Cursor", "Cursor"},
	"opencode": {"OpenCode", "OpenCode"}, "deep": {"deepagent", "deepagents"}, "vscode": {"VS Code", "VS Code"},
	"copilot": {"Copilot", "GitHub Copilot CLI"}, "desktop": {"Desktop", "Claude Desktop"}, "qwen": {"Qwen", "Qwen Code"},
	"windsurf": {"Windsurf", "Windsurf"}, "cline": {"Cline", "Cline"}, "zed": {"Zed", "Zed"}, "goose": {"Goose", "Goose"},
	"crush": {"Crush", "Crush"},
}

var (
	shopFive    = strings.Fields("claude codex gemini cursor opencode")
	shopEight   = strings.Fields("claude codex gemini cursor opencode deep vscode copilot")
	shopFifteen = strings.Fields("claude codex gemini cursor opencode deep vscode desktop copilot qwen windsurf cline zed goose crush")
)

var shopTime = time.Date(2026, 11, 30, 12, 41, 7, 0, time.UTC)

// shopCell makes a cell of the mock-ups' short form: k6 loaded with 6 tools, c configured, ?word waiting, !word a sign-in,
// xword an error, -word off, rword a reload; ^ at the end is a finding.
func shopCell(harness, name, tag, short string) *model.Cell {
	short, marked := strings.CutSuffix(short, "^")
	kind, word := short[0], short[1:]
	c := &model.Cell{Harness: model.HarnessID(harness), Entry: model.Entry{Name: name, Scope: model.ScopeUser,
		Source:     model.Location{Path: "/home/ann/." + harness + ".json", Key: "mcpServers." + name, Line: 212},
		Definition: shopDefinition(name, tag)}, Decision: model.DecisionLoads}
	if marked {
		c.Findings = []model.Finding{{Code: model.FindingURLWithoutType, Severity: model.Warning, Text: "no type beside the url"}}
	}
	observe := func(o model.Outcome, code model.ReasonCode, text string) {
		c.Observation = &model.Observation{At: shopTime, Outcome: o, Reason: model.Reason{Code: code, Text: text}}
	}
	switch kind {
	case 'k':
		n, err := strconv.Atoi(word)
		if err != nil {
			panic(err)
		}
		observe(model.OutcomeOK, "", "")
		c.Tools = &model.ToolList{Listed: n, Offered: n}
	case '?':
		c.Decision = model.DecisionWaits
		c.Reason = model.Reason{Code: model.ReasonNeedsApproval, Text: "nothing in the repository can approve it; you can"}
		if word == "trust" {
			c.Reason = model.Reason{Code: model.ReasonUntrustedFolder, Text: "the folder is not trusted"}
		}
	case '!':
		observe(model.OutcomeUnauthenticated, model.ReasonNeedsLogin, "401 from mcp.linear.app: it asks for OAuth (scope read)")
	case 'x':
		code := model.ReasonCommandNotFound
		observe(model.OutcomeError, code, "command not found")
		if word == "timeout" {
			observe(model.OutcomeError, model.ReasonTimeout, "no answer in 20 s")
		}
		if strings.HasPrefix(word, "exit") {
			exit := 1
			observe(model.OutcomeError, model.ReasonExited, "it ended with exit 1")
			c.Observation.Word, c.Observation.Exit = word, &exit
		}
	case '-':
		c.Decision, c.Reason = model.DecisionOff, model.Reason{Code: model.ReasonSwitchedOff, Text: "switched off"}
	case 'r':
		c.Overlays = model.OverlayReload
	case 'c':
	default:
		panic(fmt.Sprintf("unknown cell %q", short))
	}
	return c
}

func shopDefinition(name, tag string) *model.Definition {
	switch {
	case tag == "docker":
		return &model.Definition{Transport: model.TransportStdio, Command: "docker", Args: model.Secrets([]string{"run", "-i", "ghcr.io/github/github-mcp-server"})}
	case tag == "http", name == "linear":
		return &model.Definition{Transport: model.TransportHTTP, URL: model.NewSecret("https://mcp." + name + ".app/mcp"),
			Headers: []model.Variable{{Name: "Authorization", Value: model.NewSecret("Bearer abc")}}}
	}
	return &model.Definition{Transport: model.TransportStdio, Command: "npx", Args: model.Secrets([]string{"-y", "@acme/" + name})}
}

// shopSnapshot makes the snapshot of these harnesses.
func shopSnapshot(harnesses []string, rows []shopRow, change func([]*model.Column)) *model.Snapshot {
	var columns []*model.Column
	for _, h := range harnesses {
		col := &model.Column{Present: true, Untrusted: h == "gemini", Harness: model.Harness{ID: model.HarnessID(h), Heading: shopHarnesses[h][0],
			Title: shopHarnesses[h][1], Verified: model.VerifiedRun, VersionChecked: "1.0"}}
		for _, r := range rows {
			for _, part := range strings.Split(r.cells, ", ") {
				if id, short, ok := strings.Cut(part, ":"); ok && id == h {
					col.Cells = append(col.Cells, shopCell(h, r.name, r.tag, short))
				}
			}
		}
		slices.SortStableFunc(col.Cells, func(a, b *model.Cell) int { return model.CompareNames(a.Name, b.Name) })
		columns = append(columns, col)
	}
	if change != nil {
		change(columns)
	}
	return model.NewSnapshot(1, "/home/ann/code/shop", "/home/ann", shopTime, columns)
}

// shopModel is a program that shows the shop in a window of this size, without colour.
func shopModel(t *testing.T, w, h int, s *model.Snapshot) *Model {
	t.Helper()
	m := New(Options{Snapshot: s, Theme: ThemeMono, Now: func() time.Time { return shopTime }})
	m.Update(tea.WindowSizeMsg{Width: w, Height: h})
	return m
}

// rows40 is a longer list.
func rows40() []shopRow {
	names := strings.Fields("airtable algolia apify arxiv asana aws-docs azure bigquery brave-search browserbase calendar chrome-devtools cloudflare confluence context7 datadog docs duckdb elastic everything exa fetch figma filesystem firecrawl git github gitlab grafana jira kubernetes linear memory mongodb neon notion playwright postgres redis sentry")
	patterns := []string{"claude:k{n}, codex:k{n}, cursor:k{n}", "claude:c, gemini:?trust, cursor:c", "codex:k{n}, opencode:k{n}",
		"claude:k{n}, gemini:?trust, opencode:-off", "cursor:k{n}, claude:-off", "claude:xtimeout, codex:k{n}", "cursor:!sign in"}
	var out []shopRow
	for i, n := range names {
		of := 5
		if i%4 == 1 {
			of = 7
		}
		out = append(out, shopRow{n, strings.ReplaceAll(patterns[(i*3+i/5)%of], "{n}", strconv.Itoa(3+i*7%29)), ""})
	}
	return out
}

// keyMsg makes the message of a key by the name that Bubble Tea gives it.
func keyMsg(name string) tea.KeyMsg {
	for t, n := range map[tea.KeyType]string{tea.KeyEnter: "enter", tea.KeyEsc: "esc", tea.KeyTab: "tab", tea.KeyUp: "up", tea.KeyDown: "down",
		tea.KeyLeft: "left", tea.KeyRight: "right", tea.KeyHome: "home", tea.KeyEnd: "end", tea.KeyPgUp: "pgup", tea.KeyPgDown: "pgdown",
		tea.KeyCtrlC: "ctrl+c", tea.KeyCtrlD: "ctrl+d", tea.KeyCtrlU: "ctrl+u", tea.KeyCtrlZ: "ctrl+z", tea.KeyBackspace: "backspace"} {
		if n == name {
			return tea.KeyMsg{Type: t}
		}
	}
	if name == " " {
		return tea.KeyMsg{Type: tea.KeySpace, Runes: []rune(" ")}
	}
	return tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune(name)}
}
