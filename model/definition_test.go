package model_test

import (
	"reflect"
	"slices"
	"testing"
	"time"

	"fusebox/model"
)

func stdio(command string, args ...string) *model.Definition {
	return &model.Definition{Transport: model.TransportStdio, Command: command, Args: model.Secrets(args)}
}

func remote(transport model.Transport, address string) *model.Definition {
	return &model.Definition{Transport: transport, URL: model.NewSecret(address)}
}

func TestSameServerKey(t *testing.T) {
	t.Parallel()
	withEnv := stdio("npx", "-y", "a")
	withEnv.Env, withEnv.Cwd = model.Variables(map[string]string{"A": "1"}), "/x"
	withHeaders := remote(model.TransportHTTP, "https://h/mcp")
	withHeaders.Headers = model.Variables(map[string]string{"A": "1"})
	for name, group := range map[string][]*model.Definition{
		"command by file name": {stdio("npx", "-y", "a"), stdio("/usr/bin/npx", "-y", "a"), stdio(`C:\node\NPX.cmd`, "-y", "a"), stdio("npx.exe", "-y", "a"), withEnv},
		"other arguments":      {stdio("npx", "-y", "b")},
		"arguments not joined": {stdio("npx", "-y a")},
		"other command":        {stdio("uvx", "-y", "a")},
		"url":                  {remote(model.TransportHTTP, "https://h/mcp"), remote(model.TransportSSE, "https://H:443/mcp/"), remote(model.TransportHTTP, "HTTPS://h/mcp"), withHeaders},
		"url by port":          {remote(model.TransportHTTP, "https://h:8443/mcp")},
		"url by scheme":        {remote(model.TransportHTTP, "http://h/mcp"), remote(model.TransportHTTP, "http://h:80/mcp")},
		"url by path case":     {remote(model.TransportHTTP, "https://h/MCP")},
		"url by query":         {remote(model.TransportHTTP, "https://h/mcp?a=1")},
		"url of a variable":    {remote(model.TransportHTTP, "${URL}"), remote(model.TransportHTTP, "${URL}/")},
		"websocket":            {remote(model.TransportWS, "wss://h/ws"), remote(model.TransportWS, "wss://h:443/ws")},
	} {
		for _, d := range group {
			if d.SameServerKey() != group[0].SameServerKey() {
				t.Errorf("%s: not the same server", name)
			}
		}
	}
	seen := map[string]string{}
	for name, d := range map[string]*model.Definition{"npx a": stdio("npx", "-y", "a"), "npx b": stdio("npx", "-y", "b"), "npx joined": stdio("npx", "-y a"), "uvx": stdio("uvx", "-y", "a"),
		"url": remote(model.TransportHTTP, "https://h/mcp"), "port": remote(model.TransportHTTP, "https://h:8443/mcp"), "http": remote(model.TransportHTTP, "http://h/mcp"),
		"case": remote(model.TransportHTTP, "https://h/MCP"), "query": remote(model.TransportHTTP, "https://h/mcp?a=1"), "variable": remote(model.TransportHTTP, "${URL}")} {
		key := d.SameServerKey()
		if other, twice := seen[key]; twice || key == "" {
			t.Errorf("%s and %s have the key %q", name, other, key)
		}
		seen[key] = name
	}
	for name, d := range map[string]*model.Definition{"no command": stdio("", "a"), "no url": remote(model.TransportHTTP, ""), "nothing": {}} {
		if key := d.SameServerKey(); key != "" {
			t.Errorf("%s: key %q", name, key)
		}
	}
}

// TestKeyTellsDefinitionsApart changes one thing at a time: each makes another definition.
func TestKeyTellsDefinitionsApart(t *testing.T) {
	t.Parallel()
	variables := func(kv ...string) (out []model.Variable) {
		for i := 0; i < len(kv); i += 2 {
			out = append(out, model.Variable{Name: kv[i], Value: model.NewSecret(kv[i+1])})
		}
		return out
	}
	local := func(change func(*model.Definition)) *model.Definition {
		d := stdio("npx", "a", "b")
		d.Env, d.Cwd, d.Inherit = variables("A", "1", "B", "2"), "/w", []string{"C"}
		change(d)
		return d
	}
	far := func(change func(*model.Definition)) *model.Definition {
		d := remote(model.TransportHTTP, "https://h/mcp")
		d.Headers, d.HeaderVariables, d.BearerVariable = variables("X", "1"), variables("Y", "YVAR"), "T"
		change(d)
		return d
	}
	keys := map[string]string{}
	for name, d := range map[string]*model.Definition{
		"local": local(func(*model.Definition) {}), "far": far(func(*model.Definition) {}),
		"command":      local(func(d *model.Definition) { d.Command = "uvx" }),
		"args joined":  local(func(d *model.Definition) { d.Args = model.Secrets([]string{"a b"}) }),
		"args split":   local(func(d *model.Definition) { d.Args = model.Secrets([]string{"a", "", "b"}) }),
		"env value":    local(func(d *model.Definition) { d.Env = variables("A", "1", "B", "3") }),
		"env name":     local(func(d *model.Definition) { d.Env = variables("a", "1", "B", "2") }),
		"env less":     local(func(d *model.Definition) { d.Env = variables("A", "1") }),
		"cwd":          local(func(d *model.Definition) { d.Cwd = "" }),
		"inherit":      local(func(d *model.Definition) { d.Inherit = nil }),
		"transport":    far(func(d *model.Definition) { d.Transport = model.TransportSSE }),
		"url":          far(func(d *model.Definition) { d.URL = model.NewSecret("https://h/mcp2") }),
		"header value": far(func(d *model.Definition) { d.Headers = variables("X", "2") }),
		"header var":   far(func(d *model.Definition) { d.HeaderVariables = variables("Y", "ZVAR") }),
		"bearer":       far(func(d *model.Definition) { d.BearerVariable = "" }),
		"helper":       far(func(d *model.Definition) { d.HeadersHelper = model.NewSecret("x") }),
	} {
		if other, twice := keys[d.Key()]; twice {
			t.Errorf("%s and %s are the same definition", name, other)
		}
		keys[d.Key()] = name
	}
	for name, same := range map[string]*model.Definition{
		"env in another order": local(func(d *model.Definition) { d.Env = variables("B", "2", "A", "1") }),
		"limit for the start":  local(func(d *model.Definition) { d.StartTimeout = time.Second }),
		"header in capitals":   far(func(d *model.Definition) { d.Headers = variables("x", "1") }),
		"url with port":        far(func(d *model.Definition) { d.URL = model.NewSecret("HTTPS://H:443/mcp/") }),
	} {
		if _, known := keys[same.Key()]; !known {
			t.Errorf("%s makes another definition", name)
		}
	}
}

func TestDisplay(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		definition *model.Definition
		want       string
	}{
		{stdio("npx", "-y", "@acme/github"), "npx -y @acme/github"},
		{stdio("npx", "--token", "abc"), "npx --token " + dots},
		{stdio("my server", "a b", "", `say "x"`), `"my server" "a b" "" "say \"x\""`},
		{stdio(""), `""`},
		{stdio("https://u:p@h/x"), "https://" + dots + "@h/x"},
		{remote(model.TransportHTTP, "https://u:p@h/mcp?k=1"), "https://" + dots + "@h/mcp?" + dots},
		{&model.Definition{}, `""`},
	} {
		if got := test.definition.Display(); got != test.want {
			t.Errorf("displayed as %s, want %s", got, test.want)
		}
	}
}

func TestNamesOfADefinition(t *testing.T) {
	t.Parallel()
	d := stdio("x")
	d.Env, d.Inherit = model.Variables(map[string]string{"B": "1", "C": "2"}), []string{"A"}
	if got := d.EnvNames(); !slices.Equal(got, []string{"A", "B", "C"}) {
		t.Errorf("environment %q", got)
	}
	d = remote(model.TransportHTTP, "https://h")
	d.Headers, d.HeaderVariables, d.BearerVariable = model.Variables(map[string]string{"X-B": "1"}), model.Variables(map[string]string{"X-A": "V"}), "T"
	if got := d.HeaderNames(); !slices.Equal(got, []string{"Authorization", "X-A", "X-B"}) {
		t.Errorf("headers %q", got)
	}
}

// TestSecretsOfADefinition lists what the redactor has to know.
func TestSecretsOfADefinition(t *testing.T) {
	t.Parallel()
	reveal := func(vs []model.Variable) (out []string) {
		for _, v := range vs {
			out = append(out, v.Value.Reveal())
		}
		slices.Sort(out)
		return out
	}
	d := stdio("npx", "-y", "@acme/x", "--api-key=key-value", "https://user:pass@h/mcp/Seg1?q=query#frag", "--token", "plain-token")
	d.Env = model.Variables(map[string]string{"A": "env-value"})
	if got, want := reveal(d.Secrets()), []string{"Seg1", "env-value", "frag", "key-value", "pass", "plain-token", "query", "user"}; !reflect.DeepEqual(got, want) {
		t.Errorf("secrets %q, want %q", got, want)
	}
	d = remote(model.TransportHTTP, "https://user:pass@h/mcp/plainword/Seg1?q=query#frag")
	d.Headers = model.Variables(map[string]string{"X": "header-value"})
	if got, want := reveal(d.Secrets()), []string{"Seg1", "frag", "header-value", "pass", "query", "user"}; !reflect.DeepEqual(got, want) {
		t.Errorf("secrets %q, want %q", got, want)
	}
	d = remote(model.TransportHTTP, "http://[broken")
	if got, want := reveal(d.Secrets()), []string{"http://[broken"}; !reflect.DeepEqual(got, want) {
		t.Errorf("secrets %q, want %q", got, want)
	}
}
