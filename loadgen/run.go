package loadgen

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"time"

	"github.com/umascope/umascope/loadgen/chat"
	"github.com/umascope/umascope/loadgen/report"
	"github.com/umascope/umascope/loadgen/schedule"
	"github.com/umascope/umascope/loadgen/telemetry"
)

// errInterrupted is why a run ended before its plan did.
var errInterrupted = errors.New("interrupted before its plan ended")

// run is one run from its flags to its folder.
type run struct {
	program  Program
	settings *settings
	flags    map[string]string
	limits   report.Limits
	console  *console
	log      *slog.Logger

	id       string
	folder   folder
	listener net.Listener
	server   served
	identity *identity
	work     *workload
	workSHA  string
	schedule *os.File
	client   *chat.Client
	sources  []telemetry.Source

	live      *live
	manifest  *manifest
	answers   *answers
	clock     chat.Clock
	loop      *loop
	sampler   *telemetry.Sampler
	snapshots *snapshots
	container *container
	// openLines opens the files of records; a test gives it a full disk.
	openLines func(path string, failed func(error)) (*lineFile, error)
	records   *lineFile
	outputs   *lineFile
	spans     []span
	health    report.ClientHealth
	found     evident
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
	limits, err := report.ParseLimits(s.validity)
	if err != nil {
		return nil, usage(fmt.Errorf("--validity: %w", err))
	}
	console := newConsole(p.Stderr)
	return &run{
		program: p, settings: s, limits: limits, flags: line.flagValues(),
		console: console, log: Program{Stderr: console}.logger(s.logLevel),
		answers: &answers{}, openLines: newLineFile,
	}, nil
}

// setUp does all that can fail on bad input or environment, before any request is sent.
func (r *run) setUp(ctx context.Context) error {
	s := r.settings
	r.id = s.runID
	if r.id == "" {
		r.id = newRunID(time.Now(), s.label("arm"))
	}
	var err error
	if r.folder, err = newFolder(s.out, r.id); err != nil {
		return err
	}
	if r.listener, err = listen(s.web, r.log); err != nil {
		return err
	}
	if r.server, err = inquire(ctx, s.target, r.log); err != nil {
		return err
	}
	if r.sources, err = r.findSources(ctx); err != nil {
		return err
	}
	r.client, err = chat.New(r.clientOptions())
	if err != nil {
		return usage(err)
	}
	if err = r.recognize(ctx); err != nil {
		return err
	}
	if err = r.measureText(ctx); err != nil {
		return err
	}
	r.server.tiers = r.seeRoom(ctx)
	if err = r.plan(ctx); err != nil {
		return err
	}
	r.manifest = r.newManifest()
	return r.findContainer(ctx)
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
	if r.listener != nil {
		_ = r.listener.Close()
	}
	if r.schedule != nil {
		_ = r.schedule.Close()
	}
	if r.client != nil {
		r.client.Close()
	}
	if r.identity != nil {
		r.identity.close()
	}
}

// measureText finds out how many tokens texts have, and counts those of a file again by that.
func (r *run) measureText(ctx context.Context) error {
	r.server.scale = r.calibrate(ctx)
	if ctx.Err() != nil {
		return errInterrupted
	}
	if r.settings.file == nil {
		return nil
	}
	if err := r.settings.readPrompts(r.server.scale); err != nil {
		return usage(err)
	}
	return nil
}

// plan draws the workload and writes it down.
func (r *run) plan(ctx context.Context) error {
	made, err := r.settings.scenario.write(r.settings, r.server)
	if err != nil {
		return usage(err)
	}
	if made.facts.Clipped > 0 {
		made.note("%d prompts or conversations were shortened to fit (--clip)", made.facts.Clipped)
	}
	if made.facts.File != nil || !r.server.scale.Exact() {
		made.note("the lengths asked of prompts are %s", r.inputLengths())
	}
	for _, line := range made.forecast {
		r.log.Info("what must happen", "by_size", line)
	}
	for _, note := range made.notes {
		r.log.Warn(note)
	}
	r.work = r.settings.workload(r.server, made)
	r.schedule, err = os.OpenFile(r.folder.path(fileSchedule), os.O_CREATE|os.O_EXCL|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return usage(fmt.Errorf("--out: %w", err))
	}
	buffer := bufio.NewWriter(r.schedule)
	r.workSHA, err = r.work.plan(ctx, buffer)
	return errors.Join(err, buffer.Flush())
}

// mostIdle bounds the connections of an open loop without a cap.
const mostIdle = 4096

func (r *run) clientOptions() chat.Options {
	s := r.settings
	connections := s.concurrency
	for _, stage := range s.stages {
		if s.arrival == schedule.Closed {
			connections = max(connections, int(stage.Level))
		}
	}
	if connections == 0 {
		connections = mostIdle
	}
	return chat.Options{
		BaseURL: s.target.url, Header: s.target.requestHeader(), APIKey: r.server.key, CAFile: s.target.caFile,
		Connections: connections, RequestTimeout: s.requestTimeout,
		FirstTokenTimeout: s.firstTokenTimeout, ChunkTimeout: s.chunkTimeout,
	}
}

// findSources returns everything that is followed while the run lasts.
func (r *run) findSources(ctx context.Context) ([]telemetry.Source, error) {
	sources, err := r.findTelemetry(ctx)
	if err != nil {
		return nil, err
	}
	for _, page := range r.settings.scrape {
		if named(sources, page.Name) {
			return nil, usage(fmt.Errorf("--scrape: %s is the name of an exporter", page.Name))
		}
		page.Foreign = true
		sources = append(sources, page)
	}
	return sources, nil
}

// findTelemetry returns the exporters to follow: those asked for, which must answer, or the one
// on this host if it does.
func (r *run) findTelemetry(ctx context.Context) ([]telemetry.Source, error) {
	for _, source := range r.settings.telemetry {
		if err := telemetry.Probe(ctx, source.URL); err != nil {
			return nil, usage(fmt.Errorf("--telemetry: %s: %w", source.Name, err))
		}
	}
	if len(r.settings.telemetry) > 0 {
		return r.settings.telemetry, nil
	}
	if telemetry.Probe(ctx, localExporter) != nil {
		r.log.Info("no telemetry: no exporter answers on this host and --telemetry names none", "tried", localExporter)
		return nil, nil
	}
	// Named after this machine, whatever the label host says: that may be another one.
	return []telemetry.Source{{Name: thisMachine().Hostname, URL: localExporter}}, nil
}

// localExporter is where an exporter on this host listens by default.
const localExporter = "http://127.0.0.1:10420/metrics"
