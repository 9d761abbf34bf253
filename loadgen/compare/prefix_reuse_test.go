package compare_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/umascope/umascope/loadgen/compare"
	"github.com/umascope/umascope/loadgen/figure"
)

// warm is the share of prompt tokens that a cache answered beyond the schedule, in per cent.
func warm(percent float64) compare.Fact {
	return number(compare.FactPrefixReuse, percent, compare.PrefixReuseTolerance, "%")
}

// threeArms is an experiment of the arms a, b and c, whose caches were so warm; an arm that is not named has no figure of it.
func threeArms(percent map[string]float64) experiment {
	var e experiment
	for i, arm := range order("abccbaabccba") {
		e.run(arm, map[string]float64{figure.OutputTokensPerSecond: 100 + float64(i%3)/10}, func(r *compare.Run) {
			r.Mode = "live"
			if share, known := percent[arm]; known {
				r.Facts = append(r.Facts, warm(share))
			}
		})
	}
	return e
}

func TestArmsWithCachesOfDifferentWarmthAreNoGroundForADecision(t *testing.T) {
	for name, c := range map[string]struct {
		percent map[string]float64
		valid   []string // arms whose runs are valid, and no more
	}{
		"all cold":               {map[string]float64{"a": 0, "b": 0.2, "c": 0.9}, nil},
		"all as warm":            {map[string]float64{"a": 60, "b": 60.4, "c": 59.1}, nil},
		"one warm":               {map[string]float64{"a": 0, "b": 0, "c": 1.1}, []string{"a", "c"}},
		"the baseline warm":      {map[string]float64{"a": 70, "b": 0, "c": 0}, []string{"a", "b", "c"}},
		"not counted":            {nil, nil},
		"of one arm not counted": {map[string]float64{"a": 0, "c": 50}, []string{"a", "c"}},
	} {
		s := mustCompare(t, threeArms(c.percent).runs, compare.Options{}).Strata[0]
		for arm, runs := range s.Arms {
			want := compare.GradeDecision
			if slices.Contains(c.valid, arm) {
				want = compare.GradeValid
			}
			for _, r := range runs.Runs {
				why := strings.Join(r.Why, "; ")
				if r.Grade != want || strings.Contains(why, "prefix cache beyond the schedule") != (want == compare.GradeValid) {
					t.Errorf("%s: %s of %s is %s (%s)", name, r.Run, arm, r.Grade, why)
				}
			}
		}
	}
}
