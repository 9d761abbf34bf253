package cell

import (
	"fmt"
	"slices"

	"github.com/umascope/umascope/loadgen/render"
)

// armKey is what rows of one arm have in common.
type armKey struct{ arm, model string }

func (r Row) armKey() armKey { return armKey{r.Arm, r.Model} }

// byArm divides rows by arm and model, in the order in which these appear.
func byArm(rows []Row) [][]Row {
	at := map[armKey]int{}
	var all [][]Row
	for _, r := range rows {
		k := r.armKey()
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

// sideBySide has the measured figures of several arms, a line for each half of a cell, in tables of at most so many arms.
func (p part) sideBySide(arms []armKey, most int) []render.Block {
	lines := slices.Clone(p.rows)
	slices.SortStableFunc(lines, Row.before)
	lines = slices.CompactFunc(lines, func(a, b Row) bool { return a.before(b) == 0 })
	severalModels := slices.ContainsFunc(arms, func(k armKey) bool { return k.model != arms[0].model })
	var blocks []render.Block
	for some := range slices.Chunk(arms, most) {
		t := render.Table{Header: []string{"test"}}
		for _, k := range some {
			name := k.arm
			if severalModels {
				name += " on " + k.model
			}
			t.Header = append(t.Header, name)
		}
		for _, line := range lines {
			line.repetition = 0
			prefill, decode := line.names(several(p.rows))
			first, second := []string{prefill}, []string{decode}
			for _, k := range some {
				runs := slices.DeleteFunc(slices.Clone(p.rows), func(r Row) bool { return r.armKey() != k || r.before(line) != 0 })
				first = append(first, overRuns(runs, func(m Measured) *Estimate { return m.Prefill }))
				second = append(second, overRuns(runs, func(m Measured) *Estimate { return m.Decode }))
			}
			t.Add(first...)
			t.Add(second...)
		}
		blocks = append(blocks, t)
	}
	return append(blocks, render.Small("Measured tokens per second: the mean over runs, ± their sample standard deviation, of how many runs. uma-load compare --by arm says how sure a difference is."))
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
		return render.None
	case e.SD == nil:
		return fmt.Sprintf("%s (%d)", render.Digits(e.Mean), e.N)
	}
	return fmt.Sprintf("%s ± %s (%d)", render.Digits(e.Mean), render.Digits(*e.SD), e.N)
}
