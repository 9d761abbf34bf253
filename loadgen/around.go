package loadgen

import (
	"context"
	"errors"
	"io"
	"strings"
	"time"

	"github.com/umascope/umascope/loadgen/campaign"
	"github.com/umascope/umascope/loadgen/folder"
	"github.com/umascope/umascope/loadgen/scene"
	"github.com/umascope/umascope/loadgen/summary"
)

// Phases of a run whose engine is started for it, before the engine is ready.
const (
	phaseCooldown = "cooldown" // the machine comes to rest
	phaseStart    = "start"    // the moment before the engine is started; the ledger at start is of it
	phaseLoad     = "load"     // processes are started; the engine reads its weights and sizes its KV cache
)

// around is what stands around a run whose engine is started for it, so that what the engine takes
// while it loads is in the run's own telemetry.
type around struct {
	// before gets the machine and the engine ready; enter says which phase begins. What it returns is
	// done, with the cause, when the engine is lost.
	before func(ctx context.Context, enter func(phase string)) (engine context.Context, err error)
	// after stops what before has started, however far that came; at once when the context is done.
	after func(cut context.Context)
	// facts are what the manifest says of it, at that moment.
	facts func() *folder.Campaign
	// engine says whether there is one that before starts or has kept up.
	engine bool
	// logs are what the processes of the engine that is up write.
	logs func() []campaign.Log
}

// checksOf is what the checks of a campaign came to.
func checksOf(c *folder.Campaign) folder.CheckFindings {
	if c == nil {
		return folder.CheckFindings{}
	}
	var failed []string
	for _, one := range c.Checks {
		if !one.Passed {
			failed = append(failed, printable(campaign.CheckText(one)))
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
func (a *around) phases() []string {
	if a == nil {
		return nil
	}
	return []string{phaseCooldown, phaseStart, phaseLoad}
}

// rests is the phase in which a machine rests before a recorded command.
func (a *around) rests() string {
	if a.engine {
		return folder.PhaseReady
	}
	return phaseBefore
}

// lookAround finds what is kept of the machines while the engine is not there.
func (r *run) lookAround(ctx context.Context) error {
	var err error
	if r.scene, err = scene.LookAtMachines(ctx, r.settings.scene, r.program.Exporter, r.log); err != nil {
		return unusable(ctx, err)
	}
	if err = r.followServer(r.settings.target.PlannedPage()); err != nil {
		return usage(err)
	}
	r.manifest = r.newManifest()
	r.manifest.Campaign = r.around.facts()
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
	r.manifest.Campaign = r.around.facts()
	return errors.Join(err, r.leave(), r.end())
}

// raise gets the engine ready. It is stopped if that fails.
func (r *run) raise(stop, cut context.Context) (engine context.Context, err error) {
	var failed error
	engine, err = r.around.before(stop, func(phase string) { failed = errors.Join(failed, r.pass(phase)) })
	if err = errors.Join(err, failed); err == nil {
		return engine, nil
	}
	r.lower(cut)
	if context.Cause(stop) != nil {
		err = errInterrupted
	}
	return nil, err
}

// lower stops the engine, and watches the machine a moment longer.
func (r *run) lower(cut context.Context) {
	r.scene.EngineGoes()
	r.around.after(cut)
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
		r.manifest.Campaign = r.around.facts()
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
		r.log.Info("what the disk tier of the KV cache lies on could not be looked up", "why", printable(err.Error()))
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
	j.Unmeasured = append(r.around.phases(), folder.PhaseReady, folder.PhaseStop)
	j.Stopped, j.Checks, j.Complete = "nothing was measured: "+printable(loadErr.Error()), checksOf(r.manifest.Campaign), true
	j.Warnings = append(r.scene.Warnings(), problemsOf(r.manifest.Campaign)...)
	r.manifest.Judging = j
	err = errors.Join(err, r.folder.WriteJSON(folder.ManifestFile, r.manifest), r.folder.Write(folder.RequestsFile, func(io.Writer) error { return nil }))
	made, summaryErr := summary.Write(string(r.folder))
	if summaryErr != nil {
		return errors.Join(err, summaryErr)
	}
	r.summary = &made.Summary
	return errors.Join(err, showRun(made))
}
