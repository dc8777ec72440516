package cli

import (
	"context"
	"fmt"
	"net/http"
	"runtime"
	"slices"
	"sort"
	"sync"
	"time"

	"fusebox/loaders"
	"fusebox/mcpclient"
	"fusebox/model"
	"fusebox/ui"
)

// launcher starts and reaches servers for the cells of a snapshot, and lays what it sees over later snapshots. One start
// answers for every cell that would start the same in the same environment. A result dies with the definition it was made
// for.
type launcher struct {
	env       *loaders.Env
	harnesses map[model.HarnessID]*loaders.Harness
	registry  *mcpclient.Registry
	timeout   time.Duration
	slots     chan struct{}
	changed   chan struct{} // holds one signal: something is to be drawn anew

	mu      sync.Mutex
	files   *model.Snapshot // the newest one, from files alone
	recipes map[*model.Cell]*recipe
	answers map[launchKey]*answer
	laid    map[*model.Cell]*laidCell
	running map[launchKey]*runningLaunch
}

// answer is what one launch showed, and for whom.
type answer struct {
	result *mcpclient.Result
	tools  []model.Tool
	output *model.Transcript
	by     []model.HarnessID
}

// laidCell is a cell with an answer laid over it; it is kept so that the same answer gives the same cell.
type laidCell struct {
	answer *answer
	cell   *model.Cell
}

// launchKey is what has to be equal for one start to answer for two cells. It holds secrets.
type launchKey struct {
	same  string
	class loaders.EnvironmentClass
}

// recipe is what a cell would start.
type recipe struct {
	launch loaders.Launch
	key    launchKey
}

type runningLaunch struct {
	since    time.Time
	progress []string
	stop     context.CancelFunc
}

// progressLimit bounds what is kept of a running launch.
const progressLimit = 40

func newLauncher(env *loaders.Env, harnesses []loaders.Harness, timeout time.Duration) *launcher {
	l := &launcher{env: env, harnesses: map[model.HarnessID]*loaders.Harness{}, registry: mcpclient.NewRegistry(), timeout: timeout,
		slots: make(chan struct{}, max(8, 4*runtime.NumCPU())), changed: make(chan struct{}, 1), recipes: map[*model.Cell]*recipe{},
		answers: map[launchKey]*answer{}, laid: map[*model.Cell]*laidCell{}, running: map[launchKey]*runningLaunch{}}
	for i := range harnesses {
		l.harnesses[harnesses[i].ID] = &harnesses[i]
	}
	return l
}

// recipe fills in what a cell would start. The caller holds the lock.
func (l *launcher) recipe(c *model.Cell) *recipe {
	if c.Definition == nil {
		return nil
	}
	if r, ok := l.recipes[c]; ok {
		return r
	}
	h := l.harnesses[c.Harness]
	if h == nil {
		return nil
	}
	launch := h.LaunchFor(l.env, &c.Entry)
	r := &recipe{launch: launch, key: launchKey{launch.Same(), launch.Class}}
	if launch.Transport.Remote() {
		r.key.class = 0 // nothing of the environment goes over the network
	}
	l.recipes[c] = r
	return r
}

func (l *launcher) signal() {
	select {
	case l.changed <- struct{}{}:
	default:
	}
}

// lay puts running launches and results over the cells of a snapshot from files. It returns the same snapshot when there
// are none.
func (l *launcher) lay(s *model.Snapshot, generation int) *model.Snapshot {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.files != s {
		l.files = s
		l.recipes, l.laid = map[*model.Cell]*recipe{}, map[*model.Cell]*laidCell{} // cells of older snapshots
	}
	if len(l.answers) == 0 && len(l.running) == 0 {
		return s
	}
	columns := slices.Clone(s.Columns)
	alive := map[launchKey]bool{}
	for i, col := range columns {
		var cells []*model.Cell
		for j, c := range col.Cells {
			laid := l.layCell(c, alive)
			if laid != c && cells == nil {
				cells = slices.Clone(col.Cells)
			}
			if cells != nil {
				cells[j] = laid
			}
		}
		if cells != nil {
			with := *col
			with.Cells = cells
			columns[i] = &with
		}
	}
	for k := range l.answers {
		if !alive[k] { // its definition is gone
			delete(l.answers, k)
		}
	}
	return model.NewSnapshot(generation, s.Project, s.Home, s.At, columns)
}

func (l *launcher) layCell(c *model.Cell, alive map[launchKey]bool) *model.Cell {
	r := l.recipe(c)
	if r == nil {
		return c
	}
	alive[r.key] = true
	running, found := l.running[r.key], l.answers[r.key]
	if found != nil && found.result.Observation.Outcome != model.OutcomeUnknown {
		have := l.laid[c]
		if have == nil || have.answer != found {
			have = &laidCell{found, l.withAnswer(c, r, found)}
			l.laid[c] = have
		}
		c = have.cell
	}
	if running == nil {
		return c
	}
	starting := *c
	starting.Launch = &model.Launch{Since: running.since, Progress: slices.Clone(running.progress)}
	return &starting
}

func (l *launcher) withAnswer(c *model.Cell, r *recipe, a *answer) *model.Cell {
	with := *c
	o := a.result.Observation
	o.Notes, o.Server, o.Prompts, o.Resources = a.result.Notes, a.result.Server, a.result.Prompts, a.result.Resources
	o.Unset, o.For, o.Output = r.launch.Unset, a.by, a.output
	with.Observation = &o
	if o.Outcome == model.OutcomeOK || len(a.tools) > 0 {
		with.Tools = l.harnesses[c.Harness].ToolsFor(&c.Entry, a.tools)
	}
	return &with
}

func transcript(t *mcpclient.Transcript) *model.Transcript {
	out := &model.Transcript{Stderr: t.Stderr, Dropped: max(0, t.StderrLines-len(t.Stderr))}
	for _, x := range t.Exchange {
		out.Exchange = append(out.Exchange, model.Exchange{At: x.At, Sent: x.Direction == mcpclient.Sent, Method: x.Kind, Text: x.Text})
	}
	return out
}

func tools(list []mcpclient.Tool) []model.Tool {
	out := make([]model.Tool, len(list))
	for i, t := range list {
		out[i] = model.Tool{Name: t.Name, Title: t.Title, Description: t.Description, Schema: string(t.Schema), Size: t.Size, Malformed: t.Malformed,
			ReadOnly: t.Annotations.ReadOnly, Destructive: t.Annotations.Destructive, Idempotent: t.Annotations.Idempotent, OpenWorld: t.Annotations.OpenWorld}
	}
	return out
}

// Plan says what starting these cells would run or reach.
func (l *launcher) Plan(keys []model.CellKey, single bool) ui.LaunchPlan {
	l.mu.Lock()
	defer l.mu.Unlock()
	p := ui.LaunchPlan{Limit: l.timeout, AtOnce: cap(l.slots)}
	left := map[model.State]int{}
	groups := map[string]*ui.LaunchItem{}
	for _, c := range l.find(keys) {
		r := l.recipe(c)
		switch {
		case r == nil:
			p.Refused = append(p.Refused, "the entry does not say what to start")
			continue
		case r.launch.Transport == model.TransportWS:
			p.Refused = append(p.Refused, "a WebSocket server is known, but fusebox does not try it")
			continue
		case !l.harnesses[c.Harness].Speaks(r.launch.Transport):
			p.Refused = append(p.Refused, fmt.Sprintf("%s does not speak %s", l.harnesses[c.Harness].Title, r.launch.Transport))
			continue
		case l.running[r.key] != nil:
			continue
		case !single && c.Decision != model.DecisionLoads:
			left[c.State()]++
			continue
		}
		it := groups[r.key.same]
		if it == nil {
			it = l.item(c, r)
			groups[r.key.same] = it
		}
		it.Cells = append(it.Cells, model.CellKey{Harness: c.Harness, Name: c.Name})
		if title := l.harnesses[c.Harness].Title; !slices.Contains(it.Harnesses, title) {
			it.Harnesses = append(it.Harnesses, title)
		}
		if repository(c) {
			it.Repository = true
			it.From = c.Source
		}
		it.Unapproved = it.Unapproved || c.Decision == model.DecisionWaits
	}
	for _, it := range groups {
		p.Items = append(p.Items, *it)
		p.Ask = p.Ask || it.Repository || it.Unapproved
	}
	sort.Slice(p.Items, func(i, j int) bool { // what is not approved last
		a, b := &p.Items[i], &p.Items[j]
		if a.Unapproved != b.Unapproved {
			return b.Unapproved
		}
		return model.CompareNames(a.Name, b.Name) < 0
	})
	for _, x := range []struct {
		s    model.State
		word string
	}{{model.StateUnapproved, "that wait for consent"}, {model.StateDisabled, "that are off"}, {model.StateError, "that cannot load"}, {model.StateUnknown, "that no file tells of"}} {
		if left[x.s] > 0 {
			p.LeftOut = append(p.LeftOut, fmt.Sprintf("%d %s", left[x.s], x.word))
		}
	}
	return p
}

// repository tells whether the entry is a file of the folder, which others can change.
func repository(c *model.Cell) bool { return c.Scope == model.ScopeProject }

func (l *launcher) item(c *model.Cell, r *recipe) *ui.LaunchItem {
	it := &ui.LaunchItem{Name: c.Name, From: c.Source, Unset: r.launch.Unset, Limit: r.launch.Limit}
	if r.launch.Transport.Remote() {
		it.Host = model.MaskURL(r.launch.URL)
		for _, h := range r.launch.Headers {
			it.Headers = append(it.Headers, h.Name)
		}
		return it
	}
	shown := model.Definition{Transport: model.TransportStdio, Command: r.launch.Command, Args: model.Secrets(r.launch.Args)}
	if len(r.launch.Unset) == 0 && len(r.launch.Args) == len(c.Definition.Args) {
		shown = model.Definition{Transport: model.TransportStdio, Command: c.Definition.Command, Args: c.Definition.Args} // as written: what is filled in may be secret
	}
	it.Command, it.Folder, it.Gets, it.Variables = shown.Display(), r.launch.Dir, r.launch.Class.String(), r.launch.OwnEnv
	return it
}

// find returns the cells of these keys in the newest snapshot. The caller holds the lock.
func (l *launcher) find(keys []model.CellKey) []*model.Cell {
	var out []*model.Cell
	if l.files == nil {
		return nil
	}
	want := make(map[model.CellKey]bool, len(keys))
	for _, k := range keys {
		want[k] = true
	}
	for _, col := range l.files.Columns {
		for _, c := range col.Cells {
			if want[model.CellKey{Harness: c.Harness, Name: c.Name}] {
				out = append(out, c)
			}
		}
	}
	return out
}

// Start starts what a plan says and returns at once.
func (l *launcher) Start(p ui.LaunchPlan, without map[int]bool) {
	for i, it := range p.Items {
		if !without[i] {
			l.begin(it.Cells, nil)
		}
	}
}

// begin starts one item: with the smallest environment of its harnesses, and only where that fails with the next larger
// one. done, if not nil, is called at the end.
func (l *launcher) begin(keys []model.CellKey, done func()) {
	l.mu.Lock()
	byClass := map[loaders.EnvironmentClass][]*recipe{}
	var classes []loaders.EnvironmentClass
	harnesses := map[loaders.EnvironmentClass][]model.HarnessID{}
	for _, c := range l.find(keys) {
		r := l.recipe(c)
		if r == nil || l.running[r.key] != nil {
			continue
		}
		if byClass[r.key.class] == nil {
			classes = append(classes, r.key.class)
		}
		byClass[r.key.class] = append(byClass[r.key.class], r)
		harnesses[r.key.class] = append(harnesses[r.key.class], c.Harness)
	}
	slices.Sort(classes)
	ctx, cancel := context.WithCancel(context.Background())
	run := &runningLaunch{since: l.env.Now(), stop: cancel}
	for _, class := range classes {
		l.running[byClass[class][0].key] = run
	}
	l.mu.Unlock()
	l.signal()
	go func() {
		defer cancel()
		if done != nil {
			defer done()
		}
		l.slots <- struct{}{}
		defer func() { <-l.slots }()
		for i, class := range classes {
			result := l.run(ctx, &byClass[class][0].launch, run)
			l.mu.Lock()
			settled := result.Observation.Outcome != model.OutcomeError || ctx.Err() != nil
			last := i+1 == len(classes)
			for _, later := range classes[i:] {
				if later != class && !settled {
					break
				}
				k := byClass[later][0].key
				delete(l.running, k)
				if ctx.Err() == nil || result.Observation.Outcome == model.OutcomeOK {
					l.answers[k] = &answer{result, tools(result.Tools), transcript(&result.Output), unique(harnesses, classes[i:], settled || last, class)}
				}
			}
			l.mu.Unlock()
			l.signal()
			if settled {
				return
			}
		}
	}()
}

// unique are the harnesses that a result answers for: those of its class, and when it settled the matter those of the
// larger ones.
func unique(harnesses map[loaders.EnvironmentClass][]model.HarnessID, classes []loaders.EnvironmentClass, all bool, class loaders.EnvironmentClass) []model.HarnessID {
	var out []model.HarnessID
	for _, c := range classes {
		if c != class && !all {
			continue
		}
		for _, h := range harnesses[c] {
			if !slices.Contains(out, h) {
				out = append(out, h)
			}
		}
	}
	return out
}

func (l *launcher) run(ctx context.Context, launch *loaders.Launch, run *runningLaunch) *mcpclient.Result {
	target := mcpclient.Target{Transport: launch.Transport, Command: launch.Command, Args: launch.Args, Env: launch.Env, Dir: launch.Dir, URL: launch.URL, Secrets: launch.Secrets}
	for _, h := range launch.Headers {
		target.Headers = append(target.Headers, mcpclient.Header{Name: h.Name, Value: h.Value.Reveal()})
	}
	return mcpclient.List(ctx, target, mcpclient.Options{Timeout: l.timeout, Registry: l.registry, Proxy: http.ProxyFromEnvironment, Version: version(), Clock: l.env.Now,
		Progress: func(e mcpclient.Event) {
			line := progressLine(l.env.Now().Sub(run.since), e)
			l.mu.Lock()
			run.progress = append(run.progress, line)
			if len(run.progress) > progressLimit {
				run.progress = slices.Delete(run.progress, 1, len(run.progress)-progressLimit+1)
			}
			l.mu.Unlock()
			l.signal()
		}})
}

func progressLine(at time.Duration, e mcpclient.Event) string {
	text := e.Kind.String()
	switch {
	case e.Kind == mcpclient.EventStarted:
		text = fmt.Sprintf("started, pid %d", e.PID)
	case e.Kind == mcpclient.EventStderr || e.Kind == mcpclient.EventNoise:
		text += ": " + e.Text
	case e.Text != "":
		text += " " + e.Text
	}
	return fmt.Sprintf("+%.1f  %s", at.Seconds(), text)
}

// Stop ends running launches of these cells, of all if none is named.
func (l *launcher) Stop(keys []model.CellKey) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(keys) == 0 {
		for _, r := range l.running {
			r.stop()
		}
		return
	}
	for _, c := range l.find(keys) {
		if r := l.recipe(c); r != nil && l.running[r.key] != nil {
			l.running[r.key].stop()
		}
	}
}

// Close ends everything that runs and waits for it.
func (l *launcher) Close() { l.registry.Shutdown() }
