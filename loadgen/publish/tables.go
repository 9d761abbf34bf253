package publish

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/umascope/umascope/loadgen/compare"
	"github.com/umascope/umascope/loadgen/render"
	"github.com/umascope/umascope/loadgen/stats"
)

// writeTables writes the tables, in base units. A missing value is an empty field.
func (b *builder) writeTables() error {
	var slots error
	if len(b.Slots) > 0 {
		slots = b.writeSheet(SlotsFile, b.slotsTable())
	}
	return errors.Join(slots,
		b.writeSheet(RunsFile, b.runsTable()),
		b.writeSheet(SummaryFile, b.summaryTable()),
		b.writeSheet(DeltasFile, b.deltasTable()),
	)
}

func (b *builder) writeSheet(name string, s render.Sheet) error {
	return b.write(name, func(w io.Writer) error { return render.CSV(w, s) })
}

// figures returns the figures of any run, in the order of the table of metrics.
func (b *builder) figures() []compare.SourcedMetric { return compare.SourcedMetrics(b.runs) }

// labelNames returns the labels of all runs that have no column of their own.
func (b *builder) labelNames() []string {
	names := map[string]bool{}
	for _, r := range b.runs {
		for name := range r.Labels {
			names[name] = true
		}
	}
	for _, own := range []string{"host", "model", "engine", "scenario"} {
		delete(names, own)
	}
	return slices.Sorted(maps.Keys(names))
}

// runsTable returns a table with a row for each run, in the order of time.
func (b *builder) runsTable() render.Sheet {
	labels, figures := b.labelNames(), b.figures()
	s := render.Sheet{Name: "Runs", Header: []string{
		"run", "started_at", "ended_at", "host", "model", "engine", "scenario", "valid", "invalid_reasons", "simulated", "telemetry_mode", "imported", "workload_sha256", "model_fingerprint", "boot",
	}}
	for _, name := range labels {
		s.Header = append(s.Header, "label_"+name)
	}
	for _, f := range figures {
		s.Header = append(s.Header, f.Column())
	}
	var rows [][]any
	for _, r := range b.runs {
		row := []any{
			r.ID, moment8601(r.StartedAt), moment8601(r.EndedAt), r.Host, r.Model, r.Engine, r.Scenario, r.Valid, strings.Join(r.InvalidReasons, " "),
			r.Simulated, r.Mode, r.Imported, r.WorkloadSHA256, r.Fingerprint, r.BootID,
		}
		for _, name := range labels {
			row = append(row, r.Labels[name])
		}
		for _, f := range figures {
			row = append(row, f.Of(r))
		}
		rows = append(rows, row)
	}
	s.Rows = render.Rows(rows)
	return s
}

func moment8601(at time.Time) any {
	if at.IsZero() {
		return nil
	}
	return at.UTC().Format(time.RFC3339)
}

// cell holds runs with the same values of all --within labels and the same arm.
type cell struct {
	within []string
	arm    string
	runs   []compare.Run // the valid ones
}

// cells returns the cells of the valid runs, sorted by the --within labels, then in the order in which they began.
func (b *builder) cells() []cell {
	var all []cell
	for i := range b.runs {
		r := b.runs[i]
		if !r.Valid {
			continue
		}
		c := cell{arm: r.Label(b.Compare.By)}
		for _, name := range b.Compare.Within {
			c.within = append(c.within, r.Label(name))
		}
		at := slices.IndexFunc(all, func(o cell) bool { return o.arm == c.arm && slices.Equal(o.within, c.within) })
		if at < 0 {
			at = len(all)
			all = append(all, c)
		}
		all[at].runs = append(all[at].runs, r)
	}
	slices.SortStableFunc(all, func(x, y cell) int { return slices.Compare(x.within, y.within) })
	return all
}

// summaryTable describes each metric in each cell; invalid runs enter no figure.
func (b *builder) summaryTable() render.Sheet {
	s := render.Sheet{Name: "Summary", Header: append(slices.Clone(b.Compare.Within), b.Compare.By,
		"metric", "unit", "engine_reported", "n", "mean", "sd", "population_sd", "cv", "median", "min", "max", "mean_ci95_low", "mean_ci95_high")}
	var rows [][]any
	for _, c := range b.cells() {
		for _, f := range b.figures() {
			var values []float64
			for _, r := range c.runs {
				if v := f.Of(r); v != nil {
					values = append(values, *v)
				}
			}
			d, err := stats.Describe(values)
			if err != nil {
				continue // no values to describe
			}
			row := append(anys(c.within), c.arm, f.Name, string(f.Unit), f.EngineReported, d.N, d.Mean, d.SD, d.PopulationSD, d.CV, d.Median, d.Min, d.Max)
			var low, high any
			if interval, err := stats.MeanInterval(values, 0.95); err == nil {
				low, high = interval.Low, interval.High
			}
			rows = append(rows, append(row, low, high))
		}
	}
	s.Rows = render.Rows(rows)
	return s
}

func anys(texts []string) []any {
	row := make([]any, len(texts))
	for i, text := range texts {
		row[i] = text
	}
	return row
}

// deltasTable returns the differences between an arm (b) and the baseline (a): of the means of each metric, and of
// every pair of runs that was made under the same conditions.
func (b *builder) deltasTable() render.Sheet {
	s := render.Sheet{Name: "Deltas"}
	var within []string
	if b.comparison != nil {
		within = b.comparison.Within
	}
	s.Header = append(slices.Clone(within), "baseline", "candidate", "of", "pair", "run_a", "run_b", "metric", "unit", "engine_reported", "a", "b", "difference", "ratio", "verdict", "confounded_with_time")
	var rows [][]any
	if b.comparison != nil {
		for _, stratum := range b.comparison.Strata {
			for _, pair := range stratum.Pairs {
				head := []any{}
				for _, name := range within {
					head = append(head, stratum.Within[name])
				}
				head = append(head, pair.A, pair.B)
				rows = append(rows, meansOf(head, pair)...)
				rows = append(rows, b.pairsOf(head, stratum, pair)...)
			}
		}
	}
	s.Rows = render.Rows(rows)
	return s
}

func meansOf(head []any, pair compare.Pair) [][]any {
	var rows [][]any
	for _, m := range pair.Metrics {
		rows = append(rows, append(slices.Clone(head), "means", nil, nil, nil, m.Name, m.Unit, m.EngineReported,
			m.A.Mean, m.B.Mean, m.Difference, m.Ratio, string(m.Verdict), m.Confounded))
	}
	return rows
}

// pairsOf returns the pairs of runs that the comparison uses: one of each arm, of one round and one boot.
func (b *builder) pairsOf(head []any, stratum compare.Stratum, pair compare.Pair) [][]any {
	baseline, candidate := b.byPair(stratum.Arms[pair.A]), b.byPair(stratum.Arms[pair.B])
	var rows [][]any
	for i, key := range slices.Sorted(maps.Keys(baseline)) {
		x, y := baseline[key], candidate[key]
		if y == nil || !x.SameBoot(y) {
			continue
		}
		for _, f := range b.figures() {
			from, to := f.Of(*x), f.Of(*y)
			if from == nil || to == nil {
				continue
			}
			var ratio any
			if *from != 0 {
				ratio = *to / *from
			}
			rows = append(rows, append(slices.Clone(head), "pair", i+1, x.ID, y.ID, f.Name, string(f.Unit), f.EngineReported, from, to, *to-*from, ratio, nil, nil))
		}
	}
	return rows
}

// byPair returns the runs of an arm by pair label; two runs with the same label are both left out.
func (b *builder) byPair(arm compare.Arm) map[string]*compare.Run {
	found, twice := map[string]*compare.Run{}, map[string]bool{}
	for _, ref := range arm.Runs {
		at := slices.IndexFunc(b.runs, func(r compare.Run) bool { return r.ID == ref.Run })
		if at < 0 || b.runs[at].Pair == "" {
			continue
		}
		r := &b.runs[at]
		twice[r.Pair] = twice[r.Pair] || found[r.Pair] != nil
		found[r.Pair] = r
	}
	maps.DeleteFunc(found, func(key string, _ *compare.Run) bool { return twice[key] })
	return found
}

// span formats the time range of the runs.
func (b *builder) span() string {
	if len(b.runs) == 0 {
		return ""
	}
	first, last := b.runs[0].StartedAt, b.runs[0].StartedAt
	for _, r := range b.runs {
		if last = cmp.Or(last, r.EndedAt); r.EndedAt.After(last) {
			last = r.EndedAt
		}
		if r.StartedAt.After(last) {
			last = r.StartedAt
		}
	}
	const day = "2006-01-02"
	if first.UTC().Format(day) == last.UTC().Format(day) {
		return first.UTC().Format(day)
	}
	return fmt.Sprintf("%s to %s", first.UTC().Format(day), last.UTC().Format(day))
}
