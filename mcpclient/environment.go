package mcpclient

import (
	"bytes"
	"runtime"
	"strings"
)

// lookEnv returns the value of a variable: the last one counts, and on Windows case does not.
func lookEnv(env []string, name, missing string) string {
	for i := len(env) - 1; i >= 0; i-- {
		k, v, ok := strings.Cut(env[i], "=")
		if ok && (k == name || runtime.GOOS == "windows" && strings.EqualFold(k, name)) {
			return v
		}
	}
	return missing
}

// trimLine drops the blanks round a line, and the mark that some programs begin their output with.
func trimLine(line []byte) []byte {
	return bytes.TrimSpace(bytes.TrimPrefix(line, []byte("\xef\xbb\xbf")))
}
