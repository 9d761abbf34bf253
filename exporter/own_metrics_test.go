package exporter

import (
	"math"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	dto "github.com/prometheus/client_model/go"
)

// TestOwnSeriesAreThoseOfTheClientLibrary compares name, type and value with the collectors that
// other exporters use.
func TestOwnSeriesAreThoseOfTheClientLibrary(t *testing.T) {
	registry := prometheus.NewRegistry()
	for _, theirs := range []prometheus.Collector{
		collectors.NewGoCollector(collectors.WithGoCollectorRuntimeMetrics(collectors.MetricsAll)),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
	} {
		must(t, registry.Register(theirs))
	}
	theirs := byName(t, registry)
	// What changes while the two look. All else must be equal.
	tolerance := map[string]float64{
		"process_cpu_seconds_total": 1, "process_resident_memory_bytes": 64 << 20, "process_virtual_memory_bytes": 256 << 20,
		"process_open_fds": 3, "go_goroutines": 20, "go_threads": 20, "go_gc_cycles_total_gc_cycles_total": 10,
		"go_memstats_alloc_bytes_total": 64 << 20, "go_memstats_heap_alloc_bytes": 64 << 20, "go_memstats_sys_bytes": 64 << 20,
		"process_start_time_seconds": 0.01,
	}
	found := byName(t, newOwn())
	for name, ours := range found {
		if theirs[name] == nil {
			t.Errorf("%s is no name of theirs", name)
			continue
		}
		if ours.GetType() != theirs[name].GetType() {
			t.Errorf("%s is a %v, theirs a %v", name, ours.GetType(), theirs[name].GetType())
		}
		got, want := valueOf(ours), valueOf(theirs[name])
		if got < 0 || math.Abs(got-want) > tolerance[name] {
			t.Errorf("%s is %v, theirs %v", name, got, want)
		}
	}
	for name := range tolerance {
		if found[name] == nil {
			t.Errorf("%s is missing", name)
		}
	}
}

func valueOf(family *dto.MetricFamily) float64 {
	m := family.GetMetric()[0]
	return m.GetGauge().GetValue() + m.GetCounter().GetValue()
}

func byName(t *testing.T, gatherer prometheus.Gatherer) map[string]*dto.MetricFamily {
	t.Helper()
	families, err := prometheus.Gatherers{gatherer}.Gather()
	must(t, err)
	found := map[string]*dto.MetricFamily{}
	for _, family := range families {
		found[family.GetName()] = family
	}
	return found
}

func TestOwnSeriesPassTheMetricLinter(t *testing.T) {
	families, err := newOwn().Gather()
	must(t, err)
	problems, err := promlint.NewWithMetricFamilies(families).Lint()
	must(t, err)
	for _, problem := range problems {
		t.Errorf("%s: %s", problem.Metric, problem.Text)
	}
}

// BenchmarkOwn compares the exporter's own series with those of the client library.
func BenchmarkOwn(b *testing.B) {
	theirs := prometheus.NewRegistry()
	theirs.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	for name, gatherer := range map[string]prometheus.Gatherer{"ours": newOwn(), "client library": theirs} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := gatherer.Gather(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
