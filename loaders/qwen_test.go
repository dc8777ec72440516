package loaders

import (
	"os"
	"testing"

	"fusebox/loaders/jsonc"
)

// TestQwenApprovalHash compares with hashes that Qwen Code 0.24.4 stored.
func TestQwenApprovalHash(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("testdata/qwen/approval-vectors.json")
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonc.Parse(data, jsonc.Strict)
	if err != nil {
		t.Fatal(err)
	}
	lookup := func(name string) (string, bool) { return doc.Root().Lookup("env", name).Str() }
	vectors := doc.Root().Get("vectors").Elements()
	if len(vectors) != 32 {
		t.Fatalf("%d vectors", len(vectors))
	}
	for _, v := range vectors {
		name, _ := v.Get("name").Str()
		file, _ := v.Get("file").Str()
		want, _ := v.Get("hash").Str()
		text := jsString(v.Get("hashed_text"))
		fill := func(s string) string { return fillQwen(s, lookup) }
		if got := qwenHashedText(v.Get("entry"), file == ".mcp.json", fill); got != text {
			t.Errorf("%s:\ngot  %s\nwant %s", name, got, text)
		}
		if got := qwenApprovalHash(v.Get("entry"), file == ".mcp.json", fill); got != want {
			t.Errorf("%s: hash %s, want %s", name, got, want)
		}
	}
}
