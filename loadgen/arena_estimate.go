package loadgen

import (
	"slices"
	"time"

	"github.com/umascope/umascope/loadgen/arena"
	"github.com/umascope/umascope/loadgen/campaign"
)

// endsAt estimates the end of the arena from the cells that are measured; nil without one.
func (d *arenaDriver) endsAt() *time.Time {
	var done []arena.Took
	var left []arena.Cell
	for _, s := range d.invocation.Facts().Slots {
		of := d.cell(s.Scenario)
		if !slices.Contains([]campaign.Status{campaign.Finished, campaign.Invalid, campaign.Skipped}, s.Status) {
			left = append(left, of)
			continue
		}
		rows, err := d.rowsOf(s.Last())
		if err != nil || len(rows) == 0 {
			continue
		}
		last := rows[len(rows)-1] // of the prompts, not of their contexts
		figures := last.Measured()
		if figures.Prefill == nil || figures.DecodeEach == nil {
			continue
		}
		done = append(done, arena.Took{Cell: of, Rates: arena.Rates{PP: figures.Prefill.Mean, TG: figures.DecodeEach.Mean}, Duration: last.Ended.Sub(last.Started)})
	}
	remaining, known := arena.Remaining(done, left, d.profile.Caching)
	if !known {
		return nil
	}
	return new(time.Now().Add(remaining + time.Duration(len(left))*d.flags.cool.pause))
}
