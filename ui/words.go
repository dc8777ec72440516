package ui

import (
	"path/filepath"
	"runtime/debug"
	"strconv"
	"strings"

	"fusebox/model"
)

// count writes a number with its word in the singular or plural.
func count(n int, word string) string {
	if n == 1 {
		return "1 " + word
	}
	return strconv.Itoa(n) + " " + word + "s"
}

func lineSuffix(line int) string {
	if line <= 0 {
		return ""
	}
	return ":" + strconv.Itoa(line)
}

// shortPath shows a path relative to the folder where it is inside it, else with ~ for the home folder.
func shortPath(p, project, home string) string {
	if strings.HasPrefix(p, "$") {
		return p
	}
	if rel, err := filepath.Rel(project, p); project != home && err == nil && rel != "." && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
		return model.Clean(rel)
	}
	return model.Clean(model.Tilde(p, home))
}

// namesPlace tells whether a sentence names this file and line already.
func namesPlace(text string, place model.Location, home string) bool {
	for _, path := range []string{place.Path, model.Tilde(place.Path, home)} {
		_, rest, found := strings.Cut(text, path+lineSuffix(place.Line))
		if found && (rest == "" || rest[0] < '0' || rest[0] > '9') && (place.Line > 0 || !strings.HasPrefix(rest, "/")) {
			return true
		}
	}
	return false
}

// reachOf says in words whom a scope reaches.
func reachOf(s model.Scope) string {
	switch s {
	case model.ScopeManaged:
		return "managed: set by an administrator"
	case model.ScopeSystem, model.ScopeSystemDefaults:
		return string(s) + ": everybody on this machine"
	case model.ScopeUser:
		return "user: every folder"
	case model.ScopeLocal:
		return "local: this folder, for you alone"
	case model.ScopeProject:
		return "project: this repository"
	case model.ScopeCustom:
		return "named by an environment variable"
	case model.ScopeExtension:
		return "extension: every folder"
	case model.ScopePlugin:
		return "plugin"
	}
	return string(s)
}

func stack() string { return string(debug.Stack()) }
