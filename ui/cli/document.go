package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode"

	"fusebox/model"
)

// The JSON document of list, schema 1. Field order and names are part of the contract with scripts.
type (
	document struct {
		Schema     int               `json:"schema"`
		Project    string            `json:"project"`
		Generation int               `json:"generation"`
		Harnesses  []harnessDocument `json:"harnesses"`
		Servers    []serverDocument  `json:"servers"`
	}
	harnessDocument struct {
		ID             model.HarnessID     `json:"id"`
		Title          string              `json:"title"`
		Verified       model.Verified      `json:"verified"`
		VersionChecked string              `json:"version_checked"`
		Present        bool                `json:"present"`
		Files          []fileDocument      `json:"files"`
		Notes          []noteDocument      `json:"notes"`
		BlindSpots     []blindSpotDocument `json:"blind_spots"`
		Sessions       []sessionDocument   `json:"sessions"`
		Totals         totalsDocument      `json:"totals"`
	}
	fileDocument struct {
		Path   string           `json:"path"`
		Scope  model.Scope      `json:"scope"`
		Status model.FileStatus `json:"status"`
		Note   string           `json:"note"`
	}
	noteDocument struct {
		Code string `json:"code"`
		Text string `json:"text"`
		Path string `json:"path"`
		Line int    `json:"line"`
	}
	blindSpotDocument struct {
		Code string `json:"code"`
		Text string `json:"text"`
	}
	sessionDocument struct {
		PID   int    `json:"pid"`
		Since string `json:"since"`
		Cwd   string `json:"cwd"`
	}
	totalsDocument struct {
		Servers    int `json:"servers"`
		Loads      int `json:"loads"`
		Tools      int `json:"tools"`
		Tokens     int `json:"tokens"`
		Unclear    int `json:"unclear"`
		Collisions int `json:"collisions"`
	}
	serverDocument struct {
		Name        string               `json:"name"`
		Drift       bool                 `json:"drift"`
		SameAs      []string             `json:"same_as"`
		Definitions []definitionDocument `json:"definitions"`
		Cells       []cellDocument       `json:"cells"`
	}
	definitionDocument struct {
		ID        string          `json:"id"`
		Transport model.Transport `json:"transport"`
		Display   string          `json:"display"`
		Env       []string        `json:"env"`
		Headers   []string        `json:"headers"`
	}
	locationDocument struct {
		Path string `json:"path"`
		Key  string `json:"key"`
		Line int    `json:"line"`
	}
	replacedDocument struct {
		Scope  model.Scope      `json:"scope"`
		Source locationDocument `json:"source"`
		Merged bool             `json:"merged,omitempty"`
	}
	pendingDocument struct {
		Scope      model.Scope      `json:"scope"`
		State      string           `json:"state"`
		ReasonCode model.ReasonCode `json:"reason_code"`
		Reason     string           `json:"reason"`
		Source     locationDocument `json:"source"`
	}
	findingDocument struct {
		Code     model.FindingCode `json:"code"`
		Severity model.Severity    `json:"severity"`
		Text     string            `json:"text"`
		Line     int               `json:"line"`
	}
	capabilitiesDocument struct {
		Toggle  string `json:"toggle"`
		Approve string `json:"approve"`
		Login   string `json:"login"`
	}
	observationDocument struct {
		At       string `json:"at"`
		MS       int64  `json:"ms"`
		Protocol string `json:"protocol"`
		Noise    int    `json:"noise"`
		Exit     *int   `json:"exit"`
	}
	toolsDocument struct {
		Listed  int      `json:"listed"`
		Offered int      `json:"offered"`
		Tokens  int      `json:"tokens"`
		Unclear int      `json:"unclear"`
		Names   []string `json:"names"`
		ShownAs []string `json:"shown_as"`
	}
	cellDocument struct {
		Harness      model.HarnessID      `json:"harness"`
		Name         string               `json:"name"`
		Definition   string               `json:"definition"`
		Scope        model.Scope          `json:"scope"`
		Transport    model.Transport      `json:"transport"`
		State        string               `json:"state"`
		Decision     string               `json:"decision"`
		Overlays     []string             `json:"overlays"`
		ReasonCode   model.ReasonCode     `json:"reason_code"`
		Reason       string               `json:"reason"`
		DecidedBy    *locationDocument    `json:"decided_by"`
		Source       locationDocument     `json:"source"`
		Replaces     []replacedDocument   `json:"replaces"`
		Pending      []pendingDocument    `json:"pending"`
		Findings     []findingDocument    `json:"findings"`
		Capabilities capabilitiesDocument `json:"capabilities"`
		Observation  *observationDocument `json:"observation,omitempty"`
		Tools        *toolsDocument       `json:"tools,omitempty"`
	}
)

// newDocument makes the document of a snapshot. All sentences pass the redactor; names, paths, numbers and states do not.
func newDocument(s *model.Snapshot, redactor *model.Redactor) document {
	doc := document{Schema: 1, Project: s.Project, Generation: s.Generation,
		Harnesses: make([]harnessDocument, 0, len(s.Columns)), Servers: make([]serverDocument, 0, len(s.Servers))}
	text := func(t string) string { return redactor.Text(model.Clean(t)) }
	for _, col := range s.Columns {
		doc.Harnesses = append(doc.Harnesses, newHarnessDocument(col, text))
	}
	ids := 0
	for _, srv := range s.Servers {
		sd := serverDocument{Name: srv.Name, Drift: srv.Drift(), SameAs: nonNil(srv.SameAs),
			Definitions: make([]definitionDocument, 0, len(srv.Definitions)), Cells: make([]cellDocument, 0, len(srv.Cells))}
		byKey := map[string]string{}
		for _, d := range srv.Definitions {
			ids++
			id := fmt.Sprintf("d%d", ids)
			byKey[d.Key()] = id
			sd.Definitions = append(sd.Definitions, newDefinitionDocument(d, id, text))
		}
		for _, c := range srv.Cells {
			id := ""
			if c.Definition != nil {
				id = byKey[c.Definition.Key()]
			}
			sd.Cells = append(sd.Cells, newCellDocument(c, id, text))
		}
		doc.Servers = append(doc.Servers, sd)
	}
	return doc
}

func newDefinitionDocument(d *model.Definition, id string, text func(string) string) definitionDocument {
	return definitionDocument{ID: id, Transport: d.Transport, Display: text(d.Display()), Env: nonNil(d.EnvNames()),
		Headers: nonNil(d.HeaderNames())}
}

func newHarnessDocument(col *model.Column, text func(string) string) harnessDocument {
	t := col.Totals()
	h := harnessDocument{ID: col.ID, Title: col.Title, Verified: col.Verified, VersionChecked: col.VersionChecked, Present: col.Present,
		Files: make([]fileDocument, 0, len(col.Files)), Notes: make([]noteDocument, 0, len(col.Notes)),
		BlindSpots: make([]blindSpotDocument, 0, len(col.BlindSpots)), Sessions: make([]sessionDocument, 0, len(col.Sessions)),
		Totals: totalsDocument(t)}
	for _, f := range col.Files {
		h.Files = append(h.Files, fileDocument{f.Path, f.Scope, f.Status, text(f.Note)})
	}
	for _, n := range col.Notes {
		h.Notes = append(h.Notes, noteDocument{n.Code, text(n.Text), n.Path, n.Line})
	}
	for _, b := range col.BlindSpots {
		h.BlindSpots = append(h.BlindSpots, blindSpotDocument(b))
	}
	for _, x := range col.Sessions {
		h.Sessions = append(h.Sessions, sessionDocument{x.PID, x.Since.Format(time.RFC3339), x.Cwd})
	}
	return h
}

func newCellDocument(c *model.Cell, id string, text func(string) string) cellDocument {
	reason := c.StateReason()
	cd := cellDocument{Harness: c.Harness, Name: c.Name, Definition: id, Scope: c.Scope, State: c.State().String(),
		Decision: c.Decision.String(), Overlays: c.Overlays.Names(), ReasonCode: reason.Code, Reason: text(reason.Text),
		Source: newLocationDocument(c.Source), Replaces: []replacedDocument{}, Pending: []pendingDocument{}, Findings: []findingDocument{},
		Capabilities: capabilitiesDocument{text(c.Capabilities.Toggle), text(c.Capabilities.Approve), text(c.Capabilities.Login)}}
	if c.Definition != nil {
		cd.Transport = c.Definition.Transport
	}
	if !reason.DecidedBy.IsZero() {
		at := newLocationDocument(reason.DecidedBy)
		cd.DecidedBy = &at
	}
	for _, r := range c.Replaces {
		cd.Replaces = append(cd.Replaces, replacedDocument{r.Scope, newLocationDocument(r.Source), r.Merged})
	}
	for _, p := range c.Pending {
		cd.Pending = append(cd.Pending, pendingDocument{p.Scope, p.State.String(), p.Reason.Code, text(p.Reason.Text), newLocationDocument(p.Source)})
	}
	for _, f := range c.Findings {
		cd.Findings = append(cd.Findings, findingDocument{f.Code, f.Severity, text(f.Text), f.Line})
	}
	if o := c.Observation; o != nil {
		cd.Observation = &observationDocument{o.At.Format(time.RFC3339), o.Took.Milliseconds(), text(o.Protocol), o.Noise, o.Exit}
	}
	if t := c.Tools; t != nil {
		cd.Tools = &toolsDocument{t.Listed, t.Offered, t.Tokens, t.Unclear, cleanAll(t.Names, text), cleanAll(t.ShownAs, text)}
	}
	return cd
}

func newLocationDocument(l model.Location) locationDocument {
	return locationDocument{l.Path, l.Key, l.Line}
}

func cleanAll(list []string, text func(string) string) []string {
	out := make([]string, len(list))
	for i, s := range list {
		out[i] = text(s)
	}
	return out
}

func nonNil(list []string) []string {
	if list == nil {
		return []string{}
	}
	return list
}

// writeJSON writes a value as JSON that is safe to print on a terminal: what does not print, or moves text about, is
// written as an escape. indent "" writes one line.
func writeJSON(w io.Writer, v any, indent string) error {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", indent)
	if err := enc.Encode(v); err != nil {
		return err
	}
	_, err := io.WriteString(w, escapeUnprintable(b.String()))
	return err
}

// escapeUnprintable writes \uXXXX for every rune outside ASCII that is not drawn as itself.
func escapeUnprintable(s string) string {
	clean := true
	for _, r := range s {
		if r > 0x7e && !printable(r) {
			clean = false
			break
		}
	}
	if clean {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		switch {
		case r <= 0x7e || printable(r):
			b.WriteRune(r)
		case r > 0xffff:
			r -= 0x10000
			fmt.Fprintf(&b, `\u%04x\u%04x`, 0xd800+(r>>10), 0xdc00+(r&0x3ff))
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}

func printable(r rune) bool {
	return r == '\ufffd' || unicode.IsGraphic(r) && model.Clean(string(r)) == string(r)
}
