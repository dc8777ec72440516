//go:build unix

package cli

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// openWithoutWaiting opens a named pipe at once, or not at all.
const openWithoutWaiting = unix.O_NONBLOCK

// writeErrorInsteadOfPipeSignal makes a write to a closed pipe an error: by default it ends a Go program with a signal when
// the pipe is stdout.
func writeErrorInsteadOfPipeSignal() (restore func()) {
	signal.Ignore(syscall.SIGPIPE)
	return func() { signal.Reset(syscall.SIGPIPE) }
}

// waitForClosedPipe returns when ctx is done, or when nobody reads from the pipe any more: without it a program that has
// nothing to write would outlive its reader.
func waitForClosedPipe(ctx context.Context, out *os.File) {
	info, err := out.Stat()
	if err != nil || info.Mode()&(os.ModeNamedPipe|os.ModeSocket) == 0 {
		<-ctx.Done()
		return
	}
	tick := time.NewTicker(250 * time.Millisecond)
	defer tick.Stop()
	for {
		fds := []unix.PollFd{{Fd: int32(out.Fd())}}
		if n, err := unix.Poll(fds, 0); err == nil && n > 0 && fds[0].Revents&(unix.POLLERR|unix.POLLHUP) != 0 {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}
