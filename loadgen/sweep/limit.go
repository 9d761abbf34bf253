package sweep

import (
	"fmt"
	"maps"
	"math"
	"slices"
)

// SearchKind is the kind of limit that a search looks for.
type SearchKind string

// The kinds of limits.
const (
	ForSLO        SearchKind = "slo"
	ForSaturation SearchKind = "saturation"
)

// SearchKinds returns all kinds.
func SearchKinds() []SearchKind { return []SearchKind{ForSLO, ForSaturation} }

// plateau is the share of the highest throughput at which a closed loop counts as saturated. It is below 1 by more than
// the noise.
const plateau = 0.9

// leastGain is the least relative gain in throughput from twice the requests in flight; below it, the server is
// saturated.
const leastGain = 0.1

// failing is the share of failed requests at which a server is no longer serving its load.
const failing = 0.1

// newSearch returns a search for a limit on the load of --over.
func newSearch(kind SearchKind, over Over, tolerance float64) (Search, error) {
	low, high, err := over.Ends()
	if err != nil {
		return Search{}, err
	}
	s := Search{Kind: kind, Low: low, High: high, Whole: over.whole(), Tolerance: tolerance}
	switch {
	case kind == ForSLO:
		s.split = keepsSLO
	case over.Name == OverRate:
		s.split = keepsUp
	default:
		s.judge = byThroughput
		return s, nil
	}
	s.judge = func(done []Run) map[float64]loadSide { return byTrial(done, s.split) }
	return s, nil
}

// Rule returns the rule of a search, in words.
func (s Search) Rule() string {
	switch {
	case s.Kind == ForSLO:
		return "a load is beyond the limit if the SLO was missed in any of its runs"
	case s.split == nil:
		return fmt.Sprintf("a closed loop is saturated from the least concurrency on that has %g %% of the highest throughput, once twice the concurrency brings less than %g %% more", 100*plateau, 100*leastGain)
	default:
		return fmt.Sprintf("a rate is beyond the limit if, in the second half of the time in which requests became due, more became due than ended: by 5 %% and by two standard deviations of what chance does; or if %g %% failed", 100*failing)
	}
}

// keepsSLO returns the side of a run by the SLO.
func keepsSLO(t Run) loadSide {
	switch met, known := t.met(); {
	case !known:
		return unknown
	case met:
		return within
	default:
		return beyond
	}
}

// keepsUp returns the side of a run with arrivals by the clock: whether as many requests ended as became due. Requests
// in flight that keep growing show the same, and other tools fit a line to them; counts at two moments need no model of
// the noise.
func keepsUp(t Run) loadSide {
	switch {
	case !t.usable():
		return unknown
	case t.errorRatio() >= failing:
		return beyond
	case t.Summary.Backlog == nil:
		return unknown
	case t.Summary.Backlog.Grows:
		return beyond
	default:
		return within
	}
}

// byTrial returns the side of each load by its runs: beyond the limit if any of them was.
func byTrial(done []Run, split func(Run) loadSide) map[float64]loadSide {
	sides := map[float64]loadSide{}
	for _, t := range done {
		sides[t.Value.Load] = max(sides[t.Value.Load], split(t))
	}
	return sides
}

// byThroughput returns the side of each load of a closed loop. While throughput still grows with load, every load is
// within the limit. After that, loads with nearly the highest throughput are beyond it, and so are all loads above the
// one with the highest, where some servers get slower.
func byThroughput(done []Run) map[float64]loadSide {
	means := meanThroughput(done)
	measured := slices.Sorted(maps.Keys(means)) // without runs that show nothing: their throughput is unknown, not 0
	best, at := 0.0, 0.0
	for _, load := range measured {
		if means[load] > best {
			best, at = means[load], load
		}
	}
	sides := map[float64]loadSide{}
	flat := flattens(means, measured)
	for load, mean := range means {
		sides[load] = within
		if flat && (mean >= plateau*best || load > at) {
			sides[load] = beyond
		}
	}
	return sides
}

// flattens reports whether some load gains too little over one below it: less than leastGain for each doubling. It
// skips loads closer than half a doubling: their difference is noise. The loads are ascending.
func flattens(means map[float64]float64, ascending []float64) bool {
	for i, high := range ascending {
		for _, low := range ascending[:i] {
			doublings := math.Log2(high / low)
			if means[low] > 0 && doublings >= 0.5 && means[high]/means[low] < math.Pow(1+leastGain, doublings) {
				return true
			}
		}
	}
	return false
}

// meanThroughput returns the mean of the usable runs of each load.
func meanThroughput(done []Run) map[float64]float64 {
	m := measureOf(done)
	sums, counts := map[float64]float64{}, map[float64]float64{}
	for _, t := range done {
		if v, known := t.throughput(m); known && t.usable() {
			sums[t.Value.Load] += v
			counts[t.Value.Load]++
		}
	}
	for load := range sums {
		sums[load] /= counts[load]
	}
	return sums
}
