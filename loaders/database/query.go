package database

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	_ "modernc.org/sqlite" // the driver, in pure Go
)

// MaxRows and MaxValue bound what a query gives: rows beyond it are left out, a longer value is an error.
const (
	MaxRows  = 10_000
	MaxValue = 4 << 20
)

// ErrSchema says that the database does not have the tables and columns that were asked for.
var ErrSchema = errors.New("not the tables that are known")

// ErrTimeout says that a query took too long.
var ErrTimeout = errors.New("no answer in time")

// Rows runs one SELECT on a copy of a database and of its write-ahead log (nil: none), and returns its rows. A null is not
// valid. db may be changed. It gives up after limit.
func Rows(db, wal []byte, limit time.Duration, query string, args ...any) (rows [][]sql.NullString, err error) {
	defer func() {
		if fault := recover(); fault != nil { // of the driver, on a file that is made to break it
			rows, err = nil, errors.New("a damaged database")
		}
	}()
	image, err := merged(db, wal)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	rows, err = selectRows(ctx, image, query, args)
	switch {
	case err == nil:
		return rows, nil
	case ctx.Err() != nil:
		return nil, ErrTimeout
	case strings.Contains(err.Error(), "no such table"), strings.Contains(err.Error(), "no such column"):
		return nil, ErrSchema
	}
	return nil, fmt.Errorf("a damaged database: %w", err)
}

func selectRows(ctx context.Context, image []byte, query string, args []any) ([][]sql.NullString, error) {
	pool, err := sql.Open("sqlite", ":memory:?_pragma=trusted_schema(0)&_pragma=cell_size_check(1)")
	if err != nil {
		return nil, err
	}
	defer pool.Close()
	conn, err := pool.Conn(ctx)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	err = conn.Raw(func(driver any) error {
		d, ok := driver.(interface{ Deserialize([]byte) error })
		if !ok {
			return errors.New("the driver cannot read from memory")
		}
		return d.Deserialize(image)
	})
	if err != nil {
		return nil, err
	}
	if _, err := conn.ExecContext(ctx, "PRAGMA query_only=1"); err != nil {
		return nil, err
	}
	found, err := conn.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer found.Close()
	columns, err := found.Columns()
	if err != nil {
		return nil, err
	}
	var out [][]sql.NullString
	for found.Next() && len(out) < MaxRows {
		row := make([]sql.NullString, len(columns))
		into := make([]any, len(columns))
		for i := range row {
			into[i] = &row[i]
		}
		if err := found.Scan(into...); err != nil {
			return nil, err
		}
		for _, v := range row {
			if len(v.String) > MaxValue {
				return nil, errors.New("a value is too large")
			}
		}
		out = append(out, row)
	}
	return out, found.Err()
}
