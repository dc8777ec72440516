package state

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

func TestPlaces(t *testing.T) {
	t.Parallel()
	home := filepath.FromSlash("/home/ada")
	if filepath.Separator != '/' {
		home = `C:\Users\ada`
	}
	abs := func(s string) string { return filepath.Join(home, s) }
	for _, test := range []struct {
		goos         string
		vars         map[string]string
		undo, config string
	}{
		{"linux", nil, ".local/state/fusebox/undo", ".config/fusebox/config.toml"},
		{"linux", map[string]string{"XDG_STATE_HOME": abs("s"), "XDG_CONFIG_HOME": abs("c/")}, "s/fusebox/undo", "c/fusebox/config.toml"},
		{"linux", map[string]string{"XDG_STATE_HOME": "s", "XDG_CONFIG_HOME": "c"}, ".local/state/fusebox/undo", ".config/fusebox/config.toml"},
		{"darwin", nil, "Library/Application Support/fusebox/undo", "Library/Application Support/fusebox/config.toml"},
		{"darwin", map[string]string{"XDG_CONFIG_HOME": abs("c")}, "Library/Application Support/fusebox/undo", "c/fusebox/config.toml"},
		{"windows", nil, "AppData/Local/fusebox/undo", "AppData/Roaming/fusebox/config.toml"},
		{"windows", map[string]string{"LOCALAPPDATA": abs("l"), "APPDATA": abs("r")}, "l/fusebox/undo", "r/fusebox/config.toml"},
	} {
		variable := func(name string) string { return test.vars[name] }
		if got := UndoDir(test.goos, home, variable); got != filepath.Join(home, test.undo) {
			t.Errorf("%s %v: undo in %s", test.goos, test.vars, got)
		}
		if got := ConfigPath(test.goos, home, variable); got != filepath.Join(home, test.config) {
			t.Errorf("%s %v: config %s", test.goos, test.vars, got)
		}
	}
}

func TestLoadConfig(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		text string
		want Config
		err  string
	}{
		"missing": {"-", Config{}, ""},
		"empty":   {"", Config{}, ""},
		"all": {"[columns]\nhidden = [\"codex\"] # no\nshown = ['zed', 'amp']\norder = []\n",
			Config{Columns: Columns{Hidden: []string{"codex"}, Shown: []string{"zed", "amp"}, Order: []string{}}}, ""},
		"dotted": {"columns.hidden = [\"codex\"]", Config{Columns: Columns{Hidden: []string{"codex"}}}, ""},
		"unknown": {"theme = 'dark'\n'odd key' = 1\n[columns]\nwidth = 3\n[other.table]\nx = 1\n",
			Config{Unknown: []string{"theme", `"odd key"`, "other", "columns.width"}}, ""},
		"wrong": {"[columns]\nhidden = \"codex\"\nshown = [1]\norder = ['zed']\n",
			Config{Columns: Columns{Order: []string{"zed"}}}, ":2: columns.hidden must be a list of strings"},
		"no table":  {"columns = 3\n", Config{}, ":1: columns must be a table"},
		"malformed": {"[columns]\nhidden = [\n", Config{}, "config.toml:"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "config.toml")
			if test.text != "-" {
				put(t, path, test.text)
			}
			got, err := LoadConfig(path)
			if (err != nil) != (test.err != "") || err != nil && !strings.Contains(err.Error(), test.err) {
				t.Errorf("error %v, want %q", err, test.err)
			}
			if len(got.Unknown) == len(test.want.Unknown) {
				seen := map[string]bool{}
				for _, key := range got.Unknown {
					seen[key] = true
				}
				for _, key := range test.want.Unknown {
					if !seen[key] {
						t.Errorf("unknown %q, want %q", got.Unknown, test.want.Unknown)
					}
				}
				got.Unknown = test.want.Unknown
			}
			if !reflect.DeepEqual(got, test.want) {
				t.Errorf("got %+v, want %+v", got, test.want)
			}
		})
	}
}

func TestSaveConfig(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		old    string
		change func(*Columns)
		want   string
		err    string
	}{
		"new":     {"-", func(c *Columns) { c.Hidden = []string{"codex", "zed"} }, "[columns]\nhidden = [\"codex\", \"zed\"]\n", ""},
		"nothing": {"-", func(*Columns) {}, "-", ""},
		"kept": {"# mine\ntheme = 'dark'\n\n[columns] # which\nwidth = 3\nhidden = ['a'] # why\norder = []\n",
			func(c *Columns) { c.Hidden = append(c.Hidden, "b"); c.Shown = []string{"x"} },
			"# mine\ntheme = 'dark'\n\n[columns] # which\nwidth = 3\nhidden = [\"a\", \"b\"] # why\norder = []\nshown = [\"x\"]\n", ""},
		"unchanged": {"[columns]\nhidden = [ 'a' ]\nshown = [ ]\n", func(*Columns) {}, "[columns]\nhidden = [ 'a' ]\nshown = [ ]\n", ""},
		"emptied":   {"[columns]\nhidden = ['a']\norder = ['b']\n", func(c *Columns) { c.Hidden = nil }, "[columns]\norder = ['b']\n", ""},
		"malformed": {"[columns\n", func(c *Columns) { c.Hidden = []string{"a"} }, "[columns\n", "correct it first"},
		"wrong":     {"[columns]\norder = 3\n", func(c *Columns) { c.Hidden = []string{"a"} }, "[columns]\norder = 3\n", "columns.order is no list of strings"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "fusebox", "config.toml")
			if test.old != "-" {
				put(t, path, test.old)
			}
			c, _ := LoadConfig(path)
			test.change(&c.Columns)
			err := c.Save(path)
			if (err != nil) != (test.err != "") || err != nil && !strings.Contains(err.Error(), test.err) {
				t.Errorf("error %v, want %q", err, test.err)
			}
			got, readErr := os.ReadFile(path)
			if test.want == "-" {
				if readErr == nil {
					t.Errorf("made %q", got)
				}
				return
			}
			if string(got) != test.want {
				t.Errorf("got  %q\nwant %q", got, test.want)
			}
		})
	}
}
