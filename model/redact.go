package model

import (
	"encoding/base64"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// secretName matches names of variables, headers and flags whose value is likely a secret.
var secretName = regexp.MustCompile(`(?i)(token|secret|passw|passwd|pwd|api[-_]?key|apikey|[-_]key$|^key$|auth|credential|creds|private|cert|session|cookie|bearer|signature|^sig$|passphrase|(^|[-_])(pass|pat|dsn)$|connection[-_]?string)`)

// secretText matches texts that look like a credential by themselves: a scheme word, or a well-known prefix.
var secretText = regexp.MustCompile(`^(?i:bearer|basic) \S|^((sk|pk|rk)[-_]|xox[abposr]-|gh[pousr]_|github_pat_|glpat-|npm_|hf_|pypi-|lin_api_|ntn_|secret_|fig[dp]_|dop_v1_|sbp_)[-_A-Za-z0-9.]{12,}|^(AKIA|ASIA)[A-Z0-9]{12,}|^AIza[-_A-Za-z0-9]{20,}|^ya29\.[-_A-Za-z0-9]{10,}|^eyJ[-_A-Za-z0-9]{10,}\.`)

// credential tells whether a text looks like a credential as a whole. What only has such a prefix, like a package of that
// name, holds no digit.
func credential(s string) bool {
	return secretText.MatchString(s) && (strings.ContainsAny(s, "0123456789") || strings.Contains(s, " "))
}

// longRandom finds an unbroken run that is long and mixed enough to be a key.
var longRandom = regexp.MustCompile(`[A-Za-z0-9+_=-]{24,}`)

var urlInText = regexp.MustCompile(`[A-Za-z][A-Za-z0-9+.-]*://[^\s"'<>]+`)

// plainNames are variables that every login has; they only sound like secrets.
var plainNames = map[string]bool{
	"PWD": true, "OLDPWD": true, "SSH_AUTH_SOCK": true, "DESKTOP_SESSION": true, "SESSION_MANAGER": true,
	"DBUS_SESSION_BUS_ADDRESS": true, "GDMSESSION": true, "XDG_SESSION_CLASS": true, "XDG_SESSION_DESKTOP": true,
	"XDG_SESSION_ID": true, "XDG_SESSION_PATH": true, "XDG_SESSION_TYPE": true,
}

// IsSecretName tells whether a variable, header or flag of this name likely holds a secret.
func IsSecretName(name string) bool {
	return !plainNames[name] && secretName.MatchString(author.ReplaceAllString(name, ""))
}

// author only sounds like auth.
var author = regexp.MustCompile(`(?i)author([^i]|$)`)

// looksSecret tells whether a text looks like a credential by itself.
func looksSecret(s string) bool {
	if credential(s) {
		return true
	}
	for _, run := range longRandom.FindAllString(s, -1) {
		if looksRandom(run) {
			return true
		}
	}
	return false
}

// looksRandom asks for digits, and letters of both cases or a hexadecimal text, in one long run.
func looksRandom(run string) bool {
	var digits, upper, lower, hex int
	for _, r := range run {
		switch {
		case r >= '0' && r <= '9':
			digits++
			hex++
		case r >= 'A' && r <= 'Z':
			upper++
			if r <= 'F' {
				hex++
			}
		case r >= 'a' && r <= 'z':
			lower++
			if r <= 'f' {
				hex++
			}
		}
	}
	if digits >= 3 && upper >= 2 && lower >= 2 {
		return true
	}
	return len(run) >= 32 && hex == len(run) && digits >= 4
}

// MaskArguments returns the arguments as they may be shown: values of secret-looking flags, credentials, what is assigned to
// a secret-looking name within an argument, and the secret parts of URLs are dots. References to variables stay, they hold
// nothing.
func MaskArguments(args []string) []string {
	out, _ := maskArguments(args)
	return out
}

// MaskCommand returns a command as it may be shown. One that holds a whole command line, which no system would find, is
// masked like arguments.
func MaskCommand(command string) string {
	out, _ := maskCommand(command)
	return out
}

func maskCommand(command string) (shown string, hidden []Variable) {
	words := strings.Split(command, " ")
	if len(words) == 1 {
		return MaskText(command), nil
	}
	out, hidden := maskArguments(words)
	return MaskText(hideAssigned(strings.Join(out, " "), hider(&hidden))), hidden
}

// hider returns a maskValue that remembers what it hid: of several words also each that is not a plain one.
func hider(hidden *[]Variable) func(value string) string {
	return func(value string) string {
		shown := maskValue(value)
		if shown == value {
			return shown
		}
		*hidden = append(*hidden, Variable{"token", Secret{value}})
		if words := strings.Fields(value); len(words) > 1 {
			for _, w := range words {
				if !plainWord(w) && !isReference(w) {
					*hidden = append(*hidden, Variable{"token", Secret{w}})
				}
			}
		}
		return shown
	}
}

// maskArguments also returns what it hid, for looking for it elsewhere.
func maskArguments(args []string) (out []string, hidden []Variable) {
	out = make([]string, len(args))
	hide := hider(&hidden)
	hideNext, userNext := false, false
	for i, a := range args {
		if hideNext && !isFlag(a) {
			out[i] = hide(a)
			hideNext = false
			continue
		}
		login := userNext
		hideNext, userNext = false, a == "-u" || a == "--user"
		flag, loginOfFlag := strings.CutPrefix(a, "--user=")
		switch {
		case loginOfFlag && isLogin(flag):
			name, password, _ := strings.Cut(flag, ":")
			out[i] = "--user=" + name + ":" + hide(password)
			continue
		case login && isLogin(a):
			name, password, _ := strings.Cut(a, ":")
			out[i] = name + ":" + hide(password)
			continue
		}
		if name, value, ok := strings.Cut(a, "="); ok && name != "" && IsSecretName(strings.TrimLeft(name, "-")) && !strings.ContainsAny(name, `"';& `) && !strings.Contains(name, "://") {
			out[i] = name + "=" + hide(value)
			continue
		}
		if name, value, ok := strings.Cut(a, ":"); ok && IsSecretName(name) && strings.TrimSpace(value) != "" && !strings.HasPrefix(value, "//") && !strings.ContainsAny(name, `/@"'{;& =`) {
			value = strings.TrimSpace(value)
			out[i] = name + ": " + maskValue(value)
			if out[i] != name+": "+value {
				hidden = append(hidden, Variable{"token", Secret{a}})
				if !plainWord(value) { // the tag of an image, a word for a port
					hide(value)
				}
			}
			continue
		}
		if strings.HasPrefix(a, "-") && !strings.Contains(a, "=") && IsSecretName(strings.TrimLeft(a, "-")) {
			hideNext = true
		}
		shown := hideAssigned(a, hide)
		out[i] = MaskText(shown)
		switch {
		case out[i] == shown:
		case strings.Contains(shown, "://"):
			for _, found := range urlInText.FindAllString(shown, -1) {
				hidden = append(hidden, urlSecrets(found)...)
			}
		default:
			_, value, ok := strings.Cut(a, "=")
			if !ok {
				value = a
			}
			hidden = append(hidden, Variable{"token", Secret{value}})
		}
	}
	return out, hidden
}

// plainFlag is an argument that starts another flag: a word behind one or two dashes. What else begins with a dash may be a
// value.
var plainFlag = regexp.MustCompile(`^(-[A-Za-z]|--?[a-z]+([-_.][a-z]+)*)(=.*)?$`)

func isFlag(arg string) bool { return arg == "--" || plainFlag.MatchString(arg) }

// isLogin tells whether a text is a name and a password as curl takes them, and not the two numbers of a user and a group.
func isLogin(s string) bool {
	name, password, ok := strings.Cut(s, ":")
	return ok && name != "" && password != "" && !strings.Contains(s, "://") && strings.Trim(name+password, "0123456789") != ""
}

// assigned finds NAME=VALUE, "NAME": VALUE and NAME: VALUE within a text, such as a connection string or a JSON argument.
var assigned = regexp.MustCompile(`(^|[\s"'{,;&?=(\[])([A-Za-z_][A-Za-z0-9_.-]*)(\\*["']?\s*[:=]\s*)(\\*"[^"]*"|'[^']*'|(?:(?i:bearer|basic|token) +)?[^\s"',;&}\])]+)`)

// hideAssigned hides what a text assigns to secret-looking names.
func hideAssigned(text string, hide func(string) string) string {
	if !strings.ContainsAny(text, "=:") {
		return text
	}
	return assigned.ReplaceAllStringFunc(text, func(found string) string {
		m := assigned.FindStringSubmatch(found)
		// "User Id" and the like stand before the name; a host and port or a tag are no assignment.
		if !IsSecretName(m[2]) || strings.HasPrefix(m[4], "//") {
			return found
		}
		switch m[4] {
		case "true", "false", "null", "{", "[":
			return found
		}
		value := m[4]
		open, close := "", ""
		for strings.HasPrefix(value, `\`) {
			open, value = open+`\`, value[1:]
		}
		if len(value) >= 2 && (value[0] == '"' || value[0] == '\'') && value[len(value)-1] == value[0] {
			open, close, value = open+value[:1], value[:1], value[1:len(value)-1]
			for strings.HasSuffix(value, `\`) {
				close, value = `\`+close, value[:len(value)-1]
			}
		}
		return m[1] + m[2] + m[3] + open + hide(value) + close
	})
}

// maskValue hides a value unless it is nothing but a reference to a variable.
func maskValue(v string) string {
	if v == "" || isReference(v) {
		return v
	}
	return Dots
}

var referenceOnly = regexp.MustCompile(`^(\$[A-Za-z_][A-Za-z0-9_]*|\$\{[A-Za-z_][A-Za-z0-9_]*\}|\$\{(env|input):[A-Za-z0-9_.-]+\}|\{env:[A-Za-z_][A-Za-z0-9_]*\})$`)

func isReference(v string) bool {
	v = strings.TrimPrefix(v, "Bearer ")
	return referenceOnly.MatchString(v)
}

// MaskText hides what looks like a credential in one word or one line of foreign text, and the secret parts of URLs.
func MaskText(s string) string {
	if strings.Contains(s, "://") {
		s = urlInText.ReplaceAllStringFunc(s, MaskURL)
	}
	if credential(s) {
		return Dots
	}
	if len(s) < 24 {
		return s
	}
	return longRandom.ReplaceAllStringFunc(s, func(run string) string {
		if looksRandom(run) {
			return Dots
		}
		return run
	})
}

// plainPathWords are path segments of URLs that say nothing about who asks.
var plainPathWords = map[string]bool{
	"api": true, "mcp": true, "sse": true, "ws": true, "v1": true, "v2": true, "v3": true, "v4": true, "rpc": true,
	"http": true, "stream": true, "messages": true, "message": true, "server": true, "servers": true, "public": true,
	"beta": true, "latest": true, "events": true, "jsonrpc": true, "readonly": true, "tools": true, "x": true, "all": true,
}

// MaskURL returns scheme, host, port and well-known path words of a URL; user, password, other segments, query and
// fragment are dots. A text that is no URL is dots as a whole, unless it is a mere reference to a variable.
func MaskURL(raw string) string {
	if raw == "" || isReference(raw) {
		return raw
	}
	scheme, rest, ok := strings.Cut(raw, "://")
	if !ok {
		return Dots
	}
	for _, r := range scheme {
		if !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '+' || r == '-' || r == '.') {
			return Dots
		}
	}
	end := strings.IndexAny(rest, "/?#")
	authority, tail := rest, ""
	if end >= 0 {
		authority, tail = rest[:end], rest[end:]
	}
	var b strings.Builder
	b.WriteString(Clean(scheme) + "://")
	if at := strings.LastIndexByte(authority, '@'); at >= 0 {
		b.WriteString(Dots + "@")
		authority = authority[at+1:]
	}
	if looksSecret(authority) || strings.ContainsAny(authority, "{}") && !isReference(authority) {
		b.WriteString(Dots)
	} else {
		b.WriteString(Clean(authority))
	}
	pathPart := tail
	if i := strings.IndexAny(tail, "?#"); i >= 0 {
		pathPart = tail[:i]
	}
	for i, seg := range strings.Split(pathPart, "/") {
		if i > 0 {
			b.WriteByte('/')
		}
		switch {
		case seg == "":
		case plainPathWords[strings.ToLower(seg)]:
			b.WriteString(seg)
		default:
			b.WriteString(Dots)
		}
	}
	if i := strings.IndexByte(tail, '?'); i >= 0 {
		b.WriteString("?" + Dots)
	} else if strings.IndexByte(tail, '#') >= 0 {
		b.WriteString("#" + Dots)
	}
	return b.String()
}

// Redactor replaces known secret values in any text that leaves the program. The zero value replaces nothing. Text may be
// called from several goroutines, but not while Learn runs.
type Redactor struct {
	values  map[string]struct{}           // the known texts, each at least redactorStart bytes long
	lengths map[[redactorStart]byte][]int // of the values that start so, longest first
	pairs   [1 << 16 / 64]uint64          // which two bytes a value starts with: most places of a text are passed over by it
	learnt  map[*Definition]struct{}      // of the newest snapshot
}

// redactorStart is the length of the shortest value that is looked for, in bytes.
const redactorStart = 6

// NewRedactor makes a redactor for these secrets. A value counts from 8 characters on, or from 6 under a secret-looking
// name; it is also found URL-encoded and in base64. A mere reference to a variable is no secret.
func NewRedactor(secrets []Variable) *Redactor {
	r := &Redactor{}
	r.learn(secrets)
	return r
}

// Learn adds the secrets of a snapshot. What is known from older snapshots stays known.
func (r *Redactor) Learn(s *Snapshot) {
	before := r.learnt
	r.learnt = make(map[*Definition]struct{}, len(before)) // those of older snapshots must not be kept alive
	s.eachDefinition(func(d *Definition) {
		if _, known := r.learnt[d]; known {
			return
		}
		r.learnt[d] = struct{}{}
		if _, known := before[d]; !known {
			r.learn(d.Secrets())
		}
	})
}

// LearnDefinition adds the secrets of a definition that is in no snapshot.
func (r *Redactor) LearnDefinition(d *Definition) { r.learn(d.Secrets()) }

func (r *Redactor) learn(secrets []Variable) {
	for _, s := range secrets {
		value := strings.TrimSpace(s.Value.text)
		for _, prefix := range []string{"Bearer ", "bearer ", "Basic ", "token "} {
			value = strings.TrimPrefix(value, prefix)
		}
		n := utf8.RuneCountInString(value)
		if n < redactorStart || n < 8 && !IsSecretName(s.Name) || isReference(value) {
			continue
		}
		if _, known := r.values[value]; known {
			continue
		}
		bytes := []byte(value)
		for _, form := range [...]string{value, url.QueryEscape(value), url.PathEscape(value),
			base64.StdEncoding.EncodeToString(bytes), base64.RawStdEncoding.EncodeToString(bytes),
			base64.URLEncoding.EncodeToString(bytes), base64.RawURLEncoding.EncodeToString(bytes)} {
			r.add(form)
		}
	}
}

func (r *Redactor) add(value string) {
	if _, known := r.values[value]; known {
		return
	}
	if r.values == nil {
		r.values, r.lengths = map[string]struct{}{}, map[[redactorStart]byte][]int{}
	}
	r.values[value] = struct{}{}
	start := [redactorStart]byte([]byte(value[:redactorStart]))
	pair := uint(value[0])<<8 | uint(value[1])
	r.pairs[pair/64] |= 1 << (pair % 64)
	// Longer first: a secret that holds another one is replaced whole.
	if i, known := slices.BinarySearchFunc(r.lengths[start], len(value), func(a, b int) int { return b - a }); !known {
		r.lengths[start] = slices.Insert(r.lengths[start], i, len(value))
	}
}

// Text returns s with every known secret replaced by six dots.
func (r *Redactor) Text(s string) string {
	if r == nil || len(r.values) == 0 {
		return s
	}
	var b strings.Builder
	done := 0
	for i := 0; i+redactorStart <= len(s); {
		n := r.secretAt(s[i:])
		if n == 0 {
			i++
			continue
		}
		b.WriteString(s[done:i])
		b.WriteString(Dots)
		i += n
		done = i
	}
	if done == 0 {
		return s
	}
	b.WriteString(s[done:])
	return b.String()
}

// secretAt returns the length of the longest known value that s starts with, or 0.
func (r *Redactor) secretAt(s string) int {
	pair := uint(s[0])<<8 | uint(s[1])
	if r.pairs[pair/64]&(1<<(pair%64)) == 0 {
		return 0
	}
	for _, n := range r.lengths[[redactorStart]byte([]byte(s[:redactorStart]))] {
		if n <= len(s) {
			if _, known := r.values[s[:n]]; known {
				return n
			}
		}
	}
	return 0
}
