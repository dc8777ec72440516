package loaders

import (
	"slices"
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

// entriesSwitch is entrySwitch where an entry that is off lets the one that it beats in: that one is switched off as well.
func entriesSwitch(format Format, flag string, off bool, keys ...string) func(*Env, *Reader, *model.Cell, bool) []Option {
	one := entrySwitch(format, flag, off, keys...)
	return func(env *Env, r *Reader, cell *model.Cell, on bool) []Option {
		out := one(env, r, cell, on)
		if on || len(cell.Replaces) == 0 {
			return out
		}
		all := out[0]
		all.Reach, all.Label, all.Edits = ReachEverywhere, labelEverywhere, slices.Clone(all.Edits)
		for _, below := range cell.Replaces {
			edit := all.Edits[0]
			edit.Path = below.Source.Path
			all.Edits = append(all.Edits, edit)
		}
		return append(out, all)
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
