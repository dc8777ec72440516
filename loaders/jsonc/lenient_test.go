package jsonc

import (
	"encoding/json"
	"os"
	"reflect"
	"testing"
)

// testdata/lenient.json holds broken files together with what jsonc-parser 3.3.1 made of them on Node 22.
func TestLenientAgreesWithJSONCParser(t *testing.T) {
	t.Parallel()
	path := "testdata/lenient.json"
	if other := os.Getenv("LENIENT_VECTORS"); other != "" {
		path = other
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var vectors []struct {
		Text     string
		Comments bool
		Trailing bool
		Missing  bool
		Errors   bool
		Tree     any
	}
	if err := json.Unmarshal(raw, &vectors); err != nil {
		t.Fatal(err)
	}
	if len(vectors) < 100 {
		t.Fatalf("only %d vectors", len(vectors))
	}
	for _, v := range vectors {
		d, err := Parse([]byte(v.Text), Options{Lenient: true, Comments: v.Comments, TrailingCommas: v.Trailing})
		if err != nil || d == nil {
			t.Fatalf("%q: %v", v.Text, err)
		}
		tree := floats(d.Root().Interface())
		if d.Root().Exists() == v.Missing || !reflect.DeepEqual(tree, v.Tree) || (len(d.Errors()) > 0) != v.Errors {
			t.Errorf("%q, comments %v, trailing commas %v:\ngot  %v %v\nwant %v, errors %v",
				v.Text, v.Comments, v.Trailing, tree, d.Errors(), v.Tree, v.Errors)
		}
	}
}

func floats(tree any) any {
	switch tree := tree.(type) {
	case map[string]any:
		for key := range tree {
			tree[key] = floats(tree[key])
		}
	case []any:
		for i := range tree {
			tree[i] = floats(tree[i])
		}
	case json.Number:
		value, err := tree.Float64()
		if err != nil {
			return string(tree)
		}
		return value
	}
	return tree
}

func TestLenientErrors(t *testing.T) {
	t.Parallel()
	d, err := Parse([]byte("{\"mcpServers\": {\"a\": {\"command\": \"x\"},\n \"b\": {\"command\": \"y\""), Options{Lenient: true})
	if err != nil {
		t.Fatal(err)
	}
	if b := d.Root().Lookup("mcpServers", "b"); b.Line() != 2 || string(b.Raw()) != `{"command": "y"` {
		t.Errorf("b on line %d: %s", b.Line(), b.Raw())
	}
	if len(d.Errors()) != 3 || d.Errors()[0].Error() != "2:22: expected ',' or '}', found the end of the file" {
		t.Errorf("errors %v", d.Errors())
	}
	d, err = Parse([]byte("\ufeff{\"a\": \"\xff\"}"), Options{Lenient: true})
	if text, _ := d.Root().Get("a").Str(); err != nil || text != "\ufffd" || len(d.Errors()) != 2 {
		t.Errorf("%q %v %v", text, d.Errors(), err)
	}
	d, err = Parse([]byte("nothing"), Options{Lenient: true})
	if err != nil || d == nil || d.Root().Exists() {
		t.Errorf("%v %v", d, err)
	}
	many, err := Parse(make([]byte, 1<<20), Options{Lenient: true})
	if err != nil || len(many.Errors()) > maxLenientErrors {
		t.Errorf("%d errors, %v", len(many.Errors()), err)
	}
}
