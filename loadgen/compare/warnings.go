package compare

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/umascope/umascope/loadgen/figure"
	"github.com/umascope/umascope/loadgen/stats"
)

// Codes of warnings. They do not change.
const (
	CodeBlockedOrder      = "blocked_order"
	CodeOrderUnknown      = "order_unknown"
	CodeDrift             = "drift"
	CodePairDrift         = "pair_drift"
	CodeDriftUnseen       = "drift_unseen"
	CodeFirstAfterSwitch  = "first_after_switch"
	CodeOrderEffect       = "order_effect"
	CodeIterationRepeated = "iteration_repeated"
	CodeUnequalN          = "unequal_n"
	CodeOutliers          = "outliers"
	CodeDifferentBoots    = "different_boots"
	CodeInvalidExcluded   = "invalid_excluded"
	CodeArmMissing        = "arm_missing"
	CodeLabelMissing      = "label_missing"
	CodePooled            = "pooled"
	CodeMetricUnknown     = "metric_unknown"
	CodeValueUnusable     = "value_unusable"
	CodeSourcesDiffer     = "sources_differ"
	CodeFairnessUnknown   = "fairness_unknown"
	CodeManyTests         = "many_tests"
	CodeRanDiffers        = "ran_differs"
	CodeRanUnknown        = "ran_unknown"
	CodeHashKeysDiffer    = "hash_keys_differ"
	CodePrefixReuse       = "prefix_reuse_differs"
	CodeCacheReset        = "cache_reset_differs"
	CodeNotRepeatable     = "not_repeatable"
	CodePairsAdded        = "pairs_added"

	CodeKVExplained   = "kv_explained"
	CodeOccupiedEqual = "memory_occupied_equal"
	CodeLedgerAbsent  = "ledger_absent"

	CodeModelsEquivalent   = "models_equivalent"
	CodeFingerprintShared  = "fingerprint_shared"
	CodeFingerprintsDiffer = "fingerprints_differ"
	CodeWorkloadDifferent  = "workload_different"
	CodeWorkloadUnknown    = "workload_unknown"
	CodeEngineReported     = "engine_reported"
	CodeToolReported       = "tool_reported"
	CodeSimulated          = "simulated"
	CodeMixedModes         = "mixed_modes"
)

func warn(code, format string, values ...any) Warning {
	return Warning{Code: code, Text: fmt.Sprintf(format, values...)}
}

// warnings returns the warnings of the comparison as a whole.
func (c *comparing) warnings(out Comparison) []Warning {
	return slices.Concat(
		c.kvExplained(out), c.occupiedEqual(out), c.blockedEverywhere(out), c.firstEverywhere(),
		c.modelsEquivalent(), c.fingerprintShared(), c.ledgerAbsent(out), c.reportedByOthers(out),
		c.simulation(), c.workloadUnknown(), c.fairnessUnknown(out), manyTests(out), c.metricUnknown(),
	)
}

// stratumWarnings returns the warnings of a stratum that do not depend on a pair.
func (c *comparing) stratumWarnings(cell *cell, s Stratum) []Warning {
	var all []Warning
	switch s.Order.Kind {
	case OrderBlocked:
		all = append(all, warn(CodeBlockedOrder, "the arms ran in blocks, %s first: arm and time are confounded", s.Order.Sequence[0]))
	case OrderUnknown:
		all = append(all, warn(CodeOrderUnknown, "the start of a run is not known: order and drift are unknown"))
	}
	for _, name := range c.arms {
		a, there := cell.arms[name]
		if !there || len(a.valid) == 0 {
			all = append(all, warn(CodeArmMissing, "%s has no valid run: it is not compared", name))
			continue
		}
		all = append(all, driftWarning(name, s.Arms[name])...)
		all = append(all, notRepeatableWarning(name, s.Arms[name])...)
		all = append(all, c.repeated(cell, a)...)
		all = append(all, excludedWarning(a)...)
		all = append(all, ranWarning(name, ranDiffers(a.valid))...)
	}
	all = append(all, c.pooled(cell)...)
	if a, b := unlike(validOf(cell.runs)); a != nil {
		all = append(all, warn(CodeWorkloadDifferent, "%s and %s did different work: what differs may be that", a.ID, b.ID))
	}
	return all
}

// pooled warns if runs of several models or scenarios are compared as one.
func (c *comparing) pooled(cell *cell) []Warning {
	var all []Warning
	for _, name := range []string{labelModel, labelScenario} {
		values := map[string]bool{}
		for _, r := range validOf(cell.runs) {
			values[r.Label(name)] = true
		}
		if _, within := cell.within[name]; len(values) > 1 && !within && c.options.By != name {
			all = append(all, warn(CodePooled, "runs that differ in %s are taken together (%s): --within %s sets like against like", name, some(sortedKeys(values)), name))
		}
	}
	return all
}

// labelIteration is the label by which campaigns and other tools count the runs of a cell.
const labelIteration = "iteration"

// repeated finds an iteration that an arm has several times for one model and scenario: it was probably restarted
// without a note.
func (c *comparing) repeated(cell *cell, a *arm) []Warning {
	type one struct{ iteration, model, scenario string }
	count := map[one]int{}
	for _, r := range a.valid {
		if iteration := r.Labels[labelIteration]; iteration != "" {
			count[one{iteration, r.Label(labelModel), r.Label(labelScenario)}]++
		}
	}
	var texts []string
	for what, n := range count {
		if n > 1 {
			texts = append(texts, fmt.Sprintf("%s of iteration %s", Runs(n), what.iteration))
		}
	}
	if len(texts) == 0 {
		return nil
	}
	slices.SortFunc(texts, naturally)
	text := fmt.Sprintf("%s has %s, %d in all", a.name, strings.Join(texts, ", "), len(a.valid))
	for _, name := range c.arms {
		if other := cell.arm(name); name != a.name && len(other.valid) > 0 {
			text += fmt.Sprintf(", %s has %d", name, len(other.valid))
		}
	}
	return []Warning{warn(CodeIterationRepeated, "%s: an unreported restart?", text)}
}

func excludedWarning(a *arm) []Warning {
	if len(a.excluded) == 0 {
		return nil
	}
	var texts []string
	for _, r := range a.excluded {
		texts = append(texts, fmt.Sprintf("%s (%s)", r.ID, strings.Join(r.InvalidReasons, ", ")))
	}
	return []Warning{warn(CodeInvalidExcluded, "%s of %s invalid and in no figure: %s", Runs(len(a.excluded)), a.name, some(texts))}
}

// pairWarnings returns the warnings of two arms.
func (c *comparing) pairWarnings(a, b *arm, p Pair) []Warning {
	all := []Warning{}
	if len(a.valid) != len(b.valid) {
		all = append(all, warn(CodeUnequalN, "%s has %s, %s has %d", a.name, Runs(len(a.valid)), b.name, len(b.valid)))
	}
	all = append(all, p.orderWarnings()...)
	all = append(all, bootWarning(a, b)...)
	all = append(all, outlierWarning(p)...)
	all = append(all, doubtWarning(p)...)
	all = append(all, sourceWarning(a, b)...)
	all = append(all, fingerprintWarning(a, b)...)
	all = append(all, hashKeyWarning(a, b)...)
	all = append(all, reuseWarning(a, b)...)
	all = append(all, resetWarning(a, b)...)
	return all
}

// orderWarnings reports the effects of order on a pair that are more than the margin of the metric.
func (p Pair) orderWarnings() []Warning {
	var all []Warning
	for _, name := range []string{p.A, p.B} {
		var texts []string
		for _, s := range p.Order.AfterSwitch {
			m, known := figure.FindCompared(s.Metric)
			if known && s.Arm == name && s.StandsOut && s.Extreme != "" && p.matters(s.Metric, s.First-s.Rest, s.Rest) {
				texts = append(texts, fmt.Sprintf("%s is %s in %s, %s otherwise", m.Title, m.Unit.Text(s.First), Runs(s.N), m.Unit.Text(s.Rest)))
			}
		}
		if len(texts) > 0 {
			all = append(all, warn(CodeFirstAfterSwitch, "%s after a change of arms: %s", name, strings.Join(texts, "; ")))
		}
	}
	all = append(all, p.driftWarnings()...)
	var texts []string
	for _, h := range p.Order.Halves {
		if m, known := figure.FindCompared(h.Metric); known && h.Suspect {
			texts = append(texts, fmt.Sprintf("%s by %s if %s comes first, by %s if not (p %.2g)", m.Title, m.Unit.Text(*h.AB), p.A, m.Unit.Text(*h.BA), *h.P))
		}
	}
	if len(texts) > 0 {
		all = append(all, warn(CodeOrderEffect, "the difference depends on which arm comes first: %s", strings.Join(texts, "; ")))
	}
	return all
}

// driftWarnings reports the drifts that confound metrics, and a drift of the metric that decides that the runs could not
// have shown although it is twice the margin.
func (p Pair) driftWarnings() []Warning {
	var all []Warning
	var texts []string
	for _, m := range p.Metrics {
		if m.Drift != nil {
			texts = append(texts, title(m.Name)+": "+m.Drift.text(m))
		}
	}
	if len(texts) > 0 {
		all = append(all, warn(CodePairDrift, "confounded with time, since it drifts: %s", some(texts)))
	}
	for _, m := range p.Metrics {
		d := p.Order.Drift
		if m.Primary && d != nil && !d.Significant && (d.Detectable == nil || *d.Detectable > 2*m.Margin.Value) {
			all = append(all, warn(CodeDriftUnseen, "%s: %s", title(m.Name), d.text(m)))
		}
	}
	return all
}

// matters reports whether a difference in a metric is more than its margin.
func (p Pair) matters(metric string, difference, of float64) bool {
	return slices.ContainsFunc(p.Metrics, func(m Metrics) bool {
		limit := m.Margin.Value
		if m.Margin.Relative {
			limit *= math.Abs(of)
		}
		return m.Name == metric && math.Abs(difference) > limit
	})
}

// bootWarning warns if the runs of two arms span several boots; without a boot that has runs of both, arm and boot are
// confounded.
func bootWarning(a, b *arm) []Warning {
	boot := func(r *Run) string { return r.BootID }
	x, y := distinctOf(a.valid, boot), distinctOf(b.valid, boot)
	switch {
	case len(x) == 0 || len(y) == 0 || len(x) == 1 && slices.Equal(x, y):
		return nil
	case !shared(x, y):
		return []Warning{warn(CodeDifferentBoots, "no boot of the machine has runs of both arms: arm and boot are confounded")}
	}
	return []Warning{warn(CodeDifferentBoots, "the machine was rebooted between runs: %s has runs of %d boots, %s of %d", a.name, len(x), b.name, len(y))}
}

// outlierWarning lists the outliers. By Grubbs or the modified z, one in seven samples of normal runs has one: 21 of
// 100 samples of five, 14 of ten, 11 of thirty.
func outlierWarning(p Pair) []Warning {
	flagged := map[string][]string{}
	var runs []string
	samples := 0
	for _, m := range p.Metrics {
		for _, n := range []int{m.A.N, m.B.N} {
			if n >= stats.LeastForOutlier {
				samples++
			}
		}
		for _, o := range m.Outliers {
			if flagged[o.Run] == nil {
				runs = append(runs, o.Run)
			}
			flagged[o.Run] = append(flagged[o.Run], m.Name)
		}
	}
	if len(runs) == 0 {
		return nil
	}
	var texts []string
	for _, run := range runs {
		texts = append(texts, fmt.Sprintf("%s (%s)", run, some(flagged[run])))
	}
	return []Warning{warn(CodeOutliers, "standing out in their arm, and kept: %s; of %d samples, one in seven has one by chance", some(texts), samples)}
}

// sourceWarning lists metrics that are measured in one arm and reported by an engine in the other, or that different
// tools report.
func sourceWarning(a, b *arm) []Warning {
	var all []Warning
	if tools := toolsOf(a, b); len(tools) > 1 {
		all = append(all, warn(CodeSourcesDiffer, "what tools report is by the definitions of %s: not compared", strings.Join(tools, " and ")))
	}
	for _, one := range []struct{ tool, measured *arm }{{a, b}, {b, a}} {
		if tools := toolsOf(one.tool); len(tools) > 0 && !one.tool.sentByUs() && len(toolsOf(one.measured)) == 0 && one.measured.sentByUs() {
			all = append(all, warn(CodeSourcesDiffer, "load and latency are by the definitions of %s of %s, and were measured of %s: not compared",
				strings.Join(tools, " and "), one.tool.name, one.measured.name))
		}
	}
	for _, m := range figure.Compared() {
		measured, reported := key{m.Name, false}, key{m.Name, true}
		has := func(arm *arm, k key) bool { return len(arm.sample(k).values) > 0 }
		for _, one := range []struct{ measured, reported *arm }{{a, b}, {b, a}} {
			if has(one.measured, measured) && has(one.reported, reported) && !has(one.reported, measured) && !has(one.measured, reported) {
				all = append(all, warn(CodeSourcesDiffer, "%s is measured in %s and the engine's own word in %s: not compared", m.Title, one.measured.name, one.reported.name))
			}
		}
	}
	return all
}

// fingerprintWarning warns if one model name gives different answers in two arms.
func fingerprintWarning(a, b *arm) []Warning {
	var all []Warning
	for _, model := range slices.Sorted(slices.Values(distinctOf(a.valid, func(r *Run) string { return r.Model }))) {
		if proveApart(named(a.valid, model), named(b.valid, model)) {
			all = append(all, warn(CodeFingerprintsDiffer, "%s answers with other fingerprints in %s than in %s: it may not be the same model", model, a.name, b.name))
		}
	}
	return all
}
