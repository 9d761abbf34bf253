package compare

import (
	"math"

	"github.com/umascope/umascope/loadgen/stats"
)

// mostNeeded is the largest number of runs of an arm that is shown; larger ones are out of reach.
const mostNeeded = 100_000

// setNeeded computes the runs that an inconclusive metric needs, for two goals: to find a difference as large as the
// observed one; and, for the margin, to show two equal arms equivalent and to find a difference as large as the margin.
// Each goal is reached in four of five repetitions; a metric of a family must be found among all of it. If the runs at
// hand are enough for the margin already, the difference lies close to the margin: NeedN is then the number of runs
// that separates the two.
func (r *row) setNeeded() {
	alpha := significance / float64(max(r.family, 1))
	margin, seen := min(-r.low, r.high), math.Abs(r.test.Difference)
	found := func(difference float64) func(stats.TTest) (float64, error) {
		return func(t stats.TTest) (float64, error) { return t.Power(difference, alpha) }
	}
	equal := func(t stats.TTest) (float64, error) { return t.EquivalencePower(margin, significance) }
	r.out.NeedForEffect = whole(r.runsFor(found(seen)), r.n())
	needed := max(r.runsFor(equal), r.runsFor(found(margin)))
	if needed <= r.n() {
		needed = r.runsFor(found(math.Abs(seen - margin)))
	}
	r.out.NeedN = whole(needed, r.n())
}

// setNeededForExtent computes the runs that tell a difference as large as the observed one from the margin, on whichever
// side it lies.
func (r *row) setNeededForExtent() {
	alpha := significance / float64(max(r.family, 1))
	limit := r.high
	if r.test.Difference < 0 {
		limit = r.low
	}
	r.out.NeedN = whole(r.runsFor(func(t stats.TTest) (float64, error) { return t.Power(math.Abs(r.test.Difference-limit), alpha) }), r.n())
}

// whole rounds up a number of runs beyond those at hand; nil if it is larger than mostNeeded.
func whole(needed, there float64) *int {
	if needed > mostNeeded {
		return nil
	}
	n := int(max(needed, math.Floor(there)+1))
	return &n
}

// n returns the number of runs of each arm; for arms of unequal size, the harmonic mean.
func (r *row) n() float64 { return 2 / (1/float64(len(r.x)) + 1/float64(len(r.y))) }

// runsFor returns how many runs of each arm a repetition needs for a power of 80 %, at the observed spread; infinite
// beyond mostNeeded.
func (r *row) runsFor(power func(stats.TTest) (float64, error)) float64 {
	enough := func(n int) bool {
		t := stats.TTest{SE: r.test.SE * math.Sqrt(r.n()/float64(n)), DF: float64(2*n - 2)}
		switch r.method {
		case MethodBalancedPairs:
			t.DF = float64(n - 2)
		case MethodPairs:
			t.DF = float64(n - 1)
		}
		p, err := power(t)
		return err == nil && p >= wantedPower
	}
	low, high := 2, 4
	for !enough(high) {
		if low, high = high, 2*high; low > mostNeeded {
			return math.Inf(1)
		}
	}
	for high-low > 1 {
		if middle := (low + high) / 2; enough(middle) {
			high = middle
		} else {
			low = middle
		}
	}
	return float64(high)
}
