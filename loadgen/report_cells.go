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
	formBenchy        = "llama-benchy"
	formBenchyCSV     = "llama-benchy-csv"
	formBenchyTable   = "llama-benchy-md"
)

// cellFormats are the formats that every run must be a cell for.
func cellFormats() []string {
	return []string{formCells, formCellsMarkdown, formBenchy, formBenchyCSV, formBenchyTable}
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
	return l.write(stdout, func(w io.Writer) error {
		switch l.format {
		case formBenchyCSV:
			return file.WriteCSV(w)
		case formBenchyTable:
			return file.WriteMarkdown(w)
		}
		return file.WriteJSON(w)
	})
}
