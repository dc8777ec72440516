package model

import "fmt"

// Dots is what stands in the place of every secret, whatever its length.
const Dots = "••••••"

// Secret is a text that must not be shown: an environment value, a header value, a token, a URL with its query, an
// argument. Every way of printing it gives six dots; only Reveal gives the text, for launching and comparing.
type Secret struct{ text string }

// NewSecret wraps text.
func NewSecret(text string) Secret { return Secret{text} }

// Reveal returns the text itself. Its result must not reach a screen, a log or an error.
func (s Secret) Reveal() string { return s.text }

// String returns six dots.
func (s Secret) String() string { return Dots }

// GoString returns six dots.
func (s Secret) GoString() string { return Dots }

// Format prints six dots for every verb, so that no fmt verb reaches the field.
func (s Secret) Format(f fmt.State, _ rune) { fmt.Fprint(f, Dots) }

// MarshalText gives six dots to every encoder.
func (s Secret) MarshalText() ([]byte, error) { return []byte(Dots), nil }

// Variable is a named secret: an environment variable or a header. The name is shown, the value is not.
type Variable struct {
	Name  string
	Value Secret
}
