package loaders

import (
	"regexp"
	"slices"
	"strings"

	"fusebox/loaders/jsonc"
	"fusebox/model"
)

// How Gemini CLI 0.61.0 starts a server and names its tools (bundle; .env files in env values were observed).

// fillGeminiText fills a text of a definition in. Settings are read before .env files, so those fill in env values only,
// and only under names that do not look secret; extension files are read after them.
func fillGeminiText(env *Env, e *model.Entry, part TextPart, text string) (string, []string) {
	if !strings.Contains(text, "$") {
		return text, nil
	}
	lookup := env.Lookup
	if e.Scope == model.ScopeExtension {
		g := launchedGemini(env, true)
		for i := range g.extensions {
			if x := &g.extensions[i]; x.file.Path == e.Source.Path {
				lookup = g.extensionLookup(x)
			}
		}
	}
	filled, unset := fillGemini(text, lookup), unsetIn(text, lookup)
	if part != PartEnv || !strings.Contains(filled, "$") {
		return filled, unset
	}
	// An env value is filled in once more, from what the server inherits; what is still unset is empty.
	inherited := inheritGemini(env, e)
	late := func(name string) (string, bool) { v, ok := inherited[name]; return v, ok }
	unset = unsetIn(filled, late)
	return fillGemini(filled, func(name string) (string, bool) {
		if v, ok := late(name); ok || slices.Contains(unset, name) {
			return v, true
		}
		return "", false
	}), unset
}

// launchedGemini reads what a launch needs besides the definition: trust, and the .env file that counts.
func launchedGemini(env *Env, extensions bool) *gemini {
	g := newGemini(env, NewReader(env, NewCache()))
	g.readSettings()
	g.decideTrust()
	g.readDotenv()
	if extensions {
		g.readExtensions()
	}
	return g
}

// inheritGemini is the environment of a session, the .env file included, without what looks secret.
func inheritGemini(env *Env, _ *model.Entry) map[string]string {
	g := launchedGemini(env, false)
	var allowed, blocked []string
	for _, l := range g.layers {
		if g.counts(l) {
			redaction := l.root.Lookup("security", "environmentVariableRedaction")
			for _, list := range []struct {
				key  string
				into *[]string
			}{{"allowed", &allowed}, {"blocked", &blocked}} {
				for _, item := range redaction.Get(list.key).Elements() {
					if s, ok := item.Str(); ok {
						*list.into = append(*list.into, strings.ToUpper(g.fill(s)))
					}
				}
			}
		}
	}
	out := map[string]string{"GEMINI_CLI": "1"}
	add := func(vars map[string]string) {
		for name, value := range vars {
			upper := strings.ToUpper(name)
			secret := geminiRedacts(name, value)
			if slices.Contains(allowed, upper) && !geminiSecretValue().MatchString(value) && !slices.Contains(geminiSecretNames, upper) && !geminiSecretName.MatchString(upper) {
				secret = false
			}
			if !secret && !slices.Contains(blocked, upper) {
				out[name] = value
			}
		}
	}
	add(g.dotenv)
	add(env.Vars)
	return out
}

var geminiToolCharacter = regexp.MustCompile(`[^a-zA-Z0-9_\-.:]`)

// geminiToolName is mcp_SERVER_TOOL; a name of 64 characters or more keeps its two ends of 30.
func geminiToolName(server, tool string) string {
	name := geminiToolCharacter.ReplaceAllString("mcp_"+server+"_"+tool, "_")
	if len(name) > 63 {
		name = name[:30] + "..." + name[len(name)-30:]
	}
	return name
}

// dropsGemini: the deny list holds bare names; an item of the allow list is a bare name, or one with an opening bracket
// behind it.
func dropsGemini(f *model.ToolFilter, _, tool string) bool {
	if slices.Contains(f.Deny, tool) {
		return true
	}
	return f.Limited && !slices.ContainsFunc(f.Allow, func(item string) bool { return item == tool || strings.HasPrefix(item, tool+"(") })
}

// toolFilter reads includeTools and excludeTools of an entry that is laid over base: allow lists are intersected, deny
// lists added up. nil when there is neither.
func toolFilter(file *ConfigFile, over, base jsonc.Value, fill func(string) string) *model.ToolFilter {
	var f *model.ToolFilter
	ensure := func(v jsonc.Value, key string) *model.ToolFilter {
		if f == nil {
			f = &model.ToolFilter{}
		}
		if own := over.Get(key); own == v {
			f.At = file.At(key, v)
		}
		return f
	}
	names := func(v jsonc.Value) (out []string) {
		for _, item := range v.Elements() {
			if s, ok := item.Str(); ok {
				out = append(out, fill(s))
			}
		}
		return out
	}
	for _, v := range []jsonc.Value{over.Get("includeTools"), base.Get("includeTools")} {
		if v.Kind() != jsonc.Array {
			continue
		}
		allow := names(v)
		if e := ensure(v, "includeTools"); e.Limited {
			e.Allow = slices.DeleteFunc(e.Allow, func(n string) bool { return !slices.Contains(allow, n) })
		} else {
			e.Limited, e.Allow = true, allow
		}
	}
	for _, v := range []jsonc.Value{over.Get("excludeTools"), base.Get("excludeTools")} {
		if v.Kind() == jsonc.Array {
			e := ensure(v, "excludeTools")
			e.Deny = append(e.Deny, names(v)...)
		}
	}
	return f
}
