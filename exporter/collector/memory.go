package collector

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strconv"

	"github.com/umascope/umascope/exporter/hostfs"
	"github.com/umascope/umascope/exporter/metric"
)

// memorySpec is the collector of the pool: its parts and its pressure.
func memorySpec() Spec {
	return Spec{
		Name:    "memory",
		Help:    "the pool and the ledger that splits it; what CUDA reports of it and what can be allocated; contiguous blocks, pressure, swap; whose page cache it is.",
		Metrics: memoryMetrics(),
		Needs: []Need{{
			Name: "host_cgroups",
			Cost: "ledger line managed is unknown: memory of cudaMallocManaged stays in unattributed",
			Fix:  "boot with cgroup v2; in a container mount the host's tree (docker run -v /sys/fs/cgroup:/host/cgroup:ro) and pass --path.cgroupfs=/host/cgroup",
			Met:  func(host Host) bool { return hostfs.CheckHostCgroups(host.Cgroup) == nil },
		}, needPageCache()},
		Open: func(host Host, options Options) Collect {
			cache := newPageCache(host, options)
			return func(ctx context.Context, sample *Sample, batch *Batch) error {
				cache.refresh()
				return errors.Join(collectMemory(ctx, host, sample, batch), cache.emit(ctx, sample, batch))
			}
		},
	}
}

// collectMemory emits the available figures. Only meminfo is required: kernels may be built without the rest.
func collectMemory(ctx context.Context, host Host, sample *Sample, batch *Batch) error {
	reading, err := sample.Memory(ctx)
	if err != nil {
		return err
	}
	emitLedger(batch, reading)
	emitMeminfo(batch, reading)
	vmstat, err := hostfs.ReadVmstat(host.Proc)
	pageSize := host.PageSize
	if pageSize == 0 {
		pageSize = hostfs.PageSize(reading.Meminfo, vmstat)
	}
	emitVmstat(batch, vmstat, pageSize)
	return errors.Join(
		unlessMissing(err),
		unlessMissing(emitContiguous(batch, host.Proc, pageSize)),
		emitPressure(batch, host.Proc),
	)
}

// unlessMissing drops the error of a file that the kernel does not have.
func unlessMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

func emitLedger(batch *Batch, reading MemoryReading) {
	for _, line := range reading.Lines {
		batch.Gauge(metric.MemoryLedgerLineKnown, number(!line.Unknown), line.Name)
		if !line.Unknown {
			batch.Gauge(metric.MemoryLedgerBytes, line.Bytes, line.Name)
		}
	}
}

// meminfoGauge is a series that is one field of meminfo.
type meminfoGauge struct {
	metric metric.Gauge
	field  string
}

func meminfoGauges() []meminfoGauge {
	return []meminfoGauge{
		{metric.MemoryPoolBytes, "MemTotal"},
		{metric.MemoryAvailableBytes, "MemAvailable"},
		{metric.MemoryDirtyBytes, "Dirty"},
		{metric.MemorySwapTotalBytes, "SwapTotal"},
		{metric.MemorySwapFreeBytes, "SwapFree"},
	}
}

// emitMeminfo emits fields of meminfo, and what CUDA reports and can allocate where its memory is the pool.
func emitMeminfo(batch *Batch, reading MemoryReading) {
	for _, row := range meminfoGauges() {
		if bytes, there := reading.Meminfo[row.field]; there {
			batch.Gauge(row.metric, float64(bytes))
		}
	}
	if !reading.Architecture.InPool() {
		return
	}
	free, hasFree := reading.Meminfo["MemFree"]
	available, hasAvailable := reading.Meminfo["MemAvailable"]
	if hasFree {
		batch.Gauge(metric.MemoryCUDAFreeBytes, float64(free))
	}
	if can, known := reading.Allocatable(); known {
		batch.Gauge(metric.MemoryAllocatableBytes, float64(can.UpTo))
	}
	if hasFree && hasAvailable {
		batch.Gauge(metric.MemoryHiddenByCacheBytes, float64(available)-float64(free))
	}
}

// contiguousBlocks are the block sizes that matter: the GPU's large page, the huge page that drivers
// map memory with, and twice that, which shows a shortage coming.
func contiguousBlocks() []uint64 { return []uint64{64 << 10, 2 << 20, 4 << 20} }

func emitContiguous(batch *Batch, proc hostfs.Dir, pageSize int) error {
	zones, err := hostfs.ReadBuddyinfo(proc)
	if err != nil {
		return err
	}
	if pageSize == 0 {
		return errors.New("buddyinfo counts in pages, whose size is not known")
	}
	for _, block := range contiguousBlocks() {
		batch.Gauge(metric.MemoryFreeContiguousBytes, hostfs.FreeContiguousBytes(zones, block, pageSize),
			strconv.FormatUint(block, 10))
	}
	return nil
}

// vmstatCounter is a series that is one count of vmstat.
type vmstatCounter struct {
	metric  metric.Counter
	counter string
	pages   bool // counted in pages
}

func vmstatCounters() []vmstatCounter {
	return []vmstatCounter{
		{metric.VmstatSwappedInBytesTotal, "pswpin", true},
		{metric.VmstatSwappedOutBytesTotal, "pswpout", true},
		{metric.VmstatCompactionStallsTotal, "compact_stall", false},
		{metric.VmstatCompactionFailuresTotal, "compact_fail", false},
		{metric.VmstatOOMKillsTotal, "oom_kill", false},
		{metric.VmstatMajorPageFaultsTotal, "pgmajfault", false},
	}
}

func emitVmstat(batch *Batch, vmstat hostfs.Vmstat, pageSize int) {
	for _, row := range vmstatCounters() {
		count, there := vmstat[row.counter]
		switch {
		case !there, row.pages && pageSize == 0:
		case row.pages:
			batch.Counter(row.metric, float64(count)*float64(pageSize))
		default:
			batch.Counter(row.metric, float64(count))
		}
	}
}

// emitPressure leaves out the stall time of cpu: it is undefined for the whole machine, and the kernel writes a
// constant 0 (Documentation/accounting/psi.rst).
func emitPressure(batch *Batch, proc hostfs.Dir) error {
	var errs []error
	for _, resource := range hostfs.PressureResources() {
		pressure, err := hostfs.ReadPressure(proc, resource)
		if err = unlessMissing(err); err != nil {
			errs = append(errs, fmt.Errorf("pressure: %w", err))
		}
		if pressure.Some != nil {
			batch.Counter(metric.PressureWaitingSecondsTotal, *pressure.Some, resource)
		}
		if pressure.Full != nil && resource != "cpu" {
			batch.Counter(metric.PressureStalledSecondsTotal, *pressure.Full, resource)
		}
	}
	return errors.Join(errs...)
}

func memoryMetrics() []metric.Definer {
	definers := []metric.Definer{
		metric.MemoryLedgerBytes, metric.MemoryLedgerLineKnown, metric.MemoryCUDAFreeBytes, metric.MemoryAllocatableBytes,
		metric.MemoryHiddenByCacheBytes, metric.MemoryFreeContiguousBytes,
		metric.PressureWaitingSecondsTotal, metric.PressureStalledSecondsTotal,
		metric.PageCacheResidentBytes, metric.PageCacheKnown,
	}
	for _, row := range meminfoGauges() {
		definers = append(definers, row.metric)
	}
	for _, row := range vmstatCounters() {
		definers = append(definers, row.metric)
	}
	return definers
}
