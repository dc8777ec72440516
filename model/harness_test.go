package model_test

import (
	"testing"

	"fusebox/model"
)

// TestSignInTo: what is to be typed is never made of a name that a shell reads as something else.
func TestSignInTo(t *testing.T) {
	t.Parallel()
	h := model.Harness{SignIn: "codex mcp login NAME"}
	for name, want := range map[string]string{
		"docs": "codex mcp login docs", "a.b_c-1": "codex mcp login a.b_c-1",
		"": "", "-c": "", "two words": "", "x;rm": "", "$(x)": "", "ü": "", "a\nb": "",
	} {
		if got := h.SignInTo(name); got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
	if got := (model.Harness{}).SignInTo("docs"); got != "" {
		t.Errorf("without a known way: %q", got)
	}
}
