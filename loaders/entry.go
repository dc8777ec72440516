package loaders

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"fusebox/loaders/jsonc"
	"fusebox/model"
)

// What the harness files share: cells for entries, findings for names and variables, and small readings of JSON values.

// stringMap reads an object whose values are all strings, in file order; the last of equal keys wins.
func stringMap(v jsonc.Value) ([]model.Variable, bool) {
	if v.Kind() != jsonc.Object {
		return nil, false
	}
	members := v.Members()
	out := make([]model.Variable, 0, len(members))
	for _, m := range members {
		if m.Shadowed {
			continue
		}
		s, ok := m.Value.Str()
		if !ok {
			return nil, false
		}
		out = append(out, model.Variable{Name: m.Key, Value: model.NewSecret(s)})
	}
	return out, true
}

// duplicateFinding says that a name stands more than once in an object, and which line counts.
func duplicateFinding(name string, line int) model.Finding {
	return model.Finding{Code: model.FindingDuplicateKey, Severity: model.Warning, Line: line,
		Text: fmt.Sprintf("%s stands more than once in the file; the last one counts", quoted(name))}
}

// duplicates returns, for every name that stands more than once in an object, the line of an entry that is not used.
func duplicates(members []jsonc.Member) map[string]int {
	var out map[string]int
	for _, m := range members {
		if m.Shadowed {
			if out == nil {
				out = map[string]int{}
			}
			out[m.Key] = m.Line()
		}
	}
	return out
}

// quoted shows a foreign name in a sentence: cleaned, shortened, in quotes when it is empty or has blanks.
func quoted(name string) string {
	name = model.Clean(name)
	if r := []rune(name); len(r) > 60 {
		name = string(r[:59]) + "…"
	}
	if name == "" || strings.ContainsAny(name, " \ufffd") {
		return `"` + name + `"`
	}
	return name
}

// unsetFinding names a variable that has no value here.
func unsetFinding(name, consequence string, line int) model.Finding {
	return model.Finding{Code: model.FindingUnsetVariable, Severity: model.Warning, Line: line,
		Text: fmt.Sprintf("%s is not set here: %s", quotedVariable(name), consequence)}
}

var (
	variableStart = regexp.MustCompile(`^(?:env:)?[A-Za-z0-9_.]*`)
	keyStart      = regexp.MustCompile(`^[A-Za-z0-9_$.-]*`)
	inputStart    = regexp.MustCompile(`^[A-Za-z0-9_./-]*`)
)

// quotedVariable shows the name in a reference to a variable. What follows the name, such as a default, may be a secret, and
// what is no name may be one that was put into braces.
func quotedVariable(reference string) string { return quotedStart(variableStart, reference) }

// quotedKey shows a key that the harness does not know: where a quote is missing, the rest of it may be a value.
func quotedKey(key string) string { return quotedStart(keyStart, key) }

// quotedInput does so for what a program asks the user for.
func quotedInput(reference string) string { return quotedStart(inputStart, reference) }

func quotedStart(start *regexp.Regexp, reference string) string {
	name := start.FindString(reference)
	if name != reference {
		name += "…"
	}
	return quoted(name)
}

var bracedVariable = regexp.MustCompile(`\$\{([A-Za-z_][A-Za-z0-9_]*)(:-([^}]*))?\}`)

// unsetBraced returns the names of ${NAME} references without a value and without a default, each once, in order.
func unsetBraced(env *Env, texts ...string) []string {
	var names []string
	for _, t := range texts {
		if !strings.Contains(t, "${") {
			continue
		}
		for _, m := range bracedVariable.FindAllStringSubmatch(t, -1) {
			if _, set := env.Lookup(m[1]); !set && m[2] == "" && !slices.Contains(names, m[1]) {
				names = append(names, m[1])
			}
		}
	}
	return names
}

// foreignReference finds ${env:NAME}, ${input:NAME} and {env:NAME}, which other harnesses fill in.
var foreignReference = regexp.MustCompile(`\$?\{(env|input|file|userHome|workspaceFolder)(:[^}]*)?\}`)

// anyReference finds ${...} and {env:...}, in whichever way a harness may write a variable.
var anyReference = regexp.MustCompile(`\$\{[^{}]*\}|\{(env|file):[^{}]*\}`)

// foreignKind are the beginnings of references that mean nothing but a variable.
var foreignKind = regexp.MustCompile(`^(env|input|file):`)

// strangeReferences name what is written like a variable in a definition and is none to the harness, which takes it as it
// stands. taken tells what of ${...} is one.
func strangeReferences(title string, d *model.Definition, taken func(inside string) bool) []model.Finding {
	var out []model.Finding
	for _, text := range definitionTexts(d) {
		if !strings.Contains(text, "{") {
			continue
		}
		for _, ref := range anyReference.FindAllString(text, -1) {
			open := ref[:strings.IndexByte(ref, '{')+1]
			inside := ref[len(open) : len(ref)-1]
			name := variableStart.FindString(inside)
			if name == "" || open == "${" && taken(inside) {
				continue
			}
			if name != inside {
				name += "…"
			}
			f := model.Finding{Code: model.FindingUnsetVariable, Severity: model.Info,
				Text: quoted(open+name+"}") + " is not known to be filled in by " + title + ": the text stays as written"}
			if foreignKind.MatchString(inside) {
				f.Severity = model.Warning
			}
			if !slices.Contains(out, f) {
				out = append(out, f)
			}
		}
	}
	return out
}

// noReference is for a harness that fills in nothing.
func noReference(string) bool { return false }

// definitionTexts returns every text of a definition in which a harness may fill in variables.
func definitionTexts(d *model.Definition) []string {
	texts := append([]string{d.Command, d.URL.Reveal(), d.Cwd}, d.ArgTexts()...)
	for _, vs := range [][]model.Variable{d.Env, d.Headers} {
		for _, v := range vs {
			texts = append(texts, v.Value.Reveal())
		}
	}
	return texts
}

// repositoryFinding marks an entry that comes from a file inside the folder and that the harness loads without asking.
func repositoryFinding() model.Finding {
	return model.Finding{Code: model.FindingFromRepository, Severity: model.Info,
		Text: "a file of this folder declares it: whoever can change the folder can change it"}
}

// cell makes a cell of an entry.
func cell(e model.Entry, d model.Decision, reason model.Reason) *model.Cell {
	return &model.Cell{Entry: e, Decision: d, Reason: reason}
}

// consentOfFolder notes where the consent is recorded that lets a harness load what files of the folder declare, wholly or
// in part.
func consentOfFolder(cells []*model.Cell, at model.Location) {
	for _, c := range cells {
		ofFolder := c.Scope == model.ScopeProject || slices.ContainsFunc(c.Replaces, func(r model.Replaced) bool { return r.Merged && r.Scope == model.ScopeProject })
		if ofFolder && c.Decision == model.DecisionLoads && c.Consent.IsZero() {
			c.Consent = at
		}
	}
}

// typeWord names the kind of a JSON value for a message.
func typeWord(v jsonc.Value) string {
	switch v.Kind() {
	case jsonc.Null:
		return "null"
	case jsonc.Bool:
		return "a boolean"
	case jsonc.Number:
		return "a number"
	case jsonc.String:
		return "a text"
	case jsonc.Array:
		return "a list"
	case jsonc.Object:
		return "an object"
	default:
		return "missing"
	}
}

// memberNames are the names of an object's members, each once.
func memberNames(members []jsonc.Member) []string {
	out := make([]string, 0, len(members))
	for _, m := range members {
		if !m.Shadowed {
			out = append(out, m.Key)
		}
	}
	return out
}
