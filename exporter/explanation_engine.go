package exporter

import (
	"github.com/umascope/umascope/exporter/collector"
	"github.com/umascope/umascope/exporter/metric"
)

// engineMemory is what an engine's page says of the memory of one of its models.
type engineMemory struct {
	Source string `json:"source"`
	Engine string `json:"engine"`
	Model  string `json:"model,omitempty"`
	// AskedRatio is the share that it was told to take, in its own terms.
	AskedRatio *float64 `json:"asked_ratio,omitempty"`
	// KVTokens and KVBytes are the size of its KV cache.
	KVTokens *float64 `json:"kv_capacity_tokens,omitempty"`
	KVBytes  *float64 `json:"kv_capacity_bytes,omitempty"`
	// Kinds are bytes by kind, such as weights.
	Kinds map[string]float64 `json:"memory_bytes,omitempty"`
}

// enginesOf returns the engines whose pages a collector read.
func enginesOf(outcome collector.Outcome) []engineMemory {
	if outcome.Spec.Name != metric.CollectorEngine || outcome.Sample == nil {
		return nil
	}
	var all []engineMemory
	for _, page := range outcome.Sample.EnginePages() {
		for _, m := range page.Models {
			all = append(all, engineMemory{page.Source, page.Engine, m.Name, m.MemoryShare, m.CapacityTokens, m.CapacityBytes, m.Memory})
		}
	}
	return all
}
