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
	"github.com/umascope/umascope/loadgen/merge"
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
	in := r.input(log, loadErr)
	warnings := slices.Concat(r.scene.Warnings(), r.answers.warnings(r.work, r.scale), r.found.Warnings, r.identity.Warnings(), problemsOf(r.manifest.Campaign), r.settings.expect.Warnings(r.seeTiers(log)))
	r.manifest.Judging = merge.Judging(in, r.settings.validity, warnings)
	err = errors.Join(err, r.folder.WriteJSON(folder.ManifestFile, r.manifest))
	sum, drawn, summaryErr := summary.Digest(in, summary.Records(r.folder.Path(folder.RequestsFile)))
	if summaryErr != nil {
		return nil, errors.Join(err, summaryErr)
	}
	sum.Tokens.InputLengths = r.settings.InputLengths(r.scale)
	sum.Warnings = append(sum.Warnings, slices.Concat(r.settings.partWarnings(), warnings)...)
	r.summary = &sum
	err = errors.Join(err, writeReports(r.folder, report.Page{Title: r.id, Summary: sum, Drawn: drawn, Telemetry: log}),
		writeResults(r.folder, r.settings.results, sum), r.program.print(r.folder, sum))
	return judge(sum), err
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

// input is what the summary is made of beside the records.
func (r *run) input(log *telemetry.Log, loadErr error) summary.Input {
	in := summary.Input{
		Run: r.id, Scenario: r.settings.Scenario.Name, Labels: r.settings.labelMap(),
		Model: r.judgeModel(), KVMode: r.settings.expect.Judge(r.seeTiers(log)), WorkloadSHA256: r.workSHA, BootID: r.manifest.Client.BootID,
		Warmup: append(r.around.phases(), r.work.Uncounted()...), Signals: r.found.Signals,
		Telemetry: log, TelemetryStats: r.manifest.Telemetry, TelemetryRequested: r.settings.scene.Requested(),
		Client: clientHealth(r.health, r.client.StampsPackets(), r.settings.Place.Rank), Validity: r.limits, SLO: r.settings.slo, Streaming: !r.settings.NoStream,
	}
	in.Engine, in.Checks = r.engine, checksOf(r.manifest.Campaign)
	in.Stopped = r.broken
	if loadErr != nil {
		in.Stopped = "the run failed or was stopped: " + printable(loadErr.Error())
	}
	for _, p := range r.work.Phases {
		if p.Process.Open() {
			in.Open = append(in.Open, p.Name)
		}
	}
	in.Phases = reportPhases(r.scene.Spans)
	return in
}

func reportPhases(spans []folder.Span) []summary.Phase {
	var phases []summary.Phase
	for _, s := range spans {
		phases = append(phases, summary.Phase{Name: s.Name, StartNS: s.StartNS, EndNS: s.EndNS})
	}
	return phases
}

// judgeModel is what answers, fingerprints and failures show of the model.
func (r *run) judgeModel() summary.Model {
	m, v := r.answers.judge(r.server.Model), r.identity.Verdict()
	m.Fingerprint, m.Compared, m.Changed = v.Fingerprint, v.Compared, v.Changed
	m.Guarded, m.Dropped, m.PromptLimit = v.Guarded, v.Dropped, v.PromptLimit
	return m
}

// clientHealth is how the client of a rank fared, in the words of the report.
func clientHealth(h drive.Health, stamped bool, rank int) summary.ClientHealth {
	client := summary.ClientHealth{Watched: h.Watched, CPURatio: h.CPURatio, PacketStamps: stamped}
	for _, s := range h.Stalls {
		client.Stalls = append(client.Stalls, summary.Stall{FromNS: s.FromNS, ToNS: s.ToNS, Rank: rank})
	}
	return client
}

// writeReports writes the summary and what is read of it by people.
func writeReports(f folder.Folder, page report.Page) error {
	return errors.Join(f.WriteJSON(folder.SummaryFile, page.Summary), showRun(f, page))
}

// showRun writes the pages of a run.
func showRun(f folder.Folder, page report.Page) error {
	return errors.Join(
		f.Write(folder.ReportFile, func(w io.Writer) error { return report.Markdown(w, page.Summary) }),
		f.Write(folder.HTMLFile, func(w io.Writer) error { return report.HTML(w, page) }),
	)
}

// print shows the figures and where the rest is.
func (p Program) print(f folder.Folder, sum summary.Summary) error {
	err := report.Text(p.Stdout, sum)
	if err == nil {
		_, err = fmt.Fprintf(p.Stdout, "\nrun folder: %s%c\n", f, os.PathSeparator)
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
