package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"time"
)

// page is the job of the exporters.
const page = `{job="uma-exporter"}`

// table writes rows of Markdown, and keeps the first error.
type table struct {
	w   io.Writer
	err error
}

func (t *table) row(what, format string, args ...any) {
	if t.err == nil {
		_, t.err = fmt.Fprintf(t.w, "| %s | %s |\n", what, fmt.Sprintf(format, args...))
	}
}

// report queries Prometheus about itself and prints the figures between the two moments.
func (s *stage) report(ctx context.Context, w io.Writer, before, after moment) error {
	t := &table{w: w}
	wall := after.at.Sub(before.at)
	window := fmt.Sprintf("[%ds]", int(wall.Seconds()))
	ask := func(query string, args ...any) float64 {
		if t.err != nil {
			return 0
		}
		value, err := s.one(ctx, fmt.Sprintf(query, args...), after.at)
		t.err = err
		return value
	}
	fmt.Fprintf(w, "| figure | value |\n| --- | --- |\n")
	t.row("machine", "%s, %d CPUs, %s", processor(), runtime.NumCPU(), memory())
	t.row("load average before and after", "%s; %s", before.load, after.load)
	t.row("hosts, interval, measured for", "%d, %s, %s", s.hosts, s.interval, wall.Round(time.Second))

	cpus := func(d time.Duration) float64 { return d.Seconds() / wall.Seconds() }
	ours, theirs := after.fleet.cpu-before.fleet.cpu, after.prometheus.cpu-before.prometheus.cpu
	t.row("CPU of Prometheus", "%.3f of a CPU", cpus(theirs))
	t.row("CPU of the simulated machines and their exporters", "%.3f of a CPU, %.1f ms a page", cpus(ours), 1000*ours.Seconds()/(float64(s.hosts)*wall.Seconds()/s.interval.Seconds()))
	t.row("CPU of everything else on the machine", "%.3f of a CPU", cpus(after.busy-before.busy-ours-theirs))
	t.row("memory of the simulated machines", "%s", mib(float64(after.fleet.resident)))
	t.row("memory of Prometheus, resident", "%s now, %s at most", mib(float64(after.prometheus.resident)), mib(float64(after.prometheus.top)))
	t.row("heap of Prometheus in use, mean", "%s", mib(ask(`avg_over_time(go_memstats_heap_inuse_bytes{job="prometheus"}%s)`, window)))

	t.row("samples of a page", "%.0f at least, %.0f at most", ask(`min(scrape_samples_post_metric_relabeling%s)`, page), ask(`max(scrape_samples_post_metric_relabeling%s)`, page))
	t.row("series in memory", "%.0f; of them from pages %.0f", ask(`prometheus_tsdb_head_series`), ask(`sum(scrape_samples_post_metric_relabeling%s)`, page))
	t.row("series that began in the time", "%.0f", ask(`increase(prometheus_tsdb_head_series_created_total%s)`, window))
	rate := ask(`sum(rate(prometheus_tsdb_head_samples_appended_total%s))`, window)
	t.row("samples a second", "%.0f", rate)
	t.row("scrapes that answered", "%.2f %%", 100*ask(`sum(sum_over_time(up%s%s)) / sum(count_over_time(up%s%s))`, page, window, page, window))
	t.row("scrapes that were made, of those due", "%.2f %%", 100*ask(`sum(count_over_time(up%s%s))`, page, window)/(float64(s.hosts)*wall.Seconds()/s.interval.Seconds()))
	t.row("time of a scrape: median, 99 %, longest", "%.0f, %.0f, %.0f ms",
		1000*ask(`quantile(0.5, quantile_over_time(0.5, scrape_duration_seconds%s%s))`, page, window),
		1000*ask(`quantile(0.99, quantile_over_time(0.99, scrape_duration_seconds%s%s))`, page, window),
		1000*ask(`max(max_over_time(scrape_duration_seconds%s%s))`, page, window))

	t.row("rules: groups, evaluations of all of them together", "%.0f, %.0f ms mean", ask(`count(prometheus_rule_group_rules)`),
		1000*ask(`sum(rate(prometheus_rule_group_duration_seconds_sum%s)) * %f`, window, s.interval.Seconds()))
	t.row("rules: longest of a group", "%.0f ms", 1000*ask(`max(max_over_time(prometheus_rule_group_last_duration_seconds%s))`, window))
	t.row("rules: rounds missed, failures", "%.0f, %.0f", ask(`sum(increase(prometheus_rule_group_iterations_missed_total%s))`, window), ask(`sum(increase(prometheus_rule_evaluation_failures_total%s))`, window))
	t.row("alerts that fire", "%.0f", ask(`count(ALERTS{alertstate="firing"}) or vector(0)`))
	t.row("write-ahead log", "%s, %.2f bytes a sample as it grows", mib(ask(`prometheus_tsdb_wal_storage_size_bytes`)),
		ask(`delta(prometheus_tsdb_wal_storage_size_bytes%s)`, window)/(rate*wall.Seconds()))
	if t.err == nil {
		t.err = s.disk(ctx, t)
	}
	if t.err != nil {
		return t.err
	}
	return s.dashboards(ctx, w, after.at)
}

// disk makes Prometheus write a block of all samples in its head, as it does by itself after two hours, and measures
// its size.
func (s *stage) disk(ctx context.Context, t *table) error {
	var told struct{ Name string }
	begun := time.Now()
	if err := s.post(ctx, "/api/v1/admin/tsdb/snapshot", url.Values{}, &told); err != nil {
		return err
	}
	took := time.Since(begun)
	metas, err := filepath.Glob(s.path("data", "snapshots", filepath.Base(told.Name), "*", "meta.json"))
	if err != nil || len(metas) == 0 {
		return fmt.Errorf("no block in the snapshot: %w", err)
	}
	var samples, series, chunks, index float64
	for _, meta := range metas {
		text, err := os.ReadFile(meta)
		if err != nil {
			return err
		}
		var m struct {
			Stats struct{ NumSamples, NumSeries float64 }
		}
		if err := json.Unmarshal(text, &m); err != nil {
			return err
		}
		samples, series = samples+m.Stats.NumSamples, max(series, m.Stats.NumSeries)
		files, err := filepath.Glob(filepath.Join(filepath.Dir(meta), "chunks", "*"))
		if err != nil {
			return err
		}
		for _, file := range files {
			chunks += size(file)
		}
		index += size(filepath.Join(filepath.Dir(meta), "index"))
	}
	t.row("a block of all that: samples, series", "%.0f, %.0f, written in %.1f s", samples, series, took.Seconds())
	t.row("a block of all that: chunks, index", "%s (%.2f bytes a sample), %s (%.0f bytes a series)", mib(chunks), chunks/samples, mib(index), index/series)
	return t.err
}

func size(path string) float64 {
	info, err := os.Stat(path)
	if err != nil {
		return 0
	}
	return float64(info.Size())
}

func mib(bytes float64) string { return fmt.Sprintf("%.0f MiB", bytes/(1<<20)) }
