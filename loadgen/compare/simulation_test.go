package compare_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/umascope/umascope/loadgen/compare"
)

// What a paired campaign finds, and what it is marked for, where the truth is known: two arms in ABBA, runs that
// spread by 1.5 %, and a drift that is linear over the campaign, of both arms or of one. All rows have the same
// noise: their campaigns are of the same seeds.

// trial is what is true of the campaigns of a row.
type trial struct {
	name           string
	rounds         int
	effect         float64 // how much slower b is
	driftA, driftB float64 // from the first run of the campaign to the last, as a share
}

// outcome counts what is said of the campaigns of a row.
type outcome struct {
	found  int // better or worse
	clean  int // and not confounded with time
	marked int // the pair drifts, whether anything is found or not
	shown  int // drift is shown in an arm
	covers int // the truth is in the interval
}

const trialCV = .015

// campaign makes the runs of a trial.
func (tr trial) campaign(seed uint64) []compare.Run {
	random := rand.New(rand.NewPCG(seed, 1))
	runs := make([]compare.Run, 2*tr.rounds)
	for i := range runs {
		arm, drift, level := "a", tr.driftA, 0.
		if "abba"[i%4] == 'b' {
			arm, drift, level = "b", tr.driftB, math.Log1p(-tr.effect)
		}
		value := 100 * math.Exp(level+math.Log1p(drift*float64(i)/float64(len(runs)-1))+trialCV*random.NormFloat64())
		runs[i] = compare.Run{
			ID: fmt.Sprint(i), Labels: map[string]string{"arm": arm}, Model: "m", Scenario: "standard", WorkloadSHA256: "w", Valid: true,
			StartedAt: began.Add(time.Duration(i) * 15 * time.Minute), Pair: fmt.Sprint(i / 2),
			Metrics: map[string]float64{compare.OutputTokensPerSecond: value},
		}
	}
	return runs
}

// run compares the campaigns of a trial.
func (tr trial) run(t *testing.T) outcome {
	t.Helper()
	var o outcome
	for seed := range campaigns {
		c := mustCompare(t, tr.campaign(uint64(seed)), compare.Options{Baseline: "a"})
		s, m := c.Strata[0], tokens(t, c)
		marked := s.Pairs[0].Order.Drift.Significant
		if marked {
			o.marked++
		}
		if m.Verdict == compare.Worse || m.Verdict == compare.Better {
			o.found++
			if !m.Confounded {
				o.clean++
			}
			if m.Confounded != marked {
				t.Errorf("%s, campaign %d: the pair is marked: %v, its finding: %v", tr.name, seed, marked, m.Confounded)
			}
		}
		if s.Arms["a"].Metrics[0].Drift.Significant || s.Arms["b"].Metrics[0].Drift.Significant {
			o.shown++
		}
		if truth := 1 - tr.effect; m.RatioCI95[0] <= truth && truth <= m.RatioCI95[1] {
			o.covers++
		}
	}
	share := func(n int) float64 { return 100 * float64(n) / campaigns }
	t.Logf("%-24s %2d rounds, effect %.0f %%: found %5.1f %%, unmarked %5.1f %%; marked %5.1f %%; drift shown in an arm %5.1f %%; truth in the interval %5.1f %%",
		tr.name, tr.rounds, 100*tr.effect, share(o.found), share(o.clean), share(o.marked), share(o.shown), share(o.covers))
	return o
}

// Of equal arms at most 7 % are found to differ, and of arms that drift alike at most 7 % are marked, whatever the
// drift; a difference of 3 % is found within 5 points as often as without one.
func TestADriftOfBothArmsCostsAPairedCampaignNothing(t *testing.T) {
	still := map[float64]outcome{}
	for _, drift := range []float64{0, .01, .02, .06} {
		for _, effect := range []float64{0, .03} {
			tr := trial{fmt.Sprintf("both drift by %.0f %%", 100*drift), 10, effect, drift, drift}
			o := tr.run(t)
			if drift == 0 {
				still[effect] = o
			}
			if share(o.marked) > .07 {
				t.Errorf("%s: marked in %d of %d", tr.name, o.marked, campaigns)
			}
			if effect == 0 && share(o.found) > .07 {
				t.Errorf("%s: found in %d of %d", tr.name, o.found, campaigns)
			}
			for what, n := range map[string][2]int{"found": {o.found, still[effect].found}, "found without a mark": {o.clean, still[effect].clean}} {
				if math.Abs(share(n[0])-share(n[1])) > .05 {
					t.Errorf("%s: %s in %d of %d, without drift in %d", tr.name, what, n[0], campaigns, n[1])
				}
			}
		}
	}
	if o := still[.03]; share(o.found) < .90 || share(o.clean) < .85 {
		t.Errorf("3 %% are found in %d of %d, without a mark in %d", o.found, campaigns, o.clean)
	}
}

// One arm that drifts by 6 %: the slope of ten differences is 2.6 of its standard errors, which t with 7 degrees of
// freedom finds in 60 of 100 campaigns at 5 % (SciPy: nct.sf(t.ppf(.975, 7), 7, 2.586)); a test that had the true
// spread of the runs would in 73. Fifteen rounds are what 80 takes. That the arm drifts is shown in more.
func TestAnArmThatDriftsAloneIsMarked(t *testing.T) {
	for _, c := range []struct {
		rounds int
		marked float64 // by SciPy
	}{{10, .604}, {15, .828}, {20, .926}}[:driftRows] {
		for _, effect := range []float64{0, .03} {
			tr := trial{"one drifts by 6 %", c.rounds, effect, 0, .06}
			o := tr.run(t)
			if sd := math.Sqrt(campaigns * c.marked * (1 - c.marked)); math.Abs(float64(o.marked)-campaigns*c.marked) > 4*sd {
				t.Errorf("%d rounds: marked in %d of %d, the arithmetic says %.0f", c.rounds, o.marked, campaigns, campaigns*c.marked)
			}
			if share(o.shown) < .8 {
				t.Errorf("%d rounds: drift is shown in an arm in %d of %d", c.rounds, o.shown, campaigns)
			}
		}
	}
}

func share(n int) float64 { return float64(n) / campaigns }
