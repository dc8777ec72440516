package loaders

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// What harnesses written in Python leave to its library: patterns of fnmatch, the look-up of shutil.which, .env files of
// python-dotenv.

// pythonSpace tells whether str.strip and \s take a character for white space.
func pythonSpace(r rune) bool {
	return unicode.IsSpace(r) || r >= 0x1c && r <= 0x1f
}

// pythonStrip is str.strip.
func pythonStrip(s string) string { return strings.TrimFunc(s, pythonSpace) }

// pythonLines is str.splitlines.
func pythonLines(s string) []string {
	var out []string
	start := 0
	for i, r := range s {
		if i < start {
			continue
		}
		end := 0
		switch r {
		case '\r':
			end = i + 1
			if strings.HasPrefix(s[end:], "\n") {
				end++
			}
		case '\n', '\v', '\f', 0x1c, 0x1d, 0x1e, 0x85, 0x2028, 0x2029:
			end = i + utf8.RuneLen(r)
		default:
			continue
		}
		out = append(out, s[start:i])
		start = end
	}
	if start < len(s) {
		out = append(out, s[start:])
	}
	return out
}

// pythonFnmatch is fnmatch.fnmatchcase (Python 3.12): * any run, ? any character, [...] one of a set, [!...] one that is
// not. There is no escape but a set of one.
func pythonFnmatch(text, pattern string) bool {
	parts := fnmatchParts([]rune(pattern))
	subject := []rune(text)
	at, part := 0, 0
	starAt, starPart := -1, -1
	for at < len(subject) {
		switch {
		case part < len(parts) && parts[part].star:
			starAt, starPart = at, part
			part++
		case part < len(parts) && parts[part].matches(subject[at]):
			at++
			part++
		case starPart >= 0:
			starAt++
			at, part = starAt, starPart+1
		default:
			return false
		}
	}
	for part < len(parts) && parts[part].star {
		part++
	}
	return part == len(parts)
}

// fnmatchPart is one step of a pattern: a star, or one character out of ranges.
type fnmatchPart struct {
	star   bool
	not    bool
	ranges [][2]rune
}

func (p fnmatchPart) matches(r rune) bool {
	in := slices.ContainsFunc(p.ranges, func(x [2]rune) bool { return x[0] <= r && r <= x[1] })
	return in != p.not
}

func fnmatchParts(pattern []rune) []fnmatchPart {
	var out []fnmatchPart
	for i := 0; i < len(pattern); i++ {
		switch c := pattern[i]; c {
		case '*':
			if len(out) == 0 || !out[len(out)-1].star {
				out = append(out, fnmatchPart{star: true})
			}
			continue
		case '?':
			out = append(out, fnmatchPart{not: true})
			continue
		case '[':
			end := i + 1
			if end < len(pattern) && pattern[end] == '!' {
				end++
			}
			if end < len(pattern) && pattern[end] == ']' {
				end++
			}
			for end < len(pattern) && pattern[end] != ']' {
				end++
			}
			if end < len(pattern) {
				out = append(out, fnmatchSet(pattern[i+1:end]))
				i = end
				continue
			}
		}
		out = append(out, fnmatchPart{ranges: [][2]rune{{pattern[i], pattern[i]}}})
	}
	return out
}

// fnmatchSet reads what stands between the brackets of a set.
func fnmatchSet(set []rune) fnmatchPart {
	var p fnmatchPart
	if p.not = set[0] == '!'; p.not {
		set = set[1:]
	}
	// Pieces between the hyphens that make ranges: a hyphen at either end, or right behind a range, is one of the set.
	var pieces [][]rune
	start, from := 0, 1
	for {
		hyphen := -1
		if from < len(set) {
			hyphen = slices.Index(set[from:], '-')
		}
		if hyphen < 0 {
			break
		}
		hyphen += from
		pieces = append(pieces, slices.Clone(set[start:hyphen]))
		start, from = hyphen+1, hyphen+3
	}
	switch rest := set[min(start, len(set)):]; {
	case len(rest) > 0 || len(pieces) == 0:
		pieces = append(pieces, slices.Clone(rest))
	default:
		last := len(pieces) - 1
		pieces[last] = append(pieces[last], '-')
	}
	for k := len(pieces) - 1; k > 0; k-- { // a range that runs backwards is empty
		before, after := pieces[k-1], pieces[k]
		if before[len(before)-1] > after[0] {
			pieces[k-1] = append(before[:len(before)-1], after[1:]...)
			pieces = slices.Delete(pieces, k, k+1)
		}
	}
	for k, piece := range pieces {
		for i, r := range piece {
			if i == 0 && k > 0 {
				p.ranges[len(p.ranges)-1][1] = r
				continue
			}
			p.ranges = append(p.ranges, [2]rune{r, r})
		}
	}
	return p
}

// pythonWhich finds a program as shutil.which does on path, the value of PATH. A command with a folder in it counts from
// dir; an empty dir finds no relative one.
func pythonWhich(env *Env, r *Reader, dir, command string) bool {
	absolute := func(p string) string {
		if filepath.IsAbs(p) || p == "" {
			return p
		}
		if dir == "" {
			return ""
		}
		return filepath.Join(dir, p)
	}
	names := []string{command}
	if env.GOOS == "windows" {
		extensions := env.Var("PATHEXT")
		if extensions == "" {
			extensions = ".COM;.EXE;.BAT;.CMD;.VBS;.JS;.WS;.MSC"
		}
		names = nil
		for _, ext := range strings.Split(extensions, ";") {
			if ext == "" {
				continue
			}
			if strings.HasSuffix(strings.ToLower(command), strings.ToLower(ext)) {
				names = append([]string{command}, names...)
			}
			names = append(names, command+ext)
		}
	}
	separators := "/"
	if env.GOOS == "windows" {
		separators = `/\`
	}
	if command == "" || strings.HasSuffix(command, "/") {
		return false
	}
	folders := []string{""}
	if !strings.ContainsAny(command, separators) {
		path, set := env.Lookup("PATH")
		if !set {
			path = "/bin:/usr/bin"
		}
		if path == "" {
			return false
		}
		list := ":"
		if env.GOOS == "windows" {
			list = ";"
		}
		folders = strings.Split(path, list)
	}
	for _, folder := range folders {
		for _, name := range names {
			if at := absolute(filepath.Join(folder, name)); at != "" && mayRun(env, r, at) {
				return true
			}
		}
	}
	return false
}

// mayRun tells whether a path is something other than a folder that the user may execute.
func mayRun(env *Env, r *Reader, path string) bool {
	info, err := r.Stat(path)
	if err != nil || info.IsDir() {
		return false
	}
	return executableFor(info, env.UID)
}

// pythonDotenvEntry is a variable of a .env file; Set is false for a name without a value.
type pythonDotenvEntry struct {
	name, value string
	set         bool
	line        int
}

// dotenvSpace is \s of Python, for a set of characters.
const dotenvSpace = `\s\x0b\x1c-\x1f\x{85}\p{Z}`

var (
	dotenvExport       = regexp.MustCompile(`^export[\t\x0b\f\r\x1c-\x1f\x{85}\p{Z}]+`)
	dotenvQuotedKey    = regexp.MustCompile(`^'([^']+)'`)
	dotenvKey          = regexp.MustCompile(`^[^=#` + dotenvSpace + `]+`)
	dotenvSingleQuoted = regexp.MustCompile(`^'((?:\\'|[^'])*)'`)
	dotenvDoubleQuoted = regexp.MustCompile(`^"((?:\\"|[^"])*)"`)
	dotenvInlineNote   = regexp.MustCompile(`[` + dotenvSpace + `]+#.*`)
	dotenvReference    = regexp.MustCompile(`\$\{([^}:]*)(?::-([^}]*))?\}`)
)

// pythonDotenv reads a .env file as dotenv_values of python-dotenv 1.2.2 does: names may be quoted or exported, quotes
// take in line ends and escapes, a # behind white space ends a bare value, and ${NAME} and ${NAME:-default} are filled in
// from the file so far, then the environment. ok is false when the file is not UTF-8, which Python cannot read. Of equal
// names the last counts.
func pythonDotenv(data []byte, lookup func(string) (string, bool)) (out []pythonDotenvEntry, ok bool) {
	if !utf8.Valid(data) {
		return nil, false
	}
	p := &dotenvParser{rest: strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(string(data)), line: 1}
	index := map[string]int{}
	for p.rest != "" {
		e, found := p.binding()
		if !found {
			continue
		}
		if e.set {
			e.value = dotenvReference.ReplaceAllStringFunc(e.value, func(ref string) string {
				m := dotenvReference.FindStringSubmatch(ref)
				if i, have := index[m[1]]; have {
					return out[i].value
				}
				if v, have := lookup(m[1]); have {
					return v
				}
				return m[2]
			})
		}
		if i, have := index[e.name]; have {
			out[i] = e
			continue
		}
		index[e.name] = len(out)
		out = append(out, e)
	}
	return out, true
}

type dotenvParser struct {
	rest string
	line int
}

func (p *dotenvParser) take(n int) string {
	text := p.rest[:n]
	p.line += strings.Count(text, "\n")
	p.rest = p.rest[n:]
	return text
}

func (p *dotenvParser) takeSpace(lines bool) {
	n := strings.IndexFunc(p.rest, func(r rune) bool { return !pythonSpace(r) || r == '\n' && !lines })
	if n < 0 {
		n = len(p.rest)
	}
	p.take(n)
}

// binding reads one statement; a line that is none is skipped.
func (p *dotenvParser) binding() (e pythonDotenvEntry, found bool) {
	p.takeSpace(true)
	if p.rest == "" {
		return e, false
	}
	e, found, ok := p.statement()
	if !ok {
		n := strings.IndexByte(p.rest, '\n')
		p.take(n + 1)
		if n < 0 {
			p.rest = ""
		}
		return e, false
	}
	return e, found
}

func (p *dotenvParser) statement() (e pythonDotenvEntry, found, ok bool) {
	p.take(len(dotenvExport.FindString(p.rest)))
	e.line = p.line
	switch {
	case strings.HasPrefix(p.rest, "#"):
	case strings.HasPrefix(p.rest, "'"):
		m := dotenvQuotedKey.FindStringSubmatch(p.rest)
		if m == nil {
			return e, false, false
		}
		p.take(len(m[0]))
		e.name, found = m[1], true
	default:
		if e.name = dotenvKey.FindString(p.rest); e.name == "" {
			return e, false, false
		}
		p.take(len(e.name))
		found = true
	}
	p.takeSpace(false)
	if strings.HasPrefix(p.rest, "=") {
		p.take(1)
		p.takeSpace(false)
		e.set = true
		if e.value, ok = p.value(); !ok {
			return e, false, false
		}
	}
	p.takeSpace(false)
	if strings.HasPrefix(p.rest, "#") {
		n := strings.IndexByte(p.rest, '\n')
		if n < 0 {
			n = len(p.rest)
		}
		p.take(n)
	}
	switch {
	case p.rest == "":
	case p.rest[0] == '\n':
		p.take(1)
	default:
		return e, false, false
	}
	return e, found, true
}

func (p *dotenvParser) value() (string, bool) {
	if p.rest == "" || p.rest[0] == '\n' {
		return "", true
	}
	pattern, escapes := dotenvSingleQuoted, `\'`
	switch p.rest[0] {
	case '\'':
	case '"':
		pattern, escapes = dotenvDoubleQuoted, `\'"abfnrtv`
	default:
		n := strings.IndexByte(p.rest, '\n')
		if n < 0 {
			n = len(p.rest)
		}
		text := dotenvInlineNote.ReplaceAllString(p.take(n), "")
		return strings.TrimRightFunc(text, pythonSpace), true
	}
	m := pattern.FindStringSubmatch(p.rest)
	if m == nil {
		return "", false
	}
	p.take(len(m[0]))
	return unescapeDotenv(m[1], escapes), true
}

// unescapeDotenv resolves these escapes; other backslashes stay.
func unescapeDotenv(s, escapes string) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	special := map[byte]byte{'a': '\a', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t', 'v': '\v'}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i+1 == len(s) || strings.IndexByte(escapes, s[i+1]) < 0 {
			b.WriteByte(s[i])
			continue
		}
		i++
		if c, ok := special[s[i]]; ok {
			b.WriteByte(c)
		} else {
			b.WriteByte(s[i])
		}
	}
	return b.String()
}
