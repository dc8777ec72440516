package ui

import (
	"fmt"
	"strings"
	"time"

	"fusebox/model"
)

// outputView is the state of the output view.
type outputView struct {
	offset  int
	follows bool // stays at the end while lines come in
}

// outputLines are stderr, the exchange and a summary, as lines of the view.
func (m *Model) outputLines(width int) [][]run {
	cell := m.cell()
	if cell == nil {
		return [][]run{{{"nothing was launched here", roleDim}}}
	}
	var out [][]run
	if cell.Definition != nil {
		out = append(out, []run{{m.text(cell.Definition.Display()), roleTitle}})
		if names := cell.Definition.EnvNames(); len(names) > 0 {
			out = append(out, wrap(secretRuns(m, "env  ", names), width)...)
		}
		out = append(out, nil)
	}
	if cell.Launch != nil {
		out = append(out, []run{{"so far", roleTitle}})
		for _, p := range cell.Launch.Progress {
			out = append(out, []run{{"│ ", roleDim}, {m.text(p), roleText}})
		}
		return out
	}
	o := cell.Observation
	if o == nil {
		return append(out, []run{{"it was not launched yet: x does it", roleDim}})
	}
	if t := o.Output; t != nil {
		head := fmt.Sprintf("   last %d of %s", len(t.Stderr), count(len(t.Stderr)+t.Dropped, "line"))
		if len(t.Stderr) == 0 {
			head = "   nothing"
		}
		out = append(out, []run{{"stderr", roleTitle}, {head, roleDim}})
		for _, l := range t.Stderr {
			for _, b := range chop([]run{{m.text(l), roleText}}, max(10, width-2)) {
				out = append(out, append([]run{{"│ ", roleDim}}, b...))
			}
		}
		out = append(out, nil, []run{{"protocol", roleTitle}, {fmt.Sprintf("   %s, %s of noise on stdout skipped", count(len(t.Exchange)-noiseLines(t), "message"), count(o.Noise, "line")), roleDim}})
		for _, x := range t.Exchange {
			out = append(out, m.exchangeLine(x))
		}
		out = append(out, nil)
	}
	out = append(out, []run{{"in short", roleTitle}})
	short := m.text(o.Reason.Text)
	if short == "" {
		short = cell.StateWords(m.o.Now())
	}
	out = append(out, wrap([]run{{short, roleText}}, min(width, 110))...)
	for _, n := range o.Notes {
		out = append(out, wrap([]run{{"▴ ", roleWarn}, {m.text(n), roleText}}, min(width, 110))...)
	}
	if len(o.Unset) > 0 {
		out = append(out, []run{{"not set here: ", roleDim}, {m.text(strings.Join(o.Unset, ", ")), roleWarn}})
	}
	var titles []string
	for _, id := range o.For {
		if col := m.snap.Column(id); col != nil {
			titles = append(titles, col.Title)
		}
	}
	if len(titles) > 1 {
		out = append(out, []run{{"one launch answers for " + strings.Join(titles, ", "), roleDim}})
	}
	return append(out, []run{{"The entry is ", roleDim}, {m.path(cell.Source.Path) + lineSuffix(cell.Source.Line), roleText}})
}

func noiseLines(t *model.Transcript) int {
	n := 0
	for _, x := range t.Exchange {
		if x.Method == "noise" {
			n++
		}
	}
	return n
}

func (m *Model) exchangeLine(x model.Exchange) []run {
	sign := "  "
	switch {
	case x.Sent:
		sign = "> "
	case x.Method != "noise":
		sign = "< "
	}
	r := roleText
	switch {
	case x.Method == "noise":
		r = roleWarn
	case strings.HasPrefix(x.Method, "end"):
		r = roleBad
	}
	return []run{{"│ ", roleDim}, {fmt.Sprintf("+%.3f  ", x.At.Seconds()), roleDim}, {sign, roleAccent}, {padRight(fit(m.text(x.Method), 19), 19) + " ", r}, {m.text(x.Text), roleDim}}
}

func (m *Model) drawOutput(c *canvas) {
	crumb := "output"
	if line, col := m.line(), m.column(); line != nil && col != nil {
		crumb = m.name(line.Server.Name) + " in " + col.Title + " › output"
	}
	m.drawHeader(c, crumb, m.outputRight())
	top := 1
	if m.h >= topLineFrom {
		top = 2
	}
	lines := m.outputLines(m.w - 4)
	room := m.h - top - 2
	over := max(0, len(lines)-room)
	if m.output.follows || m.output.offset > over {
		m.output.offset = over
	}
	for i := 0; i < room && m.output.offset+i < len(lines); i++ {
		c.runs(2, top+i, lines[m.output.offset+i], m.w-4)
	}
	if over > 0 {
		drawRule(c, m.w-1, top, top+room, top, len(lines), m.output.offset, room)
	}
	right := ""
	if m.output.follows {
		right = "follows"
	}
	label := "launch again"
	if m.running() {
		label = "stop it"
	}
	m.drawFooter(c, m.viewHints(hintSpec{actionLaunch, label}, hintSpec{actionEdit, "edit entry"}, hintSpec{actionLast, "end"}, hintSpec{actionCopy, "copy name"}, hintSpec{actionBack, "back"}), right)
}

// outputRight says how the launch ended, and when.
func (m *Model) outputRight() []run {
	cell := m.cell()
	if cell == nil || cell.Launch == nil && cell.Observation == nil {
		return []run{{"not launched", roleDim}}
	}
	if cell.Launch != nil {
		return []run{{cell.StateWords(m.o.Now()), roleAccent}}
	}
	o := cell.Observation
	ago := m.o.Now().Sub(o.At.Add(o.Took)).Truncate(time.Second)
	when := "just now"
	switch {
	case ago >= time.Hour:
		when = fmt.Sprintf("%d h ago", ago/time.Hour)
	case ago >= time.Minute:
		when = fmt.Sprintf("%d min ago", ago/time.Minute)
	}
	word := o.Word
	if word == "" {
		word = map[model.Outcome]string{model.OutcomeOK: "ok", model.OutcomeUnauthenticated: "needs a sign-in", model.OutcomeError: "error"}[o.Outcome]
	}
	sign := run{"●", roleOK}
	switch o.Outcome {
	case model.OutcomeUnauthenticated:
		sign = run{"!", roleWarn}
	case model.OutcomeError:
		sign = run{"✗", roleBad}
	}
	return []run{sign, {" " + word, roleText}, {fmt.Sprintf(" after %.1f s, %s", o.Took.Seconds(), when), roleDim}}
}

func (m *Model) moveOutput(a action, step int) {
	m.output.follows = a == actionLast
	m.nextHarness(a)
	m.output.offset = moved(a, m.output.offset, step, farDown)
	m.output.offset = max(0, m.output.offset)
}
