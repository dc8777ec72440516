package cli

import (
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"fusebox/loaders"
	"fusebox/model"
)

func loadDemo(t *testing.T) *model.Snapshot {
	t.Helper()
	env, remove, err := newDemo()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(remove)
	return loaders.NewLoader(env, loaders.All()).Load()
}

// TestDemoShowsWhatFilesCanTell: every harness has servers in the demo, and every state, reason of weight and kind of
// surprise that files alone give is there once at least.
func TestDemoShowsWhatFilesCanTell(t *testing.T) {
	t.Parallel()
	s := loadDemo(t)
	states, reasons, findings := map[model.State]bool{}, map[model.ReasonCode]bool{}, map[model.FindingCode]bool{}
	statuses := map[model.FileStatus]bool{}
	drift, same, untrusted := false, false, false
	for _, col := range s.Columns {
		if len(col.Cells) == 0 {
			t.Errorf("%s has no server in the demo: add files of it below demo_files", col.Title)
		}
		if col.Broken != nil {
			t.Errorf("%s is broken as a whole: %s", col.Title, col.Broken.Text)
		}
		untrusted = untrusted || col.Untrusted
		for _, f := range col.Files {
			statuses[f.Status] = true
			if f.Status == model.FileRefused {
				t.Errorf("%s: %s is refused: %s", col.Title, f.Path, f.Note)
			}
		}
		for _, c := range col.Cells {
			states[c.State()] = true
			reasons[c.StateReason().Code] = true
			for _, f := range c.Findings {
				findings[f.Code] = true
			}
		}
	}
	for _, srv := range s.Servers {
		drift = drift || srv.Drift()
		same = same || len(srv.SameAs) > 0
	}
	for _, want := range []model.State{model.StateConfigured, model.StateUnapproved, model.StateDisabled, model.StateError} {
		if !states[want] {
			t.Errorf("no cell is %s", want)
		}
	}
	for _, want := range []model.ReasonCode{model.ReasonNeedsApproval, model.ReasonUntrustedFolder, model.ReasonSwitchedOff, model.ReasonRejected,
		model.ReasonFileRefused, model.ReasonEntrySkipped} {
		if !reasons[want] {
			t.Errorf("no cell has the reason %s", want)
		}
	}
	for _, want := range []model.FindingCode{model.FindingUnsetVariable, model.FindingApprovedByProject, model.FindingFromRepository} {
		if !findings[want] {
			t.Errorf("no cell has the finding %s", want)
		}
	}
	for _, want := range []model.FileStatus{model.FileRead, model.FileAbsent, model.FileMalformed, model.FileIgnored} {
		if !statuses[want] {
			t.Errorf("no file is %s", want)
		}
	}
	if !drift || !same || !untrusted {
		t.Errorf("drift %t, the same server under two names %t, an untrusted folder %t", drift, same, untrusted)
	}
}

// TestDemoLooksAtNothingElse: no path outside the demo's folder decides anything, but for the parents of the project and this
// program.
func TestDemoLooksAtNothingElse(t *testing.T) {
	t.Parallel()
	env, remove, err := newDemo()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(remove)
	loader := loaders.NewLoader(env, loaders.All())
	s := loader.Load()
	base := filepath.Dir(env.Home)
	parents := loaders.Ancestors(filepath.Dir(base))
	own, err := os.Executable() // the demo's servers, which deepagents looks up before it loads them
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range loader.Paths() {
		if p != own && !loaders.Within(p, base) && !slices.ContainsFunc(parents, func(dir string) bool {
			return loaders.Within(p, dir) && filepath.Dir(p) == dir || p == dir || filepath.Dir(filepath.Dir(p)) == dir
		}) {
			t.Errorf("%s decides", p)
		}
	}
	if got := model.Tilde(s.Project, s.Home); got != filepath.FromSlash("~/demo-shop") {
		t.Errorf("the folder is shown as %s", got)
	}
}

// TestDemoStartsAShortName: the entries do not show where this program is, and a server's PATH finds it all the same.
func TestDemoStartsAShortName(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("no link there: the entries have the whole path")
	}
	env, remove, err := newDemo()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(remove)
	own, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	found := filepath.Join(filepath.SplitList(env.Vars["PATH"])[0], "fusebox")
	if real, err := filepath.EvalSymlinks(found); err != nil || real != own {
		t.Errorf("PATH leads to %q, %v, want %s", real, err, own)
	}
	for _, srv := range loaders.NewLoader(env, loaders.All()).Load().Servers {
		for _, d := range srv.Definitions {
			if d.Transport == model.TransportStdio && !strings.HasPrefix(d.Display(), "fusebox demo-server ") {
				t.Errorf("%s starts %s", srv.Name, d.Display())
			}
		}
	}
}

func TestDemoFolder(t *testing.T) {
	t.Setenv("CODEX_HOME", "/elsewhere")
	t.Setenv("SECRET_TOKEN", "x")
	env, remove, err := newDemo()
	if err != nil {
		t.Fatal(err)
	}
	base := filepath.Dir(env.Home)
	for name := range env.Vars {
		if !slices.Contains([]string{"HOME", "PATH", "LANG", "TERM"}, name) {
			t.Errorf("%s is passed on", name)
		}
	}
	if info, err := os.Stat(base); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o700 {
		t.Errorf("the folder: %v, %v", info, err)
	}
	walkErr := filepath.WalkDir(base, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() { // a folder, or the link to this program
			return err
		}
		data, err := os.ReadFile(path)
		if strings.Contains(path+string(data), "@FUSEBOX") || strings.Contains(path+string(data), "@HOME") || strings.Contains(path+string(data), "@PROJECT") || strings.Contains(path, "@APPDATA") {
			t.Errorf("%s was not filled in", path)
		}
		return err
	})
	if walkErr != nil {
		t.Error(walkErr)
	}
	remove()
	if _, err := os.Stat(base); !os.IsNotExist(err) {
		t.Errorf("the folder is still there: %v", err)
	}
}
