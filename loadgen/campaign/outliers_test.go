package campaign

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/umascope/umascope/loadgen/campaign/plan"
	"github.com/umascope/umascope/loadgen/rundir"
)

// watched is a campaign whose second round has a run that is off, and the facts of its runs by slot.
func watched(w *world, p *plan.Plan) (*Campaign, map[int]*rundir.Campaign) {
	c, facts := w.campaign(p), map[int]*rundir.Campaign{}
	c.Operations.Outliers = func() ([]Outlier, error) {
		return []Outlier{{Model: "m", Scenario: "s", Round: 2, Text: "r002 is 12 % off"}}, nil
	}
	w.result = func(o Order) Result {
		facts[o.Slot.Number] = o.Engine.Facts()
		return Result{Status: Finished}
	}
	return c, facts
}

const short = "gates: {off: [cooldown, gpu_celsius, cpu_ratio, mem_free_within]}\niterations: 2\n"

func TestARoundWithARunThatIsOffIsRepeatedOnceWithEveryArm(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		c, facts := watched(w, parsed(t, short))
		c.RepeatOutliers = true
		for range 2 { // the second finds nothing left
			o, err := w.run(t.Context(), c)
			if err != nil || o.Slots != 6 || o.Counts[Finished] != 6 {
				t.Fatalf("%+v (%v)", o, err)
			}
		}
		if got := w.ordered(); !slices.Equal(got, []string{"1-a", "2-b", "3-b", "4-a", "5-a", "6-b"}) {
			t.Errorf("%v", got)
		}
		if f := facts[6]; f.Repeats != 2 || f.Round != 3 || f.Iteration != 3 || facts[4].Repeats != 0 {
			t.Errorf("%+v after %+v", f, facts[4])
		}
		kept, err := ReadFacts(w.dir)
		if err != nil || len(kept.Slots) != 6 || kept.Slots[5].Repeats != 2 {
			t.Errorf("%+v (%v)", kept.Slots, err)
		}
	})
}

func TestRoundsAreRepeatedOnRequestOnlyAndWhole(t *testing.T) {
	for name, change := range map[string]func(c *Campaign){
		"without the switch":  func(c *Campaign) { c.RepeatOutliers = false },
		"with one arm alone":  func(c *Campaign) { c.Only = plan.Filter{Arms: []string{"a"}} },
		"of another scenario": func(c *Campaign) { c.Operations.Outliers = func() ([]Outlier, error) { return nil, nil } },
		"of an added round": func(c *Campaign) {
			c.Operations.Outliers = func() ([]Outlier, error) { return []Outlier{{Model: "m", Scenario: "s", Round: 3}}, nil }
		},
	} {
		inWorld(t, func(t *testing.T, w *world) {
			c, _ := watched(w, parsed(t, short))
			c.RepeatOutliers = true
			change(c)
			if o, err := w.run(t.Context(), c); err != nil || o.State != Complete || o.Slots > 4 {
				t.Errorf("%s: %+v (%v)", name, o, err)
			}
		})
	}
}

func TestAPairThatWasBegunIsMadeWhole(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		c, _ := watched(w, parsed(t, short))
		c.RepeatOutliers = true
		ctx, interrupt := context.WithCancel(t.Context())
		w.during = func(_ context.Context, o Order) {
			if o.Slot.Number == 6 {
				interrupt()
			}
		}
		if o, err := w.run(ctx, c); err != nil || o.State != Stopped {
			t.Fatalf("%+v (%v)", o, err)
		}
		w.during, c.RepeatOutliers = nil, false
		if o, err := w.run(t.Context(), c); err != nil || o.State != Complete || o.Counts[Finished] != 6 {
			t.Errorf("%+v (%v)", o, err)
		}
		c.Plan, c.SHA256, c.Changed = parsed(t, strings.Replace(short, ": 2\n", ": 3\n", 1)), "0th3r", true
		if _, err := c.Open(); err == nil || !strings.Contains(err.Error(), "had 4 slots when rounds with a run that was off were repeated behind them, and has 6 now") {
			t.Errorf("%v", err)
		}
	})
}

// Runs beyond the n that stood when the arms were compared carry it: a comparison of them decides nothing.
func TestRunsBeyondAnNThatWasRaisedAfterAComparisonAreMarked(t *testing.T) {
	for compared, want := range map[bool][]int{false: {0, 0}, true: {0, 2}} {
		inWorld(t, func(t *testing.T, w *world) {
			c, facts := watched(w, parsed(t, short))
			c.Decides.N = 2
			w.mustRun(t.Context(), c)
			c.Plan, c.SHA256, c.Changed = parsed(t, strings.Replace(short, ": 2\n", ": 4\n", 1)), "0th3r", true
			c.Decides.N, c.Compared = 4, compared
			if o, err := w.run(t.Context(), c); err != nil || o.Counts[Finished] != 8 {
				t.Fatalf("%+v (%v)", o, err)
			}
			if got := []int{facts[4].NRaisedFrom, facts[5].NRaisedFrom}; !slices.Equal(got, want) {
				t.Errorf("compared %v: slots 4 and 5 have %v, want %v", compared, got, want)
			}
		})
	}
}

func TestWhatDecidesStandsSinceTheFirstRun(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		c, _ := watched(w, parsed(t, short))
		c.Decides = Decides{N: 2, Primary: map[string]string{"s": "output_tokens_per_second"}, Margins: map[string]string{"output_tokens_per_second": "2 %"}}
		w.mustRun(t.Context(), c)
		if kept, err := ReadFacts(w.dir); err != nil || kept.Decides == nil || kept.Decides.Margins["output_tokens_per_second"] != "2 %" {
			t.Errorf("%+v (%v)", kept.Decides, err)
		}
		c.SHA256, c.Changed = "0th3r", true
		for want, now := range map[string]Decides{
			`primary metric of scenario s was output_tokens_per_second when the campaign began and is "requests_per_second" now`: {N: 2, Primary: map[string]string{"s": "requests_per_second"}, Margins: c.Decides.Margins},
			`margin of output_tokens_per_second was 2 % when the campaign began and is "9 %" now`:                                {N: 2, Primary: c.Decides.Primary, Margins: map[string]string{"output_tokens_per_second": "9 %"}},
		} {
			c.Decides = now
			if _, err := c.Open(); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%v, want %s", err, want)
			}
		}
	})
}
