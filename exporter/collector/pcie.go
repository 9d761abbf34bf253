package collector

import (
	"context"
	"fmt"

	"github.com/umascope/umascope/exporter/hostfs"
	"github.com/umascope/umascope/exporter/metric"
)

// pcieSpec is the collector of PCI Express links.
func pcieSpec() Spec {
	return Spec{
		Name: "pcie",
		Help: "PCIe links of network cards and drives: width, generation; their errors and those of GPUs.",
		Metrics: []metric.Definer{
			metric.PCIeLinkLanes, metric.PCIeLinkLanesMax, metric.PCIeLinkGeneration, metric.PCIeLinkGenerationMax, metric.PCIeErrorsTotal,
		},
		Open: func(host Host, _ Options) Collect {
			return func(_ context.Context, _ *Sample, batch *Batch) error { return collectPCIe(host, batch) }
		},
	}
}

func collectPCIe(host Host, batch *Batch) error {
	devices, err := hostfs.ReadPCIeDevices(host.Sys)
	for _, device := range devices {
		emitPCIe(batch, device)
	}
	if err == nil && len(devices) == 0 {
		return fmt.Errorf("%w: no network card, drive or GPU shows a PCIe link or its errors, as in virtual machines", ErrAbsent)
	}
	return err
}

func emitPCIe(batch *Batch, d hostfs.PCIeDevice) {
	for _, row := range []struct {
		metric metric.Gauge
		value  *uint64
	}{
		{metric.PCIeLinkLanes, d.Link.Lanes}, {metric.PCIeLinkLanesMax, d.Link.LanesMax},
		{metric.PCIeLinkGeneration, d.Link.Generation}, {metric.PCIeLinkGenerationMax, d.Link.GenerationMax},
	} {
		if row.value != nil {
			batch.Gauge(row.metric, float64(*row.value), d.Device, d.Address)
		}
	}
	for kind, count := range d.Errors {
		batch.Counter(metric.PCIeErrorsTotal, float64(count), d.Device, d.Address, kind)
	}
}
