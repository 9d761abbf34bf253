package loadgen

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/prometheus/procfs"

	"github.com/umascope/umascope/loadgen/arena"
	"github.com/umascope/umascope/loadgen/campaign/plan"
	"github.com/umascope/umascope/loadgen/runner"
)

// Times of waiting for a temperature.
const (
	coolInterval = 5 * time.Second
	longestCool  = 30 * time.Minute
)

// celsius returns the temperature of the hottest GPU; nil if no exporter shows one.
func (d *arenaDriver) celsius(ctx context.Context) *float64 {
	cell := &plan.Cell{Flags: map[string]string{"url": d.line.arenaRun.Target.URL}}
	for _, f := range d.given {
		switch f.Name {
		case "telemetry":
			cell.Telemetry = append(cell.Telemetry, f.Value)
		case runner.TelemetryAccessFlag:
			cell.Flags[f.Name] = f.Value
		}
	}
	return machineSense{exporter: d.env.Exporter, proc: procfs.DefaultMountPoint}.ask(ctx, cell).Celsius
}

// checkCooling refuses to wait for a temperature that no exporter shows.
func (d *arenaDriver) checkCooling(ctx context.Context) error {
	if of := d.line.arenaPlan.cool; of.celsius > 0 && d.celsius(ctx) == nil {
		if ctx.Err() != nil {
			return runner.ErrInterrupted
		}
		return usage(errors.New("--cool: no exporter shows the temperature of a GPU (--telemetry names one); a time such as 30s needs none"))
	}
	return nil
}

// cool waits before a cell. It returns false if it was interrupted.
func (d *arenaDriver) cool(ctx context.Context, next arena.Measured) bool {
	of, env := d.line.arenaPlan.cool, d.env
	env.Page, env.Series = d.page, d.series(next)
	if of.celsius == 0 {
		return of.pause == 0 || runner.Pause(ctx, env, "the pause before this cell", of.pause)
	}
	logged := false
	for until := time.Now().Add(longestCool); time.Now().Before(until); {
		now := d.celsius(ctx)
		switch {
		case ctx.Err() != nil:
			return false
		case now == nil:
			d.env.Log.Warn("no exporter shows the temperature of a GPU any more: the cell begins without cooling", "cell", next.String())
			return true
		case *now <= of.celsius:
			return true
		case !logged:
			d.env.Log.Info("waiting for the GPU to cool", "cell", next.String(), "celsius", *now, "limit", of.celsius)
			logged = true
		}
		if !runner.Pause(ctx, env, fmt.Sprintf("the GPU to cool from %.0f to %.0f C", *now, of.celsius), coolInterval) {
			return false
		}
	}
	d.env.Log.Warn("the GPU is still too hot: the cell begins nevertheless", "cell", next.String(), "waited", longestCool)
	return true
}
