package rundir

import "github.com/umascope/umascope/loadgen/enginelog"

// EngineReport is what an engine said of its own memory while it loaded, in bytes.
type EngineReport struct {
	Peak     *float64 `json:"peak_bytes,omitempty"`
	NonTorch *float64 `json:"non_torch_bytes,omitempty"`
	KV       *float64 `json:"kv_bytes,omitempty"`
	KVTokens *float64 `json:"kv_tokens,omitempty"`
	// Weights is the model, on all devices. Compute are the buffers that llama.cpp computes in, on the devices, and HostCompute
	// those in host memory.
	Weights     *float64 `json:"weights_bytes,omitempty"`
	Compute     *float64 `json:"compute_bytes,omitempty"`
	HostCompute *float64 `json:"host_compute_bytes,omitempty"`
	// Source is where it said so: a log, by its extractor.
	Source string `json:"source"`
}

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
	Ranks  int               `json:"ranks,omitempty"`
	Values []enginelog.Value `json:"values"`
}
