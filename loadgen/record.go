package loadgen

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

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
	program  Program
	settings *recordSettings
	flags    map[string]string
	limits   summary.Limits
	log      *slog.Logger

	id     string
	folder folder.Folder
	// page is where live metrics are served: the recording's own unless it got one.
	page    *live.Page
	ownPage bool
	// around is what starts an engine for this run and stops it; nil if there is none to start.
	around   *around
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
}

// record runs the verb record.
func (p Program) record(ctx context.Context, line *commandLine) error {
	r, err := p.newRecording(line)
	if err != nil {
		return usage(err)
	}
	if err := r.setUp(ctx); err != nil {
		r.undo()
		return err
	}
	defer r.close()
	return r.execute(ctx)
}

// close frees what the recording holds.
func (r *recording) close() {
	if r.ownPage {
		r.page.Close()
	}
}

// newRecording checks the flags against each other.
func (p Program) newRecording(line *commandLine) (*recording, error) {
	host, err := os.Hostname()
	if err != nil {
		return nil, err
	}
	s := line.record.settings
	if err := s.resolve(host); err != nil {
		return nil, err
	}
	limits, err := summary.ParseLimits(s.validity)
	if err != nil {
		return nil, fmt.Errorf("--validity: %w", err)
	}
	return &recording{
		program: p, settings: s, flags: line.flagValues(line.record.verb), limits: limits, log: newLogger(p.Stderr, s.logLevel),
		reading: s.tool.Read(),
	}, nil
}

// setUp does all that can fail on bad input or environment, before anything is measured.
func (r *recording) setUp(ctx context.Context) error {
	s := r.settings
	if err := command.Find(s.command[0]); err != nil {
		return usage(err)
	}
	if r.id = s.runID; r.id == "" {
		r.id = folder.NewID(time.Now(), s.label("arm"))
	}
	var err error
	if r.folder, err = makeFolder(s.out, r.id); err != nil {
		return err
	}
	r.openLog = r.folder.NewLog
	if r.page == nil {
		if r.page, err = live.OpenPage(s.web, r.log); err != nil {
			return usage(err)
		}
		r.ownPage = true
	}
	look := scene.Look
	if r.around != nil {
		look = scene.LookAtMachines
	}
	if r.scene, err = look(ctx, s.scene, r.program.Exporter, r.log); err != nil {
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
	r.close()
}

func (r *recording) newManifest() *folder.Manifest {
	s := r.settings
	return &folder.Manifest{
		Schema: folder.ManifestSchema, Run: r.id, Scenario: scenarioRecord, Labels: s.labelMap(), State: folder.StateRunning,
		Program: buildVersion(), Flags: r.flags, Client: thisMachine(),
		Command: &folder.Command{
			Program: filepath.Base(s.command[0]), Options: command.OptionNames(s.command[1:]), Arguments: len(s.command) - 1, Extractor: s.tool.Name,
		},
	}
}

// execute runs the command and writes the results. What the command returned wins over what the
// figures say.
func (r *recording) execute(ctx context.Context) error {
	r.live = live.New(r.settings.facts(r.id, scenarioRecord, append(r.around.phases(), recordPhases()...)))
	r.page.Show(r.live)
	r.log.Info("record", "id", r.id, "folder", string(r.folder), "command", r.manifest.Command.Program, "live", r.page.URL())
	err := r.follow(ctx)
	if errors.Is(err, errNotStarted) {
		r.undo()
		return usage(err)
	}
	result, reportErr := r.finish(err)
	r.live.Leave()
	if err = errors.Join(err, reportErr); r.exit.Code != 0 {
		return outcome{r.exit.Code, errors.Join(fmt.Errorf("%s %s", r.manifest.Command.Program, r.exit), err)}
	}
	if err != nil {
		return err
	}
	linger(ctx, r.program.Cut, r.settings.linger, r.log)
	return result
}

// Phases around the command; those of it are extract's.
const (
	phaseBefore = "before"
	phaseAfter  = "after"
)

func recordPhases() []string {
	return slices.Concat([]string{phaseBefore}, commandPhases(), []string{phaseAfter})
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
	r.log.Debug("phase", "phase", phase, "line", l.From(stream))
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
