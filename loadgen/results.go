package loadgen

import (
	"errors"
	"io"

	"github.com/umascope/umascope/cmd/terminal"
	"github.com/umascope/umascope/loadgen/render"
	"github.com/umascope/umascope/loadgen/render/report"
	"github.com/umascope/umascope/loadgen/rundir"
	"github.com/umascope/umascope/loadgen/summary"
)

// results holds the flags for the additional files of a run.
type results struct {
	xlsx, csv, conversations, benchstat bool
}

func resultFlags(set terminal.FlagSet, r *results) {
	set.Flag("xlsx", "Write "+rundir.WorkbookFile+" too.").BoolVar(&r.xlsx)
	set.Flag("csv", "Write "+rundir.RequestsCSVFile+" and "+rundir.SummaryCSVFile+" too.").BoolVar(&r.csv)
	set.Flag("conversations", "Write "+rundir.ConversationsFile+" too, a line for each conversation.").BoolVar(&r.conversations)
	set.Flag("benchstat", "Write "+rundir.BenchstatFile+" too, for benchstat.").BoolVar(&r.benchstat)
}

// writeResults writes the files that were asked for from the files of the run folder. A run whose load was a command
// has figures that its tool reported in place of requests.
func writeResults(f rundir.Folder, want results, sum summary.Summary) error {
	requests := func() render.Sheet { return report.RequestSheet(sum, summary.Records(f.Path(rundir.RequestsFile))) }
	raw := requests
	if sum.Tool != nil {
		raw = func() render.Sheet { return report.ToolSheet(sum) }
	}
	var errs []error
	write := func(asked bool, name string, render func(io.Writer) error) {
		if asked {
			errs = append(errs, f.Write(name, render))
		}
	}
	write(want.xlsx, rundir.WorkbookFile, func(w io.Writer) error { return render.XLSX(w, report.SummarySheet(sum), raw()) })
	write(want.csv && sum.Tool == nil, rundir.RequestsCSVFile, func(w io.Writer) error { return render.CSV(w, requests()) })
	write(want.csv, rundir.SummaryCSVFile, func(w io.Writer) error {
		figures, err := report.FigureSheet(sum)
		if err != nil {
			return err
		}
		return render.CSV(w, figures)
	})
	write(want.conversations, rundir.ConversationsFile, func(w io.Writer) error { return writeConversations(w, f, sum) })
	write(want.benchstat, rundir.BenchstatFile, func(w io.Writer) error { return report.Benchstat(w, sum) })
	return errors.Join(errs...)
}

func writeConversations(w io.Writer, f rundir.Folder, s summary.Summary) error {
	outputs, err := rundir.OpenOutputs(f.Path(rundir.OutputsFile))
	if err != nil {
		return err
	}
	defer outputs.Close()
	return report.Conversations(w, s, summary.Records(f.Path(rundir.RequestsFile)), outputs.Find)
}
