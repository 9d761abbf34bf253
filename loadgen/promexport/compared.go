package promexport

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/umascope/umascope/exporter/metric"
	"github.com/umascope/umascope/loadgen/compare"
	"github.com/umascope/umascope/loadgen/openai"
)

// Bounds of the data of a comparison, apart from its figures.
const (
	mostFacts     = 100 // facts of a pair
	mostWarnings  = 100 // of one name
	mostRuns      = 1000
	longestFact   = 128 // bytes of the value of one fact in an arm
	longestDetail = 512 // bytes of a warning
)

// ofComparison keeps the exported part of a comparison that was saved at a time. The most important parts come first.
func ofComparison(name string, c compare.Comparison, saved time.Time) comparison {
	kept, all := comparison{Name: shown(name), Simulated: c.Simulated, modified: saved}, newCollection(mostSeries)
	c, kept.left = bounded(c)
	kept.names = namesOf(name, c)
	for _, of := range kept.names {
		all.whole(of, c, saved)
	}
	taken := map[string]bool{}
	for _, stratum := range c.Strata {
		for _, pair := range stratum.Pairs {
			of := newScope(name, stratum, pair)
			for _, m := range pair.Metrics {
				r := newRow(of, m)
				key := fmt.Sprintf("%q", r.labels())
				if taken[key] || len(kept.Rows) == mostRows {
					kept.left++
					continue
				}
				taken[key] = true
				kept.Rows = append(kept.Rows, r)
				all.row(r, m, stratum, pair)
			}
		}
	}
	for _, stratum := range c.Strata {
		for _, pair := range stratum.Pairs {
			all.pair(newScope(name, stratum, pair), stratum, pair)
		}
	}
	all.runs(name, c)
	all.warnings(name, c)
	kept.series, kept.left = all.all, kept.left+all.left
	return kept
}

// bounded drops pairs, and strata, beyond the limit, and returns how many.
func bounded(c compare.Comparison) (compare.Comparison, int) {
	left, room := max(0, len(c.Strata)-mostPairs), mostPairs
	c.Strata = slices.Clone(c.Strata[:min(len(c.Strata), mostPairs)])
	for i, s := range c.Strata {
		fit := min(len(s.Pairs), room)
		left, room = left+len(s.Pairs)-fit, room-fit
		c.Strata[i].Pairs = s.Pairs[:fit]
	}
	return c, left
}

// nameOf returns the name of a comparison, with the labels that distinguish a stratum from others of the same scenario
// and model.
func nameOf(name string, s compare.Stratum) string {
	return shown(strings.Join(append([]string{name}, furtherCells(s.Within)...), " "))
}

// namesOf returns the names of all strata, each once.
func namesOf(name string, c compare.Comparison) []string {
	var names []string
	for _, stratum := range c.Strata {
		if of := nameOf(name, stratum); !slices.Contains(names, of) {
			names = append(names, of)
		}
	}
	if len(names) == 0 {
		return []string{shown(name)}
	}
	return names
}

// furtherCells formats the labels of a stratum except scenario and model, which have labels of their own.
func furtherCells(within map[string]string) []string {
	var cells []string
	for name, value := range within {
		if name != string(metric.LabelScenario) && name != string(metric.LabelModel) {
			cells = append(cells, name+"="+value)
		}
	}
	slices.Sort(cells)
	return cells
}

// scope has the label values of the series of a pair of arms.
type scope struct {
	// Of is the comparison, with the labels that distinguish its stratum from others of the same scenario and model.
	Of                                   string
	Baseline, Candidate, Scenario, Model string
}

func newScope(name string, s compare.Stratum, p compare.Pair) scope {
	return scope{
		Of: nameOf(name, s), Baseline: shown(p.A), Candidate: shown(p.B),
		Scenario: shown(s.Within[string(metric.LabelScenario)]), Model: shown(s.Within[string(metric.LabelModel)]),
	}
}

// with returns the label values of a pair, followed by further ones.
func (s scope) with(more ...string) []string {
	return with([]string{s.Of, s.Baseline, s.Candidate, s.Scenario, s.Model}, more...)
}

// with returns label values, followed by further ones.
func with(labels []string, more ...string) []string { return slices.Concat(labels, more) }

// whole adds the series of the comparison as a whole, under one of its names.
func (c *collection) whole(of string, whole compare.Comparison, saved time.Time) {
	c.state(&metric.ComparisonSimulated, whole.Simulated, of)
	c.moment(&metric.ComparisonSavedTimestampSeconds, saved, of)
	if whole.By != "" {
		c.add(&metric.ComparisonInfo, 1, of, shown(whole.By))
	}
}

// runs adds the runs of all arms, including excluded ones. Each is there once under a name, so that other series can be
// joined to it.
func (c *collection) runs(name string, whole compare.Comparison) {
	taken, room := map[string]bool{}, mostRuns
	for _, s := range whole.Strata {
		of := nameOf(name, s)
		scenario, model := shown(s.Within[string(metric.LabelScenario)]), shown(s.Within[string(metric.LabelModel)])
		for _, arm := range slices.Sorted(maps.Keys(s.Arms)) {
			for _, r := range slices.Concat(s.Arms[arm].Runs, s.Arms[arm].Excluded) {
				run := shown(r.Run)
				switch key := fmt.Sprintf("%q %q", of, run); {
				case taken[key]:
				case room == 0:
					c.left++
				default:
					taken[key] = true
					room--
					c.add(&metric.ComparisonRunInfo, 1, of, scenario, model, shown(arm), run, shown(string(r.Grade)), shown(strings.Join(r.Why, ", ")))
				}
			}
		}
	}
}

// pair adds the series of two arms that do not depend on a metric.
func (c *collection) pair(of scope, s compare.Stratum, p compare.Pair) {
	for _, name := range []string{p.A, p.B} {
		if arm, known := s.Arms[name]; known {
			c.add(&metric.ComparisonRuns, float64(len(arm.Runs)), of.with(shown(name))...)
		}
	}
	if p.Order.Kind != "" {
		c.add(&metric.ComparisonOrderInfo, 1, of.with(shown(p.Order.Kind))...)
	}
	c.ledger(&metric.ComparisonLedgerDifferenceBytes, p.LedgerDifference, of.with()...)
	facts := slices.Clone(p.Fairness)
	slices.SortStableFunc(facts, func(a, b compare.Fairness) int { return int(number(b.Differs)) - int(number(a.Differs)) })
	for _, f := range facts[:min(len(facts), mostFacts)] {
		c.state(&metric.ComparisonFairnessDiffers, f.Differs, of.with(shown(f.Item), cut(f.A), cut(f.B))...)
	}
}

func cut(text string) string { return openai.Printable(text, longestFact) }

// warnings adds the warnings of the whole to each of its names, and those of a stratum and its pairs to theirs.
func (c *collection) warnings(name string, whole compare.Comparison) {
	count := map[string]int{}
	add := func(of, where string, all []compare.Warning) {
		for _, w := range all {
			if count[of] == mostWarnings {
				return
			}
			count[of]++
			c.add(&metric.ComparisonWarning, 1, of, shown(w.Code), openai.Printable(where+w.Text, longestDetail))
		}
	}
	for _, of := range namesOf(name, whole) {
		add(of, "", whole.Warnings)
	}
	for _, s := range whole.Strata {
		where := ""
		if len(whole.Strata) > 1 && len(s.Within) > 0 {
			where = compare.Cell(s.Within) + ": "
		}
		add(nameOf(name, s), where, s.Warnings)
		for _, p := range s.Pairs {
			add(nameOf(name, s), where, p.Warnings)
		}
	}
}
