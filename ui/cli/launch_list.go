package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/charmbracelet/x/term"

	"fusebox/loaders"
	"fusebox/model"
)

// launchOptions are the flags of list --launch.
type launchOptions struct {
	launch            bool
	remote            bool
	includeUnapproved bool
}

// launchListed starts what list --launch is about, waits for all of it, and returns the snapshot with the results. Each
// command is named on stderr before it starts. A signal ends the launches; what is known by then is returned.
func launchListed(ctx context.Context, s Streams, l *launcher, files *model.Snapshot, o launchOptions) *model.Snapshot {
	l.lay(files, files.Generation)
	keys, left := launchable(files, l.env, o)
	for _, line := range left {
		fmt.Fprintln(s.Err, line)
	}
	plan := l.Plan(keys, o.includeUnapproved)
	for _, why := range plan.Refused {
		fmt.Fprintln(s.Err, "left out: "+model.Clean(why))
	}
	redactor := model.NewRedactor(append(files.Secrets(), environmentSecrets(os.Environ())...))
	for i := range plan.Items {
		it := &plan.Items[i]
		what := "starting " + it.Command + "  in " + it.Folder
		if it.Host != "" {
			what = "reaching " + it.Host
		}
		fmt.Fprintln(s.Err, redactor.Text(model.Clean(it.Name+": "+what)))
	}
	stop := context.AfterFunc(ctx, l.Close) // told to end: what runs is ended, what is known is printed
	defer stop()
	var waiting sync.WaitGroup
	progress := newCounter(s.Err, len(plan.Items))
	for i := range plan.Items {
		waiting.Add(1)
		l.begin(&plan.Items[i], func() {
			progress.done()
			waiting.Done()
		})
	}
	waiting.Wait()
	progress.end()
	return l.lay(files, files.Generation+1)
}

// launchable are the cells that list --launch starts: what loads; remote servers and what is not approved only when asked
// for; an entry of a file inside the folder only when its consent is recorded outside the folder, or when asked for.
func launchable(s *model.Snapshot, env *loaders.Env, o launchOptions) (keys []model.CellKey, left []string) {
	remote, unapproved := 0, 0
	for _, col := range s.Columns {
		for _, c := range col.Cells {
			if c.Definition == nil || c.Decision == model.DecisionCannot || c.Decision == model.DecisionOff {
				continue
			}
			if c.Definition.Transport.Remote() && !o.remote {
				remote++
				continue
			}
			_, ofRepository := repository(c, env)
			if !o.includeUnapproved && (c.Decision != model.DecisionLoads || ofRepository && !consentedOutside(s, c)) {
				unapproved++
				continue
			}
			keys = append(keys, model.CellKey{Harness: c.Harness, Name: c.Name})
		}
	}
	if remote > 0 {
		left = append(left, fmt.Sprintf("left out: %d remote: --remote reaches them", remote))
	}
	if unapproved > 0 {
		left = append(left, fmt.Sprintf("left out: %d not approved, or not outside of this folder: --include-unapproved starts them", unapproved))
	}
	return keys, left
}

// consentedOutside tells whether the user's consent to a server of the folder is recorded where the folder cannot write it.
func consentedOutside(s *model.Snapshot, c *model.Cell) bool {
	return !c.Consent.IsZero() && !loaders.Within(c.Consent.Path, s.Project)
}

// counter shows how far launches are, on a terminal only.
type counter struct {
	mu    sync.Mutex
	w     io.Writer
	total int
	ended int
	since time.Time
}

func newCounter(w io.Writer, total int) *counter {
	f, ok := w.(*os.File)
	if !ok || !term.IsTerminal(f.Fd()) || total == 0 {
		return &counter{}
	}
	c := &counter{w: w, total: total, since: time.Now()}
	c.draw()
	return c
}

func (c *counter) done() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ended++
	c.draw()
}

func (c *counter) draw() {
	if c.w != nil {
		fmt.Fprintf(c.w, "\r%d of %d listed, %.0f s ", c.ended, c.total, time.Since(c.since).Seconds())
	}
}

func (c *counter) end() {
	if c.w != nil {
		fmt.Fprint(c.w, "\r\x1b[K")
	}
}
