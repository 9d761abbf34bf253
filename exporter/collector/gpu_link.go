package collector

import (
	"strconv"

	"github.com/umascope/umascope/exporter/metric"
	"github.com/umascope/umascope/exporter/nvml"
)

// Values of the label direction, seen from the GPU.
const (
	directionTransmit = "tx"
	directionReceive  = "rx"
)

// emitLinks adds the links to the host and to other GPUs; links with one number and no label are among the gauges.
func emitLinks(batch *Batch, d nvml.Device) {
	if d.PCIeReplays != nil {
		batch.Counter(metric.GPUPCIeReplaysTotal, *d.PCIeReplays, d.UUID)
	}
	if d.PCIeTransmitBytesPerSecond != nil {
		batch.Gauge(metric.GPUPCIeThroughputBytesPerSecond, *d.PCIeTransmitBytesPerSecond, d.UUID, directionTransmit)
	}
	if d.PCIeReceiveBytesPerSecond != nil {
		batch.Gauge(metric.GPUPCIeThroughputBytesPerSecond, *d.PCIeReceiveBytesPerSecond, d.UUID, directionReceive)
	}
	for _, link := range d.NVLinks {
		for kind, count := range link.Errors {
			batch.Counter(metric.GPUNVLinkErrorsTotal, float64(count), d.UUID, strconv.Itoa(link.Number), kind)
		}
	}
}
