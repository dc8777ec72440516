package cli

import (
	"embed"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"time"

	"fusebox/loaders"
)

// demoFiles are the home, the project in it, and the machine-wide files of the demo. A text @NAME@ in contents and names is
// filled in.
//
//go:embed all:demo_files
var demoFiles embed.FS

const (
	demoHome    = "home"
	demoProject = "home/demo-shop"
	demoRoot    = "root"
)

// newDemo lays the demo out in a folder of its own and describes it as a machine: its home, its project, its machine-wide
// paths, and no more of the caller's environment than a program needs to be found. remove deletes the folder.
func newDemo() (env *loaders.Env, remove func(), err error) {
	base, err := os.MkdirTemp("", "fusebox-demo-") // readable by its owner only
	if err != nil {
		return nil, nil, fmt.Errorf("make the demo's folder: %w", err)
	}
	hosts, endServers, err := serveDemo()
	if err != nil {
		os.RemoveAll(base) //nolint:errcheck // the error says what matters
		return nil, nil, err
	}
	remove = func() {
		endServers()
		os.RemoveAll(base) //nolint:errcheck // nobody is left to tell
	}
	defer func() {
		if err != nil {
			remove()
		}
	}()
	real, err := filepath.EvalSymlinks(base) // harnesses keep real paths, e.g. of the project
	if err != nil {
		return nil, nil, fmt.Errorf("find the demo's folder: %w", err)
	}
	program, err := os.Executable()
	if err != nil {
		return nil, nil, fmt.Errorf("find this program: %w", err)
	}
	home, project := filepath.Join(real, demoHome), filepath.Join(real, filepath.FromSlash(demoProject))
	command, folder := demoCommand(real, program)
	fill := map[string]string{"FUSEBOX": command, "HOME": home, "PROJECT": project, "PROJECT_SLUG": cursorSlug(project), "APPDATA": demoAppData(runtime.GOOS), "GOOSE": demoGoose(runtime.GOOS)}
	if err := layOut(real, fill, hosts); err != nil {
		return nil, nil, err
	}
	if err := os.MkdirAll(filepath.Join(project, ".git"), 0o700); err != nil {
		return nil, nil, fmt.Errorf("lay out the demo: %w", err)
	}
	vars := map[string]string{"HOME": home}
	for _, name := range []string{"PATH", "LANG", "TERM"} {
		if v, ok := os.LookupEnv(name); ok {
			vars[name] = v
		}
	}
	if folder != "" {
		vars["PATH"] = folder + string(filepath.ListSeparator) + vars["PATH"]
	}
	return &loaders.Env{Root: filepath.Join(real, demoRoot), Home: home, Project: project, GOOS: runtime.GOOS, Vars: vars,
		UID: os.Getuid(), Now: time.Now}, remove, nil
}

// demoCommand is what the demo's entries start. A link to this program in a folder of the demo's PATH makes it a short name,
// as in real entries; the path of this program can be long, that of "go run" above all. Where there can be no link it is
// that path, and folder is empty.
func demoCommand(base, program string) (command, folder string) {
	folder = filepath.Join(base, "bin")
	if runtime.GOOS == "windows" || os.Mkdir(folder, 0o700) != nil || os.Symlink(program, filepath.Join(folder, "fusebox")) != nil {
		return program, ""
	}
	return "fusebox", folder
}

// layOut writes the embedded files below base, with @NAMES@ and hosts filled in.
func layOut(base string, fill, hosts map[string]string) error {
	plain, quoted := make([]string, 0, 2*len(fill)), make([]string, 0, 2*len(fill))
	for name, value := range fill {
		inside, err := json.Marshal(value) // JSON and TOML write a text in the same way
		if err != nil {
			return fmt.Errorf("lay out the demo: %w", err)
		}
		plain = append(plain, "@"+name+"@", value)
		quoted = append(quoted, "@"+name+"@", string(inside[1:len(inside)-1]))
	}
	for host, instead := range hosts {
		quoted = append(quoted, host, instead)
	}
	names, contents := strings.NewReplacer(plain...), strings.NewReplacer(quoted...)
	const embedded = "demo_files"
	err := fs.WalkDir(demoFiles, embedded, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		target := filepath.Join(base, filepath.FromSlash(names.Replace(strings.TrimPrefix(path.Clean(name), embedded))))
		if d.IsDir() {
			return os.MkdirAll(target, 0o700)
		}
		data, err := demoFiles.ReadFile(name)
		if err != nil {
			return err
		}
		return os.WriteFile(target, []byte(contents.Replace(string(data))), 0o600)
	})
	if err != nil {
		return fmt.Errorf("lay out the demo: %w", err)
	}
	return nil
}

// demoAppData is where desktop programs keep their settings, below home.
func demoAppData(goos string) string {
	switch goos {
	case "darwin":
		return "Library/Application Support"
	case "windows":
		return "AppData/Roaming"
	default:
		return ".config"
	}
}

// demoGoose is where Goose keeps its configuration, below home.
func demoGoose(goos string) string {
	if goos == "windows" {
		return demoAppData(goos) + "/Block/goose/config"
	}
	return ".config/goose"
}

var notInSlug = regexp.MustCompile(`[^A-Za-z0-9]+`)

// cursorSlug is the name under which the Cursor CLI keeps the state of a project (observed on @cursor/sdk 1.0.32).
func cursorSlug(project string) string {
	return strings.Trim(notInSlug.ReplaceAllString(project, "-"), "-")
}
