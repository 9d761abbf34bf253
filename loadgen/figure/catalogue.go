package figure

import (
	"maps"
	"slices"
	"sync"

	"github.com/umascope/umascope/exporter/metric"
	"github.com/umascope/umascope/loadgen/openai"
	"github.com/umascope/umascope/loadgen/rundir"
	"github.com/umascope/umascope/loadgen/summary"
)

// Names of figures that rules go by.
const (
	RequestsPerSecond           = "requests_per_second"
	OutputTokensPerSecond       = "output_tokens_per_second"
	SteadyRequestsPerSecond     = "steady_requests_per_second"
	SteadyOutputTokensPerSecond = "steady_output_tokens_per_second"
	RequestsWithinSLOPerSecond  = "goodput_requests_per_second"
	MemoryOccupiedWithoutKV     = metric.OccupiedWithoutKV
	MemoryOccupiedWhenReady     = "memory_occupied_when_ready_bytes"
	MemoryUnavailablePeak       = "memory_unavailable_peak_bytes"
	KVCapacity                  = "kv_capacity_bytes"
	KVCapacityTokens            = "kv_capacity_tokens"
	GPUPowerMean                = "gpu_power_mean_watts"
	EngineReportedNonTorch      = engineReported + "non_torch_bytes"
	ToolOutputTokensPerSecond   = toolReported + "output_tokens_per_second"
	ToolRequestsPerSecond       = toolReported + "requests_per_second"
)

// All returns the figures of a run: those that runs are compared by, in the order of display, then the others.
func All() Catalogue { return slices.Clone(catalogue()) }

// catalogue is built once, since a page of a thousand runs reads it for each.
var catalogue = sync.OnceValue(func() Catalogue {
	all := slices.Concat(
		compared(throughputs()), latencies(), compared(memories()), compared(machine()), compared(reportedByEngine()), compared(reportedByTool()),
		counts(), machineOnly())
	for i := range all {
		if all[i].Direction == "" {
			all[i].Direction = all[i].Unit.direction()
		}
	}
	return all
})

// Compared returns the figures that runs are compared by, in the order of display.
func Compared() []Figure {
	return slices.DeleteFunc(All(), func(f Figure) bool { return f.Margin.Value == 0 })
}

// compared gives figures the margin of their unit.
func compared(all []Figure) []Figure {
	for i := range all {
		all[i].Margin, all[i].Scale = all[i].Unit.margin()
	}
	return all
}

// part returns a reader of a figure in a part of the summary, which a run may lack.
func part[P any](of func(*summary.Summary) *P, value func(*P) *float64) func(*summary.Summary) *float64 {
	return func(s *summary.Summary) *float64 {
		if p := of(s); p != nil {
			return value(p)
		}
		return nil
	}
}

func through(value func(*summary.Throughput) *float64) func(*summary.Summary) *float64 {
	return func(s *summary.Summary) *float64 { return value(&s.Throughput) }
}

func steady(value func(*summary.Throughput) *float64) func(*summary.Summary) *float64 {
	return part(func(s *summary.Summary) *summary.SteadyState { return s.SteadyState }, func(w *summary.SteadyState) *float64 { return value(&w.Throughput) })
}

func withinSLO(value func(*summary.SLOResult) *float64) func(*summary.Summary) *float64 {
	return part(func(s *summary.Summary) *summary.SLOResult { return s.SLO }, value)
}

// throughputs returns the figures of the load that uma-load sent.
func throughputs() []Figure {
	output := func(t *summary.Throughput) *float64 { return t.OutputTokensPerSecond }
	requests := func(t *summary.Throughput) *float64 { return t.RequestsPerSecond }
	input := func(t *summary.Throughput) *float64 { return t.InputTokensPerSecond }
	return []Figure{
		{Name: OutputTokensPerSecond, Title: "output tokens per second", Unit: PerSecond, Get: through(output), CountsLoad: true, Series: &metric.RunOutputTokensPerSecond,
			Column: Column{2, "output tokens/s"}, Table: Column{6, OutputTokensPerSecond}, Bench: Column{2, "output-tokens/s"}},
		{Name: RequestsPerSecond, Title: "requests per second", Unit: PerSecond, Get: through(requests), CountsLoad: true, Series: &metric.RunAchievedRequestsPerSecond,
			Column: Column{1, "requests/s"}, Table: Column{5, RequestsPerSecond}, Bench: Column{1, "requests/s"}},
		{Name: "input_tokens_per_second", Title: "input tokens per second", Unit: PerSecond, Get: through(input), CountsLoad: true,
			Table: Column{7, "input_tokens_per_second"}, Bench: Column{3, "input-tokens/s"}},
		{Name: SteadyOutputTokensPerSecond, Title: "output tokens per second, steady state", Unit: PerSecond, Get: steady(output),
			Column: Column{3, "steady tokens/s"}, Table: Column{9, SteadyOutputTokensPerSecond}, Bench: Column{4, "steady-output-tokens/s"}},
		{Name: SteadyRequestsPerSecond, Title: "requests per second, steady state", Unit: PerSecond, Get: steady(requests),
			Table: Column{8, SteadyRequestsPerSecond}},
		{Name: RequestsWithinSLOPerSecond, Title: "requests per second within the objectives", Unit: PerSecond,
			Get:   withinSLO(func(r *summary.SLOResult) *float64 { return r.RequestsPerSecond }),
			Table: Column{13, "good_requests_per_second"}, Bench: Column{900, "good-requests/s"}},
		{Name: "goodput_ratio", Title: "share of requests within the objectives", Unit: Ratio, Direction: HigherIsBetter, Series: &metric.RunGoodputRatio,
			Get: withinSLO(func(r *summary.SLOResult) *float64 {
				if r.Requests == 0 {
					return nil
				}
				return &r.Ratio
			}), Column: Column{50, "within SLO"}, Table: Column{12, "good_ratio"}},
		{Name: "failed_ratio", Title: "share of requests that failed", Unit: Ratio, Get: func(s *summary.Summary) *float64 { return summary.FailedRatio(s.Requests) },
			Table: Column{3, "error_ratio"}},
	}
}

// counts returns the further figures of the load, which are in no comparison.
func counts() []Figure {
	backlog := func(value func(*summary.Backlog) float64) func(*summary.Summary) *float64 {
		return part(func(s *summary.Summary) *summary.Backlog { return s.Backlog }, func(b *summary.Backlog) *float64 { return new(value(b)) })
	}
	return []Figure{
		{Name: "requests_ok", Title: "requests that ended ok", Unit: Count, Direction: HigherIsBetter, Table: Column{1, "requests_ok"},
			Get: func(s *summary.Summary) *float64 { return new(float64(s.Requests[openai.StatusOK])) }},
		{Name: "requests_failed", Title: "requests that failed", Unit: Count, Table: Column{2, "requests_failed"},
			Get: func(s *summary.Summary) *float64 { return new(float64(summary.Failed(s.Requests))) }},
		{Name: "duration_seconds", Title: "measured for", Unit: Seconds, Direction: NeitherBetter, Table: Column{4, "duration_seconds"},
			Get: through(func(t *summary.Throughput) *float64 { return t.DurationSeconds })},
		{Name: "due_requests_per_second", Title: "requests due per second", Unit: PerSecond, Direction: NeitherBetter, Table: Column{10, "due_requests_per_second"},
			Get: backlog(func(b *summary.Backlog) float64 { return b.DuePerSecond })},
		{Name: "ended_requests_per_second", Title: "requests ended per second", Unit: PerSecond, Table: Column{11, "ended_requests_per_second"},
			Get: backlog(func(b *summary.Backlog) float64 { return b.EndedPerSecond })},
		{Name: "input_tokens_mean", Title: "input tokens of a request, mean", Unit: Tokens, Direction: NeitherBetter, Table: Column{901, "input_tokens_mean"},
			Get: part(func(s *summary.Summary) *summary.Distribution { return s.Tokens.Input }, mean)},
		{Name: "output_tokens_mean", Title: "output tokens of a request, mean", Unit: Tokens, Direction: NeitherBetter, Table: Column{902, "output_tokens_mean"},
			Get: part(func(s *summary.Summary) *summary.Distribution { return s.Tokens.Output }, mean)},
	}
}

func memory(value func(*summary.Memory) *float64) func(*summary.Summary) *float64 {
	return part(func(s *summary.Summary) *summary.Memory { return s.Memory }, value)
}

func memoryOrigin(s *summary.Summary) summary.Origin {
	if s.Memory == nil {
		return summary.Origin{}
	}
	return s.Memory.Origin
}

func kv(value func(*summary.KV) *float64) func(*summary.Summary) *float64 {
	return part(func(s *summary.Summary) *summary.KV { return s.KV }, value)
}

// memories returns the memory of the measured host.
func memories() []Figure {
	withoutKV := memory(func(m *summary.Memory) *float64 { return m.OccupiedWithoutKV })
	capacity := kv(func(k *summary.KV) *float64 { return k.CapacityBytes })
	return []Figure{
		{Name: MemoryOccupiedWithoutKV, Title: "memory occupied without KV cache", Unit: Bytes, Get: withoutKV, Origin: memoryOrigin, Series: &metric.RunMemoryOccupiedWithoutKVBytes,
			Column: Column{71, metric.RunMemoryOccupiedWithoutKVBytes.Def().Title}, Bench: Column{901, "memory-occupied-without-kv-bytes"}},
		{Name: KVCapacity, Title: "KV cache", Unit: Bytes, Direction: HigherIsBetter, Get: capacity, Origin: memoryOrigin, Series: &metric.RunKVCapacityBytes,
			Column: Column{72, metric.RunKVCapacityBytes.Def().Title}},
		// The engine fills the memory that its settings allow: neither direction is better.
		{Name: MemoryOccupiedWhenReady, Title: "memory occupied when ready", Unit: Bytes, Direction: NeitherBetter, Get: func(s *summary.Summary) *float64 {
			without, cache := withoutKV(s), capacity(s)
			if without == nil || cache == nil {
				return nil
			}
			return new(*without + *cache)
		}},
		{Name: MemoryUnavailablePeak, Title: "memory unavailable, peak", Unit: Bytes, Get: memory(func(m *summary.Memory) *float64 { return m.UnavailablePeak }), Origin: memoryOrigin,
			Series: &metric.RunMemoryUnavailablePeakBytes, Column: Column{74, metric.RunMemoryUnavailablePeakBytes.Def().Title}, Bench: Column{902, "memory-unavailable-peak-bytes"}},
		{Name: "gpu_held_peak_bytes", Title: "GPU-held memory, peak", Unit: Bytes, Direction: NeitherBetter, Get: memory(func(m *summary.Memory) *float64 { return m.GPUHeldPeak })},
		{Name: "cuda_free_min_bytes", Title: "free memory, least", Unit: Bytes, Direction: HigherIsBetter, Get: memory(func(m *summary.Memory) *float64 { return m.CUDAFreeMin })},
		{Name: "free_at_kv_sizing_bytes", Title: "free memory at KV sizing", Unit: Bytes, Direction: HigherIsBetter, Series: &metric.RunFreeAtKVSizingBytes,
			Get: memory(func(m *summary.Memory) *float64 { return m.FreeAtKVSizing })},
		{Name: KVCapacityTokens, Title: "KV cache, tokens", Unit: Tokens, Get: kv(func(k *summary.KV) *float64 { return k.CapacityTokens }), Series: &metric.RunKVCapacityTokens},
	}
}

// machine returns the heat, the energy and the work of the measured machines. Heat is of the host of the run, since it cannot be summed
// over machines.
func machine() []Figure {
	heat := func(value func(*summary.Thermal) *float64) func(*summary.Summary) *float64 {
		return part(func(s *summary.Summary) *summary.Thermal { return s.Thermal }, value)
	}
	origin := func(s *summary.Summary) summary.Origin {
		if s.Thermal == nil {
			return summary.Origin{}
		}
		return s.Thermal.Origin
	}
	energy := func(s *summary.Summary) *float64 { joules, _ := s.EnergyOfAll(); return joules }
	return []Figure{
		// A condition and not a result: neither direction is better.
		{Name: "gpu_start_celsius", Title: "GPU temperature, start", Unit: Celsius, Direction: NeitherBetter, Get: heat(func(t *summary.Thermal) *float64 { return t.StartCelsius }),
			Origin: origin, Series: &metric.RunStartGPUTemperatureCelsius, Column: Column{81, "GPU start"}},
		{Name: "gpu_end_celsius", Title: "GPU temperature, end", Unit: Celsius, Get: heat(func(t *summary.Thermal) *float64 { return t.EndCelsius }), Origin: origin, Column: Column{82, "GPU end"}},
		{Name: "gpu_max_celsius", Title: "GPU temperature, highest", Unit: Celsius, Get: heat(func(t *summary.Thermal) *float64 { return t.MaxCelsius }),
			Origin: origin, Series: &metric.RunGPUTemperatureCelsius, Column: Column{83, "GPU highest"}},
		// What was asked of the machine: neither direction is better.
		{Name: "gpu_utilization_mean_ratio", Title: "GPU utilization, mean", Unit: Ratio, Direction: NeitherBetter, Get: work(func(w *summary.Work) *float64 { return w.GPUUtilizationMean }),
			Origin: workOrigin, Column: Column{84, "GPU busy"}},
		{Name: "drive_read_bytes", Title: "bytes read from drives", Unit: Bytes, Direction: NeitherBetter, Get: work((*summary.Work).ReadBytes), Origin: workOrigin, Column: Column{85, "drives read"}},
		{Name: "drive_written_bytes", Title: "bytes written to drives", Unit: Bytes, Direction: NeitherBetter, Get: work((*summary.Work).WrittenBytes), Origin: workOrigin, Column: Column{86, "drives written"}},
		{Name: GPUPowerMean, Title: "GPU power, mean", Unit: Watts, Get: func(s *summary.Summary) *float64 { return perMeasuredSecond(s, energy(s)) }},
		{Name: "energy_joules", Title: "GPU energy", Unit: Joules, Get: energy, Series: &metric.RunEnergyJoules},
		{Name: "joules_per_output_token", Title: "GPU energy of an output token", Unit: Joules, Get: func(s *summary.Summary) *float64 { _, each := s.EnergyOfAll(); return each },
			Origin: energyOrigin, Table: Column{903, "joules_per_output_token"}, Bench: Column{903, "J/output-token"}},
	}
}

func work(value func(*summary.Work) *float64) func(*summary.Summary) *float64 {
	return part(func(s *summary.Summary) *summary.Work { return s.Work }, value)
}

func workOrigin(s *summary.Summary) summary.Origin {
	if s.Work == nil {
		return summary.Origin{}
	}
	return s.Work.Origin
}

func energyOrigin(s *summary.Summary) summary.Origin {
	if s.Energy == nil {
		return summary.Origin{}
	}
	return s.Energy.Origin
}

// perMeasuredSecond divides an amount by the time of the measured phases.
func perMeasuredSecond(s *summary.Summary, amount *float64) *float64 {
	var measured float64
	for phase := range maps.Values(s.Phases) {
		if phase.Measured {
			measured += phase.End - phase.Start
		}
	}
	if amount == nil || measured <= 0 {
		return nil
	}
	return new(*amount / measured)
}

// machineOnly returns the figures of the measured host that are in no comparison.
func machineOnly() []Figure {
	return []Figure{
		{Name: "memory_free_when_ready_bytes", Title: "memory free when ready", Unit: Bytes, Direction: HigherIsBetter, Get: memory((*summary.Memory).FreeWhenReady),
			Origin: memoryOrigin, Column: Column{73, "free when ready"}},
		{Name: "memory_available_min_bytes", Title: "memory available, least", Unit: Bytes, Direction: HigherIsBetter, Get: memory(func(m *summary.Memory) *float64 { return m.AvailableMin }),
			Origin: memoryOrigin, Series: &metric.RunMemoryAvailableMinBytes, Column: Column{75, metric.RunMemoryAvailableMinBytes.Def().Title}},
		{Name: "memory_pool_bytes", Title: "memory pool", Unit: Bytes, Direction: NeitherBetter, Get: memory(func(m *summary.Memory) *float64 { return m.Pool }),
			Origin: memoryOrigin, Series: &metric.RunMemoryPoolBytes, Column: Column{76, metric.RunMemoryPoolBytes.Def().Title}},
		{Name: "memory_occupied_peak_bytes", Title: "memory occupied, peak", Unit: Bytes, Get: memory(func(m *summary.Memory) *float64 { return m.OccupiedPeak }),
			Origin: memoryOrigin, Series: &metric.RunMemoryOccupiedPeakBytes},
		// An alert compares it with the power of this host, without the other machines of an engine.
		{Name: "gpu_power_mean_of_host_watts", Title: "GPU power of the host, mean", Unit: Watts, Series: &metric.RunGPUPowerWatts,
			Get: func(s *summary.Summary) *float64 {
				if s.Energy == nil {
					return nil
				}
				return perMeasuredSecond(s, &s.Energy.Joules)
			}},
	}
}

// reportedByEngine returns the figures that an engine logs while it loads.
func reportedByEngine() []Figure {
	report := func(s *summary.Summary) *rundir.EngineReport {
		if s.Memory == nil {
			return nil
		}
		return s.Memory.EngineReported
	}
	by := func(s *summary.Summary) string {
		if e := report(s); e != nil {
			return e.Source
		}
		return ""
	}
	one := func(name, title string, unit Unit, series *metric.Gauge, get func(*rundir.EngineReport) *float64) Figure {
		return Figure{Name: engineReported + name, Title: title + ", by the engine", Unit: unit, Series: series, By: by, Get: part(report, get)}
	}
	peak := one("peak_bytes", "peak before the KV cache", Bytes, &metric.RunEngineReportedPeakBytes, func(e *rundir.EngineReport) *float64 { return e.Peak })
	peak.Column, peak.Origin = Column{70, "peak by the engine"}, memoryOrigin
	cache := one("kv_bytes", "KV cache", Bytes, &metric.RunEngineReportedKVCapacityBytes, func(e *rundir.EngineReport) *float64 { return e.KV })
	cache.Direction = HigherIsBetter
	return []Figure{
		peak,
		one("non_torch_bytes", "memory outside its framework", Bytes, nil, func(e *rundir.EngineReport) *float64 { return e.NonTorch }),
		cache,
		one("weights_bytes", "weights", Bytes, nil, func(e *rundir.EngineReport) *float64 { return e.Weights }),
		one("compute_bytes", "compute buffers", Bytes, nil, func(e *rundir.EngineReport) *float64 { return e.Compute }),
		one("kv_tokens", "KV cache, tokens", Tokens, &metric.RunEngineReportedKVCapacityTokens, func(e *rundir.EngineReport) *float64 { return e.KVTokens }),
	}
}
