package collect

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/umascope/umascope/exporter/kernelfs"
	"github.com/umascope/umascope/exporter/metric"
	"github.com/umascope/umascope/exporter/nvml"
)

// gpuSpec is the collector of GPUs: what the driver library says of every device.
func gpuSpec() Spec {
	return Spec{
		Name:    "gpu",
		Help:    "GPUs by the NVIDIA driver library: memory held, power, clocks, temperature, what the driver does not support.",
		Metrics: gpuMetrics(),
		Needs: []Need{{
			Name: "host_pid_namespace",
			Cost: "the driver leaves processes of other PID namespaces out of its lists without a word: GPU memory looks as if nobody held it",
			Mend: "start the container with the host's PID namespace (docker run --pid=host, in compose pid: host)",
			Met:  processListTrusted,
		}},
		Open: func(host Host, options Options) Collect {
			return func(ctx context.Context, sample *Sample, batch *Batch) error {
				return collectGPU(ctx, host, options, sample, batch)
			}
		},
	}
}

// processListTrusted says whether the driver lists the processes of the whole host. The lists of
// another machine were judged where they were recorded.
func processListTrusted(host Host) bool {
	if host.ForeignGPU {
		return true
	}
	whole, err := kernelfs.HostPIDNamespace(host.Proc)
	return err == nil && whole
}

func collectGPU(ctx context.Context, host Host, options Options, sample *Sample, batch *Batch) error {
	snapshot, err := sample.GPU(ctx).Snapshot(ctx)
	switch {
	case errors.Is(err, nvml.ErrUnavailable) && noGPUExpected(snapshot.Return):
		return fmt.Errorf("%w: %w", ErrAbsent, err)
	case err == nil && snapshot.DeviceCount == 0:
		return errors.New("the driver lists no GPU")
	}
	for _, device := range snapshot.Devices {
		// Of a device that is lost nothing is served, not even what was read before it fell silent.
		if device.Return == nvml.Success {
			emitGPU(batch, snapshot, device)
			emitProcessList(batch, host, device)
		}
	}
	emitGPUProcesses(batch, host, options, snapshot.Devices)
	return err
}

// noGPUExpected tells a machine without driver from one whose driver does not work.
func noGPUExpected(code nvml.Return) bool {
	switch code {
	case nvml.NotBuilt, nvml.LibraryNotFound, nvml.DriverNotLoaded:
		return true
	}
	return false
}

// deviceLabel is the label uuid; a device whose UUID could not be read goes by its index.
func deviceLabel(d nvml.Device) string {
	return cmp.Or(d.UUID, "gpu"+strconv.Itoa(d.Index))
}

func emitGPU(batch *Batch, snapshot nvml.Snapshot, d nvml.Device) {
	uuid := deviceLabel(d)
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
	if d.Hung != "" {
		batch.Gauge(metric.GPUCallHung, 1, uuid, string(d.Hung))
	}
}

// gpuGauge is a series that is one number of a device, absent where the device does not give it.
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
	}
}

func gpuMetrics() []metric.Definer {
	definers := []metric.Definer{
		metric.GPUInfo, metric.GPUEnergyJoulesTotal, metric.GPUTemperatureMarginCelsius, metric.GPURemappedRows,
		metric.GPUClockEventSecondsTotal, metric.GPUECCErrorsTotal, metric.GPUClockEventActive, metric.GPUCallSupported,
		metric.GPUCallHung, metric.GPUMemoryHeldBytes, metric.GPUProcesses, metric.GPUProcessListTrusted, metric.GPUProcessMemoryBytes,
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
		batch.Gauge(m, boolean(on), uuid, string(key))
	}
}

func boolean(on bool) float64 {
	if on {
		return 1
	}
	return 0
}

// emitProcessList adds what the process list says as a whole. A list that was read and is empty is a
// counted 0; one that was not read, or that lacks figures, gives no sum.
func emitProcessList(batch *Batch, host Host, d nvml.Device) {
	if !d.ProcessesRead {
		return
	}
	uuid := deviceLabel(d)
	batch.Gauge(metric.GPUProcesses, float64(len(d.Processes)), uuid)
	if d.HeldKnown() {
		batch.Gauge(metric.GPUMemoryHeldBytes, float64(d.HeldBytes()), uuid)
	}
	if !host.ForeignGPU {
		batch.Gauge(metric.GPUProcessListTrusted, boolean(processListTrusted(host)), uuid)
	}
}

// holder is a process that holds memory of a device.
type holder struct {
	uuid  string
	pid   uint32
	bytes uint64
}

// emitGPUProcesses adds the largest holders over all devices, with what the kernel knows of them.
func emitGPUProcesses(batch *Batch, host Host, options Options, devices []nvml.Device) {
	for _, h := range largestHolders(devices, options.ProcessLimit) {
		var comm, cgroup string
		if !host.ForeignGPU {
			// A process may end between the two lists: its memory was held all the same.
			comm, _ = kernelfs.Comm(host.Proc, h.pid)
			cgroup, _ = kernelfs.ProcessCgroup(host.Proc, h.pid)
		}
		batch.Gauge(metric.GPUProcessMemoryBytes, float64(h.bytes), h.uuid, strconv.FormatUint(uint64(h.pid), 10), comm, cgroup)
	}
}

func largestHolders(devices []nvml.Device, limit int) []holder {
	var holders []holder
	for _, d := range devices {
		if d.Return != nvml.Success {
			continue
		}
		for _, p := range d.Processes {
			if p.UsedBytes != nil {
				holders = append(holders, holder{deviceLabel(d), p.PID, *p.UsedBytes})
			}
		}
	}
	slices.SortStableFunc(holders, func(a, b holder) int { return cmp.Compare(b.bytes, a.bytes) })
	return holders[:min(len(holders), max(limit, 0))]
}
