package runner

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"time"

	"github.com/umascope/umascope/exporter/engine/spec"
	"github.com/umascope/umascope/exporter/metric"

	"github.com/umascope/umascope/loadgen/rundir"
	"github.com/umascope/umascope/loadgen/subprocess"
)

// scenarioRecord is the scenario of a run whose load is a command.
const scenarioRecord = "record"

// recording is a run whose load is a command.
type recording struct {
	*run
	load Command
	log  *commandLog
	// openLog opens the file that receives the command's output. Tests replace it with a full disk.
	openLog func(f rundir.Folder, name string, most int64) (*rundir.Log, error)
}

// Record runs a command as the load and writes the run's folder. Its error is a CommandError if the command failed,
// even if other errors occurred. The result names the run even if there is an error.
func Record(ctx context.Context, keep Keep, load Command, env Environment) (Result, error) {
	return newRecording(keep, load, env).make(ctx)
}

func newRecording(keep Keep, load Command, env Environment) *recording {
	id := keep.RunID
	if id == "" {
		id = rundir.NewID(time.Now(), keep.Labels["arm"])
	}
	r := &recording{run: newRun(id, keep, env), load: load, openLog: rundir.Folder.NewLog}
	r.log = &commandLog{journal: r.journal, messages: env.Log, reading: load.Tool.Read()}
	return r
}

// make makes the run. It removes the folder of a run that fails before its command starts.
func (r *recording) make(ctx context.Context) (Result, error) {
	result := Result{Run: r.id}
	if err := subprocess.Find(r.load.Argv[0]); err != nil {
		return result, input(err)
	}
	var err error
	if r.folder, err = MakeFolder(r.keep.Out, r.id); err != nil {
		return result, err
	}
	if err := r.look(ctx); err != nil {
		r.remove()
		return result, Unusable(ctx, err)
	}
	r.beginManifest()
	if r.env.Engine == nil {
		r.identify(ctx, r.capture, nil, r.load.Argv)
	}
	r.show(r.keep.facts(r.id, scenarioRecord, append(r.phasesToReady(), recordPhases()...)))
	r.env.Log.Info("record", "id", r.id, "folder", string(r.folder), "command", r.manifest.Command.Program, "live", r.env.Page.URL())

	exit, err := r.follow(ctx)
	if errors.Is(err, errNotStarted) {
		r.remove()
		return result, input(err)
	}
	made, writeErr := recorded{r, exit, err}.finish()
	r.journal.live.leave()
	result.Made = made
	if exit.Code != 0 {
		err = errors.Join(CommandError{r.manifest.Command.Program, exit}, err)
	}
	return result, errors.Join(err, writeErr)
}

// look finds the sources to record. An engine that is started for the run is not running yet.
func (r *recording) look(ctx context.Context) (err error) {
	look := newCapture
	if r.env.Engine != nil {
		look = NewMachineCapture
	}
	r.capture, err = look(ctx, r.keep.Capture, r.env.Exporter, r.env.Log)
	return err
}

// beginManifest begins the manifest. Of the command's arguments it records only the names of options.
func (r *recording) beginManifest() {
	r.describe(scenarioRecord)
	argv := r.load.Argv
	r.manifest.Command = &rundir.Command{
		Program: filepath.Base(argv[0]), Options: subprocess.OptionNames(argv[1:]), Arguments: len(argv) - 1, Extractor: r.load.Tool.Name,
	}
}

// follow goes through the phases and returns the exit of the command; the zero value if it never ran.
func (r *recording) follow(ctx context.Context) (subprocess.Exit, error) {
	cut, release := untilCut(ctx, r.env.Cut, func() {})
	defer release()
	var exit subprocess.Exit
	if r.env.Engine != nil {
		enter := func(phase string) error { r.log.begin(phase); return nil }
		err := r.runEngine(ctx, cut, enter, func(engine context.Context) (err error) {
			exit, err = r.runWithEngine(ctx, cut, engine)
			return err
		})
		r.log.note(r.journal.leave())
		return exit, errors.Join(err, r.capture.stopSampling(), r.log.failed)
	}
	err := r.capture.runCommands(ctx, beforeLoad)
	if err == nil {
		err = r.begin(ctx)
	}
	if err == nil {
		exit, err = r.watch(ctx, metric.PhaseBefore)
		r.log.note(r.journal.leave())
	}
	err = errors.Join(err, r.capture.stopSampling(), r.log.failed)
	r.capture.keepLog(cut)
	return exit, errors.Join(err, r.capture.runCommands(cut, afterLoad))
}

// runWithEngine runs the command while the engine that was started for it is up, until the command ends or the engine is
// lost.
func (r *recording) runWithEngine(ctx, cut, engine context.Context) (exit subprocess.Exit, err error) {
	err = r.capture.findEngine(ctx)
	r.describeEngine()
	r.identify(ctx, r.capture, nil, r.load.Argv)
	if err == nil {
		err = errors.Join(r.save(), r.capture.runCommands(ctx, beforeLoad))
	}
	if err != nil {
		return exit, err
	}
	both, halt := context.WithCancelCause(ctx)
	defer halt(nil)
	defer context.AfterFunc(engine, func() { halt(context.Cause(engine)) })()
	rest := metric.PhaseBefore
	if r.env.Engine.Starts {
		rest = rundir.PhaseReady
	}
	exit, err = r.watch(both, rest)
	if engine.Err() != nil {
		err = context.Cause(engine)
	}
	r.capture.keepLog(cut)
	return exit, errors.Join(err, r.capture.runCommands(cut, afterLoad))
}

// watch runs the command with a recorded rest before and after it.
func (r *recording) watch(ctx context.Context, before string) (exit subprocess.Exit, err error) {
	r.log.begin(before)
	err = ErrInterrupted
	if r.rest(ctx, before, r.load.Before) {
		exit, err = r.runCommand(ctx)
	}
	r.log.begin(metric.PhaseAfter)
	if err == nil {
		r.rest(ctx, metric.PhaseAfter, r.load.After)
	}
	return exit, err
}

// rest waits for a rest that is recorded, and returns false if it was interrupted. It logs the wait, since half a
// minute without output looks like a hang.
func (r *recording) rest(ctx context.Context, phase string, how time.Duration) bool {
	if len(r.capture.Sources) == 0 || how == 0 {
		return ctx.Err() == nil
	}
	r.env.Log.Info("watching the machine", "phase", phase, "for", how)
	select {
	case <-time.After(how):
		return true
	case <-ctx.Done():
		return false
	}
}

// recordPhases returns the phases around the command and of the command.
func recordPhases() []string {
	return slices.Concat([]string{metric.PhaseBefore}, commandPhases(), []string{metric.PhaseAfter})
}

// commandPhases returns the phases of the command.
func commandPhases() []string {
	return []string{spec.PhaseLoad, spec.PhaseReady, spec.PhaseWarmup, spec.PhaseMeasure, spec.PhaseStop}
}

// uncounted returns the phases that enter no figure of the run, and whether the log shows which phase is measured. If
// it does not, the whole command is measured.
func uncounted(spans []rundir.Span) (names []string, measured bool) {
	measured = slices.ContainsFunc(spans, func(s rundir.Span) bool { return s.Name == spec.PhaseMeasure })
	for _, s := range spans {
		around := !slices.Contains(commandPhases(), s.Name)
		if around || measured && s.Name != spec.PhaseMeasure {
			names = append(names, s.Name)
		}
	}
	return names, measured
}
