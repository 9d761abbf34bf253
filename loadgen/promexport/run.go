// Package promexport exports finished runs and saved comparisons as Prometheus series: for each run the few figures
// that dashboards need, and the distance of each from the earlier runs of its cell.
//
// The caller finds and opens the runs; a run is opened again when one of its files changed. Names and labels of runs
// are untrusted: they are made printable and cut to a length.
package promexport

import (
	"cmp"
	"time"

	"github.com/umascope/umascope/exporter/metric"
	"github.com/umascope/umascope/loadgen/compare"
	"github.com/umascope/umascope/loadgen/figure"
	"github.com/umascope/umascope/loadgen/openai"
	"github.com/umascope/umascope/loadgen/summary"
)

// longestText bounds the value of a label, in bytes.
const longestText = 256

// Run is the exported part of a finished run.
type Run struct {
	Folder string // that it was read from

	info      info
	started   time.Time
	valid     bool
	simulated bool
	mode      string // of its telemetry; empty without
	imported  string // format of its file; empty for a run of uma-load
	workload  string

	latencies []latency
	series    []series
	metrics   map[string]float64 // by their names in comparisons
}

// Name returns the name of the run, as it is shown.
func (r Run) Name() string { return r.info.run }

// Host returns the machine of the run.
func (r Run) Host() string { return r.info.host }

// info has the labels of the series that describes a run.
type info struct{ host, run, arm, scenario, engine, model string }

// latency is a distribution over requests, in seconds.
type latency struct {
	family    metric.Summary
	requests  uint64
	sum       float64
	quantiles map[float64]float64
}

// hostUnknown is the host of runs that other tools made and that name none: pages choose runs by their host.
const hostUnknown = "unknown"

// Of returns the exported part of a run, from the input of a comparison and the summary.
func Of(o compare.Run, s summary.Summary) Run {
	r := Run{
		info: info{
			host: shown(cmp.Or(o.Host, hostUnknown)), run: shown(o.ID), arm: shown(o.Labels[string(metric.LabelArm)]),
			scenario: shown(o.Scenario), engine: shown(o.Engine), model: shown(o.Model),
		},
		started: o.StartedAt, valid: o.Valid, simulated: o.Simulated, mode: shown(o.Mode), imported: shown(o.Imported), workload: o.WorkloadSHA256,
	}
	r.latencies = latencies(s.Latency)
	r.series = seriesOf(r.info, o, s)
	r.metrics = metricsOf(o)
	return r
}

func shown(text string) string { return openai.Printable(text, longestText) }

// latencies returns the latencies of a run.
func latencies(l *summary.Latency) []latency {
	if l == nil {
		return nil
	}
	var all []latency
	for _, of := range figure.Latencies() {
		d := of.Of(l)
		if of.Series == nil || d == nil || d.N == 0 || d.Mean == nil {
			continue
		}
		all = append(all, latency{*of.Series, uint64(d.N), *d.Mean * float64(d.N), quantiles(d)})
	}
	return all
}

// quantiles returns the quantiles that there are enough requests for.
func quantiles(d *summary.Distribution) map[float64]float64 {
	known := map[float64]float64{}
	for q, v := range map[float64]*float64{0.5: d.P50, 0.9: d.P90, 0.95: d.P95, 0.99: d.P99, 0.999: d.P999} {
		if v != nil {
			known[q] = *v
		}
	}
	return known
}

// newer sorts the newest run first.
func newer(a, b Run) int {
	return cmp.Or(b.started.Compare(a.started), cmp.Compare(b.info.run, a.info.run))
}
