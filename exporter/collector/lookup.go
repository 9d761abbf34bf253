package collector

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync"
	"time"
)

const (
	// lookupInterval is the minimum time that a value is served. Reading it either costs a device time (a drive
	// composes its health log when it is asked for a temperature) or the value changes slowly.
	lookupInterval = 30 * time.Second
	// lookupRest is the pause after a lookup, as a multiple of the time that it took: lookups use at most 5 % of a
	// core, however large a tree of files is.
	lookupRest = 20
	// lookupLimit is the timeout of a lookup that can be interrupted. With it every served value is at most five and a
	// half minutes old.
	lookupLimit = 15 * time.Second
	// lookupGrace is how long a collection waits for a new value when it has an old one. Most arrive at once.
	lookupGrace = 50 * time.Millisecond
)

// lookup is a value that is expensive or slow to read: of a disk that can hang, or of a large tree. A collection starts
// a read, at most every half minute, in a goroutine that ends with the read; meanwhile the last value is served from
// memory, so a hung read costs that value only. A second read starts only after the first has ended.
type lookup[T any] struct {
	read func(context.Context) (T, error)
	now  func() time.Time

	mu      sync.Mutex
	last    *look[T]      // nil before the first read has ended
	running chan struct{} // closed when the read in progress ends, nil when there is none
	began   time.Time     // of the read in progress
	awaited chan struct{} // what the next call of value may wait for
}

// look is a finished read.
type look[T any] struct {
	value T
	err   error
	at    time.Time
	took  time.Duration
}

// restsUntil is when the next lookup is due, expires until when the value may be served if that takes long.
func (l *look[T]) restsUntil() time.Time { return l.at.Add(max(lookupInterval, lookupRest*l.took)) }
func (l *look[T]) expires() time.Time    { return l.restsUntil().Add(lookupInterval) }

// refresh starts a read if one is due. Collections call it for all their lookups before they read the first value, so
// that slow ones do not add up.
func (l *lookup[T]) refresh() {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now()
	if l.running != nil || l.last != nil && now.Before(l.last.restsUntil()) && !now.Before(l.last.at) {
		return
	}
	l.running, l.began = make(chan struct{}), now
	l.awaited = l.running
	go l.run(l.running, now)
}

// run reads, independent of the collection that started it.
func (l *lookup[T]) run(ended chan struct{}, began time.Time) {
	ctx, cancel := context.WithTimeout(context.Background(), lookupLimit)
	defer cancel()
	value, err := l.contained(ctx)
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now()
	l.last = &look[T]{value, err, now, now.Sub(began)}
	l.running = nil
	close(ended)
}

func (l *lookup[T]) contained(ctx context.Context) (value T, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = &panicError{cause, debug.Stack()}
		}
	}()
	return l.read(ctx)
}

// servable reports whether there is a value that is young enough. The clock of a host may jump.
func (l *lookup[T]) servable(now time.Time) bool {
	return l.last != nil && !now.Before(l.last.at) && now.Before(l.last.expires())
}

// value returns the last value. It waits for a read that refresh has started for this collection, briefly if there is
// an older value, but never for one that an earlier collection has waited for. Ready is false while there is no answer
// yet; a read that takes longer than any should is an error.
func (l *lookup[T]) value(patience context.Context) (value T, ready bool, err error) {
	l.wait(patience)
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now()
	if l.servable(now) {
		return l.last.value, true, l.last.err
	}
	if waited := now.Sub(l.began); l.running != nil && waited > lookupLimit {
		return value, false, fmt.Errorf("asked %v ago and not answered", waited.Round(time.Second))
	}
	return value, false, nil
}

func (l *lookup[T]) wait(patience context.Context) {
	l.mu.Lock()
	awaited, dispensable := l.awaited, l.servable(l.now())
	l.awaited = nil
	l.mu.Unlock()
	if awaited == nil {
		return
	}
	if dispensable {
		moment, cancel := context.WithTimeout(patience, lookupGrace)
		defer cancel()
		patience = moment
	}
	select {
	case <-awaited:
	case <-patience.Done():
	}
}

// patience is how long a collection may wait for first values: a quarter of its time. A program that prints one page
// and ends would otherwise never show them.
func patience(ctx context.Context) (context.Context, context.CancelFunc) {
	deadline, bounded := ctx.Deadline()
	if !bounded {
		return context.WithTimeout(ctx, DefaultTimeout/4)
	}
	return context.WithTimeout(ctx, time.Until(deadline)/4)
}
