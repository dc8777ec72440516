package input

import "testing"

func TestUnfinished(t *testing.T) {
	t.Parallel()
	tests := []struct {
		bytes string
		want  bool
	}{
		{"", false},
		{"j", false},
		{"\x1b", true},
		{"jk\x1b", true},
		{"\x1b\x1b", true},
		{"\x1b\x1b[", true},
		{"\x1b\x1b[A", false},
		{"\x1bx", false},
		{"\x1bO", true},
		{"\x1bOP", false},
		{"\x1b[", true},
		{"\x1b[A", false},
		{"\x1b[1;5", true},
		{"\x1b[1;5C", false},
		{"\x1b[[", true},
		{"\x1b[[A", false},
		{"\x1b[<", true},
		{"\x1b[<65;81;1", true},
		{"\x1b[<65;81;11M", false},
		{"\x1b[<65;81;11m", false},
		{"\x1b[<65;81;11Mj", false},
		{"\x1b[<65;81;11M\x1b[<65;8", true},
		{"\x1b[<65;81\r", false},
		{"\x1b[M", true},
		{"\x1b[M`!", true},
		{"\x1b[M`!!", false},
		{"\x1b[200", true},
		{"\x1b[200~pasted", false},
		{"\x1b[I", false},
		{"\xc3", true},
		{"\u00e9", false},
		{"\x1b\xc3", true},
		{"\x1b\u00e9", false},
		{"\xe2\x97", true},
		{"\u25cf", false},
		{"\xf0\x9f\x98", true},
		{"\U0001f600", false},
		{"\x97\x97\x97\x97", false},
		{"\xff", false},
	}
	for _, test := range tests {
		if got := unfinished([]byte(test.bytes)); got != test.want {
			t.Errorf("unfinished(%q) = %v, want %v", test.bytes, got, test.want)
		}
	}
}
