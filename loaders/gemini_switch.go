package loaders

import (
	"strings"

	"fusebox/loaders/jsonc"
	"fusebox/model"
)

// toggleGemini sets the switch of mcp-server-enablement.json: one for all folders and scopes, under the name in lower case.
// What gemini mcp enable and disable should write, but do not in 0.61.0.
func toggleGemini(env *Env, r *Reader, cell *model.Cell, on bool) []Option {
	g := geminiOf(env, r)
	key := trimJS(strings.ToLower(cell.Name))
	step := Step{Kind: StepDelete, Path: []string{key}}
	if !on {
		step = Step{StepSet, []string{key}, `{"enabled": false}`}
		if g.enablement.Root().Get(key).Kind() == jsonc.Object {
			step = Step{StepSet, []string{key, "enabled"}, "false"}
		}
	}
	return []Option{{Reach: ReachEverywhere, Label: labelEverywhere, Edits: []Edit{{Path: g.enablement.Path, Steps: []Step{step},
		Format:  Format{JSON: jsonc.Options{ReplaceInvalidUTF8: true}},
		NewMode: 0o600, Initial: "{}"}}}}
}

// approveGemini trusts the folder, which is all the consent that Gemini CLI has, or takes that back.
func approveGemini(env *Env, r *Reader, _ *model.Cell, revoke bool) []Option {
	g := geminiOf(env, r)
	if g.trust.variable != "" || g.trust.off {
		return nil
	}
	edit := func(step Step) []Edit {
		return []Edit{{Path: g.trustFile, Format: Format{JSON: geminiJSON}, Steps: []Step{step}, Lock: g.trustFile + ".lock", NewMode: 0o600, Initial: "{}"}}
	}
	own := g.cwd // as a rule for this very folder is spelled
	f := g.r.ReadJSON(g.trustFile, model.ScopeUser, 0, geminiJSON)
	for _, m := range f.Root().Members() {
		if !m.Shadowed && g.normalPath(m.Key) == g.normalPath(g.cwd) {
			own = m.Key
		}
	}
	if !revoke {
		return []Option{{Reach: ReachHere, Label: labelHere + ", and trust all of it", TrustsFolder: true,
			Edits:  edit(Step{StepSet, []string{own}, jsonc.Quote("TRUST_FOLDER")}),
			LetsIn: "everything in this folder and below, now and later: its servers, settings, hooks, commands and .env files"}}
	}
	if !g.trust.trusted {
		return nil
	}
	const stops = "Gemini CLI starts no server here then"
	var out []Option
	if f.Root().Get(own).Exists() {
		out = append(out, Option{Reach: ReachHere, Label: labelHere, Warning: stops, Edits: edit(Step{Kind: StepDelete, Path: []string{own}})})
	}
	return append(out, Option{Reach: ReachHere, Label: labelHere, Warning: stops, Edits: edit(Step{StepSet, []string{own}, jsonc.Quote("DO_NOT_TRUST")})})
}
