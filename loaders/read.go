package loaders

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"sync"
	"time"

	"fusebox/loaders/jsonc"
	"fusebox/loaders/tomledit"
	"fusebox/model"
)

// MaxFileSize is the most that is read of any file, in bytes. A harness may have a smaller limit of its own.
const MaxFileSize = 16 << 20

// ConfigFile is a file as one resolve sees it. The parsed forms are shared with other resolves and must not be changed.
type ConfigFile struct {
	Path   string
	Scope  model.Scope
	Status model.FileStatus
	Note   string
	Data   []byte             // the bytes; nil unless read
	JSON   *jsonc.Document    // what ReadJSON parsed; nil unless it did
	TOML   *tomledit.Document // what ReadTOML parsed; nil unless it did
	Err    error              // why it could not be read or parsed

	entry *cacheEntry
}

// OK tells whether the file was read and, where asked for, parsed.
func (f *ConfigFile) OK() bool { return f != nil && f.Status == model.FileRead }

// Exists tells whether there is something at the path, readable or not.
func (f *ConfigFile) Exists() bool { return f != nil && f.Status != model.FileAbsent }

// Root returns the root of a parsed JSON file; an invalid value when there is none.
func (f *ConfigFile) Root() jsonc.Value {
	if f == nil || f.JSON == nil {
		return jsonc.Value{}
	}
	return f.JSON.Root()
}

// At returns the location of a JSON value in the file.
func (f *ConfigFile) At(key string, v jsonc.Value) model.Location {
	loc := model.Location{Path: f.Path, Key: key, Line: 1}
	if v.Exists() {
		loc.Line, loc.Column = v.Line(), v.Column()
	}
	return loc
}

// Member returns the location of a member of a JSON object in the file: the line that holds its name.
func (f *ConfigFile) Member(key string, m jsonc.Member) model.Location {
	return model.Location{Path: f.Path, Key: key, Line: m.Line()}
}

// TOMLAt returns the location of a TOML key.
func (f *ConfigFile) TOMLAt(path ...string) model.Location {
	loc := model.Location{Path: f.Path, Key: JoinKey(path...), Line: 1}
	if f.TOML != nil {
		if line := f.TOML.Line(path...); line > 0 {
			loc.Line = line
		}
	}
	return loc
}

// JoinKey writes a key path for people: dots between plain keys, quotes round the others.
func JoinKey(path ...string) string {
	parts := make([]string, len(path))
	for i, p := range path {
		if p == "" || strings.ContainsFunc(p, func(r rune) bool {
			return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '-' || r > 0x7f)
		}) {
			p = fmt.Sprintf("%q", p)
		}
		parts[i] = p
	}
	return strings.Join(parts, ".")
}

// Location is the start of the file, or the place of its syntax error.
func (f *ConfigFile) Location() model.Location {
	loc := model.Location{Path: f.Path, Line: 1}
	var j *jsonc.SyntaxError
	if errors.As(f.Err, &j) {
		loc.Line, loc.Column = j.Line, j.Column
	}
	var t *tomledit.SyntaxError
	if errors.As(f.Err, &t) {
		loc.Line, loc.Column = t.Line, t.Column
	}
	return loc
}

// Cache keeps bytes and parsed forms of files by identity (path, device, inode, size, modification time), over resolves
// and reloads. It is safe for use by several goroutines.
type Cache struct {
	mu        sync.Mutex
	entries   map[string]*cacheEntry
	databases map[string]*databaseEntry
}

// NewCache makes an empty cache.
func NewCache() *Cache {
	return &Cache{entries: map[string]*cacheEntry{}, databases: map[string]*databaseEntry{}}
}

type cacheEntry struct {
	id   fileIdentity
	data []byte
	err  error
	memo *memoTable
}

// memoTable holds what was made of the bytes of a file, by parser and options, and by the keys of Memo.
type memoTable struct {
	mu     sync.Mutex
	values map[string]any
}

func newEntry(id fileIdentity) *cacheEntry {
	return &cacheEntry{id: id, memo: &memoTable{values: map[string]any{}}}
}

// Forget drops what is known of these paths.
func (c *Cache) Forget(paths []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, p := range paths {
		delete(c.entries, p)
		delete(c.databases, p)
		for _, end := range databaseBeside {
			delete(c.databases, strings.TrimSuffix(p, end))
		}
	}
}

// Reader is the only way for a resolve to look at the file system. It remembers every path that was looked at, existing or
// not: that is what has to be watched.
type Reader struct {
	env     *Env
	cache   *Cache
	touched map[string]struct{}
	files   []*ConfigFile
	planned map[string][]byte // by real path: files as a plan would leave them
	kept    map[string]any    // of keepResolve
}

// NewReader makes a reader for one resolve.
func NewReader(env *Env, cache *Cache) *Reader {
	return &Reader{env: env, cache: cache, touched: map[string]struct{}{}}
}

// newPlannedReader makes a reader that sees some files, by real path, as a plan would leave them.
func newPlannedReader(env *Env, cache *Cache, planned map[string][]byte) *Reader {
	r := NewReader(env, cache)
	r.planned = planned
	return r
}

// keepResolve keeps what a resolve worked out with its reader, so that planning a switch does not resolve again.
func keepResolve[T any](r *Reader, id model.HarnessID, resolve func() T) T {
	if v, ok := r.kept[string(id)].(T); ok {
		return v
	}
	v := resolve()
	if r.kept == nil {
		r.kept = map[string]any{}
	}
	r.kept[string(id)] = v
	return v
}

// plannedAt returns the bytes that a plan gives a path, links followed.
func (r *Reader) plannedAt(path string) ([]byte, bool) {
	if len(r.planned) == 0 {
		return nil, false
	}
	if data, ok := r.planned[path]; ok {
		return data, true
	}
	data, ok := r.planned[realPath(path)]
	return data, ok
}

// plannedInfo stands in for a file that a plan would create.
type plannedInfo struct {
	name string
	size int
}

func (i plannedInfo) Name() string     { return i.name }
func (i plannedInfo) Size() int64      { return int64(i.size) }
func (plannedInfo) Mode() fs.FileMode  { return 0o600 }
func (plannedInfo) ModTime() time.Time { return time.Time{} }
func (plannedInfo) IsDir() bool        { return false }
func (plannedInfo) Sys() any           { return nil }

func (r *Reader) orPlanned(path string, info fs.FileInfo, err error) (fs.FileInfo, error) {
	if err == nil || len(r.planned) == 0 {
		return info, err
	}
	if data, ok := r.plannedAt(path); ok {
		return plannedInfo{filepath.Base(path), len(data)}, nil
	}
	return info, err
}

// realPath resolves links; of a path that does not exist those of its existing part.
func realPath(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	parent := filepath.Dir(path)
	if parent == path {
		return path
	}
	return filepath.Join(realPath(parent), filepath.Base(path))
}

// Touched returns every path that was looked at, sorted.
func (r *Reader) Touched() []string {
	out := make([]string, 0, len(r.touched))
	for p := range r.touched {
		out = append(out, p)
	}
	sort.Strings(out)
	return out
}

// Files returns the report of every file that was read or looked for, in that order; a path counts once.
func (r *Reader) Files() []model.File {
	out := make([]model.File, 0, len(r.files))
	for _, f := range r.files {
		mf := model.File{Path: f.Path, Scope: f.Scope, Status: f.Status, Note: f.Note}
		if f.Status == model.FileMalformed {
			loc := f.Location()
			mf.Line, mf.Column = loc.Line, loc.Column
			if f.entry != nil && f.Err != nil {
				mf.Context = memo(f.entry, fmt.Sprintf("context/%d/%d", loc.Line, loc.Column), func() *model.Context { return contextAround(f.Data, loc.Line, loc.Column) })
			}
		}
		out = append(out, mf)
	}
	return out
}

func (r *Reader) touch(path string) { r.touched[path] = struct{}{} }

// Stat follows links. It never opens anything.
func (r *Reader) Stat(path string) (fs.FileInfo, error) {
	r.touch(path)
	info, err := os.Stat(path)
	return r.orPlanned(path, info, err)
}

// Lstat does not follow a link at the end of the path.
func (r *Reader) Lstat(path string) (fs.FileInfo, error) {
	r.touch(path)
	info, err := os.Lstat(path)
	return r.orPlanned(path, info, err)
}

// Exists tells whether something is at the path, following links.
func (r *Reader) Exists(path string) bool {
	_, err := r.Stat(path)
	return err == nil
}

// IsDir tells whether the path is a folder, following links.
func (r *Reader) IsDir(path string) bool {
	info, err := r.Stat(path)
	return err == nil && info.IsDir()
}

// IsFile tells whether the path is a regular file, following links.
func (r *Reader) IsFile(path string) bool {
	info, err := r.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// ReadDir returns the names in a folder, sorted; none when it cannot be read. At most 10,000 names are returned.
func (r *Reader) ReadDir(path string) []string {
	if !r.IsDir(path) { // a FIFO would wait for a writer
		return nil
	}
	d, err := openForReading(path)
	if err != nil {
		return nil
	}
	defer d.Close()
	names, _ := d.Readdirnames(10_000)
	sort.Strings(names)
	return names
}

// RealPath resolves links; a path that does not exist is returned cleaned, with the links of its existing part resolved.
func (r *Reader) RealPath(path string) string {
	path = filepath.Clean(path)
	if real, err := filepath.EvalSymlinks(path); err == nil {
		if real != path {
			r.touch(path)
		}
		return real
	}
	r.touch(path)
	parent := filepath.Dir(path)
	if parent == path {
		return path
	}
	return filepath.Join(r.RealPath(parent), filepath.Base(path))
}

// Read returns the bytes of a regular file of at most limit bytes (0: MaxFileSize), and reports it. A missing file, a
// dangling link included, is absent; what is no regular file is refused without being opened.
func (r *Reader) Read(path string, scope model.Scope, limit int64) *ConfigFile {
	return r.read(path, scope, limit, true)
}

// Peek is Read for a file that is no place for servers by itself (a database of trust, a marker): it is not reported
// unless it exists.
func (r *Reader) Peek(path string, scope model.Scope) *ConfigFile {
	return r.read(path, scope, 0, false)
}

func (r *Reader) read(path string, scope model.Scope, limit int64, always bool) *ConfigFile {
	path = filepath.Clean(path)
	for _, have := range r.files {
		if have.Path == path {
			again := *have
			again.JSON, again.TOML = nil, nil
			return &again
		}
	}
	if limit <= 0 || limit > MaxFileSize {
		limit = MaxFileSize
	}
	r.touch(path)
	f := &ConfigFile{Path: path, Scope: scope, Status: model.FileRead}
	entry := r.load(path)
	f.entry = entry
	switch {
	case errors.Is(entry.err, fs.ErrNotExist):
		f.Status, f.Err = model.FileAbsent, entry.err
	case entry.err != nil:
		f.Status, f.Err, f.Note = model.FileRefused, entry.err, reasonText(entry.err)
	case int64(len(entry.data)) > limit:
		f.Status = model.FileRefused
		f.Note = fmt.Sprintf("larger than %s", sizeText(limit))
		f.Err = errors.New(f.Note)
	default:
		f.Data = entry.data
	}
	if always || f.Status != model.FileAbsent {
		r.files = append(r.files, f)
	}
	return f
}

func (r *Reader) load(path string) *cacheEntry {
	if data, ok := r.plannedAt(path); ok {
		entry := newEntry(fileIdentity{})
		entry.data = data
		return entry
	}
	return r.cache.load(path)
}

// Drop takes a file out of the report: it was looked at for something else than servers, trust or switches.
func (r *Reader) Drop(f *ConfigFile) {
	r.files = slices.DeleteFunc(r.files, func(have *ConfigFile) bool { return have.Path == f.Path })
}

// Text makes a ConfigFile of a text that is no file, such as an environment variable. Its path is "$NAME".
func (r *Reader) Text(name string, scope model.Scope, text string) *ConfigFile {
	f := &ConfigFile{Path: "$" + name, Scope: scope, Status: model.FileRead, Data: []byte(text),
		entry: newEntry(fileIdentity{})}
	r.files = append(r.files, f)
	return f
}

// Mark sets the status and the note that the file is reported with. An empty note keeps the old one.
func (r *Reader) Mark(f *ConfigFile, status model.FileStatus, note string) {
	f.Status = status
	if note != "" {
		f.Note = note
	}
	for _, have := range r.files {
		if have.Path == f.Path {
			have.Status, have.Note, have.Err = f.Status, f.Note, f.Err
		}
	}
}

// Refuse marks a file malformed that parses but that the harness does not accept: at is the line at fault, what says why.
func (r *Reader) Refuse(f *ConfigFile, at model.Location, what string) {
	f.Err = &jsonc.SyntaxError{Line: max(1, at.Line), Column: max(1, at.Column), Message: model.Clean(what)}
	r.Mark(f, model.FileMalformed, f.Err.Error())
}

// Ignored reports a file that exists but that the harness does not read here, with the reason. Its content is not read.
func (r *Reader) Ignored(path string, scope model.Scope, why string) bool {
	path = filepath.Clean(path)
	if slices.ContainsFunc(r.files, func(f *ConfigFile) bool { return f.Path == path }) || !r.Exists(path) {
		return false
	}
	r.files = append(r.files, &ConfigFile{Path: path, Scope: scope, Status: model.FileIgnored, Note: why})
	return true
}

// ReadJSON reads and parses a JSON file. A file that does not parse is malformed; an empty one is parsed like any other
// text, so strict parsers refuse it: look at Data first where the harness accepts it.
func (r *Reader) ReadJSON(path string, scope model.Scope, limit int64, o jsonc.Options) *ConfigFile {
	f := r.Read(path, scope, limit)
	r.ParseJSON(f, o)
	return f
}

// ParseJSON parses a file that was read.
func (r *Reader) ParseJSON(f *ConfigFile, o jsonc.Options) {
	if f.Status != model.FileRead {
		return
	}
	type result struct {
		doc *jsonc.Document
		err error
	}
	res := memo(f.entry, fmt.Sprintf("json%+v", o), func() result {
		doc, err := jsonc.Parse(f.Data, o)
		return result{doc, err}
	})
	f.JSON = res.doc
	if res.err != nil {
		f.Err = res.err
		r.Mark(f, model.FileMalformed, model.Clean(res.err.Error()))
	}
}

// ReadTOML reads and parses a TOML file. A file that does not parse is malformed.
func (r *Reader) ReadTOML(path string, scope model.Scope) *ConfigFile {
	f := r.Read(path, scope, 0)
	if f.Status != model.FileRead {
		return f
	}
	type result struct {
		doc *tomledit.Document
		err error
	}
	res := memo(f.entry, "toml", func() result {
		doc, err := tomledit.Parse(f.Data)
		return result{doc, err}
	})
	f.TOML = res.doc
	if res.err != nil {
		f.Err = res.err
		r.Mark(f, model.FileMalformed, model.Clean(res.err.Error()))
	}
	return f
}

// Recover parses what it can of a malformed JSON file, to name the entries that are lost with it. The result must only be
// used for naming: the harness does not read it.
func (r *Reader) Recover(f *ConfigFile) *ConfigFile {
	lost := *f
	doc := Memo(f, "json-recovered", func() *jsonc.Document {
		d, _ := jsonc.Parse(f.Data, jsonc.Options{Lenient: true, Comments: true, TrailingCommas: true, BOM: true, ReplaceInvalidUTF8: true})
		return d
	})
	lost.JSON = doc
	return &lost
}

// Memo keeps a value that is made from the content of one file alone (and from the environment variables, which do not
// change) with the file, so that a reload does not make it again. The key must be unique to the caller.
func Memo[T any](f *ConfigFile, key string, build func() T) T {
	if f.entry == nil {
		return build()
	}
	return memo(f.entry, key, build)
}

func memo[T any](e *cacheEntry, key string, build func() T) T {
	e.memo.mu.Lock()
	v, ok := e.memo.values[key].(T)
	e.memo.mu.Unlock()
	if ok {
		return v
	}
	v = build() // not under the lock: it may ask for another value of the same file
	e.memo.mu.Lock()
	e.memo.values[key] = v
	e.memo.mu.Unlock()
	return v
}

// load returns what is known of a path, from the cache when the identity is the same.
func (c *Cache) load(path string) *cacheEntry {
	info, err := os.Stat(path)
	if err != nil {
		if notThere(err) {
			err = fs.ErrNotExist
		}
		missing := newEntry(fileIdentity{})
		missing.err = err
		return missing
	}
	id := identityOf(info)
	c.mu.Lock()
	old := c.entries[path]
	c.mu.Unlock()
	if old != nil && old.id == id {
		return old
	}
	fresh := newEntry(id)
	fresh.data, fresh.err = readRegular(path, info)
	// The same bytes under a new identity (a file rewritten without a change) keep what was parsed.
	if old != nil && fresh.err == nil && old.err == nil && len(old.data) == len(fresh.data) && bytes.Equal(old.data, fresh.data) {
		fresh.memo, fresh.data = old.memo, old.data
	}
	c.mu.Lock()
	c.entries[path] = fresh
	c.mu.Unlock()
	return fresh
}

var (
	errNotRegular = errors.New("not a regular file")
	errIsFolder   = errors.New("a folder, not a file")
	errTooLarge   = errors.New("larger than 16 MiB")
)

// readRegular opens without blocking and reads at most MaxFileSize bytes of a regular file.
func readRegular(path string, info fs.FileInfo) ([]byte, error) {
	if info.IsDir() {
		return nil, errIsFolder
	}
	if !info.Mode().IsRegular() {
		return nil, errNotRegular
	}
	if info.Size() > MaxFileSize {
		return nil, errTooLarge
	}
	f, err := openForReading(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	// What was a file a moment ago may be a FIFO now.
	if now, err := f.Stat(); err != nil || !now.Mode().IsRegular() {
		return nil, errNotRegular
	}
	data, err := io.ReadAll(io.LimitReader(f, MaxFileSize+1))
	if err != nil {
		return nil, err
	}
	if len(data) > MaxFileSize {
		return nil, errTooLarge
	}
	return data, nil
}

// notThere tells whether an error means that the path names nothing: a missing part, a file where a folder should be.
func notThere(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, errNotDir)
}

func reasonText(err error) string {
	switch {
	case errors.Is(err, fs.ErrPermission):
		return "no permission to read it"
	case errors.Is(err, errLoop):
		return "a loop of symbolic links"
	}
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err.Error()
	}
	return err.Error()
}

func sizeText(n int64) string {
	if n >= 1<<20 {
		return fmt.Sprintf("%d MiB", n>>20)
	}
	return fmt.Sprintf("%d KiB", n>>10)
}
