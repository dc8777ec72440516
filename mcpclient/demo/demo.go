// Package demo holds the servers of the demo: small MCP servers that behave well or badly in one way each, for a terminal
// that has no real ones yet, and for tests.
//
// They do nothing: no tool of theirs reads, writes or reaches anything. Starting them is the caller's business.
package demo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// The kinds of servers.
const (
	Healthy  = "healthy"  // five tools
	Slow     = "slow"     // the same, after SlowStart
	Noisy    = "noisy"    // prints on stdout between its messages
	Crashing = "crashing" // ends before it answers
	Paging   = "paging"   // 120 tools in pages of 25
	SignIn   = "signin"   // over HTTP only: answers 401
)

// SlowStart is how long the slow server takes before it reads anything.
const SlowStart = 4 * time.Second

// ErrCrash is what the crashing server ends with.
var ErrCrash = errors.New("fatal: DEMO_TOKEN is not set")

// Serve speaks MCP over in and out until in ends. The crashing kind returns ErrCrash at once; the caller prints it and
// ends with a status that is not 0.
func Serve(kind string, in io.Reader, out io.Writer) error {
	switch kind {
	case Crashing:
		return ErrCrash
	case SignIn:
		return fmt.Errorf("the %s server speaks HTTP only", kind)
	case Slow:
		time.Sleep(SlowStart)
	case Noisy:
		out = &noisyWriter{out: out}
	}
	server, err := newServer(kind)
	if err != nil {
		return err
	}
	err = server.Run(context.Background(), &mcp.IOTransport{Reader: io.NopCloser(in), Writer: keepOpen{out}})
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// Handler speaks MCP over Streamable HTTP. The crashing kind answers 500, the signin kind 401 with a challenge.
func Handler(kind string) (http.Handler, error) {
	switch kind {
	case Crashing:
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, "internal server error", http.StatusInternalServerError)
		}), nil
	case SignIn:
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("WWW-Authenticate", `Bearer realm="demo", scope="notes.read", resource_metadata="http://`+r.Host+`/.well-known/oauth-protected-resource"`)
			http.Error(w, "sign in first", http.StatusUnauthorized)
		}), nil
	}
	server, err := newServer(kind)
	if err != nil {
		return nil, err
	}
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, &mcp.StreamableHTTPOptions{Stateless: true})
	if kind != Slow {
		return handler, nil
	}
	var once sync.Once
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		once.Do(func() { time.Sleep(SlowStart) })
		handler.ServeHTTP(w, r)
	}), nil
}

// tool is one line of the table of tools.
type tool struct {
	name, says  string
	readOnly    bool
	destructive bool
}

var tools = [...]tool{
	{"search_notes", "Search all notes for a text and return the titles and the lines around each hit.", true, false},
	{"read_note", "Read one note as Markdown, with its tags and the notes that link to it.", true, false},
	{"write_note", "Create a note, or append to the one that has this title.", false, false},
	{"delete_note", "Delete a note for good. It cannot be brought back.", false, true},
	{"sync", "sync", false, false}, // says nothing beyond its name, as real tools do
}

type noteParams struct {
	Text string `json:"text" jsonschema:"the text or the title"`
}

func newServer(kind string) (*mcp.Server, error) {
	options := &mcp.ServerOptions{Logger: slog.New(slog.DiscardHandler)}
	list := tools[:]
	switch kind {
	case Healthy, Slow, Noisy:
	case Paging:
		options.PageSize = 25
		list = nil
		for i := 1; i <= 120; i++ {
			list = append(list, tool{fmt.Sprintf("report_%03d", i), fmt.Sprintf("Return report number %d of the archive as a table.", i), true, false})
		}
	default:
		return nil, fmt.Errorf("there is no demo server %q", kind)
	}
	server := mcp.NewServer(&mcp.Implementation{Name: "demo-" + kind, Version: "1.0.0"}, options)
	for _, t := range list {
		mcp.AddTool(server, &mcp.Tool{
			Name: t.name, Description: t.says,
			Annotations: &mcp.ToolAnnotations{ReadOnlyHint: t.readOnly, DestructiveHint: &t.destructive},
		}, func(context.Context, *mcp.CallToolRequest, noteParams) (*mcp.CallToolResult, any, error) {
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "This is a demo."}}}, nil, nil
		})
	}
	return server, nil
}

// keepOpen leaves closing to whoever opened it.
type keepOpen struct{ io.Writer }

func (keepOpen) Close() error { return nil }

// noisyWriter prints what a careless program prints on stdout: a banner, then a line before each message.
type noisyWriter struct {
	out  io.Writer
	once sync.Once
	mu   sync.Mutex
	n    int
}

// Write writes one message and its noise.
func (w *noisyWriter) Write(p []byte) (int, error) {
	w.once.Do(func() { io.WriteString(w.out, "Demo Notes Server 1.0.0\n=======================\n") })
	w.mu.Lock()
	w.n++
	n := w.n
	w.mu.Unlock()
	fmt.Fprintf(w.out, "[debug] sending message %d\n", n)
	return w.out.Write(p)
}
