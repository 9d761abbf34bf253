package comparison

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/umascope/umascope/loadgen/compare"
	"github.com/umascope/umascope/loadgen/figure"
	"github.com/umascope/umascope/loadgen/format"
	"github.com/umascope/umascope/loadgen/render"
)

// decisiveGrid has a row for each primary metric of each stratum and for the figures of memory that are usually
// published; where two arms are compared once, also for each metric that is beyond its margin.
func decisiveGrid(c compare.Comparison) render.Table {
	g := render.Table{Header: []string{"", "metric", "verdict", c.Baseline, "other arm", "difference", "change", "95 % CI"}, Words: []int{1, 2}}
	two := len(c.Arms) == 2
	once := two && len(c.Strata) == 1 // then all rows are of the same runs, and need no name of them
	if two {
		g.Header[4] = c.Arms[1]
	}
	if once {
		g.Header, g.Words = g.Header[1:], []int{1}
	}
	for _, s := range c.Strata {
		for _, pair := range s.Pairs {
			name := stratumName(c, s)
			if !two {
				name = strings.TrimPrefix(name+", "+pair.B, allRuns+", ")
			}
			for _, m := range pair.Metrics {
				if !m.Primary && !(once && found(m)) && !slices.Contains([]string{figure.MemoryOccupiedWithoutKV, figure.KVCapacity, figure.MemoryOccupiedWhenReady, figure.TimeToFirstToken}, m.Name) {
					continue
				}
				unit := figure.Unit(m.Unit)
				cells := []string{name, keyOf(m).title(), VerdictText(m), format.Optional(m.A.Mean, unit.Text), format.Optional(m.B.Mean, unit.Text),
					format.Optional(m.Difference, func(v float64) string { return signed(unit, v) }), ratioText(m), anyInterval(m)}
				if once {
					cells = cells[1:]
				}
				g.AddIn(RowTone(m), cells...)
			}
		}
	}
	return g
}

// ratioText formats the ratio as a change; a ratio of temperatures has no meaning and is left out.
func ratioText(m compare.Metrics) string {
	if figure.Unit(m.Unit) == figure.Celsius {
		return format.None
	}
	return format.Optional(m.Ratio, figure.Change)
}

// anyInterval returns the interval of the ratio for a metric analysed as ratios, else that of the difference.
func anyInterval(m compare.Metrics) string {
	unit := figure.Unit(m.Unit)
	switch {
	case m.RatioCI95 != nil:
		return interval(m.RatioCI95, figure.Change)
	default:
		return interval(m.CI95, func(v float64) string { return signed(unit, v) })
	}
}

// RowTone returns the tone of rows that a reader must not miss.
func RowTone(m compare.Metrics) render.Tone {
	switch {
	case m.Verdict == compare.Confounded:
		return render.Note
	case m.Verdict == compare.Worse:
		return render.Bad
	default:
		return ""
	}
}

// metricsGrid has all figures of the metrics of a pair.
func metricsGrid(pair compare.Pair) render.Table {
	g := render.Table{Words: []int{1, 2}, Header: []string{
		"metric", "better is", "verdict", "mean " + pair.A, "sd (population)", "n", "mean " + pair.B, "sd (population)", "n",
		"difference", "change", "95 % CI", "margin", "Welch p", "Mann-Whitney p", "Hedges g", "TOST p", "Holm p", "detectable",
	}}
	paired := slices.ContainsFunc(pair.Metrics, func(m compare.Metrics) bool { return m.PairedP != nil })
	if paired {
		g.Header = slices.Insert(g.Header, 13, "paired p")
	}
	for _, m := range pair.Metrics {
		unit := figure.Unit(m.Unit)
		name := keyOf(m).title()
		if m.Primary {
			name += " (primary)"
		}
		cells := []string{
			name, string(m.Direction), VerdictText(m), format.Optional(m.A.Mean, unit.Text), deviation(m.A, unit), fmt.Sprint(m.A.N), format.Optional(m.B.Mean, unit.Text), deviation(m.B, unit), fmt.Sprint(m.B.N),
			format.Optional(m.Difference, func(v float64) string { return signed(unit, v) }), ratioText(m), anyInterval(m), "±" + m.Margin.Text(unit),
		}
		if paired {
			cells = append(cells, format.Optional(m.PairedP, probability))
		}
		cells = append(cells, format.Optional(m.WelchP, probability), format.Optional(m.MannWhitneyP, probability), format.Optional(m.HedgesG, twoDigits),
			format.Optional(m.TOSTP, probability), format.Optional(m.HolmP, probability), format.Optional(m.MDE, func(v float64) string {
				return figure.Margin{Value: v, Relative: m.Margin.Relative}.Text(unit)
			}))
		g.AddIn(RowTone(m), cells...)
	}
	return g
}

func probability(p float64) string { return fmt.Sprintf("%.3g", p) }
func twoDigits(v float64) string   { return fmt.Sprintf("%.2f", v) }

// gradesGrid counts the runs of each arm by run quality, with the reasons why it is not better.
func gradesGrid(c compare.Comparison) render.Table {
	g := render.Table{Header: []string{"arm", "decision", "valid", "invalid", "why not a better grade"}, Words: []int{4}}
	for _, arm := range c.Arms {
		counts := map[compare.Grade]int{}
		why := map[string]int{}
		for _, s := range c.Strata {
			for _, r := range slices.Concat(s.Arms[arm].Runs, s.Arms[arm].Excluded) {
				counts[r.Grade]++
				for _, reason := range r.Why {
					why[reason]++
				}
			}
		}
		g.Add(arm, fmt.Sprint(counts[compare.GradeDecision]), fmt.Sprint(counts[compare.GradeValid]), fmt.Sprint(counts[compare.GradeInvalid]), commonest(why))
	}
	return g
}

// commonest lists the most frequent reasons.
func commonest(why map[string]int) string {
	reasons := slices.SortedFunc(maps.Keys(why), func(a, b string) int { return cmp.Or(cmp.Compare(why[b], why[a]), cmp.Compare(a, b)) })
	var parts []string
	for i, reason := range reasons {
		if i == 4 {
			parts = append(parts, fmt.Sprintf("and %d more", len(reasons)-i))
			break
		}
		parts = append(parts, fmt.Sprintf("%s (%d)", reason, why[reason]))
	}
	return strings.Join(parts, "; ")
}

// runsGrid lists the runs of a stratum in the order of time.
func runsGrid(c compare.Comparison, s compare.Stratum) render.Table {
	g := render.Table{Header: []string{"run", "arm", "start (UTC)", "grade", "why not a better one"}, Words: []int{1, 2, 3, 4}}
	type run struct {
		compare.RunRef
		arm string
	}
	var runs []run
	for _, arm := range c.Arms {
		for _, r := range slices.Concat(s.Arms[arm].Runs, s.Arms[arm].Excluded) {
			runs = append(runs, run{r, arm})
		}
	}
	slices.SortStableFunc(runs, func(a, b run) int { return a.StartedAt.Compare(b.StartedAt) })
	for _, r := range runs {
		start := format.None
		if !r.StartedAt.IsZero() {
			start = r.StartedAt.UTC().Format("2006-01-02 15:04:05")
		}
		g.AddIn(doubtIf(r.Grade == compare.GradeInvalid), r.Run, r.arm, start, string(r.Grade), strings.Join(r.Why, "; "))
	}
	return g
}

// fairness separates the facts that differ between the arms from those that are the same.
func fairness(pair compare.Pair) (differs, same render.Table) {
	differs = render.Table{Header: []string{"item", pair.A, pair.B}, Words: []int{1, 2}}
	same = differs
	for _, f := range pair.Fairness {
		if f.Differs {
			differs.Add(f.Item, f.A, f.B)
		} else {
			same.Add(f.Item, f.A, f.B)
		}
	}
	return differs, same
}

// orderGrid shows the effect of the order of runs on metrics: those with an effect, and those that decide.
func orderGrid(pair compare.Pair) render.Table {
	g := render.Table{Header: []string{"metric", "finding", "of", "those runs", "the others"}, Words: []int{1, 2, 3, 4}}
	primary := map[string]bool{}
	for _, m := range pair.Metrics {
		primary[m.Name] = m.Primary
	}
	for _, a := range pair.Order.AfterSwitch {
		if !a.StandsOut && a.Extreme == "" && !primary[a.Metric] {
			continue
		}
		unit := key{name: a.Metric}.unit()
		var findings []string
		if a.Extreme != "" {
			findings = append(findings, "the "+a.Extreme+" of its block")
		}
		switch {
		case a.StandsOut:
			findings = append(findings, "stands out")
		case a.P == nil:
			findings = append(findings, "cannot be tested: too few others, or they do not vary")
		case a.Extreme == "":
			findings = append(findings, "not shown to differ from the others")
		}
		g.AddIn(doubtIf(a.StandsOut), key{name: a.Metric}.title(), strings.Join(findings, ", "), fmt.Sprintf("%s, first after a change of arms (n = %d)", a.Arm, a.N), unit.Text(a.First), unit.Text(a.Rest))
	}
	for _, h := range pair.Order.Halves {
		if !h.Suspect && !primary[h.Metric] {
			continue
		}
		unit := key{name: h.Metric}.unit()
		text := func(v float64) string { return signed(unit, v) }
		finding := "not shown to depend on the order"
		if h.Suspect {
			finding = "depends on the order"
		}
		g.AddIn(doubtIf(h.Suspect), key{name: h.Metric}.title(), finding+", p "+format.Optional(h.P, probability), "difference in pairs that "+pair.A+" began",
			format.Optional(h.AB, text), format.Optional(h.BA, text))
	}
	return g
}

func doubtIf(doubt bool) render.Tone {
	if doubt {
		return render.Note
	}
	return ""
}

// outlierGrid lists the outliers.
func outlierGrid(pair compare.Pair) render.Table {
	g := render.Table{Header: []string{"run", "arm", "metric", "value", "flagged by", "possible causes"}, Words: []int{1, 2, 4, 5}}
	for _, m := range pair.Metrics {
		for _, o := range m.Outliers {
			g.Add(o.Run, o.Arm, keyOf(m).title(), figure.Unit(m.Unit).Text(o.Value), strings.ReplaceAll(strings.Join(o.By, ", "), "_", " "), strings.Join(o.Causes, "; "))
		}
	}
	return g
}
