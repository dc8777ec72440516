package loaders_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"go.yaml.in/yaml/v3"

	"fusebox/loaders"
	"fusebox/loaders/jsonc"
	"fusebox/loaders/rewrite"
	"fusebox/loaders/tomledit"
	"fusebox/model"
)

// writers are the harnesses whose switches fusebox writes.
func writers() []loaders.Harness {
	return slices.DeleteFunc(loaders.All(), func(h loaders.Harness) bool { return h.Toggle == nil })
}

// available are the options that can be taken and write something.
func available(a loaders.Answer) []loaders.Option {
	return slices.DeleteFunc(slices.Clone(a.Options), func(o loaders.Option) bool { return o.Unavailable != "" || o.Done })
}

func canDo(a loaders.Answer) bool {
	return a.Refused == "" && (a.Already || slices.ContainsFunc(a.Options, func(o loaders.Option) bool { return o.Unavailable == "" }))
}

// TestSwitchesOfScenarios asks for every cell of every recorded situation what can be done, does it, looks at the outcome,
// does the opposite, and compares the bytes.
func TestSwitchesOfScenarios(t *testing.T) {
	skipOnWindows(t)
	t.Parallel()
	seen := &tally{count: map[string]int{}}
	t.Run("all", func(t *testing.T) {
		for _, name := range scenarioNames(t) {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				setup, _ := readScenario(t, name)
				if setup.GOOS != "" && setup.GOOS != "linux" {
					t.Skip("paths of another system")
				}
				s := materialise(t, name, setup)
				for _, h := range writers() {
					b := loaders.NewSwitchboard(s.env, h)
					for _, c := range b.Column().Cells {
						s.trySwitch(t, h, b, c, seen)
						s.tryConsent(t, h, b, c, seen)
					}
				}
			})
		}
	})
	seen.log(t)
}

// log tells how often each outcome was seen.
func (t *tally) log(to *testing.T) {
	for _, what := range slices.Sorted(maps.Keys(t.count)) {
		to.Logf("%5d  %s", t.count[what], what)
	}
}

type tally struct {
	sync.Mutex
	count map[string]int
}

func (t *tally) add(format string, args ...any) {
	t.Lock()
	defer t.Unlock()
	t.count[fmt.Sprintf(format, args...)]++
}

func (s *scene) trySwitch(t *testing.T, h loaders.Harness, b *loaders.Switchboard, c *model.Cell, seen *tally) {
	t.Helper()
	where := fmt.Sprintf("%s/%s", h.ID, c.Name)
	wish, back := loaders.WishOff, loaders.WishOn
	if c.Decision == model.DecisionOff {
		wish, back = back, wish
	}
	answer := b.Ask(c, wish)
	if can := c.Capabilities.Toggle == ""; can != canDo(answer) {
		t.Errorf("%s: the capability says %q, the answer %+v", where, c.Capabilities.Toggle, answer)
	}
	for _, o := range available(answer) {
		what := fmt.Sprintf("%s switch %s", h.ID, o.Reach)
		s.do(t, where+": "+what, o, func(changed map[string][]byte) {
			now := loaders.NewSwitchboard(s.env, h)
			after := now.Cell(c.Name)
			if after == nil {
				t.Fatalf("%s: the cell is gone", where)
			}
			if off := after.Decision == model.DecisionOff; off != (wish == loaders.WishOff) {
				t.Errorf("%s: %s after %s", where, after.Decision, what)
			}
			if missing := after.Decision != model.DecisionLoads && wish == loaders.WishOn; missing != (o.Missing != "") {
				t.Errorf("%s: %s (%s), missing: %q", where, after.Decision, after.Reason.Text, o.Missing)
			}
			if again := now.Ask(after, wish); !again.Already {
				t.Errorf("%s: not called done after it was done: %+v", where, again)
			}
			reverse := now.Ask(after, back)
			i := slices.IndexFunc(available(reverse), func(r loaders.Option) bool { return r.Reach == o.Reach })
			if i < 0 && len(available(reverse)) == 0 {
				t.Errorf("%s: no way back: %s", where, reverse.Refused)
				return
			}
			s.do(t, where+": back", available(reverse)[max(0, i)], func(map[string][]byte) {
				seen.add("%s, twice: %s", what, twice(t, where, changed))
			})
		})
	}
}

func (s *scene) tryConsent(t *testing.T, h loaders.Harness, b *loaders.Switchboard, c *model.Cell, seen *tally) {
	t.Helper()
	where := fmt.Sprintf("%s/%s", h.ID, c.Name)
	for _, wish := range []loaders.Wish{loaders.WishApprove, loaders.WishRevoke} {
		answer := b.Ask(c, wish)
		back, what := loaders.WishRevoke, "approve"
		if wish == loaders.WishRevoke {
			back, what = loaders.WishApprove, "revoke"
		}
		if can := c.Capabilities.Approve == ""; wish == loaders.WishApprove && can != (canDo(answer) && !answer.Already) && !onlyTrustingTells(answer) {
			t.Errorf("%s: the capability says %q, the answer %+v", where, c.Capabilities.Approve, answer)
		}
		for _, o := range available(answer) {
			name := fmt.Sprintf("%s %s %s", h.ID, what, o.Reach)
			if o.TrustsFolder {
				name += " trusting the folder"
			}
			s.do(t, where+": "+name, o, func(changed map[string][]byte) {
				now := loaders.NewSwitchboard(s.env, h)
				after := now.Cell(c.Name)
				if after == nil {
					t.Fatalf("%s: the cell is gone", where)
				}
				switch {
				case wish == loaders.WishRevoke:
					if after.Decision == model.DecisionLoads && len(after.Pending) == 0 {
						t.Errorf("%s: still loads after %s", where, name)
					}
				case o.Missing == "" && after.Decision != model.DecisionLoads:
					t.Errorf("%s: %s after %s: %s", where, after.Decision, name, after.Reason.Text)
				case o.Missing != "" && after.Decision == model.DecisionLoads:
					t.Errorf("%s: it loads, missing: %q", where, o.Missing)
				}
				reverse := now.Ask(after, back)
				options := available(reverse)
				i := slices.IndexFunc(options, func(r loaders.Option) bool {
					return r.Reach == o.Reach && r.TrustsFolder == (o.TrustsFolder && back == loaders.WishApprove)
				})
				if i < 0 {
					seen.add("%s: no way back with the same reach", name)
					return
				}
				s.do(t, where+": back", options[i], func(map[string][]byte) {
					seen.add("%s and back", name)
				})
			})
		}
	}
}

// onlyTrustingTells: what a file of the folder holds, and breaks, shows only when the folder is trusted.
func onlyTrustingTells(a loaders.Answer) bool {
	return len(a.Options) > 0 && !slices.ContainsFunc(a.Options, func(o loaders.Option) bool { return !o.TrustsFolder })
}

// do applies an option, calls then with the old bytes, and puts everything back by hand.
func (s *scene) do(t *testing.T, what string, o loaders.Option, then func(old map[string][]byte)) {
	t.Helper()
	plan := o.Plan()
	if plan == nil || plan.Empty() {
		t.Fatalf("%s: an option without a plan", what)
	}
	applied := plan.Apply(nil, "")
	if applied.Err != nil {
		t.Fatalf("%s: %v", what, applied.Err)
	}
	old := map[string][]byte{}
	for i, r := range applied.Written {
		old[r.Real] = nil
		if r.Existed {
			old[r.Real] = r.Before
		}
		s.checkWrite(t, what, r, plan.Diffs()[i])
	}
	then(old)
	for path, data := range old {
		if data == nil {
			if err := os.Remove(path); err != nil && !os.IsNotExist(err) {
				t.Fatal(err)
			}
			continue
		}
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// checkWrite holds a write to what it owes: outside of what the diff shows, every byte is as before.
func (s *scene) checkWrite(t *testing.T, what string, r *rewrite.Result, d loaders.FileDiff) {
	t.Helper()
	before, after := lines(r.Before), lines(r.After)
	if d.Added+d.Removed == 0 || d.Added > 20 || d.Removed > 12 {
		t.Errorf("%s: %s: %d lines added, %d removed", what, s.short(r.Path, 0), d.Added, d.Removed)
	}
	if len(after)-len(before) != d.Added-d.Removed {
		t.Errorf("%s: %s: the diff does not add up: %d lines became %d, +%d -%d", what, s.short(r.Path, 0), len(before), len(after), d.Added, d.Removed)
	}
	if was, is := changedPart(r.Before, r.After); strings.Contains(what, " switch ") && (len(was) > 160 || len(is) > 160) {
		t.Errorf("%s: %s: more than the switch changed: %q became %q", what, s.short(r.Path, 0), was, is)
	}
	if bytes.HasPrefix(r.Before, []byte("\ufeff")) != bytes.HasPrefix(r.After, []byte("\ufeff")) && r.Existed {
		t.Errorf("%s: %s: the byte order mark changed", what, s.short(r.Path, 0))
	}
	if n := bytes.Count(r.Before, []byte("\r\n")); n > 0 && bytes.Count(r.Before, []byte("\n")) == n && bytes.Count(r.After, []byte("\r\n")) != bytes.Count(r.After, []byte("\n")) {
		t.Errorf("%s: %s: line ends are mixed now", what, s.short(r.Path, 0))
	}
}

// changedPart gives what lies between the equal starts and ends of two texts. Names of this run's folders do not count.
func changedPart(before, after []byte) (was, is []byte) {
	for len(before) > 0 && len(after) > 0 && before[0] == after[0] {
		before, after = before[1:], after[1:]
	}
	for len(before) > 0 && len(after) > 0 && before[len(before)-1] == after[len(after)-1] {
		before, after = before[:len(before)-1], after[:len(after)-1]
	}
	folder := regexp.MustCompile(`/[^"\s]*Test[^"\s]*`)
	return folder.ReplaceAll(before, nil), folder.ReplaceAll(after, nil)
}

func lines(data []byte) []string {
	if len(data) == 0 {
		return nil
	}
	out := strings.SplitAfter(string(data), "\n")
	if out[len(out)-1] == "" {
		out = out[:len(out)-1]
	}
	return out
}

// twice compares the bytes after doing and undoing with those before. What differs must have a reason that is named here.
func twice(t *testing.T, where string, old map[string][]byte) string {
	t.Helper()
	reason := "the same bytes"
	for path, before := range old {
		after, err := os.ReadFile(path)
		if err != nil {
			t.Errorf("%s: %v", where, err)
			continue
		}
		if bytes.Equal(before, after) {
			continue
		}
		rest := remainder(path, before, after)
		if rest == "" {
			t.Errorf("%s: %s is not what it was, for no known reason:\n%s", where, path, lineDiff(string(before), string(after)))
		}
		reason = rest
	}
	return reason
}

// remainder names why a file that was changed twice is not what it was; "" when no reason fits.
func remainder(path string, before, after []byte) string {
	was, ok1 := tree(path, before)
	is, ok2 := tree(path, after)
	if !ok1 || !ok2 {
		return ""
	}
	found := map[string]bool{}
	left(was, is, found)
	for _, r := range []string{"other"} {
		if found[r] {
			return ""
		}
	}
	var out []string
	for r := range found {
		out = append(out, r)
	}
	if len(out) == 0 {
		return "the same values in another place or spelling"
	}
	slices.Sort(out)
	return strings.Join(out, ", ")
}

func tree(path string, data []byte) (any, bool) {
	if strings.HasSuffix(path, ".toml") {
		doc, err := tomledit.Parse(data)
		if err != nil {
			return nil, false
		}
		return doc.Tree(), true
	}
	if len(bytes.TrimSpace(data)) == 0 {
		return nil, true
	}
	if strings.HasSuffix(path, ".yaml") {
		var tree any
		err := yaml.Unmarshal(data, &tree)
		return tree, err == nil
	}
	doc, err := jsonc.Parse(data, jsonc.Options{JSON5: true, ReplaceInvalidUTF8: true}) // takes comments, commas and a mark too
	if err != nil {
		return nil, false
	}
	return doc.Root().Interface(), true
}

// left collects what a tree has more or otherwise than another one.
func left(was, is any, found map[string]bool) {
	w, ok1 := was.(map[string]any)
	i, ok2 := is.(map[string]any)
	if !ok2 || was != nil && !ok1 {
		if !sameJSON(was, is) {
			switch list, ok := is.([]any); {
			case ok && was == nil && len(list) == 0:
				found["an empty list stays"] = true
			default:
				found["other"] = true
				if sameElements(was, is) {
					delete(found, "other")
					found["the order of a list changed"] = true
				}
			}
		}
		return
	}
	if was == nil && len(i) == 0 {
		found["an empty object stays"] = true
	}
	for k, v := range w {
		if _, ok := i[k]; ok {
			continue
		}
		if table, ok := v.(map[string]any); ok && len(table) == 1 && table["enabled"] != nil {
			found["an entry that held nothing but the switch went"] = true
			continue
		}
		found["other"] = true
	}
	for k, v := range i {
		old, had := w[k]
		switch {
		case had && sameJSON(old, v):
		case had && k == "enabled" && isString(old):
			found["another word for on or off became true or false"] = true
		case had:
			left(old, v, found)
		case k == "enabled" && v == true:
			found["enabled = true stays where no key was"] = true
		case k == "enabled" && v == false:
			found["enabled = false stays where no key was: another file had the switch"] = true
		case k == "$schema":
			found["a new file stays"] = true
		case k == "allowed_servers":
			found["an allow list stays where no list was"] = true
		case k == "disabled" && v == true:
			found["disabled = true stays where no key was: another file has the server too"] = true
		case k == "disabled" && v == false:
			found["disabled = false stays where no key was"] = true
		default:
			left(nil, v, found)
		}
	}
}

func isString(v any) bool {
	_, ok := v.(string)
	return ok
}

func sameElements(a, b any) bool {
	x, ok1 := a.([]any)
	y, ok2 := b.([]any)
	if !ok1 || !ok2 || len(x) != len(y) {
		return false
	}
	for _, v := range x {
		if !slices.ContainsFunc(y, func(w any) bool { return sameJSON(v, w) }) {
			return false
		}
	}
	return true
}

func sameJSON(a, b any) bool {
	x, _ := json.Marshal(a)
	y, _ := json.Marshal(b)
	return bytes.Equal(x, y)
}
