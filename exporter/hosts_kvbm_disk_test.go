package exporter

import (
	"strings"
	"testing"

	"github.com/prometheus/procfs"

	"github.com/umascope/umascope/exporter/engine"
	"github.com/umascope/umascope/exporter/engine/spec"
	"github.com/umascope/umascope/exporter/hostfs"
)

// TestTheDiskTierIsInAllThatCountsItsBytes follows the bytes that KVBM moved to and from its file through
// NIXL, the worker, the container and the drive: none of them can have counted less.
func TestTheDiskTierIsInAllThatCountsItsBytes(t *testing.T) {
	const name, worker, blockBytes = "kvbm-disk", 6330, 4 * mib
	host := openRecorded(t, name)
	page := func(raw string) spec.Page {
		t.Helper()
		e, err := engine.ParseEndpoint(raw)
		if err != nil {
			t.Fatal(err)
		}
		p, err := engine.Client{HTTP: host.HTTP}.Page(t.Context(), e)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	value := func(p spec.Page, series string) uint64 {
		t.Helper()
		found := p.Series(series)
		if len(found) != 1 {
			t.Fatalf("%d series %s", len(found), series)
		}
		return uint64(found[0].Value)
	}
	kvbm, nixl := page("http://127.0.0.1:6880"), page("http://127.0.0.1:9090")
	read := value(kvbm, "kvbm_onboard_blocks_d2d") * blockBytes
	written := value(kvbm, "kvbm_offload_blocks_h2d") * blockBytes
	if read != 3152*blockBytes || value(nixl, "agent_rx_bytes_total") != read || value(nixl, "agent_tx_bytes_total") != written {
		t.Errorf("KVBM read %d and wrote %d bytes, NIXL others", read, written)
	}
	io, err := hostfs.ReadProcessIO(host.Proc, worker)
	if err != nil {
		t.Fatal(err)
	}
	cgroup, err := hostfs.ProcessCgroup(host.Proc, worker)
	if err != nil {
		t.Fatal(err)
	}
	container, slice := cgroupIO(t, host.Cgroup, cgroup), cgroupIO(t, host.Cgroup, cgroup[:strings.LastIndex(cgroup, "/")])
	disks, err := hostfs.ReadDiskstats(host.Proc)
	if err != nil {
		t.Fatal(err)
	}
	for what, chain := range map[string][]uint64{
		"reads":  {read, io.ReadBytes, container.Reads.Bytes, slice.Reads.Bytes, disks[0].ReadSectors * procfs.SectorSize},
		"writes": {written, io.WriteBytes, container.Writes.Bytes, slice.Writes.Bytes, disks[0].WriteSectors * procfs.SectorSize},
	} {
		for i := 1; i < len(chain); i++ {
			if chain[i] < chain[i-1] {
				t.Errorf("%s: %v falls at %d", what, chain, i)
			}
		}
	}
	if container.Reads.Operations < 12608 || disks[0].ReadIOs < container.Reads.Operations {
		t.Errorf("%d reads of the container, %d of the drive", container.Reads.Operations, disks[0].ReadIOs)
	}
	// What the prompts had and what was computed for them is what was found and what was kept.
	vllm := page("http://127.0.0.1:8081")
	if prompt, found := value(vllm, "vllm:prompt_tokens_total"), value(kvbm, "kvbm_matched_tokens"); prompt != found+12288*32+500*17 {
		t.Errorf("%d tokens of prompts, %d found", prompt, found)
	}
}

func cgroupIO(t *testing.T, cgroups hostfs.Dir, cgroup string) hostfs.DeviceIO {
	t.Helper()
	read, err := hostfs.ReadCgroup(cgroups, cgroup)
	if err != nil || len(read.IO) != 1 {
		t.Fatalf("%s: %+v, %v", cgroup, read.IO, err)
	}
	return read.IO[0]
}
