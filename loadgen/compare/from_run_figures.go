package compare

import (
	"maps"
	"math"
	"slices"

	"github.com/umascope/umascope/loadgen/enginelog"
	"github.com/umascope/umascope/loadgen/openai"
	"github.com/umascope/umascope/loadgen/rundir"
	"github.com/umascope/umascope/loadgen/summary"
)

// figureList has the numbers of one run by the names of Table. Unknown numbers are absent.
type figureList struct {
	all      map[string]float64
	reported []string // names of the engine-reported ones
	doubts   map[string]float64
}

// figures returns the run's numbers, how far they may be off because of the client, and the names of those that an
// engine reported and uma-load did not measure.
func (r observed) figures() (all, doubts map[string]float64, reported []string) {
	f := &figureList{all: map[string]float64{}, doubts: map[string]float64{}}
	s := r.Summary
	f.throughput(s)
	f.latency(s.Latency)
	r.memoryFigures(f)
	r.machineFigures(f)
	r.toolFigures(f)
	slices.Sort(f.reported)
	return f.all, f.doubts, f.reported
}

// set adds a number that is present and finite.
func (f *figureList) set(name string, value *float64) bool {
	if value == nil || math.IsNaN(*value) || math.IsInf(*value, 0) {
		return false
	}
	f.all[name] = *value
	return true
}

// setReported adds an engine-reported number under the name of the measured one.
func (f *figureList) setReported(name string, value *float64) {
	if f.set(name, value) {
		f.reported = append(f.reported, name)
	}
}

func (f *figureList) throughput(s summary.Summary) {
	f.set(OutputTokensPerSecond, s.Throughput.OutputTokensPerSecond)
	f.set("requests_per_second", s.Throughput.RequestsPerSecond)
	f.set("input_tokens_per_second", s.Throughput.InputTokensPerSecond)
	if w := s.SteadyState; w != nil {
		f.set("steady_output_tokens_per_second", w.Throughput.OutputTokensPerSecond)
		f.set("steady_requests_per_second", w.Throughput.RequestsPerSecond)
	}
	if g := s.Goodput; g != nil {
		f.set("goodput_requests_per_second", g.RequestsPerSecond)
		if g.Requests > 0 {
			f.set("goodput_ratio", &g.Ratio)
		}
	}
	all := 0
	for _, n := range s.Requests {
		all += n
	}
	if all > 0 {
		failed := float64(all-s.Requests[openai.StatusOK]) / float64(all)
		f.set("failed_ratio", &failed)
	}
}

// latency adds the percentiles that a run has enough requests for.
func (f *figureList) latency(l *summary.Latency) {
	if l == nil {
		return
	}
	f.clocks("time_to_first_token", l.TTFT)
	f.clocks("request_duration", l.E2E)
	if l.TTFO != nil {
		f.distribution("time_to_first_output", l.TTFO.Intended)
	}
	if l.TPOT != nil { // between two arrivals: it has no start
		f.distribution("time_per_output_token", l.TPOT.Send)
	}
	if l.ITL != nil {
		f.distribution("inter_token_latency", l.ITL.Send)
	}
	f.distribution("queue_delay", l.QueueDelay)
}

func (f *figureList) clocks(name string, c *summary.Clocks) {
	if c != nil {
		f.distribution(name, c.Intended)
		f.distribution(name+"_send", c.Send)
	}
}

// distribution adds the percentiles that are compared.
func (f *figureList) distribution(name string, d *summary.Distribution) {
	if d == nil {
		return
	}
	for percentile, value := range map[string]*float64{"p50": d.P50, "p95": d.P95, "p99": d.P99} {
		full := name + "_" + percentile + "_seconds"
		if _, compared := FindMetric(full); compared {
			f.set(full, value)
			if doubt := d.Doubt(percentile); doubt != nil && *doubt > 0 {
				f.doubts[full] = *doubt
			}
		}
	}
}

// memoryFigures adds measured memory, and engine-reported memory: under names of its own or, without any measurement,
// marked as engine-reported.
func (r observed) memoryFigures(f *figureList) {
	m, kv := r.Summary.Memory, r.Summary.KV
	if kv != nil {
		f.set("kv_capacity_tokens", kv.CapacityTokens)
		if f.set(KVCapacity, kv.CapacityBytes) && r.Manifest.Imported != nil {
			f.reported = append(f.reported, KVCapacity)
		}
	}
	if m == nil {
		return
	}
	f.set(MemoryOccupiedWithoutKV, m.OccupiedWithoutKV)
	f.set(MemoryUnavailablePeak, m.UnavailablePeak)
	f.set("gpu_held_peak_bytes", m.GPUHeldPeak)
	f.set("cuda_free_min_bytes", m.CUDAFreeMin)
	f.set("free_at_kv_sizing_bytes", m.FreeAtKVSizing)
	if e := m.EngineReported; e != nil {
		r.engineFigures(f, e)
	}
	excluding, known := f.all[MemoryOccupiedWithoutKV]
	capacity, both := f.all[KVCapacity]
	if known && both {
		whole := excluding + capacity
		if f.set(MemoryOccupiedWhenReady, &whole); slices.Contains(f.reported, MemoryOccupiedWithoutKV) {
			f.reported = append(f.reported, MemoryOccupiedWhenReady)
		}
	}
}

func (r observed) engineFigures(f *figureList, e *rundir.EngineReport) {
	f.set("engine_reported_non_torch_bytes", e.NonTorch)
	if r.Manifest.Imported == nil {
		f.set("engine_reported_peak_bytes", e.Peak)
		f.set("engine_reported_kv_bytes", e.KV)
		f.set("engine_reported_kv_tokens", e.KVTokens)
		f.set("engine_reported_weights_bytes", e.Weights)
		f.set("engine_reported_compute_bytes", e.Compute)
		return
	}
	// No measurement exists for such a run.
	f.setReported(MemoryOccupiedWithoutKV, e.Peak)
}

// machineFigures adds heat and energy.
func (r observed) machineFigures(f *figureList) {
	if t := r.Summary.Thermal; t != nil {
		f.set("gpu_start_celsius", t.StartCelsius)
		f.set("gpu_end_celsius", t.EndCelsius)
		f.set("gpu_max_celsius", t.MaxCelsius)
	}
	// Memory and heat are those of the host of the run, since they cannot be summed over machines.
	joules, perToken := r.Summary.EnergyOfAll()
	if joules == nil {
		return
	}
	f.set("energy_joules", joules)
	f.set("joules_per_output_token", perToken)
	var measured float64
	for phase := range maps.Values(r.Summary.Phases) {
		if phase.Measured {
			measured += phase.End - phase.Start
		}
	}
	if measured > 0 {
		mean := *joules / measured
		f.set("gpu_power_mean_watts", &mean)
	}
}

// toolFigures adds the figures that a recorded command or an imported tool reports of its load, by its own definitions.
func (r observed) toolFigures(f *figureList) {
	for _, of := range []struct {
		name enginelog.Name
		as   string
	}{
		{enginelog.OutputTokensPerSecond, "output_tokens_per_second"}, {enginelog.RequestsPerSecond, "requests_per_second"},
		{enginelog.InputTokensPerSecond, "input_tokens_per_second"}, {enginelog.TotalTokensPerSecond, "total_tokens_per_second"},
		{enginelog.GPUTokensPerSecond, "output_tokens_per_second_per_gpu"}, {enginelog.DurationSeconds, "duration_seconds"},
	} {
		f.set("tool_reported_"+of.as, r.reported(of.name, ""))
	}
	for _, of := range []struct {
		name enginelog.Name
		as   string
	}{
		{enginelog.UserTokensPerSecond, "output_tokens_per_second_per_user"}, {enginelog.PrefillTokensPerSecond, "prefill_tokens_per_second"},
		{enginelog.DecodeTokensPerSecond, "decode_tokens_per_second"},
	} {
		f.set("tool_reported_"+of.as, r.reported(of.name, "mean"))
	}
	for _, of := range []struct {
		name enginelog.Name
		as   string
	}{
		{enginelog.TTFTSeconds, "time_to_first_token"}, {enginelog.TPOTSeconds, "time_per_output_token"},
		{enginelog.ITLSeconds, "inter_token_latency"}, {enginelog.E2ESeconds, "request_duration"},
	} {
		for _, statistic := range []string{"mean", "p50", "p95", "p99"} {
			f.set("tool_reported_"+of.as+"_"+statistic+"_seconds", r.reported(of.name, statistic))
		}
	}
}

// reported returns a figure of the tool; nil where it is absent, or where the tool reports several parts, none of which
// is the whole run.
func (r observed) reported(name enginelog.Name, statistic string) *float64 {
	tool := r.Summary.Tool
	if tool == nil {
		return nil
	}
	for _, v := range tool.Values {
		if v.Of != tool.Values[0].Of && v.Of != "" && tool.Values[0].Of != "" {
			return nil
		}
	}
	for _, v := range tool.Values {
		if v.Name == name && v.Statistic == statistic {
			return &v.Value
		}
	}
	return nil
}
