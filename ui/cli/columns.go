package cli

import (
	"reflect"
	"slices"
	"sync"

	"fusebox/loaders"
	"fusebox/loaders/state"
	"fusebox/model"
	"fusebox/ui"
)

// columnPrefs keeps the chosen columns in fusebox's own configuration file.
type columnPrefs struct {
	path string
	mu   sync.Mutex
	last state.Columns
}

// newColumnPrefs reads the configuration. A file that cannot be read is left alone, and said in the log.
func newColumnPrefs(env *loaders.Env, log *logger) (*columnPrefs, ui.Columns) {
	p := &columnPrefs{path: state.ConfigPath(env.GOOS, env.Home, env.Var)}
	return p, shownColumns(p.read(log))
}

func (p *columnPrefs) read(log *logger) state.Columns {
	config, err := state.LoadConfig(p.path)
	if err != nil {
		log.printf("configuration: %v", err)
	}
	for _, key := range config.Unknown {
		log.printf("configuration: %s: unknown key %s", p.path, key)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.last = config.Columns
	return config.Columns
}

// reload reads the file again; nil when it says the same.
func (p *columnPrefs) reload(log *logger) *ui.Columns {
	p.mu.Lock()
	before := p.last
	p.mu.Unlock()
	now := p.read(log)
	if reflect.DeepEqual(before, now) {
		return nil
	}
	shown := shownColumns(now)
	return &shown
}

// save writes the columns; other keys and comments of the file stay.
func (p *columnPrefs) save(c ui.Columns) error {
	config, err := state.LoadConfig(p.path)
	if err != nil {
		return err
	}
	config.Columns = state.Columns{Hidden: texts(c.Hidden), Shown: texts(c.Shown), Order: texts(c.Order)}
	if err := config.Save(p.path); err != nil {
		return err
	}
	p.mu.Lock()
	p.last = config.Columns
	p.mu.Unlock()
	return nil
}

func shownColumns(c state.Columns) ui.Columns {
	return ui.Columns{Hidden: ids(c.Hidden), Shown: ids(c.Shown), Order: ids(c.Order)}
}

func ids(list []string) []model.HarnessID {
	var out []model.HarnessID
	for _, s := range list {
		if id := model.HarnessID(s); !slices.Contains(out, id) {
			out = append(out, id)
		}
	}
	return out
}

func texts(list []model.HarnessID) []string {
	var out []string
	for _, id := range list {
		out = append(out, string(id))
	}
	return out
}
