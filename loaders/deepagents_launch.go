package loaders

import (
	"path/filepath"
	"slices"
	"strings"

	"fusebox/model"
)

// How deepagents-code 0.1.59 starts a server and names its tools.

// inheritDeepagents is the short list of the MCP SDK for Python.
func inheritDeepagents(env *Env, _ *model.Entry) map[string]string {
	out := sdkEnvironment(env)
	if env.GOOS == "windows" {
		if v, ok := env.Lookup("PATHEXT"); ok {
			out["PATHEXT"] = v
		}
	}
	return out
}

// fillDeepagents fills in ${NAME} and ${NAME:-default} everywhere, from the environment and the .env files that a session
// reads. With a name that has no value deepagents does not load the server at all.
func fillDeepagents(env *Env, _ *model.Entry, part TextPart, text string) (string, []string) {
	if part == PartCwd || !strings.Contains(text, "${") {
		return text, nil
	}
	filled, unset, _ := fillDeep(text, newDeepagents(env, NewReader(env, NewCache())).lookup)
	if unset != "" {
		return text, []string{unset}
	}
	return filled, nil
}

// deepagentsCwd is the folder for temporary files: servers are started by a process that works in a folder of its own
// below it, never in the project (source).
func deepagentsCwd(env *Env, _ *model.Entry) string {
	names, usual := []string{"TMPDIR", "TEMP", "TMP"}, "/tmp"
	if env.GOOS == "windows" {
		names, usual = []string{"TEMP", "TMP"}, `C:\Windows\Temp`
	}
	for _, name := range names {
		if v := env.Var(name); filepath.IsAbs(v) {
			return filepath.Clean(v)
		}
	}
	return usual
}

// dropsDeepagents compares the items of a filter with both names of a tool: SERVER_TOOL, and what follows the server in it.
// An item with *, ? or [ is a pattern.
func dropsDeepagents(f *model.ToolFilter, server, tool string) bool {
	full := server + "_" + tool
	match := func(item string) bool {
		if strings.ContainsAny(item, "*?[") {
			return pythonFnmatch(full, item) || pythonFnmatch(tool, item)
		}
		return item == full || item == tool
	}
	return f.Limited && !slices.ContainsFunc(f.Allow, match) || slices.ContainsFunc(f.Deny, match)
}
