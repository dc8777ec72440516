package model_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"testing"

	"fusebox/model"
)

const dots = model.Dots

// TestSecretHasNoPrinter tries every way of printing.
func TestSecretHasNoPrinter(t *testing.T) {
	t.Parallel()
	s := model.NewSecret("hunter2-hunter2")
	type holder struct{ S model.Secret }
	texts := []string{fmt.Sprint(s), fmt.Sprint(&s), s.String(), s.GoString(), fmt.Sprint(fmt.Errorf("x: %w, %v", fmt.Errorf("%s", s), s))}
	for _, verb := range []string{"%s", "%v", "%+v", "%#v", "%q", "%x", "%X", "%d", "%10.3s", "%U", "%t"} {
		texts = append(texts, fmt.Sprintf(verb, s), fmt.Sprintf(verb, holder{s}), fmt.Sprintf(verb, []model.Secret{s}), fmt.Sprintf(verb, map[string]model.Secret{"a": s}))
	}
	for _, v := range []any{s, holder{s}, []model.Secret{s}, map[string]model.Secret{"a": s}, model.Variable{Name: "A", Value: s}} {
		data, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, string(data))
	}
	for _, text := range texts {
		if strings.Contains(text, "hunter") || strings.Contains(text, "68756e746572") {
			t.Errorf("printed as %s", text)
		}
	}
	if s.Reveal() != "hunter2-hunter2" {
		t.Error("Reveal does not give the text")
	}
}

func TestMaskURL(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"":                                     "",
		"${URL}":                               "${URL}",
		"$URL":                                 "$URL",
		"{env:URL}":                            "{env:URL}",
		"not a url":                            dots,
		"http:/one-slash":                      dots,
		"ht tp://x":                            dots,
		"https://api.example.test":             "https://api.example.test",
		"https://api.example.test/":            "https://api.example.test/",
		"HTTP://Host:8080/mcp":                 "HTTP://Host:8080/mcp",
		"https://h/api/v1/mcp/sse":             "https://h/api/v1/mcp/sse",
		"https://h/MCP/":                       "https://h/MCP/",
		"https://h/v1/abc123/mcp":              "https://h/v1/" + dots + "/mcp",
		"https://u:p@h/mcp":                    "https://" + dots + "@h/mcp",
		"https://token@h":                      "https://" + dots + "@h",
		"https://a@b@h/mcp":                    "https://" + dots + "@h/mcp",
		"https://h/mcp?key=1#x":                "https://h/mcp?" + dots,
		"https://h?key=1":                      "https://h?" + dots,
		"https://h/mcp#frag":                   "https://h/mcp#" + dots,
		"https://h/?a=/mcp/v1":                 "https://h/?" + dots,
		"https://h/a//b":                       "https://h/" + dots + "//" + dots,
		"https://[::1]:9/mcp":                  "https://[::1]:9/mcp",
		"https://${HOST}/mcp":                  "https://${HOST}/mcp",
		"https://x-${TOKEN}.h/mcp":             "https://" + dots + "/mcp",
		"https://h/${TOKEN}/mcp":               "https://h/" + dots + "/mcp",
		"https://h/mcp\n\x1b[31m":              "https://h/" + dots,
		"https://h\x1b[31m/mcp":                "https://h\ufffd[31m/mcp",
		"https://Aa1Bb2Cc3Dd4Ee5Ff6Gg7Hh8/mcp": "https://" + dots + "/mcp",
	} {
		if got := model.MaskURL(in); got != want {
			t.Errorf("MaskURL(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestMaskArguments(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ in, want []string }{
		{[]string{"-y", "@acme/github"}, []string{"-y", "@acme/github"}},
		{[]string{"--api-key", "abc"}, []string{"--api-key", dots}},
		{[]string{"--api-key=abc", "x"}, []string{"--api-key=" + dots, "x"}},
		{[]string{"--token", "--verbose", "x"}, []string{"--token", "--verbose", "x"}},
		{[]string{"--token", "$TOKEN"}, []string{"--token", "$TOKEN"}},
		{[]string{"--token=${TOKEN}"}, []string{"--token=${TOKEN}"}},
		{[]string{"--token="}, []string{"--token="}},
		{[]string{"GITHUB_TOKEN=abc"}, []string{"GITHUB_TOKEN=" + dots}},
		{[]string{"-e", "API_KEY=abc"}, []string{"-e", "API_KEY=" + dots}},
		{[]string{"--header", "Authorization: Bearer abc"}, []string{"--header", "Authorization: " + dots}},
		{[]string{"--header", "Authorization: Bearer ${T}"}, []string{"--header", "Authorization: Bearer ${T}"}},
		{[]string{"--header", "X-Api-Key:abc"}, []string{"--header", "X-Api-Key: " + dots}},
		{[]string{"ghp_0123456789abcdef"}, []string{dots}},
		{[]string{"sk-proj-0123456789ab"}, []string{dots}},
		{[]string{"https://h/mcp?key=abc"}, []string{"https://h/mcp?" + dots}},
		{[]string{"--url=https://u:p@h/acme"}, []string{"--url=https://" + dots + "@h/" + dots}},
		{[]string{"postgres://u:p@db/orders"}, []string{"postgres://" + dots + "@db/" + dots}},
		{[]string{"0123456789abcdef0123456789abcdef"}, []string{dots}},
		{[]string{"prefix:Aa1Bb2Cc3Dd4Ee5Ff6Gg7Hh8"}, []string{"prefix:" + dots}},
		{[]string{"a-rather-long-name-of-a-package-without-digits"}, []string{"a-rather-long-name-of-a-package-without-digits"}},
		{[]string{"/usr/local/lib/node_modules/server/index.js"}, []string{"/usr/local/lib/node_modules/server/index.js"}},
		{[]string{"", "x"}, []string{"", "x"}},
		{[]string{"--pass", "abc", "--pat", "abc", "-e", "DB_PASS=abc"}, []string{"--pass", dots, "--pat", dots, "-e", "DB_PASS=" + dots}},
		{[]string{"--passphrase=abc", "bypass=abc", "path=abc"}, []string{"--passphrase=" + dots, "bypass=abc", "path=abc"}},
		{[]string{"--connection-string=Server=h;Password=abc;"}, []string{"--connection-string=" + dots}},
		{[]string{"--db=Server=h;Database=d;Password=abc;Encrypt=true"}, []string{"--db=Server=h;Database=d;Password=" + dots + ";Encrypt=true"}},
		{[]string{"host=h user=u password='a b' sslmode=off"}, []string{"host=h user=u password='" + dots + "' sslmode=off"}},
		{[]string{`{"name":"n","token":"abc","list":[1]}`}, []string{`{"name":"n","token":"` + dots + `","list":[1]}`}},
		{[]string{`--config={"token": "a b", "x": 1}`}, []string{`--config={"token": "` + dots + `", "x": 1}`}},
		{[]string{`"{\"apiKey\":\"abc\"}"`}, []string{`"{\"apiKey\":\"` + dots + `\"}"`}},
		{[]string{`{"password":12345678}`}, []string{`{"password":` + dots + `}`}},
		{[]string{`{"auth":true,"cookie":null,"secrets":{"a":"b"}}`}, []string{`{"auth":true,"cookie":null,"secrets":{"a":"b"}}`}},
		{[]string{"-c", "export API_KEY=abc && exec server"}, []string{"-c", "export API_KEY=" + dots + " && exec server"}},
		{[]string{"-c", "curl -H 'Authorization: Bearer abc' h"}, []string{"-c", "curl -H 'Authorization: " + dots + "' h"}},
		{[]string{"-c", "export TOKEN=$TOKEN; exec server"}, []string{"-c", "export TOKEN=$TOKEN; exec server"}},
		{[]string{"--header=X-Api-Key: abc"}, []string{"--header=X-Api-Key: " + dots}},
		{[]string{"--password", "-Abc1", "--token", "--Abc1"}, []string{"--password", dots, "--token", dots}},
		{[]string{"--key", "-v", "--no-auth", "-verbose", "--token", "--dry-run=yes"}, []string{"--key", "-v", "--no-auth", "-verbose", "--token", "--dry-run=yes"}},
		{[]string{"-u", "ann:abc", "--user=ann:abc"}, []string{"-u", "ann:" + dots, "--user=ann:" + dots}},
		{[]string{"-u", "1000:1000", "--user", "ann", "-u", "https://h/mcp"}, []string{"-u", "1000:1000", "--user", "ann", "-u", "https://h/mcp"}},
		{[]string{"ghcr.io/x/auth-proxy:latest", "@x/auth:1.2"}, []string{"ghcr.io/x/auth-proxy:latest", "@x/auth:1.2"}},
		{nil, []string{}},
	} {
		if got := model.MaskArguments(test.in); !reflect.DeepEqual(got, test.want) {
			t.Errorf("MaskArguments(%q) = %q, want %q", test.in, got, test.want)
		}
	}
}

// A command that holds a whole command line is masked like one.
func TestMaskCommand(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"npx":                              "npx",
		"/opt/my tools/server":             "/opt/my tools/server",
		`C:\Program Files\x.exe`:           `C:\Program Files\x.exe`,
		"npx -y @acme/db --token abc":      "npx -y @acme/db --token " + dots,
		"TOKEN=abc npx":                    "TOKEN=" + dots + " npx",
		"npx --url https://h/mcp?key=abc":  "npx --url https://h/mcp?" + dots,
		"sh -c exec ghp_0123456789abcdef":  "sh -c exec " + dots,
		"npx --header Authorization: abc1": "npx --header Authorization: " + dots,
	} {
		if got := model.MaskCommand(in); got != want {
			t.Errorf("MaskCommand(%q) = %q, want %q", in, got, want)
		}
		if got := stdio(in).Display(); strings.Contains(got, "abc") {
			t.Errorf("%q is displayed as %s", in, got)
		}
	}
}

// What is hidden of a command and its arguments is hidden wherever else a server says it.
func TestSecretsOfArgumentsAreKnown(t *testing.T) {
	t.Parallel()
	const secret = "hunter-2-hunter"
	for _, d := range []*model.Definition{
		stdio("x", "--token", secret), stdio("x", "--token="+secret), stdio("x", "-H", "Authorization: Bearer "+secret),
		stdio("x", "--header=X-Api-Key: "+secret), stdio("x", "--db=Server=h;Password="+secret+";Encrypt=true"), stdio("x", `{"a":"b","token":"`+secret+`"}`),
		stdio("x", "-u", "ann:"+secret), stdio("x", "--pass", secret), stdio("x --token " + secret), stdio("TOKEN=" + secret + " x"),
		stdio("x", "see https://h/mcp and https://u:"+secret+"@h/mcp"), stdio("x", "-c", "TOKEN="+secret+" exec y"),
	} {
		s := snapshot(column("one", loads("a", d)))
		if got := model.NewRedactor(s.Secrets()).Text("refused: " + secret + "!"); got != "refused: "+dots+"!" {
			t.Errorf("%s: %q", d.Display(), got)
		}
	}
}

func TestSecretNames(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{"PWD": false, "OLDPWD": false, "DB_PWD": true, "pwd": true, "XDG_SESSION_TYPE": false, "SSH_AUTH_SOCK": false,
		"GITHUB_TOKEN": true, "api-key": true, "APIKEY": true, "MY_KEY": true, "key": true, "password": true, "Authorization": true,
		"Cookie": true, "sig": true, "PATH": false, "HOME": false, "keyboard": false, "monkey": false, "X-Request-Id": false, "design": false} {
		if got := model.IsSecretName(name); got != want {
			t.Errorf("IsSecretName(%q) = %t", name, got)
		}
	}
}

func secretNamed(name, value string) []model.Variable {
	return []model.Variable{{Name: name, Value: model.NewSecret(value)}}
}

func TestRedactor(t *testing.T) {
	t.Parallel()
	const value = "p4ss/word+é?="
	r := model.NewRedactor(secretNamed("A", value))
	for name, text := range map[string]string{
		"plain":      value,
		"query":      url.QueryEscape(value),
		"path":       url.PathEscape(value),
		"base64":     base64.StdEncoding.EncodeToString([]byte(value)),
		"raw base64": base64.RawStdEncoding.EncodeToString([]byte(value)),
		"base64 url": base64.RawURLEncoding.EncodeToString([]byte(value)),
	} {
		if got, want := r.Text("a "+text+" b"), "a "+dots+" b"; got != want && got != want[:len(want)-2]+"= b" {
			t.Errorf("%s: %q", name, got)
		}
	}
	for _, test := range []struct{ name, value, text, want string }{
		{"A", "short12", "short12", "short12"},                        // 7 characters, no secret name
		{"TOKEN", "short12", "x short12", "x " + dots},                // under a secret name 6 are enough
		{"TOKEN", "five5", "five5", "five5"},                          // too short to hunt for
		{"A", "eight888", "eight888", dots},                           //
		{"A", "${REFERENCE}", "${REFERENCE}", "${REFERENCE}"},         // holds nothing
		{"A", "Bearer tokentoken", "sent tokentoken", "sent " + dots}, //
		{"A", "Bearer $TOKEN", "Bearer $TOKEN", "Bearer $TOKEN"},      //
		{"A", "  padded-value ", "padded-value", dots},                //
		{"A", "", "anything", "anything"},                             //
		{"TOKEN", "öäüßéè", "öäüßéè", dots},                           // counted in characters
	} {
		if got := model.NewRedactor(secretNamed(test.name, test.value)).Text(test.text); got != test.want {
			t.Errorf("%s=%s in %q: %q, want %q", test.name, test.value, test.text, got, test.want)
		}
	}
	both := model.NewRedactor(append(secretNamed("A", "inner-secret"), secretNamed("B", "outer-inner-secret-outer")...))
	if got := both.Text("outer-inner-secret-outer inner-secret"); got != dots+" "+dots {
		t.Errorf("a secret within a secret: %q", got)
	}
	for name, none := range map[string]*model.Redactor{"nil": nil, "zero": {}, "empty": model.NewRedactor(nil)} {
		if got := none.Text("as it is"); got != "as it is" {
			t.Errorf("%s redactor: %q", name, got)
		}
	}
}

// TestDefinitionHasNoPrinter: a definition keeps clear texts and its keys in its fields.
func TestDefinitionHasNoPrinter(t *testing.T) {
	t.Parallel()
	d := remote(model.TransportHTTP, "https://hunter2:hunter2@h/mcp")
	d.Headers = secretNamed("A", "hunter2-hunter2")
	local := stdio("run-it", "--token", "hunter2")
	model.NewSnapshot(1, "", "", noon, []*model.Column{column("one", loads("a", d), loads("b", local))}) // makes the keys
	for _, verb := range []string{"%s", "%v", "%+v", "%#v", "%q", "%x"} {
		if text := fmt.Sprintf(verb+verb, d, local); strings.Contains(text, "hunter2") || strings.Contains(text, "68756e746572") {
			t.Errorf("%s prints %s", verb, text)
		}
	}
	if text := fmt.Sprint((*model.Definition)(nil)); text != "<nil>" {
		t.Errorf("no definition prints %s", text)
	}
}

// TestRedactorFindsTheLongestEverywhere compares with going through a text in the plainest way.
func TestRedactorFindsTheLongestEverywhere(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 2))
	word := func(n int) string {
		b := make([]byte, n)
		for i := range b {
			b[i] = "ab"[rng.IntN(2)]
		}
		return string(b)
	}
	for range 300 {
		var secrets []model.Variable
		for range 1 + rng.IntN(6) {
			secrets = append(secrets, secretNamed("A", word(8+rng.IntN(6)))...)
		}
		slices.SortFunc(secrets, func(a, b model.Variable) int { return len(b.Value.Reveal()) - len(a.Value.Reveal()) })
		text := word(rng.IntN(400))
		var want strings.Builder
		for i := 0; i < len(text); {
			at := slices.IndexFunc(secrets, func(v model.Variable) bool { return strings.HasPrefix(text[i:], v.Value.Reveal()) })
			if at < 0 {
				want.WriteByte(text[i])
				i++
				continue
			}
			want.WriteString(dots)
			i += len(secrets[at].Value.Reveal())
		}
		if got := model.NewRedactor(secrets).Text(text); got != want.String() {
			t.Fatalf("%q: %q, want %q", text, got, want.String())
		}
	}
}

func TestRedactorLearns(t *testing.T) {
	t.Parallel()
	with := func(secret string) *model.Snapshot {
		d := stdio("x")
		d.Env = secretNamed("A", secret)
		return snapshot(column("one", loads("a", d)))
	}
	var r model.Redactor
	first, second := with("first-secret"), with("second-secret")
	r.Learn(first)
	r.Learn(first)
	if got := r.Text("first-secret second-secret"); got != dots+" second-secret" {
		t.Errorf("after the first: %q", got)
	}
	r.Learn(second)
	if got := r.Text("first-secret second-secret"); got != dots+" "+dots {
		t.Errorf("after the second: %q", got)
	}
}

// A package or tool whose name only begins like a credential is shown; a credential is not.
func TestNamesThatOnlySoundLikeSecrets(t *testing.T) {
	t.Parallel()
	for _, plain := range []string{"npm-check-updates-mcp", "key-value-store-server", "secret-manager-mcp-server", "pkg-config-wrapper", "sk-learn-mcp-server-tools", "hf-mcp-server-latest"} {
		if got := model.MaskText(plain); got != plain {
			t.Errorf("%q became %q", plain, got)
		}
	}
	for _, secret := range []string{"sk-1234567890abcdefghij", "ghp_0123456789abcdef0123", "npm_abcdefghijkl12345", "AKIA1234567890ABCDEF", "Bearer abc", "glpat-12345678901234567890"} {
		if got := model.MaskText(secret); got != model.Dots {
			t.Errorf("%q became %q", secret, got)
		}
	}
	if model.IsSecretName("GIT_AUTHOR_NAME") || !model.IsSecretName("AUTH_TOKEN") {
		t.Error("names of authors are no secrets, tokens are")
	}
}
