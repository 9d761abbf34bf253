package runner

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/umascope/umascope/exporter/metric"
	"github.com/umascope/umascope/loadgen/rundir"
)

// phasesToReady returns the phases before the engine is ready; none if the run does not start its engine.
func (r *run) phasesToReady() []string {
	if r.env.Engine == nil {
		return nil
	}
	return []string{metric.PhaseCooldown, metric.PhaseStart, metric.PhaseLoad}
}

// runEngine begins the run, starts its engine, calls load and stops the engine. It calls enter at the begin of each
// phase. load gets a context that is done, with the cause, when the engine is lost.
func (r *run) runEngine(ctx, cut context.Context, enter func(phase string) error, load func(engine context.Context) error) error {
	r.describeEngine()
	if err := r.begin(ctx); err != nil {
		return err
	}
	engine, err := r.startEngine(ctx, enter)
	if err == nil {
		err = load(engine)
	}
	r.capture.engineStopped()
	if r.env.Engine.Starts {
		r.journal.meter.wait("the engine to stop", time.Time{})
	}
	r.env.Engine.After(cut)
	r.capture.settle(cut) // keep recording the machine a moment longer
	r.describeEngine()
	return err
}

// startEngine starts the engine, waits until it is ready, and enters the phases of the start.
func (r *run) startEngine(ctx context.Context, enter func(phase string) error) (engine context.Context, err error) {
	var failed error
	engine, err = r.env.Engine.Before(ctx, func(phase string) { failed = errors.Join(failed, enter(phase)) }, r.journal.meter.wait)
	if err = errors.Join(err, failed); err != nil && ctx.Err() != nil {
		err = ErrInterrupted
	}
	return engine, err
}

// checkFindings returns the results of the checks of a campaign.
func checkFindings(c *rundir.Campaign) rundir.CheckFindings {
	if c == nil {
		return rundir.CheckFindings{}
	}
	var failed []string
	for _, one := range c.Checks {
		if !one.Passed {
			failed = append(failed, printable(one.Failure()))
		}
	}
	return rundir.CheckFindings{Made: len(c.Checks) > 0, Failed: strings.Join(failed, "; ")}
}

// problems returns the problems of a run's campaign that do not make the run invalid.
func problems(c *rundir.Campaign) []string {
	if c == nil {
		return nil
	}
	return c.Problems
}
