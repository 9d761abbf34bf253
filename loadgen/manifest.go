package loadgen

import (
	"os"
	"runtime"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/umascope/umascope/exporter/metric"
	"github.com/umascope/umascope/loadgen/prompt"
	"github.com/umascope/umascope/loadgen/schedule"
	"github.com/umascope/umascope/loadgen/telemetry"
)

// Names of the forms of files; their JSON Schemas are in the folder schema.
const (
	schemaManifest = "umascope.manifest/1"
	schemaPhases   = "umascope.phases/1"
)

// phaseFile is phases.json: the phases that are over, in the order in which they began.
type phaseFile struct {
	Schema string `json:"schema"`
	Phases []span `json:"phases"`
}

// States of a run in its manifest.
const (
	stateRunning     = "running" // also of a run that was killed
	stateComplete    = "complete"
	stateInterrupted = "interrupted"
	stateFailed      = "failed"
	stateStopped     = "stopped" // at once, for a reason that makes it invalid
)

// manifest is manifest.json: what is needed to repeat the run, and where it happened. It is
// written before the first request and again at the end.
type manifest struct {
	Schema   string            `json:"schema"`
	Run      string            `json:"run"`
	Scenario string            `json:"scenario"`
	Labels   map[string]string `json:"labels"`
	State    string            `json:"state"`
	// StartedAt is the moment that all offsets of the run count from.
	StartedAt time.Time  `json:"started_at"`
	EndedAt   *time.Time `json:"ended_at,omitempty"`

	Program build `json:"program"`
	// Flags are all flags of the run, given or default; secrets are redacted.
	Flags    map[string]string `json:"flags"`
	Seed     uint64            `json:"seed"`
	Workload workloadFacts     `json:"workload"`
	Server   serverFacts       `json:"server"`
	Client   clientFacts       `json:"client"`
	Machines []machineFacts    `json:"machines,omitempty"`
	// Container is the one that the engine runs in, if --container names it.
	Container *containerFacts `json:"container,omitempty"`
	// Captures are what became of the commands of --capture.
	Captures []captureFacts `json:"captures,omitempty"`
	// Pages are those of engines and KV block managers that were read too.
	Pages []pageFacts `json:"pages,omitempty"`
	// Telemetry is what the sampler did and cost.
	Telemetry *telemetry.Stats `json:"telemetry,omitempty"`
}

type workloadFacts struct {
	SHA256   string       `json:"sha256"`
	Sampling sampling     `json:"sampling"`
	Phases   []phaseFacts `json:"phases"`
	// Concurrency is the number of slots; 0 is no limit.
	Concurrency int         `json:"concurrency"`
	Script      scriptFacts `json:"script"`
	// Pressure is what had to happen to KV caches by their sizes, in words; it was said before the run.
	Pressure     []string       `json:"pressure,omitempty"`
	OutputTokens prompt.Lengths `json:"output_tokens"`
	// InputLengths says how the lengths of prompts come about: exact or estimated, and by what.
	InputLengths string       `json:"input_lengths"`
	Scale        prompt.Scale `json:"token_scale"`
}

type phaseFacts struct {
	Name    string           `json:"name"`
	Process schedule.Process `json:"process"`
	Limit   schedule.Limit   `json:"limit"`
}

type serverFacts struct {
	URL            string   `json:"url"`
	Model          string   `json:"model"`
	OwnedBy        string   `json:"owned_by,omitempty"`
	Simulated      bool     `json:"simulated,omitempty"`
	MaxTokens      int      `json:"max_tokens,omitempty"`
	Engine         string   `json:"engine"`
	EngineDetected bool     `json:"engine_detected"`
	Version        string   `json:"version,omitempty"`
	Answered       []string `json:"answered_as,omitempty"`
	Fingerprints   []string `json:"system_fingerprints,omitempty"`
	// EngineClues are what the engine was told by, Fields which request fields the server takes.
	EngineClues []clue     `json:"engine_clues,omitempty"`
	Fields      acceptance `json:"fields"`
	// FingerprintStart and FingerprintEnd are of the model, before the first request and after the last.
	FingerprintStart *fingerprint `json:"fingerprint_start,omitempty"`
	FingerprintEnd   *fingerprint `json:"fingerprint_end,omitempty"`
}

// clientFacts are of the machine that uma-load runs on.
type clientFacts struct {
	Hostname string  `json:"hostname"`
	BootID   string  `json:"boot_id,omitempty"`
	Kernel   string  `json:"kernel"`
	Arch     string  `json:"arch"`
	Cores    int     `json:"cores"`
	CPURatio float64 `json:"cpu_ratio,omitempty"`
	Stalls   int     `json:"stalls,omitempty"`
}

// machineFacts are of a machine that telemetry was read from, by its exporter's word.
type machineFacts struct {
	Source string              `json:"source"`
	URL    string              `json:"url"`
	Mode   string              `json:"mode"`
	Host   map[string]string   `json:"host,omitempty"`
	GPUs   []map[string]string `json:"gpus,omitempty"`
}

// pageFacts are of a page that --scrape named.
type pageFacts struct {
	Source string `json:"source"`
	URL    string `json:"url"`
}

func (r *run) newManifest() *manifest {
	s, w := r.settings, r.work
	m := &manifest{
		Schema: schemaManifest, Run: r.id, Scenario: s.scenario.name, Labels: s.labelMap(), State: stateRunning,
		Program: buildVersion(), Flags: r.flags, Seed: s.seed, Client: thisMachine(),
		Workload: workloadFacts{
			SHA256: r.workSHA, Sampling: w.sampling, Concurrency: s.concurrency, Script: w.script.facts, Pressure: w.script.forecast, OutputTokens: w.output,
			InputLengths: r.inputLengths(), Scale: r.server.scale,
		},
		Server: serverFacts{
			URL: s.target.url, Model: r.server.model.ID, OwnedBy: r.server.model.OwnedBy, Simulated: r.server.model.simulated(),
			MaxTokens: r.server.model.MaxTokens, Engine: r.server.engine,
			EngineDetected: r.server.detected, Version: r.server.version,
			EngineClues: r.server.clues, Fields: r.server.accepted, FingerprintStart: &r.identity.start,
		},
	}
	for _, p := range w.phases {
		m.Workload.Phases = append(m.Workload.Phases, phaseFacts{p.name, p.process, p.limit})
	}
	return m
}

func thisMachine() clientFacts {
	facts := clientFacts{Arch: runtime.GOARCH, Cores: runtime.GOMAXPROCS(0)}
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
func (m *manifest) addMachines(log *telemetry.Log) {
	for _, source := range log.Sources {
		if source.Foreign {
			m.Pages = append(m.Pages, pageFacts{source.Name, source.URL})
			continue
		}
		facts := machineFacts{Source: source.Name, URL: source.URL, Mode: source.Mode()}
		for _, series := range source.Find(metric.HostInfo) {
			facts.Host = series.Labels
		}
		for _, series := range source.Find(metric.GPUInfo) {
			facts.GPUs = append(facts.GPUs, series.Labels)
		}
		m.Machines = append(m.Machines, facts)
	}
}

// flagValues are the flags of run as they stand, for the manifest.
func (l *commandLine) flagValues() map[string]string {
	values := map[string]string{}
	for _, f := range l.run.Model().Flags {
		values[f.Name] = f.Value.String()
	}
	return values
}
