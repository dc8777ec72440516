package cli

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"fusebox/model"
)

// logger writes fusebox's own log: a line per event with its time, cleaned, without known secrets. The nil logger writes
// nothing. Its methods may be called from several goroutines.
type logger struct {
	mu       sync.Mutex
	w        io.Writer
	now      func() time.Time
	snapshot *model.Snapshot // whose secrets have to be learnt before the next event; nil: they are
	redactor *model.Redactor
}

// openLog appends to the log file, if one is asked for. The file is readable by its owner only. A pipe that nobody reads from
// is refused: opening it would wait for ever.
func openLog(path string) (log *logger, closeLog func() error, err error) {
	if path == "" {
		return nil, func() error { return nil }, nil
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY|openWithoutWaiting, 0o600)
	if err != nil {
		return nil, nil, &exitError{exitUsage, fmt.Errorf("open the log: %w", err)}
	}
	return newLogger(f, time.Now), f.Close, nil
}

func newLogger(w io.Writer, now func() time.Time) *logger {
	return &logger{w: w, now: now, redactor: model.NewRedactor(environmentSecrets(os.Environ()))}
}

// mask hides the secrets of this snapshot from now on.
func (l *logger) mask(s *model.Snapshot) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.snapshot = s
}

// printf writes an event. Further lines of a text, such as a trace, are indented.
func (l *logger) printf(format string, args ...any) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.snapshot != nil {
		l.redactor.Learn(l.snapshot)
		l.snapshot = nil
	}
	prefix := l.now().UTC().Format("2006-01-02T15:04:05.000Z ")
	for _, line := range strings.Split(strings.TrimRight(fmt.Sprintf(format, args...), "\n"), "\n") {
		fmt.Fprintf(l.w, "%s%s\n", prefix, l.redactor.Text(model.Clean(strings.ReplaceAll(line, "\t", "    "))))
		prefix = "    "
	}
}

// environmentSecrets are the values of secret-looking variables of this process.
func environmentSecrets(environ []string) []model.Variable {
	var out []model.Variable
	for _, kv := range environ {
		if name, value, ok := strings.Cut(kv, "="); ok && model.IsSecretName(name) {
			out = append(out, model.Variable{Name: name, Value: model.NewSecret(value)})
		}
	}
	return out
}
