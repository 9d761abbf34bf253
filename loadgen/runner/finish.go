package runner

import (
	"errors"
	"io"
	"slices"

	"github.com/umascope/umascope/loadgen/rundir"
	"github.com/umascope/umascope/loadgen/summary"
	"github.com/umascope/umascope/loadgen/telemetry"
	"github.com/umascope/umascope/loadgen/workload"
)

// ended is a measurement whose load has ended, with the data that its folder does not hold yet.
type ended struct {
	run *measurement
	// plan is nil if the engine that was started for the run never answered. sender is nil if there was no request to
	// send.
	plan   *plan
	sender *sender
	// engine is the engine's report of its memory at start, or nil if there is none.
	engine *rundir.EngineReport
	// kvStorage is the storage of the KV cache's disk tier, read before the engine was stopped.
	kvStorage []rundir.Storage
	err       error
}

// close closes the connections and files of the run.
func (e *ended) close() { e.plan.close() }

// unserved reports whether an engine was started for the run and never took its load.
func (e *ended) unserved() bool { return e.run.env.Engine != nil && e.sender == nil }

// sent returns the facts about the load, even if it was never sent.
func (e *ended) sent() sent {
	if e.sender == nil {
		return sent{answers: &answers{}}
	}
	return e.sender.sent
}

// finish completes the folder and computes the summary from it. The summary is nil if it cannot be computed. The error
// joins the errors of all files that could not be written.
func (e *ended) finish() (*summary.Run, error) {
	if e.unserved() {
		return e.finishUnserved()
	}
	load, m := e.sent(), e.run.manifest
	state := stateOf(e.err)
	if (e.plan.servers.stopped() || load.broken != "") && e.err == nil {
		state = rundir.StateStopped
	}
	log, err := e.run.end(state)
	for i, s := range e.plan.servers {
		to := &m.Server
		if i > 0 {
			to = &m.Replicas[i-1]
		}
		_, to.FingerprintEnd = s.identity.Fingerprints()
		to.Answered, to.Fingerprints = load.answers.of(i).models, load.answers.of(i).fingerprints
	}
	m.Client.CPURatio, m.Client.Stalls = load.health.CPURatio, len(load.health.Stalls)
	e.describePlace(log)
	found := verify(e.run, e.plan, log, e.engine)
	found.Warnings = append(found.Warnings, placeWarnings(m)...)
	return e.run.complete(e.judging(log, found), err)
}

// finishUnserved is finish for a run whose engine never took a load. It writes the machine's telemetry and the reason
// why the run ended.
func (e *ended) finishUnserved() (*summary.Run, error) {
	_, err := e.run.end(stateOf(e.err))
	j, campaign := e.run.expected(), e.run.manifest.Campaign
	j.Unmeasured = append(e.run.phasesToReady(), rundir.PhaseReady, rundir.PhaseStop)
	j.Stopped = "nothing was measured: " + printable(e.err.Error())
	j.Checks, j.Complete = checkFindings(campaign), true
	j.Warnings = append(e.run.capture.warnings(), problems(campaign)...)
	return e.run.complete(j, errors.Join(err, e.run.folder.Write(rundir.RequestsFile, func(io.Writer) error { return nil })))
}

// describePlace adds to the manifest the facts about the machine that telemetry and clocks show at the end.
func (e *ended) describePlace(log *telemetry.Log) {
	m := e.run.manifest
	if e.run.env.Engine == nil {
		e.kvStorage = kvStorage(m, log)
	}
	m.Storage = append(m.Storage, e.kvStorage...)
	describeHardware(m, log)
	if e.run.journal.clock != nil {
		m.Client.ClockStepSeconds = clockStep(m.StartedAt, e.run.timeOfDay(), e.run.journal.clock).Seconds()
	}
}

// judging returns the facts that the summary needs besides requests, phases and telemetry.
func (e *ended) judging(log *telemetry.Log, found summary.EvidenceFound) *rundir.Judging {
	load, p, campaign := e.sent(), e.plan, e.run.manifest.Campaign
	expect, tiers := e.run.load.Expect, summary.SeeKVTiers(log, p.servers.simulated())
	j := e.run.expected()
	j.Unmeasured = append(e.run.phasesToReady(), p.work.Uncounted()...)
	j.Model, j.KVMode, j.Checks = p.servers.findings(load.answers), expect.Judge(tiers), checkFindings(campaign)
	j.Client = clientHealth(load.health, p.servers.stampsPackets(), e.run.load.Place.Rank)
	j.Stopped, j.DepthTokens = load.broken, p.work.Script.DepthTokens
	if e.err != nil {
		j.Stopped = "the run failed or was stopped: " + printable(e.err.Error())
	}
	j.PrefixReuse = p.prefixReuse(e.run.load)
	j.PrefixReuse.Engine = prefixLookups(e.run, p, load.answers, log)
	j.Evidence, j.Engine, j.Complete = found.Signals, e.engine, true
	j.PartWarnings = e.run.load.partWarnings()
	j.Warnings = slices.Concat(e.run.capture.warnings(), load.answers.warnings(p.work), found.Warnings, p.servers.warnings(), problems(campaign), expect.Warnings(tiers))
	return j
}

// findings returns the model that answers, fingerprints and failures show of the server with this number.
func (s *subject) findings(a *answers, number int) rundir.ModelFindings {
	m, v := a.of(number).judge(s.served.Model), s.identity.Verdict()
	m.Fingerprint, m.Compared, m.Changed = v.Fingerprint, v.Compared, v.Changed
	m.Guarded, m.Dropped, m.PromptLimit = v.Guarded, v.Dropped, v.PromptLimit
	return m
}

// clientHealth returns the health of a rank's client.
func clientHealth(h workload.Health, stamped bool, rank int) rundir.ClientHealth {
	client := rundir.ClientHealth{Watched: h.Watched, CPURatio: h.CPURatio, StampedArrivals: stamped}
	if h.Watched {
		client.UnnoticedNS = int64(workload.WatchInterval + h.Shortest)
	}
	for _, s := range h.Stalls {
		client.Stalls = append(client.Stalls, rundir.Stall{FromNS: s.FromNS, ToNS: s.ToNS, Rank: rank})
	}
	return client
}
