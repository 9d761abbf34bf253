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

// outliersOf flags the runs that stand out in their arm, with what else was so in them alone. None is
// left out of any figure.
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
		o := Outlier{Run: s.runs[i].ID, Arm: arm, Value: s.values[i], By: tests, Causes: factsAlone(s.runs, i)}
		if first(s.runs[i]) {
			o.Causes = append(o.Causes, "first run after a change of arms")
		}
		all = append(all, o)
	}
	return all
}

// factsAlone are the facts by which a run differs from every other one of its arm.
func factsAlone(runs []*Run, at int) []string {
	others := slices.Concat(runs[:at], runs[at+1:])
	if len(others) < 2 {
		return nil
	}
	var alone []string
	for _, f := range runs[at].Facts {
		known := factsOf(others, f.Item)
		if len(known.all) < len(others) {
			continue
		}
		apart := !slices.ContainsFunc(known.all, func(other Fact) bool { return like(f, other) })
		if apart {
			alone = append(alone, fmt.Sprintf("%s %s", f.Item, facts{all: []Fact{f}, runs: 1}.text()))
		}
	}
	return alone
}

// like says whether two facts are the same, as far as that matters.
func like(a, b Fact) bool {
	if a.Number != nil && b.Number != nil {
		return math.Abs(*a.Number-*b.Number) <= max(a.Tolerance, b.Tolerance)
	}
	return a.Value == b.Value
}
