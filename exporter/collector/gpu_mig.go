package collector

import (
	"strconv"

	"github.com/umascope/umascope/exporter/metric"
	"github.com/umascope/umascope/exporter/nvml"
)

// emitInstances adds the parts of a partitioned GPU. Their number is a counted 0 if there are none.
func emitInstances(batch *Batch, d nvml.Device) {
	if d.MIGEnabled != nil {
		batch.Gauge(metric.GPUMIGEnabled, number(*d.MIGEnabled), d.UUID)
	}
	if !d.InstancesRead {
		return
	}
	batch.Gauge(metric.GPUMIGInstances, float64(len(d.Instances)), d.UUID)
	for _, instance := range d.Instances {
		emitInstance(batch, d.UUID, instance)
	}
}

func emitInstance(batch *Batch, uuid string, i nvml.Instance) {
	batch.Gauge(metric.GPUMIGInfo, 1, uuid, i.UUID, strconv.FormatUint(uint64(i.GPUInstance), 10),
		strconv.FormatUint(uint64(i.ComputeInstance), 10), i.Profile)
	for _, row := range []struct {
		metric metric.Gauge
		bytes  *uint64
	}{
		{metric.GPUMIGMemoryTotalBytes, i.TotalBytes},
		{metric.GPUMIGMemoryUsedBytes, i.UsedBytes},
		{metric.GPUMIGMemoryFreeBytes, i.FreeBytes},
	} {
		if row.bytes != nil {
			batch.Gauge(row.metric, float64(*row.bytes), uuid, i.UUID)
		}
	}
	if i.ProcessesRead {
		batch.Gauge(metric.GPUMIGProcesses, float64(len(i.Processes)), uuid, i.UUID)
	}
	if i.HeldKnown() {
		batch.Gauge(metric.GPUMIGMemoryHeldBytes, float64(i.HeldBytes()), uuid, i.UUID)
	}
}
