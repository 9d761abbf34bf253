package compare

import (
	"math"
	"slices"
)

// The x of a KV model.
const (
	KVOfFree     = "free_at_sizing"
	KVOfOccupied = "occupied_without_kv"
)

// Limits of the share of the variance that a model explains.
const (
	leastKVRuns = 4
	leastSpread = 0.001
	// explains is the share of the variance of the capacities from which on the model explains them: the spread that it
	// leaves is 3 % of theirs. Below fails it explains nothing. Between the two, only the share is reported.
	explains = 0.999
	fails    = 0.50
)

// kvModelOf fits the capacity of the KV cache to the memory free when it was sized, or to the memory occupied without
// it. Where one line fits all runs, the two figures are one effect seen twice.
func kvModelOf(runs []*Run) *KVModel {
	free, capacity := kvPoints(runs, func(kv KV) *float64 { return kv.FreeAtSizingBytes })
	if m := fitKV(KVOfFree, free, capacity); m != nil {
		return m
	}
	without, capacity := kvPoints(runs, func(kv KV) *float64 { return kv.OccupiedWithoutKVBytes })
	return fitKV(KVOfOccupied, without, capacity)
}

func kvPoints(runs []*Run, of func(KV) *float64) (x, capacity []float64) {
	for _, r := range runs {
		if v, kv := of(r.KV), r.KV.CapacityBytes; v != nil && kv != nil && usable(*v) && usable(*kv) {
			x, capacity = append(x, *v), append(capacity, *kv)
		}
	}
	return x, capacity
}

// fitKV fits by least squares: capacity = fraction x free, or fraction x (total - occupied). It returns nil if the runs
// are too few or too much alike to fit a line.
func fitKV(of string, x, capacity []float64) *KVModel {
	if len(x) < leastKVRuns || !spread(x) || !spread(capacity) {
		return nil
	}
	m := KVModel{N: len(x), Of: of}
	at := func(x float64) float64 { return m.Fraction * x }
	if of == KVOfFree {
		m.Fraction = dot(x, capacity) / dot(x, x)
	} else {
		slope, intercept := line(x, capacity)
		if !(slope < 0) {
			return nil
		}
		m.Fraction, m.TotalBytes = -slope, intercept/-slope
		at = func(x float64) float64 { return m.Fraction * (m.TotalBytes - x) }
	}
	var left, all float64
	middle := mean(capacity)
	for i := range x {
		r := capacity[i] - at(x[i])
		m.ResidualBytes = max(m.ResidualBytes, math.Abs(r))
		left += r * r
		all += (capacity[i] - middle) * (capacity[i] - middle)
	}
	m.Share = max(1-left/all, 0)
	if finite(m.Fraction) == nil || finite(m.TotalBytes) == nil || finite(m.ResidualBytes) == nil || finite(m.Share) == nil {
		return nil // the values are too near to each other to fit a line
	}
	m.Explained, m.Fails = m.Share >= explains, m.Share < fails
	return &m
}

// spread reports whether values differ by more than their digits.
func spread(x []float64) bool {
	return slices.Max(x)-slices.Min(x) > leastSpread*math.Abs(mean(x))
}

// line is the least-squares line through points.
func line(x, y []float64) (slope, intercept float64) {
	meanX, meanY := mean(x), mean(y)
	var xy, xx float64
	for i := range x {
		xy += (x[i] - meanX) * (y[i] - meanY)
		xx += (x[i] - meanX) * (x[i] - meanX)
	}
	slope = xy / xx
	return slope, meanY - slope*meanX
}

func dot(x, y []float64) float64 {
	var sum float64
	for i := range x {
		sum += x[i] * y[i]
	}
	return sum
}
