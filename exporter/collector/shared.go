package collector

import (
	"context"
	"errors"
	"sync"
)

// shared is a reading that several collectors want and that is made once, by whoever asks first. The
// others wait for it as long as their own context lasts: one that is stuck in a driver must not hold those
// that can do without it.
type shared[T any] struct {
	mu    sync.Mutex
	ready chan struct{} // nil before anybody has asked, closed when value and err stand
	value T
	err   error
}

// get returns the reading, made by read if nobody has asked before. What has been read is given to one
// whose context has ended, too.
func (s *shared[T]) get(ctx context.Context, read func(context.Context) (T, error)) (T, error) {
	s.mu.Lock()
	first := s.ready == nil
	if first {
		s.ready = make(chan struct{})
	}
	s.mu.Unlock()
	if first {
		defer close(s.ready)
		s.err = errors.New("what several collectors share ended in a panic") // stands if it does
		s.value, s.err = read(ctx)
		return s.value, s.err
	}
	select {
	case <-s.ready:
		return s.value, s.err
	default:
	}
	select {
	case <-s.ready:
		return s.value, s.err
	case <-ctx.Done():
		var none T
		return none, ctx.Err()
	}
}
