package collector

import (
	"context"
	"errors"
	"sync"
)

// shared is a reading that several collectors use and that the first caller makes, once. The others wait for it as long
// as their own context lasts: a reading that is stuck in a driver must not hold collectors that can do without it.
type shared[T any] struct {
	mu    sync.Mutex
	ready chan struct{} // nil before the first call; closed when value and err are set
	value T
	err   error
}

// get returns the reading; the first call makes it with read. A finished reading is returned even if the caller's
// context has ended.
func (s *shared[T]) get(ctx context.Context, read func(context.Context) (T, error)) (T, error) {
	s.mu.Lock()
	first := s.ready == nil
	if first {
		s.ready = make(chan struct{})
	}
	s.mu.Unlock()
	if first {
		defer close(s.ready)
		s.err = errors.New("what several collectors share ended in a panic") // final if it is true
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
