package traffic

import (
	"math"
	"slices"
	"testing"
	"time"
)

func offsets(p ArrivalProcess, limit Limit, seed uint64) []time.Duration {
	return slices.Collect(p.Offsets(limit, seed, 1))
}

func TestConstantArrivalsAreExactMultiplesOfTheGap(t *testing.T) {
	got := offsets(ArrivalProcess{Arrival: Constant, RatePerSecond: 3}, Limit{Requests: 4}, 1)
	want := []time.Duration{0, 333333333, 666666667, time.Second}
	if !slices.Equal(got, want) {
		t.Errorf("offsets %v, want %v", got, want)
	}
}

func TestRoundingDoesNotAddUp(t *testing.T) {
	const rate, n = 3000.0, 300_001
	got := offsets(ArrivalProcess{Arrival: Constant, RatePerSecond: rate}, Limit{Requests: n}, 1)
	if last := got[n-1]; last != 100*time.Second {
		t.Errorf("arrival %d at %v, want 100s", n-1, last)
	}
}

func TestSameSeedSamePlanOtherSeedOtherPlan(t *testing.T) {
	p, limit := ArrivalProcess{Arrival: Poisson, RatePerSecond: 10}, Limit{Requests: 1000}
	first := offsets(p, limit, 1337)
	if !slices.Equal(first, offsets(p, limit, 1337)) {
		t.Error("the same seed gave another plan")
	}
	if slices.Equal(first, offsets(p, limit, 1338)) {
		t.Error("another seed gave the same plan")
	}
	if slices.Equal(first, slices.Collect(p.Offsets(limit, 1337, 2))) {
		t.Error("another stream gave the same plan")
	}
	// Frozen: a plan written by one version must be repeatable by the next.
	want := []time.Duration{63208901, 68084371, 151380301}
	if !slices.Equal(first[:3], want) {
		t.Errorf("first offsets %v, frozen as %v", first[:3], want)
	}
}

func TestAShorterPlanIsThePrefixOfALongerOne(t *testing.T) {
	p := ArrivalProcess{Arrival: Poisson, RatePerSecond: 100}
	long := offsets(p, Limit{Requests: 500}, 7)
	if short := offsets(p, Limit{Requests: 50}, 7); !slices.Equal(short, long[:50]) {
		t.Error("the limit changed the arrivals before it")
	}
}

func TestPoissonGapsHaveTheMeanAndSpreadOfTheProcess(t *testing.T) {
	for _, seed := range []uint64{1, 2, 3} {
		const rate, n = 50.0, 200_000
		got := offsets(ArrivalProcess{Arrival: Poisson, RatePerSecond: rate}, Limit{Requests: n}, seed)
		var sum, squares float64
		previous := time.Duration(0)
		for _, at := range got {
			if at < previous {
				t.Fatal("offsets do not ascend")
			}
			gap := (at - previous).Seconds()
			sum, squares, previous = sum+gap, squares+gap*gap, at
		}
		mean := sum / n
		variation := math.Sqrt(squares/n-mean*mean) / mean
		// Five standard errors of the mean of n exponential gaps.
		if tolerance := 5 / math.Sqrt(n); math.Abs(mean*rate-1) > tolerance || math.Abs(variation-1) > 2*tolerance {
			t.Errorf("seed %d: mean gap %.5f of 1/rate, coefficient of variation %.4f; both should be 1", seed, mean*rate, variation)
		}
	}
}

func TestPoissonCountsInASecondAreAsSpreadAsTheirMean(t *testing.T) {
	const rate, seconds = 20.0, 20_000
	counts := make([]float64, seconds)
	for at := range (ArrivalProcess{Arrival: Poisson, RatePerSecond: rate}).Offsets(Limit{Duration: seconds * time.Second}, 9, 1) {
		counts[int(at/time.Second)]++
	}
	var sum, squares float64
	for _, c := range counts {
		sum, squares = sum+c, squares+c*c
	}
	mean := sum / seconds
	if dispersion := (squares/seconds - mean*mean) / mean; math.Abs(dispersion-1) > 0.05 {
		t.Errorf("variance over mean %.3f, a Poisson process has 1", dispersion)
	}
}

func TestTheFirstLimitReachedEndsThePlan(t *testing.T) {
	for _, c := range []struct {
		limit Limit
		want  int
	}{
		{Limit{Requests: 5}, 5},
		{Limit{Duration: time.Second}, 10}, // 0 to 900 ms: the arrival at 1 s is outside
		{Limit{Requests: 5, Duration: time.Second}, 5},
		{Limit{Requests: 50, Duration: time.Second}, 10},
	} {
		if got := len(offsets(ArrivalProcess{Arrival: Constant, RatePerSecond: 10}, c.limit, 1)); got != c.want {
			t.Errorf("%+v: %d arrivals, want %d", c.limit, got, c.want)
		}
	}
}

func TestAClosedLoopPlansNothing(t *testing.T) {
	if got := offsets(ArrivalProcess{Arrival: Closed}, Limit{Requests: 5}, 1); len(got) != 0 {
		t.Errorf("offsets %v", got)
	}
}

func TestVanishingRatesDoNotOverflow(t *testing.T) {
	for _, a := range []Arrival{Constant, Poisson} {
		got := offsets(ArrivalProcess{Arrival: a, RatePerSecond: 1e-300}, Limit{Requests: 3}, 1)
		if len(got) != 3 || !slices.IsSorted(got) || got[0] < 0 {
			t.Errorf("%s: %v", a, got)
		}
	}
}

func TestCheckRefusesInvalidProcesses(t *testing.T) {
	trace := &Trace{Rows: []TraceRow{{InputTokens: 1, OutputTokens: 1}}}
	steps := []Stage{{time.Second, 2}}
	good := []ArrivalProcess{{Arrival: Closed}, {Arrival: Constant, RatePerSecond: 0.001}, {Arrival: Poisson, RatePerSecond: MaxRatePerSecond},
		{Arrival: Gamma, RatePerSecond: 1, Burstiness: 0.5}, {Arrival: Gamma, Stages: steps, Burstiness: 1}, {Arrival: Closed, Stages: steps},
		{Arrival: Recorded, Trace: trace}}
	bad := []ArrivalProcess{{Arrival: Closed, RatePerSecond: 1}, {Arrival: Constant}, {Arrival: Poisson, RatePerSecond: -1}, {Arrival: Poisson, RatePerSecond: math.NaN()},
		{Arrival: Constant, RatePerSecond: math.Inf(1)}, {Arrival: Constant, RatePerSecond: MaxRatePerSecond * 2}, {Arrival: "sine", RatePerSecond: 1}, {},
		{Arrival: Gamma, RatePerSecond: 1}, {Arrival: Gamma, RatePerSecond: 1, Burstiness: math.NaN()}, {Arrival: Gamma, RatePerSecond: 1, Burstiness: 1e6},
		{Arrival: Poisson, RatePerSecond: 1, Burstiness: 2}, {Arrival: Poisson, RatePerSecond: 1, Stages: steps},
		{Arrival: Recorded}, {Arrival: Recorded, Trace: &Trace{}}, {Arrival: Recorded, Trace: trace, RatePerSecond: 1}, {Arrival: Poisson, RatePerSecond: 1, Trace: trace}}
	for _, p := range good {
		if err := p.Check(); err != nil {
			t.Errorf("%+v: %v", p, err)
		}
	}
	for _, p := range bad {
		if p.Check() == nil {
			t.Errorf("%+v was accepted", p)
		}
	}
}
