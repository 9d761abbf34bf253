package runner

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/umascope/umascope/loadgen/rundir"
	"github.com/umascope/umascope/loadgen/summary"
)

func TestADriveThatTheFolderSharesWithTheKVCacheIsWarnedAbout(t *testing.T) {
	on := func(of string, devices ...string) rundir.Storage {
		s := rundir.Storage{Of: of}
		for _, device := range devices {
			s.Drives = append(s.Drives, rundir.Drive{Device: device})
		}
		return s
	}
	for _, c := range []struct {
		storage []rundir.Storage
		warned  int
	}{
		{nil, 0},
		{[]rundir.Storage{on(rundir.StorageOfRun, "nvme0n1")}, 0},
		{[]rundir.Storage{on(rundir.StorageOfRun, "nvme0n1"), on(rundir.StorageOfKV, "nvme1n1")}, 0},
		{[]rundir.Storage{on(rundir.StorageOfKV, "nvme1n1"), on(rundir.StorageOfKV, "nvme1n1")}, 0},
		{[]rundir.Storage{on(rundir.StorageOfRun, "nvme0n1", "nvme1n1"), on(rundir.StorageOfKV, "nvme1n1")}, 1},
		{[]rundir.Storage{on(rundir.StorageOfRun), on(rundir.StorageOfKV)}, 0}, // both in memory
	} {
		if got := placeWarnings(&rundir.Manifest{Storage: c.storage}); len(got) != c.warned {
			t.Errorf("%+v: %q", c.storage, got)
		}
	}
}

func TestAClockThatIsSetBackChangesNoFigure(t *testing.T) {
	r, out := runOf(t, engine(t, time.Millisecond), "--requests=6", "--warmup=0", "--output-tokens=4")
	r.timeOfDay = func() time.Time { return time.Now().Add(-time.Hour) }
	if _, err := r.make(t.Context()); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(out, "r1")
	if step := read[rundir.Manifest](t, filepath.Join(path, rundir.ManifestFile)).Client.ClockStepSeconds; step > -3599 || step < -3601 {
		t.Errorf("a step of %g s", step)
	}
	sum := read[summary.Summary](t, filepath.Join(path, rundir.SummaryFile))
	if !slices.ContainsFunc(sum.Warnings, func(w string) bool { return strings.Contains(w, "time of day moved by -3600") }) {
		t.Errorf("warnings %q", sum.Warnings)
	}
	if d := sum.Throughput.DurationSeconds; !sum.Valid || d == nil || *d <= 0 || *d > 60 {
		t.Errorf("valid %v, throughput %+v", sum.Valid, sum.Throughput)
	}
	for r, err := range summary.Records(filepath.Join(path, rundir.RequestsFile)) {
		if err != nil {
			t.Fatal(err)
		}
		if *r.DispatchNS < 0 || *r.EndNS < *r.DispatchNS || *r.EndNS > int64(time.Minute) {
			t.Errorf("sent at %d, ended at %d", *r.DispatchNS, *r.EndNS)
		}
	}
}
