package runner

import (
	"context"
	"fmt"
)

// resetPrefixCache empties the engine's prefix cache, if the run asks for it. It comes after all requests of its own
// that precede the load. Of several ranks the first one does it.
func (s *subject) resetPrefixCache(ctx context.Context, m *measurement) error {
	if !m.load.Target.ResetPrefixCache || m.load.Place.Rank > 0 {
		return nil
	}
	var err error
	s.reset, err = s.identity.ResetPrefixCache(ctx, s.served.Engine)
	switch {
	case ctx.Err() != nil:
		return ErrInterrupted
	case err != nil:
		return input(fmt.Errorf("--reset-prefix-cache: %w", err))
	}
	if why := s.reset.Refused(); why != "" {
		m.env.Log.Warn("the engine did not empty its prefix cache", "url", s.target.URL, "why", why)
	} else {
		m.env.Log.Info("the engine emptied its prefix cache", "url", s.target.URL)
	}
	return nil
}

// resetWarnings warns of a prefix cache that the engine did not empty.
func (s *subject) resetWarnings() []string {
	if refused := s.reset.Refused(); refused != "" {
		return []string{"--reset-prefix-cache: the engine did not empty its prefix cache: " + refused}
	}
	return nil
}
