// Package model holds what the screen and the headless commands show: harnesses, entries, cells with their states and
// reasons, and the immutable snapshot of all of them. It is pure data and pure rules.
//
// It does no I/O, starts nothing, knows no file format and no harness by name, and imports the standard library only.
package model
