// Package jsonc reads and edits JSON files by byte position: strict JSON, JSON with comments and trailing commas,
// JSON5, and broken JSON the way fault tolerant editors read it. Every value knows its place in the file, and an edit
// changes only the bytes that it must.
//
// It does no I/O, knows no harness and no schema, never formats a whole file, and keeps nothing between calls.
package jsonc

import (
	"encoding/json"
	"fmt"
	"sort"
	"strings"
	"sync"
	"unicode/utf8"
)

// MaxDepth is how deeply arrays and objects may be nested. One level more is a SyntaxError, in every dialect.
const MaxDepth = 500

// Options is a dialect. The zero value is strict JSON.
type Options struct {
	// Comments allows // and /* */.
	Comments bool
	// TrailingCommas allows one comma before ] or }.
	TrailingCommas bool
	// BOM allows a UTF-8 byte order mark at the start. Without it a mark is a syntax error at 1:1.
	BOM bool
	// Lenient recovers from errors exactly as `parse` of Microsoft's jsonc-parser 3.3.1 does (Cursor CLI, VS Code):
	// what was understood stays, the rest is listed in Document.Errors. The other switches then only decide what
	// counts as an error. JSON5 is ignored together with Lenient.
	Lenient bool
	// JSON5 allows what json5.org describes: unquoted keys, single quotes, more escapes and line continuations,
	// hexadecimal numbers, leading + and ., trailing ., Infinity and NaN, comments, trailing commas, a byte order mark
	// and more kinds of white space.
	JSON5 bool
	// NonFinite allows the numbers NaN, Infinity and -Infinity, as Python's json module does.
	NonFinite bool
	// ReplaceInvalidUTF8 reads invalid bytes as U+FFFD, one for each maximal broken sequence, as JavaScript readers do.
	// Without it they are a syntax error.
	ReplaceInvalidUTF8 bool
}

// Two dialects by name. Copy and change them for others; never assign to them.
var (
	// Strict is JSON.parse of JavaScript and encoding/json of Go.
	Strict = Options{}
	// JSONC is JSON with comments, trailing commas and an optional byte order mark.
	JSONC = Options{Comments: true, TrailingCommas: true, BOM: true}
)

// SyntaxError says where a file is not what its dialect allows.
type SyntaxError struct {
	// Line and Column count from 1; a column is one character (code point), a leading byte order mark is none.
	Line, Column int
	// Offset is the byte offset from the start of the file, byte order mark included.
	Offset int
	// Message names at most one character of the file, so it cannot give a secret away.
	Message string
}

// Error gives "LINE:COLUMN: message".
func (e *SyntaxError) Error() string {
	return fmt.Sprintf("%d:%d: %s", e.Line, e.Column, e.Message)
}

// Kind is the type of a Value.
type Kind uint8

// The kinds of values. The zero value is Invalid: there is no such value.
const (
	Invalid Kind = iota
	Null
	Bool
	Number
	String
	Array
	Object
)

// String gives the kind's name in lower case.
func (k Kind) String() string {
	switch k {
	case Null:
		return "null"
	case Bool:
		return "boolean"
	case Number:
		return "number"
	case String:
		return "string"
	case Array:
		return "array"
	case Object:
		return "object"
	}
	return "invalid"
}

// A node is one value or one member key. The nodes of a document lie in one slice in file order: a container, then its
// children; in an object each child is a key node followed by its value.
type node struct {
	start, end uint32 // bytes of the source, quotes included
	next       uint32 // index of the node after this one and all below it
	size       uint32 // children of a container: elements or members
	kind       Kind
	flags      uint8
}

const (
	flagDecode uint8 = 1 << iota // the string's text differs from its source bytes
	flagBare                     // a JSON5 key without quotes
)

// Document is one parsed file. It is immutable and safe for use by several goroutines.
type Document struct {
	text    string
	options Options
	nodes   []node
	errors  []*SyntaxError
	bom     int // length of the byte order mark: 0 or 3

	linesOnce sync.Once
	lines     []uint32 // offset of the first byte of each line
	ascii     bool     // every character is one byte

	mu      sync.Mutex
	indexes map[uint32]*memberIndex
}

// String keeps the file's text, which may hold secrets, out of formatted output.
func (d *Document) String() string { return "jsonc.Document" }

// GoString does the same for the verb %#v.
func (d *Document) GoString() string { return "jsonc.Document" }

// Root is the file's value. It is Invalid only when Lenient found nothing that it could use.
func (d *Document) Root() Value {
	if d == nil || len(d.nodes) == 0 {
		return Value{}
	}
	return Value{doc: d}
}

// Errors lists what Lenient recovered from, in file order, at most 100. It is empty for other dialects.
func (d *Document) Errors() []*SyntaxError {
	if d == nil {
		return nil
	}
	return d.errors
}

// Position gives the line and column of a byte offset, both from 1. CRLF, a lone CR and LF are line ends; a column is
// one character. An offset outside of the file is moved to its nearest end.
func (d *Document) Position(offset int) (line, column int) {
	if d == nil {
		return 1, 1
	}
	line, offset = d.lineAt(offset)
	if line == 0 { // inside of the byte order mark
		return 1, 1
	}
	// A file may be one long line: counting its characters for every value would take for ever.
	if d.ascii {
		return line, 1 + offset - int(d.lines[line-1])
	}
	return line, 1 + utf8.RuneCountInString(d.text[d.lines[line-1]:offset])
}

// lineAt gives the line of an offset, from 1, and the offset moved into the file; 0 inside of the byte order mark.
func (d *Document) lineAt(offset int) (line, at int) {
	d.linesOnce.Do(func() {
		d.lines = lineStarts(d.text, d.bom)
		d.ascii = utf8.RuneCountInString(d.text[d.bom:]) == len(d.text)-d.bom
	})
	at = max(0, min(offset, len(d.text)))
	return sort.Search(len(d.lines), func(i int) bool { return int(d.lines[i]) > at }), at
}

func lineStarts(text string, bom int) []uint32 {
	starts := make([]uint32, 1, 2+strings.Count(text, "\n"))
	starts[0] = uint32(bom)
	if strings.IndexByte(text, '\r') < 0 {
		for at := 0; ; {
			i := strings.IndexByte(text[at:], '\n')
			if i < 0 {
				return starts
			}
			at += i + 1
			starts = append(starts, uint32(at))
		}
	}
	for i := 0; i < len(text); i++ {
		switch {
		case text[i] == '\n', text[i] == '\r' && (i+1 == len(text) || text[i+1] != '\n'):
			starts = append(starts, uint32(i+1))
		}
	}
	return starts
}

// Value is a handle on one value of a document. The zero Value is Invalid, and all its methods are safe.
type Value struct {
	doc   *Document
	index uint32
}

func (v Value) node() *node {
	if v.doc == nil {
		return nil
	}
	return &v.doc.nodes[v.index]
}

// Kind tells the type; Invalid when the value does not exist.
func (v Value) Kind() Kind {
	if v.doc == nil {
		return Invalid
	}
	return v.doc.nodes[v.index].kind
}

// Exists tells whether there is such a value; null exists.
func (v Value) Exists() bool { return v.doc != nil }

// Get gives the last member of that name, as JavaScript, Go and Python do; Invalid when there is none or when v is not
// an object.
func (v Value) Get(key string) Value {
	if v.Kind() != Object {
		return Value{}
	}
	if v.node().size > indexAbove {
		if byKey := v.doc.memberIndex(v.index); byKey != nil {
			if at, ok := byKey[key]; ok {
				return Value{v.doc, at}
			}
			return Value{}
		}
	}
	var found Value
	v.eachMember(func(keyAt, valueAt uint32) {
		if v.doc.keyIs(keyAt, key) {
			found = Value{v.doc, valueAt}
		}
	})
	return found
}

// Lookup is Get for each key in turn. Without keys it gives v.
func (v Value) Lookup(keys ...string) Value {
	for _, key := range keys {
		v = v.Get(key)
	}
	return v
}

// eachMember calls f with the node indexes of each key and its value.
func (v Value) eachMember(f func(keyAt, valueAt uint32)) {
	n := v.node()
	at := v.index + 1
	for range n.size {
		f(at, at+1)
		at = v.doc.nodes[at+1].next
	}
}

func (d *Document) keyIs(at uint32, key string) bool {
	n := &d.nodes[at]
	if n.flags == 0 {
		return d.text[n.start+1:n.end-1] == key
	}
	return d.decoded(n) == key
}

// A memberIndex is built only for large objects that are asked again and again: one scan is cheaper than one map.
type memberIndex struct {
	asked int
	byKey map[string]uint32
}

const (
	indexAbove = 64 // members
	indexAfter = 4  // look-ups
)

func (d *Document) memberIndex(object uint32) map[string]uint32 {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.indexes == nil {
		d.indexes = map[uint32]*memberIndex{}
	}
	index := d.indexes[object]
	if index == nil {
		index = &memberIndex{}
		d.indexes[object] = index
	}
	index.asked++
	if index.byKey == nil && index.asked > indexAfter {
		index.byKey = make(map[string]uint32, d.nodes[object].size)
		Value{d, object}.eachMember(func(keyAt, valueAt uint32) {
			index.byKey[d.decoded(&d.nodes[keyAt])] = valueAt
		})
	}
	return index.byKey
}

// Member is one key and its value in an object.
type Member struct {
	Key       string
	KeyOffset int // byte offset of the key, of its quote if it has one
	Value     Value
	Shadowed  bool // a later member has the same key, so this one has no effect
}

// Line is the line that holds the key, from 1.
func (m Member) Line() int {
	if m.Value.doc == nil {
		return 0
	}
	line, _ := m.Value.doc.lineAt(m.KeyOffset)
	return max(1, line)
}

// Members gives the members of an object in file order, duplicates included; nil for other kinds.
func (v Value) Members() []Member {
	if v.Kind() != Object {
		return nil
	}
	members := make([]Member, 0, v.node().size)
	v.eachMember(func(keyAt, valueAt uint32) {
		key := &v.doc.nodes[keyAt]
		members = append(members, Member{Key: v.doc.decoded(key), KeyOffset: int(key.start), Value: Value{v.doc, valueAt}})
	})
	markShadowed(members)
	return members
}

func markShadowed(members []Member) {
	if len(members) <= 8 {
		for i := range members {
			for j := i + 1; j < len(members) && !members[i].Shadowed; j++ {
				members[i].Shadowed = members[i].Key == members[j].Key
			}
		}
		return
	}
	seen := make(map[string]struct{}, len(members))
	for i := len(members) - 1; i >= 0; i-- {
		_, members[i].Shadowed = seen[members[i].Key]
		seen[members[i].Key] = struct{}{}
	}
}

// Elements gives the elements of an array in file order; nil for other kinds.
func (v Value) Elements() []Value {
	if v.Kind() != Array {
		return nil
	}
	elements := make([]Value, 0, v.node().size)
	at := v.index + 1
	for range v.node().size {
		elements = append(elements, Value{v.doc, at})
		at = v.doc.nodes[at].next
	}
	return elements
}

// Len counts the elements of an array or the members of an object, duplicates included; 0 for other kinds.
func (v Value) Len() int {
	if v.doc == nil {
		return 0
	}
	return int(v.node().size)
}

// String gives only the kind's name, so that formatted output cannot hold a secret. Str gives the text.
func (v Value) String() string { return v.Kind().String() }

// Str gives the decoded text of a string. A lone surrogate is read as U+FFFD.
func (v Value) Str() (text string, ok bool) {
	if v.Kind() != String {
		return "", false
	}
	return v.doc.decoded(v.node()), true
}

// Bool gives the value of a boolean.
func (v Value) Bool() (value, ok bool) {
	if v.Kind() != Bool {
		return false, false
	}
	return v.doc.text[v.node().start] == 't', true
}

// Number gives a number in the spelling of the file. JSON5 spellings such as 0x1F, +1 or Infinity come as they are.
func (v Value) Number() (raw string, ok bool) {
	if v.Kind() != Number {
		return "", false
	}
	return v.source(), true
}

// Strings gives the elements of an array that holds nothing but strings. An empty array is such an array.
func (v Value) Strings() ([]string, bool) {
	if v.Kind() != Array {
		return nil, false
	}
	texts := make([]string, 0, v.node().size)
	for _, element := range v.Elements() {
		text, ok := element.Str()
		if !ok {
			return nil, false
		}
		texts = append(texts, text)
	}
	return texts, true
}

func (v Value) source() string {
	n := v.node()
	if n == nil {
		return ""
	}
	return v.doc.text[n.start:n.end]
}

// Raw gives a copy of the value's source bytes, nil when it does not exist.
func (v Value) Raw() []byte {
	if v.doc == nil {
		return nil
	}
	return []byte(v.source())
}

// Offset is the byte offset of the value's first byte, from 0.
func (v Value) Offset() int {
	if v.doc == nil {
		return 0
	}
	return int(v.node().start)
}

// End is the byte offset just after the value.
func (v Value) End() int {
	if v.doc == nil {
		return 0
	}
	return int(v.node().end)
}

// Line is the line on which the value starts, from 1; 0 when it does not exist.
func (v Value) Line() int {
	if v.doc == nil {
		return 0
	}
	line, _ := v.doc.lineAt(v.Offset())
	return max(1, line)
}

// Column is the character column at which the value starts, from 1; 0 when it does not exist.
func (v Value) Column() int {
	if v.doc == nil {
		return 0
	}
	_, column := v.doc.Position(v.Offset())
	return column
}

// Interface gives the value as map[string]any, []any, string, json.Number, bool or nil. Of duplicate keys the last
// one counts. A value that does not exist is nil too.
func (v Value) Interface() any {
	switch v.Kind() {
	case Bool:
		value, _ := v.Bool()
		return value
	case Number:
		return json.Number(v.source())
	case String:
		return v.doc.decoded(v.node())
	case Array:
		elements := make([]any, 0, v.Len())
		for _, element := range v.Elements() {
			elements = append(elements, element.Interface())
		}
		return elements
	case Object:
		members := make(map[string]any, v.Len())
		v.eachMember(func(keyAt, valueAt uint32) {
			members[v.doc.decoded(&v.doc.nodes[keyAt])] = Value{v.doc, valueAt}.Interface()
		})
		return members
	}
	return nil
}
