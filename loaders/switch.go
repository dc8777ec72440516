package loaders

import (
	"cmp"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"fusebox/loaders/jsonc"
	"fusebox/model"
)

// Reach says whom an option reaches.
type Reach string

// The reaches.
const (
	ReachHere       Reach = "here"       // this folder, this user alone
	ReachEverywhere Reach = "everywhere" // every folder of this user
	ReachRepository Reach = "repository" // everybody who uses this repository
)

// Reaches lists every reach, the narrowest first.
func Reaches() []Reach { return []Reach{ReachHere, ReachEverywhere, ReachRepository} }

// Wish is what a user wants of a cell.
type Wish uint8

// The wishes.
const (
	WishOff Wish = iota
	WishOn
	WishApprove
	WishRevoke
)

// Option is one way to do what is wished. A harness gives Reach, Label and Edits, and what it alone knows; a Switchboard adds
// the rest by resolving what the edits would leave.
type Option struct {
	Reach        Reach
	Label        string // "this folder", "every folder", ...
	Edits        []Edit // none: nothing to do
	Unavailable  string // why this way cannot be taken; "" when it can
	LetsIn       string // what else the same consent lets in, and what it does not hold for
	Missing      string // what is still missing afterwards for the server to load
	Warning      string // what else happens, or may happen to others
	TrustsFolder bool   // a whole folder becomes trusted: never without a yes of its own
	Shared       bool   // it writes a file of the folder, which others may use too
	Done         bool   // it is so already: nothing has to be written

	plan *Plan
	then *model.Cell
}

// Then is the cell as it would be; nil when the option cannot be taken.
func (o *Option) Then() *model.Cell { return o.then }

// Plan is what the option writes; nil when it writes nothing or cannot be taken.
func (o *Option) Plan() *Plan { return o.plan }

// Edit changes one file at some keys.
type Edit struct {
	Path    string
	Format  Format
	Steps   []Step
	Lock    string      // a lock folder that the harness itself uses for the file, or ""
	NewMode fs.FileMode // of a file that does not exist; 0 is 0600
	Initial string      // what a file that does not exist starts from; "" as the editor makes one
}

// Format says how a file is parsed.
type Format struct {
	TOML bool
	YAML bool          // StepSet of true or false is all that there is for it
	JSON jsonc.Options // where neither is set
}

// StepKind is a kind of change.
type StepKind uint8

// The kinds of steps. Each does nothing where the file is so already, so that a plan can be made again on other bytes.
const (
	StepSet         StepKind = iota // makes Value, a literal of the format, the value at Path
	StepDelete                      // takes the key at Path out
	StepAppend                      // adds the text Value to the list at Path, if it is not in it; a plain text there becomes a list first
	StepRemove                      // takes the text Value out of the list at Path
	StepPrune                       // takes the key at Path out, if its value is an empty list or an empty object
	StepAddTable                    // TOML only: adds the inline table Value to the array of tables at Path, if it is not in it
	StepRemoveTable                 // TOML only: takes the inline table Value out of the array of tables at Path
)

// Step is one change at a key path; an empty path is the root.
type Step struct {
	Kind  StepKind
	Path  []string
	Value string
}

// Switchboard answers what can be done with the cells of one harness. It looks at the files once, when it is made.
type Switchboard struct {
	env     *Env
	harness Harness
	cache   *Cache
	reader  *Reader
	column  *model.Column
}

// NewSwitchboard reads the harness's files as they are now.
func NewSwitchboard(env *Env, h Harness) *Switchboard {
	b := &Switchboard{env: env, harness: h, cache: NewCache()}
	b.reader = NewReader(env, b.cache)
	b.column = resolveColumn(h, env, b.reader)
	return b
}

// Column is the column that the answers are about.
func (b *Switchboard) Column() *model.Column { return b.column }

// Cell finds a cell by its name; nil when there is none.
func (b *Switchboard) Cell(name string) *model.Cell { return cellOf(b.column, name) }

func cellOf(col *model.Column, name string) *model.Cell {
	for _, c := range col.Cells {
		if c.Name == name {
			return c
		}
	}
	return nil
}

// resolveColumn makes the column of a harness; a fault in its rules gives a broken one.
func resolveColumn(h Harness, env *Env, r *Reader) (col *model.Column) {
	defer func() {
		if fault := recover(); fault != nil {
			col = faultyColumn(h, r)
		}
	}()
	return Column(h, h.Resolve(env, r), r)
}

// Answer is what can be done about a wish.
type Answer struct {
	Already bool     // it is so already, and no option has to be taken
	Refused string   // why nothing can be done; "" when one of the options can be taken
	Options []Option // the narrowest first; those that cannot be taken say why
}

// Ask says what can be done with a cell of the column.
func (b *Switchboard) Ask(c *model.Cell, wish Wish) Answer {
	approving := wish == WishApprove || wish == WishRevoke
	refused := c.Capabilities.Toggle
	if approving {
		refused = c.Capabilities.Approve
	}
	switch {
	case wish == WishOff && c.Decision == model.DecisionOff:
		return Answer{Already: true}
	case wish == WishOn && (c.Decision == model.DecisionLoads || c.Decision != model.DecisionOff && refused == ""):
		return Answer{Already: true}
	case wish == WishApprove && refused != "" && c.Decision == model.DecisionLoads:
		return Answer{Already: true}
	case wish != WishRevoke && refused != "":
		return Answer{Refused: refused}
	case !approving && b.harness.Toggle == nil:
		return Answer{Refused: noSwitchWriter(b.harness)}
	case approving && b.harness.Approve == nil:
		return Answer{Refused: cmp.Or(refused, noConsentWriter(b.harness))}
	}
	var options []Option
	if approving {
		options = b.harness.Approve(b.env, b.reader, c, wish == WishRevoke)
	} else {
		options = b.harness.Toggle(b.env, b.reader, c, wish == WishOn)
	}
	for i := range options {
		b.settle(c, wish, &options[i])
	}
	options = firstOfEachReach(options)
	answer := Answer{Options: options}
	if !slices.ContainsFunc(options, func(o Option) bool { return o.Unavailable == "" }) {
		answer.Refused = "nothing can be written for it"
		for _, o := range options {
			if o.Unavailable != "" {
				answer.Refused = o.Unavailable
				break
			}
		}
		if wish == WishRevoke && len(options) == 0 {
			answer.Refused = "there is no approval to take back"
		}
	}
	return answer
}

func noSwitchWriter(h Harness) string { return "fusebox does not write the switches of " + h.Title }

func noConsentWriter(h Harness) string { return "fusebox does not write the approvals of " + h.Title }

// firstOfEachReach keeps, of several ways with one reach, the first that can be taken. Ways that trust a folder come last.
func firstOfEachReach(options []Option) []Option {
	type kind struct {
		reach  Reach
		trusts bool
	}
	at := map[kind]int{}
	var out []Option
	for _, o := range options {
		k := kind{o.Reach, o.TrustsFolder}
		i, have := at[k]
		switch {
		case !have:
			at[k] = len(out)
			out = append(out, o)
		case out[i].Unavailable != "" && o.Unavailable == "":
			out[i] = o
		}
	}
	slices.SortStableFunc(out, func(a, b Option) int {
		switch {
		case a.TrustsFolder == b.TrustsFolder:
			return 0
		case a.TrustsFolder:
			return 1
		}
		return -1
	})
	return out
}

// settle plans an option and resolves what it would leave: whether it has the effect, what is still missing, and what else
// changes.
func (b *Switchboard) settle(c *model.Cell, wish Wish, o *Option) {
	if o.Unavailable != "" {
		return
	}
	if at, ok := b.unwritable(o); ok {
		o.Unavailable = at
		return
	}
	plan, err := MakePlan(o.Edits)
	if err != nil {
		o.Unavailable = b.shortPaths(err.Error())
		return
	}
	before, after := b.column, b.column
	if !plan.Empty() {
		after = resolveColumn(b.harness, b.env, newPlannedReader(b.env, b.cache, plan.planned()))
	}
	if after.Broken != nil && before.Broken == nil {
		o.Unavailable = after.Broken.Text
		return
	}
	then := cellOf(after, c.Name)
	if then == nil {
		o.Unavailable = b.harness.Title + " would not know it any more"
		return
	}
	why, missing := judge(c, then, wish, plan.Empty(), o.TrustsFolder)
	if why != "" {
		o.Unavailable = why
		return
	}
	if o.Missing == "" || missing == "" {
		o.Missing = missing
	}
	o.then = then
	b.sideEffects(c, before, after, o)
	if plan.Empty() {
		o.Edits, o.Done = nil, true
		return
	}
	o.plan = plan
}

// unwritable names a file of the edits that is never written: one of an administrator.
func (b *Switchboard) unwritable(o *Option) (string, bool) {
	for _, e := range o.Edits {
		for _, f := range b.column.Files {
			if f.Path != e.Path && (f.Status == model.FileAbsent || realPath(f.Path) != realPath(e.Path)) {
				continue
			}
			switch {
			case f.Scope == model.ScopeManaged || f.Scope == model.ScopeSystem || f.Scope == model.ScopeSystemDefaults:
				return model.Tilde(f.Path, b.env.Home) + " is an administrator's file", true
			case f.Status == model.FileRefused:
				return fmt.Sprintf("%s cannot be read: %s", model.Tilde(f.Path, b.env.Home), f.Note), true
			case f.Status == model.FileMalformed && !b.isBlank(f.Path):
				return fmt.Sprintf("%s does not count as it is, and a file that is refused is not written: %s", model.Tilde(f.Path, b.env.Home), f.Note), true
			}
		}
	}
	return "", false
}

// isBlank tells whether a file holds nothing that could be lost.
func (b *Switchboard) isBlank(path string) bool {
	entry := b.cache.load(path)
	return entry.err == nil && strings.TrimSpace(string(entry.data)) == ""
}

func (b *Switchboard) shortPaths(text string) string {
	if b.env.Home == "" || b.env.Home == string(filepath.Separator) {
		return text
	}
	return strings.ReplaceAll(text, b.env.Home+string(filepath.Separator), "~"+string(filepath.Separator))
}

// judge says why an option has not the effect that was wished, or what is missing afterwards for the server to load. A server
// may wait for two things: what gives one of them has an effect, even where the folder is not trusted before and after.
func judge(before, after *model.Cell, wish Wish, nothing, trusts bool) (unavailable, missing string) {
	still := func(what string) string {
		if after.Reason.Text != "" {
			return what + ": " + after.Reason.Text
		}
		return what
	}
	switch wish {
	case WishOff:
		switch after.Decision {
		case model.DecisionOff:
			return "", ""
		case model.DecisionLoads:
			return still("it would still load"), ""
		}
		return still("that changes nothing here"), ""
	case WishOn:
		switch after.Decision {
		case model.DecisionLoads:
			return "", ""
		case model.DecisionOff:
			return still("it would still be off"), ""
		}
		return "", after.Reason.Text
	case WishApprove:
		switch {
		case after.Decision == model.DecisionLoads && !waitsBeside(after):
			return "", ""
		case after.Decision == model.DecisionLoads:
			return still("it would still wait"), ""
		case after.Decision == model.DecisionWaits && after.Reason.Code == model.ReasonUntrustedFolder &&
			(before.Reason.Code != after.Reason.Code || nothing || !trusts && before.Reason.Text != after.Reason.Text):
			return "", after.Reason.Text
		case after.Decision == model.DecisionOff && after.Reason.Code == model.ReasonSwitchedOff && !nothing:
			return "", after.Reason.Text
		case after.Decision == model.DecisionCannot && before.Decision == model.DecisionWaits && after.Reason.Code != model.ReasonFileRefused && !nothing:
			return "", after.Reason.Text // approved, and something else is wrong with it
		}
		return still("it would still not load"), ""
	default:
		switch {
		case nothing:
			return "there is no approval here to take back", ""
		case after.Decision == model.DecisionLoads && !(waitsBeside(after) && !waitsBeside(before)):
			return still("it would still be approved"), ""
		}
		return "", ""
	}
}

// waitsBeside tells whether an entry of the name waits behind another one that loads.
func waitsBeside(c *model.Cell) bool {
	return slices.ContainsFunc(c.Pending, func(p model.Pending) bool { return p.State == model.StateUnapproved })
}

// sideEffects names the other servers that an option changes.
func (b *Switchboard) sideEffects(c *model.Cell, before, after *model.Column, o *Option) {
	if before == after {
		return
	}
	type place struct{ path, key string } // lines move
	at := func(x *model.Cell) place { return place{x.Source.Path, x.Source.Key} }
	was := map[place]model.Decision{}
	for _, x := range before.Cells {
		was[at(x)] = x.Decision
	}
	var in, out []string
	for _, x := range after.Cells {
		d, known := was[at(x)]
		switch {
		case x.Name == c.Name:
		case x.Decision == model.DecisionLoads && (!known || d != model.DecisionLoads):
			in = append(in, quoted(x.Name))
		case known && d == model.DecisionLoads && x.Decision != model.DecisionLoads:
			out = append(out, quoted(x.Name))
		}
	}
	if len(in) > 0 {
		o.LetsIn = joinSentences(o.LetsIn, "also "+someNames(in))
	}
	if len(out) > 0 {
		o.Warning = joinSentences(o.Warning, "also stops "+someNames(out))
	}
}

func joinSentences(a, b string) string {
	if a == "" {
		return b
	}
	return a + "; " + b
}

// someNames lists names; from the sixth on they are counted.
func someNames(names []string) string {
	const most = 5
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
}

// Labels of options.
const (
	labelHere       = "this folder"
	labelEverywhere = "every folder"
	labelEntry      = "this entry, for everybody who uses this repository"
	labelShared     = "this folder, for everybody who uses this repository"
)

// projectReach says whom a file in the folder reaches: in a repository everybody who uses it.
func projectReach(inRepository, ownEntry bool) (Reach, string) {
	switch {
	case !inRepository:
		return ReachHere, labelHere
	case ownEntry:
		return ReachRepository, labelEntry
	}
	return ReachRepository, labelShared
}
