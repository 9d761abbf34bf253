package dashboards

import (
	"github.com/grafana/grafana-foundation-sdk/go/common"

	"github.com/umascope/umascope/exporter/metric"
	"github.com/umascope/umascope/exporter/metric/expr"
)

// Reasons why a panel of the GPU may be empty.
const (
	noGPU     = "no GPU, its driver does not answer, or no exporter does"
	noMargin  = "the driver names no limits (GB10 does not), or there is no GPU"
	noThermal = "this machine shows none, or no exporter answers"
)

// thermalPageName is the target of links from other pages.
const thermalPageName = "thermal-and-power"

// thermalPage shows the temperature of the machine, its throttling, and the performance that is lost.
func thermalPage() page {
	return page{
		name:        thermalPageName,
		title:       "Thermal and power",
		description: "How hot the machine is, how far from its limits, what holds its clock down, and what it draws.",
		variables:   []variable{finishedRuns()},
		rows: []row{
			{"Now", []tile{{6, 3, sourceBanner(oneHost)}, {18, 3, firingAlerts(oneHost)},
				{4, 5, temperatureNow()}, {4, 5, marginNow()}, {4, 5, heatNow()},
				{4, 5, clockNow()}, {4, 5, powerNow()}, {4, 5, powerCapNow()}}},
			{"How hot, and what it does", []tile{{12, 9, gpuTemperature()}, {12, 9, heldDown()}}},
			{"Clock and power", []tile{{8, 9, gpuClock()}, {8, 9, gpuPower()}, {8, 9, rails()},
				{12, 9, stuckLow()}, {12, 9, reasons()}}},
		},
		more: []row{
			{"Temperatures beside the GPU", []tile{{8, 9, zones()}, {8, 9, sensors()}, {8, 9, driveTemperature()}}},
			{"Runs", []tile{{12, 8, temperatureOfRuns()}, {12, 8, utilisation()}, {24, 8, heatOfRuns()}}},
		},
	}
}

// numbered adds to series of GPUs the number of their GPU, which is easier to recognise than its UUID.
func numbered(e expr.Expr) expr.Expr {
	info := expr.Select(metric.GPUInfo, onHost()).Max(by(metric.LabelUUID, metric.LabelGPU))
	return e.Times(info, expr.On(metric.LabelHost, metric.LabelUUID).GroupLeft(metric.LabelGPU))
}

// clockShare is the clock of each GPU divided by its maximum.
func clockShare() expr.Expr {
	return shareOf(each(metric.GPUSMClockHertz), each(metric.GPUSMClockMaxHertz))
}

// levelOfGB10 is a temperature as a line, on hosts with a GB10: it reports no limits, so that the alert has levels of
// its own for it.
func levelOfGB10(celsius float64) expr.Expr {
	limits := each(metric.GPUTemperatureMarginCelsius)
	unlimited := onGB10(each(metric.GPUTemperatureCelsius)).Unless(limits, expr.On(metric.LabelHost, metric.LabelUUID))
	return unlimited.Clamp(celsius, celsius).Max(byHost())
}

// onGB10 keeps series of GPUs that are a GB10.
func onGB10(e expr.Expr) expr.Expr {
	gb10 := expr.Select(metric.GPUInfo, onHost(), expr.Matches(metric.LabelName, metric.GPUNameGB10))
	return e.And(gb10, expr.On(metric.LabelHost, metric.LabelUUID))
}

// limitsOfGPU are the temperatures at which the margins of the driver are 0.
func limitsOfGPU() expr.Expr {
	temperature := numbered(each(metric.GPUTemperatureCelsius))
	return each(metric.GPUTemperatureMarginCelsius).Plus(temperature, expr.On(metric.LabelHost, metric.LabelUUID).GroupLeft(metric.LabelGPU))
}

func gpuTemperature() panel {
	t := metric.AlertThresholds()
	return series(subject{
		title:  "Temperature of the GPU",
		means:  "Temperature of each GPU's die. Dashed are the driver's limits, worked out from the margin that it gives, so that they may waver by a degree. GB10 gives none: there the dashed lines are where GPUHot fires; 83 to 86 °C are usual under load, throttling was seen from 91 °C on.",
		wrong:  "a line comes near a dashed one, or is higher than in earlier runs of the same load: dust, the room, or what stands beside the machine.",
		noData: noGPU,
		queries: []query{
			{"GPU {{gpu}}", numbered(each(metric.GPUTemperatureCelsius))},
			{"limit {{limit}} of GPU {{gpu}}", limitsOfGPU()},
			{"GPUHot, warning", levelOfGB10(t.GB10WarningCelsius)},
			{"GPUHot, critical", levelOfGB10(t.GB10CriticalCelsius)},
		},
	}).
		OverrideByRegexp("/^limit /", limit("text")).
		OverrideByName("GPUHot, warning", limit("orange")).
		OverrideByName("GPUHot, critical", limit("red"))
}

func zones() panel {
	return lines(subject{
		title:  "Thermal zones",
		means:  "Temperatures that the firmware reports to the kernel (" + called(metric.ThermalZoneCelsius) + "), dashed the temperature at which the kernel acts: *active* cools, *passive* slows down, *critical* switches off. No document says which part of a machine each zone is.",
		wrong:  "a zone comes near a trip point, or one climbs away from the others.",
		noData: noThermal,
		queries: []query{
			{"zone {{zone}} ({{type}})", each(metric.ThermalZoneCelsius)},
			{"trip point of zone {{zone}}: {{type}}", each(metric.ThermalTripCelsius).Min(by(metric.LabelZone, metric.LabelType))},
		},
	}).OverrideByRegexp("/^trip point /", limit("text"))
}

func sensors() panel {
	return lines(subject{
		title:   "Sensors",
		means:   "Temperatures of other chips (" + called(metric.HwmonTemperatureCelsius) + "): network adapters, and with the driver spbm the rails of a DGX Spark, by the maker's names. *tj_max* of that driver is a limit and no temperature.",
		wrong:   "a network adapter is above 100 °C, or a sensor climbs while the GPU is idle.",
		noData:  noThermal,
		queries: []query{{"{{sensor}} ({{chip}})", each(metric.HwmonTemperatureCelsius)}},
	})
}

// limitOfDrives is a limit of each drive as NVMeHot has it: that of the drive, or else a level for all that name none.
func limitOfDrives(own metric.Gauge, otherwise float64) expr.Expr {
	named := each(own).Min(by(metric.LabelController))
	all := each(metric.NVMeTemperatureCelsius).Max(by(metric.LabelController))
	return named.Or(all.Clamp(otherwise, otherwise))
}

func driveTemperature() panel {
	t := metric.AlertThresholds()
	return lines(subject{
		title:  "Temperature of drives",
		means:  "Temperatures of the NVMe controllers, up to half a minute old; dashed the limits at which NVMeHot fires, which are about the sensor *composite*: those that the controller names, else " + metric.Decimal(t.NVMeWarningCelsius) + " and " + metric.Decimal(t.NVMeCriticalCelsius) + " °C.",
		wrong:  "*composite* nears the warning limit: the drive slows down, and a KV cache on it with it.",
		noData: "no NVMe drive that shows its temperature, or no exporter answers",
		queries: []query{
			{"{{controller}}, {{sensor}}", each(metric.NVMeTemperatureCelsius)},
			{"warning limit of {{controller}}", limitOfDrives(metric.NVMeTemperatureWarningCelsius, t.NVMeWarningCelsius)},
			{"critical limit of {{controller}}", limitOfDrives(metric.NVMeTemperatureCriticalCelsius, t.NVMeCriticalCelsius)},
		},
	}).
		OverrideByRegexp("/^warning limit /", limit("orange")).
		OverrideByRegexp("/^critical limit /", limit("red"))
}

func temperatureOfRuns() panel {
	return series(subject{
		title:   "Temperature while runs last",
		means:   "Temperature of the hottest GPU while a run lasts on this host (" + called(metric.RunActive) + "): a colour for each arm. One for each run would be too many to tell apart; the page *Run detail* has the curve of one.",
		wrong:   "the runs of one arm begin warmer than those of another: then arm and heat are confounded. Let the machine cool down before each run.",
		noData:  "no run lasted on this host in this time, or there is no GPU",
		queries: []query{{"{{arm}}", hottestByArm()}},
	}).DrawStyle(common.GraphDrawStylePoints).PointSize(3) // a line would join one run to the next
}

// hottestByArm is the temperature of the hottest GPU, by arm of the active run.
func hottestByArm() expr.Expr {
	active := expr.Select(metric.RunActive, onHost()).Equals(expr.Number(1)).Max(by(metric.LabelArm))
	return active.Times(hottest(), expr.On(metric.LabelHost).GroupLeft())
}

func utilisation() panel {
	return series(subject{
		title:  "Utilisation and fan",
		means:  "Share of the time in which a kernel ran on each GPU, however little of the GPU it used, and the fan speed that is asked for where the driver reports it.",
		wrong:  "it is low while requests wait: the GPU waits for the CPU, a disk or the network.",
		noData: noGPU,
		queries: []query{
			{"utilisation of GPU {{gpu}}", numbered(each(metric.GPUUtilizationRatio))},
			{"fan of GPU {{gpu}}", numbered(each(metric.GPUFanRatio))},
		},
	}).Min(0).Max(1).LineInterpolation(common.LineInterpolationStepAfter)
}
