package runner

import (
	"os"
	"runtime"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/umascope/umascope/exporter/metric"
	"github.com/umascope/umascope/loadgen/rundir"
	"github.com/umascope/umascope/loadgen/telemetry"
)

// ThisMachine returns the facts of the machine that this program runs on.
func ThisMachine() rundir.Client {
	facts := rundir.Client{Arch: runtime.GOARCH, Cores: runtime.GOMAXPROCS(0)}
	zone, offset := time.Now().Zone()
	facts.TimeZone = &rundir.TimeZone{Name: zone, OffsetSeconds: offset}
	// Facts that cannot be read stay empty: no figure depends on them.
	facts.Hostname, _ = os.Hostname()
	if id, err := os.ReadFile("/proc/sys/kernel/random/boot_id"); err == nil {
		facts.BootID = strings.TrimSpace(string(id))
	}
	var name unix.Utsname
	if unix.Uname(&name) == nil {
		facts.Kernel = unix.ByteSliceToString(name.Release[:])
		if system := unix.ByteSliceToString(name.Sysname[:]); system != "Linux" {
			facts.Kernel = system + " " + facts.Kernel
		}
	}
	return facts
}

// addMachines adds to the manifest the facts that exporters report about their machines.
func addMachines(m *rundir.Manifest, log *telemetry.Log) {
	if log == nil {
		return
	}
	for _, source := range log.Sources {
		if source.Foreign {
			m.Pages = append(m.Pages, rundir.Page{Source: source.Name, URL: source.URL})
			continue
		}
		facts := rundir.Machine{Source: source.Name, URL: source.URL, Mode: source.Mode()}
		for _, series := range source.Find(metric.HostInfo) {
			facts.Host = series.Labels
		}
		for _, series := range source.Find(metric.GPUInfo) {
			facts.GPUs = append(facts.GPUs, series.Labels)
		}
		m.Machines = append(m.Machines, facts)
	}
}
