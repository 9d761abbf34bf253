package compare

import (
	"slices"
	"sync"
)

// Unit is the unit of a figure.
type Unit string

// The units. A ratio is a share of 1.
const (
	UnitSeconds   Unit = "seconds"
	UnitPerSecond Unit = "per_second"
	UnitRatio     Unit = "ratio"
	UnitBytes     Unit = "bytes"
	UnitTokens    Unit = "tokens"
	UnitCelsius   Unit = "celsius"
	UnitWatts     Unit = "watts"
	UnitJoules    Unit = "joules"
)

// Scales of analysis: relative differences are analysed as logarithms, absolute ones as they are.
const (
	ScaleLog    = "log"
	ScaleLinear = "linear"
)

// Metric is a figure that runs are compared by.
type Metric struct {
	Name      string
	Title     string // for display
	Unit      Unit
	Direction Direction
	Margin    Margin // the default, which --margin replaces
	Scale     string
}

// Names of metrics that rules of this package use, or that other packages fill by name.
const (
	OutputTokensPerSecond     = "output_tokens_per_second"
	TimeToFirstToken          = "time_to_first_token_p50_seconds"
	TimePerOutputToken        = "time_per_output_token_p50_seconds"
	RequestDuration           = "request_duration_p50_seconds"
	MemoryOccupiedWithoutKV   = "memory_occupied_without_kv_bytes"
	MemoryOccupiedWhenReady   = "memory_occupied_when_ready_bytes"
	MemoryUnavailablePeak     = "memory_unavailable_peak_bytes"
	KVCapacity                = "kv_capacity_bytes"
	ToolOutputTokensPerSecond = "tool_reported_output_tokens_per_second"
	ToolRequestsPerSecond     = "tool_reported_requests_per_second"
)

// Table returns all metrics of a comparison, in the order of display. Latencies count from the intended start unless
// their name has send. Metrics that an engine reports about itself begin with engine_reported, those that a recorded
// command or an imported tool reports with tool_reported: neither shares a row with what uma-load measured.
func Table() []Metric {
	return slices.Concat(throughputs(""), latencies(), memories(), machine(), engineReported(),
		throughputs(toolReported), toolLatencies())
}

const toolReported = "tool_reported_"

var (
	twoPercent = Margin{Value: 0.02, Relative: true}
	onePercent = Margin{Value: 0.01} // a hundredth of a share
	oneGiB     = Margin{Value: 1 << 30}
	twoDegrees = Margin{Value: 2}
)

// throughputs returns the throughputs that uma-load measured, or those that a tool reported.
func throughputs(by string) []Metric {
	rate := func(name, title string, direction Direction) Metric {
		if by == toolReported {
			title += ", by the tool"
		}
		return Metric{by + name, title, UnitPerSecond, direction, twoPercent, ScaleLog}
	}
	common := []Metric{
		rate("output_tokens_per_second", "output tokens per second", HigherIsBetter),
		rate("requests_per_second", "requests per second", HigherIsBetter),
		rate("input_tokens_per_second", "input tokens per second", HigherIsBetter),
	}
	if by == toolReported {
		return append(common,
			rate("total_tokens_per_second", "input and output tokens per second", HigherIsBetter),
			rate("output_tokens_per_second_per_user", "output tokens per second of a request", HigherIsBetter),
			rate("output_tokens_per_second_per_gpu", "output tokens per second of a GPU", HigherIsBetter),
			rate("prefill_tokens_per_second", "prompt tokens per second until the first token", HigherIsBetter),
			rate("decode_tokens_per_second", "output tokens per second after the first token", HigherIsBetter))
	}
	return append(common,
		rate("steady_output_tokens_per_second", "output tokens per second, steady state", HigherIsBetter),
		rate("steady_requests_per_second", "requests per second, steady state", HigherIsBetter),
		rate("goodput_requests_per_second", "requests per second within the objectives", HigherIsBetter),
		Metric{"goodput_ratio", "share of requests within the objectives", UnitRatio, HigherIsBetter, onePercent, ScaleLinear},
		Metric{"failed_ratio", "share of requests that failed", UnitRatio, LowerIsBetter, onePercent, ScaleLinear},
	)
}

func latency(name, title string) Metric {
	return Metric{name, title, UnitSeconds, LowerIsBetter, twoPercent, ScaleLog}
}

// latencies returns the latencies of requests that uma-load sent: a percentile of a run is one value.
func latencies() []Metric {
	return []Metric{
		latency("time_to_first_token_p50_seconds", "time to first token, p50"),
		latency("time_to_first_token_p95_seconds", "time to first token, p95"),
		latency("time_to_first_token_p99_seconds", "time to first token, p99"),
		latency("time_to_first_token_send_p50_seconds", "time to first token from send, p50"),
		latency("time_to_first_output_p50_seconds", "time to first visible output, p50"),
		latency("time_per_output_token_p50_seconds", "time per output token, p50"),
		latency("time_per_output_token_p95_seconds", "time per output token, p95"),
		latency("time_per_output_token_p99_seconds", "time per output token, p99"),
		latency("inter_token_latency_p50_seconds", "inter-token latency, p50"),
		latency("inter_token_latency_p99_seconds", "inter-token latency, p99"),
		latency("request_duration_p50_seconds", "request duration, p50"),
		latency("request_duration_p95_seconds", "request duration, p95"),
		latency("request_duration_p99_seconds", "request duration, p99"),
		latency("request_duration_send_p50_seconds", "request duration from send, p50"),
		latency("queue_delay_p99_seconds", "queue delay, p99"),
	}
}

func memories() []Metric {
	memory := func(name, title string, direction Direction) Metric {
		return Metric{name, title, UnitBytes, direction, oneGiB, ScaleLinear}
	}
	return []Metric{
		memory(MemoryOccupiedWithoutKV, "memory occupied without KV cache", LowerIsBetter),
		memory(KVCapacity, "KV cache", HigherIsBetter),
		// The engine fills the memory that its settings allow: neither direction is better.
		memory(MemoryOccupiedWhenReady, "memory occupied when ready", NeitherBetter),
		memory(MemoryUnavailablePeak, "memory unavailable, peak", LowerIsBetter),
		memory("gpu_held_peak_bytes", "GPU-held memory, peak", NeitherBetter),
		memory("cuda_free_min_bytes", "free memory, least", HigherIsBetter),
		memory("free_at_kv_sizing_bytes", "free memory at KV sizing", HigherIsBetter),
		{"kv_capacity_tokens", "KV cache, tokens", UnitTokens, HigherIsBetter, twoPercent, ScaleLog},
	}
}

// machine returns the metrics of heat and energy.
func machine() []Metric {
	heat := func(name, title string) Metric {
		return Metric{name, title, UnitCelsius, LowerIsBetter, twoDegrees, ScaleLinear}
	}
	start := heat("gpu_start_celsius", "GPU temperature, start")
	start.Direction = NeitherBetter // a condition, not a result
	return []Metric{
		start,
		heat("gpu_end_celsius", "GPU temperature, end"),
		heat("gpu_max_celsius", "GPU temperature, highest"),
		{"gpu_power_mean_watts", "GPU power, mean", UnitWatts, LowerIsBetter, twoPercent, ScaleLog},
		{"energy_joules", "GPU energy", UnitJoules, LowerIsBetter, twoPercent, ScaleLog},
		{"joules_per_output_token", "GPU energy of an output token", UnitJoules, LowerIsBetter, twoPercent, ScaleLog},
	}
}

// engineReported returns the metrics that an engine logs while it loads.
func engineReported() []Metric {
	memory := func(name, title string, direction Direction) Metric {
		return Metric{"engine_reported_" + name, title + ", by the engine", UnitBytes, direction, oneGiB, ScaleLinear}
	}
	return []Metric{
		memory("peak_bytes", "peak before the KV cache", LowerIsBetter),
		memory("non_torch_bytes", "memory outside its framework", LowerIsBetter),
		memory("kv_bytes", "KV cache", HigherIsBetter),
		memory("weights_bytes", "weights", LowerIsBetter),
		memory("compute_bytes", "compute buffers", LowerIsBetter),
		{"engine_reported_kv_tokens", "KV cache, tokens, by the engine", UnitTokens, HigherIsBetter, twoPercent, ScaleLog},
	}
}

// toolLatencies returns latencies by the definitions of a tool.
func toolLatencies() []Metric {
	var all []Metric
	for _, quantity := range []struct{ name, title string }{
		{"time_to_first_token", "time to first token"},
		{"time_per_output_token", "time per output token"},
		{"inter_token_latency", "inter-token latency"},
		{"request_duration", "request duration"},
	} {
		for _, statistic := range []string{"mean", "p50", "p95", "p99"} {
			all = append(all, latency(toolReported+quantity.name+"_"+statistic+"_seconds", quantity.title+", "+statistic+", by the tool"))
		}
	}
	return append(all, Metric{"tool_reported_duration_seconds", "duration of the benchmark, by the tool", UnitSeconds, LowerIsBetter, twoPercent, ScaleLog})
}

// byName indexes the table by name.
var byName = sync.OnceValue(func() map[string]Metric {
	table := map[string]Metric{}
	for _, m := range Table() {
		table[m.Name] = m
	}
	return table
})

// FindMetric returns the metric of a name.
func FindMetric(name string) (Metric, bool) {
	m, known := byName()[name]
	return m, known
}

// title returns the title of a metric; its name where the table does not have it.
func title(name string) string {
	if m, known := FindMetric(name); known {
		return m.Title
	}
	return name
}

// DefaultPrimary returns the metric that decides in a scenario of run where none is named and every arm has it. For a
// recorded command it is a metric that the tool reports.
func DefaultPrimary(scenario string, recorded bool) string {
	if recorded {
		return ToolOutputTokensPerSecond
	}
	return primaries(scenario)[0]
}

// primaries returns the metrics that can decide, by scenario: the first that all arms have decides. Where prompts
// repeat, the time to the first token shows the value of a cache. For any other scenario it is the throughput.
func primaries(scenario string) []string {
	throughput := []string{OutputTokensPerSecond, ToolOutputTokensPerSecond, "requests_per_second", ToolRequestsPerSecond}
	first := []string{TimeToFirstToken, "time_to_first_token_send_p50_seconds"}
	switch scenario {
	case "multi_turn", "eviction_replay", "reuse_verify", "rehydrate_replay":
		return append(first, throughput...)
	case "burst":
		return slices.Concat([]string{"time_to_first_token_p95_seconds"}, first, throughput)
	default:
		return append(throughput, first...)
	}
}
