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
	atOnce    int           // how many run side by side
	changed   chan struct{} // holds one signal: something is to be drawn anew

	mu      sync.Mutex
	files   *model.Snapshot // the newest one, from files alone
	recipes map[*model.Cell]*recipe
	answers map[launchKey]*answer
	laid    map[*model.Cell]laidCell
	running map[launchKey]*job // asked for and not ended
	queue   []*job             // those that wait for others to end, in the order in which they start
	active  int
	closed  bool
	jobs    sync.WaitGroup // those that run
}

// answer is what one launch showed.
type answer struct {
	result *mcpclient.Result
	tools  []model.Tool
	output *model.Transcript
	unset  []string
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

// recipe is what a cell would start, as far as that can be told without opening files that the entry names.
type recipe struct {
	launch loaders.Launch
	key    launchKey
}

// job is one start that was asked for, or several with larger and larger environments, until one does not fail.
type job struct {
	steps      []step
	unapproved bool
	since      time.Time // of the start; before that, when it was asked for
	progress   []string
	ctx        context.Context
	stop       context.CancelFunc
	done       func() // nil, or called once at the end
}

// step is the start with one environment.
type step struct {
	key  launchKey
	cell *model.Cell
}

// progressLimit bounds what is kept of a running launch.
const progressLimit = 40

func newLauncher(env *loaders.Env, harnesses []loaders.Harness, timeout time.Duration) *launcher {
	l := &launcher{env: env, harnesses: map[model.HarnessID]*loaders.Harness{}, registry: mcpclient.NewRegistry(), timeout: timeout,
		atOnce: mcpclient.Concurrency(runtime.NumCPU()), changed: make(chan struct{}, 1), recipes: map[*model.Cell]*recipe{},
		answers: map[launchKey]*answer{}, laid: map[*model.Cell]laidCell{}, running: map[launchKey]*job{}}
	for i := range harnesses {
		l.harnesses[harnesses[i].ID] = &harnesses[i]
	}
	return l
}

// recipe tells what a cell would start; nil when it cannot be told. The caller holds the lock.
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
	launch := h.PlannedLaunch(l.env, &c.Entry)
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
		l.recipes, l.laid = map[*model.Cell]*recipe{}, map[*model.Cell]laidCell{} // cells of older snapshots
	}
	if len(l.answers) == 0 && len(l.running) == 0 {
		return s
	}
	alive := map[launchKey]bool{}
	answersFor := map[*answer][]model.HarnessID{}
	for _, col := range s.Columns {
		for _, c := range col.Cells {
			r := l.recipe(c)
			if r == nil {
				continue
			}
			alive[r.key] = true
			if a := l.answers[r.key]; a != nil && !slices.Contains(answersFor[a], c.Harness) {
				answersFor[a] = append(answersFor[a], c.Harness)
			}
		}
	}
	for k := range l.answers {
		if !alive[k] { // its definition is gone
			delete(l.answers, k)
		}
	}
	columns := slices.Clone(s.Columns)
	for i, col := range columns {
		var cells []*model.Cell
		for j, c := range col.Cells {
			laid := l.layCell(c, answersFor)
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
	return model.NewSnapshot(generation, s.Project, s.Home, s.At, columns)
}

func (l *launcher) layCell(c *model.Cell, answersFor map[*answer][]model.HarnessID) *model.Cell {
	r := l.recipe(c)
	if r == nil {
		return c
	}
	running := l.running[r.key]
	if a := l.answers[r.key]; a != nil {
		have := l.laid[c]
		if have.answer != a {
			have = laidCell{a, l.withAnswer(c, r, a, answersFor[a])}
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

func (l *launcher) withAnswer(c *model.Cell, r *recipe, a *answer, answersFor []model.HarnessID) *model.Cell {
	with := *c
	o := a.result.Observation
	o.Notes, o.Server, o.Prompts, o.Resources = a.result.Notes, a.result.Server, a.result.Prompts, a.result.Resources
	o.Unset, o.For, o.Output = slices.Clone(r.launch.Unset), answersFor, a.output
	for _, name := range a.unset {
		if !slices.Contains(o.Unset, name) {
			o.Unset = append(o.Unset, name)
		}
	}
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

// launchToken is what a plan showed; it holds secrets.
type launchToken struct{ same string }

// Plan says what starting these cells would run or reach.
func (l *launcher) Plan(keys []model.CellKey, single bool) ui.LaunchPlan {
	l.mu.Lock()
	defer l.mu.Unlock()
	p := ui.LaunchPlan{Limit: l.timeout, AtOnce: l.atOnce}
	left := map[model.State]int{}
	groups := map[string]*ui.LaunchItem{}
	var items []*ui.LaunchItem // in the order of the cells
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
			it.Token = launchToken{r.key.same}
			groups[r.key.same] = it
			items = append(items, it)
		}
		it.Cells = append(it.Cells, model.CellKey{Harness: c.Harness, Name: c.Name})
		if title := l.harnesses[c.Harness].Title; !slices.Contains(it.Harnesses, title) {
			it.Harnesses = append(it.Harnesses, title)
		}
		if at, ok := repository(c, l.env); ok {
			it.Repository, it.From = true, at
		}
		it.Unapproved = it.Unapproved || c.Decision == model.DecisionWaits
	}
	for _, it := range items {
		p.Items = append(p.Items, *it)
		p.Ask = p.Ask || it.Repository || it.Unapproved
	}
	sort.SliceStable(p.Items, func(i, j int) bool { // what is not approved last
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

// repository names the file of the folder, which others can change, that declares an entry or a part of it.
func repository(c *model.Cell, env *loaders.Env) (model.Location, bool) {
	if c.Scope == model.ScopeProject {
		return c.Source, true
	}
	for _, r := range c.Replaces {
		if r.Merged && r.Scope == model.ScopeProject {
			return r.Source, true
		}
	}
	if loaders.Within(c.Source.Path, env.Project) && !loaders.Within(env.Home, env.Project) { // an extension in the folder
		return c.Source, true
	}
	return model.Location{}, false
}

func (l *launcher) item(c *model.Cell, r *recipe) *ui.LaunchItem {
	it := &ui.LaunchItem{Name: c.Name, From: c.Source, Unset: r.launch.Unset, Limit: r.launch.Limit}
	if r.launch.Transport.Remote() {
		it.Host = model.MaskURL(r.launch.URL)
		for _, h := range r.launch.Headers {
			it.Headers = append(it.Headers, h.Name)
		}
		return it
	}
	// As written: what is filled in may be secret.
	shown := model.Definition{Transport: model.TransportStdio, Command: c.Definition.Command, Args: c.Definition.Args}
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

// Start starts what a plan says and returns at once. Cells that would start something else by now are returned, and not
// started.
func (l *launcher) Start(p ui.LaunchPlan, without map[int]bool) (changed []model.CellKey) {
	for i := range p.Items {
		if !without[i] {
			changed = append(changed, l.begin(&p.Items[i], nil)...)
		}
	}
	return changed
}

// begin puts one item in the queue: a start with the smallest environment of its harnesses and, only where that fails, with
// the next larger one. done, if not nil, is called at the end. Cells that are not any more what the item shows are returned.
func (l *launcher) begin(it *ui.LaunchItem, done func()) (changed []model.CellKey) {
	l.mu.Lock()
	token, _ := it.Token.(launchToken)
	j := &job{unapproved: it.Unapproved, since: l.env.Now(), done: done}
	seen := map[model.CellKey]bool{}
	for _, c := range l.find(it.Cells) {
		at := model.CellKey{Harness: c.Harness, Name: c.Name}
		r := l.recipe(c)
		if r == nil || r.key.same != token.same {
			continue
		}
		seen[at] = true
		if l.running[r.key] == nil && !slices.ContainsFunc(j.steps, func(s step) bool { return s.key == r.key }) {
			j.steps = append(j.steps, step{r.key, c})
		}
	}
	for _, k := range it.Cells {
		if !seen[k] {
			changed = append(changed, k)
		}
	}
	if len(j.steps) == 0 || l.closed {
		l.mu.Unlock()
		if done != nil {
			done()
		}
		return changed
	}
	slices.SortFunc(j.steps, func(a, b step) int { return int(a.key.class) - int(b.key.class) })
	j.ctx, j.stop = context.WithCancel(context.Background())
	for _, s := range j.steps {
		l.running[s.key] = j
	}
	at := len(l.queue)
	if !j.unapproved { // what is not approved starts last
		if i := slices.IndexFunc(l.queue, func(q *job) bool { return q.unapproved }); i >= 0 {
			at = i
		}
	}
	l.queue = slices.Insert(l.queue, at, j)
	l.startNext()
	if slices.Contains(l.queue, j) {
		j.progress = []string{fmt.Sprintf("waits: %d are being started", l.active)}
	}
	l.mu.Unlock()
	l.signal()
	return changed
}

// startNext starts what waits, as long as there is room. The caller holds the lock.
func (l *launcher) startNext() {
	for l.active < l.atOnce && len(l.queue) > 0 {
		j := l.queue[0]
		l.queue = slices.Delete(l.queue, 0, 1)
		j.since, j.progress = l.env.Now(), nil
		l.active++
		l.jobs.Add(1)
		go l.work(j)
	}
}

// work makes the starts of a job.
func (l *launcher) work(j *job) {
	defer l.jobs.Done()
	for len(j.steps) > 0 && j.ctx.Err() == nil {
		h := l.harnesses[j.steps[0].cell.Harness]
		launch := h.LaunchFor(l.env, &j.steps[0].cell.Entry)
		result := l.run(j, &launch)
		l.settle(j, &answer{result, tools(result.Tools), transcript(&result.Output), launch.Unset})
		l.signal()
	}
	l.mu.Lock()
	l.active--
	l.leave(j)
	l.startNext()
	l.mu.Unlock()
	l.signal()
	if j.done != nil {
		j.done()
	}
}

// settle takes the answer of the first step in; one that is no failure answers for the steps with larger environments too.
func (l *launcher) settle(j *job, a *answer) {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := 1
	if a.result.Observation.Outcome != model.OutcomeError {
		n = len(j.steps)
	}
	for _, s := range j.steps[:n] {
		if a.result.Observation.Outcome != model.OutcomeUnknown { // it was stopped: what was known stays
			l.answers[s.key] = a
		}
		delete(l.running, s.key)
	}
	j.steps = j.steps[n:]
}

// leave ends a job: its cells are not being started any more. The caller holds the lock.
func (l *launcher) leave(j *job) {
	j.stop()
	for _, s := range j.steps {
		delete(l.running, s.key)
	}
}

func (l *launcher) run(j *job, launch *loaders.Launch) *mcpclient.Result {
	target := mcpclient.Target{Transport: launch.Transport, Command: launch.Command, Args: launch.Args, Env: launch.Env, Dir: launch.Dir, URL: launch.URL, Secrets: launch.Secrets}
	for _, h := range launch.Headers {
		target.Headers = append(target.Headers, mcpclient.Header{Name: h.Name, Value: h.Value.Reveal()})
	}
	return mcpclient.List(j.ctx, target, mcpclient.Options{Timeout: l.timeout, Registry: l.registry, Proxy: http.ProxyFromEnvironment, Version: version(), Clock: l.env.Now,
		Progress: func(e mcpclient.Event) {
			line := progressLine(l.env.Now().Sub(j.since), e)
			l.mu.Lock()
			j.progress = append(j.progress, line)
			if len(j.progress) > progressLimit {
				j.progress = slices.Delete(j.progress, 1, len(j.progress)-progressLimit+1)
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
	var stopped []*job
	if len(keys) == 0 {
		for _, j := range l.running {
			stopped = append(stopped, j)
		}
	}
	for _, c := range l.find(keys) {
		if r := l.recipe(c); r != nil && l.running[r.key] != nil {
			stopped = append(stopped, l.running[r.key])
		}
	}
	ended := l.end(stopped)
	l.mu.Unlock()
	ended()
	l.signal()
}

// end tells jobs to stop. Those that wait are gone at once; what has to be told of that is done by the function that is
// returned, without the lock. The caller holds the lock.
func (l *launcher) end(jobs []*job) (tell func()) {
	var told []func()
	for _, j := range jobs {
		j.stop()
		if i := slices.Index(l.queue, j); i >= 0 {
			l.queue = slices.Delete(l.queue, i, i+1)
			l.leave(j)
			if j.done != nil {
				told = append(told, j.done)
			}
		}
	}
	return func() {
		for _, f := range told {
			f()
		}
	}
}

// Close ends everything that runs and waits for it. Nothing starts afterwards.
func (l *launcher) Close() {
	l.mu.Lock()
	l.closed = true
	ended := l.end(slices.Clone(l.queue))
	l.mu.Unlock()
	ended()
	l.registry.Shutdown()
	l.jobs.Wait()
}
