package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"fusebox/loaders"
	"fusebox/model"
	"fusebox/ui"
)

// folders knows which folders the panel may be about, and moves it to another one.
type folders struct {
	live      *live
	harnesses []loaders.Harness
	timeout   time.Duration
	sessions  bool
	log       *logger
}

// Known returns the folders that the harnesses' own files name, the folder at hand and the home folder.
func (f *folders) Known() []ui.Folder {
	env := f.live.current.Load().env
	var out []ui.Folder
	for _, known := range loaders.KnownFolders(env, f.harnesses) {
		folder := ui.Folder{Path: known.Path}
		for _, id := range known.By {
			for i := range f.harnesses {
				if f.harnesses[i].ID == id {
					folder.KnownBy = append(folder.KnownBy, f.harnesses[i].Title)
				}
			}
		}
		folder.Gone = !isFolder(known.Path)
		out = append(out, folder)
	}
	for _, path := range []string{env.Project, env.Home} {
		if !slices.ContainsFunc(out, func(x ui.Folder) bool { return x.Path == path }) {
			out = append(out, ui.Folder{Path: path})
		}
	}
	// What is there and near first.
	slices.SortStableFunc(out, func(a, b ui.Folder) int { return rank(a, env) - rank(b, env) })
	return out
}

func rank(f ui.Folder, env *loaders.Env) int {
	switch {
	case f.Path == env.Project:
		return 0
	case f.Gone:
		return 3
	case f.Path == env.Home:
		return 2
	}
	return 1
}

// Count reads what the harnesses would load in a folder.
func (f *folders) Count(path string) ui.Folder {
	out := ui.Folder{Path: path, Counted: true}
	s := loaders.NewLoader(f.at(path), f.harnesses).Load()
	names := map[string]bool{}
	for _, col := range s.Columns {
		if !col.Present {
			continue // it is not on this machine
		}
		untrusted := false
		for _, c := range col.Cells {
			if col.Untrusted && c.Reason.Code == model.ReasonUntrustedFolder {
				untrusted = true // one thing to do, not one per server
				continue
			}
			out.States[c.State()]++
		}
		for _, c := range col.Cells {
			names[c.Name] = true
		}
		if untrusted {
			out.States[model.StateUnapproved]++
		}
	}
	out.Servers = len(names)
	return out
}

// at describes the machine for a session that starts in another folder.
func (f *folders) at(path string) *loaders.Env {
	env := *f.live.current.Load().env
	env.Project = path
	return &env
}

// Complete returns the folders whose paths begin with the text.
func (f *folders) Complete(text string) []string {
	const most = 50
	if !filepath.IsAbs(text) {
		text = filepath.Join(f.live.current.Load().env.Project, text)
	}
	dir, head := filepath.Split(text)
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	var out []string
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), head) && (head != "" || !strings.HasPrefix(e.Name(), ".")) && isFolder(filepath.Join(dir, e.Name())) {
			out = append(out, filepath.Join(dir, e.Name()))
			if len(out) == most {
				break
			}
		}
	}
	return out
}

// Open makes the panel be about a folder.
func (f *folders) Open(path string) error {
	if !filepath.IsAbs(path) {
		path = filepath.Join(f.live.current.Load().env.Project, path)
	}
	path = filepath.Clean(path)
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return fmt.Errorf("%s does not exist", model.Clean(path))
	case err != nil:
		return fmt.Errorf("open the folder: %w", err)
	case !info.IsDir():
		return fmt.Errorf("%s is not a folder", model.Clean(path))
	}
	w := newWorkspace(f.at(path), f.harnesses, f.timeout, f.sessions, f.log, f.live)
	w.loader.Load()
	f.live.open(w)
	return nil
}

func isFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// newWorkspace makes everything that is about one folder.
func newWorkspace(env *loaders.Env, harnesses []loaders.Harness, timeout time.Duration, sessions bool, log *logger, l *live) *workspace {
	return &workspace{env: env, loader: loaders.NewLoader(env, harnesses), launcher: newLauncher(env, harnesses, timeout),
		reloads: newReloads(env, harnesses, !sessions), switcher: newSwitcher(env, harnesses, log, l.shown.Load)}
}

// currentLauncher launches in the folder at hand.
type currentLauncher struct{ live *live }

func (c currentLauncher) Plan(cells []model.CellKey, single bool) ui.LaunchPlan {
	return c.live.current.Load().launcher.Plan(cells, single)
}

func (c currentLauncher) Start(p ui.LaunchPlan, without map[int]bool) []model.CellKey {
	return c.live.current.Load().launcher.Start(p, without)
}

func (c currentLauncher) Stop(cells []model.CellKey) { c.live.current.Load().launcher.Stop(cells) }

// currentSwitcher writes for the folder at hand.
type currentSwitcher struct{ live *live }

func (c currentSwitcher) Plan(in ui.Intent) ui.SwitchPlan {
	return c.live.current.Load().switcher.Plan(in)
}

func (c currentSwitcher) Apply(p ui.SwitchPlan) ui.SwitchReport {
	return c.live.current.Load().switcher.Apply(p)
}

func (c currentSwitcher) PeekUndo() (string, []ui.FileDiff, error) {
	return c.live.current.Load().switcher.PeekUndo()
}

func (c currentSwitcher) Undo() ui.SwitchReport { return c.live.current.Load().switcher.Undo() }
