package executor

import "sync"

// slots is how many requests may be in flight. A free slot carries the moment at which it became
// free.
type slots struct {
	free chan int64

	mutex    sync.Mutex
	retiring int // of those in use: how many do not come back
}

// newSlots makes n slots, free since the given moment, of at most most.
func newSlots(n, most int, at int64) *slots {
	s := &slots{free: make(chan int64, max(n, most))}
	for range n {
		s.free <- at
	}
	return s
}

// release gives a slot back that became free at the given moment.
func (s *slots) release(at int64) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.retiring > 0 {
		s.retiring--
		return
	}
	s.free <- at // never waits: there are no more slots than the channel holds
}

// resize adds slots, free since the given moment, or takes some away: idle ones at once, others
// when they are given back.
func (s *slots) resize(from, to int, at int64) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	for ; from < to; from++ {
		if s.retiring > 0 {
			s.retiring--
		} else {
			s.free <- at
		}
	}
	for ; from > to; from-- {
		select {
		case <-s.free:
		default:
			s.retiring++
		}
	}
}
