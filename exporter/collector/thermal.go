package collector

import (
	"context"
	"errors"
	"fmt"

	"github.com/umascope/umascope/exporter/hostfs"
	"github.com/umascope/umascope/exporter/metric"
)

// thermalSpec is the collector of heat, power and clocks outside the GPU.
func thermalSpec() Spec {
	return Spec{
		Name:    "thermal",
		Help:    "thermal zones, hwmon sensors and power rails, CPU clocks and CPU time.",
		Metrics: thermalMetrics(),
		Open: func(host Host, _ Options) Collect {
			cpus := &cpuTimes{}
			return func(_ context.Context, _ *Sample, batch *Batch) error {
				return collectThermal(host, cpus, batch)
			}
		},
	}
}

// collectThermal succeeds with any part of the figures: a virtual machine has CPU time only.
func collectThermal(host Host, cpus *cpuTimes, batch *Batch) error {
	zones, zoneErr := hostfs.ReadThermalZones(host.Sys)
	chips, chipErr := hostfs.ReadHwmonChips(host.Sys)
	frequencies, frequencyErr := hostfs.ReadCPUFrequencies(host.Sys)
	seconds, secondsErr := hostfs.ReadCPUSeconds(host.Proc)
	for _, zone := range zones {
		emitZone(batch, zone)
	}
	for i, name := range hostfs.HwmonNames(chips) {
		emitChip(batch, name, chips[i])
	}
	for _, frequency := range frequencies {
		batch.Gauge(metric.CPUFrequencyHertz, frequency.Hertz, frequency.CPU)
	}
	for mode, value := range cpus.forward(seconds) {
		batch.Counter(metric.CPUSecondsTotal, value, mode)
	}
	err := errors.Join(unlessMissing(zoneErr), unlessMissing(chipErr), unlessMissing(frequencyErr), unlessMissing(secondsErr))
	if err == nil && len(zones)+len(chips)+len(frequencies)+len(seconds) == 0 {
		return fmt.Errorf("%w: neither sensors nor CPU times", ErrAbsent)
	}
	return err
}

func emitZone(batch *Batch, zone hostfs.ThermalZone) {
	if zone.Celsius != nil {
		batch.Gauge(metric.ThermalZoneCelsius, *zone.Celsius, zone.Zone, zone.Type)
	}
	for _, trip := range zone.Trips {
		batch.Gauge(metric.ThermalTripCelsius, trip.Celsius, zone.Zone, trip.Trip, trip.Type)
	}
}

func emitChip(batch *Batch, name string, chip hostfs.HwmonChip) {
	for _, t := range chip.Temperatures {
		batch.Gauge(metric.HwmonTemperatureCelsius, t.Value, name, t.Sensor)
	}
	for _, p := range chip.Powers {
		batch.Gauge(metric.HwmonPowerWatts, p.Value, name, p.Sensor)
	}
	for _, l := range chip.PowerLimits {
		batch.Gauge(metric.HwmonPowerLimitWatts, l.Value, name, l.Sensor)
	}
	for _, e := range chip.Energies {
		batch.Counter(metric.HwmonEnergyJoulesTotal, e.Value, name, e.Sensor)
	}
	if chip.SPBM == nil {
		return
	}
	if chip.SPBM.ProcHot != nil {
		batch.Gauge(metric.SPBMProcHot, number(*chip.SPBM.ProcHot != 0), name)
	}
	if chip.SPBM.PowerLimitLevel != nil {
		batch.Gauge(metric.SPBMPowerLimitLevel, float64(*chip.SPBM.PowerLimitLevel), name)
	}
}

// cpuStepBack is how far an idle CPU's estimated time may step back. A larger step is a CPU that was taken off and put
// back, whose times restart. node_exporter uses the same limit.
const cpuStepBack = 3

// cpuTimes keeps the times of the previous collection. The runner never runs a collector twice at a time.
type cpuTimes struct{ last hostfs.CPUSeconds }

// forward keeps a time that stepped back a little at its last value: a reader of a counter takes any step back for a
// reset and would count all the time since boot again.
func (c *cpuTimes) forward(now hostfs.CPUSeconds) hostfs.CPUSeconds {
	for mode, seconds := range now {
		if last := c.last[mode]; seconds < last && last-seconds < cpuStepBack {
			now[mode] = last
		}
	}
	if now != nil {
		c.last = now
	}
	return now
}

func thermalMetrics() []metric.Definer {
	return []metric.Definer{
		metric.ThermalZoneCelsius, metric.ThermalTripCelsius, metric.HwmonTemperatureCelsius, metric.HwmonPowerWatts,
		metric.HwmonPowerLimitWatts, metric.HwmonEnergyJoulesTotal, metric.SPBMProcHot, metric.SPBMPowerLimitLevel,
		metric.CPUFrequencyHertz, metric.CPUSecondsTotal,
	}
}
