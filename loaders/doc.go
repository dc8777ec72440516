// Package loaders reads the configuration of every coding harness by that harness's own rules: which files, which of them
// wins, what waits for consent, what is switched off. One file per harness; each resolves files into a model.Column.
//
// Resolving is pure but for the Reader it is given: it starts nothing, writes nothing, opens no network connection, and
// never evaluates anything that a file asks to run. It does not watch (package watch) and does not draw (package ui).
package loaders
