//go:build !linux && !darwin && !windows

package loaders

import "io/fs"

// folderSalt is not known on this system.
func folderSalt(fs.FileInfo) string { return "" }
