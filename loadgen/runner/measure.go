package runner

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/umascope/umascope/loadgen/rundir"
	"github.com/umascope/umascope/loadgen/server"
	"github.com/umascope/umascope/loadgen/telemetry"
	"github.com/umascope/umascope/loadgen/traffic"
)

// measurement is a run whose load is requests to a server.
type measurement struct {
	*run
	load Load
	// whole is the name of the run that all ranks share. For a single process it is the run's own name.
	whole string
	// openLines opens the files of records. Tests replace it with a full disk.
	openLines func(path string, failed func(error)) (*rundir.Lines, error)
	// timeOfDay is time.Now. Tests use it to set the clock back.
	timeOfDay func() time.Time
}

// Run measures a server and writes the run's folder. An error of the load takes precedence over errors of writing the
// results. The result names the run even if there is an error.
func Run(ctx context.Context, keep Keep, load Load, env Environment) (Result, error) {
	return newMeasurement(keep, load, env).make(ctx)
}

func newMeasurement(keep Keep, load Load, env Environment) *measurement {
	whole := load.wholeID(keep)
	load.KeyPrompts(whole, load.moment())
	load.Target.Dial = env.Dial
	return &measurement{
		run: newRun(load.Place.Run(whole), keep, env), load: load, whole: whole, openLines: rundir.NewLines, timeOfDay: time.Now,
	}
}

// make makes the run. It removes the folder of a run that fails before its load begins.
func (m *measurement) make(ctx context.Context) (Result, error) {
	result := Result{Run: m.id}
	var err error
	if m.folder, err = MakeFolder(m.keep.Out, m.id); err != nil {
		return result, err
	}
	steps := m.alone
	if m.env.Engine != nil {
		steps = m.withEngine
	}
	over, err := steps(ctx)
	if err != nil {
		m.remove()
		return result, err
	}
	defer over.close()
	result.Unserved = over.unserved()
	result.Made, err = over.finish()
	m.journal.live.leave()
	return result, errors.Join(over.err, err)
}

// alone measures a server that uma-load does not start. An error means that no request was sent.
func (m *measurement) alone(ctx context.Context) (*ended, error) {
	p, err := m.prepare(ctx, func(number int, served server.Served) (err error) {
		if number == 0 {
			if m.capture, err = newCapture(ctx, m.captureSettings(), m.env.Exporter, m.env.Log); err != nil {
				return err
			}
		}
		if served.Page == "" {
			return nil
		}
		return m.followServer(number, served.Page, nil)
	})
	if err != nil {
		return nil, err
	}
	m.announce(p)
	over := m.send(ctx, p)
	p.servers.again(ctx)
	return over, nil
}

// send sends the load to a server that uma-load does not start.
func (m *measurement) send(ctx context.Context, p *plan) *ended {
	i, end := newInterrupts(ctx, m.env.Cut, m.load.Grace, m.journal.meter.wait, m.env.Log)
	defer end()
	over := &ended{run: m, plan: p}
	err := m.capture.runCommands(ctx, beforeLoad)
	if err == nil {
		err = m.begin(ctx)
	}
	if err == nil {
		over.sender = newSender(m, p)
		err = over.sender.open(ctx, i.halt)
	}
	if err == nil {
		err = over.sender.drive(i)
	}
	err = errors.Join(err, m.journal.leave(), over.sender.close(), m.capture.stopSampling())
	m.capture.keepLog(i.cut)
	over.engine = readEngineLog(i.cut, m.run, m.load.EngineLog, p.served.Engine)
	over.err = errors.Join(err, m.capture.runCommands(i.cut, afterLoad))
	return over
}

// captureSettings returns the settings of capture, with the secrets that no recorded page may contain.
func (m *measurement) captureSettings() CaptureSettings {
	s := m.keep.Capture
	s.Secrets = append(slices.Clone(s.Secrets), m.load.Target.Credentials()...)
	return s
}

// withEngine starts the engine, measures it and stops it. An error means that the engine was not started.
func (m *measurement) withEngine(ctx context.Context) (*ended, error) {
	var err error
	if m.capture, err = NewMachineCapture(ctx, m.captureSettings(), m.env.Exporter, m.env.Log); err != nil {
		return nil, Unusable(ctx, err)
	}
	targets := m.load.targets()
	pages := make([]atomic.Bool, len(targets)) // the own page of each server answers
	for i, t := range targets {
		if err := m.followServer(i, t.PlannedPage(), func() bool { return !pages[i].Load() }); err != nil {
			return nil, input(err)
		}
	}
	m.beginManifest()
	m.announce(nil)

	i, end := newInterrupts(ctx, m.env.Cut, m.load.Grace, m.journal.meter.wait, m.env.Log)
	defer end()
	over := &ended{run: m}
	err = m.runEngine(i.stop, i.cut, m.journal.pass, func(engine context.Context) error {
		over = m.serveUntilLost(engine, i, pages)
		return over.err
	})
	over.err = errors.Join(err, m.journal.leave(), over.sender.close(), m.capture.stopSampling())
	return over, nil
}

// serveUntilLost measures the engine that was started for the run, until the load ends or the engine is lost. It checks
// for a lost engine before the engine is stopped, since afterwards it is gone in any case.
func (m *measurement) serveUntilLost(engine context.Context, i interrupts, pages []atomic.Bool) *ended {
	unbind := context.AfterFunc(engine, func() { i.halt(context.Cause(engine)) })
	over := m.serve(i, pages)
	if unbind(); engine.Err() != nil {
		over.err = errors.Join(context.Cause(engine), over.err)
	}
	return over
}

// serve sends the load to the engine that was started for the run, and records the facts that disappear with the
// engine.
func (m *measurement) serve(i interrupts, pages []atomic.Bool) *ended {
	over := &ended{run: m}
	if over.plan, over.err = m.meet(i.stop, pages); over.err == nil {
		over.sender = newSender(m, over.plan)
		over.err = over.sender.open(i.stop, i.halt)
	}
	if over.err != nil {
		over.err = errors.Join(over.err, m.journal.pass(rundir.PhaseStop))
		return over
	}
	err := errors.Join(over.sender.drive(i), m.journal.pass(rundir.PhaseStop))
	m.capture.keepLog(i.cut)
	over.engine = readEngineLog(i.cut, m.run, m.load.EngineLog, over.plan.served.Engine)
	over.plan.servers.again(i.cut)
	over.kvStorage = glanceAtKVStorage(i.cut, m.run)
	over.err = errors.Join(err, m.capture.runCommands(i.cut, afterLoad))
	return over
}

// meet prepares the load once the engine is ready. It returns the plan even with an error, if the plan was made.
func (m *measurement) meet(ctx context.Context, pages []atomic.Bool) (*plan, error) {
	if err := m.journal.pass(rundir.PhaseReady); err != nil {
		return nil, err
	}
	m.journal.meter.wait("the server to answer", time.Time{})
	targets := m.load.targets()
	p, err := m.prepare(ctx, func(number int, served server.Served) error {
		pages[number].Store(served.Page != "" && served.Page == targets[number].PlannedPage())
		return m.capture.findEngine(ctx)
	})
	if err != nil {
		return nil, err
	}
	m.describeEngine()
	m.announce(p)
	return p, errors.Join(m.save(), m.capture.runCommands(ctx, beforeLoad))
}

// prepare finds out what is measured, and plans the load. It calls look once a server has answered, to find what can be
// recorded of it.
func (m *measurement) prepare(ctx context.Context, look func(number int, served server.Served) error) (*plan, error) {
	all, err := newSubjects(ctx, m, look)
	if err != nil {
		return nil, err
	}
	p, err := newPlan(ctx, m, all)
	if err != nil {
		all.close()
		return nil, err
	}
	if err := all.resetPrefixCaches(ctx, m); err != nil {
		p.close()
		return nil, err
	}
	if m.manifest == nil {
		m.beginManifest()
	}
	p.describeLoad(m.manifest, m)
	describePlace(ctx, m.run)
	m.identify(ctx, m.capture, m.load.addresses(), nil)
	if at := m.load.StartAt; !at.IsZero() { // the start time may have passed
		if err := traffic.CheckStart(at, time.Now()); err != nil {
			p.close()
			return nil, input(fmt.Errorf("--start-at: %w", err))
		}
	}
	return p, nil
}

// expected returns the judging entries that follow from the flags.
func (m *measurement) expected() *rundir.Judging {
	return &rundir.Judging{
		Streaming: !m.load.NoStream, TelemetryRequested: m.keep.Capture.Requested(), SLO: m.load.SLO.String(), Validity: m.keep.Validity,
	}
}

// beginManifest begins the manifest.
func (m *measurement) beginManifest() {
	m.describe(m.load.Scenario.Name)
	m.manifest.Rank, m.manifest.Seed = m.load.share(m.whole, m.env.Log), m.load.Seed
}

// followServer adds the own page of the server with this number, which is read at the borders of phases; its counters
// are evidence of a prefix cache. closed reports whether the page must not be read.
func (m *measurement) followServer(number int, page string, closed func() bool) error {
	client, err := m.load.Target.PageClient()
	if err != nil {
		return err
	}
	m.capture.followServer(telemetry.Source{Name: serverName(number), URL: page, Client: client, Closed: closed})
	return nil
}

// announce shows the run on the live page and in the log. p is nil while the engine is not ready.
func (m *measurement) announce(p *plan) {
	names := append(m.phasesToReady(), rundir.PhaseReady)
	if p != nil {
		for _, phase := range p.work.Phases {
			names = append(names, phase.Name)
		}
	}
	facts := m.keep.facts(m.id, m.load.Scenario.Name, append(names, rundir.PhaseStop))
	facts.Streaming, facts.Planned = !m.load.NoStream, p != nil
	if objectives := m.load.SLO; len(objectives) > 0 {
		facts.Good = objectives.Good
	}
	if p != nil {
		facts.Model, facts.Simulated = p.served.Model.ID, p.servers.simulated()
	}
	m.show(facts)
	if p == nil {
		m.env.Log.Info("run", "id", m.id, "folder", string(m.folder), "live", m.env.Page.URL())
		return
	}
	if m.env.Engine != nil { // the log has the run since before its engine was started
		m.env.Log.Info("the engine is ready", "run", m.id, "model", p.served.Model.ID)
	} else {
		m.env.Log.Info("run", "id", m.id, "folder", string(m.folder), "model", p.served.Model.ID, "live", m.env.Page.URL())
	}
	if p.servers.simulated() {
		m.env.Log.Warn("the engine is simulated", "model", p.served.Model.ID, "owner", p.served.Model.OwnedBy)
	}
}
