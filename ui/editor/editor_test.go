package editor

import (
	"slices"
	"strings"
	"testing"
)

func env(pairs ...string) func(string) string {
	return func(name string) string {
		for i := 0; i < len(pairs); i += 2 {
			if pairs[i] == name {
				return pairs[i+1]
			}
		}
		return ""
	}
}

func TestCommandByEditor(t *testing.T) {
	t.Parallel()
	tests := []struct {
		editor       string
		line, column int
		want         string // the words with | between them
	}{
		{"vi", 12, 5, "vi|+12|/p/a.json"},
		{"vim", 12, 0, "vim|+12|/p/a.json"},
		{"vim", 0, 0, "vim|/p/a.json"},
		{"vim", 0, 5, "vim|/p/a.json"},
		{"vim", -1, 5, "vim|/p/a.json"},
		{"/usr/local/bin/nvim", 12, 5, "/usr/local/bin/nvim|+12|/p/a.json"},
		{"gvim --nofork", 12, 5, "gvim|--nofork|+12|/p/a.json"},
		{"vim.basic", 12, 5, "vim.basic|+12|/p/a.json"},
		{"nano", 12, 5, "nano|+12,5|/p/a.json"},
		{"nano -w", 12, 0, "nano|-w|+12|/p/a.json"},
		{"emacs", 12, 5, "emacs|+12:5|/p/a.json"},
		{"emacsclient -t -a ''", 12, 0, "emacsclient|-t|-a||+12|/p/a.json"},
		{"micro", 12, 5, "micro|+12:5|/p/a.json"},
		{"kak", 12, 5, "kak|+12:5|/p/a.json"},
		{"hx", 12, 5, "hx|/p/a.json:12:5"},
		{"helix", 12, 0, "helix|/p/a.json:12"},
		{"hx", 0, 0, "hx|/p/a.json"},
		{"code", 12, 5, "code|--goto|/p/a.json:12:5"},
		{"code --wait", 12, 0, "code|--wait|--goto|/p/a.json:12"},
		{"code -w -g", 12, 0, "code|-w|-g|/p/a.json:12"},
		{"code --wait", 0, 0, "code|--wait|/p/a.json"},
		{"codium", 12, 5, "codium|--goto|/p/a.json:12:5"},
		{"cursor --wait", 12, 5, "cursor|--wait|--goto|/p/a.json:12:5"},
		{"zed --wait", 12, 5, "zed|--wait|/p/a.json:12:5"},
		{"zeditor", 12, 0, "zeditor|/p/a.json:12"},
		{"subl -n -w", 12, 5, "subl|-n|-w|/p/a.json:12:5"},
		{"idea", 12, 5, "idea|--line|12|--column|5|/p/a.json"},
		{"/opt/idea/bin/idea.sh --wait", 12, 0, "/opt/idea/bin/idea.sh|--wait|--line|12|/p/a.json"},
		{"kate --block", 12, 5, "kate|--block|--line|12|--column|5|/p/a.json"},
		{"mate -w", 12, 5, "mate|-w|--line|12:5|/p/a.json"},
		{"ed", 12, 5, "ed|/p/a.json"},
		{"open -t", 12, 5, "open|-t|/p/a.json"},
		{"env LANG=C vim", 12, 5, "env|LANG=C|vim|/p/a.json"},
		{`"/Applications/My Editor/vim" -u NONE`, 12, 5, "/Applications/My Editor/vim|-u|NONE|+12|/p/a.json"},
		{`/opt/my\ editor/vim`, 12, 5, "/opt/my editor/vim|+12|/p/a.json"},
		{"~/bin/nvim", 12, 5, "/home/ann/bin/nvim|+12|/p/a.json"},
		{"VIM", 12, 5, "VIM|+12|/p/a.json"},
	}
	for _, test := range tests {
		name, args := Command(env("EDITOR", test.editor, "HOME", "/home/ann"), "linux", "/p/a.json", test.line, test.column)
		if got := strings.Join(append([]string{name}, args...), "|"); got != test.want {
			t.Errorf("%s at %d:%d = %s, want %s", test.editor, test.line, test.column, got, test.want)
		}
	}
}

func TestCommandOnWindows(t *testing.T) {
	t.Parallel()
	tests := []struct{ editor, want string }{
		{"", `notepad|C:\p\a.json`},
		{`notepad`, `notepad|C:\p\a.json`},
		{`C:\Program Files\Vim\vim91\gvim.exe`, `C:\Program Files\Vim\vim91\gvim.exe|+12|C:\p\a.json`},
		{`C:\Program Files\Vim\vim91\GVIM.EXE --nofork`, `C:\Program Files\Vim\vim91\GVIM.EXE|--nofork|+12|C:\p\a.json`},
		{`"C:\Program Files\Microsoft VS Code\bin\code.cmd" --wait`, `C:\Program Files\Microsoft VS Code\bin\code.cmd|--wait|--goto|C:\p\a.json:12:5`},
		{`code --wait`, `code|--wait|--goto|C:\p\a.json:12:5`},
		{`"C:/tools/notepad++.exe" -multiInst`, `C:/tools/notepad++.exe|-multiInst|-n12|-c5|C:\p\a.json`},
		{`idea64.exe`, `idea64.exe|--line|12|--column|5|C:\p\a.json`},
	}
	for _, test := range tests {
		name, args := Command(env("EDITOR", test.editor), "windows", `C:\p\a.json`, 12, 5)
		if got := strings.Join(append([]string{name}, args...), "|"); got != test.want {
			t.Errorf("%s = %s, want %s", test.editor, got, test.want)
		}
	}
}

func TestWhichVariable(t *testing.T) {
	t.Parallel()
	tests := []struct {
		visual, editor, goos, want string
	}{
		{"", "", "linux", "vi"},
		{"", "", "darwin", "vi"},
		{"", "", "windows", "notepad"},
		{"", "nano", "linux", "nano"},
		{"code", "nano", "linux", "code"},
		{"  ", "nano", "linux", "nano"},
		{"''", "nano", "linux", "nano"},
		{"", "\t", "linux", "vi"},
	}
	for _, test := range tests {
		if got, _ := Command(env("VISUAL", test.visual, "EDITOR", test.editor), test.goos, "/p/a", 0, 0); got != test.want {
			t.Errorf("VISUAL=%q EDITOR=%q on %s: %s, want %s", test.visual, test.editor, test.goos, got, test.want)
		}
	}
}

// TestPathIsNeverAFlag also covers what vi would run as a command.
func TestPathIsNeverAFlag(t *testing.T) {
	t.Parallel()
	for _, editor := range []string{"", "vim", "nano", "emacs", "micro", "kak", "hx", "code", "zed", "subl", "idea", "kate", "mate", "ed", "notepad++"} {
		for _, goos := range []string{"linux", "windows"} {
			for _, path := range []string{"-c:!touch x", "--version", "+!touch x", "-"} {
				for _, line := range []int{0, 7} {
					_, args := Command(env("EDITOR", editor), goos, path, line, 0)
					last := args[len(args)-1]
					if !strings.HasPrefix(last, "./"+path) && !strings.HasPrefix(last, `.\`+path) {
						t.Errorf("%s on %s: the path %q became %q", editor, goos, path, last)
					}
				}
			}
		}
	}
}

// TestPathStaysOneArgument: no shell is in between, so nothing in a path may be split or dropped.
func TestPathStaysOneArgument(t *testing.T) {
	t.Parallel()
	path := "/p/a b'\"$(x);\\n.json"
	for _, editor := range []string{"vim", "nano", "unknown --flag"} {
		_, args := Command(env("EDITOR", editor), "linux", path, 3, 0)
		if args[len(args)-1] != path {
			t.Errorf("%s: %q", editor, args)
		}
	}
}

func TestSplit(t *testing.T) {
	t.Parallel()
	tests := []struct {
		value, goos string
		want        []string
	}{
		{"", "linux", nil},
		{" \t\n ", "linux", nil},
		{"a  b\tc", "linux", []string{"a", "b", "c"}},
		{`a 'b c' "d e"`, "linux", []string{"a", "b c", "d e"}},
		{`a"b c"d`, "linux", []string{"ab cd"}},
		{`a ""`, "linux", []string{"a", ""}},
		{`a\ b`, "linux", []string{"a b"}},
		{`"a\"b" "c\d" 'e\f'`, "linux", []string{`a"b`, `c\d`, `e\f`}},
		{`a\`, "linux", []string{`a\`}},
		{`a 'b c`, "linux", []string{"a", "b c"}},
		{`a $HOME`, "linux", []string{"a", "$HOME"}},
		{`C:\bin\ed -x 'y'`, "windows", []string{`C:\bin\ed`, "-x", "'y'"}},
		{`"C:\a b\ed" "c d"`, "windows", []string{`C:\a b\ed`, "c d"}},
		{`C:\a b\ed.exe "c d"`, "windows", []string{`C:\a b\ed.exe`, "c d"}},
		{`ed.exe x\y.exe`, "windows", []string{"ed.exe", `x\y.exe`}},
	}
	for _, test := range tests {
		if got := split(test.value, test.goos); !slices.Equal(got, test.want) {
			t.Errorf("split(%q, %s) = %q, want %q", test.value, test.goos, got, test.want)
		}
	}
}
