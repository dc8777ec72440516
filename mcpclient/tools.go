package mcpclient

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"fusebox/model"
)

// Bounds of what one server may list.
const (
	maxTools     = 10_000
	maxToolBytes = 16 << 20
	maxPages     = 1_000
	maxName      = 1 << 10 // bytes of a tool's name or title that are kept
)

// list asks for the tools, then for the counts of what else is announced.
func (r *run) list(ctx context.Context, l *link, a *agreement) *verdict {
	if !a.announces("tools") {
		r.note("the server offers no tools")
	} else if v := r.listTools(ctx, l, a); v != nil {
		return v
	}
	for _, side := range []struct {
		name  string
		count **int
	}{{"prompts", &r.prompts}, {"resources", &r.resources}} {
		if !a.announces(side.name) {
			continue
		}
		// Nobody asked for these: a server that does not answer must not use up the time.
		sideCtx, cancel := context.WithTimeout(ctx, r.opts.ProbeWait)
		n, v := r.countItems(sideCtx, l, a, side.name)
		cancel()
		switch {
		case v == nil:
			*side.count = &n
		case ctx.Err() == nil && v.code == model.ReasonTimeout:
			r.note("%s/list was not answered in %s", side.name, seconds(r.opts.ProbeWait))
		default:
			r.note("%s", v.text)
		}
	}
	return okVerdict()
}

// pages calls method until there is no further cursor. An empty cursor is a cursor. each gets a page's result; its
// verdict, or that of the call, ends the listing.
func (r *run) pages(ctx context.Context, l *link, a *agreement, method string, each func(page int, result json.RawMessage) (*verdict, bool)) *verdict {
	params := map[string]any{}
	if meta := a.meta(r.opts.Version); meta != nil {
		params["_meta"] = meta
	}
	seen := map[string]bool{}
	for page := 1; page <= maxPages; page++ {
		got, v := l.call(ctx, method, params)
		if v != nil {
			return v
		}
		where := method
		if page > 1 {
			where = fmt.Sprintf("page %d of %s", page, method)
		}
		if got.err != nil {
			return failed(model.ReasonNotMCP, "%s was refused: %s", where, describe(got.err))
		}
		v, more := each(page, got.result)
		if v != nil || !more {
			return v
		}
		var next struct {
			Cursor json.RawMessage `json:"nextCursor"`
		}
		_ = json.Unmarshal(got.result, &next)
		if len(next.Cursor) == 0 || string(next.Cursor) == "null" {
			return nil
		}
		var cursor string
		if json.Unmarshal(next.Cursor, &cursor) != nil {
			r.note("%s stopped after %s: its cursor is no text", method, count(page, "page"))
			return nil
		}
		if seen[cursor] {
			r.note("%s stopped after %s: the server repeats a cursor", method, count(page, "page"))
			return nil
		}
		seen[cursor] = true
		params["cursor"] = cursor
	}
	r.note("%s stopped after %s", method, count(maxPages, "page"))
	return nil
}

func (r *run) listTools(ctx context.Context, l *link, a *agreement) *verdict {
	bytes := 0
	names := map[string]int{}
	return r.pages(ctx, l, a, "tools/list", func(page int, result json.RawMessage) (*verdict, bool) {
		var body struct {
			Tools []json.RawMessage `json:"tools"`
		}
		if err := json.Unmarshal(result, &body); err != nil || body.Tools == nil {
			if page > 1 {
				r.note("page %d of tools/list holds no list of tools", page)
				return nil, true
			}
			return failed(model.ReasonNotMCP, "its answer to tools/list holds no list of tools"), false
		}
		for _, raw := range body.Tools {
			bytes += len(raw)
			if len(r.tools) >= maxTools || bytes > maxToolBytes {
				r.note("stopped after %s: the list is too long", count(len(r.tools), "tool"))
				return nil, false
			}
			tool := r.decodeTool(raw)
			if tool.Name == "" {
				r.note("a tool was left out: %s", tool.Malformed)
				continue
			}
			if tool.Malformed != "" {
				r.note("tool %s: %s", tool.Name, tool.Malformed)
			}
			if names[tool.Name]++; names[tool.Name] == 2 {
				r.note("the server lists more than one tool named %s", tool.Name)
			}
			r.tools = append(r.tools, tool)
		}
		return nil, true
	})
}

func (r *run) countItems(ctx context.Context, l *link, a *agreement, what string) (int, *verdict) {
	n := 0
	v := r.pages(ctx, l, a, what+"/list", func(_ int, result json.RawMessage) (*verdict, bool) {
		var body map[string]json.RawMessage
		var items []json.RawMessage
		if json.Unmarshal(result, &body) != nil || json.Unmarshal(body[what], &items) != nil {
			return failed(model.ReasonNotMCP, "its answer to %s/list holds no list", what), false
		}
		n += len(items)
		return nil, true
	})
	return n, v
}

// decodeTool takes what can be used of a tool. One without a name cannot be called.
func (r *run) decodeTool(raw json.RawMessage) Tool {
	var fields map[string]json.RawMessage
	if json.Unmarshal(raw, &fields) != nil || fields == nil {
		return Tool{Malformed: "it is no object"}
	}
	var wrong []string
	text := func(key string) string {
		v, ok := fields[key]
		if !ok || string(v) == "null" {
			return ""
		}
		var s string
		if json.Unmarshal(v, &s) != nil {
			wrong = append(wrong, key+" is no text")
		}
		return s
	}
	t := Tool{Size: utf8.RuneCount(compact(raw))}
	t.Name = r.mask.cut(text("name"), maxName)
	if t.Name == "" {
		if wrong == nil {
			wrong = append(wrong, "it has no name")
		}
		t.Malformed = wrong[0]
		return t
	}
	t.Title = r.mask.cut(text("title"), maxName)
	t.Description = r.mask.lines(text("description"))

	schema := fields["inputSchema"]
	switch {
	case len(schema) == 0 || string(schema) == "null":
		wrong = append(wrong, "it has no input schema")
	case schema[0] != '{':
		wrong = append(wrong, "its input schema is no object")
		t.Schema = r.mask.json(schema)
	default:
		t.Schema = r.mask.json(schema)
	}

	if hints, ok := fields["annotations"]; ok && string(hints) != "null" {
		var h map[string]json.RawMessage
		if json.Unmarshal(hints, &h) != nil {
			wrong = append(wrong, "annotations are no object")
		}
		flag := func(key string) *bool {
			v, ok := h[key]
			if !ok || string(v) == "null" {
				return nil
			}
			var b bool
			if json.Unmarshal(v, &b) != nil {
				wrong = append(wrong, key+" is neither true nor false")
				return nil
			}
			return &b
		}
		t.Annotations = Annotations{flag("readOnlyHint"), flag("destructiveHint"), flag("idempotentHint"), flag("openWorldHint")}
		if t.Title == "" {
			var s string
			if json.Unmarshal(h["title"], &s) == nil {
				t.Title = r.mask.cut(s, maxName)
			}
		}
	}
	t.Malformed = strings.Join(wrong, "; ")
	return t
}

// compact drops the blanks between tokens.
func compact(raw json.RawMessage) []byte {
	out := make([]byte, 0, len(raw))
	inText := false
	for i := 0; i < len(raw); i++ {
		c := raw[i]
		switch {
		case inText && c == '\\' && i+1 < len(raw):
			out = append(out, c, raw[i+1])
			i++
			continue
		case c == '"':
			inText = !inText
		case !inText && (c == ' ' || c == '\t' || c == '\n' || c == '\r'):
			continue
		}
		out = append(out, c)
	}
	return out
}
