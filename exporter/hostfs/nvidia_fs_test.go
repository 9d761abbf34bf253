package hostfs

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// nvidiaFSText is the recorded statistics of a version.
func nvidiaFSText(t testing.TB, version string) string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join("testdata", "nvidia-fs", "stats-"+version))
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

func TestNvidiaFSOfThreeVersions(t *testing.T) {
	tests := map[string]NvidiaFS{
		"2.3.1": {
			Version: "2.3.1", GDSVersion: "0.9.0.743", ShadowBufferBytes: new(uint64(128 << 20)),
			Operations: map[string]uint64{"read": 424436862, "write": 309770912, "sparse_read": 19783000, "mmap": 3584, "bar1_map": 3584},
			Bytes:      map[string]uint64{"read": 21518771 << 20, "write": 9748727 << 20},
			Errors: map[string]uint64{"read": 0, "read_io_state": 0, "write": 0, "write_io_state": 0, "mmap": 0, "bar1_map": 0,
				"cpu_gpu_pages": 0, "sg_ext": 0, "dma_map": 0},
			GPUs: []NvidiaFSGPU{{"GPU-87e5c586-88ed-583b-df45-fcee0f1e7917", 0}, {"GPU-029faa3b-cb0d-2718-259c-6dc650c636eb", 0}},
		},
		"2.25.7": {
			Version: "2.25.7", GDSVersion: "1.14.0.31", RWStats: new(false), ShadowBufferBytes: new(uint64(0)),
			Operations: map[string]uint64{"sparse_read": 0, "mmap": 1, "bar1_map": 1}, Bytes: map[string]uint64{},
			Errors: map[string]uint64{"read": 0, "read_io_state": 0, "write": 0, "write_io_state": 0, "mmap": 0, "bar1_map": 0,
				"cpu_gpu_pages": 0, "sg_ext": 0, "dma_map": 0, "dma_ref": 0},
			GPUs: []NvidiaFSGPU{{"GPU-fb1e6550-2a78-d767-1f0d-7512eb8c552d", 0}},
		},
		"2.28.4": {
			Version: "2.28.4", GDSVersion: "1.17.1.22", RWStats: new(true), ShadowBufferBytes: new(uint64(64 << 20)),
			Operations: map[string]uint64{"batch": 312, "read": 12608, "write": 39936, "sparse_read": 0, "mmap": 68, "bar1_map": 68},
			Bytes:      map[string]uint64{"read": 12608 << 20, "write": 39936 << 20},
			Errors: map[string]uint64{"batch": 0, "read": 2, "read_io_state": 0, "write": 0, "write_io_state": 0, "mmap": 0, "bar1_map": 0,
				"cpu_gpu_pages": 0, "sg_ext": 0, "dma_map": 0, "dma_ref": 0},
			GPUs: []NvidiaFSGPU{{"GPU-0a1b2c3d-4e5f-6071-8293-a4b5c6d7e8f9", 64 << 20}, {"GPU-f9e8d7c6-b5a4-9382-7160-5f4e3d2c1b0a", 0}},
		},
	}
	for version, want := range tests {
		got, err := ReadNvidiaFS(files(t, map[string]string{"driver/nvidia-fs/stats": nvidiaFSText(t, version)}), files(t, nil))
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %v\ngot  %+v\nwant %+v", version, err, got, want)
		}
	}
}

func TestNvidiaFSWithoutStatisticsTellsItsVersionAndModules(t *testing.T) {
	proc := files(t, map[string]string{"driver/nvidia-fs/version": "version: 2.28\n", "driver/nvidia-fs/modules": "nvme: 1.0\nnvme_rdma: 1.0\n"})
	got, err := ReadNvidiaFS(proc, files(t, map[string]string{"module/nvidia_fs/parameters/rw_stats_enabled": "0\n"}))
	if err != nil || got.Version != "2.28" || got.ShadowBufferBytes != nil || got.Operations != nil || *got.RWStats ||
		!maps.Equal(got.Modules, map[string]string{"nvme": "1.0", "nvme_rdma": "1.0"}) {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := ReadNvidiaFS(files(t, nil), files(t, nil)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("without the module: %v", err)
	}
}

func TestTheParameterCountsMoreThanTheStatistics(t *testing.T) {
	proc := files(t, map[string]string{"driver/nvidia-fs/stats": nvidiaFSText(t, "2.25.7")})
	got, err := ReadNvidiaFS(proc, files(t, map[string]string{"module/nvidia_fs/parameters/rw_stats_enabled": "1\n"}))
	if err != nil || !*got.RWStats {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestNvidiaFSThatIsNotUnderstood(t *testing.T) {
	for name, text := range map[string]string{
		"stats":   "NVFS statistics(ver: 4.0)\nReads : n=99999999999999999999 ok=1\n",
		"version": "2.28\n",
		"modules": "nvme 1.0\n",
	} {
		if got, err := ReadNvidiaFS(files(t, map[string]string{"driver/nvidia-fs/" + name: text}), files(t, nil)); !errors.Is(err, errMalformed) {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
	proc := files(t, map[string]string{"driver/nvidia-fs/stats": nvidiaFSText(t, "2.25.7")})
	if got, err := ReadNvidiaFS(proc, files(t, map[string]string{"module/nvidia_fs/parameters/rw_stats_enabled": "on\n"})); !errors.Is(err, errMalformed) || got.Version != "2.25.7" {
		t.Errorf("parameter: %+v, %v", got, err)
	}
	for _, text := range []string{"", "Reads : n=1 err=0\n", "NVFS statistics(ver: 4.0)\nGPU 0000:41:00.0  uuid:0a1b2c3d-4e5f-6071-8293-a4b5c6d7e8f9 : \n",
		"NVFS statistics(ver: 4.0)\nActive Shadow-Buffer (MiB): many\n", "NVFS statistics(ver: 4.0)\nReads : readMiB=9223372036854775807\n"} {
		if got, err := parseNvidiaFSStats(text); !errors.Is(err, errMalformed) {
			t.Errorf("%q: %+v, %v", text, got, err)
		}
	}
}

func TestLinesOfOtherVersionsArePassedOver(t *testing.T) {
	text := nvidiaFSText(t, "2.28.4")
	more := strings.Replace(text, "Mmap", "Gather\t\t\t: n=5 err=5\nNo colon at all\nMmap", 1)
	got, err := parseNvidiaFSStats(more)
	want, wantErr := parseNvidiaFSStats(text)
	if err != nil || wantErr != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%v, %+v", err, got)
	}
}

func TestPeerMemoryIsThatOfAGPU(t *testing.T) {
	with := files(t, map[string]string{"bus/pci/drivers/nvidia/0000:41:00.0/p2pmem/size": "1\n"})
	without := files(t, map[string]string{"bus/pci/drivers/nvidia/0000:41:00.0/vendor": "0x10de\n", "bus/pci/drivers/nvme/0000:42:00.0/p2pmem/size": "1\n"})
	for name, test := range map[string]struct {
		sys  Dir
		want bool
	}{"with": {with, true}, "a drive's only": {without, false}, "no GPU": {files(t, nil), false}} {
		if got, err := HasPeerMemory(test.sys); got != test.want || err != nil {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
	if _, err := HasPeerMemory(failing(fs.ErrPermission)); err == nil {
		t.Error("refused, and known all the same")
	}
}

func FuzzNvidiaFSStats(f *testing.F) {
	for _, version := range []string{"2.3.1", "2.25.7", "2.28.4"} {
		addSeeds(f, nvidiaFSText(f, version))
	}
	f.Fuzz(func(t *testing.T, text string, cut uint16) {
		whole, err := parseNvidiaFSStats(text)
		if err != nil {
			return
		}
		if len(whole.GPUs) > maxGPUs || len(whole.Operations) > len(nvidiaFSOperations()) {
			t.Errorf("%+v", whole)
		}
		for operation, bytes := range whole.Bytes {
			if bytes%(1<<20) != 0 || operation == "" {
				t.Errorf("%s: %d bytes", operation, bytes)
			}
		}
		part, err := parseNvidiaFSStats(text[:min(int(cut), len(text))])
		if err != nil {
			return
		}
		if len(part.GPUs) > len(whole.GPUs) || !keysWithin(part.Operations, whole.Operations) || !keysWithin(part.Errors, whole.Errors) {
			t.Errorf("a part gives %+v, the whole %+v", part, whole)
		}
	})
}

func keysWithin(part, whole map[string]uint64) bool {
	for key := range part {
		if _, there := whole[key]; !there {
			return false
		}
	}
	return true
}

func FuzzNvidiaFSModules(f *testing.F) {
	addSeeds(f, "nvme: 1.0\nnvme_rdma: 1.0\n", "a:\n:b\n")
	f.Fuzz(func(t *testing.T, text string, cut uint16) {
		whole, err := parseNvidiaFSModules(text)
		if err != nil {
			return
		}
		if len(whole) > maxModules || len(whole) > strings.Count(text, "\n") {
			t.Errorf("%d modules", len(whole))
		}
		part, err := parseNvidiaFSModules(text[:min(int(cut), len(text))])
		for name := range part {
			if _, there := whole[name]; err == nil && !there {
				t.Errorf("a part has %q", name)
			}
		}
	})
}

func FuzzNvidiaFSVersion(f *testing.F) {
	addSeeds(f, "version: 2.28\n", "version: \n")
	f.Fuzz(func(t *testing.T, text string, _ uint16) {
		if version, err := parseNvidiaFSVersion(text); err == nil && (version == "" || strings.ContainsAny(version, "\n ")) {
			t.Errorf("%q", version)
		}
	})
}
