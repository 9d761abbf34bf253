package sim

import "container/list"

// recency keeps keys in the order of their last use, the oldest first.
type recency struct {
	order *list.List
	place map[uint64]*list.Element
}

func newRecency() *recency { return &recency{list.New(), map[uint64]*list.Element{}} }

func (r *recency) len() int { return len(r.place) }

func (r *recency) has(key uint64) bool {
	_, ok := r.place[key]
	return ok
}

// touch makes a key the youngest, if it is present.
func (r *recency) touch(key uint64) {
	if element, ok := r.place[key]; ok {
		r.order.MoveToBack(element)
	}
}

// touchOrPut makes a key the youngest, and adds it if it is absent.
func (r *recency) touchOrPut(key uint64) {
	if r.has(key) {
		r.touch(key)
		return
	}
	r.place[key] = r.order.PushBack(key)
}

// put adds an absent key and returns how many keys were dropped so that there are at most most.
func (r *recency) put(key uint64, most int) (dropped int64) {
	for len(r.place) >= most {
		r.dropOldest()
		dropped++
	}
	r.place[key] = r.order.PushBack(key)
	return dropped
}

func (r *recency) remove(key uint64) {
	if element, ok := r.place[key]; ok {
		r.order.Remove(element)
		delete(r.place, key)
	}
}

// dropOldest removes the key that was not used for longest and returns it; there has to be one.
func (r *recency) dropOldest() uint64 {
	key := r.order.Remove(r.order.Front()).(uint64)
	delete(r.place, key)
	return key
}
