package mcpclient

import (
	"context"

	"fusebox/model"
)

// listStdio starts the process, and once more with initialize alone if it ended on the probe.
func (r *run) listStdio(ctx context.Context) verdict {
	ctx, cancel := context.WithTimeout(ctx, r.opts.Timeout)
	defer cancel()
	v, onProbe := r.runProcess(ctx, false)
	if onProbe && ctx.Err() == nil {
		r.rec.again()
		r.rec.add(Neither, "started again", "it ended on server/discover: now with initialize alone")
		var second *verdict
		second, _ = r.runProcess(ctx, true)
		if second.outcome == model.OutcomeOK {
			r.note("it ends when it is asked server/discover; it was started once more with initialize alone")
		}
		v = second
	}
	return *v
}

// runProcess runs one process from start to end. onProbe tells that it ended before it answered anything.
func (r *run) runProcess(ctx context.Context, legacy bool) (v *verdict, onProbe bool) {
	p, v := startProcess(r)
	if v != nil {
		return v, false
	}
	linkCtx, cancel := context.WithCancel(ctx)
	l := newLink(linkCtx, r, p)
	defer func() {
		r.settle()
		p.stop()
		cancel()
		l.wait.Wait()
		p.readers.Wait()
		p.close()
	}()
	h := newHandshake(l, r.opts.ProbeWait)
	agreed, v := h.connect(ctx, legacy)
	if v == nil {
		v = r.list(ctx, l, agreed)
	}
	return v, !legacy && !l.everHeard() && endedByItself(v)
}

// endedByItself tells whether the process ended or closed its output.
func endedByItself(v *verdict) bool {
	return v.code == model.ReasonExited || v.code == model.ReasonKilled
}
