package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"fusebox/loaders"
	"fusebox/model"
)

// Exit codes of the program.
const (
	exitOK     = 0
	exitErrors = 1 // a cell is an error, or a file is malformed or refused; or something failed on the way
	exitUsage  = 2
	exitAsk    = 3 // nothing was written: --yes, or --trust-folder, is missing
	exitStale  = 4 // a file changed meanwhile
)

// Streams are the program's standard streams.
type Streams struct {
	In  io.Reader
	Out io.Writer
	Err io.Writer
}

// exitError carries an exit code through cobra. Its message may be empty: everything was said already.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string {
	if e.err == nil {
		return ""
	}
	return e.err.Error()
}

func (e *exitError) Unwrap() error { return e.err }

// usageError makes the error of a command line that makes no sense.
func usageError(format string, args ...any) error {
	return &exitError{exitUsage, fmt.Errorf(format, args...)}
}

// options are the flags that several commands share.
type options struct {
	project   string
	harnesses []string
	log       string // path of fusebox's own log; "" for $FUSEBOX_LOG
	demo      bool
	timeout   time.Duration // of one launch
}

// check refuses a timeout that leaves no time, instead of using another one unasked.
func (o options) check() error {
	if o.timeout <= 0 {
		return usageError("--timeout %s leaves no time: it takes a duration such as 20s", o.timeout)
	}
	return nil
}

// Main runs the program with these arguments (without its name) and returns the exit code.
func Main(args []string, s Streams) (code int) {
	mask := model.NewRedactor(environmentSecrets(os.Environ()))
	say := func(format string, args ...any) {
		fmt.Fprintf(s.Err, "fusebox: %s\n", mask.Text(model.Clean(fmt.Sprintf(format, args...))))
	}
	defer func() {
		if fault := recover(); fault != nil {
			say("something went wrong inside: %v; --log FILE keeps the trace", fault)
			code = exitErrors
		}
	}()
	root := newRoot(s)
	root.SetArgs(args)
	root.SetIn(s.In)
	root.SetOut(s.Out)
	root.SetErr(s.Err)
	cmd, err := root.ExecuteC()
	if err == nil {
		return exitOK
	}
	var exit *exitError
	if !errors.As(err, &exit) {
		exit = &exitError{exitUsage, err}
	}
	if text := exit.Error(); text != "" {
		say("%s", text)
	}
	if exit.code == exitUsage {
		say("see %s --help", cmd.CommandPath())
	}
	return exit.code
}

const rootHelp = `fusebox shows every MCP server that the coding harnesses on this machine would
load in a folder, by each harness's own rules: what loads, what waits for you,
what is off or broken, and the file and line that decides it. It follows the
files while they change.

Without a command it opens the panel; "fusebox list" prints the same without a
terminal.`

const rootExamples = `  fusebox                          the panel for the current folder
  fusebox --project ~/code/shop    the panel for another folder
  fusebox --demo                   look round in a made-up home and project
  fusebox list --json | jq .       the same for scripts
  fusebox toggle docs --harness codex --off
                                   what that would write; --yes writes it`

func newRoot(s Streams) *cobra.Command {
	var o options
	var p panelOptions
	root := &cobra.Command{
		Use:           "fusebox",
		Short:         "One panel for every MCP server in every coding harness",
		Long:          rootHelp,
		Example:       rootExamples,
		Version:       version(),
		Args:          knownCommand,
		SilenceErrors: true,
		SilenceUsage:  true,
		RunE: func(*cobra.Command, []string) error {
			if err := o.check(); err != nil {
				return err
			}
			return runPanel(s, o, p)
		},
	}
	root.SetVersionTemplate("fusebox {{.Version}}\n")
	root.SetHelpCommand(&cobra.Command{Use: "no-help", Hidden: true}) // --help does it
	shared := root.PersistentFlags()
	shared.StringVar(&o.project, "project", "", "the `folder` that a session would start in (default: the current one)")
	shared.StringVar(&o.log, "log", "", "write fusebox's own log, masked, to this `file` (default: $FUSEBOX_LOG, or none)")
	shared.BoolVar(&o.demo, "demo", false, "look at a made-up home and project, deleted on exit")
	root.Flags().DurationVar(&o.timeout, "timeout", 20*time.Second, "how long a launched server may take to list its tools")
	root.Flags().StringVar(&p.theme, "theme", "auto", "`colours`: auto, dark, light or mono")
	root.Flags().BoolVar(&p.ascii, "ascii", false, "draw with ASCII characters only")
	root.Flags().BoolVar(&p.noMouse, "no-mouse", false, "leave the mouse to the terminal")
	root.Flags().BoolVar(&p.readOnly, "read-only", false, "take away what writes or launches")
	root.Flags().BoolVar(&p.noSessions, "no-sessions", false, "do not look for open sessions of the harnesses")
	root.AddCommand(newList(s, &o), newToggle(s, &o), newApprove(s, &o), newUndo(s, &o), newDemoServer(s))
	root.SuggestionsMinimumDistance = 2
	root.InitDefaultCompletionCmd()
	for _, cmd := range root.Commands() {
		if cmd.Name() == "completion" {
			cmd.Args = knownShell
			cmd.RunE = func(*cobra.Command, []string) error {
				return usageError("completion for which shell: bash, zsh, fish or powershell?")
			}
		}
	}
	completeFlags(root)
	return root
}

// knownShell refuses a shell that there is no completion for.
func knownShell(_ *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usageError("no completion for %q: there is one for bash, zsh, fish and powershell", args[0])
	}
	return nil
}

// knownCommand refuses a word that is no command, with the commands that come near.
func knownCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
		return usageError("unknown command %q: did you mean %s?", args[0], strings.Join(near, " or "))
	}
	return usageError("unknown command %q", args[0])
}

// noArguments refuses words behind a command that takes none.
func noArguments(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return usageError("%s takes no argument: %q", cmd.CommandPath(), args[0])
}

// completeFlags says what shells may offer behind flags.
func completeFlags(root *cobra.Command) {
	offer := func(cmd *cobra.Command, flag string, complete cobra.CompletionFunc) {
		if err := cmd.RegisterFlagCompletionFunc(flag, complete); err != nil {
			panic(err) // the flag does not exist: a fault of this file
		}
	}
	offer(root, "theme", cobra.FixedCompletions([]cobra.Completion{
		cobra.CompletionWithDesc("auto", "by NO_COLOR and COLORFGBG"), cobra.CompletionWithDesc("dark", "for dark backgrounds"),
		cobra.CompletionWithDesc("light", "for light backgrounds"), cobra.CompletionWithDesc("mono", "no colour, no weight")},
		cobra.ShellCompDirectiveNoFileComp|cobra.ShellCompDirectiveKeepOrder))
	offer(root, "project", func(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
		return nil, cobra.ShellCompDirectiveFilterDirs
	})
	for _, cmd := range root.Commands() {
		if cmd.Flags().Lookup("harness") != nil {
			offer(cmd, "harness", completeHarnesses)
		}
		if cmd.Flags().Lookup("reach") != nil {
			offer(cmd, "reach", cobra.FixedCompletions([]cobra.Completion{
				cobra.CompletionWithDesc("here", "this folder, for you alone"), cobra.CompletionWithDesc("everywhere", "every folder of yours"),
				cobra.CompletionWithDesc("repository", "everybody who uses this repository")},
				cobra.ShellCompDirectiveNoFileComp|cobra.ShellCompDirectiveKeepOrder))
		}
	}
}

// completeHarnesses offers the ids of the registry behind the last comma of --harness. An alias is offered only where no id
// begins with what was typed.
func completeHarnesses(_ *cobra.Command, _ []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
	done, last := "", typed
	if i := strings.LastIndexByte(typed, ','); i >= 0 {
		done, last = typed[:i+1], typed[i+1:]
	}
	given := strings.Split(done, ",")
	var ids, aliases []cobra.Completion
	for _, h := range loaders.All() {
		if slices.Contains(given, string(h.ID)) {
			continue
		}
		if strings.HasPrefix(string(h.ID), last) {
			ids = append(ids, cobra.CompletionWithDesc(done+string(h.ID), h.Title))
		}
		for _, a := range h.Aliases {
			if strings.HasPrefix(a, last) {
				aliases = append(aliases, cobra.CompletionWithDesc(done+a, h.Title))
			}
		}
	}
	if len(ids) == 0 {
		ids = aliases
	}
	return ids, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
}

// completeNames offers the servers of the folder, those of --harness if it stands there already. A name that a shell would
// take apart is not offered.
func completeNames(o *options, f *switchFlags) cobra.CompletionFunc {
	return func(_ *cobra.Command, args []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
		var ids []string
		if f.harness != "" {
			ids = []string{f.harness}
		}
		picked, unknown := loaders.Select(loaders.All(), ids)
		env, err := loaders.NewEnv(o.project)
		if len(args) > 0 || unknown != "" || o.demo || err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		var names []cobra.Completion
		for _, srv := range loaders.NewLoader(env, picked).Load().Servers {
			if strings.HasPrefix(srv.Name, typed) && plainName.MatchString(srv.Name) {
				names = append(names, srv.Name)
			}
		}
		return names, cobra.ShellCompDirectiveNoFileComp
	}
}

var plainName = regexp.MustCompile(`^[A-Za-z0-9_.@/+][A-Za-z0-9_.@/+-]{0,99}$`)

// trace is the stack of a panic that was caught.
func trace() string { return string(debug.Stack()) }
