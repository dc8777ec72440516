package loaders

import (
	"regexp"
	"strings"

	"fusebox/loaders/jsonc"
	"fusebox/model"
)

// extensionRules are the path rules of extension-enablement.json, which Gemini CLI 0.61.0 and Qwen Code 0.24.4 share:
// {"<extension>": {"overrides": ["/path/*", "!/other/"]}}.
type extensionRules struct {
	file *ConfigFile
}

// readExtensionRules reads the rules. One wrong value makes the harness read the whole file as empty.
func readExtensionRules(r *Reader, path string) extensionRules {
	rules := extensionRules{file: r.ReadJSON(path, model.ScopeExtension, 0, jsonc.Options{ReplaceInvalidUTF8: true})}
	if !rules.file.OK() {
		return rules
	}
	root := rules.file.Root()
	if root.Kind() != jsonc.Object {
		r.Refuse(rules.file, rules.file.At("", root), "the top level is "+typeWord(root)+", not an object")
	}
	for _, m := range root.Members() {
		if _, ok := m.Value.Get("overrides").Strings(); !ok && !m.Shadowed {
			r.Refuse(rules.file, rules.file.Member(JoinKey(m.Key), m), "overrides of "+quoted(m.Key)+" is no list of texts")
			break
		}
	}
	return rules
}

// enabled tells whether an extension is on in a folder: the last rule that matches wins, none means on. at is the rule
// that decides.
func (rules extensionRules) enabled(extension, folder string) (on bool, at model.Location) {
	if !rules.file.OK() {
		return true, model.Location{}
	}
	on = true
	folder = slashedPath(folder)
	for _, item := range rules.file.Root().Lookup(extension, "overrides").Elements() {
		rule, _ := item.Str()
		rule, off := strings.CutPrefix(rule, "!")
		if extensionRuleMatches(rule, folder) {
			on, at = !off, rules.file.At(JoinKey(extension, "overrides"), item)
		}
	}
	return on, at
}

// slashedPath writes a path with / only, and with one at both ends.
func slashedPath(path string) string {
	path = strings.ReplaceAll(path, `\`, "/")
	if !strings.HasPrefix(path, "/") {
		path = "/" + path
	}
	if !strings.HasSuffix(path, "/") {
		path += "/"
	}
	return path
}

// extensionRuleMatches compares a rule with a folder: * stands for any rest, and a slash before it for nothing as well.
func extensionRuleMatches(rule, folder string) bool {
	if !strings.Contains(rule, "*") {
		return rule == folder
	}
	var b strings.Builder
	b.WriteString("^")
	for i, part := range strings.Split(rule, "*") {
		if i > 0 {
			b.WriteString(".*)?")
		}
		open := i < strings.Count(rule, "*")
		if rest, ok := strings.CutSuffix(part, "/"); ok && open {
			b.WriteString(regexp.QuoteMeta(rest) + "(/")
			continue
		}
		b.WriteString(regexp.QuoteMeta(part))
		if open {
			b.WriteString("(")
		}
	}
	b.WriteString("$")
	re, err := regexp.Compile(b.String())
	return err == nil && re.MatchString(folder)
}
