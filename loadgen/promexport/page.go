package promexport

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/umascope/umascope/cmd/webserver"
	"github.com/umascope/umascope/exporter/metric"
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

// figure formats a number with so many decimals; empty if it is nil.
func figure(decimals int, v *float64) string {
	if v == nil {
		return ""
	}
	return strconv.FormatFloat(*v, 'f', decimals, 64)
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
		render.P(render.Link("Metrics", "metrics"), render.Plain(fmt.Sprintf(". %d runs shown, %d older ones left out, %d unfinished, %d unreadable.",
			len(shown.Runs), shown.LeftOut, shown.Unfinished, shown.Unreadable))),
	)
	if len(shown.Problems) > 0 {
		d.Add(render.H2("Problems"), render.List{Items: render.Items(shown.Problems)})
	}
	if len(shown.Comparisons) > 0 {
		d.Add(render.H2("Comparisons"))
	}
	for _, c := range shown.Comparisons {
		d.Add(c.heading(), render.Small("Saved "+c.Saved()+" (UTC). Ratios are of the candidate over the baseline; where the analysis is not of ratios, the interval is that of the difference."), c.table())
	}
	d.Add(render.H2("Runs"))
	if len(shown.Runs) == 0 {
		d.Add(render.P(render.Plain("There is no finished run yet.")))
		return d
	}
	d.Add(runTable(shown.Runs))
	return d
}

func (c comparison) heading() render.Heading {
	h := render.H3(c.Name)
	if c.Simulated {
		h.Badges = []render.Span{render.Badge(render.Bad, "simulated")}
	}
	return h
}

func (c comparison) table() render.Table {
	t := render.Table{Header: []string{"Metric", "Candidate", "Baseline", "Scenario", "Model", "Ratio", "95 % interval", "Verdict"}, Words: []int{1, 2, 3, 4, 7}}
	for _, r := range c.Rows {
		name, verdict := r.Metric, r.Verdict
		if r.Primary {
			name += ", which decides"
		}
		if r.Needed != nil {
			verdict += fmt.Sprintf(", about %d runs of each arm needed for the margin", *r.Needed)
		}
		if r.Confounded {
			verdict += ", confounded with time"
		}
		t.Add(name, r.Candidate, r.Baseline, r.Scenario, r.Model, figure(4, r.Ratio), r.Interval, verdict)
	}
	return t
}

// runTable has a row for each run. Those that are not measurements of a real machine are highlighted.
func runTable(runs []Run) render.Table {
	t := render.Table{Header: []string{"Run", "State", "Output tokens/s", "Start (UTC)", "Arm", "Scenario", "Engine", "Model", "Host"}, Words: []int{1, 3, 4, 5, 6, 7, 8}}
	for _, r := range runs {
		var state []string
		var tone render.Tone
		if r.simulated {
			state, tone = append(state, "simulated engine"), render.Note
		}
		if r.imported != "" {
			state, tone = append(state, "imported from "+r.imported), render.Note
		}
		if r.mode != "" && r.mode != metric.ModeLive {
			state, tone = append(state, "telemetry "+r.mode), render.Note
		}
		validity := "valid"
		if !r.valid {
			validity, tone = "invalid", render.Bad
		}
		state = append([]string{validity}, state...)
		t.AddIn(tone, r.info.run, strings.Join(state, ", "), r.outputTokensPerSecond(), r.started.UTC().Format(time.DateTime), r.info.arm, r.info.scenario, r.info.engine, r.info.model, r.info.host)
	}
	return t
}

// outputTokensPerSecond returns the measured value, or else that of a tool with the name of the tool.
func (r Run) outputTokensPerSecond() string {
	text := ""
	for _, f := range r.series {
		switch f.family {
		case &metric.RunOutputTokensPerSecond:
			return figure(2, &f.value)
		case &metric.RunToolReportedOutputTokensPerSecond:
			text = figure(2, &f.value) + ", by " + f.labels[1]
		}
	}
	return text
}
