package loaders

import (
	"strconv"

	"fusebox/loaders/jsonc"
	"fusebox/model"
)

// strictJSON is a file that is edited as JSON without anything more.
var strictJSON = Format{JSON: jsonc.Options{ReplaceInvalidUTF8: true}}

// entrySwitch makes the Toggle of a harness whose switch is a flag in the entry itself, below the key path keys. off is the
// value of the flag that switches the server off.
func entrySwitch(format Format, flag string, off bool, keys ...string) func(*Env, *Reader, *model.Cell, bool) []Option {
	return func(env *Env, r *Reader, cell *model.Cell, on bool) []Option {
		path := append(append([]string{}, keys...), cell.Name, flag)
		return []Option{entryOption(env, r, cell, Edit{Path: cell.Source.Path, Format: format,
			Steps: []Step{{StepSet, path, strconv.FormatBool(off != on)}}})}
	}
}

// entryOption is an option that changes the entry where it stands.
func entryOption(env *Env, r *Reader, cell *model.Cell, edit Edit) Option {
	o := Option{Reach: ReachEverywhere, Label: labelEverywhere, Edits: []Edit{edit}}
	if cell.Scope == model.ScopeProject {
		o.Reach, o.Label = projectReach(gitRoot(r, r.RealPath(env.Project)) != "", true)
		o.Shared = true
	}
	return o
}
