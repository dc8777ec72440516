package loaders

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"fusebox/loaders/jsonc"
	"fusebox/model"
)

// The extensions of Qwen Code 0.24.4, and which of them are on (bundle; the common cases were observed).

var qwenExtensionName = regexp.MustCompile(`^[a-zA-Z0-9_.-]+$`)

// readExtensions reads the installed extensions, in the order of their folders, and the switches of their servers.
func (q *qwen) readExtensions() {
	dir := filepath.Join(q.dir, "extensions")
	store := q.readExtensionStore(dir)
	q.prefs = q.r.ReadJSON(filepath.Join(dir, "extension-preferences.json"), model.ScopeExtension, 0, jsonc.Options{ReplaceInvalidUTF8: true})
	if q.prefs.Status == model.FileMalformed {
		q.note("switches-not-read", q.prefs.Path, q.prefs.Location().Line, "%s does not parse: Qwen Code moves it aside and takes every extension server as on", q.tilde(q.prefs.Path))
	}
	for _, sub := range q.r.ReadDir(dir) {
		folder := filepath.Join(dir, sub)
		if !q.r.IsDir(folder) {
			continue
		}
		x := qwenExtension{dir: folder}
		install := q.r.Peek(filepath.Join(folder, ".qwen-extension-install.json"), model.ScopeExtension)
		q.r.Drop(install)
		if kind, source := installRecord(install); kind == "link" && source != "" {
			x.dir = q.absolute(source)
		}
		if !q.readExtension(&x) {
			continue
		}
		x.active, x.offAt = store.active(q, x.name)
		q.extensions = append(q.extensions, x)
	}
	for i := range q.extensions {
		for j := range q.extensions[i].entries {
			q.extensions[i].entries[j].extension = &q.extensions[i]
		}
	}
}

// readExtension reads the manifest of an extension; false if Qwen Code skips it.
func (q *qwen) readExtension(x *qwenExtension) bool {
	strict := jsonc.Options{ReplaceInvalidUTF8: true}
	if plugin := q.r.Peek(filepath.Join(x.dir, "plugin.json"), model.ScopeExtension); plugin.Exists() {
		q.r.Drop(plugin)
		if doc, err := jsonc.Parse(plugin.Data, strict); err == nil {
			if schema, _ := doc.Root().Get("$schema").Str(); strings.HasPrefix(schema, agentPluginSchemas) {
				return schema == agentPluginSchemas+"1.0.0/plugin.schema.json" && q.readAgentPlugin(x, doc.Root())
			}
		}
	}
	if stray := filepath.Join(x.dir, ".mcp.json"); q.r.Ignored(stray, model.ScopeExtension, "not read by Qwen Code") {
		q.note(string(model.FindingFileNotRead), stray, 1, "%s is not read by Qwen Code: the servers of an extension belong into qwen-extension.json", q.tilde(stray))
	}
	f := q.r.ReadJSON(filepath.Join(x.dir, "qwen-extension.json"), model.ScopeExtension, 0, strict)
	x.file = f
	if f.Status == model.FileAbsent {
		return false
	}
	root := f.Root()
	x.name, _ = root.Get("name").Str()
	skip, skipAt := "", f.At("name", root.Get("name"))
	switch {
	case !f.OK():
		skip = f.Note
	case root.Kind() != jsonc.Object:
		skip = "the top level is " + typeWord(root)
	case !truthy(root.Get("name"), same):
		skip = "it has no name"
	case !qwenExtensionName.MatchString(x.name):
		skip = "its name may hold only letters, digits, _ . and -"
	}
	for _, m := range root.Get("mcpServers").Members() {
		if skip == "" && !m.Shadowed && m.Value.Kind() == jsonc.Null {
			skip, skipAt = "the entry "+quoted(m.Key)+" is null", f.Member("mcpServers."+JoinKey(m.Key), m)
		}
	}
	if skip == "" {
		x.entries = q.entries(f, f.Root().Get("mcpServers"), model.ScopeExtension, x)
		return true
	}
	if f.OK() {
		q.r.Refuse(f, skipAt, skip)
	}
	q.note("extension-skipped", f.Path, f.Location().Line, "Qwen Code skips the extension of %s: %s", q.tilde(f.Path), skip)
	lost := *x
	from := f
	if f.JSON == nil && f.Status == model.FileMalformed {
		from = q.r.Recover(f)
	}
	lost.entries = q.entries(from, from.Root().Get("mcpServers"), model.ScopeExtension, nil)
	for i := range lost.entries {
		e := &lost.entries[i]
		e.lost = true
		e.fault = model.Reason{Code: model.ReasonFileRefused, DecidedBy: f.Location(), Text: q.tilde(f.Path) + " is skipped as a whole: " + skip}
	}
	lost.active = true
	q.extensions = append(q.extensions, lost)
	return false
}

const agentPluginSchemas = "https://agent-plugins.org/schemas/"

// readAgentPlugin reads an extension of the agent plugins format: its servers are in mcp.json, and their type decides.
func (q *qwen) readAgentPlugin(x *qwenExtension, manifest jsonc.Value) bool {
	x.plugin = true
	x.name, _ = manifest.Get("name").Str()
	x.file = q.r.ReadJSON(filepath.Join(x.dir, "mcp.json"), model.ScopeExtension, 0, jsonc.Options{ReplaceInvalidUTF8: true})
	if x.name == "" || !x.file.OK() {
		return false
	}
	x.entries = q.entries(x.file, x.file.Root().Get("mcpServers"), model.ScopeExtension, x)
	return true
}

// qwenStore says which extensions are on: state.json of the extension store, and its copy extension-enablement.json, which
// counts where it is newer.
type qwenStore struct {
	state, copy *ConfigFile
	copyCounts  bool // the copy was edited after the state
	copyDiffers bool
}

// readExtensionStore reads state and copy. A broken one of either ends every command that loads extensions.
func (q *qwen) readExtensionStore(dir string) qwenStore {
	strict := jsonc.Options{ReplaceInvalidUTF8: true}
	s := qwenStore{
		state: q.r.ReadJSON(filepath.Join(q.dir, "extension-store", "state.json"), model.ScopeExtension, 0, strict),
		copy:  q.r.ReadJSON(filepath.Join(dir, "extension-enablement.json"), model.ScopeExtension, 0, strict),
	}
	if s.copy.OK() {
		if why, at := badExtensionCopy(s.copy); why != "" {
			q.r.Refuse(s.copy, at, why)
		}
	}
	if s.state.OK() {
		root := s.state.Root()
		if version, _ := root.Get("version").Number(); version != "2" || root.Get("extensions").Kind() != jsonc.Object {
			q.r.Refuse(s.state, s.state.At("version", root.Get("version")), "it is no extension store of version 2")
		}
	}
	for _, f := range []*ConfigFile{s.copy, s.state} {
		if f.Status == model.FileMalformed {
			q.fail(f.Location(), "every command of Qwen Code that loads extensions ends while %s is broken: %s", q.tilde(f.Path), f.Note)
		}
	}
	if !s.state.OK() {
		s.copyCounts = s.copy.OK()
		return s
	}
	text := "{}"
	if s.copy.OK() {
		text = jsStringify(jsValue(s.copy.Root()))
	}
	sum := sha256.Sum256([]byte(text))
	stored, _ := s.state.Root().Get("legacyProjectionHash").Str()
	s.copyDiffers = stored != hex.EncodeToString(sum[:])
	if !s.copyDiffers || !s.copy.OK() {
		return s
	}
	state, errState := q.r.Stat(s.state.Path)
	written, errCopy := q.r.Stat(s.copy.Path)
	if errState != nil || errCopy != nil {
		return s
	}
	if state.ModTime().Equal(written.ModTime()) {
		at := s.copy.Location()
		q.fail(at, "%s and the extension store say different things and are of the same moment: every command of Qwen Code that loads extensions ends", q.tilde(at.Path))
		q.r.Refuse(s.copy, at, "it disagrees with extension-store/state.json, which is of the same moment")
		return s
	}
	s.copyCounts = written.ModTime().After(state.ModTime())
	return s
}

// badExtensionCopy says why extension-enablement.json is refused.
func badExtensionCopy(f *ConfigFile) (string, model.Location) {
	root := f.Root()
	if root.Kind() != jsonc.Object {
		return "the top level is " + typeWord(root) + ", not an object", f.At("", root)
	}
	seen := map[string]bool{}
	for _, m := range root.Members() {
		if m.Shadowed {
			continue
		}
		if _, ok := m.Value.Get("overrides").Strings(); !ok {
			return "overrides of " + quoted(m.Key) + " is no list of texts", f.Member(JoinKey(m.Key), m)
		}
		if seen[strings.ToLower(m.Key)] {
			return quoted(m.Key) + " stands twice, in other letters", f.Member(JoinKey(m.Key), m)
		}
		seen[strings.ToLower(m.Key)] = true
	}
	return "", model.Location{}
}

// qwenPathRule is a rule about a folder; it is off when disable is set.
type qwenPathRule struct {
	path    string // with slashes at both ends, and * behind it for "and below"
	disable bool
	at      model.Location
}

func newQwenPathRule(text string, at model.Location) qwenPathRule {
	path, disable := strings.CutPrefix(text, "!")
	return qwenPathRule{path: path, disable: disable, at: at}
}

// active tells whether an extension is on in this folder, and which line says so.
func (s qwenStore) active(q *qwen, name string) (on bool, at model.Location) {
	on = true
	var rules []qwenPathRule
	exact := ""
	var exactAt model.Location
	policy, key := s.policy(name)
	if policy.Exists() {
		if d, _ := policy.Get("defaultActivation").Str(); d == "disabled" {
			on, at = false, s.state.At(JoinKey("extensions", key, "defaultActivation"), policy.Get("defaultActivation"))
		}
		rules = s.pathRules(policy.Get("legacyPathRules"), s.state, JoinKey("extensions", key, "legacyPathRules"))
		v := policy.Get("workspaceOverrides").Get(q.cwd)
		exact, _ = v.Str()
		exactAt = s.state.At(JoinKey("extensions", key, "workspaceOverrides", q.cwd), v)
	}
	switch {
	case s.copyCounts && policy.Exists():
		// The copy holds what the state says as generated rules, and what was edited in.
		rules = nil
		generated := s.generated(policy)
		for _, r := range s.copyRules(name) {
			if i := slices.IndexFunc(generated, func(g qwenPathRule) bool { return g.path == r.path && g.disable == r.disable }); i >= 0 {
				generated = slices.Delete(generated, i, i+1)
				continue
			}
			i := slices.IndexFunc(generated, func(g qwenPathRule) bool { return g.path == r.path })
			if i < 0 {
				rules = append(rules, r)
				continue
			}
			if generated[i].path == "/*" {
				on, at = true, model.Location{}
			} else if generated[i].path == slashedPath(q.cwd) {
				exact, exactAt = "enabled", r.at
				if r.disable {
					exact = "disabled"
				}
			}
			generated = slices.Delete(generated, i, i+1)
		}
	case !policy.Exists() && (s.copyCounts || !s.copyDiffers):
		rules = s.copyRules(name)
	case !policy.Exists():
		if v, key := foldedMember(s.state.Root().Get("legacyProjectionRemainder"), name); v.Exists() {
			rules = s.pathRules(v.Get("overrides"), s.state, JoinKey("legacyProjectionRemainder", key))
		}
	}
	switch exact {
	case "enabled", "disabled":
		return exact == "enabled", exactAt
	case "inherit":
		return on, at
	}
	here := slashedPath(q.cwd)
	for _, r := range rules {
		if extensionRuleMatches(r.path, here) {
			on, at = !r.disable, r.at
		}
	}
	return on, at
}

// policy finds what state.json says about an extension; letter case of the name does not count.
func (s qwenStore) policy(name string) (jsonc.Value, string) {
	if !s.state.OK() {
		return jsonc.Value{}, ""
	}
	for _, m := range s.state.Root().Get("extensions").Members() {
		if n, _ := m.Value.Get("name").Str(); !m.Shadowed && strings.EqualFold(n, name) {
			return m.Value, m.Key
		}
	}
	return jsonc.Value{}, ""
}

// generated are the rules that the copy holds for a policy besides its own path rules.
func (s qwenStore) generated(policy jsonc.Value) []qwenPathRule {
	var out []qwenPathRule
	standard, _ := policy.Get("defaultActivation").Str()
	if standard == "disabled" {
		out = append(out, qwenPathRule{path: "/*", disable: true})
	}
	for _, m := range policy.Get("workspaceOverrides").Members() {
		if m.Shadowed {
			continue
		}
		activation, _ := m.Value.Str()
		if activation == "inherit" {
			activation = standard
		}
		out = append(out, qwenPathRule{path: slashedPath(m.Key), disable: activation == "disabled"})
	}
	return out
}

func (s qwenStore) copyRules(name string) []qwenPathRule {
	if !s.copy.OK() {
		return nil
	}
	v, key := foldedMember(s.copy.Root(), name)
	return s.pathRules(v.Get("overrides"), s.copy, JoinKey(key, "overrides"))
}

func (s qwenStore) pathRules(list jsonc.Value, f *ConfigFile, key string) []qwenPathRule {
	var out []qwenPathRule
	for _, item := range list.Elements() {
		if text, ok := item.Str(); ok {
			out = append(out, newQwenPathRule(text, f.At(key, item)))
		}
	}
	return out
}

// foldedMember finds a member whatever the letter case of its key.
func foldedMember(v jsonc.Value, key string) (jsonc.Value, string) {
	for _, m := range v.Members() {
		if !m.Shadowed && strings.EqualFold(m.Key, key) {
			return m.Value, m.Key
		}
	}
	return jsonc.Value{}, key
}

// serverOff tells whether a server of an extension is switched off by itself.
func (q *qwen) serverOff(extension, server string) (model.Location, bool) {
	if !q.prefs.OK() {
		return model.Location{}, false
	}
	for _, item := range q.prefs.Root().Lookup("disabledMcpServers", extension).Elements() {
		if s, ok := item.Str(); ok && s == server {
			return q.prefs.At(JoinKey("disabledMcpServers", extension), item), true
		}
	}
	return model.Location{}, false
}

// hydrate fills in the places of an extension file.
func (q *qwen) hydrate(text string, x *qwenExtension) string {
	if !strings.Contains(text, "${") {
		return text
	}
	return geminiHydration.ReplaceAllStringFunc(text, func(ref string) string {
		switch ref[2 : len(ref)-1] {
		case "extensionPath", "CLAUDE_PLUGIN_ROOT":
			return x.dir
		case "PLUGIN_ROOT":
			if x.plugin {
				return x.dir
			}
		case "workspacePath":
			return q.cwd
		case "/", "pathSeparator":
			if q.env.GOOS == "windows" {
				return `\`
			}
			return "/"
		}
		return ref
	})
}

// entries reads the servers of a map. What does not depend on variables is kept with the file.
func (q *qwen) entries(f *ConfigFile, servers jsonc.Value, scope model.Scope, x *qwenExtension) []qwenEntry {
	fromMCPJSON := filepath.Base(f.Path) == ".mcp.json" && scope == model.ScopeProject
	dir, plugin := "", x != nil && x.plugin
	if x != nil {
		dir = x.dir
	}
	parsed := Memo(f, fmt.Sprintf("qwen/%s/%t/%s/%s", scope, f.OK(), dir, q.cwd), func() []qwenEntry {
		var out []qwenEntry
		add := func(name string, at model.Location, v jsonc.Value) {
			e := qwenEntry{Entry: model.Entry{Name: name, Scope: scope, Source: at}, file: f, value: v, mcpJSON: fromMCPJSON, plugin: plugin, fixed: &qwenHash{}}
			// Existence of a folder may change without the file: an entry with a cwd is not kept.
			e.plain = !strings.Contains(string(v.Raw()), "$") && !v.Get("cwd").Exists()
			if e.plain {
				q.build(&e, nil)
			}
			e.Findings = slices.Clip(e.Findings)
			out = append(out, e)
		}
		members := servers.Members()
		twice := duplicates(members)
		for _, m := range members {
			if m.Shadowed {
				continue
			}
			add(m.Key, f.Member("mcpServers."+JoinKey(m.Key), m), m.Value)
			if _, ok := twice[m.Key]; ok {
				last := &out[len(out)-1]
				last.Findings = append(last.Findings, duplicateFinding(m.Key, m.Line()))
			}
		}
		for i, v := range servers.Elements() { // a list is an object with the positions as names
			name := fmt.Sprint(i)
			add(name, listedAt(f, "mcpServers."+name, name, v), v)
		}
		return out
	})
	out := slices.Clone(parsed)
	for i := range out {
		out[i].file = f
		if !out[i].plain {
			q.build(&out[i], x)
		}
	}
	return out
}
