package loaders

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"fusebox/model"
)

// What is filled in is secret: the whole text, and each value in it.
func TestFilledIn(t *testing.T) {
	t.Parallel()
	env := &Env{GOOS: "linux", Vars: map[string]string{"HOME": "/home/ann", "A": "value-of-a", "B": "value-of-b", "S": "x"}}
	for _, test := range []struct {
		text, filled string
		want         []string
	}{
		{"as it is", "as it is", nil},
		{"${A}", "value-of-a", []string{"value-of-a"}},
		{"--key=${A}", "--key=value-of-a", []string{"--key=value-of-a", "value-of-a"}},
		{"$A and {env:B}.", "value-of-a and value-of-b.", []string{"value-of-a and value-of-b.", "value-of-a", "value-of-b"}},
		{"{file:~/t}${S}", "held by a filex", []string{"held by a filex"}},
		{"X-Key: {file:~/t}", "X-Key: held by a file", []string{"X-Key: held by a file", "held by a file"}},
		{"${HOME}/x", "/home/ann/x", []string{"/home/ann/x"}},
		{"./${A}/x", "/home/ann/value-of-a/x", []string{"/home/ann/value-of-a/x", "value-of-a"}},
		{"${NOPE:-fallback} ${A}", "fallback value-of-a", []string{"fallback value-of-a", "fallback", "value-of-a"}},
		{"${A}!", "", []string{""}},
	} {
		if got := filledIn(env, test.text, test.filled); !slices.Equal(got, test.want) {
			t.Errorf("%q as %q: %q, want %q", test.text, test.filled, got, test.want)
		}
	}
}

// Before anybody wants a launch, no file that the entry names is opened, and nothing of the environment is passed on.
func TestPlannedLaunchOpensNothing(t *testing.T) {
	t.Parallel()
	tr := layTree(t, map[string]string{"./secret.txt": "held-by-a-file", "./opencode.json": `{"mcp":{"a":{"type":"local","command":["run","{file:./secret.txt}","{env:A}"],"environment":{"X":"{file:./gone.txt}"}}}}`},
		map[string]string{"A": "value-of-a", "PATH": "/bin"})
	h := openCode()
	e := &cellNamed(tr.column(h), "a").Entry
	at := "{file:" + filepath.Join(tr.project, "secret.txt") + "}"
	l := h.PlannedLaunch(tr.env, e)
	if l.Command != "run" || !slices.Equal(l.Args, []string{at, "value-of-a"}) || len(l.Env) != 1 || !slices.Equal(l.OwnEnv, []string{"X"}) || len(l.Unset) > 0 {
		t.Errorf("planned: %s %q, environment %q, unset %q", l.Command, l.Args, l.Env, l.Unset)
	}
	whole := h.LaunchFor(tr.env, e)
	if !slices.Equal(whole.Args, []string{"held-by-a-file", "value-of-a"}) || !slices.Contains(whole.Env, "PATH=/bin") || !slices.Contains(whole.Env, "X=") || len(whole.Unset) != 1 {
		t.Errorf("launched: %q, environment %q, unset %q", whole.Args, whole.Env, whole.Unset)
	}
	for _, want := range []string{"held-by-a-file", "value-of-a"} {
		if !slices.ContainsFunc(whole.Secrets, func(v model.Variable) bool { return v.Value.Reveal() == want }) {
			t.Errorf("%s is no secret of the launch", want)
		}
	}
	if err := os.Remove(filepath.Join(tr.project, "secret.txt")); err != nil {
		t.Fatal(err)
	}
	if again := h.PlannedLaunch(tr.env, e); again.Same() != l.Same() {
		t.Error("the plan looks at the file")
	}
}
