package loaders

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"fusebox/model"
)

// hermesAgent is the registry row of Hermes. Its rules were read in its source at 0006718 and its documentation at 0059a79.
func hermesAgent() Harness {
	return Harness{
		Harness: model.Harness{
			ID: "hermes", Title: "Hermes", Heading: "Hermes", Verified: model.VerifiedSource, VersionChecked: "0006718",
			BlindSpots: []model.BlindSpot{
				{Code: "profiles", Text: "a profile may move the folder of the configuration"},
				{Code: "plugins", Text: "servers that plugins bring"},
				{Code: "secret-sources", Text: "variables that an external store of secrets gives"},
				{Code: "sign-in", Text: "whether a remote server asks for a sign-in"},
			},
		},
		Resolve: resolveHermes,
		Launch: LaunchRules{
			Class:   EnvironmentShort,
			Inherit: hermesEnvironment,
			Fill: func(env *Env, _ *model.Entry, _ TextPart, text string) (string, []string) {
				return hermesReferences(hermesDotenv(env, NewReader(env, NewCache()))).fill(env, text)
			},
			ToolName: func(server, tool string) string {
				fold := func(s string) string { return strings.ReplaceAll(foldName(s), "-", "_") }
				return "mcp__" + fold(server) + "__" + fold(tool)
			},
			Drops: hermesDrops,
		},
		Sessions: SessionRules{Programs: []string{"hermes"}, Not: []string{"mcp", "config", "setup", "doctor"}, Reload: "type /reload-mcp there"},
		Toggle:   entrySwitch(Format{YAML: true}, "enabled", false, "mcp_servers"),
	}
}

func hermesHome(env *Env) string {
	if dir := env.Var("HERMES_HOME"); dir != "" {
		return filepath.Clean(env.Expand(dir))
	}
	return env.InHome(".hermes")
}

// hermesDotenv is what ~/.hermes/.env sets.
func hermesDotenv(env *Env, r *Reader) map[string]string {
	return dotenvOf(r.Peek(filepath.Join(hermesHome(env), ".env"), model.ScopeUser))
}

// hermesReferences: ${NAME} and ${env:NAME}, from the file of variables and the environment, and names for places. An unset
// name stays as written.
func hermesReferences(dotenv map[string]string) referenceRules {
	return func(env *Env, inside string) (string, bool, bool) {
		name := strings.TrimSpace(inside)
		switch name {
		case "userHome":
			return env.Home, true, true
		case "workspaceFolder":
			return env.Project, true, true
		case "workspaceFolderBasename":
			return filepath.Base(env.Project), true, true
		case "pathSeparator", "/":
			if env.GOOS == "windows" {
				return `\`, true, true
			}
			return "/", true, true
		}
		name = strings.TrimPrefix(name, "env:")
		if v := dotenv[name]; v != "" {
			return v, true, true
		}
		if v := env.Var(name); v != "" {
			return v, true, true
		}
		return "${" + inside + "}", false, true
	}
}

// hermesEnvironment is the short list that a server gets.
func hermesEnvironment(env *Env, _ *model.Entry) map[string]string {
	out := map[string]string{}
	for name, value := range env.Vars {
		switch {
		case slices.Contains([]string{"PATH", "HOME", "USER", "LANG", "LC_ALL", "TERM", "SHELL", "TMPDIR"}, name), strings.HasPrefix(name, "XDG_"):
			out[name] = value
		case env.GOOS == "windows" && slices.Contains([]string{"ALLUSERSPROFILE", "APPDATA", "COMMONPROGRAMFILES", "COMMONPROGRAMFILES(X86)",
			"COMMONPROGRAMW6432", "COMPUTERNAME", "COMSPEC", "HOMEDRIVE", "HOMEPATH", "LOCALAPPDATA", "NUMBER_OF_PROCESSORS", "OS", "PATHEXT", "PROCESSOR_ARCHITECTURE",
			"PROGRAMDATA", "PROGRAMFILES", "PROGRAMFILES(X86)", "PROGRAMW6432", "PUBLIC", "SYSTEMDRIVE", "SYSTEMROOT", "TEMP", "TMP", "USERDOMAIN", "USERNAME", "USERPROFILE", "WINDIR"}, strings.ToUpper(name)):
			out[name] = value
		}
	}
	return out
}

// hermesDrops: exact names or patterns; a list of what is taken beats one of what is not.
func hermesDrops(f *model.ToolFilter, _, tool string) bool {
	matches := func(patterns []string) bool {
		return slices.ContainsFunc(patterns, func(p string) bool { ok, err := path.Match(p, tool); return p == tool || err == nil && ok })
	}
	if f.Limited {
		return !matches(f.Allow)
	}
	return matches(f.Deny)
}

func resolveHermes(env *Env, r *Reader) Result {
	p := &plainResolve{env: env, r: r, title: "Hermes"}
	dir := hermesHome(env)
	f, root := readYAML(r, filepath.Join(dir, "config.yaml"), model.ScopeUser)
	dotenv := hermesDotenv(env, r)
	references := hermesReferences(dotenv)
	p.salt = hermesSalt(dotenv)
	entries := p.yamlServers(f, root, "mcp_servers", func(y yamlEntry) (plainEntry, bool) { return hermesEntry(env, references, y), true })
	if n := yamlGet(root, "mcp_servers"); f.OK() && n != nil && n.Kind != yaml.MappingNode && !yamlNull(n) {
		p.note(model.FindingWrongType, f.Path, n.Line, "mcp_servers is "+yamlWord(n)+", not a mapping: Hermes reads no server")
	}
	p.stops(f)
	for _, key := range []string{"mcpServers", "servers", "mcp"} {
		if n := yamlGet(root, key); n != nil && n.Kind == yaml.MappingNode && key != "mcp" {
			p.note(model.FindingWrongKey, f.Path, n.Line, p.tilde(f.Path)+" has "+key+"; Hermes reads mcp_servers")
		}
	}
	cells := p.cells(entries)
	if safe := strings.ToLower(env.Var("HERMES_SAFE_MODE")); slices.Contains([]string{"1", "true", "yes", "on"}, safe) {
		for _, c := range cells {
			if c.Decision == model.DecisionLoads || c.Decision == model.DecisionOff {
				c.Decision = model.DecisionOff
				c.Reason = model.Reason{Code: model.ReasonBlockedByPolicy, DecidedBy: model.Location{Path: "$HERMES_SAFE_MODE", Line: 1}, Text: "HERMES_SAFE_MODE is set: Hermes loads no server"}
				c.Capabilities.Toggle = "HERMES_SAFE_MODE is set: unset it"
			}
		}
	}
	return p.result(cells, r.IsDir(dir))
}

// hermesEntry reads one entry: a url makes it remote. enabled is read loosely.
func hermesEntry(env *Env, references referenceRules, y yamlEntry) plainEntry {
	var e plainEntry
	if y.value == nil || y.value.Kind != yaml.MappingNode {
		e.fault = y.fault(model.ReasonEntrySkipped, y.value, "the entry is %s, not a mapping: Hermes leaves it out", yamlWord(y.value))
		return e
	}
	scalar := func(n *yaml.Node) string {
		if n == nil || n.Kind != yaml.ScalarNode || yamlNull(n) {
			return ""
		}
		return n.Value
	}
	url, command := y.get("url"), y.get("command")
	d := &model.Definition{}
	e.Definition = d
	switch {
	case url != nil:
		d.Transport = model.TransportHTTP
		if t := scalar(y.get("transport")); strings.EqualFold(t, "sse") {
			d.Transport = model.TransportSSE
		}
		d.URL = model.NewSecret(scalar(url))
		d.Headers, _ = yamlTextMap(y.get("headers"), true)
		if scalar(url) == "" {
			e.fault = y.fault(model.ReasonEntryInvalid, url, "the url is empty")
		}
		if command != nil {
			y.find(&e, model.FindingConflictingKeys, command, "the command beside a url is ignored")
		}
	case scalar(command) != "":
		d.Transport, d.Command = model.TransportStdio, scalar(command)
		args := y.get("args")
		var texts []string
		if args != nil && args.Kind == yaml.SequenceNode {
			for _, item := range args.Content {
				texts = append(texts, scalar(followAlias(item)))
			}
		} else if s := scalar(args); s != "" {
			texts = splitCommandLine(s)
			y.find(&e, model.FindingDeprecatedKey, args, "args should be a list")
		}
		d.Args = model.Secrets(texts)
		d.Env, _ = yamlTextMap(y.get("env"), true)
		d.Cwd = scalar(y.get("cwd"))
		if why := hermesSuspicious(d); why != "" {
			e.fault = y.fault(model.ReasonEntrySkipped, args, "Hermes leaves the entry out because it looks like an attack: %s", why)
		}
	default:
		e.Definition = nil
		e.fault = y.fault(model.ReasonEntryInvalid, command, "it has neither command nor url")
	}
	if seconds, err := strconv.ParseFloat(scalar(y.get("connect_timeout")), 64); err == nil && seconds > 0 && seconds < 86400 {
		d.StartTimeout = time.Duration(seconds * float64(time.Second))
	}
	if n := y.get("enabled"); hermesOff(env, references, n) {
		e.off = &model.Reason{Code: model.ReasonSwitchedOff, DecidedBy: y.where("enabled", n), Text: "enabled says no in its entry"}
	} else if n != nil && !yamlNull(n) && !hermesOn(env, references, n) {
		y.find(&e, model.FindingWrongType, n, "enabled is no word that Hermes knows, which counts as on")
	}
	for _, key := range []string{"disabled", "serverUrl", "httpUrl", "type", "envFile"} {
		if n := y.get(key); n != nil {
			y.find(&e, model.FindingUnknownKey, n, "%s is not read by Hermes", key)
		}
	}
	names := func(n *yaml.Node) []string {
		if s, ok := yamlText(n); ok {
			return []string{s}
		}
		list, _ := yamlTexts(n)
		return list
	}
	if include, exclude := y.get("tools", "include"), y.get("tools", "exclude"); include != nil || exclude != nil {
		e.Filter = &model.ToolFilter{Limited: include != nil && !yamlNull(include), Allow: names(include), Deny: names(exclude), At: y.where("tools", y.get("tools"))}
	}
	if e.Definition != nil {
		for _, name := range references.unset(env)(definitionTexts(d)...) {
			e.Findings = append(e.Findings, unsetFinding(name, "the text stays as written", 0))
		}
	}
	return e
}

// hermesWord is what a scalar says once its references are filled in: a word in lower case, or 0 or 1 for a number.
func hermesWord(env *Env, references referenceRules, n *yaml.Node) string {
	if n == nil || n.Kind != yaml.ScalarNode || yamlNull(n) {
		return ""
	}
	switch n.ShortTag() {
	case "!!int", "!!float":
		var value float64
		if n.Decode(&value) == nil && value == 0 {
			return "0"
		}
		return "1"
	}
	word, _ := references.fill(env, n.Value)
	return strings.ToLower(strings.TrimSpace(word))
}

// hermesOff tells whether a value of enabled means no: the words false, 0, no and off in any letter case, and the number 0.
func hermesOff(env *Env, references referenceRules, n *yaml.Node) bool {
	return slices.Contains([]string{"false", "0", "no", "off"}, hermesWord(env, references, n))
}

func hermesOn(env *Env, references referenceRules, n *yaml.Node) bool {
	return slices.Contains([]string{"true", "1", "yes", "on"}, hermesWord(env, references, n))
}

// hermesSalt tells one content of the file of variables from another.
func hermesSalt(dotenv map[string]string) string {
	sum := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(dotenv)) {
		fmt.Fprintf(sum, "%q=%q\n", name, dotenv[name])
	}
	return hex.EncodeToString(sum.Sum(nil))
}

var (
	hermesShells  = []string{"bash", "sh", "zsh", "dash", "fish", "cmd", "cmd.exe", "powershell", "powershell.exe", "pwsh", "pwsh.exe"}
	hermesNetwork = regexp.MustCompile(`(?i)(^|[^\w.-])(curl|wget|nc|ncat|socat)($|[^\w.-])|/dev/tcp/|\bInvoke-(WebRequest|RestMethod)\b|\bSystem\.Net\.WebClient\b`)
	hermesPersist = regexp.MustCompile(`(?i)authorized_keys|\.ssh/|/etc/ssh\b|/etc/pam\.d\b|pam_[\w-]+\.so|/etc/sudoers|/etc/cron|crontab\b|/etc/rc\.local|/etc/systemd|\.bashrc\b|\.bash_profile\b|\.profile\b|\.zshrc\b`)
)

// hermesSuspicious says why Hermes would not start a program; "" when it would.
func hermesSuspicious(d *model.Definition) string {
	script := strings.Join(d.ArgTexts(), " ")
	words := strings.Fields(d.Command)
	if len(words) == 0 || script == "" {
		return ""
	}
	name := strings.ToLower(words[0][strings.LastIndexAny(words[0], `/\`)+1:])
	switch {
	case !slices.Contains(hermesShells, name):
		return ""
	case hermesNetwork.MatchString(script):
		return "a shell that uses the network"
	case hermesPersist.MatchString(script):
		return "a shell that touches files of the login or the system"
	}
	return ""
}
