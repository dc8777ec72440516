//go:build unix

package mcpclient

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"

	"fusebox/model"
)

// group is the process group of one server.
type group struct {
	id   int
	gone atomic.Bool
}

// startGroup starts the command in a session of its own: its group can be ended as a whole, and it has no terminal that
// it could write to or ask on.
func startGroup(cmd *exec.Cmd) (*group, error) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	return &group{id: cmd.Process.Pid}, nil
}

func (g *group) markGone()    { g.gone.Store(true) }
func (g *group) isGone() bool { return g.gone.Load() }

func (g *group) terminate() { g.signal(syscall.SIGTERM) }
func (g *group) kill()      { g.signal(syscall.SIGKILL) }

func (g *group) signal(s syscall.Signal) {
	// Once the group is gone its number may be somebody else's.
	if !g.isGone() {
		_ = syscall.Kill(-g.id, s)
	}
}

// alive tells whether a process of the group can still do anything. A process that is not ours to signal counts as gone.
func (g *group) alive() bool {
	return !g.isGone() && syscall.Kill(-g.id, 0) == nil && !onlyZombies(g.id)
}

// onlyZombies looks whether what is left of a group waits to be collected by a parent that does not: the first process of
// some containers.
func onlyZombies(id int) bool {
	if runtime.GOOS != "linux" {
		return false
	}
	members, live := groupMembers(id)
	return members > 0 && live == 0
}

// groupMembers counts the processes of a group, and those that are no zombies.
func groupMembers(id int) (members, live int) {
	paths, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, p := range paths {
		stat, err := os.ReadFile(p)
		if err != nil {
			continue
		}
		// pid (name) state ppid pgrp: the name may hold anything, also brackets.
		end := bytes.LastIndexByte(stat, ')')
		if end < 0 {
			continue
		}
		fields := strings.Fields(string(stat[end+1:]))
		if len(fields) < 3 || fields[2] != strconv.Itoa(id) {
			continue
		}
		members++
		if fields[0] != "Z" && fields[0] != "X" {
			live++
		}
	}
	return members, live
}

func statusOf(state *os.ProcessState) exitStatus {
	ws, ok := state.Sys().(syscall.WaitStatus)
	switch {
	case ok && ws.Signaled():
		return exitStatus{signal: "signal " + strconv.Itoa(int(ws.Signal())) + " (" + ws.Signal().String() + ")"}
	case state.ExitCode() >= 0:
		return exitStatus{known: true, code: state.ExitCode()}
	default:
		return exitStatus{}
	}
}

// lookCommand finds the program as the system would in that folder and environment.
func lookCommand(command, dir string, env []string) (string, *verdict) {
	shown := model.MaskCommand(command)
	if strings.Contains(command, "/") {
		path := command
		if !filepath.IsAbs(path) && dir != "" {
			path = filepath.Join(dir, path)
		}
		switch err := executable(path); {
		case err == nil:
			return path, nil
		case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
			return "", failed(model.ReasonCommandNotFound, "command not found: %s", shown)
		default:
			return "", failed(model.ReasonCommandNotFound, "permission denied: %s is no program that may be run", shown)
		}
	}
	denied := false
	for _, folder := range filepath.SplitList(lookEnv(env, "PATH", "/usr/local/bin:/usr/bin:/bin")) {
		path := filepath.Join(folder, command)
		if folder == "" || !filepath.IsAbs(folder) {
			path = filepath.Join(dir, folder, command)
		}
		switch err := executable(path); {
		case err == nil:
			return path, nil
		case errors.Is(err, fs.ErrPermission):
			denied = true
		}
	}
	if denied {
		return "", failed(model.ReasonCommandNotFound, "permission denied: %s on the PATH of its environment is no program that may be run", shown)
	}
	return "", failed(model.ReasonCommandNotFound, "command not found: %s is not on the PATH of its environment", shown)
}

// executable returns nil for a regular file with an execute bit.
func executable(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if info.IsDir() || info.Mode()&0o111 == 0 {
		return fs.ErrPermission
	}
	return nil
}

// startVerdict is that of a program that is there and does not start.
func startVerdict(command string, err error) *verdict {
	shown := model.MaskCommand(command)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return failed(model.ReasonCommandNotFound, "command not found: the program that %s names in its first line", shown)
	case errors.Is(err, fs.ErrPermission):
		return failed(model.ReasonCommandNotFound, "permission denied: %s may not be run", shown)
	case errors.Is(err, syscall.ENOEXEC):
		return failed(model.ReasonCommandNotFound, "%s is no program that this system can run", shown)
	}
	var errno syscall.Errno
	if errors.As(err, &errno) {
		return failed(model.ReasonCommandNotFound, "%s could not be started: %s", shown, errno)
	}
	return failed(model.ReasonCommandNotFound, "%s could not be started", shown)
}

// connectionRefused tells whether nobody listens.
func connectionRefused(err error) bool { return errors.Is(err, syscall.ECONNREFUSED) }
