package runner

import (
	"context"

	"github.com/umascope/umascope/loadgen/evidence"
	"github.com/umascope/umascope/loadgen/evidence/observation"
	"github.com/umascope/umascope/loadgen/prompt"
	"github.com/umascope/umascope/loadgen/rundir"
	"github.com/umascope/umascope/loadgen/summary"
	"github.com/umascope/umascope/loadgen/telemetry"
)

// kvRoom looks once at all pages, before the load, for how much the tiers of the KV cache hold. Only
// scenarios that push something out of them ask; what no page shows is not known, which is no error.
func kvRoom(ctx context.Context, m *measurement, s *subject) evidence.Room {
	if !m.load.Pressured() || len(m.scene.Sources) == 0 {
		return evidence.Room{}
	}
	log, err := m.scene.Glance(ctx)
	if err != nil {
		m.env.Log.Warn("the size of the KV cache could not be looked up", "why", printable(err.Error()))
		return evidence.Room{}
	}
	return observation.Room(log, m.keep.Hosts(), s.served.Model.Simulated(), m.load.Expect)
}

// verify grades what the run is evidence of.
func verify(m *measurement, p *plan, log *telemetry.Log) observation.Found {
	over := observation.Run{
		Folder: m.folder, Records: summary.Records(m.folder.Path(rundir.RequestsFile)), Telemetry: log,
		Verification: p.work.Script.Verify, Expect: m.load.Expect,
		Hosts: m.keep.Hosts(), Own: m.keep.Labels["host"] == m.manifest.Client.Hostname, Simulated: p.served.Model.Simulated(),
		Streamed: !m.load.NoStream, Separable: p.work.TakesSalt(), Drawn: m.load.Temperature > 0 && m.load.RequestSeed == nil,
		TemplateTokens: template(p.scale), Log: m.env.Log,
	}
	return over.Verify()
}

// template returns how many tokens the server adds to each prompt, as far as it is known. All prompts have them in common, so
// that a prefix cache has them whatever else it has.
func template(scale prompt.Scale) int {
	if scale.TemplateTokens == nil {
		return 0
	}
	return *scale.TemplateTokens
}

// prefixReuse returns what prompt tokens from a cache are judged by, as far as it is known before the load.
func (p *plan) prefixReuse(l Load) *rundir.PrefixReuse {
	reuse := &rundir.PrefixReuse{Repeats: l.WhyRepeated()}
	if common, known := p.scale.CommonTokens(); known {
		reuse.CommonTokens = &common
	}
	return reuse
}

// prefixLookups returns what the engine counted over the whole load, whose first and last border have samples of their own.
// It is asked only if the answers do not report cached tokens, and one process sent the load: to each rank, the others are
// other clients.
func prefixLookups(m *measurement, p *plan, a *answers, log *telemetry.Log) *rundir.PrefixLookups {
	if a.reportCached || !m.load.Place.Alone() {
		return nil
	}
	phases := []string{rundir.PhaseReady}
	for _, phase := range p.work.Phases {
		phases = append(phases, phase.Name)
	}
	return observation.PrefixLookups(log, p.served.Model.Simulated(), m.keep.Hosts(), phases, float64(a.promptTokens))
}
