package traffic

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"
)

func gammaProcess(rate, burstiness float64) ArrivalProcess {
	return ArrivalProcess{Arrival: Gamma, RatePerSecond: rate, Burstiness: burstiness}
}

func TestGammaGapsHaveTheMeanAndSpreadOfTheBurstiness(t *testing.T) {
	for _, burstiness := range []float64{0.25, 0.5, 2, 16} {
		t.Run(fmt.Sprint(burstiness), func(t *testing.T) {
			const rate, n = 40.0, 200_000
			var sum, squares float64
			previous := time.Duration(0)
			for _, at := range offsets(gammaProcess(rate, burstiness), Limit{Requests: n}, 1) {
				gap := (at - previous).Seconds()
				sum, squares, previous = sum+gap, squares+gap*gap, at
			}
			mean := sum / n
			variation := math.Sqrt(squares/n-mean*mean) / mean
			want := 1 / math.Sqrt(burstiness)
			// Five standard errors of the mean; the spread of heavy tails is estimated worse.
			if tolerance := 5 * want / math.Sqrt(n); math.Abs(mean*rate-1) > tolerance || math.Abs(variation/want-1) > 0.03 {
				t.Errorf("mean gap %.4f of 1/rate, coefficient of variation %.4f, want %.4f", mean*rate, variation, want)
			}
		})
	}
}

// The share of gaps below the mean is known in closed form for whole shapes: 1 - e^-k sum k^i/i!.
func TestGammaGapsFollowTheDistributionAndNotOnlyItsMoments(t *testing.T) {
	const n = 100_000
	for shape, want := range map[float64]float64{2: 1 - math.Exp(-2)*3, 3: 1 - math.Exp(-3)*(1+3+4.5)} {
		below := 0
		previous := time.Duration(0)
		for _, at := range offsets(gammaProcess(1, shape), Limit{Requests: n}, 7) {
			if at-previous < time.Second {
				below++
			}
			previous = at
		}
		if got := float64(below) / n; math.Abs(got-want) > 5*math.Sqrt(want*(1-want)/n) {
			t.Errorf("shape %v: %.4f of the gaps are below the mean, want %.4f", shape, got, want)
		}
	}
}

func TestABurstinessOfOneIsPoisson(t *testing.T) {
	limit := Limit{Requests: 1000}
	if !slices.Equal(offsets(gammaProcess(5, 1), limit, 3), offsets(ArrivalProcess{Arrival: Poisson, RatePerSecond: 5}, limit, 3)) {
		t.Error("another sequence than that of the Poisson process")
	}
}

func TestAGammaPlanIsFrozen(t *testing.T) {
	got := offsets(gammaProcess(10, 0.5), Limit{Requests: 3}, 1337)
	want := []time.Duration{30513584, 187639443, 187704188}
	if !slices.Equal(got, want) {
		t.Errorf("first offsets %v, frozen as %v", got, want)
	}
}

func BenchmarkOffsets(b *testing.B) {
	for _, p := range []ArrivalProcess{{Arrival: Poisson, RatePerSecond: 1000}, gammaProcess(1000, 0.5)} {
		b.Run(string(p.Arrival), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				for range p.Offsets(Limit{Requests: 1000}, 1, 1) {
				}
			}
		})
	}
}
