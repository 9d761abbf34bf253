package runner

import (
	"errors"
	"slices"
	"time"

	"github.com/umascope/umascope/loadgen/drive"
	"github.com/umascope/umascope/loadgen/folder"
	"github.com/umascope/umascope/loadgen/summary"
	"github.com/umascope/umascope/loadgen/telemetry"
)

// unserved says whether the engine was to be started for the run and never took its load.
func (r *run) unserved() bool { return r.env.Engine != nil && r.loop == nil }

// finish completes the folder, and computes the summary from its files. It returns what went wrong while writing.
func (r *run) finish(loadErr error) error {
	if r.unserved() {
		return r.finishUnserved(loadErr)
	}
	ended := time.Now().UTC()
	r.manifest.EndedAt, r.manifest.State = &ended, stateOf(loadErr)
	_, r.manifest.Server.FingerprintEnd = r.identity.Fingerprints()
	if (r.identity.Stopped() || r.broken != "") && loadErr == nil {
		r.manifest.State = folder.StateStopped
	}
	r.manifest.Server.Answered, r.manifest.Server.Fingerprints = r.answers.models, r.answers.fingerprints
	r.manifest.Client.CPURatio, r.manifest.Client.Stalls = r.health.CPURatio, len(r.health.Stalls)
	log, err := r.scene.Log()
	addMachines(r.manifest, log)
	r.seePlace(log)
	r.found = r.verify(log)
	r.found.Warnings = append(r.found.Warnings, placeWarnings(r.manifest)...)
	r.manifest.Judging = r.judging(log, loadErr)
	err = errors.Join(err, r.folder.WriteJSON(folder.ManifestFile, r.manifest))
	return errors.Join(err, r.summarize())
}

// summarize computes the summary from the files of the folder, and writes it.
func (r *run) summarize() error {
	made, err := summary.Write(string(r.folder))
	if err == nil {
		r.made = &made
	}
	return err
}

func stateOf(err error) string {
	switch {
	case err == nil:
		return folder.StateComplete
	case errors.Is(err, ErrInterrupted):
		return folder.StateInterrupted
	default:
		return folder.StateFailed
	}
}

// judging is what the run knows at its end beside its requests, its phases and its telemetry.
func (r *run) judging(log *telemetry.Log, loadErr error) *folder.Judging {
	tiers := r.seeTiers(log)
	j := r.expected()
	j.Unmeasured = append(r.env.Engine.phases(), r.work.Uncounted()...)
	j.Model, j.KVMode, j.Checks = r.judgeModel(), r.load.Expect.Judge(tiers), checksOf(r.manifest.Campaign)
	j.Client = clientHealth(r.health, r.client.StampsPackets(), r.load.Place.Rank)
	j.Stopped = r.broken
	if loadErr != nil {
		j.Stopped = "the run failed or was stopped: " + printable(loadErr.Error())
	}
	j.Evidence, j.Engine, j.Complete = r.found.Signals, r.engine, true
	j.PartWarnings = r.load.partWarnings()
	j.Warnings = slices.Concat(r.scene.Warnings(), r.answers.warnings(r.work, r.scale), r.found.Warnings, r.identity.Warnings(), problemsOf(r.manifest.Campaign), r.load.Expect.Warnings(tiers))
	return j
}

// expected is what the flags say of how the run is judged.
func (r *run) expected() *folder.Judging {
	s := r.load
	return &folder.Judging{
		Streaming: !s.NoStream, TelemetryRequested: r.keep.Scene.Requested(), SLO: s.SLO.String(), Validity: r.keep.Validity,
	}
}

// judgeModel is what answers, fingerprints and failures show of the model.
func (r *run) judgeModel() folder.ModelFindings {
	m, v := r.answers.judge(r.server.Model), r.identity.Verdict()
	m.Fingerprint, m.Compared, m.Changed = v.Fingerprint, v.Compared, v.Changed
	m.Guarded, m.Dropped, m.PromptLimit = v.Guarded, v.Dropped, v.PromptLimit
	return m
}

// clientHealth is how the client of a rank fared.
func clientHealth(h drive.Health, stamped bool, rank int) folder.ClientHealth {
	client := folder.ClientHealth{Watched: h.Watched, CPURatio: h.CPURatio, PacketStamps: stamped}
	for _, s := range h.Stalls {
		client.Stalls = append(client.Stalls, folder.Stall{FromNS: s.FromNS, ToNS: s.ToNS, Rank: rank})
	}
	return client
}
