//go:build proof

package view

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"math"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/prometheus/rules"

	"github.com/umascope/umascope/cmd/internal/memnet"
	"github.com/umascope/umascope/exporter"
	"github.com/umascope/umascope/exporter/collector"
	"github.com/umascope/umascope/exporter/engine"
	hostsim "github.com/umascope/umascope/exporter/sim"
	"github.com/umascope/umascope/loadgen/promexport"
	"github.com/umascope/umascope/loadgen/sim"
)

const gib = 1 << 30

// TestWriteAWeekOfSamples writes the folder of the environment's VIEW_DATA: a week of this program over a simulated Spark and the
// runs of VIEW_RUNS, on a clock that waits for nobody. Scrapes, rules, compaction and retention run as they do on a wall clock.
func TestWriteAWeekOfSamples(t *testing.T) {
	dir, runs, length := os.Getenv("VIEW_DATA"), os.Getenv("VIEW_RUNS"), os.Getenv("VIEW_LENGTH")
	if dir == "" {
		t.Skip("the folder VIEW_DATA is not given")
	}
	week, err := time.ParseDuration(length)
	if err != nil {
		t.Fatal(err)
	}
	end := time.Now()
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(end.Add(-week)))
		network := &memnet.Network{}
		spark := newSpark(t, network)
		defer serve(t, network, exporterInside, spark).Close()
		defer serve(t, network, runsInside, finishedRuns(t, runs)).Close()

		o := options{interval: 5 * time.Second, keep: 15 * 24 * time.Hour, keepBytes: 1 << 30}
		config, err := prometheusConfig(o, &url.URL{Scheme: "http", Host: exporterInside, Path: "/metrics"}, "spark")
		if err != nil {
			t.Fatal(err)
		}
		shipped, err := shippedRules()
		if err != nil {
			t.Fatal(err)
		}
		d, err := openDatabase(databaseConfig{
			Registry: prometheus.NewRegistry(), Dir: dir, RetentionTime: o.keep, RetentionBytes: o.keepBytes, Prometheus: config, EvaluationEvery: o.interval, Rules: shipped,
			Dial: network.Dial, Notify: func(context.Context, string, ...*rules.Alert) {}, Log: slog.New(slog.NewTextHandler(os.Stderr, nil)),
		})
		if err != nil {
			t.Fatal(err)
		}
		for time.Now().Before(end) {
			time.Sleep(min(6*time.Hour, time.Until(end)))
			t.Logf("%s after %s", kept(dir), time.Since(end.Add(-week)))
		}
		if err := d.close(); err != nil {
			t.Fatal(err)
		}
		spark.stop()
	})
}

// serve serves pages on a network in memory.
func serve(t *testing.T, network *memnet.Network, address string, pages http.Handler) *http.Server {
	listener, err := network.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: pages}
	go server.Serve(listener)
	return server
}

// kept returns the size of a folder, in words.
func kept(dir string) string {
	var size int64
	_ = filepath.WalkDir(dir, func(_ string, entry fs.DirEntry, err error) error {
		if info, statErr := entry.Info(); err == nil && statErr == nil && info.Mode().IsRegular() {
			size += info.Size()
		}
		return err
	})
	return fmt.Sprintf("%.1f MiB", float64(size)/(1<<20))
}

// finishedRuns serves the page of the runs, which change seldom, as it is now.
func finishedRuns(t *testing.T, folder string) http.Handler {
	served, err := promexport.Handler(promexport.New(folder, runsPerCell, mostRuns), promexport.Program{}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	page := httptest.NewRecorder()
	served.ServeHTTP(page, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", page.Header().Get("Content-Type"))
		_, _ = w.Write(page.Body.Bytes())
	})
}

// spark is a simulated Spark with an engine that is restarted every three hours, as a new container each time. Its pages of the first
// three hours come again afterwards, with the name of the next container: what makes a page costs more than what keeps it.
type spark struct {
	host        *hostsim.Host
	page        http.Handler
	serving     *hostsim.Process
	began, last time.Time
	pages       []string
	stop        context.CancelFunc
}

const engineInside, restartEvery, pagesInterval = "engine.inside:8000", 3 * time.Hour, 5 * time.Second

func newSpark(t *testing.T, network *memnet.Network) *spark {
	host, err := hostsim.New(hostsim.Config{Seed: 1, Start: time.Now(), SwapBytes: 16 * gib, RailSensors: true, Cable: true})
	if err != nil {
		t.Fatal(err)
	}
	serving, err := host.Start(hostsim.Program{Comm: "VLLM::EngineCor", Cgroup: "/system.slice/" + container(0), Threads: 60})
	if err != nil {
		t.Fatal(err)
	}
	config := sim.Default()
	config.KV.HostBytes, config.KV.DiskBytes, config.KV.Page = 8*gib, 32*gib, sim.KVBMv2
	simulated, err := sim.New(config)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	go simulated.Run(ctx)
	server := serve(t, network, engineInside, simulated.Handler())
	context.AfterFunc(ctx, func() { server.Close() })
	client := &http.Client{Transport: &http.Transport{DialContext: network.Dial}}
	go demand(ctx, client)

	seen := host.Collect()
	seen.HTTP = client.Transport
	endpoint, err := engine.ParseEndpoint("http://" + engineInside + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	e, err := exporter.New(seen, exporter.Settings{Options: collector.Options{Sources: collector.SourceOptions{Targets: collector.Targets{Engines: []*engine.Endpoint{endpoint}}}}})
	if err != nil {
		t.Fatal(err)
	}
	return &spark{host: host, page: e.Handler(), serving: serving, began: time.Now(), last: time.Now(), stop: sync.OnceFunc(func() {
		stop()
		client.CloseIdleConnections()
		seen.Close()
		host.Close()
	})}
}

// container is the cgroup of the nth container.
func container(n int) string { return fmt.Sprintf("docker-%064x.scope", n+1) }

// demand sends a request every ten seconds.
func demand(ctx context.Context, client *http.Client) {
	for n := 0; ctx.Err() == nil; n++ {
		body := fmt.Sprintf(`{"model": "simulated-8b", "prompt": "Request %d", "max_tokens": %d}`, n, 10+n%50)
		request, _ := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+engineInside+"/v1/completions", strings.NewReader(body))
		if response, err := client.Do(request); err == nil {
			_, _ = io.Copy(io.Discard, response.Body)
			response.Body.Close()
		}
		select {
		case <-time.After(10 * time.Second):
		case <-ctx.Done():
		}
	}
}

// ServeHTTP advances the machine to now and shows it.
func (s *spark) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	now := time.Now()
	since := now.Sub(s.began)
	w.Header().Set("Content-Type", "text/plain; version=0.0.4")
	if period := int(since / restartEvery); period > 0 {
		s.stop()
		page := s.pages[int(since/pagesInterval)%len(s.pages)]
		_, _ = io.WriteString(w, strings.ReplaceAll(page, container(0), container(period)))
		return
	}
	wave := func(period float64) float64 { return 0.5 + 0.5*math.Sin(2*math.Pi*since.Seconds()/period) }
	busy := wave(97)
	s.serving.Demand(hostsim.Demand{
		DeviceBytes: 40*gib + int64(24*gib*wave(211)), PinnedBytes: 4 * gib, AnonBytes: 3*gib + int64(gib*wave(53)), BusyRatio: busy, CPUs: 1 + 3*busy,
		DirectReadBytesPerSecond: int64(2e9 * wave(41)), DirectWriteBytesPerSecond: int64(3e8 * wave(61)),
		RDMAReceiveBytesPerSecond: int64(5e9 * busy), RDMATransmitBytesPerSecond: int64(5e9 * busy),
	})
	s.host.Advance(now.Sub(s.last))
	s.last = now
	page := httptest.NewRecorder()
	s.page.ServeHTTP(page, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	s.pages = append(s.pages, page.Body.String())
	_, _ = w.Write(page.Body.Bytes())
}
