package exporter

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/procfs"
	"github.com/prometheus/procfs/blockdevice"

	"github.com/umascope/umascope/exporter/hostfs"
)

// withWholeTrees are the constructed hosts that have every cgroup which holds memory.
func withWholeTrees() []string { return []string{"docker-cgroupfs", "docker-systemd", "kubernetes"} }

func eachWholeTree(t *testing.T, test func(t *testing.T, a recorded, cgroups map[string]hostfs.Cgroup)) {
	t.Helper()
	for _, name := range withWholeTrees() {
		t.Run(name, func(t *testing.T) {
			a := unpacked(t, name)
			paths, err := hostfs.WalkCgroups(a.Cgroup)
			if err != nil || len(paths) < 8 {
				t.Fatalf("%v, %v", paths, err)
			}
			cgroups := map[string]hostfs.Cgroup{}
			for _, path := range paths {
				if cgroups[path], err = hostfs.ReadCgroup(a.Cgroup, path); err != nil {
					t.Fatal(err)
				}
			}
			test(t, a, cgroups)
		})
	}
}

func above(path string) string { return path[:strings.LastIndexByte(path, '/')] }

// TestACgroupIsTheSumOfThoseDirectlyBelow: the kernel lets no process sit between them.
func TestACgroupIsTheSumOfThoseDirectlyBelow(t *testing.T) {
	eachWholeTree(t, func(t *testing.T, a recorded, cgroups map[string]hostfs.Cgroup) {
		charged := map[string]uint64{}
		stats := map[string]hostfs.MemoryStat{}
		reads := map[string]uint64{}
		for path, files := range cgroups {
			stat, err := hostfs.ReadMemoryStat(a.Cgroup, path)
			if err != nil {
				t.Fatal(err)
			}
			charged[above(path)] += *files.Current
			if stats[above(path)] == nil {
				stats[above(path)] = hostfs.MemoryStat{}
			}
			for key, value := range stat {
				stats[above(path)][key] += value
			}
			for _, io := range files.IO {
				reads[above(path)] += io.Reads.Bytes
			}
		}
		for path, sum := range charged {
			if path == "" {
				continue
			}
			if *cgroups[path].Current != sum {
				t.Errorf("%s: charged %d, those below %d", path, *cgroups[path].Current, sum)
			}
			if stat, err := hostfs.ReadMemoryStat(a.Cgroup, path); err != nil || !maps.Equal(stat, stats[path]) {
				t.Errorf("%s: %v, %v, those below %v", path, stat, err, stats[path])
			}
			if io := cgroups[path].IO; len(io) != 1 || io[0].Reads.Bytes != reads[path] {
				t.Errorf("%s: %+v, those below read %d", path, io, reads[path])
			}
		}
		checkTraffic(t, a, cgroups)
	})
}

// checkTraffic compares the top of the tree with the disk, and the disk with vmstat.
func checkTraffic(t *testing.T, a recorded, cgroups map[string]hostfs.Cgroup) {
	t.Helper()
	var sum hostfs.DeviceIO
	for path, files := range cgroups {
		for _, io := range files.IO {
			if above(path) == "" {
				sum.Reads.Bytes += io.Reads.Bytes
				sum.Reads.Operations += io.Reads.Operations
				sum.Writes.Bytes += io.Writes.Bytes
				sum.Writes.Operations += io.Writes.Operations
			}
			if name, err := hostfs.BlockDeviceName(a.Sys, io.Device); name != "nvme0n1" || err != nil {
				t.Errorf("device %s is %q, %v", io.Device, name, err)
			}
		}
	}
	disks, err := hostfs.ReadDiskstats(a.Proc)
	if err != nil {
		t.Fatal(err)
	}
	d := disks[slices.IndexFunc(disks, func(d blockdevice.Diskstats) bool { return d.DeviceName == "nvme0n1" })]
	for what, pair := range map[string][2]uint64{
		"bytes read": {sum.Reads.Bytes, d.ReadSectors * procfs.SectorSize}, "reads": {sum.Reads.Operations, d.ReadIOs},
		"bytes written": {sum.Writes.Bytes, d.WriteSectors * procfs.SectorSize}, "writes": {sum.Writes.Operations, d.WriteIOs},
	} {
		if pair[0] > pair[1] || pair[0] < pair[1]/4 {
			t.Errorf("%s: %d by cgroups, %d by the disk", what, pair[0], pair[1])
		}
	}
	if vmstat, err := hostfs.ReadVmstat(a.Proc); err != nil || vmstat["pgpgin"]*kib != d.ReadSectors*procfs.SectorSize || vmstat["pgpgout"]*kib != d.WriteSectors*procfs.SectorSize {
		t.Errorf("vmstat has %d and %d kB, %v; the disk %d and %d bytes", vmstat["pgpgin"], vmstat["pgpgout"], err, d.ReadSectors*procfs.SectorSize, d.WriteSectors*procfs.SectorSize)
	}
}

func TestChargesStayWithinTheirLimitsAndPeaks(t *testing.T) {
	eachWholeTree(t, func(t *testing.T, _ recorded, cgroups map[string]hostfs.Cgroup) {
		limited := 0
		for path, files := range cgroups {
			if *files.Peak < *files.Current || files.Max != nil && *files.Peak > *files.Max {
				t.Errorf("%s: charged %d, peak %d, limit %v", path, *files.Current, *files.Peak, files.Max)
			}
			if files.Max != nil {
				limited++
			}
			if parent, listed := cgroups[above(path)]; listed {
				if *parent.Peak < *files.Peak {
					t.Errorf("%s had %d, the cgroup around it never more than %d", path, *files.Peak, *parent.Peak)
				}
				for event, count := range files.Events {
					if parent.Events[event] < count {
						t.Errorf("%s: %s %d, in the cgroup around it %d", path, event, count, parent.Events[event])
					}
				}
				for resource, pressure := range files.Pressure {
					if *parent.Pressure[resource].Some < *pressure.Some || *pressure.Full > *pressure.Some {
						t.Errorf("%s: pressure of %s is that of no part of %s", path, resource, above(path))
					}
				}
			}
		}
		if limited == 0 {
			t.Error("nothing is limited")
		}
	})
}

func TestContainersOfEveryKindAreAmongTheHosts(t *testing.T) {
	found := map[string]int{}
	eachWholeTree(t, func(_ *testing.T, _ recorded, cgroups map[string]hostfs.Cgroup) {
		for path := range cgroups {
			switch identity := hostfs.IdentifyCgroup(path); {
			case identity.Kind == hostfs.KindContainer && identity.PodUID != "":
				found[identity.Runtime+" in a pod"]++
			case identity.Kind == hostfs.KindContainer && hostfs.IdentifyCgroup(above(above(path))).Kind == hostfs.KindContainer:
				found[identity.Runtime+" in a container"]++
			case identity.Kind == hostfs.KindContainer && strings.HasSuffix(path, ".scope"):
				found[identity.Runtime+" by systemd"]++
			case identity.Kind == hostfs.KindContainer:
				found[identity.Runtime+" by cgroupfs"]++
			case identity.Kind == hostfs.KindPod:
				found["pod"]++
			}
		}
	})
	want := map[string]int{"docker by systemd": 2, "docker by cgroupfs": 2, "docker in a container": 1, "containerd in a pod": 6, "pod": 3}
	if !maps.Equal(found, want) {
		t.Errorf("got %v, want %v", found, want)
	}
}
