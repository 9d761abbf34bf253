package importer

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/umascope/umascope/exporter/engine/spec"
	"github.com/umascope/umascope/loadgen/rundir"
	"github.com/umascope/umascope/loadgen/stats"
)

// llamaBenchy reads the results of llama-benchy (0.3.8 and 0.4.0; llama_benchy/results.py), each row a run:
//
//	{"version":"0.4.0","timestamp":"2026-11-23 09:29:17Z","latency_mode":"api","latency_ms":0.64,"model":"m","prefix_caching_enabled":true,"max_concurrency":2,
//	 "benchmarks":[{"concurrency":1,"context_size":4096,"prompt_size":256,"response_size":16,"is_context_prefill_phase":false,
//	   "pp_throughput":{"mean":2107.8,"std":174.9,"values":[1932.9,2282.8]},"tg_throughput":{…},"ttfr":{…},"est_ppt":{…},"e2e_ttft":{…}}]}
//
// The timestamp is that of the end. Throughputs are in tokens per second, times in milliseconds. One request at a time
// has one value a request; several at once have one value a batch, those with req in their name one a request. A
// request that failed has no value, and no field counts it. Standard deviations divide by n, and are converted.
func llamaBenchy() Format {
	return Format{Name: "llama-benchy", Help: "results of llama-benchy 0.3 and 0.4 (JSON), each row a run; or its --emit-progress, with requests", read: readLlamaBenchy}
}

const (
	benchyTime = "2006-01-02 15:04:05Z"
	// ownVersion begins the version of a file that uma-load report wrote.
	ownVersion     = "umascope "
	versionMissing = "the file lacks the version of llama-benchy: how it counts tokens depends on it"
)

// benchyReport is the file. A file that sparkrun merged has only model and benchmarks.
type benchyReport struct {
	Version       string      `json:"version" yaml:"version"`
	Timestamp     string      `json:"timestamp" yaml:"timestamp"`
	LatencyMode   string      `json:"latency_mode" yaml:"latency_mode"`
	LatencyMS     *float64    `json:"latency_ms" yaml:"latency_ms"`
	Model         string      `json:"model" yaml:"model"`
	PrefixCaching *bool       `json:"prefix_caching_enabled" yaml:"prefix_caching_enabled"`
	Benchmarks    []benchyRow `json:"benchmarks" yaml:"benchmarks"`
}

// benchyRow is one phase of one cell: requests of one length at one depth, so many at once.
type benchyRow struct {
	Concurrency *int  `json:"concurrency" yaml:"concurrency"`
	Depth       *int  `json:"context_size" yaml:"context_size"`
	Prompt      *int  `json:"prompt_size" yaml:"prompt_size"`
	Response    *int  `json:"response_size" yaml:"response_size"`
	Context     *bool `json:"is_context_prefill_phase" yaml:"is_context_prefill_phase"`

	Prefill     *benchyMetric `json:"pp_throughput" yaml:"pp_throughput"`
	PrefillEach *benchyMetric `json:"pp_req_throughput" yaml:"pp_req_throughput"`
	Decode      *benchyMetric `json:"tg_throughput" yaml:"tg_throughput"`
	DecodeEach  *benchyMetric `json:"tg_req_throughput" yaml:"tg_req_throughput"`
	Peak        *benchyMetric `json:"peak_throughput" yaml:"peak_throughput"`
	PeakEach    *benchyMetric `json:"peak_req_throughput" yaml:"peak_req_throughput"`
	FirstEvent  *benchyMetric `json:"ttfr" yaml:"ttfr"`
	PrefillTime *benchyMetric `json:"est_ppt" yaml:"est_ppt"`
	TTFT        *benchyMetric `json:"e2e_ttft" yaml:"e2e_ttft"`
}

type benchyMetric struct {
	Mean   *float64   `json:"mean" yaml:"mean"`
	SD     *float64   `json:"std" yaml:"std"` // divided by n
	Values []*float64 `json:"values,omitempty" yaml:"values"`
}

func readLlamaBenchy(f *file) ([]Result, error) {
	if !bytes.HasPrefix(bytes.TrimSpace(f.text), []byte("{")) {
		return nil, errors.New("it is not JSON, which llama-benchy writes with --save-result FILE --format json; its CSV and Markdown are not read")
	}
	if isBenchyProgress(f.text) {
		return readBenchyProgress(f)
	}
	var report benchyReport
	if err := decode(f.text, &report); err != nil {
		return nil, err
	}
	return report.results(f, benchyOrigin{})
}

// benchyOrigin is what another file has about a report.
type benchyOrigin struct {
	// runs is how many batches of a cell were asked for, 0 if that is not in it. Single cells may have asked for others.
	runs int
	// ended is used for a report that has no time.
	ended time.Time
}

// results returns a run for each row.
func (b benchyReport) results(f *file, origin benchyOrigin) ([]Result, error) {
	if len(b.Benchmarks) == 0 {
		return nil, errors.New("it has no benchmarks")
	}
	ended, err := timeOf(benchyTime, "timestamp", b.Timestamp)
	if err != nil {
		return nil, err
	}
	ended = cmp.Or(ended, origin.ended)
	var warnings []string
	if ended.IsZero() {
		if ended, err = f.changed(); err != nil {
			return nil, err
		}
		warnings = append(warnings, changedWarning)
	}
	if b.Version == "" {
		warnings = append(warnings, versionMissing)
	}
	runs, caching := b.runs(), b.caching()
	var all []Result
	for i, row := range b.Benchmarks {
		cell, err := row.cell()
		if err != nil {
			return nil, fmt.Errorf("benchmarks[%d]: %w", i, err)
		}
		cell.cached = caching && cell.depth > 0 && !cell.context
		r := cell.result(b.Version, ended, b.Model)
		r.Warnings = append(r.Warnings, warnings...)
		r.setting("latency_mode", b.LatencyMode)
		if b.LatencyMS != nil {
			r.add(spec.NetworkSeconds, "", new(inSeconds(*b.LatencyMS)), 1)
			r.quote(spec.NetworkSeconds, "", *b.LatencyMS)
		}
		if b.PrefixCaching != nil {
			r.setting("prefix_caching_enabled", fmt.Sprint(*b.PrefixCaching))
		}
		row.figures(&r, cell)
		row.requests(&r, cell, max(runs, row.batches()))
		if n := row.batches(); n < origin.runs {
			r.Warnings = append(r.Warnings, fmt.Sprintf("%d of %d batches that were asked for have values: the others failed, or this cell asked for fewer", n, origin.runs))
		}
		all = append(all, r)
	}
	distinct(all)
	return all, nil
}

// runs returns the most batches that a row of the file has: what --runs was, unless a batch of every row failed as a
// whole. It returns 0 for a merged file: its rows may be of several --runs.
func (b benchyReport) runs() int {
	most := 0
	if b.Version == "" {
		return 0
	}
	for _, row := range b.Benchmarks {
		most = max(most, row.batches())
	}
	return most
}

// caching reports whether the depth was sent ahead of the prompts. A file that does not have the setting has rows of it.
func (b benchyReport) caching() bool {
	if b.PrefixCaching != nil {
		return *b.PrefixCaching
	}
	return slices.ContainsFunc(b.Benchmarks, func(row benchyRow) bool { return row.Context != nil && *row.Context })
}

// batches returns how many batches have a value.
func (row benchyRow) batches() int {
	return max(row.Prefill.n(), row.Decode.n(), row.Peak.n())
}

// cell returns the position of a row.
func (row benchyRow) cell() (benchyCell, error) {
	for _, of := range []struct {
		name  string
		value *int
	}{{"concurrency", row.Concurrency}, {"context_size", row.Depth}, {"prompt_size", row.Prompt}, {"response_size", row.Response}} {
		if of.value == nil || *of.value < 0 || *of.value > largest {
			return benchyCell{}, fmt.Errorf("it has no %s, or none that is a count", of.name)
		}
	}
	if *row.Concurrency == 0 {
		return benchyCell{}, errors.New("concurrency is 0")
	}
	return benchyCell{depth: *row.Depth, concurrency: *row.Concurrency, prompt: *row.Prompt, response: *row.Response, context: row.Context != nil && *row.Context}, nil
}

// benchyCell is a position in llama-benchy's grid.
type benchyCell struct {
	depth, concurrency, prompt, response int
	// context is true for the depth itself, sent ahead; cached for the prompt that follows it.
	context, cached bool
}

// prefill returns how many prompt tokens llama-benchy counts.
func (c benchyCell) prefill() int {
	switch {
	case c.context:
		return c.depth
	case c.cached:
		return c.prompt
	}
	return c.depth + c.prompt
}

func (c benchyCell) phase() string {
	if c.context {
		return rundir.CellContext
	}
	return rundir.CellInference
}

// result returns a run of the cell without figures.
func (c benchyCell) result(version string, ended time.Time, model string) Result {
	r := Result{
		Key:       fmt.Sprintf("%s %s d%d c%d", ended.Format(benchyTime), c.phase(), c.depth, c.concurrency),
		StartedAt: ended, EndedAt: ended, Program: "llama-benchy", Version: printable(version, longestLabel), Model: printable(model, longestLabel),
	}
	if strings.HasPrefix(version, ownVersion) {
		r.Program = "umascope"
	}
	r.label("model", model)
	r.label("tool_version", version)
	r.label(rundir.LabelCellPhase, c.phase())
	r.label(rundir.LabelDepth, fmt.Sprint(c.depth))
	r.label(rundir.LabelConcurrency, fmt.Sprint(c.concurrency))
	for _, of := range []struct {
		name  string
		value int
	}{{rundir.LabelPrompt, c.prompt}, {rundir.LabelResponse, c.response}} {
		r.label(of.name, fmt.Sprint(of.value))
		r.Key += fmt.Sprintf(" %s%d", of.name, of.value)
	}
	r.Warnings = append(r.Warnings, c.warnings(version)...)
	return r
}

// warnings returns where llama-benchy's terms differ from umascope's.
func (c benchyCell) warnings(version string) []string {
	all := []string{"llama-benchy's pp is prompt tokens over the time to the first token, with a decode step in it; of one request at a time it leaves out the latency of the network"}
	if strings.HasPrefix(version, "0.3.") {
		all = append(all, "llama-benchy 0.3 counts the text of each event by its own tokenizer if the server sends no token ids")
	} else {
		all = append(all, "llama-benchy 0.4.0 spreads the tokens of an answer evenly over its events if the server sends no token ids: its tg is then too high by the tokens of the first event")
	}
	if c.concurrency > 1 {
		all = append(all, "llama-benchy's tg of several requests counts from the first token of the first answer: the prefill of slower requests is in it")
	}
	if c.cached {
		all = append(all, "llama-benchy's pp at a depth counts the new prompt only: it holds if the depth came from a prefix cache, and its files do not have the hits")
	}
	return all
}

// figures adds the figures of a row.
func (row benchyRow) figures(r *Result, c benchyCell) {
	for _, of := range []struct {
		name   spec.Quantity
		metric *benchyMetric
		base   func(float64) float64
	}{
		{spec.PrefillTokensPerSecond, row.Prefill, asIs}, {spec.PrefillTokensPerSecondEach, row.PrefillEach, asIs},
		{spec.DecodeTokensPerSecond, row.Decode, asIs}, {spec.UserTokensPerSecond, row.DecodeEach, asIs},
		{spec.PeakTokensPerSecond, row.Peak, asIs}, {spec.PeakTokensPerSecondEach, row.PeakEach, asIs},
		{spec.FirstEventSeconds, row.FirstEvent, inSeconds}, {spec.PrefillSeconds, row.PrefillTime, inSeconds}, {spec.TTFTSeconds, row.TTFT, inSeconds},
	} {
		of.metric.add(r, of.name, of.base)
	}
	row.earlyRole(r, c)
}

// earlyEventMS is by how much an event must precede the first token to be one that was sent before the prompt was read.
const earlyEventMS = 1

// earlyRole warns of a first event without text that makes prompt tokens per second too high by a fifth.
func (row benchyRow) earlyRole(r *Result, c benchyCell) {
	first, prefill, ttft := row.FirstEvent.mean(), row.PrefillTime.mean(), row.TTFT.mean()
	if early := ttft - first; !(early > max(prefill/5, earlyEventMS)) {
		return
	}
	r.Warnings = append(r.Warnings, fmt.Sprintf("early role: the first event came %.0f ms before the first token, so that pp of a request is too high: by the time to first token it is %.0f t/s", ttft-first, float64(c.prefill())/ttft*1e3))
}

// requests adds how many requests have values, and those that have none. A row whose batches all failed counts as one
// without requests.
func (row benchyRow) requests(r *Result, cell benchyCell, runs int) {
	answered := float64(max(row.FirstEvent.n(), row.TTFT.n()))
	r.add(spec.Requests, "", &answered, 1)
	lost := float64(runs)*float64(cell.concurrency) - answered
	if !(lost > 0) {
		return
	}
	r.add(spec.FailedRequests, "", &lost, 1)
	r.Warnings = append(r.Warnings, fmt.Sprintf("requests lost: the file has values of %.0f requests, %d batches of %d are %.0f", answered, runs, cell.concurrency, answered+lost))
}

func asIs(v float64) float64 { return v }

// inSeconds converts milliseconds by their decimal digits: a product with a thousandth has another last bit at times,
// and a figure that was written in seconds would not be read as the same.
func inSeconds(ms float64) float64 {
	digits, exponent, _ := strings.Cut(strconv.FormatFloat(ms, 'e', -1, 64), "e")
	power, _ := strconv.Atoi(exponent) // that of a formatted number
	seconds, _ := strconv.ParseFloat(fmt.Sprintf("%se%d", digits, power-3), 64)
	return seconds
}

// add adds a figure with its statistics, converted to the base unit; its mean has the text of the file.
func (m *benchyMetric) add(r *Result, name spec.Quantity, base func(float64) float64) {
	if m == nil || m.Mean == nil {
		return
	}
	before := len(r.Values)
	r.add(name, "mean", new(base(*m.Mean)), 1)
	r.quote(name, "mean", m)
	values := m.values()
	if len(r.Values) > before && len(values) > 0 {
		for _, v := range values {
			r.Values[before].Values = append(r.Values[before].Values, base(v))
		}
	}
	if n := float64(len(values)); n > 1 && m.SD != nil {
		r.add(name, "sd", new(base(*m.SD)*math.Sqrt(n/(n-1))), 1)
	} else if n == 0 && m.SD != nil {
		r.add(name, "population_sd", new(base(*m.SD)), 1)
	}
	if len(values) == 0 {
		return
	}
	slices.Sort(values)
	for _, of := range []struct {
		statistic string
		value     float64
	}{{"min", values[0]}, {"p50", stats.Quantile(values, .5)}, {"max", values[len(values)-1]}} {
		r.add(name, of.statistic, new(base(of.value)), 1)
	}
}

// quote sets the text that a figure has in the file, in the tool's unit: an export has the same digits.
func (r *Result) quote(name spec.Quantity, statistic string, of any) {
	text, err := json.Marshal(of)
	if n := len(r.Values) - 1; err == nil && n >= 0 && r.Values[n].Name == name && r.Values[n].Statistic == statistic {
		r.Values[n].Text = string(text)
	}
}

// values returns the values that are numbers a figure can have.
func (m *benchyMetric) values() []float64 {
	var all []float64
	for _, v := range m.Values {
		if v != nil && *v >= 0 && *v <= largest {
			all = append(all, *v)
		}
	}
	return all
}

// n returns how many values there are.
func (m *benchyMetric) n() int {
	if m == nil {
		return 0
	}
	return len(m.values())
}

// mean returns the mean; NaN, which no comparison accepts, where there is none.
func (m *benchyMetric) mean() float64 {
	if m == nil || m.Mean == nil {
		return math.NaN()
	}
	return *m.Mean
}

// distinct numbers the runs of a file that have the same key: a cell that was asked for twice.
func distinct(all []Result) {
	seen := map[string]int{}
	for i := range all {
		key := all[i].Key
		if seen[key]++; seen[key] > 1 {
			all[i].Key = fmt.Sprintf("%s #%d", key, seen[key])
		}
	}
}
