package loaders

import (
	"fmt"

	"fusebox/loaders/jsonc"
	"fusebox/model"
)

// cursorStateFormat is how the lists in the project's state folder are edited: strict JSON.
var cursorStateFormat = Format{JSON: jsonc.Options{ReplaceInvalidUTF8: true}}

// stateEdit changes one of the lists of this project's state, which lies outside of the repository.
func (c *cursorResolve) stateEdit(l cursorList, steps ...Step) []Edit {
	return []Edit{{Path: l.file.Path, Format: cursorStateFormat, Steps: steps, NewMode: 0o600}}
}

// toggleCursorCLI puts the name into mcp-disabled.json of this project, or takes it out. It holds for the name, whichever
// file declares it.
func toggleCursorCLI(env *Env, r *Reader, cell *model.Cell, on bool) []Option {
	c := cursorCLIOf(env, r)
	step := Step{Kind: StepAppend, Value: cell.Name}
	if on {
		step.Kind = StepRemove
	}
	return []Option{{Reach: ReachHere, Label: labelHere, Edits: c.stateEdit(c.disabled, step)}}
}

// approveCursorCLI puts NAME-FINGERPRINT of the project's entry into mcp-approvals.json, as cursor-agent mcp enable does, or
// takes it out.
func approveCursorCLI(env *Env, r *Reader, cell *model.Cell, revoke bool) []Option {
	c := cursorCLIOf(env, r)
	if c.project == nil {
		return nil
	}
	for i := range c.project.servers {
		s := &c.project.servers[i]
		if s.Name != cell.Name || s.fault != nil {
			continue
		}
		o := Option{Reach: ReachHere, Label: labelHere}
		if revoke {
			o.Edits = c.stateEdit(c.approvals, Step{Kind: StepRemove, Value: c.approvalKey(s)})
			return []Option{o}
		}
		if names := c.unsettled(s); len(names) > 0 {
			o.Unavailable = fmt.Sprintf("the approval is made of the filled in entry, and %s is not set here", quoted(names[0]))
		}
		o.Edits = c.stateEdit(c.approvals, Step{Kind: StepAppend, Value: c.approvalKey(s)})
		o.LetsIn = "nothing else: a later change of the entry, or of a variable in it, waits again"
		return []Option{o}
	}
	return nil
}
