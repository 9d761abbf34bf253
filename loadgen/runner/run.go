// Package runner makes one run and writes its folder. The load is requests to a server (Run) or a command of somebody else (Record).
//
// A measurement takes these steps, each of which has what the one before it made: the subject is a server that answers, the plan
// what is sent to it, the sender sends that and records it, and what has ended writes the manifest and the summary. A recording has
// the command instead, and a log of it. Both are a run, with its folder, its telemetry and its journal of phases, and both can have
// their engine started before the load and stopped after it.
package runner

import (
	"context"
	"errors"
	"os"
	"time"

	"github.com/umascope/umascope/loadgen/capture"
	"github.com/umascope/umascope/loadgen/live"
	"github.com/umascope/umascope/loadgen/rundir"
	"github.com/umascope/umascope/loadgen/summary"
	"github.com/umascope/umascope/loadgen/telemetry"
)

// run is what every run has, whatever its load is: a folder with a manifest, and what watches the load.
type run struct {
	keep     Keep
	env      Environment
	id       string
	folder   rundir.Folder
	manifest *rundir.Manifest
	scene    *capture.Scene
	journal  *journal
}

// newRun names a run. It has no folder yet.
func newRun(id string, keep Keep, env Environment) *run {
	return &run{keep: keep, env: env, id: id, journal: &journal{}}
}

// describe begins the manifest with what is the same for all loads. Everything that is kept goes into it and its folder from
// now on.
func (r *run) describe(scenario string) *rundir.Manifest {
	r.manifest = &rundir.Manifest{
		Schema: rundir.ManifestSchema, Run: r.id, Scenario: scenario, Labels: r.keep.Labels, State: rundir.StateRunning,
		Program: r.keep.Program, Flags: r.keep.Flags, Client: ThisMachine(),
	}
	r.scene.Into(r.folder, r.manifest)
	return r.manifest
}

// show replaces what the live page has.
func (r *run) show(facts live.Facts) {
	shown := live.New(facts)
	r.env.Page.Show(shown)
	r.journal.show(shown)
}

// begin starts the clock of the run, and to sample the sources on it.
func (r *run) begin(ctx context.Context) error {
	start := time.Now()
	r.manifest.StartedAt = start.UTC()
	r.journal.open(r.scene, func() int64 { return int64(time.Since(start)) })
	if err := r.save(); err != nil {
		return err
	}
	return r.scene.Follow(ctx, r.journal.clock)
}

// save writes the manifest as it stands.
func (r *run) save() error { return r.folder.WriteJSON(rundir.ManifestFile, r.manifest) }

// end enters when and how the run ended, and the machines of its telemetry, which it returns. Nil without telemetry.
func (r *run) end(state string) (*telemetry.Log, error) {
	ended := time.Now().UTC()
	r.manifest.EndedAt, r.manifest.State = &ended, state
	log, err := r.scene.Log()
	addMachines(r.manifest, log)
	return log, err
}

// summarize computes the summary from the files of the folder, and writes it. Nil with an error.
func (r *run) summarize() (*summary.Run, error) {
	made, err := summary.Write(string(r.folder))
	if err != nil {
		return nil, err
	}
	return &made, nil
}

// remove removes the folder of a run that never began. It was made a moment ago and holds nothing but a plan.
func (r *run) remove() { _ = os.RemoveAll(string(r.folder)) }

// stateOf is the state of a run that ended with the error.
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
