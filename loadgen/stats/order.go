package stats

import (
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"
	"sync"
)

// Correlation is the rank correlation of two figures.
type Correlation struct {
	N int
	R float64 // from -1 to 1
	P float64 // two-sided
	// Exact is true if all orders were counted; otherwise P is from Permutations random ones, drawn with Seed.
	Exact        bool
	Permutations int
	Seed         uint64
}

const (
	// exactOrders is the largest number of values of which all orders are counted, some milliseconds of work.
	exactOrders = 10
	// drawnOrders is the number of orders drawn for more values: the smallest p is then 1e-4.
	drawnOrders = 9999
	drawnSeed   = 1
)

// Spearman correlates two figures of at least three things by rank. Its p is that of a permutation test,
// which holds whatever the distribution: exact up to ten values, ties included, drawn beyond.
func Spearman(x, y []float64) (Correlation, error) {
	if err := both(3, x, y); err != nil {
		return Correlation{}, err
	}
	if len(x) != len(y) {
		return Correlation{}, fmt.Errorf("%d and %d: %w", len(x), len(y), ErrUnpaired)
	}
	rx, ry := centredRanks(x), centredRanks(y)
	sxx, syy, sxy := products(rx, rx), products(ry, ry), products(rx, ry)
	if sxx == 0 || syy == 0 {
		return Correlation{}, ErrNoSpread
	}
	c := Correlation{N: len(x), R: float64(sxy) / math.Sqrt(float64(sxx)) / math.Sqrt(float64(syy))}
	c.R = min(max(c.R, -1), 1)
	if len(x) <= exactOrders {
		c.Exact, c.P = true, exactOrder(rx, ry)
		return c, nil
	}
	c.Permutations, c.Seed = drawnOrders, drawnSeed
	c.P = drawnOrder(rx, ry, sxy)
	return c, nil
}

// centredRanks returns twice the ranks minus their mean: integers whose sum is 0.
func centredRanks(x []float64) []int {
	ranks := doubledRanks(x)
	for i := range ranks {
		ranks[i] -= len(x) + 1
	}
	return ranks
}

func products(x, y []int) int {
	sum := 0
	for i := range x {
		sum += x[i] * y[i]
	}
	return sum
}

// exactOrder returns the share of all orders of y whose products with x sum to at least as much, two-sided. It counts
// them without visiting each: the possible sums of the first places of x depend only on the set of used ranks of y,
// 1,024 sets for ten values and not 3,628,800 orders.
func exactOrder(x, y []int) float64 {
	x, y = fromZero(x), fromZero(y)
	observed := products(x, y)
	slices.Sort(x) // the sums stay small for most sets
	var ways []uint32
	if n := len(x); n <= exactOrders && isRanks(x) && isRanks(slices.Sorted(slices.Values(y))) {
		ways = untied[n]()
	} else {
		ways = ordersBySum(x, y)
	}
	return shareBeyond(ways, x, y, observed)
}

// untied are the orders of n ranks without ties by their sum of products, counted on first use: most figures have no
// ties.
var untied = func() (all [exactOrders + 1]func() []uint32) {
	for n := range all {
		all[n] = sync.OnceValue(func() []uint32 {
			ranks := make([]int, n)
			for i := range ranks {
				ranks[i] = i
			}
			return slices.Clone(ordersBySum(ranks, ranks))
		})
	}
	return all
}()

// isRanks reports whether ascending values are 0, 1, 2 and so on.
func isRanks(ascending []int) bool {
	for i, v := range ascending {
		if v != i {
			return false
		}
	}
	return len(ascending) > 0
}

// ordersBySum counts the orders of y by the sum of its products with x, which is ascending.
func ordersBySum(x, y []int) []uint32 {
	reach := make([]int, len(x)+1)
	for i, v := range x {
		reach[i+1] = reach[i] + v*slices.Max(y)
	}
	width := reach[len(x)] + 1
	ways := make([]uint32, width<<len(y)) // by set of used ranks, then by sum
	ways[0] = 1
	for used := range 1<<len(y) - 1 {
		place := bits.OnesCount(uint(used))
		from := ways[used*width : used*width+reach[place]+1]
		for j, rank := range y {
			if used>>j&1 == 1 {
				continue
			}
			start := (used|1<<j)*width + x[place]*rank
			to := ways[start : start+len(from)]
			for s, w := range from {
				to[s] += w
			}
		}
	}
	return ways[len(ways)-width:]
}

// fromZero maps the ranks to the smallest non-negative integers.
func fromZero(ranks []int) []int {
	least, odd := slices.Min(ranks), 0
	shifted := make([]int, len(ranks))
	for i, r := range ranks {
		shifted[i] = r - least
		odd |= shifted[i] & 1
	}
	if odd == 0 {
		for i := range shifted {
			shifted[i] /= 2
		}
	}
	return shifted
}

// shareBeyond returns the share of orders, counted by their sum, that lie as far from the mean sum as observed.
func shareBeyond(ways []uint32, x, y []int, observed int) float64 {
	n, sumX, sumY := len(x), 0, 0
	for i := range x {
		sumX += x[i]
		sumY += y[i]
	}
	off := func(s int) int { return abs(n*s - sumX*sumY) } // times n, so that it is an integer
	all, extreme := 0.0, 0.0
	for s, w := range ways {
		all += float64(w)
		if off(s) >= off(observed) {
			extreme += float64(w)
		}
	}
	return extreme / all
}

func abs(x int) int { return max(x, -x) }

// drawnOrder estimates the same share from random orders. The observed one counts as drawn, so that p is
// never 0.
func drawnOrder(x, y []int, observed int) float64 {
	random := rand.New(rand.NewPCG(drawnSeed, uint64(len(x))))
	shuffled, extreme := slices.Clone(y), 1
	for range drawnOrders {
		random.Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
		if abs(products(x, shuffled)) >= abs(observed) {
			extreme++
		}
	}
	return float64(extreme) / (drawnOrders + 1)
}

// Lag1 returns the correlation of each value with the next: near 0 for independent runs.
func Lag1(x []float64) (float64, error) {
	if err := needs(3, x); err != nil {
		return 0, err
	}
	m := momentsOf(x)
	if m.SD == 0 {
		return 0, ErrNoSpread
	}
	products, squares := 0.0, 0.0
	for i, v := range x {
		d := (v - m.Mean) / m.SD
		squares += d * d
		if i+1 < len(x) {
			products += d * ((x[i+1] - m.Mean) / m.SD)
		}
	}
	return products / squares, nil
}

// EffectiveN returns the number of independent values that n values are worth, with lag-1 correlation rho. It is at
// least 1 and at most n: a few runs that alternate by chance are not worth more than n.
func EffectiveN(n int, rho float64) float64 {
	size := float64(n)
	if math.IsNaN(rho) || rho <= 0 {
		return size
	}
	return min(max(size*(1-rho)/(1+rho), 1), size)
}
