//go:build proof

package demo

import (
	"context"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/umascope/umascope/exporter"
	"github.com/umascope/umascope/exporter/collector"
	"github.com/umascope/umascope/exporter/engine"
	"github.com/umascope/umascope/exporter/metric"
	hostsim "github.com/umascope/umascope/exporter/sim"
	"github.com/umascope/umascope/loadgen"
	enginesim "github.com/umascope/umascope/loadgen/sim"
)

const (
	spark   = "spark" // the simulated host of the story
	weights = "/models/weights"
)

// shortStory is a short time on a simulated DGX Spark, as Prometheus sees it: an engine with a cache on disk, two runs of
// each of two arms, their comparison, finished runs and recorded machines beside it. Its times are the wall
// clock's, because the load generator's are.
type shortStory struct {
	database
	began, ended time.Time
	midst        time.Time // while the last run went on
	scrapes      int
	golden       map[string]*goldenPage
	results      *goldenPage
	slowest      time.Duration // between two scrapes
	last         time.Time
	runLength    time.Duration
	targets      []scrapeTarget
	out          string
	engineURL    string
	exporterURL  string
	prompts      string // a file
}

// tell plays the story; it takes some fifteen seconds.
func tell(t *testing.T) *shortStory {
	t.Helper()
	s := &shortStory{database: newDatabase(t), golden: goldenPages(t), out: t.TempDir(), began: time.Now()}
	s.results = readGoldenPage(t, filepath.Join(root, "loadgen/promexport/testdata/results.prom"))
	s.prompts = fewPrompts(t)
	s.furnish(t)
	s.scrapeAll(t)
	s.scrapeAll(t)
	s.runLength = max(2*time.Second, 6*s.slowest) // room for some scrapes, however slow the machine is
	for _, arm := range []string{metric.ArmNative, metric.ArmContainer, metric.ArmContainer, metric.ArmNative} {
		s.during(t, func(ctx context.Context, live string) int { return s.drive(ctx, arm, live) })
	}
	published := t.TempDir()
	s.command(t, "import", "--format", "benchmark-spark", "--out", published, filepath.Join(root, "loadgen/testdata/published/all_benchmark_results.json"))
	s.command(t, "compare", s.out, "--by", "arm", "--save")
	s.command(t, "compare", published, "--by", "arm", "--within", "model", "--save")
	s.serve(t, s.out)
	s.serve(t, published)
	s.scrapeAll(t)
	s.ended = time.Now()
	return s
}

// fewPrompts writes prompts that come again when only the disk has their blocks still.
func fewPrompts(t *testing.T) string {
	t.Helper()
	var lines strings.Builder
	for i := range 20 {
		fmt.Fprintf(&lines, "{\"prompt\": %q}\n", strings.Repeat(fmt.Sprintf("prompt %d ", i), 140))
	}
	path := filepath.Join(t.TempDir(), "prompts.jsonl")
	if err := os.WriteFile(path, []byte(lines.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// command is uma-load with these arguments.
func (s *shortStory) command(t *testing.T, args ...string) {
	t.Helper()
	var stderr strings.Builder
	if code := loadgen.Run(t.Context(), args, io.Discard, &stderr); code != 0 {
		t.Fatalf("uma-load %s: exit %d, %s", strings.Join(args, " "), code, stderr.String())
	}
}

// furnish starts the machine, its engine and its exporter.
func (s *shortStory) furnish(t *testing.T) {
	t.Helper()
	host, err := hostsim.New(hostsim.Config{Seed: 1, Start: s.began.UTC(), SwapBytes: 16 << 30, RailSensors: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(host.Close)
	const scope = "/system.slice/docker-00000000000100000000000000000000000000000000000000000000000000ab.scope"
	if err := host.SetLimits(scope, hostsim.Limits{MaxBytes: 32 << 30}); err != nil {
		t.Fatal(err)
	}
	if err := host.AddFile(weights, 40<<30); err != nil {
		t.Fatal(err)
	}
	process, err := host.Start(hostsim.Program{Comm: "VLLM::EngineCor", Cgroup: scope, Threads: 84,
		OpenFiles: []hostsim.OpenFile{{Target: "/tmp/dynamo-kvbm-disk-cache-f00d (deleted)", Bytes: 24 << 30, Direct: true}}})
	if err != nil {
		t.Fatal(err)
	}
	engine := startEngine(t, process)
	ctx, stop := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { host.Run(ctx, 1) })
	t.Cleanup(func() { stop(); running.Wait() })
	server, kvbm := httptest.NewServer(engine.Handler()), httptest.NewServer(engine.KVBMHandler())
	t.Cleanup(server.Close)
	t.Cleanup(kvbm.Close)
	s.engineURL = server.URL
	sources := collector.Targets{Engines: endpoints(t, server.URL+"/metrics"), KVBM: endpoints(t, kvbm.URL+"/metrics")}
	machine := host.Collect()
	machine.HTTP = http.DefaultTransport
	e, err := exporter.New(machine, exporter.Settings{Options: collector.Options{ProcessLimit: 20, CachePaths: []string{weights}, Sources: collector.SourceOptions{
		Targets: sources, BytesPerBlock: map[string]uint64{"": 16 * 128 << 10}}}})
	if err != nil {
		t.Fatal(err)
	}
	page := httptest.NewServer(e.Handler())
	t.Cleanup(page.Close)
	s.exporterURL = page.URL + exporter.DefaultTelemetryPath
	s.targets = append(s.targets, scrapeTarget{Handler: e.Handler(), Path: exporter.DefaultTelemetryPath, Job: metric.JobExporter, Host: spark},
		scrapeTarget{Handler: engine.Handler(), Path: "/metrics", Job: metric.JobEngine, Host: spark})
}

// startEngine starts an engine whose small cache spills over to memory of the host and to a disk.
func startEngine(t *testing.T, process *hostsim.Process) *enginesim.Engine {
	t.Helper()
	config := enginesim.Default()
	config.DecodeBase, config.DecodePerSequence, config.PrefillTokensPerSecond = 3*time.Millisecond, 100*time.Microsecond, 60000
	config.MaxModelTokens, config.KVCacheTokens = 1024, 2048
	config.KV.HostBytes, config.KV.DiskBytes, config.KV.DiskFilter = 128<<20, 4<<30, false
	var last enginesim.Use
	config.OnUse = func(u enginesim.Use) {
		read := max(0, u.DiskReadBytes-last.DiskReadBytes)
		written := max(0, u.DiskWrittenBytes-last.DiskWrittenBytes)
		last = u
		const reportsPerSecond = 10
		process.Demand(hostsim.Demand{
			DeviceBytes: 60<<30 + u.DeviceBytes, PinnedBytes: u.PinnedBytes, ManagedBytes: 256 << 20, AnonBytes: 4 << 30, ShmemBytes: 1 << 30,
			Read:      hostsim.FileTransfer{File: weights, BytesPerSecond: 1 << 30},
			BusyRatio: u.BusyRatio, CPUs: 2, DirectReadBytesPerSecond: read * reportsPerSecond, DirectWriteBytesPerSecond: written * reportsPerSecond,
		})
	}
	engine, err := enginesim.New(config)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { _ = engine.Run(ctx) }) // its only error is being started twice
	t.Cleanup(func() { stop(); running.Wait() })
	return engine
}

func endpoints(t *testing.T, raw string) []*engine.Endpoint {
	t.Helper()
	parsed, err := engine.ParseEndpoint(raw)
	if err != nil {
		t.Fatal(err)
	}
	return []*engine.Endpoint{parsed}
}

// drive is one run of an arm.
func (s *shortStory) drive(ctx context.Context, arm, live string) int {
	return loadgen.Run(ctx, []string{"run", "--url", s.engineURL, "--engine", "vllm", "--telemetry", spark + "=" + s.exporterURL,
		"--concurrency", "6", "--duration", s.runLength.String(), "--warmup", "6", "--prompts", s.prompts, "--output-tokens", "16:32",
		"--slo", "ttft=2s,tpot=200ms", "--label", "arm=" + arm, "--label", "host=" + spark,
		"--validity", "client_lag=off", "--validity", "client_stall=off", "--validity", "telemetry_lost=off", "--validity", "stream_buffered=off", // the machine is busy with other tests
		"--out", s.out, "--web.listen-address", live, "--log.level", "error"}, io.Discard, io.Discard)
}

// during scrapes everything, the load generator's page too, while work is done.
func (s *shortStory) during(t *testing.T, work func(ctx context.Context, live string) int) {
	t.Helper()
	live := unusedAddress(t)
	loadPage := pageAt(live, metric.JobLoad, "client")
	done := make(chan int, 1)
	go func() { done <- work(t.Context(), live) }()
	for seen := 0; ; {
		select {
		case code := <-done:
			if code != 0 && code != 3 {
				t.Fatalf("uma-load: exit %d", code)
			}
			if seen < 4 {
				t.Fatalf("the run was over after %d scrapes", seen)
			}
			if err := s.Scrape(t.Context(), loadPage, time.Now()); err == nil { // and so its series end
				t.Fatal("the page of a run is there after its end")
			}
			return
		case <-time.After(200 * time.Millisecond):
			s.scrapeAll(t)
			if now := time.Now(); s.Scrape(t.Context(), loadPage, now) == nil {
				seen++
				if len(s.values(t, metric.RunActive.Def().Name+" == 1", now)) > 0 { // its page outlasts the run
					s.midst = now
				}
			}
		}
	}
}

// pageAt is the page of metrics at an address, which may not be there yet, or no longer.
func pageAt(address, job, host string) scrapeTarget {
	page := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: address})
	page.ErrorLog = log.New(io.Discard, "", 0)
	return scrapeTarget{Handler: page, Path: "/metrics", Job: job, Host: host, HonorLabels: true}
}

// scrapeAll scrapes every target and every recorded machine, and lets the rules record.
func (s *shortStory) scrapeAll(t *testing.T) {
	t.Helper()
	now := time.Now()
	s.scrapes++
	for _, each := range s.targets {
		s.scrape(t, each, now)
	}
	for name, page := range s.golden {
		page.growth = 1 + float64(s.scrapes)/1000
		s.scrape(t, scrapeTarget{Handler: page, Path: "/metrics", Job: metric.JobExporter, Host: name}, now)
	}
	s.scrape(t, scrapeTarget{Handler: s.results, Path: "/metrics", Job: metric.JobResults, Host: "archive", HonorLabels: true}, now)
	s.evaluate(t, now)
	if !s.last.IsZero() {
		s.slowest = max(s.slowest, time.Since(s.last))
	}
	s.last = time.Now()
}

// serve adds the page of finished runs.
func (s *shortStory) serve(t *testing.T, runs string) {
	t.Helper()
	address := unusedAddress(t)
	ctx, stop := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		loadgen.Run(ctx, []string{"serve", "--runs", runs, "--web.listen-address", address, "--log.level", "error"}, io.Discard, io.Discard)
	})
	t.Cleanup(func() { stop(); running.Wait() })
	page := pageAt(address, metric.JobResults, filepath.Base(runs))
	for deadline := time.Now().Add(30 * time.Second); s.Scrape(t.Context(), page, time.Now()) != nil; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("uma-load serve does not answer")
		}
	}
	s.targets = append(s.targets, page)
}

// hasHappened keeps the tests of dashboards from passing on an empty database.
func (s *shortStory) hasHappened(t *testing.T) {
	for _, series := range []string{
		`uma_run_active{host="spark",arm="container"} offset 0s or last_over_time(uma_run_active{host="spark",arm="container"}[1m])`,
		`uma_memory_ledger_bytes{host="spark",line="gpu_process"} > 0`,
		`histogram_count(last_over_time(uma_load_time_to_first_token_seconds[1m])) > 0`,
		`uma_kvbm_blocks_total{host="spark",op="onboard",from="disk"} > 0`,
		`uma_engine_up{host="spark"} == 1`,
		`count(uma_run_info{host="spark"}) == 4`,
		`uma_comparison_verdict{baseline="native",candidate="container"} == 1`,
		`uma_gpu_power_watts{host="h200-load"} > 600`,
	} {
		if len(s.values(t, series, s.ended)) == 0 {
			t.Errorf("nothing: %s", series)
		}
	}
	for _, invalid := range s.values(t, `uma_run_invalid_reason * on (run) group_left () uma_run_info{host="spark"}`, s.ended) {
		t.Errorf("invalid: %s", invalid.Metric)
	}
	if gone := s.values(t, `uma_run_active`, s.ended); len(gone) > 0 {
		t.Errorf("runs go on after they have ended: %s", strings.TrimSpace(gone.String()))
	}
}
