package mcpclient

import (
	"bytes"
	"io"
)

const (
	maxLine    = 4 << 20  // a longer line of stdout is dropped as it streams by
	readChunk  = 32 << 10 // bytes asked for at once
	stderrTail = 64 << 10 // bytes kept of stderr
)

// lineReader cuts a stream into lines and keeps at most limit bytes of one.
type lineReader struct {
	r     io.Reader
	limit int
	chunk []byte
	rest  []byte // of chunk, not looked at yet
	line  []byte // of earlier chunks
	over  bool   // the line is longer than limit: it is being dropped
	err   error
}

func newLineReader(r io.Reader, limit int) *lineReader {
	return &lineReader{r: r, limit: limit, chunk: make([]byte, readChunk)}
}

// next returns the next line without its end, or over when a line was longer than the limit. The line is valid until the
// next call. A last line without an end counts.
func (l *lineReader) next() (line []byte, over bool, err error) {
	if cap(l.line) > 2*readChunk {
		l.line = nil // one long line must not hold its memory for good
	}
	l.line = l.line[:0]
	l.over = false
	for {
		if i := bytes.IndexByte(l.rest, '\n'); i >= 0 {
			l.keep(l.rest[:i])
			l.rest = l.rest[i+1:]
			return l.line, l.over, nil
		}
		l.keep(l.rest)
		l.rest = nil
		if l.err != nil {
			if len(l.line) > 0 || l.over {
				return l.line, l.over, nil
			}
			return nil, false, l.err
		}
		n, err := l.r.Read(l.chunk)
		l.rest, l.err = l.chunk[:n], err
	}
}

func (l *lineReader) keep(part []byte) {
	if l.over {
		return
	}
	if len(l.line)+len(part) > l.limit {
		l.over, l.line = true, nil
		return
	}
	l.line = append(l.line, part...)
}

// tail keeps the last bytes of a stream.
type tail struct {
	buf   []byte
	limit int
	total int64
	lines int
}

func newTail(limit int) *tail { return &tail{limit: limit} }

// Write never fails. It holds at most twice the limit.
func (t *tail) Write(p []byte) (int, error) {
	n := len(p)
	t.total += int64(n)
	t.lines += bytes.Count(p, []byte{'\n'})
	if n >= t.limit {
		t.buf = append(t.buf[:0], p[n-t.limit:]...)
		return n, nil
	}
	if len(t.buf)+n > 2*t.limit {
		keep := t.limit - n
		copy(t.buf, t.buf[len(t.buf)-keep:])
		t.buf = t.buf[:keep]
	}
	t.buf = append(t.buf, p...)
	return n, nil
}

// text returns what is left; torn tells that it begins in the middle of a line.
func (t *tail) text() (text []byte, torn bool) {
	b := t.buf
	if len(b) > t.limit {
		b = b[len(b)-t.limit:]
	}
	if t.total == int64(len(b)) {
		return b, false
	}
	if i := bytes.IndexByte(b, '\n'); i >= 0 && i < len(b)-1 {
		return b[i+1:], false
	}
	return b, true
}
