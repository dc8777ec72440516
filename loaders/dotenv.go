package loaders

import (
	"regexp"
	"strings"
	"sync"
)

// jsSpace is \s of JavaScript, which knows more kinds of blanks than RE2.
const jsSpace = `[\s\x0b\x{feff}\x{2028}\x{2029}\p{Zs}]`

// dotenvLine is the line pattern of the dotenv package (17.x), which Gemini CLI and Qwen Code use. It is large, and most
// runs meet no such file: it is compiled when it is needed.
var dotenvLine = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(dotenvPattern) })

const dotenvPattern = `(?m)^` + jsSpace + `*(?:export` + jsSpace + `+)?([\w.-]+)(?:` + jsSpace + `*=` + jsSpace + `*?|:` + jsSpace + `+?)` +
	`(` + jsSpace + `*'(?:\\'|[^'])*'|` + jsSpace + `*"(?:\\"|[^"])*"|` + jsSpace + "*`(?:\\\\`|[^`])*`" + `|[^#\r\n]+)?` + jsSpace + `*(?:#.*)?$`

// parseDotenv reads a .env file as the dotenv package does: the last of equal names wins, quotes are dropped, \n and \r
// are line ends inside double quotes, nothing is filled in.
func parseDotenv(data []byte) map[string]string {
	text := strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(string(data))
	out := map[string]string{}
	for _, m := range dotenvLine().FindAllStringSubmatch(text, -1) {
		value := trimJS(m[2])
		quote := byte(0)
		if value != "" {
			quote = value[0]
		}
		if n := len(value); n >= 2 && (quote == '\'' || quote == '"' || quote == '`') && value[n-1] == quote {
			value = value[1 : n-1]
		}
		if quote == '"' {
			value = strings.ReplaceAll(strings.ReplaceAll(value, `\n`, "\n"), `\r`, "\r")
		}
		out[m[1]] = value
	}
	return out
}

// dotenvOf returns what a .env file sets; it is parsed once for each content.
func dotenvOf(f *ConfigFile) map[string]string {
	if !f.OK() {
		return nil
	}
	return Memo(f, "dotenv", func() map[string]string { return parseDotenv(f.Data) })
}
