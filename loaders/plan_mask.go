package loaders

import (
	"regexp"
	"slices"
	"strings"

	"fusebox/loaders/jsonc"
	"fusebox/loaders/tomledit"
	"fusebox/model"
)

// secretParents are keys of all harnesses below which every value may be a secret.
var secretParents = []string{"env", "environment", "headers", "http_headers", "httpheaders", "requestinit", "mcpoauth", "oauth", "auth"}

// plainValues are words of the harnesses that stand under names which may look secret, such as paths of folders.
var plainValues = []string{"TRUST_FOLDER", "TRUST_PARENT", "DO_NOT_TRUST", "trusted", "untrusted", ""}

// isSecretPlace tells whether a value at a key path is hidden whatever it is.
func isSecretPlace(path []string) bool {
	key := ""
	for _, p := range slices.Backward(path) {
		if !isIndex(p) {
			key = p
			break
		}
	}
	if model.IsSecretName(key) && !strings.ContainsAny(key, `/\`) {
		return true
	}
	for i := range max(0, len(path)-1) {
		if slices.Contains(secretParents, strings.ToLower(path[i])) {
			return true
		}
	}
	return false
}

func isIndex(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}

// isArgument tells whether a value is an element of a list of arguments, and gives its place.
func isArgumentList(path []string) bool {
	return len(path) > 0 && (path[len(path)-1] == "args" || path[len(path)-1] == "command")
}

// maskSpan is a part of a file that is shown as something else.
type maskSpan struct {
	start, end int
	text       string
}

// maskFile returns a file with its secrets replaced by dots, as many lines as before, and the secrets for looking for them
// elsewhere. A file that does not parse is hidden line by line.
func maskFile(data []byte, format Format) ([]byte, []model.Variable) {
	m := &masker{data: data}
	if format.YAML {
		return hideLines(data), nil
	}
	if format.TOML {
		doc, err := tomledit.Parse(data)
		if err != nil {
			return hideLines(data), nil
		}
		m.toml(doc)
	} else {
		o := format.JSON
		o.Lenient = false
		if strings.TrimSpace(string(data)) == "" {
			return data, nil
		}
		doc, err := jsonc.Parse(data, o)
		if err != nil {
			return hideLines(data), nil
		}
		m.json(nil, doc.Root())
	}
	slices.SortFunc(m.spans, func(a, b maskSpan) int { return a.start - b.start })
	var out []byte
	last := 0
	for _, s := range m.spans {
		if s.start < last {
			continue
		}
		out = append(out, data[last:s.start]...)
		out = append(out, s.text...)
		for range strings.Count(string(data[s.start:s.end]), "\n") - strings.Count(s.text, "\n") {
			out = append(out, '\n')
		}
		last = s.end
	}
	return append(out, data[last:]...), m.secrets
}

func hideLines(data []byte) []byte {
	lines := strings.Split(string(data), "\n")
	for i, l := range lines {
		lines[i] = hideValues(l)
	}
	return []byte(strings.Join(lines, "\n"))
}

type masker struct {
	data    []byte
	spans   []maskSpan
	secrets []model.Variable
}

// text hides a text at a place, if it has to be. quote writes a text of the format.
func (m *masker) text(path []string, value string, start, end int, quote func(string) string) {
	shown := value
	switch {
	case slices.Contains(plainValues, value):
	case isSecretPlace(path):
		shown = model.Dots
		name := "secret"
		if len(path) > 0 {
			name = path[len(path)-1]
		}
		m.secrets = append(m.secrets, model.Variable{Name: name, Value: model.NewSecret(value)})
	case len(path) > 0 && path[len(path)-1] == "command":
		shown = model.MaskCommand(value)
	default:
		shown = model.MaskText(value)
	}
	if shown != value {
		m.spans = append(m.spans, maskSpan{start, end, quote(shown)})
	}
}

// arguments hides in a list of arguments what MaskArguments hides.
func (m *masker) arguments(path []string, values []string, spans []maskSpan, quote func(string) string) {
	if isSecretPlace(path) {
		for i, v := range values {
			m.text(path, v, spans[i].start, spans[i].end, quote)
		}
		return
	}
	for i, shown := range model.MaskArguments(values) {
		if shown != values[i] {
			m.spans = append(m.spans, maskSpan{spans[i].start, spans[i].end, quote(shown)})
		}
	}
}

func (m *masker) json(path []string, v jsonc.Value) {
	switch v.Kind() {
	case jsonc.Object:
		for _, x := range v.Members() {
			m.json(append(path[:len(path):len(path)], x.Key), x.Value)
		}
	case jsonc.Array:
		if values, ok := v.Strings(); ok && isArgumentList(path) {
			var spans []maskSpan
			for _, x := range v.Elements() {
				spans = append(spans, maskSpan{start: x.Offset(), end: x.End()})
			}
			m.arguments(path, values, spans, jsonc.Quote)
			return
		}
		for _, x := range v.Elements() {
			m.json(append(path[:len(path):len(path)], "0"), x)
		}
	case jsonc.String:
		text, _ := v.Str()
		m.text(path, text, v.Offset(), v.End(), jsonc.Quote)
	case jsonc.Number:
		if isSecretPlace(path) {
			m.spans = append(m.spans, maskSpan{v.Offset(), v.End(), model.Dots})
		}
	}
}

func (m *masker) toml(doc *tomledit.Document) {
	var list []string // the list that the arguments at hand belong to
	var values []string
	var spans []maskSpan
	flush := func() {
		if len(values) > 0 {
			m.arguments(list, values, spans, tomledit.Quote)
		}
		list, values, spans = nil, nil, nil
	}
	doc.Values(func(path []string, start, end int) {
		raw := string(m.data[start:end])
		value, isText := tomlString(raw)
		last := len(path) - 1
		if isText && last > 0 && isIndex(path[last]) && isArgumentList(path[:last]) {
			if !slices.Equal(list, path[:last]) {
				flush()
				list = slices.Clone(path[:last])
			}
			values, spans = append(values, value), append(spans, maskSpan{start: start, end: end})
			return
		}
		flush()
		switch {
		case isText:
			m.text(path, value, start, end, tomledit.Quote)
		case isSecretPlace(path) && raw != "true" && raw != "false":
			m.spans = append(m.spans, maskSpan{start, end, model.Dots})
		}
	})
	flush()
}

// tomlString reads a literal of a TOML file if it is a text.
func tomlString(raw string) (string, bool) {
	if raw == "" || raw[0] != '"' && raw[0] != '\'' {
		return "", false
	}
	doc, err := tomledit.Parse([]byte("v = " + raw))
	if err != nil {
		return "", false
	}
	text, ok := doc.Tree()["v"].(string)
	return text, ok
}

// assignedText finds NAME = VALUE and "NAME": VALUE in a line, for what stands in comments.
var assignedText = regexp.MustCompile(`(["']?)([A-Za-z_][A-Za-z0-9_.-]*)(["']?\s*[:=]\s*["']?)([^\s"',;}\]]+)`)

// flaggedText finds --NAME VALUE and "--NAME", "VALUE" in a line.
var flaggedText = regexp.MustCompile(`(--?([A-Za-z][A-Za-z0-9_-]*)["']?[\s,=]\s*["']?)([^\s"',;}\]#/-][^\s"',;}\]]*)`)

// secretTable finds env = { ... } and the like, whose values may all be secrets; tableValue one of them.
var (
	secretTable = regexp.MustCompile(`(?i)(env|environment|headers|http_headers|requestinit)["']?\s*[:=]\s*\{[^}]*`)
	tableValue  = regexp.MustCompile(`([:=]\s*)("[^"]*"?|'[^']*'?|[^\s,{"'][^,]*)`)
)

// maskLine hides what looks like a secret in a line, and makes it safe to show.
func maskLine(line string) string {
	line = model.Clean(strings.ReplaceAll(line, "\t", "    "))
	if strings.Contains(line, "//") || strings.Contains(line, "#") || strings.Contains(line, "/*") || strings.HasPrefix(strings.TrimSpace(line), "*") {
		line = assignedText.ReplaceAllStringFunc(line, func(found string) string {
			m := assignedText.FindStringSubmatch(found)
			switch strings.TrimRight(m[4], ",") {
			case "true", "false", "null", "{", "[", "{}", "[]", model.Dots:
				return found
			}
			if !model.IsSecretName(m[2]) || slices.Contains(plainValues, m[4]) {
				return found
			}
			return m[1] + m[2] + m[3] + model.Dots
		})
		line = secretTable.ReplaceAllStringFunc(line, func(found string) string {
			at := strings.IndexByte(found, '{')
			return found[:at] + tableValue.ReplaceAllString(found[at:], "${1}"+model.Dots)
		})
		line = flaggedText.ReplaceAllStringFunc(line, func(found string) string {
			m := flaggedText.FindStringSubmatch(found)
			if !model.IsSecretName(m[2]) {
				return found
			}
			return m[1] + model.Dots
		})
	}
	indent := line[:len(line)-len(strings.TrimLeft(line, " "))]
	return indent + model.MaskText(line[len(indent):])
}
