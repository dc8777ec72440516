//go:build !windows

package loaders

import (
	"errors"
	"os"
	"strings"
	"syscall"
	"testing"

	"fusebox/loaders/rewrite"
)

func TestPlansThatAreRefused(t *testing.T) {
	t.Parallel()
	s := newPlanScene(t, map[string]string{"broken": "{\n  \"x\": \n}", "named": "{}"})
	if err := os.Link(s.path("named"), s.path("also")); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(s.path("fifo"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"broken": "broken:3:1 does not parse, so it is not written", "named": "hard link", "fifo": "not a regular file"} {
		_, err := MakePlan([]Edit{s.append(name, "x", "1")})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", name, err, want)
		}
	}
	var e *rewrite.Error
	if _, err := MakePlan([]Edit{s.append("named", "x", "1")}); !errors.As(err, &e) {
		t.Errorf("%v", err)
	}
}
