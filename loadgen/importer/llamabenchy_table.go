package importer

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// benchyLine is a line of llama-benchy's CSV or of its table: the half of a row that is about the prompt or the answer.
type benchyLine struct {
	model   string
	name    benchyName
	figures benchyRow
}

// benchyColumns are the columns that the CSV has as NAME_mean and NAME_std, and the headings of the table.
var benchyColumns = []struct {
	csv                 string
	tables              []string
	prefill, generation func(*benchyRow) **benchyMetric
}{
	{"t_s", []string{"t/s (total)", "t/s"}, func(f *benchyRow) **benchyMetric { return &f.Prefill }, func(f *benchyRow) **benchyMetric { return &f.Decode }},
	{"t_s_req", []string{"t/s (req)"}, func(f *benchyRow) **benchyMetric { return &f.PrefillEach }, func(f *benchyRow) **benchyMetric { return &f.DecodeEach }},
	{"peak_ts", []string{"peak t/s"}, nil, func(f *benchyRow) **benchyMetric { return &f.Peak }},
	{"peak_ts_req", []string{"peak t/s (req)"}, nil, func(f *benchyRow) **benchyMetric { return &f.PeakEach }},
	{"ttfr", []string{"ttfr (ms)"}, func(f *benchyRow) **benchyMetric { return &f.FirstEvent }, nil},
	{"est_ppt", []string{"est_ppt (ms)"}, func(f *benchyRow) **benchyMetric { return &f.PrefillTime }, nil},
	{"e2e_ttft", []string{"e2e_ttft (ms)"}, func(f *benchyRow) **benchyMetric { return &f.TTFT }, nil},
}

// benchyName is the parsed name of a test, such as "ctx_pp @ d4096 (c5)".
type benchyName struct {
	context, prefill bool
	tokens           *int
	depth            int
	concurrency      int
}

var benchyTest = regexp.MustCompile(`^(ctx_)?(pp|tg)(\d{0,9})(?: @ d(\d{1,9}))?(?: \(c([1-9]\d{0,8})\))?$`)

// parseBenchyName parses the name of a test. Without a concurrency in it, all of the file's were 1.
func parseBenchyName(text string) (benchyName, error) {
	m := benchyTest.FindStringSubmatch(strings.TrimSpace(text))
	if m == nil {
		return benchyName{}, fmt.Errorf("%q is no test such as pp2048 @ d4096 (c5)", printable(text, longestLabel))
	}
	n := benchyName{context: m[1] != "", prefill: m[2] == "pp", concurrency: 1}
	if m[3] != "" {
		n.tokens = new(digits(m[3]))
	}
	if m[4] != "" {
		n.depth = digits(m[4])
	}
	if m[5] != "" {
		n.concurrency = digits(m[5])
	}
	return n, nil
}

// digits returns the number that at most nine digits are.
func digits(text string) int {
	n, _ := strconv.Atoi(text)
	return n
}

// readBenchyTable reads the CSV of llama-benchy, or its table in Markdown: means and standard deviations alone.
func readBenchyTable(f *file) ([]Result, error) {
	read := benchyCSV
	if !bytes.HasPrefix(f.text, []byte("model,")) {
		read = benchyMarkdown
	}
	lines, err := read(f.text)
	if err != nil {
		return nil, err
	}
	ended, err := f.changed()
	if err != nil {
		return nil, err
	}
	caching := slices.ContainsFunc(lines, func(l benchyLine) bool { return l.name.context })
	var all []Result
	for len(lines) > 0 {
		first := lines[0]
		cell := benchyCell{depth: first.name.depth, concurrency: first.name.concurrency, context: first.name.context}
		cell.cached = caching && cell.depth > 0 && !cell.context
		figures, n := first.figures, 1
		cell.set(first.name)
		if len(lines) > 1 && first.continuedBy(lines[1]) {
			second := lines[1]
			cell.set(second.name)
			figures.Decode, figures.DecodeEach, figures.Peak, figures.PeakEach = second.figures.Decode, second.figures.DecodeEach, second.figures.Peak, second.figures.PeakEach
			n = 2
		}
		lines = lines[n:]
		r := cell.result("", ended, first.model)
		r.Warnings = append(r.Warnings, changedWarning, versionMissing, "the file has means without their values: how many requests and batches they are of, and how many failed, is not in it")
		figures.figures(&r, cell)
		all = append(all, r)
	}
	distinct(all)
	return all, nil
}

// continuedBy reports whether the next line is the generation of the same row.
func (l benchyLine) continuedBy(next benchyLine) bool {
	a, b := l.name, next.name
	return a.prefill && !b.prefill && a.context == b.context && a.depth == b.depth && a.concurrency == b.concurrency && l.model == next.model
}

// set takes the tokens from the name of a test.
func (c *benchyCell) set(name benchyName) {
	if name.prefill {
		c.prompt = name.tokens
	} else {
		c.response = name.tokens
	}
}

func benchyCSV(text []byte) ([]benchyLine, error) {
	reader := csv.NewReader(bytes.NewReader(text))
	head, err := reader.Read()
	if err != nil {
		return nil, err
	}
	var lines []benchyLine
	for {
		record, err := reader.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		number, _ := reader.FieldPos(0)
		cells := map[string]string{}
		for i, name := range head {
			cells[name] = record[i]
		}
		l, err := benchyCells(number, cells["model"], cells["test_name"], func(i int) (string, string) {
			return cells[benchyColumns[i].csv+"_mean"], cells[benchyColumns[i].csv+"_std"]
		})
		if err != nil {
			return nil, err
		}
		lines = append(lines, l)
	}
	if len(lines) == 0 {
		return nil, errors.New("it has no rows")
	}
	return lines, nil
}

// benchyMarkdown reads the lines of a table; other text around it is ignored, such as that of a post.
func benchyMarkdown(text []byte) ([]benchyLine, error) {
	var lines []benchyLine
	var head []string
	for i, line := range strings.Split(string(text), "\n") {
		line = strings.TrimSpace(line)
		if !strings.HasPrefix(line, "|") {
			head = nil
			continue
		}
		row := strings.Split(strings.Trim(line, "|"), "|")
		for i := range row {
			row[i] = strings.TrimSpace(row[i])
		}
		switch {
		case head == nil && len(row) > 1 && row[0] == "model" && row[1] == "test":
			head = row
			continue
		case head == nil || strings.Trim(line, "|:-") == "":
			continue
		case len(row) != len(head):
			return nil, fmt.Errorf("line %d: it has %d cells below %d headings", i+1, len(row), len(head))
		}
		cells := map[string]string{}
		for i, name := range head {
			cells[name] = row[i]
		}
		l, err := benchyCells(i+1, cells["model"], cells["test"], func(i int) (string, string) {
			for _, name := range benchyColumns[i].tables {
				if mean, sd, found := strings.Cut(cells[name], "±"); found {
					return mean, sd
				}
			}
			return "", ""
		})
		if err != nil {
			return nil, err
		}
		lines = append(lines, l)
	}
	if len(lines) == 0 {
		return nil, errors.New("it is neither JSON nor a table with the columns model and test")
	}
	return lines, nil
}

// benchyCells makes a line of its cells; of returns mean and standard deviation in a column.
func benchyCells(number int, model, test string, of func(column int) (mean, sd string)) (benchyLine, error) {
	l := benchyLine{model: model}
	var err error
	if l.name, err = parseBenchyName(test); err != nil {
		return l, fmt.Errorf("line %d: %w", number, err)
	}
	for i, column := range benchyColumns {
		place := column.generation
		if l.name.prefill {
			place = column.prefill
		}
		mean, sd := of(i)
		if place == nil || mean == "" {
			continue
		}
		m := &benchyMetric{}
		for _, cell := range []struct {
			text string
			into **float64
		}{{mean, &m.Mean}, {sd, &m.SD}} {
			text := strings.TrimSpace(cell.text)
			if text == "" {
				continue
			}
			value, err := strconv.ParseFloat(text, 64)
			if err != nil {
				return l, fmt.Errorf("line %d: %s: %q is no number", number, column.csv, printable(text, longestLabel))
			}
			*cell.into = &value
		}
		*place(&l.figures) = m
	}
	return l, nil
}
