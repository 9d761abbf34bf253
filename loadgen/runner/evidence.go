package runner

import (
	"cmp"
	"context"
	"log/slog"

	"github.com/umascope/umascope/loadgen/evidence"
	"github.com/umascope/umascope/loadgen/rundir"
	"github.com/umascope/umascope/loadgen/summary"
	"github.com/umascope/umascope/loadgen/telemetry"
	"github.com/umascope/umascope/loadgen/traffic"
)

// kvRoom reads, once before the load, how much the tiers of the KV cache hold: from all pages, the engine's log and the
// model's config.json. Only scenarios that evict from these tiers need it. A size that no source shows is absent, which
// is not an error.
func kvRoom(ctx context.Context, m *measurement, s *subject) evidence.Room {
	if !m.load.Pressured() {
		return evidence.Room{}
	}
	var room, byShape evidence.Room
	simulated := s.served.Model.Simulated()
	if len(m.capture.Sources) > 0 {
		log, err := m.capture.Glance(ctx)
		if err != nil {
			m.env.Log.Warn("the size of the KV cache could not be looked up", "why", printable(err.Error()))
		} else {
			room = summary.ReadKVRoom(log, m.keep.Hosts(), simulated, m.load.Expect)
			start, _ := s.identity.Fingerprints()
			byShape.TokenBytes = summary.ShapeTokenBytes(log, m.keep.Hosts(), simulated, start.Shape)
		}
	}
	if reading, _ := findEngineReading(ctx, m.run, m.load.EngineLog, s.served.Engine, slog.LevelDebug); reading != nil {
		byLog := summary.RoomOfLog(reading)
		// A line of the engine itself comes before the environment that it was started with.
		filter := cmp.Or(byLog.Off.DiskFilter, room.Off.DiskFilter)
		room = room.Filled(byLog)
		room.Off.DiskFilter = filter
	}
	return room.Filled(byShape)
}

// verify grades the evidence of the run.
func verify(m *measurement, p *plan, log *telemetry.Log, engine *rundir.EngineReport) summary.EvidenceFound {
	over := summary.EvidenceInput{
		Folder: m.folder, Records: summary.Records(m.folder.Path(rundir.RequestsFile)), Telemetry: log,
		Verification: p.work.Script.Verify, Expect: m.load.Expect,
		Hosts: m.keep.Hosts(), Own: m.keep.Labels["host"] == m.manifest.Client.Hostname, Simulated: p.servers.simulated(), Storage: m.manifest.Storage,
		Streamed: !m.load.NoStream, Separable: p.work.TakesSalt(), Drawn: m.load.Temperature > 0 && m.load.RequestSeed == nil,
		TemplateTokens: template(p.scale), Several: p.servers.several(), Engine: engine, Log: m.env.Log,
	}
	return over.Verify()
}

// template returns how many tokens the server adds to each prompt, if that could be measured. All prompts share these
// tokens, so a prefix cache always holds them.
func template(scale traffic.TokenScale) int {
	if scale.TemplateTokens == nil {
		return 0
	}
	return *scale.TemplateTokens
}

// prefixReuse returns the facts that prefix-cache hits are judged by, as far as they are available before the load.
func (p *plan) prefixReuse(l Load) *rundir.PrefixReuse {
	reuse := &rundir.PrefixReuse{Repeats: l.WhyRepeated()}
	if common, known := p.scale.CommonTokens(); known {
		reuse.CommonTokens = &common
	}
	return reuse
}

// prefixLookups returns the engine's prefix cache counters over the whole load, whose first and last border have
// samples of their own. It is used only if the answers report no cached tokens and one process sent the load: for each
// rank, the other ranks are other clients.
func prefixLookups(m *measurement, p *plan, a *answers, log *telemetry.Log) *rundir.PrefixLookups {
	if a.reportCached || !m.load.Place.Alone() {
		return nil
	}
	phases := []string{rundir.PhaseReady}
	for _, phase := range p.work.Phases {
		phases = append(phases, phase.Name)
	}
	return summary.PrefixLookups(log, p.servers.simulated(), m.keep.Hosts(), phases, float64(a.promptTokens))
}
