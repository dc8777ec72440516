package tomledit

import (
	"fmt"
	"slices"
	"strconv"
)

// AppendTable adds a table, given as one inline table, at the end of the array of tables at path, below a [[header]] of its
// own. A missing array and missing parents are created. An array that is written as a value, or would lie in an inline
// table, gets the table as a value. It does nothing when an equal table is there already.
func AppendTable(src []byte, path []string, rawTable string) ([]byte, error) {
	raw, err := parseNew(rawTable)
	if err != nil {
		return nil, err
	}
	if raw.value.kind != inlineTable || len(path) == 0 {
		return nil, fmt.Errorf("the new value is no table")
	}
	d, err := Parse(src)
	if err != nil {
		return nil, err
	}
	node, depth := d.locate(path)
	if depth == len(path) {
		have, isArray := elementsOf(get(d.tree, path))
		switch {
		case !isArray:
			return nil, fmt.Errorf("%s is not an array", name(path))
		case slices.ContainsFunc(have, func(x any) bool { return equalTrees(x, raw.tree) }):
			return src, nil
		case node.value != nil:
			return Append(src, path, rawTable)
		}
	} else if err := extendable(node, path[:depth]); err != nil {
		return nil, err
	}
	for i := 1; i <= depth; i++ {
		if outer, _ := d.locate(path[:i]); outer.value != nil {
			return Append(src, path, rawTable)
		}
	}
	e := &editor{Document: d, eol: firstEOL(d.text)}
	if start := e.textStart(); isBlank(d.text[start:]) {
		d.text = d.text[:start]
	}
	raw.fitLineEnds(e.eol)
	var lines []string
	for _, m := range raw.value.members {
		key := raw.text[m.key[0].start:m.key[len(m.key)-1].end]
		lines = append(lines, key+" = "+raw.text[m.value.start:m.value.end])
	}
	text := e.addHeaded(e.placed(), path[:depth], "[["+e.headerText(path)+"]]", lines)
	want, ok := changed(d.tree, path, func(old any, _ bool) (any, bool) {
		elements, _ := elementsOf(old)
		return append(slices.Clip(elements), raw.tree), true
	})
	if !ok {
		return nil, errNotExact
	}
	return checked(text, want)
}

// RemoveTable takes all tables that equal rawTable, which is one inline table, out of the array at path. An array that is
// written as a value stays when it becomes empty; one with [[headers]] goes with its last table, and so do parents that
// exist only because of it. It does nothing when there is no such table or no such array. Comments are treated as Delete
// does.
func RemoveTable(src []byte, path []string, rawTable string) ([]byte, error) {
	raw, err := parseNew(rawTable)
	if err != nil {
		return nil, err
	}
	original, err := Parse(src)
	if err != nil {
		return nil, err
	}
	d := original
	asValue := false
	for removed := 0; ; removed++ {
		node, depth := d.locate(path)
		elements, isArray := elementsOf(get(d.tree, path))
		if depth < len(path) || !isArray {
			if removed == 0 {
				return src, nil
			}
			break
		}
		asValue = node.value != nil
		at := slices.IndexFunc(elements, func(x any) bool { return equalTrees(x, raw.tree) })
		if at < 0 {
			if removed == 0 {
				return src, nil
			}
			break
		}
		if removed == maxRemovals {
			return nil, fmt.Errorf("there are more than %d of them", maxRemovals)
		}
		e := &editor{Document: d, eol: firstEOL(d.text)}
		text := ""
		if asValue {
			text = e.remove(listOf(node.value), at)
		} else {
			text = e.delete(append(slices.Clip(path), strconv.Itoa(at)))
		}
		if d, err = Parse([]byte(text)); err != nil {
			return nil, fmt.Errorf("the edit would break the file: %w", err)
		}
	}
	want, ok := changed(original.tree, path, func(old any, _ bool) (any, bool) {
		elements, _ := elementsOf(old)
		kept := slices.DeleteFunc(slices.Clone(elements), func(x any) bool { return equalTrees(x, raw.tree) })
		return kept, asValue || len(kept) > 0
	})
	for depth := len(path); ok && depth > 0; depth-- {
		if equalTrees(want, d.tree) {
			return []byte(d.text), nil
		}
		parent, isTable := get(want, path[:depth-1]).(map[string]any)
		if depth == 1 || !isTable || len(parent) > 0 {
			break // only a parent that became empty may be gone
		}
		want, ok = changed(want, path[:depth-1], func(any, bool) (any, bool) { return nil, false })
	}
	return nil, errNotExact
}
