package cli

import (
	"context"
	"os"
	"os/signal"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"fusebox/loaders"
	"fusebox/model"
)

// session is one run of a command that reads: the machine that it looks at, its log, and the moment at which it is told to
// end.
type session struct {
	ctx    context.Context // done on INT, TERM and HUP, where the command waits for them
	lent   atomic.Bool     // the terminal is another program's: INT is meant for that one
	env    *loaders.Env
	loader *loaders.Loader
	log    *logger
	ends   []func()
}

// begin opens a session. With waits the three signals end ctx instead of the process; the demo always waits for them, so that
// its folder is deleted. Whoever begins must end.
func begin(command string, o options, waits bool) (_ *session, err error) {
	s := &session{ctx: context.Background()}
	defer func() {
		if err != nil {
			s.end()
		}
	}()
	if waits || o.demo {
		s.waitForSignals()
	}
	picked, unknown := loaders.Select(loaders.All(), o.harnesses)
	if unknown != "" {
		return nil, usageError("unknown harness %q: the harnesses are %s", unknown, strings.Join(harnessIDs(), ", "))
	}
	path := o.log
	if path == "" {
		path = os.Getenv("FUSEBOX_LOG")
	}
	log, closeLog, err := openLog(path)
	if err != nil {
		return nil, err
	}
	s.log = log
	s.ends = append(s.ends, func() { closeLog() }) //nolint:errcheck // nobody is left to tell
	if s.env, err = s.machine(o); err != nil {
		return nil, err
	}
	s.loader = loaders.NewLoader(s.env, picked)
	names := "all"
	if len(picked) < len(loaders.All()) {
		names = strings.Join(o.harnesses, ",")
	}
	log.printf("start: fusebox %s; command %s, folder %s, harnesses %s", version(), command, s.env.Project, names)
	return s, nil
}

// waitForSignals ends ctx at the first signal. They are held back until the very end of the session: a second one must not
// cut the clean-up short.
func (s *session) waitForSignals() {
	ctx, cancel := context.WithCancel(s.ctx)
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	ended := make(chan struct{})
	go func() {
		for {
			select {
			case received := <-signals:
				if received != os.Interrupt || !s.lent.Load() {
					cancel()
				}
			case <-ended:
				return
			}
		}
	}()
	s.ctx = ctx
	s.ends = append(s.ends, func() {
		signal.Stop(signals)
		close(ended)
		cancel()
	})
}

// machine describes what is looked at: this machine, or the demo's.
func (s *session) machine(o options) (*loaders.Env, error) {
	if !o.demo {
		env, err := loaders.NewEnv(o.project)
		if err != nil {
			return nil, &exitError{exitUsage, err}
		}
		return env, nil
	}
	if o.project != "" {
		return nil, usageError("--demo has a project of its own: it excludes --project")
	}
	env, remove, err := newDemo()
	if err != nil {
		return nil, &exitError{exitErrors, err}
	}
	s.ends = append(s.ends, remove)
	return env, nil
}

// end gives back what begin took, last first. It may be called twice.
func (s *session) end() {
	for _, f := range slices.Backward(s.ends) {
		f()
	}
	s.ends = nil
}

// load reads everything, and says in the log how long it took.
func (s *session) load() *model.Snapshot {
	start := time.Now()
	snapshot := s.loader.Load()
	s.log.mask(snapshot)
	s.log.printf("loaded: %d servers of %d harnesses in %s; %d paths decide", len(snapshot.Servers), len(snapshot.Columns),
		time.Since(start).Round(10*time.Microsecond), len(s.loader.Paths()))
	for _, col := range snapshot.Columns {
		for _, f := range col.Files {
			if f.Status == model.FileMalformed || f.Status == model.FileRefused {
				s.log.printf("%s: %s is %s: %s", col.ID, f.Path, f.Status, f.Note)
			}
		}
	}
	return snapshot
}

// logPanic notes a panic with its trace and lets it go on. It must be deferred.
func (s *session) logPanic() {
	if fault := recover(); fault != nil {
		s.log.printf("panic: %v\n%s", fault, trace())
		s.end()
		panic(fault)
	}
}

func harnessIDs() []string {
	var ids []string
	for _, h := range loaders.All() {
		ids = append(ids, string(h.ID))
	}
	return ids
}
