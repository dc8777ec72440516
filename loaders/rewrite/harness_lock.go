package rewrite

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"
	"time"
)

// Times of the npm package proper-lockfile, as harnesses use it.
const (
	lockStale   = 10 * time.Second
	lockRefresh = lockStale / 2
	lockWait    = 3 * time.Second
)

// harnessLock is a lock folder that a harness takes too: whoever made it holds it, as long as its modification time is
// kept young.
type harnessLock struct {
	path string
	made fs.FileInfo
	stop chan struct{}
	done sync.WaitGroup
}

var errNotAFolder = errors.New("something that is no folder stands in its place")

// takeHarnessLock makes the lock folder, or waits until its holder removes it, up to wait. A lock that nobody refreshed for
// lockStale is taken over.
func takeHarnessLock(path string, wait, refresh time.Duration) (*harnessLock, error) {
	for deadline := time.Now().Add(wait); ; time.Sleep(20 * time.Millisecond) {
		err := os.Mkdir(path, 0o777)
		if err == nil {
			return holdHarnessLock(path, refresh)
		}
		if !errors.Is(err, fs.ErrExist) {
			return nil, err
		}
		info, err := os.Lstat(path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			continue
		case err != nil:
			return nil, err
		case !info.IsDir():
			return nil, fmt.Errorf("%w: %w", ErrLocked, errNotAFolder)
		case time.Since(info.ModTime()) > lockStale:
			// Only ever an empty folder goes: the same that the harness would do.
			if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return nil, err
			}
			continue
		case time.Now().After(deadline):
			return nil, ErrLocked
		}
	}
}

func holdHarnessLock(path string, refresh time.Duration) (*harnessLock, error) {
	made, err := os.Lstat(path)
	if err != nil {
		return nil, err
	}
	l := &harnessLock{path: path, made: made, stop: make(chan struct{})}
	l.done.Go(func() {
		tick := time.NewTicker(refresh)
		defer tick.Stop()
		for {
			select {
			case <-l.stop:
				return
			case now := <-tick.C:
				if l.held() {
					_ = os.Chtimes(path, now, now) // a lock that cannot be refreshed is found lost by held
				}
			}
		}
	})
	return l, nil
}

// held tells whether the folder is still the one that was made here.
func (l *harnessLock) held() bool {
	info, err := os.Lstat(l.path)
	return err == nil && os.SameFile(info, l.made)
}

// release removes the lock folder if it still is ours.
func (l *harnessLock) release() {
	close(l.stop)
	l.done.Wait()
	if l.held() {
		_ = os.Remove(l.path) // what stays behind is stale in ten seconds
	}
}
