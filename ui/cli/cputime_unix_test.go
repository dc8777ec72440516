//go:build unix

package cli

import (
	"syscall"
	"time"
)

// cpuTime is what this process has computed so far, in all its threads.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
