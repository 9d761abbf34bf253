package comparison

import (
	"fmt"
	"html"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/umascope/umascope/loadgen/compare"
	"github.com/umascope/umascope/loadgen/figure"
	"github.com/umascope/umascope/loadgen/render"
)

// What a caption says of marks is what is drawn: one that is wholly beside 1 can be inconclusive as one of many.
func TestACaptionNamesIntervalsThatExcludeOne(t *testing.T) {
	metric := func(name string, low, high float64, verdict compare.Verdict) compare.Metrics {
		return compare.Metrics{
			Name: name, Unit: string(figure.Seconds), Verdict: verdict, Margin: figure.Margin{Value: .02, Relative: true},
			A: compare.Moments{N: 4, Mean: pointer(1)}, B: compare.Moments{N: 4, Mean: pointer(1)}, Ratio: pointer((low + high) / 2), RatioCI95: &compare.Interval{low, high},
		}
	}
	worse := metric(figure.TimeToFirstToken, 1.03, 1.1, compare.Worse)
	unsure := metric(figure.TimePerOutputToken, 1.01, 1.1, compare.Inconclusive)
	equal := metric(figure.RequestDuration, 1.001, 1.01, compare.Irrelevant)
	single := metric(figure.RequestDuration, 1.2, 1.2, compare.Undecided)
	single.RatioCI95 = nil
	for name, c := range map[string]struct {
		metrics   []compare.Metrics
		text, not []string
	}{
		"a difference":          {[]compare.Metrics{worse, equal}, []string{"is a difference"}, []string{"inconclusive"}},
		"an inconclusive one":   {[]compare.Metrics{unsure, equal}, []string{"One is all beside 1 and still inconclusive", "Holm"}, []string{"is a difference"}},
		"one of each":           {[]compare.Metrics{worse, unsure}, []string{"is a difference", "still inconclusive"}, nil},
		"two inconclusive":      {[]compare.Metrics{unsure, unsure}, []string{"2 are all beside 1"}, []string{"is a difference"}},
		"without an interval":   {[]compare.Metrics{single}, nil, []string{"is a difference", "inconclusive"}},
		"all within the margin": {[]compare.Metrics{equal}, nil, []string{"is a difference", "inconclusive"}},
	} {
		c0 := compare.Comparison{Arms: []string{"a", "b"}}
		f := forest(c0, compare.Stratum{}, compare.Pair{A: "a", B: "b", Metrics: c.metrics})
		for _, want := range c.text {
			if !strings.Contains(f.Caption, want) {
				t.Errorf("%s: no %q in %q", name, want, f.Caption)
			}
		}
		for _, not := range c.not {
			if strings.Contains(f.Caption, not) {
				t.Errorf("%s: %q in %q", name, not, f.Caption)
			}
		}
	}
}

func TestAKVModelIsDescribedByItsFit(t *testing.T) {
	for want, m := range map[string]compare.KVModel{
		"That explains the KV cache":           {Share: .9995, Explained: true},
		"That explains 99.7 % of the":          {Share: .997},
		"That does not explain the KV":         {Share: .3, Fails: true},
		"That explains 50.1 % of the variance": {Share: .501},
	} {
		if text := kvWords(m); !strings.Contains(text, want) || strings.Contains(text, "not explain") != m.Fails {
			t.Errorf("%+v: %q", m, text)
		}
	}
}

func TestAVerdictWithoutSpreadStatesIt(t *testing.T) {
	m := compare.Metrics{
		Unit: string(figure.Bytes), Verdict: compare.Different, Constant: true, Margin: figure.Margin{Value: gib},
		A: compare.Moments{N: 4, SD: pointer(0)}, B: compare.Moments{N: 4, SD: pointer(0)},
	}
	if text := VerdictText(m); text != "different (runs do not vary)" {
		t.Errorf("%q", text)
	}
	m.A.SD, m.B.SD = pointer(2), pointer(2)
	if text := VerdictText(m); text != "different (the same in every pair)" {
		t.Errorf("%q", text)
	}
	if text := meaning(m); !strings.Contains(text, "no spread to test by") || strings.Contains(text, "The interval") {
		t.Errorf("%q", text)
	}
}

// In every verdict the words commit to what the interval shows, and a confounded one keeps what it would be otherwise.
func TestEveryVerdictHasItsWords(t *testing.T) {
	for want, m := range map[string]compare.Metrics{
		"worse":                      {Verdict: compare.Worse},
		"worse, extent not decided":  {Verdict: compare.WorseExtentOpen},
		"better, extent not decided": {Verdict: compare.BetterExtentOpen},
		"confounded with time (otherwise worse, extent not decided)": {Verdict: compare.Confounded, VerdictIgnoringOrder: compare.WorseExtentOpen, Confounded: true},
		"difference only (not tested)":                               {Verdict: compare.Undecided, A: compare.Moments{N: 2}, B: compare.Moments{N: 2}},
	} {
		if got := VerdictText(m); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	open := meaning(compare.Metrics{Unit: string(figure.Seconds), Verdict: compare.WorseExtentOpen, Margin: figure.Margin{Value: .02, Relative: true}})
	if !strings.Contains(open, "crosses the margin") || toneOf(compare.WorseExtentOpen) != render.Note || toneOf(compare.Confounded) != render.Note {
		t.Errorf("%q", open)
	}
}

func TestRunsNeededNameTheirPurpose(t *testing.T) {
	effect, margin := 12, 105
	for want, m := range map[string]compare.Metrics{
		"runs of each arm needed: 12 for a difference as large as this, 105 for the margin": {NeedForEffect: &effect, NeedN: &margin},
		"runs of each arm needed: 105 for the margin":                                       {NeedN: &margin},
		"": {},
	} {
		if got := m.NeededText(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// Why a finding is confounded with time is what made it so.
func TestAConfoundedFindingNamesItsCause(t *testing.T) {
	for text, drift := range map[string]*compare.PairDrift{
		"The difference between the arms drifts":     {Significant: true},
		"one arm after the other":                    nil,
		"one arm always second, and both arms drift": {Significant: true, Common: true},
	} {
		if got := orderAs(compare.Metrics{Drift: drift}); !strings.Contains(got, text) {
			t.Errorf("%q, want %q", got, text)
		}
	}
}

// The pairs that decide stand beside the order of the runs, in every form that people read.
func TestPairsAreShownWithTheOrder(t *testing.T) {
	e := published()
	e.models, e.blocked = e.models[:1], false
	runs := e.make()
	for i := range runs {
		runs[i].Pair = fmt.Sprint(i / len(e.arms))
	}
	c, err := compare.Compare(runs, compare.Options{By: "arm"})
	if err != nil {
		t.Fatal(err)
	}
	pairs := c.Strata[0].Pairs[0].PairsText()
	if !strings.HasPrefix(pairs, "9 pairs, 1 dropped; ") {
		t.Fatalf("pairs %q", pairs)
	}
	for form, write := range map[string]func(io.Writer) error{
		"HTML":     func(w io.Writer) error { return HTML(w, "ABBA", c) },
		"Markdown": func(w io.Writer) error { return Markdown(w, "ABBA", c) },
		"text":     func(w io.Writer) error { return Text(w, c) },
	} {
		var b strings.Builder
		err := write(&b)
		if n := strings.Count(html.UnescapeString(b.String()), "container against native: "+pairs); err != nil || form != "text" && n != 1 || !strings.Contains(b.String(), "9 pairs, 1 dropped; ") {
			t.Errorf("%s: %v, %q stands %d times", form, err, pairs, n)
		}
	}
}

func TestAnInconclusiveVerdictWhoseIntervalLeavesOutZeroSaysWhy(t *testing.T) {
	m := compare.Metrics{Unit: string(figure.Bytes), Verdict: compare.Inconclusive, CI95: &compare.Interval{1, 2}, Margin: figure.Margin{Value: gib}}
	if text := VerdictText(m); text != "inconclusive as one of many tests (Holm)" {
		t.Errorf("%q", text)
	}
	m.CI95[0] = -1
	if text := VerdictText(m); text != "inconclusive" {
		t.Errorf("%q", text)
	}
}

func TestAKVModelsConstantIsNotTakenForThePool(t *testing.T) {
	fitted := kvWords(compare.KVModel{Of: compare.KVOfOccupied, Fraction: .838, TotalBytes: 126.69 * gib})
	if !strings.Contains(fitted, "126.69 GiB is fitted to the runs, not the measured pool") {
		t.Errorf("%q", fitted)
	}
	if text := kvWords(compare.KVModel{Of: compare.KVOfFree, Fraction: .9}); strings.Contains(text, "fitted") {
		t.Errorf("without a constant: %q", text)
	}
}

func TestFirstRunsAreLikeTheOthersOnlyWhereThatWasTested(t *testing.T) {
	const memory = figure.MemoryOccupiedWithoutKV
	pair := compare.Pair{A: "native", B: "container", Metrics: []compare.Metrics{{Name: memory, Primary: true}}}
	for want, after := range map[string]compare.AfterSwitch{
		"cannot be tested: too few others, or they do not vary": {},
		"not shown to differ from the others":                   {P: pointer(.4)},
		"the highest of its block":                              {P: pointer(.4), Extreme: "highest"},
		"the highest of its block, stands out":                  {P: pointer(.001), Extreme: "highest", StandsOut: true},
		"stands out":                                            {StandsOut: true},
	} {
		after.Metric, after.Arm, after.First, after.Rest, after.N = memory, "native", 63.58*gib, 46.94*gib, 1
		pair.Order.AfterSwitch = []compare.AfterSwitch{after}
		g := orderGrid(pair)
		cells := g.Rows[0].Cells
		if cells[1] != want || cells[3] != "63.58 GiB" || cells[4] != "46.94 GiB" {
			t.Errorf("want %q: %q", want, cells)
		}
		if slices.Contains(g.Header, "") {
			t.Errorf("a column without a heading: %q", g.Header)
		}
	}
}
