package compare

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/umascope/umascope/loadgen/stats"
)

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// kvExplained tells when the KV cache is what memory without it leaves: one effect, shown twice.
func (c *comparing) kvExplained(out Comparison) []Warning {
	m := out.KVModel
	if m == nil || !m.Explained {
		return nil
	}
	of := fmt.Sprintf("%.3g x (%s - memory occupied without KV cache)", m.Fraction, UnitBytes.Text(m.TotalBytes))
	if m.Of == KVOfFree {
		of = fmt.Sprintf("%.3g x what was free when it was sized", m.Fraction)
	}
	return []Warning{warn(CodeKVExplained, "the KV cache of all %s is %s, to within %s: the two are one effect and no two findings",
		Runs(m.N), of, UnitBytes.Text(m.ResidualBytes))}
}

// smallBeside is how much less the memory occupied when ready must differ than that without KV cache, to be reported.
const smallBeside = 5

// occupiedEqual reports arms that differ without KV cache and hardly when ready.
func (c *comparing) occupiedEqual(out Comparison) []Warning {
	var with, without float64
	pairs := 0
	for _, s := range out.Strata {
		for _, p := range s.Pairs {
			w, o := change(p, MemoryOccupiedWhenReady), change(p, MemoryOccupiedWithoutKV)
			if w == nil || o == nil || math.Abs(*o) < twoPercent.Value {
				continue
			}
			pairs++
			with, without = max(with, math.Abs(*w)), max(without, math.Abs(*o))
			if math.Abs(*w)*smallBeside > math.Abs(*o) {
				return nil
			}
		}
	}
	if pairs == 0 {
		return nil
	}
	return []Warning{warn(CodeOccupiedEqual, "memory occupied when ready differs by %s at most between arms, memory occupied without KV cache by up to %s: the cache takes what is left",
		short2(with), short2(without))}
}

// short2 is a share of one digit after the point.
func short2(share float64) string { return fmt.Sprintf("%.1f %%", 100*share) }

// change is how much a metric of a pair differs, as a share; nil without it.
func change(p Pair, metric string) *float64 {
	for _, m := range p.Metrics {
		if m.Name == metric && m.Ratio != nil {
			return pointer(*m.Ratio - 1)
		}
	}
	return nil
}

// blockedEverywhere sums up strata that ran in blocks.
func (c *comparing) blockedEverywhere(out Comparison) []Warning {
	first := map[string]int{}
	blocked := 0
	for _, s := range out.Strata {
		if s.Order.Kind == OrderBlocked {
			blocked++
			first[s.Order.Sequence[0]]++
		}
	}
	if blocked < 2 {
		return nil // that of the stratum says it
	}
	var texts []string
	for _, name := range sortedKeys(first) {
		texts = append(texts, fmt.Sprintf("%s first in %d", name, first[name]))
	}
	return []Warning{warn(CodeBlockedOrder, "in %d of %d strata the arms ran in blocks, %s: arm and time are confounded", blocked, len(out.Strata), strings.Join(texts, ", "))}
}

// firstEverywhere tells when, over all strata, the first run after a change of arms is the highest or
// lowest of its block more often than chance makes it, given how many metrics are looked at.
func (c *comparing) firstEverywhere() []Warning {
	type finding struct {
		firsts
		metric Metric
		arm    string
	}
	var all []finding
	var p []float64
	var blocks [][]block
	for _, cell := range c.cells {
		blocks = append(blocks, blocksOf(cell.runs, c.options.By))
	}
	for _, name := range c.arms {
		for _, k := range keys() {
			f := finding{arm: name}
			f.metric, _ = FindMetric(k.name)
			for _, own := range blocks {
				f.add(own, k, name)
			}
			if len(f.chances) > 1 {
				all, p = append(all, f), append(p, f.p())
			}
		}
	}
	texts := map[string][]string{}
	for i, adjusted := range stats.Holm(p) {
		f := all[i]
		if adjusted > significance {
			continue
		}
		n, which := f.highest, "highest"
		if f.lowest > n {
			n, which = f.lowest, "lowest"
		}
		texts[f.arm] = append(texts[f.arm], fmt.Sprintf("the %s %s in %d of %d blocks (by chance: p %.2g)", which, f.metric.Title, n, len(f.chances), p[i]))
	}
	var warnings []Warning
	for _, name := range sortedKeys(texts) {
		warnings = append(warnings, warn(CodeFirstAfterSwitch, "the first run of %s after a change of arms has %s: something may be carried over", name, strings.Join(texts[name], ", ")))
	}
	return warnings
}

// memoryDiffers says whether a finding of a pair is one of memory.
func memoryDiffers(p Pair) bool {
	return slices.ContainsFunc(p.Metrics, func(m Metrics) bool {
		return found(m.Verdict) && m.Unit == string(UnitBytes)
	})
}

// ledgerAbsent tells when memory differs and nothing shows what it went to.
func (c *comparing) ledgerAbsent(out Comparison) []Warning {
	var without []string
	for _, s := range out.Strata {
		for _, p := range s.Pairs {
			if d := p.LedgerDifference; len(d.Start)+len(d.Ready)+len(d.Peak) == 0 && memoryDiffers(p) {
				without = append(without, p.B+in(s.Within))
			}
		}
	}
	if len(without) == 0 {
		return nil
	}
	return []Warning{warn(CodeLedgerAbsent, "no memory ledger of both arms was observed for %s: what the memory went to, and so the cause, is not observable", some(without))}
}

// reportedByOthers tells which figures nobody measured.
func (c *comparing) reportedByOthers(out Comparison) []Warning {
	engine, tool := map[string]bool{}, map[string]bool{}
	for _, s := range out.Strata {
		for _, p := range s.Pairs {
			for _, m := range p.Metrics {
				if m.EngineReported || strings.HasPrefix(m.Name, "engine_reported_") {
					engine[m.Name] = true
				}
				if strings.HasPrefix(m.Name, toolReported) {
					tool[m.Name] = true
				}
			}
		}
	}
	var all []Warning
	if len(engine) > 0 {
		all = append(all, warn(CodeEngineReported, "an engine's own word, not measured: %s", some(sortedKeys(engine))))
	}
	if len(tool) > 0 {
		all = append(all, warn(CodeToolReported, "by a tool's own definitions, not measured here: %s", some(sortedKeys(tool))))
	}
	return all
}

// simulation tells of runs that are not of a real machine and engine.
func (c *comparing) simulation() []Warning {
	modes := map[string]int{}
	for _, r := range c.runs {
		switch {
		case r.Simulated || r.Mode == "simulated":
			modes["simulated"]++
		case r.Mode != "":
			modes[r.Mode]++
		default:
			modes["without telemetry"]++
		}
	}
	var all []Warning
	n := 0
	var texts []string
	for _, mode := range sortedKeys(modes) {
		texts = append(texts, fmt.Sprintf("%d %s", modes[mode], mode))
		if simulatedMode(mode) && mode != "without telemetry" {
			n += modes[mode]
		}
	}
	if n > 0 {
		all = append(all, warn(CodeSimulated, "%s of %d are not of a real machine and engine as they ran: what they show is simulated", Runs(n), len(c.runs)))
	}
	if n > 0 && n < len(c.runs) {
		all = append(all, warn(CodeMixedModes, "simulated and real runs stand in one comparison (%s): no figure of it is a finding", strings.Join(texts, ", ")))
	}
	return all
}

// workloadUnknown tells of runs that nothing shows to have done the same work.
func (c *comparing) workloadUnknown() []Warning {
	n := 0
	for _, r := range c.runs {
		if r.WorkloadSHA256 == "" {
			n++
		}
	}
	if n == 0 {
		return nil
	}
	return []Warning{warn(CodeWorkloadUnknown, "%s of %d have no workload_sha256: that they did the same work is taken on trust", Runs(n), len(c.runs))}
}

// metricUnknown tells of figures that the table does not have, and of those that are none.
func (c *comparing) metricUnknown() []Warning {
	unknown, unusable := map[string]bool{}, map[string]bool{}
	for _, r := range c.runs {
		for name, v := range r.Metrics {
			if _, known := FindMetric(name); !known {
				unknown[name] = true
			} else if !usable(v) {
				unusable[name+" of "+r.ID] = true
			}
		}
	}
	var all []Warning
	if len(unknown) > 0 {
		all = append(all, warn(CodeMetricUnknown, "not compared, since nothing says which way is better: %s", some(sortedKeys(unknown))))
	}
	if len(unusable) > 0 {
		all = append(all, warn(CodeValueUnusable, "left out, since it cannot be a figure of a run: %s", some(sortedKeys(unusable))))
	}
	return all
}
