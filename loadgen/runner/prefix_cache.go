package runner

import (
	"context"
	"fmt"

	"github.com/umascope/umascope/loadgen/rundir"
)

// resetPrefixCache empties the engine's prefix cache, if the run asks for it. It comes after all requests of its own
// that precede the load. Of several ranks the first one does it.
func (p *plan) resetPrefixCache(ctx context.Context, m *measurement) error {
	if !m.load.Target.ResetPrefixCache || m.load.Place.Rank > 0 {
		return nil
	}
	var err error
	p.reset, err = p.identity.ResetPrefixCache(ctx, p.served.Engine)
	switch {
	case ctx.Err() != nil:
		return ErrInterrupted
	case err != nil:
		return input(fmt.Errorf("--reset-prefix-cache: %w", err))
	}
	if why := p.reset.Refused(); why != "" {
		m.env.Log.Warn("the engine did not empty its prefix cache", "why", why)
	} else {
		m.env.Log.Info("the engine emptied its prefix cache")
	}
	return nil
}

// resetWarnings warns of a prefix cache that the engine did not empty.
func resetWarnings(r *rundir.PrefixCacheReset) []string {
	if refused := r.Refused(); refused != "" {
		return []string{"--reset-prefix-cache: the engine did not empty its prefix cache: " + refused}
	}
	return nil
}
