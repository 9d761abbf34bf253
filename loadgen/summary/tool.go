package summary

import (
	"github.com/umascope/umascope/loadgen/extract"
)

// ToolReport is what a recorded command said of itself. None of it was measured here, and none of it
// stands in a row with what was.
type ToolReport struct {
	// Program is the command's name, without its arguments.
	Program string `json:"program"`
	// Extractor is what read its log, and Version what that says of the engine or the tool.
	Extractor string `json:"extractor"`
	Version   string `json:"version,omitempty"`
	// File is the file of results of a tool that ran elsewhere; empty of a command that was recorded.
	File string `json:"file,omitempty"`
	// ExitCode is what the command returned, or 128 and the signal that ended it; absent of one that
	// never ran, and where a file of results does not say.
	ExitCode *int `json:"exit_code,omitempty"`
	// Ranks is how many ranks its engine has; figures of memory are then those of the first.
	Ranks  int             `json:"ranks,omitempty"`
	Values []extract.Value `json:"values"`
}

// EngineOf is what a log that was read says of an engine's memory; nil if it says nothing. What one of
// several ranks says is not all of what the engine holds.
func EngineOf(log *extract.Reading, source string) *EngineReport {
	if log.Ranks() > 1 {
		return nil
	}
	e := EngineReport{
		Peak: log.Value(extract.PeakBytes), NonTorch: log.Value(extract.NonTorchBytes),
		KV: log.Value(extract.KVBytes), KVTokens: log.Value(extract.KVTokens),
		Weights: log.Value(extract.WeightsBytes), Compute: log.Value(extract.ComputeBytes), HostCompute: log.Value(extract.HostComputeBytes), Source: source,
	}
	if e == (EngineReport{Source: source}) {
		return nil
	}
	return &e
}

// kv is the capacity of the KV cache by the engine's log, for a machine on which no page tells it. A
// machine of another time has another cache.
func (in Input) kv(r *reading) *KV {
	e := in.Engine
	if e == nil || e.KV == nil && e.KVTokens == nil || r.still() || !in.measures(r.source.Name) {
		return nil
	}
	return &KV{CapacityBytes: e.KV, CapacityTokens: e.KVTokens, Source: e.Source}
}
