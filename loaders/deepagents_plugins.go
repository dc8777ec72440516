package loaders

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"sort"
	"strings"

	"fusebox/loaders/jsonc"
	"fusebox/model"
)

// Servers of plugins. Enabling a plugin is the approval of all its servers. Observed by running the functions of
// deepagents-code 0.1.59.

// deepPlugin is one enabled and installed plugin.
type deepPlugin struct {
	id, name string
	root     string
	data     string
	files    []string    // that declare servers, links resolved, in the order in which they count
	manifest *ConfigFile // nil when there is none
	inline   []jsonc.Value
}

// readPlugins reads the servers of enabled plugins, by the order of their ids. Of several declarations of one name the
// last counts.
func (d *deepagents) readPlugins() []*deepEntry {
	var out []*deepEntry
	index := map[string]int{}
	for _, id := range d.enabledPlugins() {
		p := d.plugin(id)
		if p == nil {
			continue
		}
		for _, e := range d.pluginServers(p) {
			if i, have := index[e.Name]; have {
				e.beaten = append(slices.Clone(out[i].beaten), out[i])
				out[i] = e
				continue
			}
			index[e.Name] = len(out)
			out = append(out, e)
		}
	}
	return out
}

// pluginState reads a state file of plugins. One of a newer version counts as empty.
func (d *deepagents) pluginState(name string, newest int64) *ConfigFile {
	f := d.r.ReadJSON(filepath.Join(d.dir, ".state", name), model.ScopePlugin, 0, pythonJSON)
	if !f.OK() {
		return f
	}
	version := f.Root().Get("version")
	raw, isNumber := version.Number()
	n, whole := wholeNumber(raw)
	switch {
	case f.Root().Kind() != jsonc.Object:
		d.r.Refuse(f, f.At("", f.Root()), "the top level is "+typeWord(f.Root())+", not an object")
	case version.Exists() && version.Kind() != jsonc.Null && (!isNumber || !whole || n > newest):
		d.r.Refuse(f, f.At("version", version), "its version is not one that deepagents knows")
	}
	return f
}

func wholeNumber(raw string) (n int64, ok bool) {
	if strings.Trim(raw, "-0123456789") != "" {
		return 0, false
	}
	_, err := fmt.Sscanf(raw, "%d", &n)
	return n, err == nil
}

// enabledPlugins are the ids that are enabled, sorted.
func (d *deepagents) enabledPlugins() []string {
	var out []string
	f := d.pluginState("plugin_state.json", 1)
	if !f.OK() {
		return nil
	}
	for _, m := range f.Root().Get("enabledPlugins").Members() {
		if on, _ := m.Value.Bool(); on && !m.Shadowed {
			out = append(out, m.Key)
		}
	}
	sort.Strings(out)
	return out
}

// installedAt is the folder of a plugin: that of its first record that can be used.
func (d *deepagents) installedAt(id string) string {
	f := d.pluginState("installed_plugins.json", 2)
	if !f.OK() {
		return ""
	}
	for _, item := range f.Root().Lookup("plugins", id).Elements() {
		path := item.Get("installPath")
		if !pythonTruthy(path) {
			path = item.Get("install_path")
		}
		version := item.Get("version")
		text, isText := version.Str()
		if s, ok := path.Str(); ok && s != "" && (!version.Exists() || version.Kind() == jsonc.Null || isText && text != "") {
			return absoluteFrom(d.cwd, s)
		}
	}
	return ""
}

// plugin finds an enabled plugin and reads its manifest; nil when deepagents skips it.
func (d *deepagents) plugin(id string) *deepPlugin {
	at := strings.LastIndexByte(id, '@')
	if at < 1 || at == len(id)-1 {
		return nil
	}
	p := &deepPlugin{id: id, name: id[:at], root: d.installedAt(id)}
	skip := func(format string, args ...any) *deepPlugin {
		d.note("plugin-skipped", model.Location{Path: filepath.Join(d.dir, ".state", "plugin_state.json")}, "deepagents skips the plugin %s: %s", quoted(id), fmt.Sprintf(format, args...))
		return nil
	}
	if p.root == "" {
		return skip("it is enabled, but not installed")
	}
	if !d.r.IsDir(p.root) {
		return skip("its folder %s is not there", d.tilde(p.root))
	}
	p.data = filepath.Join(d.pluginRoot(), "data", deepPluginKey(id))
	for _, rel := range []string{"plugin.json", ".claude-plugin/plugin.json", ".codex-plugin/plugin.json"} {
		path := filepath.Join(p.root, filepath.FromSlash(rel))
		if !d.r.IsFile(path) {
			continue
		}
		p.manifest = d.r.ReadJSON(path, model.ScopePlugin, 0, pythonJSON)
		break
	}
	real := d.r.RealPath(p.root)
	if own := filepath.Join(p.root, ".mcp.json"); d.r.Exists(own) && Within(d.r.RealPath(own), real) {
		p.files = append(p.files, d.r.RealPath(own))
	}
	if p.manifest == nil {
		return p
	}
	if !d.readable(p.manifest) {
		return nil
	}
	root := p.manifest.Root()
	if !p.manifest.OK() {
		return skip("%s cannot be read: %s", d.tilde(p.manifest.Path), p.manifest.Note)
	}
	if root.Kind() != jsonc.Object {
		d.r.Refuse(p.manifest, p.manifest.At("", root), "the top level is "+typeWord(root)+", not an object")
		return skip("%s is no object", d.tilde(p.manifest.Path))
	}
	name, _ := root.Get("name").Str()
	if name == "" || strings.ContainsFunc(name, pythonSpace) {
		name = p.name
	}
	if name != p.name || strings.ContainsFunc(name, pythonSpace) {
		return skip("its manifest has another name")
	}
	declared := root.Get("mcpServers")
	switch declared.Kind() {
	case jsonc.Object:
		p.inline = append(p.inline, declared)
	case jsonc.String:
		d.addPluginFile(p, declared, real)
	case jsonc.Array:
		for _, item := range declared.Elements() {
			switch item.Kind() {
			case jsonc.String:
				d.addPluginFile(p, item, real)
			case jsonc.Object:
				p.inline = append(p.inline, item)
			}
		}
	}
	return p
}

// readable tells whether a file of a plugin is text. deepagents has no guard against one that is not.
func (d *deepagents) readable(f *ConfigFile) bool {
	if f.Status == model.FileMalformed && !validText(f) {
		d.fail(nil, f.Location(), "%s of a plugin is not UTF-8", d.tilde(f.Path))
		return false
	}
	return true
}

// addPluginFile adds a file that the manifest names: below the plugin, written with ./ and without "..".
func (d *deepagents) addPluginFile(p *deepPlugin, v jsonc.Value, real string) {
	text, _ := v.Str()
	rel, ok := strings.CutPrefix(text, "./")
	if !ok || rel == "" || filepath.IsAbs(rel) || slices.Contains(strings.Split(filepath.ToSlash(rel), "/"), "..") {
		return
	}
	path := d.r.RealPath(filepath.Join(p.root, filepath.FromSlash(rel)))
	if Within(path, real) && !slices.Contains(p.files, path) {
		p.files = append(p.files, path)
	}
}

// pluginRoot is the folder of the plugin store.
func (d *deepagents) pluginRoot() string {
	if v, _ := d.lookup(deepPluginsVariable); v != "" {
		return absoluteFrom(d.cwd, d.env.Expand(v))
	}
	return filepath.Join(d.dir, "plugins")
}

// deepPluginKey names a plugin's folder below the data folder.
func deepPluginKey(id string) string {
	slug := strings.Map(func(r rune) rune {
		if r == '_' || r == '-' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
			return r
		}
		return '-'
	}, id)
	slug = strings.Trim(slug, "-")
	slug = slug[:min(len(slug), 48)]
	if slug == "" {
		slug = "plugin"
	}
	sum := sha256.Sum256([]byte(id))
	return slug + "-" + hex.EncodeToString(sum[:])[:32]
}

var deepNameRest = regexp.MustCompile(`[^A-Za-z0-9_-]+`)

// deepPluginServer is the name under which deepagents knows a server of a plugin.
func deepPluginServer(plugin, server string) string {
	part := func(s string) string {
		safe := strings.Trim(deepNameRest.ReplaceAllString(s, "_"), "_")
		if safe == s && safe != "" && len(safe) <= 48 {
			return safe
		}
		sum := sha256.Sum256([]byte(s))
		safe = safe[:min(len(safe), 48)]
		if safe == "" {
			safe = "unnamed"
		}
		return safe + "_" + hex.EncodeToString(sum[:])[:8]
	}
	return "plugin__" + part(plugin) + "__" + part(server)
}

// pluginServers reads the servers of a plugin, lowest to highest: its .mcp.json, the files of the manifest, the manifest.
func (d *deepagents) pluginServers(p *deepPlugin) []*deepEntry {
	var out []*deepEntry
	for _, path := range p.files {
		if ext := filepath.Ext(path); ext == ".mcpb" || ext == ".dxt" {
			d.r.Ignored(path, model.ScopePlugin, "a bundle: deepagents does not read it")
			continue
		}
		f := d.r.ReadJSON(path, model.ScopePlugin, 0, pythonJSON)
		if !d.readable(f) || !f.OK() {
			continue
		}
		out = append(out, d.pluginMap(p, f, f.Root(), "")...)
	}
	// Several objects of a list are one, in which later keys win.
	wrapped := func(key string) (last jsonc.Value) {
		for _, v := range p.inline {
			if x := v.Get(key); x.Exists() {
				last = x
			}
		}
		return last
	}
	for _, key := range []string{"mcpServers", "mcp_servers"} {
		if v := wrapped(key); v.Kind() == jsonc.Object {
			return append(out, d.pluginEntries(p, p.manifest, v, "mcpServers."+key)...)
		}
	}
	for _, v := range p.inline {
		out = append(out, d.pluginEntries(p, p.manifest, v, "mcpServers")...)
	}
	return out
}

// pluginMap reads a file of servers: below mcpServers, below mcp_servers, or right at the top.
func (d *deepagents) pluginMap(p *deepPlugin, f *ConfigFile, v jsonc.Value, key string) []*deepEntry {
	for _, wrap := range []string{"mcpServers", "mcp_servers"} {
		if inner := v.Get(wrap); inner.Kind() == jsonc.Object {
			return d.pluginEntries(p, f, inner, wrap)
		}
	}
	return d.pluginEntries(p, f, v, key)
}

func (d *deepagents) pluginEntries(p *deepPlugin, f *ConfigFile, servers jsonc.Value, key string) []*deepEntry {
	var out []*deepEntry
	for _, m := range servers.Members() {
		if m.Shadowed {
			continue
		}
		e := &deepEntry{file: f, Entry: model.Entry{Name: deepPluginServer(p.id, m.Key), Scope: model.ScopePlugin, Source: f.Member(joinedKey(key, m.Key), m)}}
		e.read(d.pluginValue(p, m.Value), nil)
		out = append(out, e)
	}
	return out
}

// pluginValue is a plugin's entry as deepagents takes it: paths of the plugin filled in, and given to the server.
func (d *deepagents) pluginValue(p *deepPlugin, v jsonc.Value) jsonc.Value {
	variables := [][2]string{{"CLAUDE_PLUGIN_ROOT", p.root}, {"CLAUDE_PLUGIN_DATA", p.data}, {"PLUGIN_ROOT", p.root}, {"PLUGIN_DATA", p.data},
		{"CLAUDE_PROJECT_DIR", d.base}}
	pairs := make([]string, 0, 2*len(variables))
	for _, x := range variables {
		pairs = append(pairs, "${"+x[0]+"}", x[1])
	}
	fill := strings.NewReplacer(pairs...).Replace
	text, whole := pythonDump(v, fill)
	if v.Kind() == jsonc.Object {
		var b strings.Builder
		b.WriteByte('{')
		for _, m := range sortedMembers(v) {
			if m.Key == "env" {
				continue
			}
			value, _ := pythonDump(m.Value, fill)
			b.WriteString(jsonc.Quote(m.Key) + ":" + value + ",")
		}
		b.WriteString(`"env":{`)
		own := map[string]bool{}
		for _, m := range sortedMembers(v.Get("env")) {
			if len(own) > 0 {
				b.WriteByte(',')
			}
			own[m.Key] = true
			value, _ := pythonDump(m.Value, fill)
			b.WriteString(jsonc.Quote(m.Key) + ":" + value)
		}
		for _, x := range variables {
			if own[x[0]] {
				continue
			}
			if len(own) > 0 {
				b.WriteByte(',')
			}
			own[x[0]] = true
			b.WriteString(jsonc.Quote(x[0]) + ":" + jsonc.Quote(x[1]))
		}
		b.WriteString("}}")
		text = b.String()
	}
	if !whole { // half characters do not survive here; what matters is that they are noticed
		text = strings.ToValidUTF8(text, "\ufffd")
	}
	doc, err := jsonc.Parse([]byte(text), pythonJSON)
	if err != nil {
		return v
	}
	return doc.Root()
}
