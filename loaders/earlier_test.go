package loaders

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"fusebox/loaders/githistory/gittest"
	"fusebox/model"
)

// earlierScene is a home with a repository in it.
type earlierScene struct {
	t        *testing.T
	env      *Env
	when     time.Time
	contents map[string]string // of the last commit
}

func newEarlierScene(t *testing.T) *earlierScene {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	home := filepath.Join(base, "home")
	s := &earlierScene{t: t, when: time.Date(2026, 11, 2, 10, 0, 0, 0, time.UTC), contents: map[string]string{}}
	s.env = &Env{Root: filepath.Join(base, "root"), Home: home, Project: filepath.Join(home, "shop"), GOOS: runtime.GOOS,
		Vars: map[string]string{"HOME": home, "PATH": filepath.Join(home, "bin")}, UID: os.Getuid(), Now: time.Now}
	s.write("~/bin/a", "")
	s.write("README", "x")
	return s
}

func (s *earlierScene) write(name, text string) {
	s.t.Helper()
	path := filepath.Join(s.env.Project, filepath.FromSlash(name))
	if rest, ok := strings.CutPrefix(name, "~/"); ok {
		path = s.env.InHome(rest)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		s.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o700); err != nil {
		s.t.Fatal(err)
	}
}

// commit writes a file and commits it, a day after the last commit.
func (s *earlierScene) commit(name, text string) string {
	s.t.Helper()
	s.write(name, text)
	s.contents[name] = text
	s.when = s.when.AddDate(0, 0, 1)
	return gittest.Commit(s.t, s.env.Project, s.when, s.contents)[:7]
}

// consentRecord is of a harness that keeps a fingerprint: the file of the servers, and how the consent to an entry is written.
type consentRecord struct {
	file    string
	consent func(s *earlierScene, entry string)
}

func consents() map[model.HarnessID]consentRecord {
	return map[model.HarnessID]consentRecord{
		"qwen": {".mcp.json", func(s *earlierScene, entry string) {
			project, _ := json.Marshal(s.env.Project)
			s.write("~/.qwen/mcpApprovals.json", fmt.Sprintf(`{%s: {"a": {"hash": "%x", "status": "approved"}}}`, project, sha256.Sum256([]byte(entry))))
		}},
		"deepagents": {".mcp.json", func(s *earlierScene, entry string) {
			s.write("~/.deepagents/config.toml", deepRowFor(s.t, s.env.Project, "a", entry, false))
		}},
		"cursor-cli": {".cursor/mcp.json", func(s *earlierScene, entry string) {
			s.write(".cursor/mcp.json", servers1(entry))
			h, _ := Select(All(), []string{"cursor-cli"})
			b := NewSwitchboard(s.env, h[0])
			answer := b.Ask(b.Cell("a"), WishApprove)
			if len(answer.Options) == 0 || answer.Options[0].Plan().Empty() {
				s.t.Fatalf("cannot approve: %+v", answer)
			}
			for path, data := range answer.Options[0].Plan().planned() {
				if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
					s.t.Fatal(err)
				}
				if err := os.WriteFile(path, data, 0o600); err != nil {
					s.t.Fatal(err)
				}
			}
		}},
	}
}

func servers1(entry string) string { return `{"mcpServers": {"a": ` + entry + `}}` }

func (s *earlierScene) loader(id model.HarnessID) *Loader {
	h, _ := Select(All(), []string{string(id)})
	return NewLoader(s.env, h)
}

func TestEarlier(t *testing.T) {
	t.Parallel()
	entry := func(arg string) string { return `{"args":["` + arg + `"],"command":"a"}` }
	for id, c := range consents() {
		t.Run(string(id), func(t *testing.T) {
			t.Parallel()
			s := newEarlierScene(t)
			c.consent(s, entry("approved"))
			s.commit(c.file, servers1(entry("first")))
			want := s.commit(c.file, servers1(entry("approved")))
			at := s.when
			s.commit("README", "changed")
			s.commit(c.file, "{ broken")
			s.commit(c.file, servers1(entry("later")))
			s.commit(c.file, servers1(entry("committed")))
			s.write(c.file, servers1(entry("now")))
			l := s.loader(id)
			before := l.Load()
			cell := before.Column(id).Cell("a")
			if cell == nil || cell.Reason.Code != model.ReasonApprovalChanged {
				t.Fatalf("the scene is not what it should be: %+v", cell)
			}
			check := func(when string) {
				t.Helper()
				e, err := l.Earlier(t.Context(), id, "a")
				if err != nil {
					t.Fatalf("%s: %v", when, err)
				}
				if e.Definition.Display() != "a approved" || e.Commit != want || !e.At.Equal(at) {
					t.Errorf("%s: %s, commit %s of %s", when, e.Definition.Display(), e.Commit, e.At)
				}
			}
			check("at first")
			check("again")
			var together sync.WaitGroup
			for range 4 {
				together.Go(func() {
					if e, err := s.loader(id).Earlier(t.Context(), id, "a"); err != nil || e.Commit != want {
						t.Errorf("together: %+v, %v", e, err)
					}
					check("together")
					l.Reread()
				})
			}
			together.Wait()
			if l.Snapshot() != before {
				t.Error("it made another snapshot")
			}

			for name, why := range map[model.HarnessID]string{"codex": "no consent", id: "no consent"} {
				if e, err := l.Earlier(t.Context(), name, "b"); err == nil || !strings.Contains(err.Error(), why) {
					t.Errorf("%s: %+v, %v", name, e, err)
				}
			}
			ended, cancel := context.WithCancel(t.Context())
			cancel()
			if e, err := s.loader(id).Earlier(ended, id, "a"); err == nil {
				t.Errorf("after the end: %+v", e)
			}

			// As approved it loads: nothing is asked of git.
			s.write(c.file, servers1(entry("approved")))
			if e, err := l.Earlier(t.Context(), id, "a"); err == nil {
				t.Errorf("of what loads: %+v", e)
			}
			// The record is not about anything that was committed.
			s.write(c.file, servers1(entry("now")))
			c.consent(s, entry("never committed"))
			s.write(c.file, servers1(entry("now")))
			if id != "cursor-cli" { // which keeps the older approval as well
				if e, err := l.Earlier(t.Context(), id, "a"); err == nil {
					t.Errorf("never committed: %+v", e)
				}
			}
			if err := os.RemoveAll(filepath.Join(s.env.Project, ".git", "objects")); err != nil {
				t.Fatal(err)
			}
			if e, err := s.loader(id).Earlier(t.Context(), id, "a"); err == nil {
				t.Errorf("without objects: %+v", e)
			}
		})
	}
}

// TestEarlierOfARejection: what was rejected is an answer too.
func TestEarlierOfARejection(t *testing.T) {
	t.Parallel()
	s := newEarlierScene(t)
	const old = `{"command":"a"}`
	consents()["qwen"].consent(s, old)
	data, err := os.ReadFile(s.env.InHome(".qwen/mcpApprovals.json"))
	if err != nil {
		t.Fatal(err)
	}
	s.write("~/.qwen/mcpApprovals.json", strings.Replace(string(data), "approved", "rejected", 1))
	want := s.commit(".mcp.json", servers1(old))
	s.commit(".mcp.json", servers1(`{"command":"b"}`))
	if e, err := s.loader("qwen").Earlier(t.Context(), "qwen", "a"); err != nil || e.Commit != want || e.Definition.Command != "a" {
		t.Errorf("%+v, %v", e, err)
	}
}

// TestEarlierIsNotGuessed: a version with which the server would load without that record says nothing about it.
func TestEarlierIsNotGuessed(t *testing.T) {
	t.Parallel()
	s := newEarlierScene(t)
	consents()["qwen"].consent(s, `{"command":"never"}`)
	s.commit(".qwen/settings.json", `{"mcpServers": {"a": {"command": "open"}}, "mcp": {"serverCommand": "x"}}`)
	s.commit(".qwen/settings.json", `{"mcpServers": {"a": {"command": "open"}}, "tools": {"approvalMode": "yolo"}}`)
	s.commit(".qwen/settings.json", `{"mcpServers": {"a": {"command": "off"}}, "mcp": {"excluded": ["a"]}}`)
	s.commit(".qwen/settings.json", `{"mcpServers": {"a": {"command": "now"}}}`)
	cell := s.loader("qwen").Load().Column("qwen").Cell("a")
	if cell == nil || cell.Reason.Code != model.ReasonApprovalChanged {
		t.Fatalf("the scene is not what it should be: %+v", cell)
	}
	if e, err := s.loader("qwen").Earlier(t.Context(), "qwen", "a"); err == nil {
		t.Errorf("it was %s in %s", e.Definition.Display(), e.Commit)
	}
}

// TestEarlierOfAnothersRepository: as git does, a repository of another user is left alone.
func TestEarlierOfAnothersRepository(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("owners are no numbers there")
	}
	s := newEarlierScene(t)
	const old = `{"command":"a"}`
	consents()["qwen"].consent(s, old)
	s.commit(".mcp.json", servers1(old))
	s.commit(".mcp.json", servers1(`{"command":"b"}`))
	s.env.UID = os.Getuid() + 1
	if e, err := s.loader("qwen").Earlier(t.Context(), "qwen", "a"); err == nil {
		t.Errorf("it was %s in %s", e.Definition.Display(), e.Commit)
	}
}
