package loadgen

import (
	"time"

	"github.com/umascope/umascope/loadgen/arena"
)

// endsAt estimates the end of the arena from the cells that are measured; nil without one.
func (d *arenaDriver) endsAt(now time.Time) *time.Time {
	var done []arena.Took
	var left []arena.Cell
	for _, m := range d.result.Cells {
		if !m.Over() {
			left = append(left, m.Cell)
			continue
		}
		rows, err := d.rows(m)
		if err != nil || len(rows) == 0 {
			continue
		}
		of := rows[len(rows)-1] // of the prompts, not of their contexts
		figures := of.Measured()
		if figures.Prefill == nil || figures.DecodeEach == nil {
			continue
		}
		done = append(done, arena.Took{Cell: m.Cell, Rates: arena.Rates{PP: figures.Prefill.Mean, TG: figures.DecodeEach.Mean}, Duration: of.Ended.Sub(of.Started)})
	}
	remaining, known := arena.Remaining(done, left, d.profile.Caching)
	if !known {
		return nil
	}
	return new(now.Add(remaining + time.Duration(len(left))*d.line.arenaPlan.cool.pause))
}
