package collect

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/umascope/umascope/exporter/kernelfs"
	"github.com/umascope/umascope/exporter/metric"
)

// temperatureAge is how long a temperature of a drive is served. Reading one makes the drive compose
// its SMART log page, which costs it time and can keep it from sleeping; and drives are slow to heat.
const temperatureAge = 30 * time.Second

// nvmeSpec is the collector of NVMe drives.
func nvmeSpec() Spec {
	return Spec{
		Name:    "nvme",
		Help:    "NVMe drives: traffic, time in flight, capacity, temperature.",
		Metrics: nvmeMetrics(),
		Open: func(host Host, _ Options) Collect {
			temperatures := &nvmeTemperatures{host: host, drive: map[string]driveTemperatures{}}
			return func(_ context.Context, _ *Sample, batch *Batch) error {
				return collectNVMe(host, temperatures, batch)
			}
		},
	}
}

// collectNVMe reads namespaces, which are whole devices: partitions of them, hidden multipath devices
// and other disks are not the subject.
func collectNVMe(host Host, temperatures *nvmeTemperatures, batch *Batch) error {
	disks, diskErr := kernelfs.ReadDiskstats(host.Proc)
	controllers, controllerErr := kernelfs.ReadNVMeControllers(host.Sys)
	found := len(controllers) > 0
	var errs []error
	for _, disk := range disks {
		if kernelfs.IsNVMeNamespace(disk.Device) {
			found = true
			emitDisk(batch, disk)
			errs = append(errs, emitCapacity(batch, host.Sys, disk.Device))
		}
	}
	for _, controller := range controllers {
		for _, device := range controller.Devices {
			batch.Gauge(metric.NVMeInfo, 1, device, controller.Name, controller.Model, controller.Firmware)
		}
		errs = append(errs, temperatures.emit(batch, controller.Name))
	}
	err := errors.Join(append(errs, unlessMissing(diskErr), unlessMissing(controllerErr))...)
	if err == nil && !found {
		return fmt.Errorf("%w: no NVMe drive", ErrAbsent)
	}
	return err
}

func emitDisk(batch *Batch, d kernelfs.Diskstats) {
	batch.Counter(metric.NVMeReadBytesTotal, float64(d.Reads.Bytes), d.Device)
	batch.Counter(metric.NVMeReadsCompletedTotal, float64(d.Reads.Completed), d.Device)
	batch.Counter(metric.NVMeReadTimeSecondsTotal, d.Reads.Seconds, d.Device)
	batch.Counter(metric.NVMeWrittenBytesTotal, float64(d.Writes.Bytes), d.Device)
	batch.Counter(metric.NVMeWritesCompletedTotal, float64(d.Writes.Completed), d.Device)
	batch.Counter(metric.NVMeWriteTimeSecondsTotal, d.Writes.Seconds, d.Device)
	batch.Gauge(metric.NVMeIONow, float64(d.InFlight), d.Device)
	batch.Counter(metric.NVMeIOTimeSecondsTotal, d.BusySeconds, d.Device)
	batch.Counter(metric.NVMeIOTimeWeightedSecondsTotal, d.WeightedSeconds, d.Device)
	if d.Discards != nil {
		batch.Counter(metric.NVMeDiscardedBytesTotal, float64(d.Discards.Bytes), d.Device)
		batch.Counter(metric.NVMeDiscardsCompletedTotal, float64(d.Discards.Completed), d.Device)
		batch.Counter(metric.NVMeDiscardTimeSecondsTotal, d.Discards.Seconds, d.Device)
	}
	if d.Flushes != nil {
		batch.Counter(metric.NVMeFlushRequestsTotal, float64(d.Flushes.Completed), d.Device)
		batch.Counter(metric.NVMeFlushTimeSecondsTotal, d.Flushes.Seconds, d.Device)
	}
}

func emitCapacity(batch *Batch, sys fs.FS, device string) error {
	bytes, err := kernelfs.ReadBlockDeviceBytes(sys, device)
	if err == nil {
		batch.Gauge(metric.NVMeCapacityBytes, float64(bytes), device)
	}
	return unlessMissing(err) // a drive may be pulled out between the two files
}

// nvmeTemperatures keeps the temperatures of drives between collections. The runner never runs a
// collector twice at a time.
type nvmeTemperatures struct {
	host  Host
	drive map[string]driveTemperatures // by controller
}

// driveTemperatures is one reading. A failed one is kept as long, so that a drive in trouble is not
// asked more often than a healthy one.
type driveTemperatures struct {
	at      time.Time
	sensors []kernelfs.NVMeTemperature
	err     error
}

func (t *nvmeTemperatures) of(controller string) driveTemperatures {
	now := t.host.Now()
	last, read := t.drive[controller]
	if age := now.Sub(last.at); read && age >= 0 && age < temperatureAge {
		return last
	}
	sensors, err := kernelfs.ReadNVMeTemperatures(t.host.Sys, controller)
	t.drive[controller] = driveTemperatures{now, sensors, err}
	return t.drive[controller]
}

func (t *nvmeTemperatures) emit(batch *Batch, controller string) error {
	reading := t.of(controller)
	for _, sensor := range reading.sensors {
		batch.Gauge(metric.NVMeTemperatureCelsius, sensor.Celsius, controller, sensor.Sensor)
		if sensor.Warning != nil {
			batch.Gauge(metric.NVMeTemperatureWarningCelsius, *sensor.Warning, controller, sensor.Sensor)
		}
		if sensor.Critical != nil {
			batch.Gauge(metric.NVMeTemperatureCriticalCelsius, *sensor.Critical, controller, sensor.Sensor)
		}
	}
	return reading.err
}

func nvmeMetrics() []metric.Definer {
	return []metric.Definer{
		metric.NVMeReadBytesTotal, metric.NVMeReadsCompletedTotal, metric.NVMeReadTimeSecondsTotal,
		metric.NVMeWrittenBytesTotal, metric.NVMeWritesCompletedTotal, metric.NVMeWriteTimeSecondsTotal,
		metric.NVMeDiscardedBytesTotal, metric.NVMeDiscardsCompletedTotal, metric.NVMeDiscardTimeSecondsTotal,
		metric.NVMeFlushRequestsTotal, metric.NVMeFlushTimeSecondsTotal,
		metric.NVMeIOTimeSecondsTotal, metric.NVMeIOTimeWeightedSecondsTotal, metric.NVMeIONow,
		metric.NVMeCapacityBytes, metric.NVMeInfo,
		metric.NVMeTemperatureCelsius, metric.NVMeTemperatureWarningCelsius, metric.NVMeTemperatureCriticalCelsius,
	}
}
