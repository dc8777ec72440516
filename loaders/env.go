package loaders

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

// Env is everything that resolving may know of the machine besides file contents. Nothing in this package reads the real
// environment but NewEnv.
type Env struct {
	Root    string            // prefix of machine-wide paths such as /etc; "" on a real machine
	Home    string            // the user's home folder, absolute
	Project string            // the folder that a session starts in, absolute, as the user gave it
	GOOS    string            // whose paths are used: linux, darwin or windows
	Vars    map[string]string // environment variables
	UID     int               // user id; -1 where there is none
	Now     func() time.Time
}

// NewEnv describes this machine for a session that starts in project. An empty project is the working folder.
func NewEnv(project string) (*Env, error) {
	if project == "" {
		wd, err := os.Getwd()
		if err != nil {
			return nil, fmt.Errorf("find the working folder: %w", err)
		}
		project = wd
	}
	project, err := filepath.Abs(project)
	if err != nil {
		return nil, fmt.Errorf("resolve %s: %w", project, err)
	}
	info, err := os.Stat(project)
	if err != nil {
		return nil, fmt.Errorf("open the folder: %w", err)
	}
	if !info.IsDir() {
		return nil, fmt.Errorf("%s is not a folder", project)
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return nil, fmt.Errorf("find the home folder: %w", err)
	}
	if !filepath.IsAbs(home) {
		// Every program would resolve it against its own working folder: no listing here would be true of all sessions.
		return nil, fmt.Errorf("find the home folder: %s is not an absolute path", home)
	}
	vars := map[string]string{}
	for _, kv := range os.Environ() {
		if k, v, ok := strings.Cut(kv, "="); ok && k != "" {
			vars[k] = v
		}
	}
	return &Env{Home: home, Project: project, GOOS: runtime.GOOS, Vars: vars, UID: os.Getuid(), Now: time.Now}, nil
}

// Var returns an environment variable; an unset and an empty one both give "".
func (e *Env) Var(name string) string {
	v, _ := e.Lookup(name)
	return v
}

// Lookup returns an environment variable and whether it is set. On Windows names have no letter case.
func (e *Env) Lookup(name string) (string, bool) {
	v, ok := e.Vars[name]
	if !ok && e.GOOS == "windows" {
		for k, v := range e.Vars {
			if strings.EqualFold(k, name) {
				return v, true
			}
		}
	}
	return v, ok
}

// InHome joins a slash path below the home folder.
func (e *Env) InHome(path string) string { return filepath.Join(e.Home, filepath.FromSlash(path)) }

// InProject joins a slash path below the folder that a session starts in.
func (e *Env) InProject(path string) string {
	return filepath.Join(e.Project, filepath.FromSlash(path))
}

// System returns a machine-wide path, e.g. "/etc/codex/config.toml" or "C:/ProgramData/x". Off Windows a drive becomes a
// folder, so that tests can lay such a tree out anywhere.
func (e *Env) System(path string) string {
	if e.GOOS == "windows" && runtime.GOOS != "windows" {
		path = "/" + strings.Replace(path, ":", "", 1)
	}
	return filepath.Join(e.Root+string(filepath.Separator), filepath.FromSlash(path))
}

// SystemDir picks a machine-wide folder by operating system.
func (e *Env) SystemDir(linux, darwin, windows string) string {
	switch e.GOOS {
	case "windows":
		return e.System(windows)
	case "darwin":
		return e.System(darwin)
	default:
		return e.System(linux)
	}
}

// ConfigHome is $XDG_CONFIG_HOME, or ~/.config.
func (e *Env) ConfigHome() string {
	if v := e.Var("XDG_CONFIG_HOME"); filepath.IsAbs(v) {
		return filepath.Clean(v)
	}
	return e.InHome(".config")
}

// DataHome is $XDG_DATA_HOME, or ~/.local/share.
func (e *Env) DataHome() string {
	if v := e.Var("XDG_DATA_HOME"); filepath.IsAbs(v) {
		return filepath.Clean(v)
	}
	return e.InHome(".local/share")
}

// AppData is where desktop programs keep their settings: ~/.config, ~/Library/Application Support, or %APPDATA%.
func (e *Env) AppData() string {
	switch e.GOOS {
	case "darwin":
		return e.InHome("Library/Application Support")
	case "windows":
		if v := e.Var("APPDATA"); v != "" {
			return v
		}
		return e.InHome("AppData/Roaming")
	default:
		return e.ConfigHome()
	}
}

// Expand replaces a leading "~/" (or "~" alone) by the home folder.
func (e *Env) Expand(path string) string {
	if path == "~" {
		return e.Home
	}
	if rest, ok := strings.CutPrefix(path, "~/"); ok {
		return e.InHome(rest)
	}
	return path
}

// Ancestors returns the folder itself and its parents, nearest first, the root included.
func Ancestors(dir string) []string {
	dir = filepath.Clean(dir)
	out := []string{dir}
	for {
		parent := filepath.Dir(dir)
		if parent == dir {
			return out
		}
		out = append(out, parent)
		dir = parent
	}
}

// Within tells whether path is dir or lies below it, by path components.
func Within(path, dir string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}
