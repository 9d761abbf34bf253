package runner

import (
	"context"

	"github.com/umascope/umascope/loadgen/evidence"
	"github.com/umascope/umascope/loadgen/folder"
	"github.com/umascope/umascope/loadgen/summary"
	"github.com/umascope/umascope/loadgen/telemetry"
	"github.com/umascope/umascope/loadgen/witness"
)

// seeRoom looks once at all pages, before the run, for how much the tiers of the KV cache hold. Only
// scenarios that push something out of them ask; what no page says is not known, which is no error.
func (r *run) seeRoom(ctx context.Context) evidence.Room {
	if !r.load.Pressured() || len(r.scene.Sources) == 0 {
		return evidence.Room{}
	}
	log, err := r.scene.Glance(ctx)
	if err != nil {
		r.env.Log.Warn("the size of the KV cache could not be looked up", "why", printable(err.Error()))
		return evidence.Room{}
	}
	return witness.Room(log, r.keep.Hosts(), r.server.Model.Simulated(), r.load.Expect)
}

// seeTiers looks for tiers of the KV cache in what was sampled.
func (r *run) seeTiers(log *telemetry.Log) witness.Seen {
	return witness.SeeTiers(log, r.server.Model.Simulated())
}

// verify grades what the run is evidence of.
func (r *run) verify(log *telemetry.Log) witness.Found {
	s, host := r.load, r.keep.Labels["host"]
	over := witness.Run{
		Folder: r.folder, Records: summary.Records(r.folder.Path(folder.RequestsFile)), Telemetry: log, Verification: r.work.Script.Verify, Expect: s.Expect,
		Hosts: r.keep.Hosts(), Own: host == r.manifest.Client.Hostname, Simulated: r.server.Model.Simulated(),
		Streamed: !s.NoStream, Separable: r.work.TakesSalt(), Drawn: s.Temperature > 0 && s.RequestSeed == nil,
		TemplateTokens: template(r.scale), Log: r.env.Log,
	}
	return over.Verify()
}
