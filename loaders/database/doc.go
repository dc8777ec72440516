// Package database reads a few rows of an SQLite file from its bytes. It never opens a file, takes no lock and writes
// nothing: the caller reads the database and its write-ahead log, and the rows are looked up in a copy in memory. It knows no
// harness and no table.
package database
