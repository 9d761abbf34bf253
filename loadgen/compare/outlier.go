package compare

import (
	"fmt"
	"math"
	"slices"

	"github.com/umascope/umascope/loadgen/stats"
)

// Tests that flag outliers.
const (
	byGrubbs    = "grubbs"
	byModifiedZ = "modified_z"
)

// outliersOf flags the outliers of an arm, with the facts that set them apart. No figure excludes them.
func outliersOf(s sample, arm string, first func(*Run) bool) []Outlier {
	by := make([][]string, len(s.values))
	if g, err := stats.Grubbs(s.values, significance); err == nil && g.Outlier {
		by[g.At] = append(by[g.At], byGrubbs)
	}
	if z, err := stats.ModifiedZ(s.values); err == nil {
		for i, v := range z {
			if math.Abs(v) > stats.OutlyingZ {
				by[i] = append(by[i], byModifiedZ)
			}
		}
	}
	var all []Outlier
	for i, tests := range by {
		if len(tests) == 0 {
			continue
		}
		others := slices.Concat(s.runs[:i], s.runs[i+1:])
		o := Outlier{Run: s.runs[i].ID, Arm: arm, Value: s.values[i], By: tests, Causes: factsApart(s.runs[i], others)}
		if first(s.runs[i]) && !slices.ContainsFunc(others, first) {
			o.Causes = append(o.Causes, "first run after a change of arms")
		}
		all = append(all, o)
	}
	return all
}

// factsApart returns the facts that set a run apart from all others of its arm.
func factsApart(r *Run, others []*Run) []string {
	if len(others) < 2 {
		return nil
	}
	var apart []string
	sameKey := len(hashKeys(append(slices.Clone(others), r))) < 2
	for _, f := range r.Facts {
		if f.Hash != "" && !sameKey {
			continue
		}
		known, one := factsOf(others, f.Item, f.Identified), facts{all: []Fact{f}, runs: 1}
		if len(known.all) == len(others) && setsApart(f, known) {
			apart = append(apart, fmt.Sprintf("%s %s", f.Item, one.text(labelsOf(known, one))))
		}
	}
	return apart
}

// setsApart reports whether a fact sets its run apart: the other runs have another value in common, or a quantity is
// farther from all of theirs than they are from each other.
func setsApart(f Fact, others facts) bool {
	values := others.numbers()
	if f.Number == nil || len(values) == 0 {
		return len(others.counts()) == 1 && f.token() != others.all[0].token()
	}
	low, high := slices.Min(values), slices.Max(values)
	return max(*f.Number-high, low-*f.Number) > max(f.Tolerance, others.all[0].Tolerance, high-low)
}
