package mcpclient

import (
	"context"
	"sync"
	"testing"
	"time"

	"fusebox/model"
)

// startMany launches servers that never answer and do not go by themselves, and waits until each runs.
func startMany(t *testing.T, reg *Registry, n int) (results func() []*Result, pids []int) {
	t.Helper()
	started := make(chan int, n)
	out := make([]*Result, n)
	var wait sync.WaitGroup
	for i := range n {
		wait.Add(1)
		go func() {
			defer wait.Done()
			o := quick()
			o.Timeout, o.Registry = time.Minute, reg
			o.Progress = func(e Event) {
				if e.Kind == EventStarted {
					started <- e.PID
				}
			}
			out[i] = List(context.Background(), fakeTarget("hold"), o)
		}()
	}
	for range n {
		pids = append(pids, <-started)
	}
	return func() []*Result { wait.Wait(); return out }, pids
}

func TestShutdownEndsEveryGroupAndASecondCallWaits(t *testing.T) {
	t.Parallel()
	reg := NewRegistry()
	results, pids := startMany(t, reg, 3)
	if reg.Live() != 3 {
		t.Errorf("%d launches", reg.Live())
	}
	var wait sync.WaitGroup
	for range 2 {
		wait.Add(1)
		go func() {
			defer wait.Done()
			reg.Shutdown()
			for _, pid := range pids {
				if groupLives(pid) {
					t.Errorf("group %d lives after Shutdown", pid)
				}
			}
		}()
	}
	wait.Wait()
	for _, r := range results() {
		if r.Observation.Outcome != model.OutcomeUnknown {
			t.Errorf("%+v", r.Observation)
		}
	}
	o := quick()
	o.Registry = reg
	if r := List(context.Background(), fakeTarget("old"), o); r.Spawned || r.Observation.Outcome != model.OutcomeUnknown {
		t.Errorf("started after Shutdown: %+v", r)
	}
}

func TestKillAllWaitsForNothing(t *testing.T) {
	t.Parallel()
	reg := NewRegistry()
	results, pids := startMany(t, reg, 2)
	reg.KillAll()
	for _, r := range results() {
		if r.Observation.Outcome != model.OutcomeUnknown || len(r.Tools) > 0 {
			t.Errorf("%+v", r.Observation)
		}
	}
	for _, pid := range pids {
		if groupLives(pid) {
			t.Errorf("group %d lives", pid)
		}
	}
	reg.KillAll()
	reg.Shutdown()
}

func TestPanicOfALaunchKillsTheGroups(t *testing.T) {
	t.Parallel()
	reg := NewRegistry()
	results, pids := startMany(t, reg, 1)
	func() {
		defer func() {
			if recover() == nil {
				t.Error("the panic was swallowed")
			}
		}()
		defer reg.killOnPanic()
		panic("oops")
	}()
	results()
	if groupLives(pids[0]) {
		t.Error("it lives")
	}
}

func TestManyFloodsAtOnce(t *testing.T) {
	t.Parallel()
	var wait sync.WaitGroup
	for range 8 {
		wait.Add(1)
		go func() {
			defer wait.Done()
			o := quick()
			o.Timeout = 30 * time.Second
			o.ProbeWait = 20 * time.Second
			r := launchFake(t, fakeTarget("flood:2000"), o)
			if r.Observation.Outcome != model.OutcomeOK {
				t.Errorf("%+v", r.Observation)
			}
		}()
	}
	wait.Wait()
}

func TestConcurrency(t *testing.T) {
	t.Parallel()
	for cores, want := range map[int]int{1: 8, 2: 8, 4: 16, 16: 64} {
		if got := Concurrency(cores); got != want {
			t.Errorf("%d cores: %d", cores, got)
		}
	}
}
