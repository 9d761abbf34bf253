package loadgen

import (
	"bytes"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/umascope/umascope/exporter/metric"
	"github.com/umascope/umascope/loadgen/folder"
	"github.com/umascope/umascope/loadgen/summary"
)

func TestADriveThatTheFolderSharesWithTheKVCacheIsWarnedAbout(t *testing.T) {
	on := func(of string, devices ...string) folder.Storage {
		s := folder.Storage{Of: of}
		for _, device := range devices {
			s.Drives = append(s.Drives, folder.Drive{Device: device})
		}
		return s
	}
	for _, c := range []struct {
		storage []folder.Storage
		warned  int
	}{
		{nil, 0},
		{[]folder.Storage{on(folder.StorageOfRun, "nvme0n1")}, 0},
		{[]folder.Storage{on(folder.StorageOfRun, "nvme0n1"), on(folder.StorageOfKV, "nvme1n1")}, 0},
		{[]folder.Storage{on(folder.StorageOfKV, "nvme1n1"), on(folder.StorageOfKV, "nvme1n1")}, 0},
		{[]folder.Storage{on(folder.StorageOfRun, "nvme0n1", "nvme1n1"), on(folder.StorageOfKV, "nvme1n1")}, 1},
		{[]folder.Storage{on(folder.StorageOfRun), on(folder.StorageOfKV)}, 0}, // both in memory
	} {
		if got := placeWarnings(&folder.Manifest{Storage: c.storage}); len(got) != c.warned {
			t.Errorf("%+v: %q", c.storage, got)
		}
	}
}

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
	code, path, _, stderr := invoke(t, t.Context(), "--url", engine(t, 100*time.Microsecond), "--telemetry=here="+page.URL, "--telemetry-interval=100ms",
		"--requests=4", "--warmup=0", "--output-tokens=4", "--validity=telemetry_lost=off")
	if code != exitDone {
		t.Fatalf("exit %d: %s", code, stderr)
	}
	m := read[folder.Manifest](t, filepath.Join(path, folder.ManifestFile))
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
	// A source archive lies in no repository.
	if want := gitState(t.Context(), "."); (want == nil) != (m.Git == nil) || want != nil && want.Commit != m.Git.Commit {
		t.Errorf("repository %+v, want %+v", m.Git, want)
	}
	byPath := map[string]folder.Storage{}
	for _, s := range m.Storage {
		byPath[s.Path] = s
	}
	if s := byPath[path]; s.Of != folder.StorageOfRun || s.FileSystem == "" || s.TotalBytes == 0 {
		t.Errorf("the run folder is on %+v", s)
	}
	if s := byPath[filepath.Dir(tier)]; s.Of != folder.StorageOfKV || s.FileSystem == "" {
		t.Errorf("the disk tier is on %+v", s)
	}
	if s := byPath["/gone"]; s.Missing == "" || s.FileSystem != "" {
		t.Errorf("of a process that has gone: %+v", s)
	}
	warned := slices.ContainsFunc(read[summary.Summary](t, filepath.Join(path, folder.SummaryFile)).Warnings, func(w string) bool { return strings.Contains(w, "disk tier of the KV cache") })
	if shared := sharedDrive(m.Storage) != ""; warned != shared {
		t.Errorf("both on one drive: %v, warned: %v", shared, warned)
	}
}

func TestAClockThatIsSetBackChangesNoFigure(t *testing.T) {
	line := newCommandLine(&bytes.Buffer{})
	args := append([]string{"run", "--url", engine(t, time.Millisecond), "--out", t.TempDir(), "--run-id=r1", "--web.listen-address", "127.0.0.1:0",
		"--requests=6", "--warmup=0", "--output-tokens=4"}, uncontended...)
	if _, _, err := line.parse(args); err != nil {
		t.Fatal(err)
	}
	var stdout, stderr lockedBuffer
	r, err := Program{Stdout: &stdout, Stderr: &stderr}.newRun(line)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.setUp(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer r.close()
	r.timeOfDay = func() time.Time { return time.Now().Add(-time.Hour) }
	if err := r.execute(t.Context()); err != nil {
		t.Fatal(err)
	}
	path := string(r.folder)
	if step := read[folder.Manifest](t, filepath.Join(path, folder.ManifestFile)).Client.ClockStepSeconds; step > -3599 || step < -3601 {
		t.Errorf("a step of %g s", step)
	}
	sum := read[summary.Summary](t, filepath.Join(path, folder.SummaryFile))
	if !slices.ContainsFunc(sum.Warnings, func(w string) bool { return strings.Contains(w, "time of day moved by -3600") }) {
		t.Errorf("warnings %q", sum.Warnings)
	}
	if d := sum.Throughput.DurationSeconds; !sum.Valid || d == nil || *d <= 0 || *d > 60 {
		t.Errorf("valid %v, throughput %+v", sum.Valid, sum.Throughput)
	}
	for _, r := range records(t, path) {
		if *r.DispatchNS < 0 || *r.EndNS < *r.DispatchNS || *r.EndNS > int64(time.Minute) {
			t.Errorf("sent at %d, ended at %d", *r.DispatchNS, *r.EndNS)
		}
	}
}
