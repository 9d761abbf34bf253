package workload

import "sync"

// slots limits how many requests may be in flight. A free slot carries the time at which it became free.
type slots struct {
	free chan int64

	mutex    sync.Mutex
	retiring int // slots in use that are removed when they are released
}

// newSlots makes n slots, free since the given time. There can be at most most slots.
func newSlots(n, most int, at int64) *slots {
	s := &slots{free: make(chan int64, max(n, most))}
	for range n {
		s.free <- at
	}
	return s
}

// release returns a slot that became free at the given time.
func (s *slots) release(at int64) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.retiring > 0 {
		s.retiring--
		return
	}
	s.free <- at // never blocks: the channel has room for all slots
}

// resize adds slots, free since the given time, or removes some: idle ones at once, others when they are released.
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
