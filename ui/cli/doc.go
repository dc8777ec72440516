// Package cli holds the headless commands and wires the packages together: it turns flags into calls, snapshots into
// tables, Markdown and JSON, and errors into exit codes.
//
// It holds no rule of a harness (package loaders) and draws no screen (package ui).
package cli
