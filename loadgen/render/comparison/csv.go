package comparison

import (
	"io"
	"slices"

	"github.com/umascope/umascope/exporter/ledger"
	"github.com/umascope/umascope/loadgen/compare"
	"github.com/umascope/umascope/loadgen/figure"
	"github.com/umascope/umascope/loadgen/render"
)

// CSV writes a row for each metric of each pair in each stratum, then one for each line of the ledgers of both arms, in
// base units. Unknown values are empty.
func CSV(w io.Writer, c compare.Comparison) error {
	header := append(slices.Clone(c.Within), "baseline", "candidate", "order")
	columns := metricCells(compare.Metrics{})
	for _, column := range columns {
		header = append(header, column.name)
	}
	var rows [][]any
	for _, s := range c.Strata {
		for _, p := range s.Pairs {
			var first []any
			for _, name := range c.Within {
				first = append(first, s.Within[name])
			}
			first = append(first, p.A, p.B, p.Order.Kind)
			for _, m := range p.Metrics {
				row := slices.Clone(first)
				for _, cell := range metricCells(m) {
					row = append(row, cell.value)
				}
				rows = append(rows, row)
			}
			for _, line := range ledgerRows(p) {
				row := slices.Clone(first)
				for _, column := range columns {
					row = append(row, line[column.name])
				}
				rows = append(rows, row)
			}
		}
	}
	return render.CSV(w, render.Sheet{Name: "Comparison", Header: header, Rows: render.Rows(rows)})
}

// ledgerRows returns the lines of the ledgers of both arms on the host of the runs, by column: in the order of the
// vocabulary, with the pool that they add up to.
func ledgerRows(p compare.Pair) []map[string]any {
	var rows []map[string]any
	inA, inB, differences := p.Ledgers.A.Moments(), p.Ledgers.B.Moments(), p.LedgerDifference.Moments()
	for i, m := range differences {
		a, b, difference := *inA[i].Ledger, *inB[i].Ledger, *m.Ledger
		add := func(line string, of func(ledger.Ledger) any) {
			rows = append(rows, map[string]any{
				"metric": "memory_ledger_" + m.Moment + "_" + line + "_bytes", "unit": string(figure.Bytes), "better": string(figure.NeitherBetter), "primary": false, "engine_reported": false,
				"mean_a": of(a), "mean_b": of(b), "difference": of(difference),
			})
		}
		for _, line := range ledger.InOrder(a) {
			add(line, func(lines ledger.Ledger) any { return lines[line] })
		}
		if a.Whole() {
			add("pool", func(lines ledger.Ledger) any { return lines.Sum() })
		}
	}
	return rows
}

// namedCell is a figure of a metric with the name of its column.
type namedCell struct {
	name  string
	value any
}

// metricCells returns the row of a metric.
func metricCells(m compare.Metrics) []namedCell {
	low, high := ends(m.CI95)
	ratioLow, ratioHigh := ends(m.RatioCI95)
	bcaLow, bcaHigh := ends(m.BCa95)
	return slices.Concat([]namedCell{
		{"metric", m.Name}, {"unit", m.Unit}, {"better", string(m.Direction)}, {"primary", m.Primary}, {"engine_reported", m.EngineReported},
		{"verdict", string(m.Verdict)}, {"confounded_with_time", m.Confounded}, {"verdict_ignoring_order", string(m.VerdictIgnoringOrder)},
	}, momentCells("a", m.A), momentCells("b", m.B), []namedCell{
		{"difference", m.Difference}, {"ci95_low", low}, {"ci95_high", high},
		{"ratio", m.Ratio}, {"ratio_ci95_low", ratioLow}, {"ratio_ci95_high", ratioHigh},
		{"scale", m.Scale}, {"margin", m.Margin.Value}, {"margin_is_relative", m.Margin.Relative},
		{"welch_t", m.WelchT}, {"welch_p", m.WelchP}, {"paired_p", m.PairedP}, {"mann_whitney_p", m.MannWhitneyP},
		{"hodges_lehmann", m.HodgesLehmann}, {"hedges_g", m.HedgesG}, {"tost_p", m.TOSTP}, {"holm_p", m.HolmP},
		{"mde", m.MDE}, {"n_needed", m.NeedN}, {"n_needed_for_effect", m.NeedForEffect}, {"geometric_ratio", m.GeometricRatio},
		{"method", m.Method}, {"pairs_dropped", m.PairsDropped}, {"constant", m.Constant}, {"same_as", m.SameAs},
		{"shapiro_wilk_p_a", m.ShapiroA}, {"shapiro_wilk_p_b", m.ShapiroB}, {"bonferroni_p", m.BonferroniP}, {"benjamini_hochberg_p", m.BHP},
		{"bca95_low", bcaLow}, {"bca95_high", bcaHigh},
	})
}

func momentCells(arm string, m compare.Moments) []namedCell {
	return []namedCell{
		{"n_" + arm, m.N}, {"mean_" + arm, m.Mean}, {"sd_" + arm, m.SD}, {"population_sd_" + arm, m.PopulationSD}, {"cv_" + arm, m.CV},
		{"median_" + arm, m.Median}, {"min_" + arm, m.Min}, {"max_" + arm, m.Max},
	}
}

// ends returns the ends of an interval; nil without one.
func ends(i *compare.Interval) (low, high *float64) {
	if i == nil {
		return nil, nil
	}
	return &i[0], &i[1]
}
