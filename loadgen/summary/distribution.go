package summary

import (
	"math"
	"slices"

	hdr "github.com/HdrHistogram/hdrhistogram-go"
)

// Distribution describes n values. The mean of no values, the standard deviation of one and a percentile of too few are
// null.
//
// Percentiles are Hyndman and Fan's type 7, the default of NumPy and R; sd is the sample standard deviation. A
// percentile p is given from the smallest n on for which, with 95 % confidence, the values reach beyond the true
// percentile: n >= ln(0.05) / ln(max(p, 1 - p)). That is 5 for p50, 11 for p25 and p75, 29, 59, 299 and 2,995 for p90,
// p95, p99 and p999.
type Distribution struct {
	N    int      `json:"n"`
	Mean *float64 `json:"mean"`
	SD   *float64 `json:"sd"`
	Min  *float64 `json:"min"`
	P25  *float64 `json:"p25"`
	P50  *float64 `json:"p50"`
	P75  *float64 `json:"p75"`
	P90  *float64 `json:"p90"`
	P95  *float64 `json:"p95"`
	P99  *float64 `json:"p99"`
	P999 *float64 `json:"p999"`
	Max  *float64 `json:"max"`
	// Bounds are the intervals in which the true percentiles lie; absent for what no client's delay moves, and where the
	// bounds are not known.
	Bounds Bounds `json:"bounds,omitempty"`
}

// enough reports whether n values support percentile p.
func enough(n int, p float64) bool {
	return n > 0 && float64(n) >= math.Log(0.05)/math.Log(max(p, 1-p))
}

// newDistribution describes integer values, such as nanoseconds; perUnit of them make one reported unit. It returns nil
// for no values and sorts in place.
func newDistribution(values []int64, perUnit float64) *Distribution {
	if len(values) == 0 {
		return nil
	}
	slices.Sort(values)
	m := moments{}
	for _, v := range values {
		m.add(v, 1)
	}
	return m.describe(perUnit, func(p float64) float64 { return quantile(values, p) })
}

// quantile returns the type-7 quantile of ascending values.
func quantile(sorted []int64, p float64) float64 {
	h := float64(len(sorted)-1) * p
	low := int(math.Floor(h))
	high := min(low+1, len(sorted)-1)
	return float64(sorted[low]) + (h-float64(low))*float64(sorted[high]-sorted[low])
}

// moments are running sums that stay accurate over any number of values (Welford).
type moments struct {
	n        int64
	mean, m2 float64
	min, max int64
}

// add adds a value that occurred count times.
func (m *moments) add(value, count int64) {
	m.merge(moments{n: count, mean: float64(value), min: value, max: value})
}

// merge adds another set of values (Chan, Golub and LeVeque).
func (m *moments) merge(o moments) {
	if o.n == 0 {
		return
	}
	if m.n == 0 {
		*m = o
		return
	}
	n, delta := float64(m.n+o.n), o.mean-m.mean
	m.mean += delta * float64(o.n) / n
	m.m2 += o.m2 + delta*delta*float64(m.n)*float64(o.n)/n
	m.n += o.n
	m.min, m.max = min(m.min, o.min), max(m.max, o.max)
}

func (m *moments) describe(perUnit float64, quantile func(p float64) float64) *Distribution {
	scaled := func(v float64) *float64 { v /= perUnit; return &v }
	at := func(p float64) *float64 {
		if !enough(int(m.n), p) {
			return nil
		}
		return scaled(quantile(p))
	}
	d := Distribution{
		N: int(m.n), Mean: scaled(m.mean), Min: scaled(float64(m.min)), Max: scaled(float64(m.max)),
		P25: at(.25), P50: at(.5), P75: at(.75), P90: at(.9), P95: at(.95), P99: at(.99), P999: at(.999),
	}
	if m.n > 1 {
		d.SD = scaled(math.Sqrt(m.m2 / float64(m.n-1)))
	}
	return &d
}

const (
	// exactPool is the number of pooled values that are kept exactly, half a megabyte, before an HdrHistogram replaces
	// them: small runs get exact percentiles.
	exactPool = 1 << 16
	// hdrHighest and hdrDigits set the range to one hour in nanoseconds, and the error of percentiles to 0.1 %.
	hdrHighest = 3_600_000_000_000
	hdrDigits  = 3
)

// pool collects values that are too many to keep, such as the gaps between chunks.
type pool struct {
	moments
	exact     []int64
	histogram *hdr.Histogram
}

// add adds a value that occurred count times; it ignores a count below 1.
func (p *pool) add(value, count int64) {
	if count <= 0 {
		return
	}
	p.moments.add(value, count)
	if p.histogram == nil && count <= exactPool-int64(len(p.exact)) {
		for range count {
			p.exact = append(p.exact, value)
		}
		return
	}
	p.compact()
	p.record(value, count)
}

// compact moves the exact values into a histogram.
func (p *pool) compact() {
	if p.histogram != nil {
		return
	}
	p.histogram = hdr.New(1, hdrHighest, hdrDigits)
	for _, v := range p.exact {
		p.record(v, 1)
	}
	p.exact = nil
}

// record counts a value in the histogram. Values beyond its range count at the end of the range; minimum, maximum, mean
// and sd are kept separately and stay exact.
func (p *pool) record(value, count int64) {
	// The only error is a value out of range, which the clamp excludes.
	_ = p.histogram.RecordValues(min(max(value, 0), hdrHighest), count)
}

func (p *pool) merge(o *pool) {
	if o.histogram == nil {
		for _, v := range o.exact {
			p.add(v, 1)
		}
		return
	}
	p.compact()
	p.moments.merge(o.moments)
	p.histogram.Merge(o.histogram)
}

// distribution describes the pool in seconds; nil if it is empty.
func (p *pool) distribution() *Distribution {
	if p.histogram == nil {
		return newDistribution(p.exact, 1e9)
	}
	return p.describe(1e9, func(q float64) float64 {
		value := p.histogram.ValueAtPercentile(100 * q)
		// The histogram returns the end of a bucket, which may lie beyond every value.
		return float64(min(max(value, p.min), p.max))
	})
}

// each visits the values in ascending order, with the number of times each occurred.
func (p *pool) each(visit func(value, count int64)) {
	if p.histogram == nil {
		slices.Sort(p.exact)
		for _, v := range p.exact {
			visit(v, 1)
		}
		return
	}
	for _, bar := range p.histogram.Distribution() {
		if bar.Count > 0 {
			visit((bar.From+bar.To)/2, bar.Count)
		}
	}
}
