//go:build proof

package demo

import (
	"context"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/umascope/umascope/exporter"
	"github.com/umascope/umascope/exporter/collector"
	"github.com/umascope/umascope/exporter/engine"
	"github.com/umascope/umascope/exporter/metric"
	hostsim "github.com/umascope/umascope/exporter/sim"
	"github.com/umascope/umascope/loadgen/figure"
	enginesim "github.com/umascope/umascope/loadgen/sim"
)

// The published pair of a 7B model on a DGX Spark: what was in use before the KV cache was allocated, in GiB. The
// engine takes kvShare of what is free for it then.
const (
	publishedNative    = 70.47
	publishedContainer = 101.30
)

// TestThePublishedPairFiresItsAlerts follows the pair from engines that allocate their KV cache over telemetry, run folders,
// a saved comparison and serve to the alert. What differs between the arms is page cache, one way in which the published
// difference can have come about. After the KV cache both machines are as full. The arms ran in blocks, as published: the
// alert is information.
func TestThePublishedPairFiresItsAlerts(t *testing.T) {
	s := &shortStory{database: newDatabase(t), out: t.TempDir()}
	for range 3 {
		s.pairRun(t, metric.ArmNative, 0)
	}
	for range 3 {
		s.pairRun(t, metric.ArmContainer, wholeBytes(publishedContainer-publishedNative))
	}
	s.command(t, "compare", s.out, "--by", "arm", "--within", "scenario", "--baseline", metric.ArmNative, "--primary", figure.MemoryOccupiedWithoutKV, "--save")
	s.serve(t, s.out)
	at := time.Now()
	s.scrape(t, s.targets[0], at.Add(time.Second))
	at = at.Add(2 * time.Second)
	s.evaluate(t, at)
	told := s.values(t, s.expressionOf(t, "ContainerMemoryOverhead"), at)
	if len(told) != 1 || math.Abs(told[0].F-(publishedContainer-publishedNative)*gib) > 0.3*gib ||
		told[0].Metric.Get("candidate") != metric.ArmContainer || told[0].Metric.Get("mode") != metric.ModeSimulated {
		t.Errorf("%v", told)
	}
	used := s.values(t, `avg by (arm) ((sum by (run) (uma_run_ledger_bytes{moment="ready"}) - on (run) uma_run_ledger_bytes{moment="ready",line="free"}) * on (run) group_left (arm) uma_run_info)`, at)
	if len(used) != 2 || math.Max(used[0].F, used[1].F) > 1.03*math.Min(used[0].F, used[1].F) {
		t.Errorf("in use when ready: %v, want two that differ by less than 3 %%", used)
	}
}

// wholeBytes are gibibytes in whole bytes.
func wholeBytes(gibibytes float64) int64 { return int64(gibibytes * gib) }

// pairRun is one run of an arm, on a machine whose page cache holds so many bytes of something else.
func (s *shortStory) pairRun(t *testing.T, arm string, cached int64) {
	t.Helper()
	host, err := hostsim.New(hostsim.Config{Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer host.Close()
	if cached > 0 {
		s.fillCache(t, host, cached)
	}
	pool := host.Truth().PoolBytes
	// Weights, workspace and the like: what the native arm had before its KV cache beyond the machine at rest.
	model := wholeBytes(publishedNative) - (pool - host.CUDAFreeBytes() - cached)
	process, err := host.Start(hostsim.Program{Comm: "engine", Cgroup: "/system.slice/" + arm + ".service", Threads: 40})
	if err != nil {
		t.Fatal(err)
	}
	process.Demand(hostsim.Demand{DeviceBytes: model, CPUs: 1})
	host.Advance(30 * time.Second)
	simulated := pairEngine(t, host, func(u enginesim.Use) {
		process.Demand(hostsim.Demand{DeviceBytes: model + u.DeviceBytes, CPUs: 1, BusyRatio: u.BusyRatio})
		host.Advance(time.Second)
	})
	server := httptest.NewServer(simulated)
	defer server.Close()
	machine := host.Collect()
	machine.HTTP = http.DefaultTransport
	page, err := engine.ParseEndpoint(server.URL + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	e, err := exporter.New(machine, exporter.Settings{Options: collector.Options{Sources: collector.SourceOptions{Targets: collector.Targets{Engines: []*engine.Endpoint{page}}}}})
	if err != nil {
		t.Fatal(err)
	}
	telemetry := httptest.NewServer(e.Handler())
	defer telemetry.Close()
	s.command(t, "run", "--url", server.URL, "--engine", "vllm", "--wait-ready", "20s", "--telemetry", spark+"="+telemetry.URL+exporter.DefaultTelemetryPath,
		"--telemetry-interval", "200ms", "--concurrency", "2", "--duration", "2s", "--warmup", "2", "--input-tokens", "64", "--output-tokens", "8",
		"--label", "arm="+arm, "--label", "host="+spark, "--label", "engine=vllm", "--out", s.out, "--web.listen-address", "127.0.0.1:0", "--log.level", "error",
		"--validity", "client_lag=off", "--validity", "client_stall=off", "--validity", "telemetry_lost=off", "--validity", "stream_buffered=off")
}

// fillCache reads a file, which stays in the page cache when its reader has gone.
func (s *shortStory) fillCache(t *testing.T, host *hostsim.Host, bytes int64) {
	t.Helper()
	if err := host.AddFile("layers of an image", bytes); err != nil {
		t.Fatal(err)
	}
	reader, err := host.Start(hostsim.Program{Comm: "dockerd", Cgroup: "/system.slice/docker.service", Threads: 20})
	if err != nil {
		t.Fatal(err)
	}
	reader.Demand(hostsim.Demand{CPUs: 1, Read: hostsim.FileTransfer{File: "layers of an image", BytesPerSecond: 2 * gib}})
	host.Advance(time.Minute)
	reader.Stop()
}

// blocks finds how many blocks an engine's page tells.
var blocks = regexp.MustCompile(`num_gpu_blocks="(\d+)"`)

// pairEngine is an engine that sizes its KV cache from what is free, and says how large it is, as vLLM does where
// that was set.
func pairEngine(t *testing.T, host *hostsim.Host, use func(enginesim.Use)) http.Handler {
	t.Helper()
	config := enginesim.Default()
	config.DecodeBase, config.DecodePerSequence, config.PrefillTokensPerSecond = 2*time.Millisecond, 100*time.Microsecond, 50000
	config.Memory = enginesim.Memory{LoadBytesPerSecond: math.Inf(1)}
	config.KV.FreeBytes, config.KV.FreeRatio = host.CUDAFreeBytes, kvShare
	config.OnUse = use
	engine, err := enginesim.New(config)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { _ = engine.Run(ctx) }) // its only error is being started twice
	t.Cleanup(func() { stop(); running.Wait() })
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/metrics" {
			engine.Handler().ServeHTTP(w, r)
			return
		}
		request := r.Clone(r.Context())
		request.Header.Del("Accept") // as text
		request.Header.Del("Accept-Encoding")
		answer := httptest.NewRecorder()
		engine.Handler().ServeHTTP(answer, request)
		w.Header().Set("Content-Type", answer.Header().Get("Content-Type"))
		_, _ = w.Write(blocks.ReplaceAllFunc(answer.Body.Bytes(), func(label []byte) []byte {
			n, _ := strconv.ParseInt(string(blocks.FindSubmatch(label)[1]), 10, 64) // digits
			return fmt.Appendf(nil, `%s,kv_cache_memory_bytes="%d"`, label, n*config.KV.BlockBytes())
		}))
	})
}
