package cli

import (
	"strings"
	"testing"
)

// TestColumnsLineUp: wide characters take two cells, and no line ends in blanks.
func TestColumnsLineUp(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	if err := writeColumns(&b, [][]string{{"SERVER", "STATE", "WHY"}, {"日本語サーバ", "ok", ""}, {"docs", "", "a reason"}, {"", "error", "x"}}); err != nil {
		t.Fatal(err)
	}
	want := "SERVER        STATE  WHY\n日本語サーバ  ok\ndocs                 a reason\n              error  x\n"
	if b.String() != want {
		t.Errorf("it writes\n%s\nwant\n%s", b.String(), want)
	}
}
