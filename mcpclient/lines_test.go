package mcpclient

import (
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

func TestLineReader(t *testing.T) {
	t.Parallel()
	in := "one\n\ntwo\r\n" + strings.Repeat("x", 40) + "\nthree\n" + strings.Repeat("y", 16) + "\nlast"
	for _, r := range []io.Reader{strings.NewReader(in), iotest.OneByteReader(strings.NewReader(in)), iotest.HalfReader(strings.NewReader(in))} {
		l := newLineReader(r, 16)
		var got []string
		for {
			line, over, err := l.next()
			if err != nil {
				break
			}
			if over {
				line = []byte("OVER")
			}
			got = append(got, string(line))
			if cap(l.line) > 2*16+readChunk {
				t.Fatalf("holds %d bytes", cap(l.line))
			}
		}
		if s := strings.Join(got, "|"); s != "one||two\r|OVER|three|yyyyyyyyyyyyyyyy|last" {
			t.Errorf("%q", s)
		}
	}
}

// endless is a stream without a line end.
type endless struct{ left int }

func (e *endless) Read(p []byte) (int, error) {
	if e.left <= 0 {
		return 0, io.EOF
	}
	e.left -= len(p)
	for i := range p {
		p[i] = 'x'
	}
	return len(p), nil
}

func TestALineThatNeverEndsIsNotKept(t *testing.T) {
	t.Parallel()
	l := newLineReader(&endless{64 << 20}, maxLine)
	_, over, err := l.next()
	if err != nil || !over || cap(l.line) > 2*maxLine {
		t.Errorf("over %v, %v, holds %d", over, err, cap(l.line))
	}
}

func TestTail(t *testing.T) {
	t.Parallel()
	tl := newTail(100)
	for i := range 1000 {
		io.WriteString(tl, strings.Repeat(string(rune('a'+i%26)), i%17)+"\n")
		if len(tl.buf) > 200 {
			t.Fatalf("holds %d bytes", len(tl.buf))
		}
	}
	if got, torn := tl.text(); torn || len(got) > 100 || !strings.HasSuffix(string(got), "\n") || tl.lines != 1000 {
		t.Errorf("%q, %d lines", got, tl.lines)
	}
	whole := newTail(100)
	io.WriteString(whole, "first\nsecond")
	if got, torn := whole.text(); torn || string(got) != "first\nsecond" {
		t.Errorf("%q", got)
	}
	long := newTail(100)
	io.WriteString(long, strings.Repeat("z", 999)+"\n")
	if got, torn := long.text(); !torn || len(got) != 100 {
		t.Errorf("%d bytes, torn %v", len(got), torn)
	}
	if cap(long.buf) > 300 {
		t.Errorf("holds %d bytes", cap(long.buf))
	}
}

func TestRecorderIsBounded(t *testing.T) {
	t.Parallel()
	m := newMasker(Target{})
	rec := newRecorder(m, nil)
	huge := strings.Repeat("n", 3<<20)
	for range 1000 {
		rec.addNoise([]byte(huge), false)
		rec.add(Received, "x", huge)
	}
	total := 0
	for _, l := range append(append([]rawLine{}, rec.head...), rec.ring...) {
		total += len(l.raw)
	}
	if total > (exchangeHead+exchangeTail)*(maxExchangeText+m.longest+2) {
		t.Errorf("holds %d bytes", total)
	}
	tr := rec.transcript()
	if len(tr.Exchange) != exchangeHead+exchangeTail || tr.LeftOut != 2000-exchangeHead-exchangeTail {
		t.Errorf("%d lines, %d left out", len(tr.Exchange), tr.LeftOut)
	}
	for i := 1; i < len(tr.Exchange); i++ {
		if tr.Exchange[i].At < tr.Exchange[i-1].At {
			t.Fatal("out of order")
		}
	}
}

func TestDecodeLine(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]lineKind{
		`{"jsonrpc":"2.0","id":1,"result":{}}`:                     lineMessage,
		`{"jsonrpc":"2.0","id":"x","error":{"code":1}}`:            lineMessage,
		`{"jsonrpc":"2.0","method":"notifications/x"}`:             lineMessage,
		"\ufeff" + `{"jsonrpc":"2.0","id":1,"result":null}` + "\r": lineMessage,
		`{"jsonrpc":"2.0","id":null,"error":{"code":1}}`:           lineIgnored,
		`{"jsonrpc":"2.0","id":true,"method":"ping"}`:              lineIgnored,
		`{"jsonrpc":"2.0","id":{},"method":"ping"}`:                lineIgnored,
		`{"jsonrpc":"2.0","id":[1],"result":{}}`:                   lineIgnored,
		`{"jsonrpc":"2.0","result":{}}`:                            lineIgnored,
		`{"jsonrpc":"2.0","id":1}`:                                 lineNoise,
		`{"jsonrpc":"2.0","id":1,"method":7}`:                      lineNoise,
		`{"jsonrpc":"1.0","id":1,"result":{}}`:                     lineNoise,
		`{"id":1,"result":{}}`:                                     lineNoise,
		`42`:                                                       lineNoise,
		`[]`:                                                       lineNoise,
		`[1]`:                                                      lineNoise,
		`{`:                                                        lineNoise,
		`hello`:                                                    lineNoise,
	} {
		if _, got := decodeLine([]byte(in)); got != want {
			t.Errorf("%s: %d, want %d", in, got, want)
		}
	}
	for id, want := range map[string]int64{"1": 1, "7.0": 7, "1.5": 0, "-1": 0, "0": 0, `"1"`: 0, "1e300": 0} {
		if got := (&frame{id: []byte(id)}).number(); got != want {
			t.Errorf("%s: %d, want %d", id, got, want)
		}
	}
}

func FuzzDecodeLine(f *testing.F) {
	f.Add([]byte(`{"jsonrpc":"2.0","id":1,"result":{}}`))
	f.Add([]byte(`[{"jsonrpc":"2.0","method":"x","params":[]}]`))
	m := newMasker(Target{})
	f.Fuzz(func(t *testing.T, line []byte) {
		frames, kind := decodeLine(line)
		if kind != lineMessage && len(frames) > 0 {
			t.Error("frames of a line that is no message")
		}
		for _, fr := range frames {
			_ = m.json(fr.result)
			fr.number()
		}
	})
}
