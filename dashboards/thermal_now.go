package dashboards

import (
	"github.com/grafana/grafana-foundation-sdk/go/common"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"

	"github.com/umascope/umascope/exporter/metric"
)

func temperatureNow() panel {
	return number(subject{
		title:   "Temperature",
		means:   "Temperature of the hottest GPU.",
		wrong:   "it is close to where the GPU slows down. GB10 names no limit: 83 to 86 °C are usual there under load, throttling was seen from 91 °C on.",
		noData:  "no GPU",
		queries: []query{{"temperature", one(metric.GPUTemperatureCelsius)}},
	}).OverrideByName("temperature", toPage(thermalPageName, "Thermal and power"))
}

func marginNow() panel {
	margin := each(metric.GPUTemperatureMarginCelsius)
	return number(subject{
		title:   "Margin to limit",
		means:   "Degrees that are left below the nearest limit that the driver names, of the GPU that is closest to it.",
		wrong:   "it is below " + metric.Decimal(metric.AlertThresholds().MarginCelsius) + " °C (GPUHot), or negative.",
		noData:  "no limits named",
		queries: []query{{"margin", margin.Min(byHost())}},
	}).OverrideByName("margin", toPage(thermalPageName, "Thermal and power"))
}

func heatNow() panel {
	t := metric.AlertThresholds()
	return number(subject{
		title:   "Held down by heat",
		means:   "Share of the last 5 minutes in which heat held the clock down, by the cumulative counters of the driver.",
		wrong:   "it is above 0 during a run: the run measures the cooling too.",
		noData:  "not counted here",
		queries: []query{{"held down by heat", one(metric.GPUThermalThrottleRatio5m)}},
	}).
		ColorMode(common.BigValueColorModeBackground).
		ColorScheme(dashboard.NewFieldColorBuilder().Mode(dashboard.FieldColorModeIdThresholds)).
		Thresholds(steps("transparent", from(t.ThrottledWarning, colorDoubt), from(t.ThrottledCritical, colorBad)))
}

func powerCapNow() panel {
	return number(subject{
		title:   "Capped by power",
		means:   "Share of the last 5 minutes in which the software power cap held the clock down. On GB10 this is normal under load and no fault.",
		wrong:   "it differs between the runs that you compare, or is high on an idle machine.",
		noData:  "not counted here",
		queries: []query{{"capped by power", one(metric.GPUPowerCapRatio5m)}},
	})
}

func clockNow() panel {
	return number(subject{
		title:   "Clock, % of maximum",
		means:   "Clock of the slowest GPU, as a share of its maximum.",
		wrong:   "it stays below a half while the GPU is busy.",
		noData:  "no GPU",
		queries: []query{{"clock", clockShare().Min(byHost())}},
	}).OverrideByName("clock", toPage(thermalPageName, "Thermal and power"))
}

func powerNow() panel {
	return number(subject{
		title:   "Power",
		means:   "Power draw of all GPUs of the host together. On GB10 that is the GPU's part of the chip only.",
		wrong:   "it is some ten watts while the GPU is busy: power delivery or a slow state.",
		noData:  "no GPU",
		queries: []query{{"power", drawn()}},
	}).OverrideByName("power", toPage(thermalPageName, "Thermal and power"))
}
