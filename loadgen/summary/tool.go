package summary

import (
	"github.com/umascope/umascope/exporter/engine/spec"
	"github.com/umascope/umascope/loadgen/enginelog"
	"github.com/umascope/umascope/loadgen/rundir"
)

// EngineOf returns the memory of an engine by its log; nil if the log has none. The report of one of several ranks does
// not cover all memory of the engine.
func EngineOf(log *enginelog.Reading, source string) *rundir.EngineReport {
	if log.Ranks() > 1 {
		return nil
	}
	e := rundir.EngineReport{
		Peak: log.Value(spec.PeakBytes), NonTorch: log.Value(spec.NonTorchBytes),
		KV: log.Value(spec.KVBytes), KVTokens: log.Value(spec.KVTokens),
		Weights: log.Value(spec.WeightsBytes), Compute: log.Value(spec.ComputeBytes), HostCompute: log.Value(spec.HostComputeBytes), Source: source,
	}
	if e == (rundir.EngineReport{Source: source}) {
		return nil
	}
	return &e
}

// kv returns the capacity of the KV cache by the engine's log, for a machine whose engine page does not have it: page is
// nil, or has tokens only, as vLLM's, and log and page agree on them. A recorded machine has another cache.
func (in inputs) kv(r *reading, page *KV) *KV {
	e := in.Engine
	if e == nil || e.KV == nil && e.KVTokens == nil || r.still() || !in.measures(r.source.Name) {
		return page
	}
	if page != nil && (page.CapacityBytes != nil || e.KV == nil || e.KVTokens == nil || *page.CapacityTokens != *e.KVTokens) {
		return page
	}
	return &KV{CapacityBytes: e.KV, CapacityTokens: e.KVTokens, Source: e.Source}
}
