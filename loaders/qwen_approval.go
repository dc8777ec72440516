package loaders

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strconv"

	"fusebox/loaders/jsonc"
)

// What an approval of Qwen Code 0.24.4 is bound to: a hash of the entry (bundle, and equal for 32 recorded hashes).

// qwenUnhashed are keys at the top of an entry that do not count.
var qwenUnhashed = []string{"scope", "extensionName", "description"}

// qwenApprovalHash is the SHA-256, in lower-case hex, that an approval of an entry is stored with. An entry of .mcp.json is
// hashed as written, after its type was normalised; one of project settings with its variables filled in.
func qwenApprovalHash(entry jsonc.Value, mcpJSON bool, fill func(string) string) string {
	sum := sha256.Sum256([]byte(qwenHashedText(entry, mcpJSON, fill)))
	return hex.EncodeToString(sum[:])
}

// qwenHashedText is the text that is hashed: the entry as JSON with the keys of every object sorted. It may hold secrets.
func qwenHashedText(entry jsonc.Value, mcpJSON bool, fill func(string) string) string {
	if mcpJSON {
		fill = same
	}
	out := newJSObject()
	switch v := jsFilled(jsValue(entry), fill).(type) {
	case *jsObject:
		out = v
		if mcpJSON {
			out = normalMCPJSON(v)
		}
	case []any: // spread into an object: the positions are the keys
		for i, e := range v {
			out.set(strconv.Itoa(i), e)
		}
	case string:
		for i, unit := range jsUnits(v) {
			out.set(strconv.Itoa(i), jsUnit(unit))
		}
	}
	counted := slices.DeleteFunc(slices.Clone(out.keys), func(k string) bool { return slices.Contains(qwenUnhashed, k) })
	return jsStringify(jsSorted(out.only(counted...)))
}

// normalMCPJSON is what Qwen Code makes of an entry of .mcp.json before anything else: type goes, unless it is sdk, and
// with type http the url becomes httpUrl.
func normalMCPJSON(entry *jsObject) *jsObject {
	typ := entry.get("type")
	_, isText := entry.get("url").(string)
	remote := !jsTruthy(entry.get("command")) && !jsTruthy(entry.get("httpUrl")) && !jsTruthy(entry.get("tcp"))
	if remote && !isText {
		return entry
	}
	out := newJSObject()
	for _, key := range entry.keys {
		switch {
		case key == "type" && typ != "sdk":
		case key == "url" && remote && typ == "http":
			out.set("httpUrl", entry.get("url"))
		case key == "httpUrl" && out.has("httpUrl"):
		default:
			out.set(key, entry.get(key))
		}
	}
	if remote && typ == "http" {
		out.set("httpUrl", entry.get("url"))
	}
	return out
}

// jsTruthy tells whether `if (value)` of JavaScript is taken.
func jsTruthy(v any) bool {
	switch v := v.(type) {
	case nil:
		return false
	case bool:
		return v
	case float64:
		return v != 0
	case string:
		return v != ""
	}
	return true
}

// jsFilled applies fill to every text but the keys.
func jsFilled(v any, fill func(string) string) any {
	switch v := v.(type) {
	case string:
		return fill(v)
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = jsFilled(e, fill)
		}
		return out
	case *jsObject:
		out := newJSObject()
		for _, k := range v.keys {
			out.set(k, jsFilled(v.get(k), fill))
		}
		return out
	}
	return v
}

// jsSorted sorts the keys of every object by UTF-16 units. __proto__ goes: an assignment does not make it a key.
func jsSorted(v any) any {
	switch v := v.(type) {
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = jsSorted(e)
		}
		return out
	case *jsObject:
		keys := slices.Clone(v.keys)
		slices.SortFunc(keys, func(a, b string) int { return slices.Compare(jsUnits(a), jsUnits(b)) })
		out := newJSObject()
		for _, k := range keys {
			if k != "__proto__" {
				out.set(k, jsSorted(v.get(k)))
			}
		}
		return out
	}
	return v
}
