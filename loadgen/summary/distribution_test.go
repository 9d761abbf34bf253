package summary

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

func TestQuantilesAreOfTypeSeven(t *testing.T) {
	oneToTen := []int64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}
	for p, want := range map[float64]float64{0: 1, .25: 3.25, .5: 5.5, .75: 7.75, .9: 9.1, .99: 9.91, 1: 10} {
		if got := quantile(oneToTen, p); math.Abs(got-want) > 1e-12 {
			t.Errorf("p%v = %v, want %v", 100*p, got, want)
		}
	}
	if got := quantile([]int64{7}, .9); got != 7 {
		t.Errorf("the quantile of one value is %v", got)
	}
}

func TestAPercentileNeedsEnoughSamples(t *testing.T) {
	for p, smallest := range map[float64]int{.25: 11, .5: 5, .75: 11, .9: 29, .95: 59, .99: 299, .999: 2995} {
		if enough(smallest-1, p) || !enough(smallest, p) {
			t.Errorf("p%v: %d is not the smallest number of samples", 100*p, smallest)
		}
	}
}

func TestMeanAndDeviationAreThoseOfTheSample(t *testing.T) {
	// 150 152 148 155 151: mean 151.2, sample standard deviation 2.588.
	d := newDistribution([]int64{150, 152, 148, 155, 151}, 1)
	if !near(d.Mean, 151.2) || math.Abs(*d.SD-2.5884) > 1e-4 || *d.Min != 148 || *d.Max != 155 || d.N != 5 {
		t.Errorf("%+v", d)
	}
	if one := newDistribution([]int64{3}, 1); one.SD != nil || *one.Mean != 3 {
		t.Errorf("one value: %+v", one)
	}
	if newDistribution(nil, 1) != nil {
		t.Error("a distribution of nothing")
	}
}

func TestMomentsSurviveLargeOffsets(t *testing.T) {
	m := moments{}
	for _, v := range []int64{4, 7, 13, 16} {
		m.add(1_000_000_000_000+v, 1)
	}
	if variance := m.m2 / 3; math.Abs(variance-30) > 1e-3 {
		t.Errorf("variance %v, want 30", variance)
	}
}

// latencies draws values as they occur: most near 20 ms, a long tail.
func latencies(n int) []int64 {
	random := rand.New(rand.NewPCG(1, 2))
	values := make([]int64, n)
	for i := range values {
		values[i] = int64(20e6 * math.Exp(random.NormFloat64()/2))
	}
	return values
}

func TestAPoolTooLargeToKeepIsWithinAThousandth(t *testing.T) {
	values := latencies(3 * exactPool)
	exact := newDistribution(slices.Clone(values), 1e9)
	whole, parts := &pool{}, []*pool{{}, {}, {}}
	for i, v := range values {
		whole.add(v, 1)
		parts[min(2, i*30/len(values))].add(v, 1)
	}
	sum := &pool{}
	for _, part := range parts {
		sum.merge(part)
	}
	for name, p := range map[string]*pool{"whole": whole, "merged": sum} {
		d := p.distribution()
		if p.histogram == nil || d.N != len(values) {
			t.Fatalf("%s: n %d", name, d.N)
		}
		pairs := [][2]*float64{{d.P25, exact.P25}, {d.P50, exact.P50}, {d.P90, exact.P90}, {d.P99, exact.P99}, {d.P999, exact.P999}}
		for _, pair := range pairs {
			if math.Abs(*pair[0]-*pair[1]) > 1.5e-3**pair[1] {
				t.Errorf("%s: %v, exactly %v", name, *pair[0], *pair[1])
			}
		}
		if *d.Min != *exact.Min || *d.Max != *exact.Max || math.Abs(*d.Mean-*exact.Mean) > 1e-9 || math.Abs(*d.SD-*exact.SD) > 1e-9 {
			t.Errorf("%s: mean, sd, min and max are not exact: %+v, %+v", name, d, exact)
		}
	}
}

func TestAPoolCountsWeightsAndVisitsEverything(t *testing.T) {
	for _, n := range []int64{10, exactPool} {
		p := &pool{}
		p.add(20, n)
		p.add(0, 5)
		var visited int64
		p.each(func(_, count int64) { visited += count })
		if visited != n+5 || p.distribution().N != int(n+5) || *p.distribution().Min != 0 {
			t.Errorf("visited %d of %d, %+v", visited, n+5, p.distribution())
		}
	}
}
