package sweep

import (
	"fmt"
	"math"
	"slices"
)

// Search looks for a limit between two loads: it doubles from the lower end until a load is beyond
// the limit, narrows the two down by halves of their ratio, and measures the highest load within the
// limit a second time. Where it goes next is a function of what was measured so far and of nothing
// else.
type Search struct {
	// Kind is what limit is looked for.
	Kind      Kind
	Low, High float64
	// Whole is of loads that are whole numbers.
	Whole bool
	// Tolerance is how far apart, relative to the lower, the two loads may lie at the end.
	Tolerance float64
	judge     judge
	// split is the side of one run; nil of a limit that only shows between runs.
	split func(Trial) side
}

// Ends are the two loads that the search goes between.
func (s Search) Ends() []Value { return []Value{valueOf(s.Low), valueOf(s.High)} }

// side is on which side of the limit a load is.
type side int

const (
	unknown side = iota
	within
	beyond
)

// judge tells the side of every load that was measured, from all trials so far.
type judge func(done []Trial) map[float64]side

const (
	// mostTrials ends a search whose runs contradict each other again and again.
	mostTrials = 40
	// mostAttempts is how often a load is measured whose run shows nothing of the limit; mostClientAttempts if that
	// was the fault of the client, which passes more often than swap or a changed model.
	mostAttempts, mostClientAttempts = 2, 3
	// confirmations is in how many runs the answer must have been within the limit: the one load that
	// was lucky is the one that a search settles on.
	confirmations = 2
)

// bracket is where the limit lies: above the highest load within it below which nothing was beyond,
// and not above the lowest load beyond. 0 is none.
type bracket struct{ within, beyond float64 }

func (s Search) bracket(done []Trial) bracket {
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

// next is what to measure next.
func (s Search) next(done []Trial) (Value, bool) {
	if len(done) == 0 {
		return valueOf(s.Low), true
	}
	if last := done[len(done)-1]; !s.tells(last) {
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

// tells says whether a run shows anything of the limit. One that is valid need not: of a single
// request nobody can say whether a backlog grows.
func (s Search) tells(t Trial) bool {
	if s.split != nil {
		return s.split(t) != unknown
	}
	return t.usable() && t.hasThroughput()
}

// attempts counts the runs of a value that told nothing.
func (s Search) attempts(done []Trial, v Value) int {
	n := 0
	for _, t := range done {
		if t.Value == v && !s.tells(t) {
			n++
		}
	}
	return n
}

// middle is the load half way, by ratio; none once the two are close enough.
func (s Search) middle(b bracket) (Value, bool) {
	if b.beyond == 0 || b.beyond/b.within <= 1+s.Tolerance {
		return Value{}, false
	}
	load := math.Sqrt(b.within * b.beyond)
	if s.Whole {
		load = math.Round(load)
	} else {
		// Nobody wants a rate of 12.5992; three digits are finer than the finest tolerance.
		unit := math.Pow(10, math.Floor(math.Log10(load))-2)
		load = math.Round(load/unit) * unit
	}
	v := valueOf(load)
	return v, v.Load > b.within && v.Load < b.beyond
}

// contradictions lists, in words, what a sharp limit would not show: a load whose runs disagree, and
// one within the limit above one beyond it.
func (s Search) contradictions(done []Trial) []string {
	var found []string
	sides, lowest := s.judge(done), 0.0
	for _, load := range loads(done) {
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

// count is how many runs of a load were on a side, of limits that one run shows.
func (s Search) count(done []Trial, load float64, where side) int {
	n := 0
	for _, t := range done {
		if s.split != nil && t.Value.Load == load && s.split(t) == where {
			n++
		}
	}
	return n
}

// loads are those that were measured, ascending.
func loads(done []Trial) []float64 {
	var all []float64
	for _, t := range done {
		all = append(all, t.Value.Load)
	}
	slices.Sort(all)
	return slices.Compact(all)
}
