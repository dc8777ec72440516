package database

import (
	"encoding/binary"
	"errors"
)

const (
	headerSize      = 100
	walHeaderSize   = 32
	walFrameSize    = 24 // before each page
	walMagicLittle  = 0x377f0682
	walMagicBig     = 0x377f0683
	formatInWrites  = 18 // offsets in the header of a database: 2 is write-ahead logging, 1 is not
	formatInReads   = 19
	headerPageSize  = 16
	smallestPage    = 512
	largestPage     = 65536
	largestDatabase = 1 << 30
)

const magic = "SQLite format 3\x00"

// ErrNotDatabase says that the bytes are no SQLite file.
var ErrNotDatabase = errors.New("not an SQLite database")

// merged returns the database as a reader would see it: with the committed pages of its write-ahead log, and marked as one
// without a log. db may be changed.
func merged(db, wal []byte) ([]byte, error) {
	if len(db) < headerSize || string(db[:len(magic)]) != magic {
		return nil, ErrNotDatabase
	}
	db = replay(db, wal)
	db[formatInWrites], db[formatInReads] = 1, 1
	return db, nil
}

// replay puts the pages of all complete transactions of the log into the database. A log that does not fit, or the part of it
// that is left over from an earlier round, counts for nothing, as in SQLite itself.
func replay(db, wal []byte) []byte {
	if len(wal) < walHeaderSize {
		return db
	}
	word := func(at int) uint32 { return binary.BigEndian.Uint32(wal[at:]) }
	var order binary.ByteOrder = binary.LittleEndian
	switch word(0) {
	case walMagicLittle:
	case walMagicBig:
		order = binary.BigEndian
	default:
		return db
	}
	page := int(word(8))
	if page < smallestPage || page > largestPage || page&(page-1) != 0 || page != pageSize(db) {
		return db
	}
	s := checksum{order: order}
	s.add(wal[:24])
	if s.a != word(24) || s.b != word(28) {
		return db
	}
	type change struct{ number, at int }
	var open []change // of the transaction that is not complete yet
	for at := walHeaderSize; at+walFrameSize+page <= len(wal); at += walFrameSize + page {
		number, size := int(word(at)), int(word(at+4))
		s.add(wal[at : at+8])
		s.add(wal[at+walFrameSize : at+walFrameSize+page])
		if number < 1 || number > largestDatabase/page || size > largestDatabase/page ||
			word(at+8) != word(16) || word(at+12) != word(20) || s.a != word(at+16) || s.b != word(at+20) {
			break
		}
		open = append(open, change{number, at + walFrameSize})
		if size == 0 {
			continue
		}
		db = resized(db, size*page)
		for _, c := range open {
			if c.number <= size {
				copy(db[(c.number-1)*page:], wal[c.at:c.at+page])
			}
		}
		open = open[:0]
	}
	return db
}

func pageSize(db []byte) int {
	n := int(binary.BigEndian.Uint16(db[headerPageSize:]))
	if n == 1 {
		return largestPage
	}
	return n
}

func resized(b []byte, n int) []byte {
	if n <= len(b) {
		return b[:n]
	}
	return append(b, make([]byte, n-len(b))...)
}

// checksum is the one of the log: over pairs of words, each part going on where the last one ended.
type checksum struct {
	order binary.ByteOrder
	a, b  uint32
}

func (s *checksum) add(data []byte) {
	for ; len(data) >= 8; data = data[8:] {
		s.a += s.order.Uint32(data) + s.b
		s.b += s.order.Uint32(data[4:]) + s.a
	}
}
