package collector

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/umascope/umascope/exporter/hostfs"
)

func TestDrivesThatAreNotNVMeHaveTheirBytes(t *testing.T) {
	host := spark(t)
	host.Proc = onDisk(t, tree(map[string]string{"diskstats": ` 254       0 vda 72334 6540 9206330 26803 30518 20721 30291504 26128 0 20724 53011 390 0 5464 77 45 2
 254       1 vda1 1 0 8 0 1 0 8 0 0 0 0 0 0 0 0 0 0
   8       0 sda 2 0 16 0 3 0 24 0 0 0 0 0 0 0 0 0 0
 253       0 dm-0 9 0 72 0 9 0 72 0 0 0 0 0 0 0 0 0 0
 259       0 nvme0n1 9 0 72 0 9 0 72 0 0 0 0 0 0 0 0 0 0
   7       0 loop0 12 0 34 5 0 0 0 0 0 8 5 0 0 0 0 0 0
`}))
	series, outcome := page(t, diskSpec(), host, Options{})
	if outcome.State != OK {
		t.Errorf("%s: %v", outcome.State, outcome.Err)
	}
	wantSeries(t, series, map[string]float64{
		`uma_disk_read_bytes_total{device="vda"}`: 9206330 * 512, `uma_disk_written_bytes_total{device="vda"}`: 30291504 * 512,
		`uma_disk_read_bytes_total{device="sda"}`: 16 * 512, `uma_disk_written_bytes_total{device="sda"}`: 24 * 512,
	})
	for name := range series {
		if strings.HasPrefix(name, "uma_disk_") && !strings.Contains(name, `"vda"`) && !strings.Contains(name, `"sda"`) {
			t.Errorf("%s is no drive of its own, or NVMe", name)
		}
	}
}

func TestHostWithNVMeAloneLacksNoOtherDrive(t *testing.T) {
	host := spark(t)
	for disks, want := range map[string]State{" 259       0 nvme0n1 9 0 72 0 9 0 72 0 0 0 0 0 0 0 0 0 0\n": OK, "": Absent} {
		host.Proc = onDisk(t, tree(map[string]string{"diskstats": disks}))
		if series, outcome := page(t, diskSpec(), host, Options{}); outcome.State != want {
			t.Errorf("%q: %s, %v, %v", disks, outcome.State, outcome.Err, series)
		}
	}
	host.Proc = onDisk(t, fstest.MapFS{})
	if _, outcome := page(t, diskSpec(), host, Options{}); outcome.State != Absent {
		t.Errorf("without diskstats: %s, %v", outcome.State, outcome.Err)
	}
}

// The device of a recorded file is one of the machine that reads the recording.
func TestTheTiersFileHasItsDriveOnALiveMachineOnly(t *testing.T) {
	sys := t.TempDir()
	for _, device := range []string{"vda", "vda/vda2"} {
		if err := os.MkdirAll(filepath.Join(sys, "devices/virtio1/block", device), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for link, target := range map[string]string{"class/block/vda": "vda", "class/block/vda2": "vda/vda2", "dev/block/254:2": "vda/vda2"} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(sys, link)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink("../../devices/virtio1/block/"+target, filepath.Join(sys, link)); err != nil {
			t.Fatal(err)
		}
	}
	for proc, want := range map[string]bool{"/proc": true, t.TempDir(): false} {
		host := spark(t)
		host.Proc, host.Sys = hostfs.Dir{Path: proc}, hostfs.Dir{Path: sys}
		spec := kvbmSpec()
		spec.Open = func(host Host, _ Options) Collect {
			return func(_ context.Context, _ *Sample, batch *Batch) error {
				for i, device := range []string{"254:2", "0:45", ""} {
					(&diskFile{labels: []string{"7", "engine", "/e", filepath.Join("/kv", string(rune('a'+i)))}, device: device}).emit(batch, host)
				}
				return nil
			}
		}
		series, _ := page(t, spec, host, Options{})
		found := 0
		for name := range series {
			if strings.HasPrefix(name, "uma_kvbm_disk_file_info") {
				found++
			}
		}
		if on := series[`uma_kvbm_disk_file_info{cgroup="/e",comm="engine",device="vda",path="/kv/a",pid="7"}`] == 1; on != want || found > 1 {
			t.Errorf("%s: %v", proc, series)
		}
	}
}
