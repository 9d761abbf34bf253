package compare

import "math"

// CodeClientDoubt is the code of the warning about metrics that the load generator itself puts in doubt.
const CodeClientDoubt = "client_doubt"

// doubt holds how far the client's own delays may have moved a metric against the margin of the comparison. A valid run
// may be off by 2 %; a smaller margin needs a smaller doubt. Where an arm may be off by more than the margin, and by
// enough to move the difference across it, nothing is decided, and more runs would decide nothing.
func (r *row) doubt(a, b *arm) {
	most := 0.0
	for _, one := range []sample{a.sample(r.key), b.sample(r.key)} {
		sum := 0.0
		for _, run := range one.runs {
			sum += run.Doubts[r.key.name]
		}
		if n := len(one.runs); n > 0 {
			most = max(most, sum/float64(n))
		}
	}
	if most == 0 || r.key.engine {
		return
	}
	r.out.ClientDoubt = &most
	if r.out.Doubtful() && r.out.Verdict != Undecided && !r.out.Confounded {
		r.out.Verdict, r.out.NeedN, r.out.NeedForEffect = Inconclusive, nil, nil
		r.note("off by up to %s because of the client's own delays, which is more than the margin of %s: more runs decide nothing", r.metric.Unit.Text(most), r.out.Margin.Text(r.metric.Unit))
	}
}

// doubtWarning names the metrics of a pair that the client's own delays leave undecided.
func doubtWarning(p Pair) []Warning {
	var names []string
	for _, m := range p.Metrics {
		if m.Doubtful() {
			names = append(names, title(m.Name))
		}
	}
	if len(names) == 0 {
		return nil
	}
	return []Warning{warn(CodeClientDoubt, "the client's own delays may have moved these by more than their margin, so that nothing is decided: %s", some(names))}
}

// Doubtful reports whether the client's own delays may have moved the metric by more than its margin, and its difference
// across it.
func (m Metrics) Doubtful() bool {
	if m.ClientDoubt == nil || m.A.Mean == nil || m.Difference == nil {
		return false
	}
	allowed := m.Margin.Value
	if m.Margin.Relative {
		allowed *= math.Abs(*m.A.Mean)
	}
	return *m.ClientDoubt > allowed && math.Abs(*m.Difference) <= allowed+*m.ClientDoubt
}
