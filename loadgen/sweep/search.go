package sweep

import (
	"fmt"
	"math"
	"slices"
)

// Search looks for a limit between two loads: it doubles from the lower end until a load is beyond the limit, narrows
// the two down by halves of their ratio, and measures the highest load within the limit a second time. The next load is
// a function of the measurements so far only.
type Search struct {
	// Kind is the kind of limit.
	Kind      SearchKind
	Low, High float64
	// Whole is true if loads are whole numbers.
	Whole bool
	// Tolerance is the allowed distance between the two loads at the end, relative to the lower.
	Tolerance float64
	judge     sideJudge
	// split returns the side of one run; nil for a limit that shows only between runs.
	split func(Run) loadSide
}

// Ends returns the two loads that the search goes between.
func (s Search) Ends() []Value { return []Value{valueOf(s.Low), valueOf(s.High)} }

// loadSide is the side of the limit that a load is on.
type loadSide int

const (
	unknown loadSide = iota
	within
	beyond
)

// sideJudge returns the side of every load that was measured, from all trials so far.
type sideJudge func(done []Run) map[float64]loadSide

const (
	// mostTrials ends a search whose runs keep contradicting each other.
	mostTrials = 40
	// mostAttempts is how often a load is measured whose run shows nothing about the limit; mostClientAttempts if that
	// was the client's fault, which is more often temporary than swap or a changed model.
	mostAttempts, mostClientAttempts = 2, 3
	// confirmations is how many runs of the answer must have been within the limit: a search tends to settle on a load
	// whose run was lucky.
	confirmations = 2
)

// bracket is the interval of the limit: above the highest load within it that has no lower load beyond, and not above
// the lowest load beyond. 0 is none.
type bracket struct{ within, beyond float64 }

func (s Search) bracket(done []Run) bracket {
	var b bracket
	sides := s.judge(done)
	for load, at := range sides {
		if at == beyond && (b.beyond == 0 || load < b.beyond) {
			b.beyond = load
		}
	}
	for load, at := range sides {
		if at == within && load > b.within && (b.beyond == 0 || load < b.beyond) {
			b.within = load
		}
	}
	return b
}

// next returns the value to measure next.
func (s Search) next(done []Run) (Value, bool) {
	if len(done) == 0 {
		return valueOf(s.Low), true
	}
	if last := done[len(done)-1]; !s.decides(last) {
		most := mostAttempts
		if last.clientFault() {
			most = mostClientAttempts
		}
		return last.Value, s.attempts(done, last.Value) < most
	}
	if len(done) >= mostTrials {
		return Value{}, false
	}
	b := s.bracket(done)
	if b.within == 0 {
		return Value{}, false
	}
	if b.beyond == 0 && b.within < s.High {
		return valueOf(min(2*b.within, s.High)), true
	}
	if middle, ok := s.middle(b); ok {
		return middle, true
	}
	confirmed := valueOf(b.within)
	return confirmed, repeats(done, confirmed) < confirmations
}

// decides reports whether a run shows anything about the limit. A valid run may not: a single request does not show
// whether a backlog grows.
func (s Search) decides(t Run) bool {
	if s.split != nil {
		return s.split(t) != unknown
	}
	return t.usable() && t.hasThroughput()
}

// attempts counts the runs of a value that showed nothing.
func (s Search) attempts(done []Run, v Value) int {
	n := 0
	for _, t := range done {
		if t.Value == v && !s.decides(t) {
			n++
		}
	}
	return n
}

// middle returns the load half way, by ratio; false once the two are close enough.
func (s Search) middle(b bracket) (Value, bool) {
	if b.beyond == 0 || b.beyond/b.within <= 1+s.Tolerance {
		return Value{}, false
	}
	load := math.Sqrt(b.within * b.beyond)
	if s.Whole {
		load = math.Round(load)
	} else {
		// Avoid rates such as 12.5992; three digits are finer than the finest tolerance.
		unit := math.Pow(10, math.Floor(math.Log10(load))-2)
		load = math.Round(load/unit) * unit
	}
	v := valueOf(load)
	return v, v.Load > b.within && v.Load < b.beyond
}

// contradictions lists, in words, runs that a sharp limit would not show: a load whose runs disagree, and one within
// the limit above one beyond it.
func (s Search) contradictions(done []Run) []string {
	var found []string
	sides, lowest := s.judge(done), 0.0
	for _, load := range loadsOf(done) {
		name := valueOf(load).Text
		if in, out := s.count(done, load, within), s.count(done, load, beyond); in > 0 && out > 0 {
			found = append(found, fmt.Sprintf("%s was within the limit in %d of %d runs", name, in, in+out))
		}
		switch {
		case sides[load] == beyond && lowest == 0:
			lowest = load
		case sides[load] == within && lowest != 0:
			found = append(found, fmt.Sprintf("%s was within the limit, though %s was beyond it", name, valueOf(lowest).Text))
		}
	}
	return found
}

// count returns how many runs of a load were on a side, for limits that one run shows.
func (s Search) count(done []Run, load float64, where loadSide) int {
	n := 0
	for _, t := range done {
		if s.split != nil && t.Value.Load == load && s.split(t) == where {
			n++
		}
	}
	return n
}

// loadsOf returns the measured loads, ascending.
func loadsOf(done []Run) []float64 {
	var all []float64
	for _, t := range done {
		all = append(all, t.Value.Load)
	}
	slices.Sort(all)
	return slices.Compact(all)
}
