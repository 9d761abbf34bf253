package summary

import (
	"strings"

	"github.com/umascope/umascope/exporter/metric"
)

// throttleReasons returns the clock events that make a run invalid. Software power capping is not among them: under
// load it is normal.
func throttleReasons() []string {
	return []string{metric.ReasonHWSlowdown, metric.ReasonHWThermal, metric.ReasonSWThermal, metric.ReasonHWPowerBrake}
}

func (r *reading) thermal() *Thermal {
	t := Thermal{Origin: r.Origin, ThrottleSeconds: map[string]float64{}}
	r.over(func(ns int64) {
		if celsius, ok := r.largest(metric.GPUTemperatureCelsius, ns); ok {
			if t.StartCelsius == nil {
				t.StartCelsius = &celsius
			}
			keepIf(&t.MaxCelsius, celsius, 1)
			t.EndCelsius = &celsius
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
	t.WarmupPerformanceState = r.warmupState()
	if t.StartCelsius == nil && r.throttle == nil && t.WarmupPerformanceState == nil {
		return nil
	}
	return &t
}

// The phase in which a server warms up, and the slowest performance state of a GPU that works: GeForce cards compute in
// P2, an idle GB10 is in P8.
const (
	phaseWarmup   = "warmup"
	slowestAtWork = 2
)

// warmupState returns the fastest performance state of any GPU in the warm-up: of several GPUs, an engine may use one.
func (r *reading) warmupState() *float64 {
	var fastest *float64
	for _, w := range r.log.Windows(r.source, phaseWarmup) {
		for _, series := range r.source.Find(metric.GPUPerformanceState) {
			for point := range series.Between(w.FromNS, w.ToNS) {
				keepIf(&fastest, point.Value, -1)
			}
		}
	}
	return fastest
}

// asleep reports whether all GPUs were below full speed when measuring began.
func (t *Thermal) asleep() bool {
	return t != nil && t.WarmupPerformanceState != nil && *t.WarmupPerformanceState > slowestAtWork
}

// Signs of a power-delivery fault of GB10, which no flag reports: the GPU is busy, but its clock and its power are
// below those of a GPU that works.
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
		return // such figures are normal for other GPUs
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
