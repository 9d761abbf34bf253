package compare

import (
	"fmt"
	"math"
	"slices"
)

// Kinds of order.
const (
	OrderBlocked     = "blocked"     // arms one after another, or in fewer changes than by chance: arm and time cannot be separated
	OrderABBA        = "abba"        // every round has each arm once, in the reverse order of the round before
	OrderAlternating = "alternating" // every round has each arm once, in the same order
	OrderRandom      = "random"      // none of these
	OrderSingle      = "single"      // one run of each arm
	OrderUnknown     = "unknown"     // a start is unknown
)

// interleaved reports whether an order separates arms from time.
func interleaved(kind string) bool {
	return kind == OrderABBA || kind == OrderAlternating || kind == OrderRandom
}

// grounds returns why the order of runs cannot support a decision; empty if it can. Strictly alternating arms are no
// better than blocks if they drift in the metric that decides.
func (o Order) grounds(pairs []Pair) string {
	if !interleaved(o.Kind) {
		return "order " + o.Kind
	}
	for _, p := range pairs {
		if d := p.Order.CommonDrift; found(d) {
			return fmt.Sprintf("order %s, and %s drifts with time", o.Kind, title(d.Metric))
		}
	}
	return ""
}

// orderOf returns the order of runs, which are sorted by their start. It is the order of the valid runs; a plan with a
// gap left by an invalid run that was not repeated still counts as that plan.
func orderOf(runs []*Run, by string) Order {
	order := Order{Sequence: []string{}}
	boots := map[string]bool{}
	var all []string
	known := true
	for _, r := range runs {
		all = append(all, r.Label(by))
		known = known && !r.StartedAt.IsZero()
		if !r.Valid {
			continue
		}
		order.Sequence = append(order.Sequence, r.Label(by))
		if r.BootID != "" {
			boots[r.BootID] = true
		}
	}
	order.Boots = len(boots)
	order.Kind = OrderUnknown
	if known {
		order.Kind = kindOf(order.Sequence)
	}
	if planned := kindOf(all); order.Kind == OrderRandom && (planned == OrderABBA || planned == OrderAlternating) {
		order.Kind = planned
	}
	return order
}

// kindOf names the order of a sequence of arms.
func kindOf(sequence []string) string {
	count := map[string]int{}
	for _, name := range sequence {
		count[name]++
	}
	switch arms := len(count); {
	case len(sequence) == arms:
		return OrderSingle
	case changes(sequence) == arms-1:
		return OrderBlocked
	case inRounds(sequence, arms, true):
		return OrderABBA
	case inRounds(sequence, arms, false):
		return OrderAlternating
	case arms == 2 && fewChanges(changes(sequence), count[sequence[0]], len(sequence)-count[sequence[0]]) < significance,
		arms > 2 && fewChangesOfMany(changes(sequence), count) < significance:
		return OrderBlocked
	}
	return OrderRandom
}

// changes counts how often the arm changes.
func changes(sequence []string) int {
	n := 0
	for i := 1; i < len(sequence); i++ {
		if sequence[i] != sequence[i-1] {
			n++
		}
	}
	return n
}

// inRounds reports whether a sequence consists of rounds in which every arm has one run, each in the order of the round
// before or in the reverse of it. The last round may be cut off.
func inRounds(sequence []string, arms int, reversed bool) bool {
	round := slices.Clone(sequence[:arms])
	if distinct := slices.Compact(slices.Sorted(slices.Values(round))); len(distinct) != arms {
		return false
	}
	for rest := sequence[arms:]; len(rest) > 0; rest = rest[min(arms, len(rest)):] {
		if reversed {
			slices.Reverse(round)
		}
		if here := rest[:min(arms, len(rest))]; !slices.Equal(here, round[:len(here)]) {
			return false
		}
	}
	return true
}

// fewChanges returns the probability that a random order of m and n runs has so few changes of arm or fewer (the runs
// test of Wald and Wolfowitz, exact).
func fewChanges(changes, m, n int) float64 {
	all := choose(m+n, m)
	var p float64
	for stretches := 2; stretches <= changes+1; stretches++ {
		k := stretches / 2
		if stretches%2 == 0 {
			p += math.Exp(math.Log(2) + choose(m-1, k-1) + choose(n-1, k-1) - all)
		} else {
			p += math.Exp(choose(m-1, k)+choose(n-1, k-1)-all) + math.Exp(choose(m-1, k-1)+choose(n-1, k)-all)
		}
	}
	return p
}

// fewChangesOfMany is the same for three arms or more, by the normal distribution (Barton and David): the exact count
// of their orders is far longer to compute.
func fewChangesOfMany(changes int, count map[string]int) float64 {
	var n, squares, cubes float64
	for _, runs := range count {
		x := float64(runs)
		n, squares, cubes = n+x, squares+x*x, cubes+x*x*x
	}
	mean := n - squares/n
	variance := (squares*(squares+n*(n+1)) - 2*n*cubes - n*n*n) / (n * n * (n - 1))
	const continuity = 0.5
	return math.Erfc((mean-float64(changes)-continuity)/math.Sqrt(2*variance)) / 2
}

// choose returns the logarithm of the binomial coefficient.
func choose(n, k int) float64 {
	if k < 0 || k > n {
		return math.Inf(-1)
	}
	a, _ := math.Lgamma(float64(n + 1))
	b, _ := math.Lgamma(float64(k + 1))
	c, _ := math.Lgamma(float64(n - k + 1))
	return a - b - c
}
