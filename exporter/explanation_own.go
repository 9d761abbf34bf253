package exporter

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"time"

	"github.com/umascope/umascope/exporter/collector"
	"github.com/umascope/umascope/exporter/engine/spec"
	"github.com/umascope/umascope/exporter/hostfs"
)

// ownPrograms are the programs of umascope that run beside an engine.
func ownPrograms() []string { return []string{"uma-exporter", "uma-load", "uma-view"} }

// ownProcess is a process of umascope: what it takes is not the engine's.
type ownProcess struct {
	Program       string  `json:"program"`
	PID           uint32  `json:"pid"`
	ResidentBytes uint64  `json:"resident_bytes"`
	CPUSeconds    float64 `json:"cpu_seconds"`
	// CPURatio is the share of one core, as a mean since the process began. It is absent where the clock is not that of
	// the machine, as of a recording.
	CPURatio *float64 `json:"cpu_ratio,omitempty"`
}

// ownProcesses returns the processes of umascope on a machine, by program. now is the zero time if the clock is not that
// of the machine. A process that ends meanwhile is left out; without /proc there are none.
func ownProcesses(proc hostfs.Dir, now time.Time) []ownProcess {
	var all []ownProcess
	booted, bootErr := hostfs.ReadBootTime(proc)
	pids, _ := hostfs.ListProcesses(proc) // the memory collector reports a /proc that cannot be read
	for _, pid := range pids {
		stat, err := hostfs.ReadProcessStat(proc, pid)
		if err != nil || !slices.Contains(ownPrograms(), stat.Comm) {
			continue
		}
		status, err := hostfs.ReadProcessStatus(proc, pid)
		if err != nil {
			continue
		}
		one := ownProcess{Program: stat.Comm, PID: pid, CPUSeconds: stat.CPUSeconds}
		for _, bytes := range []*uint64{status.Anon, status.File, status.Shmem} {
			if bytes != nil {
				one.ResidentBytes += *bytes
			}
		}
		age := float64(now.UnixNano())/1e9 - stat.StartSeconds(booted)
		if bootErr == nil && !now.IsZero() && age > 0 {
			one.CPURatio = new(stat.CPUSeconds / age)
		}
		all = append(all, one)
	}
	slices.SortFunc(all, func(a, b ownProcess) int { return cmp.Or(cmp.Compare(a.Program, b.Program), cmp.Compare(a.PID, b.PID)) })
	return all
}

// explained explains a scrape of the exporter's host, with the processes of umascope there.
func (e *Exporter) explained(scrape *collector.Scrape) explanation {
	x := explain(scrape)
	now := time.Time{}
	if scrape.Mode == collector.Live {
		now = time.Now()
	}
	x.Own = ownProcesses(e.proc, now)
	x.setKnown(e.settings.Options.Sources.Known)
	return x
}

// setKnown sets the engines that notes name. An explanation of a running exporter comes without them.
func (x *explanation) setKnown(engines spec.Engines) {
	if x.Memory != nil {
		x.Memory.known = engines
	}
}

// leaveOut removes a process.
func (x *explanation) leaveOut(pid string) {
	x.Own = slices.DeleteFunc(x.Own, func(p ownProcess) bool { return strconv.FormatUint(uint64(p.PID), 10) == pid })
}

// Memory is the resident memory in MiB.
func (p ownProcess) Memory() string { return fmt.Sprintf("%.1f", float64(p.ResidentBytes)/(1<<20)) }

// CPU is the share of one core in percent.
func (p ownProcess) CPU() string {
	if p.CPURatio == nil {
		return "unknown"
	}
	return fmt.Sprintf("%.2f", 100**p.CPURatio)
}

func printOwn(out io.Writer, all []ownProcess) {
	for i, p := range all {
		if i == 0 {
			fmt.Fprintf(out, "\numascope itself\n  %9s %13s %9s  %s\n", "MiB", "% of a core", "pid", "program")
		}
		fmt.Fprintf(out, "  %9s %13s %9d  %s\n", p.Memory(), p.CPU(), p.PID, printable(p.Program))
	}
}
