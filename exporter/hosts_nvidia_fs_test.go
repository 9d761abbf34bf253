package exporter

import (
	"strings"
	"testing"

	"github.com/prometheus/procfs"

	"github.com/umascope/umascope/exporter/hostfs"
)

// TestWhatNvidiaFSMovedIsInAllThatCountsItsBytes follows the bytes from nvidia-fs through the engine, its container
// and the drive: none of them can have counted less.
func TestWhatNvidiaFSMovedIsInAllThatCountsItsBytes(t *testing.T) {
	const name, engine, drive = "nvidia-fs", 21110, "nvme0n1"
	host := openRecorded(t, name)
	nvfs, err := hostfs.ReadNvidiaFS(host.Proc, host.Sys)
	if err != nil {
		t.Fatal(err)
	}
	io, err := hostfs.ReadProcessIO(host.Proc, engine)
	if err != nil {
		t.Fatal(err)
	}
	cgroup, err := hostfs.ProcessCgroup(host.Proc, engine)
	if err != nil {
		t.Fatal(err)
	}
	container, slice := cgroupIO(t, host.Cgroup, cgroup), cgroupIO(t, host.Cgroup, cgroup[:strings.LastIndex(cgroup, "/")])
	disks, err := hostfs.ReadDiskstats(host.Proc)
	if err != nil {
		t.Fatal(err)
	}
	disk := disks[0]
	if disk.DeviceName != drive {
		t.Fatalf("the first drive is %s", disk.DeviceName)
	}
	for what, chain := range map[string][]uint64{
		"reads":  {nvfs.Bytes["read"], io.ReadBytes, container.Reads.Bytes, slice.Reads.Bytes, disk.ReadSectors * procfs.SectorSize},
		"writes": {nvfs.Bytes["write"], io.WriteBytes, container.Writes.Bytes, slice.Writes.Bytes, disk.WriteSectors * procfs.SectorSize},
	} {
		for i, bytes := range chain[1:] {
			if bytes < chain[i] || chain[0] == 0 {
				t.Errorf("%s: %d bytes counted after %d in %v", what, bytes, chain[i], chain)
			}
		}
	}
}
