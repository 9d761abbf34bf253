package spec

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
)

// Counts are the values that are reported, by their key.
func Counts(byKey map[string]*float64) map[string]float64 {
	counts := map[string]float64{}
	for key, count := range byKey {
		if count != nil {
			counts[key] = *count
		}
	}
	return counts
}

// MemoryByKind are the bytes of the reported kinds. Engines report zero for a kind that they do not count.
func MemoryByKind(byKind map[string]*float64) map[string]float64 {
	counts := Counts(byKind)
	maps.DeleteFunc(counts, func(_ string, bytes float64) bool { return bytes == 0 })
	return counts
}

// NewLookups is nil unless the total and all hits are reported. Misses are the remainder.
func NewLookups(total *float64, hits map[string]*float64) *Lookups {
	if total == nil {
		return nil
	}
	found := &Lookups{Total: *total, Missed: *total}
	for tier, count := range hits {
		if count == nil {
			return nil
		}
		found.Hits = append(found.Hits, TierValue{tier, *count})
		found.Missed -= *count
	}
	slices.SortFunc(found.Hits, func(a, b TierValue) int { return cmp.Compare(a.Tier, b.Tier) })
	return found
}

// HitsByTier adds up a counter of hits by the tier in one of its labels.
func HitsByTier(v View, name, label string, tierOf func(string) string) map[string]*float64 {
	hits := map[string]*float64{}
	found := v.Series(name)
	if v.belowZero(name, found) {
		return hits
	}
	for _, one := range found {
		tier, sum := tierOf(one.Labels[label]), one.Value
		if before := hits[tier]; before != nil {
			sum += *before
		}
		hits[tier] = &sum
	}
	return hits
}

// Join combines the pools of an engine's replicas. A value that one of them lacks is unknown for all. Ratios are
// weighted by the size of the pools; if a replica has no size, all count the same.
func Join(pools []Pool) Pool {
	if len(pools) == 1 {
		return pools[0]
	}
	all := Pool{
		CapacityTokens: total(pools, func(p Pool) *float64 { return p.CapacityTokens }),
		CapacityBlocks: total(pools, func(p Pool) *float64 { return p.CapacityBlocks }),
		CapacityBytes:  total(pools, func(p Pool) *float64 { return p.CapacityBytes }),
		UsedTokens:     total(pools, func(p Pool) *float64 { return p.UsedTokens }),
	}
	weight := func(Pool) float64 { return 1 }
	switch {
	case all.CapacityTokens != nil:
		weight = func(p Pool) float64 { return *p.CapacityTokens }
	case all.CapacityBlocks != nil:
		weight = func(p Pool) float64 { return *p.CapacityBlocks }
	}
	weighted := total(pools, func(p Pool) *float64 {
		if p.UsedRatio == nil {
			return nil
		}
		return new(*p.UsedRatio * weight(p))
	})
	weights := 0.0
	for _, p := range pools {
		weights += weight(p)
	}
	if weighted != nil {
		all.UsedRatio = Ratio(new(*weighted / weights))
	}
	return all
}

// total adds up a value of all pools, nil if one lacks it or there are no pools.
func total(pools []Pool, of func(Pool) *float64) *float64 {
	sum := 0.0
	for _, p := range pools {
		value := of(p)
		if value == nil {
			return nil
		}
		sum += *value
	}
	if len(pools) == 0 {
		return nil
	}
	return &sum
}

// Ratio is a share as an engine gives it, nil if it is none: a page with 37 means percent, or is wrong.
func Ratio(value *float64) *float64 {
	if value == nil || !(*value >= 0 && *value <= 1) {
		return nil
	}
	return value
}

// NotBelowZero is nil for a number below zero, with which engines fill in a size or a count that they do not have.
func NotBelowZero(value *float64) *float64 {
	if value == nil || *value < 0 {
		return nil
	}
	return value
}

// Product is nil if a factor is missing.
func Product(a, b *float64) *float64 {
	if a == nil || b == nil {
		return nil
	}
	return new(*a * *b)
}

// LabelNumber is a whole number in a label, nil for other text, such as None.
func LabelNumber(labels map[string]string, label string) *float64 {
	number, err := strconv.ParseUint(labels[label], 10, 53)
	if err != nil {
		return nil
	}
	return new(float64(number))
}

// LabelValues are the values of a label on series, in order; "" where a series lacks it.
func LabelValues(series []Series, label string) []string {
	values := map[string]bool{}
	for _, one := range series {
		values[one.Labels[label]] = true
	}
	return slices.Sorted(maps.Keys(values))
}

// SameOf is the value on which all series agree, whatever their labels; nil if they differ.
func SameOf(v View, name string, series []Series) *float64 {
	for _, one := range series {
		if one.Value != series[0].Value {
			v.LeaveOut("%s is not used: it has different values", name)
			return nil
		}
	}
	return &series[0].Value
}

// maxPositions is far above the length of any draft.
const maxPositions = 64

// Accepted is a count that is not split by position.
func Accepted(tokens *float64) []PositionValue {
	if tokens == nil {
		return nil
	}
	return []PositionValue{{Value: *tokens}}
}

// AcceptedByPosition adds up the replicas' counts by position. It is nil unless all positions are small numbers.
func AcceptedByPosition(v View, name, label string) []PositionValue {
	series := v.Series(name)
	var found []PositionValue
	for _, position := range LabelValues(series, label) {
		if at, err := strconv.Atoi(position); err != nil || at < 0 || at >= maxPositions || strconv.Itoa(at) != position {
			return nil
		}
		count := v.With(label, position).Counter(name)
		if count == nil {
			return nil
		}
		found = append(found, PositionValue{position, *count})
	}
	slices.SortFunc(found, func(a, b PositionValue) int {
		return cmp.Or(cmp.Compare(len(a.Position), len(b.Position)), cmp.Compare(a.Position, b.Position))
	})
	return found
}

// AboveZero is nil for 0, which engines write where nothing was drafted.
func AboveZero(value *float64) *float64 {
	if value == nil || *value <= 0 {
		return nil
	}
	return value
}

// ShortText limits the length of a text that becomes a label.
func ShortText(text string) string {
	const enough = 200
	return text[:min(len(text), enough)]
}

// Highest is the largest value of a series on a page; 0 if the page lacks it.
func Highest(page Page, name string) float64 {
	most := 0.0
	for _, one := range page[name] {
		most = max(most, one.Value)
	}
	return most
}

// Moves are those with a count.
func Moves(all ...Move) []Move {
	return slices.DeleteFunc(all, func(m Move) bool { return m.Bytes == nil && m.Tokens == nil })
}
