package dashboards

import (
	"regexp"

	"github.com/umascope/umascope/exporter/metric"
	"github.com/umascope/umascope/exporter/metric/expr"
)

// heldReason is a throttle reason for which the driver counts the time.
type heldReason struct{ reason, title, color string }

// heldReasons have colours of their own, so that heat and power are easy to tell apart.
func heldReasons() []heldReason {
	return []heldReason{
		{metric.ReasonHWThermal, "heat (hardware)", colorBad},
		{metric.ReasonSWThermal, "heat (software)", colorDoubt},
		{metric.ReasonHWPowerBrake, "power brake (hardware)", "#CC79A7"},
		{metric.ReasonSWPowerCap, "power cap (software)", colorInfo},
		{metric.ReasonSyncBoost, "sync boost", "#999999"},
	}
}

func heldDown() panel {
	t := metric.AlertThresholds()
	s := subject{
		title:  "Share of time that the clock is held down",
		means:  "How much of the time each reason held the clock down, from the cumulative counters. The software power cap under load is normal on GB10. Reasons overlap: do not add them.",
		wrong:  "one of *heat* is above " + percent(t.ThrottledWarning) + " during a run (GPUThermalThrottling), or the power brake is ever: the power supply asks for it.",
		noData: "the driver counts no times, or no exporter answers",
	}
	for _, r := range heldReasons() {
		held := eachPerSecond(metric.GPUClockEventSecondsTotal, expr.Is(metric.LabelReason, r.reason))
		// Between two scrapes of which one came late, a rate is above 1.
		s.queries = append(s.queries, query{r.title + ", GPU {{gpu}}", numbered(held.ClampMax(1))})
	}
	built := lines(s).Min(0).Max(1)
	for _, r := range heldReasons() {
		built = built.OverrideByRegexp("/^"+regexp.QuoteMeta(r.title)+", /", colored(r.color))
	}
	return built
}

func reasons() panel {
	return states(subject{
		title:  "Reasons given for the clock",
		means:  "Whether the driver gives a reason for the present clock at the moment of the scrape, and whether the firmware of a DGX Spark throttles the processor for heat (PROCHOT, by the driver spbm). These bits may read *no* while the time in *Share of time that the clock is held down* climbs: believe the time.",
		wrong:  "a thermal reason, *hw_slowdown*, *hw_power_brake* or PROCHOT is given.",
		noData: noGPU,
		queries: []query{
			{"{{reason}}, GPU {{gpu}}", numbered(each(metric.GPUClockEventActive))},
			{"PROCHOT ({{chip}})", each(metric.SPBMProcHot)},
		},
	}, shaded(shade{"0", "no", "#80808040"}, shade{"1", "given", colorDoubt}))
}

func gpuClock() panel {
	return series(subject{
		title:  "Clock of the GPU",
		means:  "Clock of the multiprocessors of each GPU; dashed the highest that it can have.",
		wrong:  "it stays low while the GPU is busy, or differs between runs of one load.",
		noData: noGPU,
		queries: []query{
			{"GPU {{gpu}}", numbered(each(metric.GPUSMClockHertz))},
			{"highest of GPU {{gpu}}", numbered(each(metric.GPUSMClockMaxHertz))},
		},
	}).Min(0).OverrideByRegexp("/^highest of /", limit("text"))
}

func gpuPower() panel {
	return series(subject{
		title:  "Power of the GPU",
		means:  "Power draw of each GPU as the driver gives it, the mean since the last scrape from its energy counter, and dashed the limit in force. GB10 gives no limit.",
		wrong:  "the mean and the present value stay apart, or power falls while the load does not.",
		noData: noGPU,
		queries: []query{
			{"GPU {{gpu}}", numbered(each(metric.GPUPowerWatts))},
			{"mean of GPU {{gpu}}, from energy", numbered(eachPerSecond(metric.GPUEnergyJoulesTotal))},
			{"limit of GPU {{gpu}}", numbered(each(metric.GPUPowerLimitWatts))},
		},
	}).Min(0).OverrideByRegexp("/^limit of /", limit("text"))
}

func rails() panel {
	return lines(subject{
		title:  "Power rails",
		means:  "Power of the rails that the machine shows (" + called(metric.HwmonPowerWatts) + "; on a DGX Spark with the driver spbm), by the maker's names, and dashed what the chip keeps them to. Rails contain each other: do not add them.",
		wrong:  "*sys_total* or *dc_input* nears what the power supply can give.",
		noData: noThermal,
		queries: []query{
			{"{{sensor}} ({{chip}})", each(metric.HwmonPowerWatts)},
			{"limit {{sensor}} ({{chip}})", each(metric.HwmonPowerLimitWatts)},
		},
	}).Min(0).OverrideByRegexp("/^limit /", limit("text"))
}

func stuckLow() panel {
	t := metric.AlertThresholds()
	return series(subject{
		title: "Busy, but slow?",
		means: "Utilisation, clock and power of a GB10, each as a multiple of the level that GPUStuckLowPower holds it against (" + percent(t.BusyRatio) + " busy, " +
			metric.Decimal(t.StuckHertz/1e9) + " GHz, " + metric.Decimal(t.StuckWatts) + " W), cut off at twice that. A GB10 can get stuck at low power, and the driver gives no reason then.",
		wrong:  "*busy* is above the line while *clock* and *power* are below it: power delivery. The runbook of that alert says what to do.",
		noData: "no GB10, its driver does not answer, or no exporter does",
		queries: []query{
			{"busy over " + percent(t.BusyRatio) + ", GPU {{gpu}}", overLevel(metric.GPUUtilizationRatio, t.BusyRatio)},
			{"clock over " + metric.Decimal(t.StuckHertz/1e9) + " GHz, GPU {{gpu}}", overLevel(metric.GPUSMClockHertz, t.StuckHertz)},
			{"power over " + metric.Decimal(t.StuckWatts) + " W, GPU {{gpu}}", overLevel(metric.GPUPowerWatts, t.StuckWatts)},
		},
	}).Min(0).Max(2).
		Unit("suffix: ×").
		Thresholds(steps("transparent", from(1, "orange"))).
		ThresholdsStyle(dashedLine()).
		OverrideByRegexp("/^busy/", dashed())
}

// overLevel is the value of GB10s divided by a level, cut off at twice the level.
func overLevel(d metric.Definer, level float64) expr.Expr {
	value := each(d)
	return numbered(onGB10(value.DividedBy(value.Clamp(level, level)).ClampMax(2)))
}

// percent formats a share as a percentage.
func percent(share float64) string { return metric.Decimal(share*100) + " %" }
