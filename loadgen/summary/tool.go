package summary

import (
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
		Peak: log.Value(enginelog.PeakBytes), NonTorch: log.Value(enginelog.NonTorchBytes),
		KV: log.Value(enginelog.KVBytes), KVTokens: log.Value(enginelog.KVTokens),
		Weights: log.Value(enginelog.WeightsBytes), Compute: log.Value(enginelog.ComputeBytes), HostCompute: log.Value(enginelog.HostComputeBytes), Source: source,
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
