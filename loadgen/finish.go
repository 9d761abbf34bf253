package loadgen

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/umascope/umascope/loadgen/report"
	"github.com/umascope/umascope/loadgen/telemetry"
)

// finish computes the summary from the files of the run and writes what is read by people. It
// returns what the figures mean for the exit code, and what went wrong while writing.
func (r *run) finish(loadErr error) (result, err error) {
	ended := time.Now().UTC()
	r.manifest.EndedAt, r.manifest.State = &ended, stateOf(loadErr)
	r.identity.record(&r.manifest.Server)
	if reason := r.identity.guard.stopped(); reason != nil && loadErr == nil {
		r.manifest.State = stateStopped
	}
	r.manifest.Server.Answered, r.manifest.Server.Fingerprints = r.answers.models, r.answers.fingerprints
	r.manifest.Client.CPURatio, r.manifest.Client.Stalls = r.health.CPURatio, len(r.health.Stalls)
	log, err := r.readTelemetry()
	if err != nil {
		err = fmt.Errorf("telemetry: %w", err)
	}
	err = errors.Join(err, r.folder.writeJSON(fileManifest, r.manifest))
	r.found = r.verify(log)
	summary, drawn, summaryErr := report.Digest(r.input(log, loadErr), report.Records(r.folder.path(fileRequests)))
	if summaryErr != nil {
		return nil, errors.Join(err, summaryErr)
	}
	summary.Tokens.InputLengths = r.inputLengths()
	summary.Warnings = slices.Concat(summary.Warnings, captureWarnings(r.manifest.Captures), r.containerWarnings(), r.answers.warnings(r.work.script), r.found.warnings, r.identity.warnings(), r.settings.expect.warnings(r.seeKV(log)))
	err = errors.Join(err, r.write(report.Page{Title: r.id, Summary: summary, Drawn: drawn, Telemetry: log}), r.print(summary))
	return judge(summary), err
}

// inputLengths says how the lengths of prompts come about.
func (r *run) inputLengths() string {
	if r.settings.file == nil {
		return r.server.scale.String()
	}
	return fmt.Sprintf("estimated: %.3f tokens a byte of the prompt file (%s); what the server's chat template adds is not counted", r.server.scale.TokensPerByte, r.server.scale.Basis)
}

func stateOf(err error) string {
	switch {
	case err == nil:
		return stateComplete
	case errors.Is(err, errInterrupted):
		return stateInterrupted
	default:
		return stateFailed
	}
}

// readTelemetry reads the file back: what a report shows is what the folder holds.
func (r *run) readTelemetry() (*telemetry.Log, error) {
	if r.sampler == nil {
		return nil, nil
	}
	log, err := telemetry.Read(r.folder.path(fileTelemetry))
	if err != nil {
		return nil, err
	}
	r.manifest.addMachines(log)
	return log, nil
}

// input is what the summary is made of beside the records.
func (r *run) input(log *telemetry.Log, loadErr error) report.Input {
	in := report.Input{
		Run: r.id, Scenario: r.settings.scenario.name, Labels: r.settings.labelMap(),
		Model: r.identity.judge(r.answers.judge(r.server.model)), KVMode: r.settings.expect.judge(r.seeKV(log)), WorkloadSHA256: r.workSHA, BootID: r.manifest.Client.BootID,
		Warmup: r.work.uncounted(), Signals: r.found.signals,
		Telemetry: log, TelemetryStats: r.manifest.Telemetry, TelemetryRequested: len(r.settings.telemetry)+len(r.settings.scrape) > 0,
		Client: r.health, Validity: r.limits, SLO: r.settings.slo, Streaming: !r.settings.noStream,
	}
	if loadErr != nil {
		in.Stopped = "the run failed or was stopped: " + printable(loadErr.Error())
	}
	for _, s := range r.spans {
		in.Phases = append(in.Phases, report.Phase{Name: s.Name, StartNS: s.StartNS, EndNS: s.EndNS})
	}
	return in
}

func (r *run) write(page report.Page) error {
	summary := page.Summary
	return errors.Join(
		r.folder.writeJSON(fileSummary, summary),
		r.folder.write(fileReport, func(w io.Writer) error { return report.Markdown(w, summary) }),
		r.folder.write(fileHTML, func(w io.Writer) error { return report.HTML(w, page) }),
		r.folder.writeResults(r.settings.results, summary),
	)
}

// print shows the figures and where the rest is.
func (r *run) print(summary report.Summary) error {
	err := report.Text(r.program.Stdout, summary)
	if err == nil {
		_, err = fmt.Fprintf(r.program.Stdout, "\nrun folder: %s%c\n", r.folder, os.PathSeparator)
	}
	return err
}

// judge turns what the figures say into an outcome: nil, invalid, or an SLO that was not met.
func judge(summary report.Summary) error {
	if !summary.Valid {
		var reasons []string
		for _, reason := range summary.InvalidReasons {
			reasons = append(reasons, fmt.Sprintf("%s (%s)", reason.Code, reason.Detail))
		}
		return outcome{exitInvalid, fmt.Errorf("the run is invalid: %s", strings.Join(reasons, "; "))}
	}
	if g := summary.Goodput; g != nil && !g.Met {
		return outcome{exitMissed, fmt.Errorf("--slo %s: %d of %d requests kept it, %g %% wanted", g.SLO, g.Good, g.Requests, 100*g.RequiredRatio)}
	}
	return nil
}
