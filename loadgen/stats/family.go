package stats

import (
	"cmp"
	"math"
	"slices"
)

// Holm adjusts the p values of a family of tests: the probability that any of them is wrongly significant is at most
// alpha. A p that is not a number counts as 1.
func Holm(p []float64) []float64 {
	each := make([]int, len(p))
	for i := range each {
		each[i] = i
	}
	return HolmOnce(p, each)
}

// HolmOnce is Holm for tests of which some share a quantity, such as requests and tokens per second of one load: tests
// of the same number count once. of has a number for each p.
func HolmOnce(p []float64, of []int) []float64 {
	left := map[int]int{} // tests of each quantity from here on
	for _, quantity := range of {
		left[quantity]++
	}
	adjusted, worst := make([]float64, len(p)), 0.0
	for _, i := range ascending(p) {
		worst = max(worst, asP(p[i])*float64(len(left)))
		adjusted[i] = min(worst, 1)
		if left[of[i]]--; left[of[i]] == 0 {
			delete(left, of[i])
		}
	}
	return adjusted
}

// BenjaminiHochberg adjusts p values so that a share of alpha of those at or below alpha is wrong. A p that is not a
// number counts as 1.
func BenjaminiHochberg(p []float64) []float64 {
	adjusted, least := make([]float64, len(p)), 1.0
	for k, i := range slices.Backward(ascending(p)) {
		least = min(least, asP(p[i])*float64(len(p))/float64(k+1))
		adjusted[i] = least
	}
	return adjusted
}

func asP(p float64) float64 {
	if math.IsNaN(p) {
		return 1
	}
	return probability(p)
}

// ascending returns the indexes of the values in ascending order; equal values keep their order.
func ascending(p []float64) []int {
	order := make([]int, len(p))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(asP(p[i]), asP(p[j])) })
	return order
}
