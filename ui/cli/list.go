package cli

import (
	"fmt"
	"io"
	"text/tabwriter"

	"fusebox/model"
)

// writeTable writes the plain table of list: a line per server and harness.
func writeTable(w io.Writer, s *model.Snapshot, redactor *model.Redactor) error {
	tw := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	text := func(t string) string { return redactor.Text(model.Clean(t)) }
	fmt.Fprintln(tw, "SERVER\tHARNESS\tSTATE\tWHERE\tWHY")
	rows := 0
	for _, srv := range s.Servers {
		for _, c := range srv.Cells {
			rows++
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
			fmt.Fprintf(tw, "%s\t%s\t%s\t%s\t%s\n", model.Clean(c.Name), c.Harness, c.State(), model.Clean(where), why)
		}
	}
	if err := tw.Flush(); err != nil {
		return err
	}
	if rows == 0 {
		fmt.Fprintln(w, "no MCP server is configured for this folder")
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
