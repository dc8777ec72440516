package mcpclient

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"unsafe"

	"fusebox/model"

	"golang.org/x/sys/windows"
)

// group is the job object that one server and everything it starts belongs to.
type group struct {
	id int

	mu   sync.Mutex
	job  windows.Handle
	gone bool
}

// startGroup starts the command in a console group of its own and puts it into a job object, which ends with us.
func startGroup(cmd *exec.Cmd) (*group, error) {
	job, err := windows.CreateJobObject(nil, nil)
	if err != nil {
		return nil, err
	}
	limits := windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION{}
	limits.BasicLimitInformation.LimitFlags = windows.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE
	if _, err := windows.SetInformationJobObject(job, windows.JobObjectExtendedLimitInformation,
		uintptr(unsafe.Pointer(&limits)), uint32(unsafe.Sizeof(limits))); err != nil {
		windows.CloseHandle(job)
		return nil, err
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: windows.CREATE_NEW_PROCESS_GROUP, HideWindow: true}
	if err := cmd.Start(); err != nil {
		windows.CloseHandle(job)
		return nil, err
	}
	g := &group{id: cmd.Process.Pid, job: job}
	h, err := windows.OpenProcess(windows.PROCESS_SET_QUOTA|windows.PROCESS_TERMINATE, false, uint32(g.id))
	if err == nil {
		err = windows.AssignProcessToJobObject(job, h)
		windows.CloseHandle(h)
	}
	if err != nil {
		// It may have ended already; if not, it must not run where it cannot be ended as a whole.
		_ = cmd.Process.Kill()
	}
	return g, nil
}

func (g *group) markGone() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.gone {
		g.gone = true
		windows.CloseHandle(g.job)
	}
}

func (g *group) isGone() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.gone
}

// terminate asks the console group to end.
func (g *group) terminate() {
	if !g.isGone() {
		_ = windows.GenerateConsoleCtrlEvent(windows.CTRL_BREAK_EVENT, uint32(g.id))
	}
}

func (g *group) kill() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.gone {
		_ = windows.TerminateJobObject(g.job, 1)
	}
}

// jobAccounting is JOBOBJECT_BASIC_ACCOUNTING_INFORMATION.
type jobAccounting struct {
	totalUserTime, totalKernelTime           int64
	thisPeriodUserTime, thisPeriodKernelTime int64
	totalPageFaultCount, totalProcesses      uint32
	activeProcesses, totalTerminated         uint32
}

// alive tells whether the job holds a process that runs.
func (g *group) alive() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.gone {
		return false
	}
	var info jobAccounting
	err := windows.QueryInformationJobObject(g.job, windows.JobObjectBasicAccountingInformation,
		uintptr(unsafe.Pointer(&info)), uint32(unsafe.Sizeof(info)), nil)
	return err == nil && info.activeProcesses > 0
}

func statusOf(state *os.ProcessState) exitStatus {
	return exitStatus{known: true, code: state.ExitCode()}
}

// lookCommand finds the program on the PATH of the environment, with the endings of PATHEXT.
func lookCommand(command, dir string, env []string) (string, *verdict) {
	shown := model.MaskCommand(command)
	endings := []string{""}
	if filepath.Ext(command) == "" {
		endings = strings.Split(strings.ToLower(lookEnv(env, "PATHEXT", ".com;.exe;.bat;.cmd")), ";")
	}
	folders := []string{dir}
	if strings.ContainsAny(command, `/\:`) {
		if filepath.IsAbs(command) {
			folders = []string{""}
		}
	} else {
		folders = append(folders, filepath.SplitList(lookEnv(env, "PATH", ""))...)
	}
	for _, folder := range folders {
		for _, ending := range endings {
			path := filepath.Join(folder, command+ending)
			if info, err := os.Stat(path); err == nil && !info.IsDir() {
				return path, nil
			}
		}
	}
	return "", failed(model.ReasonCommandNotFound, "command not found: %s", shown)
}

// startVerdict is that of a program that is there and does not start.
func startVerdict(command string, err error) *verdict {
	shown := model.MaskCommand(command)
	if errors.Is(err, fs.ErrPermission) {
		return failed(model.ReasonCommandNotFound, "permission denied: %s may not be run", shown)
	}
	var errno syscall.Errno
	if errors.As(err, &errno) {
		return failed(model.ReasonCommandNotFound, "%s could not be started: %s", shown, errno)
	}
	return failed(model.ReasonCommandNotFound, "%s could not be started", shown)
}

// connectionRefused tells whether nobody listens.
func connectionRefused(err error) bool { return errors.Is(err, windows.WSAECONNREFUSED) }
