package mcpclient

import (
	"bytes"
	"encoding/json"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"fusebox/model"
)

// masker takes every known secret out of foreign text and makes it harmless for a screen.
type masker struct {
	redactor *model.Redactor
	longest  int // bytes of the longest form of a secret; what is cut off raw text needs that much beyond the cut
}

// secretPiece is how much of a very long value is looked for at once, so that a cut never leaves part of it.
const secretPiece = 4 << 10

// plainVariables have names that look secret and values that are words or paths.
var plainVariables = map[string]bool{
	"XDG_SESSION_ID": true, "XDG_SESSION_TYPE": true, "XDG_SESSION_CLASS": true, "XDG_SESSION_DESKTOP": true,
	"XDG_SESSION_PATH": true, "DESKTOP_SESSION": true, "GDMSESSION": true, "SESSION_MANAGER": true, "SESSIONNAME": true,
	"DBUS_SESSION_BUS_ADDRESS": true, "SSH_AUTH_SOCK": true, "XAUTHORITY": true, "ICEAUTHORITY": true,
	"SSL_CERT_FILE": true, "SSL_CERT_DIR": true, "NODE_EXTRA_CA_CERTS": true, "REQUESTS_CA_BUNDLE": true,
	"GIT_AUTHOR_NAME": true, "GIT_AUTHOR_EMAIL": true, "GIT_AUTHOR_DATE": true,
}

func newMasker(t Target) *masker {
	d := &model.Definition{Transport: t.Transport, Command: t.Command, Args: model.Secrets(t.Args), URL: model.NewSecret(t.URL)}
	secrets := append(d.Secrets(), t.Secrets...)
	for _, h := range t.Headers {
		secrets = append(secrets, model.Variable{Name: h.Name, Value: model.NewSecret(h.Value)})
	}
	for _, kv := range t.Env {
		if name, value, ok := strings.Cut(kv, "="); ok && model.IsSecretName(name) && !plainVariables[name] {
			secrets = append(secrets, model.Variable{Name: name, Value: model.NewSecret(value)})
		}
	}
	var forms []model.Variable
	m := &masker{}
	for _, s := range secrets {
		for _, form := range secretForms(s.Value.Reveal()) {
			forms = append(forms, model.Variable{Name: s.Name, Value: model.NewSecret(form)})
			// Percent signs make a value up to three times as long. Of a very long one each piece counts.
			m.longest = max(m.longest, 3*min(len(form), secretPiece)+4)
		}
	}
	m.redactor = model.NewRedactor(forms)
	return m
}

// secretForms returns the value and how it looks inside JSON and in quotes, its lines, the secret parts of a URL in it, and
// the pieces of what is very long.
func secretForms(value string) []string {
	var forms []string
	add := func(s string) {
		if !slices.Contains(forms, s) {
			forms = append(forms, s)
		}
	}
	add(value)
	if strings.ContainsAny(value, "\r\n") {
		for _, line := range strings.FieldsFunc(value, func(r rune) bool { return r == '\r' || r == '\n' }) {
			if line = strings.TrimSpace(line); len(line) >= 8 {
				add(line)
			}
		}
	}
	if u, err := url.Parse(value); err == nil && u.Host != "" {
		password, _ := u.User.Password()
		add(password)
		for _, vs := range u.Query() {
			for _, v := range vs {
				if len(v) >= 8 {
					add(v)
				}
			}
		}
	}
	for _, f := range slices.Clone(forms) {
		add(quoteJSON(f))
		html, _ := json.Marshal(f)
		add(string(html[1 : len(html)-1]))
		ascii := strconv.QuoteToASCII(f)
		add(ascii[1 : len(ascii)-1])
	}
	for _, f := range slices.Clone(forms) {
		for rest := f; len(rest) > secretPiece; rest = rest[secretPiece:] {
			add(rest[:secretPiece])
			if len(rest) < 2*secretPiece && len(rest) >= secretPiece+8 {
				add(rest[secretPiece:])
			}
		}
	}
	return forms
}

// quoteJSON is the inside of a JSON string.
func quoteJSON(s string) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if enc.Encode(s) != nil {
		return s
	}
	return strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(b.String()), `"`), `"`)
}

// escapes are the sequences by which programs colour their output: CSI, OSC, and two-character ones.
var escapes = regexp.MustCompile(`\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b\n]*(?:\x07|\x1b\\)?|[ -/]*[0-~])`)

// lines masks and cleans foreign text and keeps its line breaks. Colours go first, so that none of them hides a secret.
func (m *masker) lines(s string) string {
	s = m.redactor.Text(stripEscapes(s))
	if !strings.ContainsAny(s, "\r\n") {
		return model.Clean(s)
	}
	parts := strings.Split(strings.ReplaceAll(s, "\r\n", "\n"), "\n")
	for i, p := range parts {
		parts[i] = model.Clean(p)
	}
	return strings.Join(parts, "\n")
}

// cut masks and cleans raw text of which at most limit bytes are wanted. Only so much of a long text is looked at that a
// secret which begins within the limit is seen whole.
func (m *masker) cut(raw string, limit int) string {
	more := len(raw) > limit
	lost := len(raw) > limit+m.longest
	if lost {
		raw = raw[:limit+m.longest]
	}
	s := m.redactor.Text(stripEscapes(raw))
	if lost {
		// Dots are shorter than what they stand for: the beginning of a secret at the very end may have moved into the limit.
		s = s[:max(0, len(s)-m.longest)]
	}
	s = model.Clean(strings.ToValidUTF8(s, "\ufffd"))
	if len(s) > limit {
		s = s[:limit]
		for len(s) > 0 && !utf8.ValidString(s[max(0, len(s)-utf8.UTFMax):]) {
			s = s[:len(s)-1]
		}
		more = true
	}
	if more {
		s += "…"
	}
	return s
}

// json masks and cleans every string of a JSON text; what was valid stays valid.
func (m *masker) json(raw json.RawMessage) json.RawMessage {
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil {
		return nil
	}
	in := b.Bytes()
	out := make([]byte, 0, len(in))
	for i := 0; i < len(in); {
		if in[i] != '"' {
			out = append(out, in[i])
			i++
			continue
		}
		end := i + 1
		for in[end] != '"' {
			if in[end] == '\\' {
				end++
			}
			end++
		}
		end++
		var s string
		if json.Unmarshal(in[i:end], &s) != nil {
			s = ""
		}
		out = append(out, '"')
		out = append(out, quoteJSON(m.lines(s))...)
		out = append(out, '"')
		i = end
	}
	return out
}

func stripEscapes(s string) string {
	if strings.IndexByte(s, 0x1b) < 0 {
		return s
	}
	return escapes.ReplaceAllString(s, "")
}
