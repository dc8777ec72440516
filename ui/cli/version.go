package cli

import (
	"runtime"
	"runtime/debug"
	"strings"
)

// version is what --version prints after the program's name: what was built, with which Go, for which system.
func version() string {
	info, _ := debug.ReadBuildInfo()
	return versionOf(info, runtime.Version(), runtime.GOOS+"/"+runtime.GOARCH)
}

// versionOf names the module version, or the commit of a checkout with a mark for changes that are not committed. A build
// without any of these is "devel".
func versionOf(info *debug.BuildInfo, goVersion, platform string) string {
	name := "devel"
	if info != nil {
		if v := info.Main.Version; v != "" && v != "(devel)" {
			name = v
		} else if revision := setting(info, "vcs.revision"); revision != "" {
			name += " " + revision[:min(12, len(revision))]
		}
		if setting(info, "vcs.modified") == "true" && !strings.Contains(name, "+dirty") {
			name += "+dirty"
		}
	}
	return name + ", " + goVersion + ", " + platform
}

func setting(info *debug.BuildInfo, key string) string {
	for _, s := range info.Settings {
		if s.Key == key {
			return s.Value
		}
	}
	return ""
}
