package database

import (
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

const limit = 30 * time.Second

// made makes a database file with some statements and keeps it open until the test ends.
func made(t testing.TB, journal string, statements ...string) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "x.db")
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	t.Cleanup(func() { db.Close() })
	for _, s := range append([]string{"PRAGMA journal_mode=" + journal, "PRAGMA wal_autocheckpoint=0"}, statements...) {
		if _, err := db.Exec(s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
	return path
}

func read(t testing.TB, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return data
}

func values(rows [][]sql.NullString) []string {
	var out []string
	for _, r := range rows {
		for _, v := range r {
			if !v.Valid {
				v.String = "null"
			}
			out = append(out, v.String)
		}
	}
	return out
}

const table = "CREATE TABLE ItemTable (key TEXT UNIQUE ON CONFLICT REPLACE, value BLOB)"

// Whether what was written is in the file or still in the log, it is read, and neither file changes.
func TestRows(t *testing.T) {
	t.Parallel()
	for _, journal := range []string{"delete", "wal"} {
		path := made(t, journal, table, "INSERT INTO ItemTable VALUES ('a', 'old'), ('b', x'7b7d'), ('c', NULL)", "UPDATE ItemTable SET value = 'new' WHERE key = 'a'",
			"INSERT INTO ItemTable VALUES ('long', hex(zeroblob(40000)))", "DELETE FROM ItemTable WHERE key = 'long'")
		db, wal := read(t, path), read(t, path+"-wal")
		if (journal == "wal") != (len(wal) > 0) {
			t.Fatalf("%s: a log of %d bytes", journal, len(wal))
		}
		rows, err := Rows(db, wal, limit, "SELECT key, value FROM ItemTable WHERE key IN (?, ?, ?) ORDER BY key", "a", "b", "c")
		if got, want := values(rows), []string{"a", "new", "b", "{}", "c", "null"}; err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %q, %v", journal, got, err)
		}
		if journal == "delete" {
			continue
		}
		torn := slices.Clone(wal)
		torn[len(torn)-1] ^= 1 // the last transaction does not count then
		rows, err = Rows(read(t, path), torn, limit, "SELECT count(*) FROM ItemTable")
		if got := values(rows); err != nil || !slices.Equal(got, []string{"4"}) {
			t.Errorf("with a torn end: %q, %v", got, err)
		}
		rows, err = Rows(read(t, path), []byte(strings.Repeat("x", 5000)), limit, "SELECT 1 FROM ItemTable")
		if err == nil && len(rows) > 0 {
			t.Errorf("what is only in a log came out of nothing: %q", values(rows))
		}
	}
}

func TestRowsRefuses(t *testing.T) {
	t.Parallel()
	path := made(t, "delete", table, "CREATE TABLE other (x)", "INSERT INTO ItemTable VALUES ('big', zeroblob(5000000))")
	for _, test := range []struct {
		db    []byte
		query string
		limit time.Duration
		want  error
	}{
		{nil, "SELECT 1", limit, ErrNotDatabase},
		{[]byte("{}"), "SELECT 1", limit, ErrNotDatabase},
		{read(t, path), "SELECT value FROM missing_table", limit, ErrSchema},
		{read(t, path), "SELECT missing_column FROM ItemTable", limit, ErrSchema},
		{read(t, path), "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT count(*) FROM n", 50 * time.Millisecond, ErrTimeout},
		{read(t, path), "SELECT value FROM ItemTable", limit, nil},
		{read(t, path)[:5000], "SELECT value FROM ItemTable", limit, nil},
		{read(t, path), "DELETE FROM ItemTable", limit, nil},
	} {
		rows, err := Rows(test.db, nil, test.limit, test.query)
		if err == nil || test.want != nil && !errors.Is(err, test.want) {
			t.Errorf("%s: %d rows, %v", test.query, len(rows), err)
		}
	}
}

func FuzzRows(f *testing.F) {
	path := made(f, "wal", table, "INSERT INTO ItemTable VALUES ('a', '1')", "PRAGMA wal_checkpoint(PASSIVE)", "INSERT INTO ItemTable VALUES ('b', '2')")
	f.Add(read(f, path), read(f, path+"-wal"))
	f.Add([]byte(magic), []byte{})
	f.Fuzz(func(t *testing.T, db, wal []byte) {
		_, _ = Rows(db, wal, time.Second, "SELECT key, value FROM ItemTable WHERE key IN ('a', 'b')")
	})
}
