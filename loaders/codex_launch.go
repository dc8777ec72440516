package loaders

import (
	"strings"

	"fusebox/model"
)

// How Codex 0.171.0 starts a server and names its tools, observed in a session.

// codexEnvironment are the variables that a server gets of the session's environment, besides its env_vars.
var codexEnvironment = []string{"HOME", "LOGNAME", "PATH", "SHELL", "USER", "__CF_USER_TEXT_ENCODING", "LANG", "LC_ALL", "TERM", "TMPDIR", "TZ"}

// codexCertificates name certificate authorities; a server gets them too.
var codexCertificates = []string{"BUNDLE_SSL_CA_CERT", "CARGO_HTTP_CAINFO", "CODEX_CA_CERTIFICATE", "CURL_CA_BUNDLE", "GIT_SSL_CAINFO",
	"NODE_EXTRA_CA_CERTS", "NPM_CONFIG_CAFILE", "PIP_CERT", "REQUESTS_CA_BUNDLE", "SSL_CERT_FILE", "npm_config_cafile"}

// codexWindowsEnvironment stands in the place of codexEnvironment on Windows (source).
var codexWindowsEnvironment = []string{"PATH", "PATHEXT", "SHELL", "COMSPEC", "SYSTEMROOT", "WINDIR", "SYSTEMDRIVE", "USERNAME", "USERDOMAIN",
	"USERPROFILE", "HOMEDRIVE", "HOMEPATH", "PROGRAMFILES", "PROGRAMFILES(X86)", "PROGRAMW6432", "PROGRAMDATA", "LOCALAPPDATA", "APPDATA",
	"TEMP", "TMP", "TMPDIR", "POWERSHELL", "PWSH"}

// inheritCodex is what a server gets of the session's environment.
func inheritCodex(env *Env, _ *model.Entry) map[string]string {
	names := codexEnvironment
	if env.GOOS == "windows" {
		names = codexWindowsEnvironment
	}
	out := map[string]string{}
	for _, list := range [][]string{names, codexCertificates} {
		for _, name := range list {
			if v, set := env.Lookup(name); set {
				out[name] = v
			}
		}
	}
	return out
}

// codexToolName joins namespace and tool as the model sees them; of the server's name only letters, digits and _ are kept.
func codexToolName(server, tool string) string {
	return "mcp__" + strings.ReplaceAll(foldName(server), "-", "_") + "__" + foldName(tool)
}

// speaksCodex tells the transports apart: an HTTP entry is streamable HTTP, there is no SSE.
func speaksCodex(t model.Transport) bool {
	return t == model.TransportStdio || t == model.TransportHTTP
}

// toolFilter reads enabled_tools, and disabled_tools, which take away from what is left.
func (x *codexCheck) toolFilter() *model.ToolFilter {
	allow, limited := codexTexts(x.table["enabled_tools"])
	deny, denies := codexTexts(x.table["disabled_tools"])
	if !limited && !denies {
		return nil
	}
	key := "disabled_tools"
	if limited {
		key = "enabled_tools"
	}
	_, at := x.where(key)
	return &model.ToolFilter{Limited: limited, Allow: allow, Deny: deny, At: at}
}
