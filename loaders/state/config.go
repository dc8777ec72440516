package state

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"fusebox/loaders/rewrite"
	"fusebox/loaders/tomledit"
)

// Config is fusebox's own configuration: how the panel looks, nothing about servers.
type Config struct {
	Columns Columns
	// Unknown names keys of the file that this version does not know, as "columns.width". They are kept.
	Unknown []string
}

// Columns says which harnesses the panel shows, by harness id.
type Columns struct {
	Hidden []string // never shown
	Shown  []string // shown although the harness is not installed
	Order  []string // first these, then the others as they come
}

// keys are the keys of the table columns, with the list that each fills.
func (c *Columns) keys() []configList {
	return []configList{{"hidden", &c.Hidden}, {"shown", &c.Shown}, {"order", &c.Order}}
}

type configList struct {
	key  string
	list *[]string
}

const columnsTable = "columns"

// LoadConfig reads the configuration; a missing file is an empty one. With an error, which names file and line, the result
// holds what could be read.
func LoadConfig(path string) (Config, error) {
	var c Config
	file, err := rewrite.Read(path)
	if err != nil {
		return c, err
	}
	doc, err := tomledit.Parse(file.Data)
	if err != nil {
		return c, fmt.Errorf("read %s:%w", path, err)
	}
	var wrong []error
	for _, key := range doc.Keys() {
		if key != columnsTable {
			c.Unknown = append(c.Unknown, tomledit.QuoteKey(key))
		}
	}
	table, ok := doc.Tree()[columnsTable].(map[string]any)
	if !ok && doc.Has(columnsTable) {
		wrong = append(wrong, fmt.Errorf("read %s:%d: %s must be a table", path, doc.Line(columnsTable), columnsTable))
	}
	known := c.Columns.keys()
	for _, key := range doc.Keys(columnsTable) {
		i := slices.IndexFunc(known, func(k configList) bool { return k.key == key })
		if i < 0 {
			c.Unknown = append(c.Unknown, columnsTable+"."+tomledit.QuoteKey(key))
			continue
		}
		list, ok := stringList(table[key])
		if !ok {
			wrong = append(wrong, fmt.Errorf("read %s:%d: %s.%s must be a list of strings", path, doc.Line(columnsTable, key), columnsTable, key))
			continue
		}
		*known[i].list = list
	}
	return c, errors.Join(wrong...)
}

func stringList(value any) ([]string, bool) {
	items, ok := value.([]any)
	if !ok {
		return nil, false
	}
	list := make([]string, 0, len(items))
	for _, item := range items {
		s, ok := item.(string)
		if !ok {
			return nil, false
		}
		list = append(list, s)
	}
	return list, true
}

// Save writes the lists into the file, which keeps everything else: comments, unknown keys, layout. A list that became
// empty takes its key away. A file that does not parse, or has something else under these keys, is refused.
func (c Config) Save(path string) error {
	file, err := rewrite.Read(path)
	if err != nil {
		return err
	}
	data, err := c.apply(file)
	if err != nil {
		return err
	}
	_, err = rewrite.Replace(file, data, rewrite.Options{Replan: c.apply})
	return err
}

// apply makes the new text of the file.
func (c Config) apply(file *rewrite.File) ([]byte, error) {
	data := file.Data
	for _, k := range c.Columns.keys() {
		doc, err := tomledit.Parse(data)
		if err != nil {
			return nil, fmt.Errorf("write %s: it does not parse, correct it first: %w", file.Path, err)
		}
		path := []string{columnsTable, k.key}
		table, _ := doc.Tree()[columnsTable].(map[string]any)
		old, ok := stringList(table[k.key])
		if doc.Has(path...) && !ok {
			return nil, fmt.Errorf("write %s: line %d: %s.%s is no list of strings, correct it first", file.Path, doc.Line(path...), columnsTable, k.key)
		}
		switch {
		case len(*k.list) > 0:
			quoted := make([]string, len(*k.list))
			for i, s := range *k.list {
				quoted[i] = tomledit.Quote(s)
			}
			data, err = tomledit.Set(data, path, "["+strings.Join(quoted, ", ")+"]")
		case len(old) > 0:
			data, err = tomledit.Delete(data, path)
		}
		if err != nil {
			return nil, fmt.Errorf("write %s: %w", file.Path, err)
		}
	}
	return data, nil
}
