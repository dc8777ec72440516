// Package ui is the screen: one Bubble Tea model, plain panes with pure drawing, the key table, the styles.
//
// It holds no rule of a harness and reads no file: it shows model snapshots, and asks for more through the small interfaces
// that it declares. Update does no I/O; what takes time is a command.
package ui
