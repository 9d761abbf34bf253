package runner

import (
	"fmt"
	"slices"

	"github.com/umascope/umascope/exporter/engine/spec"
	"github.com/umascope/umascope/loadgen/rundir"
	"github.com/umascope/umascope/loadgen/subprocess"
	"github.com/umascope/umascope/loadgen/summary"
)

// recorded is a recording whose command has ended, with the data that its folder does not hold yet.
type recorded struct {
	run  *recording
	exit subprocess.Exit // the zero value if the command never ran
	err  error
}

// finish completes the folder and computes the summary from it. The summary is nil if it cannot be computed. The error
// joins the errors of all files that could not be written.
func (e recorded) finish() (*summary.Run, error) {
	r := e.run
	state := stateOf(e.err)
	if e.exit.Code != 0 && e.err == nil {
		state = rundir.StateFailed
	}
	_, err := r.end(state)
	r.manifest.Command.Version, r.manifest.Command.Borders = r.log.reading.Version, r.log.borders
	return r.complete(e.judging(), err)
}

// judging returns the facts about the command that the summary needs.
func (e recorded) judging() *rundir.Judging {
	r := e.run
	c, reading, campaign := r.manifest.Command, r.log.reading, r.manifest.Campaign
	values, warnings := commandResults(r.load, r.manifest.StartedAt)
	j := &rundir.Judging{
		Streaming: true, TelemetryRequested: r.keep.Capture.Requested(), Validity: r.keep.Validity, Checks: checkFindings(campaign),
		Tool: &rundir.ToolReport{
			Program: c.Program, Extractor: c.Extractor, Version: c.Version, ExitCode: c.ExitCode, Ranks: reading.Ranks(),
			Values: slices.Concat([]spec.Reported{}, reading.Values(), values),
		},
		Engine: summary.EngineOf(reading, "the log of "+c.Program), Complete: true,
		Warnings: slices.Concat(r.capture.warnings(), e.warnings(), warnings, problems(campaign)),
	}
	names, _ := uncounted(r.capture.spans)
	j.Unmeasured = append([]string{}, names...) // an empty list, not null
	switch {
	case e.err != nil:
		j.Stopped = "the run failed or was stopped: " + printable(e.err.Error())
	case e.exit.Code != 0:
		j.Stopped = c.Program + " " + e.exit.String()
	}
	return j
}

// warnings returns warnings about how the command's output was read.
func (e recorded) warnings() []string {
	r := e.run
	var w []string
	if r.manifest.Command.ExitCode == nil {
		return nil // the command never ran
	}
	if _, measured := uncounted(r.capture.spans); !measured {
		w = append(w, "the log does not show when the benchmark began: the whole command is measured, the start of its engine too")
	}
	if ranks := r.log.reading.Ranks(); ranks > 1 {
		w = append(w, fmt.Sprintf("the engine has %d ranks: what its log reports of memory is of the first, and is none of the machine's figures", ranks))
	}
	for _, stream := range r.manifest.Command.Cut {
		w = append(w, fmt.Sprintf("of the command's %s only the first %d MiB are kept", stream, mostPrinted>>20))
	}
	if e.exit.OutputLeft {
		w = append(w, "something that the command started was still there when it had ended, and held its output")
	}
	return w
}
