package report

import (
	"fmt"
	"io"
	"maps"
	"math"
	"math/rand/v2"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/umascope/umascope/loadgen/chat"
	"github.com/umascope/umascope/loadgen/telemetry"
)

const gib = float64(1 << 30)

// exporterPage is what an exporter of a GB10 could say after a time under load.
type exporterPage struct {
	mode string
	// rest is what the ledger leaves unattributed.
	rest func(seconds float64) float64
	// extra is appended as it is.
	extra string
	// per is appended as it says for that time.
	per func(seconds float64) string
	// replace alters the page.
	replace *strings.Replacer
	// raw replaces all of it.
	raw string
	// silent says when the exporter does not answer.
	silent func(seconds float64) bool
}

func (p exporterPage) text(at float64) string {
	if p.raw != "" {
		return p.raw
	}
	var b strings.Builder
	put := func(series string, v float64) { fmt.Fprintf(&b, "%s %g\n", series, v) }
	put(fmt.Sprintf("uma_exporter_mode{mode=%q}", p.mode), 1)
	put(`uma_gpu_info{uuid="GPU-1",gpu="0",name="NVIDIA GB10",driver_version="580",cuda_version="13.0",vbios="x",pci_bus_id="y",memory_architecture="integrated"}`, 1)
	load := 1 - math.Exp(-max(0, at-5)/8)
	gpu, anon, cache, kernel := (70+24*load)*gib, (6+load)*gib, (9-3*load)*gib, 1.4*gib
	rest := p.rest(at)
	pool := 119.7 * gib
	free := pool - gpu - anon - cache - kernel - rest
	for line, v := range map[string]float64{"gpu_process": gpu, "anon": anon, "page_cache": cache, "slab_unreclaimable": kernel, "unattributed": rest, "free": free} {
		put(fmt.Sprintf("uma_memory_ledger_bytes{line=%q}", line), v)
	}
	put("uma_memory_pool_bytes", pool)
	put("uma_memory_available_bytes", free+cache*.9)
	put("uma_memory_cuda_free_bytes", free)
	put(`uma_gpu_memory_held_bytes{uuid="GPU-1"}`, gpu)
	put(`uma_gpu_temperature_celsius{uuid="GPU-1"}`, math.Round(45+25*load))
	put(`uma_gpu_power_watts{uuid="GPU-1"}`, 12+38*load)
	put(`uma_gpu_utilization_ratio{uuid="GPU-1"}`, math.Round(100*math.Min(.96, load*1.3))/100)
	put(`uma_gpu_sm_clock_hertz{uuid="GPU-1"}`, 2.4e9)
	put(`uma_gpu_energy_joules_total{uuid="GPU-1"}`, 1000+40*at)
	put(`uma_gpu_clock_event_seconds_total{uuid="GPU-1",reason="sw_power_cap"}`, at/3)
	put(`uma_gpu_clock_event_seconds_total{uuid="GPU-1",reason="hw_thermal"}`, 0)
	put("uma_vmstat_swapped_in_bytes_total", 4096)
	b.WriteString(p.extra)
	if p.per != nil {
		b.WriteString(p.per(at))
	}
	if p.replace != nil {
		return p.replace.Replace(b.String())
	}
	return b.String()
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// sampled runs the real sampler over pages, on a virtual clock: 5 s of warm-up, then the rest.
func sampled(t *testing.T, total time.Duration, pages map[string]exporterPage, order ...string) (log *telemetry.Log, stats telemetry.Stats) {
	t.Helper()
	return sampledPhases(t, pages, []telemetry.Phase{{Name: "warmup"}, {Name: "measure", AtNS: 5e9}}, total, order...)
}

// sampledPhases does so with phases that begin when they say, in the order of sources.
func sampledPhases(t *testing.T, pages map[string]exporterPage, phases []telemetry.Phase, total time.Duration, order ...string) (log *telemetry.Log, stats telemetry.Stats) {
	t.Helper()
	if len(order) == 0 {
		order = slices.Sorted(maps.Keys(pages))
	}
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		client := &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
			page, at := pages[r.URL.Host], time.Since(start).Seconds()
			if page.silent != nil && page.silent(at) {
				return nil, io.ErrUnexpectedEOF
			}
			return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader(page.text(at)))}, nil
		})}
		o := telemetry.Options{Interval: time.Second, Client: client, File: filepath.Join(t.TempDir(), "t.jsonl.gz"),
			Clock: func() int64 { return time.Since(start).Nanoseconds() }}
		for _, name := range order {
			o.Sources = append(o.Sources, telemetry.Source{Name: name, URL: "http://" + name})
		}
		sampler, err := telemetry.Start(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		for _, phase := range phases {
			time.Sleep(time.Duration(phase.AtNS) - time.Since(start))
			sampler.Mark(phase.Name)
		}
		time.Sleep(total - time.Since(start))
		sampler.Mark("stop")
		if stats, err = sampler.Stop(); err != nil {
			t.Fatal(err)
		}
		if log, err = telemetry.Read(o.File); err != nil {
			t.Fatal(err)
		}
	})
	return log, stats
}

func nothing(float64) float64 { return 1.1 * gib }

// loaded is a run as they come: requests of a Poisson process on a server that slows down as
// more of them are running, and a few that fail.
func loaded(total time.Duration) []chat.Record {
	random := rand.New(rand.NewPCG(7, 7))
	var records []chat.Record
	for at := 0.0; at < total.Seconds()-4; at += random.ExpFloat64() / 4 {
		wait := math.Max(0, random.NormFloat64()*.05+.08*math.Sin(at/7)+.06)
		var chunks []int64
		offset := 90 + 60*random.ExpFloat64()
		for range 24 + random.IntN(40) {
			chunks = append(chunks, int64(offset))
			offset += 18 + 3*random.NormFloat64() + 12*math.Max(0, random.NormFloat64()-1.5)
		}
		r := answered(len(records), int64(1000*(at+wait)), chunks...)
		r.IntendedNS = min(*r.DispatchNS, int64(at*1e9))
		if at < 5 {
			r.Phase = "warmup"
		}
		if random.IntN(120) == 0 {
			r.Status, r.Error = chat.StatusTruncated, "cut"
		}
		records = append(records, r)
	}
	return records
}

// exampleInput is a run of that length with a measured and a constructed machine.
func exampleInput(t *testing.T, total time.Duration) Input {
	t.Helper()
	in := input()
	in.Run, in.Model.ID = "20261101T120000Z-default-4f1c", "openai/gpt-oss-120b"
	in.Phases = []Phase{{"warmup", 0, 5e9}, {"measure", 5e9, total.Nanoseconds()}}
	in.TelemetryRequested = true
	in.Labels["host"] = "spark-1"
	in.SLO = SLO{{"ttft", 500 * time.Millisecond}, {"tpot", 30 * time.Millisecond}}
	log, stats := sampled(t, total, map[string]exporterPage{
		"spark-1":   {mode: "live", rest: nothing, silent: func(s float64) bool { return s > 20.5 && s < 22.5 }},
		"gb10-load": {mode: "constructed", rest: func(s float64) float64 { return 2 * gib * math.Cos(s/9) }},
	}, "spark-1", "gb10-load")
	in.Telemetry, in.TelemetryStats = log, &stats
	return in
}
