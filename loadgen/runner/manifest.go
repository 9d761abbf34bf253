package runner

import (
	"os"
	"runtime"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/umascope/umascope/exporter/metric"
	"github.com/umascope/umascope/loadgen/folder"
	"github.com/umascope/umascope/loadgen/telemetry"
)

func (r *run) newManifest() *folder.Manifest {
	s := r.load
	return &folder.Manifest{
		Schema: folder.ManifestSchema, Run: r.id, Scenario: s.Scenario.Name, Labels: r.keep.Labels, State: folder.StateRunning,
		Rank: r.rankFacts(), Program: r.keep.Program, Flags: r.keep.Flags, Seed: s.Seed, Client: ThisMachine(),
	}
}

// describeLoad enters what is sent, and to whom.
func (r *run) describeLoad() {
	m, s, w := r.manifest, r.load, r.work
	start, _ := r.identity.Fingerprints()
	m.Workload = folder.Workload{
		SHA256: r.workSHA, Sampling: w.Sampling, Concurrency: s.Concurrency, Script: w.Script.Facts, Pressure: w.Script.Forecast, OutputTokens: w.Output,
		InputLengths: r.load.InputLengths(r.scale), Scale: r.scale,
	}
	m.Server = folder.Server{
		URL: s.Target.URL, Model: r.server.Model.ID, OwnedBy: r.server.Model.OwnedBy, Simulated: r.server.Model.Simulated(),
		MaxTokens: r.server.Model.MaxTokens, Engine: r.server.Engine,
		EngineDetected: r.server.Detected, Version: r.server.Version,
		EngineClues: r.server.Clues, Fields: r.server.Accepted, FingerprintStart: start,
	}
	// What a run that is killed was judged by is known as well.
	m.Judging = r.expected()
	m.Judging.Unmeasured = w.Uncounted()
	for _, p := range w.Phases {
		m.Workload.Phases = append(m.Workload.Phases, folder.PlannedPhase{Name: p.Name, Process: p.Process, Limit: p.Limit})
	}
}

// ThisMachine returns the facts of the machine that this program runs on.
func ThisMachine() folder.Client {
	facts := folder.Client{Arch: runtime.GOARCH, Cores: runtime.GOMAXPROCS(0)}
	// What cannot be read stays empty: none of it decides anything.
	facts.Hostname, _ = os.Hostname()
	if id, err := os.ReadFile("/proc/sys/kernel/random/boot_id"); err == nil {
		facts.BootID = strings.TrimSpace(string(id))
	}
	var name unix.Utsname
	if unix.Uname(&name) == nil {
		facts.Kernel = unix.ByteSliceToString(name.Release[:])
	}
	return facts
}

// addMachines enters what the exporters said of their machines.
func addMachines(m *folder.Manifest, log *telemetry.Log) {
	if log == nil {
		return
	}
	for _, source := range log.Sources {
		if source.Foreign {
			m.Pages = append(m.Pages, folder.Page{Source: source.Name, URL: source.URL})
			continue
		}
		facts := folder.Machine{Source: source.Name, URL: source.URL, Mode: source.Mode()}
		for _, series := range source.Find(metric.HostInfo) {
			facts.Host = series.Labels
		}
		for _, series := range source.Find(metric.GPUInfo) {
			facts.GPUs = append(facts.GPUs, series.Labels)
		}
		m.Machines = append(m.Machines, facts)
	}
}
