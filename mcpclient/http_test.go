package mcpclient

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"fusebox/model"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// web is a scripted HTTP server that logs what it was sent.
type web struct {
	mu       sync.Mutex
	requests []*http.Request
	methods  []string
	answer   func(w http.ResponseWriter, r *http.Request, m message)
}

func (s *web) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var m message
	body, _ := io.ReadAll(r.Body)
	_ = json.Unmarshal(body, &m)
	s.mu.Lock()
	s.requests = append(s.requests, r)
	name := r.Method
	if m.Method != "" {
		name = m.Method
	}
	s.methods = append(s.methods, name)
	s.mu.Unlock()
	s.answer(w, r, m)
}

func (s *web) log() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Join(s.methods, " ")
}

func (s *web) header(i int, name string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.requests[i].Header.Get(name)
}

func sendJSON(w http.ResponseWriter, id json.RawMessage, result string) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, id, result)
}

// olderWeb answers as a server of the older era: with a session, and unsupported for what comes without one.
func olderWeb(w http.ResponseWriter, r *http.Request, m message) {
	switch {
	case r.Method == http.MethodDelete:
		w.WriteHeader(http.StatusNoContent)
	case r.Method != http.MethodPost:
		w.WriteHeader(http.StatusNotFound)
	case m.Method == "initialize":
		w.Header().Set("Mcp-Session-Id", "s1")
		sendJSON(w, m.ID, oldInit)
	case r.Header.Get("Mcp-Session-Id") != "s1":
		http.Error(w, "Bad Request: no session", http.StatusBadRequest)
	case m.ID == nil:
		w.WriteHeader(http.StatusAccepted)
	case m.Method == "tools/list":
		sendJSON(w, m.ID, twoTools)
	default:
		w.WriteHeader(http.StatusTeapot)
	}
}

func serveWeb(t *testing.T, answer func(w http.ResponseWriter, r *http.Request, m message)) (*web, string) {
	t.Helper()
	s := &web{answer: answer}
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	return s, server.URL
}

func reach(t *testing.T, url string, more ...Header) *Result {
	t.Helper()
	r := List(context.Background(), Target{Transport: model.TransportHTTP, URL: url, Headers: more}, quick())
	checkResult(t, r)
	return r
}

func TestOlderWebServer(t *testing.T) {
	t.Parallel()
	s, url := serveWeb(t, olderWeb)
	r := reach(t, url+"/mcp", Header{"x-team", "blue"}, Header{"Accept", "nothing"}, Header{"Mcp-Session-Id", "forged"})
	wantOK(t, r, "a b")
	if got := s.log(); got != "server/discover initialize notifications/initialized tools/list DELETE" {
		t.Errorf("asked %s", got)
	}
	if r.Observation.Protocol != "2025-06-18" || r.Spawned || r.PID != 0 {
		t.Errorf("%+v", r.Observation)
	}
	for i, want := range []string{"2026-07-28", "", "2025-06-18", "2025-06-18", "2025-06-18"} {
		if got := s.header(i, "Mcp-Protocol-Version"); got != want && i != 1 && i != 2 {
			t.Errorf("request %d: version %q, want %q", i, got, want)
		}
		if s.header(i, "X-Team") != "blue" || s.header(i, "User-Agent") != "fusebox/0" {
			t.Errorf("request %d: headers %v", i, s.requests[i].Header)
		}
	}
	if got := s.header(0, "Accept"); !strings.Contains(got, "application/json") || !strings.Contains(got, "text/event-stream") {
		t.Errorf("accept %q", got)
	}
	if got := s.header(0, "Mcp-Session-Id") + s.header(1, "Mcp-Session-Id"); got != "" {
		t.Errorf("session %q before there was one", got)
	}
	if got := s.header(3, "Mcp-Session-Id"); got != "s1" {
		t.Errorf("session %q", got)
	}
}

func TestModernWebServer(t *testing.T) {
	t.Parallel()
	s, url := serveWeb(t, func(w http.ResponseWriter, r *http.Request, m message) {
		switch {
		case m.Method == "server/discover":
			sendJSON(w, m.ID, discovery)
		case m.Method == "tools/list" && r.Header.Get("Mcp-Method") == "tools/list" && r.Header.Get("Mcp-Protocol-Version") == "2026-07-28" &&
			m.Params.Meta["io.modelcontextprotocol/protocolVersion"] == "2026-07-28":
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprintf(w, "event: message\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{}}\n\n")
			fmt.Fprintf(w, "event: message\ndata: {\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":%s}\n\n", m.ID, twoTools)
		default:
			w.WriteHeader(http.StatusTeapot)
		}
	})
	r := reach(t, url)
	wantOK(t, r, "a b")
	if got := s.log(); got != "server/discover tools/list" {
		t.Errorf("asked %s", got)
	}
	if r.Observation.Protocol != "2026-07-28" {
		t.Errorf("protocol %q", r.Observation.Protocol)
	}
}

func TestFallbackOverHTTP(t *testing.T) {
	t.Parallel()
	rpc := func(status, code int, data string) func(w http.ResponseWriter, r *http.Request, m message) {
		return func(w http.ResponseWriter, r *http.Request, m message) {
			if m.Method == "server/discover" {
				w.Header().Set("Content-Type", "application/json")
				w.WriteHeader(status)
				fmt.Fprintf(w, `{"jsonrpc":"2.0","id":null,"error":{"code":%d,"message":"no way","data":%s}}`, code, data)
				return
			}
			olderWeb(w, r, m)
		}
	}
	plain := func(status int) func(w http.ResponseWriter, r *http.Request, m message) {
		return func(w http.ResponseWriter, r *http.Request, m message) {
			if m.Method == "server/discover" {
				http.Error(w, "what?", status)
				return
			}
			olderWeb(w, r, m)
		}
	}
	for name, c := range map[string]struct {
		answer func(w http.ResponseWriter, r *http.Request, m message)
		ok     bool
		code   model.ReasonCode
		word   string
		text   string
	}{
		"400 plain":            {answer: plain(400), ok: true},
		"404":                  {answer: plain(404), ok: true},
		"405":                  {answer: plain(405), ok: true},
		"415":                  {answer: plain(415), ok: true},
		"400 of an older SDK":  {answer: rpc(400, -32000, "null"), ok: true},
		"200 with an error":    {answer: rpc(200, -32601, "null"), ok: true},
		"500":                  {answer: plain(500), code: model.ReasonHTTPStatus, word: "500", text: "HTTP 500"},
		"503":                  {answer: plain(503), code: model.ReasonHTTPStatus, word: "503", text: "Service Unavailable"},
		"400 modern version":   {answer: rpc(400, -32022, `{"supported":["2031-01-01"]}`), code: model.ReasonNotMCP, word: "not mcp", text: "2031-01-01"},
		"400 modern header":    {answer: rpc(400, -32020, "null"), code: model.ReasonNotMCP, word: "not mcp", text: "no way"},
		"400 older is spoken":  {answer: rpc(400, -32022, `{"supported":["2025-11-25"]}`), ok: true},
		"200 with the null id": {answer: rpc(200, -32601, "null"), ok: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, url := serveWeb(t, func(w http.ResponseWriter, r *http.Request, m message) {
				if name == "200 with an error" && m.Method == "server/discover" {
					w.Header().Set("Content-Type", "application/json")
					fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no"}}`, m.ID)
					return
				}
				c.answer(w, r, m)
			})
			r := reach(t, url)
			if c.ok {
				wantOK(t, r, "a b")
				return
			}
			wantError(t, r, c.code, c.word, c.text)
			if strings.Contains(s.log(), "initialize") {
				t.Errorf("asked %s", s.log())
			}
		})
	}
}

func TestRefusalsOverHTTP(t *testing.T) {
	t.Parallel()
	for _, at := range []string{"initialize", "notifications/initialized", "tools/list"} {
		for _, named := range []bool{true, false} {
			for _, status := range []int{200, 400, 500} {
				_, url := serveWeb(t, func(w http.ResponseWriter, r *http.Request, m message) {
					if m.Method != at {
						olderWeb(w, r, m)
						return
					}
					id := "null"
					if named && m.ID != nil {
						id = string(m.ID)
					}
					w.Header().Set("Content-Type", "application/json")
					w.WriteHeader(status)
					fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32000,"message":"not on a Sunday"}}`, id)
				})
				r := reach(t, url)
				if at == "notifications/initialized" && status == 200 {
					continue // nobody reads that
				}
				if o := r.Observation; o.Outcome != model.OutcomeError || !strings.Contains(o.Reason.Text, "not on a Sunday") {
					t.Errorf("%s, %d, named %v: %+v", at, status, named, o)
				}
			}
		}
	}
}

func TestUnsupportedVersionOverHTTPIsAskedAgain(t *testing.T) {
	t.Parallel()
	n := 0
	s, url := serveWeb(t, func(w http.ResponseWriter, r *http.Request, m message) {
		if n++; n == 1 {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(400)
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32022,"message":"x","data":{"supported":["2026-07-28"]}}}`, m.ID)
			return
		}
		if m.Method == "server/discover" {
			sendJSON(w, m.ID, discovery)
			return
		}
		sendJSON(w, m.ID, twoTools)
	})
	wantOK(t, reach(t, url), "a b")
	if got := s.log(); got != "server/discover server/discover tools/list" {
		t.Errorf("asked %s", got)
	}
}

func TestSignIn(t *testing.T) {
	t.Parallel()
	challenge := `Bearer realm="acme", error="invalid_token", scope="tools.read tools.write", resource_metadata="https://u:p@auth.example/.well-known/oauth-protected-resource?x=1"`
	for _, status := range []int{401, 403} {
		for _, at := range []string{"server/discover", "initialize", "tools/list"} {
			s, url := serveWeb(t, func(w http.ResponseWriter, r *http.Request, m message) {
				if m.Method == at {
					w.Header().Add("WWW-Authenticate", "Basic realm=\"old\"")
					w.Header().Add("WWW-Authenticate", challenge)
					w.WriteHeader(status)
					return
				}
				olderWeb(w, r, m)
			})
			r := reach(t, url)
			o := r.Observation
			if o.Outcome != model.OutcomeUnauthenticated || o.Reason.Code != model.ReasonNeedsLogin || o.Word != "sign in" {
				t.Errorf("%d at %s: %+v", status, at, o)
			}
			for _, want := range []string{"bearer", `realm "acme"`, `scope "tools.read tools.write"`, "auth.example/.well-known/oauth-protected-resource", fmt.Sprint(status)} {
				if !strings.Contains(o.Reason.Text, want) {
					t.Errorf("no %q in %q", want, o.Reason.Text)
				}
			}
			if c := r.Challenge; c == nil || c.Realm != "acme" || c.Error != "invalid_token" || c.ResourceMetadata != "https://auth.example/.well-known/oauth-protected-resource" {
				t.Errorf("%+v", c)
			}
			if at == "server/discover" && s.log() != "server/discover" {
				t.Errorf("asked %s", s.log())
			}
			r = reach(t, url, Header{"authorization", "Bearer wrong-token"})
			if o := r.Observation; o.Outcome != model.OutcomeUnauthenticated || o.Reason.Code != model.ReasonTokenMissing || o.Word != "token" {
				t.Errorf("%+v", o)
			}
		}
	}
	_, url := serveWeb(t, func(w http.ResponseWriter, r *http.Request, m message) { w.WriteHeader(401) })
	if r := reach(t, url); r.Observation.Outcome != model.OutcomeUnauthenticated || r.Challenge != nil {
		t.Errorf("%+v", r)
	}
}

func TestRedirectIsReportedAndHeadersStayHome(t *testing.T) {
	t.Parallel()
	other, otherURL := serveWeb(t, olderWeb)
	for _, status := range []int{301, 302, 307, 308} {
		_, url := serveWeb(t, func(w http.ResponseWriter, r *http.Request, m message) {
			http.Redirect(w, r, otherURL+"/mcp?token=abcdefgh", status)
		})
		r := reach(t, url, Header{"Authorization", "Bearer headersecret"})
		wantError(t, r, model.ReasonHTTPStatus, fmt.Sprint(status), "redirects to "+otherURL, "not followed")
		if strings.Contains(everything(r), "abcdefgh") {
			t.Error("the query shows")
		}
	}
	if other.log() != "" {
		t.Errorf("the other host was asked %s", other.log())
	}
}

func TestNetworkFailures(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed := listener.Addr().String()
	listener.Close()
	secure := httptest.NewTLSServer(http.NotFoundHandler())
	t.Cleanup(secure.Close)
	secure.Config.ErrorLog = nil
	_, plain := serveWeb(t, olderWeb)
	hangUp, hangUpURL := serveWeb(t, func(w http.ResponseWriter, r *http.Request, m message) {
		conn, _, _ := w.(http.Hijacker).Hijack()
		conn.Close()
	})
	_ = hangUp
	for _, c := range []struct {
		url  string
		code model.ReasonCode
		word string
	}{
		{"http://" + closed + "/mcp?key=querysecret", model.ReasonConnectionRefused, "refused"},
		{"http://no-such-host.invalid/mcp?key=querysecret", model.ReasonHostNotFound, "no host"},
		{secure.URL + "?key=querysecret", model.ReasonTLS, "tls"},
		{strings.Replace(plain, "http:", "https:", 1) + "?key=querysecret", model.ReasonTLS, "tls"},
		{hangUpURL + "?key=querysecret", model.ReasonDown, "down"},
		{"ftp://x.example/querysecret", model.ReasonEntryInvalid, "invalid"},
		{"${HOST}/querysecret", model.ReasonEntryInvalid, "invalid"},
	} {
		r := reach(t, c.url)
		wantError(t, r, c.code, c.word)
		if strings.Contains(everything(r), "querysecret") {
			t.Errorf("%s: %s", c.url, everything(r))
		}
	}
	r := reach(t, plain, Header{"X-Bad", "a\nsecretvalue"})
	wantError(t, r, model.ReasonEntryInvalid, "invalid")
	if strings.Contains(everything(r), "secretvalue") {
		t.Error(everything(r))
	}
}

func TestNotMCPOverHTTP(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ kind, body, text string }{
		"page":  {"text/html; charset=utf-8", "<html>", "text/html"},
		"json":  {"application/json", `{"hello":"world"}`, "no MCP message"},
		"half":  {"application/json", `{"jsonrpc":`, "no MCP message"},
		"empty": {"", "", "not"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, url := serveWeb(t, func(w http.ResponseWriter, r *http.Request, m message) {
				w.Header()["Content-Type"] = []string{c.kind}
				io.WriteString(w, c.body)
			})
			wantError(t, reach(t, url), model.ReasonNotMCP, "not mcp", c.text)
		})
	}
	_, url := serveWeb(t, func(w http.ResponseWriter, r *http.Request, m message) { w.WriteHeader(202) })
	wantError(t, reach(t, url), model.ReasonNotMCP, "not mcp", "without answering")
	// A stream that ends without the answer.
	_, url = serveWeb(t, func(w http.ResponseWriter, r *http.Request, m message) {
		if m.Method == "tools/list" {
			w.Header().Set("Content-Type", "text/event-stream")
			return
		}
		olderWeb(w, r, m)
	})
	wantError(t, reach(t, url), model.ReasonNotMCP, "not mcp", "tools/list")
}

func TestAnswerOverFourMegabytes(t *testing.T) {
	t.Parallel()
	big := strings.Repeat("x", 5<<20)
	for _, how := range []string{"json", "stream", "many events", "gzip"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			_, url := serveWeb(t, func(w http.ResponseWriter, r *http.Request, m message) {
				if m.Method != "tools/list" {
					olderWeb(w, r, m)
					return
				}
				body := fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"tools":[{"name":"a","description":"%s"}]}}`, m.ID, big)
				switch how {
				case "json":
					w.Header().Set("Content-Type", "application/json")
					io.WriteString(w, body)
				case "gzip":
					w.Header().Set("Content-Type", "application/json")
					w.Header().Set("Content-Encoding", "gzip")
					z := gzip.NewWriter(w)
					io.WriteString(z, body)
					z.Close()
				case "stream":
					w.Header().Set("Content-Type", "text/event-stream")
					fmt.Fprintf(w, "data: %s\n\n", body)
				case "many events":
					w.Header().Set("Content-Type", "text/event-stream")
					note := "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{\"d\":\"" + big[:1<<16] + "\"}}\n\n"
					for range 100 {
						if _, err := io.WriteString(w, note); err != nil {
							return
						}
					}
				}
			})
			wantError(t, reach(t, url), model.ReasonNotMCP, "not mcp", "larger than 4 MB")
		})
	}
}

func TestOneDeadlineForTheWholeListing(t *testing.T) {
	t.Parallel()
	s, url := serveWeb(t, func(w http.ResponseWriter, r *http.Request, m message) {
		if m.Method == "tools/list" {
			n := 0
			if m.Params.Cursor != nil {
				n = len(*m.Params.Cursor)
			}
			time.Sleep(150 * time.Millisecond)
			sendJSON(w, m.ID, fmt.Sprintf(`{"tools":[{"name":"t%d","inputSchema":{}}],"nextCursor":"%s"}`, n, strings.Repeat("x", n+1)))
			return
		}
		olderWeb(w, r, m)
	})
	o := quick()
	o.Timeout = 700 * time.Millisecond
	r := List(context.Background(), Target{Transport: model.TransportHTTP, URL: url}, o)
	wantError(t, r, model.ReasonTimeout, "timeout", "tools/list")
	if len(r.Tools) == 0 || len(r.Tools) > 5 || !strings.HasSuffix(s.log(), "DELETE") {
		t.Errorf("%d tools, asked %s", len(r.Tools), s.log())
	}
}

func TestSilentWebServer(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	_, url := serveWeb(t, func(w http.ResponseWriter, r *http.Request, m message) {
		if r.Method == http.MethodDelete || m.Method == "tools/list" {
			<-release
			return
		}
		olderWeb(w, r, m)
	})
	t.Cleanup(func() { close(release) })
	o := quick()
	o.Timeout = 600 * time.Millisecond
	began := time.Now()
	r := List(context.Background(), Target{Transport: model.TransportHTTP, URL: url}, o)
	wantError(t, r, model.ReasonTimeout, "timeout", "tools/list")
	if d := time.Since(began); d > 4*time.Second {
		t.Errorf("the DELETE was awaited: %v", d)
	}
	ctx, cancel := context.WithCancel(context.Background())
	time.AfterFunc(200*time.Millisecond, cancel)
	if r := List(ctx, Target{Transport: model.TransportHTTP, URL: url}, quick()); r.Observation.Outcome != model.OutcomeUnknown {
		t.Errorf("%+v", r.Observation)
	}
}

func TestRequestsOfAWebServer(t *testing.T) {
	t.Parallel()
	for _, n := range []int{3, 101} {
		var mu sync.Mutex
		pings, refusals := 0, 0
		_, url := serveWeb(t, func(w http.ResponseWriter, r *http.Request, m message) {
			switch {
			case m.Method == "" && r.Method == http.MethodPost:
				mu.Lock()
				if m.Error != nil && m.Error.Code == -32601 {
					refusals++
				} else if string(m.Result) == "{}" {
					pings++
				}
				mu.Unlock()
				w.WriteHeader(http.StatusAccepted)
			case m.Method == "tools/list":
				w.Header().Set("Content-Type", "text/event-stream")
				for i := range n {
					fmt.Fprintf(w, "data: {\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"%s\"}\n\n", 500+i, []string{"ping", "roots/list"}[i%2])
				}
				w.(http.Flusher).Flush()
				for deadline := time.Now().Add(5 * time.Second); n == 3 && time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
					mu.Lock()
					done := pings == 2 && refusals == 1
					mu.Unlock()
					if done {
						break
					}
				}
				fmt.Fprintf(w, "data: {\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":%s}\n\n", m.ID, twoTools)
			default:
				olderWeb(w, r, m)
			}
		})
		r := reach(t, url)
		if n > maxRequests {
			wantError(t, r, model.ReasonNotMCP, "not mcp", "too many requests")
			continue
		}
		wantOK(t, r, "a b")
		if pings != 2 || refusals != 1 {
			t.Errorf("%d pings, %d refusals", pings, refusals)
		}
	}
}

// TestSecretsOverHTTP lets the server echo everything it was sent.
func TestSecretsOverHTTP(t *testing.T) {
	t.Parallel()
	secrets := []string{"headersecret-CANARY", "querysecretCANARY", "PathSecret123CANARY", "expandedCANARY99"}
	echo := func(r *http.Request) string {
		return strings.Join([]string{r.Header.Get("Authorization"), r.Header.Get("X-Key"), r.URL.String(), secrets[3]}, " ")
	}
	for _, at := range []string{"server/discover", "initialize", "tools/list", "401", "redirect", "none"} {
		_, url := serveWeb(t, func(w http.ResponseWriter, r *http.Request, m message) {
			text := quote(echo(r))
			switch {
			case at == "401":
				w.Header().Set("WWW-Authenticate", `Bearer realm=`+text+`, scope=`+text+`, resource_metadata="https://a.example/`+secrets[0]+`"`)
				w.WriteHeader(401)
			case at == "redirect":
				w.Header().Set("Location", "https://"+secrets[0]+".example/"+secrets[1])
				w.WriteHeader(302)
			case m.Method == at:
				w.Header().Set("Content-Type", "application/json")
				w.WriteHeader(422)
				fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32022,"message":%s,"data":{"supported":[%s]}}}`, m.ID, text, text)
			case m.Method == "tools/list":
				sendJSON(w, m.ID, `{"tools":[{"name":`+text+`,"description":`+text+`,"inputSchema":{"default":`+text+`}}]}`)
			default:
				olderWeb(w, r, m)
			}
		})
		r := List(context.Background(), Target{
			Transport: model.TransportHTTP, URL: url + "/mcp/" + secrets[2] + "?key=" + secrets[1],
			Headers: []Header{{"Authorization", "Bearer " + secrets[0]}, {"X-Key", secrets[0]}},
			Secrets: []model.Variable{{Name: "VALUE", Value: model.NewSecret(secrets[3])}},
		}, quick())
		checkResult(t, r)
		if strings.Contains(everything(r), "CANARY") {
			t.Errorf("%s: %s", at, everything(r))
		}
		if at != "none" && r.Observation.Outcome == model.OutcomeOK {
			t.Errorf("%s: %+v", at, r.Observation)
		}
	}
}

func TestSSE(t *testing.T) {
	t.Parallel()
	server := mcp.NewServer(&mcp.Implementation{Name: "sse", Version: "1"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "hello"}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
		return nil, nil, nil
	})
	var mu sync.Mutex
	authorized := true
	handler := mcp.NewSSEHandler(func(*http.Request) *mcp.Server { return server }, nil)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		authorized = authorized && r.Header.Get("Authorization") == "Bearer t"
		mu.Unlock()
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(s.Close)
	reachSSE := func(url string) *Result {
		o := quick()
		o.Timeout = 2 * time.Second
		r := List(context.Background(), Target{Transport: model.TransportSSE, URL: url, Headers: []Header{{"Authorization", "Bearer t"}}}, o)
		checkResult(t, r)
		return r
	}
	r := reachSSE(s.URL)
	wantOK(t, r, "hello")
	if !authorized || r.Server != "sse 1" {
		t.Errorf("authorized %v, %q", authorized, r.Server)
	}
	status := func(code int) string {
		_, url := serveWeb(t, func(w http.ResponseWriter, r *http.Request, m message) { w.WriteHeader(code) })
		return url
	}
	if o := reachSSE(status(401)).Observation; o.Outcome != model.OutcomeUnauthenticated {
		t.Errorf("%+v", o)
	}
	wantError(t, reachSSE(status(500)), model.ReasonHTTPStatus, "500")
	wantError(t, reachSSE(status(302)), model.ReasonHTTPStatus, "302")
	_, page := serveWeb(t, func(w http.ResponseWriter, r *http.Request, m message) { io.WriteString(w, "<html>") })
	wantError(t, reachSSE(page), model.ReasonNotMCP, "not mcp")

	// A stream that sends the client, and its headers, somewhere else.
	other, otherURL := serveWeb(t, olderWeb)
	_, url := serveWeb(t, func(w http.ResponseWriter, r *http.Request, m message) {
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprintf(w, "event: endpoint\ndata: %s/messages\n\n", otherURL)
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	})
	wantError(t, reachSSE(url), model.ReasonNotMCP, "not mcp", "another host")
	if other.log() != "" {
		t.Errorf("the other host was asked %s", other.log())
	}
	// A stream that says nothing.
	_, url = serveWeb(t, func(w http.ResponseWriter, r *http.Request, m message) {
		w.Header().Set("Content-Type", "text/event-stream")
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	})
	wantError(t, reachSSE(url), model.ReasonTimeout, "timeout")
}

func TestHTTPStopsWithTheRegistry(t *testing.T) {
	t.Parallel()
	reg := NewRegistry()
	asked := make(chan struct{}, 10)
	_, url := serveWeb(t, func(w http.ResponseWriter, r *http.Request, m message) {
		asked <- struct{}{}
		<-r.Context().Done()
	})
	done := make(chan *Result)
	go func() {
		o := quick()
		o.Timeout, o.Registry = time.Minute, reg
		done <- List(context.Background(), Target{Transport: model.TransportHTTP, URL: url}, o)
	}()
	<-asked
	reg.Shutdown()
	if r := <-done; r.Observation.Outcome != model.OutcomeUnknown {
		t.Errorf("%+v", r.Observation)
	}
}

func TestHeadersGoOutAsConfigured(t *testing.T) {
	t.Parallel()
	var got bytes.Buffer
	s, url := serveWeb(t, func(w http.ResponseWriter, r *http.Request, m message) {
		fmt.Fprintln(&got, r.Host)
		olderWeb(w, r, m)
	})
	wantOK(t, reach(t, url, Header{"Host", "virtual.example"}, Header{"user-agent", "mine"}, Header{"Content-Type", "text/plain"}), "a b")
	if s.header(0, "User-Agent") != "mine" || s.header(0, "Content-Type") != "application/json" || !strings.HasPrefix(got.String(), "virtual.example") {
		t.Errorf("%v, %s", s.requests[0].Header, got.String())
	}
}
