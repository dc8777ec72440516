package loaders

import (
	"crypto/sha256"
	"encoding/hex"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"fusebox/loaders/jsonc"
	"fusebox/model"
)

// kimiCode is the registry row of Kimi Code. Its rules were read in the program of 2.1.0.
func kimiCode() Harness {
	return Harness{
		Harness: model.Harness{
			ID: "kimi", Aliases: []string{"kimi-code"}, Title: "Kimi Code", Heading: "Kimi", Verified: model.VerifiedSource, VersionChecked: "2.1.0",
			BlindSpots: []model.BlindSpot{
				{Code: "plugins", Text: "servers of installed plugins"},
				{Code: "sign-in", Text: "whether a remote server asks for a sign-in"},
			},
		},
		Resolve: resolveKimi,
		Shares:  []string{".mcp.json"},
		Launch: LaunchRules{
			Class:    EnvironmentFull,
			ToolName: joinToolName("mcp__", "__"),
			Cwd: func(env *Env, e *model.Entry) string {
				base := env.Project
				if filepath.Base(e.Source.Path) == ".mcp.json" { // there the folder of the file counts
					base = filepath.Dir(e.Source.Path)
				}
				if filepath.IsAbs(e.Definition.Cwd) {
					return filepath.Clean(e.Definition.Cwd)
				}
				return filepath.Join(base, e.Definition.Cwd)
			},
		},
		Sessions: SessionRules{Programs: []string{"kimi"}, Packages: []string{"@moonshot-ai/kimi-code"}, Reload: "Kimi Code reads its files again by itself",
			Live: func(_, _ *model.Cell) bool { return true }},
		Toggle:  entrySwitch(strictJSON, "enabled", false, "mcpServers"),
		Approve: approveKimi,
	}
}

// kimi is one resolve of Kimi Code.
type kimi struct {
	plainResolve
	home    string
	trust   *ConfigFile // the record that the folder is trusted
	trusted bool
	bad     string // why files of the folder must not count: one of them would leave the program without servers
	result  Result
}

func resolveKimi(env *Env, r *Reader) Result { return kimiOf(env, r).result }

func kimiOf(env *Env, r *Reader) *kimi {
	return keepResolve(r, "kimi", func() *kimi {
		k := &kimi{plainResolve: plainResolve{env: env, r: r, title: "Kimi Code", taken: noReference}, home: env.InHome(".kimi-code")}
		if dir := env.Var("KIMI_CODE_HOME"); dir != "" {
			k.home = filepath.Clean(env.Expand(dir))
		}
		k.resolve()
		return k
	})
}

func (k *kimi) resolve() {
	k.trust = k.r.Peek(joinPath(k.home, "workspace-trust/"+kimiFolderKey(k.env.Project)), model.ScopeUser)
	if k.trust.OK() {
		doc, err := jsonc.Parse(k.trust.Data, jsonc.Strict)
		k.trusted = err == nil && doc != nil
	}
	root := gitRoot(k.r, k.env.Project)
	if root == "" {
		root = k.env.Project
	}
	local := k.file(k.env.InProject(".kimi-code/mcp.json"), model.ScopeProject)
	shared := k.file(filepath.Join(root, ".mcp.json"), model.ScopeProject)
	user := k.file(filepath.Join(k.home, "mcp.json"), model.ScopeUser)
	k.stray(k.env.InHome(".kimi/mcp.json"), model.ScopeUser, "of the older kimi-cli; Kimi Code reads "+k.tilde(filepath.Join(k.home, "mcp.json")))
	var cells []*model.Cell
	if k.trusted {
		cells = k.cells(local, shared, user)
	} else {
		cells = k.waiting(k.cells(user), append(local, shared...))
	}
	for _, c := range cells {
		if k.broken != nil {
			c.Decision = model.DecisionCannot
			c.Reason = model.Reason{Code: model.ReasonFileRefused, DecidedBy: k.broken.Location, Text: k.broken.Text}
			c.Capabilities = k.capabilities(c)
			c.Capabilities.Approve = c.Capabilities.Toggle
			continue
		}
		switch {
		case c.Decision == model.DecisionCannot:
			c.Capabilities.Approve = c.Capabilities.Toggle
		case c.Decision == model.DecisionWaits || waitsBeside(c):
			c.Capabilities.Approve = k.bad
		case c.Scope == model.ScopeUser:
			c.Capabilities.Approve = "not needed, user scope"
		default:
			c.Capabilities.Approve, c.Consent = "the folder is trusted", model.Location{Path: k.trust.Path, Line: 1}
		}
	}
	k.result = k.plainResolve.result(cells, k.r.IsDir(k.home))
	k.result.Untrusted = slices.ContainsFunc(cells, func(c *model.Cell) bool { return c.Decision == model.DecisionWaits })
}

// waiting lays entries of the folder beside the user's: before the folder is trusted its files are not read.
func (k *kimi) waiting(cells []*model.Cell, entries []plainEntry) []*model.Cell {
	reason := model.Reason{Code: model.ReasonUntrustedFolder, DecidedBy: model.Location{Path: k.trust.Path, Line: 1},
		Text: "Kimi Code reads the servers of a folder only after the folder is trusted"}
	for _, e := range entries {
		i := slices.IndexFunc(cells, func(c *model.Cell) bool { return c.Name == e.Name })
		switch {
		case e.fault != nil && i >= 0:
			cells[i].Pending = append(cells[i].Pending, model.Pending{Entry: e.Entry, State: model.StateError, Reason: *e.fault})
		case e.fault != nil:
			c := cell(e.Entry, model.DecisionCannot, *e.fault)
			c.Capabilities = k.capabilities(c)
			cells = append(cells, c)
		case i >= 0 && cells[i].Decision != model.DecisionCannot:
			cells[i].Pending = append(cells[i].Pending, model.Pending{Entry: e.Entry, State: model.StateUnapproved, Reason: reason})
		case i < 0:
			c := cell(e.Entry, model.DecisionWaits, reason)
			c.Capabilities = k.capabilities(c)
			c.Capabilities.Toggle = "the folder is not trusted, so nothing of its files counts"
			cells = append(cells, c)
		}
	}
	return cells
}

// file reads one file. One mistake in a file that counts leaves the program without any server of its files.
func (k *kimi) file(path string, scope model.Scope) []plainEntry {
	f := k.r.ReadJSON(path, scope, 0, jsonc.Options{ReplaceInvalidUTF8: true})
	if f.Data != nil && trimJS(string(f.Data)) == "" {
		k.r.Mark(f, model.FileRead, "empty")
		return nil
	}
	entries := k.servers(f, func(m plainMember) plainEntry { return kimiEntry(k.env, m) }, "mcpServers")
	if i := slices.IndexFunc(entries, func(e plainEntry) bool { return e.fault != nil }); f.OK() && i >= 0 {
		entries = k.refuse(f, entries[i].fault.DecidedBy, "the entry "+quoted(entries[i].Name)+" is invalid: "+entries[i].fault.Text, entries)
	}
	k.wrongKeys(f, "mcpServers")
	switch {
	case scope == model.ScopeUser || k.trusted:
		k.stops(f)
	case f.Status == model.FileMalformed || f.Status == model.FileRefused:
		k.bad = k.tilde(f.Path) + " is broken: in a trusted folder it would leave Kimi Code without any server"
	}
	return entries
}

func kimiMilliseconds(v jsonc.Value) bool {
	raw, ok := v.Number()
	n, err := strconv.Atoi(raw)
	return ok && err == nil && n >= 1 && n <= 1<<31-1
}

func isURL(v jsonc.Value) bool {
	s, ok := v.Str()
	return ok && absoluteURL(s)
}

func isFilledText(v jsonc.Value) bool {
	s, ok := v.Str()
	return ok && s != ""
}

// kimiShape holds the checks of every entry.
var kimiShape = []valueCheck{
	{"enabled", false, "true or false", isFlag}, {"deferred", false, "true or false", isFlag},
	{"startupTimeoutMs", false, "a whole number of milliseconds from 1 on", kimiMilliseconds}, {"toolTimeoutMs", false, "a whole number of milliseconds from 1 on", kimiMilliseconds},
	{"enabledTools", false, "a list of texts", isTextList}, {"disabledTools", false, "a list of texts", isTextList},
}

// kimiEntry reads one entry: transport, else a command makes it stdio and a url http.
func kimiEntry(env *Env, m plainMember) plainEntry {
	var e plainEntry
	v := m.Value
	if v.Kind() != jsonc.Object {
		e.fault = m.invalid(v, "it is %s, not an object", typeWord(v))
		return e
	}
	kind, _ := v.Get("transport").Str()
	if !v.Get("transport").Exists() {
		switch {
		case v.Get("command").Kind() == jsonc.String:
			kind = "stdio"
		case v.Get("url").Kind() == jsonc.String:
			kind = "http"
		}
	}
	bad, why := misfit(v, kimiShape)
	var badForm jsonc.Value
	var whyForm string
	switch kind {
	case "stdio":
		e.Definition = stdioDefinition(v)
		badForm, whyForm = misfit(v, append([]valueCheck{{"command", true, "a text that is not empty", isFilledText}, {"executor", false, "local or kaos", isWord("local", "kaos")}}, plainStdioShape[1:]...))
	case "http", "sse":
		e.Definition = remoteDefinition(v, model.Transport(kind), "url")
		e.Definition.BearerVariable, _ = v.Get("bearerTokenEnvVar").Str()
		badForm, whyForm = misfit(v, []valueCheck{{"url", true, "a URL", isURL}, plainHeaders, {"auth", false, "oauth", isWord("oauth")}, {"bearerTokenEnvVar", false, "a text that is not empty", isFilledText}})
	default:
		badForm, whyForm = v.Get("transport"), "it needs a command, a url, or a transport of stdio, http or sse"
	}
	if whyForm != "" {
		bad, why = badForm, whyForm
	}
	if why != "" {
		e.fault = m.invalid(bad, "%s", why)
		return e
	}
	e.Definition.StartTimeout = limit(v.Get("startupTimeoutMs"), time.Millisecond)
	m.conflict(&e, e.Definition.Transport.Remote(), "url")
	if name := e.Definition.BearerVariable; name != "" && env.Var(name) == "" {
		e.Findings = append(e.Findings, unsetFinding(name, "Kimi Code has no token to send", v.Get("bearerTokenEnvVar").Line()))
	}
	if on, ok := v.Get("enabled").Bool(); ok && !on {
		e.off = m.switchedOff("enabled")
	}
	m.useless(&e, "is not read by Kimi Code: its switch is enabled", "disabled")
	m.useless(&e, "is not read by Kimi Code: its key is transport", "type")
	m.filter(&e, "enabledTools", "disabledTools")
	return e
}

var kimiSlug = regexp.MustCompile(`[^a-z0-9._-]+`)

// kimiFolderKey is the name under which the trust of a folder is kept: a short form of its name and a digest of its path.
func kimiFolderKey(folder string) string {
	path := strings.TrimRight(strings.ReplaceAll(folder, `\`, "/"), "/")
	if len(path) > 1 && path[1] == ':' || strings.HasPrefix(path, "//") { // of Windows
		path = strings.ToLower(path)
	}
	name := strings.Trim(kimiSlug.ReplaceAllString(strings.ToLower(path[strings.LastIndexByte(path, '/')+1:]), "-"), "-")
	name = strings.Trim(name[:min(len(name), 40)], "-")
	if name == "" || name == "." || name == ".." {
		name = "workspace"
	}
	sum := sha256.Sum256([]byte(path))
	return "wd_" + name + "_" + hex.EncodeToString(sum[:])[:12]
}

// approveKimi writes the record that the folder is trusted.
func approveKimi(env *Env, r *Reader, _ *model.Cell, revoke bool) []Option {
	k := kimiOf(env, r)
	if revoke {
		if !k.trusted {
			return nil
		}
		return []Option{{Reach: ReachHere, Label: labelHere, Unavailable: "the trust is the file " + k.tilde(k.trust.Path) + ": say /trust off in Kimi Code, or remove it"}}
	}
	return []Option{{Reach: ReachHere, Label: labelHere + ", and trust all of it", TrustsFolder: true,
		Edits: []Edit{{Path: k.trust.Path, Format: strictJSON, NewMode: 0o600, Steps: []Step{
			{StepSet, []string{"root"}, jsonc.Quote(env.Project)},
			{StepSet, []string{"trustedAt"}, strconv.FormatInt(env.Now().UnixMilli(), 10)}}}},
		LetsIn: "all servers of this folder's files, now and later"}}
}
