package mcpclient

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"sort"
	"strconv"
	"strings"
	"testing"
	"time"

	"fusebox/model"
)

// realServers is the folder where server-everything, server-filesystem and server-memory of the npm registry are installed.
const realServers = "FUSEBOX_TEST_SERVERS"

func realServer(t *testing.T, name string) (node, script string) {
	t.Helper()
	dir := os.Getenv(realServers)
	if dir == "" {
		t.Skipf("%s is not set", realServers)
	}
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("no node")
	}
	script = filepath.Join(dir, "node_modules", "@modelcontextprotocol", name, "dist", "index.js")
	if _, err := os.Stat(script); err != nil {
		t.Skip(err)
	}
	return node, script
}

// ownAnswer asks a server for its tools with nothing but a pipe.
func ownAnswer(t *testing.T, name string, args ...string) string {
	t.Helper()
	cmd := exec.Command(name, args...)
	in, _ := cmd.StdinPipe()
	out, _ := cmd.StdoutPipe()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait()
	defer in.Close()
	fmt.Fprintln(in, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"0"}}}`)
	lines := bufio.NewReader(out)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			t.Fatal(err)
		}
		var m struct {
			ID     int `json:"id"`
			Result struct {
				Tools []struct{ Name string } `json:"tools"`
			} `json:"result"`
		}
		_ = json.Unmarshal(line, &m)
		switch m.ID {
		case 1:
			fmt.Fprintln(in, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
			fmt.Fprintln(in, `{"jsonrpc":"2.0","id":2,"method":"tools/list"}`)
		case 2:
			var names []string
			for _, tool := range m.Result.Tools {
				names = append(names, tool.Name)
			}
			return strings.Join(names, " ")
		}
	}
}

func TestRealServersOnStdio(t *testing.T) {
	for name, args := range map[string][]string{"server-everything": nil, "server-filesystem": {t.TempDir()}, "server-memory": nil} {
		t.Run(name, func(t *testing.T) {
			node, script := realServer(t, name)
			args := append([]string{script}, args...)
			r := launchFake(t, Target{Transport: model.TransportStdio, Command: "node", Args: args, Env: os.Environ()}, Options{})
			want := ownAnswer(t, node, args...)
			wantOK(t, r, want)
			t.Logf("%s, %s: %d tools in %v, notes %q", r.Server, r.Observation.Protocol, len(r.Tools), r.Observation.Took.Round(time.Millisecond), r.Notes)
		})
	}
}

func TestRealServerOverHTTP(t *testing.T) {
	node, script := realServer(t, "server-everything")
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := listener.Addr().(*net.TCPAddr).Port
	listener.Close()
	cmd := exec.Command(node, script, "streamableHttp")
	cmd.Env = append(os.Environ(), "PORT="+strconv.Itoa(port))
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { cmd.Process.Kill(); cmd.Wait() }()
	url := fmt.Sprintf("http://127.0.0.1:%d/mcp", port)
	var r *Result
	for range 40 {
		r = List(context.Background(), Target{Transport: model.TransportHTTP, URL: url}, Options{})
		if r.Observation.Reason.Code != model.ReasonConnectionRefused {
			break
		}
		time.Sleep(250 * time.Millisecond)
	}
	names := strings.Fields(ownAnswer(t, node, script))
	got := strings.Fields(toolNames(r))
	sort.Strings(names)
	sort.Strings(got)
	if r.Observation.Outcome != model.OutcomeOK || len(got) == 0 || strings.Join(got, " ") != strings.Join(names, " ") {
		t.Errorf("%+v\ngot  %s\nwant %s\n%s", r.Observation, got, names, dump(r))
	}
	t.Logf("%s, %s: %d tools in %v, notes %q", r.Server, r.Observation.Protocol, len(r.Tools), r.Observation.Took.Round(time.Millisecond), r.Notes)
}
