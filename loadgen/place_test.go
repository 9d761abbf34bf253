package loadgen

import (
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/umascope/umascope/exporter/metric"
	"github.com/umascope/umascope/loadgen/rundir"
)

func TestTheManifestSaysWhatTheRunHappenedOn(t *testing.T) {
	r := prometheus.NewRegistry()
	newGauge(r, metric.ExporterMode).WithLabelValues(metric.ModeLive).Set(1)
	newGauge(r, metric.GPUInfo).WithLabelValues("GPU-1", "0", "GB10", "580.95", "13.0", "vb", "pci", "integrated").Set(1)
	newGauge(r, metric.GPUPowerLimitWatts).WithLabelValues("GPU-1").Set(140)
	newGauge(r, metric.GPUSMClockMaxHertz).WithLabelValues("GPU-1").Set(3e9)
	newGauge(r, metric.NVMeInfo).WithLabelValues("nvme0n1", "nvme0", "Fast", "7B4Q").Set(1)
	tier := filepath.Join(t.TempDir(), "kvbm")
	tiers := newGauge(r, metric.KVBMDiskFileBytes)
	tiers.WithLabelValues(strconv.Itoa(os.Getpid()), "worker", "/", tier).Set(1e9)
	tiers.WithLabelValues("1073741824", "gone", "/", "/gone/kvbm").Set(1e9)
	page := httptest.NewServer(promhttp.HandlerFor(r, promhttp.HandlerOpts{}))
	defer page.Close()
	path, _, _ := completed(t, "--url", engine(t, 100*time.Microsecond), "--telemetry=here="+page.URL, "--telemetry-interval=100ms",
		"--requests=4", "--warmup=0", "--output-tokens=4", "--validity=telemetry_lost=off")
	m := manifestOf(t, path)
	limits := m.Machines[0].GPULimits
	if len(limits) != 1 || limits[0].UUID != "GPU-1" || *limits[0].PowerWatts != 140 || *limits[0].SMClockHertz != 3e9 {
		t.Errorf("limits %+v", limits)
	}
	if drives := m.Machines[0].Drives; len(drives) != 1 || drives[0]["firmware"] != "7B4Q" {
		t.Errorf("drives %v", drives)
	}
	if m.Server.Settings["block_size"] == "" {
		t.Errorf("settings of the engine %v", m.Server.Settings)
	}
	zone, offset := time.Now().Zone()
	if z := m.Client.TimeZone; z == nil || z.Name != zone || z.OffsetSeconds != offset {
		t.Errorf("time zone %+v, want %s", z, zone)
	}
	if page, err := os.ReadFile(filepath.Join(path, rundir.ReportFile)); err != nil || !strings.Contains(string(page), m.StartedAt.In(time.Local).Format("2006-01-02 15:04:05 ")+zone) || !strings.Contains(string(page), m.Program.Version) {
		t.Errorf("the report has no date or version: %v", err)
	}
	// A source archive lies in no repository.
	want, err := exec.Command("git", "rev-parse", "HEAD").Output()
	if known := m.Git != nil; known != (err == nil) || known && m.Git.Commit != strings.TrimSpace(string(want)) {
		t.Errorf("repository %+v, want %s", m.Git, want)
	}
	byPath := map[string]rundir.Storage{}
	for _, s := range m.Storage {
		byPath[s.Path] = s
	}
	if s := byPath[path]; s.Of != rundir.StorageOfRun || s.FileSystem == "" || s.TotalBytes == 0 {
		t.Errorf("the run folder is on %+v", s)
	}
	if s := byPath[filepath.Dir(tier)]; s.Of != rundir.StorageOfKV || s.FileSystem == "" {
		t.Errorf("the disk tier is on %+v", s)
	}
	if s := byPath["/gone"]; s.Missing == "" || s.FileSystem != "" {
		t.Errorf("of a process that has gone: %+v", s)
	}
	drives := map[string][]string{}
	for _, s := range m.Storage {
		for _, d := range s.Drives {
			drives[s.Of] = append(drives[s.Of], d.Device)
		}
	}
	shared := slices.ContainsFunc(drives[rundir.StorageOfRun], func(device string) bool { return slices.Contains(drives[rundir.StorageOfKV], device) })
	warned := slices.ContainsFunc(summaryOf(t, path).Warnings, func(w string) bool { return strings.Contains(w, "disk tier of the KV cache") })
	if warned != shared {
		t.Errorf("both on one drive: %v, warned: %v", shared, warned)
	}
}
