package dashboards

import (
	"github.com/umascope/umascope/exporter/metric"
	"github.com/umascope/umascope/exporter/metric/expr"
)

func temperatureNow() panel {
	const usual, warning, critical = "temperature", "temperature, GPUHot warning", "temperature, GPUHot critical"
	hottest := one(metric.GPUTemperatureCelsius)
	tooHot := hotterThanAllowed(metric.AlertThresholds().GB10CriticalCelsius).AtEnd()
	hot := hotterThanAllowed(metric.AlertThresholds().GB10WarningCelsius).Or(onHostsNearALimit()).AtEnd()
	link := toPage(thermalPageName, "Thermal and power")
	return trend(subject{
		title:  "Temperature",
		means:  "Temperature of the hottest GPU; in colour where GPUHot fires if it lasts.",
		wrong:  "it is close to where the GPU slows down. GB10 names no limit: 83 to 86 °C are usual there under load, throttling was seen from 91 °C on.",
		noData: "no GPU, or no exporter answers",
		queries: []query{
			{usual, hottest.Unless(hot.Or(tooHot))},
			{warning, hottest.And(hot).Unless(tooHot)},
			{critical, hottest.And(tooHot)},
		},
	}).
		OverrideByName(usual, link).
		OverrideByName(warning, looks(colored(colorDoubt), link)).
		OverrideByName(critical, looks(colored(colorBad), link))
}

// hotterThanAllowed are hosts with a GB10, which has no limits of its own, that is hotter than a level.
func hotterThanAllowed(celsius float64) expr.Expr {
	limits := each(metric.GPUTemperatureMarginCelsius)
	return onGB10(each(metric.GPUTemperatureCelsius)).Unless(limits, expr.On(metric.LabelHost, metric.LabelUUID)).Max(byHost()).Above(expr.Number(celsius))
}

// onHostsNearALimit are hosts with a GPU that is close to a limit that its driver names.
func onHostsNearALimit() expr.Expr {
	return each(metric.GPUTemperatureMarginCelsius).Min(byHost()).Below(expr.Number(metric.AlertThresholds().MarginCelsius))
}

// coldest is below every margin. The colour below all thresholds is that of the text for no data.
const coldest = -273

func marginNow() panel {
	margin := each(metric.GPUTemperatureMarginCelsius)
	least := metric.AlertThresholds().MarginCelsius
	return trend(subject{
		title:   "Margin to limit",
		means:   "Degrees that are left below the nearest limit that the driver names, of the GPU that is closest to it.",
		wrong:   "it is below " + metric.Decimal(least) + " °C (GPUHot), or negative.",
		noData:  "no limits named",
		queries: []query{{"margin", margin.Min(byHost())}},
	}).
		Thresholds(steps("text", from(coldest, colorDoubt), from(least, "text"))).
		OverrideByName("margin", toPage(thermalPageName, "Thermal and power"))
}

func heatNow() panel {
	t := metric.AlertThresholds()
	return trend(subject{
		title:   "Held down by heat",
		means:   "Share of the last 5 minutes in which heat held the clock down, by the cumulative counters of the driver.",
		wrong:   "it is above 0 during a run: the run measures the cooling too.",
		noData:  "not counted here, or no exporter answers",
		queries: []query{{"held down by heat", one(metric.GPUThermalThrottleRatio5m)}},
	}).
		Thresholds(steps("text", from(t.ThrottledWarning, colorDoubt), from(t.ThrottledCritical, colorBad)))
}

func powerCapNow() panel {
	return trend(subject{
		title:   "Capped by power",
		means:   "Share of the last 5 minutes in which the software power cap held the clock down. On GB10 this is normal under load and no fault.",
		wrong:   "it differs between the runs that you compare, or is high on an idle machine.",
		noData:  "not counted here, or no exporter answers",
		queries: []query{{"capped by power", one(metric.GPUPowerCapRatio5m)}},
	}).Thresholds(steps("text", from(metric.AlertThresholds().PowerCappedRatio, colorInfo)))
}

func clockNow() panel {
	return trend(subject{
		title:   "Clock, % of maximum",
		means:   "Clock of the slowest GPU, as a share of its maximum.",
		wrong:   "it stays below a half while the GPU is busy.",
		noData:  "no GPU, or no exporter answers",
		queries: []query{{"clock", clockShare().Min(byHost())}},
	}).OverrideByName("clock", toPage(thermalPageName, "Thermal and power"))
}

func powerNow() panel {
	return trend(subject{
		title:   "Power",
		means:   "Power draw of all GPUs of the host together. On GB10 that is the GPU's part of the chip only.",
		wrong:   "it is some ten watts while the GPU is busy: power delivery or a slow state.",
		noData:  "no GPU, or no exporter answers",
		queries: []query{{"power", drawn()}},
	}).OverrideByName("power", toPage(thermalPageName, "Thermal and power"))
}
