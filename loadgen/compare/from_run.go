package compare

import (
	"cmp"
	"strings"

	"github.com/umascope/umascope/exporter/engine/spec"
	"github.com/umascope/umascope/exporter/metric"
	"github.com/umascope/umascope/loadgen/enginelog"
	"github.com/umascope/umascope/loadgen/evidence"
	"github.com/umascope/umascope/loadgen/figure"
	"github.com/umascope/umascope/loadgen/rundir"
	"github.com/umascope/umascope/loadgen/summary"
	"github.com/umascope/umascope/loadgen/telemetry"
)

// labelHost is the label of the measured machine.
const labelHost = string(metric.LabelHost)

// FromRun returns a run as the input of a comparison.
func FromRun(r summary.Run) Run { return observed{r}.run() }

// observed is a run while its input of a comparison is gathered.
type observed struct{ summary.Run }

func (r observed) run() Run {
	m, s, reset := r.Manifest, r.Summary, r.Manifest.PrefixCacheReset()
	o := Run{
		ID: s.Run, Path: string(r.Folder), Labels: s.Labels, Scenario: s.Scenario, Model: r.model(), Engine: r.engine(), Host: s.Labels[labelHost],
		CacheReset:  reset != nil && *reset,
		Fingerprint: s.Model.Fingerprint, WorkloadSHA256: s.WorkloadSHA256, StartedAt: m.StartedAt, BootID: s.BootID,
		Valid: s.Valid, Signals: grades(s.Signals), Expected: r.expected(),
		Mode: r.mode(), Simulated: s.Model.Simulated, Pair: r.pair(),
		Facts: r.facts(), HashKey: r.hashKey(), KV: r.kv(),
	}
	o.setFigures(r)
	for _, reason := range s.InvalidReasons {
		o.InvalidReasons = append(o.InvalidReasons, string(reason.Code))
	}
	if m.EndedAt != nil {
		o.EndedAt = *m.EndedAt
	}
	if m.Imported != nil {
		o.Imported = m.Imported.Format
	}
	if m.Campaign != nil {
		o.EngineKept, o.Added, o.NRaisedFrom = m.Campaign.EngineKept, m.Campaign.Repeats > 0, m.Campaign.NRaisedFrom
	}
	o.Tool = r.tool()
	if s.Memory != nil && s.Memory.LedgerAt != nil {
		o.Ledger = *s.Memory.LedgerAt
	}
	o.Ledgers = r.furtherLedgers()
	return o
}

// model returns the model that answered, by its own name; for a load that uma-load did not send, the label.
func (r observed) model() string { return cmp.Or(r.Summary.Model.ID, r.Summary.Labels[labelModel]) }

// engine returns the engine that answered; for a recorded command, the engine whose log was read.
func (r observed) engine() string {
	if c := r.Manifest.Command; c != nil && c.Extractor != enginelog.None {
		return c.Extractor
	}
	return r.Manifest.Server.Engine
}

// tool returns the tool whose definitions apply to the tool-reported figures; empty without any. The same extractor
// reads a recorded log and an imported one.
func (r observed) tool() string {
	t := r.Summary.Tool
	if t == nil || len(t.Values) == 0 {
		return ""
	}
	switch t.Extractor {
	case "benchmark-spark", "trtllm-log":
		return "trtllm"
	case "sparkrun":
		return "llama-benchy"
	}
	return t.Extractor
}

func grades(s evidence.Signals) map[string]string {
	return map[string]string{
		"ssd_offload": string(s.SSDOffload.Grade), "ssd_rehydrate": string(s.SSDRehydrate.Grade),
		"reuse": string(s.Reuse.Grade), "output_match": string(s.OutputMatch.Grade),
	}
}

// expected returns the signals that the scenario is meant to show: a hit has to come from the lowest tier that is on.
func (r observed) expected() []string {
	tiers := r.Manifest.Flags["expect"]
	lowest := "ssd_rehydrate"
	if strings.HasSuffix(tiers, "off") || strings.HasSuffix(tiers, "cpu_only") {
		lowest = ""
	}
	switch r.Summary.Scenario {
	case "reuse_verify":
		return []string{"reuse"}
	case "eviction_replay", "rehydrate_replay":
		if lowest != "" {
			return []string{lowest}
		}
	}
	return nil
}

// mode returns the mode of the telemetry of the measured host; empty without any.
func (r observed) mode() string {
	s := r.Summary
	if r.Manifest.Imported != nil {
		return "" // the mode of its file, not of telemetry
	}
	var modes []string
	if s.Memory != nil {
		modes = append(modes, s.Memory.Mode)
	}
	if s.Thermal != nil {
		modes = append(modes, s.Thermal.Mode)
	}
	if s.Energy != nil {
		modes = append(modes, s.Energy.Mode)
	}
	for _, mode := range modes {
		if mode != "" && mode != telemetry.ModeUnknown { // unknown is the mode of engine-reported figures without telemetry
			return mode
		}
	}
	return ""
}

// kv returns the figures that the engine sized its KV cache from. Measured figures take precedence over reported ones.
func (r observed) kv() KV {
	var kv KV
	m := r.Summary.Memory
	if m != nil {
		kv.FreeAtSizingBytes, kv.OccupiedWithoutKVBytes = m.FreeAtKVSizing, m.OccupiedWithoutKV
	}
	if m != nil && m.EngineReported != nil {
		kv.CapacityBytes = m.EngineReported.KV
		kv.OccupiedWithoutKVBytes = cmp.Or(kv.OccupiedWithoutKVBytes, m.EngineReported.Peak)
	}
	if own := r.Summary.KV; own != nil {
		kv.CapacityBytes = cmp.Or(own.CapacityBytes, kv.CapacityBytes)
	}
	kv.FreeAtSizingBytes = cmp.Or(kv.FreeAtSizingBytes, figure.ToolReported(&r.Summary, spec.FreeBytes, ""))
	return kv
}

// machine returns the exporter's description of the measured host; nil without telemetry of it.
func (r observed) machine() *rundir.Machine {
	all := r.Manifest.Machines
	for i, m := range all {
		if len(all) == 1 || m.Source == r.Summary.Labels[labelHost] {
			return &all[i]
		}
	}
	return nil
}
