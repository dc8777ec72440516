//go:build unix

package mcpclient

import (
	"os/exec"
	"runtime"
	"syscall"
)

func leaveGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }

// groupLives tells whether a process of the group does anything.
func groupLives(id int) bool {
	if runtime.GOOS == "linux" {
		_, live := groupMembers(id)
		return live > 0
	}
	return syscall.Kill(-id, 0) == nil
}

func killProcess(pid int) { _ = syscall.Kill(pid, syscall.SIGKILL) }
