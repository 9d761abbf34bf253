package campaign_test

import (
	"math"
	"testing"
	"time"

	"github.com/umascope/umascope/loadgen/campaign/plan"
	"github.com/umascope/umascope/loadgen/compare"
	"github.com/umascope/umascope/loadgen/figure"
	"github.com/umascope/umascope/loadgen/stats"
)

// Whether what a campaign is compared by finds the truth can only be seen where the truth is known: on a
// machine that is made up. The runner carries out 200 campaigns (seeds) of two arms and ten rounds in each order,
// on a virtual clock; each machine below then says what their runs would have measured, and they are
// compared as any campaign is.
const (
	rounds = 10
	// alpha is that of an interval of 95 %, half of it on each side.
	alpha = .05
	// baseline and candidate are the arms.
	baseline, candidate = "native", "container"
)

func TestCampaignsFindTheTruth(t *testing.T) {
	abba, blocks := carriedOut(t, plan.ABBA), carriedOut(t, plan.Sequential)
	for name, test := range map[string]func(t *testing.T, abba, blocks [][]made){
		"known differences are found":                             knownDifferences,
		"equal arms are declared equivalent":                      equalArms,
		"noise is no finding":                                     noise,
		"time is confounded in blocks and cancels itself in ABBA": timeGoesBy,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, abba, blocks)
		})
	}
}

// The candidate is 3 % slower and runs spread by 1.5 %. Ten pairs: the standard error of the difference is
// 1.5 % sqrt(2/10) = 0.67 %, so that 3 % are 4.5 of them, which t with 8 degrees of freedom (the two halves of ABBA
// have a mean each) finds in 97 of 100 campaigns: slower, mostly with the extent not decided, since the margin of 2 % is
// 1.5 standard errors away. At most 1 in 100 is confounded by chance.
//
// It also takes 3 GiB more, on a machine that carries memory over as below: the margin of 1 GiB is six
// standard errors away.
//
// In blocks the same difference is found as often, and nothing tells it from what time has done.
func knownDifferences(t *testing.T, abba, blocks [][]made) {
	m := machine{slower: .03, cv: .015, heavier: 3, memorySD: .25, carried: 2.5, fading: 2 * time.Hour}
	counts := compared(t, m, abba)
	power, err := pairedTest(m.cv).Power(-math.Log1p(-m.slower), alpha)
	if err != nil {
		t.Fatal(err)
	}
	speed := counts[figure.OutputTokensPerSecond]
	about(t, "slower", speed.verdicts[compare.Worse]+speed.verdicts[compare.WorseExtentOpen]+speed.confounded, power)
	about(t, "the true ratio in its interval", speed.covers(1-m.slower), 1-alpha)
	most(t, "faster", speed.verdicts[compare.Better]+speed.verdicts[compare.BetterExtentOpen], 0)
	most(t, "a drift taken for one", speed.confounded, .01)

	memory := counts[figure.MemoryOccupiedWithoutKV]
	least(t, "more memory, without reserve", memory.verdicts[compare.Worse], .80)
	least(t, "the true difference in its interval", memory.covers(gib*m.heavier), 1-alpha)
	most(t, "less memory", memory.verdicts[compare.Better], 0)

	apart := compared(t, machine{slower: .03, cv: .015, memorySD: .25}, blocks)[figure.OutputTokensPerSecond]
	least(t, "in blocks, confounded", apart.confounded, .80)
	most(t, "in blocks, better or worse", apart.found(), 0)
}

// The arms are equal and runs spread by 1.2 %. The margin of 2 % is 3.7 standard errors of 0.54 %, within
// which ten pairs are shown to be in 93 of 100 campaigns.
func equalArms(t *testing.T, abba, _ [][]made) {
	m := machine{cv: .012, memorySD: .3}
	speed := compared(t, m, abba)[figure.OutputTokensPerSecond]
	power, err := pairedTest(m.cv).EquivalencePower(.02, alpha)
	if err != nil {
		t.Fatal(err)
	}
	least(t, "equivalent", speed.verdicts[compare.Equivalent], .80)
	// What is different but within the margin is neither a false verdict nor said to be equal.
	about(t, "within the margin", speed.verdicts[compare.Equivalent]+speed.verdicts[compare.Irrelevant], power)
	about(t, "no difference in its interval", speed.covers(1), 1-alpha)
	most(t, "better or worse", speed.found(), .07)
}

// The arms are equal and runs spread so much, by 4 % and 5 GiB, that no interval lies in the margin: every
// chance finding is a false verdict. There are as many as 95 % allow, and those of the metrics that are
// not primary are held down together by Holm.
func noise(t *testing.T, abba, _ [][]made) {
	counts := compared(t, machine{cv: .04, latency: .25, memorySD: 5}, abba)
	for metric, truth := range map[string]float64{figure.OutputTokensPerSecond: 1, figure.TimeToFirstToken: 1, figure.MemoryOccupiedWithoutKV: 0} {
		c := counts[metric]
		most(t, metric+" better or worse", c.found(), .07)
		least(t, metric+" inconclusive", c.verdicts[compare.Inconclusive], .90)
		about(t, metric+": no difference in its interval", c.covers(truth), 1-alpha)
	}
}

// The arms are equal, and after a change of arms 2.5 GiB are still taken, which fade with two hours. In
// blocks of ten runs, a quarter of an hour each, only the second arm has that, 1.5 GiB in the mean, more
// than the margin of 1 GiB: it looks worse, and has to be said to be confounded with time. In ABBA each arm
// has it as often; what is left is the very first run, which follows none: 2.5 GiB / 10 in the mean, and
// 0.3 GiB from round to round, in turn for and against each arm. The standard error of ten pairs is about
// 0.3 GiB, so that the interval of 90 % ends at 0.25 + 1.86 x 0.3 = 0.8 GiB: equivalent.
//
// The machine also loses 1 % of its speed in an hour. In blocks the second arm runs two and a half hours
// later, 2.5 % slower; in ABBA what one round takes from an arm the next gives back.
func timeGoesBy(t *testing.T, abba, blocks [][]made) {
	m := machine{cv: .006, memorySD: .25, carried: 2.5, fading: 2 * time.Hour, slowing: .01}
	apart, mixed := compared(t, m, blocks), compared(t, m, abba)
	for _, metric := range []string{figure.MemoryOccupiedWithoutKV, figure.OutputTokensPerSecond} {
		b := apart[metric]
		least(t, metric+" in blocks, confounded", b.confounded, .80)
		most(t, metric+" in blocks, better or worse", b.found(), 0)
		least(t, metric+" in ABBA, equivalent", mixed[metric].verdicts[compare.Equivalent], .80)
		most(t, metric+" in ABBA, better or worse", mixed[metric].found(), .07)
		least(t, "a warning of blocks", b.warned[compare.CodeBlockedOrder], 1)
		least(t, "a warning of drift in blocks", b.warned[compare.CodeDrift], .80)
		most(t, "a warning of blocks in ABBA", mixed[metric].warned[compare.CodeBlockedOrder], 0)
	}
	about(t, "in ABBA, no difference of speed in its interval", mixed[figure.OutputTokensPerSecond].covers(1), 1-alpha)
}

// pairedTest is the test that ten rounds come down to: of differences of two runs of this spread, in two halves.
func pairedTest(spread float64) stats.TTest {
	return stats.TTest{SE: spread * math.Sqrt(2./rounds), DF: rounds - 2}
}

// count is what is said of a metric over all campaigns.
type count struct {
	verdicts map[compare.Verdict]int
	// confounded counts that verdict.
	confounded int
	// intervals are of the difference, or of the ratio where that is analysed.
	intervals []compare.Interval
	warned    map[string]int // campaigns with a warning of this code, whatever the metric
}

// found counts better and worse, whatever their extent.
func (c *count) found() int {
	n := 0
	for v, campaigns := range c.verdicts {
		if v.IsDifference() {
			n += campaigns
		}
	}
	return n
}

// covers counts the intervals that hold a value.
func (c *count) covers(truth float64) int {
	n := 0
	for _, i := range c.intervals {
		if i[0] <= truth && truth <= i[1] {
			n++
		}
	}
	return n
}

// compared says what the campaigns on a machine show, by metric.
func compared(t *testing.T, m machine, campaigns [][]made) map[string]*count {
	t.Helper()
	counts := map[string]*count{}
	for seed, runs := range campaigns {
		out, err := compare.Compare(m.figures(runs, uint64(seed)), compare.Options{By: "arm", Baseline: baseline})
		if err != nil {
			t.Fatal(err)
		}
		for _, row := range out.Strata[0].Pairs[0].Metrics {
			if counts[row.Name] == nil {
				counts[row.Name] = &count{verdicts: map[compare.Verdict]int{}, warned: map[string]int{}}
			}
			counts[row.Name].add(out, row)
		}
	}
	for name, c := range counts {
		t.Logf("%s: %v, of them confounded %d; warnings %v", name, c.verdicts, c.confounded, c.warned)
	}
	return counts
}

func (c *count) add(out compare.Comparison, row compare.Metrics) {
	c.verdicts[row.Verdict]++
	if row.Confounded {
		c.confounded++
	}
	interval := row.CI95
	if row.RatioCI95 != nil {
		interval = row.RatioCI95
	}
	c.intervals = append(c.intervals, *interval)
	said := map[string]bool{}
	for _, all := range [][]compare.Warning{out.Warnings, out.Strata[0].Warnings, out.Strata[0].Pairs[0].Warnings} {
		for _, w := range all {
			if !said[w.Code] {
				c.warned[w.Code]++
			}
			said[w.Code] = true
		}
	}
}

func least(t *testing.T, what string, n int, share float64) {
	t.Helper()
	if float64(n) < share*seeds {
		t.Errorf("%s in %d of %d campaigns, want %.0f %% at least", what, n, seeds, 100*share)
	}
}

func most(t *testing.T, what string, n int, share float64) {
	t.Helper()
	if float64(n) > share*seeds {
		t.Errorf("%s in %d of %d campaigns, want %.0f %% at most", what, n, seeds, 100*share)
	}
}

// about fails if a count is off what the arithmetic expects by more than four standard deviations of such
// a count: then the runs, the test or the arithmetic are wrong.
func about(t *testing.T, what string, n int, expected float64) {
	t.Helper()
	if sd := math.Sqrt(seeds * expected * (1 - expected)); math.Abs(float64(n)-seeds*expected) > 4*sd {
		t.Errorf("%s in %d of %d campaigns, the arithmetic says %.0f", what, n, seeds, seeds*expected)
	}
	t.Logf("%s: %d, the arithmetic says %.0f", what, n, seeds*expected)
}
