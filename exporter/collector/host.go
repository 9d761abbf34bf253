package collector

import (
	"context"

	"golang.org/x/sys/unix"

	"github.com/umascope/umascope/exporter/hostfs"
	"github.com/umascope/umascope/exporter/metric"
	"github.com/umascope/umascope/exporter/nvml"
)

// noGPU is the label value for a machine without GPU; with an empty value the label would be absent.
const noGPU nvml.Architecture = "none"

// hostSpec is the collector of the machine's identity.
func hostSpec() Spec {
	return Spec{
		Name:    "host",
		Help:    "what machine this is: product, kernel, where the memory of its GPUs is; with --collector.host.kernel-log errors of the driver.",
		Metrics: []metric.Definer{metric.HostInfo, metric.DriverLogLinesTotal, metric.DriverLogXIDLinesTotal, metric.DriverLogOverrunsTotal, metric.KernelAllocationFailuresTotal},
		Needs:   []Need{needKernelLog()},
		Open: func(host Host, options Options) Collect {
			log := newDriverLog(host, options)
			return func(ctx context.Context, sample *Sample, batch *Batch) error {
				machine := hostfs.ReadMachine(host.Proc, host.Sys)
				if machine.Arch == "" && host.Mode == Live {
					machine.Arch = unameMachine()
				}
				batch.Gauge(metric.HostInfo, 1, machine.Product, machine.Vendor, machine.Kernel, machine.Arch,
					string(hostArchitecture(ctx, host, sample)))
				return log.emit(batch)
			}
		},
	}
}

// hostArchitecture returns no error: the gpu collector reports faults of a GPU.
func hostArchitecture(ctx context.Context, host Host, sample *Sample) nvml.Architecture {
	if host.ForeignGPU {
		return nvml.ArchitectureUnset
	}
	architecture := sample.architectureOf(sample.devices(ctx))
	if architecture == "" {
		return noGPU
	}
	return architecture
}

// unameMachine asks the running kernel. Kernels before 6.1 have no file for it.
func unameMachine() string {
	var name unix.Utsname
	if err := unix.Uname(&name); err != nil {
		return ""
	}
	return unix.ByteSliceToString(name.Machine[:])
}
