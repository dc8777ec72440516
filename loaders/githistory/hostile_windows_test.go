package githistory

import "os"

func openForTest(path string) (*os.File, error) { return os.Open(path) }
