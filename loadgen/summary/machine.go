package summary

import (
	"github.com/umascope/umascope/exporter/metric"
	"github.com/umascope/umascope/loadgen/rundir"
)

// Machine has the figures of one telemetry source in the measured phases.
type Machine struct {
	Origin
	Memory  *Memory  `json:"memory,omitempty"`
	KV      *KV      `json:"kv,omitempty"`
	Thermal *Thermal `json:"thermal,omitempty"`
	Energy  *Energy  `json:"energy,omitempty"`
	Work    *Work    `json:"work,omitempty"`
	// Growth is that of memory that should not grow at equal load; absent without samples of it.
	Growth []Growth `json:"growth,omitempty"`
	// DriverLog is the number of lines of the GPU driver in the kernel log, by kind, and by code for XIDs; absent without
	// the exporter's --collector.host.kernel-log.
	DriverLog map[string]float64 `json:"driver_log_lines,omitempty"`
	Network   *Network           `json:"network,omitempty"`
}

// Origin is the source of the figures, and whether they are live, replayed, constructed or simulated.
type Origin struct {
	Source string `json:"source" pack:"host"`
	Mode   string `json:"mode" pack:"word"`
}

// Live reports whether the figures are measurements of a real machine, read during the run.
func (o Origin) Live() bool { return o.Mode == metric.ModeLive }

// still reports whether the figures are a snapshot of a machine, in which no time passes.
func (o Origin) still() bool { return o.Mode == metric.ModeReplay || o.Mode == metric.ModeConstructed }

// Memory is in bytes, over the measured phases.
type Memory struct {
	Origin
	// Pool is MemTotal, which the lines of every moment add up to.
	Pool *float64 `json:"pool_bytes,omitempty"`
	// OccupiedWithoutKV is pool - MemFree - capacity of the KV cache when the engine was ready and before the first
	// request: the quantity that is usually published as the peak. It is absent where one of them is unknown, and where
	// GPU memory is not in the pool.
	OccupiedWithoutKV *float64 `json:"occupied_without_kv_bytes,omitempty"`
	// OccupiedPeak is the largest pool - MemFree. Page cache counts.
	OccupiedPeak *float64 `json:"occupied_peak_bytes,omitempty"`
	// UnavailablePeak is the largest pool - MemAvailable, and AvailableMin the least MemAvailable. Page cache that can
	// be reclaimed is available.
	UnavailablePeak *float64 `json:"unavailable_peak_bytes,omitempty"`
	AvailableMin    *float64 `json:"available_min_bytes,omitempty"`
	// CUDAFreeMin is the smallest free memory that CUDA reported.
	CUDAFreeMin *float64 `json:"cuda_free_min_bytes,omitempty"`
	// FreeAtKVSizing is the free memory that CUDA reported when the engine sized its KV cache. It is absent unless the
	// telemetry covers the loading of the engine and shows the allocation of the cache.
	FreeAtKVSizing *float64 `json:"free_at_kv_sizing_bytes,omitempty"`
	// GPUHeldPeak is the largest GPU-held memory, summed over all GPUs.
	GPUHeldPeak *float64 `json:"gpu_held_peak_bytes,omitempty"`
	// LedgerAt is the ledger at three moments: before the engine was started, if the run began that early; when it was
	// ready and before the first request; and when least memory was available.
	LedgerAt *Ledgers `json:"ledger_at,omitempty"`
	// EngineReported has the figures that the engine reported, which share no row with measured ones.
	EngineReported *rundir.EngineReport `json:"engine_reported,omitempty"`
}

// KV is the capacity of the engine's KV cache on the GPU.
type KV struct {
	CapacityBytes  *float64 `json:"capacity_bytes,omitempty"`
	CapacityTokens *float64 `json:"capacity_tokens,omitempty"`
	// Source is the metrics page of the engine that the exporter read it from.
	Source string `json:"source" pack:"url"`
}

// Thermal is that of the hottest GPU, over the measured phases.
type Thermal struct {
	Origin
	StartCelsius *float64 `json:"start_celsius,omitempty"`
	MaxCelsius   *float64 `json:"max_celsius,omitempty"`
	EndCelsius   *float64 `json:"end_celsius,omitempty"`
	// WarmupPerformanceState is the fastest performance state of any GPU during the warm-up, from 0, the fastest, to 15;
	// absent where the driver does not report it or the run had no warm-up.
	WarmupPerformanceState *float64 `json:"warmup_performance_state,omitempty"`
	// ThrottleSeconds is by reason, for the GPU that has most of it.
	ThrottleSeconds map[string]float64 `json:"throttle_seconds,omitempty"`
}

// Energy is that of all GPUs together, while the measured phases carried load.
type Energy struct {
	Origin
	Joules float64 `json:"joules"`
	// JoulesPerOutputToken is set for the measured host only, and only if it is the only measured machine.
	JoulesPerOutputToken *float64 `json:"joules_per_output_token,omitempty"`
}
