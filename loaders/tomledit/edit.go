package tomledit

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"
)

// The edits below share these rules.
//
//   - path names keys from the root; an element of an array that is there already is named "0", "1", ...
//   - Comments, order, blank lines, indentation, line ends, a byte order mark and the spelling of all else stay.
//   - An empty, white-space-only or nil source becomes a new file.
//   - The result is decoded again. It is given only when it is the old tree plus exactly the one change.
//   - An edit that changes nothing gives the source bytes.

// maxRemovals bounds how many equal elements one edit takes out, each with a parse of its own.
const maxRemovals = 200

var errNotExact = errors.New("the edit would change more than was asked for")

// Set makes rawValue, which is one TOML value, the value at path. It goes where a user would write it: over the old
// value, into the inline table, behind the last key of the table's section, behind the last of its dotted keys, or
// under a new header; that header goes above the sub-tables of the table where there are some. A rawValue that is an
// inline table becomes a section of its own where its neighbours are sections. It is an error to replace a table that
// is no inline table, or to go through a value that is no table.
func Set(src []byte, path []string, rawValue string) ([]byte, error) {
	raw, err := parseNew(rawValue)
	if err != nil {
		return nil, err
	}
	if len(path) == 0 {
		return nil, errors.New("the root cannot be replaced")
	}
	d, err := Parse(src)
	if err != nil {
		return nil, err
	}
	node, depth := d.locate(path)
	e := &editor{Document: d, eol: firstEOL(d.text)}
	if start := e.textStart(); isBlank(d.text[start:]) {
		d.text = d.text[:start]
	}
	raw.fitLineEnds(e.eol)
	var text string
	switch {
	case depth < len(path):
		if err := extendable(node, path[:depth]); err != nil {
			return nil, err
		}
		text = e.add(node, path, depth, raw)
	case node.value == nil:
		return nil, fmt.Errorf("%s is a table with a header or dotted keys, not a value", name(path))
	case equalTrees(get(d.tree, path), raw.tree):
		return src, nil
	default:
		text = d.text[:node.value.start] + raw.text + d.text[node.value.end:]
	}
	want, ok := changed(d.tree, path, func(any, bool) (any, bool) { return raw.tree, true })
	if !ok {
		return nil, errNotExact
	}
	return checked(text, want)
}

// Append adds rawElement, which is one TOML value, at the end of the array at path. A missing array and missing parents
// are created. A value that is no array is an error, and so is an array of tables with [[headers]].
func Append(src []byte, path []string, rawElement string) ([]byte, error) {
	raw, err := parseNew(rawElement)
	if err != nil {
		return nil, err
	}
	d, err := Parse(src)
	if err != nil {
		return nil, err
	}
	node, depth := d.locate(path)
	if depth < len(path) {
		return Set(src, path, "["+raw.text+"]")
	}
	if err := isValueArray(node, path); err != nil {
		return nil, err
	}
	e := &editor{Document: d, eol: firstEOL(d.text)}
	raw.fitLineEnds(e.eol)
	text := e.insert(listOf(node.value), raw.text)
	want, ok := changed(d.tree, path, func(old any, _ bool) (any, bool) {
		elements, ok := elementsOf(old)
		return append(elements[:len(elements):len(elements)], raw.tree), ok
	})
	if !ok {
		return nil, errNotExact
	}
	return checked(text, want)
}

// Delete takes path out: a key, a member of an inline table, or a table with all its headers and keys. Parents that
// exist only because path is mentioned go with it. It does nothing when there is no such path; going through a value
// that is no table is an error, and so is deleting an element of an array.
//
// A comment behind a key on its own line goes with it, and comments between the lines of a table that goes. Comments
// above stay: they may belong to more than this one, and losing text is worse than keeping it.
func Delete(src []byte, path []string) ([]byte, error) {
	if len(path) == 0 {
		return nil, errors.New("the root cannot be deleted")
	}
	original, err := Parse(src)
	if err != nil {
		return nil, err
	}
	d := original
	for first := true; ; first = false {
		node, depth := d.locate(path)
		if depth < len(path) {
			if first {
				return src, extendable(node, path[:depth])
			}
			break
		}
		if parent, _ := d.locate(path[:len(path)-1]); parent.isArray {
			return nil, fmt.Errorf("%s is an element of an array", name(path))
		}
		e := &editor{Document: d, eol: firstEOL(d.text)}
		if d, err = Parse([]byte(e.delete(path))); err != nil {
			return nil, fmt.Errorf("the edit would break the file: %w", err)
		}
	}
	for depth := len(path); depth > 0; depth-- {
		want, ok := changed(original.tree, path[:depth], func(any, bool) (any, bool) { return nil, false })
		if ok && equalTrees(want, d.tree) {
			return []byte(d.text), nil
		}
		if rest, isTable := get(want, path[:depth-1]).(map[string]any); !ok || !isTable || len(rest) > 0 {
			break // only a parent that became empty may be gone
		}
	}
	return nil, errNotExact
}

// Remove takes all strings that equal element out of the array at path. The array stays when it becomes empty. It does
// nothing when there is no such element or no such array; a value that is no array is an error. Comments are treated as
// Delete does.
func Remove(src []byte, path []string, element string) ([]byte, error) {
	original, err := Parse(src)
	if err != nil {
		return nil, err
	}
	d := original
	for removed := 0; ; removed++ {
		node, depth := d.locate(path)
		if depth < len(path) {
			return src, extendable(node, path[:depth])
		}
		if err := isValueArray(node, path); err != nil {
			return nil, err
		}
		elements, _ := elementsOf(get(d.tree, path))
		at := -1
		for i := range elements {
			if elements[i] == any(element) {
				at = i
				break
			}
		}
		if at < 0 && removed == 0 {
			return src, nil
		}
		if at < 0 {
			break
		}
		if removed == maxRemovals {
			return nil, fmt.Errorf("there are more than %d of them", maxRemovals)
		}
		e := &editor{Document: d, eol: firstEOL(d.text)}
		if d, err = Parse([]byte(e.remove(listOf(node.value), at))); err != nil {
			return nil, fmt.Errorf("the edit would break the file: %w", err)
		}
	}
	want, ok := changed(original.tree, path, func(old any, _ bool) (any, bool) {
		elements, ok := elementsOf(old)
		kept := []any{}
		for _, e := range elements {
			if e != any(element) {
				kept = append(kept, e)
			}
		}
		return kept, ok
	})
	if !ok || !equalTrees(want, d.tree) {
		return nil, errNotExact
	}
	return []byte(d.text), nil
}

// A newValue is a value that an edit brings in.
type newValue struct {
	text  string
	tree  any
	value *value // its offsets are those in text
}

const newKey = "v="

func parseNew(raw string) (*newValue, error) {
	d, err := Parse([]byte(newKey + raw))
	if err != nil {
		return nil, fmt.Errorf("the new value is not TOML: %w", err)
	}
	if len(d.statements) != 1 || len(d.statements[0].key) != 1 {
		return nil, errors.New("the new value is more than one value")
	}
	v := d.statements[0].value
	if strings.Trim(d.text[v.end:], " \t\r\n") != "" {
		return nil, errors.New("the new value is more than one value")
	}
	shiftValue(v, -v.start)
	return &newValue{text: strings.Trim(raw, " \t\r\n"), tree: d.tree["v"], value: v}, nil
}

func shiftValue(v *value, by int) {
	v.start += by
	v.end += by
	for _, element := range v.elements {
		shiftValue(element, by)
	}
	for _, m := range v.members {
		for i := range m.key {
			m.key[i].start += by
			m.key[i].end += by
		}
		shiftValue(m.value, by)
	}
}

// fitLineEnds writes the value with the file's line ends, unless they are a part of a string in it.
func (n *newValue) fitLineEnds(eol string) {
	if !strings.Contains(n.text, "\n") {
		return
	}
	fitted, err := parseNew(strings.ReplaceAll(strings.ReplaceAll(n.text, "\r\n", "\n"), "\n", eol))
	if err == nil && equalTrees(fitted.tree, n.tree) {
		*n = *fitted
	}
}

func checked(text string, want any) ([]byte, error) {
	d, err := Parse([]byte(text))
	if err != nil {
		return nil, fmt.Errorf("the edit would break the file: %w", err)
	}
	if !equalTrees(d.tree, want) {
		return nil, errNotExact
	}
	return []byte(text), nil
}

func name(path []string) string {
	if len(path) == 0 {
		return "the root"
	}
	quoted := make([]string, len(path))
	for i := range path {
		quoted[i] = QuoteKey(path[i])
	}
	return strings.Join(quoted, ".")
}

// extendable tells whether keys can be added below a node.
func extendable(n *keyNode, path []string) error {
	if n.isArray || n.value != nil && n.value.kind != inlineTable {
		return fmt.Errorf("%s is not a table", name(path))
	}
	return nil
}

func isValueArray(n *keyNode, path []string) error {
	switch {
	case n.value != nil && n.value.kind == arrayValue:
		return nil
	case n.isArray:
		return fmt.Errorf("%s is an array of tables with headers", name(path))
	}
	return fmt.Errorf("%s is not an array", name(path))
}

// locate follows path as far as it exists.
func (d *Document) locate(path []string) (n *keyNode, depth int) {
	n = d.root
	for depth < len(path) {
		child := n.child(path[depth])
		if child == nil {
			break
		}
		n = child
		depth++
	}
	return n, depth
}

func get(tree any, path []string) any {
	for _, key := range path {
		switch parent := tree.(type) {
		case map[string]any:
			tree = parent[key]
		case []any:
			tree = parent[elementIndex(key, len(parent))]
		case []map[string]any:
			tree = parent[elementIndex(key, len(parent))]
		default:
			return nil
		}
	}
	return tree
}

// elementIndex is only asked for elements that locate has found.
func elementIndex(key string, length int) int {
	i, err := strconv.Atoi(key)
	if err != nil || i < 0 || i >= length {
		return 0
	}
	return i
}

// changed gives a copy of tree with another value at path; keep says whether there is one. Only the containers on the
// way are copied. Missing tables are added. ok is false when path goes through what is no container.
func changed(tree any, path []string, f func(old any, exists bool) (value any, keep bool)) (result any, ok bool) {
	key := path[0]
	below := func(old any, exists bool) (value any, keep, ok bool) {
		if len(path) == 1 {
			value, keep = f(old, exists)
			return value, keep, true
		}
		if !exists {
			old = map[string]any{}
		}
		value, ok = changed(old, path[1:], f)
		return value, true, ok
	}
	switch parent := tree.(type) {
	case map[string]any:
		copied := make(map[string]any, len(parent)+1)
		for k, v := range parent {
			copied[k] = v
		}
		old, exists := parent[key]
		value, keep, ok := below(old, exists)
		if keep {
			copied[key] = value
		} else {
			delete(copied, key)
		}
		return copied, ok
	case []any:
		if len(parent) == 0 {
			return nil, false
		}
		copied := append([]any(nil), parent...)
		i := elementIndex(key, len(parent))
		value, _, ok := below(parent[i], true)
		copied[i] = value
		return copied, ok
	case []map[string]any:
		copied := append([]map[string]any(nil), parent...)
		i := elementIndex(key, len(parent))
		value, _, ok := below(parent[i], true)
		table, isTable := value.(map[string]any)
		copied[i] = table
		return copied, ok && isTable
	}
	return nil, false
}

// elementsOf gives the elements of an array. The decoder makes []map[string]any of arrays of tables with headers, and of
// some arrays of inline tables under an empty key.
func elementsOf(v any) ([]any, bool) {
	tables, ok := v.([]map[string]any)
	if !ok {
		list, ok := v.([]any)
		return list, ok
	}
	list := make([]any, len(tables))
	for i := range tables {
		list[i] = tables[i]
	}
	return list, true
}

// equalTrees is reflect.DeepEqual, with NaN equal to itself.
func equalTrees(a, b any) bool {
	switch a := a.(type) {
	case map[string]any:
		b, ok := b.(map[string]any)
		if !ok || len(a) != len(b) {
			return false
		}
		for key := range a {
			other, found := b[key]
			if !found || !equalTrees(a[key], other) {
				return false
			}
		}
		return true
	case []any, []map[string]any:
		list, _ := elementsOf(a)
		other, ok := elementsOf(b)
		if !ok || len(list) != len(other) {
			return false
		}
		for i := range list {
			if !equalTrees(list[i], other[i]) {
				return false
			}
		}
		return true
	case float64:
		b, ok := b.(float64)
		return ok && (math.Float64bits(a) == math.Float64bits(b) || math.IsNaN(a) && math.IsNaN(b))
	}
	return reflect.DeepEqual(a, b)
}

// Quote gives s as a basic string of one line. Invalid UTF-8 becomes U+FFFD.
func Quote(s string) string {
	var out strings.Builder
	out.Grow(len(s) + 2)
	out.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			out.WriteByte('\\')
			out.WriteRune(r)
		case r == '\b':
			out.WriteString(`\b`)
		case r == '\t':
			out.WriteString(`\t`)
		case r == '\n':
			out.WriteString(`\n`)
		case r == '\f':
			out.WriteString(`\f`)
		case r == '\r':
			out.WriteString(`\r`)
		case r < 0x20 || r == 0x7f:
			fmt.Fprintf(&out, `\u%04X`, r)
		default:
			out.WriteRune(r)
		}
	}
	out.WriteByte('"')
	return out.String()
}

// QuoteKey gives s as one part of a key: bare where TOML allows it, else quoted.
func QuoteKey(s string) string {
	for i := 0; i < len(s); i++ {
		if !isBare(s[i]) {
			return Quote(s)
		}
	}
	if s == "" {
		return `""`
	}
	return s
}
