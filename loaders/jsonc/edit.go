package jsonc

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
)

// The edits below share these rules.
//
//   - path names object members from the root; [] is the root itself. Of duplicate keys the last one is meant, because it
//     is the one that readers see.
//   - A new value is strict JSON, so no edit can bring a comment or a trailing comma into a file. Its own line ends and
//     indentation are fitted to the place where it goes.
//   - An empty, white-space-only or nil source becomes a new file with an indentation of two spaces.
//   - Lenient is ignored: a source with any mistake is refused with its *SyntaxError.
//   - The result is parsed again and compared. It is given only when it is the old file plus exactly the one change; all
//     other values then still have the same bytes.
//   - An edit that changes nothing gives the source bytes.

// maxRemovals bounds how many equal elements or duplicate keys one edit takes out, each with a parse of its own.
const maxRemovals = 200

var errNotExact = errors.New("the edit would change more than was asked for")

// Set makes rawValue, which is strict JSON, the value at path. Missing parents are created as objects; a parent that is
// no object is an error.
func Set(src []byte, o Options, path []string, rawValue string) ([]byte, error) {
	o.Lenient = false
	raw, err := parseNew(rawValue)
	if err != nil {
		return nil, err
	}
	return put(src, o, path, raw, false)
}

// Append adds rawElement, which is strict JSON, at the end of the array at path. A missing array and missing parents
// are created; a value that is no array is an error.
func Append(src []byte, o Options, path []string, rawElement string) ([]byte, error) {
	o.Lenient = false
	raw, err := parseNew(rawElement)
	if err != nil {
		return nil, err
	}
	return put(src, o, path, raw, true)
}

// Delete takes the member at path out, duplicates of its key included: an earlier one must not come to life again. It
// does nothing when there is no such member; a parent that is no object is an error.
//
// A comment behind the member on its own line goes with it. Comments on lines of their own stay, also those directly
// above the member: they may belong to more than this one, and losing text is worse than keeping it.
func Delete(src []byte, o Options, path []string) ([]byte, error) {
	o.Lenient = false
	if len(path) == 0 {
		return nil, errors.New("the root cannot be deleted")
	}
	last := len(path) - 1
	return removeItems(src, o, path[:last], Object, func(v Value) int {
		members := v.Members()
		for i := range members {
			if members[i].Key == path[last] && !members[i].Shadowed {
				return i
			}
		}
		return -1
	}, func(before, after Value) bool {
		var kept []Member
		for _, m := range before.Members() {
			if m.Key != path[last] {
				kept = append(kept, m)
			}
		}
		return sameMembers(kept, after.Members())
	})
}

// Remove takes all strings that equal element out of the array at path. The array stays when it becomes empty. It does
// nothing when there is no such element or no such array; a value that is no array is an error. Comments are treated as
// Delete does.
func Remove(src []byte, o Options, path []string, element string) ([]byte, error) {
	o.Lenient = false
	return removeItems(src, o, path, Array, func(v Value) int {
		for i, e := range v.Elements() {
			if text, ok := e.Str(); ok && text == element {
				return i
			}
		}
		return -1
	}, func(before, after Value) bool {
		var kept []Value
		for _, e := range before.Elements() {
			if text, ok := e.Str(); !ok || text != element {
				kept = append(kept, e)
			}
		}
		return sameElements(kept, after.Elements())
	})
}

func parseNew(raw string) (Value, error) {
	d, err := Parse([]byte(raw), Strict)
	if err != nil {
		return Value{}, fmt.Errorf("the new value is not strict JSON: %w", err)
	}
	return d.Root(), nil
}

// put sets the value at path or, with appending, adds an element to the array there.
func put(src []byte, o Options, path []string, raw Value, appending bool) ([]byte, error) {
	if mark, space, ok := blank(src, o); ok {
		layout := layout{lines: true, eol: firstEOL(space, "\n"), unit: "  ", colon: ": "}
		text := mark + layout.render(path, raw, appending, "") + layout.eol
		return checked(text, o, func(root Value) bool { return isChain(root, path, Value{}, raw, appending) })
	}
	d, err := Parse(src, o)
	if err != nil {
		return nil, err
	}
	e := &editor{Document: d}
	parents, missing, err := e.walk(path)
	if err != nil {
		return nil, err
	}
	target := parents[len(parents)-1]
	var text string
	switch {
	case len(missing) > 0:
		text = e.insert(parents, missing, raw, appending)
	case appending && target.Kind() != Array:
		return nil, notA(path, target, Array)
	case appending:
		text = e.insert(parents, nil, raw, true)
	case equalTrees(target, raw):
		return src, nil
	default:
		fitted := layout{eol: e.eol(target), unit: e.unit(parents)}.fit(raw.source(), e.lineIndent(target.Offset()))
		text = d.text[:target.Offset()] + fitted + d.text[target.End():]
	}
	return checked(text, o, func(root Value) bool {
		return sameExcept(d.Root(), root, path, func(before, after Value) bool {
			return isChain(after, nil, before, raw, appending)
		})
	})
}

// blank tells whether a source holds nothing but white space, after a byte order mark that the dialect allows.
func blank(src []byte, o Options) (mark, space string, ok bool) {
	space = string(src)
	if o.BOM || o.JSON5 {
		if rest, found := strings.CutPrefix(space, byteOrderMark); found {
			mark, space = byteOrderMark, rest
		}
	}
	return mark, space, strings.Trim(space, " \t\r\n") == ""
}

func checked(text string, o Options, exact func(root Value) bool) ([]byte, error) {
	d, err := Parse([]byte(text), o)
	if err != nil {
		return nil, fmt.Errorf("the edit would break the file: %w", err)
	}
	if !exact(d.Root()) {
		return nil, errNotExact
	}
	return []byte(text), nil
}

func notA(path []string, v Value, want Kind) error {
	name := "the root"
	if len(path) > 0 {
		name = Quote(strings.Join(path, "."))
	}
	return fmt.Errorf("%s is of type %s, not %s", name, v.Kind(), want)
}

// removeItems takes items out of the container at path, as long as next gives the index of one.
func removeItems(src []byte, o Options, path []string, kind Kind, next func(Value) int, exact func(before, after Value) bool) ([]byte, error) {
	if _, _, ok := blank(src, o); ok {
		return src, nil
	}
	original, err := Parse(src, o)
	if err != nil {
		return nil, err
	}
	d := original
	for removed := 0; ; removed++ {
		e := &editor{Document: d}
		parents, missing, err := e.walk(path)
		if err != nil {
			return nil, err
		}
		if len(missing) > 0 {
			return src, nil
		}
		target := parents[len(parents)-1]
		if target.Kind() != kind {
			return nil, notA(path, target, kind)
		}
		at := next(target)
		if at < 0 && removed == 0 {
			return src, nil
		}
		if at < 0 {
			break
		}
		if removed == maxRemovals {
			return nil, fmt.Errorf("there are more than %d of them", maxRemovals)
		}
		if d, err = Parse([]byte(e.remove(target, at)), o); err != nil {
			return nil, fmt.Errorf("the edit would break the file: %w", err)
		}
	}
	if !sameExcept(original.Root(), d.Root(), path, exact) {
		return nil, errNotExact
	}
	return []byte(d.text), nil
}

// sameExcept tells whether two trees are the same outside of path, and what changed tells about the values there.
// When before lacks a part of path, after must have it as a last member, and changed gets an Invalid value as before.
func sameExcept(before, after Value, path []string, changed func(before, after Value) bool) bool {
	if len(path) == 0 {
		return changed(before, after)
	}
	if before.Exists() && before.Kind() != Object || after.Kind() != Object {
		return false
	}
	old, now := before.Members(), after.Members()
	at := len(old)
	for i := range old {
		if old[i].Key == path[0] {
			at = i
		}
	}
	if at == len(old) {
		old = append(old, Member{Key: path[0]})
	}
	return len(old) == len(now) && now[at].Key == path[0] &&
		sameMembers(old[:at], now[:at]) && sameMembers(old[at+1:], now[at+1:]) &&
		sameExcept(old[at].Value, now[at].Value, path[1:], changed)
}

// isChain tells whether v is what put makes: raw below new objects, or one element more than the array before.
func isChain(v Value, path []string, before, raw Value, appending bool) bool {
	for _, key := range path {
		if v.Kind() != Object || v.Len() != 1 || v.Members()[0].Key != key {
			return false
		}
		v = v.Get(key)
	}
	if !appending {
		return equalTrees(v, raw)
	}
	elements := v.Elements()
	last := len(elements) - 1
	return last >= 0 && (before.Exists() && before.Kind() == Array || last == 0) &&
		sameElements(before.Elements(), elements[:last]) && equalTrees(elements[last], raw)
}

func equalTrees(a, b Value) bool {
	return a.Kind() == b.Kind() && (a.source() == b.source() || reflect.DeepEqual(a.Interface(), b.Interface()))
}

func sameMembers(a, b []Member) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i].Key != b[i].Key || a[i].Value.source() != b[i].Value.source() {
			return false
		}
	}
	return true
}

func sameElements(a, b []Value) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i].source() != b[i].source() {
			return false
		}
	}
	return true
}
