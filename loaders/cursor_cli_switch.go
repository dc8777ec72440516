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

// projectServer finds a usable entry of the project's file.
func (c *cursorResolve) projectServer(name string) *cursorServer {
	if c.project == nil {
		return nil
	}
	for i := range c.project.servers {
		if s := &c.project.servers[i]; s.Name == name && s.fault == nil {
			return s
		}
	}
	return nil
}

// approvalRefused says why an entry cannot be approved from here; "" when it can.
func (c *cursorResolve) approvalRefused(name string) string {
	s := c.projectServer(name)
	if s == nil {
		return "the project declares no such server"
	}
	unset := c.unset(s)
	if i := unsettledVariable(unset); i >= 0 {
		return fmt.Sprintf("an approval is made of the filled in entry, and %s is not set here: set it as it is for Cursor", quoted(unset[i]))
	}
	return ""
}

// approveCursorCLI puts NAME-FINGERPRINT of the project's entry into mcp-approvals.json, as cursor-agent mcp enable does, or
// takes it out.
func approveCursorCLI(env *Env, r *Reader, cell *model.Cell, revoke bool) []Option {
	c := cursorCLIOf(env, r)
	s := c.projectServer(cell.Name)
	if s == nil {
		return nil
	}
	step := Step{Kind: StepAppend, Value: c.approvalKey(s)}
	if revoke {
		step.Kind = StepRemove
		return []Option{{Reach: ReachHere, Label: labelHere, Edits: c.stateEdit(c.approvals, step)}}
	}
	return []Option{{Reach: ReachHere, Label: labelHere, Edits: c.stateEdit(c.approvals, step), Unavailable: c.approvalRefused(cell.Name),
		LetsIn: "nothing else: a later change of the entry, or of a variable in it, waits again"}}
}
