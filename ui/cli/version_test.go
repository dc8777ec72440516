package cli

import (
	"runtime/debug"
	"testing"
)

func TestVersionOf(t *testing.T) {
	t.Parallel()
	const tail = ", go1.26.0, linux/amd64"
	vcs := func(modified string) []debug.BuildSetting {
		return []debug.BuildSetting{{Key: "vcs.revision", Value: "0123456789abcdef0123"}, {Key: "vcs.modified", Value: modified}}
	}
	for want, info := range map[string]*debug.BuildInfo{
		"devel":                    nil,
		"v1.2.3":                   {Main: debug.Module{Version: "v1.2.3"}},
		"devel 0123456789ab":       {Main: debug.Module{Version: "(devel)"}, Settings: vcs("false")},
		"devel 0123456789ab+dirty": {Settings: vcs("true")},
		"v0.0.0-20261130+dirty":    {Main: debug.Module{Version: "v0.0.0-20261130+dirty"}, Settings: vcs("true")},
	} {
		if got := versionOf(info, "go1.26.0", "linux/amd64"); got != want+tail {
			t.Errorf("%q, want %q", got, want+tail)
		}
	}
}
