//go:build !windows

package state

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"fusebox/loaders/rewrite"
)

// A version of the file that the rounds below write: who wrote which round last, some padding so that a write takes a
// while, and a sum that tells a torn file.
type version struct{ foreign, a, b int }

func (v version) text() []byte {
	body := fmt.Sprintf("foreign=%d\na=%d\nb=%d\n%s\n", v.foreign, v.a, v.b, strings.Repeat(strconv.Itoa(v.foreign+v.a+v.b), 3000))
	sum := sha256.Sum256([]byte(body))
	return []byte(body + "sum=" + hex.EncodeToString(sum[:]) + "\n")
}

func parse(text []byte) (version, error) {
	var v version
	if _, err := fmt.Sscanf(string(text), "foreign=%d\na=%d\nb=%d\n", &v.foreign, &v.a, &v.b); err != nil {
		return v, fmt.Errorf("torn: %d bytes, %w", len(text), err)
	}
	if !bytes.Equal(v.text(), text) {
		return v, fmt.Errorf("torn: %d bytes", len(text))
	}
	return v, nil
}

const (
	childVariable = "FUSEBOX_STATE_CHILD"
	maxPause      = 2 * time.Millisecond
)

// TestMain is also the foreign program and the second fusebox of the rounds.
func TestMain(m *testing.M) {
	role, rest, _ := strings.Cut(os.Getenv(childVariable), "|")
	path, undo, _ := strings.Cut(rest, "|")
	switch role {
	case "foreign":
		serve(func(round int) string { return foreignWrite(path, round) })
	case "fusebox":
		u := OpenUndo(undo)
		serve(func(round int) string { return ownWrite(u, path, "b", round).line() })
	default:
		os.Exit(m.Run())
	}
}

// serve answers every round number on standard input with a line.
func serve(do func(round int) string) {
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		round, err := strconv.Atoi(in.Text())
		if err != nil {
			os.Exit(1)
		}
		pause(round, 1)
		fmt.Println(do(round))
	}
}

func pause(round, who int) {
	r := rand.New(rand.NewPCG(uint64(round), uint64(who)))
	time.Sleep(time.Duration(r.Int64N(int64(maxPause))))
}

// foreignWrite is a program that knows nothing of fusebox: it reads, changes its line, and writes, in turn by renaming a
// file over the old one and in place, in two pieces (where the system tells that somebody is writing, Linux).
func foreignWrite(path string, round int) string {
	text, err := os.ReadFile(path)
	if err != nil {
		return "unreadable: " + err.Error()
	}
	v, err := parse(text)
	if err != nil {
		return err.Error()
	}
	v.foreign = round
	text = v.text()
	if !writesInPlace(round) {
		err = errors.Join(os.WriteFile(path+".foreign", text, 0o600), os.Rename(path+".foreign", path))
	} else {
		var f *os.File
		if f, err = os.OpenFile(path, os.O_WRONLY|os.O_TRUNC, 0); err == nil {
			_, first := f.Write(text[:len(text)/3])
			pause(round, 4)
			_, second := f.Write(text[len(text)/3:])
			err = errors.Join(first, second, f.Close())
		}
	}
	if err != nil {
		return err.Error()
	}
	return "wrote " + rewrite.Sum(text)
}

func writesInPlace(round int) bool { return round%2 == 1 && runtime.GOOS == "linux" }

// outcome is what one write by fusebox came to.
type outcome struct {
	done, replanned bool
	before          string // sum of what was replaced
	reported        []string
	problem         string
}

func (o outcome) line() string {
	return fmt.Sprintf("%t|%t|%s|%s|%s", o.done, o.replanned, o.before, strings.Join(o.reported, ","), strings.ReplaceAll(o.problem, "\n", " "))
}

func outcomeOf(line string) outcome {
	part := strings.SplitN(line, "|", 5)
	if len(part) != 5 {
		return outcome{problem: line}
	}
	o := outcome{done: part[0] == "true", replanned: part[1] == "true", before: part[2], problem: part[4]}
	if part[3] != "" {
		o.reported = strings.Split(part[3], ",")
	}
	return o
}

// ownWrite is fusebox: it plans on what it read, replaces, and records.
func ownWrite(u *Undo, path, who string, round int) (o outcome) {
	edit := func(now *rewrite.File) ([]byte, error) {
		v, err := parse(now.Data)
		if err != nil {
			o.problem = err.Error()
			return nil, err
		}
		if who == "a" {
			v.a = round
		} else {
			v.b = round
		}
		return v.text(), nil
	}
	report := func(files []string) {
		for _, path := range files {
			data, _ := os.ReadFile(path)
			o.reported = append(o.reported, rewrite.Sum(data))
		}
	}
	planned, err := rewrite.Read(path)
	if errors.Is(err, rewrite.ErrLocked) { // a foreign write that takes long
		o.reported = []string{"refused"}
		return o
	}
	if err != nil {
		o.problem = err.Error()
		return o
	}
	data, err := edit(planned)
	if err != nil {
		return o
	}
	pause(round, len(who)+int(who[0]))
	r, err := rewrite.Replace(planned, data, rewrite.Options{Replan: edit})
	var refused *rewrite.Error
	switch {
	case errors.As(err, &refused):
		report(refused.Kept)
		o.reported = append(o.reported, "refused")
		if !errors.Is(err, rewrite.ErrChanged) && !errors.Is(err, rewrite.ErrLocked) {
			o.problem = err.Error()
		}
		return o
	case err != nil:
		o.problem = err.Error()
		return o
	}
	if _, err := u.Record(who+" "+strconv.Itoa(round), []*rewrite.Result{r}); err != nil {
		o.problem = err.Error()
		return o
	}
	report(r.Kept)
	o.done, o.replanned, o.before = true, r.Replanned, rewrite.Sum(r.Before)
	return o
}

type child struct {
	in  *os.File
	out *bufio.Reader
}

func startChild(t *testing.T, spec string) *child {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	inR, inW, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	outR, outW, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), childVariable+"="+spec)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = inR, outW, os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	inR.Close()
	outW.Close()
	t.Cleanup(func() {
		inW.Close()
		_ = cmd.Wait()
		outR.Close()
	})
	return &child{in: inW, out: bufio.NewReader(outR)}
}

func (c *child) round(n int) string {
	if _, err := fmt.Fprintln(c.in, n); err != nil {
		return err.Error()
	}
	line, err := c.out.ReadString('\n')
	if err != nil {
		return err.Error()
	}
	return strings.TrimSuffix(line, "\n")
}

// TestRounds has two writers of fusebox and a foreign program write one file at the same time, over and over. After every
// round the file is whole, and what the foreign program wrote is in the file, in the undo store, or was reported.
func TestRounds(t *testing.T) {
	t.Parallel()
	t.Run("two in this process", func(t *testing.T) {
		t.Parallel()
		rounds(t, 1000, false)
	})
	t.Run("two processes", func(t *testing.T) {
		t.Parallel()
		rounds(t, 200, true)
	})
}

func rounds(t *testing.T, n int, second bool) {
	if testing.Short() {
		n /= 20
	}
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	path, undo := filepath.Join(dir, "config", "settings.json"), filepath.Join(dir, "undo")
	put(t, path, string(version{}.text()))
	u := OpenUndo(undo)
	foreign := startChild(t, "foreign|"+path)
	b := func(round int) outcome {
		pause(round, 2)
		return ownWrite(u, path, "b", round)
	}
	if second {
		other := startChild(t, "fusebox|"+path+"|"+undo)
		b = func(round int) outcome { return outcomeOf(other.round(round)) }
	}

	// Looks at the file all the time. What a program that writes in place leaves for a moment is its own doing.
	var inPlace atomic.Bool
	stop := make(chan struct{})
	var watcher sync.WaitGroup
	looks := 0
	watcher.Go(func() {
		for {
			select {
			case <-stop:
				return
			case <-time.After(200 * time.Microsecond):
			}
			before := inPlace.Load()
			text, err := os.ReadFile(path)
			if before || inPlace.Load() {
				continue
			}
			looks++
			if err == nil {
				_, err = parse(text)
			}
			if err != nil {
				t.Errorf("a look at the file: %v", err)
			}
		}
	})

	var figures struct{ plain, replanned, refused, kept, derived, exact, undo, reported, overwritten int }
	for round := 1; round <= n && !t.Failed(); round++ {
		inPlace.Store(writesInPlace(round))
		var answers [2]outcome
		var wrote string
		var all sync.WaitGroup
		all.Go(func() { wrote = foreign.round(round) })
		all.Go(func() { pause(round, 3); answers[0] = ownWrite(u, path, "a", round) })
		all.Go(func() { answers[1] = b(round) })
		all.Wait()

		sum, ok := strings.CutPrefix(wrote, "wrote ")
		if !ok {
			t.Fatalf("round %d: the foreign program: %s", round, wrote)
		}
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
		v, err := parse(text)
		if err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
		reported, refused := false, false
		for i, o := range answers {
			if o.problem != "" {
				t.Fatalf("round %d: writer %d: %s", round, i, o.problem)
			}
			for _, r := range o.reported {
				reported = reported || r == sum
				refused = refused || r == "refused"
				if r == "refused" {
					figures.refused++
				} else {
					figures.kept++
				}
			}
			switch {
			case o.done && o.replanned:
				figures.replanned++
			case o.done:
				figures.plain++
			case len(o.reported) == 0:
				t.Fatalf("round %d: writer %d: a write came to nothing and nothing was said", round, i)
			}
		}
		switch {
		case rewrite.Sum(text) == sum:
			figures.exact++
		case v.foreign == round:
			figures.derived++
		case answers[0].before == sum || answers[1].before == sum:
			figures.undo++
		case reported:
			figures.reported++
		default:
			t.Fatalf("round %d: what the foreign program wrote is lost; the file holds %+v, a write was refused: %v", round, v, refused)
		}
		// A version that was edited on is in the undo store, byte for byte.
		if rewrite.Sum(text) != sum && !inUndo(u, sum) && !reported {
			t.Fatalf("round %d: the version of the foreign program is not in the undo store", round)
		}
		for i, got := range []int{v.a, v.b} {
			if answers[i].done && got != round {
				figures.overwritten++ // by the foreign program, which had read the file before
			}
		}
	}
	close(stop)
	watcher.Wait()
	t.Logf("%d rounds: own writes %d as planned, %d planned anew, %d refused and reported, %d overwritten by the foreign program; "+
		"foreign version in the file %d as it is, %d with our edits on it, %d only in undo, %d only reported; %d versions kept aside; %d looks",
		n, figures.plain, figures.replanned, figures.refused, figures.overwritten,
		figures.exact, figures.derived, figures.undo, figures.reported, figures.kept, looks)
	left, _ := filepath.Glob(filepath.Join(dir, "config", rewrite.Prefix+"*"))
	if len(left) != figures.kept {
		t.Errorf("left behind: %v", left)
	}
}

func inUndo(u *Undo, sum string) bool {
	steps, err := u.List()
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false
	}
	for _, s := range steps {
		for _, f := range s.Files {
			if f.Before == sum {
				return true
			}
		}
	}
	return false
}
