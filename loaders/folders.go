package loaders

import (
	"path/filepath"
	"slices"
	"strings"

	"fusebox/model"
)

// KnownFolder is a folder that files of harnesses name: as a project, or as trusted.
type KnownFolder struct {
	Path string
	By   []model.HarnessID
}

// KnownFolders returns the folders that the harnesses' own files name, sorted by path. It looks at no folder but reads the
// harnesses' files only.
func KnownFolders(env *Env, harnesses []Harness) []KnownFolder {
	byPath := map[string]*KnownFolder{}
	for _, h := range harnesses {
		if h.Folders == nil {
			continue
		}
		for _, path := range h.Folders(env, NewReader(env, NewCache())) {
			if !filepath.IsAbs(path) || strings.ContainsAny(path, "*\x00") {
				continue
			}
			path = filepath.Clean(path)
			f := byPath[path]
			if f == nil {
				f = &KnownFolder{Path: path}
				byPath[path] = f
			}
			if !slices.Contains(f.By, h.ID) {
				f.By = append(f.By, h.ID)
			}
		}
	}
	out := make([]KnownFolder, 0, len(byPath))
	for _, f := range byPath {
		out = append(out, *f)
	}
	slices.SortFunc(out, func(a, b KnownFolder) int { return strings.Compare(a.Path, b.Path) })
	return out
}

// foldersOfClaude are the keys of projects in the main file.
func foldersOfClaude(env *Env, r *Reader) []string {
	c := &claude{env: env, r: r, configDir: env.InHome(".claude")}
	if dir := env.Var("CLAUDE_CONFIG_DIR"); dir != "" {
		c.configDir = filepath.Clean(env.Expand(dir))
	}
	c.readMain()
	return memberNames(c.main.Root().Get("projects").Members())
}

// foldersOfCodex are the keys of projects in the user's configuration.
func foldersOfCodex(env *Env, r *Reader) []string {
	dir := env.InHome(".codex")
	if v := env.Var("CODEX_HOME"); v != "" {
		dir = v
	}
	f := r.ReadTOML(filepath.Join(dir, "config.toml"), model.ScopeUser)
	if f.TOML == nil {
		return nil
	}
	return f.TOML.Keys("projects")
}

// foldersOfTrustFile are the rules of a trustedFolders.json below a folder of the home.
func foldersOfTrustFile(variable, path string) func(env *Env, r *Reader) []string {
	return func(env *Env, r *Reader) []string {
		file := env.InHome(path)
		if v := env.Var(variable); v != "" {
			file = v
		}
		return memberNames(r.ReadJSON(file, model.ScopeUser, 0, geminiJSON).Root().Members())
	}
}

// foldersOfCopilot are the trusted folders of its config.json.
func foldersOfCopilot(env *Env, r *Reader) []string {
	dir := env.InHome(".copilot")
	if v := env.Var("COPILOT_HOME"); v != "" {
		dir = v
	}
	var out []string
	root := r.Recover(r.Read(filepath.Join(dir, "config.json"), model.ScopeUser, 0)).Root()
	for _, key := range []string{"trustedFolders", "trusted_folders"} {
		for _, item := range root.Get(key).Elements() {
			if s, ok := item.Str(); ok {
				out = append(out, s)
			}
		}
	}
	return out
}
