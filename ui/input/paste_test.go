package input

import (
	"strings"
	"testing"
)

// However a paste comes in pieces, what is around it and its marks stay, and no more of it than the limit and a byte a read.
func TestLongPasteIsCut(t *testing.T) {
	t.Parallel()
	for _, size := range []int{0, 1, 200, mostPasted, mostPasted + 1, 20 * mostPasted} {
		for _, piece := range []int{1, 5, 7, 192, 1000} {
			if piece == 1 && size > mostPasted+1 {
				continue
			}
			const before, after = "jk\x1b[A", "x\x1b[B\x1b[200~short\x1b[201~y"
			in := before + pasteStart + strings.Repeat("a\x1b[b", size/4) + strings.Repeat("a", size%4) + pasteEnd + after
			var l pasteLimit
			var out strings.Builder
			reads := 0
			for rest := in; rest != ""; reads++ {
				b := []byte(rest[:min(piece, len(rest))])
				rest = rest[len(b):]
				n := l.cut(b)
				if n == 0 {
					t.Fatalf("%d in pieces of %d: a read of nothing", size, piece)
				}
				out.Write(b[:n])
			}
			got := out.String()
			if size <= mostPasted-len(pasteEnd) && got != in {
				t.Errorf("%d in pieces of %d: it was changed", size, piece)
			}
			if !strings.HasPrefix(got, before+pasteStart) || !strings.HasSuffix(got, pasteEnd+after) {
				t.Errorf("%d in pieces of %d: what is around it was changed: %.20q ... %q", size, piece, got, got[max(0, len(got)-40):])
			}
			if pasted := strings.Count(got, "a"); pasted > mostPasted+reads {
				t.Errorf("%d in pieces of %d: %d bytes are left", size, piece, pasted)
			}
			if l != (pasteLimit{}) {
				t.Errorf("%d in pieces of %d: not over: %+v", size, piece, l)
			}
		}
	}
}
