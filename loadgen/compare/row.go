package compare

import (
	"math"

	"github.com/umascope/umascope/loadgen/figure"
	"github.com/umascope/umascope/loadgen/stats"
)

// Levels that verdicts are computed with.
const (
	significance = 0.05
	wantedPower  = 0.80
	resamples    = 9_999
)

// row is a metric of a pair while it is computed.
type row struct {
	*contrast
	key    key
	tested bool
	// quantity is a number that metrics of one quantity share; family is the number of quantities that are tested together
	// with it.
	quantity, family int
	out              Metrics
}

// newRow describes a metric in both arms and compares them.
func newRow(k key, m figure.Figure, o Options, an analysis) *row {
	c := newContrast(m, o.margin(m), an)
	r := &row{contrast: c, key: k, tested: c.run()}
	r.out = Metrics{
		Name: m.Name, Unit: string(m.Unit), Direction: m.Direction, EngineReported: k.engine,
		A: moments(c.a.values), B: moments(c.b.values), Scale: figure.ScaleLinear, Margin: c.margin, Outliers: []Outlier{},
		Method: c.method, Paired: c.paired(), PairsDropped: c.dropped, Constant: c.constant,
	}
	if r.out.Paired {
		r.out.Pairs = len(c.x)
	}
	if c.log {
		r.out.Scale = figure.ScaleLog
	}
	r.setDifference()
	if r.tested {
		r.setTests()
	}
	r.setRanks()
	r.setColumns(o)
	return r
}

// setDifference sets b - a and b / a of the means shown in the row.
func (r *row) setDifference() {
	meanB := mean(r.b.values)
	difference := meanB - r.meanA
	r.out.Difference = &difference
	if r.meanA > 0 {
		r.out.Ratio = finite(meanB / r.meanA)
	}
}

func (r *row) setTests() {
	ci95, ci90 := r.test.Interval(0.95), r.test.Interval(0.90)
	r.out.CI95, r.out.CI90 = r.differences(ci95), r.differences(ci90)
	if r.log {
		r.out.RatioCI95, r.out.GeometricRatio = ratios(ci95), finite(math.Exp(r.test.Difference))
		if ratio, i := r.out.Ratio, r.out.RatioCI95; ratio != nil && i != nil && (*ratio < i[0] || *ratio > i[1]) {
			r.note("the interval is of the geometric means, %s: that of the means lies outside", figure.Change(math.Exp(r.test.Difference)))
		}
	}
	if r.welch != nil {
		r.out.WelchP, r.out.WelchT = &r.welch.P, &r.welch.T
	}
	if r.paired() {
		r.out.PairedP = &r.test.P
	}
	r.out.TOSTP = pointer(r.test.EquivalentBetween(r.low, r.high).P)
	if g, err := stats.HedgesG(r.x, r.y); err == nil {
		r.out.HedgesG = &g
	}
	if d, err := r.test.Detectable(wantedPower, significance); err == nil {
		r.out.MDE = finite(r.byMargin(d))
	}
}

func (r *row) setRanks() {
	if len(r.x)+len(r.y) < 3 {
		return
	}
	if test, err := stats.MannWhitney(r.a.values, r.b.values); err == nil {
		r.out.MannWhitneyP = &test.P
	}
	if shift, err := stats.HodgesLehmann(r.a.values, r.b.values); err == nil {
		r.out.HodgesLehmann = &shift
	}
}

// setColumns fills the optional columns, except for adjusted p values, which need the whole family.
func (r *row) setColumns(o Options) {
	if o.wants(ColumnShapiro) {
		r.out.ShapiroA, r.out.ShapiroB = r.normality(r.x), r.normality(r.y)
	}
	if !o.wants(ColumnBCa) {
		return
	}
	between := func(a, b []float64) float64 { return mean(b) - mean(a) }
	b, err := stats.BCa(r.a.values, r.b.values, between, resamples, 0.95, o.Seed)
	if err != nil {
		r.note("no bootstrap: %v", err)
		return
	}
	r.out.BCa95, r.out.BootstrapSeed = &Interval{b.Low, b.High}, b.Seed
}

func (r *row) normality(x []float64) *float64 {
	test, err := stats.ShapiroWilk(x)
	if err != nil {
		r.note("no Shapiro-Wilk test: %v", err)
		return nil
	}
	return &test.P
}

// p returns the p value of the test that decides.
func (r *row) p() float64 { return r.test.P }

// moments describes values; it needs at least one.
func moments(values []float64) Moments {
	d, err := stats.Describe(values)
	if err != nil {
		return Moments{N: len(values)}
	}
	m := Moments{
		N: d.N, Mean: &d.Mean, SD: d.SD, PopulationSD: d.PopulationSD, CV: d.CV, Median: &d.Median, Min: &d.Min, Max: &d.Max,
	}
	if i, err := stats.MeanInterval(values, 0.95); err == nil {
		m.MeanCI95 = &Interval{i.Low, i.High}
	}
	return m
}

func pointer(v float64) *float64 { return &v }

// finite returns nil for a value that JSON cannot hold.
func finite(v float64) *float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return nil
	}
	return &v
}
