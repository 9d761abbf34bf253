package alerts

import (
	"time"

	"github.com/umascope/umascope/exporter/metric"
	"github.com/umascope/umascope/exporter/metric/expr"
)

// gpuGroup is about heat, power and clocks of GPUs, and about their driver.
func gpuGroup() Group {
	t := metric.AlertThresholds()
	return Group{Name: "gpu",
		Recordings: []Recording{
			{metric.GPUThermalThrottleRatio5m, heldDown(expr.OneOf(metric.LabelReason, metric.ReasonsOfHeat()...))},
			{metric.GPUPowerCapRatio5m, heldDown(expr.Is(metric.LabelReason, metric.ReasonSWPowerCap))},
		},
		Alerts: []Alert{
			gpuThermalThrottling(t), gpuHot(t), gpuPowerCapped(t), gpuStuckLowPower(t), gpuSlowState(t),
			xid(), gpuLost(), nvmlCallHung(), nvmlStuck(t), driverErrorLogged(),
		},
	}
}

// byGPU reduces to one series per GPU, even if several exporters report it.
func byGPU() expr.Grouping { return expr.By(metric.LabelHost, metric.LabelUUID) }

// onGPU joins series of the same GPU.
func onGPU() expr.Matching { return expr.On(metric.LabelHost, metric.LabelUUID) }

// heldDown is the share of the last 5 minutes in which the clock was throttled, by the reason with the longest time:
// several reasons can hold at the same time, so that their sum is no share.
func heldDown(reason expr.Matcher) expr.Expr {
	return expr.Rate(metric.GPUClockEventSecondsTotal, expr.Over(5*time.Minute), reason).Max(byGPU())
}

// gb10 are the GPUs of Sparks. They are recognised by their name, because other GPUs are integrated too.
func gb10() expr.Expr {
	return expr.Select(metric.GPUInfo, expr.Matches(metric.LabelName, metric.GPUNameGB10)).Max(byGPU())
}

// busy are GPUs under load.
func busy(t metric.Thresholds) expr.Expr {
	return expr.Select(metric.GPUUtilizationRatio).Max(byGPU()).Above(expr.Number(t.BusyRatio))
}

func gpuThermalThrottling(t metric.Thresholds) Alert {
	throttled := expr.Select(metric.GPUThermalThrottleRatio5m)
	description := func(share float64) string {
		return "heat held the clock of GPU {{ $labels.uuid }} down for {{ $value | humanizePercentage }} of the last 5 minutes, more than " + metric.Decimal(share*100) + " %."
	}
	return Alert{
		Name: "GPUThermalThrottling", About: AboutPart,
		Summary: "A GPU runs slower than it could because it is too hot.",
		Rules: []Rule{
			{Severity: Warning, For: 5 * time.Minute, KeepFiringFor: 10 * time.Minute,
				Expr: throttled.Above(expr.Number(t.ThrottledWarning)), Description: description(t.ThrottledWarning)},
			{Severity: Critical, For: 5 * time.Minute, KeepFiringFor: 10 * time.Minute,
				Expr: throttled.Above(expr.Number(t.ThrottledCritical)), Description: description(t.ThrottledCritical)},
		},
		Runbook: Runbook{
			Meaning: "The driver counts the time in which it or the hardware lowered the clock for heat. Every figure measured meanwhile is that of a slower GPU. It is not the power cap, which is counted by itself and is normal on GB10. The momentary flags can read inactive while this time grows; the time is right.",
			Check:   "`nvidia-smi -q -d PERFORMANCE,TEMPERATURE,CLOCK` twice, a minute apart: the counters of SW and HW thermal slowdown grow. The dashboard Thermal and power shows temperature, clock and both counters together.",
			Action:  "Let the machine cool and discard the run. Clear the inlets, turn down the room, keep machines apart from each other. On GB10 a cap of the clock costs hardly any decode speed and takes off 8 to 12 C: `sudo nvidia-smi -lgc 208,2200` (`-rgc` undoes it). Do so in all arms of a comparison or in none.",
		},
	}
}

// hotter keeps GPUs that are within a margin of a limit of the driver, and GB10s without such a limit that are above a
// temperature. Its values are temperatures in degrees Celsius.
func hotter(margins expr.Expr, margin, celsius float64) expr.Expr {
	temperature := expr.Select(metric.GPUTemperatureCelsius).Max(byGPU())
	near := temperature.And(margins.Below(expr.Number(margin)), onGPU())
	warm := temperature.Above(expr.Number(celsius)).And(gb10(), onGPU()).Unless(margins, onGPU())
	return near.Or(warm, onGPU())
}

func gpuHot(t metric.Thresholds) Alert {
	nearest := expr.Select(metric.GPUTemperatureMarginCelsius).Min(byGPU())
	shutdown := expr.Select(metric.GPUTemperatureMarginCelsius, expr.Is(metric.LabelLimit, metric.LimitShutdown)).Min(byGPU())
	margin := metric.Decimal(t.MarginCelsius)
	description := func(limit string, celsius float64) string {
		return "GPU {{ $labels.uuid }} is at {{ $value }} °C: less than " + margin + " °C below " + limit + ", or on a GB10 that gives none above " + metric.Decimal(celsius) + " °C."
	}
	return Alert{
		Name: "GPUHot", About: AboutPart,
		Summary: "A GPU is near the temperature at which it slows down or switches itself off.",
		Rules: []Rule{
			{Severity: Warning, For: 15 * time.Minute, KeepFiringFor: 5 * time.Minute,
				Expr: hotter(nearest, t.MarginCelsius, t.GB10WarningCelsius), Description: description("a limit of its driver", t.GB10WarningCelsius)},
			{Severity: Critical, For: time.Minute, KeepFiringFor: 5 * time.Minute,
				Expr: hotter(shutdown, t.MarginCelsius, t.GB10CriticalCelsius), Description: description("the limit at which it may switch itself off", t.GB10CriticalCelsius)},
		},
		Runbook: Runbook{
			Meaning: "Where the driver gives limits, the distance to them counts, because 88 °C is hot for one GPU and usual for another. GB10 gives none as far as is known: 83 to 86 °C are normal for it under load, and throttling was seen from 91 °C. The maker has published no limit for it.",
			Check:   "`nvidia-smi -q -d TEMPERATURE`. The dashboard Thermal and power shows how far the limits are and since when it has been warmer. GPUThermalThrottling fires if it is slower already.",
			Action:  "As warning: improve the cooling before the next run. As critical: stop the load now; machines have been seen to switch themselves off under sustained load without a line in any log. Then as for GPUThermalThrottling.",
		},
	}
}

func gpuPowerCapped(t metric.Thresholds) Alert {
	return Alert{
		Name: "GPUPowerCapped", About: AboutPart, ExpectedInRuns: true,
		Summary: "A GPU draws as much power as it may, which holds its clock down.",
		Rules: []Rule{{
			Severity: Info, For: 15 * time.Minute, KeepFiringFor: 10 * time.Minute,
			Expr:        expr.Select(metric.GPUPowerCapRatio5m).Above(expr.Number(t.PowerCappedRatio)),
			Description: "the power cap held the clock of GPU {{ $labels.uuid }} down for {{ $value | humanizePercentage }} of the last 5 minutes, more than " + metric.Decimal(t.PowerCappedRatio*100) + " %. Normal under load on GB10.",
		}},
		Runbook: Runbook{
			Meaning: "No fault. On GB10 the cap is what usually limits the clock under load, and on a discrete GPU it is what a heavy load runs into. It is shown because two runs can only be compared if it is the same in both.",
			Check:   "The dashboard Thermal and power shows power, limit and clock. `nvidia-smi -q -d POWER` gives the limit in force where the device has one; GB10 answers N/A.",
			Action:  "Nothing, as long as power and clock are what they usually are. If the limit of a discrete GPU has been lowered, raise it again (`sudo nvidia-smi -pl WATTS`) or keep it so in all arms.",
		},
	}
}

func gpuStuckLowPower(t metric.Thresholds) Alert {
	power := expr.Select(metric.GPUPowerWatts).Max(byGPU()).Below(expr.Number(t.StuckWatts))
	clock := expr.Select(metric.GPUSMClockHertz).Max(byGPU()).Below(expr.Number(t.StuckHertz))
	hot := expr.Select(metric.GPUThermalThrottleRatio5m).Above(expr.Number(t.ThrottledCritical))
	return Alert{
		Name: "GPUStuckLowPower", About: AboutPart,
		Summary: "The GPU of a Spark works at a fraction of its clock and power, and no flag says why.",
		Rules: []Rule{{
			Severity: Critical, For: 2 * time.Minute, KeepFiringFor: 10 * time.Minute,
			Expr: power.And(clock, onGPU()).And(busy(t), onGPU()).And(gb10(), onGPU()).Unless(hot, onGPU()),
			Description: "GPU {{ $labels.uuid }} works and draws {{ $value | humanize }} W, less than " + metric.Decimal(t.StuckWatts) + " W, at less than " +
				metric.Decimal(t.StuckHertz/1e6) + " MHz.",
		}},
		Runbook: Runbook{
			Meaning: "A fault of the power delivery that Sparks are known for: 500 to 850 MHz and 14 to 18 W in place of some 2400 MHz and 60 W, at full utilisation. Neither heat nor the power cap is reported, and a reboot does not end it. It is not an idle GPU, which draws less still but does not work, not one that heat holds down as far, which GPUThermalThrottling shows, and not a cap of the clock that was set.",
			Check:   "`nvidia-smi --query-gpu=utilization.gpu,clocks.sm,power.draw,temperature.gpu --format=csv -l 1` under load. `nvidia-smi -q -d CLOCK` shows a cap that was set: a low one looks the same.",
			Action:  "Shut down, take the power supply off the wall for a minute, start again; use the supply that came with the machine. If it comes back, update the firmware, then have the machine replaced. Discard all runs since it began: the dashboard Thermal and power shows when the clock fell.",
		},
	}
}

// gpuSlowState compares with the usual power of the whole host, which is what finished runs record. Two concurrent runs
// on one host are two alerts.
func gpuSlowState(t metric.Thresholds) Alert {
	cell := []metric.Label{metric.LabelHost, metric.LabelArm, metric.LabelScenario}
	power := expr.Select(metric.GPUPowerWatts).Max(byGPU()).Sum(byHost())
	live := activeRuns(metric.LabelArm, metric.LabelScenario).Times(power, expr.On(metric.LabelHost).GroupLeft())
	usual := expr.Select(metric.RunPowerWattsMedian).Times(expr.Number(t.SlowShare))
	warmup := inPhases(expr.Is(metric.LabelPhase, metric.PhaseWarmup))
	onRun := expr.On(metric.LabelHost, metric.LabelRun)
	return Alert{
		Name: "GPUSlowState", About: AboutLiveRun,
		Summary: "The GPU draws much less power than usual in runs like this one, although it works.",
		Rules: []Rule{{
			Severity: Info, For: 5 * time.Minute, KeepFiringFor: 5 * time.Minute,
			Expr: live.Below(usual, expr.On(cell...).GroupLeft()).And(busy(t).Max(byHost()), expr.On(metric.LabelHost)).
				And(serving(), onRun).Unless(warmup, onRun),
			Description: "the GPUs draw {{ $value | humanize }} W at a utilisation of more than " + metric.Decimal(t.BusyRatio*100) + " %, less than " +
				metric.Decimal(t.SlowShare) + " of the median of the last 5 runs of {{ $labels.arm }}, {{ $labels.scenario }}.",
		}},
		Runbook: Runbook{
			Meaning: "A slow state that no counter and no flag shows was seen on GB10: the clock and the temperature are as ever, the power is 15 to 20 W in place of 31 to 36 W, and each step takes half as long again. Power that low can also mean that the load is another one than before: fewer requests, a smaller model under the same names of arm and scenario.",
			Check:   "The dashboard Run detail shows power, clock, requests in flight and tokens per second of the run; Compare runs sets it against one of the five before. Was the engine, the model or the load changed? Then it is no fault.",
			Action:  "If nothing was changed, discard the run, restart the engine, then the machine, then take it off power as for GPUStuckLowPower. If the change was meant, give it an arm of its own: five runs later the usual power is the new one.",
		},
	}
}
