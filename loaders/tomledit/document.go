// Package tomledit reads TOML files with the place of every key, and edits them by byte position, so that an edit
// changes only the bytes that it must.
//
// What a file means is decided by github.com/BurntSushi/toml; this package adds the positions, the few rules of TOML
// 1.0 which that decoder does not check, and the edits. It does no I/O, knows no harness and no schema, never formats
// a whole file, and keeps nothing between calls.
package tomledit

import (
	"errors"
	"fmt"
	"slices"
	"sort"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/BurntSushi/toml"
)

// MaxDepth is how deep a key may lie below the root; arrays count as one level. One level more is a SyntaxError.
const MaxDepth = 500

const byteOrderMark = "\xef\xbb\xbf"

// SyntaxError says where a file is not TOML. Line and Column count from 1; a column is one character (code point), a
// leading byte order mark is none.
type SyntaxError struct {
	Line, Column int
	Message      string
}

// Error gives "LINE:COLUMN: message".
func (e *SyntaxError) Error() string {
	return fmt.Sprintf("%d:%d: %s", e.Line, e.Column, e.Message)
}

// Document is one parsed file. It is immutable, as long as nobody changes its Tree, and safe for use by several
// goroutines.
type Document struct {
	text       string
	lines      []int // offset of the first byte of each line
	tree       map[string]any
	statements []statement
	root       *keyNode
}

// String keeps the file's text, which may hold secrets, out of formatted output.
func (d *Document) String() string { return "tomledit.Document" }

// GoString does the same for the verb %#v.
func (d *Document) GoString() string { return "tomledit.Document" }

// Parse reads a whole file; an empty one is an empty table. The error is a *SyntaxError. Line ends are LF and CRLF; a
// lone CR is an error, as are invalid UTF-8 and UTF-16. A UTF-8 byte order mark is allowed.
//
// Beyond BurntSushi/toml 1.6.0, which accepts them, it refuses what TOML 1.0 forbids and the decoders of the harnesses
// refuse: a header or dotted key that extends an inline table, a header for a table that dotted keys defined, and a
// dotted key into a table that a header defined. It does accept line ends and trailing commas in inline tables, which
// are TOML 1.1.
func Parse(src []byte) (*Document, error) {
	d := &Document{text: string(src)}
	d.lines = lineStarts(d.text)
	if !utf8.ValidString(d.text) {
		return nil, d.errorAt(invalidUTF8At(d.text), "invalid UTF-8")
	}
	// The own scanner comes first: it bounds the depth that the decoder then recurses into. What it cannot read, the
	// decoder refuses with a better message.
	statements, scanErr := scan(d.text)
	if scanErr != nil && scanErr.tooDeep {
		return nil, d.errorAt(scanErr.offset, scanErr.message)
	}
	tree, err := decode(d)
	if err != nil {
		return nil, err
	}
	if scanErr != nil {
		return nil, d.errorAt(scanErr.offset, scanErr.message)
	}
	d.tree, d.statements = tree, statements
	root, scanErr := buildKeys(statements)
	if scanErr != nil {
		return nil, d.errorAt(scanErr.offset, scanErr.message)
	}
	d.root = root
	return d, nil
}

func (d *Document) errorAt(offset int, message string) *SyntaxError {
	line, column := d.positionOf(offset)
	return &SyntaxError{Line: line, Column: column, Message: message}
}

// decode runs BurntSushi's decoder. It panics on some of its own inconsistencies, which must not end the program.
func decode(d *Document) (tree map[string]any, err error) {
	defer func() {
		if recover() != nil {
			tree, err = nil, &SyntaxError{Line: 1, Column: 1, Message: "the TOML decoder gave up"}
		}
	}()
	tree = map[string]any{}
	if _, err := toml.Decode(d.text, &tree); err != nil {
		var parse toml.ParseError
		if !errors.As(err, &parse) {
			return nil, &SyntaxError{Line: 1, Column: 1, Message: err.Error()}
		}
		offset := parse.Position.Start
		if strings.HasPrefix(d.text, byteOrderMark) {
			offset += len(byteOrderMark)
		}
		if strings.HasPrefix(parse.Message, "TOML files cannot contain control characters") {
			offset++ // the decoder names the character before
		}
		return nil, d.errorAt(offset, describe(parse))
	}
	return tree, nil
}

// describe gives the decoder's message where it can name only syntax, a key or one character. Its other messages quote
// values, which may be secret.
func describe(parse toml.ParseError) string {
	for _, safe := range []string{
		"Key '", "expected '", "expected a comma", "expected a top-level item", "expected end of table", "unexpected ",
		"TOML files cannot contain", "files cannot contain NULL", "strings cannot contain newlines", "invalid escape",
		"floats must start",
	} {
		if strings.HasPrefix(parse.Message, safe) {
			return parse.Message
		}
	}
	return "the value is not valid"
}

func invalidUTF8At(text string) int {
	for i, r := range text {
		if r == utf8.RuneError {
			if _, size := utf8.DecodeRuneInString(text[i:]); size == 1 {
				return i
			}
		}
	}
	return len(text)
}

func lineStarts(text string) []int {
	starts := make([]int, 1, 2+strings.Count(text, "\n"))
	if strings.HasPrefix(text, byteOrderMark) {
		starts[0] = len(byteOrderMark)
	}
	for at := 0; ; {
		i := strings.IndexByte(text[at:], '\n')
		if i < 0 {
			return starts
		}
		at += i + 1
		starts = append(starts, at)
	}
}

func (d *Document) positionOf(offset int) (line, column int) {
	offset = max(0, min(offset, len(d.text)))
	line = sort.Search(len(d.lines), func(i int) bool { return d.lines[i] > offset })
	if line == 0 { // inside of the byte order mark
		return 1, 1
	}
	return line, 1 + utf8.RuneCountInString(d.text[d.lines[line-1]:offset])
}

// Tree is the decoded file: map[string]any, []any, []map[string]any, string, int64, float64, bool and time.Time, as
// BurntSushi/toml gives them. (Version 1.6.0 drops what is no table from an array with inline tables under an empty key.)
// It belongs to the document; do not change it.
func (d *Document) Tree() map[string]any { return d.tree }

// A keyNode is one key of the tree with the places that mention it. The elements of arrays are keys "0", "1", ...
type keyNode struct {
	origin    origin
	isArray   bool
	value     *value // of a key from a value
	named     int    // offset of the first key or header that ends in it; -1 when none does
	mentioned int    // offset of its first mention at all
	names     []string
	children  []*keyNode     // as names
	index     map[string]int // of names, only for many
}

// origin says what defined a key, which decides what may extend it.
type origin uint8

const (
	fromHeaderParent origin = iota // only implied by a longer header
	fromHeader
	fromArrayHeader
	fromDottedKey
	fromValue // a value of any kind, an inline table included
)

func newKeyNode(from origin, offset int) *keyNode {
	return &keyNode{origin: from, named: -1, mentioned: offset}
}

// indexAbove is the number of children from which on a map is faster than a look at each.
const indexAbove = 8

func (n *keyNode) child(name string) *keyNode {
	at := -1
	if n.index == nil {
		at = slices.Index(n.names, name)
	} else if i, ok := n.index[name]; ok {
		at = i
	}
	if at < 0 {
		return nil
	}
	return n.children[at]
}

func (n *keyNode) add(name string, child *keyNode) *keyNode {
	n.names = append(n.names, name)
	n.children = append(n.children, child)
	switch {
	case n.index != nil:
		n.index[name] = len(n.names) - 1
	case len(n.names) > indexAbove:
		n.index = map[string]int{}
		for i := range n.names {
			n.index[n.names[i]] = i
		}
	}
	return child
}

// last gives the element that the headers below an array of tables mean, and other nodes themselves.
func (n *keyNode) last() *keyNode {
	if n.origin == fromArrayHeader && len(n.names) > 0 {
		return n.children[len(n.children)-1]
	}
	return n
}

// buildKeys puts the statements together and checks the rules that the decoder leaves out.
func buildKeys(statements []statement) (*keyNode, *scanError) {
	root := newKeyNode(fromHeader, 0)
	table := root
	for i := range statements {
		s := &statements[i]
		var err *scanError
		switch s.kind {
		case keyStatement:
			err = table.define(s.key, s.value)
		default:
			table, err = root.header(s)
		}
		if err != nil {
			return nil, err
		}
	}
	return root, nil
}

func (n *keyNode) header(s *statement) (*keyNode, *scanError) {
	last := len(s.key) - 1
	for _, segment := range s.key[:last] {
		child := n.child(segment.name)
		if child == nil {
			child = n.add(segment.name, newKeyNode(fromHeaderParent, segment.start))
		}
		if n = child.last(); child.origin == fromValue {
			return nil, segment.error("an inline table or value cannot be extended")
		}
	}
	segment := s.key[last]
	child := n.child(segment.name)
	if child == nil {
		child = n.add(segment.name, newKeyNode(fromHeaderParent, segment.start))
	}
	if child.named < 0 {
		child.named = segment.start
	}
	if s.kind == arrayHeaderStatement {
		if child.origin != fromArrayHeader && (child.origin != fromHeaderParent || len(child.names) > 0) {
			return nil, segment.error("this key is defined already and is no array of tables")
		}
		child.origin, child.isArray = fromArrayHeader, true
		element := newKeyNode(fromHeader, segment.start)
		element.named = segment.start
		return child.add(strconv.Itoa(len(child.names)), element), nil
	}
	if child.origin != fromHeaderParent {
		return nil, segment.error("this table is defined already")
	}
	child.origin = fromHeader
	return child, nil
}

// define adds the key of a key-value pair, and all keys inside of its value.
func (n *keyNode) define(key []segment, v *value) *scanError {
	last := len(key) - 1
	for _, segment := range key[:last] {
		child := n.child(segment.name)
		if child == nil {
			child = n.add(segment.name, newKeyNode(fromDottedKey, segment.start))
		}
		switch child.origin {
		case fromValue:
			return segment.error("an inline table or value cannot be extended")
		case fromHeader, fromArrayHeader:
			return segment.error("a table with a header cannot be extended by a dotted key")
		}
		child.origin = fromDottedKey
		n = child
	}
	segment := key[last]
	if n.child(segment.name) != nil {
		return segment.error("this key is defined already")
	}
	node := n.add(segment.name, newKeyNode(fromValue, segment.start))
	node.named = segment.start
	return node.defineInside(v)
}

func (n *keyNode) defineInside(v *value) *scanError {
	n.value, n.isArray = v, v.kind == arrayValue
	// While its members are read, an inline table is open to its own dotted keys.
	for _, m := range v.members {
		if err := n.define(m.key, m.value); err != nil {
			return err
		}
	}
	for i, element := range v.elements {
		node := n.add(strconv.Itoa(i), newKeyNode(fromValue, element.start))
		node.named = element.start
		if err := node.defineInside(element); err != nil {
			return err
		}
	}
	return nil
}

func (d *Document) find(path []string) *keyNode {
	n := d.root
	for _, name := range path {
		if n == nil {
			return nil
		}
		n = n.child(name)
	}
	return n
}

// Has tells whether the file has such a key or table, explicit or implied. Elements of arrays are named "0", "1", ...;
// the empty path is the root.
func (d *Document) Has(path ...string) bool { return d.find(path) != nil }

// Line is the line of the first header or key that has path as its full name. When a table is only implied, it is the
// line of the first header or key below it. It is 0 when there is no such path, and for the root.
func (d *Document) Line(path ...string) int {
	line, _ := d.Position(path...)
	return line
}

// Position is Line with the character column of the last segment of the path, both from 1; 0, 0 when Line is 0.
func (d *Document) Position(path ...string) (line, column int) {
	n := d.find(path)
	if n == nil || len(path) == 0 {
		return 0, 0
	}
	if n.named >= 0 {
		return d.positionOf(n.named)
	}
	return d.positionOf(n.mentioned)
}

// Keys gives the names right below a table in file order, those of implied tables included; nil for values and arrays.
func (d *Document) Keys(path ...string) []string {
	n := d.find(path)
	if n == nil || n.isArray {
		return nil
	}
	return append([]string(nil), n.names...)
}
