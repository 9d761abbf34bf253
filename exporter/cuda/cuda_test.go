package cuda

import (
	"math"
	"testing"
)

func TestBandwidthIsBestAndMedian(t *testing.T) {
	const bytes = float64(BufferBytes * Copies)
	for name, test := range map[string]struct {
		seconds      []float64
		best, median float64
	}{
		"one":                  {[]float64{0.5}, bytes / 0.5, bytes / 0.5},
		"odd":                  {[]float64{4, 1, 2}, bytes, bytes / 2},
		"even":                 {[]float64{8, 1, 4, 2}, bytes, bytes / 3},
		"an outlier that ends": {[]float64{1, 1, 1, 1, 900}, bytes, bytes},
	} {
		got, err := Device{Seconds: test.seconds}.Bandwidth()
		if err != nil || got != (Bandwidth{test.best, test.median}) {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
	for name, seconds := range map[string][]float64{"none": nil, "zero": {1, 0}, "negative": {1, -1}, "no number": {math.NaN(), 1}, "endless": {1, math.Inf(1)}} {
		if got, err := (Device{Seconds: seconds}).Bandwidth(); err == nil {
			t.Errorf("%s: %+v", name, got)
		}
	}
}
