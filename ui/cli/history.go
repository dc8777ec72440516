package cli

import (
	"context"

	"fusebox/model"
	"fusebox/ui"
)

// currentHistory looks up what entries of the folder at hand were.
type currentHistory struct{ live *live }

// Earlier asks the loader, cell by cell.
func (c currentHistory) Earlier(ctx context.Context, cells []model.CellKey) map[model.CellKey]ui.Earlier {
	loader := c.live.current.Load().loader
	out := map[model.CellKey]ui.Earlier{}
	for _, key := range cells {
		e, err := loader.Earlier(ctx, key.Harness, key.Name)
		if err != nil {
			c.live.log.printf("history of %s in %s: %v", key.Name, key.Harness, err)
			continue
		}
		c.live.log.printf("history of %s in %s: commit %s", key.Name, key.Harness, e.Commit)
		out[key] = ui.Earlier{Definition: e.Definition, Commit: e.Commit, At: e.At}
	}
	return out
}
