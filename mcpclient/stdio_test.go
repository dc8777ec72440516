package mcpclient

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"fusebox/model"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if script := os.Getenv(fakeVariable); script != "" {
		playFake(script)
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

// quick are options that keep the order of the real times at a fraction of them.
func quick() Options {
	return Options{Timeout: 10 * time.Second, ProbeWait: 2 * time.Second, Grace: 250 * time.Millisecond}
}

func fakeTarget(script string) Target {
	self, err := os.Executable()
	if err != nil {
		panic(err)
	}
	return Target{Transport: model.TransportStdio, Command: self, Env: []string{fakeVariable + "=" + script, "PATH=" + os.Getenv("PATH")}}
}

// launchFake lists a fake server and checks what must hold after every launch.
func launchFake(t *testing.T, target Target, o Options) *Result {
	t.Helper()
	var mu sync.Mutex
	var pids []int
	inner := o.Progress
	o.Progress = func(e Event) {
		if e.Kind == EventStarted {
			mu.Lock()
			pids = append(pids, e.PID)
			mu.Unlock()
		}
		if inner != nil {
			inner(e)
		}
	}
	r := List(context.Background(), target, o)
	checkResult(t, r)
	mu.Lock()
	defer mu.Unlock()
	for _, pid := range pids {
		if groupLives(pid) {
			t.Errorf("a process of group %d lives", pid)
		}
	}
	return r
}

// checkResult asserts the bounds and the form of every result.
func checkResult(t *testing.T, r *Result) {
	t.Helper()
	if r.Observation.Outcome == model.OutcomeError {
		if info, ok := r.Observation.Reason.Code.Info(); !ok || info.State != model.StateError {
			t.Errorf("reason %q does not go with an error", r.Observation.Reason.Code)
		}
		if r.Observation.Word == "" || len(r.Observation.Word) > 7 {
			t.Errorf("word %q", r.Observation.Word)
		}
		if r.Observation.Reason.Text == "" {
			t.Error("an error without a sentence")
		}
	}
	if len(r.Output.Exchange) > exchangeHead+exchangeTail {
		t.Errorf("%d lines of exchange", len(r.Output.Exchange))
	}
	size := 0
	for _, l := range r.Output.Stderr {
		size += len(l)
	}
	if size > 3*stderrTail {
		t.Errorf("%d bytes of stderr", size)
	}
	oneLine := append([]string{r.Observation.Reason.Text, r.Server}, r.Notes...)
	oneLine = append(oneLine, r.Output.Stderr...)
	for _, l := range r.Output.Exchange {
		oneLine = append(oneLine, l.Kind, l.Text)
	}
	for _, tool := range r.Tools {
		oneLine = append(oneLine, tool.Name, tool.Title)
	}
	for _, s := range oneLine {
		if s != model.Clean(s) {
			t.Errorf("not clean: %q", s)
		}
	}
}

func toolNames(r *Result) string {
	var names []string
	for _, t := range r.Tools {
		names = append(names, t.Name)
	}
	return strings.Join(names, " ")
}

func wantOK(t *testing.T, r *Result, names string) {
	t.Helper()
	if r.Observation.Outcome != model.OutcomeOK {
		t.Fatalf("not ok: %+v\n%s", r.Observation.Reason, dump(r))
	}
	if got := toolNames(r); got != names {
		t.Errorf("tools %q, want %q", got, names)
	}
}

func wantError(t *testing.T, r *Result, code model.ReasonCode, word string, parts ...string) {
	t.Helper()
	if r.Observation.Outcome != model.OutcomeError || r.Observation.Reason.Code != code || r.Observation.Word != word {
		t.Fatalf("outcome %d, reason %s %q, word %q; want %s %q\n%s", r.Observation.Outcome, r.Observation.Reason.Code,
			r.Observation.Reason.Text, r.Observation.Word, code, word, dump(r))
	}
	for _, p := range parts {
		if !strings.Contains(r.Observation.Reason.Text, p) {
			t.Errorf("reason %q does not hold %q", r.Observation.Reason.Text, p)
		}
	}
}

func dump(r *Result) string {
	var b strings.Builder
	for _, l := range r.Output.Exchange {
		fmt.Fprintf(&b, "%8.3f %s %s %.200s\n", l.At.Seconds(), l.Direction, l.Kind, l.Text)
	}
	for _, l := range r.Output.Stderr {
		fmt.Fprintf(&b, "stderr %.200s\n", l)
	}
	return b.String() + strings.Join(r.Notes, "\n")
}

// sentMethods returns what was asked, in order.
func sentMethods(r *Result) string {
	var out []string
	for _, l := range r.Output.Exchange {
		if l.Direction == Sent {
			out = append(out, l.Kind)
		}
	}
	return strings.Join(out, " ")
}

func hasNote(r *Result, part string) bool {
	for _, n := range r.Notes {
		if strings.Contains(n, part) {
			return true
		}
	}
	return false
}

func said(r *Result, part string) bool {
	return strings.Contains(strings.Join(r.Output.Stderr, "\n"), part)
}

func TestOlderServer(t *testing.T) {
	t.Parallel()
	r := launchFake(t, fakeTarget("old"), quick())
	wantOK(t, r, "a b")
	if got := sentMethods(r); got != "server/discover initialize notifications/initialized tools/list" {
		t.Errorf("sent %s", got)
	}
	if r.Observation.Protocol != "2025-06-18" || r.Server != "fake 1" || !r.Spawned || r.PID == 0 || r.Observation.Exit != nil {
		t.Errorf("%+v", r)
	}
	if r.Prompts != nil || r.Resources != nil || r.Observation.Noise != 0 || len(r.Notes) != 0 {
		t.Errorf("notes %q", r.Notes)
	}
	if r.Observation.Took <= 0 || r.Observation.At.IsZero() {
		t.Errorf("took %v", r.Observation.Took)
	}
}

func TestModernServer(t *testing.T) {
	t.Parallel()
	r := launchFake(t, fakeTarget("modern"), quick())
	wantOK(t, r, "a b")
	if got := sentMethods(r); got != "server/discover tools/list" {
		t.Errorf("sent %s", got)
	}
	if r.Observation.Protocol != "2026-07-28" || r.Server != "fake 2" {
		t.Errorf("protocol %q, server %q", r.Observation.Protocol, r.Server)
	}
}

func TestAnyErrorOnTheProbeMeansAnOlderServer(t *testing.T) {
	t.Parallel()
	for _, script := range []string{"discover-error:-32601", "discover-error:-32602", "discover-error:-32000", "discover-error:0", "discover-nonsense"} {
		r := launchFake(t, fakeTarget(script), quick())
		wantOK(t, r, "a b")
	}
}

func TestSilenceOnTheProbe(t *testing.T) {
	t.Parallel()
	o := quick()
	o.ProbeWait = 300 * time.Millisecond
	r := launchFake(t, fakeTarget("silent-probe"), o)
	wantOK(t, r, "a b")
	if r.Observation.Took < o.ProbeWait || r.Observation.Protocol != "2025-06-18" {
		t.Errorf("took %v, protocol %q", r.Observation.Took, r.Observation.Protocol)
	}
}

func TestLateAnswerToTheProbe(t *testing.T) {
	t.Parallel()
	for _, script := range []string{"late-answer:800", "late-answer-silent:800", "late-answer-after-refusal:200"} {
		t.Run(script, func(t *testing.T) {
			t.Parallel()
			o := quick()
			o.ProbeWait = 400 * time.Millisecond
			r := launchFake(t, fakeTarget(script), o)
			wantOK(t, r, "a b")
			if r.Observation.Protocol != "2026-07-28" {
				t.Errorf("protocol %q", r.Observation.Protocol)
			}
			if strings.Count(sentMethods(r), "server/discover") != 1 {
				t.Errorf("sent %s", sentMethods(r))
			}
		})
	}
}

func TestSlowStart(t *testing.T) {
	t.Parallel()
	o := quick()
	o.ProbeWait = 200 * time.Millisecond
	r := launchFake(t, fakeTarget("slow:1000"), o)
	wantOK(t, r, "a b")
	if r.Observation.Took < time.Second {
		t.Errorf("took %v", r.Observation.Took)
	}
}

func TestUnsupportedVersion(t *testing.T) {
	t.Parallel()
	r := launchFake(t, fakeTarget("unsupported:2026-07-28,2025-11-25"), quick())
	wantOK(t, r, "a b")
	if r.Observation.Protocol != "2026-07-28" || strings.Contains(sentMethods(r), "initialize") {
		t.Errorf("protocol %q, sent %s", r.Observation.Protocol, sentMethods(r))
	}
	for _, list := range []string{"2031-01-01", "2026-07-28!", "2031-01-01,2030-01-01!"} {
		r := launchFake(t, fakeTarget("unsupported:"+list), quick())
		wantError(t, r, model.ReasonNotMCP, "not mcp", "other versions", strings.TrimSuffix(strings.Split(list, ",")[0], "!"))
		if strings.Contains(sentMethods(r), "initialize") || said(r, "INITIALIZE") {
			t.Errorf("%s: initialize was asked", list)
		}
	}
	// The one version that both know begins with initialize.
	wantOK(t, launchFake(t, fakeTarget("unsupported:2025-11-25"), quick()), "a b")
	r = launchFake(t, fakeTarget("refused-capability"), quick())
	wantError(t, r, model.ReasonNotMCP, "not mcp", "elicitation is required")
	if said(r, "INITIALIZE") {
		t.Error("initialize was asked")
	}
}

func TestAcceptsTheVersionOffered(t *testing.T) {
	t.Parallel()
	r := launchFake(t, fakeTarget("version:2024-10-07"), quick())
	wantOK(t, r, "a b")
	if r.Observation.Protocol != "2024-10-07" || !hasNote(r, "2024-10-07") {
		t.Errorf("protocol %q, notes %q", r.Observation.Protocol, r.Notes)
	}
}

func TestNoise(t *testing.T) {
	t.Parallel()
	r := launchFake(t, fakeTarget("banner"), quick())
	wantOK(t, r, "a b")
	if r.Observation.Noise != 2 || !hasNote(r, "2 lines on stdout are no MCP messages") {
		t.Errorf("noise %d, notes %q", r.Observation.Noise, r.Notes)
	}
	r = launchFake(t, fakeTarget("chatter"), quick())
	wantOK(t, r, "a b")
	if r.Observation.Noise != 8 {
		t.Errorf("noise %d\n%s", r.Observation.Noise, dump(r))
	}
	wantOK(t, launchFake(t, fakeTarget("batch"), quick()), "a b")
}

func TestLineOverFourMegabytesIsDropped(t *testing.T) {
	t.Parallel()
	r := launchFake(t, fakeTarget("long-line"), quick())
	wantOK(t, r, "a b")
	if r.Observation.Noise != 1 || !strings.Contains(dump(r), "more than 4 MB") {
		t.Errorf("noise %d\n%s", r.Observation.Noise, dump(r))
	}
}

func TestExits(t *testing.T) {
	t.Parallel()
	r := launchFake(t, fakeTarget("exit:1"), quick())
	wantError(t, r, model.ReasonExited, "exit 1", "exit 1", "NOTION_TOKEN is not set")
	if r.Observation.Exit == nil || *r.Observation.Exit != 1 {
		t.Errorf("exit %v", r.Observation.Exit)
	}
	if got := strings.Join(r.Output.Stderr, "|"); got != "loading|fatal: NOTION_TOKEN is not set" {
		t.Errorf("stderr %q", got)
	}
	wantError(t, launchFake(t, fakeTarget("exit:255"), quick()), model.ReasonExited, "exit255")
	wantError(t, launchFake(t, fakeTarget("exit:0"), quick()), model.ReasonExited, "exit 0")
	wantError(t, launchFake(t, fakeTarget("exit-on-tools"), quick()), model.ReasonExited, "exit 5")
	r = launchFake(t, fakeTarget("close-output"), quick())
	wantError(t, r, model.ReasonExited, "exited", "closed its output")
	if r.Observation.Exit != nil {
		t.Error("an exit status of our own making")
	}
	if runtime.GOOS != "windows" {
		r = launchFake(t, fakeTarget("abort"), quick())
		wantError(t, r, model.ReasonKilled, "killed", "signal 9")
	}
}

func TestExitOnTheProbe(t *testing.T) {
	t.Parallel()
	r := launchFake(t, fakeTarget("exit-on-probe"), quick())
	wantOK(t, r, "a b")
	if got := sentMethods(r); got != "server/discover initialize notifications/initialized tools/list" {
		t.Errorf("sent %s", got)
	}
	if !hasNote(r, "started once more") {
		t.Errorf("notes %q", r.Notes)
	}
	starts := 0
	o := quick()
	o.Progress = func(e Event) {
		if e.Kind == EventStarted {
			starts++
		}
	}
	wantError(t, launchFake(t, fakeTarget("exit-always"), o), model.ReasonExited, "exit 4")
	if starts != 2 {
		t.Errorf("started %d times", starts)
	}
	starts = 0
	wantError(t, launchFake(t, fakeTarget("exit-on-tools"), o), model.ReasonExited, "exit 5")
	if starts != 1 {
		t.Errorf("started %d times", starts)
	}
}

func TestCommandNotFound(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("other rules")
	}
	dir := t.TempDir()
	write := func(name, text string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	plain := write("plain.txt", "text", 0o644)
	lost := write("lost", "#!/no/such/interpreter\n", 0o755)
	for _, c := range []struct {
		command, dir string
		want         string
	}{
		{"no-such-npx", "", "command not found: no-such-npx"},
		{filepath.Join(dir, "gone"), "", "command not found"},
		{plain + "/x", "", "command not found"},
		{plain, "", "permission denied"},
		{"plain.txt", dir, "permission denied"}, // PATH holds the folder itself
		{"./plain.txt", dir, "permission denied"},
		{dir, "", "permission denied"},
		{lost, "", "first line"},
		{"sh", filepath.Join(dir, "nowhere"), "folder to start it in does not exist"},
	} {
		target := Target{Transport: model.TransportStdio, Command: c.command, Dir: c.dir, Env: []string{"PATH=/nope:."}}
		r := launchFake(t, target, quick())
		wantError(t, r, model.ReasonCommandNotFound, "missing", c.want)
		if r.Spawned {
			t.Error("spawned")
		}
	}
	wantError(t, launchFake(t, Target{Transport: model.TransportStdio}, quick()), model.ReasonEntryInvalid, "invalid")
}

func TestCommandIsLookedUpInItsOwnEnvironment(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("other rules")
	}
	dir := t.TempDir()
	self, _ := os.Executable()
	if err := os.Symlink(self, filepath.Join(dir, "only-here")); err != nil {
		t.Fatal(err)
	}
	target := fakeTarget("environment")
	target.Command, target.Dir, target.Args = "only-here", dir, []string{"one", "two words"}
	target.Env = []string{fakeVariable + "=environment", "PATH=/nope:" + dir, "GREETING=hello"}
	r := launchFake(t, target, quick())
	wantOK(t, r, "env dir args")
	var env []string
	if err := json.Unmarshal([]byte(r.Tools[0].Description), &env); err != nil || len(env) != 3 {
		t.Errorf("environment %q", r.Tools[0].Description)
	}
	if real, _ := filepath.EvalSymlinks(dir); r.Tools[1].Description != dir && r.Tools[1].Description != real {
		t.Errorf("started in %q", r.Tools[1].Description)
	}
	if r.Tools[2].Description != "only-here|one|two words" {
		t.Errorf("arguments %q", r.Tools[2].Description)
	}
}

func TestRefusedInitialize(t *testing.T) {
	t.Parallel()
	r := launchFake(t, fakeTarget("refuses-all"), quick())
	wantError(t, r, model.ReasonNotMCP, "not mcp", "initialize was refused", "Unsupported method: initialize", "-32601")
	wantError(t, launchFake(t, fakeTarget("text-error"), quick()), model.ReasonNotMCP, "not mcp", "not today")
	wantError(t, launchFake(t, fakeTarget("no-list"), quick()), model.ReasonNotMCP, "not mcp", "no list of tools")
}

func TestTimeout(t *testing.T) {
	t.Parallel()
	o := quick()
	o.Timeout, o.ProbeWait = 1200*time.Millisecond, 300*time.Millisecond
	r := launchFake(t, fakeTarget("not-mcp"), o)
	wantError(t, r, model.ReasonTimeout, "timeout", "initialize", "1.2 s", "listening on http://127.0.0.1:8766")
	if r.Observation.Exit != nil {
		t.Error("an exit status of our own making")
	}
	if r.Observation.Took < o.Timeout || r.Observation.Noise != 1 {
		t.Errorf("took %v, noise %d", r.Observation.Took, r.Observation.Noise)
	}
}

func TestPages(t *testing.T) {
	t.Parallel()
	wantOK(t, launchFake(t, fakeTarget("pages"), quick()), "t1 t2 t3")
	r := launchFake(t, fakeTarget("repeated-cursor"), quick())
	wantOK(t, r, "t1 t2 t3")
	if !hasNote(r, "repeats a cursor") {
		t.Errorf("notes %q", r.Notes)
	}
	r = launchFake(t, fakeTarget("odd-cursor"), quick())
	wantOK(t, r, "a")
	if !hasNote(r, "no text") {
		t.Errorf("notes %q", r.Notes)
	}
	r = launchFake(t, fakeTarget("bad-page"), quick())
	wantError(t, r, model.ReasonNotMCP, "not mcp", "page 2", "bad cursor")
	if toolNames(r) != "a" {
		t.Errorf("tools %q", toolNames(r))
	}
}

func TestEndlessListIsBounded(t *testing.T) {
	t.Parallel()
	o := quick()
	o.Timeout = time.Minute
	r := launchFake(t, fakeTarget("endless-pages"), o)
	wantOK(t, r, toolNames(r))
	if n := len(r.Tools); n == 0 || n > maxToolBytes>>20 || !hasNote(r, "too long") {
		t.Errorf("%d tools, notes %q", n, r.Notes)
	}
}

func TestMalformedToolsDoNotHideTheOthers(t *testing.T) {
	t.Parallel()
	r := launchFake(t, fakeTarget("malformed"), quick())
	wantOK(t, r, "good no-schema null-schema text-schema odd last last")
	good, odd := r.Tools[0], r.Tools[4]
	if good.Malformed != "" || good.Title != "Good" || good.Description != "line one\nline two" || string(good.Schema) != `{"type":"object"}` {
		t.Errorf("%+v", good)
	}
	if a := good.Annotations; a.ReadOnly == nil || !*a.ReadOnly || a.Destructive == nil || *a.Destructive || a.Idempotent != nil || a.OpenWorld != nil {
		t.Errorf("annotations %+v", a)
	}
	if want := len(`{"name":"good","title":"Good","description":"line one\nline two","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true,"destructiveHint":false}}`); good.Size != want {
		t.Errorf("size %d, want %d", good.Size, want)
	}
	if odd.Malformed != "description is no text; readOnlyHint is neither true nor false" || odd.Annotations.ReadOnly != nil {
		t.Errorf("%+v", odd)
	}
	for i, want := range []string{"", "it has no input schema", "it has no input schema", "its input schema is no object"} {
		if r.Tools[i].Malformed != want {
			t.Errorf("%s: %q", r.Tools[i].Name, r.Tools[i].Malformed)
		}
	}
	for _, n := range []string{"it is no object", "it has no name", "name is no text", "more than one tool named last"} {
		if !hasNote(r, n) {
			t.Errorf("no note %q in %q", n, r.Notes)
		}
	}
}

func TestNoToolsCapability(t *testing.T) {
	t.Parallel()
	r := launchFake(t, fakeTarget("no-tools"), quick())
	wantOK(t, r, "")
	if strings.Contains(sentMethods(r), "tools/list") || !hasNote(r, "no tools") {
		t.Errorf("sent %s, notes %q", sentMethods(r), r.Notes)
	}
	if r.Prompts == nil || *r.Prompts != 1 || r.Resources != nil {
		t.Errorf("prompts %v, resources %v", r.Prompts, r.Resources)
	}
}

func TestPromptsAndResourcesNeverDecide(t *testing.T) {
	t.Parallel()
	r := launchFake(t, fakeTarget("sides"), quick())
	wantOK(t, r, "a b")
	if r.Prompts == nil || *r.Prompts != 3 || r.Resources != nil || !hasNote(r, "broken inside") {
		t.Errorf("prompts %v, resources %v, notes %q", r.Prompts, r.Resources, r.Notes)
	}
	o := quick()
	o.ProbeWait = 500 * time.Millisecond
	r = launchFake(t, fakeTarget("sides:silent"), o)
	wantOK(t, r, "a b")
	if !hasNote(r, "resources/list was not answered") || r.Observation.Took > o.Timeout {
		t.Errorf("notes %q", r.Notes)
	}
}

func TestFloodIsBounded(t *testing.T) {
	t.Parallel()
	var events int
	o := quick()
	o.Progress = func(Event) { events++ }
	r := launchFake(t, fakeTarget("flood:20000"), o)
	wantOK(t, r, "a b")
	if r.Observation.Noise != 20000 || r.Output.LeftOut == 0 {
		t.Errorf("noise %d, left out %d", r.Observation.Noise, r.Output.LeftOut)
	}
	if r.Output.StderrLines <= len(r.Output.Stderr) || len(r.Output.Stderr) == 0 {
		t.Errorf("%d lines of %d", len(r.Output.Stderr), r.Output.StderrLines)
	}
	if events > 5000 {
		t.Errorf("%d events", events)
	}
}

func TestRequestsOfTheServer(t *testing.T) {
	t.Parallel()
	wantOK(t, launchFake(t, fakeTarget("ping-first"), quick()), "a b")
	wantOK(t, launchFake(t, fakeTarget("requests:100"), quick()), "a b")
	r := launchFake(t, fakeTarget("requests:101"), quick())
	wantError(t, r, model.ReasonNotMCP, "not mcp", "the server sent too many requests")
}

func TestOddIDsAreIgnored(t *testing.T) {
	t.Parallel()
	r := launchFake(t, fakeTarget("odd-ids"), quick())
	wantOK(t, r, "a b")
	if said(r, "STRAY") || r.Observation.Noise != 0 {
		t.Errorf("noise %d\n%s", r.Observation.Noise, dump(r))
	}
}

func TestNothingIsAskedBeforeInitializeIsAnswered(t *testing.T) {
	t.Parallel()
	wantOK(t, launchFake(t, fakeTarget("one-at-a-time"), quick()), "a b")
}

func TestStopsTheGroup(t *testing.T) {
	t.Parallel()
	for _, script := range []string{"ignores-term", "grandchild"} {
		began := time.Now()
		r := launchFake(t, fakeTarget(script), quick())
		wantOK(t, r, "a b")
		if d := time.Since(began); d > 20*time.Second {
			t.Errorf("%s: %v", script, d)
		}
	}
	if runtime.GOOS == "windows" {
		return
	}
	// It is asked before it is killed. What it sends while it ends is no noise, and what it says of being ended is not kept;
	// stderr of before is, however late it is read.
	trace := filepath.Join(t.TempDir(), "trace")
	o := quick()
	o.Grace = time.Second
	r := launchFake(t, fakeTarget("notes-term:"+trace), o)
	if r.Observation.Noise != 0 || strings.Join(r.Output.Stderr, "|") != "last words" {
		t.Errorf("noise %d, stderr %q", r.Observation.Noise, r.Output.Stderr)
	}
	if _, err := os.Stat(trace); err != nil {
		t.Error("it was not asked to end")
	}
}

func TestGrandchildThatHoldsThePipes(t *testing.T) {
	t.Parallel()
	o := quick()
	o.Timeout = 30 * time.Second
	r := launchFake(t, fakeTarget("grandchild-exit"), o)
	wantError(t, r, model.ReasonExited, "exit 6", "gone")
	if r.Observation.Took > 15*time.Second {
		t.Errorf("took %v", r.Observation.Took)
	}
	if hasNote(r, "left the group") {
		t.Errorf("notes %q", r.Notes)
	}
	wantOK(t, launchFake(t, fakeTarget("grandchild-serves"), quick()), "a b")
}

func TestChildThatLeavesTheGroupIsNamed(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("a job cannot be left")
	}
	r := launchFake(t, fakeTarget("outsider"), quick())
	wantOK(t, r, "a b")
	if !hasNote(r, "left the group") {
		t.Errorf("notes %q", r.Notes)
	}
	for _, l := range r.Output.Stderr {
		if pid, ok := strings.CutPrefix(l, "outsider "); ok {
			n, _ := strconv.Atoi(pid)
			killProcess(n)
		}
	}
}

func TestCancel(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(context.Background())
	o := quick()
	o.Timeout = time.Minute
	pid := 0
	o.Progress = func(e Event) {
		if e.Kind == EventStarted {
			pid = e.PID
		}
		if e.Kind == EventNoise {
			cancel()
		}
	}
	r := List(ctx, fakeTarget("not-mcp"), o)
	if r.Observation.Outcome != model.OutcomeUnknown || !strings.Contains(r.Observation.Reason.Text, "stopped") {
		t.Errorf("%+v", r.Observation)
	}
	if groupLives(pid) {
		t.Error("it lives")
	}
	r = List(ctx, fakeTarget("old"), quick())
	if r.Observation.Outcome != model.OutcomeUnknown {
		t.Errorf("%+v", r.Observation)
	}
	if groupLives(r.PID) && r.PID != 0 {
		t.Error("it lives")
	}
}

func TestAReceiverThatIsStuckDoesNotHoldTheClientUp(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	defer close(release)
	o := quick()
	o.Progress = func(Event) { <-release }
	wantOK(t, List(context.Background(), fakeTarget("flood:2000"), o), "a b")
	if r := List(context.Background(), fakeTarget("many-pages:300"), o); len(r.Tools) != 300 {
		t.Errorf("%d tools, %+v", len(r.Tools), r.Observation)
	}
}

func TestEvents(t *testing.T) {
	t.Parallel()
	var seen []string
	o := quick()
	o.Progress = func(e Event) {
		if e.Kind != EventStderr {
			seen = append(seen, e.Kind.String()+" "+e.Text)
		}
	}
	launchFake(t, fakeTarget("banner"), o)
	got := strings.Join(seen, ", ")
	for _, want := range []string{"started ", "asked server/discover", "noise Demo Server 1.0", "answered initialize", "asked tools/list", "stopping "} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in %s", want, got)
		}
	}
}

func TestWebSocketIsNotTried(t *testing.T) {
	t.Parallel()
	r := launchFake(t, Target{Transport: model.TransportWS, URL: "ws://127.0.0.1:1/x"}, quick())
	if r.Observation.Outcome != model.OutcomeUnknown || !hasNote(r, "not tried") {
		t.Errorf("%+v %q", r.Observation, r.Notes)
	}
	wantError(t, launchFake(t, Target{}, quick()), model.ReasonEntryInvalid, "invalid")
}
