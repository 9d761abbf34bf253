package campaign

import (
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/umascope/umascope/loadgen/figure"
	"github.com/umascope/umascope/loadgen/render"
	"github.com/umascope/umascope/loadgen/summary"
)

// WriteTable writes campaign.csv: a row for each slot in the plan's order, with the figures of its last run by the
// catalogue. Every campaign has the same columns of figures, so that readers find them by name; figures that a run lacks
// are empty. Latencies count from the moment of sending; those that begin with scheduled count from the intended start.
// read returns the summary of a slot's last run; nil if it has none.
func WriteTable(w io.Writer, slots []SlotFacts, read func(SlotFacts) *summary.Summary) error {
	runs, labels := make([]*summary.Summary, len(slots)), map[string]bool{}
	for i, s := range slots {
		if runs[i] = read(s); runs[i] == nil {
			continue
		}
		for name := range runs[i].Labels {
			labels[name] = true
		}
	}
	sheet := render.Sheet{Name: "Campaign", Header: []string{"slot", "model", "arm", "scenario", "iteration", "round", "attempts", "run", "status", "invalid_reasons", "problem", "slo_met"}}
	for _, own := range []string{"slot", "model", "arm", "scenario", "iteration", "round", "campaign"} {
		delete(labels, own)
	}
	names, figures := slices.Sorted(maps.Keys(labels)), figure.All().Columns(figure.InTable)
	for _, name := range names {
		sheet.Header = append(sheet.Header, "label_"+name)
	}
	for _, f := range figures {
		sheet.Header = append(sheet.Header, f.Table.Heading)
	}
	var rows [][]any
	for i, s := range slots {
		rows = append(rows, tableRow(s, runs[i], names, figures))
	}
	sheet.Rows = render.Rows(rows)
	return render.CSV(w, sheet)
}

// tableRow returns the row of a slot. The summary is nil if its last run has none.
func tableRow(s SlotFacts, sum *summary.Summary, labels []string, figures []figure.Figure) []any {
	row := []any{s.Number, s.Model, s.Arm, s.Scenario, s.Iteration, nil, len(s.Runs), s.Last(), string(s.Status), nil, s.Problem, nil}
	if s.Round > 0 {
		row[5] = s.Round
	}
	if sum == nil {
		return append(row, make([]any, len(labels)+len(figures))...)
	}
	var codes []string
	for _, reason := range sum.InvalidReasons {
		codes = append(codes, string(reason.Code))
	}
	row[9] = strings.Join(codes, " ")
	if sum.SLO != nil {
		row[11] = sum.SLO.Met
	}
	for _, name := range labels {
		row = append(row, sum.Labels[name])
	}
	for _, f := range figures {
		var cell any
		if v := f.Get(sum); v != nil {
			cell = *v
		}
		row = append(row, cell)
	}
	return row
}

// Summary returns the summary of the last run of a slot; nil if that has not ended or has none.
func (r *Invocation) Summary(s SlotFacts) *summary.Summary {
	if len(s.Runs) == 0 || s.Status == Measuring || s.Status == Aborted {
		return nil
	}
	if r.summaries[s.Last()] == nil {
		if run, err := summary.Open(filepath.Join(r.c.Dir, s.Last())); err == nil {
			r.summaries[s.Last()] = &run.Summary
		}
	}
	return r.summaries[s.Last()]
}
