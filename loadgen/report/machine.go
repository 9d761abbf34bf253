package report

import "github.com/umascope/umascope/exporter/metric"

// Machine is what one telemetry source says of the measured phases.
type Machine struct {
	Origin
	Memory  *Memory  `json:"memory,omitempty"`
	Thermal *Thermal `json:"thermal,omitempty"`
	Energy  *Energy  `json:"energy,omitempty"`
}

// Origin says whose figures these are, and whether they are live, replayed, constructed or
// simulated.
type Origin struct {
	Source string `json:"source"`
	Mode   string `json:"mode"`
}

// live says whether the figures are measurements of a machine as it is now.
func (o Origin) live() bool { return o.Mode == metric.ModeLive }

// still says whether the figures are one picture of a machine, in which no time passes.
func (o Origin) still() bool { return o.Mode == metric.ModeReplay || o.Mode == metric.ModeConstructed }

// Memory is in bytes, over the measured phases.
type Memory struct {
	Origin
	// UsedPeak is the largest pool - MemAvailable.
	UsedPeak *float64 `json:"used_peak_bytes,omitempty"`
	// CUDAFreeMin is the least that CUDA saw as free.
	CUDAFreeMin *float64 `json:"cuda_free_min_bytes,omitempty"`
	// GPUHeldPeak is the most that processes held of all GPUs together.
	GPUHeldPeak *float64  `json:"gpu_held_peak_bytes,omitempty"`
	LedgerAt    *LedgerAt `json:"ledger_at,omitempty"`
}

// LedgerAt is the ledger, bytes by line, at three moments: before the engine was started, if the
// run began that early; when it was ready and nothing had been asked of it; and when least memory
// was available.
type LedgerAt struct {
	Start map[string]float64 `json:"start,omitempty"`
	Ready map[string]float64 `json:"ready,omitempty"`
	Peak  map[string]float64 `json:"peak,omitempty"`
}

// Thermal is of the hottest GPU, over the measured phases.
type Thermal struct {
	Origin
	StartCelsius *float64 `json:"start_celsius,omitempty"`
	MaxCelsius   *float64 `json:"max_celsius,omitempty"`
	// ThrottleSeconds is by reason, of the GPU that has most of it.
	ThrottleSeconds map[string]float64 `json:"throttle_seconds,omitempty"`
}

// Energy is of all GPUs together, over the measured phases.
type Energy struct {
	Origin
	Joules float64 `json:"joules"`
	// JoulesPerOutputToken is there for the measured host only.
	JoulesPerOutputToken *float64 `json:"joules_per_output_token,omitempty"`
}
