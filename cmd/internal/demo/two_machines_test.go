//go:build proof

package demo

import (
	"context"
	"encoding/json"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/umascope/umascope/exporter"
	"github.com/umascope/umascope/exporter/collector"
	"github.com/umascope/umascope/exporter/ledger"
	"github.com/umascope/umascope/exporter/metric"
	"github.com/umascope/umascope/exporter/metric/expr"
	hostsim "github.com/umascope/umascope/exporter/sim"
	"github.com/umascope/umascope/loadgen"
	enginesim "github.com/umascope/umascope/loadgen/sim"
)

// The two machines of an engine with tensor parallelism, and the bytes of RDMA a second that each sends and
// receives while it works: what the other one sends.
const (
	firstSpark, secondSpark = "spark-1", "spark-2"
	rdmaOfFirst             = 2_000_000_000
	rdmaOfSecond            = 1_500_000_000
)

// pair is an engine over two simulated machines joined by a cable. Their exporters call themselves live: what a
// simulated machine shows, no run is judged by.
type pair struct {
	database
	url     string
	targets []scrapeTarget
	pages   map[string]string // of exporters, by machine
	gone    atomic.Bool       // the exporter of the second machine
}

// half is one machine and what the engine wants of it.
type half struct {
	host    *hostsim.Host
	process *hostsim.Process
}

func newHalf(t *testing.T, seed uint64, start time.Time) half {
	t.Helper()
	// A clock of its own: nothing that is measured may depend on it.
	host, err := hostsim.New(hostsim.Config{Seed: seed, Start: start, Cable: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(host.Close)
	process, err := host.Start(hostsim.Program{Comm: "sglang::schedul", Cgroup: "/system.slice/docker-" + strings.Repeat("ab", 32) + ".scope", Threads: 60})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { host.Run(ctx, 1) })
	t.Cleanup(func() { stop(); running.Wait() })
	return half{host, process}
}

func newPair(t *testing.T) *pair {
	t.Helper()
	p := &pair{database: newDatabase(t), pages: map[string]string{}}
	halves := []half{newHalf(t, 1, time.Now().UTC()), newHalf(t, 2, time.Now().UTC().Add(-9*time.Hour))}
	config := enginesim.Default()
	config.DecodeBase, config.DecodePerSequence = 3*time.Millisecond, 100*time.Microsecond
	config.OnUse = func(u enginesim.Use) {
		working := int64(0)
		if u.BusyRatio > 0 {
			working = 1
		}
		for i, h := range halves {
			sent, received := int64(rdmaOfFirst), int64(rdmaOfSecond)
			if i == 1 {
				sent, received = received, sent
			}
			h.process.Demand(hostsim.Demand{
				DeviceBytes: 40<<30 + u.DeviceBytes/2, AnonBytes: int64(3+i) << 30, BusyRatio: u.BusyRatio, CPUs: 2,
				RDMATransmitBytesPerSecond: sent * working, RDMAReceiveBytesPerSecond: received * working,
			})
		}
	}
	engine, err := enginesim.New(config)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { _ = engine.Run(ctx) }) // its only error is being started twice
	t.Cleanup(func() { stop(); running.Wait() })
	server := httptest.NewServer(engine.Handler())
	t.Cleanup(server.Close)
	p.url = server.URL
	for i, name := range []string{firstSpark, secondSpark} {
		p.export(t, name, halves[i].host)
	}
	return p
}

// export serves a machine's exporter, as if it were live.
func (p *pair) export(t *testing.T, name string, host *hostsim.Host) {
	t.Helper()
	machine := host.Collect()
	machine.HTTP = http.DefaultTransport
	e, err := exporter.New(machine, exporter.Settings{Options: collector.Options{ProcessLimit: 5}})
	if err != nil {
		t.Fatal(err)
	}
	live := strings.NewReplacer(`mode="simulated"} 1`, `mode="simulated"} 0`, `mode="live"} 0`, `mode="live"} 1`)
	page := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if name == secondSpark && p.gone.Load() {
			http.Error(w, "gone", http.StatusServiceUnavailable)
			return
		}
		text := httptest.NewRecorder()
		e.Handler().ServeHTTP(text, httptest.NewRequest(http.MethodGet, exporter.DefaultTelemetryPath, nil))
		w.Header().Set("Content-Type", "text/plain; version=0.0.4")
		_, _ = io.WriteString(w, live.Replace(text.Body.String()))
	})
	server := httptest.NewServer(page)
	t.Cleanup(server.Close)
	p.pages[name] = server.URL + exporter.DefaultTelemetryPath
	p.targets = append(p.targets, scrapeTarget{Handler: page, Path: exporter.DefaultTelemetryPath, Job: metric.JobExporter, Host: name})
}

// load runs uma-load on both machines and looks in, as Prometheus would, while it lasts.
func (p *pair) load(t *testing.T, out, arm string, watch func(live string), flags ...string) (code int, summary map[string]any) {
	t.Helper()
	live := unusedAddress(t)
	done := make(chan int, 1)
	go func() {
		done <- loadgen.Run(t.Context(), append([]string{"run", "--url", p.url, "--telemetry", firstSpark + "=" + p.pages[firstSpark], "--telemetry", secondSpark + "=" + p.pages[secondSpark],
			"--label", "host=" + firstSpark, "--label", "arm=" + arm, "--run-id", arm, "--telemetry-interval", "500ms", "--concurrency", "4", "--duration", "4s", "--warmup", "2", "--output-tokens", "32",
			"--validity", "client_lag=off", "--validity", "client_stall=off", "--validity", "stream_buffered=off",
			"--out", out, "--web.listen-address", live, "--log.level", "error"}, flags...), io.Discard, io.Discard)
	}()
	for {
		select {
		case code := <-done:
			text, err := os.ReadFile(filepath.Join(out, arm, "summary.json"))
			if err == nil {
				err = json.Unmarshal(text, &summary)
			}
			if err != nil {
				t.Fatal(err)
			}
			return code, summary
		case <-time.After(100 * time.Millisecond):
			watch(live)
		}
	}
}

// memberAt finds a member of a JSON value by its way there.
func memberAt(v any, way ...string) any {
	for _, name := range way {
		object, _ := v.(map[string]any)
		v = object[name]
	}
	return v
}

// TestAnEngineOnTwoMachines goes its whole way: two exporters, one endpoint, a run, Prometheus, reports, a comparison.
func TestAnEngineOnTwoMachines(t *testing.T) {
	p, out := newPair(t), t.TempDir()
	busy := []string{"--validity", "telemetry_lost=off"} // with other tests, the machine may miss some samples
	joined := expr.Select(metric.InfiniBandPortDataReceivedBytesTotal).Max(expr.By(metric.LabelHost)).DuringRuns().String()
	joins := map[string]bool{}
	code, first := p.load(t, out, "native", func(live string) {
		now := time.Now()
		for _, each := range p.targets {
			p.scrape(t, each, now)
		}
		if p.Scrape(t.Context(), pageAt(live, metric.JobLoad, "client"), now) == nil {
			for _, s := range p.values(t, joined, now) {
				joins[s.Metric.Get("host")+" "+s.Metric.Get("run")] = true
			}
		}
	}, busy...)
	if code != 0 {
		t.Fatalf("exit %d: %v", code, first["invalid_reasons"])
	}
	if !joins[firstSpark+" native"] || !joins[secondSpark+" native"] {
		t.Errorf("series of machines that are joined to the run: %v", joins)
	}
	checkHalves(t, first)
	for _, file := range []string{"report.md", "report.html"} {
		text, err := os.ReadFile(filepath.Join(out, "native", file))
		if err != nil || !strings.Contains(string(text), "RDMA rocep1s0f1/1") || !strings.Contains(string(text), "Machine "+secondSpark) {
			t.Errorf("%s does not tell of the second machine and its traffic: %v", file, err)
		}
	}
	if code, s := p.load(t, out, "container", func(string) {}, busy...); code != 0 {
		t.Fatalf("exit %d: %v", code, s["invalid_reasons"])
	}
	p.checkComparison(t, out)

	began := time.Now()
	code, lost := p.load(t, out, "lost", func(string) { p.gone.Store(time.Since(began) > 3*time.Second) })
	reasons, _ := json.Marshal(lost["invalid_reasons"])
	if code != 3 || !strings.Contains(string(reasons), `"telemetry_lost"`) || !strings.Contains(string(reasons), secondSpark+": ") {
		t.Errorf("exit %d after the exporter of one machine went away: %s", code, reasons)
	}
}

// checkHalves holds what a run says of either machine against what the engine made of it.
func checkHalves(t *testing.T, summary map[string]any) {
	t.Helper()
	machines, _ := summary["machines"].([]any)
	if len(machines) != 2 || memberAt(summary, "memory", "source") != firstSpark || memberAt(summary, "together", "joules_per_output_token") == nil {
		t.Fatalf("%d machines, memory of %v, together %v", len(machines), memberAt(summary, "memory", "source"), summary["together"])
	}
	var anon, joules, sent, received [2]float64
	for i, m := range machines {
		lines, _ := memberAt(m, "memory", "ledger_at", "peak").(map[string]any)
		total := 0.0
		for _, bytes := range lines {
			total += bytes.(float64)
		}
		if total < 100*gib || memberAt(m, "source") != []string{firstSpark, secondSpark}[i] {
			t.Errorf("the ledger of %v is of %v bytes", memberAt(m, "source"), total)
		}
		anon[i], _ = lines[ledger.Anon].(float64)
		joules[i], _ = memberAt(m, "energy", "joules").(float64)
		ports, _ := memberAt(m, "network", "ports").([]any)
		if len(ports) != 1 {
			t.Fatalf("ports %v", ports)
		}
		sent[i], _ = memberAt(ports[0], "sent_bytes").(float64)
		received[i], _ = memberAt(ports[0], "received_bytes").(float64)
	}
	if more := anon[1] - anon[0]; math.Abs(more-gib) > gib/2 {
		t.Errorf("the second machine holds %v more than the first", more)
	}
	if all, _ := memberAt(summary, "together", "joules").(float64); math.Abs(all-joules[0]-joules[1]) > 1e-6 || all == 0 {
		t.Errorf("%v J together, %v", all, joules)
	}
	// What one machine sends and what it receives stands on one page, so their ratio does not depend on when it was read.
	for i, want := range []float64{float64(rdmaOfFirst) / rdmaOfSecond, float64(rdmaOfSecond) / rdmaOfFirst} {
		if sent[i] < rdmaOfSecond || math.Abs(sent[i]/received[i]-want) > .001 {
			t.Errorf("machine %d sent %v and received %v, want a ratio of %v", i, sent[i], received[i], want)
		}
	}
	// The two machines are read one after the other, and a busy computer may leave some time between.
	if sent[0] <= received[0] || sent[0] <= sent[1] || math.Abs(sent[0]-received[1]) > 0.3*sent[0] {
		t.Errorf("sent %v, received %v", sent, received)
	}
}

func (p *pair) checkComparison(t *testing.T, out string) {
	t.Helper()
	var text, stderr strings.Builder
	if code := loadgen.Run(t.Context(), []string{"compare", out, "--by", "arm", "--baseline", "native", "--json"}, &text, &stderr); code != 0 {
		t.Fatalf("compare: exit %d, %s", code, stderr.String())
	}
	var c map[string]any
	if err := json.Unmarshal([]byte(text.String()), &c); err != nil {
		t.Fatal(err)
	}
	stratum := c["strata"].([]any)[0]
	one := memberAt(stratum, "pairs").([]any)[0]
	if memberAt(one, "ledger_difference_on", secondSpark, "peak", ledger.Anon) == nil || memberAt(one, "ledger_difference", "peak", ledger.Anon) == nil {
		t.Errorf("ledger differences %v and %v", memberAt(one, "ledger_difference"), memberAt(one, "ledger_difference_on"))
	}
	fairness, _ := json.Marshal(memberAt(one, "fairness"))
	for _, item := range []string{`"measured machines"`, `"` + secondSpark + `: kernel"`, `"` + secondSpark + `: GPU driver"`} {
		if !strings.Contains(string(fairness), item) {
			t.Errorf("fairness does not tell of %s", item)
		}
	}
}
