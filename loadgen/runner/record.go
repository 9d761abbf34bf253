package runner

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/umascope/umascope/exporter/metric"
	"github.com/umascope/umascope/loadgen/chat"
	"github.com/umascope/umascope/loadgen/command"
	"github.com/umascope/umascope/loadgen/extract"
	"github.com/umascope/umascope/loadgen/folder"
	"github.com/umascope/umascope/loadgen/live"
	"github.com/umascope/umascope/loadgen/scene"
	"github.com/umascope/umascope/loadgen/summary"
)

// scenarioRecord is what stands for the scenario of a run whose load was not ours.
const scenarioRecord = "record"

// recording is a run whose load is a command, from its flags to its folder.
type recording struct {
	keep Keep
	load Command
	env  Environment

	id       string
	folder   folder.Folder
	scene    *scene.Scene
	live     *live.Run
	manifest *folder.Manifest
	clock    chat.Clock
	// openLog opens what the command prints into; a test gives it a full disk.
	openLog func(name string, most int64) (*folder.Log, error)

	mutex   sync.Mutex // guards the rest: both streams of the command are read at once
	reading *extract.Reading
	span    folder.Span // the phase that lasts
	failed  error       // of a file that tells of phases

	exit command.Exit
	// made is nil until there is a summary.
	made *summary.Run
}

// Record runs a command as the load and writes the run's folder. Its error is a CommandError if the command failed, whatever else
// did.
func Record(ctx context.Context, keep Keep, load Command, env Environment) (Result, error) {
	return newRecording(keep, load, env).make(ctx)
}

func newRecording(keep Keep, load Command, env Environment) *recording {
	return &recording{keep: keep, load: load, env: env, reading: load.Tool.Read()}
}

// make sets the recording up and executes it.
func (r *recording) make(ctx context.Context) (Result, error) {
	if err := r.setUp(ctx); err != nil {
		r.undo()
		return Result{Run: r.id}, err
	}
	err := r.execute(ctx)
	return Result{Run: r.id, Made: r.made}, err
}

// setUp does all that can fail on bad input or environment, before anything is measured.
func (r *recording) setUp(ctx context.Context) error {
	s := r.load
	if err := command.Find(s.Argv[0]); err != nil {
		return input(err)
	}
	if r.id = r.keep.RunID; r.id == "" {
		r.id = folder.NewID(time.Now(), r.keep.Labels["arm"])
	}
	var err error
	if r.folder, err = MakeFolder(r.keep.Out, r.id); err != nil {
		return err
	}
	if r.openLog == nil {
		r.openLog = r.folder.NewLog
	}
	look := scene.Look
	if r.env.Engine != nil {
		look = scene.LookAtMachines
	}
	if r.scene, err = look(ctx, r.keep.Scene, r.env.Exporter, r.env.Log); err != nil {
		return unusable(ctx, err)
	}
	r.manifest = r.newManifest()
	r.scene.Into(r.folder, r.manifest)
	return nil
}

// undo removes what is left of a run that never began.
func (r *recording) undo() {
	if r.folder != "" {
		_ = os.RemoveAll(string(r.folder)) // made a moment ago, by this run
	}
}

func (r *recording) newManifest() *folder.Manifest {
	s := r.load
	return &folder.Manifest{
		Schema: folder.ManifestSchema, Run: r.id, Scenario: scenarioRecord, Labels: r.keep.Labels, State: folder.StateRunning,
		Program: r.keep.Program, Flags: r.keep.Flags, Client: ThisMachine(),
		Command: &folder.Command{
			Program: filepath.Base(s.Argv[0]), Options: command.OptionNames(s.Argv[1:]), Arguments: len(s.Argv) - 1, Extractor: s.Tool.Name,
		},
	}
}

// execute runs the command and writes what came of it.
func (r *recording) execute(ctx context.Context) error {
	r.live = live.New(r.keep.facts(r.id, scenarioRecord, append(r.env.Engine.phases(), recordPhases()...)))
	r.env.Page.Show(r.live)
	r.env.Log.Info("record", "id", r.id, "folder", string(r.folder), "command", r.manifest.Command.Program, "live", r.env.Page.URL())
	err := r.follow(ctx)
	if errors.Is(err, errNotStarted) {
		r.undo()
		return input(err)
	}
	err = errors.Join(err, r.finish(err))
	r.live.Leave()
	if r.exit.Code != 0 {
		return errors.Join(CommandError{r.manifest.Command.Program, r.exit}, err)
	}
	return err
}

// recordPhases are those around the command and of it.
func recordPhases() []string {
	return slices.Concat([]string{metric.PhaseBefore}, commandPhases(), []string{metric.PhaseAfter})
}

// commandPhases are those of the command.
func commandPhases() []string {
	return []string{extract.PhaseLoad, extract.PhaseReady, extract.PhaseWarmup, extract.PhaseMeasure, extract.PhaseStop}
}

// enter ends the phase that lasts and begins another.
func (r *recording) enter(phase string) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.begin(phase)
}

// begin is enter for those who hold the mutex. A phase that cannot be noted fails the run at its end:
// the command goes on.
func (r *recording) begin(phase string) {
	r.leave()
	r.span = folder.Span{Name: phase, StartNS: r.clock()}
	r.live.Enter(phase)
	r.scene.Enter(phase)
}

// leave ends the phase that lasts, for those who hold the mutex.
func (r *recording) leave() {
	if r.span.Name == "" {
		return
	}
	r.span.EndNS = r.clock()
	r.failed = errors.Join(r.failed, r.scene.Passed(r.span))
	r.span = folder.Span{}
}

// hear reads a line of the command, as soon as it has ended.
func (r *recording) hear(stream string, l extract.Line) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	phase, words := r.reading.Line(stream, l)
	if phase == "" {
		return
	}
	r.begin(phase)
	r.manifest.Command.Borders = append(r.manifest.Command.Borders, folder.Border{Phase: phase, From: l.From(stream), Text: words})
	r.env.Log.Debug("phase", "phase", phase, "line", l.From(stream))
}

// counted names the phases that enter no figure of the run, and says whether the log told which one is
// measured. If it did not, the whole command is.
func uncounted(spans []folder.Span) (names []string, told bool) {
	told = slices.ContainsFunc(spans, func(s folder.Span) bool { return s.Name == extract.PhaseMeasure })
	for _, s := range spans {
		around := !slices.Contains(commandPhases(), s.Name)
		if around || told && s.Name != extract.PhaseMeasure {
			names = append(names, s.Name)
		}
	}
	return names, told
}
