package mcpclient

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"fusebox/model"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	methodDiscover   = "server/discover"
	methodInitialize = "initialize"

	firstModern  = "2026-07-28"
	latestLegacy = "2025-11-25"
)

// agreement is what both sides settled on.
type agreement struct {
	version      string
	modern       bool
	capabilities map[string]json.RawMessage
}

// announces tells whether the server says that it has tools, prompts or resources.
func (a *agreement) announces(what string) bool {
	v, ok := a.capabilities[what]
	return ok && string(v) != "null" && string(v) != "false"
}

// handshake lets the SDK's client agree with the server on a version: server/discover, then initialize, or initialize
// alone. What the SDK would choke on (an unknown version, capabilities of another shape) it gets in a plain form.
type handshake struct {
	link      *link
	probeWait time.Duration // 0: the answer to the probe is awaited as long as the listing lasts

	mu      sync.Mutex
	settled *agreement
	kept    json.RawMessage // an answer to the probe that came after its time
	aside   bool            // the probe was put aside unanswered
	version int             // how often the server refused our version
	refusal *jsonrpc.Error  // of initialize

	lateAnswer chan struct{} // closed when an answer to a probe that was put aside has come
}

func newHandshake(l *link, probeWait time.Duration) *handshake {
	return &handshake{link: l, probeWait: probeWait, lateAnswer: make(chan struct{})}
}

// awaitLate waits for the answer to a probe that was put aside: a server may refuse initialize before it gets to it.
func (h *handshake) awaitLate(ctx context.Context) {
	h.mu.Lock()
	aside := h.aside
	h.mu.Unlock()
	if !aside {
		return
	}
	timer := time.NewTimer(h.probeWait)
	defer timer.Stop()
	select {
	case <-h.lateAnswer:
	case <-timer.C:
	case <-h.link.done:
	case <-ctx.Done():
	}
}

// connect returns the agreement, or the verdict that there is none.
func (h *handshake) connect(ctx context.Context, legacy bool) (*agreement, *verdict) {
	version := firstModern
	if legacy {
		version = latestLegacy
	}
	for again := false; ; {
		client := mcp.NewClient(&mcp.Implementation{Name: "fusebox", Version: h.link.run.opts.Version},
			&mcp.ClientOptions{Capabilities: &mcp.ClientCapabilities{}, Logger: slog.New(slog.DiscardHandler)})
		c := &sdkConn{handshake: h, inbox: make(chan jsonrpc.Message, 8), closed: make(chan struct{})}
		session, err := client.Connect(ctx, transport{c}, &mcp.ClientSessionOptions{ProtocolVersion: version})
		if session != nil {
			// From here on requests go out raw, so that cursors and malformed tools are ours to judge.
			session.Close()
		}
		c.Close()
		c.timers.Wait()

		h.mu.Lock()
		settled, refused := h.settled, h.refusal != nil
		h.mu.Unlock()
		if refused {
			h.awaitLate(ctx)
		}
		h.mu.Lock()
		kept, refusal := h.kept, h.refusal
		h.mu.Unlock()
		if err == nil && settled != nil {
			h.link.run.settled(settled)
			h.link.carrier.negotiated(settled.version)
			return settled, nil
		}
		if v := h.link.ended(); v != nil {
			return nil, v
		}
		if ctx.Err() != nil {
			return nil, h.link.why(ctx, err)
		}
		if kept != nil && !again {
			again = true // over the same process, with the answer that came late
			continue
		}
		if refusal != nil {
			return nil, failed(model.ReasonNotMCP, "initialize was refused: %s", describe(refusal))
		}
		return nil, h.link.why(ctx, err)
	}
}

// describe quotes an error of the server.
func describe(e *jsonrpc.Error) string {
	text := `"` + e.Message + `"`
	if e.Message == "" {
		text = "without a message"
	}
	if e.Code != 0 {
		text += " (" + strconv.FormatInt(e.Code, 10) + ")"
	}
	return text
}

// transport is the mcp.Transport that the SDK's client is given.
type transport struct{ conn *sdkConn }

// Connect returns the connection.
func (t transport) Connect(context.Context) (mcp.Connection, error) { return t.conn, nil }

// sdkConn is one connection of the SDK's client. Closing it leaves the link alone.
type sdkConn struct {
	handshake *handshake
	inbox     chan jsonrpc.Message
	closed    chan struct{}
	once      sync.Once
	timers    sync.WaitGroup
}

// SessionID is not needed: the carrier keeps it.
func (c *sdkConn) SessionID() string { return "" }

// Close ends the connection.
func (c *sdkConn) Close() error {
	c.once.Do(func() { close(c.closed) })
	return nil
}

// Read returns the answers to what the SDK asked.
func (c *sdkConn) Read(ctx context.Context) (jsonrpc.Message, error) {
	select {
	case m := <-c.inbox:
		return m, nil
	default:
	}
	select {
	case m := <-c.inbox:
		return m, nil
	case <-c.closed:
		return nil, io.EOF
	case <-c.handshake.link.done:
		return nil, io.EOF
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// deliver passes an answer to the SDK; each request gets at most one, so there is room.
func (c *sdkConn) deliver(id jsonrpc.ID, a answer) {
	m := &jsonrpc.Response{ID: id, Result: a.result}
	if a.err != nil {
		m.Error = a.err
	}
	select {
	case c.inbox <- m:
	case <-c.closed:
	}
}

// Write sends what the SDK asks.
func (c *sdkConn) Write(ctx context.Context, m jsonrpc.Message) error {
	request, ok := m.(*jsonrpc.Request)
	if !ok {
		return nil // the link answers the server's requests itself
	}
	h := c.handshake
	switch {
	case !request.IsCall():
		if request.Method == "notifications/cancelled" {
			return nil // the connection ends anyway
		}
		return h.link.notify(h.link.ctx, request.Method, request.Params)
	case request.Method == methodDiscover:
		return h.probe(c, request)
	case request.Method == methodInitialize:
		return h.initialize(c, request)
	default:
		_, err := h.link.send(h.link.ctx, request.Method, request.Params, func(a answer) { c.deliver(request.ID, a) })
		return err
	}
}

// probe sends server/discover. Silence counts as an older server's error after a while; an answer that comes later is kept.
func (h *handshake) probe(c *sdkConn, request *jsonrpc.Request) error {
	h.mu.Lock()
	kept := h.kept
	h.mu.Unlock()
	if kept != nil {
		c.deliver(request.ID, h.discovered(answer{result: kept}))
		return nil
	}

	var once sync.Once
	heard := make(chan struct{})
	_, err := h.link.send(h.link.ctx, request.Method, request.Params, func(a answer) {
		inTime := false
		once.Do(func() { inTime = true })
		if inTime {
			close(heard)
			c.deliver(request.ID, h.discovered(a))
			return
		}
		if a.err == nil && discoverVersions(a.result) != nil {
			h.mu.Lock()
			h.kept = a.result
			h.mu.Unlock()
		}
		close(h.lateAnswer)
	})
	if err != nil || h.probeWait <= 0 {
		return err
	}
	c.timers.Add(1)
	go func() {
		defer c.timers.Done()
		timer := time.NewTimer(h.probeWait)
		defer timer.Stop()
		select {
		case <-timer.C:
			once.Do(func() {
				h.mu.Lock()
				h.aside = true
				h.mu.Unlock()
				h.link.run.rec.add(Neither, "no answer", methodDiscover+": taken for an older server")
				c.deliver(request.ID, answer{err: &jsonrpc.Error{Code: codeMethodNotFound, Message: "no answer"}})
			})
		case <-heard:
		case <-c.closed:
		case <-h.link.done:
		}
	}()
	return nil
}

// discovered judges the answer to the probe and returns what the SDK is told.
func (h *handshake) discovered(a answer) answer {
	legacy := answer{err: &jsonrpc.Error{Code: codeMethodNotFound, Message: "not a modern server"}}
	if a.err != nil {
		if !modernError(a.err.Code) {
			return answer{err: a.err}
		}
		if a.err.Code != codeUnsupportedVersion {
			h.link.fail(failed(model.ReasonNotMCP, "server/discover was refused: %s", describe(a.err)))
			return legacy
		}
		var data struct {
			Supported []string `json:"supported"`
		}
		_ = json.Unmarshal(a.err.Data, &data)
		h.mu.Lock()
		h.version++
		again := h.version > 1
		h.mu.Unlock()
		modern, old := known(data.Supported)
		switch {
		case modern != "" && !again:
			return answer{err: a.err} // the SDK asks once more with that version
		case old != "" && modern == "":
			return legacy // a version that both know, and that version begins with initialize
		}
		h.link.fail(failed(model.ReasonNotMCP, "it speaks other versions of the protocol: %s", listed(data.Supported)))
		return legacy
	}
	versions := discoverVersions(a.result)
	if versions == nil {
		return legacy
	}
	modern, old := known(versions)
	if modern == "" {
		if old == "" {
			h.link.fail(failed(model.ReasonNotMCP, "it speaks other versions of the protocol: %s", listed(versions)))
		}
		return legacy
	}
	var result struct {
		Capabilities map[string]json.RawMessage `json:"capabilities"`
		ServerInfo   json.RawMessage            `json:"serverInfo"`
		Meta         map[string]json.RawMessage `json:"_meta"`
	}
	_ = json.Unmarshal(a.result, &result)
	info := result.Meta[mcp.MetaKeyServerInfo]
	if info == nil {
		info = result.ServerInfo
	}
	h.agree(&agreement{version: modern, modern: true, capabilities: result.Capabilities}, info)
	plain, _ := json.Marshal(map[string]any{"supportedVersions": []string{modern}, "capabilities": map[string]any{}})
	return answer{result: plain}
}

// initialize asks for an older version and takes whichever the server offers.
func (h *handshake) initialize(c *sdkConn, request *jsonrpc.Request) error {
	var once sync.Once
	heard := make(chan struct{})
	_, err := h.link.send(h.link.ctx, request.Method, request.Params, func(a answer) {
		once.Do(func() {
			close(heard)
			c.deliver(request.ID, h.initialized(a))
		})
	})
	if err != nil || h.probeWait <= 0 {
		return err
	}
	// A server that answered the probe late is awake. If it then has nothing to say to initialize, the probe's answer counts.
	c.timers.Add(1)
	go func() {
		defer c.timers.Done()
		tick := time.NewTicker(h.probeWait)
		defer tick.Stop()
		for seen := false; ; {
			select {
			case <-tick.C:
				h.mu.Lock()
				kept := h.kept != nil
				h.mu.Unlock()
				if kept && seen {
					once.Do(func() {
						c.deliver(request.ID, answer{err: &jsonrpc.Error{Code: codeMethodNotFound, Message: "no answer"}})
					})
					return
				}
				seen = kept
			case <-heard:
				return
			case <-c.closed:
				return
			case <-h.link.done:
				return
			}
		}
	}()
	return nil
}

func (h *handshake) initialized(a answer) answer {
	if a.err != nil {
		h.mu.Lock()
		h.refusal = a.err
		h.mu.Unlock()
		return a
	}
	var result struct {
		Version      string                     `json:"protocolVersion"`
		Capabilities map[string]json.RawMessage `json:"capabilities"`
		ServerInfo   json.RawMessage            `json:"serverInfo"`
	}
	if err := json.Unmarshal(a.result, &result); err != nil && result.Version == "" {
		refusal := &jsonrpc.Error{Message: "its answer is not that of an MCP server"}
		h.mu.Lock()
		h.refusal = refusal
		h.mu.Unlock()
		return answer{err: refusal}
	}
	if result.Version != "" && !slices.Contains(mcp.SupportedProtocolVersions(), result.Version) {
		h.link.run.note("it answered with protocol version %s, which few clients know", result.Version)
	}
	h.agree(&agreement{version: result.Version, capabilities: result.Capabilities}, result.ServerInfo)
	plain, _ := json.Marshal(map[string]any{"protocolVersion": latestLegacy, "capabilities": map[string]any{},
		"serverInfo": map[string]any{"name": "server", "version": "0"}})
	return answer{result: plain}
}

func (h *handshake) agree(a *agreement, info json.RawMessage) {
	var server struct{ Name, Version string }
	_ = json.Unmarshal(info, &server)
	h.mu.Lock()
	h.settled = a
	h.mu.Unlock()
	r := h.link.run
	r.mu.Lock()
	r.server = r.mask.cut(strings.TrimSpace(server.Name+" "+server.Version), 256)
	r.mu.Unlock()
}

func (r *run) settled(a *agreement) {
	r.mu.Lock()
	r.protocol = a.version
	r.mu.Unlock()
}

// discoverVersions returns the versions of a discovery result; nil when it is none.
func discoverVersions(result json.RawMessage) []string {
	var d struct {
		Versions []string `json:"supportedVersions"`
	}
	if json.Unmarshal(result, &d) != nil && len(d.Versions) == 0 {
		return nil
	}
	return d.Versions
}

// known returns the newest modern and the newest older version that we speak too.
func known(versions []string) (modern, old string) {
	for _, v := range mcp.SupportedProtocolVersions() {
		if !slices.Contains(versions, v) {
			continue
		}
		if v >= firstModern && modern == "" {
			modern = v
		}
		if v < firstModern && old == "" {
			old = v
		}
	}
	return modern, old
}

func listed(versions []string) string {
	if len(versions) == 0 {
		return "it names none"
	}
	return strings.Join(versions[:min(len(versions), 10)], ", ")
}

// meta is what every request of the modern era carries.
func (a *agreement) meta(version string) map[string]any {
	if !a.modern {
		return nil
	}
	return map[string]any{
		mcp.MetaKeyProtocolVersion:    a.version,
		mcp.MetaKeyClientInfo:         map[string]string{"name": "fusebox", "version": version},
		mcp.MetaKeyClientCapabilities: map[string]any{},
	}
}
