package loaders_test

import "errors"

func makeFIFO(string) error { return errors.ErrUnsupported }
