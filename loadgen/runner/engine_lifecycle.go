package runner

import (
	"context"
	"errors"
	"strings"

	"github.com/umascope/umascope/exporter/metric"
	"github.com/umascope/umascope/loadgen/folder"
)

// EngineLifecycle starts the engine before a run and stops it after, so that what the engine takes while it loads is in the
// run's own telemetry.
type EngineLifecycle struct {
	// Before gets the machine and the engine ready; enter is called when a phase begins. The context that it returns is
	// done, with the cause, when the engine is lost.
	Before func(ctx context.Context, enter func(phase string)) (engine context.Context, err error)
	// After stops what Before has started, however far that came; at once when the context is done.
	After func(cut context.Context)
	// Facts returns what the manifest records of it, as of now.
	Facts func() *folder.Campaign
	// Ran returns what identifies what runs, as far as it is known now; nil where a campaign runs nothing.
	Ran func() *folder.Provenance
	// Engine is whether there is an engine that Before starts or has kept up.
	Engine bool
	// Logs returns what the processes of the engine that is up write.
	Logs func() []ProcessLog
}

// ProcessLog is what a process of the engine writes, from the offset on, in bytes, at which the start of this engine begins.
type ProcessLog struct {
	Process, Path string
	From          int64
}

// phases are those before the engine is ready.
func (e *EngineLifecycle) phases() []string {
	if e == nil {
		return nil
	}
	return []string{metric.PhaseCooldown, metric.PhaseStart, metric.PhaseLoad}
}

// surround begins a run, starts its engine, has the load sent and stops the engine. enter notes a phase; load gets a context that is
// done, with the cause, when the engine is lost.
func (e *EngineLifecycle) surround(ctx, cut context.Context, r *run, enter func(phase string) error, load func(engine context.Context) error) error {
	e.describe(r.manifest)
	if err := r.begin(ctx); err != nil {
		return err
	}
	engine, err := e.raise(ctx, enter)
	if err == nil {
		err = load(engine)
	}
	r.scene.EngineGoes()
	e.After(cut)
	r.scene.Settle(cut) // the machine is watched a moment longer
	e.describe(r.manifest)
	return err
}

// raise gets the engine ready, and enters the phases of that.
func (e *EngineLifecycle) raise(ctx context.Context, enter func(phase string) error) (engine context.Context, err error) {
	var failed error
	engine, err = e.Before(ctx, func(phase string) { failed = errors.Join(failed, enter(phase)) })
	if err = errors.Join(err, failed); err != nil && ctx.Err() != nil {
		err = ErrInterrupted
	}
	return engine, err
}

// checkFindings returns what the checks of a campaign came to.
func checkFindings(c *folder.Campaign) folder.CheckFindings {
	if c == nil {
		return folder.CheckFindings{}
	}
	var failed []string
	for _, one := range c.Checks {
		if !one.Passed {
			failed = append(failed, printable(one.Failure()))
		}
	}
	return folder.CheckFindings{Made: len(c.Checks) > 0, Failed: strings.Join(failed, "; ")}
}

// problems returns what went wrong around a run without spoiling it.
func problems(c *folder.Campaign) []string {
	if c == nil {
		return nil
	}
	return c.Problems
}
