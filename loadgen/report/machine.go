package report

import (
	"cmp"
	"strings"

	"github.com/umascope/umascope/exporter/metric"
	"github.com/umascope/umascope/loadgen/telemetry"
)

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

// LedgerAt is the ledger, bytes by line, at three moments: before the engine was started, when
// it was ready and nothing was asked of it, and when least memory was available.
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
	Joules               float64  `json:"joules"`
	JoulesPerOutputToken *float64 `json:"joules_per_output_token,omitempty"`
}

// throttleReasons are the clock events that make a run invalid. Software power capping is not
// among them: under load it is normal.
func throttleReasons() []string {
	return []string{metric.ReasonHWSlowdown, metric.ReasonHWThermal, metric.ReasonSWThermal, metric.ReasonHWPowerBrake}
}

// reading is one source looked at in the measured phases: what the summary shows and what the
// rules of validity ask.
type reading struct {
	Machine
	in      Input
	log     *telemetry.Log
	source  *telemetry.SourceLog
	windows []telemetry.Window

	windowSeconds float64
	throttle      map[string]float64
	swappedIn     *float64
	gb10          bool
	powerFaults   int
	powerSamples  int
	countersRead  int
	countersReset []string
}

// read looks at every source of the telemetry.
func readings(in Input, outputTokens int64) []*reading {
	if in.Telemetry == nil {
		return nil
	}
	var all []*reading
	for _, source := range in.Telemetry.Sources {
		r := &reading{in: in, log: in.Telemetry, source: source}
		r.Origin = Origin{source.Name, source.Mode()}
		for _, name := range phaseNames(in.measured()) {
			r.windows = append(r.windows, r.log.Windows(source, name)...)
		}
		for _, w := range r.windows {
			r.windowSeconds += seconds(w.ToNS - w.FromNS)
		}
		r.Memory = r.memory()
		r.Thermal = r.thermal()
		r.Energy = r.energy(outputTokens)
		r.swap()
		r.power()
		all = append(all, r)
	}
	return all
}

func phaseNames(phases []Phase) []string {
	var names []string
	seen := map[string]bool{}
	for _, phase := range phases {
		if !seen[phase.Name] {
			seen[phase.Name] = true
			names = append(names, phase.Name)
		}
	}
	return names
}

// ofMeasuredHost finds the source that is named like the label host, or the only one.
func ofMeasuredHost(all []*reading, host string) *reading {
	for _, r := range all {
		if r.Origin.Source == host {
			return r
		}
	}
	if len(all) == 1 {
		return all[0]
	}
	return nil
}

// over visits the moments of the measured phases at which the source was sampled.
func (r *reading) over(visit func(ns int64)) {
	for _, ns := range r.source.Samples {
		for _, w := range r.windows {
			if ns >= w.FromNS && ns <= w.ToNS {
				visit(ns)
				break
			}
		}
	}
}

// total is the sum of a family's series at a moment; absent when none is there.
func (r *reading) total(family metric.Definer, ns int64) (float64, bool) {
	var total float64
	found := false
	for _, series := range r.source.Find(family) {
		if v, ok := series.At(ns); ok {
			total, found = total+v, true
		}
	}
	return total, found
}

// largest is the largest of a family's series at a moment; absent when none is there.
func (r *reading) largest(family metric.Definer, ns int64) (float64, bool) {
	var most *float64
	for _, series := range r.source.Find(family) {
		if v, ok := series.At(ns); ok {
			keepIf(&most, v, 1)
		}
	}
	if most == nil {
		return 0, false
	}
	return *most, true
}

// keepIf replaces the kept value by a larger one (sign 1) or a smaller one (sign -1), and says
// whether it did.
func keepIf(kept **float64, v float64, sign int) bool {
	if *kept != nil && cmp.Compare(v, **kept) != sign {
		return false
	}
	*kept = &v
	return true
}

func (r *reading) memory() *Memory {
	m := Memory{Origin: r.Origin}
	peakNS := int64(-1)
	r.over(func(ns int64) {
		pool, known := r.total(metric.MemoryPoolBytes, ns)
		if available, ok := r.total(metric.MemoryAvailableBytes, ns); ok && known {
			if keepIf(&m.UsedPeak, pool-available, 1) {
				peakNS = ns
			}
		}
		if free, ok := r.total(metric.MemoryCUDAFreeBytes, ns); ok {
			keepIf(&m.CUDAFreeMin, free, -1)
		}
		if held, ok := r.total(metric.GPUMemoryHeldBytes, ns); ok {
			keepIf(&m.GPUHeldPeak, held, 1)
		}
	})
	m.LedgerAt = r.ledgerAt(peakNS)
	if m == (Memory{Origin: r.Origin}) {
		return nil
	}
	return &m
}

// beforeReady are the phases in which the engine is not serving yet.
func beforeReady(name string) bool {
	switch name {
	case "cooldown", "start", "load", "ready":
		return true
	default:
		return false
	}
}

// ledgerAt reads the ledger when the run began, if that was before the engine was ready; at the
// beginning of the first phase that asks something of the engine; and at the peak.
func (r *reading) ledgerAt(peakNS int64) *LedgerAt {
	var at LedgerAt
	for i, phase := range r.log.Phases {
		windows := r.log.Windows(r.source, phase.Name)
		if len(windows) == 0 {
			continue
		}
		if i == 0 && beforeReady(phase.Name) {
			at.Start = r.ledger(windows[0].FromNS)
		}
		if !beforeReady(phase.Name) {
			at.Ready = r.ledger(windows[0].FromNS)
			break
		}
	}
	if peakNS >= 0 {
		at.Peak = r.ledger(peakNS)
	}
	if at.Start == nil && at.Ready == nil && at.Peak == nil {
		return nil
	}
	return &at
}

func (r *reading) ledger(ns int64) map[string]float64 {
	var lines map[string]float64
	for _, series := range r.source.Find(metric.MemoryLedgerBytes) {
		if v, ok := series.At(ns); ok {
			if lines == nil {
				lines = map[string]float64{}
			}
			lines[series.Labels[string(metric.LabelLine)]] = v
		}
	}
	return lines
}

func (r *reading) thermal() *Thermal {
	t := Thermal{Origin: r.Origin, ThrottleSeconds: map[string]float64{}}
	r.over(func(ns int64) {
		if celsius, ok := r.largest(metric.GPUTemperatureCelsius, ns); ok {
			if t.StartCelsius == nil {
				t.StartCelsius = &celsius
			}
			keepIf(&t.MaxCelsius, celsius, 1)
		}
	})
	for _, series := range r.source.Find(metric.GPUClockEventSecondsTotal) {
		if spent, ok := r.increase(series); ok {
			reason := series.Labels[string(metric.LabelReason)]
			t.ThrottleSeconds[reason] = max(t.ThrottleSeconds[reason], spent)
		}
	}
	if len(t.ThrottleSeconds) > 0 {
		r.throttle = t.ThrottleSeconds
	}
	if t.StartCelsius == nil && r.throttle == nil {
		return nil
	}
	return &t
}

// increase is how much a counter grew in the measured phases. Resets are noted: every counter
// that is read through here is one that a rule or a figure uses.
func (r *reading) increase(series *telemetry.Series) (float64, bool) {
	var total float64
	for _, w := range r.windows {
		grown, reset, ok := series.Increase(w)
		if !ok {
			return 0, false
		}
		if reset {
			r.countersReset = append(r.countersReset, series.Key())
		}
		total += grown
	}
	if len(r.windows) > 0 {
		r.countersRead++
	}
	return total, len(r.windows) > 0
}

func (r *reading) energy(outputTokens int64) *Energy {
	gpus := r.source.Find(metric.GPUEnergyJoulesTotal)
	e := Energy{Origin: r.Origin}
	for _, series := range gpus {
		joules, ok := r.increase(series)
		if !ok {
			return nil
		}
		e.Joules += joules
	}
	if len(gpus) == 0 {
		return nil
	}
	if outputTokens > 0 {
		perToken := e.Joules / float64(outputTokens)
		e.JoulesPerOutputToken = &perToken
	}
	return &e
}

func (r *reading) swap() {
	for _, series := range r.source.Find(metric.VmstatSwappedInBytesTotal) {
		if bytes, ok := r.increase(series); ok {
			r.swappedIn = &bytes
		}
	}
}

// A power-delivery fault of GB10 shows in no flag: the GPU is busy, and neither clocks nor draws
// power as one that works does.
const (
	faultUtilization = 0.8
	faultClockHertz  = 1.4e9
	faultPowerWatts  = 20
)

func (r *reading) power() {
	for _, info := range r.source.Find(metric.GPUInfo) {
		r.gb10 = r.gb10 || strings.Contains(info.Labels[string(metric.LabelName)], "GB10")
	}
	if !r.gb10 {
		return // other GPUs may well idle at such figures
	}
	r.over(func(ns int64) {
		utilization, a := r.largest(metric.GPUUtilizationRatio, ns)
		clock, b := r.largest(metric.GPUSMClockHertz, ns)
		watts, c := r.total(metric.GPUPowerWatts, ns)
		if !a || !b || !c {
			return
		}
		r.powerSamples++
		if utilization > faultUtilization && clock < faultClockHertz && watts < faultPowerWatts {
			r.powerFaults++
		}
	})
}

// deltas are all counters of the source between the borders of a phase.
func (r *reading) deltas(phase string) map[string]Delta {
	deltas := map[string]Delta{}
	counters := counterNames()
	for _, w := range r.log.Windows(r.source, phase) {
		for _, series := range r.source.Series {
			if !counters[series.Name] {
				continue
			}
			if grown, reset, ok := series.Increase(w); ok {
				sum := deltas[series.Key()]
				deltas[series.Key()] = Delta{sum.Delta + grown, sum.Reset || reset}
			}
		}
	}
	return deltas
}

// counterNames are the names of all counters in the vocabulary.
func counterNames() map[string]bool {
	names := map[string]bool{}
	for _, definer := range metric.All() {
		if counter, ok := definer.(metric.Counter); ok {
			names[counter.Def().Name] = true
		}
	}
	return names
}
