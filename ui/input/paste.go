package input

// mostPasted is how much of one paste is handed on, in bytes. Bubble Tea v1.3.10 looks through all of a paste again with
// every read until its end has come: megabytes, pasted by mistake, would hold the keys up for minutes.
const mostPasted = 16 << 10

const (
	pasteStart = "\x1b[200~"
	pasteEnd   = "\x1b[201~"
)

// pasteLimit follows bracketed pastes and cuts what is beyond mostPasted.
type pasteLimit struct {
	inside  bool
	pasted  int // bytes of the paste so far
	matched int // bytes of the mark that is awaited: of the start, or of the end
}

// cut takes away what is too much of a paste, in place, and returns how many bytes are left. One byte of a read is always
// left: a read of nothing would be the end of the file.
func (l *pasteLimit) cut(b []byte) int {
	n := 0
	for _, c := range b {
		mark := pasteStart
		if l.inside {
			mark = pasteEnd
		}
		switch {
		case c == mark[l.matched]:
			l.matched++
		case c == mark[0]:
			l.matched = 1
		default:
			l.matched = 0
		}
		if l.inside {
			l.pasted++
		}
		if !l.inside || l.pasted <= mostPasted || l.matched > 0 {
			b[n] = c
			n++
		}
		if l.matched == len(mark) {
			l.inside, l.pasted, l.matched = !l.inside, 0, 0
		}
	}
	if n == 0 && len(b) > 0 {
		b[0] = ' '
		n = 1
	}
	return n
}
