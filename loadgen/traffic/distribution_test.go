package traffic

import (
	"encoding/json"
	"math"
	"testing"
)

func parsedDistribution(t testing.TB, text string) *distribution {
	t.Helper()
	var d distribution
	if err := json.Unmarshal([]byte(text), &d); err != nil {
		t.Fatal(err)
	}
	return &d
}

func TestDistributionsHaveTheirMeanAndMedian(t *testing.T) {
	zeta := func(s float64) float64 {
		sum := 0.0
		for k := 1.0; k < 1e6; k++ {
			sum += math.Pow(k, -s)
		}
		return sum
	}
	for _, c := range []struct {
		text      string
		mean, tol float64
		ones      float64 // share of draws that are 1
	}{
		{`{"distribution": "constant", "value": 500}`, 500, 0, 0},
		{`{"distribution": "uniform", "min": 12, "max": 18}`, 15, .05, 0},
		{`{"distribution": "lognormal", "average": 1000}`, 1000, 15, 0},
		{`{"distribution": "lognormal", "mean": 3, "sigma": 0.5}`, math.Exp(3.125), .5, 0},
		{`{"distribution": "poisson", "alpha": 10}`, 10, .1, 10 * math.Exp(-10)},
		{`{"distribution": "zipf", "alpha": 4}`, zeta(3) / zeta(4), .02, 1 / zeta(4)},
	} {
		d, random := parsedDistribution(t, c.text), NewRandom(1, c.text, 0)
		const n = 100_000
		sum, ones := 0.0, 0
		for range n {
			v := d.draw(random, 0)
			sum += float64(v)
			if v == 1 {
				ones++
			}
		}
		if mean := sum / n; math.Abs(mean-c.mean) > c.tol {
			t.Errorf("%s: mean %.3f, want %.3f", c.text, mean, c.mean)
		}
		if share := float64(ones) / n; math.Abs(share-c.ones) > .006 {
			t.Errorf("%s: %.4f of the draws are 1, want %.4f", c.text, share, c.ones)
		}
	}
}

func FuzzDistribution(f *testing.F) {
	for _, seed := range []string{`{"distribution": "zipf", "alpha": 1.2, "max": 100}`, `{"distribution": "lognormal", "mean": 6, "sigma": 4, "max": 1500}`,
		`{"distribution": "uniform", "min": 1, "max": 1}`, `{"distribution": "poisson", "alpha": 3}`, `{"distribution": "constant", "value": 0}`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var d distribution
		if json.Unmarshal([]byte(text), &d) != nil || d.Kind == "" {
			return
		}
		random := NewRandom(1, text, 0)
		for range 5 {
			n := d.draw(random, 1)
			if n < 1 || n > mostDrawn || d.Max != nil && n > max(1, int(math.Round(*d.Max))) {
				t.Fatalf("%s drew %d", text, n)
			}
		}
	})
}
