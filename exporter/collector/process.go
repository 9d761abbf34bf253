package collector

import (
	"context"
	"errors"
	"io/fs"
	"regexp"

	"github.com/prometheus/procfs"

	"github.com/umascope/umascope/exporter/hostfs"
	"github.com/umascope/umascope/exporter/metric"
)

// ProcessOptions are the settings of the process collector.
type ProcessOptions struct {
	// Match adds the processes whose name (comm) matches to those that hold GPU memory. Nil adds none.
	Match *regexp.Regexp
}

// processSpec is the collector of single processes.
func processSpec() Spec {
	return Spec{
		Name:    "process",
		Help:    "processes that use a GPU: resident memory by kind, swap, CPU time, storage I/O.",
		Metrics: processMetrics(),
		Needs:   []Need{inspectNeed("storage I/O of other users' processes is unknown: only cgroups show who reads and writes the drives")},
		Open: func(host Host, options Options) Collect {
			c := &processCollector{host: host, options: options, started: map[processID]float64{}}
			return c.collect
		},
	}
}

const inspectNeedName = "ptrace"

// inspectNeed is the access that collectors need to inspect processes of other users. File capabilities do not give it
// under no-new-privileges, which systemd and container runtimes set.
func inspectNeed(cost string) Need {
	return Need{
		Name: inspectNeedName,
		Cost: cost,
		Fix:  "give CAP_SYS_PTRACE and CAP_DAC_READ_SEARCH (in a shell: sudo; systemd: AmbientCapabilities=CAP_SYS_PTRACE CAP_DAC_READ_SEARCH; docker run --cap-add=SYS_PTRACE --cap-add=DAC_READ_SEARCH, in compose cap_add, and under AppArmor also --security-opt apparmor=unconfined), or run as the user of the engine",
		Met:  func(host Host) bool { return hostfs.MayInspect(host.Proc) },
	}
}

// processID identifies a process, also after its PID is reused.
type processID struct {
	pid   uint32
	start uint64 // in ticks since boot
}

// processCollector keeps process state between collections. The runner never runs a collector twice at a time.
type processCollector struct {
	host    Host
	options Options
	// started is the start time of each process, in seconds since 1970, computed on first sight: a later change of the
	// clock does not mean a new process.
	started map[processID]float64
}

func (c *processCollector) collect(ctx context.Context, sample *Sample, batch *Batch) error {
	pids, listErr := c.list(ctx, sample)
	if errors.Is(listErr, ErrAbsent) {
		return listErr
	}
	errs := []error{listErr}
	seen := map[processID]float64{}
	for _, pid := range pids {
		p, err := readProcess(c.host.Proc, pid)
		errs = append(errs, err)
		if p == nil {
			continue
		}
		emitProcess(batch, p)
		start, err := c.startOf(p)
		errs = append(errs, err)
		if err == nil {
			seen[p.id()] = start
			batch.Gauge(metric.ProcessStartTimeSeconds, start, p.labels()...)
		}
	}
	c.started = seen
	return errors.Join(errs...)
}

// startOf returns the start time of the process, in seconds since 1970.
func (c *processCollector) startOf(p *processReading) (float64, error) {
	if start, known := c.started[p.id()]; known {
		return start, nil
	}
	booted, err := hostfs.ReadBootTime(c.host.Proc)
	return p.stat.StartSeconds(booted), err
}

// processReading is one process at one moment.
type processReading struct {
	pid    uint32
	stat   hostfs.ProcessStat
	status hostfs.ProcessStatus
	cgroup string         // "" where the host has no cgroup v2
	io     *procfs.ProcIO // nil if not readable
}

func (p *processReading) id() processID { return processID{p.pid, p.stat.StartTicks} }

func (p *processReading) labels(more ...string) []string {
	return append([]string{pidLabel(p.pid), p.stat.Comm, p.cgroup}, more...)
}

// readProcess reads what is readable of a process, nil if it has ended or nothing of it may be read. Its start time is
// read before and after the rest: if the PID was reused in between, the reading is discarded. What could be read is
// returned with the error that prevented the rest.
func readProcess(proc hostfs.Dir, pid uint32) (*processReading, error) {
	p := &processReading{pid: pid}
	var err error
	if p.stat, err = hostfs.ReadProcessStat(proc, pid); err != nil {
		return nil, unlessHidden(err)
	}
	if p.status, err = hostfs.ReadProcessStatus(proc, pid); err != nil {
		return nil, unlessHidden(err)
	}
	io, ioErr := hostfs.ReadProcessIO(proc, pid)
	if ioErr == nil {
		p.io = &io
	}
	p.cgroup, _ = hostfs.ProcessCgroup(proc, pid)
	if again, err := hostfs.ReadProcessStat(proc, pid); err != nil || again.StartTicks != p.stat.StartTicks {
		return nil, unlessHidden(err)
	}
	return p, unlessHidden(ioErr)
}

// unlessHidden drops the error of a process that has ended, or that the reader may not inspect.
func unlessHidden(err error) error {
	if hostfs.IsGone(err) || errors.Is(err, fs.ErrPermission) {
		return nil
	}
	return err
}

func emitProcess(batch *Batch, p *processReading) {
	for _, kind := range residentKinds(p.status) {
		if kind.bytes != nil {
			batch.Gauge(metric.ProcessResidentBytes, float64(*kind.bytes), p.labels(kind.name)...)
		}
	}
	if p.status.Swap != nil {
		batch.Gauge(metric.ProcessSwapBytes, float64(*p.status.Swap), p.labels()...)
	}
	batch.Counter(metric.ProcessCPUSecondsTotal, p.stat.CPUSeconds, p.labels()...)
	batch.Gauge(metric.ProcessThreads, float64(p.stat.Threads), p.labels()...)
	if p.io != nil {
		batch.Counter(metric.ProcessIOBytesTotal, float64(p.io.ReadBytes), p.labels(metric.OpRead)...)
		batch.Counter(metric.ProcessIOBytesTotal, float64(p.io.WriteBytes), p.labels(metric.OpWrite)...)
		batch.Counter(metric.ProcessIOBytesTotal, float64(p.io.CancelledWriteBytes), p.labels(metric.OpCancelledWrite)...)
	}
}

// residentKind is an amount, nil if it is missing.
type residentKind struct {
	name  string
	bytes *uint64
}

func residentKinds(s hostfs.ProcessStatus) []residentKind {
	return []residentKind{
		{metric.ResidentAnon, s.Anon}, {metric.ResidentFile, s.File},
		{metric.ResidentShmem, s.Shmem}, {metric.ResidentHugetlb, s.Hugetlb},
	}
}

func processMetrics() []metric.Definer {
	return []metric.Definer{
		metric.ProcessResidentBytes, metric.ProcessSwapBytes, metric.ProcessCPUSecondsTotal, metric.ProcessThreads,
		metric.ProcessStartTimeSeconds, metric.ProcessIOBytesTotal,
	}
}
