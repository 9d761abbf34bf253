package promexport

import (
	"github.com/umascope/umascope/exporter/metric"
	"github.com/umascope/umascope/loadgen/compare"
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
		return ownWord(m.Name)
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
	switch unit := compare.Unit(m.Unit); {
	case m.RatioCI95 != nil:
		return figure(4, &m.RatioCI95[0]) + " to " + figure(4, &m.RatioCI95[1])
	case m.CI95 != nil:
		return signed(unit, m.CI95[0]) + " to " + signed(unit, m.CI95[1])
	}
	return ""
}

func signed(unit compare.Unit, v float64) string {
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
func (c *collection) row(r row, m compare.Metrics, b armFigures) {
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
	for _, name := range b.arms {
		of := figureOfArm{name, m.Name, m.EngineReported}
		if drift := b.drift[of]; drift.Spearman != nil {
			c.add(&metric.ComparisonDriftCorrelation, *drift.Spearman, r.labels(shown(name))...)
			c.state(&metric.ComparisonDriftSignificant, drift.Significant, r.labels(shown(name))...)
		}
		if s, tested := b.afterSwitch[of]; tested {
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

// figureOfArm is a metric in an arm, measured or engine-reported.
type figureOfArm struct {
	arm, metric string
	reported    bool
}

// beside has the figures of two arms other than their difference, where they could be computed.
type armFigures struct {
	arms        []string
	drift       map[figureOfArm]compare.Drift
	afterSwitch map[figureOfArm]compare.AfterSwitch
}

func armFiguresOf(s compare.Stratum, p compare.Pair) armFigures {
	b := armFigures{arms: []string{p.A, p.B}, drift: map[figureOfArm]compare.Drift{}, afterSwitch: map[figureOfArm]compare.AfterSwitch{}}
	for _, name := range b.arms {
		series := s.Arms[name].Metrics
		for _, one := range series[:min(len(series), mostRows)] {
			b.drift[figureOfArm{name, one.Name, one.EngineReported}] = one.Drift
		}
	}
	b.first(p)
	return b
}

// first adds the figures of the first runs after a change of arms. They carry the name of a metric only: where a pair
// has a measured and an engine-reported metric of one name, their source is ambiguous, and they are left out.
func (b armFigures) first(p compare.Pair) {
	measured, reported := map[string]bool{}, map[string]bool{}
	for _, m := range p.Metrics {
		if m.EngineReported {
			reported[m.Name] = true
		} else {
			measured[m.Name] = true
		}
	}
	for _, s := range p.Order.AfterSwitch {
		tested := s.P != nil || s.StandsOut
		if tested && measured[s.Metric] != reported[s.Metric] {
			b.afterSwitch[figureOfArm{s.Arm, s.Metric, reported[s.Metric]}] = s
		}
	}
}
