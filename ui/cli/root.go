package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"

	"github.com/spf13/cobra"

	"fusebox/loaders"
	"fusebox/model"
)

// Exit codes of the program.
const (
	exitOK     = 0
	exitErrors = 1 // a cell is an error, or a file is malformed or refused
	exitUsage  = 2
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

// options are the flags that several commands share.
type options struct {
	project   string
	harnesses []string
	log       string // path of fusebox's own log; "" for none
}

// Main runs the program with these arguments (without its name) and returns the exit code.
func Main(args []string, s Streams) int {
	root := newRoot(s)
	root.SetArgs(args)
	root.SetIn(s.In)
	root.SetOut(s.Out)
	root.SetErr(s.Err)
	err := root.Execute()
	if err == nil {
		return exitOK
	}
	var exit *exitError
	if !errors.As(err, &exit) {
		exit = &exitError{exitUsage, err}
	}
	if text := exit.Error(); text != "" {
		fmt.Fprintf(s.Err, "fusebox: %s\n", model.Clean(text))
	}
	return exit.code
}

func newRoot(s Streams) *cobra.Command {
	var o options
	var p panelOptions
	root := &cobra.Command{
		Use:           "fusebox",
		Short:         "One panel for every MCP server in every coding harness",
		Version:       version(),
		Args:          cobra.NoArgs,
		SilenceErrors: true,
		SilenceUsage:  true,
		RunE: func(*cobra.Command, []string) error {
			return runPanel(s, o, p)
		},
	}
	root.SetVersionTemplate("fusebox {{.Version}}\n")
	root.PersistentFlags().StringVar(&o.project, "project", "", "the folder that a session would start in (default: the current one)")
	root.PersistentFlags().StringVar(&o.log, "log", os.Getenv("FUSEBOX_LOG"), "write fusebox's own log, masked, to this file (or $FUSEBOX_LOG)")
	root.Flags().StringVar(&p.theme, "theme", "auto", "auto, dark, light or mono")
	root.Flags().BoolVar(&p.ascii, "ascii", false, "draw with ASCII characters only")
	root.Flags().BoolVar(&p.noMouse, "no-mouse", false, "leave the mouse to the terminal")
	root.Flags().BoolVar(&p.readOnly, "read-only", false, "take away what writes or launches")
	root.AddCommand(newList(s, &o))
	return root
}

// version is the module version that was built, or the commit of a checkout.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	v := info.Main.Version
	if v == "" || v == "(devel)" {
		v = "devel"
	}
	return v
}

func newList(s Streams, o *options) *cobra.Command {
	var f listFormat
	cmd := &cobra.Command{
		Use:   "list",
		Short: "Print what every harness would load here",
		Args:  cobra.NoArgs,
		RunE:  func(*cobra.Command, []string) error { return runList(s, *o, f) },
	}
	cmd.Flags().BoolVar(&f.json, "json", false, "print one JSON document")
	cmd.Flags().StringSliceVar(&o.harnesses, "harness", nil, "only these harnesses (id or alias, comma separated)")
	return cmd
}

type listFormat struct {
	json bool
}

func runList(s Streams, o options, f listFormat) error {
	loader, err := newLoader(o)
	if err != nil {
		return err
	}
	snapshot := loader.Load()
	redactor := model.NewRedactor(snapshot.Secrets())
	if f.json {
		err = writeJSON(s.Out, newDocument(snapshot, redactor), "  ")
	} else {
		err = writeTable(s.Out, snapshot, redactor)
	}
	if err != nil {
		return &exitError{exitErrors, fmt.Errorf("write the listing: %w", err)}
	}
	if snapshot.HasErrors() {
		return &exitError{exitErrors, nil}
	}
	return nil
}

func newLoader(o options) (*loaders.Loader, error) {
	env, err := loaders.NewEnv(o.project)
	if err != nil {
		return nil, &exitError{exitUsage, err}
	}
	picked, unknown := loaders.Select(loaders.All(), o.harnesses)
	if unknown != "" {
		return nil, &exitError{exitUsage, fmt.Errorf("unknown harness %q: see fusebox list --help", unknown)}
	}
	return loaders.NewLoader(env, picked), nil
}
