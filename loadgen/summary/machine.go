package summary

import (
	"github.com/umascope/umascope/exporter/metric"
	"github.com/umascope/umascope/loadgen/rundir"
)

// Machine is what one telemetry source says of the measured phases.
type Machine struct {
	Origin
	Memory  *Memory  `json:"memory,omitempty"`
	KV      *KV      `json:"kv,omitempty"`
	Thermal *Thermal `json:"thermal,omitempty"`
	Energy  *Energy  `json:"energy,omitempty"`
	// Growth is of memory that should not grow at equal load; absent without samples of it.
	Growth []Growth `json:"growth,omitempty"`
	// DriverLog is how many lines of the GPU's driver the kernel log got, by kind, and of XIDs by code; absent without the exporter's
	// --collector.host.kernel-log.
	DriverLog map[string]float64 `json:"driver_log_lines,omitempty"`
	Network   *Network           `json:"network,omitempty"`
}

// Origin says whose figures these are, and whether they are live, replayed, constructed or
// simulated.
type Origin struct {
	Source string `json:"source"`
	Mode   string `json:"mode"`
}

// Live says whether the figures are measurements of a machine as it is now.
func (o Origin) Live() bool { return o.Mode == metric.ModeLive }

// still says whether the figures are one picture of a machine, in which no time passes.
func (o Origin) still() bool { return o.Mode == metric.ModeReplay || o.Mode == metric.ModeConstructed }

// Memory is in bytes, over the measured phases.
type Memory struct {
	Origin
	// Pool is MemTotal, which the lines of every moment add up to.
	Pool *float64 `json:"pool_bytes,omitempty"`
	// OccupiedWithoutKV is pool - MemFree - capacity of the KV cache when the engine was ready and nothing
	// had been asked of it: what is usually published as the peak. Absent where one of them is
	// unknown, and where GPU memory is not in the pool.
	OccupiedWithoutKV *float64 `json:"occupied_without_kv_bytes,omitempty"`
	// OccupiedPeak is the largest pool - MemFree. Page cache counts.
	OccupiedPeak *float64 `json:"occupied_peak_bytes,omitempty"`
	// UnavailablePeak is the largest pool - MemAvailable, and AvailableMin the least MemAvailable. Page cache that can
	// be reclaimed is available.
	UnavailablePeak *float64 `json:"unavailable_peak_bytes,omitempty"`
	AvailableMin    *float64 `json:"available_min_bytes,omitempty"`
	// CUDAFreeMin is the least that CUDA saw as free.
	CUDAFreeMin *float64 `json:"cuda_free_min_bytes,omitempty"`
	// FreeAtKVSizing is what CUDA saw as free when the engine sized its KV cache. Absent unless the
	// telemetry covers the loading of the engine and shows the cache being taken.
	FreeAtKVSizing *float64 `json:"free_at_kv_sizing_bytes,omitempty"`
	// GPUHeldPeak is the most that processes held of all GPUs together.
	GPUHeldPeak *float64  `json:"gpu_held_peak_bytes,omitempty"`
	LedgerAt    *LedgerAt `json:"ledger_at,omitempty"`
	// EngineReported is the engine's own account, which shares no row with what was measured.
	EngineReported *rundir.EngineReport `json:"engine_reported,omitempty"`
}

// KV is the room of the engine's KV cache on the GPU.
type KV struct {
	CapacityBytes  *float64 `json:"capacity_bytes,omitempty"`
	CapacityTokens *float64 `json:"capacity_tokens,omitempty"`
	// Source is the engine's page that an exporter read it from.
	Source string `json:"source"`
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
	EndCelsius   *float64 `json:"end_celsius,omitempty"`
	// WarmupPerformanceState is the fastest state that a GPU was in during the warm-up, of 0, the fastest, to
	// 15; absent where the driver does not know or there was no warm-up.
	WarmupPerformanceState *float64 `json:"warmup_performance_state,omitempty"`
	// ThrottleSeconds is by reason, of the GPU that has most of it.
	ThrottleSeconds map[string]float64 `json:"throttle_seconds,omitempty"`
}

// Energy is of all GPUs together, while the measured phases carried load.
type Energy struct {
	Origin
	Joules float64 `json:"joules"`
	// JoulesPerOutputToken is there for the measured host only, and only if it is the only one.
	JoulesPerOutputToken *float64 `json:"joules_per_output_token,omitempty"`
}
