package clipboard

import (
	"bytes"
	"encoding/base64"
	"errors"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
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

type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, errors.New("broken pipe") }

func TestCopy(t *testing.T) {
	t.Parallel()
	xterm := env("TERM", "xterm-256color")
	works := func(string) error { return nil }
	fails := func(string) error { return errors.New("exit status 1") }
	tests := []struct {
		name   string
		copier copier
		text   string
		want   string // "" when an error is expected
		err    string
		out    string
	}{
		{name: "terminal only", copier: copier{env: xterm}, text: "github",
			want: "copied (terminal)", out: "\x1b]52;c;Z2l0aHVi\x07"},
		{name: "both", copier: copier{env: xterm, system: works, systemName: "xclip"}, text: "github",
			want: "copied (terminal, xclip)", out: "\x1b]52;c;Z2l0aHVi\x07"},
		{name: "system only", copier: copier{env: env("TERM", "dumb"), system: works, systemName: "pbcopy"}, text: "github",
			want: "copied (pbcopy)"},
		{name: "system fails", copier: copier{env: xterm, system: fails, systemName: "xclip"}, text: "github",
			want: "copied (terminal)", out: "\x1b]52;c;Z2l0aHVi\x07"},
		{name: "all fails", copier: copier{env: env(), system: fails, systemName: "xclip"}, text: "github",
			err: "copy with xclip: exit status 1"},
		{name: "terminal fails", copier: copier{env: xterm, out: brokenWriter{}}, text: "github",
			err: "copy to the terminal: broken pipe"},
		{name: "terminal fails, system works", copier: copier{env: xterm, out: brokenWriter{}, system: works, systemName: "xsel"}, text: "github",
			want: "copied (xsel)"},
		{name: "nothing there", copier: copier{env: env("TERM", "linux")}, text: "github", err: errNone.Error()},
		{name: "no answer", copier: copier{env: env(), system: func(string) error { select {} }, systemName: "xclip", patience: time.Millisecond},
			text: "github", err: "copy with xclip: no answer after 1ms"},
		{name: "tmux", copier: copier{env: env("TERM", "tmux-256color", "TMUX", "/tmp/tmux-1/default,1,0")}, text: "a",
			want: "copied (terminal)", out: "\x1b]52;c;YQ==\x07\x1bPtmux;\x1b\x1b]52;c;YQ==\x07\x1b\\"},
		{name: "tmux that calls itself screen", copier: copier{env: env("TERM", "screen-256color", "TMUX", "x")}, text: "a",
			want: "copied (terminal)", out: "\x1b]52;c;YQ==\x07\x1bPtmux;\x1b\x1b]52;c;YQ==\x07\x1b\\"},
		{name: "screen", copier: copier{env: env("TERM", "screen.xterm-256color")}, text: "a",
			want: "copied (terminal)", out: "\x1bP\x1b]52;c;YQ==\x07\x1b\\"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			var out bytes.Buffer
			if test.copier.out == nil {
				test.copier.out = &out
			}
			if test.copier.patience == 0 {
				test.copier.patience = time.Minute
			}
			got, err := test.copier.copy(test.text)
			if got != test.want || test.err == "" && err != nil || test.err != "" && (err == nil || err.Error() != test.err) {
				t.Errorf("copy: %q, %v, want %q, %s", got, err, test.want, test.err)
			}
			if out.String() != test.out {
				t.Errorf("wrote %q, want %q", out.String(), test.out)
			}
		})
	}
}

// copied runs a copy and returns what reached the terminal and the system.
func copied(t *testing.T, text string) (terminal, system, how string) {
	t.Helper()
	var out bytes.Buffer
	c := copier{out: &out, env: env("TERM", "xterm"), system: func(s string) error { system = s; return nil }, systemName: "xclip", patience: time.Minute}
	how, err := c.copy(text)
	if err != nil {
		t.Fatal(err)
	}
	encoded := strings.TrimSuffix(strings.TrimPrefix(out.String(), "\x1b]52;c;"), "\x07")
	decoded, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		t.Fatalf("%q: %v", out.String(), err)
	}
	return string(decoded), system, how
}

func TestForeignTextIsCleaned(t *testing.T) {
	t.Parallel()
	terminal, system, _ := copied(t, "name\x1b]0;title\x07\r\nrm -rf ~\n\u202e")
	for _, got := range []string{terminal, system} {
		if strings.ContainsAny(got, "\x1b\x07\r\n\u202e") {
			t.Errorf("copied %q", got)
		}
	}
	if terminal != system {
		t.Errorf("the terminal got %q, the system %q", terminal, system)
	}
}

func TestLongTextIsCut(t *testing.T) {
	t.Parallel()
	terminal, system, how := copied(t, "x"+strings.Repeat("●", MaxBytes))
	if len(terminal) > MaxBytes || len(terminal) < MaxBytes-utf8.UTFMax || !utf8.ValidString(terminal) || terminal != system {
		t.Errorf("copied %d and %d bytes", len(terminal), len(system))
	}
	if want := "copied (terminal, xclip), only the first 64 kB"; how != want {
		t.Errorf("said %q, want %q", how, want)
	}
	exact := strings.Repeat("x", MaxBytes)
	if terminal, _, how := copied(t, exact); terminal != exact || how != "copied (terminal, xclip)" {
		t.Errorf("%d bytes: %q", len(terminal), how)
	}
}

func TestSystemName(t *testing.T) {
	t.Parallel()
	tests := []struct {
		goos     string
		wayland  string
		programs string
		want     string
	}{
		{"darwin", "", "", "pbcopy"},
		{"windows", "", "xclip", "system"},
		{"linux", "", "", "system"},
		{"linux", "", "xclip xsel", "xclip"},
		{"linux", "", "xsel wl-copy wl-paste", "xsel"},
		{"linux", "wayland-0", "xclip wl-copy wl-paste", "wl-copy"},
		{"linux", "wayland-0", "xclip wl-copy", "xclip"},
		{"linux", "", "clip.exe powershell.exe", "clip.exe"},
		{"linux", "", "termux-clipboard-get termux-clipboard-set", "termux"},
	}
	for _, test := range tests {
		onPath := func(program string) bool {
			for _, p := range strings.Fields(test.programs) {
				if p == program {
					return true
				}
			}
			return false
		}
		if got := systemName(test.goos, env("WAYLAND_DISPLAY", test.wayland), onPath); got != test.want {
			t.Errorf("systemName(%s, %q, %q) = %q, want %q", test.goos, test.wayland, test.programs, got, test.want)
		}
	}
}
