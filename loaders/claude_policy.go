package loaders

import (
	"regexp"
	"slices"
	"strings"

	"fusebox/loaders/jsonc"
	"fusebox/model"
)

// claudePolicy are the allow and deny lists of all settings files, joined.
type claudePolicy struct {
	allow, deny  []claudeRule
	hasAllow     bool
	allowAt      model.Location
	pluginsOnly  *model.Location
	allowManaged bool
}

// claudeRule is an item of an allow or deny list: one of name, command or url.
type claudeRule struct {
	name    *string
	command []string
	url     *string
	scope   model.Scope
	at      model.Location
}

// readPolicy reads allowedMcpServers and deniedMcpServers. With allowManagedMcpServersOnly in a managed file only the
// managed allow lists count. Project settings count even in an untrusted folder.
func (c *claude) readPolicy() claudePolicy {
	var p claudePolicy
	for _, s := range c.settings {
		if s.scope != model.ScopeManaged {
			continue
		}
		if only, _ := s.root.Get("allowManagedMcpServersOnly").Bool(); only {
			p.allowManaged = true
		}
		strict := s.root.Get("strictPluginOnlyCustomization")
		if all, _ := strict.Bool(); all {
			at := s.file.At("strictPluginOnlyCustomization", strict)
			p.pluginsOnly = &at
		}
		for _, item := range strict.Elements() {
			if t, _ := item.Str(); t == "mcp" {
				at := s.file.At("strictPluginOnlyCustomization", item)
				p.pluginsOnly = &at
			}
		}
	}
	for _, s := range c.settings {
		p.deny = append(p.deny, claudeRules(s, "deniedMcpServers", deniableName)...)
		if p.allowManaged && s.scope != model.ScopeManaged {
			continue
		}
		if v := s.root.Get("allowedMcpServers"); v.Kind() == jsonc.Array {
			if !p.hasAllow {
				p.allowAt = s.file.At("allowedMcpServers", v)
			}
			p.hasAllow = true
			p.allow = append(p.allow, claudeRules(s, "allowedMcpServers", claudePlainName)...)
		}
	}
	return p
}

// deniableName tells whether a deny list may name a server so; an allow list takes only plain names.
func deniableName(name string) bool { return name != "" && trimJS(name) == name }

// claudeRules reads a list. An item counts if it has exactly one of the three keys and that one makes sense; another is
// ignored (observed on 2.1.332).
func claudeRules(s claudeSettings, key string, name func(string) bool) []claudeRule {
	var out []claudeRule
	for _, item := range s.root.Get(key).Elements() {
		rule := claudeRule{scope: s.scope, at: s.file.At(key, item)}
		keys := 0
		for _, k := range []string{"serverName", "serverCommand", "serverUrl"} {
			if item.Get(k).Exists() {
				keys++
			}
		}
		text, isName := item.Get("serverName").Str()
		command, isCommand := item.Get("serverCommand").Strings()
		u, isURL := item.Get("serverUrl").Str()
		switch {
		case keys != 1:
			continue
		case isName && name(text):
			rule.name = &text
		case isCommand && len(command) > 0:
			rule.command = command
		case isURL:
			rule.url = &u
		default:
			continue
		}
		out = append(out, rule)
	}
	return out
}

// any tells whether there is a list at all.
func (p claudePolicy) any() bool { return len(p.deny) > 0 || p.hasAllow || p.pluginsOnly != nil }

// denies tells whether a rule of the deny list is about an entry: as written or filled in, on both sides.
func (rule claudeRule) denies(c *claude, e *model.Entry) bool {
	written, filled := c.commandLine(e)
	both := func(word, wanted string) bool { return word == wanted || word == expandBraced(c.env, wanted) }
	switch {
	case rule.name != nil:
		return *rule.name == e.Name
	case rule.command != nil:
		return slices.EqualFunc(written, rule.command, both) || slices.EqualFunc(filled, rule.command, both)
	case rule.url != nil && e.Definition != nil && e.Definition.Transport.Remote():
		u := e.Definition.URL.Reveal()
		for _, pattern := range []string{*rule.url, expandBraced(c.env, *rule.url)} {
			if claudeURLDenied(u, pattern) || claudeURLDenied(expandBraced(c.env, u), pattern) {
				return true
			}
		}
	}
	return false
}

// allows tells whether a rule of the allow list lets an entry in: filled in on both sides.
func (rule claudeRule) allows(c *claude, e *model.Entry) bool {
	_, filled := c.commandLine(e)
	switch {
	case rule.name != nil:
		return *rule.name == e.Name
	case rule.command != nil:
		return slices.EqualFunc(filled, rule.command, func(word, wanted string) bool { return word == expandBraced(c.env, wanted) })
	case rule.url != nil && e.Definition != nil && e.Definition.Transport.Remote():
		return claudeURLMatches(expandBraced(c.env, e.Definition.URL.Reveal()), expandBraced(c.env, *rule.url))
	}
	return false
}

// commandLine is the command and the arguments of a stdio entry, as written and filled in.
func (c *claude) commandLine(e *model.Entry) (written, filled []string) {
	d := e.Definition
	if d == nil || d.Transport != model.TransportStdio {
		return nil, nil
	}
	written = append([]string{d.Command}, d.ArgTexts()...)
	for _, w := range written {
		filled = append(filled, expandBraced(c.env, w))
	}
	return written, filled
}

// blocks tells whether a list blocks an entry: a deny item always does; with an allow list, nothing matching does. When the
// allow list holds a command item, names do not let stdio servers in any more; likewise URL items and remote servers. Servers
// of managed-mcp.json need no place on the allow list (observed on 2.1.332).
func (p claudePolicy) blocks(c *claude, out *model.Cell) (model.Reason, bool) {
	code := func(scope model.Scope) model.ReasonCode {
		if scope == model.ScopeManaged {
			return model.ReasonBlockedByPolicy
		}
		return model.ReasonBlockedByList
	}
	for _, rule := range p.deny {
		if rule.denies(c, &out.Entry) {
			return model.Reason{Code: code(rule.scope), DecidedBy: rule.at,
				Text: "deniedMcpServers of " + c.tilde(rule.at.Path) + " blocks it"}, true
		}
	}
	if p.pluginsOnly != nil && out.Scope != model.ScopePlugin && out.Scope != model.ScopeManaged {
		return model.Reason{Code: model.ReasonBlockedByPolicy, DecidedBy: *p.pluginsOnly,
			Text: "an administrator allows servers from plugins only"}, true
	}
	if !p.hasAllow || out.Scope == model.ScopeManaged {
		return model.Reason{}, false
	}
	var hasCommand, hasURL bool
	for _, rule := range p.allow {
		hasCommand = hasCommand || rule.command != nil
		hasURL = hasURL || rule.url != nil
	}
	remote := out.Definition != nil && out.Definition.Transport.Remote()
	for _, rule := range p.allow {
		if rule.name != nil && (remote && hasURL || !remote && hasCommand) {
			continue
		}
		if rule.allows(c, &out.Entry) {
			return model.Reason{}, false
		}
	}
	scope := model.ScopeUser
	for _, s := range c.settings {
		if s.file.Path == p.allowAt.Path {
			scope = s.scope
		}
	}
	return model.Reason{Code: code(scope), DecidedBy: p.allowAt,
		Text: "allowedMcpServers of " + c.tilde(p.allowAt.Path) + " does not let it in"}, true
}

// expandBraced fills in ${NAME} and ${NAME:-default}; an unset name without a default stays as written.
func expandBraced(env *Env, text string) string {
	if !strings.Contains(text, "${") {
		return text
	}
	return bracedVariable.ReplaceAllStringFunc(text, func(ref string) string {
		m := bracedVariable.FindStringSubmatch(ref)
		if v, ok := env.Lookup(m[1]); ok {
			return v
		}
		if m[2] != "" {
			return m[3]
		}
		return ref
	})
}

// matchStars compares a text with a pattern in which * stands for any run of characters.
func matchStars(pattern, text string) bool {
	parts := strings.Split(pattern, "*")
	if len(parts) == 1 {
		return pattern == text
	}
	if !strings.HasPrefix(text, parts[0]) {
		return false
	}
	text = text[len(parts[0]):]
	last := parts[len(parts)-1]
	for _, p := range parts[1 : len(parts)-1] {
		i := strings.Index(text, p)
		if i < 0 {
			return false
		}
		text = text[i+len(p):]
	}
	return len(text) >= len(last) && strings.HasSuffix(text, last)
}

// claudeURLMatches tells whether a URL fits a pattern of a list: both are read like URLs, * stands for any run of characters
// within a part, a pattern of a host alone is about all paths, and one whose host has a star about all ports (2.1.332).
func claudeURLMatches(text, pattern string) bool {
	if pattern == "*" {
		return true
	}
	u, ok := parseWebURL(text)
	if !ok {
		return false
	}
	p, ok := parseWebURL(pattern)
	if !ok {
		return matchStars(pattern, u.scheme+"://"+u.hostPort()+u.path+u.query)
	}
	switch {
	case p.scheme != "*" && p.scheme != u.scheme,
		!matchStars(strings.TrimSuffix(p.host, "."), strings.TrimSuffix(u.host, ".")),
		p.port != "*" && p.port != u.port && !(p.port == "" && strings.Contains(p.host, "*")):
		return false
	case (p.path == "/" || p.path == "") && p.query == "" && !strings.HasSuffix(pattern, "/"):
		return true
	}
	return matchStars(p.path+p.query, u.path+u.query)
}

// claudeURLDenied is the wider match of a deny list: a query that the pattern does not name, and slashes at the end of the
// path, do not let a URL off.
func claudeURLDenied(text, pattern string) bool {
	if claudeURLMatches(text, pattern) {
		return true
	}
	u, ok := parseWebURL(text)
	if !ok {
		return false
	}
	u.query = ""
	bare := strings.TrimRight(u.String(), "/")
	slashes := ""
	if p, ok := parseWebURL(pattern); ok && p.query == "" && !strings.Contains(pattern, "#") && !strings.Contains(p.path, "*") {
		slashes = p.path[len(strings.TrimRight(p.path, "/")):]
	}
	return slices.ContainsFunc([]string{u.String(), bare, bare + slashes}, func(s string) bool { return claudeURLMatches(s, pattern) })
}

// webURL is a URL as a browser reads it. Parts may hold a star.
type webURL struct{ scheme, host, port, path, query string }

func (u webURL) hostPort() string {
	if u.port == "" {
		return u.host
	}
	return u.host + ":" + u.port
}

func (u webURL) String() string { return u.scheme + "://" + u.hostPort() + u.path + u.query }

var (
	webScheme = regexp.MustCompile(`^([A-Za-z*][A-Za-z0-9+.*-]*):(.*)$`)
	webHost   = regexp.MustCompile(`^(\[[0-9A-Fa-f:.]+\]|[^\[\]:/?#@<>^|% ]+)(?::([0-9]*|\*))?$`)
	webPorts  = map[string]string{"http": "80", "https": "443", "ws": "80", "wss": "443"}
)

// parseWebURL reads a URL with a host. Letter case of scheme and host, a default port, user and password, a fragment, dot
// segments and backslashes do not count; blanks in the path are escaped.
func parseWebURL(text string) (webURL, bool) {
	text = strings.NewReplacer("\t", "", "\n", "", "\r", "").Replace(strings.TrimFunc(text, func(r rune) bool { return r <= ' ' }))
	m := webScheme.FindStringSubmatch(text)
	if m == nil {
		return webURL{}, false
	}
	u := webURL{scheme: strings.ToLower(m[1])}
	rest, _, _ := strings.Cut(m[2], "#")
	rest, query, hasQuery := strings.Cut(rest, "?")
	if hasQuery && query != "" {
		u.query = "?" + strings.NewReplacer(" ", "%20", `"`, "%22", "<", "%3C", ">", "%3E", "'", "%27").Replace(query)
	}
	_, special := webPorts[u.scheme]
	if special {
		rest = strings.ReplaceAll(rest, `\`, "/")
	}
	if !strings.HasPrefix(rest, "//") {
		return webURL{}, false
	}
	authority, path, _ := strings.Cut(strings.TrimLeft(rest, "/"), "/")
	authority = authority[strings.LastIndex(authority, "@")+1:]
	h := webHost.FindStringSubmatch(authority)
	if h == nil {
		return webURL{}, false
	}
	u.host, u.port = strings.ToLower(h[1]), h[2]
	if special && u.port == webPorts[u.scheme] {
		u.port = ""
	}
	if special || strings.Contains(strings.TrimLeft(rest, "/"), "/") {
		u.path = webPath(path)
	}
	return u, true
}

// webPath resolves dot segments and escapes what a URL does not hold.
func webPath(path string) string {
	var out []string
	segments := strings.Split(path, "/")
	for i, s := range segments {
		last := i == len(segments)-1
		switch strings.ReplaceAll(strings.ToLower(s), "%2e", ".") {
		case ".":
		case "..":
			out = out[:max(0, len(out)-1)]
		default:
			out = append(out, s)
			continue
		}
		if last {
			out = append(out, "")
		}
	}
	return "/" + strings.NewReplacer(" ", "%20", `"`, "%22", "<", "%3C", ">", "%3E", "`", "%60", "{", "%7B", "}", "%7D", "^", "%5E").Replace(strings.Join(out, "/"))
}
