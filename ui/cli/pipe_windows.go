package cli

import (
	"context"
	"os"
)

// openWithoutWaiting opens a named pipe at once, or not at all; Windows never waits.
const openWithoutWaiting = 0

// writeErrorInsteadOfPipeSignal does nothing: Windows has no such signal.
func writeErrorInsteadOfPipeSignal() (restore func()) { return func() {} }

// waitForClosedPipe returns when ctx is done. Windows does not tell of a closed reader before the next write.
func waitForClosedPipe(ctx context.Context, _ *os.File) { <-ctx.Done() }
