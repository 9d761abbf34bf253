package compare

import (
	"math"
	"slices"

	"github.com/umascope/umascope/loadgen/figure"
)

// findQuantities finds metrics of a pair that measure one quantity, and numbers the quantities from a number on; it
// returns the next free number. Requests, input and output tokens per second of one load are one quantity; so are
// metrics that are linear functions of each other in the runs at hand, such as joules and joules per token where every
// run has as many tokens. Their tests count as one test.
func findQuantities(rows []*row, from int) int {
	numbered := slices.Clone(rows)
	slices.SortStableFunc(numbered, func(a, b *row) int { // the metric that decides names its quantity
		switch {
		case a.out.Primary == b.out.Primary:
			return 0
		case a.out.Primary:
			return -1
		}
		return 1
	})
	var first []*row
	for _, r := range numbered {
		i := slices.IndexFunc(first, func(other *row) bool { return r.tested && other.tested && sameQuantity(other, r) })
		if i < 0 {
			i = len(first)
			first = append(first, r)
		} else {
			r.out.SameAs = first[i].out.Name
		}
		r.quantity = from + i
	}
	return from + len(first)
}

// isRate reports whether a metric counts a whole load, measured by uma-load or by a tool. In the steady state, the
// requests that end in a window and the tokens that arrive in it do not belong to the same requests.
func isRate(k key) bool {
	f, _ := figure.FindCompared(k.name)
	return f.CountsLoad
}

// sameQuantity reports whether two metrics of a pair measure one quantity.
func sameQuantity(a, b *row) bool {
	if isRate(a.key) && isRate(b.key) && a.key.byTool() == b.key.byTool() && a.key.engine == b.key.engine {
		return true
	}
	return slices.Equal(a.a.runs, b.a.runs) && slices.Equal(a.b.runs, b.b.runs) && linear(a, b)
}

// linear reports whether one metric follows from the other in all runs, in both arms by the same line: the residual is
// small compared with the spread of the runs within their arms. With few runs chance alone leaves a small residual.
func linear(a, b *row) bool {
	const few, ofFew, ofMany = 6, 1e-3, 0.05
	x, y := slices.Concat(a.x, a.y), slices.Concat(b.x, b.y)
	slope, intercept := line(x, y)
	var left, within float64
	for i := range x {
		d := y[i] - intercept - slope*x[i]
		left += d * d
	}
	for _, arm := range [][]float64{b.x, b.y} {
		middle := mean(arm)
		for _, v := range arm {
			within += (v - middle) * (v - middle)
		}
	}
	tolerance := ofMany
	if len(x) < few {
		tolerance = ofFew
	}
	return within > 0 && math.Sqrt(left) <= tolerance*math.Sqrt(within)
}
