package loaders

import (
	"testing"

	"fusebox/loaders/jsonc"
)

// The right hand sides are what JSON.stringify(JSON.parse(text)) gives in Node.js 20.
func TestJavaScriptJSON(t *testing.T) {
	t.Parallel()
	for source, want := range map[string]string{
		`null`:                                   `null`,
		` true`:                                  `true`,
		`[ ]`:                                    `[]`,
		`{ }`:                                    `{}`,
		`{"b":1,"a":[1,"x",{"c":null}]}`:         `{"b":1,"a":[1,"x",{"c":null}]}`,
		`{"x":1,"10":2,"9":3,"01":4,"-1":5}`:     `{"9":3,"10":2,"x":1,"01":4,"-1":5}`,
		`{"4294967294":1,"4294967295":2,"1":3}`:  `{"1":3,"4294967294":1,"4294967295":2}`,
		`{"a":1,"b":2,"a":3}`:                    `{"a":3,"b":2}`,
		`"<>&\u2028\u2029\u00e9"`:                "\"<>&\u2028\u2029é\"",
		`"\/\b\f\n\r\t\u0000\u001f\u007f\"\\"`:   `"/\b\f\n\r\t\u0000\u001f` + "\x7f" + `\"\\"`,
		`"\ud83d\ude00"`:                         `"😀"`,
		`"a\ud83dz\uDE00"`:                       `"a\ud83dz\ude00"`,
		`"\ud83d\ud83d\ude00\\ud800"`:            `"\ud83d😀\\ud800"`,
		`"\ufffd\ud800"`:                         "\"\ufffd\\ud800\"",
		`[0,-0,1.0,1.50,100,1e3,1E+2,-12.5e-1]`:  `[0,0,1,1.5,100,1000,100,-1.25]`,
		`[1e20,1e21,123456789012345678901234]`:   `[100000000000000000000,1e+21,1.2345678901234569e+23]`,
		`[0.000001,0.0000001,1.5e-9,5e-324]`:     `[0.000001,1e-7,1.5e-9,5e-324]`,
		`[1e400,-1e400,9007199254740993]`:        `[null,null,9007199254740992]`,
		`[0.1,1.7976931348623157e308,4.35,1e-6]`: `[0.1,1.7976931348623157e+308,4.35,0.000001]`,
	} {
		doc, err := jsonc.Parse([]byte(source), jsonc.Strict)
		if err != nil {
			t.Fatalf("%s: %v", source, err)
		}
		if got := jsStringify(jsValue(doc.Root())); got != want {
			t.Errorf("%s\n got %s\nwant %s", source, got, want)
		}
	}
}

func TestJavaScriptJSONJoinsSurrogates(t *testing.T) {
	t.Parallel()
	half, other := jsLoneSurrogate(0xD83D), jsLoneSurrogate(0xDE00)
	if got := jsStringify(half + other); got != `"😀"` {
		t.Errorf("two halves: %s", got)
	}
	if got := jsStringify(other + half); got != `"\ude00\ud83d"` {
		t.Errorf("two halves the wrong way round: %s", got)
	}
	o := newJSObject()
	o.set("b", "x")
	o.set("a", []any{true, nil})
	o.set("b", 1.0)
	if got := jsStringify(o); got != `{"b":1,"a":[true,null]}` {
		t.Errorf("object: %s", got)
	}
}
