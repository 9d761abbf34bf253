package compare

import (
	"math"

	"github.com/umascope/umascope/loadgen/stats"
)

// mostNeeded is beyond what anybody runs.
const mostNeeded = 100_000

// setNeeded plans for what is inconclusive, twice: how many runs each arm needs for a difference as large as the one
// that was seen to be found, and for the margin: for two equal arms to be shown equivalent, and a difference as large
// as the margin to be found. Either in four of five repetitions; one of a family has to be found among all of it.
// Where there are enough runs for the margin already, the difference lies about where the margin ends, and it is what
// tells it from there.
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

// whole is a number of runs beyond those that there are; nil of more than anybody runs.
func whole(needed, there float64) *int {
	if needed > mostNeeded {
		return nil
	}
	n := int(max(needed, math.Floor(there)+1))
	return &n
}

// n is how many runs each arm has; of arms of unlike size it is the harmonic mean.
func (r *row) n() float64 { return 2 / (1/float64(len(r.x)) + 1/float64(len(r.y))) }

// runsFor is how many runs of each arm a repetition needs for a power of 80 %, at the spread that was seen;
// infinite beyond what anybody runs.
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
