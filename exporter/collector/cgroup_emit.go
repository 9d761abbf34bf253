package collector

import (
	"cmp"
	"strings"

	"github.com/umascope/umascope/exporter/hostfs"
	"github.com/umascope/umascope/exporter/metric"
)

// cgroupEmitter adds cgroups to a batch.
type cgroupEmitter struct {
	batch   *Batch
	sys     hostfs.Dir
	held    gpuHeld
	kinds   []string          // of memory.stat
	devices map[string]string // names of block devices by number
}

func newCgroupEmitter(batch *Batch, sys hostfs.Dir, held gpuHeld, detail bool) *cgroupEmitter {
	e := &cgroupEmitter{batch: batch, sys: sys, held: held, kinds: metric.CgroupKinds(), devices: map[string]string{}}
	if detail {
		e.kinds = hostfs.MemoryStatAmounts()
	}
	return e
}

func emitCgroupInfo(batch *Batch, c candidate, name hostfs.ContainerName) {
	above := cmp.Or(c.path[:strings.LastIndexByte(c.path, '/')], "/")
	batch.Gauge(metric.CgroupInfo, 1, c.path, above, c.identity.Runtime, c.identity.ID,
		cmp.Or(name.Container, c.identity.Name), name.Image, name.Pod, cmp.Or(c.identity.PodUID, name.PodUID), name.Namespace)
}

func (e *cgroupEmitter) emit(c cgroupReading) {
	e.emitMemory(c)
	e.emitGPU(c)
	e.emitIO(c)
	for mode, seconds := range map[string]*float64{metric.CPUModeUser: c.files.CPU.User, metric.CPUModeSystem: c.files.CPU.System} {
		if seconds != nil {
			e.batch.Counter(metric.CgroupCPUSecondsTotal, *seconds, c.path, mode)
		}
	}
	for event, count := range c.files.Events {
		e.batch.Counter(metric.CgroupMemoryEventsTotal, float64(count), c.path, event)
	}
	for resource, pressure := range c.files.Pressure {
		if pressure.Some != nil {
			e.batch.Counter(metric.CgroupPressureWaitingSecondsTotal, *pressure.Some, c.path, resource)
		}
		// The stall time of a whole machine for cpu is undefined; that of a cgroup is defined: time in which its quota
		// kept all of it from running.
		if pressure.Full != nil {
			e.batch.Counter(metric.CgroupPressureStalledSecondsTotal, *pressure.Full, c.path, resource)
		}
	}
}

func (e *cgroupEmitter) emitMemory(c cgroupReading) {
	for _, row := range cgroupGauges() {
		if amount := row.value(c.files); amount != nil {
			e.batch.Gauge(row.metric, float64(*amount), c.path)
		}
	}
	for _, kind := range e.kinds {
		if bytes, counted := c.stat[kind]; counted {
			e.batch.Gauge(metric.CgroupMemoryStatBytes, float64(bytes), c.path, kind)
		}
	}
	if bytes, counted := c.stat.KernelOther(); counted {
		e.batch.Gauge(metric.CgroupKernelOtherBytes, float64(bytes), c.path)
	}
}

// emitGPU adds the GPU memory that the cgroup holds and that is not charged to it. A cgroup without GPU processes holds
// a counted 0, but only if the process lists are complete.
func (e *cgroupEmitter) emitGPU(c cgroupReading) {
	if !e.held.known {
		return
	}
	e.batch.Gauge(metric.CgroupGPUMemoryBytes, float64(e.held.bytes[c.path]), c.path)
	if !e.held.inPool || c.files.Current == nil {
		return
	}
	current, held := float64(*c.files.Current), float64(e.held.fromPool[c.path])
	if inactive, counted := c.stat["inactive_file"]; counted {
		e.batch.Gauge(metric.CgroupFootprintBytes, current-float64(inactive)+held, c.path)
	}
	if c.files.Max != nil {
		// The ratio is 0 when both are 0.
		e.batch.Gauge(metric.CgroupLimitUncoveredRatio, held/max(held+current, 1), c.path)
	}
}

func (e *cgroupEmitter) emitIO(c cgroupReading) {
	for _, io := range c.files.IO {
		device := e.deviceName(io.Device)
		for _, row := range []struct {
			op    string
			count hostfs.IOCount
		}{{metric.OpRead, io.Reads}, {metric.OpWrite, io.Writes}, {metric.OpDiscard, io.Discards}} {
			e.batch.Counter(metric.CgroupIOBytesTotal, float64(row.count.Bytes), c.path, device, row.op)
			e.batch.Counter(metric.CgroupIOOperationsTotal, float64(row.count.Operations), c.path, device, row.op)
		}
	}
}

// deviceName returns the name of a block device, its number where sysfs has no name.
func (e *cgroupEmitter) deviceName(number string) string {
	name, known := e.devices[number]
	if !known {
		var err error
		if name, err = hostfs.BlockDeviceName(e.sys, number); err != nil {
			name = number
		}
		e.devices[number] = name
	}
	return name
}

// cgroupGauge is a series of one amount of a cgroup.
type cgroupGauge struct {
	metric metric.Gauge
	value  func(hostfs.Cgroup) *uint64
}

func cgroupGauges() []cgroupGauge {
	return []cgroupGauge{
		{metric.CgroupMemoryCurrentBytes, func(c hostfs.Cgroup) *uint64 { return c.Current }},
		{metric.CgroupMemoryPeakBytes, func(c hostfs.Cgroup) *uint64 { return c.Peak }},
		{metric.CgroupMemoryMaxBytes, func(c hostfs.Cgroup) *uint64 { return c.Max }},
		{metric.CgroupMemoryHighBytes, func(c hostfs.Cgroup) *uint64 { return c.High }},
		{metric.CgroupSwapBytes, func(c hostfs.Cgroup) *uint64 { return c.Swap }},
		{metric.CgroupTasks, func(c hostfs.Cgroup) *uint64 { return c.Tasks }},
	}
}

func cgroupMetrics() []metric.Definer {
	definers := []metric.Definer{
		metric.CgroupInfo, metric.CgroupExcluded, metric.CgroupMemoryStatBytes, metric.CgroupKernelOtherBytes,
		metric.CgroupMemoryEventsTotal, metric.CgroupPressureWaitingSecondsTotal, metric.CgroupPressureStalledSecondsTotal,
		metric.CgroupIOBytesTotal, metric.CgroupIOOperationsTotal, metric.CgroupCPUSecondsTotal, metric.CgroupGPUMemoryBytes,
		metric.CgroupFootprintBytes, metric.CgroupLimitUncoveredRatio,
	}
	for _, row := range cgroupGauges() {
		definers = append(definers, row.metric)
	}
	return definers
}
