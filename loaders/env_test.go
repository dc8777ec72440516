package loaders_test

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"fusebox/loaders"
)

func TestPathsOfASystem(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("paths are written the way of Unix")
	}
	linux := &loaders.Env{Root: "/r", Home: "/home/ann", Project: "/home/ann/p", GOOS: "linux", Vars: map[string]string{}}
	darwin := &loaders.Env{Home: "/Users/ann", GOOS: "darwin", Vars: map[string]string{"XDG_CONFIG_HOME": "relative"}}
	windows := &loaders.Env{Root: "/r", Home: "/c/Users/ann", GOOS: "windows", Vars: map[string]string{"AppData": "/c/Roaming"}}
	moved := &loaders.Env{Home: "/home/ann", GOOS: "linux", Vars: map[string]string{"XDG_CONFIG_HOME": "/x/config/", "XDG_DATA_HOME": "/x/data"}}
	for _, test := range []struct{ what, got, want string }{
		{"a file of home", linux.InHome("a/b"), "/home/ann/a/b"},
		{"a file of the project", linux.InProject(".x/y"), "/home/ann/p/.x/y"},
		{"a system path", linux.System("/etc/x"), "/r/etc/x"},
		{"a system path without another root", darwin.System("/Library/x"), "/Library/x"},
		{"a system path of Windows", windows.System("C:/ProgramData/x"), "/r/C/ProgramData/x"},
		{"a system folder on Linux", linux.SystemDir("/etc/x", "/Library/x", "C:/x"), "/r/etc/x"},
		{"a system folder on macOS", darwin.SystemDir("/etc/x", "/Library/x", "C:/x"), "/Library/x"},
		{"a system folder on Windows", windows.SystemDir("/etc/x", "/Library/x", "C:/x"), "/r/C/x"},
		{"the configuration folder", linux.ConfigHome(), "/home/ann/.config"},
		{"a moved one", moved.ConfigHome(), "/x/config"},
		{"one that a relative variable does not move", darwin.ConfigHome(), "/Users/ann/.config"},
		{"the data folder", linux.DataHome(), "/home/ann/.local/share"},
		{"a moved data folder", moved.DataHome(), "/x/data"},
		{"application data on Linux", moved.AppData(), "/x/config"},
		{"application data on macOS", darwin.AppData(), "/Users/ann/Library/Application Support"},
		{"application data on Windows", windows.AppData(), "/c/Roaming"},
		{"a tilde", linux.Expand("~"), "/home/ann"},
		{"a path with a tilde", linux.Expand("~/x"), "/home/ann/x"},
		{"another user's", linux.Expand("~bob/x"), "~bob/x"},
		{"a path without", linux.Expand("/x/~"), "/x/~"},
	} {
		if test.got != test.want {
			t.Errorf("%s: %s, want %s", test.what, test.got, test.want)
		}
	}
}

func TestVariables(t *testing.T) {
	t.Parallel()
	vars := map[string]string{"Path": "x", "EMPTY": ""}
	linux, windows := &loaders.Env{GOOS: "linux", Vars: vars}, &loaders.Env{GOOS: "windows", Vars: vars}
	if linux.Var("PATH") != "" || windows.Var("PATH") != "x" || windows.Var("Path") != "x" {
		t.Error("letter case counts except on Windows")
	}
	if v, set := linux.Lookup("EMPTY"); v != "" || !set {
		t.Error("an empty variable is set")
	}
	if _, set := linux.Lookup("NONE"); set {
		t.Error("a missing variable is set")
	}
}

func TestAncestorsAndWithin(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("paths are written the way of Unix")
	}
	if got, want := loaders.Ancestors("/a/b/../c/"), []string{"/a/c", "/a", "/"}; !slices.Equal(got, want) {
		t.Errorf("ancestors %q, want %q", got, want)
	}
	for _, test := range []struct {
		path, dir string
		want      bool
	}{
		{"/a/b", "/a", true}, {"/a", "/a", true}, {"/ab", "/a", false}, {"/a/..b", "/a", true}, {"/", "/a", false}, {"/a/../b", "/a", false}, {"/x", "/", true},
	} {
		if got := loaders.Within(test.path, test.dir); got != test.want {
			t.Errorf("%s within %s: %t", test.path, test.dir, got)
		}
	}
}

func TestJoinKey(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		path []string
		want string
	}{
		{[]string{"a", "b-c", "d_1"}, "a.b-c.d_1"},
		{[]string{"projects", "/a b", "x"}, `projects."/a b".x`},
		{[]string{"a", ""}, `a.""`},
		{[]string{"a.b", "c\"d", "e\n"}, `"a.b"."c\"d"."e\n"`},
		{[]string{"é"}, "é"},
		{nil, ""},
	} {
		if got := loaders.JoinKey(test.path...); got != test.want {
			t.Errorf("%q: %s, want %s", test.path, got, test.want)
		}
	}
}

func TestNewEnv(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	t.Setenv("USERPROFILE", os.Getenv("HOME"))
	dir := t.TempDir()
	env, err := loaders.NewEnv(dir)
	if err != nil || env.Project != dir || env.Home != os.Getenv("HOME") || env.GOOS != runtime.GOOS || env.Root != "" || env.Now == nil {
		t.Errorf("environment %+v, %v", env, err)
	}
	t.Chdir(dir)
	if err := os.Mkdir("sub", 0o700); err != nil {
		t.Fatal(err)
	}
	for given, want := range map[string]string{"": dir, "sub": filepath.Join(dir, "sub"), ".": dir} {
		env, err := loaders.NewEnv(given)
		if err != nil {
			t.Fatal(err)
		}
		real, err := filepath.EvalSymlinks(want)
		if err != nil {
			t.Fatal(err)
		}
		if got, _ := filepath.EvalSymlinks(env.Project); got != real || !filepath.IsAbs(env.Project) {
			t.Errorf("%q is %s, want %s", given, env.Project, want)
		}
	}
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{file, filepath.Join(dir, "none")} {
		if _, err := loaders.NewEnv(bad); err == nil || strings.HasSuffix(err.Error(), ".") {
			t.Errorf("%s: %v", bad, err)
		}
	}
	for _, home := range []string{"relative", ".", ""} {
		t.Setenv("HOME", home)
		t.Setenv("USERPROFILE", home)
		if env, err := loaders.NewEnv(dir); err == nil {
			t.Errorf("home %q became %q", home, env.Home)
		}
	}
}
