package stats

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"
)

// wander is values a second apart that resemble those before them (lag-1 correlation rho, spread sd), on a slope.
func wander(seed uint64, n int, rho, sd, slope float64) (seconds, values []float64) {
	random := rand.New(rand.NewPCG(seed, 1))
	at := random.NormFloat64() * sd
	for i := range n {
		seconds, values = append(seconds, float64(i)), append(values, at+slope*float64(i))
		at = rho*at + math.Sqrt(1-rho*rho)*sd*random.NormFloat64()
	}
	return seconds, values
}

// Of values without a slope, a 95 % interval misses 0 about once in twenty times, however much neighbours resemble each
// other; least squares that takes all of them for independent misses it most of the time.
func TestTheIntervalOfATrendInTimeHoldsForValuesThatResembleEachOther(t *testing.T) {
	const runs = 1000
	for _, c := range []struct {
		n              int
		rho            float64
		least, most    float64 // of the share that misses the slope
		leastIfIgnored float64
	}{
		{300, 0, .03, .08, .03}, {300, .5, .03, .08, .2}, {300, .9, .03, .09, .5}, {600, .95, .03, .09, .6}, {600, .99, .03, .16, .8}, {120, .9, .03, .12, .5},
	} {
		missed, ignored := 0., 0.
		for seed := range uint64(runs) {
			seconds, values := wander(seed, c.n, c.rho, 3, .25)
			trend, err := TrendInTime(seconds, values)
			if err != nil {
				t.Fatal(err)
			}
			if i := trend.Interval(.95); i.Low > .25 || i.High < .25 {
				missed++
			}
			plain, err := Trend(seconds, values, make([]bool, c.n))
			if err != nil {
				t.Fatal(err)
			}
			if i := plain.Interval(.95); i.Low > .25 || i.High < .25 {
				ignored++
			}
		}
		t.Logf("n %d, rho %.2f: %.3f miss, %.3f if values are taken for independent", c.n, c.rho, missed/runs, ignored/runs)
		if missed/runs < c.least || missed/runs > c.most || ignored/runs < c.leastIfIgnored {
			t.Errorf("n %d, rho %.2f: %.3f miss the slope, %.3f if values are taken for independent", c.n, c.rho, missed/runs, ignored/runs)
		}
	}
}

func TestATrendInTimeOfALineIsTheLine(t *testing.T) {
	var seconds, values []float64
	for i := range 40 {
		seconds, values = append(seconds, float64(i)), append(values, 7+3*float64(i))
	}
	if trend, err := TrendInTime(seconds, values); err != nil || math.Abs(trend.Difference-3) > 1e-9 || trend.DF < 1 {
		t.Errorf("%+v, %v", trend, err)
	}
	if _, err := TrendInTime(seconds[:11], values[:11]); !errors.Is(err, ErrTooFew) {
		t.Errorf("11 values: %v", err)
	}
	if _, err := TrendInTime(seconds, values[:39]); !errors.Is(err, ErrUnpaired) {
		t.Errorf("a value without a time: %v", err)
	}
	if _, err := TrendInTime(seconds, make([]float64, 40)); !errors.Is(err, ErrNoSpread) {
		t.Errorf("values that do not change: %v", err)
	}
}
