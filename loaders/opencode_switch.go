package loaders

import (
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"fusebox/loaders/jsonc"
	"fusebox/model"
)

// openCodeFormat is how its files are edited. What it fills in (variables, files) stands in the text as it is.
var openCodeFormat = Format{JSON: openCodeJSON}

// toggleOpenCode sets enabled in the highest file that has the name. In other files an entry that holds nothing but enabled is
// legal and enough: in the project's for this folder, in the user's for every folder.
func toggleOpenCode(env *Env, r *Reader, cell *model.Cell, on bool) []Option {
	o := openCodeOf(env, r)
	at := slices.IndexFunc(o.servers, func(s openCodeServer) bool { return s.name == cell.Name })
	if at < 0 {
		return nil
	}
	s := &o.servers[at]
	var out []Option
	decides := s.merge().enabledBy
	for i, e := range slices.Backward(s.entry) {
		highest := len(out) == 0
		if e.skipped == "" && (highest || on && i == decides) {
			out = append(out, o.switchIn(s, i, on))
		}
	}
	if len(out) == 0 {
		return nil
	}
	have := func(scope ...model.Scope) bool {
		return slices.ContainsFunc(s.layers, func(l int) bool { return slices.Contains(scope, o.layers[l].scope) })
	}
	if !have(model.ScopeProject) {
		if path := o.projectFile(); path != "" {
			p := Option{Edits: []Edit{o.partial(path, cell.Name, on)}, Shared: true}
			p.Reach, p.Label = projectReach(o.inRepository(), false)
			out = append(out, p)
		}
	}
	if !have(model.ScopeUser) {
		for _, path := range o.userFiles() {
			p := Option{Reach: ReachEverywhere, Label: labelEverywhere, Edits: []Edit{o.partial(path, cell.Name, on)}}
			if on {
				p.Warning = "a server of this name in a repository is then on as well, unless a file above says otherwise"
			}
			out = append(out, p)
		}
	}
	return hereFirst(out)
}

// inRepository tells whether the folder's files are shared with those who use its repository.
func (o *openCodeResolve) inRepository() bool { return gitRoot(o.r, o.start) != "" }

// switchIn sets the switch where an entry has it: enabled, or disabled in the newer shape.
func (o *openCodeResolve) switchIn(s *openCodeServer, i int, on bool) Option {
	layer, e := &o.layers[s.layers[i]], s.entry[i]
	option := Option{Reach: ReachEverywhere, Label: labelEverywhere}
	if layer.scope == model.ScopeProject {
		option.Reach, option.Label = projectReach(o.inRepository(), e.typ != "")
		option.Shared = true
	}
	if strings.HasPrefix(layer.file.Path, "$") {
		option.Unavailable = layer.file.Path + " decides, and no file beats it"
		return option
	}
	root := jsonc.Value{}
	if layer.file.Status == model.FileRead {
		if doc, err := jsonc.Parse(layer.file.Data, openCodeJSON); err == nil {
			root = doc.Root()
		}
	}
	path := []string{"mcp", s.name}
	nested := !root.Lookup(path...).Exists()
	if nested {
		path = []string{"mcp", "servers", s.name}
	}
	v := root.Lookup(path...)
	_, has := v.Get("enabled").Bool()
	step := Step{StepSet, append(path, "enabled"), strconv.FormatBool(on)}
	switch {
	case has && on && v.Len() == 1 && o.onWithout(s, i):
		step = Step{Kind: StepDelete, Path: path} // it holds nothing but the switch
	case !has && (nested || v.Get("disabled").Exists()):
		step = Step{StepSet, append(path, "disabled"), strconv.FormatBool(!on)}
	}
	option.Edits = []Edit{{Path: layer.file.Path, Format: openCodeFormat, Steps: []Step{step}}}
	return option
}

// onWithout tells whether the other entries declare the server and leave it on.
func (o *openCodeResolve) onWithout(s *openCodeServer, i int) bool {
	others := openCodeServer{name: s.name, layers: slices.Concat(s.layers[:i], s.layers[i+1:]), entry: slices.Concat(s.entry[:i], s.entry[i+1:])}
	m := others.merge()
	return m.typBy >= 0 && (m.enabled == nil || *m.enabled)
}

func (o *openCodeResolve) partial(path, name string, on bool) Edit {
	e := Edit{Path: path, Format: openCodeFormat, Steps: []Step{{StepSet, []string{"mcp", name, "enabled"}, strconv.FormatBool(on)}}}
	if Within(path, o.tree) {
		e.NewMode = 0o644
	}
	return e
}

// projectFile is the project's highest file that is there, else opencode.json of the folder; "" where project files do not
// count.
func (o *openCodeResolve) projectFile() string {
	off := strings.ToLower(o.env.Var("OPENCODE_DISABLE_PROJECT_CONFIG"))
	if off == "true" || off == "1" {
		return ""
	}
	for _, l := range slices.Backward(o.layers) {
		if l.scope == model.ScopeProject && l.file.Status == model.FileRead && Within(l.file.Path, o.tree) {
			return l.file.Path
		}
	}
	return filepath.Join(o.start, "opencode.json")
}

// userFiles are the user's files that may take a switch: the global one, and that of ~/.opencode, which beats the project's,
// where that folder is in use.
func (o *openCodeResolve) userFiles() []string {
	global := filepath.Join(o.globalDir(), "opencode.json")
	for _, name := range []string{"opencode.jsonc", "opencode.json", "config.json"} {
		if path := filepath.Join(o.globalDir(), name); o.r.Exists(path) {
			global = path
			break
		}
	}
	out := []string{global}
	dot := o.env.InHome(".opencode")
	if !o.r.IsDir(dot) {
		return out
	}
	path := filepath.Join(dot, "opencode.json")
	if jsonc := filepath.Join(dot, "opencode.jsonc"); o.r.Exists(jsonc) {
		path = jsonc
	}
	return append(out, path)
}
