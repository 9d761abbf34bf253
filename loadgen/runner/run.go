// Package runner makes one run and writes its folder. The load is either requests to a server (Run) or a command of
// another program (Record). A Sweep is one run for each of several loads; OpenRanks makes one run of those of the
// ranks that shared a load.
//
// A measurement has these steps, each of which takes the result of the one before: subject is a server that answers,
// plan is the load for it, sender sends and records the load, and ended writes the manifest and the summary. A
// recording has the command and its log instead. Both are a run, with a folder, telemetry and a journal of phases, and
// both can start their engine before the load and stop it afterwards.
//
// Around the load a Capture records exporters, the engine's pages and container, and commands; a LivePage shows the run
// to Prometheus while it lasts, the Console to people.
package runner

import (
	"context"
	"errors"
	"os"
	"time"

	"github.com/prometheus/procfs"

	"github.com/umascope/umascope/exporter/engine/supported"
	"github.com/umascope/umascope/loadgen/rundir"
	"github.com/umascope/umascope/loadgen/summary"
	"github.com/umascope/umascope/loadgen/telemetry"
)

// run holds what every kind of run has: a folder with a manifest, and the telemetry of the load.
type run struct {
	keep     Keep
	env      Environment
	id       string
	folder   rundir.Folder
	manifest *rundir.Manifest
	capture  *Capture
	journal  *journal
	own      *ownUse            // of umascope when the run began
	unwatch  func(state string) // ends watch; does nothing before the run has begun
}

// newRun names a run. It has no folder yet.
func newRun(id string, keep Keep, env Environment) *run {
	keep.Capture.dial = env.Dial
	return &run{keep: keep, env: env, id: id, journal: &journal{}, unwatch: func(string) {}}
}

// describe begins the manifest with the entries that are the same for all loads. From here on, everything that is kept
// goes into the manifest and its folder.
func (r *run) describe(scenario string) *rundir.Manifest {
	r.manifest = &rundir.Manifest{
		Schema: rundir.ManifestSchema, Run: r.id, Scenario: scenario, Labels: r.keep.Labels, State: rundir.StateRunning,
		Program: r.keep.Program, Flags: r.keep.Flags, Client: ThisMachine(),
	}
	r.capture.recordIn(r.folder, r.manifest)
	return r.manifest
}

// show replaces the facts on the live page.
func (r *run) show(facts liveFacts) {
	shown := newLiveRun(facts)
	r.env.Page.show(shown)
	r.journal.show(shown)
	r.journal.meter.facts.Store(&facts)
}

// begin starts the clock of the run, and the sampling of its sources.
func (r *run) begin(ctx context.Context) error {
	start := time.Now()
	r.manifest.StartedAt = start.UTC()
	r.own = readOwn(procfs.DefaultMountPoint, start)
	r.journal.open(r.capture, func() int64 { return int64(time.Since(start)) })
	if err := r.save(); err != nil {
		return err
	}
	err := r.capture.startSampling(ctx, r.journal.clock)
	r.unwatch = r.watch()
	return err
}

// save writes the manifest in its current state.
func (r *run) save() error { return r.folder.WriteJSON(rundir.ManifestFile, r.manifest) }

// end adds to the manifest when and how the run ended and which machines its telemetry shows, and returns the
// telemetry. It is nil for a run without telemetry.
func (r *run) end(state string) (*telemetry.Log, error) {
	r.unwatch(state)
	ended := time.Now().UTC()
	r.manifest.Client.Programs = readOwn(procfs.DefaultMountPoint, time.Now()).since(r.own)
	r.manifest.EndedAt, r.manifest.State = &ended, state
	log, err := r.capture.readTelemetry()
	addMachines(r.manifest, log)
	return log, err
}

// complete writes the manifest with its judging entries, computes the summary from the files of the folder and writes
// it. The result is nil if there is no summary. The error joins the earlier one.
func (r *run) complete(j *rundir.Judging, earlier error) (*summary.Run, error) {
	r.manifest.Judging = j
	err := errors.Join(earlier, r.save())
	made, summaryErr := summary.Write(string(r.folder), supported.Engines())
	if summaryErr != nil {
		return nil, errors.Join(err, summaryErr)
	}
	return &made, err
}

// remove removes the folder of a run that never began. The folder is new and holds only a plan.
func (r *run) remove() {
	r.unwatch(rundir.StateFailed)
	_ = os.RemoveAll(string(r.folder))
}

// stateOf returns the state of a run that ended with err.
func stateOf(err error) string {
	switch {
	case err == nil:
		return rundir.StateComplete
	case errors.Is(err, ErrInterrupted):
		return rundir.StateInterrupted
	default:
		return rundir.StateFailed
	}
}
