package loadgen

import (
	"fmt"
	"strings"

	"github.com/umascope/umascope/exporter/metric"
	"github.com/umascope/umascope/loadgen/report"
	"github.com/umascope/umascope/loadgen/telemetry"
)

// kvExpectation is which tiers of a KV block manager a run expects, by the words of --expect; empty is
// no expectation.
type kvExpectation string

// The expectations, and what else may be seen.
const (
	kvOff     kvExpectation = "off"
	kvCPUOnly kvExpectation = "cpu_only"
	kvCPUDisk kvExpectation = "cpu_disk"

	kvDiskOnly = "disk_only" // host bypass, which nobody can expect
)

// parseExpect reads kv=off and the like.
func parseExpect(s string) (kvExpectation, error) {
	name, mode, _ := strings.Cut(s, "=")
	if name != "kv" {
		return "", fmt.Errorf("%q is not kv=%s", s, joined([]kvExpectation{kvOff, kvCPUOnly, kvCPUDisk}))
	}
	return oneOf(kvOff, kvCPUOnly, kvCPUDisk)(mode)
}

// tier is what was seen of one tier. It is off only if something says so; that nothing is seen of it
// is not enough.
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

// kvSeen is what the telemetry of a run shows of KV tiers.
type kvSeen struct {
	host, disk tier
	// external is what shows a tier of which the engine does not say where it is.
	external string
	// silent: the exporter was told where a KV block manager has its page, and nobody ever listened
	// there. up: somebody did.
	silent, up bool
}

// seeKV looks through what the exporters said during the run. A machine of another time or none is not
// the one that the engine ran on; a simulated one may be that of a simulated engine.
func seeKV(log *telemetry.Log, simulatedEngine bool) kvSeen {
	var seen kvSeen
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
	}
	seen.silent = seen.silent && !seen.up
	return seen
}

// configured reads the sizes that engines were started with. Where only that of the host is set, the
// disk is off: both are from one environment.
func (k *kvSeen) configured(source *telemetry.SourceLog) {
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

// moved reads where blocks went, by our exporter's series or KVBM's own.
func (k *kvSeen) moved(source *telemetry.SourceLog) {
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
	for _, route := range metric.KVBMRoutes() {
		for _, prefix := range metric.ForeignKVBMPrefixes() {
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

// hit reads where engines found what they had computed before: SGLang's hierarchical cache, LMCache,
// and whatever else is connected to vLLM.
func (k *kvSeen) hit(source *telemetry.SourceLog) {
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

// highest is the largest value of a series, 0 if it has none.
func highest(s *telemetry.Series) float64 {
	most := 0.0
	for p := range s.Points() {
		most = max(most, p.Value)
	}
	return most
}

// mode names what was seen, and why; empty if it cannot be told.
func (k kvSeen) mode() (mode, because string) {
	host, disk := k.host, k.disk
	switch {
	case host.on != "" && disk.on != "":
		return string(kvCPUDisk), "host: " + host.on + "; disk: " + disk.on
	case host.on != "" && disk.off != "":
		return string(kvCPUOnly), "host: " + host.on + "; disk: " + disk.off
	case host.on == "" && host.off != "" && disk.on != "":
		return kvDiskOnly, "host: " + host.off + "; disk: " + disk.on
	case host.on == "" && disk.on == "" && host.off != "" && disk.off != "" && k.external == "":
		return string(kvOff), "host: " + host.off + "; disk: " + disk.off
	case host.on == "" && disk.on == "" && k.silent && k.external == "":
		return string(kvOff), "nobody listens where a KV block manager would have its page, and no process has a tier"
	}
	return "", ""
}

// judge compares the expectation with what was seen. What was seen of one tier may be enough to
// refute it.
func (e kvExpectation) judge(seen kvSeen) report.KVMode {
	if e == "" {
		return report.KVMode{}
	}
	if mode, because := seen.mode(); mode != "" {
		if mode == string(e) {
			return report.KVMode{Checked: true}
		}
		return report.KVMode{Checked: true, Mismatch: fmt.Sprintf("expected %s, saw %s (%s)", e, mode, because)}
	}
	for _, part := range []struct {
		refuted bool
		why     string
	}{
		{e == kvOff && seen.host.on != "", "host: " + seen.host.on},
		{e == kvOff && seen.external != "", seen.external},
		// Without a tier there would be nothing to manage, and nobody to listen.
		{e == kvOff && seen.up, "a KV block manager serves its page"},
		{e != kvCPUDisk && seen.disk.on != "", "disk: " + seen.disk.on},
		{e != kvOff && seen.host.on == "" && seen.host.off != "", "host: " + seen.host.off},
		{e == kvCPUDisk && seen.disk.off != "", "disk: " + seen.disk.off},
	} {
		if part.refuted {
			return report.KVMode{Checked: true, Mismatch: fmt.Sprintf("expected %s, but %s", e, part.why)}
		}
	}
	return report.KVMode{}
}

// warnings says that an expectation could not be checked.
func (e kvExpectation) warnings(seen kvSeen) []string {
	if e == "" || e.judge(seen).Checked {
		return nil
	}
	return []string{fmt.Sprintf("--expect kv=%s was not checked: no telemetry shows whether the tiers of the KV cache are on", e)}
}

func (r *run) seeKV(log *telemetry.Log) kvSeen { return seeKV(log, r.server.model.simulated()) }
