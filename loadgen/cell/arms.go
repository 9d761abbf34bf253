package cell

import (
	"fmt"
	"slices"

	"github.com/umascope/umascope/loadgen/format"
	"github.com/umascope/umascope/loadgen/render"
)

// byArm divides rows by arm and model, in the order in which these appear.
func byArm(rows []Row) [][]Row {
	type key struct{ arm, model string }
	at := map[key]int{}
	var all [][]Row
	for _, r := range rows {
		k := key{r.Arm, r.Model}
		if _, known := at[k]; !known {
			at[k] = len(all)
			all = append(all, nil)
		}
		all[at[k]] = append(all[at[k]], r)
	}
	return all
}

// mostArms is how many arms a table for a terminal has room for.
const mostArms = 3

// sideBySide has the measured figures of the arms of a part, a line for each half of a cell, in tables of at most so many
// arms.
func (p part) sideBySide(arms [][]Row, most int) []render.Block {
	lines := slices.Clone(p.rows)
	slices.SortStableFunc(lines, Row.before)
	lines = slices.CompactFunc(lines, func(a, b Row) bool { return a.before(b) == 0 })
	severalModels := slices.ContainsFunc(arms, func(of []Row) bool { return of[0].Model != arms[0][0].Model })
	var blocks []render.Block
	for some := range slices.Chunk(arms, most) {
		t := render.Table{Header: []string{"test"}}
		for _, of := range some {
			name := of[0].Arm
			if severalModels {
				name += " on " + of[0].Model
			}
			t.Header = append(t.Header, name)
		}
		for _, line := range lines {
			line.repetition = 0
			prefill, decode := line.names(several(p.rows))
			first, second := []string{prefill}, []string{decode}
			for _, of := range some {
				runs := slices.DeleteFunc(slices.Clone(of), func(r Row) bool { return r.before(line) != 0 })
				first = append(first, overRuns(runs, func(m Measured) *Estimate { return m.Prefill }))
				second = append(second, overRuns(runs, func(m Measured) *Estimate { return m.Decode }))
			}
			t.Add(first...)
			t.Add(second...)
		}
		blocks = append(blocks, t)
	}
	return append(blocks, render.Small("Measured tokens per second: the mean over runs, ± their sample standard deviation, of how many runs. uma-load compare --by arm shows how sure a difference is."))
}

// overRuns returns the mean of a figure over runs: the runs of an arm are independent of each other, their batches are not.
func overRuns(runs []Row, figure func(Measured) *Estimate) string {
	var means []float64
	for _, r := range runs {
		if e := figure(r.Measured()); e != nil {
			means = append(means, e.Mean)
		}
	}
	e := estimate(means)
	switch {
	case e == nil:
		return format.None
	case e.SD == nil:
		return fmt.Sprintf("%s (%d)", format.Digits(e.Mean), e.N)
	}
	return fmt.Sprintf("%s ± %s (%d)", format.Digits(e.Mean), format.Digits(*e.SD), e.N)
}
