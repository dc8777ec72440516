package githistory

import (
	"bufio"
	"bytes"
	"compress/zlib"
	"context"
	"crypto/sha1" //nolint:gosec // the ids of git are made with it
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// id names an object by what it holds.
type id [sha1.Size]byte

func (i id) String() string { return hex.EncodeToString(i[:]) }

func parseID(s string) (out id, ok bool) {
	if len(s) != 2*len(out) {
		return out, false
	}
	_, err := hex.Decode(out[:], []byte(s))
	return out, err == nil
}

// kind is what an object is, as packs number it.
type kind uint8

const (
	kindUnknown kind = 0
	kindCommit  kind = 1
	kindTree    kind = 2
	kindBlob    kind = 3
	kindTag     kind = 4
	kindOffset  kind = 6 // a difference to an object of the same pack, by its distance
	kindDistant kind = 7 // a difference to an object, by its id
)

func (k kind) String() string {
	switch k {
	case kindCommit:
		return "commit"
	case kindTree:
		return "tree"
	case kindBlob:
		return "blob"
	case kindTag:
		return "tag"
	}
	return "unknown"
}

func kindOf(name string) kind {
	for _, k := range []kind{kindCommit, kindTree, kindBlob, kindTag} {
		if k.String() == name {
			return k
		}
	}
	return kindUnknown
}

// Bounds of one look at a repository, in bytes where nothing else is said.
const (
	maxCommit   = 1 << 20
	maxTree     = 8 << 20
	maxBlob     = 1 << 20
	maxChain    = 32 << 20  // of an object with all the differences that it is made of
	maxInflated = 256 << 20 // of everything together
	maxDepth    = 256       // differences in a row
	maxPacks    = 200       // packs
	maxNames    = 10_000    // names in the folder of the packs
)

func (k kind) limit() int64 {
	switch k {
	case kindCommit:
		return maxCommit
	case kindTree:
		return maxTree
	}
	return maxBlob
}

var (
	errMissing   = errors.New("the object is not there")
	errCorrupt   = errors.New("the object is not what it should be")
	errExhausted = errors.New("more would have to be read than is sensible")
)

// store reads objects by their ids.
type store struct {
	access Access
	dir    string
	left   int64 // bytes that may still be unpacked
	listed bool
	packs  []*pack // the one that had the last object first
	buffer *bufio.Reader
	zip    io.ReadCloser
}

func (s *store) close() {
	for _, p := range s.packs {
		p.close()
	}
	s.packs = nil
}

// object returns what an object of a kind holds.
func (s *store) object(ctx context.Context, want id, k kind) ([]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	data, is, err := s.packed(ctx, want, k.limit())
	if err = genuine(data, is, err, want, k); err == nil || ctx.Err() != nil || errors.Is(err, errExhausted) {
		return whole(data, err)
	}
	whyNot := err
	data, is, err = s.loose(want, k.limit())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, whyNot
	}
	return whole(data, genuine(data, is, err, want, k))
}

// whole gives nothing of what is not wholly as it should be.
func whole(data []byte, err error) ([]byte, error) {
	if err != nil {
		return nil, err
	}
	return data, nil
}

// genuine makes sure that what was read is what its id says.
func genuine(data []byte, is kind, err error, want id, k kind) error {
	if err != nil {
		return err
	}
	sum := sha1.New() //nolint:gosec // as above
	fmt.Fprintf(sum, "%s %d\x00", is, len(data))
	sum.Write(data)
	if is != k || !bytes.Equal(sum.Sum(nil), want[:]) {
		return errCorrupt
	}
	return nil
}

// take takes memory out of what is left.
func (s *store) take(n, limit int64) error {
	if n < 0 || n > limit {
		return errTooLarge
	}
	if n > s.left {
		return errExhausted
	}
	s.left -= n
	return nil
}

// unzip starts to unpack a stream. Only one is read at a time.
func (s *store) unzip(r io.Reader) (io.Reader, error) {
	if s.zip == nil {
		zip, err := zlib.NewReader(r)
		if err != nil {
			return nil, errCorrupt
		}
		s.zip = zip
		return zip, nil
	}
	if err := s.zip.(zlib.Resetter).Reset(r, nil); err != nil {
		return nil, errCorrupt
	}
	return s.zip, nil
}

func (s *store) buffered(r io.Reader) *bufio.Reader {
	if s.buffer == nil {
		s.buffer = bufio.NewReaderSize(r, 4<<10)
	} else {
		s.buffer.Reset(r)
	}
	return s.buffer
}

// exactly reads size bytes and the end of the stream after them.
func exactly(r io.Reader, size int64) ([]byte, error) {
	data := make([]byte, size)
	if _, err := io.ReadFull(r, data); err != nil {
		return nil, errCorrupt
	}
	var more [1]byte
	if n, err := r.Read(more[:]); n != 0 || !errors.Is(err, io.EOF) {
		return nil, errCorrupt
	}
	return data, nil
}

func (s *store) loose(want id, limit int64) ([]byte, kind, error) {
	name := want.String()
	f, _, err := s.access.open(filepath.Join(s.dir, name[:2], name[2:]))
	if err != nil {
		return nil, 0, err
	}
	defer f.Close() //nolint:errcheck // nothing was written
	zip, err := s.unzip(s.buffered(f))
	if err != nil {
		return nil, 0, err
	}
	// "blob 12\x00"
	var head [32]byte
	n := 0
	for ; ; n++ {
		if n == len(head) {
			return nil, 0, errCorrupt
		}
		if _, err := io.ReadFull(zip, head[n:n+1]); err != nil {
			return nil, 0, errCorrupt
		}
		if head[n] == 0 {
			break
		}
	}
	word, digits, _ := strings.Cut(string(head[:n]), " ")
	size, err := strconv.ParseInt(digits, 10, 64)
	k := kindOf(word)
	if err != nil || k == kindUnknown {
		return nil, 0, errCorrupt
	}
	if err := s.take(size, limit); err != nil {
		return nil, 0, err
	}
	data, err := exactly(zip, size)
	return data, k, err
}

// pack is one pack with its index.
type pack struct {
	path   string // of the pack
	index  openFile
	fanout [256]uint32
	bad    bool
	file   openFile // nil until something of it is read
	size   int64
}

type openFile interface {
	io.ReaderAt
	io.Closer
}

func (p *pack) close() {
	for _, f := range []openFile{p.index, p.file} {
		if f != nil {
			f.Close() //nolint:errcheck // nothing was written
		}
	}
}

// list finds the packs. One whose index is not understood is left out.
func (s *store) list() {
	if s.listed {
		return
	}
	s.listed = true
	dir := filepath.Join(s.dir, "pack")
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return
	}
	d, err := s.access.Open(dir)
	if err != nil {
		return
	}
	names, _ := d.Readdirnames(maxNames) // those that were read count
	d.Close()                            //nolint:errcheck // nothing was written
	slices.Sort(names)
	for _, n := range names {
		base, ok := strings.CutSuffix(n, ".idx")
		if !ok || !strings.HasPrefix(n, "pack-") || len(s.packs) == maxPacks {
			continue
		}
		index, size, err := s.access.open(filepath.Join(dir, n))
		if err != nil {
			continue
		}
		p := &pack{path: filepath.Join(dir, base) + ".pack", index: index}
		if !p.readHead(size) {
			p.close()
			continue
		}
		s.packs = append(s.packs, p)
	}
}

// Parts of an index of version 2: a head, how many ids begin with at most each byte, ids, checksums, places, far places.
const (
	indexHead   = 8
	indexIDs    = indexHead + 256*4
	indexEnd    = 2 * int64(len(id{}))
	indexOfEach = int64(len(id{})) + 4 + 4
)

// readHead reads the head of an index of size bytes, and tells whether it is one.
func (p *pack) readHead(size int64) bool {
	var head [indexIDs]byte
	if _, err := p.index.ReadAt(head[:], 0); err != nil || string(head[:indexHead]) != "\xfftOc\x00\x00\x00\x02" {
		return false
	}
	last := uint32(0)
	for i := range p.fanout {
		p.fanout[i] = number(head[indexHead+4*i:])
		if p.fanout[i] < last {
			return false
		}
		last = p.fanout[i]
	}
	return size >= indexIDs+int64(last)*indexOfEach+indexEnd
}

func number(b []byte) uint32 {
	return uint32(b[0])<<24 | uint32(b[1])<<16 | uint32(b[2])<<8 | uint32(b[3])
}

// find looks an id up in the index; the place in the pack is -1 where it is not in it.
func (p *pack) find(want id) (int64, error) {
	low, high := uint32(0), p.fanout[want[0]]
	if want[0] > 0 {
		low = p.fanout[want[0]-1]
	}
	for low < high {
		middle := low + (high-low)/2
		var have id
		if _, err := p.index.ReadAt(have[:], indexIDs+int64(middle)*int64(len(have))); err != nil {
			return 0, errCorrupt
		}
		switch c := bytes.Compare(have[:], want[:]); {
		case c < 0:
			low = middle + 1
		case c > 0:
			high = middle
		default:
			return p.place(middle)
		}
	}
	return -1, nil
}

func (p *pack) place(at uint32) (int64, error) {
	all := int64(p.fanout[255])
	places := indexIDs + all*(int64(len(id{}))+4)
	var b [8]byte
	if _, err := p.index.ReadAt(b[:4], places+4*int64(at)); err != nil {
		return 0, errCorrupt
	}
	near := number(b[:])
	if near < 1<<31 {
		return int64(near), nil
	}
	if _, err := p.index.ReadAt(b[:], places+4*all+8*int64(near&(1<<31-1))); err != nil {
		return 0, errCorrupt
	}
	if b[0] >= 0x80 {
		return 0, errCorrupt
	}
	return int64(number(b[:]))<<32 | int64(number(b[4:])), nil
}

// where finds the pack that holds an object.
func (s *store) where(want id) (*pack, int64, error) {
	s.list()
	for i, p := range s.packs {
		if p.bad {
			continue
		}
		at, err := p.find(want)
		if err != nil {
			p.bad = true
			continue
		}
		if at < 0 {
			continue
		}
		if p.file == nil {
			f, size, err := s.access.open(p.path)
			if err != nil {
				p.bad = true
				continue
			}
			p.file, p.size = f, size
		}
		if i > 0 {
			copy(s.packs[1:i+1], s.packs[:i])
			s.packs[0] = p
		}
		return p, at, nil
	}
	return nil, 0, errMissing
}

// packed reads an object of a pack: the differences first, then what they are differences to.
func (s *store) packed(ctx context.Context, want id, limit int64) ([]byte, kind, error) {
	p, at, err := s.where(want)
	if err != nil {
		return nil, 0, err
	}
	var differences [][]byte
	chain := int64(maxChain)
	for range maxDepth {
		if err := ctx.Err(); err != nil {
			return nil, 0, err
		}
		e, err := s.entry(p, at)
		if err != nil {
			return nil, 0, err
		}
		most := min(chain, maxTree)
		if len(differences) == 0 && e.kind < kindOffset {
			most = limit
		}
		if err := s.take(e.size, most); err != nil {
			return nil, 0, err
		}
		chain -= e.size
		zip, err := s.unzip(e.stream)
		if err != nil {
			return nil, 0, err
		}
		data, err := exactly(zip, e.size)
		if err != nil {
			return nil, 0, err
		}
		switch e.kind {
		case kindOffset:
			differences, at = append(differences, data), e.base
			continue
		case kindDistant:
			differences = append(differences, data)
			if p, at, err = s.where(e.distant); err != nil {
				return nil, 0, err
			}
			continue
		}
		for i, d := range slices.Backward(differences) {
			most := int64(maxTree)
			if i == 0 {
				most = limit
			}
			if data, err = s.apply(data, d, most); err != nil {
				return nil, 0, err
			}
		}
		return data, e.kind, nil
	}
	return nil, 0, errCorrupt
}

// packEntry is the head of an object in a pack.
type packEntry struct {
	kind    kind
	size    int64
	base    int64 // of kindOffset: the place of what it is a difference to
	distant id    // of kindDistant
	stream  io.Reader
}

func (s *store) entry(p *pack, at int64) (e packEntry, err error) {
	const head, tail = 12, int64(len(id{}))
	if at < head || at >= p.size-tail {
		return e, errCorrupt
	}
	r := s.buffered(io.NewSectionReader(p.file, at, p.size-tail-at))
	b, err := r.ReadByte()
	if err != nil {
		return e, errCorrupt
	}
	e.kind, e.size = kind(b>>4&7), int64(b&15)
	for shift := 4; b&0x80 != 0; shift += 7 {
		if b, err = r.ReadByte(); err != nil || shift > 53 {
			return e, errCorrupt
		}
		e.size |= int64(b&0x7f) << shift
	}
	switch e.kind {
	case kindCommit, kindTree, kindBlob, kindTag:
	case kindOffset:
		if b, err = r.ReadByte(); err != nil {
			return e, errCorrupt
		}
		back := int64(b & 0x7f)
		for b&0x80 != 0 {
			if b, err = r.ReadByte(); err != nil || back > 1<<48 {
				return e, errCorrupt
			}
			back = (back+1)<<7 | int64(b&0x7f)
		}
		if back == 0 || back > at {
			return e, errCorrupt
		}
		e.base = at - back
	case kindDistant:
		if _, err := io.ReadFull(r, e.distant[:]); err != nil {
			return e, errCorrupt
		}
	default:
		return e, errCorrupt
	}
	e.stream = r
	return e, nil
}

// apply makes an object of what it is a difference to: two sizes, then pieces that are copied and pieces that are given.
func (s *store) apply(base, d []byte, limit int64) ([]byte, error) {
	from, d, ok := varint(d)
	if !ok || from != int64(len(base)) {
		return nil, errCorrupt
	}
	size, d, ok := varint(d)
	if !ok {
		return nil, errCorrupt
	}
	if err := s.take(size, limit); err != nil {
		return nil, err
	}
	out := make([]byte, 0, size)
	for len(d) > 0 {
		op := d[0]
		d = d[1:]
		var piece []byte
		if op&0x80 == 0 {
			n := int(op)
			if n == 0 || n > len(d) {
				return nil, errCorrupt
			}
			piece, d = d[:n], d[n:]
		} else {
			var start, n int64
			for i := range 7 {
				if op&(1<<i) == 0 {
					continue
				}
				if len(d) == 0 {
					return nil, errCorrupt
				}
				if i < 4 {
					start |= int64(d[0]) << (8 * i)
				} else {
					n |= int64(d[0]) << (8 * (i - 4))
				}
				d = d[1:]
			}
			if n == 0 {
				n = 0x10000
			}
			if start+n > int64(len(base)) {
				return nil, errCorrupt
			}
			piece = base[start : start+n]
		}
		if int64(len(out)+len(piece)) > size {
			return nil, errCorrupt
		}
		out = append(out, piece...)
	}
	if int64(len(out)) != size {
		return nil, errCorrupt
	}
	return out, nil
}

func varint(b []byte) (n int64, rest []byte, ok bool) {
	for i := 0; i < len(b) && i < 8; i++ {
		n |= int64(b[i]&0x7f) << (7 * i)
		if b[i]&0x80 == 0 {
			return n, b[i+1:], true
		}
	}
	return 0, nil, false
}
