package compare

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/umascope/umascope/loadgen/figure"
	"github.com/umascope/umascope/loadgen/stats"
)

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// kvExplained warns if the size of the KV cache follows from the memory occupied without it: one effect, shown twice.
func (c *comparing) kvExplained(out Comparison) []Warning {
	m := out.KVModel
	if m == nil || !m.Explained {
		return nil
	}
	of := fmt.Sprintf("%.3g x (%s - memory occupied without KV cache)", m.Fraction, figure.Bytes.Text(m.TotalBytes))
	if m.Of == KVOfFree {
		of = fmt.Sprintf("%.3g x what was free when it was sized", m.Fraction)
	}
	return []Warning{warn(CodeKVExplained, "the KV cache of all %s is %s, to within %s: the two are one effect and no two findings",
		Runs(m.N), of, figure.Bytes.Text(m.ResidualBytes))}
}

// smallBeside is the factor by which the difference in memory occupied when ready must be smaller than that without KV
// cache, to be reported.
const smallBeside = 5

// leastChange is the relative difference without KV cache that is large enough to be reported.
const leastChange = 0.02

// occupiedEqual reports arms that differ without KV cache and hardly when ready.
func (c *comparing) occupiedEqual(out Comparison) []Warning {
	var with, without float64
	pairs := 0
	for _, p := range out.pairs() {
		w, o := change(p, figure.MemoryOccupiedWhenReady), change(p, figure.MemoryOccupiedWithoutKV)
		if w == nil || o == nil || math.Abs(*o) < leastChange {
			continue
		}
		pairs++
		with, without = max(with, math.Abs(*w)), max(without, math.Abs(*o))
		if math.Abs(*w)*smallBeside > math.Abs(*o) {
			return nil
		}
	}
	if pairs == 0 {
		return nil
	}
	return []Warning{warn(CodeOccupiedEqual, "memory occupied when ready differs by %s at most between arms, memory occupied without KV cache by up to %s: the cache takes what is left",
		short2(with), short2(without))}
}

// short2 formats a share in per cent with one digit after the point.
func short2(share float64) string { return fmt.Sprintf("%.1f %%", 100*share) }

// change returns the relative difference of a metric of a pair; nil without it.
func change(p Pair, metric string) *float64 {
	for _, m := range p.Metrics {
		if m.Name == metric && m.Ratio != nil {
			return pointer(*m.Ratio - 1)
		}
	}
	return nil
}

// blockedEverywhere replaces the warnings of all strata that ran in blocks by one.
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
		return nil // the stratum has its own warning
	}
	var texts []string
	for _, name := range sortedKeys(first) {
		texts = append(texts, fmt.Sprintf("%s first in %d", name, first[name]))
	}
	return []Warning{warn(CodeBlockedOrder, "in %d of %d strata the arms ran in blocks, %s: arm and time are confounded", blocked, len(out.Strata), strings.Join(texts, ", "))}
}

// firstEverywhere warns if, over all strata, the first run after a change of arms is the highest or lowest of its block
// more often than by chance, adjusted for the number of metrics tested.
func (c *comparing) firstEverywhere() []Warning {
	type finding struct {
		firsts
		metric figure.Figure
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
			f.metric, _ = figure.FindCompared(k.name)
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

// memoryDiffers reports whether a finding of a pair is about memory.
func memoryDiffers(p Pair) bool {
	return slices.ContainsFunc(p.Metrics, func(m Metrics) bool {
		return (m.Verdict.IsDifference() || m.VerdictIgnoringOrder.IsDifference()) && m.Unit == string(figure.Bytes)
	})
}

// ledgerAbsent warns if memory differs and no ledger shows which lines differ.
func (c *comparing) ledgerAbsent(out Comparison) []Warning {
	var without []string
	for s, p := range out.pairs() {
		if p.LedgerDifference.Empty() && memoryDiffers(p) {
			without = append(without, p.B+in(s.Within))
		}
	}
	if len(without) == 0 {
		return nil
	}
	return []Warning{warn(CodeLedgerAbsent, "no memory ledger of both arms was observed for %s: what the memory went to, and so the cause, is not observable", some(without))}
}

// reportedByOthers lists the figures that an engine or a tool reported and uma-load did not measure.
func (c *comparing) reportedByOthers(out Comparison) []Warning {
	engine, tool := map[string]bool{}, map[string]bool{}
	for _, p := range out.pairs() {
		for _, m := range p.Metrics {
			if m.EngineReported || strings.HasPrefix(m.Name, "engine_reported_") {
				engine[m.Name] = true
			}
			if figure.ByTool(m.Name) {
				tool[m.Name] = true
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

// simulation warns of runs with a simulated machine or engine.
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
		all = append(all, warn(CodeMixedModes, "simulated and real runs are in one comparison (%s): no figure of it is a finding", strings.Join(texts, ", ")))
	}
	return all
}

// workloadUnknown warns of runs without a record that they had the same workload.
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

// metricUnknown warns of metrics that Table does not have, and of values that no figure can be computed from.
func (c *comparing) metricUnknown() []Warning {
	unknown, unusable := map[string]bool{}, map[string]bool{}
	for _, r := range c.runs {
		for name, v := range r.Metrics {
			if _, known := figure.FindCompared(name); !known {
				unknown[name] = true
			} else if !usable(v) {
				unusable[name+" of "+r.ID] = true
			}
		}
	}
	var all []Warning
	if len(unknown) > 0 {
		all = append(all, warn(CodeMetricUnknown, "not compared, since the better direction is unknown: %s", some(sortedKeys(unknown))))
	}
	if len(unusable) > 0 {
		all = append(all, warn(CodeValueUnusable, "left out, since it cannot be a figure of a run: %s", some(sortedKeys(unusable))))
	}
	return all
}
