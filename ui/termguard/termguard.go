// Package termguard answers Lip Gloss's question for the terminal's background before Bubble Tea can ask it. Bubble Tea
// v1.3.10 asks in a package init and waits up to 5 s for the answer, so that even --version hangs on a terminal that
// stays mute, and the question lands in captured output. Import it blank in main. It does not choose a theme: the
// roles of the screen do not use this answer.
//
// Go initialises packages that are ready in the order of their import paths. This one needs only Lip Gloss, and
// "fusebox/..." sorts before "github.com/charmbracelet/bubbletea"; a module path that sorts behind it undoes the guard.
package termguard

import "github.com/charmbracelet/lipgloss"

// The one init of the project: nothing that runs later is early enough.
func init() {
	lipgloss.SetHasDarkBackground(true)
}
