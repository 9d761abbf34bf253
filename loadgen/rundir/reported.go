package rundir

import (
	"github.com/umascope/umascope/exporter/engine/spec"
)

// EngineReport is an engine's report on its own memory while it loaded, in bytes.
type EngineReport struct {
	Peak     *float64 `json:"peak_bytes,omitempty"`
	NonTorch *float64 `json:"non_torch_bytes,omitempty"`
	KV       *float64 `json:"kv_bytes,omitempty"`
	KVTokens *float64 `json:"kv_tokens,omitempty"`
	// Weights is the model, on all devices. Compute are llama.cpp's compute buffers on the devices, HostCompute those
	// in host memory.
	Weights     *float64 `json:"weights_bytes,omitempty"`
	Compute     *float64 `json:"compute_bytes,omitempty"`
	HostCompute *float64 `json:"host_compute_bytes,omitempty"`
	// Source is the source of the report: a log, by its extractor.
	Source string `json:"source" pack:"word"`
}

// ToolReport is a recorded command's report on itself. uma-load measured none of it, and never mixes it with measured
// figures.
type ToolReport struct {
	// Program is the command's name, without its arguments.
	Program string `json:"program" pack:"word"`
	// Extractor is the extractor that read its log, Version the version of the engine or the tool in that log.
	Extractor string `json:"extractor" pack:"word"`
	Version   string `json:"version,omitempty" pack:"version"`
	// File is the file of results of a tool that ran elsewhere; empty for a recorded command.
	File string `json:"file,omitempty" pack:"word"`
	// ExitCode is the command's exit code, or 128 and the signal that ended it; absent if the command never ran, and if
	// a file of results does not contain it.
	ExitCode *int `json:"exit_code,omitempty"`
	// Ranks is how many ranks its engine has; figures of memory are then those of the first.
	Ranks  int             `json:"ranks,omitempty"`
	Values []spec.Reported `json:"values"`
}
