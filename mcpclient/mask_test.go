package mcpclient

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fusebox/model"
)

// canaries are values as people have them: plain, with signs that JSON and shells escape, over several lines, very long.
var canaries = map[string]string{
	"plain":   "CANARY-s3cr3t-value",
	"signs":   `CANARY"q<u>o&t\e/ü`,
	"lines":   "-----BEGIN CANARY KEY-----\nMIICANARYabcdefgh0123456789\nQRSTCANARYuvwxyz9876543210\n-----END CANARY KEY-----\n",
	"long":    longCanary(), // longer than the tail of stderr
	"url":     "postgres://app:CANARYpassword@db.example:5432/shop?sslkey=CANARYquery",
	"unicode": "CANARYпароль秘密",
}

func longCanary() string {
	var b strings.Builder
	for i := range 4000 {
		fmt.Fprintf(&b, "CANARY%d\"%x", i, i*i*7919)
	}
	return b.String()
}

// leaks returns the fragments of a secret that show in a text: 6 of its characters in a row are too many.
func leaks(text, secret string) string {
	if strings.Contains(secret, "://") && !strings.Contains(text, "CANARY") {
		return "" // scheme, host and user of a URL may show
	}
	var all []string
	for _, part := range strings.FieldsFunc(secret, func(r rune) bool { return r == '\n' }) {
		if i := strings.Index(text, "CANARY"); i >= 0 {
			all = append(all, text[max(0, i-30):min(len(text), i+60)])
			break
		}
		runes := []rune(part)
		for i := 0; i+12 <= len(runes); i += 4 {
			if piece := string(runes[i : i+12]); strings.Contains(text, piece) {
				return piece
			}
		}
	}
	return strings.Join(all, " ")
}

func everything(r *Result) string {
	b, _ := json.Marshal(r)
	return string(b) + fmt.Sprintf("%+v", *r) + fmt.Sprintf("%q", r.Output.Stderr)
}

func TestSecretsNeverComeBack(t *testing.T) {
	t.Parallel()
	for name, secret := range canaries {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "secret")
			if err := os.WriteFile(file, []byte(secret), 0o600); err != nil {
				t.Fatal(err)
			}
			for _, how := range []string{"listed", "environment", "argument"} {
				target := fakeTarget("echo:" + file)
				switch how {
				case "listed":
					target.Secrets = []model.Variable{{Name: "EXPANDED", Value: model.NewSecret(secret)}}
				case "environment":
					target.Env = append(target.Env, "API_TOKEN="+secret)
				case "argument":
					target.Args = []string{"--api-key=" + secret}
				}
				var events bytes.Buffer
				o := quick()
				o.Progress = func(e Event) { fmt.Fprintln(&events, e.Text) }
				r := launchFake(t, target, o)
				if r.Observation.Outcome != model.OutcomeOK || len(r.Tools) != 3 {
					t.Fatalf("%s: %+v\n%s", how, r.Observation, dump(r))
				}
				if found := leaks(everything(r), secret); found != "" {
					t.Errorf("%s: result shows %q", how, found)
				}
				if found := leaks(events.String(), secret); found != "" {
					t.Errorf("%s: events show %q", how, found)
				}
				if !json.Valid(r.Tools[0].Schema) || !strings.Contains(r.Tools[0].Description, "\nand ") {
					t.Errorf("%s: %+v", how, r.Tools[0])
				}
				if !strings.Contains(everything(r), model.Dots) || len(r.Output.Stderr) == 0 || r.Observation.Noise == 0 {
					t.Errorf("%s: nothing was echoed", how)
				}
			}
		})
	}
}

func TestSecretsInReasons(t *testing.T) {
	t.Parallel()
	const secret = "CANARY-s3cr3t-value"
	target := fakeTarget("exit:1")
	target.Secrets = []model.Variable{{Name: "T", Value: model.NewSecret("NOTION_TOKEN is not set")}}
	r := launchFake(t, target, quick())
	wantError(t, r, model.ReasonExited, "exit 1", model.Dots)
	if strings.Contains(everything(r), "NOTION_TOKEN is") {
		t.Error("stderr shows in the reason")
	}
	for _, command := range []string{"/opt/" + secret + "/server", secret} {
		target := Target{Transport: model.TransportStdio, Command: command, Dir: "", Env: []string{"MY_SECRET=" + secret}}
		if r := launchFake(t, target, quick()); strings.Contains(everything(r), "CANARY") {
			t.Errorf("%+v", r.Observation)
		}
	}
}

func TestMasker(t *testing.T) {
	t.Parallel()
	m := newMasker(Target{
		Transport: model.TransportHTTP, URL: "https://user:hunter2222@h.example/mcp/Zx81kAAsecret?key=querysecret",
		Headers: []Header{{"Authorization", "Bearer headersecret"}},
		Secrets: []model.Variable{{Name: "DATABASE_URL", Value: model.NewSecret("postgres://app:dbpassword1@db.example/shop?sslkey=dbquery99")}},
		Env:     []string{"GIT_AUTHOR_NAME=Ann Example", "XDG_SESSION_TYPE=wayland", "MODE=production", "SESSION_TOKEN=envsecret"},
	})
	for _, s := range []string{"hunter2222", "Zx81kAAsecret", "querysecret", "headersecret", "envsecret", "dbpassword1", "dbquery99",
		base64.StdEncoding.EncodeToString([]byte("headersecret")), url.QueryEscape("headersecret"), "\x1b[1mheader\x1b[0msecret", "header\x1b]0;x\x07secret"} {
		if got := m.cut("a "+s+" b", 1<<20); got != "a "+model.Dots+" b" {
			t.Errorf("%q becomes %q", s, got)
		}
	}
	for _, s := range []string{"Ann Example", "wayland", "production"} {
		if got := m.cut(s, 1<<20); got != s {
			t.Errorf("%q becomes %q", s, got)
		}
	}
	if got := m.cut("\x1b[2J\x1b[31mred\u202e\x1b[0m\nnext\x1b", 1<<20); got != "red\ufffd next\ufffd" {
		t.Errorf("%q", got)
	}
	if got := m.lines("one\r\ntwo\x1b[0m\n\tthree\u200b"); got != "one\ntwo\n three\ufffd" {
		t.Errorf("%q", got)
	}
}

func TestCutNeverSplitsASecret(t *testing.T) {
	t.Parallel()
	m := newMasker(Target{Secrets: []model.Variable{{Name: "A", Value: model.NewSecret("0123456789SECRET")}}})
	for limit := 1; limit < 60; limit++ {
		for lead := range 40 {
			raw := strings.Repeat("x", lead) + "0123456789SECRET" + strings.Repeat("é", 30)
			got := m.cut(raw, limit)
			if strings.Contains(got, "0") || strings.Contains(got, "SE") || got != model.Clean(got) || len(got) > limit+len("…") {
				t.Fatalf("lead %d, limit %d: %q", lead, limit, got)
			}
		}
	}
}

func TestTailNeverBeginsWithinASecret(t *testing.T) {
	t.Parallel()
	const secret = "abcdefghijSECRETklmnop"
	for _, end := range []string{"\n", "\nmore\n", ""} {
		for cut := range len(secret) + 2 {
			rec := newRecorder(newMasker(Target{Secrets: []model.Variable{{Name: "A", Value: model.NewSecret(secret)}}}), nil)
			rec.addStderr([]byte(secret + strings.Repeat(".", stderrTail-len(end)-cut) + end))
			lines, _ := rec.stderrLines()
			for _, l := range lines {
				if strings.ContainsAny(l, "abcdefghijklnp") && l != "more" {
					t.Fatalf("cut %d: %.40q", cut, l)
				}
			}
		}
	}
}

func TestCutKeepsWhatIsPlain(t *testing.T) {
	t.Parallel()
	m := newMasker(Target{Secrets: []model.Variable{{Name: "A", Value: model.NewSecret("0123456789SECRET")}}})
	for _, n := range []int{0, 9, 10, 11, 50, 500} {
		want := strings.Repeat("x", min(n, 10))
		if n > 10 {
			want += "…"
		}
		if got := m.cut(strings.Repeat("x", n), 10); got != want {
			t.Errorf("%d: %q", n, got)
		}
	}
}

func TestMaskJSONStaysValid(t *testing.T) {
	t.Parallel()
	m := newMasker(Target{Secrets: []model.Variable{{Name: "PIN_TOKEN", Value: model.NewSecret("12345678")}, {Name: "X", Value: model.NewSecret(`"type":"object"`)}}})
	for in, want := range map[string]string{
		`{"maximum": 12345678, "a":"b 12345678", "12345678": [true,null,-1.5e3]}`: `{"maximum":12345678,"a":"b ` + model.Dots + `","` + model.Dots + `":[true,null,-1.5e3]}`,
		`{"type":"object"}`:        `{"type":"object"}`,
		`"a\"b\\"`:                 `"a\"b\\"`,
		`{"d":"x\u001b[31my\nz<"}`: `{"d":"xy\nz<"}`,
		`[]`:                       `[]`,
		`{"broken":`:               ``,
		`"\ud800"`:                 `"` + "\ufffd" + `"`,
	} {
		if got := string(m.json(json.RawMessage(in))); got != want {
			t.Errorf("%s becomes %s, want %s", in, got, want)
		}
	}
}
