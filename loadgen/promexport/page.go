package promexport

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/umascope/umascope/cmd/webserver"
	"github.com/umascope/umascope/exporter/metric"
	"github.com/umascope/umascope/loadgen/compare"
	"github.com/umascope/umascope/loadgen/format"
	"github.com/umascope/umascope/loadgen/render"
)

// mostScrapes is the number of concurrent pages; further requests get an error and should retry later.
const mostScrapes = 8

// Program is the build information of the server.
type Program struct{ Version, Revision, GoVersion string }

// Handler serves the series, an HTML page, and a health check.
func Handler(s *Results, p Program, log *slog.Logger) (http.Handler, error) {
	registry := prometheus.NewRegistry()
	if err := errors.Join(registry.Register(collector{s}), registry.Register(build(p))); err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{
		EnableOpenMetrics: true, MaxRequestsInFlight: mostScrapes, ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelError),
	}))
	mux.HandleFunc("GET "+webserver.HealthPath, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) })
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		var page bytes.Buffer
		if err := render.HTML(&page, document(s.Look(), s.Root, p)); err != nil {
			log.Error("page", "problem", err.Error())
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.Header().Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		_, _ = w.Write(page.Bytes())
	})
	return mux, nil
}

// decimals formats a number with n decimals; empty if it is nil.
func decimals(n int, v *float64) string {
	if v == nil {
		return ""
	}
	return strconv.FormatFloat(*v, 'f', n, 64)
}

// build returns the build information of the server.
func build(p Program) prometheus.Collector {
	d := metric.LoadBuildInfo.Def()
	gauge := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: d.Name, Help: d.HelpText()}, d.LabelNames())
	gauge.WithLabelValues(p.Version, p.Revision, p.GoVersion).Set(1)
	return gauge
}

// document returns the HTML page.
func document(shown *Shown, root string, p Program) render.Document {
	d := render.Document{Title: "Finished runs"}
	d.Add(
		render.Small(fmt.Sprintf("uma-load %s (%s, %s) reads %s", p.Version, p.Revision, p.GoVersion, root)),
		render.P(render.Link("Metrics", "metrics"), render.Plain(". "+shown.Counts())),
	)
	d.Add(shown.Blocks(Addresses{})...)
	return d
}

// Addresses are those of the pages of runs and comparisons, by their names. Without a function there are no links.
type Addresses struct{ Run, Comparison func(name string) string }

// Counts returns how many runs there are, in a sentence.
func (s *Shown) Counts() string {
	text := fmt.Sprintf("%d finished runs", len(s.All))
	if len(s.All) == 1 {
		text = "1 finished run"
	}
	if len(s.Runs) < len(s.All) {
		text += fmt.Sprintf(", the newest %d of them in the dashboards", len(s.Runs))
	}
	return text + fmt.Sprintf("; %d unfinished, %d unreadable.", s.Unfinished, s.Unreadable)
}

// Blocks returns the comparisons and the runs, the newest first, and why others are not among them.
func (s *Shown) Blocks(to Addresses) []render.Block {
	var blocks []render.Block
	if len(s.Problems) > 0 {
		blocks = append(blocks, render.List{Tone: render.Note, Lead: []render.Span{render.Strong("Not shown")}, Items: render.Items(s.Problems)})
	}
	if len(s.Comparisons) > 0 {
		blocks = append(blocks, render.H2("Comparisons"), render.Small("Ratios are of the candidate over the baseline; where the analysis is not of ratios, the interval is that of the difference."))
	}
	for _, c := range s.Comparisons {
		lead := []render.Span{render.Strong(c.Name)}
		if to.Comparison != nil {
			lead[0] = render.Link(c.Name, to.Comparison(c.Name))
		}
		if c.Simulated {
			lead = append(lead, render.Badge(render.Bad, "simulated"))
		}
		blocks = append(blocks, render.P(append(lead, render.Plain(" saved "+c.Saved()+" (UTC)"))...), render.List{Items: render.Items(c.decisive())},
			render.Details{Summary: fmt.Sprintf("All %d figures", len(c.Rows)), Blocks: c.table()})
	}
	blocks = append(blocks, render.H2("Runs"))
	if len(s.All) == 0 {
		return append(blocks, render.P(render.Plain("There is no finished run yet.")))
	}
	return append(blocks, RunBlocks(s.All[:min(len(s.All), mostListed)], to.Run)...)
}

// mostListed bounds the runs of a page.
const mostListed = 1000

// decisive returns the verdicts of the primary metrics, each in a line.
func (c comparison) decisive() []string {
	var lines []string
	for _, r := range c.Rows {
		if r.Primary {
			lines = append(lines, strings.Trim(r.Scenario+" "+r.Model, " ")+": "+r.Metric+", "+r.Candidate+" against "+r.Baseline+": "+r.verdict())
		}
	}
	return lines
}

// verdict returns the verdict with what limits it.
func (r row) verdict() string {
	text := compare.Verdict(r.Verdict).Text()
	if r.Needed != nil {
		text += fmt.Sprintf(", about %d runs of each arm needed for the margin", *r.Needed)
	}
	return text
}

func (c comparison) table() []render.Block {
	t := render.Table{Header: []string{"Metric", "Candidate", "Baseline", "Scenario", "Model", "Ratio", "95 % interval", "Verdict"}, Words: []int{1, 2, 3, 4, 7}}
	for _, r := range c.Rows {
		name := r.Metric
		if r.Primary {
			name += ", which decides"
		}
		t.Add(name, r.Candidate, r.Baseline, r.Scenario, r.Model, decimals(4, r.Ratio), r.Interval, r.verdict())
	}
	table, shared := t.Shared(1, 2, 3, 4)
	return []render.Block{shared, table}
}

// RunBlocks are what the runs share, and a table with a row for each. Those that are not measurements of a real machine are
// highlighted.
func RunBlocks(runs []Run, address func(name string) string) []render.Block {
	t := render.Table{
		Header: []string{"Run", "Quality", "Start (UTC)", "Output tokens/s", "TTFT p50", "E2E p50", "Occupied without KV cache", "Arm", "Scenario", "Engine", "Model", "Host"},
		Words:  []int{1, 7, 8, 9, 10, 11},
	}
	for _, r := range runs {
		quality, tone := r.quality()
		row := render.Row{Tone: tone, Cells: []string{
			r.info.run, quality, r.started.UTC().Format("2006-01-02 15:04"), r.outputTokensPerSecond(),
			r.median(metric.RunScheduledTimeToFirstTokenSeconds), r.median(metric.RunScheduledRequestDurationSeconds), r.occupiedWithoutKV(), r.info.arm, r.info.scenario, r.info.engine, r.info.model, r.info.host,
		}}
		if address != nil {
			row.Address = address(r.info.run)
		}
		t.Rows = append(t.Rows, row)
	}
	legend := render.P()
	if slices.ContainsFunc(t.Rows, func(r render.Row) bool { return r.Tone != "" }) {
		legend = render.Small("A row in colour is invalid, or no measurement of a live machine: see its quality.")
	}
	table, shared := t.Shared(7, 8, 9, 10, 11)
	return []render.Block{shared, table, legend, render.Small("TTFT and E2E count from the intended start.")}
}

// quality returns whether the run is valid, and what it is not a measurement of.
func (r Run) quality() (text string, tone render.Tone) {
	var states []string
	sameMode := r.simulated && r.mode == metric.ModeSimulated
	switch {
	case sameMode:
		states, tone = append(states, "simulated"), render.Note
	case r.simulated:
		states, tone = append(states, "simulated engine"), render.Note
	}
	if r.imported != "" {
		states, tone = append(states, "imported from "+r.imported), render.Note
	}
	if r.mode != "" && r.mode != metric.ModeLive && !sameMode {
		states, tone = append(states, "telemetry "+r.mode), render.Note
	}
	validity := "valid"
	if !r.valid {
		validity, tone = "invalid", render.Bad
	}
	return strings.Join(append([]string{validity}, states...), ", "), tone
}

// median returns that of a latency; "" where so few requests do not support it.
func (r Run) median(family metric.Summary) string {
	for _, l := range r.latencies {
		if v, known := l.quantiles[0.5]; known && l.family.Def().Name == family.Def().Name {
			return format.Seconds(v)
		}
	}
	return ""
}

func (r Run) occupiedWithoutKV() string {
	for _, f := range r.series {
		if f.family == &metric.RunMemoryOccupiedWithoutKVBytes {
			return format.Bytes(f.value)
		}
	}
	return ""
}

// outputTokensPerSecond returns the measured value, or else that of a tool with the name of the tool.
func (r Run) outputTokensPerSecond() string {
	text := ""
	for _, f := range r.series {
		switch f.family {
		case &metric.RunOutputTokensPerSecond:
			return decimals(2, &f.value)
		case &metric.RunToolReportedOutputTokensPerSecond:
			text = decimals(2, &f.value) + ", by " + f.labels[1]
		}
	}
	return text
}
