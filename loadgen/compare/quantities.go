package compare

import (
	"math"
	"slices"
	"strings"
)

// findQuantities finds metrics of a pair that are one quantity, and numbers them from a number on; it returns the next
// that is free. Requests, input and output tokens
// per second of one load are; and so is what is a linear function of another metric in the runs at hand, such as
// joules and joules of a token where every run has as many tokens. Their tests are one test.
func findQuantities(rows []*row, from int) int {
	numbered := slices.Clone(rows)
	slices.SortStableFunc(numbered, func(a, b *row) int { // the metric that decides gives its quantity the name
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

// rates are metrics that count one load in several units.
var rates = []string{"output_tokens_per_second", "requests_per_second", "input_tokens_per_second", "total_tokens_per_second"}

// isRate says whether a metric counts a whole load, measured here or by a tool. In its steady state requests that
// end there and tokens that come there are not of the same requests.
func isRate(k key) bool { return slices.Contains(rates, strings.TrimPrefix(k.name, toolReported)) }

// sameQuantity says whether two metrics of a pair are one quantity.
func sameQuantity(a, b *row) bool {
	if isRate(a.key) && isRate(b.key) && a.key.byTool() == b.key.byTool() && a.key.engine == b.key.engine {
		return true
	}
	return slices.Equal(a.a.runs, b.a.runs) && slices.Equal(a.b.runs, b.b.runs) && linear(a, b)
}

// linear says whether one metric follows from the other in all runs, in both arms by the same line: what the line
// leaves is little beside the spread of the runs within their arms. Of a few runs chance alone leaves little.
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
