package stats

import (
	"math"
	"slices"
)

// RankTest is the test of Mann and Whitney (and Wilcoxon): whether the values of b tend to be above those of a.
type RankTest struct {
	U float64 // pairs in which b is larger; equal pairs count half
	P float64 // two-sided
	// Less and Greater are the one-sided p values: that b tends to be less, or greater.
	Less, Greater float64
	// Exact is true if all assignments of the ranks were counted; otherwise P is from the normal distribution.
	Exact bool
}

// exactRanks is the largest sample of which all assignments are counted: the counts stay exact in a float64, and the
// time below some milliseconds.
const exactRanks = 25

// MannWhitney tests two samples by their ranks. Up to 25 values each it is exact, ties included; above, it is the
// normal approximation with the correction for ties and continuity. With ties or unequal n the two sides are not
// symmetric: the two-sided p is twice the smaller one, as for a count.
func MannWhitney(a, b []float64) (RankTest, error) {
	if err := both(1, a, b); err != nil {
		return RankTest{}, err
	}
	ranks := doubledRanks(slices.Concat(b, a))
	if slices.Min(ranks) == slices.Max(ranks) {
		return RankTest{}, ErrNoSpread
	}
	if len(a) <= exactRanks && len(b) <= exactRanks {
		return exactMannWhitney(ranks, len(b)), nil
	}
	return normalMannWhitney(ranks, len(b), .5), nil
}

// doubledRanks returns the ranks of x in the order of x, times two: the mean rank of ties is then an integer.
func doubledRanks(x []float64) []int {
	order := make([]int, len(x))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(i, j int) int {
		if x[i] < x[j] {
			return -1
		}
		if x[i] > x[j] {
			return 1
		}
		return 0
	})
	ranks := make([]int, len(x))
	for first := 0; first < len(order); {
		next := first + 1
		for next < len(order) && x[order[next]] == x[order[first]] {
			next++
		}
		for _, i := range order[first:next] {
			ranks[i] = first + 1 + next // twice the mean of first+1 to next
		}
		first = next
	}
	return ranks
}

// rankSum returns the sum of the first n ranks, and twice the U that follows from it.
func rankSum(doubled []int, n int) (sum, doubledU int) {
	for _, r := range doubled[:n] {
		sum += r
	}
	return sum, sum - n*(n+1)
}

// exactMannWhitney counts the assignments of the ranks by their sum in the first sample.
func exactMannWhitney(ranks []int, n int) RankTest {
	sum, u := rankSum(ranks, n)
	ways := deals(ranks, n)
	all, below, above := 0.0, 0.0, 0.0
	for s, w := range ways {
		all += w
		if s <= sum {
			below += w
		}
		if s >= sum {
			above += w
		}
	}
	t := RankTest{U: float64(u) / 2, Less: probability(below / all), Greater: probability(above / all), Exact: true}
	t.P = min(2*min(t.Less, t.Greater), 1)
	return t
}

// deals counts the choices of n ranks by their sum.
func deals(ranks []int, n int) []float64 {
	most := 0
	for _, r := range ranks {
		most += r
	}
	ways := make([][]float64, n+1) // by number of chosen ranks
	for k := range ways {
		ways[k] = make([]float64, most+1)
	}
	ways[0][0] = 1
	reached := 0
	for i, r := range ranks {
		reached += r
		for k := min(i+1, n); k >= 1; k-- {
			for s := reached; s >= r; s-- {
				ways[k][s] += ways[k-1][s-r]
			}
		}
	}
	return ways[n]
}

// normalMannWhitney is the approximation for large samples; continuity is .5, or 0 for none.
func normalMannWhitney(ranks []int, n int, continuity float64) RankTest {
	_, u := rankSum(ranks, n)
	t := RankTest{U: float64(u) / 2}
	all, m := float64(len(ranks)), float64(len(ranks)-n)
	mean := float64(n) * m / 2
	sd := math.Sqrt(float64(n) * m / 12 * (all + 1 - tiesOf(ranks)/(all*(all-1))))
	t.Less = probability(normalAbove((mean - t.U - continuity) / sd))
	t.Greater = probability(normalAbove((t.U - mean - continuity) / sd))
	t.P = min(2*min(t.Less, t.Greater), 1)
	return t
}

// tiesOf returns the sum of t cubed minus t over the groups of t equal ranks.
func tiesOf(ranks []int) float64 {
	groups := map[int]float64{}
	for _, r := range ranks {
		groups[r]++
	}
	sum := 0.0
	for _, t := range groups {
		sum += t*t*t - t
	}
	return sum
}

// HodgesLehmann returns the shift from a to b: the median of all differences b - a.
func HodgesLehmann(a, b []float64) (float64, error) {
	if err := both(1, a, b); err != nil {
		return 0, err
	}
	differences := make([]float64, 0, len(a)*len(b))
	for _, x := range a {
		for _, y := range b {
			differences = append(differences, y-x)
		}
	}
	return Median(differences), nil
}
