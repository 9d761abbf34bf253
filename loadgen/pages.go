package loadgen

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/umascope/umascope/loadgen/compare"
	"github.com/umascope/umascope/loadgen/render/report"
	"github.com/umascope/umascope/loadgen/rundir"
	"github.com/umascope/umascope/loadgen/summary"
)

// showRun writes the pages of a run.
func showRun(r summary.Run) error {
	page, err := report.PageOf(r)
	if err != nil {
		return err
	}
	return errors.Join(
		r.Write(rundir.ReportFile, func(w io.Writer) error { return report.Markdown(w, r.Summary) }),
		r.Write(rundir.HTMLFile, func(w io.Writer) error { return report.HTML(w, page) }),
	)
}

// writeRunsPage writes a page of runs into the folder of their campaign: what their comparison shows, a table, charts by
// arm and charts over time. It reports each run that it leaves out to a writer.
func writeRunsPage(dir rundir.Folder, c compare.Comparison, runs []summary.Run, notices io.Writer) error {
	sound, damaged := report.WithTelemetry(runs)
	reportLeftOut(notices, damaged)
	return dir.Write(rundir.HTMLFile, report.NewRuns(sound, []string{string(dir)}, dir.Path(rundir.HTMLFile)).Compared(c).WriteHTML)
}

// printRun prints the figures of a run and the path of its folder.
func printRun(w io.Writer, f rundir.Folder, sum summary.Summary) error {
	err := report.Text(w, sum)
	if err == nil {
		_, err = fmt.Fprintf(w, "\nrun folder: %s%c\n", f, os.PathSeparator)
	}
	return err
}

// judge turns the figures of a run into an outcome: nil, invalid, or an SLO that was not met.
func judge(sum summary.Summary) error {
	if !sum.Valid {
		var reasons []string
		for _, reason := range sum.InvalidReasons {
			reasons = append(reasons, fmt.Sprintf("%s (%s)", reason.Code, reason.Detail))
		}
		return outcome{exitInvalid, fmt.Errorf("the run is invalid: %s", strings.Join(reasons, "; "))}
	}
	if g := sum.SLO; g != nil && !g.Met {
		return outcome{exitMissed, fmt.Errorf("--slo %s: %d of %d requests kept it, %g %% wanted", g.SLO, g.Good, g.Requests, 100*g.RequiredRatio)}
	}
	return nil
}
