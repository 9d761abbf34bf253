package runner

import (
	"io"

	"github.com/umascope/umascope/loadgen/figure"
	"github.com/umascope/umascope/loadgen/render"
)

// CSV writes sweep.csv: a row for each run, in the order of measurement. Every sweep has the same columns, so that readers
// find them by name, and figures that a run lacks are empty. Latencies count from the moment of sending; those that begin
// with scheduled count from the intended start.
func (r SweepResult) CSV(w io.Writer) error {
	header := []string{"point", "over", "value", "repeat", "run", "seed", "status", "invalid_reasons", "slo_met"}
	all := figure.All().Columns(figure.InSweep)
	for _, f := range all {
		header = append(header, f.Sweep.Heading)
	}
	var rows [][]any
	for _, p := range r.Points {
		row := []any{p.Number, r.Over, p.Value, p.Repeat, p.Run, p.Seed, string(p.Status), p.reasons(), nil}
		if p.SLOMet != nil {
			row[len(row)-1] = *p.SLOMet
		}
		for _, f := range all {
			var cell any
			if v, known := p.Figures[f.Sweep.Heading]; known {
				cell = v
			}
			row = append(row, cell)
		}
		rows = append(rows, row)
	}
	return render.CSV(w, render.Sheet{Name: "Sweep", Header: header, Rows: render.Rows(rows)})
}
