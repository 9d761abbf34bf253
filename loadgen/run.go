package loadgen

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/umascope/umascope/loadgen/chat"
	"github.com/umascope/umascope/loadgen/drive"
	"github.com/umascope/umascope/loadgen/folder"
	"github.com/umascope/umascope/loadgen/live"
	"github.com/umascope/umascope/loadgen/prompt"
	"github.com/umascope/umascope/loadgen/scene"
	"github.com/umascope/umascope/loadgen/schedule"
	"github.com/umascope/umascope/loadgen/server"
	"github.com/umascope/umascope/loadgen/summary"
	"github.com/umascope/umascope/loadgen/telemetry"
	"github.com/umascope/umascope/loadgen/witness"
	"github.com/umascope/umascope/loadgen/workload"
)

// errInterrupted is why a run ended before its plan did.
var errInterrupted = errors.New("interrupted before its plan ended")

// run is one run from its flags to its folder.
type run struct {
	program  Program
	settings *settings
	flags    map[string]string
	limits   summary.Limits
	console  *live.Console
	log      *slog.Logger

	id string
	// whole is the name of the run that all ranks share; the run's own where there is one process.
	whole  string
	folder folder.Folder
	// page is where live metrics are served. That of a run alone is its own; the runs of a sweep share one.
	page    *live.Page
	ownPage bool
	// around is what starts the engine for this run and stops it; nil if it is there by itself.
	around   *around
	server   server.Served
	scale    prompt.Scale // how many tokens texts have there
	identity *server.Identity
	work     *workload.Workload
	workSHA  string
	schedule *os.File
	client   *chat.Client
	scene    *scene.Scene
	// pageOpen is set once the server has shown a page of metrics that may be read.
	pageOpen atomic.Bool

	live     *live.Run
	manifest *folder.Manifest
	answers  *answers
	clock    chat.Clock
	// startNS is when the measured load begins; 0 is at once.
	startNS int64
	loop    *drive.Loop
	span    folder.Span // the phase without load that lasts
	// openLines opens the files of records; a test gives it a full disk.
	openLines func(path string, failed func(error)) (*folder.Lines, error)
	// timeOfDay is time.Now; a test sets the clock back.
	timeOfDay func() time.Time
	records   *folder.Lines
	outputs   *folder.Lines
	health    drive.Health
	// broken is why the phases after one were not sent; empty if all were.
	broken string
	found  witness.Found
	// engine is what the engine said of its memory when it started; nil if nobody knows.
	engine *folder.EngineReport
	// summary is nil until the run is over.
	summary *summary.Summary
	// kvStorage is what the disk tier of the KV cache lies on, where it had to be looked at before the
	// engine was stopped.
	kvStorage []folder.Storage
}

// measure runs the verb run.
func (p Program) measure(ctx context.Context, line *commandLine) error {
	r, err := p.newRun(line)
	if err != nil {
		return err
	}
	if err := r.setUp(ctx); err != nil {
		r.undo()
		return err
	}
	defer r.close()
	return r.execute(ctx)
}

// newRun checks the flags against each other.
func (p Program) newRun(line *commandLine) (*run, error) {
	host, err := os.Hostname()
	if err != nil {
		return nil, err
	}
	s := line.settings
	if err := s.resolve(host); err != nil {
		return nil, usage(err)
	}
	limits, err := summary.ParseLimits(s.validity)
	if err != nil {
		return nil, usage(fmt.Errorf("--validity: %w", err))
	}
	console := live.NewConsole(p.Stderr)
	return &run{
		program: p, settings: s, limits: limits, flags: line.flagValues(line.run),
		console: console, log: newLogger(console, s.logLevel),
		answers: &answers{}, openLines: folder.NewLines, timeOfDay: time.Now,
	}, nil
}

// setUp does all that can fail on bad input or environment, before any request is sent. What has to
// be asked of an engine that is started for the run comes later.
func (r *run) setUp(ctx context.Context) error {
	if err := r.open(); err != nil {
		return err
	}
	if r.around != nil {
		return r.lookAround(ctx)
	}
	return r.inquire(ctx)
}

// open makes what the run is kept in and shown by.
func (r *run) open() error {
	s := r.settings
	r.whole = s.wholeID()
	r.id = s.Place.Run(r.whole)
	var err error
	if r.folder, err = makeFolder(s.out, r.id); err != nil {
		return err
	}
	if r.page == nil {
		if r.page, err = live.OpenPage(s.web, r.log); err != nil {
			return usage(err)
		}
		r.ownPage = true
	}
	return nil
}

// inquire finds out what is to be measured, and plans the load.
func (r *run) inquire(ctx context.Context) error {
	s := r.settings
	var err error
	if r.server, err = server.Inquire(ctx, s.target, r.log); err != nil {
		return unusable(ctx, err)
	}
	if err = r.look(ctx); err != nil {
		return unusable(ctx, err)
	}
	if r.client, err = r.newClient(); err != nil {
		return usage(err)
	}
	if r.identity, err = server.Recognize(ctx, s.target, &r.server, s.wanted(), r.log); err != nil {
		return unusable(ctx, err)
	}
	if err = r.measureText(ctx); err != nil {
		return err
	}
	if err = r.plan(ctx); err != nil {
		return err
	}
	if r.manifest == nil {
		r.manifest = r.newManifest()
		r.scene.Into(r.folder, r.manifest)
	}
	r.describeLoad()
	r.describePlace(ctx)
	if _, err := s.sharing.place(); err != nil { // its start may be over by now
		return usage(err)
	}
	return nil
}

// look finds what is kept of the engine and, unless that is known, of the machines.
func (r *run) look(ctx context.Context) error {
	r.pageOpen.Store(r.server.Page != "" && (r.around == nil || r.server.Page == r.settings.target.PlannedPage()))
	if r.scene != nil {
		return r.scene.LookAtEngine(ctx)
	}
	var err error
	if r.scene, err = scene.Look(ctx, r.settings.scene, r.program.Exporter, r.log); err != nil || r.server.Page == "" {
		return err
	}
	return r.followServer(r.server.Page)
}

// followServer has the server's own page read at the borders of phases: evidence of a prefix cache rests on its counters.
func (r *run) followServer(page string) error {
	client, err := r.settings.target.PageClient()
	if err != nil {
		return err
	}
	r.scene.FollowServer(telemetry.Source{URL: page, Client: client, Closed: func() bool { return !r.pageOpen.Load() }})
	return nil
}

// makeFolder makes the folder of the run.
func makeFolder(out, id string) (folder.Folder, error) {
	made, err := folder.New(out, id)
	switch {
	case errors.Is(err, fs.ErrExist):
		return "", usage(fmt.Errorf("--run-id: %s exists; a run's folder is never written twice", filepath.Join(out, id)))
	case err != nil:
		return "", badOut(err)
	}
	return made, nil
}

// badOut says that the folder cannot be written to.
func badOut(err error) error { return usage(fmt.Errorf("--out: %w; --out names another folder", err)) }

// unusable marks what others said as bad input, unless the user did not wait for the answer.
func unusable(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return errInterrupted
	}
	return usage(err)
}

// undo removes what setUp has left of a run that never began.
func (r *run) undo() {
	if r.folder != "" {
		// It was made a moment ago by this run and holds nothing but a plan.
		_ = os.RemoveAll(string(r.folder))
	}
	r.close()
}

// close frees what the run holds.
func (r *run) close() {
	if r.ownPage {
		r.page.Close()
	}
	if r.schedule != nil {
		_ = r.schedule.Close()
	}
	if r.client != nil {
		r.client.Close()
	}
	if r.identity != nil {
		r.identity.Close()
	}
}

// measureText finds out how many tokens texts have, and counts those of a file again by that.
func (r *run) measureText(ctx context.Context) error {
	var err error
	if r.settings.PromptIDs {
		r.scale, err = r.findIDs(ctx)
	} else {
		r.scale = r.calibrate(ctx)
	}
	if ctx.Err() != nil {
		return errInterrupted
	}
	if err != nil {
		return usage(err)
	}
	if err := r.settings.Recount(r.scale); err != nil {
		return usage(err)
	}
	return nil
}

// calibrate measures how many tokens texts have for the server. What cannot be had is assumed, and the
// scale says so.
func (r *run) calibrate(ctx context.Context) prompt.Scale {
	scale, err := r.calibration().Scale(ctx)
	if err != nil {
		r.log.Info("the server does not say how many tokens texts have", "why", printable(err.Error()))
		return prompt.Assumption()
	}
	r.log.Debug("prompt lengths", "scale", scale.String())
	return scale
}

// findIDs finds token ids that prompts can be made of, and makes sure that the server counts them.
func (r *run) findIDs(ctx context.Context) (prompt.Scale, error) {
	ids, err := r.calibration().IDs(ctx)
	if err != nil {
		return prompt.Scale{}, fmt.Errorf("--prompt-ids: %w", err)
	}
	return prompt.ScaleOfIDs(ids), nil
}

func (r *run) calibration() server.Calibration {
	return server.Calibration{
		Target: r.settings.target, Served: r.server, Client: r.client, Stream: !r.settings.NoStream, Sample: r.settings.Sample(),
	}
}

// plan draws the workload and writes it down.
func (r *run) plan(ctx context.Context) error {
	var err error
	r.work, err = r.settings.Write(workload.Server{
		Model: r.server.Model.ID, Engine: r.server.Engine, Run: r.id, MaxTokens: r.server.Model.MaxTokens, Fields: r.server.Fields,
		Tiers: r.seeRoom(ctx), Scale: r.scale,
	})
	if err != nil {
		return usage(err)
	}
	for _, line := range r.work.Script.Forecast {
		r.log.Info("what must happen", "by_size", line)
	}
	for _, note := range r.work.Script.Notes {
		r.log.Warn(note)
	}
	r.schedule, err = os.OpenFile(r.folder.Path(folder.ScheduleFile), os.O_CREATE|os.O_EXCL|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return badOut(err)
	}
	buffer := bufio.NewWriter(r.schedule)
	if r.workSHA, err = r.work.Plan(ctx, buffer); err == nil {
		err = buffer.Flush() // which says again what a write before it said
	}
	if ctx.Err() != nil {
		return errInterrupted
	}
	if full := (*fs.PathError)(nil); errors.As(err, &full) {
		return badOut(err)
	}
	return err
}

// mostIdle bounds the connections of an open loop without a cap.
const mostIdle = 4096

// newClient makes what sends the load, if there are descriptors enough for it.
func (r *run) newClient() (*chat.Client, error) {
	options := r.clientOptions()
	needed := 0
	if r.settings.Arrival == schedule.Closed { // elsewhere it is a cap, which need not be reached
		needed = options.Connections
	}
	limit, err := descriptorLimit()
	if err != nil {
		return nil, err
	}
	if options.MostOpen, err = mostConnections(limit, needed); err != nil {
		return nil, err
	}
	return chat.New(options)
}

func (r *run) clientOptions() chat.Options {
	s := r.settings
	connections := s.Place.Share(s.MostInFlight())
	if connections == 0 {
		connections = mostIdle
	}
	return chat.Options{
		BaseURL: s.target.URL, Header: s.target.RequestHeader(), APIKey: r.server.Key, CAFile: s.target.CAFile,
		Connections: connections, RequestTimeout: s.RequestTimeout,
		FirstTokenTimeout: s.FirstTokenTimeout, ChunkTimeout: s.ChunkTimeout,
		ShortestWait: max(shortest(usualWait, r.limits), 1),
	}
}
