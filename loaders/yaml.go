package loaders

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"fusebox/loaders/jsonc"
	"fusebox/model"
)

// YAML files: read into nodes that know their lines, and changed at one flag. Nothing is decoded into values, so aliases are
// followed one at a time and a file cannot grow while it is read.

// yamlFile is a parsed file; its root is nil when the file is empty.
type yamlFile struct {
	root *yaml.Node
	err  *jsonc.SyntaxError
}

var yamlErrorLine = regexp.MustCompile(`line (\d+)`)

// parseYAML reads one document.
func parseYAML(data []byte) (out yamlFile) {
	defer func() {
		if recover() != nil { // a fault of the parser
			out = yamlFile{err: &jsonc.SyntaxError{Line: 1, Column: 1, Message: "cannot be read as YAML"}}
		}
	}()
	if i := invalidUTF8(data); i >= 0 {
		return yamlFile{err: &jsonc.SyntaxError{Line: 1 + strings.Count(string(data[:i]), "\n"), Column: 1, Message: "is no UTF-8 text"}}
	}
	var doc yaml.Node
	if err := yaml.Unmarshal(data, &doc); err != nil {
		line := 1
		if m := yamlErrorLine.FindStringSubmatch(err.Error()); m != nil {
			line, _ = strconv.Atoi(m[1])
		}
		return yamlFile{err: &jsonc.SyntaxError{Line: max(1, line), Column: 1, Message: "is no valid YAML"}}
	}
	if doc.Kind == yaml.DocumentNode && len(doc.Content) > 0 {
		out.root = doc.Content[0]
	}
	return out
}

// invalidUTF8 is where a text stops to be UTF-8, or -1. The parser would take other encodings, the harnesses do not.
func invalidUTF8(data []byte) int {
	for i := 0; i < len(data); {
		r, size := utf8.DecodeRune(data[i:])
		if r == utf8.RuneError && size == 1 {
			return i
		}
		i += size
	}
	return -1
}

// readYAML reads and parses a file. One that does not parse is malformed.
func readYAML(r *Reader, path string, scope model.Scope) (*ConfigFile, *yaml.Node) {
	f := r.Read(path, scope, 0)
	if !f.OK() {
		return f, nil
	}
	parsed := Memo(f, "yaml", func() yamlFile { return parseYAML(f.Data) })
	if parsed.err != nil {
		f.Err = parsed.err
		r.Mark(f, model.FileMalformed, parsed.err.Error())
		return f, nil
	}
	return f, parsed.root
}

// followAlias returns what an alias stands for.
func followAlias(n *yaml.Node) *yaml.Node {
	for hops := 0; n != nil && n.Kind == yaml.AliasNode; hops++ {
		if hops == 8 {
			return nil
		}
		n = n.Alias
	}
	return n
}

// yamlMember is one key of a mapping.
type yamlMember struct {
	key        *yaml.Node
	value      *yaml.Node // aliases followed
	name       string
	overridden bool // a later one of the same name counts
}

// yamlMembers returns the keys of a mapping, in file order; none when it is no mapping.
func yamlMembers(n *yaml.Node) []yamlMember {
	n = followAlias(n)
	if n == nil || n.Kind != yaml.MappingNode {
		return nil
	}
	out := make([]yamlMember, 0, len(n.Content)/2)
	last := map[string]int{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := followAlias(n.Content[i])
		if key == nil || key.Kind != yaml.ScalarNode {
			continue
		}
		if before, ok := last[key.Value]; ok {
			out[before].overridden = true
		}
		last[key.Value] = len(out)
		out = append(out, yamlMember{key: n.Content[i], value: followAlias(n.Content[i+1]), name: strings.ToValidUTF8(key.Value, "\ufffd")})
	}
	return out
}

// yamlGet returns the value of a key of a mapping, the last of equal ones; nil when there is none.
func yamlGet(n *yaml.Node, path ...string) *yaml.Node {
	for _, name := range path {
		var found *yaml.Node
		for _, m := range yamlMembers(n) {
			if m.name == name && !m.overridden {
				found = m.value
			}
		}
		if n = found; n == nil {
			return nil
		}
	}
	return followAlias(n)
}

func yamlNull(n *yaml.Node) bool {
	return n == nil || n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null"
}

// yamlText returns a scalar that YAML takes for a text.
func yamlText(n *yaml.Node) (string, bool) {
	if n == nil || n.Kind != yaml.ScalarNode || n.ShortTag() != "!!str" {
		return "", false
	}
	return n.Value, true
}

// yamlTexts returns a list of texts.
func yamlTexts(n *yaml.Node) ([]string, bool) {
	if n == nil || n.Kind != yaml.SequenceNode {
		return nil, false
	}
	out := make([]string, 0, len(n.Content))
	for _, item := range n.Content {
		s, ok := yamlText(followAlias(item))
		if !ok {
			return nil, false
		}
		out = append(out, s)
	}
	return out, true
}

// yamlTextMap returns a mapping whose values are texts; loose takes other scalars as they are written.
func yamlTextMap(n *yaml.Node, loose bool) ([]model.Variable, bool) {
	if n == nil || n.Kind != yaml.MappingNode {
		return nil, false
	}
	var out []model.Variable
	for _, m := range yamlMembers(n) {
		if m.overridden {
			continue
		}
		s, ok := yamlText(m.value)
		if !ok && loose && m.value != nil && m.value.Kind == yaml.ScalarNode {
			s, ok = m.value.Value, true
		}
		if !ok {
			return nil, false
		}
		out = append(out, model.Variable{Name: m.name, Value: model.NewSecret(s)})
	}
	return out, true
}

// yamlBool returns what YAML 1.2 takes for a boolean.
func yamlBool(n *yaml.Node) (value, ok bool) {
	if n == nil || n.Kind != yaml.ScalarNode || n.ShortTag() != "!!bool" {
		return false, false
	}
	return strings.EqualFold(n.Value, "true"), true
}

// yamlWord names the kind of a node for a message.
func yamlWord(n *yaml.Node) string {
	switch {
	case n == nil:
		return "nothing"
	case n.Kind == yaml.MappingNode:
		return "a mapping"
	case n.Kind == yaml.SequenceNode:
		return "a list"
	case n.ShortTag() == "!!null":
		return "nothing"
	case n.ShortTag() == "!!str":
		return "a text"
	case n.ShortTag() == "!!bool":
		return "a boolean"
	default:
		return "a number"
	}
}

// yamlAt is the location of a node of a file.
func yamlAt(f *ConfigFile, key string, n *yaml.Node) model.Location {
	loc := model.Location{Path: f.Path, Key: key, Line: 1}
	if n != nil && n.Line > 0 {
		loc.Line = n.Line
	}
	return loc
}

// yamlLostNames names the entries below a top-level key of a file that does not parse, by their indentation.
func yamlLostNames(f *ConfigFile, key string) []model.Entry {
	var out []model.Entry
	have := map[string]bool{}
	inside, indent := false, 0
	for i, line := range strings.Split(string(f.Data), "\n") {
		line = strings.TrimRight(line, "\r")
		trimmed := strings.TrimLeft(line, " ")
		depth := len(line) - len(trimmed)
		switch {
		case trimmed == "" || trimmed[0] == '#':
			continue
		case depth == 0:
			inside, indent = strings.HasPrefix(trimmed, key+":"), 0
			continue
		case !inside:
			continue
		case indent == 0:
			indent = depth
		}
		name, _, ok := strings.Cut(trimmed, ":")
		name = strings.ToValidUTF8(strings.Trim(name, `"'`), "\ufffd")
		if depth != indent || !ok || have[name] {
			continue
		}
		have[name] = true
		out = append(out, model.Entry{Name: name, Scope: f.Scope, Source: model.Location{Path: f.Path, Key: JoinKey(key, name), Line: i + 1}})
	}
	return out
}

// setYAMLFlag makes a flag of the mapping at a path true or false by changing or adding its bytes alone.
func setYAMLFlag(data []byte, path []string, on bool) ([]byte, error) {
	parsed := parseYAML(data)
	if parsed.err != nil {
		return nil, parsed.err
	}
	flag, parents := path[len(path)-1], path[:len(path)-1]
	entry := parsed.root
	var keyNode *yaml.Node
	for _, name := range parents {
		var next *yaml.Node
		for _, m := range yamlMembers(entry) {
			if m.name == name && !m.overridden {
				next, keyNode = m.value, m.key
				if i := indexOfNode(entry, m.key); i >= 0 && entry.Content[i+1].Kind == yaml.AliasNode {
					return nil, errors.New("the entry is an alias of another one")
				}
			}
		}
		if entry = next; entry == nil {
			return nil, errors.New("the entry is not there")
		}
	}
	if entry.Kind != yaml.MappingNode || len(entry.Content) == 0 {
		return nil, errors.New("the entry is no mapping with keys")
	}
	if entry.Anchor != "" {
		return nil, errors.New("other entries refer to this one")
	}
	word := strconv.FormatBool(on)
	text := string(data)
	var after string
	if value := memberNode(entry, flag); value != nil {
		if value.Kind != yaml.ScalarNode {
			return nil, fmt.Errorf("%s is %s", flag, yamlWord(value))
		}
		start, err := yamlOffset(text, value.Line, value.Column)
		if err != nil {
			return nil, err
		}
		end, err := yamlScalarEnd(text, start, value)
		if err != nil {
			return nil, err
		}
		after = text[:start] + word + text[end:]
	} else {
		first := entry.Content[0]
		start, err := yamlOffset(text, first.Line, first.Column)
		if err != nil {
			return nil, err
		}
		switch {
		case entry.Style&yaml.FlowStyle != 0:
			after = text[:start] + flag + ": " + word + ", " + text[start:]
		case first.Line == keyNode.Line:
			return nil, errors.New("the entry stands on the line of its name")
		default:
			lineStart := strings.LastIndexByte(text[:start], '\n') + 1
			indent := text[lineStart:start]
			if strings.Trim(indent, " ") != "" {
				return nil, errors.New("the entry starts in the middle of a line")
			}
			eol := "\n"
			if lineStart >= 2 && text[lineStart-2] == '\r' {
				eol = "\r\n"
			}
			after = text[:lineStart] + indent + flag + ": " + word + eol + text[lineStart:]
		}
	}
	if err := checkYAMLChange(data, []byte(after), path, on); err != nil {
		return nil, err
	}
	return []byte(after), nil
}

func indexOfNode(parent, child *yaml.Node) int {
	parent = followAlias(parent)
	for i := 0; parent != nil && i+1 < len(parent.Content); i += 2 {
		if parent.Content[i] == child {
			return i
		}
	}
	return -1
}

// memberNode is the value of a key as it stands there, aliases not followed.
func memberNode(mapping *yaml.Node, name string) *yaml.Node {
	var found *yaml.Node
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		if mapping.Content[i].Value == name {
			found = mapping.Content[i+1]
		}
	}
	return found
}

// yamlOffset turns a line and a column, in characters from 1, into a byte offset.
func yamlOffset(text string, line, column int) (int, error) {
	at := 0
	for ; line > 1; line-- {
		i := strings.IndexByte(text[at:], '\n')
		if i < 0 {
			return 0, errors.New("the place of the entry is unclear")
		}
		at += i + 1
	}
	if at == 0 {
		at = len(text) - len(strings.TrimPrefix(text, "\ufeff"))
	}
	for i := range text[at:] {
		if column == 1 {
			return at + i, nil
		}
		column--
	}
	return 0, errors.New("the place of the entry is unclear")
}

// yamlScalarEnd is where a scalar of one line ends.
func yamlScalarEnd(text string, start int, n *yaml.Node) (int, error) {
	rest := text[start:]
	switch {
	case n.Anchor != "" || n.Style&(yaml.LiteralStyle|yaml.FoldedStyle|yaml.TaggedStyle) != 0:
	case n.Style&(yaml.DoubleQuotedStyle|yaml.SingleQuotedStyle) != 0:
		if len(rest) > 1 {
			if i := strings.IndexByte(rest[1:], rest[0]); i >= 0 && rest[1:1+i] == n.Value {
				return start + i + 2, nil
			}
		}
	case strings.HasPrefix(rest, n.Value):
		return start + len(n.Value), nil
	}
	return 0, errors.New("the switch is written in a way that is not changed")
}

// checkYAMLChange holds a change to what it owes: the same tree but for the one flag.
func checkYAMLChange(before, after []byte, path []string, on bool) error {
	was, is := parseYAML(before), parseYAML(after)
	if is.err != nil {
		return errors.New("the file would not be YAML any more")
	}
	if value, ok := yamlBool(yamlGet(is.root, path...)); !ok || value != on {
		return errors.New("the flag would not be what it should be")
	}
	if !sameYAML(was.root, is.root, path, 0) {
		return errors.New("more than the flag would change")
	}
	return nil
}

// sameYAML compares trees; the value at the path, and whether it is there, does not count.
func sameYAML(a, b *yaml.Node, path []string, depth int) bool {
	if a == nil || b == nil || a.Kind != b.Kind || depth > 1000 {
		return a == nil && b == nil
	}
	switch a.Kind {
	case yaml.ScalarNode:
		return a.Value == b.Value && a.Tag == b.Tag && a.Anchor == b.Anchor
	case yaml.AliasNode:
		return a.Value == b.Value
	case yaml.MappingNode:
		skip := func(n *yaml.Node) []*yaml.Node {
			var out []*yaml.Node
			for i := 0; i+1 < len(n.Content); i += 2 {
				if len(path) != 1 || n.Content[i].Value != path[0] {
					out = append(out, n.Content[i], n.Content[i+1])
				}
			}
			return out
		}
		x, y := skip(a), skip(b)
		if len(x) != len(y) || a.Anchor != b.Anchor {
			return false
		}
		for i := 0; i+1 < len(x); i += 2 {
			var below []string
			if len(path) > 1 && x[i].Value == path[0] {
				below = path[1:]
			}
			if !sameYAML(x[i], y[i], nil, depth+1) || !sameYAML(x[i+1], y[i+1], below, depth+1) {
				return false
			}
		}
		return true
	default:
		if len(a.Content) != len(b.Content) {
			return false
		}
		for i := range a.Content {
			if !sameYAML(a.Content[i], b.Content[i], nil, depth+1) {
				return false
			}
		}
		return true
	}
}
