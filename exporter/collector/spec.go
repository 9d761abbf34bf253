// Package collector holds one file per collector and the runner that gives each of them a
// deadline, a private batch and one of three outcomes: ok, absent, failed.
package collector

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/umascope/umascope/exporter/hostfs"
	"github.com/umascope/umascope/exporter/metric"
	"github.com/umascope/umascope/exporter/nvml"
)

// ErrAbsent is wrapped by a collector on a machine that lacks its subject: hardware, kernel feature or driver is
// missing. That is an outcome of its own, not a failure.
var ErrAbsent = errors.New("absent")

// Mode is the origin of the figures.
type Mode string

// The modes. Figures of different modes are never on one page.
const (
	Live        Mode = metric.ModeLive
	Replay      Mode = metric.ModeReplay
	Constructed Mode = metric.ModeConstructed
	Simulated   Mode = metric.ModeSimulated
)

// Modes lists them all, for the state set.
func Modes() []Mode { return []Mode{Live, Replay, Constructed, Simulated} }

// Host is the difference between a machine, a recording of one and a test.
type Host struct {
	// Proc, Sys and Cgroup are the roots of procfs, sysfs and cgroup v2.
	Proc, Sys, Cgroup hostfs.Dir
	// Refresh brings those files up to date and is called when a collection begins; nil where the kernel does, and where
	// they never change.
	Refresh func() error
	// Remove removes the files of a host that has them in a folder of its own; nil for the running machine. See Close.
	Remove func()
	// GPU reads the devices; a reader without a driver reports why.
	GPU *nvml.Reader
	// PageSize is the page size in bytes of the kernel that wrote the files, 0 if unknown; it is then estimated from them.
	PageSize int
	// ForeignGPU reports that GPU belongs to another machine than Proc, as when a recording is served with the live
	// /proc: its process lists must not enter the memory ledger, nor may its PIDs be looked up in Proc.
	ForeignGPU bool
	// HTTP reaches the endpoints of engines; for a recording it answers with the pages in it. Nil
	// reaches none.
	HTTP http.RoundTripper
	// Loopback reaches what listens on loopback addresses of this machine, for the discovery of engines. Nil where there
	// is no such machine, as of a recording: there is no discovery.
	Loopback http.RoundTripper
	// Logs is the folder below which the logs that options name have their absolute paths, "/" on the running machine; ""
	// has none.
	Logs string
	// SMARTLog reads the health log of an NVMe controller such as nvme0, 512 bytes (log page 02h of
	// the NVMe base specification). Nil where no device can be asked, as of a recording.
	SMARTLog func(controller string) ([]byte, error)
	// KernelLog opens the log of the kernel at its present end. The function that it returns gives one record, or hostfs.ErrNoRecord
	// or hostfs.ErrOverrun, and never waits. Nil where there is no log of this host, as of a recording.
	KernelLog func() (next func() (string, error), err error)
	// CacheResident returns how much of the file or directory at path is in the page cache, in bytes. Nil without a
	// page cache to read.
	CacheResident func(ctx context.Context, path string) (uint64, error)
	// Mode is the label of everything read from this host.
	Mode Mode
	// Now is the clock, nil for the wall clock.
	Now func() time.Time
}

// Close releases the driver, and the files of a host that is not the running machine.
func (h Host) Close() {
	h.GPU.Close()
	if h.Remove != nil {
		h.Remove()
	}
}

// Options are the settings of single collectors. The zero value of each is its default unless noted.
type Options struct {
	// Architecture overrides the memory architecture of every device, "" detects it.
	Architecture nvml.Architecture
	// ProcessLimit is the maximum number of processes with their own series, GPU holders and others, largest first.
	ProcessLimit int
	// PCIeThroughput enables reading of PCIe traffic, for which the driver keeps each device busy for 40 ms.
	PCIeThroughput bool
	// CachePaths are files and directories whose share of the page cache is looked up.
	CachePaths []string
	// NVMeSMART enables reading of the drives' health logs, which needs root.
	NVMeSMART bool
	// KernelLog counts errors of NVIDIA's driver in the kernel log, which needs CAP_SYSLOG.
	KernelLog bool
	// Cgroups, Processes, Sources belong to the collectors of those names; Sources to kvbm and engine.
	Cgroups   CgroupOptions
	Processes ProcessOptions
	Sources   SourceOptions
}

// Collect reads one subject into the batch. Values that it has put into the batch before it returns an error are
// served; the batch of a collector that panics or overruns its deadline is dropped.
type Collect func(ctx context.Context, sample *Sample, batch *Batch) error

// Need is access that part of a collector depends on.
type Need struct {
	// Name is the value of the label needs, such as host_pid_namespace.
	Name string
	// Cost is what is lost without it, Fix the command or setting that provides it.
	Cost, Fix string
	// Met checks whether the host meets it; nil where only the collector finds out, by Batch.Lacks.
	Met func(Host) bool
	// Asked reports whether the settings enable that part of the collector and the host has it; nil if it is always read.
	Asked func(Host, Options) bool
}

// Spec describes a collector.
type Spec struct {
	// Name is the collector's name everywhere: flag, label, file.
	Name string
	// Help is one line for --help and doctor.
	Help string
	// Metrics are the families that it may put into a batch; others are refused.
	Metrics []metric.Definer
	// Needs are its requirements beyond being started.
	Needs []Need
	// Open prepares a collect function for a host.
	Open func(Host, Options) Collect
}
