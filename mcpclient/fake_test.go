package mcpclient

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// fakeVariable names the script that the test binary plays instead of running tests.
const fakeVariable = "MCPCLIENT_FAKE_SERVER"

type message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		Cursor *string        `json:"cursor"`
		Meta   map[string]any `json:"_meta"`
	} `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  *struct {
		Code int `json:"code"`
	} `json:"error"`
}

// fake is a scripted server. Unset hooks mean an old, well-behaved server with two tools.
type fake struct {
	out   *bufio.Writer
	lines chan []byte

	start      func()
	discover   func(m message)
	initialize func(m message)
	tools      func(m message)
	other      func(m message) // answers to our own requests, notifications
	atEOF      func()
}

func (f *fake) line(s string) { f.out.WriteString(s + "\n"); f.out.Flush() }

func (f *fake) answer(id json.RawMessage, result string) {
	f.line(`{"jsonrpc":"2.0","id":` + string(id) + `,"result":` + result + `}`)
}

func (f *fake) refuse(id json.RawMessage, code int, text string) {
	f.line(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":%q}}`, id, code, text))
}

const (
	oldInit   = `{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"fake","version":"1"}}`
	twoTools  = `{"tools":[{"name":"a","description":"d","inputSchema":{"type":"object"}},{"name":"b","inputSchema":{"type":"object"}}]}`
	discovery = `{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"fake","version":"2"}}}`
)

func (f *fake) serve() {
	if f.start != nil {
		f.start()
	}
	f.lines = make(chan []byte)
	go func() {
		in := bufio.NewReaderSize(os.Stdin, 1<<20)
		for {
			data, err := in.ReadBytes('\n')
			if err != nil {
				close(f.lines)
				return
			}
			f.lines <- data
		}
	}()
	for {
		data, ok := <-f.lines
		if !ok {
			if f.atEOF != nil {
				f.atEOF()
			}
			return
		}
		var m message
		if json.Unmarshal(data, &m) != nil {
			os.Exit(70)
		}
		hook := f.other
		switch m.Method {
		case "server/discover":
			hook = f.discover
			if hook == nil {
				hook = func(m message) { f.refuse(m.ID, -32601, "method not found") }
			}
		case "initialize":
			hook = f.initialize
			if hook == nil {
				hook = func(m message) { f.answer(m.ID, oldInit) }
			}
		case "tools/list":
			hook = f.tools
			if hook == nil {
				hook = func(m message) { f.answer(m.ID, twoTools) }
			}
		}
		if hook != nil {
			hook(m)
		}
	}
}

func pause(ms int) { time.Sleep(time.Duration(ms) * time.Millisecond) }

// playFake is the main function of the fake server.
func playFake(script string) {
	f := &fake{out: bufio.NewWriterSize(os.Stdout, 1<<16)}
	argument := ""
	script, argument, _ = strings.Cut(script, ":")
	number, _ := strconv.Atoi(argument)
	initWith := func(capabilities string) {
		f.initialize = func(m message) {
			f.answer(m.ID, `{"protocolVersion":"2025-06-18","capabilities":`+capabilities+`,"serverInfo":{"name":"fake","version":"1"}}`)
		}
	}
	toolsAre := func(result string) { f.tools = func(m message) { f.answer(m.ID, result) } }
	modern := func() {
		f.discover = func(m message) { f.answer(m.ID, discovery) }
		f.initialize = func(m message) { f.refuse(m.ID, -32601, "no handshake here") }
	}
	switch script {
	case "old":
	case "modern":
		modern()
		f.tools = func(m message) {
			if m.Params.Meta["io.modelcontextprotocol/protocolVersion"] != "2026-07-28" {
				f.refuse(m.ID, -32602, "no version in _meta")
				return
			}
			f.answer(m.ID, twoTools)
		}
	case "banner":
		f.start = func() { f.line("Demo Server 1.0"); f.line(""); f.line("[db] connected") }
	case "chatter":
		noise := func() {
			f.line("[Breadcrumb] {")
			f.line("42")
			f.line(`{"level":"info","id":1}`)
			f.line(`{"jsonrpc":"2.0","id":1}`)
		}
		f.discover = func(m message) { noise(); f.refuse(m.ID, -32601, "no") }
		f.initialize = func(m message) { noise(); f.answer(m.ID, oldInit) }
	case "batch":
		f.tools = func(m message) {
			f.line(`[{"jsonrpc":"2.0","method":"notifications/message"},{"jsonrpc":"2.0","id":` + string(m.ID) + `,"result":` + twoTools + `}]`)
		}
	case "silent-probe":
		f.discover = func(m message) {}
	case "late-answer": // modern, answers the probe late, refuses initialize
		modern()
		f.discover = func(m message) { pause(number); f.answer(m.ID, discovery) }
	case "late-answer-silent": // the same, and says nothing to initialize
		modern()
		f.discover = func(m message) { pause(number); f.answer(m.ID, discovery) }
		f.initialize = func(m message) {}
	case "late-answer-after-refusal": // refuses initialize before it answers the probe
		modern()
		var kept message
		f.discover = func(m message) { kept = m }
		f.initialize = func(m message) { f.refuse(m.ID, -32601, "no"); pause(number); f.answer(kept.ID, discovery) }
	case "slow":
		f.start = func() { pause(number) }
	case "exit":
		os.Stderr.WriteString("loading\nfatal: NOTION_TOKEN is not set\n\n")
		os.Exit(number)
	case "abort":
		p, _ := os.FindProcess(os.Getpid())
		_ = p.Kill()
		pause(5000)
	case "exit-on-probe":
		f.discover = func(m message) { os.Exit(3) }
	case "exit-always":
		f.discover = func(m message) { os.Exit(3) }
		f.initialize = func(m message) { os.Exit(4) }
	case "exit-on-tools":
		f.tools = func(m message) { os.Exit(5) }
	case "close-output":
		f.start = func() { os.Stdout.Close() }
		f.discover = func(m message) {}
	case "version":
		f.initialize = func(m message) {
			f.answer(m.ID, `{"protocolVersion":"`+argument+`","capabilities":{"tools":true},"serverInfo":"none"}`)
		}
	case "unsupported": // -32022 that names these versions, once or always
		list, always := strings.TrimSuffix(argument, "!"), strings.HasSuffix(argument, "!")
		quoted, _ := json.Marshal(strings.Split(list, ","))
		asked := 0
		modern()
		f.initialize = func(m message) {
			if strings.Contains(list, "2025-11-25") && !strings.Contains(list, "2026") {
				f.answer(m.ID, oldInit)
				return
			}
			os.Stderr.WriteString("INITIALIZE WAS ASKED\n")
			f.answer(m.ID, oldInit)
		}
		f.discover = func(m message) {
			if asked++; asked > 1 && !always {
				f.answer(m.ID, discovery)
				return
			}
			f.line(`{"jsonrpc":"2.0","id":` + string(m.ID) + `,"error":{"code":-32022,"message":"unsupported","data":{"supported":` + string(quoted) + `}}}`)
		}
	case "refused-capability":
		f.discover = func(m message) { f.refuse(m.ID, -32021, "elicitation is required") }
		f.initialize = func(m message) { os.Stderr.WriteString("INITIALIZE WAS ASKED\n"); f.answer(m.ID, oldInit) }
	case "discover-error":
		f.discover = func(m message) { f.refuse(m.ID, number, "no") }
	case "discover-nonsense":
		f.discover = func(m message) { f.answer(m.ID, `{"hello":"world"}`) }
	case "text-error":
		f.initialize = func(m message) { f.line(`{"jsonrpc":"2.0","id":` + string(m.ID) + `,"error":"not today"}`) }
	case "refuses-all":
		f.initialize = func(m message) { f.refuse(m.ID, -32601, "Unsupported method: initialize") }
	case "not-mcp":
		f.line("listening on http://127.0.0.1:8766")
		pause(60000)
	case "pages":
		f.tools = func(m message) {
			switch c := m.Params.Cursor; {
			case c == nil:
				f.answer(m.ID, `{"tools":[{"name":"t1","inputSchema":{}}],"nextCursor":"p1"}`)
			case *c == "p1":
				f.answer(m.ID, `{"tools":[{"name":"t2","inputSchema":{}}],"nextCursor":""}`)
			case *c == "":
				f.answer(m.ID, `{"tools":[{"name":"t3","inputSchema":{}}],"nextCursor":null}`)
			}
		}
	case "repeated-cursor":
		n := 0
		f.tools = func(m message) {
			n++
			f.answer(m.ID, fmt.Sprintf(`{"tools":[{"name":"t%d","inputSchema":{}}],"nextCursor":"%s"}`, n, []string{"a", "b", "a"}[(n-1)%3]))
		}
	case "many-pages":
		n := 0
		f.tools = func(m message) {
			n++
			next := ""
			if n < number {
				next = fmt.Sprintf(`,"nextCursor":"%d"`, n)
			}
			f.answer(m.ID, fmt.Sprintf(`{"tools":[{"name":"t%d","inputSchema":{}}]%s}`, n, next))
		}
	case "odd-cursor":
		toolsAre(`{"tools":[{"name":"a","inputSchema":{}}],"nextCursor":7}`)
	case "bad-page":
		f.tools = func(m message) {
			if m.Params.Cursor == nil {
				f.answer(m.ID, `{"tools":[{"name":"a","inputSchema":{}}],"nextCursor":"p"}`)
				return
			}
			f.refuse(m.ID, -32602, "bad cursor")
		}
	case "endless-pages":
		n := 0
		big := strings.Repeat("x", 1<<20)
		f.tools = func(m message) {
			n++
			f.answer(m.ID, fmt.Sprintf(`{"tools":[{"name":"t%d","description":"%s","inputSchema":{}}],"nextCursor":"%d"}`, n, big, n))
		}
	case "malformed":
		toolsAre(`{"tools":[
			{"name":"good","title":"Good","description":"line one\nline two","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true,"destructiveHint":false}},
			"just text", null, {"description":"nameless"}, {"name":7},
			{"name":"no-schema"}, {"name":"null-schema","inputSchema":null}, {"name":"text-schema","inputSchema":"none"},
			{"name":"odd","description":{"en":"x"},"inputSchema":{},"annotations":{"readOnlyHint":"yes"}},
			{"name":"last","inputSchema":{}}, {"name":"last","inputSchema":{}}]}`)
		one := f.tools
		f.tools = func(m message) { // on one line
			old := f.out
			var b strings.Builder
			f.out = bufio.NewWriter(&b)
			one(m)
			f.out = old
			f.line(strings.ReplaceAll(strings.TrimSpace(b.String()), "\n\t\t\t", " "))
		}
	case "no-list":
		toolsAre(`{"result":[]}`)
	case "no-tools":
		initWith(`{"prompts":{}}`)
		f.tools = func(m message) { f.refuse(m.ID, -32601, "no") }
		f.other = func(m message) {
			if m.Method == "prompts/list" {
				f.answer(m.ID, `{"prompts":[{"name":"p"}]}`)
			}
		}
	case "sides":
		initWith(`{"tools":{},"prompts":{},"resources":{}}`)
		f.other = func(m message) {
			switch m.Method {
			case "prompts/list":
				if m.Params.Cursor == nil {
					f.answer(m.ID, `{"prompts":[{"name":"p"},{"name":"q"}],"nextCursor":"x"}`)
				} else {
					f.answer(m.ID, `{"prompts":[{"name":"r"}]}`)
				}
			case "resources/list":
				if argument == "silent" {
					return
				}
				f.refuse(m.ID, -32603, "broken inside")
			}
		}
	case "flood":
		payload := strings.Repeat("flood ", 160)
		f.start = func() {
			go func() {
				w := bufio.NewWriterSize(os.Stderr, 1<<16)
				for {
					w.WriteString(payload + "\n")
				}
			}()
			for i := 0; i < number; i++ {
				f.out.WriteString(payload + "\n")
			}
			f.out.Flush()
		}
	case "long-line":
		f.start = func() {
			f.out.WriteString(strings.Repeat("x", 5<<20))
			f.line("")
		}
	case "requests":
		f.initialize = func(m message) {
			for i := 0; i < number; i++ {
				f.line(fmt.Sprintf(`{"jsonrpc":"2.0","id":"s%d","method":"roots/list"}`, i))
			}
			f.answer(m.ID, oldInit)
		}
	case "ping-first": // answers nothing before its ping was answered and its request refused
		got := 0
		var waiting []message
		f.discover = func(m message) {
			waiting = append(waiting, m)
			f.line(`{"jsonrpc":"2.0","id":9007199254740993,"method":"ping"}`)
			f.line(`{"jsonrpc":"2.0","id":"two","method":"sampling/createMessage","params":{}}`)
		}
		f.other = func(m message) {
			switch {
			case string(m.ID) == "9007199254740993" && string(m.Result) == "{}":
				got++
			case string(m.ID) == `"two"` && m.Error != nil && m.Error.Code == -32601:
				got++
			}
			if got == 2 {
				got++
				f.refuse(waiting[0].ID, -32601, "no")
			}
		}
	case "odd-ids":
		f.tools = func(m message) {
			f.line(`{"jsonrpc":"2.0","id":true,"method":"ping"}`)
			f.line(`{"jsonrpc":"2.0","id":{"a":1},"method":"roots/list"}`)
			f.line(`{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"parse"}}`)
			f.line(`{"jsonrpc":"2.0","id":[` + string(m.ID) + `],"result":{"tools":[]}}`)
			f.line(`{"jsonrpc":"2.0","id":` + string(m.ID) + `.5,"result":{"tools":[]}}`)
			f.line(`{"jsonrpc":"2.0","id":"` + string(m.ID) + `","result":{"tools":[]}}`)
			f.line(`{"jsonrpc":"2.0","id":99999,"result":{"tools":[]}}`)
			f.answer(m.ID, twoTools)
		}
		f.other = func(m message) {
			if m.Method == "" {
				os.Stderr.WriteString("A STRAY REPLY " + string(m.ID) + "\n")
			}
		}
	case "one-at-a-time": // ends if anything comes before initialize was answered
		f.initialize = func(m message) {
			select {
			case <-f.lines:
				os.Exit(3)
			case <-time.After(200 * time.Millisecond):
			}
			f.answer(m.ID, oldInit)
		}
	case "ignores-term":
		signal.Ignore(syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
		f.atEOF = func() { pause(60000) }
	case "notes-term": // says when its input was closed, and when it was asked to end
		f.atEOF = func() {
			c := make(chan os.Signal, 1)
			signal.Notify(c, syscall.SIGTERM)
			f.line("input closed")
			os.Stderr.WriteString("last words\n")
			select {
			case <-c:
				os.Stderr.WriteString("interrupted\n")
				os.WriteFile(argument, []byte("asked to end"), 0o600)
			case <-time.After(30 * time.Second):
			}
		}
	case "grandchild": // its child holds the pipes and ignores TERM
		spawn("hold", false)
	case "grandchild-exit": // it ends at once, the child stays
		spawn("hold", false)
		os.Stderr.WriteString("gone\n")
		os.Exit(6)
	case "grandchild-serves": // it ends, the child is the server
		spawn("old", false)
		os.Exit(0)
	case "outsider": // its child leaves the group
		pid := spawn("hold", true)
		os.Stderr.WriteString("outsider " + strconv.Itoa(pid) + "\n")
	case "hold":
		signal.Ignore(syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
		pause(60000)
		os.Exit(0)
	case "echo": // shows every secret wherever a server can put text
		secret, _ := os.ReadFile(argument)
		echoSecrets(f, string(secret))
	case "environment":
		env, _ := json.Marshal(os.Environ())
		folder, _ := os.Getwd()
		here, _ := json.Marshal(folder)
		toolsAre(`{"tools":[{"name":"env","description":` + quote(string(env)) + `,"inputSchema":{}},{"name":"dir","description":` + string(here) + `,"inputSchema":{}},{"name":"args","description":` + quote(strings.Join(os.Args, "|")) + `,"inputSchema":{}}]}`)
	default:
		os.Stderr.WriteString("no such script\n")
		os.Exit(71)
	}
	f.serve()
}

func quote(s string) string {
	b, _ := json.Marshal(s)
	return string(b)
}

func echoSecrets(f *fake, secret string) {
	q := quote(secret)
	f.start = func() {
		f.line("noise " + secret)
		f.line("quoted " + quoteJSON(secret) + " " + strconv.QuoteToASCII(secret))
		fmt.Fprintf(os.Stderr, "%s%s\x1b[31m%s\x1b[0m\n", strings.Repeat("x", 70<<10), secret, secret)
		for _, part := range strings.SplitAfter(secret, "") {
			fmt.Fprint(os.Stderr, "\x1b[1m"+part)
		}
		fmt.Fprintln(os.Stderr, "\nlast "+secret)
	}
	f.initialize = func(m message) {
		f.answer(m.ID, `{"protocolVersion":"2025-06-18","capabilities":{"tools":{},"prompts":{},"resources":{}},"serverInfo":{"name":`+q+`,"version":`+q+`},"instructions":`+q+`}`)
		f.line(`{"jsonrpc":"2.0","id":"x","method":` + quote("roots/"+secret) + `,"params":{"p":` + q + `}}`)
	}
	f.tools = func(m message) {
		f.answer(m.ID, `{"tools":[{"name":`+q+`,"title":`+q+`,"description":`+quote("see "+secret+"\nand "+secret)+`,"inputSchema":{"type":"object","properties":{`+q+`:{"default":`+q+`}}}},{"name":`+q+`},{"name":"z","description":7,"inputSchema":`+q+`}]}`)
	}
	f.other = func(m message) {
		switch m.Method {
		case "prompts/list", "resources/list":
			f.line(`{"jsonrpc":"2.0","id":` + string(m.ID) + `,"error":{"code":1,"message":` + q + `}}`)
		}
	}
}

// spawn starts another script on the same pipes.
func spawn(script string, outside bool) int {
	self, _ := os.Executable()
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), fakeVariable+"="+script)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	if outside {
		leaveGroup(cmd)
	}
	if err := cmd.Start(); err != nil {
		os.Exit(72)
	}
	return cmd.Process.Pid
}
