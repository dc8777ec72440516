package loaders

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

	"fusebox/loaders/jsonc"
	"fusebox/loaders/rewrite"
	"fusebox/loaders/state"
	"fusebox/loaders/tomledit"
)

// Plan is what some edits make of the files that they are about. Nothing is written before Apply.
type Plan struct {
	files []*plannedFile // those that change, in the order of their first edit
}

// plannedFile is one file of a plan.
type plannedFile struct {
	edits  []Edit // all of this file
	before *rewrite.File
	after  []byte
}

// MakePlan reads each file and applies the steps to its bytes. Edits of one file, under whatever name, become one write.
// Files that do not change are left out.
func MakePlan(edits []Edit) (*Plan, error) {
	p := &Plan{}
	byReal := map[string]*plannedFile{}
	for _, e := range edits {
		before, err := rewrite.Read(e.Path)
		if err != nil {
			return nil, err
		}
		f := byReal[before.Real]
		if f == nil {
			f = &plannedFile{before: before, after: before.Data}
			byReal[before.Real] = f
			p.files = append(p.files, f)
		}
		f.edits = append(f.edits, e)
	}
	for _, f := range p.files {
		var err error
		if f.after, err = f.apply(f.before); err != nil {
			return nil, err
		}
	}
	p.files = slices.DeleteFunc(p.files, func(f *plannedFile) bool { return bytes.Equal(f.before.Data, f.after) })
	for _, f := range p.files {
		if err := rewrite.Obstacle(f.before); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// Empty tells whether nothing would be written.
func (p *Plan) Empty() bool { return p == nil || len(p.files) == 0 }

// Paths returns the files that change, as they are named; none for a nil plan, of what is so already.
func (p *Plan) Paths() []string {
	var out []string
	if p == nil {
		return nil
	}
	for _, f := range p.files {
		out = append(out, f.before.Path)
	}
	return out
}

// planned returns the bytes that the plan gives each file, by real path.
func (p *Plan) planned() map[string][]byte {
	out := make(map[string][]byte, len(p.files))
	for _, f := range p.files {
		out[f.before.Real] = f.after
	}
	return out
}

// apply applies all edits of the file to what was read.
func (f *plannedFile) apply(now *rewrite.File) ([]byte, error) {
	data := now.Data
	for _, e := range f.edits {
		if !now.Exists && len(data) == 0 && e.Initial != "" {
			// Only a change makes the file.
			changed, err := applySteps([]byte(e.Initial), e)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", now.Path, err)
			}
			if string(changed) != e.Initial {
				data = changed
			}
			continue
		}
		var err error
		if data, err = applySteps(data, e); err != nil {
			return nil, editError(now.Path, err)
		}
	}
	return data, nil
}

// editError says that a file is not written, with the place where it does not parse.
func editError(path string, err error) error {
	var j *jsonc.SyntaxError
	var t *tomledit.SyntaxError
	switch {
	case errors.As(err, &j):
		return fmt.Errorf("%s:%d:%d does not parse, so it is not written: %s", path, j.Line, j.Column, j.Message)
	case errors.As(err, &t):
		return fmt.Errorf("%s:%d:%d does not parse, so it is not written: %s", path, t.Line, t.Column, t.Message)
	}
	return fmt.Errorf("%s cannot be changed that way: %w", path, err)
}

func applySteps(data []byte, e Edit) ([]byte, error) {
	for _, s := range e.Steps {
		var err error
		switch {
		case e.Format.TOML:
			data, err = tomlStep(data, s)
		case e.Format.YAML:
			data, err = yamlStep(data, s)
		default:
			data, err = jsonStep(data, e.Format.JSON, s)
		}
		if err != nil {
			return nil, err
		}
	}
	return data, nil
}

func tomlStep(data []byte, s Step) ([]byte, error) {
	switch s.Kind {
	case StepSet:
		return tomledit.Set(data, s.Path, s.Value)
	case StepDelete:
		return tomledit.Delete(data, s.Path)
	case StepRemove:
		return tomledit.Remove(data, s.Path, s.Value)
	case StepAddTable:
		return tomledit.AppendTable(data, s.Path, s.Value)
	case StepRemoveTable:
		return tomledit.RemoveTable(data, s.Path, s.Value)
	}
	doc, err := tomledit.Parse(data)
	if err != nil {
		return nil, err
	}
	have, found := tomlAt(doc.Tree(), s.Path...)
	if s.Kind == StepPrune {
		list, isList := have.([]any)
		table, isTable := have.(map[string]any)
		if isList && len(list) == 0 || isTable && len(table) == 0 {
			return tomledit.Delete(data, s.Path)
		}
		return data, nil
	}
	if text, ok := have.(string); found && ok {
		if text == s.Value {
			return data, nil
		}
		return tomledit.Set(data, s.Path, "["+tomledit.Quote(text)+", "+tomledit.Quote(s.Value)+"]")
	}
	for _, item := range codexList(have) {
		if item == s.Value {
			return data, nil
		}
	}
	return tomledit.Append(data, s.Path, tomledit.Quote(s.Value))
}

func yamlStep(data []byte, s Step) ([]byte, error) {
	if s.Kind != StepSet || s.Value != "true" && s.Value != "false" {
		return nil, errors.New("only a switch can be set in a YAML file")
	}
	return setYAMLFlag(data, s.Path, s.Value == "true")
}

func jsonStep(data []byte, o jsonc.Options, s Step) ([]byte, error) {
	switch s.Kind {
	case StepSet:
		return jsonc.Set(data, o, s.Path, s.Value)
	case StepDelete:
		return jsonc.Delete(data, o, s.Path)
	case StepAddTable, StepRemoveTable:
		return nil, errors.New("a JSON file has no arrays of tables")
	}
	o.Lenient = false
	var have jsonc.Value
	if len(bytes.TrimSpace(data)) > 0 {
		doc, err := jsonc.Parse(data, o)
		if err != nil {
			return nil, err
		}
		have = doc.Root().Lookup(s.Path...)
	}
	if s.Kind == StepPrune {
		if (have.Kind() == jsonc.Array || have.Kind() == jsonc.Object) && have.Len() == 0 {
			return jsonc.Delete(data, o, s.Path)
		}
		return data, nil
	}
	text, isText := have.Str()
	if s.Kind == StepRemove {
		switch {
		case isText && text == s.Value: // a list of one that is written without brackets
			return jsonc.Delete(data, o, s.Path)
		case isText:
			return data, nil
		}
		return jsonc.Remove(data, o, s.Path, s.Value)
	}
	switch {
	case isText && text == s.Value:
		return data, nil
	case isText:
		return jsonc.Set(data, o, s.Path, "["+jsonc.Quote(text)+", "+jsonc.Quote(s.Value)+"]")
	case have.Kind() == jsonc.Null:
		return jsonc.Set(data, o, s.Path, "["+jsonc.Quote(s.Value)+"]")
	}
	for _, item := range have.Elements() {
		if t, ok := item.Str(); ok && t == s.Value {
			return data, nil
		}
	}
	return jsonc.Append(data, o, s.Path, jsonc.Quote(s.Value))
}

// Applied is what became of a plan.
type Applied struct {
	Written []*rewrite.Result // in the order in which they were done
	Failed  string            // the file that could not be written, "" if all were
	Err     error             // why; the files after it were not tried
	NoUndo  error             // the step was written but cannot be taken back
}

// Conflict tells whether a file is not any more what was planned on.
func (a *Applied) Conflict() bool { return errors.Is(a.Err, rewrite.ErrChanged) }

// Apply writes the files one by one and records what was written as one step. A file that another program changed meanwhile
// is planned on once more. When a file fails, those before it stay written, are recorded and told. what says in words what is
// done.
func (p *Plan) Apply(undo *state.Undo, what string) *Applied {
	out := &Applied{}
	for _, f := range p.files {
		var lock string
		var o rewrite.Options
		for _, e := range f.edits {
			if lock == "" {
				lock = e.Lock
			}
			o.NewMode = max(o.NewMode, e.NewMode)
		}
		o.Lock = lock
		o.Replan = f.apply
		result, err := rewrite.Replace(f.before, f.after, o)
		if err != nil {
			out.Failed, out.Err = f.before.Path, err
			break
		}
		if !bytes.Equal(result.Before, result.After) {
			out.Written = append(out.Written, result)
		}
	}
	if len(out.Written) > 0 && undo != nil {
		_, out.NoUndo = undo.Record(what, out.Written)
	}
	return out
}
