package loadgen

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/umascope/umascope/exporter/metric"
	"github.com/umascope/umascope/loadgen/rundir"
	"github.com/umascope/umascope/loadgen/telemetry"
)

// exporter serves a page like that of an exporter on a constructed machine with one GPU.
func exporter(t *testing.T) (url string, scrapes *atomic.Int64) {
	t.Helper()
	r := prometheus.NewRegistry()
	newGauge(r, metric.ExporterBuildInfo).WithLabelValues("v1", "abc", "go1").Set(1)
	newGauge(r, metric.ExporterMode).WithLabelValues("constructed").Set(1)
	newGauge(r, metric.HostInfo).WithLabelValues("Spark", "NVIDIA", "6.14", "aarch64", "integrated").Set(1)
	newGauge(r, metric.GPUInfo).WithLabelValues("GPU-1", "0", "GB10", "580.95", "13.0", "vb", "pci", "integrated").Set(1)
	newGauge(r, metric.GPUPowerWatts).WithLabelValues("GPU-1").Set(33)
	scrapes = new(atomic.Int64)
	page := promhttp.HandlerFor(r, promhttp.HandlerOpts{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		scrapes.Add(1)
		page.ServeHTTP(w, request)
	}))
	t.Cleanup(server.Close)
	return server.URL + "/metrics", scrapes
}

// What stands for no --telemetry is the exporter of this machine, named after it, if there is one.
func TestTheExporterOfThisMachineIsFollowedIfItAnswers(t *testing.T) {
	page, _ := exporter(t)
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	url := engine(t, time.Millisecond)
	for exporter, want := range map[string]string{page: host, "http://127.0.0.1:1/metrics": "", "": ""} {
		out, stderr := t.TempDir(), &lockedBuffer{}
		args := []string{"run", "--url", url, "--out", out, "--run-id=r1", "--web.listen-address=127.0.0.1:0", "--telemetry-interval=100ms", "--requests=2", "--warmup=0", "--output-tokens=4", "--validity=telemetry_lost=off"}
		if code := (Program{Stdout: &lockedBuffer{}, Stderr: stderr, Exporter: exporter}).Run(t.Context(), append(args, uncontended...)); code != exitDone {
			t.Fatalf("exit %d: %s", code, stderr.String())
		}
		got := ""
		for _, m := range read[rundir.Manifest](t, filepath.Join(out, "r1", rundir.ManifestFile)).Machines {
			got += m.Source
		}
		if got != want {
			t.Errorf("with %q, followed %q, want %q", exporter, got, want)
		}
	}
}

func TestARunKeepsTelemetryAndSaysWhatMachineItIsOf(t *testing.T) {
	t.Parallel()
	page, scrapes := exporter(t)
	dir, _, _ := completed(t, "--url", engine(t, 5*time.Millisecond), "--telemetry", "spark1="+page, "--telemetry-interval=250ms",
		"--label=host=spark1", "--requests=20", "--warmup=1", "--output-tokens=8", "--engine=vllm", "--ignore-eos", "--validity=telemetry_lost=off")
	log, err := telemetry.Read(filepath.Join(dir, rundir.TelemetryFile))
	if err != nil {
		t.Fatal(err)
	}
	source := log.Source("spark1")
	if source == nil || len(source.Find(metric.GPUPowerWatts)) != 1 || len(source.Samples) < 4 || int64(len(source.Samples)) > scrapes.Load() {
		t.Fatalf("%+v", source)
	}
	var names []string
	for _, p := range log.Phases {
		names = append(names, p.Name)
	}
	if got := strings.Join(names, " "); got != "ready warmup measure stop" {
		t.Errorf("phases %s", got)
	}
	machines := manifestOf(t, dir).Machines
	if len(machines) != 1 || machines[0].Mode != "constructed" || machines[0].Host["product"] != "Spark" || machines[0].GPUs[0]["driver_version"] != "580.95" {
		t.Errorf("machines %+v", machines)
	}
	sum := summaryOf(t, dir)
	if len(sum.Machines) != 1 {
		t.Errorf("machines of the summary: %+v", sum.Machines)
	}
	if text, err := os.ReadFile(filepath.Join(dir, rundir.ReportFile)); err != nil || !strings.Contains(string(text), "constructed") {
		t.Errorf("the report does not say that the machine is constructed: %v", err)
	}
}

func TestLiveMetricsStayForTheLingerAndTheRunIsNoLongerActive(t *testing.T) {
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	var stdout, stderr lockedBuffer
	code, url := make(chan int), engine(t, 100*time.Microsecond)
	go func() {
		code <- Run(ctx, append([]string{"run", "--url", url, "--out", t.TempDir(), "--web.listen-address=127.0.0.1:0", "--web.linger=1h",
			"--requests=3", "--warmup=0", "--output-tokens=2"}, uncontended...), &stdout, &stderr)
	}()
	await(t, func() bool { return strings.Contains(stderr.String(), "live metrics stay") })
	address := regexp.MustCompile(`live=(\S+)`).FindStringSubmatch(stderr.String())
	if address == nil {
		t.Fatalf("no address in %s", stderr.String())
	}
	response, err := http.Get(address[1])
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	page := new(strings.Builder)
	if err := response.Write(page); err != nil {
		t.Fatal(err)
	}
	requests := regexp.MustCompile(metric.LoadRequestsTotal.Def().Name + `\{phase="measure",run="[^"]+",status="ok"\} 3\n`)
	if !requests.MatchString(page.String()) || strings.Contains(page.String(), "\n"+metric.RunActive.Def().Name) {
		t.Errorf("%s", page)
	}
	interrupt()
	if got := <-code; got != exitDone {
		t.Errorf("exit %d: %s", got, stderr.String())
	}
}

// The counters of the machine are read where the load of a phase begins and ends: what it draws in the pauses around it is no
// energy of the load.
func TestTheMachineIsSampledWhereTheLoadOfAPhaseEnds(t *testing.T) {
	t.Parallel()
	page, _ := exporter(t)
	dir, _, _ := completed(t, "--url", engine(t, time.Millisecond), "--telemetry", "spark1="+page, "--telemetry-interval=1s",
		"--requests=2", "--warmup=0", "--output-tokens=2", "--validity=telemetry_lost=off")
	log, err := telemetry.Read(filepath.Join(dir, rundir.TelemetryFile))
	if err != nil {
		t.Fatal(err)
	}
	spark := log.Source("spark1")
	for _, p := range read[rundir.Phases](t, filepath.Join(dir, rundir.PhasesFile)).Phases {
		window := log.Windows(spark, p.Name)
		if p.Name != rundir.PhaseMeasure {
			continue
		}
		// At the border there is one sample, and the next border has its own: at the end of the load is another.
		inside := 0
		for _, at := range spark.Samples {
			if len(window) == 1 && at > window[0].FromNS && at < window[0].ToNS && at >= p.EndNS {
				inside++
			}
		}
		if inside == 0 {
			t.Errorf("the load ended at %d ns; sampled at %v, phase %v", p.EndNS, spark.Samples, window)
		}
	}
}
