package collector

import (
	"context"
	"errors"
	"fmt"

	"github.com/prometheus/procfs"
	"github.com/prometheus/procfs/blockdevice"

	"github.com/umascope/umascope/exporter/hostfs"
	"github.com/umascope/umascope/exporter/metric"
)

// nvmeSpec is the collector of NVMe drives.
func nvmeSpec() Spec {
	return Spec{
		Name:    "nvme",
		Help:    "NVMe drives: traffic, time in flight, capacity, temperature; with --collector.nvme.smart their own health logs.",
		Metrics: nvmeMetrics(),
		Needs:   []Need{needNVMeAdmin()},
		Open: func(host Host, options Options) Collect {
			drives := &nvmeDrives{host: host, smart: options.NVMeSMART && host.SMARTLog != nil, drives: map[string]*nvmeDrive{}}
			return func(ctx context.Context, _ *Sample, batch *Batch) error {
				return collectNVMe(ctx, host, drives, batch)
			}
		},
	}
}

// collectNVMe reads namespaces, which are whole devices: it leaves out partitions of them, hidden multipath devices and
// other disks.
func collectNVMe(ctx context.Context, host Host, drives *nvmeDrives, batch *Batch) error {
	controllers, controllerErr := hostfs.ReadNVMeControllers(host.Sys)
	drives.refresh(controllers)
	disks, diskErr := hostfs.ReadDiskstats(host.Proc)
	found := len(controllers) > 0
	var errs []error
	for _, disk := range disks {
		if hostfs.IsNVMeNamespace(disk.DeviceName) {
			found = true
			emitDisk(batch, disk)
			errs = append(errs, emitCapacity(batch, host.Sys, disk.DeviceName))
		}
	}
	for _, controller := range controllers {
		for _, device := range controller.Devices {
			batch.Gauge(metric.NVMeInfo, 1, device, controller.Name, controller.Model, controller.Firmware)
		}
	}
	errs = append(errs, drives.emit(ctx, batch, controllers))
	err := errors.Join(append(errs, unlessMissing(diskErr), unlessMissing(controllerErr))...)
	if err == nil && !found {
		return fmt.Errorf("%w: no NVMe drive", ErrAbsent)
	}
	return err
}

func emitDisk(batch *Batch, d blockdevice.Diskstats) {
	bytes := func(sectors uint64) float64 { return float64(sectors) * procfs.SectorSize }
	seconds := func(milliseconds uint64) float64 { return float64(milliseconds) / 1e3 }
	batch.Counter(metric.NVMeReadBytesTotal, bytes(d.ReadSectors), d.DeviceName)
	batch.Counter(metric.NVMeReadsCompletedTotal, float64(d.ReadIOs), d.DeviceName)
	batch.Counter(metric.NVMeReadTimeSecondsTotal, seconds(d.ReadTicks), d.DeviceName)
	batch.Counter(metric.NVMeWrittenBytesTotal, bytes(d.WriteSectors), d.DeviceName)
	batch.Counter(metric.NVMeWritesCompletedTotal, float64(d.WriteIOs), d.DeviceName)
	batch.Counter(metric.NVMeWriteTimeSecondsTotal, seconds(d.WriteTicks), d.DeviceName)
	batch.Gauge(metric.NVMeIONow, float64(d.IOsInProgress), d.DeviceName)
	batch.Counter(metric.NVMeIOTimeSecondsTotal, seconds(d.IOsTotalTicks), d.DeviceName)
	batch.Counter(metric.NVMeIOTimeWeightedSecondsTotal, seconds(d.WeightedIOTicks), d.DeviceName)
	if d.IoStatsCount >= hostfs.DiskColumnsWithDiscards {
		batch.Counter(metric.NVMeDiscardedBytesTotal, bytes(d.DiscardSectors), d.DeviceName)
		batch.Counter(metric.NVMeDiscardsCompletedTotal, float64(d.DiscardIOs), d.DeviceName)
		batch.Counter(metric.NVMeDiscardTimeSecondsTotal, seconds(d.DiscardTicks), d.DeviceName)
	}
	if d.IoStatsCount >= hostfs.DiskColumnsWithFlushes {
		batch.Counter(metric.NVMeFlushRequestsTotal, float64(d.FlushRequestsCompleted), d.DeviceName)
		batch.Counter(metric.NVMeFlushTimeSecondsTotal, seconds(d.TimeSpentFlushing), d.DeviceName)
	}
}

func emitCapacity(batch *Batch, sys hostfs.Dir, device string) error {
	bytes, err := hostfs.ReadBlockDeviceBytes(sys, device)
	if err == nil {
		batch.Gauge(metric.NVMeCapacityBytes, float64(bytes), device)
	}
	return unlessMissing(err) // a drive may be pulled out between the two files
}

func nvmeMetrics() []metric.Definer {
	return append(smartMetrics(),
		metric.NVMeReadBytesTotal, metric.NVMeReadsCompletedTotal, metric.NVMeReadTimeSecondsTotal,
		metric.NVMeWrittenBytesTotal, metric.NVMeWritesCompletedTotal, metric.NVMeWriteTimeSecondsTotal,
		metric.NVMeDiscardedBytesTotal, metric.NVMeDiscardsCompletedTotal, metric.NVMeDiscardTimeSecondsTotal,
		metric.NVMeFlushRequestsTotal, metric.NVMeFlushTimeSecondsTotal,
		metric.NVMeIOTimeSecondsTotal, metric.NVMeIOTimeWeightedSecondsTotal, metric.NVMeIONow,
		metric.NVMeCapacityBytes, metric.NVMeInfo,
		metric.NVMeTemperatureCelsius, metric.NVMeTemperatureWarningCelsius, metric.NVMeTemperatureCriticalCelsius,
	)
}
