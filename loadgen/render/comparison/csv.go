package comparison

import (
	"io"
	"slices"

	"github.com/umascope/umascope/exporter/metric"
	"github.com/umascope/umascope/loadgen/compare"
	"github.com/umascope/umascope/loadgen/render"
)

// CSV writes a row for each metric of each pair in each stratum, then one for each line of the ledgers of both arms, in
// base units. Unknown values are empty.
func CSV(w io.Writer, c compare.Comparison) error {
	header := append([]string{}, c.Within...)
	columns := columnsOf()
	header = append(header, "baseline", "candidate", "order")
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
				for _, column := range columns {
					row = append(row, column.of(m))
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
	for _, m := range moments {
		a, b, difference := m.of(compare.LedgerDelta(p.Ledgers.A)), m.of(compare.LedgerDelta(p.Ledgers.B)), m.of(p.LedgerDifference)
		add := func(line string, of func(map[string]float64) any) {
			rows = append(rows, map[string]any{
				"metric": "memory_ledger_" + m.name + "_" + line + "_bytes", "unit": string(compare.UnitBytes), "better": string(compare.NeitherBetter), "primary": false, "engine_reported": false,
				"mean_a": of(a), "mean_b": of(b), "difference": of(difference),
			})
		}
		for _, line := range metric.InLedgerOrder(a) {
			add(line, func(lines map[string]float64) any { return lines[line] })
		}
		if _, whole := a[metric.LineUnattributed]; whole {
			add("pool", func(lines map[string]float64) any { total, _ := sum(lines); return total })
		}
	}
	return rows
}

// column is a figure of a metric.
type column struct {
	name string
	of   func(compare.Metrics) any
}

func columnsOf() []column {
	number := func(name string, of func(compare.Metrics) *float64) column {
		return column{name, func(m compare.Metrics) any { return known(of(m)) }}
	}
	whole := func(name string, of func(compare.Metrics) *int) column {
		return column{name, func(m compare.Metrics) any {
			if n := of(m); n != nil {
				return *n
			}
			return nil
		}}
	}
	end := func(name string, at int, of func(compare.Metrics) *compare.Interval) column {
		return column{name, func(m compare.Metrics) any {
			if i := of(m); i != nil {
				return i[at]
			}
			return nil
		}}
	}
	all := []column{
		{"metric", func(m compare.Metrics) any { return m.Name }},
		{"unit", func(m compare.Metrics) any { return m.Unit }},
		{"better", func(m compare.Metrics) any { return string(m.Direction) }},
		{"primary", func(m compare.Metrics) any { return m.Primary }},
		{"engine_reported", func(m compare.Metrics) any { return m.EngineReported }},
		{"verdict", func(m compare.Metrics) any { return string(m.Verdict) }},
		{"confounded_with_time", func(m compare.Metrics) any { return m.Confounded }},
	}
	all = append(all, momentColumns("a", func(m compare.Metrics) compare.Moments { return m.A })...)
	all = append(all, momentColumns("b", func(m compare.Metrics) compare.Moments { return m.B })...)
	ci95 := func(m compare.Metrics) *compare.Interval { return m.CI95 }
	ratio := func(m compare.Metrics) *compare.Interval { return m.RatioCI95 }
	bca := func(m compare.Metrics) *compare.Interval { return m.BCa95 }
	return append(all,
		number("difference", func(m compare.Metrics) *float64 { return m.Difference }),
		end("ci95_low", 0, ci95), end("ci95_high", 1, ci95),
		number("ratio", func(m compare.Metrics) *float64 { return m.Ratio }),
		end("ratio_ci95_low", 0, ratio), end("ratio_ci95_high", 1, ratio),
		column{"scale", func(m compare.Metrics) any { return m.Scale }},
		column{"margin", func(m compare.Metrics) any { return m.Margin.Value }},
		column{"margin_is_relative", func(m compare.Metrics) any { return m.Margin.Relative }},
		number("welch_t", func(m compare.Metrics) *float64 { return m.WelchT }),
		number("welch_p", func(m compare.Metrics) *float64 { return m.WelchP }),
		number("paired_p", func(m compare.Metrics) *float64 { return m.PairedP }),
		number("mann_whitney_p", func(m compare.Metrics) *float64 { return m.MannWhitneyP }),
		number("hodges_lehmann", func(m compare.Metrics) *float64 { return m.HodgesLehmann }),
		number("hedges_g", func(m compare.Metrics) *float64 { return m.HedgesG }),
		number("tost_p", func(m compare.Metrics) *float64 { return m.TOSTP }),
		number("holm_p", func(m compare.Metrics) *float64 { return m.HolmP }),
		number("mde", func(m compare.Metrics) *float64 { return m.MDE }),
		whole("n_needed", func(m compare.Metrics) *int { return m.NeedN }),
		whole("n_needed_for_effect", func(m compare.Metrics) *int { return m.NeedForEffect }),
		number("geometric_ratio", func(m compare.Metrics) *float64 { return m.GeometricRatio }),
		column{"method", func(m compare.Metrics) any { return m.Method }},
		column{"pairs_dropped", func(m compare.Metrics) any { return m.PairsDropped }},
		column{"constant", func(m compare.Metrics) any { return m.Constant }},
		column{"same_as", func(m compare.Metrics) any { return m.SameAs }},
		number("shapiro_wilk_p_a", func(m compare.Metrics) *float64 { return m.ShapiroA }),
		number("shapiro_wilk_p_b", func(m compare.Metrics) *float64 { return m.ShapiroB }),
		number("bonferroni_p", func(m compare.Metrics) *float64 { return m.BonferroniP }),
		number("benjamini_hochberg_p", func(m compare.Metrics) *float64 { return m.BHP }),
		end("bca95_low", 0, bca), end("bca95_high", 1, bca),
	)
}

func momentColumns(arm string, of func(compare.Metrics) compare.Moments) []column {
	number := func(name string, value func(compare.Moments) *float64) column {
		return column{name + "_" + arm, func(m compare.Metrics) any { return known(value(of(m))) }}
	}
	return []column{
		{"n_" + arm, func(m compare.Metrics) any { return of(m).N }},
		number("mean", func(m compare.Moments) *float64 { return m.Mean }),
		number("sd", func(m compare.Moments) *float64 { return m.SD }),
		number("population_sd", func(m compare.Moments) *float64 { return m.PopulationSD }),
		number("cv", func(m compare.Moments) *float64 { return m.CV }),
		number("median", func(m compare.Moments) *float64 { return m.Median }),
		number("min", func(m compare.Moments) *float64 { return m.Min }),
		number("max", func(m compare.Moments) *float64 { return m.Max }),
	}
}

// known returns a value, or nil for an empty cell.
func known(v *float64) any {
	if v == nil {
		return nil
	}
	return *v
}
