package loadgen

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/umascope/umascope/loadgen/drive"
	"github.com/umascope/umascope/loadgen/folder"
	"github.com/umascope/umascope/loadgen/report"
	"github.com/umascope/umascope/loadgen/summary"
	"github.com/umascope/umascope/loadgen/telemetry"
)

// finish computes the summary from the files of the run and writes what is read by people. It
// returns what the figures mean for the exit code, and what went wrong while writing.
func (r *run) finish(loadErr error) (result, err error) {
	if r.around != nil && r.loop == nil {
		return nil, r.finishUnserved(loadErr)
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
	made, summaryErr := summary.Write(string(r.folder))
	if summaryErr != nil {
		return nil, errors.Join(err, summaryErr)
	}
	r.summary = &made.Summary
	err = errors.Join(err, showRun(made), writeResults(r.folder, r.settings.results, made.Summary), printRun(r.program.Stdout, r.folder, made.Summary))
	return judge(made.Summary), err
}

func stateOf(err error) string {
	switch {
	case err == nil:
		return folder.StateComplete
	case errors.Is(err, errInterrupted):
		return folder.StateInterrupted
	default:
		return folder.StateFailed
	}
}

// judging is what the run knows at its end beside its requests, its phases and its telemetry.
func (r *run) judging(log *telemetry.Log, loadErr error) *folder.Judging {
	tiers := r.seeTiers(log)
	j := r.expected()
	j.Unmeasured = append(r.around.phases(), r.work.Uncounted()...)
	j.Model, j.KVMode, j.Checks = r.judgeModel(), r.settings.expect.Judge(tiers), checksOf(r.manifest.Campaign)
	j.Client = clientHealth(r.health, r.client.StampsPackets(), r.settings.Place.Rank)
	j.Stopped = r.broken
	if loadErr != nil {
		j.Stopped = "the run failed or was stopped: " + printable(loadErr.Error())
	}
	j.Evidence, j.Engine, j.Complete = r.found.Signals, r.engine, true
	j.PartWarnings = r.settings.partWarnings()
	j.Warnings = slices.Concat(r.scene.Warnings(), r.answers.warnings(r.work, r.scale), r.found.Warnings, r.identity.Warnings(), problemsOf(r.manifest.Campaign), r.settings.expect.Warnings(tiers))
	return j
}

// expected is what the flags say of how the run is judged.
func (r *run) expected() *folder.Judging {
	s := r.settings
	return &folder.Judging{
		Streaming: !s.NoStream, TelemetryRequested: s.scene.Requested(), SLO: s.slo.String(), Validity: s.validity,
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

// showRun writes the pages of a run.
func showRun(r summary.Run) error {
	page, err := pageOf(r)
	if err != nil {
		return err
	}
	return errors.Join(
		r.Write(folder.ReportFile, func(w io.Writer) error { return report.Markdown(w, r.Summary) }),
		r.Write(folder.HTMLFile, func(w io.Writer) error { return report.HTML(w, page) }),
	)
}

// pageOf is what the page of a run shows.
func pageOf(r summary.Run) (report.Page, error) {
	p := report.Page{Title: r.Manifest.Run, Summary: r.Summary}
	var err error
	if p.Telemetry, err = r.Telemetry(); err == nil {
		p.Drawn, err = r.Requests()
	}
	return p, err
}

// printRun prints the figures of a run and the path of its folder.
func printRun(w io.Writer, f folder.Folder, sum summary.Summary) error {
	err := report.Text(w, sum)
	if err == nil {
		_, err = fmt.Fprintf(w, "\nrun folder: %s%c\n", f, os.PathSeparator)
	}
	return err
}

// judge turns what the figures say into an outcome: nil, invalid, or an SLO that was not met.
func judge(sum summary.Summary) error {
	if !sum.Valid {
		var reasons []string
		for _, reason := range sum.InvalidReasons {
			reasons = append(reasons, fmt.Sprintf("%s (%s)", reason.Code, reason.Detail))
		}
		return outcome{exitInvalid, fmt.Errorf("the run is invalid: %s", strings.Join(reasons, "; "))}
	}
	if g := sum.Goodput; g != nil && !g.Met {
		return outcome{exitMissed, fmt.Errorf("--slo %s: %d of %d requests kept it, %g %% wanted", g.SLO, g.Good, g.Requests, 100*g.RequiredRatio)}
	}
	return nil
}
