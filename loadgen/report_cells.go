package loadgen

import (
	"fmt"
	"io"
	"slices"

	"github.com/umascope/umascope/loadgen/cell"
	"github.com/umascope/umascope/loadgen/render"
	"github.com/umascope/umascope/loadgen/summary"
)

// Formats of a report on cells.
const (
	formCells         = "cells"
	formCellsMarkdown = "cells-md"
)

// benchyFile is a file of llama-benchy.
type benchyFile struct {
	// format names it for report --format. In --export of arena, which writes files of llama-benchy only, it is short.
	format, short string
	write         func(cell.Report, io.Writer) error
}

// benchyFiles are the files that llama-benchy writes.
func benchyFiles() []benchyFile {
	return []benchyFile{
		{"llama-benchy", "llama-benchy", cell.Report.WriteJSON},
		{"llama-benchy-csv", "csv", cell.Report.WriteCSV},
		{"llama-benchy-md", "md", cell.Report.WriteMarkdown},
	}
}

// cellFormats are the formats that every run must be a cell for.
func cellFormats() []string {
	all := []string{formCells, formCellsMarkdown}
	for _, f := range benchyFiles() {
		all = append(all, f.format)
	}
	return all
}

// reportCells shows runs that are cells, all in one table or file. A run that is none is an error: a table without it
// would look whole.
func (l *reportLine) reportCells(stdout io.Writer, paths []string) error {
	var runs []summary.Run
	for _, path := range paths {
		r, err := l.openRun(path)
		if err != nil {
			return usage(err)
		}
		runs = append(runs, r)
	}
	slices.SortStableFunc(runs, func(a, b summary.Run) int { return a.Manifest.StartedAt.Compare(b.Manifest.StartedAt) })
	var rows []cell.Row
	for _, r := range runs {
		of, err := cell.Read(r)
		if err != nil {
			return usage(fmt.Errorf("--format %s: %w", l.format, err))
		}
		rows = append(rows, of...)
	}
	return l.writeCells(stdout, rows)
}

func (l *reportLine) writeCells(stdout io.Writer, rows []cell.Row) error {
	switch l.format {
	case formCells:
		return l.write(stdout, func(w io.Writer) error { return cell.WriteText(w, rows) })
	case formCellsMarkdown:
		return l.write(stdout, func(w io.Writer) error { return render.Markdown(w, cell.Document(rows)) })
	}
	file, err := cell.NewReport(rows, buildVersion().Version)
	if err != nil {
		return usage(fmt.Errorf("--format %s: %w", l.format, err))
	}
	of := slices.IndexFunc(benchyFiles(), func(f benchyFile) bool { return f.format == l.format })
	return l.write(stdout, func(w io.Writer) error { return benchyFiles()[of].write(file, w) })
}
