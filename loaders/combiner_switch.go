package loaders

import (
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"fusebox/loaders/jsonc"
	"fusebox/model"
)

// combinerSchema is what the plugin writes first into a new file.
const combinerSchema = "{\n    \"$schema\": \"https://geohar.github.io/mcp-companion/project.schema.json\"\n}\n"

// toggleCombiner changes the list of .mcp-companion.json for this folder, as the plugin's window does, or disabled in the
// entry, for every folder. Unlike the plugin it keeps the other keys of the list's file and names that it does not know, and
// never writes over a file that does not parse.
func toggleCombiner(env *Env, r *Reader, cell *model.Cell, on bool) []Option {
	c := combinerOf(env, r)
	at := slices.IndexFunc(c.servers.entries, func(e combinerEntry) bool { return e.Name == cell.Name })
	if at < 0 {
		return nil
	}
	e := &c.servers.entries[at]
	_, hidden := c.hides(e.Name)
	switch {
	case on && hidden && e.off != nil: // both keep it off: one way that changes both
		o := c.entryOption(cell, on)
		list := c.listOption(e.Name, on)
		o.Edits = append(o.Edits, list.Edits...)
		o.Unavailable, o.Shared = list.Unavailable, true
		return []Option{o}
	case on && hidden:
		return []Option{c.listOption(e.Name, on)}
	case on:
		return []Option{c.entryOption(cell, on)}
	}
	return []Option{c.listOption(e.Name, on), c.entryOption(cell, on)}
}

// entryOption sets disabled in the entry.
func (c *combinerResolve) entryOption(cell *model.Cell, on bool) Option {
	o := Option{Reach: ReachEverywhere, Label: labelEverywhere, Edits: []Edit{{Path: c.config.Path, Format: Format{JSON: pythonJSON},
		Steps: []Step{{StepSet, []string{c.servers.key, cell.Name, "disabled"}, strconv.FormatBool(!on)}}}}}
	if c.inProject() {
		o.Reach, o.Label = projectReach(gitRoot(c.r, c.start) != "", true)
		o.Shared = true
	}
	return o
}

// listOption changes the list that the file has. A file without one gets the shorter: of those left out, or of those let in.
func (c *combinerResolve) listOption(name string, on bool) Option {
	dir := filepath.Dir(c.project.Path)
	var o Option
	o.Reach, o.Label = projectReach(gitRoot(c.r, dir) != "", false)
	if o.Reach == ReachHere && dir != c.start {
		o.Label = "everything below " + c.tilde(dir)
	}
	o.Shared = true
	o.Warning = "only sessions that the Neovim plugin starts follow it"
	switch list := c.lists.list(); {
	case name == "":
		o.Unavailable = "the lists of " + combinerFileName + " take no empty name"
	case list != nil && list.object:
		o.Unavailable = list.key + " of " + c.tilde(c.project.Path) + " is an object: make it a list first"
	}
	edit := Edit{Path: c.project.Path, Format: Format{JSON: combinerProjectJSON}, NewMode: 0o644, Initial: combinerSchema}
	switch list := c.lists.list(); {
	case list == nil:
		edit.Steps = []Step{c.newList(name)}
	case on == (list == c.lists.allow):
		edit.Steps = []Step{{StepAppend, []string{list.key}, name}}
	default:
		edit.Steps = []Step{{StepRemove, []string{list.key}, name}}
	}
	o.Edits = []Edit{edit}
	return o
}

// newList leaves one server out of a file without lists. Where both lists are of one length it is the allow list.
func (c *combinerResolve) newList(name string) Step {
	key, names := "disabled_servers", []string{name}
	if others := len(c.servers.entries) - 1; others <= 1 {
		key, names = "allowed_servers", nil
		for i := range c.servers.entries {
			if other := c.servers.entries[i].Name; other != name && other != "" {
				names = append(names, other)
			}
		}
	}
	if len(names) == 0 {
		return Step{StepSet, []string{key}, "[]"}
	}
	texts := make([]string, len(names))
	for i, n := range names {
		texts[i] = jsonc.Quote(n)
	}
	return Step{StepSet, []string{key}, "[\n    " + strings.Join(texts, ",\n    ") + "\n]"}
}
