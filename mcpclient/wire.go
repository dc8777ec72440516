package mcpclient

import (
	"encoding/json"
	"strconv"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// Codes of the protocol that decide the era.
const (
	codeMethodNotFound     = -32601
	codeHeaderMismatch     = -32020
	codeMissingCapability  = -32021
	codeUnsupportedVersion = -32022
)

// modernError tells whether only a server of the modern era answers with this code.
func modernError(code int64) bool {
	return code == codeHeaderMismatch || code == codeMissingCapability || code == codeUnsupportedVersion
}

// frame is one JSON-RPC message of the server.
type frame struct {
	id     json.RawMessage // as sent; nil for a notification
	method string          // empty for an answer
	params json.RawMessage
	result json.RawMessage
	err    *jsonrpc.Error
}

func (f *frame) isAnswer() bool { return f.method == "" }

// number returns the id of an answer to one of our requests, which are numbered from 1; 0 for any other id.
func (f *frame) number() int64 {
	n, err := strconv.ParseFloat(string(f.id), 64)
	if err != nil || n < 1 || n > 1<<53 || n != float64(int64(n)) {
		return 0
	}
	return int64(n)
}

// lineKind is what a line on stdout turned out to be.
type lineKind uint8

const (
	lineNoise   lineKind = iota // no message at all
	lineIgnored                 // a message whose id is neither number nor string
	lineMessage
)

// decodeLine reads one line of stdout. A batch gives several frames.
func decodeLine(line []byte) ([]frame, lineKind) {
	line = trimLine(line)
	if len(line) > 0 && line[0] == '[' {
		var parts []json.RawMessage
		if json.Unmarshal(line, &parts) != nil || len(parts) == 0 {
			return nil, lineNoise
		}
		var frames []frame
		for _, p := range parts {
			f, kind := decodeFrame(p)
			if kind == lineNoise {
				return nil, lineNoise
			}
			if kind == lineMessage {
				frames = append(frames, f)
			}
		}
		return frames, lineMessage
	}
	f, kind := decodeFrame(line)
	if kind != lineMessage {
		return nil, kind
	}
	return []frame{f}, kind
}

func decodeFrame(data []byte) (frame, lineKind) {
	var w struct {
		Version json.RawMessage `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Method  json.RawMessage `json:"method"`
		Params  json.RawMessage `json:"params"`
		Result  json.RawMessage `json:"result"`
		Error   json.RawMessage `json:"error"`
	}
	if len(data) == 0 || data[0] != '{' || json.Unmarshal(data, &w) != nil || string(w.Version) != `"2.0"` {
		return frame{}, lineNoise
	}
	f := frame{id: w.ID, params: w.Params, result: w.Result}
	if len(w.Method) > 0 {
		if json.Unmarshal(w.Method, &f.method) != nil || f.method == "" {
			return frame{}, lineNoise
		}
		f.result = nil
	} else if len(w.Error) > 0 && string(w.Error) != "null" {
		f.err = decodeError(w.Error)
	} else if len(w.Result) == 0 {
		return frame{}, lineNoise
	}
	if len(w.ID) == 0 {
		if f.isAnswer() {
			return frame{}, lineIgnored
		}
		return f, lineMessage
	}
	if c := w.ID[0]; c != '"' && c != '-' && (c < '0' || c > '9') {
		return frame{}, lineIgnored
	}
	return f, lineMessage
}

// decodeError takes the error of an answer as it is: some servers send a bare text.
func decodeError(raw json.RawMessage) *jsonrpc.Error {
	var e jsonrpc.Error
	if json.Unmarshal(raw, &e) == nil {
		return &e
	}
	var loose struct {
		Message string `json:"message"`
	}
	if json.Unmarshal(raw, &loose) == nil && loose.Message != "" {
		return &jsonrpc.Error{Message: loose.Message}
	}
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return &jsonrpc.Error{Message: text}
	}
	return &jsonrpc.Error{Message: string(raw)}
}

// messageFrame converts a message that the SDK has decoded.
func messageFrame(m jsonrpc.Message) (frame, bool) {
	switch m := m.(type) {
	case *jsonrpc.Request:
		f := frame{method: m.Method, params: m.Params}
		if m.ID.IsValid() {
			f.id, _ = json.Marshal(m.ID.Raw())
		}
		return f, m.Method != ""
	case *jsonrpc.Response:
		f := frame{result: m.Result}
		f.id, _ = json.Marshal(m.ID.Raw())
		if m.Error != nil {
			if w, ok := m.Error.(*jsonrpc.Error); ok {
				f.err = w
			} else {
				f.err = &jsonrpc.Error{Message: m.Error.Error()}
			}
		}
		return f, true
	}
	return frame{}, false
}

// outgoing is a message to the server.
type outgoing struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id,omitempty"`
	Method  string          `json:"method,omitempty"`
	Params  json.RawMessage `json:"params,omitempty"`
	Result  json.RawMessage `json:"result,omitempty"`
	Error   *jsonrpc.Error  `json:"error,omitempty"`
}

// message is the form that the SDK's connections take.
func (m outgoing) message() (jsonrpc.Message, error) {
	var id jsonrpc.ID
	if len(m.ID) > 0 {
		var v any
		if err := json.Unmarshal(m.ID, &v); err != nil {
			return nil, err
		}
		var err error
		if id, err = jsonrpc.MakeID(v); err != nil {
			return nil, err
		}
	}
	if m.Method != "" {
		return &jsonrpc.Request{ID: id, Method: m.Method, Params: m.Params}, nil
	}
	answer := &jsonrpc.Response{ID: id, Result: m.Result}
	if m.Error != nil {
		answer.Error = m.Error
	}
	return answer, nil
}
