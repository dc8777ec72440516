package loaders

import (
	"slices"

	"fusebox/loaders/jsonc"
)

// Checks of single values, for harnesses that validate their files against a schema.

// valueCheck is one key of an object and what its value must be.
type valueCheck struct {
	key      string
	required bool
	what     string // completes "KEY must be"
	fits     func(jsonc.Value) bool
}

// misfit names the first value of an object that does not fit; why is empty when all do.
func misfit(v jsonc.Value, checks []valueCheck) (bad jsonc.Value, why string) {
	for _, c := range checks {
		x := v.Get(c.key)
		switch {
		case !x.Exists() && c.required:
			return v, c.key + " is missing"
		case x.Exists() && !c.fits(x):
			return x, c.key + " must be " + c.what
		}
	}
	return jsonc.Value{}, ""
}

func isKind(kind jsonc.Kind) func(jsonc.Value) bool {
	return func(v jsonc.Value) bool { return v.Kind() == kind }
}

func isText(v jsonc.Value) bool { return v.Kind() == jsonc.String }

func isFlag(v jsonc.Value) bool { return v.Kind() == jsonc.Bool }

func isTextList(v jsonc.Value) bool {
	_, ok := v.Strings()
	return v.Kind() == jsonc.Array && ok
}

func isTextMap(v jsonc.Value) bool {
	_, ok := stringMap(v)
	return ok
}

func isWord(words ...string) func(jsonc.Value) bool {
	return func(v jsonc.Value) bool {
		s, ok := v.Str()
		return ok && slices.Contains(words, s)
	}
}
