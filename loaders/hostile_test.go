package loaders_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"fusebox/loaders"
	"fusebox/model"
)

// hostileThing is something that may lie where a harness has a file.
type hostileThing struct {
	put      func(path string) error
	unusable bool // no harness can read it as a file: it must be reported as refused or ignored
	broken   bool // its text breaks every format: it must be reported as malformed, or not be read at all
	asRoot   bool // root is not kept out
	big      bool // costs time: of many files a third is enough, a different third for each big thing
}

func text(s string) func(string) error {
	return func(path string) error { return os.WriteFile(path, []byte(s), 0o600) }
}

// sparse makes a file of zeros that takes no room.
func sparse(size int64) func(string) error {
	return func(path string) error {
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			return err
		}
		return os.Truncate(path, size)
	}
}

// nameEverywhere declares a server of this name in the ways of the known formats, JSON first.
func nameEverywhere(quoted string) string {
	return `{"mcpServers":{` + quoted + `:{"command":"x","args":["a"]}},"mcp":{` + quoted + `:{"type":"local","command":["x"]}},` +
		`"servers":{` + quoted + `:{"command":"x"}},"context_servers":{` + quoted + `:{"command":"x"}},` +
		`"mcpServers2":{},"projects":{` + quoted + `:{"mcpServers":{` + quoted + `:{"command":"x"}}}}}`
}

// nameInTOML declares one in a TOML file, nameInYAML in a YAML file.
func nameInTOML(quoted string) string {
	return "[mcp_servers." + quoted + "]\ncommand = \"x\"\n[projects." + quoted + "]\ntrust_level = \"trusted\"\n"
}

func nameInYAML(quoted string) string {
	return "mcp_servers:\n  " + quoted + ":\n    command: x\nextensions:\n  " + quoted + ":\n    type: stdio\n    cmd: x\n    enabled: true\nmcpServers:\n  - name: " + quoted + "\n    command: x\n"
}

// byFormat writes the text that fits the end of the path.
func byFormat(json, toml, yaml string) func(string) error {
	return func(path string) error {
		switch filepath.Ext(path) {
		case ".toml":
			return os.WriteFile(path, []byte(toml), 0o600)
		case ".yaml", ".yml":
			return os.WriteFile(path, []byte(yaml), 0o600)
		}
		return os.WriteFile(path, []byte(json), 0o600)
	}
}

func named(quoted string) func(string) error {
	return byFormat(nameEverywhere(quoted), nameInTOML(quoted), nameInYAML(quoted))
}

func hostileThings() map[string]hostileThing {
	const deep = 20_000
	return map[string]hostileThing{
		"a FIFO":            {put: makeFIFO, unusable: true},
		"a device":          {put: func(path string) error { return os.Symlink("/dev/zero", path) }, unusable: true},
		"a folder":          {put: func(path string) error { return os.Mkdir(path, 0o700) }, unusable: true},
		"a loop of links":   {put: func(path string) error { return os.Symlink(filepath.Base(path), path) }, unusable: true},
		"a file of 17 MB":   {put: sparse(17 << 20), unusable: true},
		"an unreadable one": {put: func(path string) error { return os.WriteFile(path, []byte("{}"), 0) }, unusable: true, asRoot: true},
		"a dangling link":   {put: func(path string) error { return os.Symlink("nowhere", path) }},
		"nothing in it":     {put: text("")},
		"zero bytes":        {put: text(strings.Repeat("\x00", 4096)), broken: true},
		"half a file":       {put: byFormat(`{"mcpServers":{"a":{"command":`, "[mcp_servers.a]\ncommand =", "mcp_servers:\n  a: {command: [")},
		"UTF-16":            {put: text("\xff\xfe{\x00}\x00"), broken: true},
		"invalid UTF-8":     {put: named("\"a\xff\xfe\xc3b\"")},
		"nested lists":      {put: byFormat(strings.Repeat("[", deep), "a = "+strings.Repeat("[", deep), strings.Repeat("[", deep)), broken: true, big: true},
		"nested objects":    {put: byFormat(strings.Repeat(`{"mcpServers":`, deep), strings.Repeat("a.", deep)+"a = 1\n", strings.Repeat(`{"a":`, deep)), big: true},
		"closed lists":      {put: byFormat(`{"mcpServers":`+strings.Repeat("[", deep)+strings.Repeat("]", deep)+"}", "mcp_servers = "+strings.Repeat("[", deep)+strings.Repeat("]", deep), "mcp_servers: "+strings.Repeat("[", deep)+strings.Repeat("]", deep)), big: true},
		"a deep table":      {put: byFormat(`{"a":[[{}]]}`, "["+strings.Repeat("mcp_servers.", deep)+"a]\nx = 1\n", strings.Repeat("- ", deep)+"a"), big: true},
		"a name of 1 MB":    {put: named(`"` + strings.Repeat("n", 1<<20) + `"`), big: true},
		"a name with ESC":   {put: named(`"a\u001b[31mb\u001b]0;title\u0007"`)},
		"a raw ESC":         {put: named("\"a\x1b[31mb\"")},
		"line ends":         {put: named(`"a\nb\r\nc"`)},
		"right to left":     {put: named("\"a\u202eb\u2066c\u200bd\"")},
		"an empty name":     {put: named(`""`)},
		"a blank name":      {put: named(`"  "`)},
		"a text":            {put: byFormat(`"mcpServers"`, "mcp_servers = 'x'\n", "just a text")},
		"a number":          {put: byFormat("7", "mcp_servers = 7\n", "7")},
		"null":              {put: byFormat("null", "", "null")},
		"wrong types":       {put: byFormat(wrongTypesJSON, wrongTypesTOML, wrongTypesYAML)},
	}
}

// wrongTypes hold a value of the wrong kind at every place that a reader may look at.
const (
	wrongTypesJSON = `{"mcpServers":{"a":[],"b":7,"c":null,"d":"x","e":{"command":[{}],"args":{},"env":[],"url":{},"headers":7,"type":[],"timeout":"x","disabled":"yes","enabled":{},"cwd":[]},"f":{"command":{},"url":[]}},
"mcp":[1,{"a":[]}],"servers":"x","projects":[[]],"tools":7,"disabledMcpServers":{},"enabledMcpjsonServers":[{}],"disabledMcpjsonServers":7,"excludeMCPServers":{},"allowMCPServers":"x","security":[],"folderTrust":7,"trust":[],"inputs":{},"plugin":{}}`
	wrongTypesTOML = "mcp_servers = [1, {a = []}]\nprojects = 'x'\nmodel = []\nproject_root_markers = 7\n"
	wrongTypesYAML = "mcp_servers: [1, {a: []}]\nextensions: 7\nmcpServers: {a: [], b: 7}\nplugins: x\n"
)

// resolveInTime resolves and gives up when it hangs: opening a FIFO waits for a writer for ever.
func resolveInTime(t *testing.T, what string, env *loaders.Env, harnesses []loaders.Harness) *model.Snapshot {
	t.Helper()
	done := make(chan *model.Snapshot, 1)
	go func() { done <- loaders.NewLoader(env, harnesses).Load() }()
	select {
	case s := <-done:
		return s
	case <-time.After(time.Minute):
		t.Fatalf("%s: the resolve does not end", what)
		return nil
	}
}

// hostileScene is a home and a project with nothing in them but a .git folder.
func hostileScene(t *testing.T) *scene {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	s := &scene{base: base, home: filepath.Join(base, "home"), project: filepath.Join(base, "home", "project")}
	if err := os.MkdirAll(filepath.Join(s.project, ".git"), 0o700); err != nil {
		t.Fatal(err)
	}
	s.env = &loaders.Env{Root: filepath.Join(base, "root"), Home: s.home, Project: s.project, GOOS: "linux", UID: os.Getuid(),
		Vars: map[string]string{"HOME": s.home, "PATH": filepath.Join(s.home, "bin")},
		Now:  func() time.Time { return time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC) }}
	return s
}

// place puts a thing at a path and returns how to take it away again with the folders that were made for it.
func place(t *testing.T, thing hostileThing, path string) (remove func()) {
	t.Helper()
	top := path
	for dir := filepath.Dir(path); ; dir = filepath.Dir(dir) {
		if _, err := os.Lstat(dir); err == nil {
			break
		}
		top = dir
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := thing.put(path); err != nil {
		t.Fatal(err)
	}
	return func() {
		if err := os.RemoveAll(top); err != nil {
			t.Fatal(err)
		}
	}
}

// checkHostile looks at all that a column says: whatever the file held, it is a line of plain text of sensible length.
func checkHostile(t *testing.T, col *model.Column) {
	t.Helper()
	line := func(what, s string) {
		t.Helper()
		if s != model.Clean(s) {
			t.Errorf("%s: %s is not fit for a screen: %.200q", col.ID, what, s)
		}
		if len(s) > 2000 {
			t.Errorf("%s: %s is %d bytes long: %.100q", col.ID, what, len(s), s)
		}
	}
	for _, n := range col.Notes {
		if n.Code == "internal-error" {
			t.Errorf("%s: %s", col.ID, n.Text)
		}
		line("a note", n.Text)
	}
	if col.Broken != nil {
		line("the problem", col.Broken.Text)
	}
	for _, f := range col.Files {
		line("a file's note", f.Note)
		if f.Status == model.FileMalformed && (f.Line < 1 || f.Note == "") || f.Status == model.FileRefused && f.Note == "" {
			t.Errorf("%s: %s is %s at line %d, %q", col.ID, f.Path, f.Status, f.Line, f.Note)
		}
	}
	for _, c := range col.Cells {
		if c.Source.Path == "" || c.Source.Line < 1 {
			t.Errorf("%s: %.50q has no source with a line", col.ID, c.Name)
		}
		if _, known := c.Reason.Code.Info(); !known {
			t.Errorf("%s: %.50q has the unknown reason %q", col.ID, c.Name, c.Reason.Code)
		}
		line("a reason", c.Reason.Text)
		for _, f := range c.Findings {
			line("a finding", f.Text)
		}
		for _, p := range c.Pending {
			line("a waiting entry's reason", p.Reason.Text)
		}
		for _, caps := range []string{c.Capabilities.Toggle, c.Capabilities.Approve, c.Capabilities.Login} {
			line("a capability", caps)
		}
		if c.Definition != nil {
			_ = c.Definition.Display()
		}
	}
}

// TestHostileFiles puts every hostile thing at every place that a harness looks at, one at a time and at all of them: the
// resolve ends, says what is wrong with the file, and no harness that does not read it is affected.
func TestHostileFiles(t *testing.T) {
	skipOnWindows(t)
	t.Parallel()
	all := loaders.All()
	for _, h := range all {
		t.Run(string(h.ID), func(t *testing.T) {
			t.Parallel()
			s := hostileScene(t)
			r := loaders.NewReader(s.env, loaders.NewCache())
			h.Resolve(s.env, r)
			var files, places []string
			for _, f := range r.Files() {
				if loaders.Within(f.Path, s.base) {
					files = append(files, f.Path)
				}
			}
			for _, p := range r.Touched() {
				if _, err := os.Lstat(p); err != nil && loaders.Within(p, s.base) && !slices.Contains(files, p) && !loaders.Within(s.env.Home, p) {
					places = append(places, p)
				}
			}
			if len(files) == 0 {
				t.Fatal("an empty resolve looks for no file")
			}
			untouched := resolveInTime(t, "nothing", s.env, all)
			affected := make([]bool, len(all)) // the harnesses that look at one of these files, or above or below
			for i := range all {
				r := loaders.NewReader(s.env, loaders.NewCache())
				all[i].Resolve(s.env, r)
				affected[i] = slices.ContainsFunc(r.Touched(), func(p string) bool {
					return slices.ContainsFunc(files, func(f string) bool { return loaders.Within(f, p) || loaders.Within(p, f) })
				})
			}
			things := hostileThings()
			for turn, name := range slices.Sorted(maps.Keys(things)) {
				thing := things[name]
				if thing.asRoot && os.Geteuid() == 0 {
					continue
				}
				for i, path := range files {
					if thing.big && len(files) > 6 && i%3 != turn%3 {
						continue
					}
					remove := place(t, thing, path)
					col := resolveInTime(t, name+" at "+s.short(path, 0), s.env, []loaders.Harness{h}).Columns[0]
					t.Run(name, func(t *testing.T) {
						checkHostile(t, col)
						checkStatus(t, s, col, thing, path)
					})
					remove()
				}
				if thing.unusable {
					for _, path := range places {
						remove := place(t, thing, path)
						col := resolveInTime(t, name+" at "+s.short(path, 0), s.env, []loaders.Harness{h}).Columns[0]
						t.Run(name, func(t *testing.T) { checkHostile(t, col) })
						remove()
					}
				}
				if !slices.Contains([]string{"a FIFO", "a folder", "half a file", "wrong types"}, name) {
					continue
				}
				var removes []func()
				for _, path := range files {
					if _, err := os.Lstat(path); err == nil {
						continue // lies below one that was placed
					}
					if _, err := os.Stat(filepath.Dir(path)); err == nil || os.IsNotExist(err) {
						removes = append(removes, place(t, thing, path))
					}
				}
				snapshot := resolveInTime(t, name+" everywhere", s.env, all)
				t.Run(name+", everywhere", func(t *testing.T) { checkOthers(t, untouched, snapshot, affected) })
				for _, remove := range slices.Backward(removes) {
					remove()
				}
			}
		})
	}
}

// checkStatus wants the file's status to tell what lies there.
func checkStatus(t *testing.T, s *scene, col *model.Column, thing hostileThing, path string) {
	t.Helper()
	i := slices.IndexFunc(col.Files, func(f model.File) bool { return f.Path == path })
	if i < 0 {
		t.Errorf("%s: %s is not reported", col.ID, s.short(path, 0))
		return
	}
	f := col.Files[i]
	switch {
	case thing.unusable && f.Status != model.FileRefused && f.Status != model.FileIgnored:
		t.Errorf("%s: %s is %s", col.ID, s.short(path, 0), f.Status)
	case thing.broken && f.Status == model.FileRead && !strings.HasPrefix(f.Note, "UTF-16:"): // Claude Code reads its settings so
		t.Errorf("%s: %s is read", col.ID, s.short(path, 0))
	}
}

// checkOthers compares the harnesses that look at none of the files with what they said before.
func checkOthers(t *testing.T, before, after *model.Snapshot, affected []bool) {
	t.Helper()
	for i, col := range after.Columns {
		checkHostile(t, col)
		was := before.Columns[i]
		if !affected[i] && (fmt.Sprint(col.Files, col.Notes) != fmt.Sprint(was.Files, was.Notes) || len(col.Cells) != len(was.Cells) || !reflect.DeepEqual(col.Broken, was.Broken)) {
			t.Errorf("%s looks at none of these files and says something else than before", col.ID)
		}
	}
}

// TestHostileFilesInScenarios replaces every file of every scenario, one at a time: also those that are read only because
// another file names them.
func TestHostileFilesInScenarios(t *testing.T) {
	skipOnWindows(t)
	t.Parallel()
	things := hostileThings()
	for _, name := range scenarioNames(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			setup, want := readScenario(t, name)
			harnesses, _ := loaders.Select(loaders.All(), slices.Sorted(maps.Keys(want.Harnesses)))
			s := materialise(t, name, setup)
			for _, col := range loaders.NewLoader(s.env, harnesses).Load().Columns {
				for _, f := range col.Files {
					kept, err := os.ReadFile(f.Path)
					if info, statErr := os.Lstat(f.Path); err != nil || statErr != nil || !info.Mode().IsRegular() {
						continue
					}
					for _, kind := range []string{"a FIFO", "a folder", "a loop of links", "nothing in it", "half a file", "nested objects", "wrong types", "a name with ESC", "line ends"} {
						if err := os.Remove(f.Path); err != nil {
							t.Fatal(err)
						}
						if err := things[kind].put(f.Path); err != nil {
							t.Fatal(err)
						}
						what := kind + " at " + s.short(f.Path, 0)
						after := resolveInTime(t, what, s.env, harnesses)
						t.Run(what, func(t *testing.T) {
							for _, col := range after.Columns {
								checkHostile(t, col)
							}
						})
						if err := os.RemoveAll(f.Path); err != nil {
							t.Fatal(err)
						}
						if err := os.WriteFile(f.Path, kept, 0o600); err != nil {
							t.Fatal(err)
						}
					}
				}
			}
		})
	}
}
