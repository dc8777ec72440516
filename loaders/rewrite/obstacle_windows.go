package rewrite

// mayWrite tells nothing: on Windows only trying does.
func mayWrite(string) error { return nil }
