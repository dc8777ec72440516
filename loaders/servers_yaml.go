package loaders

import (
	"fmt"
	"slices"

	"go.yaml.in/yaml/v3"

	"fusebox/model"
)

// What the harnesses share whose servers stand in a mapping of a YAML file.

// yamlEntry is an entry as it stands in its file.
type yamlEntry struct {
	yamlMember
	file  *ConfigFile
	key   string
	title string
}

// yamlServers reads the mapping below a top-level key. A file that does not parse gives the names that it seems to have, each
// with a fault. read makes an entry of a member, or drops it.
func (p *plainResolve) yamlServers(f *ConfigFile, root *yaml.Node, key string, read func(yamlEntry) (plainEntry, bool)) []plainEntry {
	if f.Status == model.FileMalformed {
		var entries []plainEntry
		for _, e := range yamlLostNames(f, key) {
			entries = append(entries, plainEntry{Entry: e})
		}
		return p.lost(f, entries)
	}
	if !f.OK() {
		return nil
	}
	parsed := Memo(f, p.title+"/"+key+"/"+p.salt, func() []plainEntry {
		var out []plainEntry
		twice := map[string]bool{}
		for _, m := range yamlMembers(yamlGet(root, key)) {
			if m.overridden {
				twice[m.name] = true
				continue
			}
			y := yamlEntry{yamlMember: m, file: f, title: p.title, key: JoinKey(key, m.name)}
			e, ok := read(y)
			if !ok {
				continue
			}
			e.Name, e.Scope, e.Source = m.name, f.Scope, y.at()
			if twice[m.name] {
				e.Findings = append(e.Findings, duplicateFinding(m.name, m.key.Line))
			}
			p.references(&e)
			out = append(out, e)
		}
		return out
	})
	return slices.Clone(parsed)
}

func (y yamlEntry) at() model.Location { return yamlAt(y.file, y.key, y.yamlMember.key) }

func (y yamlEntry) where(key string, n *yaml.Node) model.Location {
	at := y.at()
	if n != nil && n.Line > 0 {
		at.Line = n.Line
	}
	if key != "" {
		at.Key += "." + key
	}
	return at
}

func (y yamlEntry) fault(code model.ReasonCode, n *yaml.Node, format string, args ...any) *model.Reason {
	return &model.Reason{Code: code, DecidedBy: y.where("", n), Text: fmt.Sprintf(format, args...)}
}

func (y yamlEntry) find(e *plainEntry, code model.FindingCode, n *yaml.Node, format string, args ...any) {
	line := 0
	if n != nil {
		line = n.Line
	}
	e.Findings = append(e.Findings, model.Finding{Code: code, Severity: model.Warning, Line: line, Text: fmt.Sprintf(format, args...)})
}

func (y yamlEntry) get(path ...string) *yaml.Node { return yamlGet(y.value, path...) }
