// Package sessions finds running programs of the harnesses: which are open, since when, and in which folder where the
// system tells.
//
// It looks at the process list only. It does not decide what an open session still holds, signals no process, and reads no
// environment of another process.
package sessions

import (
	"cmp"
	"context"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/shirou/gopsutil/v4/process"

	"fusebox/model"
)

// Program says how a harness's program looks in the process list.
type Program struct {
	Harness model.HarnessID
	// Names are base names of the program, or of the script that an interpreter runs, without .exe, .js and the like.
	Names []string
	// Packages are path parts by which a script of a general name is known, such as "@anthropic-ai/claude-code".
	Packages []string
	// Not are first arguments with which the program is no session: "mcp", "app-server".
	Not []string
}

// Session is a running program of a harness.
type Session struct {
	Harness model.HarnessID
	PID     int
	Since   time.Time // when it was started; to the second or better
	Cwd     string    // "" where the system does not tell
}

// Find returns the running sessions, by harness and start.
func Find(ctx context.Context, programs []Program) ([]Session, error) {
	all, err := process.ProcessesWithContext(ctx)
	if err != nil {
		return nil, err
	}
	var out []Session
	for _, p := range all {
		args, err := p.CmdlineSliceWithContext(ctx)
		if err != nil || len(args) == 0 {
			continue // gone, or not ours to look at
		}
		harness, ok := Match(programs, args)
		if !ok {
			continue
		}
		created, err := p.CreateTimeWithContext(ctx)
		if err != nil {
			continue
		}
		s := Session{Harness: harness, PID: int(p.Pid), Since: time.UnixMilli(created)}
		if cwd, err := p.CwdWithContext(ctx); err == nil {
			s.Cwd = cwd
		}
		out = append(out, s)
	}
	slices.SortFunc(out, func(a, b Session) int {
		return cmp.Or(cmp.Compare(a.Harness, b.Harness), a.Since.Compare(b.Since), cmp.Compare(a.PID, b.PID))
	})
	return out, nil
}

// interpreters run a script that is their first argument without a dash.
var interpreters = []string{"node", "nodejs", "bun", "deno", "python", "python3", "uv", "sh", "bash", "zsh"}

// Match tells which harness a command line belongs to.
func Match(programs []Program, args []string) (model.HarnessID, bool) {
	name, rest := baseName(args[0]), args[1:]
	path := args[0]
	if interpreter(name) {
		i := slices.IndexFunc(rest, func(a string) bool { return !strings.HasPrefix(a, "-") })
		if i < 0 {
			return "", false
		}
		path, name, rest = rest[i], baseName(rest[i]), rest[i+1:]
	}
	path = filepath.ToSlash(path)
	for _, p := range programs {
		known := slices.Contains(p.Names, name) || slices.ContainsFunc(p.Packages, func(part string) bool { return strings.Contains(path, "/"+part+"/") })
		if !known {
			continue
		}
		if len(rest) > 0 && slices.Contains(p.Not, rest[0]) {
			continue
		}
		return p.Harness, true
	}
	return "", false
}

func interpreter(name string) bool {
	return slices.Contains(interpreters, name) || strings.HasPrefix(name, "python3.")
}

func baseName(path string) string {
	name := path[strings.LastIndexAny(path, `/\`)+1:]
	for _, ext := range []string{".exe", ".cmd", ".js", ".mjs", ".cjs"} {
		name = strings.TrimSuffix(name, ext)
	}
	return strings.ToLower(strings.TrimPrefix(name, "-")) // a login shell has a dash before its name
}
