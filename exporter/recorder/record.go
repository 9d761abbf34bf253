package recorder

import (
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/umascope/umascope/exporter/hostfs"
	"github.com/umascope/umascope/exporter/ledger"
)

// Record is one entry of a ring. Exactly one of Start, Sample and Stop is set.
type Record struct {
	Sequence    uint64  `json:"sequence"`
	Machine     string  `json:"machine,omitempty"`
	Boot        string  `json:"boot"`
	PID         int     `json:"pid"`
	UnixMS      int64   `json:"unix_ms"`
	MonotonicMS int64   `json:"monotonic_ms"`
	Start       *Start  `json:"start,omitempty"`
	Sample      *Sample `json:"sample,omitempty"`
	Stop        *Stop   `json:"stop,omitempty"`
}

// Time is the wall clock of a record.
func (r Record) Time() time.Time { return time.UnixMilli(r.UnixMS) }

// Start is what a recorder finds when it starts. It says what happened since the last record of the same boot.
type Start struct {
	Version string `json:"version,omitempty"`
	OOM     OOM    `json:"oom"`
	// KernelRead reports that the kernel log of this boot was read, from the oldest record that the kernel still has.
	KernelRead bool `json:"kernel_read"`
	// Kernel are the lines of it that matter, the latest if there are many.
	Kernel []KernelLine `json:"kernel,omitempty"`
}

// Stop is written when the recorder is asked to stop.
type Stop struct {
	// System is the state of the machine by systemctl is-system-running: stopping while it shuts down, "" if not known.
	System string `json:"system,omitempty"`
}

// OOM counts what the kernel killed because memory ran out. Nil is unknown.
type OOM struct {
	// Kills are those of the machine since boot (/proc/vmstat oom_kill).
	Kills *uint64 `json:"kills,omitempty"`
	// GroupLimits and GroupKills are oom and oom_kill in memory.events of the cgroup above the recorder's, which outlives
	// it and counts those below it too. oom is counted only where a limit of a cgroup was reached.
	GroupLimits *uint64 `json:"group_limits,omitempty"`
	GroupKills  *uint64 `json:"group_kills,omitempty"`
}

// Sample is a machine at one moment. What could not be read is absent.
type Sample struct {
	Memory  *Memory  `json:"memory,omitempty"`
	Holders []Holder `json:"holders,omitempty"`
	// Groups are the cgroups with most memory charged, read every few seconds.
	Groups  []Group  `json:"groups,omitempty"`
	GPUs    []GPU    `json:"gpus,omitempty"`
	Engines []Engine `json:"engines,omitempty"`
	// Pressure is by resource, in seconds since boot.
	Pressure map[string]Pressure `json:"pressure,omitempty"`
	OOM      OOM                 `json:"oom"`
	// KernelRead reports that lines of the kernel log since the last sample are in Kernel, where they matter.
	KernelRead bool         `json:"kernel_read,omitempty"`
	Kernel     []KernelLine `json:"kernel,omitempty"`
	// Missing are the collectors that failed.
	Missing []string `json:"missing,omitempty"`
	// TookMS is how long it took to read.
	TookMS int64 `json:"took_ms"`
}

// Memory is the pool in bytes: the ledger by line, and what meminfo has free and available.
type Memory struct {
	Pool      uint64        `json:"pool"`
	Free      *uint64       `json:"free,omitempty"`
	Available *uint64       `json:"available,omitempty"`
	Lines     ledger.Ledger `json:"lines"`
}

// Holder is a process with GPU memory.
type Holder struct {
	PID   uint32  `json:"pid"`
	Comm  string  `json:"comm"`
	GPU   int     `json:"gpu"`
	Bytes *uint64 `json:"bytes,omitempty"`
}

// Group is a cgroup and the memory that is charged to it.
type Group struct {
	Cgroup string `json:"cgroup"`
	Bytes  uint64 `json:"bytes"`
}

// GPU is a device, in base units. Reasons are those for its present clock.
type GPU struct {
	Index       int      `json:"gpu"`
	Lost        bool     `json:"lost,omitempty"`
	Utilization *float64 `json:"utilization_ratio,omitempty"`
	ClockHertz  *float64 `json:"sm_clock_hertz,omitempty"`
	Watts       *float64 `json:"watts,omitempty"`
	Celsius     *float64 `json:"celsius,omitempty"`
	HeldBytes   *uint64  `json:"held_bytes,omitempty"`
	Reasons     []string `json:"clock_event_reasons,omitempty"`
	// XIDs are critical errors since the exporter's start, all codes together; nil if the driver reports none.
	XIDs *uint64 `json:"xids,omitempty"`
}

// Engine is the KV cache of a model of an engine, read every few seconds.
type Engine struct {
	Source  string   `json:"source"`
	Model   string   `json:"model"`
	KVRatio *float64 `json:"kv_used_ratio,omitempty"`
}

// Pressure is the time in which some or all tasks waited, in seconds since boot.
type Pressure struct {
	Some *float64 `json:"some,omitempty"`
	Full *float64 `json:"full,omitempty"`
}

// KernelLine is a line of the kernel log that matters.
type KernelLine struct {
	MonotonicMS int64  `json:"monotonic_ms"`
	Text        string `json:"text"`
	// Killed is the PID that the line reports as killed because memory ran out, Cgroup whether by a cgroup's limit.
	Killed uint32 `json:"killed,omitempty"`
	Cgroup bool   `json:"cgroup,omitempty"`
	// Driver reports an error of NVIDIA's driver.
	Driver bool `json:"driver,omitempty"`
}

// The most of each list in a record, and the longest of its texts, which others write.
const (
	MostHolders = 8
	MostGroups  = 5
	MostGPUs    = 8
	MostEngines = 6
	mostLines   = 16
	mostText    = 120
	mostComm    = 16
	errorLevel  = 3 // printk's level of errors; lower ones are worse
)

// NewKernelLine keeps a line of the kernel log if it matters: an error of the kernel, a line of NVIDIA's driver, a process
// killed because memory ran out or an allocation that failed.
func NewKernelLine(record hostfs.KernelRecord) (KernelLine, bool) {
	line := KernelLine{MonotonicMS: record.Since.Milliseconds(), Text: clip(record.Message, mostText)}
	kill, killed := record.OOMKill()
	_, failed := record.FailedAllocation()
	_, line.Driver = record.DriverLine()
	line.Killed, line.Cgroup = kill.PID, kill.Cgroup
	return line, killed || failed || line.Driver || record.Facility == 0 && record.Level <= errorLevel
}

// latest are the last lines of many.
func latest(lines []KernelLine) []KernelLine { return lines[max(0, len(lines)-mostLines):] }

// clip makes a text of others safe to keep and to print, and bounds its length in bytes.
func clip(text string, most int) string {
	text = strings.Map(func(r rune) rune {
		if r == utf8.RuneError || !unicode.IsPrint(r) {
			return '?'
		}
		return r
	}, text)
	if len(text) <= most {
		return text
	}
	for !utf8.RuneStart(text[most]) {
		most--
	}
	return text[:most]
}

// bounded returns the record with lists and texts cut, so that it fits a slot. The ledger has fewer lines than any limit here.
func (r Record) bounded() Record {
	if r.Start != nil {
		start := *r.Start
		start.Version, start.Kernel = clip(start.Version, mostText), latest(start.Kernel)
		r.Start = &start
	}
	if r.Sample == nil {
		return r
	}
	s := *r.Sample
	s.Kernel = latest(s.Kernel)
	s.GPUs = s.GPUs[:min(len(s.GPUs), MostGPUs)]
	s.Holders = clipped(s.Holders, MostHolders, func(h *Holder) { h.Comm = clip(h.Comm, mostComm) })
	s.Groups = clipped(s.Groups, MostGroups, func(g *Group) { g.Cgroup = clip(g.Cgroup, mostText) })
	s.Engines = clipped(s.Engines, MostEngines, func(e *Engine) { e.Source, e.Model = clip(e.Source, mostText), clip(e.Model, mostText) })
	r.Sample = &s
	return r
}

// clipped returns a copy of at most so many, each clipped.
func clipped[T any](list []T, most int, clip func(*T)) []T {
	short := append([]T(nil), list[:min(len(list), most)]...)
	for i := range short {
		clip(&short[i])
	}
	return short
}
