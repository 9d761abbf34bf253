package compare_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/umascope/umascope/loadgen/compare"
	"github.com/umascope/umascope/loadgen/figure"
)

// rounds makes a campaign of two arms in ABBA, a run an hour, of the throughput that value has for each run.
func rounds(n int, value func(arm string, run int) float64) experiment {
	var e experiment
	for i := range 2 * n {
		arm := string("abba"[i%4])
		e.run(arm, map[string]float64{figure.OutputTokensPerSecond: value(arm, i)}, func(r *compare.Run) { r.Pair = fmt.Sprint("p", i/2) })
	}
	return e
}

func tokens(t *testing.T, c compare.Comparison) compare.Metrics {
	t.Helper()
	return metricOf(t, c, figure.OutputTokensPerSecond)
}

// The two halves of ABBA have a linear drift with opposite signs: it is in neither the difference nor its spread.
func TestADriftOfBothArmsIsInNeitherTheDifferenceNorItsInterval(t *testing.T) {
	run := func(drift float64) compare.Metrics {
		return tokens(t, mustCompare(t, rounds(8, func(arm string, run int) float64 {
			v := 100 * math.Exp(.002*noise[(run*3+run/4)%4]-.2+drift*float64(run))
			if arm == "b" {
				v *= 1.03
			}
			return v
		}).runs, compare.Options{}))
	}
	still, drifting := run(0), run(.01)
	for end := range 2 {
		if math.Abs(still.RatioCI95[end]-drifting.RatioCI95[end]) > 1e-9 {
			t.Errorf("end %d of the interval is %v, with a drift %v", end, still.RatioCI95[end], drifting.RatioCI95[end])
		}
	}
	if drifting.Method != compare.MethodBalancedPairs || drifting.Pairs != 8 || drifting.Verdict != compare.Better || drifting.Confounded {
		t.Errorf("%s of %d pairs: %s, confounded %v", drifting.Method, drifting.Pairs, drifting.Verdict, drifting.Confounded)
	}
}

// Where a half has less than three pairs, its mean is not one to go by.
func TestFewPairsOfAHalfAreTestedAsPlainPairs(t *testing.T) {
	for n, want := range map[int]string{5: compare.MethodPairs, 6: compare.MethodBalancedPairs} {
		m := tokens(t, mustCompare(t, rounds(n, func(_ string, run int) float64 { return 100 + float64(run*5%7) }).runs, compare.Options{}))
		if m.Method != want {
			t.Errorf("%d pairs: %s", n, m.Method)
		}
	}
}

// Means, change and interval are of the runs that are tested: those in no pair are in none of them.
func TestMeansAreOfThePairedRuns(t *testing.T) {
	e := rounds(8, func(arm string, run int) float64 { return 100 + .1*float64(run*5%7) })
	for i := range e.runs {
		if i == 5 { // of arm b, in the third round: not repeated
			e.runs[i].Valid = false
		}
		if i == 4 { // its partner
			e.runs[i].Metrics[figure.OutputTokensPerSecond] = 500
		}
	}
	m := tokens(t, mustCompare(t, e.runs, compare.Options{}))
	if m.A.N != 7 || m.B.N != 7 || *m.A.Max > 101 || *m.A.Mean > 101 || m.Pairs != 7 || m.PairsDropped != 1 {
		t.Errorf("%d and %d runs, mean %v, %d pairs, %d dropped", m.A.N, m.B.N, *m.A.Mean, m.Pairs, m.PairsDropped)
	}
	if want := *m.B.Mean / *m.A.Mean; math.Abs(*m.Ratio-want) > 1e-12 || math.Abs(*m.Difference-(*m.B.Mean-*m.A.Mean)) > 1e-9 {
		t.Errorf("ratio %v of the means is %v; difference %v", want, *m.Ratio, *m.Difference)
	}
	if notes := strings.Join(m.Notes, "; "); !strings.Contains(notes, "1 without a valid run of both arms") {
		t.Errorf("notes %q", notes)
	}
}

func TestAnInvalidRunIsReplacedByItsRepeat(t *testing.T) {
	e := rounds(6, func(arm string, run int) float64 { return 100 + .1*float64(run*5%7) })
	repeat := e.runs[5]
	repeat.ID, repeat.StartedAt, repeat.Metrics = "again", repeat.StartedAt.Add(30*time.Minute), map[string]float64{figure.OutputTokensPerSecond: 100.2}
	e.runs[5].Valid = false
	e.runs = append(e.runs, repeat)
	if m := tokens(t, mustCompare(t, e.runs, compare.Options{})); m.Pairs != 6 || m.PairsDropped != 0 {
		t.Errorf("%d pairs, %d dropped: %q", m.Pairs, m.PairsDropped, m.Notes)
	}
}

func TestPairsThatDropOutAreCounted(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*experiment)
		note   string
	}{
		"a reboot between": {func(e *experiment) {
			for i := range e.runs[5:] {
				e.runs[5+i].BootID = "boot2"
			}
		}, "1 with a reboot between"},
		"two valid runs of an arm": {func(e *experiment) {
			twice := e.runs[5]
			twice.ID = "twice"
			e.runs = append(e.runs, twice)
		}, "1 with several valid runs of an arm"},
		"a round that was cut off": {func(e *experiment) { e.runs = e.runs[:len(e.runs)-1] }, "1 without a valid run of both arms"},
		"a figure that a run lacks": {func(e *experiment) {
			e.runs[5].Metrics = map[string]float64{figure.TimeToFirstToken: 1}
		}, "1 without a valid run of both arms"},
	} {
		t.Run(name, func(t *testing.T) {
			e := rounds(8, func(arm string, run int) float64 { return 100 + .1*float64(run*5%7) })
			c.change(&e)
			m := tokens(t, mustCompare(t, e.runs, compare.Options{}))
			if m.Pairs != 7 || m.PairsDropped != 1 || !strings.Contains(strings.Join(m.Notes, "; "), c.note) {
				t.Errorf("%d pairs, %d dropped, notes %q", m.Pairs, m.PairsDropped, m.Notes)
			}
		})
	}
}

// The differences of one arm that drifts go with time: then their mean is that of these hours only.
func TestAnArmThatDriftsAloneMarksThePair(t *testing.T) {
	for name, c := range map[string]struct {
		a, b   float64 // share of the start that is gained in each run
		marked bool
	}{
		"neither drifts":         {0, 0, false},
		"both drift":             {.01, .01, false},
		"b drifts":               {0, .01, true},
		"they drift unlike ways": {.005, -.005, true},
	} {
		t.Run(name, func(t *testing.T) {
			random := rand.New(rand.NewPCG(7, 1))
			e := rounds(10, func(arm string, run int) float64 {
				drift := map[string]float64{"a": c.a, "b": c.b}[arm]
				shift := map[string]float64{"a": 0, "b": .2}[arm]
				return 100 * math.Exp(shift+drift*float64(run)+.004*random.NormFloat64())
			})
			got := mustCompare(t, e.runs, compare.Options{})
			drift := got.Strata[0].Pairs[0].Order.Drift
			if drift == nil || drift.P == nil || drift.Significant != c.marked || drift.Pairs != 10 || drift.Metric != figure.OutputTokensPerSecond {
				t.Fatalf("%+v", drift)
			}
			want := map[bool]compare.Verdict{false: compare.Better, true: compare.Confounded}[c.marked]
			if m := tokens(t, got); m.Verdict != want || m.Confounded != c.marked || c.marked != (m.Drift != nil) {
				t.Errorf("%s, confounded %v, drift %v", m.Verdict, m.Confounded, m.Drift)
			}
			if told := codes(got)[compare.CodePairDrift]; (told != nil) != c.marked {
				t.Errorf("told %q", told)
			}
			for name, arm := range got.Strata[0].Arms {
				for _, r := range arm.Runs {
					if why := strings.Join(r.Why, "; "); strings.Contains(why, "drift") {
						t.Errorf("run %s of %s: %s", r.Run, name, why)
					}
				}
			}
		})
	}
}

// In-arm drift is told of, and is no mark of an interleaved pair.
func TestDriftWithinArmsIsShownAndMarksNoPair(t *testing.T) {
	e := rounds(8, func(arm string, run int) float64 {
		v := 100 - float64(run) + .05*noise[(run*3+run/4)%4]
		if arm == "b" {
			v *= 1.1
		}
		return v
	})
	c := mustCompare(t, e.runs, compare.Options{})
	if m := tokens(t, c); m.Verdict != compare.Better || m.Confounded {
		t.Errorf("%s, confounded %v", m.Verdict, m.Confounded)
	}
	if told := codes(c)[compare.CodeDrift]; len(told) != 2 {
		t.Errorf("of drift is told %q", told)
	}
	for _, arm := range c.Strata[0].Arms {
		for _, series := range arm.Metrics {
			if !series.Drift.Significant {
				t.Errorf("%s: %+v", series.Name, series.Drift)
			}
		}
	}
}

func TestFewPairsAreNotTestableForDrift(t *testing.T) {
	for n, testable := range map[int]bool{3: false, 4: true} {
		c := mustCompare(t, rounds(n, func(arm string, run int) float64 {
			return 100 + float64(run*5%7) + map[string]float64{"b": 2 * float64(run)}[arm]
		}).runs, compare.Options{})
		d := c.Strata[0].Pairs[0].Order.Drift
		if d == nil || (d.P != nil) != testable || d.Significant && !testable || (d.Note == "") != testable {
			t.Errorf("%d pairs: %+v", n, d)
		}
	}
}

// An arm that always comes second has what time does on its side: that is in the difference.
func TestAStrictlyAlternatingOrderIsMarkedUnlessNeitherArmDrifts(t *testing.T) {
	for drift, marked := range map[float64]bool{0: false, .01: true} {
		var e experiment
		random := rand.New(rand.NewPCG(3, 1))
		for i := range 16 {
			arm := string("ab"[i%2])
			v := 100 * math.Exp(map[string]float64{"b": .2}[arm]+drift*float64(i)+.004*random.NormFloat64())
			e.run(arm, map[string]float64{figure.OutputTokensPerSecond: v}, func(r *compare.Run) { r.Pair, r.Mode = fmt.Sprint("p", i/2), "live" })
		}
		c := mustCompare(t, e.runs, compare.Options{})
		want := map[bool]compare.Verdict{false: compare.Better, true: compare.Confounded}[marked]
		if m := tokens(t, c); m.Verdict != want || m.Confounded != marked || m.Method != compare.MethodPairs {
			t.Errorf("drift %v: %s, confounded %v, by %s", drift, m.Verdict, m.Confounded, m.Method)
		}
		for _, r := range c.Strata[0].Arms["a"].Runs {
			if (r.Grade == compare.GradeDecision) == marked {
				t.Errorf("drift %v: a run is of grade %s: %q", drift, r.Grade, r.Why)
			}
		}
	}
}

// Runs of one start of an engine are no two of it: what their engine has of its start they share.
func TestRunsThatShareAStartAreAveragedAndNotPaired(t *testing.T) {
	var e experiment
	for i := range 16 {
		arm := string("abba"[i%4])
		value := 100 + 3*float64((i+1)/2*5%7) + .1*float64(i%2) // of the start, and a little of the run
		e.run(arm, map[string]float64{figure.OutputTokensPerSecond: value}, func(r *compare.Run) {
			r.Pair, r.EngineKept, r.Labels["campaign"] = fmt.Sprint("p", i/2), i > 0 && i%2 == 0, "c"
		})
	}
	m := tokens(t, mustCompare(t, e.runs, compare.Options{}))
	if m.Method != compare.MethodWelchOfStarts || m.Paired || m.A.N != 5 || m.B.N != 4 {
		t.Errorf("%s, paired %v, n %d and %d", m.Method, m.Paired, m.A.N, m.B.N)
	}
	if want := (100 + 3*float64(1*5%7) + 100 + .1 + 3*float64(1*5%7)) / 2; math.Abs(*m.B.Max-115.05) > 6 || want < 100 {
		t.Errorf("largest start of b %v", *m.B.Max)
	}
	if notes := strings.Join(m.Notes, "; "); !strings.Contains(notes, "share a start") {
		t.Errorf("notes %q", notes)
	}
	for i := range e.runs {
		e.runs[i].EngineKept = false
	}
	if m := tokens(t, mustCompare(t, e.runs, compare.Options{})); !m.Paired || m.A.N != 8 {
		t.Errorf("with a start each: paired %v, n %d", m.Paired, m.A.N)
	}
	// Scenarios that one start serves in turn are no runs of one thing.
	for i := range e.runs {
		e.runs[i].EngineKept, e.runs[i].Scenario = i%2 == 1, []string{"short", "long"}[i%2]
		e.runs[i].Labels["arm"] = string("abba"[i/2%4])
	}
	c := mustCompare(t, e.runs, compare.Options{Within: []string{"scenario"}})
	if m := tokens(t, c); m.Method == compare.MethodWelchOfStarts || m.A.N != 4 {
		t.Errorf("scenarios of one start: %s, n %d", m.Method, m.A.N)
	}
}

// Every further arm is held against the baseline: the chance that one of them is found wrongly is that of all.
func TestHolmCoversAllArms(t *testing.T) {
	e := arms(3, 0)
	c := mustCompare(t, e.runs, compare.Options{Baseline: "a"})
	var p, adjusted []float64
	for _, pair := range c.Strata[0].Pairs {
		for _, m := range pair.Metrics {
			if m.Primary {
				if m.HolmP == nil {
					t.Fatalf("%s against %s is not adjusted", pair.B, pair.A)
				}
				p, adjusted = append(p, *m.WelchP), append(adjusted, *m.HolmP)
			}
		}
	}
	if least := slices.Min(p); math.Abs(slices.Min(adjusted)-min(1, 3*least)) > 1e-12 {
		t.Errorf("p %v, adjusted %v", p, adjusted)
	}
}

// Each figure is confounded by its own drift: one that does not drift keeps its verdict beside one that does.
func TestAFigureIsConfoundedByItsOwnDrift(t *testing.T) {
	for name, c := range map[string]struct {
		tokens, first float64 // drift of arm b over the campaign
		want          map[string]compare.Verdict
	}{
		"none drifts":               {0, 0, map[string]compare.Verdict{figure.OutputTokensPerSecond: compare.Better, figure.TimeToFirstToken: compare.Worse, figure.MemoryOccupiedWithoutKV: compare.Worse}},
		"the metric that decides":   {.06, 0, map[string]compare.Verdict{figure.OutputTokensPerSecond: compare.Confounded, figure.TimeToFirstToken: compare.Worse, figure.MemoryOccupiedWithoutKV: compare.Worse}},
		"another":                   {0, .06, map[string]compare.Verdict{figure.OutputTokensPerSecond: compare.Better, figure.TimeToFirstToken: compare.Confounded, figure.MemoryOccupiedWithoutKV: compare.Worse}},
		"less than the margin does": {.01, 0, map[string]compare.Verdict{figure.OutputTokensPerSecond: compare.Better, figure.TimeToFirstToken: compare.Worse, figure.MemoryOccupiedWithoutKV: compare.Worse}},
	} {
		random := rand.New(rand.NewPCG(11, 1))
		e := rounds(15, func(string, int) float64 { return 1 })
		for i := range e.runs {
			r := &e.runs[i]
			at := float64(i) / float64(len(e.runs)-1)
			noise := func() float64 { return math.Exp(.002 * random.NormFloat64()) }
			figures := map[string]float64{figure.OutputTokensPerSecond: 100 * noise(), figure.TimeToFirstToken: .2 * noise(), figure.MemoryOccupiedWithoutKV: 70 * gib * noise()}
			if r.Labels["arm"] == "b" {
				figures[figure.OutputTokensPerSecond] *= 1.2 * (1 + c.tokens*at)
				figures[figure.TimeToFirstToken] *= 1.2 * (1 + c.first*at)
				figures[figure.MemoryOccupiedWithoutKV] += 10 * gib
			}
			r.Metrics = figures
		}
		got := mustCompare(t, e.runs, compare.Options{})
		for metric, want := range c.want {
			if m := metricOf(t, got, metric); m.Verdict != want || (m.Drift != nil) != (want == compare.Confounded) {
				t.Errorf("%s: %s is %s, drift %+v", name, metric, m.Verdict, m.Drift)
			}
		}
	}
}
