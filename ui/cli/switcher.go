package cli

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"fusebox/loaders"
	"fusebox/loaders/jsonc"
	"fusebox/loaders/rewrite"
	"fusebox/loaders/state"
	"fusebox/model"
	"fusebox/ui"
)

// switcher plans, writes and takes back the harnesses' own switches and consents. It looks at the files itself, at the moment
// of each call.
type switcher struct {
	env       *loaders.Env
	harnesses []loaders.Harness
	undo      *state.Undo
	shown     func() *model.Snapshot // what the user sees, for the tools that a launch showed; may give nil
	log       *logger
}

func newSwitcher(env *loaders.Env, harnesses []loaders.Harness, log *logger, shown func() *model.Snapshot) *switcher {
	return &switcher{env: env, harnesses: harnesses, log: log, shown: shown,
		undo: state.OpenUndo(state.UndoDir(env.GOOS, env.Home, env.Var))}
}

// plannedSwitch is what an intent comes to for one cell.
type plannedSwitch struct {
	key     model.CellKey
	harness loaders.Harness
	cell    *model.Cell // as the files are now; nil when there is none
	wish    loaders.Wish
	answer  loaders.Answer
}

// switchToken is what a plan carries for Apply.
type switchToken struct{ items []plannedSwitch }

func (s *switcher) harness(id model.HarnessID) (loaders.Harness, bool) {
	i := slices.IndexFunc(s.harnesses, func(h loaders.Harness) bool { return h.ID == id })
	if i < 0 {
		return loaders.Harness{}, false
	}
	return s.harnesses[i], true
}

// look asks the harnesses what can be done, and decides what a flip means: off, when one of the cells is on.
func (s *switcher) look(in ui.Intent) (items []plannedSwitch, on bool, columns []*model.Column) {
	boards := map[model.HarnessID]*loaders.Switchboard{}
	for _, key := range in.Cells {
		h, ok := s.harness(key.Harness)
		if !ok {
			continue
		}
		b := boards[key.Harness]
		if b == nil {
			b = loaders.NewSwitchboard(s.env, h)
			boards[key.Harness] = b
			columns = append(columns, b.Column())
		}
		items = append(items, plannedSwitch{key: key, harness: h, cell: b.Cell(key.Name)})
	}
	on = true
	for _, it := range items {
		if it.cell != nil && it.cell.Decision != model.DecisionOff && (len(items) == 1 || it.cell.Capabilities.Toggle == "") {
			on = false
		}
	}
	if in.On != nil {
		on = *in.On
	}
	for i := range items {
		it := &items[i]
		switch {
		case in.Kind == ui.IntentApprove:
			it.wish = loaders.WishApprove
		case in.Kind == ui.IntentRevoke:
			it.wish = loaders.WishRevoke
		case on:
			it.wish = loaders.WishOn
		default:
			it.wish = loaders.WishOff
		}
		if it.cell == nil {
			it.answer.Refused = it.harness.Title + " has no server of this name here any more"
			continue
		}
		it.answer = boards[it.key.Harness].Ask(it.cell, it.wish)
	}
	return items, on, columns
}

// Plan says what an intent would write.
func (s *switcher) Plan(in ui.Intent) ui.SwitchPlan {
	items, on, columns := s.look(in)
	p := ui.SwitchPlan{Intent: in, On: on, Title: switchTitle(in, items, on), Token: &switchToken{items}}
	mask := s.mask(columns)
	for i := range items {
		p.Items = append(p.Items, s.item(&items[i], mask))
	}
	return p
}

// mask hides the secrets of the harnesses at hand.
func (s *switcher) mask(columns []*model.Column) func(string) string {
	secrets := model.NewSnapshot(1, s.env.Project, s.env.Home, s.env.Now(), columns).Secrets()
	return model.NewRedactor(secrets).Text
}

func (s *switcher) item(it *plannedSwitch, mask func(string) string) ui.SwitchItem {
	text := func(t string) string { return mask(model.Clean(t)) }
	out := ui.SwitchItem{Cell: it.key, Now: it.cell, Harness: it.harness.Title, Chosen: -1, Already: it.answer.Already, Refused: text(it.answer.Refused)}
	if it.answer.Already || it.answer.Refused != "" && len(it.answer.Options) == 0 {
		return out
	}
	todo := false
	for i, o := range it.answer.Options {
		opt := ui.SwitchOption{Reach: string(o.Reach), Label: o.Label, Unavailable: text(o.Unavailable), LetsIn: text(o.LetsIn), Missing: text(o.Missing),
			Warning: text(o.Warning), TrustsFolder: o.TrustsFolder, Repository: o.Reach == loaders.ReachRepository, InFolder: o.Shared}
		for _, d := range o.Plan().Diffs() {
			opt.Files = append(opt.Files, screenDiff(d, mask))
		}
		out.Options = append(out.Options, opt)
		if o.Unavailable != "" {
			continue
		}
		todo = todo || !o.Done || o.Missing != ""
		if out.Chosen < 0 && !o.TrustsFolder {
			out.Chosen = i
		}
	}
	out.Already = !todo && it.answer.Refused == ""
	if it.wish == loaders.WishOff {
		out.Frees = s.frees(it.key)
	}
	return out
}

// frees looks the tools of a cell up in what is shown.
func (s *switcher) frees(key model.CellKey) *ui.SwitchFrees {
	if s.shown == nil {
		return nil
	}
	snapshot := s.shown()
	if snapshot == nil {
		return nil
	}
	col := snapshot.Column(key.Harness)
	if col == nil {
		return nil
	}
	for _, c := range col.Cells {
		if c.Name == key.Name && c.Tools != nil && c.Decision == model.DecisionLoads {
			return &ui.SwitchFrees{Tools: c.Tools.Offered, Tokens: c.Tools.Tokens}
		}
	}
	return nil
}

func screenDiff(d loaders.FileDiff, mask func(string) string) ui.FileDiff {
	out := ui.FileDiff{Path: d.Path, Added: d.Added, Removed: d.Removed, Created: d.Created}
	for _, l := range d.Lines {
		out.Lines = append(out.Lines, ui.DiffLine{Number: l.Number, Sign: l.Sign, Text: mask(l.Text)})
	}
	return out
}

// switchTitle is the question.
func switchTitle(in ui.Intent, items []plannedSwitch, on bool) string {
	names, harnesses := map[string]bool{}, map[model.HarnessID]bool{}
	for _, it := range items {
		names[it.key.Name], harnesses[it.key.Harness] = true, true
	}
	what, where := "these servers", "these harnesses"
	switch {
	case len(items) > 0 && len(names) == 1:
		what = tableName(items[0].key.Name)
	case in.Column:
		what = "every server"
	}
	switch {
	case len(items) > 0 && len(harnesses) == 1:
		where = items[0].harness.Title
	case in.Row:
		where = "every harness"
	}
	switch {
	case in.Kind == ui.IntentRevoke:
		return fmt.Sprintf("Take the approval of %s back in %s?", what, where)
	case in.Kind == ui.IntentApprove && len(items) == 1 && items[0].cell != nil && items[0].cell.Scope == model.ScopeProject:
		return fmt.Sprintf("Let %s start %s from this repository?", where, what)
	case in.Kind == ui.IntentApprove:
		return fmt.Sprintf("Approve %s in %s?", what, where)
	case on:
		return fmt.Sprintf("Switch %s on in %s?", what, where)
	}
	return fmt.Sprintf("Switch %s off in %s?", what, where)
}

// chosen is an option that is to be written.
type chosen struct {
	*plannedSwitch
	option *loaders.Option
}

// Apply writes the chosen options of a plan as one step.
func (s *switcher) Apply(p ui.SwitchPlan) ui.SwitchReport {
	var report ui.SwitchReport
	token, ok := p.Token.(*switchToken)
	if !ok {
		report.Failed = []string{"this plan was not made here"}
		return report
	}
	var todo []chosen
	for i := range p.Items {
		item := &p.Items[i]
		at := slices.IndexFunc(token.items, func(it plannedSwitch) bool { return it.key == item.Cell })
		if at < 0 || item.Already || item.Refused != "" {
			continue
		}
		it := &token.items[at]
		if item.Chosen < 0 || item.Chosen >= len(it.answer.Options) || it.answer.Options[item.Chosen].Unavailable != "" {
			continue
		}
		todo = append(todo, chosen{it, &it.answer.Options[item.Chosen]})
	}
	out := s.write(todo)
	return out.report(s)
}

// written is what became of chosen options.
type written struct {
	todo    []chosen
	plan    *loaders.Plan
	applied *loaders.Applied
	err     error // before anything was written
	stale   bool  // what was consented to is not any more what it was
	after   map[model.CellKey]*model.Cell
	columns []*model.Column
}

// write plans the options together on the files as they are now, writes them, and looks at what came of it.
func (s *switcher) write(todo []chosen) *written {
	w := &written{todo: todo, applied: &loaders.Applied{}}
	if name := s.changedSince(todo); name != "" {
		w.stale = true
		w.err = fmt.Errorf("the definition of %s changed meanwhile", tableName(name))
	} else {
		var edits []loaders.Edit
		for _, c := range todo {
			edits = append(edits, c.option.Edits...)
		}
		w.plan, w.err = loaders.MakePlan(edits)
	}
	if w.err == nil {
		w.applied = w.plan.Apply(s.undo, stepWords(todo))
		for _, r := range w.applied.Written {
			s.log.printf("wrote %s", r.Path)
		}
		if w.applied.Err != nil {
			s.log.printf("not written: %v", w.applied.Err)
		}
	}
	s.lookAgain(w)
	return w
}

// changedSince finds a server that is to be approved and whose definition is not any more what was shown.
func (s *switcher) changedSince(todo []chosen) string {
	boards := map[model.HarnessID]*loaders.Switchboard{}
	for _, c := range todo {
		if c.wish != loaders.WishApprove {
			continue
		}
		b := boards[c.key.Harness]
		if b == nil {
			b = loaders.NewSwitchboard(s.env, c.harness)
			boards[c.key.Harness] = b
		}
		if now := b.Cell(c.key.Name); now == nil || !sameEntries(now, c.cell) {
			return c.key.Name
		}
	}
	return ""
}

// sameEntries tells whether two cells hold the same definitions from the same files, those that wait included.
func sameEntries(a, b *model.Cell) bool {
	key := func(e model.Entry) string {
		if e.Definition == nil {
			return e.Source.Path
		}
		return e.Source.Path + "\x00" + e.Definition.Key()
	}
	return key(a.Entry) == key(b.Entry) &&
		slices.EqualFunc(a.Pending, b.Pending, func(x, y model.Pending) bool { return key(x.Entry) == key(y.Entry) })
}

// lookAgain resolves the harnesses after a write.
func (s *switcher) lookAgain(w *written) {
	w.after = map[model.CellKey]*model.Cell{}
	boards := map[model.HarnessID]*loaders.Switchboard{}
	for _, c := range w.todo {
		b := boards[c.key.Harness]
		if b == nil {
			b = loaders.NewSwitchboard(s.env, c.harness)
			boards[c.key.Harness] = b
			w.columns = append(w.columns, b.Column())
		}
		w.after[c.key] = b.Cell(c.key.Name)
	}
}

// stepWords says what a step did, for the list of what can be taken back.
func stepWords(todo []chosen) string {
	if len(todo) == 0 {
		return ""
	}
	word := map[loaders.Wish]string{loaders.WishOff: "off", loaders.WishOn: "on", loaders.WishApprove: "approved", loaders.WishRevoke: "approval taken back"}[todo[0].wish]
	names, harnesses := map[string]bool{}, map[model.HarnessID]bool{}
	for _, c := range todo {
		names[c.key.Name], harnesses[c.key.Harness] = true, true
	}
	what, where := tableName(todo[0].key.Name), todo[0].harness.Title
	if len(names) > 1 {
		what = fmt.Sprintf("%d servers", len(names))
	}
	if len(harnesses) > 1 {
		where = fmt.Sprintf("%d harnesses", len(harnesses))
	}
	return fmt.Sprintf("%s %s in %s", what, word, where)
}

// outcomeWords says what a cell is after its wish was done.
func (c *chosen) outcomeWords(after *model.Cell) string {
	name, where := tableName(c.key.Name), c.harness.Title
	switch {
	case c.wish == loaders.WishOff:
		return fmt.Sprintf("%s is off in %s", name, where)
	case c.wish == loaders.WishOn:
		return fmt.Sprintf("%s is on in %s", name, where)
	case c.wish == loaders.WishApprove:
		return fmt.Sprintf("%s is approved in %s", name, where)
	case after != nil && after.Reason.Code == model.ReasonRejected:
		return fmt.Sprintf("%s is rejected in %s", name, where)
	}
	return fmt.Sprintf("%s waits for approval in %s", name, where)
}

// missing says what the server still lacks, "" when it is as was wished.
func (c *chosen) missing(after *model.Cell) string {
	if after == nil {
		return c.harness.Title + " does not know it any more"
	}
	asWished := map[loaders.Wish]bool{
		loaders.WishOff:     after.Decision == model.DecisionOff,
		loaders.WishOn:      after.Decision == model.DecisionLoads,
		loaders.WishApprove: after.Decision == model.DecisionLoads,
		loaders.WishRevoke:  true,
	}[c.wish]
	switch {
	case asWished:
		return ""
	case c.option.Missing != "":
		return c.option.Missing
	}
	return after.Reason.Text
}

func (w *written) report(s *switcher) ui.SwitchReport {
	var out ui.SwitchReport
	mask := s.mask(w.columns)
	text := func(t string) string { return mask(model.Clean(t)) }
	if w.err != nil {
		out.Failed = append(out.Failed, text("not written: "+s.short(w.err.Error())))
		out.Conflict = true // a moment ago it could be planned
		return out
	}
	lines := map[string]string{} // by path, what was written
	for _, r := range w.applied.Written {
		d := loaders.ResultDiff(r, formatOf(r.Path))
		lines[r.Path] = fmt.Sprintf("wrote %s, %s", s.short(r.Path), d.CountLines())
		for _, note := range r.Notes {
			out.Missing = append(out.Missing, text(s.short(note)))
		}
		for _, kept := range r.Kept {
			out.Missing = append(out.Missing, text("what another program wrote in between is kept in "+s.short(kept)))
		}
	}
	for _, c := range w.todo {
		var where []string
		all := true
		for _, path := range c.option.Plan().Paths() {
			if l, ok := lines[path]; ok {
				where = append(where, l)
			} else {
				all = false
			}
		}
		if w.applied.Err != nil && !all {
			continue
		}
		after := w.after[c.key]
		out.Done = append(out.Done, ui.SwitchDone{What: text(c.outcomeWords(after)), Where: text(strings.Join(where, "; "))})
		out.Changed = append(out.Changed, c.key)
		if m := c.missing(after); m != "" {
			if len(w.todo) > 1 {
				m = fmt.Sprintf("%s in %s: %s", tableName(c.key.Name), c.harness.Title, m)
			}
			out.Missing = append(out.Missing, text(m))
		}
	}
	if w.applied.Err != nil {
		out.Failed = append(out.Failed, text("not written: "+s.short(w.applied.Err.Error())))
		out.Conflict = w.applied.Conflict()
	}
	if w.applied.NoUndo != nil {
		out.Failed = append(out.Failed, text("written, but it cannot be taken back: "+s.short(w.applied.NoUndo.Error())))
	}
	return out
}

// short names files of the folder from there, and writes ~ for the home folder.
func (s *switcher) short(text string) string {
	const separator = string(filepath.Separator)
	if s.env.Project != s.env.Home && filepath.Dir(s.env.Project) != s.env.Project {
		text = strings.ReplaceAll(text, s.env.Project+separator, "")
	}
	if s.env.Home == "" || filepath.Dir(s.env.Home) == s.env.Home {
		return text
	}
	return strings.ReplaceAll(text, s.env.Home+separator, "~"+separator)
}

// formatOf guesses how a file is written, for showing what changed in it.
func formatOf(path string) loaders.Format {
	switch filepath.Ext(path) {
	case ".toml":
		return loaders.Format{TOML: true}
	case ".yaml", ".yml":
		return loaders.Format{YAML: true}
	}
	return loaders.Format{JSON: jsonc.Options{Comments: true, TrailingCommas: true, BOM: true, ReplaceInvalidUTF8: true}}
}

// peeked is the newest step, and what taking it back would change.
type peeked struct {
	step  *state.Step
	diffs []loaders.FileDiff
	err   error
}

func (s *switcher) peek() peeked {
	step, err := s.undo.Last()
	if err != nil || step == nil {
		return peeked{err: err}
	}
	p := peeked{step: step}
	for _, f := range step.Files {
		now, err := rewrite.Read(f.Path)
		if err != nil {
			p.err = errors.Join(p.err, err)
			continue
		}
		var before []byte
		if f.Saved != "" {
			saved, err := rewrite.Read(f.Saved)
			if err != nil {
				p.err = errors.Join(p.err, err)
				continue
			}
			before = saved.Data
		}
		if now.Exists && now.Sum() != f.After && now.Sum() != f.Before {
			p.err = errors.Join(p.err, &state.ConflictError{Conflicts: []state.Conflict{{Path: f.Path, Saved: f.Saved, Reason: "it was changed since by another program or by hand"}}})
		}
		if d := loaders.Diff(f.Path, now.Data, before, formatOf(f.Path)); len(d.Lines) > 0 {
			p.diffs = append(p.diffs, d)
		}
	}
	return p
}

// PeekUndo says what Undo would take back.
func (s *switcher) PeekUndo() (what string, files []ui.FileDiff, err error) {
	p := s.peek()
	if p.step == nil {
		return "", nil, p.err
	}
	for _, d := range p.diffs {
		files = append(files, screenDiff(d, func(t string) string { return t }))
	}
	if p.err != nil {
		p.err = errors.New(s.short(p.err.Error()))
	}
	return model.Clean(p.step.What), files, p.err
}

// Undo takes the newest step back.
func (s *switcher) Undo() ui.SwitchReport {
	_, report := s.takeBack()
	return report
}

func (s *switcher) takeBack() (*state.Step, ui.SwitchReport) {
	var out ui.SwitchReport
	step, err := s.undo.Last()
	if err != nil {
		out.Failed = []string{model.Clean(s.short(err.Error()))}
		return nil, out
	}
	if step == nil {
		out.Failed = []string{"there is nothing to take back"}
		return nil, out
	}
	reverted, err := s.undo.Revert(step)
	if err != nil {
		out.Conflict = errors.Is(err, state.ErrConflict)
		out.Failed = append(out.Failed, model.Clean(s.short(err.Error())))
		s.log.printf("undo: %v", err)
	}
	var where []string
	for _, r := range reverted {
		switch {
		case r.Already:
			where = append(where, s.short(r.Path)+" was as before already")
		case r.Removed:
			where = append(where, "removed "+s.short(r.Path))
		default:
			where = append(where, "restored "+s.short(r.Path))
		}
		for _, note := range r.Notes {
			out.Missing = append(out.Missing, model.Clean(s.short(note)))
		}
		s.log.printf("took back %s", r.Path)
	}
	if len(reverted) > 0 {
		out.Done = []ui.SwitchDone{{What: "taken back: " + model.Clean(step.What), Where: model.Clean(strings.Join(where, "; "))}}
	}
	return step, out
}
