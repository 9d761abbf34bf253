package collector

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/umascope/umascope/exporter/hostfs"
	"github.com/umascope/umascope/exporter/metric"
	"github.com/umascope/umascope/exporter/nvml"
)

// gpuSpec is the collector of GPUs: what the driver library reports of every device.
func gpuSpec() Spec {
	return Spec{
		Name:    metric.CollectorGPU,
		Help:    "GPUs by the NVIDIA driver library: memory held, power, clocks, temperature, what the driver does not support.",
		Metrics: gpuMetrics(),
		Needs: []Need{{
			Name: "host_pid_namespace",
			Cost: "the driver leaves processes of other PID namespaces out of its lists without a word: GPU memory looks as if no process held it",
			Fix:  "start the container with the host's PID namespace (docker run --pid=host, in compose pid: host)",
			Met:  seesAllProcesses,
		}, {
			Name: needMIGMonitor,
			Cost: "of a partitioned GPU the driver gives neither memory, processes nor errors of the whole, only those of the parts that this process may use",
			Fix:  "run as root, or give the container the right to monitor (docker run --cap-add SYS_ADMIN -e NVIDIA_MIG_MONITOR_DEVICES=all, in compose cap_add and environment; systemd AmbientCapabilities=CAP_SYS_ADMIN)",
		}},
		Open: func(Host, Options) Collect { return collectGPU },
	}
}

// needMIGMonitor is the permission to see the whole of a partitioned GPU. Only the driver can report that it is
// missing, by refusing calls.
const needMIGMonitor = "mig_monitor"

// seesAllProcesses reports whether the driver lists the processes of the whole host to this process. Lists of another
// machine do not depend on it.
func seesAllProcesses(host Host) bool {
	if host.ForeignGPU {
		return true
	}
	whole, err := hostfs.HostPIDNamespace(host.Proc)
	return err == nil && whole
}

func collectGPU(ctx context.Context, sample *Sample, batch *Batch) error {
	snapshot, err := sample.GPU(ctx).Snapshot(ctx)
	switch {
	case errors.Is(err, nvml.ErrUnavailable) && noGPUExpected(snapshot.Return):
		return fmt.Errorf("%w: %w", ErrAbsent, err)
	case err == nil && snapshot.DeviceCount == 0:
		return errors.New("the driver lists no GPU")
	}
	for i := range snapshot.Devices {
		d := &snapshot.Devices[i]
		// A device without readable UUID is identified by its index.
		d.UUID = cmp.Or(d.UUID, "gpu"+strconv.Itoa(d.Index))
		batch.Gauge(metric.GPULost, number(d.Return != nvml.Success), d.UUID)
		emitXIDErrors(batch, *d)
	}
	// No figure of a lost device is served, not even those read before it stopped answering.
	devices := slices.DeleteFunc(snapshot.Devices, func(d nvml.Device) bool { return d.Return != nvml.Success })
	for _, d := range devices {
		emitGPU(batch, snapshot, d)
		emitProcessList(batch, sample, d)
		emitInstances(batch, d)
		if d.Denied {
			batch.Lacks(needMIGMonitor)
		}
	}
	emitGPUProcesses(batch, sample, devices)
	return err
}

// noGPUExpected separates a machine without driver from one whose driver does not work.
func noGPUExpected(code nvml.Return) bool {
	switch code {
	case nvml.NotBuilt, nvml.LibraryNotFound, nvml.DriverNotLoaded:
		return true
	}
	return false
}

func emitGPU(batch *Batch, snapshot nvml.Snapshot, d nvml.Device) {
	uuid := d.UUID
	batch.Gauge(metric.GPUInfo, 1, uuid, strconv.Itoa(d.Index), d.Name, snapshot.DriverVersion,
		snapshot.CUDAVersion, d.VBIOS, d.PCIBusID, string(d.Architecture))
	for _, row := range gpuGauges() {
		if value := row.value(d); value != nil {
			batch.Gauge(row.metric, *value, uuid)
		}
	}
	if d.EnergyJoules != nil {
		batch.Counter(metric.GPUEnergyJoulesTotal, *d.EnergyJoules, uuid)
	}
	emitKeyed(batch.Gauge, metric.GPUTemperatureMarginCelsius, d.TemperatureMargins, uuid)
	emitKeyed(batch.Gauge, metric.GPURemappedRows, d.RemappedRows, uuid)
	emitKeyed(batch.Counter, metric.GPUClockEventSecondsTotal, d.ClockEventSeconds, uuid)
	emitKeyed(batch.Counter, metric.GPUECCErrorsTotal, d.ECCErrors, uuid)
	emitStates(batch, metric.GPUClockEventActive, d.ClockEventActive, uuid)
	emitStates(batch, metric.GPUCallSupported, d.Supported, uuid)
	emitLinks(batch, d)
	emitHung(batch, d)
}

// emitHung reports calls that have not returned: the call that the device's thread is in, and a wait for events, which
// has its own thread and is reported by a timeout. Other calls that the driver itself ends with a timeout have
// returned.
func emitHung(batch *Batch, d nvml.Device) {
	if d.Hung != "" {
		batch.Gauge(metric.GPUCallHung, 1, d.UUID, string(d.Hung))
	}
	if d.Errors[nvml.CallXIDErrors] == nvml.Timeout {
		batch.Gauge(metric.GPUCallHung, 1, d.UUID, string(nvml.CallXIDErrors))
	}
}

// gpuGauge is a series of one number of a device, absent where the device does not give it.
type gpuGauge struct {
	metric metric.Gauge
	value  func(nvml.Device) *float64
}

func gpuGauges() []gpuGauge {
	return []gpuGauge{
		{metric.GPUTemperatureCelsius, func(d nvml.Device) *float64 { return d.TemperatureCelsius }},
		{metric.GPUPowerWatts, func(d nvml.Device) *float64 { return d.PowerWatts }},
		{metric.GPUPowerLimitWatts, func(d nvml.Device) *float64 { return d.PowerLimitWatts }},
		{metric.GPUUtilizationRatio, func(d nvml.Device) *float64 { return d.UtilizationRatio }},
		{metric.GPUMemoryUtilizationRatio, func(d nvml.Device) *float64 { return d.MemoryUtilizationRatio }},
		{metric.GPUEncoderUtilizationRatio, func(d nvml.Device) *float64 { return d.EncoderRatio }},
		{metric.GPUDecoderUtilizationRatio, func(d nvml.Device) *float64 { return d.DecoderRatio }},
		{metric.GPUFanRatio, func(d nvml.Device) *float64 { return d.FanRatio }},
		{metric.GPUSMClockHertz, func(d nvml.Device) *float64 { return d.SMClockHertz }},
		{metric.GPUSMClockMaxHertz, func(d nvml.Device) *float64 { return d.SMClockMaxHertz }},
		{metric.GPUMemoryClockHertz, func(d nvml.Device) *float64 { return d.MemoryClockHertz }},
		{metric.GPUPerformanceState, func(d nvml.Device) *float64 { return d.PerformanceState }},
		{metric.GPUMemoryTotalBytes, func(d nvml.Device) *float64 { return d.MemoryTotalBytes }},
		{metric.GPUMemoryUsedBytes, func(d nvml.Device) *float64 { return d.MemoryUsedBytes }},
		{metric.GPUMemoryFreeBytes, func(d nvml.Device) *float64 { return d.MemoryFreeBytes }},
		{metric.GPUMemoryReservedBytes, func(d nvml.Device) *float64 { return d.MemoryReservedBytes }},
		{metric.GPUPCIeLinkGeneration, func(d nvml.Device) *float64 { return d.PCIeGeneration }},
		{metric.GPUPCIeLinkGenerationMax, func(d nvml.Device) *float64 { return d.PCIeGenerationMax }},
		{metric.GPUPCIeLinkLanes, func(d nvml.Device) *float64 { return d.PCIeLanes }},
		{metric.GPUPCIeLinkLanesMax, func(d nvml.Device) *float64 { return d.PCIeLanesMax }},
	}
}

func gpuMetrics() []metric.Definer {
	definers := []metric.Definer{
		metric.GPUInfo, metric.GPUEnergyJoulesTotal, metric.GPUTemperatureMarginCelsius, metric.GPURemappedRows,
		metric.GPUClockEventSecondsTotal, metric.GPUECCErrorsTotal, metric.GPUClockEventActive, metric.GPUCallSupported,
		metric.GPUCallHung, metric.GPUMemoryHeldBytes, metric.GPUProcesses, metric.GPUProcessListTrusted, metric.GPUProcessMemoryBytes,
		metric.GPULost, metric.GPUXIDErrorsTotal, metric.GPUNVLinkErrorsTotal, metric.GPUPCIeReplaysTotal, metric.GPUPCIeThroughputBytesPerSecond,
		metric.GPUMIGEnabled, metric.GPUMIGInstances, metric.GPUMIGInfo, metric.GPUMIGMemoryTotalBytes, metric.GPUMIGMemoryUsedBytes,
		metric.GPUMIGMemoryFreeBytes, metric.GPUMIGMemoryHeldBytes, metric.GPUMIGProcesses,
	}
	for _, row := range gpuGauges() {
		definers = append(definers, row.metric)
	}
	return definers
}

// emitKeyed adds one series per key of a device's values.
func emitKeyed[M any](add func(M, float64, ...string), m M, values map[string]float64, uuid string) {
	for key, value := range values {
		add(m, value, uuid, key)
	}
}

// emitStates adds 0 or 1 per key.
func emitStates[K ~string](batch *Batch, m metric.Gauge, states map[K]bool, uuid string) {
	for key, on := range states {
		batch.Gauge(m, number(on), uuid, string(key))
	}
}

// emitProcessList adds the figures of the whole process list. A list that was read and is empty is a counted 0; one
// that was not read, or that lacks figures, gives no sum.
func emitProcessList(batch *Batch, sample *Sample, d nvml.Device) {
	if !d.ProcessesRead {
		return
	}
	batch.Gauge(metric.GPUProcesses, float64(len(d.Processes)), d.UUID)
	if d.HeldKnown() {
		batch.Gauge(metric.GPUMemoryHeldBytes, float64(d.HeldBytes()), d.UUID)
	}
	if trusted, err := sample.ProcessesTrusted(); err == nil {
		batch.Gauge(metric.GPUProcessListTrusted, number(trusted), d.UUID)
	}
}

// emitGPUProcesses adds the largest holders over all devices, with the kernel's figures of them.
func emitGPUProcesses(batch *Batch, sample *Sample, devices []nvml.Device) {
	processes := sample.gpuProcesses(devices)
	for _, p := range processes[:min(len(processes), max(sample.options.ProcessLimit, 0))] {
		if p.UsedBytes == nil {
			return // processes without figures come last
		}
		batch.Gauge(metric.GPUProcessMemoryBytes, float64(*p.UsedBytes), p.UUID, strconv.FormatUint(uint64(p.PID), 10), p.Comm, p.Cgroup)
	}
}
