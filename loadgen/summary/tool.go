package summary

import (
	"github.com/umascope/umascope/loadgen/extract"
	"github.com/umascope/umascope/loadgen/folder"
)

// EngineOf is what a log that was read says of an engine's memory; nil if it says nothing. What one of
// several ranks says is not all of what the engine holds.
func EngineOf(log *extract.Reading, source string) *folder.EngineReport {
	if log.Ranks() > 1 {
		return nil
	}
	e := folder.EngineReport{
		Peak: log.Value(extract.PeakBytes), NonTorch: log.Value(extract.NonTorchBytes),
		KV: log.Value(extract.KVBytes), KVTokens: log.Value(extract.KVTokens),
		Weights: log.Value(extract.WeightsBytes), Compute: log.Value(extract.ComputeBytes), HostCompute: log.Value(extract.HostComputeBytes), Source: source,
	}
	if e == (folder.EngineReport{Source: source}) {
		return nil
	}
	return &e
}

// kv is the capacity of the KV cache by the engine's log, for a machine on which no page tells it. A
// machine of another time has another cache.
func (in inputs) kv(r *reading) *KV {
	e := in.Engine
	if e == nil || e.KV == nil && e.KVTokens == nil || r.still() || !in.measures(r.source.Name) {
		return nil
	}
	return &KV{CapacityBytes: e.KV, CapacityTokens: e.KVTokens, Source: e.Source}
}
