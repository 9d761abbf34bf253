package summary

import (
	"maps"
	"slices"

	"github.com/umascope/umascope/exporter/metric"
	"github.com/umascope/umascope/loadgen/telemetry"
)

// kv returns the capacity of the KV cache by the engine's page, when the engine was ready. A frontend and the engines
// behind it report the same cache: several pages count once if they agree, and not at all if they do not.
func (r *reading) kv() *KV {
	ns, ok := r.readyNS()
	if !ok {
		return nil
	}
	bytes, tokens := r.bySource(metric.EngineKVCapacityBytes, ns), r.bySource(metric.EngineKVCapacityTokens, ns)
	pages := slices.Sorted(maps.Keys(bytes))
	for page := range tokens {
		if _, both := bytes[page]; !both {
			pages = append(pages, page)
		}
	}
	slices.Sort(pages)
	if len(pages) == 0 {
		return nil
	}
	if !agree(bytes) || !agree(tokens) {
		r.kvDiffers = pages
		return nil
	}
	return &KV{CapacityBytes: anyOf(bytes), CapacityTokens: anyOf(tokens), Source: pages[0]}
}

// bySource sums a family over all labels except the source page.
func (r *reading) bySource(family metric.Definer, ns int64) map[string]float64 {
	sums := map[string]float64{}
	for _, series := range r.source.Find(family) {
		if v, ok := series.At(ns); ok {
			sums[series.Labels[string(metric.LabelSource)]] += v
		}
	}
	return sums
}

func agree(values map[string]float64) bool {
	return len(values) < 2 || len(slices.Compact(slices.Sorted(maps.Values(values)))) == 1
}

func anyOf(values map[string]float64) *float64 {
	for _, v := range values {
		return &v
	}
	return nil
}

// kvBytes returns the capacity in bytes, if it is known.
func (r *reading) kvBytes() (float64, bool) {
	if r.KV == nil || r.KV.CapacityBytes == nil {
		return 0, false
	}
	return *r.KV.CapacityBytes, true
}

// occupiedWithoutKV returns pool - MemFree - KV cache at ready. It reads MemFree from CUDA's free memory, which exists
// only where the KV cache is in the pool.
func (r *reading) occupiedWithoutKV() *float64 {
	kv, known := r.kvBytes()
	ns, ready := r.readyNS()
	if !known || !ready {
		return nil
	}
	pool, a := r.total(metric.MemoryPoolBytes, ns)
	free, b := r.total(metric.MemoryCUDAFreeBytes, ns)
	if !a || !b {
		return nil
	}
	rest := pool - free - kv
	return &rest
}

// kvFallTolerance is the largest relative difference between a fall of free memory and the capacity of the KV cache,
// for the fall to count as the allocation of the cache: an engine allocates a little else at the same time.
const kvFallTolerance = 0.1

// freeAtKVSizing searches for the allocation of the KV cache while the engine loads: a fall of CUDA's free memory,
// without a rise in between, as large as the cache. The last such fall counts, because weights come first; the result
// is the free memory at its beginning. A fall that is too large, weights and cache in one, gives no result.
func (r *reading) freeAtKVSizing() *float64 {
	kv, known := r.kvBytes()
	if !known || kv <= 0 {
		return nil
	}
	var at *float64
	for _, w := range r.log.Windows(r.source, metric.PhaseLoad) {
		for _, fall := range r.falls(w) {
			if size := fall.from - fall.to; size >= (1-kvFallTolerance)*kv && size <= (1+kvFallTolerance)*kv {
				at = &fall.from
			}
		}
	}
	return at
}

// fall is a stretch of time in which a value only fell.
type fall struct{ from, to float64 }

// falls lists the stretches of a window in which CUDA's free memory fell from sample to sample.
func (r *reading) falls(w telemetry.Window) []fall {
	var falls []fall
	falling := false
	var last float64
	for _, ns := range r.source.Samples {
		free, ok := r.total(metric.MemoryCUDAFreeBytes, ns)
		if ns < w.FromNS || ns > w.ToNS || !ok {
			continue
		}
		switch first := len(falls) == 0 && !falling && last == 0; {
		case first || free >= last:
			falling = false
		case falling:
			falls[len(falls)-1].to = free
		default:
			falling = true
			falls = append(falls, fall{last, free})
		}
		last = free
	}
	return falls
}
