package githistory

import (
	"bytes"
	"compress/zlib"
	"context"
	"crypto/sha1" //nolint:gosec // the ids of git are made with it
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// shop is a repository that a test writes by hand.
type shop struct {
	t        testing.TB
	top, git string
	clock    int64
}

func newShop(t testing.TB) *shop {
	t.Helper()
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	s := &shop{t: t, top: top, git: filepath.Join(top, ".git"), clock: 1_700_000_000}
	s.write(".git/HEAD", "ref: refs/heads/main\n")
	return s
}

func (s *shop) path(name string) string { return filepath.Join(s.top, filepath.FromSlash(name)) }

func (s *shop) write(name, text string) {
	s.t.Helper()
	if err := os.MkdirAll(filepath.Dir(s.path(name)), 0o700); err != nil {
		s.t.Fatal(err)
	}
	if err := os.WriteFile(s.path(name), []byte(text), 0o600); err != nil {
		s.t.Fatal(err)
	}
}

func zipped(data []byte) []byte {
	var b bytes.Buffer
	z := zlib.NewWriter(&b)
	z.Write(data) //nolint:errcheck // into memory
	z.Close()     //nolint:errcheck // into memory
	return b.Bytes()
}

func idOf(k kind, data []byte) id {
	return sha1.Sum(append(fmt.Appendf(nil, "%s %d\x00", k, len(data)), data...)) //nolint:gosec // as above
}

// put writes a loose object.
func (s *shop) put(k kind, data []byte) id {
	i := idOf(k, data)
	if _, err := os.Stat(s.path(loosePath(i))); err == nil {
		return i
	}
	s.write(loosePath(i), string(zipped(append(fmt.Appendf(nil, "%s %d\x00", k, len(data)), data...))))
	return i
}

func loosePath(i id) string { return ".git/objects/" + i.String()[:2] + "/" + i.String()[2:] }

// tree writes the folders that lead to a file; an empty mode leaves the file out.
func (s *shop) tree(path, mode string, file id) id {
	parts := strings.Split(path, "/")
	var data []byte
	if mode != "" {
		data = append(fmt.Appendf(nil, "%s %s\x00", mode, parts[len(parts)-1]), file[:]...)
	}
	other := s.put(kindBlob, []byte("other"))
	at := s.put(kindTree, append(append([]byte("100644 .other\x00"), other[:]...), data...))
	for _, part := range slices.Backward(parts[:len(parts)-1]) {
		at = s.put(kindTree, append(fmt.Appendf(nil, "40000 %s\x00", part), at[:]...))
	}
	return at
}

func (s *shop) commitTree(tree id, parents ...id) id {
	s.clock += 86_400
	text := fmt.Sprintf("tree %s\n", tree)
	for _, p := range parents {
		text += fmt.Sprintf("parent %s\n", p)
	}
	text += fmt.Sprintf("author A <a@example.com> 1 +0000\ncommitter A > B <a@example.com> %d +0100\n\nsubject\n", s.clock)
	return s.put(kindCommit, []byte(text))
}

// commit writes a commit of one file.
func (s *shop) commit(path, text string, parents ...id) id {
	return s.commitTree(s.tree(path, "100644", s.put(kindBlob, []byte(text))), parents...)
}

func (s *shop) head(i id) { s.write(".git/refs/heads/main", i.String()+"\n") }

func testAccess() Access {
	return Access{Open: func(path string) (*os.File, error) { return openForTest(path) }, UID: -1}
}

func find(t testing.TB, file string) *Repository {
	t.Helper()
	r, err := Find(testAccess(), file)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	return r
}

func versions(t testing.TB, file string) []Version {
	t.Helper()
	vs, err := find(t, file).Versions(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return vs
}

// says compares versions with "text commit" lines.
func says(t testing.TB, vs []Version, want ...string) {
	t.Helper()
	var got []string
	for _, v := range vs {
		got = append(got, string(v.Data)+" "+v.Commit[:7])
	}
	if !slices.Equal(got, want) {
		t.Errorf("versions\n%q\nwant\n%q", got, want)
	}
}

func line(text string, commit id) string { return text + " " + commit.String()[:7] }

func TestVersions(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	const file = "a/b/.mcp.json"
	one := s.commit(file, "one")
	two := s.commit(file, "two", one)
	same := s.commit(file, "two", two)
	side := s.commit(file, "side", one)
	merge := s.commit(file, "two", same, side)
	again := s.commit(file, "one", merge)
	gone := s.commitTree(s.tree(file, "", id{}), again)
	link := s.commitTree(s.tree(file, "120000", s.put(kindBlob, []byte("target"))), gone)
	module := s.commitTree(s.tree(file, "160000", one), link)
	last := s.commit(file, "last", module)
	s.head(last)
	vs := versions(t, s.path(file))
	says(t, vs, line("last", last), line("one", again), line("two", two), line("side", side))
	if got := vs[0].At.Format(time.RFC3339); got != "2023-11-24T23:13:20+01:00" {
		t.Errorf("committed at %s", got)
	}
	if got := versions(t, s.path("a/b/nothing")); len(got) > 0 {
		t.Errorf("of a file that is nowhere: %v", got)
	}
	if got, err := find(t, s.path(file)).Head(); got != last.String() || err != nil {
		t.Errorf("HEAD is %s, %v", got, err)
	}

	// A branch in packed-refs, and no branch at all.
	if err := os.Remove(s.path(".git/refs/heads/main")); err != nil {
		t.Fatal(err)
	}
	s.write(".git/packed-refs", "# pack-refs with: peeled\n"+one.String()+" refs/heads/mainly\n"+two.String()+" refs/heads/main\n^"+one.String()+"\n")
	says(t, versions(t, s.path(file)), line("two", two), line("one", one))
	s.write(".git/HEAD", one.String()+"\n")
	says(t, versions(t, s.path(file)), line("one", one))
}

func TestHistoryIsBounded(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	at := s.commit("f", "too far away")
	for range MaxCommits {
		at = s.commit("f", "old", at)
	}
	s.head(at)
	vs := versions(t, s.path("f"))
	if len(vs) != 1 || string(vs[0].Data) != "old" {
		t.Fatalf("%d versions", len(vs))
	}
	for i := range MaxVersions + 5 {
		at = s.commit("f", fmt.Sprint(i), at)
	}
	s.head(at)
	if vs = versions(t, s.path("f")); len(vs) != MaxVersions || string(vs[0].Data) != fmt.Sprint(MaxVersions+4) {
		t.Errorf("%d versions", len(vs))
	}
	large := s.commit("f", strings.Repeat("x", maxBlob+1), at)
	s.head(s.commit("f", "after", large))
	if vs = versions(t, s.path("f")); string(vs[0].Data) != "after" || string(vs[1].Data) != fmt.Sprint(MaxVersions+4) {
		t.Errorf("a file that is too large: %.20q, %.20q", vs[0].Data, vs[1].Data)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if vs, err := find(t, s.path("f")).Versions(ctx); !errors.Is(err, context.Canceled) || len(vs) > 0 {
		t.Errorf("after the end: %d versions, %v", len(vs), err)
	}
	r := find(t, s.path("f"))
	r.store.left = 2000
	if vs, err := r.Versions(t.Context()); !errors.Is(err, errExhausted) || len(vs) == 0 {
		t.Errorf("with little left: %d versions, %v", len(vs), err)
	}
}

func TestWorktreesAndSubmodules(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	one := s.commit("f", "one")
	two := s.commit("f", "two", one)
	s.head(one)
	s.write(".git/refs/heads/side", two.String())
	s.write(".git/worktrees/w/HEAD", "ref: refs/heads/side\n")
	s.write(".git/worktrees/w/commondir", "../..\n")
	s.write("w/.git", "gitdir: "+filepath.ToSlash(s.path(".git/worktrees/w"))+"\n")
	says(t, versions(t, s.path("w/f")), line("two", two), line("one", one))
	s.write("w/.git", "gitdir: ../.git/worktrees/w\n")
	says(t, versions(t, s.path("w/f")), line("two", two), line("one", one))
	says(t, versions(t, s.path("f")), line("one", one))

	for name, text := range map[string]string{"no pointer": "x", "empty": "gitdir: \n", "another machine": "gitdir: //host/share/x\n", "another machine of Windows": `gitdir: \\host\share` + "\n"} {
		s.write("w/.git", text)
		if r, err := Find(testAccess(), s.path("w/f")); err == nil {
			t.Errorf("%s: found %+v", name, r)
		}
	}
	s.write("w/.git", "gitdir: nowhere\n")
	if vs, err := find(t, s.path("w/f")).Versions(t.Context()); !errors.Is(err, fs.ErrNotExist) || len(vs) > 0 {
		t.Errorf("nowhere: %v, %v", vs, err)
	}
	s.write("w/.git", "gitdir: ../.git/worktrees/w\n")
	s.write(".git/worktrees/w/commondir", "//host/share\n")
	if _, err := Find(testAccess(), s.path("w/f")); err == nil {
		t.Error("commondir of another machine was followed")
	}
}

func TestNoVersionsAndWhy(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	one := s.commit("f", "one")
	for name, test := range map[string]struct {
		head, branch string
		why          error
	}{
		"a loop of references":  {"ref: refs/heads/main", "ref: refs/heads/main", ErrNotUnderstood},
		"a way out":             {"ref: refs/../../../f", "", ErrNotUnderstood},
		"a way out of refs":     {"ref: objects/xx", "", ErrNotUnderstood},
		"a table of references": {"ref: refs/heads/.invalid", "", ErrNotUnderstood},
		"SHA-256":               {strings.Repeat("ab", 32), "", ErrNotUnderstood},
		"SHA-256 branch":        {"ref: refs/heads/main", strings.Repeat("ab", 32), ErrNotUnderstood},
		"garbage":               {"\x00\xff", "", ErrNotUnderstood},
		"empty":                 {"", "", ErrNotUnderstood},
		"nothing committed":     {"ref: refs/heads/new", "", nil},
		"no such commit":        {strings.Repeat("ab", 20), "", errMissing},
		"a blob":                {idOf(kindBlob, []byte("one")).String(), "", errCorrupt},
		"large":                 {strings.Repeat(" ", maxPointer+1), "", errTooLarge},
	} {
		s.write(".git/HEAD", test.head)
		s.write(".git/refs/heads/main", test.branch)
		vs, err := find(t, s.path("f")).Versions(t.Context())
		if len(vs) > 0 || err == nil || test.why != nil && !errors.Is(err, test.why) {
			t.Errorf("%s: %v, %v", name, vs, err)
		}
	}
	s.write(".git/HEAD", one.String())

	access := testAccess()
	access.UID, access.Owner = 7, func(fs.FileInfo) (int, bool) { return 8, true }
	if _, err := Find(access, s.path("f")); !errors.Is(err, ErrForeign) {
		t.Errorf("another user's: %v", err)
	}
	access.Owner = func(fs.FileInfo) (int, bool) { return 7, true }
	if _, err := Find(access, s.path("f")); err != nil {
		t.Errorf("one's own: %v", err)
	}
	if err := os.RemoveAll(s.git); err != nil {
		t.Fatal(err)
	}
	if _, err := Find(testAccess(), s.path("f")); err == nil {
		t.Error("there is no repository")
	}
	if err := os.Mkdir(s.git, 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := Find(testAccess(), s.path("f")); err == nil {
		t.Error("an empty folder is no repository")
	}
}

// TestDamagedHistory: what can be read is told.
func TestDamagedHistory(t *testing.T) {
	t.Parallel()
	for name, damage := range map[string]func(s *shop, i id){
		"missing":   func(s *shop, i id) { os.Remove(s.path(loosePath(i))) }, //nolint:errcheck // the test would see it
		"garbage":   func(s *shop, i id) { s.write(loosePath(i), "garbage") },
		"empty":     func(s *shop, i id) { s.write(loosePath(i), "") },
		"another":   func(s *shop, i id) { s.write(loosePath(i), string(zipped([]byte("blob 5\x00other")))) },
		"no size":   func(s *shop, i id) { s.write(loosePath(i), string(zipped([]byte("blob x\x00")))) },
		"negative":  func(s *shop, i id) { s.write(loosePath(i), string(zipped([]byte("blob -5\x00other")))) },
		"endless":   func(s *shop, i id) { s.write(loosePath(i), string(zipped(bytes.Repeat([]byte("x"), 1<<20)))) },
		"too short": func(s *shop, i id) { s.write(loosePath(i), string(zipped([]byte("blob 900000\x00x")))) },
		"too long": func(s *shop, i id) {
			s.write(loosePath(i), string(zipped(append([]byte("blob 3\x00mid"), make([]byte, 64<<20)...))))
		},
		"huge":     func(s *shop, i id) { s.write(loosePath(i), string(zipped([]byte("blob 9000000000000000\x00x")))) },
		"a folder": func(s *shop, i id) { os.Remove(s.path(loosePath(i))); s.write(loosePath(i)+"/x", "") }, //nolint:errcheck // as above
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newShop(t)
			old := s.commit("f", "old")
			mid := s.commit("f", "mid", old)
			last := s.commit("f", "new", mid)
			s.head(last)
			damage(s, idOf(kindBlob, []byte("mid")))
			says(t, versions(t, s.path("f")), line("new", last), line("old", old))
			damage(s, mid)
			says(t, versions(t, s.path("f")), line("new", last))
		})
	}
}

// packer writes packs.
type packer struct {
	data []byte
	at   map[id]int64
	ids  []id
}

func newPacker() *packer {
	return &packer{data: []byte("PACK\x00\x00\x00\x02\x00\x00\x00\x00"), at: map[id]int64{}}
}

func (p *packer) add(i id, k kind, size int, extra, content []byte) {
	p.at[i] = int64(len(p.data))
	p.ids = append(p.ids, i)
	b := byte(k)<<4 | byte(size&15)
	for size >>= 4; size > 0; size >>= 7 {
		p.data = append(p.data, b|0x80)
		b = byte(size & 0x7f)
	}
	p.data = append(append(append(p.data, b), extra...), zipped(content)...)
}

func (p *packer) whole(k kind, data []byte) id {
	i := idOf(k, data)
	p.add(i, k, len(data), nil, data)
	return i
}

// difference keeps the first n bytes of the base and gives the rest.
func difference(base, data []byte, n int) []byte {
	d := binary.AppendUvarint(binary.AppendUvarint(nil, uint64(len(base))), uint64(len(data)))
	if n > 0 {
		d = append(d, 0x80|1|16|32, 0, byte(n), byte(n>>8))
	}
	for rest := data[n:]; len(rest) > 0; {
		piece := rest[:min(len(rest), 127)]
		d = append(append(d, byte(len(piece))), piece...)
		rest = rest[len(piece):]
	}
	return d
}

func distance(back int64) []byte {
	out := []byte{byte(back & 0x7f)}
	for back >>= 7; back > 0; back >>= 7 {
		back--
		out = append([]byte{0x80 | byte(back&0x7f)}, out...)
	}
	return out
}

// far makes the index name some places in its second table.
func (p *packer) index(far bool) []byte {
	ids := slices.Clone(p.ids)
	slices.SortFunc(ids, func(a, b id) int { return bytes.Compare(a[:], b[:]) })
	out := []byte("\xfftOc\x00\x00\x00\x02")
	for b := range 256 {
		n := 0
		for _, i := range ids {
			if int(i[0]) <= b {
				n++
			}
		}
		out = binary.BigEndian.AppendUint32(out, uint32(n))
	}
	for _, i := range ids {
		out = append(out, i[:]...)
	}
	out = append(out, make([]byte, 4*len(ids))...)
	var second []byte
	for n, i := range ids {
		if far {
			out = binary.BigEndian.AppendUint32(out, 1<<31|uint32(n))
			second = binary.BigEndian.AppendUint64(second, uint64(p.at[i]))
		} else {
			out = binary.BigEndian.AppendUint32(out, uint32(p.at[i]))
		}
	}
	return append(append(out, second...), make([]byte, 40)...)
}

func (p *packer) write(s *shop, name string, far bool) {
	s.write(".git/objects/pack/pack-"+name+".pack", string(p.data)+strings.Repeat("\x00", 20))
	s.write(".git/objects/pack/pack-"+name+".idx", string(p.index(far)))
}

func TestPacks(t *testing.T) {
	t.Parallel()
	for _, far := range []bool{false, true} {
		s := newShop(t)
		long := strings.Repeat("a long text\n", 40)
		old, mid, last := []byte(long+"old"), []byte(long+"mid"), []byte(long+"new")
		commits := make([]id, 3)
		for i, text := range [][]byte{old, mid, last} {
			file := idOf(kindBlob, text)
			commits[i] = s.commitTree(s.tree("f", "100644", file), commits[max(0, i-1):i]...)
		}
		s.head(commits[2])
		p := newPacker()
		newID := p.whole(kindBlob, last)
		midID := idOf(kindBlob, mid)
		d := difference(last, mid, len(long))
		p.add(midID, kindOffset, len(d), distance(int64(len(p.data))-p.at[newID]), d)
		q := newPacker() // another pack leads on by id
		oldID := idOf(kindBlob, old)
		d = difference(mid, old, len(long))
		q.add(oldID, kindDistant, len(d), midID[:], d)
		p.write(s, "1", far)
		q.write(s, "2", far)
		s.write(".git/objects/pack/pack-3.idx", "garbage")
		s.write(".git/objects/pack/pack-0.idx", string(p.index(far))) // without its pack
		says(t, versions(t, s.path("f")), line(string(last), commits[2]), line(string(mid), commits[1]), line(string(old), commits[0]))
	}
}

// TestHostilePacks: differences that lead in a circle, claim a size that they have not, or lead out of the pack.
func TestHostilePacks(t *testing.T) {
	t.Parallel()
	want := idOf(kindBlob, []byte("wanted"))
	other := idOf(kindBlob, []byte("other"))
	for name, fill := range map[string]func(p *packer){
		"a circle of ids": func(p *packer) {
			d := difference([]byte("xxxxxx"), []byte("wanted"), 0)
			p.add(want, kindDistant, len(d), other[:], d)
			p.add(other, kindDistant, len(d), want[:], d)
		},
		"itself": func(p *packer) {
			d := difference([]byte("xxxxxx"), []byte("wanted"), 0)
			p.add(want, kindDistant, len(d), want[:], d)
		},
		"no distance": func(p *packer) { p.add(want, kindOffset, 1, distance(0), []byte("x")) },
		"before it":   func(p *packer) { p.add(want, kindOffset, 1, distance(1000), []byte("x")) },
		"far off":     func(p *packer) { p.add(want, kindOffset, 1, bytes.Repeat([]byte{0xff}, 40), []byte("x")) },
		"a large difference": func(p *packer) {
			p.whole(kindBlob, []byte("base"))
			p.add(want, kindDistant, 8, p.ids[0][:], []byte{4, 0xff, 0xff, 0xff, 0xff, 0x7f, 1, 'x'})
		},
		"copies more than there is": func(p *packer) {
			p.whole(kindBlob, []byte("base"))
			p.add(want, kindDistant, 4, p.ids[0][:], []byte{4, 100, 0x80 | 16, 100})
		},
		"a bomb":          func(p *packer) { p.add(want, kindBlob, 6, nil, zeros(64<<20)) },
		"a declared bomb": func(p *packer) { p.add(want, kindBlob, 64<<20, nil, zeros(64<<20)) },
		"no kind":         func(p *packer) { p.add(want, 5, 6, nil, []byte("wanted")) },
		"out of the pack": func(p *packer) { p.whole(kindBlob, []byte("x")); p.ids = append(p.ids, want); p.at[want] = 1 << 30 },
		"in the head":     func(p *packer) { p.whole(kindBlob, []byte("x")); p.ids = append(p.ids, want); p.at[want] = 3 },
		"something else":  func(p *packer) { p.add(want, kindBlob, 6, nil, []byte("vanted")) },
		"endless size": func(p *packer) {
			p.ids, p.at[want] = append(p.ids, want), int64(len(p.data))
			p.data = append(append(p.data, 0xbf), bytes.Repeat([]byte{0xff}, 60)...)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newShop(t)
			old := s.commit("f", "old")
			last := s.commitTree(s.tree("f", "100644", want), old)
			s.head(last)
			p := newPacker()
			fill(p)
			p.write(s, "1", false)
			says(t, versions(t, s.path("f")), line("old", old))
			s.put(kindBlob, []byte("wanted")) // a good one beside it
			says(t, versions(t, s.path("f")), line("wanted", last), line("old", old))
		})
	}
}

func zeros(n int) []byte { return make([]byte, n) }

// TestChainIsBounded: git makes chains of at most 4095 differences, of 50 when it is not told otherwise.
func TestChainIsBounded(t *testing.T) {
	t.Parallel()
	for _, n := range []int{maxDepth - 2, maxDepth + 2} {
		s := newShop(t)
		p := newPacker()
		p.whole(kindBlob, []byte("0"))
		for i := range n {
			text, before := []byte(fmt.Sprint(i+1)), []byte(fmt.Sprint(i))
			d := difference(before, text, 0)
			p.add(idOf(kindBlob, text), kindOffset, len(d), distance(int64(len(p.data))-p.at[p.ids[i]]), d)
		}
		p.write(s, "1", false)
		s.head(s.commitTree(s.tree("f", "100644", p.ids[n])))
		if got := len(versions(t, s.path("f"))); (got == 1) != (n < maxDepth) {
			t.Errorf("%d differences: %d versions", n, got)
		}
	}
}

// TestRepositoriesOfGit reads what git itself writes: loose, packed, of a linked worktree, shallow.
func TestRepositoriesOfGit(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("no git")
	}
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	git := func(args ...string) string {
		t.Helper()
		cmd := exec.Command("git", append([]string{"-C", top}, args...)...)
		cmd.Env = append(os.Environ(), "HOME="+top, "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_AUTHOR_NAME=A", "GIT_AUTHOR_EMAIL=a@example.com",
			"GIT_COMMITTER_NAME=A", "GIT_COMMITTER_EMAIL=a@example.com", "GIT_DIR=", "GIT_WORK_TREE=")
		cmd.Env = slices.DeleteFunc(cmd.Env, func(kv string) bool {
			return strings.HasPrefix(kv, "GIT_DIR") || strings.HasPrefix(kv, "GIT_WORK_TREE")
		})
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("git %q: %v\n%s", args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	git("init", "-q", "-b", "main", "shop")
	top = filepath.Join(top, "shop")
	file := filepath.Join(top, "sub", ".mcp.json")
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	long := strings.Repeat("{\"a line that stays\": 1}\n", 200)
	var want []string
	for i := range 30 {
		text := fmt.Sprintf("%s%d", long, i)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		git("add", "-A")
		git("commit", "-q", "-m", "x")
		want = append([]string{text + " " + git("rev-parse", "HEAD")[:7]}, want...)
	}
	// All were committed within a few seconds: of commits of the same second the order is that of the parents.
	check := func(when, file string, want ...string) {
		t.Helper()
		t.Log(when)
		says(t, versions(t, file), want...)
	}
	check("loose", file, want...)
	git("gc", "-q", "--aggressive")
	check("packed", file, want...)
	if loose, _ := filepath.Glob(filepath.Join(top, ".git", "objects", "??")); len(loose) > 0 {
		t.Errorf("%d folders of loose objects are left: the test does not look at packs", len(loose))
	}
	git("worktree", "add", "-q", "../side", "HEAD~3")
	check("a linked worktree", filepath.Join(filepath.Dir(top), "side", "sub", ".mcp.json"), want[3:]...)
	git("clone", "-q", "--depth", "2", "file://"+filepath.ToSlash(top), "../shallow")
	check("shallow", filepath.Join(filepath.Dir(top), "shallow", "sub", ".mcp.json"), want[:2]...)
}

type inMemory struct{ *bytes.Reader }

func (inMemory) Close() error { return nil }

func FuzzPack(f *testing.F) {
	p := newPacker()
	base := []byte(strings.Repeat("base", 30))
	p.whole(kindBlob, base)
	d := difference(base, []byte("basebase-and-more"), 8)
	p.add(idOf(kindBlob, []byte("basebase-and-more")), kindOffset, len(d), distance(int64(len(p.data))-p.at[p.ids[0]]), d)
	d = difference(base, []byte("base-again"), 4)
	p.add(idOf(kindBlob, []byte("base-again")), kindDistant, len(d), p.ids[0][:], d)
	p.data = append(p.data, zeros(20)...)
	f.Add(p.data, p.index(false))
	f.Add(p.data, p.index(true))
	ids := slices.Clone(p.ids)
	f.Fuzz(func(t *testing.T, data, index []byte) {
		p := &pack{index: inMemory{bytes.NewReader(index)}, file: inMemory{bytes.NewReader(data)}, size: int64(len(data))}
		if !p.readHead(int64(len(index))) {
			return
		}
		st := &store{access: testAccess(), dir: "nowhere", left: maxInflated, listed: true, packs: []*pack{p}}
		for _, want := range ids {
			got, err := st.object(t.Context(), want, kindBlob)
			if err == nil && idOf(kindBlob, got) != want {
				t.Errorf("%s is %q", want, got)
			}
		}
		if st.left < maxInflated-8*maxChain {
			t.Errorf("%d bytes were unpacked", maxInflated-st.left)
		}
	})
}

func FuzzCommitAndTree(f *testing.F) {
	s := newShop(f)
	s.commit("f", "x")
	f.Add([]byte("tree 4b825dc642cb6eb9a060e54bf8d69288fbee4904\nparent 4b825dc642cb6eb9a060e54bf8d69288fbee4904\nauthor A <a> 1 +0000\ncommitter A <a> 1700000000 -0330\n\nx"))
	f.Add([]byte("100644 f\x0012345678901234567890"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if c := parseCommit(data); c != nil {
			_ = c.time().Format(time.RFC3339)
			if len(c.parents) > maxParents {
				t.Error("too many parents")
			}
		}
		entryOf(data, "f", true)
		entryOf(data, "f", false)
		varint(data)
	})
}
