package loaders

import (
	"database/sql"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"fusebox/loaders/database"
	"fusebox/loaders/jsonc"
	"fusebox/model"
)

// Databases of harnesses: SQLite files in which editors keep switches and trust. They are read and never written.

// MaxDatabaseSize is the most that is read of a database, and of its write-ahead log, in bytes.
const MaxDatabaseSize = 64 << 20

// databaseTime is how long a query may take.
const databaseTime = 2 * time.Second

// databaseEntry is what was asked of a database as it was when it was read.
type databaseEntry struct {
	id      [3]fileIdentity // of the database, its write-ahead log and its rollback journal
	answers map[string]databaseAnswer
}

type databaseAnswer struct {
	rows [][]sql.NullString
	err  error
}

// databaseBeside are the files beside a database that belong to it.
var databaseBeside = [...]string{"-wal", "-journal"}

// Database runs a SELECT on a database. The file is reported when it exists: one that cannot be read, is locked, damaged or
// has other tables is ignored, with the reason as its note, because only fusebox fails to read it, not the harness. ok tells
// whether there is an answer.
func (r *Reader) Database(path string, scope model.Scope, query string, args ...any) (rows [][]sql.NullString, ok bool) {
	path = filepath.Clean(path)
	r.touch(path)
	for _, end := range databaseBeside {
		r.touch(path + end)
	}
	rows, err := r.cache.database(path, query, args)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, false
	}
	f := &ConfigFile{Path: path, Scope: scope, Status: model.FileRead, Note: "a database, read for switches and trust", Data: []byte("SQLite")}
	if err != nil {
		f.Status, f.Err, f.Data, f.Note = model.FileIgnored, err, nil, "fusebox cannot read this database: "+model.Clean(reasonText(err))
	}
	if i := slices.IndexFunc(r.files, func(have *ConfigFile) bool { return have.Path == path }); i < 0 {
		r.files = append(r.files, f)
	} else if err != nil {
		r.files[i] = f
	}
	return rows, err == nil
}

// errChanging says that a database is in the middle of a change.
var errChanging = errors.New("it is being written at this moment")

func (c *Cache) database(path, query string, args []any) ([][]sql.NullString, error) {
	key := fmt.Sprintf("%s\x00%q", query, args)
	id, err := databaseIdentity(path)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	entry := c.databases[path]
	if entry == nil || entry.id != id {
		entry = &databaseEntry{id: id, answers: map[string]databaseAnswer{}}
		c.databases[path] = entry
	}
	answer, known := entry.answers[key]
	c.mu.Unlock()
	if known {
		return answer.rows, answer.err
	}
	answer.rows, answer.err = askDatabase(path, id, query, args)
	if !errors.Is(answer.err, errChanging) && !errors.Is(answer.err, database.ErrTimeout) {
		c.mu.Lock()
		entry.answers[key] = answer
		c.mu.Unlock()
	}
	return answer.rows, answer.err
}

// databaseIdentity looks at a database and the files that belong to it. Those that are missing have no identity.
func databaseIdentity(path string) (id [3]fileIdentity, err error) {
	info, err := os.Stat(path)
	if err != nil {
		if notThere(err) {
			err = fs.ErrNotExist
		}
		return id, err
	}
	id[0] = identityOf(info)
	for i, end := range databaseBeside {
		if info, err := os.Stat(path + end); err == nil {
			id[i+1] = identityOf(info)
		}
	}
	return id, nil
}

// askDatabase reads a database and its log, and asks the copy. What changes meanwhile is not believed.
func askDatabase(path string, id [3]fileIdentity, query string, args []any) ([][]sql.NullString, error) {
	if id[2].size > 0 {
		return nil, errChanging // a transaction is open, or was left behind
	}
	db, err := readDatabaseFile(path)
	if err != nil {
		return nil, err
	}
	var wal []byte
	if id[1].size > 0 {
		if wal, err = readDatabaseFile(path + databaseBeside[0]); err != nil {
			return nil, err
		}
	}
	if now, err := databaseIdentity(path); err != nil || now != id {
		return nil, errChanging
	}
	return database.Rows(db, wal, databaseTime, query, args...)
}

// readDatabaseFile reads a regular file without waiting and without taking a lock.
func readDatabaseFile(path string) ([]byte, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, err
	case info.IsDir():
		return nil, errIsFolder
	case !info.Mode().IsRegular():
		return nil, errNotRegular
	case info.Size() > MaxDatabaseSize:
		return nil, fmt.Errorf("larger than %s", sizeText(MaxDatabaseSize))
	}
	f, err := openForReading(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if now, err := f.Stat(); err != nil || !now.Mode().IsRegular() {
		return nil, errNotRegular
	}
	data := make([]byte, info.Size())
	if _, err := io.ReadFull(f, data); err != nil {
		return nil, errChanging // it became shorter
	}
	return data, nil
}

// itemTable reads values of an editor's state.vscdb by key, parsed as JSON. A key that is not there, or whose value is no
// JSON, is missing.
func (r *Reader) itemTable(path string, scope model.Scope, keys ...string) (values map[string]jsonc.Value, ok bool) {
	args := make([]any, len(keys))
	for i, k := range keys {
		args[i] = k
	}
	rows, ok := r.Database(path, scope, "SELECT key, value FROM ItemTable WHERE key IN (?"+strings.Repeat(", ?", len(keys)-1)+")", args...)
	values = map[string]jsonc.Value{}
	for _, row := range rows {
		if doc, err := jsonc.Parse([]byte(row[1].String), jsonc.Options{ReplaceInvalidUTF8: true}); err == nil {
			values[row[0].String] = doc.Root()
		}
	}
	return values, ok
}

// inDatabase is a place in a database: it has no lines.
func inDatabase(path, key string) model.Location { return model.Location{Path: path, Key: key} }
