package loaders

import (
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"fusebox/model"
)

// gooseCLI is the registry row of Goose, whose servers are extensions. Its rules were read in its source at 0beee6a.
func gooseCLI() Harness {
	return Harness{
		Harness: model.Harness{
			ID: "goose", Title: "Goose", Heading: "Goose", Verified: model.VerifiedSource, VersionChecked: "0beee6a",
			BlindSpots: []model.BlindSpot{
				{Code: "keyring", Text: "values of env_keys, which are in the keyring"},
				{Code: "recipes", Text: "extensions of a recipe, which replace the configured ones"},
				{Code: "session-flags", Text: "--with-extension, --with-builtin and other flags of one session"},
				{Code: "built-in-servers", Text: "extensions of the types builtin, platform, frontend and inline_python, which are no servers of the user"},
				{Code: "sign-in", Text: "whether a remote server asks for a sign-in"},
			},
		},
		Resolve: resolveGoose,
		Launch: LaunchRules{
			Class:    EnvironmentFull,
			Fill:     gooseReferences.launchFill,
			Speaks:   func(t model.Transport) bool { return t == model.TransportStdio || t == model.TransportHTTP },
			ToolName: func(server, tool string) string { return gooseKey(server) + "__" + tool },
		},
		Sessions: SessionRules{Programs: []string{"goose", "goosed"}, Not: []string{"configure", "info", "mcp", "update"}, Reload: "start a new session"},
		Toggle:   entrySwitch(Format{YAML: true}, "enabled", false, "extensions"),
	}
}

var gooseReferences = plainReferences(false)

// gooseKey is the name of an extension without blanks, in lower case.
func gooseKey(name string) string { return strings.ToLower(strings.Join(strings.Fields(name), "")) }

func gooseFile(env *Env) string {
	switch root := env.Var("GOOSE_PATH_ROOT"); {
	case root != "":
		return filepath.Join(root, "config", "config.yaml")
	case env.GOOS == "windows":
		return filepath.Join(env.AppData(), "Block", "goose", "config", "config.yaml")
	}
	return filepath.Join(env.ConfigHome(), "goose", "config.yaml")
}

func resolveGoose(env *Env, r *Reader) Result {
	p := &plainResolve{env: env, r: r, title: "Goose", taken: gooseReferences.taken(env)}
	path := gooseFile(env)
	f, root := readYAML(r, path, model.ScopeUser)
	if n := yamlGet(root, "extensions"); f.OK() && n != nil && n.Kind != yaml.MappingNode && !yamlNull(n) {
		p.note(model.FindingWrongType, f.Path, n.Line, "extensions is "+yamlWord(n)+", not a mapping: Goose reads no extension")
	}
	entries := p.yamlServers(f, root, "extensions", func(y yamlEntry) (plainEntry, bool) { return gooseEntry(env, y) })
	p.stops(f)
	for _, key := range []string{"mcpServers", "mcp_servers", "servers"} {
		if n := yamlGet(root, key); n != nil && n.Kind == yaml.MappingNode {
			p.note(model.FindingWrongKey, f.Path, n.Line, p.tilde(f.Path)+" has "+key+"; Goose reads extensions")
		}
	}
	return p.result(p.cells(entries), r.IsDir(filepath.Dir(path)))
}

// gooseForbidden are variables that an extension must not set.
var gooseForbidden = []string{"PATH", "PATHEXT", "SYSTEMROOT", "WINDIR", "LD_LIBRARY_PATH", "LD_PRELOAD", "LD_AUDIT", "LD_DEBUG", "LD_BIND_NOW", "LD_ASSUME_KERNEL",
	"DYLD_LIBRARY_PATH", "DYLD_INSERT_LIBRARIES", "DYLD_FRAMEWORK_PATH", "PYTHONPATH", "PYTHONHOME", "NODE_OPTIONS", "RUBYOPT", "GEM_PATH", "GEM_HOME", "CLASSPATH",
	"GO111MODULE", "GOROOT", "APPINIT_DLLS", "SESSIONNAME", "COMSPEC", "TEMP", "TMP", "LOCALAPPDATA", "USERPROFILE", "HOMEDRIVE", "HOMEPATH"}

// gooseEntry reads one extension; ok is false for those that are no servers. enabled, and args of a program, must be there.
func gooseEntry(env *Env, y yamlEntry) (e plainEntry, ok bool) {
	skip := func(n *yaml.Node, format string, args ...any) {
		if e.fault == nil {
			e.fault = y.fault(model.ReasonEntrySkipped, n, format+": Goose leaves the entry out", args...)
		}
	}
	if y.value == nil || y.value.Kind != yaml.MappingNode {
		skip(y.value, "the entry is %s, not a mapping", yamlWord(y.value))
		return e, true
	}
	kind, isText := yamlText(y.get("type"))
	switch kind {
	case "builtin", "platform", "frontend", "inline_python":
		return e, false
	case "stdio", "streamable_http", "sse":
	default:
		if isText {
			skip(y.get("type"), "its type is none that Goose knows: stdio or streamable_http")
		} else {
			skip(y.get("type"), "type is missing: stdio or streamable_http")
		}
	}
	d := &model.Definition{}
	switch kind {
	case "stdio":
		d.Transport = model.TransportStdio
		cmd, fits := yamlText(y.get("cmd"))
		if !fits {
			skip(y.get("cmd"), "cmd is missing or no text")
		}
		d.Command = cmd
		args, fits := yamlTexts(y.get("args"))
		if !fits {
			skip(y.get("args"), "args is missing or no list of texts")
		}
		d.Args = model.Secrets(args)
	case "streamable_http", "sse":
		d.Transport = model.TransportHTTP
		if kind == "sse" {
			d.Transport = model.TransportSSE
		}
		uri, fits := yamlText(y.get("uri"))
		if !fits && kind != "sse" {
			skip(y.get("uri"), "uri is missing or no text")
		}
		d.URL = model.NewSecret(uri)
		if n := y.get("headers"); n != nil {
			if d.Headers, fits = yamlTextMap(n, false); !fits {
				skip(n, "headers is no mapping of texts")
			}
		}
	}
	if d.Transport != model.TransportUnknown {
		e.Definition = d
	}
	if n := y.get("envs"); n != nil {
		vars, fits := yamlTextMap(n, false)
		if !fits {
			skip(n, "envs is no mapping of texts")
		}
		for _, v := range vars {
			if slices.Contains(gooseForbidden, strings.ToUpper(v.Name)) {
				y.find(&e, model.FindingUselessKey, n, "the variable %s must not be set: Goose leaves it out", quoted(v.Name))
				continue
			}
			d.Env = append(d.Env, v)
		}
	}
	if n := y.get("env_keys"); n != nil {
		var fits bool
		if d.Inherit, fits = yamlTexts(n); !fits {
			skip(n, "env_keys is no list of texts")
		}
	}
	if _, fits := yamlText(y.get("name")); !fits && kind != "sse" && kind != "" {
		skip(y.get("name"), "name is missing or no text")
	}
	on, fits := yamlBool(y.get("enabled"))
	if !fits {
		skip(y.get("enabled"), "enabled is missing, or neither true nor false")
	}
	if n := y.get("timeout"); n != nil && n.Kind == yaml.ScalarNode {
		if seconds, err := strconv.Atoi(n.Value); err == nil && seconds > 0 && seconds < 86400 {
			d.StartTimeout = time.Duration(seconds) * time.Second
		}
	}
	switch {
	case e.fault != nil:
	case !on:
		e.off = &model.Reason{Code: model.ReasonSwitchedOff, DecidedBy: y.where("enabled", y.get("enabled")), Text: "enabled is false in its entry"}
	case kind == "sse":
		e.fault = y.fault(model.ReasonEntryInvalid, y.get("type"), "Goose has no SSE any more: the type has to be streamable_http")
	}
	if tools, fits := yamlTexts(y.get("available_tools")); fits && len(tools) > 0 {
		e.Filter = &model.ToolFilter{Limited: true, Allow: tools, At: y.where("available_tools", y.get("available_tools"))}
	}
	for _, key := range []string{"command", "url", "env", "disabled"} {
		if n := y.get(key); n != nil {
			y.find(&e, model.FindingUnknownKey, n, "%s is not read by Goose: its keys are cmd, uri, envs and enabled", key)
		}
	}
	if e.Definition != nil {
		for _, name := range gooseReferences.unset(env)(definitionTexts(d)...) {
			e.Findings = append(e.Findings, unsetFinding(name, "the text stays as written", 0))
		}
	}
	return e, true
}
