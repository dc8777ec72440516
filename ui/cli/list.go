package cli

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/spf13/cobra"

	"fusebox/loaders"
	"fusebox/model"
)

// listFormat are the flags of list.
type listFormat struct {
	json     bool
	markdown bool
	out      string // with markdown: the file to write instead of stdout
	watch    bool
	launch   launchOptions
}

const listHelp = `Print what every harness would do with every MCP server in this folder: a table,
one JSON document, or a report in Markdown. Nothing is started without --launch,
and nothing is written without --out.

With --watch nothing is printed at first; then every change is one line of JSON:
  {"generation": 2, "changed": [cells], "definitions": [...], "files": [...]}
A cell that is gone has the state "none". INT, TERM, HUP or a closed pipe end it,
with status 0.

Exit status: 0 when all is well; 1 when a server is an error, or a file is
malformed or refused; 2 when the command line makes no sense.`

const listExamples = `  fusebox list --harness claude-code,codex
  fusebox list --json | jq '.servers[].name'
  fusebox list --markdown --out mcp.md
  fusebox list --watch | while read -r change; do ...; done`

func newList(s Streams, o *options) *cobra.Command {
	var f listFormat
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "Print what every harness would load here",
		Long:    listHelp,
		Example: listExamples,
		Args:    noArguments, ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := f.check(cmd.Flags().Changed("out")); err != nil {
				return err
			}
			if err := o.check(); err != nil {
				return err
			}
			if f.watch {
				return runListWatch(s, *o)
			}
			return runList(s, *o, f)
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&f.json, "json", false, "print one JSON document")
	flags.BoolVar(&f.markdown, "markdown", false, "print a report in Markdown")
	flags.StringVar(&f.out, "out", "", "write the report to this `file` instead (with --markdown)")
	flags.BoolVar(&f.watch, "watch", false, "print a line of JSON for every change, until interrupted")
	flags.BoolVar(&f.launch.launch, "launch", false, "start the servers that load, each once, and list their tools")
	flags.BoolVar(&f.launch.remote, "remote", false, "with --launch: reach remote servers as well")
	flags.BoolVar(&f.launch.includeUnapproved, "include-unapproved", false, "with --launch: start also what waits for consent or comes from the folder")
	flags.DurationVar(&o.timeout, "timeout", 20*time.Second, "with --launch: how long a server may take to list its tools")
	flags.StringSliceVar(&o.harnesses, "harness", nil, "only these harnesses (`ids` or aliases, comma separated)")
	return cmd
}

// check refuses flags that exclude each other.
func (f listFormat) check(outGiven bool) error {
	switch {
	case f.json && f.markdown:
		return usageError("--json and --markdown exclude each other")
	case f.watch && f.markdown:
		return usageError("--watch prints JSON: it excludes --markdown")
	case outGiven && !f.markdown:
		return usageError("--out needs --markdown")
	case f.watch && f.launch.launch:
		return usageError("--watch starts nothing: it excludes --launch")
	case (f.launch.remote || f.launch.includeUnapproved) && !f.launch.launch:
		return usageError("--remote and --include-unapproved need --launch")
	case outGiven && f.out == "":
		return usageError("--out needs the name of a file")
	}
	return nil
}

func runList(s Streams, o options, f listFormat) error {
	session, err := begin("list", o, f.launch.launch)
	if err != nil {
		return err
	}
	defer session.end()
	defer session.logPanic()
	snapshot := session.load()
	redactor := model.NewRedactor(snapshot.Secrets())
	if f.launch.launch {
		launcher := newLauncher(session.env, loaders.All(), o.timeout)
		defer launcher.Close()
		snapshot = launchListed(session.ctx, s, launcher, snapshot, f.launch)
	}
	switch {
	case f.json:
		err = writeJSON(s.Out, newDocument(snapshot, redactor), "  ")
	case f.markdown && f.out != "":
		err = replaceFile(f.out, newReport(snapshot, redactor))
	case f.markdown:
		_, err = io.WriteString(s.Out, newReport(snapshot, redactor))
	default:
		err = writeTable(s.Out, snapshot, redactor)
	}
	var exit *exitError
	switch {
	case errors.As(err, &exit):
		return err
	case err != nil:
		return &exitError{exitErrors, fmt.Errorf("write the listing: %w", err)}
	case snapshot.HasErrors():
		return &exitError{exitErrors, nil}
	}
	return nil
}

// longestTableName is how many characters of a name the table shows: one long name must not push all other columns away.
const longestTableName = 60

// tableName shows a server's name in the table: cut when it is long, in quotes when it is blank.
func tableName(name string) string {
	name = model.Clean(name)
	if strings.TrimSpace(name) == "" {
		return `"` + name + `"`
	}
	if runes := []rune(name); len(runes) > longestTableName {
		return string(runes[:longestTableName-1]) + "…"
	}
	return name
}

// writeTable writes the plain table of list: a line per server and harness.
func writeTable(w io.Writer, s *model.Snapshot, redactor *model.Redactor) error {
	text := func(t string) string { return redactor.Text(model.Clean(t)) }
	rows := [][]string{{"SERVER", "HARNESS", "STATE", "WHERE", "WHY"}}
	for _, srv := range s.Servers {
		for _, c := range srv.Cells {
			where := fmt.Sprintf("%s:%d", model.Tilde(c.Source.Path, s.Home), c.Source.Line)
			reason := c.StateReason()
			why := text(reason.Text)
			if why == "" && c.Marked() {
				for _, f := range c.Findings {
					if f.Severity == model.Warning {
						why = "note: " + text(f.Text)
						break
					}
				}
			}
			rows = append(rows, []string{tableName(c.Name), string(c.Harness), c.State().String(), model.Clean(where), why})
		}
	}
	if err := writeColumns(w, rows); err != nil {
		return err
	}
	if len(rows) == 1 {
		fmt.Fprintln(w, "no MCP server is configured for this folder; list --json names the files that were looked for")
	}
	for _, col := range s.Columns {
		for _, f := range col.Files {
			if f.Status == model.FileMalformed || f.Status == model.FileRefused {
				fmt.Fprintf(w, "%s: %s is %s: %s\n", col.Title, model.Clean(model.Tilde(f.Path, s.Home)), f.Status, text(f.Note))
			}
		}
	}
	return nil
}

// writeColumns writes rows of as many cells each as columns with two blanks between them. Widths are those of a terminal.
func writeColumns(w io.Writer, rows [][]string) error {
	var widths []int
	for _, row := range rows {
		for i, cell := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], ansi.StringWidth(cell))
		}
	}
	var b strings.Builder
	for _, row := range rows {
		blanks := 0
		for i, cell := range row {
			if cell != "" {
				b.WriteString(strings.Repeat(" ", blanks) + cell)
				blanks = 0
			}
			blanks += widths[i] - ansi.StringWidth(cell) + 2
		}
		b.WriteByte('\n')
	}
	_, err := io.WriteString(w, b.String())
	return err
}
