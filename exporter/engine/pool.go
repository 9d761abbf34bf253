package engine

import (
	"maps"
	"slices"

	"github.com/umascope/umascope/exporter/metric"
)

// Pool is a KV cache; nil is absent.
type Pool struct {
	CapacityTokens, CapacityBlocks, CapacityBytes *float64
	// UsedTokens and UsedRatio are the part that requests hold, the ratio from 0 to 1.
	UsedTokens, UsedRatio *float64
}

// StatePool is a pool that a hybrid model has beside its KV cache, such as the states of Mamba layers. It can be full
// while the KV cache is empty, and requests wait for either.
type StatePool struct {
	// Kind is one of metric.PoolMamba and metric.PoolSlidingWindow.
	Kind string
	// UsedRatio is from 0 to 1, of the fullest replica.
	UsedRatio float64
}

// join combines the pools of an engine's replicas. A value that one of them lacks is unknown for all. Ratios are
// weighted by the size of the pools; if a replica has no size, all count the same.
func join(pools []Pool) Pool {
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
		all.UsedRatio = ratio(new(*weighted / weights))
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

// ratio is a share as an engine gives it, nil if it is none: a page with 37 means percent, or is wrong.
func ratio(value *float64) *float64 {
	if value == nil || !(*value >= 0 && *value <= 1) {
		return nil
	}
	return value
}

// notBelowZero is nil for a number below zero, with which engines fill in a size or a count that they do not have.
func notBelowZero(value *float64) *float64 {
	if value == nil || *value < 0 {
		return nil
	}
	return value
}

// product is nil if a factor is missing.
func product(a, b *float64) *float64 {
	if a == nil || b == nil {
		return nil
	}
	return new(*a * *b)
}

// labelNumber is a whole number in a label, nil for other text, such as None.
func labelNumber(series Series, label string) *float64 {
	return metric.ForeignVLLMNumber(series.Labels, label)
}

// labelValues are the values of a label on series, in order; "" where a series lacks it.
func labelValues(series []Series, label string) []string {
	values := map[string]bool{}
	for _, one := range series {
		values[one.Labels[label]] = true
	}
	return slices.Sorted(maps.Keys(values))
}

// sameOf is the value on which all series agree, whatever their labels; nil if they differ.
func sameOf(v view, name string, series []Series) *float64 {
	for _, one := range series {
		if one.Value != series[0].Value {
			v.log.leaveOut("%s is not used: it has different values", name)
			return nil
		}
	}
	return &series[0].Value
}
