package summary

import (
	"fmt"
	"strings"

	"github.com/umascope/umascope/cmd/terminal"
	"github.com/umascope/umascope/exporter/engine/dynamo"
	"github.com/umascope/umascope/exporter/metric"
	"github.com/umascope/umascope/loadgen/rundir"
	"github.com/umascope/umascope/loadgen/telemetry"
)

// KVExpectation is the set of tiers of a KV block manager that a run expects, by the values of --expect; empty is no
// expectation.
type KVExpectation string

// The expectations, and other modes that may be observed.
const (
	KVOff     KVExpectation = "off"
	KVCPUOnly KVExpectation = "cpu_only"
	KVCPUDisk KVExpectation = "cpu_disk"

	diskOnly = "disk_only" // host bypass, which has no expectation
)

// ParseKVExpectation reads kv=off and the like.
func ParseKVExpectation(s string) (KVExpectation, error) {
	name, mode, _ := strings.Cut(s, "=")
	if name != "kv" {
		return "", fmt.Errorf("%q is not kv=%s", s, terminal.Join([]KVExpectation{KVOff, KVCPUOnly, KVCPUDisk}))
	}
	return terminal.OneOf(KVOff, KVCPUOnly, KVCPUDisk)(mode)
}

// tier has the observations of one tier. It is off only if there is a sign of that; the absence of activity is not
// enough.
type tier struct{ on, off string }

func (t *tier) use(format string, values ...any) {
	if t.on == "" {
		t.on = fmt.Sprintf(format, values...)
	}
}

func (t *tier) refuse(format string, values ...any) {
	if t.off == "" {
		t.off = fmt.Sprintf(format, values...)
	}
}

// KVTiersSeen has the observations of KV tiers in the telemetry of a run.
type KVTiersSeen struct {
	host, disk tier
	// external is the sign of a tier whose place the engine does not report.
	external string
	// silent is true if the exporter was configured with the page of a KV block manager and the page never answered; up is
	// true if it did. That page is off by default, so that silence alone proves nothing; looked is true if the exporter
	// could read processes, where a tier would have shown.
	silent, up, looked bool
}

// SeeKVTiers reads the telemetry of the run. It skips replayed and constructed machines, since the engine did not run
// there; a simulated machine may be that of a simulated engine.
func SeeKVTiers(log *telemetry.Log, simulatedEngine bool) KVTiersSeen {
	var seen KVTiersSeen
	if log == nil {
		return seen
	}
	for _, source := range log.Sources {
		switch mode := source.Mode(); {
		case mode == metric.ModeReplay, mode == metric.ModeConstructed, mode == metric.ModeSimulated && !simulatedEngine:
			continue
		}
		seen.configured(source)
		seen.moved(source)
		seen.hit(source)
		for _, s := range source.Find(metric.KVBMDiskFileBytes) {
			if highest(s) > 0 {
				seen.disk.use("a process has its disk file open")
			}
		}
		for _, s := range source.Find(metric.KVBMUp) {
			seen.up = seen.up || highest(s) > 0
			seen.silent = true
		}
		// A user that may read the I/O of a process may read its environment and its open files.
		seen.looked = seen.looked || len(source.Find(metric.ProcessIOBytesTotal)) > 0
	}
	seen.silent = seen.silent && !seen.up
	return seen
}

// configured reads the sizes that engines were started with. Where only that of the host is set, the disk is off: both
// come from one environment.
func (k *KVTiersSeen) configured(source *telemetry.SourceLog) {
	sizes := source.Find(metric.KVBMConfiguredCacheBytes)
	hostSeen := false
	for _, s := range sizes {
		bytes := highest(s)
		of := &k.disk
		if s.Labels[string(metric.LabelTier)] == metric.TierHost {
			of, hostSeen = &k.host, true
		}
		if bytes > 0 {
			of.use("an engine was started with %.3g GB of it", bytes/1e9)
		} else {
			of.refuse("an engine was started with 0 GB of it")
		}
	}
	if hostSeen {
		k.disk.refuse("no engine was started with a size for it")
	}
}

// moved reads the routes of blocks, by the exporter's series or KVBM's own.
func (k *KVTiersSeen) moved(source *telemetry.SourceLog) {
	note := func(from, to string) {
		for _, end := range []string{from, to} {
			switch end {
			case metric.TierHost:
				k.host.use("blocks went from %s to %s", from, to)
			case metric.TierDisk:
				k.disk.use("blocks went from %s to %s", from, to)
			}
		}
	}
	for _, s := range source.Find(metric.KVBMBlocksTotal) {
		if highest(s) > 0 {
			note(s.Labels[string(metric.LabelFrom)], s.Labels[string(metric.LabelTo)])
		}
	}
	for _, route := range dynamo.KVBMRoutes() {
		for _, prefix := range dynamo.KVBMPrefixes() {
			for _, s := range source.Series {
				if s.Name != prefix+route.Blocks {
					continue
				}
				k.up = true
				if highest(s) > 0 {
					note(route.From, route.To)
				}
			}
		}
	}
}

// hit reads where engines found tokens computed before: in a hierarchical cache, or through a connector.
func (k *KVTiersSeen) hit(source *telemetry.SourceLog) {
	for _, s := range source.Find(metric.EnginePrefixCacheTokensTotal) {
		if s.Labels[string(metric.LabelResult)] != metric.ResultHit || highest(s) == 0 {
			continue
		}
		switch s.Labels[string(metric.LabelTier)] {
		case metric.TierHost:
			k.host.use("the engine found prompts there")
		case metric.TierDisk:
			k.disk.use("the engine found prompts there")
		case metric.TierExternal:
			k.external = "the engine found prompts in a cache beside its own"
		}
	}
}

// highest returns the largest value of a series, 0 if it has none.
func highest(s *telemetry.Series) float64 {
	most := 0.0
	for p := range s.Points() {
		most = max(most, p.Value)
	}
	return most
}

// mode names the observed mode, and the reason; empty if it is unknown.
func (k KVTiersSeen) mode() (mode, because string) {
	host, disk := k.host, k.disk
	switch {
	case host.on != "" && disk.on != "":
		return string(KVCPUDisk), "host: " + host.on + "; disk: " + disk.on
	case host.on != "" && disk.off != "":
		return string(KVCPUOnly), "host: " + host.on + "; disk: " + disk.off
	case host.on == "" && host.off != "" && disk.on != "":
		return diskOnly, "host: " + host.off + "; disk: " + disk.on
	case host.on == "" && disk.on == "" && host.off != "" && disk.off != "" && k.external == "":
		return string(KVOff), "host: " + host.off + "; disk: " + disk.off
	case host.on == "" && disk.on == "" && k.silent && k.looked && k.external == "":
		return string(KVOff), "nobody listens where a KV block manager would have its page, and no process that uses a GPU has a tier"
	}
	return "", ""
}

// Judge compares the expectation with the observations. An observation of one tier may be enough to refute it.
func (e KVExpectation) Judge(seen KVTiersSeen) rundir.KVFindings {
	if e == "" {
		return rundir.KVFindings{}
	}
	if mode, because := seen.mode(); mode != "" {
		if mode == string(e) {
			return rundir.KVFindings{Checked: true}
		}
		return rundir.KVFindings{Checked: true, Mismatch: fmt.Sprintf("expected %s, saw %s (%s)", e, mode, because)}
	}
	for _, part := range []struct {
		refuted bool
		why     string
	}{
		{e == KVOff && seen.host.on != "", "host: " + seen.host.on},
		{e == KVOff && seen.external != "", seen.external},
		// Without a tier there would be no page of a KV block manager.
		{e == KVOff && seen.up, "a KV block manager serves its page"},
		{e != KVCPUDisk && seen.disk.on != "", "disk: " + seen.disk.on},
		{e != KVOff && seen.host.on == "" && seen.host.off != "", "host: " + seen.host.off},
		{e == KVCPUDisk && seen.disk.off != "", "disk: " + seen.disk.off},
	} {
		if part.refuted {
			return rundir.KVFindings{Checked: true, Mismatch: fmt.Sprintf("expected %s, but %s", e, part.why)}
		}
	}
	return rundir.KVFindings{}
}

// Warnings returns a warning if an expectation could not be checked.
func (e KVExpectation) Warnings(seen KVTiersSeen) []string {
	if e == "" || e.Judge(seen).Checked {
		return nil
	}
	return []string{fmt.Sprintf("--expect kv=%s was not checked: no telemetry shows whether the tiers of the KV cache are on", e)}
}
