package cli

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"go.uber.org/goleak"

	"fusebox/loaders/githistory/gittest"
	_ "fusebox/ui/termguard" // as in the program
)

func TestMain(m *testing.M) {
	// Most tests of this package wait for the watcher and compute little. A -parallel on the command line wins.
	if err := flag.Set("test.parallel", strconv.Itoa(max(8, runtime.GOMAXPROCS(0)))); err != nil {
		panic(err)
	}
	if playing() {
		return
	}
	testscript.Main(leakChecked{m}, map[string]func(){
		"fusebox": func() { os.Exit(Main(os.Args[1:], Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr})) },
	})
}

// leakChecked fails a run of tests after which a goroutine of theirs is still there.
type leakChecked struct{ tests testscript.TestingM }

func (l leakChecked) Run() int {
	code := l.tests.Run()
	if code == 0 {
		// A tick of Bubble Tea cannot be taken back; it ends with its time.
		if err := goleak.Find(goleak.IgnoreTopFunction("github.com/charmbracelet/bubbletea.Tick.func1")); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	}
	return code
}

// TestScripts runs the headless commands as processes, each script in a home of its own.
func TestScripts(t *testing.T) {
	t.Parallel()
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(env *testscript.Env) error {
			home := env.WorkDir + "/home"
			if err := os.MkdirAll(home+"/project", 0o700); err != nil {
				return err
			}
			env.Cd = home + "/project"
			env.Setenv("HOME", home)
			env.Setenv("USERPROFILE", home)
			env.Setenv("TMPDIR", env.WorkDir+"/tmp")
			return os.MkdirAll(env.WorkDir+"/tmp", 0o700)
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"status":   scriptStatus,
			"wait-for": scriptWaitFor,
			"empty":    scriptEmpty,
			"signal":   scriptSignal,
			"commit":   scriptCommit,
		},
	})
}

// scriptStatus runs a program and compares its exit status: status N PROGRAM ARGS...
func scriptStatus(ts *testscript.TestScript, neg bool, args []string) {
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	err = ts.Exec(args[1], args[2:]...)
	got := 0
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		got = exit.ExitCode()
	} else {
		ts.Check(err)
	}
	if (got == want) == neg {
		ts.Fatalf("exit status %d", got)
	}
}

// scriptWaitFor waits until a file holds a text: wait-for FILE PATTERN.
func scriptWaitFor(ts *testscript.TestScript, _ bool, args []string) {
	pattern := regexp.MustCompile(args[1])
	for range 1000 {
		if data, err := os.ReadFile(ts.MkAbs(args[0])); err == nil && pattern.Match(data) {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	ts.Fatalf("%s never holds %s", args[0], args[1])
}

// scriptEmpty asks that a folder holds nothing: empty FOLDER.
func scriptEmpty(ts *testscript.TestScript, _ bool, args []string) {
	entries, err := os.ReadDir(ts.MkAbs(args[0]))
	ts.Check(err)
	if len(entries) > 0 {
		ts.Fatalf("%s holds %s", args[0], entries[0].Name())
	}
}

// scriptSignal sends a signal to what runs in the background: signal TERM.
func scriptSignal(ts *testscript.TestScript, _ bool, args []string) {
	signals := map[string]os.Signal{"TERM": syscall.SIGTERM, "HUP": syscall.SIGHUP}
	for _, cmd := range ts.BackgroundCmds() {
		ts.Check(cmd.Process.Signal(signals[args[0]]))
	}
}

// scriptCommit commits one file of the folder as it is, on 2 November 2026: commit FILE.
func scriptCommit(ts *testscript.TestScript, _ bool, args []string) {
	gittest.Commit(ts, ts.MkAbs("."), time.Date(2026, 11, 2, 12, 0, 0, 0, time.UTC), map[string]string{args[0]: ts.ReadFile(args[0])})
}
