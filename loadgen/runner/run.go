// Package runner makes one run and writes its folder: it asks the server what it is, plans the load, starts the engine if that
// is part of the run, goes through the phases while exporters and engines are followed, and ends with the manifest and the summary.
// The load is requests that it sends (Run) or a command of somebody else (Record).
package runner

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync/atomic"
	"time"

	"github.com/umascope/umascope/loadgen/chat"
	"github.com/umascope/umascope/loadgen/drive"
	"github.com/umascope/umascope/loadgen/folder"
	"github.com/umascope/umascope/loadgen/live"
	"github.com/umascope/umascope/loadgen/prompt"
	"github.com/umascope/umascope/loadgen/rank"
	"github.com/umascope/umascope/loadgen/scene"
	"github.com/umascope/umascope/loadgen/schedule"
	"github.com/umascope/umascope/loadgen/server"
	"github.com/umascope/umascope/loadgen/summary"
	"github.com/umascope/umascope/loadgen/telemetry"
	"github.com/umascope/umascope/loadgen/witness"
	"github.com/umascope/umascope/loadgen/workload"
)

// run is one run from its flags to its folder.
type run struct {
	keep Keep
	load Load
	env  Environment

	id string
	// whole is the name of the run that all ranks share; the run's own where there is one process.
	whole    string
	folder   folder.Folder
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
	// made is nil until there is a summary of the run.
	made *summary.Run
	// kvStorage is what the disk tier of the KV cache lies on, where it had to be looked at before the
	// engine was stopped.
	kvStorage []folder.Storage
}

// Run measures a server and writes the run's folder. The first error of the run itself comes before those of writing what it
// came to. The result names the run even where there is an error.
func Run(ctx context.Context, keep Keep, load Load, env Environment) (Result, error) {
	return newRun(keep, load, env).make(ctx)
}

func newRun(keep Keep, load Load, env Environment) *run {
	return &run{keep: keep, load: load, env: env, answers: &answers{}, openLines: folder.NewLines, timeOfDay: time.Now}
}

// make sets the run up and executes it.
func (r *run) make(ctx context.Context) (Result, error) {
	if err := r.setUp(ctx); err != nil {
		r.undo()
		return Result{Run: r.id}, err
	}
	defer r.close()
	err := r.execute(ctx)
	return Result{Run: r.id, Made: r.made, Unserved: r.unserved()}, err
}

// setUp does all that can fail on bad input or environment, before any request is sent. What has to
// be asked of an engine that is started for the run comes later.
func (r *run) setUp(ctx context.Context) error {
	if err := r.open(); err != nil {
		return err
	}
	if r.env.Engine != nil {
		return r.lookAround(ctx)
	}
	return r.inquire(ctx)
}

// open makes what the run is kept in.
func (r *run) open() error {
	r.whole = r.load.wholeID(r.keep)
	r.id = r.load.Place.Run(r.whole)
	var err error
	r.folder, err = MakeFolder(r.keep.Out, r.id)
	return err
}

// inquire finds out what is to be measured, and plans the load.
func (r *run) inquire(ctx context.Context) error {
	s := r.load
	var err error
	if r.server, err = server.Inquire(ctx, s.Target, r.env.Log); err != nil {
		return unusable(ctx, err)
	}
	if err = r.look(ctx); err != nil {
		return unusable(ctx, err)
	}
	if r.client, err = r.newClient(); err != nil {
		return input(err)
	}
	if r.identity, err = server.Recognize(ctx, s.Target, &r.server, s.wanted(), r.env.Log); err != nil {
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
	if at := s.StartAt; !at.IsZero() { // it may be over by now
		if err := rank.CheckStart(at, time.Now()); err != nil {
			return input(fmt.Errorf("--start-at: %w", err))
		}
	}
	return nil
}

// look finds what is kept of the engine and, unless that is known, of the machines.
func (r *run) look(ctx context.Context) error {
	r.pageOpen.Store(r.server.Page != "" && (r.env.Engine == nil || r.server.Page == r.load.Target.PlannedPage()))
	if r.scene != nil {
		return r.scene.LookAtEngine(ctx)
	}
	var err error
	if r.scene, err = scene.Look(ctx, r.keep.Scene, r.env.Exporter, r.env.Log); err != nil || r.server.Page == "" {
		return err
	}
	return r.followServer(r.server.Page)
}

// followServer has the server's own page read at the borders of phases: evidence of a prefix cache rests on its counters.
func (r *run) followServer(page string) error {
	client, err := r.load.Target.PageClient()
	if err != nil {
		return err
	}
	r.scene.FollowServer(telemetry.Source{URL: page, Client: client, Closed: func() bool { return !r.pageOpen.Load() }})
	return nil
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
	if r.load.PromptIDs {
		r.scale, err = r.findIDs(ctx)
	} else {
		r.scale = r.calibrate(ctx)
	}
	if ctx.Err() != nil {
		return ErrInterrupted
	}
	if err != nil {
		return input(err)
	}
	if err := r.load.Recount(r.scale); err != nil {
		return input(err)
	}
	return nil
}

// calibrate measures how many tokens texts have for the server. What cannot be had is assumed, and the
// scale says so.
func (r *run) calibrate(ctx context.Context) prompt.Scale {
	scale, err := r.calibration().Scale(ctx)
	if err != nil {
		r.env.Log.Info("the server does not say how many tokens texts have", "why", printable(err.Error()))
		return prompt.Assumption()
	}
	r.env.Log.Debug("prompt lengths", "scale", scale.String())
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
		Target: r.load.Target, Served: r.server, Client: r.client, Stream: !r.load.NoStream, Sample: r.load.Sample(),
	}
}

// plan draws the workload and writes it down.
func (r *run) plan(ctx context.Context) error {
	var err error
	r.work, err = r.load.Write(workload.Server{
		Model: r.server.Model.ID, Engine: r.server.Engine, Run: r.id, MaxTokens: r.server.Model.MaxTokens, Fields: r.server.Fields,
		Tiers: r.seeRoom(ctx), Scale: r.scale,
	})
	if err != nil {
		return input(err)
	}
	for _, line := range r.work.Script.Forecast {
		r.env.Log.Info("what must happen", "by_size", line)
	}
	for _, note := range r.work.Script.Notes {
		r.env.Log.Warn(note)
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
		return ErrInterrupted
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
	if r.load.Arrival == schedule.Closed { // elsewhere it is a cap, which need not be reached
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
	s := r.load
	connections := s.Place.Share(s.MostInFlight())
	if connections == 0 {
		connections = mostIdle
	}
	return chat.Options{
		BaseURL: s.Target.URL, Header: s.Target.RequestHeader(), APIKey: r.server.Key, CAFile: s.Target.CAFile,
		Connections: connections, RequestTimeout: s.RequestTimeout,
		FirstTokenTimeout: s.FirstTokenTimeout, ChunkTimeout: s.ChunkTimeout,
		ShortestWait: max(shortest(usualWait, r.keep.Limits), 1),
	}
}
