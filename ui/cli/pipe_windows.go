package cli

import (
	"context"
	"os"
)

// writeErrorInsteadOfPipeSignal does nothing: Windows has no such signal.
func writeErrorInsteadOfPipeSignal() (restore func()) { return func() {} }

// waitForClosedPipe returns when ctx is done. Windows does not tell of a closed reader before the next write.
func waitForClosedPipe(ctx context.Context, _ *os.File) { <-ctx.Done() }
