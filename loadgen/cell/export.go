package cell

import (
	"cmp"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/umascope/umascope/loadgen/render"
)

// Report is a file of results as llama-benchy 0.4.0 writes it (BenchmarkReport of llama_benchy/results.py), which it
// and sparkrun read. Its members have the order and the spelling of the file.
type Report struct {
	Version        string      `json:"version"`
	Timestamp      string      `json:"timestamp"`
	LatencyMode    string      `json:"latency_mode"`
	LatencyMS      number      `json:"latency_ms"`
	Model          string      `json:"model"`
	PrefixCaching  bool        `json:"prefix_caching_enabled"`
	MaxConcurrency int         `json:"max_concurrency"`
	Benchmarks     []benchmark `json:"benchmarks"`
}

type benchmark struct {
	Concurrency int       `json:"concurrency"`
	Depth       int       `json:"context_size"`
	Prompt      int       `json:"prompt_size"`
	Response    int       `json:"response_size"`
	Context     bool      `json:"is_context_prefill_phase"`
	Prefill     *exported `json:"pp_throughput"`
	PrefillEach *exported `json:"pp_req_throughput"`
	Decode      *exported `json:"tg_throughput"`
	DecodeEach  *exported `json:"tg_req_throughput"`
	Peak        *exported `json:"peak_throughput"`
	PeakEach    *exported `json:"peak_req_throughput"`
	FirstEvent  *exported `json:"ttfr"`
	PrefillTime *exported `json:"est_ppt"`
	TTFT        *exported `json:"e2e_ttft"`
	// Both are written only if llama-benchy is asked for them.
	Series     any `json:"throughput_over_time"`
	EachSeries any `json:"requests_throughput_over_time"`

	row Row
}

type exported struct {
	Mean   number   `json:"mean"`
	SD     number   `json:"std"`
	Values []number `json:"values"`
}

// number is written as Python writes a float: the fewest digits that are read as the same number.
type number float64

func (n number) MarshalJSON() ([]byte, error) { return []byte(n.String()), nil }

func (n number) String() string {
	v := float64(n)
	if size := max(v, -v); size != 0 && (size < 1e-4 || size >= 1e16) {
		return strconv.FormatFloat(v, 'e', -1, 64)
	}
	text := strconv.FormatFloat(v, 'f', -1, 64)
	if !strings.Contains(text, ".") {
		text += ".0"
	}
	return text
}

// benchyTime is the form of timestamp.
const benchyTime = "2006-01-02 15:04:05Z"

// NewReport makes a file of rows; program is the program that writes it. One file is of one model, one arm and one
// setting of prefix caching: it has no place for a second.
func NewReport(rows []Row, program string) (Report, error) {
	if len(rows) == 0 {
		return Report{}, errors.New("there is no cell to export")
	}
	rows = slices.Clone(rows)
	slices.SortStableFunc(rows, func(a, b Row) int {
		return cmp.Or(a.Started.Compare(b.Started), a.before(b))
	})
	if err := alike(rows); err != nil {
		return Report{}, err
	}
	first := rows[0]
	r := Report{Model: first.Model, LatencyMode: cmp.Or(first.LatencyMode, "none"), MaxConcurrency: 1}
	var origins []string
	var ended time.Time
	for _, row := range rows {
		if origin := row.origin(); !slices.Contains(origins, origin) {
			origins = append(origins, origin)
		}
		if row.Ended.After(ended) {
			ended = row.Ended
		}
		r.PrefixCaching = r.PrefixCaching || row.caching()
		r.MaxConcurrency = max(r.MaxConcurrency, row.Concurrency)
		r.Benchmarks = append(r.Benchmarks, row.benchmark())
	}
	r.Version, r.Timestamp = "umascope "+program+"; "+strings.Join(origins, ", "), ended.UTC().Format(benchyTime)
	r.LatencyMS = latencyOf(rows)
	return r, nil
}

// alike returns an error for rows that cannot be in one file.
func alike(rows []Row) error {
	first := rows[0]
	var ahead, with *Row
	for i, row := range rows {
		if row.Model != first.Model {
			return fmt.Errorf("%s is of the model %q and %s of %q: a file of llama-benchy has one", first.Run, first.Model, row.Run, row.Model)
		}
		if row.Arm != first.Arm {
			return fmt.Errorf("%s is of the arm %q and %s of %q: a file of llama-benchy has one", first.Run, first.Arm, row.Run, row.Arm)
		}
		switch {
		case row.Depth == 0:
		case row.Context || row.Cached:
			ahead = &rows[i]
		default:
			with = &rows[i]
		}
	}
	if ahead != nil && with != nil {
		return fmt.Errorf("the depth of %s was sent ahead, for the prefix cache, and that of %s with the prompt: a file of llama-benchy has one of both", ahead.Run, with.Run)
	}
	return nil
}

// origin says whose the figures are.
func (r Row) origin() string {
	if r.Tool != "" {
		return "figures of " + r.Tool
	}
	return "llama-benchy 0.4.0's definitions"
}

// latencyOf returns the latency in milliseconds: of runs that each probed it, the mean.
func latencyOf(rows []Row) number {
	if first := rows[0].latencyMS(); !slices.ContainsFunc(rows, func(r Row) bool { return r.latencyMS() != first }) {
		return number(first)
	}
	sum := 0.0
	for _, r := range rows {
		sum += r.latencyMS()
	}
	return number(sum / float64(len(rows)))
}

// latencyMS returns the latency as its tool wrote it, or else to the nanosecond, as it is taken off.
func (r Row) latencyMS() float64 {
	if r.ReportedLatencyMS != nil {
		return *r.ReportedLatencyMS
	}
	return milliseconds(nanoseconds(r.LatencySeconds))
}

func (r Row) benchmark() benchmark {
	f := r.LlamaBenchy()
	return benchmark{
		Concurrency: r.Concurrency, Depth: r.Depth, Prompt: r.Prompt, Response: r.Response, Context: r.Context,
		Prefill: export(f.Prefill), PrefillEach: export(f.PrefillEach), Decode: export(f.Decode), DecodeEach: export(f.DecodeEach),
		Peak: export(f.Peak), PeakEach: export(f.PeakEach), FirstEvent: export(f.FirstEvent), PrefillTime: export(f.PrefillTime), TTFT: export(f.TTFT),
		row: r,
	}
}

func export(m *Metric) *exported {
	if m == nil {
		return nil
	}
	e := &exported{Mean: number(m.Mean), SD: number(m.SD), Values: []number{}} // a list that is required
	for _, v := range m.Values {
		e.Values = append(e.Values, number(v))
	}
	return e
}

// WriteJSON writes the file as llama-benchy does with --format json.
func (r Report) WriteJSON(w io.Writer) error {
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	return encoder.Encode(r)
}

// line is a line of the CSV and of the table: one half of a benchmark.
type line struct {
	test                    string
	total, each             *exported
	peak, peakEach          *exported
	first, prefill, ttftEnd *exported
}

// lines returns the two halves of each benchmark, those that have a figure.
func (r Report) lines() []line {
	var all []line
	for _, b := range r.Benchmarks {
		prefill, decode := b.row.names(r.MaxConcurrency > 1)
		if b.Prefill != nil {
			all = append(all, line{test: prefill, total: b.Prefill, each: b.PrefillEach, first: b.FirstEvent, prefill: b.PrefillTime, ttftEnd: b.TTFT})
		}
		if b.Decode != nil || b.Peak != nil {
			all = append(all, line{test: decode, total: b.Decode, each: b.DecodeEach, peak: b.Peak, peakEach: b.PeakEach})
		}
	}
	return all
}

// WriteCSV writes means and standard deviations as llama-benchy does with --format csv.
func (r Report) WriteCSV(w io.Writer) error {
	out := csv.NewWriter(w)
	out.UseCRLF = true
	head := []string{"model", "test_name"}
	for _, name := range []string{"t_s", "t_s_req", "peak_ts", "peak_ts_req", "ttfr", "est_ppt", "e2e_ttft"} {
		head = append(head, name+"_mean", name+"_std")
	}
	records := [][]string{head}
	for _, l := range r.lines() {
		record := []string{render.Literal(r.Model), l.test}
		for _, m := range []*exported{l.total, l.each, l.peak, l.peakEach, l.first, l.prefill, l.ttftEnd} {
			if m == nil {
				record = append(record, "", "")
				continue
			}
			record = append(record, m.Mean.String(), m.SD.String())
		}
		records = append(records, record)
	}
	return out.WriteAll(records)
}

// WriteMarkdown writes the table that people post: as llama-benchy does with --format md.
func (r Report) WriteMarkdown(w io.Writer) error {
	lines := r.lines()
	if len(lines) == 0 {
		_, err := io.WriteString(w, "No results collected. Check if the model is generating tokens.\n")
		return err
	}
	several := r.MaxConcurrency > 1
	rows := [][]string{{"model", "test", "t/s", "peak t/s", "ttfr (ms)", "est_ppt (ms)", "e2e_ttft (ms)"}}
	if several {
		rows[0] = []string{"model", "test", "t/s (total)", "t/s (req)", "peak t/s", "peak t/s (req)", "ttfr (ms)", "est_ppt (ms)", "e2e_ttft (ms)"}
	}
	model := render.EscapeMarkdown(r.Model)
	for _, l := range lines {
		row := []string{model, l.test, l.total.short(), l.each.short(), l.peak.short(), l.peakEach.short(), l.first.short(), l.prefill.short(), l.ttftEnd.short()}
		if !several {
			row = slices.Delete(row, 5, 6)
			row = slices.Delete(row, 3, 4)
		}
		rows = append(rows, row)
	}
	_, err := io.WriteString(w, pipes(rows))
	return err
}

// short returns a figure with two decimals.
func (e *exported) short() string {
	if e == nil {
		return ""
	}
	return fmt.Sprintf("%.2f ± %.2f", float64(e.Mean), float64(e.SD))
}

// pipes sets a table as Python's tabulate does: the first column flush left, the others right, and each at least two
// characters wider than its heading.
func pipes(rows [][]string) string {
	widths := make([]int, len(rows[0]))
	for i, row := range rows {
		for column, cell := range row {
			width := utf8.RuneCountInString(cell)
			if i == 0 {
				width += 2
			}
			widths[column] = max(widths[column], width)
		}
	}
	var text strings.Builder
	for i, row := range rows {
		for column, cell := range row {
			space := strings.Repeat(" ", widths[column]-utf8.RuneCountInString(cell))
			if column == 0 {
				cell += space
			} else {
				cell = space + cell
			}
			text.WriteString("| " + cell + " ")
		}
		text.WriteString("|\n")
		if i > 0 {
			continue
		}
		for column, width := range widths {
			rule := strings.Repeat("-", width+1)
			if column == 0 {
				rule = ":" + rule
			} else {
				rule += ":"
			}
			text.WriteString("|" + rule)
		}
		text.WriteString("|\n")
	}
	return text.String()
}
