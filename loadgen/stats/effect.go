package stats

import "math"

// CohenD is the difference of the means, b - a, in pooled standard deviations.
func CohenD(a, b []float64) (float64, error) {
	t, err := Pooled(a, b)
	if err != nil {
		return 0, err
	}
	// The standard error is the pooled SD times a root that depends on n alone.
	return t.T * math.Sqrt(1/float64(len(a))+1/float64(len(b))), nil
}

// HedgesG is Cohen's d without its bias towards too large values in small samples.
func HedgesG(a, b []float64) (float64, error) {
	d, err := CohenD(a, b)
	if err != nil {
		return 0, err
	}
	return d * hedgesJ(float64(len(a)+len(b)-2)), nil
}

// hedgesJ returns the exact correction for the degrees of freedom.
func hedgesJ(df float64) float64 {
	above, _ := math.Lgamma(df / 2) // positive: df is at least 2
	below, _ := math.Lgamma((df - 1) / 2)
	return math.Exp(above-below) / math.Sqrt(df/2)
}

func pooledSD(a, b Moments) float64 {
	da, db := float64(a.N-1), float64(b.N-1)
	return math.Hypot(a.SD*math.Sqrt(da/(da+db)), b.SD*math.Sqrt(db/(da+db)))
}
