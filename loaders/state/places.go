// Package state keeps what fusebox itself remembers: the old bytes of the files that it wrote, for undo, and its own small
// configuration.
//
// It knows no harness, decides nothing about servers, never prints the content of a file, and is not a place for anything
// that the harnesses' own files tell.
package state

import (
	"path/filepath"
)

// UndoDir is the folder of the undo store: $XDG_STATE_HOME/fusebox/undo where that is set, else
// ~/.local/state/fusebox/undo; ~/Library/Application Support/fusebox/undo on macOS; %LOCALAPPDATA%\fusebox\undo on Windows.
// The variable function returns an environment variable, "" when unset; relative paths in variables are ignored.
func UndoDir(goos, home string, variable func(string) string) string {
	base := filepath.Join(home, ".local", "state")
	switch goos {
	case "darwin":
		base = filepath.Join(home, "Library", "Application Support")
	case "windows":
		base = absolute(variable("LOCALAPPDATA"), filepath.Join(home, "AppData", "Local"))
	}
	return filepath.Join(absolute(variable("XDG_STATE_HOME"), base), "fusebox", "undo")
}

// ConfigPath is fusebox's own configuration file: $XDG_CONFIG_HOME/fusebox/config.toml where that is set, else
// ~/.config/fusebox/config.toml; ~/Library/Application Support/fusebox/config.toml on macOS; %APPDATA%\fusebox\config.toml
// on Windows.
func ConfigPath(goos, home string, variable func(string) string) string {
	base := filepath.Join(home, ".config")
	switch goos {
	case "darwin":
		base = filepath.Join(home, "Library", "Application Support")
	case "windows":
		base = absolute(variable("APPDATA"), filepath.Join(home, "AppData", "Roaming"))
	}
	return filepath.Join(absolute(variable("XDG_CONFIG_HOME"), base), "fusebox", "config.toml")
}

func absolute(path, otherwise string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return otherwise
}
