package loadgen

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/umascope/umascope/loadgen/report"
	"github.com/umascope/umascope/loadgen/sheet"
)

// Files that are written on request.
const (
	fileWorkbook      = "results.xlsx"
	fileRequestsCSV   = "requests.csv"
	fileSummaryCSV    = "summary.csv"
	fileConversations = "conversations.jsonl"
	fileBenchstat     = "results.txt"
)

// results says which further files a run writes.
type results struct {
	xlsx, csv, conversations, benchstat bool
}

func resultFlags(set flagSet, r *results) {
	set.Flag("xlsx", "Write "+fileWorkbook+" too: sheets Summary and Raw data.").BoolVar(&r.xlsx)
	set.Flag("csv", "Write "+fileRequestsCSV+" and "+fileSummaryCSV+" too.").BoolVar(&r.csv)
	set.Flag("conversations", "Write "+fileConversations+" too: a line for each conversation, with its answers if --save-outputs.").BoolVar(&r.conversations)
	set.Flag("benchstat", "Write "+fileBenchstat+" too, for benchstat to compare runs.").BoolVar(&r.benchstat)
}

// writeResults writes the files that were asked for, from those that the folder has.
func (f folder) writeResults(want results, summary report.Summary) error {
	requests := func() sheet.Sheet { return report.RequestSheet(summary, report.Records(f.path(fileRequests))) }
	var errs []error
	write := func(asked bool, name string, render func(io.Writer) error) {
		if asked {
			errs = append(errs, f.write(name, render))
		}
	}
	write(want.xlsx, fileWorkbook, func(w io.Writer) error {
		return sheet.XLSX(w, report.SummarySheet(summary), requests())
	})
	write(want.csv, fileRequestsCSV, func(w io.Writer) error { return sheet.CSV(w, requests()) })
	write(want.csv, fileSummaryCSV, func(w io.Writer) error {
		figures, err := report.FigureSheet(summary)
		if err != nil {
			return err
		}
		return sheet.CSV(w, figures)
	})
	write(want.conversations, fileConversations, f.writeConversations)
	write(want.benchstat, fileBenchstat, func(w io.Writer) error { return report.Benchstat(w, summary) })
	return errors.Join(errs...)
}

func (f folder) writeConversations(w io.Writer) error {
	outputs, err := openOutputs(f.path(fileOutputs))
	if err != nil {
		return err
	}
	defer outputs.close()
	return report.Conversations(w, report.Records(f.path(fileRequests)), outputs.find)
}

// outputFile finds what the model wrote in outputs.jsonl. It keeps where each line is, not the
// lines: the texts of a run may be larger than memory.
type outputFile struct {
	file  *os.File
	lines map[requestKey]extent
}

type requestKey struct {
	phase string
	index int
}

type extent struct{ at, length int64 }

// openOutputs reads the file once. One that is not there has no outputs; a torn last line is left
// out.
func openOutputs(path string) (*outputFile, error) {
	file, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return &outputFile{}, nil
	}
	if err != nil {
		return nil, err
	}
	o := &outputFile{file: file, lines: map[requestKey]extent{}}
	if err := o.index(); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", path, err), file.Close())
	}
	return o, nil
}

func (o *outputFile) index() error {
	reader := bufio.NewReaderSize(o.file, 1<<20)
	var at int64
	for number := 1; ; number++ {
		text, err := reader.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		var line struct {
			Phase string `json:"phase"`
			Index int    `json:"index"`
		}
		if err := json.Unmarshal(text, &line); err != nil {
			return fmt.Errorf("line %d: %w", number, err)
		}
		o.lines[requestKey{line.Phase, line.Index}] = extent{at, int64(len(text))}
		at += int64(len(text))
	}
}

func (o *outputFile) find(phase string, index int) (*string, error) {
	where, ok := o.lines[requestKey{phase, index}]
	if !ok {
		return nil, nil
	}
	text := make([]byte, where.length)
	if _, err := o.file.ReadAt(text, where.at); err != nil {
		return nil, err
	}
	var line output
	if err := json.Unmarshal(text, &line); err != nil {
		return nil, err
	}
	return &line.Output, nil
}

func (o *outputFile) close() {
	if o.file != nil {
		_ = o.file.Close() // it was only read
	}
}
