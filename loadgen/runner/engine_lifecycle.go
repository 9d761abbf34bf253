package runner

import (
	"context"
	"errors"
	"io"
	"strings"
	"time"

	"github.com/umascope/umascope/exporter/metric"
	"github.com/umascope/umascope/loadgen/folder"
	"github.com/umascope/umascope/loadgen/scene"
)

// EngineLifecycle starts the engine before a run and stops it after, so that what the engine takes while it loads is in the
// run's own telemetry.
type EngineLifecycle struct {
	// Before gets the machine and the engine ready; enter says which phase begins. What it returns is
	// done, with the cause, when the engine is lost.
	Before func(ctx context.Context, enter func(phase string)) (engine context.Context, err error)
	// After stops what Before has started, however far that came; at once when the context is done.
	After func(cut context.Context)
	// Facts are what the manifest says of it, at that moment.
	Facts func() *folder.Campaign
	// Engine says whether there is one that Before starts or has kept up.
	Engine bool
	// Logs are what the processes of the engine that is up write.
	Logs func() []ProcessLog
}

// ProcessLog is what a process of the engine writes, from the offset on, in bytes, at which the start of this engine begins.
type ProcessLog struct {
	Process, Path string
	From          int64
}

// checksOf is what the checks of a campaign came to.
func checksOf(c *folder.Campaign) folder.CheckFindings {
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

// problemsOf is what went wrong around a run without spoiling it.
func problemsOf(c *folder.Campaign) []string {
	if c == nil {
		return nil
	}
	return c.Problems
}

// phases are those before the engine is ready.
func (e *EngineLifecycle) phases() []string {
	if e == nil {
		return nil
	}
	return []string{metric.PhaseCooldown, metric.PhaseStart, metric.PhaseLoad}
}

// rests is the phase in which a machine rests before a recorded command.
func (e *EngineLifecycle) rests() string {
	if e.Engine {
		return folder.PhaseReady
	}
	return metric.PhaseBefore
}

// lookAround finds what is kept of the machines while the engine is not there.
func (r *run) lookAround(ctx context.Context) error {
	var err error
	if r.scene, err = scene.LookAtMachines(ctx, r.keep.Scene, r.env.Exporter, r.env.Log); err != nil {
		return unusable(ctx, err)
	}
	if err = r.followServer(r.load.Target.PlannedPage()); err != nil {
		return input(err)
	}
	r.manifest = r.newManifest()
	r.manifest.Campaign = r.env.Engine.Facts()
	r.scene.Into(r.folder, r.manifest)
	return nil
}

// loadAround starts the engine, drives the phases, and stops it.
func (r *run) loadAround(stop, cut context.Context, halt context.CancelCauseFunc) error {
	err := r.begin(stop)
	if err != nil {
		return errors.Join(err, r.end())
	}
	engine, err := r.raise(stop, cut)
	if err == nil {
		err = r.driveAround(stop, cut, engine, halt)
	}
	r.manifest.Campaign = r.env.Engine.Facts()
	return errors.Join(err, r.leave(), r.end())
}

// raise gets the engine ready. It is stopped if that fails.
func (r *run) raise(stop, cut context.Context) (engine context.Context, err error) {
	var failed error
	engine, err = r.env.Engine.Before(stop, func(phase string) { failed = errors.Join(failed, r.pass(phase)) })
	if err = errors.Join(err, failed); err == nil {
		return engine, nil
	}
	r.lower(cut)
	if context.Cause(stop) != nil {
		err = ErrInterrupted
	}
	return nil, err
}

// lower stops the engine, and watches the machine a moment longer.
func (r *run) lower(cut context.Context) {
	r.scene.EngineGoes()
	r.env.Engine.After(cut)
	r.scene.Settle(cut)
}

// driveAround is what happens while the engine is up. Whether it was lost is seen before it is stopped,
// after which it is gone in any case.
func (r *run) driveAround(stop, cut, engine context.Context, halt context.CancelCauseFunc) error {
	defer r.lower(cut)
	unbind := context.AfterFunc(engine, func() { halt(context.Cause(engine)) })
	err := r.serveAround(stop, cut, halt)
	if unbind(); engine.Err() != nil {
		err = errors.Join(context.Cause(engine), err)
	}
	return err
}

func (r *run) serveAround(stop, cut context.Context, halt context.CancelCauseFunc) error {
	err := r.pass(folder.PhaseReady)
	if err == nil {
		err = r.inquire(stop)
	}
	if err == nil {
		r.manifest.Campaign = r.env.Engine.Facts()
		r.show()
		err = errors.Join(r.folder.WriteJSON(folder.ManifestFile, r.manifest), r.scene.Capture(stop, scene.Before))
	}
	if err == nil {
		err = r.attach(stop, halt)
	}
	if err != nil {
		return errors.Join(err, r.pass(folder.PhaseStop))
	}
	err = errors.Join(r.drivePhases(stop, cut), r.pass(folder.PhaseStop))
	r.keepEngineLog(cut)
	r.identity.Again(cut)
	r.seeKVStorage(cut)
	return errors.Join(err, r.scene.Capture(cut, scene.After))
}

// seeKVStorage looks for what the disk tier of the KV cache lies on: in the processes that hold its
// file, as long as they are there.
func (r *run) seeKVStorage(ctx context.Context) {
	if len(r.scene.Sources) == 0 {
		return
	}
	log, err := r.scene.Glance(ctx)
	if err != nil {
		r.env.Log.Info("what the disk tier of the KV cache lies on could not be looked up", "why", printable(err.Error()))
		return
	}
	r.kvStorage = kvStorage(r.manifest, log)
}

// finishUnserved writes what there is of a run whose engine never took a load: what the machine did
// meanwhile, and why it ended.
func (r *run) finishUnserved(loadErr error) error {
	ended := time.Now().UTC()
	r.manifest.EndedAt, r.manifest.State = &ended, stateOf(loadErr)
	log, err := r.scene.Log()
	addMachines(r.manifest, log)
	j := r.expected()
	j.Unmeasured = append(r.env.Engine.phases(), folder.PhaseReady, folder.PhaseStop)
	j.Stopped, j.Checks, j.Complete = "nothing was measured: "+printable(loadErr.Error()), checksOf(r.manifest.Campaign), true
	j.Warnings = append(r.scene.Warnings(), problemsOf(r.manifest.Campaign)...)
	r.manifest.Judging = j
	err = errors.Join(err, r.folder.WriteJSON(folder.ManifestFile, r.manifest), r.folder.Write(folder.RequestsFile, func(io.Writer) error { return nil }))
	return errors.Join(err, r.summarize())
}
