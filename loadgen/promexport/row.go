package promexport

import (
	"slices"

	"github.com/umascope/umascope/exporter/metric"
	"github.com/umascope/umascope/loadgen/compare"
	"github.com/umascope/umascope/loadgen/figure"
)

// row is a metric of a candidate compared with the baseline, for the HTML page.
type row struct {
	scope
	Metric     string
	Verdict    string
	Confounded bool
	Primary    bool
	Ratio      *float64
	Interval   string // of the ratio, or of the difference if there is no ratio
	Needed     *int
}

// metricName returns the name of a metric, which differs for engine-reported and measured values.
func metricName(m compare.Metrics) string {
	if m.EngineReported {
		return figure.EngineReported(m.Name)
	}
	return m.Name
}

func newRow(of scope, m compare.Metrics) row {
	return row{
		scope: of, Metric: shown(metricName(m)), Verdict: shown(string(m.Verdict)), Confounded: m.Confounded, Primary: m.Primary,
		Ratio: m.Ratio, Interval: intervalOf(m), Needed: m.NeedN,
	}
}

// intervalOf formats the interval behind a verdict: ratios as numbers, differences in their unit.
func intervalOf(m compare.Metrics) string {
	switch unit := figure.Unit(m.Unit); {
	case m.RatioCI95 != nil:
		return decimals(4, &m.RatioCI95[0]) + " to " + decimals(4, &m.RatioCI95[1])
	case m.CI95 != nil:
		return signed(unit, m.CI95[0]) + " to " + signed(unit, m.CI95[1])
	}
	return ""
}

func signed(unit figure.Unit, v float64) string {
	if v > 0 {
		return "+" + unit.Text(v)
	}
	return unit.Text(v)
}

// labels returns the label values of a metric, followed by further ones.
func (r row) labels(more ...string) []string {
	return with([]string{r.Of, r.Metric, r.Baseline, r.Candidate, r.Scenario, r.Model}, more...)
}

// row adds the series of a metric of two arms.
func (c *collection) row(r row, m compare.Metrics, in compare.Stratum, p compare.Pair) {
	c.known(&metric.ComparisonRatio, r.Ratio, r.labels()...)
	c.interval(&metric.ComparisonRatioLower, &metric.ComparisonRatioUpper, m.RatioCI95, r)
	c.known(&metric.ComparisonDifference, m.Difference, r.labels()...)
	c.interval(&metric.ComparisonDifferenceLower, &metric.ComparisonDifferenceUpper, m.CI95, r)
	c.state(&metric.ComparisonConfounded, r.Confounded, r.labels()...)
	c.state(&metric.ComparisonPrimary, m.Primary, r.labels()...)
	if m.NeedN != nil {
		c.add(&metric.ComparisonNeededRuns, float64(*m.NeedN), r.labels()...)
	}
	c.add(&metric.ComparisonVerdict, 1, r.labels(r.Verdict)...)
	c.known(&metric.ComparisonMean, m.A.Mean, r.labels(r.Baseline)...)
	c.known(&metric.ComparisonMean, m.B.Mean, r.labels(r.Candidate)...)
	for _, name := range []string{p.A, p.B} {
		if drift := driftIn(in.Arms[name], m); drift.Spearman != nil {
			c.add(&metric.ComparisonDriftCorrelation, *drift.Spearman, r.labels(shown(name))...)
			c.state(&metric.ComparisonDriftSignificant, drift.Significant, r.labels(shown(name))...)
		}
		if s, tested := afterSwitch(p, name, m); tested {
			c.state(&metric.ComparisonAfterSwitchStandsOut, s.StandsOut, r.labels(shown(name))...)
		}
	}
}

// interval adds both ends of an interval, if there is one.
func (c *collection) interval(lower, upper *metric.Gauge, i *compare.Interval, r row) {
	if i != nil {
		c.add(lower, i[0], r.labels()...)
		c.add(upper, i[1], r.labels()...)
	}
}

// driftIn returns the drift of a metric in an arm.
func driftIn(a compare.Arm, m compare.Metrics) compare.Drift {
	i := slices.IndexFunc(a.Metrics[:min(len(a.Metrics), mostRows)], func(s compare.Series) bool {
		return s.Name == m.Name && s.EngineReported == m.EngineReported
	})
	if i < 0 {
		return compare.Drift{}
	}
	return a.Metrics[i].Drift
}

// afterSwitch returns the first runs of an arm after a change of arms; false where they were not tested. They carry the
// name of a metric only: where a pair has a measured and an engine-reported metric of one name, their source is
// ambiguous, and they are left out.
func afterSwitch(p compare.Pair, arm string, m compare.Metrics) (compare.AfterSwitch, bool) {
	ambiguous := slices.ContainsFunc(p.Metrics, func(other compare.Metrics) bool {
		return other.Name == m.Name && other.EngineReported != m.EngineReported
	})
	i := slices.IndexFunc(p.Order.AfterSwitch, func(s compare.AfterSwitch) bool {
		return s.Arm == arm && s.Metric == m.Name && (s.P != nil || s.StandsOut)
	})
	if ambiguous || i < 0 {
		return compare.AfterSwitch{}, false
	}
	return p.Order.AfterSwitch[i], true
}
