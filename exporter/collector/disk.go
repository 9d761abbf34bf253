package collector

import (
	"context"
	"fmt"

	"github.com/prometheus/procfs"

	"github.com/umascope/umascope/exporter/hostfs"
	"github.com/umascope/umascope/exporter/metric"
)

// diskSpec is the collector of drives that are not NVMe, which have a collector of their own.
func diskSpec() Spec {
	return Spec{
		Name:    "disk",
		Help:    "Drives that are not NVMe (SATA, virtio, eMMC): bytes read and written.",
		Metrics: []metric.Definer{metric.DiskReadBytesTotal, metric.DiskWrittenBytesTotal},
		Open: func(host Host, _ Options) Collect {
			return func(_ context.Context, _ *Sample, batch *Batch) error { return collectDisks(host, batch) }
		},
	}
}

func collectDisks(host Host, batch *Batch) error {
	disks, err := hostfs.ReadDiskstats(host.Proc)
	for _, disk := range disks {
		if hostfs.IsDisk(disk.DeviceName) {
			batch.Counter(metric.DiskReadBytesTotal, float64(disk.ReadSectors)*procfs.SectorSize, disk.DeviceName)
			batch.Counter(metric.DiskWrittenBytesTotal, float64(disk.WriteSectors)*procfs.SectorSize, disk.DeviceName)
		}
	}
	// A machine whose drives are all NVMe has no series here, and lacks nothing.
	if err = unlessMissing(err); err == nil && len(disks) == 0 {
		return fmt.Errorf("%w: no block device", ErrAbsent)
	}
	return err
}
