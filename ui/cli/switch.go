package cli

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"fusebox/loaders"
	"fusebox/model"
	"fusebox/ui"
)

// switchFlags are the flags of toggle, approve and undo.
type switchFlags struct {
	harness string
	on, off bool
	revoke  bool
	trust   bool
	reach   string
	dryRun  bool
	json    bool
	yes     bool
	list    bool
}

// The JSON document of toggle, approve and undo.
type (
	switchDocument struct {
		Edits      []editDocument `json:"edits"`
		StateAfter *cellDocument  `json:"state_after"`           // with --dry-run as it would be
		Reach      string         `json:"reach,omitempty"`       // of what is written
		Already    bool           `json:"already,omitempty"`     // it is so already
		LetsIn     string         `json:"lets_in,omitempty"`     // what else the same consent lets in
		Warning    string         `json:"warning,omitempty"`     // what else happens
		Missing    string         `json:"missing,omitempty"`     // what the server still lacks
		Was        *wasDocument   `json:"was,omitempty"`         // what an approval that does not fit any more was given to
		Refused    string         `json:"refused,omitempty"`     // why nothing was written
		NotWritten []string       `json:"not_written,omitempty"` // why something failed
	}
	editDocument struct {
		Path    string `json:"path"`
		Diff    string `json:"diff"`
		Written bool   `json:"written"`
	}
	wasDocument struct {
		Display string `json:"display"`
		Commit  string `json:"commit"` // that has it
		At      string `json:"at,omitempty"`
	}
	stepDocument struct {
		ID     string   `json:"id"`
		At     string   `json:"at"`
		What   string   `json:"what"`
		Files  []string `json:"files"`
		Undone bool     `json:"undone"`
	}
)

const switchStatus = `
Exit status: 0 when it is done, or was so already; 1 when it cannot be done, with
the reason; 2 when the command line makes no sense; 3 when --yes is missing:
the diff is printed and nothing is written; 4 when a file changed meanwhile.`

const toggleHelp = `Set the harness's own switch of a server, in the harness's own file. An entry is
never deleted. Without --on and --off the switch is flipped. What would be written
is printed; it is written with --yes.

--reach chooses where several places hold a switch:
  here        this folder, for you alone
  everywhere  every folder of yours
  repository  everybody who uses this repository
` + switchStatus

const approveHelp = `Give the harness's own consent to a server, or take it back with --revoke. What
would be written is printed; it is written with --yes. A whole folder is never
trusted without --trust-folder.
` + switchStatus

const undoHelp = `Take the last write of fusebox back: every file of it gets its old bytes again.
A file that is not any more what the write made is left alone, and then all are.
--list shows what can be taken back; the newest comes first.
` + switchStatus

func newToggle(s Streams, o *options) *cobra.Command {
	var f switchFlags
	cmd := &cobra.Command{
		Use: "toggle NAME --harness ID", Short: "Set the harness's own switch of a server", Long: toggleHelp,
		Example: "  fusebox toggle playwright --harness codex --off --dry-run\n  fusebox toggle playwright --harness codex --off --yes",
		Args:    oneName, ValidArgsFunction: completeNames(o, &f),
		RunE: func(_ *cobra.Command, args []string) error {
			if f.on && f.off {
				return usageError("--on and --off exclude each other")
			}
			in := ui.Intent{Kind: ui.IntentToggle}
			if f.on || f.off {
				in.On = &f.on
			}
			return runSwitch(s, *o, f, args[0], in)
		},
	}
	f.common(cmd)
	cmd.Flags().BoolVar(&f.on, "on", false, "switch it on")
	cmd.Flags().BoolVar(&f.off, "off", false, "switch it off")
	return cmd
}

func newApprove(s Streams, o *options) *cobra.Command {
	var f switchFlags
	cmd := &cobra.Command{
		Use: "approve NAME --harness ID", Short: "Give the harness's own consent to a server", Long: approveHelp,
		Example: "  fusebox approve docs --harness claude-code --dry-run\n  fusebox approve docs --harness gemini --trust-folder --yes",
		Args:    oneName, ValidArgsFunction: completeNames(o, &f),
		RunE: func(_ *cobra.Command, args []string) error {
			in := ui.Intent{Kind: ui.IntentApprove}
			if f.revoke {
				in.Kind = ui.IntentRevoke
			}
			if f.revoke && f.trust {
				return usageError("--revoke and --trust-folder exclude each other")
			}
			return runSwitch(s, *o, f, args[0], in)
		},
	}
	f.common(cmd)
	cmd.Flags().BoolVar(&f.revoke, "revoke", false, "take the consent back")
	cmd.Flags().BoolVar(&f.trust, "trust-folder", false, "trust the whole folder, if that is what it takes")
	return cmd
}

func newUndo(s Streams, o *options) *cobra.Command {
	var f switchFlags
	cmd := &cobra.Command{
		Use: "undo", Short: "Take the last write back", Long: undoHelp,
		Example: "  fusebox undo --list\n  fusebox undo --yes",
		Args:    noArguments, ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(*cobra.Command, []string) error {
			if f.list {
				return runUndoList(s, *o, f)
			}
			return runUndo(s, *o, f)
		},
	}
	f.output(cmd)
	cmd.Flags().BoolVar(&f.list, "list", false, "show what can be taken back")
	return cmd
}

func (f *switchFlags) common(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.harness, "harness", "", "the harness (`id` or alias)")
	cmd.Flags().StringVar(&f.reach, "reach", "", "whom it shall reach: here, everywhere or repository (default: the narrowest)")
	f.output(cmd)
}

func (f *switchFlags) output(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&f.dryRun, "dry-run", false, "print the diff and write nothing")
	cmd.Flags().BoolVar(&f.json, "json", false, "print one JSON document")
	cmd.Flags().BoolVar(&f.yes, "yes", false, "write it")
}

// oneName refuses anything but one server name.
func oneName(cmd *cobra.Command, args []string) error {
	if len(args) == 1 {
		return nil
	}
	return usageError("%s takes the name of one server", cmd.CommandPath())
}

// switchRun is one run of toggle, approve or undo.
type switchRun struct {
	s       Streams
	f       switchFlags
	session *session
	sw      *switcher
	mask    func(string) string
}

func beginSwitch(command string, s Streams, o options, f switchFlags) (*switchRun, error) {
	session, err := begin(command, o, false)
	if err != nil {
		return nil, err
	}
	return &switchRun{s: s, f: f, session: session, sw: newSwitcher(session.env, loaders.All(), session.log, nil), mask: model.Clean}, nil
}

// runSwitch does toggle and approve.
func runSwitch(s Streams, o options, f switchFlags, name string, in ui.Intent) error {
	switch {
	case f.harness == "":
		return usageError("which harness? --harness takes one of %s", strings.Join(harnessIDs(), ", "))
	case strings.Contains(f.harness, ","):
		return usageError("--harness takes one harness here")
	case f.reach != "" && !slices.Contains(loaders.Reaches(), loaders.Reach(f.reach)):
		return usageError("unknown reach %q: here, everywhere or repository", f.reach)
	}
	o.harnesses = []string{f.harness}
	command := "toggle"
	if in.Kind != ui.IntentToggle {
		command = "approve"
	}
	r, err := beginSwitch(command, s, o, f)
	if err != nil {
		return err
	}
	defer r.session.end()
	defer r.session.logPanic()
	picked, _ := loaders.Select(loaders.All(), o.harnesses)
	in.Cells = []model.CellKey{{Harness: picked[0].ID, Name: name}}
	items, _, columns := r.sw.look(in)
	it := &items[0]
	secrets := r.sw.mask(columns)
	r.mask = func(t string) string { return secrets(model.Clean(t)) }
	if it.cell == nil {
		return r.refuse(it, unknownServer(it.harness.Title, name, columns[0]))
	}
	if it.answer.Already {
		return r.already(it, "")
	}
	option, why, ask := pick(it, f)
	switch {
	case option == nil:
		return r.refuse(it, why)
	case option.Done:
		return r.already(it, option.Missing)
	case ask != "":
		return r.preview(it, option, &exitError{exitAsk, errors.New(r.mask(ask))})
	case f.dryRun:
		return r.preview(it, option, nil)
	case !f.yes:
		return r.preview(it, option, &exitError{exitAsk, errors.New("nothing is written without --yes")})
	}
	return r.write(it, option)
}

// unknownServer says which servers there are.
func unknownServer(harness, name string, col *model.Column) string {
	var names []string
	for _, c := range col.Cells {
		if n := tableName(c.Name); !slices.Contains(names, n) {
			names = append(names, n)
		}
	}
	switch {
	case len(names) == 0:
		return fmt.Sprintf("%s has no server %s here: it has none", harness, tableName(name))
	case len(names) > 12:
		names = append(names[:12], "...")
	}
	return fmt.Sprintf("%s has no server %s here: it has %s", harness, tableName(name), strings.Join(names, ", "))
}

// pick chooses the option that the flags ask for: the narrowest, or that of a reach. A way that trusts the whole folder is
// taken with the flag for it alone; ask says so.
func pick(it *plannedSwitch, f switchFlags) (option *loaders.Option, why, ask string) {
	var fits, trusting *loaders.Option
	why = it.answer.Refused
	var reaches []string
	for i := range it.answer.Options {
		o := &it.answer.Options[i]
		if r := string(o.Reach); !slices.Contains(reaches, r) {
			reaches = append(reaches, r)
		}
		switch {
		case f.reach != "" && f.reach != string(o.Reach):
		case o.Unavailable != "":
			if f.reach != "" || why == "" {
				why = o.Unavailable
			}
		case o.TrustsFolder && trusting == nil:
			trusting = o
		case !o.TrustsFolder && fits == nil:
			fits = o
		}
	}
	switch {
	case trusting != nil && f.trust:
		return trusting, "", ""
	case fits != nil:
		return fits, "", ""
	case trusting != nil:
		return trusting, "", "that trusts the whole folder, which is never done without --trust-folder"
	case f.reach != "" && len(reaches) > 0 && !slices.Contains(reaches, f.reach):
		return nil, fmt.Sprintf("%s has no way to do that with reach %s, but with %s", it.harness.Title, f.reach, strings.Join(reaches, " and ")), ""
	}
	return nil, why, ""
}

func (r *switchRun) say(format string, args ...any) {
	fmt.Fprintln(r.s.Out, r.mask(fmt.Sprintf(format, args...)))
}

// document prints the JSON document.
func (r *switchRun) document(doc switchDocument) error {
	if doc.Edits == nil {
		doc.Edits = []editDocument{}
	}
	if err := writeJSON(r.s.Out, doc, "  "); err != nil {
		return &exitError{exitErrors, fmt.Errorf("write the document: %w", err)}
	}
	return nil
}

func (r *switchRun) stateOf(c *model.Cell) *cellDocument {
	if c == nil {
		return nil
	}
	doc := newCellDocument(c, "", r.mask)
	return &doc
}

func (r *switchRun) refuse(it *plannedSwitch, why string) error {
	why = r.mask(why)
	if r.f.json {
		if err := r.document(switchDocument{StateAfter: r.stateOf(it.cell), Refused: why}); err != nil {
			return err
		}
	}
	return &exitError{exitErrors, errors.New(why)}
}

func (r *switchRun) already(it *plannedSwitch, missing string) error {
	if r.f.json {
		return r.document(switchDocument{StateAfter: r.stateOf(it.cell), Already: true, Missing: r.mask(missing)})
	}
	c := chosen{it, nil}
	if it.wish == loaders.WishApprove && it.answer.Already {
		r.say("%s in %s: %s", tableName(it.key.Name), it.harness.Title, it.cell.Capabilities.Approve)
	} else {
		r.say("%s already", c.outcomeWords(it.cell))
	}
	if missing != "" {
		r.say("still missing: %s", missing)
	}
	return nil
}

// preview prints what an option would write.
func (r *switchRun) preview(it *plannedSwitch, o *loaders.Option, end *exitError) error {
	diffs := o.Plan().Diffs()
	was := r.was(it)
	if r.f.json {
		doc := switchDocument{StateAfter: r.stateOf(it.cell), Reach: string(o.Reach), LetsIn: r.mask(o.LetsIn), Warning: r.mask(o.Warning), Missing: r.mask(o.Missing)}
		if was != nil {
			doc.Was = &wasDocument{Display: r.displayOf(was.Definition), Commit: was.Commit}
			if !was.At.IsZero() {
				doc.Was.At = was.At.Format(time.RFC3339)
			}
		}
		if r.f.dryRun {
			doc.StateAfter = r.stateOf(o.Then())
		}
		for i := range diffs {
			doc.Edits = append(doc.Edits, editDocument{Path: diffs[i].Path, Diff: r.maskLines(diffs[i].Unified())})
		}
		if err := r.document(doc); err != nil {
			return err
		}
	} else {
		if it.approvesAnew() && it.cell.Definition != nil {
			r.say("would run: %s", r.displayOf(it.cell.Definition))
			if was != nil {
				r.say("was: %s, %s", r.displayOf(was.Definition), was.Words())
			} else {
				r.say("was: not known, the fingerprint differs")
			}
		}
		r.say("reach: %s", o.Label)
		r.facts(o)
		for i := range diffs {
			io.WriteString(r.s.Out, r.maskLines(diffs[i].Unified())) //nolint:errcheck // as all that is printed here
		}
	}
	if end != nil {
		return end
	}
	return nil
}

// approvesAnew tells whether an approval is asked for beside one that does not fit any more.
func (it *plannedSwitch) approvesAnew() bool {
	return it.wish == loaders.WishApprove && it.cell != nil && it.cell.Reason.Code == model.ReasonApprovalChanged
}

// was looks up what the approval was given to that does not fit any more; nil where that is not known.
func (r *switchRun) was(it *plannedSwitch) *ui.Earlier {
	if !it.approvesAnew() {
		return nil
	}
	e, err := r.session.loader.Earlier(r.session.ctx, it.key.Harness, it.key.Name)
	if err != nil {
		r.session.log.printf("history: %v", err)
		return nil
	}
	return &ui.Earlier{Definition: e.Definition, Commit: e.Commit, At: e.At}
}

// displayOf shows a definition, which need be in no snapshot.
func (r *switchRun) displayOf(d *model.Definition) string {
	return r.mask(model.NewRedactor(d.Secrets()).Text(model.Clean(d.Display())))
}

func (r *switchRun) facts(o *loaders.Option) {
	for _, fact := range []struct{ label, text string }{{"lets in", o.LetsIn}, {"note", o.Warning}, {"still missing", o.Missing}} {
		if fact.text != "" {
			r.say("%s: %s", fact.label, fact.text)
		}
	}
}

func (r *switchRun) maskLines(text string) string {
	lines := strings.Split(text, "\n")
	for i, l := range lines {
		lines[i] = r.mask(l)
	}
	return strings.Join(lines, "\n")
}

// write writes an option and tells what came of it.
func (r *switchRun) write(it *plannedSwitch, o *loaders.Option) error {
	w := r.sw.write([]chosen{{it, o}})
	report := w.report(r.sw)
	if r.f.json {
		doc := switchDocument{StateAfter: r.stateOf(w.after[it.key]), Reach: string(o.Reach), LetsIn: r.mask(o.LetsIn), Warning: r.mask(o.Warning),
			Missing: strings.Join(report.Missing, "; "), NotWritten: report.Failed}
		done := map[string]bool{}
		for _, res := range w.applied.Written {
			d := loaders.ResultDiff(res, formatOf(res.Path))
			doc.Edits = append(doc.Edits, editDocument{res.Path, r.maskLines(d.Unified()), true})
			done[res.Path] = true
		}
		for _, d := range w.plan.Diffs() {
			if !done[d.Path] {
				doc.Edits = append(doc.Edits, editDocument{Path: d.Path, Diff: r.maskLines(d.Unified())})
			}
		}
		if err := r.document(doc); err != nil {
			return err
		}
	} else {
		r.told(report)
		if len(report.Done) > 0 {
			r.facts(&loaders.Option{LetsIn: o.LetsIn, Warning: o.Warning})
		}
	}
	return exitOf(report)
}

// told prints a report; what failed is told by the exit.
func (r *switchRun) told(report ui.SwitchReport) {
	for _, d := range report.Done {
		if d.Where == "" {
			r.say("%s", d.What)
		} else {
			r.say("%s   %s", d.What, d.Where)
		}
	}
	for _, m := range report.Missing {
		r.say("still missing: %s", m)
	}
}

func exitOf(report ui.SwitchReport) error {
	switch {
	case len(report.Failed) == 0:
		return nil
	case report.Conflict:
		return &exitError{exitStale, errors.New(strings.Join(report.Failed, "; "))}
	}
	return &exitError{exitErrors, errors.New(strings.Join(report.Failed, "; "))}
}

// runUndo takes the newest step back.
func runUndo(s Streams, o options, f switchFlags) error {
	r, err := beginSwitch("undo", s, o, f)
	if err != nil {
		return err
	}
	defer r.session.end()
	defer r.session.logPanic()
	p := r.sw.peek()
	if p.step == nil {
		if f.json {
			if err := r.document(switchDocument{Refused: "there is nothing to take back"}); err != nil {
				return err
			}
		}
		if p.err == nil {
			p.err = errors.New("there is nothing to take back")
		}
		return &exitError{exitErrors, p.err}
	}
	var edits []editDocument
	for i := range p.diffs {
		edits = append(edits, editDocument{Path: p.diffs[i].Path, Diff: r.maskLines(p.diffs[i].Unified())})
	}
	var report ui.SwitchReport
	var end error
	switch {
	case p.err != nil:
		report.Failed, report.Conflict = []string{r.sw.short(p.err.Error())}, true
		end = exitOf(report)
	case f.dryRun:
	case !f.yes:
		end = &exitError{exitAsk, errors.New("nothing is written without --yes")}
	default:
		_, report = r.sw.takeBack()
		end = exitOf(report)
		for i := range edits {
			edits[i].Written = len(report.Done) > 0
		}
	}
	if f.json {
		if err := r.document(switchDocument{Edits: edits, NotWritten: report.Failed}); err != nil {
			return err
		}
		return end
	}
	if len(report.Done) == 0 {
		r.say("takes back: %s", p.step.What)
		for _, e := range edits {
			io.WriteString(s.Out, e.Diff) //nolint:errcheck // as all that is printed here
		}
	}
	r.told(report)
	return end
}

// runUndoList shows what can be taken back.
func runUndoList(s Streams, o options, f switchFlags) error {
	r, err := beginSwitch("undo", s, o, f)
	if err != nil {
		return err
	}
	defer r.session.end()
	steps, err := r.sw.undo.List()
	if err != nil {
		return &exitError{exitErrors, err}
	}
	docs := make([]stepDocument, 0, len(steps))
	for _, step := range steps {
		d := stepDocument{ID: step.ID, At: step.At.Format(time.RFC3339), What: model.Clean(step.What), Undone: step.Undone, Files: []string{}}
		for _, file := range step.Files {
			d.Files = append(d.Files, file.Path)
		}
		docs = append(docs, d)
	}
	if notes, err := r.sw.undo.Notes(); err == nil {
		for _, n := range notes {
			fmt.Fprintf(s.Err, "fusebox: %s\n", model.Clean(n))
		}
	}
	if f.json {
		return writeJSON(s.Out, map[string]any{"steps": docs}, "  ")
	}
	if len(docs) == 0 {
		r.say("there is nothing to take back")
		return nil
	}
	rows := [][]string{{"WHEN", "WHAT", "FILES"}}
	for i, d := range docs {
		var files []string
		for _, file := range d.Files {
			files = append(files, model.Clean(model.Tilde(file, r.session.env.Home)))
		}
		what := d.What
		if d.Undone {
			what += " (taken back)"
		}
		rows = append(rows, []string{steps[i].At.Local().Format("2006-01-02 15:04:05"), what, strings.Join(files, ", ")})
	}
	return writeColumns(s.Out, rows)
}
