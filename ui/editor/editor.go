// Package editor builds the command that opens a file at a line in the user's editor. It starts nothing, looks nothing
// up on PATH, and calls no shell.
package editor

import (
	"slices"
	"strconv"
	"strings"
)

// Command returns the program and its arguments that open path in $VISUAL, else $EDITOR, else vi (notepad on Windows).
// line and column count from 1; 0 means unknown, and a column without a line is ignored. An editor that is not known
// gets the path alone. env looks a variable up and returns "" for an unset one; goos has the values of runtime.GOOS and
// decides how quotes and backslashes in the variables are read.
func Command(env func(string) string, goos, path string, line, column int) (name string, args []string) {
	words := configured(env, goos)
	program := programName(words[0], goos)
	return words[0], append(words[1:], location(program, words[1:], plainPath(path, goos), line, column)...)
}

// configured returns the words of the first variable that names an editor.
func configured(env func(string) string, goos string) []string {
	for _, variable := range []string{"VISUAL", "EDITOR"} {
		words := split(env(variable), goos)
		if len(words) == 0 || words[0] == "" {
			continue
		}
		if rest, ok := strings.CutPrefix(words[0], "~/"); ok && env("HOME") != "" {
			words[0] = strings.TrimSuffix(env("HOME"), "/") + "/" + rest
		}
		return words
	}
	if goos == "windows" {
		return []string{"notepad"}
	}
	return []string{"vi"}
}

// programName returns what the editor is known by: the last element of its path in lower case, without the ending of an
// executable or script.
func programName(word, goos string) string {
	separators := "/"
	if goos == "windows" {
		separators = `/\`
	}
	name := strings.ToLower(word[strings.LastIndexAny(word, separators)+1:])
	for _, ending := range []string{".exe", ".cmd", ".bat", ".com", ".sh"} {
		if short, ok := strings.CutSuffix(name, ending); ok {
			return short
		}
	}
	return name
}

// plainPath keeps a path from being read as a flag, or as a command of vi ("+..."). Both only happen to a relative one.
func plainPath(path, goos string) string {
	if !strings.HasPrefix(path, "-") && !strings.HasPrefix(path, "+") {
		return path
	}
	if goos == "windows" {
		return `.\` + path
	}
	return "./" + path
}

// location returns the arguments that name the file and the place in it. given are the arguments that the user set.
func location(program string, given []string, path string, line, column int) []string {
	if line < 1 {
		return []string{path}
	}
	at := strconv.Itoa(line)
	place := at // line:column where the column is known
	if column > 0 {
		place += ":" + strconv.Itoa(column)
	}
	switch program {
	case "vi", "vim", "nvim", "view", "gvim", "mvim", "nvi", "vim.basic", "vim.tiny", "vim.nox", "vim.gtk3",
		"joe", "jmacs", "jpico", "jstar", "mg", "ne", "pico", "jove", "zile", "gedit", "pluma", "bbedit":
		return []string{"+" + at, path}
	case "emacs", "emacsclient", "micro", "kak":
		return []string{"+" + place, path}
	case "nano", "rnano":
		return []string{"+" + strings.ReplaceAll(place, ":", ","), path}
	case "hx", "helix", "subl", "sublime_text", "zed", "zeditor", "zedit":
		return []string{path + ":" + place}
	case "code", "code-insiders", "code-oss", "codium", "vscodium", "codium-insiders", "cursor", "windsurf", "kiro", "antigravity", "trae", "positron":
		if slices.Contains(given, "--goto") || slices.Contains(given, "-g") {
			return []string{path + ":" + place}
		}
		return []string{"--goto", path + ":" + place}
	case "idea", "idea64", "goland", "goland64", "pycharm", "pycharm64", "webstorm", "webstorm64", "phpstorm", "phpstorm64", "clion", "clion64",
		"rubymine", "rubymine64", "rider", "rider64", "rustrover", "rustrover64", "datagrip", "datagrip64", "studio", "studio64",
		"kate", "kwrite":
		args := []string{"--line", at}
		if column > 0 {
			args = append(args, "--column", strconv.Itoa(column))
		}
		return append(args, path)
	case "mate":
		return []string{"--line", place, path}
	case "notepad++":
		args := []string{"-n" + at}
		if column > 0 {
			args = append(args, "-c"+strconv.Itoa(column))
		}
		return append(args, path)
	}
	return []string{path}
}
