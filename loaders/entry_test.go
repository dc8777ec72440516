package loaders

import "testing"

// TestQuotedVariable: what cannot be the name of a variable may be a secret in braces, and its end is not shown.
func TestQuotedVariable(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"API_KEY": "API_KEY", "env:API_KEY": "env:API_KEY", "a.b": "a.b",
		"API_KEY:-default": "API_KEY…", "sk-ant-0123456789": "sk…", "two words": "two…", "Bearer x": "Bearer…", "": "",
	} {
		if got := quotedVariable(in); got != quoted(want) {
			t.Errorf("%q shows as %s, want %s", in, got, quoted(want))
		}
	}
	if got := quotedKey("TOKEN: s3cret, args"); got != quoted("TOKEN…") {
		t.Errorf("a key that swallowed a value shows as %s", got)
	}
	if got := quotedKey("alwaysAllow"); got != "alwaysAllow" {
		t.Errorf("a key shows as %s", got)
	}
	if got := quotedInput("github-token:x"); got != quoted("github-token…") {
		t.Errorf("an input shows as %s", got)
	}
}
