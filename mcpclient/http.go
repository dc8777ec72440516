package mcpclient

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"fusebox/model"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/modelcontextprotocol/go-sdk/oauthex"
)

const (
	maxAnswer    = 4 << 20  // bytes of one answer over HTTP, unpacked
	maxErrorBody = 64 << 10 // bytes looked at of an answer that is an error
)

// listHTTP reaches a server over Streamable HTTP, or over HTTP with SSE.
func (r *run) listHTTP(ctx context.Context) verdict {
	ctx, cancel := context.WithTimeout(ctx, r.opts.Timeout)
	defer cancel()
	target, err := url.Parse(r.target.URL)
	if err != nil || target.Host == "" || target.Scheme != "http" && target.Scheme != "https" {
		return *failed(model.ReasonEntryInvalid, "the URL cannot be used: it must begin with http:// or https:// and name a host")
	}
	g := newGuard(r, target)
	defer g.base.CloseIdleConnections()
	client := &http.Client{Transport: g, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}

	sse := r.target.Transport == model.TransportSSE
	linkCtx, stop := context.WithCancel(ctx)
	defer stop()
	c, v := r.connectHTTP(linkCtx, g, client, sse)
	if v != nil {
		if ctx.Err() != nil {
			v = (&link{run: r, ctx: ctx}).why(ctx, nil)
		}
		return *v
	}
	l := newLink(linkCtx, r, c)
	defer func() {
		r.settle()
		r.rec.event(Event{Kind: EventStopping})
		c.conn.Close() // ends the session with DELETE
		stop()
		l.wait.Wait()
	}()
	// Over HTTP each request has its own answer: the probe is not put aside. SSE knows no modern era.
	h := newHandshake(l, 0)
	agreed, v := h.connect(ctx, sse)
	if v == nil {
		v = r.list(ctx, l, agreed)
	}
	return *v
}

func (r *run) connectHTTP(ctx context.Context, g *guard, client *http.Client, sse bool) (*httpCarrier, *verdict) {
	c := &httpCarrier{run: r, guard: g}
	var err error
	if !sse {
		t := &mcp.StreamableClientTransport{Endpoint: r.target.URL, HTTPClient: client, MaxRetries: -1, DisableStandaloneSSE: true, MaxEventSize: maxAnswer}
		c.conn, err = t.Connect(ctx)
		if err != nil {
			return nil, failed(model.ReasonDown, "no connection")
		}
		return c, nil
	}
	seen := &exchange{}
	t := &mcp.SSEClientTransport{Endpoint: r.target.URL, HTTPClient: client, MaxEventSize: maxAnswer}
	r.rec.add(Sent, "GET", "the event stream")
	c.conn, err = t.Connect(context.WithValue(ctx, exchangeKey{}, seen))
	if err != nil {
		if v := g.judge(seen, err); v != nil {
			return nil, v
		}
		return nil, failed(model.ReasonNotMCP, "it offers no event stream to begin with")
	}
	return c, nil
}

// httpCarrier lets the SDK's connection do the requests, so that its headers are right, and judges what came back.
type httpCarrier struct {
	run    *run
	guard  *guard
	conn   mcp.Connection
	writes sync.RWMutex // read-locked while a request is under way and not judged
}

func (c *httpCarrier) negotiated(version string) {
	c.guard.mu.Lock()
	c.guard.version = version
	c.guard.mu.Unlock()
}

func (c *httpCarrier) read(ctx context.Context) (frame, error) {
	for {
		m, err := c.conn.Read(ctx)
		if err != nil {
			c.awaitWrites()
			if v := c.guard.fault(); v != nil {
				return frame{}, &faultError{v}
			}
			if ctx.Err() == nil && !errors.Is(err, io.EOF) {
				return frame{}, &faultError{failed(model.ReasonNotMCP, "its answer is no MCP message")}
			}
			return frame{}, err
		}
		if f, ok := messageFrame(m); ok {
			if v := c.guard.fault(); v != nil && f.isAnswer() && f.err != nil {
				return frame{}, &faultError{v} // the SDK's word for a stream that broke off
			}
			return f, nil
		}
	}
}

// awaitWrites gives the request that broke the connection the time to be judged: it knows why.
func (c *httpCarrier) awaitWrites() {
	done := make(chan struct{})
	go func() {
		defer close(done)
		c.writes.Lock()
		defer c.writes.Unlock()
	}()
	timer := time.NewTimer(c.run.opts.Grace)
	defer timer.Stop()
	select {
	case <-done:
	case <-timer.C:
	}
}

func (c *httpCarrier) write(ctx context.Context, m outgoing) error {
	c.writes.RLock()
	defer c.writes.RUnlock()
	message, err := m.message()
	if err != nil {
		return err
	}
	seen := &exchange{}
	err = c.conn.Write(context.WithValue(ctx, exchangeKey{}, seen), message)
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if v := c.guard.fault(); v != nil {
		return &faultError{v}
	}
	// What a 4xx says to the probe decides the era; anything else that fails ends the listing.
	if seen.err == nil && seen.status >= 400 && seen.status != http.StatusUnauthorized && seen.status != http.StatusForbidden {
		probe := m.Method == methodDiscover
		if e := seen.rpcError(); e != nil && (probe || m.ID != nil && seen.namesRequest()) {
			return e
		}
		if probe && seen.status < 500 {
			return &jsonrpc.Error{Code: codeMethodNotFound, Message: "HTTP " + strconv.Itoa(seen.status)}
		}
	}
	if v := c.guard.judge(seen, err); v != nil {
		c.guard.breakOff(v)
		return &faultError{v}
	}
	return err
}

// exchange is what the guard saw of one request.
type exchange struct {
	err         error
	status      int
	contentType string
	challenges  []string
	location    string
	body        []byte // of an error
	authorized  bool   // an Authorization header went out
}

type exchangeKey struct{}

// rpcError returns the JSON-RPC error in the body of an answer that is an HTTP error.
func (e *exchange) rpcError() *jsonrpc.Error {
	var w struct {
		Version string          `json:"jsonrpc"`
		Error   json.RawMessage `json:"error"`
	}
	if json.Unmarshal(e.body, &w) != nil || w.Version != "2.0" || len(w.Error) == 0 || string(w.Error) == "null" {
		return nil
	}
	return decodeError(w.Error)
}

// namesRequest tells whether the body says which request it answers; the SDK gives the connection up where it does not.
func (e *exchange) namesRequest() bool {
	var w struct {
		ID json.RawMessage `json:"id"`
	}
	return json.Unmarshal(e.body, &w) == nil && len(w.ID) > 0 && string(w.ID) != "null"
}

// guard is the one place where requests leave: it adds the headers, keeps them at the configured host, bounds every
// answer and remembers what was seen.
type guard struct {
	run    *run
	target *url.URL
	base   *http.Transport

	mu      sync.Mutex
	version string // for the header of the older era, which the SDK sets only by itself
	broken  *verdict
}

func newGuard(r *run, target *url.URL) *guard {
	base := http.DefaultTransport.(*http.Transport).Clone()
	base.Proxy = r.opts.Proxy
	return &guard{run: r, target: target, base: base}
}

// fault is what ended the conversation from this side; nil when nothing did.
func (g *guard) fault() *verdict {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.broken
}

func (g *guard) breakOff(v *verdict) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.broken == nil {
		g.broken = v
	}
}

var errRefused = errors.New("request refused")

// keptHeaders belong to the transport; an entry cannot set them.
var keptHeaders = map[string]bool{"Content-Length": true, "Transfer-Encoding": true, "Connection": true, "Content-Type": true,
	"Accept": true, "Accept-Encoding": true, "Mcp-Session-Id": true, "Mcp-Protocol-Version": true, "Mcp-Method": true, "Last-Event-Id": true}

// RoundTrip sends one request.
func (g *guard) RoundTrip(req *http.Request) (*http.Response, error) {
	seen, _ := req.Context().Value(exchangeKey{}).(*exchange)
	if seen == nil {
		seen = &exchange{}
	}
	if req.URL.Scheme != g.target.Scheme || !strings.EqualFold(req.URL.Host, g.target.Host) {
		if req.Body != nil {
			req.Body.Close()
		}
		g.breakOff(failed(model.ReasonNotMCP, "it sends the client to another host, %s; this is not followed", req.URL.Host))
		seen.err = errRefused
		return nil, errRefused
	}
	ctx := req.Context()
	release := func() {}
	if req.Method == http.MethodDelete {
		// The end of a session is a courtesy: it gets one grace.
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, g.run.opts.Grace)
		release = cancel
		g.run.rec.add(Sent, "DELETE", "the session")
	}
	req = req.Clone(ctx)
	g.setHeaders(req)
	seen.authorized = req.Header.Get("Authorization") != "" || req.URL.User != nil

	resp, err := g.base.RoundTrip(req)
	if err != nil {
		release()
		seen.err = err
		return nil, err
	}
	seen.status = resp.StatusCode
	seen.contentType = resp.Header.Get("Content-Type")
	seen.challenges = resp.Header.Values("Www-Authenticate")
	seen.location = resp.Header.Get("Location")
	if resp.StatusCode >= 400 {
		seen.body, _ = io.ReadAll(io.LimitReader(resp.Body, maxErrorBody))
		resp.Body.Close()
		resp.Body = io.NopCloser(bytes.NewReader(seen.body))
	}
	limit := int64(maxAnswer)
	if req.Method == http.MethodGet {
		limit = -1 // one stream for all answers: the SDK bounds each event
	}
	resp.Body = &boundedBody{ReadCloser: resp.Body, guard: g, left: limit, release: release}
	if kind, _, _ := strings.Cut(seen.contentType, ";"); req.Method == http.MethodPost && resp.StatusCode == http.StatusOK && strings.TrimSpace(kind) == "application/json" {
		g.openJSON(seen, resp)
	}
	return resp, nil
}

// openJSON looks for an error that names no request. Some servers send it with 200, and the SDK would give the connection
// up; as the 400 that it should have been it is an answer.
func (g *guard) openJSON(seen *exchange, resp *http.Response) {
	body, err := io.ReadAll(resp.Body)
	resp.Body.Close()
	if err != nil {
		resp.Body = io.NopCloser(io.MultiReader(bytes.NewReader(body), brokenReader{err}))
		return
	}
	resp.Body = io.NopCloser(bytes.NewReader(body))
	if len(body) > maxErrorBody {
		return
	}
	if seen.body = body; !seen.namesRequest() && seen.rpcError() != nil {
		seen.status, resp.StatusCode = http.StatusBadRequest, http.StatusBadRequest
	}
}

// brokenReader gives back an error that was met before.
type brokenReader struct{ err error }

// Read returns the error.
func (r brokenReader) Read([]byte) (int, error) { return 0, r.err }

func (g *guard) setHeaders(req *http.Request) {
	for _, h := range g.run.target.Headers {
		name := http.CanonicalHeaderKey(h.Name)
		switch {
		case name == "Host":
			req.Host = h.Value
		case keptHeaders[name] && req.Header.Get(name) != "", keptHeaders[name] && strings.HasPrefix(name, "Mcp-"):
		default:
			req.Header[name] = []string{h.Value}
		}
	}
	if req.Header.Get("User-Agent") == "" {
		req.Header.Set("User-Agent", "fusebox/"+g.run.opts.Version)
	}
	g.mu.Lock()
	version := g.version
	g.mu.Unlock()
	if version != "" && req.Header.Get("Mcp-Protocol-Version") == "" {
		req.Header.Set("Mcp-Protocol-Version", version)
	}
}

// boundedBody ends the conversation when an answer is too long.
type boundedBody struct {
	io.ReadCloser
	guard   *guard
	left    int64 // negative: no limit
	release func()
}

// Read returns an error in the place of the first byte that is too many.
func (b *boundedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if b.left >= 0 {
		if int64(n) > b.left {
			b.guard.breakOff(failed(model.ReasonNotMCP, "an answer is larger than 4 MB"))
			b.left = 0
			return 0, errors.New("answer too large")
		}
		b.left -= int64(n)
	}
	return n, err
}

// Close closes the body.
func (b *boundedBody) Close() error {
	err := b.ReadCloser.Close()
	b.release()
	return err
}

// judge says what a request that failed means; nil when it means nothing by itself.
func (g *guard) judge(seen *exchange, err error) *verdict {
	if v := g.fault(); v != nil {
		return v
	}
	if seen.err != nil {
		return judgeNetwork(seen.err, g.target.Host)
	}
	switch s := seen.status; {
	case s == 0:
		return nil
	case s == http.StatusUnauthorized || s == http.StatusForbidden:
		return judgeSignIn(seen)
	case s >= 300 && s < 400:
		v := failed(model.ReasonHTTPStatus, "it redirects to %s (HTTP %d); this is not followed, the headers are meant for %s", redirectHost(seen.location, g.target), s, g.target.Host)
		v.word = strconv.Itoa(s)
		return v
	case s >= 400:
		text := fmt.Sprintf("HTTP %d %s", s, http.StatusText(s))
		if e := seen.rpcError(); e != nil && e.Message != "" {
			text += ": " + describe(e)
		}
		v := failed(model.ReasonHTTPStatus, "%s", text)
		v.word = strconv.Itoa(s)
		return v
	case s == http.StatusAccepted || s == http.StatusNoContent:
		return failed(model.ReasonNotMCP, "it takes a request without answering it (HTTP %d)", s)
	default:
		kind, _, _ := strings.Cut(seen.contentType, ";")
		if kind == "" {
			kind = "nothing that has a type"
		}
		return failed(model.ReasonNotMCP, "it answers with %s, not with MCP", kind)
	}
}

func redirectHost(location string, from *url.URL) string {
	to, err := from.Parse(location)
	if err != nil || to.Host == "" {
		return "nowhere"
	}
	if to.Host == from.Host {
		return to.Scheme + "://" + to.Host + " (another path)"
	}
	return to.Scheme + "://" + to.Host
}

// judgeNetwork never quotes a URL: it may hold a secret.
func judgeNetwork(err error, host string) *verdict {
	var dns *net.DNSError
	var unknownCA x509.UnknownAuthorityError
	var name x509.HostnameError
	var invalid x509.CertificateInvalidError
	var verification *tls.CertificateVerificationError
	var record tls.RecordHeaderError
	var alert tls.AlertError
	switch {
	case connectionRefused(err):
		return failed(model.ReasonConnectionRefused, "connection refused by %s", host)
	case errors.As(err, &dns):
		return failed(model.ReasonHostNotFound, "host not found: %s", host)
	case errors.As(err, &record):
		return failed(model.ReasonTLS, "%s does not speak TLS here", host)
	case errors.As(err, &unknownCA):
		return failed(model.ReasonTLS, "the certificate of %s is signed by an unknown authority", host)
	case errors.As(err, &name):
		return failed(model.ReasonTLS, "the certificate is not for %s", host)
	case errors.As(err, &invalid):
		return failed(model.ReasonTLS, "the certificate of %s is not valid: %s", host, invalid.Error())
	case errors.As(err, &verification):
		return failed(model.ReasonTLS, "the certificate of %s cannot be verified", host)
	case errors.As(err, &alert):
		return failed(model.ReasonTLS, "%s refuses TLS: %s", host, alert.Error())
	case strings.Contains(err.Error(), "server gave HTTP response to HTTPS client"):
		return failed(model.ReasonTLS, "%s does not speak TLS here", host)
	case strings.Contains(err.Error(), "invalid header field"):
		return failed(model.ReasonEntryInvalid, "a configured header cannot be sent")
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return failed(model.ReasonDown, "%s closed the connection without an answer", host)
	}
	var op *net.OpError
	if errors.As(err, &op) && op.Err != nil {
		return failed(model.ReasonDown, "no connection to %s: %v", host, op.Err)
	}
	return failed(model.ReasonDown, "no connection to %s", host)
}

// judgeSignIn reads what the server says about the sign-in that it wants.
func judgeSignIn(seen *exchange) *verdict {
	v := &verdict{outcome: model.OutcomeUnauthenticated, code: model.ReasonNeedsLogin}
	text := "needs a sign-in"
	if seen.authorized {
		v.code = model.ReasonTokenMissing
		text = "refuses the token that the configuration sends"
	}
	v.text = fmt.Sprintf("HTTP %d: the server %s", seen.status, text)
	challenges, _ := oauthex.ParseWWWAuthenticate(seen.challenges)
	if len(challenges) == 0 {
		return v
	}
	c := challenges[0]
	for _, other := range challenges {
		if other.Scheme == "bearer" {
			c = other // the one that MCP defines
		}
	}
	v.challenge = &Challenge{Scheme: c.Scheme, Realm: c.Params["realm"], Scope: c.Params["scope"],
		ResourceMetadata: plainURL(c.Params["resource_metadata"]), Error: c.Params["error"]}
	said := []string{c.Scheme}
	for _, part := range []struct{ name, value string }{{"realm", v.challenge.Realm}, {"scope", v.challenge.Scope},
		{"error", v.challenge.Error}, {"resource_metadata", v.challenge.ResourceMetadata}} {
		if part.value != "" {
			said = append(said, part.name+` "`+part.value+`"`)
		}
	}
	v.text += " (" + strings.Join(said, ", ") + ")"
	return v
}

// plainURL drops user, query and fragment.
func plainURL(raw string) string {
	u, err := url.Parse(raw)
	if err != nil || u.Host == "" {
		return ""
	}
	u.User, u.RawQuery, u.Fragment = nil, "", ""
	return u.String()
}
