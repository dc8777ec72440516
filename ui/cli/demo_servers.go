package cli

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/spf13/cobra"

	"fusebox/mcpclient/demo"
)

// demoKinds say how each server of the demo behaves, by the name that its entries start it under.
var demoKinds = map[string]string{
	"browser": demo.Paging, "docs": demo.Noisy, "postgres": demo.Crashing, "search": demo.Slow,
	"linear": demo.SignIn, "sentry": demo.Crashing,
}

// demoKind is healthy for every name that is not listed.
func demoKind(name string) string {
	if kind, ok := demoKinds[name]; ok {
		return kind
	}
	return demo.Healthy
}

// newDemoServer is the hidden command that the demo's entries start: this program as an MCP server over stdio.
func newDemoServer(s Streams) *cobra.Command {
	return &cobra.Command{
		Use:                "demo-server NAME",
		Hidden:             true,
		DisableFlagParsing: true, // the entries have arguments as real ones do
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usageError("demo-server needs a name")
			}
			if err := demo.Serve(demoKind(args[0]), s.In, s.Out); err != nil {
				return &exitError{exitErrors, err}
			}
			return nil
		},
	}
}

// demoRemotes are the hosts of the demo's remote servers: a server on this machine stands in for each.
var demoRemotes = []string{"github", "linear", "sentry"}

// serveDemo answers for the demo's remote servers on a port of this machine until it is told to end. It returns what the
// hosts in the demo's files are replaced by.
func serveDemo() (replace map[string]string, end func(), err error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, nil, fmt.Errorf("start the demo's servers: %w", err)
	}
	mux := http.NewServeMux()
	replace = map[string]string{}
	for _, name := range demoRemotes {
		handler, err := demo.Handler(demoKind(name))
		if err != nil {
			return nil, nil, errors.Join(fmt.Errorf("start the demo's servers: %w", err), listener.Close())
		}
		mux.Handle("/"+name+"/mcp", handler)
		replace["https://"+name+".demo.example/"] = "http://" + listener.Addr().String() + "/" + name + "/"
	}
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = server.Serve(listener) // ends with ErrServerClosed
	}()
	return replace, func() {
		_ = server.Close() // nobody is left to tell
		<-done
	}, nil
}
