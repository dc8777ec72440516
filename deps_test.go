package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "fusebox"

// importRules say what a package of this module may import of it, by the folder it lies in; the longest folder counts. A
// folder includes those below it.
var importRules = []struct {
	folder string
	may    []string
	not    []string
}{
	{folder: "", may: []string{"ui/cli", "ui/termguard"}},
	{folder: "model"},
	{folder: "loaders", may: []string{"model", "loaders"}},
	{folder: "mcpclient", may: []string{"model", "mcpclient"}},
	{folder: "watch", may: []string{"model", "watch"}},
	{folder: "ui", may: []string{"model", "ui"}, not: []string{"ui/cli"}},
	{folder: "ui/cli", may: []string{"model", "loaders", "mcpclient", "watch", "ui"}},
}

// listedPackage is what go list tells of a package.
type listedPackage struct {
	ImportPath string
	Standard   bool
	Imports    []string
	Deps       []string
	Module     *struct{ Path string }
}

// listPackages returns the packages of this module and all that they need, as built for one system.
func listPackages(t *testing.T, goos string) []listedPackage {
	t.Helper()
	cmd := exec.Command("go", "list", "-deps", "-json=ImportPath,Standard,Imports,Deps,Module", "./...")
	cmd.Env = append(os.Environ(), "GOOS="+goos, "CGO_ENABLED=0", "GOFLAGS=-mod=readonly")
	var problems bytes.Buffer
	cmd.Stderr = &problems
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, problems.String())
	}
	var all []listedPackage
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p listedPackage
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
}

func within(pkg, folder string) bool {
	return pkg == folder || strings.HasPrefix(pkg, folder+"/")
}

// TestImportDirections keeps who imports whom: the interface knows the model only, the readers of the outside world know the
// model only, the model knows nobody.
func TestImportDirections(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("no go command")
	}
	for _, goos := range []string{"linux", "darwin", "windows"} {
		t.Run(goos, func(t *testing.T) {
			t.Parallel()
			seen := map[string]bool{}
			for _, p := range listPackages(t, goos) {
				if p.Module == nil || p.Module.Path != module {
					continue
				}
				name := strings.TrimPrefix(strings.TrimPrefix(p.ImportPath, module), "/")
				seen[name] = true
				rule := -1
				for i, r := range importRules {
					if (r.folder == name || r.folder != "" && within(name, r.folder)) && (rule < 0 || len(r.folder) > len(importRules[rule].folder)) {
						rule = i
					}
				}
				if rule < 0 {
					t.Errorf("%s: no rule says what it may import", p.ImportPath)
					continue
				}
				for _, imported := range p.Imports {
					rest, ours := strings.CutPrefix(imported, module+"/")
					if !ours {
						continue
					}
					r := importRules[rule]
					in := func(folders []string) bool {
						return slices.ContainsFunc(folders, func(f string) bool { return within(rest, f) })
					}
					if !in(r.may) || in(r.not) {
						t.Errorf("%s imports %s", p.ImportPath, imported)
					}
				}
			}
			for _, name := range []string{"", "model", "loaders", "ui/cli"} {
				if !seen[name] {
					t.Errorf("package %q was not listed: the test looks at nothing", name)
				}
			}
		})
	}
}

// TestModelNeedsOnlyTheStandardLibrary keeps the model pure: no foreign module, and nothing of the standard library that
// reads files, starts programs or talks to the network.
func TestModelNeedsOnlyTheStandardLibrary(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("no go command")
	}
	standard := map[string]bool{}
	all := listPackages(t, "linux")
	for _, p := range all {
		standard[p.ImportPath] = p.Standard
	}
	impure := []string{"os", "os/exec", "io/ioutil", "net", "net/http", "syscall", "path/filepath", "log"}
	found := false
	for _, p := range all {
		if p.ImportPath != module+"/model" {
			continue
		}
		found = true
		for _, dep := range p.Deps {
			if !standard[dep] {
				t.Errorf("model needs %s", dep)
			}
		}
		for _, imported := range p.Imports {
			if slices.Contains(impure, imported) {
				t.Errorf("model imports %s", imported)
			}
		}
	}
	if !found {
		t.Fatal("package model was not listed")
	}
}
